/* Which of the machine's CPUs share a core. Pure but for the folder that it reads. */
#ifndef ASSAY_PORT_TOPOLOGY_H
#define ASSAY_PORT_TOPOLOGY_H

#include "base/arena.h"

#include <stdbool.h>

LIST_OF(int, cpu_list);

/* Puts CPUs into the order in which threads get them: `first`, then one CPU of each other core of its package, then those
 * of other packages, and last those that share a core with one that stands before. Among equals those that stand later in
 * `cpus` come first: the first CPU serves most interrupts. `root` is the folder that holds sys/ ("" for this machine); CPUs
 * that it says nothing of count as cores of their own. */
void topology_order(struct arena *arena, const char *root, const struct cpu_list *cpus, int first, struct cpu_list *ret_order);

/* "3,1" */
const char *cpu_list_text(struct arena *arena, const struct cpu_list *cpus, size_t count);

#endif
