/* What differs between the code of two variants, as compare found it. */
#ifndef ASSAY_MODEL_DIFFERENCE_H
#define ASSAY_MODEL_DIFFERENCE_H

#include "base/arena.h"

#include <stdbool.h>

enum change { CHANGE_NONE, CHANGE_CHANGED, CHANGE_ADDED, CHANGE_REMOVED };

struct function_change {
	const char *unit, *name;
	enum change change;
	unsigned baseline_instructions, candidate_instructions; /* static counts, padding left out */
	const char *first; /* "mov 8(%rdi),%eax | mov 12(%rdi),%eax": the first pair that differs, or NULL */
};
LIST_OF(struct function_change, function_change_list);

struct named_change {
	const char *unit, *name, *what; /* data or record: "alignment 8, was 64" */
};
LIST_OF(struct named_change, named_change_list);

struct token_difference {
	bool differ;
	unsigned units, units_differing; /* compared translation units */
	unsigned long long tokens;       /* of the baseline, over all compared units */
	const char *first; /* "lz4.c:133: `restrict` | nothing", or NULL */
};

struct code_difference {
	bool differ;
	unsigned units, functions; /* compared */
	struct function_change_list changed; /* CHANGE_NONE is never in it */
	struct named_change_list data, records;
};

#endif
