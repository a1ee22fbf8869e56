/* A greedy match search over text with a hash table, as in the fast LZ codecs. The text is a ring: a run searches so many
 * bytes on from where the last one stopped, and the table stays. So a side that searches more meets the same text with
 * the same table, not another text, and no branch predictor can learn an end. */
#include "more.h"

#include <string.h>

enum { TEXT_BYTES = 256 * 1024, MATCH_MOST = 64, HASH_BITS = 12, SEARCHED_BYTES = 20000 };

struct state {
	unsigned char text[TEXT_BYTES + MATCH_MOST + 8];
	uint32_t table[1 << HASH_BITS];
	uint32_t at;
	int64_t left; /* bytes to search; below 0: the last match went on for longer, and the next run has so many less */
	int64_t searched;
	uint64_t matched;
};

static void *setup(struct assay_bench *bench)
{
	struct state *state = calloc(1, sizeof *state);
	if (!state)
		assay_fail(bench, "out of memory");
	assay_fill_text(bench, state->text, TEXT_BYTES);
	memcpy(state->text + TEXT_BYTES, state->text, MATCH_MOST + 8);
	state->searched = (int64_t)more_steps(bench, SEARCHED_BYTES);
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
		uint32_t at = state->at;
		int64_t left = state->left + state->searched;
		while (left > 0) {
			uint32_t word = load32(state->text + at);
			uint32_t slot = word * 2654435761u >> (32 - HASH_BITS);
			uint32_t from = state->table[slot], size = 1;
			state->table[slot] = at;
			if (load32(state->text + from) == word) {
				size = 4;
				while (size < MATCH_MOST && state->text[from + size] == state->text[at + size])
					size++;
				state->matched += size;
			}
			left -= size;
			at = (at + size) % TEXT_BYTES;
		}
		state->at = at;
		state->left = left;
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
