/* Same output of two whole commands? The baseline is run twice first: what differs from itself can't be compared. Then the
 * candidate twice. Where it differs, the baseline has to equal itself some times more and the candidate to differ once
 * more before it is called wrong. Every run reads its input from the beginning. */
#include "base/extract.h"
#include "port/command.h"
#include "stage/stages.h"

enum { SHOWN_BYTES = 60, CANDIDATE_RUNS = 2, ITSELF_AGAIN = 3 };

struct printed {
	const char *text; /* what is compared: without the number of a metric that is printed */
	size_t size;
	uint64_t bytes, hash; /* of all that was printed */
	bool whole;           /* `text` is all of it */
};

/* What is left of the output without the printed metric, which may differ. NULL, with *ret_problem: no metric in it. */
static struct printed printed_of(struct arena *arena, const struct workload *workload, const struct proc_result *result,
                                 const char **ret_problem)
{
	struct printed printed = {.text = result->out, .size = result->out_size, .bytes = result->out_bytes,
	                          .hash = result->out_hash, .whole = result->out_bytes == result->out_size};
	if (!workload->metric_pattern)
		return printed;
	double value;
	size_t start = 0, end = 0;
	if (extract_number(workload->metric_pattern, result->out, &value, &start, &end)) {
		char *text = arena_alloc(arena, result->out_size + 1);
		memcpy(text, result->out, start);
		memcpy(text + start, result->out + end, result->out_size - end);
		printed.text = text;
		printed.size = result->out_size - (end - start);
	} else if (!extract_number(workload->metric_pattern, result->err, &value, NULL, NULL)) {
		*ret_problem = arena_printf(arena, "nothing that it prints matches %s with a number above zero",
		                            workload->metric_pattern);
	}
	return printed;
}

/* One line of the output, with what can't be shown as dots. */
static const char *line_at(struct arena *arena, const struct printed *printed, size_t at)
{
	size_t start = at, end = at;
	while (start > 0 && printed->text[start - 1] != '\n' && at - start < SHOWN_BYTES / 2)
		start--;
	while (end < printed->size && printed->text[end] != '\n' && end - start < SHOWN_BYTES)
		end++;
	char *line = arena_strndup(arena, printed->text + start, end - start);
	for (char *byte = line; *byte; byte++)
		if ((unsigned char)*byte < 0x20 || *byte == 0x7f)
			*byte = '.';
	return line[0] ? arena_printf(arena, "\"%s\"", line) : "nothing";
}

/* NULL: the same. */
static const char *difference(struct arena *arena, const struct printed *a, const struct printed *b, const char *reference)
{
	bool both_whole = a->whole && b->whole;
	size_t common = a->size < b->size ? a->size : b->size, at = 0;
	while (at < common && a->text[at] == b->text[at])
		at++;
	if (at == common && a->size == b->size && (both_whole || (a->bytes == b->bytes && a->hash == b->hash)))
		return NULL;
	if (at == common && a->size == b->size)
		return arena_printf(arena, "its output differs beyond the first %zu bytes; %llu bytes, %s %llu", at,
		                    (unsigned long long)b->bytes, reference, (unsigned long long)a->bytes);
	unsigned line = 1;
	for (size_t i = 0; i < at; i++)
		line += a->text[i] == '\n';
	return arena_printf(arena, "its output differs at byte %zu, in line %u: %s, %s %s", at, line, line_at(arena, b, at),
	                    reference, line_at(arena, a, at));
}

struct outputs_runs {
	struct session *session;
	struct arena scratch;
	const struct workload *workload;
	double timeout_s;
	unsigned done;
	struct printed reference; /* what the baseline printed first */
	struct outputs_result *result;
};

/* Runs one of them. OUTPUTS_EQUAL: it did what it should, and *ret_differs is NULL or says how its output differs from the
 * reference. */
static enum status command_once(struct outputs_runs *runs, const struct variant *variant, bool candidate,
                                struct printed *ret_printed, const char **ret_differs, struct err *err)
{
	struct session *session = runs->session;
	struct proc_request request = command_request(variant, runs->workload->cpu, runs->timeout_s, session->interrupted);
	struct proc_result result;
	*ret_differs = NULL;
	session_progress(session, "comparing outputs", runs->done, runs->done + CANDIDATE_RUNS, -1);
	enum status status = proc_run(&runs->scratch, &request, &result, err);
	if (status == ST_OK && result.end == PROC_INTERRUPTED)
		status = err_set(err, ST_INTERRUPTED, "interrupted");
	if (status != ST_OK)
		return status;
	const char *problem = command_failure(&runs->scratch, &request, &result);
	if (!problem)
		*ret_printed = printed_of(&runs->scratch, runs->workload, &result, &problem);
	if (problem) {
		runs->result->verdict = candidate ? OUTPUTS_CANDIDATE_FAILED : OUTPUTS_BASELINE_FAILED;
		runs->result->text = arena_strdup(&session->arena, problem);
		return ST_OK;
	}
	if (runs->done++ == 0)
		runs->reference = *ret_printed;
	else if (!runs->workload->any_output)
		*ret_differs = difference(&runs->scratch, &runs->reference, ret_printed,
		                          candidate ? "the baseline has" : "before it was");
	return ST_OK;
}

static void differs_say(struct outputs_runs *runs, enum outputs_verdict verdict, const char *what, const char *differs)
{
	runs->result->verdict = verdict;
	runs->result->text = arena_printf(&runs->session->arena, "%s%s (--any-output, if that does not matter)", what, differs);
}

/* The baseline, so many times more. */
static enum status baseline_again(struct outputs_runs *runs, const struct variant *baseline, unsigned times, struct err *err)
{
	struct printed printed;
	const char *differs = NULL;
	for (unsigned i = 0; i < times && runs->result->verdict == OUTPUTS_EQUAL && !differs; i++) {
		enum status status = command_once(runs, baseline, false, &printed, &differs, err);
		if (status != ST_OK)
			return status;
	}
	if (differs)
		differs_say(runs, OUTPUTS_NOT_REPEATABLE, "", differs);
	return ST_OK;
}

/* It differed: for good? */
static enum status difference_confirm(struct outputs_runs *runs, const struct variant *baseline,
                                      const struct variant *candidate, const char *first, struct err *err)
{
	struct printed printed;
	const char *again = NULL;
	enum status status = baseline_again(runs, baseline, ITSELF_AGAIN, err);
	if (status == ST_OK && runs->result->verdict == OUTPUTS_EQUAL)
		status = command_once(runs, candidate, true, &printed, &again, err);
	if (status != ST_OK || runs->result->verdict != OUTPUTS_EQUAL)
		return status;
	if (again)
		differs_say(runs, OUTPUTS_DIFFER, "", first);
	else
		differs_say(runs, OUTPUTS_NOT_REPEATABLE, "the candidate differed once, but not in every run: ", first);
	return ST_OK;
}

static enum status commands_compare(struct outputs_runs *runs, const struct variant *baseline, const struct variant *candidate,
                                    struct printed *ret_printed, struct err *err)
{
	enum status status = baseline_again(runs, baseline, 2, err);
	for (int i = 0; i < CANDIDATE_RUNS && status == ST_OK && runs->result->verdict == OUTPUTS_EQUAL; i++) {
		const char *differs = NULL;
		status = command_once(runs, candidate, true, ret_printed, &differs, err);
		if (status != ST_OK || !differs)
			continue;
		if (i == 0)
			return difference_confirm(runs, baseline, candidate, differs, err);
		differs_say(runs, OUTPUTS_NOT_REPEATABLE, "the candidate differed once, but not in every run: ", differs);
	}
	return status;
}

enum status outputs_command(struct session *session, const struct variant *baseline, const struct variant *candidate,
                            double timeout_s, struct outputs_result *ret_result, struct err *err)
{
	struct arena *arena = &session->arena;
	const struct workload *workload = baseline->workload;
	struct outputs_runs runs = {.session = session, .workload = workload, .timeout_s = timeout_s, .result = ret_result};
	struct printed printed = {0};
	*ret_result = (struct outputs_result){.verdict = OUTPUTS_EQUAL};
	arena_init(&runs.scratch);
	enum status status = commands_compare(&runs, baseline, candidate, &printed, err);
	if (status == ST_OK && ret_result->verdict == OUTPUTS_EQUAL) {
		ret_result->bytes = printed.bytes;
		ret_result->records = 1;
		if (workload->any_output)
			ret_result->text = "outputs are not compared, as asked (--any-output); both exit with 0";
		else if (printed.bytes == 0)
			ret_result->text = "both exit with 0 and print nothing, so nothing tells a wrong candidate";
		else
			ret_result->text = arena_printf(arena, "same output twice, %llu bytes%s, and exit status 0; the baseline equals "
			                                "itself", ret_result->bytes, workload->metric_pattern ? " (the metric left out)" : "");
	}
	arena_release(&runs.scratch);
	return status;
}
