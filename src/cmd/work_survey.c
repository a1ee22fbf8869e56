/* Which surveys a run settles, and how they are kept as they come. */
#include "cmd/cmd.h"

#include "base/text.h"
#include "port/project.h"

#include <string.h>

/* --over, said again. */
static const char *over_argument(struct arena *arena, const struct options *options, const struct workload *workload)
{
	char *over = options->over_values.count
	                 ? arena_printf(arena, "%s=%s", options->over, text_join(arena, &options->over_values, ","))
	                 : arena_strdup(arena, options->over);
	char *text = arena_printf(arena, "--over %s", shell_quote(arena, over));
	if (options->against)
		text = arena_printf(arena, "%s --against %s", text, shell_quote(arena, options->against));
	for (size_t i = 0; i < options->needs.count; i++)
		text = arena_printf(
			arena, "%s --needs %s", text,
			shell_quote(arena, arena_printf(arena, "%s=%s", options->needs.at[i].value, options->needs.at[i].feature)));
	if (workload->argument && workload->argument[0])
		return arena_printf(arena, "%s %s", text, workload->argument);
	return arena_printf(arena, "%s --workload %s", text, shell_quote(arena, workload->name));
}

/* One survey for each workload that has the parameter. */
static enum status surveys_over(struct work *work, struct err *err)
{
	const struct options *options = &work->invocation->options;
	const struct project *project = &work->session.project;
	struct arena *arena = &work->session.arena;
	bool named = options->bench || options->workloads.count;
	for (size_t i = 0; i < project->workloads.count; i++) {
		const struct workload *workload = project->workloads.at[i];
		if (workload->run && !named)
			continue;
		if (!param_find(&workload->params, options->over) && !(named && options->over_values.count))
			continue;
		struct asked_survey survey = {.name = arena_printf(arena, "%s over %s", workload->name, options->over),
		                              .workload = workload->name,
		                              .over = options->over,
		                              .values = options->over_values,
		                              .baseline = options->against,
		                              .needs = options->needs,
		                              .argument = over_argument(arena, options, workload)};
		const char *problem = survey_problem(arena, workload, &survey);
		if (problem)
			return err_set(err, ST_USAGE, "--over %s: %s", options->over, problem);
		list_push(arena, &work->surveys, survey);
	}
	if (work->surveys.count == 0)
		return err_set(err, ST_USAGE,
		               "--over %s: no workload has a parameter of that name in its `params`: see %s, or name the "
		               "workload and give the values, as in --over impl=generic,sse2",
		               options->over, project->file ? project->file : "assay.yaml");
	return ST_OK;
}

/* Of the values that the survey names for another parameter, those that --param names too; `ret_lacks`: the parameter of which
 * none is left, or NULL. */
static struct asked_survey survey_narrowed(struct arena *arena, const struct asked_survey *asked,
                                           const struct param_list *given, const char **ret_lacks)
{
	struct asked_survey survey = *asked;
	survey.params = (struct param_list){0};
	*ret_lacks = NULL;
	for (size_t i = 0; i < asked->params.count; i++) {
		const struct param *own = &asked->params.at[i], *narrower = param_find(given, own->name);
		struct param kept = *own;
		if (narrower)
			kept.values = (struct string_list){0};
		for (size_t k = 0; narrower && k < own->values.count; k++)
			for (size_t j = 0; j < narrower->values.count; j++)
				if (strcmp(own->values.at[k], narrower->values.at[j]) == 0)
					list_push(arena, &kept.values, own->values.at[k]);
		if (kept.values.count == 0)
			*ret_lacks = own->name;
		list_push(arena, &survey.params, kept);
	}
	return survey;
}

/* Those of the project file; `name` NULL: all. */
static enum status surveys_named(struct work *work, const char *name, struct err *err)
{
	const struct project *project = &work->session.project;
	struct arena *arena = &work->session.arena;
	struct string_list names = {0};
	bool found = false;
	for (size_t i = 0; i < project->surveys.count; i++) {
		const struct asked_survey *asked = &project->surveys.at[i];
		list_push(arena, &names, asked->name);
		if (name && strcmp(asked->name, name) != 0)
			continue;
		found = true;
		const struct workload *workload = workload_find(&project->workloads, asked->workload);
		const char *lacks = NULL;
		struct asked_survey survey = survey_narrowed(arena, asked, &work->invocation->options.params, &lacks);
		const char *problem = workload ? survey_problem(arena, workload, &survey)
		                               : "its workload is not among those of --workload";
		if (lacks)
			problem = arena_printf(arena, "it is about none of the values that --param names for `%s`", lacks);
		if (!problem)
			list_push(arena, &work->surveys, survey);
		else if (name)
			return err_set(err, ST_USAGE, "the survey `%s`: %s", name, problem);
		else if (workload)
			session_note(&work->session, asked->name, "this survey is left out: %s", problem);
	}
	if (name && !found)
		return err_set(err, ST_USAGE, "no survey '%s' in %s: %s", name, project->file ? project->file : project->dir,
		               names.count ? text_join(arena, &names, ", ") : "it has none");
	return ST_OK;
}

enum status work_surveys(struct work *work, struct err *err)
{
	const struct options *options = &work->invocation->options;
	if ((options->against || options->needs.count) && !options->over)
		return err_set(err, ST_USAGE,
		               "--against and --needs are for --over: name the parameter whose values are compared");
	if (options->over)
		return surveys_over(work, err);
	return surveys_named(work, options->survey, err);
}

/* ---- keeping ------------------------------------------------------------------------------------------------------- */

static void keep_survey(struct work *work, const struct survey *survey)
{
	if (work->store)
		work_keep(work, STORE_SURVEY, survey->id, json_survey(&work->session.arena, survey));
}

static void survey_begins(void *context, const struct survey *survey)
{
	struct work *work = context;
	work_subject(work, survey->name, &survey->params);
	/* Kept before its first sample: killed in the middle, `show` knows what the rounds belong to. */
	keep_survey(work, survey);
}

static void survey_done(void *context, const struct survey *survey)
{
	struct work *work = context;
	work_settled(work);
	keep_survey(work, survey);
}

struct round_context {
	struct work *work;
	const char *survey;
};

/* A store that fails is said once: the sink itself never fails. */
static enum status round_put(void *context, const struct round *round, size_t samples, struct err *err)
{
	struct round_context *sink = context;
	struct work *work = sink->work;
	(void)err;
	struct err trouble = ERR_INIT;
	if (work->store &&
	    store_round_put(work->store, work->session.run.id, sink->survey, round, samples, &trouble) != ST_OK)
		work_store_lost(work, &trouble);
	return ST_OK;
}

static struct round_sink rounds_make(void *context, const struct survey *survey)
{
	struct work *work = context;
	struct round_context *sink = arena_new(&work->session.arena, struct round_context);
	*sink = (struct round_context){.work = work, .survey = survey->id};
	return (struct round_sink){.put = round_put, .context = sink};
}

static void keep_survey_measurement(void *context, const struct survey *survey,
                                    const struct survey_measurement *measurement, bool ended)
{
	struct work *work = context;
	struct err trouble = ERR_INIT;
	if (work->store && store_survey_measurement_put(work->store, work->session.run.id, survey->id, measurement, ended,
	                                                &trouble) != ST_OK)
		work_store_lost(work, &trouble);
}

void work_surveys_kept(struct work *work, struct settle_options *settle)
{
	settle->surveys = &work->surveys;
	settle->survey_begins = survey_begins;
	settle->rounds = rounds_make;
	settle->survey_measurement = keep_survey_measurement;
	settle->survey_done = survey_done;
}
