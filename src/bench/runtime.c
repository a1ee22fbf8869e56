/* The part of every workload's program that assay brings along: main(), the functions of assay/bench.h, the clock.
 *
 * It is compiled by whatever compiler and flags the trial uses, so it is plain C99 with POSIX, and nothing in it
 * depends on how it is optimised: between the two time stamps there is one call of the workload's run() and nothing
 * else - no system call (clock_gettime reads the vDSO), no allocation, no output. tests/unit/measure_test.c shows
 * it with strace.
 *
 *     PROGRAM [--param NAME=VALUE]… [--seed N] [--cpus N,N…] --outputs | --serve | --count N | --time | --describe
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "protocol.h"
#include "counters.h"
#include "threads.h"

#include <assay/bench.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct bench_param {
	const char *name; /* not terminated: name_size bytes */
	size_t name_size;
	const char *value;
	int asked;
};

struct assay_bench {
	struct bench_param *params;
	size_t param_count;
	uint64_t random[4]; /* xoshiro256**, Blackman and Vigna 2018 */
	uint64_t bytes_per_iteration;
	int record_fd; /* -1: assay_output() hands over nothing */
	int readable;  /* records as lines for people */
	uint64_t records;
	const char *label_prefix; /* of the records that follow */
	int describe;
	void *state; /* what setup() gave */
	unsigned threads;
	unsigned cpu_count;
	int cpus[CPU_SETSIZE]; /* that its threads may use, the first ones first */
	struct bench_pool *pool; /* NULL: one thread */
};

/* Iterations that the results are handed over after, beside the first. */
enum { BENCH_LATER_ITERATIONS = 7 };

/* ---- ending ---------------------------------------------------------------------------------------------------- */

void assay_fail(struct assay_bench *bench, const char *format, ...)
{
	va_list ap;
	(void)bench;
	fflush(stdout);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	fflush(stderr);
	_exit(BENCH_EXIT_FAIL);
}

void assay_unavailable(const char *reason)
{
	fflush(stdout);
	fprintf(stderr, "%s\n", reason);
	fflush(stderr);
	_exit(BENCH_EXIT_UNAVAILABLE);
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

const char *assay_param(struct assay_bench *bench, const char *name, const char *fallback)
{
	const char *value = fallback;
	size_t i;
	for (i = 0; i < bench->param_count; i++) {
		struct bench_param *param = &bench->params[i];
		if (strlen(name) == param->name_size && memcmp(name, param->name, param->name_size) == 0) {
			param->asked = 1;
			value = param->value;
		}
	}
	if (bench->describe)
		printf("param %s=%s\n", name, value ? value : "");
	return value;
}

uint64_t assay_param_u64(struct assay_bench *bench, const char *name, uint64_t fallback)
{
	char digits[32];
	const char *text;
	char *end;
	unsigned long long value;
	uint64_t factor = 1;
	snprintf(digits, sizeof digits, "%llu", (unsigned long long)fallback);
	text = assay_param(bench, name, digits);
	errno = 0;
	value = strtoull(text, &end, 0);
	switch (*end) {
	case 'K': case 'k': factor = 1024; end++; break;
	case 'M': factor = 1024 * 1024; end++; break;
	case 'G': factor = 1024 * 1024 * 1024; end++; break;
	default: break;
	}
	if (end == text || *end || errno || text[0] == '-' || (value && value > UINT64_MAX / factor))
		assay_fail(bench, "parameter %s: \"%s\" is not a whole number: give digits, with K, M or G for powers of 1024", name,
		           text);
	return (uint64_t)value * factor;
}

/* A parameter that nobody reads would label the numbers of the default over and over. */
static void bench_check_asked(struct assay_bench *bench)
{
	size_t i;
	for (i = 0; i < bench->param_count; i++)
		if (!bench->params[i].asked)
			assay_fail(bench, "parameter %.*s is given, but the workload never asks for it: check its spelling",
			           (int)bench->params[i].name_size, bench->params[i].name);
}

unsigned assay_threads(struct assay_bench *bench, unsigned fallback)
{
	uint64_t count = assay_param_u64(bench, "threads", fallback);
	if (!assay_workload.run_thread)
		assay_fail(bench, "setup() calls assay_threads(), but assay_workload.run_thread is not set: it is what threads run");
	if (count < 1 || count > BENCH_THREADS_MAX)
		assay_fail(bench, "threads: %llu are not possible: give a number from 1 to %d", (unsigned long long)count,
		           BENCH_THREADS_MAX);
	/* On a single CPU the results can still be had; what takes time is not asked of it. */
	if (count > bench->cpu_count && bench->cpu_count > 1)
		assay_fail(bench, "threads: %llu are wanted, but there are %u CPUs that this process may use, and each thread needs "
		           "one of its own: give threads=%u or fewer", (unsigned long long)count, bench->cpu_count, bench->cpu_count);
	bench->threads = (unsigned)count;
	return bench->threads;
}

void assay_bytes_per_iteration(struct assay_bench *bench, uint64_t size_bytes)
{
	bench->bytes_per_iteration = size_bytes;
}

/* ---- data by seed ------------------------------------------------------------------------------------------------ */

static uint64_t bench_splitmix(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void bench_seed(struct assay_bench *bench, uint64_t seed)
{
	int i;
	for (i = 0; i < 4; i++)
		bench->random[i] = bench_splitmix(&seed);
}

static uint64_t bench_rotate(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

uint64_t assay_random(struct assay_bench *bench)
{
	uint64_t *s = bench->random;
	uint64_t result = bench_rotate(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = bench_rotate(s[3], 45);
	return result;
}

void assay_fill_random(struct assay_bench *bench, void *data, size_t size)
{
	unsigned char *at = data;
	while (size) {
		uint64_t value = assay_random(bench);
		size_t step = size < sizeof value ? size : sizeof value;
		size_t i;
		/* Byte by byte: the same data whatever the byte order. */
		for (i = 0; i < step; i++)
			at[i] = (unsigned char)(value >> (8 * i));
		at += step;
		size -= step;
	}
}

enum { BENCH_WORDS = 1024, BENCH_WORD_MAX = 12 };

struct bench_words {
	char text[BENCH_WORDS][BENCH_WORD_MAX];
	unsigned char length[BENCH_WORDS];
};

static void bench_words_make(struct assay_bench *bench, struct bench_words *words)
{
	static const char letters[] = "eeeeeeeeeeeetttttttttaaaaaaaaooooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrr"
	                              "ddddlllluuucccmmmwwffggyyppbbvk";
	size_t i, k;
	for (i = 0; i < BENCH_WORDS; i++) {
		/* Frequent words, which come first, are short. */
		size_t length = 2 + (i > 15) + (i > 127) + assay_random(bench) % (i > 15 ? 7 : 3);
		words->length[i] = (unsigned char)length;
		for (k = 0; k < length; k++)
			words->text[i][k] = letters[assay_random(bench) % (sizeof letters - 1)];
	}
}

/* Words with roughly Zipf's frequencies, sentences, and phrases that come again, as in prose and logs. */
void assay_fill_text(struct assay_bench *bench, void *data, size_t size)
{
	char *out = data;
	size_t used = 0, sentence = 0;
	struct bench_words *words = malloc(sizeof *words);
	if (!words)
		assay_fail(bench, "out of memory in assay_fill_text");
	bench_words_make(bench, words);
	while (used < size) {
		uint64_t r = assay_random(bench);
		size_t length;
		const char *from;
		if (used > 256 && r % 100 < 6) {
			size_t window = used < 32768 ? used : 32768;
			length = 16 + (r >> 8) % 48;
			from = out + used - window + (r >> 16) % (window - length);
		} else {
			/* 1024^u for a uniform u has the density 1/x. */
			unsigned shift = (unsigned)((r >> 8) % 10);
			size_t index = ((size_t)1 << shift) + (size_t)((r >> 16) & (((uint64_t)1 << shift) - 1));
			length = words->length[index % BENCH_WORDS];
			from = words->text[index % BENCH_WORDS];
		}
		if (length > size - used)
			length = size - used;
		memmove(out + used, from, length);
		used += length;
		if (used < size)
			out[used++] = ++sentence % 11 ? ' ' : '.';
		if (sentence % 11 == 0 && used < size)
			out[used++] = '\n';
	}
	free(words);
}

/* The least of eight uniform bytes: about 6.3 bits of entropy a byte, and a 4-byte repeat within 64 KiB at one position
 * in 200 only. */
void assay_fill_literals(struct assay_bench *bench, void *data, size_t size)
{
	unsigned char *out = data;
	size_t i;
	for (i = 0; i < size; i++) {
		uint64_t r = assay_random(bench);
		unsigned least = 255;
		int k;
		for (k = 0; k < 8; k++, r >>= 8)
			if ((r & 255) < least)
				least = (unsigned)(r & 255);
		out[i] = (unsigned char)least;
	}
}

/* ---- messages ------------------------------------------------------------------------------------------------------ */

static void bench_write(struct assay_bench *bench, int fd, const void *data, size_t size)
{
	const char *at = data;
	while (size) {
		ssize_t written = write(fd, at, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			assay_fail(bench, "can't hand over results: %s", strerror(errno));
		at += written;
		size -= (size_t)written;
	}
}

/* 0: the other end is closed. */
static int bench_read(int fd, void *data, size_t size)
{
	char *at = data;
	while (size) {
		ssize_t got = read(fd, at, size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 0;
		at += got;
		size -= (size_t)got;
	}
	return 1;
}

static void bench_output(struct assay_bench *bench, const char *label, const void *data, size_t size, size_t element,
                         double tolerance)
{
	struct bench_record record;
	if (bench->record_fd < 0)
		return;
	if (bench->readable) {
		uint64_t hash = 14695981039346656037u; /* FNV-1a */
		const unsigned char *at = data;
		size_t i;
		for (i = 0; i < size; i++)
			hash = (hash ^ at[i]) * 1099511628211u;
		printf("%s%s: %llu bytes, hash %016llx\n", bench->label_prefix, label, (unsigned long long)size,
		       (unsigned long long)hash);
		return;
	}
	memset(&record, 0, sizeof record);
	record.magic = BENCH_MAGIC;
	record.kind = BENCH_RECORD;
	record.label_size = strlen(bench->label_prefix) + strlen(label);
	record.size = size;
	record.element = element;
	record.tolerance = tolerance;
	bench->records++;
	bench_write(bench, bench->record_fd, &record, sizeof record);
	bench_write(bench, bench->record_fd, bench->label_prefix, strlen(bench->label_prefix));
	bench_write(bench, bench->record_fd, label, strlen(label));
	bench_write(bench, bench->record_fd, data, size);
}

void assay_output(struct assay_bench *bench, const char *label, const void *data, size_t size)
{
	bench_output(bench, label, data, size, 0, 0);
}

/* A tolerance of 1 would call everything of one sign equal. */
static double bench_tolerance(struct assay_bench *bench, const char *label, double tolerance)
{
	if (!(tolerance >= 0 && tolerance < 1))
		assay_fail(bench, "the tolerance of \"%s\" is %g: it is a share of the result, from 0 to below 1", label, tolerance);
	return tolerance;
}

void assay_output_doubles(struct assay_bench *bench, const char *label, const double *values, size_t count,
                          double tolerance)
{
	bench_output(bench, label, values, count * sizeof *values, sizeof *values, bench_tolerance(bench, label, tolerance));
}

void assay_output_floats(struct assay_bench *bench, const char *label, const float *values, size_t count,
                         double tolerance)
{
	bench_output(bench, label, values, count * sizeof *values, sizeof *values, bench_tolerance(bench, label, tolerance));
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* What one iteration is, where there is one thread only. */
static inline void bench_run_one(void *state, uint64_t iterations)
{
	static const struct assay_thread alone = {0, 1};
	if (assay_workload.run_thread)
		assay_workload.run_thread(state, &alone, iterations);
	else
		assay_workload.run(state, iterations);
}

static void bench_run(const struct assay_bench *bench, uint64_t iterations)
{
	if (bench->pool) {
		bench->pool->iterations = iterations;
		bench_pool_do(bench->pool, BENCH_JOB_RUN);
	} else {
		bench_run_one(bench->state, iterations);
	}
}

/* ---- answers ------------------------------------------------------------------------------------------------------- */

static struct bench_reply bench_answer(uint32_t kind)
{
	struct bench_reply reply;
	memset(&reply, 0, sizeof reply);
	reply.magic = BENCH_MAGIC;
	reply.kind = kind;
	reply.cpu = (uint32_t)sched_getcpu();
	return reply;
}

/* What the workload declares. */
static void bench_declare(const struct assay_bench *bench, struct bench_reply *reply)
{
	reply->bytes_per_iteration = bench->bytes_per_iteration;
	reply->threads = bench->threads;
	reply->cpus = bench->cpu_count;
}

/* ---- the clock --------------------------------------------------------------------------------------------------- */

/* One thread. */
static struct bench_reply bench_sample_one(const struct assay_bench *bench, uint64_t prime, uint64_t iterations)
{
	struct bench_reply reply;
	struct rusage before, after;
	uint64_t start, end;
	int cpu_before, cpu_after;
	memset(&reply, 0, sizeof reply);
	memset(&after, 0, sizeof after);
	/* Touches the pages that the readings after the sample use. */
	getrusage(RUSAGE_SELF, &after);
	if (prime)
		bench_run_one(bench->state, prime);
	getrusage(RUSAGE_SELF, &before);
	cpu_before = sched_getcpu();

	start = bench_now_ns();
	bench_run_one(bench->state, iterations);
	end = bench_now_ns();

	cpu_after = sched_getcpu();
	getrusage(RUSAGE_SELF, &after);
	reply.ns = end - start;
	reply.cpu = (uint32_t)cpu_after;
	if (cpu_before != cpu_after)
		reply.flags |= BENCH_MIGRATED;
	if (before.ru_nivcsw != after.ru_nivcsw)
		reply.flags |= BENCH_PREEMPTED;
	if (before.ru_minflt != after.ru_minflt || before.ru_majflt != after.ru_majflt)
		reply.flags |= BENCH_PAGE_FAULT;
	return reply;
}

/* As a sample, but for the counts, which are this thread's: what the readings themselves take is in them. */
static struct bench_reply bench_count(const struct assay_bench *bench, const struct bench_command *command,
                                      const struct bench_group *group, struct bench_counts *ret_counts)
{
	struct bench_reply reply;
	struct bench_counts before, after;
	int read;
	uint64_t start, end;
	if (command->prime)
		bench_run(bench, command->prime);
	start = bench_now_ns();
	read = bench_group_read(group, BENCH_THIS_CPU, &before);
	bench_run(bench, command->iterations);
	read = bench_group_read(group, BENCH_THIS_CPU, &after) && read;
	end = bench_now_ns();
	reply = bench_answer(BENCH_COUNT);
	reply.ns = end - start;
	*ret_counts = bench_counts_between(&before, &after);
	if (!read)
		ret_counts->count = 0;
	return reply;
}

/* Takes over the events that follow a command; the answer says whether they can be counted. */
static struct bench_reply bench_events(const struct bench_command *command, struct bench_group *group)
{
	struct bench_reply reply = bench_answer(BENCH_EVENTS);
	struct bench_event events[BENCH_EVENTS_MAX];
	unsigned count = (unsigned)command->iterations, which = 0;
	bench_group_close(group);
	if (command->iterations > BENCH_EVENTS_MAX || !bench_read(BENCH_COMMAND_FD, events, count * sizeof *events))
		reply.ns = EINVAL;
	else
		reply.ns = (uint64_t)bench_group_open(group, events, count, &which);
	reply.cpu = which;
	return reply;
}

/* From the moment when all threads are let go until the last of them has ended. */
static struct bench_reply bench_sample_all(struct bench_pool *pool, uint64_t prime, uint64_t iterations)
{
	struct bench_reply reply;
	unsigned i;
	memset(&reply, 0, sizeof reply);
	pool->prime = prime;
	pool->iterations = iterations;
	bench_pool_do(pool, BENCH_JOB_SAMPLE);
	reply.cpu = (uint32_t)sched_getcpu();
	for (i = 0; i < pool->count; i++) {
		uint64_t ns = pool->workers[i].end_ns - pool->start_ns;
		reply.ns = ns > reply.ns ? ns : reply.ns;
		reply.flags |= pool->workers[i].flags;
	}
	return reply;
}

static struct bench_reply bench_sample(const struct assay_bench *bench, uint64_t prime, uint64_t iterations)
{
	struct bench_reply reply = bench->pool ? bench_sample_all(bench->pool, prime, iterations)
	                                       : bench_sample_one(bench, prime, iterations);
	reply.magic = BENCH_MAGIC;
	reply.kind = BENCH_SAMPLE;
	bench_declare(bench, &reply);
	return reply;
}

static struct bench_transfer bench_transfer_find(struct bench_pool *pool)
{
	struct bench_transfer transfer;
	memset(&transfer, 0, sizeof transfer);
	transfer.magic = BENCH_MAGIC;
	transfer.kind = BENCH_TRANSFER;
	/* Who shares a CPU would wait for the other until the kernel takes it away. */
	if (!pool || !pool->spin)
		return transfer;
	pool->transfer = &transfer;
	bench_pool_do(pool, BENCH_JOB_TRANSFER);
	return transfer;
}

/* ---- priority ----------------------------------------------------------------------------------------------------- */

/* An iteration or a set-up that takes seconds without a pause would keep its CPU from everybody: it goes on as all others
 * do. SIGXCPU that comes from a limit of all CPU time ends the program, as always. */
static void bench_overrun(int number)
{
	int saved_errno = errno;
	if (!bench_priority_leave()) {
		signal(number, SIG_DFL);
		raise(number);
	}
	errno = saved_errno;
}

static void bench_overrun_catch(void)
{
	struct sigaction action;
	memset(&action, 0, sizeof action);
	action.sa_handler = bench_overrun;
	action.sa_flags = SA_RESTART;
	sigaction(SIGXCPU, &action, NULL);
}

/* ---- modes --------------------------------------------------------------------------------------------------------- */

static void bench_serve(struct assay_bench *bench)
{
	struct bench_command command;
	struct bench_transfer transfer;
	struct bench_reply reply;
	struct bench_group group;
	memset(&group, 0, sizeof group);
	reply = bench_answer(BENCH_READY);
	bench_declare(bench, &reply);
	bench_write(bench, BENCH_REPLY_FD, &reply, sizeof reply);
	while (bench_read(BENCH_COMMAND_FD, &command, sizeof command)) {
		if (command.magic != BENCH_MAGIC || command.kind == BENCH_QUIT)
			break;
		if (command.kind == BENCH_EVENTS) {
			reply = bench_events(&command, &group);
			bench_write(bench, BENCH_REPLY_FD, &reply, sizeof reply);
			continue;
		}
		if (command.kind == BENCH_COUNT) {
			struct bench_counts counts;
			reply = bench_count(bench, &command, &group, &counts);
			bench_write(bench, BENCH_REPLY_FD, &reply, sizeof reply);
			bench_write(bench, BENCH_REPLY_FD, &counts, sizeof counts);
			continue;
		}
		if (command.kind == BENCH_TRANSFER) {
			transfer = bench_transfer_find(bench->pool);
			bench_write(bench, BENCH_REPLY_FD, &transfer, sizeof transfer);
			continue;
		}
		reply = bench_sample(bench, command.prime, command.iterations);
		bench_write(bench, BENCH_REPLY_FD, &reply, sizeof reply);
	}
	bench_group_close(&group);
}

static void bench_outputs(struct assay_bench *bench)
{
	void *state = bench->state;
	struct bench_record end;
	char prefix[64];
	bench->record_fd = fcntl(BENCH_REPLY_FD, F_GETFD) >= 0 ? BENCH_REPLY_FD : STDOUT_FILENO;
	bench->readable = bench->record_fd == STDOUT_FILENO && isatty(STDOUT_FILENO);
	bench_run(bench, 1);
	if (assay_workload.output) {
		assay_workload.output(state, bench);
		/* What is timed is millions of iterations: a table that is no longer cleared or a cursor that is no longer reset
		 * is right in the first of them only. */
		bench_run(bench, BENCH_LATER_ITERATIONS);
		snprintf(prefix, sizeof prefix, "after %d iterations: ", 1 + BENCH_LATER_ITERATIONS);
		bench->label_prefix = prefix;
		assay_workload.output(state, bench);
		bench->label_prefix = "";
	}
	if (assay_workload.edges)
		assay_workload.edges(state, bench);
	bench_check_asked(bench);
	if (bench->readable)
		return;
	memset(&end, 0, sizeof end);
	end.magic = BENCH_MAGIC;
	end.kind = BENCH_END;
	end.size = bench->records;
	bench_write(bench, bench->record_fd, &end, sizeof end);
}

/* For people: how long one iteration takes, without any claim to compare. */
static void bench_time(const struct assay_bench *bench)
{
	uint64_t iterations = 1;
	struct bench_reply reply = bench_sample(bench, 0, 1);
	while (reply.ns < 100000000u && iterations < UINT64_MAX / 2) {
		iterations *= 2;
		reply = bench_sample(bench, 0, iterations);
	}
	printf("%.2f ns per iteration (%llu iterations in one go)\n", (double)reply.ns / (double)iterations,
	       (unsigned long long)iterations);
	if (bench->pool) {
		struct bench_transfer transfer = bench_transfer_find(bench->pool);
		printf("%u threads", bench->threads);
		if (transfer.private_ps)
			printf("; a cache line takes %.1f ns from CPU %u to %u, and %.1f ns where it stays\n", 1e-3 * (double)transfer.shared_ps,
			       transfer.cpus[0], transfer.cpus[1], 1e-3 * (double)transfer.private_ps);
		else
			printf(" on one CPU, by turns: this time says nothing\n");
	}
}

/* A function that profilers can tell apart from the set-up by its name. */
void assay_bench_run(const struct assay_bench *bench, uint64_t iterations);
__attribute__((noinline)) void assay_bench_run(const struct assay_bench *bench, uint64_t iterations)
{
	bench_run(bench, iterations);
	__asm__ volatile("" : : : "memory"); /* no tail call: it has to be seen to end */
}

static void bench_describe(struct assay_bench *bench)
{
	printf("bytes_per_iteration %llu\n", (unsigned long long)bench->bytes_per_iteration);
	printf("output %s\n", assay_workload.output ? "yes" : "no");
	printf("edges %s\n", assay_workload.edges ? "yes" : "no");
	printf("threads %u\n", bench->threads);
}

static int bench_usage(const char *program, const char *what)
{
	fprintf(stderr,
	        "%s: %s\nusage: %s [--param NAME=VALUE]... [--seed N] [--cpus N,N...] --outputs | --time | --describe | --count N | "
	        "--serve\n",
	        program, what, program);
	return BENCH_EXIT_USAGE;
}

static int bench_number(const char *text, uint64_t *ret_number)
{
	char *end;
	errno = 0;
	*ret_number = (uint64_t)strtoull(text, &end, 10);
	return end != text && !*end && !errno && text[0] != '-';
}

/* "3,1" */
static int bench_cpus_parse(struct assay_bench *bench, const char *text)
{
	for (;;) {
		char *end;
		long cpu = strtol(text, &end, 10);
		if (end == text || cpu < 0 || cpu >= CPU_SETSIZE || bench->cpu_count == CPU_SETSIZE)
			return 0;
		bench->cpus[bench->cpu_count++] = (int)cpu;
		if (!*end)
			return 1;
		if (*end != ',')
			return 0;
		text = end + 1;
	}
}

/* Those that it was started with, where nobody has chosen. */
static void bench_cpus_find(struct assay_bench *bench)
{
	cpu_set_t set;
	int cpu;
	if (sched_getaffinity(0, sizeof set, &set) != 0)
		assay_fail(bench, "the CPUs that it may use can't be read: %s", strerror(errno));
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((unsigned)cpu, &set))
			bench->cpus[bench->cpu_count++] = cpu;
}

/* Under an emulator one thread runs at a time: there nobody may wait by spinning. */
static void bench_threads_start(struct assay_bench *bench, int emulated)
{
	if (assay_workload.run_thread && !bench->threads)
		assay_fail(bench, "assay_workload.run_thread is set, but setup() does not say how many threads run it: call "
		           "assay_threads()");
	if (bench->threads > 1)
		bench->pool = bench_pool_start(bench->state, bench->threads, bench->cpus,
		                               !emulated && bench->threads <= bench->cpu_count);
}

int main(int argc, char **argv)
{
	struct assay_bench bench;
	const char *mode = NULL;
	uint64_t seed = 1, count = 0;
	int k;
	bench_overrun_catch();
	memset(&bench, 0, sizeof bench);
	bench.record_fd = -1;
	bench.label_prefix = "";
	bench.params = calloc((size_t)argc + 1, sizeof *bench.params);
	if (!bench.params)
		return bench_usage(argv[0], "out of memory");
	for (k = 1; k < argc; k++) {
		const char *word = argv[k];
		const char *next = k + 1 < argc ? argv[k + 1] : NULL;
		if (strcmp(word, "--param") == 0) {
			const char *equals = next ? strchr(next, '=') : NULL;
			struct bench_param *param = &bench.params[bench.param_count];
			if (!equals)
				return bench_usage(argv[0], "--param needs NAME=VALUE");
			param->name = next;
			param->name_size = (size_t)(equals - next);
			param->value = equals + 1;
			bench.param_count++;
			k++;
		} else if (strcmp(word, "--seed") == 0) {
			if (!next || !bench_number(next, &seed))
				return bench_usage(argv[0], "--seed needs a whole number");
			k++;
		} else if (strcmp(word, "--cpus") == 0) {
			if (!next || !bench_cpus_parse(&bench, next))
				return bench_usage(argv[0], "--cpus needs numbers with commas between them");
			k++;
		} else if (strcmp(word, "--count") == 0) {
			if (!next || !bench_number(next, &count))
				return bench_usage(argv[0], "--count needs a whole number");
			mode = word;
			k++;
		} else if (strcmp(word, "--outputs") == 0 || strcmp(word, "--serve") == 0 || strcmp(word, "--time") == 0 ||
		           strcmp(word, "--describe") == 0) {
			mode = word;
		} else {
			return bench_usage(argv[0], "unknown option");
		}
	}
	if (!mode)
		return bench_usage(argv[0], "say what to do");
	if (!assay_workload.run == !assay_workload.run_thread)
		assay_fail(&bench, "assay_workload.run is %sset%s: give the workload the one or the other",
		           assay_workload.run ? "" : "not ", assay_workload.run ? ", and run_thread as well" : ", nor is run_thread");
	bench.describe = strcmp(mode, "--describe") == 0;
	bench_seed(&bench, seed);
	if (!bench.cpu_count)
		bench_cpus_find(&bench);
	if (assay_workload.setup)
		bench.state = assay_workload.setup(&bench);
	bench_threads_start(&bench, strcmp(mode, "--count") == 0);
	if (!bench.threads)
		bench.threads = 1;
	/* With --outputs edges() may be the one that asks; --describe says first what can be given. */
	if (strcmp(mode, "--outputs") != 0 && !bench.describe)
		bench_check_asked(&bench);
	if (strcmp(mode, "--serve") == 0)
		bench_serve(&bench);
	else if (strcmp(mode, "--outputs") == 0)
		bench_outputs(&bench);
	else if (strcmp(mode, "--count") == 0)
		assay_bench_run(&bench, count);
	else if (strcmp(mode, "--time") == 0)
		bench_time(&bench);
	else
		bench_describe(&bench);
	if (bench.describe)
		bench_check_asked(&bench);
	if (assay_workload.teardown)
		assay_workload.teardown(bench.state);
	free(bench.params);
	return 0;
}
