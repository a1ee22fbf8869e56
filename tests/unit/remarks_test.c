/* Records that clang-19 writes itself, and records that are broken. */
#include "port/remarks.h"

#include "base/text.h"
#include "port/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct arena arena;
static char folder[64];
static struct remark_list remarks;
static struct err err;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena);
	err = ERR_INIT;
	remarks = (struct remark_list){0};
	strcpy(folder, "/tmp/assay-remarks-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	static const char *const names[] = {"a.c", "a.yaml", "a.o"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unlink(path_join(&arena, folder, names[i]));
	arena_release(&arena);
	return rmdir(folder);
}

static const char *put(const char *name, const char *text)
{
	const char *path = path_join(&arena, folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
	return path;
}

static void record(const char *source)
{
	put("a.c", source);
	struct proc_request request = {.directory = folder, .timeout_s = 60, .cpu = -1};
	struct proc_result result;
	assert_true(shell_split(&arena, "clang-19 -O2 -c a.c -o a.o -fsave-optimization-record -foptimization-record-file=a.yaml",
	                        &request.argv));
	assert_int_equal(proc_run(&arena, &request, &result, &err), ST_OK);
	if (result.end == PROC_NOT_FOUND)
		skip();
	assert_true(proc_ok(&result));
	if (remarks_read(&arena, path_join(&arena, folder, "a.yaml"), &remarks, &err) != ST_OK)
		fail_msg("%s", err.text);
	assert_true(remarks.count > 0);
}

/* The first with this cause on one of the lines, or NULL. */
static const struct remark *found(enum remark_cause cause, const char *file, unsigned first_line, unsigned last_line)
{
	for (size_t i = 0; i < remarks.count; i++)
		if (remark_cause(&remarks.at[i]) == cause && remark_is_at(&remarks.at[i], file, first_line, last_line))
			return &remarks.at[i];
	return NULL;
}

static void clang_says_what_holds_it_up(void **state)
{
	(void)state;
	record("void sum_up(double *sum, const double *a, double *d, unsigned n)\n"
	       "{\n"
	       "\tfor (unsigned i = 0; i < n; i++) {\n"
	       "\t\t*sum += a[i];\n"
	       "\t\td[i] = a[i];\n"
	       "\t}\n"
	       "}\n"
	       "double total(const double *a, unsigned n)\n"
	       "{\n"
	       "\tdouble sum = 0;\n"
	       "\tfor (unsigned i = 0; i < n; i++)\n"
	       "\t\tsum += a[i];\n"
	       "\treturn sum;\n"
	       "}\n");
	const struct remark *alias = found(CAUSE_ALIAS, path_join(&arena, folder, "a.c"), 3, 6);
	assert_non_null(alias);
	assert_string_equal(alias->function, "sum_up");
	assert_string_equal(alias->file, "a.c");
	assert_int_equal(alias->line, 4);
	assert_true(alias->column > 0);
	assert_int_equal(alias->kind, REMARK_MISSED);
	assert_true(strlen(alias->text) > 10);
	const struct remark *order = found(CAUSE_ORDER, "a.c", 11, 12);
	assert_non_null(order);
	assert_string_equal(order->function, "total");
	assert_string_equal(order->pass, "loop-vectorize");
	assert_int_equal(order->kind, REMARK_ANALYSIS);
	assert_null(found(CAUSE_ALIAS, "a.c", 8, 14));
	assert_null(found(CAUSE_ORDER, "a.c", 1, 7));
	assert_null(found(CAUSE_ORDER, "ba.c", 1, 100));
}

static void nothing_holds_the_local_sum_up(void **state)
{
	(void)state;
	record("void sum_up(int *sum, const int *a, int *restrict d, unsigned n)\n"
	       "{\n"
	       "\tint local = *sum;\n"
	       "\tfor (unsigned i = 0; i < n; i++) {\n"
	       "\t\tlocal += a[i];\n"
	       "\t\td[i] = a[i];\n"
	       "\t}\n"
	       "\t*sum = local;\n"
	       "}\n");
	assert_null(found(CAUSE_ALIAS, "a.c", 1, 9));
	assert_null(found(CAUSE_ORDER, "a.c", 1, 9));
	bool passed = false;
	for (size_t i = 0; i < remarks.count; i++)
		passed |= remarks.at[i].kind == REMARK_PASSED && text_equal(remarks.at[i].pass, "loop-vectorize");
	assert_true(passed);
}

static enum status parse(const char *text)
{
	err = ERR_INIT;
	return remarks_parse(&arena, text, strlen(text), "x.yaml", &remarks, &err);
}

static void odd_records(void **state)
{
	(void)state;
	assert_int_equal(parse(""), ST_OK);
	assert_int_equal(remarks.count, 0);
	assert_int_equal(parse("--- !Missed\nPass: licm\n...\n--- [a, b]\n--- text\n--- {Name: x}\n"), ST_OK);
	assert_int_equal(remarks.count, 0);
	assert_int_equal(parse("--- !Passed\nPass: p\nName: n\n"), ST_OK);
	assert_int_equal(remarks.count, 1);
	assert_null(remarks.at[0].file);
	assert_int_equal(remarks.at[0].line, 0);
	assert_string_equal(remarks.at[0].function, "");
	assert_string_equal(remarks.at[0].text, "");
	assert_int_equal(remark_cause(&remarks.at[0]), CAUSE_NONE);
	assert_int_equal(parse("--- !AnalysisAliasing\nPass: p\nName: n\nDebugLoc: {File: a.c, Line: -4, Column: 99999999999999999999}\n"
	                       "Args:\n  - String: 'one '\n  - Type: double\n    DebugLoc: {File: b.c, Line: 1}\n  - [x]\n  - {}\n"),
	                 ST_OK);
	assert_int_equal(remarks.count, 1);
	assert_int_equal(remarks.at[0].kind, REMARK_ANALYSIS);
	assert_int_equal(remarks.at[0].line, 0);
	assert_int_equal(remarks.at[0].column, 0);
	assert_string_equal(remarks.at[0].text, "one double");
}

/* A compiler that was killed leaves half a remark: what stands before it counts. */
static void a_cut_record_keeps_its_beginning(void **state)
{
	(void)state;
	assert_int_equal(parse("--- !Missed\nPass: gvn\nName: LoadClobbered\nDebugLoc: {File: a.c, Line: 3, Column: 1}\n...\n"
	                       "--- !Missed\nPass: gvn\nDebugLoc: {File: a.c, Li"),
	                 ST_INPUT);
	assert_int_equal(remarks.count, 1);
	assert_int_equal(remark_cause(&remarks.at[0]), CAUSE_ALIAS);
	if (!text_starts(err.text, "x.yaml:8: ") && !text_starts(err.text, "x.yaml:9: "))
		fail_msg("%s", err.text);
	err = ERR_INIT;
	assert_int_not_equal(remarks_read(&arena, path_join(&arena, folder, "none.yaml"), &remarks, &err), ST_OK);
	assert_non_null(strstr(err.text, "none.yaml"));
	assert_int_equal(remarks.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(clang_says_what_holds_it_up, setup, teardown),
	    cmocka_unit_test_setup_teardown(nothing_holds_the_local_sum_up, setup, teardown),
	    cmocka_unit_test_setup_teardown(odd_records, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_cut_record_keeps_its_beginning, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
