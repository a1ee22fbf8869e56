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

#include "cmd/ladder.h"

#include "base/text.h"
#include "port/proc.h"
#include "stage/stages.h"

#include <string.h>

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

void bindings_each(struct arena *arena, const struct workload *workload,
                   void (*each)(void *context, const struct binding_list *params), void *context)
{
	bindings_of(arena, workload, 0, (struct binding_list){0}, each, context);
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
	const struct claimed *claim = claim_of(ladder, hypothesis);
	if (!claim || claim->workloads.count == 0)
		return true;
	for (size_t k = 0; k < claim->workloads.count; k++)
		if (strcmp(claim->workloads.at[k], workload->name) == 0)
			return true;
	return false;
}

/* The project's commands on which the hypothesis can be tried; a note says why it can't on the others. */
static void commands_find(struct ladder *ladder, const struct hypothesis *hypothesis,
                          struct workload_list *ret_commands)
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
	static const char *const endings[] = {".c", ".h", ".S",   ".s",  ".inc", ".def",
	                                      ".y", ".l", ".asm", ".cc", ".cpp", ".hpp"};
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
				site_new(ladder, hypothesis, env && !broken ? baseline_with_env(arena, baseline, hypothesis) : baseline,
				         sites);
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
		/* A header that a workload reads, and more files besides: all of it is looked at. */
		if (hypothesis->finding && ladder->options->with_workload && sites->count == before)
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
		site_new(ladder, hypothesis, env ? baseline_with_env(ladder_arena(ladder), baseline, hypothesis) : baseline,
		         sites);
	}
	return ST_OK;
}

static double options_alpha_share(const struct ladder *ladder, size_t trials)
{
	return ladder->options->alpha / (double)(trials ? trials : 1);
}

/* A trial of what was looked at in no workload and no unit. */
static struct trial *trial_nowhere(struct ladder *ladder, const struct hypothesis *hypothesis)
{
	struct baseline *none = arena_new(ladder_arena(ladder), struct baseline);
	struct site_list sites = {0};
	none->config = ladder->options->configs.at[0];
	return trial_begin(ladder, site_new(ladder, hypothesis, none, &sites), NULL);
}

/* --with-workload: the command that repeats the trial goes as far as the code, without that option. */
static void hypothesis_not_tried(struct ladder *ladder, const struct hypothesis *hypothesis, const struct string_list *changed)
{
	struct trial *trial = trial_nowhere(ladder, hypothesis);
	trial_settle(ladder, trial, RUNG_BUILT, VERDICT_INCONCLUSIVE, 0,
	             arena_printf(ladder_arena(ladder), "not tried: no workload of the project compiles %s", changed->count ? changed->at[0] : "it"));
	trial_end(ladder, trial);
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
		struct trial *trial = trial_nowhere(ladder, hypothesis);
		status = trial_trouble(ladder, trial, RUNG_BUILT, proc_now(), &trouble, err);
		if (status == ST_OK)
			trial_end(ladder, trial);
		return status;
	}

	if (sites.count == 0)
		hypothesis_not_tried(ladder, hypothesis, &changed);
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
			bindings_each(arena, site->baseline->workload, plan_one, &planning);
			continue;
		}
		struct trial *trial = trial_begin(ladder, site, NULL);
		if (trial->verdict == VERDICT_NONE && !trial_stops_before(ladder, trial, RUNG_REACH)) {
			trial->verdict = VERDICT_INCONCLUSIVE;
			trial->rung = trial->steps.at[trial->steps.count - 1].rung;
			trial->evidence = arena_printf(arena, "no workload of the project compiles %s, so nothing can be run: %s",
			                               changed.count ? changed.at[0] : "it", code_text(arena, &trial->code));
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
	struct trial *trial = trial_nowhere(ladder, hypothesis);
	trial_settle(ladder, trial, RUNG_INTENT, VERDICT_DELIBERATE, 0, reason);
	trial_end(ladder, trial);
}

enum status settle_all(struct session *session, const struct settle_options *options, struct err *err)
{
	if (options->configs.count == 0)
		BUG("settle_all without a build configuration");
	struct ladder ladder = {.session = session, .options = options, .trial_alpha = options->alpha};
	enum status status = options->maps ? maps_draw(&ladder, err) : ST_OK;
	if (status == ST_OK && options->surveys)
		status = surveys_settle(&ladder, options->surveys, err);
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
