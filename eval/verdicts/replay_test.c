/* A recording survives its file, and replaying says what measure() said when it took the same pairs. */
#include "replay.h"

#include "record.h"
#include "stage/stages.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static volatile sig_atomic_t interrupted;

/* `blocks` blocks of three pairs; block i is slower by percents[i % count]. */
static struct pair_list pairs_made(struct arena *arena, unsigned blocks, const double *percents, unsigned count)
{
	struct pair_list pairs = {0};
	for (unsigned block = 0; block < blocks; block++)
		for (unsigned index = 0; index < 3; index++)
			list_push(arena, &pairs,
			          ((struct pair){.block = block, .index = index, .iterations = 1, .baseline_ns = 1000000, .layout = block,
			                         .candidate_first = index % 2, .baseline_flags = index == 1 ? PAIR_PAGE_FAULT : 0,
			                         .candidate_ns = (uint64_t)(1e6 * (1 + percents[block % count] / 100))}));
	return pairs;
}

static void first_decision_stops(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	static const double slower[] = {3, 4, 5}, faster[] = {-3, -2.5}, equal[] = {-0.3, 0.2, 0, 0.1, -0.1},
	                    small[] = {0.4, 0.5, 0.6}, wide[] = {-5, 5, -6, 6};
	static const struct {
		const double *percents;
		unsigned count;
		enum claim claim;
	} table[] = {{slower, 3, CLAIM_SLOWER}, {faster, 2, CLAIM_FASTER}, {equal, 5, CLAIM_NO_EFFECT},
	             {small, 3, CLAIM_NEGLIGIBLE}, {wide, 4, CLAIM_NONE}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct pair_list pairs = pairs_made(&arena, 60, table[i].percents, table[i].count);
		size_t used;
		double low, high;
		assert_int_equal(replay_assay(&pairs, 0.01, 0.01, &used, &low, &high), table[i].claim);
		/* 12 blocks are the least that decide at 1 %. */
		assert_int_equal(used, table[i].claim == CLAIM_NONE ? 180 : 36);
		assert_true(low <= high && isfinite(low) && isfinite(high));
	}
	struct pair_list few = pairs_made(&arena, 11, slower, 3);
	size_t used;
	double low, high;
	assert_int_equal(replay_assay(&few, 0.01, 0.01, &used, &low, &high), CLAIM_NONE);
	assert_true(isinf(low) && isinf(high));
	arena_release(&arena);
}

static void file_round_trip(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	static const double percents[] = {1, 2};
	struct recording written = {.workload = "alu", .load = "twice", .effect_percent = 0.2, .seconds = 0.5,
	                            .layout = NO_LAYOUT, .index = 7, .seed = 99, .iterations = 8, .command_iterations = 400,
	                            .interleaved_s = 0.51, .stop = STOP_BUDGET};
	written.pairs = pairs_made(&arena, 25, percents, 2);
	for (size_t i = 0; i < written.pairs.count; i++)
		list_push(&arena, &written.stamps, 0.002 * (double)(i + 1));
	for (unsigned i = 0; i < 100; i++) {
		list_push(&arena, &written.samples[0], ((struct timed){200000 + i, 0.001 * i}));
		list_push(&arena, &written.samples[1], ((struct timed){210000 + i, 0.001 * i}));
	}
	for (unsigned i = 0; i < 12; i++) {
		list_push(&arena, &written.commands[0], ((struct timed){10000000 + 1000 * i, 0.011 * (i + 1)}));
		list_push(&arena, &written.commands[1], ((struct timed){10500000 + 1000 * i, 0.011 * (i + 1)}));
	}
	char path[] = "/tmp/assay-recording-test-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	struct err err = ERR_INIT;
	struct recording read;
	assert_int_equal(recording_write(path, &written, &err), ST_OK);
	assert_int_equal(recording_read(&arena, path, &read, &err), ST_OK);
	assert_string_equal(recording_name(&arena, &read), "alu-0.2-twice-00007");
	assert_int_equal(read.pairs.count, written.pairs.count);
	for (size_t i = 0; i < read.pairs.count; i++) {
		const struct pair *a = &read.pairs.at[i], *b = &written.pairs.at[i];
		assert_true(a->block == b->block && a->index == b->index && a->layout == b->layout &&
		            a->candidate_first == b->candidate_first && a->iterations == b->iterations &&
		            a->baseline_ns == b->baseline_ns && a->candidate_ns == b->candidate_ns &&
		            a->baseline_flags == b->baseline_flags && a->candidate_flags == b->candidate_flags);
	}
	assert_memory_equal(read.stamps.at, written.stamps.at, read.stamps.count * sizeof *read.stamps.at);
	assert_memory_equal(read.samples[1].at, written.samples[1].at, 100 * sizeof(struct timed));
	assert_memory_equal(read.commands[0].at, written.commands[0].at, 12 * sizeof(struct timed));
	/* All rules see 1 to 2 % or 5 % more; hyperfine's and poop's times end with the last run of each side. */
	struct replayed replayed;
	replay(&read, &replayed);
	for (int rule = 0; rule < RULES; rule++) {
		assert_true(replayed.rules[rule].present);
		assert_int_equal(replayed.rules[rule].claim, CLAIM_SLOWER);
	}
	assert_true(fabs(replayed.rules[RULE_HYPERFINE].wall_s - 2 * 0.132) < 1e-9);
	assert_true(fabs(replayed.rules[RULE_ASSAY].wall_s - 0.072) < 1e-9); /* the stamp of the 36th pair */
	assert_true(replayed.hyperfine_prefix[0].present); /* 10 runs */
	assert_false(replayed.hyperfine_prefix[1].present); /* 15 runs */
	/* A file that was cut short is told apart. */
	assert_int_equal(truncate(path, 500), 0);
	assert_int_equal(recording_read(&arena, path, &read, &err), ST_INPUT);
	unlink(path);
	arena_release(&arena);
}

/* The engine stops at its first decision, so replaying its pairs must decide at the last of them, and the same. */
/* Whole commands: what decides is the metric that the plan chose, here CPU time, whatever the wall clock says. */
static void commands_go_by_their_metric(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct recording written = {.workload = "alu", .load = "twice", .kind = KIND_COMMAND, .effect_percent = 5,
	                            .layout = NO_LAYOUT, .index = 3, .interleaved_s = 2};
	for (uint32_t i = 0; i < 15; i++) {
		struct pair pair = {.block = i, .iterations = 1, .baseline_ns = 30000000, .candidate_ns = 20000000 + 1000 * i,
		                    .metric = METRIC_CPU, .baseline_cpu_ns = 10000000, .candidate_cpu_ns = 10500000 + 1000 * i};
		list_push(&arena, &written.pairs, pair);
		list_push(&arena, &written.stamps, 0.05 * (i + 1));
	}
	char path[] = "/tmp/assay-recording-test-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	struct err err = ERR_INIT;
	struct recording read;
	assert_int_equal(recording_write(path, &written, &err), ST_OK);
	assert_int_equal(recording_read(&arena, path, &read, &err), ST_OK);
	unlink(path);
	assert_string_equal(recording_name(&arena, &read), "alu-5-command-twice-00003");
	assert_true(read.pairs.at[7].metric == METRIC_CPU && read.pairs.at[7].candidate_cpu_ns == 10507000);
	struct replayed replayed;
	replay(&read, &replayed);
	assert_int_equal(replayed.rules[RULE_ASSAY].claim, CLAIM_SLOWER);
	assert_int_equal(replayed.rules[RULE_PAIRS_95].claim, CLAIM_SLOWER);
	assert_true(fabs(replayed.rules[RULE_ASSAY].wall_s - 0.6) < 1e-9); /* the 12th pair */
	/* ln(10.507 / 10), and the median distance of 15 evenly spaced values from their middle is 4 steps */
	assert_true(fabs(replayed.estimate - log(1.0507)) < 1e-12);
	assert_true(fabs(replayed.scatter - (log(1.0511) - log(1.0507))) < 1e-6);
	assert_false(replayed.rules[RULE_HYPERFINE].present);
	arena_release(&arena);
}

static void replay_agrees_with_measure(void **state)
{
	(void)state;
	struct session session = {.interrupted = &interrupted, .jobs = 1, .run.seed = 3};
	arena_init(&session.arena);
	struct err err = ERR_INIT;
	struct variant sides[2] = {{.name = "baseline"}, {.name = "candidate"}};
	if (programs_open(&session, "cc", &err) != ST_OK ||
	    program_build(&session, "cc", "alu", 0, false, &sides[0], &err) != ST_OK ||
	    program_build(&session, "cc", "alu", 0, true, &sides[1], &err) != ST_OK)
		fail_msg("%s", err.text);
	list_push(&session.arena, &sides[0].env, (const char *)"EVAL_MORE=000000");
	list_push(&session.arena, &sides[1].env, (const char *)"EVAL_MORE=010000");
	struct plan plan = {.seed = 5, .alpha = 0.01, .margin = 0.01, .budget_s = 30, .cpu = CPU_CHOOSE};
	struct measurement measurement;
	enum status status = measure(&session, &sides[0], &sides[1], NULL, &plan, NULL, &measurement, &err);
	build_close(&session);
	assert_int_equal(status, ST_OK);
	size_t used;
	double low, high;
	enum claim claim = replay_assay(&measurement.pairs, 0.01, 0.01, &used, &low, &high);
	assert_int_equal(claim != CLAIM_NONE, measurement.stop == STOP_DECIDED);
	assert_int_equal(used, measurement.pairs.count);
	struct trial trial = {0};
	judge_trial(&session, &measurement, NULL, &trial);
	assert_true(trial.effect.low == low && trial.effect.high == high);
	assert_int_equal(trial.verdict == VERDICT_SLOWER, claim == CLAIM_SLOWER);
	arena_release(&session.arena);
}

/* Layouts are other programs with the same functions; a layout that is built twice is the same file. */
static void layouts_differ(void **state)
{
	(void)state;
	struct session session = {.interrupted = &interrupted, .jobs = 1};
	arena_init(&session.arena);
	struct err err = ERR_INIT;
	struct variant sides[2] = {{.name = "baseline"}, {.name = "candidate"}};
	if (programs_open(&session, "cc", &err) != ST_OK ||
	    program_build(&session, "cc", "lz", 1, false, &sides[0], &err) != ST_OK ||
	    program_build(&session, "cc", "lz", 2, false, &sides[1], &err) != ST_OK)
		fail_msg("%s", err.text);
	const char *path[2] = {sides[0].program, sides[1].program};
	assert_int_equal(strlen(path[0]), strlen(path[1]));
	char *command = arena_printf(&session.arena, "test \"$(nm %s | grep ' [tT] run$')\" != \"$(nm %s | grep ' [tT] run$')\"",
	                             path[0], path[1]);
	assert_int_equal(system(command), 0);
	build_close(&session);
	arena_release(&session.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(first_decision_stops),
	    cmocka_unit_test(file_round_trip),
	    cmocka_unit_test(commands_go_by_their_metric),
	    cmocka_unit_test(replay_agrees_with_measure),
	    cmocka_unit_test(layouts_differ),
	};
	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
