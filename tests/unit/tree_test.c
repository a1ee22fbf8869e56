#include "port/tree.h"
#include "base/text.h"
#include "port/proc.h"

#include <fcntl.h>
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
	struct err err;
	char dir[64];
	const char *tree, *snapshot, *clone;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	arena_init(&f->arena);
	strcpy(f->dir, "/tmp/assay-tree-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	f->tree = path_join(&f->arena, f->dir, "tree");
	f->snapshot = path_join(&f->arena, f->dir, "t0");
	f->clone = path_join(&f->arena, f->dir, "t1");
	*state = f;
	return folder_make(f->tree, &f->err) == ST_OK ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	struct err err = ERR_INIT;
	enum status status = tree_remove(f->dir, &err);
	if (status)
		fprintf(stderr, "%s\n", err.text);
	arena_release(&f->arena);
	free(f);
	return status ? -1 : 0;
}

static const char *at(struct fixture *f, const char *root, const char *name)
{
	return path_join(&f->arena, root, name);
}

static void put(struct fixture *f, const char *name, const char *text)
{
	const char *path = at(f, f->tree, name);
	assert_int_equal(folder_make(path_dir(&f->arena, path), &f->err), ST_OK);
	assert_int_equal(file_write(path, text, strlen(text), &f->err), ST_OK);
}

static const char *get(struct fixture *f, const char *root, const char *name)
{
	const char *text = NULL;
	struct err err = ERR_INIT;
	return file_read(&f->arena, at(f, root, name), &text, NULL, &err) == ST_OK ? text : NULL;
}

static struct tree_stats take(struct fixture *f)
{
	struct tree_stats stats;
	if (tree_snapshot(&f->arena, f->tree, f->snapshot, NULL, &stats, &f->err) != ST_OK)
		fail_msg("%s", f->err.text);
	if (tree_clone(f->snapshot, f->clone, &f->err) != ST_OK)
		fail_msg("%s", f->err.text);
	return stats;
}

static void a_clone_differs_only_where_it_is_changed(void **state)
{
	struct fixture *f = *state;
	put(f, "src/a.c", "a");
	put(f, "src/sub/b.h", "b");
	put(f, "src/a.o", "object");
	put(f, ".git/config", "x");
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	assert_int_equal(utimensat(AT_FDCWD, at(f, f->tree, "src/a.c"), old, 0), 0);
	struct tree_stats stats = take(f);
	assert_int_equal(stats.files, 2);
	assert_int_equal(stats.problems.count, 0);
	assert_null(get(f, f->snapshot, "src/a.o"));
	assert_null(get(f, f->snapshot, ".git/config"));
	assert_true(tree_same(&f->arena, f->snapshot, f->clone, "src/a.c"));
	assert_int_equal(tree_put(&f->arena, f->clone, "src/a.c", "changed", 7, &f->err), ST_OK);
	assert_int_equal(tree_put(&f->arena, f->clone, "new/dir/n.c", "new", 3, &f->err), ST_OK);
	assert_int_equal(tree_put(&f->arena, f->clone, "src/sub/b.h", NULL, 0, &f->err), ST_OK);
	assert_string_equal(get(f, f->clone, "src/a.c"), "changed");
	assert_string_equal(get(f, f->snapshot, "src/a.c"), "a");
	assert_string_equal(get(f, f->tree, "src/a.c"), "a");
	assert_null(get(f, f->clone, "src/sub/b.h"));
	assert_string_equal(get(f, f->snapshot, "src/sub/b.h"), "b");
	assert_false(tree_same(&f->arena, f->snapshot, f->clone, "src/a.c"));
	assert_false(tree_same(&f->arena, f->snapshot, f->clone, "new/dir/n.c"));
	assert_false(tree_same(&f->arena, f->snapshot, f->clone, "src/sub/b.h"));
	struct stat info;
	assert_int_equal(stat(at(f, f->clone, "src/a.c"), &info), 0);
	assert_int_equal(info.st_mtim.tv_sec, 1000); /* __TIMESTAMP__ */
	/* Later edits of the user's don't reach the run. */
	put(f, "src/a.c", "edited");
	assert_string_equal(get(f, f->snapshot, "src/a.c"), "a");
}

static void links_lead_where_they_should(void **state)
{
	struct fixture *f = *state;
	put(f, "src/a.h", "a");
	assert_int_equal(file_write(at(f, f->dir, "outside.h"), "outside", 7, &f->err), ST_OK);
	assert_int_equal(folder_make(at(f, f->dir, "folder"), &f->err), ST_OK);
	assert_int_equal(symlink("../src/a.h", at(f, f->tree, "src/relative.h")), 0);
	assert_int_equal(symlink(at(f, f->tree, "src/a.h"), at(f, f->tree, "src/absolute.h")), 0);
	assert_int_equal(symlink("../../tree/src/a.h", at(f, f->tree, "src/around.h")), 0);
	assert_int_equal(symlink("src", at(f, f->tree, "source")), 0);
	assert_int_equal(symlink(at(f, f->dir, "outside.h"), at(f, f->tree, "outside.h")), 0);
	assert_int_equal(symlink(at(f, f->dir, "folder"), at(f, f->tree, "folder")), 0);
	assert_int_equal(symlink("loop", at(f, f->tree, "loop")), 0);
	assert_int_equal(symlink("..", at(f, f->tree, "src/up")), 0);
	take(f);
	assert_int_equal(tree_put(&f->arena, f->clone, "src/a.h", "changed", 7, &f->err), ST_OK);
	assert_string_equal(get(f, f->clone, "src/relative.h"), "changed");
	assert_string_equal(get(f, f->clone, "src/absolute.h"), "changed");
	assert_string_equal(get(f, f->clone, "src/around.h"), "changed");
	assert_string_equal(get(f, f->clone, "source/a.h"), "changed");
	assert_string_equal(get(f, f->clone, "src/up/src/a.h"), "changed");
	assert_string_equal(get(f, f->clone, "outside.h"), "outside");
	struct stat info;
	assert_int_equal(lstat(at(f, f->clone, "outside.h"), &info), 0);
	assert_true(S_ISREG(info.st_mode));
	/* Nothing can be written through a link that leaves. */
	struct err err = ERR_INIT;
	assert_int_equal(tree_put(&f->arena, f->clone, "folder/x.h", "x", 1, &err), ST_INPUT);
	assert_non_null(strstr(err.text, "behind the link folder"));
}

static void what_cannot_be_copied_is_told(void **state)
{
	struct fixture *f = *state;
	put(f, "a.c", "a");
	const char *big = at(f, f->tree, "big.bin");
	int fd = open(big, O_WRONLY | O_CREAT, 0644);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 65ll * 1024 * 1024), 0);
	close(fd);
	mkfifo(at(f, f->tree, "fifo"), 0600);
	put(f, "secret.c", "s");
	chmod(at(f, f->tree, "secret.c"), 0);
	struct tree_stats stats = take(f);
	/* root reads everything */
	assert_int_equal(stats.problems.count, geteuid() == 0 ? 1 : 2);
	assert_non_null(strstr(stats.problems.at[0], "is left out of the copy: "));
	assert_string_equal(get(f, f->clone, "a.c"), "a");
	struct err err = ERR_INIT;
	assert_int_equal(tree_snapshot(&f->arena, at(f, f->dir, "none"), at(f, f->dir, "t9"), NULL, &stats, &err), ST_SYSTEM);
	assert_non_null(strstr(err.text, "can't read the source tree"));
}

static void a_read_only_tree_is_copied(void **state)
{
	struct fixture *f = *state;
	put(f, "src/a.c", "a");
	chmod(at(f, f->tree, "src/a.c"), 0444);
	chmod(at(f, f->tree, "src"), 0555);
	chmod(f->tree, 0555);
	take(f);
	assert_int_equal(tree_put(&f->arena, f->clone, "src/a.c", "b", 1, &f->err), ST_OK);
	assert_int_equal(tree_put(&f->arena, f->clone, "src/b.c", "b", 1, &f->err), ST_OK);
	assert_string_equal(get(f, f->clone, "src/a.c"), "b");
	chmod(f->tree, 0755);
	chmod(at(f, f->tree, "src"), 0755);
}

static void a_full_disk_is_one_sentence(void **state)
{
	struct fixture *f = *state;
	(void)f;
	struct err err = ERR_INIT;
	assert_int_equal(file_write("/dev/full", "x", 1, &err), ST_SYSTEM);
	assert_non_null(strstr(err.text, "the disk is full: /dev/full can't be written: free some space"));
}

static void five_thousand_files_are_quick(void **state)
{
	struct fixture *f = *state;
	char text[4096];
	memset(text, 'x', sizeof text);
	for (int folder = 0; folder < 50; folder++) {
		const char *path = at(f, f->tree, arena_printf(&f->arena, "d%d", folder));
		assert_int_equal(folder_make(path, &f->err), ST_OK);
		for (int i = 0; i < 100; i++)
			assert_int_equal(file_write(at(f, path, arena_printf(&f->arena, "%d.c", i)), text, sizeof text, &f->err),
			                 ST_OK);
	}
	struct tree_stats stats;
	double started = proc_now();
	assert_int_equal(tree_snapshot(&f->arena, f->tree, f->snapshot, NULL, &stats, &f->err), ST_OK);
	double copied = proc_now();
	assert_int_equal(tree_clone(f->snapshot, f->clone, &f->err), ST_OK);
	double cloned = proc_now();
	assert_int_equal(stats.files, 5000);
	printf("5,000 files: snapshot %.0f ms, clone %.0f ms\n", 1e3 * (copied - started), 1e3 * (cloned - copied));
	/* No bound on the snapshot: some disks take a millisecond for each new file. A clone writes no data. */
	assert_true(cloned - copied < 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_clone_differs_only_where_it_is_changed, setup, teardown),
	    cmocka_unit_test_setup_teardown(links_lead_where_they_should, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_cannot_be_copied_is_told, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_read_only_tree_is_copied, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_full_disk_is_one_sentence, setup, teardown),
	    cmocka_unit_test_setup_teardown(five_thousand_files_are_quick, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
