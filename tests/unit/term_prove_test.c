/* The report of `assay prove`, of a run made by hand: what a cell says, and that lines fit. */
#include "report/report.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct finding *finding_add(struct arena *arena, struct run *run, const char *pattern, const char *file)
{
	struct finding *finding = arena_new(arena, struct finding);
	*finding = (struct finding){.id = file, .pattern = pattern, .file = file, .symbol = ""};
	list_push(arena, &run->findings, finding);
	return finding;
}

static void trial_add(struct arena *arena, struct run *run, const struct hypothesis *hypothesis, const char *cc,
                      const char *flags, enum verdict verdict, enum rung rung, double percent)
{
	struct trial *trial = arena_new(arena, struct trial);
	*trial = (struct trial){.id = "t", .hypothesis = hypothesis, .config = {cc, flags}, .verdict = verdict, .rung = rung,
	                        .evidence = "evidence of some length that says why this is so, in a sentence that has to wrap"};
	if (rung == RUNG_TIME)
		trial->effect = (struct effect){.known = true, .theta = log1p(percent / 100), .low = log1p((percent - 1) / 100),
		                                .high = INFINITY};
	list_push(arena, &run->trials, trial);
}

static struct hypothesis *hypothesis_add(struct arena *arena, struct run *run, const char *id)
{
	struct hypothesis *hypothesis = arena_new(arena, struct hypothesis);
	*hypothesis = (struct hypothesis){.id = id, .title = id, .kind = CANDIDATE_PATCH};
	list_push(arena, &run->hypotheses, hypothesis);
	return hypothesis;
}

static void test_cells_and_lines(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run run = {.id = "20261201-000000-0000", .command = "assay prove", .alpha = 0.01, .margin = 0.01, .budget_s = 1,
	                  .host = {.cpu = "a CPU", .cpus = 2}};
	finding_add(&arena, &run, "P01", "P01-first-pattern/costs.c");
	finding_add(&arena, &run, "P02", "P02-advice-only/costs.c");
	finding_add(&arena, &run, "P02", "P02-advice-only/harmless.c");
	finding_add(&arena, &run, "R01", "R01-only-noise/equal.c");
	finding_add(&arena, &run, "R02", "R02-noise-or-worse/costs.c");
	struct hypothesis *costs = hypothesis_add(&arena, &run, "P01:costs");
	/* Removals: one that changes nothing, one that costs somewhere. */
	trial_add(&arena, &run, hypothesis_add(&arena, &run, "R01:equal"), "gcc-12", "-O2", VERDICT_NO_EFFECT, RUNG_CODE, 0);
	trial_add(&arena, &run, hypothesis_add(&arena, &run, "R02:costs"), "gcc-12", "-O2", VERDICT_FASTER, RUNG_TIME, -20);
	trial_add(&arena, &run, hypothesis_add(&arena, &run, "R02:equal"), "gcc-12", "-O2", VERDICT_NO_EFFECT, RUNG_CODE, 0);
	static const char *const compilers[] = {"gcc-12", "gcc-13", "clang-14", "clang-19"};
	static const enum verdict verdicts[] = {VERDICT_FASTER, VERDICT_NO_EFFECT, VERDICT_NO_EFFECT, VERDICT_INCONCLUSIVE,
	                                        VERDICT_SLOWER, VERDICT_WRONG_RESULTS, VERDICT_FAILED, VERDICT_FASTER};
	static const enum rung rungs[] = {RUNG_TIME, RUNG_TIME, RUNG_CODE, RUNG_TIME, RUNG_TIME, RUNG_OUTPUTS, RUNG_CODE, RUNG_TIME};
	static const double percents[] = {-92.7, 0.1, 0, -3, 2.5, 0, 0, -4.56};
	for (size_t i = 0; i < 8; i++)
		trial_add(&arena, &run, costs, compilers[i / 2], i % 2 ? "-O3" : "-O2", verdicts[i], rungs[i], percents[i]);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct term_options options = {.width = 80, .kept = true};
	term_prove(out, &run, &options);
	fclose(out);
	for (const char *at = text; *at;) {
		size_t line = strcspn(at, "\n");
		if (line > 80)
			fail_msg("%zu columns: %.*s", line, (int)line, at);
		at += line + (at[line] == '\n');
	}
	/* Six columns fit, two are below. */
	static const char *const lines[] = {
		"P01 first-pattern             -93 %     none    =code        ?   +2.5 %    wrong\n",
		"P01 first-pattern            failed   -4.6 %\n",
		"pattern                    clang-19 clang-19\n",
		"R01 only-noise                =code",
		"R02 noise-or-worse            -20 %",
		"    where it is noise         =code",
		"R01 only-noise\n  equal\n    gcc-12 -O2    no effect",
		"  harmless        the detector is silent on it\n",
		"  costs           found, but there is no candidate: advice only\n",
		"-92.7 % [-93.7, ...] in time",
		"assay show",
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (!strstr(text, lines[i]))
			fail_msg("'%s' is not in:\n%s", lines[i], text);
	free(text);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cells_and_lines)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
