/* Reports for people, compared with tests/golden/: `term_test --update` writes them anew. */
#include "report/report.h"

#include "filled_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

static bool update;

typedef void report_fn(FILE *, const struct run *, const struct term_options *);

static char *printed(struct arena *arena, report_fn *report, const struct run *run, const struct term_options *options)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_non_null(out);
	report(out, run, options);
	fclose(out);
	char *copy = arena_strndup(arena, text, size);
	free(text);
	return copy;
}

static char *file_read(struct arena *arena, const char *path)
{
	FILE *file = fopen(path, "r");
	if (!file)
		fail_msg("%s is missing: run term_test --update and look at what it wrote", path);
	char *text = arena_alloc(arena, 1 << 20);
	size_t size = fread(text, 1, (1 << 20) - 1, file);
	text[size] = '\0';
	fclose(file);
	return text;
}

/* The same signature as the others; Markdown has no options. */
static void markdown_report(FILE *out, const struct run *run, const struct term_options *options)
{
	(void)options;
	markdown_run(out, run);
}

static void golden_of(const char *name, struct run *(*fill)(struct arena *), report_fn *report, struct term_options options)
{
	struct arena arena;
	arena_init(&arena);
	char *text = printed(&arena, report, fill(&arena), &options);
	const char *path = arena_printf(&arena, "%s/tests/golden/%s.txt", ASSAY_SOURCE_DIR, name);
	if (update) {
		FILE *file = fopen(path, "w");
		assert_non_null(file);
		fputs(text, file);
		assert_int_equal(fclose(file), 0);
	}
	assert_string_equal(text, file_read(&arena, path));
	arena_release(&arena);
}

static void golden(const char *name, report_fn *report, struct term_options options)
{
	golden_of(name, filled_run, report, options);
}

static void test_commands(void **state)
{
	(void)state;
	struct term_options options = {.utf8 = true, .kept = true, .width = 80};
	golden_of("commands-80", filled_commands, term_verdicts, options);
	golden_of("commands-record-80", filled_commands, term_record, options);
}

static void test_markdown(void **state)
{
	(void)state;
	golden("markdown", markdown_report, (struct term_options){0});
	golden_of("commands-markdown", filled_commands, markdown_report, (struct term_options){0});
}

/* A finding's text must not become markup: every row of a table has as many cells as its head. */
static void test_markdown_quotes(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *run = filled_run(&arena);
	run->findings.at[0]->file = "a|b\033[2J<img src=x>`|`.c";
	run->families.at[1].evidence = "one `odd tick | and\na *second* line <script>";
	run->trials.at[0]->repeat = "assay try 'a`b' | c";
	char *text = printed(&arena, markdown_report, run, &(struct term_options){0});
	assert_null(strchr(text, '\033'));
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "<img"));
	assert_non_null(strstr(text, "``assay try 'a`b' | c``") ? text : strstr(text, "`` assay try 'a`b' | c ``"));
	size_t cells = 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (line[0] != '|') {
			cells = 0;
			continue;
		}
		size_t here = 0;
		for (const char *at = line; *at; at++)
			here += *at == '|' && (at == line || at[-1] != '\\');
		if (cells && here != cells)
			fail_msg("%zu cells where %zu are due: %s", here, cells, line);
		cells = here;
	}
	arena_release(&arena);
}

static void test_scan(void **state)
{
	(void)state;
	golden("scan-80", term_scan, (struct term_options){.utf8 = true, .kept = true, .width = 80});
	golden("scan-80-ascii", term_scan, (struct term_options){.kept = true, .width = 80});
	golden("scan-120-colour", term_scan, (struct term_options){.utf8 = true, .kept = true, .colour = true, .width = 120});
}

static void test_verdicts(void **state)
{
	(void)state;
	golden("verdicts-80", term_verdicts, (struct term_options){.utf8 = true, .kept = true, .width = 80});
	golden("verdicts-120", term_verdicts, (struct term_options){.utf8 = true, .kept = true, .width = 120});
	golden("verdicts-80-colour", term_verdicts, (struct term_options){.utf8 = true, .kept = true, .colour = true, .width = 80});
}

static void test_record(void **state)
{
	(void)state;
	golden("record-80", term_record, (struct term_options){.utf8 = true, .kept = true, .width = 80});
}

/* Only what is there to be copied, or is quoted as it stands, may be wider than the terminal. */
static void test_lines_fit(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	for (unsigned width = 80; width <= 160; width += 7) {
		struct term_options options = {.utf8 = true, .kept = true, .width = width};
		char *text = arena_printf(&arena, "%s%s", printed(&arena, term_scan, filled_run(&arena), &options),
		                          printed(&arena, term_verdicts, filled_run(&arena), &options));
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			size_t columns = 0;
			for (const char *at = line; *at; at++)
				columns += ((unsigned char)*at & 0xc0) != 0x80;
			if (columns > width)
				fail_msg("%zu columns in a terminal of %u: %s", columns, width, line);
		}
	}
	arena_release(&arena);
}

/* A file name or a compiler's message must not steer the terminal. */
static void test_control_characters_are_not_printed(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *run = filled_run(&arena);
	run->findings.at[0]->file = "a\033[2Jb\a\302\233c\177\r.c";
	run->trials.at[7]->evidence = run->families.at[4].evidence = "said \033]0;title\007 twice";
	struct term_options options = {.utf8 = true, .kept = true, .width = 80};
	char *text = arena_printf(&arena, "%s%s%s", printed(&arena, term_scan, run, &options),
	                          printed(&arena, term_verdicts, run, &options), printed(&arena, term_record, run, &options));
	for (const char *at = text; *at; at++)
		if (((unsigned char)*at < 0x20 && *at != '\n' && *at != '\t') || *at == 0x7f)
			fail_msg("character %d in the report", *at);
	assert_null(strstr(text, "\302\233"));
	assert_non_null(strstr(text, "a?[2Jb??c??.c"));
	arena_release(&arena);
}

static void test_a_killed_run_shows_its_trials(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *run = filled_run(&arena);
	run->families = (struct family_list){0};
	run->state = RUN_UNFINISHED;
	struct term_options options = {.utf8 = true, .kept = true, .width = 80};
	char *text = printed(&arena, term_record, run, &options);
	assert_non_null(strstr(text, "unfinished"));
	assert_non_null(strstr(text, "\n  t6  slower"));
	arena_release(&arena);
}

static void test_an_empty_run_says_so(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run run = {.id = "x"};
	struct term_options options = {.width = 80};
	assert_non_null(strstr(printed(&arena, term_verdicts, &run, &options), "this run is not kept"));
	assert_non_null(strstr(printed(&arena, term_verdicts, &run, &options), "nothing was settled"));
	assert_non_null(strstr(printed(&arena, term_scan, &run, &options), "0 findings in 0 files"));
	assert_non_null(strstr(printed(&arena, term_record, &run, &options), "run x"));
	arena_release(&arena);
}

/* Surveys alone are no scan, whatever is printed. */
static void test_a_run_of_surveys_is_called_so(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *run = arena_new(&arena, struct run);
	*run = (struct run){.id = "x", .state = RUN_DONE};
	filled_surveys(&arena, run);
	char *text = printed(&arena, markdown_report, run, &(struct term_options){0});
	assert_int_equal(strncmp(text, "# assay: 2 surveys of 13 values: 2 faster, ", 43), 0);
	assert_null(strstr(text, "verdict | hypothesis"));
	assert_non_null(strstr(text, "### <a id=\"s1\"></a>which \\| `checksum` &lt;is best>: checksum over impl, block=131072, gcc-12 -O2"));
	assert_non_null(strstr(text, "assay show x --samples"));
	text = printed(&arena, term_verdicts, run, &(struct term_options){.width = 80});
	assert_null(strstr(text, "nothing was settled"));
	arena_release(&arena);
}

static void test_numbers_with_units(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	const struct {
		double seconds;
		const char *text;
	} times[] = {{0, "0 us"},      {0.0004, "400 us"}, {0.0123, "12 ms"},   {0.0042, "4.2 ms"}, {0.5, "0.50 s"}, {10, "10 s"},
	             {12.34, "12.3 s"}, {59.97, "1 m 00 s"}, {84.27, "1 m 24 s"}, {3725, "1 h 02 m"}};
	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		assert_string_equal(term_seconds(&arena, times[i].seconds), times[i].text);
	assert_string_equal(term_ns(&arena, 4.5), "4.50 ns");
	assert_string_equal(term_ns(&arena, 4521.5), "4.52 us");
	assert_string_equal(term_ns(&arena, 999.6), "1.00 us");
	assert_string_equal(term_ns(&arena, 25.3e6), "25.3 ms");
	arena_release(&arena);
}

int main(int argc, char **argv)
{
	update = argc > 1 && strcmp(argv[1], "--update") == 0;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_markdown),
		cmocka_unit_test(test_markdown_quotes),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_lines_fit),
		cmocka_unit_test(test_control_characters_are_not_printed),
		cmocka_unit_test(test_a_killed_run_shows_its_trials),
		cmocka_unit_test(test_an_empty_run_says_so),
		cmocka_unit_test(test_a_run_of_surveys_is_called_so),
		cmocka_unit_test(test_numbers_with_units),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
