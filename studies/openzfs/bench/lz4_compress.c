/* Workload: compress one block with OpenZFS's LZ4 (module/zfs/lz4_zfs.c).
 *
 * Parameters: block (bytes), data (see data.h). One iteration compresses the block once, as a write of ZFS does:
 * into a buffer that is as large as the block, with the hash table cleared each time.
 */
#include <assay/bench.h>

#include "data.h"
#include "lz4_reference.h"

#include <stdio.h>
#include <stdlib.h>

/* After the C library's headers: from here on the names are OpenZFS's, and `restrict` may be an empty macro. */
#include <sys/zfs_context.h>

/* The hash table's memory: in the kernel a slab hands out warm memory, in user space malloc() would be timed instead. */
static uint64_t hash_table[16384 / sizeof(uint64_t)];
#undef kmem_cache_alloc
#undef kmem_cache_free
#define kmem_cache_alloc(cache, flags) ((void)(cache), (void *)hash_table)
#define kmem_cache_free(cache, memory) ((void)(cache), (void)(memory))

#include "module/zfs/lz4_zfs.c"

_Static_assert(sizeof(struct refTables) <= sizeof(hash_table), "LZ4's hash table is larger than 16 KiB in this tree");

#define HIDDEN_SIZE 64 /* bytes after each output buffer that must stay as they are */

/* ---- what the module gets from the rest of OpenZFS ----------------------------------------------------------- */

/* The other half (lz4.c), which the module's own wrapper calls; here the reference, so that it checks the compressor. */
int LZ4_uncompress_unknownOutputSize(const char *source, char *dest, int isize, int maxOutputSize)
{
	return (int)reference_decode((const uint8_t *)source, (size_t)isize, (uint8_t *)dest, (size_t)maxOutputSize);
}

/* ABDs are not used by the static functions that are run here. */
void *abd_borrow_buf(abd_t *abd, size_t size)
{
	(void)abd, (void)size;
	abort();
}
void *abd_borrow_buf_copy(abd_t *abd, size_t size)
{
	return abd_borrow_buf(abd, size);
}
void abd_return_buf(abd_t *abd, void *buffer, size_t size)
{
	(void)buffer;
	abd_borrow_buf(abd, size);
}
void abd_return_buf_copy(abd_t *abd, void *buffer, size_t size)
{
	abd_return_buf(abd, buffer, size);
}

/* libspl's headers use it; C libraries before glibc 2.38 lack it. */
size_t strlcpy(char *to, const char *from, size_t size)
{
	return (size_t)snprintf(to, size, "%s", from);
}

/* ---- the workload ------------------------------------------------------------------------------------------- */

struct state {
	char *in, *frame;
	size_t size_bytes;
	int frame_bytes; /* 0: the block doesn't compress */
};

/* The module's call, not cloned for the loops here. */
__attribute__((__noinline__)) static int compress(const char *in, char *frame, size_t size_bytes, size_t capacity_bytes)
{
	return real_LZ4_compress(in, frame, (int)size_bytes, (int)capacity_bytes);
}

static char *buffer_new(struct assay_bench *bench, size_t size_bytes)
{
	char *buffer = malloc(size_bytes + HIDDEN_SIZE);
	if (!buffer)
		assay_fail(bench, "no memory for a buffer of %zu bytes", size_bytes);
	memset(buffer, 0xa5, size_bytes + HIDDEN_SIZE);
	return buffer;
}

/* NULL: the frame holds the block. */
static const char *frame_problem(struct assay_bench *bench, const char *in, size_t size_bytes, const char *frame,
                                 int frame_bytes)
{
	char *back = buffer_new(bench, size_bytes);
	int64_t got = reference_decode((const uint8_t *)frame, (size_t)frame_bytes, (uint8_t *)back, size_bytes);
	const char *problem = NULL;
	if (got < 0)
		problem = "is malformed";
	else if ((size_t)got != size_bytes || memcmp(back, in, size_bytes) != 0)
		problem = "decodes to something else";
	free(back);
	return problem;
}

static void *setup(struct assay_bench *bench)
{
	struct state *s = calloc(1, sizeof(*s));
	if (!s)
		assay_fail(bench, "no memory");
	s->size_bytes = assay_param_u64(bench, "block", 131072);
	if (s->size_bytes < 1 || s->size_bytes > 16 << 20)
		assay_fail(bench, "block=%zu is not the size of a ZFS block: take 1 to 16777216", s->size_bytes);
	s->in = buffer_new(bench, s->size_bytes);
	s->frame = buffer_new(bench, s->size_bytes);
	data_fill(bench, assay_param(bench, "data", "text"), s->in, s->size_bytes);
	lz4_init();
	/* A block that doesn't compress is a case of its own, and fast for that reason: only text must compress. */
	s->frame_bytes = compress(s->in, s->frame, s->size_bytes, s->size_bytes);
	if (s->frame_bytes == 0 && strcmp(assay_param(bench, "data", "text"), "text") == 0)
		assay_fail(bench, "a text block of %zu bytes was not compressed", s->size_bytes);
	assay_bytes_per_iteration(bench, s->size_bytes);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->frame_bytes = compress(s->in, s->frame, s->size_bytes, s->size_bytes);
		assay_keep(s->frame);
	}
}

static void output(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	if (s->frame_bytes > 0) {
		const char *problem = frame_problem(bench, s->in, s->size_bytes, s->frame, s->frame_bytes);
		if (problem)
			assay_fail(bench, "the frame of a block of %zu bytes %s", s->size_bytes, problem);
	}
	assay_output(bench, "frame size", &s->frame_bytes, sizeof(s->frame_bytes));
	assay_output(bench, "frame", s->frame, (size_t)s->frame_bytes);
	assay_output(bench, "bytes after the buffer", s->frame + s->size_bytes, HIDDEN_SIZE);
}

/* Compresses `size_bytes` of `kind` into `capacity_bytes` and hands over what came out. */
static void edge(struct assay_bench *bench, const char *kind, size_t size_bytes, size_t capacity_bytes,
                 size_t misaligned)
{
	char label[96];
	char *in = buffer_new(bench, size_bytes + misaligned), *frame = buffer_new(bench, capacity_bytes + misaligned);
	data_fill(bench, kind, in + misaligned, size_bytes);
	int frame_bytes = compress(in + misaligned, frame + misaligned, size_bytes, capacity_bytes);
	snprintf(label, sizeof(label), "%zu bytes of %s into %zu, %zu off alignment", size_bytes, kind, capacity_bytes,
	         misaligned);
	if (frame_bytes > 0) {
		const char *problem = frame_problem(bench, in + misaligned, size_bytes, frame + misaligned, frame_bytes);
		if (problem)
			assay_fail(bench, "%s: the frame %s", label, problem);
	}
	assay_output(bench, label, &frame_bytes, sizeof(frame_bytes));
	assay_output(bench, label, frame + misaligned, (size_t)frame_bytes);
	assay_output(bench, label, frame + misaligned + capacity_bytes, HIDDEN_SIZE);
	free(in);
	free(frame);
}

static void edges(void *state, struct assay_bench *bench)
{
	static const char *const kinds[] = {"text", "literals", "random", "zeros"};
	static const size_t sizes[] = {0, 1, 12, 13, 64, 4095, 65535, 65536, 65546, 65547, 65548, 131073};
	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			size_t bound = reference_bound(sizes[i]);
			edge(bench, kinds[k], sizes[i], bound, 0); /* always fits */
			edge(bench, kinds[k], sizes[i], bound, 3); /* unaligned */
			edge(bench, kinds[k], sizes[i], sizes[i], 0); /* as ZFS calls it: random data must be refused */
			edge(bench, kinds[k], sizes[i], sizes[i] / 16, 1); /* too small for all but zeros */
		}
	}
}

static void teardown(void *state)
{
	struct state *s = state;
	lz4_fini();
	free(s->in);
	free(s->frame);
	free(s);
}

const struct assay_workload assay_workload = {
	.setup = setup, .run = run, .output = output, .edges = edges, .teardown = teardown};
