/* P01 alias-blocked-loop: a loop that can't be compiled well, since two of its pointers may lead to the same memory.
 *
 * "Two pointers and no restrict" describes half of all C functions and costs nothing in most of them: compilers compare the
 * addresses once and keep two versions of the loop. Measured with gcc 12, clang 14 and clang 19 on arrays in the
 * first-level cache, three shapes are left in which it costs:
 *
 *   - accumulation through a pointer (`*sum += a[i]`): the sum goes through memory in every iteration. 6 times for
 *     floating point at any level; for integers 2 to 9 times, the narrower the more, where the loop could be vectorised
 *     (gcc -O3, clang), next to nothing with gcc -O2: processors of late forward such a store at no cost;
 *   - so many pairs of pointers that the compiler won't compare them all (gcc 12 stops at 10, clang 14 at 8): 5 times;
 *   - a constant number of iterations with gcc 12 -O2, which vectorises only what needs no comparison: 3 times.
 *
 * A count in a branch (`out[(*n)++] = x`) was measured as well, and costs nothing. Must stay silent besides: pointers
 * that are restrict or lead to locals; a loop that loads and stores through one pointer (in place, windows that overlap);
 * a few iterations; bodies that are always inlined, where the compiler sees what the pointers are.
 */
#include "patterns/query.h"

#include "base/text.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

enum { FEW_ITERATIONS = 8, MANY_PAIRS = 10, POINTERS_MAX = 12, MUCH_WORK = 32 };

const struct pattern pattern_p01 = {
    .id = "P01",
    .slug = "alias-blocked-loop",
    .title = "a loop held up by pointers that might lead to the same memory",
    .tier = TIER_B,
    .what = "A loop without calls adds up through a pointer (or in a global) while it reads or stores through another pointer "
            "of the same type; or it uses more pointers than compilers compare. With -fno-strict-aliasing any type counts.",
    .why = "The other pointer may lead to the sum, so the sum is stored and loaded again in each iteration: a store-to-load "
           "forwarding on top of the addition, and no vector code.",
    .when_not = "The pointers do overlap in some call; the loop is short; the function is always inlined into callers that "
                "show what the pointers are. A plain d[i] = a[i] + b[i]: compilers make two versions of it.",
    .expected = "6x for a floating-point sum through a pointer (gcc 12, clang 14 and 19, -O2); for integers 2 to 9x where the loop "
                "could be vectorised (gcc -O3, clang -O2), and next to nothing at gcc -O2; 3 to 5x for loops of many pointers",
    .refuted_by = "Equal machine code: the compiler found out by itself. A loop that waits for memory.",
    .sources = (const char *const[]){"ISO/IEC 9899:2018, 6.7.3.1 (formal definition of restrict) and 6.5 paragraph 7",
                                     "GCC manual, --param vect-max-version-for-alias-checks and -fvect-cost-model",
                                     "Randal Bryant and David O'Hallaron, Computer Systems: A Programmer's Perspective, 3rd "
                                     "edition, 2016, section 5.6 (eliminating unneeded memory references)",
                                     "Agner Fog, Optimizing software in C++, chapter 8 (pointer aliasing), edition of 2023",
                                     NULL},
    .detect = detect,
};

struct detection {
	const struct ast_unit *unit;
	const struct compile_command *command;
	struct pattern_sink *sink;
	bool strict, vectorises, careful; /* careful: gcc -O2, which vectorises what needs no comparison */
};

/* ---- what may lead to the same memory ---------------------------------------------------------------------------- */

static const char *without_sign(const char *type)
{
	return text_starts(type, "unsigned ") ? type + 9 : type;
}

static bool types_alias(const struct detection *detection, const struct ast_node *a, const struct ast_node *b)
{
	if (!a->type || !b->type || a->type->kind == TYPE_RECORD || b->type->kind == TYPE_RECORD || a->type->kind == TYPE_ARRAY ||
	    b->type->kind == TYPE_ARRAY)
		return false;
	if (!detection->strict)
		return true;
	if (a->kind == AST_MEMBER && b->kind == AST_MEMBER && a->decl != b->decl)
		return false;
	if (a->type->kind == TYPE_CHAR || b->type->kind == TYPE_CHAR)
		return true;
	return a->type->canonical && b->type->canonical &&
	       strcmp(without_sign(a->type->canonical), without_sign(b->type->canonical)) == 0;
}

static bool is_element(const struct ast_node *node)
{
	return node->kind == AST_SUBSCRIPT || (node->kind == AST_UNARY && node->op == OP_DEREF);
}

/* a[i], *a, a[i].f: what a loop goes along. Fields of one record behind a pointer are P03's. */
static bool is_along(const struct ast_node *node)
{
	while (node && node->kind == AST_MEMBER && !node->arrow)
		node = ast_operand(node, 0);
	return node && is_element(node);
}

/* Other places behind pointers that the loop reads or stores. */
struct others {
	const struct detection *detection;
	struct ast_node *place, *root, *other; /* other: one that may be the place */
	bool same_pointer;                     /* another element behind the place's own pointer */
};

static bool others_visit(struct ast_node *node, void *context)
{
	struct others *others = context;
	if (node->kind == AST_SIZEOF || path_equal(node, others->place))
		return false;
	if (!is_along(node))
		return true;
	struct access access = access_of(node);
	if (!access.pointer || access_is_private(&access))
		return true;
	struct ast_node *root = pointer_root(access.pointer);
	if (root && others->root && path_equal(root, others->root)) {
		others->same_pointer |= types_alias(others->detection, node, others->place);
		return true;
	}
	/* What leads to the place is read, too, but it is a pointer. */
	if (!others->other && types_alias(others->detection, node, others->place))
		others->other = node;
	return true;
}

/* Whether the function's body is always put into its callers. */
static bool is_always_inlined(const struct ast_unit *unit, const struct ast_node *function)
{
	size_t size, begin = function->range.offset, end = function->body ? function->body->range.offset : begin;
	const char *text = function->range.file ? ast_file_text(unit, function->range.file, &size) : NULL;
	if (!text || end > size)
		return true;
	while (begin > 0 && text[begin - 1] != '}' && text[begin - 1] != ';' && text[begin - 1] != '/')
		begin--;
	const char *head = arena_strndup(&((struct ast_unit *)unit)->arena, text + begin, end - begin);
	if (strstr(head, "always_inline"))
		return true;
	for (size_t i = 0; i < unit->expansions.count; i++) {
		const struct ast_expansion *expansion = &unit->expansions.at[i];
		if (!text_equal(expansion->range.file, function->range.file) || expansion->range.offset < begin ||
		    expansion->range.offset >= end)
			continue;
		if (strcasestr(expansion->name, "always_inline") || strcasestr(expansion->name, "force_inline") ||
		    strcasestr(expansion->name, "forceinline") ||
		    (expansion->macro < unit->macros.count && strstr(unit->macros.at[expansion->macro].body, "always_inline")))
			return true;
	}
	return false;
}

/* ---- accumulation through a pointer ------------------------------------------------------------------------------ */

/* x += e, x = x + e, x++ */
static bool is_accumulation(struct ast_node *place, struct ast_node *site)
{
	struct ast_node *right = ast_operand(site, 1);
	if (node_is_increment(site))
		return true;
	if (site->kind == AST_COMPOUND_ASSIGN)
		return site->op == OP_ADD || site->op == OP_SUB || site->op == OP_XOR || site->op == OP_OR || site->op == OP_AND ||
		       site->op == OP_MUL;
	return site->kind == AST_ASSIGN && right && right->kind == AST_BINARY &&
	       (path_equal(ast_operand(right, 0), place) || path_equal(ast_operand(right, 1), place));
}

struct usage {
	struct arena *arena;
	struct ast_node *place;
	struct ast_node_list at;
	bool in_macro;
};

static bool usage_visit(struct ast_node *node, void *context)
{
	struct usage *usage = context;
	if (!path_equal(node, usage->place))
		return true;
	if (node->kind == AST_PAREN || node->kind == AST_CAST) /* the place itself stands inside */
		return true;
	usage->in_macro |= node->range.in_macro;
	list_push(usage->arena, &usage->at, node);
	return false;
}

static bool put_local(struct detection *detection, const struct loop *loop, struct ast_node *place, struct finding *finding)
{
	struct arena *arena = detection->sink->arena;
	const struct ast_type *type = place->type;
	const char *text = ast_text(detection->unit, &place->range), *name = free_name_for(loop, arena, place);
	if (!text || strchr(text, '\n') || !name || loop_may_leave(loop) || !loop_takes_declaration(loop) || place->range.in_macro ||
	    !type->spelling || strpbrk(type->spelling, "([{<") || strstr(type->spelling, "const"))
		return false;
	for (size_t i = 0; i < loop->addressed.count; i++)
		if (path_equal(loop->addressed.at[i], place))
			return false;
	struct usage usage = {.arena = arena, .place = place};
	ast_walk(loop->node, usage_visit, &usage);
	for (size_t i = 0; i < usage.at.count; i++)
		if (usage.in_macro || !text_equal(usage.at.at[i]->range.file, loop->node->range.file))
			return false;
	struct string_list before = {0}, after = {0};
	list_push(arena, &before, arena_printf(arena, "%s %s = %s;", type->spelling, name, text));
	list_push(arena, &after, arena_printf(arena, "%s = %s;", text, name));
	if (!loop_append(loop, detection->sink, finding, &after))
		return false;
	loop_declare(loop, detection->sink, finding, &before);
	for (size_t i = 0; i < usage.at.count; i++) {
		const struct ast_range *range = &usage.at.at[i]->range;
		finding_edit(detection->sink, finding, range->offset, range->end_offset - range->offset, name);
	}
	return true;
}

/* A sum and nothing else: what it has come to is not used in the loop. Floating point is a chain in any case. */
static bool is_sum_only(const struct loop *loop, struct arena *arena, struct ast_node *place, const struct ast_node *site)
{
	struct usage usage = {.arena = arena, .place = place};
	const struct ast_node *up = site->parent;
	ast_walk(loop->node, usage_visit, &usage);
	bool statement = up && (up->kind == AST_COMPOUND || up == loop->node);
	return place->type->kind == TYPE_FLOAT || (statement && usage.at.count == (site->kind == AST_ASSIGN ? 2 : 1));
}

/* What leads to the place stays. */
static bool is_fixed_place(const struct loop *loop, struct ast_node *place)
{
	return place->kind == AST_REF || loop_same_place(loop, place);
}

/* True: the loop is settled, reported or cold. */
static bool report_accumulation(struct detection *detection, const struct loop *loop)
{
	struct arena *arena = detection->sink->arena;
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct ast_node *place = loop->writes.at[i], *site = loop->write_sites.at[i];
		const struct ast_type *type = place->type;
		struct access access = access_of(place);
		bool global = access.object && access.object->is_global && !ref_is_sealed(detection->unit, access.object);
		if (!type || (type->kind != TYPE_INT && type->kind != TYPE_FLOAT) || (!global && !access.pointer) ||
		    (access.pointer && access_is_private(&access)) || !is_accumulation(place, site) || !loop_always(loop, site) ||
		    !is_fixed_place(loop, place) || !is_sum_only(loop, arena, place, site) || (loop->node->condition && node_mentions(loop->node->condition, place)))
			continue;
		struct others others = {.detection = detection, .place = place, .root = access.pointer ? pointer_root(access.pointer) : NULL};
		ast_walk(loop->node, others_visit, &others);
		if (!others.other || others.same_pointer)
			continue;
		unsigned sums = 0;
		for (size_t k = 0; k < loop->writes.count; k++) {
			struct access into = access_of(loop->writes.at[k]);
			sums += loop->writes.at[k]->kind != AST_REF && (into.pointer || into.object) && is_fixed_place(loop, loop->writes.at[k]);
			sums += loop->writes.at[k] == place && place->kind == AST_REF;
		}
		/* Measured: nothing where much else is done, nor for integers that could not become vector code anyway. */
		bool straight = !loop->has_branch && is_element(others.other) && sums == 1;
		if (loop_work(loop) > MUCH_WORK || (type->kind != TYPE_FLOAT && !straight))
			continue;
		enum heat heat = loop_heat(loop);
		if (heat == HEAT_COLD)
			return true;
		enum severity severity = detection->command->guessed ? SEVERITY_LOW
		                         : type->kind == TYPE_FLOAT   ? SEVERITY_HIGH
		                         : detection->vectorises      ? SEVERITY_MEDIUM
		                                                      : SEVERITY_LOW;
		if (severity > SEVERITY_LOW && heat != HEAT_HOT && loop_is_aside(loop))
			severity--; /* what the function calls besides is the more likely cost */
		bool char_type = place->type->kind == TYPE_CHAR || others.other->type->kind == TYPE_CHAR;
		struct finding *finding = finding_new(
		    detection->sink, detection->unit, &pattern_p01, &loop->node->range, loop->function->name, severity,
		    arena_printf(arena, "%s goes through memory in every iteration: %s might be the same place",
		                 node_quoted(detection->unit, place, arena),
		                 node_quoted(detection->unit, others.other, arena)));
		finding->evidence = arena_printf(
		    arena, "%s; %s",
		    !detection->strict ? "with -fno-strict-aliasing any two places may be one"
		    : char_type        ? "a character type may alias any other"
		                       : "both have the same type, and nothing says that they lie apart",
		    type->kind == TYPE_FLOAT ? "each addition waits for the store before it to be loaded again"
		    : detection->vectorises  ? "else the loop could be vector code"
		                             : "at another level the loop could be vector code");
		if (put_local(detection, loop, place, finding))
			finding->contract = arena_printf(
			    arena, "nothing else that the loop reads or stores is %s; %s can be read and written even when the loop runs zero times",
			    node_quoted(detection->unit, place, arena), node_quoted(detection->unit, place, arena));
		else
			finding->evidence = arena_printf(arena, "%s; advice: add up in a local and store it behind the loop", finding->evidence);
		return true;
	}
	return false;
}

/* ---- more pointers than are compared ------------------------------------------------------------------------------ */

struct stream {
	struct ast_node *parameter;
	const struct ast_node *example;
	bool stored;
};

struct streams {
	const struct detection *detection;
	const struct loop *loop;
	const struct ast_node *index;
	struct stream at[POINTERS_MAX];
	size_t count;
	bool odd; /* something that a vectoriser can't take, or that no parameter leads to */
};

/* i, i + 1, row + i: steps of one. */
static bool is_index(const struct streams *streams, struct ast_node *node)
{
	node = ast_strip_casts(node);
	if (!node)
		return false;
	if (node->kind == AST_REF && node->decl == streams->index)
		return true;
	if (node->kind != AST_BINARY || (node->op != OP_ADD && node->op != OP_SUB))
		return false;
	return (is_index(streams, node->children.at[0]) && loop_keeps(streams->loop, node->children.at[1])) ||
	       (node->op == OP_ADD && is_index(streams, node->children.at[1]) && loop_keeps(streams->loop, node->children.at[0]));
}

static bool streams_visit(struct ast_node *node, void *context)
{
	struct streams *streams = context;
	if (node->kind == AST_CALL || (node->kind == AST_MEMBER && node->arrow))
		streams->odd = true;
	if (!is_element(node))
		return !streams->odd;
	struct access access = access_of(node);
	struct ast_node *base = ast_operand(node, 0);
	if (node->kind == AST_SUBSCRIPT && access.object)
		return true; /* an array by its name */
	if (node->kind != AST_SUBSCRIPT || !base || base->kind != AST_REF || !base->decl || base->decl->kind != AST_PARAM ||
	    !base->decl->type || base->decl->type->kind != TYPE_POINTER || !is_index(streams, node->children.at[1]) ||
	    !loop_keeps(streams->loop, base)) {
		streams->odd = true;
		return false;
	}
	bool stored = false;
	for (size_t i = 0; i < streams->loop->writes.count; i++)
		stored |= streams->loop->writes.at[i] == node;
	for (size_t i = 0; i < streams->count; i++)
		if (streams->at[i].parameter == base->decl) {
			streams->at[i].stored |= stored;
			return true;
		}
	if (streams->count == POINTERS_MAX)
		streams->odd = true;
	else
		streams->at[streams->count++] = (struct stream){base->decl, node, stored};
	return true;
}

static unsigned pairs_of(const struct streams *streams)
{
	unsigned pairs = 0;
	for (size_t i = 0; i < streams->count; i++)
		for (size_t k = i + 1; k < streams->count; k++) {
			const struct stream *a = &streams->at[i], *b = &streams->at[k];
			bool open = !a->parameter->type->is_restrict && !b->parameter->type->is_restrict && (a->stored || b->stored);
			pairs += open && types_alias(streams->detection, a->example, b->example);
		}
	return pairs;
}

/* A call of the function in this unit that gives one thing for two parameters. */
struct calling {
	const struct streams *streams;
	const struct ast_node *function;
	bool twice;
};

static bool calling_visit(struct ast_node *node, void *context)
{
	struct calling *calling = context;
	const struct streams *streams = calling->streams;
	if (node->kind != AST_CALL || node->decl != calling->function)
		return !calling->twice;
	const struct ast_node_list *children = &calling->function->children;
	struct ast_node *given[POINTERS_MAX] = {0};
	size_t number = 0;
	for (size_t i = 0; i < children->count; i++) {
		if (children->at[i]->kind != AST_PARAM)
			continue;
		for (size_t k = 0; k < streams->count; k++)
			if (streams->at[k].parameter == children->at[i])
				given[k] = pointer_root(call_argument(node, number));
		number++;
	}
	for (size_t i = 0; i < streams->count; i++)
		for (size_t k = i + 1; k < streams->count; k++)
			calling->twice |= (streams->at[i].stored || streams->at[k].stored) && path_equal(given[i], given[k]);
	return true;
}

/* Puts the keyword before the name of a parameter `type *name`. */
static bool put_restrict(struct detection *detection, const struct ast_node *parameter, const char *keyword, struct finding *finding)
{
	const char *text = ast_text(detection->unit, &parameter->range);
	size_t length = parameter->name ? strlen(parameter->name) : 0;
	if (!text || !length || parameter->range.in_macro || !text_ends(text, parameter->name))
		return false;
	size_t before = strlen(text) - length;
	while (before > 0 && strchr(" \t", text[before - 1]))
		before--;
	if (before == 0 || text[before - 1] != '*')
		return false;
	finding_edit(detection->sink, finding, parameter->range.end_offset - length, 0,
	             arena_printf(detection->sink->arena, "%s ", keyword));
	return true;
}

static const char *restrict_keyword(const struct detection *detection)
{
	const char *standard = command_standard(detection->command);
	bool old = standard && (text_ends(standard, "89") || text_ends(standard, "90"));
	for (size_t i = 0; i < detection->unit->macros.count; i++)
		old |= text_equal(detection->unit->macros.at[i].name, "restrict");
	return old ? "__restrict" : "restrict";
}

/* The definition and prototypes in the same file; prototypes elsewhere may stay as they are (C17 6.7.6.3p15). */
static bool put_restricts(struct detection *detection, const struct loop *loop, const struct streams *streams, struct finding *finding)
{
	const char *keyword = restrict_keyword(detection);
	const struct ast_node *function = loop->function;
	for (size_t i = 0; i < streams->count; i++)
		if (!streams->at[i].parameter->type->is_restrict && !put_restrict(detection, streams->at[i].parameter, keyword, finding)) {
			finding->edits.count = 0;
			return false;
		}
	for (size_t i = 0; i < detection->unit->top.count; i++) {
		const struct ast_node *other = detection->unit->top.at[i];
		if (other == function || other->kind != AST_FUNCTION || !text_equal(other->usr, function->usr) || other->body ||
		    !text_equal(other->range.file, function->range.file) || other->children.count > function->children.count)
			continue;
		for (size_t p = 0; p < other->children.count; p++)
			for (size_t k = 0; k < streams->count; k++)
				if (streams->at[k].parameter == function->children.at[p] && !streams->at[k].parameter->type->is_restrict)
					(void)put_restrict(detection, other->children.at[p], keyword, finding);
	}
	return true;
}

static void report_pairs(struct detection *detection, const struct loop *loop)
{
	struct arena *arena = detection->sink->arena;
	struct ast_node *step = ast_strip(loop->node->increment);
	long long bound = loop_bound(loop);
	bool constant = detection->careful && bound >= 32 && bound % 16 == 0;
	if (loop->node->kind != AST_FOR || loop->has_branch || loop->calls.count || !step || !node_is_increment(step) ||
	    !ast_operand(step, 0) ||
	    ast_operand(step, 0)->kind != AST_REF || (!constant && !detection->vectorises))
		return;
	struct streams streams = {.detection = detection, .loop = loop, .index = ast_operand(step, 0)->decl};
	ast_walk(loop->node->body, streams_visit, &streams);
	for (size_t i = 0; i < loop->writes.count; i++) /* sums and other chains are other questions */
		streams.odd |= loop->writes.at[i]->kind != AST_SUBSCRIPT && loop->writes.at[i] != ast_operand(step, 0) &&
		               !(loop->node->init && node_holds(loop->node->init, loop->write_sites.at[i]));
	unsigned pairs = streams.odd ? 0 : pairs_of(&streams);
	if (pairs == 0 || (pairs <= MANY_PAIRS && !constant) || loop_heat(loop) == HEAT_COLD)
		return;
	struct calling calling = {.streams = &streams, .function = loop->function};
	for (size_t i = 0; i < detection->unit->top.count && !calling.twice; i++)
		ast_walk(detection->unit->top.at[i], calling_visit, &calling);
	if (calling.twice)
		return;
	struct string_list names = {0};
	for (size_t i = 0; i < streams.count; i++)
		list_push(arena, &names, arena_printf(arena, "`%s`", streams.at[i].parameter->name));
	const char *list = text_join(arena, &names, ", ");
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_p01, &loop->node->range, loop->function->name, SEVERITY_MEDIUM,
	    pairs > MANY_PAIRS
	        ? arena_printf(arena, "%s might overlap in %u ways: more than compilers compare, so the loop is not vectorised", list, pairs)
	        : arena_printf(arena, "%s might overlap, and at this level the loop is vectorised only where nothing needs to be compared", list));
	finding->evidence = pairs > MANY_PAIRS ? "gcc 12 compares at most 10 pairs of pointers, clang 14 8; none of these is restrict"
	                                       : arena_printf(arena, "%lld iterations, gcc at -O2: its cost model allows vector code without a "
	                                                             "comparison and without a rest", bound);
	if (put_restricts(detection, loop, &streams, finding))
		finding->contract = arena_printf(arena, "in no call of %s() does what is stored through one of %s overlap what is reached through "
		                                        "another", loop->function->name, list);
}

/* ---- every loop -------------------------------------------------------------------------------------------------- */

static void detect_loop(struct loop *loop, void *context)
{
	struct detection *detection = context;
	long long bound = loop_bound(loop);
	if (loop->has_barrier || loop->has_inner_loop || loop->calls.count || loop->node->range.edge_in_macro ||
	    (bound >= 0 && bound <= FEW_ITERATIONS) || is_always_inlined(detection->unit, loop->function))
		return;
	if (!report_accumulation(detection, loop))
		report_pairs(detection, loop);
}

/* gcc at -O2: vector code where neither a comparison nor a rest is needed (from version 12 on). */
static bool is_careful(const struct compile_command *command)
{
	const char *level = "", *compiler = command->argv.count ? path_base(command->argv.at[0]) : "";
	for (size_t i = 0; i < command->argv.count; i++)
		if (text_starts(command->argv.at[i], "-O"))
			level = command->argv.at[i] + 2;
	return text_equal(level, "2") && !strstr(compiler, "clang") &&
	       command_flag(command, "-ftree-vectorize", "-fno-tree-vectorize", true);
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct arena arena;
	arena_init(&arena);
	struct detection detection = {
	    .unit = unit,
	    .command = command,
	    .sink = sink,
	    .strict = command_flag(command, "-fstrict-aliasing", "-fno-strict-aliasing", true),
	    .vectorises = command_vectorises(command),
	    .careful = is_careful(command),
	};
	loops_visit(unit, &arena, detect_loop, &detection);
	arena_release(&arena);
}

#if 0 /* assay example: costs */
// flags: -O3
#include <assay/bench.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) void scale_and_sum(uint32_t *d, uint32_t *sum, const uint32_t *a, uint32_t factor, size_t count)
{
	for (size_t i = 0; i < count; i++) { // finds
		d[i] = a[i] * factor >> 3;
		*sum += d[i];
	}
}

struct state {
	uint32_t *a, *d, sum, factor;
	size_t count;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "count", 1024);
	s->factor = (uint32_t)assay_param_u64(b, "factor", 11);
	s->a = malloc((s->count + 8) * sizeof *s->a);
	s->d = calloc(s->count + 8, sizeof *s->d);
	for (size_t i = 0; i < s->count + 8; i++)
		s->a[i] = (uint32_t)(assay_random(b) % 100000);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum = 0;
		scale_and_sum(s->d, &s->sum, s->a, s->factor, s->count);
		assay_keep(s->d);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "sum", &s->sum, sizeof s->sum);
	assay_output(b, "array", s->d, s->count * sizeof *s->d);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 4; count++) {
		memset(s->d, 0, s->count * sizeof *s->d);
		scale_and_sum(s->d, &s->sum, s->a, s->factor, count);
		output(s, b);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
// flags: -O3
#include <assay/bench.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) void scale_and_sum(uint32_t *d, uint32_t *sum, const uint32_t *a, uint32_t factor, size_t count)
{
	uint32_t sum_value = *sum;
	for (size_t i = 0; i < count; i++) { // finds
		d[i] = a[i] * factor >> 3;
		sum_value += d[i];
	}
	*sum = sum_value;
}

struct state {
	uint32_t *a, *d, sum, factor;
	size_t count;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "count", 1024);
	s->factor = (uint32_t)assay_param_u64(b, "factor", 11);
	s->a = malloc((s->count + 8) * sizeof *s->a);
	s->d = calloc(s->count + 8, sizeof *s->d);
	for (size_t i = 0; i < s->count + 8; i++)
		s->a[i] = (uint32_t)(assay_random(b) % 100000);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum = 0;
		scale_and_sum(s->d, &s->sum, s->a, s->factor, s->count);
		assay_keep(s->d);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "sum", &s->sum, sizeof s->sum);
	assay_output(b, "array", s->d, s->count * sizeof *s->d);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 4; count++) {
		memset(s->d, 0, s->count * sizeof *s->d);
		scale_and_sum(s->d, &s->sum, s->a, s->factor, count);
		output(s, b);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
// flags: -O3
#include <assay/bench.h>
#include <stdlib.h>
#include <string.h>

/* The compiler compares the addresses once and keeps two versions of the loop. */
static __attribute__((noinline)) void add(double *d, const double *a, const double *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		d[i] = a[i] + b[i];
}

struct state {
	double *a, *b, *d, sum;
	size_t count;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "count", 1024);
	s->a = malloc((s->count + 8) * sizeof *s->a);
	s->b = malloc((s->count + 8) * sizeof *s->b);
	s->d = calloc(s->count + 8, sizeof *s->d);
	for (size_t i = 0; i < s->count + 8; i++) {
		s->a[i] = (double)(assay_random(b) % 1000) / 16;
		s->b[i] = (double)(assay_random(b) % 1000) / 16;
	}
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum = 0;
		add(s->d, s->a, s->b, s->count);
		assay_keep(s->d);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "sum", &s->sum, sizeof s->sum);
	assay_output(b, "array", s->d, s->count * sizeof *s->d);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 4; count++) {
		memset(s->d, 0, s->count * sizeof *s->d);
		add(s->d, s->a, s->b, count);
		output(s, b);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also other places */
// flags: -O3
#include <stddef.h>
#include <stdint.h>
struct totals {
	double weight;
	uint32_t bytes;
};
float peak;
uint32_t checksum;
void product(double *c, const double *a, const double *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			c[i * n + j] = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			for (size_t k = 0; k < n; k++) // finds
				c[i * n + j] += a[i * n + k] * b[k * n + j];
		}
}
struct point {
	int tag;
	double x;
};
void weigh(struct totals *totals, const double *values, const uint8_t *sizes, const struct point *points, double *sum, size_t count)
{
	for (size_t i = 0; i < count; i++) // finds
		*sum += points[i].x;
	for (size_t i = 0; i < count; i++) // finds
		totals->weight = totals->weight + values[i];
}
void level(const float *values, const uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++) { // finds
		peak -= values[i] * peak;
	}
	for (size_t i = 0; i < count; i++) // finds
		checksum ^= words[i];
}
#endif

#if 0 /* assay example: also other places fixed */
// flags: -O3
#include <stddef.h>
#include <stdint.h>
struct totals {
	double weight;
	uint32_t bytes;
};
float peak;
uint32_t checksum;
void product(double *c, const double *a, const double *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			c[i * n + j] = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			double c_value = c[i * n + j];
			for (size_t k = 0; k < n; k++) // finds
				c_value += a[i * n + k] * b[k * n + j];
			c[i * n + j] = c_value;
		}
}
struct point {
	int tag;
	double x;
};
void weigh(struct totals *totals, const double *values, const uint8_t *sizes, const struct point *points, double *sum, size_t count)
{
	double sum_value = *sum;
	for (size_t i = 0; i < count; i++) // finds
		sum_value += points[i].x;
	*sum = sum_value;
	double weight = totals->weight;
	for (size_t i = 0; i < count; i++) // finds
		weight = weight + values[i];
	totals->weight = weight;
}
void level(const float *values, const uint32_t *words, size_t count)
{
	float peak_value = peak;
	for (size_t i = 0; i < count; i++) { // finds
		peak_value -= values[i] * peak_value;
	}
	peak = peak_value;
	uint32_t checksum_value = checksum;
	for (size_t i = 0; i < count; i++) // finds
		checksum_value ^= words[i];
	checksum = checksum_value;
}
#endif

#if 0 /* assay example: also more pointers than are compared */
// flags: -O3
#include <stddef.h>
void mix(float *sum, float *difference, float *product, const float *a, const float *b, const float *c, size_t count);
void mix(float *sum, float *difference, float *product, const float *a, const float *b, const float *c, size_t count)
{
	for (size_t i = 0; i < count; i++) { // finds
		sum[i] = a[i] + b[i];
		difference[i] = b[i] - c[i];
		product[i] = a[i] * c[i + 1];
	}
}
#endif

#if 0 /* assay example: also more pointers than are compared fixed */
// flags: -O3
#include <stddef.h>
void mix(float *restrict sum, float *restrict difference, float *restrict product, const float *restrict a, const float *restrict b, const float *restrict c, size_t count);
void mix(float *restrict sum, float *restrict difference, float *restrict product, const float *restrict a, const float *restrict b, const float *restrict c, size_t count)
{
	for (size_t i = 0; i < count; i++) { // finds
		sum[i] = a[i] + b[i];
		difference[i] = b[i] - c[i];
		product[i] = a[i] * c[i + 1];
	}
}
#endif

#if 0 /* assay example: also a constant length at gcc -O2 */
// flags: -O2 -std=gnu89
void window(float *out, const float *in)
{
	int i;
	for (i = 0; i < 512; i++) /* finds */
		out[i] = in[i] * 0.5f;
}
#endif

#if 0 /* assay example: also a constant length at gcc -O2 fixed */
// flags: -O2 -std=gnu89
void window(float *__restrict out, const float *__restrict in)
{
	int i;
	for (i = 0; i < 512; i++) /* finds */
		out[i] = in[i] * 0.5f;
}
#endif

#if 0 /* assay example: also other types without strict aliasing */
// flags: -O3 -fno-strict-aliasing
#include <stddef.h>
#include <stdint.h>
void total(uint64_t *sum, const uint32_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++) // finds
		*sum += sizes[i];
}
#endif

#if 0 /* assay example: also other types without strict aliasing fixed */
// flags: -O3 -fno-strict-aliasing
#include <stddef.h>
#include <stdint.h>
void total(uint64_t *sum, const uint32_t *sizes, size_t count)
{
	uint64_t sum_value = *sum;
	for (size_t i = 0; i < count; i++) // finds
		sum_value += sizes[i];
	*sum = sum_value;
}
#endif

#if 0 /* assay example: also advice only */
#include <stddef.h>
int find(double *sum, const double *a, size_t count, double most)
{
	for (size_t i = 0; i < count; i++) { // finds
		*sum += a[i];
		if (a[i] > most)
			return 1;
	}
	return 0;
}
#endif

#if 0 /* assay example: lookalike types that tell them apart */
// flags: -O3
#include <stddef.h>
#include <stdint.h>
void total(uint64_t *sum, const uint32_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*sum += sizes[i];
}
#endif

#if 0 /* assay example: lookalike restrict, and locals */
// flags: -O3
#include <stddef.h>
static double calls;
double sums(double *restrict sum, double *other, const double *restrict a, const double *b, size_t count)
{
	double local[4] = {0}, total = 0, *into = &total;
	for (size_t i = 0; i < count; i++)
		*sum += a[i];
	for (size_t i = 0; i < count; i++)
		*other += a[i];
	for (size_t i = 0; i < count; i++)
		local[2] += b[i];
	for (size_t i = 0; i < count; i++)
		*into += b[i];
	for (size_t i = 0; i < count; i++)
		calls += b[i];
	return total + local[2] + calls;
}
#endif

#if 0 /* assay example: lookalike in place, and windows that overlap */
// flags: -O3
#include <stddef.h>
#include <stdint.h>
void fold(double *a, size_t count, size_t distance)
{
	for (size_t i = 1; i < count; i++)
		a[0] += a[i];
	for (size_t i = distance; i < count; i++)
		a[i] = a[i - distance];
}
void copy_match(uint8_t *out, size_t distance, size_t length)
{
	const uint8_t *match = out - distance;
	while (length--)
		*out++ = *match++;
}
#endif

#if 0 /* assay example: lookalike the plain shape */
// flags: -O3
#include <stddef.h>
void blend(float *out, const float *a, const float *b, const float *weight, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = a[i] * *weight + b[i];
}
struct window {
	double age, size;
	unsigned count, used;
	unsigned list[64];
};
static unsigned twice(unsigned value)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < value; i++)
		sum += i;
	return sum;
}
struct point {
	int tag;
	double x;
};
void window_sum(struct window *sum, const struct window *from, const struct point *points, unsigned *squares, const unsigned *values, unsigned count)
{
	for (unsigned i = 0; i < count; i++, from++)
		sum->count += from->count;
	for (unsigned i = 0; i < count; i++)
		sum->age += points[i].x;
	for (unsigned i = 0; i < count; i++)
		sum->list[sum->used++] = values[i];
	for (unsigned i = 0; i < 32; i++)
		squares[i] = twice(values[i]);
}
size_t select_odd(int *out, int *found, const int *in, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (in[i] & 1)
			out[(*found)++] = in[i];
	return count;
}
#endif

#if 0 /* assay example: lookalike called with the same array twice */
// flags: -O3
#include <stddef.h>
static void mix(float *sum, float *difference, float *product, const float *a, const float *b, const float *c, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		sum[i] = a[i] + b[i];
		difference[i] = b[i] - c[i];
		product[i] = a[i] * c[i];
	}
}
void transform(float *x, float *y, float *z, size_t count)
{
	mix(x, y, z, x, y, z, count);
}
#endif

#if 0 /* assay example: lookalike always inlined, few iterations, a call */
// flags: -O3
#include <stddef.h>
#define FORCE_INLINE static inline __attribute__((always_inline))
double weight(double value);
FORCE_INLINE void add(double *sum, const double *a, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*sum += a[i];
}
double both(double *sum, const double *a, size_t count)
{
	double inner = 0;
	add(&inner, a, count);
	for (int i = 0; i < 4; i++)
		*sum += a[i];
	for (size_t i = 0; i < count; i++)
		*sum += weight(a[i]);
	return inner;
}
#endif

#if 0 /* assay example: lookalike integers that no vector code is lost for */
// flags: -O3
#include <stddef.h>
#include <stdint.h>
struct prices {
	uint32_t sum, bits[36], bytes;
};
void weigh(struct prices *prices, const uint8_t *sizes, size_t count)
{
	while (count--) {
		prices->bytes += sizes[count];
		if (sizes[count] == 255)
			break;
	}
}
void rescale(struct prices *prices, const uint32_t *costs)
{
	for (unsigned i = 0; i < 36; i++) {
		prices->bits[i] = costs[i] ? 1u << (10 - costs[i] % 10) : 1;
		prices->sum += prices->bits[i];
	}
}
#endif

#if 0 /* assay example: lookalike start-up, and what only it calls */
// flags: -O3
#include <stddef.h>
struct conf {
	double weight;
};
static void normalise(double *sum, const double *weights, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*sum += weights[i];
}
double setup_weights(const double *weights, size_t count)
{
	double sum = 0, other = 0;
	normalise(&sum, weights, count);
	normalise(&other, weights, count / 2);
	return sum + other;
}
void read_weights(struct conf *conf, const double *weights, size_t count)
{
	for (size_t i = 0; i < count; i++)
		conf->weight += weights[i];
}
#endif

#if 0 /* assay example: lookalike a handful of turns */
// flags: -O3 -fno-strict-aliasing
struct relation {
	int natts;
	const double *widths;
};
double width_of(const struct relation *relation, double *total)
{
	for (int i = 0; i < relation->natts; i++)
		*total += relation->widths[i];
	return *total;
}
double dimensions(int ndim, const double *sides, double *volume)
{
	for (int i = 0; i < ndim; i++)
		*volume *= sides[i];
	return *volume;
}
#endif
