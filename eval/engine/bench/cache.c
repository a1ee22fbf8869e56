/* A pointer chase through 8 MiB in random order. -DINJECT=5 takes 5 % more steps. */
#include <assay/bench.h>

#include <stdlib.h>

#ifndef INJECT
#define INJECT 0
#endif

enum { SLOTS = 8 * 1024 * 1024 / 64, STEPS = 20000 };

struct slot {
	uint32_t next;
	uint32_t unused[15];
};

struct state {
	struct slot *slots;
	uint32_t at, steps;
};

static void *setup(struct assay_bench *bench)
{
	struct state *state = calloc(1, sizeof *state);
	if (state)
		state->slots = aligned_alloc(64, SLOTS * sizeof *state->slots);
	if (!state || !state->slots)
		assay_fail(bench, "out of memory");
	/* Sattolo's shuffle (1986): one cycle through all slots. */
	for (uint32_t i = 0; i < SLOTS; i++)
		state->slots[i].next = i;
	for (uint32_t i = SLOTS - 1; i > 0; i--) {
		uint32_t k = (uint32_t)(assay_random(bench) % i);
		uint32_t next = state->slots[i].next;
		state->slots[i].next = state->slots[k].next;
		state->slots[k].next = next;
	}
	state->steps = (uint32_t)(STEPS * (1.0 + (INJECT) / 100.0));
	return state;
}

static void run(void *opaque, uint64_t iterations)
{
	struct state *state = opaque;
	for (uint64_t i = 0; i < iterations; i++) {
		uint32_t at = state->at;
		for (uint32_t step = 0; step < state->steps; step++)
			at = state->slots[at].next;
		state->at = at;
	}
}

static void output(void *opaque, struct assay_bench *bench)
{
	const struct state *state = opaque;
	unsigned char inside = state->at < SLOTS;
	assay_output(bench, "inside", &inside, 1);
}

static void teardown(void *opaque)
{
	struct state *state = opaque;
	free(state->slots);
	free(state);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .teardown = teardown};
