/* What callgrind (a tool of valgrind) writes: instructions of each function on an emulated CPU, and who called whom.
 *
 * The format is that of valgrind's manual, "Callgrind Format Specification". assay's own runs ask for no lines and one
 * file (--dump-line=no --combine-dumps=yes); those of others come with all that callgrind can write. */
#ifndef ASSAY_PORT_CALLGRIND_H
#define ASSAY_PORT_CALLGRIND_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Where in a workload's process: until run() is entered, inside of it, and after it. */
enum callgrind_part { CALLGRIND_BEFORE, CALLGRIND_INSIDE, CALLGRIND_AFTER, CALLGRIND_PARTS };

struct callgrind_function {
	const char *object, *name; /* the file that holds its code; its symbol */
	uint64_t self[CALLGRIND_PARTS]; /* instructions, without those of what it called */
};
LIST_OF(struct callgrind_function, callgrind_function_list);

struct callgrind_call {
	size_t from, to; /* in `functions` */
};
LIST_OF(struct callgrind_call, callgrind_call_list);

struct callgrind {
	bool split; /* it was told when run() began and ended; false: everything counts as inside */
	struct callgrind_function_list functions;
	struct callgrind_call_list calls; /* that happened inside; some are there more than once */
	uint64_t total[CALLGRIND_PARTS];
};

/* ST_INPUT: not in this format. `text` is 0-terminated. */
MUST_CHECK enum status callgrind_parse(struct arena *arena, const char *text, struct callgrind *ret_profile, struct err *err);

#endif
