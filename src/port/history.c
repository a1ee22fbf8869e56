#include "port/history.h"

#include "base/text.h"

#include <ctype.h>
#include <git2.h>
#include <limits.h>
#include <stdlib.h>

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

enum status history_changed_since(struct arena *arena, const char *tree, const char *revision,
                                  struct changed_list *ret_changes, struct err *err)
{
	*ret_changes = (struct changed_list){0};
	git_repository *repository = NULL;
	git_libgit2_init();
	enum status status = ST_OK;
	char *real = realpath(tree, NULL);
	if (!real || git_repository_open_ext(&repository, real, 0, NULL) != 0)
		status = err_set(err, ST_INPUT, "%s is in no git repository that can be read: %s", tree, said());
	const char *root = status == ST_OK ? git_repository_workdir(repository) : NULL;
	if (status == ST_OK && !root)
		status = err_set(err, ST_INPUT, "the git repository of %s has no working tree", tree);
	if (status == ST_OK) {
		const char *below = path_under(real, path_clean(arena, root));
		struct collecting collecting = {.arena = arena, .changes = ret_changes,
		                                .prefix = !below || strcmp(below, ".") == 0 ? "" : arena_printf(arena, "%s/", below)};
		status = diff_read(&collecting, repository, revision, err);
	}
	free(real);
	git_repository_free(repository);
	git_libgit2_shutdown();
	return status;
}

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
