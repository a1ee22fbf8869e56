/* Maps of where workloads spend their time, drawn before anything is tried: what a change could gain at most. */
#include "cmd/ladder.h"

#include "base/text.h"
#include "port/proc.h"
#include "stage/stages.h"

#include <math.h>

struct mapping {
	struct ladder *ladder;
	const struct asked_map *asked;
	struct baseline *baseline;
	enum status status;
	struct err *err;
};

static void map_one(void *context, const struct binding_list *params)
{
	struct mapping *mapping = context;
	struct ladder *ladder = mapping->ladder;
	struct session *session = ladder->session;
	struct hotmap map = {.workload = mapping->baseline->workload, .params = *params, .config = mapping->baseline->config};
	struct err trouble = ERR_INIT;
	double started = proc_now();
	if (mapping->status != ST_OK)
		return;
	enum status status = reach_map(session, &mapping->baseline->variant, params, &mapping->asked->parts,
	                               ladder->options->alpha, fmax(ladder->options->budget_s, MAP_EMULATION_SECONDS), &map, &trouble);
	if (status == ST_INTERRUPTED || ladder_interrupted(ladder)) {
		mapping->status = err_set(mapping->err, ST_INTERRUPTED, "interrupted");
		return;
	}
	if (status != ST_OK)
		map.lack = arena_strdup(ladder_arena(ladder), trouble.text);
	map.id = arena_printf(ladder_arena(ladder), "m%zu", session->run.maps.count + 1);
	map.seconds = proc_now() - started;
	list_push(ladder_arena(ladder), &session->run.maps, map);
}

/* Under the first build configuration: a map says where to look, it settles nothing. */
static enum status map_draw(struct ladder *ladder, const struct asked_map *asked, const struct workload *workload,
                            struct err *err)
{
	struct mapping mapping = {.ladder = ladder, .asked = asked, .err = err};
	struct string_list nothing = {0};
	struct err trouble = ERR_INIT;
	enum status status = baseline_get(ladder, workload, &nothing, &ladder->options->configs.at[0], &mapping.baseline, &trouble);
	if (status == ST_OK && !mapping.baseline->variant.failure)
		status = baseline_compile(ladder, mapping.baseline, &trouble);
	if (status == ST_OK && !mapping.baseline->variant.failure)
		status = baseline_link(ladder, mapping.baseline, &trouble);
	if (status == ST_INTERRUPTED || ladder_interrupted(ladder))
		return err_set(err, ST_INTERRUPTED, "interrupted");
	const char *failure = status != ST_OK ? trouble.text : mapping.baseline->variant.failure;
	if (failure) {
		session_note(ladder->session, workload->name, "no map of where its time goes: %s", failure);
		return ST_OK;
	}
	bindings_each(ladder_arena(ladder), workload, map_one, &mapping);
	return mapping.status;
}

enum status maps_draw(struct ladder *ladder, struct err *err)
{
	const struct project *project = &ladder->session->project;
	enum status status = ST_OK;
	for (size_t i = 0; i < project->maps.count && status == ST_OK; i++) {
		/* --workload may have left it out. */
		const struct workload *workload = workload_find(&project->workloads, project->maps.at[i].workload);
		if (workload)
			status = map_draw(ladder, &project->maps.at[i], workload, err);
	}
	return status;
}
