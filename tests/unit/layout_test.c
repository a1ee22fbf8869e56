/* Layouts: other seeds place the functions elsewhere, the machine code stays what it was. */
#include "port/layout.h"

#include "base/text.h"
#include "port/proc.h"
#include "port/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

struct fixture {
	struct arena arena;
	char folder[64];
	struct link_recipe recipe;
};

/* `work` touches registers only; `uses` calls and reads what other objects hold; `longer` makes the object's first
 * function larger and so moves what follows in it. */
static const char one_c[] = "#ifdef LONGER\nint before(int x) { for (int i = 0; i < x; i++) x = x * 7 + i / 3; return x; }\n#else\n"
                            "int before(int x) { return x; }\n#endif\n"
                            "__attribute__((noipa)) unsigned long work(unsigned long n)\n"
                            "{ unsigned long s = n; while (n--) s = s * 6364136223846793005ul + (s >> 7); return s; }\n";
static const char two_c[] = "extern int table[]; extern int before(int); const int limits[4] = {1, 2, 3, 4}; int zeroed[99];\n"
                            "__attribute__((noipa)) int uses(int x) { return before(x) + table[x & 3] + limits[x & 3] + zeroed[x & 7]; }\n";
static const char main_c[] = "int table[4] = {3, 4, 5, 6}; unsigned long work(unsigned long); int uses(int);\n"
                             "int main(int argc, char **argv) { (void)argv; return (work(9) + (unsigned long)uses(argc)) % 100 == RESULT ? 0 : 1; }\n";

static const char *in(struct fixture *f, const char *name)
{
	return arena_printf(&f->arena, "%s/%s", f->folder, name);
}

static const char *said(struct fixture *f, const char *command)
{
	struct proc_request request = {.cpu = -1, .timeout_s = 60, .directory = f->folder};
	struct proc_result result;
	struct err err = ERR_INIT;
	const char *const words[] = {"sh", "-c", command};
	for (size_t i = 0; i < 3; i++)
		list_push(&f->arena, &request.argv, words[i]);
	if (proc_run(&f->arena, &request, &result, &err) != ST_OK)
		fail_msg("%s", err.text);
	if (!proc_ok(&result))
		fail_msg("%s: %s", command, result.err);
	return result.out;
}

static void put(struct fixture *f, const char *name, const char *text)
{
	struct err err = ERR_INIT;
	assert_int_equal(file_write(in(f, name), text, strlen(text), &err), ST_OK);
}

static int set_up(void **state)
{
	static struct fixture fixture;
	fixture = (struct fixture){0};
	strcpy(fixture.folder, "/tmp/assay layout-XXXXXX"); /* a blank in a path must do no harm */
	if (!mkdtemp(fixture.folder))
		return -1;
	struct fixture *f = *state = &fixture;
	arena_init(&f->arena);
	put(f, "one.c", one_c);
	put(f, "two.c", two_c);
	put(f, "main.c", main_c);
	/* The result is that of a plain program. */
	said(f, "gcc -O2 -DRESULT=0 -c one.c two.c && sed 's/ == RESULT ? 0 : 1//' main.c >plain.c && gcc -O2 one.o two.o plain.c -o plain; "
	        "./plain; gcc -O2 -DRESULT=$? -c main.c && gcc -O2 -DLONGER -c one.c -o longer.o");
	static const char *const objects[] = {"one.o", "two.o", "main.o"};
	f->recipe.directory = f->folder;
	list_push(&f->arena, &f->recipe.argv, "gcc");
	for (size_t i = 0; i < 3; i++) {
		list_push(&f->arena, &f->recipe.argv, in(f, objects[i]));
		list_push(&f->arena, &f->recipe.objects, in(f, objects[i]));
	}
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	said(f, "rm -r \"$PWD\"");
	arena_release(&f->arena);
	return 0;
}

static void linked(struct fixture *f, const struct link_recipe *recipe, uint64_t seed, const char *name)
{
	struct layout layout;
	struct err err = ERR_INIT;
	if (layout_open(&f->arena, recipe, &layout, &err) != ST_OK ||
	    layout_link(&f->arena, &layout, seed, in(f, name), 60, NULL, &err) != ST_OK)
		fail_msg("%s", err.text);
	/* It computes what the plain program does. */
	said(f, arena_printf(&f->arena, "./%s", name));
}

static unsigned long long address(struct fixture *f, const char *program, const char *symbol)
{
	const char *text = said(f, arena_printf(&f->arena, "nm %s | grep ' %s$'", program, symbol));
	return strtoull(text, NULL, 16);
}

/* The instructions of a function, without what an address is in them. */
static const char *code(struct fixture *f, const char *program, const char *symbol, bool raw)
{
	return said(f, arena_printf(&f->arena,
	                            "set -- $(nm -S %s | grep ' %s$') && objdump -d --no-addresses %s --start-address=0x$1 "
	                            "--stop-address=$((0x$1 + 0x$2)) %s | sed '/file format/d; /^Disassembly/d; s/-\\{0,1\\}0x[0-9a-f]*(%%rip)/(%%rip)/'",
	                            program, symbol, raw ? "" : "--no-show-raw-insn", program));
}

static void seeds_move_everything_and_change_no_code(void **state)
{
	struct fixture *f = *state;
	static const char *const moved[] = {"work", "uses", "before", "table", "limits", "zeroed"};
	linked(f, &f->recipe, 1, "a");
	linked(f, &f->recipe, 2, "b");
	linked(f, &f->recipe, 1, "again");
	said(f, "cmp a again");
	for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
		assert_true(address(f, "a", moved[i]) % 4096 != address(f, "b", moved[i]) % 4096);
	assert_non_null(strstr(code(f, "a", "work", true), "imul"));
	assert_string_equal(code(f, "a", "work", true), code(f, "b", "work", true));
	assert_string_equal(code(f, "a", "work", true), code(f, "plain", "work", true));
	assert_non_null(strstr(code(f, "a", "uses", false), "(%rip)"));
	assert_string_equal(code(f, "a", "uses", false), code(f, "b", "uses", false));
	assert_string_equal(code(f, "a", "uses", false), code(f, "plain", "uses", false));
}

/* Within 12 seeds, each object comes first at some time, and alignment to a cache line varies. */
static void order_and_offsets_are_random(void **state)
{
	struct fixture *f = *state;
	struct layout layout;
	struct err err = ERR_INIT;
	assert_int_equal(layout_open(&f->arena, &f->recipe, &layout, &err), ST_OK);
	unsigned one_first = 0, offsets = 0;
	for (uint64_t seed = 1; seed <= 64; seed++) {
		const char *script = layout_script(&f->arena, &layout, seed);
		const char *one = strstr(script, "one.o\"(.text)"), *two = strstr(script, "two.o\"(.text)");
		assert_non_null(one);
		assert_non_null(two);
		one_first += one < two;
		const char *offset = strstr(script, " + ");
		offsets |= 1u << (strtoul(offset + 3, NULL, 10) % 64 / 16);
	}
	assert_in_range(one_first, 16, 48); /* 32 expected, deviation 4 */
	assert_int_equal(offsets, 15);
}

/* What both variants hold lies at the same offset in a page, though the changed function is larger in one. */
static void variants_of_one_seed_are_matched(void **state)
{
	struct fixture *f = *state;
	struct link_recipe candidate = f->recipe;
	candidate.argv = candidate.objects = (struct string_list){0};
	for (size_t i = 0; i < f->recipe.argv.count; i++)
		list_push(&f->arena, &candidate.argv, i == 1 ? in(f, "longer.o") : f->recipe.argv.at[i]);
	for (size_t i = 0; i < f->recipe.objects.count; i++)
		list_push(&f->arena, &candidate.objects, i == 0 ? in(f, "longer.o") : f->recipe.objects.at[i]);
	for (uint64_t seed = 5; seed < 8; seed++) {
		linked(f, &f->recipe, seed, "base");
		struct layout layout;
		struct err err = ERR_INIT;
		assert_int_equal(layout_open(&f->arena, &candidate, &layout, &err), ST_OK);
		assert_int_equal(layout_link(&f->arena, &layout, seed, in(f, "cand"), 60, NULL, &err), ST_OK);
		static const char *const same[] = {"before", "uses", "table", "limits", "zeroed"};
		for (size_t i = 0; i < sizeof same / sizeof *same; i++)
			assert_int_equal(address(f, "base", same[i]) % 4096, address(f, "cand", same[i]) % 4096);
		assert_true(address(f, "base", "work") % 4096 != address(f, "cand", "work") % 4096);
	}
}

/* Built with a section for each function, each function has a place of its own. */
static void function_sections_move_by_themselves(void **state)
{
	struct fixture *f = *state;
	said(f, "gcc -O2 -ffunction-sections -c one.c");
	bool other_distance = false;
	linked(f, &f->recipe, 1, "a");
	for (uint64_t seed = 2; seed < 6 && !other_distance; seed++) {
		linked(f, &f->recipe, seed, "b");
		other_distance = address(f, "a", "work") - address(f, "a", "before") != address(f, "b", "work") - address(f, "b", "before");
	}
	assert_true(other_distance);
}

static void a_linker_that_refuses_is_quoted(void **state)
{
	struct fixture *f = *state;
	struct layout layout;
	struct err err = ERR_INIT;
	list_push(&f->arena, &f->recipe.argv, "-lno-such-library");
	assert_int_equal(layout_open(&f->arena, &f->recipe, &layout, &err), ST_OK);
	assert_int_equal(layout_link(&f->arena, &layout, 1, in(f, "a"), 60, NULL, &err), ST_INPUT);
	assert_non_null(strstr(err.text, "no-such-library"));
	assert_non_null(strstr(err.text, "leave out --layouts"));
	err = ERR_INIT;
	put(f, "one.o", "no object");
	assert_int_equal(layout_open(&f->arena, &f->recipe, &layout, &err), ST_INPUT);
}

int main(void)
{
	/* Not on every machine: the test reads programs with them. */
	if (system("nm --version >/dev/null 2>&1 && objdump --version >/dev/null 2>&1 && gcc --version >/dev/null 2>&1") != 0) {
		puts("skip: layouts are examined with gcc, nm and objdump (packages gcc, binutils)");
		return 77;
	}
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(seeds_move_everything_and_change_no_code),
		TEST(order_and_offsets_are_random),
		TEST(variants_of_one_seed_are_matched),
		TEST(function_sections_move_by_themselves),
		TEST(a_linker_that_refuses_is_quoted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
