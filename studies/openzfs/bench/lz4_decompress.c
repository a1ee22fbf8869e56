/* Workload: decompress one block with OpenZFS's LZ4 (module/zfs/lz4.c).
 *
 * Parameters: block (bytes), data (see data.h). One iteration decompresses one block, as a read of ZFS does: the
 * output buffer is exactly as large as the block.
 */
#include <assay/bench.h>

#include "data.h"
#include "lz4_reference.h"

#include <stdio.h>
#include <stdlib.h>

/* After the C library's headers: from here on the names are OpenZFS's, and `restrict` may be an empty macro. */
#include "module/zfs/lz4.c"

#define HIDDEN_SIZE 64 /* bytes after each output buffer that must stay as they are */

struct state {
	char *frame, *out;
	size_t size_bytes, frame_bytes;
	int result; /* of the last decompression */
};

/* The module's call, not cloned for the loops here. */
__attribute__((__noinline__)) static int decompress(const char *frame, char *out, size_t frame_bytes,
                                                    size_t capacity_bytes)
{
	return LZ4_uncompress_unknownOutputSize(frame, out, (int)frame_bytes, (int)capacity_bytes);
}

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
	if (!s)
		assay_fail(bench, "no memory");
	s->size_bytes = assay_param_u64(bench, "block", 131072);
	if (s->size_bytes < 1 || s->size_bytes > 16 << 20)
		assay_fail(bench, "block=%zu is not the size of a ZFS block: take 1 to 16777216", s->size_bytes);
	char *in = buffer_new(bench, s->size_bytes);
	s->frame = buffer_new(bench, reference_bound(s->size_bytes));
	s->out = buffer_new(bench, s->size_bytes);
	data_fill(bench, assay_param(bench, "data", "text"), in, s->size_bytes);
	s->frame_bytes = reference_encode((const uint8_t *)in, s->size_bytes, (uint8_t *)s->frame);

	s->result = decompress(s->frame, s->out, s->frame_bytes, s->size_bytes);
	if (s->result < 0)
		assay_fail(bench, "a block of %zu bytes is called malformed (%d)", s->size_bytes, s->result);
	if ((size_t)s->result != s->size_bytes || memcmp(s->out, in, s->size_bytes) != 0)
		assay_fail(bench, "a block of %zu bytes was decompressed to something else", s->size_bytes);
	free(in);
	assay_bytes_per_iteration(bench, s->size_bytes);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->result = decompress(s->frame, s->out, s->frame_bytes, s->size_bytes);
		assay_keep(s->out);
	}
}

static void output(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	assay_output(bench, "result", &s->result, sizeof(s->result));
	assay_output(bench, "decompressed", s->out, s->size_bytes);
	assay_output(bench, "bytes after the buffer", s->out + s->size_bytes, HIDDEN_SIZE);
}

/* Decompresses `frame` into `capacity_bytes` and hands over the result, which for a malformed frame is negative and
 * names the byte where it is at fault. What a frame that the format forbids leaves in the buffer is nobody's business:
 * LZ4 lets an offset of zero pass, with whatever was there. */
static int edge(struct assay_bench *bench, const char *label, const void *frame, size_t frame_bytes,
                size_t capacity_bytes)
{
	/* The frame in a buffer of its own size: what is read beyond it, a checker can see. */
	char *in = malloc(frame_bytes + 1), *out = buffer_new(bench, capacity_bytes);
	if (!in)
		assay_fail(bench, "no memory");
	memcpy(in, frame, frame_bytes);
	int result = decompress(in, out, frame_bytes, capacity_bytes);
	assay_output(bench, label, &result, sizeof(result));
	char *plain = buffer_new(bench, capacity_bytes);
	int64_t expected = reference_decode((const uint8_t *)in, frame_bytes, (uint8_t *)plain, capacity_bytes);
	if (result >= 0 && expected >= 0) {
		if (result != (int)expected || memcmp(out, plain, (size_t)expected) != 0)
			assay_fail(bench, "%s: decompressed to something else", label);
		assay_output(bench, label, out, (size_t)result);
	}
	assay_output(bench, label, out + capacity_bytes, HIDDEN_SIZE);
	free(plain);
	free(in);
	free(out);
	return result;
}

/* A block of one kind and size: at its place, unaligned, cut off, and into buffers that are too small or too large. */
static void edge_block(struct assay_bench *bench, const char *kind, size_t size_bytes)
{
	char label[96];
	char *in = buffer_new(bench, size_bytes), *frame = buffer_new(bench, reference_bound(size_bytes) + 1);
	data_fill(bench, kind, in, size_bytes);
	size_t frame_bytes = reference_encode((const uint8_t *)in, size_bytes, (uint8_t *)frame);

	snprintf(label, sizeof(label), "%zu bytes of %s", size_bytes, kind);
	if (edge(bench, label, frame, frame_bytes, size_bytes) != (int)size_bytes)
		assay_fail(bench, "%s: a whole frame is refused", label);
	snprintf(label, sizeof(label), "%zu bytes of %s, output too large by 100", size_bytes, kind);
	edge(bench, label, frame, frame_bytes, size_bytes + 100);
	if (size_bytes > 0) {
		snprintf(label, sizeof(label), "%zu bytes of %s, output too small by 1", size_bytes, kind);
		if (edge(bench, label, frame, frame_bytes, size_bytes - 1) >= 0)
			assay_fail(bench, "%s: not refused", label);
		snprintf(label, sizeof(label), "%zu bytes of %s, frame cut by 1", size_bytes, kind);
		edge(bench, label, frame, frame_bytes - 1, size_bytes);
		snprintf(label, sizeof(label), "%zu bytes of %s, half of the frame", size_bytes, kind);
		edge(bench, label, frame, frame_bytes / 2, size_bytes);
	}
	memmove(frame + 1, frame, frame_bytes);
	char *out = buffer_new(bench, size_bytes + 3);
	int result = decompress(frame + 1, out + 3, frame_bytes, size_bytes);
	snprintf(label, sizeof(label), "%zu bytes of %s, unaligned", size_bytes, kind);
	assay_output(bench, label, &result, sizeof(result));
	assay_output(bench, label, out, size_bytes + 3 + HIDDEN_SIZE);

	/* One bit of the frame turned at a time, by chance: refused, or decompressed to the same wrong block. */
	for (int i = 0; i < 32; i++) {
		size_t at = assay_random(bench) % frame_bytes, bit = assay_random(bench) % 8;
		frame[1 + at] ^= (char)(1 << bit);
		snprintf(label, sizeof(label), "%zu bytes of %s, bit %zu of byte %zu turned", size_bytes, kind, bit, at);
		edge(bench, label, frame + 1, frame_bytes, size_bytes);
		frame[1 + at] ^= (char)(1 << bit);
	}
	free(in);
	free(frame);
	free(out);
}

static void edges(void *state, struct assay_bench *bench)
{
	static const char *const kinds[] = {"text", "literals", "random", "zeros"};
	static const size_t sizes[] = {0, 1, 12, 13, 64, 4095, 65536, 131073};
	static const struct {
		const char *label;
		const char *frame;
		size_t frame_bytes, capacity_bytes;
	} malformed[] = {
	    {"no frame at all", "", 0, 64},
	    {"no frame at all into nothing", "", 0, 0},
	    {"an empty block into nothing", "\x00", 1, 0},
	    {"literals that never come", "\xf0", 1, 64},
	    {"a number of literals that never ends", "\xf0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, 4096},
	    {"an offset before the start of the block", "\x10" "a\x05\x00\x00", 5, 64},
	    {"an offset of zero", "\x11" "a\x00\x00\x50" "bcdef", 10, 64},
	    {"half an offset", "\x10" "a\x01", 3, 64},
	    {"a match into the last literals", "\x1f" "a\x01\x00\x20\x00", 6, 40},
	    {"a match length that never ends", "\x1f" "a\x01\x00\xff\xff\xff\xff", 8, 4096},
	    {"more literals than there is room", "\xa0" "0123456789", 11, 9},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		edge(bench, malformed[i].label, malformed[i].frame, malformed[i].frame_bytes, malformed[i].capacity_bytes);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			edge_block(bench, kinds[k], sizes[i]);
}

static void teardown(void *state)
{
	struct state *s = state;
	free(s->frame);
	free(s->out);
	free(s);
}

const struct assay_workload assay_workload = {
    .setup = setup, .run = run, .output = output, .edges = edges, .teardown = teardown};
