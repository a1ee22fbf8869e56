/* R04 manual-unrolling: a loop that does the same statement several times a turn, and a loop behind it for the rest.
 *
 * Compilers unroll where it pays, and where they vectorise they do so from the plain loop: the unrolled one has first to be
 * rolled up again, which they manage for simple bodies and not for others.
 *
 * The candidate deletes the unrolled loop: the loop for the rest does the same from the first element on, in the same order.
 * That holds when every statement is the first one with `i + 1`, `i + 2`, … in the place of `i`, when the rest's loop does
 * that statement as well, and when the unrolled loop stops at or before the rest's bound. All of this is asked.
 *
 * What must stay silent: several accumulators (each statement has its own), values that are loaded first and used later,
 * loops without a rest, and units that gcc compiles below -O3: there nothing else would unroll or vectorise the loop.
 */
#include "patterns/query.h"

#include "base/text.h"

#include <ctype.h>

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_r04 = {
    .id = "R04",
    .slug = "manual-unrolling",
    .title = "a loop unrolled by hand, with another one for the rest",
    .tier = TIER_B,
    .what = "A loop whose body is one statement repeated for `i`, `i + 1`, …, followed by a loop that does that statement for "
            "what is left, where the compile command lets the compiler vectorise the plain loop.",
    .why = "The compiler knows how wide its vectors are and how far unrolling pays on the target. A body that was multiplied "
           "by hand hides the plain loop from it, makes the code larger, and fixes a factor that was right for some other "
           "machine.",
    .when_not = "The trip counts are short and the measured build vectorises nothing.",
    .expected = "-20 % with clang 19, which doesn't roll the loop up again; with gcc 12 -O3, which does, +3 %, and at -O2, where "
                "nothing is vectorised and nothing is reported, +57 % (assay prove R04)",
    .refuted_by = "Equal or longer time: gcc often rolls the loop up again by itself.",
    .sources = (const char *const[]){"Using the GNU Compiler Collection, Options That Control Optimization (-funroll-loops, "
                                     "-ftree-vectorize, #pragma GCC unroll)",
                                     "LLVM, Auto-Vectorization in LLVM (https://llvm.org/docs/Vectorizers.html)", NULL},
    .detect = detect,
};

struct detection {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
	struct ast_node *function;
};

/* ---- statements as text ------------------------------------------------------------------------------------------ */

/* The statement without blanks, each `name` followed by "+ahead" when that isn't 0. NULL: it isn't written out. */
static const char *statement_text(struct detection *detection, const struct ast_node *statement, const char *name, unsigned ahead)
{
	struct arena *arena = detection->sink->arena;
	size_t size = 0, end = statement_end(detection->unit, statement), at = statement->range.offset, length = strlen(name);
	const char *text = statement->range.file ? ast_file_text(detection->unit, statement->range.file, &size) : NULL;
	if (!text || !end || at >= end || statement->range.edge_in_macro)
		return NULL;
	const char *plus = ahead ? arena_printf(arena, "+%u", ahead) : "";
	char *out = arena_alloc(arena, (end - at) * (1 + strlen(plus)) + 1);
	size_t used = 0;
	while (at < end) {
		size_t word = 0;
		while (at + word < end && text_is_word(text[at + word]))
			word++;
		bool named = word == length && memcmp(text + at, name, length) == 0 && !(used && (out[used - 1] == '.' || out[used - 1] == '>'));
		if (word) {
			/* A blank that parts two words counts. */
			if (used && text_is_word(out[used - 1]))
				out[used++] = ' ';
			memcpy(out + used, text + at, word);
			used += word;
			at += word;
			for (const char *c = plus; named && *c; c++)
				out[used++] = *c;
		} else {
			if (!isspace((unsigned char)text[at]))
				out[used++] = text[at];
			at++;
		}
	}
	out[used] = '\0';
	return out;
}

/* ---- the signal -------------------------------------------------------------------------------------------------- */

/* `i++`, `++i`, `i += 4` as a loop's increment: by how much; 0: it is something else. */
static long long step_of(const struct ast_node *loop, struct ast_node **ret_variable)
{
	struct ast_node *increment = ast_strip(loop->increment);
	long long by = 0;
	if (!increment || increment->children.count == 0)
		return 0;
	*ret_variable = ast_strip(increment->children.at[0]);
	if (increment->kind == AST_UNARY && (increment->op == OP_PRE_INC || increment->op == OP_POST_INC))
		by = 1;
	else if (increment->kind != AST_COMPOUND_ASSIGN || increment->op != OP_ADD || !node_constant(increment->children.at[1], &by))
		return 0;
	return *ret_variable && (*ret_variable)->kind == AST_REF && !(*ret_variable)->is_global ? by : 0;
}

/* `i < bound`; the bound, or NULL. */
static struct ast_node *bound_of(const struct ast_node *loop, struct ast_node *variable)
{
	struct ast_node *condition = ast_strip(loop->condition);
	if (!condition || condition->kind != AST_BINARY || condition->op != OP_LT || !path_equal(condition->children.at[0], variable))
		return NULL;
	return ast_strip_casts(condition->children.at[1]);
}

/* `n & ~3`, `n - n % 4`, `n / 4 * 4`. Not a variable with that value: it would be left without a use. */
static bool is_rounded_down(struct ast_node *node, struct ast_node *bound, long long step)
{
	long long value = 0;
	node = ast_strip_casts(node);
	if (!node || node->kind != AST_BINARY)
		return false;
	struct ast_node *left = ast_strip_casts(node->children.at[0]), *right = ast_strip_casts(node->children.at[1]);
	if (node->op == OP_AND && path_equal(left, bound)) {
		if (right && right->kind == AST_UNARY && right->op == OP_NOT && node_constant(right->children.at[0], &value))
			return value == step - 1 && (step & (step - 1)) == 0;
		return node_constant(right, &value) && value == -step && (step & (step - 1)) == 0;
	}
	if (node->op == OP_SUB && path_equal(left, bound) && right && right->kind == AST_BINARY && right->op == OP_REM)
		return path_equal(right->children.at[0], bound) && node_constant(right->children.at[1], &value) && value == step;
	if (node->op == OP_MUL && left && left->kind == AST_BINARY && left->op == OP_DIV && path_equal(left->children.at[0], bound))
		return node_constant(right, &value) && value == step && node_constant(left->children.at[1], &value) && value == step;
	return false;
}

/* Whether the unrolled loop never goes beyond the rest's bound: `i + 4 <= n`, `i + 3 < n`, `i <= n - 4`, `i < n - 3`, or a
 * bound that is rounded down. */
static bool stops_in_time(const struct ast_node *loop, struct ast_node *variable, struct ast_node *bound, long long step)
{
	struct ast_node *condition = ast_strip(loop->condition);
	if (!condition || condition->kind != AST_BINARY || (condition->op != OP_LT && condition->op != OP_LE))
		return false;
	struct ast_node *left = ast_strip_casts(condition->children.at[0]), *right = ast_strip_casts(condition->children.at[1]);
	long long ahead = 0, wanted = condition->op == OP_LT ? step - 1 : step;
	if (left && left->kind == AST_BINARY && left->op == OP_ADD)
		return path_equal(left->children.at[0], variable) && node_constant(left->children.at[1], &ahead) && ahead >= wanted &&
		       path_equal(right, bound);
	if (!path_equal(left, variable) || !right)
		return false;
	if (right->kind == AST_BINARY && right->op == OP_SUB && path_equal(right->children.at[0], bound) &&
	    node_constant(right->children.at[1], &ahead))
		return ahead >= wanted;
	return condition->op == OP_LT && is_rounded_down(right, bound, step);
}

/* The one statement of a body. */
static struct ast_node *only_statement(struct ast_node *body)
{
	if (body && body->kind == AST_COMPOUND)
		return body->children.count == 1 ? body->children.at[0] : NULL;
	return body;
}

/* Whether the unrolled loop and the one for the rest do the same, one `step` times a turn. */
static bool is_unrolled(struct detection *detection, struct ast_node *loop, struct ast_node *rest)
{
	struct ast_node *variable = NULL, *other = NULL, *body = loop->body, *single = only_statement(rest->body);
	long long step = step_of(loop, &variable);
	if (step < 2 || step_of(rest, &other) != 1 || !path_equal(variable, other) || rest->init || !single || !body ||
	    body->kind != AST_COMPOUND || (long long)body->children.count != step)
		return false;
	struct ast_node *bound = bound_of(rest, variable);
	if (!bound || !stops_in_time(loop, variable, bound, step))
		return false;
	for (unsigned i = 0; i < body->children.count; i++) {
		const char *is = statement_text(detection, body->children.at[i], "", 0);
		const char *wanted = statement_text(detection, single, variable->name, i);
		if (!is || !wanted || strcmp(is, wanted) != 0)
			return false;
	}
	return true;
}

/* ---- the finding ------------------------------------------------------------------------------------------------- */

static void put_candidate(struct detection *detection, struct ast_node *loop, struct ast_node *rest, struct finding *finding)
{
	size_t size = 0, begin = loop->range.offset, end = rest->range.offset;
	const char *text = ast_file_text(detection->unit, loop->range.file, &size);
	const char *init = loop->init ? ast_text(detection->unit, &loop->init->range) : "";
	if (!text || !init || !node_is_replaceable(detection->unit, loop) || !node_is_replaceable(detection->unit, rest) || end > size)
		return;
	if (loop->init && loop->init->kind != AST_ASSIGN)
		return;
	init = arena_strdup(detection->sink->arena, init);
	size_t clauses = end + strlen("for");
	while (clauses < size && text[clauses] != '(')
		clauses++;
	finding_edit(detection->sink, finding, begin, end - begin, "");
	if (loop->init)
		finding_edit(detection->sink, finding, clauses + 1, 0, init);
}

static bool visit(struct ast_node *node, void *context)
{
	struct detection *detection = context;
	for (size_t i = 0; node->kind == AST_COMPOUND && i + 1 < node->children.count; i++) {
		struct ast_node *loop = node->children.at[i], *rest = node->children.at[i + 1];
		if (loop->kind != AST_FOR || rest->kind != AST_FOR || loop->range.edge_in_macro || rest->range.edge_in_macro ||
		    !is_unrolled(detection, loop, rest))
			continue;
		struct arena *arena = detection->sink->arena;
		struct finding *finding = finding_new(detection->sink, detection->unit, &pattern_r04, &loop->range, detection->function->name,
		                                      SEVERITY_LOW, arena_printf(arena, "the same statement %zu times a turn, and once more in "
		                                      "the loop behind it for the rest", loop->body->children.count));
		finding->evidence = "the loop for the rest does all of it in the same order, and is one that compilers vectorise or unroll";
		put_candidate(detection, loop, rest, finding);
	}
	return true;
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct detection detection = {.unit = unit, .sink = sink};
	if (!command_vectorises(command) && !command_flag(command, "-funroll-loops", "-fno-unroll-loops", false))
		return;
	for (size_t i = 0; i < unit->top.count; i++) {
		detection.function = unit->top.at[i];
		if (detection.function->kind == AST_FUNCTION && detection.function->is_definition && detection.function->range.in_tree)
			ast_walk(detection.function, visit, &detection);
	}
}

#if 0 /* assay example: costs */
// flags: -O3
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 4099 };

struct image {
	uint8_t from[COUNT], to[COUNT];
};

static __attribute__((noinline)) void darken(uint8_t *to, const uint8_t *from, size_t count, unsigned percent)
{
	size_t i;
	for (i = 0; i + 4 <= count; i += 4) { // finds
		to[i] = (uint8_t)(from[i] * percent >> 8);
		to[i + 1] = (uint8_t)(from[i + 1] * percent >> 8);
		to[i + 2] = (uint8_t)(from[i + 2] * percent >> 8);
		to[i + 3] = (uint8_t)(from[i + 3] * percent >> 8);
	}
	for (; i < count; i++)
		to[i] = (uint8_t)(from[i] * percent >> 8);
}

static void *setup(struct assay_bench *b)
{
	struct image *image = calloc(1, sizeof *image);
	(void)b;
	for (size_t i = 0; i < COUNT; i++)
		image->from[i] = (uint8_t)(i * 77);
	return image;
}

static void run(void *state, uint64_t iterations)
{
	struct image *image = state;
	for (uint64_t i = 0; i < iterations; i++) {
		darken(image->to, image->from, COUNT, 200);
		assay_keep(image);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct image *image = state;
	for (size_t count = 0; count < 10; count++)
		darken(image->to + 10 * count, image->from, count, 255);
	darken(image->to + 100, image->from, COUNT - 100, 7);
	assay_output(b, "image", image, sizeof *image);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: costs fixed */
// flags: -O3
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 4099 };

struct image {
	uint8_t from[COUNT], to[COUNT];
};

static __attribute__((noinline)) void darken(uint8_t *to, const uint8_t *from, size_t count, unsigned percent)
{
	size_t i;
	for (i = 0; i < count; i++)
		to[i] = (uint8_t)(from[i] * percent >> 8);
}

static void *setup(struct assay_bench *b)
{
	struct image *image = calloc(1, sizeof *image);
	(void)b;
	for (size_t i = 0; i < COUNT; i++)
		image->from[i] = (uint8_t)(i * 77);
	return image;
}

static void run(void *state, uint64_t iterations)
{
	struct image *image = state;
	for (uint64_t i = 0; i < iterations; i++) {
		darken(image->to, image->from, COUNT, 200);
		assay_keep(image);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct image *image = state;
	for (size_t count = 0; count < 10; count++)
		darken(image->to + 10 * count, image->from, count, 255);
	darken(image->to + 100, image->from, COUNT - 100, 7);
	assay_output(b, "image", image, sizeof *image);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: harmless */
// flags: -O3
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 1024 };

struct rows {
	double a[COUNT], b[COUNT], sum;
	size_t counts[3];
};

/* Four sums: what the compiler may not do by itself, since it rounds otherwise. */
static __attribute__((noinline)) double product(const double *a, const double *b, size_t count)
{
	double sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
	size_t i;
	for (i = 0; i + 4 <= count; i += 4) {
		sum0 += a[i] * b[i];
		sum1 += a[i + 1] * b[i + 1];
		sum2 += a[i + 2] * b[i + 2];
		sum3 += a[i + 3] * b[i + 3];
	}
	for (; i < count; i++)
		sum0 += a[i] * b[i];
	return (sum0 + sum1) + (sum2 + sum3);
}

static void *setup(struct assay_bench *b)
{
	struct rows *rows = calloc(1, sizeof *rows);
	(void)b;
	for (size_t i = 0; i < COUNT; i++) {
		rows->a[i] = (double)(i % 10);
		rows->b[i] = 0.5;
	}
	rows->counts[1] = 7;
	rows->counts[2] = COUNT;
	return rows;
}

static void run(void *state, uint64_t iterations)
{
	struct rows *rows = state;
	for (uint64_t i = 0; i < iterations; i++) {
		rows->sum = product(rows->a, rows->b, rows->counts[2]);
		assay_keep(rows);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct rows *rows = state;
	for (int i = 0; i < 3; i++) {
		double sum = product(rows->a, rows->b, rows->counts[i]);
		assay_output(b, "sum", &sum, sizeof sum);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also other bounds */
// flags: -O3
unsigned long checksum(const unsigned char *bytes, unsigned size)
{
	unsigned long sum = 0;
	unsigned at = 0;
	for (; at < (size & ~1u); at += 2) { // finds
		sum = sum * 31 + bytes[at];
		sum = sum * 31 + bytes[at + 1];
	}
	for (; at < size; ++at)
		sum = sum * 31 + bytes[at];
	return sum;
}

void halve(int *values, int count)
{
	int i = 0;
	for (; i < count - 1; i += 2) { // finds
		values[i] /= 2;
		values[i+1] /= 2;
	}
	/* The odd one. */
	for (; i < count; i++) {
		values[i] /= 2;
	}
}
#endif

#if 0 /* assay example: also other bounds fixed */
// flags: -O3
unsigned long checksum(const unsigned char *bytes, unsigned size)
{
	unsigned long sum = 0;
	unsigned at = 0;
	for (; at < size; ++at)
		sum = sum * 31 + bytes[at];
	return sum;
}

void halve(int *values, int count)
{
	int i = 0;
	for (; i < count; i++) {
		values[i] /= 2;
	}
}
#endif

#if 0 /* assay example: lookalike not the same */
// flags: -O3
void shuffle(int *to, const int *from, int count)
{
	int i = 0;
	for (; i + 2 <= count; i += 2) { /* two different things */
		to[i] = from[i + 1];
		to[i + 1] = from[i];
	}
	for (; i < count; i++)
		to[i] = from[i];
	for (i = 0; i + 1 <= count; i += 2) { /* beyond the rest's bound */
		to[i] += 1;
		to[i + 1] += 1;
	}
	for (; i < count; i++)
		to[i] += 1;
	for (i = 0; i + 2 <= count; i += 2) { /* no rest */
		to[i] *= 2;
		to[i + 1] *= 2;
	}
}
#endif

#if 0 /* assay example: lookalike gcc below O3 */
// flags: -O2
void negate(int *values, int count)
{
	int i = 0;
	for (; i + 2 <= count; i += 2) {
		values[i] = -values[i];
		values[i + 1] = -values[i + 1];
	}
	for (; i < count; i++)
		values[i] = -values[i];
}
#endif
