/* The run document: complete, the same after a round trip, free of NaN, independent of the locale. */
#include "report/report.h"

#include "filled_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <jansson.h>
#include <locale.h>
#include <stdlib.h>

static void test_round_trip_gives_the_same_text(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	char *text = json_run(&arena, filled_run(&arena));
	struct run again;
	struct err err = ERR_INIT;
	if (json_run_read(&arena, text, strlen(text), &again, &err) != ST_OK)
		fail_msg("%s", err.text);
	assert_string_equal(json_run(&arena, &again), text);
	assert_int_equal(again.trials.count, filled_run(&arena)->trials.count);
	assert_ptr_equal(again.families.at[0].hypothesis, again.hypotheses.at[0]);
	assert_ptr_equal(again.trials.at[0]->workload, again.trials.at[1]->workload);
	assert_string_equal(again.trials.at[1]->params.at[0].value, "131072");
	assert_int_equal(again.surveys.count, 2);
	assert_int_equal(again.surveys.at[0]->top, 2);
	assert_int_equal(again.surveys.at[0]->values.at[5].verdict, VALUE_MISSING);
	assert_true(isinf(again.surveys.at[0]->values.at[8].ns_high));
	assert_int_equal(again.surveys.at[1]->baseline, 1);
	text = json_run(&arena, filled_commands(&arena));
	assert_int_equal(json_run_read(&arena, text, strlen(text), &again, &err), ST_OK);
	assert_string_equal(json_run(&arena, &again), text);
	assert_int_equal(again.trials.at[2]->metric, METRIC_HIGHER);
	assert_int_equal(again.trials.at[2]->other_metrics.count, 2);
	arena_release(&arena);
}

static void test_pieces_join_to_the_same_run(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *run = filled_run(&arena);
	struct json_pieces pieces = {.head = json_head(&arena, run)};
	for (size_t i = 0; i < run->findings.count; i++)
		list_push(&arena, &pieces.findings, json_finding(&arena, run->findings.at[i]));
	for (size_t i = 0; i < run->hypotheses.count; i++)
		list_push(&arena, &pieces.hypotheses, json_hypothesis(&arena, run->hypotheses.at[i]));
	for (size_t i = 0; i < run->trials.count; i++)
		list_push(&arena, &pieces.trials, json_trial(&arena, run->trials.at[i]));
	for (size_t i = 0; i < run->surveys.count; i++)
		list_push(&arena, &pieces.surveys, json_survey(&arena, run->surveys.at[i]));
	for (size_t i = 0; i < run->notes.count; i++)
		list_push(&arena, &pieces.notes, json_note(&arena, &run->notes.at[i]));
	struct run again;
	struct err err = ERR_INIT;
	if (json_run_join(&arena, &pieces, &again, &err) != ST_OK)
		fail_msg("%s", err.text);
	assert_string_equal(json_run(&arena, &again), json_run(&arena, run));
	pieces.trials.at[2] = "{\"id\": ";
	assert_int_equal(json_run_join(&arena, &pieces, &again, &err), ST_INPUT);
	assert_non_null(strstr(err.text, "trials[2]"));
	arena_release(&arena);
}

/* Every key that the shipped schema requires is there, with a type that it allows; and no key that it doesn't know. */
static void check_schema(json_t *root, json_t *schema, json_t *value, const char *where)
{
	json_t *reference = json_object_get(schema, "$ref");
	if (reference) {
		const char *name = json_string_value(reference) + strlen("#/$defs/");
		check_schema(root, json_object_get(json_object_get(root, "$defs"), name), value, where);
		return;
	}
	json_t *any = json_object_get(schema, "anyOf");
	if (any) {
		assert_int_equal(json_array_size(any), 2); /* null, or the other */
		if (!json_is_null(value))
			check_schema(root, json_array_get(any, 1), value, where);
		return;
	}
	json_t *type = json_object_get(schema, "type");
	const char *name = json_is_null(value)      ? "null"
	                   : json_is_string(value)  ? "string"
	                   : json_is_integer(value) ? "integer"
	                   : json_is_real(value)    ? "number"
	                   : json_is_boolean(value) ? "boolean"
	                   : json_is_array(value)   ? "array"
	                                            : "object";
	bool allowed = !type;
	for (size_t i = 0; type && i < (json_is_array(type) ? json_array_size(type) : 1); i++) {
		const char *one = json_string_value(json_is_array(type) ? json_array_get(type, i) : type);
		allowed |= strcmp(one, name) == 0 || (strcmp(one, "number") == 0 && strcmp(name, "integer") == 0);
	}
	if (!allowed)
		fail_msg("%s is %s, which the schema does not allow", where, name);
	json_t *values = json_object_get(schema, "enum");
	if (values) {
		bool found = false;
		for (size_t i = 0; i < json_array_size(values); i++)
			found |= json_equal(json_array_get(values, i), value);
		if (!found)
			fail_msg("%s: '%s' is not in the schema's list", where, json_string_value(value));
	}
	char path[256];
	json_t *properties = json_object_get(schema, "properties");
	const char *key;
	json_t *item;
	if (properties && json_is_object(value)) {
		assert_int_equal(json_array_size(json_object_get(schema, "required")), json_object_size(properties));
		json_object_foreach(properties, key, item) {
			snprintf(path, sizeof path, "%s.%s", where, key);
			if (!json_object_get(value, key))
				fail_msg("%s is missing", path);
			check_schema(root, item, json_object_get(value, key), path);
		}
		json_object_foreach(value, key, item)
			if (!json_object_get(properties, key))
				fail_msg("%s.%s is not in the schema", where, key);
	}
	size_t index;
	json_array_foreach(value, index, item) {
		snprintf(path, sizeof path, "%s[%zu]", where, index);
		check_schema(root, json_object_get(schema, "items"), item, path);
	}
}

static void test_follows_the_schema(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	json_error_t error;
	json_t *schema = json_load_file(ASSAY_SOURCE_DIR "/docs/schema/run-1.json", 0, &error);
	if (!schema)
		fail_msg("docs/schema/run-1.json:%d: %s", error.line, error.text);
	const struct run *const runs[] = {filled_run(&arena), filled_commands(&arena)};
	for (size_t i = 0; i < 2; i++) {
		json_t *document = json_loads(json_run(&arena, runs[i]), 0, &error);
		assert_non_null(document);
		check_schema(schema, schema, document, "run");
		json_decref(document);
	}
	json_decref(schema);
	arena_release(&arena);
}

static void test_no_number_is_nan_or_infinite(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct run *run = filled_run(&arena);
	run->scan_seconds = NAN;
	run->host.load_average = INFINITY;
	run->trials.at[0]->effect.low = -INFINITY;
	run->trials.at[0]->effect.theta = NAN;
	run->trials.at[0]->control.floor = INFINITY;
	run->trials.at[0]->counters.at[0].baseline = NAN;
	run->trials.at[0]->baseline_ns = NAN;
	run->surveys.at[0]->values.at[0].ns = NAN;
	run->surveys.at[0]->values.at[2].effect.low = -INFINITY;
	run->surveys.at[0]->control.floor = INFINITY;
	run->trials.at[0]->effect.high = 1e6; /* e^1e6 is no number */
	char *text = json_run(&arena, run);
	for (char *at = text; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	assert_null(strstr(text, ": nan"));
	assert_null(strstr(text, ": inf"));
	assert_null(strstr(text, ": -inf"));
	struct run again;
	struct err err = ERR_INIT;
	text = json_run(&arena, run);
	assert_int_equal(json_run_read(&arena, text, strlen(text), &again, &err), ST_OK);
	assert_true(isinf(again.trials.at[0]->effect.low));
	assert_non_null(again.trials.at[0]->counters.at[0].unavailable);
	arena_release(&arena);
}

static void test_does_not_depend_on_the_locale(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	char *plain = json_run(&arena, filled_run(&arena));
	const char *const locales[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "nl_NL.UTF-8", "ru_RU.UTF-8"};
	/* A machine that has the sources of locales but none with a comma: make one beside. */
	char folder[] = "/tmp/assay-locale-XXXXXX";
	assert_non_null(mkdtemp(folder));
	int made = system(arena_printf(&arena, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder));
	if (made == 0)
		setenv("LOCPATH", folder, 1);
	bool found = false;
	for (size_t i = 0; i < sizeof locales / sizeof *locales && !found; i++)
		found = setlocale(LC_ALL, locales[i]) != NULL && localeconv()->decimal_point[0] == ',';
	made = system(arena_printf(&arena, "rm -rf %s", folder));
	unsetenv("LOCPATH");
	if (!found) {
		print_message("skipped: no locale with a decimal comma is installed\n");
		arena_release(&arena);
		skip();
	}
	char *with_comma = json_run(&arena, filled_run(&arena));
	struct run again;
	struct err err = ERR_INIT;
	enum status status = json_run_read(&arena, plain, strlen(plain), &again, &err);
	char *read_with_comma = json_run(&arena, &again);
	setlocale(LC_ALL, "C");
	assert_int_equal(status, ST_OK);
	assert_string_equal(with_comma, plain);
	assert_string_equal(read_with_comma, plain);
	arena_release(&arena);
}

static void test_wrong_bytes_become_replacement_characters(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	struct note note = {.where = "a\377b", .text = "\303\251 ok, \303 cut, \355\240\200 surrogate, \360\237\230\200"};
	assert_string_equal(json_note(&arena, &note),
	                    "{\"where\":\"a\357\277\275b\",\"text\":\"\303\251 ok, \357\277\275 cut, "
	                    "\357\277\275\357\277\275\357\277\275 surrogate, \360\237\230\200\"}");
	arena_release(&arena);
}

static void test_says_what_is_wrong_and_where(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	char *good = json_run(&arena, filled_run(&arena));
	const struct {
		const char *from, *to, *expect;
	} cases[] = {
		{"\"verdict\": \"mixed\"", "\"verdict\": \"meh\"", "families[2].verdict"},
		{"\"pairs\": 1410", "\"pairs\": -1", "trials[5].pairs"},
		{"\"pairs\": 1410", "\"pairs\": 99999999999", "trials[5].pairs"},
		{"\"seconds\": 84.27", "\"seconds\": \"84\"", "run.seconds"},
		{"\"seed\": 4242,", "", "run.seed"},
		{"\"assay\": 1", "\"assay\": 7", "schema version 7"},
		{"\"t6\"", "\"t77\"", "families[2].trials[2]"},
		{"\"verdict\": \"missing from the build\"", "\"verdict\": \"lost\"", "surveys[0].values[5].verdict"},
		{"\"fastest\": \"avx2\"", "\"fastest\": \"neon\"", "surveys[0].fastest"},
		{"\"counters\": [", "\"counters\": [3, ", "counters[0]"},
		{"{", "[", "not JSON"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *at = strstr(good, cases[i].from);
		if (strcmp(cases[i].from, "\"t6\"") == 0)
			at = strstr(strstr(good, "\"families\""), cases[i].from);
		assert_non_null(at);
		char *bad = arena_printf(&arena, "%.*s%s%s", (int)(at - good), good, cases[i].to, at + strlen(cases[i].from));
		struct run run;
		struct err err = ERR_INIT;
		assert_int_equal(json_run_read(&arena, bad, strlen(bad), &run, &err), ST_INPUT);
		if (!strstr(err.text, cases[i].expect))
			fail_msg("'%s' does not name %s", err.text, cases[i].expect);
	}
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip_gives_the_same_text),
		cmocka_unit_test(test_pieces_join_to_the_same_run),
		cmocka_unit_test(test_follows_the_schema),
		cmocka_unit_test(test_no_number_is_nan_or_infinite),
		cmocka_unit_test(test_does_not_depend_on_the_locale),
		cmocka_unit_test(test_wrong_bytes_become_replacement_characters),
		cmocka_unit_test(test_says_what_is_wrong_and_where),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
