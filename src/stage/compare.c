/* compare: do two variants differ at all? First by their preprocessed tokens, then by their machine code.
 *
 * Both answers must be sound in one direction: "equal" is a verdict that ends the ladder, "differ" only means that the
 * next rung is asked. Whatever can't be decided counts as a difference.
 */
#include "base/text.h"
#include "port/ast.h"
#include "port/object.h"
#include "port/object_compare.h"
#include "port/proc.h"
#include "stage/stages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- preprocessed text ------------------------------------------------------------------------------------------ */

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_NUMBER, TOKEN_QUOTED, TOKEN_PUNCTUATOR, TOKEN_DIRECTIVE_END };

struct token {
	enum token_kind kind;
	unsigned line; /* physical line of `file`, by the line markers */
	const char *at;
	size_t size;
	const char *file; /* as the marker spells it, up to the closing quote */
	size_t file_size;
};

struct lexer {
	const char *at, *end;
	unsigned line;
	const char *file;
	size_t file_size;
	bool line_start;   /* only blanks since the last newline */
	bool in_directive; /* a #pragma: its end is part of its meaning */
	bool assembler;    /* lines are statements, and `//` is no comment */
};

static const uint8_t WORD_START = 1, DIGIT = 2, BLANK = 4;
static uint8_t char_class[256];

static void char_class_init(void)
{
	for (int c = 0; c < 256; c++) {
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c >= 0x80 || c == '\\';
		char_class[c] = letter ? WORD_START : c >= '0' && c <= '9' ? DIGIT : 0;
	}
	char_class[' '] = char_class['\t'] = char_class['\r'] = char_class['\v'] = char_class['\f'] = BLANK;
}

static bool is_word(char c)
{
	return char_class[(unsigned char)c] & (WORD_START | DIGIT);
}

/* Reads `# 12 "file" 1 3` or `#line 12 "file"` at the lexer's place; false: it is no line marker. */
static bool lexer_marker(struct lexer *lexer)
{
	const char *at = lexer->at + 1, *end = lexer->end;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	if (end - at > 5 && memcmp(at, "line ", 5) == 0)
		at += 5;
	if (at >= end || !(char_class[(unsigned char)*at] & DIGIT))
		return false;
	unsigned line = 0;
	while (at < end && (char_class[(unsigned char)*at] & DIGIT))
		line = 10 * line + (unsigned)(*at++ - '0');
	while (at < end && *at == ' ')
		at++;
	if (at < end && *at == '"') {
		const char *file = ++at;
		while (at < end && *at != '"' && *at != '\n')
			at += *at == '\\' && at + 1 < end ? 2 : 1;
		if (at > end)
			at = end;
		lexer->file = file;
		lexer->file_size = (size_t)(at - file);
	} else if (lexer->assembler) {
		return false; /* "# 12 apples" is a comment of the assembler */
	}
	while (at < end && *at != '\n')
		at++;
	lexer->at = at < end ? at + 1 : end;
	lexer->line = line;
	lexer->line_start = true;
	return true;
}

/* A string or character constant from its opening quote on; an open one ends with its line. */
static const char *quoted_end(const char *at, const char *end)
{
	char quote = *at++;
	while (at < end && *at != quote && *at != '\n')
		at += *at == '\\' && at + 1 < end ? 2 : 1;
	if (at > end)
		at = end;
	return at < end && *at == quote ? at + 1 : at;
}

/* R"x( … )x" from its opening quote on; NULL: it isn't one. */
static const char *raw_string_end(const char *at, const char *end)
{
	const char *delimiter = at + 1, *open = delimiter;
	while (open < end && open - delimiter <= 16 && *open != '(' && *open != '"' && *open != '\n' && *open != ' ')
		open++;
	if (open >= end || *open != '(')
		return NULL;
	size_t size = (size_t)(open - delimiter);
	for (const char *close = open; close < end; close++)
		if (*close == ')' && (size_t)(end - close) > size + 1 && memcmp(close + 1, delimiter, size) == 0 &&
		    close[1 + size] == '"')
			return close + size + 2;
	return NULL;
}

static size_t punctuator_size(const char *at, const char *end)
{
	static const char *const longest_first[] = {"%:%:", "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=",
	                                            ">=",   "==",  "!=",  "&&",  "||", "*=", "/=", "%=", "+=", "-=",
	                                            "&=",   "^=",  "|=",  "##",  "<:", ":>", "<%", "%>", "%:", "::"};
	for (size_t i = 0; i < sizeof longest_first / sizeof *longest_first; i++) {
		size_t size = strlen(longest_first[i]);
		if ((size_t)(end - at) >= size && at[0] == longest_first[i][0] && memcmp(at, longest_first[i], size) == 0)
			return size;
	}
	return 1;
}

static void lexer_newline(struct lexer *lexer)
{
	lexer->at++;
	lexer->line++;
	lexer->line_start = true;
}

static void lexer_next(struct lexer *lexer, struct token *ret)
{
	const char *end = lexer->end;
	for (;;) {
		const char *at = lexer->at;
		if (at >= end) {
			*ret = (struct token){lexer->in_directive ? TOKEN_DIRECTIVE_END : TOKEN_END, lexer->line, end, 0, lexer->file,
			                      lexer->file_size};
			lexer->in_directive = false;
			return;
		}
		uint8_t class = char_class[(unsigned char)*at];
		if (class & BLANK) {
			lexer->at++;
			continue;
		}
		if (*at == '\n') {
			if (lexer->in_directive || (lexer->assembler && !lexer->line_start)) {
				*ret = (struct token){TOKEN_DIRECTIVE_END, lexer->line, at, 0, lexer->file, lexer->file_size};
				lexer->in_directive = false;
				lexer->line_start = true;
				return;
			}
			lexer_newline(lexer);
			continue;
		}
		if (*at == '\\' && at + 1 < end && at[1] == '\n') {
			lexer->at += 2;
			lexer->line++;
			continue;
		}
		if (!lexer->assembler && *at == '/' && at + 1 < end && at[1] == '*') {
			for (at += 2; at < end && !(*at == '*' && at + 1 < end && at[1] == '/'); at++)
				lexer->line += *at == '\n';
			lexer->at = end - at >= 2 ? at + 2 : end;
			continue;
		}
		if (!lexer->assembler && *at == '/' && at + 1 < end && at[1] == '/') {
			while (at < end && *at != '\n')
				at++;
			lexer->at = at;
			continue;
		}
		if (*at == '#' && lexer->line_start) {
			if (lexer_marker(lexer))
				continue;
			lexer->in_directive = true;
		}
		lexer->line_start = false;
		*ret = (struct token){.line = lexer->line, .at = at, .file = lexer->file, .file_size = lexer->file_size};
		if (class & DIGIT || (*at == '.' && at + 1 < end && char_class[(unsigned char)at[1]] & DIGIT)) {
			/* A preprocessing number: 0x1p-3 and 1e+5 are one token. */
			ret->kind = TOKEN_NUMBER;
			for (at++; at < end; at++)
				if (!is_word(*at) && *at != '.' &&
				    !((*at == '+' || *at == '-') && (at[-1] == 'e' || at[-1] == 'E' || at[-1] == 'p' || at[-1] == 'P')))
					break;
		} else if (class & WORD_START) {
			ret->kind = TOKEN_WORD;
			while (at < end && is_word(*at) && !(*at == '\\' && at + 1 < end && at[1] == '\n'))
				at++;
			size_t size = (size_t)(at - ret->at);
			if (at < end && (*at == '"' || *at == '\'') && size <= 3) {
				bool raw = *at == '"' && at[-1] == 'R';
				const char *prefix = ret->at;
				size_t prefix_size = raw ? size - 1 : size;
				bool known = prefix_size == 0 || (prefix_size == 1 && strchr("LuU", prefix[0])) ||
				             (prefix_size == 2 && prefix[0] == 'u' && prefix[1] == '8');
				if (known) {
					const char *raw_end = raw ? raw_string_end(at, end) : NULL;
					at = raw_end ? raw_end : quoted_end(at, end);
					ret->kind = TOKEN_QUOTED;
				}
			}
		} else if (*at == '"' || *at == '\'') {
			ret->kind = TOKEN_QUOTED;
			at = quoted_end(at, end);
		} else {
			ret->kind = TOKEN_PUNCTUATOR;
			at += punctuator_size(at, end);
		}
		ret->size = (size_t)(at - ret->at);
		for (const char *in = ret->at; ret->kind == TOKEN_QUOTED && in < at; in++)
			lexer->line += *in == '\n';
		lexer->at = at;
		return;
	}
}

/* ---- one preprocessed unit -------------------------------------------------------------------------------------- */

struct mapping {
	const char *data;
	size_t size;
};

static void mapping_close(struct mapping *mapping)
{
	if (mapping->data && mapping->size)
		munmap((void *)mapping->data, mapping->size);
	*mapping = (struct mapping){0};
}

static enum status mapping_open(const char *path, struct mapping *ret, struct err *err)
{
	*ret = (struct mapping){0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info;
	if (fd < 0 || fstat(fd, &info) != 0) {
		int code = errno;
		if (fd >= 0)
			close(fd);
		return err_errno(err, code, "can't read %s", path);
	}
	ret->data = "";
	if (info.st_size > 0) {
		void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
		if (data == MAP_FAILED) {
			int code = errno;
			close(fd);
			*ret = (struct mapping){0};
			return err_errno(err, code, "can't read %s", path);
		}
		ret->data = data;
		ret->size = (size_t)info.st_size;
	}
	close(fd);
	return ST_OK;
}

static struct lexer lexer_of(const struct unit *unit, const struct mapping *text)
{
	return (struct lexer){.at = text->data, .end = text->data + text->size, .line = 1, .file = unit->source,
	                      .file_size = strlen(unit->source), .line_start = true,
	                      .assembler = text_ends(unit->source, ".S") || text_ends(unit->source, ".s") ||
	                                   text_ends(unit->source, ".sx")};
}

/* A marker's path for people: relative to the variant's tree when it lies there. */
static const char *token_file(struct arena *arena, const struct variant *variant, const struct unit *unit,
                              const struct token *token)
{
	char *path = arena_strndup(arena, token->file, token->file_size);
	if (path[0] == '<')
		return path;
	if (path[0] != '/' && unit->directory) {
		const char *absolute = path_clean(arena, path_join(arena, unit->directory, path));
		const char *under = path_under(absolute, variant->tree);
		return under ? under : path_clean(arena, path);
	}
	path = path_clean(arena, path);
	const char *under = path_under(path, variant->tree);
	return under ? under : path;
}

/* The lines of one source file, kept while tokens of it are looked up. */
struct source {
	struct arena arena;
	const char *path; /* NULL: none yet */
	const char **lines; /* and one more, the end */
	size_t count;       /* 0: can't be read */
};

static void source_load(struct source *source, const char *path)
{
	arena_release(&source->arena);
	arena_init(&source->arena);
	source->lines = NULL;
	source->count = 0;
	source->path = arena_strdup(&source->arena, path);
	struct mapping text;
	if (mapping_open(path, &text, NULL) != ST_OK)
		return;
	char *copy = arena_strndup(&source->arena, text.data, text.size);
	size_t size = text.size, newlines = 1;
	mapping_close(&text);
	for (size_t i = 0; i < size; i++)
		newlines += copy[i] == '\n';
	source->lines = arena_alloc(&source->arena, (newlines + 1) * sizeof *source->lines);
	source->lines[source->count++] = copy;
	for (size_t i = 0; i < size; i++)
		if (copy[i] == '\n')
			source->lines[source->count++] = copy + i + 1;
	source->lines[source->count] = copy + size;
}

struct side {
	const struct variant *variant;
	const struct unit *unit;
	struct source *source;
};

/* Does the source spell this number itself, where the token stands or on the lines that a call may go on for? Then it
 * is no expanded __LINE__. True when that can't be told. */
static bool line_spells(const struct side *side, const struct token *token)
{
	enum { CALL_LINES = 32 };
	struct arena scratch;
	arena_init(&scratch);
	struct source *source = side->source;
	const char *path = path_join(&scratch, side->variant->tree, token_file(&scratch, side->variant, side->unit, token));
	if (!text_equal(source->path, path))
		source_load(source, path);
	arena_release(&scratch);
	if (token->line == 0 || token->line > source->count)
		return true;
	const char *at = source->lines[token->line - 1];
	size_t last = token->line - 1 + CALL_LINES;
	const char *end = source->lines[last < source->count ? last : source->count];
	for (const char *begin = at; (size_t)(end - at) >= token->size; at++)
		if (memcmp(at, token->at, token->size) == 0 && (at == begin || !is_word(at[-1])) &&
		    (at + token->size == end || !is_word(at[token->size])))
			return true;
	return false;
}

/* A decimal number equal to the line where it stands. */
static bool is_own_line(const struct token *token)
{
	char digits[16];
	int size = snprintf(digits, sizeof digits, "%u", token->line);
	return token->kind == TOKEN_NUMBER && (size_t)size == token->size && memcmp(digits, token->at, token->size) == 0;
}

/* Equal text; or both an expanded __LINE__ whose line moved. */
static bool tokens_equal(const struct side *a_side, const struct token *a, const struct side *b_side,
                         const struct token *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->size == b->size && memcmp(a->at, b->at, a->size) == 0)
		return true;
	return is_own_line(a) && is_own_line(b) && !line_spells(a_side, a) && !line_spells(b_side, b);
}

#define LOOK_AHEAD 64

static const char *tokens_text(struct arena *arena, const struct token *tokens, size_t count)
{
	enum { SHOWN = 8 };
	if (count == 0)
		return "nothing";
	struct string_list words = {0};
	for (size_t i = 0; i < count && i < SHOWN; i++)
		if (tokens[i].kind == TOKEN_END)
			list_push(arena, &words, "the end of the file");
		else if (tokens[i].kind == TOKEN_DIRECTIVE_END)
			list_push(arena, &words, "\\n");
		else
			list_push(arena, &words, arena_strndup(arena, tokens[i].at, tokens[i].size < 60 ? tokens[i].size : 60));
	if (count > SHOWN)
		list_push(arena, &words, "…");
	return arena_printf(arena, "`%s`", text_join(arena, &words, " "));
}

/* "file:line: `these` | `those`", from where the streams part to where they meet again. */
static const char *token_difference_text(struct arena *arena, const struct side sides[2], struct lexer a_lexer,
                                         const struct token *a_first, struct lexer b_lexer, const struct token *b_first)
{
	struct token a[LOOK_AHEAD] = {*a_first}, b[LOOK_AHEAD] = {*b_first};
	size_t a_count = 1, b_count = 1;
	while (a_count < LOOK_AHEAD && a[a_count - 1].kind != TOKEN_END)
		lexer_next(&a_lexer, &a[a_count++]);
	while (b_count < LOOK_AHEAD && b[b_count - 1].kind != TOKEN_END)
		lexer_next(&b_lexer, &b[b_count++]);
	enum { MEETING = 3 };
	size_t a_gap = a_count, b_gap = b_count;
	for (size_t sum = 1; sum < a_count + b_count && a_gap == a_count && b_gap == b_count; sum++)
		for (size_t i = sum < a_count ? sum : a_count - 1; i + 1 > 0 && sum - i < b_count; i--) {
			size_t j = sum - i, same = 0;
			while (same < MEETING && i + same < a_count && j + same < b_count &&
			       tokens_equal(&sides[0], &a[i + same], &sides[1], &b[j + same]) && a[i + same].kind != TOKEN_END)
				same++;
			bool both_end = i + same < a_count && j + same < b_count && a[i + same].kind == TOKEN_END &&
			                b[j + same].kind == TOKEN_END;
			if (same == MEETING || both_end) {
				a_gap = i;
				b_gap = j;
				break;
			}
			if (i == 0)
				break;
		}
	const struct token *place = a_gap ? &a[0] : &b[0];
	const struct side *side = a_gap ? &sides[0] : &sides[1];
	return arena_printf(arena, "%s:%u: %s | %s", token_file(arena, side->variant, side->unit, place), place->line,
	                    tokens_text(arena, a, a_gap), tokens_text(arena, b, b_gap));
}

/* The words of a command that act on code and not on tokens. The private copies' own paths are left out. */
static struct string_list code_flags(struct arena *arena, const struct side *side)
{
	static const char *const by_tokens[] = {"-D", "-U", "-I", "-include", "-imacros", "-isystem", "-iquote", "-idirafter"};
	const struct string_list *argv = &side->unit->argv;
	struct string_list kept = {0};
	for (size_t i = 0; i < argv->count; i++) {
		const char *word = argv->at[i];
		bool skip = false;
		for (size_t k = 0; k < sizeof by_tokens / sizeof *by_tokens && !skip; k++)
			if (text_starts(word, by_tokens[k])) {
				skip = true;
				i += word[strlen(by_tokens[k])] == '\0'; /* its argument is the next word */
			}
		if (skip)
			continue;
		const char *roots[] = {side->variant->place, side->variant->tree};
		for (size_t k = 0; k < 2; k++) {
			size_t size = roots[k] ? strlen(roots[k]) : 0;
			for (const char *at = size > 1 ? strstr(word, roots[k]) : NULL; at; at = strstr(at + 1, roots[k])) {
				size_t before = (size_t)(at - word);
				word = arena_printf(arena, "%.*s…%s", (int)before, word, at + size);
				at = word + before;
			}
		}
		list_push(arena, &kept, word);
	}
	return kept;
}

/* The words of `a` that `b` lacks, counted; "nothing" when there are none. */
static const char *flags_only(struct arena *arena, const struct string_list *a, const struct string_list *b)
{
	struct string_list only = {0};
	bool *used = arena_alloc(arena, b->count * sizeof *used);
	for (size_t i = 0; i < a->count; i++) {
		bool found = false;
		for (size_t k = 0; k < b->count && !found; k++)
			if (!used[k] && text_equal(a->at[i], b->at[k]))
				found = used[k] = true;
		if (!found)
			list_push(arena, &only, a->at[i]);
	}
	return only.count ? arena_printf(arena, "`%s`", text_join(arena, &only, " ")) : "nothing";
}

/* "lz4.c: equal tokens, but other flags: `-O2` | `-O3`", or NULL: the same compiler and flags. */
static const char *flags_difference(struct arena *arena, const struct side sides[2])
{
	struct arena scratch;
	arena_init(&scratch);
	const char *text = NULL;
	struct string_list a = code_flags(&scratch, &sides[0]), b = code_flags(&scratch, &sides[1]);
	/* Compared in order: of two -O the last one counts. */
	if (!text_equal(text_join(&scratch, &a, "\n"), text_join(&scratch, &b, "\n")))
		text = arena_printf(arena, "%s: equal tokens, but another compiler or other flags: %s | %s", sides[0].unit->source,
		                    flags_only(&scratch, &a, &b), flags_only(&scratch, &b, &a));
	arena_release(&scratch);
	return text;
}

static enum status unit_tokens(struct session *session, const struct side sides[2], struct token_difference *difference,
                               struct err *err)
{
	const char *a_path = sides[0].unit->preprocessed, *b_path = sides[1].unit->preprocessed;
	for (int i = 0; i < 2; i++)
		if (!sides[i].unit->preprocessed)
			return err_set(err, ST_INPUT, "%s: the %s is not preprocessed", sides[i].unit->source, sides[i].variant->name);
	struct mapping a_text, b_text = {0};
	enum status status = mapping_open(a_path, &a_text, err);
	if (status == ST_OK && !text_equal(a_path, b_path))
		status = mapping_open(b_path, &b_text, err);
	if (status != ST_OK) {
		mapping_close(&a_text);
		return status;
	}
	bool same_file = text_equal(a_path, b_path);
	struct lexer a = lexer_of(sides[0].unit, &a_text);
	struct lexer b = lexer_of(sides[1].unit, same_file ? &a_text : &b_text);
	bool differ = false;
	for (;;) {
		struct token a_token, b_token;
		lexer_next(&a, &a_token);
		if (!same_file && !differ) {
			lexer_next(&b, &b_token);
			if (!tokens_equal(&sides[0], &a_token, &sides[1], &b_token)) {
				differ = true;
				if (!difference->first)
					difference->first = token_difference_text(&session->arena, sides, a, &a_token, b, &b_token);
			}
		}
		if (a_token.kind == TOKEN_END)
			break;
		difference->tokens += a_token.kind != TOKEN_DIRECTIVE_END;
	}
	if (!differ) {
		const char *flags = flags_difference(&session->arena, sides);
		differ = flags != NULL;
		if (!difference->first)
			difference->first = flags;
	}
	difference->units++;
	difference->units_differing += differ;
	difference->differ |= differ;
	mapping_close(&a_text);
	mapping_close(&b_text);
	return ST_OK;
}

/* ---- pairs of units --------------------------------------------------------------------------------------------- */

/* The candidate's unit for the baseline's unit `index`: at the same place, else by source and turn; NULL: none. */
static const struct unit *unit_partner(const struct variant *from, size_t index, const struct variant *to)
{
	const struct unit *unit = &from->units.at[index];
	if (from->units.count == to->units.count && text_equal(unit->source, to->units.at[index].source))
		return &to->units.at[index];
	size_t turn = 0;
	for (size_t i = 0; i < index; i++)
		turn += text_equal(from->units.at[i].source, unit->source);
	for (size_t i = 0; i < to->units.count; i++)
		if (text_equal(to->units.at[i].source, unit->source) && turn-- == 0)
			return &to->units.at[i];
	return NULL;
}

enum status compare_tokens(struct session *session, const struct variant *baseline, const struct variant *candidate,
                           struct token_difference *ret_difference, struct err *err)
{
	*ret_difference = (struct token_difference){0};
	char_class_init();
	struct source sources[2] = {0};
	arena_init(&sources[0].arena);
	arena_init(&sources[1].arena);
	enum status status = ST_OK;
	for (size_t i = 0; i < baseline->units.count && status == ST_OK; i++) {
		const struct side sides[2] = {{baseline, &baseline->units.at[i], &sources[0]},
		                              {candidate, unit_partner(baseline, i, candidate), &sources[1]}};
		if (*session->interrupted) {
			status = err_set(err, ST_INTERRUPTED, "interrupted");
			break;
		}
		if (!sides[1].unit) {
			ret_difference->differ = true;
			ret_difference->units_differing++;
			if (!ret_difference->first)
				ret_difference->first = arena_printf(&session->arena, "%s: only the baseline compiles it", sides[0].unit->source);
			continue;
		}
		status = unit_tokens(session, sides, ret_difference, err);
	}
	for (size_t i = 0; i < candidate->units.count; i++)
		if (!unit_partner(candidate, i, baseline)) {
			ret_difference->differ = true;
			ret_difference->units_differing++;
			if (!ret_difference->first)
				ret_difference->first = arena_printf(&session->arena, "%s: only the candidate compiles it",
				                                     candidate->units.at[i].source);
		}
	arena_release(&sources[0].arena);
	arena_release(&sources[1].arena);
	return status;
}

/* ---- record layouts ---------------------------------------------------------------------------------------------- */

#define LAYOUTS_TIMEOUT_S 30.0
enum { LAYOUTS_BYTES_MAX = 64 << 20 };

/* The worker's answer: lines "key<tab>size<tab>align{<tab>field<tab>offset<tab>bits}", or "!" and what went wrong. */
static const char *layouts_text(struct arena *arena, const struct side *side)
{
	const struct unit *unit = side->unit;
	if (unit->argv.count == 0)
		return "!it has no compile command";
	const char *source = unit->argv.at[unit->argv.count - 1];
	struct compile_command command = {.directory = unit->directory, .argv = unit->argv,
	                                  .file = path_clean(arena, path_join(arena, unit->directory, source))};
	struct ast_unit *ast = NULL;
	struct err err = ERR_INIT;
	if (ast_parse(&command, side->variant->tree, &ast, &err) != ST_OK)
		return arena_printf(arena, "!%s", err.text);
	struct string_list lines = {0};
	unsigned unnamed = 0;
	for (size_t i = 0; i < ast->layouts.count; i++) {
		const struct ast_layout *layout = &ast->layouts.at[i];
		const char *name = layout->name;
		/* The name of an unnamed record holds its place, which differs from copy to copy. */
		if (strchr(name, '('))
			name = arena_printf(arena, "unnamed record %u", ++unnamed);
		struct string_list words = {0};
		list_push(arena, &words, arena_printf(arena, "%s\t%lld\t%lld", name, layout->size, layout->align));
		for (size_t k = 0; k < layout->fields.count; k++)
			list_push(arena, &words, arena_printf(arena, "%s\t%lld\t%lld", layout->fields.at[k].name,
			                                      layout->fields.at[k].offset_bits, layout->fields.at[k].size_bits));
		list_push(arena, &lines, text_join(arena, &words, "\t"));
	}
	const char *text = text_join(arena, &lines, "\n");
	ast_unit_free(ast);
	return text;
}

static int layouts_main(void *context, int in, int out)
{
	(void)in;
	struct arena arena;
	arena_init(&arena);
	const char *text = layouts_text(&arena, context);
	uint64_t size = strlen(text);
	const char *parts[2] = {(const char *)&size, text};
	size_t sizes[2] = {sizeof size, (size_t)size};
	for (int i = 0; i < 2; i++)
		for (size_t done = 0; done < sizes[i];) {
			ssize_t more = write(out, parts[i] + done, sizes[i] - done);
			if (more < 0 && errno != EINTR)
				return 1;
			done += more > 0 ? (size_t)more : 0;
		}
	arena_release(&arena);
	return 0;
}

static const char *layouts_receive(struct session *session, struct arena *arena, struct proc_child *child,
                                   struct err *err)
{
	uint64_t size = 0;
	char *text = NULL;
	enum status status = proc_receive(child, &size, sizeof size, LAYOUTS_TIMEOUT_S, session->interrupted, err);
	if (status == ST_OK && size > LAYOUTS_BYTES_MAX)
		status = err_set(err, ST_INPUT, "the front end's answer is too long");
	if (status == ST_OK) {
		text = arena_alloc(arena, (size_t)size + 1);
		status = proc_receive(child, text, (size_t)size, LAYOUTS_TIMEOUT_S, session->interrupted, err);
	}
	if (status == ST_OK && text[0] == '!')
		status = err_set(err, ST_INPUT, "%s", text + 1);
	else if (status == ST_INPUT)
		err_context(err, "%s", proc_child_said(arena, child, 1));
	return status == ST_OK ? text : NULL;
}

LIST_OF(struct string_list, record_list); /* of each record its words: name, size, align, fields */

static int record_order(const void *a, const void *b)
{
	const struct string_list *left = a, *right = b;
	return strcmp(left->at[0], right->at[0]);
}

static struct record_list records_of(struct arena *arena, const char *text)
{
	struct record_list records = {0};
	while (*text) {
		size_t size = strcspn(text, "\n");
		struct string_list words = {0};
		for (const char *at = text; at <= text + size;) {
			size_t word = strcspn(at, "\t\n");
			list_push(arena, &words, arena_strndup(arena, at, word));
			at += word + 1;
		}
		list_push(arena, &records, words);
		text += size + (text[size] == '\n');
	}
	if (records.count)
		qsort(records.at, records.count, sizeof *records.at, record_order);
	return records;
}

static bool record_has(const struct string_list *record, const char *field)
{
	for (size_t i = 3; i + 2 < record->count; i += 3)
		if (text_equal(record->at[i], field))
			return true;
	return false;
}

/* "size 24, was 16; b at bit 64, was 32", or NULL. A field that only has a new name is the same field. */
static const char *record_difference(struct arena *arena, const struct string_list *was, const struct string_list *is)
{
	enum { NAME, SIZE, ALIGN, FIELDS, SHOWN = 4 };
	static const char *const names[] = {[SIZE] = "size", [ALIGN] = "alignment"};
	struct string_list what = {0};
	for (size_t i = SIZE; i < FIELDS; i++)
		if (!text_equal(was->at[i], is->at[i]))
			list_push(arena, &what, arena_printf(arena, "%s %s, was %s", names[i], is->at[i], was->at[i]));
	for (size_t i = FIELDS; (i + 2 < was->count || i + 2 < is->count) && what.count < SHOWN; i += 3) {
		if (i + 2 >= was->count)
			list_push(arena, &what, arena_printf(arena, "%s added", is->at[i]));
		else if (i + 2 >= is->count)
			list_push(arena, &what, arena_printf(arena, "%s removed", was->at[i]));
		else if (!text_equal(was->at[i], is->at[i]) && (record_has(was, is->at[i]) || record_has(is, was->at[i])))
			list_push(arena, &what, arena_printf(arena, "%s in the place of %s", is->at[i], was->at[i]));
		else if (!text_equal(was->at[i + 1], is->at[i + 1]))
			list_push(arena, &what, arena_printf(arena, "%s at bit %s, was %s", is->at[i], is->at[i + 1], was->at[i + 1]));
		else if (!text_equal(was->at[i + 2], is->at[i + 2]))
			list_push(arena, &what, arena_printf(arena, "%s of %s bits, was %s", is->at[i], is->at[i + 2], was->at[i + 2]));
	}
	return what.count ? text_join(arena, &what, "; ") : NULL;
}

static void records_compare(struct session *session, const struct unit *unit, struct arena *scratch, const char *was_text,
                            const char *is_text, struct code_difference *difference)
{
	struct record_list was = records_of(scratch, was_text), is = records_of(scratch, is_text);
	for (size_t i = 0, k = 0; i < was.count || k < is.count;) {
		int step = i == was.count ? 1 : k == is.count ? -1 : record_order(&was.at[i], &is.at[k]);
		const char *name = step <= 0 ? was.at[i].at[0] : is.at[k].at[0];
		const char *what = step < 0 ? "removed" : step > 0 ? "added" : record_difference(scratch, &was.at[i], &is.at[k]);
		i += step <= 0;
		k += step >= 0;
		/* A record that comes or goes changes nothing by itself; where it is used, code or data does. */
		if (!what || step != 0)
			continue;
		struct named_change entry = {unit->source, arena_strdup(&session->arena, name), arena_strdup(&session->arena, what)};
		list_push(&session->arena, &difference->records, entry);
		difference->differ = true;
	}
}

/* The records of both sides, each read by the front end in a process of its own. What can't be read becomes a note. */
static enum status unit_records(struct session *session, struct side sides[2], struct code_difference *difference,
                                struct err *err)
{
	struct proc_child children[2];
	bool started[2] = {false, false};
	const char *texts[2] = {NULL, NULL};
	struct arena scratch;
	arena_init(&scratch);
	enum status status = ST_OK;
	struct err front_end = ERR_INIT;
	for (int i = 0; i < 2 && status == ST_OK; i++) {
		status = proc_fork(layouts_main, &sides[i], AST_WORKER_MEMORY_BYTES, &children[i], err);
		started[i] = status == ST_OK;
	}
	for (int i = 0; i < 2 && status == ST_OK; i++)
		texts[i] = layouts_receive(session, &scratch, &children[i], &front_end);
	for (int i = 0; i < 2; i++)
		if (started[i])
			proc_child_end(&children[i]);
	if (status == ST_OK && front_end.code == ST_INTERRUPTED)
		status = err_set(err, ST_INTERRUPTED, "%s", front_end.text);
	else if (status == ST_OK && texts[0] && texts[1])
		records_compare(session, sides[0].unit, &scratch, texts[0], texts[1], difference);
	else if (status == ST_OK)
		session_note(session, sides[0].unit->source, "record layouts are not compared: %s", front_end.text);
	arena_release(&scratch);
	return status;
}

/* ---- machine code ------------------------------------------------------------------------------------------------ */

static enum status unit_code(struct session *session, const struct unit *baseline, const struct unit *candidate,
                             struct code_difference *difference, struct err *err)
{
	if (!baseline->object || !candidate->object)
		return err_set(err, ST_INPUT, "%s: the %s is not compiled", baseline->source,
		               baseline->object ? "candidate" : "baseline");
	difference->units++;
	if (text_equal(baseline->object, candidate->object))
		return ST_OK;
	struct object *was = NULL, *is = NULL;
	enum status status = object_open(baseline->object, &was, err);
	if (status == ST_OK)
		status = object_open(candidate->object, &is, err);
	if (status == ST_OK)
		object_compare(was, is, baseline->source, false, &session->arena, difference);
	else
		err_context(err, "%s", baseline->source);
	object_free(was);
	object_free(is);
	return status;
}

/* Records can only differ where tokens or flags do; a unit that was never preprocessed is asked for both. */
static enum status unit_records_if_needed(struct session *session, struct side sides[2],
                                          struct code_difference *difference, struct err *err)
{
	if (text_equal(sides[0].unit->object, sides[1].unit->object))
		return ST_OK;
	if (sides[0].unit->preprocessed && sides[1].unit->preprocessed) {
		struct token_difference tokens = {0};
		enum status status = unit_tokens(session, sides, &tokens, err);
		if (status != ST_OK || !tokens.differ)
			return status;
	}
	return unit_records(session, sides, difference, err);
}

static void unit_missing(struct session *session, const struct unit *unit, const char *what,
                         struct code_difference *difference)
{
	list_push(&session->arena, &difference->data, ((struct named_change){unit->source, unit->source, what}));
	difference->differ = true;
}

enum status compare_code(struct session *session, const struct variant *baseline, const struct variant *candidate,
                         struct code_difference *ret_difference, struct err *err)
{
	*ret_difference = (struct code_difference){0};
	char_class_init();
	struct source sources[2] = {0};
	enum status status = ST_OK;
	for (size_t i = 0; i < baseline->units.count && status == ST_OK; i++) {
		const struct unit *unit = &baseline->units.at[i], *partner = unit_partner(baseline, i, candidate);
		if (*session->interrupted) {
			status = err_set(err, ST_INTERRUPTED, "interrupted");
			break;
		}
		if (!partner) {
			unit_missing(session, unit, "only the baseline compiles it", ret_difference);
			continue;
		}
		struct side sides[2] = {{baseline, unit, &sources[0]}, {candidate, partner, &sources[1]}};
		status = unit_code(session, unit, partner, ret_difference, err);
		if (status == ST_OK)
			status = unit_records_if_needed(session, sides, ret_difference, err);
	}
	arena_release(&sources[0].arena);
	arena_release(&sources[1].arena);
	for (size_t i = 0; i < candidate->units.count; i++)
		if (!unit_partner(candidate, i, baseline))
			unit_missing(session, &candidate->units.at[i], "only the candidate compiles it", ret_difference);
	return status;
}
