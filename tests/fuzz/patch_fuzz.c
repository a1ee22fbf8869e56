/* Any bytes as a patch: an error, or a patch whose own text reads back as the same patch. */
#include "port/patch.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	arena_init(&arena);
	struct patch patch, again;
	struct err err = ERR_INIT, second = ERR_INIT;
	if (patch_parse(&arena, (const char *)data, size, NULL, &patch, &err) == ST_OK) {
		const char *text = patch_text(&arena, &patch);
		if (patch_parse(&arena, text, strlen(text), NULL, &again, &second) != ST_OK ||
		    again.files.count != patch.files.count)
			abort();
		for (size_t i = 0; i < patch.files.count; i++)
			if (strcmp(patch.files.at[i].path, again.files.at[i].path) != 0 || patch.files.at[i].path[0] == '/' ||
			    patch.files.at[i].hunks.count != again.files.at[i].hunks.count)
				abort();
		struct patched_list patched = {0};
		struct err third = ERR_INIT;
		if (patch_apply(&arena, &patch, "/nonexistent", &patched, &third) != third.code)
			abort();
	} else if (!err.text[0]) {
		abort();
	}
	arena_release(&arena);
	return 0;
}
