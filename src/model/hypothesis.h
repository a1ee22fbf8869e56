/* A hypothesis: "this change makes that workload faster", with the claim's source and size. */
#ifndef ASSAY_MODEL_HYPOTHESIS_H
#define ASSAY_MODEL_HYPOTHESIS_H

#include "model/finding.h"

enum candidate_kind {
	CANDIDATE_PATCH,   /* `text` is a unified diff against the tree, a/ b/ prefixes */
	CANDIDATE_DEFINE,  /* `text` is "X=Y" or "X": -DX=Y in every compile command of the workload */
	CANDIDATE_FLAGS,   /* `text` is appended to every compile command of the workload */
	CANDIDATE_CC,      /* `text` is another compiler */
	CANDIDATE_ENV,     /* `text` is "NAME=VALUE": the workload runs with this in its environment */
	CANDIDATE_COMMAND, /* `text` is another command than the workload's */
	CANDIDATE_NONE,    /* advice only: nothing to build */
};

struct hypothesis {
	const char *id;    /* the finding's id, or "patch:NAME", "define:X=Y", … : unique in a run */
	const char *title; /* one line for a table */
	const char *claim; /* what was claimed and by whom; NULL: nothing was */
	const struct finding *finding; /* NULL: no scan made it */
	enum candidate_kind kind;
	const char *text;
	const char *contract; /* see finding.contract */
	/* Who says that the contract holds, and why: without it a trial is never "faster". NULL: nobody does. */
	const char *contract_accepted;
	const char *deliberate; /* a decision of the project file that names it, or NULL */
	const char *repeat;     /* the command that tries it again, when it is not `assay try ARGUMENT`; not stored */
	const char *argument;   /* the words that name it to `assay try`: "P02:x.c:f:1f3a", "--patch a.patch"; quoted */
};
LIST_OF(struct hypothesis *, hypothesis_list);

/* One line for people: the title, where it has one. */
const char *hypothesis_title(const struct hypothesis *hypothesis);
const char *candidate_kind_name(enum candidate_kind kind); /* "patch" */
bool candidate_kind_parse(const char *name, enum candidate_kind *ret_kind);

#endif
