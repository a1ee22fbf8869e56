/* Commands → variants that are run as they are, or in a copy of the tree that the project's own build made.
 *
 *     bHASH/      a full copy: nothing that is built in it can reach the user's tree or another copy
 *     bHASH.said  "" when it is built, else why it is not
 *
 * The names are of equal length, as all in the working folder are (build.c).
 */
#include "base/text.h"
#include "port/command.h"
#include "port/patch.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUILD_TIMEOUT_S = 1800, SAID_LINES = 10 };

/* ---- what is started ----------------------------------------------------------------------------------------------- */

/* NULL: execvp() will find it. */
static const char *program_lack(struct arena *arena, const char *program, const char *directory)
{
	if (strchr(program, '/'))
		return access(path_join(arena, directory, program), X_OK) == 0
		           ? NULL
		           : arena_printf(arena, "can't start %s in %s: there is no such program", program, directory);
	const char *path = getenv("PATH");
	for (const char *at = path ? path : "/bin:/usr/bin"; *at;) {
		size_t size = strcspn(at, ":");
		const char *folder = size ? arena_strndup(arena, at, size) : ".";
		if (access(path_join(arena, path_join(arena, directory, folder), program), X_OK) == 0)
			return NULL;
		at += size + (at[size] == ':');
	}
	return arena_printf(arena, "can't start %s: no folder of PATH has such a program", program);
}

static void command_set(struct session *session, const char *text, const char *directory, struct variant *variant)
{
	struct arena *arena = &session->arena;
	const struct workload *workload = variant->workload;
	struct command_line *command = arena_new(arena, struct command_line);
	command->text = text;
	command->directory = directory;
	if (workload->stdin_path)
		command->stdin_path = path_clean(arena, path_join(arena, directory, workload->stdin_path));
	variant->command = command;
	if (!command_words(arena, text, workload->shell, &command->argv)) {
		variant->failure = arena_printf(arena, "the command can't be read, it is empty or a quote is left open: %s", text);
		return;
	}
	struct arena scratch;
	arena_init(&scratch);
	const char *lack = program_lack(&scratch, command->argv.at[0], directory);
	if (!lack && command->stdin_path && access(command->stdin_path, R_OK) != 0)
		lack = arena_printf(&scratch, "its input %s can't be read", command->stdin_path);
	variant->failure = arena_strdup(arena, lack);
	arena_release(&scratch);
}

/* ---- the build ------------------------------------------------------------------------------------------------------- */

/* Does a file that steers a build name the user's tree? Then the build would read from there, or even write to it. */
static bool names_tree(const char *text, const char *tree)
{
	size_t size = strlen(tree);
	for (const char *at = text; (at = strstr(at, tree)); at += size) {
		char before = at == text ? ' ' : at[-1], after = at[size];
		bool part_before = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') ||
		                   (before >= '0' && before <= '9') || strchr("_./-", before);
		bool part_after = (after >= 'a' && after <= 'z') || (after >= 'A' && after <= 'Z') ||
		                  (after >= '0' && after <= '9') || (after && strchr("_.-", after));
		if (!part_before && !part_after)
			return true;
	}
	return false;
}

static const char *foreign_file(struct session *session, const char *copy)
{
	static const char *const names[] = {"Makefile",       "GNUmakefile",    "config.status",        "CMakeCache.txt",
	                                    "build.ninja",    "build/Makefile", "build/CMakeCache.txt", "build/build.ninja",
	                                    "build/config.status"};
	const char *tree = session->project.origin ? session->project.origin : session->project.tree;
	if (path_under(session->workdir, tree))
		return NULL; /* the copy itself lies in the tree, so that its own name holds the tree's */
	struct arena scratch;
	arena_init(&scratch);
	const char *found = NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) {
		const char *text = NULL;
		size_t size = 0;
		struct err missing = ERR_INIT;
		if (file_read(&scratch, path_join(&scratch, copy, names[i]), &text, &size, &missing) == ST_OK &&
		    names_tree(text, tree))
			found = names[i];
	}
	arena_release(&scratch);
	return found;
}

/* Newer than anything in the copy: a patch may change what is no source by its name. */
static void changed_touch(struct arena *arena, const struct hypothesis *hypothesis, const char *copy)
{
	struct patch patch;
	struct err ignored = ERR_INIT;
	if (!hypothesis || hypothesis->kind != CANDIDATE_PATCH ||
	    patch_parse(arena, hypothesis->text, strlen(hypothesis->text), copy, &patch, &ignored) != ST_OK)
		return;
	for (size_t i = 0; i < patch.files.count; i++)
		utimensat(AT_FDCWD, path_join(arena, copy, patch.files.at[i].path), NULL, 0);
}

/* Copies and builds. *ret_said "": it is built. */
static enum status copy_build(struct session *session, const struct hypothesis *hypothesis, const struct variant *variant,
                              const char *copy, const char **ret_said, struct err *err)
{
	struct arena *arena = &session->arena;
	const char *build = session->project.build;
	*ret_said = "";
	enum status status = tree_remove(copy, err);
	session_progress(session, arena_printf(arena, "copying the tree for the %s", variant->name), 0, 0, -1);
	if (status == ST_OK)
		status = tree_copy(arena, variant->tree, copy, err);
	if (status != ST_OK)
		return status;
	changed_touch(arena, hypothesis, copy);
	struct proc_request request = {
	    .directory = copy, .timeout_s = BUILD_TIMEOUT_S, .cpu = -1, .interrupted = session->interrupted};
	struct proc_result result;
	if (!command_words(arena, build, true, &request.argv)) {
		*ret_said = "the project's `build` is empty";
		return ST_OK;
	}
	session_progress(session, arena_printf(arena, "building the %s: %s", variant->name, build), 0, 0, -1);
	status = proc_run(arena, &request, &result, err);
	if (status == ST_OK && result.end == PROC_INTERRUPTED)
		status = err_set(err, ST_INTERRUPTED, "interrupted");
	if (status != ST_OK)
		return status;
	if (!proc_ok(&result)) {
		const char *said = text_tail(arena, result.err[0] ? result.err : result.out, SAID_LINES);
		*ret_said = arena_printf(arena, "`%s` fails in the copy of the tree, %s: %s", build,
		                         proc_describe(arena, &request, &result), said);
		return ST_OK;
	}
	const char *foreign = foreign_file(session, copy);
	if (foreign)
		*ret_said = arena_printf(arena,
		                         "%s in the copy names the original tree %s, so `%s` builds from there: let `build` configure "
		                         "the copy anew, or keep build folders out of the tree",
		                         foreign, session->project.origin ? session->project.origin : session->project.tree, build);
	return ST_OK;
}

static enum status copy_get(struct session *session, const struct hypothesis *hypothesis, struct variant *variant,
                            struct err *err)
{
	struct arena *arena = &session->arena;
	/* The tree's name follows from the patch. */
	const char *key = arena_printf(arena, "%s %s", variant->tree, session->project.build);
	const char *copy = arena_printf(arena, "%s/b%016llx", session->workdir, text_hash(key, strlen(key), TEXT_HASH_SEED));
	const char *record = arena_printf(arena, "%s.said", copy), *said = NULL;
	size_t size = 0;
	enum status status = ST_OK;
	if (access(record, F_OK) == 0) {
		status = file_read(arena, record, &said, &size, err);
	} else {
		status = copy_build(session, hypothesis, variant, copy, &said, err);
		if (status == ST_OK)
			status = file_write(record, said, strlen(said), err);
	}
	if (status == ST_OK && said[0])
		variant->failure = said;
	variant->tree = variant->place = copy;
	return status;
}

/* ---- variants ------------------------------------------------------------------------------------------------------------ */

const char *build_command_lack(const struct session *session, const struct hypothesis *hypothesis)
{
	switch (hypothesis->kind) {
	case CANDIDATE_COMMAND:
	case CANDIDATE_ENV:
		return NULL;
	case CANDIDATE_PATCH:
		return session->project.build ? NULL
		                              : "a patch can't reach a command that nothing builds: give `build: make`, or --build";
	case CANDIDATE_DEFINE:
	case CANDIDATE_FLAGS:
	case CANDIDATE_CC:
		return "macros, flags and compilers are tried on C drivers only: for a command, change its makefile by a patch";
	case CANDIDATE_NONE:
		return "there is nothing to build";
	}
	BUG("candidate_kind %d", (int)hypothesis->kind);
}

enum status build_command(struct session *session, const struct hypothesis *hypothesis, const struct workload *workload,
                          const struct build_config *config, struct variant *ret_variant, struct err *err)
{
	struct arena *arena = &session->arena;
	const struct project *project = &session->project;
	*ret_variant = (struct variant){.name = hypothesis ? "candidate" : "baseline", .config = *config, .workload = workload,
	                                .tree = project->tree};
	const char *text = hypothesis && hypothesis->kind == CANDIDATE_COMMAND ? hypothesis->text : workload->run;
	ret_variant->failure = hypothesis ? build_command_lack(session, hypothesis) : NULL;
	if (ret_variant->failure)
		return ST_OK;
	if (project->build) {
		enum status status = build_tree(session, hypothesis, workload, config, ret_variant, err);
		if (status == ST_OK && !ret_variant->failure)
			status = copy_get(session, hypothesis, ret_variant, err);
		if (status != ST_OK || ret_variant->failure)
			return status;
	}
	if (hypothesis && hypothesis->kind == CANDIDATE_ENV)
		list_push(arena, &ret_variant->env, hypothesis->text);
	command_set(session, text, project->build ? ret_variant->tree : project->dir, ret_variant);
	return ST_OK;
}
