#include "model/project.h"

#include "base/text.h"

#include <string.h>

struct workload *workload_find(const struct workload_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (text_equal(list->at[i]->name, name))
			return list->at[i];
	return NULL;
}

const struct param *param_find(const struct param_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (text_equal(list->at[i].name, name))
			return &list->at[i];
	return NULL;
}

/* Does `named` (of a decision) stand for `id`: equal, or its beginning up to a ':'? */
static bool decision_means(const char *named, const char *id)
{
	size_t size = strlen(named);
	return text_starts(id, named) && (id[size] == '\0' || id[size] == ':' || (size && named[size - 1] == ':'));
}

const char *decision_reason(const struct decision_list *list, const char *id)
{
	for (size_t i = 0; id && i < list->count; i++)
		if (decision_means(list->at[i].finding, id))
			return list->at[i].reason;
	return NULL;
}
