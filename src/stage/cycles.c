/* Cycles, which explain a time and never decide it.
 *
 * With performance counters: a group of them (all on the CPU at the same times) is read before and after runs of n and of
 * 2 n + 1 iterations; the difference, divided by n + 1, has the messages between the processes not in it. Without: the
 * core's pace is probed right before and after a sample, on the same CPU, and time is turned into cycles by it. */
#include "base/stat.h"
#include "port/host.h"
#include "port/pace.h"
#include "port/perf.h"
#include "port/workload.h"
#include "stage/stages.h"

#include <math.h>

enum { ROUNDS = 9, SAID_LINES = 3 };
static const double SAMPLE_S = 0.0005;
static const double LONGEST_S = 0.5; /* of one iteration: longer ones have fewer rounds */

struct cycles_side {
	const struct variant *variant;
	struct proc_child child;
	struct perf_group *group; /* NULL: none */
	double ns[ROUNDS], hz[ROUNDS];
	double values[PERF_GROUP_MAX][ROUNDS]; /* per iteration */
	unsigned rounds;
};

struct cycles_run {
	struct session *session;
	struct arena scratch;
	struct cycles_side sides[2];
	uint64_t iterations;
	double timeout_s, iteration_s;
	const char *lack;          /* nothing can be run: why */
	const char *hardware_lack; /* NULL: hardware counters were read */
};

static bool side_check(struct cycles_run *run, struct cycles_side *side, enum status status, const struct err *trouble,
                       struct err *err)
{
	if (status == ST_OK)
		return true;
	if (status == ST_INPUT)
		run->lack = arena_printf(&run->session->arena, "the %s failed: %s", side->variant->name,
		                         proc_child_said(&run->scratch, &side->child, SAID_LINES));
	else if (status == ST_TIMEOUT)
		run->lack = arena_printf(&run->session->arena, "the %s gave no answer within %g s", side->variant->name, run->timeout_s);
	else
		err_set(err, status, "%s", trouble->text);
	return false;
}

static bool side_sample(struct cycles_run *run, struct cycles_side *side, uint64_t iterations, double *ret_ns, struct err *err)
{
	struct bench_reply reply = {0};
	struct err trouble = ERR_INIT;
	enum status status = workload_sample(&side->child, 0, iterations, run->timeout_s, run->session->interrupted, &reply,
	                                     &trouble);
	*ret_ns = (double)reply.ns / (double)iterations;
	return side_check(run, side, status, &trouble, err);
}

static bool side_start(struct cycles_run *run, struct cycles_side *side, const struct binding_list *params, int cpu,
                       struct err *err)
{
	struct proc_request request =
	    workload_request(&run->scratch, side->variant->program, params, run->session->run.seed, "--serve", NULL);
	request.cpu = cpu;
	request.interrupted = run->session->interrupted;
	struct bench_reply ready;
	struct err trouble = ERR_INIT;
	enum status status = workload_start(&request, run->timeout_s, &side->child, &ready, &trouble);
	if (!side_check(run, side, status, &trouble, err))
		return false;
	unsigned count = 0;
	const struct perf_event *events = perf_hardware_events(&count);
	const char *lack = NULL;
	if (!run->hardware_lack)
		side->group = perf_group_open(&run->scratch, side->child.pid, events, count, &lack);
	if (lack)
		run->hardware_lack = arena_strdup(&run->session->arena, lack);
	return true;
}

/* The counts of one iteration, or why there are none. */
static bool side_counts(struct cycles_run *run, struct cycles_side *side, struct err *err)
{
	struct perf_counts at[4];
	uint64_t less[PERF_GROUP_MAX], more[PERF_GROUP_MAX], n = run->iterations;
	double ignored;
	bool read = perf_group_read(side->group, &at[0]);
	if (!side_sample(run, side, n, &ignored, err))
		return false;
	read = perf_group_read(side->group, &at[1]) && read;
	if (!side_sample(run, side, 2 * n + 1, &ignored, err))
		return false;
	read = perf_group_read(side->group, &at[2]) && read;
	const char *lack = read ? perf_counts_between(&at[0], &at[1], less) : "the counters can't be read";
	if (!lack)
		lack = perf_counts_between(&at[1], &at[2], more);
	if (lack)
		run->hardware_lack = lack;
	for (unsigned i = 0; !lack && i < PERF_GROUP_MAX; i++)
		side->values[i][side->rounds] = ((double)more[i] - (double)less[i]) / (double)(n + 1);
	return true;
}

static bool run_rounds(struct cycles_run *run, struct err *err)
{
	double budget_ends = proc_now() + run->timeout_s, ns;
	unsigned rounds = run->iteration_s > LONGEST_S ? 1 : ROUNDS;
	for (unsigned round = 0; round < rounds && proc_now() < budget_ends; round++)
		for (unsigned i = 0; i < 2; i++) {
			/* The sides change places: a pace that drifts shall not be one side's. */
			struct cycles_side *side = &run->sides[i ^ (round & 1)];
			if (!side_sample(run, side, run->iterations, &ns, err)) /* warms the core and the caches */
				return false;
			double before = pace_core_hz();
			if (!side_sample(run, side, run->iterations, &side->ns[round], err))
				return false;
			side->hz[round] = (before + pace_core_hz()) / 2;
			if (side->group && !run->hardware_lack && !side_counts(run, side, err))
				return false;
			side->rounds++;
		}
	return true;
}

static bool run_calibrate(struct cycles_run *run, struct err *err)
{
	double ns;
	for (uint64_t n = 1;; n *= 4) {
		if (!side_sample(run, &run->sides[0], n, &ns, err))
			return false;
		if (1e-9 * ns * (double)n >= SAMPLE_S || n > UINT64_C(1) << 40) {
			run->iterations = n;
			run->iteration_s = 1e-9 * ns;
			return true;
		}
	}
}

/* ---- the numbers ----------------------------------------------------------------------------------------------------- */

static void counter_add(struct cycles_run *run, struct counter_list *counters, struct counter counter)
{
	if (counter.baseline > 0 && counter.candidate > 0 && isfinite(counter.baseline) && isfinite(counter.candidate))
		list_push(&run->session->arena, counters, counter);
}

static double side_median(const struct cycles_side *side, const double *values)
{
	double copy[ROUNDS];
	memcpy(copy, values, sizeof copy);
	return stat_median(copy, side->rounds);
}

static void add_hardware(struct cycles_run *run, struct counter_list *counters)
{
	unsigned count = 0;
	const struct perf_event *events = perf_hardware_events(&count);
	double medians[PERF_GROUP_MAX][2] = {0};
	for (unsigned i = 0; i < count; i++) {
		for (int k = 0; k < 2; k++)
			medians[i][k] = side_median(&run->sides[k], run->sides[k].values[i]);
		struct counter counter = {
		    .name = arena_printf(&run->session->arena, "%s (hardware counter, user space)", events[i].name),
		    .unit = "per iteration", .baseline = medians[i][0], .candidate = medians[i][1],
		    .kind = i == 0 ? COUNTER_CYCLES : i == 1 ? COUNTER_INSTRUCTIONS : COUNTER_OTHER};
		/* No miss at all is an answer; a difference of two noisy counts may fall below it. */
		if (counter.kind == COUNTER_OTHER) {
			counter.baseline = fmax(counter.baseline, 0);
			counter.candidate = fmax(counter.candidate, 0);
			list_push(&run->session->arena, counters, counter);
		} else
			counter_add(run, counters, counter);
	}
	struct counter ratio = {.name = "cycles per instruction (hardware counters)", .unit = "cycles",
	                        .baseline = medians[0][0] / medians[1][0], .candidate = medians[0][1] / medians[1][1]};
	counter_add(run, counters, ratio);
}

static void add_estimates(struct cycles_run *run, struct counter_list *counters)
{
	double ns[2], hz[2], tsc_hz = pace_tsc_hz(), instructions[2] = {0};
	for (int k = 0; k < 2; k++) {
		ns[k] = side_median(&run->sides[k], run->sides[k].ns);
		hz[k] = side_median(&run->sides[k], run->sides[k].hz);
	}
	for (size_t i = 0; i < counters->count; i++)
		if (counters->at[i].kind == COUNTER_INSTRUCTIONS && counters->at[i].emulated && !counters->at[i].unavailable) {
			instructions[0] = counters->at[i].baseline;
			instructions[1] = counters->at[i].candidate;
		}
	counter_add(run, counters, (struct counter){.name = "reference cycles (time x TSC frequency)", .unit = "per iteration",
	                                            .baseline = 1e-9 * ns[0] * tsc_hz, .candidate = 1e-9 * ns[1] * tsc_hz});
	counter_add(run, counters, (struct counter){.name = "core frequency (estimated by a probe of dependent multiplications)",
	                                            .unit = "GHz", .baseline = 1e-9 * hz[0], .candidate = 1e-9 * hz[1],
	                                            .kind = COUNTER_FREQUENCY, .estimated = true});
	counter_add(run, counters, (struct counter){.name = "core cycles (estimated: time x probed frequency)",
	                                            .unit = "per iteration", .baseline = 1e-9 * ns[0] * hz[0],
	                                            .candidate = 1e-9 * ns[1] * hz[1]});
	if (instructions[0] > 0 && instructions[1] > 0)
		counter_add(run, counters,
		            (struct counter){.name = "cycles per instruction (estimated: timed natively, instructions emulated)",
		                             .unit = "cycles", .baseline = 1e-9 * ns[0] * hz[0] / instructions[0],
		                             .candidate = 1e-9 * ns[1] * hz[1] / instructions[1]});
}

enum status count_cycles(struct session *session, const struct variant *baseline, const struct variant *candidate,
                         const struct binding_list *params, double timeout_s, struct counter_list *counters,
                         struct err *err)
{
	struct cycles_run run = {.session = session, .timeout_s = timeout_s,
	                         .sides = {{.variant = baseline}, {.variant = candidate}}};
	struct err own = ERR_INIT;
	arena_init(&run.scratch);
	session_progress(session, "counting cycles", 0, 1, -1);
	run.hardware_lack = host_counters_lack(&session->arena);
	for (int k = 0; k < 2; k++)
		run.sides[k].child = (struct proc_child){.pid = -1, .to_child = -1, .from_child = -1, .stderr_file = -1};
	struct host_affinity before;
	int cpu = host_cpu_choose();
	bool moved = host_cpu_join(cpu, &before); /* the probe has to run where the workload runs */
	bool ok = side_start(&run, &run.sides[0], params, cpu, &own) && side_start(&run, &run.sides[1], params, cpu, &own) &&
	          run_calibrate(&run, &own) && run_rounds(&run, &own);
	if (moved)
		host_cpu_return(&before);
	for (int k = 0; k < 2; k++) {
		if (run.sides[k].group)
			perf_group_close(run.sides[k].group);
		if (run.sides[k].child.pid >= 0)
			proc_child_end(&run.sides[k].child);
	}
	ok = ok && run.sides[0].rounds && run.sides[0].rounds == run.sides[1].rounds;
	if (ok && !run.hardware_lack)
		add_hardware(&run, counters);
	if (ok && run.hardware_lack && moved)
		add_estimates(&run, counters);
	if (run.lack || run.hardware_lack) {
		struct counter lack = {.name = "hardware counters", .unit = "per iteration",
		                       .unavailable = run.lack ? run.lack : run.hardware_lack};
		list_push(&session->arena, counters, lack);
	}
	arena_release(&run.scratch);
	return own.code == ST_OK ? ST_OK : err_set(err, own.code, "%s", own.text);
}
