#include "port/patch.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct fixture {
	struct arena arena;
	char dir[64];
};

static void put(struct fixture *f, const char *name, const char *text)
{
	FILE *file = fopen(path_join(&f->arena, f->dir, name), "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static const char ten[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	arena_init(&f->arena);
	strcpy(f->dir, "/tmp/assay-patch-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	mkdir(path_join(&f->arena, f->dir, "lib"), 0777);
	put(f, "lib/x.c", ten);
	put(f, "y.c", "y\n");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];
	snprintf(command, sizeof command, "rm -rf %s", f->dir);
	int code = system(command);
	arena_release(&f->arena);
	free(f);
	return code;
}

static const char *apply(struct fixture *f, const char *text, struct patched_list *ret)
{
	struct patch patch;
	struct err err = ERR_INIT;
	*ret = (struct patched_list){0};
	if (patch_parse(&f->arena, text, strlen(text), f->dir, &patch, &err) == ST_OK &&
	    patch_apply(&f->arena, &patch, f->dir, ret, &err) == ST_OK)
		return NULL;
	return arena_strdup(&f->arena, err.text);
}

#define HUNK "@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n"

static void every_style_of_paths_applies(void **state)
{
	struct fixture *f = *state;
	static const char *const texts[] = {
	    "diff --git a/lib/x.c b/lib/x.c\nindex 123..456 100644\n--- a/lib/x.c\n+++ b/lib/x.c\n" HUNK,
	    "--- a/lib/x.c\n+++ b/lib/x.c\n" HUNK,
	    "--- lib/x.c\n+++ lib/x.c\n" HUNK,
	    "--- lib/x.c.orig\t2026-01-01 00:00\n+++ lib/x.c\t2026-01-02\n" HUNK,
	    "diff -ru old/lib/x.c new/lib/x.c\n--- old/lib/x.c\n+++ new/lib/x.c\n" HUNK,
	    "--- i/lib/x.c\r\n+++ w/lib/x.c\r\n" HUNK,
	    "From 123\nSubject: x\n---\n lib/x.c | 2\n\n--- a/lib/x.c\n+++ b/lib/x.c\n" HUNK "-- \n2.39\n",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct patched_list patched;
		const char *said = apply(f, texts[i], &patched);
		if (said)
			fail_msg("%s -> %s", texts[i], said);
		assert_int_equal(patched.count, 1);
		assert_string_equal(patched.at[0].path, "lib/x.c");
		assert_string_equal(patched.at[0].text, "1\n2\nthree\n4\n5\n6\n7\n8\n9\n10\n");
	}
}

static void hunks_may_have_moved(void **state)
{
	struct fixture *f = *state;
	struct patched_list patched;
	assert_null(apply(f, "--- a/lib/x.c\n+++ b/lib/x.c\n@@ -3,3 +3,3 @@\n 7\n-8\n+eight\n 9\n", &patched));
	assert_string_equal(patched.at[0].text, "1\n2\n3\n4\n5\n6\n7\neight\n9\n10\n");
}

static void files_come_and_go(void **state)
{
	struct fixture *f = *state;
	struct patched_list patched;
	assert_null(apply(f,
	                  "--- /dev/null\n+++ b/lib/new.c\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
	                  "--- a/y.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n",
	                  &patched));
	assert_int_equal(patched.count, 2);
	assert_string_equal(patched.at[0].path, "lib/new.c");
	assert_string_equal(patched.at[0].text, "a\nb");
	assert_string_equal(patched.at[1].path, "y.c");
	assert_null(patched.at[1].text);
}

static void what_cannot_be_applied_is_said_in_one_sentence(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *text, *said;
	} table[] = {
	    {"--- a/lib/x.c\n+++ b/lib/x.c\n" HUNK "@@ -7,3 +7,3 @@\n 7\n-acht\n+eight\n 9\n",
	     "it does not apply to lib/x.c: hunk 2 (line 7 of the file, line 8 of the patch)"},
	    {"--- a/lib/x.c\n+++ b/lib/x.c\n" HUNK "--- a/y.c\n+++ b/y.c\n@@ -1 +1 @@\n-z\n+w\n",
	     "it does not apply to y.c: hunk 1 (line 1"},
	    {"--- a/lib/none.c\n+++ b/lib/none.c\n" HUNK, "it changes lib/none.c, which is not in the source tree"},
	    {"--- /dev/null\n+++ b/y.c\n@@ -0,0 +1 @@\n+a\n", "it creates y.c, which exists already"},
	    {"--- a/../y.c\n+++ b/../y.c\n@@ -1 +1 @@\n-y\n+w\n", "leaves the source tree"},
	    {"--- a/lib/../../y.c\n+++ b/lib/../../y.c\n@@ -1 +1 @@\n-y\n+w\n", "leaves the source tree"},
	    {"--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-y\n+w\n", "leaves the source tree"},
	    {"--- a//etc/passwd\n+++ b//etc/passwd\n@@ -1 +1 @@\n-y\n+w\n", "leaves the source tree"},
	    {"--- \"a/\\056\\056/y.c\"\n+++ \"b/\\056\\056/y.c\"\n@@ -1 +1 @@\n-y\n+w\n", "leaves the source tree"},
	    {"--- a/.git/config\n+++ b/.git/config\n@@ -1 +1 @@\n-y\n+w\n", "leaves the source tree"},
	    {"hello\n", "the patch changes no file"},
	    {"", "the patch changes no file"},
	    {"--- a/y.c\n+++ b/y.c\n@@ -1,2 +1,2 @@\n-y\n", "line 5 of the patch: the hunk of line 3 ends early"},
	    {"--- a/y.c\n+++ b/y.c\n@@ nonsense\n", "not a hunk header"},
	    {"--- a/y.c\n+++ b/y.c\n", "has no hunk"},
	    {"--- a/y.c\n+++ b/z.c\n@@ -1 +1 @@\n-y\n+w\n", "is renamed to"},
	    {"diff --git a/p b/p\nBinary files a/p and b/p differ\n", "binary changes"},
	    {"--- a/y.c\n+++ b/y.c\n@@ -1 +1 @@\n y\n", "changes nothing"},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct patched_list patched;
		const char *said = apply(f, table[i].text, &patched);
		if (!said || !strstr(said, table[i].said))
			fail_msg("%s -> %s (wanted %s)", table[i].text, said ? said : "applied", table[i].said);
		assert_null(strchr(said, '\n'));
	}
}

static bool is_in(struct fixture *f, const char *text)
{
	struct patch patch;
	struct err err = ERR_INIT;
	assert_int_equal(patch_parse(&f->arena, text, strlen(text), f->dir, &patch, &err), ST_OK);
	return patch_is_in(&f->arena, &patch, f->dir);
}

static void what_the_tree_has_already_is_known(void **state)
{
	struct fixture *f = *state;
	assert_true(is_in(f, "--- a/lib/x.c\n+++ b/lib/x.c\n@@ -3,3 +3,3 @@\n 7\n-acht\n+8\n 9\n"));
	assert_true(is_in(f, "--- a/lib/x.c\n+++ b/lib/x.c\n@@ -1,2 +1,3 @@\n 1\n+2\n 3\n")); /* an insertion */
	assert_true(is_in(f, "--- /dev/null\n+++ b/y.c\n@@ -0,0 +1 @@\n+y\n"));
	assert_false(is_in(f, "--- a/lib/x.c\n+++ b/lib/x.c\n@@ -3,3 +3,3 @@\n 7\n-8\n+eight\n 9\n")); /* not yet */
	assert_false(is_in(f, "--- a/lib/x.c\n+++ b/lib/x.c\n@@ -3,3 +3,3 @@\n 7\n-acht\n+huit\n 9\n")); /* another */
	assert_false(is_in(f, "--- a/lib/x.c\n+++ b/lib/x.c\n@@ -3 +2,0 @@\n-drei\n")); /* removed without context */
	/* One of two is there: not all of it. */
	assert_false(is_in(f, "--- a/lib/x.c\n+++ b/lib/x.c\n@@ -3,3 +3,3 @@\n 7\n-acht\n+8\n 9\n--- a/y.c\n+++ b/y.c\n@@ -1 +1 @@\n-y\n+w\n"));
}

static void hunks_are_located(void **state)
{
	struct fixture *f = *state;
	const char text[] = "--- a/lib/x.c\n+++ b/lib/x.c\n" HUNK "@@ -8 +8,2 @@\n-8\n+a\n+b\n";
	struct patch patch;
	struct err err = ERR_INIT;
	assert_int_equal(patch_parse(&f->arena, text, strlen(text), NULL, &patch, &err), ST_OK);
	assert_int_equal(patch.files.count, 1);
	assert_int_equal(patch.files.at[0].hunks.count, 2);
	assert_int_equal(patch.files.at[0].hunks.at[0].old_line, 2);
	assert_int_equal(patch.files.at[0].hunks.at[0].old_lines, 3);
	assert_int_equal(patch.files.at[0].hunks.at[1].new_lines, 2);
	const char *again = patch_text(&f->arena, &patch);
	assert_true(text_starts(again, "diff --git a/lib/x.c b/lib/x.c\n--- a/lib/x.c\n+++ b/lib/x.c\n@@ -2,3 +2,3 @@\n"));
}

static void what_is_made_applies(void **state)
{
	struct fixture *f = *state;
	const char *diff = NULL;
	struct err err = ERR_INIT;
	const char changed[] = "0\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n10";
	assert_int_equal(patch_make(&f->arena, "y.c", "y\n", 2, "y\n", 2, &diff, &err), ST_OK);
	assert_null(diff);
	assert_int_equal(patch_make(&f->arena, "lib/x.c", ten, strlen(ten), changed, strlen(changed), &diff, &err), ST_OK);
	assert_int_equal(patch_make(&f->arena, "y.c", "y\n", 2, "", 0, &diff, &err), ST_OK);
	assert_int_equal(patch_make(&f->arena, "z.c", NULL, 0, "z\n", 2, &diff, &err), ST_OK);
	assert_non_null(strstr(diff, "--- a/lib/x.c\n+++ b/lib/x.c\n@@ -1,3 +1,4 @@\n+0\n"));
	struct patched_list patched;
	assert_null(apply(f, diff, &patched));
	assert_int_equal(patched.count, 3);
	assert_string_equal(patched.at[0].text, changed);
	assert_string_equal(patched.at[1].text, "");
	assert_string_equal(patched.at[2].text, "z\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(every_style_of_paths_applies, setup, teardown),
	    cmocka_unit_test_setup_teardown(hunks_may_have_moved, setup, teardown),
	    cmocka_unit_test_setup_teardown(files_come_and_go, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_cannot_be_applied_is_said_in_one_sentence, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_the_tree_has_already_is_known, setup, teardown),
	    cmocka_unit_test_setup_teardown(hunks_are_located, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_is_made_applies, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
