/* S08 strided-access: a nest of two loops whose inner one goes down the columns of what lies in rows.
 *
 * Each turn of the inner loop takes another cache line, of which it needs one element; by the time that the next column
 * comes, the lines are gone. With the loops the other way around the same elements are taken in the order in which they
 * lie, a line serves all of its elements, and the loop can be vectorised.
 *
 * It fires only where the loops can be turned around, and where that serves: two loops, nothing between them, bounds that
 * neither changes, only assignments, each element written in one turn alone or each sum added up in the same order as
 * before (sums of whole numbers in any order), and after the turn no access with a stride is left. So a transposition is
 * silent, as it has a stride either way; so are bounds that depend on each other, small extents, and a sum of floating
 * numbers in one variable, whose value is another in another order.
 */
#include "patterns/query.h"

#include "base/text.h"

#include <limits.h>
#include <stdlib.h>

enum {
	LINE_BYTES = 64,
	CACHE_BYTES = 32 * 1024, /* of the first level */
	FEW_ROWS = 64,           /* their lines stay there, column after column */
	FEW_COLUMNS = 8,
};

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_s08 = {
    .id = "S08",
    .slug = "strided-access",
    .title = "an inner loop that goes down the columns of what lies in rows",
    .tier = TIER_B,
    .what = "Two nested loops with nothing between them, of which the inner one runs over the first subscript of a "
            "two-dimensional array (a[j][i], a[j * n + i]), and which can be turned around without changing a result.",
    .why = "Every turn takes another cache line and uses one element of it: memory traffic grows by the number of elements in a "
           "line, each row is another page, and strided loads keep the loop from being vectorised.",
    .when_not = "The array is small and stays in the first-level cache, or the columns are few. Some compilers turn such loops "
                "around by themselves (gcc -O3 has -floop-interchange).",
    .expected = "1.2x to 1.5x with gcc 12 and 6x with clang 19, which vectorises what is turned around, for 1.4 MB (catalogue's own "
                "measurement on an AMD EPYC); more where the array is larger than the caches",
    .refuted_by = "Equal machine code, since the compiler turns the loops around; or extents that fit the first-level cache.",
    .sources = (const char *const[]){"Randy Allen and Ken Kennedy, Automatic loop interchange, SIGPLAN '84 Symposium on Compiler "
                                     "Construction",
                                     "Ulrich Drepper, What Every Programmer Should Know About Memory, 2007, section 6.2.1", NULL},
    .detect = detect,
};

/* A loop that counts up: for (i = from; i < limit; i++). */
struct counter {
	struct ast_node *loop, *decl, *from, *limit;
	bool declared; /* in the loop itself */
	long long turns; /* -1: unknown */
};

/* How far apart two turns of a loop lie in memory. */
enum stride { STRIDE_NONE, STRIDE_NEAR, STRIDE_FAR };

enum { OUTER, INNER };

/* An index as a sum: how much each counter adds. */
struct linear {
	long long factor[2];
	bool unknown[2]; /* the factor is a variable */
};

struct reference {
	struct ast_node *node; /* AST_SUBSCRIPT */
	struct ast_node *root; /* of what it is an element: a variable or a field */
	long long bytes[2];    /* between two turns; LLONG_MAX: not known, a row at least */
	enum stride stride[2];
};
LIST_OF(struct reference, reference_list);

struct nest {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
	struct loop *loop; /* the outer one */
	struct counter counters[2];
	struct ast_node_list statements;
	struct reference_list references;
	bool strange; /* something that isn't understood */
};

/* ---- the loops --------------------------------------------------------------------------------------------------- */

static bool counter_of(struct ast_node *loop, struct counter *counter)
{
	*counter = (struct counter){.loop = loop, .turns = -1};
	struct ast_node *init = loop->kind == AST_FOR ? loop->init : NULL;
	struct ast_node *condition = ast_strip(loop->condition), *increment = ast_strip(loop->increment);
	if (!init || !condition || !increment)
		return false;
	if (init->kind == AST_DECL_STMT && init->children.count == 1 && init->children.at[0]->kind == AST_VAR) {
		counter->decl = init->children.at[0];
		counter->from = counter->decl->init;
		counter->declared = true;
	} else if (init->kind == AST_ASSIGN && ast_child(init, 0)->kind == AST_REF) {
		counter->decl = init->children.at[0]->decl;
		counter->from = init->children.at[1];
	}
	if (!counter->decl || !counter->from || counter->decl->kind != AST_VAR || counter->decl->is_global || !counter->decl->type ||
	    counter->decl->type->kind != TYPE_INT)
		return false;
	bool up = increment->kind == AST_UNARY && (increment->op == OP_PRE_INC || increment->op == OP_POST_INC);
	struct ast_node *counted = up ? ast_strip(ast_child(increment, 0)) : NULL, *left = ast_strip(ast_child(condition, 0));
	if (!counted || counted->decl != counter->decl || condition->kind != AST_BINARY || (condition->op != OP_LT && condition->op != OP_LE) ||
	    !left || left->kind != AST_REF || left->decl != counter->decl)
		return false;
	counter->limit = ast_child(condition, 1);
	long long from, limit;
	if (node_constant(counter->from, &from) && node_constant(counter->limit, &limit) && limit >= from)
		counter->turns = limit - from + (condition->op == OP_LE);
	return counter->limit != NULL;
}

static bool is_assignment(const struct ast_node *node)
{
	return node->kind == AST_ASSIGN || node->kind == AST_COMPOUND_ASSIGN;
}

/* Two loops with nothing between them and nothing but assignments in them. */
static bool nest_of(struct nest *nest)
{
	struct ast_node *outer = nest->loop->node, *inner = outer->body;
	if (!counter_of(outer, &nest->counters[OUTER]))
		return false;
	if (inner && inner->kind == AST_COMPOUND && inner->children.count == 1)
		inner = inner->children.at[0];
	if (!inner || !counter_of(inner, &nest->counters[INNER]) || !inner->body)
		return false;
	if (inner->body->kind == AST_COMPOUND)
		for (size_t i = 0; i < inner->body->children.count; i++)
			list_push(nest->sink->arena, &nest->statements, ast_strip(inner->body->children.at[i]));
	else
		list_push(nest->sink->arena, &nest->statements, ast_strip(inner->body));
	for (size_t i = 0; i < nest->statements.count; i++)
		if (!is_assignment(nest->statements.at[i]))
			return false;
	/* Neither bound may change, nor depend on the other loop. */
	for (unsigned i = 0; i < 2; i++)
		if (!loop_keeps(nest->loop, nest->counters[i].from) || !loop_keeps(nest->loop, nest->counters[i].limit))
			return false;
	return nest->statements.count > 0 && nest->counters[OUTER].decl != nest->counters[INNER].decl;
}

/* ---- where the elements lie ---------------------------------------------------------------------------------------- */

static bool depends(const struct nest *nest, struct ast_node *node)
{
	for (unsigned i = 0; i < 2; i++) {
		struct ast_node name = {.kind = AST_REF, .decl = nest->counters[i].decl};
		if (node_mentions(node, &name))
			return true;
	}
	return false;
}

static bool linear_of(const struct nest *nest, struct ast_node *index, struct linear *linear)
{
	struct ast_node *node = ast_strip(index), *left = ast_child(node, 0), *right = ast_child(node, 1);
	*linear = (struct linear){0};
	if (!node)
		return false;
	if (node->kind == AST_CAST) /* a narrow one would wrap around */
		return node->type && node->type->kind == TYPE_INT && node->type->size >= 4 && linear_of(nest, left, linear);
	for (unsigned i = 0; i < 2; i++) {
		if (node->kind == AST_REF && node->decl == nest->counters[i].decl) {
			linear->factor[i] = 1;
			return true;
		}
	}
	if (!depends(nest, node))
		return node_constant(node, &(long long){0}) || loop_keeps(nest->loop, node);
	struct linear a, b;
	if (node->kind != AST_BINARY || !linear_of(nest, left, &a) || !linear_of(nest, right, &b))
		return false;
	long long constant = 0;
	switch (node->op) {
	case OP_ADD:
	case OP_SUB:
		for (unsigned i = 0; i < 2; i++) {
			linear->factor[i] = node->op == OP_ADD ? a.factor[i] + b.factor[i] : a.factor[i] - b.factor[i];
			linear->unknown[i] = a.unknown[i] || b.unknown[i];
		}
		return true;
	case OP_MUL: {
		bool first = depends(nest, left);
		if (first && depends(nest, right))
			return false;
		*linear = first ? a : b;
		bool known = node_constant(first ? right : left, &constant);
		for (unsigned i = 0; i < 2; i++) {
			linear->unknown[i] |= !known && linear->factor[i] != 0;
			linear->factor[i] *= known ? constant : 1;
		}
		return true;
	}
	default:
		return false;
	}
}

static bool reference_of(const struct nest *nest, struct ast_node *node, struct reference *reference)
{
	*reference = (struct reference){.node = node};
	for (struct ast_node *at = node; at; at = ast_strip(ast_child(at, 0))) {
		if (at->kind != AST_SUBSCRIPT) {
			reference->root = at;
			break;
		}
		struct linear linear;
		if (!linear_of(nest, ast_child(at, 1), &linear) || !at->type || (at == node && at->type->size <= 0))
			return false;
		/* A row that is found through a pointer lies anywhere; that of an array may be as long as a variable says. */
		bool somewhere = at != node && (at->type->kind == TYPE_POINTER || at->type->size <= 0);
		for (unsigned i = 0; i < 2; i++) {
			if (linear.unknown[i] || (somewhere && linear.factor[i] != 0) || reference->bytes[i] == LLONG_MAX)
				reference->bytes[i] = LLONG_MAX;
			else
				reference->bytes[i] += llabs(linear.factor[i]) * at->type->size;
		}
	}
	for (unsigned i = 0; i < 2; i++)
		reference->stride[i] = reference->bytes[i] == 0            ? STRIDE_NONE
		                       : reference->bytes[i] < LINE_BYTES ? STRIDE_NEAR
		                                                          : STRIDE_FAR;
	return reference->root && (reference->root->kind == AST_REF || reference->root->kind == AST_MEMBER) &&
	       loop_same_place(nest->loop, reference->root) && !depends(nest, reference->root);
}

/* A row's length that is a handful: elements of a pixel, coordinates of a point. */
static bool has_short_rows(const struct nest *nest, struct ast_node *node)
{
	static const char *const words[] = {"channels", "channel", "nchannels", "chan", "ch", "components", "comp", "ncomp", "bpp",
	                                    "planes", "dim", "dims", "ndim", "samples", "width_bytes", "lanes", NULL};
	const char *text = ast_text(nest->unit, &node->range);
	for (size_t i = 0; text && words[i]; i++)
		if (name_has_word(text, words[i]))
			return true;
	return false;
}

static bool collect(struct ast_node *node, void *context)
{
	struct nest *nest = context;
	if (nest->strange)
		return false;
	switch (node->kind) {
	case AST_SUBSCRIPT: {
		struct reference reference;
		if (!reference_of(nest, node, &reference) || has_short_rows(nest, node))
			nest->strange = true;
		else
			list_push(nest->sink->arena, &nest->references, reference);
		return false;
	}
	case AST_MEMBER: /* of an element; another record's must be the same all the time, and is not written here */
		if (node->arrow && (depends(nest, node) || !loop_keeps(nest->loop, node)))
			nest->strange = true;
		return !node->arrow;
	case AST_UNARY:
		nest->strange = node->op == OP_DEREF || node->op == OP_ADDRESS || node_is_increment(node);
		return true;
	case AST_ASSIGN:
	case AST_COMPOUND_ASSIGN: { /* only as the statement itself */
		bool statement = false;
		for (size_t i = 0; i < nest->statements.count; i++)
			statement |= nest->statements.at[i] == node;
		nest->strange = !statement;
		return true;
	}
	case AST_CALL:
	case AST_STMT_EXPR:
		nest->strange = true;
		return false;
	default:
		return true;
	}
}

/* ---- whether they may be turned around --------------------------------------------------------------------------- */

static const struct reference *reference_at(const struct nest *nest, const struct ast_node *node)
{
	for (size_t i = 0; i < nest->references.count; i++)
		if (nest->references.at[i].node == node)
			return &nest->references.at[i];
	return NULL;
}

/* How often the variable is named in the nest's body. */
struct namings {
	const struct ast_node *decl;
	unsigned count;
};

static bool namings_visit(struct ast_node *node, void *context)
{
	struct namings *namings = context;
	namings->count += node->kind == AST_REF && node->decl == namings->decl;
	return true;
}

/* x += v, or x = x + v: what is added; NULL: no sum. *ret_itself: where x stands on the right side, or NULL. */
static struct ast_node *summand_of(const struct ast_node *statement, struct ast_node **ret_itself)
{
	struct ast_node *value = ast_strip(ast_child(statement, 1));
	*ret_itself = NULL;
	if (statement->kind == AST_COMPOUND_ASSIGN)
		return value;
	if (!value || value->kind != AST_BINARY || (value->op != OP_ADD && value->op != OP_SUB) ||
	    !path_equal(ast_child(value, 0), ast_child(statement, 0)))
		return NULL;
	*ret_itself = ast_strip(ast_child(value, 0));
	return ast_child(value, 1);
}

/* A sum of whole numbers, which comes out the same in any order. */
static bool is_whole_sum(const struct nest *nest, const struct ast_node *statement, const struct ast_node *target)
{
	struct ast_node *itself, *value = summand_of(statement, &itself);
	bool any_order = itself || statement->op == OP_ADD || statement->op == OP_SUB || statement->op == OP_AND ||
	                 statement->op == OP_OR || statement->op == OP_XOR;
	if (!value || !any_order || target->kind != AST_REF || target->is_global || !target->decl || target->decl->kind != AST_VAR ||
	    !target->type || target->type->kind != TYPE_INT || target->type->is_volatile)
		return false;
	struct namings namings = {.decl = target->decl};
	for (size_t i = 0; i < nest->statements.count; i++)
		ast_walk(nest->statements.at[i], namings_visit, &namings);
	return namings.count == (itself ? 2 : 1) && value->type && value->type->kind != TYPE_FLOAT &&
	       !loop_declares(nest->loop, target->decl);
}

/* What is written here is an element that no other turn touches, or a sum whose parts come in the same order as before. */
static bool is_movable(const struct nest *nest, const struct ast_node *statement)
{
	struct ast_node *target = ast_strip(ast_child(statement, 0));
	while (target && target->kind == AST_MEMBER && !target->arrow) /* a field of an element */
		target = ast_strip(ast_child(target, 0));
	const struct reference *written = target ? reference_at(nest, target) : NULL;
	if (!target)
		return false;
	if (!written)
		return is_whole_sum(nest, statement, target);
	bool own = written->stride[OUTER] != STRIDE_NONE && written->stride[INNER] == STRIDE_FAR;
	bool sum = (written->stride[OUTER] == STRIDE_NONE) != (written->stride[INNER] == STRIDE_NONE);
	struct ast_node *itself = NULL;
	if (!own && !(sum && summand_of(statement, &itself)))
		return false;
	for (size_t i = 0; i < nest->references.count; i++) {
		const struct reference *other = &nest->references.at[i];
		if (other != written && other->node != itself && path_equal(other->root, written->root) && (!own || !path_equal(other->node, written->node)))
			return false;
	}
	return true;
}

static bool is_array(const struct ast_node *root)
{
	const struct ast_type *type = root->type;
	return root->kind == AST_REF && root->decl && type &&
	       ((type->kind == TYPE_ARRAY && root->decl->kind == AST_VAR) || type->is_restrict || (root->decl->type && root->decl->type->is_restrict));
}

/* Whether it is known that what is written and what is read lie apart. */
static bool lie_apart(const struct nest *nest)
{
	for (size_t i = 0; i < nest->statements.count; i++) {
		const struct ast_node *target = ast_strip(ast_child(nest->statements.at[i], 0));
		const struct reference *written = reference_at(nest, target);
		for (size_t k = 0; written && k < nest->references.count; k++) {
			const struct reference *other = &nest->references.at[k];
			if (!path_equal(other->root, written->root) && !(is_array(other->root) && is_array(written->root)))
				return false;
		}
		/* Its rows may overlap, too, unless they are declared as such. */
		bool rows = written && ast_strip(ast_child(written->node, 0))->kind == AST_SUBSCRIPT;
		if (written && !(is_array(written->root) && (rows || written->stride[INNER] != STRIDE_FAR)))
			return false;
	}
	return true;
}

/* ---- the candidate --------------------------------------------------------------------------------------------- */

/* The text between the parentheses of a `for`, when it is on one line. */
static bool header_of(const struct nest *nest, const struct ast_node *loop, size_t *ret_offset, size_t *ret_length)
{
	size_t size = 0, begin = loop->range.offset;
	const char *text = loop->range.file ? ast_file_text(nest->unit, loop->range.file, &size) : NULL;
	if (!text || loop->range.edge_in_macro || begin + 3 > size || !text_starts(text + begin, "for"))
		return false;
	begin += 3 + strspn(text + begin + 3, " \t");
	if (text[begin] != '(')
		return false;
	int depth = 0;
	for (size_t at = begin; at < size; at++) {
		if (strchr("\n\"'", text[at]) || (text[at] == '/' && strchr("/*", text[at + 1])))
			return false;
		depth += (text[at] == '(') - (text[at] == ')');
		if (depth == 0) {
			*ret_offset = begin + 1;
			*ret_length = at - begin - 1;
			return true;
		}
	}
	return false;
}

struct uses {
	const struct nest *nest;
	const struct ast_node *decl;
	bool outside;
};

/* A counter's value that is read behind the nest: there it may be another. */
static bool uses_visit(struct ast_node *node, void *context)
{
	struct uses *uses = context;
	if (node == uses->nest->loop->node)
		return false;
	bool set = false;
	for (const struct ast_node *at = node; node->kind == AST_REF && node->decl == uses->decl && at; at = at->parent) {
		struct counter counter;
		set |= at->kind == AST_FOR && counter_of((struct ast_node *)at, &counter) && counter.decl == uses->decl;
	}
	uses->outside |= node->kind == AST_REF && node->decl == uses->decl && !set;
	return !uses->outside;
}

static bool put_candidate(struct nest *nest, struct finding *finding)
{
	size_t offset[2], length[2], size = 0;
	for (unsigned i = 0; i < 2; i++) {
		struct uses uses = {.nest = nest, .decl = nest->counters[i].decl};
		if (!header_of(nest, nest->counters[i].loop, &offset[i], &length[i]))
			return false;
		if (!nest->counters[i].declared)
			ast_walk(nest->loop->function->body, uses_visit, &uses);
		if (uses.outside)
			return false;
	}
	const char *text = ast_file_text(nest->unit, nest->loop->node->range.file, &size);
	for (unsigned i = 0; i < 2; i++)
		finding_edit(nest->sink, finding, offset[i], length[i],
		             arena_strndup(nest->sink->arena, text + offset[!i], length[!i]));
	return true;
}

/* ---- the finding ------------------------------------------------------------------------------------------------- */

/* A directive on the line before: somebody has thought about which loop is the outer one. */
static bool has_directive(const struct nest *nest)
{
	size_t size = 0, at = nest->loop->node->range.offset;
	const char *text = nest->loop->node->range.file ? ast_file_text(nest->unit, nest->loop->node->range.file, &size) : NULL;
	if (!text || at > size)
		return true;
	while (at > 0 && strchr(" \t\r\n", text[at - 1]))
		at--;
	while (at > 0 && text[at - 1] != '\n')
		at--;
	at += strspn(text + at, " \t");
	return text[at] == '#' || text_starts(text + at, "_Pragma");
}

/* Whether the lines that a turn of the outer loop takes are still there in the next one. */
static bool stays_near(const struct nest *nest, const struct reference *strided)
{
	long long rows = nest->counters[INNER].turns, columns = nest->counters[OUTER].turns;
	if ((rows >= 0 && rows <= FEW_ROWS) || (columns >= 0 && columns <= FEW_COLUMNS))
		return true;
	return rows >= 0 && strided->bytes[INNER] != LLONG_MAX && strided->bytes[INNER] <= CACHE_BYTES / rows;
}

static void detect_loop(struct loop *loop, void *context)
{
	struct nest nest = *(const struct nest *)context;
	nest.loop = loop;
	if (loop->node->kind != AST_FOR || !loop->has_inner_loop || loop->has_barrier || loop->has_branch || loop->calls.count ||
	    loop->strlens.count || !nest_of(&nest))
		return;
	for (size_t i = 0; i < nest.statements.count && !nest.strange; i++)
		ast_walk(nest.statements.at[i], collect, &nest);
	const struct reference *strided = NULL;
	for (size_t i = 0; i < nest.references.count && !nest.strange; i++) {
		const struct reference *reference = &nest.references.at[i];
		if (reference->stride[OUTER] == STRIDE_FAR)
			return; /* then that one has a stride the other way around */
		if (reference->stride[INNER] == STRIDE_FAR && reference->stride[OUTER] == STRIDE_NEAR && !strided)
			strided = reference;
	}
	if (nest.strange || !strided || stays_near(&nest, strided) || loop_heat(loop) == HEAT_COLD || has_directive(&nest))
		return;
	for (size_t i = 0; i < nest.statements.count; i++)
		if (!is_movable(&nest, nest.statements.at[i]))
			return;
	struct arena *arena = nest.sink->arena;
	const char *step = strided->bytes[INNER] == LLONG_MAX ? "a row" : arena_printf(arena, "%lld bytes", strided->bytes[INNER]);
	struct finding *finding = finding_new(
	    nest.sink, nest.unit, &pattern_s08, &nest.counters[INNER].loop->range, loop->function->name, SEVERITY_MEDIUM,
	    arena_printf(arena, "the inner loop goes down a column of `%s`: %s from one turn to the next",
	                 node_text(nest.unit, strided->root, arena), step));
	if (!put_candidate(&nest, finding)) {
		finding->evidence = "advice: turn the two loops around";
		return;
	}
	finding->evidence = "turned around, every access goes on to the next element or stays, and each element is worked out as before";
	if (!lie_apart(&nest))
		finding->contract = "what the loop writes overlaps nothing else that it reads, nor one row the next";
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	struct arena arena;
	arena_init(&arena);
	struct nest nest = {.unit = unit, .sink = sink};
	loops_visit(unit, &arena, detect_loop, &nest);
	arena_release(&arena);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>

enum { ROWS = 700, COLUMNS = 500 };

struct image {
	uint32_t pixels[ROWS][COLUMNS];
};

static __attribute__((noinline)) void brighten(uint32_t (*pixels)[COLUMNS], size_t rows, size_t columns, uint32_t by)
{
	for (size_t x = 0; x < columns; x++)
		for (size_t y = 0; y < rows; y++) // finds
			pixels[y][x] = pixels[y][x] * 3 + by;
}

static void *setup(struct assay_bench *b)
{
	struct image *image = calloc(1, sizeof *image);
	assay_fill_random(b, image, sizeof *image);
	assay_bytes_per_iteration(b, sizeof *image);
	return image;
}

static void run(void *state, uint64_t iterations)
{
	struct image *image = state;
	for (uint64_t i = 0; i < iterations; i++) {
		brighten(image->pixels, ROWS, COLUMNS, (uint32_t)i);
		assay_keep(image);
	}
}

static void output(void *state, struct assay_bench *b)
{
	const struct image *image = state;
	assay_output(b, "pixels", image->pixels, sizeof image->pixels);
}

static void edges(void *state, struct assay_bench *b)
{
	struct image *image = state;
	brighten(image->pixels, 0, COLUMNS, 7);
	brighten(image->pixels, ROWS, 0, 7);
	brighten(image->pixels, 1, COLUMNS, 7);
	brighten(image->pixels, ROWS, 1, 7);
	output(image, b);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges, .teardown = free};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>

enum { ROWS = 700, COLUMNS = 500 };

struct image {
	uint32_t pixels[ROWS][COLUMNS];
};

static __attribute__((noinline)) void brighten(uint32_t (*pixels)[COLUMNS], size_t rows, size_t columns, uint32_t by)
{
	for (size_t y = 0; y < rows; y++)
		for (size_t x = 0; x < columns; x++) // finds
			pixels[y][x] = pixels[y][x] * 3 + by;
}

static void *setup(struct assay_bench *b)
{
	struct image *image = calloc(1, sizeof *image);
	assay_fill_random(b, image, sizeof *image);
	assay_bytes_per_iteration(b, sizeof *image);
	return image;
}

static void run(void *state, uint64_t iterations)
{
	struct image *image = state;
	for (uint64_t i = 0; i < iterations; i++) {
		brighten(image->pixels, ROWS, COLUMNS, (uint32_t)i);
		assay_keep(image);
	}
}

static void output(void *state, struct assay_bench *b)
{
	const struct image *image = state;
	assay_output(b, "pixels", image->pixels, sizeof image->pixels);
}

static void edges(void *state, struct assay_bench *b)
{
	struct image *image = state;
	brighten(image->pixels, 0, COLUMNS, 7);
	brighten(image->pixels, ROWS, 0, 7);
	brighten(image->pixels, 1, COLUMNS, 7);
	brighten(image->pixels, ROWS, 1, 7);
	output(image, b);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges, .teardown = free};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdlib.h>

enum { ROWS = 700, COLUMNS = 500 };

/* A transposition: one of the two has a stride in either order. */
struct image {
	uint32_t pixels[ROWS][COLUMNS], turned[COLUMNS][ROWS];
};

static __attribute__((noinline)) void transpose(struct image *image)
{
	for (size_t x = 0; x < COLUMNS; x++)
		for (size_t y = 0; y < ROWS; y++)
			image->turned[x][y] = image->pixels[y][x];
}

static void *setup(struct assay_bench *b)
{
	struct image *image = calloc(1, sizeof *image);
	assay_fill_random(b, image->pixels, sizeof image->pixels);
	return image;
}

static void run(void *state, uint64_t iterations)
{
	struct image *image = state;
	for (uint64_t i = 0; i < iterations; i++) {
		transpose(image);
		assay_keep(image);
	}
}

static void output(void *state, struct assay_bench *b)
{
	const struct image *image = state;
	assay_output(b, "turned", image->turned, sizeof image->turned);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .teardown = free};
#endif

#if 0 /* assay example: also other ways to write it */
#include <stddef.h>
#include <stdint.h>

enum { N = 1000 };
static double grid[N][N], other[N][N];
struct matrix {
	size_t rows, stride;
	float *cells;
};

void grid_mean(void)
{
	int i, j;
	for (i = 0; i < N; i++)
		for (j = 0; j < N; j++) { // finds
			grid[j][i] += other[j][i];
			grid[j][i] *= 0.5;
		}
}
uint64_t cells_sum(const uint8_t *cells, size_t rows, size_t n)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < rows; j++) // finds
			sum += cells[j * n + i];
	return sum;
}
/* Each sum is added up from the first row to the last, in either order. */
void column_sums(double *sums, double *const *rows, size_t row_count, size_t column_count)
{
	for (size_t i = 0; i < column_count; i++)
		for (size_t j = 0; j < row_count; ++j) // finds
			sums[i] = sums[i] + rows[j][i];
}
void multiply(double (*restrict c)[N], const double (*a)[N], const double (*b)[N], int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			for (int k = 0; k < n; k++) // finds
				c[i][j] += a[i][k] * b[k][j];
}
void scale(struct matrix *matrix, size_t columns, float by)
{
	for (size_t i = 0; i < columns; i++)
		for (size_t j = 0; j < matrix->rows; j++) // finds
			matrix->cells[j * matrix->stride + i] *= by;
}
#endif

#if 0 /* assay example: also other ways to write it fixed */
#include <stddef.h>
#include <stdint.h>

enum { N = 1000 };
static double grid[N][N], other[N][N];
struct matrix {
	size_t rows, stride;
	float *cells;
};

void grid_mean(void)
{
	int i, j;
	for (j = 0; j < N; j++)
		for (i = 0; i < N; i++) { // finds
			grid[j][i] += other[j][i];
			grid[j][i] *= 0.5;
		}
}
uint64_t cells_sum(const uint8_t *cells, size_t rows, size_t n)
{
	uint64_t sum = 0;
	for (size_t j = 0; j < rows; j++)
		for (size_t i = 0; i < n; i++) // finds
			sum += cells[j * n + i];
	return sum;
}
/* Each sum is added up from the first row to the last, in either order. */
void column_sums(double *sums, double *const *rows, size_t row_count, size_t column_count)
{
	for (size_t j = 0; j < row_count; ++j)
		for (size_t i = 0; i < column_count; i++) // finds
			sums[i] = sums[i] + rows[j][i];
}
void multiply(double (*restrict c)[N], const double (*a)[N], const double (*b)[N], int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			for (int j = 0; j < n; j++) // finds
				c[i][j] += a[i][k] * b[k][j];
}
void scale(struct matrix *matrix, size_t columns, float by)
{
	for (size_t j = 0; j < matrix->rows; j++)
		for (size_t i = 0; i < columns; i++) // finds
			matrix->cells[j * matrix->stride + i] *= by;
}
#endif

#if 0 /* assay example: lookalike what can not be turned around */
#include <stddef.h>
#include <stdint.h>

enum { N = 1000 };
static double grid[N][N], line[N];
static uint32_t counts[N][N], last[N];
double next(void);

/* Another order rounds otherwise. */
double total(void)
{
	double sum = 0;
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			sum += grid[j][i];
	return sum;
}
/* Each element is made of its neighbours. */
void smooth(void)
{
	for (size_t i = 1; i < N; i++)
		for (size_t j = 1; j < N; j++)
			grid[j][i] = grid[j - 1][i - 1] + grid[j][i];
}
void lower(void)
{
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < i; j++)
			grid[j][i] = 0;
}
void fill(void)
{
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			grid[j][i] = next();
}
void column_means(void)
{
	for (size_t i = 0; i < N; i++) {
		double sum = 0;
		for (size_t j = 0; j < N; j++)
			sum += grid[j][i];
		line[i] = sum / N;
	}
}
size_t first_empty(void)
{
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			if (!counts[j][i])
				return i;
	return N;
}
/* The last one stays. */
void keep_last(void)
{
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			last[i + j] = counts[j][i];
}
uint64_t digest(void)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			hash = hash * 31 + counts[j][i];
	return hash;
}
#endif

#if 0 /* assay example: lookalike what is near */
#include <stddef.h>
#include <stdint.h>

enum { N = 1000 };
static double grid[N][N], small[16][16], wide[8][N], narrow[N][4];
static uint32_t sum;

void add_rows(void)
{
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			grid[i][j] += 1;
}
/* 2 KB: they stay in the first-level cache. */
void add_small(void)
{
	for (size_t turn = 0; turn < N; turn++)
		for (size_t i = 0; i < 16; i++)
			for (size_t j = 0; j < 16; j++)
				small[j][i] += 1;
}
/* Eight lines at once are no more than streams. */
void add_wide(void)
{
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < 8; j++)
			wide[j][i] += 1;
}
void add_narrow(void)
{
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < N; j++)
			narrow[j][i] += 1;
}
/* The channels of a pixel. */
void gain(uint8_t *pixels, size_t count, size_t channels, uint8_t by)
{
	for (size_t i = 0; i < channels; i++)
		for (size_t j = 0; j < count; j++)
			pixels[j * channels + i] += by;
}
void gain_three(uint8_t *pixels, size_t count, uint8_t by)
{
	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < count; j++)
			pixels[j * 3 + i] += by;
}
void transpose(double *to, const double *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			to[i * n + j] = from[j * n + i];
}
void grid_init(void)
{
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			grid[j][i] = 1;
	(void)sum;
}
#endif
