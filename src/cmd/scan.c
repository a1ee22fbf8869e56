#include "cmd/cmd.h"

#include "base/text.h"
#include "stage/stages.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* "P02:lib/x.c:f:1f3a" -> "P02-lib-x.c-f-1f3a.patch": a name for every file system and shell. */
static char *patch_name(struct arena *arena, const char *id)
{
	char *name = arena_printf(arena, "%s.patch", id);
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._+-", *at))
			*at = '-';
	return name;
}

static enum status patches_write(struct work *work, const char *folder, struct string_list *ret_paths, struct err *err)
{
	struct arena *arena = &work->session.arena;
	if (mkdir(folder, 0777) != 0 && errno != EEXIST)
		return err_errno(err, errno, "--patches: can't make the folder %s", folder);
	for (size_t i = 0; i < work->session.run.findings.count; i++) {
		const struct finding *finding = work->session.run.findings.at[i];
		if (!finding->candidate)
			continue;
		const char *path = path_join(arena, folder, patch_name(arena, finding->id));
		FILE *file = fopen(path, "we");
		if (!file)
			return err_errno(err, errno, "--patches: can't write %s", path);
		fputs(finding->candidate, file);
		bool failed = ferror(file);
		if (fclose(file) != 0 || failed)
			return err_errno(err, errno, "--patches: can't write %s", path);
		list_push(arena, ret_paths, path);
	}
	return ST_OK;
}

int command_scan(struct invocation *invocation)
{
	struct err err = ERR_INIT;
	struct work work = {0};
	const char *project = NULL;
	struct string_list paths, patches = {0};
	enum status status = work_paths(invocation->arena, &invocation->options, &project, &paths, &err);
	if (status == ST_OK)
		status = work_open(invocation, project, &work, &err);
	int code;
	if (status == ST_OK) {
		struct narrowing narrowing;
		struct profile *profile = NULL;
		status = work_narrowing(&work, &narrowing, &err);
		if (status == ST_OK)
			status = work_profile(&work, &profile, &err);
		if (status == ST_OK)
			status = work_scan(&work, &paths, &err);
		if (status == ST_OK)
			status = hypothesize_findings(&work.session, &err);
		if (status == ST_OK)
			work_narrow(&work, &narrowing, &paths);
		/* After the narrowing: what is left out need not be compiled. */
		if (status == ST_OK)
			status = work_rank(&work, profile, &err);
		/* A scan settles nothing: its hypotheses are those of the next audit. */
		work.session.run.hypotheses = (struct hypothesis_list){0};
		if (status == ST_OK && invocation->options.patches)
			status = patches_write(&work, invocation->options.patches, &patches, &err);
		work_keep_scan(&work);
		code = work_finish(&work, status, &err, term_scan);
		FILE *names = invocation->options.format != FORMAT_TEXT && !invocation->options.output ? stderr : stdout;
		for (size_t i = 0; i < patches.count; i++)
			fprintf(names, "%s\n", patches.at[i]);
	} else {
		code = complain(&err);
	}
	work_release(&work);
	return code;
}
