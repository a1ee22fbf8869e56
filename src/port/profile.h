/* Profiles that somebody else took: what share of the time each function has.
 *
 * Read are callgrind's output (`valgrind --tool=callgrind`, callgrind.out.N, whatever options) and the text of
 * `perf report --stdio` and of `perf script`. Shares are of the function alone, without those that it called. What perf marks
 * as inlined counts for the function that it came from and for the one that holds its code.
 */
#ifndef ASSAY_PORT_PROFILE_H
#define ASSAY_PORT_PROFILE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

struct profile_function {
	const char *name; /* as in the source: without what compilers and callgrind append (".constprop.0", "'2") */
	double share;     /* 0 to 1 */
};
LIST_OF(struct profile_function, profile_function_list);

struct profile {
	const char *kind; /* "callgrind", "perf report", "perf script" */
	struct profile_function_list functions; /* each name once, the largest share first */
};

/* ST_INPUT: none of the three, or without samples. `text` is 0-terminated; `name` is the file's in messages. */
MUST_CHECK enum status profile_parse(struct arena *arena, const char *text, const char *name, struct profile *ret_profile,
                                     struct err *err);
MUST_CHECK enum status profile_read(struct arena *arena, const char *path, struct profile *ret_profile, struct err *err);
/* False: the profile never saw it. */
bool profile_share(const struct profile *profile, const char *function, double *ret_share);

#endif
