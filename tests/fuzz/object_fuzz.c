/* Any bytes as an object: a sentence, or tables that can be walked, decoded and compared. An object differs from itself
 * only where something can't be resolved, and then the thorough comparison says so as well. */
#include "port/object_compare.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct object *a = NULL, *b = NULL;
	struct err err = ERR_INIT;
	if (object_parse(data, size, "fuzz.o", &a, &err) != ST_OK) {
		if (!err.text[0] || strchr(err.text, '\n') || a)
			abort();
		return 0;
	}
	if (object_parse(data, size, "fuzz.o", &b, &err) != ST_OK)
		abort();
	struct arena arena;
	arena_init(&arena);
	struct code_difference quick = {0}, thorough = {0};
	object_compare(a, b, "fuzz.c", false, &arena, &quick);
	object_compare(a, b, "fuzz.c", true, &arena, &thorough);
	if (quick.differ && !thorough.differ)
		abort();
	arena_release(&arena);
	object_free(a);
	object_free(b);
	return 0;
}
