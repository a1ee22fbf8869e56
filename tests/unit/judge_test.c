#include "base/stat.h"
#include "stage/stages.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define NEAR(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))
#define HAS(text, part) assert_non_null(strstr((text), (part)))

static volatile sig_atomic_t interrupted;

static int setup(void **state)
{
	static struct session session;
	session = (struct session){.interrupted = &interrupted};
	arena_init(&session.arena);
	*state = &session;
	return 0;
}

static int teardown(void **state)
{
	arena_release(&((struct session *)*state)->arena);
	return 0;
}

/* `blocks` blocks of three pairs whose log-ratios are theta plus a normal deviation for the block. */
static struct measurement samples(struct session *session, unsigned blocks, double theta, double deviation)
{
	struct measurement measurement = {
	    .plan = {.alpha = 0.01, .margin = 0.01, .budget_s = 10, .seed = 3},
	    .elapsed_s = 2,
	    .stop = STOP_DECIDED,
	    .stationary = true,
	    .bytes_per_iteration = 4096,
	};
	struct rng rng;
	rng_seed(&rng, 42 + blocks);
	for (unsigned b = 0; b < blocks; b++) {
		double block = theta + deviation * rng_normal(&rng);
		for (unsigned i = 0; i < 3; i++) {
			struct pair pair = {.block = b, .index = i, .iterations = 10, .baseline_ns = 1000000};
			pair.candidate_ns = (uint64_t)(1000000 * exp(block + ((int)i - 1) * 0.05));
			list_push(&session->arena, &measurement.pairs, pair);
		}
	}
	measurement.blocks = blocks;
	return measurement;
}

static struct trial judged(struct session *session, const struct measurement *measurement, double floor_value)
{
	struct control control = {.done = true, .quiet = true, .floor = floor_value};
	struct trial trial = {0};
	judge_trial(session, measurement, &control, &trial);
	assert_int_equal(trial.rung, RUNG_TIME);
	assert_non_null(trial.evidence);
	return trial;
}

static void verdicts_follow_the_interval(void **state)
{
	struct session *session = *state;
	struct measurement measurement = samples(session, 30, -0.05, 0.003);
	struct trial trial = judged(session, &measurement, 0.001);
	assert_int_equal(trial.verdict, VERDICT_FASTER);
	NEAR(trial.effect.theta, -0.05, 0.003);
	assert_true(trial.effect.low < -0.05 && trial.effect.high > -0.05);
	assert_string_equal(trial.effect.population, "as built");
	NEAR(trial.baseline_ns, 100000, 0.1);
	assert_int_equal(trial.pairs, 90);
	assert_int_equal(trial.blocks, 30);
	assert_int_equal(trial.bytes_per_iteration, 4096);

	measurement = samples(session, 30, 0.05, 0.003);
	assert_int_equal(judged(session, &measurement, 0.001).verdict, VERDICT_SLOWER);
	measurement = samples(session, 60, 0, 0.004);
	assert_int_equal(judged(session, &measurement, 0.001).verdict, VERDICT_NO_EFFECT);
	measurement = samples(session, 60, 0.004, 0.001);
	trial = judged(session, &measurement, 0.001);
	assert_int_equal(trial.verdict, VERDICT_NO_EFFECT);
	HAS(trial.evidence, "real but negligible");
}

static void floor_of_the_control_hides_effects(void **state)
{
	struct session *session = *state;
	struct measurement measurement = samples(session, 30, -0.03, 0.003);
	assert_int_equal(judged(session, &measurement, 0.001).verdict, VERDICT_FASTER);
	struct trial trial = judged(session, &measurement, 0.05);
	/* -3 % is not "no effect" for a control that sees nothing below 5 %. */
	assert_int_equal(trial.verdict, VERDICT_INCONCLUSIVE);
	HAS(trial.evidence, "noise floor is 5.1 %");
	measurement = samples(session, 60, 0, 0.004);
	trial = judged(session, &measurement, 0.02);
	assert_int_equal(trial.verdict, VERDICT_NO_EFFECT);
	HAS(trial.evidence, "within 2 % (the control's floor)");
	/* Nor is anything for one that sees nothing below 45 %. */
	trial = judged(session, &measurement, 0.37);
	assert_int_equal(trial.verdict, VERDICT_INCONCLUSIVE);
	HAS(trial.evidence, "noise floor is 45 %");
}

static void inconclusive_says_what_it_excludes_and_needs(void **state)
{
	struct session *session = *state;
	struct measurement measurement = samples(session, 40, 0.005, 0.03);
	measurement.stop = STOP_BUDGET;
	struct trial trial = judged(session, &measurement, 0.001);
	assert_int_equal(trial.verdict, VERDICT_INCONCLUSIVE);
	HAS(trial.evidence, "are excluded");
	double half = fmax(trial.effect.high - trial.effect.theta, trial.effect.theta - trial.effect.low);
	HAS(trial.evidence, arena_printf(&session->arena, "an effect of %.2f %% would have been seen",
	                                 100 * expm1(2 * half)));
	HAS(trial.evidence, "would be needed");
	assert_false(trial.drifts);
	measurement.stationary = false;
	trial = judged(session, &measurement, 0.001);
	assert_true(trial.drifts);
	HAS(trial.evidence, "not stationary");

	measurement = samples(session, 7, 0.3, 0.001);
	measurement.stop = STOP_BUDGET;
	trial = judged(session, &measurement, 0.001);
	assert_int_equal(trial.verdict, VERDICT_INCONCLUSIVE);
	assert_true(isinf(trial.effect.low) && isinf(trial.effect.high));
	HAS(trial.evidence, "12 blocks are the least that decide");

	measurement = samples(session, 0, 0, 0);
	measurement.stop = STOP_INTERRUPTED;
	trial = judged(session, &measurement, 0.001);
	assert_int_equal(trial.verdict, VERDICT_INCONCLUSIVE);
	HAS(trial.evidence, "interrupted");
	assert_false(trial.effect.known);
}

static void failure_and_noise_are_never_a_difference(void **state)
{
	struct session *session = *state;
	struct measurement measurement = samples(session, 30, -0.05, 0.003);
	struct control loud = {.done = true, .quiet = false, .text = "it differs"};
	struct trial trial = {0};
	judge_trial(session, &measurement, &loud, &trial);
	assert_int_equal(trial.verdict, VERDICT_INCONCLUSIVE);
	HAS(trial.evidence, "not judged: it differs");
	measurement.stop = STOP_FAILED;
	measurement.failure = "the candidate failed: killed by SIGSEGV";
	trial = judged(session, &measurement, 0.001);
	assert_int_equal(trial.verdict, VERDICT_FAILED);
	assert_string_equal(trial.evidence, measurement.failure);
}

static void disturbed_pairs_are_left_out_and_counted(void **state)
{
	struct session *session = *state;
	struct measurement measurement = samples(session, 30, 0.05, 0.001);
	/* Every block's first two pairs were preempted and look much faster. The third, at +0.05, stands for the block. */
	for (size_t i = 0; i < measurement.pairs.count; i++)
		if (measurement.pairs.at[i].index < 2) {
			measurement.pairs.at[i].candidate_ns /= 3;
			measurement.pairs.at[i].baseline_flags = i % 2 ? PAIR_PREEMPTED : PAIR_MIGRATED;
		}
	struct trial trial = judged(session, &measurement, 0.001);
	assert_int_equal(trial.verdict, VERDICT_SLOWER);
	assert_int_equal(trial.excluded_pairs, 60);
	NEAR(trial.effect.theta, 0.10, 0.003);
	HAS(trial.evidence, "60 pairs left out");
	HAS(trial.evidence, "with them -6"); /* exp(-1.0986 + 0.05) */
	/* A page fault is part of the work. */
	for (size_t i = 0; i < measurement.pairs.count; i++)
		measurement.pairs.at[i].baseline_flags = measurement.pairs.at[i].baseline_flags ? PAIR_PAGE_FAULT : 0;
	trial = judged(session, &measurement, 0.001);
	assert_int_equal(trial.excluded_pairs, 0);
	assert_int_equal(trial.verdict, VERDICT_FASTER);
}

static void block_without_clean_pairs_is_taken_whole(void **state)
{
	struct session *session = *state;
	struct measurement measurement = samples(session, 5, 0.02, 0);
	for (size_t i = 0; i < 3; i++)
		measurement.pairs.at[i].candidate_flags = PAIR_PREEMPTED;
	double ratios[15];
	assert_int_equal(pairs_block_ratios(&measurement.pairs, false, ratios), 5);
	for (int b = 0; b < 5; b++)
		NEAR(ratios[b], 0.02, 1e-5);
	assert_int_equal(pairs_excluded_count(&measurement.pairs), 0);
	measurement.pairs.at[4].candidate_flags = PAIR_MIGRATED;
	assert_int_equal(pairs_excluded_count(&measurement.pairs), 1);
}

/* The unit is the block: 30 pairs that agree within one pair of processes are one value, and decide nothing. */
static void pairs_of_one_block_are_one_value(void **state)
{
	struct session *session = *state;
	struct measurement measurement = samples(session, 30, -0.05, 0.001);
	for (size_t i = 0; i < measurement.pairs.count; i++)
		measurement.pairs.at[i].block = 0;
	measurement.blocks = 1;
	assert_int_equal(judged(session, &measurement, 0.001).verdict, VERDICT_INCONCLUSIVE);
}

static void control_is_quiet_or_not(void **state)
{
	struct session *session = *state;
	struct control control;
	struct measurement measurement = samples(session, 40, 0, 0.004);
	judge_control(session, &measurement, &control);
	assert_true(control.done && control.quiet);
	assert_true(control.floor > 0.0003 && control.floor < 0.004);
	HAS(control.text, "floor");
	measurement = samples(session, 40, 0.02, 0.004);
	judge_control(session, &measurement, &control);
	assert_true(control.done && !control.quiet);
	HAS(control.text, "can't judge");
	/* 11 blocks bound nothing at this alpha, however much they differ. */
	measurement = samples(session, 11, 0.02, 0.001);
	judge_control(session, &measurement, &control);
	assert_true(control.done && !control.quiet);
	HAS(control.text, "too few blocks");
	HAS(control.text, "12 are the least");
	HAS(control.text, "give a larger --budget");
	struct measurement clear = samples(session, 30, -0.05, 0.003);
	struct trial trial = {0};
	judge_trial(session, &clear, &control, &trial);
	assert_int_equal(trial.verdict, VERDICT_INCONCLUSIVE);
	HAS(trial.evidence, "not judged: the control took too few blocks");
	measurement = samples(session, 0, 0, 0);
	judge_control(session, &measurement, &control);
	assert_false(control.done);
	assert_false(control.quiet);
}

/* ---- layouts --------------------------------------------------------------------------------------------------------- */

static void layouts_that_decide_are_shown_as_a_distribution(void **state)
{
	struct session *session = *state;
	struct control control = {0};
	struct measurement measurement = samples(session, 40, 0, 0.002);
	measurement.plan.layouts = 8;
	judge_control(session, &measurement, &control);
	assert_true(control.quiet);
	assert_int_equal(control.spread.layouts, 40);
	assert_false(control.spread.sensitive);
	assert_string_equal(control.effect.population, "over layouts");

	/* The change helps by 5 % in some layouts and does nothing in others. */
	measurement = samples(session, 40, 0, 0.002);
	measurement.plan.layouts = 8;
	for (size_t i = 0; i < measurement.pairs.count; i++)
		if (measurement.pairs.at[i].block % 3 == 0)
			measurement.pairs.at[i].candidate_ns = (uint64_t)((double)measurement.pairs.at[i].candidate_ns * 0.95);
	struct trial trial = {0};
	judge_trial(session, &measurement, &control, &trial);
	assert_string_equal(trial.effect.population, "over layouts");
	assert_true(trial.spread.sensitive);
	assert_int_equal(trial.spread.layouts, 40);
	NEAR(trial.spread.noise, control.spread.deviation, 0);
	assert_true(trial.spread.low < -0.045 && trial.spread.high > -0.003);
	uint32_t counted = 0;
	for (unsigned i = 0; i < SPREAD_BINS; i++)
		counted += trial.spread.bins[i];
	assert_int_equal(counted, 40);
	assert_true(trial.spread.bins[0] > 0 && trial.spread.bins[SPREAD_BINS - 1] > 0);
	HAS(trial.evidence, "layout-sensitive: in 8 of 10 layouts");
	HAS(trial.evidence, "in 40 layouts");

	/* As wide, but so is the control: noise. */
	struct measurement wide = samples(session, 40, 0, 0.03);
	wide.plan.layouts = 8;
	judge_control(session, &wide, &control);
	trial = (struct trial){0};
	judge_trial(session, &wide, &control, &trial);
	assert_false(trial.spread.sensitive);
	assert_true(trial.spread.high - trial.spread.low > 0.01);

	/* As built there is no such distribution. */
	measurement.plan.layouts = 1;
	trial = (struct trial){0};
	judge_trial(session, &measurement, &control, &trial);
	assert_int_equal(trial.spread.layouts, 0);
	assert_false(trial.spread.sensitive);
	assert_string_equal(trial.effect.population, "as built");
}

static void fewer_layouts_than_asked_for_decide_nothing(void **state)
{
	struct session *session = *state;
	struct measurement measurement = samples(session, 30, -0.05, 0.003);
	measurement.plan.layouts = 31;
	measurement.stop = STOP_BUDGET;
	struct trial trial = judged(session, &measurement, 0.001);
	assert_int_equal(trial.verdict, VERDICT_INCONCLUSIVE);
	HAS(trial.evidence, "at least 31 layouts were asked for");
	measurement.plan.layouts = 30;
	trial = judged(session, &measurement, 0.001);
	assert_int_equal(trial.verdict, VERDICT_FASTER);
}

/* ---- families --------------------------------------------------------------------------------------------------------- */

static void family_add(struct session *session, const struct hypothesis *hypothesis, enum verdict verdict, double low,
                       double high)
{
	struct trial *trial = arena_new(&session->arena, struct trial);
	*trial = (struct trial){
	    .hypothesis = hypothesis,
	    .config = {"gcc-12", "-O2"},
	    .verdict = verdict,
	    .rung = isnan(low) ? RUNG_TOKENS : RUNG_TIME,
	    .evidence = "its evidence",
	    .margin = 0.01,
	    .effect = {.known = !isnan(low), .low = low, .high = high, .population = "as built"},
	};
	list_push(&session->arena, &session->run.trials, trial);
}

static const struct family *family_judged(struct session *session, enum verdict expected)
{
	judge_families(session);
	assert_int_equal(session->run.families.count, 1);
	assert_int_equal(session->run.families.at[0].verdict, expected);
	assert_non_null(session->run.families.at[0].evidence);
	session->run.trials.count = 0;
	return &session->run.families.at[0];
}

static void family_claims_no_more_than_its_trials(void **state)
{
	struct session *session = *state;
	struct hypothesis h = {.id = "h"};

	for (int i = 0; i < 5; i++)
		family_add(session, &h, VERDICT_NO_EFFECT, -0.004, 0.001 * i);
	const struct family *family = family_judged(session, VERDICT_NO_EFFECT);
	assert_string_equal(family->evidence, "5 of 5 trials: no effect; together their intervals span [-0.40, +0.40] %");

	family_add(session, &h, VERDICT_FASTER, -0.05, -0.02);
	family_add(session, &h, VERDICT_NO_EFFECT, -0.004, 0.003);
	family = family_judged(session, VERDICT_FASTER);
	HAS(family->evidence, "faster in 1 of 2 trials, 1: no effect; together");

	family_add(session, &h, VERDICT_FASTER, -0.05, -0.02);
	family_add(session, &h, VERDICT_SLOWER, 0.02, 0.03);
	family_judged(session, VERDICT_MIXED);

	/* An inconclusive trial that may hide a slowdown forbids "faster"; one that excludes it does not. */
	family_add(session, &h, VERDICT_FASTER, -0.05, -0.02);
	family_add(session, &h, VERDICT_INCONCLUSIVE, -0.05, 0.05);
	family_judged(session, VERDICT_INCONCLUSIVE);
	family_add(session, &h, VERDICT_FASTER, -0.05, -0.02);
	family_add(session, &h, VERDICT_INCONCLUSIVE, -0.05, 0.005);
	family_judged(session, VERDICT_FASTER);

	family_add(session, &h, VERDICT_FASTER, -0.05, -0.02);
	family_add(session, &h, VERDICT_WRONG_RESULTS, NAN, NAN);
	family = family_judged(session, VERDICT_WRONG_RESULTS);
	HAS(family->evidence, "its evidence");

	family_add(session, &h, VERDICT_FASTER, -0.05, -0.02);
	family_add(session, &h, VERDICT_FAILED, NAN, NAN);
	family_judged(session, VERDICT_FAILED);

	family_add(session, &h, VERDICT_SLOWER, 0.02, 0.03);
	family_add(session, &h, VERDICT_INCONCLUSIVE, -0.05, 0.05);
	family_judged(session, VERDICT_SLOWER);

	/* It says of all of them what is excluded and what they need. */
	family_add(session, &h, VERDICT_NO_EFFECT, -0.003, 0.003);
	family_add(session, &h, VERDICT_INCONCLUSIVE, -0.05, 0.05);
	family_add(session, &h, VERDICT_INCONCLUSIVE, -0.01, 0.02);
	session->run.trials.at[1]->outlook = (struct outlook){"…", 30};
	session->run.trials.at[2]->outlook = (struct outlook){"…", 12};
	family = family_judged(session, VERDICT_INCONCLUSIVE);
	HAS(family->evidence, "span [-4.88, +5.13] %, what lies outside is excluded; about 42 s would be needed in all");
	family_add(session, &h, VERDICT_NO_EFFECT, -0.003, 0.003);
	family_add(session, &h, VERDICT_INCONCLUSIVE, NAN, NAN);
	family_add(session, &h, VERDICT_INCONCLUSIVE, -0.01, 0.02);
	session->run.trials.at[1]->outlook = (struct outlook){"…", INFINITY};
	session->run.trials.at[2]->outlook = (struct outlook){"…", 12};
	family = family_judged(session, VERDICT_INCONCLUSIVE);
	HAS(family->evidence, "about 12 s would be needed in all; in 1 of the 2 that are open no time would help");

	family_add(session, &h, VERDICT_NO_EFFECT, NAN, NAN);
	family_add(session, &h, VERDICT_NO_EFFECT, NAN, NAN);
	family = family_judged(session, VERDICT_NO_EFFECT);
	HAS(family->evidence, "at rung tokens: its evidence");

	family_add(session, &h, VERDICT_DELIBERATE, NAN, NAN);
	family = family_judged(session, VERDICT_DELIBERATE);
	assert_string_equal(family->evidence, "its evidence");
}

/* ---- contracts -------------------------------------------------------------------------------------------------------- */

static void nothing_is_faster_by_a_contract_that_nobody_confirmed(void **state)
{
	struct session *session = *state;
	struct hypothesis h = {.id = "h", .contract = "`a` and `b` never overlap"};
	family_add(session, &h, VERDICT_FASTER, -0.05, -0.02);
	family_add(session, &h, VERDICT_NO_EFFECT, -0.004, 0.003);
	struct trial *trial = session->run.trials.at[0];
	const struct family *family = family_judged(session, VERDICT_INCONCLUSIVE);
	assert_int_equal(trial->verdict, VERDICT_INCONCLUSIVE);
	assert_int_equal(trial->rung, RUNG_TIME);
	assert_true(trial->unconfirmed);
	assert_string_equal(trial->evidence, "rests on a contract that nobody has confirmed: `a` and `b` never overlap; measured: "
	                    "its evidence");
	HAS(family->evidence, "1 would be faster, but rests on a contract that nobody has confirmed: `a` and `b` never overlap");

	/* Judged once more, as a stored run is: the same. */
	list_push(&session->arena, &session->run.trials, trial);
	const char *before = trial->evidence;
	family_judged(session, VERDICT_INCONCLUSIVE);
	assert_ptr_equal(trial->evidence, before);

	/* Slower and no effect need no contract. */
	family_add(session, &h, VERDICT_SLOWER, 0.02, 0.05);
	family_judged(session, VERDICT_SLOWER);
	family_add(session, &h, VERDICT_NO_EFFECT, -0.004, 0.003);
	family_judged(session, VERDICT_NO_EFFECT);

	h.contract_accepted = "jd: the header says so";
	family_add(session, &h, VERDICT_FASTER, -0.05, -0.02);
	family_judged(session, VERDICT_FASTER);
}

static void rounding_is_a_contract(void **state)
{
	struct session *session = *state;
	struct hypothesis h = {.id = "flags:-ffast-math"};
	family_add(session, &h, VERDICT_FASTER, -0.05, -0.02);
	family_judged(session, VERDICT_FASTER);

	/* One workload's results are rounded otherwise: what the others show does not make the family faster. */
	family_add(session, &h, VERDICT_FASTER, -0.05, -0.02);
	family_add(session, &h, VERDICT_FASTER, -0.05, -0.02);
	struct trial *trial = session->run.trials.at[0];
	trial->rounding = "record 1 \"sum\" is rounded otherwise";
	const struct family *family = family_judged(session, VERDICT_INCONCLUSIVE);
	assert_true(trial->unconfirmed);
	HAS(family->evidence, "nobody has confirmed: record 1 \"sum\" is rounded otherwise");

	h.contract_accepted = "jd: the plot has three digits";
	family_add(session, &h, VERDICT_FASTER, -0.05, -0.02);
	session->run.trials.at[0]->rounding = trial->rounding;
	family_judged(session, VERDICT_FASTER);
}

/* Holm's gate must not give back what the contract holds. */
static void holm_does_not_confirm_a_contract(void **state)
{
	struct session *session = *state;
	struct hypothesis h = {.id = "h", .contract = "a promise"};
	struct measurement measurement = samples(session, 60, -0.05, 0.003);
	struct trial trial = judged(session, &measurement, 0.001);
	trial.hypothesis = &h;
	trial.config = (struct build_config){"gcc-12", "-O2"};
	session->run.alpha = 0.01;
	list_push(&session->arena, &session->run.hypotheses, &h);
	for (int again = 0; again < 2; again++) {
		struct trial *at = &trial;
		list_push(&session->arena, &session->run.trials, at);
		family_judged(session, VERDICT_INCONCLUSIVE);
		assert_true(trial.unconfirmed);
	}
	session->run.hypotheses.count = 0;
}

static void families_are_hypothesis_and_configuration(void **state)
{
	struct session *session = *state;
	struct hypothesis a = {.id = "a"}, b = {.id = "b"};
	family_add(session, &a, VERDICT_FASTER, -0.05, -0.02);
	family_add(session, &b, VERDICT_SLOWER, 0.02, 0.03);
	family_add(session, &a, VERDICT_SLOWER, 0.02, 0.03);
	session->run.trials.at[2]->config.cc = "clang-19";
	judge_families(session);
	assert_int_equal(session->run.families.count, 3);
	assert_int_equal(session->run.families.at[0].verdict, VERDICT_FASTER);
	assert_int_equal(session->run.families.at[2].verdict, VERDICT_SLOWER);
	judge_families(session);
	assert_int_equal(session->run.families.count, 3);
}

/* ---- inconclusive ------------------------------------------------------------------------------------------------------- */

/* What every inconclusive trial owes: what is excluded, what it could have seen, what it would need. */
static void says_all(const struct trial *trial)
{
	assert_int_equal(trial->verdict, VERDICT_INCONCLUSIVE);
	assert_non_null(trial->outlook.text);
	HAS(trial->evidence, trial->outlook.text);
	const char *text = trial->outlook.text;
	assert_true(strstr(text, "excluded") != NULL);
	assert_true(strstr(text, "would have been seen") || strstr(text, "could have been seen"));
	assert_true(strstr(text, "would be needed") || strstr(text, "no time would help"));
	assert_true(trial->outlook.needs_s > 0);
	assert_int_equal(!isfinite(trial->outlook.needs_s), strstr(text, "no time would help") || strstr(text, "can't be told"));
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
}

enum { CONTROL_QUIET, CONTROL_COARSE, CONTROL_DIFFERS, CONTROL_SHORT, CONTROL_NONE, CONTROLS };

static struct control control_like(struct session *session, int kind)
{
	struct control control = {.done = true, .quiet = true, .floor = kind == CONTROL_COARSE ? 0.05 : 0.001};
	struct measurement measurement = samples(session, kind == CONTROL_DIFFERS ? 40 : kind == CONTROL_SHORT ? 5 : 0, 0.03, 0.001);
	if (kind >= CONTROL_DIFFERS)
		judge_control(session, &measurement, &control);
	return control;
}

static void every_inconclusive_says_what_it_excludes_and_needs(void **state)
{
	struct session *session = *state;
	static const unsigned blocks[] = {0, 1, 7, 13, 19, 30, 60}, layouts[] = {0, 8, 100};
	static const double thetas[] = {-0.05, 0, 0.005, 0.05}, deviations[] = {0.001, 0.03};
	static const enum stop_reason stops[] = {STOP_DECIDED, STOP_BUDGET, STOP_INTERRUPTED};
	static const char *const reasons[] = {"budget of 10 s spent after", "blocks are the least that decide", "before the first pair",
	                                      "interrupted after", "no verdict follows", "at least 100 layouts were asked for",
	                                      "differs", "its noise floor is", "the control took too few", "the control took no pair"};
	enum { REASONS = sizeof reasons / sizeof *reasons };
	unsigned seen[REASONS] = {0}, inconclusive = 0, settled = 0;
	session->run.alpha = 0.01;
	for (unsigned i = 0; i < 7 * 3 * 4 * 2 * 3 * CONTROLS; i++) {
		struct measurement measurement = samples(session, blocks[i % 7], thetas[i / 7 % 4], deviations[i / 28 % 2]);
		measurement.plan.layouts = layouts[i / 56 % 3];
		measurement.stop = stops[i / 168 % 3];
		struct control control = control_like(session, (int)(i / 504 % CONTROLS));
		struct trial trial = {0};
		judge_trial(session, &measurement, &control, &trial);
		if (trial.verdict != VERDICT_INCONCLUSIVE) {
			assert_null(trial.outlook.text);
			settled++;
			continue;
		}
		inconclusive++;
		says_all(&trial);
		for (unsigned r = 0; r < REASONS; r++)
			seen[r] += strstr(trial.evidence, reasons[r]) != NULL;
	}
	assert_true(settled && inconclusive);
	for (unsigned r = 0; r < REASONS; r++)
		if (!seen[r])
			fail_msg("no trial was inconclusive for: %s", reasons[r]);
	/* Threads between whose CPUs no transfer can be seen: the same from the store as in the run. */
	struct measurement unseen = {.stop = STOP_UNSEEN, .transfer = {.threads = 2, .cpus = "0,1", .shared_ns = 9, .private_ns = 8,
	                                                                .bursts = 400}};
	struct control quiet = control_like(session, CONTROL_QUIET);
	struct trial sightless = {0};
	judge_trial(session, &unseen, &quiet, &sightless);
	assert_int_equal(sightless.verdict, VERDICT_INCONCLUSIVE);
	says_all(&sightless);
	const char *judged_once = sightless.evidence;
	judge_unmeasured(session, false, &sightless);
	assert_string_equal(sightless.evidence, judged_once);
	struct control blind = {0};
	judge_control(session, &unseen, &blind);
	sightless = (struct trial){0};
	judge_trial(session, &(struct measurement){.stop = STOP_BUDGET}, &blind, &sightless);
	says_all(&sightless);
	HAS(sightless.evidence, "no time would help");
	/* For what is no matter of measuring. */
	struct trial stopped = {.verdict = VERDICT_INCONCLUSIVE, .rung = RUNG_CODE, .evidence = "not asked: --to-rung code"};
	judge_unmeasured(session, false, &stopped);
	says_all(&stopped);
	const char *once = stopped.evidence;
	judge_unmeasured(session, false, &stopped);
	assert_string_equal(stopped.evidence, once);
	session->run.budget_s = 20;
	struct trial ended = {.verdict = VERDICT_INCONCLUSIVE, .rung = RUNG_OUTPUTS, .evidence = "interrupted before it was settled"};
	judge_unmeasured(session, true, &ended);
	says_all(&ended);
	NEAR(ended.outlook.needs_s, 40, 1e-9);
	struct trial other = {.verdict = VERDICT_FAILED, .evidence = "it crashed"};
	judge_unmeasured(session, false, &other);
	assert_string_equal(other.evidence, "it crashed");
}

static void a_longer_measurement_needs_what_was_said(void **state)
{
	struct session *session = *state;
	/* Between 0 and the margin nothing helps but blocks: four times as many halve the interval. */
	struct measurement measurement = samples(session, 40, 0.005, 0.03);
	measurement.stop = STOP_BUDGET;
	struct trial trial = judged(session, &measurement, 0.001);
	double half = fmax(trial.effect.high - trial.effect.theta, trial.effect.theta - trial.effect.low);
	double target = fmax(fabs(trial.effect.theta), log1p(0.01) - fabs(trial.effect.theta));
	NEAR(trial.outlook.needs_s, 2 * half / target * (half / target), 1e-9);
	/* 30 of 300 layouts in 2 s: ten times that, and some more. */
	measurement = samples(session, 30, -0.05, 0.001);
	measurement.stop = STOP_BUDGET;
	measurement.plan.layouts = 300;
	trial = judged(session, &measurement, 0.001);
	NEAR(trial.outlook.needs_s, 2 * 10 * 1.3, 1e-9);
}

/* ---- Holm's gate ------------------------------------------------------------------------------------------------------- */

/* A trial of `h` whose `n` blocks are `below` times about -3 %, else `above_theta`. */
static struct trial *gated(struct session *session, const struct hypothesis *h, unsigned n, unsigned below,
                           double above_theta, double alpha)
{
	struct measurement measurement = samples(session, n, 0, 0);
	for (size_t i = 0; i < measurement.pairs.count; i++) {
		struct pair *pair = &measurement.pairs.at[i];
		double theta = pair->block < below ? -0.03 - 1e-5 * pair->block : above_theta + 1e-5 * pair->block;
		pair->candidate_ns = (uint64_t)((double)pair->baseline_ns * exp(theta));
	}
	measurement.plan.alpha = alpha;
	measurement.stop = STOP_BUDGET;
	struct control control = {.done = true, .quiet = true, .floor = 0.001};
	struct trial *trial = arena_new(&session->arena, struct trial);
	trial->hypothesis = h;
	trial->config = (struct build_config){"gcc-12", "-O2"};
	trial->control = control;
	judge_trial(session, &measurement, &control, trial);
	list_push(&session->arena, &session->run.trials, trial);
	return trial;
}

/* The counts (of `n` blocks, so many below 0) whose p lies in (low, high]. */
static void find_p(double low, double high, unsigned *ret_n, unsigned *ret_below)
{
	for (unsigned n = 30; n < 200; n++)
		for (unsigned below = n / 2 + 1; below < n; below++) {
			/* p is the least over time: with the low ones first, the evidence is strongest when they have all come. */
			double p = exp(-cseq_log_m(n, below));
			double first = exp(-cseq_log_m(below, below));
			if (p > low && p <= high && first <= high) {
				*ret_n = n;
				*ret_below = below;
				return;
			}
		}
	fail();
}

static void holm_decides_what_the_interval_leaves_open(void **state)
{
	struct session *session = *state;
	struct hypothesis h = {.id = "h"};
	list_push(&session->arena, &session->run.hypotheses, &h);
	session->run.alpha = 0.01;
	session->run.budget_s = 20;
	unsigned n = 0, below = 0;
	find_p(0.006, 0.01, &n, &below);
	/* Beside a trial that is beyond doubt, alpha itself is left for the other one; its own interval has alpha / 2. */
	struct trial *sure = gated(session, &h, 60, 60, 0, 0.005);
	struct trial *other = gated(session, &h, n, below, 0.002, 0.005);
	assert_int_equal(sure->verdict, VERDICT_FASTER);
	assert_int_equal(other->verdict, VERDICT_INCONCLUSIVE);
	assert_true(other->effect.low < 0 && other->effect.high > 0);
	judge_families(session);
	NEAR(sure->p_adjusted, 2 * sure->p, 1e-15);
	assert_true(other->p_adjusted <= 0.01);
	assert_int_equal(other->verdict, VERDICT_FASTER);
	HAS(other->evidence, "for 2 trials by Holm");
	assert_int_equal(session->run.families.at[0].verdict, VERDICT_FASTER);
	const char *evidence = other->evidence;
	judge_families(session); /* once more changes nothing */
	assert_string_equal(other->evidence, evidence);

	/* A third trial was planned (alpha / 3) though never measured: it counts. */
	session->run.trials.count = 0;
	sure = gated(session, &h, 60, 60, 0, 0.01 / 3);
	judge_families(session);
	NEAR(sure->p_adjusted, 3 * sure->p, 1e-15);

	/* While harm beyond the margin is not excluded, nothing is claimed. */
	session->run.trials.count = 0;
	gated(session, &h, 60, 60, 0, 0.005);
	other = gated(session, &h, n, below, 0.02, 0.005);
	judge_families(session);
	assert_int_equal(other->verdict, VERDICT_INCONCLUSIVE);

	/* "Faster" that the others' number makes too likely by chance is taken back: here alpha was not divided. */
	session->run.trials.count = 0;
	struct trial *weak = gated(session, &h, 13, 13, 0, 0.01);
	assert_int_equal(weak->verdict, VERDICT_FASTER);
	for (int i = 0; i < 9; i++)
		gated(session, &h, 40, 20, 0.03, 0.01);
	judge_families(session);
	assert_int_equal(weak->verdict, VERDICT_INCONCLUSIVE);
	HAS(weak->evidence, "may be chance");
	says_all(weak);
}

/* The gate never gives a verdict that the trial's own rules withheld. */
static void holm_leaves_alone_what_was_held_back(void **state)
{
	struct session *session = *state;
	struct hypothesis h = {.id = "h"};
	struct control control = {.done = true, .quiet = true, .floor = 0.001};
	list_push(&session->arena, &session->run.hypotheses, &h);
	session->run.alpha = 0.01;
	for (int way = 0; way < 3; way++) {
		struct measurement measurement = samples(session, 30, -0.05, 0.003);
		measurement.plan.layouts = way == 1 ? 64 : 30;
		measurement.stop = way == 2 ? STOP_INTERRUPTED : STOP_BUDGET;
		struct trial trial = {.hypothesis = &h, .config = {"gcc-12", "-O2"}, .control = control};
		judge_trial(session, &measurement, &control, &trial);
		session->run.trials.count = 0;
		list_push(&session->arena, &session->run.trials, &trial);
		judge_families(session);
		assert_true(trial.p_adjusted <= 0.01 && trial.effect.high < 0);
		assert_int_equal(trial.held_back, way > 0);
		assert_int_equal(trial.verdict, way ? VERDICT_INCONCLUSIVE : VERDICT_FASTER);
		assert_int_equal(session->run.families.at[0].verdict, trial.verdict);
		if (way)
			HAS(trial.evidence, way == 1 ? "at least 64 layouts were asked for" : "no verdict follows");
		/* Beside a trial that is faster it keeps the family from being so. */
		struct trial sure = {.hypothesis = &h, .config = {"gcc-12", "-O2"}, .control = control};
		measurement.plan.layouts = 30;
		measurement.stop = STOP_BUDGET;
		judge_trial(session, &measurement, &control, &sure);
		list_push(&session->arena, &session->run.trials, &sure);
		judge_families(session);
		assert_int_equal(sure.verdict, VERDICT_FASTER);
		assert_int_equal(session->run.families.at[0].verdict, trial.verdict);
	}
}

/* Evidence that leaned to the other side first is none for the effect. */
static void p_follows_the_effects_direction(void **state)
{
	struct session *session = *state;
	struct measurement measurement = samples(session, 60, 0, 0);
	for (size_t i = 0; i < measurement.pairs.count; i++)
		measurement.pairs.at[i].candidate_ns = measurement.pairs.at[i].block < 25 ? 900000 : 1100000;
	struct trial trial = judged(session, &measurement, 0);
	assert_true(trial.effect.theta > 0);
	assert_true(trial.p == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(verdicts_follow_the_interval, setup, teardown),
	    cmocka_unit_test_setup_teardown(floor_of_the_control_hides_effects, setup, teardown),
	    cmocka_unit_test_setup_teardown(inconclusive_says_what_it_excludes_and_needs, setup, teardown),
	    cmocka_unit_test_setup_teardown(failure_and_noise_are_never_a_difference, setup, teardown),
	    cmocka_unit_test_setup_teardown(disturbed_pairs_are_left_out_and_counted, setup, teardown),
	    cmocka_unit_test_setup_teardown(block_without_clean_pairs_is_taken_whole, setup, teardown),
	    cmocka_unit_test_setup_teardown(pairs_of_one_block_are_one_value, setup, teardown),
	    cmocka_unit_test_setup_teardown(control_is_quiet_or_not, setup, teardown),
	    cmocka_unit_test_setup_teardown(layouts_that_decide_are_shown_as_a_distribution, setup, teardown),
	    cmocka_unit_test_setup_teardown(fewer_layouts_than_asked_for_decide_nothing, setup, teardown),
	    cmocka_unit_test_setup_teardown(every_inconclusive_says_what_it_excludes_and_needs, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_longer_measurement_needs_what_was_said, setup, teardown),
	    cmocka_unit_test_setup_teardown(holm_decides_what_the_interval_leaves_open, setup, teardown),
	    cmocka_unit_test_setup_teardown(holm_leaves_alone_what_was_held_back, setup, teardown),
	    cmocka_unit_test_setup_teardown(p_follows_the_effects_direction, setup, teardown),
	    cmocka_unit_test_setup_teardown(family_claims_no_more_than_its_trials, setup, teardown),
	    cmocka_unit_test_setup_teardown(families_are_hypothesis_and_configuration, setup, teardown),
	    cmocka_unit_test_setup_teardown(nothing_is_faster_by_a_contract_that_nobody_confirmed, setup, teardown),
	    cmocka_unit_test_setup_teardown(rounding_is_a_contract, setup, teardown),
	    cmocka_unit_test_setup_teardown(holm_does_not_confirm_a_contract, setup, teardown),
	};
	return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
