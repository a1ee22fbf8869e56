/* Findings back out of an earlier SARIF report: as much of them as a comparison needs. */
#include "report/sarif.h"

#include "base/text.h"

#include <jansson.h>
#include <string.h>

#define FINGERPRINT "assayFinding/v1"

/* NULL at any missing step. */
static json_t *at_path(json_t *value, const char *path)
{
	for (const char *at = path; value && *at;) {
		size_t size = strcspn(at, ".");
		char key[64];
		if (size >= sizeof key)
			return NULL;
		memcpy(key, at, size);
		key[size] = '\0';
		value = json_is_array(value) ? json_array_get(value, (size_t)(key[0] - '0')) : json_object_get(value, key);
		at += size + (at[size] == '.');
	}
	return value;
}

static const char *text_at(struct arena *arena, json_t *value, const char *path, const char *fallback)
{
	const char *text = json_string_value(at_path(value, path));
	return text ? arena_strdup(arena, text) : fallback;
}

static unsigned number_at(json_t *value, const char *path)
{
	json_int_t number = json_integer_value(at_path(value, path));
	return number > 0 && number <= UINT32_MAX ? (unsigned)number : 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *path_of_uri(struct arena *arena, const char *uri)
{
	char *path = arena_strdup(arena, uri), *out = path;
	for (const char *at = path; *at; at++) {
		if (*at == '%' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
			char byte = (char)(16 * hex_digit(at[1]) + hex_digit(at[2]));
			if (byte)
				*out++ = byte;
			at += 2;
		} else {
			*out++ = *at;
		}
	}
	*out = '\0';
	return path;
}

static void result_read(struct arena *arena, json_t *result, struct finding_list *findings)
{
	const char *id = json_string_value(json_object_get(json_object_get(result, "partialFingerprints"), FINGERPRINT));
	const char *state = json_string_value(json_object_get(result, "baselineState"));
	if (!id || (state && strcmp(state, "absent") == 0))
		return;
	struct finding *finding = arena_new(arena, struct finding);
	const char *severity = text_at(arena, result, "properties.severity", "low");
	const char *tier = text_at(arena, result, "properties.tier", "A");
	const char *candidate = text_at(arena, result, "properties.candidate", NULL);
	*finding = (struct finding){
		.id = arena_strdup(arena, id),
		.pattern = text_at(arena, result, "ruleId", ""),
		.file = path_of_uri(arena, text_at(arena, result, "locations.0.physicalLocation.artifactLocation.uri", "")),
		.line = number_at(result, "locations.0.physicalLocation.region.startLine"),
		.column = number_at(result, "locations.0.physicalLocation.region.startColumn"),
		.symbol = text_at(arena, result, "locations.0.logicalLocations.0.name", ""),
		.message = text_at(arena, result, "message.text", NULL),
		.claim = text_at(arena, result, "properties.claim", NULL),
		.candidate = candidate,
		.built = json_is_true(at_path(result, "properties.built")),
	};
	/* What trials settled as `pass` was a finding all the same: only a guard never has a candidate or trials. */
	bool pass = strcmp(text_at(arena, result, "kind", "fail"), "pass") == 0;
	finding->kind = pass && !candidate && !at_path(result, "properties.trials") ? FINDING_GUARD : FINDING_ANTIPATTERN;
	if (!severity_parse(severity, &finding->severity))
		finding->severity = SEVERITY_LOW;
	if (!tier_parse(tier, &finding->tier))
		finding->tier = TIER_A;
	list_push(arena, findings, finding);
}

enum status sarif_findings_read(struct arena *arena, const char *text, size_t size, bool *ret_is_sarif,
                                struct finding_list *ret_findings, struct err *err)
{
	*ret_is_sarif = false;
	*ret_findings = (struct finding_list){0};
	json_error_t problem;
	json_t *document = json_loadb(text, size, 0, &problem);
	if (!document)
		return err_set(err, ST_INPUT, "it is not JSON: line %d, column %d: %s", problem.line, problem.column, problem.text);
	json_t *runs = json_object_get(document, "runs");
	*ret_is_sarif = json_is_array(runs);
	enum status status = ST_OK;
	unsigned ours = 0;
	for (size_t i = 0; i < json_array_size(runs); i++) {
		json_t *run = json_array_get(runs, i), *results = json_object_get(run, "results");
		if (strcmp(text_at(arena, run, "tool.driver.name", ""), "assay") != 0)
			continue;
		ours++;
		for (size_t k = 0; k < json_array_size(results); k++)
			result_read(arena, json_array_get(results, k), ret_findings);
	}
	if (*ret_is_sarif && ours == 0)
		status = err_set(err, ST_INPUT, "it is SARIF of another tool (%s), not of assay",
		                 text_at(arena, json_array_get(runs, 0), "tool.driver.name", "without a name"));
	json_decref(document);
	return status;
}
