/* The history of a tree: what of it changed since a revision. Read only, by libgit2, without a shell and without running
 * anything of the repository. */
#ifndef ASSAY_PORT_HISTORY_H
#define ASSAY_PORT_HISTORY_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

/* Lines of a file as it stands now that are new or other than they were. A deletion is the line that it stood before. */
struct changed_lines {
	const char *file;     /* relative to the tree */
	unsigned first, last; /* from 1; UINT_MAX: to the end */
};
LIST_OF(struct changed_lines, changed_list);

/* The working tree as it stands, files that git does not know yet included, against the revision (anything that
 * `git rev-parse` takes). `tree` may be a folder inside a repository. ST_USAGE: no such revision. ST_INPUT: the tree
 * belongs to no repository, or it can't be read. */
MUST_CHECK enum status history_changed_since(struct arena *arena, const char *tree, const char *revision,
                                             struct changed_list *ret_changes, struct err *err);

/* Two revisions of a tree. */
struct revisions {
	const char *from, *to; /* their ids, 12 digits */
	const char *diff;      /* unified, a/ and b/ before paths that are relative to the tree */
	struct string_list problems; /* one sentence each: what could not be written */
};
/* Writes the tree as it was at `from` to `folder`, which must not exist, and reads how `to` differs. Submodules and filters
 * (line ends, large files) are not followed. Errors as above; ST_SYSTEM: it can't be written. */
MUST_CHECK enum status history_revisions(struct arena *arena, const char *tree, const char *from, const char *to,
                                         const char *folder, struct revisions *ret_revisions, struct err *err);

/* The commit that lines come from. */
struct origin {
	const char *commit;  /* its id, 12 digits; NULL: not known, see `lack` */
	const char *date;    /* of its author, "2019-03-02" */
	const char *message; /* whole; its first line is the subject */
	unsigned files;      /* that it changed; 0: it is the first commit, or a merge */
	const char *lack;    /* one clause: "the tree is in no git repository" */
};
/* The newest commit that lines of a file (relative to the tree, as it stands now) come from, by `git blame`. Lines that are
 * in no commit yet are passed over. Having no history is no error: `lack` says so. */
void history_origin(struct arena *arena, const char *tree, const char *file, unsigned first, unsigned last,
                    struct origin *ret_origin);

/* Does the line itself, or the function around it, hold something that changed? `text`: the file as it is now; functions
 * are found as `git diff --function-context` finds them: from a line that begins with a letter to one that begins with
 * a brace. */
bool history_touches(const struct changed_list *changes, const char *file, const char *text, unsigned line);

#endif
