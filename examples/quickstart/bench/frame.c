/* Records packed into frames and unpacked again. */
#include <assay/bench.h>

#include "logfold.h"

#include <stdlib.h>

struct state {
	struct lf_key key;
	uint8_t header[LF_HEADER], back[LF_HEADER];
	uint8_t *payload, *frame;
	const uint8_t *found;
	size_t size, frame_size;
	long unpacked;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 512);
	s->payload = malloc(s->size);
	s->frame = malloc(s->size + LF_FRAME_EXTRA);
	s->key.mask = 0x5a;
	assay_fill_random(b, s->header, sizeof s->header);
	assay_fill_text(b, s->payload, s->size);
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->frame_size = lf_frame_pack(s->frame, s->header, s->payload, s->size, &s->key);
		assay_keep(s->frame);
		s->unpacked = lf_frame_unpack(s->frame, s->frame_size, &s->key, s->back, &s->found);
		assay_keep(s->back);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "frame", s->frame, s->frame_size);
	assay_output(b, "header", s->back, sizeof s->back);
	assay_output(b, "size", &s->unpacked, sizeof s->unpacked);
}

/* Every way to cut a frame short, and every byte damaged once. */
static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint8_t frame[40 + LF_FRAME_EXTRA], header[LF_HEADER] = {0};
	const uint8_t *payload = NULL;
	size_t size = lf_frame_pack(frame, s->header, (const uint8_t *)"forty bytes of payload, no more, no less", 40, &s->key);
	for (size_t cut = 0; cut <= size; cut++) {
		long found = lf_frame_unpack(frame, cut, &s->key, header, &payload);
		assay_output(b, "size of a cut frame", &found, sizeof found);
	}
	for (size_t i = 0; i < size; i++) {
		frame[i] ^= 1;
		long found = lf_frame_unpack(frame, size, &s->key, header, &payload);
		assay_output(b, "size of a damaged frame", &found, sizeof found);
		assay_output(b, "header of a damaged frame", header, sizeof header);
		frame[i] ^= 1;
	}
	size = lf_frame_pack(frame, s->header, s->payload, 0, &s->key);
	assay_output(b, "empty frame", frame, size);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
