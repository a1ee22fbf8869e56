/* S01 invariant-division: a loop divides by a number that stays the same, and that only the run shows.
 *
 * A division by a constant is a multiplication by its reciprocal; compilers see to that. By a variable it is the
 * processor's division, one of its slowest instructions, and no compiler takes the reciprocal out of the loop. It can be
 * had exactly: Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994 (any width);
 * Lemire, Kaser and Kurz, "Faster remainder by direct computation", Software: Practice and Experience 49, 2019 (32 bits,
 * with a fraction of 64). Where an assertion says that the divisor is a power of two, a mask or a shift is enough.
 *
 * Silent: constants, also those that a variable or all callers bring; floating point; signed operations; loops whose
 * turns are few or not counted (base conversion, probing, chains), since the reciprocal costs a division as well; loops
 * that call or do much beside it; divisions on some ways only; start-up and configuration.
 */
#include "patterns/twin.h"

#include "base/text.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

enum { FEW_ITERATIONS = 32, LITTLE_WORK = 12, MUCH_WORK = 28, DIVISIONS_MAX = 16 };

const struct pattern pattern_s01 = {
    .id = "S01",
    .slug = "invariant-division",
    .title = "a loop that divides by an unchanging variable",
    .tier = TIER_B,
    .what = "x / d or x % d of unsigned integers in every iteration of a counted innermost loop without calls, where d never "
            "changes in the loop and is no constant.",
    .why = "The processor divides: 20 to 90 cycles on x86 cores before Ice Lake and Zen 3, which can't begin the next one in the "
           "meantime, where a multiplication takes 3 and one can begin in each cycle. Compilers do that for constants only.",
    .when_not = "The loop makes a few turns, since the reciprocal costs a division; something else in the loop is slower; the code "
                "is for cores with a fast divider.",
    .expected = "3.0x for remainders of 32 bits (gcc 12 -O2; 3.9x with clang 14) on an AMD EPYC, catalogue's own measurement; more on "
                "cores with a slow divider, nothing where the loop waits for memory",
    .refuted_by = "Time: from Ice Lake and Zen 3 on a division of 32 bits takes some 10 to 12 cycles and one of 64 bits less than 20, "
                  "and where the loop waits for memory it costs nothing.",
    .sources = (const char *const[]){"Torbjorn Granlund and Peter Montgomery, Division by invariant integers using "
                                     "multiplication, PLDI 1994, figure 4.1",
                                     "Daniel Lemire, Owen Kaser, Nathan Kurz, Faster remainder by direct computation, Software: "
                                     "Practice and Experience 49, 2019",
                                     "Agner Fog, Instruction tables (latency of DIV), edition of 2023", NULL},
    .detect = detect,
};

struct detection {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
	bool wide;         /* there is an integer of 128 bits */
	unsigned helpers;  /* that candidates of this unit brought */
};

/* One division of the loop; all of a group have the same divisor. */
struct division {
	struct ast_node *node, *dividend, *divisor;
	bool remainder, assigns; /* assigns: x /= d */
	unsigned bits;           /* 32 or 64 */
	bool is_int;             /* of operands below 32 bits: the result is an int */
};

struct divisions {
	const struct loop *loop;
	struct division at[DIVISIONS_MAX];
	size_t count;
	bool other_slow; /* a call, a division of floats: the loop waits for that */
};

/* ---- which divisions ---------------------------------------------------------------------------------------------- */

static bool is_integer(const struct ast_type *type)
{
	return type && (type->kind == TYPE_INT || type->kind == TYPE_CHAR) && type->size > 0 && type->size <= 8 && !type->is_volatile &&
	       !type->is_atomic;
}

/* By the usual arithmetic conversions. False: the operation is signed, and its operands may be negative. */
static bool division_width(const struct ast_type *left, const struct ast_type *right, struct division *division)
{
	long long size = left->size > right->size ? left->size : right->size;
	bool both = !left->is_signed && !right->is_signed;
	if (right->is_signed)
		return false;
	division->is_int = size < 4;
	division->bits = size == 8 ? 64 : 32;
	/* The unsigned divisor is as wide as the operation, or nothing negative is there at all. */
	return both || (right->size == size && size >= 4);
}

static bool slow_visit(struct ast_node *node, void *context)
{
	bool *slow = context;
	const char *name = node->kind == AST_CALL ? call_name(node) : NULL;
	*slow |= ast_is_loop(node) || node->kind == AST_ASM || (node->kind == AST_CALL && (!name || !text_starts(name, "__builtin_"))) ||
	         ((node->kind == AST_BINARY || node->kind == AST_COMPOUND_ASSIGN) && (node->op == OP_DIV || node->op == OP_REM));
	return !*slow;
}

/* A call that takes as long as a division: of a function that isn't here, or that calls, loops or divides. */
static bool is_slow(const struct ast_node *call)
{
	const char *name = call_name(call);
	bool slow = !name || !(text_starts(name, "__builtin_") || (call->decl && call->decl->body));
	if (!slow && call->decl && call->decl->body)
		ast_walk(call->decl->body, slow_visit, &slow);
	return slow;
}

static bool divisions_visit(struct ast_node *node, void *context)
{
	struct divisions *divisions = context;
	bool divides = (node->kind == AST_BINARY || node->kind == AST_COMPOUND_ASSIGN) && (node->op == OP_DIV || node->op == OP_REM);
	if (node->kind == AST_CALL)
		divisions->other_slow |= is_slow(node);
	if (!divides)
		return node->kind != AST_SIZEOF;
	struct division division = {.node = node, .dividend = ast_strip(ast_child(node, 0)), .divisor = ast_strip(ast_child(node, 1)),
	                            .remainder = node->op == OP_REM, .assigns = node->kind == AST_COMPOUND_ASSIGN};
	if (!division.dividend || !division.divisor)
		return true;
	const struct ast_type *left = division.dividend->type, *right = division.divisor->type;
	if ((left && left->kind == TYPE_FLOAT) || (right && right->kind == TYPE_FLOAT))
		divisions->other_slow = true;
	if (!is_integer(left) || !is_integer(right) || !division_width(left, right, &division) ||
	    !loop_always(divisions->loop, node) || divisions->count == DIVISIONS_MAX)
		return true;
	divisions->at[divisions->count++] = division;
	return true;
}

struct passed {
	const struct ast_node *function;
	size_t index;
	bool variable; /* some call hands something else than a constant on, or nobody knows */
};

static bool passed_visit(struct ast_node *node, void *context)
{
	struct passed *passed = context;
	long long value;
	if (node->kind == AST_REF && node->decl == passed->function && !(node->parent && node->parent->kind == AST_CALL))
		passed->variable = true;
	if (node->kind == AST_CALL && node->decl == passed->function) {
		struct ast_node *argument = call_argument(node, passed->index);
		passed->variable |= !argument || (argument->kind != AST_SIZEOF && !node_constant(argument, &value));
	}
	return !passed->variable;
}

/* A parameter of a function of this file alone that every caller gives a constant: the compiler makes a version for it. */
static bool parameter_is_constant(const struct ast_unit *unit, const struct ast_node *function, const struct ast_node *decl)
{
	struct passed passed = {.function = function};
	if (function->is_external)
		return false;
	for (size_t i = 0; i < function->children.count && function->children.at[i] != decl; i++)
		passed.index += function->children.at[i]->kind == AST_PARAM;
	for (size_t i = 0; i < unit->top.count && !passed.variable; i++)
		if (unit->top.at[i] != function)
			ast_walk(unit->top.at[i], passed_visit, &passed);
	return !passed.variable;
}

struct uses {
	const struct ast_node *decl;
	bool assigned, addressed;
};

static bool uses_visit(struct ast_node *node, void *context)
{
	struct uses *uses = context;
	bool addresses = node->kind == AST_UNARY && node->op == OP_ADDRESS;
	bool assigns = node->kind == AST_ASSIGN || node->kind == AST_COMPOUND_ASSIGN || node_is_increment(node);
	struct ast_node *place = addresses || assigns ? ast_operand(node, 0) : NULL;
	if (place && place->kind == AST_REF && place->decl == uses->decl) {
		uses->addressed |= addresses;
		uses->assigned |= assigns;
	}
	return true;
}

/* What the loop's function does with a variable of its own. */
static struct uses uses_of(const struct loop *loop, const struct ast_node *decl)
{
	struct uses uses = {.decl = decl};
	ast_walk(loop->function->body, uses_visit, &uses);
	return uses;
}

static bool is_assigned(const struct loop *loop, const struct ast_node *decl)
{
	struct uses uses = uses_of(loop, decl);
	return uses.assigned || uses.addressed;
}

/* A template in C: it is taken in where its parameters are constants. */
static bool is_template(const struct ast_node *function)
{
	return function->attributes && strstr(function->attributes, " always_inline ");
}

/* What the compiler knows as a constant though it is written as a variable. */
static bool is_known(const struct loop *loop, struct ast_node *node)
{
	long long value;
	node = ast_strip_casts(node);
	if (node_constant(node, &value))
		return true;
	if (node->kind == AST_BINARY)
		return is_known(loop, node->children.at[0]) && is_known(loop, node->children.at[1]);
	const struct ast_node *decl = node->kind == AST_REF ? node->decl : NULL;
	if (!decl)
		return false;
	if (decl->kind == AST_PARAM)
		return parameter_is_constant(loop->unit, loop->function, decl) && !is_assigned(loop, decl);
	bool fixed = decl->kind == AST_VAR && decl->init && (decl->is_global ? decl->type && decl->type->is_const : !is_assigned(loop, decl));
	return fixed && (decl->init->kind == AST_SIZEOF || node_constant(decl->init, &value));
}

/* ---- which loops -------------------------------------------------------------------------------------------------- */

/* A loop that steps towards a bound: something that its condition compares goes up or down by a step. */
static bool is_counted(const struct loop *loop)
{
	struct ast_node *condition = ast_strip(loop->node->condition);
	if (!condition)
		return false;
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct ast_node *write = loop->writes.at[i], *site = loop->write_sites.at[i];
		bool step = node_is_increment(site) || (site->kind == AST_COMPOUND_ASSIGN && (site->op == OP_ADD || site->op == OP_SUB));
		if (step && write->kind == AST_REF && loop_always(loop, site) && node_mentions(condition, write))
			return true;
	}
	return false;
}

/* The loop walks along a chain: it is short, or waits for memory. */
static bool is_chase(const struct loop *loop)
{
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct ast_node *write = loop->writes.at[i], *site = loop->write_sites.at[i];
		if (write->kind == AST_REF && site->kind == AST_ASSIGN && site->children.count > 1) {
			struct ast_node *from = ast_strip_casts(site->children.at[1]);
			if (from && from->kind == AST_MEMBER && from->arrow && path_equal(from->children.at[0], write))
				return true;
		}
	}
	return false;
}

/* Whether the quotient becomes the next dividend (x /= d; x = x / d; q = x / d, x = q): as many turns as digits. */
static bool is_shrinking(const struct loop *loop, const struct division *division)
{
	struct ast_node *dividend = ast_strip_casts(division->dividend);
	if (division->remainder || dividend->kind != AST_REF)
		return false;
	if (division->assigns)
		return true;
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct ast_node *write = loop->writes.at[i], *site = loop->write_sites.at[i];
		if (!path_equal(write, dividend) || site->kind != AST_ASSIGN)
			continue;
		struct ast_node *from = site->children.at[1], *name = ast_strip_casts(from);
		if (node_holds(from, division->node))
			return true;
		for (size_t k = 0; name && name->kind == AST_REF && k < loop->writes.count; k++)
			if (path_equal(loop->writes.at[k], name) && node_holds(loop->write_sites.at[k], division->node))
				return true;
		const struct ast_node *decl = name && name->kind == AST_REF ? name->decl : NULL;
		if (decl && decl->kind == AST_VAR && decl->init && node_holds(decl->init, division->node))
			return true;
	}
	return false;
}


/* Whether only the loop's own assignments could change a value, and they don't: no pointer leads to it. */
static bool is_certain(const struct loop *loop, struct ast_node *node)
{
	node = ast_strip_casts(node);
	if (node->kind == AST_INT || node->kind == AST_CHAR)
		return true;
	if (node->kind == AST_BINARY)
		return is_certain(loop, node->children.at[0]) && is_certain(loop, node->children.at[1]);
	return node->kind == AST_REF && !node->is_global && node->decl && !uses_of(loop, node->decl).addressed;
}

/* Whether the loop stores through pointers, or to what others may point to. */
static bool stores_elsewhere(const struct loop *loop)
{
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct access access = access_of(loop->writes.at[i]);
		if (access.object ? access.object->is_global : !access_is_private(&access))
			return true;
	}
	return false;
}

/* ---- powers of two ------------------------------------------------------------------------------------------------ */

/* Whether a statement of the function before the loop asserts it: assert((n & (n - 1)) == 0), ASSERT(ISP2(n)). It need not
 * be compiled in. */
static bool is_asserted_power(const struct detection *detection, const struct loop *loop, struct ast_node *divisor)
{
	static const char *const tests[] = {"is_power_of_2(", "is_power_of_two(", "is_pow2(", "ispow2(", "isp2(", "powerof2("};
	struct arena *arena = detection->sink->arena;
	size_t size, begin = loop->function->body->range.offset, end = loop->node->range.offset;
	const char *file = ast_file_text(detection->unit, loop->node->range.file, &size), *name = ast_text(detection->unit, &divisor->range);
	if (!file || !name || begin >= end || end > size || !text_equal(loop->function->range.file, loop->node->range.file))
		return false;
	const char *text = text_squeezed(arena, file + begin, end - begin), *d = text_squeezed(arena, name, strlen(name));
	struct string_list wanted = {0};
	list_push(arena, &wanted, arena_printf(arena, "(%s&(%s-1))==0", d, d));
	list_push(arena, &wanted, arena_printf(arena, "!(%s&(%s-1))", d, d));
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		list_push(arena, &wanted, arena_printf(arena, "%s%s)", tests[i], d));
	for (size_t i = 0; i < wanted.count; i++) {
		const char *at = strcasestr(text, wanted.at[i]);
		while (at && at > text && !strchr(";{}", at[-1]))
			at--;
		if (at && strncasecmp(at, "assert", 6) == 0)
			return true;
	}
	return false;
}

/* ---- the candidate ------------------------------------------------------------------------------------------------ */

struct group {
	const struct loop *loop;
	struct division *at[DIVISIONS_MAX];
	size_t count;
	const char *divisor; /* a name that stands for it in the loop */
	struct string_list declarations;
};

/* An operand's text as a factor, in unsigned arithmetic; NULL: it can't be written again. */
static const char *factor(const struct detection *detection, const struct division *division)
{
	const struct ast_node *written = division->node->children.at[0];
	struct ast_node *bare = ast_strip(division->node->children.at[0]);
	const char *text = ast_text(detection->unit, &written->range);
	if (!text || strchr(text, '\n'))
		return NULL;
	bool wrap = written->kind == AST_BINARY || written->kind == AST_CONDITIONAL || written->kind == AST_ASSIGN ||
	            written->kind == AST_COMPOUND_ASSIGN;
	if (wrap)
		text = arena_printf(detection->sink->arena, "(%s)", text);
	return bare->type->is_signed ? arena_printf(detection->sink->arena, "(unsigned%s)%s", division->bits == 64 ? " long" : "", text)
	                             : text;
}

/* The divisor's name: its own, or that of a constant that is declared before the loop. */
static bool name_divisor(struct detection *detection, struct group *group)
{
	struct arena *arena = detection->sink->arena;
	struct ast_node *divisor = group->at[0]->divisor;
	if (divisor->kind == AST_REF && divisor->decl && !divisor->is_global) {
		group->divisor = divisor->name;
		return true;
	}
	const char *wanted = divisor->kind == AST_MEMBER ? divisor->name : "divisor";
	const char *name = free_name(group->loop, arena, wanted), *text = ast_text(detection->unit, &divisor->range);
	const char *left = name ? constant_declarator(arena, divisor->type, name) : NULL;
	if (!left || !text || strchr(text, '\n') || divisor->range.in_macro)
		return false;
	list_push(arena, &group->declarations, arena_printf(arena, "%s = %s;", left, text));
	group->divisor = name;
	return true;
}

static bool replace(struct detection *detection, struct finding *finding, const struct division *division, const char *text)
{
	const struct ast_node *node = division->node;
	if (division->assigns) {
		const char *place = division->dividend->kind == AST_REF ? division->dividend->name : NULL;
		if (!place)
			return false;
		text = arena_printf(detection->sink->arena, "%s = %s", place, text);
	}
	finding_edit(detection->sink, finding, node->range.offset, node->range.end_offset - node->range.offset, text);
	return true;
}

static bool put_mask(struct detection *detection, struct group *group, struct finding *finding)
{
	struct arena *arena = detection->sink->arena;
	for (size_t i = 0; i < group->count; i++) {
		const struct division *division = group->at[i];
		const char *x = factor(detection, division), *d = group->divisor;
		if (!x || division->is_int)
			return false;
		const char *text = division->remainder ? arena_printf(arena, "(%s & (%s - 1))", x, d)
		                                       : arena_printf(arena, "(%s >> __builtin_ctzll(%s))", x, d);
		if (!replace(detection, finding, division, text))
			return false;
	}
	return true;
}

/* 32 bits: d's reciprocal as a fraction of 64 bits. Of a remainder the product's fraction is taken once more times d; a
 * quotient is its whole part, for which the reciprocal of 1 needs a bit more than 64. */
static bool put_narrow(struct detection *detection, struct group *group, struct finding *finding)
{
	struct arena *arena = detection->sink->arena;
	const char *d = group->divisor, *fraction = NULL, *inverse = NULL;
	for (size_t i = 0; i < group->count; i++) {
		const struct division *division = group->at[i];
		const char *x = factor(detection, division), *type = division->is_int ? "int" : "unsigned";
		if (!x)
			return false;
		const char **name = division->remainder ? &fraction : &inverse;
		if (!*name) {
			*name = free_name(group->loop, arena, arena_printf(arena, division->remainder ? "%s_fraction" : "%s_inverse", d));
			if (!*name)
				return false;
			list_push(arena, &group->declarations,
			          division->remainder
			              ? arena_printf(arena, "const unsigned long long %s = %s ? ~0ULL / %s + 1 : 0;", *name, d, d)
			              : arena_printf(arena, "const __uint128_t %s = %s ? (__uint128_t)(~0ULL / %s) + 1 : 0;", *name, d, d));
		}
		const char *text = division->remainder
		                       ? arena_printf(arena, "(%s)(((__uint128_t)(%s * %s) * %s) >> 64)", type, *name, x, d)
		                       : arena_printf(arena, "(%s)((%s * %s) >> 64)", type, *name, x);
		if (!replace(detection, finding, division, text))
			return false;
	}
	return true;
}

/* 64 bits: the reciprocal with the 65th bit left out, which an addition and two shifts put back. */
static bool put_wide(struct detection *detection, struct group *group, struct finding *finding)
{
	struct arena *arena = detection->sink->arena;
	const struct ast_node *function = group->loop->function;
	const char *d = group->divisor, *names[2] = {NULL, NULL};
	const char *bits = free_name(group->loop, arena, arena_printf(arena, "%s_bits", d));
	const char *inverse = free_name(group->loop, arena, arena_printf(arena, "%s_inverse", d));
	size_t place = place_before(detection->unit, function);
	if (!bits || !inverse || place == SIZE_MAX || !text_equal(function->range.file, group->loop->node->range.file))
		return false;
	const char *number = detection->helpers ? arena_printf(arena, "%u", detection->helpers + 1) : "";
	char *helpers = "";
	for (size_t i = 0; i < group->count; i++) {
		const struct division *division = group->at[i];
		const char *x = factor(detection, division), **name = &names[division->remainder];
		if (!x)
			return false;
		if (!*name) {
			*name = arena_printf(arena, "%s_%s%s", function->name, division->remainder ? "remainder" : "quotient", number);
			helpers = arena_printf(
			    arena,
			    "%s/* n %s d by multiplying, exact for all n and d > 0: Granlund and Montgomery, 1994, figure 4.1. */\n"
			    "static inline unsigned long long %s(unsigned long long n, %sunsigned long long inverse, unsigned bits)\n"
			    "{\n"
			    "\tunsigned long long high = (unsigned long long)(((__uint128_t)inverse * n) >> 64);\n\n"
			    "\treturn %s(high + ((n - high) >> (bits > 0))) >> (bits - (bits > 0))%s;\n"
			    "}\n\n",
			    helpers, division->remainder ? "%" : "/", *name, division->remainder ? "unsigned long long d, " : "",
			    division->remainder ? "n - (" : "", division->remainder ? ") * d" : "");
		}
		const char *text = division->remainder ? arena_printf(arena, "%s(%s, %s, %s, %s)", *name, x, d, inverse, bits)
		                                       : arena_printf(arena, "%s(%s, %s, %s)", *name, x, inverse, bits);
		if (!replace(detection, finding, division, text))
			return false;
	}
	list_push(arena, &group->declarations,
	          arena_printf(arena, "const unsigned %s = %s > 1 ? 64 - (unsigned)__builtin_clzll(%s - 1) : 0;", bits, d, d));
	list_push(arena, &group->declarations,
	          arena_printf(arena, "const unsigned long long %s = %s ? (unsigned long long)(((((__uint128_t)1 << %s) - %s) << 64) / %s) + 1 : 0;",
	                       inverse, d, bits, d, d));
	finding_edit(detection->sink, finding, place, 0, helpers);
	detection->helpers++;
	return true;
}

static void put_candidate(struct detection *detection, struct group *group, struct finding *finding, bool power)
{
	bool plain = loop_takes_declaration(group->loop) && (power || detection->wide);
	for (size_t i = 0; i < group->count; i++)
		plain &= !group->at[i]->node->range.in_macro && !node_holds(group->at[0]->dividend, group->at[i]->divisor);
	for (size_t i = 0; i < group->count; i++)
		for (size_t k = 0; k < group->count; k++)
			plain &= i == k || !node_holds(group->at[i]->node, group->at[k]->node); /* x / d % d: one edit inside of the other */
	bool done = plain && name_divisor(detection, group) &&
	            (power                          ? put_mask(detection, group, finding)
	             : group->at[0]->bits == 64 ? put_wide(detection, group, finding)
	                                            : put_narrow(detection, group, finding));
	if (!done) {
		finding->edits.count = 0;
		return;
	}
	loop_declare(group->loop, detection->sink, finding, &group->declarations);
}

/* ---- the finding -------------------------------------------------------------------------------------------------- */

static void report(struct detection *detection, struct group *group)
{
	struct arena *arena = detection->sink->arena;
	const struct loop *loop = group->loop;
	struct division *first = group->at[0];
	const char *d = node_quoted(detection->unit, first->divisor, arena);
	bool power = !first->is_int && is_asserted_power(detection, loop, first->divisor);
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_s01, &first->node->range, loop->function->name,
	    loop_work(loop) <= LITTLE_WORK ? SEVERITY_MEDIUM : SEVERITY_LOW,
	    arena_printf(arena, "every iteration divides by %s, which stays the same: %s", d,
	                 power ? "a power of two, for which a mask or a shift is enough"
	                       : arena_printf(arena, "%u bits, and the compiler can't know its reciprocal", first->bits)));
	put_candidate(detection, group, finding, power);
	bool certain = is_certain(loop, first->divisor) || (!stores_elsewhere(loop) && !power);
	const char *contract = certain ? NULL : arena_printf(arena, "no store of the loop changes %s", d);
	if (power)
		contract = arena_printf(arena, "%s is a power of two, as the assertion says%s%s", d, contract ? "; " : "", contract ? contract : "");
	bool candidate = finding->edits.count > 0;
	finding->contract = candidate ? contract : NULL;
	finding->evidence = arena_printf(
	    arena, "no statement of the loop assigns %s, and it is no constant%s", d,
	    power       ? ""
	    : candidate ? "; the candidate takes its reciprocal before the loop and gives the same results for all operands"
	                : "; advice: take its reciprocal before the loop");
}

static void detect_loop(struct loop *loop, void *context)
{
	struct detection *detection = context;
	long long bound = loop_bound(loop);
	if (loop->has_barrier || loop->has_inner_loop || loop->calls.count || loop->strlens.count ||
	    (bound >= 0 && bound <= FEW_ITERATIONS) || loop_work(loop) > MUCH_WORK || is_template(loop->function) || !is_counted(loop) ||
	    is_chase(loop))
		return;
	struct divisions divisions = {.loop = loop};
	ast_walk(loop->node, divisions_visit, &divisions);
	if (divisions.count == 0 || divisions.other_slow || loop_heat(loop) == HEAT_COLD)
		return;
	for (size_t i = 0; i < divisions.count; i++)
		if (is_shrinking(loop, &divisions.at[i]))
			return;
	bool taken[DIVISIONS_MAX] = {false};
	for (size_t i = 0; i < divisions.count; i++) {
		struct division *division = &divisions.at[i];
		if (taken[i] || !loop_keeps(loop, division->divisor) || loop_keeps(loop, division->dividend) ||
		    is_known(loop, division->divisor))
			continue;
		struct group group = {.loop = loop};
		for (size_t k = i; k < divisions.count; k++) {
			bool same = !taken[k] && path_equal(divisions.at[k].divisor, division->divisor) && divisions.at[k].bits == division->bits;
			if (same)
				group.at[group.count++] = &divisions.at[k];
			taken[k] |= same;
		}
		report(detection, &group);
	}
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct arena arena;
	arena_init(&arena);
	struct detection detection = {
	    .unit = unit,
	    .sink = sink,
	    .wide = !command_flag(command, "-m32", "-m64", false) && !command_flag(command, "-mx32", "-m64", false),
	};
	loops_visit(unit, &arena, detect_loop, &detection);
	arena_release(&arena);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 4096 };

struct table {
	uint32_t size;
	uint32_t *heads;
};

/* In which bucket each key belongs. */
static __attribute__((noinline)) void buckets_of(const struct table *table, uint32_t *buckets, const uint32_t *hashes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buckets[i] = hashes[i] % table->size; // finds
}

struct state {
	struct table table;
	uint32_t hashes[COUNT], buckets[COUNT];
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	s->table.size = 1021;
	for (uint32_t i = 0; i < COUNT; i++)
		s->hashes[i] = i * 2654435761u;
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		buckets_of(&s->table, s->buckets, s->hashes, COUNT);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	buckets_of(&s->table, s->buckets, s->hashes, COUNT);
	assay_output(b, "buckets", s->buckets, sizeof s->buckets);
}

static void edges(void *state, struct assay_bench *b)
{
	static const uint32_t sizes[] = {1, 2, 3, 7, 641, 65536, 65537, 0x7fffffff, 0x80000000u, 0x80000001u, 0xfffffffeu, 0xffffffffu};
	struct state *s = state;
	uint32_t kept = s->hashes[0], size = s->table.size;
	s->hashes[0] = 0xffffffffu;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		s->table.size = sizes[i];
		output(s, b);
	}
	s->table.size = 0; /* as long as nothing is divided */
	buckets_of(&s->table, s->buckets, s->hashes, 0);
	s->hashes[0] = kept;
	s->table.size = size;
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 4096 };

struct table {
	uint32_t size;
	uint32_t *heads;
};

/* In which bucket each key belongs. */
static __attribute__((noinline)) void buckets_of(const struct table *table, uint32_t *buckets, const uint32_t *hashes, size_t count)
{
	const uint32_t size = table->size;
	const unsigned long long size_fraction = size ? ~0ULL / size + 1 : 0;
	for (size_t i = 0; i < count; i++)
		buckets[i] = (unsigned)(((__uint128_t)(size_fraction * hashes[i]) * size) >> 64); // finds
}

struct state {
	struct table table;
	uint32_t hashes[COUNT], buckets[COUNT];
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	s->table.size = 1021;
	for (uint32_t i = 0; i < COUNT; i++)
		s->hashes[i] = i * 2654435761u;
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		buckets_of(&s->table, s->buckets, s->hashes, COUNT);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	buckets_of(&s->table, s->buckets, s->hashes, COUNT);
	assay_output(b, "buckets", s->buckets, sizeof s->buckets);
}

static void edges(void *state, struct assay_bench *b)
{
	static const uint32_t sizes[] = {1, 2, 3, 7, 641, 65536, 65537, 0x7fffffff, 0x80000000u, 0x80000001u, 0xfffffffeu, 0xffffffffu};
	struct state *s = state;
	uint32_t kept = s->hashes[0], size = s->table.size;
	s->hashes[0] = 0xffffffffu;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		s->table.size = sizes[i];
		output(s, b);
	}
	s->table.size = 0; /* as long as nothing is divided */
	buckets_of(&s->table, s->buckets, s->hashes, 0);
	s->hashes[0] = kept;
	s->table.size = size;
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 4096, BUCKETS = 1021 };

/* The compiler knows the size, and multiplies. */
static __attribute__((noinline)) void buckets_of(uint32_t *buckets, const uint32_t *hashes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buckets[i] = hashes[i] % BUCKETS;
}

struct state {
	uint32_t hashes[COUNT], buckets[COUNT];
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (uint32_t i = 0; i < COUNT; i++)
		s->hashes[i] = i * 2654435761u;
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		buckets_of(s->buckets, s->hashes, COUNT);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	buckets_of(s->buckets, s->hashes, COUNT);
	assay_output(b, "buckets", s->buckets, sizeof s->buckets);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also quotients, other widths, and powers of two */
#include <assay/bench.h>
#include <assert.h>
#include <stdlib.h>

enum { COUNT = 512 };

struct ring {
	size_t size;
	unsigned slots;
};

static __attribute__((noinline)) void rows_of(uint32_t *rows, uint32_t *columns, const uint32_t *at, uint32_t width, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		rows[i] = (at[i] + 1) / width; // finds
		columns[i] = (at[i] + 1) % width;
	}
}

static __attribute__((noinline)) uint64_t wide(const uint64_t *values, uint64_t modulus, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i] % modulus + values[i] / modulus; // finds
	return sum;
}

/* A power of
 * the base. */
static __attribute__((noinline)) uint64_t power(uint64_t base, uint64_t modulus, unsigned exponent)
{
	uint64_t result = 1;
	while (exponent-- > 0)
		result = result * base % modulus; // finds
	return result;
}

static __attribute__((noinline)) uint32_t masked(const struct ring *ring, const uint32_t *at, size_t count)
{
	uint32_t sum = 0;
	assert((ring->slots & (ring->slots - 1)) == 0);
	for (size_t i = 0; i < count; i++)
		sum += at[i] % ring->slots; // finds
	return sum;
}

static __attribute__((noinline)) int small(const uint16_t *at, uint16_t width, size_t count)
{
	int sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += at[i] % width - 5; // finds
	return sum;
}

struct state {
	uint32_t at[COUNT], rows[COUNT], columns[COUNT];
	uint64_t values[COUNT];
	uint16_t narrow[COUNT];
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (uint32_t i = 0; i < COUNT; i++) {
		s->at[i] = i * 2654435761u;
		s->values[i] = i * 0x9e3779b97f4a7c15u;
		s->narrow[i] = (uint16_t)s->at[i];
	}
	s->at[0] = 0xffffffffu;
	s->values[0] = ~(uint64_t)0;
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		rows_of(s->rows, s->columns, s->at, 80, COUNT);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (unsigned shift = 0; shift < 64; shift++)
		for (uint64_t add = 0; add < 3; add++) {
			uint64_t d = ((uint64_t)1 << shift) + add - 1;
			uint64_t sums[4] = {0};
			if (d == 0)
				continue;
			sums[0] = wide(s->values, d, COUNT);
			sums[1] = power(s->values[5], d, COUNT);
			if ((uint32_t)d != 0) {
				rows_of(s->rows, s->columns, s->at, (uint32_t)d, COUNT);
				assay_output(b, "rows", s->rows, sizeof s->rows);
				assay_output(b, "columns", s->columns, sizeof s->columns);
			}
			if ((uint16_t)d != 0)
				sums[2] = (uint64_t)small(s->narrow, (uint16_t)d, COUNT);
			struct ring ring = {.slots = shift < 32 ? 1u << shift : 1};
			sums[3] = masked(&ring, s->at, COUNT);
			assay_output(b, "sums", sums, sizeof sums);
		}
	wide(s->values, 0, 0);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also quotients, other widths, and powers of two fixed */
#include <assay/bench.h>
#include <assert.h>
#include <stdlib.h>

enum { COUNT = 512 };

struct ring {
	size_t size;
	unsigned slots;
};

static __attribute__((noinline)) void rows_of(uint32_t *rows, uint32_t *columns, const uint32_t *at, uint32_t width, size_t count)
{
	const __uint128_t width_inverse = width ? (__uint128_t)(~0ULL / width) + 1 : 0;
	const unsigned long long width_fraction = width ? ~0ULL / width + 1 : 0;
	for (size_t i = 0; i < count; i++) {
		rows[i] = (unsigned)((width_inverse * (at[i] + 1)) >> 64); // finds
		columns[i] = (unsigned)(((__uint128_t)(width_fraction * (at[i] + 1)) * width) >> 64);
	}
}

/* n % d by multiplying, exact for all n and d > 0: Granlund and Montgomery, 1994, figure 4.1. */
static inline unsigned long long wide_remainder(unsigned long long n, unsigned long long d, unsigned long long inverse, unsigned bits)
{
	unsigned long long high = (unsigned long long)(((__uint128_t)inverse * n) >> 64);

	return n - ((high + ((n - high) >> (bits > 0))) >> (bits - (bits > 0))) * d;
}

/* n / d by multiplying, exact for all n and d > 0: Granlund and Montgomery, 1994, figure 4.1. */
static inline unsigned long long wide_quotient(unsigned long long n, unsigned long long inverse, unsigned bits)
{
	unsigned long long high = (unsigned long long)(((__uint128_t)inverse * n) >> 64);

	return (high + ((n - high) >> (bits > 0))) >> (bits - (bits > 0));
}

static __attribute__((noinline)) uint64_t wide(const uint64_t *values, uint64_t modulus, size_t count)
{
	uint64_t sum = 0;
	const unsigned modulus_bits = modulus > 1 ? 64 - (unsigned)__builtin_clzll(modulus - 1) : 0;
	const unsigned long long modulus_inverse = modulus ? (unsigned long long)(((((__uint128_t)1 << modulus_bits) - modulus) << 64) / modulus) + 1 : 0;
	for (size_t i = 0; i < count; i++)
		sum += wide_remainder(values[i], modulus, modulus_inverse, modulus_bits) + wide_quotient(values[i], modulus_inverse, modulus_bits); // finds
	return sum;
}

/* n % d by multiplying, exact for all n and d > 0: Granlund and Montgomery, 1994, figure 4.1. */
static inline unsigned long long power_remainder2(unsigned long long n, unsigned long long d, unsigned long long inverse, unsigned bits)
{
	unsigned long long high = (unsigned long long)(((__uint128_t)inverse * n) >> 64);

	return n - ((high + ((n - high) >> (bits > 0))) >> (bits - (bits > 0))) * d;
}

/* A power of
 * the base. */
static __attribute__((noinline)) uint64_t power(uint64_t base, uint64_t modulus, unsigned exponent)
{
	uint64_t result = 1;
	const unsigned modulus_bits = modulus > 1 ? 64 - (unsigned)__builtin_clzll(modulus - 1) : 0;
	const unsigned long long modulus_inverse = modulus ? (unsigned long long)(((((__uint128_t)1 << modulus_bits) - modulus) << 64) / modulus) + 1 : 0;
	while (exponent-- > 0)
		result = power_remainder2((result * base), modulus, modulus_inverse, modulus_bits); // finds
	return result;
}

static __attribute__((noinline)) uint32_t masked(const struct ring *ring, const uint32_t *at, size_t count)
{
	uint32_t sum = 0;
	assert((ring->slots & (ring->slots - 1)) == 0);
	const unsigned int slots = ring->slots;
	for (size_t i = 0; i < count; i++)
		sum += (at[i] & (slots - 1)); // finds
	return sum;
}

static __attribute__((noinline)) int small(const uint16_t *at, uint16_t width, size_t count)
{
	int sum = 0;
	const unsigned long long width_fraction = width ? ~0ULL / width + 1 : 0;
	for (size_t i = 0; i < count; i++)
		sum += (int)(((__uint128_t)(width_fraction * at[i]) * width) >> 64) - 5; // finds
	return sum;
}

struct state {
	uint32_t at[COUNT], rows[COUNT], columns[COUNT];
	uint64_t values[COUNT];
	uint16_t narrow[COUNT];
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (uint32_t i = 0; i < COUNT; i++) {
		s->at[i] = i * 2654435761u;
		s->values[i] = i * 0x9e3779b97f4a7c15u;
		s->narrow[i] = (uint16_t)s->at[i];
	}
	s->at[0] = 0xffffffffu;
	s->values[0] = ~(uint64_t)0;
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		rows_of(s->rows, s->columns, s->at, 80, COUNT);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (unsigned shift = 0; shift < 64; shift++)
		for (uint64_t add = 0; add < 3; add++) {
			uint64_t d = ((uint64_t)1 << shift) + add - 1;
			uint64_t sums[4] = {0};
			if (d == 0)
				continue;
			sums[0] = wide(s->values, d, COUNT);
			sums[1] = power(s->values[5], d, COUNT);
			if ((uint32_t)d != 0) {
				rows_of(s->rows, s->columns, s->at, (uint32_t)d, COUNT);
				assay_output(b, "rows", s->rows, sizeof s->rows);
				assay_output(b, "columns", s->columns, sizeof s->columns);
			}
			if ((uint16_t)d != 0)
				sums[2] = (uint64_t)small(s->narrow, (uint16_t)d, COUNT);
			struct ring ring = {.slots = shift < 32 ? 1u << shift : 1};
			sums[3] = masked(&ring, s->at, COUNT);
			assay_output(b, "sums", sums, sizeof sums);
		}
	wide(s->values, 0, 0);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also advice only */
#include <stddef.h>
#include <stdint.h>
#define SPREAD(x, n) ((x) % (n))
void spread(uint32_t *out, const uint32_t *in, uint32_t n, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = SPREAD(in[i], n); // finds
}
#endif

#if 0 /* assay example: lookalike constants under other names */
#include <stddef.h>
#include <stdint.h>
enum { SLOTS = 37 };
struct slot {
	int kind;
};
static const unsigned prime = 1021;
static unsigned sum_of(const unsigned *in, size_t count, unsigned base)
{
	unsigned sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += in[i] % base;
	return sum;
}
unsigned constants(const unsigned *in, size_t count)
{
	unsigned sum = 0, ten = 10;
	for (size_t i = 0; i < count; i++)
		sum += in[i] % SLOTS + in[i] % prime + in[i] / ten;
	for (size_t i = 0; i < count; i++)
		sum += in[i] / sizeof(struct slot);
	return sum + sum_of(in, count, 10) + sum_of(in, count / 2, SLOTS);
}
#endif

#if 0 /* assay example: lookalike a template that is taken in with constants */
#include <stddef.h>
#include <stdint.h>
#define TEMPLATE static inline __attribute__((always_inline))
static inline uint32_t group_of(uint32_t entries)
{
	return entries == 16 ? 4 : 1;
}
TEMPLATE void places(uint32_t *out, const uint32_t *in, uint32_t entries, size_t count)
{
	const uint32_t group = group_of(entries);
	for (size_t i = 0; i < count; i++)
		out[i] = in[i] / group;
}
void places_16(uint32_t *out, const uint32_t *in, size_t count)
{
	places(out, in, 16, count);
}
#endif

#if 0 /* assay example: lookalike few turns */
#include <stddef.h>
#include <stdint.h>
unsigned digits(char *out, uint64_t value, unsigned base)
{
	unsigned count = 0;
	do {
		out[count++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value && count < 64);
	return count;
}
unsigned digits_apart(char *out, uint64_t value, uint64_t base)
{
	unsigned count = 0;
	for (; value > 0 && count < 64; count++) {
		uint64_t next = value / base;
		out[count] = (char)(value - next * base);
		value = next;
	}
	return count;
}
size_t probe(const uint32_t *keys, uint32_t key, size_t size)
{
	size_t at = key % size;
	while (keys[at] && keys[at] != key)
		at = (at + 1) % size;
	return at;
}
void four(uint32_t *out, const uint32_t *in, uint32_t size)
{
	for (int i = 0; i < 4; i++)
		out[i] = in[i] % size;
}
#endif

#if 0 /* assay example: lookalike it changes, or both stay */
#include <stddef.h>
#include <stdint.h>
uint32_t common(uint32_t a, uint32_t b, size_t *turns)
{
	while (b) {
		uint32_t rest = a % b;
		a = b;
		b = rest;
		(*turns)++;
	}
	return a;
}
size_t divisors(uint32_t n)
{
	size_t count = 0;
	for (uint32_t d = 1; d < n; d++)
		count += n % d == 0;
	return count;
}
uint32_t both(const uint32_t *in, uint32_t a, uint32_t b, size_t count)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += in[i] * (a / b);
	return sum;
}
#endif

#if 0 /* assay example: lookalike signed, floating, rare or beside more */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
struct node {
	struct node *next;
	uint32_t hash, bucket;
};
unsigned long measure(const char *text);
double beside(const int *in, const double *values, uint32_t *out, int width, double scale, uint32_t size, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += in[i] % width;
	for (size_t i = 0; i < count; i++)
		sum += values[i] / scale;
	for (size_t i = 0; i < count; i++)
		if (in[i] < 0)
			out[i] %= size;
	for (size_t i = 0; i < count; i++)
		sum += sqrt(values[i]) + out[i] % size;
	for (size_t i = 0; i < count; i++)
		out[i] = (uint32_t)measure((const char *)&in[i]) % size;
	return sum;
}
static uint32_t permuted(const uint32_t *base, uint32_t at, uint32_t size)
{
	return (base[at] + 7) % size;
}
void rows(uint32_t *out, const uint32_t *base, uint32_t start, uint32_t size, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = permuted(base, (start + (uint32_t)i) % size, size);
}
void chain(struct node *node, uint32_t size, size_t left)
{
	for (; node && left; node = node->next, left--)
		node->bucket = node->hash % size;
}
void table_rehash(uint32_t *out, const uint32_t *in, uint32_t size, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = in[i] % size;
}
#endif
