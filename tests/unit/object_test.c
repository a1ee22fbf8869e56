/* Objects as gcc and clang make them here, compared in pairs. What is tested most: whatever normalisation could mask. */
#include "base/text.h"
#include "port/object_compare.h"
#include "port/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

struct fixture {
	struct arena arena;
	char dir[64];
	unsigned count;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	arena_init(&fixture->arena);
	snprintf(fixture->dir, sizeof fixture->dir, "/tmp/assay-object-XXXXXX");
	*state = fixture;
	return mkdtemp(fixture->dir) ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	struct proc_request request = {.cpu = -1};
	shell_split(&fixture->arena, arena_printf(&fixture->arena, "rm -rf %s", fixture->dir), &request.argv);
	struct proc_result result;
	struct err err = ERR_INIT;
	if (proc_run(&fixture->arena, &request, &result, &err) != ST_OK)
		return -1;
	arena_release(&fixture->arena);
	free(fixture);
	return 0;
}

static const char *file_write(struct fixture *fixture, const char *name, const void *data, size_t size)
{
	const char *path = path_join(&fixture->arena, fixture->dir, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	return path;
}

/* clang-14 adds another generation of code where somebody has it; the other compilers are installed for the tests. */
static bool has_compiler(const char *command)
{
	static const char optional[] = "clang-14";
	if (!text_starts(command, optional))
		return true;
	const char *path = getenv("PATH");
	for (const char *at = path; at && *at; at += strspn(at, ":")) {
		char file[512];
		size_t size = strcspn(at, ":");
		if (snprintf(file, sizeof file, "%.*s/%s", (int)size, at, optional) < (int)sizeof file && access(file, X_OK) == 0)
			return true;
		at += size;
	}
	static bool told;
	if (!told)
		print_message("skip: object_test with clang-14: it is not installed\n");
	told = true;
	return false;
}

/* Compiles a text as x.c; a compiler that refuses fails the test. */
static const char *compile(struct fixture *fixture, const char *command, const char *text, const char *suffix)
{
	struct arena *arena = &fixture->arena;
	const char *source = file_write(fixture, arena_printf(arena, "x%s", suffix), text, strlen(text));
	const char *object = arena_printf(arena, "%s/%u.o", fixture->dir, fixture->count++);
	struct proc_request request = {.cpu = -1, .directory = fixture->dir};
	assert_true(shell_split(arena, arena_printf(arena, "%s -w -c %s -o %s", command, path_base(source), object), &request.argv));
	struct proc_result result;
	struct err err = ERR_INIT;
	assert_int_equal(proc_run(arena, &request, &result, &err), ST_OK);
	if (!proc_ok(&result))
		fail_msg("%s: %s\n%s", command, result.err, text);
	return object;
}

static struct code_difference compare_files(struct fixture *fixture, const char *a, const char *b, bool thorough)
{
	struct object *was = NULL, *is = NULL;
	struct err err = ERR_INIT;
	if (object_open(a, &was, &err) != ST_OK || object_open(b, &is, &err) != ST_OK)
		fail_msg("%s", err.text);
	struct code_difference difference = {0};
	object_compare(was, is, "x.c", thorough, &fixture->arena, &difference);
	object_free(was);
	object_free(is);
	assert_int_equal(difference.differ, difference.changed.count + difference.data.count > 0);
	return difference;
}

static const char *difference_text(struct fixture *fixture, const struct code_difference *difference)
{
	struct string_list lines = {0};
	for (size_t i = 0; i < difference->changed.count; i++) {
		const struct function_change *change = &difference->changed.at[i];
		list_push(&fixture->arena, &lines,
		          arena_printf(&fixture->arena, "function %s %d: %u, %u instructions: %s", change->name, (int)change->change,
		                       change->baseline_instructions, change->candidate_instructions,
		                       change->first ? change->first : "-"));
	}
	for (size_t i = 0; i < difference->data.count; i++)
		list_push(&fixture->arena, &lines,
		          arena_printf(&fixture->arena, "data %s: %s", difference->data.at[i].name, difference->data.at[i].what));
	return text_join(&fixture->arena, &lines, "\n");
}

static const char *const all_commands[] = {
    "gcc-12 -O2",
    "gcc-12 -O3 -g",
    "gcc-12 -O2 -fno-pie -mcmodel=small",
    "gcc-12 -O2 -fPIC",
    "gcc-12 -O2 -ffunction-sections -fdata-sections",
    "gcc-12 -Os",
    "gcc-12 -O0",
    "clang-19 -O3 -g",
    "clang-19 -O2",
    "clang-19 -O2 -fPIC",
    "clang-19 -O2 -ffunction-sections -fdata-sections",
    "clang-14 -O1",
};
#define COMMANDS (sizeof all_commands / sizeof *all_commands)
/* Under a sanitizer it is our reading that is tested, and a few compilers' objects show what many do. */
#if defined(__SANITIZE_ADDRESS__)
enum { EVERY = 5 };
#else
enum { EVERY = 1 };
#endif

static void expect_equal(struct fixture *fixture, const char *command, const char *a, const char *b)
{
	const char *was = compile(fixture, command, a, ".c"), *is = compile(fixture, command, b, ".c");
	for (int thorough = 0; thorough < 2; thorough++) {
		struct code_difference difference = compare_files(fixture, was, is, thorough);
		if (difference.differ)
			fail_msg("%s: called different: %s\n--- baseline\n%s\n--- candidate\n%s", command,
			         difference_text(fixture, &difference), a, b);
	}
	assert_int_equal(compare_files(fixture, was, is, false).functions, compare_files(fixture, was, is, true).functions);
}

/* `names`: words one of which the names of what changed must contain. */
static void expect_different(struct fixture *fixture, const char *command, const char *a, const char *b, const char *names)
{
	const char *was = compile(fixture, command, a, ".c"), *is = compile(fixture, command, b, ".c");
	for (int thorough = 0; thorough < 2; thorough++) {
		struct code_difference difference = compare_files(fixture, was, is, thorough);
		if (!difference.differ)
			fail_msg("%s: called equal:\n--- baseline\n%s\n--- candidate\n%s", command, a, b);
		bool named = false;
		struct string_list words = {0};
		assert_true(shell_split(&fixture->arena, names, &words));
		for (size_t w = 0; w < words.count; w++) {
			for (size_t i = 0; i < difference.changed.count; i++)
				named |= text_equal(difference.changed.at[i].name, words.at[w]);
			for (size_t i = 0; i < difference.data.count; i++)
				named |= text_equal(difference.data.at[i].name, words.at[w]);
		}
		if (!named)
			fail_msg("%s: expected one of %s in: %s\n--- baseline\n%s\n--- candidate\n%s", command, names,
			         difference_text(fixture, &difference), a, b);
	}
}

/* ---- equal -------------------------------------------------------------------------------------------------------- */

#define HELPERS "extern int printf(const char *, ...); extern void *memcpy(void *, const void *, unsigned long);\n"
#define F_SUM "int sum(const int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i] * 3; return s; }\n"
#define F_NAME                                                                                                         \
	"const char *name(int k) { switch (k) { case 0: return \"zero\"; case 1: return \"one\"; case 2: return \"two\"; "    \
	"case 3: return \"three\"; case 4: return \"four\"; case 9: return \"nine\"; default: return \"many\"; } }\n"
#define F_JUMP                                                                                                         \
	"int jump(int k, int *p) { switch (k) { case 0: return p[0]++; case 1: return p[1]--; case 2: return p[2] *= 3; "     \
	"case 3: printf(\"x\"); return 4; case 4: return p[4] ^ 9; case 5: return p[1] + p[2]; case 6: p[7] = 1; return 0; " \
	"default: return -1; } }\n"
#define F_REAL "double real(double x) { return x * 1.5 + 2.25 / x + (float)x * 3.5f; }\n"
#define F_STATIC "static __attribute__((noinline)) int helper(int x) { return x * x + 7; }\n"
#define F_USES "int uses(int x) { static int calls; calls++; printf(\"%d calls\\n\", calls); return helper(x) + helper(x + 1); }\n"
#define F_TABLE                                                                                                        \
	"static const int table[8] = {1, 2, 3, 5, 8, 13, 21, 34};\n"                                                          \
	"int look(unsigned i) { return table[i & 7]; }\n"
#define F_RECURSE "int recurse(int n) { return n < 2 ? n : recurse(n - 1) + recurse(n - 2); }\n"

static void what_does_not_matter(void **state)
{
	for (size_t i = 0; i < COMMANDS; i += EVERY) {
		const char *cc = all_commands[i];
		if (!has_compiler(cc))
			continue;
		expect_equal(*state, cc, HELPERS F_SUM F_JUMP, "/* a comment */\n\n" HELPERS "\n\n" F_SUM "// more\n" F_JUMP);
		expect_equal(*state, cc, F_SUM,
		             "int sum(const int *q, int m) { int t = 0; for (int k = 0; k < m; k++) t += q[k] * 3; return t; }\n");
		expect_equal(*state, cc, HELPERS F_SUM F_NAME F_JUMP F_REAL F_RECURSE, HELPERS F_RECURSE F_REAL F_JUMP F_SUM F_NAME);
		expect_equal(*state, cc, HELPERS F_STATIC F_USES F_TABLE F_NAME F_JUMP, HELPERS F_JUMP F_NAME F_TABLE F_STATIC F_USES);
		/* without optimisation the order of the two decides whether g counts as a leaf */
		if (!strstr(cc, "-O0"))
			expect_equal(*state, cc, "static int f(int x) { return x + 1; } int g(int x) { return f(x); }",
			             "static int f(int x);\nint g(int x) { return f(x); }\nstatic int f(int x) { return x + 1; }");
		expect_equal(*state, cc, "const char *where(void) { return __func__; }\nconst char *there(void) { return __func__; }\n",
		             "const char *there(void) { return __func__; }\nconst char *where(void) { return __func__; }\n");
	}
}

/* A new function before the others shifts every offset; only it is new. */
static void only_the_new_function_is_named(void **state)
{
	for (size_t i = 0; i < COMMANDS; i += EVERY) {
		if (!has_compiler(all_commands[i]))
			continue;
		const char *was = compile(*state, all_commands[i], HELPERS F_SUM F_NAME F_JUMP F_REAL F_TABLE, ".c");
		const char *is = compile(*state, all_commands[i],
		                         HELPERS "int fresh(int x) { return x ^ 77; }\n" F_SUM F_NAME F_JUMP F_REAL F_TABLE, ".c");
		struct code_difference difference = compare_files(*state, was, is, false);
		if (difference.changed.count != 1 || difference.data.count != 0)
			fail_msg("%s: %s", all_commands[i], difference_text(*state, &difference));
		assert_string_equal(difference.changed.at[0].name, "fresh");
		assert_int_equal(difference.changed.at[0].change, CHANGE_ADDED);
		assert_int_equal(difference.changed.at[0].baseline_instructions, 0);
		assert_true(difference.changed.at[0].candidate_instructions >= 2);
		difference = compare_files(*state, is, was, false);
		assert_int_equal(difference.changed.count, 1);
		assert_int_equal(difference.changed.at[0].change, CHANGE_REMOVED);
	}
}

/* ---- different ---------------------------------------------------------------------------------------------------- */

struct pair_case {
	const char *names, *a, *b;
};

#define TWO_STATIC "static __attribute__((noinline)) int f(int x) { return x * 5 + 1; }\nstatic __attribute__((noinline)) int g(int x) { return x * 7 + 3; }\n"

static const struct pair_case different[] = {
    {"f", "int f(int a, int b) { return a + b; }", "int f(int a, int b) { return a - b; }"},
    {"f", "int f(int a) { return a * 1000; }", "int f(int a) { return a * 1001; }"},
    {"f", "int f(int a) { return a < 10 ? a : 3; }", "int f(int a) { return a <= 10 ? a : 3; }"},
    {"f", "int f(unsigned a) { return a >> 3; }", "int f(int a) { return a >> 3; }"},
    {"f", "long f(int *p) { return p[4]; }", "long f(int *p) { return p[5]; }"},
    {"f", "extern int a[]; int f(void) { return a[1]; }", "extern int a[]; int f(void) { return a[2]; }"},
    {"f", "static int a[4]; int f(void) { return a[1]; } void s(int x, int i) { a[i] = x; }",
     "static int a[4]; int f(void) { return a[2]; } void s(int x, int i) { a[i] = x; }"},
    {"f", "extern int g(int), h(int); int f(int x) { return g(x) + 1; }",
     "extern int g(int), h(int); int f(int x) { return h(x) + 1; }"},
    {"f", "extern int g, h; int f(void) { return g; }", "extern int g, h; int f(void) { return h; }"},
    /* same size, no relocation when both are in one section */
    {"k", TWO_STATIC "int k(int x) { return f(x) + 1; } int m(int x) { return g(x); }",
     TWO_STATIC "int k(int x) { return g(x) + 1; } int m(int x) { return g(x); } int n(int x) { return f(x); }"},
    {"k m", TWO_STATIC "int k(int x) { return f(x) + 1; } int m(int x) { return g(x) + 2; }",
     TWO_STATIC "int k(int x) { return g(x) + 1; } int m(int x) { return f(x) + 2; }"},
    {"f g", TWO_STATIC "int k(int x) { return f(x) + 1; } int m(int x) { return g(x) + 2; }",
     "static __attribute__((noinline)) int f(int x) { return x * 7 + 3; }\nstatic __attribute__((noinline)) int g(int x) { return x * 5 + 1; }\n"
     "int k(int x) { return f(x) + 1; } int m(int x) { return g(x) + 2; }"},
    /* the caller's bytes stay equal: the callees change places and the call follows the place */
    {"k", TWO_STATIC "int k(int x) { return f(x) + 1; } int m(int x) { return g(x) + 2; } int n(int x) { return f(x) ^ 5; }",
     "static __attribute__((noinline)) int g(int x) { return x * 7 + 3; }\nstatic __attribute__((noinline)) int f(int x) { return x * 5 + 1; }\n"
     "int k(int x) { return g(x) + 1; } int m(int x) { return g(x) + 2; } int n(int x) { return f(x) ^ 5; }"},
    {"f constant", "const char *f(void) { return \"abc\"; }", "const char *f(void) { return \"abd\"; }"},
    {"f constant", "const char *f(void) { return \"abc\"; }", "const char *f(void) { return \"abcd\"; }"},
    {"f constant", "const char *f(void) { return \"abc\" + 1; }", "const char *f(void) { return \"xbc\" + 1; }"},
    {"f", "const char *f(void) { return \"abc\" + 1; }", "const char *f(void) { return \"abc\" + 2; }"},
    {"f constant", "const char *f(void) { return \"ab\\0cd\"; }", "const char *f(void) { return \"ab\\0ce\"; }"},
    {"f constant", "const void *f(void) { return L\"abc\"; }", "const void *f(void) { return L\"abd\"; }"},
    {"f g", "const char *f(void) { return \"abc\"; } const char *g(void) { return \"xyz\"; }",
     "const char *f(void) { return \"xyz\"; } const char *g(void) { return \"abc\"; }"},
    {"f constant", "double f(double x) { return x * 1.25; }", "double f(double x) { return x * 1.75; }"},
    {"f constant", "float f(float x) { return x * 1.25f; }", "float f(float x) { return x * 1.75f; }"},
    {"f g", "double f(double x) { return x * 1.25; } double g(double x) { return x * 1.75; }",
     "double f(double x) { return x * 1.75; } double g(double x) { return x * 1.25; }"},
    {"f constant", "void f(unsigned *p) { for (int i = 0; i < 4; i++) p[i] = (unsigned[]){7, 9, 11, 13}[i]; }",
     "void f(unsigned *p) { for (int i = 0; i < 4; i++) p[i] = (unsigned[]){7, 9, 12, 13}[i]; }"},
    {"t", "static const int t[6] = {1, 2, 3, 4, 5, 6}; int f(unsigned i) { return t[i]; }",
     "static const int t[6] = {1, 2, 3, 4, 5, 7}; int f(unsigned i) { return t[i]; }"},
    {"t", "static int t[6] = {1, 2, 3, 4, 5, 6}; int f(unsigned i) { return t[i]++; }",
     "static int t[6] = {1, 2, 3, 4, 5, 7}; int f(unsigned i) { return t[i]++; }"},
    {"t", "const int t[3] = {1, 2, 0};", "const int t[2] = {1, 2};"},
    {"t", "int t = 0;", "int t = 1;"},
    {"t t.rel reltable.f", "static const char *const t[] = {\"a\", \"b\", \"c\"}; const char *f(unsigned i) { return t[i]; }",
     "static const char *const t[] = {\"a\", \"c\", \"b\"}; const char *f(unsigned i) { return t[i]; }"},
    {"t", "extern int g(int), h(int); int (*const t[])(int) = {g, h, g};",
     "extern int g(int), h(int); int (*const t[])(int) = {g, h, h};"},
    {"t", TWO_STATIC "int (*const t[])(int) = {f, g};", TWO_STATIC "int (*const t[])(int) = {g, f};"},
    {"t", "extern int a[]; int *t[] = {a + 1, a + 2};", "extern int a[]; int *t[] = {a + 1, a + 3};"},
    {"t", "static int a[9]; int *t[] = {a + 1, a + 2}; int f(void) { return a[3]; }",
     "static int a[9]; int *t[] = {a + 1, a + 3}; int f(void) { return a[3]; }"},
    {"t .bss .data", "int t = 5;", "int t __attribute__((aligned(64))) = 5;"},
    {"t", "char a; char t[64]; ", "char a; char t[64] __attribute__((aligned(128)));"},
    {"t", "struct { char a; int b; } t = {1, 2};", "struct { char a; char b; } t = {1, 2};"},
    {"f", "struct s { int a, b; }; int f(struct s *p) { return p->b; }",
     "struct s { int a, pad, b; }; int f(struct s *p) { return p->b; }"},
    {"t", "int t[4];", "int t[5];"},
    {"t", "static int t; int f(void) { return t++; }", "int t; int f(void) { return t++; }"},
    {"t", "static int t; int f(void) { return t++; }", "static __thread int t; int f(void) { return t++; }"},
    {"f", "__thread int a, b; int f(void) { return a; }", "__thread int a, b; int f(void) { return b; }"},
    {"f", "static __thread int a, b; int f(void) { return a; } void s(int x) { a = x; b = x + 1; } int *q(void) { return &b; } int *r(void) { return &a; }",
     "static __thread int a, b; int f(void) { return b; } void s(int x) { a = x; b = x + 1; } int *q(void) { return &b; } int *r(void) { return &a; }"},
    {"f", "void f(void) {}", "__attribute__((weak)) void f(void) {}"},
    {".text .text.f", "int f(int x) { return x + 3; }", "__attribute__((aligned(64))) int f(int x) { return x + 3; }"},
    {"f", "int f(int x) { asm volatile(\"\"); return x; }", "int f(int x) { asm volatile(\"mfence\"); return x; }"},
    {"f", "int f(int x) { asm volatile(\".byte 1,2,3\"); return x; }", "int f(int x) { asm volatile(\".byte 1,2,4\"); return x; }"},
    {"f", "int f(int *p) { return __atomic_fetch_add(p, 1, 5); }", "int f(int *p) { return (*p)++; }"},
    {"f", "int f(int *p) { asm volatile(\"lock; incl (%0)\"::\"r\"(p)); return 0; }",
     "int f(int *p) { asm volatile(\"incl (%0)\"::\"r\"(p)); return 0; }"},
    {"f", "int f(void) { int r; asm(\"movl %%fs:0, %0\":\"=r\"(r)); return r; }",
     "int f(void) { int r; asm(\"movl %%gs:0, %0\":\"=r\"(r)); return r; }"},
    {"x", "__attribute__((used)) static int x(void) { return 1; } asm(\".pushsection .mine,\\\"a\\\"; .long 1,2; .popsection\");\nint y;",
     "__attribute__((used)) static int x(void) { return 2; } asm(\".pushsection .mine,\\\"a\\\"; .long 1,2; .popsection\");\nint y;"},
    {".mine", "asm(\".pushsection .mine,\\\"a\\\"; .long 1,2; .popsection\");", "asm(\".pushsection .mine,\\\"a\\\"; .long 1,3; .popsection\");"},
    {".init_array", "static void a(void) { asm(\"nop\"); } static void b(void) { asm(\"ud2\"); } __attribute__((used, section(\".keep\"))) void *keep[] = {a, b};"
     "asm(\".pushsection .init_array,\\\"aw\\\"; .quad a, b; .popsection\");",
     "static void a(void) { asm(\"nop\"); } static void b(void) { asm(\"ud2\"); } __attribute__((used, section(\".keep\"))) void *keep[] = {a, b};"
     "asm(\".pushsection .init_array,\\\"aw\\\"; .quad b, a; .popsection\");"},
    {"f", "int f(int k) { switch (k) { case 0: return 5; case 1: return 9; case 2: return 2; case 3: return 77; case 4: return 1; case 5: return 6; } return 0; }",
     "int f(int k) { switch (k) { case 0: return 5; case 1: return 9; case 2: return 3; case 3: return 77; case 4: return 1; case 5: return 6; } return 0; }"},
};

static void what_does_matter(void **state)
{
	/* The pairs are many: three commands. object_mutation_test has other ones. */
	for (size_t i = 0; i < COMMANDS; i += 4)
		for (size_t k = 0; k < sizeof different / sizeof *different; k++)
			expect_different(*state, all_commands[i], different[k].a, different[k].b, different[k].names);
}

/* What only some levels of optimisation or code models bring about. */
static void what_matters_with_certain_flags(void **state)
{
	static const char *const optimised[] = {"gcc-12 -O2", "gcc-12 -O2 -ffunction-sections", "clang-19 -O2"};
	for (size_t i = 0; i < 3; i++)
		expect_different(*state, optimised[i], "int f(int x) { return x + 3; }",
		                 "__attribute__((cold)) int f(int x) { return x + 3; }", "f");
	/* `first[i - 1]` is addressed from the end of what stands before: here the arrays change places and the use. */
	static const char *const absolute[] = {"gcc-12 -O2 -fno-pie", "clang-19 -O2 -fno-pie"};
	for (size_t i = 0; i < 2; i++)
		expect_different(*state, absolute[i],
		                 "static int pad = 1, first[4] = {1, 2}, mid = 2, second[4] = {3, 4};\n"
		                 "int f(long i) { return first[i - 1]; } int g(long i) { pad++; mid++; return first[i]++ + second[i]++; }",
		                 "static int pad = 1, second[4] = {3, 4}, mid = 2, first[4] = {1, 2};\n"
		                 "int f(long i) { return second[i - 1]; } int g(long i) { pad++; mid++; return first[i]++ + second[i]++; }", "f");
	/* alignment of loops is all that differs */
	const char *loop = "int f(int *p, int n) { int s = 1; asm volatile(\"nop\"); for (int i = 0; i < n; i++) { s *= p[i]; p[i] = s; } return s; }";
	const char *was = compile(*state, "gcc-12 -O2 -falign-loops=1", loop, ".c");
	const char *is = compile(*state, "gcc-12 -O2 -falign-loops=64", loop, ".c");
	assert_true(compare_files(*state, was, is, false).differ);
	assert_true(compare_files(*state, was, is, true).differ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(what_does_not_matter, setup, teardown),
	    cmocka_unit_test_setup_teardown(only_the_new_function_is_named, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_does_matter, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_matters_with_certain_flags, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
