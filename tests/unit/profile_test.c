/* Profiles of valgrind 3.19 and perf 6.1, shortened, against shares that were added up by hand; and texts that are none. */
#include "port/profile.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct arena arena;
static struct profile profile;
static struct err err;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena);
	err = ERR_INIT;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static void parse(const char *text, const char *kind)
{
	err = ERR_INIT;
	if (profile_parse(&arena, text, "x", &profile, &err) != ST_OK)
		fail_msg("%s", err.text);
	assert_string_equal(profile.kind, kind);
}

static void share_is(const char *function, double wanted)
{
	double share = -1;
	assert_true(profile_share(&profile, function, &share));
	assert_float_equal(share, wanted, 1e-9);
}

static void unseen(const char *function)
{
	double share = -1;
	assert_false(profile_share(&profile, function, &share));
	assert_float_equal(share, 0, 0);
}

static void callgrind_compressed(void **state)
{
	(void)state;
	/* hot 30 + 40, its clone 10, main 20; the 70 of the call are hot's own. */
	parse("# callgrind format\nversion: 1\npart: 1\n\ndesc: Trigger: Program termination\n\npositions: line\nevents: Ir\n"
	      "summary: 100\n\nob=(1) /m\nfl=(1) m.c\nfn=(1) hot\n3 30\n+1 40\n\nfn=(2) main\n9 5\ncfn=(1)\ncalls=7 3\n9 70\n* 15\n\n"
	      "fn=(3) hot.constprop.0\n3 10\n\ntotals: 100\n",
	      "callgrind");
	share_is("hot", 0.8);
	share_is("main", 0.2);
	unseen("hot.constprop.0");
	unseen("cold");
}

static void callgrind_written_out(void **state)
{
	(void)state;
	parse("# callgrind format\npositions: instr line\nevents: Ir Dr\n\nob=/m\nfl=m.c\nfn=(below main)\n0x1000 0 10 2\n"
	      "jcnd=1/1 +4 0\n* 0\n+4 0 5 1\nfn=hot'2\n0x2000 7 60 9\ncob=/c\ncfn=memset\ncalls=1 0x30 30\n* 7 500 0\n+2 8 5\n"
	      "fn=(below main)\n0x1000 0 20 1\n",
	      "callgrind");
	share_is("(below main)", 0.35);
	share_is("hot", 0.65);
	share_is("memset", 0);
}

static void perf_reports(void **state)
{
	(void)state;
	parse("# Overhead  Command  Shared Object         Symbol\n# ........\n#\n    84.62%  m  m  [.] warm\n"
	      "     7.69%  m   ld-linux-x86-64.so.2  [.] warm.part.1.isra.0\n     3.85%  my prog  [kernel.kallsyms]     [k] next_folio\n\n#\n# (Tip: 5%)\n",
	      "perf report");
	share_is("warm", 0.9231);
	share_is("next_folio", 0.0385);
	/* With call graphs the second percentage is the function's own, and the graph's lines are none. */
	parse("# Children      Self  Command  Shared Object         Symbol\n#\n    90.00%    81.48%  m  m  [.] warm\n            |\n"
	      "            |--50.00%--cold\n            |          [.] x\n\n     7.41%     0.00%  m  m  [.] _start\n            50.00%  m  m  [.] graph\n",
	      "perf report");
	share_is("warm", 0.8148);
	share_is("_start", 0);
	unseen("graph");
	unseen("cold");
	parse("    50.00%  [.] alone\n", "perf report");
	share_is("alone", 0.5);
}

static void perf_scripts(void **state)
{
	(void)state;
	parse("               m 28591  5126.949063:     250000 cpu-clock:      7eff347baf02 check.constprop.0+0x122 (/usr/lib/ld.so)\n"
	      "          my m: 28591 [001] 5126.949310:     750000 cycles:u:      7eff347baf38 warm+0x158 (/m)\n",
	      "perf script");
	share_is("check", 0.25);
	share_is("warm", 0.75);
	/* The innermost frame counts, and what is inlined there; no period: each sample the same. */
	parse("m 29035  5128.630204: cpu-clock: \n\tffffffff813695e2 inner+0x72 (inlined)\n\tffffffff813695e2 outer+0x72 (/m)\n"
	      "\t           15389 main+0x219 (/m)\n\nm 29035  5128.630453: cpu-clock: \n\tffffffff813695e2 other+0x72 ([kernel.kallsyms])\n\n",
	      "perf script");
	share_is("inner", 0.5);
	share_is("outer", 0.5);
	share_is("other", 0.5);
	unseen("main");
}

static void refused(const char *text, const char *part)
{
	err = ERR_INIT;
	assert_int_equal(profile_parse(&arena, text, "p.txt", &profile, &err), ST_INPUT);
	assert_true(text_starts(err.text, "p.txt"));
	if (!strstr(err.text, part))
		fail_msg("%s", err.text);
}

static void no_profiles(void **state)
{
	(void)state;
	refused("", "is no profile");
	refused("main.c:3: 84.62% of it\n", "is no profile");
	refused("  120.00%  m m [.] f\n", "is no profile");
	refused("PERFILE2\1\2", "perf's own record");
	refused("# callgrind format\nevents: Ir\n", "holds no function that took time");
	refused("# callgrind format\nevents: Ir\nfn=(7)\n3 4\n", "line 3, is not understood");
	refused("# callgrind format\nevents: Cycles\nfn=(7) f\n3 4\n", "holds no counts of instructions");
	assert_int_not_equal(profile_read(&arena, "/nonexistent/profile", &profile, &err), ST_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(callgrind_compressed, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(callgrind_written_out, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(perf_reports, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(perf_scripts, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(no_profiles, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
