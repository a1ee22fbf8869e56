/* intent: does a comment beside the changed lines, or the commit that brought them, say that it is deliberate?
 *
 * A short list of strict phrases: a comment that merely describes, or that states a contract ("must not be NULL"), is
 * no decision. What is missed here only costs a measurement; what is wrongly found would hide a finding.
 */
#include "base/text.h"
#include "port/history.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES_ABOVE = 6, LINES_BELOW = 1 };

struct line_range {
	unsigned first, last; /* lines of the old file; `first` is one more than `last` for a pure insertion after it */
};
LIST_OF(struct line_range, line_range_list);

struct changed_file {
	const char *path;
	struct line_range_list changes;
};
LIST_OF(struct changed_file, changed_file_list);

/* ---- the diff --------------------------------------------------------------------------------------------------- */

/* "a/lib/x.c\t2026-…" to "lib/x.c". */
static const char *diff_path(struct arena *arena, const char *text)
{
	const char *path = arena_strndup(arena, text, strcspn(text, "\t\r\n"));
	return text_starts(path, "a/") ? path + 2 : path;
}

static struct changed_file_list diff_read(struct arena *arena, const char *diff)
{
	struct changed_file_list files = {0};
	struct changed_file *file = NULL;
	unsigned line = 0, old_left = 0, new_left = 0;
	for (const char *at = diff; *at;) {
		const char *next = strchr(at, '\n');
		next = next ? next + 1 : at + strlen(at);
		if (old_left || new_left) {
			if (*at == '-' || *at == '+') {
				/* Lines that follow one another are one change. */
				struct line_range *last = file && file->changes.count ? &file->changes.at[file->changes.count - 1] : NULL;
				unsigned first = line, end = *at == '-' ? line : line - 1;
				if (last && last->last + 1 >= first && last->first <= first) {
					if (end > last->last)
						last->last = end;
				} else if (file) {
					list_push(arena, &file->changes, ((struct line_range){first, end}));
				}
			}
			if (*at != '+' && *at != '\\' && old_left) {
				old_left--;
				line++;
			}
			if (*at != '-' && *at != '\\' && new_left)
				new_left--;
		} else if (text_starts(at, "--- ")) {
			list_push(arena, &files, ((struct changed_file){.path = diff_path(arena, at + 4)}));
			file = &files.at[files.count - 1];
		} else if (file && text_starts(at, "@@ -")) {
			unsigned start = 0, old_count = 1, new_start = 0, new_count = 1;
			if (sscanf(at, "@@ -%u,%u +%u,%u", &start, &old_count, &new_start, &new_count) < 4) {
				new_count = 1;
				if (sscanf(at, "@@ -%u,%u +%u", &start, &old_count, &new_start) < 3) {
					old_count = new_count = 1;
					if (sscanf(at, "@@ -%u +%u,%u", &start, &new_start, &new_count) < 2)
						old_count = new_count = 0;
				}
			}
			line = old_count ? start : start + 1;
			old_left = old_count;
			new_left = new_count;
		}
		at = next;
	}
	return files;
}

/* ---- the comments of a file --------------------------------------------------------------------------------------- */

struct comment {
	unsigned first, last;    /* lines */
	const char *at, *end;    /* in the file's text */
};
LIST_OF(struct comment, comment_list);

struct place {
	const char *text;
	size_t size;
	struct comment_list comments;
	const char **lines; /* start of each line, from [1] */
	unsigned count;
};

/* Neighbouring `//` lines are one comment, so that a phrase may run over them. */
static void comment_add(struct arena *arena, struct place *place, struct comment comment)
{
	struct comment *last = place->comments.count ? &place->comments.at[place->comments.count - 1] : NULL;
	bool line_comment = comment.at[1] == '/';
	if (last && line_comment && last->at[1] == '/' && last->last + 1 == comment.first) {
		const char *at = comment.at;
		while (at > place->text && (at[-1] == ' ' || at[-1] == '\t'))
			at--;
		if (at == place->text || at[-1] == '\n') {
			last->last = comment.last;
			last->end = comment.end;
			return;
		}
	}
	list_push(arena, &place->comments, comment);
}

static bool place_read(struct arena *arena, const char *path, struct place *place)
{
	struct err ignored = ERR_INIT; /* what can't be read has no comment that decides */
	*place = (struct place){0};
	if (file_read(arena, path, &place->text, &place->size, &ignored) != ST_OK)
		return false;
	const char *end = place->text + place->size;
	place->count = 1;
	for (const char *at = place->text; at < end; at++)
		place->count += *at == '\n';
	place->lines = arena_alloc(arena, (place->count + 2) * sizeof *place->lines);
	unsigned line = 1;
	place->lines[1] = place->text;
	for (const char *at = place->text; at < end; at++)
		if (*at == '\n')
			place->lines[++line] = at + 1;
	place->lines[place->count + 1] = end;
	line = 1;
	for (const char *at = place->text; at < end;) {
		if (*at == '"' || *at == '\'') {
			char quote = *at++;
			while (at < end && *at != quote && *at != '\n')
				at += *at == '\\' && at + 1 < end && at[1] != '\n' ? 2 : 1;
			at += at < end && *at == quote;
			continue;
		}
		if (at[0] == '/' && (at[1] == '*' || at[1] == '/')) {
			struct comment comment = {.first = line, .at = at};
			bool block = at[1] == '*';
			at += 2;
			while (at < end && !(block ? at[0] == '*' && at[1] == '/' : at[0] == '\n')) {
				line += *at == '\n';
				at++;
			}
			if (block && at < end)
				at += 2;
			comment.end = at;
			comment.last = line;
			comment_add(arena, place, comment);
			continue;
		}
		line += *at++ == '\n';
	}
	return true;
}

/* ---- the phrases ------------------------------------------------------------------------------------------------- */

struct word {
	const char *text; /* lower case */
	const char *at;   /* in the file */
	bool sentence_end; /* a full stop, or a colon, stands behind it */
};
LIST_OF(struct word, word_list);

static struct word_list words_of(struct arena *arena, const struct comment *comment)
{
	struct word_list words = {0};
	for (const char *at = comment->at; at < comment->end;) {
		if (!isalnum((unsigned char)*at) && *at != '_') {
			if (words.count && (*at == '.' || *at == ';' || *at == ':' || *at == '!') &&
			    (at + 1 == comment->end || isspace((unsigned char)at[1])))
				words.at[words.count - 1].sentence_end = true;
			at++;
			continue;
		}
		const char *start = at;
		while (at < comment->end && (isalnum((unsigned char)*at) || *at == '_' ||
		                             (*at == '\'' && at + 1 < comment->end && isalpha((unsigned char)at[1]))))
			at++;
		char *text = arena_strndup(arena, start, (size_t)(at - start));
		for (char *c = text; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		list_push(arena, &words, ((struct word){.text = text, .at = start}));
	}
	return words;
}

/* Is `word` one of the names in "|a|b|c|"? */
static bool one_of(const char *word, const char *names)
{
	size_t size = strlen(word);
	for (const char *at = names; (at = strchr(at, '|')) && at[1]; at++)
		if (strncmp(at + 1, word, size) == 0 && at[1 + size] == '|')
			return true;
	return false;
}

static bool word_is(const struct word_list *words, size_t index, const char *names)
{
	return index < words->count && one_of(words->at[index].text, names);
}

/* One of `names` stands among the `reach` words from `index` on, in the same sentence. */
static bool follows(const struct word_list *words, size_t index, size_t reach, const char *names)
{
	for (size_t i = index; i < words->count && i < index + reach; i++) {
		if (one_of(words->at[i].text, names))
			return true;
		if (words->at[i].sentence_end)
			return false;
	}
	return false;
}

/* The sentence around a word speaks of something that is not a matter of speed. */
static bool about_other_things(const struct word_list *words, size_t index)
{
	static const char other[] = "|fall|falls|fallthrough|fallthru|falling|through|blank|empty|ignore|ignored|ignores|ignoring|"
	                            "unused|leak|leaks|leaked|leaking|break|";
	size_t first = index;
	while (first > 0 && !words->at[first - 1].sentence_end)
		first--;
	for (size_t i = first; i < words->count; i++) {
		if (one_of(words->at[i].text, other))
			return true;
		if (words->at[i].sentence_end)
			return false;
	}
	return false;
}

/* What performance changes are about; verbs whose very meaning is one; verbs that need such an object. */
static const char matters[] =
    "|restrict|__restrict|__restrict__|inline|__inline|always_inline|noinline|volatile|likely|unlikely|"
    "prefetch|__builtin_prefetch|__builtin_expect|builtin|padding|alignment|aligned|align|packed|simd|avx|avx2|sse|sse2|neon|"
    "intrinsics|assembler|assembly|asm|memcpy|memmove|strlen|atomics|unroll|unrolling|vectorize|vectorization|branchless|"
    "hoist|hoisting|relaxed|";
static const char speed_verbs[] = "|inline|unroll|vectorize|vectorise|optimize|optimise|hoist|reorder|prefetch|branchless|simplify|"
                                  "inlined|unrolled|vectorized|vectorised|optimized|optimised|hoisted|reordered|simplified|";
static const char object_verbs[] = "|use|add|remove|change|replace|drop|put|make|mark|declare|introduce|apply|enable|convert|move|";

/* The word where a phrase begins that says "deliberate"; words->count: none does. */
static size_t deliberate_word(const struct word_list *words)
{
	for (size_t i = 0; i < words->count; i++) {
		bool refused = i > 0 && word_is(words, i - 1, "|not|isn't|never|non|un|");
		if (word_is(words, i, "|deliberately|deliberate|intentional|intentionally|purposely|purposefully|") && !refused &&
		    !about_other_things(words, i))
			return i;
		if (word_is(words, i, "|on|") && word_is(words, i + 1, "|purpose|") && !refused && !about_other_things(words, i))
			return i;
		size_t verb = 0;
		if (word_is(words, i, "|do|must|should|may|") && word_is(words, i + 1, "|not|"))
			verb = i + 2;
		else if (word_is(words, i, "|don't|mustn't|never|"))
			verb = i + 1;
		if (verb && word_is(words, verb, "|be|"))
			verb++;
		if (verb && !words->at[verb - 1].sentence_end &&
		    (word_is(words, verb, speed_verbs) ||
		     ((word_is(words, verb, object_verbs) || word_is(words, i, "|must|mustn't|")) &&
		      !(verb < words->count && words->at[verb].sentence_end) && follows(words, verb + 1, 6, matters))))
			return i;
		if (word_is(words, i, "|workaround|workarounds|") && word_is(words, i + 1, "|for|"))
			return i;
		if (word_is(words, i, "|work|works|") && word_is(words, i + 1, "|around|") && word_is(words, i + 2, "|a|an|the|"))
			return i;
		if (word_is(words, i, "|keep|kept|leave|left|"))
			for (size_t k = i + 1; k < i + 8 && k + 1 < words->count && !words->at[k - 1].sentence_end; k++)
				if (word_is(words, k, "|as|") && word_is(words, k + 1, "|is|") &&
				    (k + 2 == words->count || words->at[k + 1].sentence_end || word_is(words, k + 2, "|for|because|since|to|")))
					return i;
	}
	return words->count;
}

/* "assay: deliberate P08: reason". 1: names this pattern (or none is known) with a reason; 0: an annotation that says
 * nothing about this change; -1: no annotation. */
static int annotation(const struct comment *comment, const char *pattern, const char **ret_at)
{
	static const char mark[] = "assay: deliberate";
	for (const char *at = comment->at; at + sizeof mark < comment->end; at++) {
		if (memcmp(at, mark, sizeof mark - 1) != 0)
			continue;
		*ret_at = at;
		at += sizeof mark - 1;
		while (at < comment->end && *at == ' ')
			at++;
		size_t size = 0;
		while (at + size < comment->end && isalnum((unsigned char)at[size]))
			size++;
		bool names_it = !pattern || (strlen(pattern) == size && memcmp(pattern, at, size) == 0);
		at += size;
		while (at < comment->end && (*at == ':' || *at == ' '))
			at++;
		return names_it && size && at < comment->end && isalnum((unsigned char)*at);
	}
	return -1;
}

/* ---- beside a change ----------------------------------------------------------------------------------------------- */

/* A function ends between the two lines: what stands on the other side speaks of something else. */
static bool function_ends(const struct place *place, unsigned from, unsigned to)
{
	for (unsigned line = from; line <= to && line <= place->count; line++)
		if (place->lines[line][0] == '}')
			return true;
	return false;
}

static bool is_beside(const struct place *place, const struct comment *comment, const struct line_range *change)
{
	if (comment->last < change->first)
		return change->first - comment->last <= LINES_ABOVE &&
		       !function_ends(place, comment->last + 1, change->first - 1);
	if (comment->first > change->last)
		return comment->first - change->last <= LINES_BELOW && !function_ends(place, change->last + 1, comment->first);
	return true;
}

/* `lz4.c:130: "Deliberately not restrict: the callers overlap"` */
static const char *quote(struct arena *arena, const char *file, const struct place *place, const char *at)
{
	unsigned line = 1;
	while (line < place->count && place->lines[line + 1] <= at)
		line++;
	const char *start = place->lines[line], *end = place->lines[line + 1];
	const char *comment = start;
	/* Code may stand before a comment on the same line. */
	for (const char *c = start; c < at && comment == start; c++)
		if (c[0] == '/' && (c[1] == '*' || c[1] == '/'))
			comment = c;
	while (comment < end && (isspace((unsigned char)*comment) || *comment == '*' || *comment == '/'))
		comment++;
	const char *close = comment;
	while (close + 1 < end && !(close[0] == '*' && close[1] == '/'))
		close++;
	if (close + 1 >= end)
		close = end;
	while (close > comment && (isspace((unsigned char)close[-1]) || close[-1] == '*'))
		close--;
	return arena_printf(arena, "%s:%u: \"%.*s\"", file, line, (int)(close - comment), comment);
}

/* ---- in the history ------------------------------------------------------------------------------------------------ */

/* A commit of many files speaks of none of them in particular. */
enum { COMMIT_FILES_MOST = 4 };

static const char *origin_text(struct arena *arena, const struct origin *origin)
{
	return arena_printf(arena, "commit %s of %s, \"%.*s\"", origin->commit, origin->date, (int)strcspn(origin->message, "\r\n"),
	                    origin->message);
}

/* A phrase of the message that says "deliberate". */
static bool message_decides(struct arena *scratch, const struct origin *origin)
{
	if (origin->files == 0 || origin->files > COMMIT_FILES_MOST)
		return false;
	struct comment message = {.at = origin->message, .end = origin->message + strlen(origin->message)};
	struct word_list words = words_of(scratch, &message);
	return deliberate_word(&words) < words.count;
}

/* The newest commit among the changed lines; a pure insertion asks for the lines around it. */
static void history_find(struct session *session, struct arena *scratch, const struct changed_file_list *files,
                         const char **ret_reason, const char **ret_history)
{
	struct arena *arena = &session->arena;
	struct origin newest = {0};
	for (size_t f = 0; f < files->count && !newest.commit; f++) {
		const struct changed_file *file = &files->at[f];
		if (file->changes.count == 0)
			continue;
		unsigned first = file->changes.at[0].first, last = file->changes.at[file->changes.count - 1].last;
		history_origin(scratch, session->project.tree, file->path, first > last ? last : first, first > last ? first : last, &newest);
	}
	if (!newest.commit) {
		*ret_history = newest.lack ? arena_printf(arena, "no history: %s", newest.lack) : NULL;
		return;
	}
	*ret_history = origin_text(arena, &newest);
	if (message_decides(scratch, &newest))
		*ret_reason = *ret_history;
}

enum status intent_find(struct session *session, const struct hypothesis *hypothesis, const char **ret_reason,
                        const char **ret_history, struct err *err)
{
	*ret_reason = NULL;
	*ret_history = NULL;
	if (hypothesis->kind != CANDIDATE_PATCH || !hypothesis->text)
		return ST_OK;
	if (*session->interrupted)
		return err_set(err, ST_INTERRUPTED, "interrupted");
	struct arena scratch;
	arena_init(&scratch);
	const char *pattern = hypothesis->finding ? hypothesis->finding->pattern : NULL;
	struct changed_file_list files = diff_read(&scratch, hypothesis->text);
	for (size_t f = 0; f < files.count && !*ret_reason; f++) {
		const struct changed_file *file = &files.at[f];
		struct place place;
		/* A file that the patch adds, or that can't be read: nothing speaks there. */
		if (!place_read(&scratch, path_join(&scratch, session->project.tree, file->path), &place))
			continue;
		for (size_t i = 0; i < place.comments.count && !*ret_reason; i++) {
			const struct comment *comment = &place.comments.at[i];
			bool beside = false;
			for (size_t k = 0; k < file->changes.count; k++)
				beside |= is_beside(&place, comment, &file->changes.at[k]);
			if (!beside)
				continue;
			const char *at = NULL;
			int annotated = annotation(comment, pattern, &at);
			if (annotated < 0) {
				struct word_list words = words_of(&scratch, comment);
				size_t word = deliberate_word(&words);
				at = word < words.count ? words.at[word].at : NULL;
			}
			if (annotated != 0 && at)
				*ret_reason = quote(&session->arena, file->path, &place, at);
		}
	}
	if (!*ret_reason)
		history_find(session, &scratch, &files, ret_reason, ret_history);
	arena_release(&scratch);
	return ST_OK;
}
