/* The rungs of a survey: built ─▶ available ─▶ outputs ─▶ time, for all values of a parameter at once.
 *
 * What stops one value stops no other: one that can't run here, was left out of the build, fails or gives other results
 * than the baseline is named as such and is not timed.
 */
#include "cmd/ladder.h"

#include "base/text.h"
#include "port/host.h"
#include "port/proc.h"
#include "stage/stages.h"

#include <math.h>
#include <string.h>

/* One survey of the run, while it is settled. */
struct surveying {
	struct ladder *ladder;
	const struct asked_survey *asked;
	const struct workload *workload;
	struct baseline *baseline;
	struct survey *survey;
	struct binding_list *params; /* for each value: all that the program is given */
	double alpha;
};

static struct arena *arena_of(const struct surveying *surveying)
{
	return ladder_arena(surveying->ladder);
}

/* Of one value. */
static double budget_of(const struct surveying *surveying)
{
	const struct settle_options *options = surveying->ladder->options;
	return surveying->asked->budget_s > 0 && !options->budget_asked ? surveying->asked->budget_s : options->budget_s;
}

static void value_settle(struct survey_value *value, enum value_verdict verdict, const char *evidence)
{
	value->verdict = verdict;
	value->evidence = evidence;
}

static bool value_open(const struct survey_value *value)
{
	return value->verdict == VALUE_OPEN;
}

/* ---- what is asked ------------------------------------------------------------------------------------------------ */

static const struct string_list *values_of(const struct workload *workload, const struct asked_survey *asked)
{
	if (asked->values.count)
		return &asked->values;
	const struct param *over = param_find(&workload->params, asked->over);
	if (!over)
		BUG("the survey %s is over no parameter", asked->name);
	return &over->values;
}

/* The workload's other parameters, with the survey's values in place of the workload's. */
static struct param_list others_of(struct arena *arena, const struct workload *workload, const struct asked_survey *asked)
{
	struct param_list others = {0};
	for (size_t i = 0; i < workload->params.count; i++) {
		const struct param *param = &workload->params.at[i], *instead = param_find(&asked->params, param->name);
		if (!text_equal(param->name, asked->over))
			list_push(arena, &others, instead ? *instead : *param);
	}
	return others;
}

static const char *need_of(const struct asked_survey *asked, const char *value)
{
	for (size_t i = 0; i < asked->needs.count; i++)
		if (text_equal(asked->needs.at[i].value, value))
			return asked->needs.at[i].feature;
	return NULL;
}

/* The command that repeats it, complete with everything that was not the default. */
static const char *survey_repeat(const struct surveying *surveying)
{
	struct arena *arena = arena_of(surveying);
	const struct survey *survey = surveying->survey;
	const char *named = surveying->asked->argument
	                        ? surveying->asked->argument
	                        : arena_printf(arena, "--survey %s", shell_quote(arena, survey->name));
	char *text = repeat_begin(surveying->ladder, named);
	if (survey->params.count)
		text = arena_printf(arena, "%s %s", text, params_text(arena, &survey->params, "--param "));
	return repeat_end(surveying->ladder, text, &survey->config, surveying->alpha, budget_of(surveying), "");
}

static void survey_make(struct surveying *surveying, const struct binding_list *others, const struct build_config *config)
{
	struct ladder *ladder = surveying->ladder;
	struct arena *arena = ladder_arena(ladder);
	const struct asked_survey *asked = surveying->asked;
	const struct string_list *values = values_of(surveying->workload, asked);
	struct survey *survey = arena_new(arena, struct survey);
	*survey = (struct survey){.id = arena_printf(arena, "s%u", ++ladder->survey_count),
	                          .name = asked->name,
	                          .workload = surveying->workload->name,
	                          .over = asked->over,
	                          .params = *others,
	                          .config = *config,
	                          .alpha = surveying->alpha,
	                          .margin = ladder->options->margin};
	survey->contract_accepted = decision_reason(&ladder->session->project.contracts,
	                                            arena_printf(arena, "survey:%s", survey->name));
	if (!survey->contract_accepted && ladder->options->accept_contract)
		survey->contract_accepted = ACCEPTED_BY_OPTION;
	surveying->survey = survey;
	surveying->params = arena_alloc(arena, values->count * sizeof *surveying->params);
	for (size_t i = 0; i < values->count; i++) {
		struct survey_value value = {.value = values->at[i], .needs = need_of(asked, values->at[i])};
		list_push(arena, &survey->values, value);
		if (text_equal(asked->baseline, value.value))
			survey->baseline = i;
		for (size_t k = 0; k < others->count; k++)
			list_push(arena, &surveying->params[i], others->at[k]);
		struct binding own = {asked->over, value.value};
		list_push(arena, &surveying->params[i], own);
	}
	survey->repeat = survey_repeat(surveying);
}

/* ---- built, available ---------------------------------------------------------------------------------------------- */

/* Sets survey->failure when there is no program. */
static enum status survey_build(struct surveying *surveying, struct err *err)
{
	struct ladder *ladder = surveying->ladder;
	static const struct string_list nothing_changed;
	enum status status = baseline_get(ladder, surveying->workload, &nothing_changed, &surveying->survey->config,
	                                  &surveying->baseline, err);
	if (status == ST_OK)
		status = baseline_compile(ladder, surveying->baseline, err);
	if (status == ST_OK)
		status = baseline_link(ladder, surveying->baseline, err);
	if (status == ST_OK && surveying->baseline->variant.failure)
		surveying->survey->failure = arena_printf(arena_of(surveying), "the workload can't be built: %s",
		                                          surveying->baseline->variant.failure);
	return status;
}

static enum status value_available(struct surveying *surveying, size_t index, struct err *err)
{
	struct arena *arena = arena_of(surveying);
	struct survey_value *value = &surveying->survey->values.at[index];
	const char *unavailable = NULL, *failure = NULL;
	if (value->needs && !host_cpu_has(value->needs)) {
		value_settle(value, VALUE_UNAVAILABLE, arena_printf(arena, "this CPU has no %s", value->needs));
		return ST_OK;
	}
	enum status status = value_probe(surveying->ladder->session, &surveying->baseline->variant, &surveying->params[index],
	                                 fmax(budget_of(surveying), OUTPUTS_SECONDS), &unavailable, &failure, err);
	if (status != ST_OK)
		return status;
	if (failure)
		value_settle(value, VALUE_FAILED, failure);
	else if (unavailable && value->needs)
		value_settle(value, VALUE_MISSING,
		             arena_printf(arena, "this CPU has %s, but the driver says: %s", value->needs, unavailable));
	else if (unavailable && surveying->asked->needs.count)
		value_settle(value, VALUE_MISSING,
		             arena_printf(arena, "the survey names nothing that it needs of the CPU, but the driver says: %s",
		                          unavailable));
	else if (unavailable)
		/* Whether the CPU lacks something or the build does, nobody has said. */
		value_settle(value, VALUE_UNAVAILABLE, unavailable);
	return ST_OK;
}

/* ---- outputs --------------------------------------------------------------------------------------------------------- */

static enum status value_outputs(struct surveying *surveying, size_t index, struct err *err)
{
	struct arena *arena = arena_of(surveying);
	struct survey *survey = surveying->survey;
	struct survey_value *value = &survey->values.at[index];
	struct outputs_result result = {0};
	enum status status = outputs_values(surveying->ladder->session, &surveying->baseline->variant,
	                                    &surveying->params[survey->baseline], &surveying->params[index],
	                                    fmax(budget_of(surveying), OUTPUTS_SECONDS), &result, err);
	if (status != ST_OK)
		return status;
	switch (result.verdict) {
	case OUTPUTS_EQUAL:
		value->rounding = result.rounding;
		break;
	case OUTPUTS_DIFFER:
		value_settle(value, VALUE_WRONG_RESULTS, result.text);
		break;
	case OUTPUTS_CANDIDATE_FAILED:
		value_settle(value, VALUE_FAILED, result.text);
		break;
	case OUTPUTS_BASELINE_FAILED:
		survey->failure = arena_printf(arena, "the workload fails with the baseline %s: %s", survey->values.at[survey->baseline].value,
		                               result.text);
		break;
	case OUTPUTS_NOT_REPEATABLE:
		survey->failure = arena_printf(arena, "results differ from themselves, so none can be compared: %s", result.text);
		break;
	case OUTPUTS_NONE:
		survey->failure = "the workload hands over no results, so a wrong value would look fast: call assay_output() in its "
		                  "output()";
		break;
	}
	return ST_OK;
}

/* One question to all values that are still open; the baseline's own answer may end the survey. */
static enum status values_ask(struct surveying *surveying, const char *doing, bool baseline_too,
                              enum status (*ask)(struct surveying *surveying, size_t index, struct err *err), struct err *err)
{
	struct survey *survey = surveying->survey;
	for (size_t i = 0; i < survey->values.count && !survey->failure; i++) {
		if (!value_open(&survey->values.at[i]) || (i == survey->baseline && !baseline_too))
			continue;
		session_progress(surveying->ladder->session, doing, (double)i, (double)survey->values.count, -1);
		enum status status = ask(surveying, i, err);
		if (status != ST_OK)
			return status;
		if (ladder_interrupted(surveying->ladder))
			return err_set(err, ST_INTERRUPTED, "interrupted");
	}
	return ST_OK;
}

static void baseline_check(struct surveying *surveying)
{
	struct survey *survey = surveying->survey;
	const struct survey_value *baseline = &survey->values.at[survey->baseline];
	size_t open = 0;
	for (size_t i = 0; i < survey->values.count; i++)
		open += value_open(&survey->values.at[i]);
	if (!value_open(baseline))
		survey->failure = arena_printf(arena_of(surveying), "the baseline %s is %s (%s): name another", baseline->value,
		                               value_verdict_name(baseline->verdict), baseline->evidence);
	else if (open < 2)
		survey->failure = arena_printf(arena_of(surveying), "no value is left to compare with %s", baseline->value);
}

/* ---- time -------------------------------------------------------------------------------------------------------------- */

static struct plan survey_plan(const struct surveying *surveying, size_t candidates)
{
	const struct settle_options *options = surveying->ladder->options;
	const struct survey *survey = surveying->survey;
	struct arena *arena = arena_of(surveying);
	const char *key = arena_printf(arena, "survey/%s/%s/%s/%s/%s %s", survey->name, survey->workload, survey->over,
	                               params_text(arena, &survey->params, ""), survey->config.cc, survey->config.flags);
	return (struct plan){.seed = text_hash(key, strlen(key), options->seed ^ TEXT_HASH_SEED),
	                     .alpha = surveying->alpha,
	                     .margin = options->margin,
	                     .budget_s = budget_of(surveying) * (double)(candidates + 1), /* as if each were tried alone, and the control */
	                     .cpu = CPU_CHOOSE};
}

static enum status survey_time(struct surveying *surveying, struct err *err)
{
	const struct settle_options *options = surveying->ladder->options;
	struct session *session = surveying->ladder->session;
	struct survey *survey = surveying->survey;
	struct arena *arena = arena_of(surveying);
	bool *measured = arena_alloc(arena, survey->values.count * sizeof *measured);
	bool *may_lead = arena_alloc(arena, survey->values.count * sizeof *may_lead);
	size_t candidates = 0;
	for (size_t i = 0; i < survey->values.count; i++) {
		measured[i] = value_open(&survey->values.at[i]);
		may_lead[i] = !value_unconfirmed_contract(survey, &survey->values.at[i]);
		candidates += measured[i] && i != survey->baseline;
	}
	struct survey_subject subject = {.variant = &surveying->baseline->variant, .params = surveying->params, .measured = measured,
	                                 .may_lead = may_lead, .count = survey->values.count, .baseline = survey->baseline};
	struct plan plan = survey_plan(surveying, candidates);
	struct survey_measurement measurement = {.plan = plan, .values = survey->values.count, .baseline = survey->baseline,
	                                         .candidates = (uint32_t)candidates};
	struct round_sink sink = options->rounds ? options->rounds(options->context, survey) : (struct round_sink){0};
	if (options->survey_measurement)
		options->survey_measurement(options->context, survey, &measurement, false);
	enum status status = measure_survey(session, &subject, &plan, &sink, &measurement, err);
	if (status != ST_OK)
		return status;
	if (options->survey_measurement)
		options->survey_measurement(options->context, survey, &measurement, true);
	judge_survey(session, &measurement, survey);
	if (measurement.stop == STOP_INTERRUPTED) {
		session_note(session, survey->id, "interrupted after %zu rounds: they are stored, no verdict follows from them",
		             measurement.rounds.count);
		return err_set(err, ST_INTERRUPTED, "interrupted");
	}
	return ST_OK;
}

/* ---- the climb --------------------------------------------------------------------------------------------------------- */

static enum status survey_climb(struct surveying *surveying, struct err *err)
{
	enum rung to_rung = surveying->ladder->options->to_rung;
	struct survey *survey = surveying->survey;
	if (to_rung < RUNG_OUTPUTS) {
		survey->failure = arena_printf(arena_of(surveying), "nothing was run: --to-rung %s", rung_name(to_rung));
		return ST_OK;
	}
	enum status status = survey_build(surveying, err);
	if (status == ST_OK)
		status = values_ask(surveying, "asking what can run here", true, value_available, err);
	if (status == ST_OK && !survey->failure)
		baseline_check(surveying);
	if (status == ST_OK)
		status = values_ask(surveying, "comparing results", false, value_outputs, err);
	if (status == ST_OK && !survey->failure)
		baseline_check(surveying);
	if (status == ST_OK && !survey->failure && to_rung < RUNG_TIME)
		survey->failure = "nothing was timed: --to-rung outputs";
	if (status == ST_OK && !survey->failure)
		status = survey_time(surveying, err);
	return status;
}

/* What is left open has a reason. */
static void survey_close(struct surveying *surveying, const char *why)
{
	struct survey *survey = surveying->survey;
	for (size_t i = 0; i < survey->values.count; i++) {
		struct survey_value *value = &survey->values.at[i];
		if (value_open(value) && i == survey->baseline)
			value_settle(value, VALUE_BASELINE, "what the others are compared with");
		else if (value_open(value))
			value_settle(value, VALUE_INCONCLUSIVE, why);
	}
	if (!survey->evidence || survey->failure)
		judge_survey_text(surveying->ladder->session, survey);
}

static enum status survey_settle(struct surveying *surveying, struct err *err)
{
	struct ladder *ladder = surveying->ladder;
	const struct settle_options *options = ladder->options;
	struct survey *survey = surveying->survey;
	double started = proc_now();
	struct err trouble = ERR_INIT;
	if (options->survey_begins)
		options->survey_begins(options->context, survey);
	enum status status = survey_climb(surveying, &trouble);
	bool interrupted = status == ST_INTERRUPTED || (status != ST_OK && ladder_interrupted(ladder));
	if (interrupted && !survey->rounds)
		survey->failure = "interrupted before it was settled";
	else if (status != ST_OK && !interrupted)
		survey->failure = arena_strdup(arena_of(surveying), trouble.text);
	survey_close(surveying, survey->failure);
	survey->finished = true;
	survey->seconds = proc_now() - started;
	list_push(arena_of(surveying), &ladder->session->run.surveys, survey);
	if (options->survey_done)
		options->survey_done(options->context, survey);
	return interrupted ? err_set(err, ST_INTERRUPTED, "interrupted") : ST_OK;
}

LIST_OF(struct binding_list, binding_lists);

struct collecting {
	struct arena *arena;
	struct binding_lists lists;
};

static void collect_one(void *context, const struct binding_list *params)
{
	struct collecting *collecting = context;
	list_push(collecting->arena, &collecting->lists, *params);
}

static enum status asked_settle(struct ladder *ladder, const struct asked_survey *asked, const struct workload *workload,
                                struct err *err)
{
	const struct build_config_list *configs = &ladder->options->configs;
	struct collecting combinations = {.arena = ladder_arena(ladder)};
	struct workload others = {.params = others_of(ladder_arena(ladder), workload, asked)};
	bindings_each(ladder_arena(ladder), &others, collect_one, &combinations);
	struct surveying surveying = {.ladder = ladder, .asked = asked, .workload = workload};
	/* What one request asks holds together: each of its surveys has its share. */
	surveying.alpha = ladder->options->alpha / (double)(combinations.lists.count * configs->count);
	for (size_t c = 0; c < configs->count; c++)
		for (size_t i = 0; i < combinations.lists.count; i++) {
			survey_make(&surveying, &combinations.lists.at[i], &configs->at[c]);
			enum status status = survey_settle(&surveying, err);
			if (status == ST_OK && ladder_interrupted(ladder))
				status = err_set(err, ST_INTERRUPTED, "interrupted");
			if (status != ST_OK)
				return status;
		}
	return ST_OK;
}

enum status surveys_settle(struct ladder *ladder, const struct asked_survey_list *surveys, struct err *err)
{
	const struct workload_list *workloads = &ladder->session->project.workloads;
	if (surveys->count && ladder->options->layouts >= 2)
		session_note(ladder->session, "--layouts", "surveys are measured as built: their values share one program");
	for (size_t i = 0; i < surveys->count; i++) {
		/* --workload may have left it out. */
		const struct workload *workload = workload_find(workloads, surveys->at[i].workload);
		enum status status = workload ? asked_settle(ladder, &surveys->at[i], workload, err) : ST_OK;
		if (status != ST_OK)
			return status;
	}
	return ST_OK;
}
