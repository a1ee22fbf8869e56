/* Which patterns cost here: the report of `assay prove`. */
#include "report/phrase.h"
#include "report/report.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_COLUMNS = 18, VERDICT_COLUMNS = 15, NAME_COLUMNS = 26, CELL_COLUMNS = 9 };

/* Of "P03:harmless:2" the pattern, and the example. */
static bool hypothesis_is(const struct hypothesis *hypothesis, const char *pattern, const char *kind)
{
	size_t size = strlen(pattern), kind_size = strlen(kind);
	return text_starts(hypothesis->id, pattern) && hypothesis->id[size] == ':' &&
	       text_starts(hypothesis->id + size + 1, kind) &&
	       (hypothesis->id[size + 1 + kind_size] == '\0' || hypothesis->id[size + 1 + kind_size] == ':');
}

static const char *trial_text(struct arena *arena, const struct trial *trial)
{
	if (trial->effect.known)
		return arena_printf(arena, "%s in time, %u pairs", effect_text(arena, &trial->effect), trial->pairs);
	return arena_printf(arena, "%s: %s", rung_name(trial->rung), trial->evidence ? trial->evidence : "");
}

static int text_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The patterns that were asked about, by id: each has a hypothesis, or findings in its own examples. */
static struct string_list patterns_of(struct arena *arena, const struct run *run)
{
	struct string_list patterns = {0};
	for (size_t i = 0; i < run->hypotheses.count + run->findings.count; i++) {
		const char *id = i < run->hypotheses.count ? run->hypotheses.at[i]->id
		                                           : run->findings.at[i - run->hypotheses.count]->pattern;
		const char *pattern = arena_strndup(arena, id, strcspn(id, ":"));
		bool known = false;
		for (size_t k = 0; k < patterns.count && !known; k++)
			known = strcmp(patterns.at[k], pattern) == 0;
		if (!known)
			list_push(arena, &patterns, pattern);
	}
	if (patterns.count)
		qsort(patterns.at, patterns.count, sizeof *patterns.at, text_order);
	return patterns;
}

/* "P03 loop-reload", from the folder of its examples; where the detector is silent on all of them, from their titles. */
static const char *pattern_name(struct arena *arena, const struct run *run, const char *pattern)
{
	for (size_t i = 0; i < run->findings.count; i++) {
		const struct finding *finding = run->findings.at[i];
		size_t size = strlen(pattern);
		if (strcmp(finding->pattern, pattern) == 0 && text_starts(finding->file, pattern) && finding->file[size] == '-')
			return arena_printf(arena, "%s %.*s", pattern, (int)strcspn(finding->file + size + 1, "/"),
			                    finding->file + size + 1);
	}
	for (size_t i = 0; i < run->hypotheses.count; i++) {
		const char *title = run->hypotheses.at[i]->title;
		if (text_starts(title, pattern) && title[strlen(pattern)] == ' ')
			return arena_strndup(arena, title, strcspn(title, ":"));
	}
	return pattern;
}

static bool example_found(const struct run *run, const char *pattern, const char *file)
{
	for (size_t i = 0; i < run->findings.count; i++)
		if (strcmp(run->findings.at[i]->pattern, pattern) == 0 && strcmp(path_base(run->findings.at[i]->file), file) == 0)
			return true;
	return false;
}

static bool example_tried(const struct run *run, const char *pattern, const char *kind)
{
	for (size_t i = 0; i < run->hypotheses.count; i++)
		if (hypothesis_is(run->hypotheses.at[i], pattern, kind))
			return true;
	return false;
}

static void example_print(FILE *out, struct arena *arena, const struct run *run, const char *pattern, const char *kind,
                          const struct term_options *options)
{
	if (!example_tried(run, pattern, kind)) {
		bool found = example_found(run, pattern, arena_printf(arena, "%s.c", kind));
		term_paragraph(out, arena_printf(arena, "  %-*s", LABEL_COLUMNS - 2, kind),
		               found ? "found, but there is no candidate: advice only" : "the detector is silent on it", options);
		return;
	}
	fprintf(out, "  %s\n", kind);
	const char *before = "";
	const struct transfer *seen = NULL; /* the first trial's speaks for the machine */
	for (size_t i = 0; i < run->trials.count; i++) {
		const struct trial *trial = run->trials.at[i];
		if (!hypothesis_is(trial->hypothesis, pattern, kind))
			continue;
		const char *verdict = verdict_name(trial->verdict), *text = trial_text(arena, trial);
		const char *all = arena_printf(arena, "%s %s", verdict, text);
		term_paragraph(out, arena_printf(arena, "    %-*s %-*s ", LABEL_COLUMNS - 5, config_text(arena, &trial->config),
		                                 VERDICT_COLUMNS - 1, verdict), strcmp(all, before) == 0 ? "the same" : text, options);
		before = all;
		if (transfer_visible(&trial->transfer) && !seen)
			seen = &trial->transfer;
	}
	if (seen)
		term_paragraph(out, arena_printf(arena, "    %-*s ", LABEL_COLUMNS - 5, ""), transfer_text(arena, seen), options);
}

/* What a cell of the table says about a trial. */
static const char *cell_text(struct arena *arena, const struct trial *trial)
{
	switch (trial->verdict) {
	case VERDICT_FASTER:
	case VERDICT_SLOWER: {
		double percent = effect_percent(trial->effect.theta);
		return arena_printf(arena, fabs(percent) < 10 ? "%+.1f %%" : "%+.0f %%", percent);
	}
	case VERDICT_NO_EFFECT:
		return trial->rung == RUNG_TIME ? "none" : arena_printf(arena, "=%s", rung_name(trial->rung));
	case VERDICT_INCONCLUSIVE:
		return trial->rung < RUNG_OUTPUTS && trial->code.differ ? "differs" : "?";
	case VERDICT_NONE:
		return "?";
	case VERDICT_WRONG_RESULTS:
		return "wrong";
	case VERDICT_MIXED:
	case VERDICT_NOT_BUILT:
	case VERDICT_NOT_REACHED:
	case VERDICT_DELIBERATE:
	case VERDICT_FAILED:
		return verdict_name(trial->verdict);
	}
	BUG("verdict %d", (int)trial->verdict);
}

LIST_OF(const struct build_config *, config_list);

static struct config_list configs_of(struct arena *arena, const struct run *run)
{
	struct config_list configs = {0};
	for (size_t i = 0; i < run->trials.count; i++) {
		const struct build_config *config = &run->trials.at[i]->config;
		bool known = false;
		for (size_t k = 0; k < configs.count && !known; k++)
			known = strcmp(configs.at[k]->cc, config->cc) == 0 && strcmp(configs.at[k]->flags, config->flags) == 0;
		if (!known)
			list_push(arena, &configs, config);
	}
	return configs;
}

/* One example's line of the table. */
static void row_print(FILE *out, struct arena *arena, const struct run *run, const char *pattern, const char *kind,
                      const char *name, const struct config_list *configs, size_t from, size_t to)
{
	fprintf(out, "%-*s", NAME_COLUMNS, name);
	for (size_t c = from; c < to; c++) {
		const char *text = "";
		for (size_t i = 0; i < run->trials.count; i++) {
			const struct trial *trial = run->trials.at[i];
			if (hypothesis_is(trial->hypothesis, pattern, kind) && strcmp(trial->config.cc, configs->at[c]->cc) == 0 &&
			    strcmp(trial->config.flags, configs->at[c]->flags) == 0)
				text = cell_text(arena, trial);
		}
		fprintf(out, "%*s", CELL_COLUMNS, text);
	}
	fputc('\n', out);
}

/* As many columns as fit; the others in tables below. */
static void table_print(FILE *out, struct arena *arena, const struct run *run, const struct string_list *patterns,
                        const struct config_list *configs, size_t from, size_t to)
{
	fprintf(out, "%-*s", NAME_COLUMNS, "pattern");
	for (size_t c = from; c < to; c++)
		fprintf(out, "%*s", CELL_COLUMNS, configs->at[c]->cc);
	fprintf(out, "\n%-*s", NAME_COLUMNS, "");
	for (size_t c = from; c < to; c++)
		fprintf(out, "%*s", CELL_COLUMNS, configs->at[c]->flags);
	fputc('\n', out);
	for (size_t p = 0; p < patterns->count; p++) {
		const char *pattern = patterns->at[p], *name = pattern_name(arena, run, pattern);
		bool costs = example_tried(run, pattern, "costs");
		if (costs)
			row_print(out, arena, run, pattern, "costs", name, configs, from, to);
		if (example_tried(run, pattern, "equal"))
			row_print(out, arena, run, pattern, "equal", costs ? "    where it is noise" : name, configs, from, to);
	}
	fputc('\n', out);
}

/* Only a removal has "equal", and it may have that one alone. */
static void examples_print(FILE *out, struct arena *arena, const struct run *run, const char *pattern,
                           const struct term_options *options)
{
	bool equal = example_tried(run, pattern, "equal");
	if (!equal || example_tried(run, pattern, "costs"))
		example_print(out, arena, run, pattern, "costs", options);
	if (equal)
		example_print(out, arena, run, pattern, "equal", options);
	if (!equal || example_tried(run, pattern, "harmless"))
		example_print(out, arena, run, pattern, "harmless", options);
}

bool proves_pattern(const struct run *run, const char *pattern)
{
	return example_tried(run, pattern, "costs") || example_tried(run, pattern, "equal") ||
	       example_tried(run, pattern, "harmless");
}

void term_prove_pattern(FILE *out, const struct run *run, const char *pattern, const struct term_options *options)
{
	struct arena arena;
	arena_init(&arena);
	examples_print(out, &arena, run, pattern, options);
	arena_release(&arena);
}

void term_prove(FILE *out, const struct run *run, const struct term_options *options)
{
	struct arena arena;
	arena_init(&arena);
	struct string_list patterns = patterns_of(&arena, run);
	for (size_t p = 0; p < patterns.count; p++) {
		fprintf(out, "%s\n", pattern_name(&arena, run, patterns.at[p]));
		examples_print(out, &arena, run, patterns.at[p], options);
		fputc('\n', out);
	}
	for (size_t i = 0; i < run->notes.count; i++)
		term_paragraph(out, i ? "      " : "note: ",
		               arena_printf(&arena, "%s: %s", run->notes.at[i].where, run->notes.at[i].text), options);
	if (run->notes.count)
		fputc('\n', out);

	struct config_list configs = configs_of(&arena, run);
	size_t width = options->width < 80 ? 80 : options->width > 160 ? 160 : options->width;
	size_t fit = (width - NAME_COLUMNS) / CELL_COLUMNS;
	for (size_t from = 0; from < configs.count; from += fit)
		table_print(out, &arena, run, &patterns, &configs, from, from + fit < configs.count ? from + fit : configs.count);
	if (configs.count)
		term_paragraph(out, "", "Where the pattern costs: the change of time by its candidate, below 0 when that is faster. "
		               "=tokens, =code: the same, so it costs nothing here, and the trick of a removal (R) can go; differs: "
		               "the code does, and nothing was measured; none: measured, and below the margin; ?: inconclusive, more "
		               "--budget may tell.", options);
	term_paragraph(out, "", arena_printf(&arena, "%s, %u CPUs; alpha %g %%, margin %g %%, budget %g s a trial, seed %llu; took %s%s%s",
	                                     run->host.cpu ? run->host.cpu : "unknown CPU", run->host.cpus, 100 * run->alpha,
	                                     100 * run->margin, run->budget_s, (unsigned long long)run->seed,
	                                     term_seconds(&arena, run->seconds),
	                                     options->kept ? "; steps and how to repeat each: assay show " : "",
	                                     options->kept ? run->id : ""), options);
	arena_release(&arena);
}
