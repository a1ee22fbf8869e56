#include "overhead.h"

#include "base/stat.h"
#include "port/proc.h"
#include "port/tree.h"
#include "port/workload.h"
#include "record.h"
#include "recording.h"
#include "stage/stages.h"

#include <jansson.h>
#include <math.h>

enum { SAMPLES = 2000 };

static const double ANSWER_S = 10;

/* One number of samples by the protocol alone: what a message there and back costs besides the work. */
static enum status messages_time(struct session *session, const char *program, uint64_t iterations, double *ret_outside_ns,
                                 double *ret_inside_ns, struct err *err)
{
	struct proc_request request = workload_request(&session->arena, program, NULL, session->run.seed, "--serve", NULL);
	struct proc_child child = {.pid = -1, .to_child = -1, .from_child = -1, .stderr_file = -1};
	struct bench_reply reply;
	double outside[SAMPLES], inside[SAMPLES];
	size_t count = 0;
	enum status status = workload_start(&request, ANSWER_S, &child, &reply, err);
	while (status == ST_OK && count < SAMPLES && !*session->interrupted) {
		double started = proc_now();
		status = workload_sample(&child, 0, iterations, ANSWER_S, session->interrupted, &reply, err);
		outside[count] = (proc_now() - started) * 1e9 - (double)reply.ns;
		inside[count] = (double)reply.ns;
		count += status == ST_OK;
	}
	workload_quit(&child);
	proc_child_end(&child);
	*ret_outside_ns = stat_median(outside, count);
	*ret_inside_ns = stat_median(inside, count);
	return status;
}

static enum status workload_overhead(struct session *session, const char *cc, const char *workload, double seconds,
                                     json_t *list, struct err *err)
{
	struct variant sides[2] = {{.name = "baseline"}, {.name = "candidate"}};
	struct plan plan = {.seed = session->run.seed, .alpha = 1e-300, .margin = 0.01, .budget_s = seconds, .cpu = CPU_CHOOSE};
	struct measurement measurement = {0};
	double outside_ns = 0, inside_ns = 0, unused = 0;
	enum status status = ST_OK;
	for (int i = 0; i < 2 && status == ST_OK; i++)
		status = program_build(session, cc, workload, 0, i == 1, &sides[i], err);
	/* One empty iteration between the stamps: the clock itself. */
	if (status == ST_OK)
		status = messages_time(session, sides[0].program, 1, &unused, &inside_ns, err);
	if (status == ST_OK)
		status = measure(session, &sides[0], &sides[1], NULL, &plan, NULL, &measurement, err);
	if (status == ST_OK && measurement.stop != STOP_BUDGET)
		return err_set(err, measurement.stop == STOP_INTERRUPTED ? ST_INTERRUPTED : ST_INPUT, "%s: %s", workload,
		               measurement.failure ? measurement.failure : "interrupted");
	if (status == ST_OK)
		status = messages_time(session, sides[0].program, measurement.iterations, &outside_ns, &unused, err);
	if (status != ST_OK)
		return status;
	const struct pair_list *pairs = &measurement.pairs;
	double *ratios = arena_alloc(&session->arena, (pairs->count + 1) * sizeof *ratios), kept_s = 0;
	size_t blocks = pairs_block_ratios(pairs, false, ratios);
	for (size_t i = 0; i < pairs->count; i++)
		kept_s += 1e-9 * (double)(pairs->at[i].baseline_ns + pairs->at[i].candidate_ns);
	struct cseq cseq;
	cseq_init(&cseq, 0.01);
	for (size_t i = 0; i < blocks; i++)
		if (!cseq_add(&cseq, ratios[i]))
			break;
	double low, high;
	cseq_interval(&cseq, &low, &high);
	cseq_release(&cseq);
	double baseline_ns, candidate_ns;
	pairs_medians(pairs, &baseline_ns, &candidate_ns);
	bool known = isfinite(low) && isfinite(high);
	json_array_append_new(
	    list, json_pack("{s:s, s:f, s:f, s:f, s:f, s:i, s:i, s:f, s:f, s:f, s:o, s:o, s:o}", "workload", workload,
	                    "outside_ns", outside_ns, "single_iteration_ns", inside_ns, "sample_ns",
	                    baseline_ns * (double)measurement.iterations, "iteration_ns", baseline_ns, "pairs",
	                    (int)pairs->count, "blocks", (int)blocks, "kept_s", kept_s, "elapsed_s", measurement.elapsed_s,
	                    "floor_percent", 100 * expm1(stat_sign_floor(ratios, blocks, 1)), "low_percent",
	                    known ? json_real(100 * expm1(low)) : json_null(), "high_percent",
	                    known ? json_real(100 * expm1(high)) : json_null(), "median_percent",
	                    json_real(100 * expm1(stat_median(ratios, blocks)))));
	return ST_OK;
}

enum status overhead_record(struct session *session, const char *dir, const char *cc, double seconds,
                            const char *command, struct err *err)
{
	static const char *const workloads[] = {"empty", "alu", "l3", "lz"};
	json_t *list = json_array();
	enum status status = folder_make(dir, err);
	if (status == ST_OK)
		status = session_describe(session, dir, cc, command, err);
	if (status == ST_OK)
		status = programs_open(session, cc, err);
	for (size_t i = 0; i < sizeof workloads / sizeof *workloads && status == ST_OK; i++) {
		fprintf(stderr, "overhead: %s, %g s\n", workloads[i], seconds);
		status = workload_overhead(session, cc, workloads[i], seconds, list, err);
	}
	const char *path = arena_printf(&session->arena, "%s/overhead.json", dir);
	if (status == ST_OK && (!list || json_dump_file(list, path, JSON_INDENT(1)) != 0))
		status = err_set(err, ST_SYSTEM, "can't write %s", path);
	json_decref(list);
	build_close(session);
	return status;
}

static double number(const json_t *entry, const char *name)
{
	const json_t *value = json_object_get(entry, name);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

void overhead_section(const char *dir, FILE *out)
{
	struct arena arena;
	arena_init(&arena);
	json_t *list = json_load_file(arena_printf(&arena, "%s/overhead.json", dir), 0, NULL);
	fprintf(out, "## What the harness itself costs\n\n");
	if (json_array_size(list) == 0) {
		fprintf(out, "Not measured: `eval_verdicts overhead %s` does.\n\n", dir);
	} else {
		fprintf(out,
		        "Outside is what a sample takes besides its stamps: the message, two wake-ups, the reading of resource usage, "
		        "before priming. One iteration shows the clock's own share (for empty; the others' have work in it). The smallest "
		        "effect is the half-width of the 99 %% interval on byte copies after the whole budget.\n\n"
		        "| workload | sample | outside, median | one iteration alone | pairs in blocks | share of the time inside kept "
		        "samples | median of copies | smallest effect | control's floor |\n|---|---|---|---|---|---|---|---|---|\n");
		for (size_t i = 0; i < json_array_size(list); i++) {
			const json_t *entry = json_array_get(list, i);
			const char *workload = json_string_value(json_object_get(entry, "workload"));
			double half = (number(entry, "high_percent") - number(entry, "low_percent")) / 2;
			fprintf(out, "| %s | %.0f us | %.1f us | %.0f ns | %.0f in %.0f, %.1f s | %.0f %% | %+.3f %% | %s | %.3f %% |\n",
			        workload ? workload : "unknown", number(entry, "sample_ns") / 1e3, number(entry, "outside_ns") / 1e3,
			        number(entry, "single_iteration_ns"), number(entry, "pairs"), number(entry, "blocks"),
			        number(entry, "elapsed_s"), 100 * number(entry, "kept_s") / number(entry, "elapsed_s"),
			        number(entry, "median_percent"), isnan(half) ? "too few blocks" : arena_printf(&arena, "%.3f %%", half),
			        number(entry, "floor_percent"));
		}
		fprintf(out, "\n");
	}
	json_decref(list);
	arena_release(&arena);
}
