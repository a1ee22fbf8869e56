/* What compilers say about their own work: clang's records (-fsave-optimization-record: YAML, one document a remark) and
 * gcc's notes (-fopt-info: lines of text).
 *
 * A detector reads what may hold a compiler up; a remark tells whether it did: licm and gvn name the load that they could
 * not move or drop because of a store, the vectoriser that it may not reorder additions. The names are those of LLVM 19 and
 * the words those of gcc 12; they are no interface that anybody promises to keep, so an unknown one is CAUSE_NONE and never
 * an error.
 */
#ifndef ASSAY_PORT_REMARKS_H
#define ASSAY_PORT_REMARKS_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

enum remark_kind { REMARK_OTHER, REMARK_PASSED, REMARK_MISSED, REMARK_ANALYSIS, REMARK_FAILURE };

struct remark {
	enum remark_kind kind;
	const char *pass, *name;   /* "licm", "LoadWithLoopInvariantAddressInvalidated"; of gcc "gcc", "missed"; never NULL */
	const char *file;          /* as the compiler was given it; NULL: the remark has no place */
	unsigned line, column;     /* from 1; 0: none */
	const char *function;      /* "" when it names none */
	const char *text;          /* what a person would read, arguments filled in; "" when there is none */
};
LIST_OF(struct remark, remark_list);

/* What holds a loop up, as far as the compiler told. */
enum remark_cause {
	CAUSE_NONE,
	CAUSE_ALIAS, /* a load stays in the loop, or the loop stays scalar, since a store might change what is read */
	CAUSE_ORDER, /* the loop stays scalar, since floating-point operations may not be reordered */
};

/* ST_INPUT: no YAML, or a file that ends within a remark; the remarks before that place are handed back all the same.
 * `name` is the file's in messages. */
MUST_CHECK enum status remarks_parse(struct arena *arena, const char *data, size_t size, const char *name,
                                     struct remark_list *ret_remarks, struct err *err);
/* The same for a file. ST_SYSTEM or ST_INPUT: it can't be read. */
MUST_CHECK enum status remarks_read(struct arena *arena, const char *path, struct remark_list *ret_remarks, struct err *err);

/* "x.c:7:3: missed: not vectorized: …": gcc's notes, which name no function. Other lines are passed over. */
void remarks_parse_gcc(struct arena *arena, const char *text, struct remark_list *ret_remarks);

enum remark_cause remark_cause(const struct remark *remark);
/* The vectoriser of either compiler took the loop that begins on this line. */
bool remark_is_vectorised(const struct remark *remark);
/* A later pass moved the very load (or the accesses) out of the loop that `missed` is about. */
bool remark_overcomes(const struct remark *remark, const struct remark *missed);
bool remark_is_at(const struct remark *remark, const char *file, unsigned first_line, unsigned last_line);

#endif
