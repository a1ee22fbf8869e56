/* compare_code on units compiled here: functions, data, record layouts, shared and unusable objects. */
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

static volatile sig_atomic_t interrupted;

struct fixture {
	struct session session;
	char dir[64];
	struct unit units[2];
	struct variant variants[2];
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	arena_init(&fixture->session.arena);
	snprintf(fixture->dir, sizeof fixture->dir, "/tmp/assay-code-XXXXXX");
	if (!mkdtemp(fixture->dir) || mkdir(path_join(&fixture->session.arena, fixture->dir, "a"), 0700) != 0 ||
	    mkdir(path_join(&fixture->session.arena, fixture->dir, "b"), 0700) != 0)
		return -1;
	interrupted = 0;
	fixture->session.interrupted = &interrupted;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	static const char *const names[] = {"a/x.c", "b/x.c", "a/x.i", "b/x.i", "a/x.o", "b/x.o", "a", "b"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		remove(path_join(&fixture->session.arena, fixture->dir, names[i]));
	rmdir(fixture->dir);
	arena_release(&fixture->session.arena);
	free(fixture);
	return 0;
}

static void run(struct fixture *fixture, const char *command)
{
	struct arena *arena = &fixture->session.arena;
	struct proc_request request = {.directory = fixture->dir, .cpu = -1};
	assert_true(shell_split(arena, command, &request.argv));
	struct proc_result result;
	struct err err = ERR_INIT;
	assert_int_equal(proc_run(arena, &request, &result, &err), ST_OK);
	if (!proc_ok(&result))
		fail_msg("%s: %s", command, result.err);
}

static void prepare(struct fixture *fixture, int i, const char *cc, const char *text)
{
	struct arena *arena = &fixture->session.arena;
	const char *tree = path_join(arena, fixture->dir, i ? "b" : "a");
	const char *source = path_join(arena, tree, "x.c");
	FILE *file = fopen(source, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	struct unit *unit = &fixture->units[i];
	*unit = (struct unit){.source = "x.c", .directory = tree, .object = path_join(arena, tree, "x.o"),
	                      .preprocessed = path_join(arena, tree, "x.i")};
	assert_true(shell_split(arena, arena_printf(arena, "%s -ffile-prefix-map=%s=. %s", cc, tree, source), &unit->argv));
	const char *command = text_join(arena, &unit->argv, " ");
	run(fixture, arena_printf(arena, "%s -c -o %s", command, unit->object));
	run(fixture, arena_printf(arena, "%s -E -o %s", command, unit->preprocessed));
	fixture->variants[i] = (struct variant){.name = i ? "candidate" : "baseline", .tree = tree, .place = tree,
	                                        .units = {.at = unit, .count = 1, .cap = 1}};
}

static enum status compare(struct fixture *fixture, struct code_difference *ret, struct err *err)
{
	*err = ERR_INIT;
	return compare_code(&fixture->session, &fixture->variants[0], &fixture->variants[1], ret, err);
}

static struct code_difference compare_texts(struct fixture *fixture, const char *cc, const char *a, const char *b)
{
	prepare(fixture, 0, cc, a);
	prepare(fixture, 1, cc, b);
	struct code_difference difference;
	struct err err;
	if (compare(fixture, &difference, &err) != ST_OK)
		fail_msg("%s", err.text);
	assert_int_equal(fixture->session.run.notes.count, 0);
	return difference;
}

static void functions_are_named_with_counts_and_text(void **state)
{
	struct code_difference difference = compare_texts(*state, "gcc-12 -O2", "int f(int *p) { return p[2]; }\nint g(int x) { return x; }\n",
	                                                  "int f(int *p) { return p[3]; }\nint g(int x) { return x; }\n");
	assert_true(difference.differ);
	assert_int_equal(difference.units, 1);
	assert_int_equal(difference.functions, 2);
	assert_int_equal(difference.changed.count, 1);
	assert_int_equal(difference.data.count, 0);
	assert_int_equal(difference.records.count, 0);
	const struct function_change *change = &difference.changed.at[0];
	assert_string_equal(change->unit, "x.c");
	assert_string_equal(change->name, "f");
	assert_int_equal(change->change, CHANGE_CHANGED);
	assert_string_equal(change->first, "movl 8(%rdi), %eax | movl 12(%rdi), %eax");
	assert_int_equal(change->baseline_instructions, change->candidate_instructions);
	assert_in_range(change->baseline_instructions, 2, 3); /* with or without endbr64 */
}

static void inlining_shows_as_what_became_of_the_functions(void **state)
{
	static const char body[] = "int h(int x) { return x * 31 + (x >> 3); }\nint f(int x) { return h(x) + h(x + 1); }\n";
	char never[256], always[256];
	snprintf(never, sizeof never, "static __attribute__((noinline)) %s", body);
	snprintf(always, sizeof always, "static __attribute__((always_inline)) inline %s", body);
	struct code_difference difference = compare_texts(*state, "gcc-12 -O2", never, always);
	assert_int_equal(difference.changed.count, 2);
	assert_string_equal(difference.changed.at[0].name, "f");
	assert_int_equal(difference.changed.at[0].change, CHANGE_CHANGED);
	assert_string_equal(difference.changed.at[1].name, "h");
	assert_int_equal(difference.changed.at[1].change, CHANGE_REMOVED);
	assert_int_equal(difference.changed.at[1].candidate_instructions, 0);
}

/* No code of this unit knows the size of the record that changed. */
static void layouts_are_compared(void **state)
{
	struct code_difference difference = compare_texts(*state, "clang-19 -O2", "struct s { int a; long b; char c; };\nint f(struct s *s) { return s->a; }\n",
	                                                  "struct s { int a; char c; long b; };\nint f(struct s *s) { return s->a; }\n");
	assert_int_equal(difference.changed.count, 0);
	assert_int_equal(difference.records.count, 1);
	assert_true(difference.differ);
	assert_non_null(strstr(difference.records.at[0].name, "s"));
	assert_non_null(strstr(difference.records.at[0].what, "size 16, was 24"));
	difference = compare_texts(*state, "gcc-12 -O2", "struct s { int a, b; };\nint f(struct s *s) { return s->a; }\n",
	                           "struct s { int a, b; } __attribute__((aligned(64)));\nint f(struct s *s) { return s->a; }\n");
	assert_int_equal(difference.records.count, 1);
	assert_non_null(strstr(difference.records.at[0].what, "alignment 64, was 4"));
	difference = compare_texts(*state, "gcc-12 -O2", "struct s { int a, b, c; };\nint f(struct s *s) { return s->c; }\n",
	                           "struct s { int b, a, c; };\nint f(struct s *s) { return s->c; }\n");
	assert_int_equal(difference.records.count, 1);
	/* a new name for a field is no new layout */
	difference = compare_texts(*state, "gcc-12 -O2", "struct s { int a, b; };\nint f(struct s *s) { return s->b; }\n",
	                           "struct s { int a, c; };\nint f(struct s *s) { return s->c; }\n");
	assert_false(difference.differ);
	/* unnamed records hold their copy's path in their name */
	difference = compare_texts(*state, "gcc-12 -O2", "typedef struct { struct { int a; } x; int y; } t;\nint f(t *s) { return s->y; }\n",
	                           "/**/ int g; typedef struct { struct { int a; } x; int y; } t;\nint f(t *s) { return s->y; }\n");
	assert_int_equal(difference.records.count, 0);
	assert_int_equal(difference.data.count, 1);
}

static void equal_units_are_equal(void **state)
{
	struct fixture *fixture = *state;
	struct code_difference difference = compare_texts(fixture, "gcc-12 -O2 -g", "int f(int a) { return a + 1; }\n",
	                                                  "\n/* moved */\nint f(int b)\n{ return b + 1; }\n");
	assert_false(difference.differ);
	assert_int_equal(difference.functions, 1);
	/* an object that both share is not even opened */
	struct err err;
	fixture->units[0].object = fixture->units[1].object = "/nonexistent.o";
	assert_int_equal(compare(fixture, &difference, &err), ST_OK);
	assert_false(difference.differ);
	assert_int_equal(difference.units, 1);
}

static void unusable_objects_are_one_sentence(void **state)
{
	struct fixture *fixture = *state;
	struct code_difference difference;
	struct err err;
	prepare(fixture, 0, "gcc-12 -O2", "int f;\n");
	prepare(fixture, 1, "gcc-12 -O2 -flto", "int f;\n");
	assert_int_equal(compare(fixture, &difference, &err), ST_INPUT);
	assert_non_null(strstr(err.text, "compile without -flto"));
	assert_null(strchr(err.text, '\n'));
	prepare(fixture, 1, "clang-19 -O2 -flto", "int f;\n");
	assert_int_equal(compare(fixture, &difference, &err), ST_INPUT);
	assert_non_null(strstr(err.text, "LLVM bitcode"));
	fixture->units[1].object = "/nonexistent.o";
	assert_int_equal(compare(fixture, &difference, &err), ST_SYSTEM);
	fixture->units[1].object = NULL;
	assert_int_equal(compare(fixture, &difference, &err), ST_INPUT);
	interrupted = 1;
	assert_int_equal(compare(fixture, &difference, &err), ST_INTERRUPTED);
}

static void units_of_one_side_count(void **state)
{
	struct fixture *fixture = *state;
	struct code_difference difference;
	struct err err;
	prepare(fixture, 0, "gcc-12 -O2", "int f;\n");
	prepare(fixture, 1, "gcc-12 -O2", "int f;\n");
	fixture->units[1].source = "y.c";
	assert_int_equal(compare(fixture, &difference, &err), ST_OK);
	assert_true(difference.differ);
	assert_int_equal(difference.data.count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(functions_are_named_with_counts_and_text, setup, teardown),
	    cmocka_unit_test_setup_teardown(inlining_shows_as_what_became_of_the_functions, setup, teardown),
	    cmocka_unit_test_setup_teardown(layouts_are_compared, setup, teardown),
	    cmocka_unit_test_setup_teardown(equal_units_are_equal, setup, teardown),
	    cmocka_unit_test_setup_teardown(unusable_objects_are_one_sentence, setup, teardown),
	    cmocka_unit_test_setup_teardown(units_of_one_side_count, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
