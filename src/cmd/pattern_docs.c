/* docs/patterns: a page for each pattern, out of the same texts as `assay explain`. */
#include "cmd/cmd.h"

#include "base/text.h"
#include "patterns/pattern.h"
#include "port/patch.h"
#include "port/tree.h"

#include <stdlib.h>
#include <string.h>

static const struct pattern_example *example_of(const struct pattern_entry *entry, const char *kind)
{
	for (size_t i = 0; i < entry->example_count; i++)
		if (strcmp(entry->examples[i].kind, kind) == 0)
			return &entry->examples[i];
	return NULL;
}

static const char *page_name(struct arena *arena, const struct pattern *pattern)
{
	return arena_printf(arena, "%s-%s.md", pattern->id, pattern->slug);
}

/* In Markdown, `*` and `_` of C identifiers and `<` of header names mean something; inside `code` nothing does. */
static void text_put(FILE *out, const char *text)
{
	bool code = false;
	for (const char *at = text; *at; at++) {
		if (*at == '`')
			code = !code;
		if (!code && strchr("*_<>[]\\|", *at))
			fputc('\\', out);
		fputc(*at, out);
	}
}

static void section(FILE *out, const char *title, const char *text)
{
	if (!text)
		return;
	fprintf(out, "\n## %s\n\n", title);
	text_put(out, text);
	fputc('\n', out);
}

static void code_put(FILE *out, const char *language, const char *text)
{
	fprintf(out, "\n```%s\n%s%s```\n", language, text, text_ends(text, "\n") ? "" : "\n");
}

/* A driver, and what its candidate changes; `fixed` may be NULL. */
static enum status example_put(FILE *out, struct arena *arena, const char *name, const struct pattern_example *example,
                               const struct pattern_example *fixed, struct err *err)
{
	const char *diff = NULL;
	code_put(out, "c", example->text);
	if (!fixed)
		return ST_OK;
	enum status status = patch_make(arena, name, example->text, strlen(example->text), fixed->text, strlen(fixed->text),
	                                &diff, err);
	if (status != ST_OK)
		return status;
	fputs("\nThe candidate:\n", out);
	code_put(out, "diff", strstr(diff, "--- "));
	return ST_OK;
}

static enum status page_put(FILE *out, struct arena *arena, const struct pattern_entry *entry, struct err *err)
{
	const struct pattern *pattern = entry->pattern;
	const struct pattern_example *costs = example_of(entry, "costs"), *fixed = example_of(entry, "costs fixed"),
	                             *equal = example_of(entry, "equal"), *harmless = example_of(entry, "harmless");
	fprintf(out, "<!-- Generated from %s: tests/pattern_docs --update writes it anew. -->\n", entry->file);
	fprintf(out, "# %s %s\n\n", pattern->id, pattern->slug);
	text_put(out, pattern->title);
	fprintf(out, ".\n\nTier %s. [The detector](../../%s) %s.\n", tier_name(pattern->tier), entry->file,
	        fixed || equal ? "writes the candidate" : "gives advice and no candidate");
	section(out, "What", pattern->what);
	section(out, "Why it costs", pattern->why);
	section(out, "When to leave it", pattern->when_not);
	section(out, "How much", pattern->expected);
	section(out, "What refutes it", pattern->refuted_by);
	fputs("\n## Sources\n\n", out);
	for (size_t i = 0; pattern->sources && pattern->sources[i]; i++) {
		fputs("- ", out);
		text_put(out, pattern->sources[i]);
		fputc('\n', out);
	}
	if (costs) {
		fprintf(out, "\n## Where it costs\n\nThe whole driver; `assay prove %s` settles it on your machine.\n", pattern->id);
		enum status status = example_put(out, arena, "costs.c", costs, fixed, err);
		if (status != ST_OK)
			return status;
	}
	if (equal) {
		fprintf(out, "\n## Where it changes nothing\n\nThe whole driver; `assay prove %s` shows that your compilers make the "
		        "same machine code without it.\n", pattern->id);
		enum status status = example_put(out, arena, "equal.c", equal, example_of(entry, "equal fixed"), err);
		if (status != ST_OK)
			return status;
	}
	if (harmless) {
		fputs("\n## Where it looks the same and costs nothing\n", out);
		code_put(out, "c", harmless->text);
	}
	return ST_OK;
}

static enum status page_write(struct arena *arena, const char *folder, const struct pattern_entry *entry, struct err *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return err_set(err, ST_SYSTEM, "no memory for a page");
	enum status status = page_put(out, arena, entry, err);
	fclose(out);
	if (status == ST_OK)
		status = file_write(path_join(arena, folder, page_name(arena, entry->pattern)), text, size, err);
	free(text);
	return status;
}

static enum status index_write(struct arena *arena, const char *folder, struct err *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return err_set(err, ST_SYSTEM, "no memory for the index");
	fputs("<!-- Generated: tests/pattern_docs --update writes it anew. -->\n# The patterns\n\n"
	      "Tier A is decided by the source and the compile command, B has to be confirmed by the compiler's own output, C needs a\n"
	      "fact of run time. R are removals: tricks that today's compilers do without, which can go where the machine code stays the\n"
	      "same. `assay explain ID` prints the same texts. In the examples `// finds` marks what is reported, `// flags:`\n"
	      "says how it is compiled, and of `// refuted by measuring` the detector may report something: time settles it.\n\n| pattern | tier | |\n|---|---|---|\n", out);
	for (size_t i = 0; i < pattern_registry_count; i++) {
		const struct pattern *pattern = pattern_registry[i].pattern;
		fprintf(out, "| [%s %s](%s) | %s | ", pattern->id, pattern->slug, page_name(arena, pattern), tier_name(pattern->tier));
		text_put(out, pattern->title);
		fputs(" |\n", out);
	}
	fclose(out);
	enum status status = file_write(path_join(arena, folder, "README.md"), text, size, err);
	free(text);
	return status;
}

int pattern_docs_write(struct arena *arena, const char *folder)
{
	struct err err = ERR_INIT;
	enum status status = folder_make(folder, &err);
	for (size_t i = 0; i < pattern_registry_count && status == ST_OK; i++)
		status = page_write(arena, folder, &pattern_registry[i], &err);
	if (status == ST_OK)
		status = index_write(arena, folder, &err);
	return status == ST_OK ? EXIT_DONE : complain(&err);
}
