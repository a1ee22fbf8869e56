/* A chain of dependent multiplications: registers only. */
#include "more.h"

enum { ROUNDS = 20000 };

struct state {
	uint64_t value, rounds;
};

static void *setup(struct assay_bench *bench)
{
	struct state *state = calloc(1, sizeof *state);
	if (!state)
		assay_fail(bench, "out of memory");
	state->value = assay_random(bench) | 1;
	state->rounds = more_steps(bench, ROUNDS);
	return state;
}

static void run(void *opaque, uint64_t iterations)
{
	struct state *state = opaque;
	for (uint64_t i = 0; i < iterations; i++) {
		uint64_t value = state->value;
		for (uint64_t round = 0; round < state->rounds; round++) {
			value *= 0x9e3779b97f4a7c15u;
			__asm__ volatile("" : "+r"(value));
		}
		state->value = value | 1;
	}
}

static void output(void *opaque, struct assay_bench *bench)
{
	const struct state *state = opaque;
	unsigned char odd = state->value & 1;
	assay_output(bench, "odd", &odd, 1);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .teardown = free};
