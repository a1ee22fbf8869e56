/* Counts verdicts in run documents: engine_tally TRUTH_PERCENT|instructions RUN.json…
 *
 * The truth is the same for all trials that are given: 0 for equal code, 5 for a candidate that does 5 % more work. With
 * "instructions" it is each trial's own ratio of instruction counts, for workloads part of whose work is fixed.
 * Prints one Markdown table row for each workload and one for all: how often a verdict contradicts the truth, how often
 * the interval covers it, how long it took.
 */
#include "base/stat.h"
#include "report/report.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKLOADS_MAX = 32, TRIALS_MAX = 100000 };

struct row {
	const char *workload;
	unsigned trials, faster, slower, no_effect, inconclusive, other;
	unsigned covered, known;
	unsigned controls_loud; /* the control differed: judging was refused */
	double *seconds, *percent;
	double *width; /* half-widths, percent */
};

static struct row *row_of(struct row *rows, size_t *count, const char *workload)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp(rows[i].workload, workload) == 0)
			return &rows[i];
	if (*count == WORKLOADS_MAX) {
		fprintf(stderr, "more than %d workloads\n", WORKLOADS_MAX);
		exit(2);
	}
	rows[*count] = (struct row){.workload = workload,
	                            .seconds = calloc(TRIALS_MAX, sizeof(double)),
	                            .percent = calloc(TRIALS_MAX, sizeof(double)),
	                            .width = calloc(TRIALS_MAX, sizeof(double))};
	return &rows[(*count)++];
}

/* ln(candidate / baseline) by instruction count; NAN: not counted. */
static double truth_counted(const struct trial *trial)
{
	for (size_t i = 0; i < trial->counters.count; i++) {
		const struct counter *counter = &trial->counters.at[i];
		if (strncmp(counter->name, "instructions", strlen("instructions")) == 0 && !counter->unavailable)
			return log(counter->candidate / counter->baseline);
	}
	return NAN;
}

static void row_add(struct row *row, const struct trial *trial, double truth)
{
	if (row->trials == TRIALS_MAX)
		return;
	row->seconds[row->trials++] = trial->seconds;
	switch (trial->verdict) {
	case VERDICT_FASTER:
		row->faster++;
		break;
	case VERDICT_SLOWER:
		row->slower++;
		break;
	case VERDICT_NO_EFFECT:
		row->no_effect++;
		break;
	case VERDICT_INCONCLUSIVE:
		row->inconclusive++;
		break;
	default:
		row->other++;
		break;
	}
	if (trial->control.done && !trial->control.quiet)
		row->controls_loud++;
	if (!trial->effect.known || isinf(trial->effect.low) || isinf(trial->effect.high))
		return;
	row->percent[row->known] = effect_percent(trial->effect.theta);
	row->width[row->known++] = 50 * (trial->effect.high - trial->effect.low);
	row->covered += trial->effect.low <= truth && truth <= trial->effect.high;
}

static void row_print(struct row *row, double truth)
{
	unsigned wrong = truth == 0 ? row->faster + row->slower : truth > 0 ? row->faster : row->slower;
	double low, high;
	stat_binomial_interval(wrong, row->trials, 0.05, &low, &high);
	printf("| %s | %u | %u | %u | %u | %u | %u | %u | %.2f %% [%.2f, %.2f] | %u of %u | %.2f | %.2f | %.1f | %u |\n",
	       row->workload, row->trials, row->faster, row->slower, row->no_effect, row->inconclusive, row->other, wrong,
	       row->trials ? 100.0 * wrong / row->trials : 0.0, 100 * low, 100 * high, row->covered, row->known,
	       stat_median(row->percent, row->known), stat_median(row->width, row->known),
	       stat_median(row->seconds, row->trials), row->controls_loud);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: engine_tally TRUTH_PERCENT|instructions RUN.json...\n");
		return 2;
	}
	setlocale(LC_ALL, "C");
	bool counted = strcmp(argv[1], "instructions") == 0;
	double nominal = counted ? 1 : strtod(argv[1], NULL); /* counted: of an injected slowdown */
	struct arena arena;
	arena_init(&arena);
	struct row rows[WORKLOADS_MAX] = {0};
	size_t count = 0;
	struct row *all = row_of(rows, &count, "all");
	for (int i = 2; i < argc; i++) {
		FILE *file = fopen(argv[i], "r");
		if (!file) {
			perror(argv[i]);
			return 1;
		}
		size_t cap = 64 * 1024 * 1024;
		char *text = malloc(cap);
		size_t size = text ? fread(text, 1, cap, file) : 0;
		fclose(file);
		struct run run;
		struct err err = ERR_INIT;
		if (json_run_read(&arena, text, size, &run, &err) != ST_OK) {
			fprintf(stderr, "%s: %s\n", argv[i], err.text);
			return 1;
		}
		free(text);
		for (size_t t = 0; t < run.trials.count; t++) {
			const struct trial *trial = run.trials.at[t];
			double truth = counted ? truth_counted(trial) : log1p(nominal / 100);
			row_add(row_of(rows, &count, trial->workload ? trial->workload->name : "none"), trial, truth);
			row_add(all, trial, truth);
		}
	}
	printf("| workload | trials | faster | slower | no effect | inconclusive | other | wrong | wrong, 95 %% interval | truth "
	       "covered | median effect %% | median half-width %% | median seconds | control refused |\n");
	printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 1; i < count; i++)
		row_print(&rows[i], nominal);
	row_print(all, nominal);
	return 0;
}
