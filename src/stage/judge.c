/* From samples to verdicts: pure, so an old run can be judged again from the store.
 *
 * A trial's verdict on time is read off one interval [L, U] for theta = median ln(t_candidate / t_baseline) over blocks,
 * and nothing else, so the chance of a wrong one is at most the interval's alpha, whenever the measurement stopped.
 * With D = ln(1 + margin), or the control's floor when that is larger:
 *
 *   -D < L and U < D, 0 outside   no effect: real, but negligible
 *   -D < L and U < D, 0 inside    no effect
 *   U < 0                         faster        (the claim is theta < 0, not theta < -D)
 *   L > 0                         slower
 *   else                          inconclusive
 *
 * Of several threads: where a cache-line transfer between their CPUs can't be seen, inconclusive, and never "no effect".
 *
 * Where the floor widens D, "no effect" needs more, since it is said of the margin that was asked for: the interval lies
 * within that margin too, and the floor is no more than three times it (stat_judge). Else the floor
 * hides what there is: inconclusive.
 *
 * The order matters: an interval that lies within (-D, D) never becomes "faster", however far from 0. measure stops by
 * the same rule (stat_decide); it knows the margin but not the floor, and a larger D only turns "faster" and "slower"
 * into "no effect" or leaves them as they are, never the other way round.
 *
 * The K measured trials of a hypothesis have intervals at alpha / K each. Their claims of a difference are then gated
 * together: Holm (1979) over the always-valid p of "theta is 0". Whatever its interval says, a trial is faster or slower
 * only if its adjusted p is at most alpha; and one that its interval leaves open is, if the adjusted p is at most alpha
 * and the interval excludes harm (or gain) of D or more, and the trial was not held back (interrupted, or over fewer
 * layouts than asked for), since then nothing may follow from it. So the chance that any trial of the hypothesis is
 * called faster or slower although its theta is 0 is at most alpha, and apart from that so is the chance that any
 * interval misses.
 *
 * What a trial is faster by may rest on a contract: what the candidate promises and no proof shows, since equal results
 * on a workload say nothing about other callers, or a rounding that the driver tolerates. While nobody has confirmed it, a
 * trial that would be faster is inconclusive ("unconfirmed"). The other verdicts need no contract (adr/0008).
 *
 * A family's verdict claims no more than its trials do:
 *
 *   wrong results anywhere                            wrong results
 *   all alike                                         that verdict
 *   a trial failed                                    failed
 *   faster and slower                                 mixed
 *   slower, none faster                               slower   (evidence says in how many)
 *   faster, none slower                               faster, if no trial is left that may be slower by D or more
 *                                                     (an interrupted one may be, whatever its interval) and none
 *                                                     rests on a contract that nobody has confirmed;
 *                                                     else inconclusive
 *   a trial inconclusive                              inconclusive
 *   deliberate among no effect, not reached, not built deliberate
 *   no effect, not reached, not built                 no effect, if one says so; else not reached
 */
#include "base/stat.h"
#include "base/text.h"
#include "stage/judge_outlook.h"
#include "stage/stages.h"

#include <math.h>

static const double SPREAD_SHARE = 0.8, SPREAD_ALPHA = 0.001;

/* ---- words --------------------------------------------------------------------------------------------------------- */

static bool of_commands(const struct measurement *measurement)
{
	return measurement->plan.metric != METRIC_TIME;
}

static const char *pairs_text(struct arena *arena, const struct measurement *measurement)
{
	if (measurement->plan.layouts >= 2)
		return arena_printf(arena, "%zu pairs in %u layouts, each with fresh processes", measurement->pairs.count,
		                    measurement->blocks);
	if (of_commands(measurement))
		return arena_printf(arena, "%zu pair%s of runs", measurement->pairs.count,
		                    measurement->pairs.count == 1 ? "" : "s");
	return arena_printf(arena, "%zu pairs in %u blocks of fresh processes", measurement->pairs.count, measurement->blocks);
}

/* "12.3 ns", "4.56 ms" */
static const char *time_text(struct arena *arena, double ns)
{
	if (ns < 1e3)
		return arena_printf(arena, "%.3g ns", ns);
	if (ns < 1e6)
		return arena_printf(arena, "%.4g us", ns / 1e3);
	if (ns < 1e9)
		return arena_printf(arena, "%.4g ms", ns / 1e6);
	return arena_printf(arena, "%.4g s", ns / 1e9);
}

/* "in wall clock, 11.3 ms against 10.2 ms a run" */
static const char *quantity_text(struct arena *arena, const struct trial *trial)
{
	const char *times = arena_printf(arena, "%s against %s", time_text(arena, trial->candidate_ns),
	                                 time_text(arena, trial->baseline_ns));
	switch (trial->metric) {
	case METRIC_TIME:
		return arena_printf(arena, "in time, %s an iteration", times);
	case METRIC_WALL:
	case METRIC_CPU:
		return arena_printf(arena, "in %s, %s a run", metric_name(trial->metric), times);
	case METRIC_LOWER:
		return arena_printf(arena, "in what it prints, %g against %g, lower is better", trial->candidate_printed,
		                    trial->baseline_printed);
	case METRIC_HIGHER:
		return arena_printf(arena, "in 1 / what it prints, %g against %g, higher is better", trial->candidate_printed,
		                    trial->baseline_printed);
	}
	BUG("metric %d", (int)trial->metric);
}

/* ---- the effect ------------------------------------------------------------------------------------------------------ */

static bool over_layouts(const struct measurement *measurement)
{
	return measurement->plan.layouts >= 2;
}

static size_t count_beyond(const double *values, size_t count, double bound)
{
	size_t beyond = 0;
	for (size_t i = 0; i < count; i++)
		beyond += values[i] > bound;
	return beyond;
}

/* Do layouts spread the effect by more than the margin? The distances from the median are compared with the control's and
 * half a margin together (independent deviations add up as squares), in two ways: more than 2 of 10 lie beyond the
 * distance within which 8 of 10 of the control lie, as a binomial count does once in 1000 (many layouts differ a little);
 * or so many lie beyond all of the control's as n of both, drawn alike, do once in 1000 (some layouts differ a lot; the
 * precedence test, Nelson 1963). The control's 8 of 10 is an estimate, so noise alone passes in 1 to 2 of 100 (simulated
 * for 12 to 60 layouts, normal, and t with 3 degrees of freedom). */
static bool spread_sensitive(const struct spread *spread, const double *distances, const struct control *control,
                             double margin)
{
	double low, high, n = spread->layouts, all = n + control->spread.layouts;
	double largest = fmax(control->spread.most - control->effect.theta, control->effect.theta - control->spread.least);
	size_t many = count_beyond(distances, spread->layouts, hypot(spread->noise, margin / 2));
	stat_binomial_interval(many, spread->layouts, 2 * SPREAD_ALPHA, &low, &high);
	size_t far = count_beyond(distances, spread->layouts, hypot(largest, margin / 2));
	double chance = 1;
	for (size_t i = 0; i < far; i++)
		chance *= (n - (double)i) / (all - (double)i);
	return low > 1 - SPREAD_SHARE || chance < SPREAD_ALPHA;
}

/* Of the blocks, each of which is a layout. `control` NULL: it is the control's own. */
static struct spread spread_of(const struct measurement *measurement, const struct control *control)
{
	struct spread spread = {.noise = control ? control->spread.deviation : 0};
	if (!over_layouts(measurement) || measurement->pairs.count == 0)
		return spread;
	struct arena scratch;
	arena_init(&scratch);
	double *ratios = arena_alloc(&scratch, measurement->pairs.count * sizeof *ratios);
	size_t count = pairs_block_ratios(&measurement->pairs, false, ratios);
	double *distances = arena_alloc(&scratch, count * sizeof *distances);
	double median = stat_median(ratios, count); /* sorts */
	spread.layouts = (uint32_t)count;
	spread.low = stat_quantile(ratios, count, 0.1);
	spread.high = stat_quantile(ratios, count, 0.9);
	spread.least = ratios[0];
	spread.most = ratios[count - 1];
	double range = spread.most - spread.least;
	for (size_t i = 0; i < count; i++) {
		unsigned bin = range > 0 ? (unsigned)((ratios[i] - spread.least) / range * SPREAD_BINS) : 0;
		spread.bins[bin < SPREAD_BINS ? bin : SPREAD_BINS - 1]++;
		distances[i] = fabs(ratios[i] - median);
	}
	stat_median(distances, count);
	spread.deviation = stat_quantile(distances, count, SPREAD_SHARE);
	spread.sensitive = control && control->spread.layouts &&
	                   spread_sensitive(&spread, distances, control, log1p(measurement->plan.margin));
	arena_release(&scratch);
	return spread;
}

/* `ret_floor` and `ret_p` may be NULL. */
static struct effect effect_of(const struct measurement *measurement, bool all, double *ret_floor, uint64_t floor_seed,
                               double *ret_p)
{
	const char *population = of_commands(measurement) ? "as run" : over_layouts(measurement) ? "over layouts" : "as built";
	struct arena scratch;
	arena_init(&scratch);
	double *ratios = arena_alloc(&scratch, measurement->pairs.count * sizeof *ratios);
	size_t count = pairs_block_ratios(&measurement->pairs, all, ratios);
	struct effect effect = effect_of_values(ratios, count, measurement->plan.alpha, population, ret_p);
	if (ret_floor)
		*ret_floor = stat_sign_floor(ratios, count, floor_seed);
	arena_release(&scratch);
	return effect;
}

/* What commands show under the clock that does not decide: shown beside the verdict, never a reason for it. */
static void other_metrics(struct arena *arena, const struct measurement *measurement, struct trial *trial)
{
	trial->other_metrics = (struct metric_result_list){0};
	for (enum metric metric = METRIC_WALL; of_commands(measurement) && metric <= METRIC_CPU; metric++) {
		if (metric == measurement->plan.metric)
			continue;
		struct measurement same = *measurement;
		same.plan.metric = metric;
		same.pairs = (struct pair_list){0};
		for (size_t i = 0; i < measurement->pairs.count; i++) {
			struct pair pair = measurement->pairs.at[i];
			pair.metric = metric;
			list_push(arena, &same.pairs, pair);
		}
		struct metric_result result = {.metric = metric, .effect = effect_of(&same, false, NULL, 0, NULL)};
		pairs_metric_medians(&same.pairs, metric, &result.baseline, &result.candidate);
		list_push(arena, &trial->other_metrics, result);
	}
}

/* ---- control --------------------------------------------------------------------------------------------------------- */

void judge_control(struct session *session, const struct measurement *measurement, struct control *ret_control)
{
	struct arena *arena = &session->arena;
	struct control control = {.pairs = (uint32_t)measurement->pairs.count,
	                          .blocks = measurement->blocks,
	                          .seconds = measurement->elapsed_s,
	                          .transfer = measurement->transfer};
	control.effect = effect_of(measurement, false, &control.floor, measurement->plan.seed, NULL);
	control.spread = spread_of(measurement, NULL);
	control.done = control.effect.known;
	/* An interval that is open to one side excludes nothing there: it is no proof of quiet. */
	bool bounded = control.done && effect_bounded(&control.effect);
	control.quiet = bounded && !(control.effect.high < 0 || control.effect.low > 0);
	const char *copy = of_commands(measurement) ? "itself" : "a copy of A";
	if (measurement->stop == STOP_UNSEEN)
		control.text = transfer_text(arena, &measurement->transfer);
	else if (!control.done)
		control.text = "the control took no pair: give a larger --budget";
	else if (!bounded)
		control.text = arena_printf(arena, "the control took too few %s (%s; %zu are the least that show anything): "
		                            "give a larger --budget", of_commands(measurement) ? "runs" : "blocks",
		                            pairs_text(arena, measurement), cseq_least(measurement->plan.alpha));
	else if (control.quiet)
		control.text = arena_printf(arena, "A against %s: %s, floor %.2f %%, %s", copy, effect_words(arena, &control.effect),
		                            effect_percent(control.floor), pairs_text(arena, measurement));
	else
		control.text = arena_printf(arena,
		                            "A against %s differs, %s after %s, so this machine can't judge now: stop other "
		                            "work on it and try again",
		                            copy, effect_words(arena, &control.effect), pairs_text(arena, measurement));
	*ret_control = control;
}

/* ---- trial ----------------------------------------------------------------------------------------------------------- */

static const char *why_stopped(struct arena *arena, const struct measurement *measurement)
{
	switch (measurement->stop) {
	case STOP_INTERRUPTED:
		return "interrupted";
	case STOP_BUDGET:
		return arena_printf(arena, "budget of %g s spent", measurement->plan.budget_s);
	case STOP_DECIDED: /* the floor of the control is larger than the margin that measure stopped by */
		return "below what this machine can tell apart";
	case STOP_FAILED:
		return "failed";
	case STOP_UNSEEN:
		return "what threads do to each other can't be seen here";
	}
	BUG("stop_reason %d", (int)measurement->stop);
}

/* `why` it is not settled, what that leaves open, and `suffix`. */
static void trial_inconclusive(struct arena *arena, struct trial *trial, struct outlook outlook, const char *why,
                               const char *suffix)
{
	trial->verdict = VERDICT_INCONCLUSIVE;
	trial->outlook = outlook;
	trial->evidence = arena_printf(arena, "%s%s %s%s", why, strchr(why, ':') ? ";" : ":", outlook.text, suffix);
}

static const char *trial_suffix(struct arena *arena, const struct measurement *measurement, const struct trial *trial)
{
	const char *text = "";
	if (trial->excluded_pairs) {
		struct effect all = effect_of(measurement, true, NULL, 0, NULL);
		text = arena_printf(arena, "; %u pairs left out as migrated or preempted (with them %s)", trial->excluded_pairs,
		                    effect_words(arena, &all));
	}
	if (trial->spread.sensitive)
		text = arena_printf(arena, "%s; layout-sensitive: in 8 of 10 layouts the effect lies between %+.2f and %+.2f %%, in 8 "
		                    "of 10 of the control within %.2f %%", text, effect_percent(trial->spread.low),
		                    effect_percent(trial->spread.high), effect_percent(trial->spread.noise));
	if (!measurement->stationary)
		text = arena_printf(arena, "%s; not stationary: the first third differs from the rest", text);
	return text;
}

static bool layouts_lack(const struct measurement *measurement)
{
	return over_layouts(measurement) && measurement->blocks < measurement->plan.layouts;
}

static void trial_judge_effect(struct session *session, const struct measurement *measurement,
                               const struct control *control, struct trial *trial)
{
	struct arena *arena = &session->arena;
	double asked = log1p(measurement->plan.margin), floor_value = control && control->done ? control->floor : 0;
	double margin = fmax(asked, floor_value);
	const char *bound = arena_printf(arena, "%.2g %%%s", effect_percent(margin), margin > asked ? " (the control's floor)" : "");
	const char *suffix = trial_suffix(arena, measurement, trial);
	const char *effect = effect_words(arena, &trial->effect);
	const char *pairs = pairs_text(arena, measurement);
	const char *quantity = quantity_text(arena, trial);
	enum stat_decision decision = stat_judge(trial->effect.low, trial->effect.high, asked, floor_value);
	if (decision != DECISION_OPEN && measurement->stop == STOP_INTERRUPTED) {
		trial_inconclusive(arena, trial, outlook_cut_short(arena, measurement, &trial->effect),
		                   arena_printf(arena, "%s, interrupted after %s, so no verdict follows", effect, pairs), suffix);
		return;
	}
	if (decision != DECISION_OPEN && layouts_lack(measurement)) {
		trial_inconclusive(arena, trial, outlook_cut_short(arena, measurement, &trial->effect),
		                   arena_printf(arena, "%s, %s after %s, and at least %u layouts were asked for", effect,
		                                why_stopped(arena, measurement), pairs, measurement->plan.layouts), suffix);
		return;
	}
	switch (decision) {
	case DECISION_FASTER:
	case DECISION_SLOWER:
		trial->verdict = trial->effect.high < 0 ? VERDICT_FASTER : VERDICT_SLOWER;
		trial->evidence = arena_printf(arena, "%s %s, %s%s", effect, quantity, pairs, suffix);
		break;
	case DECISION_NO_EFFECT:
		trial->verdict = VERDICT_NO_EFFECT;
		trial->evidence = arena_printf(arena, "%s in %s, within %s, %s%s", effect, metric_name(trial->metric), bound, pairs, suffix);
		break;
	case DECISION_NEGLIGIBLE:
		trial->verdict = VERDICT_NO_EFFECT;
		trial->evidence =
		    arena_printf(arena, "real but negligible: %s in %s, within %s, %s%s", effect, metric_name(trial->metric), bound,
		                 pairs, suffix);
		break;
	case DECISION_HIDDEN:
		trial_inconclusive(arena, trial, outlook_open(arena, measurement, &trial->effect, margin),
		                   arena_printf(arena, "%s, below what the control can tell apart: its noise floor is %.2g %%", effect,
		                                effect_percent(margin)), suffix);
		break;
	case DECISION_OPEN:
		trial_inconclusive(arena, trial, outlook_open(arena, measurement, &trial->effect, margin),
		                   arena_printf(arena, "%s, %s after %s", effect, why_stopped(arena, measurement), pairs), suffix);
		break;
	}
}

void judge_unmeasured(struct session *session, bool interrupted, struct trial *trial)
{
	if (trial->verdict == VERDICT_INCONCLUSIVE && !trial->outlook.text)
		trial_inconclusive(&session->arena, trial, outlook_unmeasured(&session->arena, interrupted, session->run.budget_s),
		                   trial->evidence, "");
}

void judge_trial(struct session *session, const struct measurement *measurement, const struct control *control,
                 struct trial *trial)
{
	struct arena *arena = &session->arena;
	trial->rung = RUNG_TIME;
	trial->unconfirmed = false;
	trial->outlook = (struct outlook){0};
	trial->p = trial->p_adjusted = 0;
	trial->effect = effect_of(measurement, false, NULL, 0, &trial->p);
	struct control none = {0};
	trial->spread = spread_of(measurement, control ? control : &none);
	trial->pairs = (uint32_t)measurement->pairs.count;
	trial->excluded_pairs = (uint32_t)pairs_excluded_count(&measurement->pairs);
	trial->blocks = measurement->blocks;
	trial->drifts = measurement->pairs.count && !measurement->stationary;
	trial->held_back = measurement->stop == STOP_INTERRUPTED || layouts_lack(measurement);
	trial->bytes_per_iteration = measurement->bytes_per_iteration;
	pairs_medians(&measurement->pairs, &trial->baseline_ns, &trial->candidate_ns);
	trial->metric = measurement->plan.metric;
	if (trial->metric == METRIC_LOWER || trial->metric == METRIC_HIGHER)
		pairs_metric_medians(&measurement->pairs, trial->metric, &trial->baseline_printed, &trial->candidate_printed);
	other_metrics(arena, measurement, trial);
	if (measurement->plan.alpha > 0) {
		trial->alpha = measurement->plan.alpha;
		trial->margin = measurement->plan.margin;
	}
	trial->transfer = measurement->transfer;
	if (control && !trial->transfer.threads)
		trial->transfer = control->transfer;
	if (measurement->stop == STOP_FAILED) {
		trial->verdict = VERDICT_FAILED;
		trial->evidence = measurement->failure;
	} else if (measurement->stop == STOP_UNSEEN) {
		trial_inconclusive(arena, trial, outlook_unmeasured(arena, false, session->run.budget_s),
		                   arena_printf(arena, "not judged: %s", transfer_text(arena, &trial->transfer)), "");
	} else if (control && !control->quiet) {
		trial_inconclusive(arena, trial, outlook_control(arena, control, session->run.alpha),
		                   arena_printf(arena, "not judged: %s", control->text ? control->text : "no control was made"), "");
	} else if (!trial->effect.known) {
		trial_inconclusive(arena, trial, outlook_no_pair(arena, measurement),
		                   arena_printf(arena, "%s before the first pair", why_stopped(arena, measurement)), "");
	} else {
		trial_judge_effect(session, measurement, control, trial);
	}
}

/* ---- Holm's gate ----------------------------------------------------------------------------------------------------- */

static double trial_margin(const struct trial *trial)
{
	return fmax(log1p(trial->margin), trial->control.floor);
}

static const char *holm_text(struct arena *arena, const struct trial *trial, size_t count)
{
	return arena_printf(arena, "p %.2g, adjusted %.2g for %zu trial%s by Holm", trial->p, trial->p_adjusted, count,
	                    count == 1 ? "" : "s");
}

/* What limits the numbers, as far as the trial itself tells. */
static const char *limits_text(struct arena *arena, const struct trial *trial)
{
	const char *text = "";
	if (trial->excluded_pairs)
		text = arena_printf(arena, "; %u pairs left out as migrated or preempted", trial->excluded_pairs);
	if (trial->drifts)
		text = arena_printf(arena, "%s; not stationary: the first third differs from the rest", text);
	return text;
}

static void trial_gate(struct arena *arena, struct trial *trial, double alpha, size_t count, double budget_s)
{
	const struct effect *effect = &trial->effect;
	double margin = trial_margin(trial);
	bool differs = trial->verdict == VERDICT_FASTER || trial->verdict == VERDICT_SLOWER;
	bool passes = trial->p_adjusted <= alpha;
	bool open = trial->verdict == VERDICT_INCONCLUSIVE && !trial->held_back && !trial->unconfirmed &&
	            (!trial->control.done || trial->control.quiet);
	if (differs && !passes) {
		trial_inconclusive(arena, trial, outlook_crowd(arena, trial, alpha, count, budget_s),
		                   arena_printf(arena, "%s, but among the trials of this hypothesis that may be chance (%s)",
		                                effect_words(arena, effect), holm_text(arena, trial, count)),
		                   limits_text(arena, trial));
	} else if (open && passes && (effect->theta < 0 ? effect->high < margin : effect->low > -margin)) {
		trial->verdict = effect->theta < 0 ? VERDICT_FASTER : VERDICT_SLOWER;
		trial->outlook = (struct outlook){0};
		trial->evidence = arena_printf(arena,
		                               "%s in time, %u pairs in %u %s; the difference is certain (%s), "
		                               "the interval, which holds for all trials at once, does not yet exclude 0%s",
		                               effect_words(arena, effect), trial->pairs, trial->blocks,
		                               trial->spread.layouts ? "layouts" : "blocks of fresh processes",
		                               holm_text(arena, trial, count), limits_text(arena, trial));
	}
}

/* All measured trials of one hypothesis, those under other configurations too: their alphas were one. Trials that were
 * planned but never measured count as p = 1. */
static void hypothesis_gate(struct session *session, const struct hypothesis *hypothesis)
{
	struct trial_list measured = {0};
	struct arena scratch;
	arena_init(&scratch);
	double planned = 0, alpha = session->run.alpha;
	for (size_t i = 0; i < session->run.trials.count; i++) {
		struct trial *trial = session->run.trials.at[i];
		if (trial->hypothesis != hypothesis || trial->rung != RUNG_TIME || !(trial->p > 0) || !(trial->alpha > 0))
			continue;
		list_push(&scratch, &measured, trial);
		planned = fmax(planned, round(alpha / trial->alpha));
	}
	size_t count = measured.count > (size_t)planned ? measured.count : (size_t)planned;
	double *p = arena_alloc(&scratch, (count + 1) * sizeof *p), *adjusted = arena_alloc(&scratch, (count + 1) * sizeof *p);
	for (size_t i = 0; i < count; i++)
		p[i] = i < measured.count ? measured.at[i]->p : 1;
	stat_holm(p, count, adjusted);
	for (size_t i = 0; i < measured.count; i++) {
		measured.at[i]->p_adjusted = adjusted[i];
		trial_gate(&session->arena, measured.at[i], alpha, count, session->run.budget_s);
	}
	arena_release(&scratch);
}

/* ---- contracts --------------------------------------------------------------------------------------------------- */

static void contract_gate(struct arena *arena, struct trial *trial)
{
	const char *contract = trial_unconfirmed_contract(trial);
	if (!contract || trial->verdict != VERDICT_FASTER)
		return;
	trial->verdict = VERDICT_INCONCLUSIVE;
	trial->unconfirmed = true;
	trial->evidence = unconfirmed_text(arena, contract, trial->evidence);
}

/* ---- family ---------------------------------------------------------------------------------------------------------- */

enum { VERDICTS = VERDICT_FAILED + 1 };

struct tally {
	size_t of[VERDICTS];
	size_t may_be_slower; /* inconclusive or unsettled, with no bound below the margin */
	size_t unconfirmed;
	double low, high;     /* the hull of all known intervals */
	bool measured;
	bool same_rung;
};

static struct tally family_tally(const struct family *family)
{
	struct tally tally = {.low = INFINITY, .high = -INFINITY, .same_rung = true};
	for (size_t i = 0; i < family->trials.count; i++) {
		const struct trial *trial = family->trials.at[i];
		tally.of[trial->verdict]++;
		tally.unconfirmed += trial->unconfirmed;
		bool open = trial->verdict == VERDICT_INCONCLUSIVE || trial->verdict == VERDICT_NONE;
		double margin = trial_margin(trial);
		if (open && (trial->held_back || !(trial->effect.known && trial->effect.high < margin)))
			tally.may_be_slower++;
		if (trial->effect.known) {
			tally.measured = true;
			tally.low = fmin(tally.low, trial->effect.low);
			tally.high = fmax(tally.high, trial->effect.high);
		}
		if (trial->rung != family->trials.at[0]->rung)
			tally.same_rung = false;
	}
	return tally;
}

static enum verdict family_verdict(const struct tally *tally, size_t count)
{
	const size_t *of = tally->of;
	if (of[VERDICT_WRONG_RESULTS])
		return VERDICT_WRONG_RESULTS;
	for (unsigned verdict = VERDICT_FASTER; verdict < VERDICTS; verdict++)
		if (of[verdict] == count)
			return (enum verdict)verdict;
	if (of[VERDICT_FAILED])
		return VERDICT_FAILED;
	if (of[VERDICT_FASTER] && of[VERDICT_SLOWER])
		return VERDICT_MIXED;
	if (of[VERDICT_SLOWER])
		return VERDICT_SLOWER;
	if (of[VERDICT_FASTER])
		return tally->may_be_slower || tally->unconfirmed ? VERDICT_INCONCLUSIVE : VERDICT_FASTER;
	if (of[VERDICT_INCONCLUSIVE] || of[VERDICT_NONE])
		return VERDICT_INCONCLUSIVE;
	if (of[VERDICT_DELIBERATE])
		return VERDICT_DELIBERATE;
	return of[VERDICT_NO_EFFECT] ? VERDICT_NO_EFFECT : VERDICT_NOT_REACHED;
}

/* "block=4096" */
static const char *trial_place(struct arena *arena, const struct trial *trial)
{
	char *text = arena_strdup(arena, trial->workload ? trial->workload->name : "");
	for (size_t i = 0; i < trial->params.count; i++)
		text = arena_printf(arena, "%s%s%s=%s", text, text[0] ? " " : "", trial->params.at[i].name,
		                    trial->params.at[i].value);
	return text;
}

static const struct trial *first_with(const struct family *family, enum verdict verdict)
{
	for (size_t i = 0; i < family->trials.count; i++)
		if (family->trials.at[i]->verdict == verdict)
			return family->trials.at[i];
	return NULL;
}

static const struct trial *first_unconfirmed(const struct family *family)
{
	for (size_t i = 0; i < family->trials.count; i++)
		if (family->trials.at[i]->unconfirmed)
			return family->trials.at[i];
	BUG("no trial of the family is unconfirmed");
}

/* How long the inconclusive ones of several trials would need together; "" when none is. */
static const char *family_needs(struct arena *arena, const struct family *family)
{
	double needed = 0;
	size_t helpless = 0, open = 0;
	for (size_t i = 0; i < family->trials.count; i++) {
		const struct trial *trial = family->trials.at[i];
		if (trial->verdict != VERDICT_INCONCLUSIVE)
			continue;
		open++;
		if (trial->outlook.text && isfinite(trial->outlook.needs_s))
			needed += trial->outlook.needs_s;
		else
			helpless++;
	}
	const char *time = needed > 0 ? arena_printf(arena, "; about %s would be needed in all", seconds_text(arena, needed)) : "";
	return helpless ? arena_printf(arena, "%s; in %zu of the %zu that are open no time would help", time, helpless, open) : time;
}

static const char *family_evidence(struct arena *arena, const struct family *family, const struct tally *tally)
{
	size_t count = family->trials.count;
	if (count == 1)
		return family->trials.at[0]->evidence;
	/* What holds for a part of the trials is said of that part. */
	bool partly = (family->verdict == VERDICT_FASTER || family->verdict == VERDICT_SLOWER) &&
	              tally->of[family->verdict] < count;
	char *text = partly ? arena_printf(arena, "%s in %zu of %zu trials", verdict_name(family->verdict),
	                                   tally->of[family->verdict], count) : NULL;
	for (unsigned verdict = 0; verdict < VERDICTS; verdict++) {
		if (!tally->of[verdict] || (partly && verdict == (unsigned)family->verdict))
			continue;
		const char *part = arena_printf(arena, "%zu of %zu trials: %s", tally->of[verdict], count,
		                                verdict_name((enum verdict)verdict));
		text = text ? arena_printf(arena, "%s, %zu: %s", text, tally->of[verdict], verdict_name((enum verdict)verdict))
		            : arena_strdup(arena, part);
	}
	enum verdict told = tally->of[VERDICT_WRONG_RESULTS] ? VERDICT_WRONG_RESULTS : VERDICT_FAILED;
	const struct trial *bad = first_with(family, told);
	if (bad)
		return arena_printf(arena, "%s; %s: %s", text, trial_place(arena, bad), bad->evidence);
	if (tally->unconfirmed)
		text = arena_printf(arena, "%s; %zu would be faster, but rest%s on a contract that nobody has confirmed: %s", text,
		                    tally->unconfirmed, tally->unconfirmed == 1 ? "s" : "",
		                    trial_unconfirmed_contract(first_unconfirmed(family)));
	const char *needs = family->verdict == VERDICT_INCONCLUSIVE ? family_needs(arena, family) : "";
	if (tally->measured)
		return arena_printf(arena, "%s; together their intervals span [%s, %s] %%%s%s", text, bound_words(arena, tally->low),
		                    bound_words(arena, tally->high), needs[0] ? ", what lies outside is excluded" : "", needs);
	if (tally->same_rung && family->trials.at[0]->evidence)
		return arena_printf(arena, "%s, at rung %s: %s", text, rung_name(family->trials.at[0]->rung),
		                    family->trials.at[0]->evidence);
	return arena_printf(arena, "%s%s", text, needs);
}

static struct family *family_of(struct session *session, const struct trial *trial)
{
	struct family_list *families = &session->run.families;
	for (size_t i = 0; i < families->count; i++) {
		const struct trial *first = families->at[i].trials.at[0];
		/* A command is built by the project, not under a configuration: it joins the first family. */
		bool same = !trial->config.cc || !trial->config.cc[0] ||
		            (text_equal(first->config.cc, trial->config.cc) && text_equal(first->config.flags, trial->config.flags));
		if (first->hypothesis == trial->hypothesis && same)
			return &families->at[i];
	}
	struct family family = {.hypothesis = trial->hypothesis};
	list_push(&session->arena, families, family);
	return &families->at[families->count - 1];
}

void judge_families(struct session *session)
{
	struct run *run = &session->run;
	run->families = (struct family_list){0};
	for (size_t i = 0; i < run->hypotheses.count; i++)
		hypothesis_gate(session, run->hypotheses.at[i]);
	for (size_t i = 0; i < run->trials.count; i++) {
		contract_gate(&session->arena, run->trials.at[i]);
		struct family *family = family_of(session, run->trials.at[i]);
		list_push(&session->arena, &family->trials, run->trials.at[i]);
	}
	for (size_t i = 0; i < run->families.count; i++) {
		struct family *family = &run->families.at[i];
		struct tally tally = family_tally(family);
		family->verdict = family_verdict(&tally, family->trials.count);
		family->evidence = family_evidence(&session->arena, family, &tally);
	}
}
