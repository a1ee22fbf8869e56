/* P10 coarse-lock: one lock of the file's scope around a table of many buckets, and its opposite, a row of locks.
 *
 * Found by the shape: a lock that several functions take, two of which reach into a table by a computed index, one of them
 * a lookup by its name. How often threads meet there is not in the source: nothing is proposed. The guard is a lock chosen
 * by `index & (N - 1)` or `% N`; its ablation makes N one.
 */
#include "patterns/query.h"

#include "base/text.h"

#include <stdlib.h>

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_p10 = {
    .id = "P10",
    .slug = "coarse-lock",
    .title = "one lock around a table of many buckets",
    .tier = TIER_C,
    .what = "A lock of the file's scope is taken by several functions, at least two of which reach into a table by a hashed "
            "or masked index while they hold it, one of them a lookup, an insertion or the like. A guard is the opposite: "
            "one of many locks, chosen by the key.",
    .why = "Threads that want different buckets wait for each other, and the lock's cache line travels between the cores "
           "with every operation: throughput stops growing with the second thread, or falls.",
    .when_not = "One thread, or few operations; the lock also keeps an order that the buckets' own locks would not keep; "
                "the table is the control plane's. For one thread a row of locks is slower: more cache, same work.",
    .expected = "nothing on one thread; up to the number of threads where all of them do little else (the classic figures "
                "for lock splitting; to be measured per workload)",
    .refuted_by = "A measurement with as many threads as the program has, on its own mix of operations.",
    .sources =
        (const char *const[]){
            "Maurice Herlihy and Nir Shavit, The Art of Multiprocessor Programming, 2nd edition 2020, chapter 13 (striped hash "
            "sets)",
            "Paul E. McKenney, Is Parallel Programming Hard, And, If So, What Can You Do About It?, chapter 10 (partitioned "
            "data structures)",
            NULL},
    .detect = detect,
};

/* A lock by name: a global, or a field of a global. */
struct lock {
	const struct ast_node *global, *field; /* field NULL: the global itself */
	const struct ast_node *last_function;
	unsigned functions, table_users; /* functions that take it; of those: that reach into a table by a computed index */
	bool hot;           /* one of the table's users is a lookup or the like */
	const char *users;  /* names of the table's users */
	const char *under;  /* a slow call under it, and where */
	const struct ast_node *table;
};
LIST_OF(struct lock, lock_list);

struct locking {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
	struct ast_node *function;
	struct lock_list locks;
	struct ast_node_list taken;    /* in the function: the calls that lock */
	struct ast_node_list tables;   /* decls of shared tables that it reaches into by a computed index */
	struct ast_node_list guarded;  /* arrays of locks that are reported already */
	const char *slow;              /* the first slow call after a lock was taken */
};

struct computed {
	unsigned depth;
	bool found;
};

static bool is_computed(struct ast_node *index, unsigned depth);

static bool computed_visit(struct ast_node *node, void *context)
{
	static const char *const words[] = {"hash", "bucket", "slot", "shard", NULL};
	struct computed *computed = context;
	if (node->kind == AST_BINARY && (node->op == OP_AND || node->op == OP_REM))
		computed->found = true;
	else if (node->kind == AST_CALL && call_name(node) && name_has_any_word(call_name(node), words))
		computed->found = true;
	else if (node->kind == AST_REF && node->name && name_has_any_word(node->name, words))
		computed->found = true;
	else if (node->kind == AST_REF && node->decl && node->decl->kind == AST_VAR && node->decl->init)
		computed->found = is_computed(node->decl->init, computed->depth + 1);
	return !computed->found;
}

/* Whether an index comes from a hash: `& mask`, `% size`, a name that says so. */
static bool is_computed(struct ast_node *index, unsigned depth)
{
	struct computed computed = {.depth = depth};
	if (index && depth < 3)
		ast_walk(index, computed_visit, &computed);
	return computed.found;
}

/* The global that an lvalue or a pointer leads from: table[i], table->slots[i], g.slots[i]. */
static struct ast_node *global_of(struct ast_node *node)
{
	for (unsigned steps = 0; node && steps < 8; steps++) {
		struct access access = access_of(node);
		struct ast_node *root = access.pointer ? pointer_root(access.pointer) : access.object;
		if (!root)
			return NULL;
		if (root->kind == AST_REF)
			return root->is_global && root->decl && root->decl->kind == AST_VAR ? root->decl : NULL;
		node = root;
	}
	return NULL;
}

static bool collect(struct ast_node *node, void *context)
{
	static const char *const slow[] = {"malloc", "calloc", "realloc", "free", "printf", "fprintf", "write", "read", "fwrite",
	                                   "fread", "fflush", "fsync", "syslog", "usleep", "nanosleep", "send", "recv", NULL};
	struct locking *locking = context;
	struct arena *arena = locking->sink->arena;
	if (node->kind == AST_CALL) {
		if (call_locks(node))
			list_push(arena, &locking->taken, node);
		else if (locking->taken.count && !locking->slow && call_is(node, slow))
			locking->slow = arena_printf(arena, "%s() in %s()", call_name(node), locking->function->name);
	}
	if (node->kind == AST_SUBSCRIPT && locking->taken.count && is_computed(ast_child(node, 1), 0)) {
		struct ast_node *global = global_of(node);
		if (global && !type_is_lock(node->type))
			list_push(arena, &locking->tables, global);
	}
	return node->kind != AST_SIZEOF;
}

static struct lock *lock_of(struct locking *locking, const struct ast_node *global, const struct ast_node *field)
{
	for (size_t i = 0; i < locking->locks.count; i++)
		if (locking->locks.at[i].global == global && locking->locks.at[i].field == field)
			return &locking->locks.at[i];
	struct lock lock = {.global = global, .field = field};
	list_push(locking->sink->arena, &locking->locks, lock);
	return &locking->locks.at[locking->locks.count - 1];
}

/* Names of functions that run once or seldom, and of those that are called all the time. */
static const char *const control_words[] = {"init", "fini", "destroy", "create", "setup", "teardown", "open", "close", "dump",
                                            "print", "show", "stats", "stat", "start", "stop", "shutdown", "resize", "grow",
                                            "rehash", "reset", "clear", "flush", "load", "main", "register", "unregister",
                                            "test", "config", "exit", NULL};
static const char *const hot_words[] = {"lookup", "find", "get", "insert", "alloc", "search", "contains", "intern", "fetch",
                                        "acquire", "hold", "probe", "put", NULL};

static void function_take(struct locking *locking)
{
	struct arena *arena = locking->sink->arena;
	const char *name = locking->function->name ? locking->function->name : "";
	if (name_has_any_word(name, control_words))
		return;
	for (size_t i = 0; i < locking->taken.count; i++) {
		struct ast_node *target = call_locks(locking->taken.at[i]);
		const struct ast_node *field = target->kind == AST_MEMBER ? target->decl : NULL;
		if (target->kind != AST_REF && (target->kind != AST_MEMBER || target->arrow || !field))
			continue;
		if (target->type && target->type->kind == TYPE_POINTER)
			continue; /* some lock that is passed around */
		struct ast_node *global = global_of(target);
		if (!global)
			continue;
		struct lock *lock = lock_of(locking, global, field);
		if (lock->last_function == locking->function)
			continue;
		lock->last_function = locking->function;
		lock->functions++;
		if (!lock->under)
			lock->under = locking->slow;
		const struct ast_node *table = NULL;
		for (size_t k = 0; k < locking->tables.count && !table; k++)
			if (!field || locking->tables.at[k] == global)
				table = locking->tables.at[k];
		if (!table || (lock->table && lock->table != table))
			continue;
		lock->table = table;
		lock->table_users++;
		lock->hot = lock->hot || name_has_any_word(name, hot_words);
		lock->users = lock->users ? arena_printf(arena, "%s, %s()", lock->users, name) : arena_printf(arena, "%s()", name);
	}
}

/* ---- the guard ----------------------------------------------------------------------------------------------- */

/* The subscript that chooses a lock out of many: locks[i], buckets[i].lock; NULL: it is none. */
static struct ast_node *striped(struct ast_node *target)
{
	/* kmutex_t *lock = &locks[i]; mutex_enter(lock); */
	if (target->kind == AST_REF && target->decl && target->decl->kind == AST_VAR && !target->is_global) {
		struct ast_node *init = ast_strip_casts(target->decl->init);
		if (!init || init->kind != AST_UNARY || init->op != OP_ADDRESS)
			return NULL;
		target = ast_operand(init, 0);
	}
	for (struct ast_node *node = target; node; node = ast_operand(node, 0)) {
		if (node->kind == AST_SUBSCRIPT)
			return node;
		if (node->kind != AST_MEMBER || node->arrow)
			return NULL;
	}
	return NULL;
}

static const struct ast_macro *macro_named(const struct ast_unit *unit, const char *name, size_t size)
{
	for (size_t i = unit->macros.count; i-- > 0;)
		if (strlen(unit->macros.at[i].name) == size && strncmp(unit->macros.at[i].name, name, size) == 0)
			return &unit->macros.at[i];
	return NULL;
}

/* The number of locks comes from one macro: as 1, `& (N - 1)` and `% N` choose always the same. */
static void ablation_by_macro(const struct ast_unit *unit, const struct ast_node *array, long long count,
                              struct pattern_sink *sink, struct finding *finding)
{
	const char *text = array->range.file ? ast_text(unit, &array->range) : NULL;
	const char *open = text ? strrchr(text, '[') : NULL;
	if (!open)
		return;
	open += 1 + strspn(open + 1, " \t");
	size_t size = 0;
	while (text_is_word(open[size]))
		size++;
	if (!size || open[size + strspn(open + size, " \t")] != ']')
		return;
	const struct ast_macro *macro = macro_named(unit, open, size);
	char *end = NULL;
	if (!macro || macro->function_like || !macro->range.in_tree || !macro->range.file)
		return;
	if (strtoll(macro->body, &end, 0) != count || *end)
		return;
	const char *definition = ast_text(unit, &macro->range);
	const char *body = definition ? strstr(definition + size, macro->body) : NULL;
	/* An edit belongs to the finding's own file. */
	if (!body || !text_equal(unit_relative(unit, macro->range.file), finding->file))
		return;
	finding_edit(sink, finding, macro->range.offset + (size_t)(body - definition), strlen(macro->body), "1");
}

static void ablation(const struct ast_unit *unit, const struct ast_node *array, struct ast_node *subscript,
                     struct pattern_sink *sink, struct finding *finding)
{
	struct ast_node *index = ast_operand(subscript, 1);
	if (!index || index->kind != AST_BINARY || !array->type || array->type->kind != TYPE_ARRAY || !array->type->pointee ||
	    array->type->size <= 0 || array->type->pointee->size <= 0)
		return;
	long long count = array->type->size / array->type->pointee->size, value;
	if (!node_constant(ast_child(index, 1), &value) || value != (index->op == OP_AND ? count - 1 : count))
		return;
	struct ast_node *literal = ast_operand(index, 1);
	if (literal->kind == AST_INT && literal->literal && !literal->range.in_macro &&
	    text_equal(unit_relative(unit, literal->range.file), finding->file))
		finding_edit(sink, finding, literal->range.offset, literal->range.end_offset - literal->range.offset,
		             index->op == OP_AND ? "0" : "1");
	else
		ablation_by_macro(unit, array, count, sink, finding);
}

static void guard_look(struct locking *locking, struct ast_node *call)
{
	struct ast_node *subscript = striped(call_locks(call));
	if (!subscript || !is_computed(ast_child(subscript, 1), 0))
		return;
	struct ast_node *base = ast_operand(subscript, 0);
	struct ast_node *array = base ? base->decl : NULL;
	if (!array || (base->kind != AST_REF && base->kind != AST_MEMBER) || array->kind == AST_PARAM ||
	    (array->kind == AST_VAR && !array->is_global))
		return;
	if (array->type && array->type->kind == TYPE_ARRAY && array->type->pointee && array->type->size > 0 &&
	    array->type->size <= array->type->pointee->size)
		return; /* a row of one */
	/* Records that have a lock each may also be a ring of jobs: the words must say that a key chooses. */
	static const char *const keys[] = {"hash", "bucket", "buckets", "slot", "slots", "shard", "shards", "stripe", "stripes", "key", NULL};
	if (!type_is_lock(subscript->type) && !name_has_any_word(array->name, keys) &&
	    !name_has_any_word(node_text(locking->unit, ast_child(subscript, 1), locking->sink->arena), keys))
		return;
	for (size_t i = 0; i < locking->guarded.count; i++)
		if (locking->guarded.at[i] == array)
			return;
	struct arena *arena = locking->sink->arena;
	list_push(arena, &locking->guarded, array);
	bool here = array->range.in_tree && array->range.file && array->range.line;
	const struct ast_range *place = here ? &array->range : &call->range;
	struct finding *finding =
	    finding_new(locking->sink, locking->unit, &pattern_p10, place, array->name, SEVERITY_LOW,
	                arena_printf(arena, "one of many locks is chosen by the key: `%s`", array->name ? array->name : "…"));
	finding->kind = FINDING_GUARD;
	finding->evidence = arena_printf(arena, "%s() takes the lock at %s", locking->function->name,
	                                 node_text(locking->unit, subscript, arena));
	ablation(locking->unit, array, subscript, locking->sink, finding);
	if (finding->edits.count)
		finding->evidence = arena_printf(arena, "%s; the candidate takes the practice away, one lock for all: it shows what the row "
		                                 "of locks is worth", finding->evidence);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	struct arena *arena = sink->arena;
	struct locking locking = {.unit = unit, .sink = sink};
	for (size_t i = 0; i < unit->top.count; i++) {
		struct ast_node *function = unit->top.at[i];
		if (function->kind != AST_FUNCTION || !function->is_definition || !function->range.in_tree)
			continue;
		locking.function = function;
		locking.taken.count = locking.tables.count = 0;
		locking.slow = NULL;
		ast_walk(function, collect, &locking);
		for (size_t k = 0; k < locking.taken.count; k++)
			guard_look(&locking, locking.taken.at[k]);
		function_take(&locking);
	}
	for (size_t i = 0; i < locking.locks.count; i++) {
		const struct lock *lock = &locking.locks.at[i];
		const struct ast_node *place = lock->global;
		if (lock->table_users < 2 || !lock->hot || !place->range.in_tree)
			continue;
		struct finding *finding = finding_new(
		    sink, unit, &pattern_p10, &place->range, place->name, SEVERITY_MEDIUM,
		    arena_printf(arena, "one lock, `%s%s%s`, around every bucket of `%s`", place->name, lock->field ? "." : "",
		                 lock->field ? lock->field->name : "", lock->table->name ? lock->table->name : "…"));
		finding->evidence = arena_printf(arena, "%u functions take it, of them %s reach into the table%s%s", lock->functions,
		                                 lock->users, lock->under ? "; under it: " : "", lock->under ? lock->under : "");
	}
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 1024, KEYS = 4096 };

struct entry {
	struct entry *next;
	uint64_t key, count;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; // finds
static struct entry *buckets[BUCKETS];

static size_t hash_of(uint64_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15u) >> 54) % BUCKETS;
}

static void table_insert(struct entry *entry)
{
	size_t at = hash_of(entry->key);
	pthread_mutex_lock(&table_lock);
	entry->next = buckets[at];
	buckets[at] = entry;
	pthread_mutex_unlock(&table_lock);
}

static int table_count(uint64_t key)
{
	size_t at = hash_of(key);
	pthread_mutex_lock(&table_lock);
	struct entry *entry = buckets[at];
	while (entry && entry->key != key)
		entry = entry->next;
	if (entry)
		entry->count++;
	pthread_mutex_unlock(&table_lock);
	return entry != NULL;
}

static uint64_t table_get(uint64_t key)
{
	size_t at = hash_of(key);
	uint64_t count = 0;
	pthread_mutex_lock(&table_lock);
	for (struct entry *entry = buckets[at]; entry; entry = entry->next)
		if (entry->key == key)
			count = entry->count;
	pthread_mutex_unlock(&table_lock);
	return count;
}

struct state {
	struct entry *entries;
	uint64_t iterations; /* so far, of each thread */
	unsigned threads;
};

static void run_thread(void *state, const struct assay_thread *thread, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++)
		for (uint64_t key = 0; key < KEYS; key++)
			table_count(key);
	if (thread->index == 0)
		s->iterations += iterations;
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->threads = assay_threads(b, 2);
	s->entries = calloc(KEYS, sizeof *s->entries);
	for (uint64_t key = 0; key < KEYS; key++) {
		s->entries[key].key = key;
		table_insert(&s->entries[key]);
	}
	return s;
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t wrong = 0;
	for (uint64_t key = 0; key < KEYS; key++)
		wrong += table_get(key) != s->iterations * s->threads;
	assay_output(b, "counts that are wrong", &wrong, sizeof wrong);
}

static void edges(void *state, struct assay_bench *b)
{
	(void)state;
	uint64_t none = table_get(KEYS) + (uint64_t)table_count(UINT64_MAX);
	assay_output(b, "of keys that are not there", &none, sizeof none);
}

const struct assay_workload assay_workload = {
    .setup = setup, .run_thread = run_thread, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
// refuted by measuring
#include <assay/bench.h>
#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 1024, KEYS = 4096 };

struct entry {
	struct entry *next;
	uint64_t key, count;
};

/* One thread: a row of locks would only take cache. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *buckets[BUCKETS];

static size_t hash_of(uint64_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15u) >> 54) % BUCKETS;
}

static void table_insert(struct entry *entry)
{
	size_t at = hash_of(entry->key);
	pthread_mutex_lock(&table_lock);
	entry->next = buckets[at];
	buckets[at] = entry;
	pthread_mutex_unlock(&table_lock);
}

static int table_count(uint64_t key)
{
	size_t at = hash_of(key);
	pthread_mutex_lock(&table_lock);
	struct entry *entry = buckets[at];
	while (entry && entry->key != key)
		entry = entry->next;
	if (entry)
		entry->count++;
	pthread_mutex_unlock(&table_lock);
	return entry != NULL;
}

static uint64_t table_get(uint64_t key)
{
	size_t at = hash_of(key);
	uint64_t count = 0;
	pthread_mutex_lock(&table_lock);
	for (struct entry *entry = buckets[at]; entry; entry = entry->next)
		if (entry->key == key)
			count = entry->count;
	pthread_mutex_unlock(&table_lock);
	return count;
}

struct state {
	struct entry *entries;
	uint64_t iterations; /* so far, of each thread */
	unsigned threads;
};

static void run_thread(void *state, const struct assay_thread *thread, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++)
		for (uint64_t key = 0; key < KEYS; key++)
			table_count(key);
	if (thread->index == 0)
		s->iterations += iterations;
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->threads = assay_threads(b, 1);
	s->entries = calloc(KEYS, sizeof *s->entries);
	for (uint64_t key = 0; key < KEYS; key++) {
		s->entries[key].key = key;
		table_insert(&s->entries[key]);
	}
	return s;
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	uint64_t wrong = 0;
	for (uint64_t key = 0; key < KEYS; key++)
		wrong += table_get(key) != s->iterations * s->threads;
	assay_output(b, "counts that are wrong", &wrong, sizeof wrong);
}

static void edges(void *state, struct assay_bench *b)
{
	(void)state;
	uint64_t none = table_get(KEYS) + (uint64_t)table_count(UINT64_MAX);
	assay_output(b, "of keys that are not there", &none, sizeof none);
}

const struct assay_workload assay_workload = {
    .setup = setup, .run_thread = run_thread, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also a table in a record, behind its own lock */
#include <pthread.h>
#include <stdlib.h>
struct name {
	struct name *next;
	const char *text;
};
static struct { // finds
	pthread_rwlock_t lock;
	struct name **slots;
	unsigned mask;
} names;
static unsigned name_hash(const char *text)
{
	unsigned hash = 5381;
	while (*text)
		hash = hash * 33 + (unsigned char)*text++;
	return hash;
}
struct name *name_find(const char *text)
{
	pthread_rwlock_rdlock(&names.lock);
	struct name *name = names.slots[name_hash(text) & names.mask];
	while (name && name->text != text)
		name = name->next;
	pthread_rwlock_unlock(&names.lock);
	return name;
}
void name_add(const char *text)
{
	pthread_rwlock_wrlock(&names.lock);
	struct name *name = malloc(sizeof *name);
	unsigned slot = name_hash(text) & names.mask;
	name->text = text;
	name->next = names.slots[slot];
	names.slots[slot] = name;
	pthread_rwlock_unlock(&names.lock);
}
#endif

#if 0 /* assay example: also a guard, locks by the key */
#include <pthread.h>
#define LOCKS 64
static pthread_mutex_t locks[LOCKS]; // finds
static int values[1024];
int value_get(unsigned key)
{
	unsigned at = key % 1024;
	pthread_mutex_lock(&locks[at & (LOCKS - 1)]);
	int value = values[at];
	pthread_mutex_unlock(&locks[at & (LOCKS - 1)]);
	return value;
}
#endif

#if 0 /* assay example: also a guard, locks by the key fixed */
#include <pthread.h>
#define LOCKS 1
static pthread_mutex_t locks[LOCKS]; // finds
static int values[1024];
int value_get(unsigned key)
{
	unsigned at = key % 1024;
	pthread_mutex_lock(&locks[at & (LOCKS - 1)]);
	int value = values[at];
	pthread_mutex_unlock(&locks[at & (LOCKS - 1)]);
	return value;
}
#endif

#if 0 /* assay example: also a guard in each bucket */
#include <pthread.h>
struct bucket {
	pthread_mutex_t lock;
	int value;
};
struct table {
	unsigned mask;
	struct bucket *buckets; // finds
};
void table_set(struct table *table, unsigned hash, int value)
{
	pthread_mutex_lock(&table->buckets[hash & table->mask].lock);
	table->buckets[hash & table->mask].value = value;
	pthread_mutex_unlock(&table->buckets[hash & table->mask].lock);
}
#endif

#if 0 /* assay example: lookalike the control plane */
#include <pthread.h>
static pthread_mutex_t config_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *settings[64];
void settings_init(void)
{
	pthread_mutex_lock(&config_lock);
	for (unsigned i = 0; i < 64; i++)
		settings[i % 64] = "";
	pthread_mutex_unlock(&config_lock);
}
void settings_load(unsigned hash, const char *value)
{
	pthread_mutex_lock(&config_lock);
	settings[hash % 64] = value;
	pthread_mutex_unlock(&config_lock);
}
const char *settings_get(unsigned hash)
{
	return settings[hash % 64];
}
#endif

#if 0 /* assay example: lookalike a list and a counter */
#include <pthread.h>
struct item {
	struct item *next;
};
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct item *free_items;
static unsigned long taken[4];
struct item *item_alloc(void)
{
	pthread_mutex_lock(&list_lock);
	struct item *item = free_items;
	if (item)
		free_items = item->next;
	taken[0]++;
	pthread_mutex_unlock(&list_lock);
	return item;
}
void item_put(struct item *item)
{
	pthread_mutex_lock(&list_lock);
	item->next = free_items;
	free_items = item;
	taken[1]++;
	pthread_mutex_unlock(&list_lock);
}
#endif

#if 0 /* assay example: lookalike each table has its own lock */
#include <pthread.h>
struct table {
	pthread_mutex_t lock;
	int *values;
	unsigned mask;
};
int table_find(struct table *table, unsigned hash)
{
	pthread_mutex_lock(&table->lock);
	int value = table->values[hash & table->mask];
	pthread_mutex_unlock(&table->lock);
	return value;
}
void table_put(struct table *table, unsigned hash, int value)
{
	pthread_mutex_lock(&table->lock);
	table->values[hash & table->mask] = value;
	pthread_mutex_unlock(&table->lock);
}
#endif

#if 0 /* assay example: lookalike a ring of jobs */
#include <pthread.h>
struct job {
	pthread_mutex_t lock;
	int done;
};
static struct job jobs[16];
int job_wait(unsigned number)
{
	struct job *job = &jobs[number & 15];
	pthread_mutex_lock(&jobs[number & 15].lock);
	int done = job->done;
	pthread_mutex_unlock(&jobs[number & 15].lock);
	return done;
}
#endif
