/* The parts of the rung "reach": formats of callgrind, of the kernel's samples and of linked programs; bounds; and the
 * whole question on small programs that are built here. */
#include "model/reach.h"
#include "port/callgrind.h"
#include "port/object_program.h"
#include "port/perf.h"
#include "port/proc.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <linux/perf_event.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- callgrind ---------------------------------------------------------------------------------------------------- */

/* As valgrind 3.19 writes it with --dump-line=no, shortened. */
static const char recorded[] =
    "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 7\ncmd:  ./a\npart: 1\n\n"
    "desc: Trigger: --dump-before=assay_bench_run\n\npositions: line\nevents: Ir\nsummary: 110\n\n"
    "ob=(5) /tmp/a\nfl=(1) a.c\nfn=(10) main\n0 10\ncfn=(11) prepare\ncalls=1 0 \n0 100\n\n"
    "fn=(11)\n0 60\ncob=(6) /lib/libc.so.6\ncfi=(2) x.c\ncfn=(12) memset\ncalls=2 0 \n0 40\n\n"
    "ob=(6)\nfl=(2)\nfn=(12)\n0 40\n\ntotals: 110\n\n"
    "part: 2\n\ndesc: Trigger: --dump-after=assay_bench_run\n\nevents: Ir\nsummary: 50\n\n"
    "ob=(5)\nfl=(1)\nfn=(13) assay_bench_run\n0 5\ncfn=(14) work\ncalls=9 0 \n0 45\n\n"
    "fn=(14)\n+3 20\n* 5\ncob=(6)\ncfn=(12)\ncalls=1 0 \n* 20\ncfn=(15) local\ncalls=0 0\n0 0\n\n"
    "ob=(6)\nfn=(12)\n0 20\n\ntotals: 50\n\n"
    "part: 3\n\ndesc: Trigger: Program termination\n\nevents: Ir\nsummary: 7\n\nob=(5)\nfn=(10)\n0 7\n\ntotals: 7\n";

static const struct callgrind_function *function_named(const struct callgrind *profile, const char *name)
{
	for (size_t i = 0; i < profile->functions.count; i++)
		if (strcmp(profile->functions.at[i].name, name) == 0)
			return &profile->functions.at[i];
	fail_msg("no function %s", name);
	return NULL;
}

static bool calls(const struct callgrind *profile, const char *from, const char *to)
{
	for (size_t i = 0; i < profile->calls.count; i++)
		if (strcmp(profile->functions.at[profile->calls.at[i].from].name, from) == 0 &&
		    strcmp(profile->functions.at[profile->calls.at[i].to].name, to) == 0)
			return true;
	return false;
}

static void test_callgrind_parts(void **state)
{
	(void)state;
	struct arena arena;
	struct callgrind profile;
	struct err err = ERR_INIT;
	arena_init(&arena);
	assert_int_equal(callgrind_parse(&arena, recorded, &profile, &err), ST_OK);
	assert_true(profile.split);
	assert_int_equal(profile.total[CALLGRIND_BEFORE], 110);
	assert_int_equal(profile.total[CALLGRIND_INSIDE], 50);
	assert_int_equal(profile.total[CALLGRIND_AFTER], 7);
	const struct callgrind_function *memset_ = function_named(&profile, "memset");
	assert_string_equal(memset_->object, "/lib/libc.so.6");
	assert_int_equal(memset_->self[CALLGRIND_BEFORE], 40);
	assert_int_equal(memset_->self[CALLGRIND_INSIDE], 20);
	const struct callgrind_function *work = function_named(&profile, "work");
	assert_string_equal(work->object, "/tmp/a");
	assert_int_equal(work->self[CALLGRIND_INSIDE], 25);
	assert_int_equal(work->self[CALLGRIND_BEFORE], 0);
	/* After a call into another file, the next callee is in the caller's own. */
	assert_string_equal(function_named(&profile, "local")->object, "/tmp/a");
	assert_true(calls(&profile, "assay_bench_run", "work"));
	assert_true(calls(&profile, "work", "memset"));
	assert_false(calls(&profile, "main", "prepare")); /* that was before */
	arena_release(&arena);
}

static void test_callgrind_unsplit_and_damaged(void **state)
{
	(void)state;
	struct arena arena;
	struct callgrind profile;
	struct err err = ERR_INIT;
	arena_init(&arena);
	assert_int_equal(callgrind_parse(&arena, "part: 1\nevents: Ir\nob=(1) /a\nfn=(1) f\n0 3\n", &profile, &err), ST_OK);
	assert_false(profile.split);
	assert_int_equal(profile.total[CALLGRIND_INSIDE], 3);
	static const char *const damaged[] = {"", "events: Ir\n0 3\n", "events: Ir\nfn=(1)\n", "events: Ir\nfn=\n0 3\n",
	                                      "events: Ir\nfn=(99999999999) f\n", "events: Ir\ncalls=1 0\n", "fn=(1) f\n0 3\n"};
	for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
		err = ERR_INIT;
		if (callgrind_parse(&arena, damaged[i], &profile, &err) != ST_INPUT)
			fail_msg("damaged text %zu was read", i);
	}
	arena_release(&arena);
}

/* ---- samples ------------------------------------------------------------------------------------------------------- */

struct record {
	struct perf_event_header header;
	uint64_t words[8];
};

static size_t record_add(unsigned char *at, uint32_t type, uint16_t misc, const uint64_t *words, size_t count)
{
	struct record record = {.header = {.type = type, .misc = misc, .size = (uint16_t)(sizeof(struct perf_event_header) + 8 * count)}};
	memcpy(record.words, words, 8 * count);
	memcpy(at, &record, record.header.size);
	return record.header.size;
}

static void test_records(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	unsigned char bytes[1024];
	size_t size = 0;
	uint64_t user[] = {0x401000, 2, PERF_CONTEXT_USER, 0x401000};
	uint64_t kernel[] = {0xffffffff81000000u, 2, PERF_CONTEXT_USER, 0x402000};
	uint64_t no_user[] = {0xffffffff81000000u, 0};
	uint64_t lost[] = {1, 5};
	uint64_t other[] = {1, 2, 3};
	size += record_add(bytes + size, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, user, 4);
	size += record_add(bytes + size, PERF_RECORD_MMAP, 0, other, 3);
	size += record_add(bytes + size, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, kernel, 4);
	size += record_add(bytes + size, PERF_RECORD_LOST, 0, lost, 2);
	size += record_add(bytes + size, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, no_user, 2);
	struct perf_sample_list samples = {0};
	assert_int_equal(perf_records_parse(&arena, bytes, size, true, &samples), 5);
	assert_int_equal(samples.count, 3);
	assert_true(samples.at[0].ip == 0x401000 && !samples.at[0].kernel);
	assert_true(samples.at[1].ip == 0x402000 && samples.at[1].kernel);
	assert_true(samples.at[2].ip == 0 && samples.at[2].kernel);
	/* Cut anywhere: what is whole is read, nothing else is looked at. */
	for (size_t cut = 0; cut < size; cut++) {
		struct perf_sample_list some = {0};
		unsigned char *exact = malloc(cut + 1);
		memcpy(exact, bytes, cut);
		perf_records_parse(&arena, exact, cut, true, &some);
		assert_true(some.count < 3);
		free(exact);
	}
	arena_release(&arena);
}

static void test_mappings(void **state)
{
	(void)state;
	struct arena arena;
	struct perf_mapping_list mappings;
	arena_init(&arena);
	perf_maps_parse(&arena,
	                "55d000000000-55d000001000 r--p 00000000 fe:00 123    /tmp/a b/workload\n"
	                "55d000001000-55d000003000 r-xp 00001000 fe:00 123    /tmp/a b/workload\n"
	                "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
	                "7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0      [vdso]\n", &mappings);
	assert_int_equal(mappings.count, 2);
	const struct perf_mapping *mapping = perf_mapping_at(&mappings, 0x55d000001010);
	assert_non_null(mapping);
	assert_string_equal(mapping->path, "/tmp/a b/workload");
	assert_int_equal(mapping->offset, 0x1000);
	assert_null(perf_mapping_at(&mappings, 0x55d000000010));
	assert_null(perf_mapping_at(&mappings, 0x55d000003000));
	perf_maps_read(&arena, getpid(), &mappings);
	assert_non_null(perf_mapping_at(&mappings, (uint64_t)(uintptr_t)test_mappings));
	arena_release(&arena);
}

/* ---- programs ------------------------------------------------------------------------------------------------------- */

/* This test's own function, found through the mappings of this process as a sample's would be. */
static void test_own_program(void **state)
{
	(void)state;
	struct arena arena;
	struct program program;
	struct perf_mapping_list mappings;
	struct err err = ERR_INIT;
	arena_init(&arena);
	assert_int_equal(program_open(&arena, "/proc/self/exe", &program, &err), ST_OK);
	perf_maps_read(&arena, getpid(), &mappings);
	uint64_t here = (uint64_t)(uintptr_t)test_own_program + 4, address = 0;
	const struct perf_mapping *mapping = perf_mapping_at(&mappings, here);
	assert_non_null(mapping);
	assert_true(program_address(&program, mapping->offset + (here - mapping->start), &address));
	bool found = false;
	for (size_t i = 0; i < program.functions.count; i++)
		if (address >= program.functions.at[i].start && address < program.functions.at[i].end)
			found |= strcmp(program.functions.at[i].name, "test_own_program") == 0;
	assert_true(found);
	assert_false(program_address(&program, UINT64_MAX, &address));
	assert_int_equal(program_open(&arena, ASSAY_SOURCE_DIR "/README.md", &program, &err), ST_INPUT);
	assert_non_null(strstr(err.text, "not a linked ELF program"));
	arena_release(&arena);
}

static void test_gain(void **state)
{
	(void)state;
	assert_true(reach_gain_most(0) == 0);
	assert_true(fabs(reach_gain_most(0.5) - 1) < 1e-12); /* half of the time gone: twice as fast */
	assert_true(fabs(reach_gain_most(0.01) - 0.010101) < 1e-6);
	assert_true(isinf(reach_gain_most(1)));
}

/* ---- the whole question ---------------------------------------------------------------------------------------------- */

static const volatile sig_atomic_t never = 0;

struct bench {
	struct session session;
	struct variant baseline, candidate;
	char folder[64];
};

/* `text` is compiled as a workload's only source. */
static void program_make(struct bench *bench, const char *name, const char *text, struct variant *ret_variant)
{
	struct arena *arena = &bench->session.arena;
	struct err err = ERR_INIT;
	const char *source = arena_printf(arena, "%s/%s.c", bench->folder, name);
	const char *program = arena_printf(arena, "%s/%s", bench->folder, name);
	assert_int_equal(file_write(source, text, strlen(text), &err), ST_OK);
	struct proc_request request = {.cpu = -1};
	const char *const argv[] = {"cc", "-O1", "-I", ASSAY_SOURCE_DIR "/include", "-I", ASSAY_SOURCE_DIR "/src/bench", "-o", program,
	                            source, ASSAY_SOURCE_DIR "/src/bench/runtime.c"};
	for (size_t i = 0; i < sizeof argv / sizeof *argv; i++)
		list_push(arena, &request.argv, argv[i]);
	struct proc_result result;
	assert_int_equal(proc_run(arena, &request, &result, &err), ST_OK);
	if (!proc_ok(&result))
		fail_msg("%s: %s", name, result.err);
	*ret_variant = (struct variant){.name = name, .program = program};
}

static const char source_format[] =
    "#include <assay/bench.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "static unsigned char data[50000]; static volatile unsigned sink;\n"
    "__attribute__((noinline)) unsigned never(unsigned x) { return x * %d; }\n"
    "__attribute__((noinline)) unsigned seldom(unsigned x) { return x + %d; }\n"
    "__attribute__((noinline)) unsigned prepared(unsigned x) { return x + %d; }\n"
    "__attribute__((noinline)) unsigned often(unsigned x) { for (int i = 0; i < 50000; i++) x = x * 31 + data[i]; return x; }\n"
    "static void *setup(struct assay_bench *b) { assay_fill_random(b, data, sizeof data); sink = prepared(data[0]); return data; }\n"
    "static void run(void *s, uint64_t n) { while (n--) { sink = seldom(often((unsigned)n)); if (!s) sink = never(1); } }\n"
    "const struct assay_workload assay_workload = {.setup = setup, .run = run};\n";

static void bench_open(struct bench *bench)
{
	*bench = (struct bench){.session = {.interrupted = &never, .jobs = 1}};
	arena_init(&bench->session.arena);
	strcpy(bench->folder, "/tmp/assay-reach-XXXXXX");
	assert_non_null(mkdtemp(bench->folder));
	bench->session.workdir = bench->folder;
	bench->session.run.seed = 3;
	program_make(bench, "baseline", arena_printf(&bench->session.arena, source_format, 3, 3, 3), &bench->baseline);
	program_make(bench, "candidate", arena_printf(&bench->session.arena, source_format, 5, 5, 5), &bench->candidate);
}

static void bench_close(struct bench *bench)
{
	struct err err = ERR_INIT;
	assert_int_equal(tree_remove(bench->folder, &err), ST_OK);
	arena_release(&bench->session.arena);
}

static struct reach_result ask(struct bench *bench, const char *changed, bool functions, bool data)
{
	struct code_difference code = {.differ = true};
	struct function_change change = {.unit = "a.c", .name = changed, .change = CHANGE_CHANGED};
	struct named_change table = {"a.c", "table", "other bytes"};
	struct reach_result result;
	struct err err = ERR_INIT;
	if (changed)
		list_push(&bench->session.arena, &code.changed, change);
	if (data)
		list_push(&bench->session.arena, &code.data, table);
	if (reach_find(&bench->session, &bench->baseline, &bench->candidate, NULL, &code, functions, 0.01, 0.02, 60, &result,
	               &err) != ST_OK)
		fail_msg("%s", err.text);
	return result;
}

static void test_question(void **state)
{
	(void)state;
	struct bench bench;
	bench_open(&bench);
	struct reach_result result = ask(&bench, "never", true, false);
	if (!result.reach.counted || !result.reach.sampled) {
		printf("skip: %s\n", result.text);
		bench_close(&bench);
		skip();
	}
	assert_int_equal(result.verdict, REACH_NOT_REACHED);
	assert_false(result.reach.executed);
	assert_non_null(strstr(result.text, "does not execute what changes: never"));
	/* The same, when more than functions may differ. */
	assert_int_equal(ask(&bench, "never", true, true).verdict, REACH_PASSED);
	assert_int_equal(ask(&bench, "never", false, false).verdict, REACH_PASSED);

	result = ask(&bench, "often", true, false);
	assert_int_equal(result.verdict, REACH_PASSED);
	assert_true(result.reach.executed && result.reach.time_share > 0.9 && result.reach.instruction_share > 0.9);
	assert_false(result.reach.bounded);

	result = ask(&bench, "seldom", true, false);
	assert_true(result.reach.time_share_high > result.reach.time_share);
	/* An ordinary user may not see the kernel's time, which then counts as if it were the function's. */
	if (!strstr(result.text, "not seen")) {
		assert_int_equal(result.verdict, REACH_CANNOT_MATTER);
		assert_true(result.reach.bounded && result.reach.gain_most < 0.02 && result.reach.loss_most < 0.02);
		assert_non_null(strstr(result.text, "can't matter: seldom"));
	}

	/* What the set-up builds, run() works on: nothing bounds it. */
	result = ask(&bench, "prepared", true, false);
	assert_int_equal(result.verdict, REACH_PASSED);
	assert_true(result.reach.executed && result.reach.instruction_share == 0);
	assert_non_null(strstr(result.text, "set-up only"));

	result = ask(&bench, "gone", true, false);
	assert_int_equal(result.verdict, REACH_PASSED);
	assert_non_null(strstr(result.text, "no symbol gone"));
	result = ask(&bench, NULL, true, true);
	assert_int_equal(result.verdict, REACH_PASSED);
	assert_non_null(strstr(result.text, "reach can't tell"));
	bench_close(&bench);
}

/* The emulated CPU has no AVX-512: what it does not run may be all that a real one does. So the native one is watched. */
static void test_chosen_by_cpu(void **state)
{
	(void)state;
	static const char format[] =
	    "#include <assay/bench.h>\n#include <stdlib.h>\n%s\n"
	    "static volatile unsigned sink; static int wide;\n"
	    "__attribute__((noinline)) unsigned wide_sum(unsigned x) { return x * %d; }\n"
	    "__attribute__((noinline)) unsigned plain_sum(unsigned x) { return x + 3; }\n"
	    "static void *setup(struct assay_bench *b) { wide = %s; return b; }\n"
	    "static void run(void *s, uint64_t n) { while (n--) sink = wide ? wide_sum((unsigned)n) : plain_sum((unsigned)n); }\n"
	    "const struct assay_workload assay_workload = {.setup = setup, .run = run};\n";
	static const struct {
		const char *head, *wide, *says;
	} table[] = {
	    {"", "__builtin_cpu_supports(\"avx512f\") && getenv(\"ASSAY_WIDE\")", "__cpu_"},
	    {"#include <cpuid.h>\nstatic int ask(void) { unsigned a, b, c, d; __cpuid(1, a, b, c, d); return (int)a == 7; }", "ask()",
	     "cpuid in setup"},
	    {"__attribute__((target_clones(\"avx2\",\"default\"))) int two(int x) { return x * 0; }", "two(1)", ""}, /* by its resolver or what that one asks */
	    /* Bytes of cpuid in a constant: nothing is chosen. */
	    {"static volatile unsigned odd = 0; static int ask(void) { odd = 0xa20f; return odd == 7; }", "ask()", NULL},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct bench bench;
		bench_open(&bench);
		struct arena *arena = &bench.session.arena;
		program_make(&bench, "baseline", arena_printf(arena, format, table[i].head, 3, table[i].wide), &bench.baseline);
		program_make(&bench, "candidate", arena_printf(arena, format, table[i].head, 5, table[i].wide), &bench.candidate);
		struct program program;
		struct err err = ERR_INIT;
		assert_int_equal(program_open(arena, bench.baseline.program, &program, &err), ST_OK);
		assert_null(program.threads);
		if (table[i].says) {
			assert_non_null(program.cpu_choice);
			assert_non_null(strstr(program.cpu_choice, table[i].says));
		} else {
			assert_null(program.cpu_choice);
		}
		struct reach_result result = ask(&bench, "wide_sum", true, false);
		bool blind = strstr(result.text, "can't be watched") != NULL;
		if (blind)
			print_message("skip: %s\n", result.text);
		if (result.reach.counted)
			assert_int_equal(result.verdict, blind ? REACH_PASSED : REACH_NOT_REACHED);
		if (result.reach.counted && table[i].says && !blind)
			assert_non_null(strstr(result.text, "natively no breakpoint in it is met"));
		bench_close(&bench);
	}
}

/* What runs once, and on the real CPU only, is met by no sample; the breakpoint meets it. */
static void test_executed_natively_only(void **state)
{
	(void)state;
	if (!__builtin_cpu_supports("avx512f")) {
		print_message("skip: reach_test of what an emulated CPU lacks: this CPU lacks it as well (AVX-512)\n");
		skip();
	}
	static const char format[] =
	    "#include <assay/bench.h>\nstatic volatile unsigned sink;\n"
	    "__attribute__((noinline)) unsigned wide_sum(unsigned x) { return x * %d; }\n"
	    "static void *setup(struct assay_bench *b) { if (__builtin_cpu_supports(\"avx512f\")) sink = wide_sum(7); return b; }\n"
	    "static void run(void *s, uint64_t n) { while (n--) sink += (unsigned)n; }\n"
	    "const struct assay_workload assay_workload = {.setup = setup, .run = run};\n";
	struct bench bench;
	bench_open(&bench);
	program_make(&bench, "baseline", arena_printf(&bench.session.arena, format, 3), &bench.baseline);
	program_make(&bench, "candidate", arena_printf(&bench.session.arena, format, 5), &bench.candidate);
	struct reach_result result = ask(&bench, "wide_sum", true, false);
	assert_int_equal(result.verdict, REACH_PASSED);
	if (result.reach.counted && !strstr(result.text, "can't be watched"))
		assert_non_null(strstr(result.text, "natively it is (wide_sum is entered)"));
	bench_close(&bench);
}

/* A part of the program that is not changed behaves otherwise: no bound may be claimed. */
static void test_knock_on(void **state)
{
	(void)state;
	struct bench bench;
	bench_open(&bench);
	static const char indirect[] =
	    "#include <assay/bench.h>\nstatic unsigned char data[50000]; static volatile unsigned sink;\n"
	    "__attribute__((noinline)) unsigned steps(unsigned x) { return x ? %d : 0; }\n"
	    "__attribute__((noinline)) unsigned walk(unsigned n) { unsigned x = n; while (n--) x = x * 31 + data[n %% 50000]; return x; }\n"
	    "static void *setup(struct assay_bench *b) { assay_fill_random(b, data, sizeof data); return data; }\n"
	    "static void run(void *s, uint64_t n) { while (n--) sink = walk(steps(!!s)); }\n"
	    "const struct assay_workload assay_workload = {.setup = setup, .run = run};\n";
	program_make(&bench, "baseline", arena_printf(&bench.session.arena, indirect, 50000), &bench.baseline);
	program_make(&bench, "candidate", arena_printf(&bench.session.arena, indirect, 30000), &bench.candidate);
	struct reach_result result = ask(&bench, "steps", true, false);
	if (!result.reach.counted || !result.reach.sampled) {
		printf("skip: %s\n", result.text);
		bench_close(&bench);
		skip();
	}
	assert_true(result.reach.time_share < 0.02);
	assert_int_equal(result.verdict, REACH_PASSED);
	assert_false(result.reach.bounded);
	bench_close(&bench);
}

/* Only samples: shares are told, and nothing follows from them. */
static void test_without_valgrind(void **state)
{
	(void)state;
	struct bench bench;
	bench_open(&bench);
	char *path = strdup(getenv("PATH"));
	setenv("PATH", "/nonexistent", 1);
	struct reach_result never_called = ask(&bench, "never", true, false), often = ask(&bench, "often", true, false);
	setenv("PATH", path, 1);
	free(path);
	assert_false(never_called.reach.counted || often.reach.counted);
	if (often.reach.sampled) {
		/* Entered or not, breakpoints tell; what a function calls they don't. */
		if (never_called.verdict != REACH_NOT_REACHED)
			print_message("skip: %s\n", never_called.text);
		assert_int_equal(often.verdict, REACH_PASSED);
		assert_true(often.reach.time_share > 0.9);
		assert_true(never_called.reach.time_share < 0.1);
		assert_false(often.reach.bounded);
	} else
		assert_int_equal(often.verdict, REACH_UNKNOWN);
	assert_non_null(strstr(often.text, "valgrind is not installed"));
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_without_valgrind),
	    cmocka_unit_test(test_callgrind_parts), cmocka_unit_test(test_callgrind_unsplit_and_damaged),
	    cmocka_unit_test(test_records),         cmocka_unit_test(test_mappings),
	    cmocka_unit_test(test_own_program),     cmocka_unit_test(test_gain),
	    cmocka_unit_test(test_question),        cmocka_unit_test(test_chosen_by_cpu),
	    cmocka_unit_test(test_executed_natively_only),
	    cmocka_unit_test(test_knock_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
