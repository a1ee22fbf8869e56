/* P03 loop-reload: a value that never changes is read again in every iteration, since a store might change it.
 *
 * A store through a character type may change any object (C17 6.5p7), and so may every store under
 * -fno-strict-aliasing. What it costs depends on what is read again. Measured with gcc 12 -O3 and clang 19 -O2 on bytes:
 * a plain operand costs nothing, since the compiler makes a second version of the loop for the case that nothing
 * overlaps; the loop's bound, or the pointer to what is read or written, stops that, and costs 10 to 50 times. So the
 * latter is grave in a straight loop; reads that only lead to the store (`ctx->out[i] = …`) count there only.
 *
 * Silent besides: a loop that could not be vector code anyway (a branch, a record's field here and there, a store whose
 * place a value chooses) and keeps no counter in memory, where the load costs nothing; start-up, configuration and what only
 * they call; a few constant turns that nothing repeats.
 */
#include "patterns/query.h"

#include "base/text.h"

enum { READS_MAX = 8, FEW_ITERATIONS = 8, MUCH_WORK = 24 };

/* One place that is read, and everywhere in the loop where it is. */
struct place {
	struct ast_node *path;
	struct ast_node_list uses;
	bool always, beyond_address, in_macro, in_condition;
	bool reason; /* to report the loop; the others are kept in a local along with it */
};

struct reads {
	const struct loop *loop;
	struct arena *arena;
	struct place places[READS_MAX];
	size_t count;
};

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_p03 = {
    .id = "P03",
    .slug = "loop-reload",
    .title = "an unchanging value that a loop reads again after every store",
    .tier = TIER_B,
    .what = "A loop without calls reads a field, a global or *q that it never assigns, and stores through a pointer to a "
            "character type (with -fno-strict-aliasing: through any pointer). The same for a field that is counted up or "
            "down in memory while such stores go on.",
    .why = "The store may change what was read, as far as the compiler can know, so it loads the value again after every "
           "store and can't turn the loop into vector code. A counter in memory costs a store-to-load forwarding for each step.",
    .when_not = "The loop runs a few times only; the store goes to a local array or through a restrict pointer; another "
                "thread or the store itself is meant to change the value; the function is cold.",
    .expected = "10 to 50x for a straight loop over bytes whose bound or base pointer is read again (gcc 12 -O3, clang 19 -O2; "
                "catalogue's own measurement); at most 2x where the loop is not vectorised (gcc 12 -O2); nothing where only "
                "an operand is read again",
    .refuted_by = "Equal machine code: the compiler has kept the value in a register by itself. Else time.",
    .sources = (const char *const[]){"ISO/IEC 9899:2018, 6.5 paragraph 7 (which accesses may alias)",
                                     "GCC manual, chapter Optimize Options, -fstrict-aliasing",
                                     "Agner Fog, Optimizing software in C++, chapter 8 (pointer aliasing), edition of 2023",
                                     "Muchnick, Advanced Compiler Design and Implementation, 1997, section 12.5 (loop-invariant "
                                     "code motion and register promotion)",
                                     NULL},
    .detect = detect,
};

/* ---- which stores may change a value ------------------------------------------------------------------------ */

/* Through a pointer that may lead anywhere, with a type that may alias anything. */
static bool store_is_wild(struct ast_node *write, bool strict)
{
	struct access access = access_of(write);
	if (!access.pointer || access_is_private(&access))
		return false;
	if (!strict)
		return true;
	/* The field of a record is no character access: the record's type tells it apart. */
	return access.pointee && access.pointee->kind == TYPE_CHAR;
}

/* An array of more than bytes that the function itself has just allocated: new memory costs more than loads beside it. */
static bool store_is_to_new_memory(const struct loop *loop, struct ast_node *write)
{
	struct access access = access_of(write);
	return access.pointer && access.pointee && access.pointee->kind != TYPE_CHAR && loop_allocated(loop, access.pointer);
}

static bool store_may_change(struct ast_node *write, struct ast_node *path, bool strict)
{
	if (!store_is_wild(write, strict))
		return false;
	struct access written = access_of(write), read = access_of(path);
	if (access_is_private(&read))
		return false;
	/* Two parts of one record behind the same pointer: their offsets differ. */
	if (read.pointer && path_equal(written.pointer, read.pointer))
		return false;
	return true;
}

/* ---- what the loop reads ------------------------------------------------------------------------------------ */

/* A scalar in memory that the loop never assigns. */
static bool is_candidate(const struct loop *loop, struct ast_node *node)
{
	const struct ast_type *type = node->type;
	bool place = node->kind == AST_MEMBER || node->kind == AST_SUBSCRIPT ||
	             (node->kind == AST_UNARY && node->op == OP_DEREF) || (node->kind == AST_REF && node->is_global);
	if (!place || !type || type->is_volatile || type->is_atomic)
		return false;
	if (type->kind != TYPE_BOOL && type->kind != TYPE_CHAR && type->kind != TYPE_INT && type->kind != TYPE_FLOAT &&
	    type->kind != TYPE_POINTER && type->kind != TYPE_ENUM)
		return false;
	struct access access = access_of(node);
	if (!access.pointer && !access.object)
		return false;
	if (access.object && (!access.object->is_global || !access.object->decl ||
	                      (access.object->type && access.object->type->is_const)))
		return false;
	return loop_keeps(loop, node);
}

static void reads_note(struct reads *reads, struct ast_node *node, bool address)
{
	struct place *place = NULL;
	for (size_t i = 0; i < reads->count && !place; i++)
		if (path_equal(reads->places[i].path, node))
			place = &reads->places[i];
	if (!place) {
		if (reads->count == READS_MAX)
			return;
		place = &reads->places[reads->count++];
		place->path = node;
	}
	list_push(reads->arena, &place->uses, node);
	place->in_macro |= node->range.in_macro;
	if (!loop_always(reads->loop, node))
		return;
	place->always = true;
	place->beyond_address |= !address;
	place->in_condition |= reads->loop->node->condition && node_holds(reads->loop->node->condition, node);
}

static void reads_value(struct reads *reads, struct ast_node *node, bool address);

/* An lvalue that is written or whose address is taken: only what leads to it is read. */
static void reads_lvalue(struct reads *reads, struct ast_node *node)
{
	struct ast_node *lvalue = ast_strip_casts(node);
	if (!lvalue)
		return;
	for (size_t i = 0; i < lvalue->children.count; i++) {
		struct ast_node *base = ast_strip_casts(lvalue->children.at[i]);
		bool same_object = i == 0 && base &&
		                   ((lvalue->kind == AST_MEMBER && !lvalue->arrow) ||
		                    (lvalue->kind == AST_SUBSCRIPT && base->type && base->type->kind == TYPE_ARRAY));
		if (same_object)
			reads_lvalue(reads, base);
		else
			reads_value(reads, lvalue->children.at[i], true);
	}
}

static void reads_value(struct reads *reads, struct ast_node *node, bool address)
{
	if (!node || node->kind == AST_SIZEOF)
		return;
	if (node->kind == AST_ASSIGN || node->kind == AST_COMPOUND_ASSIGN) {
		reads_lvalue(reads, ast_child(node, 0));
		for (size_t i = 1; i < node->children.count; i++)
			reads_value(reads, node->children.at[i], address);
		return;
	}
	if (node_is_increment(node) || (node->kind == AST_UNARY && node->op == OP_ADDRESS)) {
		reads_lvalue(reads, ast_child(node, 0));
		return;
	}
	if (is_candidate(reads->loop, node)) {
		reads_note(reads, node, address);
		return;
	}
	for (size_t i = 0; i < node->children.count; i++)
		if (node != reads->loop->node || node->children.at[i] != node->init)
			reads_value(reads, node->children.at[i], address);
}

/* ---- the finding -------------------------------------------------------------------------------------------- */

struct detection {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
	bool strict;
	bool vectorises; /* the compile command lets loops of unknown length become vector code */
	bool guessed;
};

static void put_candidate(struct detection *detection, const struct loop *loop, struct place *const *places,
                          size_t count, struct finding *finding)
{
	struct arena *arena = detection->sink->arena;
	if (!loop_takes_declaration(loop))
		return;
	struct string_list declarations = {0}, names = {0};
	for (size_t i = 0; i < count; i++) {
		struct place *place = places[i];
		const char *name = place->in_macro ? NULL : free_name_for(loop, arena, place->path);
		for (size_t n = 0; name && n < names.count; n++)
			if (text_equal(names.at[n], name))
				name = NULL;
		const char *left = name ? constant_declarator(arena, place->path->type, name) : NULL;
		const char *right = left ? ast_text(detection->unit, &place->path->range) : NULL;
		bool one_file = right && text_equal(place->path->range.file, loop->node->range.file);
		list_push(arena, &names, one_file ? name : NULL);
		if (one_file)
			list_push(arena, &declarations, arena_printf(arena, "%s = %s;", left, right));
		else if (place->reason)
			return; /* the reason for the finding can't be kept in a local: advice only */
	}
	loop_declare(loop, detection->sink, finding, &declarations);
	for (size_t i = 0; i < count; i++)
		for (size_t u = 0; names.at[i] && u < places[i]->uses.count; u++) {
			const struct ast_range *range = &places[i]->uses.at[u]->range;
			finding_edit(detection->sink, finding, range->offset, range->end_offset - range->offset, names.at[i]);
		}
}

static bool reads_memory(struct ast_node *node, void *context)
{
	*(bool *)context |= node->kind == AST_SUBSCRIPT || (node->kind == AST_UNARY && node->op == OP_DEREF);
	return !*(bool *)context;
}

/* Element by element and without a branch: what a vectoriser could take. A record's field here and there is not, nor are
 * places that other values choose (`counts[bytes[i]]++`). */
static bool is_straight(const struct loop *loop, struct ast_node *store)
{
	struct access into = access_of(store);
	struct ast_node *place = ast_strip_casts(store);
	bool scattered = false;
	if (place && place->kind == AST_SUBSCRIPT && place->children.count > 1)
		ast_walk(place->children.at[1], reads_memory, &scattered);
	return loop->node->kind == AST_FOR && !loop->has_branch && !scattered && into.pointee && into.pointee->kind != TYPE_RECORD;
}

/* Fields that are counted in memory; the store that keeps them there, or NULL. */
static struct ast_node *find_counters(struct detection *detection, const struct loop *loop, struct string_list *ret_names)
{
	struct arena *arena = detection->sink->arena;
	struct string_list names = {0};
	struct ast_node *store = NULL;
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct ast_node *counter = loop->writes.at[i], *site = loop->write_sites.at[i];
		bool step = node_is_increment(site) || (site->kind == AST_COMPOUND_ASSIGN && (site->op == OP_ADD || site->op == OP_SUB));
		if (!step || counter->kind != AST_MEMBER || !loop_always(loop, site))
			continue;
		const struct ast_type *type = counter->type;
		if (!type || (type->kind != TYPE_INT && type->kind != TYPE_POINTER && type->kind != TYPE_ENUM))
			continue;
		struct access access = access_of(counter);
		if (!access.pointer || access_is_private(&access) || !loop_keeps(loop, pointer_root(access.pointer)))
			continue;
		struct ast_node *changer = NULL;
		for (size_t w = 0; w < loop->writes.count && !changer; w++)
			if (!path_equal(loop->writes.at[w], counter) &&
			    store_may_change(loop->writes.at[w], counter, detection->strict))
				changer = loop->writes.at[w];
		bool known = false;
		for (size_t n = 0; n < names.count; n++)
			known |= text_equal(names.at[n], node_quoted(detection->unit, counter, arena));
		/* Beside the copy of a whole record the step costs little. */
		struct access into = changer ? access_of(changer) : (struct access){0};
		if (!changer || known || (into.pointee && into.pointee->kind == TYPE_RECORD))
			continue;
		store = changer;
		list_push(arena, &names, node_quoted(detection->unit, counter, arena));
	}
	*ret_names = names;
	return store;
}

/* Places that an unknown store makes the loop read again. True: the loop is settled, reported or cold. */
static bool report_reads(struct detection *detection, const struct loop *loop)
{
	struct arena *arena = detection->sink->arena;
	struct reads reads = {.loop = loop, .arena = arena};
	for (size_t i = 0; i < loop->node->children.count; i++)
		if (loop->node->children.at[i] != loop->node->init)
			reads_value(&reads, loop->node->children.at[i], false);
	struct place *places[READS_MAX];
	size_t count = 0;
	struct ast_node *store = NULL;
	struct string_list names = {0}, kept = {0};
	bool always_safe = true, shapes = false;
	for (size_t i = 0; i < reads.count; i++) {
		struct place *place = &reads.places[i];
		if (!place->always)
			continue;
		struct access access = access_of(place->path);
		if (access.object && access.object == ast_strip_casts(place->path) && ref_is_sealed(detection->unit, access.object))
			continue;
		struct ast_node *changer = NULL;
		for (size_t w = 0; w < loop->writes.count && !changer; w++)
			if (store_may_change(loop->writes.at[w], place->path, detection->strict))
				changer = loop->writes.at[w];
		if (!changer || store_is_to_new_memory(loop, changer))
			continue;
		/* Where the loop ends and where it reads and writes: what a vectoriser must know beforehand. */
		bool shape = is_straight(loop, changer) && (place->in_condition || place->path->type->kind == TYPE_POINTER);
		place->reason = place->beyond_address || shape;
		places[count++] = place;
		list_push(arena, &kept, node_quoted(detection->unit, place->path, arena));
		always_safe &= place->in_condition;
		if (!place->reason)
			continue;
		shapes |= shape;
		store = store ? store : changer;
		list_push(arena, &names, node_quoted(detection->unit, place->path, arena));
	}
	if (!store)
		return false;
	struct access into = access_of(store);
	bool bytes = into.pointee && into.pointee->kind == TYPE_CHAR;
	struct string_list counters;
	bool counts = find_counters(detection, loop, &counters) != NULL;
	/* A load from the first cache costs nothing beside a branch, a scattered store or much work; what costs is vector
	 * code that is lost, and a step through memory. */
	if (!shapes && !counts && (!is_straight(loop, store) || loop_work(loop) > MUCH_WORK))
		return false;
	enum heat heat = loop_heat(loop);
	if (heat == HEAT_COLD)
		return true;
	/* A function of this unit alone that no loop calls is not the first place to look at, nor one that makes other calls. */
	bool often = heat == HEAT_HOT || (loop->function->usr && text_starts(loop->function->usr, "c:@F@"));
	enum severity severity = !shapes || detection->guessed             ? SEVERITY_LOW
	                         : bytes && detection->vectorises && often ? SEVERITY_HIGH
	                                                                   : SEVERITY_MEDIUM;
	if (severity > SEVERITY_LOW && heat != HEAT_HOT && loop_is_aside(loop))
		severity--;
	const char *it = names.count == 1 ? "it" : "them";
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_p03, &loop->node->range, loop->function->name, severity,
	    arena_printf(arena, "%s %s read again in every iteration: the store to %s might change %s",
	                 text_join(arena, &names, ", "), names.count == 1 ? "is" : "are", node_quoted(detection->unit, store, arena), it));
	finding->evidence = arena_printf(
	    arena, "no statement of the loop assigns %s; %s; %s%s", it,
	    detection->strict ? "the store has a character type, which may alias any object"
	                      : "with -fno-strict-aliasing a store of any type may alias it",
	    shapes ? "the loop's length or addresses hang on it, so it can't be vectorised"
	           : "neither the loop's length nor its addresses hang on it, so compilers often cope",
	    counts ? arena_printf(arena, "; counted in memory besides: %s", text_join(arena, &counters, ", ")) : "");
	finding->contract = arena_printf(
	    arena, "no store of the loop changes %s%s", text_join(arena, &kept, ", "),
	    always_safe ? "" : "; what the loop's condition does not read can be read even when the loop runs zero times");
	put_candidate(detection, loop, places, count, finding);
	return true;
}

static void report_counters(struct detection *detection, const struct loop *loop)
{
	struct arena *arena = detection->sink->arena;
	struct string_list names;
	struct ast_node *store = find_counters(detection, loop, &names);
	if (!store || loop_heat(loop) == HEAT_COLD)
		return;
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_p03, &loop->node->range, loop->function->name,
	    is_straight(loop, store) && !detection->guessed ? SEVERITY_MEDIUM : SEVERITY_LOW,
	    arena_printf(arena, "%s %s counted in memory in every iteration: the store to %s might read or change %s",
	                 text_join(arena, &names, ", "), names.count == 1 ? "is" : "are", node_quoted(detection->unit, store, arena),
	                 names.count == 1 ? "it" : "them"));
	finding->evidence = "advice: count in a local and write it back after the loop";
}

static void detect_loop(struct loop *loop, void *context)
{
	struct detection *detection = context;
	long long bound = loop_bound(loop);
	if (loop->has_barrier || loop->has_inner_loop || loop->calls.count || (bound >= 0 && bound <= FEW_ITERATIONS))
		return;
	if (!report_reads(detection, loop))
		report_counters(detection, loop);
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct arena arena;
	arena_init(&arena);
	struct detection detection = {
	    .unit = unit,
	    .sink = sink,
	    .strict = command_flag(command, "-fstrict-aliasing", "-fno-strict-aliasing", true),
	    .vectorises = command_vectorises(command),
	    .guessed = command->guessed,
	};
	loops_visit(unit, &arena, detect_loop, &detection);
	arena_release(&arena);
}

#if 0 /* assay example: costs */
// flags: -O3
#include <assay/bench.h>
#include <stdlib.h>

struct masking {
	uint8_t *in, *out;
	size_t size;
	uint8_t mask;
};

static __attribute__((noinline)) void apply_mask(struct masking *m)
{
	for (size_t i = 0; i < m->size; i++) // finds
		m->out[i] = m->in[i] ^ m->mask;
}

static void *setup(struct assay_bench *b)
{
	struct masking *m = calloc(1, sizeof *m);
	m->size = assay_param_u64(b, "size", 4096);
	m->in = malloc(m->size + 64);
	m->out = malloc(m->size + 64);
	m->mask = 0x5a;
	assay_fill_random(b, m->in, m->size + 64);
	assay_bytes_per_iteration(b, m->size);
	return m;
}

static void run(void *state, uint64_t iterations)
{
	struct masking *m = state;
	for (uint64_t i = 0; i < iterations; i++) {
		apply_mask(m);
		assay_keep(m->out);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct masking *m = state;
	assay_output(b, "masked", m->out, m->size);
}

static void edges(void *state, struct assay_bench *b)
{
	struct masking *whole = state;
	static const size_t sizes[] = {0, 1, 15, 16, 17, 63};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct masking part = {whole->in + 1, whole->out + 1, sizes[i], 0xff}, *m = &part;
		apply_mask(m);
		assay_output(b, "a few bytes", part.out, sizes[i]);
		part.in = part.out;
		apply_mask(m);
		assay_output(b, "a few bytes in place", part.out, sizes[i]);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
// flags: -O3
#include <assay/bench.h>
#include <stdlib.h>

struct masking {
	uint8_t *in, *out;
	size_t size;
	uint8_t mask;
};

static __attribute__((noinline)) void apply_mask(struct masking *m)
{
	const size_t size = m->size;
	uint8_t *const out = m->out;
	uint8_t *const in = m->in;
	const uint8_t mask = m->mask;
	for (size_t i = 0; i < size; i++) // finds
		out[i] = in[i] ^ mask;
}

static void *setup(struct assay_bench *b)
{
	struct masking *m = calloc(1, sizeof *m);
	m->size = assay_param_u64(b, "size", 4096);
	m->in = malloc(m->size + 64);
	m->out = malloc(m->size + 64);
	m->mask = 0x5a;
	assay_fill_random(b, m->in, m->size + 64);
	assay_bytes_per_iteration(b, m->size);
	return m;
}

static void run(void *state, uint64_t iterations)
{
	struct masking *m = state;
	for (uint64_t i = 0; i < iterations; i++) {
		apply_mask(m);
		assay_keep(m->out);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct masking *m = state;
	assay_output(b, "masked", m->out, m->size);
}

static void edges(void *state, struct assay_bench *b)
{
	struct masking *whole = state;
	static const size_t sizes[] = {0, 1, 15, 16, 17, 63};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct masking part = {whole->in + 1, whole->out + 1, sizes[i], 0xff}, *m = &part;
		apply_mask(m);
		assay_output(b, "a few bytes", part.out, sizes[i]);
		part.in = part.out;
		apply_mask(m);
		assay_output(b, "a few bytes in place", part.out, sizes[i]);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
// refuted by measuring
// flags: -O3
#include <assay/bench.h>
#include <stdlib.h>

struct masking {
	uint8_t *in, *out;
	size_t size;
	uint8_t mask;
};

/* Only an operand is read again: the compiler makes a version of the loop for the case that nothing overlaps. */
static __attribute__((noinline)) void apply_mask(uint8_t *out, const uint8_t *in, size_t size, const struct masking *m)
{
	for (size_t i = 0; i < size; i++)
		out[i] = in[i] ^ m->mask;
}

static void *setup(struct assay_bench *b)
{
	struct masking *m = calloc(1, sizeof *m);
	m->size = assay_param_u64(b, "size", 4096);
	m->in = malloc(m->size + 64);
	m->out = malloc(m->size + 64);
	m->mask = 0x5a;
	assay_fill_random(b, m->in, m->size + 64);
	assay_bytes_per_iteration(b, m->size);
	return m;
}

static void run(void *state, uint64_t iterations)
{
	struct masking *m = state;
	for (uint64_t i = 0; i < iterations; i++) {
		apply_mask(m->out, m->in, m->size, m);
		assay_keep(m->out);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct masking *m = state;
	assay_output(b, "masked", m->out, m->size);
}

static void edges(void *state, struct assay_bench *b)
{
	struct masking *whole = state;
	static const size_t sizes[] = {0, 1, 15, 16, 17, 63};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct masking part = {whole->in + 1, whole->out + 1, sizes[i], 0xff}, *m = &part;
		apply_mask(m->out, m->in, m->size, m);
		assay_output(b, "a few bytes", part.out, sizes[i]);
		part.in = part.out;
		apply_mask(m->out, m->in, m->size, m);
		assay_output(b, "a few bytes in place", part.out, sizes[i]);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also every store without strict aliasing */
// flags: -O3 -fno-strict-aliasing
#include <stddef.h>
#include <stdint.h>
struct key {
	uint16_t mask;
	const uint32_t *table;
};
uint32_t offset;
void apply(uint32_t *out, const uint32_t *in, size_t count, const struct key *key, const uint32_t *factor)
{
	for (size_t i = 0; i < count; i++) // finds
		out[i] = (in[i] ^ key->mask) + offset;
	for (size_t i = 0; i < count; i++) { // finds
		const uint32_t *table = NULL;
		table = key->table;
		out[i] = *factor * table[i & 7];
	}
}
#endif

#if 0 /* assay example: also every store without strict aliasing fixed */
// flags: -O3 -fno-strict-aliasing
#include <stddef.h>
#include <stdint.h>
struct key {
	uint16_t mask;
	const uint32_t *table;
};
uint32_t offset;
void apply(uint32_t *out, const uint32_t *in, size_t count, const struct key *key, const uint32_t *factor)
{
	const uint16_t mask = key->mask;
	const uint32_t offset_value = offset;
	for (size_t i = 0; i < count; i++) // finds
		out[i] = (in[i] ^ mask) + offset_value;
	const uint32_t *const table_value = key->table;
	const uint32_t factor_value = *factor;
	for (size_t i = 0; i < count; i++) { // finds
		const uint32_t *table = NULL;
		table = table_value;
		out[i] = factor_value * table[i & 7];
	}
}
#endif

#if 0 /* assay example: also the way to the store is kept too */
#include <stddef.h>
#include <stdint.h>
struct buffer {
	uint8_t *bytes;
	size_t size;
	uint8_t fill;
};
void fill(struct buffer *buffer)
{
	for (size_t i = 0; i < buffer->size; i++) // finds
		buffer->bytes[i] = buffer->fill;
}
#endif

#if 0 /* assay example: also the way to the store is kept too fixed */
#include <stddef.h>
#include <stdint.h>
struct buffer {
	uint8_t *bytes;
	size_t size;
	uint8_t fill;
};
void fill(struct buffer *buffer)
{
	const size_t size = buffer->size;
	uint8_t *const bytes = buffer->bytes;
	const uint8_t fill_value = buffer->fill;
	for (size_t i = 0; i < size; i++) // finds
		bytes[i] = fill_value;
}
#endif

#if 0 /* assay example: also only the way to the store */
#include <stddef.h>
#include <stdint.h>
struct window {
	uint8_t *bytes;
};
void clear(struct window *window, size_t size, uint8_t value)
{
	for (size_t i = 0; i < size; i++) // finds
		window->bytes[i] = value;
}
#endif

#if 0 /* assay example: also only the way to the store fixed */
#include <stddef.h>
#include <stdint.h>
struct window {
	uint8_t *bytes;
};
void clear(struct window *window, size_t size, uint8_t value)
{
	uint8_t *const bytes = window->bytes;
	for (size_t i = 0; i < size; i++) // finds
		bytes[i] = value;
}
#endif

#if 0 /* assay example: also a store that a cast makes one of bytes */
#include <stddef.h>
#include <stdint.h>
struct limits {
	size_t size;
};
void invert(uint32_t *words, const struct limits *limits)
{
	for (size_t i = 0; i < limits->size; i++) // finds
		((uint8_t *)words)[i] ^= 0xff;
	for (size_t i = 0; i < limits->size / 4; i++)
		words[i] ^= 0xff;
}
#endif

#if 0 /* assay example: also a store that a cast makes one of bytes fixed */
#include <stddef.h>
#include <stdint.h>
struct limits {
	size_t size;
};
void invert(uint32_t *words, const struct limits *limits)
{
	const size_t size = limits->size;
	for (size_t i = 0; i < size; i++) // finds
		((uint8_t *)words)[i] ^= 0xff;
	for (size_t i = 0; i < limits->size / 4; i++)
		words[i] ^= 0xff;
}
#endif

#if 0 /* assay example: also counted in memory */
#include <stddef.h>
#include <stdint.h>
struct cursor {
	uint8_t *at;
	size_t left;
};
void put(struct cursor *cursor, const uint8_t *from, size_t size)
{
	while (size--) { // finds
		*cursor->at++ = *from++;
		cursor->left--;
	}
}
#endif

#if 0 /* assay example: also advice where no declaration fits */
#include <stddef.h>
#include <stdint.h>
struct key {
	uint8_t mask;
};
void apply(uint8_t *out, const uint8_t *in, size_t size, const struct key *key)
{
	if (size > 8)
		for (size_t i = 0; i < size; i++) // finds
			out[i] = in[i] ^ key->mask;
}
#endif

#if 0 /* assay example: lookalike the loop that a macro wraps around a block */
#include <stddef.h>
#include <stdint.h>
struct key {
	uint8_t mask;
};
#define PUT(to, key, value)                   \
	do {                                      \
		(to)[0] = (uint8_t)(value) ^ key->mask; \
		(to)[1] = key->mask;                    \
	} while (0)
void put(uint8_t *out, unsigned value, const struct key *key)
{
	PUT(out, key, value);
	PUT(out + 2, key, value >> 8);
}
#endif

#if 0 /* assay example: lookalike an opaque call */
#include <stdint.h>
#include <stddef.h>
struct key {
	uint8_t mask;
};
void progress(size_t done);
void apply(uint8_t *out, const uint8_t *in, size_t size, const struct key *key)
{
	for (size_t i = 0; i < size; i++) {
		out[i] = in[i] ^ key->mask;
		progress(i);
	}
}
#endif

#if 0 /* assay example: lookalike the u32 twin */
#include <stdint.h>
#include <stddef.h>
struct key {
	uint16_t mask;
};
void apply(uint32_t *out, const uint32_t *in, size_t count, const struct key *key)
{
	for (size_t i = 0; i < count; i++)
		out[i] = in[i] ^ key->mask;
}
#endif

#if 0 /* assay example: lookalike volatile and atomic */
#include <stdatomic.h>
#include <stdint.h>
#include <stddef.h>
struct port {
	volatile uint8_t status;
	_Atomic uint8_t mask;
};
void drain(uint8_t *out, size_t size, struct port *port)
{
	for (size_t i = 0; i < size; i++)
		out[i] = port->status;
	for (size_t i = 0; i < size; i++)
		out[i] = atomic_load_explicit(&port->mask, memory_order_relaxed);
}
#endif

#if 0 /* assay example: lookalike stores that stay local */
#include <stdint.h>
#include <stddef.h>
struct key {
	uint8_t mask, length;
};
unsigned digest(const uint8_t *in, const struct key *key)
{
	uint8_t block[64];
	unsigned sum = 0;
	for (size_t i = 0; i < sizeof block; i++)
		block[i] = in[i] ^ key->mask;
	uint8_t *at = block;
	for (size_t i = 0; i < sizeof block; i++)
		at[i] = at[i] ^ key->length;
	for (size_t i = 0; i < sizeof block; i++)
		sum += block[i];
	return sum;
}
#endif

#if 0 /* assay example: lookalike restrict */
#include <stdint.h>
#include <stddef.h>
struct key {
	uint8_t mask;
};
void apply(uint8_t *restrict out, const uint8_t *restrict in, size_t size, const struct key *key)
{
	for (size_t i = 0; i < size; i++)
		out[i] = in[i] ^ key->mask;
}
#endif

#if 0 /* assay example: lookalike it is assigned */
#include <stdint.h>
#include <stddef.h>
struct generator {
	uint32_t state;
};
void fill(uint8_t *out, size_t size, struct generator *generator)
{
	uint32_t state = generator->state;
	for (size_t i = 0; i < size; i++) {
		state = state * 1664525u + 1013904223u;
		out[i] = (uint8_t)(state >> 24);
	}
	generator->state = state;
	for (size_t i = 0; i < size; i++) {
		generator->state = i & 1 ? generator->state * 5 : (uint32_t)i;
		out[i] ^= (uint8_t)generator->state;
	}
}
#endif

#if 0 /* assay example: lookalike a table inside the record, the way to a store in a branch */
#include <stddef.h>
#include <stdint.h>
struct window {
	uint8_t *bytes;
	uint8_t table[256];
	size_t size;
};
void fill(struct window *window, size_t size)
{
	for (size_t i = 0; i < sizeof window->table; i++)
		window->table[i] = (uint8_t)i;
	for (size_t i = 0; i < window->size; i++)
		window->table[i] = (uint8_t)i;
	for (size_t i = 0; i < size; i++) {
		if (i & 3)
			continue;
		window->bytes[i] = 0;
	}
}
#endif

#if 0 /* assay example: lookalike read in a branch, or a few times only */
#include <stdint.h>
#include <stddef.h>
struct key {
	uint8_t mask;
};
static uint8_t level;
void set_level(int value)
{
	level = (uint8_t)value;
}
void apply(uint8_t *out, const uint8_t *in, size_t size, const struct key *key)
{
	for (size_t i = 0; i < size; i++)
		out[i] = in[i] == 0 && key ? key->mask : in[i];
	for (int i = 0; i < 4; i++)
		out[i] = in[i] ^ key->mask;
	for (size_t i = 0; i < size; i++)
		out[i] = in[i] ^ level;
}
#endif

#if 0 /* assay example: lookalike configuration and start-up */
// flags: -O3
#include <stddef.h>
#include <stdint.h>
typedef struct {
	uint8_t *table;
	size_t size;
} lib_conf_t;
struct archive {
	uint8_t *header;
	size_t size;
};
char *map_block(lib_conf_t *cf)
{
	for (size_t i = 0; i < cf->size; i++)
		cf->table[i] = (uint8_t)i;
	return NULL;
}
static void copy_name(struct archive *archive, const char *name)
{
	for (size_t i = 0; i < archive->size; i++)
		archive->header[46 + i] = (uint8_t)name[i];
}
void archiveOpenFile(struct archive *archive, const char *name, const char *comment)
{
	for (size_t i = 0; i < archive->size; i++)
		archive->header[i] = (uint8_t)comment[i];
	copy_name(archive, name);
}
void rescale(struct archive *archive)
{
	for (int i = 0; i < 36; i++)
		archive->header[i] = (uint8_t)(archive->header[i] >> 1);
}
#endif

#if 0 /* assay example: lookalike a load beside a branch, a scattered store or much work */
// flags: -O3 -fno-strict-aliasing
#include <stddef.h>
#include <stdint.h>
struct child {
	struct child *parent;
	uint64_t size;
};
struct node {
	uint32_t count;
	struct child **children;
	struct child *row;
	unsigned *frequency;
	size_t left;
};
void adopt(struct node *node, struct child *parent)
{
	for (uint32_t i = 0; i < node->count; i++)
		node->children[i]->parent = parent;
	for (uint32_t i = 0; i < node->count; i++)
		node->row[i].size = 0;
}
void count_literals(struct node *node, const uint8_t *literals, size_t count)
{
	for (size_t i = 0; i < count; i++)
		node->frequency[literals[i]] += 2;
}
size_t narrow(uint8_t *out, const uint16_t *in, const size_t *length)
{
	size_t used = 0;
	for (size_t i = 0; i < *length; i++) {
		if (in[i] > 255)
			out[used++] = (uint8_t)(in[i] >> 8);
		out[used++] = (uint8_t)in[i];
	}
	return used;
}
void push(struct node *node, const struct child *from, size_t size)
{
	while (size--)
		*node->row++ = *from++;
}
#endif

#if 0 /* assay example: lookalike an array that was just allocated */
// flags: -O3 -fno-strict-aliasing
#include <stdlib.h>
struct list {
	int count, *at;
	void **pointers;
};
extern void *list_alloc(struct list *list, size_t size);
/* What the new memory costs hides what is read again; for bytes see "costs". */
void number_all(struct list *list)
{
	list->at = malloc((size_t)list->count * sizeof *list->at);
	for (int i = 0; i < list->count; i++)
		list->at[i] = i;
}
void append_all(struct list *list, const struct list *from, int count)
{
	list->pointers = (void **)realloc(list->pointers, (size_t)count * sizeof *list->pointers);
	for (int i = list->count; i < count; i++)
		list->pointers[i] = from->pointers[i - list->count];
}
void map_all(const struct list *list, int **map)
{
	*map = list_alloc(NULL, (size_t)list->count * sizeof **map);
	for (int i = 0; i < list->count; i++)
		(*map)[i] = -1;
}
#endif

#if 0 /* assay example: lookalike a handful of turns */
// flags: -O3 -fno-strict-aliasing
struct relation {
	int natts, *lengths;
};
void lengths_take(const struct relation *relation, int *lengths)
{
	for (int i = 0; i < relation->natts; i++)
		lengths[i] = relation->lengths[i];
}
struct words {
	int argc;
	char **argv;
};
void words_take(const struct words *words, char **argv)
{
	for (int i = 1; i < words->argc; i++)
		argv[i - 1] = words->argv[i];
}
#endif
