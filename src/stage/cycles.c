/* Cycles, which explain a time and never decide it.
 *
 * With performance counters: the program reads a set of them (all on the CPU at the same times) before and after runs of
 * n and of 2 n + 1 iterations; the difference, divided by n + 1, has what the readings take not in it. One set after the
 * other, since two at once might have to share the counters. Without: the core's pace is probed right before and after a
 * sample, on the same CPU, and time is turned into cycles by it.
 *
 * The way of the counters has been tried with events of the kernel, and its arithmetic with recorded numbers; not yet with
 * the counters of a CPU. */
#include "base/stat.h"
#include "base/text.h"
#include "port/host.h"
#include "port/pace.h"
#include "port/perf_events.h"
#include "port/workload.h"
#include "stage/stages.h"

#include <math.h>

enum { ROUNDS = 9, SAID_LINES = 3 };
static const double SAMPLE_S = 0.0005;
static const double LONGEST_S = 0.5; /* of one iteration: longer ones have fewer rounds */

struct cycles_side {
	const struct variant *variant;
	struct proc_child child;
	double ns[ROUNDS], hz[ROUNDS];
	unsigned rounds;
};

/* What was counted of both sides. */
struct cycles_counts {
	struct perf_event_set events;
	double values[2][BENCH_EVENTS_MAX][ROUNDS]; /* per iteration */
	unsigned rounds[2];
	double medians[BENCH_EVENTS_MAX][2];
	const char *lack; /* NULL: the medians hold */
};

struct cycles_run {
	struct session *session;
	struct arena scratch;
	struct cycles_side sides[2];
	uint64_t iterations;
	double timeout_s, iteration_s;
	const char *lack; /* nothing can be run: why */
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
	if (status == ST_OK && ready.threads > 1) {
		run->lack = "the workload has several threads, and cycles are counted of one";
		return false;
	}
	return side_check(run, side, status, &trouble, err);
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

/* ---- counting ---------------------------------------------------------------------------------------------------------- */

static bool side_events(struct cycles_run *run, struct cycles_side *side, struct cycles_counts *counts, struct err *err)
{
	struct bench_event codes[BENCH_EVENTS_MAX];
	int code = 0;
	unsigned which = 0;
	struct err trouble = ERR_INIT;
	for (unsigned i = 0; i < counts->events.count; i++)
		codes[i] = counts->events.at[i].code;
	enum status status = workload_events(&side->child, codes, counts->events.count, run->timeout_s,
	                                     run->session->interrupted, &code, &which, &trouble);
	if (status == ST_OK && code)
		counts->lack = perf_open_lack(&run->session->arena, code, counts->events.at[which].name);
	return side_check(run, side, status, &trouble, err);
}

/* One round of one side, or why its counts may not be used. */
static bool side_counts(struct cycles_run *run, unsigned which, struct cycles_counts *counts, struct err *err)
{
	struct cycles_side *side = &run->sides[which];
	struct bench_counts less, more;
	struct err trouble = ERR_INIT;
	uint64_t n = run->iterations;
	enum status status = workload_count(&side->child, n, n, run->timeout_s, run->session->interrupted, &less, &trouble);
	if (status == ST_OK)
		status = workload_count(&side->child, 0, 2 * n + 1, run->timeout_s, run->session->interrupted, &more, &trouble);
	if (!side_check(run, side, status, &trouble, err))
		return false;
	counts->lack = perf_counts_lack(&less);
	if (!counts->lack)
		counts->lack = perf_counts_lack(&more);
	for (unsigned i = 0; !counts->lack && i < counts->events.count; i++)
		counts->values[which][i][counts->rounds[which]] = ((double)more.value[i] - (double)less.value[i]) / (double)(n + 1);
	counts->rounds[which]++;
	return true;
}

static bool counts_take(struct cycles_run *run, struct cycles_counts *counts, struct err *err)
{
	double budget_ends = proc_now() + run->timeout_s;
	unsigned rounds = run->iteration_s > LONGEST_S ? 1 : ROUNDS;
	for (unsigned k = 0; k < 2 && !counts->lack; k++)
		if (!side_events(run, &run->sides[k], counts, err))
			return false;
	for (unsigned round = 0; round < rounds && !counts->lack && proc_now() < budget_ends; round++)
		for (unsigned i = 0; i < 2 && !counts->lack; i++)
			if (!side_counts(run, i ^ (round & 1), counts, err))
				return false;
	if (!counts->lack && counts->rounds[1] == 0)
		counts->lack = "the time for it was over";
	for (unsigned i = 0; i < counts->events.count && !counts->lack; i++)
		for (unsigned k = 0; k < 2; k++)
			counts->medians[i][k] = stat_median(counts->values[k][i], counts->rounds[k]);
	return true;
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

static void add_lack(struct cycles_run *run, struct counter_list *counters, const char *name, const char *lack)
{
	list_push(&run->session->arena, counters, ((struct counter){.name = name, .unit = "per iteration", .unavailable = lack}));
}

static void add_counts(struct cycles_run *run, struct counter_list *counters, const struct cycles_counts *counts, bool core)
{
	/* The first event of the others only shows that something was counted. */
	for (unsigned i = core ? 0 : 1; i < counts->events.count; i++) {
		const struct perf_event *event = &counts->events.at[i];
		struct counter counter = {.name = arena_printf(&run->session->arena, "%s (%s)", event->name, perf_event_way(event)),
		                          .unit = "per iteration", .baseline = counts->medians[i][0], .candidate = counts->medians[i][1]};
		if (core && (i == PERF_CYCLES || i == PERF_INSTRUCTIONS)) {
			counter.kind = i == PERF_CYCLES ? COUNTER_CYCLES : COUNTER_INSTRUCTIONS;
			counter_add(run, counters, counter);
			continue;
		}
		/* No miss at all is an answer; a difference of two noisy counts may fall below it. */
		counter.baseline = fmax(counter.baseline, 0);
		counter.candidate = fmax(counter.candidate, 0);
		list_push(&run->session->arena, counters, counter);
	}
	if (!core)
		return;
	const double(*medians)[2] = counts->medians;
	counter_add(run, counters, (struct counter){.name = "cycles per instruction (hardware counters)", .unit = "cycles",
	                                            .baseline = medians[PERF_CYCLES][0] / medians[PERF_INSTRUCTIONS][0],
	                                            .candidate = medians[PERF_CYCLES][1] / medians[PERF_INSTRUCTIONS][1]});
}

static void add_topdown(struct cycles_run *run, struct counter_list *counters, struct cycles_counts *counts)
{
	struct perf_topdown parts[2];
	for (unsigned k = 0; k < 2 && !counts->lack; k++) {
		double values[5];
		for (unsigned i = 0; i < 5; i++)
			values[i] = counts->medians[i][k];
		counts->lack = perf_topdown_of(values, &parts[k]);
	}
	if (counts->lack) {
		add_lack(run, counters, "top-down analysis", counts->lack);
		return;
	}
	const struct {
		const char *name;
		double baseline, candidate;
	} rows[] = {{"top-down: retiring", parts[0].retiring, parts[1].retiring},
	            {"top-down: bad speculation", parts[0].bad_speculation, parts[1].bad_speculation},
	            {"top-down: front end bound", parts[0].front_end, parts[1].front_end},
	            {"top-down: back end bound", parts[0].back_end, parts[1].back_end}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		list_push(&run->session->arena, counters,
		          ((struct counter){.name = arena_printf(&run->session->arena, "%s (hardware counter, user space)", rows[i].name),
		                            .unit = "% of slots", .baseline = 100 * rows[i].baseline,
		                            .candidate = 100 * rows[i].candidate}));
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

/* ---- both sides ------------------------------------------------------------------------------------------------------ */

/* The sets that this machine can count, each into its counters. */
static bool count_sets(struct cycles_run *run, struct counter_list *counters, const char **ret_hardware_lack, struct err *err)
{
	struct session *session = run->session;
	struct cycles_counts core = {.events = perf_events_core(), .lack = host_counters_lack(&session->arena)};
	struct cycles_counts topdown = {0}, named = {0};
	if (!counts_take(run, &core, err))
		return false;
	*ret_hardware_lack = core.lack;
	if (!core.lack) {
		add_counts(run, counters, &core, true);
		topdown.lack = perf_events_topdown(&session->arena, "", &topdown.events);
		if (!counts_take(run, &topdown, err))
			return false;
		add_topdown(run, counters, &topdown);
	}
	if (!session->events.count)
		return true;
	if (perf_events_named(&session->arena, &session->events, &named.events, err) != ST_OK)
		return false;
	/* Why the CPU counts nothing is said once. */
	if (core.lack && perf_event_hardware(&named.events.at[0]))
		return true;
	if (!counts_take(run, &named, err))
		return false;
	if (named.lack)
		add_lack(run, counters, text_join(&session->arena, &session->events, ", "), named.lack);
	else
		add_counts(run, counters, &named, false);
	return true;
}

enum status count_cycles(struct session *session, const struct variant *baseline, const struct variant *candidate,
                         const struct binding_list *params, double timeout_s, struct counter_list *counters,
                         struct err *err)
{
	struct cycles_run run = {.session = session, .timeout_s = timeout_s,
	                         .sides = {{.variant = baseline}, {.variant = candidate}}};
	struct err own = ERR_INIT;
	const char *hardware_lack = NULL;
	arena_init(&run.scratch);
	session_progress(session, "counting cycles", 0, 1, -1);
	for (int k = 0; k < 2; k++)
		run.sides[k].child = PROC_CHILD_INIT;
	struct host_affinity before;
	int cpu = host_cpu_choose();
	bool moved = host_cpu_join(cpu, &before); /* the probe has to run where the workload runs */
	bool ok = side_start(&run, &run.sides[0], params, cpu, &own) && side_start(&run, &run.sides[1], params, cpu, &own) &&
	          run_calibrate(&run, &own) && run_rounds(&run, &own);
	ok = ok && run.sides[0].rounds && run.sides[0].rounds == run.sides[1].rounds;
	ok = ok && count_sets(&run, counters, &hardware_lack, &own);
	if (moved)
		host_cpu_return(&before);
	for (int k = 0; k < 2; k++)
		if (run.sides[k].child.pid >= 0)
			proc_child_end(&run.sides[k].child);
	if (ok && hardware_lack && moved)
		add_estimates(&run, counters);
	if (run.lack || hardware_lack)
		add_lack(&run, counters, "hardware counters", run.lack ? run.lack : hardware_lack);
	arena_release(&run.scratch);
	return own.code == ST_OK ? ST_OK : err_set(err, own.code, "%s", own.text);
}
