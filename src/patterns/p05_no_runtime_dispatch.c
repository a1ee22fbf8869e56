/* P05 no-runtime-dispatch: fast code for newer processors that the built program never runs.
 *
 * Four signals. A branch `#ifdef __AVX2__` with that extension's code in it, while the flags give the baseline and no unit
 * of the project takes it. Functions of a `target("avx2")` with nothing in the whole project that asks the processor. A
 * table of implementations that lacks the widest one of the tree. And a loop that the compiler turns into vector code, in
 * a unit that is built for the baseline: with vectors half as wide as the processor's.
 * A guard is a table of implementations, or a call to one behind an `if`, in a project that asks: its ablation leaves the
 * plain one.
 *
 * It must not fire where another unit takes the branch, where the same file has a dispatcher, where the flags name a
 * processor (then it is built for one host), nor on a condition that fails for another reason.
 */
#include "patterns/query.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);
static void detect_project(const struct project_view *view, struct pattern_sink *sink);

const struct pattern pattern_p05 = {
    .id = "P05",
    .slug = "no-runtime-dispatch",
    .title = "fast code that the built program never chooses",
    .tier = TIER_A,
    .what = "Code for an instruction set extension stands only in a conditional like `#ifdef __AVX2__`, and the compile "
            "commands give the baseline: no unit takes it. Or functions have a `target(\"…\")` attribute and nothing in the "
            "project asks the processor what it has. Or a table of implementations lacks the widest one that the tree has; or a "
            "loop over integers of any number becomes vector code for the baseline only. A guard is a table of "
            "implementations, or a call behind such a question.",
    .why = "Distributions build for the oldest processor they support: the fast path is in the source and in no binary. "
           "Asked once at run time, the same binary uses what the processor has.",
    .when_not = "The program is built for one host with -march; inputs are a few bytes, where the call costs more than the "
                "vector saves; kernel code; wide vectors lower the clock on some older servers.",
    .expected = "2 to 10 times for loops over data in cache; BLAKE3 in OpenZFS: 166 MB/s plain, 2,635 MB/s with AVX2 (the "
                "published measurement); nothing where memory is the limit",
    .refuted_by = "Equal speed of both on the workload: memory-bound, short inputs, or the compiler's plain code is as good.",
    .sources =
        (const char *const[]){
            "GCC manual, Function Multiversioning, and the attribute target_clones",
            "Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on CPU dispatch",
            "Agner Fog, Optimizing software in C++, chapter 13 (making critical code in multiple versions), edition of 2023",
            NULL},
    .detect = detect,
    .detect_project = detect_project,
};

static const struct extension {
	const char *macro;
	const char *target; /* as in target("…") and -m… */
	const char *marks[4]; /* what its code looks like */
} extensions[] = {
    {"__AVX512F__", "avx512f", {"_mm512_"}},
    {"__AVX512BW__", "avx512bw", {"_mm512_"}},
    {"__AVX512VL__", "avx512vl", {"_mm512_", "_mm256_"}},
    {"__AVX512DQ__", "avx512dq", {"_mm512_"}},
    {"__AVX2__", "avx2", {"_mm256_"}},
    {"__AVX__", "avx", {"_mm256_"}},
    {"__SSE4_2__", "sse4.2", {"_mm_"}},
    {"__SSE4_1__", "sse4.1", {"_mm_"}},
    {"__SSSE3__", "ssse3", {"_mm_"}},
    {"__SSE3__", "sse3", {"_mm_"}},
    {"__POPCNT__", "popcnt", {"_mm_popcnt_", "__builtin_popcount"}},
    {"__BMI2__", "bmi2", {"_pdep_", "_pext_", "_mulx_", "_bzhi_"}},
    {"__BMI__", "bmi", {"_tzcnt_", "_blsr_", "_andn_"}},
    {"__LZCNT__", "lzcnt", {"_lzcnt_"}},
    {"__PCLMUL__", "pclmul", {"_mm_clmul"}},
    {"__AES__", "aes", {"_mm_aes"}},
    {"__SHA__", "sha", {"_mm_sha"}},
    {"__FMA__", "fma", {"_fmadd_", "_fmsub_"}},
};

/* ---- names ---------------------------------------------------------------------------------------------------- */

/* Whether a function of this name asks the processor. */
static bool name_asks(const char *name)
{
	static const char *const known[] = {"__builtin_cpu_supports", "__builtin_cpu_init", "__builtin_cpu_is", "__get_cpuid",
	                                    "__get_cpuid_count", "__cpuid", "__cpuid_count", "__cpuidex", "_xgetbv", "getauxval",
	                                    "elf_aux_info", "android_getCpuFeatures", NULL};
	static const char *const verbs[] = {"available", "support", "has", "have", "detect", "usable", "enabled", "get", "check",
	                                    "is", "can", NULL};
	if (!name)
		return false;
	for (size_t i = 0; known[i]; i++)
		if (strcmp(name, known[i]) == 0)
			return true;
	bool cpu = name_has_extension(name) || name_has_word(name, "cpu") || name_has_word(name, "cpuid") || name_has_word(name, "simd");
	if (name_has_word(name, "cpuid") || strcasestr(name, "cpu_features") || strcasestr(name, "cpufeatures"))
		return true;
	for (size_t i = 0; cpu && name_has_extension(name) && verbs[i]; i++)
		if (strcasestr(name, verbs[i]) && (name_has_word(name, verbs[i]) || strlen(verbs[i]) > 6))
			return true;
	return false;
}

/* ---- branches that are not taken -------------------------------------------------------------------------------- */

/* Words of a condition, whose tokens are separated by blanks. */
static bool next_word(const char **at, char *word, size_t room)
{
	while (**at == ' ')
		(*at)++;
	size_t size = strcspn(*at, " ");
	if (!size)
		return false;
	snprintf(word, room, "%.*s", (int)size, *at);
	*at += size;
	return true;
}

static const struct extension *extension_of_macro(const char *name)
{
	for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
		if (strcmp(extensions[i].macro, name) == 0)
			return &extensions[i];
	return NULL;
}

static bool is_defined(const struct ast_unit *unit, const struct compile_command *command, const char *name)
{
	size_t size = strlen(name);
	for (size_t i = 0; i < unit->macros.count; i++)
		if (strcmp(unit->macros.at[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < command->argv.count; i++) {
		const char *word = command->argv.at[i];
		if (text_starts(word, "-D") && strncmp(word + 2, name, size) == 0 && (word[2 + size] == '=' || !word[2 + size]))
			return true;
	}
	return false;
}

/* The extension whose lack alone makes the condition fail; NULL: none, or it may fail for another reason. */
static const struct extension *failing_extension(const struct ast_unit *unit, const struct compile_command *command,
                                                 const struct ast_branch *branch)
{
	static const char *const always[] = {"defined", "__x86_64__", "__x86_64", "__amd64__", "__amd64", "__GNUC__", "__clang__",
	                                     "__SSE2__", "__SSE__", "__linux__", "__unix__", "__LP64__"};
	if (strcmp(branch->directive, "ifndef") == 0 || strcmp(branch->directive, "else") == 0)
		return NULL;
	const struct extension *found = NULL;
	char word[128], before[3][128] = {"", "", ""}; /* the words before it, the nearest last */
	bool is_or = strstr(branch->condition, "||") != NULL;
	for (const char *at = branch->condition; next_word(&at, word, sizeof word);) {
		bool negated = before[2][0] == '!' || (strcmp(before[2], "defined") == 0 && before[1][0] == '!') ||
		               (before[2][0] == '(' && strcmp(before[1], "defined") == 0 && before[0][0] == '!');
		const struct extension *extension = extension_of_macro(word);
		bool neutral = !isalpha((unsigned char)word[0]) && word[0] != '_';
		for (size_t i = 0; i < sizeof always / sizeof *always; i++)
			neutral = neutral || strcmp(word, always[i]) == 0;
		if (extension && !negated)
			found = extension;
		else if (extension)
			return NULL;
		else if (!neutral && !is_or && is_defined(unit, command, word) == negated)
			return NULL;
		memcpy(before[0], before[1], sizeof before[0]);
		memcpy(before[1], before[2], sizeof before[1]);
		memcpy(before[2], word, sizeof before[2]);
	}
	return found;
}

static const char *branch_text(const struct ast_unit *unit, const struct ast_branch *branch, struct arena *arena)
{
	size_t size = 0;
	const char *text = ast_file_text(unit, branch->range.file, &size);
	if (!text || branch->body > branch->range.end_offset || branch->range.end_offset > size)
		return "";
	return arena_strndup(arena, text + branch->body, branch->range.end_offset - branch->body);
}

static bool has_marks(const struct extension *extension, const char *text)
{
	for (size_t i = 0; i < sizeof extension->marks / sizeof *extension->marks && extension->marks[i]; i++)
		if (strstr(text, extension->marks[i]))
			return true;
	return false;
}

static bool has_loop_text(const char *text)
{
	static const char *const loops[] = {"for", "while"};
	for (size_t i = 0; i < 2; i++)
		for (const char *at = text; (at = strstr(at, loops[i])) != NULL; at++)
			if ((at == text || !text_is_word(at[-1])) &&
			    at[strlen(loops[i]) + strspn(at + strlen(loops[i]), " \t")] == '(')
				return true;
	return false;
}

/* A processor that the command names: the build is for it, on purpose. */
static bool names_processor(const struct compile_command *command)
{
	for (size_t i = 0; i < command->argv.count; i++) {
		const char *word = command->argv.at[i];
		if ((text_starts(word, "-march=") && strcmp(word, "-march=x86-64") != 0) || text_starts(word, "-mavx") ||
		    text_starts(word, "-msse4") || text_starts(word, "-mno-") || text_starts(word, "-mcpu=") ||
		    text_starts(word, "-m32") || text_starts(word, "-mgeneral-regs-only"))
			return true;
	}
	return false;
}

struct clonable {
	bool loops, calls, floats, vectors, other;
};

static bool clonable_visit(struct ast_node *node, void *context)
{
	struct clonable *clonable = context;
	if (ast_is_loop(node))
		clonable->loops = true;
	if (node->kind == AST_ASM || node->kind == AST_ATOMIC || node->kind == AST_GOTO || node->kind == AST_STMT_EXPR)
		clonable->other = true;
	if (node->kind == AST_CALL && !call_is_pure(node))
		clonable->calls = true;
	if (node->type && node->type->kind == TYPE_FLOAT)
		clonable->floats = true;
	if (node->type && node->type->kind == TYPE_VECTOR)
		clonable->vectors = true;
	return true;
}

static struct ast_node *function_around(const struct ast_unit *unit, const struct ast_branch *branch)
{
	for (size_t i = 0; i < unit->top.count; i++) {
		struct ast_node *node = unit->top.at[i];
		if (node->kind == AST_FUNCTION && node->is_definition && text_equal(node->range.file, branch->range.file) &&
		    node->range.offset <= branch->range.offset && branch->range.end_offset <= node->range.end_offset)
			return node;
	}
	return NULL;
}

/* Whether what stands before a declaration ends: nothing that could be a part of it (an attribute, a macro). */
static bool before_is_closed(const char *file, size_t at)
{
	while (at > 0 && isspace((unsigned char)file[at - 1]))
		at--;
	if (at == 0 || strchr(";}", file[at - 1]) || (at > 1 && file[at - 1] == '/' && file[at - 2] == '*'))
		return true;
	size_t line = at;
	while (line > 0 && file[line - 1] != '\n')
		line--;
	line += strspn(file + line, " \t");
	return file[line] == '#' || (file[line] == '/' && file[line + 1] == '/');
}

/* Whether `target_clones` may stand before the function: a plain loop over integers in a function without attributes. */
static bool takes_clones(const struct ast_unit *unit, const struct ast_node *function)
{
	static const char *const not[] = {"inline", "INLINE", "__attribute__", "extern", "target"};
	struct clonable clonable = {0};
	if (!function->body || function->range.edge_in_macro || !text_equal(function->range.file, unit->main_file) ||
	    text_ends(unit->main_file, ".h"))
		return false;
	ast_walk(function->body, clonable_visit, &clonable);
	if (!clonable.loops || clonable.calls || clonable.floats || clonable.vectors || clonable.other)
		return false;
	const char *text = ast_text(unit, &function->range);
	size_t head = text ? strcspn(text, "{") : 0;
	for (size_t i = 0; i < sizeof not / sizeof *not; i++)
		if (!text || memmem(text, head, not[i], strlen(not[i])))
			return false;
	size_t size = 0;
	const char *file = ast_file_text(unit, function->range.file, &size);
	size_t at = function->range.offset;
	if (!file || at > size || (at > 0 && file[at - 1] != '\n')) /* something before it on its line */
		return false;
	return before_is_closed(file, at);
}

static void branches_look(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct arena *arena = sink->arena;
	for (size_t i = 0; i < unit->branches.count; i++) {
		const struct ast_branch *branch = &unit->branches.at[i];
		if (branch->parent != SIZE_MAX && unit->branches.at[branch->parent].skipped)
			continue;
		if (!strstr(branch->condition, "__"))
			continue;
		const char *text = branch_text(unit, branch, arena);
		if (!branch->skipped) {
			/* A later branch of the same #if is not dead: a better one was taken. */
			for (size_t k = 0; k < sizeof extensions / sizeof *extensions; k++) {
				if (!strstr(branch->condition, extensions[k].macro) || !has_marks(&extensions[k], text))
					continue;
				fact_add(sink, unit, &pattern_p05, "taken", extensions[k].target, &branch->range, NULL);
				for (size_t next = branch->next; next != SIZE_MAX; next = unit->branches.at[next].next)
					fact_add(sink, unit, &pattern_p05, "taken", extensions[k].target, &unit->branches.at[next].range, NULL);
				break;
			}
			continue;
		}
		const struct extension *extension = names_processor(command) ? NULL : failing_extension(unit, command, branch);
		if (!extension || !has_marks(extension, text))
			continue;
		size_t size = 0;
		const char *file = ast_file_text(unit, branch->range.file, &size);
		if (file && memmem(file, size, "target_clones", 13))
			continue; /* the compiler does the asking */
		struct ast_node *function = function_around(unit, branch);
		bool clones = function && takes_clones(unit, function);
		struct fact *fact = fact_add(sink, unit, &pattern_p05, "dead",
		                             arena_printf(arena, "%s %s %s", extension->target, has_loop_text(text) ? "loop" : "plain",
		                                          clones ? "clones" : "-"),
		                             &branch->range, function ? function->name : extension->macro);
		fact->offset = clones ? function->range.offset : 0;
	}
}

/* ---- functions of a target, tables, questions ------------------------------------------------------------------- */

struct asking {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
	struct ast_node *function;
	bool asks, asked_here, assigns, returns_function;
};

static bool mentions_extension(struct ast_node *node, void *context)
{
	if ((node->kind == AST_REF || node->kind == AST_MEMBER || node->kind == AST_CALL) &&
	    (name_has_extension(node->name) || (node->kind == AST_CALL && name_asks(call_name(node)))))
		*(bool *)context = true;
	return true;
}

static const char *declared_target(const struct ast_unit *unit, const struct ast_node *function)
{
	const char *text = function->range.file && function->range.in_tree ? ast_text(unit, &function->range) : NULL;
	size_t head = text ? strcspn(text, "{") : 0;
	const char *at = text ? memmem(text, head, "target(\"", 8) : NULL;
	if (!at)
		at = text ? memmem(text, head, "target (\"", 9) : NULL;
	if (!at || (at > text && (isalnum((unsigned char)at[-1]))))
		return NULL;
	at = strchr(at, '"') + 1;
	return arena_strndup(&((struct ast_unit *)unit)->arena, at, strcspn(at, "\""));
}

static bool find_variant(struct ast_node *node, void *context)
{
	struct ast_node **called = context;
	if (!*called && node->kind == AST_CALL && name_has_extension(call_name(node)) && !name_asks(call_name(node)))
		*called = node;
	return !*called;
}

/* `if (has_avx2) return f_avx2(…);` */
static void if_look(struct asking *asking, struct ast_node *node)
{
	struct ast_node *condition = node->condition;
	bool mentions = false;
	struct ast_node *first = ast_strip_casts(condition);
	if (!condition || !node->body || (first && first->kind == AST_BINARY && first->op == OP_LAND && node_is_zero(ast_child(first, 0))))
		return;
	ast_walk(condition, mentions_extension, &mentions);
	struct ast_node *called = NULL;
	if (mentions)
		ast_walk(node->body, find_variant, &called);
	if (!called)
		return;
	bool editable = !condition->range.in_macro && condition->range.in_tree && !node->range.edge_in_macro;
	struct fact *fact = fact_add(asking->sink, asking->unit, &pattern_p05, "if", call_name(called), &node->range,
	                             asking->function->name);
	if (editable) {
		fact->offset = condition->range.offset;
		fact->length = condition->range.end_offset - condition->range.offset;
	}
}

static bool ask(struct ast_node *node, void *context)
{
	struct asking *asking = context;
	if (node->kind == AST_CALL && name_asks(call_name(node)))
		asking->asks = asking->asked_here = true;
	if (node->kind == AST_ASM) {
		const char *text = node->range.file ? ast_text(asking->unit, &node->range) : NULL;
		if (text && strstr(text, "cpuid"))
			asking->asks = asking->asked_here = true;
	}
	if (node->kind == AST_ASSIGN) {
		struct ast_node *left = ast_operand(node, 0);
		const struct ast_type *type = left ? left->type : NULL;
		if (type && type->kind == TYPE_POINTER && type->pointee && type->pointee->kind == TYPE_FUNCTION &&
		    (left->is_global || left->kind == AST_MEMBER || left->kind == AST_SUBSCRIPT))
			asking->assigns = true;
	}
	if (node->kind == AST_RETURN) {
		struct ast_node *value = ast_operand(node, 0);
		if (value && value->kind == AST_UNARY && value->op == OP_ADDRESS)
			value = ast_operand(value, 0);
		if (value && value->kind == AST_REF && value->decl && value->decl->kind == AST_FUNCTION)
			asking->returns_function = true;
	}
	if (node->kind == AST_IF)
		if_look(asking, node);
	return true;
}

static void table_look(const struct ast_unit *unit, struct ast_node *array, struct pattern_sink *sink)
{
	struct ast_node *list = ast_strip_casts(array->init);
	const struct ast_type *element = array->type ? array->type->pointee : NULL;
	if (!array->is_global || !list || list->kind != AST_INIT_LIST || !array->range.in_tree || !element ||
	    element->kind != TYPE_POINTER || !element->pointee ||
	    (element->pointee->kind != TYPE_FUNCTION && element->pointee->kind != TYPE_RECORD))
		return;
	struct arena *arena = sink->arena;
	char *names = NULL;
	unsigned fast = 0, plain = 0;
	bool first_is_plain = false;
	size_t size = 0;
	const char *text = ast_file_text(unit, array->range.file, &size);
	struct ast_node_list removable = {0};
	for (size_t i = 0; i < list->children.count; i++) {
		struct ast_node *item = ast_strip_casts(list->children.at[i]);
		struct ast_node *ref = item;
		if (item && item->kind == AST_UNARY && item->op == OP_ADDRESS)
			ref = ast_operand(item, 0);
		if (!ref || ref->kind != AST_REF || !ref->name)
			continue;
		bool says = name_has_extension(ref->name);
		fast += says;
		plain += !says;
		if (i == 0)
			first_is_plain = !says;
		if (says) {
			names = names ? arena_printf(arena, "%s, %s", names, ref->name) : arena_strdup(arena, ref->name);
			list_push(arena, &removable, item);
		}
	}
	if (!fast || fast + plain < 2)
		return;
	fact_add(sink, unit, &pattern_p05, "table", names, &array->range, array->name);
	const char *whole = ast_text(unit, &array->range); /* with what its conditionals leave out */
	fact_add(sink, unit, &pattern_p05, "table text", whole ? whole : "", &array->range, array->name);
	/* Without the fast ones the table holds the plain ones: only where its length counts itself. */
	const char *open = whole ? strchr(whole, '[') : NULL;
	if (!open || open[1 + strspn(open + 1, " \t")] != ']' || !plain || !first_is_plain || !text)
		return;
	for (size_t i = 0; i < removable.count; i++) {
		const struct ast_range *range = &removable.at[i]->range;
		if (range->in_macro || !text_equal(range->file, array->range.file) || range->end_offset > size)
			return;
	}
	for (size_t i = 0; i < removable.count; i++) {
		const struct ast_range *range = &removable.at[i]->range;
		size_t end = range->end_offset;
		end += strspn(text + end, " \t");
		if (end >= size || text[end] != ',')
			end = range->end_offset;
		else
			end++;
		struct fact *fact = fact_add(sink, unit, &pattern_p05, "entry", "", &array->range, array->name);
		fact->offset = range->offset;
		fact->length = end - range->offset;
	}
}

/* ---- variants that a table may lack ------------------------------------------------------------------------------ */

/* Where a name says its extension, widest first: the longer word before its own beginning. */
static const struct width {
	const char *word;
	unsigned rank;
} widths[] = {{"avx512bw", 8}, {"avx512vl", 8}, {"avx512f", 7}, {"avx512", 7}, {"avx2", 6}, {"avx", 5},
              {"sse42", 4},    {"sse4_2", 4},   {"sse41", 3},   {"sse4_1", 3}, {"ssse3", 2}, {"sse2", 1}};

static const struct width *width_of(const char *name, const char **ret_at)
{
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		size_t size = strlen(widths[i].word);
		for (const char *at = name; (at = strcasestr(at, widths[i].word)) != NULL; at++) {
			if ((at == name || at[-1] == '_') && (at[size] == '_' || at[size] == '\0')) {
				*ret_at = at;
				return &widths[i];
			}
		}
	}
	return NULL;
}

/* How wide a variant is; its name without the extension goes to `stem`. 0: it names none. */
static unsigned variant_rank(const char *name, char *stem, size_t room)
{
	const char *at;
	const struct width *width = width_of(name, &at);
	if (!width)
		return 0;
	snprintf(stem, room, "%.*s*%s", (int)(at - name), name, at + strlen(width->word));
	return width->rank;
}

/* Objects that a table could hold: functions, and records of them, with an extension in their name. */
static void variant_look(const struct ast_unit *unit, const struct ast_node *node, struct pattern_sink *sink)
{
	char stem[128];
	bool function = node->kind == AST_FUNCTION && node->is_definition;
	bool record = node->kind == AST_VAR && node->init && node->type && node->type->kind == TYPE_RECORD;
	if ((function || record) && node->name && node->range.in_tree && variant_rank(node->name, stem, sizeof stem))
		fact_add(sink, unit, &pattern_p05, "variant", node->name, &node->range, node->name);
}

/* ---- loops that are vector code for the baseline ------------------------------------------------------------------- */

/* What a vector instruction does with two numbers. */
static bool is_vector_operator(enum ast_op op)
{
	return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_AND || op == OP_OR || op == OP_XOR || op == OP_SHL || op == OP_SHR;
}

struct work {
	const struct loop *loop;
	const struct ast_node *index;
	unsigned operations; /* on elements */
	bool elements, stores, other;
};

static bool is_integer(const struct ast_type *type)
{
	return type && (type->kind == TYPE_INT || type->kind == TYPE_CHAR) && type->size > 0 && type->size <= 8;
}

/* p[i] through a pointer that stays, with elements that are integers. */
static bool is_element(const struct work *work, struct ast_node *node)
{
	struct ast_node *base = ast_operand(node, 0), *index = ast_operand(node, 1);
	return node->kind == AST_SUBSCRIPT && is_integer(node->type) && base && base->kind == AST_REF && base->decl &&
	       base->decl->kind == AST_PARAM && loop_keeps(work->loop, base) && index && index->kind == AST_REF &&
	       index->decl == work->index;
}

/* An expression of elements and of values that stay: everything else is `other`. */
static void work_take(struct work *work, struct ast_node *node)
{
	long long value;
	node = ast_strip_casts(node);
	if (!node || work->other)
		return;
	if (is_element(work, node)) {
		work->elements = true;
	} else if (node->kind == AST_BINARY && is_vector_operator(node->op)) {
		work->operations++;
		work_take(work, ast_child(node, 0));
		work_take(work, ast_child(node, 1));
	} else if (node->kind == AST_UNARY && (node->op == OP_NOT || node->op == OP_MINUS)) {
		work->operations++;
		work_take(work, ast_child(node, 0));
	} else if (!node_constant(node, &value) && !(node->kind == AST_REF && is_integer(node->type) && loop_keeps(work->loop, node))) {
		work->other = true;
	}
}

/* `to[i] = …`, `to[i] ^= …`, `sum += …` with nothing of a step before in it. */
static void statement_take(struct work *work, struct ast_node *statement)
{
	struct ast_node *node = ast_strip(statement), *left = node ? ast_operand(node, 0) : NULL;
	bool compound = node && node->kind == AST_COMPOUND_ASSIGN;
	if (!left || (!compound && node->kind != AST_ASSIGN) || (compound && !is_vector_operator(node->op))) {
		work->other = true;
		return;
	}
	bool sum = compound && left->kind == AST_REF && !left->is_global && is_integer(left->type) &&
	           (node->op == OP_ADD || node->op == OP_XOR || node->op == OP_OR || node->op == OP_AND);
	if (!sum && !is_element(work, left))
		work->other = true;
	work->stores |= !sum;
	work->elements |= compound && !sum; /* what stands there is read */
	work->operations += compound;
	work_take(work, ast_child(node, 1));
}

struct hot_look {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
};

/* The only loop of a function, over any number of elements. */
static void hot_loop(struct loop *loop, void *context)
{
	struct hot_look *look = context;
	struct ast_node *condition = ast_strip_casts(loop->node->condition);
	struct ast_node *counter = ast_operand(condition, 0), *limit = ast_operand(condition, 1);
	struct ast_node *body = loop->node->body, *step = loop->node->increment;
	if (loop->node->kind != AST_FOR || loop->calls.count || loop->has_barrier || loop->has_inner_loop || loop->has_branch || !body ||
	    !condition || condition->kind != AST_BINARY || condition->op != OP_LT || !counter || counter->kind != AST_REF || !limit ||
	    limit->kind != AST_REF || limit->has_value || !loop_keeps(loop, limit) || !step || !node_is_increment(step) ||
	    !path_equal(ast_child(step, 0), counter))
		return;
	struct work work = {.loop = loop, .index = counter->decl};
	if (body->kind != AST_COMPOUND)
		statement_take(&work, body);
	for (size_t i = 0; body->kind == AST_COMPOUND && i < body->children.count; i++)
		statement_take(&work, body->children.at[i]);
	if (work.other || !work.elements || !work.operations || !takes_clones(look->unit, loop->function))
		return;
	/* The total of a list, one addition for each element that is read: worth a look only where something repeats it. */
	enum heat heat = loop_heat(loop);
	if (heat == HEAT_COLD || (heat == HEAT_ONCE && !work.stores && work.operations == 1))
		return;
	struct fact *fact = fact_add(look->sink, look->unit, &pattern_p05, "hot", "", &loop->node->range, loop->function->name);
	fact->offset = loop->function->range.offset;
}

/* The plain one of several implementations, or what must take the same time for all data. */
static bool is_plain_variant(const char *name)
{
	static const char *const words[] = {"generic", "scalar", "plain", "portable", "fallback", "ref", "reference", "basic", "ct",
	                                    "init", "test", "time", "timing", "constant", "secure", "verify", "memzero", "cleanse",
	                                    "consttime", NULL};
	return name_has_any_word(name, words) || name_has_extension(name);
}

static void hot_loops_look(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct hot_look look = {unit, sink};
	struct arena arena;
	if (command->guessed || names_processor(command) || command_has_isa(command, ISA_AVX2) || !command_vectorises(command) ||
	    command_is_kernel(command))
		return;
	arena_init(&arena);
	loops_visit(unit, &arena, hot_loop, &look);
	arena_release(&arena);
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	branches_look(unit, command, sink);
	struct asking asking = {.unit = unit, .sink = sink};
	for (size_t i = 0; i < unit->top.count; i++) {
		struct ast_node *node = unit->top.at[i];
		if (node->kind == AST_VAR)
			table_look(unit, node, sink);
		variant_look(unit, node, sink);
		if (node->kind != AST_FUNCTION || !node->is_definition || !node->range.in_tree)
			continue;
		asking.function = node;
		asking.asked_here = asking.assigns = asking.returns_function = false;
		ast_walk(node, ask, &asking);
		if (asking.asked_here && (asking.assigns || asking.returns_function))
			fact_add(sink, unit, &pattern_p05, "chooser", "", &node->range, node->name);
		const char *target = declared_target(unit, node);
		if (target)
			fact_add(sink, unit, &pattern_p05, "target", target, &node->range, node->name);
	}
	hot_loops_look(unit, command, sink);
	size_t size = 0;
	const char *text = ast_file_text(unit, unit->main_file, &size);
	if (asking.asks || (text && (memmem(text, size, "target_clones", 13) || memmem(text, size, "ifunc", 5))))
		fact_add(sink, unit, &pattern_p05, "asks", "", NULL, NULL);
}

/* ---- the project --------------------------------------------------------------------------------------------------- */

struct whole {
	const struct project_view *view;
	struct pattern_sink *sink;
	bool asks;
};

static const struct fact *next_fact(const struct project_view *view, size_t *unit, size_t *index, const char *name)
{
	for (; *unit < view->unit_count; (*unit)++, *index = 0)
		while (*index < view->units[*unit].facts.count) {
			const struct fact *fact = &view->units[*unit].facts.at[(*index)++];
			if (strcmp(fact->name, name) == 0)
				return fact;
		}
	return NULL;
}

#define EACH_FACT(view, fact, wanted)                                                                                  \
	for (size_t unit_ = 0, index_ = 0, once_ = 1; once_; once_ = 0)                                                    \
		for (const struct fact *fact; (fact = next_fact((view), &unit_, &index_, (wanted))) != NULL;)

static bool file_chooses(const struct project_view *view, const char *file)
{
	static const char *const kinds[] = {"table", "if", "chooser"};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		EACH_FACT(view, fact, kinds[i])
			if (text_equal(fact->file, file))
				return true;
	return false;
}

static bool is_taken(const struct project_view *view, const struct fact *dead)
{
	EACH_FACT(view, fact, "taken")
		if (text_equal(fact->file, dead->file) && fact->line == dead->line)
			return true;
	return false;
}

static bool is_reported(const struct pattern_sink *sink, size_t from, const char *file, unsigned line)
{
	for (size_t i = from; i < sink->findings.count; i++)
		if (text_equal(sink->findings.at[i]->file, file) && (!line || sink->findings.at[i]->line == line))
			return true;
	return false;
}

/* One finding for each function, or file; the widest branch comes first. */
static void dead_report(struct whole *whole, size_t from)
{
	struct arena *arena = whole->sink->arena;
	for (size_t i = 0; i < whole->view->unit_count; i++) {
		const struct project_unit *unit = &whole->view->units[i];
		for (size_t k = 0; k < unit->facts.count; k++) {
			const struct fact *fact = &unit->facts.at[k];
			if (strcmp(fact->name, "dead") != 0 || !fact->file || is_taken(whole->view, fact) ||
			    file_chooses(whole->view, fact->file))
				continue;
			bool known = false;
			for (size_t n = from; n < whole->sink->findings.count; n++) {
				struct finding *other = whole->sink->findings.at[n];
				if (!text_equal(other->file, fact->file) || other->kind != FINDING_ANTIPATTERN)
					continue;
				if (other->line == fact->line || text_equal(other->symbol, fact->symbol))
					known = true;
			}
			if (known)
				continue;
			char extension[32] = "", loop[16] = "", clones[16] = "";
			if (sscanf(fact->value, "%31s %15s %15s", extension, loop, clones) != 3)
				continue;
			bool guessed = unit->command->guessed;
			struct finding *finding = finding_new_at(
			    whole->sink, &pattern_p05, fact->file, fact->line, fact->column, fact->symbol,
			    guessed || strcmp(loop, "loop") != 0 ? SEVERITY_LOW : SEVERITY_MEDIUM,
			    arena_printf(arena, "the code for %s is compiled by no command: the flags give the baseline, and nothing asks "
			                 "the processor at run time", extension));
			finding->evidence = arena_printf(arena, "left out in %s%s", unit->files.count ? unit->files.at[0] : fact->file,
			                                 guessed ? ", whose flags are guessed" : "");
			if (strcmp(clones, "clones") != 0)
				continue;
			finding_edit(whole->sink, finding, fact->offset, 0,
			             arena_printf(arena, "__attribute__((target_clones(\"%s\", \"default\")))\n", extension));
			finding->contract = "the platform has ifunc (glibc, not musl or a static start-up); the compiler's own code for the "
			                    "extension is taken, not the one written here";
		}
	}
}

static void target_report(struct whole *whole, size_t from)
{
	struct arena *arena = whole->sink->arena;
	if (whole->asks || !whole->view->whole)
		return;
	EACH_FACT(whole->view, fact, "target") {
		if (!fact->file || is_reported(whole->sink, from, fact->file, fact->line))
			continue;
		struct finding *finding =
		    finding_new_at(whole->sink, &pattern_p05, fact->file, fact->line, fact->column, fact->symbol, SEVERITY_MEDIUM,
		                   arena_printf(arena, "%s() is for %s, and nothing in the project asks the processor whether it has it",
		                                fact->symbol ? fact->symbol : "a function", fact->value));
		finding->evidence = "no call of __builtin_cpu_supports, cpuid or getauxval, no ifunc, no target_clones in any unit";
	}
}

static struct finding *guard_new(struct whole *whole, const struct fact *fact, const char *message)
{
	struct finding *finding = finding_new_at(whole->sink, &pattern_p05, fact->file, fact->line, fact->column, fact->symbol,
	                                         SEVERITY_LOW, message);
	finding->kind = FINDING_GUARD;
	return finding;
}

static void tables_report(struct whole *whole, size_t from)
{
	struct arena *arena = whole->sink->arena;
	for (size_t i = 0; whole->asks && i < whole->view->unit_count; i++) {
		const struct fact_list *facts = &whole->view->units[i].facts;
		for (size_t k = 0; k < facts->count; k++) {
			const struct fact *table = &facts->at[k];
			if (strcmp(table->name, "table") != 0 || !table->file || is_reported(whole->sink, from, table->file, table->line))
				continue;
			struct finding *finding =
			    guard_new(whole, table, arena_printf(arena, "the implementation is chosen at run time, from the table `%s`",
			                                         table->symbol ? table->symbol : "…"));
			finding->evidence = arena_printf(arena, "it holds %s", table->value);
			for (size_t e = k + 1; e < facts->count; e++) {
				const struct fact *entry = &facts->at[e];
				if (strcmp(entry->name, "entry") == 0 && text_equal(entry->file, table->file) && entry->line == table->line)
					finding_edit(whole->sink, finding, entry->offset, entry->length, "");
			}
			if (finding->edits.count)
				finding->evidence = arena_printf(arena, "%s; the candidate takes the practice away: only the plain implementation "
				                                 "is left to choose", finding->evidence);
		}
	}
}

/* One for each file, with all of its questions. */
static void ifs_report(struct whole *whole, size_t from)
{
	struct arena *arena = whole->sink->arena;
	for (size_t i = 0; whole->asks && i < whole->view->unit_count; i++) {
		const struct fact_list *facts = &whole->view->units[i].facts;
		for (size_t k = 0; k < facts->count; k++) {
			const struct fact *first = &facts->at[k];
			if (strcmp(first->name, "if") != 0 || !first->file || is_reported(whole->sink, from, first->file, 0))
				continue;
			struct finding *finding =
			    guard_new(whole, first, arena_printf(arena, "%s() is called where the processor has what it needs", first->value));
			unsigned count = 0, editable = 0;
			for (size_t e = k; e < facts->count; e++) {
				const struct fact *other = &facts->at[e];
				if (strcmp(other->name, "if") != 0 || !text_equal(other->file, first->file))
					continue;
				count++;
				editable += other->length > 0;
			}
			finding->evidence = arena_printf(arena, "%u such question%s in the file", count, count == 1 ? "" : "s");
			for (size_t e = k; editable == count && e < facts->count; e++) {
				const struct fact *other = &facts->at[e];
				if (strcmp(other->name, "if") != 0 || !text_equal(other->file, first->file))
					continue;
				finding_edit(whole->sink, finding, other->offset, 0, "0 && (");
				finding_edit(whole->sink, finding, other->offset + other->length, 0, ")");
			}
			if (finding->edits.count)
				finding->evidence = arena_printf(arena, "%s; the candidate takes the practice away: only the plain implementation "
				                                 "is left", finding->evidence);
		}
	}
}

/* The widest of a table's own variants with this stem; 0: none. */
static unsigned table_rank(const char *names, const char *stem)
{
	unsigned widest = 0;
	char name[128], own[128];
	for (const char *at = names; *at; at += strspn(at, ", ")) {
		size_t size = strcspn(at, ", ");
		snprintf(name, sizeof name, "%.*s", (int)size, at);
		at += size;
		unsigned rank = variant_rank(name, own, sizeof own);
		if (rank > widest && strcmp(own, stem) == 0)
			widest = rank;
	}
	return widest;
}

static bool is_named_in_a_table(const struct project_view *view, const char *name)
{
	EACH_FACT(view, fact, "table text")
		if (strstr(fact->value, name))
			return true;
	return false;
}

/* A variant that is wider than all that the table of its like holds, and is in no table. */
static void lacking_report(struct whole *whole, size_t from)
{
	struct arena *arena = whole->sink->arena;
	EACH_FACT(whole->view, fact, "variant") {
		char stem[128];
		unsigned rank = variant_rank(fact->value, stem, sizeof stem);
		if (!fact->file || is_reported(whole->sink, from, fact->file, fact->line) || is_named_in_a_table(whole->view, fact->value))
			continue;
		for (size_t i = 0; i < whole->view->unit_count; i++) {
			const struct fact_list *facts = &whole->view->units[i].facts;
			for (size_t k = 0; k < facts->count; k++) {
				const struct fact *table = &facts->at[k];
				unsigned widest = strcmp(table->name, "table") == 0 ? table_rank(table->value, stem) : 0;
				if (!widest || widest >= rank || is_reported(whole->sink, from, fact->file, fact->line))
					continue;
				struct finding *finding = finding_new_at(
				    whole->sink, &pattern_p05, fact->file, fact->line, fact->column, fact->symbol, SEVERITY_MEDIUM,
				    arena_printf(arena, "`%s` is in no table, while `%s` chooses among narrower ones of its kind", fact->value,
				                 table->symbol ? table->symbol : "…"));
				finding->evidence = arena_printf(arena, "the table at %s:%u holds %s; advice: add it there, with its question to the "
				                                 "processor", table->file ? table->file : "?", table->line, table->value);
			}
		}
	}
}

static bool function_is_reported(const struct pattern_sink *sink, size_t from, const char *file, const char *symbol)
{
	for (size_t i = from; i < sink->findings.count; i++)
		if (text_equal(sink->findings.at[i]->file, file) && text_equal(sink->findings.at[i]->symbol, symbol))
			return true;
	return false;
}

static void hot_report(struct whole *whole, size_t from)
{
	EACH_FACT(whole->view, fact, "hot") {
		if (!fact->file || is_plain_variant(fact->symbol) || file_chooses(whole->view, fact->file) ||
		    function_is_reported(whole->sink, from, fact->file, fact->symbol))
			continue;
		struct finding *finding =
		    finding_new_at(whole->sink, &pattern_p05, fact->file, fact->line, fact->column, fact->symbol, SEVERITY_LOW,
		                   "the loop becomes vector code for the baseline: 16 bytes at a time, also where the processor takes 32");
		finding->claim = "at most 2 times, where the data are in cache and the loop is long; nothing where memory is the limit";
		finding->evidence = "the command names no processor and no extension, and the optimiser turns such loops into vector code";
		finding->contract = "the platform has ifunc (glibc, not musl or a static start-up)";
		finding_edit(whole->sink, finding, fact->offset, 0, "__attribute__((target_clones(\"avx2\", \"default\")))\n");
	}
}

static void detect_project(const struct project_view *view, struct pattern_sink *sink)
{
	struct whole whole = {.view = view, .sink = sink};
	size_t from = sink->findings.count;
	EACH_FACT(view, fact, "asks")
		whole.asks = whole.asks || fact != NULL;
	tables_report(&whole, from);
	ifs_report(&whole, from);
	EACH_FACT(view, fact, "chooser")
		if (fact->file && !is_reported(sink, from, fact->file, 0))
			guard_new(&whole, fact, arena_printf(sink->arena, "%s() chooses the implementation by what the processor has",
			                                     fact->symbol ? fact->symbol : "a function"));
	dead_report(&whole, from);
	lacking_report(&whole, from);
	hot_report(&whole, from);
	target_report(&whole, from);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

struct state {
	uint64_t *words, total;
	size_t count;
};

static uint64_t count_bits(const uint64_t *words, size_t count)
{
	uint64_t total = 0;
#ifdef __AVX2__ // finds
	const __m256i low = _mm256_set1_epi8(15), table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
	                                                                   0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
	__m256i sum = _mm256_setzero_si256();
	size_t i = 0;
	for (; i + 4 <= count; i += 4) {
		__m256i in = _mm256_loadu_si256((const __m256i *)(words + i));
		__m256i bits = _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(in, low)),
		                               _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(in, 4), low)));
		sum = _mm256_add_epi64(sum, _mm256_sad_epu8(bits, _mm256_setzero_si256()));
	}
	total = (uint64_t)_mm256_extract_epi64(sum, 0) + (uint64_t)_mm256_extract_epi64(sum, 1) +
	        (uint64_t)_mm256_extract_epi64(sum, 2) + (uint64_t)_mm256_extract_epi64(sum, 3);
	for (; i < count; i++)
		total += (uint64_t)__builtin_popcountll(words[i]);
#else
	for (size_t i = 0; i < count; i++)
		total += (uint64_t)__builtin_popcountll(words[i]);
#endif
	return total;
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "words", 2048);
	s->words = malloc(s->count * sizeof *s->words);
	assay_fill_random(b, s->words, s->count * sizeof *s->words);
	assay_bytes_per_iteration(b, s->count * sizeof *s->words);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->total = count_bits(s->words, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "bits", &s->total, sizeof s->total);
}

static void edges(void *state, struct assay_bench *b)
{
	(void)state;
	static const uint64_t words[9] = {0, 1, UINT64_MAX, 1ull << 63, 0x5555555555555555, 7, 0, 8, 255};
	for (size_t count = 0; count <= 9; count++) {
		uint64_t bits = count_bits(words + 9 - count, count);
		assay_output(b, "bits of the last words", &bits, sizeof bits);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

struct state {
	uint64_t *words, total;
	size_t count;
};

__attribute__((target_clones("avx2", "default")))
static uint64_t count_bits(const uint64_t *words, size_t count)
{
	uint64_t total = 0;
#ifdef __AVX2__ // finds
	const __m256i low = _mm256_set1_epi8(15), table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
	                                                                   0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
	__m256i sum = _mm256_setzero_si256();
	size_t i = 0;
	for (; i + 4 <= count; i += 4) {
		__m256i in = _mm256_loadu_si256((const __m256i *)(words + i));
		__m256i bits = _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(in, low)),
		                               _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(in, 4), low)));
		sum = _mm256_add_epi64(sum, _mm256_sad_epu8(bits, _mm256_setzero_si256()));
	}
	total = (uint64_t)_mm256_extract_epi64(sum, 0) + (uint64_t)_mm256_extract_epi64(sum, 1) +
	        (uint64_t)_mm256_extract_epi64(sum, 2) + (uint64_t)_mm256_extract_epi64(sum, 3);
	for (; i < count; i++)
		total += (uint64_t)__builtin_popcountll(words[i]);
#else
	for (size_t i = 0; i < count; i++)
		total += (uint64_t)__builtin_popcountll(words[i]);
#endif
	return total;
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "words", 2048);
	s->words = malloc(s->count * sizeof *s->words);
	assay_fill_random(b, s->words, s->count * sizeof *s->words);
	assay_bytes_per_iteration(b, s->count * sizeof *s->words);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->total = count_bits(s->words, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "bits", &s->total, sizeof s->total);
}

static void edges(void *state, struct assay_bench *b)
{
	(void)state;
	static const uint64_t words[9] = {0, 1, UINT64_MAX, 1ull << 63, 0x5555555555555555, 7, 0, 8, 255};
	for (size_t count = 0; count <= 9; count++) {
		uint64_t bits = count_bits(words + 9 - count, count);
		assay_output(b, "bits of the last words", &bits, sizeof bits);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
// refuted by measuring
#include <assay/bench.h>
#include <stdlib.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { WORDS = 3, KEYS = 64, ROUNDS = 1024 };

struct state {
	uint64_t keys[KEYS][WORDS], pad[WORDS], digest;
};

/* A key of 24 bytes: the call costs as much as the work. */
static void mask_key(uint64_t *key, const uint64_t *pad, size_t count)
{
#ifdef __AVX2__
	for (; count >= 4; count -= 4, key += 4, pad += 4)
		_mm256_storeu_si256((__m256i *)key, _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)key),
		                                                     _mm256_loadu_si256((const __m256i *)pad)));
#endif
	for (size_t i = 0; i < count; i++)
		key[i] ^= pad[i];
}

static uint64_t digest_of(const uint64_t *key)
{
	uint64_t digest = key[0] ^ key[1] ^ key[2];
	for (size_t i = 0; i < ROUNDS; i++)
		digest = (digest ^ digest >> 29) * 0xbf58476d1ce4e5b9u;
	return digest;
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	assay_fill_random(b, s->keys, sizeof s->keys);
	assay_fill_random(b, s->pad, sizeof s->pad);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		uint64_t digest = 0;
		for (size_t k = 0; k < KEYS; k++) {
			mask_key(s->keys[k], s->pad, WORDS);
			digest ^= digest_of(s->keys[k]);
			mask_key(s->keys[k], s->pad, WORDS);
		}
		s->digest = digest;
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "digest", &s->digest, sizeof s->digest);
}

static void edges(void *state, struct assay_bench *b)
{
	(void)state;
	static const uint64_t pad[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	for (size_t count = 0; count <= 9; count++) {
		uint64_t key[9] = {0};
		mask_key(key, pad, count);
		assay_output(b, "masked", key, sizeof key);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also advice only, with floats or in a file of its own */
#if defined(__x86_64__) && defined(__AVX__) && !defined(DOT_PLAIN) // finds
#include <immintrin.h>
float dot(const float *a, const float *b, int n)
{
	__m256 sum = _mm256_setzero_ps();
	for (int i = 0; i + 8 <= n; i += 8)
		sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)));
	return _mm256_cvtss_f32(sum);
}
#else
float dot(const float *a, const float *b, int n)
{
	float sum = 0;
	for (int i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}
#endif
#endif

#if 0 /* assay example: also a target that nothing asks for */
#include <stdint.h>
__attribute__((target("avx2"))) uint64_t sum_avx2(const uint64_t *from, int n) // finds
{
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += from[i];
	return sum;
}
#endif

#if 0 /* assay example: also a guard, a table */
#include <stdbool.h>
#include <stdint.h>
struct ops {
	uint64_t (*sum)(const uint64_t *from, int n);
	bool (*usable)(void);
};
static uint64_t sum_plain(const uint64_t *from, int n)
{
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += from[i];
	return sum;
}
__attribute__((target("avx2"))) static uint64_t sum_avx2(const uint64_t *from, int n)
{
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += from[i];
	return sum;
}
static bool always(void)
{
	return true;
}
static bool have_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}
const struct ops plain_ops = {sum_plain, always}, avx2_ops = {sum_avx2, have_avx2};
static const struct ops *const all_ops[] = { // finds
	&plain_ops,
	&avx2_ops,
};
uint64_t sum(const uint64_t *from, int n)
{
	int last = sizeof all_ops / sizeof *all_ops - 1;
	while (!all_ops[last]->usable())
		last--;
	return all_ops[last]->sum(from, n);
}
#endif

#if 0 /* assay example: also a guard, a table fixed */
#include <stdbool.h>
#include <stdint.h>
struct ops {
	uint64_t (*sum)(const uint64_t *from, int n);
	bool (*usable)(void);
};
static uint64_t sum_plain(const uint64_t *from, int n)
{
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += from[i];
	return sum;
}
__attribute__((target("avx2"))) static uint64_t sum_avx2(const uint64_t *from, int n)
{
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += from[i];
	return sum;
}
static bool always(void)
{
	return true;
}
static bool have_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}
const struct ops plain_ops = {sum_plain, always}, avx2_ops = {sum_avx2, have_avx2};
static const struct ops *const all_ops[] = { // finds
	&plain_ops,
	
};
uint64_t sum(const uint64_t *from, int n)
{
	int last = sizeof all_ops / sizeof *all_ops - 1;
	while (!all_ops[last]->usable())
		last--;
	return all_ops[last]->sum(from, n);
}
#endif

#if 0 /* assay example: also a guard, a question before the call */
#include <stdint.h>
static uint64_t sum_body(const uint64_t *from, int n)
{
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += from[i];
	return sum;
}
__attribute__((target("avx2"))) static uint64_t sum_avx2(const uint64_t *from, int n)
{
	return sum_body(from, n);
}
uint64_t sum(const uint64_t *from, int n)
{
	if (__builtin_cpu_supports("avx2")) // finds
		return sum_avx2(from, n);
	return sum_body(from, n);
}
#endif

#if 0 /* assay example: also a guard, a question before the call fixed */
#include <stdint.h>
static uint64_t sum_body(const uint64_t *from, int n)
{
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += from[i];
	return sum;
}
__attribute__((target("avx2"))) static uint64_t sum_avx2(const uint64_t *from, int n)
{
	return sum_body(from, n);
}
uint64_t sum(const uint64_t *from, int n)
{
	if (0 && (__builtin_cpu_supports("avx2"))) // finds
		return sum_avx2(from, n);
	return sum_body(from, n);
}
#endif

#if 0 /* assay example: lookalike built for one host */
// flags: -O2 -msse4.2
#include <stdint.h>
#ifdef __AVX2__
#include <immintrin.h>
void clear(uint8_t *to)
{
	for (int i = 0; i < 4; i++)
		_mm256_storeu_si256((__m256i *)to + i, _mm256_setzero_si256());
}
#endif
uint64_t last(const uint64_t *from, int n)
{
	return from[n - 1];
}
#endif

#if 0 /* assay example: lookalike left out for another reason, or without code */
#include <stdint.h>
#ifdef __AVX2__
#include <immintrin.h>
#define WIDTH 32
#else
#define WIDTH 8
#endif
#if defined(__AVX2__) && defined(HAVE_WIDE_STORES)
void clear(uint8_t *to)
{
	for (int i = 0; i < 4; i++)
		_mm256_storeu_si256((__m256i *)to + i, _mm256_setzero_si256());
}
#endif
#if !defined(__AVX2__)
uint64_t last(const uint64_t *from, int n)
{
	return from[n - WIDTH];
}
#endif
#endif

#if 0 /* assay example: lookalike a wider one was taken */
// flags: -O2
#include <emmintrin.h>
#include <stdint.h>
#if defined(__SSE2__)
void clear(uint8_t *to)
{
	for (int i = 0; i < 4; i++)
		_mm_storeu_si128((__m128i *)to + i, _mm_setzero_si128());
}
#elif defined(__ARM_NEON)
void clear(uint8_t *to)
{
	for (int i = 0; i < 64; i++)
		to[i] = 0;
}
#endif
static const char *const assertions[] = {"passed", "asset"};
const char *assertion(int i)
{
	return assertions[i];
}
#endif

#if 0 /* assay example: also vector code for the baseline */
// flags: -O3
#include <assay/bench.h>
#include <stdlib.h>

struct state {
	uint32_t *values, total;
	size_t count;
};

static void blend(uint32_t *to, const uint32_t *from, uint32_t share, size_t count)
{
	for (size_t i = 0; i < count; i++) // finds
		to[i] = to[i] * share + (from[i] >> 3);
}

uint32_t sum_of(const uint32_t *values, size_t count)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < count; i++) { // finds
		sum += values[i] ^ 0x55;
	}
	return sum;
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "count", 2048);
	s->values = malloc(s->count * 2 * sizeof *s->values);
	assay_fill_random(b, s->values, s->count * 2 * sizeof *s->values);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		blend(s->values, s->values + s->count, 3, s->count);
		s->total = sum_of(s->values, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint32_t total = sum_of(s->values, s->count);
	assay_output(b, "total", &total, sizeof total);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 20; count++) {
		blend(s->values, s->values + 1, 5, count);
		uint32_t total = sum_of(s->values, count);
		assay_output(b, "total of a few", &total, sizeof total);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also vector code for the baseline fixed */
// flags: -O3
#include <assay/bench.h>
#include <stdlib.h>

struct state {
	uint32_t *values, total;
	size_t count;
};

__attribute__((target_clones("avx2", "default")))
static void blend(uint32_t *to, const uint32_t *from, uint32_t share, size_t count)
{
	for (size_t i = 0; i < count; i++) // finds
		to[i] = to[i] * share + (from[i] >> 3);
}

__attribute__((target_clones("avx2", "default")))
uint32_t sum_of(const uint32_t *values, size_t count)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < count; i++) { // finds
		sum += values[i] ^ 0x55;
	}
	return sum;
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = assay_param_u64(b, "count", 2048);
	s->values = malloc(s->count * 2 * sizeof *s->values);
	assay_fill_random(b, s->values, s->count * 2 * sizeof *s->values);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		blend(s->values, s->values + s->count, 3, s->count);
		s->total = sum_of(s->values, s->count);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint32_t total = sum_of(s->values, s->count);
	assay_output(b, "total", &total, sizeof total);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 20; count++) {
		blend(s->values, s->values + 1, 5, count);
		uint32_t total = sum_of(s->values, count);
		assay_output(b, "total of a few", &total, sizeof total);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: lookalike the same, built for a processor that has it */
// flags: -O3 -march=native
#include <stddef.h>
#include <stdint.h>
void mask(uint32_t *to, uint32_t mask, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] ^= mask;
}
#endif

#if 0 /* assay example: lookalike the same where the optimiser makes no vector code of it */
// flags: -O2
#include <stddef.h>
#include <stdint.h>
void mask(uint32_t *to, uint32_t mask, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] ^= mask;
}
#endif

#if 0 /* assay example: lookalike loops that are no vector code, or are a helper's */
// flags: -O3
#include <stddef.h>
#include <stdint.h>
uint32_t hash(const uint8_t *bytes, size_t count)
{
	uint32_t hash = 5381;
	for (size_t i = 0; i < count; i++)
		hash = hash * 33 + bytes[i];
	return hash;
}
static inline void small(uint32_t *to, uint32_t mask, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] ^= mask;
}
void fixed(uint32_t *to, uint32_t mask)
{
	for (size_t i = 0; i < 16; i++)
		to[i] ^= mask;
	small(to, mask, 3);
}
void copy(uint32_t *to, const uint32_t *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = from[i];
}
void scatter(uint32_t *to, const uint32_t *from, const uint32_t *places, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[places[i]] += from[i];
}
void mask_generic(uint32_t *to, uint32_t mask, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] ^= mask;
}
int equal_in_constant_time(const char *a, const char *b, size_t count)
{
	int different = 0;
	for (size_t i = 0; i < count; i++)
		different |= a[i] ^ b[i];
	return !different;
}
#endif

#if 0 /* assay example: also a table that lacks the widest variant */
struct ops {
	void (*run)(int *);
	int (*usable)(void);
};
static void plain_run(int *x)
{
	*x += 1;
}
static int usable(void)
{
	return 1;
}
const struct ops sum_generic_ops = {plain_run, usable};
const struct ops sum_sse2_ops = {plain_run, usable};
const struct ops sum_avx2_ops = {plain_run, usable};
const struct ops sum_avx512f_ops = {plain_run, usable}; // finds
const struct ops mul_avx512f_ops = {plain_run, usable}; /* of another kind */
const struct ops *const implementations[] = {&sum_generic_ops, &sum_sse2_ops, &sum_avx2_ops};
#endif

#if 0 /* assay example: lookalike a table that holds the widest, where the build has it */
struct ops {
	void (*run)(int *);
};
static void plain_run(int *x)
{
	*x += 1;
}
const struct ops sum_generic_ops = {plain_run};
const struct ops sum_sse2_ops = {plain_run};
const struct ops sum_avx2_ops = {plain_run};
const struct ops sum_avx512f_ops = {plain_run};
const struct ops *const implementations[] = {
	&sum_generic_ops,
	&sum_sse2_ops,
	&sum_avx2_ops,
#ifdef HAVE_AVX512F
	&sum_avx512f_ops,
#endif
};
#endif

#if 0 /* assay example: lookalike the total of a list, taken once */
// flags: -O3
#include <stddef.h>
static size_t total(const size_t *sizes, unsigned count)
{
	size_t sum = 0;
	for (unsigned i = 0; i < count; i++)
		sum += sizes[i];
	return sum;
}
size_t room(const size_t *sizes, unsigned count, unsigned more)
{
	return total(sizes, count) + more;
}
#endif
