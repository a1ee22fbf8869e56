/* S07 padding: a record of which a large array is made, and of which an eighth or more is holes between its members.
 *
 * A member begins at a multiple of its alignment, so small ones before large ones leave holes. In one object that is
 * nothing; in an array that is walked or looked up, every hole is read from memory along with what is needed, and takes
 * its place in the caches. With the members in order of their alignment no hole is left but the last one.
 *
 * The order of members is a promise to whoever relies on it, so only a record is looked at that is this file's own
 * (record_is_own). Silent: packed and aligned ones, those with bit-fields, pads, a flexible array, locks or atomics (what
 * lies beside them is chosen), few instances, arrays that no loop goes through. The candidate keeps a record in the first
 * place where it is: others may take a pointer to it for one to the whole.
 */
#include "patterns/query.h"

#include "base/text.h"

enum {
	LINE_BYTES = 64,
	CACHE_BYTES = 32 * 1024, /* of the first level: less than that is no matter */
	LARGE_BYTES = 256 * 1024,
	SHARE = 8, /* an eighth */
	FIELDS_MAX = 64,
};

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_s07 = {
    .id = "S07",
    .slug = "padding",
    .title = "holes in a record of which there is a large array",
    .tier = TIER_A,
    .what = "A record of this file alone, of which an array is made that is large or as long as the program's input says, and "
            "that loops go through; in order of their alignment its members would take an eighth less, or a whole cache line.",
    .why = "Small members before large ones leave holes, and an array has them in every element: they are read from memory with "
           "the rest, and fewer elements fit a cache line, a page and every cache.",
    .when_not = "The array is short or rarely looked at; members stand together because they are used together; another "
                "program, file or unit relies on the order.",
    .expected = "up to the share of the holes, and more where an element no longer spans two lines: 24 bytes against 16, looked "
                "up at random in 24 MB, took 8 to 72 % less time (catalogue's own measurement, clang 19 on an AMD EPYC); nothing in "
                "the first-level cache, and about nothing where a loop reads them one after the other",
    .refuted_by = "An array that fits the cache of the measured machine, or a loop whose work hides what it reads.",
    .sources = (const char *const[]){"ISO/IEC 9899:2018, 6.7.2.1 Structure and union specifiers (members in order of declaration, "
                                     "with holes)",
                                     "Trishul Chilimbi, Bob Davidson, James Larus, Cache-conscious structure definition, PLDI 1999",
                                     "Arnaldo Carvalho de Melo, The 7 dwarves: debugging information beyond gdb, Ottawa Linux "
                                     "Symposium 2007 (pahole)",
                                     NULL},
    .detect = detect,
};

struct member {
	struct ast_node *field;
	long long size, align;
	bool pinned;
};

struct layout {
	struct member members[FIELDS_MAX];
	size_t count;
	long long size, best;
};

/* How many there are of a record, and what is done with them. */
struct use {
	const struct ast_unit *unit;
	const struct ast_node *record, *function;
	const char *array;   /* what a large array of them is called, or who allocates one; NULL: nobody does */
	long long bytes;     /* of it; -1: as many as a variable says */
	bool walked;         /* a loop goes through such an array */
	bool positional;     /* an initialiser counts on the members' order */
};

/* ---- the record ---------------------------------------------------------------------------------------------------- */

static long long up_to(long long offset, long long align)
{
	return (offset + align - 1) / align * align;
}

static long long size_in_order(const struct layout *layout, long long align)
{
	long long offset = 0;
	for (size_t i = 0; i < layout->count; i++)
		offset = up_to(offset, layout->members[i].align) + layout->members[i].size;
	return up_to(offset, align);
}

/* The largest alignment first; equal ones stay as they are. */
static void sort(struct layout *layout)
{
	for (size_t i = 1; i < layout->count; i++)
		for (size_t k = i; k > 0 && !layout->members[k - 1].pinned && layout->members[k - 1].align < layout->members[k].align; k--) {
			struct member swap = layout->members[k];
			layout->members[k] = layout->members[k - 1];
			layout->members[k - 1] = swap;
		}
}

/* The members in their best order; false: it is not a record whose order may be thought about. */
static bool layout_of(const struct ast_unit *unit, const struct ast_node *record, struct layout *layout)
{
	const struct ast_layout *known = record_layout(unit, record);
	const char *text = record->range.file ? ast_text(unit, &record->range) : NULL;
	if (!known || !text || known->fields.count < 2 || known->fields.count > FIELDS_MAX || text_starts(text, "union") ||
	    strcasestr(text, "packed") || strcasestr(text, "align") || strcasestr(text, "cache") || strchr(text, '#'))
		return false;
	*layout = (struct layout){.size = known->size};
	for (size_t i = 0; i < record->children.count; i++) {
		struct ast_node *field = record->children.at[i];
		if (field->kind != AST_FIELD)
			continue; /* a record that is declared in place: its field follows */
		const struct ast_type *type = field->type;
		const struct ast_layout_field *place = layout->count < known->fields.count ? &known->fields.at[layout->count] : NULL;
		if (!place || !field->name || !*field->name || !type || type->size <= 0 || type->align <= 0 || type->is_atomic ||
		    type->is_volatile || type_is_lock(type) || place->size_bits != 8 * type->size || name_has_word(field->name, "pad") ||
		    name_has_word(field->name, "padding") || name_has_word(field->name, "reserved") || name_has_word(field->name, "unused"))
			return false;
		layout->members[layout->count] = (struct member){field, type->size, type->align, layout->count == 0 && type->kind == TYPE_RECORD};
		layout->count++;
	}
	if (layout->count != known->fields.count || size_in_order(layout, known->align) != known->size)
		return false; /* something else places them */
	sort(layout);
	layout->best = size_in_order(layout, known->align);
	long long saved = layout->size - layout->best;
	return saved > 0 && (saved * SHARE >= layout->size || saved >= LINE_BYTES);
}

/* ---- how many ------------------------------------------------------------------------------------------------------ */

static bool is_of(const struct use *use, const struct ast_type *type)
{
	return type && text_equal(type->canonical, use->record->type->canonical);
}

static bool is_array_of(const struct use *use, const struct ast_type *type)
{
	bool array = type && type->kind == TYPE_ARRAY;
	while (type && type->kind == TYPE_ARRAY)
		type = type->pointee;
	return array && is_of(use, type);
}

/* count * sizeof(record), or calloc(count, sizeof(record)): the count, or NULL. */
static struct ast_node *count_of(const struct ast_node *size)
{
	const struct ast_node *below = size, *up = size->parent;
	while (up && (up->kind == AST_PAREN || up->kind == AST_CAST)) {
		below = up;
		up = up->parent;
	}
	if (up && up->kind == AST_BINARY && up->op == OP_MUL)
		return ast_child(up, 0) == below ? ast_child(up, 1) : ast_child(up, 0);
	const char *name = up && up->kind == AST_CALL ? call_name(up) : NULL;
	for (size_t i = 1; name && (strcasestr(name, "calloc") || strcasestr(name, "array")) && i < up->children.count; i++) {
		struct ast_node *other = up->children.at[i];
		if (other != below && other->type && other->type->kind == TYPE_INT)
			return other;
	}
	return NULL;
}

static void allocation_look(struct use *use, struct ast_node *size)
{
	struct ast_node *operand = ast_strip(ast_child(size, 0)), *count = count_of(size);
	const struct ast_node *call = size->parent;
	while (call && (call->kind == AST_PAREN || call->kind == AST_CAST || call->kind == AST_BINARY))
		call = call->parent;
	const char *name = call && call->kind == AST_CALL ? call_name(call) : NULL;
	const char *text = ast_text(use->unit, &size->range);
	bool names = operand ? is_of(use, operand->type) : text && use->record->name && *use->record->name && strstr(text, use->record->name);
	if (!names || !count || !name || !strcasestr(name, "alloc"))
		return;
	long long constant, bytes = -1;
	if (node_constant(count, &constant))
		bytes = constant * use->record->type->size;
	if ((bytes < 0 || bytes > CACHE_BYTES) && !use->array) {
		use->array = use->function ? use->function->name : name;
		use->bytes = bytes;
	}
}

/* {0}, {} and designated ones don't count on the order. */
static bool is_positional(const struct use *use, const struct ast_node *list)
{
	const char *text = list->range.file ? ast_text(use->unit, &list->range) : NULL;
	if (!text || *text != '{')
		return true;
	text += 1 + strspn(text + 1, " \t\r\n");
	return !(*text == '.' || *text == '}' || (*text == '0' && strchr(" \t\n}", text[1])));
}

static bool use_visit(struct ast_node *node, void *context)
{
	struct use *use = context;
	switch (node->kind) {
	case AST_VAR:
	case AST_FIELD:
		if (!is_array_of(use, node->type))
			return true;
		if (node->type->size > CACHE_BYTES && (!use->array || use->bytes < node->type->size)) {
			use->array = node->name;
			use->bytes = node->type->size;
		}
		/* {{1, 2}, {3, 4}}, or without the inner braces. */
		for (size_t i = 0; node->init && i < node->init->children.count; i++)
			use->positional |= node->init->children.at[i]->kind != AST_INIT_LIST && !node_is_zero(node->init->children.at[i]);
		return true;
	case AST_SIZEOF:
		allocation_look(use, node);
		return false;
	case AST_INIT_LIST:
		use->positional |= is_of(use, node->type) && is_positional(use, node);
		return true;
	case AST_SUBSCRIPT: {
		long long index;
		bool inside = false;
		for (const struct ast_node *at = node; at && !inside; at = at->parent)
			inside = node_is_loop(at);
		if (inside && is_of(use, node->type) && !node_constant(ast_child(node, 1), &index) &&
		    function_heat(use->unit, use->function) != HEAT_COLD)
			use->walked = true;
		return true;
	}
	default:
		return true;
	}
}

static void use_find(struct use *use)
{
	for (size_t i = 0; i < use->unit->top.count; i++) {
		struct ast_node *node = use->unit->top.at[i];
		use->function = node->kind == AST_FUNCTION ? node : NULL;
		ast_walk(node, use_visit, use);
	}
}

/* ---- the candidate ------------------------------------------------------------------------------------------------- */

/* The line on which a member stands alone: its offset and length. */
static bool line_of(const char *text, size_t size, const struct ast_node *field, size_t *ret_begin, size_t *ret_end)
{
	size_t begin = field->range.offset, end = field->range.end_offset;
	if (end >= size || field->range.end_line != field->range.line)
		return false;
	while (begin > 0 && text[begin - 1] != '\n')
		begin--;
	if (begin + strspn(text + begin, " \t") != field->range.offset || text[end] != ';')
		return false;
	size_t after = end + 1 + strspn(text + end + 1, " \t");
	*ret_begin = begin;
	*ret_end = begin + strcspn(text + begin, "\n");
	if (after == *ret_end)
		return true;
	const char *rest = strndupa(text + after, *ret_end - after), *close = strstr(rest, "*/");
	return text_starts(rest, "//") || (text_starts(rest, "/*") && close && close[2] == '\0');
}

static bool put_candidate(const struct use *use, const struct layout *layout, struct pattern_sink *sink, struct finding *finding)
{
	const struct ast_node *record = use->record;
	struct arena *arena = sink->arena;
	size_t size = 0, first = SIZE_MAX, last = 0, total = 0;
	const char *text = ast_file_text(use->unit, record->range.file, &size);
	char *out = "";
	if (!text || use->positional)
		return false;
	for (size_t i = 0; i < layout->count; i++) {
		size_t begin, end;
		if (!line_of(text, size, layout->members[i].field, &begin, &end))
			return false;
		out = arena_printf(arena, "%s%s%.*s", out, i ? "\n" : "", (int)(end - begin), text + begin);
		first = begin < first ? begin : first;
		last = end > last ? end : last;
		total += end - begin + (i > 0);
	}
	/* Nothing stands between them. */
	if (last - first != total)
		return false;
	finding_edit(sink, finding, first, total, out);
	return true;
}

static void record_look(const struct ast_unit *unit, struct ast_node *record, struct pattern_sink *sink)
{
	struct layout layout;
	struct use use = {.unit = unit, .record = record};
	struct arena *arena = sink->arena;
	if (!record->type || !layout_of(unit, record, &layout) || !record_is_own(unit, record))
		return;
	use_find(&use);
	const char *name = record_type_name(unit, record, arena);
	if (!use.array || !use.walked || !name)
		return;
	struct finding *finding =
	    finding_new(sink, unit, &pattern_s07, &record->range, record->name && *record->name ? record->name : name,
	                use.bytes >= LARGE_BYTES ? SEVERITY_MEDIUM : SEVERITY_LOW,
	                arena_printf(arena, "`%s` takes %lld bytes, %lld with its members in order of their alignment", name, layout.size,
	                             layout.best));
	const char *many = use.bytes < 0 ? arena_printf(arena, "%s() allocates an array of it, as long as a variable says", use.array)
	                                 : arena_printf(arena, "an array of it, in `%s`, takes %lld bytes", use.array, use.bytes);
	if (put_candidate(&use, &layout, sink, finding)) {
		finding->evidence = many;
		finding->contract = "nothing relies on the order of the members: no other unit, no file, no pointer to the first one";
	} else {
		finding->evidence = arena_printf(arena, "%s; advice: order them by hand, %s", many,
		                                 use.positional ? "with the initialisers that count on the order"
		                                                : "with what is written between them");
	}
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	for (size_t i = 0; i < unit->top.count; i++)
		if (unit->top.at[i]->kind == AST_RECORD)
			record_look(unit, unit->top.at[i], sink);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>

enum { ITEMS = 1 << 20, LOOKUPS = 8192 };

struct item { // finds
	uint8_t kind; /* 0 to 3 */
	uint64_t weight;
	uint8_t flags;
};
static struct item items[ITEMS];
static uint32_t wanted[LOOKUPS];

static __attribute__((noinline)) uint64_t weigh(uint64_t sum)
{
	for (size_t i = 0; i < LOOKUPS; i++) {
		const struct item *item = &items[wanted[i]];
		sum += item->weight ^ item->kind ^ item->flags;
	}
	return sum;
}

static void *setup(struct assay_bench *b)
{
	for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
		uint64_t random = assay_random(b);
		items[i].kind = random & 3;
		items[i].flags = (uint8_t)(random >> 8);
		items[i].weight = random >> 16;
	}
	for (size_t i = 0; i < LOOKUPS; i++)
		wanted[i] = (uint32_t)(assay_random(b) % ITEMS);
	return items;
}

static void run(void *state, uint64_t iterations)
{
	(void)state;
	for (uint64_t i = 0; i < iterations; i++) {
		uint64_t sum = weigh(i);
		assay_keep(&sum);
	}
}

static void output(void *state, struct assay_bench *b)
{
	(void)state;
	uint64_t sum = weigh(0);
	assay_output(b, "sum", &sum, sizeof sum);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>

enum { ITEMS = 1 << 20, LOOKUPS = 8192 };

struct item { // finds
	uint64_t weight;
	uint8_t kind; /* 0 to 3 */
	uint8_t flags;
};
static struct item items[ITEMS];
static uint32_t wanted[LOOKUPS];

static __attribute__((noinline)) uint64_t weigh(uint64_t sum)
{
	for (size_t i = 0; i < LOOKUPS; i++) {
		const struct item *item = &items[wanted[i]];
		sum += item->weight ^ item->kind ^ item->flags;
	}
	return sum;
}

static void *setup(struct assay_bench *b)
{
	for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
		uint64_t random = assay_random(b);
		items[i].kind = random & 3;
		items[i].flags = (uint8_t)(random >> 8);
		items[i].weight = random >> 16;
	}
	for (size_t i = 0; i < LOOKUPS; i++)
		wanted[i] = (uint32_t)(assay_random(b) % ITEMS);
	return items;
}

static void run(void *state, uint64_t iterations)
{
	(void)state;
	for (uint64_t i = 0; i < iterations; i++) {
		uint64_t sum = weigh(i);
		assay_keep(&sum);
	}
}

static void output(void *state, struct assay_bench *b)
{
	(void)state;
	uint64_t sum = weigh(0);
	assay_output(b, "sum", &sum, sizeof sum);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>

/* 1.5 KB: they stay in the first-level cache, holes and all. */
enum { ITEMS = 64, LOOKUPS = 8192 };

struct item {
	uint8_t kind; /* 0 to 3 */
	uint64_t weight;
	uint8_t flags;
};
static struct item items[ITEMS];
static uint32_t wanted[LOOKUPS];

static __attribute__((noinline)) uint64_t weigh(uint64_t sum)
{
	for (size_t i = 0; i < LOOKUPS; i++) {
		const struct item *item = &items[wanted[i]];
		sum += item->weight ^ item->kind ^ item->flags;
	}
	return sum;
}

static void *setup(struct assay_bench *b)
{
	for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
		uint64_t random = assay_random(b);
		items[i].kind = random & 3;
		items[i].flags = (uint8_t)(random >> 8);
		items[i].weight = random >> 16;
	}
	for (size_t i = 0; i < LOOKUPS; i++)
		wanted[i] = (uint32_t)(assay_random(b) % ITEMS);
	return items;
}

static void run(void *state, uint64_t iterations)
{
	(void)state;
	for (uint64_t i = 0; i < iterations; i++) {
		uint64_t sum = weigh(i);
		assay_keep(&sum);
	}
}

static void output(void *state, struct assay_bench *b)
{
	(void)state;
	uint64_t sum = weigh(0);
	assay_output(b, "sum", &sum, sizeof sum);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also of unknown number */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct link {
	struct link *next;
	int refs;
};
/* A pointer to the link is one to the entry: it stays the first. */
typedef struct { // finds
	struct link link;
	bool used;
	double weight; // in grams
	uint8_t kind;
	uint32_t count;
} entry_t;
static entry_t zero;

entry_t *entries_make(size_t count)
{
	entry_t *entries = calloc(count, sizeof *entries);
	for (size_t i = 0; entries && i < count; i++)
		entries[i] = zero;
	return entries;
}
#endif

#if 0 /* assay example: also of unknown number fixed */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct link {
	struct link *next;
	int refs;
};
/* A pointer to the link is one to the entry: it stays the first. */
typedef struct { // finds
	struct link link;
	double weight; // in grams
	uint32_t count;
	bool used;
	uint8_t kind;
} entry_t;
static entry_t zero;

entry_t *entries_make(size_t count)
{
	entry_t *entries = calloc(count, sizeof *entries);
	for (size_t i = 0; entries && i < count; i++)
		entries[i] = zero;
	return entries;
}
#endif

#if 0 /* assay example: also to be ordered by hand */
#include <stdlib.h>

struct point { // finds
	char name;
	/* of the centre */
	double x;
	char kind;
};
struct colour { // finds
	char name;
	long value;
	char kind;
};
static const struct colour fallback = {'r', 1, 2};

double points_sum(unsigned count, const double *values)
{
	struct point *points = malloc(sizeof(struct point) * count);
	struct colour *colours = malloc(sizeof(*colours) * count);
	double sum = 0;
	for (unsigned i = 0; points && colours && i < count; i++) {
		points[i] = (struct point){.x = values[i]};
		colours[i] = fallback;
		sum += points[i].x + (double)colours[i].value;
	}
	free(points);
	free(colours);
	return sum;
}
#endif

#if 0 /* assay example: lookalike on whose order something relies */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N = 100000 };
struct saved {
	uint8_t kind;
	double weight;
	uint8_t flags;
};
static struct saved saved[N];
struct packet_entry {
	uint8_t kind;
	double weight;
	uint8_t flags;
};
static struct packet_entry entries[N];
struct __attribute__((packed)) packed {
	uint8_t kind;
	double weight;
	uint8_t flags;
};
static struct packed packed[N];
struct asserted {
	uint8_t kind;
	double weight;
	uint8_t flags;
};
_Static_assert(offsetof(struct asserted, weight) == 8, "generated code reads it there");
static struct asserted asserted[N];
struct bits {
	uint8_t kind : 3;
	double weight;
	uint8_t flags : 3;
};
static struct bits bits[N];
struct copied {
	uint8_t kind;
	double weight;
	uint8_t flags;
};
static struct copied copied[N];
struct base {
	uint8_t kind;
};
struct derived {
	uint8_t kind;
	double weight;
	uint8_t flags;
};
static struct derived derived[N];
struct padded {
	uint8_t kind;
	uint8_t pad[7];
	double weight;
	uint8_t flags;
};
static struct padded padded[N];

double sum(FILE *out, const void *from)
{
	double sum = 0;
	memcpy(copied, from, sizeof copied);
	for (size_t i = 0; i < N; i++) {
		fwrite(&saved[i], sizeof saved[i], 1, out);
		sum += saved[i].weight + entries[i].weight + packed[i].weight + asserted[i].weight + bits[i].weight + copied[i].weight +
		       ((struct base *)&derived[i])->kind + padded[i].weight;
	}
	return sum;
}
#endif

#if 0 /* assay example: lookalike few, or nothing to gain */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { N = 100000 };
/* One hole at the end is left in any order. */
struct dense {
	double weight;
	uint32_t count;
	uint8_t kind;
};
static struct dense dense[N];
struct small {
	uint8_t kind;
	uint32_t count;
	double weights[8];
};
static struct small smalls[N];
struct option {
	char letter;
	const char *name;
	char takes_value;
};
static struct option options[12];
struct node {
	char kind;
	struct node *next;
	char colour;
};
struct unread {
	char kind;
	double weight;
	char colour;
};

struct node *node_make(void)
{
	return malloc(sizeof(struct node));
}
struct unread *unread_make(size_t count)
{
	return malloc(count * sizeof(struct unread));
}
double sum(void)
{
	double sum = 0;
	for (size_t i = 0; i < N; i++)
		sum += dense[i].weight + smalls[i].weights[0];
	for (size_t i = 0; i < 12; i++)
		sum += options[i].letter;
	return sum;
}
#endif
