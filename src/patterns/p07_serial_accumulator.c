/* P07 serial-accumulator: a loop that can't go faster than one floating-point addition after the other.
 *
 * Floating-point addition is not associative, so a compiler must add in the order that is written: each addition waits
 * for the one before, 3 to 5 cycles on today's cores, which could begin two in each cycle. With -ffast-math or
 * -fassociative-math the compiler splits the sum by itself, and integer sums are split anyway: both stay silent. So do
 * loops in which something else is the slowest part (a division, a chase along a list, a branch, stores), sums of more
 * than one accumulator, and loops of a few iterations.
 *
 * Hashes of one multiplication a byte are the same chain in integers, but there the result is a contract with the
 * outside: a remark, no candidate.
 */
#include "patterns/query.h"

#include "base/text.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

enum { FEW_ITERATIONS = 16, MUCH_WORK = 16, LANES = 4 };

const struct pattern pattern_p07 = {
    .id = "P07",
    .slug = "serial-accumulator",
    .title = "a floating-point sum in one chain of additions",
    .tier = TIER_B,
    .what = "An innermost loop that only adds to one floating-point variable (or takes a minimum or maximum, or a fused "
            "multiply-add), compiled without -ffast-math. Of integers only hashes of one multiplication a byte.",
    .why = "Every addition has to wait for the one before, some 4 cycles, while the core could do two a cycle and, as vector "
           "code, eight or more. The compiler may not split the sum, since rounding would change.",
    .when_not = "The result must stay the same to the last bit; the loop is short; the data come from memory that is slower "
                "than the chain.",
    .expected = "about 4x for a sum or dot product of doubles in the first-level cache (catalogue's own measurement); nothing "
                "where the data come from main memory",
    .refuted_by = "Time on the real data: a loop that waits for memory does not wait for the additions.",
    .sources = (const char *const[]){"Randal Bryant and David O'Hallaron, Computer Systems: A Programmer's Perspective, 3rd "
                                     "edition, 2016, sections 5.8 and 5.9 (multiple accumulators)",
                                     "Agner Fog, Instruction tables (latency of ADDSD), edition of 2023",
                                     "Nicholas Higham, The accuracy of floating point summation, SIAM Journal on Scientific "
                                     "Computing 14, 1993 (what another order does to the error)",
                                     NULL},
    .detect = detect,
};

struct detection {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
};

enum chain_kind { CHAIN_NONE, CHAIN_ADD, CHAIN_EXTREME };

struct chain {
	enum chain_kind kind;
	struct ast_node *sum, *site, *value; /* the variable, what assigns it, what is added */
};

static bool is_fma(const struct ast_node *call)
{
	static const char *const names[] = {"fma", "fmaf", "__builtin_fma", "__builtin_fmaf", NULL};
	return call->kind == AST_CALL && call_is(call, names);
}

static bool is_extreme(const struct ast_node *call)
{
	static const char *const names[] = {"fmin", "fminf", "fmax", "fmaxf", "__builtin_fmin", "__builtin_fmax", NULL};
	return call->kind == AST_CALL && call_is(call, names);
}

/* ---- what the loop does ------------------------------------------------------------------------------------------ */

static bool is_comparison(const struct ast_node *node)
{
	return node && node->kind == AST_BINARY && node->op >= OP_LT && node->op <= OP_GE;
}

/* The form of one assignment to a variable that it also reads. */
static struct chain chain_at(struct ast_node *sum, struct ast_node *site)
{
	struct chain chain = {.sum = sum, .site = site};
	struct ast_node *right = ast_operand(site, 1), *up = site->parent;
	if (site->kind == AST_COMPOUND_ASSIGN) {
		chain.kind = site->op == OP_ADD || site->op == OP_SUB ? CHAIN_ADD : CHAIN_NONE;
		chain.value = right;
		return chain;
	}
	if (site->kind != AST_ASSIGN || !right)
		return chain;
	if (right->kind == AST_BINARY && (right->op == OP_ADD || right->op == OP_SUB) && path_equal(ast_operand(right, 0), sum)) {
		chain.kind = CHAIN_ADD;
		chain.value = ast_operand(right, 1);
	} else if (right->kind == AST_BINARY && right->op == OP_ADD && path_equal(ast_operand(right, 1), sum)) {
		chain.kind = CHAIN_ADD;
		chain.value = ast_operand(right, 0);
	} else if (is_fma(right) && path_equal(call_argument(right, 2), sum)) {
		chain.kind = CHAIN_ADD;
		chain.value = right;
	} else if (is_extreme(right) && (path_equal(call_argument(right, 0), sum) || path_equal(call_argument(right, 1), sum))) {
		chain.kind = CHAIN_EXTREME;
		chain.value = right;
	} else if (right->kind == AST_CONDITIONAL && is_comparison(ast_operand(right, 0)) && node_mentions(ast_operand(right, 0), sum) &&
	           (path_equal(ast_operand(right, 1), sum) || path_equal(ast_operand(right, 2), sum))) {
		chain.kind = CHAIN_EXTREME;
		chain.value = right;
	} else {
		/* if (a[i] > most) most = a[i]; */
		if (up && up->kind == AST_COMPOUND && up->children.count == 1)
			up = up->parent;
		struct ast_node *condition = up && up->kind == AST_IF && !up->otherwise ? ast_strip(up->condition) : NULL;
		if (is_comparison(condition) && ((path_equal(ast_operand(condition, 0), sum) && path_equal(ast_operand(condition, 1), right)) ||
		                                 (path_equal(ast_operand(condition, 1), sum) && path_equal(ast_operand(condition, 0), right)))) {
			chain.kind = CHAIN_EXTREME;
			chain.value = right;
		}
	}
	return chain;
}

/* A float or double of this function that outlives the loop. */
static bool is_accumulator(const struct loop *loop, const struct ast_node *node)
{
	const struct ast_type *type = node->type;
	return node->kind == AST_REF && node->decl && !node->is_global && type && type->kind == TYPE_FLOAT && type->size <= 8 &&
	       !type->is_volatile && !loop_declares(loop, node->decl);
}

static struct chain chain_of(const struct loop *loop)
{
	struct chain chain = {0};
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct ast_node *write = loop->writes.at[i], *site = loop->write_sites.at[i];
		if (loop->node->init && node_holds(loop->node->init, site))
			continue;
		if (is_accumulator(loop, write)) {
			bool again = site->kind != AST_ASSIGN || node_mentions(site->children.at[1], write);
			struct chain found = chain_at(write, site);
			if (!again && found.kind == CHAIN_NONE)
				continue; /* set anew in each iteration */
			if (chain.kind != CHAIN_NONE || found.kind == CHAIN_NONE)
				return (struct chain){0}; /* more than one chain, or another kind of one */
			chain = found;
			continue;
		}
		/* Beside it only counters and pointers that go on by steps. */
		struct access access = access_of(write);
		bool step = node_is_increment(site) || (site->kind == AST_COMPOUND_ASSIGN && (site->op == OP_ADD || site->op == OP_SUB));
		if (access.pointer || !access_is_private(&access) || write->kind != AST_REF ||
		    (!step && write->type && write->type->kind != TYPE_FLOAT))
			return (struct chain){0};
	}
	return chain;
}

struct work {
	struct ast_node *sum;
	unsigned operations, reads_of_sum;
	bool slow, memory;
};

static bool work_visit(struct ast_node *node, void *context)
{
	struct work *work = context;
	work->operations += node->kind == AST_BINARY || node->kind == AST_COMPOUND_ASSIGN || node->kind == AST_CALL ||
	                    node->kind == AST_SUBSCRIPT;
	work->slow |= (node->kind == AST_BINARY || node->kind == AST_COMPOUND_ASSIGN) && (node->op == OP_DIV || node->op == OP_REM);
	work->slow |= node->kind == AST_CALL && !is_fma(node) && !is_extreme(node);
	work->memory |= node->kind == AST_SUBSCRIPT || (node->kind == AST_UNARY && node->op == OP_DEREF);
	work->reads_of_sum += node->kind == AST_REF && node->decl == work->sum->decl;
	return true;
}

/* A pragma right above that lets the compiler split the sum, or a file that asks for it as a whole. */
static bool is_relaxed(const struct loop *loop)
{
	static const char *const words[] = {"fast-math", "associative-math", "reassociate", NULL};
	size_t size, begin = loop->node->range.offset;
	const char *text = loop->node->range.file ? ast_file_text(loop->unit, loop->node->range.file, &size) : NULL;
	if (!text || begin > size)
		return true;
	for (size_t i = 0; words[i]; i++)
		if (strstr(text, words[i]))
			return true;
	while (begin > 0 && text[begin - 1] != '\n')
		begin--;
	for (unsigned lines = 0; lines < 3 && begin > 0; lines++) {
		size_t end = --begin;
		while (begin > 0 && text[begin - 1] != '\n')
			begin--;
		size_t blanks = strspn(text + begin, " \t");
		if (begin + blanks < end && text[begin + blanks] == '#')
			return memmem(text + begin, end - begin, "pragma", 6) != NULL;
		if (begin + blanks < end)
			return false;
	}
	return false;
}

/* ---- the candidate ----------------------------------------------------------------------------------------------- */

struct rewriting {
	const struct ast_unit *unit;
	struct arena *arena;
	const struct ast_node *sum, *index;
	const char *sum_name;
	unsigned lane;
	size_t from;
	const char *text;
	char *out;
};

static bool rewrite_visit(struct ast_node *node, void *context)
{
	struct rewriting *rewriting = context;
	bool is_sum = node->kind == AST_REF && node->decl == rewriting->sum->decl;
	bool is_index = node->kind == AST_REF && node->decl == rewriting->index;
	if (!is_sum && !is_index)
		return true;
	bool alone = node->parent->kind == AST_SUBSCRIPT && node->parent->children.at[1] == node;
	const char *with = is_sum  ? rewriting->sum_name
	                   : alone ? arena_printf(rewriting->arena, "%s + %u", node->name, rewriting->lane)
	                           : arena_printf(rewriting->arena, "(%s + %u)", node->name, rewriting->lane);
	rewriting->out = arena_printf(rewriting->arena, "%s%.*s%s", rewriting->out, (int)(node->range.offset - rewriting->from),
	                              rewriting->text, with);
	rewriting->text += node->range.end_offset - rewriting->from;
	rewriting->from = node->range.end_offset;
	return true;
}

/* The statement for lane 1, 2, 3. The tree is in the order of the text. */
static const char *rewrite(const struct detection *detection, const struct chain *chain, const struct ast_node *index,
                           const char *sum_name, unsigned lane)
{
	const char *text = ast_text(detection->unit, &chain->site->range);
	struct rewriting rewriting = {.unit = detection->unit, .arena = detection->sink->arena, .sum = chain->sum, .index = index,
	                              .sum_name = sum_name, .lane = lane, .from = chain->site->range.offset, .text = text, .out = ""};
	ast_walk(chain->site, rewrite_visit, &rewriting);
	return arena_printf(detection->sink->arena, "%s%s", rewriting.out, rewriting.text);
}

struct counted {
	struct ast_node *index; /* the declaration */
	struct ast_node *limit;
	struct ast_node *from; /* the 0 that it starts at */
	bool declared;         /* by the loop itself */
};

/* for (i = 0; i < n; i++) */
static bool is_counted(const struct loop *loop, struct counted *ret_counted)
{
	struct ast_node *init = loop->node->init, *condition = ast_strip(loop->node->condition);
	struct ast_node *step = ast_strip(loop->node->increment);
	struct ast_node *from = NULL, *index = NULL;
	if (!init || !condition || !step || loop->node->kind != AST_FOR)
		return false;
	if (init->kind == AST_DECL_STMT && init->children.count == 1 && init->children.at[0]->kind == AST_VAR) {
		index = init->children.at[0];
		from = index->init;
	} else if (init->kind == AST_ASSIGN && ast_operand(init, 0) && ast_operand(init, 0)->kind == AST_REF) {
		index = ast_operand(init, 0)->decl;
		from = init->children.at[1];
	}
	struct ast_node *left = ast_operand(condition, 0);
	bool steps = step->kind == AST_UNARY && (step->op == OP_PRE_INC || step->op == OP_POST_INC);
	if (!index || !from || !node_is_zero(from) || condition->kind != AST_BINARY || condition->op != OP_LT || !left ||
	    left->kind != AST_REF || left->decl != index || !steps || !ast_operand(step, 0) || ast_operand(step, 0)->decl != index ||
	    index->is_global || !index->type || index->type->kind != TYPE_INT || !loop_keeps(loop, condition->children.at[1]))
		return false;
	*ret_counted = (struct counted){index, ast_strip(condition->children.at[1]), from, init->kind == AST_DECL_STMT};
	return true;
}

static bool put_candidate(struct detection *detection, const struct loop *loop, const struct chain *chain, struct finding *finding)
{
	struct arena *arena = detection->sink->arena;
	const struct ast_unit *unit = detection->unit;
	struct counted counted;
	struct ast_node *body = loop->node->body, *site = chain->site;
	bool braces = body && body->kind == AST_COMPOUND;
	if (chain->kind != CHAIN_ADD || !is_counted(loop, &counted) || !loop_takes_declaration(loop) || loop->node->range.in_macro ||
	    (braces ? body->children.count != 1 || body->children.at[0] != site : body != site))
		return false;
	const char *sum = chain->sum->name, *index = counted.index->name, *names[LANES] = {sum};
	const char *type = chain->sum->type->spelling;
	for (unsigned k = 1; k < LANES; k++)
		if (!(names[k] = free_name(loop, arena, arena_printf(arena, "%s%u", sum, k))))
			return false;
	const char *limit = ast_text(unit, &counted.limit->range), *statement = ast_text(unit, &site->range);
	const char *condition = ast_text(unit, &loop->node->condition->range), *step = ast_text(unit, &loop->node->increment->range);
	size_t size;
	const char *text = ast_file_text(unit, loop->node->range.file, &size);
	if (!text || !limit || !statement || !condition || !step || strchr(limit, '\n') || strchr(statement, '\n') ||
	    (!text_equal(type, "double") && !text_equal(type, "float")))
		return false;
	if (counted.limit->kind == AST_BINARY || counted.limit->kind == AST_CONDITIONAL || counted.limit->kind == AST_UNARY)
		limit = arena_printf(arena, "(%s)", limit);
	size_t close = loop->node->increment->range.end_offset;
	const char *indent = line_indent(arena, text, loop->node->range.offset);
	close += strspn(text + close, " \t");
	if (text[close] != ')')
		return false;
	size_t gap = close + 1 + strspn(text + close + 1, " \t");
	bool one_line = !braces && gap == site->range.offset;

	const char *start = "";
	if (counted.declared) {
		const char *declaration = ast_text(unit, &loop->node->init->range);
		size_t from = loop->node->init->range.offset;
		if (!declaration || counted.from->range.offset < from)
			return false;
		start = arena_printf(arena, "%.*s%s / 4 * 4", (int)(counted.from->range.offset - from), declaration, limit);
	}
	struct string_list before = {0}, after = {0};
	list_push(arena, &before, arena_printf(arena, "%s %s = 0, %s = 0, %s = 0;", type, names[1], names[2], names[3]));
	if (!braces)
		list_push(arena, &after, "}");
	list_push(arena, &after, arena_printf(arena, "for (%s; %s; %s)", start, condition, step));
	list_push(arena, &after, arena_printf(arena, "\t%s;", statement));
	list_push(arena, &after, arena_printf(arena, "%s += %s + %s + %s;", sum, names[1], names[2], names[3]));
	if (!loop_append(loop, detection->sink, finding, &after))
		return false;
	loop_declare(loop, detection->sink, finding, &before);
	const struct ast_range *range = &loop->node->condition->range;
	finding_edit(detection->sink, finding, range->offset, range->end_offset - range->offset,
	             arena_printf(arena, "%s - %s >= 4", limit, index));
	range = &loop->node->increment->range;
	finding_edit(detection->sink, finding, range->offset, range->end_offset - range->offset, arena_printf(arena, "%s += 4", index));
	if (!braces)
		finding_edit(detection->sink, finding, close + 1, one_line ? gap - close - 1 : 0,
		             one_line ? arena_printf(arena, " {\n%s\t", indent) : " {");
	char *lanes = "";
	for (unsigned k = 1; k < LANES; k++)
		lanes = arena_printf(arena, "%s;\n%s\t%s", lanes, indent, rewrite(detection, chain, counted.index, names[k], k));
	finding_edit(detection->sink, finding, site->range.end_offset, 0, lanes);
	return true;
}

/* The few that a loop of larger steps has left: what it starts at is a multiple of something, or a loop before it counts
 * the same variable by more than one. */
static bool is_rest(const struct loop *loop)
{
	struct ast_node *init = loop->node->init, *from = NULL, *step = ast_strip(loop->node->increment);
	struct ast_node *index = step && step->kind == AST_UNARY ? ast_operand(step, 0) : NULL;
	if (init && init->kind == AST_DECL_STMT && init->children.count)
		from = ast_strip_casts(init->children.at[0]->init);
	else if (init && init->kind == AST_ASSIGN)
		from = ast_operand(init, 1);
	if (from)
		return from->kind == AST_BINARY && (from->op == OP_MUL || from->op == OP_AND || from->op == OP_SUB);
	const struct ast_node *block = loop->node->parent;
	for (size_t i = 1; block && index && i < block->children.count; i++) {
		const struct ast_node *before = block->children.at[i - 1];
		struct ast_node *stride = block->children.at[i] == loop->node ? ast_strip(before->increment) : NULL;
		if (stride && stride->kind == AST_COMPOUND_ASSIGN && path_equal(ast_operand(stride, 0), index))
			return true;
	}
	return false;
}

/* ---- hashes ------------------------------------------------------------------------------------------------------ */

static bool multiplies(struct ast_node *node, void *context)
{
	bool *found = context;
	struct ast_node *right = ast_operand(node, 1);
	*found |= (node->kind == AST_BINARY || node->kind == AST_COMPOUND_ASSIGN) && node->op == OP_MUL && right &&
	          (right->has_value || right->kind == AST_INT || (ast_operand(node, 0) && ast_operand(node, 0)->has_value));
	return !*found;
}

static bool reads_byte(struct ast_node *node, void *context)
{
	bool *found = context;
	*found |= (node->kind == AST_SUBSCRIPT || (node->kind == AST_UNARY && node->op == OP_DEREF)) && node->type &&
	          node->type->kind == TYPE_CHAR;
	return !*found;
}

struct returning {
	const struct ast_node *decl;
	bool found;
};

static bool returning_visit(struct ast_node *node, void *context)
{
	struct returning *returning = context;
	if (node->kind != AST_RETURN || !node->children.count)
		return true;
	struct ast_node *value = ast_strip_casts(node->children.at[0]);
	returning->found |= value && value->kind == AST_REF && value->decl == returning->decl;
	return true;
}

/* Whether the function is the hash: it returns it. A few bytes that are hashed in passing are not worth another one. */
static bool returns(const struct ast_node *function, const struct ast_node *decl)
{
	struct returning returning = {.decl = decl};
	ast_walk((struct ast_node *)function->body, returning_visit, &returning);
	return returning.found;
}

/* h = (h ^ byte) * prime, over a length that is given. */
static void report_hash(struct detection *detection, const struct loop *loop)
{
	struct arena *arena = detection->sink->arena;
	struct ast_node *hash = NULL;
	bool multiplied = false, byte = false;
	if (loop->has_branch || loop->calls.count || !loop->node->condition)
		return;
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct ast_node *write = loop->writes.at[i], *site = loop->write_sites.at[i];
		struct access access = access_of(write);
		if (access.pointer || !access_is_private(&access))
			return;
		if (node_is_increment(site) || !write->type || write->type->kind != TYPE_INT || write->type->size < 4)
			continue;
		bool again = site->kind == AST_COMPOUND_ASSIGN || (site->children.count > 1 && node_mentions(site->children.at[1], write));
		if (!again || node_holds(loop->node->condition, site) || (loop->node->increment && node_holds(loop->node->increment, site)))
			continue;
		if (hash && !path_equal(hash, write))
			return;
		hash = write;
		ast_walk(site, multiplies, &multiplied);
	}
	bool until_nul = false;
	ast_walk(loop->node->condition, reads_byte, &until_nul);
	ast_walk(loop->node->body, reads_byte, &byte);
	if (!hash || !multiplied || !byte || until_nul || hash->kind != AST_REF || loop_declares(loop, hash->decl) ||
	    loop_heat(loop) == HEAT_COLD || !returns(loop->function, hash->decl))
		return;
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_p07, &loop->node->range, loop->function->name, SEVERITY_LOW,
	    arena_printf(arena, "`%s` takes one multiplication for each byte, each after the one before", hash->name));
	finding->evidence = "advice: a hash that takes 8 bytes or more at a time, where its values are nobody's contract";
}

/* ---- the finding ------------------------------------------------------------------------------------------------- */

static void detect_loop(struct loop *loop, void *context)
{
	struct detection *detection = context;
	struct arena *arena = detection->sink->arena;
	long long bound = loop_bound(loop);
	if (loop->has_inner_loop || loop->has_barrier || loop->node->range.edge_in_macro || (bound >= 0 && bound <= FEW_ITERATIONS))
		return;
	struct chain chain = chain_of(loop);
	if (chain.kind == CHAIN_NONE) {
		report_hash(detection, loop);
		return;
	}
	struct work work = {.sum = chain.sum};
	ast_walk(loop->node->body, work_visit, &work);
	bool branch_in_form = chain.kind == CHAIN_EXTREME;
	/* Own mentions: s += e one, s = s + e and fmax two, the conditional three, `if` two. */
	unsigned own = chain.site->kind == AST_COMPOUND_ASSIGN ? 1 : chain.value && chain.value->kind == AST_CONDITIONAL ? 3 : 2;
	if (work.slow || !work.memory || work.operations > MUCH_WORK || work.reads_of_sum != own ||
	    node_mentions(loop->node->condition, chain.sum) || (loop->has_branch && !branch_in_form) ||
	    (!loop_always(loop, chain.site) && !branch_in_form) || is_rest(loop) || is_relaxed(loop))
		return;
	enum heat heat = loop_heat(loop);
	if (heat == HEAT_COLD)
		return;
	bool alone = heat == HEAT_HOT || !loop_is_aside(loop); /* else what fetched the numbers is the more likely cost */
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_p07, &loop->node->range, loop->function->name,
	    chain.kind == CHAIN_ADD && alone ? SEVERITY_MEDIUM : SEVERITY_LOW,
	    arena_printf(arena, "`%s` is %s in one chain: each step waits for the one before", chain.sum->name,
	                 chain.kind == CHAIN_ADD ? "summed up" : "compared"));
	if (put_candidate(detection, loop, &chain, finding)) {
		finding->evidence = "no flag lets the compiler split a floating-point sum, and the loop does nothing else";
		finding->contract = arena_printf(arena, "`%s` may come out rounded otherwise: the additions are made in another order, so "
		                                        "its last bits can differ, and with values that cancel more than those",
		                                 chain.sum->name);
		return;
	}
	finding->evidence = chain.kind == CHAIN_ADD
	                        ? "advice: four accumulators that are added up at the end, when rounding may change; or "
	                          "-fassociative-math for this file"
	                        : "advice: four accumulators that are compared at the end; or -ffinite-math-only with "
	                          "-fno-signed-zeros for this file, when there are neither NaNs nor a use of -0";
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	bool fast = command_flag(command, "-ffast-math", "-fno-fast-math", false) || command_flag(command, "-Ofast", NULL, false) ||
	            command_flag(command, "-fassociative-math", "-fno-associative-math", false) ||
	            command_flag(command, "-funsafe-math-optimizations", "-fno-unsafe-math-optimizations", false);
	if (fast)
		return;
	struct arena arena;
	arena_init(&arena);
	struct detection detection = {.unit = unit, .sink = sink};
	loops_visit(unit, &arena, detect_loop, &detection);
	arena_release(&arena);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>

/* The values are small whole numbers, so that every order of the additions gives the same, exact sum. */
static __attribute__((noinline)) double dot(const double *a, const double *b, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++) // finds
		sum += a[i] * b[i];
	return sum;
}

struct state {
	double *a, *b;
	size_t count;
	double result;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "count", 1024);
	s->a = malloc((s->count + 8) * sizeof *s->a);
	s->b = malloc((s->count + 8) * sizeof *s->b);
	for (size_t i = 0; i < s->count + 8; i++) {
		s->a[i] = (double)(assay_random(b) % 100);
		s->b[i] = (double)(assay_random(b) % 100);
	}
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->result = dot(s->a, s->b, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "product", &s->result, sizeof s->result);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 9; count++) {
		s->result = dot(s->a + 1, s->b, count);
		output(s, b);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>

/* The values are small whole numbers, so that every order of the additions gives the same, exact sum. */
static __attribute__((noinline)) double dot(const double *a, const double *b, size_t count)
{
	double sum = 0;
	double sum1 = 0, sum2 = 0, sum3 = 0;
	for (size_t i = 0; count - i >= 4; i += 4) { // finds
		sum += a[i] * b[i];
		sum1 += a[i + 1] * b[i + 1];
		sum2 += a[i + 2] * b[i + 2];
		sum3 += a[i + 3] * b[i + 3];
	}
	for (size_t i = count / 4 * 4; i < count; i++)
		sum += a[i] * b[i];
	sum += sum1 + sum2 + sum3;
	return sum;
}

struct state {
	double *a, *b;
	size_t count;
	double result;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "count", 1024);
	s->a = malloc((s->count + 8) * sizeof *s->a);
	s->b = malloc((s->count + 8) * sizeof *s->b);
	for (size_t i = 0; i < s->count + 8; i++) {
		s->a[i] = (double)(assay_random(b) % 100);
		s->b[i] = (double)(assay_random(b) % 100);
	}
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->result = dot(s->a, s->b, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "product", &s->result, sizeof s->result);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 9; count++) {
		s->result = dot(s->a + 1, s->b, count);
		output(s, b);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdlib.h>

/* Integers: an addition takes one cycle, and the compiler may add in any order. */
static __attribute__((noinline)) uint64_t dot(const uint64_t *a, const uint64_t *b, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += a[i] * b[i];
	return sum;
}

struct state {
	uint64_t *a, *b;
	size_t count;
	uint64_t result;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "count", 1024);
	s->a = malloc((s->count + 8) * sizeof *s->a);
	s->b = malloc((s->count + 8) * sizeof *s->b);
	for (size_t i = 0; i < s->count + 8; i++) {
		s->a[i] = (uint64_t)(assay_random(b) % 100);
		s->b[i] = (uint64_t)(assay_random(b) % 100);
	}
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->result = dot(s->a, s->b, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "product", &s->result, sizeof s->result);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 9; count++) {
		s->result = dot(s->a + 1, s->b, count);
		output(s, b);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also in other words */
#include <math.h>
#include <stddef.h>
struct series {
	float *at;
	int count;
};
float energy(const struct series *series, float scale)
{
	float total = 0;
	int i;
	for (i = 0; i < series->count; i++) { // finds
		total += series->at[i] * scale * (float)i;
	}
	return total;
}
double mixed(const double *a, const double *b, unsigned rows, unsigned columns)
{
	double s = 1, t = 0;
	for (unsigned i = 0; i < rows * columns; ++i) s = s + a[i]; // finds
	for (unsigned i = 0; i < rows; i++) // finds
		t = fma(a[i], b[i], t);
	return s - t;
}
#endif

#if 0 /* assay example: also in other words fixed */
#include <math.h>
#include <stddef.h>
struct series {
	float *at;
	int count;
};
float energy(const struct series *series, float scale)
{
	float total = 0;
	int i;
	float total1 = 0, total2 = 0, total3 = 0;
	for (i = 0; series->count - i >= 4; i += 4) { // finds
		total += series->at[i] * scale * (float)i;
		total1 += series->at[i + 1] * scale * (float)(i + 1);
		total2 += series->at[i + 2] * scale * (float)(i + 2);
		total3 += series->at[i + 3] * scale * (float)(i + 3);
	}
	for (; i < series->count; i++)
		total += series->at[i] * scale * (float)i;
	total += total1 + total2 + total3;
	return total;
}
double mixed(const double *a, const double *b, unsigned rows, unsigned columns)
{
	double s = 1, t = 0;
	double s1 = 0, s2 = 0, s3 = 0;
	for (unsigned i = 0; (rows * columns) - i >= 4; i += 4) {
		s = s + a[i];
		s1 = s1 + a[i + 1];
		s2 = s2 + a[i + 2];
		s3 = s3 + a[i + 3];
	}
	for (unsigned i = (rows * columns) / 4 * 4; i < rows * columns; ++i)
		s = s + a[i];
	s += s1 + s2 + s3; // finds
	double t1 = 0, t2 = 0, t3 = 0;
	for (unsigned i = 0; rows - i >= 4; i += 4) { // finds
		t = fma(a[i], b[i], t);
		t1 = fma(a[i + 1], b[i + 1], t1);
		t2 = fma(a[i + 2], b[i + 2], t2);
		t3 = fma(a[i + 3], b[i + 3], t3);
	}
	for (unsigned i = rows / 4 * 4; i < rows; i++)
		t = fma(a[i], b[i], t);
	t += t1 + t2 + t3;
	return s - t;
}
#endif

#if 0 /* assay example: also advice only */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
double spread(const double *a, size_t count)
{
	double most = a[0], least = a[0], sum = 0, d;
	const double *at = a;
	for (size_t i = 1; i < count; i++) // finds
		most = fmax(most, a[i]);
	for (size_t i = 1; i < count; i++) // finds
		if (a[i] < least)
			least = a[i];
	for (size_t i = 0; i < count; i++) // finds
		most = a[i] > most ? a[i] : most;
	for (size_t i = 0; i < count; i++) { // finds
		d = a[i] - least;
		sum += d * d;
	}
	while (count--) // finds
		sum -= *at++;
	return most - least + sum;
}
uint32_t fnv(const unsigned char *data, size_t size)
{
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < size; i++) { // finds
		h ^= data[i];
		h *= 16777619u;
	}
	return h;
}
#endif

#if 0 /* assay example: lookalike flags that allow another order */
// flags: -O2 -fassociative-math -fno-signed-zeros -fno-trapping-math
#include <stddef.h>
double sum(const double *a, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += a[i];
	return sum;
}
#endif

#if 0 /* assay example: lookalike a pragma that allows it */
// flags: -O2 -fopenmp-simd
#include <stddef.h>
double sum(const double *a, size_t count)
{
	double sum = 0;
#pragma omp simd reduction(+ : sum)
	for (size_t i = 0; i < count; i++)
		sum += a[i];
	return sum;
}
#endif

#if 0 /* assay example: lookalike integers, and short */
#include <stddef.h>
#include <stdint.h>
double mixed(const double *a, const uint32_t *b, const char *name, size_t count)
{
	uint64_t whole = 0;
	double part = 0;
	unsigned hash = 5381;
	for (size_t i = 0; i < count; i++)
		whole += b[i];
	for (int i = 0; i < 3; i++)
		part += a[i];
	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return (double)whole + part + hash;
}
#endif

#if 0 /* assay example: lookalike two chains, or a prefix sum */
#include <stddef.h>
void moments(const double *a, double *prefix, double *mean, size_t count)
{
	double sum = 0, squares = 0, run = 0, decayed = 0;
	for (size_t i = 0; i < count; i++) {
		sum += a[i];
		squares += a[i] * a[i];
	}
	for (size_t i = 0; i < count; i++) {
		run += a[i];
		prefix[i] = run;
	}
	for (size_t i = 0; i < count; i++)
		decayed = decayed * 0.5 + a[i];
	*mean = sum / squares + decayed;
}
#endif

#if 0 /* assay example: lookalike something else is slower */
#include <math.h>
#include <stddef.h>
struct node {
	struct node *next;
	double value;
};
double slow(const struct node *node, const double *a, size_t count)
{
	double sum = 0;
	for (; node; node = node->next)
		sum += node->value;
	for (size_t i = 0; i < count; i++)
		sum += 1.0 / a[i];
	for (size_t i = 0; i < count; i++)
		sum += sqrt(a[i]);
	for (size_t i = 0; i < count; i++) {
		if (a[i] > 0.5)
			sum += a[i];
	}
	for (size_t i = 0; sum < 100 && i < count; i++)
		sum += a[i];
	return sum;
}
#endif

#if 0 /* assay example: lookalike a clock, not a sum */
double until(double end, double step, unsigned *turns)
{
	double t = 0;
	for (unsigned i = 0; i < *turns; i++)
		t += step;
	while (t < end)
		t += step;
	return t;
}
#endif

#if 0 /* assay example: lookalike a few bytes hashed in passing */
#include <stddef.h>
#include <stdint.h>
struct map {
	const char *values[64];
};
const char *find(const struct map *map, const unsigned char *name, size_t size)
{
	uint32_t key = 0;
	for (size_t i = 0; i < size; i++)
		key = key * 31 + name[i];
	return map->values[key % 64];
}
#endif

#if 0 /* assay example: lookalike a handful of turns, and start-up */
double volume_share(int ndim, const double *sides)
{
	double sum = 0;
	for (int i = 0; i < ndim; i++)
		sum += sides[i];
	return sum;
}
double weights_init(const double *weights, unsigned count)
{
	double sum = 0;
	for (unsigned i = 0; i < count; i++)
		sum += weights[i];
	return sum;
}
#endif
