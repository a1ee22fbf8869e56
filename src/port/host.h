/* This machine: what a verdict depends on, found by trying. */
#ifndef ASSAY_PORT_HOST_H
#define ASSAY_PORT_HOST_H

#include "base/arena.h"
#include "model/run.h"
#include "port/topology.h"

/* Everything known of struct host; what can't be read is "unknown". */
void host_describe(struct arena *arena, struct host *ret_host);

/* Does every CPU have the feature, as /proc/cpuinfo spells it ("avx512bw", "asimd")? */
bool host_cpu_has(const char *feature);
/* The same of that file's text. */
bool cpuinfo_has(const char *text, const char *feature);

/* NULL: hardware counters work. Else why not, and what would help: "no PMU in this virtual machine: …". */
const char *host_counters_lack(struct arena *arena);

/* Every gcc-N and clang-N in PATH, gcc first, by number; when there is none, what of gcc, clang and cc is there. */
void host_compilers(struct arena *arena, struct string_list *compilers);

/* The CPU to measure on: of those that this process may use, the one that was idlest during some milliseconds; the
 * last one when nothing tells them apart. -1: affinity can't be read. */
int host_cpu_choose(void);
/* All that this process may use, in the order in which threads get them (port/topology.h), `first` first; empty: affinity
 * can't be read. */
void host_cpus_order(struct arena *arena, int first, struct cpu_list *ret_order);
/* Moves this process to the other CPUs that it may use, when there are any. host_cpu_return() undoes it. */
struct host_affinity {
	unsigned char set[128]; /* a cpu_set_t */
	bool moved;
};
/* How many CPUs this process may use, at least 1. */
unsigned host_cpus_usable(void);
/* Moves this thread to the CPU; false: it may not. host_cpu_return() undoes it. */
bool host_cpu_join(int cpu, struct host_affinity *ret_before);
void host_cpu_leave(int cpu, struct host_affinity *ret_before);
void host_cpu_return(const struct host_affinity *before);

/* What may have disturbed a measurement: differences of two readings count. */
struct host_disturbance {
	double steal_s;     /* time that the hypervisor gave to others, all CPUs */
	double throttled_s; /* time that the cgroup's CPU limit took away */
};
struct host_disturbance host_disturbance_read(void);

/* Do others want the CPUs now? */
struct host_contention {
	double pressure; /* share of the last 10 s in which some task waited for a CPU (PSI); below 0: not known */
	double load;     /* average of one minute; below 0: not known */
	unsigned cpus;
};
struct host_contention host_contention_read(void);

#endif
