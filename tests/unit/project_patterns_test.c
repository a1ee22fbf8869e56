/* Patterns that look at the whole project, on small trees: what one file can't show. */
#include "stage/stages.h"

#include "base/text.h"
#include "patterns/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;
static struct session session;
static char tree[64];

static int setup(void **state)
{
	(void)state;
	strcpy(tree, "/tmp/assay-whole-XXXXXX");
	assert_non_null(mkdtemp(tree));
	session = (struct session){.interrupted = &interrupted, .jobs = 2};
	session.project.tree = session.project.dir = tree;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_release(&session.arena);
	char command[128];
	snprintf(command, sizeof command, "rm -rf '%s'", tree);
	return system(command) != 0;
}

static void put(const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", tree, name);
	for (char *slash = path + strlen(tree) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fputs(text, file) < 0, 0);
	fclose(file);
}

/* "file flags" pairs, up to NULL. */
static void database(const char *const *pairs)
{
	char text[8192] = "[";
	size_t used = 1;
	for (; pairs[0]; pairs += 2)
		used += (size_t)snprintf(text + used, sizeof text - used,
		                         "%s{\"directory\": \"%s\", \"file\": \"%s\", \"command\": \"cc %s -c -o x.o %s\"}",
		                         used > 1 ? ",\n" : "", tree, pairs[0], pairs[1], pairs[0]);
	snprintf(text + used, sizeof text - used, "]");
	put("compile_commands.json", text);
}

static void run(const char *pattern)
{
	struct scan_request request = {0};
	struct err err = ERR_INIT;
	list_push(&session.arena, &request.patterns, pattern);
	session.commands_known = false;
	session.run.findings = (struct finding_list){0};
	assert_int_equal(scan(&session, &request, &err), ST_OK);
}

static const struct finding *finding_at(const char *file, unsigned line)
{
	const struct finding *found = NULL;
	for (size_t i = 0; i < session.run.findings.count; i++) {
		const struct finding *finding = session.run.findings.at[i];
		print_message("%s:%u: %s %s\n", finding->file, finding->line, severity_name(finding->severity), finding->message);
		if (finding->line == line && strcmp(finding->file, file) == 0)
			found = finding;
	}
	return found;
}

#define SWITCHED "#ifndef LIB_DISABLE_ASM\n__asm__(\"\");\n#endif\n"

static void a_switch_in_a_template_is_low(void **state)
{
	(void)state;
	put("lib/code.h", SWITCHED);
	put("lib/in.c", "#define LIB_DISABLE_ASM 1\n#include \"code.h\"\n");
	put("lib/real.c", "#include \"code.h\"\n");
	database((const char *const[]){"lib/real.c", "-O2", NULL});
	run("P04");
	assert_int_equal(session.run.findings.count, 1);
	const struct finding *finding = finding_at("lib/in.c", 1);
	assert_non_null(finding);
	assert_int_equal(finding->severity, SEVERITY_LOW);
	assert_false(finding->built);
	assert_non_null(strstr(finding->message, "no command compiles"));
}

static void a_switch_is_reported_with_its_units(void **state)
{
	(void)state;
	put("lib/config.h", "#define LIB_DISABLE_ASM 1\n");
	put("lib/code.h", SWITCHED);
	put("lib/a.c", "#include \"config.h\"\n#include \"code.h\"\n");
	put("lib/b.c", "#include \"config.h\"\n#include \"code.h\"\n");
	put("lib/c.c", "int c;\n");
	database((const char *const[]){"lib/a.c", "-O2", "lib/b.c", "-O2", "lib/c.c", "-O2", NULL});
	run("P04");
	assert_int_equal(session.run.findings.count, 1);
	const struct finding *finding = finding_at("lib/config.h", 1);
	assert_non_null(finding);
	assert_int_equal(finding->severity, SEVERITY_HIGH);
	assert_non_null(strstr(finding->message, "lib/code.h:1 leaves out lines 1 to 3"));
	assert_non_null(strstr(finding->evidence, "2 units: lib/a.c, lib/b.c"));
	assert_int_equal(finding->edits.count, 1);
	/* On the command line it is reported where it takes effect. */
	put("lib/config.h", "\n");
	database((const char *const[]){"lib/a.c", "-O2 -DLIB_DISABLE_ASM", "lib/b.c", "-O2", "lib/c.c", "-O2 -DLIB_DISABLE_ASM", NULL});
	run("P04");
	assert_int_equal(session.run.findings.count, 1);
	assert_non_null(finding = finding_at("lib/code.h", 1));
	assert_int_equal(finding->edits.count, 0);
	assert_non_null(strstr(finding->message, "-DLIB_DISABLE_ASM"));
	/* Nobody obeys it. */
	database((const char *const[]){"lib/a.c", "-O2", "lib/b.c", "-O2", "lib/c.c", "-O2 -DLIB_DISABLE_ASM", NULL});
	run("P04");
	assert_int_equal(session.run.findings.count, 0);
}

static void a_qualifier_taken_by_commands_is_one_finding(void **state)
{
	(void)state;
	put("a.c", "int first;\n");
	put("b.c", "void f(int *restrict p, int n)\n{\n\tfor (int i = 0; i < n; i++)\n\t\tp[i]++;\n}\n");
	put("c.c", "void g(int *restrict p);\n");
	database((const char *const[]){"a.c", "-O2 -Drestrict=", "b.c", "-O2 -Drestrict=", "c.c", "-O2 -Drestrict=", NULL});
	run("P02");
	assert_int_equal(session.run.findings.count, 1);
	const struct finding *finding = finding_at("b.c", 1);
	assert_non_null(finding);
	assert_int_equal(finding->severity, SEVERITY_MEDIUM);
	assert_non_null(strstr(finding->evidence, "-Drestrict= in 3 commands, 2 expansions"));
	database((const char *const[]){"a.c", "-O2 -Drestrict=", "b.c", "-O2", "c.c", "-O2", NULL});
	run("P02");
	assert_int_equal(session.run.findings.count, 1);
	assert_non_null(finding = finding_at("a.c", 1));
	assert_int_equal(finding->severity, SEVERITY_LOW);
}

static void a_table_lacks_what_another_file_has(void **state)
{
	(void)state;
	const char *table = "extern void sum_sse2(void), sum_avx2(void), sum_avx512f(void);\nvoid sum_plain(void) {}\n"
	                    "void (*const sums[])(void) = {sum_plain, sum_sse2, sum_avx2};\n";
	put("table.c", table);
	put("sse2.c", "void sum_sse2(void) {}\n");
	put("avx2.c", "void sum_avx2(void) {}\n");
	put("avx512.c", "void sum_avx512f(void) {}\nvoid product_avx512f(void) {}\n");
	const char *const pairs[] = {"table.c", "-O2", "sse2.c", "-O2", "avx2.c", "-O2", "avx512.c", "-O2", NULL};
	database(pairs);
	run("P05");
	assert_int_equal(session.run.findings.count, 1);
	const struct finding *finding = finding_at("avx512.c", 1);
	assert_non_null(finding);
	assert_non_null(strstr(finding->evidence, "table.c:3 holds sum_sse2, sum_avx2"));
	put("table.c", "extern void sum_sse2(void), sum_avx512f(void);\nvoid sum_plain(void) {}\n"
	               "void (*const sums[])(void) = {sum_plain, sum_sse2, sum_avx512f};\n");
	run("P05");
	assert_null(finding_at("avx512.c", 1));
}

static void clones_are_for_the_baseline_only(void **state)
{
	(void)state;
	put("mask.c", "void mask(unsigned *to, unsigned mask, unsigned long n)\n{\n\tfor (unsigned long i = 0; i < n; i++)\n"
	              "\t\tto[i] ^= mask;\n}\n");
	database((const char *const[]){"mask.c", "-O3", NULL});
	run("P05");
	assert_int_equal(session.run.findings.count, 1);
	assert_non_null(finding_at("mask.c", 3));
	database((const char *const[]){"mask.c", "-O3 -march=native", NULL});
	run("P05");
	assert_int_equal(session.run.findings.count, 0);
	database((const char *const[]){"mask.c", "-O3 -mavx2", NULL});
	run("P05");
	assert_int_equal(session.run.findings.count, 0);
}

static void a_popcount_depends_on_the_command(void **state)
{
	(void)state;
	put("bits.c", "int bits(unsigned long w)\n{\n\tint n = 0;\n\twhile (w) {\n\t\tw &= w - 1;\n\t\tn++;\n\t}\n\treturn n;\n}\n");
	const char *const with[] = {"-O2 -mpopcnt", "-O2 -march=native", "-O2 -march=x86-64-v2", "-O2 -mavx2"};
	const char *const without[] = {"-O2", "-O2 -march=core2", "-O2 -march=x86-64-v3 -mno-popcnt", "-O2 -msse4.1"};
	for (size_t i = 0; i < 4; i++) {
		const struct finding *finding;
		database((const char *const[]){"bits.c", with[i], NULL});
		run("P12");
		assert_non_null(finding = finding_at("bits.c", 4));
		assert_int_equal(finding->severity, SEVERITY_LOW);
		assert_non_null(strstr(finding->claim, "nothing with gcc 12"));
		database((const char *const[]){"bits.c", without[i], NULL});
		run("P12");
		assert_non_null(finding = finding_at("bits.c", 4));
		assert_int_equal(finding->severity, SEVERITY_MEDIUM);
		assert_non_null(strstr(finding->evidence, "__popcountdi2"));
	}
}

static void flags_are_counted(void **state)
{
	(void)state;
	put("a.c", "int a;\n");
	put("b.c", "int b;\n");
	put("tests/t.c", "int t;\n");
	database((const char *const[]){"a.c", "-O2", "b.c", "-O3 -O0", "tests/t.c", "-O0", NULL});
	run("P04");
	assert_int_equal(session.run.findings.count, 1);
	const struct finding *finding = finding_at("b.c", 1);
	assert_non_null(finding);
	assert_int_equal(finding->severity, SEVERITY_MEDIUM);
	assert_non_null(strstr(finding->message, "1 of the 2 units are compiled with -O0"));
	database((const char *const[]){"a.c", "-g", "b.c", "-g", NULL});
	run("P04");
	assert_int_equal(session.run.findings.count, 1);
	assert_int_equal(session.run.findings.at[0]->severity, SEVERITY_LOW);
	assert_non_null(strstr(session.run.findings.at[0]->message, "is this the build that ships"));
	database((const char *const[]){"a.c", "-O0 -fsanitize=address", "b.c", "-mno-sse -mno-red-zone -O2", NULL});
	run("P04");
	assert_int_equal(session.run.findings.count, 0);
}

static void sources_that_nothing_compiles(void **state)
{
	(void)state;
	put("lib/a.c", "#include \"part_avx2.c\"\n");
	put("lib/part_avx2.c", "int part;\n"); /* included */
	put("lib/sum_avx2.c", "int sum;\n");
	put("lib/sum_neon.c", "int neon;\n"); /* another processor's */
	put("lib/asm/x.S", "#include \"x_included.S\"\n");
	put("lib/asm/x_included.S", "\n");
	put("lib/asm/fast.S", "\n");
	put("lib/asm/arm/fast.S", "\n");
	put("contrib/other.S", "\n");
	database((const char *const[]){"lib/a.c", "-O2", "lib/asm/x.S", "", NULL});
	run("P04");
#if defined(__x86_64__)
	assert_int_equal(session.run.findings.count, 2);
	assert_non_null(finding_at("lib/sum_avx2.c", 1));
	assert_non_null(finding_at("lib/asm/fast.S", 1));
#endif
	/* Without any assembly in the database it may just not be recorded: one low finding for all. */
	database((const char *const[]){"lib/a.c", "-O2", "lib/sum_avx2.c", "-O2 -mavx2", NULL});
	run("P04");
	assert_int_equal(session.run.findings.count, 1);
	assert_int_equal(session.run.findings.at[0]->severity, SEVERITY_LOW);
	assert_non_null(strstr(session.run.findings.at[0]->message, "2 assembly sources"));
}

#define WIDE \
	"#ifdef __AVX2__\n" \
	"#include <immintrin.h>\n" \
	"void WHO(char *p) { for (int i = 0; i < 9; i++) _mm256_storeu_si256((__m256i *)p + i, _mm256_setzero_si256()); }\n" \
	"#else\n" \
	"void WHO(char *p) { for (int i = 0; i < 288; i++) p[i] = 0; }\n" \
	"#endif\n"

static void a_branch_that_another_unit_takes_is_alive(void **state)
{
	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	put("clear.h", WIDE);
	put("plain.c", "#define WHO clear_plain\n#include \"clear.h\"\n");
	put("wide.c", "#define WHO clear_wide\n#include \"clear.h\"\n");
	database((const char *const[]){"plain.c", "-O2", "wide.c", "-O2", NULL});
	run("P05");
	assert_int_equal(session.run.findings.count, 1);
	assert_int_equal(session.run.findings.at[0]->severity, SEVERITY_MEDIUM);
	assert_non_null(finding_at("clear.h", 1));
	database((const char *const[]){"plain.c", "-O2", "wide.c", "-O2 -mavx2", NULL});
	run("P05");
	assert_int_equal(session.run.findings.count, 0);
}

static void a_table_needs_a_question_somewhere(void **state)
{
	(void)state;
	put("table.c", "struct ops { int (*f)(void); };\nextern const struct ops plain_ops, avx2_ops;\n"
	               "const struct ops *all[] = {&plain_ops, &avx2_ops};\n");
	put("avx2.c", "int f(void);\n__attribute__((target(\"avx2\"))) int f_avx2(void) { return f(); }\n");
	database((const char *const[]){"table.c", "-O2", "avx2.c", "-O2", NULL});
	run("P05");
#if defined(__x86_64__)
	assert_int_equal(session.run.findings.count, 1);
	assert_non_null(finding_at("avx2.c", 2));
#endif
	put("avx2.c", "int f(void);\nint avx2_available(void);\n"
	              "__attribute__((target(\"avx2\"))) int f_avx2(void) { return avx2_available() ? f() : 0; }\n");
	run("P05");
	assert_int_equal(session.run.findings.count, 1);
	const struct finding *finding = finding_at("table.c", 3);
	assert_non_null(finding);
	assert_int_equal(finding->kind, FINDING_GUARD);
	assert_int_equal(finding->edits.count, 1);
}

static void assembly_is_assembled_and_read(void **state)
{
	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	put("a.c", "int a;\n");
	put("wide.S", ".globl wide\n.type wide, @function\nwide:\n\ttest %rdi, %rdi\n\tje 1f\n\tvmovups (%rdi), %ymm3\n"
	              "\tvmovups %ymm3, (%rsi)\n1:\tnop\n\tret\n.size wide, .-wide\n"
	              ".globl clean\n.type clean, @function\nclean:\n\tvmovups (%rdi), %ymm3\n\tvmovups %ymm3, (%rsi)\n"
	              "\tvzeroupper\n\tret\n.size clean, .-clean\n"
	              "helper:\n\tvmovups (%rdi), %ymm3\n\tret\n");
	put("broken.S", "ymm: what is this\n");
	database((const char *const[]){"a.c", "-O2", "wide.S", "", "broken.S", "", NULL});
	run("P06");
	assert_int_equal(session.run.findings.count, 1);
	const struct finding *finding = finding_at("wide.S", 3);
	assert_non_null(finding);
	assert_int_equal(finding->severity, SEVERITY_MEDIUM);
	assert_true(finding->built);
	assert_int_equal(finding->edits.count, 1);
	assert_string_equal(finding->edits.at[0].text, "\tvzeroupper\n");
	/* The build of a kernel saves the whole state. */
	database((const char *const[]){"a.c", "-O2", "wide.S", "-D__KERNEL__", NULL});
	run("P06");
	assert_int_equal(session.run.findings.count, 0);
}

static void a_template_is_reported_where_it_is_made_wide(void **state)
{
	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	put("copy.h", "static int copy(void *to)\n{\n\tLOAD(to);\n\treturn 0;\n}\n"
	              "int each(int (*f)(void *), void *);\nint NAME(void *to)\n{\n\tint r = each(copy, to);\n\tEND();\n\treturn r;\n}\n");
	put("narrow.c", "#define LOAD(p) __asm__ volatile(\"movups (%0), %%xmm0\" : : \"r\"(p))\n#define END()\n#define NAME narrow\n"
	                "#include \"copy.h\"\n");
	put("dirty.c", "#define LOAD(p) __asm__ volatile(\"vmovups (%0), %%ymm0\" : : \"r\"(p))\n#define END()\n#define NAME dirty\n"
	               "#include \"copy.h\"\nint user(void *p) { return dirty(p); }\n");
	put("clean.c", "#define LOAD(p) __asm__ volatile(\"vmovups (%0), %%ymm0\" : : \"r\"(p))\n"
	               "#define END() __asm__ volatile(\"vzeroupper\")\n#define NAME clean\n#include \"copy.h\"\n");
	database((const char *const[]){"narrow.c", "-O2", "dirty.c", "-O2", "clean.c", "-O2", NULL});
	run("P06");
	assert_int_equal(session.run.findings.count, 1);
	const struct finding *finding = finding_at("dirty.c", 5);
	assert_non_null(finding);
	assert_int_equal(finding->edits.count, 0);
	assert_non_null(strstr(finding->message, "copy.h"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_switch_in_a_template_is_low),
	    TEST(a_switch_is_reported_with_its_units),
	    TEST(a_qualifier_taken_by_commands_is_one_finding),
	    TEST(a_table_lacks_what_another_file_has),
	    TEST(clones_are_for_the_baseline_only),
	    TEST(a_popcount_depends_on_the_command),
	    TEST(flags_are_counted),
	    TEST(sources_that_nothing_compiles),
	    TEST(a_branch_that_another_unit_takes_is_alive),
	    TEST(a_table_needs_a_question_somewhere),
	    TEST(assembly_is_assembled_and_read),
	    TEST(a_template_is_reported_where_it_is_made_wide),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
