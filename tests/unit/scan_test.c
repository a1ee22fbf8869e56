/* Small trees in a temporary folder, scanned with a catalogue of this test's own: a pattern that fires on every call of
 * `slow`, and one for every call of `other`. */
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

struct calling {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
	const char *callee, *pattern;
	enum severity severity;
};

static bool visit_call(struct ast_node *node, void *context)
{
	struct calling *calling = context;
	if (node->kind == AST_CALL && text_equal(node->name, calling->callee)) {
		struct ast_node *function = ast_above(node, AST_FUNCTION);
		struct finding *finding = arena_new(calling->sink->arena, struct finding);
		finding->pattern = calling->pattern;
		finding->file = path_under(node->range.file, calling->unit->tree);
		finding->line = node->range.line;
		finding->column = node->range.column;
		finding->symbol = function ? function->name : "-";
		finding->severity = calling->severity;
		finding->message = "a call";
		struct edit edit = {finding->file, node->range.offset, node->range.end_offset - node->range.offset, "caf\xe9()"};
		list_push(calling->sink->arena, &finding->edits, edit);
		list_push(calling->sink->arena, &calling->sink->findings, finding);
	}
	return true;
}

static void detect(const struct ast_unit *unit, struct pattern_sink *sink, const char *callee, const char *pattern,
                   enum severity severity)
{
	struct calling calling = {unit, sink, callee, pattern, severity};
	for (size_t i = 0; i < unit->top.count; i++)
		ast_walk(unit->top.at[i], visit_call, &calling);
}

static void detect_slow(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	detect(unit, sink, "slow", "T01", SEVERITY_CRITICAL);
}

static void detect_other(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	detect(unit, sink, "other", "T02", SEVERITY_LOW);
}

/* Reports a call of `far` when another unit has one too, in each of the units' files. */
static bool visit_far(struct ast_node *node, void *context)
{
	struct calling *calling = context;
	if (node->kind == AST_CALL && text_equal(node->name, "far")) {
		struct fact fact = {.pattern = "T03", .name = "call", .value = "far caf\xe9", .file = "a.c", .line = node->range.line,
		                    .column = 3, .symbol = "f", .offset = 5, .length = 7};
		fact.file = path_under(node->range.file, calling->unit->tree);
		list_push(calling->sink->arena, &calling->sink->facts, fact);
	}
	return true;
}

static void detect_far(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	struct calling calling = {.unit = unit, .sink = sink};
	for (size_t i = 0; i < unit->top.count; i++)
		ast_walk(unit->top.at[i], visit_far, &calling);
}

static void detect_far_project(const struct project_view *view, struct pattern_sink *sink)
{
	unsigned facts = 0;
	if (getenv("ASSAY_TEST_CRASH"))
		abort();
	for (size_t i = 0; i < view->unit_count; i++)
		facts += (unsigned)view->units[i].facts.count;
	for (size_t i = 0; facts > 1 && i < view->unit_count; i++) {
		for (size_t k = 0; k < view->units[i].facts.count; k++) {
			const struct fact *fact = &view->units[i].facts.at[k];
			if (strcmp(fact->value, "far caf\xe9") != 0)
				continue;
			struct finding *finding = arena_new(sink->arena, struct finding);
			*finding = (struct finding){.pattern = "T03", .file = fact->file, .line = fact->line, .column = fact->column,
			                            .symbol = fact->symbol, .severity = SEVERITY_CRITICAL};
			finding->message = arena_printf(sink->arena, "%zu units, %zu sources, the last %s%s", view->unit_count,
			                                view->sources.count, view->sources.at[view->sources.count - 1],
			                                view->whole ? ", whole" : "");
			struct edit edit = {fact->file, fact->offset, fact->length, "x"};
			list_push(sink->arena, &finding->edits, edit);
			list_push(sink->arena, &sink->findings, finding);
		}
	}
}

static const struct pattern t03 = {.id = "T03", .slug = "far-call", .title = "far", .detect = detect_far,
                                   .detect_project = detect_far_project};
static const struct pattern t01 = {.id = "T01", .slug = "slow-call", .title = "slow", .detect = detect_slow};
static const struct pattern t02 = {.id = "T02", .slug = "other-call", .title = "other", .detect = detect_other};
const struct pattern_entry pattern_registry[] = {{&t01, "t01.c", NULL, 0}, {&t02, "t02.c", NULL, 0}, {&t03, "t03.c", NULL, 0}};
const size_t pattern_registry_count = 3;

static volatile sig_atomic_t interrupted;
static struct session session;
static struct scan_request request;
static struct err err;
static char tree[64];

static int setup(void **state)
{
	(void)state;
	strcpy(tree, "/tmp/assay-scan-XXXXXX");
	assert_non_null(mkdtemp(tree));
	session = (struct session){.interrupted = &interrupted, .jobs = 2};
	request = (struct scan_request){0};
	err = ERR_INIT;
	interrupted = 0;
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
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	fclose(file);
}

/* A database that compiles `names` (separated by blanks) with `flags`. */
static void database(const char *names, const char *flags)
{
	char text[8192] = "[", *copy = strdup(names), *save = NULL;
	assert_non_null(copy);
	size_t used = 1;
	for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save))
		used += (size_t)snprintf(text + used, sizeof text - used,
		                         "%s{\"directory\": \"%s\", \"file\": \"%s\", \"command\": \"cc %s -c -o x.o %s\"}",
		                         used > 1 ? ",\n" : "", tree, name, flags, name);
	snprintf(text + used, sizeof text - used, "]");
	free(copy);
	put("compile_commands.json", text);
}

static void run(void)
{
	session.run.findings = (struct finding_list){0};
	session.run.notes = (struct note_list){0};
	assert_int_equal(scan(&session, &request, &err), ST_OK);
}

static const struct note *note_with(const char *where, const char *text)
{
	for (size_t i = 0; i < session.run.notes.count; i++) {
		const struct note *note = &session.run.notes.at[i];
		if (text_equal(note->where, where) && strstr(note->text, text))
			return note;
	}
	for (size_t i = 0; i < session.run.notes.count; i++)
		print_message("note: %s: %s\n", session.run.notes.at[i].where, session.run.notes.at[i].text);
	return NULL;
}

#define HEAD "void slow(void); void other(void);\n"

static void findings_are_ranked_and_edits_keep_their_bytes(void **state)
{
	(void)state;
	put("a.c", HEAD "void f(void)\n{\n\tother();\n\tslow();\n}\n");
	put("b.c", HEAD "void g(void) { slow(); }\n");
	database("a.c b.c", "-O2");
	run();
	assert_int_equal(session.run.findings.count, 3);
	struct finding **at = session.run.findings.at;
	assert_string_equal(at[0]->file, "a.c");
	assert_int_equal(at[0]->line, 5);
	assert_string_equal(at[0]->symbol, "f");
	assert_true(at[0]->built);
	assert_int_equal(at[0]->severity, SEVERITY_CRITICAL);
	assert_string_equal(at[1]->file, "b.c");
	assert_string_equal(at[2]->pattern, "T02");
	assert_string_equal(at[0]->edits.at[0].text, "caf\xe9()");
	assert_int_equal(at[0]->edits.at[0].length, strlen("slow()"));
	assert_true(session.run.database);
	assert_int_equal(session.run.files_scanned, 2);
	assert_int_equal(session.run.files_failed, 0);
	assert_int_equal(session.run.lines_scanned, 8);
	assert_int_equal(session.run.notes.count, 0);
	assert_int_equal(session.commands.count, 2);
}

static void a_header_is_reported_once(void **state)
{
	(void)state;
	put("include/h.h", HEAD "static inline void h(void) { slow(); }\n");
	put("a.c", "#include \"h.h\"\nvoid f(void) { h(); }\n");
	put("b.c", "#include \"h.h\"\nvoid g(void) { h(); }\n");
	database("a.c b.c", "-Iinclude");
	run();
	assert_int_equal(session.run.findings.count, 1);
	assert_string_equal(session.run.findings.at[0]->file, "include/h.h");
	assert_true(session.run.findings.at[0]->built);
}

static void an_id_survives_moved_lines_and_twins_differ(void **state)
{
	(void)state;
	put("a.c", HEAD "void f(void)\n{\n\tslow();\n\tslow();\n}\n");
	database("a.c", "");
	run();
	assert_int_equal(session.run.findings.count, 2);
	const char *first = session.run.findings.at[0]->id, *second = session.run.findings.at[1]->id;
	assert_true(text_starts(first, "T01:a.c:f:"));
	assert_int_equal(strlen(first), strlen("T01:a.c:f:1f3a"));
	assert_true(text_starts(second, first) && text_ends(second, "-2"));
	put("a.c", "/* moved */\n\n" HEAD "int x;\nvoid f(void)\n{\n\tif (x) {\n\t\tslow ();\n\t\tslow();\n\t}\n}\n");
	run();
	assert_int_equal(session.run.findings.count, 2);
	assert_int_equal(session.run.findings.at[0]->line, 8);
	assert_string_equal(session.run.findings.at[0]->id, first);
	assert_string_equal(session.run.findings.at[1]->id, second);
}

static const char *reason_in(const char *function)
{
	for (size_t i = 0; i < session.run.findings.count; i++)
		if (text_equal(session.run.findings.at[i]->symbol, function))
			return session.run.findings.at[i]->deliberate;
	fail_msg("no finding in %s", function);
	return NULL;
}

static void annotations_need_a_reason_and_a_place(void **state)
{
	(void)state;
	put("a.c", HEAD
	    "void same(void) { slow(); /* assay: deliberate T01: on the line */ }\n"
	    "void above(void)\n{\n\t/* assay: deliberate slow-call: above,\n\t * in two lines */\n\tslow();\n}\n"
	    "void slashes(void)\n{\n\t// why it is so\n\t// assay: deliberate T01: slashes\n\tslow();\n}\n"
	    "void loop(int n)\n{\n\t/* assay: deliberate T01: the loop */\n\tfor (int i = 0; i < n; i++) {\n\t\tif (i)\n"
	    "\t\t\tslow();\n\t}\n}\n"
	    "void bare(void)\n{\n\t/* assay: deliberate T01 */\n\tslow();\n}\n"
	    "void colon(void)\n{\n\tslow(); // assay: deliberate T01:  \n}\n"
	    "void elsewhere(void)\n{\n\t/* assay: deliberate T01: not this one */\n\tother();\n\tslow();\n}\n"
	    "void unknown(void)\n{\n\tslow(); // assay: deliberate X99: who knows\n}\n"
	    "void wrong(void)\n{\n\tslow(); // assay: deliberate T02: another pattern\n}\n"
	    "void text(void)\n{\n\tslow(); (void)\"/* assay: deliberate T01: in a string */\";\n}\n");
	database("a.c", "");
	run();
	assert_string_equal(reason_in("same"), "on the line");
	assert_string_equal(reason_in("above"), "above, in two lines");
	assert_string_equal(reason_in("slashes"), "slashes");
	assert_string_equal(reason_in("loop"), "the loop");
	assert_null(reason_in("bare"));
	assert_null(reason_in("colon"));
	assert_null(reason_in("unknown"));
	assert_null(reason_in("wrong"));
	assert_null(reason_in("text"));
	assert_non_null(note_with("a.c:25", "no reason"));
	assert_non_null(note_with("a.c:30", "no reason"));
	assert_non_null(note_with("a.c:40", "names no pattern of the catalogue (X99)"));
	assert_int_equal(session.run.notes.count, 3);
	/* Both calls of this function: the one below the comment is another pattern's. */
	for (size_t i = 0; i < session.run.findings.count; i++)
		if (text_equal(session.run.findings.at[i]->symbol, "elsewhere"))
			assert_null(session.run.findings.at[i]->deliberate);
}

static void decisions_match_ids_and_prefixes(void **state)
{
	(void)state;
	put("a.c", HEAD "void f(void) { slow(); }\nvoid ff(void) { slow(); }\n");
	database("a.c", "");
	struct decision good = {"T01:a.c:f", "kernel objtool"}, stale = {"T01:gone.c:", "was there once"};
	list_push(&session.arena, &session.project.decisions, good);
	list_push(&session.arena, &session.project.decisions, stale);
	run();
	assert_string_equal(reason_in("f"), "kernel objtool");
	assert_null(reason_in("ff"));
	assert_non_null(note_with("decisions", "T01:gone.c: matches no finding"));
}

static void one_bad_file_leaves_the_others(void **state)
{
	(void)state;
	put("good.c", HEAD "void f(void) { slow(); }\n");
	put("broken.c", HEAD "void g(void) { slow(); }\nint x = ;\n");
	/* 200,000 nested parentheses: refused by the bracket limit unless the command lifts it; then the parser's own
	 * recursion runs out of stack. */
	size_t depth = 200000;
	char *deep = malloc(2 * depth + 64);
	assert_non_null(deep);
	size_t used = (size_t)sprintf(deep, "int deep = ");
	memset(deep + used, '(', depth);
	used += depth;
	deep[used++] = '1';
	memset(deep + used, ')', depth);
	strcpy(deep + used + depth, ";\n");
	put("deep.c", deep);
	free(deep);
	database("good.c broken.c deep.c missing.c", "-fbracket-depth=1000000 -fnot-a-flag");
	run();
	assert_int_equal(session.run.findings.count, 2);
	assert_non_null(note_with("deep.c", "the front end crashed"));
	assert_non_null(note_with("missing.c", "can't be read"));
	assert_non_null(note_with("broken.c", "1 errors, the first at broken.c:3: expected expression"));
	assert_non_null(note_with("good.c", "does not know the flag -fnot-a-flag"));
	assert_int_equal(session.run.notes.count, 4);
	assert_int_equal(session.run.files_scanned, 2);
	assert_int_equal(session.run.files_failed, 2);
}

static void a_front_end_that_hangs_is_ended(void **state)
{
	(void)state;
	char path[256];
	snprintf(path, sizeof path, "%s/pipe.h", tree);
	assert_int_equal(mkfifo(path, 0666), 0);
	put("a.c", "#include \"pipe.h\"\n");
	put("b.c", HEAD "void f(void) { slow(); }\n");
	database("a.c b.c", "");
	session.jobs = 1;
	request.unit_timeout_s = 1;
	run();
	assert_non_null(note_with("a.c", "the front end hung"));
	assert_int_equal(session.run.findings.count, 1);
	assert_int_equal(session.run.files_failed, 1);
}

static void without_a_database_it_says_so(void **state)
{
	(void)state;
	put("src/a.c", "#include \"h.h\"\nvoid f(void) { slow(); }\n");
	put("include/h.h", HEAD);
	put("build/gen.c", HEAD "void g(void) { slow(); }\n");
	put("src/parse.c", "/* A Bison parser, made by GNU Bison 3.8.2.  */\n" HEAD "void g(void) { slow(); }\n");
	run();
	assert_false(session.run.database);
	assert_int_equal(session.run.findings.count, 1);
	assert_false(session.run.findings.at[0]->built);
	assert_int_equal(session.run.findings.at[0]->severity, SEVERITY_HIGH);
	assert_non_null(note_with(tree, "no compile_commands.json"));
	assert_non_null(note_with(tree, "1 generated files are left out"));
	assert_true(session.commands.at[0].guessed);
}

static void what_is_no_text_is_called_so(void **state)
{
	(void)state;
	static const char bytes[] = "\x7f\0\xff{\0(\xfe";
	char path[256];
	put("good.c", HEAD "void f(void) { slow(); }\n");
	snprintf(path, sizeof path, "%s/noise.c", tree);
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, sizeof bytes, file), sizeof bytes);
	fclose(file);
	run();
	assert_int_equal(session.run.findings.count, 1);
	assert_non_null(note_with("noise.c", "no C source"));
	assert_null(note_with(tree, "for lack of"));
}

static void a_file_that_no_command_compiles_is_not_built(void **state)
{
	(void)state;
	put("a.c", HEAD "void f(void) { slow(); }\n");
	put("stray.c", HEAD "void g(void) { slow(); }\n");
	database("a.c", "");
	run();
	assert_int_equal(session.run.findings.count, 2);
	assert_string_equal(session.run.findings.at[0]->file, "a.c");
	assert_true(session.run.findings.at[0]->built);
	assert_false(session.run.findings.at[1]->built);
	assert_non_null(note_with(tree, "1 C files are compiled by no command"));
}

static void paths_and_patterns_limit_the_scan(void **state)
{
	(void)state;
	put("lib/a.c", HEAD "void f(void) { slow(); other(); }\n");
	put("tool/b.c", HEAD "void g(void) { slow(); }\n");
	database("lib/a.c tool/b.c", "");
	char path[128];
	snprintf(path, sizeof path, "%s/lib", tree);
	list_push(&session.arena, &request.paths, path);
	list_push(&session.arena, &request.patterns, "Other-Call");
	run();
	assert_int_equal(session.run.findings.count, 1);
	assert_string_equal(session.run.findings.at[0]->pattern, "T02");
	assert_int_equal(session.run.files_scanned, 1);
	request.patterns = (struct string_list){0};
	list_push(&session.arena, &request.patterns, "T77");
	assert_int_equal(scan(&session, &request, &err), ST_USAGE);
}

static void workers_are_replaced_and_results_keep_their_order(void **state)
{
	(void)state;
	char names[4096] = "";
	size_t used = 0;
	for (int i = 0; i < 150; i++) {
		char name[16], text[128];
		snprintf(name, sizeof name, "f%03d.c", i);
		snprintf(text, sizeof text, HEAD "void f%d(void) { slow(); }\n", i);
		put(name, text);
		if (i < 60)
			used += (size_t)snprintf(names + used, sizeof names - used, "%s ", name);
	}
	database(names, "");
	run();
	assert_int_equal(session.run.findings.count, 150);
	for (int i = 0; i < 150; i++) {
		char name[16];
		snprintf(name, sizeof name, "f%03d.c", i < 60 ? i : i);
		assert_int_equal(session.run.findings.at[i]->built, i < 60);
		assert_string_equal(session.run.findings.at[i]->file, name);
	}
}

static void ctrl_c_keeps_what_is_done(void **state)
{
	(void)state;
	put("a.c", HEAD "void f(void) { slow(); }\n");
	database("a.c", "");
	interrupted = 1;
	assert_int_equal(scan(&session, &request, &err), ST_INTERRUPTED);
	assert_int_equal(session.run.files_scanned, 0);
	assert_int_equal(session.run.files_failed, 0);
}

#define FAR "void far(void);\n"

static void facts_of_units_meet_in_the_project(void **state)
{
	(void)state;
	put("a.c", FAR "void f(void) { far(); }\n");
	put("asm/z.S", ".globl z\n");
	put("b.c", "int b;\n");
	database("a.c b.c", "-O2");
	run();
	assert_int_equal(session.run.findings.count, 0); /* the only one */
	put("c.c", FAR "void g(void) { far(); }\n");
	run();
	assert_int_equal(session.run.findings.count, 2);
	struct finding *built = session.run.findings.at[0], *other = session.run.findings.at[1];
	assert_string_equal(built->file, "a.c");
	assert_true(built->built);
	assert_int_equal(built->severity, SEVERITY_CRITICAL);
	assert_string_equal(built->message, "3 units, 4 sources, the last c.c, whole");
	assert_int_equal(built->edits.at[0].offset, 5);
	assert_int_equal(built->edits.at[0].length, 7);
	assert_true(text_starts(built->id, "T03:a.c:f:"));
	assert_string_equal(other->file, "c.c");
	assert_false(other->built);
	assert_int_equal(other->severity, SEVERITY_HIGH);
	list_push(&session.arena, &request.paths, "c.c");
	run();
	assert_int_equal(session.run.findings.count, 0); /* one unit is read: it can't know of the other */
}

static void a_project_that_crashes_a_detector_leaves_the_rest(void **state)
{
	(void)state;
	put("a.c", HEAD FAR "void f(void) { far(); far(); slow(); }\n");
	database("a.c", "");
	setenv("ASSAY_TEST_CRASH", "1", 1);
	run();
	unsetenv("ASSAY_TEST_CRASH");
	assert_int_equal(session.run.findings.count, 1);
	assert_string_equal(session.run.findings.at[0]->pattern, "T01");
	assert_non_null(note_with(tree, "what only the whole project shows is left out"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(findings_are_ranked_and_edits_keep_their_bytes),
	    TEST(a_header_is_reported_once),
	    TEST(an_id_survives_moved_lines_and_twins_differ),
	    TEST(annotations_need_a_reason_and_a_place),
	    TEST(decisions_match_ids_and_prefixes),
	    TEST(one_bad_file_leaves_the_others),
	    TEST(a_front_end_that_hangs_is_ended),
	    TEST(without_a_database_it_says_so),
	    TEST(what_is_no_text_is_called_so),
	    TEST(a_file_that_no_command_compiles_is_not_built),
	    TEST(paths_and_patterns_limit_the_scan),
	    TEST(workers_are_replaced_and_results_keep_their_order),
	    TEST(facts_of_units_meet_in_the_project),
	    TEST(a_project_that_crashes_a_detector_leaves_the_rest),
	    TEST(ctrl_c_keeps_what_is_done),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
