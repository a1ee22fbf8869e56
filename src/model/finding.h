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
	enum tier tier;
	enum severity severity;
	const char *message;  /* what stands there, one sentence */
	const char *claim;    /* the size that is claimed, with its source */
	const char *evidence; /* facts that scan gathered ("expanded 0 times after its definition"), or NULL */
	const char *contract; /* what the candidate promises that a person must confirm, or NULL */
	struct edit_list edits; /* the candidate; empty: advice only */
	const char *candidate;  /* the edits as a unified diff, set by hypothesize; or NULL */
	const char *deliberate; /* the reason given in the code or the project file, or NULL */
	enum deliberate_in deliberate_in;
	enum baseline_state baseline;
	bool built; /* some compile command reaches the file */
};
LIST_OF(struct finding *, finding_list);

const char *tier_name(enum tier tier);             /* "A" */
const char *severity_name(enum severity severity); /* "critical" */
const char *finding_kind_name(enum finding_kind kind);
const char *baseline_state_name(enum baseline_state state); /* "unchanged" */
const char *deliberate_in_name(enum deliberate_in where);
bool tier_parse(const char *name, enum tier *ret_tier);
bool severity_parse(const char *name, enum severity *ret_severity);
bool finding_kind_parse(const char *name, enum finding_kind *ret_kind);
bool baseline_state_parse(const char *name, enum baseline_state *ret_state);
bool deliberate_in_parse(const char *name, enum deliberate_in *ret_where);

#endif
