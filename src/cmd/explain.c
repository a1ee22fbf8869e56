#include "cmd/cmd.h"

#include "base/text.h"
#include "patterns/pattern.h"
#include "stage/stages.h"

#include <string.h>
#include <unistd.h>

static void pattern_print(FILE *out, const struct pattern *pattern, const struct term_options *options)
{
	static const char *const tiers[] = {"decidable from the source and the compile command",
	                                    "a signal that the compiler's own output must confirm",
	                                    "needs a fact from run time"};
	struct arena arena;
	arena_init(&arena);
	term_paragraph(out, "", arena_printf(&arena, "%s %s: %s", pattern->id, pattern->slug, pattern->title), options);
	term_paragraph(out, "  tier        ", arena_printf(&arena, "%s: %s", tier_name(pattern->tier), tiers[pattern->tier]), options);
	const struct {
		const char *name, *text;
	} parts[] = {{"  what        ", pattern->what},
	             {"  why         ", pattern->why},
	             {"  leave it if ", pattern->when_not},
	             {"  expected    ", pattern->expected},
	             {"  refuted by  ", pattern->refuted_by}};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (parts[i].text)
			term_paragraph(out, parts[i].name, parts[i].text, options);
	for (size_t i = 0; pattern->sources && pattern->sources[i]; i++)
		term_paragraph(out, i ? "              " : "  sources     ", pattern->sources[i], options);
	arena_release(&arena);
}

/* The newest run of `assay prove` that tried the pattern. *ret_found false: there is none, or no store. */
static enum status proof_find(struct arena *arena, const char *pattern, struct run *ret_run, bool *ret_found, struct err *err)
{
	const char *path = NULL;
	struct store *store = NULL;
	struct store_run_list runs = {0};
	*ret_found = false;
	/* Looking something up makes no store. */
	if (store_default_path(arena, &path, err) != ST_OK || access(path, R_OK) != 0) {
		*err = ERR_INIT;
		return ST_OK;
	}
	enum status status = store_open(path, &store, err);
	if (status == ST_OK)
		status = store_run_list(store, arena, 0, &runs, err);
	for (size_t i = 0; i < runs.count && status == ST_OK && !*ret_found; i++) {
		if (!text_starts(runs.at[i].command, "assay prove"))
			continue;
		status = run_from_store(store, arena, &runs.at[i], ret_run, err);
		*ret_found = status == ST_OK && proves_pattern(ret_run, pattern);
	}
	store_close(store);
	return status;
}

/* What `assay prove` found on this machine, or how to find it. */
static void proof_print(FILE *out, const struct pattern *pattern, const struct term_options *options)
{
	struct arena arena;
	arena_init(&arena);
	struct run run;
	bool found = false;
	struct err err = ERR_INIT;
	if (proof_find(&arena, pattern->id, &run, &found, &err) != ST_OK)
		term_paragraph(out, "  proof here  ", arena_printf(&arena, "not available: %s", err.text), options);
	else if (!found)
		term_paragraph(out, "  proof here  ", arena_printf(&arena, "none yet: assay prove %s settles its examples on this machine, "
		               "with its compilers", pattern->id), options);
	else {
		term_paragraph(out, "  proof here  ",
		               arena_printf(&arena, "run %s on %s, %s: what its candidate does to its own examples", run.id,
		                            run.host.name ? run.host.name : "an unknown host", run.host.cpu ? run.host.cpu : "unknown CPU"),
		               options);
		term_prove_pattern(out, &run, pattern->id, options);
	}
	arena_release(&arena);
}

static void patterns_list(FILE *out, const struct term_options *options)
{
	struct arena arena;
	arena_init(&arena);
	for (size_t i = 0; i < pattern_registry_count; i++) {
		const struct pattern *pattern = pattern_registry[i].pattern;
		term_paragraph(out, arena_printf(&arena, "%s  %-23s ", pattern->id, pattern->slug), pattern->title, options);
	}
	arena_release(&arena);
}

static void finding_explain(FILE *out, const struct finding *finding, bool database, const struct term_options *options)
{
	term_finding(out, finding, database, options);
	const struct pattern_entry *entry = pattern_find(finding->pattern);
	if (entry) {
		fputc('\n', out);
		pattern_print(out, entry->pattern, options);
		proof_print(out, entry->pattern, options);
	}
	fputc('\n', out);
	if (finding->candidate)
		term_diff(out, finding->candidate, options);
	else
		term_paragraph(out, "", "There is no candidate: this is advice only.", options);
}

/* Not in the tree that is looked at: perhaps some run knew it. */
static enum status finding_from_store(struct arena *arena, const char *name, struct finding **ret_finding,
                                      const char **ret_run, struct err *err)
{
	const char *path = NULL, *json = NULL;
	struct store *store = NULL;
	*ret_finding = NULL;
	enum status status = store_default_path(arena, &path, err);
	if (status == ST_OK)
		status = store_open(path, &store, err);
	if (status == ST_OK)
		status = store_finding_last(store, arena, name, ret_run, &json, err);
	if (status == ST_OK && json)
		status = json_finding_read(arena, json, ret_finding, err);
	store_close(store);
	return status;
}

int command_explain(struct invocation *invocation)
{
	struct err err = ERR_INIT;
	struct output output;
	if (output_open(&output, &invocation->options, &err) != ST_OK)
		return complain(&err);
	if (invocation->options.operands.count == 0) {
		patterns_list(output.file, &output.term);
		return output_close(&output, &err) == ST_OK ? EXIT_DONE : complain(&err);
	}
	const char *name = invocation->options.operands.at[0];
	const struct pattern_entry *entry = pattern_find(name);
	if (entry) {
		pattern_print(output.file, entry->pattern, &output.term);
		proof_print(output.file, entry->pattern, &output.term);
		return output_close(&output, &err) == ST_OK ? EXIT_DONE : complain(&err);
	}
	if (!strchr(name, ':')) {
		output_drop(&output);
		err_set(&err, ST_USAGE, "no pattern is called '%s': `assay explain` lists them; a finding is named by its id or "
		        "FILE:LINE", name);
		return complain(&err);
	}
	struct work work = {0};
	struct finding *finding = NULL;
	enum status status = work_open(invocation, NULL, &work, &err);
	if (status == ST_OK) {
		status = work_finding(&work, name, &finding, &err);
		if (status == ST_OK)
			status = hypothesize_findings(&work.session, &err);
		work_forget(&work);
	}
	if (status == ST_OK) {
		finding_explain(output.file, finding, work.session.run.database, &output.term);
	} else if (status == ST_INPUT) {
		struct err store_err = ERR_INIT;
		const char *run = NULL;
		struct finding *old = NULL;
		if (finding_from_store(invocation->arena, name, &old, &run, &store_err) == ST_OK && old) {
			finding_explain(output.file, old, true, &output.term);
			fprintf(output.file, "\nNot in this tree; as run %s found it.\n", run);
			err = ERR_INIT;
			status = ST_OK;
		}
	}
	if (status == ST_OK)
		status = output_close(&output, &err);
	int code = status == ST_OK ? EXIT_DONE : complain(&err);
	output_drop(&output);
	work_release(&work);
	return code;
}
