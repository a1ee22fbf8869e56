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

/* All trials of one workload, effect and load. Layouts of one source are one cell a workload and load. */
struct cell {
	const char *workload, *load;
	double effect_percent, seconds;
	bool layouts;
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
	if (x->layouts != y->layouts)
		return x->layouts - y->layouts;
	if (x->effect_percent != y->effect_percent)
		return x->effect_percent < y->effect_percent ? -1 : 1;
	return by_load ? by_load : by_workload;
}

static struct cell *cell_of(struct judging *judging, const struct recording *recording)
{
	bool layouts = recording->layout != NO_LAYOUT;
	for (size_t i = 0; i < judging->cells.count; i++) {
		struct cell *cell = judging->cells.at[i];
		if (strcmp(cell->workload, recording->workload) == 0 && strcmp(cell->load, recording->load) == 0 &&
		    cell->effect_percent == recording->effect_percent && cell->layouts == layouts)
			return cell;
	}
	struct cell *cell = arena_new(&judging->arena, struct cell);
	cell->workload = arena_strdup(&judging->arena, recording->workload);
	cell->load = arena_strdup(&judging->arena, recording->load);
	cell->effect_percent = recording->effect_percent;
	cell->seconds = recording->seconds;
	cell->layouts = layouts;
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
                               double effect_percent, bool layouts)
{
	struct tally tally = {0};
	for (size_t i = 0; i < judging->cells.count; i++) {
		const struct cell *cell = judging->cells.at[i];
		if ((!workload || strcmp(cell->workload, workload) == 0) && (!load || strcmp(cell->load, load) == 0) &&
		    cell->effect_percent == effect_percent && cell->layouts == layouts)
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

static void equal_table(struct judging *judging, const char *load, bool layouts)
{
	FILE *out = judging->out;
	struct string_list workloads = {0};
	for (size_t i = 0; i < judging->cells.count; i++) {
		const struct cell *cell = judging->cells.at[i];
		if (strcmp(cell->load, load) == 0 && cell->effect_percent == 0 && cell->layouts == layouts)
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
		struct tally all = tally_over(judging, rule, NULL, load, 0, layouts);
		if (all.trials == 0)
			continue;
		fprintf(out, "| %s | %u | %u | %s | %s | %s |", rule_names[rule], all.trials, all.wrong,
		        share_text(judging, all.wrong, all.trials),
		        rule >= RULE_RANKS_95 ? "–" : percent_text(judging, all.no_effect, all.trials),
		        percent_text(judging, all.none, all.trials));
		for (size_t i = 0; i < workloads.count; i++) {
			struct tally one = tally_over(judging, rule, workloads.at[i], load, 0, layouts);
			fprintf(out, " %u of %u |", one.wrong, one.trials);
		}
		fprintf(out, "\n");
	}
	struct tally assay = tally_over(judging, RULE_ASSAY, NULL, load, 0, layouts);
	fprintf(out, "\nOf assay's \"no effect\", %u had an interval without 0 (\"real but negligible\").\n\n", assay.negligible);
}

static void equal_section(struct judging *judging)
{
	fprintf(judging->out, "## Equal code: how often a rule says \"differs\"\n\nTwo byte copies of one program. The right-hand "
	                      "columns count \"differs\" by workload.\n\n");
	for (int i = 0; i < LOADS; i++) {
		if (tally_over(judging, RULE_ASSAY, NULL, loads[i], 0, false).trials == 0)
			continue;
		fprintf(judging->out, "### With %s\n\n", load_texts[i]);
		equal_table(judging, loads[i], false);
	}
}

static void layouts_section(struct judging *judging)
{
	bool any = false;
	for (int i = 0; i < LOADS; i++) {
		if (tally_over(judging, RULE_ASSAY, NULL, loads[i], 0, true).trials == 0)
			continue;
		if (!any)
			fprintf(judging->out, "## The same source in other layouts\n\nPads and another link order move the code; the source "
			                      "is the same. \"Differs\" is true of the two programs as built, and says nothing about the "
			                      "source.\n\n");
		any = true;
		fprintf(judging->out, "### With %s\n\n", load_texts[i]);
		equal_table(judging, loads[i], true);
		fprintf(judging->out, "| workload | layouts | least against layout 0 | largest |\n|---|---|---|---|\n");
		for (size_t c = 0; c < judging->cells.count; c++) {
			const struct cell *cell = judging->cells.at[c];
			if (!cell->layouts || strcmp(cell->load, loads[i]) != 0)
				continue;
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
			fprintf(judging->out, "| %s | %u | %+.2f %% | %+.2f %% |\n", cell->workload, layouts + 1, 100 * expm1(least),
			        100 * expm1(largest));
		}
		fprintf(judging->out, "\n");
	}
}

/* The effects above 0 that were recorded under a load, ascending; all workloads together. */
static struct seconds_list effects_of(struct judging *judging, const char *load)
{
	struct seconds_list effects = {0};
	for (size_t i = 0; i < judging->cells.count; i++) {
		const struct cell *cell = judging->cells.at[i];
		bool known = cell->effect_percent == 0 || cell->layouts || strcmp(cell->load, load) != 0;
		for (size_t k = 0; k < effects.count; k++)
			known = known || effects.at[k] == cell->effect_percent;
		if (!known)
			list_push(&judging->arena, &effects, cell->effect_percent);
	}
	return effects;
}

static void power_section(struct judging *judging)
{
	FILE *out = judging->out;
	bool any = false;
	for (int i = 0; i < LOADS; i++) {
		struct seconds_list effects = effects_of(judging, loads[i]);
		if (effects.count == 0)
			continue;
		if (!any)
			fprintf(out, "## Known effects: how often a rule finds them\n\nThe candidate does so much more work. Each field: "
			             "says \"slower\" / says \"no effect within 1 %%\" / is wrong (says \"faster\", or \"no effect\" of "
			             "more than 1 %%). All workloads together.\n\n");
		any = true;
		fprintf(out, "### With %s\n\n| rule |", load_texts[i]);
		for (size_t k = 0; k < effects.count; k++)
			fprintf(out, " %g %% (%u trials) |", effects.at[k],
			        tally_over(judging, RULE_ASSAY, NULL, loads[i], effects.at[k], false).trials);
		fprintf(out, "\n|---|");
		for (size_t k = 0; k < effects.count; k++)
			fprintf(out, "---|");
		fprintf(out, "\n");
		for (int rule = 0; rule < RULES; rule++) {
			fprintf(out, "| %s |", rule_names[rule]);
			for (size_t k = 0; k < effects.count; k++) {
				struct tally tally = tally_over(judging, rule, NULL, loads[i], effects.at[k], false);
				fprintf(out, " %s / %s / %u |", percent_text(judging, tally.right, tally.trials),
				        rule >= RULE_RANKS_95 ? "–" : percent_text(judging, tally.no_effect, tally.trials), tally.wrong);
			}
			fprintf(out, "\n");
		}
		fprintf(out, "\n");
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
		tally_add(judging, &tally, cell, RULE_ASSAY);
		for (size_t t = 0; t < cell->trials.count; t++)
			list_push(&judging->arena, &blocks, (double)cell->trials.at[t].blocks);
		fprintf(out, "| %s | %s | %s | %u | %g s | %s | %s | %.0f | %s | %s | %s | %s | %s |\n", cell->workload,
		        cell->layouts ? "layouts" : arena_printf(&judging->arena, "%g %%", cell->effect_percent), cell->load,
		        tally.trials, cell->seconds, percent_text(judging, tally.trials - tally.none, tally.trials),
		        cell->effect_percent > 0 ? percent_text(judging, tally.right, tally.trials) : "–", quantile(&blocks, 0.5),
		        seconds_text(judging, quantile(&tally.measured, 0.5)), seconds_text(judging, quantile(&tally.measured, 0.95)),
		        seconds_text(judging, quantile(&tally.wall, 0.5)), seconds_text(judging, quantile(&tally.wall, 0.95)),
		        cell->layouts ? "–" : time_ratio(judging, cell, &tally));
	}
	fprintf(out, "\n");
}

static void coverage_section(struct judging *judging)
{
	static const enum rule rules[] = {RULE_ASSAY, RULE_BLOCKS_99, RULE_PAIRS_95, RULE_WELCH_95, RULE_WELCH_99, RULE_POOP};
	FILE *out = judging->out;
	fprintf(out, "## Intervals: how often they hold the truth\n\nFirst against the work that was injected, then against the "
	             "median of all interleaved estimates of the row (more work need not take more time in the same proportion: "
	             "only alu's does by construction). Of the intervals that are finite, at the moment of the verdict.\n\n"
	             "| workload | more work | load | all estimates' median |");
	for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
		fprintf(out, " %s |", rule_names[rules[r]]);
	fprintf(out, "\n|---|---|---|---|");
	for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
		fprintf(out, "---|");
	fprintf(out, "\n");
	for (size_t i = 0; i < judging->cells.count; i++) {
		const struct cell *cell = judging->cells.at[i];
		if (cell->layouts)
			continue;
		fprintf(out, "| %s | %g %% | %s | %+.3f %% |", cell->workload, cell->effect_percent, cell->load,
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

static void goal(struct judging *judging, const char *text, bool known, bool reached, const char *figure)
{
	fprintf(judging->out, "| %s | %s | %s |\n", text, !known ? "not measured" : reached ? "reached" : "**not reached**",
	        known ? figure : "–");
}

static void goals_section(struct judging *judging)
{
	struct arena *arena = &judging->arena;
	fprintf(judging->out, "## Goals\n\nOn a machine loaded to twice its CPUs, by measured time unless wall is said; the tables "
	                      "below have the rest.\n\n| goal | | figure |\n|---|---|---|\n");
	struct tally equal = tally_over(judging, RULE_ASSAY, NULL, "twice", 0, false);
	/* A trial that had too few blocks to decide anything shows nothing about false verdicts. */
	goal(judging, "false verdicts at most 1 % over at least 1,000 comparisons of equal code", equal.trials > 0,
	     equal.intervals >= 1000 && (double)equal.wrong <= 0.01 * equal.intervals,
	     arena_printf(arena, "%u of %u, %s; %u of them had the 19 blocks that a verdict takes, %u ended undecided", equal.wrong,
	                  equal.trials, share_text(judging, equal.wrong, equal.trials), equal.intervals, equal.none));
	double no_effect = quantile(&equal.measured, 0.5);
	goal(judging, "\"no effect within 1 %\" of equal code in 0.2 s (median)", equal.trials > 0, no_effect <= 0.2,
	     arena_printf(arena, "%s, wall %s", seconds_text(judging, no_effect),
	                  seconds_text(judging, quantile(&equal.wall, 0.5))));
	struct tally one = tally_over(judging, RULE_ASSAY, NULL, "twice", 1, false);
	double median = quantile(&one.measured, 0.5), late = quantile(&one.measured, 0.95);
	goal(judging, "1 % found with 95 % power, in 0.1 s (median) and 1 s (95th percentile)", one.trials > 0,
	     one.right >= 0.95 * one.trials && median <= 0.1 && late <= 1,
	     arena_printf(arena, "power %s of %u, median %s, 95th percentile %s; wall %s and %s",
	                  percent_text(judging, one.right, one.trials), one.trials, seconds_text(judging, median),
	                  seconds_text(judging, late), seconds_text(judging, quantile(&one.wall, 0.5)),
	                  seconds_text(judging, quantile(&one.wall, 0.95))));
	struct tally fine = tally_over(judging, RULE_ASSAY_FINE, "alu", "twice", 0.2, false);
	double fine_late = quantile(&fine.measured, 0.95);
	goal(judging, "0.2 % of code that stays in registers and L1 found with 95 % power in 2 s (alu, margin 0.1 %)",
	     fine.trials > 0, fine.right >= 0.95 * fine.trials && fine_late <= 2,
	     arena_printf(arena, "power %s of %u, median %s, 95th percentile %s; wall %s and %s",
	                  percent_text(judging, fine.right, fine.trials), fine.trials,
	                  seconds_text(judging, quantile(&fine.measured, 0.5)), seconds_text(judging, fine_late),
	                  seconds_text(judging, quantile(&fine.wall, 0.5)), seconds_text(judging, quantile(&fine.wall, 0.95))));
	goal(judging, "commands of 10 ms: 5 % in 5 s", false, false, "");
	struct tally layouts = {0};
	for (int i = 0; i < LOADS; i++) {
		for (size_t c = 0; c < judging->cells.count; c++)
			if (judging->cells.at[c]->layouts && strcmp(judging->cells.at[c]->load, loads[i]) == 0)
				tally_add(judging, &layouts, judging->cells.at[c], RULE_ASSAY);
	}
	goal(judging, "never \"faster\" for layout alone: the same source in 16 layouts, at most 1 % \"differs\"",
	     layouts.trials > 0, layouts.intervals >= 15 && (double)layouts.wrong <= 0.01 * layouts.intervals,
	     arena_printf(arena, "as built: %u of %u, %s; %u of them had the 19 blocks that a verdict takes", layouts.wrong,
	                  layouts.trials, share_text(judging, layouts.wrong, layouts.trials), layouts.intervals));
	unsigned open = 0, bounded = 0;
	for (size_t c = 0; c < judging->cells.count; c++)
		for (size_t t = 0; t < judging->cells.at[c]->trials.count; t++) {
			const struct outcome *outcome = &judging->cells.at[c]->trials.at[t].rules[RULE_ASSAY];
			bool none = outcome->present && outcome->claim == CLAIM_NONE;
			open += none;
			bounded += none && isfinite(outcome->low) && isfinite(outcome->high);
		}
	goal(judging, "every \"inconclusive\" says what it excludes", open > 0, bounded == open,
	     arena_printf(arena, "%u of %u had a finite interval; the others had fewer than the 19 blocks that it takes", bounded,
	                  open));
	unsigned failed = 0;
	for (size_t c = 0; c < judging->cells.count; c++)
		for (size_t t = 0; t < judging->cells.at[c]->trials.count; t++)
			failed += judging->cells.at[c]->trials.at[t].failed;
	goal(judging, "no sound program is called \"failed\"", true, failed == 0,
	     arena_printf(arena, "%u of %u measurements", failed, judging->recordings));
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
		    &judging->arena, "%s, %lld CPUs, %s, %s, clock %s, %s, programs built with -O2", json_text(session, "cpu"),
		    (long long)json_integer_value(json_object_get(session, "cpus")), json_text(session, "system"),
		    json_text(session, "kernel"), json_text(session, "clock"), json_text(session, "compiler"));
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
		layouts_section(&judging);
		hyperfine_section(&judging);
		overhead_section(dir, out);
		notes_section(&judging);
	}
	arena_release(&judging.arena);
	return status;
}
