/* Private copies of a source tree.
 *
 * The snapshot is a real copy, taken once: later edits of the user's don't disturb a run, and nothing that is compiled
 * can write to the user's files. A clone is a farm of real folders whose files are hard links into the snapshot, so it
 * costs no data; files that a candidate changes are replaced there by real ones. (Folders must be real, since
 * `#include "../x.h"` is resolved from the folder; and links hard, since a compiler that resolves a symbolic link would
 * take the neighbours of the original. Where the file system has no hard links, symbolic ones serve.)
 *
 * Left out: .git, .hg, .svn, .bzr; objects, libraries and profiles (*.o *.a *.so *.lo *.la *.ko *.gcda *.gcno); files
 * above 64 MiB; sockets and the like. Symbolic links that stay inside the tree stay links; a link to a file outside is
 * copied, one to a folder outside still leads there.
 */
#ifndef ASSAY_PORT_TREE_H
#define ASSAY_PORT_TREE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct tree_stats {
	unsigned files, folders, links;
	uint64_t size_bytes;
	struct string_list problems; /* one sentence each: what could not be copied; at most 20 */
	unsigned more_problems;
};

/* Copies `from` to `to`, which must not exist. A file that can't be read becomes a problem and the rest goes on.
 * `skip` (absolute, or NULL) is a folder that is left out: the working folder, when it lies inside. ST_SYSTEM: the copy
 * can't be made at all (no space, no rights). */
MUST_CHECK enum status tree_snapshot(struct arena *arena, const char *from, const char *to, const char *skip,
                                     struct tree_stats *ret_stats, struct err *err);
/* A full copy of a snapshot or clone that a build may write to: files can be written by their owner, and sources are newer
 * than whatever was made of them before. Errors as above. */
MUST_CHECK enum status tree_copy(struct arena *arena, const char *from, const char *to, struct err *err);
/* Adds up the sizes of its regular files, at most until `enough_bytes` are reached. False: it can't be read. */
bool tree_measure(const char *tree, uint64_t enough_bytes, uint64_t *ret_size_bytes);
/* Makes the farm `to` over the snapshot `from`; both absolute. */
MUST_CHECK enum status tree_clone(const char *from, const char *to, struct err *err);
/* Replaces (or creates, with its folders) the file `path` (relative) of a clone by a real one with this text; NULL
 * removes it. The mode and the time stamp are the old file's, so that __TIMESTAMP__ stays what it was. ST_INPUT: the
 * path leaves the clone through a link. */
MUST_CHECK enum status tree_put(struct arena *arena, const char *clone, const char *path, const char *text, size_t size,
                                struct err *err);
/* Is `path` (relative) the same file in the snapshot and in the clone? Both missing counts as the same. */
bool tree_same(struct arena *arena, const char *snapshot, const char *clone, const char *path);
/* What the path leads to, symbolic links followed; false also when it can't be asked. */
bool path_is_file(const char *path);
bool path_is_folder(const char *path);
/* A folder of the user's: what the environment variable names ("XDG_STATE_HOME"), else `below_home` (".local/state") in the
 * home folder. The XDG specification has a relative path ignored. NULL: no home folder is known. */
const char *user_folder(struct arena *arena, const char *variable, const char *below_home);
/* Writes a whole file. */
MUST_CHECK enum status file_write(const char *path, const char *text, size_t size, struct err *err);
/* A whole file, 0-terminated. */
MUST_CHECK enum status file_read(struct arena *arena, const char *path, const char **ret_text, size_t *ret_size,
                                 struct err *err);
/* Removes a folder and everything in it; never follows a link. Missing: nothing to do. */
MUST_CHECK enum status tree_remove(const char *path, struct err *err);
/* "mkdir -p". */
MUST_CHECK enum status folder_make(const char *path, struct err *err);

#endif
