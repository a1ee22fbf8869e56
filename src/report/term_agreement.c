/* Two runs beside each other: the report of `assay show --beside`. */
#include "report/report.h"

#include "base/text.h"
#include "report/phrase.h"

void term_agreement(FILE *out, const struct agreement_of_runs *agreement, const struct term_options *options)
{
	struct arena arena;
	arena_init(&arena);
	for (int side = 0; side < 2; side++)
		term_paragraph(out, side ? "second: " : "first:  ", agreement_run_text(&arena, agreement->runs[side]), options);
	fputc('\n', out);
	term_paragraph(out, "", agreement_summary(&arena, agreement), options);
	/* What is the same needs no list. */
	for (enum agreement kind = 0; kind < AGREEMENT_SAME; kind++) {
		const char *question = NULL;
		for (size_t i = 0; i < agreement->rows.count; i++) {
			const struct agreement_row *row = &agreement->rows.at[i];
			if (row->kind != kind)
				continue;
			if (!question)
				fprintf(out, "\n%s\n", agreement_heading(kind));
			if (!text_equal(question, agreement_question(row)))
				term_paragraph(out, "  ", agreement_question(row), options);
			question = agreement_question(row);
			term_paragraph(out, "    ", agreement_where(&arena, row), options);
			for (int side = 0; side < 2; side++)
				term_paragraph(out, side ? "      second: " : "      first:  ", agreement_side(&arena, row, side), options);
			if (kind == AGREEMENT_DIFFERS && agreement_intervals(row))
				fprintf(out, "      %s\n", agreement_intervals(row));
		}
	}
	arena_release(&arena);
}
