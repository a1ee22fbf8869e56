/* The tests of every pattern, derived from its own examples (patterns/pattern.h): none is written by hand. */
#include "base/text.h"
#include "bench/protocol.h"
#include "patterns/pattern.h"
#include "port/object_compare.h"
#include "port/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REFUTED "// refuted by measuring\n"
#define MARK "// finds"
#define MARK_INSIDE "/* finds */"

struct example {
	const struct pattern_entry *entry;
	const struct pattern_example *example;
};

static char folder[] = "/tmp/assay-examples-XXXXXX";

static const struct pattern_example *example_of(const struct pattern_entry *entry, const char *kind)
{
	for (size_t i = 0; i < entry->example_count; i++)
		if (strcmp(entry->examples[i].kind, kind) == 0)
			return &entry->examples[i];
	return NULL;
}

static bool is_also(const char *kind)
{
	return text_starts(kind, "also ") && !text_ends(kind, " fixed");
}

/* Something is to be reported there. */
static bool is_shown(const char *kind)
{
	return strcmp(kind, "costs") == 0 || strcmp(kind, "equal") == 0 || is_also(kind);
}

/* The text as a file of its own; its path. */
static const char *example_write(struct arena *arena, const struct pattern_entry *entry, const char *kind, const char *text)
{
	char *name = arena_printf(arena, "%s-%s", entry->pattern->id, kind);
	for (char *c = name; *c; c++)
		if (*c == ' ' || *c == ',')
			*c = '-';
	const char *path = arena_printf(arena, "%s/%s.c", folder, name);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fputs(text, out) < 0, 0);
	assert_int_equal(fclose(out), 0);
	return path;
}

static struct compile_command example_command(struct arena *arena, const char *path, const char *text)
{
	struct compile_command command = {.file = path, .directory = folder};
	if (text_starts(text, REFUTED))
		text += sizeof REFUTED - 1;
	list_push(arena, &command.argv, "gcc");
	if (text_starts(text, "// flags: ")) {
		struct string_list flags = {0};
		char *line = arena_strndup(arena, text + 10, strcspn(text + 10, "\n"));
		char *mark = strstr(line, MARK); /* what is reported of the whole unit stands on its first line */
		if (mark)
			*mark = '\0';
		assert_true(shell_split(arena, line, &flags));
		for (size_t i = 0; i < flags.count; i++)
			list_push(arena, &command.argv, flags.at[i]);
	} else {
		list_push(arena, &command.argv, "-O2");
	}
	list_push(arena, &command.argv, "-Wall");
	list_push(arena, &command.argv, "-I" ASSAY_SOURCE_DIR "/include");
	list_push(arena, &command.argv, path);
	return command;
}

static void example_detect(struct arena *arena, const struct pattern_entry *entry, const char *path, const char *text,
                           struct pattern_sink *ret_sink)
{
	struct compile_command command = example_command(arena, path, text);
	struct ast_unit *unit;
	struct err err = ERR_INIT;
	if (ast_parse(&command, folder, &unit, &err) != ST_OK)
		fail_msg("%s", err.text);
	if (unit->errors.count)
		fail_msg("%s: %s", path, unit->errors.at[0]);
	*ret_sink = (struct pattern_sink){.arena = arena};
	entry->pattern->detect(unit, &command, ret_sink);
	if (entry->pattern->detect_project) {
		/* The file is the whole project. */
		struct project_unit alone = {.command = &command, .parsed = true, .facts = ret_sink->facts};
		struct compdb commands = {0};
		struct project_view view = {.tree = folder, .database = true, .whole = true, .units = &alone, .unit_count = 1,
		                            .commands = &commands};
		list_push(arena, &commands, command);
		list_push(arena, &alone.files, path_base(path));
		list_push(arena, &view.sources, path_base(path));
		entry->pattern->detect_project(&view, ret_sink);
	}
	ast_unit_free(unit);
}

/* What "NAME" is about: an anti-pattern or a guard. Its "NAME fixed" may hold the other: what is mended is a guard, and a
 * guard without its practice is what costs. */
static enum finding_kind kind_before(struct arena *arena, const struct pattern_entry *entry, const char *kind)
{
	const char *name = arena_strndup(arena, kind, strlen(kind) - strlen(" fixed"));
	const struct pattern_example *before = example_of(entry, name);
	assert_non_null(before);
	struct pattern_sink sink;
	example_detect(arena, entry, example_write(arena, entry, "before", before->text), before->text, &sink);
	assert_true(sink.findings.count > 0);
	return sink.findings.at[0]->kind;
}

/* Fires on the marked lines, once each, and nowhere else. */
static void fires_where_marked(void **state)
{
	struct example *test = *state;
	struct arena arena;
	arena_init(&arena);
	const char *text = test->example->text;
	const char *path = example_write(&arena, test->entry, test->example->kind, text);
	struct pattern_sink sink;
	example_detect(&arena, test->entry, path, text, &sink);
	unsigned line = 1, marks = 0;
	bool may_fire = text_starts(text, REFUTED);
	bool fixed = text_ends(test->example->kind, " fixed"); /* the edits may leave the marks: nothing is found there */
	enum finding_kind kind = fixed ? kind_before(&arena, test->entry, test->example->kind) : FINDING_ANTIPATTERN;
	for (const char *at = text; *at; line++) {
		size_t size = strcspn(at, "\n");
		const char *row = arena_strndup(&arena, at, size);
		bool marked = !fixed && (text_ends(row, MARK) || strstr(row, MARK_INSIDE));
		unsigned found = 0;
		for (size_t i = 0; i < sink.findings.count; i++)
			found += sink.findings.at[i]->line == line && (!fixed || sink.findings.at[i]->kind == kind);
		marks += marked;
		if (found != marked && !(may_fire && !marked))
			fail_msg("%s:%u: \"%s\": %s (%u found: %s)", test->entry->file, test->example->line + line - 1,
			         test->example->kind, marked ? "is marked and not reported" : "is reported and not marked", found,
			         found ? sink.findings.at[0]->message : "");
		at += size + (at[size] == '\n');
	}
	if (is_shown(test->example->kind))
		assert_true(marks > 0);
	for (size_t i = 0; i < sink.findings.count; i++) {
		const struct finding *finding = sink.findings.at[i];
		assert_string_equal(finding->pattern, test->entry->pattern->id);
		assert_string_equal(finding->file, path_base(path));
		assert_non_null(finding->symbol);
		assert_true(finding->message && *finding->message && finding->claim && *finding->claim);
		assert_true(finding->severity != SEVERITY_CRITICAL);
		assert_true(finding->severity == SEVERITY_LOW || !finding_is_removal(finding));
	}
	arena_release(&arena);
}

static int edit_order(const void *a, const void *b)
{
	const struct edit *left = a, *right = b;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* The candidate that the detector generates for "costs" is the text of "costs fixed", byte by byte; so with "equal" and
 * "also". */
static void candidate_is_as_written(void **state)
{
	struct example *test = *state;
	struct arena arena;
	arena_init(&arena);
	const struct pattern_example *fixed = example_of(test->entry, arena_printf(&arena, "%s fixed", test->example->kind));
	const char *text = test->example->text;
	struct pattern_sink sink;
	example_detect(&arena, test->entry, example_write(&arena, test->entry, "candidate", text), text, &sink);
	struct edit_list edits = {0};
	for (size_t i = 0; i < sink.findings.count; i++)
		for (size_t e = 0; e < sink.findings.at[i]->edits.count; e++)
			list_push(&arena, &edits, sink.findings.at[i]->edits.at[e]);
	if (!fixed) {
		assert_int_equal(edits.count, 0); /* advice only */
		arena_release(&arena);
		return;
	}
	assert_true(edits.count > 0);
	qsort(edits.at, edits.count, sizeof *edits.at, edit_order);
	char *out = "";
	size_t from = 0;
	for (size_t i = 0; i < edits.count; i++) {
		assert_true(edits.at[i].offset >= from);
		assert_true(edits.at[i].offset + edits.at[i].length <= strlen(text));
		out = arena_printf(&arena, "%s%.*s%s", out, (int)(edits.at[i].offset - from), text + from, edits.at[i].text);
		from = edits.at[i].offset + edits.at[i].length;
	}
	out = arena_printf(&arena, "%s%s", out, text + from);
	assert_string_equal(out, fixed->text);
	arena_release(&arena);
}

static struct proc_result run(struct arena *arena, const struct string_list *argv)
{
	struct proc_request request = {.argv = *argv, .directory = folder, .timeout_s = 60, .cpu = -1};
	struct proc_result result;
	struct err err = ERR_INIT;
	if (proc_run(arena, &request, &result, &err) != ST_OK)
		fail_msg("%s", err.text);
	bool driver = strcmp(argv->at[argv->count - 1], "--outputs") == 0;
	if (driver && result.end == PROC_EXITED && result.code == BENCH_EXIT_UNAVAILABLE) {
		print_message("skip: %s: %s", path_base(argv->at[0]), result.err); /* this machine can't, or may not */
		skip();
	}
	if (!proc_ok(&result))
		fail_msg("%s: %s\n%s", text_join(arena, argv, " "), proc_describe(arena, &request, &result), result.err);
	if (strstr(result.err, "warning: "))
		fail_msg("%s:\n%s", text_join(arena, argv, " "), result.err);
	return result;
}

/* The runtime that every driver carries, compiled once with flags of its own, as assay does it. */
static const char *runtime_object(struct arena *arena)
{
	const char *object = path_join(arena, folder, "runtime.o");
	if (access(object, F_OK) == 0)
		return object;
	static const char *const words[] = {"gcc", "-O2", "-Wall", "-I" ASSAY_SOURCE_DIR "/include", "-c",
	                                    ASSAY_SOURCE_DIR "/src/bench/runtime.c", "-o"};
	struct string_list argv = {0};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		list_push(arena, &argv, words[i]);
	list_push(arena, &argv, object);
	run(arena, &argv);
	return object;
}

/* Builds the driver with gcc, without a warning; what it puts out, edge inputs included. */
static struct proc_result outputs_of(struct arena *arena, const struct pattern_entry *entry, const struct pattern_example *example)
{
	const char *path = example_write(arena, entry, arena_printf(arena, "run %s", example->kind), example->text);
	struct compile_command command = example_command(arena, path, example->text);
	const char *program = arena_printf(arena, "%s.program", path);
	list_push(arena, &command.argv, runtime_object(arena));
	list_push(arena, &command.argv, "-o");
	list_push(arena, &command.argv, program);
	list_push(arena, &command.argv, "-lm");
	list_push(arena, &command.argv, "-lpthread");
	run(arena, &command.argv);
	struct string_list argv = {0};
	list_push(arena, &argv, program);
	list_push(arena, &argv, "--outputs");
	struct proc_result result = run(arena, &argv);
	assert_true(result.out_size > 0);
	return result;
}

static void candidate_gives_equal_outputs(void **state)
{
	struct example *test = *state;
	struct arena arena;
	arena_init(&arena);
	const struct pattern_example *fixed = example_of(test->entry, arena_printf(&arena, "%s fixed", test->example->kind));
	struct proc_result costs = outputs_of(&arena, test->entry, test->example);
	if (fixed) {
		struct proc_result other = outputs_of(&arena, test->entry, fixed);
		assert_int_equal(costs.out_size, other.out_size);
		assert_memory_equal(costs.out, other.out, costs.out_size);
	}
	arena_release(&arena);
}

/* A look-alike is real C: gcc takes it without an error; the harmless half runs. */
static void example_compiles(void **state)
{
	struct example *test = *state;
	struct arena arena;
	arena_init(&arena);
	if (strcmp(test->example->kind, "harmless") == 0) {
		outputs_of(&arena, test->entry, test->example);
	} else {
		const char *path = example_write(&arena, test->entry, arena_printf(&arena, "build %s", test->example->kind),
		                                 test->example->text);
		struct compile_command command = example_command(&arena, path, test->example->text);
		list_push(&arena, &command.argv, "-c");
		list_push(&arena, &command.argv, "-o");
		list_push(&arena, &command.argv, arena_printf(&arena, "%s.o", path));
		run(&arena, &command.argv);
	}
	arena_release(&arena);
}

static struct object *object_of(struct arena *arena, const char *path, const char *text)
{
	struct compile_command command = example_command(arena, path, text);
	const char *name = arena_printf(arena, "%s.o", path);
	list_push(arena, &command.argv, "-c");
	list_push(arena, &command.argv, "-o");
	list_push(arena, &command.argv, name);
	run(arena, &command.argv);
	struct object *object = NULL;
	struct err err = ERR_INIT;
	if (object_open(name, &object, &err) != ST_OK)
		fail_msg("%s", err.text);
	return object;
}

/* gcc makes the same machine code of "equal" and "equal fixed". */
static void removal_keeps_the_code(void **state)
{
	struct example *test = *state;
	struct arena arena;
	arena_init(&arena);
	const struct pattern_example *fixed = example_of(test->entry, "equal fixed");
	struct object *sides[2] = {
		object_of(&arena, example_write(&arena, test->entry, "with", test->example->text), test->example->text),
		object_of(&arena, example_write(&arena, test->entry, "without", fixed->text), fixed->text)};
	struct code_difference difference = {0};
	object_compare(sides[0], sides[1], "equal", false, &arena, &difference);
	if (difference.changed.count)
		fail_msg("%s: %s", difference.changed.at[0].name, difference.changed.at[0].first);
	assert_int_equal(difference.data.count, 0);
	assert_true(difference.functions > 0);
	object_free(sides[0]);
	object_free(sides[1]);
	arena_release(&arena);
}

/* What explain shows is there, and ids are found in any case. */
static void entry_is_complete(void **state)
{
	const struct pattern_entry *entry = ((struct example *)*state)->entry;
	const struct pattern *pattern = entry->pattern;
	const char *const texts[] = {pattern->id,  pattern->slug,     pattern->title,    pattern->what,
	                             pattern->why, pattern->when_not, pattern->expected, pattern->refuted_by};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_true(texts[i] && *texts[i]);
	assert_true(pattern->sources && pattern->sources[0]);
	assert_ptr_equal(pattern_find(pattern->id), entry);
	assert_ptr_equal(pattern_find(pattern->slug), entry);
	assert_null(pattern_find("P00"));
	assert_true(example_of(entry, "harmless") || (example_of(entry, "equal") && !example_of(entry, "costs")));
	unsigned lookalikes = 0;
	for (size_t i = 0; i < entry->example_count; i++)
		lookalikes += text_starts(entry->examples[i].kind, "lookalike ");
	assert_true(lookalikes > 0);
}

LIST_OF(struct CMUnitTest, test_list);

static void add(struct arena *arena, struct test_list *tests, const char *name, CMUnitTestFunction function,
                const struct pattern_entry *entry, const struct pattern_example *example)
{
	struct example *state = arena_new(arena, struct example);
	*state = (struct example){entry, example};
	struct CMUnitTest test = {
	    .name = arena_printf(arena, "%s %s%s%s", entry->pattern->id, name, example ? ": " : "", example ? example->kind : ""),
	    .test_func = function,
	    .initial_state = state,
	};
	list_push(arena, tests, test);
}

/* With an argument: only the tests that it names, as in "P03*". */
int main(int argc, char **argv)
{
	/* What gcc makes of the examples is the same under a sanitizer, where only our code is tested. */
#if defined(__SANITIZE_ADDRESS__)
	bool builds = argc > 1;
#else
	bool builds = true;
#endif
	struct arena arena;
	struct test_list tests = {0};
	arena_init(&arena);
	if (!mkdtemp(folder))
		return 1;
	for (size_t i = 0; i < pattern_registry_count; i++) {
		const struct pattern_entry *entry = &pattern_registry[i];
		add(&arena, &tests, "is complete", entry_is_complete, entry, NULL);
		for (size_t e = 0; e < entry->example_count; e++) {
			const struct pattern_example *example = &entry->examples[e];
			add(&arena, &tests, "fires where marked", fires_where_marked, entry, example);
			if (is_shown(example->kind))
				add(&arena, &tests, "candidate is as written", candidate_is_as_written, entry, example);
			/* "also" may be a driver too. */
			bool driver = !is_also(example->kind) || strstr(example->text, "assay_workload =");
			if (!builds)
				continue;
			if (is_shown(example->kind) && driver) {
				add(&arena, &tests, "candidate gives equal outputs", candidate_gives_equal_outputs, entry, example);
			} else if (strcmp(example->kind, "costs fixed") != 0 && strcmp(example->kind, "equal fixed") != 0) {
				add(&arena, &tests, "compiles", example_compiles, entry, example);
			}
			if (strcmp(example->kind, "equal") == 0)
				add(&arena, &tests, "removal keeps the code", removal_keeps_the_code, entry, example);
		}
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	int failed = _cmocka_run_group_tests("patterns", tests.at, tests.count, NULL, NULL);
	struct proc_request request = {.timeout_s = 60, .cpu = -1};
	struct proc_result result;
	list_push(&arena, &request.argv, "rm");
	list_push(&arena, &request.argv, "-rf");
	list_push(&arena, &request.argv, folder);
	bool removed = proc_run(&arena, &request, &result, NULL) == ST_OK && proc_ok(&result);
	arena_release(&arena);
	return failed || !removed;
}
