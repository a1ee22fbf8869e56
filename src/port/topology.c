#include "port/topology.h"

#include <stdio.h>
#include <stdlib.h>

struct place {
	int cpu;
	int core;    /* the lowest CPU of those that share it */
	int package; /* -1: not known */
	size_t rank; /* how many before it in the order share its core */
	bool first;  /* it is of the package of the one that is wanted first */
	size_t position;
};
LIST_OF(struct place, place_list);

/* The first number in the file, as in "2" and "0,4" and "8-9". -1: there is none. */
static int number_read(struct arena *arena, const char *root, int cpu, const char *name)
{
	const char *path = arena_printf(arena, "%s/sys/devices/system/cpu/cpu%d/topology/%s", root, cpu, name);
	FILE *file = fopen(path, "re");
	int number = -1;
	if (file && fscanf(file, "%d", &number) != 1)
		number = -1;
	if (file)
		fclose(file);
	return number;
}

static int place_order(const void *a, const void *b)
{
	const struct place *left = a, *right = b;
	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	if (left->first != right->first)
		return left->first ? -1 : 1;
	return left->position > right->position ? -1 : left->position < right->position;
}

void topology_order(struct arena *arena, const char *root, const struct cpu_list *cpus, int first, struct cpu_list *ret_order)
{
	struct place_list places = {0};
	int package = number_read(arena, root, first, "physical_package_id");
	*ret_order = (struct cpu_list){0};
	for (size_t i = 0; i < cpus->count; i++) {
		struct place place = {.cpu = cpus->at[i], .position = i, .core = number_read(arena, root, cpus->at[i], "thread_siblings_list")};
		if (place.core < 0)
			place.core = place.cpu;
		place.package = number_read(arena, root, place.cpu, "physical_package_id");
		place.first = place.package == package;
		list_push(arena, &places, place);
	}
	/* Of a core's CPUs the one that is wanted first comes before its siblings, then the later before the earlier. */
	for (size_t i = 0; i < places.count; i++)
		for (size_t k = 0; k < places.count; k++) {
			const struct place *other = &places.at[k];
			bool before = places.at[i].cpu != first && (other->cpu == first || k > i);
			places.at[i].rank += k != i && other->core == places.at[i].core && before;
		}
	if (places.count)
		qsort(places.at, places.count, sizeof *places.at, place_order);
	/* `first` has rank 0 and its own package, but not the latest position. */
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < places.count; i++)
			if ((places.at[i].cpu == first) == (pass == 0))
				list_push(arena, ret_order, places.at[i].cpu);
}

const char *cpu_list_text(struct arena *arena, const struct cpu_list *cpus, size_t count)
{
	const char *text = "";
	for (size_t i = 0; i < count && i < cpus->count; i++)
		text = arena_printf(arena, "%s%s%d", text, i ? "," : "", cpus->at[i]);
	return text;
}
