/* Findings against remarks of clang 19 and notes of gcc 12 as they were recorded, shortened; and findings against profiles. */
#include "stage/stages.h"

#include "base/text.h"
#include "port/profile.h"
#include "port/remarks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

#define REMARK(tag, pass, name, line, column, function, text)                                                                   \
	"--- !" tag "\nPass: " pass "\nName: " name "\nDebugLoc: { File: a.c, Line: " line ", Column: " column " }\nFunction: " function \
	"\nArgs:\n  - String: '" text "'\n...\n"
#define INVALIDATED(line, column, function)                                                                                     \
	REMARK("Missed", "licm", "LoadWithLoopInvariantAddressInvalidated", line, column, function, "may invalidate its value")
#define VECTORISED(line, function) REMARK("Passed", "loop-vectorize", "Vectorized", line, "2", function, "vectorized loop")
#define ORDER(line) REMARK("AnalysisFPCommute", "loop-vectorize", "CantReorderFPOps", line, "5", "f", "cannot prove it is safe")
#define HOISTED(what) REMARK("Passed", "licm", "Hoisted", "11", "8", "f", "hoisting " what)

/* A loop in lines 10 to 12 of src/a.c. */
static struct finding finding_of(const char *pattern, enum severity severity)
{
	return (struct finding){.pattern = pattern, .file = "src/a.c", .line = 10, .loop_end = 12, .severity = severity,
	                        .compiler = COMPILER_SILENT};
}

static struct finding judge(const char *pattern, enum severity severity, const char *text, bool gcc, bool own)
{
	struct finding finding = finding_of(pattern, severity);
	struct remark_list remarks;
	struct err err = ERR_INIT;
	if (gcc)
		remarks_parse_gcc(&arena, text, &remarks);
	else if (remarks_parse(&arena, text, strlen(text), "x.yaml", &remarks, &err) != ST_OK)
		fail_msg("%s", err.text);
	bool settled = confirm_by(&arena, &finding, &remarks, own, gcc ? "gcc-12" : "clang-19");
	assert_int_equal(settled, finding.compiler != COMPILER_SILENT);
	return finding;
}

static void clang_is_judged(void **state)
{
	(void)state;
	static const struct {
		const char *pattern, *text;
		enum compiler_word own, second;
	} cases[] = {
	    {"P01", INVALIDATED("11", "8", "f"), COMPILER_CONFIRMED, COMPILER_CONFIRMED},
	    {"P03", INVALIDATED("10", "25", "f"), COMPILER_CONFIRMED, COMPILER_CONFIRMED},
	    {"P03", INVALIDATED("9", "25", "f") INVALIDATED("13", "1", "f"), COMPILER_SILENT, COMPILER_SILENT},
	    {"P07", ORDER("11"), COMPILER_CONFIRMED, COMPILER_CONFIRMED},
	    {"P07", INVALIDATED("11", "8", "f"), COMPILER_SILENT, COMPILER_SILENT},
	    {"P07", VECTORISED("10", "f"), COMPILER_SILENT, COMPILER_SILENT},
	    {"P01", ORDER("11"), COMPILER_SILENT, COMPILER_SILENT},
	    /* An early pass was held up, the vectoriser got over it by comparing addresses. */
	    {"P01", INVALIDATED("11", "8", "f") VECTORISED("10", "f"), COMPILER_DENIED, COMPILER_SILENT},
	    {"P01", VECTORISED("10", "f"), COMPILER_DENIED, COMPILER_SILENT},
	    /* An inner loop, and the next one. */
	    {"P01", VECTORISED("11", "f") VECTORISED("13", "f"), COMPILER_SILENT, COMPILER_SILENT},
	    /* Inlined, one copy of the loop is vectorised and the other is not. */
	    {"P01", INVALIDATED("11", "8", "f") VECTORISED("10", "g"), COMPILER_CONFIRMED, COMPILER_CONFIRMED},
	    /* Moved out of the loop later: the load itself, not the address beside it. */
	    {"P03", INVALIDATED("11", "8", "f") HOISTED("load"), COMPILER_DENIED, COMPILER_SILENT},
	    {"P03", INVALIDATED("11", "8", "f") HOISTED("getelementptr"), COMPILER_CONFIRMED, COMPILER_CONFIRMED},
	    {"P03", INVALIDATED("11", "8", "f") INVALIDATED("11", "9", "f") HOISTED("load"), COMPILER_CONFIRMED, COMPILER_CONFIRMED},
	    {"P03", "", COMPILER_SILENT, COMPILER_SILENT},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		enum compiler_word own = judge(cases[i].pattern, SEVERITY_HIGH, cases[i].text, false, true).compiler;
		enum compiler_word second = judge(cases[i].pattern, SEVERITY_HIGH, cases[i].text, false, false).compiler;
		if (own != cases[i].own || second != cases[i].second)
			fail_msg("case %zu: %s, as a second opinion %s", i, compiler_word_name(own), compiler_word_name(second));
	}
}

static void gcc_is_judged(void **state)
{
	(void)state;
	static const struct {
		const char *pattern, *text;
		enum compiler_word word;
	} cases[] = {
	    {"P01", "src/a.c:10:25: optimized:  loop versioned for vectorization because of possible aliasing\n", COMPILER_DENIED},
	    {"P03", "a.c:10:25: optimized: loop vectorized using 16 byte vectors\n", COMPILER_DENIED},
	    /* gcc -O3 vectorises sums of doubles and still adds them up in their order. */
	    {"P07", "a.c:10:25: optimized: loop vectorized using 16 byte vectors\n", COMPILER_SILENT},
	    {"P01", "a.c:10:25: missed: couldn't vectorize loop\na.c:11:8: missed: not vectorized: complicated access pattern.\n", COMPILER_SILENT},
	    {"P01", "a.c:11:8: missed:   not vectorized, possible dependence between data-refs *_4 and *_7\n", COMPILER_CONFIRMED},
	    {"P01", "a.c:10:25: optimized: loop turned into non-loop; it never loops\nscalar_type: const double\n", COMPILER_SILENT},
	    {"P01", "b.c:10:25: optimized: loop vectorized using 16 byte vectors\n", COMPILER_SILENT},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		enum compiler_word word = judge(cases[i].pattern, SEVERITY_HIGH, cases[i].text, true, true).compiler;
		if (word != cases[i].word)
			fail_msg("case %zu: %s", i, compiler_word_name(word));
	}
}

static void denied_ranks_lower(void **state)
{
	(void)state;
	struct finding finding = judge("P01", SEVERITY_HIGH, "a.c:10:25: optimized: loop vectorized using 16 byte vectors\n"
	                               "a.c:10:25: optimized:  loop versioned for vectorization because of possible aliasing\n", true, true);
	assert_int_equal(finding.severity, SEVERITY_MEDIUM);
	assert_string_equal(finding.remark, "gcc-12: a.c:10:25: loop versioned for vectorization because of possible aliasing; ranked one "
	                                    "step lower");
	finding = judge("P01", SEVERITY_LOW, VECTORISED("10", "f"), false, true);
	assert_int_equal(finding.severity, SEVERITY_LOW);
	assert_string_equal(finding.remark, "clang-19: a.c:10:2: loop-vectorize: vectorized loop");
	finding = judge("P03", SEVERITY_HIGH, INVALIDATED("11", "8", "f"), false, true);
	assert_int_equal(finding.severity, SEVERITY_HIGH);
	assert_string_equal(finding.remark, "clang-19: a.c:11:8: licm: may invalidate its value");
}

static void notes_of_gcc(void **state)
{
	(void)state;
	struct remark_list remarks;
	remarks_parse_gcc(&arena, "x:1.c:3:7: missed: y\n:3:4: missed: y\na.c:3: missed: y\na.c:3:4: error: y\na.c:99999999999999999999:1: note: z\n"
	                          "/t/a b.c:4:1: note: last", &remarks);
	assert_int_equal(remarks.count, 2);
	assert_string_equal(remarks.at[0].file, "x:1.c");
	assert_int_equal(remarks.at[0].line, 3);
	assert_int_equal(remarks.at[0].column, 7);
	assert_int_equal(remarks.at[0].kind, REMARK_MISSED);
	assert_string_equal(remarks.at[0].name, "missed");
	assert_string_equal(remarks.at[1].text, "last");
	assert_string_equal(remarks.at[1].file, "/t/a b.c");
}

static void a_profile_ranks(void **state)
{
	(void)state;
	struct profile profile = {.kind = "callgrind"};
	const struct profile_function functions[] = {{"hot", 0.90}, {"edge", 0.05}, {"warm", 0.0499}};
	for (size_t i = 0; i < 3; i++)
		list_push(&arena, &profile.functions, functions[i]);
	static const struct {
		const char *function;
		enum severity before, after;
		bool built;
		const char *evidence, *pattern;
	} cases[] = {
	    {"hot", SEVERITY_HIGH, SEVERITY_CRITICAL, true, "e; 90.0% of the profile (callgrind) is in hot: ranked one step higher", "P01"},
	    {"hot", SEVERITY_HIGH, SEVERITY_HIGH, false, "e; 90.0% of the profile (callgrind) is in hot", "P01"},
	    {"hot", SEVERITY_CRITICAL, SEVERITY_CRITICAL, true, "e; 90.0% of the profile (callgrind) is in hot", "P01"},
	    {"edge", SEVERITY_LOW, SEVERITY_MEDIUM, true, "e; 5.0% of the profile (callgrind) is in edge: ranked one step higher", "P01"},
	    {"warm", SEVERITY_MEDIUM, SEVERITY_MEDIUM, true, "e; 5.0% of the profile (callgrind) is in warm", "P01"},
	    {"cold", SEVERITY_MEDIUM, SEVERITY_LOW, true, "e; the profile never saw cold, unless inlined: ranked one step lower", "P01"},
	    {"cold", SEVERITY_LOW, SEVERITY_LOW, true, "e; the profile never saw cold, unless inlined", "P01"},
	    {NULL, SEVERITY_MEDIUM, SEVERITY_MEDIUM, true, "e", "P01"},
	    {"hot", SEVERITY_LOW, SEVERITY_LOW, true, "e; 90.0% of the profile (callgrind) is in hot", "R01"}, /* a removal */
	};
	struct session session = {0};
	struct finding findings[9];
	for (size_t i = 0; i < 9; i++) {
		findings[i] = (struct finding){.pattern = cases[i].pattern, .function = cases[i].function, .severity = cases[i].before, .built = cases[i].built, .evidence = "e"};
		list_push(&arena, &session.run.findings, &findings[i]);
	}
	rank_by_profile(&session, &profile);
	for (size_t i = 0; i < 9; i++) {
		assert_int_equal(findings[i].severity, cases[i].after);
		assert_string_equal(findings[i].evidence, cases[i].evidence);
		assert_int_equal(findings[i].profiled, cases[i].function != NULL);
	}
	assert_float_equal(findings[0].profile_share, 0.9, 1e-9);
	arena_release(&session.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(clang_is_judged, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(gcc_is_judged, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(denied_ranks_lower, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(notes_of_gcc, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_profile_ranks, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
