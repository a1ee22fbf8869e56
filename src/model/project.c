#include "model/project.h"

#include "base/text.h"

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
