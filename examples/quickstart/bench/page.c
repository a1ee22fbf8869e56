/* A page is masked before it is written. */
#include <assay/bench.h>

#include "logfold.h"

#include <stdlib.h>

struct state {
	struct lf_key key;
	struct lf_store store;
	uint8_t page[LF_PAGE];
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		assay_fail(b, "out of memory");
	s->key.mask = 0x5a;
	s->store.key = &s->key;
	assay_fill_text(b, s->page, sizeof s->page);
	assay_bytes_per_iteration(b, sizeof s->page);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		lf_page_mask(s->page, &s->store);
		assay_keep(s->page);
	}
}

/* An odd or an even number of runs leaves the page masked or not: one form is handed over. */
static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint8_t first = s->page[0];
	lf_page_mask(s->page, &s->store);
	if (first > s->page[0])
		lf_page_mask(s->page, &s->store);
	assay_output(b, "page", s->page, sizeof s->page);
}

static void edges(void *state, struct assay_bench *b)
{
	(void)state;
	/* Off every alignment, with guards on both sides. */
	uint8_t *bytes = malloc(LF_PAGE + 32);
	if (!bytes)
		assay_fail(b, "out of memory");
	for (unsigned at = 1; at < 17; at++) {
		struct lf_key key = {.epoch = at, .mask = (uint8_t)(at * 15)};
		struct lf_store store = {.key = &key};
		for (size_t i = 0; i < LF_PAGE + 32; i++)
			bytes[i] = (uint8_t)(i * 7);
		lf_page_mask(bytes + at, &store);
		assay_output(b, "edge page", bytes, LF_PAGE + 32);
	}
	free(bytes);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
