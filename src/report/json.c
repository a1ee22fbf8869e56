#include "report/report.h"

#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA_VERSION = 1, LOG_DIGITS = 9, NUMBER_DIGITS = 9 };

static const char *const change_names[] = {"unchanged", "changed", "added", "removed"};

/* ---- writing: values ------------------------------------------------------------------------------------------ */

static json_t *text_json(const char *text)
{
	if (!text)
		return json_null();
	json_t *value = json_string(text);
	if (value)
		return value;
	/* Compilers and sources speak Latin-1 at times. */
	struct arena scratch;
	arena_init(&scratch);
	value = json_string(utf8_clean(&scratch, text));
	arena_release(&scratch);
	return value ? value : json_null();
}

/* Rounded to so many significant digits, so that what is read back and written again is the same text. */
static double rounded(double value, int digits)
{
	char text[64];
	snprintf(text, sizeof text, "%.*g", digits, value);
	return strtod(text, NULL);
}

static json_t *real_json(double value)
{
	return isfinite(value) ? json_real(rounded(value, NUMBER_DIGITS)) : json_null();
}

static json_t *positive_json(double value)
{
	return value > 0 ? real_json(value) : json_null();
}

static json_t *count_json(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static void put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) != 0)
		BUG("json: can't set %s", key);
}

static json_t *strings_json(const struct string_list *list)
{
	json_t *array = json_array();
	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, text_json(list->at[i]));
	return array;
}

/* ---- writing: nouns -------------------------------------------------------------------------------------------- */

static json_t *finding_json(const struct finding *finding)
{
	json_t *object = json_object();
	put(object, "id", text_json(finding->id));
	put(object, "pattern", text_json(finding->pattern));
	put(object, "kind", text_json(finding_kind_name(finding->kind)));
	put(object, "file", text_json(finding->file));
	put(object, "line", count_json(finding->line));
	put(object, "column", count_json(finding->column));
	put(object, "symbol", text_json(finding->symbol));
	put(object, "tier", text_json(tier_name(finding->tier)));
	put(object, "severity", text_json(severity_name(finding->severity)));
	put(object, "message", text_json(finding->message));
	put(object, "claim", text_json(finding->claim));
	put(object, "evidence", text_json(finding->evidence));
	put(object, "compiler", finding->compiler ? text_json(compiler_word_name(finding->compiler)) : json_null());
	put(object, "remark", text_json(finding->remark));
	put(object, "profile_share", finding->profiled ? json_real(finding->profile_share) : json_null());
	put(object, "contract", text_json(finding->contract));
	put(object, "candidate", text_json(finding->candidate));
	put(object, "deliberate", text_json(finding->deliberate));
	put(object, "deliberate_in", finding->deliberate_in ? text_json(deliberate_in_name(finding->deliberate_in)) : json_null());
	put(object, "baseline", finding->baseline ? text_json(baseline_state_name(finding->baseline)) : json_null());
	put(object, "built", json_boolean(finding->built));
	return object;
}

static json_t *hypothesis_json(const struct hypothesis *hypothesis)
{
	json_t *object = json_object();
	put(object, "id", text_json(hypothesis->id));
	put(object, "title", text_json(hypothesis->title));
	put(object, "claim", text_json(hypothesis->claim));
	put(object, "finding", text_json(hypothesis->finding ? hypothesis->finding->id : NULL));
	put(object, "kind", text_json(candidate_kind_name(hypothesis->kind)));
	put(object, "candidate", text_json(hypothesis->text));
	put(object, "contract", text_json(hypothesis->contract));
	put(object, "contract_accepted", text_json(hypothesis->contract_accepted));
	put(object, "deliberate", text_json(hypothesis->deliberate));
	put(object, "argument", text_json(hypothesis->argument));
	return object;
}

/* log_ratio is what is estimated; the percentages are it, for people. */
static void log_put(json_t *object, const char *log_key, const char *percent_key, double value)
{
	if (!isfinite(value)) {
		put(object, log_key, json_null());
		put(object, percent_key, json_null());
		return;
	}
	double log_value = rounded(value, LOG_DIGITS);
	put(object, log_key, json_real(log_value));
	double percent = effect_percent(log_value);
	put(object, percent_key, isfinite(percent) ? json_real(rounded(percent, 6)) : json_null());
}

static json_t *effect_json(const struct effect *effect)
{
	if (!effect->known)
		return json_null();
	json_t *object = json_object();
	log_put(object, "log_ratio", "percent", effect->theta);
	log_put(object, "log_ratio_low", "percent_low", effect->low);
	log_put(object, "log_ratio_high", "percent_high", effect->high);
	put(object, "population", text_json(effect->population));
	return object;
}

/* null: not measured over layouts. */
static json_t *spread_json(const struct spread *spread)
{
	if (spread->layouts == 0)
		return json_null();
	json_t *object = json_object();
	put(object, "count", count_json(spread->layouts));
	log_put(object, "log_ratio_p10", "percent_p10", spread->low);
	log_put(object, "log_ratio_p90", "percent_p90", spread->high);
	log_put(object, "log_ratio_least", "percent_least", spread->least);
	log_put(object, "log_ratio_most", "percent_most", spread->most);
	log_put(object, "log_deviation", "percent_deviation", spread->deviation);
	log_put(object, "log_noise", "percent_noise", spread->noise);
	json_t *bins = json_array();
	for (size_t i = 0; i < SPREAD_BINS; i++)
		json_array_append_new(bins, count_json(spread->bins[i]));
	put(object, "bins", bins);
	put(object, "sensitive", json_boolean(spread->sensitive));
	return object;
}

static json_t *control_json(const struct control *control)
{
	if (!control->done)
		return json_null();
	json_t *object = json_object();
	put(object, "quiet", json_boolean(control->quiet));
	log_put(object, "log_floor", "percent_floor", control->floor);
	put(object, "effect", effect_json(&control->effect));
	put(object, "layouts", spread_json(&control->spread));
	put(object, "pairs", count_json(control->pairs));
	put(object, "blocks", count_json(control->blocks));
	put(object, "seconds", real_json(control->seconds));
	put(object, "text", text_json(control->text));
	put(object, "trial", text_json(control->trial));
	return object;
}

static json_t *tokens_json(const struct token_difference *tokens)
{
	if (tokens->units == 0 && !tokens->differ)
		return json_null();
	json_t *object = json_object();
	put(object, "differ", json_boolean(tokens->differ));
	put(object, "units", count_json(tokens->units));
	put(object, "units_differing", count_json(tokens->units_differing));
	put(object, "tokens", count_json(tokens->tokens));
	put(object, "first", text_json(tokens->first));
	return object;
}

static json_t *named_changes_json(const struct named_change_list *list)
{
	json_t *array = json_array();
	for (size_t i = 0; i < list->count; i++) {
		json_t *object = json_object();
		put(object, "unit", text_json(list->at[i].unit));
		put(object, "name", text_json(list->at[i].name));
		put(object, "what", text_json(list->at[i].what));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *explanation_json(const struct explanation *explanation)
{
	if (!explanation->known)
		return json_null();
	json_t *object = json_object();
	put(object, "instructions_percent", real_json(effect_percent(explanation->instructions)));
	put(object, "cycles_per_instruction_percent", real_json(effect_percent(explanation->cycles_per_instruction)));
	put(object, "cycle_time_percent", explanation->frequency_known ? real_json(effect_percent(explanation->frequency))
	                                                               : json_null());
	put(object, "emulated", json_boolean(explanation->emulated));
	put(object, "text", text_json(explanation->text));
	return object;
}

static json_t *reach_json(const struct reach *reach)
{
	if (!reach->counted && !reach->sampled)
		return json_null();
	json_t *object = json_object();
	put(object, "executed", reach->counted ? json_boolean(reach->executed) : json_null());
	put(object, "instruction_share", reach->counted ? real_json(reach->instruction_share) : json_null());
	put(object, "samples", count_json(reach->samples));
	put(object, "time_share", reach->sampled ? real_json(reach->time_share) : json_null());
	put(object, "time_share_at_most", reach->sampled ? real_json(reach->time_share_high) : json_null());
	put(object, "gain_at_most", reach->bounded ? real_json(reach->gain_most) : json_null());
	put(object, "loss_at_most", reach->bounded ? real_json(reach->loss_most) : json_null());
	return object;
}

static json_t *code_json(const struct code_difference *code)
{
	if (code->units == 0 && !code->differ)
		return json_null();
	json_t *object = json_object();
	put(object, "differ", json_boolean(code->differ));
	put(object, "units", count_json(code->units));
	put(object, "functions", count_json(code->functions));
	json_t *changed = json_array();
	for (size_t i = 0; i < code->changed.count; i++) {
		const struct function_change *change = &code->changed.at[i];
		json_t *item = json_object();
		put(item, "unit", text_json(change->unit));
		put(item, "name", text_json(change->name));
		put(item, "change", text_json(change_names[change->change]));
		put(item, "baseline_instructions", count_json(change->baseline_instructions));
		put(item, "candidate_instructions", count_json(change->candidate_instructions));
		put(item, "first", text_json(change->first));
		json_array_append_new(changed, item);
	}
	put(object, "changed", changed);
	put(object, "data", named_changes_json(&code->data));
	put(object, "records", named_changes_json(&code->records));
	return object;
}

/* "4096" as a number, "prose" and "007" as they are: both come back as the same text. */
static json_t *param_json(const char *value)
{
	const char *digits = value[0] == '-' ? value + 1 : value;
	size_t size = strlen(digits);
	bool plain = size > 0 && size < 18 && strspn(digits, "0123456789") == size && (digits[0] != '0' || size == 1) &&
	             strcmp(value, "-0") != 0;
	return plain ? json_integer(strtoll(value, NULL, 10)) : text_json(value);
}

static json_t *params_json(const struct binding_list *params)
{
	json_t *object = json_object();
	for (size_t i = 0; i < params->count; i++)
		if (json_object_set_new(object, params->at[i].name, param_json(params->at[i].value)) != 0)
			put(object, "?", text_json(params->at[i].value));
	return object;
}

static json_t *config_json(const struct build_config *config)
{
	json_t *object = json_object();
	put(object, "cc", text_json(config->cc));
	put(object, "flags", text_json(config->flags));
	return object;
}

/* null: one thread. */
static json_t *transfer_json(const struct transfer *transfer)
{
	if (!transfer->threads)
		return json_null();
	bool measured = transfer->private_ns > 0;
	json_t *object = json_object();
	put(object, "threads", count_json(transfer->threads));
	put(object, "cpus", text_json(transfer->cpus));
	put(object, "from_cpu", measured ? count_json(transfer->between[0]) : json_null());
	put(object, "to_cpu", measured ? count_json(transfer->between[1]) : json_null());
	put(object, "transfer_ns", positive_json(transfer->shared_ns));
	put(object, "private_ns", positive_json(transfer->private_ns));
	put(object, "ratio", measured ? real_json(transfer->shared_ns / transfer->private_ns) : json_null());
	put(object, "bursts", count_json(transfer->bursts));
	put(object, "visible", json_boolean(transfer_visible(transfer)));
	return object;
}

static json_t *trial_json(const struct trial *trial)
{
	json_t *object = json_object();
	put(object, "id", text_json(trial->id));
	put(object, "hypothesis", text_json(trial->hypothesis->id));
	put(object, "finding", text_json(trial->hypothesis->finding ? trial->hypothesis->finding->id : NULL));
	put(object, "workload", text_json(trial->workload ? trial->workload->name : NULL));
	put(object, "params", params_json(&trial->params));
	put(object, "build", config_json(&trial->config));
	put(object, "verdict", text_json(verdict_name(trial->verdict)));
	put(object, "rung", text_json(rung_name(trial->rung)));
	put(object, "evidence", text_json(trial->evidence));
	put(object, "effect", effect_json(&trial->effect));
	put(object, "layouts", spread_json(&trial->spread));
	put(object, "alpha", real_json(trial->alpha));
	put(object, "margin", real_json(trial->margin));
	put(object, "rounding", text_json(trial->rounding));
	put(object, "unconfirmed", json_boolean(trial->unconfirmed));
	put(object, "held_back", json_boolean(trial->held_back));
	put(object, "p", positive_json(trial->p));
	put(object, "p_adjusted", positive_json(trial->p_adjusted));
	put(object, "pairs", count_json(trial->pairs));
	put(object, "excluded_pairs", count_json(trial->excluded_pairs));
	put(object, "blocks", count_json(trial->blocks));
	put(object, "stationary", json_boolean(!trial->drifts));
	put(object, "baseline_ns_per_iteration", positive_json(trial->baseline_ns));
	put(object, "candidate_ns_per_iteration", positive_json(trial->candidate_ns));
	put(object, "bytes_per_iteration", trial->bytes_per_iteration ? count_json(trial->bytes_per_iteration) : json_null());
	put(object, "metric", text_json(metric_name(trial->metric)));
	put(object, "metric_why", text_json(trial->metric_why));
	put(object, "baseline_printed", positive_json(trial->baseline_printed));
	put(object, "candidate_printed", positive_json(trial->candidate_printed));
	json_t *others = json_array();
	for (size_t i = 0; i < trial->other_metrics.count; i++) {
		const struct metric_result *other = &trial->other_metrics.at[i];
		json_t *item = json_object();
		put(item, "metric", text_json(metric_name(other->metric)));
		put(item, "effect", effect_json(&other->effect));
		put(item, "baseline_ns", positive_json(other->baseline));
		put(item, "candidate_ns", positive_json(other->candidate));
		json_array_append_new(others, item);
	}
	put(object, "other_metrics", others);
	put(object, "transfer", transfer_json(&trial->transfer));
	put(object, "control", control_json(&trial->control));
	json_t *counters = json_array();
	for (size_t i = 0; i < trial->counters.count; i++) {
		const struct counter *counter = &trial->counters.at[i];
		json_t *item = json_object();
		put(item, "name", text_json(counter->name));
		put(item, "unit", text_json(counter->unit));
		put(item, "baseline", counter->unavailable ? json_null() : real_json(counter->baseline));
		put(item, "candidate", counter->unavailable ? json_null() : real_json(counter->candidate));
		put(item, "unavailable", text_json(counter->unavailable));
		json_array_append_new(counters, item);
	}
	put(object, "counters", counters);
	put(object, "explanation", explanation_json(&trial->explanation));
	json_t *steps = json_array();
	for (size_t i = 0; i < trial->steps.count; i++) {
		const struct step *step = &trial->steps.at[i];
		json_t *item = json_object();
		put(item, "rung", text_json(rung_name(step->rung)));
		put(item, "result", text_json(step_result_name(step->result)));
		put(item, "text", text_json(step->text));
		put(item, "seconds", real_json(step->seconds));
		json_array_append_new(steps, item);
	}
	put(object, "steps", steps);
	put(object, "tokens", tokens_json(&trial->tokens));
	put(object, "code", code_json(&trial->code));
	put(object, "reach", reach_json(&trial->reach));
	put(object, "repeat", text_json(trial->repeat));
	put(object, "seconds", real_json(trial->seconds));
	return object;
}

/* MB/s of what takes `ns` for one iteration; null: unknown. Follows from what is written, so it is not read back. */
static json_t *rate_json(const struct survey_value *value, double ns)
{
	ns = rounded(ns, NUMBER_DIGITS);
	if (!value->bytes_per_iteration || !(ns > 0) || !isfinite(ns))
		return json_null();
	return json_real(rounded(1e3 * (double)value->bytes_per_iteration / ns, 6));
}

static json_t *survey_value_json(const struct survey_value *value)
{
	json_t *object = json_object();
	put(object, "value", text_json(value->value));
	put(object, "needs", text_json(value->needs));
	put(object, "verdict", text_json(value_verdict_name(value->verdict)));
	put(object, "evidence", text_json(value->evidence));
	put(object, "rounding", text_json(value->rounding));
	put(object, "unconfirmed", json_boolean(value->unconfirmed));
	put(object, "iterations", value->iterations ? count_json(value->iterations) : json_null());
	put(object, "bytes_per_iteration", value->bytes_per_iteration ? count_json(value->bytes_per_iteration) : json_null());
	put(object, "ns_per_iteration", positive_json(value->ns));
	put(object, "ns_per_iteration_low", positive_json(value->ns_low));
	put(object, "ns_per_iteration_high", positive_json(value->ns_high));
	put(object, "mb_per_second", rate_json(value, value->ns));
	put(object, "mb_per_second_low", rate_json(value, value->ns_high));
	put(object, "mb_per_second_high", rate_json(value, value->ns_low));
	put(object, "effect", effect_json(&value->effect));
	put(object, "p", positive_json(value->p));
	put(object, "p_adjusted", positive_json(value->p_adjusted));
	put(object, "against_fastest", effect_json(&value->against_top));
	put(object, "among_fastest", json_boolean(value->among_fastest));
	put(object, "stationary", json_boolean(!value->drifts));
	put(object, "excluded_samples", count_json(value->excluded));
	json_t *blocks = json_array();
	for (size_t i = 0; i < value->block_ns.count; i++)
		json_array_append_new(blocks, real_json(value->block_ns.at[i]));
	put(object, "block_ns_per_iteration", blocks);
	return object;
}

static json_t *survey_json(const struct survey *survey)
{
	json_t *object = json_object();
	put(object, "id", text_json(survey->id));
	put(object, "name", text_json(survey->name));
	put(object, "workload", text_json(survey->workload));
	put(object, "over", text_json(survey->over));
	put(object, "params", params_json(&survey->params));
	put(object, "build", config_json(&survey->config));
	put(object, "baseline", text_json(survey->values.at[survey->baseline].value));
	put(object, "fastest", survey->top_known ? text_json(survey->values.at[survey->top].value) : json_null());
	put(object, "evidence", text_json(survey->evidence));
	put(object, "contract_accepted", text_json(survey->contract_accepted));
	put(object, "failure", text_json(survey->failure));
	put(object, "finished", json_boolean(survey->finished));
	put(object, "held_back", json_boolean(survey->held_back));
	put(object, "alpha", real_json(survey->alpha));
	put(object, "interval_alpha", positive_json(survey->interval_alpha));
	put(object, "margin", real_json(survey->margin));
	put(object, "candidates", count_json(survey->candidates));
	put(object, "rounds", count_json(survey->rounds));
	put(object, "excluded_rounds", count_json(survey->excluded_rounds));
	put(object, "blocks", count_json(survey->blocks));
	put(object, "control", control_json(&survey->control));
	json_t *values = json_array();
	for (size_t i = 0; i < survey->values.count; i++)
		json_array_append_new(values, survey_value_json(&survey->values.at[i]));
	put(object, "values", values);
	put(object, "repeat", text_json(survey->repeat));
	put(object, "seconds", real_json(survey->seconds));
	return object;
}

static json_t *note_json(const struct note *note)
{
	json_t *object = json_object();
	put(object, "where", text_json(note->where));
	put(object, "text", text_json(note->text));
	return object;
}

static json_t *shares_json(const struct hot_share_list *shares, bool parts)
{
	json_t *array = json_array();
	for (size_t i = 0; i < shares->count; i++) {
		const struct hot_share *share = &shares->at[i];
		json_t *object = json_object();
		put(object, "name", text_json(share->name));
		put(object, "instruction_share", share->counted ? real_json(share->instruction_share) : json_null());
		put(object, "time_share", share->sampled ? real_json(share->time_share) : json_null());
		if (parts) {
			put(object, "found", json_boolean(share->found));
			put(object, "time_share_at_most", share->sampled ? real_json(share->time_share_high) : json_null());
			put(object, "gain_at_most", share->sampled ? real_json(share->gain_most) : json_null());
		} else {
			put(object, "object", text_json(share->object));
		}
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *maps_json(const struct hotmap_list *maps)
{
	json_t *array = json_array();
	for (size_t i = 0; i < maps->count; i++) {
		const struct hotmap *map = &maps->at[i];
		json_t *object = json_object();
		put(object, "id", text_json(map->id));
		put(object, "workload", text_json(map->workload->name));
		put(object, "params", params_json(&map->params));
		put(object, "build", config_json(&map->config));
		put(object, "samples", count_json(map->samples));
		put(object, "iterations", count_json(map->iterations));
		put(object, "lack", text_json(map->lack));
		put(object, "functions", shares_json(&map->functions, false));
		put(object, "parts", shares_json(&map->parts, true));
		put(object, "seconds", real_json(map->seconds));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *families_json(const struct family_list *families)
{
	json_t *array = json_array();
	for (size_t i = 0; i < families->count; i++) {
		const struct family *family = &families->at[i];
		json_t *object = json_object();
		put(object, "hypothesis", text_json(family->hypothesis->id));
		put(object, "verdict", text_json(verdict_name(family->verdict)));
		put(object, "evidence", text_json(family->evidence));
		struct string_list ids = {0};
		struct arena scratch;
		arena_init(&scratch);
		for (size_t t = 0; t < family->trials.count; t++)
			list_push(&scratch, &ids, family->trials.at[t]->id);
		put(object, "trials", strings_json(&ids));
		arena_release(&scratch);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *head_json(const struct run *run)
{
	json_t *document = json_object();
	put(document, "assay", json_integer(SCHEMA_VERSION));
	json_t *object = json_object();
	put(object, "id", text_json(run->id));
	put(object, "command", text_json(run->command));
	put(object, "version", text_json(run->version));
	put(object, "started", text_json(run->started));
	put(object, "state", text_json(run_state_name(run->state)));
	put(object, "seed", count_json(run->seed));
	put(object, "alpha", real_json(run->alpha));
	put(object, "margin", real_json(run->margin));
	put(object, "budget_seconds", real_json(run->budget_s));
	put(object, "layouts", run->layouts ? count_json(run->layouts) : json_null());
	put(object, "tree", text_json(run->tree));
	put(object, "seconds", real_json(run->seconds));
	json_t *host = json_object();
	put(host, "name", text_json(run->host.name));
	put(host, "cpu", text_json(run->host.cpu));
	put(host, "cpus", count_json(run->host.cpus));
	put(host, "kernel", text_json(run->host.kernel));
	put(host, "system", text_json(run->host.system));
	put(host, "clock_source", text_json(run->host.clock_source));
	put(host, "load_average", real_json(run->host.load_average));
	put(host, "counters", text_json(run->host.counters));
	put(object, "host", host);
	json_t *compilers = json_array();
	for (size_t i = 0; i < run->compilers.count; i++) {
		json_t *compiler = json_object();
		put(compiler, "command", text_json(run->compilers.at[i].command));
		put(compiler, "version", text_json(run->compilers.at[i].version));
		json_array_append_new(compilers, compiler);
	}
	put(object, "compilers", compilers);
	put(document, "run", object);
	json_t *scan = json_object();
	put(scan, "files", count_json(run->files_scanned));
	put(scan, "files_failed", count_json(run->files_failed));
	put(scan, "lines", count_json(run->lines_scanned));
	put(scan, "seconds", real_json(run->scan_seconds));
	put(scan, "database", json_boolean(run->database));
	put(scan, "baseline", text_json(run->baseline));
	json_t *absent = json_array();
	for (size_t i = 0; i < run->absent.count; i++)
		json_array_append_new(absent, finding_json(run->absent.at[i]));
	put(scan, "absent", absent);
	put(scan, "changed_since", text_json(run->changed_since));
	put(scan, "findings_left_out", count_json(run->findings_left_out));
	put(document, "scan", scan);
	put(document, "maps", maps_json(&run->maps));
	put(document, "families", families_json(&run->families));
	return document;
}

static char *dump(struct arena *arena, json_t *value, size_t flags, const char *end)
{
	/* 15 digits print what rounded() left without a tail of noise. */
	char *text = json_dumps(value, flags | JSON_REAL_PRECISION(15));
	if (!text)
		BUG("json: a value can't be written");
	char *copy = arena_printf(arena, "%s%s", text, end);
	free(text);
	json_decref(value);
	return copy;
}

char *json_run(struct arena *arena, const struct run *run)
{
	json_t *document = head_json(run);
	json_t *families = json_incref(json_object_get(document, "families"));
	json_object_del(document, "families");
	json_t *array = json_array();
	for (size_t i = 0; i < run->findings.count; i++)
		json_array_append_new(array, finding_json(run->findings.at[i]));
	put(document, "findings", array);
	array = json_array();
	for (size_t i = 0; i < run->hypotheses.count; i++)
		json_array_append_new(array, hypothesis_json(run->hypotheses.at[i]));
	put(document, "hypotheses", array);
	array = json_array();
	for (size_t i = 0; i < run->trials.count; i++)
		json_array_append_new(array, trial_json(run->trials.at[i]));
	put(document, "trials", array);
	put(document, "families", families);
	array = json_array();
	for (size_t i = 0; i < run->surveys.count; i++)
		json_array_append_new(array, survey_json(run->surveys.at[i]));
	put(document, "surveys", array);
	array = json_array();
	for (size_t i = 0; i < run->notes.count; i++)
		json_array_append_new(array, note_json(&run->notes.at[i]));
	put(document, "notes", array);
	return dump(arena, document, JSON_INDENT(1), "\n");
}

char *json_head(struct arena *arena, const struct run *run)
{
	return dump(arena, head_json(run), JSON_COMPACT, "");
}

char *json_finding(struct arena *arena, const struct finding *finding)
{
	return dump(arena, finding_json(finding), JSON_COMPACT, "");
}

char *json_hypothesis(struct arena *arena, const struct hypothesis *hypothesis)
{
	return dump(arena, hypothesis_json(hypothesis), JSON_COMPACT, "");
}

char *json_trial(struct arena *arena, const struct trial *trial)
{
	return dump(arena, trial_json(trial), JSON_COMPACT, "");
}

char *json_survey(struct arena *arena, const struct survey *survey)
{
	return dump(arena, survey_json(survey), JSON_COMPACT, "");
}

char *json_note(struct arena *arena, const struct note *note)
{
	return dump(arena, note_json(note), JSON_COMPACT, "");
}

/* ---- reading: values ------------------------------------------------------------------------------------------ */

/* Where in the document one is, for messages: trials[3].steps[0]. */
struct place {
	const struct place *up;
	const char *name; /* NULL: an element of an array */
	size_t index;
};

struct reader {
	struct arena *arena;
	struct err *err;
};

static void place_print(const struct place *place, char *text, size_t size)
{
	if (!place) {
		text[0] = '\0';
		return;
	}
	place_print(place->up, text, size);
	size_t used = strlen(text);
	if (place->name)
		snprintf(text + used, size - used, "%s%s", used ? "." : "", place->name);
	else
		snprintf(text + used, size - used, "[%zu]", place->index);
}

static void wrong(const struct reader *reader, const struct place *place, const char *expected)
{
	char text[256];
	place_print(place, text, sizeof text);
	err_set(reader->err, ST_INPUT, "the run document can't be read: %s: expected %s", text[0] ? text : "the whole", expected);
}

/* The value of a key; NULL, with the error set, when it is missing. */
static json_t *member(const struct reader *reader, const struct place *place, json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	if (!value) {
		struct place at = {.up = place, .name = key};
		wrong(reader, &at, "a value, found nothing");
	}
	return value;
}

static const char *get_text(const struct reader *reader, const struct place *place, json_t *object, const char *key,
                            bool optional)
{
	struct place at = {.up = place, .name = key};
	json_t *value = member(reader, place, object, key);
	if (json_is_string(value))
		return arena_strdup(reader->arena, json_string_value(value));
	if (value && !(optional && json_is_null(value)))
		wrong(reader, &at, optional ? "text or null" : "text");
	return optional ? NULL : "";
}

static uint64_t get_count(const struct reader *reader, const struct place *place, json_t *object, const char *key,
                          uint64_t max)
{
	struct place at = {.up = place, .name = key};
	json_t *value = member(reader, place, object, key);
	if (json_is_integer(value) && json_integer_value(value) >= 0 && (uint64_t)json_integer_value(value) <= max)
		return (uint64_t)json_integer_value(value);
	if (value)
		wrong(reader, &at, "a whole number that is not negative");
	return 0;
}

static uint64_t get_count_or_null(const struct reader *reader, const struct place *place, json_t *object, const char *key)
{
	return json_is_null(json_object_get(object, key)) ? 0 : get_count(reader, place, object, key, INT64_MAX);
}

static unsigned get_unsigned(const struct reader *reader, const struct place *place, json_t *object, const char *key)
{
	return (unsigned)get_count(reader, place, object, key, UINT32_MAX);
}

static double get_real(const struct reader *reader, const struct place *place, json_t *object, const char *key,
                       double if_null)
{
	struct place at = {.up = place, .name = key};
	json_t *value = member(reader, place, object, key);
	if (json_is_number(value))
		return json_number_value(value);
	if (value && !json_is_null(value))
		wrong(reader, &at, "a number or null");
	return if_null;
}

static bool get_bool(const struct reader *reader, const struct place *place, json_t *object, const char *key)
{
	struct place at = {.up = place, .name = key};
	json_t *value = member(reader, place, object, key);
	if (value && !json_is_boolean(value))
		wrong(reader, &at, "true or false");
	return json_is_true(value);
}

/* Keys that documents of older assays don't have. */
static double get_real_or_missing(const struct reader *reader, const struct place *place, json_t *object, const char *key,
                                  double if_missing)
{
	return json_object_get(object, key) ? get_real(reader, place, object, key, if_missing) : if_missing;
}

static bool get_bool_or_missing(const struct reader *reader, const struct place *place, json_t *object, const char *key,
                                bool if_missing)
{
	return json_object_get(object, key) ? get_bool(reader, place, object, key) : if_missing;
}

static const char *get_text_or_missing(const struct reader *reader, const struct place *place, json_t *object,
                                       const char *key)
{
	return json_object_get(object, key) ? get_text(reader, place, object, key, true) : NULL;
}

/* An object; with `optional`, NULL for null. */
static json_t *get_object(const struct reader *reader, const struct place *place, json_t *object, const char *key,
                          bool optional)
{
	struct place at = {.up = place, .name = key};
	json_t *value = member(reader, place, object, key);
	if (json_is_object(value))
		return value;
	if (value && !(optional && json_is_null(value)))
		wrong(reader, &at, "an object");
	return NULL;
}

static json_t *get_array(const struct reader *reader, const struct place *place, json_t *object, const char *key)
{
	struct place at = {.up = place, .name = key};
	json_t *value = member(reader, place, object, key);
	if (value && !json_is_array(value))
		wrong(reader, &at, "a list");
	return json_is_array(value) ? value : NULL;
}

/* Element of a list that must be an object; NULL with the error set otherwise. */
static json_t *element(const struct reader *reader, const struct place *at, json_t *array, size_t index)
{
	json_t *value = json_array_get(array, index);
	if (!json_is_object(value)) {
		wrong(reader, at, "an object");
		return NULL;
	}
	return value;
}

#define GET_NAMED(type, tag)                                                                                           \
	static enum tag get_##type(const struct reader *reader, const struct place *place, json_t *object, const char *key)   \
	{                                                                                                                  \
		struct place at = {.up = place, .name = key};                                                                  \
		const char *name = get_text(reader, place, object, key, false);                                                \
		enum tag value = (enum tag)0;                                                                                  \
		if (!type##_parse(name, &value))                                                                               \
			wrong(reader, &at, "one of the names that the schema lists");                                              \
		return value;                                                                                                  \
	}
GET_NAMED(finding_kind, finding_kind)
GET_NAMED(tier, tier)
GET_NAMED(severity, severity)
GET_NAMED(candidate_kind, candidate_kind)
GET_NAMED(verdict, verdict)
GET_NAMED(rung, rung)
GET_NAMED(step_result, step_result)
GET_NAMED(run_state, run_state)
GET_NAMED(metric, metric)
GET_NAMED(value_verdict, value_verdict)

/* The same for keys that documents of older assays don't have; null is the first name. */
#define GET_NAMED_OR_MISSING(type)                                                                                     \
	static enum type get_##type##_or_missing(const struct reader *reader, const struct place *place, json_t *object,      \
	                                         const char *key)                                                          \
	{                                                                                                                  \
		struct place at = {.up = place, .name = key};                                                                  \
		const char *name = get_text_or_missing(reader, place, object, key);                                            \
		enum type value = (enum type)0;                                                                                \
		if (name && !type##_parse(name, &value))                                                                       \
			wrong(reader, &at, "one of the names that the schema lists");                                              \
		return value;                                                                                                  \
	}
GET_NAMED_OR_MISSING(baseline_state)
GET_NAMED_OR_MISSING(deliberate_in)
GET_NAMED_OR_MISSING(compiler_word)

/* ---- reading: nouns -------------------------------------------------------------------------------------------- */

static struct finding *finding_get(const struct reader *reader, const struct place *place, json_t *object)
{
	struct finding *finding = arena_new(reader->arena, struct finding);
	double share = get_real_or_missing(reader, place, object, "profile_share", -1);
	*finding = (struct finding){
		.id = get_text(reader, place, object, "id", false),
		.pattern = get_text(reader, place, object, "pattern", false),
		.kind = get_finding_kind(reader, place, object, "kind"),
		.file = get_text(reader, place, object, "file", false),
		.line = get_unsigned(reader, place, object, "line"),
		.column = get_unsigned(reader, place, object, "column"),
		.symbol = get_text(reader, place, object, "symbol", false),
		.tier = get_tier(reader, place, object, "tier"),
		.severity = get_severity(reader, place, object, "severity"),
		.message = get_text(reader, place, object, "message", true),
		.claim = get_text(reader, place, object, "claim", true),
		.evidence = get_text(reader, place, object, "evidence", true),
		.compiler = get_compiler_word_or_missing(reader, place, object, "compiler"),
		.remark = get_text_or_missing(reader, place, object, "remark"),
		.profiled = share >= 0,
		.profile_share = share >= 0 ? share : 0,
		.contract = get_text(reader, place, object, "contract", true),
		.candidate = get_text(reader, place, object, "candidate", true),
		.deliberate = get_text(reader, place, object, "deliberate", true),
		.deliberate_in = get_deliberate_in_or_missing(reader, place, object, "deliberate_in"),
		.baseline = get_baseline_state_or_missing(reader, place, object, "baseline"),
		.built = get_bool(reader, place, object, "built"),
	};
	return finding;
}

static const struct finding *finding_named(const struct run *run, const char *id)
{
	for (size_t i = 0; id && i < run->findings.count; i++)
		if (strcmp(run->findings.at[i]->id, id) == 0)
			return run->findings.at[i];
	return NULL;
}

static struct hypothesis *hypothesis_get(const struct reader *reader, const struct place *place, json_t *object,
                                         const struct run *run)
{
	struct hypothesis *hypothesis = arena_new(reader->arena, struct hypothesis);
	*hypothesis = (struct hypothesis){
		.id = get_text(reader, place, object, "id", false),
		.title = get_text(reader, place, object, "title", true),
		.claim = get_text(reader, place, object, "claim", true),
		.finding = finding_named(run, get_text(reader, place, object, "finding", true)),
		.kind = get_candidate_kind(reader, place, object, "kind"),
		.text = get_text(reader, place, object, "candidate", true),
		.contract = get_text(reader, place, object, "contract", true),
		.contract_accepted = get_text_or_missing(reader, place, object, "contract_accepted"),
		.deliberate = get_text(reader, place, object, "deliberate", true),
		.argument = get_text(reader, place, object, "argument", true),
	};
	return hypothesis;
}

static struct effect effect_get(const struct reader *reader, const struct place *place, json_t *object, const char *key)
{
	struct place at = {.up = place, .name = key};
	json_t *effect = get_object(reader, place, object, key, true);
	if (!effect)
		return (struct effect){0};
	return (struct effect){
		.known = true,
		.theta = get_real(reader, &at, effect, "log_ratio", 0),
		.low = get_real(reader, &at, effect, "log_ratio_low", -INFINITY),
		.high = get_real(reader, &at, effect, "log_ratio_high", INFINITY),
		.population = get_text(reader, &at, effect, "population", true),
	};
}

static struct spread spread_get(const struct reader *reader, const struct place *place, json_t *object)
{
	struct place at = {.up = place, .name = "layouts"};
	json_t *layouts = json_object_get(object, "layouts");
	if (!layouts || json_is_null(layouts))
		return (struct spread){0};
	layouts = get_object(reader, place, object, "layouts", false);
	struct spread spread = {
		.layouts = get_unsigned(reader, &at, layouts, "count"),
		.low = get_real(reader, &at, layouts, "log_ratio_p10", 0),
		.high = get_real(reader, &at, layouts, "log_ratio_p90", 0),
		.least = get_real(reader, &at, layouts, "log_ratio_least", 0),
		.most = get_real(reader, &at, layouts, "log_ratio_most", 0),
		.deviation = get_real(reader, &at, layouts, "log_deviation", 0),
		.noise = get_real(reader, &at, layouts, "log_noise", 0),
		.sensitive = get_bool(reader, &at, layouts, "sensitive"),
	};
	struct place bins_at = {.up = &at, .name = "bins"};
	json_t *bins = get_array(reader, &at, layouts, "bins");
	for (size_t i = 0; i < SPREAD_BINS; i++) {
		json_t *bin = json_array_get(bins, i);
		if (json_is_integer(bin) && json_integer_value(bin) >= 0 && json_integer_value(bin) <= UINT32_MAX)
			spread.bins[i] = (uint32_t)json_integer_value(bin);
		else if (bins)
			wrong(reader, &bins_at, "16 whole numbers that are not negative");
	}
	return spread;
}

static struct control control_get(const struct reader *reader, const struct place *place, json_t *object)
{
	struct place at = {.up = place, .name = "control"};
	json_t *control = get_object(reader, place, object, "control", true);
	if (!control)
		return (struct control){0};
	return (struct control){
		.done = true,
		.quiet = get_bool(reader, &at, control, "quiet"),
		.floor = get_real(reader, &at, control, "log_floor", 0),
		.effect = effect_get(reader, &at, control, "effect"),
		.spread = spread_get(reader, &at, control),
		.pairs = get_unsigned(reader, &at, control, "pairs"),
		.blocks = get_unsigned(reader, &at, control, "blocks"),
		.seconds = get_real(reader, &at, control, "seconds", 0),
		.text = get_text(reader, &at, control, "text", true),
		.trial = get_text_or_missing(reader, &at, control, "trial"),
	};
}

static struct named_change_list named_changes_get(const struct reader *reader, const struct place *place, json_t *object,
                                                  const char *key)
{
	struct named_change_list list = {0};
	struct place in = {.up = place, .name = key};
	json_t *array = get_array(reader, place, object, key);
	for (size_t i = 0; i < json_array_size(array); i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			break;
		struct named_change change = {
			.unit = get_text(reader, &at, item, "unit", true),
			.name = get_text(reader, &at, item, "name", true),
			.what = get_text(reader, &at, item, "what", true),
		};
		list_push(reader->arena, &list, change);
	}
	return list;
}

static struct token_difference tokens_get(const struct reader *reader, const struct place *place, json_t *object)
{
	struct place at = {.up = place, .name = "tokens"};
	json_t *tokens = get_object(reader, place, object, "tokens", true);
	if (!tokens)
		return (struct token_difference){0};
	return (struct token_difference){
		.differ = get_bool(reader, &at, tokens, "differ"),
		.units = get_unsigned(reader, &at, tokens, "units"),
		.units_differing = get_unsigned(reader, &at, tokens, "units_differing"),
		.tokens = get_count(reader, &at, tokens, "tokens", INT64_MAX),
		.first = get_text(reader, &at, tokens, "first", true),
	};
}

static struct code_difference code_get(const struct reader *reader, const struct place *place, json_t *object)
{
	struct place at = {.up = place, .name = "code"};
	json_t *code = get_object(reader, place, object, "code", true);
	if (!code)
		return (struct code_difference){0};
	struct code_difference difference = {
		.differ = get_bool(reader, &at, code, "differ"),
		.units = get_unsigned(reader, &at, code, "units"),
		.functions = get_unsigned(reader, &at, code, "functions"),
		.data = named_changes_get(reader, &at, code, "data"),
		.records = named_changes_get(reader, &at, code, "records"),
	};
	struct place in = {.up = &at, .name = "changed"};
	json_t *array = get_array(reader, &at, code, "changed");
	for (size_t i = 0; i < json_array_size(array); i++) {
		struct place item_at = {.up = &in, .index = i};
		json_t *item = element(reader, &item_at, array, i);
		if (!item)
			break;
		const char *name = get_text(reader, &item_at, item, "change", false);
		unsigned change = CHANGE_NONE;
		while (change <= CHANGE_REMOVED && strcmp(change_names[change], name) != 0)
			change++;
		if (change > CHANGE_REMOVED) {
			struct place change_at = {.up = &item_at, .name = "change"};
			wrong(reader, &change_at, "one of the names that the schema lists");
			break;
		}
		struct function_change function = {
			.unit = get_text(reader, &item_at, item, "unit", true),
			.name = get_text(reader, &item_at, item, "name", true),
			.change = (enum change)change,
			.baseline_instructions = get_unsigned(reader, &item_at, item, "baseline_instructions"),
			.candidate_instructions = get_unsigned(reader, &item_at, item, "candidate_instructions"),
			.first = get_text(reader, &item_at, item, "first", true),
		};
		list_push(reader->arena, &difference.changed, function);
	}
	return difference;
}

static struct counter_list counters_get(const struct reader *reader, const struct place *place, json_t *object)
{
	struct counter_list list = {0};
	struct place in = {.up = place, .name = "counters"};
	json_t *array = get_array(reader, place, object, "counters");
	for (size_t i = 0; i < json_array_size(array); i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			break;
		struct counter counter = {
			.name = get_text(reader, &at, item, "name", false),
			.unit = get_text(reader, &at, item, "unit", true),
			.baseline = get_real(reader, &at, item, "baseline", 0),
			.candidate = get_real(reader, &at, item, "candidate", 0),
			.unavailable = get_text(reader, &at, item, "unavailable", true),
		};
		/* Numbers that were not finite came out as null: they don't hold. */
		if (!counter.unavailable &&
		    (json_is_null(json_object_get(item, "baseline")) || json_is_null(json_object_get(item, "candidate"))))
			counter.unavailable = "the number is missing in the record";
		list_push(reader->arena, &list, counter);
	}
	return list;
}

/* Runs that were kept before commands could be measured have none of these keys: a driver's time is what they speak of. */
static void metric_get(const struct reader *reader, const struct place *place, json_t *object, struct trial *trial)
{
	if (!json_object_get(object, "metric"))
		return;
	trial->metric = get_metric(reader, place, object, "metric");
	trial->metric_why = get_text(reader, place, object, "metric_why", true);
	trial->baseline_printed = get_real(reader, place, object, "baseline_printed", 0);
	trial->candidate_printed = get_real(reader, place, object, "candidate_printed", 0);
	struct place in = {.up = place, .name = "other_metrics"};
	json_t *array = get_array(reader, place, object, "other_metrics");
	for (size_t i = 0; i < json_array_size(array); i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			break;
		struct metric_result other = {
			.metric = get_metric(reader, &at, item, "metric"),
			.effect = effect_get(reader, &at, item, "effect"),
			.baseline = get_real(reader, &at, item, "baseline_ns", 0),
			.candidate = get_real(reader, &at, item, "candidate_ns", 0),
		};
		list_push(reader->arena, &trial->other_metrics, other);
	}
}

static struct step_list steps_get(const struct reader *reader, const struct place *place, json_t *object)
{
	struct step_list list = {0};
	struct place in = {.up = place, .name = "steps"};
	json_t *array = get_array(reader, place, object, "steps");
	for (size_t i = 0; i < json_array_size(array); i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			break;
		struct step step = {
			.rung = get_rung(reader, &at, item, "rung"),
			.result = get_step_result(reader, &at, item, "result"),
			.text = get_text(reader, &at, item, "text", true),
			.seconds = get_real(reader, &at, item, "seconds", 0),
		};
		list_push(reader->arena, &list, step);
	}
	return list;
}

static struct build_config config_get(const struct reader *reader, const struct place *place, json_t *object)
{
	struct place at = {.up = place, .name = "build"};
	json_t *build = get_object(reader, place, object, "build", false);
	return (struct build_config){.cc = get_text(reader, &at, build, "cc", true), .flags = get_text(reader, &at, build, "flags", true)};
}

static struct binding_list params_get(const struct reader *reader, const struct place *place, json_t *object)
{
	struct binding_list list = {0};
	struct place in = {.up = place, .name = "params"};
	json_t *params = get_object(reader, place, object, "params", false);
	const char *name;
	json_t *value;
	json_object_foreach(params, name, value) {
		struct binding binding = {.name = arena_strdup(reader->arena, name)};
		if (json_is_integer(value)) {
			binding.value = arena_printf(reader->arena, "%lld", (long long)json_integer_value(value));
		} else if (json_is_string(value)) {
			binding.value = arena_strdup(reader->arena, json_string_value(value));
		} else {
			struct place at = {.up = &in, .name = name};
			wrong(reader, &at, "text or a whole number");
			break;
		}
		list_push(reader->arena, &list, binding);
	}
	return list;
}

/* The trials of one workload share it, as they do in a run of today. */
static const struct workload *workload_named(const struct reader *reader, const struct run *run, const char *name)
{
	if (!name)
		return NULL;
	for (size_t i = 0; i < run->trials.count; i++)
		if (run->trials.at[i]->workload && strcmp(run->trials.at[i]->workload->name, name) == 0)
			return run->trials.at[i]->workload;
	struct workload *workload = arena_new(reader->arena, struct workload);
	workload->name = name;
	return workload;
}

static const struct hypothesis *hypothesis_named(const struct reader *reader, const struct place *place,
                                                 const struct run *run, json_t *object)
{
	const char *id = get_text(reader, place, object, "hypothesis", false);
	for (size_t i = 0; i < run->hypotheses.count; i++)
		if (strcmp(run->hypotheses.at[i]->id, id) == 0)
			return run->hypotheses.at[i];
	struct place at = {.up = place, .name = "hypothesis"};
	wrong(reader, &at, "the id of one of the hypotheses");
	return NULL;
}

/* A share that is null is not known. */
static bool share_get(const struct reader *reader, const struct place *place, json_t *object, const char *key,
                      double *ret_share)
{
	double share = get_real(reader, place, object, key, -1);
	*ret_share = share >= 0 ? share : 0;
	return share >= 0;
}

static struct reach reach_get(const struct reader *reader, const struct place *place, json_t *trial)
{
	struct place at = {.up = place, .name = "reach"};
	/* Records of the first version have none. */
	json_t *object = json_object_get(trial, "reach") ? get_object(reader, place, trial, "reach", true) : NULL;
	struct reach reach = {0};
	if (!object)
		return reach;
	reach.executed = json_is_true(json_object_get(object, "executed"));
	reach.counted = share_get(reader, &at, object, "instruction_share", &reach.instruction_share);
	reach.samples = get_unsigned(reader, &at, object, "samples");
	reach.sampled = share_get(reader, &at, object, "time_share", &reach.time_share);
	share_get(reader, &at, object, "time_share_at_most", &reach.time_share_high);
	reach.bounded = share_get(reader, &at, object, "gain_at_most", &reach.gain_most);
	share_get(reader, &at, object, "loss_at_most", &reach.loss_most);
	return reach;
}

static struct explanation explanation_get(const struct reader *reader, const struct place *place, json_t *trial)
{
	struct place at = {.up = place, .name = "explanation"};
	/* Records of the first version have none. */
	json_t *object = json_object_get(trial, "explanation") ? get_object(reader, place, trial, "explanation", true) : NULL;
	struct explanation explanation = {0};
	if (!object)
		return explanation;
	double frequency = get_real(reader, &at, object, "cycle_time_percent", NAN);
	explanation.known = true;
	explanation.instructions = log1p(get_real(reader, &at, object, "instructions_percent", 0) / 100);
	explanation.cycles_per_instruction = log1p(get_real(reader, &at, object, "cycles_per_instruction_percent", 0) / 100);
	explanation.frequency_known = !isnan(frequency);
	explanation.frequency = isnan(frequency) ? 0 : log1p(frequency / 100);
	explanation.emulated = get_bool(reader, &at, object, "emulated");
	explanation.text = get_text(reader, &at, object, "text", true);
	return explanation;
}

static struct transfer transfer_get(const struct reader *reader, const struct place *place, json_t *trial)
{
	struct place at = {.up = place, .name = "transfer"};
	/* Records of older assays have none. */
	json_t *object = json_object_get(trial, "transfer") ? get_object(reader, place, trial, "transfer", true) : NULL;
	if (!object)
		return (struct transfer){0};
	struct transfer transfer = {
		.threads = get_unsigned(reader, &at, object, "threads"),
		.cpus = get_text(reader, &at, object, "cpus", true),
		.shared_ns = get_real(reader, &at, object, "transfer_ns", 0),
		.private_ns = get_real(reader, &at, object, "private_ns", 0),
		.bursts = get_unsigned(reader, &at, object, "bursts"),
	};
	if (transfer.private_ns > 0) {
		transfer.between[0] = get_unsigned(reader, &at, object, "from_cpu");
		transfer.between[1] = get_unsigned(reader, &at, object, "to_cpu");
	}
	return transfer;
}

static struct trial *trial_get(const struct reader *reader, const struct place *place, json_t *object,
                               const struct run *run)
{
	struct trial *trial = arena_new(reader->arena, struct trial);
	*trial = (struct trial){
		.id = get_text(reader, place, object, "id", false),
		.hypothesis = hypothesis_named(reader, place, run, object),
		.workload = workload_named(reader, run, get_text(reader, place, object, "workload", true)),
		.params = params_get(reader, place, object),
		.config = config_get(reader, place, object),
		.verdict = get_verdict(reader, place, object, "verdict"),
		.rung = get_rung(reader, place, object, "rung"),
		.evidence = get_text(reader, place, object, "evidence", true),
		.steps = steps_get(reader, place, object),
		.tokens = tokens_get(reader, place, object),
		.code = code_get(reader, place, object),
		.reach = reach_get(reader, place, object),
		.transfer = transfer_get(reader, place, object),
		.effect = effect_get(reader, place, object, "effect"),
		.spread = spread_get(reader, place, object),
		.alpha = get_real(reader, place, object, "alpha", 0),
		.margin = get_real(reader, place, object, "margin", 0),
		.rounding = get_text_or_missing(reader, place, object, "rounding"),
		.unconfirmed = get_bool_or_missing(reader, place, object, "unconfirmed", false),
		.held_back = get_bool_or_missing(reader, place, object, "held_back", false),
		.p = get_real_or_missing(reader, place, object, "p", 0),
		.p_adjusted = get_real_or_missing(reader, place, object, "p_adjusted", 0),
		.pairs = get_unsigned(reader, place, object, "pairs"),
		.excluded_pairs = get_unsigned(reader, place, object, "excluded_pairs"),
		.blocks = get_unsigned(reader, place, object, "blocks"),
		.drifts = !get_bool_or_missing(reader, place, object, "stationary", true),
		.baseline_ns = get_real(reader, place, object, "baseline_ns_per_iteration", 0),
		.candidate_ns = get_real(reader, place, object, "candidate_ns_per_iteration", 0),
		.bytes_per_iteration = get_count_or_null(reader, place, object, "bytes_per_iteration"),
		.control = control_get(reader, place, object),
		.counters = counters_get(reader, place, object),
		.explanation = explanation_get(reader, place, object),
		.repeat = get_text(reader, place, object, "repeat", true),
		.seconds = get_real(reader, place, object, "seconds", 0),
	};
	metric_get(reader, place, object, trial);
	return trial;
}

static void shares_get(const struct reader *reader, const struct place *place, json_t *map, const char *name,
                       struct hot_share_list *ret_shares)
{
	struct place in = {.up = place, .name = name};
	json_t *array = get_array(reader, place, map, name);
	for (size_t i = 0; i < json_array_size(array) && reader->err->code == ST_OK; i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			return;
		struct hot_share share = {.name = get_text(reader, &at, item, "name", false),
		                          .object = json_object_get(item, "object") ? get_text(reader, &at, item, "object", true) : NULL,
		                          .found = json_is_true(json_object_get(item, "found"))};
		share.counted = share_get(reader, &at, item, "instruction_share", &share.instruction_share);
		share.sampled = share_get(reader, &at, item, "time_share", &share.time_share);
		if (json_object_get(item, "found")) {
			share_get(reader, &at, item, "time_share_at_most", &share.time_share_high);
			/* A share that may be all bounds nothing: null in the record. */
			if (!share_get(reader, &at, item, "gain_at_most", &share.gain_most))
				share.gain_most = share.sampled ? INFINITY : 0;
		}
		list_push(reader->arena, ret_shares, share);
	}
}

static void maps_get(const struct reader *reader, json_t *document, struct run *run)
{
	struct place in = {.name = "maps"};
	/* Records of earlier versions have none. */
	json_t *array = json_object_get(document, "maps") ? get_array(reader, NULL, document, "maps") : NULL;
	for (size_t i = 0; i < json_array_size(array) && reader->err->code == ST_OK; i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			return;
		struct hotmap map = {
			.id = get_text(reader, &at, item, "id", false),
			.workload = workload_named(reader, run, get_text(reader, &at, item, "workload", false)),
			.params = params_get(reader, &at, item),
			.config = config_get(reader, &at, item),
			.samples = get_unsigned(reader, &at, item, "samples"),
			.iterations = (uint64_t)get_count(reader, &at, item, "iterations", INT64_MAX),
			.lack = get_text(reader, &at, item, "lack", true),
			.seconds = get_real(reader, &at, item, "seconds", 0),
		};
		shares_get(reader, &at, item, "functions", &map.functions);
		shares_get(reader, &at, item, "parts", &map.parts);
		list_push(reader->arena, &run->maps, map);
	}
}

static struct survey_value survey_value_get(const struct reader *reader, const struct place *place, json_t *object)
{
	struct survey_value value = {
		.value = get_text(reader, place, object, "value", false),
		.needs = get_text(reader, place, object, "needs", true),
		.verdict = get_value_verdict(reader, place, object, "verdict"),
		.evidence = get_text(reader, place, object, "evidence", true),
		.rounding = get_text_or_missing(reader, place, object, "rounding"),
		.unconfirmed = get_bool_or_missing(reader, place, object, "unconfirmed", false),
		.iterations = get_count_or_null(reader, place, object, "iterations"),
		.bytes_per_iteration = get_count_or_null(reader, place, object, "bytes_per_iteration"),
		.ns = get_real(reader, place, object, "ns_per_iteration", 0),
		.ns_low = get_real(reader, place, object, "ns_per_iteration_low", 0),
		.ns_high = get_real(reader, place, object, "ns_per_iteration_high", INFINITY),
		.effect = effect_get(reader, place, object, "effect"),
		.p = get_real(reader, place, object, "p", 0),
		.p_adjusted = get_real(reader, place, object, "p_adjusted", 0),
		.against_top = effect_get(reader, place, object, "against_fastest"),
		.among_fastest = get_bool(reader, place, object, "among_fastest"),
		.drifts = !get_bool(reader, place, object, "stationary"),
		.excluded = get_unsigned(reader, place, object, "excluded_samples"),
	};
	json_t *blocks = get_array(reader, place, object, "block_ns_per_iteration");
	for (size_t i = 0; i < json_array_size(blocks); i++)
		list_push(reader->arena, &value.block_ns, json_number_value(json_array_get(blocks, i)));
	return value;
}

/* Which of the values has this name; false, with the error set, when none has. */
static bool survey_index(const struct reader *reader, const struct place *place, const struct survey *survey, const char *key,
                         const char *name, size_t *ret_index)
{
	struct place at = {.up = place, .name = key};
	for (size_t i = 0; i < survey->values.count; i++)
		if (strcmp(survey->values.at[i].value, name) == 0) {
			*ret_index = i;
			return true;
		}
	wrong(reader, &at, "one of the values");
	return false;
}

static struct survey *survey_get(const struct reader *reader, const struct place *place, json_t *object)
{
	struct survey *survey = arena_new(reader->arena, struct survey);
	struct place in = {.up = place, .name = "values"};
	*survey = (struct survey){
		.id = get_text(reader, place, object, "id", false),
		.name = get_text(reader, place, object, "name", false),
		.workload = get_text(reader, place, object, "workload", false),
		.over = get_text(reader, place, object, "over", false),
		.params = params_get(reader, place, object),
		.config = config_get(reader, place, object),
		.evidence = get_text(reader, place, object, "evidence", true),
		.contract_accepted = get_text_or_missing(reader, place, object, "contract_accepted"),
		.failure = get_text(reader, place, object, "failure", true),
		.finished = get_bool(reader, place, object, "finished"),
		.held_back = get_bool(reader, place, object, "held_back"),
		.alpha = get_real(reader, place, object, "alpha", 0),
		.interval_alpha = get_real(reader, place, object, "interval_alpha", 0),
		.margin = get_real(reader, place, object, "margin", 0),
		.candidates = get_unsigned(reader, place, object, "candidates"),
		.rounds = get_unsigned(reader, place, object, "rounds"),
		.excluded_rounds = get_unsigned(reader, place, object, "excluded_rounds"),
		.blocks = get_unsigned(reader, place, object, "blocks"),
		.control = control_get(reader, place, object),
		.repeat = get_text(reader, place, object, "repeat", true),
		.seconds = get_real(reader, place, object, "seconds", 0),
	};
	json_t *array = get_array(reader, place, object, "values");
	for (size_t i = 0; i < json_array_size(array) && reader->err->code == ST_OK; i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			break;
		struct survey_value value = survey_value_get(reader, &at, item);
		list_push(reader->arena, &survey->values, value);
	}
	const char *fastest = get_text(reader, place, object, "fastest", true);
	survey->top_known = fastest && survey_index(reader, place, survey, "fastest", fastest, &survey->top);
	survey_index(reader, place, survey, "baseline", get_text(reader, place, object, "baseline", false), &survey->baseline);
	return survey;
}

static void surveys_get(const struct reader *reader, json_t *document, struct run *run)
{
	struct place in = {.name = "surveys"};
	/* Documents of older assays have none. */
	json_t *array = json_object_get(document, "surveys") ? get_array(reader, NULL, document, "surveys") : NULL;
	for (size_t i = 0; i < json_array_size(array) && reader->err->code == ST_OK; i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			break;
		struct survey *survey = survey_get(reader, &at, item);
		list_push(reader->arena, &run->surveys, survey);
	}
}

static void families_get(const struct reader *reader, json_t *document, struct run *run)
{
	struct place in = {.name = "families"};
	json_t *array = get_array(reader, NULL, document, "families");
	for (size_t i = 0; i < json_array_size(array) && reader->err->code == ST_OK; i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			return;
		struct family family = {
			.hypothesis = hypothesis_named(reader, &at, run, item),
			.verdict = get_verdict(reader, &at, item, "verdict"),
			.evidence = get_text(reader, &at, item, "evidence", true),
		};
		struct place ids_in = {.up = &at, .name = "trials"};
		json_t *ids = get_array(reader, &at, item, "trials");
		for (size_t t = 0; t < json_array_size(ids); t++) {
			const char *id = json_string_value(json_array_get(ids, t));
			struct trial *trial = NULL;
			for (size_t k = 0; id && k < run->trials.count && !trial; k++)
				if (strcmp(run->trials.at[k]->id, id) == 0)
					trial = run->trials.at[k];
			if (!trial) {
				struct place id_at = {.up = &ids_in, .index = t};
				wrong(reader, &id_at, "the id of one of the trials");
				return;
			}
			list_push(reader->arena, &family.trials, trial);
		}
		list_push(reader->arena, &run->families, family);
	}
}

static void head_get(const struct reader *reader, json_t *document, struct run *run)
{
	struct place at = {.name = "run"};
	json_t *object = get_object(reader, NULL, document, "run", false);
	run->id = get_text(reader, &at, object, "id", false);
	run->command = get_text(reader, &at, object, "command", true);
	run->version = get_text(reader, &at, object, "version", true);
	run->started = get_text(reader, &at, object, "started", true);
	run->state = get_run_state(reader, &at, object, "state");
	run->seed = get_count(reader, &at, object, "seed", INT64_MAX);
	run->alpha = get_real(reader, &at, object, "alpha", 0);
	run->margin = get_real(reader, &at, object, "margin", 0);
	run->budget_s = get_real(reader, &at, object, "budget_seconds", 0);
	run->layouts = json_object_get(object, "layouts") ? (uint32_t)get_count_or_null(reader, &at, object, "layouts") : 0;
	run->tree = get_text(reader, &at, object, "tree", true);
	run->seconds = get_real(reader, &at, object, "seconds", 0);
	struct place host_at = {.up = &at, .name = "host"};
	json_t *host = get_object(reader, &at, object, "host", false);
	run->host = (struct host){
		.name = get_text(reader, &host_at, host, "name", true),
		.cpu = get_text(reader, &host_at, host, "cpu", true),
		.kernel = get_text(reader, &host_at, host, "kernel", true),
		.system = get_text(reader, &host_at, host, "system", true),
		.cpus = get_unsigned(reader, &host_at, host, "cpus"),
		.clock_source = get_text(reader, &host_at, host, "clock_source", true),
		.load_average = get_real(reader, &host_at, host, "load_average", 0),
		.counters = get_text(reader, &host_at, host, "counters", true),
	};
	struct place compilers_in = {.up = &at, .name = "compilers"};
	json_t *compilers = get_array(reader, &at, object, "compilers");
	for (size_t i = 0; i < json_array_size(compilers); i++) {
		struct place compiler_at = {.up = &compilers_in, .index = i};
		json_t *item = element(reader, &compiler_at, compilers, i);
		if (!item)
			break;
		struct compiler compiler = {.command = get_text(reader, &compiler_at, item, "command", true),
		                            .version = get_text(reader, &compiler_at, item, "version", true)};
		list_push(reader->arena, &run->compilers, compiler);
	}
	struct place scan_at = {.name = "scan"};
	json_t *scan = get_object(reader, NULL, document, "scan", false);
	run->files_scanned = get_unsigned(reader, &scan_at, scan, "files");
	run->files_failed = get_unsigned(reader, &scan_at, scan, "files_failed");
	run->lines_scanned = get_count(reader, &scan_at, scan, "lines", INT64_MAX);
	run->scan_seconds = get_real(reader, &scan_at, scan, "seconds", 0);
	run->database = get_bool(reader, &scan_at, scan, "database");
	run->baseline = get_text_or_missing(reader, &scan_at, scan, "baseline");
	run->changed_since = get_text_or_missing(reader, &scan_at, scan, "changed_since");
	run->findings_left_out = (unsigned)get_real_or_missing(reader, &scan_at, scan, "findings_left_out", 0);
	struct place absent_in = {.up = &scan_at, .name = "absent"};
	json_t *absent = json_object_get(scan, "absent") ? get_array(reader, &scan_at, scan, "absent") : NULL;
	for (size_t i = 0; i < json_array_size(absent); i++) {
		struct place absent_at = {.up = &absent_in, .index = i};
		json_t *item = element(reader, &absent_at, absent, i);
		if (!item)
			break;
		struct finding *finding = finding_get(reader, &absent_at, item);
		list_push(reader->arena, &run->absent, finding);
	}
}

static void lists_get(const struct reader *reader, json_t *document, struct run *run)
{
	struct place in = {.name = "findings"};
	json_t *array = get_array(reader, NULL, document, "findings");
	for (size_t i = 0; i < json_array_size(array) && reader->err->code == ST_OK; i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			break;
		/* Made before the push: it looks at the lists. */
		struct finding *finding = finding_get(reader, &at, item);
		list_push(reader->arena, &run->findings, finding);
	}
	in.name = "hypotheses";
	array = get_array(reader, NULL, document, "hypotheses");
	for (size_t i = 0; i < json_array_size(array) && reader->err->code == ST_OK; i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			break;
		/* Made before the push: it looks at the lists. */
		struct hypothesis *hypothesis = hypothesis_get(reader, &at, item, run);
		list_push(reader->arena, &run->hypotheses, hypothesis);
	}
	in.name = "trials";
	array = get_array(reader, NULL, document, "trials");
	for (size_t i = 0; i < json_array_size(array) && reader->err->code == ST_OK; i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			break;
		/* Made before the push: it looks at the lists. */
		struct trial *trial = trial_get(reader, &at, item, run);
		list_push(reader->arena, &run->trials, trial);
	}
	in.name = "notes";
	array = get_array(reader, NULL, document, "notes");
	for (size_t i = 0; i < json_array_size(array) && reader->err->code == ST_OK; i++) {
		struct place at = {.up = &in, .index = i};
		json_t *item = element(reader, &at, array, i);
		if (!item)
			break;
		struct note note = {.where = get_text(reader, &at, item, "where", true),
		                    .text = get_text(reader, &at, item, "text", true)};
		list_push(reader->arena, &run->notes, note);
	}
}

static enum status document_get(struct arena *arena, json_t *document, struct run *ret_run, struct err *err)
{
	/* Only an error of this document stops the reading; the caller may come with an older one. */
	struct err own = ERR_INIT;
	struct reader reader = {.arena = arena, .err = &own};
	*ret_run = (struct run){0};
	if (!json_is_object(document))
		wrong(&reader, NULL, "an object");
	else if (get_count(&reader, NULL, document, "assay", INT64_MAX) != SCHEMA_VERSION)
		err_set(&own, ST_INPUT, "the run document has schema version %lld, this assay reads %d: use the assay that wrote it",
		        (long long)json_integer_value(json_object_get(document, "assay")), SCHEMA_VERSION);
	if (own.code == ST_OK)
		head_get(&reader, document, ret_run);
	if (own.code == ST_OK)
		lists_get(&reader, document, ret_run);
	if (own.code == ST_OK)
		families_get(&reader, document, ret_run);
	if (own.code == ST_OK)
		surveys_get(&reader, document, ret_run);
	if (own.code == ST_OK)
		maps_get(&reader, document, ret_run);
	return own.code == ST_OK ? ST_OK : err_set(err, own.code, "%s", own.text);
}

static json_t *parse(const char *text, size_t size, struct err *err)
{
	json_error_t problem;
	json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
	if (!value)
		err_set(err, ST_INPUT, "the run document is not JSON: line %d, column %d: %s", problem.line, problem.column,
		        problem.text);
	return value;
}

enum status json_run_read(struct arena *arena, const char *text, size_t size, struct run *ret_run, struct err *err)
{
	*ret_run = (struct run){0};
	json_t *document = parse(text, size, err);
	if (!document)
		return ST_INPUT;
	enum status status = document_get(arena, document, ret_run, err);
	json_decref(document);
	return status;
}

static enum status pieces_add(json_t *document, const char *key, const struct string_list *pieces, struct err *err)
{
	json_t *array = json_array();
	put(document, key, array);
	for (size_t i = 0; i < pieces->count; i++) {
		json_t *value = parse(pieces->at[i], strlen(pieces->at[i]), err);
		if (!value) {
			err_context(err, "%s[%zu]", key, i);
			return ST_INPUT;
		}
		json_array_append_new(array, value);
	}
	return ST_OK;
}

enum status json_run_join(struct arena *arena, const struct json_pieces *pieces, struct run *ret_run, struct err *err)
{
	*ret_run = (struct run){0};
	json_t *document = parse(pieces->head, strlen(pieces->head), err);
	if (!document)
		return ST_INPUT;
	enum status status = ST_OK;
	if (json_is_object(document)) {
		status = pieces_add(document, "findings", &pieces->findings, err);
		if (status == ST_OK)
			status = pieces_add(document, "hypotheses", &pieces->hypotheses, err);
		if (status == ST_OK)
			status = pieces_add(document, "trials", &pieces->trials, err);
		if (status == ST_OK)
			status = pieces_add(document, "notes", &pieces->notes, err);
		if (status == ST_OK)
			status = pieces_add(document, "surveys", &pieces->surveys, err);
	}
	if (status == ST_OK)
		status = document_get(arena, document, ret_run, err);
	json_decref(document);
	return status;
}

enum status json_finding_read(struct arena *arena, const char *text, struct finding **ret_finding, struct err *err)
{
	*ret_finding = NULL;
	json_t *value = parse(text, strlen(text), err);
	if (!value)
		return ST_INPUT;
	struct err own = ERR_INIT;
	struct reader reader = {.arena = arena, .err = &own};
	if (!json_is_object(value))
		wrong(&reader, NULL, "an object");
	else
		*ret_finding = finding_get(&reader, NULL, value);
	json_decref(value);
	return own.code == ST_OK ? ST_OK : err_set(err, own.code, "%s", own.text);
}
