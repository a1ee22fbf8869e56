/* Workload: threads look blocks up in the ARC's hash table (module/zfs/arc.c, buf_hash_find()), each lock of which stands
 * for many buckets.
 *
 * Parameter: threads. One iteration of a thread finds one of 4096 blocks, whose order is drawn, and lets its lock go.
 *
 * arc.c is compiled whole; the rest of OpenZFS that it calls isn't there (bench/tree.h), so the driver makes the table and
 * the headers itself, in the shape in which buf_init() and buf_hash_insert() leave them. Locks are those of libzpool
 * (a pthread mutex and its owner): user space's, not the kernel's.
 */
#include <assay/bench.h>

#include <stdio.h>
#include <stdlib.h>

#include "tree.h"

#include "module/zfs/arc.c"

enum { BLOCKS = 4096, TABLE = 8192, THREADS_MAX = 64, ORDER = 4096, SPA = 0x5a5a };

struct state {
	unsigned threads;
	blkptr_t block[BLOCKS];
	arc_buf_hdr_t *header[BLOCKS];
	struct {
		_Alignas(128) uint64_t found;
		uint16_t order[ORDER];
	} own[THREADS_MAX];
};

static int find(struct state *s, unsigned at)
{
	kmutex_t *lock = NULL;
	arc_buf_hdr_t *header = buf_hash_find(SPA, &s->block[at], &lock);
	if (header != s->header[at])
		return 0;
	mutex_exit(lock);
	return 1;
}

static void *setup(struct assay_bench *bench)
{
	struct state *s = aligned_alloc(128, (sizeof(*s) + 127) / 128 * 128);
	if (!s)
		assay_fail(bench, "no memory");
	memset(s, 0, sizeof(*s));
	s->threads = assay_threads(bench, 2);
	buf_hash_table.ht_mask = TABLE - 1;
	buf_hash_table.ht_table = calloc(TABLE, sizeof(buf_hash_table.ht_table[0]));
	char *headers = calloc(BLOCKS, sizeof(arc_buf_hdr_t));
	if (!buf_hash_table.ht_table || !headers)
		assay_fail(bench, "no memory");
	for (int i = 0; i < BUF_LOCKS; i++)
		mutex_init(BUF_HASH_LOCK(i), NULL, MUTEX_DEFAULT, NULL);
	for (int i = 0; i < BLOCKS; i++) {
		arc_buf_hdr_t *header = s->header[i] = (void *)(headers + (size_t)i * sizeof(*header));
		header->b_spa = SPA;
		header->b_birth = 1 + assay_random(bench) % 100000;
		header->b_dva.dva_word[0] = assay_random(bench);
		header->b_dva.dva_word[1] = assay_random(bench);
		s->block[i].blk_dva[0] = header->b_dva;
		BP_SET_BIRTH(&s->block[i], header->b_birth, header->b_birth);
		uint64_t at = BUF_HASH_INDEX(header->b_spa, &header->b_dva, header->b_birth);
		header->b_hash_next = buf_hash_table.ht_table[at];
		buf_hash_table.ht_table[at] = header;
	}
	for (int i = 0; i < BLOCKS; i++)
		if (!find(s, (unsigned)i))
			assay_fail(bench, "block %d isn't found in the table", i);
	for (unsigned t = 0; t < s->threads; t++)
		for (int i = 0; i < ORDER; i++)
			s->own[t].order[i] = (uint16_t)(assay_random(bench) % BLOCKS);
	return s;
}

static void run_thread(void *state, const struct assay_thread *thread, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++)
		s->own[thread->index].found += (uint64_t)find(s, s->own[thread->index].order[i % ORDER]);
}

static void output(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	for (unsigned t = 0; t < s->threads; t++)
		assay_output(bench, "blocks found", &s->own[t].found, sizeof(s->own[t].found));
}

/* Blocks that aren't there, next to those that are. */
static void edges(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	for (int i = 0; i < BLOCKS; i += 7) {
		kmutex_t *lock = NULL;
		blkptr_t other = s->block[i];
		other.blk_dva[0].dva_word[1] ^= 1;
		int found = buf_hash_find(SPA, &other, &lock) != NULL || lock != NULL;
		found += 2 * (buf_hash_find(SPA + 1, &s->block[i], &lock) != NULL);
		assay_output(bench, "a block that isn't there", &found, sizeof(found));
		if (found)
			assay_fail(bench, "a block that isn't there was found");
	}
}

static void teardown(void *state)
{
	struct state *s = state;
	free(buf_hash_table.ht_table);
	free(s->header[0]);
	free(s);
}

const struct assay_workload assay_workload = {
	.setup = setup, .run_thread = run_thread, .output = output, .edges = edges, .teardown = teardown};
