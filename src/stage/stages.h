/* The flow on one screen. Each stage is one file; stages never include each other, they meet in the model.
 *
 *   source ──scan──▶ findings ──hypothesize──▶ hypotheses ──build──▶ variants ──compare──▶ code differences
 *          ──reach──▶ shares ──outputs──▶ equal results? ──measure──▶ samples ──judge──▶ verdicts ──▶ report(run)
 *
 * cmd/settle.c drives one trial up the ladder of proof (built, tokens, code, intent, reach, outputs, time) and stops
 * at the first rung that settles it. Every stage returns ST_OK when it did its work, whatever it found: a candidate
 * that fails is data (variant.failure, outputs_result, measurement.stop), an `err` is only for what assay itself could
 * not do. Strings and lists in products live in the session's arena.
 */
#ifndef ASSAY_STAGE_STAGES_H
#define ASSAY_STAGE_STAGES_H

#include "base/err.h"
#include "model/checkup.h"
#include "model/session.h"

/* ---- scan: source → findings ------------------------------------------------------------------------------- */
struct scan_request {
	struct string_list paths;    /* absolute files or folders; empty: project.scan, else the whole tree */
	struct string_list patterns; /* ids or slugs; empty: all */
	double unit_timeout_s;       /* for one file's parsing; 0: 120 s */
};
/* Fills session->commands, once: from compile_commands.json, and for files that only a workload compiles from the
 * workload's flags. What can't be read becomes a note. scan() calls it; so does whoever builds without a scan. */
void scan_commands(struct session *session);
/* Fills session->commands (best effort when there is no database) and the scan part of session->run. A file that
 * can't be parsed becomes a note and the rest goes on. Runs no code of the project. */
MUST_CHECK enum status scan(struct session *session, const struct scan_request *request, struct err *err);

/* ---- confirm: findings → findings of which the compiler says something ---------------------------------------- */
/* Asks, for each finding of P01, P03 and P07 in a file that a compile command compiles, that command's compiler what it
 * made of the loop (clang's records, gcc's notes), and sets finding.compiler and finding.remark. gcc tells little of what it
 * did not do, so clang is asked as well where it stays silent: what holds up clang's analysis counts, what clang got over
 * doesn't. A denied finding ranks one step lower. Runs compilers, but no code of the project, and writes to
 * session->workdir alone (see build_open()). A file that can't be compiled becomes a note and the rest goes on. */
MUST_CHECK enum status confirm(struct session *session, struct err *err);
struct remark_list;
/* Pure: sets finding.compiler and finding.remark by what one compiler said, when it settles the finding. `own`: it is the
 * command's. `who` is its name. False: it says neither. */
bool confirm_by(struct arena *arena, struct finding *finding, const struct remark_list *remarks, bool own, const char *who);

/* ---- rank: findings x a profile → findings in another order ----------------------------------------------------- */
/* Pure. A finding in a function with RANK_HOT_SHARE of the profile's time or more ranks one step up, one in a function that
 * the profile never saw one step down; its evidence says so. */
#define RANK_HOT_SHARE 0.05
struct profile;
void rank_by_profile(struct session *session, const struct profile *profile);

/* ---- hypothesize: findings, patches, defines → hypotheses --------------------------------------------------- */
/* Sets finding.candidate of every finding that has edits, and adds a hypothesis for each finding to
 * run.hypotheses: those that have a candidate and those that are deliberate or advice only. */
MUST_CHECK enum status hypothesize_findings(struct session *session, struct err *err);
/* The claims of the project file. One that can't be read becomes a note. */
MUST_CHECK enum status hypothesize_project(struct session *session, struct err *err);
/* `text` as in hypothesis.text, but the path of a file for CANDIDATE_PATCH. `title` and `claim` may be NULL. The
 * hypothesis is added to run.hypotheses and handed back. ST_INPUT: the patch can't be read or is no patch. */
MUST_CHECK enum status hypothesize_one(struct session *session, enum candidate_kind kind, const char *text,
                                       const char *title, const char *claim, struct hypothesis **ret_hypothesis,
                                       struct err *err);

/* ---- build: hypothesis x workload x configuration → variants ------------------------------------------------ */
/* Makes session->workdir (when it is NULL) with what every build needs: in TMPDIR; when that isn't set in /dev/shm if the
 * tree is small beside it (a disk can take a millisecond a file), else in /tmp. build_prepare() does it by itself. */
MUST_CHECK enum status build_open(struct session *session, struct err *err);
/* A private copy with the hypothesis applied (NULL: the baseline), and nothing else. */
MUST_CHECK enum status build_tree(struct session *session, const struct hypothesis *hypothesis,
                                  const struct workload *workload, const struct build_config *config,
                                  struct variant *ret_variant, struct err *err);
/* Why a hypothesis can't be tried on a workload that is a command; NULL: it can. */
const char *build_command_lack(const struct session *session, const struct hypothesis *hypothesis);
/* The variant of a workload that is a command. Without project.build the command is run where the project is; with it in
 * a full copy of the tree, with the hypothesis applied, in which `build` was run. A candidate that can't be made sets
 * variant.failure. Asking twice costs nothing. */
MUST_CHECK enum status build_command(struct session *session, const struct hypothesis *hypothesis,
                                     const struct workload *workload, const struct build_config *config,
                                     struct variant *ret_variant, struct err *err);
/* A private copy with the hypothesis applied (NULL: the baseline), and the units to compile: the workload's driver and
 * sources (NULL: the database's units that read one of the `changed` files, which build_changed_files() lists; with a
 * workload `changed` is not looked at). Copies are shared where nothing differs. */
MUST_CHECK enum status build_prepare(struct session *session, const struct hypothesis *hypothesis,
                                     const struct workload *workload, const struct string_list *changed,
                                     const struct build_config *config, struct variant *ret_variant, struct err *err);
/* Files of the tree that the hypothesis changes, relative; empty for defines, flags and compilers: they change all. */
MUST_CHECK enum status build_changed_files(struct session *session, const struct hypothesis *hypothesis,
                                           struct string_list *ret_files, struct err *err);
MUST_CHECK enum status build_preprocess(struct session *session, struct variant *variant, struct err *err);
/* Compiles every unit to an object. Units equal to `same_as`'s (tokens and flags) take over its objects; NULL: none. */
MUST_CHECK enum status build_compile(struct session *session, struct variant *variant, const struct variant *same_as,
                                     struct err *err);
MUST_CHECK enum status build_link(struct session *session, struct variant *variant, struct err *err);
/* A byte copy of the program under another path of the same length: the control's A'. */
MUST_CHECK enum status build_copy(struct session *session, const struct variant *variant, struct variant *ret_copy,
                                  struct err *err);
/* Removes session->workdir when build_open() made it; sets it to NULL. */
void build_close(struct session *session);

/* ---- compare: variants → code differences ------------------------------------------------------------------- */
MUST_CHECK enum status compare_tokens(struct session *session, const struct variant *baseline,
                                      const struct variant *candidate, struct token_difference *ret_difference,
                                      struct err *err);
MUST_CHECK enum status compare_code(struct session *session, const struct variant *baseline,
                                    const struct variant *candidate, struct code_difference *ret_difference,
                                    struct err *err);

/* ---- intent: is it deliberate? ------------------------------------------------------------------------------ */
/* Looks at the comments beside the changed lines, and at the commit that brought them. *ret_reason NULL: nothing says so.
 * *ret_history: that commit with its date and subject, or why there is none; NULL: the candidate is no patch. */
MUST_CHECK enum status intent_find(struct session *session, const struct hypothesis *hypothesis, const char **ret_reason,
                                   const char **ret_history, struct err *err);

/* ---- reach: does the workload run what changes? --------------------------------------------------------------- */
enum reach_verdict {
	REACH_PASSED,        /* it does, or nobody can tell: `text` says which */
	REACH_NOT_REACHED,   /* in the iterations looked at, it does not execute what changes */
	REACH_CANNOT_MATTER, /* it does, for so little time that neither direction can reach the margin */
	REACH_UNKNOWN,       /* neither emulation nor sampling is to be had; `text` says why */
};
struct reach_result {
	enum reach_verdict verdict;
	const char *text; /* one sentence */
	struct reach reach;
};
/* Counts which functions the baseline executes (callgrind) and samples where its time goes; a program's profile is kept
 * for the session. The candidate is looked at only when the baseline's share is too small for the margin. `functions`
 * false: the change is not confined to functions (other flags, another compiler), so that only shares are told. */
MUST_CHECK enum status reach_find(struct session *session, const struct variant *baseline,
                                  const struct variant *candidate, const struct binding_list *params,
                                  const struct code_difference *code, bool functions, double alpha, double margin,
                                  double timeout_s, struct reach_result *ret_result, struct err *err);

/* Where the time of a program of the workload goes, and what share the asked parts have. `ret_map` is filled but for its
 * id, workload, params and config; what could not be had is in its `lack`. */
MUST_CHECK enum status reach_map(struct session *session, const struct variant *baseline, const struct binding_list *params,
                                 const struct asked_part_list *parts, double alpha, double timeout_s, struct hotmap *ret_map,
                                 struct err *err);

/* ---- outputs: same results? --------------------------------------------------------------------------------- */
enum outputs_verdict {
	OUTPUTS_EQUAL, /* to the byte, or but for `rounding` */
	OUTPUTS_DIFFER,            /* `text` names the first record and byte that differ */
	OUTPUTS_CANDIDATE_FAILED,  /* it crashed, hung, or said that it failed; `text` has its last lines */
	OUTPUTS_BASELINE_FAILED,
	OUTPUTS_NOT_REPEATABLE,    /* the baseline differs from itself, or the candidate once and not again: nothing follows */
	OUTPUTS_NONE,              /* the workload declares no output to compare */
};
struct outputs_result {
	enum outputs_verdict verdict;
	unsigned records;
	unsigned long long bytes; /* compared */
	const char *text; /* OUTPUTS_EQUAL: "" unless there is more to say than records and bytes */
	/* OUTPUTS_EQUAL: floating-point results differ within the driver's own tolerance, though the baseline equals itself to
	 * the byte; one clause. NULL: they don't. */
	const char *rounding;
};
/* Of variants that are commands; outputs_compare() hands them on. */
MUST_CHECK enum status outputs_command(struct session *session, const struct variant *baseline,
                                       const struct variant *candidate, double timeout_s,
                                       struct outputs_result *ret_result, struct err *err);
MUST_CHECK enum status outputs_compare(struct session *session, const struct variant *baseline,
                                       const struct variant *candidate, const struct binding_list *params,
                                       double timeout_s, struct outputs_result *ret_result, struct err *err);

/* ---- surveys: the values of one parameter, all of one program --------------------------------------------------- */
struct survey_subject {
	const struct variant *variant;     /* linked */
	const struct binding_list *params; /* for each value: what the program is given */
	const bool *measured;              /* for each value: it takes part; the baseline must */
	const bool *may_lead;              /* for each value: it may be called the fastest; NULL: all may */
	size_t count, baseline;
};
/* Can the program run with these parameters? *ret_unavailable: why the driver says that it can't (assay_unavailable()), or
 * NULL; *ret_failure: why it fails, or NULL. */
MUST_CHECK enum status value_probe(struct session *session, const struct variant *variant, const struct binding_list *params,
                                   double timeout_s, const char **ret_unavailable, const char **ret_failure,
                                   struct err *err);
/* One program with two sets of parameters, of which the first is the baseline; as outputs_compare(). */
MUST_CHECK enum status outputs_values(struct session *session, const struct variant *variant,
                                      const struct binding_list *baseline, const struct binding_list *params, double timeout_s,
                                      struct outputs_result *ret_result, struct err *err);
/* Takes rounds until every value is decided against the baseline and against the one with the least time, the budget is spent, or Ctrl-C. A value that fails is
 * left out from there on. */
MUST_CHECK enum status measure_survey(struct session *session, const struct survey_subject *subject, const struct plan *plan,
                                      const struct round_sink *sink, struct survey_measurement *ret_measurement,
                                      struct err *err);
/* Pure. Sets everything of the survey and its values that follows from rounds; values that were not measured keep their
 * verdict. */
void judge_survey(struct session *session, const struct survey_measurement *measurement, struct survey *survey);
/* Pure. Sets survey->evidence from its values' verdicts. */
void judge_survey_text(struct session *session, struct survey *survey);

/* ---- measure: variants → samples; count: variants → instructions --------------------------------------------- */
/* Takes pairs until the confidence sequence decides within the plan (base/stat.h), the budget is spent, or Ctrl-C. */
MUST_CHECK enum status measure(struct session *session, const struct variant *baseline,
                               const struct variant *candidate, const struct binding_list *params,
                               const struct plan *plan, const struct sample_sink *sink,
                               struct measurement *ret_measurement, struct err *err);
/* Of variants that are commands, one pair a block; measure() hands them on. */
MUST_CHECK enum status measure_command(struct session *session, const struct variant *baseline,
                                       const struct variant *candidate, const struct plan *plan,
                                       const struct sample_sink *sink, struct measurement *ret_measurement,
                                       struct err *err);
/* Which metric decides for a command, and why: as asked, or CPU time where others contend for the CPUs, else the wall
 * clock's. Looks at the machine and at runs of the baseline, never at a candidate. ST_INPUT: the baseline fails. */
MUST_CHECK enum status measure_metric(struct session *session, const struct variant *baseline, double timeout_s,
                                      enum metric *ret_metric, const char **ret_why, struct err *err);
/* Appends what explains a time: instructions by valgrind, cycles by count_cycles(), and what can't be had, with reasons. */
MUST_CHECK enum status count(struct session *session, const struct variant *baseline, const struct variant *candidate,
                             const struct binding_list *params, double timeout_s, struct counter_list *counters,
                             struct err *err);

/* Appends cycles: by hardware counters where there are some; else estimated from the time and the core's pace. */
MUST_CHECK enum status count_cycles(struct session *session, const struct variant *baseline,
                                    const struct variant *candidate, const struct binding_list *params, double timeout_s,
                                    struct counter_list *counters, struct err *err);
/* Pure: splits the trial's effect by what its counters say. Nothing is known without instructions of both sides. */
void explain(struct session *session, struct trial *trial);

/* ---- checkup: is this machine fit? ----------------------------------------------------------------------------- */
/* Tries everything that a proof may need and fills checkup->host and checkup->probes. session->workdir is the folder
 * that is looked at for building; NULL: there is none. */
void checkup_probes(struct session *session, struct checkup *checkup);
/* Sets verdict and text from probes and noises: pure. `margin`: the effect that should be seen, a fraction. */
void checkup_judge(struct arena *arena, double margin, struct checkup *checkup);

/* ---- judge: samples → verdicts: pure ------------------------------------------------------------------------- */
/* The control's floor and whether the machine is quiet. */
void judge_control(struct session *session, const struct measurement *measurement, struct control *ret_control);
/* Sets verdict, rung, effect, pairs, medians and evidence of the trial from its samples and its control. */
void judge_trial(struct session *session, const struct measurement *measurement, const struct control *control,
                 struct trial *trial);
/* Completes the evidence of a trial that is inconclusive although nothing was measured; `interrupted`: for that reason. */
void judge_unmeasured(struct session *session, bool interrupted, struct trial *trial);
/* Groups the trials of each hypothesis and gives each group its verdict. */
void judge_families(struct session *session);

#endif
