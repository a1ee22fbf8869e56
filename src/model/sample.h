/* Samples: what measure gathers and judge reads. Times are in nanoseconds. */
#ifndef ASSAY_MODEL_SAMPLE_H
#define ASSAY_MODEL_SAMPLE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Causes, declared beforehand, for which a pair may be left out. Never a cause: its value. */
enum { PAIR_MIGRATED = 1, PAIR_PREEMPTED = 2, PAIR_PAGE_FAULT = 4 };

/* What is compared. */
enum metric {
	METRIC_TIME,   /* a driver's own clock, between two time stamps inside of its process */
	METRIC_WALL,   /* of a command: from its start to its end */
	METRIC_CPU,    /* of a command: user and system time, with that of the children that it waited for */
	METRIC_LOWER,  /* a number that a command prints, the lower the better */
	METRIC_HIGHER, /* the same, the higher the better */
};

/* One baseline sample and one candidate sample, taken one right after the other. */
struct pair {
	uint32_t block; /* which pair of fresh processes, from 0 */
	uint32_t index; /* within the block, from 0 */
	uint64_t layout; /* seed that the layouts of the block's two programs are drawn from; 0: as built */
	bool candidate_first; /* the coin */
	uint64_t iterations;  /* the same on both sides */
	uint64_t baseline_ns, candidate_ns; /* METRIC_TIME; of commands the wall clock's, whatever the metric is */
	uint32_t baseline_flags, candidate_flags; /* PAIR_… */
	enum metric metric; /* the same in all pairs of a measurement */
	uint64_t baseline_cpu_ns, candidate_cpu_ns; /* of commands */
	double baseline_value, candidate_value;     /* METRIC_LOWER and METRIC_HIGHER: as printed */
};
LIST_OF(struct pair, pair_list);

/* What is fixed before the first sample is taken. */
struct plan {
	uint64_t seed;
	double alpha;     /* of this trial, after division by the family's size */
	double margin;    /* 0.01: the smallest effect worth having, as a fraction */
	double budget_s;  /* wall clock for this trial, starts and priming included */
	uint64_t sample_target_ns; /* aimed at; a workload whose one iteration is longer has longer samples */
	uint32_t pairs_per_block;  /* 0: from the cost of starting a process */
	uint32_t layouts; /* 0 or 1: as built; else every block has a fresh layout, and a verdict needs so many at least */
	bool same_layout; /* over layouts: both sides of a block at the same addresses, as a control wants it, whose spread is to be
	                   * noise alone; else each draws its own. Not kept with the samples */
	enum metric metric;
	int cpu; /* both processes are pinned to it; CPU_CHOOSE: measure picks one; CPU_ANY: unpinned */
};
enum { CPU_CHOOSE = -1, CPU_ANY = -2 };

enum stop_reason {
	STOP_DECIDED,
	STOP_BUDGET,
	STOP_INTERRUPTED,
	STOP_FAILED,
	STOP_UNSEEN, /* of several threads: what they do to each other can't be seen on these CPUs */
};

const char *stop_reason_name(enum stop_reason stop); /* "budget" */
bool stop_reason_parse(const char *name, enum stop_reason *ret_stop);

/* Of a workload of several threads: what a cache line costs that goes to and fro between two of their CPUs, taken before
 * the first sample. Of all pairs of CPUs the one where it shows least. */
struct transfer {
	uint32_t threads; /* 0: the workload has one, and nothing else holds */
	const char *cpus; /* "1,0": where the threads run, in the order of their index; NULL: the workload says where */
	uint32_t between[2];
	double shared_ns;  /* for one turn of two threads that write one line by turns */
	double private_ns; /* for the same on lines of their own; 0: not measured, since there is one CPU only */
	uint32_t bursts;   /* that were timed */
};

/* That a line goes from one CPU to another takes at least so many times what the same costs where it stays; below, the
 * CPUs share the cache that both write to, and what threads do to each other has no price. Above so many ns it is no
 * transfer: one CPU at a time runs. docs/adr/0006. */
static const double TRANSFER_RATIO_LEAST = 2, TRANSFER_MOST_NS = 2000;

bool transfer_visible(const struct transfer *transfer);
/* "2 threads on CPUs 1,0: a cache line takes 56.1 ns from CPU 1 to 0, 6.2 times the 9.0 ns where it stays", and when that
 * can't be seen, why; NULL: the workload has one thread. */
const char *transfer_text(struct arena *arena, const struct transfer *transfer);

struct measurement {
	struct plan plan;
	struct pair_list pairs;
	uint32_t blocks;
	uint64_t iterations;
	uint64_t bytes_per_iteration; /* as the workload declares; 0: it doesn't */
	double measured_s, elapsed_s; /* inside samples; in all */
	enum stop_reason stop;
	const char *failure; /* with STOP_FAILED: which variant, what it said */
	bool candidate_failed; /* with STOP_FAILED: it was the candidate */
	bool stationary; /* the first third's interval overlaps the rest's */
	struct transfer transfer;
};

/* Where samples go while they are taken. A failing sink ends nothing: measure reports it once and goes on. */
struct sample_sink {
	enum status (*put)(void *context, const struct pair *pair, struct err *err);
	void *context;
};

/* ---- the unit of inference: the block ------------------------------------------------------------------------------ */
/* Migrated or preempted, on either side. A page fault is noted but belongs to the work: a candidate that faults more
 * must not gain by it. */
bool pair_excluded(const struct pair *pair);
/* How many are left out of their blocks. */
size_t pairs_excluded_count(const struct pair_list *pairs);
/* The median log-ratio ln(candidate / baseline) of each block under the pairs' metric (the other way round where more is
 * better, so that below zero is always better), in their order; `ret_ratios` has room for
 * `pairs->count`. Excluded pairs are left out, but a block that has no other pairs is taken as it is. With `all`
 * nothing is left out. Pairs of one block must be adjacent. Returns the number of blocks. */
size_t pairs_block_ratios(const struct pair_list *pairs, bool all, double *ret_ratios);
/* Does the first third's interval overlap the rest's? True while too little is known. */
bool pairs_stationary(const struct pair_list *pairs, double alpha);
/* What a pair says of one side under a metric, for one iteration: nanoseconds, or the printed number. */
double pair_quantity(const struct pair *pair, enum metric metric, bool candidate);
/* Medians of the time for one iteration (of commands: the wall clock's unless the metric is METRIC_CPU), over the pairs
 * that are not excluded (over all when every one is). 0: no pairs. */
void pairs_medians(const struct pair_list *pairs, double *ret_baseline_ns, double *ret_candidate_ns);
/* The same of any metric. */
void pairs_metric_medians(const struct pair_list *pairs, enum metric metric, double *ret_baseline, double *ret_candidate);

const char *metric_name(enum metric metric); /* "CPU time" */
bool metric_parse(const char *name, enum metric *ret_metric);

#endif
