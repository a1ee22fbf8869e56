#include "base/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers ------------------------------------------------------------------------------------------------ */

void rng_seed(struct rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = (seed += 0x9e3779b97f4a7c15u);
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		rng->state[i] = z ^ (z >> 31);
	}
}

static uint64_t rotate(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(struct rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rotate(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

double rng_uniform(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

bool rng_coin(struct rng *rng)
{
	return rng_next(rng) >> 63;
}

double rng_normal(struct rng *rng)
{
	double u = 1.0 - rng_uniform(rng), v = rng_uniform(rng);
	return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* ---- small ----------------------------------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median_of_sorted(const double *sorted, size_t count)
{
	if (count == 0)
		return NAN;
	return count % 2 ? sorted[count / 2] : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]);
}

double stat_median(double *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof *values, compare_doubles);
	return median_of_sorted(values, count);
}

double stat_quantile(const double *sorted, size_t count, double q)
{
	if (count == 0)
		return NAN;
	double at = q * (double)(count - 1);
	size_t below = (size_t)at;
	if (below >= count - 1)
		return sorted[count - 1];
	return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

void stat_holm(const double *p, size_t count, double *ret_adjusted)
{
	/* Families are small: the rank of each p is counted rather than sorted. */
	for (size_t i = 0; i < count; i++) {
		double adjusted = 0;
		for (size_t k = 0; k < count; k++) {
			if (p[k] > p[i] || (p[k] == p[i] && k > i))
				continue;
			size_t smaller = 0;
			for (size_t j = 0; j < count; j++)
				if (p[j] < p[k] || (p[j] == p[k] && j < k))
					smaller++;
			double candidate = (double)(count - smaller) * p[k];
			if (candidate > adjusted)
				adjusted = candidate;
		}
		ret_adjusted[i] = adjusted < 1 ? adjusted : 1;
	}
}

static double log_gamma(double x)
{
	int sign;
	return lgamma_r(x, &sign);
}

static double log_beta(double a, double b)
{
	return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
}

/* P(X <= hits) for a binomial X. */
static double binomial_cdf(uint64_t hits, uint64_t trials, double share)
{
	if (share <= 0)
		return 1;
	if (share >= 1)
		return hits >= trials ? 1 : 0;
	double sum = 0;
	for (uint64_t k = 0; k <= hits; k++)
		sum += exp(log_gamma((double)trials + 1) - log_gamma((double)k + 1) - log_gamma((double)(trials - k) + 1) +
		           (double)k * log(share) + (double)(trials - k) * log1p(-share));
	return sum < 1 ? sum : 1;
}

/* The share at which P(X <= hits) equals `target`; the probability falls as the share grows. */
static double binomial_solve(uint64_t hits, uint64_t trials, double target)
{
	double low = 0, high = 1;
	for (int i = 0; i < 60; i++) {
		double middle = 0.5 * (low + high);
		if (binomial_cdf(hits, trials, middle) > target)
			low = middle;
		else
			high = middle;
	}
	return 0.5 * (low + high);
}

void stat_binomial_interval(uint64_t hits, uint64_t trials, double alpha, double *ret_low, double *ret_high)
{
	*ret_low = hits == 0 ? 0 : binomial_solve(hits - 1, trials, 1 - alpha / 2);
	*ret_high = hits >= trials ? 1 : binomial_solve(hits, trials, alpha / 2);
}

double stat_sign_floor(const double *values, size_t count, uint64_t seed)
{
	if (count == 0)
		return 0;
	/* About 4 million signs at most: the percentile is needed to a few percent of itself. */
	size_t rounds = count > 2000 ? 400 : 2000;
	double *medians = malloc(rounds * sizeof *medians), *flipped = malloc(count * sizeof *flipped);
	double floor_value = 0;
	if (medians && flipped) {
		struct rng rng;
		rng_seed(&rng, seed);
		for (size_t r = 0; r < rounds; r++) {
			for (size_t i = 0; i < count; i++)
				flipped[i] = rng_coin(&rng) ? values[i] : -values[i];
			medians[r] = fabs(stat_median(flipped, count));
		}
		qsort(medians, rounds, sizeof *medians, compare_doubles);
		floor_value = medians[rounds * 95 / 100];
	} else {
		/* Without memory the largest value stands for the percentile: it can only make verdicts more careful. */
		for (size_t i = 0; i < count; i++)
			floor_value = fmax(floor_value, fabs(values[i]));
	}
	free(medians);
	free(flipped);
	return floor_value;
}

/* ---- the confidence sequence ------------------------------------------------------------------------------------------ */

double cseq_log_m(size_t n, double s)
{
	return (double)n * log(2.0) + log_beta(s + CSEQ_A, (double)n - s + CSEQ_A) - log_beta(CSEQ_A, CSEQ_A);
}

long cseq_k(size_t n, double alpha, long at_least)
{
	double threshold = -log(alpha);
	long k = at_least;
	while ((size_t)(k + 1) <= n / 2 && cseq_log_m(n, (double)(k + 1)) >= threshold)
		k++;
	return k;
}

size_t cseq_least(double alpha)
{
	enum { SEARCHED = 1000 };
	size_t n = 1;
	while (n < SEARCHED && cseq_k(n, alpha, -1) < 0)
		n++;
	return n;
}

void cseq_init(struct cseq *cseq, double alpha)
{
	*cseq = (struct cseq){.alpha = alpha, .k = -1};
}

void cseq_release(struct cseq *cseq)
{
	free(cseq->sorted);
	*cseq = (struct cseq){.alpha = cseq->alpha, .k = -1};
}

bool cseq_add(struct cseq *cseq, double value)
{
	if (cseq->count == cseq->cap) {
		size_t cap = cseq->cap ? 2 * cseq->cap : 64;
		double *sorted = realloc(cseq->sorted, cap * sizeof *sorted);
		if (!sorted)
			return false;
		cseq->sorted = sorted;
		cseq->cap = cap;
	}
	size_t low = 0, high = cseq->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (cseq->sorted[middle] <= value)
			low = middle + 1;
		else
			high = middle;
	}
	memmove(cseq->sorted + low + 1, cseq->sorted + low, (cseq->count - low) * sizeof *cseq->sorted);
	cseq->sorted[low] = value;
	cseq->count++;
	cseq->below += value < 0;
	cseq->equal += value == 0;
	cseq->k = cseq_k(cseq->count, cseq->alpha, cseq->k);
	/* A value of exactly 0 counts to the side that makes the evidence weakest; the martingale that gives it a coin of
	 * its own is never below that, so the bound holds. */
	double s = (double)cseq->below, half = 0.5 * (double)cseq->count;
	s = s + (double)cseq->equal < half ? s + (double)cseq->equal : s < half ? half : s;
	double log_m = cseq_log_m(cseq->count, s);
	if (log_m > cseq->log_m_max) {
		cseq->log_m_max = log_m;
		cseq->lean = s > half ? -1 : s < half ? 1 : 0;
	}
	return true;
}

void cseq_interval(const struct cseq *cseq, double *ret_low, double *ret_high)
{
	*ret_low = -INFINITY;
	*ret_high = INFINITY;
	if (cseq->k < 0)
		return;
	*ret_low = cseq->sorted[cseq->k];
	*ret_high = cseq->sorted[cseq->count - 1 - (size_t)cseq->k];
}

double cseq_median(const struct cseq *cseq)
{
	return median_of_sorted(cseq->sorted, cseq->count);
}

double cseq_p(const struct cseq *cseq)
{
	return exp(-cseq->log_m_max);
}

enum stat_decision stat_decide(double low, double high, double margin)
{
	bool inside = -margin < low && high < margin;
	bool signed_ = high < 0 || low > 0;
	if (inside)
		return signed_ ? DECISION_NEGLIGIBLE : DECISION_NO_EFFECT;
	if (high < 0)
		return DECISION_FASTER;
	return low > 0 ? DECISION_SLOWER : DECISION_OPEN;
}

enum stat_decision stat_judge(double low, double high, double margin, double floor_value)
{
	static const double FLOOR_MARGINS = 3;
	enum stat_decision decision = stat_decide(low, high, fmax(margin, floor_value));
	bool none = decision == DECISION_NO_EFFECT || decision == DECISION_NEGLIGIBLE;
	bool within = -margin < low && high < margin && floor_value <= FLOOR_MARGINS * margin;
	return none && floor_value > margin && !within ? DECISION_HIDDEN : decision;
}

bool stat_stationary(const double *values, size_t count, double alpha)
{
	struct cseq part[2];
	double low[2], high[2];
	for (int i = 0; i < 2; i++)
		cseq_init(&part[i], alpha);
	for (size_t i = 0; i < count; i++)
		if (!cseq_add(&part[i >= count / 3], values[i]))
			break;
	for (int i = 0; i < 2; i++) {
		cseq_interval(&part[i], &low[i], &high[i]);
		cseq_release(&part[i]);
	}
	return !(high[0] < low[1] || high[1] < low[0]);
}
