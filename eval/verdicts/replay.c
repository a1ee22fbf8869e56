#include "replay.h"

#include "base/stat.h"
#include "peers.h"

#include <math.h>

const char *const rule_names[RULES] = {
    [RULE_ASSAY] = "assay: confidence sequence over blocks, 99 %, margin 1 %",
    [RULE_ASSAY_FINE] = "assay, margin 0.1 %",
    [RULE_BLOCKS_99] = "interleaved blocks, fixed number, sign interval 99 %",
    [RULE_PAIRS_95] = "interleaved pairs, fixed number, sign interval 95 %",
    [RULE_WELCH_95] = "Welch's t, A before B, 95 %",
    [RULE_WELCH_99] = "Welch's t, A before B, 99 %",
    [RULE_RANKS_95] = "Mann-Whitney, A before B, 95 %",
    [RULE_RANKS_99] = "Mann-Whitney, A before B, 99 %",
    [RULE_POOP] = "poop's rule, whole processes",
    [RULE_HYPERFINE] = "hyperfine's ratio ± sigma, whole processes",
};

const size_t prefix_runs[PREFIXES] = {10, 15, 20, 30, 45, 70, 100, 150};

static const double ALPHA = REPLAY_ALPHA, MARGIN = 0.01, MARGIN_FINE = 0.001;

/* ---- assay ------------------------------------------------------------------------------------------------------------- */

static enum claim claim_of(enum stat_decision decision)
{
	switch (decision) {
	case DECISION_OPEN:
	case DECISION_HIDDEN: /* recordings have no control beside them */
		return CLAIM_NONE;
	case DECISION_FASTER:
		return CLAIM_FASTER;
	case DECISION_SLOWER:
		return CLAIM_SLOWER;
	case DECISION_NO_EFFECT:
		return CLAIM_NO_EFFECT;
	case DECISION_NEGLIGIBLE:
		return CLAIM_NEGLIGIBLE;
	}
	BUG("stat_decision %d", (int)decision);
}

enum claim replay_assay(const struct pair_list *pairs, double alpha, double margin, size_t *ret_pairs_used, double *ret_low,
                        double *ret_high)
{
	struct arena scratch;
	arena_init(&scratch);
	double *ratios = arena_alloc(&scratch, (pairs->count + 1) * sizeof *ratios);
	size_t blocks = pairs_block_ratios(pairs, false, ratios);
	struct cseq cseq;
	cseq_init(&cseq, alpha);
	enum claim claim = CLAIM_NONE;
	size_t used = 0;
	*ret_low = -INFINITY;
	*ret_high = INFINITY;
	for (size_t block = 0; block < blocks && claim == CLAIM_NONE; block++) {
		uint32_t number = pairs->at[used].block;
		while (used < pairs->count && pairs->at[used].block == number)
			used++;
		if (!cseq_add(&cseq, ratios[block]))
			break;
		cseq_interval(&cseq, ret_low, ret_high);
		enum stat_decision decision = stat_decide(*ret_low, *ret_high, log1p(margin));
		struct pair_list so_far = {.at = pairs->at, .count = used};
		if (decision != DECISION_OPEN && pairs_stationary(&so_far, alpha))
			claim = claim_of(decision);
	}
	cseq_release(&cseq);
	arena_release(&scratch);
	*ret_pairs_used = used;
	return claim;
}

static struct outcome assay_outcome(const struct recording *recording, double margin)
{
	struct outcome outcome = {.present = true};
	size_t used;
	outcome.claim = replay_assay(&recording->pairs, ALPHA, margin, &used, &outcome.low, &outcome.high);
	for (size_t i = 0; i < used; i++)
		outcome.measured_s += 1e-9 * (double)(recording->pairs.at[i].baseline_ns + recording->pairs.at[i].candidate_ns);
	outcome.wall_s = outcome.claim == CLAIM_NONE || used == 0 ? recording->interleaved_s : recording->stamps.at[used - 1];
	return outcome;
}

/* ---- rules for a fixed number of values -------------------------------------------------------------------------------- */

/* As such rules are used: an interval without 0 is a difference, however small. */
static enum claim claim_of_interval(double low, double high)
{
	if (low > 0)
		return CLAIM_SLOWER;
	if (high < 0)
		return CLAIM_FASTER;
	return low > -log1p(MARGIN) && high < log1p(MARGIN) ? CLAIM_NO_EFFECT : CLAIM_NONE;
}

static void outcome_range(struct outcome *outcome, double low, double high)
{
	outcome->low = low;
	outcome->high = high;
	outcome->claim = claim_of_interval(low, high);
}

static void outcome_no_range(struct outcome *outcome, enum claim claim)
{
	outcome->low = -INFINITY;
	outcome->high = INFINITY;
	outcome->claim = claim;
}

/* ln(1 + x), for fractions that an interval may have below -1. */
static double log_ratio(double fraction)
{
	return fraction > -1 ? log1p(fraction) : -INFINITY;
}

static double *times_of(struct arena *arena, const struct timed_list *list, size_t count, double *measured_s,
                        double *wall_s)
{
	double *times = arena_alloc(arena, (count + 1) * sizeof *times);
	for (size_t i = 0; i < count; i++) {
		times[i] = (double)list->at[i].ns;
		*measured_s += 1e-9 * times[i];
	}
	if (count)
		*wall_s += list->at[count - 1].end_s;
	return times;
}

static void replay_interleaved(struct arena *arena, const struct recording *recording, struct replayed *replayed)
{
	const struct pair_list *pairs = &recording->pairs;
	struct outcome whole = {.present = true, .wall_s = recording->interleaved_s};
	double *ratios = arena_alloc(arena, (pairs->count + 1) * sizeof *ratios);
	size_t count = pairs_block_ratios(pairs, false, ratios);
	for (size_t i = 0; i < pairs->count; i++)
		whole.measured_s += 1e-9 * (double)(pairs->at[i].baseline_ns + pairs->at[i].candidate_ns);
	replayed->blocks = (uint32_t)count;
	replayed->failed = recording->stop == STOP_FAILED;
	replayed->pairs = pairs->count;
	replayed->pairs_excluded = pairs_excluded_count(pairs);
	struct range range = sign_interval(ratios, count, 0.01);
	replayed->estimate = range.estimate;
	for (size_t i = 0; i < count; i++)
		ratios[i] = fabs(ratios[i] - range.estimate);
	replayed->scatter = count ? stat_median(ratios, count) : 0;
	replayed->rules[RULE_BLOCKS_99] = whole;
	outcome_range(&replayed->rules[RULE_BLOCKS_99], range.low, range.high);
	count = 0;
	for (size_t i = 0; i < pairs->count; i++)
		if (pair_quantity(&pairs->at[i], pairs->at[i].metric, false) > 0 && pair_quantity(&pairs->at[i], pairs->at[i].metric, true) > 0)
			ratios[count++] = log(pair_quantity(&pairs->at[i], pairs->at[i].metric, true) /
			                      pair_quantity(&pairs->at[i], pairs->at[i].metric, false));
	range = sign_interval(ratios, count, 0.05);
	replayed->rules[RULE_PAIRS_95] = whole;
	outcome_range(&replayed->rules[RULE_PAIRS_95], range.low, range.high);
}

static void replay_samples(struct arena *arena, const struct recording *recording, struct replayed *replayed)
{
	struct outcome whole = {.present = recording->samples[0].count > 1 && recording->samples[1].count > 1};
	if (!whole.present)
		return;
	size_t counts[2];
	double *times[2];
	struct moments moments[2];
	for (int i = 0; i < 2; i++) {
		counts[i] = recording->samples[i].count;
		times[i] = times_of(arena, &recording->samples[i], counts[i], &whole.measured_s, &whole.wall_s);
		moments[i] = moments_of(times[i], counts[i]);
	}
	static const double alphas[2] = {0.05, 0.01};
	double share, p = mann_whitney_p(times[0], counts[0], times[1], counts[1], &share);
	for (int i = 0; i < 2; i++) {
		struct range range = welch_interval(moments[0], moments[1], alphas[i]);
		struct outcome *welch = &replayed->rules[RULE_WELCH_95 + i], *ranks = &replayed->rules[RULE_RANKS_95 + i];
		*welch = *ranks = whole;
		outcome_range(welch, log_ratio(range.low), log_ratio(range.high));
		outcome_no_range(ranks, p >= alphas[i] ? CLAIM_NONE : share > 0.5 ? CLAIM_SLOWER : CLAIM_FASTER);
	}
}

static struct outcome hyperfine_outcome(struct arena *arena, const struct recording *recording, const size_t counts[2],
                                        struct outcome *ret_poop)
{
	struct outcome whole = {.present = true};
	struct moments moments[2];
	for (int i = 0; i < 2; i++) {
		double *times = times_of(arena, &recording->commands[i], counts[i], &whole.measured_s, &whole.wall_s);
		moments[i] = moments_of(times, counts[i]);
	}
	struct speed_ratio ratio = hyperfine_ratio(moments[0], moments[1]);
	struct range range = poop_interval(moments[0], moments[1]);
	*ret_poop = whole;
	enum claim direction = range.estimate > 0 ? CLAIM_SLOWER : CLAIM_FASTER;
	outcome_no_range(ret_poop, poop_differs(range) ? direction : CLAIM_NONE);
	ret_poop->low = log_ratio(range.low);
	ret_poop->high = log_ratio(range.high);
	direction = ratio.slower > 0 ? CLAIM_SLOWER : CLAIM_FASTER;
	outcome_no_range(&whole, hyperfine_differs(ratio) ? direction : CLAIM_NONE);
	return whole;
}

static void replay_commands(struct arena *arena, const struct recording *recording, struct replayed *replayed)
{
	size_t counts[2] = {recording->commands[0].count, recording->commands[1].count};
	if (counts[0] < 2 || counts[1] < 2)
		return;
	replayed->rules[RULE_HYPERFINE] = hyperfine_outcome(arena, recording, counts, &replayed->rules[RULE_POOP]);
	for (int i = 0; i < PREFIXES; i++) {
		struct outcome unused;
		size_t prefix[2] = {prefix_runs[i], prefix_runs[i]};
		if (prefix[0] <= counts[0] && prefix[1] <= counts[1])
			replayed->hyperfine_prefix[i] = hyperfine_outcome(arena, recording, prefix, &unused);
	}
}

void replay(const struct recording *recording, struct replayed *ret_replayed)
{
	*ret_replayed = (struct replayed){0};
	struct arena scratch;
	arena_init(&scratch);
	ret_replayed->rules[RULE_ASSAY] = assay_outcome(recording, MARGIN);
	ret_replayed->rules[RULE_ASSAY_FINE] = assay_outcome(recording, MARGIN_FINE);
	replay_interleaved(&scratch, recording, ret_replayed);
	replay_samples(&scratch, recording, ret_replayed);
	replay_commands(&scratch, recording, ret_replayed);
	arena_release(&scratch);
}
