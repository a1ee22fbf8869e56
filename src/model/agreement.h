/* Two runs that asked the same questions, beside each other: hours apart, on another machine, with another compiler's
 * update. Did they come to the same verdicts? */
#ifndef ASSAY_MODEL_AGREEMENT_H
#define ASSAY_MODEL_AGREEMENT_H

#include "model/run.h"

enum agreement {
	AGREEMENT_DIFFERS,   /* two verdicts, and not the same one */
	AGREEMENT_UNDECIDED, /* one of them, or both, came to none: inconclusive, cut off */
	AGREEMENT_ONE_HAS,   /* only one of the machines has what it takes: a value that is unavailable on the other */
	AGREEMENT_SAME,
};
#define AGREEMENT_KINDS (AGREEMENT_SAME + 1)

/* One question that both runs answered. Exactly one of the members `trials` and `values` is set. */
struct agreement_row {
	enum agreement kind;
	const struct trial *trials[2];
	const struct survey *surveys[2];
	const struct survey_value *values[2];
	/* Both have an interval for the effect, and these have no number in common: the effects differ, at the sum of both
	 * alphas. False while the verdicts differ: both may be right about the same small effect. */
	bool apart;
};
LIST_OF(struct agreement_row, agreement_row_list);

struct agreement_of_runs {
	const struct run *runs[2];
	struct agreement_row_list rows; /* in the order of the first run: trials, then the values of surveys */
	unsigned counts[AGREEMENT_KINDS];
	unsigned apart[AGREEMENT_KINDS]; /* of these */
	unsigned alone[2]; /* questions that only one of the runs answered */
};

/* A trial is the same question when hypothesis, workload, parameters, compiler and flags are the same; a survey's value when
 * also the survey's name and parameter are. Baselines of surveys are no answers and are left out. */
struct agreement_of_runs runs_agreement(struct arena *arena, const struct run *first, const struct run *second);

/* What an answer says, as reports name it: "faster", "missing from the build". */
const char *agreement_verdict(const struct agreement_row *row, int side);
const struct effect *agreement_effect(const struct agreement_row *row, int side);

#endif
