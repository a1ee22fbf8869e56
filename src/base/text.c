#include "base/text.h"

#include <stdlib.h>
#include <string.h>

bool text_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
	size_t text_size = strlen(text), suffix_size = strlen(suffix);
	return text_size >= suffix_size && memcmp(text + text_size - suffix_size, suffix, suffix_size) == 0;
}

bool text_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool text_is_one_of(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(text, *list) == 0)
			return true;
	return false;
}

bool text_starts_with_one_of(const char *text, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (text_starts(text, *prefixes))
			return true;
	return false;
}

char *path_join(struct arena *arena, const char *dir, const char *name)
{
	if (name[0] == '/' || !dir || !dir[0])
		return arena_strdup(arena, name);
	return arena_printf(arena, "%s%s%s", dir, text_ends(dir, "/") ? "" : "/", name);
}

char *path_clean(struct arena *arena, const char *path)
{
	bool absolute = path[0] == '/';
	char *out = arena_alloc(arena, strlen(path) + 2);
	size_t used = 0;
	size_t floor = 0; /* a relative path's leading ".." parts can't be removed */
	if (absolute)
		out[used++] = '/';
	floor = used;
	for (const char *at = path; *at;) {
		while (*at == '/')
			at++;
		size_t size = strcspn(at, "/");
		if (size == 0)
			break;
		if (size == 1 && at[0] == '.') {
			at += size;
			continue;
		}
		if (size == 2 && at[0] == '.' && at[1] == '.') {
			if (used > floor) {
				while (used > floor && out[used - 1] != '/')
					used--;
				if (used > floor)
					used--;
				at += size;
				continue;
			}
			if (absolute) {
				at += size;
				continue;
			}
		}
		bool is_parent = size == 2 && at[0] == '.' && at[1] == '.';
		if (used > (absolute ? 1u : 0u))
			out[used++] = '/';
		memcpy(out + used, at, size);
		used += size;
		if (is_parent)
			floor = used;
		at += size;
	}
	if (used == 0)
		out[used++] = '.';
	out[used] = '\0';
	return out;
}

const char *path_under(const char *path, const char *root)
{
	size_t size = strlen(root);
	while (size > 1 && root[size - 1] == '/')
		size--;
	if (strncmp(path, root, size) != 0)
		return NULL;
	if (path[size] == '\0')
		return ".";
	if (size == 1 && root[0] == '/')
		return path + 1;
	return path[size] == '/' ? path + size + 1 : NULL;
}

char *path_dir(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return arena_strdup(arena, ".");
	if (slash == path)
		return arena_strdup(arena, "/");
	return arena_strndup(arena, path, (size_t)(slash - path));
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

char *shell_quote(struct arena *arena, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%^";
	if (word[0] && strspn(word, plain) == strlen(word))
		return arena_strdup(arena, word);
	char *out = arena_alloc(arena, 4 * strlen(word) + 3);
	size_t used = 0;
	out[used++] = '\'';
	for (const char *at = word; *at; at++) {
		if (*at == '\'') {
			memcpy(out + used, "'\\''", 4);
			used += 4;
		} else {
			out[used++] = *at;
		}
	}
	out[used++] = '\'';
	out[used] = '\0';
	return out;
}

bool shell_split(struct arena *arena, const char *text, struct string_list *ret_words)
{
	char *word = arena_alloc(arena, strlen(text) + 1);
	size_t used = 0;
	bool in_word = false;
	char quote = '\0';
	for (const char *at = text; *at; at++) {
		if (quote == '\'') {
			if (*at == '\'')
				quote = '\0';
			else
				word[used++] = *at;
		} else if (*at == '\\' && at[1] && (!quote || strchr("\"\\$`", at[1]))) {
			word[used++] = *++at;
			in_word = true;
		} else if (quote == '"') {
			if (*at == '"')
				quote = '\0';
			else
				word[used++] = *at;
		} else if (*at == '\'' || *at == '"') {
			quote = *at;
			in_word = true;
		} else if (*at == ' ' || *at == '\t' || *at == '\n') {
			if (in_word)
				list_push(arena, ret_words, arena_strndup(arena, word, used));
			used = 0;
			in_word = false;
		} else {
			word[used++] = *at;
			in_word = true;
		}
	}
	if (in_word)
		list_push(arena, ret_words, arena_strndup(arena, word, used));
	return quote == '\0';
}

char *text_join(struct arena *arena, const struct string_list *words, const char *separator)
{
	size_t size = 1;
	for (size_t i = 0; i < words->count; i++)
		size += strlen(words->at[i]) + strlen(separator);
	char *out = arena_alloc(arena, size);
	for (size_t i = 0; i < words->count; i++) {
		if (i)
			strcat(out, separator);
		strcat(out, words->at[i]);
	}
	return out;
}

char *text_tail(struct arena *arena, const char *text, size_t lines)
{
	size_t size = strlen(text);
	while (size && (text[size - 1] == '\n' || text[size - 1] == '\r'))
		size--;
	size_t start = size;
	for (; start > 0; start--)
		if (text[start - 1] == '\n' && --lines == 0)
			break;
	return arena_strndup(arena, text + start, size - start);
}

unsigned long long text_hash(const void *data, size_t size, unsigned long long seed)
{
	const unsigned char *bytes = data;
	unsigned long long hash = seed;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 1099511628211ull;
	return hash;
}

bool text_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

size_t utf8_sequence(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	if (at[0] < 0x80)
		return 1;
	size_t size = at[0] >= 0xc2 && at[0] <= 0xdf ? 2 : at[0] >= 0xe0 && at[0] <= 0xef ? 3 : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4 : 0;
	for (size_t i = 1; i < size; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
	    (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return size;
}

const char *utf8_clean(struct arena *arena, const char *text)
{
	const char *at = text;
	while (*at && utf8_sequence(at))
		at += utf8_sequence(at);
	if (!*at)
		return text;
	char *clean = arena_alloc(arena, 3 * strlen(text) + 1);
	size_t used = 0;
	for (at = text; *at;) {
		size_t size = utf8_sequence(at);
		memcpy(clean + used, size ? at : "\xef\xbf\xbd", size ? size : 3);
		used += size ? size : 3;
		at += size ? size : 1;
	}
	clean[used] = '\0';
	return clean;
}

bool decimal_parse(const char *text, double *ret_value, const char **ret_rest)
{
	size_t size = strspn(text, "0123456789.");
	char number[32];
	if (size == 0 || size >= sizeof number || (size == 1 && text[0] == '.'))
		return false;
	memcpy(number, text, size);
	number[size] = '\0';
	char *end = NULL;
	*ret_value = strtod(number, &end);
	*ret_rest = text + size;
	return *end == '\0';
}

bool duration_parse(const char *text, double *ret_seconds)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
	double value;
	const char *rest;
	if (!decimal_parse(text, &value, &rest))
		return false;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(rest, units[i].name) == 0) {
			*ret_seconds = value * units[i].seconds;
			return true;
		}
	return false;
}
