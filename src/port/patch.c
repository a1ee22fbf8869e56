/* libgit2 reads only diffs with git's own header lines, so the text is brought into that form first; counting the lines
 * of each hunk on the way gives the hunks' places and keeps "--- " inside a hunk from being taken for a header. Files
 * are numbered for libgit2: it never sees a path of the patch's. All of it happens in memory: an object database
 * without a folder, so no repository of the user's (or its configuration, filters, attributes) is ever opened. */
#include "port/patch.h"
#include "base/text.h"
#include "port/tree.h"

#include <git2.h>
#include <git2/sys/mempack.h>
#include <git2/sys/odb_backend.h>

#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- growing text ---------------------------------------------------------------------------------------------- */

struct buffer {
	struct arena *arena;
	char *text;
	size_t size, cap;
};

static void buffer_add(struct buffer *buffer, const char *text, size_t size)
{
	if (buffer->size + size + 1 > buffer->cap) {
		size_t cap = 2 * (buffer->size + size + 1);
		buffer->text = arena_grow(buffer->arena, buffer->text, buffer->size, cap);
		buffer->cap = cap;
	}
	memcpy(buffer->text + buffer->size, text, size);
	buffer->size += size;
	buffer->text[buffer->size] = '\0';
}

/* ---- parsing ---------------------------------------------------------------------------------------------------- */

struct cursor {
	struct arena *arena;
	const char *at, *end;
	unsigned line; /* of `at`, from 1 */
	const char *tree;
	struct err *err;
};

/* The line at the cursor, without its end; a '\r' before the end is kept in `size`. */
static size_t line_size(const struct cursor *cursor)
{
	const char *newline = memchr(cursor->at, '\n', (size_t)(cursor->end - cursor->at));
	return (size_t)((newline ? newline : cursor->end) - cursor->at);
}

static bool line_starts(const struct cursor *cursor, const char *prefix)
{
	size_t size = strlen(prefix);
	return (size_t)(cursor->end - cursor->at) >= size && memcmp(cursor->at, prefix, size) == 0;
}

static void line_next(struct cursor *cursor)
{
	cursor->at += line_size(cursor);
	if (cursor->at < cursor->end)
		cursor->at++;
	cursor->line++;
}

__attribute__((format(printf, 2, 3))) static enum status fail(struct cursor *cursor, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	const char *text = arena_vprintf(cursor->arena, fmt, ap);
	va_end(ap);
	return err_set(cursor->err, ST_INPUT, "line %u of the patch: %s", cursor->line, text);
}

/* git quotes unusual paths like C strings. */
static const char *path_unquote(struct arena *arena, const char *text)
{
	size_t size = strlen(text);
	if (size < 2 || text[0] != '"' || text[size - 1] != '"')
		return text;
	char *out = arena_alloc(arena, size);
	size_t used = 0;
	for (const char *at = text + 1; at < text + size - 1; at++) {
		if (*at != '\\') {
			out[used++] = *at;
			continue;
		}
		at++;
		if (*at >= '0' && *at <= '3' && at[1] >= '0' && at[1] <= '7' && at[2] >= '0' && at[2] <= '7') {
			out[used++] = (char)((at[0] - '0') * 64 + (at[1] - '0') * 8 + (at[2] - '0'));
			at += 2;
		} else {
			static const char from[] = "abtnvfr", to[] = "\a\b\t\n\v\f\r";
			const char *known = *at ? strchr(from, *at) : NULL;
			out[used++] = known ? to[known - from] : *at;
		}
	}
	out[used] = '\0';
	return out;
}

/* The path after "--- " or "+++ ", without a time stamp; NULL for /dev/null. */
static const char *header_path(struct cursor *cursor)
{
	size_t size = line_size(cursor);
	while (size && (cursor->at[size - 1] == '\r' || cursor->at[size - 1] == ' '))
		size--;
	const char *text = arena_strndup(cursor->arena, cursor->at + 4, size > 4 ? size - 4 : 0);
	if (text[0] != '"') {
		char *tab = strchr(text, '\t');
		if (tab)
			*tab = '\0';
	}
	text = path_unquote(cursor->arena, text);
	return strcmp(text, "/dev/null") == 0 ? NULL : text;
}

static const char *without_first(const char *path)
{
	const char *slash = path ? strchr(path, '/') : NULL;
	return slash ? slash + 1 : NULL;
}

static bool exists(struct arena *arena, const char *tree, const char *path)
{
	struct stat info;
	return tree && path && path[0] != '/' && lstat(path_join(arena, tree, path), &info) == 0;
}

/* git's prefixes: a/ b/, or i/ w/ c/ o/ with diff.mnemonicPrefix. */
static bool git_prefix(const char *path)
{
	return !path || (path[0] && strchr("abciow", path[0]) && path[1] == '/');
}

/* The path within the tree that both header lines mean; NULL and an error when it can't be used. */
static const char *path_settle(struct cursor *cursor, const char *old_path, const char *new_path)
{
	const char *named = new_path ? new_path : old_path;
	if (!named) {
		fail(cursor, "both sides are /dev/null");
		return NULL;
	}
	const char *path = named;
	const char *shorter = without_first(named);
	bool prefixed = git_prefix(old_path) && git_prefix(new_path) &&
	                !(old_path && new_path && old_path[0] == new_path[0] && exists(cursor->arena, cursor->tree, named));
	bool differ = old_path && new_path && strcmp(old_path, new_path) != 0;
	if (named[0] != '/' && shorter &&
	    (prefixed || differ ||
	     (!exists(cursor->arena, cursor->tree, named) && exists(cursor->arena, cursor->tree, shorter))))
		path = shorter;
	if (differ && path == shorter && strcmp(shorter, without_first(old_path) ? without_first(old_path) : "") != 0) {
		/* diff -u x.c.orig x.c: the patch is for the one that exists. */
		const char *old_shorter = prefixed ? without_first(old_path) : old_path;
		if (prefixed) {
			fail(cursor, "%s is renamed to %s, which can't be tried: write it as a deleted and a new file", old_shorter,
			     shorter);
			return NULL;
		}
		path = exists(cursor->arena, cursor->tree, new_path) || !exists(cursor->arena, cursor->tree, old_path) ? new_path
		                                                                                                       : old_path;
	}
	const char *clean = path_clean(cursor->arena, path);
	bool leaves = path[0] == '/' || strcmp(clean, ".") == 0 || strcmp(clean, "..") == 0 || text_starts(clean, "../");
	for (const char *at = path; !leaves && at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
		leaves = text_equal(at, "..") || text_starts(at, "../") || text_equal(at, ".git") || text_starts(at, ".git/");
	for (const char *at = path; !leaves && *at; at++)
		leaves = (unsigned char)*at < ' ';
	if (leaves || path[0] == '\0') {
		fail(cursor, "the path %s leaves the source tree: paths must be relative to it", path[0] ? path : "(empty)");
		return NULL;
	}
	return clean;
}

static bool number_read(const char **at, unsigned *ret_number)
{
	if (**at < '0' || **at > '9')
		return false;
	unsigned long value = 0;
	for (; **at >= '0' && **at <= '9'; (*at)++)
		if ((value = value * 10 + (unsigned long)(**at - '0')) > 100000000)
			return false;
	*ret_number = (unsigned)value;
	return true;
}

static bool range_read(const char **at, char sign, unsigned *ret_line, unsigned *ret_lines)
{
	*ret_lines = 1;
	if (**at != sign)
		return false;
	++*at;
	if (!number_read(at, ret_line))
		return false;
	if (**at != ',')
		return true;
	++*at;
	return number_read(at, ret_lines);
}

/* One hunk: its @@ line and as many lines as that promises. */
static enum status hunk_parse(struct cursor *cursor, struct patch_file *file)
{
	struct buffer body = {.arena = cursor->arena};
	struct patch_hunk hunk = {.patch_line = cursor->line};
	const char *header = arena_strndup(cursor->arena, cursor->at, line_size(cursor));
	const char *at = header + strlen("@@ ");
	bool good = range_read(&at, '-', &hunk.old_line, &hunk.old_lines) && *at++ == ' ' &&
	            range_read(&at, '+', &hunk.new_line, &hunk.new_lines) && text_starts(at, " @@");
	if (!good)
		return fail(cursor, "not a hunk header: it should look like \"@@ -10,7 +10,8 @@\"");
	line_next(cursor);
	unsigned old_left = hunk.old_lines, new_left = hunk.new_lines;
	bool changes = false;
	while (old_left || new_left) {
		if (cursor->at >= cursor->end)
			return fail(cursor, "the hunk of line %u ends early: its header promises %u more old and %u more new lines",
			            hunk.patch_line, old_left, new_left);
		size_t size = line_size(cursor);
		char kind = size ? cursor->at[0] : ' ';
		bool trimmed = size == 0 || (size == 1 && kind == '\r'); /* an editor removed the blank of an empty line */
		if (trimmed)
			kind = ' ';
		if (!strchr(" +-\\", kind) || (kind == ' ' && !(old_left && new_left)) || (kind == '-' && !old_left) ||
		    (kind == '+' && !new_left))
			return fail(cursor, "the hunk of line %u has other lines than its header says: it promises %u more old and "
			                    "%u more new lines", hunk.patch_line, old_left, new_left);
		if (trimmed)
			buffer_add(&body, " ", 1);
		buffer_add(&body, cursor->at, size);
		buffer_add(&body, "\n", 1);
		old_left -= kind == ' ' || kind == '-';
		new_left -= kind == ' ' || kind == '+';
		changes |= kind == '-' || kind == '+';
		line_next(cursor);
	}
	if (cursor->at < cursor->end && cursor->at[0] == '\\') {
		static const char no_newline[] = "\\ No newline at end of file\n";
		buffer_add(&body, no_newline, strlen(no_newline));
		line_next(cursor);
	}
	if (!changes)
		return fail(cursor, "the hunk of line %u changes nothing", hunk.patch_line);
	hunk.body = body.text;
	list_push(cursor->arena, &file->hunks, hunk);
	return ST_OK;
}

static enum status file_parse(struct cursor *cursor, struct patch *patch)
{
	const char *old_path = header_path(cursor);
	line_next(cursor);
	const char *new_path = header_path(cursor);
	const char *path = path_settle(cursor, old_path, new_path);
	if (!path)
		return cursor->err->code;
	line_next(cursor);
	struct patch_file file = {.path = path, .created = !old_path, .deleted = !new_path};
	for (size_t i = 0; i < patch->files.count; i++)
		if (strcmp(patch->files.at[i].path, path) == 0)
			return fail(cursor, "%s is changed a second time: join the two parts into one", path);
	while (cursor->at < cursor->end && line_starts(cursor, "@@ "))
		if (hunk_parse(cursor, &file))
			return cursor->err->code;
	if (!file.hunks.count)
		return fail(cursor, "%s has no hunk: \"@@ -10,7 +10,8 @@\" is expected here", path);
	/* Some tools write the path in place of /dev/null: the range says it too. */
	const struct patch_hunk *only = &file.hunks.at[0];
	if (file.hunks.count == 1 && only->old_line == 0 && only->old_lines == 0 &&
	    !exists(cursor->arena, cursor->tree, path))
		file.created = true;
	list_push(cursor->arena, &patch->files, file);
	return ST_OK;
}

static const char *numbered_diff(struct arena *arena, const struct patch *patch);

/* libgit2's own word on the text that it will be given. */
static enum status patch_verify(struct arena *arena, const struct patch *patch, struct err *err)
{
	const char *text = numbered_diff(arena, patch);
	git_diff *diff = NULL;
	git_libgit2_init();
	int code = git_diff_from_buffer(&diff, text, strlen(text));
	enum status status = ST_OK;
	if (code < 0) {
		const git_error *why = git_error_last();
		status = err_set(err, ST_INPUT, "the patch can't be read: %s", why ? why->message : "malformed");
	} else if (git_diff_num_deltas(diff) != patch->files.count) {
		status = err_set(err, ST_INPUT, "the patch can't be read: %zu files are named, %zu are understood",
		                 patch->files.count, git_diff_num_deltas(diff));
	}
	git_diff_free(diff);
	git_libgit2_shutdown();
	return status;
}

enum status patch_parse(struct arena *arena, const char *text, size_t size, const char *tree, struct patch *ret_patch,
                        struct err *err)
{
	struct err own = ERR_INIT;
	struct cursor cursor = {
	    .arena = arena, .at = text, .end = text + size, .line = 1, .tree = tree, .err = err ? err : &own};
	*ret_patch = (struct patch){0};
	if (memchr(text, '\0', size))
		return err_set(cursor.err, ST_INPUT, "the patch holds zero bytes: binary changes can't be tried");
	while (cursor.at < cursor.end) {
		if (line_starts(&cursor, "GIT binary patch") || line_starts(&cursor, "Binary files "))
			return fail(&cursor, "binary changes can't be tried");
		if (line_starts(&cursor, "rename from ") || line_starts(&cursor, "copy from "))
			return fail(&cursor, "renames and copies can't be tried: make the patch with git diff --no-renames");
		if (line_starts(&cursor, "@@@ "))
			return fail(&cursor, "a combined diff of a merge can't be tried: make it against one parent");
		if (line_starts(&cursor, "@@ -"))
			return fail(&cursor, "a hunk without the \"---\" and \"+++\" lines of its file");
		struct cursor second = cursor;
		line_next(&second);
		if (line_starts(&cursor, "--- ") && second.at < second.end && line_starts(&second, "+++ ")) {
			if (file_parse(&cursor, ret_patch))
				return cursor.err->code;
		} else {
			line_next(&cursor);
		}
	}
	if (!ret_patch->files.count)
		return err_set(cursor.err, ST_INPUT,
		               "the patch changes no file: a unified diff is expected (git diff, or diff -u old new)");
	return patch_verify(arena, ret_patch, cursor.err);
}

/* ---- as text ----------------------------------------------------------------------------------------------------- */

static void section_write(struct buffer *buffer, const struct patch_file *file, const char *path)
{
	struct arena *arena = buffer->arena;
	const char *head = arena_printf(arena, "diff --git a/%s b/%s\n%s", path, path,
	                                file->created   ? "new file mode 100644\n"
	                                : file->deleted ? "deleted file mode 100644\n"
	                                                : "");
	buffer_add(buffer, head, strlen(head));
	const char *names = arena_printf(arena, "--- %s%s\n+++ %s%s\n", file->created ? "" : "a/",
	                                 file->created ? "/dev/null" : path, file->deleted ? "" : "b/",
	                                 file->deleted ? "/dev/null" : path);
	buffer_add(buffer, names, strlen(names));
	for (size_t i = 0; i < file->hunks.count; i++) {
		const struct patch_hunk *hunk = &file->hunks.at[i];
		const char *numbers = arena_printf(arena, "@@ -%u,%u +%u,%u @@\n", hunk->old_line, hunk->old_lines,
		                                   hunk->new_line, hunk->new_lines);
		buffer_add(buffer, numbers, strlen(numbers));
		buffer_add(buffer, hunk->body, strlen(hunk->body));
	}
}

const char *patch_text(struct arena *arena, const struct patch *patch)
{
	struct buffer buffer = {.arena = arena};
	buffer_add(&buffer, "", 0);
	for (size_t i = 0; i < patch->files.count; i++)
		section_write(&buffer, &patch->files.at[i], patch->files.at[i].path);
	return buffer.text;
}

static const char *number_name(struct arena *arena, size_t index)
{
	return arena_printf(arena, "f%08zu", index);
}

static const char *numbered_diff(struct arena *arena, const struct patch *patch)
{
	struct buffer buffer = {.arena = arena};
	buffer_add(&buffer, "", 0);
	for (size_t i = 0; i < patch->files.count; i++)
		section_write(&buffer, &patch->files.at[i], number_name(arena, i));
	return buffer.text;
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

struct application {
	struct arena *arena;
	struct patch *patch; /* a copy: its hunks are moved to where they belong */
	git_odb *odb;
	git_repository *repository;
	git_treebuilder *builder;
	git_tree *tree;
	git_diff *diff;
	git_index *index;
	size_t file, hunk; /* that libgit2 is at; counts from 1 */
	struct err *err;
};

static void application_release(struct application *application)
{
	git_index_free(application->index);
	git_diff_free(application->diff);
	git_tree_free(application->tree);
	git_treebuilder_free(application->builder);
	git_repository_free(application->repository);
	git_odb_free(application->odb);
}

static int delta_begins(const git_diff_delta *delta, void *payload)
{
	struct application *application = payload;
	const char *name = delta->new_file.path ? delta->new_file.path : delta->old_file.path;
	application->file = name ? strtoul(name + 1, NULL, 10) + 1 : 0;
	application->hunk = 0;
	return 0;
}

static int hunk_begins(const git_diff_hunk *hunk, void *payload)
{
	struct application *application = payload;
	(void)hunk;
	application->hunk++;
	return 0;
}

static enum status library_failed(struct application *application)
{
	const git_error *why = git_error_last();
	return err_set(application->err, ST_SYSTEM, "the patch can't be applied: %s", why ? why->message : "unknown reason");
}

static enum status apply_failed(struct application *application)
{
	if (application->file == 0 || application->file > application->patch->files.count)
		return library_failed(application);
	const struct patch_file *file = &application->patch->files.at[application->file - 1];
	if (application->hunk == 0 || application->hunk > file->hunks.count)
		return library_failed(application);
	const struct patch_hunk *hunk = &file->hunks.at[application->hunk - 1];
	return err_set(application->err, ST_INPUT,
	               "it does not apply to %s: hunk %zu (line %u of the file, line %u of the patch) expects other text there",
	               file->path, application->hunk, hunk->old_line, hunk->patch_line);
}

struct line {
	const char *text;
	size_t size;
};
LIST_OF(struct line, line_list);

static void lines_of(struct arena *arena, const char *text, size_t size, struct line_list *ret_lines)
{
	const char *end = text + size;
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct line line = {text, (size_t)((newline ? newline : end) - text)};
		list_push(arena, ret_lines, line);
		text = newline ? newline + 1 : end;
	}
}

static bool lines_match(const struct line_list *text, size_t at, const struct line_list *wanted)
{
	if (at > text->count || wanted->count > text->count - at)
		return false;
	for (size_t i = 0; i < wanted->count; i++)
		if (text->at[at + i].size != wanted->at[i].size ||
		    memcmp(text->at[at + i].text, wanted->at[i].text, wanted->at[i].size) != 0)
			return false;
	return true;
}

/* libgit2 applies a hunk only at the line that it names. A patch for a neighbouring revision is off by some lines, so
 * each hunk is first moved to the nearest place where its old lines stand. One that stands nowhere is left as it is:
 * libgit2 then refuses it. */
static void hunks_relocate(struct arena *arena, struct patch_file *file, const char *text, size_t size)
{
	struct line_list lines = {0};
	lines_of(arena, text, size, &lines);
	long drift = 0, growth = 0;
	size_t floor = 0; /* hunks keep their order */
	for (size_t i = 0; i < file->hunks.count; i++) {
		struct patch_hunk *hunk = &file->hunks.at[i];
		struct line_list body = {0}, wanted = {0};
		lines_of(arena, hunk->body, strlen(hunk->body), &body);
		for (size_t k = 0; k < body.count; k++) {
			if (body.at[k].text[0] != ' ' && body.at[k].text[0] != '-')
				continue;
			struct line line = {body.at[k].text + 1, body.at[k].size - 1};
			list_push(arena, &wanted, line);
		}
		if (!wanted.count)
			continue; /* an insertion without context stays where it was put */
		long expected = (long)hunk->old_line - 1 + drift;
		for (long distance = 0; distance <= (long)lines.count + labs(expected); distance++) {
			long up = expected - distance, down = expected + distance, found = -1;
			if (up >= (long)floor && lines_match(&lines, (size_t)up, &wanted))
				found = up;
			else if (down >= (long)floor && lines_match(&lines, (size_t)down, &wanted))
				found = down;
			if (found < 0)
				continue;
			drift = found + 1 - (long)hunk->old_line;
			hunk->new_line = (unsigned)(found + 1 + growth);
			floor = (size_t)found + wanted.count;
			break;
		}
		growth += (long)hunk->new_lines - (long)hunk->old_lines;
	}
}

static enum status originals_store(struct application *application, const char *tree)
{
	for (size_t i = 0; i < application->patch->files.count; i++) {
		const struct patch_file *file = &application->patch->files.at[i];
		const char *path = path_join(application->arena, tree, file->path);
		if (file->created) {
			if (exists(application->arena, tree, file->path))
				return err_set(application->err, ST_INPUT, "it creates %s, which exists already", file->path);
			continue;
		}
		if (!exists(application->arena, tree, file->path))
			return err_set(application->err, ST_INPUT, "it changes %s, which is not in the source tree", file->path);
		const char *text = NULL;
		size_t size = 0;
		if (file_read(application->arena, path, &text, &size, application->err))
			return application->err->code;
		hunks_relocate(application->arena, &application->patch->files.at[i], text, size);
		git_oid id;
		if (git_blob_create_from_buffer(&id, application->repository, text, size) < 0 ||
		    git_treebuilder_insert(NULL, application->builder, number_name(application->arena, i), &id,
		                           GIT_FILEMODE_BLOB) < 0)
			return library_failed(application);
	}
	return ST_OK;
}

static enum status results_take(struct application *application, struct patched_list *ret_patched)
{
	for (size_t i = 0; i < application->patch->files.count; i++) {
		struct patched patched = {.path = application->patch->files.at[i].path};
		const git_index_entry *entry = git_index_get_bypath(application->index, number_name(application->arena, i), 0);
		if (entry) {
			git_blob *blob = NULL;
			if (git_blob_lookup(&blob, application->repository, &entry->id) < 0)
				return library_failed(application);
			patched.size = (size_t)git_blob_rawsize(blob);
			patched.text = arena_strndup(application->arena, git_blob_rawcontent(blob), patched.size);
			git_blob_free(blob);
		} else if (!application->patch->files.at[i].deleted) {
			BUG("%s vanished while a patch was applied", patched.path);
		}
		list_push(application->arena, ret_patched, patched);
	}
	return ST_OK;
}

static enum status application_run(struct application *application, const char *tree, struct patched_list *ret_patched)
{
	git_odb_backend *memory = NULL;
	if (git_odb_new(&application->odb) < 0 || git_mempack_new(&memory) < 0)
		return library_failed(application);
	if (git_odb_add_backend(application->odb, memory, 1) < 0) {
		memory->free(memory);
		return library_failed(application);
	}
	if (git_repository_wrap_odb(&application->repository, application->odb) < 0 ||
	    git_treebuilder_new(&application->builder, application->repository, NULL) < 0)
		return library_failed(application);
	if (originals_store(application, tree))
		return application->err->code;
	git_oid id;
	if (git_treebuilder_write(&id, application->builder) < 0 ||
	    git_tree_lookup(&application->tree, application->repository, &id) < 0)
		return library_failed(application);
	const char *text = numbered_diff(application->arena, application->patch);
	if (git_diff_from_buffer(&application->diff, text, strlen(text)) < 0)
		return library_failed(application);
	git_apply_options options;
	git_apply_options_init(&options, GIT_APPLY_OPTIONS_VERSION);
	options.delta_cb = delta_begins;
	options.hunk_cb = hunk_begins;
	options.payload = application;
	if (git_apply_to_tree(&application->index, application->repository, application->tree, application->diff, &options) <
	    0)
		return apply_failed(application);
	return results_take(application, ret_patched);
}

enum status patch_apply(struct arena *arena, const struct patch *patch, const char *tree,
                        struct patched_list *ret_patched, struct err *err)
{
	struct err own = ERR_INIT;
	struct patch moved = {0};
	for (size_t i = 0; i < patch->files.count; i++) {
		struct patch_file file = patch->files.at[i];
		file.hunks = (struct patch_hunk_list){0};
		for (size_t k = 0; k < patch->files.at[i].hunks.count; k++)
			list_push(arena, &file.hunks, patch->files.at[i].hunks.at[k]);
		list_push(arena, &moved.files, file);
	}
	struct application application = {.arena = arena, .patch = &moved, .err = err ? err : &own};
	git_libgit2_init();
	enum status status = application_run(&application, tree, ret_patched);
	application_release(&application);
	git_libgit2_shutdown();
	return status;
}

/* What was added is removed, and the reverse. Lines that begin otherwise ("\\ No newline") belong to the one before. */
static char *body_reversed(struct arena *arena, const char *body)
{
	char *out = arena_strdup(arena, body);
	for (char *line = out; *line; line += strcspn(line, "\n"), line += *line == '\n')
		*line = *line == '+' ? '-' : *line == '-' ? '+' : *line;
	return out;
}

bool patch_is_in(struct arena *arena, const struct patch *patch, const char *tree)
{
	struct patch back = {0};
	for (size_t i = 0; i < patch->files.count; i++) {
		const struct patch_file *file = &patch->files.at[i];
		struct patch_file turned = {.path = file->path, .created = file->deleted, .deleted = file->created};
		for (size_t k = 0; k < file->hunks.count; k++) {
			const struct patch_hunk *hunk = &file->hunks.at[k];
			if (hunk->new_lines == 0 && !file->deleted)
				return false; /* without context the reverse fits anywhere */
			struct patch_hunk one = {hunk->new_line, hunk->new_lines, hunk->old_line, hunk->old_lines, hunk->patch_line,
			                         body_reversed(arena, hunk->body)};
			list_push(arena, &turned.hunks, one);
		}
		list_push(arena, &back.files, turned);
	}
	struct patched_list ignored = {0};
	struct err unfit = ERR_INIT;
	return patch_apply(arena, &back, tree, &ignored, &unfit) == ST_OK;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

enum status patch_make(struct arena *arena, const char *path, const char *old_text, size_t old_size,
                       const char *new_text, size_t new_size, const char **diff, struct err *err)
{
	git_libgit2_init();
	git_diff_options options;
	git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
	options.context_lines = 3;
	options.flags = GIT_DIFF_FORCE_TEXT | GIT_DIFF_PATIENCE;
	git_patch *made = NULL;
	git_buf buf = {0};
	enum status status = ST_OK;
	bool equal = old_text && new_text && old_size == new_size && memcmp(old_text, new_text, old_size) == 0;
	if (!equal) {
		if (git_patch_from_buffers(&made, old_text, old_size, path, new_text, new_size, path, &options) < 0 ||
		    git_patch_to_buf(&buf, made) < 0) {
			const git_error *why = git_error_last();
			status = err_set(err, ST_SYSTEM, "can't make a patch of %s: %s", path, why ? why->message : "unknown reason");
		} else {
			const char *text = arena_strndup(arena, buf.ptr, buf.size);
			*diff = *diff ? arena_printf(arena, "%s%s", *diff, text) : text;
		}
	}
	git_buf_dispose(&buf);
	git_patch_free(made);
	git_libgit2_shutdown();
	return status;
}
