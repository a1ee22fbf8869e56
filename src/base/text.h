/* Text and paths: small pure helpers. Results live in the arena that is given. */
#ifndef ASSAY_BASE_TEXT_H
#define ASSAY_BASE_TEXT_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
bool text_equal(const char *a, const char *b); /* NULL equals only NULL */
/* Lists end with NULL. */
bool text_is_one_of(const char *text, const char *const *list);
bool text_starts_with_one_of(const char *text, const char *const *prefixes);

/* "dir/name", or `name` alone when it is absolute or `dir` is NULL or empty. */
char *path_join(struct arena *arena, const char *dir, const char *name);
/* Lexical clean-up of "a/./b//../c" to "a/c"; symbolic links are not looked at. */
char *path_clean(struct arena *arena, const char *path);
/* `path` relative to `root` when it lies under it (both absolute and clean), else NULL. "." for the root itself. */
const char *path_under(const char *path, const char *root);
char *path_dir(struct arena *arena, const char *path); /* "." when there is no slash */
const char *path_base(const char *path);

/* One word for a POSIX shell, quoted only when it needs to be. */
char *shell_quote(struct arena *arena, const char *word);
/* Words as a POSIX shell splits them: quotes and backslashes, no expansion. False: a quote is left open. */
bool shell_split(struct arena *arena, const char *text, struct string_list *ret_words);
char *text_join(struct arena *arena, const struct string_list *words, const char *separator);
/* The last `lines` lines of `text`, without a trailing newline. */
char *text_tail(struct arena *arena, const char *text, size_t lines);

bool text_is_word(char c); /* what a C name is made of: ASCII letters, digits, _ */
/* Length of the valid UTF-8 sequence at `at`, 0 when there is none (RFC 3629: no overlong forms, no surrogates). */
size_t utf8_sequence(const char *at);
/* `text` itself when it is UTF-8, else a copy with U+FFFD for every wrong byte. */
const char *utf8_clean(struct arena *arena, const char *text);

/* FNV-1a, 64 bits: names and small keys, not for data that an adversary chooses. */
unsigned long long text_hash(const void *data, size_t size, unsigned long long seed);
#define TEXT_HASH_SEED 14695981039346656037ull

/* A plain decimal number without sign and exponent, at the beginning of `text`; `ret_rest` is what follows it. */
bool decimal_parse(const char *text, double *ret_value, const char **ret_rest);
/* "60s", "2m", "1h", "500ms" -> seconds. */
bool duration_parse(const char *text, double *ret_seconds);

#endif
