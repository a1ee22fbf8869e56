/* Same output of two whole commands? The baseline is run twice first: what differs from itself can't be compared. */
#include "base/extract.h"
#include "port/command.h"
#include "stage/stages.h"

enum { BASELINE_FIRST, BASELINE_AGAIN, CANDIDATE, RUNS, SHOWN_BYTES = 60 };

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

enum status outputs_command(struct session *session, const struct variant *baseline, const struct variant *candidate,
                            double timeout_s, struct outputs_result *ret_result, struct err *err)
{
	struct arena *arena = &session->arena;
	const struct workload *workload = baseline->workload;
	struct printed printed[RUNS] = {0};
	struct arena scratch;
	arena_init(&scratch);
	*ret_result = (struct outputs_result){.verdict = OUTPUTS_EQUAL};
	enum status status = ST_OK;
	for (int i = 0; i < RUNS && status == ST_OK; i++) {
		session_progress(session, "comparing outputs", i, RUNS, -1);
		struct proc_request request =
		    command_request(i == CANDIDATE ? candidate : baseline, workload->cpu, timeout_s, session->interrupted);
		struct proc_result result;
		const char *problem = NULL;
		status = proc_run(&scratch, &request, &result, err);
		if (status == ST_OK && result.end == PROC_INTERRUPTED)
			status = err_set(err, ST_INTERRUPTED, "interrupted");
		if (status != ST_OK)
			break;
		problem = command_failure(&scratch, &request, &result);
		if (!problem)
			printed[i] = printed_of(&scratch, workload, &result, &problem);
		if (problem) {
			ret_result->verdict = i == CANDIDATE ? OUTPUTS_CANDIDATE_FAILED : OUTPUTS_BASELINE_FAILED;
			ret_result->text = arena_strdup(arena, problem);
			break;
		}
		const char *differs = i == BASELINE_FIRST || workload->any_output
		                          ? NULL
		                          : difference(&scratch, &printed[BASELINE_FIRST], &printed[i],
		                                       i == CANDIDATE ? "the baseline has" : "before it was");
		if (differs) {
			ret_result->verdict = i == CANDIDATE ? OUTPUTS_DIFFER : OUTPUTS_NOT_REPEATABLE;
			ret_result->text = arena_printf(arena, "%s (--any-output, if that does not matter)", differs);
			break;
		}
	}
	if (status == ST_OK && ret_result->verdict == OUTPUTS_EQUAL) {
		ret_result->bytes = printed[CANDIDATE].bytes;
		ret_result->records = 1;
		if (workload->any_output)
			ret_result->text = "outputs are not compared, as asked (--any-output); both exit with 0";
		else if (printed[CANDIDATE].bytes == 0)
			ret_result->text = "both exit with 0 and print nothing, so nothing tells a wrong candidate";
		else
			ret_result->text = arena_printf(arena, "same output, %llu bytes%s, and exit status 0; the baseline equals itself",
			                                ret_result->bytes, workload->metric_pattern ? " (the metric left out)" : "");
	}
	arena_release(&scratch);
	return status;
}
