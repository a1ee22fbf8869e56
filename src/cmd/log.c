#include "cmd/cmd.h"

#include "base/text.h"

/* "2 faster, 1 no effect", of the families; "" for a run without any. */
static const char *verdicts_text(struct arena *arena, const struct run *run)
{
	struct string_list words = {0};
	for (enum verdict verdict = VERDICT_FASTER; verdict <= VERDICT_FAILED; verdict++) {
		unsigned count = 0;
		for (size_t i = 0; i < run->families.count; i++)
			count += run->families.at[i].verdict == verdict;
		if (count)
			list_push(arena, &words, arena_printf(arena, "%u %s", count, verdict_name(verdict)));
	}
	return text_join(arena, &words, ", ");
}

int command_log(struct invocation *invocation)
{
	struct arena *arena = invocation->arena;
	struct err err = ERR_INIT;
	const char *path = NULL;
	struct store *store = NULL;
	struct store_run_list runs = {0};
	struct output output;
	enum status status = store_default_path(arena, &path, &err);
	if (status == ST_OK)
		status = store_open(path, &store, &err);
	if (status == ST_OK)
		status = store_run_list(store, arena, invocation->options.limit, &runs, &err);
	if (status == ST_OK)
		status = output_open(&output, &invocation->options, &err);
	if (status == ST_OK) {
		for (size_t i = 0; i < runs.count; i++) {
			const struct store_run *record = &runs.at[i];
			struct run run;
			struct err trouble = ERR_INIT;
			const char *verdicts = run_from_store(store, arena, record, &run, &trouble) == ST_OK ? verdicts_text(arena, &run)
			                                                                                     : trouble.text;
			term_paragraph(output.file, arena_printf(arena, "%s  %-12s ", record->id, record->state),
			               arena_printf(arena, "%s, %s%s%s", record->command, term_seconds(arena, record->seconds),
			                            verdicts[0] ? ": " : "", verdicts), &output.term);
		}
		if (runs.count == 0)
			fprintf(output.file, "no run is kept in %s yet\n", path);
		status = output_close(&output, &err);
	}
	store_close(store);
	return status == ST_OK ? EXIT_DONE : complain(&err);
}
