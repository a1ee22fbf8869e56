/* Whole commands: how they are started, compared and measured. Nothing here depends on how fast this machine is. */
#include "port/command.h"
#include "port/host.h"
#include "stage/stages.h"

#include "base/text.h"
#include "port/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define HAS(text, part) assert_non_null(strstr((text), (part)))

static volatile sig_atomic_t interrupted;

struct fixture {
	char dir[64];
	struct session session;
	struct workload workload;
	struct err err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	*state = f;
	const char *temp = getenv("TMPDIR");
	snprintf(f->dir, sizeof f->dir, "%s/assay-command-XXXXXX", temp && strlen(temp) < 30 ? temp : "/tmp");
	if (!mkdtemp(f->dir))
		return -1;
	arena_init(&f->session.arena);
	f->session.interrupted = &interrupted;
	f->session.jobs = 1;
	f->session.project.dir = f->session.project.tree = f->dir;
	f->workload = (struct workload){.name = "cli", .cpu = CPU_CHOOSE, .metric_asked = true, .metric = METRIC_WALL};
	interrupted = 0;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];
	build_close(&f->session);
	snprintf(command, sizeof command, "rm -rf %s", f->dir);
	int code = system(command);
	arena_release(&f->session.arena);
	free(f);
	return code;
}

static void put(struct fixture *f, const char *name, const char *text)
{
	FILE *file = fopen(path_join(&f->session.arena, f->dir, name), "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static struct variant variant_of(struct fixture *f, const char *text)
{
	static const struct build_config config = {.cc = "", .flags = ""};
	struct variant variant;
	f->workload.run = text;
	assert_int_equal(build_command(&f->session, NULL, &f->workload, &config, &variant, &f->err), ST_OK);
	return variant;
}

static struct variant shell(struct fixture *f, const char *text)
{
	f->workload.shell = true;
	return variant_of(f, text);
}

/* ---- starting ------------------------------------------------------------------------------------------------------- */

static void words_are_those_of_a_shell(void **state)
{
	struct fixture *f = *state;
	struct string_list words = {0};
	assert_true(command_words(&f->session.arena, "tool -d 'a b' \"c\" d\\ e", false, &words));
	assert_int_equal(words.count, 5);
	assert_string_equal(words.at[2], "a b");
	assert_string_equal(words.at[4], "d e");
	assert_false(command_words(&f->session.arena, "tool 'a", false, &(struct string_list){0}));
	assert_false(command_words(&f->session.arena, "  ", false, &(struct string_list){0}));
	words = (struct string_list){0};
	assert_true(command_words(&f->session.arena, "a | b", true, &words));
	assert_int_equal(words.count, 3);
	assert_string_equal(words.at[2], "a | b");
}

static void what_cannot_be_started_is_said(void **state)
{
	struct fixture *f = *state;
	HAS(variant_of(f, "no-such-program x").failure, "can't start no-such-program: no folder of PATH");
	HAS(variant_of(f, "./gone x").failure, "there is no such program");
	HAS(variant_of(f, "sort 'x").failure, "a quote is left open");
	f->workload.stdin_path = "gone.txt";
	HAS(variant_of(f, "sort").failure, "gone.txt can't be read");
	put(f, "gone.txt", "x\n");
	assert_null(variant_of(f, "sort").failure);
}

/* ---- one run ---------------------------------------------------------------------------------------------------------- */

static struct proc_result run(struct fixture *f, const struct variant *variant)
{
	struct proc_request request = command_request(variant, -1, 30, NULL);
	request.stdout_kept_bytes = 10;
	struct proc_result result;
	assert_int_equal(proc_run(&f->session.arena, &request, &result, &f->err), ST_OK);
	return result;
}

static void a_run_is_accounted_for(void **state)
{
	struct fixture *f = *state;
	struct variant variant = shell(f, "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sleep 0.05; echo 0123456789abcdef");
	struct proc_result result = run(f, &variant);
	assert_true(proc_ok(&result));
	assert_true(result.wall_s >= 0.05);
	assert_true(result.cpu_s > 0 && result.cpu_s <= result.wall_s + 0.001);
	/* Only the beginning is kept, but all of it counts. */
	assert_string_equal(result.out, "0123456789");
	assert_int_equal(result.out_bytes, 17);
	assert_true(result.out_hash == text_hash("0123456789abcdef\n", 17, TEXT_HASH_SEED));
	/* A child that it waited for belongs to it; what fork and set-up cost here does not. */
	variant = shell(f, "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'");
	struct proc_result busy = run(f, &variant);
	assert_true(busy.cpu_s > result.cpu_s);
	variant = shell(f, "echo said >&2; exit 3");
	result = run(f, &variant);
	struct proc_request request = command_request(&variant, -1, 30, NULL);
	assert_string_equal(command_failure(&f->session.arena, &request, &result), "exit status 3: said");
}

/* ---- outputs ---------------------------------------------------------------------------------------------------------- */

static struct outputs_result outputs(struct fixture *f, const char *baseline, const char *candidate)
{
	struct variant a = shell(f, baseline), b = shell(f, candidate);
	struct outputs_result result;
	f->err = ERR_INIT;
	if (outputs_compare(&f->session, &a, &b, NULL, 5, &result, &f->err) != ST_OK)
		fail_msg("%s", f->err.text);
	return result;
}

static void outputs_are_compared(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *baseline, *candidate;
		enum outputs_verdict verdict;
		const char *said;
	} table[] = {
	    {"echo a; echo b", "printf 'a\\nb\\n'", OUTPUTS_EQUAL, "same output twice, 4 bytes"},
	    {"true", "true", OUTPUTS_EQUAL, "print nothing"},
	    {"echo a; echo b", "echo a; echo c", OUTPUTS_DIFFER, "at byte 2, in line 2: \"c\", the baseline has \"b\""},
	    {"echo a; echo b", "echo a", OUTPUTS_DIFFER, "at byte 2, in line 2: nothing, the baseline has \"b\""},
	    {"echo a", "echo a; printf '\\033x'", OUTPUTS_DIFFER, "\".x\", the baseline has nothing"},
	    {"echo $$", "true", OUTPUTS_NOT_REPEATABLE, "before it was"},
	    /* What is right or wrong now and then: a file remembers how often it was run. */
	    {"echo a", "echo x >>odd; [ $(wc -l <odd) -gt 1 ] && echo a || echo b", OUTPUTS_NOT_REPEATABLE, "once, but not in every run"},
	    {"echo a", "echo x >>even; [ $(wc -l <even) -gt 1 ] && echo b || echo a", OUTPUTS_NOT_REPEATABLE, "once, but not in every run"},
	    {"echo x >>late; [ $(wc -l <late) -gt 2 ] && echo b || echo a", "echo b", OUTPUTS_NOT_REPEATABLE, "before it was \"a\""},
	    {"exit 1", "true", OUTPUTS_BASELINE_FAILED, "exit status 1"},
	    {"true", "kill -SEGV $$", OUTPUTS_CANDIDATE_FAILED, "killed by SIGSEGV"},
	    {"true", "echo why >&2; exit 7", OUTPUTS_CANDIDATE_FAILED, "exit status 7: why"},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct outputs_result result = outputs(f, table[i].baseline, table[i].candidate);
		if (result.verdict != table[i].verdict || !strstr(result.text, table[i].said))
			fail_msg("%s | %s: %d, %s", table[i].baseline, table[i].candidate, (int)result.verdict, result.text);
	}
	/* Every run reads the file from its beginning. */
	put(f, "input", "one\ntwo\n");
	f->workload.stdin_path = "input";
	HAS(outputs(f, "cat", "cat -").text, "same output twice, 8 bytes");
	HAS(outputs(f, "cat", "head -n 1").text, "at byte 4, in line 2: nothing");
	f->workload.stdin_path = NULL;
	/* The printed metric may differ, and nothing else. */
	f->workload.metric = METRIC_LOWER;
	f->workload.metric_pattern = "took ([0-9.]+)";
	assert_int_equal(outputs(f, "echo took $$; echo x", "echo took 7; echo x").verdict, OUTPUTS_EQUAL);
	assert_int_equal(outputs(f, "echo took $$; echo x", "echo took 7; echo y").verdict, OUTPUTS_DIFFER);
	assert_int_equal(outputs(f, "echo took 3 >&2; echo x", "echo took 7 >&2; echo x").verdict, OUTPUTS_EQUAL);
	assert_int_equal(outputs(f, "echo took 3", "echo took long").verdict, OUTPUTS_CANDIDATE_FAILED);
	f->workload.metric_pattern = NULL;
	f->workload.any_output = true;
	assert_int_equal(outputs(f, "echo $$", "echo x").verdict, OUTPUTS_EQUAL);
}

/* ---- measuring --------------------------------------------------------------------------------------------------------- */

static struct measurement measured(struct fixture *f, const char *baseline, const char *candidate, enum metric metric,
                                   double budget_s)
{
	struct variant a = shell(f, baseline), b = shell(f, candidate);
	struct plan plan = {.seed = 1, .alpha = 0.01, .margin = 0.01, .budget_s = budget_s, .metric = metric, .cpu = CPU_CHOOSE};
	struct measurement measurement;
	f->err = ERR_INIT;
	if (measure(&f->session, &a, &b, NULL, &plan, NULL, &measurement, &f->err) != ST_OK)
		fail_msg("%s", f->err.text);
	return measurement;
}

static void every_pair_is_a_block(void **state)
{
	struct fixture *f = *state;
	f->workload.metric_pattern = "x=([0-9.]+)";
	struct measurement m = measured(f, "echo x=100", "echo x=125", METRIC_HIGHER, 60);
	assert_int_equal(m.stop, STOP_DECIDED);
	assert_int_equal(m.blocks, m.pairs.count);
	assert_int_equal(m.blocks, 12); /* the least that decide at 1 %, and the printed numbers never vary */
	size_t first = 0;
	for (size_t i = 0; i < m.pairs.count; i++) {
		const struct pair *pair = &m.pairs.at[i];
		assert_int_equal(pair->block, i);
		assert_int_equal(pair->iterations, 1);
		assert_true(pair->metric == METRIC_HIGHER && pair->baseline_value == 100 && pair->candidate_value == 125);
		assert_true(pair->baseline_ns > 0 && pair->candidate_ns > 0);
		first += pair->candidate_first;
	}
	assert_true(first > 0 && first < m.pairs.count);
	/* Higher is better here, so below zero; the same numbers the other way round are above. */
	struct trial trial = {0};
	judge_trial(&f->session, &m, NULL, &trial);
	assert_int_equal(trial.verdict, VERDICT_FASTER);
	assert_true(trial.effect.theta < -0.22 && trial.effect.theta > -0.23);
	assert_true(trial.baseline_printed == 100 && trial.candidate_printed == 125);
	assert_int_equal(trial.other_metrics.count, 2);
	m = measured(f, "echo x=100", "echo x=125", METRIC_LOWER, 60);
	judge_trial(&f->session, &m, NULL, &trial);
	assert_int_equal(trial.verdict, VERDICT_SLOWER);
	/* The coin follows from the seed. */
	struct measurement again = measured(f, "echo x=100", "echo x=125", METRIC_LOWER, 60);
	for (size_t i = 0; i < m.pairs.count; i++)
		assert_int_equal(again.pairs.at[i].candidate_first, m.pairs.at[i].candidate_first);
}

static void a_pair_speaks_of_its_metric(void **state)
{
	(void)state;
	struct pair pair = {.iterations = 1, .baseline_ns = 100, .candidate_ns = 200, .baseline_cpu_ns = 400, .candidate_cpu_ns = 100,
	                    .baseline_value = 10, .candidate_value = 80};
	static const struct {
		enum metric metric;
		double ratio, baseline;
	} table[] = {{METRIC_TIME, 2, 100}, {METRIC_WALL, 2, 100}, {METRIC_CPU, 0.25, 400},
	             {METRIC_LOWER, 8, 10}, {METRIC_HIGHER, 0.125, 10}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		pair.metric = table[i].metric;
		struct pair_list one = {.at = &pair, .count = 1};
		double ratio, baseline, candidate;
		assert_int_equal(pairs_block_ratios(&one, false, &ratio), 1);
		assert_true(effect_percent(ratio) - 100 * (table[i].ratio - 1) < 1e-9 &&
		            effect_percent(ratio) - 100 * (table[i].ratio - 1) > -1e-9);
		pairs_metric_medians(&one, table[i].metric, &baseline, &candidate);
		assert_true(baseline == table[i].baseline);
	}
	/* A clock that did not move is "as short as it can tell". */
	pair = (struct pair){.iterations = 1, .metric = METRIC_CPU, .baseline_cpu_ns = 100};
	double ratio;
	pairs_block_ratios(&(struct pair_list){.at = &pair, .count = 1}, false, &ratio);
	assert_true(ratio < -4.6 && ratio > -4.7);
}

static void what_goes_wrong_while_measuring(void **state)
{
	struct fixture *f = *state;
	struct measurement m = measured(f, "true", "exit 4", METRIC_WALL, 20);
	assert_int_equal(m.stop, STOP_FAILED);
	assert_true(m.candidate_failed);
	HAS(m.failure, "the candidate fails: exit status 4");
	m = measured(f, "exit 4", "true", METRIC_WALL, 20);
	assert_true(m.stop == STOP_FAILED && !m.candidate_failed);
	m = measured(f, "true", "sleep 60", METRIC_WALL, 0.5);
	assert_int_equal(m.stop, STOP_BUDGET); /* nobody knows yet how long it takes */
	assert_int_equal(m.pairs.count, 0);
	m = measured(f, "echo $$", "true", METRIC_WALL, 20);
	assert_int_equal(m.stop, STOP_FAILED);
	HAS(m.failure, "is not the same in every run: --any-output");
	f->workload.metric_pattern = "x=([0-9.]+)";
	m = measured(f, "echo x=1", "echo y=1", METRIC_LOWER, 20);
	assert_int_equal(m.stop, STOP_FAILED);
	HAS(m.failure, "the candidate fails: nothing that it prints matches");
	interrupted = 1;
	m = measured(f, "echo x=1", "echo x=1", METRIC_LOWER, 20);
	assert_int_equal(m.stop, STOP_INTERRUPTED);
}

static void the_metric_is_chosen_before_and_by_rule(void **state)
{
	struct fixture *f = *state;
	enum metric metric = METRIC_TIME;
	const char *why = NULL;
	struct variant a = shell(f, "true");
	f->workload.metric = METRIC_CPU;
	assert_int_equal(measure_metric(&f->session, &a, 20, &metric, &why, &f->err), ST_OK);
	assert_int_equal(metric, METRIC_CPU);
	assert_string_equal(why, "as asked");
	f->workload.metric_asked = false;
	/* Whatever others do to this machine, a command that sleeps is not described by its CPU time. */
	a = shell(f, "sleep 0.2");
	assert_int_equal(measure_metric(&f->session, &a, 20, &metric, &why, &f->err), ST_OK);
	assert_int_equal(metric, METRIC_WALL);
	HAS(why, "because");
	a = shell(f, "echo no >&2; exit 1");
	assert_int_equal(measure_metric(&f->session, &a, 20, &metric, &why, &f->err), ST_INPUT);
	HAS(f->err.text, "exit status 1: no");
}

/* ---- built in copies ---------------------------------------------------------------------------------------------------- */

static struct hypothesis patch_of(struct fixture *f, const char *old_text, const char *new_text)
{
	return (struct hypothesis){.id = "patch:x", .kind = CANDIDATE_PATCH, .argument = "--patch x",
	                           .text = arena_printf(&f->session.arena, "--- a/word\n+++ b/word\n@@ -1 +1 @@\n-%s\n+%s\n",
	                                                old_text, new_text)};
}

static void a_build_stays_in_its_copy(void **state)
{
	struct fixture *f = *state;
	struct build_config config = {.cc = "", .flags = ""};
	put(f, "word", "a\n");
	put(f, "tool", "#!/bin/sh\necho stale\n"); /* built before, and newer than what it is made of */
	f->session.project.build = "printf '#!/bin/sh\\necho %s\\n' \"$(cat word)\" >tool && chmod +x tool && echo $PWD >here";
	f->workload.run = "./tool";
	struct hypothesis hypothesis = patch_of(f, "a", "b");
	struct variant baseline, candidate, again;
	assert_int_equal(build_command(&f->session, NULL, &f->workload, &config, &baseline, &f->err), ST_OK);
	assert_int_equal(build_command(&f->session, &hypothesis, &f->workload, &config, &candidate, &f->err), ST_OK);
	assert_null(baseline.failure);
	assert_null(candidate.failure);
	assert_string_not_equal(baseline.tree, candidate.tree);
	assert_int_equal(strlen(baseline.tree), strlen(candidate.tree));
	assert_string_equal(run(f, &baseline).out, "a\n");
	assert_string_equal(run(f, &candidate).out, "b\n");
	struct stat info;
	assert_int_not_equal(stat(path_join(&f->session.arena, f->dir, "here"), &info), 0);
	/* Asked again, nothing is built again. */
	put(f, "word", "c\n");
	assert_int_equal(build_command(&f->session, &hypothesis, &f->workload, &config, &again, &f->err), ST_OK);
	assert_string_equal(again.tree, candidate.tree);
	assert_string_equal(run(f, &again).out, "b\n");
}

static void builds_that_fail_say_why(void **state)
{
	struct fixture *f = *state;
	struct build_config config = {.cc = "", .flags = ""};
	struct variant variant;
	put(f, "word", "a\n");
	f->workload.run = "cat word";
	f->session.project.build = "grep -q a word || { echo first; echo 'no a here' >&2; exit 2; }";
	struct hypothesis hypothesis = patch_of(f, "a", "b");
	assert_int_equal(build_command(&f->session, NULL, &f->workload, &config, &variant, &f->err), ST_OK);
	assert_null(variant.failure);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(build_command(&f->session, &hypothesis, &f->workload, &config, &variant, &f->err), ST_OK);
		HAS(variant.failure, "fails in the copy of the tree, exit status 2: no a here");
	}
	hypothesis = patch_of(f, "z", "b");
	assert_int_equal(build_command(&f->session, &hypothesis, &f->workload, &config, &variant, &f->err), ST_OK);
	HAS(variant.failure, "the patch can't be used");
	hypothesis.kind = CANDIDATE_FLAGS;
	HAS(build_command_lack(&f->session, &hypothesis), "are tried on C drivers only");
	hypothesis.kind = CANDIDATE_PATCH;
	f->session.project.build = NULL;
	HAS(build_command_lack(&f->session, &hypothesis), "give `build: make`");
	/* A configured build folder leads back to the original. */
	f->session.project.build = "true";
	put(f, "Makefile", arena_printf(&f->session.arena, "all:\n\tcc %s/x.c\n", f->dir));
	build_close(&f->session);
	assert_int_equal(build_command(&f->session, NULL, &f->workload, &config, &variant, &f->err), ST_OK);
	HAS(variant.failure, "Makefile in the copy names the original tree");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(words_are_those_of_a_shell, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_cannot_be_started_is_said, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_run_is_accounted_for, setup, teardown),
	    cmocka_unit_test_setup_teardown(outputs_are_compared, setup, teardown),
	    cmocka_unit_test_setup_teardown(every_pair_is_a_block, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_pair_speaks_of_its_metric, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_goes_wrong_while_measuring, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_metric_is_chosen_before_and_by_rule, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_build_stays_in_its_copy, setup, teardown),
	    cmocka_unit_test_setup_teardown(builds_that_fail_say_why, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
