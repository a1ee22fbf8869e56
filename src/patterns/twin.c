#include "patterns/twin.h"

#include "base/text.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* "a, b"; NULL: a parameter has no name. */
static const char *arguments_of(struct arena *arena, const struct ast_node *function)
{
	struct string_list names = {0};
	for (size_t i = 0; i < function->children.count; i++) {
		const struct ast_node *parameter = function->children.at[i];
		if (parameter->kind != AST_PARAM)
			continue;
		if (!parameter->name)
			return NULL;
		list_push(arena, &names, parameter->name);
	}
	return text_join(arena, &names, ", ");
}

/* Whether a macro has a part in the signature or in one of the braces. */
static bool macros_touch(const struct ast_unit *unit, const struct ast_range *range, size_t body)
{
	for (size_t i = 0; i < unit->expansions.count; i++) {
		const struct ast_range *other = &unit->expansions.at[i].range;
		bool in_signature = other->offset <= body && range->offset < other->end_offset;
		bool at_end = other->offset < range->end_offset && range->end_offset - 1 < other->end_offset;
		if ((in_signature || at_end) && text_equal(other->file, range->file))
			return true;
	}
	return false;
}

bool twin_of(const struct ast_unit *unit, struct arena *arena, const struct ast_node *function, struct twin *ret_twin)
{
	static const char *const odd[] = {"#", "//", "/*", "__attribute", "[[", "\\", "asm", NULL};
	const struct ast_range *range = &function->range;
	if (!function->body || !range->file || !function->name)
		return false;
	size_t size, begin = range->offset, body = function->body->range.offset, end = range->end_offset;
	const char *file = ast_file_text(unit, range->file, &size), *arguments = arguments_of(arena, function);
	if (!file || !arguments || begin >= body || body >= end || end > size || file[body] != '{' || file[end - 1] != '}' ||
	    macros_touch(unit, range, body))
		return false;
	const char *text = arena_strndup(arena, file + begin, body - begin);
	for (size_t i = 0; odd[i]; i++)
		if (strstr(text, odd[i]))
			return false;
	/* The name stands right before the first parenthesis, and what that opens ends the signature: no pointer to a function
	 * is returned, and no parameters are declared behind it in the old way. */
	size_t open = strcspn(text, "("), close = body - begin, at = open, name_end = open, length = strlen(function->name);
	while (close > 0 && is_blank(text[close - 1]))
		close--;
	for (int depth = 0; at < close; at++) {
		depth += (text[at] == '(') - (text[at] == ')');
		if (depth == 0)
			break;
	}
	while (name_end > 0 && is_blank(text[name_end - 1]))
		name_end--;
	if (at + 1 != close || name_end <= length || strncmp(text + name_end - length, function->name, length) != 0 ||
	    text_is_word(text[name_end - length - 1]))
		return false;
	*ret_twin = (struct twin){function, text, arguments, begin, begin + name_end - length, body, end};
	return true;
}

void twin_put(const struct ast_unit *unit, struct pattern_sink *sink, struct finding *finding, const struct twin *twin,
              const char *words, const char *name)
{
	struct arena *arena = sink->arena;
	size_t skip = text_starts(twin->signature, "extern ") ? strlen("extern ") : 0, size;
	finding_edit(sink, finding, twin->begin, skip, arena_printf(arena, "%s ", words));
	finding_edit(sink, finding, twin->name, strlen(twin->function->name), name);
	/* The function in the body's own fashion: on one line, or with its indentation. */
	const char *file = ast_file_text(unit, twin->function->range.file, &size);
	const char *body = arena_strndup(arena, file + twin->body, twin->end - twin->body), *line = strchr(body, '\n');
	size_t blanks = line ? strspn(line + 1, " \t") : 0;
	const char *indent = blanks ? arena_strndup(arena, line + 1, blanks) : "\t";
	bool returns = !text_starts(twin->function->type->spelling, "void (");
	const char *call = arena_printf(arena, "%s%s(%s);", returns ? "return " : "", name, twin->arguments);
	finding_edit(sink, finding, twin->end, 0,
	             line ? arena_printf(arena, "\n\n%s{\n%s%s\n}", twin->signature, indent, call)
	                  : arena_printf(arena, "\n\n%s{ %s }", twin->signature, call));
}

bool file_lacks(const struct ast_unit *unit, const char *file, const char *name)
{
	size_t size;
	const char *text = file ? ast_file_text(unit, file, &size) : NULL;
	return text && !memmem(text, size, name, strlen(name));
}

size_t place_before(const struct ast_unit *unit, const struct ast_node *function)
{
	size_t size, begin = function->range.offset;
	const char *text = ast_file_text(unit, function->range.file, &size);
	if (!text || begin > size || function->range.edge_in_macro || (begin > 0 && text[begin - 1] != '\n'))
		return SIZE_MAX;
	size_t end = begin > 0 ? begin - 1 : 0; /* a comment on the line before belongs to it */
	while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r'))
		end--;
	if (end < 4 || text[end - 1] != '/' || text[end - 2] != '*')
		return begin;
	size_t open = end - 2;
	while (open > 0 && !(text[open - 1] == '/' && text[open] == '*'))
		open--;
	return open == 1 || (open > 1 && text[open - 2] == '\n') ? open - 1 : begin;
}

const char *inline_word(const struct compile_command *command)
{
	const char *standard = command_standard(command);
	bool strict = standard && (text_equal(standard, "c90") || text_equal(standard, "c89") || text_equal(standard, "iso9899:1990") ||
	                           text_equal(standard, "iso9899:199409"));
	return strict ? "__inline__" : "inline";
}
