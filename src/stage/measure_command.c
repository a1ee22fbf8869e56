/* Takes pairs of whole commands. A run is a fresh process by nature, so every pair is a block of its own: where a process
 * lies in memory is drawn anew for each run, and no two values share it.
 *
 * The two runs of a pair are adjacent and a coin decides which comes first; that makes each sign exactly fair when both
 * commands are the same, whatever the machine does. Wall clock and CPU time of every run are kept. Which of them decides is
 * settled before the first pair, by a rule that looks at the machine and at the baseline alone, never at the candidate.
 */
#include "stage/measure.h"

#include "base/extract.h"
#include "port/command.h"
#include "stage/stages.h"

#include <math.h>

enum { KEPT_BYTES = 1024 * 1024 };

/* ---- the metric ------------------------------------------------------------------------------------------------------ */

enum { LOOKS = 3 };
static const double LOOK_LONG_S = 2;         /* a command so long is looked at once */
static const double PRESSURE_MOST = 0.10;    /* of time in which somebody waited for a CPU */
static const double SWITCHES_MOST = 50;      /* involuntary ones a second of CPU time; time slices of some ms give 200 */
static const double SWITCHES_LEAST = 3;      /* that many in all: housekeeping of the kernel is no contention */
static const double BUSY_LEAST = 0.2;        /* of its time on a CPU or ready for one: below, it waits for something else */
static const double CPUS_MOST = 1.2;         /* above, it runs on several CPUs at once */

static const char *percent_text(struct arena *arena, double share)
{
	return arena_printf(arena, "%.2g %%", 100 * share);
}

/* NULL: nobody contends for the CPUs. */
static const char *contention_text(struct arena *arena, const struct host_contention *contention, double switches,
                                   double cpu_s)
{
	if (contention->pressure >= PRESSURE_MOST)
		return arena_printf(arena, "tasks waited for a CPU during %s of the last 10 s",
		                    percent_text(arena, contention->pressure));
	if (contention->load > contention->cpus)
		return arena_printf(arena, "load %.2f on %u CPU%s", contention->load, contention->cpus,
		                    contention->cpus == 1 ? "" : "s");
	if (switches >= SWITCHES_LEAST && switches > SWITCHES_MOST * cpu_s)
		return arena_printf(arena, "the baseline lost its CPU %.0f times in %.2g s", switches, cpu_s);
	return NULL;
}

enum status measure_metric(struct session *session, const struct variant *baseline, double timeout_s,
                           enum metric *ret_metric, const char **ret_why, struct err *err)
{
	struct arena *arena = &session->arena;
	const struct workload *workload = baseline->workload;
	if (workload->metric_asked) {
		*ret_metric = workload->metric;
		*ret_why = workload->metric_pattern ? arena_printf(arena, "as asked: %s", workload->metric_pattern) : "as asked";
		return ST_OK;
	}
	struct arena scratch;
	arena_init(&scratch);
	int cpu = workload->cpu == CPU_CHOOSE ? host_cpu_choose() : workload->cpu;
	struct host_contention contention = host_contention_read();
	double wall_s = 0, cpu_s = 0, delay_s = 0, switches = 0;
	enum status status = ST_OK;
	for (int i = 0; i < LOOKS && wall_s < LOOK_LONG_S && status == ST_OK; i++) {
		struct proc_request request = command_request(baseline, cpu, timeout_s, session->interrupted);
		request.stdout_kept_bytes = KEPT_BYTES;
		struct proc_result result;
		status = proc_run(&scratch, &request, &result, err);
		if (status == ST_OK && result.end == PROC_INTERRUPTED)
			status = err_set(err, ST_INTERRUPTED, "interrupted");
		const char *failure = status == ST_OK ? command_failure(arena, &request, &result) : NULL;
		if (failure)
			status = err_set(err, ST_INPUT, "the baseline fails now and then: %s", failure);
		if (status != ST_OK)
			break;
		wall_s += result.wall_s;
		cpu_s += result.cpu_s;
		delay_s += result.run_delay_s;
		switches += (double)result.involuntary_switches;
	}
	arena_release(&scratch);
	if (status != ST_OK)
		return status;
	const char *contended = contention_text(arena, &contention, switches, cpu_s);
	double cpus = wall_s > 0 ? cpu_s / wall_s : 0, busy = wall_s > 0 ? (cpu_s + delay_s) / wall_s : 0;
	*ret_metric = METRIC_WALL;
	if (!contended)
		*ret_why = "because nobody contends for the CPUs";
	else if (busy < BUSY_LEAST)
		*ret_why = arena_printf(arena, "because the baseline spends only %s of its time on a CPU or ready for one (although %s)",
		                        percent_text(arena, busy), contended);
	else if (cpus > CPUS_MOST)
		*ret_why = arena_printf(arena, "because the baseline runs on %.1f CPUs at once (although %s)", cpus, contended);
	else {
		*ret_metric = METRIC_CPU;
		*ret_why = arena_printf(arena, "because %s", contended);
	}
	return ST_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------------------------- */

struct side {
	const char *name;
	const struct variant *variant;
	double expected_s; /* 0: not known yet */
	bool hashed;
	uint64_t hash;
};

struct run_sample {
	uint64_t wall_ns, cpu_ns;
	double value;
	uint32_t flags;
};

struct engine {
	struct course course;
	const struct sample_sink *sink;
	struct measurement *measurement;
	struct arena pair_arena;
	struct side sides[2];
	struct rng rng;
	struct cseq cseq;
};

static bool side_fail(struct engine *engine, const struct side *side, const char *what)
{
	course_stop(&engine->course, STOP_FAILED);
	engine->measurement->candidate_failed = side == &engine->sides[CANDIDATE];
	engine->measurement->failure = arena_printf(&engine->course.session->arena, "the %s fails: %s", side->name, what);
	return false;
}

/* What can't be known from the first run is learnt here: a command whose output changes now and then. */
static bool side_output_check(struct engine *engine, struct side *side, const struct proc_result *result)
{
	const struct workload *workload = side->variant->workload;
	if (workload->any_output || workload->metric_pattern)
		return true;
	if (side->hashed && side->hash != result->out_hash)
		return side_fail(engine, side, "what it prints is not the same in every run: --any-output, if that does not matter");
	side->hashed = true;
	side->hash = result->out_hash;
	return true;
}

static bool side_run(struct engine *engine, struct side *side, struct run_sample *ret_sample)
{
	struct arena *arena = &engine->course.session->arena;
	struct measurement *measurement = engine->measurement;
	const struct workload *workload = side->variant->workload;
	double limit = course_limit_start(&engine->course, side->expected_s);
	bool fair = side->expected_s > 0 && limit > 20 * side->expected_s + LIMIT_FAIR_S;
	struct proc_request request =
	    command_request(side->variant, measurement->plan.cpu, limit, engine->course.session->interrupted);
	request.stdout_kept_bytes = KEPT_BYTES;
	struct proc_result result;
	struct err trouble = ERR_INIT;
	if (proc_run(&engine->pair_arena, &request, &result, &trouble) != ST_OK) {
		course_error(&engine->course, trouble.code, trouble.text);
		err_context(&engine->course.err, "measuring the %s", side->name);
		return false;
	}
	if (result.end == PROC_INTERRUPTED) {
		course_stop(&engine->course, STOP_INTERRUPTED);
		return false;
	}
	if (result.end == PROC_TIMED_OUT && !fair) {
		course_stop(&engine->course, STOP_BUDGET);
		return false;
	}
	const char *failure = command_failure(arena, &request, &result);
	if (failure)
		return side_fail(engine, side, failure);
	if (!side_output_check(engine, side, &result))
		return false;
	*ret_sample = (struct run_sample){
	    .wall_ns = (uint64_t)(1e9 * result.wall_s + 0.5),
	    .cpu_ns = (uint64_t)(1e9 * result.cpu_s + 0.5),
	    .flags = result.involuntary_switches ? PAIR_PREEMPTED : 0,
	};
	if (workload->metric_pattern && !extract_number(workload->metric_pattern, result.out, &ret_sample->value, NULL, NULL) &&
	    !extract_number(workload->metric_pattern, result.err, &ret_sample->value, NULL, NULL))
		return side_fail(engine, side, arena_printf(arena, "nothing that it prints matches %s with a number above zero",
		                                            workload->metric_pattern));
	side->expected_s = fmax(side->expected_s, result.wall_s);
	measurement->measured_s += result.wall_s;
	return true;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------- */

/* Takes one pair and looks whether it decides. */
static void engine_pair(struct engine *engine)
{
	struct measurement *measurement = engine->measurement;
	unsigned first = rng_coin(&engine->rng) ? CANDIDATE : BASELINE;
	struct run_sample samples[2];
	arena_release(&engine->pair_arena);
	course_tick(&engine->course);
	for (unsigned i = 0; i < 2; i++)
		if (!side_run(engine, &engine->sides[first ^ i], &samples[first ^ i]))
			return;
	struct pair pair = {
	    .block = measurement->blocks,
	    .candidate_first = first == CANDIDATE,
	    .iterations = 1,
	    .baseline_ns = samples[BASELINE].wall_ns,
	    .candidate_ns = samples[CANDIDATE].wall_ns,
	    .baseline_flags = samples[BASELINE].flags,
	    .candidate_flags = samples[CANDIDATE].flags,
	    .metric = measurement->plan.metric,
	    .baseline_cpu_ns = samples[BASELINE].cpu_ns,
	    .candidate_cpu_ns = samples[CANDIDATE].cpu_ns,
	    .baseline_value = samples[BASELINE].value,
	    .candidate_value = samples[CANDIDATE].value,
	};
	course_keep(&engine->course, engine->sink, &measurement->pairs, &pair);
	measurement->blocks++;
	struct pair_list one = {.at = &pair, .count = 1};
	double ratio, low, high;
	pairs_block_ratios(&one, false, &ratio);
	if (!course_add(&engine->course, &engine->cseq, ratio))
		return;
	cseq_interval(&engine->cseq, &low, &high);
	if (stat_decide(low, high, engine->course.margin) != DECISION_OPEN &&
	    pairs_stationary(&measurement->pairs, measurement->plan.alpha))
		course_stop(&engine->course, STOP_DECIDED);
	course_look(&engine->course);
}

enum status measure_command(struct session *session, const struct variant *baseline, const struct variant *candidate,
                            const struct plan *plan, const struct sample_sink *sink,
                            struct measurement *ret_measurement, struct err *err)
{
	*ret_measurement = (struct measurement){.plan = *plan, .stop = STOP_BUDGET, .iterations = 1};
	struct measurement *measurement = ret_measurement;
	if (plan->cpu == CPU_CHOOSE)
		measurement->plan.cpu = host_cpu_choose();
	struct engine engine = {
	    .sink = sink,
	    .measurement = measurement,
	    .sides = {[BASELINE] = {.name = "baseline", .variant = baseline},
	              [CANDIDATE] = {.name = "candidate", .variant = candidate}},
	};
	course_open(&engine.course, session, &measurement->plan, &measurement->stop);
	arena_init(&engine.pair_arena);
	rng_seed(&engine.rng, plan->seed);
	cseq_init(&engine.cseq, plan->alpha);
	course_cpu_leave(&engine.course, false);
	while (!engine.course.done)
		engine_pair(&engine);
	course_cpu_return(&engine.course);
	measurement->elapsed_s = proc_now() - engine.course.started;
	measurement->stationary = pairs_stationary(&measurement->pairs, plan->alpha);
	cseq_release(&engine.cseq);
	arena_release(&engine.pair_arena);
	return course_close(&engine.course, err);
}
