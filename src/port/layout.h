/* Layouts: programs of the same objects at other addresses.
 *
 * A layout is a link with a script that puts the sections of the objects (code, read-only data, data, zeroed data) in a
 * random order and each at a random offset. The objects are not touched, so neither is any instruction but for the
 * addresses in it. GNU ld and LLVM's lld take such a script; gold and mold do not. The idea of drawing the layout anew to
 * see what of an effect is due to it: Curtsinger and Berger, "Stabilizer", ASPLOS 2013; of link order: Mytkowicz and
 * others, "Producing wrong data without doing anything obviously wrong!", ASPLOS 2009.
 */
#ifndef ASSAY_PORT_LAYOUT_H
#define ASSAY_PORT_LAYOUT_H

#include "base/err.h"
#include "model/variant.h"

#include <signal.h>
#include <stdint.h>

/* What of an object's sections is moved. */
enum layout_kind { LAYOUT_CODE, LAYOUT_CONST, LAYOUT_DATA, LAYOUT_ZERO, LAYOUT_KINDS };

struct layout_piece {
	enum layout_kind kind;
	size_t object;    /* its place among the recipe's objects: the same piece of another variant has the same */
	const char *path; /* of the object */
	const char *section;
	uint64_t align; /* that the section asks for, at least 1 */
};
LIST_OF(struct layout_piece, layout_piece_list);

struct layout {
	const struct link_recipe *recipe;
	struct layout_piece_list pieces;
	size_t count[LAYOUT_KINDS]; /* pieces of each kind */
};

/* Reads the objects' section tables. ST_INPUT: an object can't be read, or nothing in them can be moved. */
MUST_CHECK enum status layout_open(struct arena *arena, const struct link_recipe *recipe, struct layout *ret_layout,
                                   struct err *err);
/* The linker script of a seed. The order and offset of a piece follow from seed, object and section name alone, so that
 * two variants of a program have their common pieces at the same offsets, whatever else differs. Pure. */
char *layout_script(struct arena *arena, const struct layout *layout, uint64_t seed);
/* Links the program `output`; the script is written beside it. ST_INPUT: the linker refused, with what it said.
 * ST_TIMEOUT, ST_INTERRUPTED as named. */
MUST_CHECK enum status layout_link(struct arena *arena, const struct layout *layout, uint64_t seed, const char *output,
                                   double timeout_s, const volatile sig_atomic_t *interrupted, struct err *err);

#endif
