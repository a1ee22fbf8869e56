/* Any bytes as a run document: refused with a sentence, or read; and what was read writes to a text that is read and
 * written to itself. */
#include "report/report.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	arena_init(&arena);
	struct run run, again;
	struct err err = ERR_INIT;
	if (json_run_read(&arena, (const char *)data, size, &run, &err) == ST_OK) {
		char *text = json_run(&arena, &run);
		if (json_run_read(&arena, text, strlen(text), &again, &err) != ST_OK ||
		    strcmp(json_run(&arena, &again), text) != 0)
			abort();
	} else if (!err.text[0]) {
		abort();
	}
	arena_release(&arena);
	return 0;
}
