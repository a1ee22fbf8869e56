/* S02 comparator-by-pointer: a sort or a search calls a small comparison of the same file through a pointer, step by step.
 *
 * The call costs more than the comparison, and nothing of it can be taken in, since the code around it was compiled for
 * every comparison there is. Two forms are reported:
 *  - qsort() with a comparison of a few operations that this file defines: the sort itself is in the C library;
 *  - a function of this file whose loop calls a parameter, where this file hands it such comparisons by name.
 * bsearch() is not one of them: glibc's header brings its body along, and compilers take the comparison in.
 *
 * Silent: comparisons that call, loop, or compare strings; start-up and configuration; a handful of elements; functions
 * that get only one comparison and are static, for which compilers make a version; functions too large to have twice.
 */
#include "patterns/twin.h"

#include "base/text.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

enum { COMPARISON_OPERATIONS = 24, CALLEE_OPERATIONS = 90, SITES_MAX = 4, FEW_ELEMENTS = 16, LARGEST_ELEMENT = 64 };

const struct pattern pattern_s02 = {
    .id = "S02",
    .slug = "comparator-by-pointer",
    .title = "a small comparison called through a pointer",
    .tier = TIER_B,
    .what = "qsort() with a comparison of a few operations that is defined in the same file, or a loop that calls a parameter to "
            "compare while the file hands it such functions by name.",
    .why = "Every step calls through a pointer what takes two or three instructions: arguments go through memory, registers are "
           "saved, and neither the comparison nor the moving of elements can be fitted to the element's type.",
    .when_not = "Few elements are sorted, or seldom; the comparison itself is slow (strings, look-ups); the code's size matters more.",
    .expected = "5.9x for sorting 2,048 records of 8 bytes by an integer (gcc 12 -O2 and glibc 2.36; 7.8x with clang 14), catalogue's own "
                "measurement, in which the branches of the same input were learned",
    .refuted_by = "Equal machine code, where the compiler has made a version for the comparison by itself; else time, in which the "
                  "mispredicted branches of the sort weigh more than the calls do for some inputs.",
    .sources = (const char *const[]){"Jon Bentley and Douglas McIlroy, Engineering a sort function, Software: Practice and "
                                     "Experience 23, 1993 (what the interface of qsort costs)",
                                     "Donald Knuth, The Art of Computer Programming, volume 3, 2nd edition, 1998, section 5.2.4 "
                                     "(merging)",
                                     "ISO/IEC 9899:2018, 7.22.5 (the order of equal elements is unspecified)", NULL},
    .detect = detect,
};

struct detection {
	const struct ast_unit *unit;
	const struct compile_command *command;
	struct pattern_sink *sink;
	struct arena *arena; /* for this unit */
	struct ast_node *function; /* that is being walked */
	struct ast_node_list sorts, sorters; /* calls of qsort, and the functions they stand in */
};

/* ---- comparisons -------------------------------------------------------------------------------------------------- */

struct weight {
	unsigned operations;
	bool heavy;
};

static bool weight_visit(struct ast_node *node, void *context)
{
	struct weight *weight = context;
	weight->operations += node->kind == AST_BINARY || node->kind == AST_ASSIGN || node->kind == AST_COMPOUND_ASSIGN ||
	                      node->kind == AST_SUBSCRIPT || node->kind == AST_MEMBER || node->kind == AST_IF ||
	                      node->kind == AST_CONDITIONAL || node->kind == AST_VAR || node_is_increment(node);
	weight->heavy |= ast_is_loop(node) || node->kind == AST_ASM || node->kind == AST_ATOMIC || node->kind == AST_GOTO ||
	                 node->kind == AST_SWITCH;
	if (node->kind == AST_CALL) {
		const char *name = call_name(node);
		weight->heavy |= !name || !text_starts(name, "__builtin_");
	}
	return !weight->heavy;
}

static bool is_light(const struct ast_node *function)
{
	struct weight weight = {0};
	if (!function || function->kind != AST_FUNCTION || !function->is_definition || !function->body ||
	    (function->attributes && strstr(function->attributes, " noinline ")))
		return false;
	ast_walk(function->body, weight_visit, &weight);
	return !weight.heavy && weight.operations <= COMPARISON_OPERATIONS;
}

/* The function that an argument names: f, &f, (cast)f; NULL: another expression. */
static struct ast_node *function_named(struct ast_node *argument)
{
	struct ast_node *node = ast_strip_casts(argument);
	if (node && node->kind == AST_UNARY && node->op == OP_ADDRESS)
		node = ast_strip_casts(node->children.at[0]);
	return node && node->kind == AST_REF && node->decl && node->decl->kind == AST_FUNCTION ? node->decl : NULL;
}

/* Whether what stands there can be written out once more, at another place of the file. */
static const char *one_line(const struct ast_unit *unit, const struct ast_node *node)
{
	const char *text = node && node->range.file ? ast_text(unit, &node->range) : NULL;
	return text && !strchr(text, '\n') ? text : NULL;
}

/* ---- qsort -------------------------------------------------------------------------------------------------------- */

/* The type of the elements, when the third argument is its size; NULL: it isn't, or the type can't be written. */
static const struct ast_type *element_type(const struct ast_node *call)
{
	struct ast_node *base = ast_strip(call_argument(call, 0)), *size = ast_strip_casts(call_argument(call, 2));
	long long bytes;
	const struct ast_type *type = base && base->type && (base->type->kind == TYPE_POINTER || base->type->kind == TYPE_ARRAY)
	                                  ? base->type->pointee
	                                  : NULL;
	if (!type || !size || type->kind == TYPE_VOID || type->size <= 0 || type->size > LARGEST_ELEMENT || type->is_const || type->is_volatile ||
	    !type->spelling || strpbrk(type->spelling, "([{<") || (type->kind == TYPE_POINTER && !text_ends(type->spelling, "*")))
		return NULL;
	if (node_constant(size, &bytes))
		return bytes == type->size ? type : NULL;
	return size->kind == AST_SIZEOF && size->has_value && size->value == type->size ? type : NULL;
}

static bool sorts_visit(struct ast_node *node, void *context)
{
	static const char *const names[] = {"qsort", NULL};
	struct detection *detection = context;
	if (node->kind == AST_CALL && call_is(node, names)) {
		list_push(detection->arena, &detection->sorts, node);
		list_push(detection->arena, &detection->sorters, detection->function);
	}
	return true;
}

/* A merge sort of the same order of equal elements as glibc's: runs by insertion, then merges through a second array. */
static const char *sort_text(struct arena *arena, const char *name, const char *type, const char *compare)
{
	const char *blank = text_ends(type, "*") ? "" : " ";
	char *out = arena_printf(arena,
	                         "/* qsort() for this comparison alone, which the compiler can take in. It keeps the order of equals. */\n"
	                         "static void %s(%s%s*base, size_t count)\n{\n"
	                         "\tenum { RUN = 8 };\n"
	                         "\t%s%s*from = base;\n"
	                         "\t%s%s*to;\n"
	                         "\t%s%s*spare;\n"
	                         "\tsize_t i, k, width;\n\n",
	                         name, type, blank, type, blank, type, blank, type, blank);
	out = arena_printf(arena,
	                   "%s\tfor (i = 1; i < count; i++) {\n"
	                   "\t\t%s%smoved = base[i];\n\n"
	                   "\t\tfor (k = i; k %% RUN && %s(&base[k - 1], &moved) > 0; k--)\n"
	                   "\t\t\tbase[k] = base[k - 1];\n"
	                   "\t\tbase[k] = moved;\n"
	                   "\t}\n"
	                   "\tif (count <= RUN)\n\t\treturn;\n"
	                   "\tspare = to = malloc(count * sizeof *to);\n"
	                   "\tif (!to) {\n"
	                   "\t\tqsort(base, count, sizeof *base, %s);\n"
	                   "\t\treturn;\n"
	                   "\t}\n",
	                   out, type, blank, compare, compare);
	return arena_printf(arena,
	                    "%s\tfor (width = RUN; width < count; width *= 2) {\n"
	                    "\t\t%s%s*merged = to;\n\n"
	                    "\t\tfor (i = 0; i < count; i += 2 * width) {\n"
	                    "\t\t\tsize_t left = i, middle = count - i < width ? count : i + width;\n"
	                    "\t\t\tsize_t right = middle, end = count - middle < width ? count : middle + width;\n\n"
	                    "\t\t\tfor (k = i; k < end; k++)\n"
	                    "\t\t\t\tto[k] = left < middle && (right == end || %s(&from[left], &from[right]) <= 0) ? from[left++] : from[right++];\n"
	                    "\t\t}\n"
	                    "\t\tto = from;\n"
	                    "\t\tfrom = merged;\n"
	                    "\t}\n"
	                    "\tfor (i = 0; from != base && i < count; i++)\n"
	                    "\t\tbase[i] = from[i];\n"
	                    "\tfree(spare);\n"
	                    "}\n\n",
	                    out, type, blank, compare);
}

struct sort {
	struct ast_node *compare;
	const struct ast_type *type;
	struct ast_node_list calls;
	struct ast_node *first; /* the function of the first one */
};

struct local_type {
	const char *spelling;
	bool found;
};

static bool local_type_visit(struct ast_node *node, void *context)
{
	struct local_type *local = context;
	bool declares = node->kind == AST_TYPEDEF || node->kind == AST_RECORD || node->kind == AST_ENUM;
	size_t size = declares && node->name ? strlen(node->name) : 0;
	for (const char *at = local->spelling; size && (at = strstr(at, node->name)); at++)
		local->found |= (at == local->spelling || !text_is_word(at[-1])) && !text_is_word(at[size]);
	return !local->found;
}

/* Whether the function that the node is in declares the type itself: nothing outside of it can name that. */
static bool type_is_local(const struct ast_node *node, const struct ast_type *type)
{
	struct local_type local = {.spelling = type->spelling};
	struct ast_node *function = ast_above(node, AST_FUNCTION);
	if (function)
		ast_walk(function, local_type_visit, &local);
	return local.found;
}

static bool put_sort(struct detection *detection, const struct sort *sort, struct finding *finding)
{
	struct arena *arena = detection->sink->arena;
	const struct ast_unit *unit = detection->unit;
	const char *file = sort->first->range.file, *name = arena_printf(arena, "%s_sort", sort->compare->name);
	size_t place = place_before(unit, sort->first), size;
	const char *text = ast_file_text(unit, file, &size);
	if (!text || place == SIZE_MAX || !file_lacks(unit, file, name) || !text_equal(sort->compare->range.file, file) ||
	    sort->compare->range.end_offset > place || sort->type->kind == TYPE_ARRAY)
		return false;
	for (size_t i = 0; i < sort->calls.count; i++) {
		const struct ast_node *call = sort->calls.at[i];
		const char *base = one_line(unit, call_argument(call, 0)), *count = one_line(unit, call_argument(call, 1));
		if (!base || !count || call->range.in_macro || !text_equal(call->range.file, file) || call->range.offset < place ||
		    type_is_local(call, sort->type))
			return false;
		finding_edit(detection->sink, finding, call->range.offset, call->range.end_offset - call->range.offset,
		             arena_printf(arena, "%s(%s, %s)", name, base, count));
	}
	finding_edit(detection->sink, finding, place, 0, sort_text(arena, name, sort->type->spelling, sort->compare->name));
	return true;
}

static void report_sort(struct detection *detection, const struct sort *sort, bool hot)
{
	struct arena *arena = detection->sink->arena;
	const struct ast_node *call = sort->calls.at[0];
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_s02, &call->range, sort->first->name, hot ? SEVERITY_MEDIUM : SEVERITY_LOW,
	    arena_printf(arena, "qsort() calls %s() through a pointer for every comparison, and moves elements of %lld bytes without "
	                        "knowing their type",
	                 sort->compare->name, sort->type->size));
	bool candidate = put_sort(detection, sort, finding);
	if (!candidate)
		finding->edits.count = 0;
	finding->contract = candidate ? arena_printf(arena, "%s() orders all elements consistently (no overflow in a subtraction), and nothing "
	                                                    "relies on another order of equal elements than that they had",
	                                             sort->compare->name)
	                              : NULL;
	finding->evidence = arena_printf(arena, "%s() is a comparison of a few operations in this file%s%s", sort->compare->name,
	                                 hot ? "; the sort is called in a loop" : "",
	                                 candidate ? "" : "; advice: a sort of its own for this type");
}

/* Two or three elements, or another small constant. */
static bool is_short(const struct ast_node *call)
{
	long long count;
	return node_constant(call_argument(call, 1), &count) && count <= FEW_ELEMENTS;
}

struct direct {
	const struct ast_node *compare;
	bool found;
};

static bool direct_visit(struct ast_node *node, void *context)
{
	struct direct *direct = context;
	direct->found |= node->kind == AST_CALL && node->decl == direct->compare;
	return !direct->found;
}

/* A sort for this comparison, which falls back to qsort(). */
static bool calls_itself(struct ast_node *function, const struct ast_node *compare)
{
	struct direct direct = {.compare = compare};
	ast_walk(function->body, direct_visit, &direct);
	return direct.found;
}

static void detect_sorts(struct detection *detection)
{
	bool taken[64] = {false};
	size_t count = detection->sorts.count < 64 ? detection->sorts.count : 64;
	for (size_t i = 0; i < count; i++) {
		struct sort sort = {.compare = function_named(call_argument(detection->sorts.at[i], 3)),
		                    .type = element_type(detection->sorts.at[i])};
		bool hot = false;
		/* Where the front end understood less than all, a record may lack fields. */
		bool unsure = sort.type && sort.type->kind == TYPE_RECORD && detection->unit->errors.count;
		if (taken[i] || !sort.type || unsure || !is_light(sort.compare))
			continue;
		for (size_t k = i; k < count; k++) {
			const struct ast_type *type = element_type(detection->sorts.at[k]);
			if (taken[k] || !type || !text_equal(type->canonical, sort.type->canonical) ||
			    function_named(call_argument(detection->sorts.at[k], 3)) != sort.compare)
				continue;
			taken[k] = true;
			enum heat heat = function_heat(detection->unit, detection->sorters.at[k]);
			if (heat == HEAT_COLD || is_short(detection->sorts.at[k]) || calls_itself(detection->sorters.at[k], sort.compare))
				continue;
			hot |= heat == HEAT_HOT || node_in_loop(detection->sorts.at[k]);
			sort.first = sort.first ? sort.first : detection->sorters.at[k];
			list_push(detection->arena, &sort.calls, detection->sorts.at[k]);
		}
		if (sort.calls.count)
			report_sort(detection, &sort, hot);
	}
}

/* ---- a parameter that is called ------------------------------------------------------------------------------------- */

struct parameter_use {
	const struct ast_node *parameter;
	struct ast_node *compared; /* its call in a loop */
	unsigned operations;
	bool other; /* it is handed on, stored or changed */
};

static bool parameter_visit(struct ast_node *node, void *context)
{
	struct parameter_use *use = context;
	use->operations += node->kind == AST_BINARY || node->kind == AST_ASSIGN || node->kind == AST_COMPOUND_ASSIGN ||
	                   node->kind == AST_SUBSCRIPT || node->kind == AST_MEMBER || node->kind == AST_IF || node->kind == AST_CALL ||
	                   node->kind == AST_VAR || node_is_increment(node);
	if (node->kind != AST_REF || node->decl != use->parameter)
		return true;
	struct ast_node *at = node;
	while (at->parent && (at->parent->kind == AST_PAREN || (at->parent->kind == AST_UNARY && at->parent->op == OP_DEREF)))
		at = at->parent;
	struct ast_node *up = at->parent;
	if (!up || up->kind != AST_CALL || up->children.at[0] != at)
		use->other = true;
	else if (node_in_loop(up))
		use->compared = up;
	return true;
}

struct sites {
	const struct ast_node *function;
	size_t index;
	struct ast_node *caller;
	struct ast_node_list calls; /* with a light comparison of this file */
	struct arena *arena;
	struct string_list compares; /* each once */
	bool others;                 /* another call, or its address is taken */
};

static bool sites_visit(struct ast_node *node, void *context)
{
	struct sites *sites = context;
	if (node->kind == AST_REF && node->decl == sites->function && !(node->parent && node->parent->kind == AST_CALL))
		sites->others = true;
	if (node->kind != AST_CALL || node->decl != sites->function || sites->caller == sites->function)
		return true;
	struct ast_node *compare = function_named(call_argument(node, sites->index));
	if (!compare || !is_light(compare)) {
		sites->others = true;
		return true;
	}
	list_push(sites->arena, &sites->calls, node);
	bool known = false;
	for (size_t i = 0; i < sites->compares.count; i++)
		known |= text_equal(sites->compares.at[i], compare->name);
	if (!known)
		list_push(sites->arena, &sites->compares, compare->name);
	return true;
}

/* One version for each call: taken in there, together with the comparison. */
static bool put_versions(struct detection *detection, const struct sites *sites, struct finding *finding)
{
	struct arena *arena = detection->sink->arena;
	const struct ast_unit *unit = detection->unit;
	const struct ast_node *function = sites->function;
	const char *words = arena_printf(arena, "%s __attribute__((always_inline))", inline_word(detection->command));
	struct twin twin;
	if (!twin_of(unit, arena, function, &twin))
		return false;
	if (!function->is_external) {
		const char *text = twin.signature;
		if (!text_starts(text, "static ") || strstr(text, "inline"))
			return false;
		finding_edit(detection->sink, finding, twin.begin + strlen("static "), 0, arena_printf(arena, "%s ", words));
		return true;
	}
	for (size_t i = 0; i < sites->calls.count; i++)
		if (sites->calls.at[i]->range.offset < twin.end || sites->calls.at[i]->children.at[0]->range.in_macro ||
		    !text_equal(sites->calls.at[i]->range.file, function->range.file))
			return false;
	const char *name = arena_printf(arena, "%s_inline", function->name);
	if (!file_lacks(unit, function->range.file, name))
		return false;
	for (size_t i = 0; i < sites->calls.count; i++) {
		const struct ast_range *callee = &sites->calls.at[i]->children.at[0]->range;
		finding_edit(detection->sink, finding, callee->offset, callee->end_offset - callee->offset, name);
	}
	twin_put(unit, detection->sink, finding, &twin, arena_printf(arena, "static %s", words), name);
	return true;
}

static bool is_recursive_visit(struct ast_node *node, void *context)
{
	struct sites *sites = context;
	sites->others |= node->kind == AST_CALL && node->decl == sites->function;
	return !sites->others;
}

static void detect_parameter(struct detection *detection, struct ast_node *function, struct ast_node *parameter, size_t index)
{
	const struct ast_type *type = parameter->type;
	if ((function->attributes && strstr(function->attributes, " always_inline ")) || !type || !parameter->name || type->kind != TYPE_POINTER || !type->pointee || type->pointee->kind != TYPE_FUNCTION ||
	    !text_starts(type->pointee->canonical, "int ("))
		return;
	struct parameter_use use = {.parameter = parameter};
	ast_walk(function->body, parameter_visit, &use);
	if (!use.compared || use.other || use.operations > CALLEE_OPERATIONS || use.compared->children.count < 3)
		return;
	struct sites recursion = {.function = function};
	ast_walk(function->body, is_recursive_visit, &recursion);
	struct sites sites = {.function = function, .index = index, .arena = detection->arena};
	for (size_t i = 0; i < detection->unit->top.count; i++) {
		sites.caller = detection->unit->top.at[i];
		ast_walk(sites.caller, sites_visit, &sites);
	}
	/* Of a function of this file alone that always gets the same comparison the compiler makes a version by itself. */
	bool known = !function->is_external && !sites.others && sites.compares.count == 1;
	if (recursion.others || known || sites.calls.count == 0 || sites.calls.count > SITES_MAX ||
	    function_heat(detection->unit, function) == HEAT_COLD)
		return;
	struct arena *arena = detection->sink->arena;
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_s02, &use.compared->range, function->name, SEVERITY_MEDIUM,
	    arena_printf(arena, "each step of %s() calls %s through a pointer, for which this file has %s()", function->name,
	                 parameter->name, text_join(arena, &sites.compares, "(), ")));
	if (!put_versions(detection, &sites, finding))
		finding->edits.count = 0;
	finding->evidence = arena_printf(
	    arena, "%zu call%s of this file hand%s over a comparison of a few operations by name%s", sites.calls.count,
	    sites.calls.count == 1 ? "" : "s", sites.calls.count == 1 ? "s" : "",
	    finding->edits.count ? "; the candidate makes a version of the function for each" : "; advice: a version of the function for each");
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct arena arena;
	arena_init(&arena);
	struct detection detection = {.unit = unit, .command = command, .sink = sink, .arena = &arena};
	for (size_t i = 0; i < unit->top.count; i++) {
		struct ast_node *function = unit->top.at[i];
		if (function->kind != AST_FUNCTION || !function->is_definition || !function->body || !function->range.in_tree)
			continue;
		detection.function = function;
		ast_walk(function->body, sorts_visit, &detection);
		size_t index = 0;
		for (size_t k = 0; k < function->children.count; k++)
			if (function->children.at[k]->kind == AST_PARAM)
				detect_parameter(&detection, function, function->children.at[k], index++);
	}
	detect_sorts(&detection);
	arena_release(&arena);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 2048 };

struct entry {
	uint32_t key, value;
};

static int by_key(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	return left->key < right->key ? -1 : left->key > right->key;
}

/* In order of their keys. */
void entries_sort(struct entry *entries, size_t count)
{
	qsort(entries, count, sizeof *entries, by_key); // finds
}

struct state {
	struct entry given[COUNT], sorted[COUNT];
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (uint32_t i = 0; i < COUNT; i++)
		s->given[i] = (struct entry){(i * 2654435761u) >> 20, i}; /* with keys that are there twice */
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		memcpy(s->sorted, s->given, sizeof s->sorted);
		entries_sort(s->sorted, COUNT);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	memcpy(s->sorted, s->given, sizeof s->sorted);
	entries_sort(s->sorted, COUNT);
	assay_output(b, "sorted", s->sorted, sizeof s->sorted);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 70; count++) {
		memcpy(s->sorted, s->given, sizeof s->sorted);
		entries_sort(s->sorted, count);
		assay_output(b, "sorted", s->sorted, sizeof s->sorted);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 2048 };

struct entry {
	uint32_t key, value;
};

static int by_key(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	return left->key < right->key ? -1 : left->key > right->key;
}

/* qsort() for this comparison alone, which the compiler can take in. It keeps the order of equals. */
static void by_key_sort(struct entry *base, size_t count)
{
	enum { RUN = 8 };
	struct entry *from = base;
	struct entry *to;
	struct entry *spare;
	size_t i, k, width;

	for (i = 1; i < count; i++) {
		struct entry moved = base[i];

		for (k = i; k % RUN && by_key(&base[k - 1], &moved) > 0; k--)
			base[k] = base[k - 1];
		base[k] = moved;
	}
	if (count <= RUN)
		return;
	spare = to = malloc(count * sizeof *to);
	if (!to) {
		qsort(base, count, sizeof *base, by_key);
		return;
	}
	for (width = RUN; width < count; width *= 2) {
		struct entry *merged = to;

		for (i = 0; i < count; i += 2 * width) {
			size_t left = i, middle = count - i < width ? count : i + width;
			size_t right = middle, end = count - middle < width ? count : middle + width;

			for (k = i; k < end; k++)
				to[k] = left < middle && (right == end || by_key(&from[left], &from[right]) <= 0) ? from[left++] : from[right++];
		}
		to = from;
		from = merged;
	}
	for (i = 0; from != base && i < count; i++)
		base[i] = from[i];
	free(spare);
}

/* In order of their keys. */
void entries_sort(struct entry *entries, size_t count)
{
	by_key_sort(entries, count); // finds
}

struct state {
	struct entry given[COUNT], sorted[COUNT];
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (uint32_t i = 0; i < COUNT; i++)
		s->given[i] = (struct entry){(i * 2654435761u) >> 20, i}; /* with keys that are there twice */
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		memcpy(s->sorted, s->given, sizeof s->sorted);
		entries_sort(s->sorted, COUNT);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	memcpy(s->sorted, s->given, sizeof s->sorted);
	entries_sort(s->sorted, COUNT);
	assay_output(b, "sorted", s->sorted, sizeof s->sorted);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 70; count++) {
		memcpy(s->sorted, s->given, sizeof s->sorted);
		entries_sort(s->sorted, count);
		assay_output(b, "sorted", s->sorted, sizeof s->sorted);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 2048 };

struct entry {
	uint32_t key, value;
};

static int by_key(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	return left->key < right->key ? -1 : left->key > right->key;
}

/* The C library's header brings the search along: the compiler takes it in together with the comparison. */
static __attribute__((noinline)) uint32_t entries_sum(const struct entry *entries, size_t count)
{
	uint32_t sum = 0;
	for (uint32_t key = 0; key < 2 * count; key++) {
		struct entry wanted = {key, 0};
		const struct entry *found = bsearch(&wanted, entries, count, sizeof *entries, by_key);
		sum += found ? found->value : 0;
	}
	return sum;
}

struct state {
	struct entry entries[COUNT];
	uint32_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (uint32_t i = 0; i < COUNT; i++)
		s->entries[i] = (struct entry){2 * i, i};
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum = entries_sum(s->entries, COUNT);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "sum", &s->sum, sizeof s->sum);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also a loop that calls a parameter */
#include <assay/bench.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 64 };

static int up(const int *a, const int *b)
{
	return (*a > *b) - (*a < *b);
}

static int down(const int *a, const int *b)
{
	return (*a < *b) - (*a > *b);
}

void insert_all(int *at, size_t count, int (*compare)(const int *a, const int *b))
{
	for (size_t i = 1; i < count; i++) {
		int moved = at[i];
		size_t k = i;
		for (; k > 0 && compare(&at[k - 1], &moved) > 0; k--) // finds
			at[k] = at[k - 1];
		at[k] = moved;
	}
}

static size_t place_of(const int *at, size_t count, int value, int (*compare)(const int *, const int *))
{
	size_t low = 0;
	while (count > 0) {
		size_t half = count / 2;
		if (compare(&at[low + half], &value) < 0) { // finds
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

struct state {
	int values[COUNT], sorted[COUNT];
	size_t places;
};

static void both_ways(struct state *s)
{
	memcpy(s->sorted, s->values, sizeof s->sorted);
	insert_all(s->sorted, COUNT, down);
	s->places = place_of(s->sorted, COUNT, 17, down);
	insert_all(s->sorted, COUNT, up);
	s->places += place_of(s->sorted, COUNT, 40, up);
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (int i = 0; i < COUNT; i++)
		s->values[i] = i * 29 % COUNT;
	return s;
}

static void run(void *state, uint64_t iterations)
{
	for (uint64_t i = 0; i < iterations; i++) {
		both_ways(state);
		assay_keep(state);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	both_ways(s);
	assay_output(b, "sorted", s->sorted, sizeof s->sorted);
	assay_output(b, "places", &s->places, sizeof s->places);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also a loop that calls a parameter fixed */
#include <assay/bench.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 64 };

static int up(const int *a, const int *b)
{
	return (*a > *b) - (*a < *b);
}

static int down(const int *a, const int *b)
{
	return (*a < *b) - (*a > *b);
}

static inline __attribute__((always_inline)) void insert_all_inline(int *at, size_t count, int (*compare)(const int *a, const int *b))
{
	for (size_t i = 1; i < count; i++) {
		int moved = at[i];
		size_t k = i;
		for (; k > 0 && compare(&at[k - 1], &moved) > 0; k--) // finds
			at[k] = at[k - 1];
		at[k] = moved;
	}
}

void insert_all(int *at, size_t count, int (*compare)(const int *a, const int *b))
{
	insert_all_inline(at, count, compare);
}

static inline __attribute__((always_inline)) size_t place_of(const int *at, size_t count, int value, int (*compare)(const int *, const int *))
{
	size_t low = 0;
	while (count > 0) {
		size_t half = count / 2;
		if (compare(&at[low + half], &value) < 0) { // finds
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

struct state {
	int values[COUNT], sorted[COUNT];
	size_t places;
};

static void both_ways(struct state *s)
{
	memcpy(s->sorted, s->values, sizeof s->sorted);
	insert_all_inline(s->sorted, COUNT, down);
	s->places = place_of(s->sorted, COUNT, 17, down);
	insert_all_inline(s->sorted, COUNT, up);
	s->places += place_of(s->sorted, COUNT, 40, up);
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (int i = 0; i < COUNT; i++)
		s->values[i] = i * 29 % COUNT;
	return s;
}

static void run(void *state, uint64_t iterations)
{
	for (uint64_t i = 0; i < iterations; i++) {
		both_ways(state);
		assay_keep(state);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	both_ways(s);
	assay_output(b, "sorted", s->sorted, sizeof s->sorted);
	assay_output(b, "places", &s->places, sizeof s->places);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also several calls, pointers and numbers */
#include <assay/bench.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 300 };

struct item {
	long weight;
};

static int by_value(const void *a, const void *b)
{
	unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;
	if (left != right)
		return left < right ? -1 : 1;
	return 0;
}

static int by_weight(const void *a, const void *b)
{
	long left = (*(struct item *const *)a)->weight, right = (*(struct item *const *)b)->weight;
	return (left > right) - (left < right);
}

/* What lies in
 * the middle. */
unsigned middle(unsigned *values, unsigned count)
{
	qsort(values, count, sizeof(unsigned), by_value); // finds
	return values[count / 2];
}

unsigned spread(unsigned *values, unsigned count)
{
	qsort(values, count, sizeof(values[0]), &by_value);
	return values[count - 1] - values[0];
}

static void order(struct item **items, size_t count)
{
	qsort(items, count, sizeof *items, by_weight); // finds
}

struct state {
	unsigned values[COUNT], middle;
	struct item items[COUNT], *sorted[COUNT];
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (unsigned i = 0; i < COUNT; i++) {
		s->values[i] = i * 2654435761u;
		s->items[i].weight = (long)(s->values[i] >> 25);
		s->sorted[i] = &s->items[i];
	}
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->middle = middle(s->values, COUNT) + spread(s->values, COUNT / 2);
		order(s->sorted, COUNT);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	run(s, 1);
	assay_output(b, "middle", &s->middle, sizeof s->middle);
	assay_output(b, "values", s->values, sizeof s->values);
	for (unsigned i = 0; i < COUNT; i++) {
		size_t at = (size_t)(s->sorted[i] - s->items);
		assay_output(b, "order", &at, sizeof at);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also several calls, pointers and numbers fixed */
#include <assay/bench.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 300 };

struct item {
	long weight;
};

static int by_value(const void *a, const void *b)
{
	unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;
	if (left != right)
		return left < right ? -1 : 1;
	return 0;
}

static int by_weight(const void *a, const void *b)
{
	long left = (*(struct item *const *)a)->weight, right = (*(struct item *const *)b)->weight;
	return (left > right) - (left < right);
}

/* qsort() for this comparison alone, which the compiler can take in. It keeps the order of equals. */
static void by_value_sort(unsigned int *base, size_t count)
{
	enum { RUN = 8 };
	unsigned int *from = base;
	unsigned int *to;
	unsigned int *spare;
	size_t i, k, width;

	for (i = 1; i < count; i++) {
		unsigned int moved = base[i];

		for (k = i; k % RUN && by_value(&base[k - 1], &moved) > 0; k--)
			base[k] = base[k - 1];
		base[k] = moved;
	}
	if (count <= RUN)
		return;
	spare = to = malloc(count * sizeof *to);
	if (!to) {
		qsort(base, count, sizeof *base, by_value);
		return;
	}
	for (width = RUN; width < count; width *= 2) {
		unsigned int *merged = to;

		for (i = 0; i < count; i += 2 * width) {
			size_t left = i, middle = count - i < width ? count : i + width;
			size_t right = middle, end = count - middle < width ? count : middle + width;

			for (k = i; k < end; k++)
				to[k] = left < middle && (right == end || by_value(&from[left], &from[right]) <= 0) ? from[left++] : from[right++];
		}
		to = from;
		from = merged;
	}
	for (i = 0; from != base && i < count; i++)
		base[i] = from[i];
	free(spare);
}

/* What lies in
 * the middle. */
unsigned middle(unsigned *values, unsigned count)
{
	by_value_sort(values, count); // finds
	return values[count / 2];
}

unsigned spread(unsigned *values, unsigned count)
{
	by_value_sort(values, count);
	return values[count - 1] - values[0];
}

/* qsort() for this comparison alone, which the compiler can take in. It keeps the order of equals. */
static void by_weight_sort(struct item **base, size_t count)
{
	enum { RUN = 8 };
	struct item **from = base;
	struct item **to;
	struct item **spare;
	size_t i, k, width;

	for (i = 1; i < count; i++) {
		struct item *moved = base[i];

		for (k = i; k % RUN && by_weight(&base[k - 1], &moved) > 0; k--)
			base[k] = base[k - 1];
		base[k] = moved;
	}
	if (count <= RUN)
		return;
	spare = to = malloc(count * sizeof *to);
	if (!to) {
		qsort(base, count, sizeof *base, by_weight);
		return;
	}
	for (width = RUN; width < count; width *= 2) {
		struct item **merged = to;

		for (i = 0; i < count; i += 2 * width) {
			size_t left = i, middle = count - i < width ? count : i + width;
			size_t right = middle, end = count - middle < width ? count : middle + width;

			for (k = i; k < end; k++)
				to[k] = left < middle && (right == end || by_weight(&from[left], &from[right]) <= 0) ? from[left++] : from[right++];
		}
		to = from;
		from = merged;
	}
	for (i = 0; from != base && i < count; i++)
		base[i] = from[i];
	free(spare);
}

static void order(struct item **items, size_t count)
{
	by_weight_sort(items, count); // finds
}

struct state {
	unsigned values[COUNT], middle;
	struct item items[COUNT], *sorted[COUNT];
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (unsigned i = 0; i < COUNT; i++) {
		s->values[i] = i * 2654435761u;
		s->items[i].weight = (long)(s->values[i] >> 25);
		s->sorted[i] = &s->items[i];
	}
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->middle = middle(s->values, COUNT) + spread(s->values, COUNT / 2);
		order(s->sorted, COUNT);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	run(s, 1);
	assay_output(b, "middle", &s->middle, sizeof s->middle);
	assay_output(b, "values", s->values, sizeof s->values);
	for (unsigned i = 0; i < COUNT; i++) {
		size_t at = (size_t)(s->sorted[i] - s->items);
		assay_output(b, "order", &at, sizeof at);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: lookalike the comparison is what costs */
#include <stdlib.h>
#include <string.h>
struct name {
	const char *text;
};
static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}
static int by_bytes(const void *a, const void *b)
{
	const unsigned char *left = a, *right = b;
	for (int i = 0; i < 16; i++)
		if (left[i] != right[i])
			return left[i] - right[i];
	return 0;
}
void names_sort(struct name *names, unsigned char (*digests)[16], size_t count)
{
	qsort(names, count, sizeof *names, by_text);
	qsort(digests, count, sizeof *digests, by_bytes);
}
#endif

#if 0 /* assay example: lookalike cold, short, unknown */
#include <stdlib.h>
struct entry {
	unsigned key;
};
int by_other(const void *a, const void *b);
static int by_key(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	return left->key < right->key ? -1 : left->key > right->key;
}
void entries_init(struct entry *entries, size_t count)
{
	qsort(entries, count, sizeof *entries, by_key);
}
unsigned third(struct entry entries[3], void *raw, size_t count, int (*compare)(const void *, const void *))
{
	qsort(entries, 3, sizeof *entries, by_key);
	qsort(entries, count, sizeof *entries, by_other);
	qsort(entries, count, sizeof *entries, compare);
	qsort(raw, count, sizeof *entries, by_key);
	return entries[1].key;
}
#endif

#if 0 /* assay example: also advice only */
#include <stdlib.h>
static int by_number(const void *a, const void *b)
{
	unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;
	return left < right ? -1 : left > right;
}
void drawn(unsigned *numbers, size_t count, void (*use)(unsigned number, unsigned turn))
{
	typedef struct {
		unsigned number, turn;
	} draw;
	draw *draws = malloc(count * sizeof(draw));
	if (!draws)
		return;
	for (size_t i = 0; i < count; i++) {
		draws[i].number = numbers[i];
		draws[i].turn = (unsigned)i;
	}
	qsort(draws, count, sizeof(draw), by_number); // finds
	for (size_t i = 0; i < count; i++)
		use(draws[i].number, draws[i].turn);
	free(draws);
}
void weighed(const unsigned *weights, size_t count, void (*use)(unsigned weight, size_t place))
{
	struct t {
		unsigned weight;
		size_t place;
	} *all = malloc(count * sizeof *all);
	if (!all)
		return;
	for (size_t i = 0; i < count; i++) {
		all[i].weight = weights[i];
		all[i].place = i;
	}
	qsort(all, count, sizeof(struct t), by_number); // finds
	for (size_t i = 0; i < count; i++)
		use(all[i].weight, all[i].place);
	free(all);
}
#endif

#if 0 /* assay example: lookalike the compiler makes a version */
#include <stddef.h>
static int up(const int *a, const int *b)
{
	return (*a > *b) - (*a < *b);
}
static int largest(const int *at, size_t count, int (*compare)(const int *, const int *))
{
	int most = at[0];
	for (size_t i = 1; i < count; i++)
		if (compare(&at[i], &most) > 0)
			most = at[i];
	return most;
}
int most_of(const int *at, size_t count)
{
	return largest(at, count, up);
}
/* Nobody here says which comparison. */
size_t count_equal(const int *at, size_t count, int (*compare)(const int *, const int *))
{
	size_t equal = 0;
	for (size_t i = 1; i < count; i++)
		equal += compare(&at[i - 1], &at[i]) == 0;
	return equal;
}
/* It is called once, and handed on. */
int once(const int *at, int (*compare)(const int *, const int *))
{
	return compare(at, at + 1);
}
int use(const int *at)
{
	return once(at, up);
}
#endif
