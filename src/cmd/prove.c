/* assay prove: the catalogue's own proving pairs on this machine.
 *
 * Every pattern carries a driver where it costs, the same after its candidate, and one that looks the same and costs
 * nothing; a removal one where the trick changes nothing. They are written into a folder of their own, scanned as a
 * project is, and settled like any hypothesis: the answer to "does this pattern cost here, with my compilers" is a run
 * like others, with its proofs. */
#include "cmd/cmd.h"

#include "base/text.h"
#include "patterns/pattern.h"
#include "port/host.h"
#include "port/patch.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <string.h>

#define REFUTED "// refuted by measuring\n"
#define FLAGS "// flags: "

static const struct pattern_example *example_of(const struct pattern_entry *entry, const char *kind)
{
	for (size_t i = 0; i < entry->example_count; i++)
		if (strcmp(entry->examples[i].kind, kind) == 0)
			return &entry->examples[i];
	return NULL;
}

LIST_OF(const struct pattern_entry *, entry_list);

static enum status entries_choose(struct arena *arena, const struct options *options, struct entry_list *ret_entries,
                                  struct err *err)
{
	for (size_t i = 0; i < options->operands.count; i++) {
		const struct pattern_entry *entry = pattern_find(options->operands.at[i]);
		if (!entry)
			return err_set(err, ST_USAGE, "no pattern is called '%s': `assay explain` lists them", options->operands.at[i]);
		bool known = false;
		for (size_t k = 0; k < ret_entries->count; k++)
			known = known || ret_entries->at[k] == entry;
		if (!known)
			list_push(arena, ret_entries, entry);
	}
	for (size_t i = 0; options->operands.count == 0 && i < pattern_registry_count; i++)
		list_push(arena, ret_entries, &pattern_registry[i]);
	return ST_OK;
}

/* "P03-loop-reload/costs.c" */
static const char *example_path(struct arena *arena, const struct pattern_entry *entry, const char *kind)
{
	return arena_printf(arena, "%s-%s/%s.c", entry->pattern->id, entry->pattern->slug, kind);
}

/* Flags that an example names, but for its level: the matrix has that. */
static void example_flags(struct arena *arena, const char *text, struct string_list *ret_flags)
{
	struct string_list words = {0};
	if (text_starts(text, REFUTED))
		text += strlen(REFUTED);
	if (!text_starts(text, FLAGS) ||
	    !shell_split(arena, arena_strndup(arena, text + strlen(FLAGS), strcspn(text + strlen(FLAGS), "\n")), &words))
		return;
	for (size_t i = 0; i < words.count; i++)
		if (!text_starts(words.at[i], "-O"))
			list_push(arena, ret_flags, words.at[i]);
}

/* The example as a file, as a workload, and as a file that the scan knows the command of. */
static enum status example_add(struct session *session, const struct pattern_entry *entry, const char *kind, struct err *err)
{
	struct arena *arena = &session->arena;
	const struct pattern_example *example = example_of(entry, kind);
	if (!example)
		return ST_OK;
	const char *name = example_path(arena, entry, kind);
	const char *path = path_join(arena, session->project.tree, name);
	enum status status = folder_make(path_dir(arena, path), err);
	if (status == ST_OK)
		status = file_write(path, example->text, strlen(example->text), err);
	if (status != ST_OK)
		return status;
	struct workload *workload = arena_new(arena, struct workload);
	*workload = (struct workload){.name = arena_printf(arena, "%s %s", entry->pattern->id, kind), .bench = name};
	example_flags(arena, example->text, &workload->flags);
	list_push(arena, &workload->libs, "-lm");
	list_push(arena, &workload->libs, "-lpthread");
	list_push(arena, &session->project.workloads, workload);
	struct compile_command command = {.file = path, .directory = session->project.tree};
	list_push(arena, &command.argv, "cc");
	list_push(arena, &command.argv, "-O2");
	for (size_t i = 0; i < workload->flags.count; i++)
		list_push(arena, &command.argv, workload->flags.at[i]);
	list_push(arena, &command.argv, arena_printf(arena, "-I%s/include", session->workdir));
	list_push(arena, &command.argv, "-c");
	list_push(arena, &command.argv, path);
	list_push(arena, &session->commands, command);
	return ST_OK;
}

static enum status project_make(struct work *work, const struct entry_list *entries, struct err *err)
{
	struct session *session = &work->session;
	enum status status = build_open(session, err);
	if (status != ST_OK)
		return status;
	session->project.tree = session->project.dir = path_join(&session->arena, session->workdir, "examples");
	session->commands_known = true;
	session->run.database = true;
	static const char *const kinds[] = {"costs", "equal", "harmless"};
	for (size_t i = 0; i < entries->count; i++)
		for (size_t k = 0; k < sizeof kinds / sizeof *kinds && status == ST_OK; k++)
			status = example_add(session, entries->at[i], kinds[k], err);
	return status;
}

/* A pattern is asked about its own examples only. */
static void findings_keep_own(struct session *session)
{
	struct finding_list own = {0};
	for (size_t i = 0; i < session->run.findings.count; i++) {
		struct finding *finding = session->run.findings.at[i];
		size_t size = strlen(finding->pattern);
		if (text_starts(finding->file, finding->pattern) && finding->file[size] == '-')
			list_push(&session->arena, &own, finding);
	}
	session->run.findings = own;
}

static void hypothesis_add(struct session *session, const struct pattern_entry *entry, const char *kind, const char *diff,
                           const struct finding *finding)
{
	struct arena *arena = &session->arena;
	const struct pattern *pattern = entry->pattern;
	unsigned same = 0;
	const char *id = arena_printf(arena, "%s:%s", pattern->id, kind);
	for (size_t i = 0; i < session->run.hypotheses.count; i++)
		same += text_starts(session->run.hypotheses.at[i]->id, id);
	struct hypothesis *hypothesis = arena_new(arena, struct hypothesis);
	*hypothesis = (struct hypothesis){
		.id = same ? arena_printf(arena, "%s:%u", id, same + 1) : id,
		.title = arena_printf(arena, "%s %s: %s", pattern->id, pattern->slug, kind),
		.claim = strcmp(kind, "costs") == 0   ? pattern->expected
		         : strcmp(kind, "equal") == 0 ? "nothing: the trick changes nothing and can go"
		                                      : "nothing: it looks the same and costs nothing",
		.finding = finding,
		.kind = CANDIDATE_PATCH,
		.text = diff,
		.contract = finding ? finding->contract : NULL,
		.contract_accepted = "the catalogue's own example, whose driver keeps it",
		.argument = pattern->id,
		.repeat = arena_printf(arena, "assay prove %s", pattern->id),
	};
	list_push(arena, &session->run.hypotheses, hypothesis);
}

/* The written candidates of "costs" and "equal", which the tests hold equal to the detector's, and whatever the detector
 * makes of "harmless". Replaces the hypotheses that the findings gave. */
static enum status hypotheses_make(struct session *session, const struct entry_list *entries, struct err *err)
{
	struct arena *arena = &session->arena;
	session->run.hypotheses = (struct hypothesis_list){0};
	for (size_t i = 0; i < entries->count; i++) {
		const struct pattern_entry *entry = entries->at[i];
		static const char *const kinds[] = {"costs", "equal"};
		for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
			const struct pattern_example *before = example_of(entry, kinds[k]);
			const struct pattern_example *fixed = example_of(entry, arena_printf(arena, "%s fixed", kinds[k]));
			const char *diff = NULL;
			if (!before || !fixed)
				continue;
			enum status status = patch_make(arena, example_path(arena, entry, kinds[k]), before->text, strlen(before->text),
			                                fixed->text, strlen(fixed->text), &diff, err);
			if (status != ST_OK)
				return status;
			hypothesis_add(session, entry, kinds[k], diff, NULL);
		}
		const char *harmless = example_path(arena, entry, "harmless");
		for (size_t k = 0; k < session->run.findings.count; k++) {
			const struct finding *finding = session->run.findings.at[k];
			if (finding->candidate && strcmp(finding->file, harmless) == 0)
				hypothesis_add(session, entry, "harmless", finding->candidate, finding);
		}
	}
	return ST_OK;
}

/* Every compiler that is installed, at -O2 and -O3, unless --matrix says otherwise. */
static void matrix_default(struct work *work)
{
	struct options *options = &work->invocation->options;
	if (options->matrix_cc.count == 0)
		host_compilers(&work->session.arena, &options->matrix_cc);
	if (options->matrix_flags.count == 0) {
		list_push(&work->session.arena, &options->matrix_flags, "-O2");
		list_push(&work->session.arena, &options->matrix_flags, "-O3");
	}
}

int command_prove(struct invocation *invocation)
{
	struct err err = ERR_INIT;
	struct work work = {0};
	struct entry_list entries = {0};
	enum status status = entries_choose(invocation->arena, &invocation->options, &entries, &err);
	if (status != ST_OK)
		return complain(&err);
	work_open_catalogue(invocation, &work);
	status = project_make(&work, &entries, &err);
	if (status == ST_OK)
		status = work_scan(&work, NULL, &err);
	if (status == ST_OK)
		status = hypothesize_findings(&work.session, &err);
	findings_keep_own(&work.session);
	if (status == ST_OK)
		status = hypotheses_make(&work.session, &entries, &err);
	work_keep_scan(&work);
	if (status == ST_OK) {
		matrix_default(&work);
		status = work_settle(&work, &err);
	}
	int code = work_finish(&work, status, &err, term_prove);
	work_release(&work);
	return code;
}
