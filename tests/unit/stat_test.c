#include "base/stat.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define NEAR(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

/* By hand: B(s + a, n - s + a) / B(a, a) = (a)_s (a)_(n-s) / (2a)_n with rising factorials (x)_m = x (x+1) … (x+m-1).
 * For a = 2: M_1(0) = 2 · 2/4 = 1, M_2(0) = 4 · 2·3 / (4·5) = 6/5, M_3(0) = 8 · 2·3·4 / (4·5·6) = 8/5,
 * M_4(0) = 16 · 2·3·4·5 / (4·5·6·7) = 16/7. The others in exact rational arithmetic by the same product. */
static void martingale_equals_the_product(void **state)
{
	(void)state;
	static const struct {
		size_t n;
		double s, m;
	} table[] = {
	    {0, 0, 1},         {1, 0, 1},         {2, 0, 6.0 / 5},        {3, 0, 8.0 / 5},
	    {4, 0, 16.0 / 7},  {5, 2, 24.0 / 35}, {10, 3, 2048.0 / 2145}, {20, 4, 1048576.0 / 100947},
	    {50, 10, 2110.140702571443},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		NEAR(exp(cseq_log_m(table[i].n, table[i].s)) / table[i].m, 1, 1e-10);
}

/* It is a martingale: for each s and n, the mean of the two ways on equals the value itself. */
static void martingale_has_mean_one(void **state)
{
	(void)state;
	for (size_t n = 0; n < 200; n += 7)
		for (size_t s = 0; s <= n; s++) {
			double now = exp(cseq_log_m(n, (double)s));
			double next = 0.5 * exp(cseq_log_m(n + 1, (double)s)) + 0.5 * exp(cseq_log_m(n + 1, (double)s + 1));
			NEAR(next / now, 1, 1e-9);
		}
}

/* First n at which k_n takes each value, alpha = 1/100, from the exact product. */
static void boundary_follows_the_table(void **state)
{
	(void)state;
	static const size_t first_n[] = {12, 16, 19, 23, 26, 29, 32, 35, 38, 40, 43, 46, 49, 51, 54};
	long k = -1;
	for (size_t n = 1; n <= 200; n++) {
		long before = k;
		k = cseq_k(n, 0.01, k);
		assert_true(k >= before);
		assert_int_equal(k, cseq_k(n, 0.01, -1));
		for (size_t i = 0; i < sizeof first_n / sizeof *first_n; i++) {
			if (n == first_n[i])
				assert_int_equal(k, i);
			if (n == first_n[i] - 1)
				assert_int_equal(k, (long)i - 1);
		}
	}
	assert_int_equal(cseq_k(100, 0.01, -1), 32);
	assert_int_equal(cseq_k(200, 0.01, -1), 74);
	assert_int_equal(cseq_k(14, 0.002, -1), -1);
	assert_int_equal(cseq_k(15, 0.002, -1), 0);
}

static void interval_is_made_of_order_statistics(void **state)
{
	(void)state;
	struct cseq cseq;
	cseq_init(&cseq, 0.01);
	double low, high;
	/* 30 values -15 … 14 in a shuffled order: 17 is prime to 30. k_30 = 5. */
	for (int i = 0; i < 30; i++) {
		cseq_interval(&cseq, &low, &high);
		assert_true(i >= 12 ? isfinite(low) && isfinite(high) : isinf(low) && isinf(high));
		assert_true(cseq_add(&cseq, (17 * i) % 30 - 15));
	}
	cseq_interval(&cseq, &low, &high);
	NEAR(low, -10, 0);
	NEAR(high, 9, 0);
	NEAR(cseq_median(&cseq), -0.5, 0);
	assert_int_equal(cseq.below, 15);
	assert_int_equal(cseq.equal, 1);
	cseq_release(&cseq);
}

static void p_value_is_the_largest_evidence(void **state)
{
	(void)state;
	struct cseq cseq;
	cseq_init(&cseq, 0.01);
	NEAR(cseq_p(&cseq), 1, 0);
	for (int i = 0; i < 12; i++)
		assert_true(cseq_add(&cseq, -1));
	double at_12 = cseq_p(&cseq);
	NEAR(at_12, exp(-cseq_log_m(12, 12)), 1e-12);
	assert_true(at_12 <= 0.01);
	/* Evidence that came can't be taken back by what follows: the p-value is valid at any time. */
	for (int i = 0; i < 12; i++)
		assert_true(cseq_add(&cseq, 1));
	NEAR(cseq_p(&cseq), at_12, 0);
	cseq_release(&cseq);
	/* Values of exactly 0 are no evidence. */
	cseq_init(&cseq, 0.01);
	for (int i = 0; i < 100; i++)
		assert_true(cseq_add(&cseq, 0));
	NEAR(cseq_p(&cseq), 1, 1e-9);
	cseq_release(&cseq);
}

static void holm_steps_down(void **state)
{
	(void)state;
	/* By hand: sorted 0.005, 0.011, 0.02, 0.04 times 4, 3, 2, 1 = 0.02, 0.033, 0.04, 0.04. */
	const double p[] = {0.02, 0.005, 0.04, 0.011}, expected[] = {0.04, 0.02, 0.04, 0.033};
	double adjusted[4];
	stat_holm(p, 4, adjusted);
	for (int i = 0; i < 4; i++)
		NEAR(adjusted[i], expected[i], 1e-12);
	/* A later product smaller than an earlier one is raised to it: 0.03 · 2 = 0.06, then 0.031 · 1. */
	const double close[] = {0.031, 0.03};
	stat_holm(close, 2, adjusted);
	NEAR(adjusted[0], 0.06, 1e-12);
	NEAR(adjusted[1], 0.06, 1e-12);
	const double large[] = {0.9, 0.9};
	stat_holm(large, 2, adjusted);
	NEAR(adjusted[0], 1, 0);
}

static void medians(void **state)
{
	(void)state;
	double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
	NEAR(stat_median(odd, 3), 2, 0);
	NEAR(stat_median(even, 4), 2.5, 0);
	assert_true(isnan(stat_median(odd, 0)));
}

/* 0 of n: high is 1 - (alpha/2)^(1/n) exactly; 1 of 2 at 5 %: roots of (1-p)^2 + 2p(1-p) = 0.975 and its mirror. */
static void binomial_interval_is_exact(void **state)
{
	(void)state;
	double low, high;
	stat_binomial_interval(0, 1000, 0.05, &low, &high);
	NEAR(low, 0, 0);
	NEAR(high, 1 - pow(0.025, 1.0 / 1000), 1e-9);
	stat_binomial_interval(1, 2, 0.05, &low, &high);
	NEAR(low, 1 - sqrt(0.975), 1e-9);
	NEAR(high, sqrt(0.975), 1e-9);
	stat_binomial_interval(7, 7, 0.05, &low, &high);
	NEAR(low, pow(0.025, 1.0 / 7), 1e-9);
	NEAR(high, 1, 0);
}

static void sign_floor_of_equal_sizes_is_their_size(void **state)
{
	(void)state;
	/* With an odd count of values +-1 every median is +-1; with sizes drawn normally it is far below the largest. */
	double ones[21], normal[401];
	struct rng rng;
	rng_seed(&rng, 7);
	for (int i = 0; i < 21; i++)
		ones[i] = 1;
	for (int i = 0; i < 401; i++)
		normal[i] = rng_normal(&rng);
	NEAR(stat_sign_floor(ones, 21, 1), 1, 0);
	/* The median of n normal values has the deviation sqrt(pi / 2n) = 0.0626; 1.96 of it is 0.123. */
	double floor_value = stat_sign_floor(normal, 401, 1);
	assert_true(floor_value > 0.10 && floor_value < 0.15);
	NEAR(floor_value, stat_sign_floor(normal, 401, 1), 0);
	NEAR(stat_sign_floor(normal, 0, 1), 0, 0);
}

static void decisions(void **state)
{
	(void)state;
	assert_int_equal(stat_decide(-INFINITY, INFINITY, 0.01), DECISION_OPEN);
	assert_int_equal(stat_decide(-0.03, -0.002, 0.01), DECISION_FASTER);
	assert_int_equal(stat_decide(0.002, 0.03, 0.01), DECISION_SLOWER);
	assert_int_equal(stat_decide(-0.009, 0.009, 0.01), DECISION_NO_EFFECT);
	assert_int_equal(stat_decide(-0.009, -0.001, 0.01), DECISION_NEGLIGIBLE);
	assert_int_equal(stat_decide(0.001, 0.009, 0.01), DECISION_NEGLIGIBLE);
	assert_int_equal(stat_decide(-0.011, 0.009, 0.01), DECISION_OPEN);
	assert_int_equal(stat_decide(-0.03, 0, 0.01), DECISION_OPEN);
}

/* 100,000 null sequences, looked at after every value up to n = 1000: how many ever exclude the truth. */
static void error_rate_holds_at_every_time(void **state)
{
	(void)state;
	enum { SEQUENCES = 100000, LENGTH = 1000 };
	static const double alphas[] = {0.05, 0.01, 0.002};
	for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
		static long k[LENGTH + 1];
		k[0] = -1;
		for (size_t n = 1; n <= LENGTH; n++)
			k[n] = cseq_k(n, alphas[a], k[n - 1]);
		struct rng rng;
		rng_seed(&rng, 20260101 + a);
		unsigned wrong = 0;
		for (unsigned i = 0; i < SEQUENCES; i++) {
			uint64_t bits = 0;
			long below = 0;
			for (long n = 1; n <= LENGTH; n++, bits >>= 1) {
				if ((n - 1) % 64 == 0)
					bits = rng_next(&rng);
				below += bits & 1;
				if (below <= k[n] || n - below <= k[n]) {
					wrong++;
					break;
				}
			}
		}
		double share = (double)wrong / SEQUENCES;
		printf("alpha %g: %u of %d null sequences ever exclude the truth: %.4f\n", alphas[a], wrong, SEQUENCES, share);
		assert_true(share <= alphas[a]);
		assert_true(wrong > 0);
	}
}

/* Times that drift, jump and are autocorrelated; the sides alike. With a coin for each pair's order the first sample's
 * advantage falls on either side, so each sign of the ratio stays fair; without it, it does not. */
static unsigned drifting_errors(bool coin, unsigned sequences)
{
	unsigned wrong = 0;
	for (unsigned i = 0; i < sequences; i++) {
		struct rng rng;
		struct cseq cseq;
		rng_seed(&rng, 1000 + i);
		cseq_init(&cseq, 0.01);
		double level = 0, noise = 0;
		for (int n = 0; n < 300; n++) {
			double sample[2];
			for (int k = 0; k < 2; k++) {
				noise = 0.5 * noise + 0.01 * rng_normal(&rng);
				level += 0.0005; /* the machine heats up */
				if (rng_uniform(&rng) < 0.01)
					level += 0.05 * rng_normal(&rng);
				sample[k] = level + noise + (k == 0 ? 0.004 : 0); /* the first of a pair pays for cold caches */
			}
			bool swap = coin && rng_coin(&rng);
			assert_true(cseq_add(&cseq, swap ? sample[0] - sample[1] : sample[1] - sample[0]));
			double low, high;
			cseq_interval(&cseq, &low, &high);
			if (low > 0 || high < 0) {
				wrong++;
				break;
			}
		}
		cseq_release(&cseq);
	}
	return wrong;
}

static void coin_keeps_drift_fair(void **state)
{
	(void)state;
	enum { SEQUENCES = 4000 };
	unsigned with = drifting_errors(true, SEQUENCES), without = drifting_errors(false, SEQUENCES);
	printf("drift, alpha 0.01, %d sequences: %u wrong with the coin, %u without\n", SEQUENCES, with, without);
	assert_true(with <= SEQUENCES / 100);
	assert_true(without > SEQUENCES / 10);
}

/* The interval covers a true effect that is not 0, too, and finds it. */
static void effect_is_covered(void **state)
{
	(void)state;
	enum { SEQUENCES = 3000 };
	unsigned missed = 0, found = 0;
	for (unsigned i = 0; i < SEQUENCES; i++) {
		struct rng rng;
		struct cseq cseq;
		rng_seed(&rng, 77000 + i);
		cseq_init(&cseq, 0.01);
		bool miss = false, hit = false;
		for (int n = 0; n < 200; n++) {
			assert_true(cseq_add(&cseq, 0.02 + 0.02 * rng_normal(&rng)));
			double low, high;
			cseq_interval(&cseq, &low, &high);
			miss |= low > 0.02 || high < 0.02;
			hit |= low > 0;
		}
		missed += miss;
		found += hit;
		cseq_release(&cseq);
	}
	printf("effect of one deviation: %u of %d missed, %u found within 200 values\n", missed, SEQUENCES, found);
	assert_true(missed <= SEQUENCES / 100);
	assert_true(found >= SEQUENCES * 99 / 100);
}

static void quantiles(void **state)
{
	(void)state;
	const double values[] = {1, 2, 3, 4, 10};
	assert_true(stat_quantile(values, 5, 0) == 1 && stat_quantile(values, 5, 1) == 10);
	assert_true(stat_quantile(values, 5, 0.5) == 3);
	assert_true(fabs(stat_quantile(values, 5, 0.9) - 7.6) < 1e-12);
	assert_true(fabs(stat_quantile(values, 5, 0.1) - 1.4) < 1e-12);
	assert_true(stat_quantile(values, 1, 0.3) == 1);
	assert_true(isnan(stat_quantile(values, 0, 0.3)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(martingale_equals_the_product),
	    cmocka_unit_test(martingale_has_mean_one),
	    cmocka_unit_test(boundary_follows_the_table),
	    cmocka_unit_test(interval_is_made_of_order_statistics),
	    cmocka_unit_test(p_value_is_the_largest_evidence),
	    cmocka_unit_test(holm_steps_down),
	    cmocka_unit_test(medians),
	    cmocka_unit_test(quantiles),
	    cmocka_unit_test(binomial_interval_is_exact),
	    cmocka_unit_test(sign_floor_of_equal_sizes_is_their_size),
	    cmocka_unit_test(decisions),
	    cmocka_unit_test(error_rate_holds_at_every_time),
	    cmocka_unit_test(coin_keeps_drift_fair),
	    cmocka_unit_test(effect_is_covered),
	};
	return cmocka_run_group_tests_name("stat", tests, NULL, NULL);
}
