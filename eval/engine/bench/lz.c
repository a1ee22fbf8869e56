/* A greedy match search over text with a hash table, as in the fast LZ codecs. -DINJECT=5 searches 5 % more text. */
#include <assay/bench.h>

#include <stdlib.h>
#include <string.h>

#ifndef INJECT
#define INJECT 0
#endif

enum { TEXT_BYTES = 65536, SEARCHED_BYTES = 32768, HASH_BITS = 12 };

struct state {
	unsigned char text[TEXT_BYTES];
	uint16_t table[1 << HASH_BITS];
	uint32_t searched;
	uint64_t matched;
};

static void *setup(struct assay_bench *bench)
{
	struct state *state = calloc(1, sizeof *state);
	if (!state)
		assay_fail(bench, "out of memory");
	assay_fill_text(bench, state->text, sizeof state->text);
	state->searched = (uint32_t)(SEARCHED_BYTES * (1.0 + (INJECT) / 100.0));
	return state;
}

static uint32_t load32(const unsigned char *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof value);
	return value;
}

static void run(void *opaque, uint64_t iterations)
{
	struct state *state = opaque;
	for (uint64_t i = 0; i < iterations; i++) {
		uint64_t matched = 0;
		memset(state->table, 0, sizeof state->table);
		for (uint32_t at = 1; at + 8 < state->searched;) {
			uint32_t word = load32(state->text + at);
			uint32_t slot = word * 2654435761u >> (32 - HASH_BITS);
			uint32_t from = state->table[slot];
			state->table[slot] = (uint16_t)at;
			uint32_t size = 1;
			if (load32(state->text + from) == word && from < at) {
				size = 4;
				while (at + size + 8 < state->searched && state->text[from + size] == state->text[at + size])
					size++;
				matched += size;
			}
			at += size;
		}
		state->matched = matched;
		assay_keep(state);
	}
}

static void output(void *opaque, struct assay_bench *bench)
{
	const struct state *state = opaque;
	unsigned char some = state->matched > 0;
	assay_output(bench, "some matches", &some, 1);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .teardown = free};
