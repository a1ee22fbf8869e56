/* A run that is judged again from the store: the same to the last digit, or said not to be. */
#include "cmd/cmd.h"

#include "base/stat.h"
#include "stage/stages.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static volatile sig_atomic_t interrupted;

struct fixture {
	struct session session;
	struct store *store;
	char folder[64];
};

static int set_up(void **state)
{
	static struct fixture fixture;
	fixture = (struct fixture){.session.interrupted = &interrupted};
	strcpy(fixture.folder, "/tmp/assay-recompute-XXXXXX");
	if (!mkdtemp(fixture.folder))
		return -1;
	arena_init(&fixture.session.arena);
	struct err err = ERR_INIT;
	const char *path = arena_printf(&fixture.session.arena, "%s/assay.db", fixture.folder);
	*state = &fixture;
	return store_open(path, &fixture.store, &err) == ST_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	store_close(f->store);
	int removed = system(arena_printf(&f->session.arena, "rm -r %s", f->folder));
	arena_release(&f->session.arena);
	return removed;
}

#define OK(call)                                                                                                       \
	do {                                                                                                               \
		struct err err = ERR_INIT;                                                                                     \
		if ((call) != ST_OK)                                                                                           \
			fail_msg("%s", err.text);                                                                                  \
	} while (0)

/* Samples with odd numbers, kept as a run keeps them. */
static struct measurement kept(struct fixture *f, const char *trial, unsigned control, double theta, double alpha)
{
	struct measurement measurement = {
		.plan = {.seed = 77 + control, .alpha = alpha, .margin = 0.01, .budget_s = 1.0 / 3, .layouts = 0},
		.stop = STOP_BUDGET, .elapsed_s = 1.0 / 7, .measured_s = 0.1, .iterations = 9, .bytes_per_iteration = 33};
	struct rng rng;
	rng_seed(&rng, 5 + control + (uint64_t)trial[1]);
	OK(store_measurement_put(f->store, f->session.run.id, trial, control, &measurement, false, &err));
	for (uint32_t i = 0; i < 120; i++) {
		struct pair pair = {.block = i / 3, .index = i % 3, .iterations = 9, .baseline_ns = 100003 + i};
		pair.candidate_ns = (uint64_t)((double)pair.baseline_ns * exp(theta + 0.02 * rng_normal(&rng)));
		pair.baseline_flags = i % 17 == 0 ? PAIR_PREEMPTED : 0;
		list_push(&f->session.arena, &measurement.pairs, pair);
		OK(store_pair_put(f->store, f->session.run.id, trial, control, &pair, &err));
	}
	measurement.blocks = 40;
	measurement.stationary = pairs_stationary(&measurement.pairs, alpha);
	OK(store_measurement_put(f->store, f->session.run.id, trial, control, &measurement, true, &err));
	return measurement;
}

static void document_put(struct fixture *f, enum store_kind kind, const char *id, const char *json)
{
	struct store_document document = {.id = id, .json = json};
	struct store_document_list one = {.at = &document, .count = 1, .cap = 1};
	OK(store_documents_put(f->store, f->session.run.id, kind, &one, &err));
}

static void run_put(struct fixture *f)
{
	struct run *run = &f->session.run;
	struct store_run record = {.id = run->id, .started = run->started, .command = run->command, .tree = run->tree,
	                           .state = "done", .seconds = 1, .head = json_head(&f->session.arena, run)};
	OK(store_run_put(f->store, &record, &err));
}

/* Three trials that share the first one's control, which was made twice. */
static void run_make(struct fixture *f)
{
	static const double thetas[] = {-0.04, 0.001, 0.05};
	struct session *session = &f->session;
	struct arena *arena = &session->arena;
	struct run *run = &session->run;
	*run = (struct run){.id = "20261201-101500-3f2a", .command = "assay audit", .version = "0", .tree = "/src",
	                    .started = "2026-12-01T10:15:00Z", .state = RUN_DONE, .seed = 1, .alpha = 0.01, .margin = 0.01,
	                    .budget_s = 1.0 / 3};
	run_put(f);
	struct hypothesis *hypothesis = arena_new(arena, struct hypothesis);
	*hypothesis = (struct hypothesis){.id = "define:X", .title = "X", .kind = CANDIDATE_DEFINE, .text = "X", .argument = "X"};
	list_push(arena, &run->hypotheses, hypothesis);
	document_put(f, STORE_HYPOTHESIS, hypothesis->id, json_hypothesis(arena, hypothesis));
	struct control control = {0};
	for (unsigned attempt = 1; attempt <= 2; attempt++) {
		struct measurement measurement = kept(f, "t1", attempt, attempt == 1 ? 0.3 : 0, 0.01);
		control_judge(session, &measurement, attempt, "t1", &control);
		control.seconds = 0.123456789123;
	}
	assert_true(control.quiet);
	assert_non_null(strstr(control.text, "the first of two controls differed"));
	for (unsigned i = 0; i < 3; i++) {
		struct trial *trial = arena_new(arena, struct trial);
		trial->id = arena_printf(arena, "t%u", i + 1);
		trial->hypothesis = hypothesis;
		trial->config = (struct build_config){"gcc-12", "-O2"};
		trial->control = control;
		struct measurement measurement = kept(f, trial->id, 0, thetas[i], 0.01 / 3);
		judge_trial(session, &measurement, &control, trial);
		list_push(arena, &run->trials, trial);
	}
	judge_families(session);
	assert_int_equal(run->families.at[0].verdict, VERDICT_MIXED);
	for (unsigned i = 0; i < 3; i++)
		document_put(f, STORE_TRIAL, run->trials.at[i]->id, json_trial(arena, run->trials.at[i]));
	run_put(f);
}

static int recomputed(struct fixture *f, const char **ret_text)
{
	struct arena *arena = &f->session.arena;
	struct store_run record;
	struct run run;
	char *text = NULL;
	size_t size = 0;
	int code = -1;
	FILE *out = open_memstream(&text, &size);
	OK(store_run_find(f->store, arena, "last", &record, &err));
	OK(run_from_store(f->store, arena, &record, &run, &err));
	OK(run_recompute(f->store, &run, out, &code, &err));
	fclose(out);
	*ret_text = arena_strdup(arena, text);
	free(text);
	return code;
}

static void same_to_the_last_digit(void **state)
{
	struct fixture *f = *state;
	const char *text = NULL;
	run_make(f);
	assert_int_equal(recomputed(f, &text), EXIT_DONE);
	assert_non_null(strstr(text, "3 same to the last digit, 0 differ, 0 can't be recomputed"));
}

static void one_more_pair_is_seen(void **state)
{
	struct fixture *f = *state;
	const char *text = NULL;
	run_make(f);
	struct pair pair = {.block = 40, .iterations = 9, .baseline_ns = 100000, .candidate_ns = 101000};
	OK(store_pair_put(f->store, f->session.run.id, "t2", 0, &pair, &err));
	assert_int_equal(recomputed(f, &text), EXIT_GATE);
	assert_non_null(strstr(text, "t2  DIFFERS"));
	assert_non_null(strstr(text, "t1  same"));
	assert_non_null(strstr(text, "2 same to the last digit"));
}

static void other_plan_is_seen(void **state)
{
	struct fixture *f = *state;
	const char *text = NULL;
	run_make(f);
	struct measurement measurement;
	bool ended = false;
	OK(store_measurement_get(f->store, &f->session.arena, f->session.run.id, "t3", 0, &measurement, &ended, &err));
	measurement.plan.alpha = 0.25;
	OK(store_measurement_put(f->store, f->session.run.id, "t3", 0, &measurement, true, &err));
	assert_int_equal(recomputed(f, &text), EXIT_GATE);
	assert_non_null(strstr(text, "t3  DIFFERS"));
}

static void without_plan_it_says_so(void **state)
{
	struct fixture *f = *state;
	const char *text = NULL;
	run_make(f);
	struct measurement none = {0};
	OK(store_measurement_put(f->store, f->session.run.id, "t2", 0, &none, false, &err));
	assert_int_equal(recomputed(f, &text), EXIT_JUDGE);
	assert_non_null(strstr(text, "t2  can't be recomputed"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(same_to_the_last_digit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_more_pair_is_seen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_plan_is_seen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_plan_it_says_so, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
