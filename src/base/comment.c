#include "base/comment.h"

#include <ctype.h>

struct reader {
	struct arena *arena;
	struct comment_list *comments;
	const char *at, *end;
	unsigned line;
	bool code_on_line;   /* since the last newline */
	bool open_alone;     /* the last comment may still turn out not to be alone: code may follow on its line */
	bool last_is_line;   /* the last comment is of the `//` kind */
};

/* Trims each line, drops leading stars. */
static char *tidy(struct arena *arena, const char *from, const char *to)
{
	char *out = arena_alloc(arena, (size_t)(to - from) + 2);
	size_t used = 0;
	while (from < to) {
		const char *stop = memchr(from, '\n', (size_t)(to - from));
		if (!stop)
			stop = to;
		const char *begin = from, *finish = stop;
		while (begin < finish && isspace((unsigned char)*begin))
			begin++;
		while (begin < finish && (*begin == '*' || *begin == '/' || *begin == '!' || *begin == '<'))
			begin++;
		while (begin < finish && isspace((unsigned char)*begin))
			begin++;
		while (finish > begin && (isspace((unsigned char)finish[-1]) || finish[-1] == '*'))
			finish--;
		if (used || finish > begin) {
			if (used)
				out[used++] = '\n';
			memcpy(out + used, begin, (size_t)(finish - begin));
			used += (size_t)(finish - begin);
		}
		from = stop + 1;
	}
	while (used && out[used - 1] == '\n')
		used--;
	out[used] = '\0';
	return out;
}

static void add(struct reader *reader, const char *from, const char *to, unsigned first_line, bool is_line)
{
	struct comment comment = {.line = first_line, .end_line = reader->line, .alone = !reader->code_on_line};
	comment.text = tidy(reader->arena, from, to);
	struct comment *last = reader->comments->count ? &reader->comments->at[reader->comments->count - 1] : NULL;
	if (is_line && last && reader->last_is_line && last->alone && comment.alone && last->end_line + 1 == first_line) {
		last->end_line = reader->line;
		last->text = arena_printf(reader->arena, "%s\n%s", last->text, comment.text);
		return;
	}
	list_push(reader->arena, reader->comments, comment);
	reader->last_is_line = is_line;
	reader->open_alone = true;
}

static void skip_quoted(struct reader *reader)
{
	char quote = *reader->at++;
	while (reader->at < reader->end && *reader->at != quote && *reader->at != '\n') {
		if (*reader->at == '\\' && reader->at + 1 < reader->end) {
			if (reader->at[1] == '\n')
				reader->line++;
			reader->at++;
		}
		reader->at++;
	}
	if (reader->at < reader->end && *reader->at == quote)
		reader->at++;
}

void comments_read(struct arena *arena, const char *text, size_t size, struct comment_list *ret_comments)
{
	struct reader reader = {.arena = arena, .comments = ret_comments, .at = text, .end = text + size, .line = 1};
	*ret_comments = (struct comment_list){0};
	while (reader.at < reader.end) {
		char c = *reader.at;
		bool two = reader.at + 1 < reader.end;
		if (c == '\n') {
			reader.line++;
			reader.code_on_line = reader.open_alone = false;
			reader.at++;
		} else if (c == '/' && two && reader.at[1] == '/') {
			const char *from = reader.at;
			unsigned first = reader.line;
			while (reader.at < reader.end && *reader.at != '\n') {
				if (*reader.at == '\\' && reader.at + 1 < reader.end && reader.at[1] == '\n') {
					reader.line++;
					reader.at++;
				}
				reader.at++;
			}
			add(&reader, from, reader.at, first, true);
		} else if (c == '/' && two && reader.at[1] == '*') {
			const char *from = reader.at;
			unsigned first = reader.line;
			reader.at += 2;
			while (reader.at < reader.end &&
			       !(*reader.at == '*' && reader.at + 1 < reader.end && reader.at[1] == '/')) {
				if (*reader.at == '\n')
					reader.line++;
				reader.at++;
			}
			const char *to = reader.at;
			reader.at = reader.end - reader.at >= 2 ? reader.at + 2 : reader.end;
			add(&reader, from, to, first, false);
		} else if (c == '"' || c == '\'') {
			reader.code_on_line = true;
			skip_quoted(&reader);
		} else {
			if (!isspace((unsigned char)c)) {
				/* Code behind a comment on its line. */
				if (reader.open_alone && ret_comments->count)
					ret_comments->at[ret_comments->count - 1].alone = false;
				reader.open_alone = false;
				reader.code_on_line = true;
			}
			reader.at++;
		}
	}
}
