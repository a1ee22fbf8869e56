/* The report as GitHub-flavoured Markdown: what one pastes into a review or commits beside the code. Tables, intervals
 * and throughput drawn in text; every number stands in a line that links to its trial. */
#include "report/report.h"

#include "base/text.h"
#include "report/phrase.h"

#include <math.h>
#include <string.h>

enum { DRAWING_HALF = 12 }; /* columns on each side of zero */

struct page {
	FILE *out;
	const struct run *run;
	struct family_list families;
	bool with_config; /* trials were built in more than one way */
	struct arena *arena;
};

/* ---- text ------------------------------------------------------------------------------------------------------- */

static bool balanced_code(const char *text)
{
	size_t ticks = 0;
	for (const char *at = text; *at; at++)
		ticks += *at == '`';
	return ticks % 2 == 0;
}

/* Text for a table's cell or a paragraph: what would be markup is quoted, but `code` stays code, as evidence uses it. Line
 * feeds become <br>. */
static const char *marked(struct arena *arena, const char *text)
{
	if (!text)
		return "";
	bool keep_code = balanced_code(text), code = false;
	char *out = arena_alloc(arena, 6 * strlen(text) + 1), *end = out;
	for (const char *at = text; *at;) {
		size_t size = *at == '\n' || *at == '\t' ? 1 : character_seen(at);
		if (*at == '\n') {
			end = stpcpy(end, "<br>");
		} else if (*at == '\t') {
			*end++ = ' ';
		} else if (size == 0) {
			*end++ = '?';
			size = 1;
		} else if (*at == '`' && keep_code) {
			code = !code;
			*end++ = '`';
		} else if (*at == '|') {
			end = stpcpy(end, "\\|");
		} else if (!code && *at == '<') {
			end = stpcpy(end, "&lt;");
		} else if (!code && strchr("\\`*_[]#~", *at)) {
			*end++ = '\\';
			*end++ = *at;
		} else {
			memcpy(end, at, size);
			end += size;
		}
		at += size;
	}
	*end = '\0';
	return out;
}

/* Backticks, `least` or more: longer than any run of them in the text. */
static const char *fence_of(struct arena *arena, const char *text, size_t least)
{
	size_t longest = least - 1, run = 0;
	for (const char *at = text; *at; at++) {
		run = *at == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	char *fence = arena_alloc(arena, longest + 2);
	memset(fence, '`', longest + 1);
	return fence;
}

/* As `code`, whatever it holds. */
static const char *code_of(struct arena *arena, const char *text, bool cell)
{
	char *clean = arena_alloc(arena, 2 * strlen(text) + 1), *end = clean;
	for (const char *at = text; *at;) {
		size_t size = character_seen(at);
		if (size == 0) {
			*end++ = *at == '\n' || *at == '\t' ? ' ' : '?';
			at++;
			continue;
		}
		if (*at == '|' && cell)
			*end++ = '\\';
		memcpy(end, at, size);
		end += size;
		at += size;
	}
	*end = '\0';
	const char *fence = fence_of(arena, text, 1), *pad = fence[1] ? " " : "";
	return arena_printf(arena, "%s%s%s%s%s", fence, pad, clean, pad, fence);
}

static void fenced(struct page *page, const char *language, const char *text)
{
	const char *fence = fence_of(page->arena, text, 3);
	fprintf(page->out, "%s%s\n", fence, language);
	for (const char *at = text; *at;) {
		size_t size = *at == '\n' || *at == '\t' ? 1 : character_seen(at);
		if (size)
			fwrite(at, 1, size, page->out);
		else
			fputc('?', page->out);
		at += size ? size : 1;
	}
	fprintf(page->out, "%s%s\n\n", text_ends(text, "\n") ? "" : "\n", fence);
}

/* The cells of a row; NULL ends it. */
static void row(struct page *page, const char *first, ...)
{
	va_list ap;
	va_start(ap, first);
	fputc('|', page->out);
	for (const char *cell = first; cell; cell = va_arg(ap, const char *))
		fprintf(page->out, " %s |", cell[0] ? cell : " ");
	fputc('\n', page->out);
	va_end(ap);
}

static const char *trial_link(struct arena *arena, const struct trial *trial)
{
	return arena_printf(arena, "[%s](#%s)", trial->id, trial->id);
}

/* ---- drawings --------------------------------------------------------------------------------------------------- */

static void widen(double *span, double bound)
{
	if (isfinite(bound) && fabs(bound) > *span)
		*span = fabs(bound);
}

static void effect_widen(double *span, const struct effect *effect)
{
	if (!effect->known)
		return;
	widen(span, effect->theta);
	widen(span, effect->low);
	widen(span, effect->high);
}

static void drawn_from(struct page *page, double span)
{
	double most = effect_percent(span);
	if (span > 0)
		fprintf(page->out, "Intervals are drawn from %.3g to +%s %%; left of the bar is faster.\n\n",
		        effect_percent(-span), arena_printf(page->arena, most < 999.5 ? "%.3g" : "%.0f", most));
}

/* The widest bound of a family's intervals: all of them are drawn to one scale. */
static double family_span(const struct family *family)
{
	double span = 0;
	for (size_t i = 0; i < family->trials.count; i++)
		effect_widen(&span, &family->trials.at[i]->effect);
	return span;
}

static int drawing_column(double value, double span)
{
	if (!isfinite(value))
		return value < 0 ? 0 : 2 * DRAWING_HALF;
	return DRAWING_HALF + (int)lround(value / span * DRAWING_HALF);
}

/* "····──●──│············": faster is left of the bar, slower right; an open end has an arrow. */
static const char *interval_drawing(struct arena *arena, const struct effect *effect, double span)
{
	if (!(span > 0))
		span = 1;
	int low = drawing_column(effect->low, span), high = drawing_column(effect->high, span);
	int middle = drawing_column(effect->theta, span);
	char *text = arena_strdup(arena, "");
	for (int i = 0; i <= 2 * DRAWING_HALF; i++) {
		const char *mark = i == DRAWING_HALF ? "\u2502" : "\u00b7";
		if (i >= low && i <= high)
			mark = "\u2500";
		if (i == low && !isfinite(effect->low))
			mark = "\u25c4";
		if (i == high && !isfinite(effect->high))
			mark = "\u25ba";
		if (i == middle)
			mark = "\u25cf";
		text = arena_printf(arena, "%s%s", text, mark);
	}
	return arena_printf(arena, "`%s`", text);
}

/* ---- verdicts --------------------------------------------------------------------------------------------------- */

/* "-34.1 % [-35.0, -33.2]" of one trial, or from where to where the trials of a family go. */
static const char *family_effect(struct arena *arena, const struct family *family)
{
	double least = INFINITY, most = -INFINITY;
	const struct effect *only = NULL;
	size_t known = 0;
	for (size_t i = 0; i < family->trials.count; i++) {
		const struct effect *effect = &family->trials.at[i]->effect;
		if (!effect->known)
			continue;
		known++;
		only = effect;
		least = fmin(least, effect->theta);
		most = fmax(most, effect->theta);
	}
	if (known == 0)
		return "settled without measuring";
	if (known == 1)
		return effect_text(arena, only);
	return arena_printf(arena, "%s in %zu trials", span_text(arena, least, most), known);
}

static const char *family_rung(const struct family *family)
{
	enum rung rung = RUNG_NONE;
	for (size_t i = 0; i < family->trials.count; i++)
		if (family->trials.at[i]->rung > rung)
			rung = family->trials.at[i]->rung;
	return rung == RUNG_NONE ? "" : rung_name(rung);
}

static const char *family_evidence(const struct family *family)
{
	return family->evidence ? family->evidence : family->trials.count ? family->trials.at[0]->evidence : NULL;
}

/* What settled it, and where a counted difference explains the measured one, how. */
static const char *family_why(struct arena *arena, const struct family *family)
{
	const char *evidence = family_evidence(family);
	for (size_t i = 0; i < family->trials.count; i++) {
		const struct trial *trial = family->trials.at[i];
		if (trial->explanation.known && trial->explanation.text)
			return arena_printf(arena, "%s%s%s: %s", evidence ? evidence : "", evidence ? "; " : "", trial->id,
			                    trial->explanation.text);
	}
	return evidence;
}

static const char *trial_links(struct arena *arena, const struct family *family)
{
	struct string_list links = {0};
	for (size_t i = 0; i < family->trials.count; i++)
		list_push(arena, &links, trial_link(arena, family->trials.at[i]));
	return text_join(arena, &links, " ");
}

static const char *config_of(struct arena *arena, const struct family *family)
{
	return family->trials.count ? config_text(arena, &family->trials.at[0]->config) : "";
}

/* What was claimed: by whoever made the hypothesis, else by the catalogue. */
static const char *reading(struct arena *arena, const struct hypothesis *hypothesis)
{
	const struct finding *finding = hypothesis->finding;
	const char *claim = hypothesis->claim ? hypothesis->claim : finding ? finding->claim : NULL;
	if (!finding)
		return claim ? claim : "nothing was claimed";
	const char *kind = finding->kind == FINDING_GUARD ? "guard" : severity_name(finding->severity);
	return arena_printf(arena, "%s%s%s", kind, claim ? ": " : "", claim ? claim : "");
}

static void verdicts(struct page *page)
{
	struct arena *arena = page->arena;
	fputs("## What reading said, what measuring says\n\n", page->out);
	row(page, "verdict", "hypothesis", "reading said", "measuring says", "settled at", "why", "trials", NULL);
	row(page, "---", "---", "---", "---", "---", "---", "---", NULL);
	for (size_t i = 0; i < page->families.count; i++) {
		const struct family *family = &page->families.at[i];
		const char *title = marked(arena, hypothesis_title(family->hypothesis));
		if (page->with_config && config_of(arena, family)[0])
			title = arena_printf(arena, "%s (%s)", title, marked(arena, config_of(arena, family)));
		row(page, arena_printf(arena, "**%s**%s", verdict_name(family->verdict), family_share(arena, family)), title,
		    marked(arena, reading(arena, family->hypothesis)), marked(arena, family_effect(arena, family)), family_rung(family),
		    marked(arena, family_why(arena, family)), trial_links(arena, family), NULL);
	}
	fputc('\n', page->out);
}

/* ---- surveys ---------------------------------------------------------------------------------------------------- */

static const char *bar(struct arena *arena, double fraction)
{
	enum { WHOLE = 25 };
	int length = (int)lround(WHOLE * fmin(fraction, 1));
	char *text = arena_strdup(arena, "");
	for (int i = 0; i < length; i++)
		text = arena_printf(arena, "%s\u2588", text);
	return length ? arena_printf(arena, "`%s`", text) : "";
}

/* Higher is faster: bytes in a time where all values say how many, else iterations. 0: not timed. */
static double value_speed(const struct survey *survey, const struct survey_value *value)
{
	if (!(value->ns > 0))
		return 0;
	return (survey_in_bytes(survey) ? (double)value->bytes_per_iteration : 1) / value->ns;
}

static void survey_table(struct page *page, const struct survey *survey)
{
	struct arena *arena = page->arena;
	size_t *order = arena_alloc(arena, survey->values.count * sizeof *order);
	double span = 0, fastest = 0;
	for (size_t i = 0; i < survey->values.count; i++) {
		const struct survey_value *value = &survey->values.at[i];
		fastest = fmax(fastest, value_speed(survey, value));
		effect_widen(&span, &value->effect);
	}
	survey_rank(arena, survey, order);
	drawn_from(page, span);
	row(page, marked(arena, survey->over), arena_printf(arena, "%s [interval]", survey_unit(survey)), "speed",
	    arena_printf(arena, "time against %s", marked(arena, survey->values.at[survey->baseline].value)), "interval",
	    "verdict", "why", NULL);
	row(page, "---", "---:", "---", "---:", "---", "---", "---", NULL);
	for (size_t i = 0; i < survey->values.count; i++) {
		const struct survey_value *value = &survey->values.at[order[i]];
		double speed = value_speed(survey, value);
		row(page, code_of(arena, value->value, true), speed > 0 ? survey_speed_text(arena, survey, value) : "not timed",
		    speed > 0 ? bar(arena, speed / fastest) : "",
		    value->effect.known ? marked(arena, effect_text(arena, &value->effect)) : "",
		    value->effect.known ? interval_drawing(arena, &value->effect, span) : "",
		    value_verdict_name(value->verdict), marked(arena, survey_value_note(survey, value)), NULL);
	}
	fputc('\n', page->out);
}

static void survey_details(struct page *page, const struct survey *survey)
{
	struct arena *arena = page->arena;
	fputs("<details><summary>each value, and how to repeat it</summary>\n\n", page->out);
	for (size_t i = 0; i < survey->values.count; i++)
		fprintf(page->out, "- %s: %s\n", code_of(arena, survey->values.at[i].value, false),
		        marked(arena, survey_value_text(arena, survey, &survey->values.at[i])));
	if (survey_alpha_text(arena, survey))
		fprintf(page->out, "- intervals: %s\n", marked(arena, survey_alpha_text(arena, survey)));
	if (survey->control.done && survey->control.text)
		fprintf(page->out, "- control: %s\n", marked(arena, survey->control.text));
	if (survey->repeat)
		fprintf(page->out, "- repeat: %s\n", code_of(arena, survey->repeat, false));
	fputs("\n</details>\n\n", page->out);
}

static void surveys(struct page *page)
{
	struct arena *arena = page->arena;
	const struct survey_list *list = &page->run->surveys;
	if (list->count == 0)
		return;
	fprintf(page->out, "## Surveys\n\n%s.\n\n", survey_counts(arena, page->run));
	for (size_t i = 0; i < list->count; i++) {
		const struct survey *survey = list->at[i];
		const char *control = survey_control_text(arena, survey), *rounds = survey_rounds_text(arena, survey);
		fprintf(page->out, "### <a id=\"%s\"></a>%s\n\n", survey->id, marked(arena, survey_label(arena, survey, true)));
		if (survey->evidence && survey->evidence[0])
			fprintf(page->out, "%s.\n\n", marked(arena, survey->evidence));
		survey_table(page, survey);
		if (rounds)
			fprintf(page->out, "%s%s%s.\n\n", marked(arena, rounds), control ? "; " : "", marked(arena, control));
		survey_details(page, survey);
	}
}

/* ---- trials ----------------------------------------------------------------------------------------------------- */

static const char *side_text(struct arena *arena, const struct trial *trial, bool candidate)
{
	double printed = candidate ? trial->candidate_printed : trial->baseline_printed;
	double ns = candidate ? trial->candidate_ns : trial->baseline_ns;
	if (trial->baseline_printed > 0)
		return arena_printf(arena, "%g", printed);
	if (!(ns > 0))
		return "";
	return trial->bytes_per_iteration ? rate_text(arena, (double)trial->bytes_per_iteration, ns) : term_ns(arena, ns);
}

static const char *trial_effect(struct arena *arena, const struct trial *trial)
{
	const struct spread *spread = &trial->spread;
	if (!trial->effect.known)
		return "not measured";
	if (!spread->sensitive)
		return effect_text(arena, &trial->effect);
	/* Where the layout decides, one number would be one layout's. */
	return arena_printf(arena, "%s, layout-sensitive", span_text(arena, spread->low, spread->high));
}

static const char *trial_drawing(struct arena *arena, const struct trial *trial, double span)
{
	if (!trial->effect.known)
		return "";
	if (trial->spread.layouts)
		return arena_printf(arena, "`%s` %s", spread_drawing(arena, &trial->spread, true),
		                    span_text(arena, trial->spread.least, trial->spread.most));
	return interval_drawing(arena, &trial->effect, span);
}

static const char *taken(struct arena *arena, const struct trial *trial)
{
	if (trial->pairs == 0)
		return "";
	if (trial->spread.layouts)
		return counted(arena, trial->spread.layouts, "layout", "layouts");
	return arena_printf(arena, "%s in %s", counted(arena, trial->pairs, "pair", "pairs"),
	                    counted(arena, trial->blocks, "block", "blocks"));
}

static const char *floor_cell(struct arena *arena, const struct control *control)
{
	if (!control->done)
		return "";
	return control->quiet ? floor_text(arena, control) : "differs from itself: nothing may be judged";
}

static void trials_table(struct page *page, const struct family *family)
{
	struct arena *arena = page->arena;
	double span = family_span(family);
	drawn_from(page, span);
	row(page, "trial", "verdict", "workload", "effect", "interval", "baseline", "candidate", "taken", "noise floor", NULL);
	row(page, "---", "---", "---", "---:", "---", "---:", "---:", "---:", "---:", NULL);
	for (size_t i = 0; i < family->trials.count; i++) {
		const struct trial *trial = family->trials.at[i];
		const char *anchor = arena_printf(arena, "<a id=\"%s\"></a>%s", trial->id, trial->id);
		row(page, anchor, verdict_name(trial->verdict), marked(arena, trial_label(arena, trial, page->with_config)),
		    marked(arena, trial_effect(arena, trial)), trial_drawing(arena, trial, span), side_text(arena, trial, false),
		    side_text(arena, trial, true), taken(arena, trial), floor_cell(arena, &trial->control), NULL);
	}
	fputc('\n', page->out);
}

/* The rungs, once where the trials of a family climbed them alike. */
static void steps_list(struct page *page, const struct trial *trial)
{
	struct arena *arena = page->arena;
	for (size_t i = 0; i < trial->steps.count; i++) {
		const struct step *step = &trial->steps.at[i];
		fprintf(page->out, "  - *%s*%s: %s%s\n", rung_name(step->rung), step->result == STEP_SKIPPED ? " (skipped)" : "",
		        marked(arena, step->text), step->result == STEP_SETTLED ? " **settles it**" : "");
	}
}

static void counters_list(struct page *page, const struct trial *trial)
{
	struct arena *arena = page->arena;
	if (trial->explanation.known && trial->explanation.text)
		fprintf(page->out, "  - explained: %s\n", marked(arena, trial->explanation.text));
	for (size_t i = 0; i < trial->counters.count; i++) {
		const struct counter *counter = &trial->counters.at[i];
		if (!counter->unavailable)
			fprintf(page->out, "  - %s: %.6g to %.6g %s\n", marked(arena, counter->name), counter->baseline, counter->candidate,
			        marked(arena, counter->unit));
	}
}

static void trial_details(struct page *page, const struct trial *trial)
{
	struct arena *arena = page->arena;
	const char *limits = trial_limits(arena, trial);
	fprintf(page->out, "- **%s** %s%s%s\n", trial->id, marked(arena, trial_label(arena, trial, true)),
	        trial->evidence ? ": " : "", marked(arena, trial->evidence));
	steps_list(page, trial);
	if (limits)
		fprintf(page->out, "  - %s\n", marked(arena, limits));
	if (trial->transfer.threads)
		fprintf(page->out, "  - threads: %s\n", marked(arena, transfer_text(arena, &trial->transfer)));
	if (trial->control.done && trial->control.text)
		fprintf(page->out, "  - control: %s\n", marked(arena, trial->control.text));
	counters_list(page, trial);
	if (trial->repeat)
		fprintf(page->out, "  - repeat: %s\n", code_of(arena, trial->repeat, false));
}

static void hypothesis_section(struct page *page, const struct family *family)
{
	struct arena *arena = page->arena;
	const struct hypothesis *hypothesis = family->hypothesis;
	fprintf(page->out, "### %s: %s%s%s\n\n", verdict_name(family->verdict), marked(arena, hypothesis_title(hypothesis)),
	        page->with_config && config_of(arena, family)[0] ? ", " : "",
	        page->with_config ? marked(arena, config_of(arena, family)) : "");
	if (family_evidence(family))
		fprintf(page->out, "%s\n\n", marked(arena, family_evidence(family)));
	if (hypothesis->finding && hypothesis->finding->message)
		fprintf(page->out, "Finding: %s:%u: %s\n\n", marked(arena, hypothesis->finding->file), hypothesis->finding->line,
		        marked(arena, hypothesis->finding->message));
	if (hypothesis->claim)
		fprintf(page->out, "Claimed: %s\n\n", marked(arena, hypothesis->claim));
	if (contract_text(arena, family))
		fprintf(page->out, "It %s\n\n", marked(arena, contract_text(arena, family)));
	if (hypothesis->deliberate)
		fprintf(page->out, "Deliberate: %s\n\n", marked(arena, hypothesis->deliberate));
	trials_table(page, family);
	fputs("<details><summary>the proof of each trial, and how to repeat it</summary>\n\n", page->out);
	for (size_t i = 0; i < family->trials.count; i++)
		trial_details(page, family->trials.at[i]);
	fputs("\n</details>\n\n", page->out);
	if (hypothesis->kind == CANDIDATE_PATCH && hypothesis->text) {
		fputs("<details><summary>the candidate</summary>\n\n", page->out);
		fenced(page, "diff", hypothesis->text);
		fputs("</details>\n\n", page->out);
	} else if (hypothesis->text) {
		fprintf(page->out, "Candidate: %s %s\n\n", candidate_kind_name(hypothesis->kind), code_of(arena, hypothesis->text, false));
	}
}

/* ---- findings --------------------------------------------------------------------------------------------------- */

static const char *finding_state(struct arena *arena, const struct run *run, const struct finding *finding)
{
	if (finding->deliberate)
		return arena_printf(arena, "deliberate: %s", finding->deliberate);
	return !finding->built && run->database ? "not built" : "";
}

static void findings(struct page *page)
{
	struct arena *arena = page->arena;
	struct finding_list left = {0};
	for (size_t i = 0; i < page->run->findings.count; i++)
		if (!finding_tried(&page->families, page->run->findings.at[i]))
			list_push(arena, &left, page->run->findings.at[i]);
	if (left.count == 0)
		return;
	findings_rank(&left);
	fprintf(page->out, "## %s\n\n", page->families.count ? "Findings that were not tried" : "Findings");
	row(page, "", "place", "what", "evidence", "id", NULL);
	row(page, "---", "---", "---", "---", "---", NULL);
	for (size_t i = 0; i < left.count; i++) {
		const struct finding *finding = left.at[i];
		const char *evidence = marked(arena, finding_evidence(arena, finding)), *state = marked(arena, finding_state(arena, page->run, finding));
		row(page, finding->kind == FINDING_GUARD ? "guard" : severity_name(finding->severity),
		    arena_printf(arena, "%s:%u", marked(arena, finding->file), finding->line), marked(arena, finding->message),
		    evidence[0] && state[0] ? arena_printf(arena, "%s; %s", evidence, state) : evidence[0] ? evidence : state,
		    code_of(arena, finding->id, true), NULL);
	}
	fputc('\n', page->out);
}

/* ---- where the time goes ---------------------------------------------------------------------------------------- */

static const char *share_bar(struct arena *arena, const struct hot_share *share)
{
	return bar(arena, share->sampled ? share->time_share : share->instruction_share);
}

static void map_table(struct page *page, const struct hotmap *map)
{
	struct arena *arena = page->arena;
	row(page, "function", "time", "", "instructions (emulated)", NULL);
	row(page, "---", "---:", "---", "---:", NULL);
	for (size_t i = 0; i < map->functions.count; i++) {
		const struct hot_share *share = &map->functions.at[i];
		const char *name = code_of(arena, share->name, true);
		row(page, share->object ? arena_printf(arena, "%s in %s", name, marked(arena, share->object)) : name,
		    share_text(arena, share->sampled, share->time_share), share_bar(arena, share),
		    share_text(arena, share->counted, share->instruction_share), NULL);
	}
	fputc('\n', page->out);
}

static void parts_table(struct page *page, const struct hotmap *map)
{
	struct arena *arena = page->arena;
	row(page, "part, with all that it calls", "time", "instructions (emulated)", "bound", NULL);
	row(page, "---", "---:", "---:", "---", NULL);
	for (size_t i = 0; i < map->parts.count; i++) {
		const struct hot_share *part = &map->parts.at[i];
		row(page, marked(arena, part->name), share_text(arena, part->sampled, part->time_share),
		    share_text(arena, part->counted, part->instruction_share), marked(arena, part_bound(arena, part)), NULL);
	}
	fputc('\n', page->out);
}

static void maps(struct page *page)
{
	struct arena *arena = page->arena;
	const struct hotmap_list *list = &page->run->maps;
	if (list->count == 0)
		return;
	fputs("## Where the time goes\n\nEach function by itself, without what it calls, as a share of the workload's run. A part "
	      "is taken with all that it calls, so that no change confined to it can gain more than its bound.\n\n", page->out);
	for (size_t i = 0; i < list->count; i++) {
		const struct hotmap *map = &list->at[i];
		fprintf(page->out, "### <a id=\"%s\"></a>%s\n\n%s, %s.%s%s\n\n", map->id, marked(arena, map_label(arena, map)),
		        marked(arena, config_text(arena, &map->config)), counted(arena, map->samples, "sample", "samples"),
		        map->lack ? " " : "", marked(arena, map->lack));
		if (map->functions.count)
			map_table(page, map);
		if (map->parts.count)
			parts_table(page, map);
	}
}

/* ---- what could not be had, and where it was measured ------------------------------------------------------------- */

static void lacks(struct page *page)
{
	struct arena *arena = page->arena;
	struct string_list list = unavailable_counters(arena, page->run);
	if (list.count == 0 && page->run->notes.count == 0)
		return;
	fputs("## What could not be had\n\n", page->out);
	for (size_t i = 0; i < list.count; i++)
		fprintf(page->out, "- %s\n", marked(arena, list.at[i]));
	for (size_t i = 0; i < page->run->notes.count; i++) {
		const struct note *note = &page->run->notes.at[i];
		fprintf(page->out, "- %s%s%s\n", marked(arena, note->where), note->where && note->where[0] ? ": " : "",
		        marked(arena, note->text));
	}
	fputc('\n', page->out);
}

static void record(struct page *page)
{
	struct arena *arena = page->arena;
	const struct run *run = page->run;
	const struct host *host = &run->host;
	fputs("## Where and how\n\n", page->out);
	if (run->command)
		fprintf(page->out, "- command: %s\n", code_of(arena, run->command, false));
	fprintf(page->out, "- run: %s, %s, started %s, took %s\n", marked(arena, run->id), run_state_name(run->state),
	        run->started ? run->started : "?", term_seconds(arena, run->seconds));
	fprintf(page->out, "- host: %s, %s, %s, clock %s, load %.2f\n", marked(arena, host_short(arena, host)),
	        marked(arena, host->system ? host->system : "?"), marked(arena, host->kernel ? host->kernel : "?"),
	        marked(arena, host->clock_source ? host->clock_source : "?"), host->load_average);
	if (host->counters)
		fprintf(page->out, "- %s\n", marked(arena, host->counters));
	for (size_t i = 0; i < run->compilers.count; i++)
		fprintf(page->out, "- %s: %s\n", marked(arena, run->compilers.at[i].command), marked(arena, run->compilers.at[i].version));
	fprintf(page->out, "- plan: %s\n", marked(arena, plan_text(arena, run)));
	if (run->version)
		fprintf(page->out, "- assay %s\n", marked(arena, run->version));
	if (page->families.count || run->surveys.count)
		fprintf(page->out, "\nThe raw samples: %s\n", code_of(arena, arena_printf(arena, "assay show %s --samples", run->id), false));
}

void markdown_run(FILE *out, const struct run *run)
{
	struct arena arena;
	arena_init(&arena);
	struct page page = {.out = out, .run = run, .families = all_families(&arena, run), .with_config = many_configs(run),
	                    .arena = &arena};
	bool settled = page.families.count;
	fprintf(out, "# assay: %s\n\n",
	        settled              ? verdict_counts(&arena, &page.families)
	        : run->surveys.count ? survey_counts(&arena, run)
	                             : "scan");
	if (run->files_scanned || run->files_failed)
		fprintf(out, "Scan: %s.\n\n", marked(&arena, scan_summary(&arena, run)));
	if (run->state != RUN_DONE)
		fprintf(out, "**This run is %s: what it had settled until then stands here.**\n\n", run_state_name(run->state));
	if (settled) {
		fprintf(out, "%s in %s.\n\n", hypotheses_text(&arena, &page.families),
		        counted(&arena, run->trials.count, "trial", "trials"));
		verdicts(&page);
	}
	surveys(&page);
	if (settled) {
		fputs("## Each hypothesis\n\n", out);
		for (size_t i = 0; i < page.families.count; i++)
			hypothesis_section(&page, &page.families.at[i]);
	}
	maps(&page);
	findings(&page);
	lacks(&page);
	record(&page);
	arena_release(&arena);
}

static void agreement_table(struct page *page, const struct agreement_of_runs *agreement, enum agreement kind)
{
	row(page, "question", "where", "first", "second", "intervals", NULL);
	row(page, "---", "---", "---", "---", "---", NULL);
	for (size_t i = 0; i < agreement->rows.count; i++) {
		const struct agreement_row *at = &agreement->rows.at[i];
		const char *intervals = agreement_intervals(at);
		if (at->kind == kind)
			row(page, marked(page->arena, agreement_question(at)), marked(page->arena, agreement_where(page->arena, at)),
			    marked(page->arena, agreement_side(page->arena, at, 0)), marked(page->arena, agreement_side(page->arena, at, 1)),
			    intervals ? intervals : "", NULL);
	}
	fputc('\n', page->out);
}

void markdown_agreement(FILE *out, const struct agreement_of_runs *agreement)
{
	struct arena arena;
	arena_init(&arena);
	struct page page = {.out = out, .arena = &arena};
	fputs("# assay: two runs beside each other\n\n", out);
	for (int side = 0; side < 2; side++)
		fprintf(out, "- %s: %s\n", side ? "second" : "first", marked(&arena, agreement_run_text(&arena, agreement->runs[side])));
	fprintf(out, "\n%s.\n\n", agreement_summary(&arena, agreement));
	for (enum agreement kind = 0; (int)kind < AGREEMENT_KINDS; kind++) {
		if (!agreement->counts[kind])
			continue;
		if (kind == AGREEMENT_SAME)
			fprintf(out, "<details><summary>%s</summary>\n\n", agreement_heading(kind));
		else
			fprintf(out, "## %s\n\n", agreement_heading(kind));
		agreement_table(&page, agreement, kind);
		if (kind == AGREEMENT_SAME)
			fputs("</details>\n", out);
	}
	arena_release(&arena);
}
