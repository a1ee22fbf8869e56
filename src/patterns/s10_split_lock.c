/* S10 split-lock: a locked operation on a place that can reach over the end of a cache line.
 *
 * The core locks a line in its own cache for a locked operation; of two lines at once it can't be sure, so it stops all
 * cores' accesses to memory (a bus lock). Compilers align what they lay out, so that only a packed record, a cast into
 * bytes, or a type that is declared with less alignment than its size leads there. All of it is known from the layout:
 * which bytes of a line the place may take, given where records begin (their own alignment, the sixteen bytes of malloc,
 * the step of an array).
 *
 * Silent: places at multiples of their size, and those that no placement brings over a line's end. A layout that files,
 * messages, headers or other units may rely on is never touched: it gets advice.
 */
#include "patterns/query.h"

#include "base/text.h"

enum { LINE_BYTES = 64, MALLOC_ALIGN = 16, SEQUENTIALLY_CONSISTENT = 5 };

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_s10 = {
    .id = "S10",
    .slug = "split-lock",
    .title = "a locked operation that can span two cache lines",
    .tier = TIER_A,
    .what = "An atomic operation that locks (add, exchange, compare-and-swap, sequentially consistent store) on a field of a "
            "packed record, or through a cast or an under-aligned type, whose place is no multiple of its size and can reach "
            "over the end of a cache line.",
    .why = "A lock on two lines can't be kept within the core's cache: the processor locks the bus, for itself and for all "
           "other cores, some thousand cycles each time. Newer Linux kernels trap it, and slow the program down or end it.",
    .when_not = "The record never lies so that the field crosses a line, such as a single static one. The layout of files and "
                "messages stays as it is: copy the field out instead.",
    .expected = "250x for the operation (catalogue's own measurement on an AMD EPYC), and all other cores wait as well; the Linux "
                "kernel's documentation speaks of more than 1,000 cycles",
    .refuted_by = "Addresses that never cross a line in the measured workload.",
    .sources = (const char *const[]){"Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3A, 9.1.2 Bus locking "
                                     "and 9.1.2.3 Features to disable bus locks",
                                     "Linux kernel documentation, Bus lock detection and handling",
                                     NULL},
    .detect = detect,
};

struct detection {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
	struct ast_node *function;
	struct ast_node_list reported; /* fields */
};

/* Where an operation's place lies. */
struct place {
	long long offset;   /* from the base */
	long long granule;  /* the base, and the steps of arrays on the way, are multiples of it */
	long long size;     /* of what is operated on */
	struct ast_node *field; /* AST_FIELD that the place is, or lies in; NULL: none */
	bool whole;         /* it is the field, and its record is the base */
};

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

/* The offset of a field in its record; -1: it can't be told, or is no whole byte. */
static long long field_offset(const struct ast_unit *unit, const struct ast_node *field)
{
	const struct ast_layout *layout = field ? record_layout(unit, field->parent) : NULL;
	for (size_t i = 0; layout && field->name && i < layout->fields.count; i++)
		if (text_equal(layout->fields.at[i].name, field->name))
			return layout->fields.at[i].offset_bits < 0 || layout->fields.at[i].offset_bits % 8 ? -1 : layout->fields.at[i].offset_bits / 8;
	return -1;
}

static long long gcd(long long a, long long b)
{
	while (b) {
		long long rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Adds an index into something of `size` bytes each. */
static void step(struct place *place, struct ast_node *index, long long size)
{
	long long value;
	if (node_constant(index, &value))
		place->offset += value * size;
	else
		place->granule = gcd(place->granule, size);
}

/* The alignment of an object of a type that nobody says more of: malloc's, and that of the stack and of globals, is 16. */
static long long base_granule(const struct ast_type *type)
{
	return type && type->align > MALLOC_ALIGN ? type->align : MALLOC_ALIGN;
}

static bool place_of_lvalue(const struct detection *detection, struct ast_node *lvalue, struct place *place);

/* What an address expression points to. `element` is the size of what it counts in. */
static bool place_of_pointer(const struct detection *detection, struct ast_node *pointer, struct place *place)
{
	struct ast_node *node = ast_strip_casts(pointer);
	struct ast_node *left = ast_operand(node, 0);
	if (!node || !node->type)
		return false;
	if (node->kind == AST_UNARY && node->op == OP_ADDRESS)
		return place_of_lvalue(detection, left, place);
	if (node->type->kind == TYPE_ARRAY)
		return place_of_lvalue(detection, node, place);
	if (node->kind == AST_BINARY && node->op == OP_ADD && node->type->kind == TYPE_POINTER && node->type->pointee &&
	    node->type->pointee->size > 0 && left && left->type && (left->type->kind == TYPE_ARRAY || left->type->kind == TYPE_POINTER)) {
		/* The left side as written: a cast says what it counts in. */
		step(place, ast_child(node, 1), node->type->pointee->size);
		return place_of_pointer(detection, ast_child(node, 0), place);
	}
	/* A pointer to a record: to its first byte. To anything else: where it points is not known. */
	const struct ast_type *pointee = node->type->kind == TYPE_POINTER ? node->type->pointee : NULL;
	if (!pointee || pointee->kind != TYPE_RECORD || pointee->size <= 0)
		return false;
	place->granule = gcd(place->granule, base_granule(pointee));
	return true;
}

static bool place_of_lvalue(const struct detection *detection, struct ast_node *lvalue, struct place *place)
{
	struct ast_node *node = ast_strip(lvalue), *base = ast_child(node, 0);
	if (!node || !node->type)
		return false;
	if (node->kind == AST_REF) {
		place->granule = gcd(place->granule, base_granule(node->type));
		return node->decl && node->decl->kind == AST_VAR && node->type->kind != TYPE_POINTER;
	}
	if (node->kind == AST_MEMBER) {
		long long offset = field_offset(detection->unit, node->decl);
		if (offset < 0)
			return false;
		place->offset += offset;
		place->whole = !place->field && (node->arrow || ast_strip(base)->kind != AST_MEMBER);
		if (!place->field)
			place->field = node->decl;
		return node->arrow ? place_of_pointer(detection, base, place) : place_of_lvalue(detection, base, place);
	}
	if (node->kind == AST_SUBSCRIPT && node->type->size > 0) {
		struct ast_node *array = ast_strip(base);
		step(place, ast_child(node, 1), node->type->size);
		if (array && array->type && array->type->kind == TYPE_ARRAY)
			return place_of_lvalue(detection, array, place);
		return place_of_pointer(detection, base, place);
	}
	if (node->kind == AST_UNARY && node->op == OP_DEREF)
		return place_of_pointer(detection, base, place);
	return false;
}

/* Whether some placement of the base brings it over a line's end; *ret_at: the first byte of the line that it takes then. */
static bool crosses(const struct place *place, long long *ret_at)
{
	long long granule = gcd(place->granule, LINE_BYTES);
	for (long long at = ((place->offset % granule) + granule) % granule; at < LINE_BYTES; at += granule) {
		if (at + place->size <= LINE_BYTES)
			continue;
		*ret_at = at;
		return true;
	}
	return false;
}

/* ---- the operation ----------------------------------------------------------------------------------------------- */

/* What a locking operation works on: its address as written, or with *ret_direct the lvalue itself. NULL: it is none. */
static struct ast_node *locked_operand(struct ast_node *node, bool *ret_direct)
{
	struct atomic atomic = atomic_of(node);
	*ret_direct = atomic.style == ATOMIC_OPERATOR;
	struct ast_node *target = ast_child(node, 0);
	if (node->kind == AST_ASSIGN && target && target->type && target->type->is_atomic) {
		*ret_direct = true;
		return target;
	}
	if (atomic.kind == ATOMIC_NONE || atomic.kind == ATOMIC_TRY)
		return NULL;
	if (atomic.kind == ATOMIC_OTHER && (!node->name || strstr(node->name, "load") || strstr(node->name, "init") ||
	                                    (strstr(node->name, "store") && node->value != SEQUENTIALLY_CONSISTENT)))
		return NULL;
	return atomic.pointer;
}

static bool is_word(const struct ast_type *type)
{
	return type && (type->size == 2 || type->size == 4 || type->size == 8) && type->kind != TYPE_RECORD && type->kind != TYPE_ARRAY;
}

/* ---- the candidate ----------------------------------------------------------------------------------------------- */

static bool put_candidate(struct detection *detection, const struct place *place, struct finding *finding)
{
	const struct ast_unit *unit = detection->unit;
	const struct ast_node *field = place->field, *record = field ? field->parent : NULL;
	size_t size = 0;
	const char *text = field && field->range.file ? ast_file_text(unit, field->range.file, &size) : NULL;
	if (!text || !place->whole || !record || record->kind != AST_RECORD || !record->type || field->range.in_macro ||
	    field->type->size != place->size || field->range.end_offset >= size || text[field->range.end_offset] != ';' ||
	    !record_is_own(unit, record) || !text_equal(finding->file, unit_relative(unit, field->range.file)))
		return false;
	finding_edit(detection->sink, finding, field->range.end_offset, 0,
	             arena_printf(detection->sink->arena, " __attribute__((aligned(%lld)))", place->size));
	return true;
}

/* ---- the finding ------------------------------------------------------------------------------------------------- */

static void report(struct detection *detection, struct ast_node *node, struct ast_node *operand, const struct place *place, long long at)
{
	struct arena *arena = detection->sink->arena;
	const struct ast_node *field = place->field, *record = field ? field->parent : NULL;
	for (size_t i = 0; field && i < detection->reported.count; i++)
		if (detection->reported.at[i] == field)
			return;
	if (field)
		list_push(arena, &detection->reported, (struct ast_node *)field);
	struct ast_node *lvalue = ast_strip_casts(operand);
	if (lvalue && lvalue->kind == AST_UNARY && lvalue->op == OP_ADDRESS)
		lvalue = ast_operand(lvalue, 0);
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_s10, &node->range, detection->function->name,
	    function_heat(detection->unit, detection->function) == HEAT_COLD ? SEVERITY_LOW : SEVERITY_MEDIUM,
	    arena_printf(arena, "the locked operation on `%s` can span two cache lines", node_text(detection->unit, lvalue, arena)));
	const char *where =
	    field ? arena_printf(arena, "%lld bytes at byte %lld of %s: where that begins at byte %lld of a line, %lld of them lie in the next",
	                         place->size, place->offset, record && record->name && *record->name ? record->name : "the record",
	                         ((at - place->offset) % LINE_BYTES + LINE_BYTES) % LINE_BYTES, at + place->size - LINE_BYTES)
	          : arena_printf(arena, "%lld bytes of a type that may begin anywhere", place->size);
	if (put_candidate(detection, place, finding)) {
		finding->evidence = where;
		finding->contract = "no file, message, other unit or shared memory relies on the record's layout: it grows by the gap";
	} else {
		finding->evidence = arena_printf(arena, "%s; advice: give it a place at a multiple of its size, or count beside the record "
		                                        "where the layout is not yours to change", where);
	}
}

static bool look(struct ast_node *node, void *context)
{
	struct detection *detection = context;
	bool direct = false;
	if (node->kind == AST_SIZEOF)
		return false;
	struct ast_node *operand = locked_operand(node, &direct);
	if (!operand || !node->range.file)
		return true;
	struct ast_node *written = ast_strip(operand);
	const struct ast_type *type = written ? written->type : NULL;
	if (type && !direct)
		type = type->pointee;
	struct place place = {.granule = LINE_BYTES};
	if (!is_word(type))
		return true;
	place.size = type->size;
	long long at;
	bool known = direct ? place_of_lvalue(detection, operand, &place) : place_of_pointer(detection, operand, &place);
	/* The type itself says that it may begin anywhere. */
	if (!known && !direct && type->align > 0 && type->align < type->size && type->align <= 2)
		place = (struct place){.granule = type->align, .size = type->size}, known = true;
	if (known && place.offset % place.size != 0 && crosses(&place, &at))
		report(detection, node, operand, &place, at);
	else if (known && place.granule % place.size != 0 && crosses(&place, &at))
		report(detection, node, operand, &place, at);
	return true;
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct detection detection = {.unit = unit, .sink = sink};
	if (command_flag(command, "-m32", "-m64", false))
		return; /* eight bytes are aligned to four there, and nobody locks them */
	for (size_t i = 0; i < unit->top.count; i++) {
		struct ast_node *function = unit->top.at[i];
		if (function->kind != AST_FUNCTION || !function->is_definition || !function->range.in_tree)
			continue;
		detection.function = function;
		ast_walk(function->body, look, &detection);
	}
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ITEMS = 64 };

struct tally {
	char name[60];
	uint64_t count;
	uint32_t limit;
} __attribute__((packed));

static uint8_t items[ITEMS];

#if defined(__x86_64__)
static sigjmp_buf back;

static void on_refusal(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static int file_says(const char *path, const char *word)
{
	char line[8192];
	int says = 0;
	FILE *in = fopen(path, "r");
	while (in && !says && fgets(line, sizeof line, in))
		says = strstr(line, word) != NULL;
	if (in)
		fclose(in);
	return says;
}
#endif

/* Some kernels trap locks that span two lines: they slow the program down, or end it. */
static void check_allowed(void)
{
#if defined(__x86_64__)
	int traps = file_says("/proc/cpuinfo", "split_lock_detect") || file_says("/proc/cpuinfo", "bus_lock_detect");
	if (traps && !file_says("/proc/cmdline", "split_lock_detect=off"))
		assay_unavailable("this kernel traps locks that span two cache lines");
	static _Alignas(64) char lines[128];
	char *volatile across = lines + 60; /* nothing is known of where it points */
	struct timespec begin, end;
	void (*before)(int) = signal(SIGBUS, on_refusal);
	if (sigsetjmp(back, 1))
		assay_unavailable("this machine refuses locks that span two cache lines");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	__sync_fetch_and_add((uint64_t *)across, 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	signal(SIGBUS, before);
	if ((end.tv_sec - begin.tv_sec) * 1000000000L + (end.tv_nsec - begin.tv_nsec) > 5000000)
		assay_unavailable("this machine slows down who locks two cache lines at once");
#else
	assay_unavailable("only x86 locks places at any address");
#endif
}

static __attribute__((noinline)) void count_all(struct tally *tally, const uint8_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		__sync_fetch_and_add(&tally->count, sizes[i]); // finds
}

static void *setup(struct assay_bench *b)
{
	struct tally *tally = aligned_alloc(64, 128);
	memset(tally, 0, 128);
	assay_fill_random(b, items, sizeof items);
	check_allowed();
	return tally;
}

static void run(void *state, uint64_t iterations)
{
	for (uint64_t i = 0; i < iterations; i++)
		count_all(state, items, ITEMS);
}

static void output(void *state, struct assay_bench *b)
{
	const struct tally *tally = state;
	uint64_t count = tally->count;
	assay_output(b, "count", &count, sizeof count);
}

static void edges(void *state, struct assay_bench *b)
{
	count_all(state, items, 0);
	count_all(state, items, 1);
	output(state, b);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges, .teardown = free};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ITEMS = 64 };

struct tally {
	char name[60];
	uint64_t count __attribute__((aligned(8)));
	uint32_t limit;
} __attribute__((packed));

static uint8_t items[ITEMS];

#if defined(__x86_64__)
static sigjmp_buf back;

static void on_refusal(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static int file_says(const char *path, const char *word)
{
	char line[8192];
	int says = 0;
	FILE *in = fopen(path, "r");
	while (in && !says && fgets(line, sizeof line, in))
		says = strstr(line, word) != NULL;
	if (in)
		fclose(in);
	return says;
}
#endif

/* Some kernels trap locks that span two lines: they slow the program down, or end it. */
static void check_allowed(void)
{
#if defined(__x86_64__)
	int traps = file_says("/proc/cpuinfo", "split_lock_detect") || file_says("/proc/cpuinfo", "bus_lock_detect");
	if (traps && !file_says("/proc/cmdline", "split_lock_detect=off"))
		assay_unavailable("this kernel traps locks that span two cache lines");
	static _Alignas(64) char lines[128];
	char *volatile across = lines + 60; /* nothing is known of where it points */
	struct timespec begin, end;
	void (*before)(int) = signal(SIGBUS, on_refusal);
	if (sigsetjmp(back, 1))
		assay_unavailable("this machine refuses locks that span two cache lines");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	__sync_fetch_and_add((uint64_t *)across, 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	signal(SIGBUS, before);
	if ((end.tv_sec - begin.tv_sec) * 1000000000L + (end.tv_nsec - begin.tv_nsec) > 5000000)
		assay_unavailable("this machine slows down who locks two cache lines at once");
#else
	assay_unavailable("only x86 locks places at any address");
#endif
}

static __attribute__((noinline)) void count_all(struct tally *tally, const uint8_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		__sync_fetch_and_add(&tally->count, sizes[i]); // finds
}

static void *setup(struct assay_bench *b)
{
	struct tally *tally = aligned_alloc(64, 128);
	memset(tally, 0, 128);
	assay_fill_random(b, items, sizeof items);
	check_allowed();
	return tally;
}

static void run(void *state, uint64_t iterations)
{
	for (uint64_t i = 0; i < iterations; i++)
		count_all(state, items, ITEMS);
}

static void output(void *state, struct assay_bench *b)
{
	const struct tally *tally = state;
	uint64_t count = tally->count;
	assay_output(b, "count", &count, sizeof count);
}

static void edges(void *state, struct assay_bench *b)
{
	count_all(state, items, 0);
	count_all(state, items, 1);
	output(state, b);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges, .teardown = free};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 64 };

/* As packed, but the count stands at a multiple of its size. */
struct tally {
	char name[56];
	uint64_t count;
	uint32_t limit;
} __attribute__((packed));

static uint8_t items[ITEMS];

static __attribute__((noinline)) void count_all(struct tally *tally, const uint8_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		__sync_fetch_and_add(&tally->count, sizes[i]);
}

static void *setup(struct assay_bench *b)
{
	struct tally *tally = aligned_alloc(64, 128);
	memset(tally, 0, 128);
	assay_fill_random(b, items, sizeof items);
	return tally;
}

static void run(void *state, uint64_t iterations)
{
	for (uint64_t i = 0; i < iterations; i++)
		count_all(state, items, ITEMS);
}

static void output(void *state, struct assay_bench *b)
{
	const struct tally *tally = state;
	uint64_t count = tally->count;
	assay_output(b, "count", &count, sizeof count);
}

static void edges(void *state, struct assay_bench *b)
{
	count_all(state, items, 0);
	count_all(state, items, 1);
	output(state, b);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges, .teardown = free};
#endif

#if 0 /* assay example: also in an array */
#include <stdint.h>

struct __attribute__((packed)) entry {
	uint8_t kind;
	uint32_t users;
};

/* One of them is five bytes long, so they begin anywhere. */
void entries_use(struct entry *entries, unsigned at)
{
	__atomic_fetch_add(&entries[at].users, 1, __ATOMIC_RELAXED); // finds
}
#endif

#if 0 /* assay example: also in an array fixed */
#include <stdint.h>

struct __attribute__((packed)) entry {
	uint8_t kind;
	uint32_t users __attribute__((aligned(4)));
};

/* One of them is five bytes long, so they begin anywhere. */
void entries_use(struct entry *entries, unsigned at)
{
	__atomic_fetch_add(&entries[at].users, 1, __ATOMIC_RELAXED); // finds
}
#endif

#if 0 /* assay example: also what others may rely on */
#include <stdatomic.h>
#include <stdint.h>

typedef uint32_t any_word __attribute__((aligned(1)));
struct __attribute__((packed)) inner {
	uint8_t kind[5];
	_Atomic uint32_t hits;
};
struct outer {
	uint64_t key[7];
	struct inner inner;
};
struct entry_hdr {
	char magic[6];
	int refs;
} __attribute__((packed));

void outer_hit(struct outer *outer)
{
	outer->inner.hits++; // finds
}
/* Its name says that others read it. */
void header_hold(struct entry_hdr *headers, unsigned at)
{
	__sync_fetch_and_add(&headers[at].refs, 1); // finds
}
void word_count(any_word *word)
{
	__sync_fetch_and_add(word, 1); // finds
}
unsigned bytes_count(struct outer *outer)
{
	return __sync_fetch_and_add((uint32_t *)((char *)outer + 62), 1); // finds
}
#endif

#if 0 /* assay example: lookalike at multiples of their size */
#include <stdatomic.h>
#include <stdint.h>

struct __attribute__((packed)) even {
	uint32_t kind, flags;
	uint64_t count;
};
struct plain {
	uint8_t kind;
	uint64_t count;
	_Atomic uint32_t hits;
};
/* It never reaches over the end of sixteen bytes, and malloc begins at one. */
struct __attribute__((packed)) odd {
	uint8_t kind;
	uint32_t users;
	uint8_t rest[11];
};
struct __attribute__((packed)) both {
	uint8_t kind;
	uint64_t count;
};

void count(struct even *even, struct plain *plain, struct odd *odd)
{
	__atomic_fetch_add(&even->count, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&plain->count, 1, __ATOMIC_SEQ_CST);
	plain->hits++;
	__sync_fetch_and_add(&odd->users, 1);
}
void count_one(uint64_t *count, char *bytes)
{
	__sync_fetch_and_add(count, 1);
	__sync_fetch_and_add((uint64_t *)(bytes + 4), 1); /* where that points is not known */
}
/* No lock: a plain add, and a load. */
uint64_t count_plainly(struct both *both, struct plain *plain)
{
	both->count++;
	return both->count + __atomic_load_n(&plain->count, __ATOMIC_SEQ_CST);
}
#endif
