/* The checksum of one block. */
#include <assay/bench.h>

#include "logfold.h"

#include <stdlib.h>
#include <string.h>

struct state {
	uint8_t *data;
	size_t size;
	uint32_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 4096);
	s->data = malloc(s->size);
	assay_fill_text(b, s->data, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		assay_keep(s->data);
		s->sum = lf_checksum(s->data, s->size);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "checksum", &s->sum, sizeof s->sum);
}

/* Sizes about the places where an implementation changes its ways; the largest bytes, where sums overflow first. */
static void edges(void *state, struct assay_bench *b)
{
	(void)state;
	static const size_t sizes[] = {0, 1, 15, 16, 17, 5551, 5552, 5553, 65521, 100000};
	uint8_t *data = malloc(100001);
	if (!data)
		assay_fail(b, "out of memory");
	for (int fill = 0; fill <= 255; fill += 255)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			memset(data, fill, 100001);
			uint32_t sum = lf_checksum(data + 1, sizes[i]);
			assay_output(b, fill ? "checksum of 0xff bytes" : "checksum of zeros", &sum, sizeof sum);
		}
	free(data);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
