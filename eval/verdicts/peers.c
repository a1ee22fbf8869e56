#include "peers.h"

#include "base/stat.h"

#include <math.h>
#include <stdlib.h>

struct moments moments_of(const double *values, size_t count)
{
	struct moments moments = {.count = count};
	for (size_t i = 0; i < count; i++)
		moments.mean += values[i] / (double)count;
	double squares = 0;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - moments.mean) * (values[i] - moments.mean);
	moments.deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
	return moments;
}

/* ---- distributions ------------------------------------------------------------------------------------------------- */

double normal_cdf(double z)
{
	return 0.5 * erfc(-z / sqrt(2.0));
}

static double log_gamma(double x)
{
	int sign;
	return lgamma_r(x, &sign);
}

static double away_from_zero(double value)
{
	return fabs(value) < 1e-300 ? 1e-300 : value;
}

/* The continued fraction of the incomplete beta function, which converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), result = d;
	for (int m = 1; m <= 10000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		d = 1 / away_from_zero(1 + even * d);
		c = away_from_zero(1 + even / c);
		result *= d * c;
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / away_from_zero(1 + odd * d);
		c = away_from_zero(1 + odd / c);
		result *= d * c;
		if (fabs(d * c - 1) < 1e-15)
			break;
	}
	return result;
}

/* I_x(a, b). */
static double beta_regularised(double a, double b, double x)
{
	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_cdf(double t, double df)
{
	double tail = 0.5 * beta_regularised(0.5 * df, 0.5, df / (df + t * t));
	return t > 0 ? 1 - tail : tail;
}

double student_quantile(double p, double df)
{
	double low = 0, high = 1;
	while (student_cdf(high, df) < p && high < 1e12)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-13 * high; i++) {
		double middle = 0.5 * (low + high);
		if (student_cdf(middle, df) < p)
			low = middle;
		else
			high = middle;
	}
	return 0.5 * (low + high);
}

/* ---- rules --------------------------------------------------------------------------------------------------------- */

static struct range range_unknown(void)
{
	return (struct range){.estimate = NAN, .low = -INFINITY, .high = INFINITY};
}

struct range welch_interval(struct moments a, struct moments b, double alpha)
{
	if (a.count < 2 || b.count < 2 || a.mean <= 0)
		return range_unknown();
	double va = a.deviation * a.deviation / (double)a.count, vb = b.deviation * b.deviation / (double)b.count;
	double difference = b.mean - a.mean, half = 0;
	if (va + vb > 0) {
		double df = (va + vb) * (va + vb) / (va * va / (double)(a.count - 1) + vb * vb / (double)(b.count - 1));
		half = student_quantile(1 - alpha / 2, df) * sqrt(va + vb);
	}
	return (struct range){.estimate = difference / a.mean,
	                      .low = (difference - half) / a.mean,
	                      .high = (difference + half) / a.mean};
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double mann_whitney_p(double *a, size_t a_count, double *b, size_t b_count, double *ret_share)
{
	*ret_share = 0.5;
	if (a_count == 0 || b_count == 0)
		return 1;
	qsort(a, a_count, sizeof *a, compare_doubles);
	qsort(b, b_count, sizeof *b, compare_doubles);
	double n = (double)a_count, m = (double)b_count, total = n + m;
	double b_wins = 0, ties = 0; /* sum of t^3 - t over groups of t equal values */
	for (size_t i = 0, k = 0; i < a_count || k < b_count;) {
		double value = k == b_count || (i < a_count && a[i] <= b[k]) ? a[i] : b[k];
		double in_a = 0, in_b = 0, a_below = (double)i;
		for (; i < a_count && a[i] == value; i++)
			in_a++;
		for (; k < b_count && b[k] == value; k++)
			in_b++;
		b_wins += in_b * (a_below + 0.5 * in_a);
		double group = in_a + in_b;
		ties += group * group * group - group;
	}
	*ret_share = b_wins / (n * m);
	double variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)));
	double distance = fabs(b_wins - 0.5 * n * m) - 0.5;
	if (variance <= 0 || distance <= 0)
		return 1;
	return 2 * normal_cdf(-distance / sqrt(variance));
}

static double poop_critical(size_t df)
{
	if (df > 120)
		return 1.96;
	return student_quantile(0.975, (double)(df > 30 ? df / 10 * 10 : df));
}

struct range poop_interval(struct moments a, struct moments b)
{
	if (a.count < 1 || b.count < 1 || a.count + b.count < 3 || a.mean <= 0)
		return range_unknown();
	double n = (double)a.count, m = (double)b.count, df = n + m - 2;
	double pooled = sqrt(((n - 1) * a.deviation * a.deviation + (m - 1) * b.deviation * b.deviation) / df);
	double half = poop_critical(a.count + b.count - 2) * pooled * sqrt(1 / n + 1 / m) / a.mean;
	double estimate = (b.mean - a.mean) / a.mean;
	return (struct range){.estimate = estimate, .low = estimate - half, .high = estimate + half};
}

bool poop_differs(struct range range)
{
	return range.low >= 0.01 || range.high <= -0.01;
}

struct speed_ratio hyperfine_ratio(struct moments a, struct moments b)
{
	if (a.mean <= 0 || b.mean <= 0)
		return (struct speed_ratio){.ratio = 1, .sigma = INFINITY};
	double ratio = a.mean > b.mean ? a.mean / b.mean : b.mean / a.mean;
	double sigma = ratio * hypot(a.deviation / a.mean, b.deviation / b.mean);
	return (struct speed_ratio){.ratio = ratio, .sigma = sigma, .slower = (b.mean > a.mean) - (b.mean < a.mean)};
}

bool hyperfine_differs(struct speed_ratio ratio)
{
	return ratio.ratio - ratio.sigma > 1;
}

struct range sign_interval(double *values, size_t count, double alpha)
{
	if (count == 0)
		return range_unknown();
	struct range range = {.estimate = stat_median(values, count), .low = -INFINITY, .high = INFINITY};
	/* The largest k with P(X <= k) <= alpha / 2 for X from Binomial(n, 1/2). */
	double log_half = (double)count * log(0.5), cdf = 0;
	long k = -1;
	for (size_t x = 0; x <= count / 2; x++) {
		cdf += exp(log_gamma((double)count + 1) - log_gamma((double)x + 1) - log_gamma((double)(count - x) + 1) + log_half);
		if (cdf > alpha / 2)
			break;
		k = (long)x;
	}
	if (k >= 0) {
		range.low = values[k];
		range.high = values[count - 1 - (size_t)k];
	}
	return range;
}
