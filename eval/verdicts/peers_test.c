/* The peers' rules against tables and small cases that were computed by hand. */
#include "peers.h"

#include "base/stat.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define NEAR(a, b, tolerance)                                                                                          \
	do {                                                                                                               \
		double a_ = (a), b_ = (b);                                                                                     \
		if (!(fabs(a_ - b_) <= (tolerance)))                                                                           \
			fail_msg("%s is %.12g, expected %.12g", #a, a_, b_);                                                       \
	} while (0)

/* The printed tables of Student's distribution, and its closed forms for 1 and 2 degrees of freedom. */
static void student_is_the_table(void **state)
{
	(void)state;
	static const struct {
		double p, df, t;
	} table[] = {
	    {0.975, 1, 12.706}, {0.975, 2, 4.303},  {0.975, 5, 2.571},  {0.975, 10, 2.228}, {0.975, 28, 2.048},
	    {0.975, 30, 2.042}, {0.975, 60, 2.000}, {0.975, 120, 1.980}, {0.995, 1, 63.657}, {0.995, 4, 4.604},
	    {0.995, 10, 3.169}, {0.995, 30, 2.750}, {0.995, 120, 2.617}, {0.95, 7, 1.895},   {0.5, 7, 0},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		NEAR(student_quantile(table[i].p, table[i].df), table[i].t, 0.0006);
	for (double t = -5; t <= 5; t += 0.25) {
		NEAR(student_cdf(t, 1), 0.5 + atan(t) / 3.14159265358979, 1e-12);
		NEAR(student_cdf(t, 2), 0.5 + t / (2 * sqrt(2 + t * t)), 1e-12);
		NEAR(student_cdf(t, 1e7), normal_cdf(t), 1e-6);
		NEAR(student_cdf(t, 4.5) + student_cdf(-t, 4.5), 1, 1e-12);
	}
	NEAR(student_quantile(0.975, 1e9), 1.959964, 1e-5);
	NEAR(normal_cdf(1.959964), 0.975, 1e-6);
}

static void moments_by_hand(void **state)
{
	(void)state;
	static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
	struct moments moments = moments_of(values, 8);
	NEAR(moments.mean, 5, 1e-12);
	NEAR(moments.deviation, sqrt(32.0 / 7), 1e-12);
	NEAR(moments_of(values, 1).deviation, 0, 0);
}

static void welch_by_hand(void **state)
{
	(void)state;
	/* va = 4/4 = 1, vb = 9/9 = 1; df = 4 / (1/3 + 1/8) = 8.7272…; t(0.975, 8.7272) lies between 2.306 and 2.262. */
	struct moments a = {4, 100, 2}, b = {9, 110, 3};
	struct range range = welch_interval(a, b, 0.05);
	NEAR(range.estimate, 0.1, 1e-12);
	double half = 100 * (range.high - range.low) / 2;
	assert_true(half > 2.262 * sqrt(2) && half < 2.306 * sqrt(2));
	/* Equal sizes and deviations: the pooled test's degrees of freedom, here 10. */
	struct moments c = {6, 100, 1}, d = {6, 100, 1};
	NEAR(welch_interval(c, d, 0.05).high * 100, 2.228 * sqrt(2.0 / 6), 0.001);
	NEAR(welch_interval(c, d, 0.01).high * 100, 3.169 * sqrt(2.0 / 6), 0.001);
	assert_true(isinf(welch_interval((struct moments){1, 100, 0}, b, 0.05).low));
	struct range exact = welch_interval((struct moments){3, 100, 0}, (struct moments){3, 101, 0}, 0.05);
	NEAR(exact.low, 0.01, 1e-12);
	NEAR(exact.high, 0.01, 1e-12);
}

static void mann_whitney_by_hand(void **state)
{
	(void)state;
	double share;
	/* b beats a in all 12 of 12: distance 6 - 0.5, variance 3 * 4 * 8 / 12 = 8. */
	double a[] = {3, 1, 2}, b[] = {7, 4, 6, 5};
	NEAR(mann_whitney_p(a, 3, b, 4, &share), 2 * normal_cdf(-5.5 / sqrt(8)), 1e-12);
	NEAR(share, 1, 0);
	NEAR(mann_whitney_p(b, 4, a, 3, &share), 2 * normal_cdf(-5.5 / sqrt(8)), 1e-12);
	NEAR(share, 0, 0);
	/* Ties: a = 1 2 2, b = 2 3 3. b's 2 beats one and ties with two: 2; each 3 beats three: U = 8 of 9.
	 * Groups of 3 (24) and 2 (6): variance 9/12 * (7 - 30 / 30) = 4.5; distance 3.5 - 0.5. */
	double c[] = {2, 1, 2}, d[] = {3, 2, 3};
	NEAR(mann_whitney_p(c, 3, d, 3, &share), 2 * normal_cdf(-3 / sqrt(4.5)), 1e-12);
	NEAR(share, 8.0 / 9, 1e-12);
	double e[] = {5, 5, 5}, f[] = {5, 5};
	NEAR(mann_whitney_p(e, 3, f, 2, &share), 1, 0);
	NEAR(share, 0.5, 0);
	NEAR(mann_whitney_p(e, 0, f, 2, &share), 1, 0);
}

static void poop_by_hand(void **state)
{
	(void)state;
	/* n = m = 6, both deviations 1: pooled 1, df 10, half-width 2.228 * sqrt(1/3) % of 100. */
	struct range range = poop_interval((struct moments){6, 100, 1}, (struct moments){6, 103, 1});
	NEAR(range.estimate, 0.03, 1e-12);
	NEAR(100 * (range.high - range.low) / 2, 2.228 * sqrt(1.0 / 3), 0.0005);
	assert_true(poop_differs(range)); /* 3 - 1.286 is above 1 */
	/* Real, and beyond 1 % only in part: silent. */
	assert_false(poop_differs(poop_interval((struct moments){6, 100, 1}, (struct moments){6, 102, 1})));
	assert_true(poop_differs(poop_interval((struct moments){6, 100, 1}, (struct moments){6, 97, 1})));
	/* 20 + 20 - 2 = 38 degrees of freedom: the table's row of 30. */
	range = poop_interval((struct moments){20, 100, 1}, (struct moments){20, 100, 1});
	NEAR(100 * range.high, 2.042 * sqrt(0.1), 0.0005);
	range = poop_interval((struct moments){200, 100, 1}, (struct moments){200, 100, 1});
	NEAR(100 * range.high, 1.96 * sqrt(0.01), 1e-9);
}

static void hyperfine_by_hand(void **state)
{
	(void)state;
	/* 110 / 100 with 3 % and 4 %: sigma 1.1 * 5 %. */
	struct speed_ratio ratio = hyperfine_ratio((struct moments){10, 100, 3}, (struct moments){10, 110, 4.4});
	NEAR(ratio.ratio, 1.1, 1e-12);
	NEAR(ratio.sigma, 0.055, 1e-12);
	assert_int_equal(ratio.slower, 1);
	assert_true(hyperfine_differs(ratio));
	ratio = hyperfine_ratio((struct moments){10, 110, 4.4}, (struct moments){10, 100, 3});
	NEAR(ratio.ratio, 1.1, 1e-12);
	assert_int_equal(ratio.slower, -1);
	assert_false(hyperfine_differs(hyperfine_ratio((struct moments){10, 100, 3}, (struct moments){10, 105, 4})));
	/* More runs make no difference: the deviation is that of a run, not of the mean. */
	assert_false(hyperfine_differs(hyperfine_ratio((struct moments){100000, 100, 3}, (struct moments){100000, 105, 4})));
}

static void sign_interval_by_hand(void **state)
{
	(void)state;
	/* n = 6: P(X <= 0) = 1/64 = 0.0156 is the only k below 0.025. n = 5: 1/32 is above. */
	double six[] = {6, 1, 5, 2, 4, 3}, five[] = {1, 2, 3, 4, 5};
	struct range range = sign_interval(six, 6, 0.05);
	NEAR(range.low, 1, 0);
	NEAR(range.high, 6, 0);
	NEAR(range.estimate, 3.5, 0);
	assert_true(isinf(sign_interval(five, 5, 0.05).low));
	/* n = 20 at 95 %: P(X <= 5) = 0.0207, so from the 6th to the 15th value. */
	double twenty[20];
	for (int i = 0; i < 20; i++)
		twenty[i] = i + 1;
	range = sign_interval(twenty, 20, 0.05);
	NEAR(range.low, 6, 0);
	NEAR(range.high, 15, 0);
}

/* Each rule on equal normal samples: its rate of "differs" is the one that it is named by. */
static void rates_on_normal_samples(void **state)
{
	(void)state;
	enum { ROUNDS = 2000, COUNT = 40 };
	struct rng rng;
	rng_seed(&rng, 7);
	unsigned welch = 0, ranks = 0, signs = 0;
	for (int round = 0; round < ROUNDS; round++) {
		double a[COUNT], b[COUNT], pairs[COUNT], share;
		for (int i = 0; i < COUNT; i++) {
			a[i] = 100 + rng_normal(&rng);
			b[i] = 100 + rng_normal(&rng);
			pairs[i] = log(b[i] / a[i]);
		}
		struct range range = welch_interval(moments_of(a, COUNT), moments_of(b, COUNT), 0.05);
		welch += range.low > 0 || range.high < 0;
		ranks += mann_whitney_p(a, COUNT, b, COUNT, &share) < 0.05;
		range = sign_interval(pairs, COUNT, 0.05);
		signs += range.low > 0 || range.high < 0;
	}
	/* 5 % of 2000 is 100 with a deviation of 10; the sign interval is on the safe side (3.8 % for 40 values). */
	assert_in_range(welch, 60, 140);
	assert_in_range(ranks, 55, 140);
	assert_in_range(signs, 40, 115);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(student_is_the_table),  cmocka_unit_test(moments_by_hand),
	    cmocka_unit_test(welch_by_hand),         cmocka_unit_test(mann_whitney_by_hand),
	    cmocka_unit_test(poop_by_hand),          cmocka_unit_test(hyperfine_by_hand),
	    cmocka_unit_test(sign_interval_by_hand), cmocka_unit_test(rates_on_normal_samples),
	};
	return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
