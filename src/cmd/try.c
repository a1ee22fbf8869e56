#include "cmd/cmd.h"

#include "base/text.h"
#include "stage/stages.h"

#include <string.h>

/* The one candidate that was named. */
static enum status candidate_choose(const struct options *options, enum candidate_kind *ret_kind, const char **ret_text,
                                    struct err *err)
{
	const struct {
		enum candidate_kind kind;
		const char *text;
	} given[] = {{CANDIDATE_PATCH, options->patch},
	             {CANDIDATE_DEFINE, options->define},
	             {CANDIDATE_FLAGS, options->flags},
	             {CANDIDATE_CC, options->cc},
	             {CANDIDATE_ENV, options->env},
	             {CANDIDATE_COMMAND, options->vs},
	             {CANDIDATE_NONE, options->vs            ? NULL
	                              : options->operands.count ? options->operands.at[0]
	                                                     : NULL}};
	unsigned count = 0;
	for (size_t i = 0; i < sizeof given / sizeof *given; i++)
		if (given[i].text) {
			*ret_kind = given[i].kind;
			*ret_text = given[i].text;
			count++;
		}
	if (count == 1)
		return ST_OK;
	return err_set(err, ST_USAGE, "%s: name a finding, or give one of --patch, --define, --flags, --cc, --env and --vs (assay help "
	               "try)",
	               count ? "more than one candidate is given" : "there is no candidate to try");
}

static enum status try_finding(struct work *work, const char *name, struct err *err)
{
	struct finding *finding = NULL;
	enum status status = work_finding(work, name, &finding, err);
	if (status == ST_OK)
		status = hypothesize_findings(&work->session, err);
	if (status != ST_OK)
		return status;
	if (!finding->candidate && !finding->deliberate)
		return err_set(err, ST_USAGE, "%s has no candidate, it is advice only: write the change as a patch and give it by "
		               "--patch (assay explain %s)", finding->id, finding->id);
	work_keep_scan(work);
	return ST_OK;
}

int command_try(struct invocation *invocation)
{
	struct err err = ERR_INIT;
	struct work work = {0};
	enum candidate_kind kind = CANDIDATE_NONE;
	const char *text = NULL;
	enum status status = candidate_choose(&invocation->options, &kind, &text, &err);
	if (status == ST_OK)
		status = work_open(invocation, NULL, &work, &err);
	if (status != ST_OK) {
		work_release(&work);
		return complain(&err);
	}
	status = work_workloads(&work, &err);
	if (status == ST_OK && kind == CANDIDATE_NONE) {
		status = try_finding(&work, text, &err);
	} else if (status == ST_OK) {
		work_commands(&work);
		status = hypothesize_one(&work.session, kind, text, NULL, NULL, NULL, &err);
	}
	if (status == ST_OK)
		status = work_settle(&work, &err);
	int code = work_finish(&work, status, &err, term_verdicts);
	work_release(&work);
	return code;
}
