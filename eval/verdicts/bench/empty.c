/* No work at all: what is left is the harness and the clock, and the smallest effect that they can tell apart. */
#include "more.h"

enum { ROUNDS = 10000 };

struct state {
	uint64_t rounds;
};

static void *setup(struct assay_bench *bench)
{
	struct state *state = calloc(1, sizeof *state);
	if (!state)
		assay_fail(bench, "out of memory");
	state->rounds = more_steps(bench, ROUNDS);
	return state;
}

static void run(void *opaque, uint64_t iterations)
{
	const struct state *state = opaque;
	for (uint64_t i = 0; i < iterations; i++)
		for (uint64_t round = 0; round < state->rounds; round++)
			__asm__ volatile("");
}

static void output(void *opaque, struct assay_bench *bench)
{
	(void)opaque;
	assay_output(bench, "nothing", "", 0);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .teardown = free};
