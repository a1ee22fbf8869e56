/* Drives hypotheses up the ladder of proof: the one place that knows the order of the rungs.
 *
 * Each trial stops at the first rung that settles it. A trial that fails is recorded as such and the next one begins.
 */
#ifndef ASSAY_CMD_SETTLE_H
#define ASSAY_CMD_SETTLE_H

#include "base/err.h"
#include "model/session.h"

/* Who confirms a contract by the command line. */
#define ACCEPTED_BY_OPTION "who ran this, by --accept-contract"

struct settle_options {
	enum rung to_rung;    /* RUNG_TIME: as far as it goes; no rung after this one is asked */
	bool measure_anyway;  /* ask the remaining rungs too; the verdict then comes from the measurement */
	bool with_workload;   /* findings that no workload compiles are not tried */
	bool accept_contract; /* the person who asks confirms every contract */
	double alpha, margin; /* fractions: 0.01 */
	double budget_s;      /* for each trial, and again for each control */
	bool budget_asked;    /* on the command line: the budgets of single hypotheses and surveys don't count */
	uint32_t layouts;     /* 0 or 1: as built; else over so many layouts at least */
	uint64_t seed;
	bool maps;            /* draw the maps that the project file asks for, first */
	struct build_config_list configs; /* at least one */
	const struct asked_survey_list *surveys; /* settled before the hypotheses; NULL: none */
	/* Told as things happen; any of them may be NULL. */
	void *context;
	void (*trial_begins)(void *context, const struct trial *trial);
	/* Where samples go; `control` 0: the trial's own, 1 and 2: of its first and second control, A against a copy of A. */
	struct sample_sink (*samples)(void *context, const struct trial *trial, unsigned control);
	/* The plan before the first sample, and once more when the measurement has `ended`. */
	void (*measurement)(void *context, const struct trial *trial, unsigned control,
	                    const struct measurement *measurement, bool ended);
	void (*trial_done)(void *context, const struct trial *trial);
	void (*survey_begins)(void *context, const struct survey *survey);
	struct round_sink (*rounds)(void *context, const struct survey *survey);
	/* As `measurement`. */
	void (*survey_measurement)(void *context, const struct survey *survey, const struct survey_measurement *measurement,
	                           bool ended);
	void (*survey_done)(void *context, const struct survey *survey);
};

/* Every hypothesis of the run with every workload that compiles what it changes, every combination of parameters and
 * every configuration. The surveys that were asked for come first. Fills run.trials, run.families and run.surveys. After Ctrl-C it returns ST_INTERRUPTED and everything that is
 * settled stands. */
MUST_CHECK enum status settle_all(struct session *session, const struct settle_options *options, struct err *err);

/* What the `attempt`th control (1, 2) says; `samples_of` is the trial under which its samples are kept. */
void control_judge(struct session *session, const struct measurement *measurement, unsigned attempt,
                   const char *samples_of, struct control *ret_control);

#endif
