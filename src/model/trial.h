/* A trial: hypothesis x workload x build configuration, with what settled it. */
#ifndef ASSAY_MODEL_TRIAL_H
#define ASSAY_MODEL_TRIAL_H

#include "model/difference.h"
#include "model/hypothesis.h"
#include "model/project.h"
#include "model/reach.h"
#include "model/sample.h"
#include "model/variant.h"

enum verdict {
	VERDICT_NONE, /* not settled yet */
	VERDICT_FASTER,
	VERDICT_SLOWER,
	VERDICT_NO_EFFECT,
	VERDICT_MIXED, /* of a family only */
	VERDICT_INCONCLUSIVE,
	VERDICT_WRONG_RESULTS,
	VERDICT_NOT_BUILT,
	VERDICT_NOT_REACHED,
	VERDICT_DELIBERATE,
	VERDICT_FAILED,
};

enum rung { RUNG_NONE, RUNG_BUILT, RUNG_TOKENS, RUNG_CODE, RUNG_INTENT, RUNG_REACH, RUNG_OUTPUTS, RUNG_TIME };

enum step_result {
	STEP_PASSED,  /* asked, does not settle it */
	STEP_SETTLED, /* asked, settles it */
	STEP_SKIPPED, /* not asked, `text` says why */
};

/* One rung as it was climbed. */
struct step {
	enum rung rung;
	enum step_result result;
	const char *text; /* the evidence, one sentence */
	double seconds;
};
LIST_OF(struct step, step_list);

enum counter_kind { COUNTER_OTHER, COUNTER_INSTRUCTIONS, COUNTER_CYCLES, COUNTER_FREQUENCY };

/* A number under its proper name, for both sides; or "not available" with the reason. */
struct counter {
	const char *name; /* "instructions (valgrind, emulated CPU)" */
	const char *unit; /* "per iteration" */
	double baseline, candidate;
	enum counter_kind kind; /* for who explains; not in the record */
	bool emulated, estimated; /* how it was come by; as `kind` */
	const char *unavailable; /* NULL: the numbers hold; else why they don't exist and what would help */
};
LIST_OF(struct counter, counter_list);

/* Where an effect comes from: natural logarithms of candidate / baseline that add up to theta. */
struct explanation {
	bool known;
	double instructions, cycles_per_instruction, frequency; /* frequency: of the time that a cycle takes */
	bool frequency_known; /* else it is taken as equal, and its part is in cycles_per_instruction */
	bool emulated;        /* instructions were counted by emulation, and what is left is an estimate */
	const char *text;     /* "-34.1 % = instructions -40.0 % (emulated) x cycles per instruction +9.8 % (estimated)" */
};

/* theta = median of ln(t_candidate / t_baseline); low and high bound it with the trial's alpha at any stopping time. */
struct effect {
	bool known;
	double theta, low, high; /* natural logarithms; low may be -INFINITY, high INFINITY */
	const char *population;  /* "as built", "over layouts" */
};

/* How the effect is distributed over layouts: natural logarithms, one value for each layout. */
enum { SPREAD_BINS = 16 };
struct spread {
	uint32_t layouts; /* 0: not measured over layouts */
	double low, high;   /* 10th and 90th percentile */
	double least, most;
	uint32_t bins[SPREAD_BINS]; /* how many lie in each of the equal parts from least to most */
	double deviation; /* from the median: 8 of 10 layouts deviate less */
	double noise;     /* the control's deviation: what there is without any difference between the sides */
	bool sensitive;   /* layouts spread the effect by more than the margin, beyond the noise */
};

/* Of a trial that is inconclusive: what it shows all the same, and what would settle it. Its evidence says it too. */
struct outlook {
	const char *text; /* what is excluded; what could have been seen; how long it would need. NULL: it is not inconclusive */
	double needs_s;   /* about so long a measurement; INFINITY: no time helps, or nobody can tell */
};

struct control {
	bool done;
	bool quiet;  /* false: A against a copy of A differs, nothing may be judged */
	double floor; /* 95th percentile of |theta| under random signs, natural logarithm */
	struct effect effect;
	struct spread spread; /* over the same kind of layouts as the trial's; layouts 0: as built */
	uint32_t pairs, blocks;
	double seconds;
	struct transfer transfer; /* of several threads */
	const char *text; /* one sentence for people */
	const char *trial; /* under which the control's samples are kept: the first trial that needed it */
};

/* What a trial of commands says under a metric that did not decide. */
struct metric_result {
	enum metric metric;
	struct effect effect;
	double baseline, candidate; /* medians: ns */
};
LIST_OF(struct metric_result, metric_result_list);

struct trial {
	const char *id; /* unique in the run: "t3" */
	const struct hypothesis *hypothesis;
	const struct workload *workload; /* NULL: no workload of the project compiles the changed file */
	struct binding_list params;
	struct build_config config;
	enum verdict verdict;
	const char *rounding; /* how the results differ within what the driver tolerates: rests on a contract; NULL: not at all */
	bool unconfirmed;     /* it would be faster, but rests on a contract that nobody has confirmed */
	bool held_back; /* interrupted, or over fewer layouts than asked for: no verdict may follow from its time */
	enum rung rung; /* that settled it */
	const char *evidence; /* one sentence: the settling rung's */
	struct outlook outlook;
	struct step_list steps;
	struct token_difference tokens;
	struct code_difference code;
	struct reach reach;
	struct effect effect;
	struct spread spread;
	double alpha, margin; /* that were used for the effect */
	double p;          /* always-valid, for "the median is 0" (base/stat.h); 0: not measured */
	double p_adjusted; /* by Holm over the measured trials of the hypothesis; 0: not measured */
	uint32_t pairs, excluded_pairs, blocks;
	bool drifts; /* not stationary: the first third of the pairs differs from the rest */
	double baseline_ns, candidate_ns; /* medians for one iteration; 0: not measured */
	uint64_t bytes_per_iteration;
	enum metric metric; /* what effect is about */
	const char *metric_why; /* who or what chose it; NULL: nothing was to be chosen */
	double baseline_printed, candidate_printed; /* METRIC_LOWER, METRIC_HIGHER: medians */
	struct metric_result_list other_metrics;
	struct transfer transfer; /* of several threads: the trial's own, or the control's when there is none */
	struct control control;
	struct counter_list counters;
	struct explanation explanation;
	const char *repeat; /* the command that repeats it */
	double seconds;
};
LIST_OF(struct trial *, trial_list);

/* The trials of one hypothesis under one build configuration: what one request compares. */
struct family {
	const struct hypothesis *hypothesis;
	enum verdict verdict;
	const char *evidence;
	struct trial_list trials;
};
LIST_OF(struct family, family_list);

/* What its being faster rests on and nobody has confirmed; NULL: nothing. */
const char *trial_unconfirmed_contract(const struct trial *trial);
/* The evidence of what would be faster by it. */
const char *unconfirmed_text(struct arena *arena, const char *contract, const char *measured);
const char *verdict_name(enum verdict verdict); /* "no effect" */
const char *rung_name(enum rung rung);          /* "tokens" */
const char *step_result_name(enum step_result result);
bool verdict_parse(const char *name, enum verdict *ret_verdict);
bool rung_parse(const char *name, enum rung *ret_rung);
bool step_result_parse(const char *name, enum step_result *ret_result);
/* 100 (e^theta - 1). */
double effect_percent(double theta);
/* The confidence sequence of log-ratios, in the order in which they were taken; not known when there are none. `ret_p` (may
 * be NULL): always-valid p for "theta is 0", above 0; left alone when there are none. */
struct effect effect_of_values(const double *values, size_t count, double alpha, const char *population, double *ret_p);
/* Is its interval bounded on both sides? */
bool effect_bounded(const struct effect *effect);
/* As evidence says it: "-1.95 % [-2.20, -1.71]", and one bound of it: "-2.20", "+inf". */
const char *effect_words(struct arena *arena, const struct effect *effect);
const char *bound_words(struct arena *arena, double bound);

#endif
