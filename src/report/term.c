#include "report/report.h"

#include "base/text.h"
#include "model/checkup.h"
#include "report/phrase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH_MIN = 80, WIDTH_MAX = 160, VERDICT_COLUMN = 15, SEVERITY_COLUMN = 10, KEY_COLUMN = 13, MAP_FUNCTIONS_SHOWN = 4 };

enum style { PLAIN, BOLD, DIM, GOOD, BAD, ODD };

struct printer {
	FILE *out;
	const struct term_options *options;
	unsigned width;
	bool no_database; /* no compile commands are known, so `built` says nothing */
	struct arena arena;
};

static struct printer printer_begin(FILE *out, const struct term_options *options)
{
	unsigned width = options->width < WIDTH_MIN ? WIDTH_MIN : options->width > WIDTH_MAX ? WIDTH_MAX : options->width;
	struct printer printer = {.out = out, .options = options, .width = width};
	arena_init(&printer.arena);
	return printer;
}

static void printer_end(struct printer *printer)
{
	arena_release(&printer->arena);
}

/* ---- characters ------------------------------------------------------------------------------------------------- */

static bool continues(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The same of a terminal, which may speak ASCII only. */
static size_t character(const struct printer *printer, const char *at)
{
	size_t size = character_seen(at);
	return size > 1 && !printer->options->utf8 ? 0 : size;
}

/* What is printed for `text`: characters that may not be seen become '?', tabs blanks. Line feeds stay. */
static char *visible(struct printer *printer, const char *text)
{
	char *out = arena_alloc(&printer->arena, strlen(text) + 1);
	size_t used = 0;
	for (const char *at = text; *at;) {
		size_t size = character(printer, at);
		if (size) {
			memcpy(out + used, at, size);
			used += size;
			at += size;
			continue;
		}
		out[used++] = *at == '\n' ? '\n' : *at == '\t' ? ' ' : '?';
		for (at++; continues(*at); at++)
			;
	}
	out[used] = '\0';
	return out;
}

static size_t columns_of(const char *text, size_t size)
{
	size_t columns = 0;
	for (size_t i = 0; i < size && text[i]; i++)
		columns += !continues(text[i]);
	return columns;
}

static size_t columns(const char *text)
{
	return columns_of(text, strlen(text));
}

static const char *style_on(const struct printer *printer, enum style style)
{
	static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[1;32m", "\033[1;31m", "\033[1;33m"};
	return printer->options->colour ? codes[style] : "";
}

static const char *style_off(const struct printer *printer, enum style style)
{
	return printer->options->colour && style != PLAIN ? "\033[0m" : "";
}

static void put(struct printer *printer, enum style style, const char *text)
{
	fprintf(printer->out, "%s%s%s", style_on(printer, style), visible(printer, text), style_off(printer, style));
}

static void blanks(struct printer *printer, size_t count)
{
	fprintf(printer->out, "%*s", (int)count, "");
}

/* Text padded to `width` columns, at least one blank behind it when something follows. */
static void put_padded(struct printer *printer, enum style style, const char *text, size_t width)
{
	size_t used = columns(visible(printer, text));
	put(printer, style, text);
	blanks(printer, used < width ? width - used : 1);
}

/* Wraps `text` at blanks; the cursor stands in column `indent` already and later lines begin there. Ends the line. */
static void wrap(struct printer *printer, enum style style, const char *text, size_t indent)
{
	const char *at = visible(printer, text);
	size_t room = printer->width > indent + 20 ? printer->width - indent : 20;
	for (bool first = true; first || *at; first = false) {
		if (!first)
			blanks(printer, indent);
		/* As many words as fit; a word that is longer than the line stays whole. */
		size_t line = strcspn(at, "\n"), end = line;
		if (columns_of(at, line) > room) {
			end = 0;
			for (size_t i = 0, column = 0; i < line && column <= room; i++) {
				/* A number and its sign of percent stay together. */
				if (at[i] == ' ' && i > 0 && at[i + 1] != '%')
					end = i;
				column += !continues(at[i]);
			}
			if (end == 0 || strspn(at, " ") >= end)
				end = line - strcspn(at, " ") ? strcspn(at, " \n") : line;
			if (end == 0)
				end = line;
		}
		fprintf(printer->out, "%s%.*s%s\n", style_on(printer, style), (int)end, at, style_off(printer, style));
		bool at_newline = at[end] == '\n';
		at += end;
		if (at_newline)
			at++;
		else
			at += strspn(at, " ");
	}
}

static void paragraph(struct printer *printer, enum style style, const char *first, const char *text)
{
	put(printer, style == DIM ? DIM : PLAIN, first);
	wrap(printer, style, text, columns(visible(printer, first)));
}

static void indented(struct printer *printer, enum style style, size_t indent, const char *text)
{
	blanks(printer, indent);
	wrap(printer, style, text, indent);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

/* "-12.0 |▁▂▇▅··▁| +9.1 %": from the least to the most. */
static const char *spread_text(struct printer *printer, const struct spread *spread)
{
	struct arena *arena = &printer->arena;
	return arena_printf(arena, "%s |%s| %s %%", percent_part(arena, spread->least, 1), spread_drawing(arena, spread, printer->options->utf8),
	                    percent_part(arena, spread->most, 1));
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

static enum style verdict_style(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_FASTER:
		return GOOD;
	case VERDICT_SLOWER:
	case VERDICT_WRONG_RESULTS:
	case VERDICT_FAILED:
		return BAD;
	case VERDICT_MIXED:
	case VERDICT_INCONCLUSIVE:
		return ODD;
	case VERDICT_NO_EFFECT:
		return BOLD;
	case VERDICT_NONE:
	case VERDICT_NOT_BUILT:
	case VERDICT_NOT_REACHED:
	case VERDICT_DELIBERATE:
		return DIM;
	}
	BUG("verdict %d", (int)verdict);
}

static enum style severity_style(enum severity severity)
{
	return severity == SEVERITY_CRITICAL || severity == SEVERITY_HIGH ? BAD : severity == SEVERITY_MEDIUM ? ODD : DIM;
}

/* ---- findings --------------------------------------------------------------------------------------------------- */

static void finding_print(struct printer *printer, const struct finding *finding)
{
	struct arena *arena = &printer->arena;
	bool guard = finding->kind == FINDING_GUARD;
	put_padded(printer, guard ? GOOD : severity_style(finding->severity), guard ? "guard" : severity_name(finding->severity),
	           SEVERITY_COLUMN);
	wrap(printer, BOLD,
	     arena_printf(arena, "%s:%u: %s", finding->file, finding->line, finding->message ? finding->message : ""),
	     SEVERITY_COLUMN);
	indented(printer, DIM, SEVERITY_COLUMN, finding->id);
	if (finding->evidence)
		indented(printer, PLAIN, SEVERITY_COLUMN, finding->evidence);
	if (finding->compiler)
		indented(printer, PLAIN, SEVERITY_COLUMN, compiler_text(arena, finding));
	if (finding->claim)
		indented(printer, PLAIN, SEVERITY_COLUMN, arena_printf(arena, "claimed: %s", finding->claim));
	if (finding->contract)
		indented(printer, PLAIN, SEVERITY_COLUMN, arena_printf(arena, "only if: %s", finding->contract));
	if (finding->deliberate)
		indented(printer, PLAIN, SEVERITY_COLUMN, arena_printf(arena, "deliberate: %s", finding->deliberate));
	if (!finding->built && !printer->no_database)
		indented(printer, PLAIN, SEVERITY_COLUMN, "not built: no compile command reaches it");
}

void term_finding(FILE *out, const struct finding *finding, bool database, const struct term_options *options)
{
	struct printer printer = printer_begin(out, options);
	printer.no_database = !database;
	finding_print(&printer, finding);
	printer_end(&printer);
}

static void notes_print(struct printer *printer, const struct run *run)
{
	if (run->notes.count == 0)
		return;
	put(printer, BOLD, "notes");
	fputc('\n', printer->out);
	for (size_t i = 0; i < run->notes.count; i++) {
		const struct note *note = &run->notes.at[i];
		indented(printer, PLAIN, 2,
		         note->where && note->where[0] ? arena_printf(&printer->arena, "%s: %s", note->where, note->text)
		                                       : note->text);
	}
}

void term_scan(FILE *out, const struct run *run, const struct term_options *options)
{
	struct printer printer = printer_begin(out, options);
	printer.no_database = !run->database;
	struct finding_list ranked = {0};
	for (size_t i = 0; i < run->findings.count; i++)
		list_push(&printer.arena, &ranked, run->findings.at[i]);
	findings_rank(&ranked);
	for (size_t i = 0; i < ranked.count; i++) {
		if (ranked.at[i]->baseline == BASELINE_UNCHANGED && !options->all)
			continue;
		finding_print(&printer, ranked.at[i]);
		fputc('\n', out);
	}
	notes_print(&printer, run);
	if (run->notes.count)
		fputc('\n', out);
	wrap(&printer, BOLD, scan_summary(&printer.arena, run), 0);
	if (run->changed_since)
		wrap(&printer, PLAIN, arena_printf(&printer.arena, "only what changed since %s: %s elsewhere left out", run->changed_since,
		                                   counted(&printer.arena, run->findings_left_out, "finding", "findings")), 0);
	if (run->baseline)
		wrap(&printer, PLAIN, baseline_summary(&printer.arena, run, options->all), 0);
	if (ranked.count)
		wrap(&printer, DIM, "`assay explain ID` says what and why, `assay try ID` settles one, `assay audit` all", 0);
	printer_end(&printer);
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

/* The label, and to the right of it effect and pairs where the trial was measured. */
static void trial_numbers_print(struct printer *printer, const struct trial *trial, bool with_config)
{
	struct arena *arena = &printer->arena;
	const char *label = visible(printer, trial_label(arena, trial, with_config));
	if (!trial->effect.known) {
		if (label[0])
			wrap(printer, PLAIN, label, VERDICT_COLUMN);
		else
			fputc('\n', printer->out);
		return;
	}
	const struct spread *spread = &trial->spread;
	const char *effect = effect_text(arena, &trial->effect);
	const char *pairs = counted(arena, trial->pairs, "pair", "pairs");
	/* Where the layout decides, one number would be one layout's: the middle 80 % stand in its place. */
	if (spread->sensitive)
		effect = span_text(arena, spread->low, spread->high);
	if (spread->layouts)
		pairs = counted(arena, spread->layouts, "layout", "layouts");
	enum { EFFECT_WIDTH = 24, PAIRS_WIDTH = 12 };
	size_t column = printer->width - PAIRS_WIDTH - EFFECT_WIDTH;
	size_t used = VERDICT_COLUMN + columns(label);
	put(printer, PLAIN, label);
	if (used + 1 > column) {
		fputc('\n', printer->out);
		used = 0;
	}
	/* The sign stands in the same column in all lines. */
	size_t number = strcspn(effect, " ");
	size_t lead = number < 6 ? 6 - number : 0;
	blanks(printer, column - used + lead);
	fprintf(printer->out, "%s%s%s", style_on(printer, BOLD), effect, style_off(printer, BOLD));
	size_t rest = lead + strlen(effect);
	size_t gap = rest + strlen(pairs) < EFFECT_WIDTH + PAIRS_WIDTH ? EFFECT_WIDTH + PAIRS_WIDTH - rest - strlen(pairs) : 1;
	blanks(printer, gap);
	fprintf(printer->out, "%s\n", pairs);
	if (spread->sensitive)
		indented(printer, PLAIN, VERDICT_COLUMN,
		         arena_printf(arena, "layout-sensitive: %s; the median layout %s", spread_text(printer, spread),
		                      effect_text(arena, &trial->effect)));
}

/* Of commands: what decided and why, and what the other clock says. */
static void commands_print(struct printer *printer, const struct trial *trial)
{
	struct arena *arena = &printer->arena;
	if (trial->metric == METRIC_TIME || !trial->effect.known)
		return;
	indented(printer, PLAIN, VERDICT_COLUMN,
	         arena_printf(arena, "%s; %s%s%s", sides_text(arena, trial), metric_name(trial->metric),
	                      trial->metric_why ? ", " : "", trial->metric_why ? trial->metric_why : ""));
	for (size_t i = 0; i < trial->other_metrics.count; i++)
		if (trial->other_metrics.at[i].effect.known)
			indented(printer, PLAIN, VERDICT_COLUMN, other_text(arena, &trial->other_metrics.at[i]));
}

/* The noise floor: how far a copy of the baseline is from the baseline. The worst of the family's trials stands for all. */
static void control_print(struct printer *printer, const struct family *family)
{
	const struct control *worst = NULL;
	for (size_t i = 0; i < family->trials.count; i++) {
		const struct control *control = &family->trials.at[i]->control;
		if (control->done && (!worst || (worst->quiet && (!control->quiet || control->floor > worst->floor))))
			worst = control;
	}
	if (!worst)
		return;
	struct arena *arena = &printer->arena;
	if (!worst->quiet)
		indented(printer, ODD, VERDICT_COLUMN, arena_printf(arena, "control: %s", worst->text ? worst->text : "disturbed"));
	else if (isfinite(worst->floor))
		indented(printer, DIM, VERDICT_COLUMN,
		         arena_printf(arena, "control: the baseline against %s, %s%s; noise floor %s",
		                      family->trials.at[0]->metric == METRIC_TIME ? "a copy of itself" : "itself",
		                      family->trials.count > 1 ? "at worst " : "",
		                      worst->effect.known ? effect_text(arena, &worst->effect) : "no effect",
		                      fraction_text(arena, expm1(worst->floor))));
}

/* What can be seen of threads at all: of all trials the one where it is least. */
static void threads_print(struct printer *printer, const struct family *family)
{
	const struct transfer *least = NULL;
	for (size_t i = 0; i < family->trials.count; i++) {
		const struct transfer *transfer = &family->trials.at[i]->transfer;
		/* That none can be seen is the evidence already. */
		if (transfer_visible(transfer) &&
		    (!least || transfer->shared_ns * least->private_ns < least->shared_ns * transfer->private_ns))
			least = transfer;
	}
	if (least)
		indented(printer, DIM, VERDICT_COLUMN, transfer_text(&printer->arena, least));
}

static void family_print(struct printer *printer, const struct family *family, bool with_config)
{
	struct arena *arena = &printer->arena;
	const struct hypothesis *hypothesis = family->hypothesis;
	put_padded(printer, verdict_style(family->verdict), verdict_name(family->verdict), VERDICT_COLUMN);
	const char *said = NULL;
	bool many = family->trials.count > 1;
	const char *title = hypothesis_title(hypothesis);
	wrap(printer, BOLD, arena_printf(arena, "%s%s", title, family_share(arena, family)), VERDICT_COLUMN);
	for (size_t i = 0; i < family->trials.count; i++) {
		const struct trial *trial = family->trials.at[i];
		bool labelled = trial->effect.known || ((many || with_config) && trial_label(arena, trial, with_config)[0]);
		if (many) {
			blanks(printer, 2);
			put_padded(printer, verdict_style(trial->verdict), verdict_name(trial->verdict), VERDICT_COLUMN - 2);
		} else if (labelled) {
			blanks(printer, VERDICT_COLUMN);
		}
		if (many || labelled)
			trial_numbers_print(printer, trial, with_config);
		commands_print(printer, trial);
		/* Five sizes that fail for one reason say it once. */
		if (many && trial_explains(trial) && !text_equal(trial->evidence, said)) {
			indented(printer, PLAIN, VERDICT_COLUMN, rung_evidence(arena, trial->rung, trial->evidence));
			said = trial->evidence;
		} else if ((many || trial->metric != METRIC_TIME) && trial->effect.known && !trial_explains(trial)) {
			const char *limits = trial_limits(arena, trial);
			if (limits)
				indented(printer, PLAIN, VERDICT_COLUMN, limits);
		}
	}
	enum rung rung = family->trials.count ? family->trials.at[0]->rung : RUNG_NONE;
	const char *evidence = family->evidence ? family->evidence : !many && family->trials.count ? family->trials.at[0]->evidence : NULL;
	/* What a single trial of commands measured stands there already. */
	bool stands = !many && family->trials.count && family->trials.at[0]->metric != METRIC_TIME &&
	              !trial_explains(family->trials.at[0]) && text_equal(evidence, family->trials.at[0]->evidence);
	if (evidence && !stands && !text_equal(evidence, said))
		indented(printer, PLAIN, VERDICT_COLUMN, many ? evidence : rung_evidence(arena, rung, evidence));
	control_print(printer, family);
	threads_print(printer, family);
	/* What a pattern promises everywhere stands in `explain`; what somebody claimed of this change belongs here. */
	if (hypothesis->claim && !hypothesis->finding)
		indented(printer, DIM, VERDICT_COLUMN, arena_printf(arena, "claimed: %s", hypothesis->claim));
	const char *contract = contract_text(arena, family);
	if (contract)
		indented(printer, PLAIN, VERDICT_COLUMN, contract);
	if (hypothesis->argument && hypothesis->kind != CANDIDATE_COMMAND && !text_equal(hypothesis->argument, hypothesis->title))
		indented(printer, DIM, VERDICT_COLUMN, hypothesis->argument);
}

enum { SHARE_COLUMNS = 24 };

static void share_print(struct printer *printer, const struct hot_share *share, enum style style, const char *text)
{
	struct arena *arena = &printer->arena;
	fprintf(printer->out, "  %7s  %12s ", share_text(arena, share->sampled, share->time_share),
	        share_text(arena, share->counted, share->instruction_share));
	wrap(printer, style, text, SHARE_COLUMNS);
}

/* Where time goes: the hottest functions, and what the asked parts could bring at most. */
static void maps_print(struct printer *printer, const struct run *run, size_t functions)
{
	struct arena *arena = &printer->arena;
	for (size_t i = 0; i < run->maps.count; i++) {
		const struct hotmap *map = &run->maps.at[i];
		put(printer, BOLD, arena_printf(arena, "where the time goes: %s", map_label(arena, map)));
		put(printer, DIM, arena_printf(arena, "  %s, %s", config_text(arena, &map->config),
		                               counted(arena, map->samples, "sample", "samples")));
		fputc('\n', printer->out);
		if (map->functions.count || map->parts.count) {
			put(printer, DIM, "     time  instructions");
			fputc('\n', printer->out);
		}
		for (size_t k = 0; k < map->functions.count && k < functions; k++) {
			const struct hot_share *share = &map->functions.at[k];
			share_print(printer, share, PLAIN,
			            share->object ? arena_printf(arena, "%s in %s", share->name, share->object) : share->name);
		}
		for (size_t k = 0; k < map->parts.count; k++) {
			const struct hot_share *part = &map->parts.at[k];
			share_print(printer, part, BOLD, arena_printf(arena, "%s: %s", part->name, part_bound(arena, part)));
		}
		if (map->lack)
			indented(printer, DIM, 2, map->lack);
		fputc('\n', printer->out);
	}
}

/* ---- surveys ----------------------------------------------------------------------------------------------------- */

static enum style value_style(enum value_verdict verdict)
{
	switch (verdict) {
	case VALUE_FASTER:
		return GOOD;
	case VALUE_SLOWER:
	case VALUE_WRONG_RESULTS:
	case VALUE_FAILED:
	case VALUE_MISSING:
		return BAD;
	case VALUE_INCONCLUSIVE:
		return ODD;
	case VALUE_NO_EFFECT:
	case VALUE_BASELINE:
		return BOLD;
	case VALUE_OPEN:
	case VALUE_UNAVAILABLE:
		return DIM;
	}
	BUG("value verdict %d", (int)verdict);
}

enum { SURVEY_INDENT = 2, SPEED_WIDTH = 28, AGAINST_WIDTH = 28, VALUE_WIDTH_MAX = 20, VALUE_WIDTH_MIN = 8 };

/* A row. A name that is wider than its column has a line of its own, so that the numbers stay below each other. */
static void survey_row(struct printer *printer, size_t width, enum style style, const char *value, const char *speed,
                       const char *against, const char *verdict)
{
	enum style numbers = style == DIM ? DIM : PLAIN;
	blanks(printer, SURVEY_INDENT);
	if (columns(visible(printer, value)) < width) {
		put_padded(printer, numbers, value, width);
	} else {
		put(printer, numbers, value);
		fputc('\n', printer->out);
		blanks(printer, SURVEY_INDENT + width);
	}
	if (speed) {
		put_padded(printer, numbers, speed, SPEED_WIDTH);
		put_padded(printer, numbers, against, AGAINST_WIDTH);
	}
	put(printer, style, verdict);
	fputc('\n', printer->out);
}

/* As wide as the names need, but the numbers have to fit beside them. */
static size_t survey_width(const struct printer *printer, size_t widest)
{
	size_t others = SURVEY_INDENT + SPEED_WIDTH + AGAINST_WIDTH + strlen(value_verdict_name(VALUE_INCONCLUSIVE));
	size_t most = printer->width > others + VALUE_WIDTH_MIN ? printer->width - others : VALUE_WIDTH_MIN;
	most = most < VALUE_WIDTH_MAX ? most : VALUE_WIDTH_MAX;
	return widest + 2 < most ? widest + 2 : most;
}

static void survey_table(struct printer *printer, const struct survey *survey)
{
	struct arena *arena = &printer->arena;
	size_t width = columns(visible(printer, survey->over));
	size_t *order = arena_alloc(arena, survey->values.count * sizeof *order);
	for (size_t i = 0; i < survey->values.count; i++) {
		size_t own = columns(visible(printer, survey->values.at[i].value));
		width = own > width ? own : width;
	}
	width = survey_width(printer, width);
	survey_rank(arena, survey, order);
	const char *against = arena_printf(arena, "time against %s", survey->values.at[survey->baseline].value);
	survey_row(printer, width, DIM, survey->over, arena_printf(arena, "%s [interval]", survey_unit(survey)),
	           columns(visible(printer, against)) < AGAINST_WIDTH ? against : "time against the baseline", "verdict");
	for (size_t i = 0; i < survey->values.count; i++) {
		const struct survey_value *value = &survey->values.at[order[i]];
		const char *note = survey_value_note(survey, value);
		survey_row(printer, width, value_style(value->verdict), value->value,
		           value->ns > 0 ? survey_speed_text(arena, survey, value) : NULL,
		           value->effect.known ? effect_text(arena, &value->effect) : "-", value_verdict_name(value->verdict));
		if (note)
			indented(printer, PLAIN, SURVEY_INDENT + 2, note);
	}
}

static void survey_print(struct printer *printer, const struct survey *survey, bool with_config)
{
	struct arena *arena = &printer->arena;
	const char *control = survey_control_text(arena, survey), *rounds = survey_rounds_text(arena, survey);
	put_padded(printer, BOLD, "survey", VERDICT_COLUMN);
	wrap(printer, BOLD, survey_label(arena, survey, with_config), VERDICT_COLUMN);
	if (survey->evidence && survey->evidence[0])
		indented(printer, survey->failure ? ODD : PLAIN, VERDICT_COLUMN, survey->evidence);
	survey_table(printer, survey);
	if (control)
		indented(printer, DIM, VERDICT_COLUMN, control);
	if (rounds)
		indented(printer, DIM, VERDICT_COLUMN, rounds);
}

static void surveys_print(struct printer *printer, const struct run *run)
{
	bool with_config = many_configs(run);
	for (size_t i = 0; i < run->surveys.count; i++) {
		survey_print(printer, run->surveys.at[i], with_config);
		fputc('\n', printer->out);
	}
}

void term_verdicts(FILE *out, const struct run *run, const struct term_options *options)
{
	struct printer printer = printer_begin(out, options);
	struct arena *arena = &printer.arena;
	struct family_list families = all_families(arena, run);
	bool with_config = many_configs(run);
	maps_print(&printer, run, MAP_FUNCTIONS_SHOWN);
	surveys_print(&printer, run);
	for (size_t i = 0; i < families.count; i++) {
		family_print(&printer, &families.at[i], with_config);
		fputc('\n', out);
	}
	notes_print(&printer, run);
	if (run->notes.count)
		fputc('\n', out);
	if (run->files_scanned)
		wrap(&printer, PLAIN, arena_printf(arena, "scan: %s", scan_summary(arena, run)), 0);
	if (run->surveys.count)
		wrap(&printer, BOLD, survey_counts(arena, run), 0);
	if (families.count == 0 && run->surveys.count == 0)
		wrap(&printer, BOLD, "nothing was settled: there is no hypothesis with a candidate", 0);
	else if (families.count)
		wrap(&printer, BOLD,
		     arena_printf(arena, "%s in %s: %s", hypotheses_text(arena, &families),
		                  counted(arena, run->trials.count, "trial", "trials"), verdict_counts(arena, &families)),
		     0);
	const char *build = with_config          ? ""
	                    : run->trials.count  ? config_text(arena, &run->trials.at[0]->config)
	                    : run->surveys.count ? config_text(arena, &run->surveys.at[0]->config)
	                                         : "";
	wrap(&printer, PLAIN,
	     arena_printf(arena, "%s%s%s; %s", build, build[0] ? "; " : "", plan_text(arena, run), host_short(arena, &run->host)), 0);
	if (run->state == RUN_INTERRUPTED)
		wrap(&printer, ODD, "interrupted: what was settled until then stands above", 0);
	if (options->kept)
		wrap(&printer, PLAIN,
		     arena_printf(arena, "took %s; steps, numbers and how to repeat each: assay show %s",
		                  term_seconds(arena, run->seconds), run->id), 0);
	else
		wrap(&printer, ODD, arena_printf(arena, "took %s; this run is not kept: --format json -o FILE saves all of it",
		                                 term_seconds(arena, run->seconds)), 0);
	printer_end(&printer);
}

/* ---- the whole record -------------------------------------------------------------------------------------------- */

static void key_print(struct printer *printer, size_t indent, const char *key, const char *text)
{
	blanks(printer, indent);
	put_padded(printer, DIM, key, KEY_COLUMN - indent % 2);
	wrap(printer, PLAIN, text, indent + KEY_COLUMN - indent % 2);
}

/* ---- checkup --------------------------------------------------------------------------------------------------- */

enum { MARK_COLUMN = 8, PROBE_COLUMN = 30 };

static void lack_print(struct printer *printer, const char *word, const char *text)
{
	if (!text)
		return;
	const char *first = arena_printf(&printer->arena, "%*s%s: ", MARK_COLUMN + 2, "", word);
	fputs(first, printer->out);
	wrap(printer, PLAIN, text, strlen(first));
}

static void probe_print(struct printer *printer, enum probe_result result, const char *name, const char *found,
                        const char *costs, const char *mend)
{
	static const enum style styles[] = {GOOD, PLAIN, ODD, BAD};
	fputs("  ", printer->out);
	put_padded(printer, styles[result], probe_result_name(result), MARK_COLUMN);
	put_padded(printer, PLAIN, name, PROBE_COLUMN - MARK_COLUMN - 2);
	wrap(printer, PLAIN, found ? found : "", PROBE_COLUMN);
	lack_print(printer, "costs", costs);
	lack_print(printer, "mend", mend);
}

void term_checkup(FILE *out, const struct checkup *checkup, const struct term_options *options)
{
	struct printer printer = printer_begin(out, options);
	struct arena *arena = &printer.arena;
	const struct host *host = &checkup->host;
	wrap(&printer, checkup->verdict == PROBE_FINE ? GOOD : checkup->verdict == PROBE_UNFIT ? BAD : ODD, checkup->text, 0);
	wrap(&printer, DIM,
	     arena_printf(arena, "assay %s on %s: %s, %s, %s; %s", checkup->version ? checkup->version : "?",
	                  host->name ? host->name : "?", host_short(arena, host), host->system ? host->system : "?",
	                  host->kernel ? host->kernel : "?", checkup->date ? checkup->date : "?"), 0);
	const char *group = NULL;
	for (size_t i = 0; i < checkup->probes.count; i++) {
		const struct probe *probe = &checkup->probes.at[i];
		if (!group || strcmp(group, probe->group) != 0)
			fprintf(out, "\n%s\n", probe->group);
		group = probe->group;
		probe_print(&printer, probe->result, probe->name, probe->found, probe->costs, probe->mend);
	}
	if (checkup->noises.count)
		fputs("\nnoise: a program against a copy of itself\n", out);
	for (size_t i = 0; i < checkup->noises.count; i++) {
		const struct noise *noise = &checkup->noises.at[i];
		const struct control *control = &noise->control;
		if (!control->done) {
			probe_print(&printer, PROBE_LIMIT, noise->name, noise->lack, "the noise of this machine is not known", NULL);
			continue;
		}
		bool loud = effect_percent(control->floor) > 1;
		const char *found = arena_printf(arena, "floor %s; %s in %s, %s", fraction_text(arena, expm1(control->floor)),
		                                 counted(arena, control->pairs, "pair", "pairs"),
		                                 counted(arena, control->blocks, "block", "blocks"),
		                                 term_seconds(arena, control->seconds));
		probe_print(&printer, !control->quiet ? PROBE_UNFIT : loud ? PROBE_LIMIT : PROBE_FINE, noise->name, found,
		            !control->quiet ? control->text : loud ? "effects below the floor can't be told from nothing" : NULL,
		            !control->quiet || loud ? "end other work on this machine" : NULL);
	}
	printer_end(&printer);
}

void term_diff(FILE *out, const char *diff, const struct term_options *options)
{
	struct printer printer = printer_begin(out, options);
	for (const char *at = diff; *at;) {
		size_t size = strcspn(at, "\n");
		char *line = arena_strndup(&printer.arena, at, size);
		enum style style = text_starts(line, "+++") || text_starts(line, "---") ? BOLD
		                   : line[0] == '+'                                     ? GOOD
		                   : line[0] == '-'                                     ? BAD
		                   : line[0] == '@'                                     ? DIM
		                                                                        : PLAIN;
		/* Tabs stay: the text may be fed to patch. */
		fputs(style_on(&printer, style), out);
		for (char *part = line;; part++) {
			size_t run = strcspn(part, "\t");
			bool tab = part[run] == '\t';
			part[run] = '\0';
			fputs(visible(&printer, part), out);
			if (!tab)
				break;
			fputc('\t', out);
			part += run;
		}
		fprintf(out, "%s\n", style_off(&printer, style));
		at += size;
		if (*at)
			at++;
	}
	printer_end(&printer);
}

void term_paragraph(FILE *out, const char *first, const char *text, const struct term_options *options)
{
	struct printer printer = printer_begin(out, options);
	paragraph(&printer, PLAIN, first, text);
	printer_end(&printer);
}

static void code_print(struct printer *printer, const struct code_difference *code)
{
	static const char *const words[] = {"unchanged", "changed", "added", "removed"};
	struct arena *arena = &printer->arena;
	if (code->units == 0 && !code->differ)
		return;
	if (!code->differ) {
		key_print(printer, 4, "code",
		          arena_printf(arena, "%s in %s: all the same", counted(arena, code->functions, "function", "functions"),
		                       counted(arena, code->units, "unit", "units")));
		return;
	}
	size_t shown = 0;
	for (size_t i = 0; i < code->changed.count && shown < 20; i++, shown++) {
		const struct function_change *change = &code->changed.at[i];
		char *text = arena_printf(arena, "%s %s", change->name, words[change->change]);
		if (change->change == CHANGE_CHANGED)
			text = arena_printf(arena, "%s, %u -> %u instructions", text, change->baseline_instructions,
			                    change->candidate_instructions);
		else if (change->change == CHANGE_ADDED)
			text = arena_printf(arena, "%s, %u instructions", text, change->candidate_instructions);
		else
			text = arena_printf(arena, "%s, %u instructions", text, change->baseline_instructions);
		if (change->first)
			text = arena_printf(arena, "%s, first: %s", text, change->first);
		key_print(printer, 4, shown ? "" : "code", arena_printf(arena, "%s: %s", change->unit ? change->unit : "?", text));
	}
	if (code->changed.count > shown)
		key_print(printer, 4, "", arena_printf(arena, "and %zu more functions: --format json lists them",
		                                       code->changed.count - shown));
	for (size_t i = 0; i < code->data.count; i++)
		key_print(printer, 4, "data",
		          arena_printf(arena, "%s: %s: %s", code->data.at[i].unit, code->data.at[i].name, code->data.at[i].what));
	for (size_t i = 0; i < code->records.count; i++)
		key_print(printer, 4, "record",
		          arena_printf(arena, "%s: %s: %s", code->records.at[i].unit, code->records.at[i].name,
		                       code->records.at[i].what));
}

static void measured_print(struct printer *printer, const struct trial *trial)
{
	struct arena *arena = &printer->arena;
	if (trial->effect.known)
		key_print(printer, 4, "effect",
		          arena_printf(arena, "%s, %s, alpha %s, margin %s", effect_text(arena, &trial->effect),
		                       trial->effect.population ? trial->effect.population : "as built",
		                       fraction_text(arena, trial->alpha), fraction_text(arena, trial->margin)));
	const struct spread *spread = &trial->spread;
	if (spread->layouts)
		key_print(printer, 4, "layouts",
		          arena_printf(arena, "%s: 8 of 10 between %s and %s %%, all %s; 8 of 10 of the control within %s%s",
		                       counted(arena, spread->layouts, "layout", "layouts"), percent_part(arena, spread->low, 1),
		                       percent_part(arena, spread->high, 1), spread_text(printer, spread),
		                       fraction_text(arena, expm1(spread->noise)), spread->sensitive ? "; layout-sensitive" : ""));
	if (trial->p_adjusted > 0)
		key_print(printer, 4, "p",
		          arena_printf(arena, "%.2g for no difference, %.2g by Holm over the hypothesis", trial->p, trial->p_adjusted));
	if (trial->baseline_ns > 0 && trial->candidate_ns > 0) {
		char *text = arena_printf(arena, "%s -> %s per %s", term_ns(arena, trial->baseline_ns),
		                          term_ns(arena, trial->candidate_ns),
		                          trial->metric == METRIC_TIME ? "iteration" : "run");
		if (trial->bytes_per_iteration)
			text = arena_printf(arena, "%s, %s -> %s", text,
			                    rate_text(arena, (double)trial->bytes_per_iteration, trial->baseline_ns),
			                    rate_text(arena, (double)trial->bytes_per_iteration, trial->candidate_ns));
		key_print(printer, 4, "times", text);
	}
	if (trial->metric != METRIC_TIME) {
		key_print(printer, 4, "metric",
		          trial->metric_why ? arena_printf(arena, "%s, %s", metric_name(trial->metric), trial->metric_why)
		                            : metric_name(trial->metric));
		if (trial->baseline_printed > 0)
			key_print(printer, 4, "printed",
			          arena_printf(arena, "%g -> %g", trial->baseline_printed, trial->candidate_printed));
		for (size_t i = 0; i < trial->other_metrics.count; i++)
			if (trial->other_metrics.at[i].effect.known)
				key_print(printer, 4, i ? "" : "besides", other_text(arena, &trial->other_metrics.at[i]));
	}
	if (trial->pairs)
		key_print(printer, 4, "pairs",
		          arena_printf(arena, "%s in %s, %s excluded", count_text(arena, trial->pairs),
		                       counted(arena, trial->blocks, "block", "blocks"), count_text(arena, trial->excluded_pairs)));
	const char *threads = transfer_text(arena, &trial->transfer);
	if (threads)
		key_print(printer, 4, "threads", threads);
	const struct control *control = &trial->control;
	if (control->done)
		key_print(printer, 4, "control",
		          arena_printf(arena, "%s (%s)%s",
		                       control->text ? control->text
		                                     : arena_printf(arena, "%s, floor %s, %s in %s", effect_text(arena, &control->effect),
		                                                    floor_text(arena, control),
		                                                    counted(arena, control->pairs, "pair", "pairs"),
		                                                    counted(arena, control->blocks, "block", "blocks")),
		                       term_seconds(arena, control->seconds), control->quiet ? "" : ": nothing may be judged"));
	if (trial->explanation.known && trial->explanation.text)
		key_print(printer, 4, "explained", trial->explanation.text);
	bool first = true;
	for (size_t i = 0; i < trial->counters.count; i++) {
		const struct counter *counter = &trial->counters.at[i];
		if (counter->unavailable)
			continue;
		char *text = arena_printf(arena, "%s: %.6g -> %.6g %s", counter->name, counter->baseline, counter->candidate,
		                          counter->unit ? counter->unit : "");
		if (counter->baseline > 0 && counter->candidate > 0)
			text = arena_printf(arena, "%s, %s %%", text,
			                    percent_part(arena, log(counter->candidate / counter->baseline), 1));
		key_print(printer, 4, first ? "counters" : "", text);
		first = false;
	}
}

/* One line, however long: it is there to be copied. */
static void repeat_print(struct printer *printer, const char *repeat)
{
	if (!repeat)
		return;
	blanks(printer, 4);
	put_padded(printer, DIM, "repeat", KEY_COLUMN);
	put(printer, PLAIN, repeat);
	fputc('\n', printer->out);
}

static void trial_print(struct printer *printer, const struct trial *trial)
{
	struct arena *arena = &printer->arena;
	blanks(printer, 2);
	put(printer, BOLD, trial->id);
	fputs("  ", printer->out);
	put(printer, verdict_style(trial->verdict), verdict_name(trial->verdict));
	fputs("  ", printer->out);
	put(printer, PLAIN, trial_label(arena, trial, true));
	fprintf(printer->out, "  %s\n", term_seconds(arena, trial->seconds));
	for (size_t i = 0; i < trial->steps.count; i++) {
		const struct step *step = &trial->steps.at[i];
		char *text = arena_printf(arena, "%s%s", step->result == STEP_SKIPPED ? "skipped: " : "", step->text ? step->text : "");
		if (step->result != STEP_SKIPPED)
			text = arena_printf(arena, "%s (%s)%s", text, term_seconds(arena, step->seconds),
			                    step->result == STEP_SETTLED ? " <- settles it" : "");
		key_print(printer, 4, rung_name(step->rung), text);
	}
	if (trial->verdict == VERDICT_NONE && trial->evidence)
		key_print(printer, 4, "unfinished", trial->evidence);
	measured_print(printer, trial);
	if (trial->tokens.first)
		key_print(printer, 4, "first token", trial->tokens.first);
	code_print(printer, &trial->code);
	repeat_print(printer, trial->repeat);
}

static void run_print(struct printer *printer, const struct run *run)
{
	struct arena *arena = &printer->arena;
	put(printer, BOLD, arena_printf(arena, "run %s", run->id));
	fputs("  ", printer->out);
	put(printer, run->state == RUN_DONE ? GOOD : ODD, run_state_name(run->state));
	fputc('\n', printer->out);
	if (run->command)
		key_print(printer, 2, "command", run->command);
	if (run->started)
		key_print(printer, 2, "started", arena_printf(arena, "%s, took %s", run->started, term_seconds(arena, run->seconds)));
	if (run->version)
		key_print(printer, 2, "assay", run->version);
	if (run->tree)
		key_print(printer, 2, "tree", run->tree);
	const struct host *host = &run->host;
	key_print(printer, 2, "host",
	          arena_printf(arena, "%s: %s, %s, %s, clock %s, load %.2f", host->name ? host->name : "?",
	                       host_short(arena, host), host->system ? host->system : "?", host->kernel ? host->kernel : "?",
	                       host->clock_source ? host->clock_source : "?", host->load_average));
	if (host->counters)
		key_print(printer, 2, "counters", host->counters);
	for (size_t i = 0; i < run->compilers.count; i++)
		key_print(printer, 2, i ? "" : "compilers",
		          arena_printf(arena, "%s: %s", run->compilers.at[i].command, run->compilers.at[i].version));
	key_print(printer, 2, "plan", plan_text(arena, run));
	if (run->files_scanned || run->files_failed)
		key_print(printer, 2, "scan", scan_summary(arena, run));
}

static void unavailable_print(struct printer *printer, const struct run *run)
{
	struct string_list said = unavailable_counters(&printer->arena, run);
	if (said.count == 0)
		return;
	put(printer, BOLD, "not available");
	fputc('\n', printer->out);
	for (size_t i = 0; i < said.count; i++)
		indented(printer, PLAIN, 2, said.at[i]);
	fputc('\n', printer->out);
}

/* A survey with everything that is known of its values. */
static void survey_record(struct printer *printer, const struct survey *survey)
{
	struct arena *arena = &printer->arena;
	survey_print(printer, survey, true);
	for (size_t i = 0; i < survey->values.count; i++)
		key_print(printer, 4, survey->values.at[i].value, survey_value_text(arena, survey, &survey->values.at[i]));
	if (survey_alpha_text(arena, survey))
		key_print(printer, 4, "intervals", survey_alpha_text(arena, survey));
	if (survey->control.done)
		key_print(printer, 4, "control", survey->control.text ? survey->control.text : "made");
	repeat_print(printer, survey->repeat);
	fputc('\n', printer->out);
}

void term_record(FILE *out, const struct run *run, const struct term_options *options)
{
	struct printer printer = printer_begin(out, options);
	printer.no_database = !run->database;
	struct arena *arena = &printer.arena;
	run_print(&printer, run);
	fputc('\n', out);
	maps_print(&printer, run, SIZE_MAX);
	for (size_t i = 0; i < run->surveys.count; i++)
		survey_record(&printer, run->surveys.at[i]);
	struct family_list families = all_families(arena, run);
	for (size_t i = 0; i < families.count; i++) {
		const struct family *family = &families.at[i];
		const struct hypothesis *hypothesis = family->hypothesis;
		put_padded(&printer, verdict_style(family->verdict), verdict_name(family->verdict), VERDICT_COLUMN);
		wrap(&printer, BOLD, hypothesis_title(hypothesis), VERDICT_COLUMN);
		if (family->evidence)
			key_print(&printer, 2, "evidence", family->evidence);
		if (hypothesis->claim)
			key_print(&printer, 2, "claimed", hypothesis->claim);
		if (hypothesis->contract)
			key_print(&printer, 2, "only if", hypothesis->contract);
		if (hypothesis->contract && hypothesis->contract_accepted)
			key_print(&printer, 2, "confirmed", hypothesis->contract_accepted);
		if (hypothesis->deliberate)
			key_print(&printer, 2, "deliberate", hypothesis->deliberate);
		if (hypothesis->finding && hypothesis->finding->message)
			key_print(&printer, 2, "finding",
			          arena_printf(arena, "%s:%u: %s", hypothesis->finding->file, hypothesis->finding->line,
			                       hypothesis->finding->message));
		if (hypothesis->kind == CANDIDATE_PATCH && hypothesis->text) {
			key_print(&printer, 2, "candidate", "this patch");
			term_diff(out, hypothesis->text, options);
		} else if (hypothesis->text) {
			key_print(&printer, 2, "candidate",
			          arena_printf(arena, "%s %s", candidate_kind_name(hypothesis->kind), hypothesis->text));
		}
		for (size_t t = 0; t < family->trials.count; t++)
			trial_print(&printer, family->trials.at[t]);
		fputc('\n', out);
	}
	/* Findings that no hypothesis came of, or all of them when the run was a scan. */
	for (size_t i = 0; i < run->findings.count; i++) {
		if (finding_tried(&families, run->findings.at[i]))
			continue;
		finding_print(&printer, run->findings.at[i]);
		fputc('\n', out);
	}
	unavailable_print(&printer, run);
	notes_print(&printer, run);
	if (run->notes.count)
		fputc('\n', out);
	if (families.count || run->surveys.count)
		wrap(&printer, PLAIN, arena_printf(arena, "raw pairs: assay show %s --samples", run->id), 0);
	printer_end(&printer);
}
