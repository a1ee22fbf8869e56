#include "model/sample.h"

#include "base/stat.h"

#include <math.h>

bool transfer_visible(const struct transfer *transfer)
{
	return transfer->private_ns > 0 && transfer->shared_ns >= TRANSFER_RATIO_LEAST * transfer->private_ns &&
	       transfer->shared_ns <= TRANSFER_MOST_NS;
}

const char *transfer_text(struct arena *arena, const struct transfer *transfer)
{
	if (transfer->threads == 0)
		return NULL;
	const char *place = transfer->cpus ? arena_printf(arena, "%u threads on CPUs %s", transfer->threads, transfer->cpus)
	                                   : arena_printf(arena, "%u threads", transfer->threads);
	if (!(transfer->private_ns > 0))
		return arena_printf(arena, "%u threads on one CPU%s%s never run at once, so that nothing they do to each other can be "
		                    "seen: measure with two CPUs or more", transfer->threads, transfer->cpus ? ", number " : "",
		                    transfer->cpus ? transfer->cpus : "");
	const char *text = arena_printf(arena, "%s: a cache line takes %.1f ns from CPU %u to %u, %.1f times the %.1f ns where it "
	                                "stays", place, transfer->shared_ns, transfer->between[0], transfer->between[1],
	                                transfer->shared_ns / transfer->private_ns, transfer->private_ns);
	if (transfer->shared_ns > TRANSFER_MOST_NS)
		return arena_printf(arena, "%s: so long takes no transfer; these CPUs do not run at the same time", text);
	if (!transfer_visible(transfer))
		return arena_printf(arena, "%s: below %g times, what threads do to each other can't be seen on these CPUs (they may "
		                    "be one core's)", text, TRANSFER_RATIO_LEAST);
	return text;
}

bool pair_excluded(const struct pair *pair)
{
	return (pair->baseline_flags | pair->candidate_flags) & (PAIR_MIGRATED | PAIR_PREEMPTED);
}

/* The end of the block that begins at `start`. */
static size_t block_end(const struct pair_list *pairs, size_t start)
{
	size_t end = start;
	while (end < pairs->count && pairs->at[end].block == pairs->at[start].block)
		end++;
	return end;
}

size_t pairs_excluded_count(const struct pair_list *pairs)
{
	size_t count = 0;
	for (size_t start = 0, end; start < pairs->count; start = end) {
		end = block_end(pairs, start);
		size_t disturbed = 0;
		for (size_t i = start; i < end; i++)
			disturbed += pair_excluded(&pairs->at[i]);
		count += disturbed < end - start ? disturbed : 0;
	}
	return count;
}

double pair_quantity(const struct pair *pair, enum metric metric, bool candidate)
{
	uint64_t ns = candidate ? pair->candidate_ns : pair->baseline_ns;
	switch (metric) {
	case METRIC_LOWER:
	case METRIC_HIGHER:
		return candidate ? pair->candidate_value : pair->baseline_value;
	case METRIC_CPU:
		ns = candidate ? pair->candidate_cpu_ns : pair->baseline_cpu_ns;
		break;
	case METRIC_TIME:
	case METRIC_WALL:
		break;
	}
	return (double)ns / (pair->iterations ? (double)pair->iterations : 1);
}

static double pair_log_ratio(const struct pair *pair)
{
	double baseline = pair_quantity(pair, pair->metric, false), candidate = pair_quantity(pair, pair->metric, true);
	if (pair->metric == METRIC_HIGHER)
		return log(baseline / candidate);
	/* A clock that did not move gives no infinite ratio: at most "as short as it can tell". */
	double least = pair->metric == METRIC_LOWER ? 0 : 1 / (pair->iterations ? (double)pair->iterations : 1);
	return log(fmax(candidate, least) / fmax(baseline, least));
}

size_t pairs_block_ratios(const struct pair_list *pairs, bool all, double *ret_ratios)
{
	/* A block's ratios are gathered behind the medians that are done: there are never more of them than pairs. */
	size_t blocks = 0;
	for (size_t start = 0, end; start < pairs->count; start = end) {
		end = block_end(pairs, start);
		double *ratios = ret_ratios + blocks;
		size_t used = 0;
		for (size_t i = start; i < end; i++)
			if (all || !pair_excluded(&pairs->at[i]))
				ratios[used++] = pair_log_ratio(&pairs->at[i]);
		for (size_t i = start; used == 0 && i < end; i++)
			ratios[i - start] = pair_log_ratio(&pairs->at[i]);
		ret_ratios[blocks] = stat_median(ratios, used ? used : end - start);
		blocks++;
	}
	return blocks;
}

bool pairs_stationary(const struct pair_list *pairs, double alpha)
{
	struct arena scratch;
	arena_init(&scratch);
	double *ratios = arena_alloc(&scratch, (pairs->count + 1) * sizeof *ratios);
	bool stationary = stat_stationary(ratios, pairs_block_ratios(pairs, false, ratios), alpha);
	arena_release(&scratch);
	return stationary;
}

void pairs_medians(const struct pair_list *pairs, double *ret_baseline_ns, double *ret_candidate_ns)
{
	bool cpu = pairs->count && pairs->at[0].metric == METRIC_CPU;
	pairs_metric_medians(pairs, cpu ? METRIC_CPU : METRIC_WALL, ret_baseline_ns, ret_candidate_ns);
}

void pairs_metric_medians(const struct pair_list *pairs, enum metric metric, double *ret_baseline, double *ret_candidate)
{
	*ret_baseline = *ret_candidate = 0;
	if (pairs->count == 0)
		return;
	struct arena scratch;
	arena_init(&scratch);
	double *baseline = arena_alloc(&scratch, pairs->count * sizeof *baseline);
	double *candidate = arena_alloc(&scratch, pairs->count * sizeof *candidate);
	size_t clean = 0, used = 0;
	for (size_t i = 0; i < pairs->count; i++)
		clean += !pair_excluded(&pairs->at[i]);
	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->at[i];
		if (clean && pair_excluded(pair))
			continue;
		baseline[used] = pair_quantity(pair, metric, false);
		candidate[used++] = pair_quantity(pair, metric, true);
	}
	*ret_baseline = stat_median(baseline, used);
	*ret_candidate = stat_median(candidate, used);
	arena_release(&scratch);
}
