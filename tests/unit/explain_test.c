/* What explains a time: counts of the kernel through the way that hardware counters take, and the arithmetic. */
#include "bench/counters.h"
#include "port/pace.h"
#include "port/perf_events.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <perfmon/pfmlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- counts --------------------------------------------------------------------------------------------------------- */

/* A page as the kernel writes it for an event that is on counter 2, of 48 bits, read by a CPU that the test is. */
struct machine {
	struct perf_event_mmap_page *page;
	uint64_t raw, ticks;
	uint32_t index; /* that was asked for */
	int rewrites;   /* the kernel writes the page while it is read, so many times */
};

static uint64_t machine_counter(void *context, uint32_t index)
{
	struct machine *machine = context;
	machine->index = index;
	if (machine->rewrites) {
		machine->rewrites--;
		machine->page->lock += 2;
		machine->page->offset += 1000;
	}
	return machine->raw;
}

static uint64_t machine_ticks(void *context)
{
	return ((struct machine *)context)->ticks;
}

static struct perf_event_mmap_page page_on_counter(void)
{
	struct perf_event_mmap_page page = {.lock = 8, .index = 3, .offset = 5000, .pmc_width = 48, .time_enabled = 700,
	                                    .time_running = 700};
	page.cap_user_rdpmc = 1;
	return page;
}

static void test_page(void **state)
{
	(void)state;
	struct perf_event_mmap_page page = page_on_counter();
	struct machine machine = {.page = &page, .raw = 42};
	struct bench_cpu cpu = {machine_counter, machine_ticks, &machine};
	struct bench_reading reading;
	assert_true(bench_page_read(&page, &cpu, &reading));
	assert_int_equal(machine.index, 2); /* the page's index is one more, so that 0 means none */
	assert_int_equal(reading.count, 5042);
	assert_int_equal(reading.enabled_ns, 700);
	assert_int_equal(reading.running_ns, 700);
	/* The kernel lets counters begin below 0: 2^48 - 10 is -10; what lies above the width is no part of it. */
	machine.raw = (UINT64_C(1) << 48) - 10;
	assert_true(bench_page_read(&page, &cpu, &reading));
	assert_int_equal(reading.count, 4990);
	machine.raw |= UINT64_C(0xabc) << 52;
	assert_true(bench_page_read(&page, &cpu, &reading));
	assert_int_equal(reading.count, 4990);
	page.pmc_width = 64;
	machine.raw = 1;
	assert_true(bench_page_read(&page, &cpu, &reading));
	assert_int_equal(reading.count, 5001);
}

static void test_page_written_meanwhile(void **state)
{
	(void)state;
	struct perf_event_mmap_page page = page_on_counter();
	struct machine machine = {.page = &page, .raw = 1, .rewrites = 2};
	struct bench_cpu cpu = {machine_counter, machine_ticks, &machine};
	struct bench_reading reading;
	assert_true(bench_page_read(&page, &cpu, &reading));
	assert_int_equal(reading.count, 7001); /* of the third try, which saw both */
	machine.rewrites = 1000000; /* for ever */
	assert_false(bench_page_read(&page, &cpu, &reading));
}

static void test_page_that_can_not_be_read(void **state)
{
	(void)state;
	struct perf_event_mmap_page page = page_on_counter();
	struct machine machine = {.page = &page, .raw = 1};
	struct bench_cpu cpu = {machine_counter, machine_ticks, &machine};
	struct bench_reading reading;
	page.index = 0; /* on no counter just now */
	assert_false(bench_page_read(&page, &cpu, &reading));
	page = page_on_counter();
	page.cap_user_rdpmc = 0;
	assert_false(bench_page_read(&page, &cpu, &reading));
}

static void test_page_shared(void **state)
{
	(void)state;
	/* On a counter for 300 of 700 ns until the kernel last wrote; since then 100 + 50 ticks x 3 / 2^1 = 175 ns. */
	struct perf_event_mmap_page page = page_on_counter();
	struct machine machine = {.page = &page, .raw = 1, .ticks = 50};
	struct bench_cpu cpu = {machine_counter, machine_ticks, &machine};
	struct bench_reading reading;
	page.time_running = 300;
	page.cap_user_time = 1;
	page.time_offset = 100;
	page.time_mult = 3;
	page.time_shift = 1;
	assert_true(bench_page_read(&page, &cpu, &reading));
	assert_int_equal(reading.enabled_ns, 875);
	assert_int_equal(reading.running_ns, 475);
	/* Ticks x mult would not fit into 64 bits: 2^60 x 2^20 / 2^40. */
	assert_true(bench_ticks_ns(UINT64_C(1) << 60, 40, 1u << 20) == UINT64_C(1) << 40);
	assert_int_equal(bench_ticks_ns(7, 1, 3), 10); /* 10.5, whole ns */
}

static void test_group_as_read(void **state)
{
	(void)state;
	/* number, time enabled, time running, values: as read() gives them for PERF_FORMAT_GROUP with both times. */
	uint64_t words[] = {5, 1000, 1000, 40, 30, 20, 10, 0};
	struct bench_counts counts;
	assert_true(bench_group_parse(words, sizeof words, &counts));
	assert_int_equal(counts.count, 5);
	assert_int_equal(counts.value[0], 40);
	assert_int_equal(counts.value[3], 10);
	for (size_t size = 0; size < sizeof words; size++)
		assert_false(bench_group_parse(words, size, &counts));
	words[0] = 100;
	assert_false(bench_group_parse(words, sizeof words, &counts));
}

static void test_distrust(void **state)
{
	(void)state;
	struct bench_counts before = {.count = 2, .way = BENCH_BY_RDPMC, .value = {100, 50}, .enabled_ns = 1000, .running_ns = 1000};
	struct bench_counts after = {.count = 2, .way = BENCH_BY_RDPMC, .value = {160, 90}, .enabled_ns = 3000, .running_ns = 3000};
	struct bench_counts between = bench_counts_between(&before, &after);
	assert_null(perf_counts_lack(&between));
	assert_int_equal(between.value[0], 60);
	assert_int_equal(between.value[1], 40);
	assert_int_equal(between.way, BENCH_BY_RDPMC);
	after.running_ns = 2500; /* a fourth of the time was somebody else's */
	between = bench_counts_between(&before, &after);
	assert_non_null(strstr(perf_counts_lack(&between), "shared"));
	after = before;
	after.enabled_ns = after.running_ns = 3000;
	between = bench_counts_between(&before, &after);
	assert_non_null(strstr(perf_counts_lack(&between), "stand still"));
	/* A reading by the kernel makes the difference one. A clock that stands still is none. */
	after.way = BENCH_BY_KERNEL;
	after.value[1]++;
	between = bench_counts_between(&before, &after);
	assert_int_equal(between.way, BENCH_BY_KERNEL);
	assert_non_null(strstr(perf_counts_lack(&between), "first counter"));
	after.count = 1;
	between = bench_counts_between(&before, &after);
	assert_non_null(strstr(perf_counts_lack(&between), "can't be read"));
}

static unsigned codes_of(const struct perf_event_set *set, struct bench_event *codes)
{
	for (unsigned i = 0; i < set->count; i++)
		codes[i] = set->at[i].code;
	return set->count;
}

static void test_software_events_take_the_same_way(void **state)
{
	(void)state;
	struct perf_event_set set = perf_events_software();
	struct bench_event codes[BENCH_EVENTS_MAX];
	struct bench_group group;
	unsigned count = codes_of(&set, codes), which;
	int code = bench_group_open(&group, codes, count, &which);
	if (code) {
		printf("skip: perf_event_open for events of the kernel: %s\n", strerror(code));
		skip();
	}
	struct bench_counts before, after, between;
	enum { PAGES = 64 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	assert_true(bench_group_read(&group, BENCH_THIS_CPU, &before));
	char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)memory)[i * page] = 1;
	assert_true(bench_group_read(&group, BENCH_THIS_CPU, &after));
	between = bench_counts_between(&before, &after);
	assert_null(perf_counts_lack(&between));
	assert_int_equal(between.way, BENCH_BY_KERNEL); /* they have no counter of their own */
	assert_true(between.value[0] > 1000);           /* nanoseconds of this task */
	assert_true(between.value[1] >= PAGES);
	munmap(memory, PAGES * page);
	bench_group_close(&group);
	assert_int_equal(group.count, 0);
}

static void test_a_counter_that_does_not_exist(void **state)
{
	(void)state;
	struct bench_event events[] = {perf_events_software().at[0].code, {.type = 1, .config = 9999}};
	struct bench_group group;
	unsigned which = 9;
	int code = bench_group_open(&group, events, 2, &which);
	assert_int_not_equal(code, 0);
	assert_int_equal(group.count, 0);
	if (code != EACCES && code != EPERM && code != ENOSYS)
		assert_int_equal(which, 1);
}

static void test_lacks(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	assert_non_null(strstr(perf_open_lack(&arena, EACCES, "cycles"), "perf_event_paranoid"));
	assert_non_null(strstr(perf_open_lack(&arena, ENOENT, "cache misses"), "does not count cache misses"));
	assert_non_null(strstr(perf_open_lack(&arena, EINVAL, "cache misses"), "together with the others"));
	assert_non_null(strstr(perf_open_lack(&arena, ENOSYS, NULL), "no perf_event_open"));
	arena_release(&arena);
}

/* ---- names ------------------------------------------------------------------------------------------------------------ */

static void test_names(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	/* libpfm4 then has the names of this CPU, whatever it runs on; the codes are those of Intel's manual, volume 3,
	 * chapter "Performance monitoring events": the low byte is the event, the next the unit's mask. */
	setenv("LIBPFM_FORCE_PMU", "skl", 1);
	struct perf_event_set set;
	struct err err = ERR_INIT;
	struct string_list names = {0};
	list_push(&arena, &names, "L2_RQSTS:MISS");
	list_push(&arena, &names, "BR_MISP_RETIRED:ALL_BRANCHES");
	if (perf_events_named(&arena, &names, &set, &err) != ST_OK) {
		printf("skip: libpfm4 has no names for Skylake here: %s\n", err.text);
		arena_release(&arena);
		skip();
	}
	assert_int_equal(set.count, 3);
	assert_string_equal(set.at[0].name, "cycles");
	assert_true(perf_event_hardware(&set.at[1]));
	assert_int_equal(set.at[1].code.config & 0xffff, 0x3f24);
	assert_int_equal(set.at[2].code.config & 0xff, 0xc5);
	/* A part of names is no name, but helps to find it. */
	names = (struct string_list){0};
	list_push(&arena, &names, "L2_RQ");
	assert_int_equal(perf_events_named(&arena, &names, &set, &err), ST_USAGE);
	assert_non_null(strstr(err.text, "L2_RQSTS"));
	pfm_terminate();
	unsetenv("LIBPFM_FORCE_PMU");
	/* What the kernel counts needs no cycles. */
	names = (struct string_list){0};
	list_push(&arena, &names, "PAGE-FAULTS");
	err = (struct err)ERR_INIT;
	assert_int_equal(perf_events_named(&arena, &names, &set, &err), ST_OK);
	assert_string_equal(set.at[0].name, "task clock");
	assert_non_null(strstr(perf_event_way(&set.at[1]), "kernel"));
	names = (struct string_list){0};
	for (int i = 0; i < BENCH_EVENTS_MAX; i++)
		list_push(&arena, &names, "PAGE-FAULTS");
	err = (struct err)ERR_INIT;
	assert_int_equal(perf_events_named(&arena, &names, &set, &err), ST_USAGE);
	assert_non_null(strstr(err.text, "at most 7"));
	arena_release(&arena);
}

/* ---- top-down ---------------------------------------------------------------------------------------------------------- */

static void test_codes(void **state)
{
	(void)state;
	const struct perf_format intel[] = {{"event", "config:0-7"}, {"umask", "config:8-15"}, {"edge", "config:18"}};
	const struct perf_format amd[] = {{"event", "config:0-7,32-35"}};
	const struct perf_format other[] = {{"ldlat", "config1:0-15"}};
	uint64_t config;
	assert_true(perf_code_parse("event=0x00,umask=0x80", intel, 3, &config));
	assert_int_equal(config, 0x8000);
	assert_true(perf_code_parse("event=0xc4,edge", intel, 3, &config));
	assert_int_equal(config, 0x400c4);
	assert_true(perf_code_parse("event=0x1ff", amd, 1, &config));
	assert_true(config == (UINT64_C(1) << 32 | 0xff));
	static const char *const wrong[] = {"", "event", "event=", "event=x", "event=0x100", "cmask=1", "event=1,,umask=2", "event=1;"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (strcmp(wrong[i], "event") != 0)
			assert_false(perf_code_parse(wrong[i], intel, 3, &config));
	assert_false(perf_code_parse("ldlat=3", other, 1, &config));
	assert_false(perf_code_parse("event=1", (const struct perf_format[]){{"event", "config:9-3"}}, 1, &config));
	assert_false(perf_code_parse("event=1", (const struct perf_format[]){{"event", "config:0-70"}}, 1, &config));
}

static void put(const char *folder, const char *name, const char *text)
{
	char path[256];
	struct err err = ERR_INIT;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(file_write(path, text, strlen(text), &err), ST_OK);
}

static void test_topdown_events(void **state)
{
	(void)state;
	struct arena arena;
	struct perf_event_set set;
	struct err err = ERR_INIT;
	char root[] = "/tmp/assay-topdown-XXXXXX";
	arena_init(&arena);
	assert_non_null(mkdtemp(root));
	assert_non_null(strstr(perf_events_topdown(&arena, root, &set), "no performance counters"));
	const char *device = arena_printf(&arena, "%s/sys/bus/event_source/devices/cpu", root);
	assert_int_equal(folder_make(arena_printf(&arena, "%s/events", device), &err), ST_OK);
	assert_int_equal(folder_make(arena_printf(&arena, "%s/format", device), &err), ST_OK);
	put(device, "type", "4\n");
	put(device, "format/event", "config:0-7\n");
	put(device, "format/umask", "config:8-15\n");
	assert_non_null(strstr(perf_events_topdown(&arena, root, &set), "Ice Lake"));
	/* As Linux 6.1 shows them on an Ice Lake server. */
	put(device, "events/slots", "event=0x00,umask=0x4\n");
	put(device, "events/topdown-retiring", "event=0x00,umask=0x80\n");
	put(device, "events/topdown-bad-spec", "event=0x00,umask=0x81\n");
	put(device, "events/topdown-fe-bound", "event=0x00,umask=0x82\n");
	put(device, "events/topdown-be-bound", "event=0x00,umask=0x83\n");
	assert_null(perf_events_topdown(&arena, root, &set));
	assert_int_equal(set.count, 5);
	assert_int_equal(set.at[0].code.config, 0x400);
	assert_int_equal(set.at[4].code.config, 0x8300);
	assert_int_equal(set.at[4].code.type, 4);
	assert_true(set.at[1].code.by_kernel);
	put(device, "events/topdown-fe-bound", "event=0x00,umask=0x82,metric=1\n");
	assert_non_null(strstr(perf_events_topdown(&arena, root, &set), "topdown-fe-bound is not understood"));
	assert_int_equal(tree_remove(root, &err), ST_OK);
	arena_release(&arena);
}

static void test_topdown_arithmetic(void **state)
{
	(void)state;
	/* 1000 slots, kept in 255ths by the CPU: 0x52 + 0x0c + 0x21 + 0x80 = 255. */
	const double good[5] = {1000, 1000 * 82 / 255.0, 1000 * 12 / 255.0, 1000 * 33 / 255.0, 1000 * 128 / 255.0};
	struct perf_topdown parts;
	assert_null(perf_topdown_of(good, &parts));
	assert_true(fabs(parts.retiring - 0.3216) < 1e-4);
	assert_true(fabs(parts.bad_speculation - 0.0471) < 1e-4);
	assert_true(fabs(parts.front_end - 0.1294) < 1e-4);
	assert_true(fabs(parts.back_end - 0.5020) < 1e-4);
	assert_true(fabs(parts.retiring + parts.bad_speculation + parts.front_end + parts.back_end - 1) < 1e-12);
	const double none[5] = {0, 0, 0, 0, 0}, half[5] = {1000, 200, 100, 100, 100}, below[5] = {1000, 1100, -200, 50, 50},
	             odd[5] = {1000, NAN, 300, 300, 400};
	assert_non_null(perf_topdown_of(none, &parts));
	assert_non_null(strstr(perf_topdown_of(half, &parts), "don't add up"));
	assert_non_null(strstr(perf_topdown_of(below, &parts), "below 0"));
	assert_non_null(perf_topdown_of(odd, &parts));
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
	    cmocka_unit_test(test_page),
	    cmocka_unit_test(test_page_written_meanwhile),
	    cmocka_unit_test(test_page_that_can_not_be_read),
	    cmocka_unit_test(test_page_shared),
	    cmocka_unit_test(test_lacks),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_codes),
	    cmocka_unit_test(test_topdown_events),
	    cmocka_unit_test(test_topdown_arithmetic),
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
