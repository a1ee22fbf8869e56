/* The rungs of a trial: reach, outputs, time. */
#include "cmd/ladder.h"

#include "base/text.h"
#include "port/proc.h"
#include "stage/stages.h"

#include <math.h>
#include <string.h>

/* ---- the rungs of a trial --------------------------------------------------------------------------------------- */

static double emulation_timeout(const struct ladder *ladder, const struct trial *trial)
{
	return fmax(hypothesis_budget(ladder, trial->hypothesis), EMULATION_SECONDS);
}

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
	                                ladder->options->margin, emulation_timeout(ladder, trial), &result, err);
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

/* What equal results show, and what only a person can say besides. */
static const char *equal_text(struct arena *arena, const struct trial *trial, const struct outputs_result *result)
{
	const char *text = result->text;
	if (!text[0])
		text = arena_printf(arena, "%s: %u records, %llu bytes; the baseline equals itself",
		                    result->rounding ? "same results but for their rounding" : "same results", result->records,
		                    result->bytes);
	if (result->rounding)
		text = arena_printf(arena, "%s; %s", text, result->rounding);
	const struct hypothesis *hypothesis = trial->hypothesis;
	if (!hypothesis->contract && !result->rounding)
		return text;
	if (hypothesis->contract_accepted)
		return arena_printf(arena, "%s; the contract is confirmed: %s", text, hypothesis->contract_accepted);
	return arena_printf(arena, "%s; this shows nothing of what the candidate promises, and nobody has confirmed that", text);
}

static enum status trial_outputs(struct ladder *ladder, const struct site *site, struct trial *trial, bool *ret_go_on,
                                 struct err *err)
{
	struct arena *arena = ladder_arena(ladder);
	double started = proc_now();
	struct outputs_result result = {0};
	*ret_go_on = false;
	enum status status = outputs_compare(ladder->session, &site->baseline->variant, &site->candidate, &trial->params,
	                                     fmax(hypothesis_budget(ladder, trial->hypothesis), OUTPUTS_SECONDS), &result, err);
	if (status != ST_OK)
		return status;
	trial->rounding = result.verdict == OUTPUTS_EQUAL ? result.rounding : NULL;
	switch (result.verdict) {
	case OUTPUTS_EQUAL:
		trial_step(ladder, trial, RUNG_OUTPUTS, STEP_PASSED, started, equal_text(arena, trial, &result));
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
		                   arena_printf(arena,
		                                "the baseline's results differ from its own, so none can be compared: %s",
		                                result.text));
		break;
	case OUTPUTS_NONE:
		trial_incomparable(
			ladder, trial, started,
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
	                         params_text(ladder_arena(ladder), &trial->params, ""), trial->config.cc,
	                         trial->config.flags);
	return (struct plan){.seed = text_hash(key, strlen(key), ladder->options->seed ^ TEXT_HASH_SEED),
	                     .alpha = alpha,
	                     .margin = ladder->options->margin,
	                     .budget_s = hypothesis_budget(ladder, trial->hypothesis),
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
		plan.same_layout = true;
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
		if (!effect_bounded(&control.effect))
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
		if (!baseline->metric_known && ladder->options->layouts >= 2)
			session_note(session, trial->workload->name,
			             "--layouts does nothing to a command, since its program can't be linked anew: it is measured as run, "
			             "each run at addresses that the kernel draws");
		if (!baseline->metric_known)
			status = measure_metric(session, &baseline->variant, hypothesis_budget(ladder, trial->hypothesis), &baseline->metric,
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
			session_note(session, trial->id,
			             "interrupted after %zu pairs: they are stored, no verdict follows from them",
			             measurement.pairs.count);
	}
	judge_trial(session, &measurement, &trial->control, trial);
	trial->rung = RUNG_TIME;
	trial_step(ladder, trial, RUNG_TIME, STEP_SETTLED, started, trial->evidence);
	if (measurement.stop == STOP_INTERRUPTED)
		return err_set(err, ST_INTERRUPTED, "interrupted");
	/* Last: counts explain a time and never decide it, so they neither delay nor endanger the verdict. */
	struct err trouble = ERR_INIT;
	status = count(session, &site->baseline->variant, &site->candidate, &trial->params, emulation_timeout(ladder, trial),
	               &trial->counters, &trouble);
	if (status == ST_INTERRUPTED)
		return err_set(err, ST_INTERRUPTED, "interrupted");
	if (status != ST_OK)
		session_note(session, trial->id, "no counters: %s", trouble.text);
	explain(session, trial);
	return ST_OK;
}

/* The rungs that depend on parameters. ST_INTERRUPTED ends the run; the trial is kept either way. */
enum status trial_climb(struct ladder *ladder, const struct site *site, struct trial *trial, double alpha,
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
