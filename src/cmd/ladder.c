/* Trials, their steps, and the baselines that they are compared with. */
#include "cmd/ladder.h"

#include "base/text.h"
#include "port/proc.h"
#include "stage/stages.h"

#include <string.h>

struct arena *ladder_arena(struct ladder *ladder)
{
	return &ladder->session->arena;
}

bool ladder_interrupted(const struct ladder *ladder)
{
	return *ladder->session->interrupted != 0;
}

/* ---- steps --------------------------------------------------------------------------------------------------- */

void trial_step(struct ladder *ladder, struct trial *trial, enum rung rung, enum step_result result, double started,
                const char *text)
{
	struct step step = {
		.rung = rung, .result = result, .text = text, .seconds = started > 0 ? proc_now() - started : 0};
	list_push(ladder_arena(ladder), &trial->steps, step);
	trial->seconds += step.seconds;
}

void trial_settle(struct ladder *ladder, struct trial *trial, enum rung rung, enum verdict verdict, double started,
                  const char *text)
{
	trial_step(ladder, trial, rung, STEP_SETTLED, started, text);
	/* With --measure-anyway a later rung may settle it again; that one then counts. */
	trial->rung = rung;
	trial->verdict = verdict;
	trial->evidence = text;
}

/* True when the rung is beyond --to-rung; the trial then ends as inconclusive unless something settled it. */
bool trial_stops_before(struct ladder *ladder, struct trial *trial, enum rung rung)
{
	if (rung <= ladder->options->to_rung)
		return false;
	const char *text = arena_printf(ladder_arena(ladder), "not asked: --to-rung %s",
	                                rung_name(ladder->options->to_rung));
	trial_step(ladder, trial, rung, STEP_SKIPPED, 0, text);
	if (trial->verdict == VERDICT_NONE) {
		const struct step *last = trial->steps.count > 1 ? &trial->steps.at[trial->steps.count - 2] : NULL;
		trial->verdict = VERDICT_INCONCLUSIVE;
		trial->rung = ladder->options->to_rung;
		trial->evidence = last ? arena_printf(ladder_arena(ladder), "%s; %s", last->text, text) : text;
	}
	return true;
}

char *params_text(struct arena *arena, const struct binding_list *params, const char *prefix)
{
	struct string_list words = {0};
	for (size_t i = 0; i < params->count; i++)
		list_push(arena, &words,
		          shell_quote(arena, arena_printf(arena, "%s=%s", params->at[i].name, params->at[i].value)));
	char *text = arena_strdup(arena, "");
	for (size_t i = 0; i < words.count; i++)
		text = arena_printf(arena, "%s%s%s%s", text, i ? " " : "", prefix, words.at[i]);
	return text;
}

const struct claimed *claim_of(const struct ladder *ladder, const struct hypothesis *hypothesis)
{
	const struct claimed_list *claims = &ladder->session->project.hypotheses;
	for (size_t i = 0; i < claims->count; i++)
		if (text_equal(claims->at[i].name, hypothesis->title))
			return &claims->at[i];
	return NULL;
}

double hypothesis_budget(const struct ladder *ladder, const struct hypothesis *hypothesis)
{
	const struct claimed *claim = claim_of(ladder, hypothesis);
	return claim && claim->budget_s > 0 && !ladder->options->budget_asked ? claim->budget_s : ladder->options->budget_s;
}

/* ---- how something is repeated --------------------------------------------------------------------------------- */

/* What --project is given to find this project again: its folder, or a project file of another name than the usual. */
static const char *project_argument(struct arena *arena, const struct project *project)
{
	bool usual = !project->file || strcmp(path_base(project->file), "assay.yaml") == 0;
	return shell_quote(arena, usual ? project->dir : project->file);
}

char *repeat_begin(struct ladder *ladder, const char *argument)
{
	struct arena *arena = ladder_arena(ladder);
	const struct project *project = &ladder->session->project;
	const char *tree = project->origin ? project->origin : project->tree;
	char *text = arena_printf(arena, "assay try %s --project %s", argument, project_argument(arena, project));
	return strcmp(tree, project->dir) == 0 ? text : arena_printf(arena, "%s --source %s", text, shell_quote(arena, tree));
}

char *repeat_end(struct ladder *ladder, char *text, const struct build_config *config, double alpha, double budget_s,
                 const char *more)
{
	struct arena *arena = ladder_arena(ladder);
	const struct settle_options *options = ladder->options;
	const char *matrix = config->flags[0] ? arena_printf(arena, "cc=%s opt=%s", config->cc, config->flags)
	                                      : arena_printf(arena, "cc=%s", config->cc);
	if (config->cc[0])
		text = arena_printf(arena, "%s --matrix %s", text, shell_quote(arena, matrix));
	text = arena_printf(arena, "%s --margin %g%% --alpha %g%% --budget %gs --seed %llu%s", text, 100 * options->margin,
	                    100 * alpha, budget_s, (unsigned long long)options->seed, more);
	if (options->accept_contract)
		text = arena_printf(arena, "%s --accept-contract", text);
	return options->to_rung == RUNG_TIME ? text : arena_printf(arena, "%s --to-rung %s", text, rung_name(options->to_rung));
}

/* The command that repeats a trial, complete with everything that was not the default. */
const char *trial_repeat(struct ladder *ladder, const struct trial *trial)
{
	struct arena *arena = ladder_arena(ladder);
	const struct project *project = &ladder->session->project;
	const struct settle_options *options = ladder->options;
	bool own = trial->hypothesis->repeat != NULL; /* it brings its project along */
	char *text = own ? arena_strdup(arena, trial->hypothesis->repeat)
	                 : repeat_begin(ladder, trial->hypothesis->argument);
	const struct workload *workload = trial->workload;
	if (!own && workload && workload->argument)
		text = workload->argument[0] ? arena_printf(arena, "%s %s", text, workload->argument) : text;
	else if (!own && workload)
		text = arena_printf(arena, "%s --workload %s", text, shell_quote(arena, workload->name));
	if (!own && workload && workload->run && !workload->metric_asked && trial->metric != METRIC_TIME)
		text = arena_printf(arena, "%s --metric %s", text, trial->metric == METRIC_CPU ? "cpu" : "wall");
	if (!own && !workload && project->compile_commands)
		text = arena_printf(arena, "%s -p %s", text, shell_quote(arena, path_dir(arena, project->compile_commands)));
	if (!own && trial->params.count)
		text = arena_printf(arena, "%s %s", text, params_text(arena, &trial->params, "--param "));
	char *more = arena_strdup(arena, "");
	if (options->layouts >= 2 && !(workload && workload->run))
		more = arena_printf(arena, " --layouts %u", options->layouts);
	if (ladder->session->events.count && !(workload && workload->run))
		more = arena_printf(arena, "%s --events %s", more,
		                    shell_quote(arena, text_join(arena, &ladder->session->events, ",")));
	if (options->measure_anyway)
		more = arena_printf(arena, "%s --measure-anyway", more);
	text = repeat_end(ladder, text, &trial->config, ladder->trial_alpha, hypothesis_budget(ladder, trial->hypothesis), more);
	if (trial->hypothesis->kind == CANDIDATE_COMMAND)
		text = arena_printf(arena, "%s -- %s", text,
		                    workload->shell ? shell_quote(arena, workload->run) : workload->run);
	return text;
}

/* A trial of the run, with what its site knows already. */
struct trial *trial_begin(struct ladder *ladder, const struct site *site, const struct binding_list *params)
{
	struct trial *trial = arena_new(ladder_arena(ladder), struct trial);
	*trial = site->common;
	/* Lists are copied: two trials of one site must not push into the same memory. */
	trial->steps = (struct step_list){0};
	for (size_t i = 0; i < site->common.steps.count; i++)
		list_push(ladder_arena(ladder), &trial->steps, site->common.steps.at[i]);
	trial->id = arena_printf(ladder_arena(ladder), "t%u", ++ladder->trial_count);
	if (params)
		trial->params = *params;
	trial->repeat = trial_repeat(ladder, trial);
	if (ladder->options->trial_begins)
		ladder->options->trial_begins(ladder->options->context, trial);
	return trial;
}

void trial_end(struct ladder *ladder, struct trial *trial)
{
	if (trial->verdict == VERDICT_NONE)
		BUG("trial %s ends without a verdict", trial->id);
	judge_unmeasured(ladder->session, ladder_interrupted(ladder), trial);
	list_push(ladder_arena(ladder), &ladder->session->run.trials, trial);
	if (ladder->options->trial_done)
		ladder->options->trial_done(ladder->options->context, trial);
}

/* What assay itself could not do is the trial's failure, and the next trial begins; Ctrl-C ends the whole run. */
enum status trial_trouble(struct ladder *ladder, struct trial *trial, enum rung rung, double started,
                          struct err *trouble, struct err *err)
{
	if (trouble->code == ST_INTERRUPTED || ladder_interrupted(ladder))
		return err_set(err, ST_INTERRUPTED, "interrupted");
	trial_settle(ladder, trial, rung, VERDICT_FAILED, started, arena_strdup(ladder_arena(ladder), trouble->text));
	return ST_OK;
}

/* ---- baselines ------------------------------------------------------------------------------------------------ */

static bool config_equal(const struct build_config *a, const struct build_config *b)
{
	return strcmp(a->cc, b->cc) == 0 && strcmp(a->flags, b->flags) == 0;
}

/* The baseline of a workload, preprocessed. Kept for the hypotheses that follow; one of the database's units is not. */
enum status baseline_get(struct ladder *ladder, const struct workload *workload, const struct string_list *changed,
                         const struct build_config *config, struct baseline **ret_baseline, struct err *err)
{
	for (size_t i = 0; workload && i < ladder->baselines.count; i++) {
		struct baseline *known = ladder->baselines.at[i];
		if (known->workload == workload && config_equal(&known->config, config)) {
			*ret_baseline = known;
			return ST_OK;
		}
	}
	struct baseline *baseline = arena_new(ladder_arena(ladder), struct baseline);
	baseline->workload = workload;
	baseline->config = *config;
	baseline->changed = changed;
	enum status status = build_prepare(ladder->session, NULL, workload, changed, config, &baseline->variant, err);
	if (status == ST_OK && !baseline->variant.failure)
		status = build_preprocess(ladder->session, &baseline->variant, err);
	if (status != ST_OK)
		return status;
	if (workload)
		list_push(ladder_arena(ladder), &ladder->baselines, baseline);
	*ret_baseline = baseline;
	return ST_OK;
}

enum status baseline_compile(struct ladder *ladder, struct baseline *baseline, struct err *err)
{
	if (baseline->compiled || baseline->variant.failure)
		return ST_OK;
	enum status status = build_compile(ladder->session, &baseline->variant, NULL, err);
	baseline->compiled = status == ST_OK;
	return status;
}

enum status baseline_link(struct ladder *ladder, struct baseline *baseline, struct err *err)
{
	if (baseline->linked || baseline->variant.failure)
		return ST_OK;
	enum status status = build_link(ladder->session, &baseline->variant, err);
	baseline->linked = status == ST_OK;
	return status;
}

bool baseline_reads_file(const struct baseline *baseline, const char *file)
{
	for (size_t i = 0; i < baseline->variant.units.count; i++) {
		const struct string_list *depends = &baseline->variant.units.at[i].depends;
		for (size_t k = 0; k < depends->count; k++)
			if (strcmp(depends->at[k], file) == 0)
				return true;
	}
	return false;
}

/* Does some unit of the baseline read one of the files? No files: the change concerns every unit. */
bool baseline_reads(const struct baseline *baseline, const struct string_list *files)
{
	for (size_t f = 0; f < files->count; f++)
		if (baseline_reads_file(baseline, files->at[f]))
			return true;
	return files->count == 0;
}

/* Of a workload that can't even be preprocessed: could it read one of the files? Its own sources and any header. */
bool workload_may_read(const struct workload *workload, const struct string_list *files)
{
	for (size_t f = 0; f < files->count; f++) {
		const char *file = files->at[f];
		if (!text_ends(file, ".c"))
			return true;
		for (size_t i = 0; i < workload->sources.count; i++)
			if (strcmp(workload->sources.at[i], file) == 0)
				return true;
		if (workload->bench && text_ends(workload->bench, path_base(file)))
			return true;
	}
	return files->count == 0;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* The baseline of a command, built; one for all hypotheses. */
enum status command_baseline_get(struct ladder *ladder, const struct workload *workload, struct baseline **ret_baseline,
                                 struct err *err)
{
	for (size_t i = 0; i < ladder->baselines.count; i++)
		if (ladder->baselines.at[i]->workload == workload) {
			*ret_baseline = ladder->baselines.at[i];
			return ST_OK;
		}
	struct baseline *baseline = arena_new(ladder_arena(ladder), struct baseline);
	*baseline = (struct baseline){
		.workload = workload, .config = {.cc = "", .flags = ""}, .compiled = true, .linked = true};
	enum status status = build_command(ladder->session, NULL, workload, &baseline->config, &baseline->variant, err);
	if (status != ST_OK)
		return status;
	list_push(ladder_arena(ladder), &ladder->baselines, baseline);
	*ret_baseline = baseline;
	return ST_OK;
}

/* The baseline that a candidate with a variable more in its environment is compared with: it has a variable of the same
 * length, since the size of the environment moves the stack and with it the speed (Mytkowicz et al., 2009). */
struct baseline *baseline_with_env(struct arena *arena, const struct baseline *baseline,
                                   const struct hypothesis *hypothesis)
{
	struct baseline *own = arena_new(arena, struct baseline);
	*own = *baseline;
	char *other = arena_strdup(arena, hypothesis->text);
	other[0] = other[0] == '_' ? 'X' : '_';
	own->variant.env = (struct string_list){0};
	list_push(arena, &own->variant.env, other);
	return own;
}

/* What of the changed files the site is about. */
const struct string_list *site_files(const struct site *site, const struct string_list *changed)
{
	return site->baseline->workload || !site->baseline->changed ? changed : site->baseline->changed;
}
