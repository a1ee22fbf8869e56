/* What the commands share: the session with its store, progress, the report's way out, the gate. */
#ifndef ASSAY_CMD_CMD_H
#define ASSAY_CMD_CMD_H

#include "cmd/options.h"
#include "cmd/settle.h"
#include "port/history.h"
#include "port/profile.h"
#include "port/store.h"
#include "report/report.h"
#include "report/sarif.h"

#include <signal.h>

enum exit_status {
	EXIT_DONE = 0,
	EXIT_GATE = 1,   /* the gate failed */
	EXIT_USAGE = 2,
	EXIT_JUDGE = 3,  /* can't judge: the gate was asked and evidence is insufficient, or the machine is disturbed */
	EXIT_FAILED = 4, /* also after Ctrl-C */
};

/* One invocation: what main hands to a command. */
struct invocation {
	const struct command *command;
	struct arena *arena;
	struct options options;
	const char *line; /* as typed, quoted for a shell */
	const volatile sig_atomic_t *interrupted;
};

int command_scan(struct invocation *invocation);
int command_explain(struct invocation *invocation);
int command_try(struct invocation *invocation);
int command_audit(struct invocation *invocation);
int command_show(struct invocation *invocation);
int command_report(struct invocation *invocation);
int command_prove(struct invocation *invocation);
int command_log(struct invocation *invocation);
int command_doctor(struct invocation *invocation);
int command_help(struct invocation *invocation);

/* Writes a page for each pattern, and an index; returns the exit status. */
int pattern_docs_write(struct arena *arena, const char *folder);

/* "assay: TEXT" on stderr; returns the exit status that belongs to the error. */
int complain(const struct err *err);

/* ---- the report's way out ---------------------------------------------------------------------------------------- */
/* A report is gathered in memory and then written at once, so that a write error is known by its cause. */
struct output {
	FILE *file; /* to print to */
	struct term_options term;
	const char *path; /* NULL: stdout */
	int fd;
	char *text;
	size_t size;
};
MUST_CHECK enum status output_open(struct output *ret_output, const struct options *options, struct err *err);
/* Writes and closes. A reader of stdout that went away (| head) is no sentence: ST_SYSTEM with an empty text. */
MUST_CHECK enum status output_close(struct output *output, struct err *err);
/* Throws away what was printed so far. Does nothing after output_close(). */
void output_drop(struct output *output);

/* What a command prints as text. */
typedef void print_run(FILE *out, const struct run *run, const struct term_options *options);
/* The run in the format that was asked for; `print` for text. */
void run_print(struct output *output, struct arena *arena, const struct run *run, enum format format, print_run *print);
/* The catalogue as SARIF knows it. */
struct sarif_rule_list catalogue_rules(struct arena *arena);

/* ---- progress ------------------------------------------------------------------------------------------------------ */
/* A line that is drawn again and again on a terminal, a plain line every 10 s elsewhere; always on stderr. */
struct progress_line {
	bool terminal, drawn;
	double started, last;
	const char *subject; /* what is being settled, or NULL */
	unsigned settled;    /* trials */
	size_t part, parts;  /* hypotheses: done, in all */
	double settling;     /* when the first one began */
};
void progress_begin(struct progress_line *line);
void progress_tick(void *context, const char *what, double done, double total, double seconds_left);
/* `done` of `count` hypotheses are settled. */
void progress_part(struct progress_line *line, size_t done, size_t count);
void progress_clear(struct progress_line *line);

/* ---- a run --------------------------------------------------------------------------------------------------------- */
struct work {
	struct invocation *invocation;
	struct session session;
	struct progress_line progress;
	struct store *store; /* NULL: nothing is kept; a note says why */
	struct asked_survey_list surveys; /* to be settled */
	double started;
};

/* The first trouble with the store is said, and then the run goes on without it. */
void work_store_lost(struct work *work, const struct err *err);
/* Keeps a document, in place of what had its id. */
void work_keep(struct work *work, enum store_kind kind, const char *id, const char *json);
/* What is being settled now, for the line of progress. */
void work_subject(struct work *work, const char *named, const struct binding_list *params);
/* It is settled. */
void work_settled(struct work *work);

/* Where the project and its tree are: `path` NULL: --project or the current folder. Fills the session; opens the store. */
MUST_CHECK enum status work_open(struct invocation *invocation, const char *path, struct work *ret_work,
                                 struct err *err);
/* The same without a project of the user's: `assay prove` makes its own. */
void work_open_catalogue(struct invocation *invocation, struct work *ret_work);
/* Of the paths on the command line: which of them is the project's folder (NULL: none, the current one), and which
 * restrict the scan (absolute). */
MUST_CHECK enum status work_paths(struct arena *arena, const struct options *options, const char **ret_project,
                                  struct string_list *ret_paths, struct err *err);
MUST_CHECK enum status work_scan(struct work *work, const struct string_list *paths, struct err *err);
/* What --baseline and --changed-since name, read before the scan: a mistyped one costs nothing. */
struct narrowing {
	struct finding_list before;
	struct changed_list changes;
};
MUST_CHECK enum status work_narrowing(struct work *work, struct narrowing *ret_narrowing, struct err *err);
/* After the scan. `paths`: what it was restricted to. */
void work_narrow(struct work *work, const struct narrowing *narrowing, const struct string_list *paths);
/* --confirm and --profile, after the scan; `profile` as work_profile() read it. */
MUST_CHECK enum status work_rank(struct work *work, const struct profile *profile, struct err *err);
/* What --profile names, read before the scan; NULL when it names none. */
MUST_CHECK enum status work_profile(struct work *work, struct profile **ret_profile, struct err *err);
/* The compile commands, when no scan is made. */
void work_commands(struct work *work);
/* Finds the finding of an id, a prefix of one that ends at a ':', or FILE:LINE; scans what is needed. */
MUST_CHECK enum status work_finding(struct work *work, const char *name, struct finding **ret_finding, struct err *err);
/* Narrows the project's workloads by --workload and --param, or puts --bench in their place. */
MUST_CHECK enum status work_workloads(struct work *work, struct err *err);
/* Which surveys are to be settled, after work_workloads(): that of --over or --survey, else all of the project file. */
MUST_CHECK enum status work_surveys(struct work *work, struct err *err);
/* Puts them, and how they are kept, into the options of settling. */
void work_surveys_kept(struct work *work, struct settle_options *settle);
/* Settles the surveys and run.hypotheses, and keeps what is found as it comes. */
MUST_CHECK enum status work_settle(struct work *work, struct err *err);
/* Keeps the scan's part of the run. */
void work_keep_scan(struct work *work);
/* Ends the run as `status` says, keeps it, prints the report (text: with `print`), and returns the exit status. */
int work_finish(struct work *work, enum status status, struct err *err, print_run *print);
/* Takes the run out of the store again: it was only looked at. */
void work_forget(struct work *work);
void work_release(struct work *work);
/* A run of the past, with all its documents. */
MUST_CHECK enum status run_from_store(struct store *store, struct arena *arena, const struct store_run *record,
                                      struct run *ret_run, struct err *err);

/* Judges the time verdicts of a run again from its stored samples and plans, and prints whether they are the same to the
 * last digit. *ret_exit: EXIT_DONE same, EXIT_GATE not, EXIT_JUDGE some can't be recomputed. */
MUST_CHECK enum status run_recompute(struct store *store, const struct run *run, FILE *out, int *ret_exit,
                                     struct err *err);

/* ---- the gate ------------------------------------------------------------------------------------------------------- */
enum gate_result { GATE_PASSED, GATE_FAILED, GATE_UNDECIDED };
/* Pure. `ret_text` says in one sentence what decided it. */
enum gate_result gate_judge(struct arena *arena, const struct run *run, const struct options *options,
                            const char **ret_text);

#endif
