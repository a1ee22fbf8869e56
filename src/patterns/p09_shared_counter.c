/* P09 shared-counter: a statistic of the whole process, counted by one atomic instruction for each event.
 *
 * A locked add costs some 5 ns when nobody else wants the line, and the time of a transfer between cores when somebody
 * does; `relaxed` changes nothing on x86, where it is the same instruction.
 *
 * What must stay silent: reference counts, tickets, sequence and lock words; gauges, which go up and down; counters that a
 * decision of the code hangs on; per-CPU and per-thread slots; error paths and start-up, which are cold; counts of what is
 * rare by its name (retries, delays, time-outs); functions that make a system call each time, beside which an addition is
 * nothing. Several counters of one record in one function are one finding.
 */
#include "patterns/query.h"

#include "base/text.h"

#include <ctype.h>

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_p09 = {
    .id = "P09",
    .slug = "shared-counter",
    .title = "one shared counter, counted atomically for each event",
    .tier = TIER_B,
    .what = "An atomic add to a global, or to a field of a global object, whose result nobody uses and whose name says that "
            "it is a statistic: count, total, hits, misses, bytes, stats.",
    .why = "Each add takes the counter's cache line for itself. One thread pays for a locked instruction, which also waits "
           "for all earlier stores; several threads hand the line to and fro, so that more of them count less.",
    .when_not = "The function runs rarely; the counter's exact value at every moment matters to somebody; there is one "
                "thread, and the loop around it does much more than count.",
    .expected = "in a tight loop some 5 ns for each event even on one thread (a locked add against one that may be "
                "combined); on several threads a cache-line transfer for each, tens to hundreds of ns",
    .refuted_by = "A workload that counts once for thousands of items, or one thread whose loop does much else.",
    .sources = (const char *const[]){"Paul McKenney, Is Parallel Programming Hard, And, If So, What Can You Do About It?, "
                                     "edition of 2023, chapter 5 (Counting)",
                                     "Agner Fog, Instruction tables (LOCK ADD), edition of 2023",
                                     "Linux kernel documentation, admin-guide/mm and core-api/local_ops (per-CPU counters)",
                                     NULL},
    .detect = detect,
};

struct add {
	struct ast_node *node, *object;
	struct atomic atomic;
	const struct loop *loop; /* the innermost; NULL: none */
};
LIST_OF(struct add, add_list);
LIST_OF(struct loop *, loop_list);
LIST_OF(const struct ast_node *, holder_list);

struct detection {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
	struct arena *arena;
	struct loop_list loops;
	struct add_list adds;
	struct ast_node *function;
};

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* Whether one of a name's words ("cacheHits", "cache_hits": cache, hits) is in the list. */
static bool has_word(const char *name, const char *const *words)
{
	for (const char *at = name ? name : ""; *at;) {
		size_t size = 0;
		while (isalpha((unsigned char)at[size]) && !(size && isupper((unsigned char)at[size]) && islower((unsigned char)at[size - 1])))
			size++;
		for (size_t i = 0; size && words[i]; i++)
			if (strlen(words[i]) == size && strncasecmp(at, words[i], size) == 0)
				return true;
		at += size ? size : 1;
	}
	return false;
}

static const char *const statistic_words[] = {"count", "counts", "counter", "counters", "cnt", "total", "totals", "hit", "hits", "miss",
                                              "misses", "missed", "bytes", "stat", "stats", "statistics", NULL};
static const char *const other_words[] = {"ref",  "refs", "refcount", "refcnt", "user",    "users",   "lock",     "locks", "locked",
                                          "seq",  "sequence", "ticket", "gen",  "generation", "id",   "ids",      "next",  "waiters",
                                          "wait", "pending",  "active", "live", "inflight", "flight", "busy",     "use",   "uses",
                                          "open", "err",      "errs",   "error", "errors", "fail",   "failed",   "failures",
                                          "current", "curr", NULL};

/* What happens when something goes wrong or has to wait: then the count is the least of it. */
static const char *const rare_words[] = {"retry",   "retries",   "delay",    "delays",   "delayed", "throttle", "throttled", "suspended",
                                         "over",    "overflow",  "overflows", "overrun", "limit",   "quota",    "dropped",   "drops",
                                         "rejected", "denied",   "timeout",  "timeouts", "expired", "hard",     "reload",    "reloads",
                                         "stall",   "stalls",    "abort",    "aborted",  "restart", "restarts", "error",     "errors",
                                         "fallback", "evacuated", NULL};

/* A statistic by its own name; "stats" may also be its object's. */
static bool is_statistic(struct ast_node *object)
{
	static const char *const stats[] = {"stat", "stats", "statistics", "counters", NULL};
	if (has_word(object->name, other_words))
		return false;
	for (struct ast_node *at = object; at && at->kind == AST_MEMBER && at->children.count; at = ast_strip_casts(at->children.at[0]))
		if (has_word(at->name, rare_words))
			return false;
	if (has_word(object->name, rare_words))
		return false;
	bool named = has_word(object->name, statistic_words);
	for (struct ast_node *at = object; !named && at && at->kind == AST_MEMBER && at->children.count;) {
		at = ast_strip_casts(at->children.at[0]);
		named = at && has_word(at->name, stats);
	}
	return named;
}

/* ---- whose counter ----------------------------------------------------------------------------------------------- */

static bool is_thread_local(const struct ast_unit *unit, const struct ast_node *decl)
{
	const char *text = decl->range.file ? ast_text(unit, &decl->range) : NULL;
	size_t size;
	const char *file = decl->range.file ? ast_file_text(unit, decl->range.file, &size) : NULL;
	size_t begin = decl->range.offset;
	while (file && begin > 0 && begin <= size && file[begin - 1] != '\n' && file[begin - 1] != ';')
		begin--;
	struct ast_range line = decl->range;
	line.offset = begin;
	text = file && begin < decl->range.end_offset ? ast_text(unit, &line) : text;
	return text && (strstr(text, "__thread") || strstr(text, "hread_local"));
}

/* A global, a field of one, or of what a global points to; not a slot of an array that is chosen at run time. */
static bool is_shared(const struct ast_unit *unit, struct ast_node *object)
{
	for (struct ast_node *at = object; at;) {
		if (at->kind == AST_REF)
			return at->is_global && at->decl && !is_thread_local(unit, at->decl);
		if (at->kind == AST_SUBSCRIPT) {
			struct ast_node *index = ast_operand(at, 1);
			if (!index || !index->has_value)
				return false;
		} else if (at->kind != AST_MEMBER) {
			return false;
		}
		at = ast_operand(at, 0);
	}
	return false;
}

struct uses {
	const struct ast_node *decl;
	bool other; /* it goes down somewhere, or something is decided by it */
};

static bool names_decl(struct ast_node *node, void *context)
{
	struct uses *uses = context;
	if (atomic_of(node).kind == ATOMIC_ADD)
		return false;
	uses->other |= (node->kind == AST_REF || node->kind == AST_MEMBER) && node->decl == uses->decl;
	return !uses->other;
}

static bool uses_visit(struct ast_node *node, void *context)
{
	struct uses *uses = context;
	struct atomic atomic = atomic_of(node);
	if (atomic.kind == ATOMIC_SUB) {
		struct ast_node *object = atomic_object(&atomic);
		uses->other |= object && object->decl == uses->decl;
	}
	if ((node->kind == AST_IF || node->kind == AST_CONDITIONAL || node->kind == AST_SWITCH || node_is_loop(node)) &&
	    (node->condition || node->kind == AST_CONDITIONAL))
		ast_walk(node->condition ? node->condition : node->children.at[0], names_decl, uses);
	return !uses->other;
}

static bool is_gauge_or_gate(const struct ast_unit *unit, const struct ast_node *object)
{
	struct uses uses = {.decl = object->decl};
	for (size_t i = 0; object->decl && i < unit->top.count && !uses.other; i++)
		ast_walk(unit->top.at[i], uses_visit, &uses);
	return uses.other;
}

/* ---- where it is counted ----------------------------------------------------------------------------------------- */

/* The statement that a call is, through parentheses and (void); NULL: its result is used, or it is a part of more. */
static struct ast_node *statement_of(struct ast_node *node)
{
	struct ast_node *at = node;
	while (at->parent && (at->parent->kind == AST_PAREN ||
	                      (at->parent->kind == AST_CAST && at->parent->type && at->parent->type->kind == TYPE_VOID)))
		at = at->parent;
	struct ast_node *up = at->parent;
	if (!up)
		return NULL;
	bool body = up->kind == AST_COMPOUND || ((up->kind == AST_IF || up->kind == AST_CASE || up->kind == AST_LABEL || ast_is_loop(up)) &&
	                                         (at == up->body || at == up->otherwise));
	return body ? at : NULL;
}

struct failure {
	const struct ast_unit *unit;
	bool found;
};

static bool failure_visit(struct ast_node *node, void *context)
{
	static const char *const labels[] = {"err", "error", "errout", "fail", "failed", "bad", "abort", "oom", NULL};
	struct failure *failure = context;
	if (node->kind == AST_GOTO)
		failure->found |= has_word(node->name, labels);
	struct ast_node *value = node->kind == AST_RETURN ? ast_operand(node, 0) : NULL;
	if (!value)
		return !failure->found;
	const char *text = ast_text(failure->unit, &node->children.at[0]->range);
	bool constant = value->has_value || value->kind == AST_INT || (value->kind == AST_UNARY && value->op == OP_MINUS);
	if (constant && text)
		failure->found |= text[0] == '-' || (text[0] == 'E' && isupper((unsigned char)text[1])) || strstr(text, "ERR") ||
		                  strstr(text, "FAIL") || strstr(text, "NULL");
	return !failure->found;
}

static bool is_cold(const struct detection *detection, const struct ast_node *node, const char *counter)
{
	static const char *const cold[] = {"err",  "error", "errors", "fail",  "failed", "failure", "panic",   "abort",   "fatal", "warn",
	                                   "init", "fini",  "setup",  "start", "stop",   "shutdown", "cleanup", "destroy", "main",  "exit",
	                                   "bug",  "oom",   "invalid", "corrupt", NULL};
	static const char *const lookups[] = {"hit", "hits", "miss", "misses", "missed", NULL};
	if (has_word(detection->function->name, cold))
		return true;
	struct failure failure = {.unit = detection->unit};
	for (const struct ast_node *at = node; at->parent && !has_word(counter, lookups); at = at->parent)
		if (at->parent->kind == AST_IF && (at == at->parent->body || at == at->parent->otherwise))
			ast_walk((struct ast_node *)at, failure_visit, &failure);
	return failure.found;
}

/* A call behind whose name a system call stands: what it costs hides what a count costs. */
static bool is_system_call(const struct ast_node *call)
{
	static const char *const known[] = {"read", "write", "readv", "writev", "pread", "pwrite", "recv", "send", "recvfrom",
	                                    "sendto", "recvmsg", "sendmsg", "sendfile", "fsync", "fdatasync", "poll", "epoll_wait",
	                                    "select", "accept", "connect", "fread", "fwrite", "fflush", "open", "close", "usleep",
	                                    "nanosleep", "pthread_cond_wait", "pthread_cond_timedwait", "cv_wait", "cv_timedwait", NULL};
	static const char *const whom[] = {"conn", "connection", "sock", "socket", "fd", "file", "aio", "client", "peer", "net", "ssl",
	                                   "tls", "pipe", NULL};
	static const char *const what[] = {"read", "write", "recv", "receive", "send", "flush", NULL};
	const char *name = call_name(call);
	bool does = false, to = false;
	for (size_t i = 0; name && what[i]; i++)
		does |= name_has_word(name, what[i]);
	for (size_t i = 0; does && whom[i]; i++)
		to |= name_has_word(name, whom[i]);
	return (does && to) || call_is(call, known);
}

static bool system_visit(struct ast_node *node, void *context)
{
	*(bool *)context |= node->kind == AST_CALL && is_system_call(node);
	return !*(bool *)context;
}

/* Whether the function, or with a loop the loop, makes a system call each time. */
static bool is_beside_system_call(const struct detection *detection, const struct add *add)
{
	bool found = false;
	ast_walk(add->loop ? add->loop->node : detection->function->body, system_visit, &found);
	return found;
}

/* The record that holds a counter, as far as names go. */
static const struct ast_node *holder_of(struct ast_node *object)
{
	while (object && object->kind == AST_MEMBER && object->children.count)
		object = ast_strip_casts(object->children.at[0]);
	return object && object->kind == AST_REF ? object->decl : NULL;
}

/* What is added was summed up in a loop of this function before: it is batched already. */
static bool is_batched(const struct detection *detection, const struct add *add)
{
	struct ast_node *value = ast_strip_casts(add->atomic.value);
	if (add->loop || !value || value->kind != AST_REF || value->is_global)
		return false;
	for (size_t i = 0; i < detection->loops.count; i++) {
		const struct loop *loop = detection->loops.at[i];
		for (size_t w = 0; w < loop->writes.count; w++)
			if (path_equal(loop->writes.at[w], value))
				return true;
	}
	return false;
}

/* ---- the candidate ----------------------------------------------------------------------------------------------- */

static const char *value_type(const struct add *add)
{
	const struct ast_type *type = add->object->type;
	if (add->object == ast_strip_casts(add->atomic.pointer) && add->atomic.style != ATOMIC_OPERATOR)
		type = type && type->pointee ? type->pointee : NULL;
	if (!type || type->kind != TYPE_INT)
		return NULL;
	bool plain = !type->is_atomic && !type->is_volatile && !type->is_const && type->spelling && !strpbrk(type->spelling, "([{<");
	return plain ? type->spelling : type->canonical;
}

/* The value that is added, as written: "1" for an increment; NULL: it can't be told. */
static const char *value_text(const struct detection *detection, const struct add *add)
{
	if (!add->atomic.value)
		return "1";
	const char *text = ast_text(detection->unit, &add->atomic.value->range);
	return text && !strchr(text, '\n') ? text : NULL;
}

/* The same operation with the batch as its value; NULL: can't be written. */
static const char *flush_text(const struct detection *detection, const struct add *add, const char *batch)
{
	struct arena *arena = detection->sink->arena;
	const char *text = ast_text(detection->unit, &add->node->range);
	if (add->atomic.style == ATOMIC_OPERATOR) {
		const char *object = ast_text(detection->unit, &add->object->range);
		return object ? arena_printf(arena, "%s += %s;", object, batch) : NULL;
	}
	const struct ast_node *value = add->atomic.value;
	if (!text || !value || strchr(text, '\n') || (add->atomic.style != ATOMIC_BUILTIN && add->atomic.style != ATOMIC_C11) ||
	    !text_equal(value->range.file, add->node->range.file) || value->range.offset < add->node->range.offset ||
	    value->range.end_offset >= add->node->range.end_offset || value->range.end_offset == value->range.offset)
		return NULL;
	return arena_printf(arena, "%.*s%s%s;", (int)(value->range.offset - add->node->range.offset), text, batch,
	                    text + (value->range.end_offset - add->node->range.offset));
}

static bool reads_it(const struct loop *loop, const struct ast_node *object)
{
	struct uses uses = {.decl = object->decl};
	ast_walk(loop->node, names_decl, &uses);
	return uses.other;
}

/* Counts in a local and adds it once behind the loop: all adds of the counter in this loop at once. */
static bool put_candidate(struct detection *detection, const struct add *first, struct finding *finding)
{
	const struct loop *loop = first->loop;
	struct arena *arena = detection->sink->arena;
	struct ast_node *condition = loop->node->condition ? ast_strip_casts(loop->node->condition) : NULL;
	const char *type = value_type(first);
	if (!type || !condition || condition->has_value || condition->kind == AST_INT || loop_may_leave(loop) ||
	    !loop_takes_declaration(loop) || (first->object->kind != AST_REF && !loop_same_place(loop, first->object)) || reads_it(loop, first->object))
		return false;
	const char *name = free_name(loop, arena, arena_printf(arena, "%s_batch", first->object->name));
	const char *flush = name ? flush_text(detection, first, name) : NULL;
	if (!flush)
		return false;
	for (size_t i = 0; i < detection->adds.count; i++) {
		const struct add *add = &detection->adds.at[i];
		if (!node_holds(loop->node, add->node) || add->object->decl != first->object->decl)
			continue;
		const char *value = value_text(detection, add);
		if (!path_equal(add->object, first->object) || !statement_of(add->node) || !node_is_replaceable(detection->unit, add->node) ||
		    !value || !text_equal(add->node->range.file, loop->node->range.file))
			return false;
	}
	struct string_list before = {0}, after = {0};
	list_push(arena, &before, arena_printf(arena, "%s %s = 0;", type, name));
	list_push(arena, &after, flush);
	if (!loop_append(loop, detection->sink, finding, &after))
		return false;
	loop_declare(loop, detection->sink, finding, &before);
	for (size_t i = 0; i < detection->adds.count; i++) {
		const struct add *add = &detection->adds.at[i];
		if (!node_holds(loop->node, add->node) || add->object->decl != first->object->decl)
			continue;
		const char *value = value_text(detection, add);
		finding_edit(detection->sink, finding, add->node->range.offset, add->node->range.end_offset - add->node->range.offset,
		             text_equal(value, "1") ? arena_printf(arena, "%s++", name) : arena_printf(arena, "%s += %s", name, value));
	}
	return true;
}

/* ---- the finding ------------------------------------------------------------------------------------------------- */

/* Whether the loop does little else than count. */
static bool is_tight(const struct detection *detection, const struct loop *loop)
{
	for (size_t i = 0; i < loop->calls.count; i++) {
		bool counts = false;
		for (size_t k = 0; k < detection->adds.count && !counts; k++)
			counts = detection->adds.at[k].node == loop->calls.at[i];
		if (!counts)
			return false;
	}
	return true;
}

static void report(struct detection *detection, const struct add *add)
{
	struct arena *arena = detection->sink->arena;
	bool tight = add->loop && is_tight(detection, add->loop);
	const char *object = node_text(detection->unit, add->object, arena);
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_p09, &add->node->range, detection->function->name,
	    tight ? SEVERITY_MEDIUM : SEVERITY_LOW,
	    add->loop ? arena_printf(arena, "`%s`, which all threads share, is counted atomically in every turn of a loop", object)
	              : arena_printf(arena, "`%s`, which all threads share, is counted atomically in each call", object));
	if (add->loop && put_candidate(detection, add, finding)) {
		finding->evidence = "nothing in the loop reads the counter, so it can be counted in a local and added once";
		finding->contract =
		    arena_printf(arena, "whoever reads `%s` may see it late, by as much as one run of the loop; no call in the loop leaves "
		                        "it by longjmp or ends the thread", object);
		return;
	}
	finding->evidence = "advice: count for each thread or CPU in a cache line of its own and add up when it is read, or count in "
	                    "a local and add once for many events; a weaker memory order is the same instruction on x86";
}

static bool adds_visit(struct ast_node *node, void *context)
{
	struct detection *detection = context;
	struct atomic atomic = atomic_of(node);
	if (atomic.kind != ATOMIC_ADD)
		return true;
	struct add add = {.node = node, .atomic = atomic, .object = atomic_object(&atomic)};
	if (!add.object || !add.object->name)
		return true;
	for (size_t i = 0; i < detection->loops.count; i++) {
		struct loop *loop = detection->loops.at[i];
		if (node_holds(loop->node, node) && (!add.loop || node_holds(add.loop->node, loop->node)) &&
		    !(loop->node->init && node_holds(loop->node->init, node)))
			add.loop = loop;
	}
	list_push(detection->arena, &detection->adds, add);
	return true;
}

static void loops_keep(struct loop *loop, void *context)
{
	struct detection *detection = context;
	list_push(detection->arena, &detection->loops, loop);
}

static void detect_function(struct detection *detection)
{
	struct holder_list reported = {0};
	detection->adds.count = 0;
	ast_walk(detection->function->body, adds_visit, detection);
	for (size_t i = 0; i < detection->adds.count; i++) {
		const struct add *add = &detection->adds.at[i];
		bool known = false; /* one finding for one counter of one loop, and outside of loops for one record's counters */
		for (size_t k = 0; k < i; k++)
			known |= detection->adds.at[k].loop == add->loop && path_equal(detection->adds.at[k].object, add->object);
		for (size_t k = 0; k < reported.count; k++)
			known |= !add->loop && add->object->kind == AST_MEMBER && reported.at[k] == holder_of(add->object);
		bool addressed = add->atomic.style == ATOMIC_OPERATOR || add->object != ast_strip_casts(add->atomic.pointer);
		if (known || !addressed || !statement_of(add->node) || !add->node->range.in_tree || !is_statistic(add->object) ||
		    !is_shared(detection->unit, add->object) || is_cold(detection, add->node, add->object->name) || is_batched(detection, add) ||
		    is_gauge_or_gate(detection->unit, add->object) || is_beside_system_call(detection, add))
			continue;
		report(detection, add);
		if (!add->loop && holder_of(add->object))
			list_push(detection->arena, &reported, holder_of(add->object));
	}
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	struct arena arena;
	arena_init(&arena);
	struct detection detection = {.unit = unit, .sink = sink, .arena = &arena};
	loops_visit(unit, &arena, loops_keep, &detection);
	for (size_t i = 0; i < unit->top.count; i++) {
		detection.function = unit->top.at[i];
		if (detection.function->kind == AST_FUNCTION && detection.function->body && detection.function->range.in_tree)
			detect_function(&detection);
	}
	arena_release(&arena);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>

/* One thread: what is measured is the locked instruction alone. Other threads that count too make it worse. */
static uint64_t bytes_total;

static __attribute__((noinline)) uint32_t account(const uint32_t *sizes, size_t count)
{
	uint32_t largest = 0;
	for (size_t i = 0; i < count; i++) {
		if (sizes[i] > largest)
			largest = sizes[i];
		__atomic_fetch_add(&bytes_total, sizes[i], __ATOMIC_RELAXED); // finds
	}
	return largest;
}

struct state {
	uint32_t *sizes;
	size_t count;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = 4096;
	s->sizes = malloc(s->count * sizeof *s->sizes);
	for (size_t i = 0; i < s->count; i++)
		s->sizes[i] = (uint32_t)(assay_random(b) % 1500);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		__atomic_store_n(&bytes_total, 0, __ATOMIC_RELAXED);
		s->sum = account(s->sizes, s->count);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "bytes", &bytes_total, sizeof bytes_total);
	assay_output(b, "largest", &s->sum, sizeof s->sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 3; count++) {
		s->sum = account(s->sizes + 1, count);
		output(s, b);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>

/* One thread: what is measured is the locked instruction alone. Other threads that count too make it worse. */
static uint64_t bytes_total;

static __attribute__((noinline)) uint32_t account(const uint32_t *sizes, size_t count)
{
	uint32_t largest = 0;
	uint64_t bytes_total_batch = 0;
	for (size_t i = 0; i < count; i++) {
		if (sizes[i] > largest)
			largest = sizes[i];
		bytes_total_batch += sizes[i]; // finds
	}
	__atomic_fetch_add(&bytes_total, bytes_total_batch, __ATOMIC_RELAXED);
	return largest;
}

struct state {
	uint32_t *sizes;
	size_t count;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = 4096;
	s->sizes = malloc(s->count * sizeof *s->sizes);
	for (size_t i = 0; i < s->count; i++)
		s->sizes[i] = (uint32_t)(assay_random(b) % 1500);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		__atomic_store_n(&bytes_total, 0, __ATOMIC_RELAXED);
		s->sum = account(s->sizes, s->count);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "bytes", &bytes_total, sizeof bytes_total);
	assay_output(b, "largest", &s->sum, sizeof s->sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 3; count++) {
		s->sum = account(s->sizes + 1, count);
		output(s, b);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdlib.h>

/* Counted once for 4,096 items: nothing is left to save. */
static uint64_t bytes_total;

static __attribute__((noinline)) uint32_t account(const uint32_t *sizes, size_t count)
{
	uint32_t largest = 0;
	uint64_t bytes = 0;
	for (size_t i = 0; i < count; i++) {
		if (sizes[i] > largest)
			largest = sizes[i];
		bytes += sizes[i];
	}
	__atomic_fetch_add(&bytes_total, bytes, __ATOMIC_RELAXED);
	return largest;
}

struct state {
	uint32_t *sizes;
	size_t count;
	uint64_t sum;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->count = 4096;
	s->sizes = malloc(s->count * sizeof *s->sizes);
	for (size_t i = 0; i < s->count; i++)
		s->sizes[i] = (uint32_t)(assay_random(b) % 1500);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		__atomic_store_n(&bytes_total, 0, __ATOMIC_RELAXED);
		s->sum = account(s->sizes, s->count);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "bytes", &bytes_total, sizeof bytes_total);
	assay_output(b, "largest", &s->sum, sizeof s->sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	for (size_t count = 0; count < 3; count++) {
		s->sum = account(s->sizes + 1, count);
		output(s, b);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also in many ways */
#include <stdatomic.h>
#include <stddef.h>
struct cache {
	atomic_ulong hits, misses;
	_Atomic long lookups_total;
	unsigned long packet_count;
};
struct cache cache, *shared = &cache;
unsigned long item_count;
int find(const int *keys, size_t n, int key);
void scan(const int *keys, size_t n, const int *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (keys[i % n] == wanted[i])
			atomic_fetch_add_explicit(&cache.hits, 1, memory_order_relaxed); // finds
	}
	for (size_t i = 0; i < count; i++)
		if (keys[i % n] != wanted[i])
			atomic_fetch_add(&cache.misses, 1 /* finds */);
	for (size_t i = 0; i < count; i++)
		shared->lookups_total++; // finds
	size_t left = count;
	do {
		__sync_fetch_and_add(&shared->packet_count, left & 3); // finds
		__sync_fetch_and_add(&shared->packet_count, 1);
		if (left == 77)
			break;
	} while (--left);
	while (count--) {
		(void)find(keys, n, wanted[count]);
		__atomic_add_fetch(&item_count, 1, __ATOMIC_SEQ_CST); // finds
	}
}
#endif

#if 0 /* assay example: also in many ways fixed */
#include <stdatomic.h>
#include <stddef.h>
struct cache {
	atomic_ulong hits, misses;
	_Atomic long lookups_total;
	unsigned long packet_count;
};
struct cache cache, *shared = &cache;
unsigned long item_count;
int find(const int *keys, size_t n, int key);
void scan(const int *keys, size_t n, const int *wanted, size_t count)
{
	unsigned long hits_batch = 0;
	for (size_t i = 0; i < count; i++) {
		if (keys[i % n] == wanted[i])
			hits_batch++; // finds
	}
	atomic_fetch_add_explicit(&cache.hits, hits_batch, memory_order_relaxed);
	unsigned long misses_batch = 0;
	for (size_t i = 0; i < count; i++)
		if (keys[i % n] != wanted[i])
			misses_batch++;
	atomic_fetch_add(&cache.misses, misses_batch /* finds */);
	long lookups_total_batch = 0;
	for (size_t i = 0; i < count; i++)
		lookups_total_batch++;
	shared->lookups_total += lookups_total_batch; // finds
	size_t left = count;
	unsigned long packet_count_batch = 0;
	do {
		packet_count_batch += left & 3; // finds
		packet_count_batch++;
		if (left == 77)
			break;
	} while (--left);
	__sync_fetch_and_add(&shared->packet_count, packet_count_batch);
	unsigned long item_count_batch = 0;
	while (count--) {
		(void)find(keys, n, wanted[count]);
		item_count_batch++; // finds
	}
	__atomic_add_fetch(&item_count, item_count_batch, __ATOMIC_SEQ_CST);
}
#endif

#if 0 /* assay example: also advice only */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
void atomic_inc_64(volatile uint64_t *target);
struct stats {
	uint64_t lookups, reads_total;
} stats;
atomic_ulong byte_count;
int next(void);
int lookup(int key)
{
	atomic_inc_64(&stats.lookups); // finds
	return key * 7;
}
int consume(const int *values, size_t count, int end)
{
	for (size_t i = 0; i < count; i++) {
		atomic_inc_64(&stats.reads_total); // finds
		if (values[i] == end)
			return (int)i;
	}
	for (;;) {
		int value = next();
		byte_count += sizeof value; // finds
		if (value == end)
			break;
	}
	return -1;
}
#endif

#if 0 /* assay example: lookalike references, tickets, sequences */
#include <stdatomic.h>
struct table {
	atomic_int refcount, users, lock_count, sequence_total;
} table;
static atomic_uint next_id, ticket_count;
unsigned take(void)
{
	atomic_fetch_add(&table.refcount, 1);
	atomic_fetch_add(&table.users, 1);
	atomic_fetch_add(&table.lock_count, 1);
	atomic_fetch_add(&table.sequence_total, 1);
	unsigned mine = atomic_fetch_add(&ticket_count, 1);
	return atomic_fetch_add(&next_id, 1) + mine;
}
#endif

#if 0 /* assay example: lookalike gauges and gates */
#include <stdatomic.h>
static atomic_int item_count;
static unsigned long bytes_total, request_count;
int add(unsigned long size)
{
	atomic_fetch_add(&item_count, 1);
	__atomic_fetch_add(&bytes_total, size, __ATOMIC_RELAXED);
	__atomic_fetch_add(&request_count, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&bytes_total, __ATOMIC_RELAXED) > 1u << 20)
		return 1;
	while (request_count < 10)
		return 2;
	return 0;
}
void drop(void)
{
	atomic_fetch_sub(&item_count, 1);
}
#endif

#if 0 /* assay example: lookalike error paths and start-up */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
static atomic_long drop_count, start_count, error_count, lost_bytes;
int read_frame(const char *frame, size_t size)
{
	if (size < 4) {
		atomic_fetch_add(&drop_count, 1);
		return -EINVAL;
	}
	if (!frame) {
		lost_bytes += (long)size;
		goto fail;
	}
	return frame[0];
fail:
	atomic_fetch_add(&error_count, 1);
	return -1;
}
void module_init(void)
{
	atomic_fetch_add(&start_count, 1);
}
#endif

#if 0 /* assay example: lookalike a thread's own, a caller's own, a plain one */
#include <stdatomic.h>
#include <stddef.h>
struct worker {
	atomic_ulong hits;
	char pad[56];
};
static struct worker workers[64];
static _Thread_local atomic_ulong miss_count;
static unsigned long total;
void note(unsigned cpu, struct worker *worker, size_t count)
{
	atomic_fetch_add(&workers[cpu].hits, 1);
	atomic_fetch_add(&worker->hits, 1);
	atomic_fetch_add(&miss_count, 1);
	for (size_t i = 0; i < count; i++)
		total += i ^ cpu;
}
#endif

#if 0 /* assay example: lookalike other names */
#include <stdatomic.h>
static atomic_ulong used_memory, state, country, statement;
void grow(unsigned long size)
{
	atomic_fetch_add(&used_memory, size);
	atomic_fetch_add(&state, 1);
	atomic_fetch_add(&country, 1);
	atomic_fetch_add(&statement, 1);
}
#endif

#if 0 /* assay example: lookalike beside a system call */
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>
struct connection;
long connRead(struct connection *connection, char *to, size_t size);
long writeToClient(struct connection *connection);
struct {
	atomic_ulong reads_total, input_bytes, output_bytes;
} stats;
size_t take(struct connection *connection, char *to, size_t size)
{
	long got = connRead(connection, to, size);
	atomic_fetch_add_explicit(&stats.reads_total, 1, memory_order_relaxed);
	if (got > 0)
		atomic_fetch_add_explicit(&stats.input_bytes, (unsigned long)got, memory_order_relaxed);
	return got > 0 ? (size_t)got : 0;
}
void drain(int from, struct connection **clients, size_t count)
{
	char bytes[4096];
	while (read(from, bytes, sizeof bytes) > 0)
		for (size_t i = 0; i < count; i++) {
			long sent = writeToClient(clients[i]);
			atomic_fetch_add_explicit(&stats.output_bytes, (unsigned long)sent, memory_order_relaxed);
		}
}
#endif

#if 0 /* assay example: lookalike what is rare by its name */
#include <stdint.h>
void atomic_add_64(volatile uint64_t *target, int64_t delta);
typedef struct {
	struct {
		uint64_t ui64;
	} value;
} named_t;
struct tx_stats {
	named_t tx_delay, tx_quota, tx_try_hard;
} tx_stats;
#define BUMP(which) atomic_add_64(&tx_stats.which.value.ui64, 1)
int assign(int dirty, int room)
{
	if (dirty > 3)
		BUMP(tx_delay);
	if (dirty > room)
		BUMP(tx_quota);
	BUMP(tx_try_hard);
	return dirty * 2;
}
#endif

#if 0 /* assay example: also several of one record */
#include <stdint.h>
void atomic_add_64(volatile uint64_t *target, int64_t delta);
struct mirror_stats {
	uint64_t linear, offset, seek;
} mirror_stats;
int load(int distance)
{
	if (distance == 0) {
		atomic_add_64(&mirror_stats.linear, 1); // finds
		return 0;
	}
	if (distance < 8) {
		atomic_add_64(&mirror_stats.offset, 1);
		return 1;
	}
	atomic_add_64(&mirror_stats.seek, 1);
	return 2;
}
#endif
