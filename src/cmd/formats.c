/* A finished run in the format that was asked for. */
#include "cmd/cmd.h"

#include "patterns/pattern.h"
#include "report/sarif.h"

struct sarif_rule_list catalogue_rules(struct arena *arena)
{
	struct sarif_rule_list rules = {0};
	for (size_t i = 0; i < pattern_registry_count; i++) {
		const struct pattern *pattern = pattern_registry[i].pattern;
		struct sarif_rule rule = {.id = pattern->id, .slug = pattern->slug, .title = pattern->title, .tier = pattern->tier,
		                          .what = pattern->what, .why = pattern->why, .when_not = pattern->when_not,
		                          .expected = pattern->expected, .refuted_by = pattern->refuted_by,
		                          .sources = pattern->sources};
		list_push(arena, &rules, rule);
	}
	return rules;
}

void run_print(struct output *output, struct arena *arena, const struct run *run, enum format format, print_run *print)
{
	switch (format) {
	case FORMAT_TEXT:
		print(output->file, run, &output->term);
		return;
	case FORMAT_JSON:
		fputs(json_run(arena, run), output->file);
		return;
	case FORMAT_SARIF: {
		struct sarif_rule_list rules = catalogue_rules(arena);
		fputs(sarif_run(arena, run, &rules), output->file);
		return;
	}
	case FORMAT_MARKDOWN:
		markdown_run(output->file, run);
		return;
	}
	BUG("format %d", (int)format);
}
