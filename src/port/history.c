#include "port/history.h"

#include "base/text.h"
#include "port/tree.h"

#include <ctype.h>
#include <git2.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct collecting {
	struct arena *arena;
	const char *prefix; /* of the tree inside the repository, with '/' at its end; "" for the whole of it */
	struct changed_list *changes;
};

static void add(struct collecting *collecting, const char *path, unsigned first, unsigned last)
{
	if (!path || !text_starts(path, collecting->prefix))
		return;
	struct changed_lines lines = {.file = arena_strdup(collecting->arena, path + strlen(collecting->prefix)), .first = first,
	                              .last = last};
	list_push(collecting->arena, collecting->changes, lines);
}

static int on_file(const git_diff_delta *delta, float progress, void *context)
{
	(void)progress;
	/* libgit2 shows no hunks of what it does not know, nor of files without text. */
	if (delta->status == GIT_DELTA_UNTRACKED || delta->status == GIT_DELTA_ADDED || (delta->flags & GIT_DIFF_FLAG_BINARY))
		add(context, delta->new_file.path, 1, UINT_MAX);
	return 0;
}

static int on_hunk(const git_diff_delta *delta, const git_diff_hunk *hunk, void *context)
{
	unsigned first = hunk->new_start > 0 ? (unsigned)hunk->new_start : 1;
	/* Nothing new: git names the line above what is gone; the two lines around the gap are what changed. */
	if (hunk->new_lines == 0)
		add(context, delta->new_file.path, first, first + 1);
	else
		add(context, delta->new_file.path, first, first + (unsigned)hunk->new_lines - 1);
	return 0;
}

static const char *said(void)
{
	const git_error *error = git_error_last();
	return error && error->message ? error->message : "no reason given";
}

static enum status diff_read(struct collecting *collecting, git_repository *repository, const char *revision, struct err *err)
{
	git_object *object = NULL, *old_tree = NULL;
	git_diff *diff = NULL;
	git_diff_options options;
	git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
	options.flags = GIT_DIFF_INCLUDE_UNTRACKED | GIT_DIFF_RECURSE_UNTRACKED_DIRS | GIT_DIFF_IGNORE_SUBMODULES;
	options.context_lines = 0;
	enum status status = ST_OK;
	if (git_revparse_single(&object, repository, revision) != 0 || git_object_peel(&old_tree, object, GIT_OBJECT_TREE) != 0)
		status = err_set(err, ST_USAGE, "the repository has no revision '%s' (%s): `git log` lists them, and a shallow clone has "
		                 "only its newest", revision, said());
	else if (git_diff_tree_to_workdir_with_index(&diff, repository, (git_tree *)old_tree, &options) != 0 ||
	         git_diff_find_similar(diff, NULL) != 0 || git_diff_foreach(diff, on_file, NULL, on_hunk, NULL, collecting) != 0)
		status = err_set(err, ST_INPUT, "the changes since %s can't be read: %s", revision, said());
	git_diff_free(diff);
	git_object_free(old_tree);
	git_object_free(object);
	return status;
}

/* The repository of a tree, and where in it the tree lies: "" or a path that ends in '/'. */
static enum status repository_open(struct arena *arena, const char *tree, git_repository **ret_repository,
                                   const char **ret_prefix, struct err *err)
{
	enum status status = ST_OK;
	char *real = realpath(tree, NULL);
	*ret_repository = NULL;
	if (!real || git_repository_open_ext(ret_repository, real, 0, NULL) != 0)
		status = err_set(err, ST_INPUT, "%s is in no git repository that can be read: %s", tree, said());
	const char *root = status == ST_OK ? git_repository_workdir(*ret_repository) : NULL;
	if (status == ST_OK && !root)
		status = err_set(err, ST_INPUT, "the git repository of %s has no working tree", tree);
	if (status == ST_OK) {
		const char *below = path_under(real, path_clean(arena, root));
		*ret_prefix = !below || strcmp(below, ".") == 0 ? "" : arena_printf(arena, "%s/", below);
	}
	free(real);
	return status;
}

enum status history_changed_since(struct arena *arena, const char *tree, const char *revision,
                                  struct changed_list *ret_changes, struct err *err)
{
	*ret_changes = (struct changed_list){0};
	git_repository *repository = NULL;
	struct collecting collecting = {.arena = arena, .changes = ret_changes};
	git_libgit2_init();
	enum status status = repository_open(arena, tree, &repository, &collecting.prefix, err);
	if (status == ST_OK)
		status = diff_read(&collecting, repository, revision, err);
	git_repository_free(repository);
	git_libgit2_shutdown();
	return status;
}

/* ---- where lines come from ------------------------------------------------------------------------------------------ */

static unsigned commit_files(git_repository *repository, git_commit *commit)
{
	git_commit *parent = NULL;
	git_tree *old_tree = NULL, *new_tree = NULL;
	git_diff *diff = NULL;
	size_t files = 0;
	if (git_commit_parentcount(commit) == 1 && git_commit_parent(&parent, commit, 0) == 0 &&
	    git_commit_tree(&old_tree, parent) == 0 && git_commit_tree(&new_tree, commit) == 0 &&
	    git_diff_tree_to_tree(&diff, repository, old_tree, new_tree, NULL) == 0)
		files = git_diff_num_deltas(diff);
	git_diff_free(diff);
	git_tree_free(new_tree);
	git_tree_free(old_tree);
	git_commit_free(parent);
	return (unsigned)files;
}

static const char *date_of(struct arena *arena, const git_time *time)
{
	time_t local = (time_t)(time->time + 60 * time->offset);
	struct tm parts;
	char text[16];
	if (!gmtime_r(&local, &parts) || !strftime(text, sizeof text, "%Y-%m-%d", &parts))
		return "?";
	return arena_strdup(arena, text);
}

static void origin_fill(struct arena *arena, git_repository *repository, git_commit *commit, struct origin *origin)
{
	char id[13];
	git_oid_tostr(id, sizeof id, git_commit_id(commit));
	origin->commit = arena_strdup(arena, id);
	origin->date = date_of(arena, &git_commit_author(commit)->when);
	origin->message = utf8_clean(arena, arena_strdup(arena, git_commit_message(commit) ? git_commit_message(commit) : ""));
	origin->files = commit_files(repository, commit);
}

/* The newest commit of the blamed lines, or NULL. */
static git_commit *newest_of(git_repository *repository, git_blame *blame, unsigned first, unsigned last)
{
	git_commit *newest = NULL;
	for (uint32_t i = 0; i < git_blame_get_hunk_count(blame); i++) {
		const git_blame_hunk *hunk = git_blame_get_hunk_byindex(blame, i);
		size_t start = hunk->final_start_line_number, end = start + hunk->lines_in_hunk - 1;
		git_commit *commit = NULL;
		/* Lines that no commit has yet belong to the commit of zeros. */
		if (end < first || start > last || git_commit_lookup(&commit, repository, &hunk->final_commit_id) != 0)
			continue;
		if (newest && git_commit_time(commit) <= git_commit_time(newest)) {
			git_commit_free(commit);
			continue;
		}
		git_commit_free(newest);
		newest = commit;
	}
	return newest;
}

static const char *origin_find(struct arena *arena, git_repository *repository, const char *tree, const char *file,
                               const char *path, unsigned first, unsigned last, struct origin *origin)
{
	git_blame *committed = NULL, *now = NULL;
	git_commit *commit = NULL;
	const char *text = NULL;
	size_t size = 0;
	struct err unread = ERR_INIT;
	const char *lack = NULL;
	git_blame_options options;
	git_blame_options_init(&options, GIT_BLAME_OPTIONS_VERSION);
	options.flags = GIT_BLAME_FIRST_PARENT;
	if (git_blame_file(&committed, repository, path, &options) != 0)
		lack = arena_printf(arena, "git doesn't know %s", file);
	else if (file_read(arena, path_join(arena, tree, file), &text, &size, &unread) != ST_OK ||
	         git_blame_buffer(&now, committed, text, size) != 0)
		lack = arena_printf(arena, "%s can't be looked up in its history", file);
	else if (!(commit = newest_of(repository, now, first, last)))
		lack = arena_printf(arena, "these lines of %s are in no commit yet", file);
	else
		origin_fill(arena, repository, commit, origin);
	git_commit_free(commit);
	git_blame_free(now);
	git_blame_free(committed);
	return lack;
}

void history_origin(struct arena *arena, const char *tree, const char *file, unsigned first, unsigned last,
                    struct origin *ret_origin)
{
	git_repository *repository = NULL;
	const char *prefix = "";
	struct err none = ERR_INIT;
	*ret_origin = (struct origin){0};
	git_libgit2_init();
	if (repository_open(arena, tree, &repository, &prefix, &none) != ST_OK)
		ret_origin->lack = "the tree is in no git repository";
	else
		ret_origin->lack =
		    origin_find(arena, repository, tree, file, arena_printf(arena, "%s%s", prefix, file), first, last, ret_origin);
	git_repository_free(repository);
	git_libgit2_shutdown();
}

/* ---- two revisions ------------------------------------------------------------------------------------------------- */

static enum status revision_tree(struct arena *arena, git_repository *repository, const char *revision, const char *prefix,
                                 git_tree **ret_tree, const char **ret_id, struct err *err)
{
	git_object *object = NULL, *root = NULL, *part = NULL;
	git_tree_entry *entry = NULL;
	enum status status = ST_OK;
	*ret_tree = NULL;
	if (git_revparse_single(&object, repository, revision) != 0 || git_object_peel(&root, object, GIT_OBJECT_TREE) != 0) {
		status = err_set(err, ST_USAGE, "the repository has no revision '%s' (%s): `git log` lists them, and a shallow clone has "
		                 "only its newest", revision, said());
	} else if (prefix[0]) {
		const char *path = arena_strndup(arena, prefix, strlen(prefix) - 1);
		if (git_tree_entry_bypath(&entry, (git_tree *)root, path) != 0 || git_tree_entry_type(entry) != GIT_OBJECT_TREE ||
		    git_tree_entry_to_object(&part, repository, entry) != 0)
			status = err_set(err, ST_INPUT, "revision %s has no folder %s", revision, path);
		else
			*ret_tree = (git_tree *)part;
	} else {
		*ret_tree = (git_tree *)root;
		root = NULL;
	}
	if (status == ST_OK) {
		git_object *commit = NULL;
		const git_oid *id = git_object_id(git_object_peel(&commit, object, GIT_OBJECT_COMMIT) == 0 ? commit : object);
		char digits[13];
		*ret_id = arena_strdup(arena, git_oid_tostr(digits, sizeof digits, id));
		git_object_free(commit);
	}
	git_tree_entry_free(entry);
	git_object_free(root);
	git_object_free(object);
	return status;
}

struct exporting {
	struct arena *arena;
	git_repository *repository;
	const char *folder;
	struct revisions *revisions;
	enum status status;
	struct err *err;
};

static void export_problem(struct exporting *exporting, const char *path, const char *what)
{
	list_push(exporting->arena, &exporting->revisions->problems,
	          arena_printf(exporting->arena, "%s is left out: %s", path, what));
}

static int export_entry(const char *root, const git_tree_entry *entry, void *context)
{
	struct exporting *exporting = context;
	struct arena scratch;
	arena_init(&scratch);
	const char *name = arena_printf(&scratch, "%s%s", root, git_tree_entry_name(entry));
	const char *path = path_join(&scratch, exporting->folder, name);
	git_blob *blob = NULL;
	git_filemode_t mode = git_tree_entry_filemode(entry);
	if (mode == GIT_FILEMODE_TREE) {
		exporting->status = folder_make(path, exporting->err);
	} else if (mode == GIT_FILEMODE_COMMIT) {
		export_problem(exporting, name, "it is a submodule");
	} else if (git_blob_lookup(&blob, exporting->repository, git_tree_entry_id(entry)) != 0) {
		export_problem(exporting, name, said());
	} else if (mode == GIT_FILEMODE_LINK) {
		const char *target = arena_strndup(&scratch, git_blob_rawcontent(blob), (size_t)git_blob_rawsize(blob));
		if (symlink(target, path) != 0)
			export_problem(exporting, name, "the link can't be made");
	} else {
		exporting->status = file_write(path, git_blob_rawcontent(blob), (size_t)git_blob_rawsize(blob), exporting->err);
		if (exporting->status == ST_OK && mode == GIT_FILEMODE_BLOB_EXECUTABLE)
			chmod(path, 0755);
	}
	git_blob_free(blob);
	arena_release(&scratch);
	return exporting->status == ST_OK ? 0 : -1;
}

enum status history_revisions(struct arena *arena, const char *tree, const char *from, const char *to, const char *folder,
                              struct revisions *ret_revisions, struct err *err)
{
	*ret_revisions = (struct revisions){0};
	git_repository *repository = NULL;
	git_tree *trees[2] = {NULL, NULL};
	git_diff *diff = NULL;
	git_buf text = {0};
	const char *prefix = "";
	git_libgit2_init();
	enum status status = repository_open(arena, tree, &repository, &prefix, err);
	if (status == ST_OK)
		status = revision_tree(arena, repository, from, prefix, &trees[0], &ret_revisions->from, err);
	if (status == ST_OK)
		status = revision_tree(arena, repository, to, prefix, &trees[1], &ret_revisions->to, err);
	if (status == ST_OK)
		status = folder_make(folder, err);
	if (status == ST_OK) {
		struct exporting exporting = {.arena = arena, .repository = repository, .folder = folder,
		                              .revisions = ret_revisions, .err = err};
		if (git_tree_walk(trees[0], GIT_TREEWALK_PRE, export_entry, &exporting) != 0)
			status = exporting.status != ST_OK
			             ? exporting.status
			             : err_set(err, ST_INPUT, "revision %s can't be read: %s", from, said());
	}
	git_diff_options options;
	git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
	options.flags = GIT_DIFF_IGNORE_SUBMODULES;
	/* The user's configuration must not change the prefixes. */
	options.old_prefix = "a";
	options.new_prefix = "b";
	if (status == ST_OK && (git_diff_tree_to_tree(&diff, repository, trees[0], trees[1], &options) != 0 ||
	                        git_diff_to_buf(&text, diff, GIT_DIFF_FORMAT_PATCH) != 0))
		status = err_set(err, ST_INPUT, "the changes from %s to %s can't be read: %s", from, to, said());
	if (status == ST_OK)
		ret_revisions->diff = arena_strndup(arena, text.ptr, text.size);
	git_buf_dispose(&text);
	git_diff_free(diff);
	git_tree_free(trees[0]);
	git_tree_free(trees[1]);
	git_repository_free(repository);
	git_libgit2_shutdown();
	return status;
}

/* ---- what changed around a line --------------------------------------------------------------------------------------- */

static bool overlaps(const struct changed_list *changes, const char *file, unsigned first, unsigned last)
{
	for (size_t i = 0; i < changes->count; i++)
		if (strcmp(changes->at[i].file, file) == 0 && changes->at[i].first <= last && changes->at[i].last >= first)
			return true;
	return false;
}

bool history_touches(const struct changed_list *changes, const char *file, const char *text, unsigned line)
{
	if (overlaps(changes, file, line, line))
		return true;
	unsigned number = 1, begin = 0, above = 0;
	bool letter_above = false;
	for (const char *at = text; *at; number++) {
		bool letter = isalpha((unsigned char)*at) || *at == '_';
		/* A label at the margin, "out:", begins nothing. */
		size_t word = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
		if (letter && at[word] == ':')
			letter = false;
		/* The type on a line of its own belongs to the function below. */
		if (letter && number <= line)
			begin = letter_above ? above : number;
		if (letter && !letter_above)
			above = number;
		letter_above = letter;
		if (*at == '}' && begin) {
			if (number >= line)
				return overlaps(changes, file, begin, number);
			begin = 0;
		}
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return false;
}
