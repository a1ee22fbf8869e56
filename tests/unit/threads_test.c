/* The threads of a workload (src/bench/threads.h), without a program around them: barriers, the pool, the arithmetic of
 * the calibration. What a transfer costs here is not asserted: that is the machine's to say. */
#include "bench/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { ROUNDS = 300, THREADS = 4 };

/* In place of the runtime's. */
void assay_fail(struct assay_bench *bench, const char *format, ...)
{
	(void)bench;
	fputs(format, stderr);
	abort();
}

static struct {
	uint64_t calls[THREADS], iterations[THREADS], count[THREADS];
} seen;

static void count_calls(void *state, const struct assay_thread *thread, uint64_t iterations)
{
	assert_ptr_equal(state, &seen);
	seen.calls[thread->index]++;
	seen.iterations[thread->index] += iterations;
	seen.count[thread->index] = thread->count;
}

const struct assay_workload assay_workload = {.run_thread = count_calls};

static unsigned cpus_usable(int cpus[CPU_SETSIZE])
{
	cpu_set_t set;
	unsigned count = 0;
	assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((unsigned)cpu, &set))
			cpus[count++] = cpu;
	return count;
}

/* ---- the barrier ------------------------------------------------------------------------------------------------------ */

static struct {
	struct bench_pool *pool;
	uint64_t at[THREADS]; /* the round that each thread is in */
	bool ahead;           /* somebody was in another round than the others */
} rounds;

/* Between two barriers every thread has passed the first one and none the second. */
static void *rounds_walk(void *data)
{
	struct bench_worker *worker = data;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		__atomic_store_n(&rounds.at[worker->thread.index], round, __ATOMIC_RELEASE);
		bench_meet(rounds.pool, worker->thread.index);
		for (unsigned i = 0; i < worker->thread.count; i++)
			if (__atomic_load_n(&rounds.at[i], __ATOMIC_ACQUIRE) != round)
				__atomic_store_n(&rounds.ahead, true, __ATOMIC_RELAXED);
		bench_meet(rounds.pool, worker->thread.index);
	}
	return NULL;
}

static void rounds_check(unsigned count, int spin)
{
	static struct bench_worker workers[THREADS];
	static struct bench_pool pool;
	pthread_t threads[THREADS];
	memset(&pool, 0, sizeof pool);
	memset(&rounds, 0, sizeof rounds);
	pool.count = count;
	pool.spin = spin;
	rounds.pool = &pool;
	for (unsigned i = 0; i < count; i++) {
		workers[i] = (struct bench_worker){.thread = {i, count}, .pool = &pool};
		if (i)
			assert_int_equal(pthread_create(&threads[i], NULL, rounds_walk, &workers[i]), 0);
	}
	rounds_walk(&workers[0]);
	for (unsigned i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
	assert_false(rounds.ahead);
	assert_int_equal(pool.turn.value, 2 * ROUNDS);
	assert_true(pool.start_ns > 0);
}

static void nobody_passes_a_barrier_alone(void **state)
{
	(void)state;
	int cpus[CPU_SETSIZE];
	rounds_check(2, 0);
	rounds_check(THREADS, 0);
	if (cpus_usable(cpus) >= 2)
		rounds_check(2, 1);
}

/* ---- the pool ----------------------------------------------------------------------------------------------------------- */

static void every_thread_does_its_part(void **state)
{
	(void)state;
	memset(&seen, 0, sizeof seen);
	/* Asleep while they wait: this also holds on one CPU. */
	struct bench_pool *pool = bench_pool_start(&seen, THREADS, NULL, 0);
	pool->iterations = 5;
	bench_pool_do(pool, BENCH_JOB_RUN);
	pool->prime = 2;
	pool->iterations = 7;
	uint64_t before = bench_now_ns();
	bench_pool_do(pool, BENCH_JOB_SAMPLE);
	uint64_t after = bench_now_ns();
	pool->prime = 0;
	bench_pool_do(pool, BENCH_JOB_SAMPLE);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(seen.calls[i], 4);
		assert_int_equal(seen.iterations[i], 5 + 2 + 7 + 7);
		assert_int_equal(seen.count[i], THREADS);
		assert_int_equal(pool->workers[i].thread.index, i);
		assert_true(pool->workers[i].end_ns >= pool->start_ns);
	}
	assert_true(before <= after && after <= pool->start_ns);
}

/* ---- the calibration ------------------------------------------------------------------------------------------------------ */

static void figures_are_lower_quartiles(void **state)
{
	(void)state;
	uint32_t ps[] = {900, 100, 800, 300, 700, 200, 600, 400};
	assert_int_equal(bench_typical(ps, 8), 300);
	uint32_t one[] = {5};
	assert_int_equal(bench_typical(one, 1), 5);
	assert_int_equal(bench_ps(12, 200), 60);
	assert_int_equal(bench_ps(UINT64_C(4000000000000), 1), UINT32_MAX);
}

static void pair_put(struct bench_pool *pool, uint32_t shared_ps, uint32_t private_ps)
{
	pool->bursts = 4;
	for (unsigned i = 0; i < 4; i++) {
		pool->shared_ps[i] = shared_ps;
		pool->private_ps[i] = private_ps;
	}
}

static void the_pair_that_shows_least_counts(void **state)
{
	(void)state;
	static struct bench_pool pool;
	struct bench_transfer transfer = {0};
	const int cpus[] = {4, 9, 2};
	pool.cpus = cpus;
	pool.transfer = &transfer;
	pair_put(&pool, 50000, 5000); /* 10 times */
	bench_pair_keep(&pool, 0, 1);
	pair_put(&pool, 12000, 6000); /* twice */
	bench_pair_keep(&pool, 0, 2);
	pair_put(&pool, 11000, 2000); /* less time, but 5.5 times */
	bench_pair_keep(&pool, 1, 2);
	assert_int_equal(transfer.shared_ps, 12000);
	assert_int_equal(transfer.private_ps, 6000);
	assert_int_equal(transfer.cpus[0], 4);
	assert_int_equal(transfer.cpus[1], 2);
	assert_int_equal(transfer.bursts, 12);
}

static void a_transfer_is_timed_where_threads_have_cpus(void **state)
{
	(void)state;
	int cpus[CPU_SETSIZE];
	if (cpus_usable(cpus) < 2)
		skip();
	struct bench_transfer transfer = {0};
	struct bench_pool *pool = bench_pool_start(&seen, 2, cpus, 1);
	pool->transfer = &transfer;
	bench_pool_do(pool, BENCH_JOB_TRANSFER);
	assert_true(transfer.private_ps > 0 && transfer.shared_ps > 0 && transfer.bursts > 0);
	assert_int_equal(transfer.cpus[0], cpus[0]);
	assert_int_equal(transfer.cpus[1], cpus[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nobody_passes_a_barrier_alone),
	    cmocka_unit_test(every_thread_does_its_part),
	    cmocka_unit_test(figures_are_lower_quartiles),
	    cmocka_unit_test(the_pair_that_shows_least_counts),
	    cmocka_unit_test(a_transfer_is_timed_where_threads_have_cpus),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
