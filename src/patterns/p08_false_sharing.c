/* P08 false-sharing: what different threads write lies in one cache line.
 *
 * Five signals, each narrow: an array indexed by thread or CPU whose elements don't fill lines; two atomics of a record,
 * one for each side of a queue (head and tail), in one line; two locks likewise, taken by different functions; a pad that
 * doesn't reach the line's end; a cache-aligned record from plain malloc, which aligns to 16. A guard is a record whose
 * alignment keeps what threads write apart; its ablation takes the attribute away.
 *
 * It must not fire on single-threaded records, on a lock beside its data, nor on pads of files and messages; and it never
 * proposes to align what plain malloc returns, what a header publishes, or what is packed.
 */
#include "patterns/query.h"

#include "base/text.h"

#include <ctype.h>

enum { LINE_BYTES = 64, MALLOC_ALIGN = 16 };

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_p08 = {
    .id = "P08",
    .slug = "false-sharing",
    .title = "what different threads write lies in one cache line",
    .tier = TIER_C,
    .what = "An array indexed by thread or CPU with elements smaller than a line; head and tail of a queue, or two locks of "
            "different functions, in one line; a pad that does not fill its line; a cache-aligned record that plain malloc "
            "returns. A guard is a record whose alignment keeps such data apart.",
    .why = "A core that writes takes the whole line away from the others: threads that share no data wait for each other's "
           "stores, some hundred cycles each time.",
    .when_not = "One thread writes; a lock beside its data, on purpose; the counts are added up locally and flushed once; very "
                "many small objects, where padding costs more cache than it saves (a million padded counters: 2 to 7 times "
                "slower, catalogue's own measurement).",
    .expected = "several times, with two or more writers at a high rate; nothing with one (Linux kernel documentation, "
                "false-sharing; to be measured per workload)",
    .refuted_by = "No two writers at the same time; or the measured workload: the footprint grows, or the hot spot is elsewhere.",
    .sources =
        (const char *const[]){
            "Linux kernel documentation, False Sharing, 2023",
            "Josep Torrellas, Monica Lam, John Hennessy, False sharing and spatial locality in multiprocessor caches, IEEE "
            "Transactions on Computers 43, 1994",
            "Ulrich Drepper, What Every Programmer Should Know About Memory, 2007, section 6.4",
            NULL},
    .detect = detect,
};

/* A field of a record that is written under concurrency: an atomic, or a lock. */
struct hot {
	const struct ast_node *field;
	bool is_lock;
	struct ast_node_list writers; /* functions, each once */
};
LIST_OF(struct hot, hot_list);

/* An element type that a thread's index chose. */
struct element {
	const char *canonical;
	bool reported;
};
LIST_OF(struct element, element_list);

struct sharing {
	const struct ast_unit *unit;
	const struct compile_command *command;
	struct pattern_sink *sink;
	struct ast_node *function;
	bool function_loops;
	struct hot_list hot;
	struct element_list elements;
	struct string_list allocated; /* canonical types that plain malloc and its like return here */
	struct ast_node_list arrays;  /* reported */
};

/* ---- records -------------------------------------------------------------------------------------------------- */

static struct ast_node *record_of(const struct ast_unit *unit, const char *canonical)
{
	const char *tag = canonical;
	for (size_t i = 0; i < unit->top.count; i++) {
		struct ast_node *node = unit->top.at[i];
		if (node->kind == AST_RECORD && node->type && text_equal(node->type->canonical, tag) && node->children.count)
			return node;
	}
	return NULL;
}

static const struct ast_layout_field *field_of(const struct ast_layout *layout, const char *name)
{
	for (size_t i = 0; layout && name && i < layout->fields.count; i++)
		if (text_equal(layout->fields.at[i].name, name))
			return &layout->fields.at[i];
	return NULL;
}

/* From the record's first byte to the ';' that ends its declaration; NULL: it can't be read. */
static const char *declaration_of(const struct ast_unit *unit, const struct ast_node *record, size_t *ret_size)
{
	size_t size = 0, end = record->range.end_offset;
	const char *text = record->range.file ? ast_file_text(unit, record->range.file, &size) : NULL;
	if (!text || end > size || record->range.offset >= end)
		return NULL;
	while (end < size && text[end] != ';' && text[end] != '{')
		end++;
	if (end == size || text[end] != ';')
		return NULL;
	*ret_size = end - record->range.offset;
	return text + record->range.offset;
}

static bool text_has(const char *text, size_t size, const char *word)
{
	return memmem(text, size, word, strlen(word)) != NULL;
}

/* Layouts that others rely on: packed, published, of files and messages. */
static bool is_fixed(const struct ast_unit *unit, const struct ast_node *record)
{
	static const char *const outside[] = {"phys", "disk", "ondisk", "wire", "packet", "hdr", "header", "frame", "msg", "message",
	                                      "proto", NULL};
	size_t size = 0;
	const char *text = declaration_of(unit, record, &size);
	return !text || !record->range.in_tree || !text_equal(record->range.file, unit->main_file) ||
	       text_ends(record->range.file, ".h") || record->range.edge_in_macro || text_has(text, size, "packed") ||
	       name_has_any_word(record->name, outside);
}

static bool is_allocated(const struct sharing *sharing, const char *canonical)
{
	for (size_t i = 0; i < sharing->allocated.count; i++)
		if (text_equal(sharing->allocated.at[i], canonical))
			return true;
	return false;
}

/* Puts a static assertion on the line after the record's declaration. */
static void put_assertion(struct sharing *sharing, struct finding *finding, const struct ast_node *record, const char *what)
{
	size_t size = 0;
	const char *name = record_type_name(sharing->unit, record, sharing->sink->arena);
	const char *text = declaration_of(sharing->unit, record, &size);
	if (!name || !text)
		return;
	finding_edit(sharing->sink, finding, record->range.offset + size + 1, 0,
	             arena_printf(sharing->sink->arena, "\n_Static_assert(sizeof(%s) %% %d == 0, \"%s\");", name, LINE_BYTES, what));
}

/* ---- which code writes it ----------------------------------------------------------------------------------------- */

/* Whether a loop around the node counts the index up itself: an initialisation or a sum over all, not one thread's. */
static bool index_is_counted(struct ast_node *index, const struct ast_node *node)
{
	for (; node; node = node->parent)
		if (ast_is_loop(node) && node->kind == AST_FOR && node->increment && index && index->kind == AST_REF &&
		    node_mentions(node->increment, index))
			return true;
	return false;
}

static bool is_thread_index(const struct sharing *sharing, struct ast_node *index)
{
	static const char *const threads[] = {"cpu", "cpuid", "tid", "thread", "threadid", "worker", "core", "seqid", "getcpu", NULL};
	static const char *const counts[] = {"count", "num", "nr", "max", "total", "ncpu", "ncpus", "nthreads", "nthread", "next", NULL};
	index = ast_strip_casts(index);
	if (!index || !index->range.file)
		return false;
	const char *text = ast_text(sharing->unit, &index->range);
	return text && strlen(text) < 120 && name_has_any_word(text, threads) && !name_has_any_word(text, counts);
}

/* The subscript of an lvalue that chooses an element: a[i], a[i].x, a[i].y.z; NULL: none. */
static struct ast_node *subscript_of(struct ast_node *lvalue)
{
	for (struct ast_node *node = ast_strip_casts(lvalue); node; node = ast_operand(node, 0)) {
		if (node->kind == AST_SUBSCRIPT)
			return node;
		if (node->kind != AST_MEMBER || node->arrow)
			return NULL;
	}
	return NULL;
}

static void element_note(struct sharing *sharing, const char *canonical)
{
	for (size_t i = 0; i < sharing->elements.count; i++)
		if (text_equal(sharing->elements.at[i].canonical, canonical))
			return;
	struct element element = {.canonical = canonical};
	list_push(sharing->sink->arena, &sharing->elements, element);
}

static void array_candidate(struct sharing *sharing, const struct ast_node *array, const struct ast_type *type,
                            struct finding *finding)
{
	const struct ast_unit *unit = sharing->unit;
	struct ast_node *record = type->kind == TYPE_RECORD ? record_of(unit, type->canonical) : NULL;
	if (!record || is_fixed(unit, record) || is_allocated(sharing, type->canonical) || array->kind != AST_VAR ||
	    !array->is_global || !array->type || array->type->kind != TYPE_ARRAY ||
	    !record_type_name(sharing->unit, record, sharing->sink->arena))
		return;
	size_t size = 0;
	const char *text = ast_file_text(unit, record->range.file, &size);
	if (!text || record->range.end_offset == 0 || text[record->range.end_offset - 1] != '}' ||
	    !text_equal(finding->file, unit_relative(unit, record->range.file)))
		return;
	finding_edit(sharing->sink, finding, record->range.end_offset, 0,
	             arena_printf(sharing->sink->arena, " __attribute__((aligned(%d)))", LINE_BYTES));
	put_assertion(sharing, finding, record, "each element has its cache lines to itself");
	finding->contract = "no other unit and no file relies on the record's size, and the table may grow to whole lines";
}

static void array_look(struct sharing *sharing, struct ast_node *site, struct ast_node *lvalue, bool plain)
{
	struct ast_node *subscript = subscript_of(lvalue);
	if (!subscript || !subscript->type || !is_thread_index(sharing, ast_child(subscript, 1)))
		return;
	struct ast_node *index = ast_operand(subscript, 1), *base = ast_operand(subscript, 0);
	const struct ast_type *type = subscript->type;
	if (!base || index_is_counted(index, site) || type->size <= 0 || (plain && !node_in_loop(site)) ||
	    (sharing->function_loops && !node_in_loop(site)))
		return;
	struct access access = access_of(subscript);
	if (access_is_private(&access) || type->kind == TYPE_POINTER)
		return;
	if (type->kind == TYPE_RECORD)
		element_note(sharing, type->canonical);
	if (type->size % LINE_BYTES == 0)
		return; /* filled: whether it is aligned is the record's matter */
	struct ast_node *array = (base->kind == AST_REF || base->kind == AST_MEMBER) ? base->decl : NULL;
	if (!array || !array->range.in_tree)
		return; /* a set of CPUs, as the system's headers have it */
	if (plain && array->kind == AST_PARAM)
		return; /* a table that is filled for a caller */
	for (size_t i = 0; i < sharing->arrays.count; i++)
		if (sharing->arrays.at[i] == array)
			return;
	struct arena *arena = sharing->sink->arena;
	list_push(arena, &sharing->arrays, array);
	bool here = array->range.file && text_equal(array->range.file, sharing->unit->main_file);
	struct finding *finding = finding_new(
	    sharing->sink, sharing->unit, &pattern_p08, here ? &array->range : &site->range, array->name,
	    SEVERITY_MEDIUM,
	    arena_printf(arena, "elements of `%s` are chosen by thread and written, and %lld bytes small: %lld of them share a "
	                 "cache line", array->name ? array->name : "…", type->size,
	                 type->size < LINE_BYTES ? LINE_BYTES / type->size : 2LL));
	finding->evidence = arena_printf(arena, "%s() writes %s", sharing->function->name ? sharing->function->name : "…",
	                                 node_text(sharing->unit, subscript, arena));
	array_candidate(sharing, array, type, finding);
}

static void hot_note(struct sharing *sharing, struct ast_node *lvalue, bool is_lock)
{
	struct arena *arena = sharing->sink->arena;
	lvalue = ast_strip_casts(lvalue);
	if (!lvalue || lvalue->kind != AST_MEMBER || !lvalue->decl || lvalue->decl->kind != AST_FIELD)
		return;
	struct hot *hot = NULL;
	for (size_t i = 0; i < sharing->hot.count && !hot; i++)
		if (sharing->hot.at[i].field == lvalue->decl)
			hot = &sharing->hot.at[i];
	if (!hot) {
		struct hot new = {.field = lvalue->decl, .is_lock = is_lock};
		list_push(arena, &sharing->hot, new);
		hot = &sharing->hot.at[sharing->hot.count - 1];
	}
	if (!hot->writers.count || hot->writers.at[hot->writers.count - 1] != sharing->function)
		list_push(arena, &hot->writers, sharing->function);
}

/* x of an argument &x. */
static struct ast_node *addressed(struct ast_node *argument)
{
	argument = ast_strip_casts(argument);
	return argument && argument->kind == AST_UNARY && argument->op == OP_ADDRESS ? ast_operand(argument, 0) : NULL;
}

static const struct ast_type *pointee_wanted(const struct ast_node *call)
{
	for (const struct ast_node *node = call->parent, *below = call; node; below = node, node = node->parent) {
		if (node->kind == AST_CAST && node->type && node->type->kind == TYPE_POINTER && node->type->pointee &&
		    node->type->pointee->kind == TYPE_RECORD)
			return node->type->pointee;
		if (node->kind == AST_VAR || node->kind == AST_ASSIGN) {
			const struct ast_node *target = node->kind == AST_VAR ? node : ast_child(node, 0);
			if (target == below || !target->type || target->type->kind != TYPE_POINTER)
				return NULL;
			return target->type->pointee;
		}
		if (node->kind != AST_PAREN && node->kind != AST_CAST)
			return NULL;
	}
	return NULL;
}

static bool is_plain_allocator(const char *name)
{
	return name && strcasestr(name, "alloc") && !strcasestr(name, "aligned") && !strcasestr(name, "memalign") &&
	       !strcasestr(name, "dealloc") && !strcasestr(name, "alloca");
}

static bool collect_allocations(struct ast_node *node, void *context)
{
	struct sharing *sharing = context;
	if (node->kind == AST_CALL && is_plain_allocator(call_name(node))) {
		const struct ast_type *type = pointee_wanted(node);
		if (type && type->kind == TYPE_RECORD && !is_allocated(sharing, type->canonical))
			list_push(sharing->sink->arena, &sharing->allocated, type->canonical);
	}
	return true;
}

static void malloc_look(struct sharing *sharing, struct ast_node *call)
{
	static const char *const plain[] = {"malloc", "calloc", "realloc", NULL};
	const struct ast_type *type = call_is(call, plain) ? pointee_wanted(call) : NULL;
	if (!type || type->kind != TYPE_RECORD || type->align < LINE_BYTES)
		return;
	struct arena *arena = sharing->sink->arena;
	struct finding *finding =
	    finding_new(sharing->sink, sharing->unit, &pattern_p08, &call->range, sharing->function->name, SEVERITY_MEDIUM,
	                arena_printf(arena, "`%s` is aligned to %lld bytes, and %s() aligns to %d: what should be apart may share a "
	                             "line", type->spelling, type->align, call_name(call), MALLOC_ALIGN));
	finding->tier = TIER_A;
	struct ast_node *callee = ast_child(call, 0), *size = ast_child(call, 1);
	const char *standard = command_standard(sharing->command);
	bool old = standard && (strstr(standard, "99") || strstr(standard, "89") || strstr(standard, "90"));
	if (!text_equal(call_name(call), "malloc") || !callee || !size || call->range.in_macro || old ||
	    callee->range.offset >= size->range.offset)
		return;
	finding_edit(sharing->sink, finding, callee->range.offset, size->range.offset - callee->range.offset,
	             arena_printf(arena, "aligned_alloc(%lld, ", type->align));
	finding->contract = "what is allocated here is given back by free(), and never grown by realloc()";
}

static bool atomic_changes(const struct ast_node *node)
{
	return node->name && !strstr(node->name, "load") && !strstr(node->name, "fence");
}

static bool look(struct ast_node *node, void *context)
{
	struct sharing *sharing = context;
	struct ast_node *written = NULL;
	bool plain = false;
	switch (node->kind) {
	case AST_SIZEOF:
		return false;
	case AST_ASSIGN:
		written = ast_child(node, 0);
		plain = true;
		break;
	case AST_COMPOUND_ASSIGN:
		written = ast_child(node, 0);
		break;
	case AST_UNARY:
		if (node_is_increment(node))
			written = ast_child(node, 0);
		break;
	case AST_ATOMIC:
		if (atomic_changes(node))
			written = addressed(ast_child(node, 0));
		if (written)
			hot_note(sharing, written, false);
		break;
	case AST_CALL: {
		struct ast_node *lock = call_locks(node);
		const char *name = call_name(node);
		malloc_look(sharing, node);
		if (lock) {
			hot_note(sharing, lock, true);
			written = lock;
		} else if (name && (text_starts(name, "__sync_") || text_starts(name, "atomic_")) && !strstr(name, "init") &&
		           !strstr(name, "load") && !strstr(name, "read")) {
			for (size_t i = 0; i < 2 && !written; i++)
				written = addressed(call_argument(node, i));
			if (written)
				hot_note(sharing, written, false);
		}
		break;
	}
	default:
		break;
	}
	if (!written)
		return true;
	struct ast_node *lvalue = ast_strip_casts(written);
	if (lvalue && lvalue->type && lvalue->type->is_atomic)
		hot_note(sharing, lvalue, false);
	array_look(sharing, node, written, plain);
	return true;
}

static bool find_loop(struct ast_node *node, void *context)
{
	if (node_is_loop(node))
		*(bool *)context = true;
	return true;
}

/* ---- two of one record -------------------------------------------------------------------------------------------- */

static bool disjoint(const struct ast_node_list *a, const struct ast_node_list *b)
{
	for (size_t i = 0; i < a->count; i++)
		for (size_t k = 0; k < b->count; k++)
			if (a->at[i] == b->at[k])
				return false;
	return true;
}

/* Names that say: this one is written by one side, that one by the other. */
static bool are_two_sides(const char *a, const char *b)
{
	static const char *const sides[][2] = {
	    {"head", "tail"}, {"read", "write"}, {"reader", "writer"}, {"rd", "wr"}, {"in", "out"}, {"prod", "cons"},
	    {"producer", "consumer"}, {"push", "pop"}, {"enqueue", "dequeue"}, {"enq", "deq"}, {"front", "back"}, {"put", "get"},
	    {"tx", "rx"}, {"produced", "consumed"}, {"submitted", "completed"},
	};
	for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
		if ((name_has_word(a, sides[i][0]) && name_has_word(b, sides[i][1])) ||
		    (name_has_word(a, sides[i][1]) && name_has_word(b, sides[i][0])))
			return true;
	return false;
}

static void pair_candidate(struct sharing *sharing, const struct ast_node *record, const struct ast_node *field,
                           struct finding *finding)
{
	const struct ast_unit *unit = sharing->unit;
	size_t size = 0;
	const char *text = ast_file_text(unit, field->range.file, &size);
	if (!text || is_fixed(unit, record) || is_allocated(sharing, record->type->canonical) || field->range.in_macro ||
	    field->range.end_offset >= size || text[field->range.end_offset] != ';' ||
	    !record_type_name(sharing->unit, record, sharing->sink->arena) ||
	    !text_equal(finding->file, unit_relative(unit, field->range.file)))
		return;
	finding_edit(sharing->sink, finding, field->range.end_offset, 0,
	             arena_printf(sharing->sink->arena, " __attribute__((aligned(%d)))", LINE_BYTES));
	put_assertion(sharing, finding, record, "the two sides have cache lines of their own");
	finding->contract = "objects of this type are static, automatic, or from an allocator that honours the alignment";
}

static void pair_look(struct sharing *sharing, const struct hot *one, const struct hot *two)
{
	const struct ast_node *record = one->field->parent;
	if (!record || record != two->field->parent || record->kind != AST_RECORD || one->is_lock != two->is_lock ||
	    !record->range.in_tree || !record->type || !one->field->name || !two->field->name)
		return;
	size_t least = one->is_lock ? 2 : 1;
	if (one->writers.count < least || two->writers.count < least || !disjoint(&one->writers, &two->writers))
		return;
	if (!are_two_sides(one->field->name, two->field->name))
		return;
	const struct ast_layout *layout = record_layout(sharing->unit, record);
	const struct ast_layout_field *a = field_of(layout, one->field->name), *b = field_of(layout, two->field->name);
	if (!a || !b || a->offset_bits < 0 || b->offset_bits < 0)
		return;
	if (a->offset_bits > b->offset_bits) {
		const struct ast_layout_field *swap = a;
		const struct hot *other = one;
		a = b;
		b = swap;
		one = two;
		two = other;
	}
	long long last = (a->offset_bits + a->size_bits - 1) / 8;
	if (last / LINE_BYTES != b->offset_bits / 8 / LINE_BYTES)
		return;
	struct arena *arena = sharing->sink->arena;
	struct finding *finding = finding_new(
	    sharing->sink, sharing->unit, &pattern_p08, &two->field->range, two->field->name,
	    one->is_lock ? SEVERITY_LOW : SEVERITY_MEDIUM,
	    arena_printf(arena, "`%s` and `%s` are written by different functions and lie in one cache line", one->field->name,
	                 two->field->name));
	finding->evidence = arena_printf(arena, "at bytes %lld and %lld of %s; %s() writes the one, %s() the other",
	                                 a->offset_bits / 8, b->offset_bits / 8, record->name && *record->name ? record->name : "the record",
	                                 one->writers.at[0]->name, two->writers.at[0]->name);
	pair_candidate(sharing, record, two->field, finding);
}

/* ---- pads -------------------------------------------------------------------------------------------------------- */

static bool is_shared_field(const struct sharing *sharing, const struct ast_node *field)
{
	if (field->type && (field->type->is_atomic || type_is_lock(field->type)))
		return true;
	for (size_t i = 0; i < sharing->hot.count; i++)
		if (sharing->hot.at[i].field == field)
			return true;
	return false;
}

static bool record_is_shared(const struct sharing *sharing, const struct ast_node *record)
{
	for (size_t i = 0; i < record->children.count; i++)
		if (record->children.at[i]->kind == AST_FIELD && is_shared_field(sharing, record->children.at[i]))
			return true;
	for (size_t i = 0; record->type && i < sharing->elements.count; i++)
		if (text_equal(sharing->elements.at[i].canonical, record->type->canonical))
			return true;
	return false;
}

static void pad_look(struct sharing *sharing, struct ast_node *record, struct ast_node *field)
{
	static const char *const names[] = {"pad", "padding", NULL};
	const struct ast_type *type = field->type;
	if (!field->name || !name_has_any_word(field->name, names) || !type || type->kind != TYPE_ARRAY || !type->pointee ||
	    type->pointee->size != 1 || type->size < 8 || type->size >= LINE_BYTES)
		return;
	const struct ast_layout *layout = record_layout(sharing->unit, record);
	const struct ast_layout_field *place = field_of(layout, field->name);
	const char *text = ast_text(sharing->unit, &field->range);
	if (!layout || !place || place->offset_bits < 0 || !text)
		return;
	bool says = strcasestr(text, "cache") || strstr(text, "64") || strcasestr(text, "line");
	if (!says && !(type->size >= LINE_BYTES / 2 && record_is_shared(sharing, record)))
		return;
	long long offset = place->offset_bits / 8, end = offset + type->size;
	if (end % LINE_BYTES == 0 || layout->align >= LINE_BYTES || (says && !record_is_shared(sharing, record)))
		return;
	/* A pad at the end: the record's own tail may fill the line. */
	if (layout->size % LINE_BYTES == 0 && place == &layout->fields.at[layout->fields.count - 1])
		return;
	struct arena *arena = sharing->sink->arena;
	struct finding *finding =
	    finding_new(sharing->sink, sharing->unit, &pattern_p08, &field->range, field->name, SEVERITY_MEDIUM,
	                arena_printf(arena, "the pad `%s` ends at byte %lld: it does not fill the cache line", field->name, end));
	finding->tier = TIER_A;
	finding->evidence = arena_printf(arena, "it begins at byte %lld; %lld bytes would fill the line; the record has %lld",
	                                 offset, LINE_BYTES - offset % LINE_BYTES, layout->size);
	const char *open = strrchr(text, '['), *close = open ? strchr(open, ']') : NULL;
	if (!close || field->range.in_macro || is_fixed(sharing->unit, record) ||
	    place != &layout->fields.at[layout->fields.count - 1] || !record_type_name(sharing->unit, record, sharing->sink->arena))
		return;
	finding_edit(sharing->sink, finding, field->range.offset + (size_t)(open + 1 - text), (size_t)(close - open - 1),
	             arena_printf(arena, "%lld", LINE_BYTES - offset % LINE_BYTES));
	put_assertion(sharing, finding, record, "the pad fills the cache line");
	finding->contract = "no other unit and no file relies on the record's size";
}

/* ---- the guard ---------------------------------------------------------------------------------------------------- */

/* The one attribute that aligns: its offset in `text` and length; false: there is none, or there are several. */
static bool find_attribute(const char *text, size_t size, size_t *ret_offset, size_t *ret_length)
{
	static const char *const words[] = {"__attribute__", "_Alignas", "alignas", "aligned", "ALIGN"};
	size_t found = 0;
	for (size_t at = 0; at < size;) {
		if (!isalpha((unsigned char)text[at]) && text[at] != '_') {
			at++;
			continue;
		}
		size_t end = at;
		while (end < size && text_is_word(text[end]))
			end++;
		const char *word = strndupa(text + at, end - at);
		bool matches = false;
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			matches = matches || (i < 3 ? strcmp(word, words[i]) == 0 : strcasestr(word, words[i]) != NULL);
		size_t from = at;
		at = end;
		if (!matches)
			continue;
		size_t open = end + strspn(text + end, " \t");
		if (open < size && text[open] == '(') {
			int depth = 0;
			size_t close = open;
			for (; close < size; close++) {
				depth += (text[close] == '(') - (text[close] == ')');
				if (depth == 0)
					break;
			}
			if (close == size)
				return false;
			if (strcmp(word, "__attribute__") == 0 && !text_has(text + open, close - open, "aligned"))
				continue;
			at = close + 1;
		} else if (strcmp(word, "__attribute__") == 0) {
			continue;
		}
		if (found++)
			return false;
		*ret_offset = from;
		*ret_length = at - from;
	}
	return found == 1;
}

static void guard_look(struct sharing *sharing, struct ast_node *record)
{
	if (!record->type || record->type->align < LINE_BYTES || !record_is_shared(sharing, record))
		return;
	size_t size = 0, offset = 0, length = 0;
	const char *text = declaration_of(sharing->unit, record, &size);
	if (!text || !(text_has(text, size, "align") || text_has(text, size, "ALIGN")))
		return;
	struct arena *arena = sharing->sink->arena;
	const char *name = record->name && *record->name ? record->name : record_type_name(sharing->unit, record, sharing->sink->arena);
	struct finding *finding = finding_new(
	    sharing->sink, sharing->unit, &pattern_p08, &record->range, name ? name : "", SEVERITY_LOW,
	    arena_printf(arena, "what threads write is kept apart: `%s` is aligned to %lld bytes", name ? name : "the record",
	                 record->type->align));
	finding->kind = FINDING_GUARD;
	finding->evidence = arena_printf(arena, "%lld bytes, %lld of them a line", record->type->size, (long long)LINE_BYTES);
	if (record->range.edge_in_macro || !find_attribute(text, size, &offset, &length))
		return;
	while (offset > 0 && text[offset - 1] == ' ') { /* the blank before it goes with it */
		offset--;
		length++;
	}
	bool between = offset > 0 && (isalnum((unsigned char)text[offset - 1]) || text[offset - 1] == '}') &&
	               offset + length < size && isalnum((unsigned char)text[offset + length]);
	finding_edit(sharing->sink, finding, record->range.offset + offset, length, between ? " " : "");
	finding->evidence = arena_printf(arena, "%s; the candidate takes the practice away: it shows what the alignment is worth",
	                                 finding->evidence);
}

/* ---- all ----------------------------------------------------------------------------------------------------------- */

static bool records_look(struct ast_node *node, void *context)
{
	struct sharing *sharing = context;
	if (node->kind != AST_RECORD || !node->range.in_tree)
		return node->kind == AST_RECORD || node->kind == AST_FIELD || node->kind == AST_TYPEDEF || node->kind == AST_VAR;
	for (size_t i = 0; i < node->children.count; i++)
		if (node->children.at[i]->kind == AST_FIELD)
			pad_look(sharing, node, node->children.at[i]);
	guard_look(sharing, node);
	return true;
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct sharing sharing = {.unit = unit, .command = command, .sink = sink};
	for (size_t i = 0; i < unit->top.count; i++)
		if (unit->top.at[i]->kind == AST_FUNCTION && unit->top.at[i]->is_definition)
			ast_walk(unit->top.at[i], collect_allocations, &sharing);
	for (size_t i = 0; i < unit->top.count; i++) {
		struct ast_node *function = unit->top.at[i];
		if (function->kind != AST_FUNCTION || !function->is_definition || !function->range.in_tree)
			continue;
		sharing.function = function;
		sharing.function_loops = false;
		ast_walk(function, find_loop, &sharing.function_loops);
		ast_walk(function, look, &sharing);
	}
	for (size_t i = 0; i < sharing.hot.count; i++)
		for (size_t k = i + 1; k < sharing.hot.count; k++)
			pair_look(&sharing, &sharing.hot.at[i], &sharing.hot.at[k]);
	for (size_t i = 0; i < unit->top.count; i++)
		ast_walk(unit->top.at[i], records_look, &sharing);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>

enum { WORKERS = 2, ITEMS = 1 << 14 };

struct slot {
	uint64_t odd, even;
};
static struct slot slots[WORKERS]; // finds

static void run_thread(void *state, const struct assay_thread *thread, uint64_t iterations)
{
	const uint8_t *items = state;
	size_t worker = thread->index;
	for (uint64_t i = 0; i < iterations; i++) {
		for (size_t k = 0; k < ITEMS; k++) {
			if (items[k] & 1)
				slots[worker].odd++;
			else
				slots[worker].even++;
			assay_keep(slots);
		}
	}
}

static void *setup(struct assay_bench *b)
{
	uint8_t *items = malloc(ITEMS);
	assay_fill_random(b, items, ITEMS);
	assay_bytes_per_iteration(b, WORKERS * ITEMS);
	assay_threads(b, WORKERS);
	return items;
}

static void output(void *state, struct assay_bench *b)
{
	(void)state;
	for (size_t i = 0; i < WORKERS; i++) {
		assay_output(b, "odd", &slots[i].odd, sizeof slots[i].odd);
		assay_output(b, "even", &slots[i].even, sizeof slots[i].even);
	}
}

static void edges(void *state, struct assay_bench *b)
{
	const struct assay_thread first = {0, WORKERS};
	run_thread(state, &first, 0);
	output(state, b);
}

const struct assay_workload assay_workload = {
    .setup = setup, .run_thread = run_thread, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>

enum { WORKERS = 2, ITEMS = 1 << 14 };

struct slot {
	uint64_t odd, even;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct slot) % 64 == 0, "each element has its cache lines to itself");
static struct slot slots[WORKERS]; // finds

static void run_thread(void *state, const struct assay_thread *thread, uint64_t iterations)
{
	const uint8_t *items = state;
	size_t worker = thread->index;
	for (uint64_t i = 0; i < iterations; i++) {
		for (size_t k = 0; k < ITEMS; k++) {
			if (items[k] & 1)
				slots[worker].odd++;
			else
				slots[worker].even++;
			assay_keep(slots);
		}
	}
}

static void *setup(struct assay_bench *b)
{
	uint8_t *items = malloc(ITEMS);
	assay_fill_random(b, items, ITEMS);
	assay_bytes_per_iteration(b, WORKERS * ITEMS);
	assay_threads(b, WORKERS);
	return items;
}

static void output(void *state, struct assay_bench *b)
{
	(void)state;
	for (size_t i = 0; i < WORKERS; i++) {
		assay_output(b, "odd", &slots[i].odd, sizeof slots[i].odd);
		assay_output(b, "even", &slots[i].even, sizeof slots[i].even);
	}
}

static void edges(void *state, struct assay_bench *b)
{
	const struct assay_thread first = {0, WORKERS};
	run_thread(state, &first, 0);
	output(state, b);
}

const struct assay_workload assay_workload = {
    .setup = setup, .run_thread = run_thread, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdlib.h>

enum { WORKERS = 2, ITEMS = 1 << 14 };

struct slot {
	uint64_t odd, even;
};
static struct slot slots[WORKERS];

static void run_thread(void *state, const struct assay_thread *thread, uint64_t iterations)
{
	const uint8_t *items = state;
	size_t worker = thread->index;
	struct slot sum = {0, 0};
	for (uint64_t i = 0; i < iterations; i++) {
		for (size_t k = 0; k < ITEMS; k++) {
			if (items[k] & 1)
				sum.odd++;
			else
				sum.even++;
			assay_keep(&sum);
		}
	}
	slots[worker].odd += sum.odd; /* once for each thread */
	slots[worker].even += sum.even;
}

static void *setup(struct assay_bench *b)
{
	uint8_t *items = malloc(ITEMS);
	assay_fill_random(b, items, ITEMS);
	assay_bytes_per_iteration(b, WORKERS * ITEMS);
	assay_threads(b, WORKERS);
	return items;
}

static void output(void *state, struct assay_bench *b)
{
	(void)state;
	for (size_t i = 0; i < WORKERS; i++) {
		assay_output(b, "odd", &slots[i].odd, sizeof slots[i].odd);
		assay_output(b, "even", &slots[i].even, sizeof slots[i].even);
	}
}

static void edges(void *state, struct assay_bench *b)
{
	const struct assay_thread first = {0, WORKERS};
	run_thread(state, &first, 0);
	output(state, b);
}

const struct assay_workload assay_workload = {
    .setup = setup, .run_thread = run_thread, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also the two sides of a queue */
#include <stdatomic.h>
#include <stddef.h>
struct ring {
	_Atomic size_t head;
	_Atomic size_t tail; // finds
	int items[256];
};
static struct ring ring;
int ring_put(int item)
{
	size_t head = atomic_load_explicit(&ring.head, memory_order_relaxed);
	if (head - atomic_load_explicit(&ring.tail, memory_order_acquire) == 256)
		return 0;
	ring.items[head % 256] = item;
	atomic_store_explicit(&ring.head, head + 1, memory_order_release);
	return 1;
}
int ring_take(int *item)
{
	size_t tail = atomic_load_explicit(&ring.tail, memory_order_relaxed);
	if (atomic_load_explicit(&ring.head, memory_order_acquire) == tail)
		return 0;
	*item = ring.items[tail % 256];
	atomic_store_explicit(&ring.tail, tail + 1, memory_order_release);
	return 1;
}
#endif

#if 0 /* assay example: also the two sides of a queue fixed */
#include <stdatomic.h>
#include <stddef.h>
struct ring {
	_Atomic size_t head;
	_Atomic size_t tail __attribute__((aligned(64))); // finds
	int items[256];
};
_Static_assert(sizeof(struct ring) % 64 == 0, "the two sides have cache lines of their own");
static struct ring ring;
int ring_put(int item)
{
	size_t head = atomic_load_explicit(&ring.head, memory_order_relaxed);
	if (head - atomic_load_explicit(&ring.tail, memory_order_acquire) == 256)
		return 0;
	ring.items[head % 256] = item;
	atomic_store_explicit(&ring.head, head + 1, memory_order_release);
	return 1;
}
int ring_take(int *item)
{
	size_t tail = atomic_load_explicit(&ring.tail, memory_order_relaxed);
	if (atomic_load_explicit(&ring.head, memory_order_acquire) == tail)
		return 0;
	*item = ring.items[tail % 256];
	atomic_store_explicit(&ring.tail, tail + 1, memory_order_release);
	return 1;
}
#endif

#if 0 /* assay example: also a pad that falls short, and malloc for what is aligned */
#include <pthread.h>
#include <stdlib.h>
typedef struct {
	pthread_mutex_t lock;
	long count;
	char pad[64 - sizeof(long)]; // finds
} shard;
static shard shards[16];
struct context {
	long words[8];
} __attribute__((aligned(64)));
void shard_add(unsigned hash)
{
	pthread_mutex_lock(&shards[hash % 16].lock);
	shards[hash % 16].count++;
	pthread_mutex_unlock(&shards[hash % 16].lock);
}
struct context *context_new(void)
{
	struct context *context = malloc(sizeof *context); // finds
	return context;
}
#endif

#if 0 /* assay example: also a pad that falls short, and malloc for what is aligned fixed */
#include <pthread.h>
#include <stdlib.h>
typedef struct {
	pthread_mutex_t lock;
	long count;
	char pad[16]; // finds
} shard;
_Static_assert(sizeof(shard) % 64 == 0, "the pad fills the cache line");
static shard shards[16];
struct context {
	long words[8];
} __attribute__((aligned(64)));
void shard_add(unsigned hash)
{
	pthread_mutex_lock(&shards[hash % 16].lock);
	shards[hash % 16].count++;
	pthread_mutex_unlock(&shards[hash % 16].lock);
}
struct context *context_new(void)
{
	struct context *context = aligned_alloc(64, sizeof *context); // finds
	return context;
}
#endif

#if 0 /* assay example: also a guard, one line each */
#include <stdatomic.h>
struct bucket { // finds
	atomic_long sum;
} __attribute__((aligned(64)));
static struct bucket buckets[64];
void sum_add(unsigned cpu, long value)
{
	atomic_fetch_add_explicit(&buckets[cpu % 64].sum, value, memory_order_relaxed);
}
#endif

#if 0 /* assay example: also a guard, one line each fixed */
#include <stdatomic.h>
struct bucket { // finds
	atomic_long sum;
};
static struct bucket buckets[64];
void sum_add(unsigned cpu, long value)
{
	atomic_fetch_add_explicit(&buckets[cpu % 64].sum, value, memory_order_relaxed);
}
#endif

#if 0 /* assay example: also advice only, plain numbers and a record from malloc */
#include <stdlib.h>
static unsigned long hits[64]; // finds
struct stat {
	long bytes;
};
static struct stat *stats; // finds
void stats_open(unsigned cpus)
{
	stats = calloc(cpus, sizeof *stats);
}
void hit(unsigned thread_id, long bytes)
{
	hits[thread_id]++;
	stats[thread_id].bytes += bytes;
}
#endif

#if 0 /* assay example: lookalike summing up and setting up */
#include <stddef.h>
#include <stdint.h>
static unsigned long counts[64];
static const char *names[64];
unsigned long counts_sum(void)
{
	unsigned long sum = 0;
	for (unsigned cpu = 0; cpu < 64; cpu++) {
		sum += counts[cpu];
		counts[cpu] = 0;
	}
	return sum;
}
void thread_named(unsigned thread_id, const char *name)
{
	names[thread_id] = name;
}
unsigned long of_one(unsigned cpu)
{
	unsigned long local[64] = {0};
	for (unsigned i = 0; i < 64; i++)
		local[cpu % 64] += counts[i];
	return local[0];
}
#endif

#if 0 /* assay example: lookalike a lock beside its data, a file's layout, a vector's alignment */
#include <pthread.h>
#include <stdint.h>
struct account {
	pthread_mutex_t lock;
	long balance;
};
struct record_on_disk {
	uint64_t magic, block;
	char pad[40];
};
struct message {
	uint32_t kind;
	uint8_t pad[12];
};
struct digest {
	uint32_t words[16];
} __attribute__((aligned(64)));
void account_add(struct account *account, long amount)
{
	pthread_mutex_lock(&account->lock);
	account->balance += amount;
	pthread_mutex_unlock(&account->lock);
}
uint32_t digest_word(const struct digest *digest, const struct record_on_disk *record, const struct message *message)
{
	return digest->words[record->magic % 16] + message->kind;
}
#endif

#if 0 /* assay example: lookalike a whole line between them, and one writer for both */
#include <stdatomic.h>
#include <stddef.h>
struct ring {
	_Atomic size_t head;
	char pad[64];
	_Atomic size_t tail;
};
struct stack {
	_Atomic size_t in, out;
};
void ring_put(struct ring *ring)
{
	atomic_fetch_add(&ring->head, 1);
}
void ring_take(struct ring *ring)
{
	atomic_fetch_add(&ring->tail, 1);
}
void stack_move(struct stack *stack)
{
	atomic_fetch_add(&stack->in, 1);
	atomic_fetch_add(&stack->out, 1);
}
#endif

#if 0 /* assay example: lookalike a set of processors */
#define _GNU_SOURCE
#include <sched.h>
int pin_to(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	for (int i = 0; i < 2; i++)
		CPU_SET(cpu + i, &set);
	return sched_setaffinity(0, sizeof set, &set);
}
#endif

#if 0 /* assay example: lookalike a table that is filled for a caller */
#include <stdio.h>
void loads_read(FILE *file, double *loads, unsigned count)
{
	char line[256];
	while (fgets(line, sizeof line, file)) {
		unsigned cpu;
		double load;
		if (sscanf(line, "cpu%u %lf", &cpu, &load) == 2 && cpu < count)
			loads[cpu] = load;
	}
}
#endif
