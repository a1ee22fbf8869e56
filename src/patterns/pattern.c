#include "patterns/pattern.h"

#include <strings.h>

const struct pattern_entry *pattern_find(const char *id_or_slug)
{
	for (size_t i = 0; i < pattern_registry_count; i++) {
		const struct pattern *pattern = pattern_registry[i].pattern;
		if (strcasecmp(pattern->id, id_or_slug) == 0 || strcasecmp(pattern->slug, id_or_slug) == 0)
			return &pattern_registry[i];
	}
	return NULL;
}
