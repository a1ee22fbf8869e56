/* findings, patches, defines, flags, compilers → hypotheses. */
#include "stage/stages.h"

#include "base/text.h"
#include "port/patch.h"
#include "port/tree.h"

#include <stdlib.h>

static const char *decision_on(const struct session *session, const char *id)
{
	return decision_reason(&session->project.decisions, id);
}

/* ---- edits → a unified diff --------------------------------------------------------------------------------------- */

static int edit_order(const void *a, const void *b)
{
	const struct edit *one = a, *two = b;
	int files = strcmp(one->file, two->file);
	if (files)
		return files;
	return one->offset < two->offset ? -1 : one->offset > two->offset;
}

/* Applies the edits of one file (`edits`, in order) and appends the diff. */
static enum status file_diff(struct arena *arena, const char *tree, const struct edit *edits, size_t count,
                             const char **diff, struct err *err)
{
	const char *file = edits[0].file;
	const char *text = NULL;
	size_t size = 0;
	enum status status = file_read(arena, path_join(arena, tree, file), &text, &size, err);
	if (status != ST_OK)
		return status;
	size_t new_size = size;
	for (size_t i = 0; i < count; i++)
		new_size += strlen(edits[i].text);
	char *changed = arena_alloc(arena, new_size + 1);
	size_t at = 0, used = 0;
	for (size_t i = 0; i < count; i++) {
		if (edits[i].offset < at || edits[i].length > size || edits[i].offset > size - edits[i].length)
			return err_set(err, ST_INPUT, "%s is not the text that was scanned: scan it again", file);
		memcpy(changed + used, text + at, edits[i].offset - at);
		used += edits[i].offset - at;
		memcpy(changed + used, edits[i].text, strlen(edits[i].text));
		used += strlen(edits[i].text);
		at = edits[i].offset + edits[i].length;
	}
	memcpy(changed + used, text + at, size - at);
	used += size - at;
	return patch_make(arena, file, text, size, changed, used, diff, err);
}

static enum status finding_diff(struct session *session, struct finding *finding, struct err *err)
{
	struct arena scratch;
	arena_init(&scratch);
	size_t count = finding->edits.count;
	struct edit *edits = arena_alloc(&scratch, count * sizeof *edits);
	memcpy(edits, finding->edits.at, count * sizeof *edits);
	qsort(edits, count, sizeof *edits, edit_order);
	const char *diff = NULL;
	enum status status = ST_OK;
	for (size_t from = 0, to; from < count && status == ST_OK; from = to) {
		for (to = from + 1; to < count && strcmp(edits[to].file, edits[from].file) == 0;)
			to++;
		status = file_diff(&scratch, session->project.tree, edits + from, to - from, &diff, err);
	}
	if (status == ST_OK)
		finding->candidate = arena_strdup(&session->arena, diff);
	arena_release(&scratch);
	return status;
}

/* ---- findings ------------------------------------------------------------------------------------------------------ */

enum status hypothesize_findings(struct session *session, struct err *err)
{
	struct arena *arena = &session->arena;
	for (size_t i = 0; i < session->run.findings.count; i++) {
		struct finding *finding = session->run.findings.at[i];
		if (*session->interrupted)
			return err_set(err, ST_INTERRUPTED, "interrupted");
		if (!finding->deliberate) {
			finding->deliberate = decision_on(session, finding->id);
			finding->deliberate_in = finding->deliberate ? DELIBERATE_IN_PROJECT : DELIBERATE_NOWHERE;
		}
		struct err trouble = ERR_INIT;
		if (finding->edits.count && finding_diff(session, finding, &trouble) != ST_OK) {
			session_note(session, finding->id, "no candidate can be made: %s", trouble.text);
			session->run.untried += !finding->deliberate;
		}
		struct hypothesis *hypothesis = arena_new(arena, struct hypothesis);
		*hypothesis = (struct hypothesis){
		    .id = finding->id,
		    .title = arena_printf(arena, "%s %s:%u %s", finding->pattern, finding->file, finding->line, finding->symbol),
		    .claim = finding->claim,
		    .finding = finding,
		    .kind = finding->candidate ? CANDIDATE_PATCH : CANDIDATE_NONE,
		    .text = finding->candidate,
		    .contract = finding->contract,
		    .contract_accepted = decision_reason(&session->project.contracts, finding->id),
		    .deliberate = finding->deliberate,
		    .argument = shell_quote(arena, finding->id),
		};
		list_push(arena, &session->run.hypotheses, hypothesis);
	}
	return ST_OK;
}

/* ---- claims ---------------------------------------------------------------------------------------------------------- */

/* A patch file, read into `scratch`. */
static enum status patch_open(const struct session *session, struct arena *scratch, const char *path, struct patch *ret_patch,
                              struct err *err)
{
	const char *text = NULL;
	size_t size = 0;
	enum status status = file_read(scratch, path, &text, &size, err);
	if (status != ST_OK)
		return status;
	status = patch_parse(scratch, text, size, session->project.tree, ret_patch, err);
	if (status != ST_OK)
		err_context(err, "%s", path);
	return status;
}

static enum status patch_file_read(struct session *session, const char *path, const char **ret_text, struct err *err)
{
	struct arena scratch;
	arena_init(&scratch);
	struct patch patch;
	struct err trouble = ERR_INIT;
	enum status status = patch_open(session, &scratch, path, &patch, &trouble);
	if (status == ST_OK)
		*ret_text = arena_strdup(&session->arena, patch_text(&scratch, &patch));
	else
		status = err_set(err, ST_INPUT, "%s", trouble.text);
	arena_release(&scratch);
	return status;
}

enum status hypothesize_one(struct session *session, enum candidate_kind kind, const char *text, const char *title,
                            const char *claim, struct hypothesis **ret_hypothesis, struct err *err)
{
	struct arena *arena = &session->arena;
	struct hypothesis *hypothesis = arena_new(arena, struct hypothesis);
	const char *name = kind == CANDIDATE_PATCH ? path_base(text) : text;
	*hypothesis = (struct hypothesis){.kind = kind, .claim = claim, .text = arena_strdup(arena, text)};
	static const char *const options[] = {
	    [CANDIDATE_PATCH] = "--patch", [CANDIDATE_DEFINE] = "--define", [CANDIDATE_FLAGS] = "--flags", [CANDIDATE_CC] = "--cc",
	    [CANDIDATE_ENV] = "--env", [CANDIDATE_COMMAND] = "--vs"};
	if (kind == CANDIDATE_NONE)
		return err_set(err, ST_USAGE, "nothing to try: name a finding, or give --patch, --define, --flags, --cc, --env or --vs");
	if (kind == CANDIDATE_ENV && (!strchr(text, '=') || text[0] == '=' || strcspn(text, " \t\n") < strcspn(text, "=")))
		return err_set(err, ST_USAGE, "--env wants NAME=VALUE, not '%s'", text);
	if (!text[0] || (kind == CANDIDATE_DEFINE && strpbrk(text, " \t\n=") == text))
		return err_set(err, ST_USAGE, "%s needs a value", options[kind]);
	if (kind == CANDIDATE_PATCH && patch_file_read(session, text, &hypothesis->text, err) != ST_OK)
		return err ? err->code : ST_INPUT;
	hypothesis->id = arena_printf(arena, "%s:%s", candidate_kind_name(kind), title ? title : name);
	hypothesis->title = arena_strdup(arena, title ? title : arena_printf(arena, "%s %s", options[kind] + 2, name));
	if (kind == CANDIDATE_COMMAND && session->project.workloads.count == 1)
		hypothesis->title = arena_printf(arena, "%s against %s", text, session->project.workloads.at[0]->run);
	hypothesis->argument = arena_printf(arena, "%s %s", options[kind], shell_quote(arena, text));
	hypothesis->deliberate = decision_on(session, hypothesis->id);
	if (!hypothesis->deliberate)
		hypothesis->deliberate = decision_on(session, title);
	hypothesis->contract_accepted = decision_reason(&session->project.contracts, hypothesis->id);
	if (!hypothesis->contract_accepted)
		hypothesis->contract_accepted = decision_reason(&session->project.contracts, title);
	list_push(arena, &session->run.hypotheses, hypothesis);
	if (ret_hypothesis)
		*ret_hypothesis = hypothesis;
	return ST_OK;
}

/* The first that applies to the tree or is in it already, else the first: what is wrong with it is said where it is tried. */
static const char *patch_choose(const struct session *session, const struct string_list *paths)
{
	const char *chosen = paths->count == 1 ? paths->at[0] : NULL;
	for (size_t i = 0; i < paths->count && !chosen; i++) {
		struct arena scratch;
		arena_init(&scratch);
		struct patch patch;
		struct patched_list patched = {0};
		struct err unfit = ERR_INIT;
		if (patch_open(session, &scratch, paths->at[i], &patch, &unfit) == ST_OK &&
		    (patch_apply(&scratch, &patch, session->project.tree, &patched, &unfit) == ST_OK ||
		     patch_is_in(&scratch, &patch, session->project.tree)))
			chosen = paths->at[i];
		arena_release(&scratch);
	}
	return chosen ? chosen : paths->at[0];
}

enum status hypothesize_project(struct session *session, struct err *err)
{
	for (size_t i = 0; i < session->project.hypotheses.count; i++) {
		const struct claimed *claimed = &session->project.hypotheses.at[i];
		if (*session->interrupted)
			return err_set(err, ST_INTERRUPTED, "interrupted");
		enum candidate_kind kind = claimed->patches.count ? CANDIDATE_PATCH
		                           : claimed->define ? CANDIDATE_DEFINE
		                           : claimed->flags  ? CANDIDATE_FLAGS
		                           : claimed->env    ? CANDIDATE_ENV
		                                             : CANDIDATE_CC;
		const char *text = claimed->patches.count ? patch_choose(session, &claimed->patches)
		                   : claimed->define ? claimed->define
		                   : claimed->flags  ? claimed->flags
		                   : claimed->env    ? claimed->env
		                                     : claimed->cc;
		struct err trouble = ERR_INIT;
		if (hypothesize_one(session, kind, text, claimed->name, claimed->claim, NULL, &trouble) != ST_OK) {
			session_note(session, claimed->name, "the hypothesis is left out: %s", trouble.text);
			session->run.untried++;
		}
	}
	return ST_OK;
}
