/* The machine's files, recorded; the verdict over probes; what is printed. */
#include "model/checkup.h"
#include "port/host_probe.h"
#include "port/tree.h"
#include "report/report.h"
#include "stage/stages.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct recorded {
	const char *path, *text;
};

/* A desktop with a hybrid processor that does much else, in a container. */
static const struct recorded busy[] = {
    {"/sys/devices/cpu_core/type", "4\n"},
    {"/sys/devices/cpu_atom/type", "10\n"},
    {"/sys/devices/system/cpu/smt/active", "1\n"},
    {"/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n"},
    {"/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1\n"},
    {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"},
    {"/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"},
    {"/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"},
    {"/sys/class/power_supply/AC/type", "Mains\n"},
    {"/sys/class/power_supply/BAT0/type", "Battery\n"},
    {"/sys/class/power_supply/BAT0/status", "Discharging\n"},
    {"/proc/self/cgroup", "0::/docker/4f1a\n"},
    {"/sys/fs/cgroup/docker/cpu.max", "150000 100000\n"},
    {"/sys/fs/cgroup/docker/cpu.stat", "usage_usec 5\nnr_periods 340\nnr_throttled 12\nthrottled_usec 9\n"},
    {"/sys/fs/cgroup/docker/4f1a/cpu.max", "max 100000\n"},
    {"/proc/stat", "cpu  1000 0 500 90000 0 0 0 200 0 0\ncpu0 500 0 250 45000 0 0 0 100 0 0\n"},
    {"/proc/loadavg", "5.25 4.00 3.00 2/300 4242\n"},
    {"/proc/pressure/cpu", "some avg10=41.50 avg60=10.00 avg300=5.00 total=99\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
    {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"},
    {"/proc/sys/kernel/randomize_va_space", "0\n"},
    {"/proc/meminfo", "MemTotal:        8000000 kB\nMemFree:          100000 kB\nMemAvailable:     200000 kB\n"},
};

/* A quiet server. */
static const struct recorded quiet[] = {
    {"/sys/devices/system/cpu/smt/active", "0\n"},
    {"/sys/devices/system/cpu/cpu0/cpu_capacity", "1024\n"},
    {"/sys/devices/system/cpu/cpu1/cpu_capacity", "1024\n"},
    {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"},
    {"/sys/devices/system/cpu/cpufreq/boost", "0\n"},
    {"/sys/class/power_supply/mouse/type", "Battery\n"},
    {"/sys/class/power_supply/mouse/scope", "Device\n"},
    {"/sys/class/power_supply/mouse/status", "Discharging\n"},
    {"/proc/self/cgroup", "4:cpu,cpuacct:/\n0::/\n"},
    {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
    {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
    {"/proc/stat", "cpu  1000 0 500 90000 0 0 0 0 0 0\n"},
    {"/proc/loadavg", "0.02 0.01 0.00 1/100 4242\n"},
    {"/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n"},
    {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"},
    {"/proc/sys/kernel/randomize_va_space", "2\n"},
    {"/proc/meminfo", "MemTotal:       64000000 kB\nMemAvailable:   60000000 kB\n"},
};

static struct probe_list probes_of(struct arena *arena, const struct recorded *files, size_t count)
{
	char root[] = "/tmp/assay-checkup-XXXXXX";
	struct probe_list probes = {0};
	struct err err = ERR_INIT;
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < count; i++) {
		char *path = arena_printf(arena, "%s%s", root, files[i].path), *folder = arena_strdup(arena, path);
		*strrchr(folder, '/') = '\0';
		assert_int_equal(folder_make(folder, &err), ST_OK);
		assert_int_equal(file_write(path, files[i].text, strlen(files[i].text), &err), ST_OK);
	}
	host_probe_files(arena, root, 2, &probes);
	assert_int_equal(tree_remove(root, &err), ST_OK);
	return probes;
}

static const struct probe *probe_named(const struct probe_list *probes, const char *name)
{
	for (size_t i = 0; i < probes->count; i++)
		if (strcmp(probes->at[i].name, name) == 0)
			return &probes->at[i];
	fail_msg("no probe %s", name);
	return NULL;
}

#define PROBE(name, wanted, word)                                                                                      \
	do {                                                                                                               \
		const struct probe *probe_ = probe_named(&probes, name);                                                       \
		if (probe_->result != (wanted) || !strstr(probe_->found, word))                                                \
			fail_msg("%s: %s, %s", name, probe_result_name(probe_->result), probe_->found);                            \
		assert_true((probe_->costs != NULL) == (probe_->result != PROBE_FINE));                                        \
	} while (0)

static void test_busy(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct probe_list probes = probes_of(&arena, busy, sizeof busy / sizeof *busy);
	PROBE("kinds of cores", PROBE_LIMIT, "fast and slow");
	PROBE("SMT", PROBE_LIMIT, "threads of one core");
	PROBE("governor", PROBE_LIMIT, "powersave");
	PROBE("turbo", PROBE_LIMIT, "on");
	PROBE("power", PROBE_LIMIT, "battery");
	PROBE("CPU limit", PROBE_LIMIT, "1.50 CPUs; stopped in 12 of 340 periods"); /* of the group above */
	PROBE("steal", PROBE_LIMIT, "11.8 %");         /* 200 of 1700 */
	PROBE("neighbours", PROBE_LIMIT, "load 5.2 for 2 CPUs, 42 %");
	PROBE("clock source", PROBE_LIMIT, "hpet");
	PROBE("addresses", PROBE_LIMIT, "not all");
	PROBE("memory", PROBE_LIMIT, "0.2 of 7.6 GiB");
	arena_release(&arena);
}

static void test_quiet(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct probe_list probes = probes_of(&arena, quiet, sizeof quiet / sizeof *quiet);
	for (size_t i = 0; i < probes.count; i++)
		if (probes.at[i].result != PROBE_FINE || probes.at[i].costs || probes.at[i].mend)
			fail_msg("%s: %s", probes.at[i].name, probes.at[i].found);
	arena_release(&arena);
}

static void test_nothing_shown(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct probe_list probes = probes_of(&arena, NULL, 0);
	PROBE("SMT", PROBE_NOTE, "not shown");
	PROBE("governor", PROBE_NOTE, "not shown");
	PROBE("steal", PROBE_NOTE, "not shown");
	PROBE("neighbours", PROBE_NOTE, "not shown");
	PROBE("clock source", PROBE_NOTE, "not shown");
	PROBE("memory", PROBE_NOTE, "not shown");
	arena_release(&arena);
}

static void test_small_limits(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	const struct recorded half[] = {{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "50000 100000\n"}};
	struct probe_list probes = probes_of(&arena, half, 2);
	PROBE("CPU limit", PROBE_UNFIT, "0.50 CPUs");
	const struct recorded first[] = {{"/proc/self/cgroup", "7:memory:/x\n4:cpu,cpuacct:/on/the/host\n"},
	                                 {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n"},
	                                 {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}};
	probes = probes_of(&arena, first, 3);
	PROBE("CPU limit", PROBE_LIMIT, "3.00 CPUs");
	arena_release(&arena);
}

/* ---- the verdict ----------------------------------------------------------------------------------------------------- */

static struct checkup checkup_with(struct arena *arena, enum probe_result result, bool is_quiet, double floor)
{
	struct checkup checkup = {.version = "0.1.0", .date = "2026-01-02T03:04:05Z",
	                          .host = {.name = "box", .cpu = "Some CPU", .kernel = "Linux 6", .system = "Debian", .cpus = 2}};
	struct probe probe = {.group = "measuring", .name = "neighbours", .result = result, .found = "load 7 for 2 CPUs",
	                      .costs = result == PROBE_FINE ? NULL : "verdicts take longer",
	                      .mend = result == PROBE_FINE ? NULL : "end other work"};
	struct noise noise = {.name = "arithmetic", .control = {.done = true, .quiet = is_quiet, .floor = floor, .pairs = 40,
	                                                        .blocks = 20, .seconds = 2, .text = "A against a copy of A"}};
	list_push(arena, &checkup.probes, probe);
	list_push(arena, &checkup.noises, noise);
	checkup_judge(arena, 0.01, &checkup);
	return checkup;
}

static void test_verdicts(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct checkup checkup = checkup_with(&arena, PROBE_FINE, true, 0.002);
	assert_int_equal(checkup.verdict, PROBE_FINE);
	assert_string_equal(checkup.text, "fit to judge; noise floor 0.20 % (arithmetic)");
	checkup = checkup_with(&arena, PROBE_NOTE, true, 0.002);
	assert_int_equal(checkup.verdict, PROBE_FINE);
	checkup = checkup_with(&arena, PROBE_LIMIT, true, 0.002);
	assert_int_equal(checkup.verdict, PROBE_LIMIT);
	assert_string_equal(checkup.text, "fit with limits: 1 of 1 probes found a lack; noise floor 0.20 % (arithmetic)");
	checkup = checkup_with(&arena, PROBE_FINE, true, 0.02); /* above the margin */
	assert_int_equal(checkup.verdict, PROBE_LIMIT);
	checkup = checkup_with(&arena, PROBE_FINE, false, 0.002);
	assert_int_equal(checkup.verdict, PROBE_UNFIT);
	assert_string_equal(checkup.text, "unfit to judge: equal programs differ here (arithmetic)");
	checkup = checkup_with(&arena, PROBE_UNFIT, true, 0.002);
	assert_string_equal(checkup.text, "unfit to judge: neighbours: load 7 for 2 CPUs");
	checkup.noises.count = 0;
	checkup.probes.at[0].result = PROBE_FINE;
	checkup_judge(&arena, 0.01, &checkup);
	assert_int_equal(checkup.verdict, PROBE_LIMIT);
	arena_release(&arena);
}

static void test_text(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct checkup checkup = checkup_with(&arena, PROBE_LIMIT, true, 0.002);
	struct term_options options = {.width = 80};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	term_checkup(out, &checkup, &options);
	fclose(out);
	assert_string_equal(text, "fit with limits: 1 of 1 probes found a lack; noise floor 0.20 % (arithmetic)\n"
	                          "assay 0.1.0 on box: Some CPU, 2 CPUs, Debian, Linux 6; 2026-01-02T03:04:05Z\n"
	                          "\n"
	                          "measuring\n"
	                          "  limit   neighbours          load 7 for 2 CPUs\n"
	                          "          costs: verdicts take longer\n"
	                          "          mend: end other work\n"
	                          "\n"
	                          "noise: a program against a copy of itself\n"
	                          "  fine    arithmetic          floor 0.2 %; 40 pairs in 20 blocks, 2.00 s\n");
	free(text);
	arena_release(&arena);
}

/* Every key that the schema requires, and no other. */
static void check_keys(json_t *schema, json_t *value)
{
	const char *key;
	json_t *item;
	size_t index;
	json_t *properties = json_object_get(schema, "properties"), *names = json_object_get(schema, "enum");
	if (properties) {
		assert_int_equal(json_object_size(properties), json_array_size(json_object_get(schema, "required")));
		json_object_foreach(properties, key, item) {
			if (!json_object_get(value, key))
				fail_msg("%s is missing", key);
			check_keys(item, json_object_get(value, key));
		}
		json_object_foreach(value, key, item)
			if (!json_object_get(properties, key))
				fail_msg("%s is not in the schema", key);
	}
	bool found = !names;
	json_array_foreach(names, index, item)
		found |= json_equal(item, value);
	assert_true(found);
	json_array_foreach(value, index, item)
		check_keys(json_object_get(schema, "items"), item);
}

static void test_json(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct checkup checkup = checkup_with(&arena, PROBE_LIMIT, true, NAN);
	checkup.probes.at[0].found = "not \xff UTF-8";
	struct noise none = {.name = "memory", .lack = "there is no compiler"};
	list_push(&arena, &checkup.noises, none);
	json_error_t error;
	json_t *document = json_loads(json_checkup(&arena, &checkup), 0, &error);
	json_t *schema = json_load_file(ASSAY_SOURCE_DIR "/docs/schema/doctor-1.json", 0, &error);
	assert_non_null(document);
	assert_non_null(schema);
	check_keys(schema, document);
	json_t *noise = json_object_get(document, "noise");
	assert_true(json_is_null(json_object_get(json_array_get(noise, 0), "floor_percent")));
	assert_true(json_is_null(json_object_get(json_array_get(noise, 1), "quiet")));
	json_decref(document);
	json_decref(schema);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_busy),         cmocka_unit_test(test_quiet), cmocka_unit_test(test_nothing_shown),
	    cmocka_unit_test(test_small_limits), cmocka_unit_test(test_verdicts), cmocka_unit_test(test_text),
	    cmocka_unit_test(test_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
