/* What SARIF 2.1.0 requires, on a run that has everything; tests/sarif lets the official schema judge. */
#include "report/sarif.h"

#include "base/text.h"
#include "filled_run.h"
#include "report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *const sources[] = {"a paper (2001)", NULL};

static struct sarif_rule_list some_rules(struct arena *arena)
{
	struct sarif_rule_list rules = {0};
	static const char *const ids[] = {"P02", "P03", "P08", "P12"};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		struct sarif_rule rule = {.id = ids[i], .slug = "some-slug", .title = "A title", .tier = TIER_B, .what = "What it is.",
		                          .why = "Why it costs.", .when_not = "When not.", .expected = "Size.",
		                          .refuted_by = "Equal code.", .sources = sources};
		list_push(arena, &rules, rule);
	}
	return rules;
}

/* "locations.0.region.startLine"; fails when it isn't there. */
static json_t *at(json_t *value, const char *path)
{
	const char *rest = path;
	while (value && *rest) {
		char key[64];
		size_t size = strcspn(rest, ".");
		assert_true(size < sizeof key);
		memcpy(key, rest, size);
		key[size] = '\0';
		value = json_is_array(value) ? json_array_get(value, (size_t)atoi(key)) : json_object_get(value, key);
		rest += size + (rest[size] == '.');
	}
	if (!value)
		fail_msg("%s is missing", path);
	return value;
}

static const char *text_at(json_t *value, const char *path)
{
	const char *text = json_string_value(at(value, path));
	if (!text)
		fail_msg("%s is no text", path);
	return text;
}

static json_t *document_of(struct arena *arena, const struct run *run)
{
	struct sarif_rule_list rules = some_rules(arena);
	json_error_t error;
	json_t *document = json_loads(sarif_run(arena, run, &rules), JSON_REJECT_DUPLICATES, &error);
	if (!document)
		fail_msg("%d: %s", error.line, error.text);
	return document;
}

static json_t *result_of(json_t *document, const char *id)
{
	size_t i;
	json_t *result;
	json_array_foreach(at(document, "runs.0.results"), i, result) {
		const char *key;
		json_t *value;
		json_object_foreach(at(result, "partialFingerprints"), key, value)
			if (strcmp(json_string_value(value), id) == 0)
				return result;
	}
	fail_msg("no result for %s", id);
	return NULL;
}

static bool one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(text, *words) == 0)
			return true;
	return false;
}

/* The properties that the standard demands, with the values that it allows. */
static void test_required_properties(void **state)
{
	(void)state;
	static const char *const kinds[] = {"notApplicable", "pass", "fail", "review", "open", "informational", NULL};
	static const char *const levels[] = {"none", "note", "warning", "error", NULL};
	struct arena arena;
	arena_init(&arena);
	json_t *document = document_of(&arena, filled_run(&arena));
	assert_string_equal(text_at(document, "version"), "2.1.0");
	assert_string_equal(text_at(document, "runs.0.tool.driver.name"), "assay");
	assert_string_equal(text_at(document, "runs.0.originalUriBaseIds.SRCROOT.uri"), "file:///src/lib/");
	assert_true(json_is_boolean(at(document, "runs.0.invocations.0.executionSuccessful")));
	assert_non_null(strstr(text_at(document, "runs.0.invocations.0.toolExecutionNotifications.0.message.text"), "odd.h"));
	json_t *rules = at(document, "runs.0.tool.driver.rules"), *rule;
	size_t i;
	json_array_foreach(rules, i, rule) {
		text_at(rule, "id");
		text_at(rule, "shortDescription.text");
		text_at(rule, "help.text");
		text_at(rule, "help.markdown");
	}
	assert_string_equal(text_at(rules, "0.name"), "SomeSlug");
	assert_non_null(strstr(text_at(rules, "0.help.text"), "a paper (2001)"));
	json_t *results = at(document, "runs.0.results"), *result;
	assert_true(json_array_size(results) == 5 + 5); /* findings, and claims that no scan made */
	json_array_foreach(results, i, result) {
		assert_true(text_at(result, "message.text")[0]);
		assert_true(one_of(text_at(result, "kind"), kinds));
		assert_true(one_of(text_at(result, "level"), levels));
		assert_true(strcmp(text_at(result, "kind"), "fail") == 0 || strcmp(text_at(result, "level"), "none") == 0);
		json_t *index = json_object_get(result, "ruleIndex");
		if (index)
			assert_string_equal(text_at(json_array_get(rules, (size_t)json_integer_value(index)), "id"), text_at(result, "ruleId"));
		assert_true(json_is_array(at(result, "suppressions")));
	}
	json_decref(document);
	arena_release(&arena);
}

static void test_findings(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *run = filled_run(&arena);
	json_t *document = document_of(&arena, run);

	json_t *faster = result_of(document, "P03:lib/cipher.c:cipher_xor:9c01");
	assert_string_equal(text_at(faster, "kind"), "fail");
	assert_string_equal(text_at(faster, "level"), "warning");
	assert_string_equal(text_at(faster, "locations.0.physicalLocation.artifactLocation.uri"), "lib/cipher.c");
	assert_string_equal(text_at(faster, "locations.0.physicalLocation.artifactLocation.uriBaseId"), "SRCROOT");
	assert_int_equal(json_integer_value(at(faster, "locations.0.physicalLocation.region.startLine")), 40);
	assert_int_equal(json_integer_value(at(faster, "locations.0.physicalLocation.region.startColumn")), 21);
	assert_string_equal(text_at(faster, "properties.trials.1.verdict"), "faster");
	assert_int_equal(json_integer_value(at(faster, "properties.trials.1.params.block")), 131072);
	assert_non_null(json_object_get(at(faster, "properties.trials.0.effect"), "percent"));
	assert_non_null(strstr(text_at(faster, "message.text"), "Settled: faster"));
	assert_int_equal(json_array_size(at(faster, "suppressions")), 0);

	/* The fix is the candidate: two lines go, three come. */
	assert_string_equal(text_at(faster, "fixes.0.artifactChanges.0.artifactLocation.uri"), "lib/cipher.c");
	json_t *fix = at(faster, "fixes.0.artifactChanges.0.replacements.0");
	assert_int_equal(json_integer_value(at(fix, "deletedRegion.startLine")), 39);
	assert_int_equal(json_integer_value(at(fix, "deletedRegion.endLine")), 41);
	assert_int_equal(json_integer_value(at(fix, "deletedRegion.endColumn")), 1);
	assert_string_equal(text_at(fix, "insertedContent.text"),
	                    "\tconst uint8_t key = c->key;\n\tfor (size_t i = 0; i < size; i++)\n\t\tout[i] = in[i] ^ key;\n");

	json_t *nothing = result_of(document, "P02:lib/lz4.c:restrict:1f3a");
	assert_string_equal(text_at(nothing, "kind"), "pass");
	assert_null(json_object_get(at(nothing, "fixes.0.artifactChanges.0.replacements.0"), "insertedContent"));
	json_t *deliberate = result_of(document, "P12:lib/text.c:lower:77aa");
	assert_string_equal(text_at(deliberate, "suppressions.0.kind"), "inSource");
	assert_string_equal(text_at(deliberate, "suppressions.0.justification"), "inputs are at most 8 bytes, see the comment above");
	json_t *guard = result_of(document, "P08:lib/stat.h:bucket:5b5b");
	assert_string_equal(text_at(guard, "kind"), "pass");
	json_t *unbuilt = result_of(document, "P02:contrib/old/na\303\257ve.c:inline:0001");
	assert_string_equal(text_at(unbuilt, "kind"), "notApplicable");
	assert_string_equal(text_at(unbuilt, "locations.0.physicalLocation.artifactLocation.uri"), "contrib/old/na%C3%AFve.c");
	assert_null(json_object_get(unbuilt, "baselineState"));

	json_t *mixed = result_of(document, "patch:restrict-for-real");
	assert_string_equal(text_at(mixed, "ruleId"), "claim");
	assert_string_equal(text_at(mixed, "kind"), "review");
	assert_string_equal(text_at(mixed, "locations.0.physicalLocation.artifactLocation.uri"), "lib/lz4.c");
	json_t *wrong = result_of(document, "patch:skip-tail");
	assert_string_equal(text_at(wrong, "level"), "error");
	json_decref(document);

	/* A decision of the project file is no comment in the source. */
	run->findings.at[1]->deliberate_in = DELIBERATE_IN_PROJECT;
	document = document_of(&arena, run);
	assert_string_equal(text_at(result_of(document, "P12:lib/text.c:lower:77aa"), "suppressions.0.kind"), "external");
	json_decref(document);
	arena_release(&arena);
}

static void test_scan_alone_and_baseline(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *run = filled_run(&arena);
	run->trials.count = run->families.count = run->hypotheses.count = 0;
	run->findings.at[0]->baseline = BASELINE_NEW;
	run->findings.at[1]->baseline = BASELINE_UNCHANGED;
	run->findings.count = 3;
	struct finding *gone = run->findings.at[4];
	gone->baseline = BASELINE_ABSENT;
	list_push(&arena, &run->absent, gone);
	run->baseline = "old.json";
	struct sarif_rule_list rules = some_rules(&arena);
	const char *text = sarif_run(&arena, run, &rules);
	json_t *document = json_loads(text, 0, NULL);
	assert_string_equal(text_at(result_of(document, run->findings.at[0]->id), "baselineState"), "new");
	assert_string_equal(text_at(result_of(document, run->findings.at[0]->id), "kind"), "fail");
	assert_string_equal(text_at(result_of(document, run->findings.at[1]->id), "baselineState"), "unchanged");
	assert_string_equal(text_at(result_of(document, gone->id), "baselineState"), "absent");
	assert_int_equal(json_array_size(at(document, "runs.0.tool.driver.rules")), rules.count);
	json_decref(document);

	/* Read back: what stood there, not what was gone. */
	struct finding_list again;
	bool is_sarif = false;
	struct err err = ERR_INIT;
	assert_int_equal(sarif_findings_read(&arena, text, strlen(text), &is_sarif, &again, &err), ST_OK);
	assert_true(is_sarif);
	assert_int_equal(again.count, 3);
	for (size_t i = 0; i < again.count; i++) {
		const struct finding *finding = NULL;
		for (size_t k = 0; k < run->findings.count; k++)
			if (strcmp(run->findings.at[k]->id, again.at[i]->id) == 0)
				finding = run->findings.at[k];
		assert_non_null(finding);
		assert_string_equal(again.at[i]->pattern, finding->pattern);
		assert_string_equal(again.at[i]->file, finding->file);
		assert_string_equal(again.at[i]->symbol, finding->symbol);
		assert_int_equal(again.at[i]->line, finding->line);
		assert_int_equal(again.at[i]->kind, finding->kind);
		assert_int_equal(again.at[i]->severity, finding->severity);
	}
	/* And the same through the run's own JSON. */
	const char *json = json_run(&arena, run);
	assert_int_equal(sarif_findings_read(&arena, json, strlen(json), &is_sarif, &again, &err), ST_OK);
	assert_false(is_sarif);
	struct run read;
	assert_int_equal(json_run_read(&arena, json, strlen(json), &read, &err), ST_OK);
	assert_int_equal(read.absent.count, 1);
	assert_int_equal(read.absent.at[0]->baseline, BASELINE_ABSENT);
	assert_string_equal(read.baseline, "old.json");
	assert_string_equal(sarif_run(&arena, &read, &rules), text);
	arena_release(&arena);
}

static void test_other_documents(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	static const char *const texts[] = {
		"", "{", "{\"runs\": []}", "{\"runs\": [{\"tool\": {\"driver\": {\"name\": \"lint\"}}, \"results\": []}]}"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct err err = ERR_INIT;
		bool is_sarif;
		struct finding_list list;
		assert_int_equal(sarif_findings_read(&arena, texts[i], strlen(texts[i]), &is_sarif, &list, &err), ST_INPUT);
		assert_true(err.text[0]);
	}
	/* Results without our fingerprint, or of a strange shape, are passed over. */
	static const char odd[] = "{\"runs\": [{\"tool\": {\"driver\": {\"name\": \"assay\"}}, \"results\": [1, {}, "
							  "{\"partialFingerprints\": {\"assayFinding/v1\": 3}}, {\"partialFingerprints\": "
							  "{\"assayFinding/v1\": \"P02:x\"}, \"locations\": {}, \"message\": []}]}]}";
	struct err err = ERR_INIT;
	bool is_sarif;
	struct finding_list list;
	assert_int_equal(sarif_findings_read(&arena, odd, strlen(odd), &is_sarif, &list, &err), ST_OK);
	assert_int_equal(list.count, 1);
	arena_release(&arena);
}

/* Hunks as diffs have them: several in a hunk, insertions alone, ends without a newline. */
static void test_fixes(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *run = filled_run(&arena);
	run->findings.at[0]->candidate = "--- a/x y.c\n+++ b/x y.c\n@@ -1,4 +1,5 @@\n+new\n one\n-two\n three\n+between\n four\n"
									 "@@ -10,2 +11,2 @@ f\n ten\n-last\n\\ No newline at end of file\n+Last\n"
									 "\\ No newline at end of file\n--- a/z.c\n+++ b/z.c\n@@ -0,0 +1 @@\n+first\n"
									 "--- /dev/null\n+++ b/new.c\n@@ -0,0 +1 @@\n+created\n";
	json_t *document = document_of(&arena, run);
	json_t *changes = at(result_of(document, run->findings.at[0]->id), "fixes.0.artifactChanges");
	assert_int_equal(json_array_size(changes), 2);
	assert_string_equal(text_at(changes, "0.artifactLocation.uri"), "x%20y.c");
	json_t *list = at(changes, "0.replacements");
	static const struct {
		int line, end_line, end_column;
		const char *text;
	} expected[] = {{1, 1, 1, "new\n"}, {2, 3, 1, NULL}, {4, 4, 1, "between\n"}, {11, 11, 5, "Last"}};
	assert_int_equal(json_array_size(list), 4);
	for (size_t i = 0; i < 4; i++) {
		json_t *one = json_array_get(list, i);
		assert_int_equal(json_integer_value(at(one, "deletedRegion.startLine")), expected[i].line);
		assert_int_equal(json_integer_value(at(one, "deletedRegion.endLine")), expected[i].end_line);
		assert_int_equal(json_integer_value(at(one, "deletedRegion.endColumn")), expected[i].end_column);
		if (expected[i].text)
			assert_string_equal(text_at(one, "insertedContent.text"), expected[i].text);
		else
			assert_null(json_object_get(one, "insertedContent"));
	}
	assert_int_equal(json_integer_value(at(changes, "1.replacements.0.deletedRegion.startLine")), 1);
	json_decref(document);
	arena_release(&arena);
}

/* With a file's name: writes the document there, for tests/sarif. */
int main(int argc, char **argv)
{
	if (argc == 2) {
		struct arena arena;
		arena_init(&arena);
		struct sarif_rule_list rules = some_rules(&arena);
		FILE *out = fopen(argv[1], "w");
		bool written = out && fputs(sarif_run(&arena, filled_run(&arena), &rules), out) >= 0;
		bool closed = out && fclose(out) == 0;
		arena_release(&arena);
		return !(written && closed);
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_required_properties), cmocka_unit_test(test_findings),
		cmocka_unit_test(test_scan_alone_and_baseline), cmocka_unit_test(test_other_documents), cmocka_unit_test(test_fixes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
