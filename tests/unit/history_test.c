/* What changed since a revision, in a repository that the test makes. */
#include "port/history.h"

#include "base/text.h"
#include "port/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <git2.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/assay-history-XXXXXX";

static const char *at(struct arena *arena, const char *name)
{
	return path_join(arena, folder, name);
}

static void put(struct arena *arena, const char *name, const char *text)
{
	struct err err = ERR_INIT;
	const char *path = at(arena, name);
	assert_int_equal(folder_make(path_dir(arena, path), &err), ST_OK);
	assert_int_equal(file_write(path, text, strlen(text), &err), ST_OK);
}

static void commit(git_repository *repository, const char *tag)
{
	git_index *index;
	git_oid tree_id, id;
	git_tree *tree;
	git_signature *signature;
	git_object *object;
	assert_int_equal(git_repository_index(&index, repository), 0);
	assert_int_equal(git_index_add_all(index, NULL, 0, NULL, NULL), 0);
	assert_int_equal(git_index_write(index), 0);
	assert_int_equal(git_index_write_tree(&tree_id, index), 0);
	assert_int_equal(git_tree_lookup(&tree, repository, &tree_id), 0);
	assert_int_equal(git_signature_new(&signature, "test", "test@example.org", 1600000000, 0), 0);
	assert_int_equal(git_commit_create(&id, repository, NULL, signature, signature, NULL, "test", tree, 0, NULL), 0);
	assert_int_equal(git_object_lookup(&object, repository, &id, GIT_OBJECT_COMMIT), 0);
	assert_int_equal(git_tag_create_lightweight(&id, repository, tag, object, 0), 0);
	git_object_free(object);
	git_signature_free(signature);
	git_tree_free(tree);
	git_index_free(index);
}

static const char before[] = "#include <stdio.h>\n"      /* 1 */
							 "\n"
							 "int first(int a)\n"        /* 3 */
							 "{\n"
							 "\treturn a;\n"
							 "}\n"
							 "\n"
							 "static int\n"              /* 8 */
							 "second(int a)\n"
							 "{\n"
							 "\tif (a)\n"
							 "\t\tgoto out;\n"
							 "\ta++;\n"                  /* 13 */
							 "out:\n"
							 "\treturn a;\n"
							 "}\n"
							 "\n"
							 "#define LIMIT 3\n";        /* 18 */

static int make(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	assert_non_null(mkdtemp(folder));
	git_libgit2_init();
	git_repository *repository;
	assert_int_equal(git_repository_init(&repository, folder, 0), 0);
	put(&arena, "lib/a.c", before);
	put(&arena, "lib/old.c", before);
	put(&arena, "other.c", "int other;\n");
	commit(repository, "base");
	/* Inside second(); a line less in the middle of nowhere; a new file; a file outside lib. */
	char *changed = strdup(before);
	memcpy(strstr(changed, "a++"), "a--", 3);
	put(&arena, "lib/a.c", changed);
	free(changed);
	put(&arena, "lib/new.c", "int f(void)\n{\n\treturn 1;\n}\n");
	put(&arena, "other.c", "int other, another;\n");
	git_repository_free(repository);
	arena_release(&arena);
	return 0;
}

static int clean(void **state)
{
	(void)state;
	struct err err = ERR_INIT;
	git_libgit2_shutdown();
	return tree_remove(folder, &err) != ST_OK;
}

static void test_changes(void **state)
{
	(void)state;
	struct arena arena;
	struct changed_list changes;
	struct err err = ERR_INIT;
	arena_init(&arena);
	if (history_changed_since(&arena, folder, "base", &changes, &err) != ST_OK)
		fail_msg("%s", err.text);
	assert_int_equal(changes.count, 3);
	/* Of a folder inside, with its own names. */
	if (history_changed_since(&arena, at(&arena, "lib"), "base", &changes, &err) != ST_OK)
		fail_msg("%s", err.text);
	assert_int_equal(changes.count, 2);
	bool lines = false, whole = false;
	for (size_t i = 0; i < changes.count; i++) {
		lines |= strcmp(changes.at[i].file, "a.c") == 0 && changes.at[i].first == 13 && changes.at[i].last == 13;
		whole |= strcmp(changes.at[i].file, "new.c") == 0 && changes.at[i].first == 1 && changes.at[i].last == UINT_MAX;
	}
	assert_true(lines && whole);
	arena_release(&arena);
}

static void test_touches(void **state)
{
	(void)state;
	struct arena arena;
	struct changed_list changes;
	struct err err = ERR_INIT;
	arena_init(&arena);
	assert_int_equal(history_changed_since(&arena, at(&arena, "lib"), "base", &changes, &err), ST_OK);
	/* The line, and all of the function around it, from the type above its name on; nothing else. */
	static const unsigned inside[] = {8, 9, 10, 11, 13, 15, 16}, outside[] = {1, 3, 5, 6, 7, 17, 18};
	for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
		if (!history_touches(&changes, "a.c", before, inside[i]))
			fail_msg("line %u", inside[i]);
	for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
		if (history_touches(&changes, "a.c", before, outside[i]))
			fail_msg("line %u", outside[i]);
	assert_false(history_touches(&changes, "old.c", before, 13));
	assert_true(history_touches(&changes, "new.c", "", 3));
	arena_release(&arena);
}

static void test_errors(void **state)
{
	(void)state;
	struct arena arena;
	struct changed_list changes;
	arena_init(&arena);
	struct err err = ERR_INIT;
	assert_int_equal(history_changed_since(&arena, folder, "no-such-revision", &changes, &err), ST_USAGE);
	assert_non_null(strstr(err.text, "no-such-revision"));
	err = ERR_INIT;
	assert_int_equal(history_changed_since(&arena, "/proc", "base", &changes, &err), ST_INPUT);
	assert_non_null(strstr(err.text, "no git repository"));
	err = ERR_INIT;
	assert_int_equal(history_changed_since(&arena, "/no/such/folder", "base", &changes, &err), ST_INPUT);
	arena_release(&arena);
}

/* A repository of its own: the working tree is not looked at, a folder inside has its own names. */
static void test_revisions(void **state)
{
	(void)state;
	struct arena arena;
	struct err err = ERR_INIT;
	struct revisions revisions;
	arena_init(&arena);
	char outer[sizeof folder];
	strcpy(outer, folder);
	strcpy(folder, "/tmp/assay-history-XXXXXX");
	assert_non_null(mkdtemp(folder));
	git_repository *repository;
	assert_int_equal(git_repository_init(&repository, folder, 0), 0);
	put(&arena, "lib/a.c", "int a;\n");
	put(&arena, "lib/run", "#!/bin/sh\n");
	put(&arena, "other.c", "int other;\n");
	assert_int_equal(chmod(at(&arena, "lib/run"), 0755), 0);
	assert_int_equal(symlink("a.c", at(&arena, "lib/link.c")), 0);
	commit(repository, "one");
	put(&arena, "lib/a.c", "int b;\n");
	put(&arena, "lib/new.c", "int c;\n");
	put(&arena, "other.c", "int changed;\n");
	commit(repository, "two");
	git_repository_free(repository);
	put(&arena, "lib/a.c", "int dirty;\n");

	const char *lib = at(&arena, "lib"), *out = at(&arena, "out");
	if (history_revisions(&arena, lib, "one", "two", out, &revisions, &err) != ST_OK)
		fail_msg("%s", err.text);
	const char *text;
	size_t size;
	assert_int_equal(file_read(&arena, path_join(&arena, out, "a.c"), &text, &size, &err), ST_OK);
	assert_string_equal(text, "int a;\n");
	assert_int_equal(access(path_join(&arena, out, "run"), X_OK), 0);
	char target[16] = "";
	assert_int_equal(readlink(path_join(&arena, out, "link.c"), target, sizeof target - 1), 3);
	assert_int_not_equal(access(path_join(&arena, out, "new.c"), F_OK), 0);
	assert_int_not_equal(access(path_join(&arena, out, "other.c"), F_OK), 0);
	assert_non_null(strstr(revisions.diff, "--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-int a;\n+int b;\n"));
	assert_non_null(strstr(revisions.diff, "+++ b/new.c"));
	assert_null(strstr(revisions.diff, "changed"));
	assert_int_equal(strlen(revisions.from), 12);
	assert_string_not_equal(revisions.from, revisions.to);
	/* An id of 12 digits names the same again. */
	struct revisions again;
	assert_int_equal(history_revisions(&arena, lib, revisions.from, revisions.to, at(&arena, "out2"), &again, &err), ST_OK);
	assert_string_equal(again.diff, revisions.diff);
	assert_int_equal(history_revisions(&arena, lib, "one", "three", at(&arena, "out3"), &again, &err), ST_USAGE);
	assert_non_null(strstr(err.text, "no revision 'three'"));
	assert_int_equal(tree_remove(folder, &err), ST_OK);
	strcpy(folder, outer);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes), cmocka_unit_test(test_touches),
		cmocka_unit_test(test_revisions),
	                                   cmocka_unit_test(test_errors)};
	return cmocka_run_group_tests(tests, make, clean);
}
