#include "cmd/cmd.h"

#include "stage/stages.h"

int command_audit(struct invocation *invocation)
{
	struct err err = ERR_INIT;
	struct work work = {0};
	const char *project = NULL;
	struct string_list paths;
	enum status status = work_paths(invocation->arena, &invocation->options, &project, &paths, &err);
	if (status == ST_OK)
		status = work_open(invocation, project, &work, &err);
	if (status != ST_OK) {
		work_release(&work);
		return complain(&err);
	}
	struct profile *profile = NULL;
	status = work_workloads(&work, &err);
	if (status == ST_OK)
		status = work_surveys(&work, &err);
	if (status == ST_OK)
		status = work_profile(&work, &profile, &err);
	if (status == ST_OK)
		status = work_scan(&work, &paths, &err);
	if (status == ST_OK)
		status = work_rank(&work, profile, &err);
	/* The project's own claims first: somebody asked for them by name. */
	if (status == ST_OK)
		status = hypothesize_project(&work.session, &err);
	if (status == ST_OK)
		status = hypothesize_findings(&work.session, &err);
	work_keep_scan(&work);
	if (status == ST_OK)
		status = work_settle(&work, &err);
	int code = work_finish(&work, status, &err, term_verdicts);
	work_release(&work);
	return code;
}
