/* S11 over-strong-ordering: a store that waits for all stores before it, where an order of stores is all that is needed.
 *
 * On x86 every plain store is a release store already. What a sequentially consistent store adds is that no later load of
 * the same thread goes ahead of it, and it is paid for by xchg (or mov and mfence): the store buffer has to drain. A load,
 * and a read-modify-write, cost the same in every order there, so they are no part of this.
 *
 * Who needs the store before the load needs the price: Dekker's and Peterson's locks, hazard pointers, a sleeper's flag, a
 * sequence that becomes odd. So whatever can come after the store on the same thread must be seen here, and be harmless:
 * no operation on another atomic but a store, no fence, no volatile, no call that isn't known, no decision by what others
 * write; in a loop that holds for all of the loop. And it has to be a place where it counts: in a loop, at the end of a
 * leaf function that moves its own index or count on, or that unlocks.
 */
#include "patterns/query.h"

#include "base/text.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_s11 = {
    .id = "S11",
    .slug = "over-strong-ordering",
    .title = "a sequentially consistent store where a release store does",
    .tier = TIER_B,
    .what = "A sequentially consistent store (atomic_store(), = to an _Atomic, __atomic_store_n() with __ATOMIC_SEQ_CST, "
            "__sync_lock_test_and_set() whose result nobody takes, or a full barrier between two plain stores) in a loop, or "
            "as the last thing that a leaf function does to move its own index on or to unlock; with no load of another "
            "atomic, no fence and no unknown call behind it.",
    .why = "On x86 it is an xchg: it waits until all stores before it have left the store buffer, some twenty cycles and more "
           "when one of them misses, and nothing overtakes it. A release store is a plain mov. Loads and read-modify-writes "
           "are the same instruction in either order, and on AArch64 so are these stores.",
    .when_not = "The thread loads another place afterwards and relies on its own store being seen first: Dekker's and "
                "Peterson's locks, hazard pointers, \"set the flag, then look whether somebody sleeps\", the store that makes "
                "a sequence lock odd. That may stand in the caller.",
    .expected = "16x to 20x for a loop that does little else (catalogue's own measurement: gcc 12 and clang 19 on an AMD EPYC); "
                "nothing where the store is one in some hundred instructions",
    .refuted_by = "Equal machine code: not x86, or the compiler knows that nobody else looks. Or a store that is rare.",
    .sources = (const char *const[]){"Peter Sewell and others, x86-TSO: a rigorous and usable programmer's model for x86 "
                                     "multiprocessors, CACM 53, 2010",
                                     "ISO/IEC 9899:2018, 7.17.3 Order and consistency",
                                     "Sarita Adve and Kourosh Gharachorloo, Shared memory consistency models: a tutorial, IEEE "
                                     "Computer 29, 1996",
                                     NULL},
    .detect = detect,
};

/* How a store is written. */
enum form {
	FORM_MACRO,   /* atomic_store(pointer, value) */
	FORM_ORDERED, /* the order is its last argument: atomic_store_explicit(), __atomic_store_n(), … */
	FORM_ASSIGN,  /* = to an _Atomic */
	FORM_SYNC,    /* __sync_lock_test_and_set(pointer, value); */
	FORM_FENCE,   /* a = …; __sync_synchronize(); b = …; */
	FORM_OTHER,   /* out of a macro of the project's */
};

struct store {
	struct ast_node *node;   /* the operation; of FORM_FENCE the barrier */
	struct ast_node *object; /* that is stored to; of FORM_FENCE by the store behind it */
	struct ast_node *value;  /* or NULL: counted up */
	enum form form;
};
LIST_OF(struct store, store_list);
LIST_OF(const struct loop *, loop_list);

struct detection {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
	struct ast_node *function;
	struct loop_list loops; /* of the whole unit */
	struct store_list stores;
	bool has_label;     /* then what stands before may come after */
	bool includes_atomic; /* <stdatomic.h> */
};

static bool is_private(struct ast_node *lvalue)
{
	struct access access = access_of(lvalue);
	return access_is_private(&access);
}

/* ---- which stores there are ------------------------------------------------------------------------------------ */

enum { SEQUENTIALLY_CONSISTENT = 5, LARGEST_BYTES = 8 };

static bool is_statement(const struct ast_node *node)
{
	const struct ast_node *at = node;
	while (at->parent && (at->parent->kind == AST_PAREN ||
	                      (at->parent->kind == AST_CAST && at->parent->type && at->parent->type->kind == TYPE_VOID)))
		at = at->parent;
	const struct ast_node *up = at->parent;
	return up && (up->kind == AST_COMPOUND || ((up->kind == AST_IF || up->kind == AST_CASE || up->kind == AST_LABEL ||
	                                            ast_is_loop(up)) && (at == up->body || at == up->otherwise)));
}

/* __sync_lock_test_and_set() whose result nobody takes; the front end may add a size to its name. */
static bool is_exchange_for_store(const struct ast_node *node)
{
	return node->kind == AST_CALL && call_name(node) && text_starts(call_name(node), "__sync_lock_test_and_set") &&
	       is_statement(node);
}

static bool is_atomic_store(const struct ast_node *node)
{
	return node->kind == AST_ATOMIC && node->name && strstr(node->name, "atomic_store") != NULL;
}

/* `a = …` and `a++`, as a statement: what is assigned; NULL: no such statement, or nobody else can see it. */
static struct ast_node *plain_store(struct ast_node *statement)
{
	struct ast_node *node = ast_strip(statement);
	if (!node || !(node->kind == AST_ASSIGN || node->kind == AST_COMPOUND_ASSIGN || node_is_increment(node)))
		return NULL;
	struct ast_node *target = ast_operand(node, 0);
	return target && target->type && !target->type->is_atomic && !target->type->is_volatile && !is_private(target) ? target : NULL;
}

static bool stores_visit(struct ast_node *node, void *context)
{
	static const char *const copies[] = {"memcpy", "memmove", "memset", "__builtin_memcpy", NULL};
	*(bool *)context |= plain_store(node) || (node->kind == AST_CALL && call_is(node, copies));
	return !*(bool *)context;
}

/* A full barrier that is written out between plain stores and one more. A volatile one may be a device's: it is left. */
static void fence_look(struct detection *detection, struct ast_node *call)
{
	static const char *const full[] = {"__sync_synchronize", NULL};
	const struct ast_node *block = call->parent;
	if (!call_is(call, full) || call->range.in_macro || !block || block->kind != AST_COMPOUND)
		return;
	for (size_t i = 1; i + 1 < block->children.count; i++) {
		struct ast_node *next = ast_strip(block->children.at[i + 1]);
		bool stores = false;
		if (block->children.at[i] != call || !plain_store(next))
			continue;
		ast_walk(block->children.at[i - 1], stores_visit, &stores);
		if (!stores)
			continue;
		struct store store = {.node = call, .object = plain_store(next), .form = FORM_FENCE};
		store.value = next->kind == AST_ASSIGN ? ast_child(next, 1) : NULL;
		list_push(detection->sink->arena, &detection->stores, store);
	}
}

static enum form form_of(const struct ast_unit *unit, const struct ast_node *node)
{
	static const char *const ordered[] = {"atomic_store_explicit", "__atomic_store_n", "__atomic_store", "__c11_atomic_store"};
	const char *text = node->range.file ? ast_text(unit, &node->range) : NULL;
	size_t size = text ? strcspn(text, " \t(") : 0;
	if (!text || !node_is_replaceable(unit, node))
		return FORM_OTHER;
	if (size == strlen("atomic_store") && strncmp(text, "atomic_store", size) == 0)
		return FORM_MACRO;
	for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++)
		if (strlen(ordered[i]) == size && strncmp(text, ordered[i], size) == 0)
			return FORM_ORDERED;
	return FORM_OTHER;
}

static bool collect(struct ast_node *node, void *context)
{
	struct detection *detection = context;
	struct store store = {.node = node};
	if (node->kind == AST_SIZEOF)
		return false;
	if (node->kind == AST_LABEL)
		detection->has_label = true;
	if (is_atomic_store(node) && node->has_value && node->value == SEQUENTIALLY_CONSISTENT) {
		struct atomic atomic = {.pointer = ast_child(node, 0), .style = ATOMIC_BUILTIN};
		store.object = atomic_object(&atomic);
		store.value = ast_child(node, 2);
		store.form = form_of(detection->unit, node);
	} else if (node->kind == AST_ASSIGN && ast_child(node, 0) && node->children.at[0]->type &&
	           node->children.at[0]->type->is_atomic && is_statement(node)) {
		store.object = ast_strip_casts(node->children.at[0]);
		store.value = ast_child(node, 1);
		store.form = node_is_replaceable(detection->unit, node) ? FORM_ASSIGN : FORM_OTHER;
	} else if (is_exchange_for_store(node)) {
		struct atomic atomic = atomic_of(node);
		store.object = atomic_object(&atomic);
		store.value = atomic.value;
		store.form = node->range.in_macro ? FORM_OTHER : FORM_SYNC;
	} else if (node->kind == AST_CALL) {
		fence_look(detection, node);
	}
	const struct ast_type *type = store.object ? store.object->type : NULL;
	if (type && type->kind == TYPE_POINTER && store.object == ast_strip_casts(ast_child(node, node->kind == AST_CALL)))
		type = type->pointee; /* it is the address, not what stands there */
	if (type && type->size > 0 && type->size <= LARGEST_BYTES)
		list_push(detection->sink->arena, &detection->stores, store);
	return true;
}

/* ---- what may come after --------------------------------------------------------------------------------------- */

struct after {
	const struct store *store;
	const struct ast_node *around; /* the outermost loop: all of it comes after, too; NULL: none */
	bool strict;  /* nothing that others see may be read or written at all */
	bool matters; /* the order may matter */
};

static bool is_later(const struct after *after, const struct ast_node *node)
{
	for (const struct ast_node *at = node; at && after->around; at = at->parent)
		if (at == after->around)
			return true;
	return node->range.offset >= after->store->node->range.end_offset;
}

static bool is_known_call(const struct ast_node *call)
{
	static const char *const known[] = {"memcpy", "memset", "memmove", "__builtin_memcpy", "__builtin_memset", "__builtin_memmove",
	                                    "__builtin_ia32_pause", "__builtin_trap", "__assert_fail", "abort",
	                                    NULL};
	const char *name = call_name(call);
	return call_is(call, known) || call_is_pure(call) || (name && text_starts(name, "__sync_lock_release"));
}

/* The operand of &, or what is stored to. */
static bool is_no_read(const struct ast_node *node)
{
	const struct ast_node *at = node, *up = node->parent;
	while (up && up->kind == AST_PAREN) {
		at = up;
		up = up->parent;
	}
	return up && ((up->kind == AST_UNARY && up->op == OP_ADDRESS) || (up->kind == AST_ASSIGN && ast_child(up, 0) == at));
}

static bool is_place(const struct ast_node *node)
{
	return node->kind == AST_MEMBER || node->kind == AST_SUBSCRIPT || (node->kind == AST_UNARY && node->op == OP_DEREF) ||
	       (node->kind == AST_REF && node->decl && node->decl->kind == AST_VAR);
}

/* Whether others may write there while this runs. What is behind a pointer to const is an input. */
static bool is_shared_read(const struct after *after, struct ast_node *node)
{
	if (!is_place(node) || is_no_read(node) || path_equal(node, after->store->object))
		return false;
	struct access access = access_of(node);
	const struct ast_type *type = access.pointer ? access.pointee : access.object ? access.object->type : NULL;
	return !access_is_private(&access) && !(type && type->is_const) && !(node->type && node->type->kind == TYPE_ARRAY);
}

static bool decides_visit(struct ast_node *node, void *context)
{
	struct after *after = context;
	after->matters |= is_shared_read(after, node);
	return !after->matters && node->kind != AST_SIZEOF;
}

static bool after_visit(struct ast_node *node, void *context)
{
	struct after *after = context;
	const struct store *store = after->store;
	if (node->kind == AST_SIZEOF || after->matters)
		return false;
	/* A parent may begin before the store and end after it. */
	if (!is_later(after, node) || node == store->node)
		return true;
	if (node->kind == AST_ASM)
		after->matters = true;
	if (node->kind == AST_ATOMIC) {
		struct atomic atomic = {.pointer = ast_child(node, 0), .style = ATOMIC_BUILTIN};
		after->matters |= after->strict || !(is_atomic_store(node) || path_equal(atomic_object(&atomic), store->object));
	}
	if (node->kind == AST_CALL) {
		struct atomic atomic = atomic_of(node);
		bool same = atomic.kind != ATOMIC_NONE && path_equal(atomic_object(&atomic), store->object);
		after->matters |= !(same || is_known_call(node) || is_exchange_for_store(node));
	}
	if (is_place(node) && node->type && (node->type->is_atomic || node->type->is_volatile) && !is_no_read(node) &&
	    !path_equal(node, store->object))
		after->matters = true;
	bool plain = store->form == FORM_FENCE || after->strict;
	after->matters |= plain && is_shared_read(after, node);
	bool writes = node->kind == AST_ASSIGN || node->kind == AST_COMPOUND_ASSIGN || node_is_increment(node);
	after->matters |= after->strict && writes && !is_private(ast_child(node, 0)) && !path_equal(ast_child(node, 0), store->object);
	struct ast_node *condition = node->kind == AST_CONDITIONAL ? ast_child(node, 0) : node->condition;
	if (condition)
		ast_walk(condition, decides_visit, after);
	return !after->matters;
}

/* Whether some code behind the store may rely on its having been seen. */
static bool order_may_matter(struct detection *detection, const struct store *store, const struct ast_node *around, bool strict)
{
	struct after after = {.store = store, .around = detection->has_label ? detection->function : around, .strict = strict};
	ast_walk(detection->function->body, after_visit, &after);
	return after.matters;
}

/* ---- where it counts ------------------------------------------------------------------------------------------- */

static const struct loop *loop_around(const struct detection *detection, const struct ast_node *node)
{
	for (const struct ast_node *at = node->parent; at; at = at->parent)
		for (size_t i = 0; node_is_loop(at) && i < detection->loops.count; i++)
			if (detection->loops.at[i]->node == at)
				return detection->loops.at[i];
	return NULL;
}

static const struct ast_node *outermost_loop(const struct ast_node *node)
{
	const struct ast_node *found = NULL;
	for (const struct ast_node *at = node->parent; at; at = at->parent)
		if (node_is_loop(at))
			found = at;
	return found;
}

struct origin {
	struct ast_node *object;
	unsigned depth;
	bool found;
};

/* Whether a value was worked out from what stood in the object: then this thread alone moves it on. */
static bool origin_visit(struct ast_node *node, void *context)
{
	enum { DEEP = 3 };
	struct origin *origin = context;
	origin->found |= path_equal(node, origin->object);
	if (!origin->found && origin->depth < DEEP && node->kind == AST_REF && !node->is_global && node->decl &&
	    node->decl->kind == AST_VAR && node->decl->init) {
		origin->depth++;
		ast_walk(node->decl->init, origin_visit, origin);
		origin->depth--;
	}
	return !origin->found;
}

static bool moves_its_own(const struct store *store)
{
	struct origin origin = {.object = store->object};
	if (!store->value)
		return store->form == FORM_FENCE; /* counted up */
	ast_walk(store->value, origin_visit, &origin);
	return origin.found;
}

static bool unlocks(const struct detection *detection, const struct store *store)
{
	static const char *const held[] = {"lock", "locked", "spin", "spinlock", "held", "busy", "latch", "taken", NULL};
	const char *function = detection->function->name;
	bool lock = false;
	for (struct ast_node *at = store->object; at; at = ast_operand(at, 0))
		for (size_t i = 0; at->name && held[i]; i++)
			lock |= name_has_word(at->name, held[i]);
	return store->value && node_is_zero(store->value) && store->form != FORM_FENCE &&
	       (name_has_word(function, "unlock") || (name_has_word(function, "release") && lock));
}

static bool leaf_visit(struct ast_node *node, void *context)
{
	static const char *const full[] = {"__sync_synchronize", NULL};
	bool *leaf = context;
	bool unknown = node->kind == AST_CALL && atomic_of(node).kind == ATOMIC_NONE && !is_known_call(node) && !call_is(node, full);
	*leaf &= node->kind != AST_ASM && !unknown;
	return *leaf;
}

static bool is_leaf(const struct ast_node *function)
{
	bool leaf = true;
	ast_walk(function->body, leaf_visit, &leaf);
	return leaf;
}

static bool is_stored_again(const struct detection *detection, const struct store *store)
{
	for (size_t i = 0; i < detection->stores.count; i++)
		if (&detection->stores.at[i] != store && path_equal(detection->stores.at[i].object, store->object))
			return true;
	return false;
}

/* Puts an array into its first state: once, however long it is. */
static bool resets(const struct loop *loop, const struct store *store)
{
	long long value;
	return store->value && node_constant(store->value, &value) && !loop_same_place(loop, store->object);
}

/* ---- the candidate --------------------------------------------------------------------------------------------- */

static bool put_candidate(struct detection *detection, const struct store *store, struct finding *finding)
{
	const struct ast_unit *unit = detection->unit;
	struct arena *arena = detection->sink->arena;
	const struct ast_range *range = &store->node->range;
	const struct ast_node *pointer = ast_child(store->node, store->form == FORM_SYNC);
	const char *object = pointer ? ast_text(unit, &pointer->range) : NULL;
	const char *value = store->value ? ast_text(unit, &store->value->range) : NULL;
	const char *text = NULL;
	bool read = object && value && !strchr(object, '\n') && !strchr(value, '\n');
	switch (store->form) {
	case FORM_MACRO:
		if (read)
			text = arena_printf(arena, "atomic_store_explicit(%s, %s, memory_order_release)", object, value);
		break;
	case FORM_ASSIGN:
		/* & binds tighter than all but what names a place. */
		if (read && detection->includes_atomic && is_place(store->object) && store->object->kind != AST_UNARY)
			text = arena_printf(arena, "atomic_store_explicit(&%s, %s, memory_order_release)", object, value);
		break;
	case FORM_SYNC:
		if (read)
			text = arena_printf(arena, "__atomic_store_n(%s, %s, __ATOMIC_RELEASE)", object, value);
		break;
	case FORM_FENCE:
		text = "__atomic_thread_fence(__ATOMIC_RELEASE)";
		break;
	case FORM_ORDERED: {
		const struct ast_node *order = ast_child(store->node, 1);
		const char *name = order ? ast_text(unit, &order->range) : NULL;
		bool c11 = name && text_equal(name, "memory_order_seq_cst"), builtin = name && text_equal(name, "__ATOMIC_SEQ_CST");
		if (!(c11 || builtin) || !text_equal(order->range.file, range->file))
			return false;
		finding_edit(detection->sink, finding, order->range.offset, strlen(name),
		             c11 ? "memory_order_release" : "__ATOMIC_RELEASE");
		return true;
	}
	case FORM_OTHER:
		break;
	}
	if (text)
		finding_edit(detection->sink, finding, range->offset, range->end_offset - range->offset, text);
	return text != NULL;
}

/* ---- the finding ----------------------------------------------------------------------------------------------- */

static void report(struct detection *detection, const struct store *store, const struct loop *loop, bool unlocking)
{
	struct arena *arena = detection->sink->arena;
	const struct ast_node *function = detection->function;
	const char *object = node_text(detection->unit, store->object, arena);
	bool hot = loop || function_heat(detection->unit, function) == HEAT_HOT;
	const char *where = loop ? "in every turn of a loop" : unlocking ? "to unlock" : "to move it on";
	const char *message =
	    store->form == FORM_FENCE
	        ? arena_printf(arena, "a full barrier stands between two stores %s, where their order is all there is to keep",
	                       loop ? "in every turn of a loop" : "in each call")
	        : arena_printf(arena, "`%s` is stored %s as if a later load had to wait for it: an xchg on x86", object, where);
	struct finding *finding = finding_new(detection->sink, detection->unit, &pattern_s11, &store->node->range, function->name,
	                                      hot ? SEVERITY_MEDIUM : SEVERITY_LOW, message);
	if (!put_candidate(detection, store, finding)) {
		finding->evidence = "advice: a release store, with the contract that nothing relies on this store being seen before a "
		                    "later load of another place";
		return;
	}
	finding->evidence = loop ? "nothing in the loop or behind it loads another atomic, decides by what others write, or calls "
	                           "what isn't known here"
	                         : "it is the last thing that the function does to memory";
	finding->contract = arena_printf(arena,
	                                 "nobody relies on this store being seen before a later load of another place by the same "
	                                 "thread, as Dekker's lock and hazard pointers do; that goes for the callers of %s(), too",
	                                 function->name ? function->name : "the function");
}

static void store_look(struct detection *detection, const struct store *store)
{
	const struct ast_node *function = detection->function;
	const struct loop *loop = loop_around(detection, store->node);
	if (!store->object || is_private(store->object) || !store->node->range.file ||
	    !text_equal(store->node->range.file, function->range.file) || is_stored_again(detection, store) ||
	    function_heat(detection->unit, function) == HEAT_COLD)
		return;
	if (loop) {
		bool hot = loop_heat(loop) != HEAT_COLD && loop_always(loop, store->node) && !resets(loop, store);
		if (hot && !order_may_matter(detection, store, outermost_loop(store->node), false))
			report(detection, store, loop, false);
		return;
	}
	bool unlocking = unlocks(detection, store);
	if ((unlocking || moves_its_own(store)) && is_leaf(function) && !order_may_matter(detection, store, NULL, true))
		report(detection, store, NULL, unlocking);
}

static void loop_keep(struct loop *loop, void *context)
{
	struct detection *detection = context;
	list_push(detection->sink->arena, &detection->loops, loop);
}

static bool includes_stdatomic(const struct ast_unit *unit)
{
	for (size_t i = 0; i < unit->files.count; i++) {
		size_t size;
		const char *text = ast_file_text(unit, unit->files.at[i], &size);
		if (text && strstr(text, "<stdatomic.h>"))
			return true;
	}
	return false;
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	struct arena arena;
	arena_init(&arena);
	struct detection detection = {.unit = unit, .sink = sink, .includes_atomic = includes_stdatomic(unit)};
	loops_visit(unit, &arena, loop_keep, &detection);
	for (size_t i = 0; i < unit->top.count; i++) {
		struct ast_node *function = unit->top.at[i];
		if (function->kind != AST_FUNCTION || !function->is_definition || !function->range.in_tree)
			continue;
		detection.function = function;
		detection.stores.count = 0;
		detection.has_label = false;
		ast_walk(function->body, collect, &detection);
		for (size_t k = 0; k < detection.stores.count; k++)
			store_look(&detection, &detection.stores.at[k]);
	}
	arena_release(&arena);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SLOTS = 1024 };

struct ring {
	uint32_t slots[SLOTS];
	_Atomic uint64_t head;
	uint32_t in[SLOTS];
};

/* Each word is published for a reader on another thread as soon as it is there. */
static __attribute__((noinline)) void put_all(struct ring *ring, const uint32_t *in, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ring->slots[i % SLOTS] = in[i];
		atomic_store(&ring->head, i + 1); // finds
	}
}

static void *setup(struct assay_bench *b)
{
	struct ring *ring = calloc(1, sizeof *ring);
	assay_fill_random(b, ring->in, sizeof ring->in);
	return ring;
}

static void run(void *state, uint64_t iterations)
{
	struct ring *ring = state;
	for (uint64_t i = 0; i < iterations; i++) {
		put_all(ring, ring->in, SLOTS);
		assay_keep(ring);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct ring *ring = state;
	uint64_t head = atomic_load(&ring->head);
	assay_output(b, "slots", ring->slots, sizeof ring->slots);
	assay_output(b, "head", &head, sizeof head);
}

static void edges(void *state, struct assay_bench *b)
{
	struct ring *ring = state;
	put_all(ring, ring->in, 0);
	put_all(ring, ring->in + 7, 1);
	output(ring, b);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges, .teardown = free};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SLOTS = 1024 };

struct ring {
	uint32_t slots[SLOTS];
	_Atomic uint64_t head;
	uint32_t in[SLOTS];
};

/* Each word is published for a reader on another thread as soon as it is there. */
static __attribute__((noinline)) void put_all(struct ring *ring, const uint32_t *in, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ring->slots[i % SLOTS] = in[i];
		atomic_store_explicit(&ring->head, i + 1, memory_order_release); // finds
	}
}

static void *setup(struct assay_bench *b)
{
	struct ring *ring = calloc(1, sizeof *ring);
	assay_fill_random(b, ring->in, sizeof ring->in);
	return ring;
}

static void run(void *state, uint64_t iterations)
{
	struct ring *ring = state;
	for (uint64_t i = 0; i < iterations; i++) {
		put_all(ring, ring->in, SLOTS);
		assay_keep(ring);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct ring *ring = state;
	uint64_t head = atomic_load(&ring->head);
	assay_output(b, "slots", ring->slots, sizeof ring->slots);
	assay_output(b, "head", &head, sizeof head);
}

static void edges(void *state, struct assay_bench *b)
{
	struct ring *ring = state;
	put_all(ring, ring->in, 0);
	put_all(ring, ring->in + 7, 1);
	output(ring, b);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges, .teardown = free};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SLOTS = 1024 };

struct ring {
	uint32_t slots[SLOTS];
	_Atomic uint64_t head;
	uint32_t in[SLOTS];
};

/* Looks each time whether there is more, by a load that is as strong: it is a plain mov. */
static __attribute__((noinline)) uint64_t take_all(struct ring *ring)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < atomic_load(&ring->head); i++)
		sum += ring->slots[i % SLOTS];
	return sum;
}

static void *setup(struct assay_bench *b)
{
	struct ring *ring = calloc(1, sizeof *ring);
	assay_fill_random(b, ring->slots, sizeof ring->slots);
	atomic_store(&ring->head, SLOTS);
	return ring;
}

static void run(void *state, uint64_t iterations)
{
	struct ring *ring = state;
	for (uint64_t i = 0; i < iterations; i++) {
		uint64_t sum = take_all(ring);
		assay_keep(&sum);
	}
}

static void output(void *state, struct assay_bench *b)
{
	uint64_t sum = take_all(state);
	assay_output(b, "sum", &sum, sizeof sum);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .teardown = free};
#endif

#if 0 /* assay example: also other ways to write it */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct queue {
	_Atomic size_t head, tail;
	size_t size, plain_head;
	uint32_t *slots;
};
struct gate {
	atomic_int locked;
	int taken;
};
static uint64_t done_bytes;

/* One thread puts, another one takes: each moves its own index on. */
int queue_put(struct queue *queue, uint32_t word)
{
	size_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
	if (head - atomic_load(&queue->tail) == queue->size)
		return 0;
	queue->slots[head % queue->size] = word;
	atomic_store_explicit(&queue->head, head + 1, memory_order_seq_cst); // finds
	return 1;
}
int queue_take(struct queue *queue, uint32_t *word)
{
	size_t tail = queue->tail, next = tail + 1;
	if (queue->head == tail)
		return 0;
	*word = queue->slots[tail % queue->size];
	queue->tail = next; // finds
	return 1;
}
void gate_unlock(struct gate *gate)
{
	atomic_store(&gate->locked, 0); // finds
}
void gate_release(struct gate *gate)
{
	__sync_lock_test_and_set(&gate->taken, 0); // finds
}
uint64_t bytes_scan(const uint8_t *bytes, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		sum += bytes[i];
		__atomic_store_n(&done_bytes, i + 1, __ATOMIC_SEQ_CST); // finds
	}
	return sum;
}
void queue_fill(struct queue *queue, const uint32_t *words, uint32_t *slots, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		slots[i] = words[i];
		__sync_synchronize(); // finds
		queue->plain_head = i + 1;
	}
}
#endif

#if 0 /* assay example: also other ways to write it fixed */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct queue {
	_Atomic size_t head, tail;
	size_t size, plain_head;
	uint32_t *slots;
};
struct gate {
	atomic_int locked;
	int taken;
};
static uint64_t done_bytes;

/* One thread puts, another one takes: each moves its own index on. */
int queue_put(struct queue *queue, uint32_t word)
{
	size_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
	if (head - atomic_load(&queue->tail) == queue->size)
		return 0;
	queue->slots[head % queue->size] = word;
	atomic_store_explicit(&queue->head, head + 1, memory_order_release); // finds
	return 1;
}
int queue_take(struct queue *queue, uint32_t *word)
{
	size_t tail = queue->tail, next = tail + 1;
	if (queue->head == tail)
		return 0;
	*word = queue->slots[tail % queue->size];
	atomic_store_explicit(&queue->tail, next, memory_order_release); // finds
	return 1;
}
void gate_unlock(struct gate *gate)
{
	atomic_store_explicit(&gate->locked, 0, memory_order_release); // finds
}
void gate_release(struct gate *gate)
{
	__atomic_store_n(&gate->taken, 0, __ATOMIC_RELEASE); // finds
}
uint64_t bytes_scan(const uint8_t *bytes, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		sum += bytes[i];
		__atomic_store_n(&done_bytes, i + 1, __ATOMIC_RELEASE); // finds
	}
	return sum;
}
void queue_fill(struct queue *queue, const uint32_t *words, uint32_t *slots, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		slots[i] = words[i];
		__atomic_thread_fence(__ATOMIC_RELEASE); // finds
		queue->plain_head = i + 1;
	}
}
#endif

#if 0 /* assay example: lookalike what needs the store before the load */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_bool wants[2];
static atomic_int turn;
struct queue {
	atomic_size_t head;
	atomic_bool sleeps;
	bool waits;
	_Atomic(void *) hazard, top;
	volatile int stop;
};
void queue_wake(struct queue *queue);

void peterson_lock(int me)
{
	atomic_store(&wants[me], true);
	atomic_store(&turn, 1 - me);
	while (atomic_load(&wants[1 - me]) && atomic_load(&turn) == 1 - me)
		;
}
void *protect(struct queue *queue)
{
	void *seen;
	do {
		seen = atomic_load(&queue->top);
		atomic_store(&queue->hazard, seen);
	} while (seen != atomic_load(&queue->top));
	return seen;
}
void put(struct queue *queue)
{
	size_t head = atomic_load(&queue->head);
	atomic_store(&queue->head, head + 1);
	if (queue->sleeps)
		queue_wake(queue);
}
void put_plain(struct queue *queue)
{
	size_t head = atomic_load(&queue->head);
	queue->head = head + 1;
	if (queue->waits)
		queue->waits = false;
}
void put_hidden(struct queue *queue, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		atomic_store(&queue->head, i);
		queue_wake(queue); /* what it looks at can't be told */
	}
}
void run_until(struct queue *queue)
{
	for (size_t i = 0; !queue->stop; i++)
		atomic_store(&queue->head, i);
}
void put_fenced(struct queue *queue, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		atomic_store(&queue->head, i);
		atomic_thread_fence(memory_order_seq_cst);
	}
}
/* Only shows that it goes on: whoever calls it may look next. */
void announce(struct queue *queue)
{
	atomic_store(&queue->sleeps, true);
}
#endif

#if 0 /* assay example: lookalike a sequence lock */
#include <stdatomic.h>
#include <stdint.h>

struct clock {
	_Atomic uint32_t sequence;
	uint64_t seconds, fraction;
};
/* The first store must not sink below what follows it. */
void clock_set(struct clock *clock, uint64_t seconds, uint64_t fraction)
{
	uint32_t sequence = atomic_load(&clock->sequence);
	atomic_store(&clock->sequence, sequence + 1);
	clock->seconds = seconds;
	clock->fraction = fraction;
	atomic_store(&clock->sequence, sequence + 2);
}
void clock_begin(struct clock *clock)
{
	uint32_t sequence = clock->sequence;
	clock->sequence = sequence + 1;
	clock->seconds = 0;
}
#endif

#if 0 /* assay example: lookalike what costs the same in any order */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static _Atomic uint64_t total, last;
static int lock;

uint64_t read_all(size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += atomic_load(&total) + last;
	return sum;
}
void count_all(const uint32_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		atomic_fetch_add(&total, sizes[i]);
		last++;
	}
}
void store_all(const uint32_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		atomic_store_explicit(&last, sizes[i], memory_order_release);
	for (size_t i = 0; i < count; i++)
		atomic_store_explicit(&total, sizes[i], memory_order_relaxed);
}
void lock_take(void)
{
	while (__sync_lock_test_and_set(&lock, 1))
		;
}
void lock_release(void)
{
	__sync_lock_release(&lock);
}
#endif

#if 0 /* assay example: lookalike where it is rare */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slot {
	atomic_bool ready;
	uint32_t word;
};
static atomic_int level;
static _Atomic uint64_t best;

void slots_init(struct slot *slots, size_t count)
{
	for (size_t i = 0; i < count; i++)
		atomic_init(&slots[i].ready, false);
}
void slots_clear(struct slot *slots, size_t count)
{
	for (size_t i = 0; i < count; i++)
		atomic_store(&slots[i].ready, false);
}
void level_set(int value)
{
	atomic_store(&level, value);
}
void find_best(const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i] > 1000)
			atomic_store(&best, values[i]);
}
uint64_t own(const uint64_t *values, size_t count)
{
	_Atomic uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum = values[i];
	return sum;
}
#endif
