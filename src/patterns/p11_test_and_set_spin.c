/* P11 test-and-set-spin: a wait that goes on writing the lock's cache line.
 *
 * A compare-and-swap, an exchange or a trylock is a write, whether it gets the lock or not: each attempt takes the line
 * away from whoever holds it. A plain read waits in the reader's own cache until the holder writes.
 *
 * What must stay silent: loops that read the place first; loops with a pause, a yield, a back-off or any other call; loops
 * that work out a new value from what they read (`do new = f(old); while (!cas(&x, old, new))` is no lock); addresses that
 * change from one attempt to the next (a probe through a table).
 */
#include "patterns/query.h"

#include "base/text.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_p11 = {
    .id = "P11",
    .slug = "test-and-set-spin",
    .title = "a lock that is waited for with locked instructions alone",
    .tier = TIER_B,
    .what = "A loop that does nothing but try an exchange, a compare-and-swap from a constant, or a trylock on one address, "
            "with no plain read before it and no pause.",
    .why = "Every attempt is a write: it takes the lock's cache line away from the thread that holds the lock and from all "
           "who wait, so that the unlocking store itself has to wait in line. A plain read stays in the reader's own cache, "
           "and a pause instruction gives the other thread of the core its turn.",
    .when_not = "Never contended: then the loop runs once and both ways cost the same. Or the loop is a last resort behind "
                "a wait that reads.",
    .expected = "nothing on one thread; with several threads on a short section up to several times (Anderson 1990 for the "
                "shape of it; how much depends on the machine, so measure with the real number of threads)",
    .refuted_by = "A workload in which nobody waits: the waiting loop never runs.",
    .sources = (const char *const[]){"Larry Rudolph and Zary Segall, Dynamic decentralized cache schemes for MIMD parallel "
                                     "processors, ISCA 1984 (test-and-test-and-set)",
                                     "Thomas Anderson, The performance of spin lock alternatives for shared-memory "
                                     "multiprocessors, IEEE TPDS 1, 1990",
                                     "Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on "
                                     "multithreading (PAUSE in spin-wait loops)",
                                     NULL},
    .detect = detect,
};

struct detection {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
};

/* ---- what the loop does ---------------------------------------------------------------------------------------- */

static bool is_constant(struct ast_node *node)
{
	node = ast_strip_casts(node);
	if (node && node->kind == AST_UNARY && node->op == OP_MINUS)
		node = ast_strip_casts(node->children.at[0]);
	return node && (node->has_value || node->kind == AST_INT || node->kind == AST_CHAR);
}

struct collection {
	struct ast_node *attempt; /* the one operation */
	struct atomic atomic;
	bool other; /* there is another one */
};

static bool collect(struct ast_node *node, void *context)
{
	struct collection *collection = context;
	struct atomic atomic = atomic_of(node);
	if (node->kind == AST_ASM)
		collection->other = true;
	if (atomic.kind == ATOMIC_NONE)
		return true;
	if (collection->attempt || (atomic.kind != ATOMIC_EXCHANGE && atomic.kind != ATOMIC_COMPARE && atomic.kind != ATOMIC_TRY)) {
		collection->other = true;
		return false;
	}
	collection->attempt = node;
	collection->atomic = atomic;
	return true;
}

struct mention {
	struct ast_node *object;
	const struct ast_node *except;
	bool found;
};

static bool mention_visit(struct ast_node *node, void *context)
{
	struct mention *mention = context;
	if (node == mention->except)
		return false;
	mention->found |= path_equal(node, mention->object);
	return !mention->found;
}

/* The constant that a compare-and-swap waits for; NULL: it is a value that was read, as in an update. */
static struct ast_node *expected_constant(const struct loop *loop, const struct atomic *atomic)
{
	struct ast_node *expected = ast_strip_casts(atomic->expected);
	if (!expected)
		return NULL;
	if (atomic->expected_by_value)
		return is_constant(expected) ? expected : NULL;
	if (expected->kind != AST_UNARY || expected->op != OP_ADDRESS)
		return NULL;
	struct ast_node *variable = ast_strip_casts(expected->children.at[0]), *constant = NULL;
	if (!variable || variable->kind != AST_REF || !variable->decl)
		return NULL;
	if (loop_declares(loop, variable->decl) && is_constant(variable->decl->init))
		constant = variable->decl->init;
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct ast_node *site = loop->write_sites.at[i];
		if (!path_equal(loop->writes.at[i], variable) || (loop->node->init && node_holds(loop->node->init, site)))
			continue;
		if (site->kind != AST_ASSIGN || !is_constant(site->children.at[1]))
			return NULL;
		constant = site->children.at[1];
	}
	return constant;
}

/* Nothing but the attempt: variables are set to constants, counted, or take what the attempt gave. */
static bool does_no_work(const struct loop *loop, const struct ast_node *attempt)
{
	for (size_t i = 0; i < loop->calls.count; i++)
		if (loop->calls.at[i] != attempt)
			return false;
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct ast_node *site = loop->write_sites.at[i];
		struct access access = access_of(loop->writes.at[i]);
		if (loop->node->init && node_holds(loop->node->init, site))
			continue;
		if (!access_is_private(&access) || access.pointer)
			return false;
		if (node_is_increment(site))
			continue;
		if (site->kind != AST_ASSIGN || !(is_constant(site->children.at[1]) || node_holds(site->children.at[1], attempt)))
			return false;
	}
	return true;
}

/* Whether the loop ends by what the attempt says: in its condition, in an `if`, or kept in a variable for it. */
static bool decides(const struct loop *loop, struct ast_node *attempt)
{
	for (struct ast_node *at = attempt; at && at != loop->node; at = at->parent) {
		const struct ast_node *up = at->parent;
		if (up == loop->node)
			return at == loop->node->condition;
		if (up && up->kind == AST_IF)
			return at == up->condition;
		if (up && up->kind == AST_ASSIGN && loop->node->condition && up->children.at[1] == at)
			return node_mentions(loop->node->condition, up->children.at[0]);
	}
	return false;
}

/* ---- the candidate ----------------------------------------------------------------------------------------------- */

/* The condition under which it waits, by a plain read; NULL: the loop is not of a form that can be rewritten. */
static const char *wait_condition(struct detection *detection, const struct loop *loop, struct ast_node *attempt,
                                  const struct atomic *atomic, struct ast_node *expected)
{
	struct arena *arena = detection->sink->arena;
	struct ast_node *condition = ast_strip(loop->node->condition), *object = atomic_object(atomic);
	const struct ast_type *type = atomic->pointer->type ? atomic->pointer->type->pointee : NULL;
	if (!condition || !node_holds(condition, attempt) || !node_is_replaceable(detection->unit, attempt))
		return NULL;
	if (atomic->style != ATOMIC_BUILTIN && atomic->style != ATOMIC_C11)
		return NULL;
	if (!object || (object->kind == AST_MEMBER && text_equal(object->name, "_Value"))) /* an atomic_flag can't be read */
		return NULL;
	if (!type || (type->kind != TYPE_BOOL && type->kind != TYPE_CHAR && type->kind != TYPE_INT && type->kind != TYPE_ENUM))
		return NULL;
	for (size_t i = 0; i < loop->write_sites.count; i++)
		if (node_holds(condition, loop->write_sites.at[i]))
			return NULL;
	const char *pointer = ast_text(detection->unit, &atomic->pointer->range);
	if (!pointer || strchr(pointer, '\n'))
		return NULL;
	const char *load = atomic->style == ATOMIC_C11
	                       ? arena_printf(arena, "atomic_load_explicit(%s, memory_order_relaxed)", pointer)
	                       : arena_printf(arena, "__atomic_load_n(%s, __ATOMIC_RELAXED)", pointer);
	bool gives_old = atomic->kind == ATOMIC_EXCHANGE ||
	                 (call_name(attempt) && text_starts(call_name(attempt), "__sync_val_compare_and_swap"));
	if (gives_old) {
		const struct ast_range *whole = &condition->range, *part = &attempt->range;
		const char *text = ast_text(detection->unit, whole);
		if (!text || strchr(text, '\n') || !text_equal(whole->file, part->file) || part->offset < whole->offset ||
		    part->end_offset > whole->end_offset)
			return NULL;
		return arena_printf(arena, "%.*s%s%s", (int)(part->offset - whole->offset), text, load,
		                    text + (part->end_offset - whole->offset));
	}
	struct ast_node *inner = condition->kind == AST_UNARY && condition->op == OP_LNOT ? ast_strip(condition->children.at[0]) : NULL;
	const char *constant = expected ? ast_text(detection->unit, &expected->range) : NULL;
	if (inner != attempt || !constant || strchr(constant, '\n'))
		return NULL;
	return node_is_zero(expected) ? load : arena_printf(arena, "%s != %s", load, constant);
}

static bool put_candidate(struct detection *detection, const struct loop *loop, const char *wait, struct finding *finding)
{
	struct arena *arena = detection->sink->arena;
	struct ast_node *body = loop->node->body;
	size_t size, begin = loop->node->range.offset;
	const char *text = ast_file_text(detection->unit, loop->node->range.file, &size);
	if (!text || !body || body->range.edge_in_macro || !text_equal(body->range.file, loop->node->range.file) ||
	    body->range.end_offset > size)
		return false;
	const char *indent = line_indent(arena, text, begin);
	const char *inner = arena_printf(arena,
	                                 "\twhile (%s) {\n#if defined(__x86_64__)\n%s\t\t__builtin_ia32_pause();\n#endif\n%s\t}\n%s",
	                                 wait, indent, indent, indent);
	if (body->kind == AST_NULL_STMT || body->kind == AST_CONTINUE) {
		size_t from = body->range.offset, end = body->range.end_offset + (body->kind == AST_CONTINUE);
		if (end > size || text[end - 1] != ';')
			return false;
		while (from > begin && strchr(" \t\r\n", text[from - 1]))
			from--;
		bool close = text[from - 1] == ')'; /* no comment in between */
		from = close ? from : body->range.offset;
		finding_edit(detection->sink, finding, from, end - from,
		             arena_printf(arena, "%s{\n%s%s}", close ? " " : "", indent, inner));
		return true;
	}
	size_t brace = body->range.end_offset - 1, blanks = brace;
	if (body->kind != AST_COMPOUND || text[brace] != '}')
		return false;
	while (blanks > begin && strchr(" \t", text[blanks - 1]))
		blanks--;
	bool alone = text[blanks - 1] == '\n';
	finding_edit(detection->sink, finding, brace, 0, alone ? inner : arena_printf(arena, "\n%s%s", indent, inner));
	return true;
}

/* ---- the finding ------------------------------------------------------------------------------------------------- */

static void detect_loop(struct loop *loop, void *context)
{
	struct detection *detection = context;
	struct collection collection = {0};
	if (loop->has_inner_loop || loop->node->range.edge_in_macro)
		return;
	ast_walk(loop->node, collect, &collection);
	struct ast_node *attempt = collection.attempt;
	if (!attempt || collection.other || !does_no_work(loop, attempt) || !decides(loop, attempt))
		return;
	if (collection.atomic.kind == ATOMIC_TRY && call_argument(attempt, 1))
		return; /* more than a lock: which argument it waits for, and whether it waits inside, can't be told */
	struct ast_node *object = atomic_object(&collection.atomic), *expected = NULL;
	struct mention mention = {.object = object, .except = attempt};
	ast_walk(loop->node, mention_visit, &mention);
	if (!object || mention.found || !loop_same_place(loop, object))
		return;
	if (attempt->type && attempt->type->kind == TYPE_POINTER)
		return; /* something is taken over, not locked */
	if (collection.atomic.kind == ATOMIC_COMPARE && !(expected = expected_constant(loop, &collection.atomic)))
		return;
	if (collection.atomic.kind == ATOMIC_EXCHANGE && collection.atomic.value && !is_constant(collection.atomic.value))
		return;
	struct arena *arena = detection->sink->arena;
	const char *what = collection.atomic.kind == ATOMIC_COMPARE    ? "a compare-and-swap"
	                   : collection.atomic.kind == ATOMIC_EXCHANGE ? "an exchange"
	                                                               : arena_printf(arena, "%s()", call_name(attempt));
	const char *wait = wait_condition(detection, loop, attempt, &collection.atomic, expected);
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_p11, &loop->node->range, loop->function->name,
	    collection.atomic.style == ATOMIC_LIBRARY ? SEVERITY_LOW : SEVERITY_MEDIUM,
	    arena_printf(arena, "waits for `%s` by %s in every turn, with neither a plain read nor a pause in between",
	                 node_text(detection->unit, object, arena), what));
	if (wait && put_candidate(detection, loop, wait, finding))
		finding->evidence = "the loop holds nothing else, so while somebody has the lock it only writes the line again and again";
	else
		finding->evidence = "advice: after a failed attempt wait with a plain read and a pause, then try again";
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	struct arena arena;
	arena_init(&arena);
	struct detection detection = {.unit = unit, .sink = sink};
	loops_visit(unit, &arena, detect_loop, &detection);
	arena_release(&arena);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>

/* Two threads on a short section. What comes out is how many updates were lost, so it is the same whoever goes first. */
struct shared {
	unsigned lock;
	uint64_t total, issued;
	unsigned threads;
};

static __attribute__((noinline)) void lock_take(unsigned *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE /* finds */))
		;
}

static void lock_release(unsigned *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

static void *setup(struct assay_bench *b)
{
	struct shared *shared = calloc(1, sizeof *shared);
	shared->threads = assay_threads(b, 2);
	return shared;
}

static void run_thread(void *state, const struct assay_thread *thread, uint64_t iterations)
{
	struct shared *shared = state;
	for (uint64_t i = 0; i < iterations; i++) {
		lock_take(&shared->lock);
		shared->total++;
		if (thread->index == 0)
			shared->issued += thread->count;
		lock_release(&shared->lock);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct shared *shared = state;
	uint64_t lost = shared->issued - shared->total;
	assay_output(b, "lost updates", &lost, sizeof lost);
}

static void edges(void *state, struct assay_bench *b)
{
	struct shared *shared = state;
	for (unsigned i = 0; i < shared->threads; i++)
		run_thread(shared, &(struct assay_thread){i, shared->threads}, 20000);
	output(shared, b);
	assay_output(b, "lock at rest", &shared->lock, sizeof shared->lock);
}

const struct assay_workload assay_workload = {
    .setup = setup, .run_thread = run_thread, .output = output, .edges = edges, .teardown = free};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>

/* Two threads on a short section. What comes out is how many updates were lost, so it is the same whoever goes first. */
struct shared {
	unsigned lock;
	uint64_t total, issued;
	unsigned threads;
};

static __attribute__((noinline)) void lock_take(unsigned *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE /* finds */)) {
		while (__atomic_load_n(lock, __ATOMIC_RELAXED)) {
#if defined(__x86_64__)
			__builtin_ia32_pause();
#endif
		}
	}
}

static void lock_release(unsigned *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

static void *setup(struct assay_bench *b)
{
	struct shared *shared = calloc(1, sizeof *shared);
	shared->threads = assay_threads(b, 2);
	return shared;
}

static void run_thread(void *state, const struct assay_thread *thread, uint64_t iterations)
{
	struct shared *shared = state;
	for (uint64_t i = 0; i < iterations; i++) {
		lock_take(&shared->lock);
		shared->total++;
		if (thread->index == 0)
			shared->issued += thread->count;
		lock_release(&shared->lock);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct shared *shared = state;
	uint64_t lost = shared->issued - shared->total;
	assay_output(b, "lost updates", &lost, sizeof lost);
}

static void edges(void *state, struct assay_bench *b)
{
	struct shared *shared = state;
	for (unsigned i = 0; i < shared->threads; i++)
		run_thread(shared, &(struct assay_thread){i, shared->threads}, 20000);
	output(shared, b);
	assay_output(b, "lock at rest", &shared->lock, sizeof shared->lock);
}

const struct assay_workload assay_workload = {
    .setup = setup, .run_thread = run_thread, .output = output, .edges = edges, .teardown = free};
#endif

#if 0 /* assay example: harmless */
// refuted by measuring
#include <assay/bench.h>
#include <stdlib.h>

/* The same lock with one thread: nobody waits, so the loop's body never runs. */
struct shared {
	unsigned lock;
	uint64_t total, issued;
};

static __attribute__((noinline)) void lock_take(unsigned *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		;
}

static void *setup(struct assay_bench *b)
{
	(void)b;
	return calloc(1, sizeof(struct shared));
}

static void run(void *state, uint64_t iterations)
{
	struct shared *shared = state;
	shared->issued += iterations;
	for (uint64_t i = 0; i < iterations; i++) {
		lock_take(&shared->lock);
		shared->total++;
		__atomic_store_n(&shared->lock, 0, __ATOMIC_RELEASE);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct shared *shared = state;
	uint64_t lost = shared->issued - shared->total;
	assay_output(b, "lost updates", &lost, sizeof lost);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .teardown = free};
#endif

#if 0 /* assay example: also other ways to write it */
#include <stdatomic.h>
#include <stdbool.h>
struct queue {
	atomic_int lock;
	bool busy;
	int owner, users;
};
void queue_lock(struct queue *queue)
{
	while (atomic_exchange(&queue->lock, 1) != 0) { // finds
	}
}
void queue_lock_weak(struct queue *queue)
{
	int expected;
	do { // finds
		expected = 0;
	} while (!atomic_compare_exchange_weak_explicit(&queue->lock, &expected, 1, memory_order_acquire, memory_order_relaxed));
}
void queue_own(struct queue *queue, int me)
{
	for (; !__sync_bool_compare_and_swap(&queue->owner, -1, me);) { // finds
	}
}
void queue_enter(struct queue *queue)
{
	while (__atomic_test_and_set(&queue->busy, __ATOMIC_ACQUIRE /* finds */))
		continue;
}
#endif

#if 0 /* assay example: also other ways to write it fixed */
#include <stdatomic.h>
#include <stdbool.h>
struct queue {
	atomic_int lock;
	bool busy;
	int owner, users;
};
void queue_lock(struct queue *queue)
{
	while (atomic_exchange(&queue->lock, 1) != 0) { // finds
		while (atomic_load_explicit(&queue->lock, memory_order_relaxed) != 0) {
#if defined(__x86_64__)
			__builtin_ia32_pause();
#endif
		}
	}
}
void queue_lock_weak(struct queue *queue)
{
	int expected;
	do { // finds
		expected = 0;
		while (atomic_load_explicit(&queue->lock, memory_order_relaxed)) {
#if defined(__x86_64__)
			__builtin_ia32_pause();
#endif
		}
	} while (!atomic_compare_exchange_weak_explicit(&queue->lock, &expected, 1, memory_order_acquire, memory_order_relaxed));
}
void queue_own(struct queue *queue, int me)
{
	for (; !__sync_bool_compare_and_swap(&queue->owner, -1, me);) { // finds
		while (__atomic_load_n(&queue->owner, __ATOMIC_RELAXED) != -1) {
#if defined(__x86_64__)
			__builtin_ia32_pause();
#endif
		}
	}
}
void queue_enter(struct queue *queue)
{
	while (__atomic_test_and_set(&queue->busy, __ATOMIC_ACQUIRE /* finds */)) {
		while (__atomic_load_n(&queue->busy, __ATOMIC_RELAXED)) {
#if defined(__x86_64__)
			__builtin_ia32_pause();
#endif
		}
	}
}
#endif

#if 0 /* assay example: also advice only */
#include <pthread.h>
#include <stdatomic.h>
atomic_flag flag = ATOMIC_FLAG_INIT;
unsigned word;
void flag_lock(void)
{
	while (atomic_flag_test_and_set(&flag)) // finds
		;
}
void mutex_lock(pthread_mutex_t *mutex)
{
	while (pthread_mutex_trylock(mutex)) // finds
		;
}
unsigned word_lock(void)
{
	unsigned turns = 0;
	for (;;) { // finds
		turns++;
		if (__sync_lock_test_and_set(&word, 1) == 0)
			break;
	}
	return turns;
}
#endif

#if 0 /* assay example: lookalike reads first */
#include <stdatomic.h>
#include <stddef.h>
void lock(atomic_int *word, unsigned *plain)
{
	while (atomic_load_explicit(word, memory_order_relaxed) || atomic_exchange(word, 1))
		;
	while (__atomic_exchange_n(plain, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(plain, __ATOMIC_RELAXED))
			;
	for (;;)
		if (*plain == 0 && __sync_bool_compare_and_swap(plain, 0, 1))
			break;
}
#endif

#if 0 /* assay example: lookalike a pause, a yield, a back-off */
#include <sched.h>
#include <stdatomic.h>
void backoff(unsigned *turns);
void lock(atomic_int *word)
{
	unsigned turns = 1;
	while (atomic_exchange(word, 1))
		sched_yield();
	while (atomic_exchange(word, 1))
		backoff(&turns);
#if defined(__x86_64__)
	while (atomic_exchange(word, 1))
		__builtin_ia32_pause();
	while (atomic_exchange(word, 1))
		__asm__ volatile("pause" ::: "memory");
#endif
}
#endif

#if 0 /* assay example: lookalike an update */
#include <stdatomic.h>
#include <stdint.h>
struct node {
	struct node *next;
};
void maximum(atomic_ulong *most, unsigned long value)
{
	unsigned long old = atomic_load(most);
	while (old < value && !atomic_compare_exchange_weak(most, &old, value))
		;
	unsigned long now = atomic_load(most);
	while (!atomic_compare_exchange_weak(most, &now, now + 1))
		;
}
void push(struct node **head, struct node *node)
{
	do {
		node->next = *head;
	} while (!__sync_bool_compare_and_swap(head, node->next, node));
}
struct node *drain(struct node **head)
{
	struct node *all;
	while (!(all = __atomic_exchange_n(head, 0, __ATOMIC_ACQUIRE)))
		;
	return all;
}
#endif

#if 0 /* assay example: lookalike another place each time */
#include <stdatomic.h>
#include <stddef.h>
struct slot {
	unsigned taken;
	struct slot *next;
};
struct slot *take(struct slot *slots, size_t count, struct slot *list)
{
	for (size_t i = 0; i < count; i++)
		if (__sync_bool_compare_and_swap(&slots[i].taken, 0, 1))
			return &slots[i];
	while (__atomic_exchange_n(&list->taken, 1, __ATOMIC_ACQUIRE))
		list = list->next;
	return list;
}
#endif

#if 0 /* assay example: lookalike once, or with work in between */
#include <pthread.h>
#include <stdatomic.h>
int try_once(atomic_int *word)
{
	return atomic_exchange(word, 1) == 0;
}
unsigned long wait(atomic_int *word, const volatile unsigned *device, unsigned long *polls)
{
	while (atomic_exchange(word, 1))
		*polls += *device;
	return *polls;
}
#endif

#if 0 /* assay example: lookalike optimistic */
/* What is locked was looked up before and may have changed: tried again, but the waiting is inside, in a mutex. */
#include <pthread.h>
#include <stdatomic.h>

struct entry {
	pthread_mutex_t mutex;
};

static int entry_try_lock(void *context, struct entry *_Atomic *place, struct entry **ret_entry)
{
	(void)context;
	struct entry *before = *place;
	pthread_mutex_lock(&before->mutex);
	if (before == *place) {
		*ret_entry = before;
		return 0;
	}
	pthread_mutex_unlock(&before->mutex);
	return 1;
}

struct entry *entry_lock(void *context, struct entry *_Atomic *place)
{
	struct entry *entry = 0;
	while (entry_try_lock(context, place, &entry))
		;
	return entry;
}
#endif
