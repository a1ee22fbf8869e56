/* R03 duffs-device: a loop unrolled by hand through a `switch` that jumps into its middle.
 *
 * The device saved a compare and a branch for each turn on machines that predicted nothing. To today's compilers a loop
 * with several entries is no loop that they know how to handle: it is neither vectorised nor recognised as memset or
 * memcpy, nor is the count of its turns known.
 *
 * The candidate needs the classic form: `turns = (count + 7) / 8; switch (count % 8) { case 0: do { S; case 7: S; … }
 * while (--turns > 0); }` becomes `turns = count; do { S; } while (--turns > 0);`. Both run S `count` times when count is at
 * least 1. Other forms get advice.
 *
 * What must stay silent: coroutines and parsers that resume inside a loop by a `switch`, whose cases do different things.
 */
#include "patterns/query.h"

#include "base/text.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_r03 = {
    .id = "R03",
    .slug = "duffs-device",
    .title = "a loop unrolled through a switch into its middle",
    .tier = TIER_B,
    .what = "A `switch` on a remainder whose cases stand inside of a loop and all do the same: Duff's device.",
    .why = "A loop that is entered at several places has no single head, so that compilers leave it as it is: no vector code, "
           "no memset() or memcpy() in its place. The branch that it saves is predicted and costs next to nothing.",
    .when_not = "The compiler vectorises nothing (gcc before 12 at -O2), the body is small, and a measurement says that the "
                "unrolled loop is faster.",
    .expected = "from nothing, where the body is long, to many times where the plain loop becomes vector code or a call of the C "
                "library (assay prove R03 on a fill that becomes memset(): -63 to -97 %; see also Ts'o 2000, who saw programs get smaller and faster without it)",
    .refuted_by = "Equal time: the body takes longer than the branch.",
    .sources = (const char *const[]){"Tom Duff, Re: Explanation, please!, Usenet article in comp.lang.c, 1988 "
                                     "(https://www.lysator.liu.se/c/duffs-device.html)",
                                     "Theodore Ts'o, Re: [PATCH] Re: Move of input drivers, some word needed from you, "
                                     "linux-kernel, 2000-08-22 (the device taken out of XFree86)",
                                     NULL},
    .detect = detect,
};

struct detection {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
	struct ast_node *function;
};

/* The device's parts. */
struct device {
	struct ast_node *node, *loop;
	struct ast_node *count; /* of `count % turns_each` */
	long long turns_each;
	struct ast_node *first; /* the first of the equal groups of statements, its last, and how many there are */
	struct ast_node *first_end;
	long long groups;
	bool falling; /* the labels go down to 1 from turns_each - 1, behind the loop's `case 0` */
};

/* ---- the signal -------------------------------------------------------------------------------------------------- */

static int shift_of(long long value)
{
	for (int shift = 1; shift < 16; shift++)
		if (1ll << shift == value)
			return shift;
	return -1;
}

/* `x % 8`, `x & 7`. */
static bool remainder_of(struct ast_node *node, struct device *device)
{
	node = ast_strip_casts(node);
	long long by = 0;
	if (!node || node->kind != AST_BINARY || node->children.count != 2 || !node_constant(node->children.at[1], &by))
		return false;
	if (node->op == OP_AND && shift_of(by + 1) > 0)
		by++;
	else if (node->op != OP_REM)
		return false;
	device->count = ast_strip(node->children.at[0]);
	device->turns_each = by;
	return by >= 2;
}

/* The text from one statement's begin to another's end, blanks left out; NULL: it isn't written out. */
static const char *squeezed(struct detection *detection, const struct ast_node *from, const struct ast_node *to)
{
	size_t size = 0, end = statement_end(detection->unit, to);
	const char *text = ast_file_text(detection->unit, from->range.file, &size);
	if (!text || !end || end < from->range.offset || from->range.edge_in_macro || to->range.edge_in_macro)
		return NULL;
	return text_squeezed(detection->sink->arena, text + from->range.offset, end - from->range.offset);
}

static const struct ast_node *unlabelled(const struct ast_node *node)
{
	while (node && node->kind == AST_CASE)
		node = node->body;
	return node;
}

/* The body in groups, each from one label to the next: whether all of them are the same text. */
static bool groups_are_equal(struct detection *detection, struct device *device)
{
	const struct ast_node *body = device->loop->body;
	const char *text = NULL;
	device->falling = true;
	if (!body || body->kind != AST_COMPOUND)
		return false;
	for (size_t i = 0, next; i < body->children.count; i = next) {
		struct ast_node *head = body->children.at[i];
		for (next = i + 1; next < body->children.count && body->children.at[next]->kind != AST_CASE;)
			next++;
		long long value = 0;
		if (head->kind == AST_CASE)
			device->falling &= node_constant(head->condition, &value) && value == device->turns_each - device->groups;
		else
			device->falling &= i == 0;
		struct ast_node *from = (struct ast_node *)unlabelled(head), *to = next - i > 1 ? body->children.at[next - 1] : from;
		const char *words = from ? squeezed(detection, from, to) : NULL;
		if (!words || (text && strcmp(words, text) != 0))
			return false;
		text = words;
		if (device->groups++ == 0) {
			device->first = from;
			device->first_end = to;
		}
	}
	return device->groups >= 2;
}

/* The loop that the first case leads to, or that stands behind a label-less beginning. */
static struct ast_node *loop_of(const struct ast_node *node)
{
	const struct ast_node *body = node->body;
	for (size_t i = 0; body && body->kind == AST_COMPOUND && i < body->children.count; i++) {
		const struct ast_node *inner = unlabelled(body->children.at[i]);
		if (inner && ast_is_loop(inner))
			return (struct ast_node *)inner;
	}
	return NULL;
}

/* ---- the candidate ----------------------------------------------------------------------------------------------- */

/* `--turns > 0`, `--turns != 0`, `--turns`: the variable. */
static struct ast_node *turns_of(const struct ast_node *loop)
{
	struct ast_node *condition = ast_strip(loop->condition);
	if (condition && condition->kind == AST_BINARY && (condition->op == OP_GT || condition->op == OP_NE) &&
	    node_is_zero(condition->children.at[1]))
		condition = ast_strip(condition->children.at[0]);
	struct ast_node *turns = condition && condition->kind == AST_UNARY && condition->op == OP_PRE_DEC
	                             ? ast_strip(condition->children.at[0])
	                             : NULL;
	return turns && turns->kind == AST_REF && !turns->is_global ? turns : NULL;
}

/* `(count + 7) / 8`, `(count + 7) >> 3`. */
static bool is_turns(struct ast_node *node, const struct device *device)
{
	node = ast_strip(node);
	long long by = 0, added = 0;
	if (!node || node->kind != AST_BINARY || !node_constant(node->children.at[1], &by))
		return false;
	if (!(node->op == OP_DIV && by == device->turns_each) && !(node->op == OP_SHR && by == shift_of(device->turns_each)))
		return false;
	struct ast_node *sum = ast_strip(node->children.at[0]);
	return sum && sum->kind == AST_BINARY && sum->op == OP_ADD && path_equal(sum->children.at[0], device->count) &&
	       node_constant(sum->children.at[1], &added) && added == device->turns_each - 1;
}

/* The expression that `turns` is set to right before the device; nothing between the two changes it or the count. */
static struct ast_node *turns_set(const struct device *device, struct ast_node *turns)
{
	const struct ast_node *block = device->node->parent;
	size_t at = 0;
	while (at < block->children.count && block->children.at[at] != device->node)
		at++;
	while (at-- > 0) {
		struct ast_node *statement = block->children.at[at];
		if (statement->kind == AST_ASSIGN && path_equal(statement->children.at[0], turns))
			return statement->children.at[1];
		for (size_t i = 0; statement->kind == AST_DECL_STMT && i < statement->children.count; i++)
			if (statement->children.at[i] == turns->decl)
				return turns->decl->init;
		if (statement->kind != AST_DECL_STMT || node_mentions(statement, turns))
			return NULL;
	}
	return NULL;
}

static bool put_candidate(struct detection *detection, const struct device *device, struct finding *finding)
{
	struct arena *arena = detection->sink->arena;
	const struct ast_node *body = device->node->body, *block = device->node->parent;
	long long value = -1;
	if (device->loop->kind != AST_DO || device->groups != device->turns_each || !device->falling || body->children.count != 1 ||
	    !block || block->kind != AST_COMPOUND)
		return false;
	struct ast_node *label = body->children.at[0], *turns = turns_of(device->loop);
	if (label->kind != AST_CASE || label->body != device->loop || !node_constant(label->condition, &value) || value != 0 || !turns)
		return false;
	struct ast_node *set = turns_set(device, turns);
	const struct ast_type *wide = turns->type, *counted = device->count->type;
	if (!set || !is_turns(set, device) || !node_is_replaceable(detection->unit, set) ||
	    !node_is_replaceable(detection->unit, device->node) || device->count->kind != AST_REF)
		return false;
	if (!wide || !counted || wide->kind != TYPE_INT || counted->kind != TYPE_INT || wide->size < counted->size ||
	    wide->is_signed != counted->is_signed)
		return false;
	size_t size = 0, from = device->first->range.offset;
	size_t to = statement_end(detection->unit, device->first_end), end = device->node->range.end_offset;
	const char *text = ast_file_text(detection->unit, device->node->range.file, &size);
	const char *condition = ast_text(detection->unit, &device->loop->condition->range);
	if (!text || !to || !condition || end > size || text[end - 1] != '}')
		return false;
	condition = arena_strdup(arena, condition);
	const char *indent = line_indent(arena, text, device->node->range.offset);
	const char *name = arena_strdup(arena, device->count->name);
	finding_edit(detection->sink, finding, set->range.offset, set->range.end_offset - set->range.offset, name);
	finding_edit(detection->sink, finding, device->node->range.offset, end - device->node->range.offset,
	             arena_printf(arena, "do {\n%s\t%.*s\n%s} while (%s);", indent, (int)(to - from), text + from, indent, condition));
	if (counted->is_signed)
		finding->contract = arena_printf(arena, "`%s` is at least 1: for less the device runs its body up to %lld times or not at "
		                                 "all, the loop once", name, device->turns_each);
	return true;
}

/* ---- the finding ------------------------------------------------------------------------------------------------- */

static bool visit(struct ast_node *node, void *context)
{
	struct detection *detection = context;
	struct device device = {.node = node};
	if (node->kind != AST_SWITCH || node->range.edge_in_macro || !remainder_of(node->condition, &device) ||
	    !(device.loop = loop_of(node)) || !groups_are_equal(detection, &device))
		return true;
	struct arena *arena = detection->sink->arena;
	struct finding *finding =
		finding_new(detection->sink, detection->unit, &pattern_r03, &node->range, detection->function->name, SEVERITY_LOW,
	                arena_printf(arena, "Duff's device: %lld times the same statement in a loop that a `switch` jumps into",
	                             device.groups));
	if (put_candidate(detection, &device, finding))
		finding->evidence = "the candidate is the plain loop";
	else
		finding->evidence = "advice: write the plain loop, and leave unrolling to the compiler";
	return true;
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	struct detection detection = {.unit = unit, .sink = sink};
	for (size_t i = 0; i < unit->top.count; i++) {
		detection.function = unit->top.at[i];
		if (detection.function->kind == AST_FUNCTION && detection.function->is_definition && detection.function->range.in_tree)
			ast_walk(detection.function, visit, &detection);
	}
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>

struct screen {
	unsigned char cells[4000];
};

static __attribute__((noinline)) void fill(unsigned char *to, unsigned char value, size_t count)
{
	size_t turns = (count + 7) / 8;
	switch (count % 8) { // finds
	case 0:
		do {
			*to++ = value;
	case 7:
			*to++ = value;
	case 6:
			*to++ = value;
	case 5:
			*to++ = value;
	case 4:
			*to++ = value;
	case 3:
			*to++ = value;
	case 2:
			*to++ = value;
	case 1:
			*to++ = value;
		} while (--turns > 0);
	}
}

static void *setup(struct assay_bench *b)
{
	(void)b;
	return calloc(1, sizeof(struct screen));
}

static void run(void *state, uint64_t iterations)
{
	struct screen *screen = state;
	for (uint64_t i = 0; i < iterations; i++) {
		fill(screen->cells, (unsigned char)i, sizeof screen->cells);
		assay_keep(screen);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct screen *screen = state;
	for (unsigned char size = 40; size > 0; size--)
		fill(screen->cells, size, size);
	assay_output(b, "screen", screen, sizeof *screen);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>

struct screen {
	unsigned char cells[4000];
};

static __attribute__((noinline)) void fill(unsigned char *to, unsigned char value, size_t count)
{
	size_t turns = count;
	do {
		*to++ = value;
	} while (--turns > 0);
}

static void *setup(struct assay_bench *b)
{
	(void)b;
	return calloc(1, sizeof(struct screen));
}

static void run(void *state, uint64_t iterations)
{
	struct screen *screen = state;
	for (uint64_t i = 0; i < iterations; i++) {
		fill(screen->cells, (unsigned char)i, sizeof screen->cells);
		assay_keep(screen);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct screen *screen = state;
	for (unsigned char size = 40; size > 0; size--)
		fill(screen->cells, size, size);
	assay_output(b, "screen", screen, sizeof *screen);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdlib.h>

struct words {
	uint64_t at[1024];
	uint64_t mixed;
};

/* Unrolled, but entered at its head alone: the rest has a loop of its own. */
static __attribute__((noinline)) uint64_t mix(const uint64_t *words, size_t count)
{
	uint64_t hash = count;
	size_t i = 0;
	for (; i + 4 <= count; i += 4) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
		hash = (hash ^ words[i + 1]) * 0x9e3779b97f4a7c15u;
		hash = (hash ^ words[i + 2]) * 0x9e3779b97f4a7c15u;
		hash = (hash ^ words[i + 3]) * 0x9e3779b97f4a7c15u;
	}
	for (; i < count; i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
	return hash;
}

static void *setup(struct assay_bench *b)
{
	(void)b;
	return calloc(1, sizeof(struct words));
}

static void run(void *state, uint64_t iterations)
{
	struct words *words = state;
	for (uint64_t i = 0; i < iterations; i++) {
		words->mixed = mix(words->at, 1024);
		assay_keep(words);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct words *words = state;
	for (size_t size = 0; size < 9; size++) {
		uint64_t hash = mix(words->at, size);
		assay_output(b, "hash", &hash, sizeof hash);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also other writings */
// flags: -O2 -Wno-implicit-fallthrough
void send(volatile unsigned short *port, const unsigned short *from, int count)
{
	register int turns;
	turns = (count + 3) >> 2;
	switch (count & 3) { // finds
	case 0: do { *port = *from++;
	case 3:      *port = *from++;
	case 2:      *port = *from++;
	case 1:      *port = *from++;
		} while (--turns);
	}
}
#endif

#if 0 /* assay example: also other writings fixed */
// flags: -O2 -Wno-implicit-fallthrough
void send(volatile unsigned short *port, const unsigned short *from, int count)
{
	register int turns;
	turns = count;
	do {
		*port = *from++;
	} while (--turns);
}
#endif

#if 0 /* assay example: also advice only */
unsigned sum(const unsigned *values, unsigned count)
{
	unsigned total = 0;
	switch (count % 2) { // finds
	case 0:
		while (count) {
			total += *values++;
			count--;
	case 1:
			total += *values++;
			count--;
		}
	}
	return total;
}
#endif

#if 0 /* assay example: lookalike resumes inside a loop */
struct parser {
	unsigned state;
	unsigned char last;
};

/* It goes on where it stopped: each case does something else. */
int parse(struct parser *parser, const unsigned char *at, const unsigned char *end)
{
	switch (parser->state % 4) {
	case 0:
		while (at < end) {
			parser->last = *at++;
			parser->state = 1;
			if (at == end)
				return 0;
	case 1:
			if (*at++ == parser->last)
				return 1;
			parser->state = 2;
	case 2:
			parser->last ^= 1;
		}
	}
	return -1;
}

unsigned steps(unsigned count)
{
	unsigned steps = 0;
	while (count--) {
		switch (count & 1) {
		case 0:
			steps += 2;
			break;
		case 1:
			steps += 2;
			break;
		}
	}
	return steps;
}
#endif
