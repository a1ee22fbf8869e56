/* A checkup: is this machine fit to judge, and what will each proof lack here? */
#ifndef ASSAY_MODEL_CHECKUP_H
#define ASSAY_MODEL_CHECKUP_H

#include "model/run.h"

enum probe_result {
	PROBE_FINE,
	PROBE_NOTE,  /* worth knowing, or it can't be told here; costs nothing that is known */
	PROBE_LIMIT, /* something is lost: `costs` says what */
	PROBE_UNFIT, /* nothing may be judged here */
};

/* One thing that was tried. */
struct probe {
	const char *group, *name; /* "measuring", "clock source" */
	enum probe_result result;
	const char *found; /* what was seen, a few words */
	const char *costs; /* which proof or precision is lost; NULL with PROBE_FINE */
	const char *mend;  /* what to do about it; NULL: nothing is known */
};
LIST_OF(struct probe, probe_list);

/* A against a copy of A on a workload that assay brings along. */
struct noise {
	const char *name; /* "arithmetic" */
	struct control control; /* not `done`: `lack` says why */
	const char *lack;
};
LIST_OF(struct noise, noise_list);

struct checkup {
	enum probe_result verdict; /* PROBE_FINE, PROBE_LIMIT or PROBE_UNFIT */
	const char *text;          /* "fit with limits: …" */
	struct host host;
	const char *version, *date;
	struct probe_list probes;
	struct noise_list noises;
};

const char *probe_result_name(enum probe_result result); /* "fine", "note", "limit", "unfit" */

#endif
