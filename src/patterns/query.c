#include "patterns/query.h"

#include "base/text.h"

const char *unit_relative(const struct ast_unit *unit, const char *file)
{
	const char *relative = path_under(file, unit->tree);
	return relative ? relative : file;
}

struct finding *finding_new(struct pattern_sink *sink, const struct ast_unit *unit, const struct pattern *pattern,
                            const struct ast_range *range, const char *symbol, enum severity severity,
                            const char *message)
{
	struct finding *finding = arena_new(sink->arena, struct finding);
	finding->pattern = pattern->id;
	finding->kind = FINDING_ANTIPATTERN;
	finding->file = arena_strdup(sink->arena, unit_relative(unit, range->file));
	finding->line = range->line;
	finding->column = range->column;
	finding->symbol = arena_strdup(sink->arena, symbol ? symbol : "");
	finding->tier = pattern->tier;
	finding->severity = severity;
	finding->message = message;
	finding->claim = pattern->expected;
	list_push(sink->arena, &sink->findings, finding);
	return finding;
}

void finding_edit(struct pattern_sink *sink, struct finding *finding, size_t offset, size_t length, const char *text)
{
	struct edit edit = {.file = finding->file, .offset = offset, .length = length, .text = text};
	list_push(sink->arena, &finding->edits, edit);
}

bool command_flag(const struct compile_command *command, const char *on, const char *off, bool fallback)
{
	bool value = fallback;
	for (size_t i = 0; i < command->argv.count; i++) {
		if (text_equal(command->argv.at[i], on))
			value = true;
		else if (off && text_equal(command->argv.at[i], off))
			value = false;
	}
	return value;
}

const char *command_standard(const struct compile_command *command)
{
	const char *standard = NULL;
	for (size_t i = 0; i < command->argv.count; i++) {
		const char *word = command->argv.at[i];
		if (text_equal(word, "-ansi"))
			standard = "c90";
		else if (text_starts(word, "-std="))
			standard = word + 5;
	}
	return standard;
}
