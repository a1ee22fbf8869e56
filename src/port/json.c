#include "port/json.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Source text need not be UTF-8, and an edit must keep every byte: such strings travel as hexadecimal digits. */
static json_t *bytes_to_json(const char *text)
{
	if (!text)
		return json_null();
	json_t *plain = json_string(text);
	if (plain)
		return plain;
	size_t size = strlen(text);
	char *hex = malloc(2 * size + 1);
	if (!hex)
		return json_null();
	for (size_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)text[i]);
	json_t *out = json_pack("{s:s}", "hex", hex);
	free(hex);
	return out;
}

static const char *bytes_from_json(struct arena *arena, const json_t *value)
{
	if (json_is_string(value))
		return arena_strdup(arena, json_string_value(value));
	const char *hex = json_string_value(json_object_get(value, "hex"));
	if (!hex)
		return NULL;
	size_t size = strlen(hex) / 2;
	char *text = arena_alloc(arena, size + 1);
	for (size_t i = 0; i < size; i++) {
		unsigned byte = 0;
		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return NULL;
		text[i] = (char)byte;
	}
	return text;
}

/* Text for people: what isn't UTF-8 becomes question marks. */
static json_t *text_to_json(const char *text)
{
	if (!text)
		return json_null();
	json_t *plain = json_string(text);
	if (plain)
		return plain;
	char *copy = strdup(text);
	if (!copy)
		return json_null();
	for (char *at = copy; *at; at++)
		if ((unsigned char)*at >= 0x80)
			*at = '?';
	plain = json_string(copy);
	free(copy);
	return plain;
}

static json_t *strings_to_json(const struct string_list *list)
{
	json_t *out = json_array();
	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(out, bytes_to_json(list->at[i]));
	return out;
}

static void strings_from_json(struct arena *arena, const json_t *array, struct string_list *ret_list)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *text = bytes_from_json(arena, json_array_get(array, i));
		if (text)
			list_push(arena, ret_list, text);
	}
}

static json_t *finding_to_json(const struct finding *finding, const struct line_list *anchors)
{
	json_t *edits = json_array(), *lines = json_array();
	for (size_t i = 0; i < finding->edits.count; i++) {
		const struct edit *edit = &finding->edits.at[i];
		json_array_append_new(edits, json_pack("{s:o, s:I, s:I, s:o}", "file", bytes_to_json(edit->file), "offset",
		                                       (json_int_t)edit->offset, "length", (json_int_t)edit->length, "text",
		                                       bytes_to_json(edit->text)));
	}
	for (size_t i = 0; i < anchors->count; i++)
		json_array_append_new(lines, json_integer(anchors->at[i]));
	return json_pack("{s:s, s:o, s:i, s:i, s:o, s:i, s:i, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "pattern",
	                 finding->pattern, "function", text_to_json(finding->function), "loop_end", (int)finding->loop_end, "kind", (int)finding->kind, "file", bytes_to_json(finding->file), "line",
	                 (int)finding->line, "column", (int)finding->column, "symbol",
	                 text_to_json(finding->symbol ? finding->symbol : "-"), "tier", (int)finding->tier, "severity",
	                 (int)finding->severity, "message", text_to_json(finding->message), "claim",
	                 text_to_json(finding->claim), "evidence", text_to_json(finding->evidence), "contract",
	                 text_to_json(finding->contract), "edits", edits, "anchors", lines);
}

static struct found finding_from_json(struct arena *arena, const json_t *value)
{
	struct finding *finding = arena_new(arena, struct finding);
	struct found found = {.finding = finding};
	finding->pattern = bytes_from_json(arena, json_object_get(value, "pattern"));
	finding->kind = (enum finding_kind)json_integer_value(json_object_get(value, "kind"));
	finding->file = bytes_from_json(arena, json_object_get(value, "file"));
	finding->line = (unsigned)json_integer_value(json_object_get(value, "line"));
	finding->column = (unsigned)json_integer_value(json_object_get(value, "column"));
	finding->symbol = bytes_from_json(arena, json_object_get(value, "symbol"));
	finding->function = bytes_from_json(arena, json_object_get(value, "function"));
	finding->loop_end = (unsigned)json_integer_value(json_object_get(value, "loop_end"));
	finding->tier = (enum tier)json_integer_value(json_object_get(value, "tier"));
	finding->severity = (enum severity)json_integer_value(json_object_get(value, "severity"));
	finding->message = bytes_from_json(arena, json_object_get(value, "message"));
	finding->claim = bytes_from_json(arena, json_object_get(value, "claim"));
	finding->evidence = bytes_from_json(arena, json_object_get(value, "evidence"));
	finding->contract = bytes_from_json(arena, json_object_get(value, "contract"));
	const json_t *edits = json_object_get(value, "edits");
	for (size_t i = 0; i < json_array_size(edits); i++) {
		const json_t *from = json_array_get(edits, i);
		struct edit edit = {.file = bytes_from_json(arena, json_object_get(from, "file")),
		                    .offset = (size_t)json_integer_value(json_object_get(from, "offset")),
		                    .length = (size_t)json_integer_value(json_object_get(from, "length")),
		                    .text = bytes_from_json(arena, json_object_get(from, "text"))};
		list_push(arena, &finding->edits, edit);
	}
	const json_t *lines = json_object_get(value, "anchors");
	for (size_t i = 0; i < json_array_size(lines); i++)
		list_push(arena, &found.anchors, (unsigned)json_integer_value(json_array_get(lines, i)));
	return found;
}

static json_t *fact_to_json(const struct fact *fact)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:i, s:i, s:o, s:I, s:I}", "pattern", fact->pattern, "name",
	                 bytes_to_json(fact->name), "value", bytes_to_json(fact->value), "file", bytes_to_json(fact->file),
	                 "line", (int)fact->line, "column", (int)fact->column, "symbol", bytes_to_json(fact->symbol),
	                 "offset", (json_int_t)fact->offset, "length", (json_int_t)fact->length);
}

static struct fact fact_from_json(struct arena *arena, const json_t *value)
{
	return (struct fact){
	    .pattern = bytes_from_json(arena, json_object_get(value, "pattern")),
	    .name = bytes_from_json(arena, json_object_get(value, "name")),
	    .value = bytes_from_json(arena, json_object_get(value, "value")),
	    .file = bytes_from_json(arena, json_object_get(value, "file")),
	    .line = (unsigned)json_integer_value(json_object_get(value, "line")),
	    .column = (unsigned)json_integer_value(json_object_get(value, "column")),
	    .symbol = bytes_from_json(arena, json_object_get(value, "symbol")),
	    .offset = (size_t)json_integer_value(json_object_get(value, "offset")),
	    .length = (size_t)json_integer_value(json_object_get(value, "length")),
	};
}

char *json_from_answer(const struct unit_answer *answer)
{
	json_t *findings = json_array(), *facts = json_array();
	for (size_t i = 0; i < answer->facts.count; i++)
		json_array_append_new(facts, fact_to_json(&answer->facts.at[i]));
	for (size_t i = 0; i < answer->found.count; i++)
		json_array_append_new(findings, finding_to_json(answer->found.at[i].finding, &answer->found.at[i].anchors));
	json_t *root = json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "failure", text_to_json(answer->failure), "findings",
	                         findings, "facts", facts, "files", strings_to_json(&answer->files), "errors",
	                         strings_to_json(&answer->errors), "error_count", (json_int_t)answer->error_count, "lines",
	                         (json_int_t)answer->lines);
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text;
}

bool json_to_answer(struct arena *arena, const char *text, size_t size, struct unit_answer *ret_answer)
{
	*ret_answer = (struct unit_answer){0};
	json_t *root = json_loadb(text, size, 0, NULL);
	if (!json_is_object(root)) {
		json_decref(root);
		return false;
	}
	ret_answer->failure = bytes_from_json(arena, json_object_get(root, "failure"));
	const json_t *findings = json_object_get(root, "findings");
	for (size_t i = 0; i < json_array_size(findings); i++) {
		struct found found = finding_from_json(arena, json_array_get(findings, i));
		if (found.finding->pattern && found.finding->file)
			list_push(arena, &ret_answer->found, found);
	}
	const json_t *facts = json_object_get(root, "facts");
	for (size_t i = 0; i < json_array_size(facts); i++) {
		struct fact fact = fact_from_json(arena, json_array_get(facts, i));
		if (fact.pattern && fact.name && fact.value)
			list_push(arena, &ret_answer->facts, fact);
	}
	strings_from_json(arena, json_object_get(root, "files"), &ret_answer->files);
	strings_from_json(arena, json_object_get(root, "errors"), &ret_answer->errors);
	ret_answer->error_count = (size_t)json_integer_value(json_object_get(root, "error_count"));
	ret_answer->lines = (unsigned long long)json_integer_value(json_object_get(root, "lines"));
	json_decref(root);
	return true;
}
