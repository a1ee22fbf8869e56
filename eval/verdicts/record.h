/* Makes recordings: programs of known truth, load, and every way of timing on the same machine state. */
#ifndef ASSAY_EVAL_RECORD_H
#define ASSAY_EVAL_RECORD_H

#include "base/err.h"
#include "model/session.h"
#include "recording.h"

/* The folder of a recording session; `cc` is the compiler of the programs. Sets session->workdir. */
MUST_CHECK enum status programs_open(struct session *session, const char *cc, struct err *err);
/* Builds eval/verdicts/bench/WORKLOAD.c and sets the variant's program and how it is linked. `layout` NO_LAYOUT or 0:
 * nothing in front of its code and data; else pads by its number. `twin`: another file with the same bytes. Built once. */
MUST_CHECK enum status program_build(struct session *session, const char *cc, const char *workload, int layout, bool twin,
                                     struct variant *ret_variant, struct err *err);

struct record_options {
	const char *dir; /* where recordings go; made when it isn't there */
	const char *cc;
	const char *command; /* as typed: kept beside the recordings */
	struct string_list workloads;
	double effects[16];
	size_t effect_count;
	unsigned trials;
	const char *load; /* "none", "one", "twice" */
	enum recording_kind kind;
	double seconds;   /* for each way of recording */
	unsigned samples_every;  /* every n-th trial also samples one process after the other; 0: none does */
	unsigned commands_every; /* every n-th trial also times whole processes; 0: none does */
	unsigned layouts;        /* 2 or more: layouts of one source in place of effects */
	unsigned hyperfine;      /* how many trials of each workload and effect run the real hyperfine as well */
	uint64_t seed;
	bool terminal; /* progress is overwritten in place */
};
/* Goes on where an earlier call was stopped: what is recorded is not recorded again. ST_INTERRUPTED: Ctrl-C; what was
 * done is kept. Progress goes to stderr. */
MUST_CHECK enum status record(struct session *session, const struct record_options *options, struct err *err);

/* Writes down when, where and how recordings of `dir` were made: a line of JSON in DIR/sessions.jsonl. */
MUST_CHECK enum status session_describe(struct session *session, const char *dir, const char *cc, const char *command,
                                        struct err *err);

#endif
