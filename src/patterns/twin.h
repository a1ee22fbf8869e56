/* The body of a function under a second name that only its file has, and the function as a call of it: how a candidate
 * gives the callers of one file something that the compiler may take in or fit to them, and others what they know. */
#ifndef ASSAY_PATTERNS_TWIN_H
#define ASSAY_PATTERNS_TWIN_H

#include "patterns/query.h"

struct twin {
	const struct ast_node *function;
	const char *signature; /* as it is written, with the blanks before the body */
	const char *arguments; /* "a, b": what hands the parameters on */
	size_t begin, name, body, end; /* offsets in the file: of the signature, of the function's name in it, of the braces */
};

/* False: the definition is not all written out (macros, attributes, parameters without names or in the old way). The
 * texts live in `arena`. */
bool twin_of(const struct ast_unit *unit, struct arena *arena, const struct ast_node *function, struct twin *ret_twin);
/* The edits: the body is called `name` and begins with `words` ("static inline"), the function follows it and calls it.
 * Calls are not changed. */
void twin_put(const struct ast_unit *unit, struct pattern_sink *sink, struct finding *finding, const struct twin *twin,
              const char *words, const char *name);

/* Whether a file holds a name nowhere, not even as a part of another. */
bool file_lacks(const struct ast_unit *unit, const char *file, const char *name);
/* Where another function may be put before this one: ahead of the comment that belongs to it. SIZE_MAX: nowhere, it comes
 * out of a macro or does not begin its line. */
size_t place_before(const struct ast_unit *unit, const struct ast_node *function);
/* "inline", or "__inline__" where the command's standard has no such word. */
const char *inline_word(const struct compile_command *command);

#endif
