/* Unified diffs: read, applied, made. patch.c is the only file that includes <git2.h>.
 *
 * Understood: what `git diff`, `git format-patch` and `diff -u` write, with a/ b/ prefixes, other first folders
 * (diff -ru old new) or none; new and deleted files. Refused with one sentence: renames without content, binary
 * changes, combined diffs, paths that leave the tree. Mode changes are ignored.
 */
#ifndef ASSAY_PORT_PATCH_H
#define ASSAY_PORT_PATCH_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

struct patch_hunk {
	unsigned old_line, old_lines, new_line, new_lines; /* lines count from 1 */
	unsigned patch_line;                               /* of its @@ in the patch's text */
	const char *body;                                  /* the lines below its @@ */
};
LIST_OF(struct patch_hunk, patch_hunk_list);

struct patch_file {
	const char *path; /* relative to the tree, clean */
	bool created, deleted;
	struct patch_hunk_list hunks;
};
LIST_OF(struct patch_file, patch_file_list);

struct patch {
	struct patch_file_list files;
};

/* `tree` (absolute, or NULL) settles whether a first folder other than a/ and b/ belongs to the path. ST_INPUT: one
 * sentence with the patch's line, without the patch's name. A patch that changes nothing is an error too. */
MUST_CHECK enum status patch_parse(struct arena *arena, const char *text, size_t size, const char *tree,
                                   struct patch *ret_patch, struct err *err);

/* The patch in git's form, a/ and b/ before every path. */
const char *patch_text(struct arena *arena, const struct patch *patch);

/* A file after the patch. */
struct patched {
	const char *path;
	const char *text; /* NULL: deleted */
	size_t size;
};
LIST_OF(struct patched, patched_list);

/* Applies to the files under `tree`, which is only read. Hunks may have moved, their context may not differ.
 * ST_INPUT: a hunk does not apply or a file isn't there; the sentence names file, hunk and line. */
MUST_CHECK enum status patch_apply(struct arena *arena, const struct patch *patch, const char *tree,
                                   struct patched_list *ret_patched, struct err *err);

/* Whether the tree has everything that the patch would bring: its reverse applies. */
bool patch_is_in(struct arena *arena, const struct patch *patch, const char *tree);

/* Appends to `*diff` (NULL at first) the unified diff of one file, three lines of context, a/ and b/ prefixes. A text of
 * NULL: the file is created or deleted. Equal texts append nothing. */
MUST_CHECK enum status patch_make(struct arena *arena, const char *path, const char *old_text, size_t old_size,
                                  const char *new_text, size_t new_size, const char **diff, struct err *err);

#endif
