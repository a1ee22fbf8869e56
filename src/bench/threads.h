/* The threads of a workload that has several: they start once, sleep between samples, and meet at barriers within one.
 *
 * Thread 0 is the program's own; it alone reads commands, and tells the others what to do. Between two samples the others
 * sleep in the kernel, so that the process whose turn it is has the CPUs to itself. Within a sample nobody enters the
 * kernel: whoever waits spins, unless there are fewer CPUs than threads (or one at a time, under an emulator), when
 * spinning would only keep the others from running. Then waiting is sleeping, and no time is worth anything.
 *
 * Included by runtime.c only; a file of its own because it knows nothing of parameters, data and messages. */
#ifndef ASSAY_BENCH_THREADS_H
#define ASSAY_BENCH_THREADS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "protocol.h"

#include <assay/bench.h>

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Weak, so that a program whose workload has one thread is seen not to start any. */
#pragma weak pthread_create

enum {
	BENCH_THREADS_MAX = 64,
	BENCH_APART = 128, /* bytes: lines are fetched two at a time */
	BENCH_TURNS = 100, /* of each thread in a burst: some 10 us */
	BENCH_BURSTS_MAX = 400,
	BENCH_BURSTS_MIN = 20
};
#define BENCH_BURSTS_NS 20000000u       /* for one pair of threads, or 2 ms when there are many of them */
#define BENCH_BURSTS_MOST_NS 400000000u /* where a burst takes so long that there won't be enough of them */

struct bench_pool;

struct bench_worker {
	struct assay_thread thread;
	struct bench_pool *pool;
	uint64_t start_ns, end_ns;
	uint32_t flags; /* BENCH_MIGRATED … */
} __attribute__((aligned(BENCH_APART)));

struct bench_line {
	uint64_t value;
} __attribute__((aligned(BENCH_APART)));

enum bench_job { BENCH_JOB_RUN, BENCH_JOB_SAMPLE, BENCH_JOB_TRANSFER };

struct bench_pool {
	/* What threads wait for; each on its own line. */
	struct bench_line order, turn, arrived, go_on;
	struct bench_line shared, own[2];
	struct bench_worker *workers;
	void *state;
	const int *cpus; /* one for each thread, when `spin` */
	unsigned count;
	int spin;
	enum bench_job job;
	uint64_t prime, iterations, start_ns;
	/* of BENCH_JOB_TRANSFER: for one pair of threads after the other */
	uint32_t bursts, shared_ps[BENCH_BURSTS_MAX], private_ps[BENCH_BURSTS_MAX];
	struct bench_transfer *transfer;
};

/* ---- waiting ------------------------------------------------------------------------------------------------------- */

static inline uint64_t bench_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void bench_relax(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("yield");
#endif
}

/* The half of the 64 bits that a futex looks at. */
static inline uint32_t *bench_word(struct bench_line *line)
{
	return (uint32_t *)(void *)&line->value + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static inline uint64_t bench_get(const struct bench_line *line)
{
	return __atomic_load_n(&line->value, __ATOMIC_ACQUIRE);
}

static inline void bench_set(struct bench_line *line, uint64_t value)
{
	__atomic_store_n(&line->value, value, __ATOMIC_RELEASE);
}

static inline void bench_wake(struct bench_line *line)
{
	syscall(SYS_futex, bench_word(line), FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static inline void bench_sleep_while(struct bench_line *line, uint64_t value)
{
	while (bench_get(line) == value)
		syscall(SYS_futex, bench_word(line), FUTEX_WAIT_PRIVATE, (uint32_t)value, NULL, NULL, 0);
}

static inline void bench_wait_while(const struct bench_pool *pool, struct bench_line *line, uint64_t value)
{
	if (!pool->spin)
		bench_sleep_while(line, value);
	else
		while (bench_get(line) == value)
			bench_relax();
}

/* Thread 0: until all others have arrived. */
static inline void bench_gather(struct bench_pool *pool)
{
	uint64_t arrived;
	while ((arrived = bench_get(&pool->arrived)) != pool->count - 1)
		bench_wait_while(pool, &pool->arrived, arrived);
	bench_set(&pool->arrived, 0);
}

static inline void bench_arrive(struct bench_pool *pool)
{
	__atomic_add_fetch(&pool->arrived.value, 1, __ATOMIC_ACQ_REL);
	if (!pool->spin)
		bench_wake(&pool->arrived);
}

/* A barrier. Thread 0 takes the time right before it lets all go. */
static inline void bench_meet(struct bench_pool *pool, unsigned index)
{
	if (index) {
		uint64_t turn = bench_get(&pool->turn);
		bench_arrive(pool);
		bench_wait_while(pool, &pool->turn, turn);
		return;
	}
	bench_gather(pool);
	pool->start_ns = bench_now_ns();
	bench_set(&pool->turn, pool->turn.value + 1);
	if (!pool->spin)
		bench_wake(&pool->turn);
}

/* ---- what the threads do together ------------------------------------------------------------------------------------ */

static inline void bench_thread_run(struct bench_worker *worker, uint64_t iterations)
{
	assay_workload.run_thread(worker->pool->state, &worker->thread, iterations);
}

static inline void bench_thread_sample(struct bench_worker *worker)
{
	struct bench_pool *pool = worker->pool;
	struct rusage before, after;
	int cpu_before;
	memset(&after, 0, sizeof after);
	/* Touches the pages that the readings after the sample use. */
	getrusage(RUSAGE_THREAD, &after);
	bench_meet(pool, worker->thread.index);
	if (pool->prime)
		bench_thread_run(worker, pool->prime);
	getrusage(RUSAGE_THREAD, &before);
	cpu_before = sched_getcpu();

	bench_meet(pool, worker->thread.index);
	bench_thread_run(worker, pool->iterations);
	worker->end_ns = bench_now_ns();

	worker->flags = cpu_before != sched_getcpu() ? BENCH_MIGRATED : 0;
	getrusage(RUSAGE_THREAD, &after);
	if (before.ru_nivcsw != after.ru_nivcsw)
		worker->flags |= BENCH_PREEMPTED;
	if (before.ru_minflt != after.ru_minflt || before.ru_majflt != after.ru_majflt)
		worker->flags |= BENCH_PAGE_FAULT;
}

/* BENCH_TURNS locked additions, each when the line holds what this thread waits for. */
static inline void bench_turns(struct bench_worker *worker, struct bench_line *line, uint64_t first, uint64_t step)
{
	uint64_t next = first;
	int i;
	worker->start_ns = bench_now_ns();
	for (i = 0; i < BENCH_TURNS; i++, next += step) {
		while (__atomic_load_n(&line->value, __ATOMIC_ACQUIRE) != next)
			;
		__atomic_add_fetch(&line->value, 1, __ATOMIC_ACQ_REL);
	}
	worker->end_ns = bench_now_ns();
}

static inline uint32_t bench_ps(uint64_t ns, uint64_t turns)
{
	uint64_t ps = 1000 * ns / turns;
	return ps < UINT32_MAX ? (uint32_t)ps : UINT32_MAX;
}

static int bench_ps_order(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	return left < right ? -1 : left > right;
}

/* The lower quartile: most bursts may be disturbed, by a CPU that went to another program or another guest. */
static inline uint32_t bench_typical(uint32_t *ps, uint32_t count)
{
	qsort(ps, count, sizeof *ps, bench_ps_order);
	return ps[count / 4];
}

/* One burst on one line, in turns, and one on two lines, without waiting. Every thread is at every barrier. */
static inline void bench_burst(struct bench_worker *worker, const struct bench_worker *a, const struct bench_worker *b)
{
	struct bench_pool *pool = worker->pool;
	unsigned index = worker->thread.index;
	unsigned side = worker == b;
	int mine = worker == a || worker == b;
	if (index == 0)
		pool->shared.value = pool->own[0].value = pool->own[1].value = 0;
	bench_meet(pool, index);
	if (mine)
		bench_turns(worker, &pool->shared, side, 2);
	bench_meet(pool, index);
	if (index == 0) {
		uint64_t start = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
		uint64_t end = a->end_ns > b->end_ns ? a->end_ns : b->end_ns;
		pool->shared_ps[pool->bursts] = bench_ps(end - start, 2 * BENCH_TURNS);
	}
	bench_meet(pool, index);
	if (mine)
		bench_turns(worker, &pool->own[side], 0, 1);
	bench_meet(pool, index);
	if (index == 0) {
		uint64_t first = a->end_ns - a->start_ns, second = b->end_ns - b->start_ns;
		pool->private_ps[pool->bursts++] = bench_ps(first > second ? first : second, BENCH_TURNS);
	}
}

/* The pair between whose CPUs a transfer can be seen least is the one that counts. */
static inline void bench_pair_keep(struct bench_pool *pool, unsigned a, unsigned b)
{
	struct bench_transfer *transfer = pool->transfer;
	uint64_t shared_ps = bench_typical(pool->shared_ps, pool->bursts);
	uint64_t private_ps = bench_typical(pool->private_ps, pool->bursts);
	transfer->bursts += pool->bursts;
	if (transfer->private_ps && shared_ps * transfer->private_ps >= transfer->shared_ps * private_ps)
		return;
	transfer->shared_ps = shared_ps;
	transfer->private_ps = private_ps ? private_ps : 1;
	transfer->cpus[0] = (uint32_t)pool->cpus[a];
	transfer->cpus[1] = (uint32_t)pool->cpus[b];
}

static inline void bench_thread_transfer(struct bench_worker *worker)
{
	struct bench_pool *pool = worker->pool;
	unsigned index = worker->thread.index, a, b;
	uint64_t burst_ns = pool->count > 4 ? BENCH_BURSTS_NS / 10 : BENCH_BURSTS_NS;
	for (a = 0; a < pool->count; a++)
		for (b = a + 1; b < pool->count; b++) {
			uint64_t started = bench_now_ns();
			if (index == 0)
				pool->bursts = 0;
			for (;;) {
				if (index == 0) {
					uint64_t took = bench_now_ns() - started;
					uint64_t enough = pool->bursts < BENCH_BURSTS_MIN ? BENCH_BURSTS_MOST_NS : burst_ns;
					pool->go_on.value = pool->bursts < BENCH_BURSTS_MAX && (pool->bursts < 1 || took < enough);
				}
				bench_meet(pool, index);
				if (!pool->go_on.value)
					break;
				bench_burst(worker, &pool->workers[a], &pool->workers[b]);
			}
			if (index == 0)
				bench_pair_keep(pool, a, b);
			bench_meet(pool, index); /* all have seen that it's over */
		}
}

static inline void bench_thread_do(struct bench_worker *worker)
{
	switch (worker->pool->job) {
	case BENCH_JOB_RUN:
		bench_meet(worker->pool, worker->thread.index);
		bench_thread_run(worker, worker->pool->iterations);
		break;
	case BENCH_JOB_SAMPLE: bench_thread_sample(worker); break;
	case BENCH_JOB_TRANSFER: bench_thread_transfer(worker); break;
	}
}

/* Back from real-time priority, if it has that. The flag is set by assay, and only who is privileged may clear it. Bare
 * system calls, since not every C library has functions for them. */
static inline int bench_priority_leave(void)
{
	struct sched_param normal;
	if ((syscall(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK) != SCHED_RR)
		return 0;
	memset(&normal, 0, sizeof normal);
	syscall(SYS_sched_setscheduler, 0, SCHED_OTHER | SCHED_RESET_ON_FORK, &normal);
	return 1;
}

/* ---- the pool -------------------------------------------------------------------------------------------------------- */

static inline void bench_move(const struct bench_pool *pool, unsigned index)
{
	cpu_set_t set;
	if (!pool->spin)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)pool->cpus[index], &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0)
		assay_fail(NULL, "thread %u can't be moved to CPU %d: %s", index, pool->cpus[index], strerror(errno));
}

static inline void *bench_thread_main(void *data)
{
	struct bench_worker *worker = data;
	struct bench_pool *pool = worker->pool;
	uint64_t order = 0;
	bench_move(pool, worker->thread.index);
	for (;;) {
		bench_sleep_while(&pool->order, order);
		order++;
		bench_thread_do(worker);
		bench_arrive(pool);
	}
	return NULL;
}

/* Has all threads do the job and waits until the last one has. */
static inline void bench_pool_do(struct bench_pool *pool, enum bench_job job)
{
	pool->job = job;
	bench_set(&pool->order, pool->order.value + 1);
	bench_wake(&pool->order);
	bench_thread_do(&pool->workers[0]);
	bench_gather(pool);
}

/* `count` threads in all, the calling one included; `spin`: each has the CPU cpus[index] to itself. */
static inline struct bench_pool *bench_pool_start(void *state, unsigned count, const int *cpus, int spin)
{
	struct bench_pool *pool = aligned_alloc(BENCH_APART, sizeof *pool);
	size_t size = count * sizeof *pool->workers;
	unsigned i;
	if (!pthread_create)
		assay_fail(NULL, "the C library that is linked has no pthread_create: add -pthread to the workload's flags");
	if (pool) {
		memset(pool, 0, sizeof *pool);
		pool->workers = aligned_alloc(BENCH_APART, size);
	}
	if (!pool || !pool->workers)
		assay_fail(NULL, "out of memory for %u threads", count);
	memset(pool->workers, 0, size);
	/* Threads that spin on every CPU above all else that runs would hold up the machine. */
	bench_priority_leave();
	pool->state = state;
	pool->cpus = cpus;
	pool->count = count;
	pool->spin = spin;
	for (i = 0; i < count; i++) {
		struct bench_worker *worker = &pool->workers[i];
		pthread_t thread;
		int code;
		worker->pool = pool;
		worker->thread.index = i;
		worker->thread.count = count;
		code = i ? pthread_create(&thread, NULL, bench_thread_main, worker) : 0;
		if (code)
			assay_fail(NULL, "thread %u can't be started: %s", i, strerror(code));
	}
	bench_move(pool, 0);
	return pool;
}

#endif
