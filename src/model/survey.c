#include "model/survey.h"

#include "base/stat.h"

#include <math.h>

const char *value_unconfirmed_contract(const struct survey *survey, const struct survey_value *value)
{
	return survey->contract_accepted ? NULL : value->rounding;
}

double survey_interval_alpha(double alpha, uint32_t count)
{
	return alpha / (count > 1 ? 2.0 * count - 1 : 1);
}

static bool disturbed(const struct round_sample *sample)
{
	return sample->flags & (PAIR_MIGRATED | PAIR_PREEMPTED);
}

/* NAN: not measured in this round. A clock that did not move says "as short as it can tell". */
static double sample_ns(const struct round_sample *sample)
{
	if (sample->iterations == 0)
		return NAN;
	return fmax((double)sample->ns, 1) / (double)sample->iterations;
}

/* b NULL: the time itself, else the log-ratio. */
static double round_value(const struct round *round, size_t a, const size_t *b)
{
	double ns = sample_ns(&round->samples[a]);
	return b ? log(ns / sample_ns(&round->samples[*b])) : ns;
}

static size_t block_medians(const struct survey_measurement *measurement, size_t a, const size_t *b, bool all,
                            double *ret_medians)
{
	const struct round_list *rounds = &measurement->rounds;
	size_t blocks = 0;
	for (size_t start = 0, end; start < rounds->count; start = end) {
		/* A block's values are gathered behind the medians that are done: there are never more of them than rounds. */
		double *values = ret_medians + blocks;
		size_t used = 0;
		for (end = start; end < rounds->count && rounds->at[end].block == rounds->at[start].block; end++) {
			const struct round *round = &rounds->at[end];
			double value = round_value(round, a, b);
			bool left_out = disturbed(&round->samples[a]) || (b && disturbed(&round->samples[*b]));
			if (!isnan(value) && (all || !left_out))
				values[used++] = value;
		}
		/* All of it was disturbed: then it is taken as it is. */
		bool none = used == 0;
		for (size_t i = start; none && i < end; i++) {
			double value = round_value(&rounds->at[i], a, b);
			if (!isnan(value))
				values[used++] = value;
		}
		if (used)
			ret_medians[blocks++] = stat_median(values, used);
	}
	return blocks;
}

size_t rounds_block_ratios(const struct survey_measurement *measurement, size_t a, size_t b, bool all,
                           double *ret_ratios)
{
	return block_medians(measurement, a, &b, all, ret_ratios);
}

size_t rounds_block_ns(const struct survey_measurement *measurement, size_t value, double *ret_ns)
{
	return block_medians(measurement, value, NULL, false, ret_ns);
}

uint32_t rounds_excluded(const struct survey_measurement *measurement, size_t value)
{
	uint32_t count = 0;
	for (size_t i = 0; i < measurement->rounds.count; i++) {
		const struct round_sample *sample = &measurement->rounds.at[i].samples[value];
		count += sample->iterations && disturbed(sample);
	}
	return count;
}

bool rounds_top(const struct survey_measurement *measurement, const bool *may_lead, double alpha, double *scratch,
                size_t *ret_top, struct effect *ret_against)
{
	double least = INFINITY;
	bool known = false;
	for (size_t i = 0; i < measurement->values; i++) {
		size_t blocks = may_lead[i] ? rounds_block_ns(measurement, i, scratch) : 0;
		double ns = blocks ? stat_median(scratch, blocks) : INFINITY;
		if (ns < least) {
			known = true;
			*ret_top = i;
			least = ns;
		}
	}
	for (size_t i = 0; i < measurement->values; i++) {
		ret_against[i] = (struct effect){0};
		if (!known || !may_lead[i] || i == *ret_top)
			continue;
		size_t blocks = rounds_block_ratios(measurement, i, *ret_top, false, scratch);
		ret_against[i] = effect_of_values(scratch, blocks, alpha, "as built", NULL);
	}
	return known;
}
