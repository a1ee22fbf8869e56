#include "cmd/cmd.h"

#include "base/text.h"
#include "port/tree.h"

#include <string.h>

static enum status documents(struct store *store, struct arena *arena, const char *run, enum store_kind kind,
                             struct string_list *ret_list, struct err *err)
{
	struct store_document_list list;
	enum status status = store_documents_get(store, arena, run, kind, &list, err);
	for (size_t i = 0; status == ST_OK && i < list.count; i++)
		list_push(arena, ret_list, list.at[i].json);
	return status;
}

enum status run_from_store(struct store *store, struct arena *arena, const struct store_run *record, struct run *ret_run,
                           struct err *err)
{
	struct json_pieces pieces = {.head = record->head};
	enum status status = documents(store, arena, record->id, STORE_FINDING, &pieces.findings, err);
	if (status == ST_OK)
		status = documents(store, arena, record->id, STORE_HYPOTHESIS, &pieces.hypotheses, err);
	if (status == ST_OK)
		status = documents(store, arena, record->id, STORE_TRIAL, &pieces.trials, err);
	if (status == ST_OK)
		status = documents(store, arena, record->id, STORE_SURVEY, &pieces.surveys, err);
	if (status == ST_OK)
		status = documents(store, arena, record->id, STORE_NOTE, &pieces.notes, err);
	if (status == ST_OK && json_run_join(arena, &pieces, ret_run, err) != ST_OK)
		return err_context(err, "run %s can't be shown", record->id);
	return status;
}

/* A trial that was cut off says how far it came. */
static enum status unfinished_count(struct store *store, struct arena *arena, const struct run *run, struct err *err)
{
	for (size_t i = 0; i < run->trials.count; i++) {
		struct trial *trial = run->trials.at[i];
		if (trial->verdict != VERDICT_NONE)
			continue;
		struct pair_list pairs, control;
		enum status status = store_pairs_get(store, arena, run->id, trial->id, false, &pairs, err);
		if (status == ST_OK)
			status = store_pairs_get(store, arena, run->id, trial->id, true, &control, err);
		if (status != ST_OK)
			return status;
		trial->pairs = (uint32_t)pairs.count;
		trial->blocks = pairs.count ? pairs.at[pairs.count - 1].block + 1 : 0;
		trial->evidence = arena_printf(arena, "cut off after %zu pairs, and %zu of its control", pairs.count, control.count);
	}
	for (size_t i = 0; i < run->surveys.count; i++) {
		struct survey *survey = run->surveys.at[i];
		struct survey_measurement measurement;
		bool ended = false;
		if (survey->finished)
			continue;
		enum status status = store_survey_measurement_get(store, arena, run->id, survey->id, &measurement, &ended, err);
		if (status != ST_OK)
			return status;
		survey->rounds = (uint32_t)measurement.rounds.count;
		survey->blocks = measurement.blocks;
		survey->evidence = arena_printf(arena, "cut off after %zu rounds", measurement.rounds.count);
	}
	return ST_OK;
}

static void pairs_print(FILE *out, const char *trial, unsigned control, const struct pair_list *pairs)
{
	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->at[i];
		fprintf(out, "%s\t%s\t%u\t%u\t%s\t%llu\t%llu\t%llu\t%u\t%u\t%llu\t%s\t%llu\t%llu\t%.17g\t%.17g\n", trial,
		        control == 0 ? "trial" : control == 1 ? "control" : "control 2", pair->block,
		        pair->index, pair->candidate_first ? "BA" : "AB", (unsigned long long)pair->iterations,
		        (unsigned long long)pair->baseline_ns, (unsigned long long)pair->candidate_ns, pair->baseline_flags,
		        pair->candidate_flags, (unsigned long long)pair->layout, metric_name(pair->metric),
		        (unsigned long long)pair->baseline_cpu_ns, (unsigned long long)pair->candidate_cpu_ns, pair->baseline_value,
		        pair->candidate_value);
	}
}

/* One line a sample, in the order in which they were taken. */
static void round_print(FILE *out, const struct survey *survey, const struct round *round)
{
	size_t count = survey->values.count;
	for (uint32_t place = 0; place <= count; place++)
		for (size_t i = 0; i <= count; i++) {
			const struct round_sample *sample = &round->samples[i];
			if (sample->iterations && sample->place == place)
				fprintf(out, "%s\t%u\t%u\t%u\t%s\t%llu\t%llu\t%u\n", survey->id, round->block, round->index, place,
				        i < count ? survey->values.at[i].value : "(control)", (unsigned long long)sample->iterations,
				        (unsigned long long)sample->ns, sample->flags);
		}
}

static enum status rounds_print(FILE *out, struct store *store, struct arena *arena, const struct run *run, struct err *err)
{
	for (size_t i = 0; i < run->surveys.count; i++) {
		struct survey_measurement measurement;
		bool ended = false;
		enum status status = store_survey_measurement_get(store, arena, run->id, run->surveys.at[i]->id, &measurement, &ended,
		                                                  err);
		if (status != ST_OK)
			return status;
		if (i == 0)
			fputs("\nsurvey\tblock\tindex\tplace\tvalue\titerations\tns\tflags\n", out);
		for (size_t k = 0; k < measurement.rounds.count && measurement.values == run->surveys.at[i]->values.count; k++)
			round_print(out, run->surveys.at[i], &measurement.rounds.at[k]);
	}
	return ST_OK;
}

static enum status samples_print(FILE *out, struct store *store, struct arena *arena, const struct run *run,
                                 struct err *err)
{
	fputs("trial\tof\tblock\tindex\torder\titerations\tbaseline_ns\tcandidate_ns\tbaseline_flags\tcandidate_flags\tlayout"
	      "\tmetric\tbaseline_cpu_ns\tcandidate_cpu_ns\tbaseline_printed\tcandidate_printed\n", out);
	static const unsigned order[] = {1, 2, 0}; /* as they were taken */
	for (size_t i = 0; i < run->trials.count; i++)
		for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
			struct pair_list pairs;
			enum status status = store_pairs_get(store, arena, run->id, run->trials.at[i]->id, order[k], &pairs, err);
			if (status != ST_OK)
				return status;
			pairs_print(out, run->trials.at[i]->id, order[k], &pairs);
		}
	return rounds_print(out, store, arena, run, err);
}

/* As the command printed it at the time. */
static print_run *report_of(const struct run *run)
{
	if (text_starts(run->command, "assay prove"))
		return term_prove;
	return run->trials.count || run->hypotheses.count || run->surveys.count ? term_verdicts : term_scan;
}

/* A run of the store by its name, or a file that another machine may have written. */
static enum status run_named(struct store *store, struct arena *arena, const char *name, struct run *ret_run, bool *ret_stored,
                             struct err *err)
{
	struct store_run record;
	*ret_stored = !text_ends(name, ".json") && !strchr(name, '/');
	if (*ret_stored) {
		enum status status = store_run_find(store, arena, name, &record, err);
		if (status == ST_OK)
			status = run_from_store(store, arena, &record, ret_run, err);
		return status == ST_OK ? unfinished_count(store, arena, ret_run, err) : status;
	}
	const char *text = NULL;
	size_t size = 0;
	enum status status = file_read(arena, name, &text, &size, err);
	if (status == ST_OK && json_run_read(arena, text, size, ret_run, err) != ST_OK)
		return err_context(err, "%s is no run: give a report of `--format json`", name);
	return status;
}

static enum status beside_print(struct output *output, struct store *store, struct arena *arena, const struct options *options,
                                const struct run *run, int *ret_exit, struct err *err)
{
	struct run other;
	bool stored;
	enum status status = run_named(store, arena, options->beside, &other, &stored, err);
	if (status != ST_OK)
		return status;
	struct agreement_of_runs agreement = runs_agreement(arena, run, &other);
	if (options->format == FORMAT_MARKDOWN)
		markdown_agreement(output->file, &agreement);
	else
		term_agreement(output->file, &agreement, &output->term);
	*ret_exit = agreement.counts[AGREEMENT_DIFFERS] ? EXIT_GATE : EXIT_DONE;
	return ST_OK;
}

static enum status options_fit(const struct options *options, bool stored, const char *name, struct err *err)
{
	if (options->recompute && (options->samples || options->beside || options->format != FORMAT_TEXT))
		return err_set(err, ST_USAGE, "--recompute prints text and nothing else: leave out --samples, --beside and --format");
	if (options->beside && (options->samples || (options->format != FORMAT_TEXT && options->format != FORMAT_MARKDOWN)))
		return err_set(err, ST_USAGE, "--beside prints text or markdown: leave out --samples and other formats");
	if (!stored && (options->recompute || options->samples))
		return err_set(err, ST_USAGE, "%s is a file, which holds no samples: --samples and --recompute take a run of `assay log`",
		               name);
	return ST_OK;
}

static enum status show(struct invocation *invocation, struct store *store, int *ret_exit, struct err *err)
{
	const struct options *options = &invocation->options;
	struct arena *arena = invocation->arena;
	struct run run;
	bool stored = false;
	const char *name = options->operands.count ? options->operands.at[0] : "last";
	enum status status = run_named(store, arena, name, &run, &stored, err);
	if (status == ST_OK)
		status = options_fit(options, stored, name, err);
	struct output output;
	if (status == ST_OK)
		status = output_open(&output, options, err);
	if (status != ST_OK)
		return status;
	output.term.kept = stored;
	if (options->beside)
		status = beside_print(&output, store, arena, options, &run, ret_exit, err);
	else if (options->recompute)
		status = run_recompute(store, &run, output.file, ret_exit, err);
	else if (options->samples)
		status = samples_print(output.file, store, arena, &run, err);
	else
		run_print(&output, arena, &run, options->format, invocation->command->bit == CMD_REPORT ? report_of(&run) : term_record);
	enum status written = output_close(&output, err);
	return status == ST_OK ? written : status;
}

int command_show(struct invocation *invocation)
{
	struct err err = ERR_INIT;
	const char *path = NULL;
	struct store *store = NULL;
	int code = EXIT_DONE;
	enum status status = store_default_path(invocation->arena, &path, &err);
	if (status == ST_OK)
		status = store_open(path, &store, &err);
	if (status == ST_OK)
		status = show(invocation, store, &code, &err);
	store_close(store);
	return status == ST_OK ? code : complain(&err);
}

int command_report(struct invocation *invocation)
{
	return command_show(invocation);
}
