/* Workload: two lost data columns of a RAID-Z2 row are computed from the others (module/zfs/vdev_raidz.c,
 * vdev_raidz_reconstruct_row()), as a read does when two disks fail.
 *
 * Parameters: impl (fastest: what user space uses; scalar, sse2, ssse3, avx2, avx512f, avx512bw; original: the code from
 * before there was any choice, which a pool reaches only when somebody asks for it), columns (of data), size (bytes of a
 * column). One iteration reconstructs both columns.
 */
#include <assay/bench.h>

#include <stdio.h>
#include <stdlib.h>

#include "tree.h"

#include "module/zfs/vdev_raidz.c"
#include <sys/abd_impl.h>

/* A walk over a linear ABD is one step. */
void abd_iter_init(struct abd_iter *at, abd_t *abd)
{
	memset(at, 0, sizeof(*at));
	at->iter_abd = abd;
}
boolean_t abd_iter_at_end(struct abd_iter *at)
{
	return at->iter_pos == at->iter_abd->abd_size;
}
void abd_iter_advance(struct abd_iter *at, size_t size)
{
	at->iter_pos += size;
}
void abd_iter_map(struct abd_iter *at)
{
	at->iter_mapaddr = (char *)ABD_LINEAR_BUF(at->iter_abd) + at->iter_pos;
	at->iter_mapsize = at->iter_abd->abd_size - at->iter_pos;
}
void abd_iter_unmap(struct abd_iter *at)
{
	at->iter_mapaddr = NULL;
	at->iter_mapsize = 0;
}

/* Of the ABDs only linear ones are used; abd.c asks the system for their struct. */
abd_t *abd_alloc_struct_impl(size_t size)
{
	(void)size;
	return calloc(1, sizeof(abd_t));
}
void abd_free_struct_impl(abd_t *abd)
{
	free(abd);
}
void abd_update_linear_stats(abd_t *abd, abd_stats_op_t op)
{
	(void)abd, (void)op;
}
boolean_t abd_size_alloc_linear(size_t size)
{
	(void)size;
	return B_TRUE;
}
void list_link_init(list_node_t *node)
{
	memset(node, 0, sizeof(*node));
}
int list_link_active(list_node_t *node)
{
	(void)node;
	return 0;
}
void *zio_data_buf_alloc(size_t size)
{
	return aligned_alloc(64, (size + 63) / 64 * 64);
}
void zio_data_buf_free(void *buffer, size_t size)
{
	(void)size;
	free(buffer);
}
void *zio_buf_alloc(size_t size)
{
	return zio_data_buf_alloc(size);
}
void zio_buf_free(void *buffer, size_t size)
{
	zio_data_buf_free(buffer, size);
}
size_t strlcpy(char *to, const char *from, size_t size)
{
	return (size_t)snprintf(to, size, "%s", from);
}
int zfs_flags;

enum { PARITY = 2, COLUMNS_MAX = 64 };

struct state {
	raidz_map_t *map;
	raidz_row_t *row;
	size_t size_bytes;
	int columns, lost[2];
	uint8_t *data; /* what the columns of data held */
};

static uint8_t *column(struct state *s, int at)
{
	return abd_to_buf(s->row->rr_col[at].rc_abd);
}

static void row_make(struct assay_bench *bench, struct state *s)
{
	int count = s->columns + PARITY;
	s->map = calloc(1, sizeof(*s->map) + sizeof(s->map->rm_row[0]));
	s->row = calloc(1, sizeof(*s->row) + (size_t)count * sizeof(s->row->rr_col[0]));
	s->data = malloc((size_t)s->columns * s->size_bytes);
	if (!s->map || !s->row || !s->data)
		assay_fail(bench, "no memory");
	s->map->rm_nrows = 1;
	s->map->rm_row[0] = s->row;
	s->map->rm_ops = vdev_raidz_math_get_ops();
	s->row->rr_cols = s->row->rr_scols = count;
	s->row->rr_firstdatacol = PARITY;
	assay_fill_random(bench, s->data, (size_t)s->columns * s->size_bytes);
	for (int i = 0; i < count; i++) {
		s->row->rr_col[i].rc_devidx = i;
		s->row->rr_col[i].rc_size = (uint32_t)s->size_bytes;
		s->row->rr_col[i].rc_abd = abd_alloc_linear(s->size_bytes, B_FALSE);
		if (i >= PARITY)
			memcpy(column(s, i), s->data + (size_t)(i - PARITY) * s->size_bytes, s->size_bytes);
	}
	vdev_raidz_generate_parity_pq(s->row); /* by the oldest code, whatever is to be timed */
}

static void row_free(struct state *s)
{
	for (int i = 0; i < s->row->rr_cols; i++)
		abd_free(s->row->rr_col[i].rc_abd);
	free(s->row);
	free(s->map);
	free(s->data);
}

static void lost_clear(struct state *s)
{
	for (int i = 0; i < 2; i++)
		memset(column(s, s->lost[i]), 0xee, s->size_bytes);
}

/* Are both columns what they were? */
static int is_back(struct state *s)
{
	for (int i = 0; i < 2; i++)
		if (memcmp(column(s, s->lost[i]), s->data + (size_t)(s->lost[i] - PARITY) * s->size_bytes, s->size_bytes) != 0)
			return 0;
	return 1;
}

static void *setup(struct assay_bench *bench)
{
	static char reason[160];
	struct state *s = calloc(1, sizeof(*s));
	const char *impl = assay_param(bench, "impl", "fastest");
	if (!s)
		assay_fail(bench, "no memory");
	s->columns = (int)assay_param_u64(bench, "columns", 8);
	s->size_bytes = assay_param_u64(bench, "size", 16384);
	if (s->columns < 2 || s->columns > COLUMNS_MAX || s->size_bytes < 512 || s->size_bytes % 512)
		assay_fail(bench, "columns=%d of size=%zu are no row: take 2 to %d columns of a multiple of 512 bytes", s->columns,
		           s->size_bytes, COLUMNS_MAX);
	vdev_raidz_math_init();
	if (vdev_raidz_impl_set(impl) != 0) {
		snprintf(reason, sizeof(reason), "raidz offers no %s here: the CPU or the build lacks it", impl);
		assay_unavailable(reason);
	}
	row_make(bench, s);
	s->lost[0] = PARITY;
	s->lost[1] = PARITY + s->columns / 2;
	lost_clear(s);
	vdev_raidz_reconstruct_row(s->map, s->row, s->lost, 2);
	if (!is_back(s))
		assay_fail(bench, "raidz by %s computes something else than what was lost", impl);
	assay_bytes_per_iteration(bench, 2 * s->size_bytes);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		vdev_raidz_reconstruct_row(s->map, s->row, s->lost, 2);
		assay_keep(s->row);
	}
}

static void output(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	for (int i = 0; i < 2; i++)
		assay_output(bench, "reconstructed", column(s, s->lost[i]), s->size_bytes);
}

/* Every pair of lost columns of narrow rows, in several sizes. */
static void edges(void *state, struct assay_bench *bench)
{
	static const size_t sizes[] = {512, 1024, 4608, 131072};
	struct state *whole = state;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		for (int columns = 2; columns <= 5; columns++) {
			struct state s = {.size_bytes = sizes[k], .columns = columns};
			row_make(bench, &s);
			s.map->rm_ops = whole->map->rm_ops;
			for (int x = 0; x < columns; x++) {
				for (int y = x + 1; y < columns; y++) {
					char label[96];
					s.lost[0] = PARITY + x;
					s.lost[1] = PARITY + y;
					lost_clear(&s);
					vdev_raidz_reconstruct_row(s.map, s.row, s.lost, 2);
					snprintf(label, sizeof(label), "columns %d and %d of %d, %zu bytes", x, y, columns, sizes[k]);
					if (!is_back(&s))
						assay_fail(bench, "%s: something else than what was lost", label);
					output(&s, bench);
				}
			}
			row_free(&s);
		}
	}
}

static void teardown(void *state)
{
	struct state *s = state;
	row_free(s);
	free(s);
}

const struct assay_workload assay_workload = {
	.setup = setup, .run = run, .output = output, .edges = edges, .teardown = teardown};
