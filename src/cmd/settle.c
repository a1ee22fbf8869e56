/* The ladder of proof. One hypothesis after another:
 *
 *   built ─▶ tokens ─▶ code ─▶ intent        once for each workload and build configuration (struct site)
 *         ─▶ reach ─▶ outputs ─▶ time (with control)  once more for each combination of the workload's parameters
 *
 * The family (all trials of a hypothesis) is fixed after the first half, before any sample is taken: each of the K
 * trials that go on to the time rung gets alpha / K, so the chance that any interval of the family misses is at most
 * alpha; "faster" and "slower" also pass Holm's gate (judge_families).
 */
#include "cmd/settle.h"

#include "base/text.h"
#include "port/proc.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A workload built under one configuration from the untouched tree; shared by all hypotheses. */
struct baseline {
	const struct workload *workload; /* NULL: the database's units for `changed` */
	struct build_config config;
	const struct string_list *changed; /* with workload NULL */
	struct variant variant;
	bool prepared, compiled, linked;
	bool metric_known; /* of a command */
	enum metric metric;
	const char *metric_why;
};
LIST_OF(struct baseline *, baseline_list);

/* How long a control speaks for the machine. */
enum { CONTROL_SECONDS = 600 };

/* The control of one workload, parameters and configuration. */
struct control_entry {
	const struct baseline *baseline;
	const char *params;
	struct control control;
	double made; /* proc_now() when it ended */
};
LIST_OF(struct control_entry *, control_list);

struct ladder {
	struct session *session;
	const struct settle_options *options;
	struct baseline_list baselines;
	struct control_list controls;
	unsigned trial_count;
	double trial_alpha; /* of the next trials: the options' alpha, divided by how many share it */
};

/* A hypothesis at one workload and configuration: the rungs that don't depend on parameters. */
struct site {
	const struct hypothesis *hypothesis;
	struct baseline *baseline;
	struct variant candidate;
	struct trial common; /* steps and differences that every trial of this site starts with */
	bool settled;        /* nothing more is asked */
};
LIST_OF(struct site *, site_list);

static struct arena *ladder_arena(struct ladder *ladder)
{
	return &ladder->session->arena;
}

static bool ladder_interrupted(const struct ladder *ladder)
{
	return *ladder->session->interrupted != 0;
}

/* ---- steps --------------------------------------------------------------------------------------------------- */

static void trial_step(struct ladder *ladder, struct trial *trial, enum rung rung, enum step_result result,
                       double started, const char *text)
{
	struct step step = {.rung = rung, .result = result, .text = text,
	                    .seconds = started > 0 ? proc_now() - started : 0};
	list_push(ladder_arena(ladder), &trial->steps, step);
	trial->seconds += step.seconds;
}

static void trial_settle(struct ladder *ladder, struct trial *trial, enum rung rung, enum verdict verdict,
                         double started, const char *text)
{
	trial_step(ladder, trial, rung, STEP_SETTLED, started, text);
	/* With --measure-anyway a later rung may settle it again; that one then counts. */
	trial->rung = rung;
	trial->verdict = verdict;
	trial->evidence = text;
}

/* True when the rung is beyond --to-rung; the trial then ends as inconclusive unless something settled it. */
static bool trial_stops_before(struct ladder *ladder, struct trial *trial, enum rung rung)
{
	if (rung <= ladder->options->to_rung)
		return false;
	const char *text = arena_printf(ladder_arena(ladder), "not asked: --to-rung %s", rung_name(ladder->options->to_rung));
	trial_step(ladder, trial, rung, STEP_SKIPPED, 0, text);
	if (trial->verdict == VERDICT_NONE) {
		const struct step *last = trial->steps.count > 1 ? &trial->steps.at[trial->steps.count - 2] : NULL;
		trial->verdict = VERDICT_INCONCLUSIVE;
		trial->rung = ladder->options->to_rung;
		trial->evidence = last ? arena_printf(ladder_arena(ladder), "%s; %s", last->text, text) : text;
	}
	return true;
}

static char *params_text(struct arena *arena, const struct binding_list *params, const char *prefix)
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

static const char *percent_text(struct arena *arena, double fraction)
{
	return arena_printf(arena, "%g%%", 100 * fraction);
}

/* The command that repeats a trial, complete with everything that was not the default. */
static const char *trial_repeat(struct ladder *ladder, const struct trial *trial)
{
	struct arena *arena = ladder_arena(ladder);
	const struct project *project = &ladder->session->project;
	const struct settle_options *options = ladder->options;
	bool own = trial->hypothesis->repeat != NULL; /* it brings its project along */
	char *text = own ? arena_strdup(arena, trial->hypothesis->repeat)
	                 : arena_printf(arena, "assay try %s --project %s", trial->hypothesis->argument,
	                                shell_quote(arena, project->dir));
	const char *tree = project->origin ? project->origin : project->tree;
	if (!own && strcmp(tree, project->dir) != 0)
		text = arena_printf(arena, "%s --source %s", text, shell_quote(arena, tree));
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
	const char *matrix = trial->config.flags[0]
	                         ? arena_printf(arena, "cc=%s opt=%s", trial->config.cc, trial->config.flags)
	                         : arena_printf(arena, "cc=%s", trial->config.cc);
	if (trial->config.cc[0])
		text = arena_printf(arena, "%s --matrix %s", text, shell_quote(arena, matrix));
	text = arena_printf(arena, "%s --margin %s --alpha %s --budget %gs --seed %llu", text,
	                    percent_text(arena, options->margin), percent_text(arena, ladder->trial_alpha), options->budget_s,
	                    (unsigned long long)options->seed);
	if (options->layouts >= 2 && !(workload && workload->run))
		text = arena_printf(arena, "%s --layouts %u", text, options->layouts);
	if (options->measure_anyway)
		text = arena_printf(arena, "%s --measure-anyway", text);
	if (options->to_rung != RUNG_TIME)
		text = arena_printf(arena, "%s --to-rung %s", text, rung_name(options->to_rung));
	if (trial->hypothesis->kind == CANDIDATE_COMMAND)
		text = arena_printf(arena, "%s -- %s", text, workload->shell ? shell_quote(arena, workload->run) : workload->run);
	return text;
}

/* A trial of the run, with what its site knows already. */
static struct trial *trial_begin(struct ladder *ladder, const struct site *site, const struct binding_list *params)
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

static void trial_end(struct ladder *ladder, struct trial *trial)
{
	if (trial->verdict == VERDICT_NONE)
		BUG("trial %s ends without a verdict", trial->id);
	list_push(ladder_arena(ladder), &ladder->session->run.trials, trial);
	if (ladder->options->trial_done)
		ladder->options->trial_done(ladder->options->context, trial);
}

/* What assay itself could not do is the trial's failure, and the next trial begins; Ctrl-C ends the whole run. */
static enum status trial_trouble(struct ladder *ladder, struct trial *trial, enum rung rung, double started,
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
static enum status baseline_get(struct ladder *ladder, const struct workload *workload,
                                const struct string_list *changed, const struct build_config *config,
                                struct baseline **ret_baseline, struct err *err)
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

static enum status baseline_compile(struct ladder *ladder, struct baseline *baseline, struct err *err)
{
	if (baseline->compiled || baseline->variant.failure)
		return ST_OK;
	enum status status = build_compile(ladder->session, &baseline->variant, NULL, err);
	baseline->compiled = status == ST_OK;
	return status;
}

static enum status baseline_link(struct ladder *ladder, struct baseline *baseline, struct err *err)
{
	if (baseline->linked || baseline->variant.failure)
		return ST_OK;
	enum status status = build_link(ladder->session, &baseline->variant, err);
	baseline->linked = status == ST_OK;
	return status;
}

static bool baseline_reads_file(const struct baseline *baseline, const char *file)
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
static bool baseline_reads(const struct baseline *baseline, const struct string_list *files)
{
	for (size_t f = 0; f < files->count; f++)
		if (baseline_reads_file(baseline, files->at[f]))
			return true;
	return files->count == 0;
}

/* Of a workload that can't even be preprocessed: could it read one of the files? Its own sources and any header. */
static bool workload_may_read(const struct workload *workload, const struct string_list *files)
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
static enum status command_baseline_get(struct ladder *ladder, const struct workload *workload,
                                        struct baseline **ret_baseline, struct err *err)
{
	for (size_t i = 0; i < ladder->baselines.count; i++)
		if (ladder->baselines.at[i]->workload == workload) {
			*ret_baseline = ladder->baselines.at[i];
			return ST_OK;
		}
	struct baseline *baseline = arena_new(ladder_arena(ladder), struct baseline);
	*baseline = (struct baseline){.workload = workload, .config = {.cc = "", .flags = ""}, .compiled = true, .linked = true};
	enum status status = build_command(ladder->session, NULL, workload, &baseline->config, &baseline->variant, err);
	if (status != ST_OK)
		return status;
	list_push(ladder_arena(ladder), &ladder->baselines, baseline);
	*ret_baseline = baseline;
	return ST_OK;
}

/* The baseline that a candidate with a variable more in its environment is compared with: it has a variable of the same
 * length, since the size of the environment moves the stack and with it the speed (Mytkowicz et al., 2009). */
static struct baseline *baseline_with_env(struct arena *arena, const struct baseline *baseline,
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
static const struct string_list *site_files(const struct site *site, const struct string_list *changed)
{
	return site->baseline->workload || !site->baseline->changed ? changed : site->baseline->changed;
}

/* ---- the rungs of a site --------------------------------------------------------------------------------------- */

static const char *units_text(struct arena *arena, const struct unit_list *units)
{
	struct string_list names = {0};
	for (size_t i = 0; i < units->count && i < 3; i++)
		list_push(arena, &names, units->at[i].source);
	if (units->count > 3)
		return arena_printf(arena, "%s and %zu more", text_join(arena, &names, ", "), units->count - 3);
	return text_join(arena, &names, ", ");
}

/* "lib/a.h is read by lib/a.c, lib/b.c", of the first changed file that some unit reads. */
static const char *read_by_text(struct arena *arena, const struct variant *baseline, const struct string_list *changed)
{
	for (size_t f = 0; f < changed->count; f++) {
		struct unit_list readers = {0};
		for (size_t i = 0; i < baseline->units.count; i++) {
			const struct unit *unit = &baseline->units.at[i];
			bool reads = false;
			for (size_t k = 0; k < unit->depends.count && !reads; k++)
				reads = strcmp(unit->depends.at[k], changed->at[f]) == 0;
			if (reads)
				list_push(arena, &readers, *unit);
		}
		if (readers.count)
			return arena_printf(arena, "%s is read by %s", changed->at[f], units_text(arena, &readers));
	}
	return arena_printf(arena, "%s belongs to %s", changed->at[0], units_text(arena, &baseline->units));
}

static bool site_built(struct ladder *ladder, struct site *site, const struct string_list *changed, double started)
{
	struct arena *arena = ladder_arena(ladder);
	struct trial *trial = &site->common;
	const struct variant *baseline = &site->baseline->variant;
	if (baseline->failure) {
		trial_settle(ladder, trial, RUNG_BUILT, VERDICT_FAILED, started,
		             arena_printf(arena, "the baseline can't be built: %s", baseline->failure));
		return false;
	}
	const char *what = changed->count ? changed->at[0] : "the change";
	const char *tree = ladder->session->project.tree;
	if (baseline->units.count == 0 && changed->count && access(path_join(arena, tree, what), F_OK) != 0) {
		trial_settle(ladder, trial, RUNG_BUILT, VERDICT_FAILED, started,
		             arena_printf(arena, "the patch does not apply: there is no %s in %s: its paths count from there, with or "
		                          "without a/ and b/", what, tree));
		return false;
	}
	if (baseline->units.count == 0 && !ladder->session->run.database) {
		trial_settle(ladder, trial, RUNG_BUILT, VERDICT_INCONCLUSIVE, started,
		             arena_printf(arena, "no chosen workload reads %s, and how it is compiled is not known: name a "
		                          "compile_commands.json with -p", what));
		return false;
	}
	if (baseline->units.count == 0) {
		trial_settle(ladder, trial, RUNG_BUILT, VERDICT_NOT_BUILT, started,
		             arena_printf(arena, "no compile command and no workload reads %s", what));
		return false;
	}
	/* Two sides that run different work say nothing about the code that they run. */
	const struct workload *workload = site->baseline->workload;
	for (size_t i = 0; workload && workload->bench && workload->sources.count && i < changed->count; i++)
		if (text_equal(path_under(path_clean(arena, path_join(arena, ladder->session->project.dir, workload->bench)), tree),
		               changed->at[i])) {
			trial_settle(ladder, trial, RUNG_BUILT, VERDICT_FAILED, started,
			             arena_printf(arena, "the patch changes the workload's driver %s, so the two sides would run different "
			                          "work: leave it out of the patch", workload->bench));
			return false;
		}
	if (changed->count)
		trial_step(ladder, trial, RUNG_BUILT, STEP_PASSED, started, read_by_text(arena, baseline, changed));
	else
		trial_step(ladder, trial, RUNG_BUILT, STEP_PASSED, started,
		           arena_printf(arena, "the change concerns every unit: %s", units_text(arena, &baseline->units)));
	return true;
}

/* Facts that the scan gathered belong to the evidence: "nothing changed" convinces with its reason. */
static const char *with_finding_evidence(struct arena *arena, const struct hypothesis *hypothesis, const char *text)
{
	if (hypothesis->finding && hypothesis->finding->evidence)
		return arena_printf(arena, "%s (%s)", text, hypothesis->finding->evidence);
	return text;
}

/* "No effect" is about everything that the change reaches: when some of it could not be looked at, it is not said. */
static void site_settle_equal(struct ladder *ladder, struct site *site, enum rung rung, double started, const char *text)
{
	const char *incomplete = site->baseline->variant.incomplete;
	if (incomplete)
		trial_settle(ladder, &site->common, rung, VERDICT_INCONCLUSIVE, started,
		             arena_printf(ladder_arena(ladder), "%s, but not all of it was looked at: %s", text, incomplete));
	else
		trial_settle(ladder, &site->common, rung, VERDICT_NO_EFFECT, started, text);
}

static enum status site_tokens(struct ladder *ladder, struct site *site, const struct string_list *changed,
                               struct err *err)
{
	struct arena *arena = ladder_arena(ladder);
	struct trial *trial = &site->common;
	struct variant *candidate = &site->candidate;
	double started = proc_now();
	enum status status = build_prepare(ladder->session, site->hypothesis, site->baseline->workload, site_files(site, changed),
	                                   &site->baseline->config, candidate, err);
	if (status != ST_OK)
		return status;
	if (candidate->failure) {
		trial_settle(ladder, trial, RUNG_BUILT, VERDICT_FAILED, started, candidate->failure);
		return ST_OK;
	}
	status = build_preprocess(ladder->session, candidate, err);
	if (status != ST_OK)
		return status;
	if (candidate->failure) {
		trial_settle(ladder, trial, RUNG_TOKENS, VERDICT_FAILED, started,
		             arena_printf(arena, "the candidate does not compile: %s", candidate->failure));
		return ST_OK;
	}
	status = compare_tokens(ladder->session, &site->baseline->variant, candidate, &trial->tokens, err);
	if (status != ST_OK)
		return status;
	if (site->hypothesis->kind == CANDIDATE_ENV) {
		trial_step(ladder, trial, RUNG_TOKENS, STEP_SKIPPED, 0, "the same program, in another environment");
		return ST_OK;
	}
	bool other_command = site->hypothesis->kind == CANDIDATE_FLAGS || site->hypothesis->kind == CANDIDATE_CC;
	if (trial->tokens.differ)
		trial_step(ladder, trial, RUNG_TOKENS, STEP_PASSED, started,
		           arena_printf(arena, "%u of %u units have other tokens, first %s", trial->tokens.units_differing,
		                        trial->tokens.units, trial->tokens.first ? trial->tokens.first : "?"));
	else if (other_command)
		trial_step(ladder, trial, RUNG_TOKENS, STEP_PASSED, started,
		           "same tokens; the compile command differs, so the code may");
	else
		site_settle_equal(ladder, site, RUNG_TOKENS, started,
		                  with_finding_evidence(arena, site->hypothesis,
		                                        arena_printf(arena,
		                                                     "nothing changed: the same %llu preprocessed tokens in %u unit%s",
		                                                     trial->tokens.tokens, trial->tokens.units,
		                                                     trial->tokens.units == 1 ? "" : "s")));
	return ST_OK;
}

static const char *code_text(struct arena *arena, const struct code_difference *code)
{
	char *text = arena_printf(arena, "%zu of %u functions differ", code->changed.count, code->functions);
	for (size_t i = 0; i < code->changed.count && i < 3; i++) {
		const struct function_change *change = &code->changed.at[i];
		const char *how = change->change == CHANGE_ADDED     ? "added"
		                  : change->change == CHANGE_REMOVED ? "removed"
		                                                     : arena_printf(arena, "%u -> %u instructions",
		                                                                    change->baseline_instructions,
		                                                                    change->candidate_instructions);
		text = arena_printf(arena, "%s%s%s (%s)", text, i ? ", " : ": ", change->name, how);
	}
	if (code->changed.count > 3)
		text = arena_printf(arena, "%s and %zu more", text, code->changed.count - 3);
	if (code->data.count)
		text = arena_printf(arena, "%s; data: %s %s", text, code->data.at[0].name, code->data.at[0].what);
	if (code->records.count)
		text = arena_printf(arena, "%s; layout: %s %s", text, code->records.at[0].name, code->records.at[0].what);
	return text;
}

/* False also where there is no program: units of the database are not linked. */
static enum status site_programs_equal(struct ladder *ladder, struct site *site, bool *ret_equal, struct err *err)
{
	struct arena *arena = ladder_arena(ladder);
	*ret_equal = false;
	if (!site->baseline->workload)
		return ST_OK;
	enum status status = baseline_link(ladder, site->baseline, err);
	if (status == ST_OK && !site->baseline->variant.failure)
		status = build_link(ladder->session, &site->candidate, err);
	if (status != ST_OK || site->baseline->variant.failure || site->candidate.failure)
		return status;
	const char *programs[2] = {site->baseline->variant.program, site->candidate.program};
	const char *texts[2] = {NULL, NULL};
	size_t sizes[2] = {0, 0};
	for (int i = 0; i < 2 && status == ST_OK; i++)
		status = file_read(arena, programs[i], &texts[i], &sizes[i], err);
	if (status == ST_OK)
		*ret_equal = sizes[0] == sizes[1] && memcmp(texts[0], texts[1], sizes[0]) == 0;
	return status;
}

static enum status site_code(struct ladder *ladder, struct site *site, struct err *err)
{
	struct arena *arena = ladder_arena(ladder);
	struct trial *trial = &site->common;
	struct variant *candidate = &site->candidate;
	double started = proc_now();
	enum status status = baseline_compile(ladder, site->baseline, err);
	if (status != ST_OK)
		return status;
	if (site->baseline->variant.failure) {
		trial_settle(ladder, trial, RUNG_CODE, VERDICT_FAILED, started,
		             arena_printf(arena, "the baseline does not compile: %s", site->baseline->variant.failure));
		return ST_OK;
	}
	status = build_compile(ladder->session, candidate, &site->baseline->variant, err);
	if (status != ST_OK)
		return status;
	if (candidate->failure) {
		trial_settle(ladder, trial, RUNG_CODE, VERDICT_FAILED, started,
		             arena_printf(arena, "the candidate does not compile: %s", candidate->failure));
		return ST_OK;
	}
	if (site->hypothesis->kind == CANDIDATE_ENV) {
		trial_step(ladder, trial, RUNG_CODE, STEP_SKIPPED, 0, "the same program, in another environment");
		return ST_OK;
	}
	status = compare_code(ladder->session, &site->baseline->variant, candidate, &trial->code, err);
	if (status != ST_OK)
		return status;
	const char *same = arena_printf(arena, "same machine code: %u functions in %u unit%s under %s %s",
	                                trial->code.functions, trial->code.units, trial->code.units == 1 ? "" : "s",
	                                trial->config.cc,
	                                trial->config.flags[0] ? trial->config.flags : "with the project's own flags");
	enum candidate_kind kind = site->hypothesis->kind;
	if (trial->code.differ) {
		trial_step(ladder, trial, RUNG_CODE, STEP_PASSED, started, code_text(arena, &trial->code));
		return ST_OK;
	}
	if (kind != CANDIDATE_FLAGS && kind != CANDIDATE_CC) {
		site_settle_equal(ladder, site, RUNG_CODE, started, same);
		return ST_OK;
	}
	/* Flags and compilers act at the link too (-static, -ffast-math's start-up code): the programs must be equal. */
	bool equal = false;
	status = site_programs_equal(ladder, site, &equal, err);
	if (status != ST_OK)
		return status;
	if (equal)
		site_settle_equal(ladder, site, RUNG_CODE, started,
		                  arena_printf(arena, "%s, and the same linked program, byte for byte", same));
	else
		trial_step(ladder, trial, RUNG_CODE, STEP_PASSED, started,
		           arena_printf(arena, "%s, but it may be linked otherwise", same));
	return ST_OK;
}

static enum status site_intent(struct ladder *ladder, struct site *site, struct err *err)
{
	struct trial *trial = &site->common;
	double started = proc_now();
	const char *reason = site->hypothesis->deliberate;
	if (!reason && site->hypothesis->finding)
		reason = site->hypothesis->finding->deliberate;
	bool decided = reason != NULL;
	if (!reason) {
		enum status status = intent_find(ladder->session, site->hypothesis, &reason, err);
		if (status != ST_OK)
			return status;
	}
	if (reason && !decided && !site->hypothesis->finding)
		/* A comment can't answer for a change that somebody asked about by name: it is quoted, and the climb goes on. */
		trial_step(ladder, trial, RUNG_INTENT, STEP_PASSED, started,
		           arena_printf(ladder_arena(ladder), "asked for by name, so settled all the same; beside it stands: %s",
		                        reason));
	else if (reason)
		trial_settle(ladder, trial, RUNG_INTENT, VERDICT_DELIBERATE, started, reason);
	else
		trial_step(ladder, trial, RUNG_INTENT, STEP_PASSED, started, "nothing beside the change says that it is deliberate");
	return ST_OK;
}

/* A command's rungs up to intent: built by the project as a whole, so neither tokens nor functions are compared. */
static enum status site_command_built(struct ladder *ladder, struct site *site, struct err *err)
{
	struct arena *arena = ladder_arena(ladder);
	struct trial *trial = &site->common;
	const struct variant *baseline = &site->baseline->variant;
	double started = proc_now();
	enum status status = baseline->failure ? ST_OK
	                                       : build_command(ladder->session, site->hypothesis, site->baseline->workload,
	                                                       &site->baseline->config, &site->candidate, err);
	if (status != ST_OK)
		return status;
	const char *failure = baseline->failure ? baseline->failure : site->candidate.failure;
	if (failure) {
		trial_settle(ladder, trial, RUNG_BUILT, VERDICT_FAILED, started,
		             arena_printf(arena, "the %s can't be run: %s", baseline->failure ? "baseline" : "candidate", failure));
		return ST_OK;
	}
	trial_step(ladder, trial, RUNG_BUILT, STEP_PASSED, started,
	           ladder->session->project.build
	               ? arena_printf(arena, "`%s` succeeds in a copy of the tree for each variant", ladder->session->project.build)
	               : "both can be started");
	for (enum rung rung = RUNG_TOKENS; rung <= RUNG_CODE && rung <= ladder->options->to_rung; rung++)
		trial_step(ladder, trial, rung, STEP_SKIPPED, 0, "not asked of whole commands");
	return ST_OK;
}

/* Is another rung to be asked? */
static bool site_goes_on(struct ladder *ladder, const struct site *site, enum rung next)
{
	const struct trial *trial = &site->common;
	if (ladder_interrupted(ladder))
		return false;
	if (trial->verdict == VERDICT_FAILED || trial->verdict == VERDICT_NOT_BUILT ||
	    (trial->verdict == VERDICT_INCONCLUSIVE && trial->rung == RUNG_BUILT))
		return false;
	if (trial->verdict != VERDICT_NONE && !ladder->options->measure_anyway)
		return false;
	return next <= ladder->options->to_rung;
}

/* Climbs as far as parameters don't matter. */
static enum status site_climb(struct ladder *ladder, struct site *site, const struct string_list *all_changed,
                              struct err *err)
{
	double started = proc_now();
	struct err trouble = ERR_INIT;
	enum status status = ST_OK;
	const struct string_list *changed = site_files(site, all_changed);
	bool command = site->baseline->workload && site->baseline->workload->run;
	enum rung rung = command ? RUNG_INTENT : RUNG_TOKENS;
	if (command && site_command_built(ladder, site, &trouble) != ST_OK)
		return trial_trouble(ladder, &site->common, RUNG_BUILT, started, &trouble, err);
	if (!command && !site_built(ladder, site, changed, started))
		return ST_OK;
	for (; status == ST_OK && rung <= RUNG_INTENT && site_goes_on(ladder, site, rung); rung++) {
		started = proc_now();
		switch (rung) {
		case RUNG_TOKENS:
			status = site_tokens(ladder, site, changed, &trouble);
			break;
		case RUNG_CODE:
			status = site_code(ladder, site, &trouble);
			break;
		case RUNG_INTENT:
			status = site_intent(ladder, site, &trouble);
			break;
		case RUNG_NONE:
		case RUNG_BUILT:
		case RUNG_REACH:
		case RUNG_OUTPUTS:
		case RUNG_TIME:
			BUG("rung %s depends on parameters", rung_name(rung));
		}
		if (status != ST_OK)
			break;
	}
	if (status != ST_OK)
		return trial_trouble(ladder, &site->common, rung, started, &trouble, err);
	if (ladder_interrupted(ladder))
		return err_set(err, ST_INTERRUPTED, "interrupted");
	return ST_OK;
}

/* ---- the rungs of a trial --------------------------------------------------------------------------------------- */

static enum status trial_reach(struct ladder *ladder, const struct site *site, struct trial *trial, double alpha,
                               bool *ret_go_on, struct err *err)
{
	double started = proc_now();
	struct reach_result result = {0};
	enum candidate_kind kind = site->hypothesis->kind;
	if (site->baseline->variant.command || kind == CANDIDATE_ENV) {
		trial_step(ladder, trial, RUNG_REACH, STEP_SKIPPED, 0,
		           kind == CANDIDATE_ENV ? "an environment reaches all of a program" : "not asked of whole commands");
		*ret_go_on = true;
		return ST_OK;
	}
	enum status status = reach_find(ladder->session, &site->baseline->variant, &site->candidate, &trial->params,
	                                &trial->code, kind == CANDIDATE_PATCH || kind == CANDIDATE_DEFINE, alpha,
	                                ladder->options->margin, ladder->options->budget_s, &result, err);
	if (status != ST_OK)
		return status;
	trial->reach = result.reach;
	*ret_go_on = true;
	switch (result.verdict) {
	case REACH_PASSED:
		trial_step(ladder, trial, RUNG_REACH, STEP_PASSED, started, result.text);
		break;
	case REACH_UNKNOWN:
		trial_step(ladder, trial, RUNG_REACH, STEP_SKIPPED, started, result.text);
		break;
	case REACH_NOT_REACHED:
		trial_settle(ladder, trial, RUNG_REACH, VERDICT_NOT_REACHED, started, result.text);
		*ret_go_on = ladder->options->measure_anyway;
		break;
	case REACH_CANNOT_MATTER:
		/* The code does run; its share bounds what the change can do to within the margin. */
		trial_settle(ladder, trial, RUNG_REACH, VERDICT_NO_EFFECT, started, result.text);
		*ret_go_on = ladder->options->measure_anyway;
		break;
	}
	return ST_OK;
}

/* Nothing can be measured honestly; a verdict that an earlier rung reached stands all the same. */
static void trial_incomparable(struct ladder *ladder, struct trial *trial, double started, const char *text)
{
	if (trial->verdict == VERDICT_NONE)
		trial_settle(ladder, trial, RUNG_OUTPUTS, VERDICT_FAILED, started, text);
	else
		trial_step(ladder, trial, RUNG_OUTPUTS, STEP_SKIPPED, started, text);
}

static enum status trial_outputs(struct ladder *ladder, const struct site *site, struct trial *trial, bool *ret_go_on,
                                 struct err *err)
{
	struct arena *arena = ladder_arena(ladder);
	double started = proc_now();
	struct outputs_result result = {0};
	*ret_go_on = false;
	enum status status = outputs_compare(ladder->session, &site->baseline->variant, &site->candidate, &trial->params,
	                                     ladder->options->budget_s, &result, err);
	if (status != ST_OK)
		return status;
	switch (result.verdict) {
	case OUTPUTS_EQUAL:
		trial_step(ladder, trial, RUNG_OUTPUTS, STEP_PASSED, started,
		           result.text[0] ? result.text :
		           arena_printf(arena, "same results: %u records, %llu bytes; the baseline equals itself", result.records,
		                        result.bytes));
		*ret_go_on = true;
		break;
	case OUTPUTS_DIFFER:
		trial_settle(ladder, trial, RUNG_OUTPUTS, VERDICT_WRONG_RESULTS, started, result.text);
		break;
	case OUTPUTS_CANDIDATE_FAILED:
		trial_settle(ladder, trial, RUNG_OUTPUTS, VERDICT_FAILED, started,
		             arena_printf(arena, "the candidate failed: %s", result.text));
		break;
	case OUTPUTS_BASELINE_FAILED:
		trial_settle(ladder, trial, RUNG_OUTPUTS, VERDICT_FAILED, started,
		             arena_printf(arena, "the workload fails on the baseline: %s", result.text));
		break;
	case OUTPUTS_NOT_REPEATABLE:
		trial_incomparable(ladder, trial, started,
		                   arena_printf(arena, "the baseline's results differ from its own, so none can be compared: %s",
		                                result.text));
		break;
	case OUTPUTS_NONE:
		trial_incomparable(ladder, trial, started,
		                   "the workload hands over no results, so a wrong candidate would look fast: call assay_output() "
		                   "in its output()");
		break;
	}
	return ST_OK;
}

static struct sample_sink trial_sink(struct ladder *ladder, const struct trial *trial, unsigned control)
{
	if (!ladder->options->samples)
		return (struct sample_sink){0};
	return ladder->options->samples(ladder->options->context, trial, control);
}

static struct plan trial_plan(struct ladder *ladder, const struct trial *trial, double alpha, const char *salt)
{
	/* Every measurement has its own stream of coins, all of them following from the one seed of the run. */
	char *key = arena_printf(ladder_arena(ladder), "%s/%s/%s/%s/%s %s", salt, trial->hypothesis->id,
	                         trial->workload ? trial->workload->name : "",
	                         params_text(ladder_arena(ladder), &trial->params, ""), trial->config.cc, trial->config.flags);
	return (struct plan){.seed = text_hash(key, strlen(key), ladder->options->seed ^ TEXT_HASH_SEED),
	                     .alpha = alpha,
	                     .margin = ladder->options->margin,
	                     .budget_s = ladder->options->budget_s,
	                     .layouts = trial->workload && trial->workload->run ? 0 : ladder->options->layouts,
	                     .sample_target_ns = 0, /* measure's default */
	                     .metric = trial->metric,
	                     .cpu = trial->workload && trial->workload->run ? trial->workload->cpu : CPU_CHOOSE};
}

/* Takes samples, with the plan kept before them and the outcome after them. */
static enum status trial_measure(struct ladder *ladder, const struct site *site, const struct variant *candidate,
                                 const struct trial *trial, unsigned control, const struct plan *plan,
                                 struct measurement *ret_measurement, struct err *err)
{
	const struct settle_options *options = ladder->options;
	struct sample_sink sink = trial_sink(ladder, trial, control);
	struct measurement planned = {.plan = *plan};
	if (options->measurement)
		options->measurement(options->context, trial, control, &planned, false);
	enum status status = measure(ladder->session, &site->baseline->variant, candidate, &trial->params, plan, &sink,
	                             ret_measurement, err);
	if (status == ST_OK && options->measurement)
		options->measurement(options->context, trial, control, ret_measurement, true);
	return status;
}

void control_judge(struct session *session, const struct measurement *measurement, unsigned attempt,
                   const char *samples_of, struct control *ret_control)
{
	judge_control(session, measurement, ret_control);
	ret_control->trial = samples_of;
	if (attempt > 1 && ret_control->quiet)
		ret_control->text = arena_printf(&session->arena, "%s (the first of two controls differed)", ret_control->text);
}

/* A against a copy of A, on this machine and workload; for all hypotheses, while it is young enough to speak for it. */
static enum status control_get(struct ladder *ladder, const struct site *site, const struct trial *trial,
                               struct control *ret_control, struct err *err)
{
	struct arena *arena = ladder_arena(ladder);
	const char *params = params_text(arena, &trial->params, "");
	for (size_t i = 0; i < ladder->controls.count; i++) {
		struct control_entry *known = ladder->controls.at[i];
		if (known->baseline == site->baseline && strcmp(known->params, params) == 0 &&
		    proc_now() - known->made < CONTROL_SECONDS) {
			*ret_control = known->control;
			return ST_OK;
		}
	}
	/* A command is started anew for every run: it is its own copy. */
	struct variant copy = site->baseline->variant;
	enum status status = copy.command ? ST_OK : build_copy(ladder->session, &site->baseline->variant, &copy, err);
	if (status != ST_OK)
		return status;
	struct control control = {0};
	double started = proc_now();
	/* A quiet machine looks disturbed once in 1/alpha controls; a disturbed one does so again. */
	for (unsigned attempt = 1; attempt <= 2 && !control.quiet; attempt++) {
		struct plan plan = trial_plan(ladder, trial, ladder->options->alpha,
		                              arena_printf(arena, "control %u", attempt - 1));
		struct measurement measurement = {0};
		status = trial_measure(ladder, site, &copy, trial, attempt, &plan, &measurement, err);
		if (status != ST_OK)
			return status;
		if (measurement.stop == STOP_INTERRUPTED)
			return err_set(err, ST_INTERRUPTED, "interrupted");
		if (measurement.stop == STOP_FAILED)
			return err_set(err, ST_INPUT, "the workload fails on the baseline: %s", measurement.failure);
		control_judge(ladder->session, &measurement, attempt, trial->id, &control);
		/* Too few blocks: another one of the same budget would show as little. */
		if (!isfinite(control.effect.low) || !isfinite(control.effect.high))
			break;
	}
	control.seconds = proc_now() - started;
	struct control_entry *entry = arena_new(arena, struct control_entry);
	*entry = (struct control_entry){site->baseline, params, control, proc_now()};
	list_push(arena, &ladder->controls, entry);
	*ret_control = control;
	return ST_OK;
}

static enum status trial_time(struct ladder *ladder, const struct site *site, struct trial *trial, double alpha,
                              struct err *err)
{
	struct session *session = ladder->session;
	double started = proc_now();
	enum status status = ST_OK;
	struct baseline *baseline = site->baseline;
	if (baseline->variant.command) {
		if (!baseline->metric_known)
			status = measure_metric(session, &baseline->variant, ladder->options->budget_s, &baseline->metric,
			                        &baseline->metric_why, err);
		if (status != ST_OK)
			return status;
		baseline->metric_known = true;
		trial->metric = baseline->metric;
		trial->metric_why = baseline->metric_why;
		trial->repeat = trial_repeat(ladder, trial);
	}
	status = control_get(ladder, site, trial, &trial->control, err);
	if (status != ST_OK)
		return status;
	trial->alpha = alpha;
	trial->margin = ladder->options->margin;
	struct measurement measurement = {.stop = STOP_BUDGET, .plan.metric = trial->metric};
	if (trial->control.quiet) {
		struct plan plan = trial_plan(ladder, trial, alpha, "trial");
		status = trial_measure(ladder, site, &site->candidate, trial, 0, &plan, &measurement, err);
		if (status != ST_OK)
			return status;
		if (measurement.stop == STOP_INTERRUPTED)
			session_note(session, trial->id, "interrupted after %zu pairs: they are stored, no verdict follows from them",
			             measurement.pairs.count);
	}
	judge_trial(session, &measurement, &trial->control, trial);
	trial->rung = RUNG_TIME;
	trial_step(ladder, trial, RUNG_TIME, STEP_SETTLED, started, trial->evidence);
	if (measurement.stop == STOP_INTERRUPTED)
		return err_set(err, ST_INTERRUPTED, "interrupted");
	/* Last: counts explain a time and never decide it, so they neither delay nor endanger the verdict. */
	struct err trouble = ERR_INIT;
	status = count(session, &site->baseline->variant, &site->candidate, &trial->params, ladder->options->budget_s,
	               &trial->counters, &trouble);
	if (status == ST_INTERRUPTED)
		return err_set(err, ST_INTERRUPTED, "interrupted");
	if (status != ST_OK)
		session_note(session, trial->id, "no counters: %s", trouble.text);
	explain(session, trial);
	return ST_OK;
}

/* The rungs that depend on parameters. ST_INTERRUPTED ends the run; the trial is kept either way. */
static enum status trial_climb(struct ladder *ladder, const struct site *site, struct trial *trial, double alpha,
                               struct err *err)
{
	struct err trouble = ERR_INIT;
	enum status status = ST_OK;
	bool go_on = true;
	if (trial_stops_before(ladder, trial, RUNG_REACH))
		return ST_OK;
	double started = proc_now();
	enum rung rung = RUNG_REACH;
	bool to_time = true;
	status = trial_reach(ladder, site, trial, alpha, &to_time, &trouble);
	/* Results are compared whatever reach says: what is rarely run, or by edge inputs only, can still be wrong. */
	if (status == ST_OK && trial_stops_before(ladder, trial, RUNG_OUTPUTS))
		return ST_OK;
	if (status == ST_OK) {
		started = proc_now();
		rung = RUNG_OUTPUTS;
		status = trial_outputs(ladder, site, trial, &go_on, &trouble);
	}
	if (status == ST_OK && go_on && to_time && !trial_stops_before(ladder, trial, RUNG_TIME)) {
		started = proc_now();
		rung = RUNG_TIME;
		status = trial_time(ladder, site, trial, alpha, &trouble);
	}
	if (status == ST_OK)
		return ST_OK;
	if (trouble.code == ST_INTERRUPTED && trial->verdict == VERDICT_NONE) {
		trial->verdict = VERDICT_INCONCLUSIVE;
		trial->rung = rung;
		trial->evidence = "interrupted before it was settled";
		trial_step(ladder, trial, rung, STEP_SKIPPED, started, trial->evidence);
	}
	if (trouble.code == ST_INTERRUPTED)
		return err_set(err, ST_INTERRUPTED, "interrupted");
	return trial_trouble(ladder, trial, rung, started, &trouble, err);
}

/* ---- a hypothesis -------------------------------------------------------------------------------------------------- */

/* All combinations of a workload's parameters; one empty one when it has none. */
static void bindings_of(struct arena *arena, const struct workload *workload, size_t index, struct binding_list prefix,
                        void (*each)(void *context, const struct binding_list *params), void *context)
{
	if (!workload || index == workload->params.count) {
		each(context, &prefix);
		return;
	}
	const struct param *param = &workload->params.at[index];
	for (size_t i = 0; i < param->values.count; i++) {
		struct binding_list longer = {0};
		for (size_t k = 0; k < prefix.count; k++)
			list_push(arena, &longer, prefix.at[k]);
		struct binding binding = {param->name, param->values.at[i]};
		list_push(arena, &longer, binding);
		bindings_of(arena, workload, index + 1, longer, each, context);
	}
}

struct planned {
	struct site *site;
	struct binding_list params;
};
LIST_OF(struct planned, planned_list);

struct planning {
	struct ladder *ladder;
	struct site *site;
	struct planned_list list;
};

static void plan_one(void *context, const struct binding_list *params)
{
	struct planning *planning = context;
	struct planned planned = {planning->site, *params};
	list_push(ladder_arena(planning->ladder), &planning->list, planned);
}

static struct site *site_new(struct ladder *ladder, const struct hypothesis *hypothesis, struct baseline *baseline,
                             struct site_list *sites)
{
	struct site *site = arena_new(ladder_arena(ladder), struct site);
	site->hypothesis = hypothesis;
	site->baseline = baseline;
	site->common.hypothesis = hypothesis;
	site->common.workload = baseline->workload;
	site->common.config = baseline->config;
	list_push(ladder_arena(ladder), sites, site);
	return site;
}

static bool workload_wanted(const struct ladder *ladder, const struct hypothesis *hypothesis,
                            const struct workload *workload)
{
	/* Claims of the project file may name the workloads that they are about. */
	const struct claimed_list *claims = &ladder->session->project.hypotheses;
	for (size_t i = 0; i < claims->count; i++) {
		const struct claimed *claim = &claims->at[i];
		if (!text_equal(claim->name, hypothesis->title) || claim->workloads.count == 0)
			continue;
		for (size_t k = 0; k < claim->workloads.count; k++)
			if (strcmp(claim->workloads.at[k], workload->name) == 0)
				return true;
		return false;
	}
	return true;
}

/* The project's commands on which the hypothesis can be tried; a note says why it can't on the others. */
static void commands_find(struct ladder *ladder, const struct hypothesis *hypothesis, struct workload_list *ret_commands)
{
	struct session *session = ladder->session;
	const struct workload_list *workloads = &session->project.workloads;
	const char *lack = build_command_lack(session, hypothesis);
	for (size_t i = 0; i < workloads->count; i++) {
		if (!workloads->at[i]->run || !workload_wanted(ladder, hypothesis, workloads->at[i]))
			continue;
		bool said = false;
		for (size_t k = 0; lack && k < session->run.notes.count && !said; k++)
			said = text_equal(session->run.notes.at[k].where, workloads->at[i]->name) &&
			       text_equal(session->run.notes.at[k].text, lack);
		if (lack && !said)
			session_note(session, workloads->at[i]->name, "%s", lack);
		else if (!lack)
			list_push(ladder_arena(ladder), ret_commands, workloads->at[i]);
	}
}

/* Files that a compiler could read: documents and scripts of a patch change no program. */
static bool is_code(const char *file)
{
	static const char *const endings[] = {".c", ".h", ".S", ".s", ".inc", ".def", ".y", ".l", ".asm", ".cc", ".cpp", ".hpp"};
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (text_ends(file, endings[i]))
			return true;
	return false;
}

/* Where the hypothesis can be looked at: the workloads that read what it changes, and the database's units for those of
 * its files that no workload reads. A patch is "no effect" only when all of it was looked at. */
static enum status sites_find(struct ladder *ladder, const struct hypothesis *hypothesis,
                              const struct string_list *changed, struct site_list *sites, struct err *err)
{
	struct arena *arena = ladder_arena(ladder);
	const struct workload_list *workloads = &ladder->session->project.workloads;
	struct workload_list commands = {0};
	bool env = hypothesis->kind == CANDIDATE_ENV;
	commands_find(ladder, hypothesis, &commands);
	for (size_t c = 0; c < ladder->options->configs.count; c++) {
		const struct build_config *config = &ladder->options->configs.at[c];
		size_t before = sites->count;
		bool *read = arena_alloc(arena, changed->count * sizeof *read);
		for (size_t w = 0; w < workloads->count; w++) {
			if (workloads->at[w]->run || !workload_wanted(ladder, hypothesis, workloads->at[w]))
				continue;
			struct baseline *baseline = NULL;
			enum status status = baseline_get(ladder, workloads->at[w], changed, config, &baseline, err);
			if (status != ST_OK)
				return status;
			bool broken = baseline->variant.failure != NULL;
			if (broken ? workload_may_read(workloads->at[w], changed) : baseline_reads(baseline, changed))
				site_new(ladder, hypothesis, env && !broken ? baseline_with_env(arena, baseline, hypothesis) : baseline, sites);
			for (size_t f = 0; f < changed->count; f++)
				read[f] |= !broken && baseline_reads_file(baseline, changed->at[f]);
		}
		struct string_list *rest = arena_new(arena, struct string_list);
		for (size_t f = 0; f < changed->count; f++)
			if (!read[f] && (is_code(changed->at[f]) || sites->count == before))
				list_push(arena, rest, changed->at[f]);
		/* A command builds and runs the whole tree, so it answers for what no other workload reads. */
		if (commands.count || (rest->count == 0 && sites->count > before))
			continue;
		struct baseline *database = NULL;
		enum status status = baseline_get(ladder, NULL, rest, config, &database, err);
		if (status != ST_OK)
			return status;
		/* A broken workload that may read the file is the answer, where the database has none. */
		bool useless = database->variant.units.count == 0 || database->variant.failure;
		bool answered = false;
		for (size_t i = before; i < sites->count; i++)
			answered |= sites->at[i]->baseline->variant.failure != NULL;
		if (!useless || !answered)
			site_new(ladder, hypothesis, database, sites);
	}
	for (size_t i = 0; i < commands.count; i++) {
		struct baseline *baseline = NULL;
		enum status status = command_baseline_get(ladder, commands.at[i], &baseline, err);
		if (status != ST_OK)
			return status;
		site_new(ladder, hypothesis, env ? baseline_with_env(ladder_arena(ladder), baseline, hypothesis) : baseline, sites);
	}
	return ST_OK;
}

static double options_alpha_share(const struct ladder *ladder, size_t trials)
{
	return ladder->options->alpha / (double)(trials ? trials : 1);
}

static enum status hypothesis_settle(struct ladder *ladder, const struct hypothesis *hypothesis, struct err *err)
{
	struct arena *arena = ladder_arena(ladder);
	struct string_list changed = {0};
	struct site_list sites = {0};
	struct err trouble = ERR_INIT;
	enum status status = build_changed_files(ladder->session, hypothesis, &changed, &trouble);
	if (status == ST_OK)
		status = sites_find(ladder, hypothesis, &changed, &sites, &trouble);
	if (status != ST_OK) {
		struct baseline none = {.config = ladder->options->configs.at[0]};
		struct site *site = site_new(ladder, hypothesis, &none, &sites);
		struct trial *trial = trial_begin(ladder, site, NULL);
		status = trial_trouble(ladder, trial, RUNG_BUILT, proc_now(), &trouble, err);
		if (status == ST_OK)
			trial_end(ladder, trial);
		return status;
	}

	struct planning planning = {.ladder = ladder};
	for (size_t i = 0; i < sites.count; i++) {
		struct site *site = sites.at[i];
		session_progress(ladder->session, hypothesis->title, (double)i, (double)sites.count, -1);
		status = site_climb(ladder, site, &changed, err);
		if (status != ST_OK)
			return status;
		bool reaches_time = site_goes_on(ladder, site, RUNG_REACH) && site->baseline->workload;
		if (reaches_time && !site->baseline->workload->run) {
			struct err link_trouble = ERR_INIT;
			double started = proc_now();
			status = baseline_link(ladder, site->baseline, &link_trouble);
			if (status == ST_OK && !site->baseline->variant.failure)
				status = build_link(ladder->session, &site->candidate, &link_trouble);
			if (status != ST_OK) {
				status = trial_trouble(ladder, &site->common, RUNG_CODE, started, &link_trouble, err);
				if (status != ST_OK)
					return status;
				reaches_time = false;
			} else if (site->baseline->variant.failure || site->candidate.failure) {
				trial_settle(ladder, &site->common, RUNG_CODE, VERDICT_FAILED, started,
				             arena_printf(arena, "the %s does not link: %s",
				                          site->baseline->variant.failure ? "baseline" : "candidate",
				                          site->baseline->variant.failure ? site->baseline->variant.failure
				                                                          : site->candidate.failure));
				reaches_time = false;
			}
		}
		if (reaches_time) {
			planning.site = site;
			bindings_of(arena, site->baseline->workload, 0, (struct binding_list){0}, plan_one, &planning);
			continue;
		}
		struct trial *trial = trial_begin(ladder, site, NULL);
		if (trial->verdict == VERDICT_NONE && !trial_stops_before(ladder, trial, RUNG_REACH)) {
			trial->verdict = VERDICT_INCONCLUSIVE;
			trial->rung = trial->steps.at[trial->steps.count - 1].rung;
			trial->evidence = arena_printf(arena, "no workload of the project compiles %s, so nothing can be run: %s",
			                               changed.count ? changed.at[0] : "it",
			                               code_text(arena, &trial->code));
		}
		trial_end(ladder, trial);
	}

	size_t measured = planning.list.count;
	/* Also what the command that repeats one of them says: alone, it must not be easier to decide. */
	ladder->trial_alpha = options_alpha_share(ladder, measured);
	for (size_t i = 0; i < measured && status == ST_OK; i++) {
		const struct planned *planned = &planning.list.at[i];
		struct trial *trial = trial_begin(ladder, planned->site, &planned->params);
		status = trial_climb(ladder, planned->site, trial, ladder->trial_alpha, err);
		trial_end(ladder, trial);
		if (status == ST_OK && ladder_interrupted(ladder))
			status = err_set(err, ST_INTERRUPTED, "interrupted");
	}
	return status;
}

/* Advice without a candidate is a finding, no trial; a deliberate place without one is settled by its reason alone. */
static void hypothesis_advice(struct ladder *ladder, const struct hypothesis *hypothesis)
{
	const char *reason = hypothesis->deliberate ? hypothesis->deliberate
	                     : hypothesis->finding  ? hypothesis->finding->deliberate
	                                            : NULL;
	if (!reason)
		return;
	struct baseline *none = arena_new(ladder_arena(ladder), struct baseline);
	none->config = ladder->options->configs.at[0];
	struct site_list sites = {0};
	struct site *site = site_new(ladder, hypothesis, none, &sites);
	struct trial *trial = trial_begin(ladder, site, NULL);
	trial_settle(ladder, trial, RUNG_INTENT, VERDICT_DELIBERATE, 0, reason);
	trial_end(ladder, trial);
}

enum status settle_all(struct session *session, const struct settle_options *options, struct err *err)
{
	if (options->configs.count == 0)
		BUG("settle_all without a build configuration");
	struct ladder ladder = {.session = session, .options = options, .trial_alpha = options->alpha};
	enum status status = ST_OK;
	for (size_t i = 0; i < session->run.hypotheses.count && status == ST_OK; i++) {
		const struct hypothesis *hypothesis = session->run.hypotheses.at[i];
		if (hypothesis->kind == CANDIDATE_NONE)
			hypothesis_advice(&ladder, hypothesis);
		else
			status = hypothesis_settle(&ladder, hypothesis, err);
	}
	judge_families(session);
	return status;
}
