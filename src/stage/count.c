/* What explains a time. Counters never decide a verdict.
 *
 * Instructions of one iteration: the program runs under cachegrind with n and with 2 n + 1 iterations; the difference,
 * divided by n + 1, has neither the start nor the set-up in it. Emulation counts user-space instructions exactly and the
 * same every time, but knows nothing of a CPU's speed. */
#include "port/workload.h"
#include "stage/stages.h"

#include <string.h>

static const double EMULATED_S = 0.02;      /* of native time in the larger run */
static const double EMULATED_MOST_S = 1.0;  /* an iteration that is longer natively would take minutes */

enum { RUNS = 4, SAID_LINES = 3 };

/* How long an iteration takes natively, roughly. 0 and *ret_lack when it can't be told. */
static double iteration_seconds(struct session *session, struct arena *scratch, const struct variant *variant,
                                const struct binding_list *params, double timeout_s, const char **ret_lack)
{
	struct proc_request request =
	    workload_request(scratch, variant->program, params, session->run.seed, "--serve", NULL);
	request.env = variant->env;
	request.interrupted = session->interrupted;
	struct proc_child child;
	struct bench_reply ready;
	struct err trouble = ERR_INIT;
	double seconds = 0;
	enum status status = workload_start(&request, timeout_s, &child, &ready, &trouble);
	if (status == ST_OK)
		status = workload_probe(&child, timeout_s, session->interrupted, &seconds, &trouble);
	if (status != ST_OK)
		*ret_lack = arena_printf(&session->arena, "the %s failed: %s", variant->name,
		                         status == ST_INPUT ? proc_child_said(scratch, &child, SAID_LINES) : trouble.text);
	proc_child_end(&child);
	return status == ST_OK ? seconds : 0;
}

/* "==123== I   refs:      1,234,567" */
static bool refs_parse(const char *text, double *ret_refs)
{
	const char *at = strstr(text, "I   refs:");
	if (!at)
		at = strstr(text, "I refs:");
	if (!at || !(at = strchr(at, ':')))
		return false;
	double value = 0;
	bool digits = false;
	for (at++; *at == ' ' || *at == ',' || (*at >= '0' && *at <= '9'); at++)
		if (*at >= '0' && *at <= '9') {
			value = 10 * value + (*at - '0');
			digits = true;
		}
	*ret_refs = value;
	return digits;
}

/* NULL: `ret_refs` holds. Else why not. */
static const char *run_lack(struct arena *arena, const struct proc_request *request, const struct proc_result *result,
                            const char *name, double *ret_refs)
{
	const char *lack = workload_emulation_lack(arena, request, result, name);
	if (lack)
		return lack;
	if (!refs_parse(result->err, ret_refs))
		return "valgrind's output has no line with instruction references";
	return NULL;
}

static enum status count_instructions(struct session *session, const struct variant *const variants[2],
                                      const struct binding_list *params, double timeout_s, struct counter *counter,
                                      struct err *err)
{
	struct arena scratch;
	arena_init(&scratch);
	enum status status = ST_OK;
	double native = iteration_seconds(session, &scratch, variants[0], params, timeout_s, &counter->unavailable);
	if (native > EMULATED_MOST_S)
		counter->unavailable = arena_printf(&session->arena, "an iteration takes %.1f s natively: emulated, minutes", native);
	if (!counter->unavailable) {
		uint64_t small = 1;
		if (native < EMULATED_S / 2)
			small = (uint64_t)(EMULATED_S / 2 / native);
		uint64_t numbers[2] = {small, 2 * small + 1};
		struct proc_request requests[RUNS];
		struct proc_result results[RUNS] = {0};
		for (int i = 0; i < RUNS; i++) {
			const char *number = arena_printf(&scratch, "%llu", (unsigned long long)numbers[i % 2]);
			static const char *const tool[] = {"--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
			                                   NULL};
			struct proc_request native_request = workload_request(&scratch, variants[i / 2]->program, params,
			                                                      session->run.seed, "--count", number);
			native_request.env = variants[i / 2]->env;
			native_request.timeout_s = timeout_s;
			native_request.interrupted = session->interrupted;
			requests[i] = workload_request_emulated(&scratch, &native_request, tool);
		}
		status = proc_run_many(&scratch, requests, RUNS, session->jobs, results, NULL, NULL, err);
		double refs[RUNS] = {0};
		for (int i = 0; status == ST_OK && i < RUNS && !counter->unavailable; i++) {
			if (results[i].end == PROC_INTERRUPTED)
				status = err_set(err, ST_INTERRUPTED, "interrupted");
			else
				counter->unavailable = run_lack(&session->arena, &requests[i], &results[i], variants[i / 2]->name, &refs[i]);
		}
		counter->baseline = (refs[1] - refs[0]) / (double)(numbers[1] - numbers[0]);
		counter->candidate = (refs[3] - refs[2]) / (double)(numbers[1] - numbers[0]);
		if (status == ST_OK && !counter->unavailable && (counter->baseline <= 0 || counter->candidate <= 0))
			counter->unavailable = "an iteration is too short to be counted: do more in run()";
	}
	if (*session->interrupted)
		status = err_set(err, ST_INTERRUPTED, "interrupted");
	if (counter->unavailable)
		counter->baseline = counter->candidate = 0;
	arena_release(&scratch);
	return status;
}

enum status count(struct session *session, const struct variant *baseline, const struct variant *candidate,
                  const struct binding_list *params, double timeout_s, struct counter_list *counters, struct err *err)
{
	if (baseline->command)
		return ST_OK;
	const struct variant *const variants[2] = {baseline, candidate};
	struct counter instructions = {.name = "instructions (valgrind, emulated CPU)", .unit = "per iteration",
	                               .kind = COUNTER_INSTRUCTIONS, .emulated = true};
	session_progress(session, "counting instructions", 0, 1, -1);
	enum status status = count_instructions(session, variants, params, timeout_s, &instructions, err);
	if (status != ST_OK)
		return status;
	list_push(&session->arena, counters, instructions);
	return count_cycles(session, baseline, candidate, params, timeout_s, counters, err);
}
