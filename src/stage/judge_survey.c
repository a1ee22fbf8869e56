/* From the rounds of a survey to verdicts: pure, so an old run can be judged again from the store.
 *
 * With k candidates each pair of values has a confidence sequence at alpha / (2k - 1) over the blocks. Two kinds of things
 * are said:
 *
 *   against the baseline   as of a trial (judge.c): faster, slower, no effect within D, inconclusive; k pairs
 *   which is fastest       the value with the least time leads. Values that it beats by their interval against it, by more
 *                          than D, are not the fastest; the others are "among the fastest", with the most that their
 *                          intervals allow between them. It alone is "the fastest" when it beats all.
 *
 * Which value leads is chosen by the data, but a false word about the fastest needs a miss in one particular set: let f be
 * truly the fastest. f is left out of the fastest only if an interval says that f is slower than some other value, that is if
 * one of the k intervals between f and another misses. Those and the k against the baseline share one pair (or all, when f
 * is the baseline), so 2k - 1 intervals carry everything that is said, and the chance that anything of it is wrong is at most
 * alpha, whenever the measurement stopped. (The choice of a best with certainty about the others: J. C. Hsu, "Simultaneous
 * confidence intervals for all distances from the 'best'", Ann. Statist. 9, 1981.)
 *
 * Holm's gate (1979) over the k always-valid p of "no difference from the baseline" is that of judge.c: it never takes back
 * what an interval at alpha / (2k - 1) says, and a value that its interval leaves open is faster or slower if the adjusted p
 * is at most alpha and the interval excludes harm (or gain) of D or more.
 *
 * A value that rounds otherwise than the baseline rests on a contract, as a trial does (adr/0008): while nobody has
 * confirmed it, what would be faster is inconclusive, and the fastest is looked for among the others.
 *
 * The control is a copy of the baseline in the same squares, at alpha: when its interval excludes 0, nothing is judged.
 */
#include "base/stat.h"
#include "base/text.h"
#include "stage/stages.h"

#include <math.h>

/* ---- words --------------------------------------------------------------------------------------------------------- */

static const char *rounds_text(struct arena *arena, const struct survey *survey)
{
	return arena_printf(arena, "%u rounds in %u blocks of fresh processes", survey->rounds, survey->blocks);
}

static const char *why_stopped(struct arena *arena, const struct survey_measurement *measurement)
{
	switch (measurement->stop) {
	case STOP_INTERRUPTED:
		return "interrupted";
	case STOP_BUDGET:
		return arena_printf(arena, "budget of %g s spent", measurement->plan.budget_s);
	case STOP_DECIDED: /* the floor of the control is larger than the margin that measure_survey stopped by */
		return "below what this machine can tell apart";
	case STOP_UNSEEN: /* of workloads of several threads, which are no surveys */
	case STOP_FAILED:
		return "the baseline failed";
	}
	BUG("stop_reason %d", (int)measurement->stop);
}

/* ---- effects --------------------------------------------------------------------------------------------------------- */

/* Where ratios are gathered; `count` rounds at most. */
struct scratch {
	struct arena arena;
	double *values;
};

static void scratch_open(struct scratch *scratch, const struct survey_measurement *measurement)
{
	arena_init(&scratch->arena);
	scratch->values = arena_alloc(&scratch->arena, (measurement->rounds.count + 1) * sizeof *scratch->values);
}

/* Of `a` against `b`. `ret_p` may be NULL. Leaves the ratios, whose count it returns, in scratch. */
static struct effect effect_between(const struct survey_measurement *measurement, size_t a, size_t b, bool all,
                                    double alpha, struct scratch *scratch, size_t *ret_count, double *ret_p)
{
	size_t count = rounds_block_ratios(measurement, a, b, all, scratch->values);
	if (ret_count)
		*ret_count = count;
	return effect_of_values(scratch->values, count, alpha, "as built", ret_p);
}

/* Of a sample of this value; 0: it was never timed. */
static uint64_t sample_iterations(const struct survey_measurement *measurement, size_t value)
{
	for (size_t i = 0; i < measurement->rounds.count; i++)
		if (measurement->rounds.at[i].samples[value].iterations)
			return measurement->rounds.at[i].samples[value].iterations;
	return 0;
}

/* The time of one iteration, and what it was computed from. */
static void value_times(struct session *session, const struct survey_measurement *measurement, size_t index,
                        double alpha, struct scratch *scratch, struct survey_value *value)
{
	size_t count = rounds_block_ns(measurement, index, scratch->values);
	struct cseq cseq;
	value->block_ns.at = NULL;
	value->block_ns.count = value->block_ns.cap = 0;
	cseq_init(&cseq, alpha);
	for (size_t i = 0; i < count; i++) {
		list_push(&session->arena, &value->block_ns, scratch->values[i]);
		if (!cseq_add(&cseq, scratch->values[i]))
			break;
	}
	value->ns = cseq.count ? cseq_median(&cseq) : 0;
	cseq_interval(&cseq, &value->ns_low, &value->ns_high);
	if (isinf(value->ns_low))
		value->ns_low = 0;
	cseq_release(&cseq);
	if (!value->iterations)
		value->iterations = sample_iterations(measurement, index);
	value->excluded = rounds_excluded(measurement, index);
	if (measurement->bytes_per_iteration)
		value->bytes_per_iteration = measurement->bytes_per_iteration[index];
}

/* ---- control --------------------------------------------------------------------------------------------------------- */

static struct control control_of(struct session *session, const struct survey_measurement *measurement,
                                 const struct survey *survey, struct scratch *scratch)
{
	struct arena *arena = &session->arena;
	struct control control = {.pairs = survey->rounds, .blocks = survey->blocks, .seconds = measurement->elapsed_s};
	size_t count = 0;
	control.effect = effect_between(measurement, measurement->values, measurement->baseline, false,
	                                measurement->plan.alpha, scratch, &count, NULL);
	control.floor = stat_sign_floor(scratch->values, count, measurement->plan.seed);
	control.done = control.effect.known;
	/* An interval that is open to one side excludes nothing there: it is no proof of quiet. */
	bool bounded = control.done && effect_bounded(&control.effect);
	control.quiet = bounded && !(control.effect.high < 0 || control.effect.low > 0);
	if (!control.done)
		control.text = "no round was taken: give a larger --budget";
	else if (!bounded)
		control.text = arena_printf(arena,
		                            "too few blocks (%s; %zu are the least that show anything): give a larger --budget",
		                            rounds_text(arena, survey), cseq_least(measurement->plan.alpha));
	else if (control.quiet)
		control.text = arena_printf(arena, "the baseline against a copy of it in the same squares: %s, floor %.2f %%",
		                            effect_words(arena, &control.effect), effect_percent(control.floor));
	else
		control.text = arena_printf(
			arena,
			"the baseline against a copy of it differs, %s after %s, so this machine can't judge now: "
			"stop other work on it and try again",
			effect_words(arena, &control.effect), rounds_text(arena, survey));
	return control;
}

/* ---- values ---------------------------------------------------------------------------------------------------------- */

static double survey_margin(const struct survey *survey)
{
	return fmax(log1p(survey->margin), survey->control.floor);
}

static const char *margin_text(struct arena *arena, const struct survey *survey)
{
	return arena_printf(arena, "%.2g %%%s", effect_percent(survey_margin(survey)),
	                    survey->control.floor > log1p(survey->margin) ? " (the control's floor)" : "");
}

static const char *value_suffix(struct arena *arena, const struct survey_value *value)
{
	const char *text = "";
	if (value->excluded)
		text = arena_printf(arena, "; %u samples left out as migrated or preempted", value->excluded);
	if (value->drifts)
		text = arena_printf(arena, "%s; not stationary: the first third differs from the rest", text);
	return text;
}

static void value_inconclusive(struct arena *arena, const struct survey_measurement *measurement,
                               const struct survey *survey, struct survey_value *value)
{
	const struct effect *effect = &value->effect;
	value->verdict = VALUE_INCONCLUSIVE;
	if (isinf(effect->low) || isinf(effect->high))
		value->evidence = arena_printf(
			arena, "%s after %s: %zu blocks are the least that decide: give a larger --budget",
			why_stopped(arena, measurement), rounds_text(arena, survey), cseq_least(survey->interval_alpha));
	else
		value->evidence = arena_printf(
			arena, "%s, %s after %s: more than %.2f %% faster and more than %.2f %% slower are excluded%s",
			effect_words(arena, effect), why_stopped(arena, measurement), rounds_text(arena, survey),
			fmax(0, -effect_percent(effect->low)), fmax(0, effect_percent(effect->high)), value_suffix(arena, value));
}

static void value_judge(struct arena *arena, const struct survey_measurement *measurement, const struct survey *survey,
                        struct survey_value *value)
{
	const char *effect = effect_words(arena, &value->effect), *suffix = value_suffix(arena, value);
	enum stat_decision decision =
		stat_judge(value->effect.low, value->effect.high, log1p(survey->margin), survey->control.floor);
	if (decision != DECISION_OPEN && survey->held_back) {
		value->verdict = VALUE_INCONCLUSIVE;
		value->evidence = arena_printf(arena, "%s, %s after %s: no verdict follows", effect,
		                               why_stopped(arena, measurement), rounds_text(arena, survey));
		return;
	}
	switch (decision) {
	case DECISION_FASTER:
	case DECISION_SLOWER:
		value->verdict = decision == DECISION_FASTER ? VALUE_FASTER : VALUE_SLOWER;
		value->evidence = arena_printf(arena, "%s in time%s", effect, suffix);
		break;
	case DECISION_NO_EFFECT:
	case DECISION_NEGLIGIBLE:
		value->verdict = VALUE_NO_EFFECT;
		value->evidence = arena_printf(arena, "%s%s in time, within %s%s",
		                               decision == DECISION_NEGLIGIBLE ? "real but negligible: " : "", effect,
		                               margin_text(arena, survey), suffix);
		break;
	case DECISION_HIDDEN:
		value_inconclusive(arena, measurement, survey, value);
		value->evidence = arena_printf(arena, "%s; below what the control can tell apart: its noise floor is %.2g %%",
		                               value->evidence, effect_percent(survey_margin(survey)));
		break;
	case DECISION_OPEN:
		value_inconclusive(arena, measurement, survey, value);
		break;
	}
}

/* Holm over the candidates, those that failed in the middle as p = 1. */
static void values_gate(struct arena *arena, struct survey *survey)
{
	struct survey_value *tested[SURVEY_VALUES_MAX];
	double p[SURVEY_VALUES_MAX] = {0}, adjusted[SURVEY_VALUES_MAX] = {0}, margin = survey_margin(survey);
	size_t count = 0;
	for (size_t i = 0; i < survey->values.count; i++)
		if (survey->values.at[i].p > 0)
			tested[count++] = &survey->values.at[i];
	size_t planned = survey->candidates > count ? survey->candidates : count;
	for (size_t i = 0; i < planned; i++)
		p[i] = i < count ? tested[i]->p : 1;
	stat_holm(p, planned, adjusted);
	for (size_t i = 0; i < count; i++) {
		struct survey_value *value = tested[i];
		const struct effect *effect = &value->effect;
		value->p_adjusted = adjusted[i];
		bool open = value->verdict == VALUE_INCONCLUSIVE && !survey->held_back && survey->control.quiet;
		if (!open || adjusted[i] > survey->alpha ||
		    !(effect->theta < 0 ? effect->high < margin : effect->low > -margin))
			continue;
		value->verdict = effect->theta < 0 ? VALUE_FASTER : VALUE_SLOWER;
		value->evidence = arena_printf(
			arena,
			"%s in time; the difference is certain (p %.2g, adjusted %.2g by Holm), the interval, "
			"which holds for all values at once, does not yet exclude 0%s",
			effect_words(arena, effect), value->p, value->p_adjusted, value_suffix(arena, value));
	}
}

/* ---- contracts ------------------------------------------------------------------------------------------------------- */

static void contract_gate(struct arena *arena, const struct survey *survey, struct survey_value *value)
{
	const char *contract = value_unconfirmed_contract(survey, value);
	if (!contract || value->verdict != VALUE_FASTER)
		return;
	value->verdict = VALUE_INCONCLUSIVE;
	value->unconfirmed = true;
	value->evidence = unconfirmed_text(arena, contract, value->evidence);
}

/* ---- which is fastest ------------------------------------------------------------------------------------------------ */

static bool has_time(const struct survey_value *value)
{
	return value->ns > 0 && value->verdict != VALUE_FAILED;
}

static void top_find(const struct survey_measurement *measurement, struct survey *survey, struct scratch *scratch)
{
	struct arena *arena = &scratch->arena;
	bool *may_lead = arena_alloc(arena, survey->values.count * sizeof *may_lead);
	struct effect *against = arena_alloc(arena, survey->values.count * sizeof *against);
	for (size_t i = 0; i < survey->values.count; i++)
		may_lead[i] = has_time(&survey->values.at[i]) && !value_unconfirmed_contract(survey, &survey->values.at[i]);
	survey->top_known = rounds_top(measurement, may_lead, survey->interval_alpha, scratch->values, &survey->top, against);
	for (size_t i = 0; i < survey->values.count; i++) {
		struct survey_value *value = &survey->values.at[i];
		bool behind = survey->top_known && may_lead[i] && i != survey->top;
		value->against_top = against[i];
		value->among_fastest = survey->top_known && i == survey->top;
		if (behind)
			value->among_fastest = stat_decide(against[i].low, against[i].high, survey_margin(survey)) != DECISION_SLOWER;
	}
}

/* "a, b, c" of the values with this verdict; NULL: none. */
static const char *values_listed(struct arena *arena, const struct survey *survey, enum value_verdict verdict)
{
	struct string_list names = {0};
	for (size_t i = 0; i < survey->values.count; i++)
		if (survey->values.at[i].verdict == verdict)
			list_push(arena, &names, survey->values.at[i].value);
	return names.count ? text_join(arena, &names, ", ") : NULL;
}

/* "a, b" of the values that were timed, but may not be called the fastest; NULL: none. */
static const char *unconfirmed_listed(struct arena *arena, const struct survey *survey)
{
	struct string_list names = {0};
	for (size_t i = 0; i < survey->values.count; i++)
		if (has_time(&survey->values.at[i]) && value_unconfirmed_contract(survey, &survey->values.at[i]))
			list_push(arena, &names, survey->values.at[i].value);
	return names.count ? text_join(arena, &names, ", ") : NULL;
}

static const char *fastest_text(struct arena *arena, const struct survey *survey)
{
	struct string_list among = {0};
	const char *of = unconfirmed_listed(arena, survey)
	                     ? arena_printf(arena, " of those that round as %s does", survey->values.at[survey->baseline].value)
	                     : "";
	double least = INFINITY, behind = 0; /* of the others, and of those among the fastest: the most that they may be slower by */
	if (!survey->top_known || survey->held_back || !survey->control.quiet || survey->candidates == 0)
		return NULL;
	for (size_t i = 0; i < survey->values.count; i++) {
		const struct survey_value *value = &survey->values.at[i];
		if (value->among_fastest) {
			list_push(arena, &among, value->value);
			behind = value->against_top.known ? fmax(behind, value->against_top.high) : behind;
		}
		if (value->against_top.known)
			least = fmin(least, value->against_top.low);
	}
	/* Nothing says that it is slow is not yet "fast". */
	if (among.count > 1 && !isfinite(behind))
		return arena_printf(arena, "which is the fastest%s is open, one of: %s", of, text_join(arena, &among, ", "));
	if (among.count > 1)
		return arena_printf(arena, "among the fastest%s: %s (at most %.1f %% behind %s)", of, text_join(arena, &among, ", "),
		                    effect_percent(behind), survey->values.at[survey->top].value);
	if (!isfinite(least))
		return NULL; /* the others failed while they were measured */
	return arena_printf(arena, "fastest%s: %s, every other takes at least %.1f %% longer", of,
	                    survey->values.at[survey->top].value, effect_percent(least));
}

void judge_survey_text(struct session *session, struct survey *survey)
{
	struct arena *arena = &session->arena;
	struct string_list parts = {0};
	const char *baseline = survey->values.at[survey->baseline].value;
	const struct {
		const char *what;
		enum value_verdict verdict;
	} lists[] = {{"wrong results", VALUE_WRONG_RESULTS},
	             {"missing from the build", VALUE_MISSING},
	             {"failed", VALUE_FAILED},
	             {"inconclusive", VALUE_INCONCLUSIVE},
	             {"unavailable", VALUE_UNAVAILABLE}};
	if (survey->failure)
		list_push(arena, &parts, survey->failure);
	else if (!survey->control.quiet)
		list_push(arena, &parts,
		          arena_printf(arena, "not judged: %s",
		                       survey->control.text ? survey->control.text : "nothing was measured"));
	const char *fastest = survey->failure ? NULL : fastest_text(arena, survey);
	if (fastest)
		list_push(arena, &parts, fastest);
	const char *unconfirmed = unconfirmed_listed(arena, survey);
	if (unconfirmed)
		list_push(arena, &parts,
		          arena_printf(arena, "rounded otherwise, which nobody has confirmed (--accept-contract, or in assay.yaml "
		                       "under `contracts`, finding: survey:%s): %s", survey->name, unconfirmed));
	const char *slower = values_listed(arena, survey, VALUE_SLOWER);
	if (slower)
		list_push(arena, &parts, arena_printf(arena, "slower than %s: %s", baseline, slower));
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		const char *names = values_listed(arena, survey, lists[i].verdict);
		if (names && !(survey->failure && lists[i].verdict == VALUE_FAILED))
			list_push(arena, &parts, arena_printf(arena, "%s: %s", lists[i].what, names));
	}
	survey->evidence = text_join(arena, &parts, "; ");
}

/* ---- the survey ------------------------------------------------------------------------------------------------------ */

static uint32_t rounds_disturbed(const struct survey_measurement *measurement)
{
	uint32_t count = 0;
	for (size_t i = 0; i < measurement->rounds.count; i++) {
		uint32_t flags = 0;
		for (size_t k = 0; k <= measurement->values; k++)
			flags |= measurement->rounds.at[i].samples[k].flags;
		count += (flags & (PAIR_MIGRATED | PAIR_PREEMPTED)) != 0;
	}
	return count;
}

static void value_measured(struct session *session, const struct survey_measurement *measurement, struct survey *survey,
                           size_t index, struct scratch *scratch)
{
	struct survey_value *value = &survey->values.at[index];
	size_t count = 0;
	value_times(session, measurement, index, measurement->plan.alpha, scratch, value);
	if (index == survey->baseline) {
		value->verdict = measurement->stop == STOP_FAILED ? VALUE_FAILED : VALUE_BASELINE;
		value->evidence = measurement->stop == STOP_FAILED ? measurement->failure : "what the others are compared with";
		return;
	}
	value->effect = effect_between(measurement, index, survey->baseline, false, survey->interval_alpha, scratch, &count,
	                               &value->p);
	value->drifts = !stat_stationary(scratch->values, count, survey->interval_alpha);
	if (!survey->control.quiet) {
		value->verdict = VALUE_INCONCLUSIVE;
		value->evidence = arena_printf(&session->arena, "not judged: %s", survey->control.text);
		return;
	}
	value_judge(&session->arena, measurement, survey, value);
}

void judge_survey(struct session *session, const struct survey_measurement *measurement, struct survey *survey)
{
	struct scratch scratch;
	survey->alpha = measurement->plan.alpha;
	survey->margin = measurement->plan.margin;
	survey->candidates = measurement->candidates;
	survey->interval_alpha = survey_interval_alpha(survey->alpha, survey->candidates);
	survey->rounds = (uint32_t)measurement->rounds.count;
	survey->excluded_rounds = rounds_disturbed(measurement);
	survey->blocks = measurement->blocks;
	survey->held_back = measurement->stop == STOP_INTERRUPTED || measurement->stop == STOP_FAILED;
	scratch_open(&scratch, measurement);
	survey->control = control_of(session, measurement, survey, &scratch);
	if (measurement->stop == STOP_FAILED)
		survey->failure = arena_printf(&session->arena, "the baseline %s: %s",
		                               survey->values.at[survey->baseline].value, measurement->failure);
	for (size_t i = 0; i < survey->values.count; i++) {
		struct survey_value *value = &survey->values.at[i];
		value->p = value->p_adjusted = 0;
		value->unconfirmed = false;
		value->effect = (struct effect){0};
		if (measurement->failures && measurement->failures[i]) {
			value->verdict = VALUE_FAILED;
			value->evidence = measurement->failures[i];
		} else if (sample_iterations(measurement, i)) {
			value_measured(session, measurement, survey, i, &scratch);
		} else if (value->verdict == VALUE_OPEN || value->verdict == VALUE_INCONCLUSIVE) {
			value->verdict = VALUE_INCONCLUSIVE;
			value->evidence = arena_printf(&session->arena, "%s before the first round: give a larger --budget",
			                               why_stopped(&session->arena, measurement));
		}
	}
	values_gate(&session->arena, survey);
	for (size_t i = 0; i < survey->values.count; i++)
		contract_gate(&session->arena, survey, &survey->values.at[i]);
	top_find(measurement, survey, &scratch);
	arena_release(&scratch.arena);
	judge_survey_text(session, survey);
}
