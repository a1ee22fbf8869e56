/* P04 path-disabled-at-build: fast code that a switch of the build leaves out.
 *
 * Four signals: a macro that by its name turns off assembly, SIMD or inlining, with where it takes effect and in which
 * units; flags that turn optimisation down; `#pragma GCC optimize` and its like; assembly and sources for an extension
 * that no command compiles. Where a switch is written says little: what counts is the conditional that it decides, in a
 * unit that some command compiles. The rest is low, and says why.
 *
 * It must not fire on include guards, on attribute macros (FOO_NO_INLINE with a body), on code that must not be optimised
 * (clearing secrets), on kernels' and sanitizers' flags, or on other processors' sources.
 */
#include "patterns/query.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEW_FOR_SIZE = 8 }; /* one in eight units */

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);
static void detect_project(const struct project_view *view, struct pattern_sink *sink);

const struct pattern pattern_p04 = {
    .id = "P04",
    .slug = "path-disabled-at-build",
    .title = "fast code that a switch of the build leaves out",
    .tier = TIER_A,
    .what = "A macro like X_DISABLE_ASM, NO_SIMD or GENERIC_ONLY is defined, in a file or on the command line, and a "
            "conditional of a compiled unit obeys it; or the commands say -O0, -fno-builtin, -fno-tree-vectorize, -mno-…; or "
            "a pragma turns optimisation down; or an assembly source is compiled by no command.",
    .why = "Somebody wrote the faster code and the build takes the slower: often by a switch that was meant for one platform "
           "or for a debugging session.",
    .when_not = "It is deliberate (a platform that can't take the assembly, a kernel's rules, a sanitizer or debug build); "
                "the file is a template that nothing compiles; the macro is defined and never tested.",
    .expected = "as much as the left-out code gains: from nothing to several times; zstd says 10 to 20 % for its Huffman "
                "assembly (its release notes of 1.5.1)",
    .refuted_by = "Not compiled at all; equal preprocessed tokens or machine code; the same speed of both.",
    .sources =
        (const char *const[]){
            "GCC manual, Options That Control Optimization, and Function Specific Option Pragmas",
            "zstd, lib/README.md, section on build macros (ZSTD_DISABLE_ASM)",
            NULL},
    .detect = detect,
    .detect_project = detect_project,
};

/* ---- names ------------------------------------------------------------------------------------------------------ */

static bool word_is(const char *word, size_t size, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == size && strncmp(word, *list, size) == 0)
			return true;
	return false;
}

static bool is_turned_off(const char *word, size_t size)
{
	static const char *const exact[] = {"ASM", "ASSEMBLY", "ASSEMBLER", "SIMD", "NEON", "INTRINSIC", "INTRINSICS", "INLINE", NULL};
	if (word_is(word, size, exact))
		return true;
	if (size < 3 || (strncmp(word, "SSE", 3) != 0 && strncmp(word, "AVX", 3) != 0))
		return false;
	return size == 3 || isdigit((unsigned char)word[3]);
}

/* LIB_DISABLE_ASM, NO_SSE2, LIB_NO_INTRINSICS_X, LIB_GENERIC_ONLY; not an include guard. */
static bool is_switch(const char *name)
{
	static const char *const off[] = {"DISABLE", "DISABLED", "NO", "WITHOUT", NULL};
	if (text_ends(name, "_H") || text_ends(name, "_H_") || text_ends(name, "_INCLUDED") || text_starts(name, "__"))
		return false;
	if (text_ends(name, "GENERIC_ONLY"))
		return true;
	bool after_off = false;
	for (const char *at = name; *at;) {
		size_t size = strcspn(at, "_");
		if (after_off && is_turned_off(at, size))
			return true;
		if (size)
			after_off = word_is(at, size, off);
		at += size + (at[size] == '_');
	}
	return false;
}

/* Whether a body turns the switch on: empty, or a number other than 0. */
static bool body_is_on(const char *body)
{
	char *end = NULL;
	if (!*body)
		return true;
	long value = strtol(body, &end, 0);
	return *end == '\0' && value != 0;
}

/* Functions that must stay as they are written. */
static bool is_protected(const char *name)
{
	static const char *const words[] = {"ct", "verify", "cleanse", "memzero", "zeroize", "bzero", "wipe", "burn", "secure",
	                                    "constant", "consttime", NULL};
	return name_has_any_word(name, words) || (name && (strcasestr(name, "cleanse") || strcasestr(name, "memzero")));
}

static bool has_part(const char *path, const char *const *parts)
{
	for (; *parts; parts++)
		if (name_has_word(path, *parts))
			return true;
	return false;
}

/* Beside the library: its tests, tools and what came with it for other purposes. */
static bool is_beside(const char *file)
{
	static const char *const parts[] = {"test", "tests", "testing", "bench", "benchmark", "benchmarks", "contrib", "example",
	                                    "examples", "doc", "docs", "tools", "fuzz", "fuzzing", "scripts", "config", "m4",
	                                    "perf", "unittests", NULL};
	return has_part(file, parts);
}

static bool is_of_other_processor(const char *file)
{
#if defined(__x86_64__) || defined(__i386__)
	static const char *const parts[] = {"arm", "arm64", "aarch", "aarch64", "armv", "neon", "sve", "ppc", "ppc64", "power", "powerpc",
	                                    "altivec", "vsx", "mips", "riscv", "rv", "sparc", "sparcv", "s390", "s390x", "ia64",
	                                    "alpha", "parisc", "loongarch", "lsx", "lasx", "wasm", "m68k", "avr", "win", "win64", "windows",
	                                    "darwin", "macos", "i386", "x32", "freebsd", NULL};
#else
	static const char *const parts[] = {"x86", "amd64", "sse", "avx", "win", "windows", "darwin", "macos", NULL};
#endif
	return has_part(file, parts);
}

/* ---- what a switch decides ---------------------------------------------------------------------------------------- */

static bool condition_has(const char *condition, const char *name)
{
	size_t size = strlen(name);
	for (const char *at = condition; (at = strstr(at, name)) != NULL; at += size)
		if ((at == condition || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
			return true;
	return false;
}

/* A condition that fails here for another reason too: it is about another platform. */
static bool is_elsewhere(const char *condition)
{
	static const char *const macros[] = {"_MSC_VER", "_WIN32", "_WIN64", "__APPLE__", "__arm__", "__aarch64__", "__ARM_NEON",
	                                     "__ARM_NEON__", "__ARM_ARCH", "__powerpc__", "__PPC__", "__ALTIVEC__", "__riscv",
	                                     "__wasm__", "__wasm_simd128__", "__s390x__", "__mips__", "__INTEL_COMPILER"};
	for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
		if (condition_has(condition, macros[i]) && !strstr(condition, "||"))
			return true;
	return false;
}

static bool looks_fast(const char *text)
{
	static const char *const marks[] = {"asm", "_mm_", "_mm256_", "_mm512_", "__m128", "__m256", "__m512", "vld1", "__builtin_ia32_",
	                                    "immintrin.h", "emmintrin.h", "_ASM"};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (strstr(text, marks[i]))
			return true;
	return false;
}

static const char *text_of_branch(const struct ast_unit *unit, const struct ast_branch *branch, struct arena *arena)
{
	size_t size = 0;
	const char *text = ast_file_text(unit, branch->range.file, &size);
	if (!text || branch->body > branch->range.end_offset || branch->range.end_offset > size)
		return "";
	return arena_strndup(arena, text + branch->body, branch->range.end_offset - branch->body);
}

/* Whether the branch stands around the place: `#ifndef X` around its own `#define X`. */
static bool is_around(const struct ast_branch *branch, const struct ast_macro *macro)
{
	return macro && text_equal(branch->range.file, macro->range.file) && branch->range.offset < macro->range.offset &&
	       macro->range.offset < branch->range.end_offset;
}

static void effects_add(const struct ast_unit *unit, const char *name, const struct ast_macro *macro, struct pattern_sink *sink)
{
	struct arena *arena = sink->arena;
	for (size_t i = 0; i < unit->branches.count; i++) {
		const struct ast_branch *branch = &unit->branches.at[i];
		if (!condition_has(branch->condition, name) || is_around(branch, macro) || is_elsewhere(branch->condition))
			continue;
		if (branch->parent != SIZE_MAX && unit->branches.at[branch->parent].skipped)
			continue;
		if (macro && text_equal(branch->range.file, macro->range.file) && branch->range.offset < macro->range.offset)
			continue; /* tested before it was defined */
		/* What is left out: this branch, or, where the switch itself is asked for, the branches after it. */
		size_t out = branch->skipped ? i : branch->next;
		while (out != SIZE_MAX && !unit->branches.at[out].skipped)
			out = unit->branches.at[out].next;
		if (out == SIZE_MAX)
			continue;
		const struct ast_branch *left = &unit->branches.at[out];
		bool fast = looks_fast(text_of_branch(unit, left, arena));
		fact_add(sink, unit, &pattern_p04, "effect",
		         arena_printf(arena, "%s %s %u %u", name, fast ? "fast" : "plain", left->range.line, left->range.end_line),
		         &branch->range, NULL);
	}
}

/* Whether the macro stands in code somewhere, not only in conditionals: then it is more than a switch. */
static bool is_expanded_in_code(const struct ast_unit *unit, size_t macro)
{
	for (size_t i = 0; unit->macros.at[macro].expansions && i < unit->expansions.count; i++) {
		const struct ast_expansion *expansion = &unit->expansions.at[i];
		bool directive = false;
		for (size_t k = 0; expansion->macro == macro && k < unit->branches.count && !directive; k++) {
			const struct ast_branch *branch = &unit->branches.at[k];
			directive = text_equal(branch->range.file, expansion->range.file) && branch->range.offset <= expansion->range.offset &&
			            expansion->range.offset < branch->body;
		}
		if (expansion->macro == macro && !directive)
			return true;
	}
	return false;
}

/* Whether a conditional other than `#ifndef X` stands around the definition. */
static bool is_conditional(const struct ast_unit *unit, const struct ast_macro *macro)
{
	for (size_t i = 0; i < unit->branches.count; i++)
		if (is_around(&unit->branches.at[i], macro) && strcmp(unit->branches.at[i].directive, "ifndef") != 0)
			return true;
	return false;
}

static void defines_look(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	for (size_t i = 0; i < unit->macros.count; i++) {
		const struct ast_macro *macro = &unit->macros.at[i];
		if (macro->function_like || !macro->range.in_tree || !macro->range.file || macro->undefined_later || !is_switch(macro->name) ||
		    !body_is_on(macro->body) || is_expanded_in_code(unit, i))
			continue;
		if (command->guessed && is_conditional(unit, macro))
			continue; /* whether it is defined depends on flags that are unknown */
		size_t size = 0, hash = macro->range.offset;
		const char *text = ast_file_text(unit, macro->range.file, &size);
		if (!text || macro->range.end_offset > size)
			continue;
		while (hash > 0 && text[hash - 1] != '#' && text[hash - 1] != '\n')
			hash--;
		unsigned newlines = 0;
		for (size_t at = hash; at < macro->range.end_offset; at++)
			newlines += text[at] == '\n';
		struct fact *fact = fact_add(sink, unit, &pattern_p04, "define", macro->name, &macro->range, macro->name);
		if (hash > 0 && text[hash - 1] == '#' && newlines == 0) {
			fact->offset = hash - 1;
			fact->length = macro->range.end_offset - (hash - 1);
		}
		effects_add(unit, macro->name, macro, sink);
	}
}

static void flag_defines_look(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct arena *arena = sink->arena;
	for (size_t i = 1; i < command->argv.count; i++) {
		const char *word = command->argv.at[i];
		const char *text = text_starts(word, "-D") ? word + 2 : NULL;
		if (text && !*text && i + 1 < command->argv.count)
			text = command->argv.at[++i];
		if (!text)
			continue;
		size_t size = strcspn(text, "=");
		const char *name = arena_strndup(arena, text, size);
		if (!is_switch(name) || (text[size] == '=' && !body_is_on(text + size + 1)) ||
		    !command_flag(command, word, arena_printf(arena, "-U%s", name), false))
			continue;
		fact_add(sink, unit, &pattern_p04, "flag", name, NULL, NULL);
		effects_add(unit, name, NULL, sink);
	}
}

/* ---- pragmas and attributes ----------------------------------------------------------------------------------------- */

static bool in_skipped(const struct ast_unit *unit, const char *file, size_t offset)
{
	for (size_t i = 0; i < unit->branches.count; i++) {
		const struct ast_branch *branch = &unit->branches.at[i];
		if (branch->skipped && branch->body <= offset && offset < branch->range.end_offset && text_equal(branch->range.file, file))
			return true;
	}
	return false;
}

static bool turns_down(const char *options, size_t size)
{
	static const char *const down[] = {"O0", "O1", "Os", "Oz", "Og", "no-tree-vectorize", "no-tree-slp-vectorize", "no-inline",
	                                   "no-builtin", "0)", "\"0\""};
	for (size_t i = 0; i < sizeof down / sizeof *down; i++)
		if (memmem(options, size, down[i], strlen(down[i])))
			return true;
	return false;
}

/* The functions between two places of a file; *ret_protected when one of them must stay as it is. */
static const char *functions_between(const struct ast_unit *unit, const char *file, size_t from, size_t to, struct arena *arena,
                                     bool *ret_protected)
{
	char *names = NULL;
	unsigned count = 0;
	*ret_protected = false;
	for (size_t i = 0; i < unit->top.count; i++) {
		const struct ast_node *node = unit->top.at[i];
		if (node->kind != AST_FUNCTION || !node->is_definition || !text_equal(node->range.file, file) || node->range.offset < from ||
		    node->range.offset >= to)
			continue;
		*ret_protected = *ret_protected || is_protected(node->name);
		if (count++ < 4)
			names = names ? arena_printf(arena, "%s, %s()", names, node->name) : arena_printf(arena, "%s()", node->name);
	}
	return count > 4 ? arena_printf(arena, "%s and %u more", names, count - 4) : names;
}

static void pragmas_look(const struct ast_unit *unit, const struct compile_command *command, const char *file,
                         struct pattern_sink *sink)
{
	struct arena *arena = sink->arena;
	size_t size = 0;
	const char *text = ast_file_text(unit, file, &size);
	bool clang = command->argv.count && strstr(path_base(command->argv.at[0]), "clang");
	if (!text || !memmem(text, size, "optimize", 8))
		return;
	unsigned line = 0;
	for (size_t at = 0; at < size;) {
		size_t end = at;
		while (end < size && text[end] != '\n')
			end++;
		line++;
		size_t start = at + strspn(text + at, " \t");
		const char *row = text + start;
		at = end + 1;
		if (start >= end || *row != '#')
			continue;
		row += 1 + strspn(row + 1, " \t");
		bool gnu = text_starts(row, "pragma GCC optimize"), off = text_starts(row, "pragma clang optimize off");
		if ((!gnu && !off) || gnu == clang || (gnu && !turns_down(row, (size_t)(text + end - row))) || in_skipped(unit, file, start))
			continue;
		const char *until = NULL;
		static const char *const ends[] = {"pragma GCC pop_options", "pragma GCC reset_options", "pragma clang optimize on"};
		for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
			const char *found = end < size ? memmem(text + end, size - end, ends[i], strlen(ends[i])) : NULL;
			if (found && (!until || found < until))
				until = found;
		}
		bool protected = false;
		const char *names = functions_between(unit, file, end, until ? (size_t)(until - text) : size, arena, &protected);
		if (protected || !names)
			continue;
		struct ast_range range = {.file = file, .line = line, .column = 1, .offset = start, .end_offset = end, .end_line = line,
		                          .in_tree = true};
		struct finding *finding = finding_new(sink, unit, &pattern_p04, &range, "optimize", SEVERITY_MEDIUM,
		                                      "a pragma turns the compiler's optimisation down for what follows");
		finding->evidence = arena_printf(arena, "it governs %s", names);
		const char *comment = memmem(text + start, end - start, "//", 2);
		size_t stop = comment ? (size_t)(comment - text) : end;
		while (stop > start && isspace((unsigned char)text[stop - 1]))
			stop--;
		if (!memchr(text + start, '\\', stop - start) && !memmem(text + start, stop - start, "/*", 2))
			finding_edit(sink, finding, start, stop - start, "/* optimisation: no longer turned down */");
	}
}

static void attributes_look(const struct ast_unit *unit, struct pattern_sink *sink)
{
	for (size_t i = 0; i < unit->top.count; i++) {
		const struct ast_node *node = unit->top.at[i];
		if (node->kind != AST_FUNCTION || !node->is_definition || !node->range.in_tree || is_protected(node->name))
			continue;
		size_t size = 0, begin = node->range.offset;
		const char *text = ast_file_text(unit, node->range.file, &size);
		if (!text || node->range.end_offset > size)
			continue;
		/* An attribute in front is not in the node's range: look at what stands on the lines before, up to its end. */
		while (begin > 0 && node->range.offset - begin < 200 && !strchr(";}#/", text[begin - 1]))
			begin--;
		const char *body = memchr(text + node->range.offset, '{', node->range.end_offset - node->range.offset);
		size_t head = body ? (size_t)(body - text) - begin : 0;
		const char *attribute = memmem(text + begin, head, "optimize(", 9);
		const char *none = memmem(text + begin, head, "optnone", 7);
		size_t rest = attribute ? head - (size_t)(attribute - (text + begin)) : 0;
		if ((!attribute || !turns_down(attribute, strnlen(attribute, rest < 40 ? rest : 40))) && !none)
			continue;
		struct finding *finding =
		    finding_new(sink, unit, &pattern_p04, &node->range, node->name, SEVERITY_MEDIUM,
		                arena_printf(sink->arena, "an attribute turns the compiler's optimisation down for %s()", node->name));
		finding->evidence = "one function; the rest of the unit is optimised as its command says";
	}
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	defines_look(unit, command, sink);
	flag_defines_look(unit, command, sink);
	for (size_t i = 0; i < unit->files.count; i++)
		pragmas_look(unit, command, unit->files.at[i], sink);
	attributes_look(unit, sink);
}

/* ---- the project: switches ------------------------------------------------------------------------------------------- */

static const char *unit_file(const struct project_unit *unit)
{
	return unit->files.count ? unit->files.at[0] : unit->command->file;
}

/* "a.c, b.c and 3 more" */
static const char *some_of(struct arena *arena, const struct string_list *names)
{
	char *out = arena_strdup(arena, "");
	for (size_t i = 0; i < names->count && i < 3; i++)
		out = arena_printf(arena, "%s%s%s", out, i ? ", " : "", names->at[i]);
	return names->count > 3 ? arena_printf(arena, "%s and %zu more", out, names->count - 3) : out;
}

static void name_once(struct arena *arena, struct string_list *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->at[i], name) == 0)
			return;
	list_push(arena, names, name);
}

static const char *relative_main(const struct project_view *view, const struct project_unit *unit)
{
	const char *under = path_under(unit->command->file, view->tree);
	return under ? under : unit_file(unit);
}

struct switching {
	struct string_list units;   /* compiled by a command: that define it */
	struct string_list guessed; /* the others */
	struct string_list effects; /* "file:line leaves out lines a to b" */
	bool fast;
	const struct fact *first; /* the first effect */
};

/* What a switch does in one unit, for the name. */
static void switching_take(const struct project_view *view, const struct project_unit *unit, const char *name,
                           struct arena *arena, struct switching *switching)
{
	name_once(arena, unit->command->guessed ? &switching->guessed : &switching->units, relative_main(view, unit));
	if (unit->command->guessed && view->database)
		return;
	for (size_t i = 0; i < unit->facts.count; i++) {
		const struct fact *fact = &unit->facts.at[i];
		char kind[16] = "", word[128] = "";
		unsigned from = 0, to = 0;
		if (strcmp(fact->name, "effect") != 0 || sscanf(fact->value, "%127s %15s %u %u", word, kind, &from, &to) != 4 ||
		    strcmp(word, name) != 0 || !fact->file)
			continue;
		if (!switching->first)
			switching->first = fact;
		switching->fast = switching->fast || strcmp(kind, "fast") == 0;
		name_once(arena, &switching->effects, arena_printf(arena, "%s:%u leaves out lines %u to %u", fact->file, fact->line, from, to));
	}
}

static bool is_known(const struct pattern_sink *sink, size_t from, const char *file, unsigned line)
{
	for (size_t i = from; i < sink->findings.count; i++)
		if (sink->findings.at[i]->line == line && text_equal(sink->findings.at[i]->file, file))
			return true;
	return false;
}

static void define_report(const struct project_view *view, struct pattern_sink *sink, const struct fact *define)
{
	struct arena *arena = sink->arena;
	struct switching switching = {0};
	for (size_t i = 0; i < view->unit_count; i++)
		for (size_t k = 0; k < view->units[i].facts.count; k++) {
			const struct fact *fact = &view->units[i].facts.at[k];
			if (strcmp(fact->name, "define") == 0 && fact->line == define->line && text_equal(fact->file, define->file))
				switching_take(view, &view->units[i], define->value, arena, &switching);
		}
	bool built = switching.units.count > 0;
	const char *message;
	enum severity severity = SEVERITY_LOW;
	if (!built && view->database) {
		message = arena_printf(arena, "`%s` is defined here, in a file that no command compiles: nothing is switched off by it",
		                       define->value);
	} else if (!switching.effects.count) {
		message = arena_printf(arena, "`%s` is defined here, and no conditional that follows tests it", define->value);
	} else {
		message = arena_printf(arena, "`%s` switches code off: %s", define->value, some_of(arena, &switching.effects));
		severity = !built ? SEVERITY_LOW : switching.fast ? SEVERITY_HIGH : SEVERITY_MEDIUM;
	}
	struct finding *finding =
	    finding_new_at(sink, &pattern_p04, define->file, define->line, define->column, define->value, severity, message);
	const struct string_list *units = built ? &switching.units : &switching.guessed;
	finding->evidence = arena_printf(arena, "%zu unit%s: %s%s", units->count, units->count == 1 ? "" : "s", some_of(arena, units),
	                                 built ? "" : view->database ? ", not compiled by the database" : ", whose flags are guessed");
	finding->contract = "nothing else relies on the code being off: the platforms and compilers that are built for can take it";
	if (define->length)
		finding_edit(sink, finding, define->offset, define->length, arena_printf(arena, "/* %s: no longer defined */", define->value));
}

static void flag_report(const struct project_view *view, struct pattern_sink *sink, const char *name)
{
	struct arena *arena = sink->arena;
	struct switching switching = {0};
	for (size_t i = 0; i < view->unit_count; i++)
		for (size_t k = 0; k < view->units[i].facts.count; k++) {
			const struct fact *fact = &view->units[i].facts.at[k];
			if (strcmp(fact->name, "flag") == 0 && strcmp(fact->value, name) == 0)
				switching_take(view, &view->units[i], name, arena, &switching);
		}
	if (!switching.effects.count)
		return; /* nothing obeys it */
	const struct fact *first = switching.first;
	struct finding *finding = finding_new_at(
	    sink, &pattern_p04, first->file, first->line, first->column, name, switching.fast ? SEVERITY_HIGH : SEVERITY_MEDIUM,
	    arena_printf(arena, "-D%s on the command line switches code off: %s", name, some_of(arena, &switching.effects)));
	finding->evidence = arena_printf(arena, "%zu unit%s: %s; to try it without: --flags -U%s", switching.units.count,
	                                 switching.units.count == 1 ? "" : "s", some_of(arena, &switching.units), name);
}

static void switches_report(const struct project_view *view, struct pattern_sink *sink)
{
	size_t from = sink->findings.count;
	struct string_list flags = {0};
	for (size_t i = 0; i < view->unit_count; i++)
		for (size_t k = 0; k < view->units[i].facts.count; k++) {
			const struct fact *fact = &view->units[i].facts.at[k];
			if (strcmp(fact->name, "define") == 0 && fact->file && !is_known(sink, from, fact->file, fact->line))
				define_report(view, sink, fact);
			else if (strcmp(fact->name, "flag") == 0)
				name_once(sink->arena, &flags, fact->value);
		}
	for (size_t i = 0; i < flags.count; i++)
		flag_report(view, sink, flags.at[i]);
}

/* ---- the project: flags ----------------------------------------------------------------------------------------------- */

/* Builds whose purpose is not speed, or whose rules are not ours. */
static bool is_special(const struct compile_command *command)
{
	static const char *const starts[] = {"-fsanitize=", "--coverage", "-fprofile-arcs", "-fprofile-instr", "-ffreestanding",
	                                     "-fsyntax-only", NULL};
	for (size_t i = 0; i < command->argv.count; i++)
		if (text_starts_with_one_of(command->argv.at[i], starts))
			return true;
	return command_is_kernel(command);
}

struct slow_flag {
	const char *flag; /* "-O0", "" for no -O at all */
	struct string_list units;
};
LIST_OF(struct slow_flag, slow_flag_list);

static void slow_flag_take(struct arena *arena, struct slow_flag_list *flags, const char *flag, const char *unit)
{
	struct slow_flag *found = NULL;
	for (size_t i = 0; i < flags->count && !found; i++)
		if (strcmp(flags->at[i].flag, flag) == 0)
			found = &flags->at[i];
	if (!found) {
		struct slow_flag new = {.flag = flag};
		list_push(arena, flags, new);
		found = &flags->at[flags->count - 1];
	}
	name_once(arena, &found->units, unit);
}

static bool is_extension_flag(const char *word)
{
	static const char *const names[] = {"sse", "ssse", "avx", "mmx", "bmi", "popcnt", "fma", "aes", "pclmul", "sha", "lzcnt", "simd"};
	if (!text_starts(word, "-mno-"))
		return strcmp(word, "-mgeneral-regs-only") == 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (text_starts(word + 5, names[i]) && !text_starts(word + 5, "sse2avx"))
			return true;
	return false;
}

static void command_flags_take(const struct compile_command *command, const char *unit, struct arena *arena,
                               struct slow_flag_list *flags)
{
	static const char *const switches[][2] = {
	    {"-fno-builtin", "-fbuiltin"},
	    {"-fno-inline", "-finline"},
	    {"-fno-tree-vectorize", "-ftree-vectorize"},
	    {"-fno-tree-slp-vectorize", "-ftree-slp-vectorize"},
	    {"-fno-vectorize", "-fvectorize"},
	    {"-fno-slp-vectorize", "-fslp-vectorize"},
	};
	const char *level = "";
	for (size_t i = 1; i < command->argv.count; i++)
		if (text_starts(command->argv.at[i], "-O"))
			level = command->argv.at[i];
	static const char *const slow[] = {"", "-O0", "-O1", "-O", "-Os", "-Oz", "-Og"};
	for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
		if (strcmp(level, slow[i]) == 0)
			slow_flag_take(arena, flags, level, unit);
	for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
		if (command_flag(command, switches[i][0], switches[i][1], false))
			slow_flag_take(arena, flags, switches[i][0], unit);
	for (size_t i = 1; i < command->argv.count; i++)
		if (is_extension_flag(command->argv.at[i]))
			slow_flag_take(arena, flags, command->argv.at[i], unit);
}

static void flags_report(const struct project_view *view, struct pattern_sink *sink)
{
	struct arena *arena = sink->arena;
	struct slow_flag_list flags = {0};
	struct string_list all = {0};
	if (!view->database)
		return; /* a workload's own flags are no build */
	for (size_t i = 0; i < view->unit_count; i++) {
		const struct project_unit *unit = &view->units[i];
		const char *file = relative_main(view, unit);
		if (unit->command->guessed || unit->command->of_workload || is_special(unit->command) || is_beside(file))
			continue;
		name_once(arena, &all, file);
		command_flags_take(unit->command, file, arena, &flags);
	}
	for (size_t i = 0; i < flags.count; i++) {
		const struct slow_flag *flag = &flags.at[i];
		bool none = !*flag->flag, level = none || text_starts(flag->flag, "-O");
		bool size = strcmp(flag->flag, "-Os") == 0 || strcmp(flag->flag, "-Oz") == 0;
		bool partly = flag->units.count < all.count;
		if (size && flag->units.count * FEW_FOR_SIZE < all.count)
			continue; /* a few files that somebody keeps small: terminal input, options, a library that came with it */
		/* A whole build for debugging, or for size, was chosen. */
		enum severity severity = (level && !partly) || size ? SEVERITY_LOW : SEVERITY_MEDIUM;
		const char *what = none ? "no -O flag: not optimised at all" : arena_printf(arena, "%s", flag->flag);
		struct finding *finding =
		    finding_new_at(sink, &pattern_p04, flag->units.at[0], 1, 1, none ? "-O" : flag->flag, severity,
		                   arena_printf(arena, "%zu of the %zu units are compiled with %s%s", flag->units.count, all.count, what,
		                                level && !partly ? ": is this the build that ships?" : ""));
		finding->evidence = some_of(arena, &flag->units);
	}
}

/* ---- the project: sources that nothing compiles ------------------------------------------------------------------------ */

static bool is_assembly(const char *file)
{
	return text_ends(file, ".S") || text_ends(file, ".s");
}

static int text_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool list_has(const struct string_list *sorted, const char *text)
{
	return sorted->count && bsearch(&text, sorted->at, sorted->count, sizeof *sorted->at, text_compare);
}

/* Whether compiled files lie in the folder or up to three above it: the library that the file belongs to. */
static bool is_of_library(const struct string_list *folders, const char *folder, struct arena *arena)
{
	for (unsigned up = 0; up < 4 && strcmp(folder, ".") != 0; up++, folder = path_dir(arena, folder))
		if (list_has(folders, folder))
			return true;
	return false;
}

static const char *file_text(struct arena *arena, const char *path)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return "";
	const size_t room = 1 << 20;
	char *text = arena_alloc(arena, room);
	text[fread(text, 1, room - 1, file)] = '\0';
	fclose(file);
	return text;
}

/* Whether another assembly source names the file: one that includes others by processor. */
static bool is_included(const struct project_view *view, const char *file, struct arena *arena)
{
	const char *quoted = arena_printf(arena, "%s\"", path_base(file));
	for (size_t i = 0; i < view->sources.count; i++) {
		const char *other = view->sources.at[i];
		if (!is_assembly(other) || strcmp(other, file) == 0)
			continue;
		struct arena own;
		arena_init(&own);
		bool names = strstr(file_text(&own, path_join(&own, view->tree, other)), quoted) != NULL;
		arena_release(&own);
		if (names)
			return true;
	}
	return false;
}

static void sources_report(const struct project_view *view, struct pattern_sink *sink)
{
	struct arena *arena = sink->arena;
	struct string_list used = {0}, folders = {0}, assembly = {0};
	bool records_assembly = false;
	if (!view->database)
		return;
	for (size_t i = 0; i < view->commands->count; i++) {
		const struct compile_command *command = &view->commands->at[i];
		const char *file = path_under(command->file, view->tree);
		if (command->guessed || !file)
			continue;
		list_push(arena, &used, file);
		list_push(arena, &folders, path_dir(arena, file));
		records_assembly = records_assembly || is_assembly(file);
	}
	for (size_t i = 0; i < view->unit_count; i++)
		for (size_t k = 0; !view->units[i].command->guessed && k < view->units[i].files.count; k++)
			list_push(arena, &used, view->units[i].files.at[k]);
	if (used.count)
		qsort(used.at, used.count, sizeof *used.at, text_compare);
	if (folders.count)
		qsort(folders.at, folders.count, sizeof *folders.at, text_compare);
	for (size_t i = 0; i < view->sources.count; i++) {
		const char *file = view->sources.at[i], *base = path_base(file);
		if (list_has(&used, file) || is_beside(file) || is_of_other_processor(file))
			continue;
		const char *folder = path_dir(arena, file);
		if (is_assembly(file)) {
			if (is_of_library(&folders, folder, arena) && !is_included(view, file, arena))
				list_push(arena, &assembly, file);
		} else if (text_ends(file, ".c") && view->whole && name_has_extension(base) && list_has(&folders, folder)) {
			struct finding *finding =
			    finding_new_at(sink, &pattern_p04, file, 1, 1, base, SEVERITY_MEDIUM,
			                   "by its name this is code for an instruction set extension, and no command compiles it");
			finding->evidence = "no unit includes it either; other files of its folder are compiled";
		}
	}
	if (assembly.count && !records_assembly) {
		struct finding *finding = finding_new_at(
		    sink, &pattern_p04, assembly.at[0], 1, 1, path_base(assembly.at[0]), SEVERITY_LOW,
		    arena_printf(arena, "%zu assembly source%s beside compiled files, and no command for any: either the build leaves them "
		                 "out or the database does", assembly.count, assembly.count == 1 ? "" : "s"));
		finding->evidence = some_of(arena, &assembly);
		return;
	}
	for (size_t i = 0; i < assembly.count; i++) {
		struct finding *finding = finding_new_at(sink, &pattern_p04, assembly.at[i], 1, 1, path_base(assembly.at[i]), SEVERITY_MEDIUM,
		                                         "an assembly source of a compiled folder that no command compiles");
		finding->evidence = "other assembly is compiled, so the database knows of assembly";
	}
}

static void detect_project(const struct project_view *view, struct pattern_sink *sink)
{
	switches_report(view, sink);
	flags_report(view, sink);
	sources_report(view, sink);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
/* "breaks one of our compilers" */
#define SUM_NO_SIMD // finds

struct state {
	uint8_t *bytes;
	uint64_t sum;
	size_t count;
};

static __attribute__((noinline)) uint64_t sum_bytes(const uint8_t *bytes, size_t count)
{
	uint64_t sum = 0;
	size_t i = 0;
#if defined(__SSE2__) && !defined(SUM_NO_SIMD)
	__m128i sums = _mm_setzero_si128();
	for (; i + 16 <= count; i += 16)
		sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_loadu_si128((const __m128i *)(bytes + i)), _mm_setzero_si128()));
	uint64_t halves[2];
	_mm_storeu_si128((__m128i *)halves, sums);
	sum = halves[0] + halves[1];
#endif
	for (; i < count; i++)
		sum += bytes[i];
	return sum;
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "bytes", 16384);
	s->bytes = malloc(s->count);
	assay_fill_random(b, s->bytes, s->count);
	assay_bytes_per_iteration(b, s->count);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum = sum_bytes(s->bytes, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "sum", &s->sum, sizeof s->sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	static const size_t counts[] = {0, 1, 15, 16, 17, 33};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		uint64_t sum = sum_bytes(s->bytes + 1, counts[i]);
		assay_output(b, "sum of a few", &sum, sizeof sum);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
/* "breaks one of our compilers" */
/* SUM_NO_SIMD: no longer defined */ // finds

struct state {
	uint8_t *bytes;
	uint64_t sum;
	size_t count;
};

static __attribute__((noinline)) uint64_t sum_bytes(const uint8_t *bytes, size_t count)
{
	uint64_t sum = 0;
	size_t i = 0;
#if defined(__SSE2__) && !defined(SUM_NO_SIMD)
	__m128i sums = _mm_setzero_si128();
	for (; i + 16 <= count; i += 16)
		sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_loadu_si128((const __m128i *)(bytes + i)), _mm_setzero_si128()));
	uint64_t halves[2];
	_mm_storeu_si128((__m128i *)halves, sums);
	sum = halves[0] + halves[1];
#endif
	for (; i < count; i++)
		sum += bytes[i];
	return sum;
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "bytes", 16384);
	s->bytes = malloc(s->count);
	assay_fill_random(b, s->bytes, s->count);
	assay_bytes_per_iteration(b, s->count);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum = sum_bytes(s->bytes, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "sum", &s->sum, sizeof s->sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	static const size_t counts[] = {0, 1, 15, 16, 17, 33};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		uint64_t sum = sum_bytes(s->bytes + 1, counts[i]);
		assay_output(b, "sum of a few", &sum, sizeof sum);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
// refuted by measuring
#include <assay/bench.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

struct state {
	uint8_t *bytes;
	uint64_t sum;
	size_t count;
};

static __attribute__((noinline)) uint64_t sum_bytes(const uint8_t *bytes, size_t count)
{
	uint64_t sum = 0;
	size_t i = 0;
#if defined(__SSE2__) && !defined(SUM_NO_SIMD)
	__m128i sums = _mm_setzero_si128();
	for (; i + 16 <= count; i += 16)
		sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_loadu_si128((const __m128i *)(bytes + i)), _mm_setzero_si128()));
	uint64_t halves[2];
	_mm_storeu_si128((__m128i *)halves, sums);
	sum = halves[0] + halves[1];
#endif
	for (; i < count; i++)
		sum += bytes[i];
	return sum;
}

/* Too late for the conditional above, and none follows. */
#define SUM_NO_SIMD

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "bytes", 16384);
	s->bytes = malloc(s->count);
	assay_fill_random(b, s->bytes, s->count);
	assay_bytes_per_iteration(b, s->count);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->sum = sum_bytes(s->bytes, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "sum", &s->sum, sizeof s->sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	static const size_t counts[] = {0, 1, 15, 16, 17, 33};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		uint64_t sum = sum_bytes(s->bytes + 1, counts[i]);
		assay_output(b, "sum of a few", &sum, sizeof sum);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also on the command line */
// flags: -O2 -DCRC_DISABLE_ASM
#include <stdint.h>
#if defined(__x86_64__) && !defined(CRC_DISABLE_ASM) // finds
static inline uint64_t rotate(uint64_t value)
{
	__asm__("rolq $13, %0" : "+r"(value));
	return value;
}
#else
static inline uint64_t rotate(uint64_t value)
{
	return value << 13 | value >> 51;
}
#endif
uint64_t mix(uint64_t value)
{
	return rotate(value) * 5;
}
#endif

#if 0 /* assay example: also a pragma and an attribute */
#include <stddef.h>
#pragma GCC push_options
#pragma GCC optimize("O0") // finds
int sum(const int *from, size_t count)
{
	int total = 0;
	for (size_t i = 0; i < count; i++)
		total += from[i];
	return total;
}
#pragma GCC pop_options
#endif

#if 0 /* assay example: also a pragma and an attribute fixed */
#include <stddef.h>
#pragma GCC push_options
/* optimisation: no longer turned down */ // finds
int sum(const int *from, size_t count)
{
	int total = 0;
	for (size_t i = 0; i < count; i++)
		total += from[i];
	return total;
}
#pragma GCC pop_options
#endif

#if 0 /* assay example: also an attribute */
#include <stddef.h>
__attribute__((optimize("O0"))) static int sum(const int *from, size_t count) // finds
{
	int total = 0;
	for (size_t i = 0; i < count; i++)
		total += from[i];
	return total;
}
int sum_all(const int *from)
{
	return sum(from, 8);
}
#endif

#if 0 /* assay example: also a switch of numbers, asked for by name */
#define HASH_GENERIC_ONLY 1 // finds
#if HASH_GENERIC_ONLY
int hash(int value)
{
	return value * 31;
}
#else
#include <immintrin.h>
int hash(int value)
{
	return _mm_cvtsi128_si32(_mm_set1_epi32(value));
}
#endif
#endif

#if 0 /* assay example: also a switch of numbers, asked for by name fixed */
/* HASH_GENERIC_ONLY: no longer defined */ // finds
#if HASH_GENERIC_ONLY
int hash(int value)
{
	return value * 31;
}
#else
#include <immintrin.h>
int hash(int value)
{
	return _mm_cvtsi128_si32(_mm_set1_epi32(value));
}
#endif
#endif

#if 0 /* assay example: also flags without optimisation */
// flags: -O1 // finds
int one(void)
{
	return 1;
}
#endif

#if 0 /* assay example: lookalike a guard, an attribute, a switch that is off */
#ifndef LIB_NO_ASM_H
#define LIB_NO_ASM_H
#define LIB_NO_INLINE __attribute__((noinline))
#define LIB_NO_SIMD 0
#define LIB_NO_ASMODEUS
#define LIB_DISABLE_ASSERTIONS
LIB_NO_INLINE int one(void);
int one(void)
{
#if !LIB_NO_SIMD && !defined(LIB_DISABLE_ASSERTIONS)
	return 1;
#else
	return 2;
#endif
}
#endif
#endif

#if 0 /* assay example: lookalike what must not be optimised */
#include <stddef.h>
#pragma GCC push_options
#pragma GCC optimize("O0")
void secret_cleanse(void *from, size_t size)
{
	for (unsigned char *at = from; size--; at++)
		*at = 0;
}
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC optimize("O3")
int sum(const int *from, size_t count)
{
	int total = 0;
	for (size_t i = 0; i < count; i++)
		total += from[i];
	return total;
}
#pragma GCC pop_options
#endif

#if 0 /* assay example: lookalike a sanitizer's build */
// flags: -O1 -fsanitize=undefined
int one(void)
{
	return 1;
}
#endif
