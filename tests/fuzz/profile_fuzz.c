/* Any bytes as a profile: an error of one line, or functions with names and shares that keep their promises. */
#include "port/profile.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	arena_init(&arena);
	struct profile profile;
	struct err err = ERR_INIT;
	char *text = arena_strndup(&arena, (const char *)data, size);
	enum status status = profile_parse(&arena, text, "x", &profile, &err);
	if (status != err.code || (status && !err.text[0]) || (!status && (!profile.kind || !profile.functions.count)))
		abort();
	for (size_t i = 0; !status && i < profile.functions.count; i++) {
		const struct profile_function *function = &profile.functions.at[i];
		double share = -1;
		if (!function->name[0] || !(function->share >= 0 && function->share <= 1) ||
		    !profile_share(&profile, function->name, &share) || share != function->share)
			abort();
	}
	arena_release(&arena);
	return 0;
}
