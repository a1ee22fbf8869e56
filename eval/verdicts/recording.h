/* One trial's recording: the same two programs, timed in the ways that assay and its peers time them. */
#ifndef ASSAY_EVAL_RECORDING_H
#define ASSAY_EVAL_RECORDING_H

#include "base/err.h"
#include "model/sample.h"

#include <stdio.h>

/* One sample of one side, and when it was complete: seconds of wall clock since that side's recording began. */
struct timed {
	uint64_t ns;
	double end_s;
};
LIST_OF(struct timed, timed_list);
LIST_OF(double, seconds_list);

enum { NO_LAYOUT = -1 };

/* What assay measured. The peers' ways are recorded beside any of them. */
enum recording_kind {
	KIND_BUILT,   /* two programs as built */
	KIND_LAYOUTS, /* the same two over layouts: every block links both anew */
	KIND_COMMAND, /* two whole commands */
	KIND_TRUTH,   /* as built, for long and by itself: what more work really takes */
	KINDS
};

struct recording {
	char workload[16], load[8]; /* load: "none", "one", "twice" */
	enum recording_kind kind;
	double effect_percent;      /* more work on the candidate's side; 0: none, of byte copies or of layouts of one source */
	double seconds;             /* the budget of each way of recording */
	int32_t layout;             /* NO_LAYOUT, or i: layout 0 against layout i */
	uint32_t index;             /* the trial's number */
	uint64_t seed;
	uint64_t iterations;         /* in one sample */
	uint64_t command_iterations; /* in one run of the whole program */
	double interleaved_s;        /* wall clock of the whole measurement, the choice of a CPU included */
	uint32_t stop;               /* enum stop_reason */
	/* assay's way: blocks of interleaved pairs by measure(); with each pair the seconds since it was called */
	struct pair_list pairs;
	struct seconds_list stamps;
	/* the peers' way: all of A, then all of B */
	struct timed_list samples[2];  /* in one process each; empty when this trial has none */
	struct timed_list commands[2]; /* whole processes; likewise */
};

/* "alu-0-twice-00012", "alu-layout03-over-none-00000" or "alu-5-command-none-00001": one file each, in any order. */
const char *recording_name(struct arena *arena, const struct recording *recording);
/* Whole or not at all: it is written beside `path` and renamed. */
MUST_CHECK enum status recording_write(const char *path, const struct recording *recording, struct err *err);
/* ST_INPUT: no recording of this version. */
MUST_CHECK enum status recording_read(struct arena *arena, const char *path, struct recording *ret_recording,
                                      struct err *err);

#endif
