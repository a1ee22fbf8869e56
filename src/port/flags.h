/* Words of recorded compile commands: which of them no compiler that we start may see. */
#ifndef ASSAY_PORT_FLAGS_H
#define ASSAY_PORT_FLAGS_H

#include "base/arena.h"

/* How many words beginning with words[0] are to be left out; 0: none. */
size_t flag_strip(const char *const *words, size_t count);
/* All words but those. */
struct string_list flags_kept(struct arena *arena, const struct string_list *words);

#endif
