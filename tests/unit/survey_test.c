/* Surveys: the squares, the arithmetic against tables made by hand, error rates by seeded simulation, and the engine on a
 * small program. Nothing here depends on how fast this machine is. */
#include "base/latin.h"
#include "port/embedded.h"
#include "port/host.h"
#include "port/proc.h"
#include "stage/stages.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define HAS(text, part) assert_non_null(strstr((text), (part)))

static volatile sig_atomic_t interrupted;

static int setup(void **state)
{
	static struct session session;
	interrupted = 0;
	session = (struct session){.interrupted = &interrupted, .jobs = 1, .run.seed = 5};
	arena_init(&session.arena);
	*state = &session;
	return 0;
}

static int teardown(void **state)
{
	arena_release(&((struct session *)*state)->arena);
	return 0;
}

/* ---- squares ------------------------------------------------------------------------------------------------------ */

static void a_square_gives_each_every_place_once(void **state)
{
	(void)state;
	struct rng rng;
	rng_seed(&rng, 3);
	for (size_t count = 1; count <= SURVEY_VALUES_MAX + 1; count++) {
		size_t permutation[SURVEY_VALUES_MAX + 1];
		bool seen[SURVEY_VALUES_MAX + 1][SURVEY_VALUES_MAX + 1] = {{false}};
		latin_draw(&rng, permutation, count);
		for (size_t row = 0; row < count; row++) {
			bool in_row[SURVEY_VALUES_MAX + 1] = {false};
			for (size_t place = 0; place < count; place++) {
				size_t who = latin_at(permutation, count, row, place);
				assert_true(who < count && !in_row[who] && !seen[who][place]);
				in_row[who] = seen[who][place] = true;
			}
		}
	}
}

/* Each of the 6 orders of 3 is drawn as often: 6000 draws, a deviation of 5 sigma is 145. */
static void orders_are_equally_likely(void **state)
{
	(void)state;
	struct rng rng;
	int counts[27] = {0}, orders = 0;
	rng_seed(&rng, 11);
	for (int i = 0; i < 6000; i++) {
		size_t p[3];
		latin_draw(&rng, p, 3);
		counts[9 * p[0] + 3 * p[1] + p[2]]++;
	}
	for (int i = 0; i < 27; i++) {
		if (!counts[i])
			continue;
		orders++;
		assert_in_range(counts[i], 855, 1145);
	}
	assert_int_equal(orders, 6);
}

/* ---- arithmetic ---------------------------------------------------------------------------------------------------- */

/* A measurement of `values` values and the control, to be filled. */
static struct survey_measurement measurement_new(struct arena *arena, size_t values, size_t baseline, double alpha)
{
	struct survey_measurement m = {.plan = {.seed = 1, .alpha = alpha, .margin = 0.01, .budget_s = 9},
	                               .values = values, .baseline = baseline, .candidates = (uint32_t)values - 1,
	                               .stop = STOP_DECIDED};
	m.failures = arena_alloc(arena, values * sizeof *m.failures);
	m.bytes_per_iteration = arena_alloc(arena, values * sizeof *m.bytes_per_iteration);
	return m;
}

static void round_add(struct arena *arena, struct survey_measurement *m, uint32_t block, uint32_t index, const double *ns,
                      const uint64_t *iterations, const uint32_t *flags)
{
	struct round round = {.block = block, .index = index};
	round.samples = arena_alloc(arena, (m->values + 1) * sizeof *round.samples);
	for (size_t i = 0; i <= m->values; i++)
		if (iterations[i])
			round.samples[i] = (struct round_sample){.iterations = iterations[i],
			                                         .ns = (uint64_t)(ns[i] * (double)iterations[i] + 0.5),
			                                         .flags = flags ? flags[i] : 0, .place = (uint32_t)i};
	list_push(arena, &m->rounds, round);
	m->blocks = block + 1;
}

static struct survey survey_new(struct arena *arena, size_t count, size_t baseline)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
	struct survey survey = {.id = "s1", .name = "n", .workload = "w", .over = "impl", .baseline = baseline};
	for (size_t i = 0; i < count; i++) {
		struct survey_value value = {.value = names[i]};
		list_push(arena, &survey.values, value);
	}
	return survey;
}

static void alpha_is_shared_by_what_is_said(void **state)
{
	(void)state;
	assert_true(survey_interval_alpha(0.01, 1) == 0.01);
	assert_true(survey_interval_alpha(0.01, 2) == 0.01 / 3);
	assert_true(survey_interval_alpha(0.01, 5) == 0.01 / 9);
}

/* Two values and the control, counts of 10, 1 and 10; the second block is all disturbed, the third lacks the second value. */
static void block_medians_are_of_what_is_clean(void **state)
{
	struct arena *arena = &((struct session *)*state)->arena;
	struct survey_measurement m = measurement_new(arena, 2, 0, 0.01);
	const uint64_t iterations[] = {10, 1, 10}, without[] = {10, 0, 10};
	const uint32_t clean[] = {0, 0, 0}, second[] = {0, PAIR_PREEMPTED, 0}, first[] = {PAIR_MIGRATED, 0, 0},
	               faulted[] = {PAIR_PAGE_FAULT, 0, 0};
	round_add(arena, &m, 0, 0, (double[]){100, 200, 100}, iterations, clean);
	round_add(arena, &m, 0, 1, (double[]){100, 300, 100}, iterations, faulted);
	round_add(arena, &m, 0, 2, (double[]){100, 900, 100}, iterations, second);
	round_add(arena, &m, 1, 0, (double[]){400, 100, 100}, iterations, first);
	round_add(arena, &m, 1, 1, (double[]){100, 100, 100}, iterations, second);
	round_add(arena, &m, 2, 0, (double[]){100, 100, 100}, without, clean);
	double out[6];
	assert_int_equal(rounds_block_ratios(&m, 1, 0, false, out), 2);
	assert_true(fabs(out[0] - (log(2) + log(3)) / 2) < 1e-12);
	assert_true(fabs(out[1] - (log(0.25) + log(1)) / 2) < 1e-12);
	assert_int_equal(rounds_block_ratios(&m, 1, 0, true, out), 2);
	assert_true(fabs(out[0] - log(3)) < 1e-12);
	assert_int_equal(rounds_block_ns(&m, 0, out), 3);
	assert_true(out[0] == 100 && out[1] == 100 && out[2] == 100);
	assert_int_equal(rounds_block_ns(&m, 1, out), 2);
	assert_true(out[0] == 250 && out[1] == 100);
	assert_int_equal(rounds_excluded(&m, 0), 1);
	assert_int_equal(rounds_excluded(&m, 1), 2);
}

/* Of two that are equally fast the first leads; who may not lead is neither the top nor compared with it. */
static void the_top_is_of_those_that_may_lead(void **state)
{
	struct arena *arena = &((struct session *)*state)->arena;
	struct survey_measurement m = measurement_new(arena, 4, 0, 0.01);
	const uint64_t iterations[] = {10, 10, 10, 10, 10};
	for (uint32_t b = 0; b < 3; b++)
		round_add(arena, &m, b, 0, (double[]){300, 100, 200, 200, 300}, iterations, NULL);
	struct effect against[4];
	double scratch[3];
	size_t top = 9;
	assert_true(rounds_top(&m, (const bool[]){true, true, true, true}, 0.01, scratch, &top, against));
	assert_int_equal(top, 1);
	assert_true(!against[1].known && fabs(against[0].theta - log(3)) < 1e-12 && fabs(against[3].theta - log(2)) < 1e-12);
	assert_true(rounds_top(&m, (const bool[]){true, false, true, true}, 0.01, scratch, &top, against));
	assert_int_equal(top, 2);
	assert_true(!against[1].known && against[3].known && against[3].theta == 0);
	assert_false(rounds_top(&m, (const bool[]){false, false, false, false}, 0.01, scratch, &top, against));
	assert_false(against[0].known);
}

/* `blocks` blocks of one round, with these times an iteration and a spread of `noise` that the seed draws. */
static struct survey_measurement simulated(struct arena *arena, struct rng *rng, size_t values, uint32_t blocks,
                                           const double *ns, double noise, double alpha)
{
	struct survey_measurement m = measurement_new(arena, values, 0, alpha);
	for (uint32_t b = 0; b < blocks; b++) {
		double times[SURVEY_VALUES_MAX + 1];
		uint64_t iterations[SURVEY_VALUES_MAX + 1];
		for (size_t i = 0; i <= values; i++) {
			/* Now and then a disturbance, as on machines that others use. */
			double tail = rng_uniform(rng) < 0.1 ? 1.5 : 1;
			iterations[i] = 1000;
			times[i] = 1000 * ns[i] * exp(noise * rng_normal(rng)) * tail;
		}
		round_add(arena, &m, b, 0, times, iterations, NULL);
	}
	return m;
}

static void verdicts_and_the_fastest(void **state)
{
	struct session *session = *state;
	struct rng rng;
	rng_seed(&rng, 7);
	/* Baseline a; b three times as fast, c as fast as a, d slower, e as b but for 5 %. */
	const double ns[] = {3, 1, 3, 4, 1.05, 3};
	struct survey_measurement m = simulated(&session->arena, &rng, 5, 200, ns, 0.004, 0.01);
	m.bytes_per_iteration[1] = 4096;
	struct survey s = survey_new(&session->arena, 5, 0);
	judge_survey(session, &m, &s);
	static const enum value_verdict expected[] = {VALUE_BASELINE, VALUE_FASTER, VALUE_NO_EFFECT, VALUE_SLOWER, VALUE_FASTER};
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(s.values.at[i].verdict, expected[i]);
	assert_true(s.control.quiet);
	assert_true(s.top_known && s.top == 1);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(s.values.at[i].among_fastest, i == 1);
	HAS(s.evidence, "fastest: b, every other takes at least 4.");
	HAS(s.evidence, "slower than a: d");
	assert_true(s.interval_alpha == 0.01 / 7);
	assert_int_equal(s.values.at[1].block_ns.count, 200);
	assert_int_equal(s.values.at[1].bytes_per_iteration, 4096);
	assert_true(s.values.at[1].ns_low < s.values.at[1].ns && s.values.at[1].ns < s.values.at[1].ns_high);
	/* Judged again it is the same, and what was not measured keeps its verdict. */
	struct survey_value *fast = &s.values.at[1];
	double theta = fast->effect.theta, low = fast->effect.low;
	judge_survey(session, &m, &s);
	assert_true(s.values.at[1].effect.theta == theta && s.values.at[1].effect.low == low);
}

/* Two that are alike lead: neither is named the fastest. */
static void a_tie_has_no_fastest(void **state)
{
	struct session *session = *state;
	struct rng rng;
	rng_seed(&rng, 8);
	struct survey_measurement m = simulated(&session->arena, &rng, 3, 200, (double[]){3, 1, 1.002, 3}, 0.004, 0.01);
	struct survey s = survey_new(&session->arena, 3, 0);
	judge_survey(session, &m, &s);
	HAS(s.evidence, "among the fastest: b, c (at most ");
	assert_null(strstr(s.evidence, "fastest: b, every"));
	assert_true(s.values.at[1].among_fastest && s.values.at[2].among_fastest && !s.values.at[0].among_fastest);
}

/* Enough blocks for the control, too few for more: what is not shown to be slow is not called fast. */
static void few_blocks_name_no_fastest(void **state)
{
	struct session *session = *state;
	struct rng rng;
	rng_seed(&rng, 9);
	double times[] = {3, 1, 1.002, 2, 2.5, 4, 5, 3};
	struct survey_measurement m = simulated(&session->arena, &rng, 7, 13, times, 0.004, 0.01);
	struct survey s = survey_new(&session->arena, 7, 0);
	judge_survey(session, &m, &s);
	assert_true(s.control.quiet);
	assert_false(isfinite(s.values.at[2].against_top.high));
	HAS(s.evidence, "which is the fastest is open, one of: ");
	assert_null(strstr(s.evidence, "among the fastest"));
}

static void nothing_is_judged_without_its_control(void **state)
{
	struct session *session = *state;
	struct rng rng;
	rng_seed(&rng, 9);
	/* The control differs from the baseline by 5 %. */
	struct survey_measurement m = simulated(&session->arena, &rng, 2, 100, (double[]){3, 1, 3.15}, 0.004, 0.01);
	struct survey s = survey_new(&session->arena, 2, 0);
	judge_survey(session, &m, &s);
	assert_false(s.control.quiet);
	assert_int_equal(s.values.at[1].verdict, VALUE_INCONCLUSIVE);
	HAS(s.values.at[1].evidence, "not judged: the baseline against a copy of it differs");
	assert_null(strstr(s.evidence, "fastest"));
	/* Too few blocks show nothing either. */
	m = simulated(&session->arena, &rng, 2, 8, (double[]){3, 1, 3}, 0.004, 0.01);
	judge_survey(session, &m, &s);
	assert_int_equal(s.values.at[1].verdict, VALUE_INCONCLUSIVE);
	HAS(s.control.text, "too few blocks");
	/* Interrupted: the numbers stand, no verdict follows. */
	m = simulated(&session->arena, &rng, 2, 100, (double[]){3, 1, 3}, 0.004, 0.01);
	m.stop = STOP_INTERRUPTED;
	judge_survey(session, &m, &s);
	assert_int_equal(s.values.at[1].verdict, VALUE_INCONCLUSIVE);
	assert_true(s.values.at[1].effect.high < 0);
	HAS(s.values.at[1].evidence, "interrupted after 100 rounds");
	assert_null(strstr(s.evidence, "fastest"));
}

static void what_was_not_measured_keeps_its_verdict(void **state)
{
	struct session *session = *state;
	struct rng rng;
	rng_seed(&rng, 10);
	struct survey_measurement m = simulated(&session->arena, &rng, 4, 60, (double[]){3, 1, 1, 1, 3}, 0.004, 0.01);
	struct survey s = survey_new(&session->arena, 4, 0);
	for (size_t i = 0; i < m.rounds.count; i++)
		m.rounds.at[i].samples[2].iterations = 0;
	m.candidates = 2;
	s.values.at[2].verdict = VALUE_MISSING;
	s.values.at[2].evidence = "this CPU has x, but the driver says: no";
	m.failures[3] = "it failed: killed by SIGSEGV";
	judge_survey(session, &m, &s);
	assert_int_equal(s.values.at[2].verdict, VALUE_MISSING);
	assert_false(s.values.at[2].effect.known || s.values.at[2].ns > 0);
	assert_int_equal(s.values.at[3].verdict, VALUE_FAILED);
	HAS(s.evidence, "missing from the build: c");
	HAS(s.evidence, "failed: d");
	HAS(s.evidence, "fastest: b");
	/* A survey over one candidate has all of alpha for it. */
	assert_true(s.interval_alpha == 0.01 / 3);
}

/* b is the fastest, but rounds otherwise than a; so does d, which is slower. */
static void rounding_needs_a_confirmation(void **state)
{
	struct session *session = *state;
	struct rng rng;
	rng_seed(&rng, 11);
	struct survey_measurement m = simulated(&session->arena, &rng, 4, 200, (double[]){3, 1, 2, 4, 3}, 0.004, 0.01);
	struct survey s = survey_new(&session->arena, 4, 0);
	s.values.at[1].rounding = s.values.at[3].rounding = "record 1 \"sum\" is rounded otherwise";
	judge_survey(session, &m, &s);
	struct survey_value *b = &s.values.at[1], *d = &s.values.at[3];
	assert_true(b->unconfirmed && b->verdict == VALUE_INCONCLUSIVE && b->effect.high < 0);
	HAS(b->evidence, "rests on a contract that nobody has confirmed: record 1 \"sum\" is rounded otherwise; measured: -66.");
	/* That something is slower needs no contract. */
	assert_true(!d->unconfirmed && d->verdict == VALUE_SLOWER);
	assert_int_equal(s.values.at[2].verdict, VALUE_FASTER);
	assert_int_equal(s.top, 2);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(s.values.at[i].among_fastest, i == 2);
	assert_true(!b->against_top.known && s.values.at[0].against_top.known);
	HAS(s.evidence, "fastest of those that round as a does: c, every other takes at least 4");
	HAS(s.evidence, "rounded otherwise, which nobody has confirmed (--accept-contract, or in assay.yaml under `contracts`, "
	    "finding: survey:n): b, d");
	HAS(s.evidence, "inconclusive: b");
	/* Judged again it is the same, and confirmed it is the fastest. */
	judge_survey(session, &m, &s);
	assert_true(b->unconfirmed && s.top == 2);
	s.contract_accepted = "jd: three digits are shown";
	judge_survey(session, &m, &s);
	assert_true(!b->unconfirmed && b->verdict == VALUE_FASTER && b->among_fastest && s.top == 1);
	HAS(s.evidence, "fastest: b, every other takes at least 9");
	assert_null(strstr(s.evidence, "nobody has confirmed"));
	/* What Holm's gate alone calls faster needs it as well. */
	s.contract_accepted = NULL;
	m = simulated(&session->arena, &rng, 4, 13, (double[]){3, 1, 2, 4, 3}, 0.004, 0.01);
	judge_survey(session, &m, &s);
	assert_int_not_equal(b->verdict, VALUE_FASTER);
	assert_false(b->among_fastest);
}

/* ---- error rates ---------------------------------------------------------------------------------------------------- */

/* Five values that are the same: how often is anything said to differ, at any of three looks? */
static void equal_values_rarely_differ(void **state)
{
	struct session *session = *state;
	enum { SURVEYS = 400 };
	const double alpha = 0.1, ns[] = {1, 1, 1, 1, 1, 1};
	int wrong = 0;
	for (uint64_t k = 0; k < SURVEYS; k++) {
		struct rng rng;
		struct arena *arena = &session->arena;
		arena_release(arena);
		rng_seed(&rng, 1000 + k);
		struct survey_measurement all = simulated(arena, &rng, 5, 48, ns, 0.05, alpha);
		bool said = false;
		for (size_t blocks = 16; blocks <= 48; blocks += 16) {
			struct survey_measurement m = all;
			struct survey s = survey_new(arena, 5, 0);
			m.rounds.count = m.blocks = (uint32_t)blocks;
			judge_survey(session, &m, &s);
			for (size_t i = 0; i < 5; i++)
				said = said || s.values.at[i].verdict == VALUE_FASTER || s.values.at[i].verdict == VALUE_SLOWER ||
				       (s.values.at[i].effect.known && (s.values.at[i].effect.low > 0 || s.values.at[i].effect.high < 0));
			said = said || strstr(s.evidence, "every other takes");
		}
		wrong += said;
	}
	if (wrong > SURVEYS * alpha)
		fail_msg("%d of %d surveys of equal values said that something differs, more than %g", wrong, (int)SURVEYS, alpha);
}

/* The machine gets slower by half over the survey, also from place to place: all intervals hold the truth together. */
static void intervals_hold_under_drift(void **state)
{
	struct session *session = *state;
	enum { SURVEYS = 300, BLOCKS = 40, VALUES = 4 };
	const double alpha = 0.1, truth[] = {1, 0.8, 1, 1.05, 1};
	int missed = 0, named_wrong = 0;
	for (uint64_t k = 0; k < SURVEYS; k++) {
		struct rng rng;
		struct arena *arena = &session->arena;
		arena_release(arena);
		rng_seed(&rng, 5000 + k);
		struct survey_measurement m = measurement_new(arena, VALUES, 0, alpha);
		uint64_t iterations[VALUES + 1] = {900, 1100, 900, 900, 900};
		for (uint32_t b = 0; b < BLOCKS; b++) {
			size_t square[VALUES + 1];
			latin_draw(&rng, square, VALUES + 1);
			for (size_t row = 0; row <= VALUES; row++) {
				double times[VALUES + 1];
				for (size_t place = 0; place <= VALUES; place++) {
					size_t who = latin_at(square, VALUES + 1, row, place);
					double done = ((double)b * 25 + (double)row * 5 + (double)place) / (BLOCKS * 25.0);
					times[who] = 1000 * truth[who] * (1 + 0.5 * done) * exp(0.03 * rng_normal(&rng)) * (place == 0 ? 1.05 : 1);
				}
				round_add(arena, &m, b, (uint32_t)row, times, iterations, NULL);
			}
		}
		struct survey s = survey_new(arena, VALUES, 0);
		judge_survey(session, &m, &s);
		bool miss = false;
		for (size_t i = 1; i < VALUES; i++)
			miss = miss || log(truth[i]) < s.values.at[i].effect.low || log(truth[i]) > s.values.at[i].effect.high;
		missed += miss;
		named_wrong += !s.values.at[1].among_fastest;
	}
	if (missed > SURVEYS * alpha || named_wrong > SURVEYS * alpha)
		fail_msg("of %d surveys %d miss the truth and %d leave out the fastest", (int)SURVEYS, missed, named_wrong);
}

/* ---- the CPU's features -------------------------------------------------------------------------------------------- */

static void features_are_whole_words_of_every_cpu(void **state)
{
	(void)state;
	static const char x86[] = "processor\t: 0\nflags\t\t: fpu sse2 avx512bw\nbugs\t\t: x\n\nprocessor\t: 1\nflags\t\t: fpu sse2\n";
	assert_true(cpuinfo_has(x86, "sse2"));
	assert_true(cpuinfo_has(x86, "fpu"));
	assert_false(cpuinfo_has(x86, "sse"));
	assert_false(cpuinfo_has(x86, "avx512bw")); /* of one CPU only */
	assert_false(cpuinfo_has(x86, "x"));
	assert_false(cpuinfo_has(x86, ""));
	assert_true(cpuinfo_has("Features\t: fp asimd sve\n", "asimd"));
	assert_false(cpuinfo_has("", "sse2"));
	assert_false(cpuinfo_has("flags", "flags"));
}

/* ---- the engine ------------------------------------------------------------------------------------------------------- */

static const char driver[] =
    "#include <assay/bench.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "#include <unistd.h>\n"
    "struct state { const char *impl; uint64_t sum; };\n"
    "static void *setup(struct assay_bench *b)\n"
    "{\n"
    "	struct state *s = calloc(1, sizeof *s);\n"
    "	s->impl = assay_param(b, \"impl\", \"plain\");\n"
    "	if (!strcmp(s->impl, \"absent\")) assay_unavailable(\"not compiled in\");\n"
    "	if (!strcmp(s->impl, \"broken\")) assay_fail(b, \"no tables\");\n"
    "	assay_bytes_per_iteration(b, 4096);\n"
    "	return s;\n"
    "}\n"
    "static void run(void *state, uint64_t n)\n"
    "{\n"
    "	struct state *s = state;\n"
    "	int steps = strcmp(s->impl, \"slow\") ? 100 : 1500;\n"
    "	if (!strcmp(s->impl, \"crash\") && !access(FOLDER \"/now\", F_OK)) abort();\n"
    "	for (uint64_t i = 0; i < n; i++)\n"
    "		for (int k = 0; k < steps; k++) { s->sum += (uint64_t)k; assay_keep(s); }\n"
    "	s->sum = 0;\n"
    "}\n"
    "static void output(void *state, struct assay_bench *b)\n"
    "{\n"
    "	struct state *s = state;\n"
    "	uint64_t out = s->sum + !strcmp(s->impl, \"wrong\");\n"
    "	assay_output(b, \"sum\", &out, sizeof out);\n"
    "}\n"
    "const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .teardown = free};\n";

static struct arena files;
static const char *folder;

static void file_put(const char *name, const char *text)
{
	FILE *file = fopen(arena_printf(&files, "%s/%s", folder, name), "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void run_ok(const char *command)
{
	struct proc_request request = {.cpu = -1, .timeout_s = 60};
	struct proc_result result;
	list_push(&files, &request.argv, "sh");
	list_push(&files, &request.argv, "-c");
	list_push(&files, &request.argv, command);
	assert_int_equal(proc_run(&files, &request, &result, NULL), ST_OK);
	if (!proc_ok(&result))
		fail_msg("%s: %s", command, result.err);
}

static int group_setup(void **state)
{
	(void)state;
	arena_init(&files);
	char template[] = "/tmp/assay-survey-test-XXXXXX";
	if (!mkdtemp(template))
		return -1;
	folder = arena_strdup(&files, template);
	mkdir(arena_printf(&files, "%s/assay", folder), 0700);
	file_put("assay/bench.h", embedded_bench_h);
	file_put("runtime.c", embedded_runtime_c);
	file_put("driver.c", driver);
	run_ok(arena_printf(&files, "cd %s && cc -O1 -I. '-DFOLDER=\"%s\"' driver.c runtime.c -o program -lpthread", folder, folder));
	return 0;
}

static int group_teardown(void **state)
{
	(void)state;
	run_ok(arena_printf(&files, "rm -r %s", folder));
	arena_release(&files);
	return 0;
}

static struct binding_list with_impl(struct arena *arena, const char *impl)
{
	struct binding_list params = {0};
	struct binding binding = {"impl", impl};
	list_push(arena, &params, binding);
	return params;
}

static void values_say_whether_they_can_run(void **state)
{
	struct session *session = *state;
	struct variant variant = {.program = arena_printf(&files, "%s/program", folder)};
	const char *unavailable, *failure;
	static const struct {
		const char *impl, *unavailable, *failure;
	} table[] = {{"plain", NULL, NULL}, {"absent", "not compiled in", NULL}, {"broken", NULL, "exit status 3: no tables"}};
	for (size_t i = 0; i < 3; i++) {
		struct binding_list params = with_impl(&session->arena, table[i].impl);
		assert_int_equal(value_probe(session, &variant, &params, 20, &unavailable, &failure, NULL), ST_OK);
		assert_int_equal(unavailable != NULL, table[i].unavailable != NULL);
		assert_int_equal(failure != NULL, table[i].failure != NULL);
		if (unavailable)
			assert_string_equal(unavailable, table[i].unavailable);
		if (failure)
			HAS(failure, table[i].failure);
	}
	struct outputs_result result;
	struct binding_list plain = with_impl(&session->arena, "plain"), wrong = with_impl(&session->arena, "wrong"),
	                    slow = with_impl(&session->arena, "slow");
	assert_int_equal(outputs_values(session, &variant, &plain, &wrong, 20, &result, NULL), ST_OK);
	assert_int_equal(result.verdict, OUTPUTS_DIFFER);
	assert_int_equal(outputs_values(session, &variant, &plain, &slow, 20, &result, NULL), ST_OK);
	assert_int_equal(result.verdict, OUTPUTS_EQUAL);
}

struct kept {
	size_t rounds;
	size_t stop_after; /* 0: never */
	size_t crash_after;
};

static enum status keep(void *context, const struct round *round, size_t samples, struct err *err)
{
	struct kept *kept = context;
	(void)round;
	(void)err;
	assert_int_equal(samples, 4);
	if (++kept->rounds == kept->stop_after)
		interrupted = 1;
	if (kept->rounds == kept->crash_after)
		file_put("now", "");
	return ST_OK;
}

static struct survey_measurement measured(struct session *session, const char *second, struct kept *kept, double budget_s)
{
	static struct variant variant;
	variant = (struct variant){.program = arena_printf(&files, "%s/program", folder)};
	struct arena *arena = &session->arena;
	struct binding_list *params = arena_alloc(arena, 3 * sizeof *params);
	static const bool all[] = {true, true, true};
	params[0] = with_impl(arena, "plain");
	params[1] = with_impl(arena, second);
	params[2] = with_impl(arena, "slow");
	struct survey_subject subject = {.variant = &variant, .params = params, .measured = all, .count = 3};
	struct plan plan = {.seed = 4, .alpha = 0.01, .margin = 0.01, .budget_s = budget_s, .cpu = CPU_CHOOSE,
	                    .pairs_per_block = 8};
	struct round_sink sink = {.put = keep, .context = kept};
	struct survey_measurement m;
	struct err err = ERR_INIT;
	session->workdir = folder;
	if (measure_survey(session, &subject, &plan, &sink, &m, &err) != ST_OK)
		fail_msg("%s", err.text);
	return m;
}

/* Every round is a row: all take part, each at its own place; whole squares give each value each place. Counts of
 * iterations are fixed, the control has the baseline's, and one that is 15 times as slow has fewer. */
static void rounds_are_rows_of_squares(void **state)
{
	struct session *session = *state;
	struct kept kept = {.stop_after = 24};
	struct survey_measurement m = measured(session, "other", &kept, 60);
	assert_int_equal(m.stop, STOP_INTERRUPTED);
	assert_int_equal(kept.rounds, 24);
	assert_int_equal(m.rounds.count, 24);
	assert_int_equal(m.candidates, 2);
	assert_int_equal(m.bytes_per_iteration[2], 4096);
	unsigned at[4][4] = {{0}};
	for (size_t i = 0; i < m.rounds.count; i++) {
		const struct round *round = &m.rounds.at[i];
		unsigned places = 0;
		for (size_t k = 0; k < 4; k++) {
			assert_true(round->samples[k].iterations > 0 && round->samples[k].ns > 0);
			assert_true(round->samples[k].iterations == m.rounds.at[0].samples[k].iterations);
			places |= 1u << round->samples[k].place;
			at[k][round->samples[k].place]++;
		}
		assert_int_equal(places, 15);
		assert_true(round->samples[3].iterations == round->samples[0].iterations);
		assert_true(round->samples[2].iterations < round->samples[0].iterations);
	}
	for (size_t k = 0; k < 4; k++)
		for (size_t place = 0; place < 4; place++)
			assert_int_equal(at[k][place], 6);
}

/* One that crashes in the middle is left out from there on; the others go on and are counted as planned. */
static void a_value_that_fails_stops_no_other(void **state)
{
	struct session *session = *state;
	struct kept kept = {.stop_after = 40, .crash_after = 20};
	struct survey_measurement m = measured(session, "crash", &kept, 60);
	assert_int_equal(m.stop, STOP_INTERRUPTED);
	assert_non_null(m.failures[1]);
	HAS(m.failures[1], "killed by SIGABRT");
	assert_null(m.failures[2]);
	assert_int_equal(m.candidates, 2);
	assert_true(m.rounds.at[19].samples[1].iterations > 0);
	const struct round *last = &m.rounds.at[m.rounds.count - 1];
	assert_true(last->samples[1].iterations == 0);
	assert_true(last->samples[0].iterations && last->samples[2].iterations && last->samples[3].iterations);
	struct survey s = survey_new(&session->arena, 3, 0);
	judge_survey(session, &m, &s);
	assert_int_equal(s.values.at[1].verdict, VALUE_FAILED);
}

static void the_budget_ends_it(void **state)
{
	struct session *session = *state;
	struct kept kept = {0};
	struct survey_measurement m = measured(session, "other", &kept, 0.3);
	/* On a machine that nobody else uses it may be decided by then. */
	assert_true(m.stop == STOP_BUDGET || m.stop == STOP_DECIDED);
	assert_int_equal(kept.rounds, m.rounds.count);
	assert_true(access(arena_printf(&files, "%s/survey", folder), F_OK) != 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_square_gives_each_every_place_once),
		TEST(orders_are_equally_likely),
		TEST(alpha_is_shared_by_what_is_said),
		TEST(block_medians_are_of_what_is_clean),
		TEST(the_top_is_of_those_that_may_lead),
		TEST(verdicts_and_the_fastest),
		TEST(a_tie_has_no_fastest),
		TEST(few_blocks_name_no_fastest),
		TEST(nothing_is_judged_without_its_control),
		TEST(what_was_not_measured_keeps_its_verdict),
		TEST(rounding_needs_a_confirmation),
		TEST(equal_values_rarely_differ),
		TEST(intervals_hold_under_drift),
		TEST(features_are_whole_words_of_every_cpu),
		TEST(values_say_whether_they_can_run),
		TEST(rounds_are_rows_of_squares),
		TEST(a_value_that_fails_stops_no_other),
		TEST(the_budget_ends_it),
	};
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
