/* The command line: values with their units, one sentence for what is wrong, and texts that follow the table. */
#include "cmd/options.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

/* Parses the words of a command line; returns the sentence, or NULL when it is understood. */
static const char *parse(const char *line, struct options *ret_options)
{
	struct string_list words = {0};
	assert_true(shell_split(&arena, line, &words));
	const struct command *command = command_find(words.at[0]);
	assert_non_null(command);
	char **argv = arena_alloc(&arena, (words.count + 1) * sizeof *argv);
	for (size_t i = 0; i < words.count; i++)
		argv[i] = arena_strdup(&arena, words.at[i]);
	struct err err = ERR_INIT;
	enum status status = options_parse(&arena, command, (int)words.count, argv, ret_options, &err);
	assert_true(status == ST_OK || status == ST_USAGE);
	return status == ST_OK ? NULL : arena_strdup(&arena, err.text);
}

static void test_defaults(void **state)
{
	(void)state;
	struct options options;
	assert_null(parse("audit", &options));
	assert_true(options.alpha == 0.01 && options.margin == 0.01 && options.budget_s == 20);
	assert_false(options.budget_given || options.with_workload);
	assert_null(parse("audit --budget 20s --with-workload", &options));
	assert_true(options.budget_given && options.with_workload);
	assert_null(parse("audit", &options));
	assert_int_equal(options.to_rung, RUNG_TIME);
	assert_int_equal(options.format, FORMAT_TEXT);
	assert_false(options.seed_given || options.require_given || options.forbid_given || options.measure_anyway);
}

static void test_everything_that_try_takes(void **state)
{
	(void)state;
	struct options options;
	assert_null(parse("try --patch a.patch --workload x --workload y --bench b.c --bench-source s.c --bench-source t.c "
	                  "--bench-flags '-I. -DX' --bench-libs -lm --param block=1,2 --param mode=fast --matrix 'cc=gcc-12,clang "
	                  "opt=-O2,-O3 -march=native' --margin 0.5% --alpha 5% --budget 2m --seed 7 --to-rung outputs "
	                  "--measure-anyway --accept-contract --require faster --forbid wrong-results --project p --source=s -pbuild -j3 "
	                  "--format json -o out.json", &options));
	assert_string_equal(options.patch, "a.patch");
	assert_int_equal(options.workloads.count, 2);
	assert_string_equal(options.bench_sources.at[1], "t.c");
	assert_int_equal(options.params.count, 2);
	assert_string_equal(options.params.at[0].values.at[1], "2");
	assert_string_equal(options.matrix_cc.at[1], "clang");
	assert_int_equal(options.matrix_flags.count, 2);
	assert_string_equal(options.matrix_flags.at[1], "-O3 -march=native");
	assert_true(options.margin == 0.005 && options.alpha == 0.05 && options.budget_s == 120);
	assert_true(options.seed_given && options.seed == 7);
	assert_int_equal(options.to_rung, RUNG_OUTPUTS);
	assert_true(options.measure_anyway);
	assert_true(options.accept_contract);
	assert_int_equal(options.require, VERDICT_FASTER);
	assert_int_equal(options.forbid, VERDICT_WRONG_RESULTS);
	assert_string_equal(options.database, "build");
	assert_int_equal(options.jobs, 3);
	assert_int_equal(options.format, FORMAT_JSON);
}

static void test_surveys(void **state)
{
	(void)state;
	struct options options;
	assert_null(parse("try --over impl", &options));
	assert_string_equal(options.over, "impl");
	assert_int_equal(options.over_values.count, 0);
	assert_null(options.against);
	assert_null(options.survey);
	assert_null(parse("try --over impl=generic,sse2,a=b --against sse2 --needs sse2=sse2,a=b=avx2 --needs generic=fpu", &options));
	assert_string_equal(options.over, "impl");
	assert_int_equal(options.over_values.count, 3);
	assert_string_equal(options.over_values.at[2], "a=b");
	assert_string_equal(options.against, "sse2");
	assert_int_equal(options.needs.count, 3);
	assert_string_equal(options.needs.at[1].value, "a=b");
	assert_string_equal(options.needs.at[1].feature, "avx2");
	assert_string_equal(options.needs.at[2].value, "generic");
	assert_null(parse("try --survey 'which checksum'", &options));
	assert_string_equal(options.survey, "which checksum");
	/* Said again, the last one holds, without the values of the first. */
	assert_null(parse("try --over impl=a,b --over level", &options));
	assert_string_equal(options.over, "level");
	assert_int_equal(options.over_values.count, 0);
}

static void test_values_with_units(void **state)
{
	(void)state;
	double value;
	assert_true(percent_parse("1%", &value) && value == 0.01);
	assert_true(percent_parse(".5%", &value) && value == 0.005);
	const char *const bad_percents[] = {"1", "", "%", ".%", "1 %", "-1%", "1e-2%", "nan%", "0x1%", "1.2.3%", "1%%", "inf%"};
	for (size_t i = 0; i < sizeof bad_percents / sizeof *bad_percents; i++)
		assert_false(percent_parse(bad_percents[i], &value));
	assert_true(duration_parse("500ms", &value) && value == 0.5);
	assert_true(duration_parse("60s", &value) && value == 60);
	assert_true(duration_parse("1.5m", &value) && value == 90);
	assert_true(duration_parse("2h", &value) && value == 7200);
	const char *const bad_times[] = {"60", "", "s", "1 s", "-1s", "1d", "1us", "1e3s"};
	for (size_t i = 0; i < sizeof bad_times / sizeof *bad_times; i++)
		assert_false(duration_parse(bad_times[i], &value));
}

static void test_rungs_by_number_and_name(void **state)
{
	(void)state;
	struct options options;
	assert_null(parse("audit --to-rung 0", &options));
	assert_int_equal(options.to_rung, RUNG_BUILT);
	assert_null(parse("audit --to-rung 2", &options));
	assert_int_equal(options.to_rung, RUNG_CODE);
	assert_null(parse("audit --to-rung 6", &options));
	assert_int_equal(options.to_rung, RUNG_TIME);
	assert_null(parse("audit --to-rung tokens", &options));
	assert_int_equal(options.to_rung, RUNG_TOKENS);
	assert_non_null(parse("audit --to-rung none", &options));
	assert_non_null(parse("audit --to-rung 7", &options));
}

static void test_says_what_is_wrong(void **state)
{
	(void)state;
	const struct {
		const char *line, *expect;
	} cases[] = {
		{"try --bogus", "unknown option '--bogus' of `assay try`"},
		{"try -z", "unknown option '-z'"},
		{"scan -qz x", "unknown option '-qz'"},
		{"scan --margin 1%", "`assay scan` does not take --margin, only `try`, `audit`, `prove` do"},
		{"audit --patches d", "only `scan` does"},
		{"try --margin", "--margin wants a value"},
		{"try -o", "-o wants a value"},
		{"try --measure-anyway=yes", "--measure-anyway takes no value"},
		{"try --margin 1", "--margin wants a percentage"},
		{"try --margin 0%", "--margin wants a percentage above 0%"},
		{"try --alpha 51%", "--alpha wants"},
		{"try --budget 10", "a time from 10ms to 24h with its unit"},
		{"try --budget 1ms", "a time from 10ms to 24h"},
		{"try --seed -1", "--seed wants"},
		{"try --seed 9223372036854775808", "--seed wants"},
		{"try --jobs 0", "--jobs wants"},
		{"try --param block", "--param wants NAME=VALUE"},
		{"try --param block=1,,2", "a value is empty"},
		{"try --matrix O2", "--matrix: 'O2' is not understood"},
		{"try --matrix cc=gcc,", "a compiler's name is missing"},
		{"try --matrix ''", "wants MATRIX, not an empty text"},
		{"try --matrix 'cc=gcc cc=clang'", "give each of cc= and opt= once"},
		{"try --format xml", "text, json, sarif or markdown, not 'xml'"},
		{"try --require sometimes", "--require wants a verdict"},
		{"try --forbid failed", "--forbid wants a verdict"},
		{"try --over =a,b", "--over wants a parameter, as in impl, or with its values"},
		{"try --over impl=", "--over wants a parameter"},
		{"try --over impl=a,,b", "not 'impl=a,,b'"},
		{"try --over", "--over wants a value"},
		{"try --needs avx2", "--needs wants VALUE=FEATURE, as in avx2=avx2, not 'avx2'"},
		{"try --needs =avx2", "not '=avx2'"},
		{"try --needs a=sse2,b=", "not 'b='"},
		{"audit --over impl", "does not take --over, only `try` does"},
		{"audit --survey s", "does not take --survey, only `try` does"},
		{"try a b", "does not know what to do with 'b'"},
		{"log x", "does not know what to do with 'x'"},
		{"show --samples=1", "--samples takes no value"},
		{"log -n many", "--limit wants a number"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct options options;
		const char *said = parse(cases[i].line, &options);
		if (!said || !strstr(said, cases[i].expect))
			fail_msg("%s: '%s' does not say '%s'", cases[i].line, said ? said : "(understood)", cases[i].expect);
		if (strchr(said, '\n'))
			fail_msg("%s: more than one sentence: %s", cases[i].line, said);
	}
}

static void test_help_wins_over_operands(void **state)
{
	(void)state;
	struct options options;
	assert_null(parse("log --help a b c", &options));
	assert_true(options.help);
	assert_null(parse("try -- --patch", &options));
	assert_string_equal(options.operands.at[0], "--patch");
}

static char *printed(void (*print)(FILE *))
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	print(out);
	fclose(out);
	char *copy = arena_strdup(&arena, text);
	free(text);
	return copy;
}

/* What one text knows, all of them know: they come from one table. */
static void test_texts_follow_the_table(void **state)
{
	(void)state;
	const char *manual = printed(manual_print), *completion = printed(completion_bash_print), *help = printed(help_program);
	for (size_t i = 0; i < command_count; i++) {
		const struct command *command = &command_table[i];
		assert_non_null(strstr(manual, arena_printf(&arena, ".SS assay %s\n", command->name)));
		assert_non_null(strstr(completion, arena_printf(&arena, "\t%s) options=", command->name)));
		assert_non_null(strstr(help, command->summary));
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);
		help_command(out, command);
		fclose(out);
		for (const char *line = text; *line;) {
			size_t length = strcspn(line, "\n");
			/* Examples are there to be copied: they stay on one line. */
			if (length > 80 && strncmp(line, "  assay ", 8) != 0)
				fail_msg("help of %s: %.*s", command->name, (int)length, line);
			line += length + (line[length] == '\n');
		}
		for (const char *at = strstr(text, "  --"); at; at = strstr(at + 4, "\n  --")) {
			at += strspn(at, "\n ");
			char *option = arena_strndup(&arena, at, strcspn(at, " \n"));
			assert_non_null(strstr(completion, option));
		}
		/* The examples that are printed are understood. */
		for (const char *const *example = command->examples; example && example[0]; example += 2) {
			struct options options;
			const char *said = parse(example[0] + strlen("assay "), &options);
			if (said)
				fail_msg("%s: %s", example[0], said);
		}
		free(text);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_defaults),
		TEST(test_everything_that_try_takes),
		TEST(test_surveys),
		TEST(test_values_with_units),
		TEST(test_rungs_by_number_and_name),
		TEST(test_says_what_is_wrong),
		TEST(test_help_wins_over_operands),
		TEST(test_texts_follow_the_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
