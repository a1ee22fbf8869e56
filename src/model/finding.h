/* A finding: one place where a pattern's signal holds; or a guard, a place where the good practice stands. */
#ifndef ASSAY_MODEL_FINDING_H
#define ASSAY_MODEL_FINDING_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

enum finding_kind { FINDING_ANTIPATTERN, FINDING_GUARD };
enum tier { TIER_A, TIER_B, TIER_C };
enum severity { SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH, SEVERITY_CRITICAL };

/* Beside the findings of an earlier report; NONE: there was none to compare with. */
enum baseline_state { BASELINE_NONE, BASELINE_NEW, BASELINE_UNCHANGED, BASELINE_ABSENT };
/* Where the reason of a deliberate finding stands. */
enum deliberate_in { DELIBERATE_NOWHERE, DELIBERATE_IN_SOURCE, DELIBERATE_IN_PROJECT };

/* What the compiler of the file says of the loop, when it was asked. */
enum compiler_word {
	COMPILER_NOT_ASKED,
	COMPILER_CONFIRMED, /* it names what holds it up */
	COMPILER_DENIED,    /* it got over it: the claimed cost can't be whole */
	COMPILER_SILENT,    /* neither */
};

/* Replaces `length` bytes at `offset` of `file` by `text`. Edits of one finding never overlap. */
struct edit {
	const char *file; /* relative to the tree */
	size_t offset, length;
	const char *text;
};
LIST_OF(struct edit, edit_list);

struct finding {
	const char *id; /* "P02:module/zfs/lz4.c:restrict:1f3a": survives moved lines */
	const char *pattern; /* "P02" */
	enum finding_kind kind;
	const char *file; /* relative to the tree, '/' between parts */
	unsigned line, column; /* from 1 */
	const char *symbol; /* enclosing function, or the macro's name; never NULL */
	const char *function; /* in whose body it stands, or NULL */
	unsigned loop_end;    /* last line of the innermost loop around it; 0: none */
	enum tier tier;
	enum severity severity;
	const char *message;  /* what stands there, one sentence */
	const char *claim;    /* the size that is claimed, with its source */
	const char *evidence; /* facts that scan gathered ("expanded 0 times after its definition"), or NULL */
	const char *contract; /* what the candidate promises that a person must confirm, or NULL */
	struct edit_list edits; /* the candidate; empty: advice only */
	const char *candidate;  /* the edits as a unified diff, set by hypothesize; or NULL */
	enum compiler_word compiler;
	const char *remark; /* who said it and the compiler's own words, or why there are none; NULL: not asked */
	bool profiled;        /* a profile was given, and `function` is known */
	double profile_share; /* of its time in `function`, 0 to 1; 0 also when it never saw it */
	const char *deliberate; /* the reason given in the code or the project file, or NULL */
	enum deliberate_in deliberate_in;
	enum baseline_state baseline;
	bool built; /* some compile command reaches the file */
};
LIST_OF(struct finding *, finding_list);

/* Of a pattern R01, R02, …: the candidate only takes a trick out that today's compilers do without. Always low. */
bool finding_is_removal(const struct finding *finding);
const char *tier_name(enum tier tier);             /* "A" */
const char *severity_name(enum severity severity); /* "critical" */
const char *finding_kind_name(enum finding_kind kind);
const char *baseline_state_name(enum baseline_state state); /* "unchanged" */
const char *compiler_word_name(enum compiler_word word); /* "confirmed" */
const char *deliberate_in_name(enum deliberate_in where);
bool tier_parse(const char *name, enum tier *ret_tier);
bool severity_parse(const char *name, enum severity *ret_severity);
bool finding_kind_parse(const char *name, enum finding_kind *ret_kind);
bool baseline_state_parse(const char *name, enum baseline_state *ret_state);
bool compiler_word_parse(const char *name, enum compiler_word *ret_word);
bool deliberate_in_parse(const char *name, enum deliberate_in *ret_where);

#endif
