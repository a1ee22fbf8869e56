/* Takes pairs. The reasons for each rule are in docs/METHODOLOGY.md and docs/adr/0002.
 *
 * A block is a pair of fresh processes, one a variant, pinned to one CPU and driven in turn. Which of the two is
 * started first, which file name each program gets and which side goes first in every pair is decided by a coin, so when
 * both sides are the same code, swapping them changes nothing but the sign of the block's median log-ratio: each sign is
 * exactly fair, whatever the machine does. Pairs inside a block share their processes' luck with addresses, pages and
 * cache colours; so the block's median counts as one value, and the confidence sequence runs over blocks.
 *
 * Each program is copied to a new file for each block, so that the physical pages of its code are drawn anew as well.
 *
 * A workload of several threads has a CPU for each of them, and before the first sample it tells what a cache-line
 * transfer between those costs: where that can't be seen, nothing is measured.
 *
 * Over layouts, each program is linked to a new file for each block instead, at addresses that the block's seed draws:
 * each side at its own, independently, so that two programs of one source are exchangeable and the median of their ratio
 * is 0. (At the same addresses it need not be: with f the time at an address and p bytes of padding, f(a + p) - f(a) has
 * the mean 0 over all a, but not the median.) Then a block is one draw of layouts, and the same sequence runs over them.
 */
#include "stage/measure.h"

#include "port/layout.h"
#include "port/workload.h"
#include "stage/stages.h"

#include <math.h>
#include <unistd.h>

enum { STACK_OFFSET_MAX = 4096 }; /* of an environment variable: moves the stack, also where addresses are not random */

static const uint64_t SAMPLE_MAX_NS = 20000000; /* of the slower side, when the sides are far apart */
static const double LIMIT_FAIR_FIRST_S = 0.1; /* as LIMIT_FAIR_S, of a side that has not answered before */
static const double TRANSFER_PAIR_S = 0.02; /* what the runtime takes for two CPUs */
static const double MESSAGES_S = 200e-6; /* what assay and the two wake-ups of a pair cost */

struct side {
	const char *name;
	const struct variant *variant;
	struct layout layout; /* over layouts */
	struct proc_child child;
	double ns_per_iteration; /* 0: not known yet */
	double start_s;
	unsigned threads, cpus; /* that it has, and CPUs for them */
};

struct engine {
	struct course course;
	const struct binding_list *params;
	const struct sample_sink *sink;
	struct measurement *measurement;
	struct arena block_arena;
	struct side sides[2];
	struct rng rng;
	struct cseq cseq;
	struct block_cost cost;
	uint64_t prime, warm;
	double iteration_s; /* the sides' mean */
	uint32_t pairs_per_block;
	struct cpu_list cpus; /* for threads, in the order in which they get them */
	uint64_t layout_seed; /* of the current block; 0: as built */
	unsigned first; /* BASELINE or CANDIDATE: of the current block, by coin */
	bool copy_failed;
};

/* ---- ending -------------------------------------------------------------------------------------------------------- */

/* What a side's silence or end means. Returns true when there is none. */
static bool side_check(struct engine *engine, struct side *side, enum status status, double expected_s, double limit_s,
                       const char *doing, struct err *trouble)
{
	struct arena *arena = &engine->course.session->arena;
	struct measurement *measurement = engine->measurement;
	const char *what = NULL;
	switch (status) {
	case ST_OK:
		return true;
	case ST_INTERRUPTED:
		course_stop(&engine->course, STOP_INTERRUPTED);
		return false;
	case ST_TIMEOUT:
		/* When the budget ended while an answer was still due, nothing is wrong with the program. */
		if (limit_s < 20 * expected_s + (measurement->pairs.count ? LIMIT_FAIR_S : LIMIT_FAIR_FIRST_S)) {
			course_stop(&engine->course, STOP_BUDGET);
			return false;
		}
		what = arena_printf(arena, "no answer within %.3g s", limit_s);
		break;
	case ST_INPUT:
		what = proc_child_said(arena, &side->child, SAID_LINES);
		break;
	case ST_USAGE:
	case ST_SYSTEM:
		course_error(&engine->course, status, trouble->text);
		err_context(&engine->course.err, "measuring the %s", side->name);
		return false;
	}
	course_stop(&engine->course, STOP_FAILED);
	measurement->candidate_failed = side == &engine->sides[CANDIDATE];
	measurement->failure = arena_printf(arena, "the %s %s: %s", side->name, doing, what);
	return false;
}

/* ---- processes ------------------------------------------------------------------------------------------------------- */

/* A fresh copy of the program, or the program itself when it can't be copied. */
static const char *program_copy(struct engine *engine, const char *program, unsigned place)
{
	struct session *session = engine->course.session;
	const char *path = arena_printf(&engine->block_arena, "%s/pair%u", session->workdir, place);
	if (!session->workdir || engine->copy_failed)
		return program;
	bool copied = workload_copy(program, path, COPY_MAX_BYTES);
	/* Both sides or neither: a copy and an original are not alike. */
	engine->copy_failed = !copied;
	return copied ? path : program;
}

static bool over_layouts(const struct engine *engine)
{
	return engine->measurement->plan.layouts >= 2;
}

/* 63 bits, never 0: the block's number and the plan's seed decide, so that a layout can be made again. */
static uint64_t layout_seed(uint64_t seed, uint32_t block)
{
	struct rng rng;
	rng_seed(&rng, seed ^ (UINT64_C(0x9e3779b97f4a7c15) * (block + UINT64_C(1))));
	return (rng_next(&rng) >> 1) | 1;
}

/* The program at the block's addresses. NULL: the measurement has ended. */
static const char *program_layout(struct engine *engine, const struct side *side, unsigned place)
{
	struct session *session = engine->course.session;
	const char *path = arena_printf(&engine->block_arena, "%s/pair%u", session->workdir, place);
	struct err trouble = ERR_INIT;
	double left = course_left(&engine->course);
	unlink(path);
	bool own = side == &engine->sides[CANDIDATE] && !engine->measurement->plan.same_layout;
	uint64_t seed = own ? layout_seed(engine->layout_seed, 0) : engine->layout_seed;
	enum status status = layout_link(&engine->block_arena, &side->layout, seed, path, left > 0.001 ? left : 0.001,
	                                 session->interrupted, &trouble);
	if (status == ST_OK)
		return path;
	if (status == ST_TIMEOUT || status == ST_INTERRUPTED) {
		course_stop(&engine->course, status == ST_TIMEOUT ? STOP_BUDGET : STOP_INTERRUPTED);
		return NULL;
	}
	course_error(&engine->course, status, trouble.text);
	err_context(&engine->course.err, "measuring the %s", side->name);
	return NULL;
}

/* Both sides get the same: where the stack begins is part of a layout. */
static void request_stack(struct engine *engine, struct proc_request *request)
{
	struct rng rng;
	if (!engine->layout_seed)
		return;
	rng_seed(&rng, ~engine->layout_seed);
	int size = (int)(rng_next(&rng) % STACK_OFFSET_MAX);
	list_push(&engine->block_arena, &request->env, arena_printf(&engine->block_arena, "ASSAY_LAYOUT=%0*d", size, 0));
}

static bool side_start(struct engine *engine, struct side *side, const char *program)
{
	struct session *session = engine->course.session;
	struct measurement *measurement = engine->measurement;
	struct proc_request request =
	    workload_request(&engine->block_arena, program, engine->params, session->run.seed, "--serve", NULL);
	request.cpu = measurement->plan.cpu >= 0 ? measurement->plan.cpu : -1;
	request.env = side->variant->env;
	request.realtime = engine->course.realtime;
	workload_request_cpus(&engine->block_arena, &request, cpu_list_text(&engine->block_arena, &engine->cpus, engine->cpus.count));
	request.interrupted = session->interrupted;
	request_stack(engine, &request);
	const struct side *other = &engine->sides[side == &engine->sides[BASELINE] ? CANDIDATE : BASELINE];
	double expected = side->start_s > 0 ? side->start_s : other->start_s, started = proc_now();
	double limit = course_limit_start(&engine->course, expected);
	struct bench_reply ready = {0};
	struct err trouble = ERR_INIT;
	enum status status = workload_start(&request, limit, &side->child, &ready, &trouble);
	side->start_s = proc_now() - started;
	measurement->bytes_per_iteration = ready.bytes_per_iteration;
	side->threads = ready.threads;
	/* On the CPUs of its threads this process would run too, above them: docs/adr/0006. The runtime lowers itself. */
	if (status == ST_OK && ready.threads > 1 && engine->course.realtime) {
		proc_realtime_leave();
		engine->course.realtime = false;
	}
	side->cpus = ready.cpus;
	return side_check(engine, side, status, expected, limit, "failed in its set-up", &trouble);
}

/* How long the look at all pairs of CPUs takes, roughly. */
static double transfer_expected_s(unsigned threads)
{
	return TRANSFER_PAIR_S * threads * (threads - 1) / 2;
}

/* Once, before the first sample: can what threads do to each other be seen at all? */
static bool transfer_check(struct engine *engine)
{
	struct measurement *measurement = engine->measurement;
	struct side *side = &engine->sides[engine->first];
	struct transfer *transfer = &measurement->transfer;
	*transfer = (struct transfer){.threads = side->threads};
	if (engine->cpus.count)
		transfer->cpus = cpu_list_text(&engine->course.session->arena, &engine->cpus, side->threads);
	if (side->cpus >= side->threads) {
		double expected = transfer_expected_s(side->threads), limit = course_limit(&engine->course, expected);
		struct bench_transfer found = {0};
		struct err trouble = ERR_INIT;
		enum status status =
		    workload_transfer(&side->child, limit, engine->course.session->interrupted, &found, &trouble);
		if (!side_check(engine, side, status, expected, limit, "failed before its first sample", &trouble))
			return false;
		transfer->between[0] = found.cpus[0];
		transfer->between[1] = found.cpus[1];
		transfer->shared_ns = 1e-3 * (double)found.shared_ps;
		transfer->private_ns = 1e-3 * (double)found.private_ps;
		transfer->bursts = (uint32_t)found.bursts;
	}
	if (!transfer_visible(transfer))
		course_stop(&engine->course, STOP_UNSEEN);
	return !engine->course.done;
}

static bool threads_check(struct engine *engine)
{
	const struct side *sides = engine->sides;
	struct measurement *measurement = engine->measurement;
	if (sides[BASELINE].threads != sides[CANDIDATE].threads) {
		course_stop(&engine->course, STOP_FAILED);
		measurement->candidate_failed = true;
		measurement->failure =
		    arena_printf(&engine->course.session->arena,
		                 "the baseline has %u threads and the candidate %u: their times can't be compared",
		                 sides[BASELINE].threads, sides[CANDIDATE].threads);
		return false;
	}
	return sides[BASELINE].threads < 2 || measurement->transfer.threads || transfer_check(engine);
}

static bool block_start(struct engine *engine)
{
	arena_release(&engine->block_arena);
	unsigned swap = rng_coin(&engine->rng), first = rng_coin(&engine->rng) ? CANDIDATE : BASELINE;
	const char *programs[2];
	engine->first = first;
	if (over_layouts(engine))
		engine->layout_seed = layout_seed(engine->measurement->plan.seed, engine->measurement->blocks);
	for (unsigned i = 0; i < 2 && !engine->course.done; i++) {
		unsigned which = first ^ i;
		if (engine->layout_seed)
			programs[which] = program_layout(engine, &engine->sides[which], which ^ swap);
		else
			programs[which] = program_copy(engine, engine->sides[which].variant->program, which ^ swap);
	}
	if (engine->course.done)
		return false;
	if (engine->copy_failed)
		for (unsigned i = 0; i < 2; i++)
			programs[i] = engine->sides[i].variant->program;
	return side_start(engine, &engine->sides[first], programs[first]) &&
	       side_start(engine, &engine->sides[first ^ 1], programs[first ^ 1]) && threads_check(engine);
}

static void block_end(struct engine *engine)
{
	struct proc_child *const children[] = {&engine->sides[0].child, &engine->sides[1].child};
	children_end(children, 2, !engine->course.done);
}

/* ---- samples ---------------------------------------------------------------------------------------------------------- */

static bool side_sample(struct engine *engine, struct side *side, uint64_t prime, uint64_t iterations,
                        struct bench_reply *ret_reply)
{
	const struct side *other = &engine->sides[side == &engine->sides[BASELINE] ? CANDIDATE : BASELINE];
	double ns = side->ns_per_iteration > 0 ? side->ns_per_iteration : other->ns_per_iteration;
	double expected = 1e-9 * ns * (double)(prime + iterations), limit = course_limit(&engine->course, expected);
	struct err trouble = ERR_INIT;
	enum status status = workload_sample(&side->child, prime, iterations, limit, engine->course.session->interrupted,
	                                     ret_reply, &trouble);
	if (!side_check(engine, side, status, expected, limit, "failed", &trouble))
		return false;
	side->ns_per_iteration = (double)ret_reply->ns / (double)iterations;
	engine->measurement->measured_s += 1e-9 * (double)ret_reply->ns;
	return true;
}

/* One sample of each side, which are not kept. */
static bool both_sample(struct engine *engine, uint64_t iterations, struct bench_reply replies[2])
{
	unsigned first = engine->first, second = first ^ 1;
	return side_sample(engine, &engine->sides[first], 0, iterations, &replies[first]) &&
	       side_sample(engine, &engine->sides[second], 0, iterations, &replies[second]);
}

/* The least time that `n` iterations took on each side, of a few tries: one that was preempted must not count. */
static bool both_least(struct engine *engine, uint64_t n, double ret_least_ns[2])
{
	ret_least_ns[0] = ret_least_ns[1] = INFINITY;
	for (int i = 0; i < CALIBRATION_TRIES; i++) {
		struct bench_reply replies[2];
		if (!both_sample(engine, n, replies))
			return false;
		for (int k = 0; k < 2; k++)
			ret_least_ns[k] = fmin(ret_least_ns[k], fmax((double)replies[k].ns, 1));
		if (fmin(ret_least_ns[0], ret_least_ns[1]) >= (double)PRIME_NONE_ABOVE_NS)
			break;
	}
	return true;
}

/* Sets the iteration counts, from both sides' times, so that both have done the same work when it ends. */
static bool engine_calibrate(struct engine *engine)
{
	struct measurement *measurement = engine->measurement;
	double target = (double)measurement->plan.sample_target_ns;
	double least[2];
	uint64_t n = 1;
	for (;;) {
		if (!both_least(engine, n, least))
			return false;
		double slower = fmax(least[0], least[1]);
		if (slower >= target / 2 || n >= UINT64_C(1) << 40)
			break;
		n = (uint64_t)((double)n * fmin(fmax(target / slower, 2), 10));
	}
	double fast = fmin(least[0], least[1]) / (double)n, slow = fmax(least[0], least[1]) / (double)n;
	/* The first iterations find cold caches and new pages: short ones are timed again when they have run for a while. */
	engine->warm = at_least_one((double)WARM_NS / slow);
	if (slow < (double)WARM_NS) {
		if (!both_least(engine, engine->warm, least) || !both_least(engine, engine->warm, least))
			return false;
		fast = fmin(least[0], least[1]) / (double)engine->warm;
		slow = fmax(least[0], least[1]) / (double)engine->warm;
	}
	uint64_t wanted = at_least_one(target / fast), most = at_least_one((double)SAMPLE_MAX_NS / slow);
	measurement->iterations = wanted < most ? wanted : most;
	engine->prime = slow >= (double)PRIME_NONE_ABOVE_NS ? 0 : at_least_one((double)PRIME_NS / fast + 0.5);
	engine->warm = at_least_one((double)WARM_NS / slow);
	engine->iteration_s = 1e-9 * (fast + slow) / 2;
	return true;
}

/* The same rounds on both sides, until neither touches new pages. The first always does: where iterations are short, it is
 * a short one that does not count. */
static bool block_warm(struct engine *engine)
{
	for (int round = 0; round < WARM_ROUNDS_MAX; round++) {
		bool touch = round == 0 && engine->prime;
		struct bench_reply replies[2];
		if (!both_sample(engine, touch ? engine->prime : engine->warm, replies))
			return false;
		bool faulted = (replies[0].flags | replies[1].flags) & BENCH_PAGE_FAULT;
		bool long_enough = replies[0].ns + replies[1].ns > 100 * WARM_NS;
		if ((!touch && !faulted) || long_enough)
			break;
	}
	return true;
}

/* As many pairs as cost what a start costs: half of the time then buys new processes, half precision within them. */
static void engine_choose_pairs(struct engine *engine, double start_s)
{
	const struct measurement *measurement = engine->measurement;
	block_cost_start(&engine->cost, start_s);
	engine->pairs_per_block = measurement->plan.pairs_per_block;
	if (engine->pairs_per_block)
		return;
	double sample_s = engine->iteration_s * (double)measurement->iterations;
	double pair_s = 2 * (sample_s + engine->iteration_s * (double)engine->prime) + MESSAGES_S;
	double wanted = ceil(engine->cost.start_s / pair_s);
	double affordable =
	    block_affordable(&engine->course, &engine->cost, measurement->blocks, measurement->pairs.count, pair_s);
	wanted = fmin(fmax(wanted, block_least(sample_s)), SAMPLES_PER_BLOCK_MAX);
	wanted = fmax(fmin(wanted, affordable), 1);
	engine->pairs_per_block = (uint32_t)wanted | 1;
}

static bool block_pair(struct engine *engine, uint32_t index, struct pair *ret_pair)
{
	struct measurement *measurement = engine->measurement;
	unsigned first = rng_coin(&engine->rng) ? CANDIDATE : BASELINE;
	struct bench_reply replies[2];
	for (unsigned i = 0; i < 2; i++)
		if (!side_sample(engine, &engine->sides[first ^ i], engine->prime, measurement->iterations, &replies[first ^ i]))
			return false;
	/* Threads on several CPUs are moved and wait for each other: that belongs to their work. */
	uint32_t ignored = measurement->plan.cpu >= 0 ? 0 : BENCH_MIGRATED | BENCH_PREEMPTED;
	*ret_pair = (struct pair){
	    .block = measurement->blocks,
	    .layout = engine->layout_seed,
	    .index = index,
	    .candidate_first = first == CANDIDATE,
	    .iterations = measurement->iterations,
	    .baseline_ns = replies[BASELINE].ns,
	    .candidate_ns = replies[CANDIDATE].ns,
	    .baseline_flags = replies[BASELINE].flags & ~ignored,
	    .candidate_flags = replies[CANDIDATE].flags & ~ignored,
	};
	return true;
}

static bool block_pairs(struct engine *engine)
{
	uint32_t clean = 0;
	/* Pairs that were disturbed are made up for, up to as many again. */
	for (uint32_t i = 0; clean < engine->pairs_per_block && i < 2 * engine->pairs_per_block; i++) {
		struct pair pair;
		if (!block_pair(engine, i, &pair))
			return false;
		course_keep(&engine->course, engine->sink, &engine->measurement->pairs, &pair);
		clean += !pair_excluded(&pair);
		course_tick(&engine->course);
		course_look(&engine->course);
		if (engine->course.done)
			return false;
	}
	return true;
}

/* ---- deciding ----------------------------------------------------------------------------------------------------------- */

/* Adds the block that `first_pair` begins, and looks whether it decides. */
static void block_judge(struct engine *engine, size_t first_pair)
{
	struct measurement *measurement = engine->measurement;
	struct pair_list block = {.at = measurement->pairs.at + first_pair, .count = measurement->pairs.count - first_pair};
	if (block.count == 0)
		return;
	double *ratios = arena_alloc(&engine->block_arena, block.count * sizeof *ratios);
	pairs_block_ratios(&block, false, ratios);
	measurement->blocks++;
	if (!course_add(&engine->course, &engine->cseq, ratios[0]))
		return;
	double low, high;
	cseq_interval(&engine->cseq, &low, &high);
	bool enough = !over_layouts(engine) || measurement->blocks >= measurement->plan.layouts;
	if (enough && stat_decide(low, high, engine->course.margin) != DECISION_OPEN &&
	    pairs_stationary(&measurement->pairs, measurement->plan.alpha))
		course_stop(&engine->course, STOP_DECIDED);
}

static void engine_block(struct engine *engine)
{
	struct measurement *measurement = engine->measurement;
	size_t first_pair = measurement->pairs.count;
	double started = proc_now();
	bool ready = block_start(engine);
	double start_s = proc_now() - started;
	if (ready && measurement->iterations == 0)
		ready = engine_calibrate(engine);
	double warm_started = proc_now();
	ready = ready && block_warm(engine);
	start_s += proc_now() - warm_started;
	engine->cost.starts_wall_s += start_s;
	if (ready)
		engine_choose_pairs(engine, start_s);
	double pairs_started = proc_now();
	if (ready)
		block_pairs(engine);
	engine->cost.samples_wall_s += proc_now() - pairs_started;
	block_end(engine);
	block_judge(engine, first_pair);
}

/* Other guests and a CPU limit make times longer; the coin keeps that fair, but people want to know. */
static void note_disturbance(struct engine *engine, struct host_disturbance before)
{
	struct host_disturbance after = host_disturbance_read();
	double elapsed = engine->measurement->elapsed_s;
	double throttled = after.throttled_s - before.throttled_s, steal = after.steal_s - before.steal_s;
	if (throttled > 0.02 * elapsed)
		session_note(engine->course.session, "measure", "the CPU limit of this container took away %.2f s of %.2f s: raise it",
		             throttled, elapsed);
	if (steal > 0.05 * elapsed)
		session_note(engine->course.session, "measure", "other guests of this host took away %.2f s of CPU time in %.2f s", steal,
		             elapsed);
}

static void engine_run(struct engine *engine)
{
	struct measurement *measurement = engine->measurement;
	struct host_disturbance disturbance = host_disturbance_read();
	course_cpu_leave(&engine->course, true);
	while (!engine->course.done)
		engine_block(engine);
	course_cpu_return(&engine->course);
	measurement->elapsed_s = proc_now() - engine->course.started;
	measurement->stationary = pairs_stationary(&measurement->pairs, measurement->plan.alpha);
	note_disturbance(engine, disturbance);
	for (unsigned i = 0; i < 2 && engine->course.session->workdir; i++) {
		const char *path = arena_printf(&engine->block_arena, "%s/pair%u", engine->course.session->workdir, i);
		unlink(path);
		unlink(arena_printf(&engine->block_arena, "%s.ld", path));
	}
	cseq_release(&engine->cseq);
	arena_release(&engine->block_arena);
}

enum status measure(struct session *session, const struct variant *baseline, const struct variant *candidate,
                    const struct binding_list *params, const struct plan *plan, const struct sample_sink *sink,
                    struct measurement *ret_measurement, struct err *err)
{
	if (baseline->command)
		return measure_command(session, baseline, candidate, plan, sink, ret_measurement, err);
	*ret_measurement = (struct measurement){.plan = *plan, .stop = STOP_BUDGET};
	if (!baseline->program || !candidate->program)
		return err_set(err, ST_INPUT, "the %s has no program to measure: link it first",
		               baseline->program ? candidate->name : baseline->name);
	if (ret_measurement->plan.sample_target_ns == 0)
		ret_measurement->plan.sample_target_ns = DEFAULT_TARGET_NS;
	const struct variant *const variants[] = {baseline, candidate};
	enum status status = cpu_choose(session, variants, 2, &ret_measurement->plan, err);
	if (status != ST_OK)
		return status;
	struct engine engine = {
	    .params = params,
	    .sink = sink,
	    .measurement = ret_measurement,
	    .sides = {[BASELINE] = {.name = "baseline", .variant = baseline},
	              [CANDIDATE] = {.name = "candidate", .variant = candidate}},
	};
	for (int i = 0; i < 2; i++)
		engine.sides[i].child = PROC_CHILD_INIT;
	for (int i = 0; i < 2 && over_layouts(&engine); i++) {
		struct side *side = &engine.sides[i];
		if (!side->variant->link.argv.count || !session->workdir)
			return err_set(err, ST_INPUT, "the %s is not linked by assay, so it has one layout only: leave out --layouts",
			               side->name);
		status = layout_open(&session->arena, &side->variant->link, &side->layout, err);
		if (status != ST_OK)
			return status;
	}
	course_open(&engine.course, session, &ret_measurement->plan, &ret_measurement->stop);
	arena_init(&engine.block_arena);
	host_cpus_order(&session->arena, ret_measurement->plan.cpu, &engine.cpus);
	rng_seed(&engine.rng, plan->seed);
	cseq_init(&engine.cseq, plan->alpha);
	engine_run(&engine);
	return course_close(&engine.course, err);
}
