/* End to end on small programs: the runtime, equal results, samples, counts. What is asserted is how it works; nothing
 * here depends on how fast this machine is. */
#include "bench/protocol.h"
#include "port/embedded.h"
#include "bench/protocol.h"
#include "port/host.h"
#include "port/perf_events.h"
#include "port/workload.h"
#include "stage/stages.h"

#include "port/proc.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define HAS(text, part) assert_non_null(strstr((text), (part)))

static volatile sig_atomic_t interrupted;
static struct arena files; /* lives as long as the group */
static const char *folder;

/* What the programs are made of: one driver, switched by -D. */
static const char driver[] =
    "#define _GNU_SOURCE\n"
    "#include <assay/bench.h>\n"
    "#include <errno.h>\n"
    "#include <pthread.h>\n"
    "#include <sched.h>\n"
    "#include <stdlib.h>\n"
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "#include <unistd.h>\n"
    "#ifndef BAD\n#define BAD 0\n#endif\n"
    "enum { GOOD, CRASH, HANG, SAYS_FAIL, OTHER_BYTE, OTHER_SIZE, ONE_LESS, ONE_MORE, OTHER_LABEL, RANDOM, NO_OUTPUT,\n"
    "       CRASH_IN_SETUP, HANG_IN_SETUP, CRASH_AT_END, WRITES_TO_4, HANG_LATER, CRASH_LATER, WRONG_LATER,\n"
    "       OTHER_ONCE, RANDOM_LATER, THREADS, UNAVAILABLE, CALLS, ROUNDS, ROUNDED, ROUNDED_MUCH, ROUNDED_TO_NAN,\n"
    "       ROUNDS_EXACT, ROUNDS_ODDLY };\n"
    "struct state { unsigned char data[100000]; uint64_t sum; unsigned long calls; };\n"
    "/* How often the program was started, this time included. */\n"
    "static long starts(void)\n"
    "{\n"
    "	char path[4096];\n"
    "	snprintf(path, sizeof path, \"%s.starts\", program_invocation_name);\n"
    "	FILE *file = fopen(path, \"a\");\n"
    "	if (!file) abort();\n"
    "	fputc('x', file);\n"
    "	fflush(file);\n"
    "	long count = ftell(file);\n"
    "	fclose(file);\n"
    "	return count;\n"
    "}\n"
    "static void *setup(struct assay_bench *b)\n"
    "{\n"
    "	struct state *s = calloc(1, sizeof *s);\n"
    "	uint64_t size = assay_param_u64(b, \"size\", 1000);\n"
    "	if (size > sizeof s->data) assay_fail(b, \"size %d is too large\", (int)size);\n"
    "	if (BAD == CRASH_IN_SETUP) abort();\n"
    "	if (BAD == HANG_IN_SETUP) pause();\n"
    "	if (BAD == UNAVAILABLE) assay_unavailable(\"no such instructions\");\n"
    "	assay_fill_text(b, s->data, size);\n"
    "	if (BAD == OTHER_ONCE && starts() == 1) s->data[5] ^= 1;\n"
    "	if (BAD == RANDOM_LATER && starts() > 3) s->data[5] = (unsigned char)(getpid() & 255);\n"
    "	assay_bytes_per_iteration(b, size);\n"
    "	return s;\n"
    "}\n"
    "static void run(void *state, uint64_t n)\n"
    "{\n"
    "	struct state *s = state;\n"
    "	s->calls++;\n"
    "	if (BAD == CRASH || (BAD == CRASH_LATER && s->calls > 12)) { fputs(\"about to crash\\n\", stderr); abort(); }\n"
    "	if (BAD == HANG || (BAD == HANG_LATER && s->calls > 12)) for (;;) pause();\n"
    "	if (BAD == SAYS_FAIL) assay_fail(0, \"the frame is broken\");\n"
    "	if (BAD == WRONG_LATER && s->calls > 1) return;\n"
    "	for (uint64_t i = 0; BAD == CALLS && i < n; i++) getppid();\n"
    "	for (uint64_t i = 0; i < n; i++)\n"
    "		for (int k = 0; k < 1000; k++) { s->sum = s->sum * 31 + s->data[k]; assay_keep(s); }\n"
    "}\n"
    "static void output(void *state, struct assay_bench *b)\n"
    "{\n"
    "	struct state *s = state;\n"
    "	if (BAD == NO_OUTPUT) return;\n"
    "	if (BAD == WRITES_TO_4 && write(4, \"hello, this is not a record of assay at all\", 43)) return;\n"
    "	if (BAD >= ROUNDS) {\n"
    "		double values[9000];\n"
    "		for (int i = 0; i < 9000; i++) values[i] = 1e3 / (i + 1);\n"
    "		if (BAD == ROUNDED) values[8500] *= 1 + 1e-13;\n"
    "		if (BAD == ROUNDED_MUCH) values[8500] *= 1 + 1e-11;\n"
    "		if (BAD == ROUNDED_TO_NAN) values[8500] = values[8500] / 0.0 * 0.0;\n"
    "		assay_output_doubles(b, \"numbers\", values, 9000, BAD == ROUNDS_ODDLY ? 1.5 : BAD == ROUNDS_EXACT ? 0 : 1e-12);\n"
    "		return;\n"
    "	}\n"
    "	assay_output(b, \"sum\", &s->sum, sizeof s->sum);\n"
    "	if (BAD == OTHER_BYTE) s->data[70000] ^= 1;\n"
    "	if (BAD == RANDOM) s->data[3] = (unsigned char)(getpid() & 255);\n"
    "	assay_output(b, BAD == OTHER_LABEL ? \"frames\" : \"frame\", s->data, sizeof s->data - (BAD == OTHER_SIZE));\n"
    "}\n"
    "static void edges(void *state, struct assay_bench *b)\n"
    "{\n"
    "	(void)state;\n"
    "	assay_param(b, \"edge\", \"\");\n"
    "	if (BAD == NO_OUTPUT || BAD == ONE_LESS || BAD == WRITES_TO_4) return;\n"
    "	assay_output(b, \"empty\", \"\", 0);\n"
    "	if (BAD == ONE_MORE) assay_output(b, \"more\", \"x\", 1);\n"
    "	if (BAD == CRASH_AT_END) atexit(abort);\n"
    "}\n"
    "const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges,\n"
    "                                              .teardown = free};\n";

static void file_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static const char *in_folder(const char *name)
{
	return arena_printf(&files, "%s/%s", folder, name);
}

static void run_ok(const char *command)
{
	struct proc_request request = {.cpu = -1, .timeout_s = 60};
	struct proc_result result;
	list_push(&files, &request.argv, "sh");
	list_push(&files, &request.argv, "-c");
	list_push(&files, &request.argv, command);
	assert_int_equal(proc_run(&files, &request, &result, NULL), ST_OK);
	if (!proc_ok(&result))
		fail_msg("%s: %s", command, result.err);
}

static int group_setup(void **state)
{
	(void)state;
	arena_init(&files);
	char template[] = "/tmp/assay-measure-test-XXXXXX";
	if (!mkdtemp(template))
		return -1;
	folder = arena_strdup(&files, template);
	mkdir(in_folder("assay"), 0700);
	file_write(in_folder("assay/bench.h"), embedded_bench_h);
	file_write(in_folder("runtime.c"), embedded_runtime_c);
	file_write(in_folder("driver.c"), driver);
	run_ok(arena_printf(&files, "cd %s && cc -std=gnu99 -Wall -Wextra -Werror -O2 -I. -c runtime.c -o runtime.o", folder));
	return 0;
}

static int group_teardown(void **state)
{
	(void)state;
	run_ok(arena_printf(&files, "rm -r %s", folder));
	arena_release(&files);
	return 0;
}

/* The driver with -DBAD=`bad`, built once. */
static struct variant program(const char *name, const char *bad)
{
	struct variant variant = {.name = name, .program = in_folder(bad)};
	if (access(variant.program, X_OK) != 0)
		run_ok(arena_printf(&files, "cd %s && cc -O1 -DBAD=%s -I. driver.c runtime.o -o %s", folder, bad, bad));
	return variant;
}

static int setup(void **state)
{
	static struct session session;
	interrupted = 0;
	session = (struct session){.interrupted = &interrupted, .jobs = 1, .workdir = folder, .run.seed = 5};
	arena_init(&session.arena);
	*state = &session;
	return 0;
}

static int teardown(void **state)
{
	arena_release(&((struct session *)*state)->arena);
	return 0;
}

/* ---- the runtime ----------------------------------------------------------------------------------------------------- */

static struct proc_result program_run(struct session *session, const char *path, const char *words)
{
	struct proc_request request = {.cpu = -1, .timeout_s = 20};
	struct proc_result result;
	list_push(&session->arena, &request.argv, "sh");
	list_push(&session->arena, &request.argv, "-c");
	list_push(&session->arena, &request.argv, arena_printf(&session->arena, "exec %s %s 4>&-", path, words));
	assert_int_equal(proc_run(&session->arena, &request, &result, NULL), ST_OK);
	return result;
}

static void runtime_says_what_is_wrong(void **state)
{
	struct session *session = *state;
	const char *good = program("baseline", "GOOD").program;
	static const struct {
		const char *words, *says;
		int code;
	} table[] = {
	    {"", "say what to do", 2},
	    {"--fast", "unknown option", 2},
	    {"--param size --outputs", "--param needs NAME=VALUE", 2},
	    {"--seed x --outputs", "--seed needs a whole number", 2},
	    {"--count -3", "--count needs a whole number", 2},
	    {"--param size=12q --outputs", "\"12q\" is not a whole number", 3},
	    {"--param size=99999999999999999999 --outputs", "is not a whole number", 3},
	    {"--param size=-1 --outputs", "is not a whole number", 3},
	    {"--param size=1M --outputs", "size 1048576 is too large", 3},
	    {"--param siz=5 --count 1", "parameter siz is given, but the workload never asks for it", 3},
	    {"--param siz=5 --outputs", "parameter siz is given, but the workload never asks for it", 3},
	    {"--param size=5 --param siz=5 --serve", "parameter siz is given, but the workload never asks for it", 3},
	    {"--param siz=5 --describe", "parameter siz is given, but the workload never asks for it", 3},
	    {"--param edge=5 --count 1", "parameter edge is given, but the workload never asks for it", 3},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct proc_result result = program_run(session, good, table[i].words);
		assert_int_equal(result.end, PROC_EXITED);
		assert_int_equal(result.code, table[i].code);
		HAS(result.err, table[i].says);
	}
	HAS(program_run(session, good, "--param size=2K --describe").out, "bytes_per_iteration 2048\noutput yes\nedges yes\n");
	struct proc_result unavailable = program_run(session, program("baseline", "UNAVAILABLE").program, "--describe");
	assert_int_equal(unavailable.end, PROC_EXITED);
	assert_int_equal(unavailable.code, BENCH_EXIT_UNAVAILABLE);
	assert_string_equal(unavailable.err, "no such instructions\n");
	struct proc_result asked_in_edges = program_run(session, good, "--param edge=5 --outputs");
	assert_true(proc_ok(&asked_in_edges));
	HAS(program_run(session, good, "--time").out, "ns per iteration");
}

/* Of several threads, switched by -D as well. */
static const char threaded_driver[] =
    "#define _GNU_SOURCE\n"
    "#include <assay/bench.h>\n"
    "#include <sched.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "#include <unistd.h>\n"
    "enum { PLAIN, NOT_DECLARED, BOTH, NO_RUN, UNUSED, CRASH, HANG, ONE_CPU };\n"
    "struct state { struct { _Alignas(128) volatile uint64_t sum; uint64_t calls, count, cpus; } own[64]; unsigned threads; };\n"
    "static void *setup(struct assay_bench *b)\n"
    "{\n"
    "	struct state *s = aligned_alloc(128, sizeof *s);\n"
    "	memset(s, 0, sizeof *s);\n"
    "	if (BAD != NOT_DECLARED) s->threads = assay_threads(b, 2);\n"
    "	return s;\n"
    "}\n"
    "static void run_thread(void *state, const struct assay_thread *t, uint64_t n)\n"
    "{\n"
    "	struct state *s = state;\n"
    "	cpu_set_t set;\n"
    "	if (BAD == CRASH && t->index == 1) abort();\n"
    "	if (BAD == HANG && t->index == 1) for (;;) pause();\n"
    "	if (BAD == ONE_CPU) { sched_getaffinity(0, sizeof set, &set); s->own[t->index].cpus = CPU_COUNT(&set); }\n"
    "	s->own[t->index].calls++;\n"
    "	s->own[t->index].count = t->count;\n"
    "	for (uint64_t i = 0; i < n; i++)\n"
    "		for (int k = 0; k < 100; k++) s->own[t->index].sum += t->index + 1;\n"
    "}\n"
    "static void run(void *state, uint64_t n) { (void)state; (void)n; }\n"
    "static void output(void *state, struct assay_bench *b)\n"
    "{\n"
    "	struct state *s = state;\n"
    "	uint64_t all[5] = {0};\n"
    "	for (unsigned i = 0; i < s->threads; i++) {\n"
    "		all[0] += s->own[i].sum, all[1] += s->own[i].calls, all[2] += s->own[i].count, all[3] += s->own[i].cpus;\n"
    "		all[4] = s->threads;\n"
    "	}\n"
    "	assay_output(b, \"all\", all, sizeof all);\n"
    "}\n"
    "const struct assay_workload assay_workload = {\n"
    "	.setup = setup, .output = output, .teardown = free,\n"
    "	.run = BAD == BOTH || BAD == UNUSED ? run : 0,\n"
    "	.run_thread = BAD == NO_RUN || BAD == UNUSED ? 0 : run_thread,\n"
    "};\n";

static struct variant threaded_program(const char *name, const char *bad)
{
	struct variant variant = {.name = name, .program = arena_printf(&files, "%s/threaded-%s", folder, bad)};
	if (access(variant.program, X_OK) != 0) {
		file_write(in_folder("threaded.c"), threaded_driver);
		run_ok(arena_printf(&files, "cd %s && cc -O1 -DBAD=%s -I. threaded.c runtime.o -o threaded-%s", folder, bad, bad));
	}
	return variant;
}

static void runtime_says_what_is_wrong_with_threads(void **state)
{
	struct session *session = *state;
	static const struct {
		const char *bad, *words, *says;
	} table[] = {
	    {"PLAIN", "--param threads=0 --outputs", "threads: 0 are not possible: give a number from 1 to 64"},
	    {"PLAIN", "--param threads=65 --serve", "threads: 65 are not possible"},
	    {"PLAIN", "--param threads=3 --cpus 0,1 --time", "threads: 3 are wanted, but there are 2 CPUs that this process may use"},
	    {"NOT_DECLARED", "--outputs", "setup() does not say how many threads run it: call assay_threads()"},
	    {"BOTH", "--outputs", "assay_workload.run is set, and run_thread as well: give the workload the one or the other"},
	    {"NO_RUN", "--outputs", "assay_workload.run is not set, nor is run_thread"},
	    {"UNUSED", "--outputs", "setup() calls assay_threads(), but assay_workload.run_thread is not set"},
	    {"PLAIN", "--cpus 0,1023 --outputs", "thread 1 can't be moved to CPU 1023"},
	    {"PLAIN", "--cpus 0,x --outputs", "--cpus needs numbers with commas between them"},
	    {"PLAIN", "--cpus 0, --outputs", "--cpus needs numbers with commas between them"},
	    {"PLAIN", "--cpus 123456789 --outputs", "--cpus needs numbers with commas between them"},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct proc_result result = program_run(session, threaded_program("baseline", table[i].bad).program, table[i].words);
		assert_int_equal(result.end, PROC_EXITED);
		assert_int_not_equal(result.code, 0);
		HAS(result.err, table[i].says);
	}
	HAS(program_run(session, threaded_program("baseline", "PLAIN").program, "--describe").out, "param threads=2\n");
}

/* The last record of what --outputs writes. */
static void threaded_outputs(struct session *session, const char *bad, const char *words, uint64_t ret_all[5])
{
	struct proc_result result = program_run(session, threaded_program("baseline", bad).program, words);
	if (!proc_ok(&result))
		fail_msg("%s: %s", words, result.err);
	size_t tail = sizeof(struct bench_record) + 5 * sizeof *ret_all;
	assert_true(result.out_size > tail);
	memcpy(ret_all, result.out + result.out_size - tail, 5 * sizeof *ret_all);
}

/* As many as asked for, each with its index; on one CPU as well. */
static void threads_run_together(void **state)
{
	uint64_t all[5];
	threaded_outputs(*state, "PLAIN", "--outputs", all);
	assert_int_equal(all[0], 8 * 100 * (1 + 2)); /* iterations: one and then seven */
	assert_int_equal(all[1], 2 * 2);
	assert_int_equal(all[2], 2 * 2);
	threaded_outputs(*state, "PLAIN", "--cpus 0 --param threads=5 --outputs", all);
	assert_int_equal(all[0], 8 * 100 * (1 + 2 + 3 + 4 + 5));
	assert_int_equal(all[4], 5);
	threaded_outputs(*state, "PLAIN", "--param threads=1 --outputs", all);
	assert_int_equal(all[0], 8 * 100);
	assert_int_equal(all[2], 1);
	if (host_cpus_usable() < 2)
		return;
	threaded_outputs(*state, "ONE_CPU", "--outputs", all);
	assert_int_equal(all[3], 2); /* each thread may use one */
	HAS(program_run(*state, threaded_program("baseline", "PLAIN").program, "--time").out, "2 threads; a cache line takes ");
}

static void data_follows_the_seed(void **state)
{
	struct session *session = *state;
	const char *good = program("baseline", "GOOD").program;
	struct proc_result one = program_run(session, good, "--seed 1 --outputs");
	struct proc_result same = program_run(session, good, "--seed 1 --outputs");
	struct proc_result other = program_run(session, good, "--seed 2 --outputs");
	assert_true(one.out_size > 100000);
	assert_int_equal(one.out_size, same.out_size);
	assert_memory_equal(one.out, same.out, one.out_size);
	assert_memory_not_equal(one.out, other.out, one.out_size);
}

/* ---- nothing between the stamps ---------------------------------------------------------------------------------------- */

enum { TRACED_SAMPLES = 50 };

/* What a program called from when it had read a command until its reply, for each command that it answered: the edges are
 * the messages themselves. False: strace can't trace here, `ret_why` says why. */
static bool traced(struct session *session, const char *file, const struct bench_command *commands, size_t count,
                   struct string_list *ret_calls, const char **ret_why)
{
	FILE *out = fopen(in_folder("commands"), "wb");
	assert_non_null(out);
	assert_int_equal(fwrite(commands, sizeof *commands, count, out), count);
	assert_int_equal(fclose(out), 0);
	unlink(in_folder("trace"));
	struct proc_request request = {.cpu = -1, .timeout_s = 60};
	struct proc_result result;
	list_push(&session->arena, &request.argv, "sh");
	list_push(&session->arena, &request.argv, "-c");
	/* -qq: no word about signals and the end; -a1: no blanks to align. */
	list_push(&session->arena, &request.argv,
	          arena_printf(&session->arena, "exec strace -qq -a1 -s 8 -o %s/trace %s --serve 3<%s/commands 4>/dev/null", folder,
	                       file, folder));
	assert_int_equal(proc_run(&session->arena, &request, &result, NULL), ST_OK);
	if (!proc_ok(&result)) {
		*ret_why = result.code == 127 ? "strace is not installed" : arena_printf(&session->arena, "strace can't trace here: %s", result.err);
		return false;
	}
	FILE *trace = fopen(in_folder("trace"), "r");
	assert_non_null(trace);
	char line[4096];
	char *calls = NULL; /* NULL: between two commands */
	while (fgets(line, sizeof line, trace)) {
		if (strncmp(line, "read(3, \"yssa", 13) == 0) {
			calls = arena_strdup(&session->arena, "");
		} else if (calls && strncmp(line, "write(4,", 8) == 0) {
			list_push(&session->arena, ret_calls, calls);
			calls = NULL;
		} else if (calls) {
			calls = arena_printf(&session->arena, "%s%.*s ", calls, (int)strcspn(line, "("), line);
		}
	}
	fclose(trace);
	return true;
}

static size_t words_count(const char *text, const char *word)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
		count++;
	return count;
}

/* The stamps are taken without entering the kernel, so the readings of getrusage() around them are their edges: two lie
 * before the first stamp and one behind the second. */
static void no_system_call_between_the_stamps(void **state)
{
	struct session *session = *state;
	struct bench_command commands[TRACED_SAMPLES];
	for (size_t i = 0; i < TRACED_SAMPLES; i++)
		commands[i] = (struct bench_command){.magic = BENCH_MAGIC, .kind = BENCH_SAMPLE, .prime = i % 3, .iterations = 1 + i};
	struct string_list calls = {0};
	const char *why = NULL;
	if (!traced(session, program("baseline", "GOOD").program, commands, TRACED_SAMPLES, &calls, &why)) {
		printf("skip: no_system_call_between_the_stamps: %s\n", why);
		skip();
	}
	assert_int_equal(calls.count, TRACED_SAMPLES);
	for (size_t i = 0; i < calls.count; i++)
		/* sched_getcpu() may be a system call where the vDSO lacks it; it stands outside the stamps as well. */
		if (strcmp(calls.at[i], "getrusage getrusage getrusage ") != 0)
			assert_string_equal(calls.at[i], "getrusage getrusage getcpu getcpu getrusage ");
}

/* The same look at a workload that does enter the kernel and prints: it has to see that. */
static void a_system_call_between_the_stamps_is_seen(void **state)
{
	struct session *session = *state;
	struct bench_command commands[] = {{.magic = BENCH_MAGIC, .kind = BENCH_SAMPLE, .iterations = 3}};
	struct string_list calls = {0};
	const char *why = NULL;
	if (!traced(session, program("baseline", "CALLS").program, commands, 1, &calls, &why)) {
		printf("skip: a_system_call_between_the_stamps_is_seen: %s\n", why);
		skip();
	}
	assert_int_equal(calls.count, 1);
	assert_int_equal(words_count(calls.at[0], "getppid "), 3);
}

/* ---- counts of the program's own ------------------------------------------------------------------------------------- */

static void kernel_counts_by_the_program_itself(void **state)
{
	struct session *session = *state;
	struct proc_request request = workload_request(&session->arena, program("baseline", "GOOD").program, NULL, 1, "--serve", NULL);
	struct proc_child child;
	struct bench_reply reply;
	struct err err = ERR_INIT;
	request.interrupted = &interrupted;
	assert_int_equal(workload_start(&request, 30, &child, &reply, &err), ST_OK);
	struct perf_event_set set = perf_events_software();
	struct bench_event events[BENCH_EVENTS_MAX];
	for (unsigned i = 0; i < set.count; i++)
		events[i] = set.at[i].code;
	int code = -1;
	unsigned which = 9;
	struct bench_counts counts;
	assert_int_equal(workload_events(&child, events, set.count, 30, &interrupted, &code, &which, &err), ST_OK);
	if (code == EACCES || code == EPERM || code == ENOSYS) {
		proc_child_end(&child);
		printf("skip: kernel_counts_by_the_program_itself: perf_event_open: %s\n", strerror(code));
		skip();
	}
	assert_int_equal(code, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(workload_count(&child, 10, 1000, 30, &interrupted, &counts, &err), ST_OK);
		assert_null(perf_counts_lack(&counts));
		assert_int_equal(counts.count, set.count);
		assert_int_equal(counts.way, BENCH_BY_KERNEL);
		assert_true(counts.value[0] > 0); /* the task's clock */
	}
	/* One that can't be had is named, takes the others' place, and leaves the program able to be sampled. */
	events[1] = (struct bench_event){.type = 1, .config = 9999};
	assert_int_equal(workload_events(&child, events, 2, 30, &interrupted, &code, &which, &err), ST_OK);
	assert_int_not_equal(code, 0);
	assert_int_equal(which, 1);
	assert_int_equal(workload_count(&child, 0, 1, 30, &interrupted, &counts, &err), ST_OK);
	assert_non_null(perf_counts_lack(&counts));
	assert_int_equal(workload_sample(&child, 0, 1, 30, &interrupted, &reply, &err), ST_OK);
	proc_child_end(&child);
}

/* ---- equal results --------------------------------------------------------------------------------------------------- */

static struct outputs_result compared(struct session *session, const char *a, const char *b, double timeout_s)
{
	struct variant baseline = program("baseline", a), candidate = program("candidate", b);
	struct outputs_result result;
	struct err err = ERR_INIT;
	assert_int_equal(outputs_compare(session, &baseline, &candidate, NULL, timeout_s, &result, &err), ST_OK);
	return result;
}

static void outputs_table(void **state)
{
	static const struct {
		const char *baseline, *candidate;
		enum outputs_verdict verdict;
		const char *says;
	} table[] = {
	    {"GOOD", "GOOD", OUTPUTS_EQUAL, ""},
	    {"GOOD", "OTHER_BYTE", OUTPUTS_DIFFER, "record 2 \"frame\" differs at byte 70000 of 100000"},
	    {"GOOD", "OTHER_SIZE", OUTPUTS_DIFFER, "record 2 \"frame\" has 99999 bytes, the baseline has 100000"},
	    {"GOOD", "ONE_LESS", OUTPUTS_DIFFER, "record 5 \"empty\" is missing"},
	    {"GOOD", "ONE_MORE", OUTPUTS_DIFFER, "record 6 \"more\" is one more than the baseline has"},
	    {"GOOD", "OTHER_LABEL", OUTPUTS_DIFFER, "record 2 is \"frames\", the baseline has \"frame\""},
	    {"GOOD", "WRONG_LATER", OUTPUTS_DIFFER, "record 3 \"after 8 iterations: sum\" differs"},
	    {"GOOD", "OTHER_ONCE", OUTPUTS_NOT_REPEATABLE, "the candidate differed once, but not again: record 1 \"sum\""},
	    {"RANDOM_LATER", "OTHER_BYTE", OUTPUTS_NOT_REPEATABLE, "the baseline against itself: record 1 \"sum\""},
	    {"GOOD", "CRASH", OUTPUTS_CANDIDATE_FAILED, "killed by SIGABRT: about to crash"},
	    {"GOOD", "SAYS_FAIL", OUTPUTS_CANDIDATE_FAILED, "exit status 3: the frame is broken"},
	    {"GOOD", "CRASH_AT_END", OUTPUTS_CANDIDATE_FAILED, "killed by SIGABRT"},
	    {"GOOD", "WRITES_TO_4", OUTPUTS_CANDIDATE_FAILED, "descriptor 4"},
	    {"CRASH", "GOOD", OUTPUTS_BASELINE_FAILED, "killed by SIGABRT"},
	    {"RANDOM", "GOOD", OUTPUTS_NOT_REPEATABLE, "record 2 \"frame\" differs at byte 3"},
	    {"NO_OUTPUT", "NO_OUTPUT", OUTPUTS_NONE, "no results"},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct outputs_result result = compared(*state, table[i].baseline, table[i].candidate, 20);
		assert_int_equal(result.verdict, table[i].verdict);
		HAS(result.text, table[i].says);
		if (result.verdict == OUTPUTS_EQUAL) {
			assert_int_equal(result.records, 5);
			assert_int_equal(result.bytes, 200016);
		}
	}
}

/* Numbers for which the driver names a tolerance: 9,000 of them, so more than one chunk. */
static void outputs_may_be_rounded_within_the_drivers_tolerance(void **state)
{
	struct outputs_result result = compared(*state, "ROUNDS", "ROUNDS", 20);
	assert_int_equal(result.verdict, OUTPUTS_EQUAL);
	assert_null(result.rounding);
	result = compared(*state, "ROUNDS", "ROUNDED", 20);
	assert_int_equal(result.verdict, OUTPUTS_EQUAL);
	HAS(result.rounding, "record 1 \"numbers\" is rounded otherwise, by up to 1e-13 of its numbers, within the 1e-12");
	result = compared(*state, "ROUNDS", "ROUNDED_MUCH", 20);
	assert_int_equal(result.verdict, OUTPUTS_DIFFER);
	HAS(result.text, "record 1 \"numbers\" differs at number 8500: ");
	HAS(result.text, "more than the driver tolerates (1e-12 of it)");
	assert_null(result.rounding);
	result = compared(*state, "ROUNDS", "ROUNDED_TO_NAN", 20);
	assert_int_equal(result.verdict, OUTPUTS_DIFFER);
	/* What is tolerated is no choice of the candidate's. */
	result = compared(*state, "ROUNDS_EXACT", "ROUNDED", 20);
	assert_int_equal(result.verdict, OUTPUTS_DIFFER);
	HAS(result.text, "tolerates another difference");
	result = compared(*state, "ROUNDS", "ROUNDS_ODDLY", 20);
	assert_int_equal(result.verdict, OUTPUTS_CANDIDATE_FAILED);
	HAS(result.text, "the tolerance of \"numbers\" is 1.5");
}

static void outputs_that_hang_end_in_time(void **state)
{
	double started = proc_now();
	struct outputs_result result = compared(*state, "GOOD", "HANG", 0.5);
	assert_int_equal(result.verdict, OUTPUTS_CANDIDATE_FAILED);
	HAS(result.text, "no end within 0.5 s");
	assert_true(proc_now() - started < 5);
}

static void outputs_can_be_interrupted(void **state)
{
	struct session *session = *state;
	struct variant good = program("baseline", "GOOD");
	struct outputs_result result;
	struct err err = ERR_INIT;
	interrupted = 1;
	assert_int_equal(outputs_compare(session, &good, &good, NULL, 5, &result, &err), ST_INTERRUPTED);
}

/* ---- samples --------------------------------------------------------------------------------------------------------- */

struct kept {
	size_t count;
	size_t fail_after, interrupt_after; /* 0: never */
};

static enum status keep(void *context, const struct pair *pair, struct err *err)
{
	struct kept *kept = context;
	assert_int_equal(pair->iterations > 0, 1);
	kept->count++;
	if (kept->interrupt_after && kept->count == kept->interrupt_after)
		interrupted = 1;
	if (kept->fail_after && kept->count > kept->fail_after)
		return err_set(err, ST_SYSTEM, "the disk is full");
	return ST_OK;
}

static struct measurement measured(struct session *session, const char *bad, double budget_s, struct kept *kept)
{
	struct variant baseline = program("baseline", "GOOD"), candidate = program("candidate", bad);
	struct sample_sink sink = {.put = keep, .context = kept};
	struct plan plan = {.seed = 11, .alpha = 0.01, .margin = 0.01, .budget_s = budget_s, .sample_target_ns = 100000,
	                    .cpu = CPU_CHOOSE};
	struct measurement measurement;
	struct err err = ERR_INIT;
	enum status status = measure(session, &baseline, &candidate, NULL, &plan, &sink, &measurement, &err);
	if (status != ST_OK)
		fail_msg("%s", err.text);
	return measurement;
}

/* Starts a thread and is not content with one CPU, nor with a policy that lets nobody else run. */
static const char threads_driver[] =
    "#define _GNU_SOURCE\n"
    "#include <assay/bench.h>\n#include <pthread.h>\n#include <sched.h>\n"
    "static volatile unsigned sink;\n"
    "static void *nothing(void *context) { return context; }\n"
    "static void *setup(struct assay_bench *b)\n"
    "{\n"
    "	cpu_set_t set;\n"
    "	pthread_t thread;\n"
    "	if (pthread_create(&thread, 0, nothing, b) || pthread_join(thread, 0)) assay_fail(b, \"no thread\");\n"
    "	if (sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) < 2) assay_fail(b, \"on one CPU\");\n"
    "	if (sched_getscheduler(0) != SCHED_OTHER) assay_fail(b, \"realtime\");\n"
    "	return b;\n"
    "}\n"
    "static void run(void *s, uint64_t n) { (void)s; for (n *= 100; n--;) sink = sink * 31; }\n"
    "const struct assay_workload assay_workload = {.setup = setup, .run = run};\n";

static void threads_are_not_pinned(void **state)
{
	struct session *session = *state;
	file_write(in_folder("threads.c"), threads_driver);
	run_ok(arena_printf(&files, "cd %s && cc -O1 -I. threads.c runtime.o -o threads -lpthread", folder));
	struct variant baseline = {.name = "baseline", .program = in_folder("threads")};
	struct variant candidate = {.name = "candidate", .program = in_folder("threads")};
	struct plan plan = {.seed = 1, .alpha = 0.01, .margin = 0.01, .budget_s = 1, .sample_target_ns = 1000000, .cpu = CPU_CHOOSE};
	struct sample_sink sink = {0};
	struct measurement measurement;
	struct err err = ERR_INIT;
	enum status status = measure(session, &baseline, &candidate, NULL, &plan, &sink, &measurement, &err);
	if (host_cpus_usable() < 2) {
		assert_int_equal(status, ST_INPUT);
		HAS(err.text, "threads: the program uses pthread_create");
		return;
	}
	assert_int_equal(status, ST_OK);
	assert_null(measurement.failure);
	assert_int_equal(measurement.plan.cpu, CPU_ANY);
	assert_true(measurement.pairs.count > 0);
	assert_int_equal(pairs_excluded_count(&measurement.pairs), 0);
}

static struct measurement threads_measured(struct session *session, const char *bad, double budget_s)
{
	struct variant baseline = threaded_program("baseline", bad), candidate = threaded_program("candidate", bad);
	struct plan plan = {.seed = 1, .alpha = 0.01, .margin = 0.01, .budget_s = budget_s, .cpu = CPU_CHOOSE};
	struct sample_sink sink = {0};
	struct measurement measurement;
	struct err err = ERR_INIT;
	if (measure(session, &baseline, &candidate, NULL, &plan, &sink, &measurement, &err) != ST_OK)
		fail_msg("%s", err.text);
	return measurement;
}

/* Exactly what the calibration says: pairs where a transfer can be seen, and none elsewhere. */
static void threads_are_measured_where_transfers_show(void **state)
{
	struct measurement measurement = threads_measured(*state, "PLAIN", 3);
	const struct transfer *transfer = &measurement.transfer;
	assert_int_equal(transfer->threads, 2);
	assert_int_equal(measurement.stop == STOP_UNSEEN, !transfer_visible(transfer));
	if (!transfer_visible(transfer))
		assert_int_equal(measurement.pairs.count, 0);
	if (host_cpus_usable() < 2) {
		assert_false(transfer_visible(transfer));
		return;
	}
	assert_true(transfer->private_ns > 0 && transfer->shared_ns > 0 && transfer->bursts > 0);
}

static void a_thread_that_crashes_or_hangs_ends_the_measurement(void **state)
{
	if (host_cpus_usable() < 2)
		skip();
	struct measurement measurement = threads_measured(*state, "CRASH", 3);
	/* Where no transfer shows nothing is run. */
	assert_true(measurement.stop == STOP_FAILED || measurement.stop == STOP_UNSEEN);
	measurement = threads_measured(*state, "HANG", 2);
	assert_true(measurement.stop == STOP_FAILED || measurement.stop == STOP_UNSEEN || measurement.stop == STOP_BUDGET);
	assert_int_equal(measurement.pairs.count, 0);
}

static void transfers_show_or_do_not(void **state)
{
	struct session *session = *state;
	static const struct {
		struct transfer transfer;
		bool visible;
		const char *says;
	} table[] = {
	    {{.threads = 2, .cpus = "1,0", .between = {1, 0}, .shared_ns = 60, .private_ns = 9}, true,
	     "2 threads on CPUs 1,0: a cache line takes 60.0 ns from CPU 1 to 0, 6.7 times the 9.0 ns where it stays"},
	    {{.threads = 2, .cpus = "1,0", .between = {1, 0}, .shared_ns = 18, .private_ns = 9}, true, "2.0 times"},
	    {{.threads = 2, .cpus = "1,0", .between = {1, 0}, .shared_ns = 17.9, .private_ns = 9}, false, "below 2 times"},
	    {{.threads = 2, .cpus = "1,0", .between = {1, 0}, .shared_ns = 2001, .private_ns = 9}, false,
	     "do not run at the same time"},
	    {{.threads = 2, .cpus = "1"}, false, "2 threads on one CPU, number 1 never run at once"},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		assert_int_equal(transfer_visible(&table[i].transfer), table[i].visible);
		HAS(transfer_text(&session->arena, &table[i].transfer), table[i].says);
	}
	assert_null(transfer_text(&session->arena, &(struct transfer){0}));
	/* A machine on which nothing shows can't say "no effect". */
	struct measurement measurement = {.stop = STOP_UNSEEN, .transfer = table[2].transfer, .plan = {.alpha = 0.01, .margin = 0.01}};
	struct control control;
	struct trial trial = {0};
	judge_control(session, &measurement, &control);
	assert_false(control.quiet);
	judge_trial(session, &measurement, &control, &trial);
	assert_int_equal(trial.verdict, VERDICT_INCONCLUSIVE);
	HAS(trial.evidence, "below 2 times");
	struct trial refused = {0};
	struct measurement none = {.stop = STOP_BUDGET};
	judge_trial(session, &none, &control, &refused);
	assert_int_equal(refused.verdict, VERDICT_INCONCLUSIVE);
	HAS(refused.evidence, "below 2 times");
	assert_int_equal(refused.transfer.threads, 2);
}

static void pairs_are_taken_and_kept(void **state)
{
	struct kept kept = {0};
	struct measurement measurement = measured(*state, "GOOD", 20, &kept);
	const struct pair_list *pairs = &measurement.pairs;
	assert_true(measurement.stop == STOP_DECIDED || measurement.stop == STOP_BUDGET);
	assert_int_equal(kept.count, pairs->count);
	assert_int_equal(measurement.bytes_per_iteration, 1000);
	assert_true(measurement.plan.cpu >= 0);
	/* On a machine that is busy enough the budget ends it earlier. */
	assert_true(measurement.blocks >= 12 || measurement.stop == STOP_BUDGET);
	assert_true(measurement.measured_s > 0 && measurement.measured_s < measurement.elapsed_s);
	size_t first[2] = {0};
	uint32_t block = 0, index = 0;
	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->at[i];
		if (pair->block != block) {
			assert_int_equal(pair->block, block + 1);
			block++;
			index = 0;
		}
		assert_int_equal(pair->index, index++);
		assert_int_equal(pair->iterations, measurement.iterations);
		assert_true(pair->baseline_ns > 0 && pair->candidate_ns > 0);
		first[pair->candidate_first]++;
	}
	assert_int_equal(block + 1, measurement.blocks);
	/* A fair coin: one side first in fewer than a quarter of 57 pairs has a chance below 1 in 10,000; the seed is fixed. */
	assert_true(first[0] > pairs->count / 4 && first[1] > pairs->count / 4);
	double ratios[8192];
	assert_true(pairs->count < 8192);
	assert_int_equal(pairs_block_ratios(pairs, false, ratios), measurement.blocks);
	/* The parent is back where it was, and the copies are gone. */
	assert_int_not_equal(access(in_folder("pair0"), F_OK), 0);
	assert_int_not_equal(access(in_folder("pair1"), F_OK), 0);
}

/* Over layouts, every block has programs of its own making; their seed is kept. */
static void every_block_has_a_fresh_layout(void **state)
{
	struct session *session = *state;
	struct variant baseline = program("baseline", "GOOD"), candidate = program("candidate", "GOOD");
	struct plan plan = {.seed = 11, .alpha = 0.01, .margin = 0.01, .budget_s = 30, .sample_target_ns = 100000,
	                    .layouts = 3, .cpu = CPU_CHOOSE};
	struct measurement measurement;
	struct err err = ERR_INIT;
	assert_int_equal(measure(session, &baseline, &candidate, NULL, &plan, NULL, &measurement, &err), ST_INPUT);
	HAS(err.text, "leave out --layouts");

	run_ok(arena_printf(&files, "cd %s && cc -O1 -I. -c driver.c -o driver.o", folder));
	const char *const objects[] = {in_folder("driver.o"), in_folder("runtime.o")};
	baseline.link.directory = folder;
	list_push(&files, &baseline.link.argv, "cc");
	for (size_t i = 0; i < 2; i++) {
		list_push(&files, &baseline.link.argv, objects[i]);
		list_push(&files, &baseline.link.objects, objects[i]);
	}
	candidate.link = baseline.link;
	err = (struct err)ERR_INIT;
	if (measure(session, &baseline, &candidate, NULL, &plan, NULL, &measurement, &err) != ST_OK)
		fail_msg("%s", err.text);
	const struct pair_list *pairs = &measurement.pairs;
	assert_true(pairs->count > 0);
	for (size_t i = 0; i < pairs->count; i++) {
		assert_true(pairs->at[i].layout != 0 && pairs->at[i].layout <= INT64_MAX);
		for (size_t k = 0; k < i; k++)
			assert_int_equal(pairs->at[i].layout == pairs->at[k].layout, pairs->at[i].block == pairs->at[k].block);
	}
	assert_true(measurement.stop != STOP_DECIDED || measurement.blocks >= 12);
	assert_int_not_equal(access(in_folder("pair0"), F_OK), 0);
	assert_int_not_equal(access(in_folder("pair0.ld"), F_OK), 0);
	/* A linker that refuses is an error with its words, said once; nobody's program failed. */
	struct variant refused = candidate;
	refused.link.argv = (struct string_list){0};
	for (size_t i = 0; i < candidate.link.argv.count; i++)
		list_push(&files, &refused.link.argv, candidate.link.argv.at[i]);
	list_push(&files, &refused.link.argv, "-lno-such-library");
	baseline.link = refused.link;
	struct measurement none;
	assert_int_equal(measure(session, &baseline, &refused, NULL, &plan, NULL, &none, &err), ST_INPUT);
	HAS(err.text, "no-such-library");
	assert_null(strstr(strstr(err.text, "measuring the ") + 1, "measuring the "));
	baseline.link = candidate.link;
	err = (struct err)ERR_INIT;
	/* The seeds follow from the plan's. */
	struct measurement again;
	plan.budget_s = 1;
	assert_int_equal(measure(session, &baseline, &candidate, NULL, &plan, NULL, &again, &err), ST_OK);
	if (again.pairs.count)
		assert_true(again.pairs.at[0].layout == pairs->at[0].layout);
}

/* How many blocks had one linker script for both sides, and how many had two, by a linker that writes down what it is given. */
static void scripts_count(struct session *session, struct plan plan, unsigned *ret_same, unsigned *ret_own)
{
	struct variant sides[2] = {program("baseline", "GOOD"), program("candidate", "GOOD")};
	const char *const objects[] = {in_folder("driver.o"), in_folder("runtime.o")};
	run_ok(arena_printf(&files, "cd %s && rm -f scripts && cc -O1 -I. -c driver.c -o driver.o && printf '%%s\\n' '#!/bin/sh' "
	                    "'for a; do case $a in *.ld) cksum <\"${a##*,}\" >>%s/scripts;; esac; done' 'exec cc \"$@\"' >spy && "
	                    "chmod +x spy", folder, folder));
	sides[0].link.directory = folder;
	list_push(&files, &sides[0].link.argv, in_folder("spy"));
	for (size_t i = 0; i < 2; i++) {
		list_push(&files, &sides[0].link.argv, objects[i]);
		list_push(&files, &sides[0].link.objects, objects[i]);
	}
	sides[1].link = sides[0].link;
	struct measurement measurement;
	struct err err = ERR_INIT;
	if (measure(session, &sides[0], &sides[1], NULL, &plan, NULL, &measurement, &err) != ST_OK)
		fail_msg("%s", err.text);
	FILE *file = fopen(in_folder("scripts"), "r");
	assert_non_null(file);
	unsigned long sums[2], sizes[2];
	*ret_same = *ret_own = 0;
	while (fscanf(file, "%lu %lu %lu %lu", &sums[0], &sizes[0], &sums[1], &sizes[1]) == 4)
		(*(sums[0] == sums[1] ? ret_same : ret_own))++;
	fclose(file);
}

/* Two programs of one source are exchangeable only when each side draws its own layout; a control wants the noise alone. */
static void sides_draw_their_layouts_independently(void **state)
{
	struct plan plan = {.seed = 11, .alpha = 0.01, .margin = 0.01, .budget_s = 3, .sample_target_ns = 100000, .layouts = 8,
	                    .cpu = CPU_CHOOSE};
	unsigned same = 0, own = 0;
	scripts_count(*state, plan, &same, &own);
	assert_true(own > 0);
	assert_int_equal(same, 0);
	plan.same_layout = true;
	scripts_count(*state, plan, &same, &own);
	assert_true(same > 0);
	assert_int_equal(own, 0);
}

static void crash_and_hang_are_the_candidates_failure(void **state)
{
	static const struct {
		const char *bad, *says;
	} table[] = {
	    {"CRASH", "the candidate failed: killed by SIGABRT: about to crash"},
	    {"CRASH_LATER", "the candidate failed: killed by SIGABRT: about to crash"},
	    {"SAYS_FAIL", "exit status 3: the frame is broken"},
	    {"CRASH_IN_SETUP", "the candidate failed in its set-up: killed by SIGABRT"},
	    {"HANG", "the candidate failed: no answer within"},
	    {"HANG_LATER", "the candidate failed: no answer within"},
	    {"HANG_IN_SETUP", "the candidate failed in its set-up: no answer within"},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct kept kept = {0};
		double started = proc_now();
		struct measurement measurement = measured(*state, table[i].bad, 1, &kept);
		assert_true(proc_now() - started < 4);
		assert_int_equal(measurement.stop, STOP_FAILED);
		assert_true(measurement.candidate_failed);
		HAS(measurement.failure, table[i].says);
	}
}

static void baseline_failure_is_not_the_candidates(void **state)
{
	struct session *session = *state;
	struct variant baseline = program("baseline", "CRASH"), candidate = program("candidate", "GOOD");
	struct plan plan = {.seed = 1, .alpha = 0.01, .margin = 0.01, .budget_s = 5, .cpu = CPU_ANY};
	struct measurement measurement;
	struct err err = ERR_INIT;
	assert_int_equal(measure(session, &baseline, &candidate, NULL, &plan, NULL, &measurement, &err), ST_OK);
	assert_int_equal(measurement.stop, STOP_FAILED);
	assert_false(measurement.candidate_failed);
	HAS(measurement.failure, "the baseline failed");
}

static void interrupted_keeps_the_pairs(void **state)
{
	struct kept kept = {.interrupt_after = 5};
	struct measurement measurement = measured(*state, "GOOD", 20, &kept);
	assert_int_equal(measurement.stop, STOP_INTERRUPTED);
	assert_int_equal(measurement.pairs.count, 5);
	assert_int_equal(kept.count, 5);
}

static void full_disk_ends_nothing(void **state)
{
	struct session *session = *state;
	struct kept kept = {.fail_after = 3};
	struct measurement measurement = measured(session, "GOOD", 20, &kept);
	assert_true(measurement.pairs.count >= 57);
	assert_int_equal(kept.count, 4);
	assert_true(session->run.notes.count >= 1);
	HAS(session->run.notes.at[0].text, "the disk is full");
}

static void budget_ends_it(void **state)
{
	struct kept kept = {0};
	double started = proc_now();
	struct measurement measurement = measured(*state, "GOOD", 0.02, &kept);
	assert_true(proc_now() - started < 2);
	assert_int_equal(measurement.stop, STOP_BUDGET);
}

/* ---- counts ---------------------------------------------------------------------------------------------------------- */

static void instructions_are_counted(void **state)
{
	struct session *session = *state;
	struct variant baseline = program("baseline", "GOOD"), candidate = program("candidate", "GOOD");
	struct counter_list counters = {0};
	struct err err = ERR_INIT;
	list_push(&session->arena, &session->events, "PAGE-FAULTS");
	assert_int_equal(count(session, &baseline, &candidate, NULL, 60, &counters, &err), ST_OK);
	assert_true(counters.count >= 2);
	assert_string_equal(counters.at[0].name, "instructions (valgrind, emulated CPU)");
	if (counters.at[0].unavailable) {
		printf("skipped: %s\n", counters.at[0].unavailable);
		skip();
	}
	/* 1000 rounds of some instructions, and the same on both sides to the last one. */
	assert_true(counters.at[0].baseline > 3000 && counters.at[0].baseline < 30000);
	assert_true(counters.at[0].baseline == counters.at[0].candidate);
	/* Whatever stands there has numbers, or a reason and no numbers. */
	bool asked = false;
	for (size_t i = 0; i < counters.count; i++)
		asked |= strstr(counters.at[i].name, "PAGE-FAULTS") != NULL;
	assert_true(asked);
	for (size_t i = 0; i < counters.count; i++)
		if (counters.at[i].unavailable)
			assert_true(counters.at[i].baseline == 0 && counters.at[i].candidate == 0);
		else
			assert_true(isfinite(counters.at[i].baseline) && counters.at[i].baseline >= 0);
}

static void missing_valgrind_is_a_reason(void **state)
{
	struct session *session = *state;
	struct variant good = program("baseline", "GOOD");
	struct counter_list counters = {0};
	struct err err = ERR_INIT;
	char *path = strdup(getenv("PATH"));
	setenv("PATH", "/nonexistent", 1);
	enum status status = count(session, &good, &good, NULL, 60, &counters, &err);
	setenv("PATH", path, 1);
	free(path);
	assert_int_equal(status, ST_OK);
	HAS(counters.at[0].unavailable, "valgrind is not installed");
	assert_true(counters.at[0].baseline == 0);
}

/* ---- real-time priority ------------------------------------------------------------------------------------------------ */

/* An iteration that takes longer than the kernel lets anybody spin above all others is no failure: it goes on below. */
static void a_long_sample_loses_its_priority_only(void **state)
{
	struct session *session = *state;
	struct rlimit before, low;
	struct proc_child child;
	struct bench_reply reply;
	struct err err = ERR_INIT;
	if (!proc_realtime_enter()) {
		printf("skip: a_long_sample_loses_its_priority_only: real-time priority is not allowed here\n");
		return;
	}
	proc_realtime_leave();
	struct proc_request request = workload_request(&session->arena, program("baseline", "GOOD").program, NULL, 1, "--serve", NULL);
	request.realtime = true;
	assert_int_equal(getrlimit(RLIMIT_RTTIME, &before), 0);
	low = (struct rlimit){100000, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_RTTIME, &low), 0);
	enum status status = workload_start(&request, 30, &child, &reply, &err);
	assert_int_equal(setrlimit(RLIMIT_RTTIME, &before), 0);
	assert_int_equal(status, ST_OK);
	assert_int_equal(sched_getscheduler(child.pid) & ~SCHED_RESET_ON_FORK, SCHED_RR);
	/* As many iterations as take longer than that, on a machine of any speed. */
	uint64_t n = 1000;
	do
		assert_int_equal(workload_sample(&child, 0, n *= 2, 60, &interrupted, &reply, &err), ST_OK);
	while (reply.ns < 500000000u);
	assert_int_equal(sched_getscheduler(child.pid) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
	workload_quit(&child);
	proc_child_end(&child);
}

/* ---- host ------------------------------------------------------------------------------------------------------------ */

static void host_is_described(void **state)
{
	struct session *session = *state;
	struct host host;
	host_describe(&session->arena, &host);
	assert_true(host.cpus >= 1);
	assert_true(strlen(host.name) && strlen(host.cpu) && strlen(host.kernel) && strlen(host.clock_source));
	HAS(host.counters, "available");
	int cpu = host_cpu_choose();
	assert_true(cpu >= 0 && cpu < sysconf(_SC_NPROCESSORS_CONF));
	struct host_affinity before;
	host_cpu_leave(cpu, &before);
	cpu_set_t now;
	assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
	assert_true(!before.moved || !CPU_ISSET(cpu, &now));
	host_cpu_return(&before);
	assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
	assert_true(CPU_ISSET(cpu, &now));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(runtime_says_what_is_wrong, setup, teardown),
	    cmocka_unit_test_setup_teardown(runtime_says_what_is_wrong_with_threads, setup, teardown),
	    cmocka_unit_test_setup_teardown(threads_run_together, setup, teardown),
	    cmocka_unit_test_setup_teardown(data_follows_the_seed, setup, teardown),
	    cmocka_unit_test_setup_teardown(no_system_call_between_the_stamps, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_system_call_between_the_stamps_is_seen, setup, teardown),
	    cmocka_unit_test_setup_teardown(kernel_counts_by_the_program_itself, setup, teardown),
	    cmocka_unit_test_setup_teardown(outputs_table, setup, teardown),
	    cmocka_unit_test_setup_teardown(outputs_may_be_rounded_within_the_drivers_tolerance, setup, teardown),
	    cmocka_unit_test_setup_teardown(outputs_that_hang_end_in_time, setup, teardown),
	    cmocka_unit_test_setup_teardown(outputs_can_be_interrupted, setup, teardown),
	    cmocka_unit_test_setup_teardown(pairs_are_taken_and_kept, setup, teardown),
	    cmocka_unit_test_setup_teardown(every_block_has_a_fresh_layout, setup, teardown),
	    cmocka_unit_test_setup_teardown(sides_draw_their_layouts_independently, setup, teardown),
	    cmocka_unit_test_setup_teardown(crash_and_hang_are_the_candidates_failure, setup, teardown),
	    cmocka_unit_test_setup_teardown(baseline_failure_is_not_the_candidates, setup, teardown),
	    cmocka_unit_test_setup_teardown(interrupted_keeps_the_pairs, setup, teardown),
	    cmocka_unit_test_setup_teardown(full_disk_ends_nothing, setup, teardown),
	    cmocka_unit_test_setup_teardown(threads_are_not_pinned, setup, teardown),
	    cmocka_unit_test_setup_teardown(threads_are_measured_where_transfers_show, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_thread_that_crashes_or_hangs_ends_the_measurement, setup, teardown),
	    cmocka_unit_test_setup_teardown(transfers_show_or_do_not, setup, teardown),
	    cmocka_unit_test_setup_teardown(budget_ends_it, setup, teardown),
	    cmocka_unit_test_setup_teardown(instructions_are_counted, setup, teardown),
	    cmocka_unit_test_setup_teardown(missing_valgrind_is_a_reason, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_long_sample_loses_its_priority_only, setup, teardown),
	    cmocka_unit_test_setup_teardown(host_is_described, setup, teardown),
	};
	return cmocka_run_group_tests_name("measure", tests, group_setup, group_teardown);
}
