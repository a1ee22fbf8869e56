/* Workload: threads count bytes in and out of one aggsum (module/zfs/aggsum.c), as the ARC counts its size.
 *
 * Parameter: threads. One iteration of a thread adds a size and takes it away again.
 *
 * What the kernel module has and user space lacks is given to the tree's code by macros, so that each can be taken away:
 *   STUDY_ALIGNED  ____cacheline_aligned means something, and the buckets' memory begins at a cache line
 *   STUDY_SPREAD   CPU_SEQID_UNSTABLE tells threads apart (libzpool's is the low bits of an aligned pointer: one value)
 * The buckets are as many as on a machine with as many CPUs as there are threads.
 */
#include <assay/bench.h>

#include <stdio.h>
#include <stdlib.h>

#include <sys/feature_tests.h>
#ifdef STUDY_ALIGNED
#undef ____cacheline_aligned
#define ____cacheline_aligned __attribute__((aligned(64)))
#define BUCKETS_OFF 0
#else
#define BUCKETS_OFF 16 /* bytes behind a cache line: the least that malloc() promises */
#endif

#include "tree.h"

static _Thread_local unsigned own_cpu;
static unsigned all_cpus = 1;

#ifdef STUDY_SPREAD
#undef CPU_SEQID_UNSTABLE
#define CPU_SEQID_UNSTABLE own_cpu
#endif
#undef boot_ncpus
#define boot_ncpus all_cpus

static _Alignas(64) char bucket_memory[65536];
#undef kmem_zalloc
#undef kmem_free
#define kmem_zalloc(size, flags) ((void)(size), (void *)(bucket_memory + BUCKETS_OFF))
#define kmem_free(memory, size) ((void)(memory), (void)(size))

#include "module/zfs/aggsum.c"

enum { THREADS_MAX = 64, SIZES = 16 };

struct state {
	aggsum_t sum;
	struct {
		_Alignas(128) uint64_t size[SIZES];
	} own[THREADS_MAX];
	uint64_t value;
	unsigned threads;
};

static void *setup(struct assay_bench *bench)
{
	struct state *s = aligned_alloc(128, (sizeof(*s) + 127) / 128 * 128);
	if (!s)
		assay_fail(bench, "no memory");
	memset(s, 0, sizeof(*s));
	s->threads = assay_threads(bench, 2);
	all_cpus = s->threads;
	if (sizeof(bucket_memory) < BUCKETS_OFF + s->threads * sizeof(aggsum_bucket_t))
		assay_fail(bench, "the buckets of %u threads need more than %zu bytes", s->threads, sizeof(bucket_memory));
	aggsum_init(&s->sum, 0);
	for (unsigned t = 0; t < s->threads; t++)
		for (int i = 0; i < SIZES; i++)
			s->own[t].size[i] = 512 << assay_random(bench) % 9; /* 512 bytes to 128 KiB */
	return s;
}

static void run_thread(void *state, const struct assay_thread *thread, uint64_t iterations)
{
	struct state *s = state;
	own_cpu = thread->index;
	for (uint64_t i = 0; i < iterations; i++) {
		int64_t size = (int64_t)s->own[thread->index].size[i % SIZES];
		aggsum_add(&s->sum, size);
		aggsum_add(&s->sum, -size);
	}
}

static void output(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	s->value = aggsum_value(&s->sum);
	if (s->value != 0)
		assay_fail(bench, "what was added was taken away again, and the sum is %llu", (unsigned long long)s->value);
	assay_output(bench, "value", &s->value, sizeof(s->value));
}

/* One thread: values, bounds and comparisons after additions of all sizes and signs. */
static void edges(void *state, struct assay_bench *bench)
{
	aggsum_t sum;
	int64_t expected = 1 << 30;
	(void)state;
	aggsum_init(&sum, (uint64_t)expected);
	for (int i = 0; i < 2000; i++) {
		int64_t delta = (int64_t)(assay_random(bench) % 200000) - 100000;
		own_cpu = (unsigned)i % all_cpus;
		aggsum_add(&sum, delta);
		expected += delta;
		if (aggsum_lower_bound(&sum) > expected || (int64_t)aggsum_upper_bound(&sum) < expected)
			assay_fail(bench, "after %d additions the bounds don't hold the sum", i + 1);
		int order = aggsum_compare(&sum, (uint64_t)expected + 1);
		assay_output(bench, "comparison", &order, sizeof(order));
	}
	uint64_t value = aggsum_value(&sum);
	if ((int64_t)value != expected)
		assay_fail(bench, "the sum is %llu, not %lld", (unsigned long long)value, (long long)expected);
	assay_output(bench, "sum", &value, sizeof(value));
}

static void teardown(void *state)
{
	free(state);
}

const struct assay_workload assay_workload = {
	.setup = setup, .run_thread = run_thread, .output = output, .edges = edges, .teardown = teardown};
