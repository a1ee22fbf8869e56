/* What the files of the ladder share; settle.c drives it, nobody else includes this.
 *
 *   ladder.c        trials, steps and baselines
 *   ladder_site.c   built, tokens, code, intent: once for each workload and build configuration
 *   ladder_trial.c  reach, outputs, time with its control: once more for each combination of parameters
 *   ladder_map.c    where workloads spend their time, before anything is tried
 *   ladder_survey.c the same for the values of a parameter, all of one program
 *   settle.c        which hypothesis is tried where, and with what share of alpha
 */
#ifndef ASSAY_CMD_LADDER_H
#define ASSAY_CMD_LADDER_H

#include "cmd/settle.h"

/* A workload built under one configuration from the untouched tree; shared by all hypotheses. */
struct baseline {
	const struct workload *workload; /* NULL: the database's units for `changed` */
	struct build_config config;
	const struct string_list *changed; /* with workload NULL */
	struct variant variant;
	bool compiled, linked;
	bool metric_known; /* of a command */
	enum metric metric;
	const char *metric_why;
};
LIST_OF(struct baseline *, baseline_list);

/* Emulation gets so many seconds even where the budget is smaller: it takes what it takes, most often one or two. */
enum { EMULATION_SECONDS = 5, MAP_EMULATION_SECONDS = 15 };

/* Comparing results isn't measuring: it may take so long, whatever the budget. */
enum { OUTPUTS_SECONDS = 20 };

/* How long a control speaks for the machine. */
enum { CONTROL_SECONDS = 600 };

/* The control of one workload, parameters and configuration. */
struct control_entry {
	const struct baseline *baseline;
	const char *params;
	struct control control;
	double made; /* proc_now() when it ended */
};
LIST_OF(struct control_entry *, control_list);

struct ladder {
	struct session *session;
	const struct settle_options *options;
	struct baseline_list baselines;
	struct control_list controls;
	unsigned trial_count, survey_count;
	double trial_alpha; /* of the next trials: the options' alpha, divided by how many share it */
};

/* A hypothesis at one workload and configuration: the rungs that don't depend on parameters. */
struct site {
	const struct hypothesis *hypothesis;
	struct baseline *baseline;
	struct variant candidate;
	struct trial common; /* steps and differences that every trial of this site starts with */
};
LIST_OF(struct site *, site_list);

struct arena *ladder_arena(struct ladder *ladder);
bool ladder_interrupted(const struct ladder *ladder);

/* ---- ladder.c: trials and baselines -------------------------------------------------------------------------- */
/* Records a rung that was asked or skipped; `started` is a time of proc_now(), 0: took none. */
void trial_step(struct ladder *ladder, struct trial *trial, enum rung rung, enum step_result result, double started,
                const char *text);
/* The rung settles the trial. With --measure-anyway a later one may settle it again; that one then counts. */
void trial_settle(struct ladder *ladder, struct trial *trial, enum rung rung, enum verdict verdict, double started,
                  const char *text);
/* True when the rung is beyond --to-rung; the trial then ends as inconclusive unless something settled it. */
bool trial_stops_before(struct ladder *ladder, struct trial *trial, enum rung rung);
/* Of one trial of the hypothesis. */
double hypothesis_budget(const struct ladder *ladder, const struct hypothesis *hypothesis);
/* The command that repeats something begins so, with `argument` that names it ... */
char *repeat_begin(struct ladder *ladder, const char *argument);
/* ... and ends so, with everything that was not the default; `more`: options that are its own, each after a space. */
char *repeat_end(struct ladder *ladder, char *text, const struct build_config *config, double alpha, double budget_s,
                 const char *more);
/* "block=4096 level=3", each with `prefix` before it. */
char *params_text(struct arena *arena, const struct binding_list *params, const char *prefix);
/* The command that repeats a trial, complete with everything that was not the default. */
const char *trial_repeat(struct ladder *ladder, const struct trial *trial);
/* A trial of the run, with what its site knows already. */
struct trial *trial_begin(struct ladder *ladder, const struct site *site, const struct binding_list *params);
/* Adds the trial, which has a verdict, to the run. */
void trial_end(struct ladder *ladder, struct trial *trial);
/* What assay itself could not do is the trial's failure, and the next trial begins; Ctrl-C ends the whole run. */
MUST_CHECK enum status trial_trouble(struct ladder *ladder, struct trial *trial, enum rung rung, double started,
                                     struct err *trouble, struct err *err);
/* Preprocessed; kept for the hypotheses that follow, unless it is one of the database's units. */
MUST_CHECK enum status baseline_get(struct ladder *ladder, const struct workload *workload,
                                    const struct string_list *changed, const struct build_config *config,
                                    struct baseline **ret_baseline, struct err *err);
MUST_CHECK enum status baseline_compile(struct ladder *ladder, struct baseline *baseline, struct err *err);
MUST_CHECK enum status baseline_link(struct ladder *ladder, struct baseline *baseline, struct err *err);
bool baseline_reads_file(const struct baseline *baseline, const char *file);
/* Does some unit read one of the files? No files: the change concerns every unit. */
bool baseline_reads(const struct baseline *baseline, const struct string_list *files);
/* Of a workload that can't even be preprocessed: could it read one of the files? */
bool workload_may_read(const struct workload *workload, const struct string_list *files);
/* The baseline of a command, built; one for all hypotheses. */
MUST_CHECK enum status command_baseline_get(struct ladder *ladder, const struct workload *workload,
                                            struct baseline **ret_baseline, struct err *err);
/* The baseline that a candidate with a variable more in its environment is compared with. */
struct baseline *baseline_with_env(struct arena *arena, const struct baseline *baseline,
                                   const struct hypothesis *hypothesis);
/* What the project file says of it; NULL: it is no claim of the project file. */
const struct claimed *claim_of(const struct ladder *ladder, const struct hypothesis *hypothesis);
/* What of the changed files the site is about. */
const struct string_list *site_files(const struct site *site, const struct string_list *changed);

/* ---- ladder_site.c: the rungs that don't depend on parameters ------------------------------------------------- */
/* "2 of 40 functions differ: f (12 -> 9 instructions), …" */
const char *code_text(struct arena *arena, const struct code_difference *code);
/* Is another rung to be asked? */
bool site_goes_on(struct ladder *ladder, const struct site *site, enum rung next);
/* From built to intent. ST_INTERRUPTED ends the run. */
MUST_CHECK enum status site_climb(struct ladder *ladder, struct site *site, const struct string_list *all_changed,
                                  struct err *err);

/* ---- ladder_trial.c: the rungs that do ------------------------------------------------------------------------- */
/* From reach to time. ST_INTERRUPTED ends the run; the trial is kept either way. */
MUST_CHECK enum status trial_climb(struct ladder *ladder, const struct site *site, struct trial *trial, double alpha,
                                   struct err *err);

/* ---- ladder_map.c: maps ---------------------------------------------------------------------------------------- */
/* The maps that the project file asks for, into the run. ST_INTERRUPTED ends the run. */
MUST_CHECK enum status maps_draw(struct ladder *ladder, struct err *err);

/* ---- ladder_survey.c ------------------------------------------------------------------------------------------- */
/* Settles each survey for all combinations of the other parameters and all configurations. ST_INTERRUPTED ends the run;
 * what was measured is kept either way. */
MUST_CHECK enum status surveys_settle(struct ladder *ladder, const struct asked_survey_list *surveys, struct err *err);

/* ---- settle.c -------------------------------------------------------------------------------------------------- */
/* Calls `each` for all combinations of a workload's parameters; once with none when it has none. */
void bindings_each(struct arena *arena, const struct workload *workload,
                   void (*each)(void *context, const struct binding_list *params), void *context);

#endif
