/* The cache of objects: what goes in comes out, what is damaged does not, and the key is of everything that matters. */
#include "base/text.h"
#include "port/cache.h"
#include "port/tree.h"
#include "stage/build_cache.h"

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
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	assert_non_null(f);
	strcpy(f->dir, "/tmp/assay-cache-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	arena_init(&f->arena);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(tree_remove(f->dir, &f->err), ST_OK);
	arena_release(&f->arena);
	free(f);
	return 0;
}

static const char *at(struct fixture *f, const char *name)
{
	return path_join(&f->arena, f->dir, name);
}

static const char *put(struct fixture *f, const char *name, const char *text)
{
	assert_int_equal(file_write(at(f, name), text, strlen(text), &f->err), ST_OK);
	return at(f, name);
}

static const char *content(struct fixture *f, const char *name)
{
	const char *text = NULL;
	assert_int_equal(file_read(&f->arena, at(f, name), &text, NULL, &f->err), ST_OK);
	return text;
}

static void test_round(void **state)
{
	struct fixture *f = *state;
	const char *folder = at(f, "a/b"), *key = cache_key(&f->arena, "x", 1);
	assert_false(cache_get(folder, key, at(f, "out")));
	cache_put(folder, key, put(f, "in", "an object"));
	struct stat info;
	assert_int_equal(stat(folder, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0700);
	assert_true(cache_get(folder, key, at(f, "out")));
	assert_string_equal(content(f, "out"), "an object");
	assert_false(cache_get(folder, cache_key(&f->arena, "y", 1), at(f, "out2")));
	/* a newer one replaces it */
	cache_put(folder, key, put(f, "in", "another"));
	assert_true(cache_get(folder, key, at(f, "out")));
	assert_string_equal(content(f, "out"), "another");
	/* a file that is not there, a folder that can't be: nothing happens */
	cache_put(folder, key, at(f, "nowhere"));
	cache_put(at(f, "in/folder"), key, at(f, "in"));
	assert_false(cache_get(folder, key, at(f, "no/folder")));
}

static void test_damage(void **state)
{
	struct fixture *f = *state;
	const char *folder = at(f, "cache"), *key = cache_key(&f->arena, "x", 1), *path = path_join(&f->arena, folder, key);
	static const off_t lengths[] = {0, 3, 16, 20};
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		cache_put(folder, key, put(f, "in", "an object"));
		assert_int_equal(truncate(path, lengths[i]), 0);
		assert_false(cache_get(folder, key, at(f, "out")));
		assert_false(path_is_file(path));
		assert_false(path_is_file(at(f, "out")));
	}
	cache_put(folder, key, put(f, "in", "an object"));
	int fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "A", 1, 18), 1);
	close(fd);
	assert_false(cache_get(folder, key, at(f, "out")));
}

static void test_trim(void **state)
{
	struct fixture *f = *state;
	const char *folder = at(f, "cache");
	const char *keys[4];
	put(f, "in", "0123456789");
	for (int i = 0; i < 4; i++) {
		keys[i] = cache_key(&f->arena, &"abcd"[i], 1);
		cache_put(folder, keys[i], at(f, "in"));
		struct timespec old[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
		assert_int_equal(utimensat(AT_FDCWD, path_join(&f->arena, folder, keys[i]), old, 0), 0);
	}
	put(f, "cache/.new-abandoned", "half");
	struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	assert_int_equal(utimensat(AT_FDCWD, at(f, "cache/.new-abandoned"), old, 0), 0);
	put(f, "cache/.new-growing", "half");
	assert_true(cache_get(folder, keys[0], at(f, "out"))); /* used: now the youngest */
	cache_trim(folder, 60);                                /* of 4 times 26 bytes */
	assert_true(path_is_file(path_join(&f->arena, folder, keys[0])));
	assert_false(path_is_file(path_join(&f->arena, folder, keys[1])));
	assert_false(path_is_file(path_join(&f->arena, folder, keys[2])));
	assert_true(path_is_file(path_join(&f->arena, folder, keys[3])));
	assert_false(path_is_file(at(f, "cache/.new-abandoned")));
	assert_true(path_is_file(at(f, "cache/.new-growing")));
	cache_trim(at(f, "nowhere"), 1);
}

static void test_default_path(void **state)
{
	struct fixture *f = *state;
	setenv("XDG_CACHE_HOME", "/cache", 1);
	setenv("HOME", "/home/x", 1);
	assert_string_equal(cache_default_path(&f->arena, "objects"), "/cache/assay/objects");
	setenv("XDG_CACHE_HOME", "relative", 1);
	assert_string_equal(cache_default_path(&f->arena, "objects"), "/home/x/.cache/assay/objects");
	unsetenv("HOME");
	assert_null(cache_default_path(&f->arena, "objects"));
}

/* ---- keys ----------------------------------------------------------------------------------------------------------- */

struct asked {
	const char *tree, *source, *text, *argv[6];
};

static const char *key_of(struct fixture *f, struct asked asked)
{
	struct session *session = arena_new(&f->arena, struct session);
	arena_init(&session->arena);
	session->workdir = arena_strdup(&f->arena, f->dir);
	session->objects.folder = at(f, "objects");
	struct variant variant = {.tree = at(f, asked.tree)};
	struct unit unit = {.source = asked.source, .directory = variant.tree};
	/* "TREE" stands for the variant's tree. */
	char *text = arena_alloc(&f->arena, strlen(asked.text) + 4 * strlen(variant.tree) + 1);
	text[0] = '\0';
	const char *from = asked.text;
	for (const char *tree; (tree = strstr(from, "TREE")); from = tree + 4) {
		strncat(text, from, (size_t)(tree - from));
		strcat(text, variant.tree);
	}
	strcat(text, from);
	unit.preprocessed = put(f, "unit.i", text);
	for (size_t i = 0; asked.argv[i]; i++)
		list_push(&f->arena, &unit.argv, strcmp(asked.argv[i], "-ITREE") == 0 ? arena_printf(&f->arena, "-I%s", variant.tree)
		                                                                     : asked.argv[i]);
	const char *key = unit_key(session, &variant, &unit);
	key = key ? arena_strdup(&f->arena, key) : NULL;
	arena_release(&session->arena);
	return key;
}

static void test_key_same(void **state)
{
	struct fixture *f = *state;
	/* Another copy of the same tree. */
	struct asked one = {"t0000", "a.c", "# 1 \"TREE/a.h\"\nint x;\n# 2 \"TREE/b.h\"\n", {"gcc", "-O2", "-ITREE"}}, two = one;
	two.tree = "t1234";
	assert_non_null(key_of(f, one));
	assert_string_equal(key_of(f, one), key_of(f, two));
}

static void test_key_other(void **state)
{
	struct fixture *f = *state;
	const struct asked plain = {"t0", "a.c", "int x;", {"gcc", "-O2"}};
	const struct asked others[] = {
		{"t0", "a.c", "int y;", {"gcc", "-O2"}},        {"t0", "a.c", "int x;", {"gcc", "-O3"}},
		{"t0", "a.c", "int x;", {"gcc", "-O2", "-g"}},  {"t0", "a.c", "int x;", {"gcc", "-O", "2"}},
		{"t0", "a.c", "\nint x;", {"gcc", "-O2"}},
	};
	const char *key = key_of(f, plain);
	assert_non_null(key);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_string_not_equal(key, key_of(f, others[i]));
	setenv("COMPILER_PATH", "/elsewhere", 1);
	assert_string_not_equal(key, key_of(f, plain));
	unsetenv("COMPILER_PATH");
	assert_string_equal(key, key_of(f, plain));
}

/* A macro that the text doesn't show changes nothing, unless the object records the command or its macros. */
static void test_key_macros(void **state)
{
	struct fixture *f = *state;
	const char *key = key_of(f, (struct asked){"t0", "a.c", "int x;", {"gcc", "-O2"}});
	static const char *const flags[][2] = {{"-DX=1", NULL}, {"-UX", NULL}, {"-D", "X"}, {"-U", "X"}, {"-DX", "-UY"}};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		assert_string_equal(key, key_of(f, (struct asked){"t0", "a.c", "int x;", {"gcc", "-O2", flags[i][0], flags[i][1]}}));
	static const char *const recording[] = {"-g3", "-ggdb3", "-frecord-gcc-switches", "-grecord-command-line", "-fdebug-macro"};
	for (size_t i = 0; i < sizeof recording / sizeof *recording; i++)
		assert_string_not_equal(key_of(f, (struct asked){"t0", "a.c", "int x;", {"gcc", recording[i], "-DX=1"}}),
		                        key_of(f, (struct asked){"t0", "a.c", "int x;", {"gcc", recording[i]}}));
}

/* What depends on more than that is compiled. */
static void test_key_none(void **state)
{
	struct fixture *f = *state;
	static const char *const flags[] = {"-march=native", "-mtune=native", "-fprofile-use", "-fprofile-use=x", "-fplugin=x.so",
	                                    "-fpass-plugin=x.so", "-flto", "-flto=auto", "@more", "-B/x", "--coverage", "-specs=x",
	                                    "-gsplit-dwarf", "-save-temps", "-Xclang", "-wrapper", "-Wa,-I/x"};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		assert_null(key_of(f, (struct asked){"t0", "a.c", "int x;", {"gcc", "-O2", flags[i]}}));
	assert_null(key_of(f, (struct asked){"t0", "a.S", "ret", {"gcc"}}));
	assert_null(key_of(f, (struct asked){"t0", "a.c", "asm(\".incbin \\\"x\\\"\");", {"gcc"}}));
	assert_null(key_of(f, (struct asked){"t0", "a.c", "asm(\".include \\\"x\\\"\");", {"gcc"}}));
	assert_null(key_of(f, (struct asked){"t0", "a.c", "int x;", {"no-such-gcc"}}));
	/* A script, as ccache's kind of wrapper may be: nobody sees what it starts. */
	assert_int_equal(chmod(put(f, "wrapper", "#!/bin/sh\nexec gcc \"$@\"\n"), 0755), 0);
	assert_null(key_of(f, (struct asked){"t0", "a.c", "int x;", {at(f, "wrapper")}}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trim, setup, teardown),
		cmocka_unit_test_setup_teardown(test_default_path, setup, teardown),
		cmocka_unit_test_setup_teardown(test_key_same, setup, teardown),
		cmocka_unit_test_setup_teardown(test_key_other, setup, teardown),
		cmocka_unit_test_setup_teardown(test_key_macros, setup, teardown),
		cmocka_unit_test_setup_teardown(test_key_none, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
