/* Workload: the hashes of 64 names of a ZAP object, such as a folder's (module/zfs/zap_micro.c, zap_hash()).
 *
 * Parameter: key (bytes of a name). One iteration hashes each name once.
 */
#include <assay/bench.h>

#include <stdio.h>
#include <stdlib.h>

#include "tree.h"

#if __has_include("module/zfs/zap_impl.c") /* newer trees: zap_hash() stands there */
#include "module/zfs/zap_impl.c"
#else
#include "module/zfs/zap_micro.c"
#endif

enum { NAMES = 64, KEY_MAX = 1024, ALIGNMENTS = 9 };

uint64_t zfs_crc64_table[256];

/* As buf_init() in arc.c fills it. */
static void table_fill(void)
{
	for (int i = 0; i < 256; i++) {
		uint64_t crc = (uint64_t)i;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (-(crc & 1) & ZFS_CRC64_POLY);
		zfs_crc64_table[i] = crc;
	}
}

struct state {
	zap_t zap;
	size_t key_bytes;
	zap_name_t *names[NAMES];
	uint8_t keys[NAMES][KEY_MAX + ALIGNMENTS];
	uint64_t hashes[NAMES];
};

/* A name of text, `size` bytes and its terminating zero. */
static void name_set(struct assay_bench *bench, struct state *s, int at, size_t size, size_t off)
{
	uint8_t *key = s->keys[at] + off;
	assay_fill_random(bench, key, size);
	for (size_t i = 0; i < size; i++)
		key[i] = (uint8_t)(' ' + 1 + key[i] % 94);
	key[size] = 0;
	zap_name_t *name = s->names[at];
	memset(name, 0, sizeof(*name));
	name->zn_zap = &s->zap;
	name->zn_key_intlen = 1;
	name->zn_key_orig = name->zn_key_norm = key;
	name->zn_key_orig_numints = name->zn_key_norm_numints = (int)size + 1;
}

/* The hash by its definition, a bit at a time: what the tree's must be. */
static uint64_t plain_hash(const zap_name_t *name)
{
	uint64_t crc = name->zn_zap->zap_salt;
	const uint8_t *key = name->zn_key_norm;
	for (int i = 0; i < name->zn_key_norm_numints - 1; i++) {
		crc ^= key[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (-(crc & 1) & ZFS_CRC64_POLY);
	}
	return crc >> 36 << 36; /* the 28 high bits of a ZAP without HASH64 */
}

static void *setup(struct assay_bench *bench)
{
	struct state *s = calloc(1, sizeof(*s));
	if (!s)
		assay_fail(bench, "no memory");
	s->key_bytes = assay_param_u64(bench, "key", 16);
	if (s->key_bytes < 1 || s->key_bytes > KEY_MAX)
		assay_fail(bench, "key=%zu is not a name's length: take 1 to %d", s->key_bytes, KEY_MAX);
	table_fill();
	s->zap.zap_ismicro = B_TRUE;
	s->zap.zap_salt = 0x9e3779b97f4a7c15;
	for (int i = 0; i < NAMES; i++) {
		s->names[i] = calloc(1, sizeof(*s->names[i]));
		if (!s->names[i])
			assay_fail(bench, "no memory");
		name_set(bench, s, i, s->key_bytes, 0);
		if (zap_hash(s->names[i]) != plain_hash(s->names[i]))
			assay_fail(bench, "the hash of a name of %zu bytes is not its CRC", s->key_bytes);
	}
	assay_bytes_per_iteration(bench, NAMES * s->key_bytes);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		for (int k = 0; k < NAMES; k++)
			s->hashes[k] = zap_hash(s->names[k]);
		assay_keep(s->hashes);
	}
}

static void output(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	assay_output(bench, "hashes", s->hashes, sizeof(s->hashes));
}

/* Every length up to 64 and some longer, at every alignment. */
static void edges(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	char label[64];
	for (size_t size = 0; size <= KEY_MAX; size += size < 64 ? 1 : 137) {
		for (size_t off = 0; off < ALIGNMENTS; off++) {
			name_set(bench, s, 0, size, off);
			uint64_t hash = zap_hash(s->names[0]);
			snprintf(label, sizeof(label), "name of %zu bytes, %zu off alignment", size, off);
			if (hash != plain_hash(s->names[0]))
				assay_fail(bench, "%s: the hash is not its CRC", label);
			assay_output(bench, label, &hash, sizeof(hash));
		}
	}
}

static void teardown(void *state)
{
	struct state *s = state;
	for (int i = 0; i < NAMES; i++)
		free(s->names[i]);
	free(s);
}

const struct assay_workload assay_workload = {
	.setup = setup, .run = run, .output = output, .edges = edges, .teardown = teardown};
