#include "port/project.h"
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
	struct note_list notes;
	struct err err;
	struct project project;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	arena_init(&fixture->arena);
	strcpy(fixture->dir, "/tmp/assay-project-XXXXXX");
	*state = fixture;
	return mkdtemp(fixture->dir) ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	char command[128];
	snprintf(command, sizeof command, "rm -rf %s", fixture->dir);
	int code = system(command);
	arena_release(&fixture->arena);
	free(fixture);
	return code;
}

static const char *put(struct fixture *fixture, const char *name, const char *text)
{
	const char *path = path_join(&fixture->arena, fixture->dir, name);
	for (char *at = strchr(path + strlen(fixture->dir) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0777);
		*at = '/';
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return path;
}

static enum status load(struct fixture *fixture, const char *text)
{
	put(fixture, "assay.yaml", text);
	fixture->err = ERR_INIT;
	return project_load(&fixture->arena, fixture->dir, NULL, &fixture->project, &fixture->notes, &fixture->err);
}

static void a_full_file_is_read(void **state)
{
	struct fixture *f = *state;
	put(f, "src/lib/decode.c", "");
	put(f, "build/release/compile_commands.json", "[]");
	assert_int_equal(load(f, "tree: src\n"
	                         "scan: [lib, ./include/]\n"
	                         "build: make -j2\n"
	                         "hypotheses:\n"
	                         "  - name: restrict\n"
	                         "    patch: patches/../patches/r.patch\n"
	                         "    claim: 5-20 % faster\n"
	                         "    workloads: [decompress]\n"
	                         "  - {name: o3, flags: ['-O3', '-DA=b c']}\n"
	                         "  - {name: clang, cc: clang-19}\n"
	                         "workloads:\n"
	                         "  - name: decompress\n"
	                         "    bench: ./bench/decompress.c\n"
	                         "    sources: [lib/decode.c]\n"
	                         "    flags: -Ilib '-DX=a b'\n"
	                         "    libs: [-lm]\n"
	                         "    params: { block: [4096, 131072], level: 3 }\n"
	                         "decisions:\n"
	                         "  - finding: P04:lib/x.c:decode\n"
	                         "    reason: kernel objtool\n"
	                         "contracts:\n"
	                         "  - finding: P01:lib/x.c:add\n"
	                         "    reason: 'jd: x.h forbids overlap'\n"),
	                 ST_OK);
	const struct project *p = &f->project;
	assert_string_equal(p->dir, f->dir);
	assert_string_equal(p->tree, path_join(&f->arena, f->dir, "src"));
	assert_string_equal(p->compile_commands,
	                    path_join(&f->arena, f->dir, "build/release/compile_commands.json"));
	assert_int_equal(p->scan.count, 2);
	assert_string_equal(p->scan.at[1], "include");
	assert_int_equal(p->workloads.count, 1);
	const struct workload *w = p->workloads.at[0];
	assert_string_equal(w->bench, "bench/decompress.c");
	assert_int_equal(w->line, 12);
	assert_int_equal(w->flags.count, 2);
	assert_string_equal(w->flags.at[1], "-DX=a b");
	assert_string_equal(w->libs.at[0], "-lm");
	assert_int_equal(w->params.count, 2);
	assert_string_equal(w->params.at[0].name, "block");
	assert_string_equal(w->params.at[0].values.at[1], "131072");
	assert_string_equal(w->params.at[1].values.at[0], "3");
	assert_int_equal(p->hypotheses.count, 3);
	assert_string_equal(p->hypotheses.at[0].patches.at[0], path_join(&f->arena, f->dir, "patches/r.patch"));
	assert_string_equal(p->hypotheses.at[0].workloads.at[0], "decompress");
	assert_string_equal(p->hypotheses.at[1].flags, "-O3 '-DA=b c'");
	assert_string_equal(p->hypotheses.at[2].cc, "clang-19");
	assert_string_equal(p->decisions.at[0].reason, "kernel objtool");
	assert_int_equal(p->contracts.count, 1);
	assert_string_equal(p->contracts.at[0].finding, "P01:lib/x.c:add");
	assert_string_equal(p->contracts.at[0].reason, "jd: x.h forbids overlap");
	assert_int_equal(f->notes.count, 0);
}

static void budgets_are_read(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(load(f, "budget: 1.5s\n"
	                         "hypotheses:\n"
	                         "  - {name: long, flags: -O3, budget: 2m}\n"
	                         "  - {name: plain, flags: -O3}\n"
	                         "surveys:\n"
	                         "  - {name: s, workload: w, over: i, budget: 500ms}\n"
	                         "workloads:\n"
	                         "  - {name: w, bench: b.c, params: {i: [a, b]}}\n"),
	                 ST_OK);
	assert_true(f->project.budget_s == 1.5);
	assert_true(f->project.hypotheses.at[0].budget_s == 120);
	assert_true(f->project.hypotheses.at[1].budget_s == 0);
	assert_true(f->project.surveys.at[0].budget_s == 0.5);
}

static void surveys_are_read(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(load(f, "surveys:\n"
	                         "  - name: checksum implementations\n"
	                         "    workload: checksum\n"
	                         "    over: impl\n"
	                         "    baseline: sse2\n"
	                         "    needs: { avx2: avx2, avx512bw: avx512bw }\n"
	                         "    params: { size: [4096, 1048576] }\n"
	                         "  - {name: plain, workload: checksum, over: size}\n"
	                         "workloads:\n"
	                         "  - name: checksum\n"
	                         "    bench: bench/checksum.c\n"
	                         "    params: { impl: [generic, sse2, avx2, avx512bw], size: [1, 2, 3] }\n"),
	                 ST_OK);
	assert_int_equal(f->project.surveys.count, 2);
	const struct asked_survey *s = &f->project.surveys.at[0];
	assert_string_equal(s->name, "checksum implementations");
	assert_string_equal(s->workload, "checksum");
	assert_string_equal(s->over, "impl");
	assert_string_equal(s->baseline, "sse2");
	assert_int_equal(s->line, 2);
	assert_int_equal(s->needs.count, 2);
	assert_string_equal(s->needs.at[1].value, "avx512bw");
	assert_string_equal(s->needs.at[0].feature, "avx2");
	assert_int_equal(s->params.count, 1);
	assert_string_equal(s->params.at[0].values.at[1], "1048576");
	assert_null(f->project.surveys.at[1].baseline);
	assert_int_equal(f->project.surveys.at[1].needs.count, 0);
}

static void patterns_among_the_sources_take_what_the_tree_has(void **state)
{
	struct fixture *f = *state;
	put(f, "a [tree]/lib/fast_b.c", "");
	put(f, "a [tree]/lib/fast_a.c", "");
	put(f, "a [tree]/lib/fast_a.S", "");
	put(f, "a [tree]/lib/slow.c", "");
	put(f, "a [tree]/lib/fast_folder.c/x", "");
	put(f, "a [tree]/lib/odd[1].c", "");
	assert_int_equal(load(f, "tree: a [tree]\n"
	                         "workloads:\n"
	                         "  - name: w\n"
	                         "    bench: b.c\n"
	                         "    sources: [lib/slow.c, lib/fast_*, 'lib/none*.c', 'lib/odd[1].c', '../assay*']\n"),
	                 ST_OK);
	const struct string_list *sources = &f->project.workloads.at[0]->sources;
	static const char *const expected[] = {"lib/slow.c",  "lib/fast_a.S", "lib/fast_a.c", "lib/fast_b.c",
	                                       "lib/none*.c", "lib/odd[1].c", "../assay*"};
	assert_int_equal(sources->count, sizeof expected / sizeof *expected);
	for (size_t i = 0; i < sources->count; i++)
		assert_string_equal(sources->at[i], expected[i]);
}

#define SURVEYED                                                                                                       \
	"workloads:\n  - {name: w, bench: b.c, params: {i: [a, b], one: 1, twice: [1, 1]}}\nsurveys:\n"

static void mistakes_are_told_with_their_line(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *text, *line, *said;
	} table[] = {
	    {"workloads:\n  - name: a\n    bench: b.c\n    sourecs: [x]\n", ":4: ", "unknown key `sourecs` in a workload"},
	    {"treee: x\n", ":1: ", "unknown key `treee` in the project file"},
	    {"scan: [a]\nscan: [b]\n", ":2: ", "`scan` is given twice"},
	    {"scan: {a: b}\n", ":1: ", "`scan` must be a list"},
	    {"scan: [../x]\n", ":1: ", "not inside the tree"},
	    {"workloads: 3\n", ":1: ", "`workloads` must be a list"},
	    {"\n\nworkloads:\n  - bench: b.c\n", ":4: ", "has no `name`"},
	    {"workloads:\n  - name: a\n", ":2: ", "must have a `bench`"},
	    {"workloads:\n  - {name: a, bench: b.c, run: ./x}\n", ":2: ", "not both"},
	    {"workloads:\n  - {name: a, run: ./x, sources: [a.c]}\n", ":2: ", "are for drivers"},
	    {"workloads:\n  - {name: a, bench: b.c, stdin: x}\n", ":2: ", "are for commands only"},
	    {"workloads:\n  - {name: a, run: \"./x 'y\"}\n", ":2: ", "a quote is left open"},
	    {"workloads:\n  - {name: a, run: ./x, metric: time}\n", ":2: ", "wall, cpu or regex:PATTERN, not 'time'"},
	    {"workloads:\n  - {name: a, run: ./x, metric: {regex: '([0-9]+)'}}\n", ":2: ", "higher or lower"},
	    {"workloads:\n  - {name: a, run: ./x, metric: {regex: '[0-9]+', better: lower}}\n", ":2: ", "has 0 groups"},
	    {"workloads:\n  - {name: a, run: ./x, metric: {regex: '([0-9', better: lower}}\n", ":2: ", "no regular expression"},
	    {"workloads:\n  - {name: a, run: ./x, better: lower}\n", ":2: ", "of times the lower is better"},
	    {"workloads:\n  - {name: a, run: ./x, cpus: many}\n", ":2: ", "the number of a CPU, not 'many'"},
	    {"workloads:\n  - {name: a, run: ./x, shell: maybe}\n", ":2: ", "must be true or false"},
	    {"workloads:\n  - {name: a, bench: b.c}\n  - {name: a, bench: c.c}\n", ":3: ", "two workloads are named `a`"},
	    {"workloads:\n  - {name: a, bench: b.c, params: [1]}\n", ":2: ", "`params` must be a mapping"},
	    {"workloads:\n  - {name: a, bench: b.c, params: {n: []}}\n", ":2: ", "`n` has no values"},
	    {"workloads:\n  - {name: a, bench: b.c, flags: \"-D'x\"}\n", ":2: ", "a quote is left open"},
	    {"workloads:\n  - {name: [a], bench: b.c}\n", ":2: ", "`name` must be a single value, not a list"},
	    {"hypotheses:\n  - {name: h}\n", ":2: ", "must have one of patch, define, flags, cc"},
	    {"hypotheses:\n  - {name: h, cc: a, define: B}\n", ":2: ", "must have only one of"},
	    {"hypotheses:\n  - {name: h, cc: a, workloads: [no]}\n", ": ", "names the workload `no`, which is not defined"},
	    {"budget: 3\n", ":1: ", "`budget` is 3: give a time"},
	    {"hypotheses:\n  - {name: h, flags: -O3, budget: 1ms}\n", ":2: ", "`budget` is 1ms: give a time"},
	    {"surveys:\n  - {name: s, workload: w, over: i, budget: 25h}\n", ":2: ", "`budget` is 25h: give a time"},
	    {"surveys:\n  - {workload: w, over: i}\n", ":2: ", "a survey has no `name`"},
	    {"surveys:\n  - name: s\n", ":2: ", "has no `workload`"},
	    {"surveys:\n  - {name: s, workload: w}\n", ":2: ", "has no `over`"},
	    {"surveys:\n  - {name: s, workload: w, over: i, neds: {a: b}}\n", ":2: ", "unknown key `neds` in a survey"},
	    {"surveys:\n  - {name: s, workload: w, over: i}\n  - {name: s, workload: w, over: i}\n", ":3: ", "two surveys"},
	    {"surveys:\n  - {name: s, workload: w, over: i, needs: [avx2]}\n", ":2: ", "`needs` must be a mapping"},
	    {"surveys:\n  - {name: s, workload: w, over: i, needs: {a: b, a: c}}\n", ":2: ", "`a` is given twice in `needs`"},
	    {"surveys:\n  - {name: s, workload: no, over: i}\n", ":2: ", "`s`: the workload `no` is not defined"},
	    {"workloads:\n  - {name: w, run: x}\nsurveys:\n  - {name: s, workload: w, over: i}\n", ":4: ", "is a command"},
	    {"surveys:\n  - {name: s, workload: w, over: i}\nworkloads:\n  - {name: w, bench: b.c, params: {n: [1, 2]}}\n",
	     ":2: ", "no parameter `i` in its `params` (it has: n)"},
	    {SURVEYED "  - {name: s, workload: w, over: one}\n", ":4: ", "has one value only, 1"},
	    {SURVEYED "  - {name: s, workload: w, over: twice}\n", ":4: ", "the value 1 of `twice` is given twice"},
	    {SURVEYED "  - {name: s, workload: w, over: i, baseline: c}\n", ":4: ", "c is no value of `i` (it has: a, b)"},
	    {SURVEYED "  - {name: s, workload: w, over: i, needs: {c: avx2}}\n", ":4: ", "`needs` names c, which is no value of `i`"},
	    {SURVEYED "  - {name: s, workload: w, over: i, params: {i: [a]}}\n", ":4: ", "is for the other parameters"},
	    {SURVEYED "  - {name: s, workload: w, over: i, params: {z: [a]}}\n", ":4: ", "`params` names `z`, which is no parameter"},
	    {"maps:\n  - parts: []\n", ":2: ", "a map has no `workload`"},
	    {"maps:\n  - {workload: w}\n", ":2: ", "the workload `w`, which is not defined"},
	    {"workloads:\n  - {name: w, run: x}\nmaps:\n  - {workload: w}\n", ":4: ", "is a command"},
	    {"maps:\n  - {workload: w, parts: {a: b}}\n", ":2: ", "`parts` must be a list"},
	    {"maps:\n  - {workload: w, parts: [{name: p}]}\n", ":2: ", "a part must have a `name` and `functions`"},
	    {"decisions:\n  - finding: P03:a.c:f\n", ":2: ", "has no `reason`"},
	    {"contracts:\n  - finding: P03:a.c:f\n", ":2: ", "has no `reason`: say who confirms it"},
	    {"contracts:\n  - reason: jd\n", ":2: ", "a contract has no `finding`"},
	    {"tree: nowhere\n", ": ", "is not a folder: correct `tree:`"},
	    {"a: [1\nb: 2\n", ":2: ", "not YAML"},
	    {"- a\n", ":1: ", "the project file must be a mapping of tree, scan"},
	    {"&a [*a]\n", ":1: ", "must be a mapping"},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		assert_int_equal(load(f, table[i].text), ST_USAGE);
		const char *start = strstr(f->err.text, "assay.yaml");
		assert_non_null(start);
		if (!text_starts(start + strlen("assay.yaml"), table[i].line) || !strstr(f->err.text, table[i].said))
			fail_msg("%s -> %s (wanted %s and %s)", table[i].text, f->err.text, table[i].line, table[i].said);
		assert_null(strchr(f->err.text, '\n'));
	}
}

static void commands_are_read(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(load(f, "compile_commands: missing.json\n"
	                         "build: make -j2\n"
	                         "workloads:\n"
	                         "  - {name: cli, run: ./tool -d x, metric: cpu, stdin: in.txt, cpus: none}\n"
	                         "  - {name: lib, bench: b.c}\n"
	                         "  - name: rate\n"
	                         "    run: ./tool --bench | tail -1\n"
	                         "    shell: true\n"
	                         "    any_output: true\n"
	                         "    metric: { regex: '([0-9.]+) MB/s', better: higher }\n"
	                         "  - {name: ticks, run: ./tool, metric: 'regex:^([0-9]+)$', better: lower}\n"
	                         "hypotheses:\n"
	                         "  - {name: both, env: X=Y, workloads: [cli, lib]}\n"),
	                 ST_OK);
	const struct workload_list *workloads = &f->project.workloads;
	assert_int_equal(workloads->count, 4);
	assert_string_equal(f->project.build, "make -j2");
	const struct workload *cli = workloads->at[0], *rate = workloads->at[2], *ticks = workloads->at[3];
	assert_string_equal(cli->run, "./tool -d x");
	assert_null(cli->bench);
	assert_true(cli->metric_asked && cli->metric == METRIC_CPU && cli->cpu == CPU_ANY && !cli->shell);
	assert_string_equal(cli->stdin_path, "in.txt");
	assert_true(rate->shell && rate->any_output && rate->metric == METRIC_HIGHER && rate->cpu == CPU_CHOOSE);
	assert_string_equal(rate->metric_pattern, "([0-9.]+) MB/s");
	assert_true(ticks->metric == METRIC_LOWER);
	assert_null(workloads->at[1]->run);
	assert_string_equal(f->project.hypotheses.at[0].env, "X=Y");
	assert_int_equal(f->project.hypotheses.at[0].workloads.count, 2);
	/* What can't be used is noted, and the rest goes on. */
	assert_null(f->project.compile_commands);
	assert_int_equal(f->notes.count, 1);
}

static void a_folder_without_a_file_is_a_project(void **state)
{
	struct fixture *f = *state;
	put(f, "x.c", "int x;");
	put(f, "build/compile_commands.json", "[]");
	const char *paths[] = {f->dir, path_join(&f->arena, f->dir, "x.c")};
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(project_load(&f->arena, paths[i], NULL, &f->project, &f->notes, &f->err), ST_OK);
		assert_null(f->project.file);
		assert_string_equal(f->project.tree, f->dir);
		assert_non_null(f->project.compile_commands);
	}
	assert_int_equal(project_load(&f->arena, "/nowhere/at/all", NULL, &f->project, &f->notes, &f->err), ST_USAGE);
	assert_non_null(strstr(f->err.text, "/nowhere/at/all does not exist"));
}

static void source_override_takes_the_place_of_tree(void **state)
{
	struct fixture *f = *state;
	put(f, "other/x.c", "");
	put(f, "assay.yaml", "tree: nowhere\n");
	const char *other = path_join(&f->arena, f->dir, "other");
	assert_int_equal(project_load(&f->arena, f->dir, other, &f->project, &f->notes, &f->err), ST_OK);
	assert_string_equal(f->project.tree, other);
	assert_int_equal(load(f, "# nothing\n"), ST_OK);
	assert_string_equal(f->project.tree, f->dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_full_file_is_read, setup, teardown),
	    cmocka_unit_test_setup_teardown(budgets_are_read, setup, teardown),
	    cmocka_unit_test_setup_teardown(surveys_are_read, setup, teardown),
	    cmocka_unit_test_setup_teardown(patterns_among_the_sources_take_what_the_tree_has, setup, teardown),
	    cmocka_unit_test_setup_teardown(mistakes_are_told_with_their_line, setup, teardown),
	    cmocka_unit_test_setup_teardown(commands_are_read, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_folder_without_a_file_is_a_project, setup, teardown),
	    cmocka_unit_test_setup_teardown(source_override_takes_the_place_of_tree, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
