/* Any bytes as a project file: an error of one line or a project that keeps its promises. */
#include "port/project.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	arena_init(&arena);
	struct project project;
	struct note_list notes = {0};
	struct err err = ERR_INIT;
	enum status status =
	    project_parse(&arena, (const char *)data, size, "/nowhere/assay.yaml", "/", &project, &notes, &err);
	if (status != err.code || (status && !err.text[0]))
		abort();
	for (size_t i = 0; !status && i < project.workloads.count; i++)
		if (!project.workloads.at[i]->name || !project.workloads.at[i]->bench == !project.workloads.at[i]->run)
			abort();
	arena_release(&arena);
	return 0;
}
