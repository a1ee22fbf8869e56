/* The rungs of a site: built, tokens, code, intent. */
#include "cmd/ladder.h"

#include "base/text.h"
#include "port/proc.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <string.h>
#include <unistd.h>

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
		             arena_printf(arena,
		                          "the patch does not apply: there is no %s in %s: its paths count from there, with or "
		                          "without a/ and b/",
		                          what, tree));
		return false;
	}
	if (baseline->units.count == 0 && !ladder->session->run.database) {
		trial_settle(ladder, trial, RUNG_BUILT, VERDICT_INCONCLUSIVE, started,
		             arena_printf(arena,
		                          "no chosen workload reads %s, and how it is compiled is not known: name a "
		                          "compile_commands.json with -p",
		                          what));
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
		if (text_equal(
				path_under(path_clean(arena, path_join(arena, ladder->session->project.dir, workload->bench)), tree),
				changed->at[i])) {
			trial_settle(
				ladder, trial, RUNG_BUILT, VERDICT_FAILED, started,
				arena_printf(arena,
			                 "the patch changes the workload's driver %s, so the two sides would run different "
			                 "work: leave it out of the patch",
			                 workload->bench));
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
static void site_settle_equal(struct ladder *ladder, struct site *site, enum rung rung, double started,
                              const char *text)
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
	enum status status = build_prepare(ladder->session, site->hypothesis, site->baseline->workload,
	                                   site_files(site, changed), &site->baseline->config, candidate, err);
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
		site_settle_equal(
			ladder, site, RUNG_TOKENS, started,
			with_finding_evidence(arena, site->hypothesis,
		                          arena_printf(arena, "nothing changed: the same %llu preprocessed tokens in %u unit%s",
		                                       trial->tokens.tokens, trial->tokens.units,
		                                       trial->tokens.units == 1 ? "" : "s")));
	return ST_OK;
}

const char *code_text(struct arena *arena, const struct code_difference *code)
{
	char *text = arena_printf(arena, "%zu of %u functions differ", code->changed.count, code->functions);
	for (size_t i = 0; i < code->changed.count && i < 3; i++) {
		const struct function_change *change = &code->changed.at[i];
		const char *how = change->change == CHANGE_ADDED ? "added"
		                  : change->change == CHANGE_REMOVED
		                      ? "removed"
		                      : arena_printf(arena, "%u -> %u instructions", change->baseline_instructions,
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
	const char *history = NULL;
	bool decided = reason != NULL;
	if (!reason) {
		enum status status = intent_find(ladder->session, site->hypothesis, &reason, &history, err);
		if (status != ST_OK)
			return status;
	}
	if (reason && !decided && !site->hypothesis->finding)
		/* A comment can't answer for a change that somebody asked about by name: it is quoted, and the climb goes on. */
		trial_step(ladder, trial, RUNG_INTENT, STEP_PASSED, started,
		           arena_printf(ladder_arena(ladder),
		                        "asked for by name, so settled all the same; beside it stands: %s", reason));
	else if (reason)
		trial_settle(ladder, trial, RUNG_INTENT, VERDICT_DELIBERATE, started, reason);
	else
		trial_step(ladder, trial, RUNG_INTENT, STEP_PASSED, started,
		           arena_printf(ladder_arena(ladder), "nothing beside the change says that it is deliberate%s%s",
		                        history ? "; " : "", history ? history : ""));
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
		trial_settle(
			ladder, trial, RUNG_BUILT, VERDICT_FAILED, started,
			arena_printf(arena, "the %s can't be run: %s", baseline->failure ? "baseline" : "candidate", failure));
		return ST_OK;
	}
	trial_step(ladder, trial, RUNG_BUILT, STEP_PASSED, started,
	           ladder->session->project.build
	               ? arena_printf(arena, "`%s` succeeds in a copy of the tree for each variant",
	                              ladder->session->project.build)
	               : "both can be started");
	for (enum rung rung = RUNG_TOKENS; rung <= RUNG_CODE && rung <= ladder->options->to_rung; rung++)
		trial_step(ladder, trial, rung, STEP_SKIPPED, 0, "not asked of whole commands");
	return ST_OK;
}

/* Is another rung to be asked? */
bool site_goes_on(struct ladder *ladder, const struct site *site, enum rung next)
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
enum status site_climb(struct ladder *ladder, struct site *site, const struct string_list *all_changed, struct err *err)
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
