/* Statistics: pure arithmetic, no clock, no I/O. The methods are those of docs/METHODOLOGY.md.
 *
 * The confidence sequence for a median is the beta-binomial mixture of S. R. Howard and A. Ramdas, "Sequential
 * estimation of quantiles with applications to A/B testing and best-arm identification", Bernoulli 28 (2022), in its
 * simplest case: the number of values below the true median is a sum of fair coins, so
 * M_n(s) = 2^n B(s + a, n - s + a) / B(a, a) is a martingale with mean 1, and by Ville's inequality (1939) it ever
 * reaches 1/alpha with a chance of at most alpha. One may look after every value.
 */
#ifndef ASSAY_BASE_STAT_H
#define ASSAY_BASE_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- random numbers by seed: xoshiro256** seeded by splitmix64 (Blackman and Vigna 2018) ------------------------ */
struct rng {
	uint64_t state[4];
};

void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
double rng_uniform(struct rng *rng); /* in [0, 1), 53 bits */
bool rng_coin(struct rng *rng);
double rng_normal(struct rng *rng);  /* mean 0, deviation 1: for simulations */

/* ---- small ------------------------------------------------------------------------------------------------------- */
/* The mean of the middle two for an even count. Sorts `values`. NAN for none. */
double stat_median(double *values, size_t count);
/* The quantile q (0 to 1) of ascending values, between two of them by their distance (type 7 of Hyndman and Fan 1996).
 * NAN for none. */
double stat_quantile(const double *sorted, size_t count, double q);
/* Holm (1979): `ret_adjusted[i]` is the least family-wise error rate at which hypothesis i is rejected. */
void stat_holm(const double *p, size_t count, double *ret_adjusted);
/* Does the first third's confidence interval for the median overlap the rest's? True while too little is known. */
bool stat_stationary(const double *values, size_t count, double alpha);
/* Exact interval for a share, Clopper and Pearson (1934): `hits` of `trials`, with error rate alpha. */
void stat_binomial_interval(uint64_t hits, uint64_t trials, double alpha, double *ret_low, double *ret_high);
/* 95th percentile of |median| when every value's sign is drawn anew: what equal sides would show. 0 for none. */
double stat_sign_floor(const double *values, size_t count, uint64_t seed);

/* ---- the confidence sequence --------------------------------------------------------------------------------------- */
#define CSEQ_A 2.0 /* of the mixture: docs/adr/0007 */

/* ln M_n(s). */
double cseq_log_m(size_t n, double s);
/* max { s <= n/2 : M_n(s) >= 1/alpha }, or -1 when there is none. Never falls as n grows; `at_least` is a value that it
 * is known to reach, -1 for none. */
long cseq_k(size_t n, double alpha, long at_least);

/* The least number of values with which the interval at `alpha` is finite. */
size_t cseq_least(double alpha);

struct cseq {
	double alpha;
	double *sorted;
	size_t count, cap;
	size_t below, equal; /* how many are < 0, == 0 */
	long k;
	double log_m_max; /* the largest ln M_n against a median of 0 so far */
	int lean; /* where most values lay when log_m_max was reached: -1 below 0, 1 above, 0 it was not reached yet */
};

void cseq_init(struct cseq *cseq, double alpha);
void cseq_release(struct cseq *cseq);
/* Not NAN. False: out of memory, nothing was added. */
bool cseq_add(struct cseq *cseq, double value);
/* Covers the true median at all times at once with a chance of at least 1 - alpha. Infinite while too little is known. */
void cseq_interval(const struct cseq *cseq, double *ret_low, double *ret_high);
double cseq_median(const struct cseq *cseq);
/* Always-valid p for "the median is 0": 1 / max_n M_n(0), at most 1. */
double cseq_p(const struct cseq *cseq);

/* ---- what an interval [low, high] for theta decides ---------------------------------------------------------------- */
enum stat_decision {
	DECISION_OPEN,
	DECISION_FASTER,     /* high < 0 */
	DECISION_SLOWER,     /* low > 0 */
	DECISION_NO_EFFECT,  /* -margin < low and high < margin */
	DECISION_NEGLIGIBLE, /* both: real, but smaller than the margin */
	DECISION_HIDDEN,     /* stat_judge: the floor hides what there is */
};
/* `margin` is a natural logarithm, above 0. */
enum stat_decision stat_decide(double low, double high, double margin);
/* The same beside a control whose floor says below what size the machine tells nothing apart (logarithms): the margin is
 * no smaller than it. Where that makes "no effect" of an interval, the interval has to lie within the asked margin all the
 * same, and the floor to be at most a few times as large; else DECISION_HIDDEN. */
enum stat_decision stat_judge(double low, double high, double margin, double floor_value);

#endif
