#include "report/phrase.h"

#include "base/text.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t character_seen(const char *at)
{
	unsigned char lead = (unsigned char)*at;
	if (lead < 0x80)
		return lead >= 0x20 && lead != 0x7f;
	/* C1 control characters steer some terminals. */
	return lead == 0xc2 && (unsigned char)at[1] < 0xa0 ? 0 : utf8_sequence(at);
}

const char *count_text(struct arena *arena, unsigned long long value)
{
	char digits[32];
	int size = snprintf(digits, sizeof digits, "%llu", value);
	char *out = arena_alloc(arena, 48);
	size_t used = 0;
	for (int i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			out[used++] = ',';
		out[used++] = digits[i];
	}
	return out;
}

const char *counted(struct arena *arena, unsigned long long count, const char *one, const char *many)
{
	return arena_printf(arena, "%s %s", count_text(arena, count), count == 1 ? one : many);
}

const char *term_seconds(struct arena *arena, double seconds)
{
	if (!isfinite(seconds) || seconds < 0)
		return "?";
	if (seconds < 0.0005)
		return arena_printf(arena, "%.0f us", 1e6 * seconds);
	if (seconds < 0.0995)
		return arena_printf(arena, "%.*f ms", seconds < 0.00995 ? 1 : 0, 1e3 * seconds);
	if (seconds < 9.995)
		return arena_printf(arena, "%.2f s", seconds);
	if (seconds < 59.95)
		return arena_printf(arena, "%.3g s", seconds);
	unsigned long long whole = (unsigned long long)(seconds + 0.5);
	if (whole < 3600)
		return arena_printf(arena, "%llu m %02llu s", whole / 60, whole % 60);
	return arena_printf(arena, "%llu h %02llu m", whole / 3600, whole / 60 % 60);
}

/* Three digits that count, of a value scaled to 1 … 999. */
static const char *scaled(struct arena *arena, double value, const char *unit)
{
	return arena_printf(arena, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
}

const char *term_ns(struct arena *arena, double ns)
{
	if (ns < 999.5)
		return scaled(arena, ns, "ns");
	if (ns < 999.5e3)
		return scaled(arena, ns / 1e3, "us");
	if (ns < 999.5e6)
		return scaled(arena, ns / 1e6, "ms");
	return scaled(arena, ns / 1e9, "s");
}

const char *rate_text(struct arena *arena, double bytes, double ns)
{
	double rate = bytes / ns; /* bytes per ns = GB/s */
	return rate < 1 ? scaled(arena, 1e3 * rate, "MB/s") : scaled(arena, rate, "GB/s");
}

const char *fraction_text(struct arena *arena, double fraction)
{
	return arena_printf(arena, "%.2g %%", 100 * fraction);
}

const char *percent_part(struct arena *arena, double log_value, int decimals)
{
	if (!isfinite(log_value))
		return log_value < 0 ? "-100" : "inf";
	double percent = effect_percent(log_value);
	if (fabs(percent) >= 999.5)
		return arena_printf(arena, "%+.0f", percent);
	char *text = arena_printf(arena, "%+.*f", decimals, percent);
	/* "-0.0" reads as if it were something. */
	if (text[0] == '-' && strspn(text + 1, "0.") == strlen(text + 1))
		text[0] = '+';
	return text;
}

const char *effect_text(struct arena *arena, const struct effect *effect)
{
	double low = effect_percent(effect->low), high = effect_percent(effect->high);
	if (!isfinite(effect->low) && !isfinite(effect->high))
		return arena_printf(arena, "%s %% [unbounded]", percent_part(arena, effect->theta, 1));
	int decimals = isfinite(low) && isfinite(high) && high - low < 0.2 ? 2 : 1;
	return arena_printf(arena, "%s %% [%s, %s]", percent_part(arena, effect->theta, decimals),
	                    isfinite(effect->low) ? percent_part(arena, effect->low, decimals) : "...",
	                    isfinite(effect->high) ? percent_part(arena, effect->high, decimals) : "...");
}

const char *span_text(struct arena *arena, double low, double high)
{
	return arena_printf(arena, "%s to %s %%", percent_part(arena, low, 1), percent_part(arena, high, 1));
}

const char *floor_text(struct arena *arena, const struct control *control)
{
	return isfinite(control->floor) ? fraction_text(arena, expm1(control->floor)) : "unknown";
}

const char *share_text(struct arena *arena, bool known, double share)
{
	return known ? arena_printf(arena, "%.1f %%", 100 * share) : "";
}

const char *config_text(struct arena *arena, const struct build_config *config)
{
	if (!config->cc || !config->cc[0])
		return ""; /* a command: the project builds it */
	return config->flags && config->flags[0] ? arena_printf(arena, "%s %s", config->cc, config->flags)
	                                         : arena_strdup(arena, config->cc);
}

static const char *label_of(struct arena *arena, const char *name, const struct binding_list *params)
{
	char *text = arena_strdup(arena, name);
	for (size_t i = 0; i < params->count; i++)
		text = arena_printf(arena, "%s %s=%s", text, params->at[i].name, params->at[i].value);
	return text;
}

const char *map_label(struct arena *arena, const struct hotmap *map)
{
	return label_of(arena, map->workload->name, &map->params);
}

const char *part_bound(struct arena *arena, const struct hot_share *part)
{
	if (!part->found)
		return "no function of the program is in it";
	if (!part->sampled)
		return "no bound, since its share of the time is not known";
	if (!isfinite(part->gain_most) || part->gain_most >= 3)
		return "no bound that says anything";
	return arena_printf(arena, "nothing confined to it makes the whole faster by more than %s",
	                    part->gain_most < 0.1 ? fraction_text(arena, part->gain_most)
	                                          : arena_printf(arena, "%.0f %%", 100 * part->gain_most));
}

const char *trial_label(struct arena *arena, const struct trial *trial, bool with_config)
{
	/* Of two commands, the title names both. */
	bool named = trial->workload && trial->hypothesis->kind != CANDIDATE_COMMAND;
	const char *text = label_of(arena, named ? trial->workload->name : "", &trial->params);
	if (with_config && config_text(arena, &trial->config)[0])
		text = arena_printf(arena, "%s%s%s", text, text[0] ? ", " : "", config_text(arena, &trial->config));
	if (trial->metric != METRIC_TIME && trial->effect.known)
		text = arena_printf(arena, "%s%s%s", text, text[0] ? ", " : "", metric_name(trial->metric));
	return text;
}

/* Does `config` differ from the first that was seen? Commands are built in no way of ours. */
static bool another_config(const struct build_config **first, const struct build_config *config)
{
	if (!config->cc || !config->cc[0])
		return false;
	if (*first && (!text_equal(config->cc, (*first)->cc) || !text_equal(config->flags, (*first)->flags)))
		return true;
	*first = config;
	return false;
}

bool many_configs(const struct run *run)
{
	const struct build_config *first = NULL;
	for (size_t i = 0; i < run->trials.count; i++)
		if (another_config(&first, &run->trials.at[i]->config))
			return true;
	for (size_t i = 0; i < run->surveys.count; i++)
		if (another_config(&first, &run->surveys.at[i]->config))
			return true;
	return false;
}

struct family_list all_families(struct arena *arena, const struct run *run)
{
	struct family_list list = {0};
	for (size_t i = 0; i < run->families.count; i++)
		list_push(arena, &list, run->families.at[i]);
	for (size_t i = 0; i < run->trials.count; i++) {
		struct trial *trial = run->trials.at[i];
		bool known = false;
		for (size_t f = 0; f < run->families.count && !known; f++)
			for (size_t t = 0; t < run->families.at[f].trials.count && !known; t++)
				known = run->families.at[f].trials.at[t] == trial;
		if (known)
			continue;
		struct family family = {.hypothesis = trial->hypothesis, .verdict = trial->verdict, .evidence = trial->evidence};
		list_push(arena, &family.trials, trial);
		list_push(arena, &list, family);
	}
	return list;
}

bool finding_tried(const struct family_list *families, const struct finding *finding)
{
	for (size_t i = 0; i < families->count; i++)
		if (families->at[i].hypothesis->finding == finding)
			return true;
	return false;
}

const char *compiler_text(struct arena *arena, const struct finding *finding)
{
	static const char *const lead[] = {"", "confirmed by ", "denied by ", "the compiler: "};
	return arena_printf(arena, "%s%s", lead[finding->compiler], finding->remark ? finding->remark : "");
}

const char *finding_evidence(struct arena *arena, const struct finding *finding)
{
	if (!finding->compiler)
		return finding->evidence;
	const char *said = compiler_text(arena, finding);
	return finding->evidence ? arena_printf(arena, "%s; %s", finding->evidence, said) : said;
}

static int finding_compare(const void *a, const void *b)
{
	const struct finding *x = *(const struct finding *const *)a, *y = *(const struct finding *const *)b;
	if (x->kind != y->kind)
		return x->kind == FINDING_GUARD ? 1 : -1;
	bool x_stands = x->built && !x->deliberate, y_stands = y->built && !y->deliberate;
	if (x_stands != y_stands)
		return x_stands ? -1 : 1;
	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	if (finding_is_removal(x) != finding_is_removal(y))
		return finding_is_removal(y) ? -1 : 1;
	if (x->tier != y->tier)
		return x->tier < y->tier ? -1 : 1;
	int files = strcmp(x->file, y->file);
	if (files)
		return files;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->id, y->id);
}

void findings_rank(struct finding_list *findings)
{
	if (findings->count > 1)
		qsort(findings->at, findings->count, sizeof *findings->at, finding_compare);
}

/* "2 critical, 1 high, 3 removals" of what stands: built, not deliberate, no guard. */
static const char *severity_counts(struct arena *arena, const struct run *run)
{
	unsigned counts[SEVERITY_CRITICAL + 1] = {0}, removals = 0, deliberate = 0, unbuilt = 0;
	for (size_t i = 0; i < run->findings.count; i++) {
		const struct finding *finding = run->findings.at[i];
		if (finding->kind == FINDING_GUARD)
			continue;
		if (finding->deliberate)
			deliberate++;
		else if (!finding->built && run->database)
			unbuilt++;
		else if (finding_is_removal(finding))
			removals++;
		else
			counts[finding->severity]++;
	}
	struct string_list words = {0};
	for (int severity = SEVERITY_CRITICAL; severity >= SEVERITY_LOW; severity--)
		if (counts[severity])
			list_push(arena, &words, arena_printf(arena, "%u %s", counts[severity], severity_name((enum severity)severity)));
	if (removals)
		list_push(arena, &words, counted(arena, removals, "removal", "removals"));
	if (deliberate)
		list_push(arena, &words, arena_printf(arena, "%u deliberate", deliberate));
	if (unbuilt)
		list_push(arena, &words, arena_printf(arena, "%u not built", unbuilt));
	return text_join(arena, &words, ", ");
}

const char *scan_summary(struct arena *arena, const struct run *run)
{
	unsigned guards = 0;
	for (size_t i = 0; i < run->findings.count; i++)
		guards += run->findings.at[i]->kind == FINDING_GUARD;
	unsigned findings = (unsigned)run->findings.count - guards;
	char *text = arena_strdup(arena, counted(arena, findings, "finding", "findings"));
	if (findings)
		text = arena_printf(arena, "%s (%s)", text, severity_counts(arena, run));
	if (guards)
		text = arena_printf(arena, "%s and %s", text, counted(arena, guards, "guard", "guards"));
	text = arena_printf(arena, "%s in %s, %s, in %s", text, counted(arena, run->files_scanned, "file", "files"),
	                    counted(arena, run->lines_scanned, "line", "lines"), term_seconds(arena, run->scan_seconds));
	if (run->files_failed)
		text = arena_printf(arena, "%s; %s could not be examined", text,
		                    counted(arena, run->files_failed, "file", "files"));
	return text;
}

const char *baseline_summary(struct arena *arena, const struct run *run, bool all)
{
	unsigned fresh = 0, known = 0;
	for (size_t i = 0; i < run->findings.count; i++) {
		fresh += run->findings.at[i]->baseline == BASELINE_NEW;
		known += run->findings.at[i]->baseline == BASELINE_UNCHANGED;
	}
	return arena_printf(arena, "beside %s: %u new, %u unchanged%s, %zu absent", run->baseline, fresh, known,
	                    known && !all ? " (not listed; --all lists them)" : "", run->absent.count);
}

const char *sides_text(struct arena *arena, const struct trial *trial)
{
	if (trial->baseline_printed > 0)
		return arena_printf(arena, "%g -> %g printed", trial->baseline_printed, trial->candidate_printed);
	return arena_printf(arena, "%s -> %s a run", term_ns(arena, trial->baseline_ns), term_ns(arena, trial->candidate_ns));
}

const char *other_text(struct arena *arena, const struct metric_result *other)
{
	return arena_printf(arena, "%s: %s, %s -> %s", metric_name(other->metric), effect_text(arena, &other->effect),
	                    term_ns(arena, other->baseline), term_ns(arena, other->candidate));
}

bool trial_explains(const struct trial *trial)
{
	bool shown = (trial->verdict == VERDICT_FASTER && trial->effect.high < 0) ||
	             (trial->verdict == VERDICT_SLOWER && trial->effect.low > 0) || trial->verdict == VERDICT_NO_EFFECT;
	return trial->evidence && !(trial->effect.known && shown);
}

const char *trial_limits(struct arena *arena, const struct trial *trial)
{
	struct string_list limits = {0};
	const struct control *control = &trial->control;
	if (trial->verdict == VERDICT_NO_EFFECT && control->done && control->floor > log1p(trial->margin))
		list_push(arena, &limits, arena_printf(arena, "within %s (the control's floor)",
		                                       fraction_text(arena, expm1(control->floor))));
	if (trial->excluded_pairs)
		list_push(arena, &limits, arena_printf(arena, "%s left out as migrated or preempted",
		                                       counted(arena, trial->excluded_pairs, "pair", "pairs")));
	if (trial->drifts)
		list_push(arena, &limits, "not stationary: the first third differs from the rest");
	return limits.count ? text_join(arena, &limits, "; ") : NULL;
}

const char *rung_evidence(struct arena *arena, enum rung rung, const char *evidence)
{
	return rung == RUNG_NONE ? evidence : arena_printf(arena, "%s: %s", rung_name(rung), evidence);
}

const char *family_share(struct arena *arena, const struct family *family)
{
	size_t alike = 0;
	for (size_t i = 0; i < family->trials.count; i++)
		alike += family->trials.at[i]->verdict == family->verdict;
	if ((family->verdict != VERDICT_FASTER && family->verdict != VERDICT_SLOWER) || alike == family->trials.count)
		return "";
	return arena_printf(arena, " (in %zu of %zu trials)", alike, family->trials.count);
}

const char *verdict_counts(struct arena *arena, const struct family_list *families)
{
	static const enum verdict order[] = {VERDICT_FASTER,        VERDICT_SLOWER,    VERDICT_MIXED,       VERDICT_NO_EFFECT,
	                                     VERDICT_INCONCLUSIVE,  VERDICT_NOT_REACHED, VERDICT_NOT_BUILT, VERDICT_DELIBERATE,
	                                     VERDICT_WRONG_RESULTS, VERDICT_FAILED,    VERDICT_NONE};
	struct string_list words = {0};
	for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
		unsigned count = 0;
		for (size_t i = 0; i < families->count; i++)
			count += families->at[i].verdict == order[k];
		if (count)
			list_push(arena, &words, arena_printf(arena, "%u %s", count, verdict_name(order[k])));
	}
	return text_join(arena, &words, ", ");
}

const char *hypotheses_text(struct arena *arena, const struct family_list *families)
{
	size_t distinct = 0;
	for (size_t i = 0; i < families->count; i++) {
		bool first = true;
		for (size_t k = 0; k < i && first; k++)
			first = families->at[k].hypothesis != families->at[i].hypothesis;
		distinct += first;
	}
	const char *text = counted(arena, distinct, "hypothesis", "hypotheses");
	return distinct == families->count ? text : arena_printf(arena, "%s under several configurations", text);
}

const char *plan_text(struct arena *arena, const struct run *run)
{
	const char *layouts = run->layouts ? arena_printf(arena, ", over %u layouts at least", run->layouts) : "";
	bool surveys = run->surveys.count && !run->trials.count;
	return arena_printf(arena, "alpha %s a %s, margin %s, budget %g s a %s%s, seed %llu", fraction_text(arena, run->alpha),
	                    surveys ? "survey" : "hypothesis", fraction_text(arena, run->margin), run->budget_s,
	                    surveys ? "value" : "trial", layouts, (unsigned long long)run->seed);
}

const char *host_short(struct arena *arena, const struct host *host)
{
	return arena_printf(arena, "%s, %s", host->cpu ? host->cpu : "unknown CPU", counted(arena, host->cpus, "CPU", "CPUs"));
}

const char *spread_drawing(struct arena *arena, const struct spread *spread, bool utf8)
{
	static const char *const blocks[] = {"\u00b7", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const plain[] = {".", ":", ":", "-", "-", "=", "=", "#", "#"};
	char *text = arena_strdup(arena, "");
	uint32_t most = 1;
	for (unsigned i = 0; i < SPREAD_BINS; i++)
		most = spread->bins[i] > most ? spread->bins[i] : most;
	for (unsigned i = 0; i < SPREAD_BINS; i++) {
		unsigned level = (8 * spread->bins[i] + most - 1) / most;
		text = arena_printf(arena, "%s%s", text, utf8 ? blocks[level] : plain[level]);
	}
	return text;
}

struct string_list unavailable_counters(struct arena *arena, const struct run *run)
{
	struct string_list said = {0};
	for (size_t t = 0; t < run->trials.count; t++)
		for (size_t i = 0; i < run->trials.at[t]->counters.count; i++) {
			const struct counter *counter = &run->trials.at[t]->counters.at[i];
			if (!counter->unavailable)
				continue;
			const char *text = arena_printf(arena, "%s: %s", counter->name, counter->unavailable);
			bool known = false;
			for (size_t k = 0; k < said.count && !known; k++)
				known = strcmp(said.at[k], text) == 0;
			if (!known)
				list_push(arena, &said, text);
		}
	return said;
}

const char *contract_text(struct arena *arena, const struct family *family)
{
	const struct hypothesis *hypothesis = family->hypothesis;
	const char *contract = hypothesis->contract;
	bool unconfirmed = false;
	for (size_t i = 0; i < family->trials.count; i++) {
		unconfirmed = unconfirmed || family->trials.at[i]->unconfirmed;
		contract = contract ? contract : family->trials.at[i]->rounding;
	}
	if (!contract || (family->verdict != VERDICT_FASTER && family->verdict != VERDICT_MIXED &&
	                  family->verdict != VERDICT_INCONCLUSIVE))
		return NULL;
	/* The evidence of such a trial has the contract already. */
	if (unconfirmed)
		return arena_printf(arena, "can be confirmed by --accept-contract, or in assay.yaml under `contracts` (finding: %s, "
		                    "reason: who says so and why)", hypothesis->id);
	return arena_printf(arena, "holds only if: %s%s", contract,
	                    hypothesis->contract_accepted
	                        ? arena_printf(arena, " (confirmed: %s)", hypothesis->contract_accepted) : "");
}

/* ---- surveys ----------------------------------------------------------------------------------------------------- */

const char *survey_label(struct arena *arena, const struct survey *survey, bool with_config)
{
	char *text = arena_printf(arena, "%s over %s", survey->workload, survey->over);
	for (size_t i = 0; i < survey->params.count; i++)
		text = arena_printf(arena, "%s%s%s=%s", text, i ? " " : ", ", survey->params.at[i].name, survey->params.at[i].value);
	if (with_config && config_text(arena, &survey->config)[0])
		text = arena_printf(arena, "%s, %s", text, config_text(arena, &survey->config));
	return text_starts(text, survey->name) ? text : arena_printf(arena, "%s: %s", survey->name, text);
}

struct ranked {
	double ns;
	size_t index;
};

static int ranked_compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	bool timed[2] = {x->ns > 0, y->ns > 0};
	if (timed[0] != timed[1])
		return timed[0] ? -1 : 1;
	if (timed[0] && x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

void survey_rank(struct arena *arena, const struct survey *survey, size_t *ret_order)
{
	struct ranked *ranked = arena_alloc(arena, survey->values.count * sizeof *ranked);
	for (size_t i = 0; i < survey->values.count; i++)
		ranked[i] = (struct ranked){survey->values.at[i].ns, i};
	qsort(ranked, survey->values.count, sizeof *ranked, ranked_compare);
	for (size_t i = 0; i < survey->values.count; i++)
		ret_order[i] = ranked[i].index;
}

bool survey_in_bytes(const struct survey *survey)
{
	for (size_t i = 0; i < survey->values.count; i++)
		if (survey->values.at[i].ns > 0 && !survey->values.at[i].bytes_per_iteration)
			return false;
	return true;
}

const char *survey_unit(const struct survey *survey)
{
	return survey_in_bytes(survey) ? "MB/s" : "ns an iteration";
}

/* Four digits that count are more than any interval carries. */
static const char *figure(struct arena *arena, double value)
{
	return arena_printf(arena, "%.*f", value < 9.995 ? 2 : value < 999.5 ? 1 : 0, value);
}

const char *survey_speed_text(struct arena *arena, const struct survey *survey, const struct survey_value *value)
{
	if (!(value->ns > 0))
		return "-";
	double bytes = 1e3 * (double)value->bytes_per_iteration;
	bool in_bytes = survey_in_bytes(survey), low_known = isfinite(value->ns_high), high_known = value->ns_low > 0;
	double middle = in_bytes ? bytes / value->ns : value->ns;
	const char *low = in_bytes ? low_known ? figure(arena, bytes / value->ns_high) : "..."
	                           : high_known ? figure(arena, value->ns_low) : "...";
	const char *high = in_bytes ? high_known ? figure(arena, bytes / value->ns_low) : "..."
	                            : low_known ? figure(arena, value->ns_high) : "...";
	return arena_printf(arena, "%s [%s, %s]", figure(arena, middle), low, high);
}

static bool value_explains(const struct survey_value *value)
{
	switch (value->verdict) {
	case VALUE_BASELINE:
		return false;
	case VALUE_FASTER:
	case VALUE_SLOWER:
	case VALUE_NO_EFFECT:
		/* The table shows all of it, unless Holm's gate said more than the interval. */
		return value->evidence && ((value->verdict == VALUE_FASTER && value->effect.high >= 0) ||
		                           (value->verdict == VALUE_SLOWER && value->effect.low <= 0));
	case VALUE_OPEN:
	case VALUE_INCONCLUSIVE:
	case VALUE_WRONG_RESULTS:
	case VALUE_UNAVAILABLE:
	case VALUE_MISSING:
	case VALUE_FAILED:
		return value->evidence != NULL;
	}
	BUG("value verdict %d", (int)value->verdict);
}

const char *survey_value_note(const struct survey *survey, const struct survey_value *value)
{
	/* When the whole failed, that is said once, above. */
	if (value_explains(value) && !text_equal(value->evidence, survey->failure))
		return value->evidence;
	return value->drifts ? "not stationary: the first third of the blocks differs from the rest" : NULL;
}

const char *survey_value_text(struct arena *arena, const struct survey *survey, const struct survey_value *value)
{
	char *text = arena_printf(arena, "%s%s%s", value_verdict_name(value->verdict), value->evidence ? ": " : "",
	                          value->evidence ? value->evidence : "");
	if (value->iterations)
		text = arena_printf(arena, "%s; %s a sample, %s per iteration", text,
		                    counted(arena, value->iterations, "iteration", "iterations"), term_ns(arena, value->ns));
	if (value->rounding && !value->unconfirmed)
		text = arena_printf(arena, "%s; %s%s%s", text, value->rounding, survey->contract_accepted ? "; confirmed: " : "",
		                    survey->contract_accepted ? survey->contract_accepted : "");
	if (value->p_adjusted > 0)
		text = arena_printf(arena, "%s; p %.2g, %.2g by Holm", text, value->p, value->p_adjusted);
	if (value->against_top.known)
		text = arena_printf(arena, "%s; %s against %s", text, effect_text(arena, &value->against_top),
		                    survey->values.at[survey->top].value);
	return text;
}

const char *survey_control_text(struct arena *arena, const struct survey *survey)
{
	const struct control *control = &survey->control;
	if (!control->done || !control->quiet)
		return NULL;
	return arena_printf(arena, "control: a copy of %s in the same squares, %s; noise floor %s",
	                    survey->values.at[survey->baseline].value, effect_text(arena, &control->effect),
	                    floor_text(arena, control));
}

const char *survey_rounds_text(struct arena *arena, const struct survey *survey)
{
	if (!survey->rounds)
		return NULL;
	const char *excluded = survey->excluded_rounds
	                           ? arena_printf(arena, "; in %u of them a sample was left out as migrated or preempted",
	                                          survey->excluded_rounds)
	                           : "";
	return arena_printf(arena, "%s in %s of fresh processes%s", counted(arena, survey->rounds, "round", "rounds"),
	                    counted(arena, survey->blocks, "block", "blocks"), excluded);
}

const char *survey_alpha_text(struct arena *arena, const struct survey *survey)
{
	if (!(survey->interval_alpha > 0))
		return NULL;
	return arena_printf(
		arena, "alpha %s each, so that all of them and the naming of the fastest hold together at %s; margin %s",
		fraction_text(arena, survey->interval_alpha), fraction_text(arena, survey->alpha),
		fraction_text(arena, survey->margin));
}

const char *survey_counts(struct arena *arena, const struct run *run)
{
	static const enum value_verdict order[] = {VALUE_FASTER,        VALUE_SLOWER,  VALUE_NO_EFFECT,   VALUE_INCONCLUSIVE,
	                                           VALUE_WRONG_RESULTS, VALUE_MISSING, VALUE_UNAVAILABLE, VALUE_FAILED, VALUE_OPEN};
	struct string_list words = {0};
	size_t values = 0;
	for (size_t i = 0; i < run->surveys.count; i++)
		values += run->surveys.at[i]->values.count;
	for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
		unsigned count = 0;
		for (size_t i = 0; i < run->surveys.count; i++)
			for (size_t v = 0; v < run->surveys.at[i]->values.count; v++)
				count += run->surveys.at[i]->values.at[v].verdict == order[k];
		if (count)
			list_push(arena, &words, arena_printf(arena, "%u %s", count, value_verdict_name(order[k])));
	}
	return arena_printf(arena, "%s of %s%s%s", counted(arena, run->surveys.count, "survey", "surveys"),
	                    counted(arena, values, "value", "values"), words.count ? ": " : "", text_join(arena, &words, ", "));
}

const char *agreement_run_text(struct arena *arena, const struct run *run)
{
	return arena_printf(arena, "%s, %s, %s, alpha %g %%, margin %g %%", run->id, run->started ? run->started : "no date",
	                    host_short(arena, &run->host), 100 * run->alpha, 100 * run->margin);
}

static const struct {
	const char *heading, *counted;
} agreement_words[AGREEMENT_KINDS] = {
	[AGREEMENT_DIFFERS] = {"the verdicts differ", "differ"},
	[AGREEMENT_UNDECIDED] = {"one or both came to no verdict", "without a verdict in one or both"},
	[AGREEMENT_ONE_HAS] = {"only one of the machines or builds has it", "that only one of them has"},
	[AGREEMENT_SAME] = {"the same verdict", "with the same verdict"},
};

const char *agreement_heading(enum agreement kind)
{
	return agreement_words[kind].heading;
}

const char *agreement_summary(struct arena *arena, const struct agreement_of_runs *agreement)
{
	static const enum agreement order[] = {AGREEMENT_SAME, AGREEMENT_DIFFERS, AGREEMENT_UNDECIDED, AGREEMENT_ONE_HAS};
	const char *text = arena_printf(arena, "%s that both answered", counted(arena, agreement->rows.count, "question", "questions"));
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		unsigned count = agreement->counts[order[i]], apart = agreement->apart[order[i]];
		if (count == 0 && i > 1)
			continue;
		text = arena_printf(arena, "%s%s %s %s", text, i == 0 ? ":" : ",", count_text(arena, count), agreement_words[order[i]].counted);
		if (apart)
			text = arena_printf(arena, "%s (%s intervals that exclude each other)", text,
			                    apart == count ? "with" : arena_printf(arena, "%s of them with", count_text(arena, apart)));
	}
	if (agreement->alone[0] || agreement->alone[1])
		text = arena_printf(arena, "%s; answered by one alone: %s by the first, %s by the second", text,
		                    count_text(arena, agreement->alone[0]), count_text(arena, agreement->alone[1]));
	return text;
}

const char *agreement_question(const struct agreement_row *row)
{
	return row->surveys[0] ? row->surveys[0]->name : hypothesis_title(row->trials[0]->hypothesis);
}

const char *agreement_where(struct arena *arena, const struct agreement_row *row)
{
	const struct survey *survey = row->surveys[0];
	const struct trial *trial = row->trials[0];
	const struct build_config *config = survey ? &survey->config : &trial->config;
	const char *name = survey ? survey->workload : trial->workload ? trial->workload->name : "no workload";
	const char *text = label_of(arena, name, survey ? &survey->params : &trial->params);
	if (survey)
		text = arena_printf(arena, "%s %s=%s", text, survey->over, row->values[0]->value);
	return config_text(arena, config)[0] ? arena_printf(arena, "%s, %s", text, config_text(arena, config)) : text;
}

const char *agreement_side(struct arena *arena, const struct agreement_row *row, int side)
{
	const struct effect *effect = agreement_effect(row, side);
	const char *verdict = agreement_verdict(row, side);
	return effect->known ? arena_printf(arena, "%s, %s", verdict, effect_text(arena, effect)) : verdict;
}

const char *agreement_intervals(const struct agreement_row *row)
{
	if (!agreement_effect(row, 0)->known || !agreement_effect(row, 1)->known)
		return NULL;
	return row->apart ? "the intervals exclude each other" : "the intervals overlap";
}
