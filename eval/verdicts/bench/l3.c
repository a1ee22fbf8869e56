/* A pointer chase in random order through twice the memory that a common L2 holds (2 MiB), in huge pages where the kernel
 * gives them. With small pages, or with more memory, two fresh processes with equal code differ by tens of percent, by
 * which pages they happened to get. */
#include "more.h"

#include <sys/mman.h>

enum { SIZE = 4 * 1024 * 1024, SLOTS = SIZE / 64, STEPS = 2000, HUGE_PAGE = 2 * 1024 * 1024 };

struct slot {
	uint32_t next;
	uint32_t unused[15];
};

struct state {
	struct slot *slots;
	uint32_t at;
	uint64_t steps;
};

static void *setup(struct assay_bench *bench)
{
	struct state *state = calloc(1, sizeof *state);
	if (state)
		state->slots = aligned_alloc(HUGE_PAGE, SIZE);
	if (!state || !state->slots)
		assay_fail(bench, "out of memory");
	madvise(state->slots, SIZE, MADV_HUGEPAGE); /* refused: small pages, and more noise */
	/* Sattolo's shuffle (1986): one cycle through all slots. */
	for (uint32_t i = 0; i < SLOTS; i++)
		state->slots[i].next = i;
	for (uint32_t i = SLOTS - 1; i > 0; i--) {
		uint32_t k = (uint32_t)(assay_random(bench) % i);
		uint32_t next = state->slots[i].next;
		state->slots[i].next = state->slots[k].next;
		state->slots[k].next = next;
	}
	state->steps = more_steps(bench, STEPS);
	return state;
}

static void run(void *opaque, uint64_t iterations)
{
	struct state *state = opaque;
	for (uint64_t i = 0; i < iterations; i++) {
		uint32_t at = state->at;
		for (uint64_t step = 0; step < state->steps; step++)
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
