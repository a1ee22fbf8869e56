/* Numbers of mixed length, written and read back. */
#include <assay/bench.h>

#include "logfold.h"

#include <stdlib.h>

struct state {
	uint64_t *in, *out;
	uint8_t *bytes;
	size_t count, used;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "count", 1000);
	s->in = malloc(s->count * sizeof *s->in);
	s->out = malloc(s->count * sizeof *s->out);
	s->bytes = malloc(s->count * LF_VARINT_MAX);
	for (size_t i = 0; i < s->count; i++)
		s->in[i] = assay_random(b) >> assay_random(b) % 64;
	assay_bytes_per_iteration(b, s->count * sizeof *s->in);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->used = 0;
		for (size_t k = 0; k < s->count; k++)
			s->used += lf_varint_put(s->bytes + s->used, s->in[k]);
		for (size_t k = 0, at = 0; k < s->count; k++)
			at += lf_varint_get(s->bytes + at, s->used - at, &s->out[k]);
		assay_keep(s->out);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "bytes", s->bytes, s->used);
	assay_output(b, "numbers", s->out, s->count * sizeof *s->out);
}

static void edges(void *state, struct assay_bench *b)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t value = (uint64_t)1 << bit, back = 0;
		uint8_t bytes[LF_VARINT_MAX] = {0};
		size_t used = lf_varint_put(bytes, value - 1 + (bit & 1));
		size_t read = lf_varint_get(bytes, used, &back), cut = lf_varint_get(bytes, used - 1, &back);
		assay_output(b, "edge bytes", bytes, used);
		assay_output(b, "edge number", &back, sizeof back);
		assay_output(b, "edge sizes", (size_t[]){read, cut}, 2 * sizeof(size_t));
	}
	static const uint8_t endless[12] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	uint64_t value = 0;
	size_t read = lf_varint_get(endless, sizeof endless, &value);
	assay_output(b, "endless", &read, sizeof read);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
