/* Which of the findings matter now: --baseline and --changed-since. */
#include "cmd/cmd.h"

#include "base/text.h"
#include "patterns/pattern.h"
#include "port/tree.h"

#include <string.h>

/* ---- the baseline ------------------------------------------------------------------------------------------------- */

static enum status baseline_read(struct arena *arena, const char *path, struct finding_list *ret_findings, struct err *err)
{
	const char *text = NULL;
	size_t size = 0;
	enum status status = file_read(arena, path, &text, &size, err);
	bool is_sarif = false;
	if (status == ST_OK)
		status = sarif_findings_read(arena, text, size, &is_sarif, ret_findings, err);
	if (status == ST_OK && !is_sarif) {
		struct run run;
		status = json_run_read(arena, text, size, &run, err);
		*ret_findings = run.findings;
	}
	if (status != ST_OK)
		err_context(err, "--baseline %s: give a report of `assay scan --format json` or sarif", path);
	return status;
}

static struct finding *finding_of(const struct finding_list *list, const char *id)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->at[i]->id, id) == 0)
			return list->at[i];
	return NULL;
}

/* Would this scan have seen it? What was not looked at is not gone. */
static bool looked_at(const struct work *work, const struct string_list *paths, const struct finding *finding)
{
	const struct session *session = &work->session;
	struct arena scratch;
	arena_init(&scratch);
	const char *path = path_join(&scratch, session->project.tree, finding->file);
	bool inside = paths->count == 0;
	for (size_t i = 0; i < paths->count && !inside; i++)
		inside = path_under(path, paths->at[i]) != NULL;
	const struct string_list *patterns = &work->invocation->options.patterns;
	bool asked = patterns->count == 0;
	for (size_t i = 0; i < patterns->count && !asked; i++) {
		const struct pattern_entry *entry = pattern_find(patterns->at[i]);
		asked = entry && strcmp(entry->pattern->id, finding->pattern) == 0;
	}
	/* A file that could not be examined has a note. */
	bool failed = false;
	for (size_t i = 0; i < session->run.notes.count && !failed; i++)
		failed = strcmp(session->run.notes.at[i].where, finding->file) == 0;
	arena_release(&scratch);
	return inside && asked && !failed;
}

static void baseline_apply(struct work *work, const struct narrowing *narrowing, const struct string_list *paths)
{
	struct run *run = &work->session.run;
	const struct finding_list before = narrowing->before;
	run->baseline = work->invocation->options.baseline;
	for (size_t i = 0; i < run->findings.count; i++) {
		struct finding *finding = run->findings.at[i];
		finding->baseline = finding_of(&before, finding->id) ? BASELINE_UNCHANGED : BASELINE_NEW;
	}
	for (size_t i = 0; i < before.count; i++) {
		struct finding *old = before.at[i];
		if (finding_of(&run->findings, old->id) || !looked_at(work, paths, old))
			continue;
		old->baseline = BASELINE_ABSENT;
		list_push(&work->session.arena, &run->absent, old);
	}
}

/* ---- what changed -------------------------------------------------------------------------------------------------- */

static void changed_apply(struct work *work, const struct narrowing *narrowing)
{
	struct session *session = &work->session;
	struct run *run = &session->run;
	run->changed_since = work->invocation->options.changed_since;
	struct finding_list kept = {0};
	for (size_t i = 0; i < run->findings.count; i++) {
		struct finding *finding = run->findings.at[i];
		struct arena scratch;
		struct err trouble = ERR_INIT;
		const char *text = NULL;
		arena_init(&scratch);
		/* A file that is gone by now: only its lines can tell. */
		if (file_read(&scratch, path_join(&scratch, session->project.tree, finding->file), &text, NULL, &trouble) != ST_OK)
			text = "";
		if (history_touches(&narrowing->changes, finding->file, text, finding->line))
			list_push(&session->arena, &kept, finding);
		else
			run->findings_left_out++;
		arena_release(&scratch);
	}
	run->findings = kept;
}

enum status work_narrowing(struct work *work, struct narrowing *ret_narrowing, struct err *err)
{
	const struct options *options = &work->invocation->options;
	struct session *session = &work->session;
	*ret_narrowing = (struct narrowing){0};
	enum status status = ST_OK;
	if (options->baseline)
		status = baseline_read(&session->arena, options->baseline, &ret_narrowing->before, err);
	if (status == ST_OK && options->changed_since) {
		status = history_changed_since(&session->arena, session->project.tree, options->changed_since, &ret_narrowing->changes,
		                               err);
		if (status != ST_OK)
			err_context(err, "--changed-since %s", options->changed_since);
	}
	return status;
}

void work_narrow(struct work *work, const struct narrowing *narrowing, const struct string_list *paths)
{
	if (work->invocation->options.baseline)
		baseline_apply(work, narrowing, paths);
	if (work->invocation->options.changed_since)
		changed_apply(work, narrowing);
}
