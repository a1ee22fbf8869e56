/* What the compile command and the surroundings of a loop change in what is found: the same source, other flags. */
#include "patterns/query.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;
static char folder[64];
static const char *path;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena);
	strcpy(folder, "/tmp/assay-command-XXXXXX");
	path = mkdtemp(folder) ? path_join(&arena, folder, "a.c") : NULL;
	return path ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	arena_release(&arena);
	return rmdir(folder);
}

static struct compile_command command_of(const char *words)
{
	struct compile_command command = {.file = "/a.c", .directory = "/"};
	list_push(&arena, &command.argv, "gcc");
	struct string_list given = {0};
	assert_true(shell_split(&arena, words, &given));
	for (size_t i = 0; i < given.count; i++)
		list_push(&arena, &command.argv, given.at[i]);
	return command;
}

/* What `pattern` finds in the text, guards aside. */
static struct finding_list found(const char *pattern, const char *text, const char *words)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	struct compile_command command = command_of(words);
	command.file = path;
	command.directory = folder;
	list_push(&arena, &command.argv, path);
	struct ast_unit *unit;
	struct err err = ERR_INIT;
	if (ast_parse(&command, folder, &unit, &err) != ST_OK)
		fail_msg("%s", err.text);
	if (unit->errors.count)
		fail_msg("%s", unit->errors.at[0]);
	const struct pattern *entry = pattern_find(pattern)->pattern;
	struct pattern_sink sink = {.arena = &arena};
	entry->detect(unit, &command, &sink);
	if (entry->detect_project) {
		struct project_unit alone = {.command = &command, .parsed = true, .facts = sink.facts};
		struct compdb commands = {0};
		list_push(&arena, &commands, command);
		list_push(&arena, &alone.files, "a.c");
		struct project_view view = {.tree = folder, .database = true, .whole = true, .units = &alone, .unit_count = 1,
		                            .commands = &commands};
		entry->detect_project(&view, &sink);
	}
	ast_unit_free(unit);
	return sink.findings;
}

static const struct finding *one(const char *pattern, const char *text, const char *words)
{
	struct finding_list findings = found(pattern, text, words);
	if (findings.count != 1)
		fail_msg("%s with %s: %zu findings", pattern, words, findings.count);
	return findings.at[0];
}

#define BASELINE "-O2"
static const char *const wide[] = {"-O2 -march=x86-64-v3", "-O2 -march=native"};
enum { WIDE = sizeof wide / sizeof *wide };

/* ---- the queries ------------------------------------------------------------------------------------------------- */

static void extensions_are_those_of_the_command(void **state)
{
	(void)state;
	static const struct {
		const char *words;
		bool popcnt, lzcnt, sse4_2, avx2;
	} cases[] = {
	    {"-O2", false, false, false, false},
	    {"-march=x86-64", false, false, false, false},
	    {"-march=x86-64-v2", true, false, true, false},
	    {"-march=x86-64-v3", true, true, true, true},
	    {"-march=native", true, true, true, true},
	    {"-march=znver3 -mtune=generic", true, true, true, true},
	    {"-march=core2", false, false, false, false},
	    {"-march=nehalem", true, false, true, false},
	    {"-march=x86-64-v3 -march=x86-64", false, false, false, false},
	    {"-march=armv8-a+crc", false, false, false, false},
	    {"-march=rv64gcv", false, false, false, false},
	    {"-mtune=native", false, false, false, false},
	    {"-mpopcnt", true, false, false, false},
	    {"-mlzcnt", false, true, false, false},
	    {"-mabm", true, true, false, false},
	    {"-msse4.1", false, false, false, false},
	    {"-msse4.2", true, false, true, false},
	    {"-mavx", true, false, true, false},
	    {"-mavx2", true, false, true, true},
	    {"-mavx512f", true, false, true, true},
	    {"-march=native -mno-popcnt", false, true, true, true},
	    {"-march=native -mno-lzcnt -mno-avx2", true, false, true, false},
	    {"-march=native -mno-sse4.2", true, true, false, true},
	    {"-mno-avx2 -mavx2", true, false, true, true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct compile_command command = command_of(cases[i].words);
		bool as_told = command_has_isa(&command, ISA_POPCNT) == cases[i].popcnt &&
		               command_has_isa(&command, ISA_LZCNT) == cases[i].lzcnt &&
		               command_has_isa(&command, ISA_SSE4_2) == cases[i].sse4_2 &&
		               command_has_isa(&command, ISA_AVX2) == cases[i].avx2;
		if (!as_told)
			fail_msg("%s", cases[i].words);
	}
}

static void kernels_are_known_by_their_commands(void **state)
{
	(void)state;
	static const struct {
		const char *words;
		bool kernel;
	} cases[] = {
	    {"-O2", false},
	    {"-D__KERNEL__", true},
	    {"-D__KERNEL__=1", true},
	    {"-D __KERNEL__", true},
	    {"-D_KERNEL -DX", true},
	    {"-D_KERNEL_TYPES", false},
	    {"-DNO__KERNEL__", false},
	    {"-U__KERNEL__", false},
	    {"-D__KERNEL__ -U__KERNEL__", false},
	    {"-D_KERNEL -U__KERNEL__", true},
	    {"-U__KERNEL__ -D__KERNEL__", true},
	    {"-mcmodel=kernel", true},
	    {"-mcmodel=large", false},
	    {"-mno-red-zone", true},
	    {"-ffreestanding", false},
	    {"-D", false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct compile_command command = command_of(cases[i].words);
		if (command_is_kernel(&command) != cases[i].kernel)
			fail_msg("%s", cases[i].words);
	}
}

/* ---- P12 --------------------------------------------------------------------------------------------------------- */

#define REPEATED(call) \
	"unsigned long all(const unsigned long *a, unsigned long n)\n{\n\tunsigned long sum = 0;\n" \
	"\tfor (unsigned long i = 0; i < n; i++)\n\t\tsum += " call ";\n\treturn sum;\n}\n"

static void counting_bits_asks_for_popcnt(void **state)
{
	(void)state;
	static const char lowest[] = "static unsigned ones(unsigned long x)\n{\n\tunsigned n = 0;\n"
	                             "\twhile (x) {\n\t\tx &= x - 1;\n\t\tn++;\n\t}\n\treturn n;\n}\n" REPEATED("ones(a[i])");
	static const char shifting[] = "static unsigned ones(unsigned long x)\n{\n\tunsigned n = 0;\n"
	                               "\tfor (; x; x >>= 1)\n\t\tn += x & 1;\n\treturn n;\n}\n" REPEATED("ones(a[i])");
	const struct finding *finding = one("P12", lowest, BASELINE);
	assert_int_equal(finding->severity, SEVERITY_MEDIUM);
	assert_non_null(strstr(finding->evidence, "baseline without popcnt"));
	for (size_t i = 0; i < WIDE; i++) {
		finding = one("P12", lowest, wide[i]);
		assert_int_equal(finding->severity, SEVERITY_LOW); /* the compiler's own doing then */
		assert_non_null(strstr(finding->claim, "nothing with gcc 12"));
		assert_non_null(strstr(finding->evidence, "the flags allow popcnt"));
		finding = one("P12", shifting, wide[i]);
		assert_int_equal(finding->severity, SEVERITY_MEDIUM);
		assert_non_null(strstr(finding->evidence, "the flags allow popcnt"));
	}
	assert_non_null(strstr(one("P12", shifting, BASELINE)->claim, "baseline"));
	assert_null(one("P12", lowest, "-O2 -mpopcnt")->contract);
	assert_non_null(strstr(one("P12", lowest, "-O2 -D__KERNEL__")->contract, "__popcountdi2"));
	assert_null(one("P12", lowest, "-O2 -D__KERNEL__ -mpopcnt")->contract);
}

static void the_highest_bit_asks_for_lzcnt(void **state)
{
	(void)state;
	static const char length[] = "static unsigned length(unsigned long x)\n{\n\tunsigned n = 0;\n"
	                             "\tfor (; x; x >>= 1)\n\t\tn++;\n\treturn n;\n}\n" REPEATED("length(a[i])");
	assert_non_null(strstr(one("P12", length, BASELINE)->evidence, "bsr"));
	assert_non_null(strstr(one("P12", length, "-O2 -mpopcnt -mavx2")->evidence, "bsr"));
	assert_non_null(strstr(one("P12", length, "-O2 -mlzcnt")->evidence, "the flags allow lzcnt"));
	for (size_t i = 0; i < WIDE; i++)
		assert_non_null(strstr(one("P12", length, wide[i])->evidence, "the flags allow lzcnt"));
}

/* The load and its swap are in every x86: what is found and proposed is the same, with movbe and without. */
static void bytes_in_order_ask_for_nothing(void **state)
{
	(void)state;
	static const char number[] = "unsigned long number(const unsigned char *p)\n{\n\tunsigned long v = 0;\n"
	                             "\tfor (int i = 0; i < 8; i++)\n\t\tv = v << 8 | p[i];\n\treturn v;\n}\n";
	const struct finding *plain = one("P12", number, BASELINE);
	assert_int_equal(plain->edits.count, 1);
	for (size_t i = 0; i < WIDE; i++) {
		const struct finding *other = one("P12", number, wide[i]);
		assert_int_equal(other->severity, plain->severity);
		assert_string_equal(other->claim, plain->claim);
		assert_string_equal(other->edits.at[0].text, plain->edits.at[0].text);
	}
}

static const char *crc_source(const char *polynomial)
{
	return arena_printf(&arena,
	                    "static unsigned table[256];\n"
	                    "void fill(void)\n{\n\tfor (unsigned i = 0; i < 256; i++) {\n\t\tunsigned e = i;\n"
	                    "\t\tfor (int k = 0; k < 8; k++)\n\t\t\te = e & 1 ? e >> 1 ^ %s : e >> 1;\n\t\ttable[i] = e;\n\t}\n}\n"
	                    "unsigned crc(unsigned c, const unsigned char *p, unsigned long n)\n{\n"
	                    "\twhile (n--)\n\t\tc = table[(c ^ *p++) & 0xff] ^ c >> 8;\n\treturn c;\n}\n",
	                    polynomial);
}

static void crc32c_asks_for_sse4_2(void **state)
{
	(void)state;
	const struct finding *finding = one("P12", crc_source("0x82f63b78"), BASELINE);
	assert_non_null(strstr(finding->evidence, "this is CRC-32C"));
	assert_non_null(strstr(finding->evidence, "__builtin_cpu_supports"));
	assert_true(finding->edits.count > 0);
	for (size_t i = 0; i < WIDE; i++)
		assert_non_null(strstr(one("P12", crc_source("0x82f63b78"), wide[i])->evidence, "the flags allow SSE4.2"));
	assert_null(one("P12", crc_source("0xedb88320"), wide[0])->evidence); /* another polynomial has no instruction */
}

/* ---- P05 --------------------------------------------------------------------------------------------------------- */

static void dead_code_is_dead_for_the_baseline_only(void **state)
{
	(void)state;
	static const char branch[] = "#ifdef __AVX2__\n#include <immintrin.h>\n#endif\n"
	                             "unsigned long count(const unsigned long *a, unsigned long n)\n{\n\tunsigned long sum = 0, i = 0;\n"
	                             "#ifdef __AVX2__\n\t__m256i sums = _mm256_setzero_si256();\n\tfor (; i + 4 <= n; i += 4)\n"
	                             "\t\tsums = _mm256_add_epi64(sums, _mm256_loadu_si256((const __m256i *)(a + i)));\n"
	                             "\tsum = (unsigned long)_mm256_extract_epi64(sums, 0);\n#endif\n"
	                             "\tfor (; i < n; i++)\n\t\tsum += a[i];\n\treturn sum;\n}\n";
	assert_int_equal(one("P05", branch, BASELINE)->line, 7);
	assert_int_equal(found("P05", branch, "-O2 -mavx2").count, 0);
	assert_int_equal(found("P05", branch, "-O2 -march=x86-64-v3").count, 0);
}

static void vector_loops_are_narrow_for_the_baseline_only(void **state)
{
	(void)state;
	static const char loop[] = "void mix(unsigned *to, const unsigned *from, unsigned long n)\n{\n"
	                           "\tfor (unsigned long i = 0; i < n; i++)\n\t\tto[i] = (to[i] ^ from[i]) + 7;\n}\n";
	assert_int_equal(one("P05", loop, "-O3")->line, 3);
	assert_int_equal(one("P05", loop, "-O3 -march=x86-64")->line, 3);
	assert_int_equal(found("P05", loop, "-O2").count, 0); /* gcc 12 makes no vector code of it then */
	assert_int_equal(found("P05", loop, "-O3 -march=native").count, 0);
	assert_int_equal(found("P05", loop, "-O3 -march=x86-64-v3").count, 0);
	assert_int_equal(found("P05", loop, "-O3 -mavx2").count, 0);
	assert_int_equal(found("P05", loop, "-O3 -D__KERNEL__").count, 0);
	assert_int_equal(found("P05", loop, "-O3 -mno-red-zone").count, 0);
}

/* ---- what stands around a loop ------------------------------------------------------------------------------------- */

/* The same loop as a function of its own, as the end of one that makes calls, and of one that only makes them on an error. */
#define SUM "\tdouble s = 0;\n\tfor (unsigned i = 0; i < n; i++)\n\t\ts += a[i];\n\treturn s;\n}\n"
#define CHAIN "\tfor (unsigned i = 0; i < n; i++) {\n\t\td[i] = a[i] * 2;\n\t\t*s += a[i];\n\t}\n}\n"
#define RELOAD "\tfor (unsigned i = 0; i < b->n; i++)\n\t\tb->out[i] = in[i];\n}\n"
#define BUFFER "struct buffer { unsigned char *out; unsigned n; };\n"

static void calls_beside_a_loop_rank_it_lower(void **state)
{
	(void)state;
	static const struct {
		const char *pattern, *text;
		enum severity severity;
	} cases[] = {
	    {"P07", "double f(const double *a, unsigned n)\n{\n" SUM, SEVERITY_MEDIUM},
	    {"P07", "void fetch(double *);\ndouble f(double *a, unsigned n)\n{\n\tfetch(a);\n" SUM, SEVERITY_LOW},
	    {"P07", "double fabs(double);\ndouble f(double *a, unsigned n)\n{\n\ta[0] = fabs(a[0]);\n" SUM, SEVERITY_MEDIUM},
	    {"P07", "void panic(const char *);\ndouble f(double *a, unsigned n)\n{\n\tif (!n)\n\t\tpanic(\"empty\");\n" SUM, SEVERITY_MEDIUM},
	    {"P07",
	     "void fetch(double *);\nstatic double f(double *a, unsigned n)\n{\n\tfetch(a);\n" SUM
	     "double g(double *a, unsigned n)\n{\n\tdouble t = 0;\n\tfor (unsigned k = 0; k < n; k++)\n\t\tt = f(a, n) / t;\n\treturn t;\n}\n",
	     SEVERITY_MEDIUM},
	    {"P01", "void f(double *d, double *s, const double *a, unsigned n)\n{\n" CHAIN, SEVERITY_HIGH},
	    {"P01", "double *get(void);\nvoid f(double *d, double *s, unsigned n)\n{\n\tconst double *a = get();\n" CHAIN, SEVERITY_MEDIUM},
	    {"P03", BUFFER "void f(struct buffer *b, const unsigned char *in)\n{\n" RELOAD, SEVERITY_HIGH},
	    {"P03", BUFFER "void get(struct buffer *);\nvoid f(struct buffer *b, const unsigned char *in)\n{\n\tget(b);\n" RELOAD, SEVERITY_MEDIUM},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct finding *finding = one(cases[i].pattern, cases[i].text, "-O3");
		if (finding->severity != cases[i].severity)
			fail_msg("case %zu is %s:\n%s", i, severity_name(finding->severity), cases[i].text);
	}
}

/* An array that was just allocated: of numbers and pointers it costs more than what is read again; bytes are another matter. */
static void new_memory_hides_loads_of_larger_elements(void **state)
{
	(void)state;
#define FILL(type, get, put) \
	"void *my_alloc(unsigned long);\nvoid *given(void);\nstruct list { unsigned n; " type " *at; };\n" \
	"void f(struct list *l, const struct list *from)\n{\n\t" get ";\n\tfor (unsigned i = 0; i < l->n; i++)\n\t\t" put ";\n}\n"
	const char *words = "-O2 -fno-strict-aliasing";
	assert_int_equal(found("P03", FILL("int", "l->at = my_alloc(l->n * sizeof *l->at)", "l->at[i] = from->at[i]"), words).count, 0);
	assert_int_equal(found("P03", FILL("int", "l->at = given()", "l->at[i] = from->at[i]"), words).count, 1);
	assert_int_equal(found("P03", FILL("int", "int *other = my_alloc(4); l->at[0] = *other", "l->at[i] = from->at[i]"), words).count, 1);
	assert_int_equal(found("P03", FILL("unsigned char", "l->at = my_alloc(l->n)", "l->at[i] = from->at[i]"), words).count, 1);
	assert_int_equal(found("P03", FILL("int", "l->at = my_alloc(4); for (int k = 0; k < from->at[0]; k++)", "for (unsigned j = 0; j < from->n; j++) l->at[j] = from->at[j]"), words).count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(extensions_are_those_of_the_command, setup, teardown),
	    cmocka_unit_test_setup_teardown(kernels_are_known_by_their_commands, setup, teardown),
	    cmocka_unit_test_setup_teardown(counting_bits_asks_for_popcnt, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_highest_bit_asks_for_lzcnt, setup, teardown),
	    cmocka_unit_test_setup_teardown(bytes_in_order_ask_for_nothing, setup, teardown),
	    cmocka_unit_test_setup_teardown(crc32c_asks_for_sse4_2, setup, teardown),
	    cmocka_unit_test_setup_teardown(dead_code_is_dead_for_the_baseline_only, setup, teardown),
	    cmocka_unit_test_setup_teardown(vector_loops_are_narrow_for_the_baseline_only, setup, teardown),
	    cmocka_unit_test_setup_teardown(calls_beside_a_loop_rank_it_lower, setup, teardown),
	    cmocka_unit_test_setup_teardown(new_memory_hides_loads_of_larger_elements, setup, teardown),
	};
	return cmocka_run_group_tests_name("commands of patterns", tests, NULL, NULL);
}
