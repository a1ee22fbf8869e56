/* What measuring pairs, pairs of commands and the rounds of a survey have in common: how long it lasts and how it ends, what
 * is told while it lasts, which CPU it has. What a sample is and how many are taken is not here. measure*.c's own. */
#ifndef ASSAY_STAGE_MEASURE_H
#define ASSAY_STAGE_MEASURE_H

#include "base/stat.h"
#include "model/session.h"
#include "model/variant.h"
#include "port/host.h"
#include "port/proc.h"

enum { BASELINE, CANDIDATE };

enum {
	SAID_LINES = 5,
	COPY_MAX_BYTES = 16 * 1024 * 1024, /* larger programs run in place: copying would cost more than it samples */
	WARM_ROUNDS_MAX = 4,
	CALIBRATION_TRIES = 4,
	SAMPLES_PER_BLOCK_MAX = 199, /* of each side or value */
};

static const uint64_t DEFAULT_TARGET_NS = 200000;
static const uint64_t PRIME_NS = 100000;        /* refills caches that the other process has used */
static const uint64_t PRIME_NONE_ABOVE_NS = 10000000; /* an iteration so long that refilling is below 1 % of it */
static const uint64_t WARM_NS = 1000000;
/* A shorter limit than 20 times what is expected and so long, because the budget ends, proves no hang. */
static const double LIMIT_FAIR_S = 5;

/* ---- the course of a measurement ---------------------------------------------------------------------------------- */

struct course {
	struct session *session;
	const struct plan *plan;
	enum stop_reason *stop; /* the measurement's */
	double started, deadline, ticked;
	double margin; /* natural logarithm */
	struct host_affinity affinity;
	bool realtime; /* measured processes may be */
	bool sink_failed, done;
	struct err err; /* what assay could not do; it ends the measurement */
};

/* Begins now. */
void course_open(struct course *course, struct session *session, const struct plan *plan, enum stop_reason *stop);
/* What became of it. */
MUST_CHECK enum status course_close(const struct course *course, struct err *err);
/* Ends it, for the first reason that is given. */
void course_stop(struct course *course, enum stop_reason reason);
/* Ends it, since assay itself can't go on. */
void course_error(struct course *course, enum status status, const char *text);
/* Ends it at Ctrl-C and when its budget is spent. */
void course_look(struct course *course);
/* Seconds. */
double course_left(const struct course *course);
/* How long to wait for an answer that is expected after `expected_s`. */
double course_limit(const struct course *course, double expected_s);
/* The same of a start. Nobody knows how long the first one takes (`expected_s` 0): it has the whole budget. */
double course_limit_start(const struct course *course, double expected_s);
/* Tells how far it is. May be called often. */
void course_tick(struct course *course);
/* The sink failed: said once, and nothing more is put there. `what`: "measurement" */
void course_unstored(struct course *course, const char *what, const struct err *trouble);
/* Keeps a pair, and puts it into the sink, which may be NULL. */
void course_keep(struct course *course, const struct sample_sink *sink, struct pair_list *pairs, const struct pair *pair);
/* cseq_add(); false: out of memory, and it has ended. */
MUST_CHECK bool course_add(struct course *course, struct cseq *cseq, double value);

/* ---- CPUs and processes --------------------------------------------------------------------------------------------- */

/* Names the CPU for programs, where the plan leaves it open; or says why nothing can be measured on this machine. */
MUST_CHECK enum status cpu_choose(struct session *session, const struct variant *const *variants, size_t count,
                                  struct plan *plan, struct err *err);
/* Leaves the plan's CPU to what is measured. `raise`: and lets that be of real-time priority, where it may. */
void course_cpu_leave(struct course *course, bool raise);
void course_cpu_return(struct course *course);
/* Ends all of a block's processes. `graceful`: they get a moment, since their teardown may remove files. */
void children_end(struct proc_child *const *children, size_t count, bool graceful);

/* ---- how long a block is -------------------------------------------------------------------------------------------- */

/* What blocks have cost so far, in seconds. */
struct block_cost {
	double start_s; /* the cheapest start, since one that was disturbed tells nothing about the next; 0: none yet */
	double starts_wall_s, samples_wall_s; /* of all blocks, with what they waited for the CPU */
};

void block_cost_start(struct block_cost *cost, double start_s);
/* How many pairs or rounds of `one_s` the next block may have so that enough blocks fit the budget; below 1: not even one.
 * `taken`: of all `blocks`. */
double block_affordable(const struct course *course, const struct block_cost *cost, uint32_t blocks, size_t taken,
                        double one_s);
/* The least that a block shall have: an outlier among short samples shall not decide it. */
double block_least(double sample_s);

uint64_t at_least_one(double value);

#endif
