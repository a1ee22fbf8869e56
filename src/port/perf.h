/* perf_event_open: where a process is, asked by a clock. What it counts is perf_events.h.
 *
 * Sampling uses the software event `cpu-clock`, which needs no performance counters of the CPU. */
#ifndef ASSAY_PORT_PERF_H
#define ASSAY_PORT_PERF_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- sampling ---------------------------------------------------------------------------------------------------- */
struct perf_sample {
	uint64_t ip;  /* in user space: where it was, or where it entered the kernel from; 0: nowhere */
	bool kernel;  /* it was in the kernel */
};
LIST_OF(struct perf_sample, perf_sample_list);

struct perf_sampler;

/* Samples the threads that `pid` has and those that they start, which must run on `cpu` (-1: any, and new threads are
 * not seen). NULL and *ret_lack (in the arena): not possible here, why, and what would help. */
struct perf_sampler *perf_sampler_open(struct arena *arena, int pid, int cpu, uint64_t period_ns, const char **ret_lack);
bool perf_sampler_kernel(const struct perf_sampler *sampler); /* it sees time in the kernel */
void perf_sampler_period(struct perf_sampler *sampler, uint64_t period_ns);
/* Moves what was gathered into the list; returns how many samples were lost since the last time. */
uint64_t perf_sampler_drain(struct perf_sampler *sampler, struct arena *arena, struct perf_sample_list *samples);
/* CPU time of the sampled threads so far, kernel included. */
double perf_sampler_seconds(const struct perf_sampler *sampler);
void perf_sampler_close(struct perf_sampler *sampler);

/* Pure: the records of a ring buffer, in order. `callchains`: they were asked for. Returns lost ones. A record that is
 * cut short ends the reading. */
uint64_t perf_records_parse(struct arena *arena, const void *bytes, size_t size, bool callchains,
                            struct perf_sample_list *samples);

/* ---- where a process has its files ---------------------------------------------------------------------------------- */
struct perf_mapping {
	uint64_t start, end, offset; /* `offset` in the file of what lies at `start` */
	const char *path;            /* "" for none */
};
LIST_OF(struct perf_mapping, perf_mapping_list);

/* Pure: the executable ones of the text of /proc/PID/maps. */
void perf_maps_parse(struct arena *arena, const char *text, struct perf_mapping_list *ret_mappings);
/* Of a process; empty when it can't be read. */
void perf_maps_read(struct arena *arena, int pid, struct perf_mapping_list *ret_mappings);
/* NULL: no mapping holds it. */
const struct perf_mapping *perf_mapping_at(const struct perf_mapping_list *mappings, uint64_t ip);

#endif
