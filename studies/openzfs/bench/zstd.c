/* Workload: compress or decompress one block with zstd as OpenZFS calls it (module/zstd/zfs_zstd.c).
 *
 * Parameters: operation (compress, decompress), level, block (bytes), data (see data.h). The frames have no magic
 * number, no checksum and no content size; a context is made for each block from memory that is kept, which is what
 * the module's pools are for; the destination is as large as the block.
 *
 * <zstd.h> is the bundled one or upstream's: -I decides. With the bundled one the compiler is given the tree's wrapper
 * (-include module/zstd/include/zstd_compat_wrapper.h), which renames every symbol.
 */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include <assay/bench.h>

#include "data.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define HIDDEN_SIZE 64 /* bytes after each output buffer that must stay as they are */

/* ---- memory that is kept, as the module's pools keep it --------------------------------------------------------- */

static struct slot {
	void *memory;
	size_t size;
	bool taken;
} slots[8];
enum { SLOTS = sizeof(slots) / sizeof(slots[0]) };

static void *slot_take(void *opaque, size_t size)
{
	(void)opaque;
	for (int i = 0; i < SLOTS; i++) {
		if (!slots[i].taken && slots[i].size >= size && slots[i].size <= 2 * size) {
			slots[i].taken = true;
			return slots[i].memory;
		}
	}
	for (int i = 0; i < SLOTS; i++) {
		if (!slots[i].memory) {
			slots[i] = (struct slot){.memory = malloc(size), .size = size, .taken = true};
			return slots[i].memory;
		}
	}
	return malloc(size); /* more than zstd has ever needed: still right, only slower */
}

static void slot_give(void *opaque, void *memory)
{
	(void)opaque;
	for (int i = 0; i < SLOTS; i++) {
		if (slots[i].memory == memory) {
			slots[i].taken = false;
			return;
		}
	}
	free(memory);
}

static const ZSTD_customMem memory_kept = {slot_take, slot_give, NULL};

/* ---- the module's calls ------------------------------------------------------------------------------------------- */

/* 0: it doesn't fit, as zfs_zstd_compress_impl() takes it: the block is stored as it is. */
static size_t compress(int level, const char *in, size_t size, char *frame, size_t capacity)
{
	ZSTD_CCtx *context = ZSTD_createCCtx_advanced(memory_kept);
	if (!context)
		return 0;
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(context, ZSTD_c_format, ZSTD_f_zstd1_magicless);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0);
	ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
	size_t got = ZSTD_compress2(context, frame, capacity, in, size);
	ZSTD_freeCCtx(context);
	return ZSTD_isError(got) ? 0 : got;
}

/* -1: refused. */
static int64_t decompress(const char *frame, size_t frame_bytes, char *out, size_t capacity)
{
	ZSTD_DCtx *context = ZSTD_createDCtx_advanced(memory_kept);
	if (!context)
		return -1;
	ZSTD_DCtx_setParameter(context, ZSTD_d_format, ZSTD_f_zstd1_magicless);
	size_t got = ZSTD_decompressDCtx(context, out, capacity, frame, frame_bytes);
	ZSTD_freeDCtx(context);
	return ZSTD_isError(got) ? -1 : (int64_t)got;
}

/* ---- the workload --------------------------------------------------------------------------------------------------- */

struct state {
	bool compresses;
	int level;
	char *in, *frame, *out;
	size_t size_bytes, frame_bytes;
	int64_t result; /* of the last decompression */
};

static char *buffer_new(struct assay_bench *bench, size_t size_bytes)
{
	char *buffer = malloc(size_bytes + HIDDEN_SIZE);
	if (!buffer)
		assay_fail(bench, "no memory for a buffer of %zu bytes", size_bytes);
	memset(buffer, 0xa5, size_bytes + HIDDEN_SIZE);
	return buffer;
}

static void *setup(struct assay_bench *bench)
{
	struct state *s = calloc(1, sizeof(*s));
	const char *operation = assay_param(bench, "operation", "decompress");
	if (!s)
		assay_fail(bench, "no memory");
	s->compresses = strcmp(operation, "compress") == 0;
	if (!s->compresses && strcmp(operation, "decompress") != 0)
		assay_fail(bench, "operation=%s is unknown: take compress or decompress", operation);
	s->level = (int)assay_param_u64(bench, "level", 3);
	if (s->level < 1 || s->level > 19)
		assay_fail(bench, "level=%d is not one of ZFS's: take 1 to 19", s->level);
	s->size_bytes = assay_param_u64(bench, "block", 131072);
	if (s->size_bytes < 1 || s->size_bytes > 16 << 20)
		assay_fail(bench, "block=%zu is not the size of a ZFS block: take 1 to 16777216", s->size_bytes);
	s->in = buffer_new(bench, s->size_bytes);
	s->frame = buffer_new(bench, ZSTD_compressBound(s->size_bytes));
	s->out = buffer_new(bench, s->size_bytes);
	const char *data = assay_param(bench, "data", "text");
	data_fill(bench, data, s->in, s->size_bytes);
	s->frame_bytes = compress(s->level, s->in, s->size_bytes, s->frame, ZSTD_compressBound(s->size_bytes));
	if (!s->frame_bytes)
		assay_fail(bench, "a block of %zu bytes can't be compressed at level %d", s->size_bytes, s->level);
	s->result = decompress(s->frame, s->frame_bytes, s->out, s->size_bytes);
	if (s->result != (int64_t)s->size_bytes || memcmp(s->in, s->out, s->size_bytes) != 0)
		assay_fail(bench, "a block of %zu bytes comes back as something else at level %d", s->size_bytes, s->level);
	assay_bytes_per_iteration(bench, s->size_bytes);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		if (s->compresses)
			s->frame_bytes = compress(s->level, s->in, s->size_bytes, s->frame, s->size_bytes);
		else
			s->result = decompress(s->frame, s->frame_bytes, s->out, s->size_bytes);
		assay_keep(s->compresses ? s->frame : s->out);
	}
}

static void output(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	assay_output(bench, "frame size", &s->frame_bytes, sizeof(s->frame_bytes));
	assay_output(bench, "frame", s->frame, s->frame_bytes);
	assay_output(bench, "result", &s->result, sizeof(s->result));
	assay_output(bench, "decompressed", s->out, s->size_bytes + HIDDEN_SIZE);
}

/* One block of a kind and size: there and back, unaligned, into buffers that are too small, and with bits turned. */
static void edge_block(struct assay_bench *bench, const char *kind, size_t size, int level)
{
	char label[96];
	char *in = buffer_new(bench, size), *frame = buffer_new(bench, ZSTD_compressBound(size) + 1);
	char *out = buffer_new(bench, size + 3);
	data_fill(bench, kind, in, size);
	size_t bytes = compress(level, in, size, frame + 1, ZSTD_compressBound(size));
	snprintf(label, sizeof(label), "%zu bytes of %s, level %d", size, kind, level);
	int64_t got = decompress(frame + 1, bytes, out + 3, size);
	if (!bytes || got != (int64_t)size || memcmp(in, out + 3, size) != 0)
		assay_fail(bench, "%s: comes back as something else", label);
	assay_output(bench, label, frame + 1, bytes);
	assay_output(bench, label, out + 3 + size, HIDDEN_SIZE - 3);
	snprintf(label, sizeof(label), "%zu bytes of %s, level %d, into too little room", size, kind, level);
	int64_t refused[3] = {size ? decompress(frame + 1, bytes, out, size - 1) : 0, bytes ? decompress(frame + 1, bytes - 1, out, size) : 0,
	                      (int64_t)compress(level, in, size, out, size / 16)};
	assay_output(bench, label, refused, sizeof(refused));
	for (int i = 0; i < 16 && bytes; i++) {
		size_t at = assay_random(bench) % bytes, bit = assay_random(bench) % 8;
		frame[1 + at] ^= (char)(1 << bit);
		memset(out, 0, size + 3);
		got = decompress(frame + 1, bytes, out, size);
		snprintf(label, sizeof(label), "%zu bytes of %s, level %d, bit %zu of byte %zu turned", size, kind, level, bit, at);
		assay_output(bench, label, &got, sizeof(got));
		if (got >= 0)
			assay_output(bench, label, out, (size_t)got);
		frame[1 + at] ^= (char)(1 << bit);
	}
	free(in);
	free(frame);
	free(out);
}

static void edges(void *state, struct assay_bench *bench)
{
	static const char *const kinds[] = {"text", "literals", "random", "zeros"};
	static const size_t sizes[] = {0, 1, 255, 256, 1023, 1024, 4096, 65536, 131072, 131073};
	static const int levels[] = {1, 3, 9};
	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (size_t l = 0; l < sizeof(levels) / sizeof(levels[0]); l++)
				edge_block(bench, kinds[k], sizes[i], levels[l]);
}

static void teardown(void *state)
{
	struct state *s = state;
	for (int i = 0; i < SLOTS; i++)
		free(slots[i].memory);
	free(s->in);
	free(s->frame);
	free(s->out);
	free(s);
}

const struct assay_workload assay_workload = {
	.setup = setup, .run = run, .output = output, .edges = edges, .teardown = teardown};
