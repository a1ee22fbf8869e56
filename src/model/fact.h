/* A fact: what a detector learnt in one unit and needs again when it looks at the whole project. */
#ifndef ASSAY_MODEL_FACT_H
#define ASSAY_MODEL_FACT_H

#include "base/arena.h"

struct fact {
	const char *pattern; /* whose it is: "P05" */
	const char *name;    /* what kind, of the pattern's own choosing: "cpu test" */
	const char *value;   /* never NULL */
	const char *file;    /* relative to the tree; NULL: no place */
	unsigned line, column; /* from 1; 0: no place */
	const char *symbol;    /* or NULL */
	size_t offset, length; /* of the text that an edit would replace; length 0: none */
};
LIST_OF(struct fact, fact_list);

#endif
