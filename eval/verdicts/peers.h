/* The rules that other tools decide by, on samples that are given: pure arithmetic. Times may have any unit.
 *
 * Ratios and effects are those of the candidate against the baseline: above 0 is slower.
 */
#ifndef ASSAY_EVAL_PEERS_H
#define ASSAY_EVAL_PEERS_H

#include <stdbool.h>
#include <stddef.h>

struct moments {
	size_t count;
	double mean, deviation; /* of the sample, n - 1; 0 for fewer than two values */
};

/* An interval for an effect as a fraction: 0.01 is 1 % slower. Infinite when too little is known. */
struct range {
	double estimate, low, high;
};

struct moments moments_of(const double *values, size_t count);

/* ---- distributions ------------------------------------------------------------------------------------------------- */
double normal_cdf(double z);
/* P(T <= t) for Student's distribution with `df` degrees of freedom (any real number above 0), through the regularised
 * incomplete beta function by its continued fraction (Lentz 1976). */
double student_cdf(double t, double df);
/* The t with student_cdf(t) = p, for 0.5 <= p < 1. */
double student_quantile(double p, double df);

/* ---- rules --------------------------------------------------------------------------------------------------------- */
/* Welch (1947), with Satterthwaite's degrees of freedom: an interval for mean(b) - mean(a), divided by mean(a). */
struct range welch_interval(struct moments a, struct moments b, double alpha);

/* Mann and Whitney (1947): two-sided p by the normal approximation, corrected for ties and for continuity. *ret_share is
 * P(b > a) + P(b = a) / 2: above 0.5 the candidate is slower. Sorts both arrays. 1 when either is empty. */
double mann_whitney_p(double *a, size_t a_count, double *b, size_t b_count, double *ret_share);

/* poop (Andrew Kelley's tool): a t-interval from the pooled deviation at 95 %, its critical value taken from a table by
 * the next lower number of degrees of freedom (each to 30, tens to 120, then 1.96), in percent of mean(a). It marks a
 * difference when the whole interval lies beyond 1 % on one side. */
struct range poop_interval(struct moments a, struct moments b);
bool poop_differs(struct range range);

/* hyperfine: the ratio of the slower mean to the faster, with the deviation propagated as for independent values. It
 * prints "ratio ± sigma" and leaves the verdict to the reader, who sees none when 1 lies within. */
struct speed_ratio {
	double ratio, sigma; /* ratio >= 1 */
	int slower;          /* 1: b, -1: a, 0: equal */
};
struct speed_ratio hyperfine_ratio(struct moments a, struct moments b);
bool hyperfine_differs(struct speed_ratio ratio);

/* The sign interval for a median from n values at a number n fixed beforehand. Sorts `values`. */
struct range sign_interval(double *values, size_t count, double alpha);

#endif
