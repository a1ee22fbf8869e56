#include "report/report.h"

#include "model/checkup.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static json_t *text_or_null(const char *text)
{
	if (!text)
		return json_null();
	json_t *value = json_string(text);
	/* What a program said need not be UTF-8. */
	return value ? value : json_string("(not UTF-8)");
}

static json_t *number_or_null(bool known, double value)
{
	return known && isfinite(value) ? json_real(value) : json_null();
}

char *json_checkup(struct arena *arena, const struct checkup *checkup)
{
	json_t *probes = json_array(), *noises = json_array();
	for (size_t i = 0; i < checkup->probes.count; i++) {
		const struct probe *probe = &checkup->probes.at[i];
		json_t *item = json_object();
		json_object_set_new(item, "group", text_or_null(probe->group));
		json_object_set_new(item, "name", text_or_null(probe->name));
		json_object_set_new(item, "result", text_or_null(probe_result_name(probe->result)));
		json_object_set_new(item, "found", text_or_null(probe->found));
		json_object_set_new(item, "costs", text_or_null(probe->costs));
		json_object_set_new(item, "mend", text_or_null(probe->mend));
		json_array_append_new(probes, item);
	}
	for (size_t i = 0; i < checkup->noises.count; i++) {
		const struct noise *noise = &checkup->noises.at[i];
		const struct control *control = &noise->control;
		json_t *item = json_object();
		json_object_set_new(item, "workload", text_or_null(noise->name));
		json_object_set_new(item, "quiet", control->done ? json_boolean(control->quiet) : json_null());
		json_object_set_new(item, "floor_percent", number_or_null(control->done, effect_percent(control->floor)));
		json_object_set_new(item, "pairs", json_integer(control->pairs));
		json_object_set_new(item, "blocks", json_integer(control->blocks));
		json_object_set_new(item, "seconds", number_or_null(control->done, control->seconds));
		json_object_set_new(item, "text", text_or_null(control->done ? control->text : noise->lack));
		json_array_append_new(noises, item);
	}
	const struct host *host = &checkup->host;
	json_t *document = json_object(), *machine = json_object();
	json_object_set_new(machine, "name", text_or_null(host->name));
	json_object_set_new(machine, "cpu", text_or_null(host->cpu));
	json_object_set_new(machine, "cpus", json_integer(host->cpus));
	json_object_set_new(machine, "kernel", text_or_null(host->kernel));
	json_object_set_new(machine, "system", text_or_null(host->system));
	json_object_set_new(document, "doctor", json_integer(1));
	json_object_set_new(document, "assay", text_or_null(checkup->version));
	json_object_set_new(document, "date", text_or_null(checkup->date));
	json_object_set_new(document, "verdict", text_or_null(probe_result_name(checkup->verdict)));
	json_object_set_new(document, "text", text_or_null(checkup->text));
	json_object_set_new(document, "host", machine);
	json_object_set_new(document, "probes", probes);
	json_object_set_new(document, "noise", noises);
	char *dumped = json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	char *text = arena_printf(arena, "%s\n", dumped ? dumped : "null");
	free(dumped);
	json_decref(document);
	return text;
}
