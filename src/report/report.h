/* Reports: pure functions of the run. Nothing here reads a clock, a terminal or the store. */
#ifndef ASSAY_REPORT_REPORT_H
#define ASSAY_REPORT_REPORT_H

#include "base/err.h"
#include "model/agreement.h"

#include <stdio.h>

/* ---- JSON: docs/schema/run-1.json ----------------------------------------------------------------------------- */
/* The whole run as one document that ends in a newline. Numbers that don't exist are null, never NaN or infinity; text
 * that is not UTF-8 has its wrong bytes replaced by U+FFFD. The same run gives the same text, whatever the locale. */
char *json_run(struct arena *arena, const struct run *run);

/* The same in pieces, as the store keeps them: the run without its lists (but with its families), and one of each. */
char *json_head(struct arena *arena, const struct run *run);
char *json_finding(struct arena *arena, const struct finding *finding);
char *json_hypothesis(struct arena *arena, const struct hypothesis *hypothesis);
char *json_trial(struct arena *arena, const struct trial *trial);
char *json_survey(struct arena *arena, const struct survey *survey);
char *json_note(struct arena *arena, const struct note *note);

/* Back again: run -> text -> run -> text gives the same text. run.project is NULL, workloads have their name only, and
 * a finding's edits are gone (its diff is there). ST_INPUT: what is wrong and where in the document. */
MUST_CHECK enum status json_run_read(struct arena *arena, const char *text, size_t size, struct run *ret_run,
                                     struct err *err);
struct json_pieces {
	const char *head;
	struct string_list findings, hypotheses, trials, surveys, notes;
};
MUST_CHECK enum status json_run_join(struct arena *arena, const struct json_pieces *pieces, struct run *ret_run,
                                     struct err *err);
MUST_CHECK enum status json_finding_read(struct arena *arena, const char *text, struct finding **ret_finding,
                                         struct err *err);

/* docs/schema/doctor-1.json. */
struct checkup;
char *json_checkup(struct arena *arena, const struct checkup *checkup);

/* ---- Markdown, as GitHub reads it ------------------------------------------------------------------------------ */
/* The whole run: verdicts, each trial with its proof and its repeat command, findings, what could not be had. UTF-8. */
void markdown_run(FILE *out, const struct run *run);
/* Two runs beside each other: what differs first. */
void markdown_agreement(FILE *out, const struct agreement_of_runs *agreement);

/* ---- text for people ------------------------------------------------------------------------------------------ */
struct term_options {
	bool colour;
	bool utf8;      /* false: ASCII only */
	bool all;       /* of a scan: also the findings that its baseline knows */
	bool kept;      /* the run is in the store: `assay show` finds it */
	unsigned width; /* columns; taken as 80 to 160 */
};

/* Findings by what they may be worth: those that stand before those that are deliberate or not built, then severity,
 * tier, file and line; guards last. */
void findings_rank(struct finding_list *findings);

/* The findings of a scan, and what it could not look at. */
void term_scan(FILE *out, const struct run *run, const struct term_options *options);
/* The verdicts of try and audit: what a person pastes into a review. */
void term_verdicts(FILE *out, const struct run *run, const struct term_options *options);
/* Which patterns of the catalogue cost here: `assay prove`. */
void term_prove(FILE *out, const struct run *run, const struct term_options *options);
/* What such a run says of one pattern's two examples; `pattern` is its id. */
void term_prove_pattern(FILE *out, const struct run *run, const char *pattern, const struct term_options *options);
/* Is there anything to say? */
bool proves_pattern(const struct run *run, const char *pattern);
/* Everything that is known of a run. */
void term_record(FILE *out, const struct run *run, const struct term_options *options);
/* Two runs beside each other: counts, and each answer that is not the same in both. */
void term_agreement(FILE *out, const struct agreement_of_runs *agreement, const struct term_options *options);
/* A checkup of this machine: what a person pastes into an issue. */
void term_checkup(FILE *out, const struct checkup *checkup, const struct term_options *options);
/* A unified diff, coloured. */
void term_diff(FILE *out, const char *diff, const struct term_options *options);
/* A paragraph, wrapped; the first line begins with `first`, the others with as many blanks. */
void term_paragraph(FILE *out, const char *first, const char *text, const struct term_options *options);
/* One finding. `database`: compile commands are known, so `built` says something. */
void term_finding(FILE *out, const struct finding *finding, bool database, const struct term_options *options);
/* "1.4 s", "12 ms", "2 m 03 s". */
const char *term_seconds(struct arena *arena, double seconds);
/* "4.52 us": a time in nanoseconds with its unit. */
const char *term_ns(struct arena *arena, double ns);

#endif
