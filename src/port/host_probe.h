/* What the files of /proc and /sys say about a machine that measures. */
#ifndef ASSAY_PORT_HOST_PROBE_H
#define ASSAY_PORT_HOST_PROBE_H

#include "base/arena.h"
#include "model/checkup.h"

/* Appends a probe for each: kinds of cores, SMT, frequency governor, turbo, battery, CPU limit, steal, neighbours' load,
 * clock source, address randomisation, memory. `root` stands before "/proc" and "/sys": "" for this machine, else a
 * recorded tree. `cpus`: how many may be used. */
void host_probe_files(struct arena *arena, const char *root, unsigned cpus, struct probe_list *probes);

#endif
