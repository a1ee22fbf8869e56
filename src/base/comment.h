/* The comments of C source text: for annotations and for remarks that say why something is as it is. */
#ifndef ASSAY_BASE_COMMENT_H
#define ASSAY_BASE_COMMENT_H

#include "base/arena.h"

#include <stdbool.h>

struct comment {
	unsigned line, end_line; /* from 1 */
	bool alone;              /* nothing but comments stands on its lines */
	const char *text; /* without marks and the stars that begin its lines; lines are trimmed and end in '\n' but the last */
};
LIST_OF(struct comment, comment_list);

/* In order. `//` comments on lines of their own that follow each other are one comment. Strings and character
 * constants are seen through; preprocessor conditions are not looked at. */
void comments_read(struct arena *arena, const char *text, size_t size, struct comment_list *ret_comments);

#endif
