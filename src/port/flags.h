/* Words of recorded compile commands: which of them no compiler that we start may see. */
#ifndef ASSAY_PORT_FLAGS_H
#define ASSAY_PORT_FLAGS_H

#include "base/arena.h"
#include "model/compdb.h"

/* How many words beginning with words[0] are to be left out; 0: none. The others load and run no code of the project and
 * write nothing, each whether it is taken for an option or for another option's value. */
size_t flag_strip(const char *const *words, size_t count);
/* All words but those. */
struct string_list flags_kept(struct arena *arena, const struct string_list *words);
/* The words of a compile command behind the compiler's name, with the words of response files (@file) in the place of their
 * names. A file that can't be read is left out. */
struct string_list flags_given(struct arena *arena, const struct compile_command *command);

#endif
