/* Takes the rounds of a survey: all values of a parameter, and the baseline once more as the control, side by side.
 *
 * As for pairs (measure.c, docs/adr/0002, 0005) a block is fresh processes, one for each value, pinned to one CPU and driven
 * in turn; a block's median is one value of the confidence sequences. In every round each process takes one sample, in the
 * order of one row of a random cyclic Latin square, with a fresh square when its rows are used up: each value is as often
 * first, second and last, and after the rows' permutation is drawn each order is as likely as any other. So for two values
 * that are the same code, exchanging them changes nothing but the sign of the block's median log-ratio, whatever the machine
 * does: each sign is exactly fair. Which process starts first is a permutation of its own.
 *
 * Implementations of one thing may differ fifteenfold, so the values don't share one count of iterations: with the
 * slowest's, the fastest would be done before the clock has told anything, with the fastest's one sample of the slowest would
 * take the budget. Each value has the count that makes its sample as long as the target, drawn from its own speed before the
 * first round and never changed, and what is compared is the time of one iteration. That is as fair: what a sample costs
 * besides its iterations (a call, two readings of the clock) is the same share of samples that are equally long. Where
 * speeds are near each other, so that this share could be mistaken for a difference, the values do share one count: all
 * that are within ALIKE of the baseline have the baseline's, the control too.
 *
 * All values run from one copy of the program for each block: they are one program in practice, too. The words that name the
 * value would move the stack by their length, so every process has an environment variable that makes up for it.
 */
#include "stage/measure.h"

#include "base/latin.h"
#include "port/workload.h"
#include "stage/stages.h"

#include <math.h>
#include <unistd.h>

enum { RUNNERS_MAX = SURVEY_VALUES_MAX + 1 };

static const double ALIKE = 1.5;
static const double MESSAGES_S = 100e-6; /* what assay and the wake-up of a sample cost */

/* One process of a block. */
struct runner {
	size_t index; /* of the round's samples: the value, or behind them the control */
	const struct binding_list *params;
	const char *padding;
	struct proc_child child;
	double ns_per_iteration; /* 0: not known yet */
	double start_s;
	uint64_t iterations, prime, warm;
	bool active;
	struct cseq cseq; /* of the block ratios against the baseline */
};

struct engine {
	struct course course;
	const struct survey_subject *subject;
	const struct round_sink *sink;
	struct survey_measurement *measurement;
	struct arena block_arena;
	struct runner runners[RUNNERS_MAX];
	size_t count; /* runners */
	struct runner *baseline, *control;
	struct rng rng;
	size_t square[RUNNERS_MAX], row; /* of the active runners */
	size_t rows; /* 0: a square has yet to be drawn */
	struct block_cost cost;
	uint32_t rounds_per_block;
	bool calibrated, block_over;
};

/* ---- ending ----------------------------------------------------------------------------------------------------- */

static bool is_control(const struct engine *engine, const struct runner *runner)
{
	return runner == engine->control;
}

/* Without the baseline nothing can be compared; any other value is left out from here on, and the block in flight ends. */
static void runner_fail(struct engine *engine, struct runner *runner, const char *text)
{
	struct survey_measurement *measurement = engine->measurement;
	engine->block_over = true;
	runner->active = false;
	engine->rows = 0;
	if (runner == engine->baseline || is_control(engine, runner)) {
		measurement->failure = text;
		course_stop(&engine->course, STOP_FAILED);
		return;
	}
	measurement->failures[runner->index] = text;
	size_t left = 0;
	for (size_t i = 0; i < engine->count; i++)
		left += engine->runners[i].active;
	if (left <= 2)
		course_stop(&engine->course, STOP_DECIDED);
}

/* What a process's silence or end means. True when there is none. */
static bool runner_check(struct engine *engine, struct runner *runner, enum status status, double expected_s, double limit_s,
                         const char *doing, const struct err *trouble)
{
	struct arena *arena = &engine->course.session->arena;
	switch (status) {
	case ST_OK:
		return true;
	case ST_INTERRUPTED:
		course_stop(&engine->course, STOP_INTERRUPTED);
		return false;
	case ST_TIMEOUT:
		/* When the budget ended while an answer was still due, nothing is wrong with the program. */
		if (limit_s < 20 * expected_s + LIMIT_FAIR_S)
			course_stop(&engine->course, STOP_BUDGET);
		else
			runner_fail(engine, runner, arena_printf(arena, "it %s: no answer within %.3g s", doing, limit_s));
		return false;
	case ST_INPUT:
		runner_fail(engine, runner, arena_printf(arena, "it %s: %s", doing, proc_child_said(arena, &runner->child, SAID_LINES)));
		return false;
	case ST_USAGE:
	case ST_SYSTEM:
		course_error(&engine->course, status, trouble->text);
		err_context(&engine->course.err, "measuring a survey");
		return false;
	}
	BUG("status %d", (int)status);
}

/* ---- processes ---------------------------------------------------------------------------------------------------- */

static bool runner_start(struct engine *engine, struct runner *runner, const char *program)
{
	struct session *session = engine->course.session;
	struct survey_measurement *measurement = engine->measurement;
	struct proc_request request =
	    workload_request(&engine->block_arena, program, runner->params, session->run.seed, "--serve", NULL);
	request.cpu = measurement->plan.cpu >= 0 ? measurement->plan.cpu : -1;
	request.realtime = engine->course.realtime;
	request.interrupted = session->interrupted;
	list_push(&engine->block_arena, &request.env, runner->padding);
	double expected = runner->start_s, started = proc_now();
	double limit = course_limit_start(&engine->course, expected);
	struct bench_reply ready = {0};
	struct err trouble = ERR_INIT;
	enum status status = workload_start(&request, limit, &runner->child, &ready, &trouble);
	runner->start_s = proc_now() - started;
	if (status == ST_OK && ready.threads > 1) {
		course_error(&engine->course, ST_INPUT, "surveys of workloads of several threads can't be measured yet");
		return false;
	}
	if (!is_control(engine, runner) && status == ST_OK)
		measurement->bytes_per_iteration[runner->index] = ready.bytes_per_iteration;
	return runner_check(engine, runner, status, expected, limit, "failed in its set-up", &trouble);
}

static bool block_start(struct engine *engine)
{
	struct session *session = engine->course.session;
	size_t order[RUNNERS_MAX];
	arena_release(&engine->block_arena);
	const char *program = engine->subject->variant->program;
	const char *copy = session->workdir ? arena_printf(&engine->block_arena, "%s/survey", session->workdir) : NULL;
	if (copy && workload_copy(program, copy, COPY_MAX_BYTES))
		program = copy;
	latin_draw(&engine->rng, order, engine->count);
	for (size_t i = 0; i < engine->count; i++) {
		struct runner *runner = &engine->runners[order[i]];
		if (runner->active && !runner_start(engine, runner, program))
			return false;
	}
	return true;
}

static void block_end(struct engine *engine)
{
	struct proc_child *children[RUNNERS_MAX];
	for (size_t i = 0; i < engine->count; i++)
		children[i] = &engine->runners[i].child;
	children_end(children, engine->count, !engine->course.done && !engine->block_over);
}

/* ---- samples ------------------------------------------------------------------------------------------------------- */

static bool runner_sample(struct engine *engine, struct runner *runner, uint64_t prime, uint64_t iterations,
                          struct bench_reply *ret_reply)
{
	double expected = 1e-9 * runner->ns_per_iteration * (double)(prime + iterations);
	double limit = course_limit(&engine->course, expected);
	struct err trouble = ERR_INIT;
	enum status status = workload_sample(&runner->child, prime, iterations, limit, engine->course.session->interrupted,
	                                     ret_reply, &trouble);
	if (!runner_check(engine, runner, status, expected, limit, "failed", &trouble))
		return false;
	runner->ns_per_iteration = (double)ret_reply->ns / (double)iterations;
	engine->measurement->measured_s += 1e-9 * (double)ret_reply->ns;
	return true;
}

/* The least time that `n` iterations took of a few tries: one that was preempted must not count. */
static bool runner_least(struct engine *engine, struct runner *runner, uint64_t n, double *ret_ns)
{
	*ret_ns = INFINITY;
	for (int i = 0; i < CALIBRATION_TRIES; i++) {
		struct bench_reply reply;
		if (!runner_sample(engine, runner, 0, n, &reply))
			return false;
		*ret_ns = fmin(*ret_ns, fmax((double)reply.ns, 1));
		if (*ret_ns >= (double)PRIME_NONE_ABOVE_NS)
			break;
	}
	return true;
}

/* The time of one iteration, when caches are warm. */
static bool runner_speed(struct engine *engine, struct runner *runner, double *ret_ns)
{
	double target = (double)engine->measurement->plan.sample_target_ns, least;
	uint64_t n = 1;
	for (;;) {
		if (!runner_least(engine, runner, n, &least))
			return false;
		if (least >= target / 2 || n >= UINT64_C(1) << 40)
			break;
		n = (uint64_t)((double)n * fmin(fmax(target / least, 2), 10));
	}
	*ret_ns = least / (double)n;
	if (*ret_ns >= (double)WARM_NS)
		return true;
	/* The first iterations find cold caches and new pages: short ones are timed again when they have run for a while. */
	uint64_t warm = at_least_one((double)WARM_NS / *ret_ns);
	if (!runner_least(engine, runner, warm, &least) || !runner_least(engine, runner, warm, &least))
		return false;
	*ret_ns = least / (double)warm;
	return true;
}

static void runner_counts(struct runner *runner, double target, double counted_ns, double own_ns)
{
	runner->iterations = at_least_one(target / counted_ns);
	runner->prime = own_ns >= (double)PRIME_NONE_ABOVE_NS ? 0 : at_least_one((double)PRIME_NS / counted_ns + 0.5);
	runner->warm = at_least_one((double)WARM_NS / counted_ns);
}

/* Sets the counts of iterations, once. */
static bool engine_calibrate(struct engine *engine)
{
	double target = (double)engine->measurement->plan.sample_target_ns, speeds[RUNNERS_MAX] = {0};
	for (size_t i = 0; i < engine->count; i++)
		if (engine->runners[i].active && !runner_speed(engine, &engine->runners[i], &speeds[i]))
			return false;
	double base = speeds[engine->baseline - engine->runners];
	for (size_t i = 0; i < engine->count; i++) {
		struct runner *runner = &engine->runners[i];
		if (!runner->active)
			continue;
		bool alike = is_control(engine, runner) || (speeds[i] < base * ALIKE && base < speeds[i] * ALIKE);
		double counted = alike ? base : speeds[i];
		/* Others that are alike among themselves share the count of the fastest of them. */
		for (size_t k = 0; k < engine->count && !alike; k++) {
			bool apart = !(speeds[k] < base * ALIKE && base < speeds[k] * ALIKE);
			if (engine->runners[k].active && apart && speeds[k] < counted && speeds[i] < speeds[k] * ALIKE)
				counted = speeds[k];
		}
		runner_counts(runner, target, counted, speeds[i]);
		runner->ns_per_iteration = speeds[i];
	}
	engine->calibrated = true;
	return true;
}

/* All of them in turn, until none touches new pages. */
static bool block_warm(struct engine *engine)
{
	for (int round = 0; round < WARM_ROUNDS_MAX; round++) {
		bool faulted = false;
		for (size_t i = 0; i < engine->count; i++) {
			struct bench_reply reply;
			if (!engine->runners[i].active)
				continue;
			if (!runner_sample(engine, &engine->runners[i], 0, engine->runners[i].warm, &reply))
				return false;
			faulted = faulted || (reply.flags & BENCH_PAGE_FAULT && reply.ns < 50 * WARM_NS);
		}
		if (!faulted)
			break;
	}
	return true;
}

/* ---- rounds --------------------------------------------------------------------------------------------------------- */

static size_t active_count(const struct engine *engine)
{
	size_t active = 0;
	for (size_t i = 0; i < engine->count; i++)
		active += engine->runners[i].active;
	return active;
}

/* As many rounds as cost what a start costs, and whole squares where the budget affords them. */
static void engine_choose_rounds(struct engine *engine, double start_s)
{
	const struct survey_measurement *measurement = engine->measurement;
	block_cost_start(&engine->cost, start_s);
	engine->rounds_per_block = measurement->plan.pairs_per_block;
	if (engine->rounds_per_block)
		return;
	double round_s = 0, longest_s = 0;
	for (size_t i = 0; i < engine->count; i++) {
		const struct runner *runner = &engine->runners[i];
		if (!runner->active)
			continue;
		round_s += 1e-9 * runner->ns_per_iteration * (double)(runner->iterations + runner->prime) + MESSAGES_S;
		longest_s = fmax(longest_s, 1e-9 * runner->ns_per_iteration * (double)runner->iterations);
	}
	double affordable =
	    block_affordable(&engine->course, &engine->cost, measurement->blocks, measurement->rounds.count, round_s);
	double wanted = fmax(ceil(engine->cost.start_s / round_s), block_least(longest_s));
	double square = (double)active_count(engine);
	wanted = fmin(square * ceil(wanted / square), SAMPLES_PER_BLOCK_MAX);
	engine->rounds_per_block = (uint32_t)fmax(fmin(wanted, affordable), 1);
}

static void round_keep(struct engine *engine, const struct round *round)
{
	const struct round_sink *sink = engine->sink;
	struct err trouble = ERR_INIT;
	list_push(&engine->course.session->arena, &engine->measurement->rounds, *round);
	if (!sink || !sink->put || engine->course.sink_failed)
		return;
	if (sink->put(sink->context, round, engine->measurement->values + 1, &trouble) != ST_OK)
		course_unstored(&engine->course, "survey", &trouble);
}

/* The next row of the square, a fresh square when there is none. */
static void square_row(struct engine *engine, struct runner **ret_order, size_t *ret_count)
{
	struct runner *active[RUNNERS_MAX];
	size_t count = 0;
	for (size_t i = 0; i < engine->count; i++)
		if (engine->runners[i].active)
			active[count++] = &engine->runners[i];
	if (engine->rows != count || engine->row == count) {
		latin_draw(&engine->rng, engine->square, count);
		engine->rows = count;
		engine->row = 0;
	}
	for (size_t place = 0; place < count; place++)
		ret_order[place] = active[latin_at(engine->square, count, engine->row, place)];
	engine->row++;
	*ret_count = count;
}

/* *ret_clean false: a sample was migrated or preempted. */
static bool block_round(struct engine *engine, uint32_t index, bool *ret_clean)
{
	struct survey_measurement *measurement = engine->measurement;
	struct runner *order[RUNNERS_MAX];
	size_t count = 0;
	struct round round = {.block = measurement->blocks, .index = index};
	round.samples = arena_alloc(&engine->course.session->arena, (measurement->values + 1) * sizeof *round.samples);
	/* Threads on several CPUs are moved and wait for each other: that belongs to their work. */
	uint32_t ignored = measurement->plan.cpu >= 0 ? 0 : BENCH_MIGRATED | BENCH_PREEMPTED;
	*ret_clean = true;
	square_row(engine, order, &count);
	for (size_t place = 0; place < count; place++) {
		struct runner *runner = order[place];
		struct bench_reply reply;
		if (!runner_sample(engine, runner, runner->prime, runner->iterations, &reply))
			return false;
		round.samples[runner->index] = (struct round_sample){.iterations = runner->iterations,
		                                                     .ns = reply.ns,
		                                                     .flags = reply.flags & ~ignored,
		                                                     .place = (uint32_t)place};
		*ret_clean = *ret_clean && !(reply.flags & ~ignored & (BENCH_MIGRATED | BENCH_PREEMPTED));
	}
	round_keep(engine, &round);
	return true;
}

static void block_rounds(struct engine *engine)
{
	/* Rounds that were disturbed are made up for, up to as many again. */
	for (uint32_t i = 0, clean = 0; clean < engine->rounds_per_block && i < 2 * engine->rounds_per_block; i++) {
		bool undisturbed;
		if (!block_round(engine, i, &undisturbed))
			return;
		clean += undisturbed;
		course_tick(&engine->course);
		course_look(&engine->course);
		if (engine->course.done)
			return;
	}
}

/* ---- deciding ------------------------------------------------------------------------------------------------------- */

/* Adds the block's value to the runner's sequence. */
static bool runner_add(struct engine *engine, struct runner *runner, const struct survey_measurement *block)
{
	double *ratios = arena_alloc(&engine->block_arena, block->rounds.count * sizeof *ratios);
	size_t count = rounds_block_ratios(block, runner->index, block->baseline, false, ratios);
	return count == 0 || course_add(&engine->course, &runner->cseq, ratios[0]);
}

static bool runner_decided(const struct engine *engine, const struct runner *runner)
{
	double low, high;
	cseq_interval(&runner->cseq, &low, &high);
	/* The control says nothing about the machine before its interval is bounded. */
	if (is_control(engine, runner))
		return isfinite(low) && isfinite(high);
	return stat_decide(low, high, engine->course.margin) != DECISION_OPEN;
}

/* Which value leads is asked only once all are decided against the baseline, and more rarely the more blocks there are: it
 * is computed anew from all rounds. */
static bool top_decided(struct engine *engine)
{
	const struct survey_measurement *measurement = engine->measurement;
	double alpha = survey_interval_alpha(measurement->plan.alpha, measurement->candidates);
	bool may_lead[SURVEY_VALUES_MAX] = {false}, decided = true;
	struct effect against[SURVEY_VALUES_MAX];
	size_t top = measurement->baseline;
	if (measurement->blocks % (1 + measurement->blocks / 50) != 0)
		return false;
	double *scratch = arena_alloc(&engine->block_arena, measurement->rounds.count * sizeof *scratch);
	for (size_t i = 0; i < engine->count; i++)
		if (engine->runners[i].active && !is_control(engine, &engine->runners[i]))
			may_lead[engine->runners[i].index] =
			    !engine->subject->may_lead || engine->subject->may_lead[engine->runners[i].index];
	if (!rounds_top(measurement, may_lead, alpha, scratch, &top, against))
		return true;
	for (size_t i = 0; i < measurement->values && decided; i++)
		if (may_lead[i] && i != top)
			decided = stat_decide(against[i].low, against[i].high, engine->course.margin) != DECISION_OPEN;
	return decided;
}

/* Adds the block that `first_round` begins, and looks whether all is decided. */
static void block_judge(struct engine *engine, size_t first_round)
{
	struct survey_measurement *measurement = engine->measurement;
	struct survey_measurement block = *measurement;
	block.rounds.at += first_round;
	block.rounds.count -= first_round;
	if (block.rounds.count == 0)
		return;
	measurement->blocks++;
	bool decided = true;
	for (size_t i = 0; i < engine->count; i++) {
		struct runner *runner = &engine->runners[i];
		if (!runner->active || runner == engine->baseline)
			continue;
		if (!runner_add(engine, runner, &block))
			return;
		decided = decided && runner_decided(engine, runner);
	}
	if (decided && top_decided(engine))
		course_stop(&engine->course, STOP_DECIDED);
}

static void engine_block(struct engine *engine)
{
	size_t first_round = engine->measurement->rounds.count;
	engine->block_over = false;
	double started = proc_now();
	bool ready = block_start(engine);
	double start_s = proc_now() - started;
	if (ready && !engine->calibrated)
		ready = engine_calibrate(engine);
	double warm_started = proc_now();
	ready = ready && block_warm(engine);
	start_s += proc_now() - warm_started;
	engine->cost.starts_wall_s += start_s;
	if (ready)
		engine_choose_rounds(engine, start_s);
	double rounds_started = proc_now();
	if (ready)
		block_rounds(engine);
	engine->cost.samples_wall_s += proc_now() - rounds_started;
	block_end(engine);
	block_judge(engine, first_round);
}

static void engine_run(struct engine *engine)
{
	struct survey_measurement *measurement = engine->measurement;
	course_cpu_leave(&engine->course, true);
	while (!engine->course.done)
		engine_block(engine);
	course_cpu_return(&engine->course);
	measurement->elapsed_s = proc_now() - engine->course.started;
	if (engine->course.session->workdir)
		unlink(arena_printf(&engine->block_arena, "%s/survey", engine->course.session->workdir));
	for (size_t i = 0; i < engine->count; i++)
		cseq_release(&engine->runners[i].cseq);
	arena_release(&engine->block_arena);
}

/* Values of the environment variable that make all processes' words equally long in sum. */
static const char *padding_of(struct arena *arena, const struct binding_list *params, size_t longest)
{
	size_t length = 0;
	for (size_t i = 0; i < params->count; i++)
		length += strlen(params->at[i].value);
	return arena_printf(arena, "ASSAY_VALUE=%0*d", (int)(longest - length + 1), 0);
}

static void runners_make(struct engine *engine)
{
	const struct survey_subject *subject = engine->subject;
	size_t longest = 0;
	for (size_t i = 0; i < subject->count; i++) {
		size_t length = 0;
		for (size_t k = 0; k < subject->params[i].count; k++)
			length += strlen(subject->params[i].at[k].value);
		longest = length > longest ? length : longest;
	}
	for (size_t i = 0; i <= subject->count; i++) {
		bool control = i == subject->count;
		if (!control && !subject->measured[i])
			continue;
		struct runner *runner = &engine->runners[engine->count++];
		const struct binding_list *params = &subject->params[control ? subject->baseline : i];
		double alpha = engine->measurement->plan.alpha;
		*runner = (struct runner){.index = i, .params = params, .active = true,
		                          .padding = padding_of(&engine->course.session->arena, params, longest)};
		runner->child = PROC_CHILD_INIT;
		cseq_init(&runner->cseq, control ? alpha : survey_interval_alpha(alpha, engine->measurement->candidates));
		if (i == subject->baseline)
			engine->baseline = runner;
		if (control)
			engine->control = runner;
	}
}

enum status measure_survey(struct session *session, const struct survey_subject *subject, const struct plan *plan,
                           const struct round_sink *sink, struct survey_measurement *ret_measurement, struct err *err)
{
	struct arena *arena = &session->arena;
	if (!subject->variant->program)
		return err_set(err, ST_INPUT, "there is no program to measure: link it first");
	if (subject->count > SURVEY_VALUES_MAX || !subject->measured[subject->baseline])
		BUG("a survey of %zu values without its baseline", subject->count);
	*ret_measurement = (struct survey_measurement){.plan = *plan, .stop = STOP_BUDGET, .values = subject->count,
	                                               .baseline = subject->baseline};
	ret_measurement->failures = arena_alloc(arena, subject->count * sizeof *ret_measurement->failures);
	ret_measurement->bytes_per_iteration = arena_alloc(arena, subject->count * sizeof(uint64_t));
	for (size_t i = 0; i < subject->count; i++)
		ret_measurement->candidates += i != subject->baseline && subject->measured[i];
	if (ret_measurement->plan.sample_target_ns == 0)
		ret_measurement->plan.sample_target_ns = DEFAULT_TARGET_NS;
	enum status status = cpu_choose(session, &subject->variant, 1, &ret_measurement->plan, err);
	if (status != ST_OK)
		return status;
	struct engine engine = {.subject = subject, .sink = sink, .measurement = ret_measurement};
	course_open(&engine.course, session, &ret_measurement->plan, &ret_measurement->stop);
	runners_make(&engine);
	arena_init(&engine.block_arena);
	rng_seed(&engine.rng, plan->seed);
	engine_run(&engine);
	return course_close(&engine.course, err);
}
