/* What may be counted, by which names, and when the numbers may be believed. The workload's program does the counting
 * (bench/counters.h); workload_count() asks it. */
#ifndef ASSAY_PORT_PERF_EVENTS_H
#define ASSAY_PORT_PERF_EVENTS_H

#include "base/arena.h"
#include "base/err.h"
#include "bench/protocol.h"

#include <stddef.h>

struct perf_event {
	const char *name; /* "branch misses" */
	struct bench_event code;
};

/* Events that are counted together: on the CPU at the same times, or not at all. Of every set the first event can't
 * stand still while the program runs. */
struct perf_event_set {
	struct perf_event at[BENCH_EVENTS_MAX];
	unsigned count;
};

/* Core cycles, instructions, branches, branch misses, cache misses, in this order. */
enum { PERF_CYCLES, PERF_INSTRUCTIONS };
struct perf_event_set perf_events_core(void);
/* Task clock, page faults, context switches: what every kernel counts, for tests of the same way. */
struct perf_event_set perf_events_software(void);

/* The CPU counts it, not the kernel. */
bool perf_event_hardware(const struct perf_event *event);
/* How its number is come by: "hardware counter, user space". */
const char *perf_event_way(const struct perf_event *event);

/* The events of these names, as libpfm4 has them ("L2_RQSTS:MISS", "PAGE-FAULTS"), behind cycles, or behind the task clock
 * where the kernel counts all of them. ST_USAGE: no such event for this CPU, or too many at once. */
MUST_CHECK enum status perf_events_named(struct arena *arena, const struct string_list *names, struct perf_event_set *ret_set,
                                         struct err *err);

/* Slots, and the four parts that they fall into, as the kernel names them in /sys/bus/event_source. `root` stands before
 * "/sys": "" for this machine, else a recorded tree. NULL, or why there are none. */
const char *perf_events_topdown(struct arena *arena, const char *root, struct perf_event_set *ret_set);

/* Pure: "event=0x00,umask=0x4" under a PMU's formats ("event" is "config:0-7"). False: not understood. */
struct perf_format {
	const char *name, *bits;
};
bool perf_code_parse(const char *text, const struct perf_format *formats, size_t count, uint64_t *ret_config);

/* Shares of the slots (one micro-operation that could have been issued), that add up to 1. */
struct perf_topdown {
	double retiring, bad_speculation, front_end, back_end;
};
/* Pure: of slots, retiring, bad speculation, front end bound, back end bound. NULL, or why they may not be believed. */
const char *perf_topdown_of(const double values[5], struct perf_topdown *ret_topdown);

/* Why events can't be counted, and what would help: `code` is perf_event_open's errno. */
const char *perf_open_lack(struct arena *arena, int code, const char *event);
/* Pure: NULL, or why counts may not be used: none were read, the counters were shared with others for a part of the time
 * (nothing is scaled up from the rest), or one that can't stand still did. */
const char *perf_counts_lack(const struct bench_counts *counts);

#endif
