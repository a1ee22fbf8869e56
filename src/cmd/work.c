/* A run from its beginning to its report: session, store, scan, settling. */
#include "cmd/cmd.h"

#include "base/text.h"
#include "port/cache.h"
#include "port/host.h"
#include "port/perf_events.h"
#include "port/proc.h"
#include "port/project.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static const uint64_t OBJECTS_BYTES = 1ull << 30; /* kept between runs */

/* Seeds that are chosen here stay exact in every JSON reader: 48 bits. */
static uint64_t random_bits(unsigned bits)
{
	uint64_t value = 0;
	if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) {
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		value = ((uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec) ^ ((uint64_t)getpid() << 32);
	}
	return value & ((UINT64_C(1) << bits) - 1);
}

static bool exists(struct arena *arena, const char *folder, const char *name)
{
	return access(path_join(arena, folder, name), F_OK) == 0;
}

static enum status absolute(struct arena *arena, const char *path, const char **ret_path, struct err *err)
{
	char *cwd = getcwd(NULL, 0);
	if (!cwd)
		return err_errno(err, errno, "the current folder can't be read");
	*ret_path = path_clean(arena, path_join(arena, cwd, path));
	free(cwd);
	return ST_OK;
}

/* ---- where -------------------------------------------------------------------------------------------------------- */

static bool is_root_of_project(struct arena *arena, const char *folder)
{
	static const char *const marks[] = {"assay.yaml", "compile_commands.json", "build/compile_commands.json", ".git"};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (exists(arena, folder, marks[i]))
			return true;
	return false;
}

/* A project file, or one folder: the project itself, unless the current folder is one and holds it. Several paths, or
 * other files: parts of the current folder, or of the folder that holds all of them. */
enum status work_paths(struct arena *arena, const struct options *options, const char **ret_project,
                       struct string_list *ret_paths, struct err *err)
{
	*ret_project = NULL;
	*ret_paths = (struct string_list){0};
	for (size_t i = 0; i < options->operands.count; i++) {
		const char *path = NULL;
		enum status status = absolute(arena, options->operands.at[i], &path, err);
		if (status != ST_OK)
			return status;
		if (access(path, R_OK) != 0)
			return err_errno(err, errno, "can't read %s", options->operands.at[i]);
		list_push(arena, ret_paths, path);
	}
	if (ret_paths->count == 0 || options->project)
		return ST_OK;
	const char *here = NULL;
	enum status status = absolute(arena, ".", &here, err);
	if (status != ST_OK)
		return status;
	const char *first = ret_paths->at[0];
	if (ret_paths->count == 1 && text_ends(first, ".yaml") && !path_is_folder(first)) {
		*ret_project = first;
		*ret_paths = (struct string_list){0};
		return ST_OK;
	}
	if (ret_paths->count == 1 && path_is_folder(first)) {
		bool part = path_under(first, here) && strcmp(first, here) != 0 && is_root_of_project(arena, here);
		if (!part || exists(arena, first, "assay.yaml")) {
			*ret_project = first;
			*ret_paths = (struct string_list){0};
		}
		return ST_OK;
	}
	bool all_here = true;
	for (size_t i = 0; i < ret_paths->count; i++)
		all_here = all_here && path_under(ret_paths->at[i], here);
	if (all_here)
		return ST_OK;
	const char *common = path_is_folder(first) ? first : path_dir(arena, first);
	for (size_t i = 1; i < ret_paths->count; i++)
		while (!path_under(ret_paths->at[i], common))
			common = path_dir(arena, common);
	*ret_project = common;
	return ST_OK;
}

static enum status database_set(struct session *session, const char *database, struct err *err)
{
	const char *path = NULL;
	enum status status = absolute(&session->arena, database, &path, err);
	if (status != ST_OK)
		return status;
	if (path_is_folder(path))
		path = path_join(&session->arena, path, "compile_commands.json");
	if (access(path, R_OK) != 0)
		return err_errno(err, errno, "-p %s: can't read %s", database, path);
	session->project.compile_commands = path;
	return ST_OK;
}

/* ---- the store ----------------------------------------------------------------------------------------------------- */

/* Notes name the store before the sentence. */
static const char *without_store(const char *text)
{
	return text_starts(text, "store ") ? text + strlen("store ") : text;
}

/* The first trouble is said, and then the run goes on without a store. */
void work_store_lost(struct work *work, const struct err *err)
{
	session_note(&work->session, "store", "%s; this run is not kept from here on", without_store(err->text));
	store_close(work->store);
	work->store = NULL;
}

static void keep_head(struct work *work)
{
	struct run *run = &work->session.run;
	if (!work->store)
		return;
	struct err err = ERR_INIT;
	struct store_run record = {.id = run->id, .started = run->started, .command = run->command, .tree = run->tree,
	                           .state = run_state_name(run->state), .seconds = run->seconds,
	                           .head = json_head(&work->session.arena, run)};
	if (store_run_put(work->store, &record, &err) != ST_OK)
		work_store_lost(work, &err);
}

static void keep_all(struct work *work, enum store_kind kind, const struct store_document_list *documents)
{
	struct err err = ERR_INIT;
	if (work->store && store_documents_put(work->store, work->session.run.id, kind, documents, &err) != ST_OK)
		work_store_lost(work, &err);
}

void work_keep(struct work *work, enum store_kind kind, const char *id, const char *json)
{
	struct store_document document = {.id = id, .json = json};
	struct store_document_list one = {.at = &document, .count = 1, .cap = 1};
	keep_all(work, kind, &one);
}

static void keep_trial(struct work *work, const struct trial *trial)
{
	if (work->store)
		work_keep(work, STORE_TRIAL, trial->id, json_trial(&work->session.arena, trial));
}

static void keep_hypotheses(struct work *work)
{
	struct run *run = &work->session.run;
	struct store_document_list documents = {0};
	for (size_t i = 0; i < run->hypotheses.count; i++) {
		struct store_document document = {.id = run->hypotheses.at[i]->id,
		                                  .json = json_hypothesis(&work->session.arena, run->hypotheses.at[i])};
		list_push(&work->session.arena, &documents, document);
	}
	keep_all(work, STORE_HYPOTHESIS, &documents);
}

void work_keep_scan(struct work *work)
{
	struct run *run = &work->session.run;
	struct store_document_list documents = {0};
	for (size_t i = 0; i < run->findings.count; i++) {
		struct store_document document = {.id = run->findings.at[i]->id,
		                                  .json = json_finding(&work->session.arena, run->findings.at[i])};
		list_push(&work->session.arena, &documents, document);
	}
	keep_all(work, STORE_FINDING, &documents);
	keep_head(work);
}

static void keep_notes(struct work *work)
{
	struct run *run = &work->session.run;
	struct store_document_list documents = {0};
	for (size_t i = 0; i < run->notes.count; i++) {
		struct store_document document = {.id = run->notes.at[i].where,
		                                  .json = json_note(&work->session.arena, &run->notes.at[i])};
		list_push(&work->session.arena, &documents, document);
	}
	keep_all(work, STORE_NOTE, &documents);
}

static enum status folder_only(struct session *session, const struct options *options, struct err *err)
{
	const char *folder = NULL;
	enum status status = absolute(&session->arena, options->project ? options->project : ".", &folder, err);
	if (status == ST_OK && !path_is_folder(folder))
		return err_set(err, ST_USAGE, "--project %s: there is no such folder", options->project);
	session->project = (struct project){.dir = folder, .tree = folder};
	return status;
}

/* ---- opening ------------------------------------------------------------------------------------------------------- */

static void work_begin(struct invocation *invocation, struct work *work)
{
	const struct options *options = &invocation->options;
	*work = (struct work){.invocation = invocation, .started = proc_now()};
	struct session *session = &work->session;
	arena_init(&session->arena);
	progress_begin(&work->progress);
	session->progress = (struct progress){.tick = progress_tick, .context = &work->progress};
	session->interrupted = invocation->interrupted;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	session->jobs = options->jobs ? options->jobs : cpus > 0 ? (unsigned)cpus : 1;
	session->objects.folder = options->no_cache ? NULL : cache_default_path(&session->arena, "objects");
}

/* The run's record, and the store that keeps it. */
static void run_begin(struct work *work, const char *tree)
{
	struct invocation *invocation = work->invocation;
	const struct options *options = &invocation->options;
	struct session *session = &work->session;
	struct run *run = &session->run;
	time_t now = time(NULL);
	struct tm utc;
	gmtime_r(&now, &utc);
	char stamp[32], started[32];
	strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc);
	strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &utc);
	run->id = arena_printf(&session->arena, "%s-%04x", stamp, (unsigned)random_bits(16));
	run->started = arena_strdup(&session->arena, started);
	run->command = invocation->line;
	run->version = ASSAY_VERSION;
	run->project = &session->project;
	run->tree = tree;
	run->seed = options->seed_given ? options->seed : random_bits(48);
	run->alpha = options->alpha;
	run->margin = options->margin;
	run->budget_s = options->budget_given || session->project.budget_s == 0 ? options->budget_s : session->project.budget_s;
	run->layouts = options->layouts >= 2 ? options->layouts : 0;
	host_describe(&session->arena, &run->host);

	struct err trouble = ERR_INIT;
	const char *store_path = NULL;
	if (store_default_path(&session->arena, &store_path, &trouble) != ST_OK ||
	    store_open(store_path, &work->store, &trouble) != ST_OK)
		session_note(session, "store", "%s; this run is not kept", without_store(trouble.text));
	keep_head(work);
}

enum status work_open(struct invocation *invocation, const char *path, struct work *ret_work, struct err *err)
{
	const struct options *options = &invocation->options;
	struct work *work = ret_work;
	struct session *session = &work->session;
	work_begin(invocation, work);
	const char *source = NULL;
	enum status status = options->source ? absolute(&session->arena, options->source, &source, err) : ST_OK;
	/* Two commands need no project: they are started where assay is, or where --project says. */
	if (status == ST_OK && options->vs)
		status = folder_only(session, options, err);
	else if (status == ST_OK)
		status = project_load(&session->arena, options->project ? options->project : path, source, &session->project,
		                      &session->run.notes, err);
	if (status == ST_OK && options->database)
		status = database_set(session, options->database, err);
	if (status != ST_OK)
		return status;
	run_begin(work, session->project.tree);
	return ST_OK;
}

void work_open_catalogue(struct invocation *invocation, struct work *ret_work)
{
	work_begin(invocation, ret_work);
	run_begin(ret_work, "the catalogue's examples");
}

void work_forget(struct work *work)
{
	struct err ignored = ERR_INIT;
	if (work->store && store_run_delete(work->store, work->session.run.id, &ignored) != ST_OK)
		work_store_lost(work, &ignored);
}

void work_release(struct work *work)
{
	if (!work->invocation)
		return;
	progress_clear(&work->progress);
	build_close(&work->session);
	if (work->session.objects.grown)
		cache_trim(work->session.objects.folder, OBJECTS_BYTES);
	store_close(work->store);
	arena_release(&work->session.arena);
	*work = (struct work){0};
}

/* ---- scanning ------------------------------------------------------------------------------------------------------ */

enum status work_scan(struct work *work, const struct string_list *paths, struct err *err)
{
	struct scan_request request = {.patterns = work->invocation->options.patterns};
	if (paths)
		request.paths = *paths;
	enum status status = scan(&work->session, &request, err);
	progress_clear(&work->progress);
	return status;
}

enum status work_profile(struct work *work, struct profile **ret_profile, struct err *err)
{
	const char *path = work->invocation->options.profile;
	*ret_profile = NULL;
	if (!path)
		return ST_OK;
	struct profile *profile = arena_new(&work->session.arena, struct profile);
	enum status status = profile_read(&work->session.arena, path, profile, err);
	if (status != ST_OK)
		return err_context(err, "--profile");
	*ret_profile = profile;
	return ST_OK;
}

enum status work_rank(struct work *work, const struct profile *profile, struct err *err)
{
	enum status status = ST_OK;
	if (profile)
		rank_by_profile(&work->session, profile);
	if (work->invocation->options.confirm) {
		status = build_open(&work->session, err);
		if (status == ST_OK)
			status = confirm(&work->session, err);
		progress_clear(&work->progress);
	}
	if (profile || work->invocation->options.confirm)
		findings_rank(&work->session.run.findings);
	return status;
}

void work_commands(struct work *work)
{
	scan_commands(&work->session);
}

/* "P02:lib/x.c:f:1f3a" and "lib/x.c:12": the file. */
static const char *file_of(struct arena *arena, const char *name)
{
	const char *first = strchr(name, ':'), *last = strrchr(name, ':');
	if (!first)
		return NULL;
	if (first == last)
		return last[1] && strspn(last + 1, "0123456789") == strlen(last + 1)
		           ? arena_strndup(arena, name, (size_t)(last - name))
		           : arena_strdup(arena, first + 1);
	const char *end = first + 1 + strcspn(first + 1, ":");
	return arena_strndup(arena, first + 1, (size_t)(end - first - 1));
}

static bool finding_is(const struct finding *finding, const char *name)
{
	size_t size = strlen(name);
	if (strncmp(finding->id, name, size) == 0 && (finding->id[size] == '\0' || finding->id[size] == ':' ||
	                                              (size && name[size - 1] == ':')))
		return true;
	size_t file_size = strlen(finding->file);
	return strncmp(name, finding->file, file_size) == 0 && name[file_size] == ':' &&
	       name[file_size + 1] && strspn(name + file_size + 1, "0123456789") == strlen(name + file_size + 1) &&
	       strtoul(name + file_size + 1, NULL, 10) == finding->line;
}

enum status work_finding(struct work *work, const char *name, struct finding **ret_finding, struct err *err)
{
	struct session *session = &work->session;
	struct arena *arena = &session->arena;
	const char *file = file_of(arena, name);
	if (!file || !file[0])
		return err_set(err, ST_USAGE, "'%s' names no finding: give its id (PATTERN:FILE:SYMBOL:HASH, as `assay scan` prints it) "
		               "or FILE:LINE", name);
	const char *path = path_clean(arena, path_join(arena, session->project.tree, file));
	struct string_list paths = {0};
	/* FILE:LINE may be meant from the current folder. */
	if (access(path, R_OK) != 0 && absolute(arena, file, &path, err) != ST_OK)
		return err->code;
	const char *inside = path_under(path, session->project.tree);
	if (access(path, R_OK) != 0 || !inside)
		return err_set(err, ST_INPUT, "no finding %s: there is no %s in the tree %s; --project or --source names another tree",
		               name, file, session->project.tree);
	if (strchr(name, ':') == strrchr(name, ':') && text_starts(name, file))
		name = arena_printf(arena, "%s%s", inside, strrchr(name, ':'));
	/* A header's findings come from the units that read it. */
	if (!text_ends(path, ".h"))
		list_push(arena, &paths, path);
	enum status status = work_scan(work, &paths, err);
	if (status != ST_OK)
		return status;
	struct finding *found = NULL;
	for (size_t i = 0; i < session->run.findings.count; i++) {
		struct finding *finding = session->run.findings.at[i];
		if (!finding_is(finding, name))
			continue;
		if (found)
			return err_set(err, ST_USAGE, "%s may be %s or %s: give the whole id", name, found->id, finding->id);
		found = finding;
	}
	if (!found)
		return err_set(err, ST_INPUT, "no finding %s: `assay scan %s` lists those of the file", name, file);
	session->run.findings = (struct finding_list){0};
	list_push(arena, &session->run.findings, found);
	*ret_finding = found;
	return ST_OK;
}

/* ---- workloads and configurations ------------------------------------------------------------------------------------ */

static enum status bench_workload(struct work *work, struct err *err)
{
	const struct options *options = &work->invocation->options;
	struct session *session = &work->session;
	struct arena *arena = &session->arena;
	const char *bench = NULL;
	enum status status = absolute(arena, options->bench, &bench, err);
	if (status != ST_OK)
		return status;
	if (access(bench, R_OK) != 0)
		return err_errno(err, errno, "--bench: can't read %s", options->bench);
	const char *base = path_base(bench);
	struct workload *workload = arena_new(arena, struct workload);
	workload->name = text_ends(base, ".c") ? arena_strndup(arena, base, strlen(base) - 2) : base;
	workload->bench = bench;
	for (size_t i = 0; i < options->bench_sources.count; i++) {
		const char *given = options->bench_sources.at[i];
		const char *source = path_clean(arena, path_join(arena, session->project.tree, given));
		if (access(source, R_OK) != 0 && absolute(arena, given, &source, err) != ST_OK)
			return err->code;
		if (access(source, R_OK) != 0)
			return err_errno(err, errno, "--bench-source: can't read %s, neither from here nor in the tree %s", given,
			                 session->project.tree);
		const char *inside = path_under(source, session->project.tree);
		list_push(arena, &workload->sources, inside ? inside : source);
	}
	if (options->bench_flags && !shell_split(arena, options->bench_flags, &workload->flags))
		return err_set(err, ST_USAGE, "--bench-flags: a quote is left open in: %s", options->bench_flags);
	if (options->bench_libs && !shell_split(arena, options->bench_libs, &workload->libs))
		return err_set(err, ST_USAGE, "--bench-libs: a quote is left open in: %s", options->bench_libs);
	workload->params = options->params;
	char *argument = arena_printf(arena, "--bench %s", shell_quote(arena, bench));
	for (size_t i = 0; i < workload->sources.count; i++)
		argument = arena_printf(arena, "%s --bench-source %s", argument, shell_quote(arena, workload->sources.at[i]));
	if (options->bench_flags)
		argument = arena_printf(arena, "%s --bench-flags %s", argument, shell_quote(arena, options->bench_flags));
	if (options->bench_libs)
		argument = arena_printf(arena, "%s --bench-libs %s", argument, shell_quote(arena, options->bench_libs));
	workload->argument = argument;
	session->project.workloads = (struct workload_list){0};
	list_push(arena, &session->project.workloads, workload);
	return ST_OK;
}

/* What the command line says of commands, for one of them; and the words that say so again. */
static enum status command_options(struct work *work, struct workload *workload, const char *named, struct err *err)
{
	const struct options *options = &work->invocation->options;
	struct arena *arena = &work->session.arena;
	char *argument = arena_strdup(arena, named);
	const char *problem = NULL;
	if (options->metric || options->better)
		problem = workload_metric_set(arena, workload, options->metric, NULL, options->better);
	if (!problem && options->cpus)
		problem = workload_cpus_set(arena, workload, options->cpus);
	if (problem)
		return err_set(err, ST_USAGE, "%s", problem);
	if (options->metric)
		argument = arena_printf(arena, "%s --metric %s", argument, shell_quote(arena, options->metric));
	if (options->better)
		argument = arena_printf(arena, "%s --better %s", argument, options->better);
	if (options->cpus)
		argument = arena_printf(arena, "%s --cpus %s", argument, options->cpus);
	if (options->stdin_path) {
		enum status status = absolute(arena, options->stdin_path, &workload->stdin_path, err);
		if (status != ST_OK)
			return status;
		argument = arena_printf(arena, "%s --stdin %s", argument, shell_quote(arena, workload->stdin_path));
	}
	if (options->shell) {
		workload->shell = true;
		argument = arena_printf(arena, "%s --shell", argument);
	}
	if (options->any_output) {
		workload->any_output = true;
		argument = arena_printf(arena, "%s --any-output", argument);
	}
	workload->argument = argument[0] == ' ' ? argument + 1 : argument;
	return ST_OK;
}

/* --run COMMAND, or the command behind --. */
static enum status command_workload(struct work *work, struct err *err)
{
	const struct options *options = &work->invocation->options;
	struct session *session = &work->session;
	struct arena *arena = &session->arena;
	struct workload *workload = arena_new(arena, struct workload);
	workload->cpu = CPU_CHOOSE;
	workload->run = options->run;
	char *named = arena_strdup(arena, "");
	if (options->vs) {
		/* One word is the whole line; several are as the shell that called us split them. */
		struct string_list words = {0};
		for (size_t i = 0; i < options->operands.count; i++)
			list_push(arena, &words, shell_quote(arena, options->operands.at[i]));
		bool line = options->operands.count == 1 && (options->shell || access(options->operands.at[0], X_OK) != 0);
		workload->run = line ? options->operands.at[0] : text_join(arena, &words, " ");
	} else {
		named = arena_printf(arena, "--run %s", shell_quote(arena, options->run));
		if (options->build)
			named = arena_printf(arena, "%s --build %s", named, shell_quote(arena, options->build));
	}
	workload->name = workload->run;
	session->project.workloads = (struct workload_list){0};
	list_push(arena, &session->project.workloads, workload);
	return command_options(work, workload, named, err);
}

static const char *workload_names(struct arena *arena, const struct workload_list *workloads)
{
	struct string_list names = {0};
	for (size_t i = 0; i < workloads->count; i++)
		list_push(arena, &names, workloads->at[i]->name);
	return names.count ? text_join(arena, &names, ", ") : "it has none";
}

static bool wanted(const struct string_list *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->at[i], name) == 0)
			return true;
	return names->count == 0;
}

enum status work_workloads(struct work *work, struct err *err)
{
	const struct options *options = &work->invocation->options;
	struct project *project = &work->session.project;
	struct arena *arena = &work->session.arena;
	if (options->bench) {
		if (options->workloads.count)
			return err_set(err, ST_USAGE, "give either --bench or --workload, not both");
		return bench_workload(work, err);
	}
	if (options->vs && (options->run || options->build || options->workloads.count))
		return err_set(err, ST_USAGE, "--vs compares with the command behind `--`: leave out --run, --build and --workload");
	if (options->run && options->workloads.count)
		return err_set(err, ST_USAGE, "give either --run or --workload, not both");
	if (options->build)
		project->build = options->build;
	if (options->vs || options->run)
		return command_workload(work, err);
	if (options->bench_sources.count || options->bench_flags || options->bench_libs)
		return err_set(err, ST_USAGE, "--bench-source, --bench-flags and --bench-libs need --bench FILE.c");
	for (size_t i = 0; i < options->workloads.count; i++)
		if (!workload_find(&project->workloads, options->workloads.at[i]))
			return err_set(err, ST_USAGE, "no workload '%s' in %s: %s", options->workloads.at[i],
			               project->file ? project->file : project->dir, workload_names(arena, &project->workloads));
	struct workload_list kept = {0};
	for (size_t i = 0; i < project->workloads.count; i++) {
		if (!wanted(&options->workloads, project->workloads.at[i]->name))
			continue;
		struct workload *copy = arena_new(arena, struct workload);
		*copy = *project->workloads.at[i];
		list_push(arena, &kept, copy);
	}
	project->workloads = kept;
	bool for_commands = options->metric || options->better || options->cpus || options->stdin_path || options->shell ||
	                    options->any_output;
	size_t commands = 0;
	for (size_t i = 0; i < kept.count; i++) {
		if (!kept.at[i]->run)
			continue;
		commands++;
		const char *named = arena_printf(arena, "--workload %s", shell_quote(arena, kept.at[i]->name));
		if (options->build)
			named = arena_printf(arena, "%s --build %s", named, shell_quote(arena, options->build));
		enum status status = command_options(work, kept.at[i], named, err);
		if (status != ST_OK)
			return status;
	}
	if (commands == 0 && (for_commands || options->build))
		return err_set(err, ST_USAGE, "--metric, --better, --cpus, --stdin, --shell, --any-output and --build are for commands, and "
		               "no workload is one: give --run or --vs");
	for (size_t p = 0; p < options->params.count; p++) {
		const struct param *given = &options->params.at[p];
		bool used = false;
		for (size_t i = 0; i < kept.count; i++) {
			struct param_list *own = &kept.at[i]->params;
			struct param_list narrowed = {0};
			for (size_t k = 0; k < own->count; k++) {
				bool same = strcmp(own->at[k].name, given->name) == 0;
				used = used || same;
				list_push(arena, &narrowed, same ? *given : own->at[k]);
			}
			kept.at[i]->params = narrowed;
		}
		if (!used)
			return err_set(err, ST_USAGE, "no workload has a parameter '%s': see `params` in %s", given->name,
			               project->file ? project->file : "the project file");
	}
	return ST_OK;
}

/* The -O level of a command or of flags; NULL: none. The last one counts. */
static const char *level_of(const struct string_list *words)
{
	const char *level = NULL;
	for (size_t i = 0; i < words->count; i++)
		if (text_starts(words->at[i], "-O"))
			level = words->at[i];
	return level;
}

/* The level that all workloads and commands agree on, -O2 when none is named; "" when they differ: each keeps its own,
 * and a workload without one gets -O2. */
static const char *default_level(struct session *session)
{
	const char *common = NULL;
	bool differ = false;
	for (size_t i = 0; i < session->project.workloads.count; i++) {
		const char *level = level_of(&session->project.workloads.at[i]->flags);
		differ = differ || (level && common && strcmp(level, common) != 0);
		common = level ? level : common;
	}
	for (size_t i = 0; i < session->commands.count; i++) {
		const char *level = session->commands.at[i].guessed ? NULL : level_of(&session->commands.at[i].argv);
		differ = differ || (level && common && strcmp(level, common) != 0);
		common = level ? level : common;
	}
	if (!differ)
		return common ? common : "-O2";
	for (size_t i = 0; i < session->project.workloads.count; i++) {
		struct workload *workload = session->project.workloads.at[i];
		if (level_of(&workload->flags))
			continue;
		struct string_list flags = {0};
		list_push(&session->arena, &flags, "-O2");
		for (size_t k = 0; k < workload->flags.count; k++)
			list_push(&session->arena, &flags, workload->flags.at[k]);
		workload->flags = flags;
	}
	return "";
}

/* The first line that the compiler says of itself; NULL with the error set: it can't be started. */
static const char *compiler_version(struct work *work, const char *cc, struct err *err)
{
	struct arena *arena = &work->session.arena;
	struct proc_request request = {.timeout_s = 10, .cpu = -1, .interrupted = work->session.interrupted};
	if (!shell_split(arena, cc, &request.argv) || request.argv.count == 0) {
		err_set(err, ST_USAGE, "the compiler's name '%s' can't be read", cc);
		return NULL;
	}
	list_push(arena, &request.argv, "--version");
	struct proc_result result;
	if (proc_run(arena, &request, &result, err) != ST_OK)
		return NULL;
	if (!proc_ok(&result)) {
		err_set(err, ST_INPUT, "the compiler %s can't be used (%s): install it or name another by --matrix cc=…", cc,
		        proc_describe(arena, &request, &result));
		return NULL;
	}
	return arena_strndup(arena, result.out, strcspn(result.out, "\n"));
}

static enum status default_compiler(struct work *work, const char **ret_cc, struct err *err)
{
	struct session *session = &work->session;
	const char *from_environment = getenv("CC");
	struct string_list candidates = {0};
	if (from_environment && from_environment[0])
		list_push(&session->arena, &candidates, from_environment);
	for (size_t i = 0; session->run.database && i < session->commands.count && candidates.count == 0; i++)
		if (!session->commands.at[i].guessed && session->commands.at[i].argv.count)
			list_push(&session->arena, &candidates, session->commands.at[i].argv.at[0]);
	list_push(&session->arena, &candidates, "gcc");
	list_push(&session->arena, &candidates, "cc");
	list_push(&session->arena, &candidates, "clang");
	for (size_t i = 0; i < candidates.count; i++) {
		struct err trouble = ERR_INIT;
		if (compiler_version(work, candidates.at[i], &trouble)) {
			*ret_cc = candidates.at[i];
			return ST_OK;
		}
		if (*session->interrupted)
			return err_set(err, ST_INTERRUPTED, "interrupted");
		if (i == 0 && from_environment && from_environment[0])
			return err_set(err, ST_INPUT, "CC=%s: %s", from_environment, trouble.text);
	}
	return err_set(err, ST_INPUT, "no C compiler is found: install gcc (apt-get install gcc) or name one by --matrix cc=…");
}

static enum status configs_choose(struct work *work, struct settle_options *settle, struct err *err)
{
	const struct options *options = &work->invocation->options;
	struct session *session = &work->session;
	struct arena *arena = &session->arena;
	struct string_list compilers = options->matrix_cc, flags = options->matrix_flags;
	/* Commands are built by the project, or not at all. */
	bool drivers = session->project.workloads.count == 0;
	for (size_t i = 0; i < session->project.workloads.count; i++)
		drivers = drivers || !session->project.workloads.at[i]->run;
	if (!drivers && compilers.count == 0 && flags.count == 0 && !options->cc) {
		struct build_config none = {.cc = "", .flags = ""};
		list_push(arena, &settle->configs, none);
		return ST_OK;
	}
	if (compilers.count == 0) {
		const char *cc = NULL;
		enum status status = default_compiler(work, &cc, err);
		if (status != ST_OK)
			return status;
		list_push(arena, &compilers, cc);
	}
	if (flags.count == 0)
		list_push(arena, &flags, default_level(session));
	struct string_list versions = compilers;
	if (options->cc)
		list_push(arena, &versions, options->cc);
	struct err last = ERR_INIT;
	for (size_t i = 0; i < versions.count; i++) {
		struct err trouble = ERR_INIT;
		const char *version = compiler_version(work, versions.at[i], &trouble);
		if (*session->interrupted)
			return err_set(err, ST_INTERRUPTED, "interrupted");
		if (!version) {
			last = trouble;
			/* Of a whole matrix one may be missing; what was asked for alone may not. */
			if (i >= compilers.count || compilers.count == 1)
				return err_set(err, trouble.code, "%s", trouble.text);
			session_note(session, versions.at[i], "%s; the other compilers go on", trouble.text);
			session->run.untried++;
			continue;
		}
		struct compiler compiler = {.command = versions.at[i], .version = version};
		list_push(arena, &session->run.compilers, compiler);
		for (size_t k = 0; i < compilers.count && k < flags.count; k++) {
			struct build_config config = {.cc = versions.at[i], .flags = flags.at[k]};
			list_push(arena, &settle->configs, config);
		}
	}
	return settle->configs.count ? ST_OK : err_set(err, last.code, "%s", last.text);
}

/* ---- settling -------------------------------------------------------------------------------------------------------- */

struct sink_context {
	struct work *work;
	const char *trial;
	unsigned control;
};

/* A store that fails is said once, by work_store_lost(): the sink itself never fails. */
static enum status sample_put(void *context, const struct pair *pair, struct err *err)
{
	struct sink_context *sink = context;
	(void)err;
	struct err trouble = ERR_INIT;
	if (sink->work->store && store_pair_put(sink->work->store, sink->work->session.run.id, sink->trial, sink->control, pair,
	                                        &trouble) != ST_OK)
		work_store_lost(sink->work, &trouble);
	return ST_OK;
}

static struct sample_sink sink_make(void *context, const struct trial *trial, unsigned control)
{
	struct work *work = context;
	struct sink_context *sink = arena_new(&work->session.arena, struct sink_context);
	*sink = (struct sink_context){.work = work, .trial = trial->id, .control = control};
	return (struct sample_sink){.put = sample_put, .context = sink};
}

static void keep_measurement(void *context, const struct trial *trial, unsigned control,
                             const struct measurement *measurement, bool ended)
{
	struct work *work = context;
	struct err trouble = ERR_INIT;
	if (work->store && store_measurement_put(work->store, work->session.run.id, trial->id, control, measurement, ended,
	                                         &trouble) != ST_OK)
		work_store_lost(work, &trouble);
}

void work_subject(struct work *work, const char *named, const struct binding_list *params)
{
	struct arena *arena = &work->session.arena;
	char *subject = arena_strdup(arena, named);
	for (size_t i = 0; i < params->count; i++)
		subject = arena_printf(arena, "%s %s=%s", subject, params->at[i].name, params->at[i].value);
	work->progress.subject = subject;
}

void work_settled(struct work *work)
{
	work->progress.settled++;
	work->progress.subject = NULL;
}

/* Hypotheses are settled in their order: those before this one are done. */
static void progress_hypothesis(struct work *work, const struct hypothesis *hypothesis)
{
	const struct hypothesis_list *list = &work->session.run.hypotheses;
	size_t done = 0;
	while (done < list->count && list->at[done] != hypothesis)
		done++;
	progress_part(&work->progress, done, list->count);
}

static void trial_begins(void *context, const struct trial *trial)
{
	struct work *work = context;
	struct arena *arena = &work->session.arena;
	const char *subject = hypothesis_title(trial->hypothesis);
	if (trial->workload && trial->hypothesis->kind != CANDIDATE_COMMAND)
		subject = arena_printf(arena, "%s: %s", subject, trial->workload->name);
	work_subject(work, subject, &trial->params);
	progress_hypothesis(work, trial->hypothesis);
	/* Kept before its first sample: killed in the middle, `show` knows what the samples belong to. */
	keep_trial(work, trial);
}

static void trial_done(void *context, const struct trial *trial)
{
	struct work *work = context;
	work_settled(work);
	progress_hypothesis(work, trial->hypothesis);
	keep_trial(work, trial);
}

/* Of all hypotheses: that only rounding changes is known when the results are compared. */
static void contracts_accept(struct session *session)
{
	for (size_t i = 0; i < session->run.hypotheses.count; i++)
		if (!session->run.hypotheses.at[i]->contract_accepted)
			session->run.hypotheses.at[i]->contract_accepted = ACCEPTED_BY_OPTION;
}

enum status work_settle(struct work *work, struct err *err)
{
	const struct options *options = &work->invocation->options;
	struct session *session = &work->session;
	struct settle_options settle = {
		.to_rung = options->to_rung, .measure_anyway = options->measure_anyway,
		.with_workload = options->with_workload, .accept_contract = options->accept_contract, .alpha = options->alpha,
		.margin = options->margin, .budget_s = session->run.budget_s, .budget_asked = options->budget_given,
		.layouts = options->layouts, .seed = session->run.seed,
		.maps = work->invocation->command->bit == CMD_AUDIT, .context = work,
		.trial_begins = trial_begins, .samples = sink_make, .measurement = keep_measurement, .trial_done = trial_done,
	};
	session->events = options->events;
	struct perf_event_set named;
	enum status status = options->events.count ? perf_events_named(&session->arena, &session->events, &named, err) : ST_OK;
	if (status != ST_OK)
		return err_context(err, "--events");
	work_surveys_kept(work, &settle);
	status = configs_choose(work, &settle, err);
	if (status != ST_OK)
		return status;
	if (settle.accept_contract)
		contracts_accept(session);
	keep_head(work);
	keep_hypotheses(work);
	status = settle_all(session, &settle, err);
	/* Holm's gate looks at all of a hypothesis, so it may have the last word on a trial that was kept before. */
	for (size_t i = 0; i < session->run.trials.count; i++)
		if (session->run.trials.at[i]->p_adjusted > 0)
			keep_trial(work, session->run.trials.at[i]);
	progress_clear(&work->progress);
	return status;
}

/* ---- the end ----------------------------------------------------------------------------------------------------------- */

/* Nothing could be judged since the machine is disturbed: its controls say so. */
static bool machine_unfit(const struct run *run)
{
	bool refused = false;
	for (size_t i = 0; i < run->trials.count; i++) {
		const struct trial *trial = run->trials.at[i];
		if (trial->control.done && trial->control.quiet)
			return false;
		refused = refused || (trial->control.done && trial->verdict == VERDICT_INCONCLUSIVE);
	}
	for (size_t i = 0; i < run->surveys.count; i++) {
		const struct control *control = &run->surveys.at[i]->control;
		if (control->done && control->quiet)
			return false;
		refused = refused || control->done;
	}
	return refused;
}

static int gate_finish(struct work *work)
{
	const struct options *options = &work->invocation->options;
	if (!options->require_given && !options->forbid_given)
		return machine_unfit(&work->session.run) ? EXIT_JUDGE : EXIT_DONE;
	const char *text = NULL;
	switch (gate_judge(&work->session.arena, &work->session.run, options, &text)) {
	case GATE_PASSED:
		return EXIT_DONE;
	case GATE_FAILED:
		fprintf(stderr, "assay: the gate failed: %s\n", text);
		return EXIT_GATE;
	case GATE_UNDECIDED:
		fprintf(stderr, "assay: the gate can't be judged: %s\n", text);
		return EXIT_JUDGE;
	}
	BUG("no such gate");
}

int work_finish(struct work *work, enum status status, struct err *err, print_run *print)
{
	struct session *session = &work->session;
	struct run *run = &session->run;
	progress_clear(&work->progress);
	build_close(session);
	run->state = status == ST_OK ? RUN_DONE : status == ST_INTERRUPTED ? RUN_INTERRUPTED : RUN_FAILED;
	run->seconds = proc_now() - work->started;
	keep_notes(work);
	keep_head(work);
	/* A mistyped command is no run that anyone wants to see again. */
	if (status == ST_USAGE)
		work_forget(work);
	int code = EXIT_DONE;
	/* What failed before anything was found has nothing to report but its error. */
	if (status == ST_OK || status == ST_INTERRUPTED || run->trials.count || run->surveys.count || run->findings.count) {
		struct output output;
		struct err trouble = ERR_INIT;
		enum status written = output_open(&output, &work->invocation->options, &trouble);
		if (written == ST_OK) {
			output.term.kept = work->store != NULL;
			output.term.all = work->invocation->options.all;
			/* When settling never began, what the scan found stands. */
			bool settled = status == ST_OK || status == ST_INTERRUPTED || run->trials.count || run->surveys.count;
			run_print(&output, &session->arena, run, work->invocation->options.format, settled ? print : term_scan);
			written = output_close(&output, &trouble);
		}
		if (written != ST_OK)
			code = complain(&trouble);
	}
	if (status == ST_INTERRUPTED) {
		fprintf(stderr, "assay: interrupted%s%s\n", work->store ? ", what was measured is kept: assay show " : "",
		        work->store ? run->id : "");
		return EXIT_FAILED;
	}
	if (status != ST_OK)
		return complain(err);
	return code == EXIT_DONE ? gate_finish(work) : code;
}
