/* The gate passes only on evidence. */
#include "cmd/cmd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

struct fixture {
	struct arena arena;
	struct run run;
	struct options options;
	const char *text;
};

static void add(struct fixture *f, enum verdict verdict, double low_percent, double high_percent)
{
	struct hypothesis *hypothesis = arena_new(&f->arena, struct hypothesis);
	hypothesis->id = arena_printf(&f->arena, "h%zu", f->run.trials.count);
	struct trial *trial = arena_new(&f->arena, struct trial);
	*trial = (struct trial){.id = hypothesis->id, .hypothesis = hypothesis, .verdict = verdict, .margin = 0.01,
	                        .effect = {.known = low_percent != high_percent, .low = log1p(low_percent / 100),
	                                   .high = log1p(high_percent / 100)}};
	list_push(&f->arena, &f->run.trials, trial);
	struct family family = {.hypothesis = hypothesis, .verdict = verdict};
	list_push(&f->arena, &family.trials, trial);
	list_push(&f->arena, &f->run.families, family);
}

static enum gate_result judged(struct fixture *f)
{
	return gate_judge(&f->arena, &f->run, &f->options, &f->text);
}

static int set_up(void **state)
{
	struct fixture *f = test_calloc(1, sizeof *f);
	f->run.state = RUN_DONE;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	arena_release(&f->arena);
	test_free(f);
	return 0;
}

static void test_require_faster(void **state)
{
	struct fixture *f = *state;
	f->options.require_given = true;
	f->options.require = VERDICT_FASTER;
	assert_int_equal(judged(f), GATE_UNDECIDED); /* nothing was asked */
	add(f, VERDICT_FASTER, -5, -4);
	assert_int_equal(judged(f), GATE_PASSED);
	add(f, VERDICT_DELIBERATE, 0, 0);
	assert_int_equal(judged(f), GATE_PASSED);
	add(f, VERDICT_INCONCLUSIVE, -5, 4);
	assert_int_equal(judged(f), GATE_UNDECIDED);
	add(f, VERDICT_NO_EFFECT, 0, 0);
	assert_int_equal(judged(f), GATE_FAILED);
	assert_non_null(strstr(f->text, "h3 is no effect"));
}

/* One faster trial makes a family faster; the gate asks it of all that were measured. */
static void test_require_faster_of_all_that_were_measured(void **state)
{
	struct fixture *f = *state;
	f->options.require_given = true;
	f->options.require = VERDICT_FASTER;
	add(f, VERDICT_FASTER, -5, -4);
	struct family *family = &f->run.families.at[0];
	struct trial other = {.id = "other", .hypothesis = family->hypothesis, .verdict = VERDICT_NOT_REACHED,
	                      .rung = RUNG_REACH, .margin = 0.01};
	list_push(&f->arena, &family->trials, &other);
	assert_int_equal(judged(f), GATE_PASSED);
	other.rung = RUNG_TIME;
	other.verdict = VERDICT_INCONCLUSIVE;
	other.effect = (struct effect){.known = true, .low = -0.03, .high = 0.005};
	assert_int_equal(judged(f), GATE_UNDECIDED);
	other.verdict = VERDICT_NO_EFFECT;
	other.effect.low = -0.005;
	assert_int_equal(judged(f), GATE_FAILED);
	assert_non_null(strstr(f->text, "h0 is no effect, and that is [-0.50, +0.50] %"));
}

static void test_forbid_slower_looks_at_the_margin(void **state)
{
	struct fixture *f = *state;
	f->options.forbid_given = true;
	f->options.forbid = VERDICT_SLOWER;
	assert_int_equal(judged(f), GATE_UNDECIDED);
	add(f, VERDICT_FASTER, -5, -4);
	add(f, VERDICT_NO_EFFECT, 0, 0);
	add(f, VERDICT_SLOWER, 0.1, 0.4); /* real but negligible */
	assert_int_equal(judged(f), GATE_PASSED);
	add(f, VERDICT_SLOWER, 0.5, 2);
	assert_int_equal(judged(f), GATE_UNDECIDED);
	add(f, VERDICT_SLOWER, 1.5, 2);
	assert_int_equal(judged(f), GATE_FAILED);
}

/* On a noisy machine the verdict is read off with the control's floor, the gate with the margin. */
static void test_forbid_slower_looks_beyond_the_floor(void **state)
{
	struct fixture *f = *state;
	f->options.forbid_given = true;
	f->options.forbid = VERDICT_SLOWER;
	add(f, VERDICT_NO_EFFECT, -0.9, 0.9);
	add(f, VERDICT_NO_EFFECT, -1.5, 0.9); /* perhaps faster: nobody forbids that */
	assert_int_equal(judged(f), GATE_PASSED);
	add(f, VERDICT_FASTER, -5, 1.2); /* by Holm: below the floor for certain, not below the margin */
	assert_int_equal(judged(f), GATE_UNDECIDED);
	f->run.trials.count--;
	add(f, VERDICT_NO_EFFECT, -0.5, 1.2);
	assert_int_equal(judged(f), GATE_UNDECIDED);
	assert_non_null(strstr(f->text, "[-0.50, +1.20] % against a margin of 1 %"));
	add(f, VERDICT_NO_EFFECT, 1.5, 2.4);
	assert_int_equal(judged(f), GATE_FAILED);
	assert_non_null(strstr(f->text, "is no effect, and that is [+1.50, +2.40] % against a margin of 1 %"));
}

static void test_require_no_effect_looks_at_the_margin(void **state)
{
	struct fixture *f = *state;
	f->options.require_given = true;
	f->options.require = VERDICT_NO_EFFECT;
	add(f, VERDICT_NO_EFFECT, 0, 0);
	add(f, VERDICT_NO_EFFECT, -0.9, 0.9);
	assert_int_equal(judged(f), GATE_PASSED);
	add(f, VERDICT_NO_EFFECT, -1.2, 0.9);
	assert_int_equal(judged(f), GATE_UNDECIDED);
	add(f, VERDICT_NO_EFFECT, 1.5, 2.4);
	assert_int_equal(judged(f), GATE_FAILED);
	assert_non_null(strstr(f->text, "[+1.50, +2.40] %"));
	f->run.families.count -= 2;
	add(f, VERDICT_NO_EFFECT, -2.4, -1.5);
	assert_int_equal(judged(f), GATE_FAILED);
}

static void test_forbid_slower_wants_evidence(void **state)
{
	struct fixture *f = *state;
	f->options.forbid_given = true;
	f->options.forbid = VERDICT_SLOWER;
	add(f, VERDICT_NOT_BUILT, 0, 0);
	assert_int_equal(judged(f), GATE_UNDECIDED);
	add(f, VERDICT_FAILED, 0, 0);
	assert_int_equal(judged(f), GATE_UNDECIDED);
	add(f, VERDICT_WRONG_RESULTS, 0, 0); /* nobody measured it, and nobody wants it */
	assert_int_equal(judged(f), GATE_FAILED);
}

static void test_an_interrupted_run_never_passes(void **state)
{
	struct fixture *f = *state;
	f->options.forbid_given = true;
	f->options.forbid = VERDICT_SLOWER;
	add(f, VERDICT_FASTER, -5, -4);
	f->run.state = RUN_INTERRUPTED;
	assert_int_equal(judged(f), GATE_UNDECIDED);
}

/* A compiler that is missing and a claim that can't be read are left out with a note: what is left passes no gate. */
static void test_what_was_left_out_passes_no_gate(void **state)
{
	struct fixture *f = *state;
	f->options.forbid_given = true;
	f->options.forbid = VERDICT_SLOWER;
	add(f, VERDICT_FASTER, -5, -4);
	assert_int_equal(judged(f), GATE_PASSED);
	f->run.untried = 1;
	assert_int_equal(judged(f), GATE_UNDECIDED);
	assert_non_null(strstr(f->text, "1 of what was asked for could not be tried"));
	add(f, VERDICT_SLOWER, 1.5, 2);
	assert_int_equal(judged(f), GATE_FAILED);
}

static void test_deliberate_alone_is_no_evidence(void **state)
{
	struct fixture *f = *state;
	f->options.require_given = true;
	f->options.require = VERDICT_NO_EFFECT;
	add(f, VERDICT_DELIBERATE, 0, 0);
	assert_int_equal(judged(f), GATE_UNDECIDED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_require_faster),
		TEST(test_require_faster_of_all_that_were_measured),
		TEST(test_forbid_slower_looks_at_the_margin),
		TEST(test_forbid_slower_looks_beyond_the_floor),
		TEST(test_require_no_effect_looks_at_the_margin),
		TEST(test_forbid_slower_wants_evidence),
		TEST(test_an_interrupted_run_never_passes),
		TEST(test_what_was_left_out_passes_no_gate),
		TEST(test_deliberate_alone_is_no_evidence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
