/* R02 xor-swap: two values exchanged by three XORs, to save a register that nobody lacks.
 *
 * Of two local variables compilers see that x ^ y ^ y is x, and keep no XOR: the trick is noise. Of two places in memory they
 * must write all three results, since the places might be one and the same: there the trick costs loads and stores.
 *
 * The candidate is an exchange by a temporary. It differs in one case: a place that is exchanged with itself becomes 0 by
 * XOR. Distinct variables can't be that; of all else a person has to say so.
 *
 * What must stay silent: an exchange under a mask (`t = mask & (x ^ y); x ^= t; y ^= t`), which is how code whose time must not
 * depend on the data does it; XORs that don't add up to an exchange; volatile and atomic objects; macros.
 */
#include "patterns/query.h"

#include "base/text.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_r02 = {
    .id = "R02",
    .slug = "xor-swap",
    .title = "two values exchanged by three XORs",
    .tier = TIER_B,
    .what = "`x ^= y; y ^= x; x ^= y;`, as three statements or joined by commas, and the same written with `=`.",
    .why = "Compilers rename values, they don't move them: of local variables an exchange costs no instruction, written either "
           "way. Of memory the XORs have to be carried out one after the other, with a load and a store each, because the two "
           "places may be the same one.",
    .when_not = "A place may be exchanged with itself, and has to become 0 by that.",
    .expected = "nothing for variables: the same machine code. In memory a third store and two loads more for each exchange: a "
                "third of the time of a loop that reverses an array (assay prove R02: -29 to -39 %, gcc 12 and clang 19)",
    .refuted_by = "Machine code that differs and time that doesn't.",
    .sources = (const char *const[]){"Henry S. Warren, Hacker's Delight, second edition, 2012, section 2-20 Exchanging Registers",
                                     "ISO/IEC 9899:2018, 6.5.16 Assignment operators", NULL},
    .detect = detect,
};

struct detection {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
	const char *function;
};

/* `target ^= other`, or `target = target ^ other` either way round. */
struct step {
	struct ast_node *node, *target, *other;
};

static struct step step_of(struct ast_node *node)
{
	struct step step = {.node = node};
	node = ast_strip(node);
	if (!node || node->children.count != 2)
		return step;
	struct ast_node *left = node->children.at[0], *right = ast_strip(node->children.at[1]);
	if (node->kind == AST_COMPOUND_ASSIGN && node->op == OP_XOR) {
		step.target = left;
		step.other = right;
	} else if (node->kind == AST_ASSIGN && right && right->kind == AST_BINARY && right->op == OP_XOR) {
		bool first = path_equal(right->children.at[0], left);
		if (first || path_equal(right->children.at[1], left)) {
			step.target = left;
			step.other = right->children.at[first];
		}
	}
	return step;
}

static bool step_goes_on(const struct step *step, const struct step *before)
{
	return step->target && path_equal(step->target, before->other) && path_equal(step->other, before->target);
}

static bool is_plain_integer(const struct ast_type *type)
{
	bool integer = type && (type->kind == TYPE_INT || type->kind == TYPE_CHAR || type->kind == TYPE_BOOL || type->kind == TYPE_ENUM);
	return integer && !type->is_volatile && !type->is_atomic;
}

static bool is_exchange(const struct step steps[3])
{
	if (!steps[0].target || !step_goes_on(&steps[1], &steps[0]) || !step_goes_on(&steps[2], &steps[1]))
		return false;
	const struct ast_type *one = steps[0].target->type, *two = steps[1].target->type;
	return is_plain_integer(one) && is_plain_integer(two) && text_equal(one->canonical, two->canonical) &&
	       !path_equal(steps[0].target, steps[1].target);
}

/* ---- the candidate ----------------------------------------------------------------------------------------------- */

/* Whether the expression uses the name, of a variable or a macro. */
static bool uses_name(struct ast_node *node, void *context)
{
	const char **name = context;
	if (*name && node->name && strcmp(node->name, *name) == 0)
		*name = NULL;
	return *name != NULL;
}

static const char *line_of(const struct detection *detection, const struct ast_node *node)
{
	const char *text = ast_text(detection->unit, &node->range);
	return text && !strchr(text, '\n') ? arena_strdup(detection->sink->arena, text) : NULL;
}

/* `T swapped = x`, `x = y`, `y = swapped`; false: it can't be written. */
static bool exchange_write(struct detection *detection, const struct step steps[3], const char *ret_texts[3])
{
	struct arena *arena = detection->sink->arena;
	struct ast_node *one = steps[0].target, *two = steps[1].target;
	const char *name = "swapped", *x = line_of(detection, one), *y = line_of(detection, two);
	ast_walk(one, uses_name, &name);
	ast_walk(two, uses_name, &name);
	for (size_t i = 0; name && i < detection->unit->macros.count; i++)
		if (strcmp(detection->unit->macros.at[i].name, name) == 0)
			name = NULL;
	const char *declaration = name ? constant_declarator(arena, one->type, name) : NULL;
	if (!declaration || !x || !y)
		return false;
	ret_texts[0] = arena_printf(arena, "%s = %s", declaration, x);
	ret_texts[1] = arena_printf(arena, "%s = %s", x, y);
	ret_texts[2] = arena_printf(arena, "%s = %s", y, name);
	return true;
}

/* Each statement in its place. When the three are not all of their block, they get one of their own. */
static void put_statements(struct detection *detection, const struct step steps[3], bool whole, struct finding *finding)
{
	struct arena *arena = detection->sink->arena;
	const char *texts[3];
	size_t end = statement_end(detection->unit, steps[2].node);
	for (int i = 0; i < 3; i++)
		if (!node_is_replaceable(detection->unit, steps[i].node))
			return;
	if (!end || !exchange_write(detection, steps, texts))
		return;
	if (!whole)
		texts[0] = arena_printf(arena, "{ %s", texts[0]);
	for (int i = 0; i < 3; i++) {
		const struct ast_range *range = &steps[i].node->range;
		finding_edit(detection->sink, finding, range->offset, range->end_offset - range->offset, texts[i]);
	}
	if (!whole)
		finding_edit(detection->sink, finding, end, 0, " }");
}

static void put_block(struct detection *detection, const struct step steps[3], const struct ast_node *statement,
                      struct finding *finding)
{
	const char *texts[3];
	size_t end = statement_end(detection->unit, statement), begin = statement->range.offset;
	if (!end || !node_is_replaceable(detection->unit, statement) || !exchange_write(detection, steps, texts))
		return;
	finding_edit(detection->sink, finding, begin, end - begin,
	             arena_printf(detection->sink->arena, "{ %s; %s; %s; }", texts[0], texts[1], texts[2]));
}

/* ---- the finding ------------------------------------------------------------------------------------------------- */

static struct finding *exchange_report(struct detection *detection, const struct step steps[3])
{
	struct arena *arena = detection->sink->arena;
	struct ast_node *one = ast_strip_casts(steps[0].target), *two = ast_strip_casts(steps[1].target);
	const char *x = node_text(detection->unit, one, arena), *y = node_text(detection->unit, two, arena);
	bool variables = one->kind == AST_REF && two->kind == AST_REF && !one->is_global && !two->is_global;
	struct finding *finding =
		finding_new(detection->sink, detection->unit, &pattern_r02, &steps[0].node->range, detection->function, SEVERITY_LOW,
	                arena_printf(arena, "`%s` and `%s` are exchanged by three XORs", x, y));
	finding->evidence = variables ? "two variables: compilers keep no XOR of it"
	                              : "places in memory: each XOR is carried out, with its load and its store";
	if (!variables)
		finding->contract = arena_printf(arena, "`%s` and `%s` are never the same place: XOR would make it 0, a temporary leaves "
		                                 "it as it is", x, y);
	return finding;
}

/* Where a statement may stand. */
static bool is_statement(const struct ast_node *node)
{
	const struct ast_node *up = node->parent;
	return up && (up->kind == AST_COMPOUND || ((up->kind == AST_IF || ast_is_loop(up)) && (node == up->body || node == up->otherwise)));
}

static void detect_comma(struct detection *detection, struct ast_node *node)
{
	struct ast_node *left = ast_strip(node->children.at[0]);
	if (!left || left->kind != AST_BINARY || left->op != OP_COMMA || left->children.count != 2)
		return;
	struct step steps[3] = {step_of(left->children.at[0]), step_of(left->children.at[1]), step_of(node->children.at[1])};
	if (!is_exchange(steps) || node->range.edge_in_macro)
		return;
	struct finding *finding = exchange_report(detection, steps);
	if (is_statement(node))
		put_block(detection, steps, node, finding);
}

static bool visit(struct ast_node *node, void *context)
{
	struct detection *detection = context;
	if (node->kind == AST_BINARY && node->op == OP_COMMA && node->children.count == 2)
		detect_comma(detection, node);
	for (size_t i = 0; node->kind == AST_COMPOUND && i + 2 < node->children.count; i++) {
		struct ast_node **at = node->children.at + i;
		struct step steps[3] = {step_of(at[0]), step_of(at[1]), step_of(at[2])};
		if (!is_exchange(steps) || at[0]->range.edge_in_macro)
			continue;
		put_statements(detection, steps, node->children.count == 3, exchange_report(detection, steps));
		i += 2;
	}
	return true;
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	struct detection detection = {.unit = unit, .sink = sink};
	for (size_t i = 0; i < unit->top.count; i++) {
		struct ast_node *function = unit->top.at[i];
		if (function->kind != AST_FUNCTION || !function->is_definition || !function->range.in_tree)
			continue;
		detection.function = function->name;
		ast_walk(function, visit, &detection);
	}
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>

struct words {
	uint32_t at[1024];
};

static __attribute__((noinline)) void reverse(uint32_t *words, size_t count)
{
	for (size_t i = 0, k = count - 1; i < k; i++, k--) {
		words[i] ^= words[k]; // finds
		words[k] ^= words[i];
		words[i] ^= words[k];
	}
}

static void *setup(struct assay_bench *b)
{
	struct words *words = calloc(1, sizeof *words);
	(void)b;
	for (uint32_t i = 0; i < 1024; i++)
		words->at[i] = i * 2654435761u;
	return words;
}

static void run(void *state, uint64_t iterations)
{
	struct words *words = state;
	for (uint64_t i = 0; i < iterations; i++) {
		reverse(words->at, 1024);
		assay_keep(words);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct words *words = state;
	reverse(words->at, 1023);
	reverse(words->at, 2);
	reverse(words->at, 1);
	assay_output(b, "words", words, sizeof *words);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>

struct words {
	uint32_t at[1024];
};

static __attribute__((noinline)) void reverse(uint32_t *words, size_t count)
{
	for (size_t i = 0, k = count - 1; i < k; i++, k--) {
		const uint32_t swapped = words[i]; // finds
		words[i] = words[k];
		words[k] = swapped;
	}
}

static void *setup(struct assay_bench *b)
{
	struct words *words = calloc(1, sizeof *words);
	(void)b;
	for (uint32_t i = 0; i < 1024; i++)
		words->at[i] = i * 2654435761u;
	return words;
}

static void run(void *state, uint64_t iterations)
{
	struct words *words = state;
	for (uint64_t i = 0; i < iterations; i++) {
		reverse(words->at, 1024);
		assay_keep(words);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct words *words = state;
	reverse(words->at, 1023);
	reverse(words->at, 2);
	reverse(words->at, 1);
	assay_output(b, "words", words, sizeof *words);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: equal */
#include <assay/bench.h>
#include <stdlib.h>

struct numbers {
	uint32_t at[512];
	uint64_t sum;
};

static __attribute__((noinline)) uint32_t common_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		a %= b;
		a ^= b; // finds
		b ^= a;
		a ^= b;
	}
	return a;
}

static void *setup(struct assay_bench *b)
{
	struct numbers *numbers = calloc(1, sizeof *numbers);
	(void)b;
	for (uint32_t i = 0; i < 512; i++)
		numbers->at[i] = i * 2654435761u;
	return numbers;
}

static void run(void *state, uint64_t iterations)
{
	struct numbers *numbers = state;
	for (uint64_t i = 0; i < iterations; i++) {
		for (unsigned k = 0; k + 1 < 512; k++)
			numbers->sum += common_divisor(numbers->at[k], numbers->at[k + 1]);
		assay_keep(numbers);
	}
}

static void output(void *state, struct assay_bench *b)
{
	(void)state;
	uint32_t divisors[] = {common_divisor(0, 0), common_divisor(0, 7), common_divisor(7, 0), common_divisor(12, 12),
	                       common_divisor(4294967295u, 65535)};
	assay_output(b, "divisors", divisors, sizeof divisors);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: equal fixed */
#include <assay/bench.h>
#include <stdlib.h>

struct numbers {
	uint32_t at[512];
	uint64_t sum;
};

static __attribute__((noinline)) uint32_t common_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		a %= b;
		{ const uint32_t swapped = a; // finds
		a = b;
		b = swapped; }
	}
	return a;
}

static void *setup(struct assay_bench *b)
{
	struct numbers *numbers = calloc(1, sizeof *numbers);
	(void)b;
	for (uint32_t i = 0; i < 512; i++)
		numbers->at[i] = i * 2654435761u;
	return numbers;
}

static void run(void *state, uint64_t iterations)
{
	struct numbers *numbers = state;
	for (uint64_t i = 0; i < iterations; i++) {
		for (unsigned k = 0; k + 1 < 512; k++)
			numbers->sum += common_divisor(numbers->at[k], numbers->at[k + 1]);
		assay_keep(numbers);
	}
}

static void output(void *state, struct assay_bench *b)
{
	(void)state;
	uint32_t divisors[] = {common_divisor(0, 0), common_divisor(0, 7), common_divisor(7, 0), common_divisor(12, 12),
	                       common_divisor(4294967295u, 65535)};
	assay_output(b, "divisors", divisors, sizeof divisors);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdlib.h>

struct points {
	uint64_t at[2][64];
	uint64_t bits;
};

/* An exchange whose time does not tell whether it took place. */
static __attribute__((noinline)) void exchange_if(uint64_t *one, uint64_t *other, uint64_t bit)
{
	const uint64_t mask = 0 - bit;
	for (int i = 0; i < 64; i++) {
		uint64_t both = mask & (one[i] ^ other[i]);
		one[i] ^= both;
		other[i] ^= both;
	}
}

static void *setup(struct assay_bench *b)
{
	struct points *points = calloc(1, sizeof *points);
	(void)b;
	for (uint64_t i = 0; i < 64; i++)
		points->at[0][i] = i * 0x9e3779b97f4a7c15u;
	return points;
}

static void run(void *state, uint64_t iterations)
{
	struct points *points = state;
	for (uint64_t i = 0; i < iterations; i++) {
		exchange_if(points->at[0], points->at[1], i & 1);
		assay_keep(points);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct points *points = state;
	exchange_if(points->at[0], points->at[1], 1);
	assay_output(b, "points", points->at, sizeof points->at);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also by commas and by assignments */
#include <stdint.h>

uint8_t between(uint8_t low, uint8_t high, uint8_t value)
{
	if (low > high)
		low ^= high, high ^= low, low ^= high; // finds
	return value >= low && value <= high;
}

void ends_exchange(long *values, unsigned count)
{
	if (count > 1) {
		values[0] = values[0] ^ values[count - 1]; // finds
		values[count - 1] = values[0] ^ values[count - 1];
		values[0] = values[count - 1] ^ values[0];
	}
}
#endif

#if 0 /* assay example: also by commas and by assignments fixed */
#include <stdint.h>

uint8_t between(uint8_t low, uint8_t high, uint8_t value)
{
	if (low > high)
		{ const uint8_t swapped = low; low = high; high = swapped; } // finds
	return value >= low && value <= high;
}

void ends_exchange(long *values, unsigned count)
{
	if (count > 1) {
		const long swapped = values[0]; // finds
		values[0] = values[count - 1];
		values[count - 1] = swapped;
	}
}
#endif

#if 0 /* assay example: lookalike no exchange */
#include <stdint.h>

void mix(uint32_t *state)
{
	state[0] ^= state[1];
	state[1] ^= state[2];
	state[2] ^= state[0];
	state[0] ^= state[1];
	state[1] ^= state[0];
}

void registers_exchange(volatile uint32_t *one, volatile uint32_t *other)
{
	*one ^= *other;
	*other ^= *one;
	*one ^= *other;
}

#define EXCHANGE(x, y) ((x) ^= (y), (y) ^= (x), (x) ^= (y))
uint32_t larger(uint32_t one, uint32_t other)
{
	if (one < other)
		EXCHANGE(one, other);
	return one;
}
#endif
