#include "cmd/cmd.h"

#include "base/text.h"
#include "port/history.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <string.h>
#include <unistd.h>

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
	             {CANDIDATE_PATCH, options->rev},
	             {CANDIDATE_ENV, options->env},
	             {CANDIDATE_COMMAND, options->vs},
	             {CANDIDATE_NONE, options->vs            ? NULL
	                              : options->operands.count ? options->operands.at[0]
	                                                     : NULL}};
	unsigned count = options->over || options->survey;
	if (options->over && options->survey)
		return err_set(err, ST_USAGE, "give either --over or --survey, not both");
	if (count && (options->require_given || options->forbid_given))
		return err_set(err, ST_USAGE, "a survey has no one candidate, so it passes no gate: leave out --require and --forbid");
	if (count && options->layouts >= 2)
		return err_set(err, ST_USAGE, "the values of a survey share one program, so it is measured as built: leave out --layouts");
	for (size_t i = 0; i < sizeof given / sizeof *given; i++)
		if (given[i].text) {
			*ret_kind = given[i].kind;
			*ret_text = given[i].text;
			count++;
		}
	if (count == 1)
		return ST_OK;
	return err_set(err, ST_USAGE, "%s: name a finding, or give one of --patch, --rev, --define, --flags, --cc, --env, --vs, "
	               "--over and --survey (assay help try)",
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

/* The tree of revision A takes the place of the user's, and the change to B becomes a patch against it. */
static enum status try_revisions(struct work *work, const char *range, struct err *err)
{
	struct session *session = &work->session;
	struct project *project = &session->project;
	struct arena *arena = &session->arena;
	const char *dots = strstr(range, "..");
	if (!dots || dots == range || dots[2] == '.' || strstr(dots + 2, ".."))
		return err_set(err, ST_USAGE, "--rev wants two revisions, as in v1.0..v1.1 or main..HEAD, not '%s'", range);
	const char *from = arena_strndup(arena, range, (size_t)(dots - range)), *to = dots[2] ? dots + 2 : "HEAD";
	enum status status = build_open(session, err);
	if (status != ST_OK)
		return status;
	const char *folder = path_join(arena, session->workdir, "revision"), *patch = path_join(arena, session->workdir, "revision.patch");
	struct revisions revisions;
	status = history_revisions(arena, project->tree, from, to, folder, &revisions, err);
	if (status == ST_OK && !revisions.diff[0])
		status = err_set(err, ST_USAGE, "%s and %s do not differ in %s", from, to, project->tree);
	if (status == ST_OK)
		status = file_write(patch, revisions.diff, strlen(revisions.diff), err);
	if (status != ST_OK)
		return err_context(err, "--rev %s", range);
	for (size_t i = 0; i < revisions.problems.count; i++)
		session_note(session, from, "%s", revisions.problems.at[i]);
	/* Drivers as they were at A, where they were there already. */
	const char *below = path_under(project->dir, project->tree);
	for (size_t i = 0; below && i < project->workloads.count; i++) {
		struct workload *workload = project->workloads.at[i];
		const char *driver = workload->bench
		                         ? path_clean(arena, path_join(arena, path_join(arena, folder, below), workload->bench))
		                         : NULL;
		if (driver && access(driver, R_OK) == 0)
			workload->bench = driver;
	}
	if (project->compile_commands)
		session_note(session, project->compile_commands, "it belongs to the working tree, so it is not used for a revision");
	project->compile_commands = NULL;
	project->origin = project->tree;
	project->tree = folder;
	struct hypothesis *hypothesis = NULL;
	status = hypothesize_one(session, CANDIDATE_PATCH, patch, NULL, NULL, &hypothesis, err);
	if (status != ST_OK)
		return err_context(err, "--rev %s", range);
	const char *ids = arena_printf(arena, "%s..%s", revisions.from, revisions.to);
	hypothesis->id = arena_printf(arena, "rev:%s", ids);
	hypothesis->title = arena_printf(arena, "%s against %s", to, from);
	hypothesis->argument = arena_printf(arena, "--rev %s", ids);
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
	bool survey = invocation->options.over || invocation->options.survey;
	if (status == ST_OK && (survey || invocation->options.against || invocation->options.needs.count))
		status = work_surveys(&work, &err);
	if (status == ST_OK && survey) {
		work_commands(&work);
	} else if (status == ST_OK && kind == CANDIDATE_NONE) {
		status = try_finding(&work, text, &err);
	} else if (status == ST_OK && invocation->options.rev) {
		status = try_revisions(&work, text, &err);
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
