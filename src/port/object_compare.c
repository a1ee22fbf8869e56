#include "port/object_compare.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#define NONE SIZE_MAX

/* A named range of a section: a function (or code that only a label names), or a data object. */
struct entity {
	size_t section;
	uint64_t start, end;
	size_t symbol;    /* the one that names it; NONE: unnamed code between functions */
	const char *name; /* canonical: unique in the object, the same in both objects for what is taken as the same thing */
	bool code, decoded;
	struct object_instruction_list instructions;
};
LIST_OF(struct entity, entity_list);

/* A name of an entity. Aliases are several names of one. */
struct named {
	const char *name;
	size_t symbol, entity; /* entity NONE: a common symbol */
};
LIST_OF(struct named, named_list);

/* A place in unnamed data that something refers to. */
struct place {
	size_t section;
	uint64_t address;
	size_t owner; /* the entity that refers to it */
};
LIST_OF(struct place, place_list);

struct section_state {
	size_t partner;         /* in the other object, NONE: none */
	size_t first, count;    /* of view.entities */
	uint64_t *furthest_end; /* of the first i + 1 entities */
	size_t place_first, place_count;
	bool equal;        /* byte for byte, with all that it refers to */
	bool same_layout;  /* the same entities at the same places */
	bool read_only_pool; /* unnamed contents are constants: which address they have means nothing */
	bool compared;
};

struct view {
	struct object *object;
	const char *mark; /* makes what can't be resolved different from everything of the other side */
	struct arena *arena; /* scratch */
	const char **names;  /* canonical, by symbol; NULL: not a named local or global */
	struct entity_list entities; /* by section, start, end */
	struct section_state *sections;
	struct named_list functions, data; /* by name */
	struct place_list places;          /* by section, address, owner */
};

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* "foo.constprop.0.isra.12" to "foo.constprop.isra". */
static const char *name_base(struct arena *arena, const char *name)
{
	char *base = arena_strdup(arena, name), *out = base;
	for (const char *at = name; *at;) {
		size_t digits = *at == '.' ? strspn(at + 1, "0123456789") : 0;
		if (digits && at != name && (at[1 + digits] == '\0' || at[1 + digits] == '.')) {
			at += 1 + digits;
			continue;
		}
		*out++ = *at++;
	}
	*out = '\0';
	return base;
}

static bool symbol_is_named(const struct object *object, const struct object_symbol *symbol)
{
	if (!symbol->name[0] || symbol->place != PLACE_SECTION || symbol->kind == SYMBOL_SECTION || symbol->kind == SYMBOL_OTHER)
		return false;
	/* Mapping symbols of ARM ("$x", "$d") name nothing. */
	if (symbol->name[0] == '$' && symbol->kind == SYMBOL_NOTYPE && symbol->binding == BINDING_LOCAL)
		return false;
	/* The compiler's own labels (".LC0", ".L.str"), which the assembler keeps where they are needed to merge constants. */
	if (text_starts(symbol->name, ".L") && symbol->binding == BINDING_LOCAL)
		return false;
	return object->sections[symbol->section].ordinary;
}

struct local {
	const char *base;
	const struct object_symbol *symbol;
	size_t index;
	const char *content; /* of constant data without references, else NULL */
};

static int local_order(const void *a, const void *b)
{
	const struct local *left = a, *right = b;
	int order = strcmp(left->base, right->base);
	if (!order)
		order = strverscmp(left->symbol->name, right->symbol->name);
	if (!order && left->symbol->section != right->symbol->section)
		order = left->symbol->section < right->symbol->section ? -1 : 1;
	if (!order && left->symbol->value != right->symbol->value)
		order = left->symbol->value < right->symbol->value ? -1 : 1;
	return order ? order : left->index < right->index ? -1 : left->index > right->index;
}

static int text_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *hash_text(struct arena *arena, const void *bytes, size_t size)
{
	XXH128_hash_t hash = XXH3_128bits(bytes, size);
	return arena_printf(arena, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
}

static const char *local_content(const struct view *view, const struct object_symbol *symbol)
{
	const struct object_section *section = &view->object->sections[symbol->section];
	if (symbol->kind != SYMBOL_OBJECT || section->write || section->exec || !section->bytes || !symbol->size)
		return NULL;
	size_t reloc = object_reloc_at(view->object, section, symbol->value);
	if (reloc < section->reloc_first + section->reloc_count &&
	    view->object->relocs[reloc].offset < symbol->value + symbol->size)
		return NULL;
	return arena_printf(view->arena, "%llu.%s", (unsigned long long)symbol->size,
	                    hash_text(view->arena, section->bytes + symbol->value, (size_t)symbol->size));
}

/* Gives the members of one group of equal base names their canonical names. Any naming that is unique in its object is
 * sound: a wrong match of two names shows up as a difference, never as equality. */
static void group_name(struct view *view, struct local *group, size_t count, const char *const *globals,
                       size_t global_count)
{
	const char *base = group[0].base;
	if (bsearch(&base, globals, global_count, sizeof *globals, text_order))
		base = arena_printf(view->arena, "%s~local", base);
	bool numbered = count > 1 || !text_equal(group[0].symbol->name, group[0].base);
	bool by_content = numbered;
	for (size_t i = 0; i < count && by_content; i++) {
		group[i].content = local_content(view, group[i].symbol);
		by_content = group[i].content != NULL;
		for (size_t k = 0; k < i && by_content; k++)
			by_content = !text_equal(group[i].content, group[k].content);
	}
	for (size_t i = 0; i < count; i++) {
		const char *name = base;
		if (by_content)
			name = arena_printf(view->arena, "%s#%s", base, group[i].content);
		else if (i)
			name = arena_printf(view->arena, "%s#%zu", base, i);
		view->names[group[i].index] = name;
	}
}

static void view_name_symbols(struct view *view)
{
	struct object *object = view->object;
	view->names = arena_alloc(view->arena, object->symbol_count * sizeof *view->names);
	const char **globals = arena_alloc(view->arena, object->symbol_count * sizeof *globals);
	struct local *locals = arena_alloc(view->arena, object->symbol_count * sizeof *locals);
	size_t global_count = 0, local_count = 0;
	for (size_t i = 0; i < object->symbol_count; i++) {
		const struct object_symbol *symbol = &object->symbols[i];
		if (symbol->binding != BINDING_LOCAL) {
			view->names[i] = symbol->name;
			globals[global_count++] = symbol->name;
		} else if (symbol_is_named(object, symbol)) {
			locals[local_count++] = (struct local){.base = name_base(view->arena, symbol->name), .symbol = symbol, .index = i};
		}
	}
	if (global_count)
		qsort(globals, global_count, sizeof *globals, text_order);
	if (local_count)
		qsort(locals, local_count, sizeof *locals, local_order);
	for (size_t i = 0; i < local_count;) {
		size_t end = i + 1;
		while (end < local_count && text_equal(locals[i].base, locals[end].base))
			end++;
		group_name(view, &locals[i], end - i, globals, global_count);
		i = end;
	}
}

/* ---- entities ---------------------------------------------------------------------------------------------------- */

/* A strong global name before a weak one before a local one, then by spelling. */
static bool names_better(const struct view *view, size_t a, size_t b)
{
	static const int rank[] = {[BINDING_GLOBAL] = 0, [BINDING_WEAK] = 1, [BINDING_LOCAL] = 2};
	const struct object_symbol *left = &view->object->symbols[a], *right = &view->object->symbols[b];
	bool left_typed = left->kind != SYMBOL_NOTYPE, right_typed = right->kind != SYMBOL_NOTYPE;
	if (left_typed != right_typed)
		return left_typed;
	if (left->binding != right->binding)
		return rank[left->binding] < rank[right->binding];
	return strcmp(view->names[a], view->names[b]) < 0;
}

static int entity_order(const void *a, const void *b)
{
	const struct entity *left = a, *right = b;
	if (left->section != right->section)
		return left->section < right->section ? -1 : 1;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->end != right->end)
		return left->end > right->end ? -1 : 1; /* the longer first: the last one that holds an address is the innermost */
	return left->symbol < right->symbol ? -1 : left->symbol > right->symbol;
}

static int named_order(const void *a, const void *b)
{
	const struct named *left = a, *right = b;
	int order = strcmp(left->name, right->name);
	return order ? order : left->symbol < right->symbol ? -1 : left->symbol > right->symbol;
}

static void view_index_sections(struct view *view)
{
	for (size_t i = 0; i < view->object->section_count; i++)
		view->sections[i].first = view->sections[i].count = 0;
	for (size_t i = 0; i < view->entities.count;) {
		struct section_state *state = &view->sections[view->entities.at[i].section];
		state->first = i;
		while (i < view->entities.count && &view->sections[view->entities.at[i].section] == state) {
			state->count++;
			i++;
		}
		state->furthest_end = arena_alloc(view->arena, state->count * sizeof *state->furthest_end);
		uint64_t furthest = 0;
		for (size_t k = 0; k < state->count; k++) {
			uint64_t end = view->entities.at[state->first + k].end;
			furthest = end > furthest ? end : furthest;
			state->furthest_end[k] = furthest;
		}
	}
}

/* How many entities of the section start at or before `address`. */
static size_t entities_before(const struct view *view, size_t section, uint64_t address)
{
	const struct section_state *state = &view->sections[section];
	size_t low = 0, high = state->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (view->entities.at[state->first + middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The innermost entity that holds an address, or NULL. */
static const struct entity *entity_at(const struct view *view, size_t section, uint64_t address)
{
	const struct section_state *state = &view->sections[section];
	for (size_t i = entities_before(view, section, address); i > 0 && state->furthest_end[i - 1] > address; i--)
		if (view->entities.at[state->first + i - 1].end > address)
			return &view->entities.at[state->first + i - 1];
	return NULL;
}

/* Code that no symbol covers, when it is more than padding. */
static void view_add_unnamed_code(struct view *view, struct entity_list *extra, size_t section, uint64_t start,
                                  uint64_t end, unsigned ordinal)
{
	const struct object_section *in = &view->object->sections[section];
	struct entity entity = {.section = section, .start = start, .end = end, .symbol = NONE, .code = true};
	bool padding = in->bytes != NULL;
	for (uint64_t at = start; at < end && padding; at++)
		padding = in->bytes[at] == 0 || in->bytes[at] == 0x90 || in->bytes[at] == 0xcc;
	if (padding)
		return;
	padding = object_decode(view->object, in, start, end, view->arena, &entity.instructions);
	for (size_t i = 0; i < entity.instructions.count && padding; i++)
		padding = entity.instructions.at[i].padding;
	if (padding)
		return;
	entity.instructions = (struct object_instruction_list){0};
	entity.name = arena_printf(view->arena, "%s: unnamed code %u", in->name, ordinal);
	list_push(view->arena, extra, entity);
}

static void view_find_entities(struct view *view)
{
	struct object *object = view->object;
	struct entity_list all = {0};
	for (size_t i = 0; i < object->symbol_count; i++) {
		const struct object_symbol *symbol = &object->symbols[i];
		if (symbol_is_named(object, symbol) && symbol->size)
			list_push(view->arena, &all,
			          ((struct entity){.section = symbol->section, .start = symbol->value, .end = symbol->value + symbol->size,
			                           .symbol = i, .name = view->names[i], .code = object->sections[symbol->section].exec}));
	}
	if (all.count)
		qsort(all.at, all.count, sizeof *all.at, entity_order);
	view->entities = all;
	view_index_sections(view);
	/* Without a size it reaches to the next symbol. Labels inside of something that has a size name no range. */
	struct entity_list sizeless = {0};
	for (size_t i = 0; i < object->symbol_count; i++) {
		const struct object_symbol *symbol = &object->symbols[i];
		if (!symbol_is_named(object, symbol) || symbol->size || symbol->value == object->sections[symbol->section].size)
			continue;
		const struct entity *around = entity_at(view, symbol->section, symbol->value);
		if (around && (symbol->kind == SYMBOL_NOTYPE || around->start != symbol->value))
			continue;
		list_push(view->arena, &sizeless,
		          ((struct entity){.section = symbol->section, .start = symbol->value,
		                           .end = object->sections[symbol->section].size, .symbol = i, .name = view->names[i],
		                           .code = object->sections[symbol->section].exec}));
	}
	if (sizeless.count)
		qsort(sizeless.at, sizeless.count, sizeof *sizeless.at, entity_order);
	for (size_t i = 0; i < sizeless.count; i++) {
		struct entity *entity = &sizeless.at[i];
		size_t before = entities_before(view, entity->section, entity->start);
		const struct section_state *state = &view->sections[entity->section];
		if (before < state->count && view->entities.at[state->first + before].start < entity->end)
			entity->end = view->entities.at[state->first + before].start;
		for (size_t k = i + 1; k < sizeless.count && sizeless.at[k].section == entity->section; k++)
			if (sizeless.at[k].start > entity->start) {
				if (sizeless.at[k].start < entity->end)
					entity->end = sizeless.at[k].start;
				break;
			}
	}
	for (size_t i = 0; i < sizeless.count; i++)
		list_push(view->arena, &all, sizeless.at[i]);
	if (all.count)
		qsort(all.at, all.count, sizeof *all.at, entity_order);
	/* Several symbols of one range are one entity with several names. */
	size_t kept = 0;
	size_t *entity_of = arena_alloc(view->arena, all.count * sizeof *entity_of);
	size_t *symbol_of = arena_alloc(view->arena, all.count * sizeof *symbol_of);
	for (size_t i = 0; i < all.count; i++) {
		struct entity *last = kept ? &all.at[kept - 1] : NULL;
		symbol_of[i] = all.at[i].symbol;
		if (last && last->section == all.at[i].section && last->start == all.at[i].start && last->end == all.at[i].end) {
			if (names_better(view, all.at[i].symbol, last->symbol)) {
				last->symbol = all.at[i].symbol;
				last->name = all.at[i].name;
			}
		} else {
			all.at[kept++] = all.at[i];
		}
		entity_of[i] = kept - 1;
	}
	size_t symbol_count = all.count;
	all.count = kept;
	view->entities = all;
	view_index_sections(view);
	struct entity_list unnamed = {0};
	for (size_t i = 0; i < object->section_count; i++) {
		const struct object_section *section = &object->sections[i];
		if (!section->ordinary || !section->exec)
			continue;
		uint64_t at = 0;
		unsigned ordinal = 0;
		for (size_t k = 0; k <= view->sections[i].count; k++) {
			bool last = k == view->sections[i].count;
			const struct entity *entity = last ? NULL : &view->entities.at[view->sections[i].first + k];
			uint64_t until = last ? section->size : entity->start;
			if (until > at)
				view_add_unnamed_code(view, &unnamed, i, at, until, ordinal++);
			if (!last && entity->end > at)
				at = entity->end;
		}
	}
	/* The entities' numbers change once more: names are noted by what they cover. */
	struct entity_list named = all;
	if (unnamed.count) {
		named = (struct entity_list){0};
		for (size_t i = 0; i < all.count; i++)
			list_push(view->arena, &named, all.at[i]);
		for (size_t i = 0; i < unnamed.count; i++)
			list_push(view->arena, &named, unnamed.at[i]);
		qsort(named.at, named.count, sizeof *named.at, entity_order);
	}
	size_t *moved_to = arena_alloc(view->arena, all.count * sizeof *moved_to);
	for (size_t i = 0, k = 0; i < named.count; i++) {
		if (named.at[i].symbol == NONE) {
			list_push(view->arena, &view->functions,
			          ((struct named){.name = named.at[i].name, .symbol = NONE, .entity = i}));
			continue;
		}
		moved_to[k++] = i;
	}
	for (size_t i = 0; i < symbol_count; i++) {
		struct named name = {.name = view->names[symbol_of[i]], .symbol = symbol_of[i], .entity = moved_to[entity_of[i]]};
		if (named.at[name.entity].code)
			list_push(view->arena, &view->functions, name);
		else
			list_push(view->arena, &view->data, name);
	}
	for (size_t i = 0; i < object->symbol_count; i++)
		if (object->symbols[i].place == PLACE_COMMON)
			list_push(view->arena, &view->data, ((struct named){.name = view->names[i] ? view->names[i] : object->symbols[i].name,
			                                                    .symbol = i, .entity = NONE}));
	view->entities = named;
	view_index_sections(view);
	if (view->functions.count)
		qsort(view->functions.at, view->functions.count, sizeof *view->functions.at, named_order);
	if (view->data.count)
		qsort(view->data.at, view->data.count, sizeof *view->data.at, named_order);
}

static bool section_is_compared(const struct object_section *section)
{
	return section->ordinary && section->size && !text_starts(section->name, ".eh_frame");
}

static void view_init(struct view *view, struct object *object, const char *mark, struct arena *arena)
{
	*view = (struct view){.object = object, .mark = mark, .arena = arena};
	view->sections = arena_alloc(arena, object->section_count * sizeof *view->sections);
	for (size_t i = 0; i < object->section_count; i++) {
		const struct object_section *section = &object->sections[i];
		view->sections[i].partner = NONE;
		view->sections[i].compared = section_is_compared(section);
		view->sections[i].read_only_pool =
		    section->ordinary && !section->exec && !section->nobits &&
		    (section->merge || text_starts(section->name, ".rodata") || text_starts(section->name, ".lrodata") ||
		     text_starts(section->name, ".data.rel.ro"));
	}
	view_name_symbols(view);
	view_find_entities(view);
}

/* ---- whole sections ---------------------------------------------------------------------------------------------- */

static void sections_pair(struct view *a, struct view *b)
{
	bool *used = arena_alloc(b->arena, b->object->section_count * sizeof *used);
	for (size_t i = 0; i < a->object->section_count; i++) {
		if (!a->object->sections[i].alloc)
			continue;
		for (size_t k = 0; k < b->object->section_count; k++)
			if (!used[k] && b->object->sections[k].alloc &&
			    text_equal(a->object->sections[i].name, b->object->sections[k].name)) {
				used[k] = true;
				a->sections[i].partner = k;
				b->sections[k].partner = i;
				break;
			}
	}
}

static bool section_layout_equal(const struct view *a, size_t i, const struct view *b, size_t k)
{
	if (a->sections[i].count != b->sections[k].count || a->object->sections[i].size != b->object->sections[k].size)
		return false;
	for (size_t n = 0; n < a->sections[i].count; n++) {
		const struct entity *left = &a->entities.at[a->sections[i].first + n];
		const struct entity *right = &b->entities.at[b->sections[k].first + n];
		if (left->start != right->start || left->end != right->end || !text_equal(left->name, right->name))
			return false;
	}
	return true;
}

/* A relocation leads to the same place, if the sections that it leads to are equal. */
static bool reloc_same(const struct view *a, const struct object_reloc *left, const struct view *b,
                       const struct object_reloc *right)
{
	if (left->offset != right->offset || left->type != right->type || left->addend != right->addend)
		return false;
	const struct object_symbol *x = &a->object->symbols[left->symbol], *y = &b->object->symbols[right->symbol];
	if (x->binding != BINDING_LOCAL || y->binding != BINDING_LOCAL)
		return x->binding == y->binding && text_equal(x->name, y->name);
	if (x->place != y->place || x->value != y->value)
		return false;
	return x->place != PLACE_SECTION || a->sections[x->section].partner == y->section;
}

static bool section_bytes_equal(const struct view *a, size_t i, const struct view *b, size_t k)
{
	const struct object_section *x = &a->object->sections[i], *y = &b->object->sections[k];
	if (x->size != y->size || x->align != y->align || x->entsize != y->entsize || x->exec != y->exec ||
	    x->write != y->write || x->tls != y->tls || x->nobits != y->nobits || x->merge != y->merge ||
	    x->strings != y->strings || x->ordinary != y->ordinary || x->reloc_count != y->reloc_count ||
	    x->implicit_addends != y->implicit_addends)
		return false;
	if (!x->nobits && x->size && memcmp(x->bytes, y->bytes, (size_t)x->size) != 0)
		return false;
	for (size_t n = 0; n < x->reloc_count; n++)
		if (!reloc_same(a, &a->object->relocs[x->reloc_first + n], b, &b->object->relocs[y->reloc_first + n]))
			return false;
	return a->sections[i].same_layout;
}

/* Equal sections, and of these only those that lead to equal sections alone. */
static void sections_compare(struct view *a, struct view *b)
{
	sections_pair(a, b);
	for (size_t i = 0; i < a->object->section_count; i++) {
		size_t k = a->sections[i].partner;
		if (k == NONE)
			continue;
		a->sections[i].same_layout = b->sections[k].same_layout = section_layout_equal(a, i, b, k);
		a->sections[i].equal = b->sections[k].equal = section_bytes_equal(a, i, b, k);
	}
	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < a->object->section_count; i++) {
			const struct object_section *section = &a->object->sections[i];
			if (!a->sections[i].equal)
				continue;
			for (size_t n = 0; n < section->reloc_count; n++) {
				const struct object_symbol *symbol = &a->object->symbols[a->object->relocs[section->reloc_first + n].symbol];
				if (symbol->binding == BINDING_LOCAL && symbol->place == PLACE_SECTION && !a->sections[symbol->section].equal) {
					a->sections[i].equal = b->sections[a->sections[i].partner].equal = false;
					again = true;
					break;
				}
			}
		}
	}
}

/* ---- what a reference leads to ------------------------------------------------------------------------------------ */

enum { DEPTH_MAX = 8, SHOWN_BYTES = 16, SHOWN_TEXT = 40 };

static const char *target_text(struct view *view, size_t section, uint64_t address, size_t owner, bool indexed,
                               unsigned depth);

static int place_order(const void *a, const void *b)
{
	const struct place *left = a, *right = b;
	if (left->section != right->section)
		return left->section < right->section ? -1 : 1;
	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->owner < right->owner ? -1 : left->owner > right->owner;
}

/* How many places of the section lie before `address`. */
static size_t places_before(const struct view *view, size_t section, uint64_t address)
{
	const struct section_state *state = &view->sections[section];
	size_t low = 0, high = state->place_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (view->places.at[state->place_first + middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Where the unnamed data at `address`, as `owner` uses it, ends: at a named object, at something that another one
 * refers to, or with the section. What the same one refers to further on may be a part of it. */
static uint64_t unnamed_end(const struct view *view, size_t section, uint64_t address, size_t owner)
{
	const struct section_state *state = &view->sections[section];
	uint64_t end = view->object->sections[section].size;
	size_t next = entities_before(view, section, address);
	if (next < state->count && view->entities.at[state->first + next].start < end)
		end = view->entities.at[state->first + next].start;
	for (size_t i = places_before(view, section, address + 1); i < state->place_count; i++) {
		const struct place *place = &view->places.at[state->place_first + i];
		if (place->address >= end)
			break;
		if (place->owner != owner)
			return place->address;
	}
	return end;
}

/* Tables of distances (jump tables of position-independent code) count from the nearest place that is referred to. */
static uint64_t table_base(const struct view *view, size_t section, uint64_t address)
{
	const struct section_state *state = &view->sections[section];
	const struct entity *entity = entity_at(view, section, address);
	uint64_t base = entity ? entity->start : 0;
	size_t before = places_before(view, section, address + 1);
	if (before && view->places.at[state->place_first + before - 1].address > base)
		base = view->places.at[state->place_first + before - 1].address;
	return base;
}

static bool leads_by_name(const struct object_symbol *symbol)
{
	return symbol->binding != BINDING_LOCAL || symbol->place != PLACE_SECTION;
}

static const char *name_and_offset(struct view *view, const char *name, int64_t offset)
{
	return offset ? arena_printf(view->arena, "%s%+lld", name, (long long)offset) : name;
}

enum use {
	USE_DATA,    /* a field of data */
	USE_CODE,    /* an operand */
	USE_INDEXED, /* an operand that a register is added to: the address may lie outside of the object that is meant */
};

/* What a relocation leads to. `adjust` is added to the addend: the distance from the field to where the CPU counts
 * from; 0 in data. */
static const char *reloc_text(struct view *view, size_t section, const struct object_reloc *reloc, int64_t adjust,
                              size_t owner, enum use use, unsigned depth)
{
	const struct object_section *in = &view->object->sections[section];
	const struct object_symbol *symbol = &view->object->symbols[reloc->symbol];
	struct object_reloc_traits traits = object_reloc_traits(view->object, reloc->type);
	bool resolved = traits.known && !in->implicit_addends;
	if (symbol->binding == BINDING_LOCAL && symbol->place != PLACE_SECTION)
		return arena_printf(view->arena, "absolute %s %llx%+lld", symbol->name, (unsigned long long)symbol->value,
		                    (long long)reloc->addend);
	if (leads_by_name(symbol))
		return name_and_offset(view, symbol->name, (int64_t)((uint64_t)reloc->addend + (uint64_t)(resolved ? adjust : 0)));
	if (!resolved) {
		const char *name = view->object->sections[symbol->section].name;
		return arena_printf(view->arena, "%s+%llx%+lld%s", name, (unsigned long long)symbol->value, (long long)reloc->addend,
		                    view->sections[symbol->section].equal ? "" : view->mark);
	}
	uint64_t address = symbol->value + (uint64_t)reloc->addend + (uint64_t)adjust;
	if (traits.pc_relative && use == USE_DATA)
		address -= reloc->offset - table_base(view, section, reloc->offset);
	/* The symbol itself says which object is meant, where an address between two objects would not. */
	if (symbol->kind == SYMBOL_OBJECT && view->names[reloc->symbol])
		return name_and_offset(view, view->names[reloc->symbol], (int64_t)(address - symbol->value));
	bool indexed = use == USE_INDEXED;
	/* In sections that the linker merges the symbol says which constant is meant, and the rest is an offset from it. */
	if (view->object->sections[symbol->section].merge && symbol->kind != SYMBOL_SECTION)
		return name_and_offset(view, target_text(view, symbol->section, symbol->value, owner, indexed, depth + 1),
		                       (int64_t)(address - symbol->value));
	return target_text(view, symbol->section, address, owner, indexed, depth + 1);
}

/* Appends to a text that is built in the scratch arena. */
struct builder {
	struct arena *arena;
	char *text;
	size_t used, cap;
};

static void build(struct builder *builder, const char *text)
{
	size_t size = strlen(text);
	if (builder->used + size + 1 > builder->cap) {
		size_t cap = 2 * (builder->used + size + 1);
		builder->text = arena_grow(builder->arena, builder->text, builder->used, cap);
		builder->cap = cap;
	}
	memcpy(builder->text + builder->used, text, size + 1);
	builder->used += size;
}

/* Content of [start, end): bytes, and what its relocations lead to. Zero bytes that may be padding are left off. */
static const char *content_text(struct view *view, size_t section, uint64_t start, uint64_t end, size_t owner,
                                unsigned depth)
{
	const struct object_section *in = &view->object->sections[section];
	size_t reloc = object_reloc_at(view->object, in, start), reloc_end = reloc;
	uint64_t filled = start;
	while (reloc_end < in->reloc_first + in->reloc_count && view->object->relocs[reloc_end].offset < end) {
		const struct object_reloc *r = &view->object->relocs[reloc_end++];
		unsigned size = object_reloc_traits(view->object, r->type).size;
		filled = r->offset + (size ? size : 8);
	}
	if (filled > end)
		filled = end;
	uint64_t most = in->align > 64 ? 63 : in->align - 1;
	while (end > filled && most-- > 0 && (!in->bytes || in->bytes[end - 1] == 0))
		end--;
	struct builder text = {.arena = view->arena};
	if (in->nobits) {
		build(&text, arena_printf(view->arena, "%llu zeros", (unsigned long long)(end - start)));
	} else if (end - start > SHOWN_BYTES) {
		build(&text, arena_printf(view->arena, "%llu bytes %s", (unsigned long long)(end - start),
		                          hash_text(view->arena, in->bytes + start, (size_t)(end - start))));
	} else {
		char hex[3 * SHOWN_BYTES + 1] = "";
		for (uint64_t at = start; at < end; at++)
			snprintf(hex + 2 * (at - start), 3, "%02x", in->bytes[at]);
		build(&text, hex);
	}
	for (; reloc < reloc_end; reloc++) {
		const struct object_reloc *r = &view->object->relocs[reloc];
		build(&text, arena_printf(view->arena, "; %llu: %u %s", (unsigned long long)(r->offset - start), r->type,
		                          reloc_text(view, section, r, 0, owner, USE_DATA, depth)));
	}
	/* As few characters as tell it from everything else. */
	if (text.used > 256)
		return arena_printf(view->arena, "%.64s… %s", text.text, hash_text(view->arena, text.text, text.used));
	return text.text ? text.text : "";
}

static const char *string_text(struct view *view, const struct object_section *in, uint64_t address)
{
	uint64_t unit = in->entsize == 2 || in->entsize == 4 ? in->entsize : 1;
	static const uint8_t zero[4];
	uint64_t start = address / unit * unit;
	while (start >= unit && memcmp(in->bytes + start - unit, zero, unit) != 0)
		start -= unit;
	uint64_t end = address / unit * unit;
	while (end + unit <= in->size && memcmp(in->bytes + end, zero, unit) != 0)
		end += unit;
	struct builder text = {.arena = view->arena};
	build(&text, unit == 1 ? "\"" : unit == 2 ? "u\"" : "U\"");
	for (uint64_t at = start; at < end && at - start < SHOWN_TEXT; at += unit) {
		char c = (char)in->bytes[at];
		if (c == '\n')
			build(&text, "\\n");
		else if (isprint((unsigned char)c) && c != '"' && c != '\\')
			build(&text, (char[]){c, '\0'});
		else
			build(&text, arena_printf(view->arena, "\\x%02x", (unsigned char)c));
	}
	if (end - start > SHOWN_TEXT || unit > 1)
		build(&text, arena_printf(view->arena, "…\" %s",
		                          hash_text(view->arena, in->bytes + start, (size_t)(end - start))));
	else
		build(&text, "\"");
	if (end + unit > in->size)
		build(&text, " unterminated");
	return name_and_offset(view, text.text, (int64_t)(address - start));
}

static size_t instruction_index(const struct entity *entity, uint64_t offset)
{
	size_t low = 0, high = entity->instructions.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (entity->instructions.at[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < entity->instructions.count && entity->instructions.at[low].offset == offset ? low : NONE;
}

/* When objects changed places, an address in one object may be meant as an offset from its neighbour (`array[i - 1]`,
 * the end of an array): then the neighbours are a part of what it means. */
static const char *with_neighbours(struct view *view, const char *text, size_t section, uint64_t address,
                                   const struct entity *entity)
{
	const struct section_state *state = &view->sections[section];
	size_t index = (size_t)(entity - view->entities.at);
	struct builder out = {.arena = view->arena};
	build(&out, text);
	if (index > state->first)
		build(&out, arena_printf(view->arena, " (%s%+lld)", entity[-1].name, (long long)(address - entity[-1].start)));
	if (index + 1 < state->first + state->count)
		build(&out, arena_printf(view->arena, " (%s-%lld)", entity[1].name, (long long)(entity[1].start - address)));
	return out.text;
}

static const char *raw_text(struct view *view, size_t section, uint64_t address, bool certain)
{
	return arena_printf(view->arena, "%s+%lld%s", view->object->sections[section].name, (long long)address,
	                    certain ? "" : view->mark);
}

/* What stands at an address of a section: the same text on both sides only when it is the same thing. */
static const char *target_text(struct view *view, size_t section, uint64_t address, size_t owner, bool indexed,
                               unsigned depth)
{
	const struct object_section *in = &view->object->sections[section];
	const struct section_state *state = &view->sections[section];
	if (depth > DEPTH_MAX)
		return raw_text(view, section, address, state->equal);
	const struct entity *entity = address <= in->size ? entity_at(view, section, address) : NULL;
	if (entity && entity->code) {
		if (address == entity->start)
			return entity->name;
		size_t index = entity->decoded ? instruction_index(entity, address) : NONE;
		if (index != NONE)
			return arena_printf(view->arena, "%s: L%zu", entity->name, index);
		if (entity->decoded)
			return arena_printf(view->arena, "%s: byte %llu", entity->name, (unsigned long long)(address - entity->start));
		return raw_text(view, section, address, state->equal);
	}
	if (in->exec || !in->ordinary)
		return raw_text(view, section, address, state->equal);
	if (!entity && state->read_only_pool && address < in->size) {
		if (in->merge && in->strings && in->bytes)
			return string_text(view, in, address);
		if (in->merge && in->entsize && in->entsize <= 64) {
			uint64_t start = address / in->entsize * in->entsize;
			uint64_t end = in->size - start < in->entsize ? in->size : start + in->entsize;
			const char *content = content_text(view, section, start, end, owner, depth);
			return arena_printf(view->arena, "{%llu: %s}%s", (unsigned long long)in->entsize, content,
			                    address == start ? "" : arena_printf(view->arena, "%+lld", (long long)(address - start)));
		}
		uint64_t end = unnamed_end(view, section, address, owner);
		return arena_printf(view->arena, "{%s}", content_text(view, section, address, end, owner, depth));
	}
	if (!entity && address <= in->size) {
		/* Past the end of an object, or in the padding behind it. */
		size_t before = entities_before(view, section, address);
		if (before)
			entity = &view->entities.at[state->first + before - 1];
	}
	if (!entity)
		return raw_text(view, section, address, state->same_layout && !state->read_only_pool);
	const char *text = name_and_offset(view, entity->name, (int64_t)(address - entity->start));
	if (state->same_layout || (address == entity->start && !indexed))
		return text;
	return with_neighbours(view, text, section, address, entity);
}

/* ---- decoding, and what unnamed data is used by --------------------------------------------------------------------- */

static void place_add(struct view *view, size_t section, uint64_t address, size_t owner)
{
	const struct object_section *in = &view->object->sections[section];
	if (in->ordinary && !in->exec && !in->merge && address < in->size && !entity_at(view, section, address))
		list_push(view->arena, &view->places, ((struct place){section, address, owner}));
}

static void view_find_places(struct view *view)
{
	struct object *object = view->object;
	for (size_t s = 0; s < object->section_count; s++) {
		const struct object_section *section = &object->sections[s];
		if (!section->ordinary || section->implicit_addends)
			continue;
		for (size_t i = section->reloc_first; i < section->reloc_first + section->reloc_count; i++) {
			const struct object_reloc *reloc = &object->relocs[i];
			const struct object_symbol *symbol = &object->symbols[reloc->symbol];
			struct object_reloc_traits traits = object_reloc_traits(object, reloc->type);
			if (leads_by_name(symbol) || !traits.known || (traits.pc_relative && !section->exec))
				continue;
			const struct entity *entity = entity_at(view, s, reloc->offset);
			size_t owner = entity ? (size_t)(entity - view->entities.at) : NONE - 1 - s;
			uint64_t address = symbol->value + (uint64_t)reloc->addend;
			if (traits.pc_relative) {
				uint64_t end = reloc->offset + 4;
				if (entity && entity->decoded) {
					size_t low = 0, high = entity->instructions.count;
					while (low < high) {
						size_t middle = low + (high - low) / 2;
						const struct object_instruction *instruction = &entity->instructions.at[middle];
						if (instruction->offset + instruction->size <= reloc->offset)
							low = middle + 1;
						else
							high = middle;
					}
					if (low < entity->instructions.count)
						end = entity->instructions.at[low].offset + entity->instructions.at[low].size;
				}
				address += end - reloc->offset;
			}
			place_add(view, symbol->section, address, owner);
		}
	}
	if (view->places.count)
		qsort(view->places.at, view->places.count, sizeof *view->places.at, place_order);
	for (size_t i = 0; i < view->places.count;) {
		struct section_state *state = &view->sections[view->places.at[i].section];
		state->place_first = i;
		while (i < view->places.count && &view->sections[view->places.at[i].section] == state) {
			state->place_count++;
			i++;
		}
	}
}

static void view_decode(struct view *view)
{
	for (size_t i = 0; i < view->entities.count; i++) {
		struct entity *entity = &view->entities.at[i];
		if (entity->code)
			entity->decoded = object_decode(view->object, &view->object->sections[entity->section], entity->start,
			                                entity->end, view->arena, &entity->instructions);
	}
	view_find_places(view);
}

/* ---- functions ------------------------------------------------------------------------------------------------------ */

enum { OPERANDS_MAX = 3 };

struct operands {
	struct object_operand_text at[OPERANDS_MAX];
	uint32_t type[OPERANDS_MAX]; /* of the relocation; UINT32_MAX: none */
	size_t count;
	bool overflow;
};

static void operands_add(struct operands *operands, unsigned field_offset, uint32_t type, const char *text)
{
	if (operands->count == OPERANDS_MAX) {
		operands->overflow = true;
		return;
	}
	operands->at[operands->count] = (struct object_operand_text){field_offset, text};
	operands->type[operands->count++] = type;
}

/* The references of one instruction, in the order of its bytes. */
static void operands_of(struct view *view, const struct entity *entity, const struct object_instruction *instruction,
                        struct operands *ret)
{
	const struct object_section *section = &view->object->sections[entity->section];
	size_t owner = (size_t)(entity - view->entities.at);
	ret->count = 0;
	ret->overflow = false;
	uint64_t end = instruction->offset + instruction->size;
	size_t last = section->reloc_first + section->reloc_count;
	for (size_t i = object_reloc_at(view->object, section, instruction->offset);
	     i < last && view->object->relocs[i].offset < end; i++) {
		const struct object_reloc *reloc = &view->object->relocs[i];
		bool pc_relative = object_reloc_traits(view->object, reloc->type).pc_relative;
		int64_t adjust = pc_relative ? (int64_t)(end - reloc->offset) : 0;
		unsigned field_offset = (unsigned)(reloc->offset - instruction->offset);
		enum use use = USE_CODE;
		if (!pc_relative && !leads_by_name(&view->object->symbols[reloc->symbol])) {
			const struct object_operand_text mark = {field_offset, "@"};
			if (strstr(object_instruction_text(view->object, section, instruction, &mark, 1, view->arena), "@("))
				use = USE_INDEXED;
		}
		operands_add(ret, field_offset, reloc->type,
		             reloc_text(view, entity->section, reloc, adjust, owner, use, 0));
	}
	if (instruction->operand == OPERAND_NONE)
		return;
	const char *text = NULL;
	uint64_t target = instruction->target;
	size_t index = target >= entity->start && target < entity->end ? instruction_index(entity, target) : NONE;
	if (index != NONE)
		text = arena_printf(view->arena, "L%zu", index);
	else if (instruction->field_size && target <= section->size)
		text = target_text(view, entity->section, target, owner, false, 0);
	else
		text = raw_text(view, entity->section, target, view->sections[entity->section].equal);
	operands_add(ret, instruction->field_offset, UINT32_MAX, text);
}

static bool instructions_equal(struct view *a, const struct entity *left, const struct object_instruction *x,
                               struct view *b, const struct entity *right, const struct object_instruction *y)
{
	if (x->size != y->size || x->operand != y->operand || x->field_offset != y->field_offset ||
	    x->field_size != y->field_size)
		return false;
	const uint8_t *x_bytes = a->object->sections[left->section].bytes + x->offset;
	const uint8_t *y_bytes = b->object->sections[right->section].bytes + y->offset;
	size_t field = x->operand == OPERAND_NONE ? x->size : x->field_offset;
	size_t field_end = x->operand == OPERAND_NONE ? x->size : field + x->field_size;
	if (memcmp(x_bytes, y_bytes, field) != 0 ||
	    memcmp(x_bytes + field_end, y_bytes + field_end, x->size - field_end) != 0)
		return false;
	struct operands x_operands, y_operands;
	operands_of(a, left, x, &x_operands);
	operands_of(b, right, y, &y_operands);
	if (x_operands.count != y_operands.count || x_operands.overflow || y_operands.overflow)
		return false;
	for (size_t i = 0; i < x_operands.count; i++)
		if (x_operands.at[i].field_offset != y_operands.at[i].field_offset || x_operands.type[i] != y_operands.type[i] ||
		    !text_equal(x_operands.at[i].text, y_operands.at[i].text))
			return false;
	return true;
}

static unsigned instruction_count(const struct entity *entity)
{
	unsigned count = 0;
	for (size_t i = 0; i < entity->instructions.count; i++)
		count += !entity->instructions.at[i].padding;
	return count;
}

static const char *instruction_text(struct view *view, const struct entity *entity, size_t index)
{
	if (index >= entity->instructions.count)
		return "nothing";
	const struct object_instruction *instruction = &entity->instructions.at[index];
	if (instruction->padding)
		return arena_printf(view->arena, "%u bytes of padding", instruction->size);
	struct operands operands;
	operands_of(view, entity, instruction, &operands);
	const char *text = object_instruction_text(view->object, &view->object->sections[entity->section], instruction,
	                                           operands.at, operands.count, view->arena);
	/* An operand that the syntax does not show is still a part of the difference. */
	for (size_t i = 0; i < operands.count; i++)
		if (!strstr(text, operands.at[i].text))
			text = arena_printf(view->arena, "%s [%s]", text, operands.at[i].text);
	return text;
}

/* ".text.unlikely.foo" to ".text.unlikely" for foo: where functions of this temperature go. */
static const char *section_kind(struct view *view, const struct entity *entity)
{
	const char *name = view->object->sections[entity->section].name;
	const char *symbol = entity->symbol == NONE ? "" : view->object->symbols[entity->symbol].name;
	size_t name_size = strlen(name), symbol_size = strlen(symbol);
	if (symbol_size && name_size > symbol_size + 1 && text_ends(name, symbol) && name[name_size - symbol_size - 1] == '.')
		return arena_strndup(view->arena, name, name_size - symbol_size - 1);
	return name;
}

static const char *binding_text(const struct object_symbol *symbol)
{
	if (symbol->kind == SYMBOL_IFUNC)
		return "an indirect function";
	if (symbol->binding == BINDING_LOCAL)
		return "static";
	if (symbol->binding == BINDING_WEAK)
		return "weak";
	return symbol->visibility == 0 ? "global" : symbol->visibility == 3 ? "protected" : "hidden";
}

static const char *instruction_bytes(struct view *view, const struct entity *entity, size_t index)
{
	const struct object_instruction *instruction = &entity->instructions.at[index];
	const uint8_t *bytes = view->object->sections[entity->section].bytes + instruction->offset;
	char hex[2 * 16 + 1] = "";
	for (size_t i = 0; i < instruction->size && i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	return arena_strdup(view->arena, hex);
}

/* The two instructions at one place; encodings that read the same are told apart by their bytes. */
static const char *instructions_text(struct view *a, const struct entity *left, struct view *b,
                                     const struct entity *right, size_t index)
{
	const char *was = instruction_text(a, left, index), *is = instruction_text(b, right, index);
	if (text_equal(was, is) && index < left->instructions.count && index < right->instructions.count)
		return arena_printf(a->arena, "%s (encoded as %s) | %s (encoded as %s)", was, instruction_bytes(a, left, index), is,
		                    instruction_bytes(b, right, index));
	return arena_printf(a->arena, "%s | %s", was, is);
}

/* The first difference of two functions; NULL: equal. */
static const char *function_difference(struct view *a, const struct named *x, struct view *b, const struct named *y)
{
	const struct entity *left = &a->entities.at[x->entity], *right = &b->entities.at[y->entity];
	struct arena *arena = a->arena;
	if (x->symbol != NONE && y->symbol != NONE) {
		const char *was = binding_text(&a->object->symbols[x->symbol]), *is = binding_text(&b->object->symbols[y->symbol]);
		if (!text_equal(was, is))
			return arena_printf(arena, "%s | %s", was, is);
		was = section_kind(a, left);
		is = section_kind(b, right);
		if (!text_equal(was, is))
			return arena_printf(arena, "in %s | in %s", was, is);
	}
	if (!left->decoded || !right->decoded) {
		bool known = a->sections[left->section].equal && b->sections[right->section].equal;
		return known ? NULL : "instructions that can't be decoded | instructions that can't be decoded";
	}
	size_t count = left->instructions.count;
	if (right->instructions.count > count)
		count = right->instructions.count;
	for (size_t i = 0; i < count; i++) {
		bool both = i < left->instructions.count && i < right->instructions.count;
		if (!both || !instructions_equal(a, left, &left->instructions.at[i], b, right, &right->instructions.at[i]))
			return instructions_text(a, left, b, right, i);
	}
	return NULL;
}

static const char *shown_name(const struct view *view, const struct named *named)
{
	return named->symbol == NONE ? named->name : view->object->symbols[named->symbol].name;
}

struct output {
	const char *unit;
	struct arena *arena;
	struct code_difference *difference;
};

static void function_report(const struct output *out, const char *name, enum change change, const struct entity *left,
                            const struct entity *right, const char *first)
{
	struct function_change entry = {.unit = out->unit, .name = arena_strdup(out->arena, name), .change = change,
	                                .baseline_instructions = left ? instruction_count(left) : 0,
	                                .candidate_instructions = right ? instruction_count(right) : 0,
	                                .first = arena_strdup(out->arena, first)};
	list_push(out->arena, &out->difference->changed, entry);
	out->difference->differ = true;
}

/* Walks two lists that are sorted by name; `both` false: only names of one side are left. */
static int names_step(const struct named_list *x, size_t i, const struct named_list *y, size_t k)
{
	if (i == x->count)
		return 1;
	if (k == y->count)
		return -1;
	return strcmp(x->at[i].name, y->at[k].name);
}

static void functions_compare(struct view *a, struct view *b, const struct output *out, bool thorough)
{
	for (size_t i = 0, k = 0; i < a->functions.count || k < b->functions.count;) {
		int step = names_step(&a->functions, i, &b->functions, k);
		if (step < 0) {
			const struct named *x = &a->functions.at[i++];
			function_report(out, shown_name(a, x), CHANGE_REMOVED, &a->entities.at[x->entity], NULL, NULL);
		} else if (step > 0) {
			const struct named *y = &b->functions.at[k++];
			function_report(out, shown_name(b, y), CHANGE_ADDED, NULL, &b->entities.at[y->entity], NULL);
		} else {
			const struct named *x = &a->functions.at[i++], *y = &b->functions.at[k++];
			const struct entity *left = &a->entities.at[x->entity], *right = &b->entities.at[y->entity];
			out->difference->functions++;
			bool known_equal = !thorough && a->sections[left->section].equal && b->sections[right->section].equal &&
			                   x->symbol != NONE && y->symbol != NONE &&
			                   a->object->symbols[x->symbol].binding == b->object->symbols[y->symbol].binding &&
			                   a->object->symbols[x->symbol].kind == b->object->symbols[y->symbol].kind &&
			                   a->object->symbols[x->symbol].visibility == b->object->symbols[y->symbol].visibility &&
			                   left->start == right->start && left->end == right->end &&
			                   a->sections[left->section].partner == right->section;
			const char *first = known_equal ? NULL : function_difference(a, x, b, y);
			if (first)
				function_report(out, shown_name(a, x), CHANGE_CHANGED, left, right, first);
		}
	}
}

/* ---- data ------------------------------------------------------------------------------------------------------------ */

static void data_report(const struct output *out, const char *name, const char *what)
{
	struct named_change entry = {.unit = out->unit, .name = arena_strdup(out->arena, name),
	                             .what = arena_strdup(out->arena, what)};
	list_push(out->arena, &out->difference->data, entry);
	out->difference->differ = true;
}

/* Where a data object may stand: beyond the 64 bytes of a cache line nothing is looked at. */
static uint64_t alignment_of(const struct view *view, const struct named *named)
{
	const struct object_symbol *symbol = &view->object->symbols[named->symbol];
	uint64_t align = symbol->place == PLACE_COMMON ? symbol->value : view->object->sections[symbol->section].align;
	uint64_t at = symbol->place == PLACE_COMMON ? 0 : symbol->value;
	uint64_t place = at ? at & -at : 64;
	align = align < place ? align : place;
	return align < 64 ? align : 64;
}

static const char *data_kind(const struct view *view, const struct named *named)
{
	const struct object_symbol *symbol = &view->object->symbols[named->symbol];
	if (symbol->place == PLACE_COMMON)
		return "common";
	const struct object_section *section = &view->object->sections[symbol->section];
	static const char *const standard[] = {".data.rel.ro", ".data", ".bss", ".rodata", ".tdata", ".tbss", ".ldata", ".lbss",
	                                       ".lrodata"};
	for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
		if (text_starts(section->name, standard[i]) &&
		    (section->name[strlen(standard[i])] == '.' || section->name[strlen(standard[i])] == '\0'))
			return standard[i];
	return section->name;
}

static const char *bytes_shown(struct view *view, const struct object_section *section, uint64_t at, uint64_t end)
{
	char hex[2 * 8 + 1] = "";
	for (uint64_t i = at; i < end && i < at + 8; i++)
		snprintf(hex + 2 * (i - at), 3, "%02x", section->bytes ? section->bytes[i] : 0);
	return arena_strdup(view->arena, hex);
}

/* The first difference in content of two ranges of equal size; NULL: none. */
static const char *content_difference(struct view *a, const struct entity *left, struct view *b,
                                      const struct entity *right)
{
	const struct object_section *x = &a->object->sections[left->section], *y = &b->object->sections[right->section];
	uint64_t size = left->end - left->start;
	if (!(x->nobits && y->nobits))
		for (uint64_t i = 0; i < size; i++) {
			uint8_t was = x->bytes ? x->bytes[left->start + i] : 0, is = y->bytes ? y->bytes[right->start + i] : 0;
			if (was != is)
				return arena_printf(a->arena, "content from byte %llu: %s, was %s", (unsigned long long)i,
				                    bytes_shown(b, y, right->start + i, right->end),
				                    bytes_shown(a, x, left->start + i, left->end));
		}
	size_t i = object_reloc_at(a->object, x, left->start), k = object_reloc_at(b->object, y, right->start);
	size_t i_end = object_reloc_at(a->object, x, left->end), k_end = object_reloc_at(b->object, y, right->end);
	size_t x_owner = (size_t)(left - a->entities.at), y_owner = (size_t)(right - b->entities.at);
	for (; i < i_end || k < k_end; i++, k++) {
		const struct object_reloc *was = i < i_end ? &a->object->relocs[i] : NULL;
		const struct object_reloc *is = k < k_end ? &b->object->relocs[k] : NULL;
		const char *was_text = was ? reloc_text(a, left->section, was, 0, x_owner, USE_DATA, 0) : "nothing";
		const char *is_text = is ? reloc_text(b, right->section, is, 0, y_owner, USE_DATA, 0) : "nothing";
		if (!was || !is || was->offset - left->start != is->offset - right->start || was->type != is->type ||
		    !text_equal(was_text, is_text))
			return arena_printf(a->arena, "content at byte %llu: %s, was %s",
			                    (unsigned long long)(was ? was->offset - left->start : is->offset - right->start), is_text,
			                    was_text);
	}
	return NULL;
}

static void data_pair_compare(struct view *a, const struct named *x, struct view *b, const struct named *y,
                              const struct output *out)
{
	const struct object_symbol *was = &a->object->symbols[x->symbol], *is = &b->object->symbols[y->symbol];
	struct string_list what = {0};
	struct arena *arena = a->arena;
	if (!text_equal(binding_text(was), binding_text(is)))
		list_push(arena, &what, arena_printf(arena, "%s, was %s", binding_text(is), binding_text(was)));
	if (!text_equal(data_kind(a, x), data_kind(b, y)))
		list_push(arena, &what, arena_printf(arena, "in %s, was in %s", data_kind(b, y), data_kind(a, x)));
	if (was->size != is->size)
		list_push(arena, &what, arena_printf(arena, "size %llu, was %llu", (unsigned long long)is->size,
		                                     (unsigned long long)was->size));
	if (alignment_of(a, x) != alignment_of(b, y))
		list_push(arena, &what, arena_printf(arena, "alignment %llu, was %llu", (unsigned long long)alignment_of(b, y),
		                                     (unsigned long long)alignment_of(a, x)));
	if (x->entity != NONE && y->entity != NONE) {
		const struct entity *left = &a->entities.at[x->entity], *right = &b->entities.at[y->entity];
		const char *content = left->end - left->start == right->end - right->start
		                          ? content_difference(a, left, b, right)
		                          : was->size == is->size ? "another extent" : NULL;
		if (content)
			list_push(arena, &what, content);
	}
	if (what.count)
		data_report(out, was->name, text_join(arena, &what, "; "));
}

/* A name that is there on one side only; `paired`: its counterpart has another canonical name. */
static void data_compare(struct view *a, struct view *b, const struct output *out)
{
	struct named_list removed = {0}, added = {0};
	for (size_t i = 0, k = 0; i < a->data.count || k < b->data.count;) {
		int step = names_step(&a->data, i, &b->data, k);
		if (step < 0)
			list_push(a->arena, &removed, a->data.at[i++]);
		else if (step > 0)
			list_push(a->arena, &added, b->data.at[k++]);
		else
			data_pair_compare(a, &a->data.at[i++], b, &b->data.at[k++], out);
	}
	/* Constants are named after their content: what is left over with the same base name has changed. */
	bool *used = arena_alloc(a->arena, added.count * sizeof *used);
	for (size_t i = 0; i < removed.count; i++) {
		const char *name = shown_name(a, &removed.at[i]);
		const char *base = name_base(a->arena, name);
		size_t found = NONE;
		for (size_t k = 0; k < added.count && found == NONE; k++)
			if (!used[k] && text_equal(base, name_base(a->arena, shown_name(b, &added.at[k]))))
				found = k;
		size_t before = out->difference->data.count;
		if (found != NONE) {
			used[found] = true;
			data_pair_compare(a, &removed.at[i], b, &added.at[found], out);
		}
		if (out->difference->data.count == before)
			data_report(out, name, found == NONE ? "removed" : "another of the same name");
	}
	for (size_t k = 0; k < added.count; k++)
		if (!used[k])
			data_report(out, shown_name(b, &added.at[k]), "added");
}

/* ---- unnamed data: the safety net -------------------------------------------------------------------------------------- */

/* Unnamed constants are compared where they are used. That nothing else is masked, all of them together must be equal
 * too: as a multiset for pools of constants, in order for everything else (.init_array, tables of the program's own). */

static bool all_zero(const struct object *object, const struct object_section *section, uint64_t start, uint64_t end)
{
	size_t reloc = object_reloc_at(object, section, start);
	if (reloc < section->reloc_first + section->reloc_count && object->relocs[reloc].offset < end)
		return false;
	for (uint64_t i = start; i < end && section->bytes; i++)
		if (section->bytes[i])
			return false;
	return true;
}

static void pool_add_region(struct view *view, size_t section, uint64_t start, uint64_t end, struct string_list *pool)
{
	const struct object_section *in = &view->object->sections[section];
	if (in->merge && in->strings) {
		uint64_t unit = in->entsize == 2 || in->entsize == 4 ? in->entsize : 1;
		static const uint8_t zero[4];
		for (uint64_t at = start; at < end;) {
			list_push(view->arena, pool, string_text(view, in, at));
			while (at + unit <= end && memcmp(in->bytes + at, zero, unit) != 0)
				at += unit;
			at += unit;
		}
		return;
	}
	if (in->merge && in->entsize) {
		for (uint64_t at = start; at < end; at += in->entsize) {
			uint64_t until = end - at < in->entsize ? end : at + in->entsize;
			list_push(view->arena, pool, arena_printf(view->arena, "{%llu: %s}", (unsigned long long)in->entsize,
			                                          content_text(view, section, at, until, NONE, 0)));
		}
		return;
	}
	const struct section_state *state = &view->sections[section];
	for (uint64_t at = start; at < end;) {
		size_t place = places_before(view, section, at), owner = NONE;
		if (place < state->place_count && view->places.at[state->place_first + place].address == at)
			owner = view->places.at[state->place_first + place].owner;
		uint64_t until = unnamed_end(view, section, at, owner);
		if (until > end || until <= at)
			until = end;
		if (owner != NONE || !all_zero(view->object, in, at, until))
			list_push(view->arena, pool, arena_printf(view->arena, "{%s}", content_text(view, section, at, until, owner, 0)));
		at = until;
	}
}

static void unnamed_collect(struct view *view, size_t section, struct string_list *pool)
{
	const struct object_section *in = &view->object->sections[section];
	const struct section_state *state = &view->sections[section];
	uint64_t at = 0;
	for (size_t k = 0; k <= state->count; k++) {
		bool last = k == state->count;
		const struct entity *entity = last ? NULL : &view->entities.at[state->first + k];
		uint64_t until = last ? in->size : entity->start;
		if (until > at) {
			if (state->read_only_pool)
				pool_add_region(view, section, at, until, pool);
			else if (!all_zero(view->object, in, at, until) || (state->count == 0 && in->size))
				list_push(view->arena, pool, content_text(view, section, at, until, NONE, 0));
		}
		if (!last && entity->end > at)
			at = entity->end;
	}
}

static void pools_compare(struct view *a, struct view *b, const struct output *out)
{
	enum { REPORTED_MAX = 8 };
	struct view *views[2] = {a, b};
	struct string_list pools[2] = {{0}, {0}};
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < views[side]->object->section_count; i++)
			if (views[side]->sections[i].compared && views[side]->sections[i].read_only_pool)
				unnamed_collect(views[side], i, &pools[side]);
		if (pools[side].count)
			qsort(pools[side].at, pools[side].count, sizeof *pools[side].at, text_order);
	}
	unsigned reported = 0, left_out = 0;
	for (size_t i = 0, k = 0; i < pools[0].count || k < pools[1].count;) {
		int step = i == pools[0].count ? 1 : k == pools[1].count ? -1 : strcmp(pools[0].at[i], pools[1].at[k]);
		const char *text = step < 0 ? pools[0].at[i] : k < pools[1].count ? pools[1].at[k] : "";
		i += step <= 0;
		k += step >= 0;
		if (step == 0)
			continue;
		if (reported++ < REPORTED_MAX)
			data_report(out, "constant", arena_printf(a->arena, "%s %s", text, step < 0 ? "removed" : "added"));
		else
			left_out++;
	}
	if (left_out)
		data_report(out, "constants", arena_printf(a->arena, "%u more removed or added", left_out));
}

/* Sections that aren't pools of constants: their unnamed contents in order, and what was asked for their alignment. */
static void sections_report(struct view *a, struct view *b, const struct output *out)
{
	for (size_t i = 0; i < a->object->section_count; i++) {
		const struct object_section *section = &a->object->sections[i];
		size_t k = a->sections[i].partner;
		struct string_list was = {0}, is = {0};
		if (a->sections[i].equal || !a->object->sections[i].ordinary || text_starts(section->name, ".eh_frame"))
			continue;
		if (k != NONE && section->align != b->object->sections[k].align && section->size && b->object->sections[k].size)
			data_report(out, section->name,
			            arena_printf(a->arena, "alignment %llu, was %llu", (unsigned long long)b->object->sections[k].align,
			                         (unsigned long long)section->align));
		if (a->sections[i].read_only_pool || section->exec)
			continue;
		unnamed_collect(a, i, &was);
		if (k != NONE)
			unnamed_collect(b, k, &is);
		if (!text_equal(text_join(a->arena, &was, "\n"), text_join(a->arena, &is, "\n")))
			data_report(out, section->name, k == NONE ? "removed" : "unnamed content differs");
	}
	for (size_t k = 0; k < b->object->section_count; k++) {
		const struct object_section *section = &b->object->sections[k];
		struct string_list is = {0};
		if (b->sections[k].partner != NONE || !b->sections[k].compared || b->sections[k].read_only_pool || section->exec)
			continue;
		unnamed_collect(b, k, &is);
		if (is.count)
			data_report(out, section->name, "added");
	}
}

static bool commons_equal(const struct view *a, const struct view *b)
{
	size_t i = 0, k = 0;
	for (;; i++, k++) {
		while (i < a->data.count && a->data.at[i].entity != NONE)
			i++;
		while (k < b->data.count && b->data.at[k].entity != NONE)
			k++;
		if (i == a->data.count || k == b->data.count)
			return i == a->data.count && k == b->data.count;
		const struct object_symbol *x = &a->object->symbols[a->data.at[i].symbol];
		const struct object_symbol *y = &b->object->symbols[b->data.at[k].symbol];
		if (!text_equal(x->name, y->name) || x->size != y->size || x->value != y->value)
			return false;
	}
}

/* Every section and every symbol is the same. */
static bool objects_identical(const struct view *a, const struct view *b)
{
	for (int side = 0; side < 2; side++) {
		const struct view *view = side ? b : a;
		for (size_t i = 0; i < view->object->section_count; i++)
			if (view->sections[i].compared && !view->sections[i].equal)
				return false;
	}
	if (!commons_equal(a, b) || a->functions.count != b->functions.count || a->data.count != b->data.count)
		return false;
	for (int list = 0; list < 2; list++) {
		const struct named_list *x = list ? &a->data : &a->functions, *y = list ? &b->data : &b->functions;
		for (size_t i = 0; i < x->count; i++) {
			if (!text_equal(x->at[i].name, y->at[i].name) || (x->at[i].symbol == NONE) != (y->at[i].symbol == NONE))
				return false;
			if (x->at[i].symbol == NONE)
				continue;
			const struct object_symbol *was = &a->object->symbols[x->at[i].symbol];
			const struct object_symbol *is = &b->object->symbols[y->at[i].symbol];
			if (was->binding != is->binding || was->kind != is->kind || was->visibility != is->visibility ||
			    was->size != is->size || was->value != is->value)
				return false;
		}
	}
	return true;
}

void object_compare(struct object *baseline, struct object *candidate, const char *unit, bool thorough,
                    struct arena *arena, struct code_difference *difference)
{
	struct arena scratch;
	arena_init(&scratch);
	struct view a, b;
	struct output out = {.unit = unit, .arena = arena, .difference = difference};
	if (baseline->machine != candidate->machine || baseline->wide != candidate->wide ||
	    baseline->little_endian != candidate->little_endian) {
		data_report(&out, unit, "made for another machine");
		return;
	}
	view_init(&a, baseline, " (baseline)", &scratch);
	view_init(&b, candidate, " (candidate)", &scratch);
	sections_compare(&a, &b);
	if (!thorough && objects_identical(&a, &b)) {
		difference->functions += (unsigned)a.functions.count;
	} else {
		view_decode(&a);
		view_decode(&b);
		functions_compare(&a, &b, &out, thorough);
		data_compare(&a, &b, &out);
		pools_compare(&a, &b, &out);
		sections_report(&a, &b, &out);
	}
	arena_release(&scratch);
}
