/* hypothesis x workload x configuration → variants.
 *
 * The working folder of a session:
 *
 *     include/assay/bench.h   the workload's header, as this program carries it
 *     runtime.c, rHASH.o      the workload runtime, compiled once for each compiler
 *     t0000000000000000/      the snapshot of the source tree: the baseline's copy
 *     tHASH/                  a clone of it with one patch applied
 *     mHASH                   the files that a unit of the database reads (-M)
 *     uHASH.i, uHASH.o        preprocessed text and object of one unit
 *     pHASH/                  a place: the program of one variant
 *
 * A copy never changes after it was made and a place is named after everything that its products depend on, so what
 * exists already is taken as it is: asking twice costs nothing. All names of a kind have equal length, since the length
 * of a program's path moves its stack and with it its speed (Mytkowicz et al., "Producing Wrong Data Without Doing
 * Anything Obviously Wrong!", 2009).
 */
#include "stage/stages.h"

#include "base/text.h"
#include "port/cache.h"
#include "port/embedded.h"
#include "port/flags.h"
#include "port/patch.h"
#include "port/proc.h"
#include "port/tree.h"
#include "stage/build_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { COMPILE_TIMEOUT_S = 120, DATABASE_UNITS_MAX = 50, ABANDONED_AGE_S = 60 };
#define WORKDIR_PREFIX "assay-work-"
#define SNAPSHOT_NAME "t0000000000000000"

/* Options of the form -Ipath or -I path. */
static const char *const path_flags[] = {"-iquote", "-isystem", "-idirafter", "-include", "-imacros", "-I", "-L"};

/* ---- paths into the copy --------------------------------------------------------------------------------------- */

struct mapping {
	const char *from, *real_from; /* the user's tree, as named and without symbolic links */
	const char *to;               /* the private copy */
};

static const char *map_one(struct arena *arena, const char *text, const char *from, const char *to)
{
	size_t size = strlen(from);
	const char *at = text;
	while ((at = strstr(at, from))) {
		char after = at[size];
		bool ends = after == '\0' || strchr("/:=,;\"' )", after);
		/* -I/tree/x, -DX="/tree/x", but not /other/tree/x. */
		const char *slash = strchr(text, '/');
		bool begins = at == text || strchr("=:,\"'( ", at[-1]) || (text[0] == '-' && slash == at);
		if (ends && begins) {
			char *joined = arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + size);
			at = joined + (at - text) + strlen(to);
			text = joined;
		} else {
			at += size;
		}
	}
	return text;
}

/* Every mention of the user's tree becomes one of the copy. */
static const char *map_text(struct arena *arena, const struct mapping *mapping, const char *text)
{
	text = map_one(arena, text, mapping->from, mapping->to);
	if (strcmp(mapping->from, mapping->real_from) != 0)
		text = map_one(arena, text, mapping->real_from, mapping->to);
	return text;
}

static bool is_there(const char *path)
{
	struct stat info;
	return lstat(path, &info) == 0;
}

/* ---- the working folder ----------------------------------------------------------------------------------------- */

/* (No tree yet: a small one.) Room for the tree's copy and the objects in memory, and programs may run there. */
static bool shared_memory_fits(const char *tree)
{
	struct statvfs info;
	if (statvfs("/dev/shm", &info) != 0 || (info.f_flag & ST_NOEXEC) || (info.f_flag & ST_RDONLY))
		return false;
	uint64_t free_bytes = (uint64_t)info.f_bavail * info.f_frsize;
	uint64_t size_bytes = 0;
	return (!tree || tree_measure(tree, free_bytes / 8, &size_bytes)) && size_bytes < free_bytes / 8 &&
	       free_bytes > 512ull * 1024 * 1024;
}

/* A run that was killed leaves its folder behind, with nobody holding its lock. A young one may be about to be locked. */
static void abandoned_remove(const char *temp)
{
	struct arena scratch;
	DIR *entries = opendir(temp);
	if (!entries)
		return;
	arena_init(&scratch);
	for (struct dirent *entry; (entry = readdir(entries));) {
		if (!text_starts(entry->d_name, WORKDIR_PREFIX))
			continue;
		const char *path = path_join(&scratch, temp, entry->d_name);
		int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		struct stat info;
		bool own = fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid();
		if (own && time(NULL) - info.st_mtime > ABANDONED_AGE_S && flock(fd, LOCK_EX | LOCK_NB) == 0) {
			struct err ignored = ERR_INIT;
			enum status status = tree_remove(path, &ignored);
			(void)status; /* the next run tries again */
		}
		if (fd >= 0)
			close(fd);
	}
	closedir(entries);
	arena_release(&scratch);
}

enum status build_open(struct session *session, struct err *err)
{
	struct arena *arena = &session->arena;
	if (!session->workdir) {
		const char *temp = getenv("TMPDIR");
		if (!temp || temp[0] != '/')
			temp = shared_memory_fits(session->project.tree) ? "/dev/shm" : "/tmp";
		char *workdir = path_join(arena, path_clean(arena, temp), WORKDIR_PREFIX "XXXXXX");
		if (!mkdtemp(workdir))
			return err_set(err, ST_SYSTEM, "can't make a working folder in %s: set TMPDIR to a folder that can be written",
			               temp);
		session->workdir = workdir;
		/* Held until the folder is removed or the process ends: tells later runs that it is not abandoned. */
		int lock = open(workdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
			close(lock);
			lock = -1;
		}
		session->workdir_lock = lock;
		abandoned_remove(path_clean(arena, temp));
	}
	const char *header = path_join(arena, session->workdir, "include/assay/bench.h");
	if (path_is_file(header))
		return ST_OK;
	enum status status = folder_make(path_dir(arena, header), err);
	if (status == ST_OK)
		status = file_write(path_join(arena, session->workdir, "runtime.c"), embedded_runtime_c,
		                    strlen(embedded_runtime_c), err);
	if (status == ST_OK)
		status = file_write(header, embedded_bench_h, strlen(embedded_bench_h), err);
	return status;
}

void build_close(struct session *session)
{
	/* Only a folder of our own making: whoever names another one keeps it. */
	if (!session->workdir || !text_starts(path_base(session->workdir), WORKDIR_PREFIX))
		return;
	struct err err = ERR_INIT;
	if (tree_remove(session->workdir, &err) != ST_OK)
		session_note(session, session->workdir, "the working folder can't be removed: %s", err.text);
	session->workdir = NULL;
	if (session->workdir_lock >= 0)
		close(session->workdir_lock);
}

static const char *snapshot_path(struct session *session)
{
	return path_join(&session->arena, session->workdir, SNAPSHOT_NAME);
}

/* The snapshot, made at the first call. It appears under its name only when it is whole. */
static enum status snapshot_get(struct session *session, const char **ret_path, struct err *err)
{
	struct arena *arena = &session->arena;
	*ret_path = snapshot_path(session);
	if (is_there(*ret_path))
		return ST_OK;
	const char *partial = path_join(arena, session->workdir, "partial");
	struct tree_stats stats;
	session_progress(session, "copying the source tree", 0, 0, -1);
	enum status status = tree_remove(partial, err);
	if (status == ST_OK)
		status = tree_snapshot(arena, session->project.tree, partial, session->workdir, &stats, err);
	if (status != ST_OK)
		return status;
	for (size_t i = 0; i < stats.problems.count; i++)
		session_note(session, session->project.tree, "%s", stats.problems.at[i]);
	if (stats.more_problems)
		session_note(session, session->project.tree, "%u more files are left out of the copy", stats.more_problems);
	if (rename(partial, *ret_path) != 0)
		return err_set(err, ST_SYSTEM, "can't rename %s", partial);
	return ST_OK;
}

/* The clone with the patch applied. A patch that doesn't apply sets *ret_failure. */
static enum status clone_get(struct session *session, const char *snapshot, const char *text, const char **ret_path,
                             const char **ret_failure, struct err *err)
{
	struct arena *arena = &session->arena;
	const char *name = arena_printf(arena, "t%016llx", text_hash(text, strlen(text), TEXT_HASH_SEED));
	*ret_path = path_join(arena, session->workdir, name);
	if (is_there(*ret_path))
		return ST_OK;
	struct arena scratch;
	arena_init(&scratch);
	struct patch patch;
	struct patched_list patched = {0};
	struct err trouble = ERR_INIT;
	enum status status = patch_parse(&scratch, text, strlen(text), snapshot, &patch, &trouble);
	bool there = false;
	if (status == ST_OK) {
		status = patch_apply(&scratch, &patch, snapshot, &patched, &trouble);
		there = status == ST_INPUT && patch_is_in(&scratch, &patch, snapshot);
	}
	const char *partial = path_join(arena, session->workdir, "partial");
	if (status == ST_OK)
		status = tree_remove(partial, &trouble);
	if (status == ST_OK)
		status = tree_clone(snapshot, partial, &trouble);
	for (size_t i = 0; i < patched.count && status == ST_OK; i++)
		status = tree_put(&scratch, partial, patched.at[i].path, patched.at[i].text, patched.at[i].size, &trouble);
	if (status == ST_OK && rename(partial, *ret_path) != 0)
		status = err_set(&trouble, ST_SYSTEM, "can't rename %s", partial);
	arena_release(&scratch);
	if (status == ST_INPUT) {
		*ret_failure = there ? "the tree has this change already: nothing is left to try"
		                     : arena_printf(arena, "the patch can't be used: %s", trouble.text);
		*ret_path = snapshot;
		return ST_OK;
	}
	return status == ST_OK ? ST_OK : err_set(err, status, "%s", trouble.text);
}

/* ---- compile commands --------------------------------------------------------------------------------------------- */

struct builder {
	struct session *session;
	struct arena *arena;
	const struct workload *workload;
	struct mapping mapping;
	struct string_list cc;     /* the compiler's words */
	struct string_list config; /* flags of the configuration and of the candidate */
	bool config_has_level;     /* they name an -O level */
	struct variant *variant;
};

static void words_push(struct arena *arena, struct string_list *list, const struct string_list *words)
{
	for (size_t i = 0; i < words->count; i++)
		list_push(arena, list, words->at[i]);
}

/* "-O2" in "-O2"; not "-Os" in "-DX=-Os". */
static bool is_level(const char *word)
{
	return text_starts(word, "-O");
}

/* Flags as they are given, without those that write, paths in the copy. Relative paths in them count from `base` in
 * the copy; with base NULL the compiler is started there, so they stay as they are. */
static void flags_push(struct builder *builder, struct string_list *argv, const struct string_list *flags,
                       const char *base)
{
	for (size_t i = 0; i < flags->count; i++) {
		size_t skip = flag_strip(flags->at + i, flags->count - i);
		if (skip) {
			i += skip - 1;
			continue;
		}
		const char *word = flags->at[i];
		for (size_t k = 0; base && k < sizeof path_flags / sizeof *path_flags; k++) {
			if (!text_starts(word, path_flags[k]))
				continue;
			const char *value = word + strlen(path_flags[k]);
			if (!value[0] && i + 1 < flags->count) {
				list_push(builder->arena, argv, word);
				word = path_clean(builder->arena, path_join(builder->arena, base, flags->at[++i]));
			} else if (value[0] && value[0] != '=' && value[0] != '-') {
				word = arena_printf(builder->arena, "%s%s", path_flags[k],
				                    path_clean(builder->arena, path_join(builder->arena, base, value)));
			}
			break;
		}
		list_push(builder->arena, argv, map_text(builder->arena, &builder->mapping, word));
	}
}

static const char *map_flag(struct builder *builder)
{
	return arena_printf(builder->arena, "-ffile-prefix-map=%s=.", builder->variant->tree);
}

/* A driver or a source that no database knows. `file` is absolute: in the copy, or of the project's folder. */
static void unit_plain(struct builder *builder, const char *name, const char *file, bool is_driver)
{
	struct unit unit = {.source = name, .directory = builder->variant->tree};
	words_push(builder->arena, &unit.argv, &builder->cc);
	/* Debug information names the header's folder too, and is to be the same in every run. */
	if (is_driver) {
		const char *include = path_join(builder->arena, builder->session->workdir, "include");
		list_push(builder->arena, &unit.argv, arena_printf(builder->arena, "-I%s", include));
		list_push(builder->arena, &unit.argv, arena_printf(builder->arena, "-ffile-prefix-map=%s=include", include));
	}
	if (builder->workload)
		flags_push(builder, &unit.argv, &builder->workload->flags, NULL);
	words_push(builder->arena, &unit.argv, &builder->config);
	list_push(builder->arena, &unit.argv, map_flag(builder));
	/* Named as a person would: __FILE__ and messages then read "lib/x.c". */
	const char *inside = path_under(file, builder->variant->tree);
	list_push(builder->arena, &unit.argv, inside ? inside : file);
	list_push(builder->arena, &builder->variant->units, unit);
}

/* What the database says about a file, with our compiler and configuration. */
static struct unit unit_of_command(struct builder *builder, const struct compile_command *command, const char *name)
{
	struct arena *arena = builder->arena;
	struct unit unit = {.source = name};
	const char *directory = map_text(arena, &builder->mapping, command->directory);
	unit.directory = path_is_folder(directory) ? directory : builder->variant->tree;
	words_push(arena, &unit.argv, &builder->cc);
	struct string_list given = flags_given(arena, command), kept = {0};
	for (size_t i = 0; i < given.count; i++) {
		const char *word = given.at[i];
		if (word[0] != '-' && strcmp(path_clean(arena, path_join(arena, command->directory, word)), command->file) == 0)
			continue;
		/* Warnings change no code, and other compilers refuse to know them. */
		if (text_starts(word, "-W") && !text_starts(word, "-Wa,") && !text_starts(word, "-Wp,"))
			continue;
		if (builder->config_has_level && is_level(word))
			continue;
		list_push(arena, &kept, word);
	}
	flags_push(builder, &unit.argv, &kept, command->directory);
	if (builder->workload)
		flags_push(builder, &unit.argv, &builder->workload->flags, builder->variant->tree);
	words_push(arena, &unit.argv, &builder->config);
	list_push(arena, &unit.argv, map_flag(builder));
	list_push(arena, &unit.argv, map_text(arena, &builder->mapping, command->file));
	unit.from_database = !builder->workload;
	return unit;
}

static const struct compile_command *command_find(const struct session *session, const char *file)
{
	for (size_t i = 0; i < session->commands.count; i++)
		if (!session->commands.at[i].guessed && !session->commands.at[i].of_workload &&
		    strcmp(session->commands.at[i].file, file) == 0)
			return &session->commands.at[i];
	return NULL;
}

/* ---- units of a workload ------------------------------------------------------------------------------------------ */

static void workload_units(struct builder *builder)
{
	struct session *session = builder->session;
	struct arena *arena = builder->arena;
	const struct project *project = &session->project;
	const struct workload *workload = builder->workload;
	struct variant *variant = builder->variant;
	const char *driver = path_clean(arena, path_join(arena, project->dir, workload->bench));
	const char *copied = map_text(arena, &builder->mapping, driver);
	if (!path_is_file(copied)) {
		variant->failure = arena_printf(arena, "the workload %s has no driver: %s does not exist", workload->name, driver);
		return;
	}
	unit_plain(builder, workload->bench, copied, true);
	for (size_t i = 0; i < workload->sources.count; i++) {
		const char *name = workload->sources.at[i];
		const char *file = path_join(arena, project->tree, name);
		const struct compile_command *command = command_find(session, path_clean(arena, file));
		copied = path_clean(arena, path_join(arena, variant->tree, name));
		if (!path_is_file(copied)) {
			copied = map_text(arena, &builder->mapping, path_clean(arena, path_join(arena, project->dir, name)));
			command = NULL;
		}
		if (!path_is_file(copied)) {
			variant->failure =
			    arena_printf(arena, "the workload %s compiles %s, which is neither in %s nor in %s", workload->name, name,
			                 project->tree, project->dir);
			return;
		}
		if (command)
			list_push(arena, &variant->units, unit_of_command(builder, command, name));
		else
			unit_plain(builder, name, copied, false);
	}
}

/* ---- running compilers -------------------------------------------------------------------------------------------- */

/* The sentence that says why: the first error, or what ended it. */
static const char *compiler_said(struct builder *builder, const struct proc_request *request,
                                 const struct proc_result *result, const char *what)
{
	struct arena *arena = builder->arena;
	if (result->end == PROC_NOT_FOUND)
		return arena_printf(arena, "%s: install it or name another with --cc", proc_describe(arena, request, result));
	const char *text = result->err ? result->err : "";
	const char *first = NULL;
	unsigned errors = 0;
	for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		const char *line = arena_strndup(arena, at, strcspn(at, "\n"));
		if (!strstr(line, "error: ") && !strstr(line, "undefined reference") && !strstr(line, "multiple definition") &&
		    !strstr(line, "cannot find"))
			continue;
		if (strstr(line, "collect2: error: ld returned") || strstr(line, "linker command failed"))
			continue;
		if (!first)
			first = line;
		errors++;
	}
	if (!first)
		first = text_tail(arena, text, 3);
	/* Paths of the copy mean nothing to a person. */
	struct mapping back = {.from = builder->variant->tree, .real_from = builder->variant->tree, .to = "."};
	first = map_text(arena, &back, first);
	if (!first[0] || result->end != PROC_EXITED)
		first = arena_printf(arena, "%s%s%s", proc_describe(arena, request, result), first[0] ? ": " : "", first);
	if (errors > 1)
		first = arena_printf(arena, "%s (and %u more error%s)", first, errors - 1, errors == 2 ? "" : "s");
	return arena_printf(arena, "%s: %s", what, first);
}

/* Compilers word a full disk in many ways, some not at all. */
static bool disk_is_full(const struct session *session, const struct proc_result *result)
{
	struct statvfs info;
	if (result->err && strstr(result->err, "No space left on device"))
		return true;
	return statvfs(session->workdir, &info) == 0 && (uint64_t)info.f_bavail * info.f_frsize < 64 * 1024;
}

struct ticker {
	struct session *session;
	const char *what;
};

static void tick(void *context, size_t finished, size_t count)
{
	struct ticker *ticker = context;
	session_progress(ticker->session, ticker->what, (double)finished, (double)count, -1);
}

/* Runs the requests; the first that fails sets variant.failure. ST_INTERRUPTED after Ctrl-C. */
static enum status compilers_run(struct builder *builder, struct proc_request *requests, size_t count,
                                 const char *const *names, const char *what, struct proc_result *results,
                                 struct err *err)
{
	struct session *session = builder->session;
	if (*session->interrupted)
		return err_set(err, ST_INTERRUPTED, "interrupted");
	for (size_t i = 0; i < count; i++) {
		requests[i].timeout_s = COMPILE_TIMEOUT_S;
		requests[i].cpu = -1;
		requests[i].interrupted = session->interrupted;
		/* Equal text for __DATE__ and __TIME__ in every variant; messages in one language. */
		list_push(builder->arena, &requests[i].env, "SOURCE_DATE_EPOCH=1000000000");
		list_push(builder->arena, &requests[i].env, "LC_ALL=C");
	}
	struct ticker ticker = {session, what};
	enum status status =
	    proc_run_many(builder->arena, requests, count, session->jobs ? session->jobs : 1, results, tick, &ticker, err);
	if (status != ST_OK)
		return status;
	for (size_t i = 0; i < count; i++) {
		if (results[i].end == PROC_INTERRUPTED)
			return err_set(err, ST_INTERRUPTED, "interrupted");
		if (proc_ok(&results[i]))
			continue;
		if (results[i].end != PROC_NOT_FOUND && disk_is_full(session, &results[i]))
			return err_set(err, ST_SYSTEM, "the disk is full: %s can't be compiled in %s: free some space or set TMPDIR to a "
			                               "larger one", names[i], session->workdir);
		if (!builder->variant->failure)
			builder->variant->failure = compiler_said(builder, &requests[i], &results[i], names[i]);
	}
	return ST_OK;
}

/* A file appears under its name only when the compiler has finished with it. */
static enum status product_place(struct arena *arena, const char *path, struct err *err)
{
	if (rename(arena_printf(arena, "%s.new", path), path) != 0)
		return err_set(err, ST_SYSTEM, "the compiler said that it made %s, but it is not there", path);
	return ST_OK;
}

/* ---- units of the database ------------------------------------------------------------------------------------------ */

static bool is_unit_source(const char *path)
{
	return text_ends(path, ".c") || text_ends(path, ".cc") || text_ends(path, ".cpp") || text_ends(path, ".S") ||
	       text_ends(path, ".s");
}

/* How many leading folders two paths share: a header's users mostly live near it. */
static size_t folders_shared(const char *a, const char *b)
{
	size_t shared = 0;
	for (; *a && *a == *b; a++, b++)
		shared += *a == '/';
	return shared;
}

struct near {
	const struct compile_command *command;
	size_t shared, order;
};

static int near_order(const void *a, const void *b)
{
	const struct near *one = a, *two = b;
	if (one->shared != two->shared)
		return one->shared > two->shared ? -1 : 1;
	return one->order < two->order ? -1 : one->order > two->order;
}

/* Does the dependency text (make's, "x.o: a.c \\\n b.h") name the file? */
static bool rule_names(const char *rule, const char *file)
{
	size_t size = strlen(file);
	for (const char *at = rule; (at = strstr(at, file)); at += size) {
		char before = at == rule ? ' ' : at[-1], after = at[size];
		if ((before == ' ' || before == '/' || before == '\n') &&
		    (after == '\0' || after == ' ' || after == '\n' || after == '\\'))
			return true;
	}
	return false;
}

/* Units of the database that read one of the changed files. A changed source is its own unit; who reads a header, or a source
 * without a command of its own, is asked of the compiler (-M, on the untouched tree), nearest units first, and of no more than
 * DATABASE_UNITS_MAX: who includes a source stands near it, so that no more need be asked. Where there is no database, guessed
 * commands serve if they compile. */
static enum status database_units(struct builder *builder, const struct string_list *changed, const char *snapshot,
                                  struct err *err)
{
	struct session *session = builder->session;
	struct arena *arena = builder->arena;
	bool only_guessed = true;
	for (size_t i = 0; i < session->commands.count; i++)
		only_guessed &= session->commands.at[i].guessed || session->commands.at[i].of_workload;
	struct string_list asked = {0};
	bool headers = only_guessed;
	for (size_t f = 0; changed && f < changed->count; f++) {
		const char *file = path_join(arena, session->project.tree, changed->at[f]);
		const struct compile_command *own = command_find(session, file);
		if (own) {
			list_push(arena, &builder->variant->units, unit_of_command(builder, own, changed->at[f]));
			continue;
		}
		headers |= !is_unit_source(changed->at[f]);
		list_push(arena, &asked, changed->at[f]);
	}
	if (!asked.count || !session->commands.count)
		return ST_OK;

	struct near *near = arena_alloc(arena, session->commands.count * sizeof *near);
	size_t count = 0;
	const char *first = path_join(arena, session->project.tree, asked.at[0]);
	for (size_t i = 0; i < session->commands.count; i++) {
		const struct compile_command *command = &session->commands.at[i];
		if (command->of_workload || command->guessed != only_guessed ||
		    !path_under(command->file, session->project.tree))
			continue;
		bool same = strcmp(command->file, first) == 0;
		near[count] = (struct near){command, same ? SIZE_MAX : folders_shared(command->file, first), i};
		count++;
	}
	qsort(near, count, sizeof *near, near_order);
	const char *unsure = NULL;
	if (count > DATABASE_UNITS_MAX) {
		if (headers)
			session_note(session, asked.at[0], "of %zu compiled files only the nearest %d are asked whether they read it", count,
			             DATABASE_UNITS_MAX);
		unsure = arena_printf(arena, "only the nearest %d of %zu compiled files were asked whether they "
		                                            "read %s", DATABASE_UNITS_MAX, count, asked.at[0]);
		count = DATABASE_UNITS_MAX;
	}

	/* The questions go to the baseline's copy: one answer serves the baseline and every candidate. */
	struct variant untouched = *builder->variant;
	untouched.tree = snapshot;
	untouched.units = (struct unit_list){0};
	struct builder asking = *builder;
	asking.variant = &untouched;
	asking.mapping.to = snapshot;
	struct proc_request *requests = arena_alloc(arena, (count + 1) * sizeof *requests);
	struct proc_result *results = arena_alloc(arena, (count + 1) * sizeof *results);
	const char **names = arena_alloc(arena, (count + 1) * sizeof *names);
	const char **answers = arena_alloc(arena, (count + 1) * sizeof *answers);
	size_t running = 0;
	for (size_t i = 0; i < count; i++) {
		const char *name = path_under(near[i].command->file, session->project.tree);
		struct unit unit = unit_of_command(&asking, near[i].command, name);
		list_push(arena, &unit.argv, "-M");
		const char *key = text_join(arena, &unit.argv, "\n");
		answers[i] = arena_printf(arena, "%s/m%016llx", session->workdir, text_hash(key, strlen(key), TEXT_HASH_SEED));
		if (path_is_file(answers[i]))
			continue;
		requests[running] = (struct proc_request){
		    .argv = unit.argv, .directory = unit.directory, .stdout_path = answers[i]};
		names[running++] = name;
	}
	enum status status =
	    compilers_run(&asking, requests, running, names, "looking for the units that read it", results, err);
	if (status != ST_OK)
		return status;
	for (size_t i = 0; i < count; i++) {
		const char *rule = NULL;
		struct err ignored = ERR_INIT;
		const char *name = path_under(near[i].command->file, session->project.tree);
		if (file_read(arena, answers[i], &rule, NULL, &ignored) != ST_OK || !rule[0]) {
			if (!unsure)
				unsure = arena_printf(arena, "the compiler can't tell what %s reads", name);
			continue;
		}
		bool known = false, reads = false;
		for (size_t k = 0; k < builder->variant->units.count; k++)
			known |= strcmp(builder->variant->units.at[k].source, name) == 0;
		for (size_t k = 0; k < asked.count && !reads; k++)
			reads = rule_names(rule, asked.at[k]);
		if (reads && !known)
			list_push(arena, &builder->variant->units, unit_of_command(builder, near[i].command, name));
	}
	/* A source that nobody was found to include is not built; of one that somebody includes there may be more readers. */
	if (!builder->variant->incomplete && (headers || builder->variant->units.count))
		builder->variant->incomplete = unsure;
	return ST_OK;
}

/* ---- prepare --------------------------------------------------------------------------------------------------------- */

/* Flags of the configuration and of the candidate; sets variant.failure for what can't be tried. */
static void config_flags(struct builder *builder, const struct hypothesis *hypothesis)
{
	struct arena *arena = builder->arena;
	struct variant *variant = builder->variant;
	struct string_list words = {0}, tried = {0};
	if (!shell_split(arena, variant->config.cc, &builder->cc) || !builder->cc.count)
		variant->failure = arena_printf(arena, "the compiler's name can't be read: %s", variant->config.cc);
	if (!shell_split(arena, variant->config.flags ? variant->config.flags : "", &words))
		variant->failure = arena_printf(arena, "the flags can't be read, a quote is left open: %s", variant->config.flags);
	if (hypothesis && hypothesis->kind == CANDIDATE_DEFINE)
		list_push(arena, &tried, arena_printf(arena, "-D%s", hypothesis->text));
	if (hypothesis && hypothesis->kind == CANDIDATE_FLAGS && !shell_split(arena, hypothesis->text, &tried))
		variant->failure = arena_printf(arena, "the flags can't be read, a quote is left open: %s", hypothesis->text);
	for (size_t i = 0; i < tried.count; i++)
		if (flag_strip(tried.at + i, tried.count - i))
			variant->failure = arena_printf(arena, "the flag %s can't be tried: each object must hold machine code, "
			                                       "nothing else may be written and no other program be run",
			                                tried.at[i]);
	flags_push(builder, &builder->config, &words, NULL);
	flags_push(builder, &builder->config, &tried, NULL);
	for (size_t i = 0; i < builder->config.count; i++)
		builder->config_has_level |= is_level(builder->config.at[i]);
}

static unsigned long long text_mix(unsigned long long hash, const char *text)
{
	return text_hash(text, strlen(text) + 1, hash);
}

/* Of everything that the unit's products depend on: its command and where it is started say in which copy, too. */
static unsigned long long unit_mix(unsigned long long hash, const struct unit *unit)
{
	hash = text_mix(hash, unit->directory);
	for (size_t i = 0; i < unit->argv.count; i++)
		hash = text_mix(hash, unit->argv.at[i]);
	return hash;
}

static enum status place_make(struct builder *builder, struct err *err)
{
	unsigned long long hash = text_mix(TEXT_HASH_SEED, builder->variant->tree);
	for (size_t i = 0; i < builder->variant->units.count; i++)
		hash = unit_mix(hash, &builder->variant->units.at[i]);
	if (builder->workload) {
		hash = text_mix(hash, builder->workload->name);
		for (size_t i = 0; i < builder->workload->libs.count; i++)
			hash = text_mix(hash, builder->workload->libs.at[i]);
	}
	builder->variant->place = arena_printf(builder->arena, "%s/p%016llx", builder->session->workdir, hash);
	return folder_make(builder->variant->place, err);
}

static struct mapping mapping_to(struct session *session, const char *copy)
{
	const char *tree = session->project.tree;
	char *real = realpath(tree, NULL);
	struct mapping mapping = {
	    .from = tree, .real_from = real ? arena_strdup(&session->arena, real) : tree, .to = copy};
	free(real);
	return mapping;
}

enum status build_tree(struct session *session, const struct hypothesis *hypothesis, const struct workload *workload,
                       const struct build_config *config, struct variant *ret_variant, struct err *err)
{
	*ret_variant = (struct variant){.name = hypothesis ? "candidate" : "baseline", .config = *config, .workload = workload};
	enum status status = build_open(session, err);
	if (status == ST_OK)
		status = snapshot_get(session, &ret_variant->tree, err);
	if (status == ST_OK && hypothesis && hypothesis->kind == CANDIDATE_PATCH)
		status = clone_get(session, ret_variant->tree, hypothesis->text, &ret_variant->tree, &ret_variant->failure, err);
	return status;
}

enum status build_prepare(struct session *session, const struct hypothesis *hypothesis,
                          const struct workload *workload, const struct string_list *changed,
                          const struct build_config *config, struct variant *ret_variant, struct err *err)
{
	enum status status = build_tree(session, hypothesis, workload, config, ret_variant, err);
	if (status != ST_OK || ret_variant->failure)
		return status;
	const char *snapshot = snapshot_path(session);
	if (hypothesis && hypothesis->kind == CANDIDATE_CC)
		ret_variant->config.cc = hypothesis->text;
	if (hypothesis && hypothesis->kind == CANDIDATE_ENV)
		list_push(&session->arena, &ret_variant->env, hypothesis->text);
	struct builder builder = {.session = session,
	                          .arena = &session->arena,
	                          .workload = workload,
	                          .mapping = mapping_to(session, ret_variant->tree),
	                          .variant = ret_variant};
	config_flags(&builder, hypothesis);
	if (ret_variant->failure)
		return ST_OK;
	if (workload)
		workload_units(&builder);
	else
		status = database_units(&builder, changed, snapshot, err);
	return status == ST_OK ? place_make(&builder, err) : status;
}

enum status build_changed_files(struct session *session, const struct hypothesis *hypothesis,
                                struct string_list *ret_files, struct err *err)
{
	*ret_files = (struct string_list){0};
	if (hypothesis->kind != CANDIDATE_PATCH)
		return ST_OK;
	struct patch patch;
	enum status status = patch_parse(&session->arena, hypothesis->text, strlen(hypothesis->text), session->project.tree,
	                                 &patch, err);
	for (size_t i = 0; status == ST_OK && i < patch.files.count; i++)
		list_push(&session->arena, ret_files, patch.files.at[i].path);
	return status;
}

/* ---- preprocess ------------------------------------------------------------------------------------------------------- */

/* Files of the copy that the line markers (# 12 "path" 1) name, in order, each once. */
static enum status unit_depends(struct session *session, const struct variant *variant, struct unit *unit,
                                struct err *err)
{
	struct arena scratch;
	arena_init(&scratch);
	const char *text = NULL;
	enum status status = file_read(&scratch, unit->preprocessed, &text, NULL, err);
	const char *last = NULL;
	unit->depends = (struct string_list){0};
	for (const char *at = text; status == ST_OK && at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		if (at[0] != '#' || at[1] != ' ' || at[2] < '0' || at[2] > '9')
			continue;
		const char *open = at + 2 + strspn(at + 2, "0123456789");
		if (open[0] != ' ' || open[1] != '"' || open[2] == '<')
			continue;
		size_t size = strcspn(open + 2, "\"\n");
		if (last && strncmp(last, open + 2, size) == 0 && last[size] == '"')
			continue; /* mostly one file after itself */
		last = open + 2;
		const char *named = arena_strndup(&scratch, last, size);
		const char *clean = path_clean(&scratch, path_join(&scratch, unit->directory, named));
		const char *inside = path_under(clean, variant->tree);
		if (!inside || strcmp(inside, ".") == 0 || !path_is_file(clean))
			continue;
		bool known = false;
		for (size_t i = 0; i < unit->depends.count && !known; i++)
			known = strcmp(unit->depends.at[i], inside) == 0;
		if (!known)
			list_push(&session->arena, &unit->depends, arena_strdup(&session->arena, inside));
	}
	arena_release(&scratch);
	return status;
}

static struct builder builder_of(struct session *session, struct variant *variant)
{
	return (struct builder){.session = session,
	                        .arena = &session->arena,
	                        .mapping = mapping_to(session, variant->tree),
	                        .variant = variant};
}

/* Runs "argv … OPTION -o PATH" for every unit whose `paths` entry is not there yet. */
static enum status units_make(struct session *session, struct variant *variant, const char *option,
                              const char *const *paths, const char *what, struct err *err)
{
	struct arena *arena = &session->arena;
	struct builder builder = builder_of(session, variant);
	size_t count = variant->units.count;
	struct proc_request *requests = arena_alloc(arena, (count + 1) * sizeof *requests);
	struct proc_result *results = arena_alloc(arena, (count + 1) * sizeof *results);
	const char **names = arena_alloc(arena, (count + 1) * sizeof *names);
	const char **made = arena_alloc(arena, (count + 1) * sizeof *made);
	size_t running = 0;
	for (size_t i = 0; i < count; i++) {
		const struct unit *unit = &variant->units.at[i];
		if (!paths[i] || path_is_file(paths[i]))
			continue;
		struct proc_request request = {.directory = unit->directory};
		words_push(arena, &request.argv, &unit->argv);
		list_push(arena, &request.argv, option);
		list_push(arena, &request.argv, "-o");
		list_push(arena, &request.argv, arena_printf(arena, "%s.new", paths[i]));
		requests[running] = request;
		made[running] = paths[i];
		names[running++] = unit->source;
	}
	enum status status = compilers_run(&builder, requests, running, names, what, results, err);
	for (size_t i = 0; i < running && status == ST_OK; i++)
		if (proc_ok(&results[i]))
			status = product_place(arena, made[i], err);
	return status;
}

/* A unit's products are named after what they depend on: workloads that compile the same source in the same way share them. */
static const char **unit_paths(struct session *session, const struct variant *variant, const char *suffix)
{
	const char **paths = arena_alloc(&session->arena, (variant->units.count + 1) * sizeof *paths);
	for (size_t i = 0; i < variant->units.count; i++) {
		unsigned long long hash = unit_mix(TEXT_HASH_SEED, &variant->units.at[i]);
		paths[i] = arena_printf(&session->arena, "%s/u%016llx%s", session->workdir, hash, suffix);
		/* A source that is named twice: the linker is to have its say, not two compilers that write one file. */
		for (size_t k = 0; k < i; k++)
			if (strcmp(paths[k], paths[i]) == 0)
				paths[i] = arena_printf(&session->arena, "%s/u%016llx-%zu%s", session->workdir, hash, i, suffix);
	}
	return paths;
}

enum status build_preprocess(struct session *session, struct variant *variant, struct err *err)
{
	if (variant->failure)
		return ST_OK;
	const char **paths = unit_paths(session, variant, ".i");
	enum status status = units_make(session, variant, "-E", paths, "preprocessing", err);
	for (size_t i = 0; i < variant->units.count && status == ST_OK && !variant->failure; i++) {
		variant->units.at[i].preprocessed = paths[i];
		status = unit_depends(session, variant, &variant->units.at[i], err);
	}
	return status;
}

/* ---- compile ---------------------------------------------------------------------------------------------------------- */

static bool unit_same(struct arena *arena, const struct variant *a, const struct unit *one, const struct variant *b,
                      const struct unit *two)
{
	if (!one->object || !one->preprocessed || !two->preprocessed || one->argv.count != two->argv.count ||
	    one->depends.count != two->depends.count || strcmp(one->source, two->source) != 0)
		return false;
	struct mapping to_b = {.from = a->tree, .real_from = a->tree, .to = b->tree};
	if (strcmp(map_text(arena, &to_b, one->directory), two->directory) != 0)
		return false;
	for (size_t i = 0; i < one->argv.count; i++)
		if (strcmp(map_text(arena, &to_b, one->argv.at[i]), two->argv.at[i]) != 0)
			return false;
	for (size_t i = 0; i < one->depends.count; i++)
		if (strcmp(one->depends.at[i], two->depends.at[i]) != 0 ||
		    (strcmp(a->tree, b->tree) != 0 && !tree_same(arena, a->tree, b->tree, one->depends.at[i])))
			return false;
	return true;
}

/* An object that an earlier compilation left appears under its name. */
static bool object_kept(struct session *session, const char *key, const char *path)
{
	struct err ignored = ERR_INIT;
	return cache_get(session->objects.folder, key, arena_printf(&session->arena, "%s.new", path)) &&
	       product_place(&session->arena, path, &ignored) == ST_OK;
}

enum status build_compile(struct session *session, struct variant *variant, const struct variant *same_as,
                          struct err *err)
{
	if (variant->failure)
		return ST_OK;
	const char **keys = arena_alloc(&session->arena, (variant->units.count + 1) * sizeof *keys); /* of what is to be kept */
	struct arena scratch;
	arena_init(&scratch);
	const char **paths = unit_paths(session, variant, ".o");
	for (size_t i = 0; i < variant->units.count; i++) {
		struct unit *unit = &variant->units.at[i];
		for (size_t k = 0; same_as && k < same_as->units.count && !unit->object; k++)
			if (unit_same(&scratch, same_as, &same_as->units.at[k], variant, unit))
				unit->object = same_as->units.at[k].object;
		if (unit->object)
			paths[i] = NULL;
	}
	arena_release(&scratch);
	for (size_t i = 0; i < variant->units.count; i++) {
		bool missing = paths[i] && !path_is_file(paths[i]);
		keys[i] = missing ? unit_key(session, variant, &variant->units.at[i]) : NULL;
		if (keys[i] && object_kept(session, keys[i], paths[i]))
			keys[i] = NULL;
	}
	enum status status = units_make(session, variant, "-c", paths, "compiling", err);
	for (size_t i = 0; i < variant->units.count && status == ST_OK && !variant->failure; i++) {
		if (paths[i])
			variant->units.at[i].object = paths[i];
		if (keys[i]) {
			cache_put(session->objects.folder, keys[i], paths[i]);
			session->objects.grown = true;
		}
	}
	return status;
}

/* ---- link ------------------------------------------------------------------------------------------------------------- */

/* Of a unit's flags those that a link needs too. */
static bool is_link_flag(const char *word)
{
	return text_starts(word, "-m") || text_starts(word, "-f") || text_starts(word, "-O") || text_starts(word, "-L") ||
	       text_starts(word, "-Wl,") || strcmp(word, "-pthread") == 0 ||
	       strcmp(word, "-static") == 0 || strcmp(word, "-pie") == 0 || strcmp(word, "-no-pie") == 0 ||
	       text_starts(word, "--sysroot") || text_starts(word, "--target");
}

/* The workload runtime for the variant's compiler. It has flags of its own: a workload's must not change what measures. */
static enum status runtime_get(struct session *session, struct variant *variant, const char **ret_object,
                               struct err *err)
{
	struct arena *arena = &session->arena;
	struct builder builder = builder_of(session, variant);
	struct proc_request request = {.directory = session->workdir};
	if (!shell_split(arena, variant->config.cc, &request.argv))
		BUG("compiler %s was split before", variant->config.cc);
	/* What changes the ABI must agree with the rest of the program. */
	for (size_t i = 0; variant->units.count && i < variant->units.at[0].argv.count; i++) {
		const char *word = variant->units.at[0].argv.at[i];
		if (strcmp(word, "-m32") == 0 || strcmp(word, "-mx32") == 0 || text_starts(word, "-fsanitize=") ||
		    text_starts(word, "--sysroot") || text_starts(word, "--target"))
			list_push(arena, &request.argv, word);
	}
	static const char *const flags[] = {"-O2", "-std=gnu17", "-Iinclude", "-c", "runtime.c", "-o"};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		list_push(arena, &request.argv, flags[i]);
	const char *key = text_join(arena, &request.argv, "\n");
	*ret_object =
	    arena_printf(arena, "%s/r%016llx.o", session->workdir, text_hash(key, strlen(key), TEXT_HASH_SEED));
	if (path_is_file(*ret_object))
		return ST_OK;
	list_push(arena, &request.argv, arena_printf(arena, "%s.new", *ret_object));
	struct proc_result result;
	const char *name = "the workload runtime";
	enum status status = compilers_run(&builder, &request, 1, &name, "compiling", &result, err);
	return status == ST_OK && !variant->failure ? product_place(arena, *ret_object, err) : status;
}

enum status build_link(struct session *session, struct variant *variant, struct err *err)
{
	if (variant->failure || variant->program)
		return ST_OK;
	struct arena *arena = &session->arena;
	struct builder builder = builder_of(session, variant);
	const char *runtime = NULL;
	enum status status = runtime_get(session, variant, &runtime, err);
	if (status != ST_OK || variant->failure)
		return status;
	const char *program = path_join(arena, variant->place, "workload");
	struct string_list objects = {0};
	struct proc_request request = {.directory = variant->tree};
	if (!shell_split(arena, variant->config.cc, &request.argv))
		BUG("compiler %s was split before", variant->config.cc);
	for (size_t i = 0; i < variant->units.count; i++) {
		if (!variant->units.at[i].object)
			BUG("%s is linked before it is compiled", variant->units.at[i].source);
		list_push(arena, &request.argv, variant->units.at[i].object);
		list_push(arena, &objects, variant->units.at[i].object);
	}
	list_push(arena, &request.argv, runtime);
	list_push(arena, &objects, runtime);
	/* The driver's command holds the workload's, the configuration's and the candidate's flags. */
	for (size_t i = 1; variant->units.count && i < variant->units.at[0].argv.count; i++)
		if (is_link_flag(variant->units.at[0].argv.at[i]))
			list_push(arena, &request.argv, variant->units.at[0].argv.at[i]);
	const struct workload *workload = variant->workload;
	for (size_t i = 0; workload && i < workload->libs.count; i++)
		list_push(arena, &request.argv, map_text(arena, &builder.mapping, workload->libs.at[i]));
	variant->link = (struct link_recipe){.directory = request.directory, .objects = objects};
	words_push(arena, &variant->link.argv, &request.argv);
	list_push(arena, &request.argv, "-o");
	list_push(arena, &request.argv, arena_printf(arena, "%s.new", program));
	if (!path_is_file(program)) {
		struct proc_result result;
		const char *name = workload ? arena_printf(arena, "linking the workload %s", workload->name) : "linking";
		status = compilers_run(&builder, &request, 1, &name, "linking", &result, err);
		if (status != ST_OK || variant->failure)
			return status;
		status = product_place(arena, program, err);
	}
	variant->program = program;
	return status;
}

enum status build_copy(struct session *session, const struct variant *variant, struct variant *ret_copy,
                       struct err *err)
{
	struct arena *arena = &session->arena;
	if (!variant->program)
		BUG("a variant without a program is copied");
	*ret_copy = *variant;
	ret_copy->name = "copy";
	ret_copy->place = arena_printf(arena, "%s/p%016llx", session->workdir, text_mix(TEXT_HASH_SEED + 1, variant->place));
	ret_copy->program = path_join(arena, ret_copy->place, path_base(variant->program));
	if (path_is_file(ret_copy->program))
		return ST_OK;
	struct arena scratch;
	arena_init(&scratch);
	const char *bytes = NULL;
	size_t size = 0;
	enum status status = folder_make(ret_copy->place, err);
	if (status == ST_OK)
		status = file_read(&scratch, variant->program, &bytes, &size, err);
	const char *partial = arena_printf(&scratch, "%s.new", ret_copy->program);
	if (status == ST_OK)
		status = file_write(partial, bytes, size, err);
	if (status == ST_OK && chmod(partial, 0755) != 0)
		status = err_set(err, ST_SYSTEM, "can't make %s executable", partial);
	if (status == ST_OK)
		status = product_place(&scratch, ret_copy->program, err);
	arena_release(&scratch);
	return status;
}
