/* Reach: does a workload run what a candidate changes, and for how much of its time? */
#ifndef ASSAY_MODEL_REACH_H
#define ASSAY_MODEL_REACH_H

#include <stdbool.h>

/* Shares are fractions of what happens inside of the workload's run(), of the baseline. They belong to the changed
 * functions together with everything that these call. */
struct reach {
	bool counted;             /* the functions that a run executes are known, by emulation */
	bool executed;            /* with `counted`: some changed function runs, set-up included */
	double instruction_share; /* with `counted` */
	bool sampled;
	unsigned samples;
	double time_share, time_share_high; /* with `sampled`: as seen, and an upper confidence bound */
	bool bounded;             /* both sides were looked at, and no more than this can come of it: */
	double gain_most, loss_most; /* with `bounded`: fractions of the time: 0.004 */
};

/* A part of share `p` of the time that vanishes makes the whole faster by the factor 1 / (1 - p): a gain of
 * p / (1 - p). INFINITY for 1. */
double reach_gain_most(double share);

#endif
