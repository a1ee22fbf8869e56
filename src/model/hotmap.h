/* Where a workload's time goes, before anything is tried: the hot-path map, and what a change could gain at most that is
 * confined to a part of it. */
#ifndef ASSAY_MODEL_HOTMAP_H
#define ASSAY_MODEL_HOTMAP_H

#include "model/project.h"
#include "model/variant.h"

/* One function, or a named set of functions. Shares are fractions of what happens inside of the workload's run(). */
struct hot_share {
	const char *name;   /* the symbol, or the part's name */
	const char *object; /* the file that holds it, of code outside of the program: "libc.so.6"; NULL: the program */
	bool found;         /* of a part: the program has such functions */
	bool counted, sampled;
	double instruction_share; /* with `counted`, emulated CPU; of a part: with all that it calls */
	double time_share;        /* with `sampled`; of a part: with all that it calls */
	double time_share_high;   /* of a part: upper confidence bound */
	double gain_most;         /* of a part: p / (1 - p) of that bound: no change confined to it can bring more */
};
LIST_OF(struct hot_share, hot_share_list);

struct hotmap {
	const char *id; /* unique in the run: "m1" */
	const struct workload *workload;
	struct binding_list params;
	struct build_config config;
	unsigned samples;
	uint64_t iterations; /* that were emulated; 0: none */
	const char *lack;    /* what could not be had, and why; NULL: nothing */
	struct hot_share_list functions; /* each by itself, without what it calls, hottest first; only those that matter */
	struct hot_share_list parts;
	double seconds;
};
LIST_OF(struct hotmap, hotmap_list);

#endif
