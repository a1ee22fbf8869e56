#include "port/pace.h"

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double pace_core_hz(void)
{
#if defined(__x86_64__)
	enum { ROUNDS = 1500, CHAIN = 16, LATENCY = 3, TRIES = 5 };
	uint64_t least = UINT64_MAX;
	/* The least of some tries: an interrupt makes one longer, nothing makes one shorter. */
	for (int i = 0; i < TRIES; i++) {
		uint32_t value = 3, rounds = ROUNDS;
		uint64_t start = now_ns();
		__asm__ volatile("1:\n\t"
		                 ".rept 16\n\timull %0, %0\n\t.endr\n\t"
		                 "subl $1, %1\n\tjnz 1b"
		                 : "+r"(value), "+r"(rounds)
		                 :
		                 : "cc");
		uint64_t ns = now_ns() - start;
		least = ns < least ? ns : least;
	}
	return least ? 1e9 * ROUNDS * CHAIN * LATENCY / (double)least : 0;
#else
	return 0;
#endif
}

double pace_tsc_hz(void)
{
#if defined(__x86_64__)
	uint64_t start = now_ns(), ticks = __rdtsc(), end;
	do
		end = now_ns();
	while (end - start < 10000000);
	return 1e9 * (double)(__rdtsc() - ticks) / (double)(end - start);
#else
	return 0;
#endif
}

double pace_clock_ns(void)
{
	enum { CALLS = 2000, TRIES = 5 };
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		uint64_t start = now_ns(), end = start;
		for (int k = 0; k < CALLS; k++)
			end = now_ns();
		least = end - start < least ? end - start : least;
	}
	return (double)least / CALLS;
}
