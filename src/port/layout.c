#include "port/layout.h"

#include "base/stat.h"
#include "base/text.h"
#include "port/object.h"
#include "port/proc.h"
#include "port/tree.h"

#include <stdlib.h>
#include <string.h>

enum {
	PAGE = 4096, /* up to here an offset decides which cache set and which branch predictor entry is used */
	LINE = 64,
	PIECES_PAGED_MAX = 64, /* with more of them, a page for each would make the program sparser than any real one */
	SAID_LINES = 5,
};

/* ---- what can be moved --------------------------------------------------------------------------------------------- */

static bool is_or_under(const char *name, const char *prefix)
{
	size_t size = strlen(prefix);
	return strncmp(name, prefix, size) == 0 && (name[size] == '\0' || name[size] == '.');
}

/* Cold code stays where the linker puts it, apart from the hot: moving it between would be a layout that no build has.
 * Strings that are merged have no place of their own, and thread-local and relocated-once data need theirs. */
static bool section_kind(const struct object_section *section, enum layout_kind *ret_kind)
{
	const char *name = section->name;
	if (!section->alloc || section->tls || section->size == 0)
		return false;
	if (section->exec) {
		*ret_kind = LAYOUT_CODE;
		return is_or_under(name, ".text") && !is_or_under(name, ".text.unlikely") && !is_or_under(name, ".text.startup") &&
		       !is_or_under(name, ".text.exit");
	}
	if (!section->write) {
		*ret_kind = LAYOUT_CONST;
		return is_or_under(name, ".rodata") && !section->merge;
	}
	*ret_kind = section->nobits ? LAYOUT_ZERO : LAYOUT_DATA;
	return section->nobits ? is_or_under(name, ".bss")
	                       : is_or_under(name, ".data") && !is_or_under(name, ".data.rel");
}

enum status layout_open(struct arena *arena, const struct link_recipe *recipe, struct layout *ret_layout, struct err *err)
{
	*ret_layout = (struct layout){.recipe = recipe};
	for (size_t i = 0; i < recipe->objects.count; i++) {
		struct object *object = NULL;
		enum status status = object_open(recipe->objects.at[i], &object, err);
		if (status != ST_OK)
			return status;
		for (size_t k = 0; k < object->section_count; k++) {
			const struct object_section *section = &object->sections[k];
			struct layout_piece piece = {.object = i, .path = recipe->objects.at[i],
			                             .align = section->align ? section->align : 1};
			if (!section_kind(section, &piece.kind))
				continue;
			piece.section = arena_strdup(arena, section->name);
			list_push(arena, &ret_layout->pieces, piece);
			ret_layout->count[piece.kind]++;
		}
		object_free(object);
	}
	if (ret_layout->count[LAYOUT_CODE] == 0)
		return err_set(err, ST_INPUT, "no layout can be made: the objects hold no code in .text sections");
	return ST_OK;
}

/* ---- the script ---------------------------------------------------------------------------------------------------- */

struct placed {
	const struct layout_piece *piece;
	uint64_t key;
	uint64_t offset, within; /* from a multiple of `within` */
};

static int placed_order(const void *a, const void *b)
{
	const struct placed *one = a, *two = b;
	if (one->key != two->key)
		return one->key < two->key ? -1 : 1;
	return one->piece < two->piece ? -1 : one->piece > two->piece;
}

static struct placed piece_place(const struct layout *layout, const struct layout_piece *piece, uint64_t seed)
{
	struct rng rng;
	uint64_t name = text_hash(piece->section, strlen(piece->section), seed ^ TEXT_HASH_SEED);
	rng_seed(&rng, name + piece->object);
	struct placed placed = {.piece = piece, .key = rng_next(&rng)};
	placed.within = layout->count[piece->kind] <= PIECES_PAGED_MAX ? PAGE : LINE;
	/* Steps that a linker could take: the section's own alignment. */
	uint64_t steps = placed.within / piece->align;
	placed.offset = steps > 1 ? rng_next(&rng) % steps * piece->align : 0;
	return placed;
}

char *layout_script(struct arena *arena, const struct layout *layout, uint64_t seed)
{
	static const struct {
		const char *name, *before;
	} outputs[LAYOUT_KINDS] = {[LAYOUT_CODE] = {".text_layout", ".text"},
	                           [LAYOUT_CONST] = {".rodata_layout", ".rodata"},
	                           [LAYOUT_DATA] = {".data_layout", ".data"},
	                           [LAYOUT_ZERO] = {".bss_layout (NOLOAD)", ".bss"}};
	struct placed *placed = arena_alloc(arena, (layout->pieces.count + 1) * sizeof *placed);
	struct string_list lines = {0};
	for (unsigned kind = 0; kind < LAYOUT_KINDS; kind++) {
		size_t count = 0;
		for (size_t i = 0; i < layout->pieces.count; i++)
			if (layout->pieces.at[i].kind == (enum layout_kind)kind)
				placed[count++] = piece_place(layout, &layout->pieces.at[i], seed);
		if (count == 0)
			continue;
		qsort(placed, count, sizeof *placed, placed_order);
		list_push(arena, &lines, arena_printf(arena, "SECTIONS\n{\n  %s :\n  {", outputs[kind].name));
		for (size_t i = 0; i < count; i++)
			list_push(arena, &lines,
			          arena_printf(arena, "    . = ALIGN(%llu) + %llu; \"%s\"(%s)", (unsigned long long)placed[i].within,
			                       (unsigned long long)placed[i].offset, placed[i].piece->path, placed[i].piece->section));
		list_push(arena, &lines, arena_printf(arena, "  }\n}\nINSERT BEFORE %s;\n", outputs[kind].before));
	}
	return text_join(arena, &lines, "\n");
}

/* ---- linking ------------------------------------------------------------------------------------------------------- */

enum status layout_link(struct arena *arena, const struct layout *layout, uint64_t seed, const char *output,
                        double timeout_s, const volatile sig_atomic_t *interrupted, struct err *err)
{
	const char *script = arena_printf(arena, "%s.ld", output);
	const char *text = layout_script(arena, layout, seed);
	enum status status = file_write(script, text, strlen(text), err);
	if (status != ST_OK)
		return status;
	struct proc_request request = {
	    .directory = layout->recipe->directory, .timeout_s = timeout_s, .cpu = -1, .interrupted = interrupted};
	for (size_t i = 0; i < layout->recipe->argv.count; i++)
		list_push(arena, &request.argv, layout->recipe->argv.at[i]);
	const char *const added[] = {"-T", script, "-o", output};
	for (size_t i = 0; i < sizeof added / sizeof *added; i++)
		list_push(arena, &request.argv, added[i]);
	struct proc_result result;
	status = proc_run(arena, &request, &result, err);
	if (status != ST_OK)
		return status;
	if (result.end == PROC_INTERRUPTED)
		return err_set(err, ST_INTERRUPTED, "interrupted");
	if (result.end == PROC_TIMED_OUT)
		return err_set(err, ST_TIMEOUT, "linking a layout took more than %.3g s", timeout_s);
	if (!proc_ok(&result))
		return err_set(err, ST_INPUT, "a layout can't be linked (%s): %s: give GNU ld or lld (-fuse-ld=), or leave out --layouts",
		               proc_describe(arena, &request, &result), text_tail(arena, result.err, SAID_LINES));
	return ST_OK;
}
