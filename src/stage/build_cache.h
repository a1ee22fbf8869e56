/* Which objects of earlier runs a unit may take in place of being compiled; build.c's own. */
#ifndef ASSAY_STAGE_BUILD_CACHE_H
#define ASSAY_STAGE_BUILD_CACHE_H

#include "model/session.h"
#include "model/variant.h"

/* The key of everything that the unit's object depends on: the compiler and the assembler as they are installed, the options,
 * the folder, and the preprocessed text, all without the names of this run's private copies. NULL: it depends on more than that
 * or nobody can tell, and the unit is to be compiled. */
const char *unit_key(struct session *session, const struct variant *variant, const struct unit *unit);

#endif
