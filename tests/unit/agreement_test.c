/* Two runs beside each other: each kind of agreement, and what counts as the same question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "filled_run.h"
#include "model/agreement.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>

static struct run *run_new(struct arena *arena, const char *id)
{
	struct run *run = arena_new(arena, struct run);
	run->id = id;
	run->started = "2026-12-01T10:15:00Z";
	run->alpha = run->margin = 0.01;
	run->host = (struct host){.cpu = "A CPU", .cpus = 2};
	return run;
}

static struct trial *trial_new(struct arena *arena, struct run *run, const char *hypothesis, const char *block, enum verdict verdict,
                               double low, double high)
{
	static struct workload workload = {.name = "cipher"};
	struct hypothesis *h = filled_hypothesis(arena, run, NULL, CANDIDATE_FLAGS, hypothesis, hypothesis, "");
	struct trial *trial = filled_trial(arena, run, h, &workload, block, verdict, RUNG_TIME, "");
	if (low < high)
		trial->effect = filled_interval((low + high) / 2, low, high);
	return trial;
}

static void run_untitled(struct arena *arena, struct run *run, enum verdict verdict)
{
	struct trial *trial = trial_new(arena, run, "untitled", "16", verdict, -3, 3);
	struct hypothesis *hypothesis = run->hypotheses.at[run->hypotheses.count - 1];
	hypothesis->title = NULL;
	trial->hypothesis = hypothesis;
}

static struct survey *survey_new(struct arena *arena, struct run *run)
{
	struct survey *survey = arena_new(arena, struct survey);
	survey->id = "s1";
	survey->name = "implementations";
	survey->workload = "checksum";
	survey->over = "impl";
	survey->config = (struct build_config){.cc = "gcc-12", .flags = "-O2"};
	list_push(arena, &run->surveys, survey);
	return survey;
}

static void value_new(struct arena *arena, struct survey *survey, const char *name, enum value_verdict verdict, double low, double high)
{
	struct survey_value value = {.value = name, .verdict = verdict};
	if (low < high)
		value.effect = filled_interval((low + high) / 2, low, high);
	if (verdict == VALUE_BASELINE)
		survey->baseline = survey->values.count;
	list_push(arena, &survey->values, value);
}

static void test_trials(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	static const struct {
		enum verdict first, second;
		double bounds[4];
		enum agreement kind;
		bool apart;
	} table[] = {
		{VERDICT_FASTER, VERDICT_FASTER, {-3, -2, -2.5, -1.5}, AGREEMENT_SAME, false},
		{VERDICT_FASTER, VERDICT_FASTER, {-30, -20, -2.5, -1.5}, AGREEMENT_SAME, true},
		{VERDICT_FASTER, VERDICT_SLOWER, {-3, -2, 2, 3}, AGREEMENT_DIFFERS, true},
		{VERDICT_FASTER, VERDICT_NO_EFFECT, {-1, -0.1, -0.8, 0.3}, AGREEMENT_DIFFERS, false},
		{VERDICT_NO_EFFECT, VERDICT_FASTER, {0, 0, -3, -2}, AGREEMENT_DIFFERS, false},
		{VERDICT_INCONCLUSIVE, VERDICT_FASTER, {-3, 2, -3, -2}, AGREEMENT_UNDECIDED, false},
		{VERDICT_FASTER, VERDICT_NONE, {-3, -2, 0, 0}, AGREEMENT_UNDECIDED, false},
		{VERDICT_INCONCLUSIVE, VERDICT_INCONCLUSIVE, {-9, 9, -9, 9}, AGREEMENT_UNDECIDED, false},
		{VERDICT_FAILED, VERDICT_FASTER, {0, 0, -3, -2}, AGREEMENT_DIFFERS, false},
		{VERDICT_NOT_BUILT, VERDICT_NOT_BUILT, {0, 0, 0, 0}, AGREEMENT_SAME, false},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct run *a = run_new(&arena, "a"), *b = run_new(&arena, "b");
		trial_new(&arena, a, "h", "16", table[i].first, table[i].bounds[0], table[i].bounds[1]);
		trial_new(&arena, b, "h", "16", table[i].second, table[i].bounds[2], table[i].bounds[3]);
		struct agreement_of_runs agreement = runs_agreement(&arena, a, b);
		assert_int_equal(agreement.rows.count, 1);
		assert_int_equal(agreement.rows.at[0].kind, table[i].kind);
		assert_int_equal(agreement.rows.at[0].apart, table[i].apart);
		assert_int_equal(agreement.counts[table[i].kind], 1);
		assert_int_equal(agreement.apart[table[i].kind], table[i].apart);
		assert_int_equal(agreement.alone[0] + agreement.alone[1], 0);
	}
	arena_release(&arena);
}

static void test_another_question(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *a = run_new(&arena, "a"), *b = run_new(&arena, "b");
	trial_new(&arena, a, "h", "16", VERDICT_FASTER, -3, -2);
	trial_new(&arena, a, "g", NULL, VERDICT_FASTER, -3, -2);
	trial_new(&arena, b, "h", "32", VERDICT_FASTER, -3, -2);          /* another parameter */
	trial_new(&arena, b, "i", "16", VERDICT_FASTER, -3, -2);          /* another hypothesis */
	trial_new(&arena, b, "h", "16", VERDICT_FASTER, -3, -2)->config.flags = "-O3";
	trial_new(&arena, b, "h", "16", VERDICT_FASTER, -3, -2)->workload = NULL;
	trial_new(&arena, b, "h", NULL, VERDICT_FASTER, -3, -2);
	struct agreement_of_runs agreement = runs_agreement(&arena, a, b);
	assert_int_equal(agreement.rows.count, 0);
	assert_int_equal(agreement.alone[0], 2);
	assert_int_equal(agreement.alone[1], 5);
	arena_release(&arena);
}

static void test_surveys(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *a = run_new(&arena, "a"), *b = run_new(&arena, "b");
	struct survey *x = survey_new(&arena, a), *y = survey_new(&arena, b);
	value_new(&arena, x, "generic", VALUE_BASELINE, 0, 0);
	value_new(&arena, x, "sse2", VALUE_FASTER, -30, -29);
	value_new(&arena, x, "avx2", VALUE_FASTER, -60, -59);
	value_new(&arena, x, "avx512", VALUE_UNAVAILABLE, 0, 0);
	value_new(&arena, x, "gone", VALUE_FASTER, -30, -29);
	/* in another order */
	value_new(&arena, y, "avx512", VALUE_FASTER, -80, -79);
	value_new(&arena, y, "avx2", VALUE_INCONCLUSIVE, -60, 59);
	value_new(&arena, y, "generic", VALUE_BASELINE, 0, 0);
	value_new(&arena, y, "sse2", VALUE_SLOWER, 2, 3);
	struct agreement_of_runs agreement = runs_agreement(&arena, a, b);
	assert_int_equal(agreement.rows.count, 3);
	assert_string_equal(agreement.rows.at[0].values[0]->value, "sse2");
	assert_int_equal(agreement.rows.at[0].kind, AGREEMENT_DIFFERS);
	assert_true(agreement.rows.at[0].apart);
	assert_int_equal(agreement.rows.at[1].kind, AGREEMENT_UNDECIDED);
	assert_int_equal(agreement.rows.at[2].kind, AGREEMENT_ONE_HAS);
	assert_int_equal(agreement.alone[0], 1);
	assert_int_equal(agreement.alone[1], 0);
	arena_release(&arena);
}

static void test_reports(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *a = run_new(&arena, "a"), *b = run_new(&arena, "b");
	trial_new(&arena, a, "h|1", "16", VERDICT_FASTER, -3, -2);
	trial_new(&arena, b, "h|1", "16", VERDICT_SLOWER, 2, 3);
	trial_new(&arena, a, "g", "16", VERDICT_FASTER, -3, -2);
	trial_new(&arena, b, "g", "16", VERDICT_FASTER, -3, -2);
	struct agreement_of_runs agreement = runs_agreement(&arena, a, b);
	char *text[2] = {0};
	size_t size;
	for (int i = 0; i < 2; i++) {
		FILE *out = open_memstream(&text[i], &size);
		assert_non_null(out);
		if (i)
			markdown_agreement(out, &agreement);
		else
			term_agreement(out, &agreement, &(struct term_options){.width = 80});
		fclose(out);
	}
	assert_non_null(strstr(text[0], "2 questions that both answered: 1 with the same verdict, 1 differ"));
	assert_non_null(strstr(text[0], "      first:  faster, -2.5 % [-3.0, -2.0]\n      second: slower, +2.5 % [+2.0, +3.0]\n"));
	assert_null(strstr(text[0], "\n  g\n")); /* what is the same is only counted */
	assert_non_null(strstr(text[1], "| h\\|1 | cipher block=16, gcc-12 -O2 | faster, -2.5 % \\[-3.0, -2.0\\] | slower, +2.5 % "
	                                "\\[+2.0, +3.0\\] | the intervals exclude each other |"));
	assert_non_null(strstr(text[1], "| g | "));
	free(text[0]);
	free(text[1]);
	arena_release(&arena);
}

/* A survey of several sizes is one question, whose name stands once above its places; a hypothesis may have no title. */
static void test_headings(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *a = run_new(&arena, "a"), *b = run_new(&arena, "b");
	for (int side = 0; side < 2; side++)
		for (int size = 0; size < 2; size++) {
			struct run *run = side ? b : a;
			struct survey *survey = survey_new(&arena, run);
			struct binding binding = {.name = "size", .value = size ? "4096" : "1024"};
			survey->name = arena_strdup(&arena, "implementations"); /* as read from two files */
			list_push(&arena, &survey->params, binding);
			value_new(&arena, survey, "generic", VALUE_BASELINE, 0, 0);
			value_new(&arena, survey, "sse2", side ? VALUE_SLOWER : VALUE_FASTER, -3, 3);
		}
	for (int side = 0; side < 2; side++)
		run_untitled(&arena, side ? b : a, side ? VERDICT_SLOWER : VERDICT_FASTER);
	struct agreement_of_runs agreement = runs_agreement(&arena, a, b);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	term_agreement(out, &agreement, &(struct term_options){.width = 80});
	fclose(out);
	const char *heading = strstr(text, "\n  implementations\n");
	assert_non_null(heading);
	assert_null(strstr(heading + 1, "\n  implementations\n"));
	assert_non_null(strstr(text, "\n  untitled\n"));
	free(text);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trials),
		cmocka_unit_test(test_another_question),
		cmocka_unit_test(test_surveys),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_headings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
