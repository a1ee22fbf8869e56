/* What explains a time: counts of the kernel through the way that hardware counters take, and the arithmetic. */
#include "port/pace.h"
#include "port/perf.h"
#include "stage/stages.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- counts --------------------------------------------------------------------------------------------------------- */

static void test_group_as_read(void **state)
{
	(void)state;
	/* number, time enabled, time running, values: as read() gives them for PERF_FORMAT_GROUP with both times. */
	uint64_t words[] = {5, 1000, 1000, 40, 30, 20, 10, 0};
	struct perf_counts counts;
	assert_true(perf_counts_parse(words, sizeof words, &counts));
	assert_int_equal(counts.count, 5);
	assert_int_equal(counts.value[0], 40);
	assert_int_equal(counts.value[3], 10);
	for (size_t size = 0; size < sizeof words; size++)
		assert_false(perf_counts_parse(words, size, &counts));
	words[0] = 100;
	assert_false(perf_counts_parse(words, sizeof words, &counts));
}

static void test_distrust(void **state)
{
	(void)state;
	uint64_t values[PERF_GROUP_MAX];
	struct perf_counts before = {.count = 2, .value = {100, 50}, .enabled_ns = 1000, .running_ns = 1000};
	struct perf_counts after = {.count = 2, .value = {160, 90}, .enabled_ns = 3000, .running_ns = 3000};
	assert_null(perf_counts_between(&before, &after, values));
	assert_int_equal(values[0], 60);
	assert_int_equal(values[1], 40);
	after.running_ns = 2500; /* a fourth of the time was somebody else's */
	assert_non_null(strstr(perf_counts_between(&before, &after, values), "shared"));
	after = before;
	after.enabled_ns = after.running_ns = 3000;
	assert_non_null(strstr(perf_counts_between(&before, &after, values), "stand still"));
	after.count = 1;
	assert_non_null(perf_counts_between(&before, &after, values));
}

static void test_software_events_take_the_same_way(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	unsigned count = 0;
	const struct perf_event *events = perf_software_events(&count);
	const char *lack = NULL;
	struct perf_group *group = perf_group_open(&arena, 0, events, count, &lack);
	if (!group) {
		printf("skip: %s\n", lack);
		arena_release(&arena);
		skip();
	}
	struct perf_counts before, after;
	uint64_t values[PERF_GROUP_MAX];
	enum { PAGES = 64 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	assert_true(perf_group_read(group, &before));
	char *memory = aligned_alloc(page, PAGES * page);
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)memory)[i * page] = 1;
	assert_true(perf_group_read(group, &after));
	assert_null(perf_counts_between(&before, &after, values));
	assert_true(values[0] > 1000); /* nanoseconds of this task */
	free(memory);
	perf_group_close(group);
	arena_release(&arena);
}

static void test_a_counter_that_does_not_exist(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct perf_event none = {"unicorns", 1, 9999};
	const char *lack = NULL;
	assert_null(perf_group_open(&arena, 0, &none, 1, &lack));
	assert_non_null(lack);
	arena_release(&arena);
}

/* ---- pace ------------------------------------------------------------------------------------------------------------ */

static void test_pace(void **state)
{
	(void)state;
	double core = pace_core_hz(), tsc = pace_tsc_hz(), clock = pace_clock_ns();
	/* Wide bounds: the machine may be busy. None is told (0), or something that a CPU can do. */
	assert_true(core == 0 || (core > 1e7 && core < 2e10));
	assert_true(tsc == 0 || (tsc > 1e7 && tsc < 2e10));
	assert_true(clock > 0 && clock < 1e6);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------------ */

static struct trial trial_with(struct arena *arena, double theta, const struct counter *counters, size_t count)
{
	struct trial trial = {.effect = {.known = true, .theta = theta}};
	for (size_t i = 0; i < count; i++)
		list_push(arena, &trial.counters, counters[i]);
	return trial;
}

static void sums_up(const struct trial *trial)
{
	const struct explanation *e = &trial->explanation;
	assert_true(fabs(e->instructions + e->cycles_per_instruction + e->frequency - trial->effect.theta) < 1e-12);
}

static void test_estimated(void **state)
{
	(void)state;
	struct session session = {0};
	arena_init(&session.arena);
	const struct counter counters[] = {
	    {.name = "i", .kind = COUNTER_INSTRUCTIONS, .emulated = true, .baseline = 1000, .candidate = 600},
	    {.name = "f", .kind = COUNTER_FREQUENCY, .estimated = true, .baseline = 4, .candidate = 4},
	};
	struct trial trial = trial_with(&session.arena, log(0.66), counters, 2);
	explain(&session, &trial);
	assert_true(trial.explanation.known && trial.explanation.emulated && trial.explanation.frequency_known);
	assert_true(fabs(effect_percent(trial.explanation.instructions) + 40) < 1e-9);
	assert_true(fabs(effect_percent(trial.explanation.cycles_per_instruction) - 10) < 1e-9);
	sums_up(&trial);
	assert_string_equal(trial.explanation.text, "-34.0 % = instructions -40.0 % (emulated) x cycles per instruction +10.0 % "
	                                            "(estimated) x time of a cycle +0.0 % (probed)");
	/* The candidate ran on a slower core: the rest is that of the code. */
	struct counter slower[] = {counters[0], counters[1]};
	slower[1].candidate = 2;
	trial = trial_with(&session.arena, log(1.2), slower, 2);
	explain(&session, &trial);
	assert_true(fabs(effect_percent(trial.explanation.frequency) - 100) < 1e-9);
	assert_true(fabs(effect_percent(trial.explanation.cycles_per_instruction)) < 1e-9);
	sums_up(&trial);
	/* Without a probe it is said. */
	trial = trial_with(&session.arena, log(0.66), counters, 1);
	explain(&session, &trial);
	assert_false(trial.explanation.frequency_known);
	assert_non_null(strstr(trial.explanation.text, "taken as equal"));
	sums_up(&trial);
	arena_release(&session.arena);
}

static void test_with_hardware_counters(void **state)
{
	(void)state;
	struct session session = {0};
	arena_init(&session.arena);
	/* Emulated instructions stand there as well; the counted ones go before them. */
	const struct counter counters[] = {
	    {.name = "e", .kind = COUNTER_INSTRUCTIONS, .emulated = true, .baseline = 1, .candidate = 9},
	    {.name = "c", .kind = COUNTER_CYCLES, .baseline = 500, .candidate = 450},
	    {.name = "i", .kind = COUNTER_INSTRUCTIONS, .baseline = 1000, .candidate = 600},
	};
	struct trial trial = trial_with(&session.arena, log(0.88), counters, 3);
	explain(&session, &trial);
	assert_true(trial.explanation.known && !trial.explanation.emulated);
	assert_true(fabs(effect_percent(trial.explanation.instructions) + 40) < 1e-9);
	assert_true(fabs(effect_percent(trial.explanation.cycles_per_instruction) - 50) < 1e-9);
	sums_up(&trial);
	assert_string_equal(trial.explanation.text,
	                    "-12.0 % = instructions -40.0 % x cycles per instruction +50.0 % x time of a cycle -2.2 %");
	arena_release(&session.arena);
}

static void test_nothing_to_explain(void **state)
{
	(void)state;
	struct session session = {0};
	arena_init(&session.arena);
	const struct counter lacking = {.name = "i", .kind = COUNTER_INSTRUCTIONS, .emulated = true, .unavailable = "no valgrind"};
	struct trial trial = trial_with(&session.arena, 0.1, &lacking, 1);
	explain(&session, &trial);
	assert_false(trial.explanation.known);
	const struct counter counted = {.name = "i", .kind = COUNTER_INSTRUCTIONS, .emulated = true, .baseline = 2, .candidate = 1};
	trial = trial_with(&session.arena, 0.1, &counted, 1);
	trial.effect.known = false;
	explain(&session, &trial);
	assert_false(trial.explanation.known);
	arena_release(&session.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_group_as_read),
	    cmocka_unit_test(test_distrust),
	    cmocka_unit_test(test_software_events_take_the_same_way),
	    cmocka_unit_test(test_a_counter_that_does_not_exist),
	    cmocka_unit_test(test_pace),
	    cmocka_unit_test(test_estimated),
	    cmocka_unit_test(test_with_hardware_counters),
	    cmocka_unit_test(test_nothing_to_explain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
