/* A survey: how do the values of one parameter of a workload compare? A trial with many candidates: all values are
 * measured together, each against the baseline's value. */
#ifndef ASSAY_MODEL_SURVEY_H
#define ASSAY_MODEL_SURVEY_H

#include "model/trial.h"

enum value_verdict {
	VALUE_OPEN, /* not settled yet */
	VALUE_BASELINE,
	VALUE_FASTER,
	VALUE_SLOWER,
	VALUE_NO_EFFECT,
	VALUE_INCONCLUSIVE,
	VALUE_WRONG_RESULTS, /* other results than the baseline's: never timed */
	VALUE_UNAVAILABLE,   /* it can't run here, as on a CPU without its instructions */
	VALUE_MISSING,       /* it could run here, but the program was built without it */
	VALUE_FAILED,
};

/* One value of the parameter, with what became of it. */
struct survey_value {
	const char *value;
	const char *needs; /* the CPU feature that the survey names for it, or NULL */
	enum value_verdict verdict;
	const char *evidence; /* one sentence */
	const char *rounding; /* as of a trial: how its results differ from the baseline's within what the driver tolerates */
	bool unconfirmed;     /* it would be faster, but rests on that, and nobody has confirmed it */
	uint64_t iterations;  /* of one sample; 0: not measured */
	uint64_t bytes_per_iteration; /* 0: the driver doesn't say */
	/* Time of one iteration: the median over blocks of a block's median, and its sign interval over blocks at the survey's
	 * alpha. It stands for itself: drift of the machine is in it, as it is not in `effect`. 0: not measured. */
	double ns, ns_low, ns_high;
	struct effect effect; /* against the baseline; `known` false for the baseline itself */
	double p, p_adjusted; /* against the baseline, by Holm over the survey's values; 0: not measured */
	struct effect against_top; /* against the value with the least time, survey.top; `known` false for that one */
	bool among_fastest;        /* not shown to be slower than survey.top by more than the margin, and may be called so */
	bool drifts;               /* the first third of the blocks differs from the rest */
	uint32_t excluded;         /* samples that were migrated or preempted */
	struct {
		double *at;
		size_t count, cap;
	} block_ns; /* each block's median, in their order: for charts */
};
LIST_OF(struct survey_value, survey_value_list);

struct survey {
	const char *id;   /* unique in the run: "s3" */
	const char *name; /* of the question; several surveys of a run share it, one for each combination */
	const char *workload, *over;
	struct binding_list params; /* of the workload's other parameters */
	struct build_config config;
	struct survey_value_list values; /* in the order that was given */
	const char *contract_accepted; /* who says that values may round otherwise, and why; NULL: nobody does */
	size_t baseline;    /* index of the value that the others are compared with */
	const char *failure; /* nothing was measured since the whole failed: does not build, baseline unavailable, …; or NULL */
	bool finished;      /* false: cut off */
	bool held_back;     /* interrupted, or the baseline failed in the middle: no verdict may follow from its time */
	double alpha, margin; /* of the survey as a whole */
	double interval_alpha; /* of each effect: all of them, and the naming of the fastest, hold together at alpha */
	uint32_t candidates; /* values that were measured, besides the baseline */
	uint32_t rounds, excluded_rounds, blocks;
	struct control control; /* the baseline against a copy of itself in the same squares */
	bool top_known;
	size_t top;          /* index of the value with the least time, of those that rest on no unconfirmed contract */
	const char *evidence; /* one sentence: which is fastest, which are slower than the baseline, which are missing */
	const char *repeat;  /* the command that repeats it */
	double seconds;
};
LIST_OF(struct survey *, survey_list);

/* The contract that the value rests on and nobody has confirmed; NULL: none. It is neither faster nor among the fastest. */
const char *value_unconfirmed_contract(const struct survey *survey, const struct survey_value *value);

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

/* One sample of a value. */
struct round_sample {
	uint64_t iterations; /* 0: the value takes no part */
	uint64_t ns;
	uint32_t flags; /* PAIR_… */
	uint32_t place; /* in the order of the round, from 0 */
};

/* One sample of every value, in the order of a row of a random cyclic Latin square (base/latin.h). */
struct round {
	uint32_t block; /* which fresh processes, from 0 */
	uint32_t index; /* within the block, from 0 */
	struct round_sample *samples; /* one for each value, and behind them the control's */
};
LIST_OF(struct round, round_list);

struct survey_measurement {
	struct plan plan; /* alpha: of the survey; pairs_per_block: rounds */
	size_t values;    /* a round has one sample more than that: the control */
	size_t baseline;
	uint32_t candidates; /* that were to be measured, besides the baseline */
	struct round_list rounds;
	uint32_t blocks;
	double measured_s, elapsed_s; /* inside samples; in all */
	enum stop_reason stop;
	const char *failure;   /* with STOP_FAILED: what the baseline said */
	const char **failures; /* of each value that failed while it was measured; NULL: it didn't */
	uint64_t *bytes_per_iteration; /* of each value */
};

/* Where rounds go while they are taken; as sample_sink. */
struct round_sink {
	enum status (*put)(void *context, const struct round *round, size_t samples, struct err *err);
	void *context;
};

/* With `count` candidates: alpha / (2 count - 1). The truly fastest value and the baseline are in so many of the pairs that
 * anything is said about; so at alpha every interval against the baseline holds, and no other value is named the fastest. */
double survey_interval_alpha(double alpha, uint32_t count);
/* Of each block in which both were measured: the median over its rounds of ln(time of `a` / time of `b`) for one iteration;
 * rounds with a migrated or preempted sample of either are left out, unless a block has no others or `all` is set. Returns
 * how many blocks that are; `ret_ratios` has room for measurement->rounds.count. */
size_t rounds_block_ratios(const struct survey_measurement *measurement, size_t a, size_t b, bool all,
                           double *ret_ratios);
/* The same for the time of one iteration of one value, in ns. */
size_t rounds_block_ns(const struct survey_measurement *measurement, size_t value, double *ret_ns);
/* The samples of `value` that are left out. */
uint32_t rounds_excluded(const struct survey_measurement *measurement, size_t value);
/* Which value leads: of those that may the one with the least time of one iteration, the first of several; false: none was
 * timed. `ret_against` (room for measurement->values) has the effect of every other of them against it, each at `alpha`.
 * `scratch` has room for measurement->rounds.count. */
bool rounds_top(const struct survey_measurement *measurement, const bool *may_lead, double alpha, double *scratch,
                size_t *ret_top, struct effect *ret_against);

const char *value_verdict_name(enum value_verdict verdict); /* "missing from the build" */
bool value_verdict_parse(const char *name, enum value_verdict *ret_verdict);

#endif
