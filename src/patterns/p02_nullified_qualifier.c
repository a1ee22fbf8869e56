/* P02 nullified-qualifier: a qualifier or an attribute that a macro of the same name takes away.
 *
 * Decided from the preprocessor's own record: which definition it is, and what was expanded through it afterwards.
 * A definition that nothing is expanded through changes nothing, and the finding says so.
 */
#include "patterns/query.h"

#include "base/text.h"

#include <stdio.h>

enum touch { TOUCH_NOTHING, TOUCH_PROTOTYPE, TOUCH_CODE, TOUCH_LAYOUT };

/* How the real thing is written. `body`: the macro's new body, $1 its first parameter; NULL: the definition is dropped,
 * since the compiler knows the name. `c90`: the new body where the language has no such keyword. */
static const struct qualifier {
	const char *name;
	const char *body, *c90;
	bool layout;
	bool hint; /* about likelihood or placement: seldom worth much */
} qualifiers[] = {
    {"restrict", NULL, "__restrict__", false, false},
    {"__restrict", NULL, NULL, false, false},
    {"__restrict__", NULL, NULL, false, false},
    {"inline", NULL, "__inline__", false, false},
    {"__inline", NULL, NULL, false, false},
    {"__inline__", NULL, NULL, false, false},
    {"always_inline", "__inline__ __attribute__((always_inline))", NULL, false, false},
    {"__always_inline", "__inline__ __attribute__((always_inline))", NULL, false, false},
    {"noinline", "__attribute__((noinline))", NULL, false, true},
    {"__noinline", "__attribute__((noinline))", NULL, false, true},
    {"____cacheline_aligned", "__attribute__((aligned(64)))", NULL, true, false},
    {"____cacheline_aligned_in_smp", "__attribute__((aligned(64)))", NULL, true, false},
    {"__cacheline_aligned", "__attribute__((aligned(64)))", NULL, true, false},
    {"__cacheline_aligned_in_smp", "__attribute__((aligned(64)))", NULL, true, false},
    {"__cache_aligned", "__attribute__((aligned(64)))", NULL, true, false},
    {"CACHE_ALIGNED", "__attribute__((aligned(64)))", NULL, true, false},
    {"CACHELINE_ALIGNED", "__attribute__((aligned(64)))", NULL, true, false},
    {"__aligned", "__attribute__((aligned($1)))", NULL, true, false},
    {"_Alignas", NULL, NULL, true, false},
    {"alignas", "_Alignas($1)", NULL, true, false},
    {"__attribute__", NULL, NULL, true, false},
    {"__attribute", NULL, NULL, true, false},
    {"likely", "__builtin_expect(!!($1), 1)", NULL, false, true},
    {"__likely", "__builtin_expect(!!($1), 1)", NULL, false, true},
    {"LIKELY", "__builtin_expect(!!($1), 1)", NULL, false, true},
    {"__predict_true", "__builtin_expect(!!($1), 1)", NULL, false, true},
    {"unlikely", "__builtin_expect(!!($1), 0)", NULL, false, true},
    {"__unlikely", "__builtin_expect(!!($1), 0)", NULL, false, true},
    {"UNLIKELY", "__builtin_expect(!!($1), 0)", NULL, false, true},
    {"__predict_false", "__builtin_expect(!!($1), 0)", NULL, false, true},
    {"__builtin_expect", NULL, NULL, false, true},
    {"prefetch", "__builtin_prefetch($1)", NULL, false, true},
    {"prefetchr", "__builtin_prefetch($1)", NULL, false, true},
    {"prefetchw", "__builtin_prefetch(($1), 1)", NULL, false, true},
    {"__builtin_prefetch", NULL, NULL, false, true},
    {"__builtin_assume_aligned", NULL, NULL, false, false},
    {"__hot", "__attribute__((hot))", NULL, false, true},
    {"__cold", "__attribute__((cold))", NULL, false, true},
    {"__pure", "__attribute__((pure))", NULL, false, false},
    {"__attribute_pure__", "__attribute__((pure))", NULL, false, false},
    {"__attribute_const__", "__attribute__((const))", NULL, false, false},
    {"__read_mostly", "__attribute__((section(\".data.read_mostly\")))", NULL, false, true},
};

static const struct qualifier *qualifier_find(const char *name)
{
	for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++)
		if (text_equal(qualifiers[i].name, name))
			return &qualifiers[i];
	return NULL;
}

/* The first parameter's name in "likely(x) (x)", or "" when there is none. */
static const char *first_parameter(struct arena *arena, const char *definition)
{
	const char *open = strchr(definition, '(');
	if (!open)
		return "";
	open += 1 + strspn(open + 1, " \t\\\n");
	return arena_strndup(arena, open, strcspn(open, " \t\\\n,)"));
}

/* `text` without blanks. */
static char *squeeze(struct arena *arena, const char *text)
{
	char *out = arena_strdup(arena, text), *to = out;
	for (const char *from = text; *from; from++)
		if (!strchr(" \t\n\\", *from))
			*to++ = *from;
	*to = '\0';
	return out;
}

/* Whether a macro's body gives back nothing but its argument: `x`, `(x)`, `!!(x)`, `(void)(x)`, `do {} while (0)`. */
static bool is_nothing(struct arena *arena, const char *body, const char *parameter)
{
	static const char *const nothing[] = {"", "do{}while(0)", "((void)0)", "(void)0", "0"};
	static const char *const identity[] = {"$",         "($)",         "(($))",   "!!($)",     "(!!($))", "!!$",
	                                       "(void)($)", "((void)($))", "(void)$", "((void)$)", "do{(void)($);}while(0)"};
	char *plain = squeeze(arena, body);
	for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
		if (strcmp(plain, nothing[i]) == 0)
			return true;
	if (!*parameter)
		return false;
	for (size_t i = 0; i < sizeof identity / sizeof *identity; i++) {
		const char *dollar = strchr(identity[i], '$');
		if (strcmp(plain, arena_printf(arena, "%.*s%s%s", (int)(dollar - identity[i]), identity[i], parameter,
		                               dollar + 1)) == 0)
			return true;
	}
	return false;
}

static enum touch touch_of(const struct ast_expansion *expansion)
{
	const struct ast_node *node = expansion->enclosing;
	if (!node)
		return TOUCH_NOTHING;
	return node->kind != AST_FUNCTION ? TOUCH_LAYOUT : node->is_definition ? TOUCH_CODE : TOUCH_PROTOTYPE;
}

/* What the expansions touch: "f(), g(), struct x" and the strongest kind of touch. */
static const char *touched(const struct ast_unit *unit, size_t macro, struct arena *arena, enum touch *ret_touch)
{
	struct string_list names = {0};
	unsigned more = 0;
	*ret_touch = TOUCH_NOTHING;
	for (size_t i = 0; i < unit->expansions.count; i++) {
		const struct ast_expansion *expansion = &unit->expansions.at[i];
		const struct ast_node *node = expansion->enclosing;
		if (expansion->macro != macro || !node)
			continue;
		bool function = node->kind == AST_FUNCTION;
		enum touch touch = touch_of(expansion);
		if (touch > *ret_touch)
			*ret_touch = touch;
		const char *name = node->name ? node->name : "an unnamed declaration";
		name = arena_printf(arena, function ? "%s()" : node->kind == AST_RECORD ? "struct %s" : "%s", name);
		bool known = false;
		for (size_t n = 0; n < names.count; n++)
			known |= strcmp(names.at[n], name) == 0;
		if (known)
			continue;
		if (names.count < 6)
			list_push(arena, &names, name);
		else
			more++;
	}
	if (names.count == 0)
		return NULL;
	char *text = text_join(arena, &names, ", ");
	return more ? arena_printf(arena, "%s and %u more", text, more) : text;
}

/* "a$1b" with the parameter in its place. */
static const char *body_with(struct arena *arena, const char *body, const char *parameter)
{
	const char *dollar = strstr(body, "$1");
	return dollar ? arena_printf(arena, "%.*s%s%s", (int)(dollar - body), body, parameter, dollar + 2) : body;
}

/* The end of what may be replaced together with the directive: over a comment that ends on its line. */
static size_t comment_end(const char *text, size_t size, size_t from)
{
	size_t at = from;
	while (at < size && (text[at] == ' ' || text[at] == '\t'))
		at++;
	size_t line_end = at;
	while (line_end < size && text[line_end] != '\n' && text[line_end] != '\r')
		line_end++;
	if (at == line_end)
		return line_end;
	if (text[at] == '/' && at + 1 < size && text[at + 1] == '/')
		return line_end;
	if (text[at] == '/' && at + 1 < size && text[at + 1] == '*') {
		for (size_t end = at + 4; end <= line_end; end++)
			if (text[end - 1] == '/' && text[end - 2] == '*')
				return comment_end(text, size, end);
	}
	return from;
}

/* The candidate: the same number of lines, so that nothing else of the file moves. */
static void put_candidate(const struct ast_unit *unit, const struct ast_macro *macro, const char *body,
                          const char *parameter, struct pattern_sink *sink, struct finding *finding)
{
	struct arena *arena = sink->arena;
	size_t size, begin = macro->range.offset, end = macro->range.end_offset;
	const char *text = ast_file_text(unit, macro->range.file, &size);
	if (!text || begin >= end || end > size || !macro->range.in_tree)
		return;
	size_t hash = begin;
	while (hash > 0 && text[hash - 1] != '#' && text[hash - 1] != '\n')
		hash--;
	if (hash == 0 || text[hash - 1] != '#')
		return;
	hash--;
	unsigned newlines = 0;
	for (size_t i = hash; i < end; i++)
		newlines += text[i] == '\n';
	if (!body) {
		char *comment = arena_printf(arena, "/* %s: no longer emptied */", macro->name);
		for (unsigned i = 0; i < newlines; i++)
			comment = arena_printf(arena, "%s\n", comment);
		finding_edit(sink, finding, hash, comment_end(text, size, end) - hash, comment);
		return;
	}
	size_t head = begin + strlen(macro->name);
	if (macro->function_like) {
		while (head < end && text[head] != ')')
			head++;
		if (head == end)
			return;
		head++;
	}
	char *tail = arena_strdup(arena, " ");
	for (size_t i = head; i < end; i++)
		if (text[i] == '\n')
			tail = arena_printf(arena, "%s\\\n\t", tail);
	finding_edit(sink, finding, head, end - head,
	             arena_printf(arena, "%s%s", tail, body_with(arena, body, parameter)));
}

static bool is_c90(const struct compile_command *command)
{
	const char *standard = command_standard(command);
	return standard && (strstr(standard, "89") || strstr(standard, "90") || text_starts(standard, "iso9899:199"));
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);
static void detect_project(const struct project_view *view, struct pattern_sink *sink);

const struct pattern pattern_p02 = {
    .id = "P02",
    .slug = "nullified-qualifier",
    .title = "a qualifier or attribute that a macro takes away",
    .tier = TIER_A,
    .what = "A macro has the name of a qualifier, an attribute or a compiler hint (restrict, inline, ____cacheline_aligned, "
            "likely, prefetch …), and its body is empty or gives back its argument only; also from the compile command, as "
            "in -Drestrict=. What counts is how often that very definition is expanded afterwards, and on which "
            "declarations.",
    .why = "The source says one thing and the compiler reads another: pointers declared restrict may alias again, so "
           "values are reloaded after every store and loops stay scalar or are versioned; buckets that look aligned "
           "straddle cache lines; helpers stay calls.",
    .when_not = "The definition is never expanded, or on prototypes only; the branch is for a compiler that lacks the "
                "feature; it is a stub for a documentation tool or a checker; the hint stopped being true long ago.",
    .expected = "from nothing (never expanded) to about 10x for a reduction loop whose restrict comes back (gcc -O3; "
                "catalogue's own measurement); alignment: only with several writers",
    .refuted_by = "Equal preprocessed tokens: nothing was expanded. Else equal record layouts and equal machine code.",
    .sources =
        (const char *const[]){
            "ISO/IEC 9899:2018, 6.7.3.1 Formal definition of restrict",
            "GCC manual, chapters Common Variable Attributes and Common Function Attributes",
            "Ulrich Drepper, What Every Programmer Should Know About Memory, 2007, section 6.2 (alignment)",
            "Agner Fog, Optimizing software in C++, chapter 8 (pointer aliasing), edition of 2023",
            NULL},
    .detect = detect,
    .detect_project = detect_project,
};

static enum severity severity_of(const struct qualifier *qualifier, unsigned expansions, enum touch touch)
{
	if (expansions == 0 || touch <= TOUCH_PROTOTYPE || qualifier->hint)
		return SEVERITY_LOW;
	return qualifier->layout && touch == TOUCH_LAYOUT ? SEVERITY_HIGH : SEVERITY_MEDIUM;
}

static const char *promise_of(const struct qualifier *qualifier)
{
	if (strstr(qualifier->name, "restrict"))
		return "what is reached through these pointers is not written through any other while they are in use: every caller "
		       "keeps that promise";
	if (qualifier->layout)
		return "memory for these objects comes from an allocator that honours the alignment, and their layout is part of no "
		       "file, message or public interface";
	return NULL;
}

/* ---- the command line ------------------------------------------------------------------------------------------- */

/* A definition of the compile command that takes a qualifier away: -Drestrict=, -D__aligned(x)=. */
static const struct qualifier *flag_empties(struct arena *arena, const char *definition)
{
	size_t size = strcspn(definition, "=(");
	const struct qualifier *qualifier = qualifier_find(arena_strndup(arena, definition, size));
	const char *body = strchr(definition, '='); /* without one the body is 1 */
	bool function_like = definition[size] == '(';
	if (!qualifier || !body)
		return NULL;
	/* What the compiler knows itself may be taken away in either form; other macros only as they are used. */
	if (qualifier->body && function_like != (strstr(qualifier->body, "$1") != NULL))
		return NULL;
	return is_nothing(arena, body + 1, function_like ? first_parameter(arena, definition) : "") ? qualifier : NULL;
}

/* What goes through a definition of the command: those expansions belong to no file's definition. */
static void flag_look(const struct ast_unit *unit, const struct qualifier *qualifier, const char *definition,
                      struct pattern_sink *sink)
{
	unsigned count = 0;
	enum touch touch = TOUCH_NOTHING;
	const struct ast_range *first = NULL;
	for (size_t i = 0; i < unit->expansions.count; i++) {
		const struct ast_expansion *expansion = &unit->expansions.at[i];
		if (expansion->macro != SIZE_MAX || !text_equal(expansion->name, qualifier->name))
			continue;
		enum touch own = touch_of(expansion);
		if (!first || own > touch)
			first = &expansion->range;
		touch = own > touch ? own : touch;
		count++;
	}
	struct ast_range start = {.file = unit->main_file, .line = 1, .column = 1};
	fact_add(sink, unit, &pattern_p02, "flag", arena_printf(sink->arena, "%u %u %s", count, (unsigned)touch, definition),
	         first ? first : &start, qualifier->name);
}

static void flags_look(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct arena *arena = sink->arena;
	for (size_t i = 1; i < command->argv.count; i++) {
		const char *word = command->argv.at[i];
		const char *definition = text_starts(word, "-D") ? word + 2 : NULL;
		if (definition && !*definition && i + 1 < command->argv.count)
			definition = command->argv.at[++i];
		const struct qualifier *qualifier = definition ? flag_empties(arena, definition) : NULL;
		bool undone = false;
		for (size_t k = i + 1; qualifier && k < command->argv.count; k++)
			undone |= text_equal(command->argv.at[k], arena_printf(arena, "-U%s", qualifier->name));
		if (qualifier && !undone)
			flag_look(unit, qualifier, definition, sink);
	}
}

/* One finding for a definition that many commands share, at the place where it touches most. */
struct flag {
	const struct fact *place;
	const char *definition;
	unsigned expansions, commands, touch;
};
LIST_OF(struct flag, flag_list);

static void flag_take(struct flag_list *flags, const struct fact *fact, struct arena *arena)
{
	unsigned count = 0, touch = 0;
	int used = 0;
	if (sscanf(fact->value, "%u %u %n", &count, &touch, &used) != 2)
		return;
	const char *definition = fact->value + used;
	for (size_t i = 0; i < flags->count; i++) {
		struct flag *flag = &flags->at[i];
		if (!text_equal(flag->definition, definition))
			continue;
		if ((count && !flag->expansions) || touch > flag->touch)
			flag->place = fact;
		flag->touch = touch > flag->touch ? touch : flag->touch;
		flag->expansions += count;
		flag->commands++;
		return;
	}
	struct flag flag = {fact, definition, count, 1, touch};
	list_push(arena, flags, flag);
}

static void detect_project(const struct project_view *view, struct pattern_sink *sink)
{
	struct arena *arena = sink->arena;
	struct flag_list flags = {0};
	for (size_t i = 0; i < view->unit_count; i++)
		for (size_t k = 0; k < view->units[i].facts.count; k++)
			if (text_equal(view->units[i].facts.at[k].name, "flag"))
				flag_take(&flags, &view->units[i].facts.at[k], arena);
	for (size_t i = 0; i < flags.count; i++) {
		const struct flag *flag = &flags.at[i];
		const struct qualifier *qualifier = qualifier_find(flag->place->symbol);
		if (qualifier->hint && flag->expansions == 0)
			continue;
		struct finding *finding = finding_new_at(
		    sink, &pattern_p02, flag->place->file, flag->place->line, flag->place->column, qualifier->name,
		    severity_of(qualifier, flag->expansions, (enum touch)flag->touch),
		    flag->expansions
		        ? arena_printf(arena, "`%s` is emptied by the compile command: what is written with it reaches the compiler "
		                              "without it", qualifier->name)
		        : arena_printf(arena, "`%s` is emptied by the compile command, but nothing is expanded through it",
		                       qualifier->name));
		finding->evidence = arena_printf(arena, "-D%s in %u command%s, %u expansion%s in the tree's files; advice: take it out of "
		                                 "the command", flag->definition, flag->commands, flag->commands == 1 ? "" : "s",
		                                 flag->expansions, flag->expansions == 1 ? "" : "s");
		finding->contract = promise_of(qualifier);
	}
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct arena *arena = sink->arena;
	for (size_t i = 0; i < unit->macros.count; i++) {
		const struct ast_macro *macro = &unit->macros.at[i];
		const struct qualifier *qualifier = qualifier_find(macro->name);
		if (!qualifier || !macro->range.file || !macro->range.in_tree)
			continue;
		const char *definition = ast_text(unit, &macro->range);
		const char *parameter = macro->function_like && definition ? first_parameter(arena, definition) : "";
		if (!is_nothing(arena, macro->body, parameter) || (qualifier->hint && macro->expansions == 0))
			continue; /* a hint that nothing is written with is nobody's claim */
		const char *body = qualifier->c90 && is_c90(command) ? qualifier->c90 : qualifier->body;
		if (body && (macro->function_like != (strstr(body, "$1") != NULL) || (macro->function_like && !*parameter)))
			continue; /* another macro of that name */
		enum touch touch;
		const char *what = touched(unit, i, arena, &touch);
		enum severity severity = severity_of(qualifier, macro->expansions, touch);
		struct finding *finding = finding_new(
		    sink, unit, &pattern_p02, &macro->range, macro->name, severity,
		    macro->expansions == 0
		        ? arena_printf(arena, "`%s` is emptied by a macro, but nothing is expanded through it", macro->name)
		        : arena_printf(arena, "`%s` is emptied by a macro: what is written with it reaches the compiler without it",
		                       macro->name));
		if (macro->expansions == 0)
			finding->evidence = "expanded 0 times after its definition";
		else
			finding->evidence = arena_printf(
			    arena, "%u expansion%s after its definition, first at %s:%u%s%s", macro->expansions,
			    macro->expansions == 1 ? "" : "s",
			    macro->first_use.file ? unit_relative(unit, macro->first_use.file) : "an unknown place",
			    macro->first_use.line, what ? ", touches " : "", what ? what : "");
		finding->contract = promise_of(qualifier);
		put_candidate(unit, macro, body, parameter, sink, finding);
	}
	flags_look(unit, command, sink);
}

#if 0 /* assay example: costs */
// flags: -O3
#include <assay/bench.h>
#include <stdlib.h>

/* "some compilers don't know it" */
#define restrict // finds

struct state {
	uint32_t *values, *scaled, sum;
	size_t count;
};

static __attribute__((noinline)) void scale_and_sum(uint32_t *restrict out, const uint32_t *restrict in,
                                                    uint32_t *restrict sum, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		*sum += in[i];
		out[i] = in[i] * 3;
	}
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "count", 4096);
	s->values = malloc(s->count * sizeof *s->values);
	s->scaled = malloc(s->count * sizeof *s->scaled);
	assay_fill_random(b, s->values, s->count * sizeof *s->values);
	assay_bytes_per_iteration(b, s->count * sizeof *s->values);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum = 0;
		scale_and_sum(s->scaled, s->values, &s->sum, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "sum", &s->sum, sizeof s->sum);
	assay_output(b, "scaled", s->scaled, s->count * sizeof *s->scaled);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	static const size_t counts[] = {0, 1, 3, 4, 5, 17};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		uint32_t sum = 7;
		scale_and_sum(s->scaled, s->values + 1, &sum, counts[i]);
		assay_output(b, "sum of a few", &sum, sizeof sum);
		assay_output(b, "a few scaled", s->scaled, counts[i] * sizeof *s->scaled);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
// flags: -O3
#include <assay/bench.h>
#include <stdlib.h>

/* "some compilers don't know it" */
/* restrict: no longer emptied */

struct state {
	uint32_t *values, *scaled, sum;
	size_t count;
};

static __attribute__((noinline)) void scale_and_sum(uint32_t *restrict out, const uint32_t *restrict in,
                                                    uint32_t *restrict sum, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		*sum += in[i];
		out[i] = in[i] * 3;
	}
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "count", 4096);
	s->values = malloc(s->count * sizeof *s->values);
	s->scaled = malloc(s->count * sizeof *s->scaled);
	assay_fill_random(b, s->values, s->count * sizeof *s->values);
	assay_bytes_per_iteration(b, s->count * sizeof *s->values);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum = 0;
		scale_and_sum(s->scaled, s->values, &s->sum, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "sum", &s->sum, sizeof s->sum);
	assay_output(b, "scaled", s->scaled, s->count * sizeof *s->scaled);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	static const size_t counts[] = {0, 1, 3, 4, 5, 17};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		uint32_t sum = 7;
		scale_and_sum(s->scaled, s->values + 1, &sum, counts[i]);
		assay_output(b, "sum of a few", &sum, sizeof sum);
		assay_output(b, "a few scaled", s->scaled, counts[i] * sizeof *s->scaled);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
// refuted by measuring
#include <assay/bench.h>
#include <stdlib.h>

/* Nothing is declared with it any more: the definition changes no token. */
#define restrict

struct state {
	uint32_t *values, *scaled, sum;
	size_t count;
};

static __attribute__((noinline)) void scale_and_sum(uint32_t *out, const uint32_t *in,
                                                    uint32_t *sum, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		*sum += in[i];
		out[i] = in[i] * 3;
	}
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "count", 4096);
	s->values = malloc(s->count * sizeof *s->values);
	s->scaled = malloc(s->count * sizeof *s->scaled);
	assay_fill_random(b, s->values, s->count * sizeof *s->values);
	assay_bytes_per_iteration(b, s->count * sizeof *s->values);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum = 0;
		scale_and_sum(s->scaled, s->values, &s->sum, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "sum", &s->sum, sizeof s->sum);
	assay_output(b, "scaled", s->scaled, s->count * sizeof *s->scaled);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	static const size_t counts[] = {0, 1, 3, 4, 5, 17};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		uint32_t sum = 7;
		scale_and_sum(s->scaled, s->values + 1, &sum, counts[i]);
		assay_output(b, "sum of a few", &sum, sizeof sum);
		assay_output(b, "a few scaled", s->scaled, counts[i] * sizeof *s->scaled);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also attributes and hints */
#define ____cacheline_aligned // finds
#define __aligned(x) /* not here */ // finds
#define likely(x) (!!(x)) // finds
#  define unlikely(cond) /* finds */ \
	(cond)
#define prefetch(x) ((void)(x)) // finds
#define inline /* a comment */ // finds
struct bucket {
	long count;
} ____cacheline_aligned;
struct pair {
	long first __aligned(16);
};
static inline long add(struct bucket *a, const struct bucket *b)
{
	prefetch(b + 1);
	if (likely(b->count))
		a->count += b->count;
	if (unlikely(a->count < 0))
		a->count = 0;
	return a->count;
}
long add_all(struct bucket *a, const struct pair *p)
{
	return add(a, a + 1) + p->first;
}
#endif

#if 0 /* assay example: also attributes and hints fixed */
#define ____cacheline_aligned __attribute__((aligned(64))) // finds
#define __aligned(x) __attribute__((aligned(x))) /* not here */ // finds
#define likely(x) __builtin_expect(!!(x), 1) // finds
#  define unlikely(cond) \
	__builtin_expect(!!(cond), 0)
#define prefetch(x) __builtin_prefetch(x) // finds
/* inline: no longer emptied */
struct bucket {
	long count;
} ____cacheline_aligned;
struct pair {
	long first __aligned(16);
};
static inline long add(struct bucket *a, const struct bucket *b)
{
	prefetch(b + 1);
	if (likely(b->count))
		a->count += b->count;
	if (unlikely(a->count < 0))
		a->count = 0;
	return a->count;
}
long add_all(struct bucket *a, const struct pair *p)
{
	return add(a, a + 1) + p->first;
}
#endif

#if 0 /* assay example: also where the language has no such keyword */
// flags: -O2 -std=gnu89
#define restrict /* C89 */ // finds
long sum(const long *restrict from, long *restrict to)
{
	return *to += *from;
}
#endif

#if 0 /* assay example: also where the language has no such keyword fixed */
// flags: -O2 -std=gnu89
#define restrict __restrict__ /* C89 */ // finds
long sum(const long *restrict from, long *restrict to)
{
	return *to += *from;
}
#endif

#if 0 /* assay example: lookalike a real attribute */
#define likely(x) __builtin_expect(!!(x), 1)
#define ____cacheline_aligned __attribute__((aligned(64)))
#define restrict __restrict__
struct bucket {
	long count;
} ____cacheline_aligned;
long add(struct bucket *restrict a, const struct bucket *restrict b)
{
	if (likely(b->count))
		a->count += b->count;
	return a->count;
}
#endif

#if 0 /* assay example: lookalike stubs and other names */
#define __user
#define __must_check
#define RESTRICT
#define inline_me(x) (x)
#define likely(x, y) ((x) + (y))
#define restrict __restrict
int get(const int __user *RESTRICT from) __must_check;
int get(const int *from)
{
	return likely(inline_me(*from), 1);
}
#endif

#if 0 /* assay example: also taken away by the command */
// flags: -O2 -Drestrict= '-D__aligned(x)=' -Dinline= -Dnoinline=__attribute__((noinline))
#include <stddef.h>
static inline int twice(int x) /* finds */
{
	return x * 2;
}
struct bucket {
	unsigned long count;
} __aligned(64); // finds
void add_to_all(int *restrict to, const int *restrict from, size_t count); /* a prototype */
void add_to_all(int *restrict to, const int *restrict from, size_t count) // finds
{
	for (size_t i = 0; i < count; i++)
		to[i] += twice(from[i]);
}
noinline void clear(struct bucket *bucket)
{
	bucket->count = 0;
}
#endif

#if 0 /* assay example: also taken away by the command for nothing */
// flags: -O2 -Drestrict= // finds
int nothing_uses_it;
#endif

#if 0 /* assay example: lookalike the command gives another word, or takes it back */
// flags: -O2 -Drestrict=__restrict -Dinline=__inline__ -D__aligned(x)=__attribute__((aligned(x))) -Dlikely= -Ulikely
#include <stddef.h>
#define likely(x) __builtin_expect(!!(x), 1)
struct bucket {
	unsigned long count;
} __aligned(64);
static inline int twice(int x)
{
	return likely(x > 0) ? x * 2 : 0;
}
void add_to_all(int *restrict to, const int *restrict from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] += twice(from[i]);
}
#endif

#if 0 /* assay example: lookalike hints that nothing is written with */
#define likely(x) (x)
#define unlikely(x) (x)
#define prefetch(x)
int sign(int x)
{
	return x < 0 ? -1 : x > 0;
}
#endif
