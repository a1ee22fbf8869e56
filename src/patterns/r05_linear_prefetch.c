/* R05 linear-prefetch: a prefetch of what the loop will come to anyway, one step after the other.
 *
 * Processors watch for addresses in small equal steps and fetch what comes next by themselves. A prefetch instruction adds
 * nothing to that, takes a slot of the load unit in every turn, and keeps gcc and clang from vectorising the loop.
 *
 * Found is what can be told from the loop: the prefetched address moves by a constant of at most two cache lines a turn, and
 * the loop itself goes through the same array, or by the same pointer.
 *
 * What must stay silent: indirect places (`a[index[i + 8]]`), lists and trees, hash buckets, wide strides, prefetches for an
 * inner loop or outside of loops, and those that say that the data is not to stay in the cache (locality 0).
 */
#include "patterns/query.h"

#include "base/text.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_r05 = {
    .id = "R05",
    .slug = "linear-prefetch",
    .title = "a prefetch of what comes next in a linear loop",
    .tier = TIER_C,
    .what = "`__builtin_prefetch` in an innermost loop, of an address that moves with the loop in steps of at most two cache "
            "lines through the very array that the loop goes through.",
    .why = "Hardware prefetchers recognise such streams after a few lines. The instruction then finds the line there or on its "
           "way, costs a place in the load unit, and stands in the way of vector code.",
    .when_not = "The loop is so short that no prefetcher has seen the stream before it ends, or it goes through more streams at "
                "once than the processor can follow (some sixteen), or the processor is a small one without a prefetcher.",
    .expected = "from nothing, where the loop waits for memory or for its arithmetic, to several times where it becomes vector "
                "code without it (Lee, Kim and Vuduc 2012 for when software prefetching doesn't pay; assay prove R05: nothing seen with "
                "gcc 12 -O2, -72 % at -O3, -84 % with clang 19)",
    .refuted_by = "Equal or longer time without it on data that is larger than the caches.",
    .sources = (const char *const[]){"Jaekyu Lee, Hyesoon Kim and Richard Vuduc, When prefetching works, when it doesn't, and why, "
                                     "ACM TACO 9(1), 2012",
                                     "Jonathan Corbet, The problem with prefetch, LWN.net, 2011 (https://lwn.net/Articles/444336/)",
                                     "Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on software prefetch "
                                     "and hardware prefetching",
                                     NULL},
    .detect = detect,
};

enum { STEP_MOST = 128 }; /* bytes a turn */

struct detection {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
};

/* ---- addresses that move with the loop ----------------------------------------------------------------------------- */

/* How much a variable grows in every turn; 0: it isn't told, or it doesn't. */
static long long step_of(const struct loop *loop, const struct ast_node *ref)
{
	struct ast_node *site = NULL;
	long long by = 0;
	for (size_t i = 0; i < loop->writes.count; i++) {
		const struct ast_node *write = loop->writes.at[i];
		if (write->kind != AST_REF || write->decl != ref->decl ||
		    (loop->node->init && node_holds(loop->node->init, loop->write_sites.at[i])))
			continue;
		if (site)
			return 0;
		site = loop->write_sites.at[i];
	}
	for (size_t i = 0; i < loop->addressed.count; i++)
		if (loop->addressed.at[i]->kind == AST_REF && loop->addressed.at[i]->decl == ref->decl)
			return 0;
	if (!site || !ref->decl || !loop_always(loop, site))
		return 0;
	if (node_is_increment(site))
		return site->op == OP_PRE_INC || site->op == OP_POST_INC ? 1 : -1;
	if (site->kind == AST_COMPOUND_ASSIGN && (site->op == OP_ADD || site->op == OP_SUB) &&
	    node_constant(site->children.at[1], &by))
		return site->op == OP_ADD ? by : -by;
	return 0;
}

/* A place that is worked out of something unchanging (or a pointer that the loop advances), and how far it moves. */
struct stream {
	struct ast_node *root;
	long long step; /* bytes a turn */
};

/* The growth of an index: sums of unchanging values and one variable that the loop counts. False: it is anything else. */
static bool index_step(const struct loop *loop, struct ast_node *node, long long *ret_step)
{
	long long left = 0, right = 0, factor = 0;
	node = ast_strip_casts(node);
	*ret_step = 0;
	if (!node)
		return false;
	if (node->kind == AST_REF && (*ret_step = step_of(loop, node)) != 0)
		return true;
	if (node->kind == AST_BINARY && (node->op == OP_ADD || node->op == OP_SUB)) {
		if (!index_step(loop, node->children.at[0], &left) || !index_step(loop, node->children.at[1], &right))
			return false;
		*ret_step = node->op == OP_ADD ? left + right : left - right;
		return true;
	}
	if (node->kind == AST_BINARY && node->op == OP_MUL && node_constant(node->children.at[1], &factor) && factor > 0 &&
	    factor <= STEP_MOST) {
		bool known = index_step(loop, node->children.at[0], &left);
		*ret_step = left * factor;
		return known;
	}
	return node_constant(node, &factor) || loop_keeps(loop, node);
}

static bool place_stream(const struct loop *loop, struct ast_node *lvalue, struct stream *stream);

static long long pointee_size(const struct ast_type *type)
{
	return type && type->pointee && type->pointee->size > 0 ? type->pointee->size : 0;
}

/* Of a pointer's value. */
static bool pointer_stream(const struct loop *loop, struct ast_node *node, struct stream *stream)
{
	long long step = 0;
	node = ast_strip(node);
	if (!node)
		return false;
	if (node->kind == AST_CAST && node->children.count)
		return pointer_stream(loop, node->children.at[node->children.count - 1], stream);
	if (node->kind == AST_UNARY && node->op == OP_ADDRESS)
		return place_stream(loop, node->children.at[0], stream);
	if (node->kind == AST_BINARY && (node->op == OP_ADD || node->op == OP_SUB)) {
		struct ast_node *pointer = node->children.at[0], *index = node->children.at[1];
		if (!pointee_size(pointer->type) || !pointer_stream(loop, pointer, stream) || !index_step(loop, index, &step))
			return false;
		stream->step += (node->op == OP_ADD ? step : -step) * pointee_size(pointer->type);
		return true;
	}
	if (node->kind == AST_REF && (step = step_of(loop, node)) != 0) {
		stream->root = node;
		stream->step += step * pointee_size(node->type);
		return pointee_size(node->type) > 0;
	}
	stream->root = node;
	return (node->kind == AST_REF || node->kind == AST_MEMBER) && loop_keeps(loop, node);
}

/* Of a place in memory. */
static bool place_stream(const struct loop *loop, struct ast_node *lvalue, struct stream *stream)
{
	struct ast_node *node = ast_strip_casts(lvalue);
	long long step = 0;
	if (!node || node->children.count == 0)
		return false;
	switch (node->kind) {
	case AST_MEMBER:
		if (node->arrow)
			return pointer_stream(loop, node->children.at[0], stream);
		return place_stream(loop, node->children.at[0], stream);
	case AST_UNARY:
		return node->op == OP_DEREF && pointer_stream(loop, node->children.at[0], stream);
	case AST_SUBSCRIPT:
		if (!pointee_size(node->children.at[0]->type) || !pointer_stream(loop, node->children.at[0], stream) ||
		    !index_step(loop, node->children.at[1], &step))
			return false;
		stream->step += step * pointee_size(node->children.at[0]->type);
		return true;
	default:
		return false;
	}
}

/* ---- prefetches ---------------------------------------------------------------------------------------------------- */

struct prefetch {
	struct ast_node *call, *statement; /* the statement that holds nothing else */
	struct stream stream;
};
LIST_OF(struct prefetch, prefetch_list);

struct search {
	struct detection *detection;
	struct loop *loop;
	struct prefetch_list found;
	/* of walked_visit: */
	const struct stream *stream;
	bool walked;
};

static bool is_prefetch(const struct ast_node *node)
{
	static const char *const names[] = {"__builtin_prefetch", NULL};
	return node->kind == AST_CALL && call_is(node, names);
}

/* Whether the loop goes through the stream by itself. */
static bool walked_visit(struct ast_node *node, void *context)
{
	struct search *search = context;
	const struct stream *wanted = search->stream;
	struct stream stream = {0};
	if (is_prefetch(node) || search->walked)
		return false;
	bool place = node->kind == AST_SUBSCRIPT || (node->kind == AST_UNARY && node->op == OP_DEREF) ||
	             (node->kind == AST_MEMBER && node->arrow);
	if (place && place_stream(search->loop, node, &stream))
		search->walked |= stream.step == wanted->step && path_equal(stream.root, wanted->root);
	if (place || node->kind == AST_CALL) { /* *p++; load(p) */
		bool moves = wanted->root->kind == AST_REF && step_of(search->loop, wanted->root) != 0;
		struct access access = place ? access_of(node) : (struct access){0};
		if (moves && access.pointer)
			search->walked |= path_equal(pointer_root(access.pointer), wanted->root);
		for (size_t i = 0; moves && !place && call_argument(node, i); i++)
			search->walked |= path_equal(pointer_root(call_argument(node, i)), wanted->root);
	}
	return true;
}

static bool prefetch_visit(struct ast_node *node, void *context)
{
	struct search *search = context;
	struct prefetch prefetch = {.call = node};
	long long locality = 3;
	if (!is_prefetch(node))
		return true;
	struct ast_node *hint = call_argument(node, 2);
	if ((hint && node_constant(hint, &locality) && locality == 0) ||
	    !pointer_stream(search->loop, call_argument(node, 0), &prefetch.stream))
		return false;
	long long step = prefetch.stream.step;
	if (step == 0 || step > STEP_MOST || step < -STEP_MOST)
		return false;
	search->stream = &prefetch.stream;
	search->walked = false;
	ast_walk(search->loop->node, walked_visit, search);
	prefetch.statement = node;
	while (prefetch.statement->parent &&
	       (prefetch.statement->parent->kind == AST_PAREN || prefetch.statement->parent->kind == AST_CAST))
		prefetch.statement = prefetch.statement->parent;
	if (search->walked)
		list_push(search->detection->sink->arena, &search->found, prefetch);
	return false;
}

/* ---- the candidate ----------------------------------------------------------------------------------------------- */

static bool is_found(const struct search *search, const struct ast_node *statement)
{
	for (size_t i = 0; i < search->found.count; i++)
		if (search->found.at[i].statement == statement)
			return true;
	return false;
}

/* What goes with the prefetch: an `if` around it that holds nothing else. NULL: it is no statement of its own. */
static struct ast_node *to_remove(const struct search *search, struct ast_node *statement)
{
	struct ast_node *up = statement->parent, *body = statement;
	if (up && up->kind == AST_COMPOUND) {
		for (size_t i = 0; i < up->children.count; i++)
			if (!is_found(search, up->children.at[i]))
				return statement;
		body = up;
		up = up->parent;
	}
	if (!up || up->kind != AST_IF || up->body != body || up->otherwise)
		return body != statement ? statement : NULL;
	if (node_has_effect(up->condition) || !up->parent || up->parent->kind != AST_COMPOUND)
		return body != statement ? statement : NULL;
	return up;
}

/* The range of a statement that is written out, or of the one macro that makes it. */
static bool statement_range(const struct search *search, const struct ast_node *node, size_t *ret_begin, size_t *ret_end)
{
	const struct ast_unit *unit = search->detection->unit;
	const struct ast_range *range = &node->range;
	*ret_begin = range->offset;
	*ret_end = statement_end(unit, node);
	if (!range->edge_in_macro)
		return *ret_end > 0;
	size_t end = 0, size = 0;
	for (size_t i = 0; i < unit->expansions.count; i++) {
		const struct ast_range *other = &unit->expansions.at[i].range;
		if (!text_equal(other->file, range->file) || other->end_offset <= range->offset || other->offset > range->offset)
			continue;
		if (other->offset < range->offset)
			return false; /* an argument of another macro */
		end = other->end_offset > end ? other->end_offset : end;
	}
	for (size_t i = 0; i < node->parent->children.count; i++) {
		const struct ast_node *sibling = node->parent->children.at[i];
		if (sibling != node && sibling->range.offset >= range->offset && sibling->range.offset < end)
			return false; /* it makes more than this statement */
	}
	const char *text = ast_file_text(unit, range->file, &size);
	while (text && end && end < size && (text[end] == ' ' || text[end] == '\t'))
		end++;
	*ret_end = end + 1;
	return text && end && end < size && text[end] == ';';
}

/* Takes the statement out, with its lines and a comment behind it where nothing else stands there. */
static bool statement_remove(const struct search *search, const struct ast_node *node, struct finding *finding)
{
	size_t size = 0, begin = 0, end = 0;
	const char *text = ast_file_text(search->detection->unit, node->range.file, &size);
	if (!text || !statement_range(search, node, &begin, &end) || end > size)
		return false;
	size_t line = begin, rest = end;
	while (line > 0 && (text[line - 1] == ' ' || text[line - 1] == '\t'))
		line--;
	while (rest < size && (text[rest] == ' ' || text[rest] == '\t'))
		rest++;
	const char *newline = memchr(text + rest, '\n', size - rest);
	const char *close = size - rest > 2 && memcmp(text + rest, "/*", 2) == 0 ? strstr(text + rest, "*/") : NULL;
	bool comment = size - rest > 2 && memcmp(text + rest, "//", 2) == 0;
	bool alone = newline && (text[rest] == '\n' || comment || (close && close + 2 == newline));
	if (alone && (line == 0 || text[line - 1] == '\n')) {
		begin = line;
		end = (size_t)(newline + 1 - text);
	}
	finding_edit(search->detection->sink, finding, begin, end - begin, "");
	return true;
}

static bool put_candidate(const struct search *search, struct finding *finding)
{
	struct ast_node_list gone = {0};
	for (size_t i = 0; i < search->found.count; i++) {
		struct ast_node *node = to_remove(search, search->found.at[i].statement);
		bool known = false;
		for (size_t k = 0; k < gone.count; k++)
			known |= gone.at[k] == node;
		if (!node || (!known && !statement_remove(search, node, finding))) {
			finding->edits.count = 0;
			return false;
		}
		list_push(search->detection->sink->arena, &gone, node);
	}
	return true;
}

/* ---- the finding ------------------------------------------------------------------------------------------------- */

static void detect_loop(struct loop *loop, void *context)
{
	struct detection *detection = context;
	struct search search = {.detection = detection, .loop = loop};
	if (loop->has_inner_loop)
		return;
	ast_walk(loop->node, prefetch_visit, &search);
	if (search.found.count == 0)
		return;
	struct arena *arena = detection->sink->arena;
	const struct prefetch *first = &search.found.at[0];
	long long step = first->stream.step < 0 ? -first->stream.step : first->stream.step;
	struct finding *finding = finding_new(
		detection->sink, detection->unit, &pattern_r05, &first->call->range, loop->function->name, SEVERITY_LOW,
		arena_printf(arena, "prefetches ahead of a loop that goes through `%s` in steps of %lld byte%s",
	                 node_text(detection->unit, first->stream.root, arena), step, step == 1 ? "" : "s"));
	const char *more = search.found.count == 1 ? "" : arena_printf(arena, "; %zu prefetches like this in the loop", search.found.count);
	finding->evidence = arena_printf(arena, "%s%s", put_candidate(&search, finding)
	                                 ? "hardware prefetchers follow such steps by themselves"
	                                 : "advice: hardware prefetchers follow such steps by themselves; try the loop without it", more);
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	struct arena arena;
	arena_init(&arena);
	struct detection detection = {.unit = unit, .sink = sink};
	loops_visit(unit, &arena, detect_loop, &detection);
	arena_release(&arena);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 4096, AHEAD = 16 };

struct samples {
	uint32_t at[COUNT + AHEAD];
	uint32_t sum;
};

static __attribute__((noinline)) uint32_t sum_of(const uint32_t *samples, size_t count)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		__builtin_prefetch(&samples[i + AHEAD]); // finds
		sum += samples[i];
	}
	return sum;
}

static void *setup(struct assay_bench *b)
{
	struct samples *samples = calloc(1, sizeof *samples);
	(void)b;
	for (uint32_t i = 0; i < COUNT; i++)
		samples->at[i] = i * 2654435761u;
	return samples;
}

static void run(void *state, uint64_t iterations)
{
	struct samples *samples = state;
	for (uint64_t i = 0; i < iterations; i++) {
		samples->sum = sum_of(samples->at, COUNT);
		assay_keep(samples);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct samples *samples = state;
	uint32_t sums[] = {sum_of(samples->at, 0), sum_of(samples->at, 1), sum_of(samples->at, COUNT)};
	assay_output(b, "sums", sums, sizeof sums);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 4096, AHEAD = 16 };

struct samples {
	uint32_t at[COUNT + AHEAD];
	uint32_t sum;
};

static __attribute__((noinline)) uint32_t sum_of(const uint32_t *samples, size_t count)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		sum += samples[i];
	}
	return sum;
}

static void *setup(struct assay_bench *b)
{
	struct samples *samples = calloc(1, sizeof *samples);
	(void)b;
	for (uint32_t i = 0; i < COUNT; i++)
		samples->at[i] = i * 2654435761u;
	return samples;
}

static void run(void *state, uint64_t iterations)
{
	struct samples *samples = state;
	for (uint64_t i = 0; i < iterations; i++) {
		samples->sum = sum_of(samples->at, COUNT);
		assay_keep(samples);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct samples *samples = state;
	uint32_t sums[] = {sum_of(samples->at, 0), sum_of(samples->at, 1), sum_of(samples->at, COUNT)};
	assay_output(b, "sums", sums, sizeof sums);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 1 << 16, AHEAD = 8 };

struct table {
	uint64_t values[COUNT];
	uint32_t order[COUNT + AHEAD];
	uint64_t sum;
};

/* Where the next value lies no prefetcher can guess: this one is worth its instruction. */
static __attribute__((noinline)) uint64_t gather(const uint64_t *values, const uint32_t *order, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		__builtin_prefetch(&values[order[i + AHEAD]]);
		sum += values[order[i]];
	}
	return sum;
}

static void *setup(struct assay_bench *b)
{
	struct table *table = calloc(1, sizeof *table);
	(void)b;
	for (uint32_t i = 0; i < COUNT; i++) {
		table->values[i] = i;
		table->order[i] = i * 2654435761u % COUNT;
	}
	return table;
}

static void run(void *state, uint64_t iterations)
{
	struct table *table = state;
	for (uint64_t i = 0; i < iterations; i++) {
		table->sum = gather(table->values, table->order, COUNT);
		assay_keep(table);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct table *table = state;
	uint64_t sum = gather(table->values, table->order, COUNT);
	assay_output(b, "sum", &sum, sizeof sum);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also pointers, conditions and macros */
#include <stddef.h>
#include <stdint.h>

#define FETCH(address) __builtin_prefetch((address), 0, 3)

struct point {
	int x, y;
};

long sum_x(const struct point *at, const struct point *end)
{
	long sum = 0;
	for (; at < end; at += 2) {
		__builtin_prefetch(at + 16, 0, 1); // finds
		sum += at[0].x;
		sum += at[1].x;
	}
	return sum;
}

uint8_t xor_of(const uint8_t *bytes, size_t count)
{
	uint8_t result = 0;
	for (size_t i = 0; i < count; i++) {
		if (i + 256 < count)
			__builtin_prefetch(bytes + i + 256); // finds
		result ^= bytes[i];
	}
	return result;
}

void add(float *to, const float *a, const float *b, int count)
{
	for (int i = 0; i < count; i++) {
		if (i < count - 64) {
			FETCH(&a[i + 64]); // finds
			FETCH(&b[i + 64]);
		}
		to[i] = a[i] + b[i];
	}
}

unsigned long words_hash(const unsigned long *word, size_t count)
{
	unsigned long hash = 0;
	while (count--) {
		FETCH((const char *)word + 512); // finds
		hash = (hash ^ *word++) * 31;
	}
	return hash;
}
#endif

#if 0 /* assay example: also pointers, conditions and macros fixed */
#include <stddef.h>
#include <stdint.h>

#define FETCH(address) __builtin_prefetch((address), 0, 3)

struct point {
	int x, y;
};

long sum_x(const struct point *at, const struct point *end)
{
	long sum = 0;
	for (; at < end; at += 2) {
		sum += at[0].x;
		sum += at[1].x;
	}
	return sum;
}

uint8_t xor_of(const uint8_t *bytes, size_t count)
{
	uint8_t result = 0;
	for (size_t i = 0; i < count; i++) {
		result ^= bytes[i];
	}
	return result;
}

void add(float *to, const float *a, const float *b, int count)
{
	for (int i = 0; i < count; i++) {
		to[i] = a[i] + b[i];
	}
}

unsigned long words_hash(const unsigned long *word, size_t count)
{
	unsigned long hash = 0;
	while (count--) {
		hash = (hash ^ *word++) * 31;
	}
	return hash;
}
#endif

#if 0 /* assay example: lookalike not linear */
#include <stddef.h>
#include <stdint.h>

struct node {
	struct node *next;
	long value[7];
};

long list_sum(const struct node *node)
{
	long sum = 0;
	for (; node; node = node->next) {
		__builtin_prefetch(node->next);
		sum += node->value[0];
	}
	return sum;
}

struct bucket {
	uint64_t key, value;
};

uint64_t find_all(const struct bucket *buckets, const uint64_t *keys, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i + 4 < count; i++) {
		__builtin_prefetch(&buckets[keys[i + 4] % 1024]);
		sum += buckets[keys[i] % 1024].value;
	}
	return sum;
}

/* A page at a time, and rows for an inner loop. */
long columns(const long (*rows)[512], size_t count)
{
	long sum = 0;
	for (size_t i = 0; i < count; i++) {
		__builtin_prefetch(rows[i + 1]);
		sum += rows[i][0];
	}
	for (size_t i = 0; i < count; i++) {
		__builtin_prefetch(rows[i] + 512);
		for (size_t k = 0; k < 512; k++)
			sum += rows[i][k];
	}
	return sum;
}

/* Not to stay in the cache; and another array than the one that is gone through. */
uint32_t once(const uint32_t *words, const uint32_t *table, size_t count)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		__builtin_prefetch(&words[i + 64], 0, 0);
		sum += words[i];
	}
	for (size_t i = 0; i < count; i++) {
		__builtin_prefetch(&table[i]);
		sum ^= words[i];
	}
	__builtin_prefetch(table);
	return sum;
}
#endif
