/* compare_tokens on text as compilers print it, and on what gcc and clang print here. */
#include "base/text.h"
#include "port/proc.h"
#include "stage/stages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static const volatile sig_atomic_t not_interrupted = 0;

struct fixture {
	struct session session;
	char dir[64];
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	arena_init(&fixture->session.arena);
	snprintf(fixture->dir, sizeof fixture->dir, "/tmp/assay-tokens-XXXXXX");
	if (!mkdtemp(fixture->dir))
		return -1;
	for (const char *const *name = (const char *const[]){"a", "b", NULL}; *name; name++)
		if (mkdir(path_join(&fixture->session.arena, fixture->dir, *name), 0700) != 0)
			return -1;
	fixture->session.interrupted = &not_interrupted;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	struct arena *arena = &fixture->session.arena;
	static const char *const names[] = {"a/x.c", "b/x.c", "a/x.i", "b/x.i", "a", "b"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		remove(path_join(arena, fixture->dir, names[i]));
	rmdir(fixture->dir);
	arena_release(arena);
	free(fixture);
	return 0;
}

static void file_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* Compares two preprocessed texts; %s in a marker stands for the variant's tree. */
static struct token_difference compare_named(struct fixture *fixture, const char *source, const char *a, const char *b,
                                             struct string_list a_flags, struct string_list b_flags)
{
	struct arena *arena = &fixture->session.arena;
	struct unit units[2];
	struct variant variants[2];
	for (int i = 0; i < 2; i++) {
		const char *tree = path_join(arena, fixture->dir, i ? "b" : "a");
		const char *path = path_join(arena, tree, "x.i");
		if (i ? b != NULL : a != NULL)
			file_write(path, i ? b : a);
		units[i] = (struct unit){.source = source, .directory = tree, .preprocessed = path, .argv = i ? b_flags : a_flags};
		variants[i] = (struct variant){.name = i ? "candidate" : "baseline", .tree = tree, .place = tree};
		variants[i].units = (struct unit_list){.at = &units[i], .count = 1, .cap = 1};
	}
	struct token_difference difference;
	struct err err = ERR_INIT;
	assert_int_equal(compare_tokens(&fixture->session, &variants[0], &variants[1], &difference, &err), ST_OK);
	assert_int_equal(difference.units, 1);
	assert_int_equal(difference.units_differing, difference.differ);
	return difference;
}

static struct token_difference compare(struct fixture *fixture, const char *a, const char *b)
{
	return compare_named(fixture, "x.c", a, b, (struct string_list){0}, (struct string_list){0});
}

static void equal_streams(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned tokens;
	} table[] = {
	    {"int  f ( void ) ;\n", "int f(void);", 6},
	    {"# 1 \"x.c\"\nint a;\n", "# 1 \"/other/x.c\" 2 3\n\n\nint a;", 3},
	    {"int /* why */ a; // because\n", "int a;\n", 3},
	    {"a+ +b", "a + +b", 4},
	    {"", "\n\n", 0},
	    {"#pragma omp parallel\nx", "# pragma   omp parallel\n\nx", 5},
	    {"0x1p-3 1e+5 .5f", "0x1p-3\t1e+5 .5f", 3},
	    {"L\"a b\" u8\"c\" 'd'", "L\"a b\"\nu8\"c\"\n'd'", 3},
	    {"R\"(a\nb)\" x", "R\"(a\nb)\"  x", 2},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct token_difference difference = compare(*state, table[i].a, table[i].b);
		if (difference.differ)
			fail_msg("%zu: %s", i, difference.first);
		assert_int_equal(difference.tokens, table[i].tokens);
	}
}

static void different_streams(void **state)
{
	static const struct {
		const char *a, *b, *first;
	} table[] = {
	    {"# 133 \"x.c\"\nint f(char *restrict p);", "# 133 \"x.c\"\nint f(char * p);", "x.c:133: `restrict` | nothing"},
	    {"int f(char * p);", "int f(char *restrict p);", "x.c:1: nothing | `restrict`"},
	    {"a+b;\n", "a-b;\n", "x.c:1: `+` | `-`"},
	    {"a+ +b;\n", "a++b;\n", "x.c:1: `+ +` | `++`"},
	    {"x = \"a  b\";", "x = \"a b\";", "x.c:1: `\"a  b\"` | `\"a b\"`"},
	    {"x = ' ';", "x = '  ';", "x.c:1: `' '` | `'  '`"},
	    {"x = 10;", "x = 11;", "x.c:1: `10` | `11`"},
	    {"x = 1e+5;", "x = 1e +5;", "x.c:1: `1e+5` | `1e + 5`"},
	    {"ab c d e", "a b c d e", "x.c:1: `ab` | `a b`"},
	    {"int a;", "int a; int b;", "x.c:1: nothing | `int b ;`"},
	    {"#pragma omp parallel\nfor x y z", "#pragma omp parallel for\nx y z", NULL},
	    {"#pragma GCC unroll 4\nx", "#pragma GCC unroll 8\nx", "x.c:1: `4` | `8`"},
	    {"x\n#pragma once", "x", NULL},
	    {"\"/* a */\"", "\"/* b */\"", NULL},
	    {"R\"(a\n b)\" x", "R\"(a\nb)\" x", NULL},
	    {"L\"a\"", "\"a\"", NULL},
	    {"\xc3\xa4 = 1", "\xc3\xb6 = 1", NULL},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct token_difference difference = compare(*state, table[i].a, table[i].b);
		if (!difference.differ)
			fail_msg("%zu is called equal: %s", i, table[i].a);
		if (table[i].first)
			assert_string_equal(difference.first, table[i].first);
	}
}

static void assembler_lines_are_statements(void **state)
{
	struct string_list none = {0};
	assert_false(compare_named(*state, "x.S", "a b\nc\n", " a  b\n\nc\n", none, none).differ);
	assert_true(compare_named(*state, "x.S", "a b\nc\n", "a\nb c\n", none, none).differ);
	assert_true(compare_named(*state, "x.S", "a // b\n", "a // c\n", none, none).differ);
}

static void flags_count_unless_they_act_on_tokens(void **state)
{
	struct fixture *fixture = *state;
	struct arena *arena = &fixture->session.arena;
	struct string_list o2 = {0}, o3 = {0}, define = {0}, mapped_a = {0}, mapped_b = {0}, order = {0};
	shell_split(arena, "cc -O2 x.c", &o2);
	shell_split(arena, "cc -O3 x.c", &o3);
	shell_split(arena, "cc -DX=1 -I foo -O2 x.c", &define);
	shell_split(arena, arena_printf(arena, "cc -O2 -ffile-prefix-map=%s/a=. %s/a/x.c", fixture->dir, fixture->dir), &mapped_a);
	shell_split(arena, arena_printf(arena, "cc -O2 -ffile-prefix-map=%s/b=. %s/b/x.c", fixture->dir, fixture->dir), &mapped_b);
	shell_split(arena, "cc x.c -O2", &order);
	struct token_difference difference = compare_named(fixture, "x.c", "a", "a", o2, o3);
	assert_true(difference.differ);
	assert_non_null(strstr(difference.first, "`-O2` | `-O3`"));
	assert_false(compare_named(fixture, "x.c", "a", "a", o2, define).differ);
	assert_false(compare_named(fixture, "x.c", "a", "a", mapped_a, mapped_b).differ);
	assert_true(compare_named(fixture, "x.c", "a", "a", o2, order).differ);
}

static void preprocess(struct fixture *fixture, const char *cc, const char *side, const char *text)
{
	struct arena *arena = &fixture->session.arena;
	const char *tree = path_join(arena, fixture->dir, side);
	file_write(path_join(arena, tree, "x.c"), text);
	struct proc_request request = {.directory = tree, .stdout_path = path_join(arena, tree, "x.i"), .cpu = -1};
	shell_split(arena, arena_printf(arena, "%s -E -ffile-prefix-map=%s=. %s/x.c", cc, tree, tree), &request.argv);
	struct proc_result result;
	struct err err = ERR_INIT;
	assert_int_equal(proc_run(arena, &request, &result, &err), ST_OK);
	if (!proc_ok(&result))
		fail_msg("%s: %s", cc, result.err);
}

static struct token_difference compare_sources(struct fixture *fixture, const char *cc, const char *a, const char *b)
{
	preprocess(fixture, cc, "a", a);
	preprocess(fixture, cc, "b", b);
	return compare(fixture, NULL, NULL);
}

static void what_compilers_print(void **state)
{
	static const char *const compilers[] = {"gcc-12", "clang-19"};
	for (size_t i = 0; i < 2; i++) {
		const char *cc = compilers[i];
		struct token_difference difference;
		/* an emptied macro that nobody expands */
		assert_false(compare_sources(*state, cc, "#define R\nint f(int *p);\n", "#define R restrict\nint f(int *p);\n").differ);
		difference = compare_sources(*state, cc, "#define R\nint f(int *R p);\n", "#define R restrict\nint f(int *R p);\n");
		assert_true(difference.differ);
		assert_string_equal(difference.first, "x.c:2: nothing | `restrict`");
		assert_false(compare_sources(*state, cc, "const char *f = __FILE__;\n", "/* c */ const char *f = __FILE__;\n").differ);
		/* only lines moved */
		assert_false(compare_sources(*state, cc, "int l = __LINE__;\n", "\n\nint l = __LINE__;\n").differ);
		/* a number that happens to be its line number is no __LINE__ */
		assert_true(compare_sources(*state, cc, "\nint l = 2;\n", "\n\nint l = 3;\n").differ);
		assert_true(compare_sources(*state, cc, "int l = __LINE__;\n", "\n\nint l = 3;\n").differ);
		assert_true(compare_sources(*state, cc, "int l = __LINE__ + 1;\n", "\nint l = __LINE__ + 2;\n").differ);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(equal_streams, setup, teardown),
	    cmocka_unit_test_setup_teardown(different_streams, setup, teardown),
	    cmocka_unit_test_setup_teardown(assembler_lines_are_statements, setup, teardown),
	    cmocka_unit_test_setup_teardown(flags_count_unless_they_act_on_tokens, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_compilers_print, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
