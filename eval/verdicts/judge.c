#include "judge.h"

#include "base/stat.h"
#include "base/text.h"
#include "overhead.h"
#include "peers.h"
#include "replay.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

static const double MARGIN_PERCENT = 1;

/* What is compared, and how assay compares it. */
enum subject { COPIES, COMMANDS, LAYOUTS_BUILT, LAYOUTS_OVER, TRUTHS };

/* All trials of one workload, effect, subject and load; all layouts of one source are together. */
struct cell {
	const char *workload, *load;
	double effect_percent, seconds;
	enum subject subject;
	struct replayed_list {
		struct replayed *at;
		size_t count, cap;
	} trials;
	struct layout_list {
		int *at;
		size_t count, cap;
	} layout_numbers; /* of each trial */
};
LIST_OF(struct cell *, cell_list);

/* What a rule did over some cells. */
struct tally {
	unsigned trials, wrong, right, no_effect, negligible, none;
	unsigned intervals, covered, covered_pooled;
	struct seconds_list measured, wall; /* to the verdict; infinite without one */
	double wall_all_s;                  /* sum of the time that was spent, verdict or not */
};

struct judging {
	struct arena arena;
	struct cell_list cells;
	FILE *out;
	const char *dir;
	unsigned recordings;
};

static const char *const loads[] = {"none", "one", "twice"};
static const char *const load_texts[] = {"nothing else running", "one busy process", "twice as many busy processes as CPUs"};
enum { LOADS = 3 };

/* ---- reading --------------------------------------------------------------------------------------------------------- */

static int cell_order(const void *a, const void *b)
{
	const struct cell *x = *(struct cell *const *)a, *y = *(struct cell *const *)b;
	int by_load = strcmp(x->load, y->load), by_workload = strcmp(x->workload, y->workload);
	if (x->subject != y->subject)
		return (int)x->subject - (int)y->subject;
	if (x->effect_percent != y->effect_percent)
		return x->effect_percent < y->effect_percent ? -1 : 1;
	return by_load ? by_load : by_workload;
}

static enum subject subject_of(const struct recording *recording)
{
	switch (recording->kind) {
	case KIND_COMMAND:
		return COMMANDS;
	case KIND_TRUTH:
		return TRUTHS;
	case KIND_LAYOUTS:
		return LAYOUTS_OVER;
	case KIND_BUILT:
	case KINDS:
		break;
	}
	return recording->layout == NO_LAYOUT ? COPIES : LAYOUTS_BUILT;
}

static struct cell *cell_of(struct judging *judging, const struct recording *recording)
{
	enum subject subject = subject_of(recording);
	for (size_t i = 0; i < judging->cells.count; i++) {
		struct cell *cell = judging->cells.at[i];
		if (strcmp(cell->workload, recording->workload) == 0 && strcmp(cell->load, recording->load) == 0 &&
		    cell->effect_percent == recording->effect_percent && cell->subject == subject)
			return cell;
	}
	struct cell *cell = arena_new(&judging->arena, struct cell);
	cell->workload = arena_strdup(&judging->arena, recording->workload);
	cell->load = arena_strdup(&judging->arena, recording->load);
	cell->effect_percent = recording->effect_percent;
	cell->seconds = recording->seconds;
	cell->subject = subject;
	list_push(&judging->arena, &judging->cells, cell);
	return cell;
}

static int is_recording(const struct dirent *entry)
{
	return text_ends(entry->d_name, ".rec");
}

static enum status recordings_read(struct judging *judging, struct err *err)
{
	struct dirent **entries;
	int count = scandir(judging->dir, &entries, is_recording, alphasort);
	for (int i = 0; i < count; i++) {
		struct arena scratch;
		arena_init(&scratch);
		struct recording recording;
		struct err trouble = ERR_INIT;
		const char *path = arena_printf(&scratch, "%s/%s", judging->dir, entries[i]->d_name);
		if (recording_read(&scratch, path, &recording, &trouble) == ST_OK) {
			struct cell *cell = cell_of(judging, &recording);
			struct replayed replayed;
			replay(&recording, &replayed);
			list_push(&judging->arena, &cell->trials, replayed);
			list_push(&judging->arena, &cell->layout_numbers, (int)recording.layout);
			judging->recordings++;
		} else {
			fprintf(stderr, "left out: %s\n", trouble.text);
		}
		arena_release(&scratch);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	if (judging->recordings == 0)
		return err_set(err, ST_INPUT, "%s holds no recordings: make some with eval_verdicts record %s", judging->dir,
		               judging->dir);
	qsort(judging->cells.at, judging->cells.count, sizeof *judging->cells.at, cell_order);
	return ST_OK;
}

/* ---- counting ---------------------------------------------------------------------------------------------------------- */

/* The median of all trials' own estimates: what the interleaved measurement as a whole says the effect is. */
static double cell_pooled(const struct cell *cell)
{
	double *estimates = malloc((cell->trials.count + 1) * sizeof *estimates), median = 0;
	if (estimates) {
		size_t count = 0;
		for (size_t i = 0; i < cell->trials.count; i++)
			if (cell->trials.at[i].blocks)
				estimates[count++] = cell->trials.at[i].estimate;
		median = count ? stat_median(estimates, count) : 0;
	}
	free(estimates);
	return median;
}

static void tally_add(struct judging *judging, struct tally *tally, const struct cell *cell, enum rule rule)
{
	double truth = log1p(cell->effect_percent / 100), pooled = cell_pooled(cell);
	for (size_t i = 0; i < cell->trials.count; i++) {
		const struct outcome *outcome = &cell->trials.at[i].rules[rule];
		if (!outcome->present)
			continue;
		bool within = outcome->claim == CLAIM_NO_EFFECT || outcome->claim == CLAIM_NEGLIGIBLE;
		tally->trials++;
		tally->none += outcome->claim == CLAIM_NONE;
		tally->no_effect += within;
		tally->negligible += outcome->claim == CLAIM_NEGLIGIBLE;
		/* On the margin itself "slower" is right and "no effect" is no lie. */
		tally->wrong += outcome->claim == CLAIM_FASTER || (outcome->claim == CLAIM_SLOWER && truth == 0) ||
		                (within && cell->effect_percent > MARGIN_PERCENT);
		tally->right += outcome->claim == CLAIM_SLOWER && truth > 0;
		if (isfinite(outcome->low) && isfinite(outcome->high)) {
			tally->intervals++;
			tally->covered += outcome->low <= truth && truth <= outcome->high;
			tally->covered_pooled += outcome->low <= pooled && pooled <= outcome->high;
		}
		bool decided = outcome->claim != CLAIM_NONE;
		double measured_s = decided ? outcome->measured_s : INFINITY, wall_s = decided ? outcome->wall_s : INFINITY;
		list_push(&judging->arena, &tally->measured, measured_s);
		list_push(&judging->arena, &tally->wall, wall_s);
		tally->wall_all_s += outcome->wall_s;
	}
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The least value that a share of `share` does not exceed; NAN for none. */
static double quantile(const struct seconds_list *list, double share)
{
	if (list->count == 0)
		return NAN;
	qsort(list->at, list->count, sizeof *list->at, compare_doubles);
	double rank = ceil(share * (double)list->count);
	return list->at[rank < 1 ? 0 : (size_t)rank - 1];
}

static struct tally tally_over(struct judging *judging, enum rule rule, const char *workload, const char *load,
                               double effect_percent, enum subject subject)
{
	struct tally tally = {0};
	for (size_t i = 0; i < judging->cells.count; i++) {
		const struct cell *cell = judging->cells.at[i];
		if ((!workload || strcmp(cell->workload, workload) == 0) && (!load || strcmp(cell->load, load) == 0) &&
		    cell->effect_percent == effect_percent && cell->subject == subject)
			tally_add(judging, &tally, cell, rule);
	}
	return tally;
}

/* ---- words -------------------------------------------------------------------------------------------------------------- */

static const char *share_text(struct judging *judging, unsigned hits, unsigned trials)
{
	if (trials == 0)
		return "–";
	double low, high;
	stat_binomial_interval(hits, trials, 0.05, &low, &high);
	return arena_printf(&judging->arena, "%.1f %% [%.1f, %.1f]", 100.0 * hits / trials, 100 * low, 100 * high);
}

static const char *percent_text(struct judging *judging, unsigned hits, unsigned trials)
{
	return trials ? arena_printf(&judging->arena, "%.0f %%", 100.0 * hits / trials) : "–";
}

static const char *seconds_text(struct judging *judging, double seconds)
{
	if (isnan(seconds))
		return "–";
	return isinf(seconds) ? "undecided" : arena_printf(&judging->arena, "%.3f s", seconds);
}

/* ---- tables -------------------------------------------------------------------------------------------------------------- */

static void equal_table(struct judging *judging, const char *load, enum subject subject)
{
	FILE *out = judging->out;
	struct string_list workloads = {0};
	for (size_t i = 0; i < judging->cells.count; i++) {
		const struct cell *cell = judging->cells.at[i];
		if (strcmp(cell->load, load) == 0 && cell->effect_percent == 0 && cell->subject == subject)
			list_push(&judging->arena, &workloads, cell->workload);
	}
	fprintf(out, "| rule | comparisons | says \"differs\" | rate, 95 %% interval | no effect within 1 %% | undecided |");
	for (size_t i = 0; i < workloads.count; i++)
		fprintf(out, " %s |", workloads.at[i]);
	fprintf(out, "\n|---|---|---|---|---|---|");
	for (size_t i = 0; i < workloads.count; i++)
		fprintf(out, "---|");
	fprintf(out, "\n");
	for (int rule = 0; rule < RULES; rule++) {
		struct tally all = tally_over(judging, rule, NULL, load, 0, subject);
		if (all.trials == 0)
			continue;
		fprintf(out, "| %s | %u | %u | %s | %s | %s |", rule_names[rule], all.trials, all.wrong,
		        share_text(judging, all.wrong, all.trials),
		        rule >= RULE_RANKS_95 ? "–" : percent_text(judging, all.no_effect, all.trials),
		        percent_text(judging, all.none, all.trials));
		for (size_t i = 0; i < workloads.count; i++) {
			struct tally one = tally_over(judging, rule, workloads.at[i], load, 0, subject);
			fprintf(out, " %u of %u |", one.wrong, one.trials);
		}
		fprintf(out, "\n");
	}
	struct tally assay = tally_over(judging, RULE_ASSAY, NULL, load, 0, subject);
	fprintf(out, "\nOf assay's \"no effect\", %u had an interval without 0 (\"real but negligible\").\n\n", assay.negligible);
}

static const char *const subject_texts[] = {
    [COPIES] = "Two byte copies of one program",
    [COMMANDS] = "Whole commands of about 10 ms",
    [LAYOUTS_BUILT] = "As built",
    [LAYOUTS_OVER] = "Over layouts: every block links both programs anew",
    [TRUTHS] = "For long",
};

static void equal_tables(struct judging *judging, enum subject subject)
{
	for (int i = 0; i < LOADS; i++) {
		if (tally_over(judging, RULE_ASSAY, NULL, loads[i], 0, subject).trials == 0)
			continue;
		fprintf(judging->out, "### %s, %s\n\n", subject_texts[subject], load_texts[i]);
		equal_table(judging, loads[i], subject);
	}
}

static void equal_section(struct judging *judging)
{
	fprintf(judging->out, "## Equal code: how often a rule says \"differs\"\n\nThe same bytes on both sides, so every "
	                      "\"differs\" is false. The right-hand columns count \"differs\" by workload.\n\n");
	equal_tables(judging, COPIES);
	equal_tables(judging, COMMANDS);
}

static bool subject_any(const struct judging *judging, enum subject subject)
{
	for (size_t i = 0; i < judging->cells.count; i++)
		if (judging->cells.at[i]->subject == subject)
			return true;
	return false;
}

/* How far the layouts of one source lie apart as built: the medians of each layout's estimates. */
static void layouts_spread(struct judging *judging, const struct cell *cell)
{
	double least = INFINITY, largest = -INFINITY;
	unsigned layouts = 0;
	for (int layout = 1; layout < 100; layout++) {
		struct seconds_list own = {0};
		for (size_t t = 0; t < cell->trials.count; t++)
			if (cell->layout_numbers.at[t] == layout && cell->trials.at[t].blocks)
				list_push(&judging->arena, &own, cell->trials.at[t].estimate);
		if (own.count == 0)
			continue;
		double median = stat_median(own.at, own.count);
		layouts++;
		least = fmin(least, median);
		largest = fmax(largest, median);
	}
	fprintf(judging->out, "| %s | %s | %u | %+.2f %% | %+.2f %% |\n", cell->workload, cell->load, layouts + 1,
	        100 * expm1(least), 100 * expm1(largest));
}

static void layouts_section(struct judging *judging)
{
	if (!subject_any(judging, LAYOUTS_BUILT) && !subject_any(judging, LAYOUTS_OVER))
		return;
	fprintf(judging->out, "## The same source in other layouts\n\nOne source, with other bytes in front of its code and data "
	                      "on the candidate's side. As built, \"differs\" may be true of the two programs, and says nothing "
	                      "about the source. Over layouts it is false.\n\n");
	equal_tables(judging, LAYOUTS_BUILT);
	equal_tables(judging, LAYOUTS_OVER);
	if (!subject_any(judging, LAYOUTS_BUILT))
		return;
	fprintf(judging->out, "As built, against layout 0:\n\n| workload | load | layouts | least | largest |\n|---|---|---|---|---|\n");
	for (size_t c = 0; c < judging->cells.count; c++)
		if (judging->cells.at[c]->subject == LAYOUTS_BUILT)
			layouts_spread(judging, judging->cells.at[c]);
	fprintf(judging->out, "\n");
}

/* Is more work as much more time? Measured for long, apart from all other recordings. */
static void truth_section(struct judging *judging)
{
	fprintf(judging->out, "## Is the truth true?\n\nEffects are more steps of the same work, told to byte copies of one program "
	                      "when it is started (`bench/more.h`); so the same share of more time. Measured for long, with other "
	                      "seeds and apart from all other recordings:\n\n");
	if (!subject_any(judging, TRUTHS)) {
		fprintf(judging->out, "Not measured: `eval_verdicts record %s --kind truth` does.\n\n", judging->dir);
		return;
	}
	fprintf(judging->out, "| workload | load | more steps | recordings | blocks, median | more time, median [99 %% interval] of each |\n"
	                      "|---|---|---|---|---|---|\n");
	for (size_t c = 0; c < judging->cells.count; c++) {
		const struct cell *cell = judging->cells.at[c];
		if (cell->subject != TRUTHS)
			continue;
		struct string_list each = {0};
		struct seconds_list blocks = {0};
		for (size_t t = 0; t < cell->trials.count; t++) {
			const struct replayed *trial = &cell->trials.at[t];
			const struct outcome *fixed = &trial->rules[RULE_BLOCKS_99];
			list_push(&judging->arena, &blocks, (double)trial->blocks);
			list_push(&judging->arena, &each, (const char *)arena_printf(&judging->arena, "%+.2f %% [%+.2f, %+.2f]", 100 * expm1(trial->estimate),
			                                                100 * expm1(fixed->low), 100 * expm1(fixed->high)));
		}
		fprintf(judging->out, "| %s | %s | %g %% | %zu | %.0f | %s |\n", cell->workload, cell->load, cell->effect_percent,
		        cell->trials.count, quantile(&blocks, 0.5), text_join(&judging->arena, &each, "; "));
	}
	fprintf(judging->out, "\n");
}

/* The effects above 0 that were recorded under a load, ascending; all workloads together. */
static struct seconds_list effects_of(struct judging *judging, const char *load, enum subject subject)
{
	struct seconds_list effects = {0};
	for (size_t i = 0; i < judging->cells.count; i++) {
		const struct cell *cell = judging->cells.at[i];
		bool known = cell->effect_percent == 0 || cell->subject != subject || strcmp(cell->load, load) != 0;
		for (size_t k = 0; k < effects.count; k++)
			known = known || effects.at[k] == cell->effect_percent;
		if (!known)
			list_push(&judging->arena, &effects, cell->effect_percent);
	}
	return effects;
}

static void power_table(struct judging *judging, const char *load, enum subject subject, const struct seconds_list *effects)
{
	FILE *out = judging->out;
	fprintf(out, "| rule |");
	for (size_t k = 0; k < effects->count; k++)
		fprintf(out, " %g %% (%u trials) |", effects->at[k],
		        tally_over(judging, RULE_ASSAY, NULL, load, effects->at[k], subject).trials);
	fprintf(out, "\n|---|");
	for (size_t k = 0; k < effects->count; k++)
		fprintf(out, "---|");
	fprintf(out, "\n");
	for (int rule = 0; rule < RULES; rule++) {
		unsigned trials = 0;
		for (size_t k = 0; k < effects->count; k++)
			trials += tally_over(judging, rule, NULL, load, effects->at[k], subject).trials;
		if (trials == 0)
			continue;
		fprintf(out, "| %s |", rule_names[rule]);
		for (size_t k = 0; k < effects->count; k++) {
			struct tally tally = tally_over(judging, rule, NULL, load, effects->at[k], subject);
			fprintf(out, " %s / %s / %u |", percent_text(judging, tally.right, tally.trials),
			        rule >= RULE_RANKS_95 ? "–" : percent_text(judging, tally.no_effect, tally.trials), tally.wrong);
		}
		fprintf(out, "\n");
	}
	fprintf(out, "\n");
}

static void power_section(struct judging *judging)
{
	fprintf(judging->out, "## Known effects: how often a rule finds them\n\nThe candidate does so much more work. Each field: "
	                      "says \"slower\" / says \"no effect within 1 %%\" / how many are wrong (\"faster\", or \"no effect\" of "
	                      "more than 1 %%). All workloads together; assay's time by workload is below.\n\n");
	for (int subject = COPIES; subject <= COMMANDS; subject++)
		for (int i = 0; i < LOADS; i++) {
			struct seconds_list effects = effects_of(judging, loads[i], (enum subject)subject);
			if (effects.count == 0)
				continue;
			fprintf(judging->out, "### %s, %s\n\n", subject_texts[subject], load_texts[i]);
			power_table(judging, loads[i], (enum subject)subject, &effects);
		}
}

/* hyperfine's and assay's time for the share of right verdicts that both reach. */
static const char *time_ratio(struct judging *judging, const struct cell *cell, const struct tally *assay)
{
	double right = assay->trials ? (double)assay->right / assay->trials : 0, best = 0;
	double shares[PREFIXES], times[PREFIXES];
	for (int i = 0; i < PREFIXES; i++) {
		unsigned trials = 0, hits = 0;
		times[i] = 0;
		for (size_t t = 0; t < cell->trials.count; t++) {
			const struct outcome *outcome = &cell->trials.at[t].hyperfine_prefix[i];
			trials += outcome->present;
			hits += outcome->present && outcome->claim == CLAIM_SLOWER;
			times[i] += outcome->wall_s;
		}
		shares[i] = trials ? (double)hits / trials : 0;
		times[i] = trials ? times[i] / trials : 0;
		best = fmax(best, shares[i]);
	}
	double share = fmin(best, right);
	if (cell->effect_percent <= 0 || times[0] <= 0)
		return "–";
	/* What it finds in fewer than half of the trials it finds by chance, and sooner or later means nothing. */
	if (share < 0.5)
		return arena_printf(&judging->arena, "undefined: hyperfine finds it in %.0f %%, assay in %.0f %%", 100 * best,
		                    100 * right);
	int i = 0;
	while (shares[i] < share)
		i++;
	struct seconds_list to_right = {0};
	for (size_t t = 0; t < cell->trials.count; t++) {
		const struct outcome *outcome = &cell->trials.at[t].rules[RULE_ASSAY];
		list_push(&judging->arena, &to_right, outcome->claim == CLAIM_SLOWER ? outcome->wall_s : INFINITY);
	}
	double own = quantile(&to_right, share);
	return arena_printf(&judging->arena, "%.1f (%.2f s against %.2f s, at %.0f %% power)", times[i] / own, times[i], own,
	                    100 * share);
}

static void time_section(struct judging *judging)
{
	FILE *out = judging->out;
	fprintf(out, "## assay's time to its verdict\n\nMeasured is the time inside samples, wall the time from the call on: "
	             "starts of processes, warming up and priming included, the control not. Undecided trials count as longer than "
	             "all others. The last column compares hyperfine's rule on whole processes of about 10 ms at the least number "
	             "of runs that reaches the same share of right verdicts.\n\n"
	             "| workload | more work | load | trials | budget | decided | right | blocks, median | measured: median | 95th "
	             "percentile | wall: median | 95th percentile | hyperfine's wall time / assay's |\n"
	             "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < judging->cells.count; i++) {
		const struct cell *cell = judging->cells.at[i];
		struct tally tally = {0};
		struct seconds_list blocks = {0};
		if (cell->subject == TRUTHS)
			continue;
		tally_add(judging, &tally, cell, RULE_ASSAY);
		for (size_t t = 0; t < cell->trials.count; t++)
			list_push(&judging->arena, &blocks, (double)cell->trials.at[t].blocks);
		static const char *const words[] = {"", ", command", "layouts, as built", "layouts, over", ""};
		fprintf(out, "| %s | %s%s | %s | %u | %g s | %s | %s | %.0f | %s | %s | %s | %s | %s |\n", cell->workload,
		        cell->subject >= LAYOUTS_BUILT ? "" : arena_printf(&judging->arena, "%g %%", cell->effect_percent),
		        words[cell->subject], cell->load,
		        tally.trials, cell->seconds, percent_text(judging, tally.trials - tally.none, tally.trials),
		        cell->effect_percent > 0 ? percent_text(judging, tally.right, tally.trials) : "–", quantile(&blocks, 0.5),
		        seconds_text(judging, quantile(&tally.measured, 0.5)), seconds_text(judging, quantile(&tally.measured, 0.95)),
		        seconds_text(judging, quantile(&tally.wall, 0.5)), seconds_text(judging, quantile(&tally.wall, 0.95)),
		        cell->subject >= LAYOUTS_BUILT ? "–" : time_ratio(judging, cell, &tally));
	}
	fprintf(out, "\n");
}

static void coverage_section(struct judging *judging)
{
	static const enum rule rules[] = {RULE_ASSAY, RULE_BLOCKS_99, RULE_PAIRS_95, RULE_WELCH_95, RULE_WELCH_99, RULE_POOP};
	FILE *out = judging->out;
	fprintf(out, "## Intervals: how often they hold the truth\n\nFirst against the work that was injected, then against the "
	             "median of all interleaved estimates of the row. Of the intervals that are finite, at the moment of the verdict.\n\n"
	             "| workload | more work | load | all estimates' median |");
	for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
		fprintf(out, " %s |", rule_names[rules[r]]);
	fprintf(out, "\n|---|---|---|---|");
	for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
		fprintf(out, "---|");
	fprintf(out, "\n");
	for (size_t i = 0; i < judging->cells.count; i++) {
		const struct cell *cell = judging->cells.at[i];
		if (cell->subject >= LAYOUTS_BUILT)
			continue;
		fprintf(out, "| %s | %g %%%s | %s | %+.3f %% |", cell->workload, cell->effect_percent,
		        cell->subject == COMMANDS ? ", command" : "", cell->load,
		        100 * expm1(cell_pooled(cell)));
		for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
			struct tally tally = {0};
			tally_add(judging, &tally, cell, rules[r]);
			fprintf(out, " %s, %s of %u |", percent_text(judging, tally.covered, tally.intervals),
			        percent_text(judging, tally.covered_pooled, tally.intervals), tally.intervals);
		}
		fprintf(out, "\n");
	}
	fprintf(out, "\n");
}

/* ---- the real hyperfine ---------------------------------------------------------------------------------------------- */

static int is_hyperfine(const struct dirent *entry)
{
	return text_ends(entry->d_name, ".hyperfine.json");
}

static struct moments moments_of_json(struct arena *arena, const json_t *result)
{
	const json_t *times = json_object_get(result, "times");
	size_t count = json_array_size(times);
	double *values = arena_alloc(arena, (count + 1) * sizeof *values);
	for (size_t i = 0; i < count; i++)
		values[i] = json_number_value(json_array_get(times, i));
	return moments_of(values, count);
}

/* The last column of the slower command's row: "1.02 ± 0.05"; the faster one's is 1.00 alone. */
static bool relative_read(const char *path, double *ret_ratio, double *ret_sigma)
{
	FILE *file = fopen(path, "re");
	char line[4096];
	bool found = false;
	while (file && fgets(line, sizeof line, file)) {
		char *end = strrchr(line, '|');
		if (end)
			*end = '\0';
		char *column = end ? strrchr(line, '|') : NULL;
		double ratio, sigma;
		if (column && sscanf(column, "| %lf ± %lf", &ratio, &sigma) == 2) {
			*ret_ratio = ratio;
			*ret_sigma = sigma;
			found = true;
		}
	}
	if (file)
		fclose(file);
	return found;
}

static void hyperfine_section(struct judging *judging)
{
	struct dirent **entries;
	int count = scandir(judging->dir, &entries, is_hyperfine, alphasort);
	unsigned compared = 0, equal = 0, skipped = 0;
	double worst = 0;
	for (int i = 0; i < count; i++) {
		struct arena scratch;
		arena_init(&scratch);
		const char *path = arena_printf(&scratch, "%s/%s", judging->dir, entries[i]->d_name);
		json_t *root = json_load_file(path, 0, NULL);
		const json_t *results = json_object_get(root, "results");
		double printed_ratio, printed_sigma;
		const char *table = arena_printf(&scratch, "%.*smd", (int)(strlen(path) - 4), path);
		if (json_array_size(results) == 2 && relative_read(table, &printed_ratio, &printed_sigma)) {
			struct moments own[2];
			double gap = 0;
			for (int k = 0; k < 2; k++) {
				const json_t *result = json_array_get(results, (size_t)k);
				own[k] = moments_of_json(&scratch, result);
				double mean = json_number_value(json_object_get(result, "mean"));
				double deviation = json_number_value(json_object_get(result, "stddev"));
				gap = fmax(gap, fabs(own[k].mean / mean - 1));
				gap = fmax(gap, fabs(own[k].deviation / deviation - 1));
			}
			struct speed_ratio ratio = hyperfine_ratio(own[0], own[1]);
			/* It prints two decimals. */
			equal += gap < 1e-9 && fabs(ratio.ratio - printed_ratio) < 0.0051 && fabs(ratio.sigma - printed_sigma) < 0.0051;
			worst = fmax(worst, gap);
			compared++;
		} else {
			skipped++;
		}
		json_decref(root);
		arena_release(&scratch);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	fprintf(judging->out, "## hyperfine itself\n\n");
	if (compared == 0) {
		fprintf(judging->out, "It was not run: no recording has its results.\n\n");
		return;
	}
	fprintf(judging->out, "The real hyperfine ran in %u trials. From the times that it exports, the rule as written here gives "
	                      "its means and deviations (largest relative gap %.1e) and the \"ratio ± sigma\" that it prints in "
	                      "%u of %u.%s\n\n", compared, worst, equal, compared,
	        skipped ? arena_printf(&judging->arena, " %u exports could not be read.", skipped) : "");
}

/* ---- goals ---------------------------------------------------------------------------------------------------------------- */

static void goal(struct judging *judging, const char *load, const char *text, bool known, bool reached, const char *figure)
{
	fprintf(judging->out, "| %s | %s | %s | %s |\n", load, text, !known ? "not measured" : reached ? "reached" : "**not reached**",
	        known ? figure : "–");
}

/* The median over a row's trials of how far half of their blocks lie from the trial's median. */
static double cell_scatter(struct judging *judging, const struct cell *cell)
{
	struct seconds_list scatter = {0};
	for (size_t i = 0; i < cell->trials.count; i++)
		if (cell->trials.at[i].blocks)
			list_push(&judging->arena, &scatter, cell->trials.at[i].scatter);
	return quantile(&scatter, 0.5);
}

/* Each workload's part in a goal, and what explains it: how much its blocks scatter, and how many there were. */
static const char *by_workload(struct judging *judging, enum rule rule, const char *load, double effect_percent,
                               enum subject subject)
{
	struct arena *arena = &judging->arena;
	struct string_list parts = {0};
	for (size_t i = 0; i < judging->cells.count; i++) {
		const struct cell *cell = judging->cells.at[i];
		if (cell->subject != subject || cell->effect_percent != effect_percent || strcmp(cell->load, load) != 0)
			continue;
		struct tally tally = {0};
		struct seconds_list blocks = {0};
		tally_add(judging, &tally, cell, rule);
		for (size_t t = 0; t < cell->trials.count; t++)
			list_push(arena, &blocks, (double)cell->trials.at[t].blocks);
		list_push(arena, &parts,
		          (const char *)arena_printf(
		              arena, "%s: %s %s of %u, median %s (95th percentile %s), wall %s (%s); half of its %.0f blocks lie within %.2f %% of "
		              "their median", cell->workload, effect_percent > 0 ? "power" : "no effect",
		              percent_text(judging, effect_percent > 0 ? tally.right : tally.no_effect, tally.trials), tally.trials,
		              seconds_text(judging, quantile(&tally.measured, 0.5)), seconds_text(judging, quantile(&tally.measured, 0.95)),
		              seconds_text(judging, quantile(&tally.wall, 0.5)), seconds_text(judging, quantile(&tally.wall, 0.95)),
		              quantile(&blocks, 0.5), 100 * expm1(cell_scatter(judging, cell))));
	}
	return text_join(arena, &parts, "<br>");
}

/* What a goal about power asks of every workload that was recorded for it; wall clock in place of measured time for commands. */
struct power_goal {
	const char *text;
	enum rule rule;
	enum subject subject;
	double effect_percent, median_s, late_s;
	bool wall;
};

static bool power_reached(struct judging *judging, const struct power_goal *wanted, const char *load)
{
	bool reached = true;
	for (size_t i = 0; i < judging->cells.count; i++) {
		const struct cell *cell = judging->cells.at[i];
		if (cell->subject != wanted->subject || cell->effect_percent != wanted->effect_percent || strcmp(cell->load, load) != 0)
			continue;
		struct tally tally = {0};
		tally_add(judging, &tally, cell, wanted->rule);
		struct seconds_list *times = wanted->wall ? &tally.wall : &tally.measured;
		reached = reached && tally.right >= 0.95 * tally.trials && quantile(times, 0.5) <= wanted->median_s &&
		          quantile(times, 0.95) <= wanted->late_s;
	}
	return reached;
}

static void power_goals(struct judging *judging, const char *load)
{
	static const struct power_goal wanted[] = {
	    {"1 % found with 95 % power, measured 0.1 s (median) and 1 s (95th percentile)", RULE_ASSAY, COPIES, 1, 0.1, 1, false},
	    {"0.2 % of code that stays in registers and L1 found with 95 % power, measured 2 s (95th percentile), margin 0.1 %",
	     RULE_ASSAY_FINE, COPIES, 0.2, 2, 2, false},
	    {"5 % of commands of 10 ms found with 95 % power in 5 s of wall clock", RULE_ASSAY, COMMANDS, 5, 5, 5, true},
	};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		goal(judging, load, wanted[i].text,
		     tally_over(judging, wanted[i].rule, NULL, load, wanted[i].effect_percent, wanted[i].subject).trials > 0,
		     power_reached(judging, &wanted[i], load),
		     by_workload(judging, wanted[i].rule, load, wanted[i].effect_percent, wanted[i].subject));
}

/* The least number of blocks that decide at the alpha of the replay. */
static unsigned blocks_least(void)
{
	unsigned n = 1;
	while (cseq_k(n, REPLAY_ALPHA, -1) < 0)
		n++;
	return n;
}

static const char *false_text(struct judging *judging, const struct tally *tally)
{
	return arena_printf(&judging->arena, "%u of %u, %s; %u of them had the %u blocks that a verdict takes, %u ended undecided",
	                    tally->wrong, tally->trials, share_text(judging, tally->wrong, tally->trials), tally->intervals,
	                    blocks_least(), tally->none);
}

static void equal_goals(struct judging *judging, const char *load)
{
	struct tally equal = tally_over(judging, RULE_ASSAY, NULL, load, 0, COPIES);
	bool loaded = strcmp(load, "twice") == 0;
	/* A trial that had too few blocks to decide anything shows nothing about false verdicts. */
	goal(judging, load, loaded ? "false verdicts at most 1 % over at least 1,000 comparisons of equal code"
	                           : "false verdicts at most 1 %", equal.trials > 0,
	     equal.intervals >= (loaded ? 1000u : 1u) && (double)equal.wrong <= 0.01 * equal.intervals,
	     false_text(judging, &equal));
	goal(judging, load, "\"no effect within 1 %\" of equal code, measured 0.2 s (median)", equal.trials > 0,
	     quantile(&equal.measured, 0.5) <= 0.2, by_workload(judging, RULE_ASSAY, load, 0, COPIES));
	struct tally over = tally_over(judging, RULE_ASSAY, NULL, load, 0, LAYOUTS_OVER);
	goal(judging, load, "the same source in 16 layouts, judged over layouts: at most 1 % \"differs\"", over.trials > 0,
	     over.intervals > 0 && (double)over.wrong <= 0.01 * over.intervals, false_text(judging, &over));
}

static void sound_goals(struct judging *judging)
{
	unsigned open = 0, bounded = 0, failed = 0;
	for (size_t c = 0; c < judging->cells.count; c++)
		for (size_t t = 0; t < judging->cells.at[c]->trials.count; t++) {
			const struct outcome *outcome = &judging->cells.at[c]->trials.at[t].rules[RULE_ASSAY];
			bool none = outcome->present && outcome->claim == CLAIM_NONE;
			open += none;
			bounded += none && isfinite(outcome->low) && isfinite(outcome->high);
			failed += judging->cells.at[c]->trials.at[t].failed;
		}
	goal(judging, "all", "every \"inconclusive\" says what it excludes", open > 0, bounded == open,
	     arena_printf(&judging->arena, "%u of %u had a finite interval; the others had fewer than the %u blocks that it takes",
	                  bounded, open, blocks_least()));
	goal(judging, "all", "no sound program is called \"failed\"", true, failed == 0,
	     arena_printf(&judging->arena, "%u of %u measurements", failed, judging->recordings));
}

static void goals_section(struct judging *judging)
{
	fprintf(judging->out, "## Goals\n\nWritten from the recordings. A goal about time and power is reached when every workload reaches it. "
	                      "\"Measured\" is time inside of samples, \"wall\" is the user's time from the call to the verdict. What "
	                      "explains a goal that is missed is how far blocks scatter: an interval can't be narrower than that allows "
	                      "in the budget of the table below.\n\n| load | goal | | figure |\n|---|---|---|---|\n");
	equal_goals(judging, "twice");
	power_goals(judging, "twice");
	equal_goals(judging, "none");
	power_goals(judging, "none");
	sound_goals(judging);
	fprintf(judging->out, "\n");
}

/* ---- the frame -------------------------------------------------------------------------------------------------------------- */

static const char *json_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text ? text : "unknown";
}

static void sessions_section(struct judging *judging)
{
	FILE *file = fopen(arena_printf(&judging->arena, "%s/sessions.jsonl", judging->dir), "re");
	char line[16384];
	const char *described = "";
	while (file && fgets(line, sizeof line, file)) {
		json_t *session = json_loads(line, 0, NULL);
		if (!session)
			continue;
		const char *text = arena_printf(
		    &judging->arena, "%s, %lld CPUs, %s, %s, clock %s, %s, programs built with -O2 and kept in %s", json_text(session, "cpu"),
		    (long long)json_integer_value(json_object_get(session, "cpus")), json_text(session, "system"),
		    json_text(session, "kernel"), json_text(session, "clock"), json_text(session, "compiler"),
		    json_text(session, "programs_in"));
		if (strcmp(text, described) != 0)
			fprintf(judging->out, "%s%s.\n\n", *described ? "Then on: " : "", text);
		described = text;
		fprintf(judging->out, "- %s: `%s` (load average %.1f before)\n", json_text(session, "date"),
		        json_text(session, "command"), json_number_value(json_object_get(session, "load_average")));
		json_decref(session);
	}
	if (file)
		fclose(file);
	fprintf(judging->out, "\n");
}

static void notes_section(struct judging *judging)
{
	fputs("## How to read this\n\n"
	        "- Every trial records the same two programs, each time with the same budget of wall clock: by assay's own `measure()`; "
	        "in every n-th trial right after that one process a side, all of A before all of B; in every n-th whole processes of "
	        "about 10 ms, all of A before all of B, at least 10 a side. The rules are replayed on what was recorded.\n"
	        "- assay pins its processes to the CPU that it chooses; the peers' samples are not pinned, as those tools don't.\n"
	        "- Replaying stops assay's rule at its first decision. Its control (the baseline against its own copy, once for a "
	        "workload) is not in these times, and a control that differs would have refused some of these verdicts.\n"
	        "- Rules for a fixed number of values are judged as they are used: an interval or a p value that excludes 0 is "
	        "\"differs\", however small. poop's rule and assay's ask for 1 % in their own ways.\n"
	        "- hyperfine prints its ratio and leaves the verdict to the reader; \"differs\" here means that 1 lies outside ratio "
	        "± sigma.\n"
	        "- Rates carry exact 95 % intervals (Clopper and Pearson 1934).\n",
	        judging->out);
}

enum status judge_folder(const char *dir, const char *command, FILE *out, struct err *err)
{
	struct judging judging = {.out = out, .dir = dir};
	arena_init(&judging.arena);
	enum status status = recordings_read(&judging, err);
	if (status == ST_OK) {
		char date[32];
		time_t now = time(NULL);
		strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
		fprintf(out, "# Verdicts of assay and of what is used today, on the same recorded work\n\n"
		             "Written by `%s` on %s from %u recordings; do not edit. Made on:\n\n", command, date, judging.recordings);
		sessions_section(&judging);
		goals_section(&judging);
		equal_section(&judging);
		power_section(&judging);
		time_section(&judging);
		coverage_section(&judging);
		truth_section(&judging);
		layouts_section(&judging);
		hyperfine_section(&judging);
		overhead_section(dir, out);
		notes_section(&judging);
	}
	arena_release(&judging.arena);
	return status;
}
