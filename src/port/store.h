/* The store: what was settled before. One SQLite file; store.c is the only SQL of the program.
 *
 * Documents are JSON texts that report/json.c makes and reads; the store keeps them and knows nothing of their
 * inside. Everything that is put is committed at once: a run that is killed at any moment loses at most the pair that
 * was being written. All functions fail with one sentence that says what, where and what to do; a store that failed
 * stays usable for closing and for reading what is there.
 */
#ifndef ASSAY_PORT_STORE_H
#define ASSAY_PORT_STORE_H

#include "base/arena.h"
#include "base/err.h"
#include "model/survey.h"

struct store;

/* $XDG_STATE_HOME/assay/assay.db, else ~/.local/state/assay/assay.db. ST_SYSTEM: no home folder is known. */
MUST_CHECK enum status store_default_path(struct arena *arena, const char **ret_path, struct err *err);

/* Opens the file, makes it and its folders where they are missing, and brings an older schema up to date. ST_INPUT: it
 * is damaged or was written by a newer assay. */
MUST_CHECK enum status store_open(const char *path, struct store **ret_store, struct err *err);
void store_close(struct store *store); /* NULL: does nothing */

/* ---- one run, as it goes ------------------------------------------------------------------------------------- */
struct store_run {
	const char *id, *started, *command, *tree;
	const char *state; /* run_state_name() */
	double seconds;
	const char *head;  /* JSON: the run without its lists */
	unsigned trials;   /* set by store_run_list() and store_run_find(), not read by store_run_put() */
};
LIST_OF(struct store_run, store_run_list);

/* Begins a run, or replaces what is known of it. */
MUST_CHECK enum status store_run_put(struct store *store, const struct store_run *run, struct err *err);

/* Removes a run with everything that belongs to it. */
MUST_CHECK enum status store_run_delete(struct store *store, const char *run, struct err *err);

enum store_kind { STORE_FINDING, STORE_HYPOTHESIS, STORE_TRIAL, STORE_NOTE, STORE_SURVEY };
struct store_document {
	const char *id; /* unique in the run and kind, but for notes, where it says where */
	const char *json;
};
LIST_OF(struct store_document, store_document_list);

/* Puts all of one kind in one transaction, in this order; a document whose id is there already is replaced. Notes are
 * replaced as a whole. */
MUST_CHECK enum status store_documents_put(struct store *store, const char *run, enum store_kind kind,
                                           const struct store_document_list *documents, struct err *err);
/* One pair of a trial (`control` 0), or of its first or second control (1, 2). The trial need not be there yet. */
MUST_CHECK enum status store_pair_put(struct store *store, const char *run, const char *trial, unsigned control,
                                      const struct pair *pair, struct err *err);

/* The plan of a measurement before its first sample, and once more when it has `ended`. Its pairs are not looked at. */
MUST_CHECK enum status store_measurement_put(struct store *store, const char *run, const char *trial, unsigned control,
                                             const struct measurement *measurement, bool ended, struct err *err);

/* One round of a survey, all of it or nothing; `samples` of them. The survey need not be there yet. */
MUST_CHECK enum status store_round_put(struct store *store, const char *run, const char *survey, const struct round *round,
                                       size_t samples, struct err *err);
/* As store_measurement_put(); the rounds are not looked at. */
MUST_CHECK enum status store_survey_measurement_put(struct store *store, const char *run, const char *survey,
                                                    const struct survey_measurement *measurement, bool ended,
                                                    struct err *err);

/* ---- runs of the past ---------------------------------------------------------------------------------------- */
/* Newest first, at most `limit` (0: all). */
MUST_CHECK enum status store_run_list(struct store *store, struct arena *arena, unsigned limit,
                                      struct store_run_list *ret_runs, struct err *err);
/* By id, by a prefix that only one run has, or "last". ST_USAGE: none, or several. */
MUST_CHECK enum status store_run_find(struct store *store, struct arena *arena, const char *name,
                                      struct store_run *ret_run, struct err *err);
MUST_CHECK enum status store_documents_get(struct store *store, struct arena *arena, const char *run,
                                           enum store_kind kind, struct store_document_list *ret_documents,
                                           struct err *err);
MUST_CHECK enum status store_pairs_get(struct store *store, struct arena *arena, const char *run, const char *trial,
                                       unsigned control, struct pair_list *ret_pairs, struct err *err);
/* A measurement with its pairs, as it was when judged. *ret_ended false: none is known, or it was cut off. */
MUST_CHECK enum status store_measurement_get(struct store *store, struct arena *arena, const char *run, const char *trial,
                                             unsigned control, struct measurement *ret_measurement, bool *ret_ended,
                                             struct err *err);
/* The same of a survey, with its rounds; those are handed back even when *ret_ended is false. */
MUST_CHECK enum status store_survey_measurement_get(struct store *store, struct arena *arena, const char *run,
                                                    const char *survey, struct survey_measurement *ret_measurement,
                                                    bool *ret_ended, struct err *err);
/* The newest document of a finding with that id; *ret_json NULL: no run knows it. */
MUST_CHECK enum status store_finding_last(struct store *store, struct arena *arena, const char *finding,
                                          const char **ret_run, const char **ret_json, struct err *err);

/* ---- for tests ----------------------------------------------------------------------------------------------- */
unsigned store_schema_version(void);
/* Lets the file grow to so many pages at most: a full disk in miniature. */
void store_limit_pages(struct store *store, unsigned pages);

#endif
