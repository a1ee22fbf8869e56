/* Can a value of a parameter run here? The driver knows; it is asked by --describe, which makes its inputs and no more. */
#include "base/text.h"
#include "port/workload.h"
#include "stage/stages.h"

enum { SAID_LINES = 3 };

enum status value_probe(struct session *session, const struct variant *variant, const struct binding_list *params,
                        double timeout_s, const char **ret_unavailable, const char **ret_failure, struct err *err)
{
	struct arena *arena = &session->arena;
	struct proc_request request = workload_request(arena, variant->program, params, session->run.seed, "--describe", NULL);
	struct proc_result result;
	*ret_unavailable = *ret_failure = NULL;
	request.env = variant->env;
	request.timeout_s = timeout_s;
	request.interrupted = session->interrupted;
	enum status status = proc_run(arena, &request, &result, err);
	if (status != ST_OK)
		return status;
	if (result.end == PROC_INTERRUPTED)
		return err_set(err, ST_INTERRUPTED, "interrupted");
	if (proc_ok(&result))
		return ST_OK;
	const char *said = text_tail(arena, result.err, SAID_LINES);
	if (result.end == PROC_EXITED && result.code == BENCH_EXIT_UNAVAILABLE) {
		*ret_unavailable = said[0] ? said : "the driver gives no reason";
		return ST_OK;
	}
	const char *how = proc_describe(arena, &request, &result);
	*ret_failure = said[0] ? arena_printf(arena, "%s: %s", how, said) : how;
	return ST_OK;
}
