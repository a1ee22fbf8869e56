/* S12 interposable-helper: gcc with -fPIC calls a small function of the same file through the symbol table.
 *
 * In an ELF shared library another object may replace every symbol of default visibility that is not static: a program's
 * own definition, or one that LD_PRELOAD brings, comes first. gcc keeps that promise inside of the library as well
 * (-fsemantic-interposition, its default): what is compiled with -fPIC can't take such a function into its callers and
 * calls it by the procedure linkage table. clang does not and takes it in, so the compile command decides.
 *
 * Reported are functions so small that the call costs more than what they do, called in every iteration of an innermost
 * loop that does little else. Silent: static and inline functions, those of other visibility (attribute, pragma or flag),
 * whatever is not to be taken in anyway (noinline, weak, alias, ifunc, cold), -fPIE and -fno-semantic-interposition,
 * -O0 and -O1, functions that loop, call or branch at length, and loops that call others too.
 */
#include "patterns/twin.h"

#include "base/text.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

enum { HELPER_OPERATIONS = 16, LOOP_OPERATIONS = 32, FEW_ITERATIONS = 8 };

const struct pattern pattern_s12 = {
    .id = "S12",
    .slug = "interposable-helper",
    .title = "a small function that -fPIC keeps gcc from inlining",
    .tier = TIER_A,
    .what = "A function of a few operations, not static and of default visibility, that a loop of the same file calls in every "
            "iteration, compiled by gcc with -fPIC (not -fPIE, -fvisibility=hidden or -fno-semantic-interposition).",
    .why = "Another object may replace the symbol, and gcc keeps to that: the loop calls it through the procedure linkage table, "
           "saves registers around it, and can't be turned into vector code. clang takes the function in all the same.",
    .when_not = "Somebody replaces the function on purpose (a malloc wrapper, a mock of a test, LD_PRELOAD); the loop is rare; the "
                "library is built by clang.",
    .expected = "2.2x for a loop whose helper has three operations (gcc 12 -O2, catalogue's own measurement); nothing with clang, which "
                "makes the same code of both",
    .refuted_by = "Equal machine code: clang, or a function that gcc would not take in even if it could. Else time.",
    .sources = (const char *const[]){"GCC manual, chapter Optimize Options, -fsemantic-interposition",
                                     "Ulrich Drepper, How To Write Shared Libraries, 2011, sections 1.5.5 and 2.2",
                                     "System V Application Binary Interface, AMD64 Architecture Processor Supplement, section on "
                                     "the procedure linkage table",
                                     NULL},
    .detect = detect,
};

struct helper {
	struct ast_node *function;
	struct ast_node_list calls;  /* in loops, in order of the text */
	struct string_list callers;  /* names, each once */
	bool alone;                  /* in some loop that has no branch and does little beside */
};
LIST_OF(struct helper *, helper_list);

struct detection {
	const struct ast_unit *unit;
	const struct compile_command *command;
	struct pattern_sink *sink;
	struct arena *arena; /* for this unit */
	struct helper_list helpers;
};

/* ---- the compile command ------------------------------------------------------------------------------------------- */

static bool is_gcc(const char *compiler)
{
	static const char *const plain[] = {"cc", "c89", "c99", "c11", NULL};
	const char *name = path_base(compiler);
	if (strstr(name, "mingw"))
		return false; /* no ELF */
	for (size_t i = 0; plain[i]; i++)
		if (text_equal(name, plain[i]))
			return true;
	return name_has_word(name, "gcc") || text_ends(name, "-cc");
}

/* Whether gcc leaves functions of default visibility replaceable and would take small ones in otherwise. */
static bool command_interposes(const struct compile_command *command)
{
	static const char *const pic[] = {"-fPIC", "-fpic", NULL};
	static const char *const not_pic[] = {"-fPIE", "-fpie", "-fno-PIC", "-fno-pic", "-fno-PIE", "-fno-pie", NULL};
	const char *level = "";
	bool position_independent = false;
	if (command->argv.count == 0 || !is_gcc(command->argv.at[0]))
		return false;
	for (size_t i = 1; i < command->argv.count; i++) {
		const char *word = command->argv.at[i];
		for (size_t k = 0; pic[k]; k++)
			position_independent |= text_equal(word, pic[k]);
		for (size_t k = 0; not_pic[k]; k++)
			position_independent &= !text_equal(word, not_pic[k]);
		if (text_starts(word, "-O"))
			level = word + 2;
	}
	bool takes_in = text_equal(level, "2") || text_equal(level, "3") || text_equal(level, "s");
	return position_independent && takes_in && command_flag(command, "-fsemantic-interposition", "-fno-semantic-interposition", true) &&
	       !command_flag(command, "-fno-inline", "-finline", false);
}

/* ---- which functions ------------------------------------------------------------------------------------------------- */

struct weight {
	unsigned operations;
	bool heavy;
};

static bool weight_visit(struct ast_node *node, void *context)
{
	struct weight *weight = context;
	weight->operations += node->kind == AST_BINARY || node->kind == AST_ASSIGN || node->kind == AST_COMPOUND_ASSIGN ||
	                      node->kind == AST_SUBSCRIPT || node->kind == AST_MEMBER || node->kind == AST_IF ||
	                      node->kind == AST_CONDITIONAL || node_is_increment(node);
	/* A division takes as long as several calls. */
	weight->heavy |= ast_is_loop(node) || node->kind == AST_SWITCH || node->kind == AST_GOTO || node->kind == AST_LABEL ||
	                 node->kind == AST_ASM || node->kind == AST_ATOMIC || node->kind == AST_STMT_EXPR ||
	                 (node->op == OP_DIV && node->type && node->type->kind == TYPE_FLOAT);
	if (node->kind == AST_CALL) {
		const char *name = call_name(node);
		weight->heavy |= !name || !text_starts(name, "__builtin_");
	}
	if (node->type && (node->type->is_volatile || node->type->is_atomic))
		weight->heavy = true;
	return !weight->heavy;
}

/* A function so small that a call of it would cost more than what it does, whoever may call it. */
static bool is_light(struct ast_node *function)
{
	struct weight weight = {0};
	if (function->kind != AST_FUNCTION || !function->is_definition || !function->body)
		return false;
	ast_walk(function->body, weight_visit, &weight);
	return !weight.heavy && weight.operations <= HELPER_OPERATIONS;
}

/* Whether gcc leaves it replaceable, and would take it in if it were not for that. */
static bool is_interposable(const struct ast_unit *unit, const struct ast_node *function)
{
	static const char *const keep[] = {" noinline ", " weak ", " alias ", " ifunc ", " cold ", " naked ", " noipa ", " target ",
	                                   " target_clones ", " constructor ", " destructor ", " optimize ", " optnone ",
	                                   " always_inline ", " weakref ", " cpu_dispatch ", NULL};
	const char *type = function->type && function->type->spelling ? function->type->spelling : "...";
	if (!function->is_external || function->is_inline || function->is_hidden || !function->range.in_tree || strstr(type, "...") ||
	    !text_equal(function->range.file, unit->main_file) || text_equal(function->name, "main"))
		return false;
	for (size_t i = 0; function->attributes && keep[i]; i++)
		if (strstr(function->attributes, keep[i]))
			return false;
	return true;
}

static struct helper *helper_of(struct detection *detection, struct ast_node *function)
{
	for (size_t i = 0; i < detection->helpers.count; i++)
		if (detection->helpers.at[i]->function == function)
			return detection->helpers.at[i];
	struct helper *helper = arena_new(detection->arena, struct helper);
	helper->function = function;
	list_push(detection->arena, &detection->helpers, helper);
	return helper;
}

struct loop_calls {
	const struct loop *loop;
	struct detection *detection;
	struct ast_node_list found;
	bool others; /* that cost as much as the call at least */
};

static bool calls_visit(struct ast_node *node, void *context)
{
	struct loop_calls *calls = context;
	if (node->kind != AST_CALL)
		return true;
	const char *name = call_name(node);
	if (!node->decl || node->decl == calls->loop->function || !is_light(node->decl))
		calls->others |= !name || !text_starts(name, "__builtin_");
	else if (is_interposable(calls->detection->unit, node->decl) && loop_always(calls->loop, node))
		list_push(calls->detection->arena, &calls->found, node);
	return true;
}

static void detect_loop(struct loop *loop, void *context)
{
	struct detection *detection = context;
	long long bound = loop_bound(loop);
	if (loop->has_barrier || loop->has_inner_loop || (bound >= 0 && bound <= FEW_ITERATIONS) || loop_work(loop) > LOOP_OPERATIONS)
		return;
	struct loop_calls calls = {.loop = loop, .detection = detection};
	ast_walk(loop->node, calls_visit, &calls);
	if (calls.others || calls.found.count == 0 || loop_heat(loop) == HEAT_COLD)
		return;
	for (size_t i = 0; i < calls.found.count; i++) {
		struct helper *helper = helper_of(detection, calls.found.at[i]->decl);
		list_push(detection->arena, &helper->calls, calls.found.at[i]);
		helper->alone |= !loop->has_branch;
		bool known = false;
		for (size_t k = 0; k < helper->callers.count; k++)
			known |= text_equal(helper->callers.at[k], loop->function->name);
		if (!known)
			list_push(detection->arena, &helper->callers, loop->function->name);
	}
}

/* ---- the candidate --------------------------------------------------------------------------------------------------- */

/* The body under a name of its own that only this file has, the function as a call of it, and the loops' calls to it. */
static void put_candidate(struct detection *detection, const struct helper *helper, struct finding *finding)
{
	const struct ast_node *function = helper->function;
	struct arena *arena = detection->sink->arena;
	const char *name = arena_printf(arena, "%s_inline", function->name);
	struct twin twin;
	if (!file_lacks(detection->unit, function->range.file, name) || !twin_of(detection->unit, arena, function, &twin))
		return;
	for (size_t i = 0; i < helper->calls.count; i++) {
		const struct ast_range *callee = &helper->calls.at[i]->children.at[0]->range;
		const char *text = callee->file ? ast_text(detection->unit, callee) : NULL;
		if (text && !callee->in_macro && callee->offset >= twin.end && text_equal(text, function->name) &&
		    text_equal(callee->file, function->range.file))
			finding_edit(detection->sink, finding, callee->offset, callee->end_offset - callee->offset, name);
	}
	if (finding->edits.count)
		twin_put(detection->unit, detection->sink, finding, &twin,
		         arena_printf(arena, "static %s", inline_word(detection->command)), name);
}

static void report(struct detection *detection, const struct helper *helper)
{
	struct arena *arena = detection->sink->arena;
	const char *name = helper->function->name;
	const char *callers = helper->callers.count <= 3 ? text_join(arena, &helper->callers, ", ")
	                                                 : arena_printf(arena, "%zu functions", helper->callers.count);
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_s12, &helper->function->range, name,
	    helper->alone ? SEVERITY_MEDIUM : SEVERITY_LOW,
	    arena_printf(arena, "a loop of %s calls %s() in every iteration, and with -fPIC gcc can't take it in: another object may "
	                        "replace it",
	                 callers, name));
	put_candidate(detection, helper, finding);
	finding->contract = finding->edits.count
	                        ? arena_printf(arena, "nothing replaces %s() by another definition (LD_PRELOAD, a program's own): the "
	                                              "loops of this file would not call that any more",
	                                       name)
	                        : NULL;
	finding->evidence = arena_printf(
	    arena, "compiled with -fPIC by gcc, of default visibility, neither static nor inline%s",
	    finding->edits.count ? "; -fno-semantic-interposition or -fvisibility=hidden does it for all functions of a file"
	                         : "; advice: -fno-semantic-interposition, or hidden visibility if no other library needs it");
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	if (!command_interposes(command))
		return;
	struct arena arena;
	arena_init(&arena);
	struct detection detection = {.unit = unit, .command = command, .sink = sink, .arena = &arena};
	loops_visit(unit, &arena, detect_loop, &detection);
	for (size_t i = 0; i < detection.helpers.count; i++)
		report(&detection, detection.helpers.at[i]);
	arena_release(&arena);
}

#if 0 /* assay example: costs */
// flags: -O2 -fPIC
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 4096 };

/* What a library has in its interface and uses itself. */
/* finds */ uint32_t key_mix(uint32_t key)
{
	key ^= key >> 15;
	return key * 0x2c1b3c6du;
}

uint64_t keys_digest(const uint32_t *keys, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += key_mix(keys[i]);
	return sum;
}

struct state {
	uint32_t keys[COUNT];
	uint64_t digest;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (uint32_t i = 0; i < COUNT; i++)
		s->keys[i] = i * 2654435761u;
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->digest = keys_digest(s->keys, COUNT);
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
	struct state *s = state;
	for (size_t count = 0; count < 5; count++) {
		s->digest = keys_digest(s->keys + 1, count) + key_mix((uint32_t)count);
		output(s, b);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
// flags: -O2 -fPIC
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 4096 };

/* What a library has in its interface and uses itself. */
/* finds */ static inline uint32_t key_mix_inline(uint32_t key)
{
	key ^= key >> 15;
	return key * 0x2c1b3c6du;
}

uint32_t key_mix(uint32_t key)
{
	return key_mix_inline(key);
}

uint64_t keys_digest(const uint32_t *keys, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += key_mix_inline(keys[i]);
	return sum;
}

struct state {
	uint32_t keys[COUNT];
	uint64_t digest;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (uint32_t i = 0; i < COUNT; i++)
		s->keys[i] = i * 2654435761u;
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->digest = keys_digest(s->keys, COUNT);
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
	struct state *s = state;
	for (size_t count = 0; count < 5; count++) {
		s->digest = keys_digest(s->keys + 1, count) + key_mix((uint32_t)count);
		output(s, b);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
// flags: -O2 -fPIC
#include <assay/bench.h>
#include <stdlib.h>

enum { COUNT = 4096 };

/* Only this library calls it, and it says so: gcc takes it in. */
__attribute__((visibility("hidden"))) uint32_t key_mix(uint32_t key)
{
	key ^= key >> 15;
	return key * 0x2c1b3c6du;
}

uint64_t keys_digest(const uint32_t *keys, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += key_mix(keys[i]);
	return sum;
}

struct state {
	uint32_t keys[COUNT];
	uint64_t digest;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	(void)b;
	for (uint32_t i = 0; i < COUNT; i++)
		s->keys[i] = i * 2654435761u;
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		s->digest = keys_digest(s->keys, COUNT);
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "digest", &s->digest, sizeof s->digest);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also in other words */
// flags: -O3 -fpic -std=gnu90
#include <stddef.h>
struct cell {
	int kind;
	struct cell *next;
};
/* finds */ int cell_is_free(const struct cell *cell) { return cell->kind == 0; }
/* finds */ extern void cell_take(struct cell *cell, int kind)
{
    if (cell->kind == 0)
        cell->kind = kind;
}
int cells_free(const struct cell *cell)
{
	int count = 0;
	for (; cell; cell = cell->next)
		if (cell_is_free(cell))
			count++;
	return count;
}
void cells_take(struct cell *cells, size_t count)
{
	size_t i;
	for (i = 0; i < count; i++)
		cell_take(cells + i, 1);
}
#endif

#if 0 /* assay example: also in other words fixed */
// flags: -O3 -fpic -std=gnu90
#include <stddef.h>
struct cell {
	int kind;
	struct cell *next;
};
/* finds */ static inline int cell_is_free_inline(const struct cell *cell) { return cell->kind == 0; }

int cell_is_free(const struct cell *cell) { return cell_is_free_inline(cell); }
/* finds */ static inline void cell_take_inline(struct cell *cell, int kind)
{
    if (cell->kind == 0)
        cell->kind = kind;
}

extern void cell_take(struct cell *cell, int kind)
{
    cell_take_inline(cell, kind);
}
int cells_free(const struct cell *cell)
{
	int count = 0;
	for (; cell; cell = cell->next)
		if (cell_is_free_inline(cell))
			count++;
	return count;
}
void cells_take(struct cell *cells, size_t count)
{
	size_t i;
	for (i = 0; i < count; i++)
		cell_take_inline(cells + i, 1);
}
#endif

#if 0 /* assay example: also advice only */
// flags: -O2 -fPIC -Wno-old-style-definition
#include <stddef.h>
#define API __attribute__((visibility("default")))
int later(int x);
long sum_later(const int *a, size_t count)
{
	long sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += later(a[i]);
	return sum;
}
/* finds */ int later(int x)
{
	return x & 0xff;
}
/* finds */ API int exported(int x)
{
	return x ^ 1;
}
/* finds */ int old(x)
	int x;
{
	return x + 1;
}
long sum_others(const int *a, size_t count)
{
	long sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += exported(a[i]) + old(a[i]);
	return sum;
}
#endif

#if 0 /* assay example: lookalike a program, not a library */
// flags: -O2 -fPIC -fPIE
#include <stddef.h>
int low(int x) { return x & 0xff; }
long sum(const int *a, size_t count)
{
	long sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += low(a[i]);
	return sum;
}
#endif

#if 0 /* assay example: lookalike no interposition, by flag */
// flags: -O2 -fPIC -fno-semantic-interposition
#include <stddef.h>
int low(int x) { return x & 0xff; }
long sum(const int *a, size_t count)
{
	long sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += low(a[i]);
	return sum;
}
#endif

#if 0 /* assay example: lookalike hidden by flag */
// flags: -O2 -fPIC -fvisibility=hidden
#include <stddef.h>
int low(int x) { return x & 0xff; }
long sum(const int *a, size_t count)
{
	long sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += low(a[i]);
	return sum;
}
#endif

#if 0 /* assay example: lookalike not optimised */
// flags: -O1 -fPIC
#include <stddef.h>
int low(int x) { return x & 0xff; }
long sum(const int *a, size_t count)
{
	long sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += low(a[i]);
	return sum;
}
#endif

#if 0 /* assay example: lookalike taken in, or not to be */
// flags: -O2 -fPIC
#include <stddef.h>
#define NOINLINE __attribute__((noinline))
static int own(int x) { return x & 0xff; }
inline int declared(int x);
int declared(int x) { return x & 0xff; }
NOINLINE int kept(int x);
int kept(int x) { return x & 0xff; }
__attribute__((weak)) int replaced(int x) { return x & 0xff; }
#pragma GCC visibility push(hidden)
int within(int x) { return x & 0xff; }
#pragma GCC visibility pop
long sum(const int *a, size_t count)
{
	long sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += own(a[i]) + declared(a[i]) + kept(a[i]) + replaced(a[i]) + within(a[i]);
	return sum;
}
#endif

#if 0 /* assay example: lookalike the call is not what costs */
// flags: -O2 -fPIC
#include <stddef.h>
#include <stdio.h>
#include <string.h>
struct row {
	char text[64];
	int kind;
};
size_t length_of(const struct row *row) { return strlen(row->text); }
int kind_of(const struct row *row) { return row->kind; }
int weight_of(const struct row *row)
{
	int sum = 0;
	for (int i = 0; i < 64; i++)
		sum += row->text[i];
	return sum;
}
/* Other calls stand beside it, it is rarely called, or the loop is short. */
long table(const struct row *rows, size_t count)
{
	long sum = 0;
	for (size_t i = 0; i < count; i++) {
		sum += weight_of(rows + i);
		sum += (long)length_of(rows + i);
	}
	for (size_t i = 0; i < count; i++)
		printf("%s %d\n", rows[i].text, kind_of(rows + i));
	for (size_t i = 0; i < count; i++)
		if (!rows[i].text[0])
			sum -= kind_of(rows + i);
	for (int i = 0; i < 4; i++)
		sum += kind_of(rows + i);
	return sum + kind_of(rows);
}
void table_print(const struct row *rows, size_t count, int *kinds)
{
	for (size_t i = 0; i < count; i++)
		kinds[i] = kind_of(rows + i);
}
#endif
