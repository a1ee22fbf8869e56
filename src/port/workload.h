/* A workload's program (src/bench/runtime.c) seen from assay: how it is started, asked and understood. */
#ifndef ASSAY_PORT_WORKLOAD_H
#define ASSAY_PORT_WORKLOAD_H

#include "bench/protocol.h"
#include "model/project.h"
#include "port/proc.h"

/* argv of `program` with its parameters, the seed of its data and a mode: "--serve", "--outputs", …; `number` follows
 * the mode when it is not NULL. */
struct proc_request workload_request(struct arena *arena, const char *program, const struct binding_list *params,
                                     uint64_t seed, const char *mode, const char *number);

/* Says which CPUs its threads get, when it has several: "1,0". "" leaves that to the program. */
void workload_request_cpus(struct arena *arena, struct proc_request *request, const char *cpus);

/* Starts a program with "--serve" and waits until its set-up is done. ST_INPUT: it ended before that, ST_TIMEOUT: no
 * answer in time; in both cases proc_child_said() tells more, and the caller ends the child. */
MUST_CHECK enum status workload_start(const struct proc_request *request, double timeout_s, struct proc_child *ret_child,
                                      struct bench_reply *ret_ready, struct err *err);
/* `prime` iterations unmeasured, then `iterations` between two time stamps. Errors as above. */
MUST_CHECK enum status workload_sample(struct proc_child *child, uint64_t prime, uint64_t iterations, double timeout_s,
                                       const volatile sig_atomic_t *interrupted, struct bench_reply *ret_reply,
                                       struct err *err);
/* Lets it count these events from now on, in place of others. *ret_code 0, or perf_event_open's errno for event *ret_which. */
MUST_CHECK enum status workload_events(struct proc_child *child, const struct bench_event *events, unsigned count,
                                       double timeout_s, const volatile sig_atomic_t *interrupted, int *ret_code,
                                       unsigned *ret_which, struct err *err);
/* As workload_sample(), but counts; what the readings take is in them. */
MUST_CHECK enum status workload_count(struct proc_child *child, uint64_t prime, uint64_t iterations, double timeout_s,
                                      const volatile sig_atomic_t *interrupted, struct bench_counts *ret_counts,
                                      struct err *err);
/* Of a program of several threads: what a cache-line transfer costs between their CPUs. Errors as above. */
MUST_CHECK enum status workload_transfer(struct proc_child *child, double timeout_s, const volatile sig_atomic_t *interrupted,
                                         struct bench_transfer *ret_transfer, struct err *err);
/* A new file `path` with the bytes of the program, whose pages are drawn anew; false: it can't be made, or the program is
 * larger than `max_bytes`. What `path` named before is removed. */
bool workload_copy(const char *program, const char *path, uint64_t max_bytes);
/* Asks it to end, without waiting. */
void workload_quit(struct proc_child *child);

/* How long an iteration takes, roughly, above 0: samples of more and more of them, until one is long enough. Errors as
 * above. */
MUST_CHECK enum status workload_probe(struct proc_child *child, double timeout_s, const volatile sig_atomic_t *interrupted,
                                      double *ret_seconds, struct err *err);

/* ---- emulated ------------------------------------------------------------------------------------------------------ */
/* `native` under a tool of valgrind, with its options, which end with NULL. */
struct proc_request workload_request_emulated(struct arena *arena, const struct proc_request *native,
                                              const char *const *options);
/* Why the program of the variant `name` can't be emulated; NULL: it was. */
const char *workload_emulation_lack(struct arena *arena, const struct proc_request *request,
                                    const struct proc_result *result, const char *name);

#endif
