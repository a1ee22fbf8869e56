#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static int setup(void **state)
{
	static struct arena arena;
	arena_init(&arena);
	*state = &arena;
	return 0;
}

static int teardown(void **state)
{
	arena_release(*state);
	return 0;
}

static void path_clean_follows_the_table(void **state)
{
	static const struct {
		const char *in, *out;
	} table[] = {
	    {"/a/b/../c", "/a/c"}, {"/..", "/"},       {"a/..", "."},           {"../a", "../a"},   {"../../a", "../../a"},
	    {"a/../../b", "../b"}, {"./a//b/", "a/b"}, {"/a/./b/.", "/a/b"},    {"", "."},          {"/", "/"},
	    {"a/b/../..", "."},    {"/a/../..", "/"},  {"a/../b/../c", "c"},    {"..", ".."},       {"...", "..."},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		assert_string_equal(path_clean(*state, table[i].in), table[i].out);
}

static void path_under_is_lexical(void **state)
{
	(void)state;
	assert_string_equal(path_under("/a/b/c", "/a"), "b/c");
	assert_string_equal(path_under("/a", "/a"), ".");
	assert_null(path_under("/ab", "/a"));
	assert_string_equal(path_under("/x", "/"), "x");
	assert_string_equal(path_under("/a/b", "/a/"), "b");
}

static void shell_words_round_trip(void **state)
{
	static const char *const words[] = {"plain", "with blank", "it's", "", "a\"b", "$HOME", "back\\slash", "-DX=\"y\""};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct string_list list = {0};
		assert_true(shell_split(*state, shell_quote(*state, words[i]), &list));
		assert_int_equal(list.count, 1);
		assert_string_equal(list.at[0], words[i]);
	}
	struct string_list open = {0};
	assert_false(shell_split(*state, "a 'b", &open));
	struct string_list mixed = {0};
	assert_true(shell_split(*state, "  -O2 -DX='a b'\t\"c\\\"d\" e\\ f ", &mixed));
	assert_int_equal(mixed.count, 4);
	assert_string_equal(mixed.at[1], "-DX=a b");
	assert_string_equal(mixed.at[2], "c\"d");
	assert_string_equal(mixed.at[3], "e f");
}

static void tail_counts_lines(void **state)
{
	assert_string_equal(text_tail(*state, "a\nb\nc\n", 2), "b\nc");
	assert_string_equal(text_tail(*state, "a\n", 5), "a");
	assert_string_equal(text_tail(*state, "", 1), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(path_clean_follows_the_table, setup, teardown),
	    cmocka_unit_test(path_under_is_lexical),
	    cmocka_unit_test_setup_teardown(shell_words_round_trip, setup, teardown),
	    cmocka_unit_test_setup_teardown(tail_counts_lines, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
