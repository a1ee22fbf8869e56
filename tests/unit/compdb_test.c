#include "port/compdb.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct arena arena;
static struct compdb commands;
static struct string_list problems;
static struct err err;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena);
	err = ERR_INIT;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static enum status parse(const char *text)
{
	return compdb_parse(&arena, text, strlen(text), "/p/build/compile_commands.json", &commands, &problems, &err);
}

static void both_forms_give_the_same_command(void **state)
{
	(void)state;
	assert_int_equal(parse("[{\"directory\":\"/p/build/x/..\",\"file\":\"../src/./a.c\","
	                       "\"command\":\"cc -DX='a b' -c ../src/a.c\"},"
	                       "{\"directory\":\".\",\"file\":\"../src/a.c\","
	                       "\"arguments\":[\"/usr/bin/ccache\",\"cc\",\"-DX=a b\",\"-c\",\"../src/a.c\"]}]"),
	                 ST_OK);
	assert_int_equal(problems.count, 0);
	assert_int_equal(commands.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(commands.at[i].directory, "/p/build");
		assert_string_equal(commands.at[i].file, "/p/src/a.c");
		assert_string_equal(text_join(&arena, &commands.at[i].argv, "|"), "cc|-DX=a b|-c|../src/a.c");
		assert_false(commands.at[i].guessed);
	}
}

static void bad_entries_are_skipped_with_a_sentence(void **state)
{
	(void)state;
	assert_int_equal(parse("[{\"directory\":\"/p\",\"file\":\"a.c\",\"command\":\"cc 'x\"}, 3, {\"file\":\"a.c\"},"
	                       "{\"directory\":\"/p\",\"file\":\"b.c\",\"arguments\":[\"cc\",\"b.c\"]}]"),
	                 ST_OK);
	assert_int_equal(commands.count, 1);
	assert_string_equal(commands.at[0].file, "/p/b.c");
	assert_int_equal(problems.count, 3);
	assert_string_equal(problems.at[0], "/p/build/compile_commands.json: entry 1 is skipped: a quote is left open in "
	                                    "\"command\": close it or use \"arguments\"");
	assert_non_null(strstr(problems.at[1], "entry 2 is skipped"));
	assert_non_null(strstr(problems.at[2], "entry 3 is skipped: it has no \"directory\""));
}

static void many_bad_entries_are_counted(void **state)
{
	(void)state;
	assert_int_equal(parse("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23]"), ST_OK);
	assert_int_equal(problems.count, 21);
	assert_non_null(strstr(problems.at[20], "3 more entries"));
}

static void what_is_no_database_is_an_error_with_its_place(void **state)
{
	(void)state;
	assert_int_equal(parse("[\n{]"), ST_INPUT);
	assert_non_null(strstr(err.text, "/p/build/compile_commands.json:2: "));
	err = ERR_INIT;
	assert_int_equal(parse("{}"), ST_INPUT);
	err = ERR_INIT;
	assert_int_equal(compdb_read(&arena, "/nowhere/compile_commands.json", &commands, &problems, &err), ST_INPUT);
	assert_non_null(strstr(err.text, "/nowhere/compile_commands.json"));
}

static void a_guess_names_folders_that_exist(void **state)
{
	(void)state;
	struct compile_command guess = compdb_guess(&arena, ASSAY_SOURCE_DIR "/src/base/text.c", ASSAY_SOURCE_DIR);
	assert_true(guess.guessed);
	const char *text = text_join(&arena, &guess.argv, "|");
	assert_string_equal(text, "cc|-std=gnu17|-I" ASSAY_SOURCE_DIR "/src/base|-I" ASSAY_SOURCE_DIR "/src|-I" ASSAY_SOURCE_DIR
	                          "|-I" ASSAY_SOURCE_DIR "/include|-c|" ASSAY_SOURCE_DIR "/src/base/text.c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(both_forms_give_the_same_command, setup, teardown),
	    cmocka_unit_test_setup_teardown(bad_entries_are_skipped_with_a_sentence, setup, teardown),
	    cmocka_unit_test_setup_teardown(many_bad_entries_are_counted, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_is_no_database_is_an_error_with_its_place, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_guess_names_folders_that_exist, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
