#include "base/extract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void patterns_are_checked(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	assert_null(extract_problem(&arena, "([0-9.]+) MB/s"));
	assert_non_null(strstr(extract_problem(&arena, "[0-9]+"), "has 0 groups"));
	assert_non_null(strstr(extract_problem(&arena, "(a)(b)"), "has 2 groups"));
	assert_non_null(strstr(extract_problem(&arena, "([0-9"), "no regular expression"));
	arena_release(&arena);
}

static void numbers_are_found(void **state)
{
	(void)state;
	static const struct {
		const char *pattern, *text;
		double value; /* 0: none */
	} table[] = {
	    {"([0-9.]+) MB/s", "read 12.5 MB/s\nwrite 7 MB/s\n", 12.5},
	    {"^write ([0-9.]+)", "read 12.5 MB/s\nwrite 7 MB/s\n", 7},
	    {"^([0-9.]+)$", "1 2\n3\n", 3},
	    {"t=(.*)s", "t=1.5e-3s", 1.5e-3},
	    {"([0-9.]+) MB/s", "nothing of the kind", 0},
	    {"t=([^ ]*)", "t= x", 0},      /* empty */
	    {"t=([^ ]*)", "t=fast x", 0},  /* no number */
	    {"t=([^ ]*)", "t=nan x", 0},
	    {"t=([^ ]*)", "t=inf x", 0},
	    {"t=([^ ]*)", "t=0x10 x", 0},
	    {"t=([^ ]*)", "t=1.2.3 x", 0},
	    {"t=([^ ]*)", "t=0 x", 0},     /* ratios need more than zero */
	    {"t=([^ ]*)", "t=-3 x", 0},
	    {"t=([^ ]*)", "t=1e999 x", 0},
	    {"a|([0-9]+)", "a", 0},        /* the group took no part */
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		double value = -1;
		bool found = extract_number(table[i].pattern, table[i].text, &value, NULL, NULL);
		if (found != (table[i].value > 0) || (found && value != table[i].value))
			fail_msg("%s in %s: %d %g", table[i].pattern, table[i].text, found, value);
	}
	double value;
	size_t start, end;
	assert_true(extract_number("([0-9.]+) MB/s", "read 12.5 MB/s", &value, &start, &end));
	assert_int_equal(start, 5);
	assert_int_equal(end, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(patterns_are_checked),
	    cmocka_unit_test(numbers_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
