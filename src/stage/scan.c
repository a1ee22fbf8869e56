/* scan: source → findings.
 *
 * Units are parsed in forked workers, one unit at a time each: a deep expression can kill or hang the front end, and
 * only a process can be killed and replaced. A worker gets a unit's number and answers with one JSON document behind its
 * length. The parent puts the answers together in the order of the units, so that the result doesn't depend on which
 * worker was faster.
 */
#include "stage/stages.h"

#include "base/comment.h"
#include "base/text.h"
#include "patterns/pattern.h"
#include "port/ast.h"
#include "port/compdb.h"
#include "port/json.h"
#include "port/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIT_TIMEOUT_S 120.0 /* by the wall clock: a busy machine makes four seconds thirty */
#define PROJECT_TIMEOUT_S 300.0
enum {
	UNITS_PER_WORKER = 64, /* then it is replaced: libclang keeps memory */
	ERRORS_SENT = 5,
	NOTES_OF_ERRORS = 20,
	ANSWER_BYTES_MAX = 256 * 1024 * 1024,
};

struct unit_result {
	bool answered, parsed;
	const char *failure; /* why there is no answer, or why it could not be parsed */
	struct unit_answer answer;
};

LIST_OF(size_t, index_list);

struct scanning {
	struct session *session;
	const struct scan_request *request;
	struct arena scratch;
	const char *tree;
	struct string_list roots; /* absolute, clean: what is scanned */
	struct index_list units;  /* of session->commands */
	struct unit_result *results;
	const bool *pattern_on;   /* one for each of the registry */
	double unit_timeout_s;
	struct found_list project_found; /* what detect_project of all patterns found */
};

/* ---- the worker ---------------------------------------------------------------------------------------------------- */

static const char *relative(struct arena *arena, const char *tree, const char *path)
{
	if (path[0] != '/')
		return path;
	const char *under = path_under(path, tree);
	return arena_strdup(arena, under ? under : path);
}

struct anchoring {
	struct arena *arena;
	unsigned line;
	const char *file;
	unsigned statement; /* first line of the innermost statement around it */
	unsigned loop_end;  /* last line of the innermost loop around it */
	const char *function;
	struct line_list *anchors;
};

static bool anchor_visit(struct ast_node *node, void *context)
{
	struct anchoring *anchoring = context;
	const struct ast_range *range = &node->range;
	if (!text_equal(range->file, anchoring->file) || range->line > anchoring->line || range->end_line < anchoring->line)
		return false;
	bool statement = node->parent && node->parent->kind == AST_COMPOUND;
	if (statement && range->line > anchoring->statement)
		anchoring->statement = range->line;
	if (node->kind == AST_FUNCTION)
		anchoring->function = node->name;
	if (ast_is_loop(node)) {
		list_push(anchoring->arena, anchoring->anchors, range->line);
		anchoring->loop_end = range->end_line;
	}
	return true;
}

/* Also sets the finding's function and loop. */
static struct line_list anchors_of(struct arena *arena, const struct ast_unit *unit, struct finding *finding)
{
	struct line_list anchors = {0};
	struct anchoring anchoring = {.arena = arena, .line = finding->line, .anchors = &anchors,
	                              .file = path_join(arena, unit->tree, finding->file)};
	for (size_t i = 0; i < unit->top.count; i++)
		if (unit->top.at[i]->kind == AST_FUNCTION && unit->top.at[i]->is_definition)
			ast_walk(unit->top.at[i], anchor_visit, &anchoring);
	if (anchoring.statement)
		list_push(arena, &anchors, anchoring.statement);
	finding->function = anchoring.function;
	finding->loop_end = anchoring.loop_end;
	return anchors;
}

/* The answer as JSON, to be freed; NULL: out of memory. */
static char *unit_scan(const struct scanning *scanning, const struct compile_command *command)
{
	struct ast_unit *unit = NULL;
	struct err err = ERR_INIT;
	if (ast_parse(command, scanning->tree, &unit, &err) != ST_OK)
		return json_from_answer(&(struct unit_answer){.failure = err.text});
	struct arena arena;
	arena_init(&arena);
	struct pattern_sink sink = {.arena = &arena};
	for (size_t i = 0; i < pattern_registry_count; i++)
		if (scanning->pattern_on[i])
			pattern_registry[i].pattern->detect(unit, command, &sink);
	struct unit_answer answer = {.error_count = unit->errors.count, .lines = unit->lines};
	for (size_t i = 0; i < sink.findings.count; i++) {
		struct finding *finding = sink.findings.at[i];
		finding->file = relative(&arena, unit->tree, finding->file);
		for (size_t k = 0; k < finding->edits.count; k++)
			finding->edits.at[k].file = relative(&arena, unit->tree, finding->edits.at[k].file);
		struct found found = {finding, anchors_of(&arena, unit, finding)};
		list_push(&arena, &answer.found, found);
	}
	answer.facts = sink.facts;
	for (size_t i = 0; i < unit->files.count; i++)
		list_push(&arena, &answer.files, relative(&arena, unit->tree, unit->files.at[i]));
	for (size_t i = 0; i < unit->errors.count && i < ERRORS_SENT; i++)
		list_push(&arena, &answer.errors, unit->errors.at[i]);
	char *text = json_from_answer(&answer);
	arena_release(&arena);
	ast_unit_free(unit);
	return text;
}

static bool move_bytes(int fd, void *data, size_t size, bool reading)
{
	char *at = data;
	while (size) {
		ssize_t moved = reading ? read(fd, at, size) : write(fd, at, size);
		if (moved < 0 && errno == EINTR)
			continue;
		if (moved <= 0)
			return false;
		at += moved;
		size -= (size_t)moved;
	}
	return true;
}

static int worker_main(void *context, int in, int out)
{
	const struct scanning *scanning = context;
	uint32_t index;
	while (move_bytes(in, &index, sizeof index, true)) {
		const struct compile_command *command = &scanning->session->commands.at[scanning->units.at[index]];
		char *text = unit_scan(scanning, command);
		if (!text)
			return 1;
		uint32_t size = (uint32_t)strlen(text);
		if (!move_bytes(out, &size, sizeof size, false) || !move_bytes(out, text, size, false))
			return 1;
		free(text);
	}
	return 0;
}

/* ---- the pool ---------------------------------------------------------------------------------------------------------- */

struct worker {
	struct proc_child child;
	bool running, busy;
	size_t unit; /* index into scanning.units, while busy */
	double began;
	unsigned served;
};

static void worker_end(struct worker *worker)
{
	if (worker->running)
		proc_child_end(&worker->child);
	worker->running = worker->busy = false;
	worker->served = 0;
}

static void unit_lost(struct scanning *scanning, struct worker *worker, bool hung)
{
	struct unit_result *result = &scanning->results[worker->unit];
	result->answered = true;
	if (hung) {
		result->failure = arena_printf(&scanning->scratch, "the front end hung (no answer within %g s); the file is left "
		                               "out", scanning->unit_timeout_s);
	} else {
		result->failure = arena_printf(&scanning->scratch, "the front end crashed (%s); the file is left out",
		                               proc_child_said(&scanning->scratch, &worker->child, 1));
	}
	worker_end(worker);
}

static void worker_receive(struct scanning *scanning, struct worker *worker)
{
	double left = scanning->unit_timeout_s - (proc_now() - worker->began);
	struct err err = ERR_INIT;
	uint32_t size = 0;
	enum status status = proc_receive(&worker->child, &size, sizeof size, left > 1 ? left : 1, NULL, &err);
	char *text = NULL;
	if (status == ST_OK && size <= ANSWER_BYTES_MAX) {
		text = malloc((size_t)size + 1);
		status = text ? proc_receive(&worker->child, text, size, left > 5 ? left : 5, NULL, &err) : ST_SYSTEM;
	} else if (status == ST_OK) {
		status = ST_INPUT;
	}
	if (status != ST_OK) {
		free(text);
		unit_lost(scanning, worker, status == ST_TIMEOUT);
		return;
	}
	struct unit_result *result = &scanning->results[worker->unit];
	result->answered = true;
	/* Findings stay: the session's arena. */
	if (!json_to_answer(&scanning->session->arena, text, size, &result->answer))
		result->failure = "the worker's answer can't be read";
	else
		result->failure = result->answer.failure;
	result->parsed = !result->failure;
	free(text);
	worker->busy = false;
	if (++worker->served >= UNITS_PER_WORKER)
		worker_end(worker);
}

static enum status worker_give(struct scanning *scanning, struct worker *worker, size_t unit, struct err *err)
{
	if (!worker->running) {
		enum status status = proc_fork(worker_main, scanning, AST_WORKER_MEMORY_BYTES, &worker->child, err);
		if (status != ST_OK)
			return status;
		worker->running = true;
	}
	uint32_t index = (uint32_t)unit;
	struct err gone = ERR_INIT;
	worker->busy = true;
	worker->unit = unit;
	worker->began = proc_now();
	if (proc_send(&worker->child, &index, sizeof index, &gone) != ST_OK)
		unit_lost(scanning, worker, false);
	return ST_OK;
}

static enum status pool_run(struct scanning *scanning, struct err *err)
{
	struct session *session = scanning->session;
	size_t count = scanning->units.count, next = 0, finished = 0;
	size_t workers_count = session->jobs ? session->jobs : 1;
	if (workers_count > count)
		workers_count = count;
	struct worker *workers = arena_alloc(&scanning->scratch, workers_count * sizeof *workers);
	struct proc_child **busy = arena_alloc(&scanning->scratch, workers_count * sizeof *busy);
	struct worker **whose = arena_alloc(&scanning->scratch, workers_count * sizeof *whose);
	double started = proc_now();
	enum status status = ST_OK;
	while (status == ST_OK && finished < count) {
		if (*session->interrupted) {
			status = err_set(err, ST_INTERRUPTED, "interrupted after %zu of %zu files", finished, count);
			break;
		}
		size_t waiting = 0;
		for (size_t i = 0; i < workers_count && status == ST_OK; i++) {
			if (!workers[i].busy && next < count)
				status = worker_give(scanning, &workers[i], next++, err);
			if (!workers[i].busy)
				continue;
			busy[waiting] = &workers[i].child;
			whose[waiting++] = &workers[i];
		}
		size_t ready = waiting;
		if (status == ST_OK && waiting)
			status = proc_wait_any(busy, waiting, 0.1, &ready, err);
		if (status != ST_OK)
			break;
		if (ready < waiting)
			worker_receive(scanning, whose[ready]);
		for (size_t i = 0; i < workers_count; i++)
			if (workers[i].busy && proc_now() - workers[i].began > scanning->unit_timeout_s)
				unit_lost(scanning, &workers[i], true);
		finished = next;
		for (size_t i = 0; i < workers_count; i++)
			finished -= workers[i].busy;
		double left = finished ? (proc_now() - started) / (double)finished * (double)(count - finished) : -1;
		session_progress(session, "scan", (double)finished, (double)count, left);
	}
	for (size_t i = 0; i < workers_count; i++)
		worker_end(&workers[i]);
	return status;
}

/* ---- which files ------------------------------------------------------------------------------------------------------- */

enum { BINARY_LOOK = 8192 };

static char *read_file(struct arena *arena, const char *path, size_t limit, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;
	if (fd < 0)
		return NULL;
	char *text = NULL;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
		size_t size = (size_t)info.st_size < limit ? (size_t)info.st_size : limit, used = 0;
		text = arena_alloc(arena, size + 1);
		for (ssize_t got; used < size && (got = read(fd, text + used, size - used)) > 0;)
			used += (size_t)got;
		text[used] = '\0';
		*ret_size = used;
	}
	close(fd);
	return text;
}

/* Of a folder's name: what holds products of a build, or nothing of the project. */
static bool folder_is_skipped(struct arena *arena, const char *path)
{
	static const char *const names[] = {"build", "_build", "builddir", "CMakeFiles", "node_modules", "autom4te.cache",
	                                    "__pycache__"};
	const char *base = path_base(path);
	if (base[0] == '.' || text_starts(base, "cmake-build-"))
		return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(base, names[i]) == 0)
			return true;
	return access(path_join(arena, path, "CMakeCache.txt"), F_OK) == 0;
}

static bool is_c(const char *path)
{
	return text_ends(path, ".c");
}

static bool is_header(const char *path)
{
	return text_ends(path, ".h");
}

/* Written by a program, as its first lines say. */
static bool is_generated(const char *path)
{
	static const char *const marks[] = {"DO NOT EDIT", "do not edit", "Do not edit", "@generated", "Generated by ",
	                                    "generated by ", "A Bison parser", "A lexical scanner generated"};
	struct arena arena;
	arena_init(&arena);
	size_t size = 0;
	char *text = read_file(&arena, path, 1024, &size);
	bool generated = false;
	for (size_t i = 0; text && i < sizeof marks / sizeof *marks; i++)
		if (strstr(text, marks[i]))
			generated = true;
	arena_release(&arena);
	return generated;
}

static bool is_assembly(const char *path)
{
	return text_ends(path, ".S") || text_ends(path, ".s") || text_ends(path, ".asm");
}

static bool is_source(const char *path)
{
	return is_c(path) || is_assembly(path);
}

static void walk_folder(struct arena *arena, const char *folder, bool (*wanted)(const char *path), unsigned depth,
                        struct string_list *ret_files)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		const char *path = path_join(arena, folder, name);
		struct stat info;
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && lstat(path, &info) == 0) {
			if (S_ISDIR(info.st_mode) && depth < 64 && !folder_is_skipped(arena, path))
				walk_folder(arena, path, wanted, depth + 1, ret_files);
			else if (S_ISREG(info.st_mode) && wanted(path))
				list_push(arena, ret_files, path);
		}
		free(entries[i]);
	}
	free(entries);
}

static bool in_roots(const struct scanning *scanning, const char *path)
{
	for (size_t i = 0; i < scanning->roots.count; i++)
		if (path_under(path, scanning->roots.at[i]))
			return true;
	return false;
}

/* Whether a folder between the root that was asked for and the file is one that is skipped. */
static bool in_skipped_folder(struct scanning *scanning, const char *path)
{
	for (size_t i = 0; i < scanning->roots.count; i++) {
		const char *root = scanning->roots.at[i];
		if (!path_under(path, root))
			continue;
		bool skipped = false;
		const char *folder = path_dir(&scanning->scratch, path);
		for (; strlen(folder) > strlen(root); folder = path_dir(&scanning->scratch, folder))
			skipped = skipped || folder_is_skipped(&scanning->scratch, folder);
		if (!skipped)
			return false;
	}
	return true;
}

static void roots_choose(struct scanning *scanning)
{
	struct session *session = scanning->session;
	struct arena *arena = &scanning->scratch;
	const struct string_list *asked = scanning->request->paths.count ? &scanning->request->paths : &session->project.scan;
	for (size_t i = 0; i < asked->count; i++) {
		const char *path = path_clean(arena, path_join(arena, scanning->tree, asked->at[i]));
		if (access(path, R_OK) != 0)
			session_note(session, asked->at[i], "can't be read (%s): nothing of it is scanned; name a file or folder of "
			             "the tree", strerror(errno));
		else if (!path_under(path, scanning->tree))
			session_note(session, asked->at[i], "lies outside the source tree %s: nothing of it is scanned; name the tree "
			             "it belongs to", scanning->tree);
		else
			list_push(arena, &scanning->roots, path);
	}
	if (asked->count == 0)
		list_push(arena, &scanning->roots, scanning->tree);
}

static void database_load(struct session *session)
{
	struct arena *arena = &session->arena;
	static const char *const usual[] = {"compile_commands.json", "build/compile_commands.json"};
	for (size_t i = 0; !session->project.compile_commands && i < sizeof usual / sizeof *usual; i++) {
		const char *path = path_join(arena, session->project.tree, usual[i]);
		if (access(path, R_OK) == 0)
			session->project.compile_commands = path;
	}
	const char *path = session->project.compile_commands;
	if (!path) {
		if (!session->project.workloads.count)
			session_note(session, session->project.tree, "no compile_commands.json: include paths and macros are guessed; "
			             "name its folder with -p for exact results");
		return;
	}
	struct string_list problems = {0};
	struct err err = ERR_INIT;
	if (compdb_read(arena, path, &session->commands, &problems, &err) != ST_OK) {
		session_note(session, path, "%s; until then include paths and macros are guessed", err.text);
		session->commands = (struct compdb){0};
		return;
	}
	session->run.database = true;
	for (size_t i = 0; i < problems.count; i++)
		session_note(session, path, "%s", problems.at[i]);
}

/* A file that a workload compiles is compiled just so: its flags are known without a database. */
static void workload_commands_add(struct session *session, const struct workload *workload, const char *file)
{
	struct arena *arena = &session->arena;
	for (size_t i = 0; i < session->commands.count; i++)
		if (strcmp(session->commands.at[i].file, file) == 0)
			return;
	if (!path_under(file, session->project.tree) || access(file, R_OK) != 0)
		return;
	struct compile_command command = {.file = file, .directory = session->project.tree, .of_workload = true};
	list_push(arena, &command.argv, "cc");
	for (size_t i = 0; i < workload->flags.count; i++)
		list_push(arena, &command.argv, workload->flags.at[i]);
	list_push(arena, &command.argv, "-c");
	list_push(arena, &command.argv, file);
	list_push(arena, &session->commands, command);
}

void scan_commands(struct session *session)
{
	struct arena *arena = &session->arena;
	if (session->commands_known)
		return;
	session->commands_known = true;
	session->run.database = false;
	session->commands = (struct compdb){0};
	database_load(session);
	for (size_t w = 0; w < session->project.workloads.count; w++) {
		const struct workload *workload = session->project.workloads.at[w];
		for (size_t i = 0; i < workload->sources.count; i++)
			workload_commands_add(session, workload,
			                      path_clean(arena, path_join(arena, session->project.tree, workload->sources.at[i])));
	}
}

static int index_compare(const void *a, const void *b, void *context)
{
	const struct compdb *commands = context;
	size_t left = *(const size_t *)a, right = *(const size_t *)b;
	int order = strcmp(commands->at[left].file, commands->at[right].file);
	return order ? order : (left > right) - (left < right);
}

static bool database_knows(const struct scanning *scanning, const size_t *sorted, size_t count, const char *file)
{
	const struct compdb *commands = &scanning->session->commands;
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(commands->at[sorted[middle]].file, file);
		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static void unit_guess(struct scanning *scanning, const char *file)
{
	struct session *session = scanning->session;
	list_push(&scanning->scratch, &scanning->units, session->commands.count);
	list_push(&session->arena, &session->commands, compdb_guess(&session->arena, file, scanning->tree));
}

static void units_choose(struct scanning *scanning)
{
	struct session *session = scanning->session;
	struct arena *arena = &scanning->scratch;
	size_t known = session->commands.count, generated = 0, guessed = 0;
	size_t *sorted = arena_alloc(arena, known * sizeof *sorted);
	for (size_t i = 0; i < known; i++)
		sorted[i] = i;
	qsort_r(sorted, known, sizeof *sorted, index_compare, &session->commands);
	for (size_t i = 0; i < known; i++) {
		const char *file = session->commands.at[i].file;
		if (!is_c(file) || !in_roots(scanning, file) || in_skipped_folder(scanning, file))
			continue;
		if (is_generated(file))
			generated++;
		else
			list_push(arena, &scanning->units, i);
	}
	for (size_t i = 0; i < scanning->roots.count; i++) {
		const char *root = scanning->roots.at[i];
		struct stat info;
		struct string_list files = {0};
		bool named = stat(root, &info) == 0 && !S_ISDIR(info.st_mode);
		size_t before = scanning->units.count;
		if (named)
			list_push(arena, &files, root);
		else
			walk_folder(arena, root, is_c, 0, &files);
		for (size_t k = 0; k < files.count; k++) {
			if (database_knows(scanning, sorted, known, files.at[k]))
				continue;
			if (!named && is_generated(files.at[k])) {
				generated++;
			} else {
				unit_guess(scanning, files.at[k]);
				guessed++;
			}
		}
		/* A folder of headers alone: each by itself, as well as it goes. */
		bool has_unit = scanning->units.count > before;
		for (size_t k = 0; !has_unit && k < scanning->units.count; k++)
			has_unit = path_under(session->commands.at[scanning->units.at[k]].file, root) != NULL;
		if (has_unit || named)
			continue;
		struct string_list headers = {0};
		walk_folder(arena, root, is_header, 0, &headers);
		for (size_t k = 0; k < headers.count; k++)
			if (!is_generated(headers.at[k]))
				unit_guess(scanning, headers.at[k]);
	}
	if (generated)
		session_note(session, scanning->tree, "%zu generated files are left out; name one to have it scanned", generated);
	if (guessed && session->run.database)
		session_note(session, scanning->tree, "%zu C files are compiled by no command of the database: they are scanned as "
		             "well as it goes, and what is found there is marked as not built", guessed);
}

/* ---- the project as a whole -------------------------------------------------------------------------------------------- */

static int string_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void view_fill(struct scanning *scanning, struct arena *arena, struct project_view *view)
{
	struct session *session = scanning->session;
	struct project_unit *units = arena_alloc(arena, (scanning->units.count + 1) * sizeof *units);
	for (size_t i = 0; i < scanning->units.count; i++) {
		const struct unit_result *result = &scanning->results[i];
		units[i] = (struct project_unit){.command = &session->commands.at[scanning->units.at[i]],
		                                 .parsed = result->parsed,
		                                 .files = result->answer.files};
		if (!units[i].files.count)
			list_push(arena, &units[i].files, relative(arena, scanning->tree, units[i].command->file));
	}
	*view = (struct project_view){.tree = scanning->tree, .database = session->run.database, .units = units,
	                              .unit_count = scanning->units.count, .commands = &session->commands};
	for (size_t i = 0; i < scanning->roots.count; i++)
		view->whole = view->whole || strcmp(scanning->roots.at[i], scanning->tree) == 0;
	struct string_list files = {0};
	walk_folder(arena, scanning->tree, is_source, 0, &files);
	for (size_t i = 0; i < files.count; i++)
		list_push(arena, &view->sources, relative(arena, scanning->tree, files.at[i]));
	if (view->sources.count)
		qsort(view->sources.at, view->sources.count, sizeof *view->sources.at, string_compare);
}

/* A unit's facts of one pattern only: a pattern never sees another's. */
static void view_facts(struct scanning *scanning, struct arena *arena, struct project_view *view, const char *pattern)
{
	struct project_unit *units = (struct project_unit *)view->units;
	for (size_t i = 0; i < view->unit_count; i++) {
		const struct fact_list *facts = &scanning->results[i].answer.facts;
		units[i].facts = (struct fact_list){0};
		for (size_t k = 0; k < facts->count; k++)
			if (strcmp(facts->at[k].pattern, pattern) == 0)
				list_push(arena, &units[i].facts, facts->at[k]);
	}
}

static int project_main(void *context, int in, int out)
{
	struct scanning *scanning = context;
	struct arena arena;
	(void)in;
	arena_init(&arena);
	struct project_view view;
	struct pattern_sink sink = {.arena = &arena};
	view_fill(scanning, &arena, &view);
	for (size_t i = 0; i < pattern_registry_count; i++) {
		const struct pattern *pattern = pattern_registry[i].pattern;
		if (!scanning->pattern_on[i] || !pattern->detect_project)
			continue;
		view_facts(scanning, &arena, &view, pattern->id);
		pattern->detect_project(&view, &sink);
	}
	struct unit_answer answer = {0};
	for (size_t i = 0; i < sink.findings.count; i++) {
		struct found found = {.finding = sink.findings.at[i]};
		list_push(&arena, &answer.found, found);
	}
	char *text = json_from_answer(&answer);
	uint32_t size = text ? (uint32_t)strlen(text) : 0;
	bool sent = text && move_bytes(out, &size, sizeof size, false) && move_bytes(out, text, size, false);
	free(text);
	arena_release(&arena);
	return !sent;
}

/* In a process of its own, since it may run compilers and reads what the project's authors wrote. What goes wrong
 * becomes a note: the units' findings are there. */
static enum status project_run(struct scanning *scanning, struct err *err)
{
	struct session *session = scanning->session;
	bool any = false;
	for (size_t i = 0; i < pattern_registry_count; i++)
		any = any || (scanning->pattern_on[i] && pattern_registry[i].pattern->detect_project);
	if (!any || !scanning->units.count)
		return ST_OK;
	struct proc_child child;
	enum status status = proc_fork(project_main, scanning, AST_WORKER_MEMORY_BYTES, &child, err);
	if (status != ST_OK)
		return status;
	struct err problem = ERR_INIT;
	uint32_t size = 0;
	char *text = NULL;
	status = proc_receive(&child, &size, sizeof size, PROJECT_TIMEOUT_S, session->interrupted, &problem);
	if (status == ST_OK && size <= ANSWER_BYTES_MAX && (text = malloc((size_t)size + 1)) != NULL)
		status = proc_receive(&child, text, size, 30, session->interrupted, &problem);
	struct unit_answer answer = {0};
	bool read = status == ST_OK && text && json_to_answer(&session->arena, text, size, &answer);
	free(text);
	if (status == ST_INTERRUPTED) {
		proc_child_end(&child);
		return err_set(err, ST_INTERRUPTED, "interrupted before the project as a whole was looked at");
	}
	if (!read)
		session_note(session, scanning->tree, "what only the whole project shows is left out: %s",
		             status == ST_TIMEOUT ? "no answer in time" : proc_child_said(&scanning->scratch, &child, 1));
	proc_child_end(&child);
	scanning->project_found = answer.found;
	return ST_OK;
}

/* ---- the merge --------------------------------------------------------------------------------------------------------- */

static void note_flags(struct scanning *scanning)
{
	struct session *session = scanning->session;
	struct string_list seen = {0};
	for (size_t i = 0; i < scanning->units.count; i++) {
		for (size_t k = 0; k < scanning->results[i].answer.errors.count; k++) {
			const char *flag = strstr(scanning->results[i].answer.errors.at[k], "unknown argument");
			if (!flag)
				continue;
			bool known = false;
			for (size_t m = 0; m < seen.count; m++)
				known = known || strcmp(seen.at[m], flag) == 0;
			if (known)
				continue;
			list_push(&scanning->scratch, &seen, flag);
			const char *name = strchr(flag, '\'');
			size_t size = name ? strcspn(name + 1, "'") : 0;
			unsigned files = 0;
			for (size_t m = i; m < scanning->units.count; m++)
				for (size_t n = 0; n < scanning->results[m].answer.errors.count; n++)
					files += text_ends(scanning->results[m].answer.errors.at[n], flag);
			session_note(session, relative(&scanning->scratch, scanning->tree,
			                               session->commands.at[scanning->units.at[i]].file),
			             "the front end does not know the flag %.*s of the compile command (%u files have it): it is left "
			             "out, correct it if it is a slip", (int)size, name ? name + 1 : "", files);
		}
	}
}

/* No text has a byte 0, in whatever encoding C is written. */
static bool is_binary(struct scanning *scanning, const char *path)
{
	size_t size = 0;
	const char *text = read_file(&scanning->scratch, path, BINARY_LOOK, &size);
	return text && memchr(text, 0, size);
}

/* What could not be parsed, wholly or in part. Guessed commands get one note in all: that they fail is expected. */
static void note_errors(struct scanning *scanning)
{
	struct session *session = scanning->session;
	unsigned guessed = 0, told = 0, untold = 0;
	const char *first_guessed = NULL;
	note_flags(scanning);
	for (size_t i = 0; i < scanning->units.count; i++) {
		struct unit_result *result = &scanning->results[i];
		const struct compile_command *command = &session->commands.at[scanning->units.at[i]];
		const char *file = relative(&scanning->scratch, scanning->tree, command->file);
		if (result->failure) {
			session_note(session, file, "%s", result->failure);
			continue;
		}
		const char *first = NULL;
		size_t count = result->answer.error_count;
		for (size_t k = 0; k < result->answer.errors.count; k++) {
			if (strstr(result->answer.errors.at[k], "unknown argument"))
				count--;
			else if (!first)
				first = result->answer.errors.at[k];
		}
		if (!first)
			continue;
		if (is_binary(scanning, command->file)) {
			session_note(session, file, "it is no C source: it holds bytes that no text has");
		} else if (command->guessed) {
			guessed++;
			if (!first_guessed)
				first_guessed = first;
		} else if (told++ < NOTES_OF_ERRORS) {
			session_note(session, file, "%zu errors, the first at %s; the rest of the file is scanned", count, first);
		} else {
			untold++;
		}
	}
	if (guessed)
		session_note(session, scanning->tree, "%u %s errors and %s understood only in part (the first: %s); where headers or macros are "
		             "lacking, name a compile_commands.json with -p", guessed, guessed == 1 ? "file has" : "files have",
		             guessed == 1 ? "was" : "were", first_guessed);
	if (untold)
		session_note(session, scanning->tree, "%u more files have errors", untold);
}

static int place_compare(const struct finding *left, const struct finding *right)
{
	int order = strcmp(left->file, right->file);
	if (order)
		return order;
	if (left->line != right->line)
		return left->line < right->line ? -1 : 1;
	return left->column < right->column ? -1 : left->column > right->column;
}

static int found_place_compare(const void *a, const void *b)
{
	const struct finding *left = ((const struct found *)a)->finding, *right = ((const struct found *)b)->finding;
	int order = place_compare(left, right);
	if (order)
		return order;
	order = strcmp(left->pattern, right->pattern);
	if (order)
		return order;
	/* Of doubles the first is kept: the gravest. */
	if (left->severity != right->severity)
		return left->severity > right->severity ? -1 : 1;
	return left->built != right->built ? (left->built ? -1 : 1) : 0;
}

static bool same_place(const struct finding *a, const struct finding *b)
{
	return a->line == b->line && a->column == b->column && strcmp(a->file, b->file) == 0 &&
	       strcmp(a->pattern, b->pattern) == 0;
}

/* Files that a command of the database reads, sorted. */
static struct string_list built_files(struct scanning *scanning)
{
	struct string_list files = {0};
	for (size_t i = 0; i < scanning->units.count; i++) {
		const struct unit_result *result = &scanning->results[i];
		if (scanning->session->commands.at[scanning->units.at[i]].guessed)
			continue;
		for (size_t k = 0; k < result->answer.files.count; k++)
			list_push(&scanning->scratch, &files, result->answer.files.at[k]);
	}
	/* Assembly is compiled, and no unit of ours. */
	for (size_t i = 0; i < scanning->session->commands.count; i++) {
		const struct compile_command *command = &scanning->session->commands.at[i];
		if (!command->guessed && is_assembly(command->file))
			list_push(&scanning->scratch, &files, relative(&scanning->scratch, scanning->tree, command->file));
	}
	if (files.count)
		qsort(files.at, files.count, sizeof *files.at, string_compare);
	return files;
}

static void found_take(struct scanning *scanning, const struct string_list *built, struct found found,
                       struct found_list *all)
{
	struct arena *arena = &scanning->scratch;
	if (!in_roots(scanning, path_join(arena, scanning->tree, found.finding->file)))
		return;
	found.finding->built =
	    built->count && bsearch(&found.finding->file, built->at, built->count, sizeof *built->at, string_compare);
	list_push(arena, all, found);
}

/* All findings of the files that were asked for, each once, by place. */
static struct found_list findings_merge(struct scanning *scanning)
{
	struct arena *arena = &scanning->scratch;
	struct string_list built = built_files(scanning);
	struct found_list all = {0}, once = {0};
	for (size_t i = 0; i < scanning->units.count; i++) {
		const struct found_list *found = &scanning->results[i].answer.found;
		for (size_t k = 0; k < found->count; k++)
			found_take(scanning, &built, found->at[k], &all);
	}
	for (size_t i = 0; i < scanning->project_found.count; i++)
		found_take(scanning, &built, scanning->project_found.at[i], &all);
	if (all.count)
		qsort(all.at, all.count, sizeof *all.at, found_place_compare);
	for (size_t i = 0; i < all.count; i++) {
		if (once.count && same_place(once.at[once.count - 1].finding, all.at[i].finding))
			continue;
		struct finding *finding = all.at[i].finding;
		/* What nothing compiles can't be critical. */
		if (!finding->built && finding->severity == SEVERITY_CRITICAL)
			finding->severity = SEVERITY_HIGH;
		list_push(arena, &once, all.at[i]);
	}
	return once;
}

/* ---- ids --------------------------------------------------------------------------------------------------------------- */

struct source {
	const char *file; /* relative */
	const char *text;
	size_t size;
	struct comment_list comments;
};

static struct source source_read(struct scanning *scanning, struct arena *arena, const char *file)
{
	struct source source = {.file = file, .text = ""};
	char *text = read_file(arena, path_join(arena, scanning->tree, file), SIZE_MAX / 4, &source.size);
	if (text)
		source.text = text;
	return source;
}

/* A line with its blanks dropped: re-indenting doesn't change an id. */
static const char *normalised_line(struct arena *arena, const struct source *source, unsigned line)
{
	const char *at = source->text, *end = source->text + source->size;
	for (unsigned i = 1; i < line && at < end; i++) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		at = next ? next + 1 : end;
	}
	const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	if (!stop)
		stop = end;
	char *out = arena_alloc(arena, (size_t)(stop - at) + 1);
	size_t used = 0;
	for (; at < stop; at++)
		if (!isspace((unsigned char)*at))
			out[used++] = *at;
	out[used] = '\0';
	return out;
}

/* Findings of one file, in order of their lines. */
static void ids_make(struct scanning *scanning, const struct source *source, struct found *found, size_t count)
{
	struct arena *arena = &scanning->session->arena;
	for (size_t i = 0; i < count; i++) {
		struct finding *finding = found[i].finding;
		const char *line = normalised_line(&scanning->scratch, source, finding->line);
		unsigned long long hash = text_hash(line, strlen(line), TEXT_HASH_SEED);
		hash ^= hash >> 32;
		hash = (hash ^ hash >> 16) & 0xffff;
		const char *stem = arena_printf(arena, "%s:%s:%s:%04llx", finding->pattern, finding->file, finding->symbol, hash);
		unsigned twins = 1;
		for (size_t k = 0; k < i; k++) {
			const char *other = found[k].finding->id;
			size_t size = strlen(stem);
			twins += strncmp(other, stem, size) == 0 && (other[size] == '\0' || other[size] == '-');
		}
		finding->id = twins == 1 ? stem : arena_printf(arena, "%s-%u", stem, twins);
	}
}

/* ---- what is deliberate ------------------------------------------------------------------------------------------------- */

struct annotation {
	unsigned line, end_line; /* of the comment */
	bool alone;
	const char *patterns; /* as written: "P08" or "P03, P08" or slugs */
	const char *reason;
};
LIST_OF(struct annotation, annotation_list);

/* The annotation of a comment; one without a reason, or for no pattern, becomes a note. */
static void annotation_read(struct scanning *scanning, const struct source *source, const struct comment *comment,
                            struct annotation_list *annotations)
{
	struct session *session = scanning->session;
	struct arena *arena = &session->arena;
	const char *at = comment->text;
	unsigned line = comment->line;
	while (!text_starts(at, "assay:")) {
		at = strchr(at, '\n');
		if (!at)
			return;
		at++;
		line++;
	}
	at += strlen("assay:");
	at += strspn(at, " \t");
	if (!text_starts(at, "deliberate"))
		return;
	at += strlen("deliberate");
	const char *colon = strchr(at, ':');
	const char *patterns = colon ? arena_strndup(arena, at, (size_t)(colon - at)) : arena_strdup(arena, at);
	patterns += strspn(patterns, " \t");
	char *reason = arena_strdup(arena, colon ? colon + 1 : "");
	for (char *c = reason; *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	while (*reason == ' ')
		reason++;
	for (size_t size = strlen(reason); size && reason[size - 1] == ' ';)
		reason[--size] = '\0';
	if (!reason[0]) {
		session_note(session, arena_printf(&scanning->scratch, "%s:%u", source->file, line), "this `assay: deliberate` has "
		             "no reason and is ignored: write /* assay: deliberate P08: why it is so */");
		return;
	}
	bool any = false;
	char *list = arena_strdup(&scanning->scratch, patterns), *save = NULL;
	for (char *name = strtok_r(list, ", \t\n", &save); name; name = strtok_r(NULL, ", \t\n", &save)) {
		if (pattern_find(name))
			any = true;
		else
			session_note(session, arena_printf(&scanning->scratch, "%s:%u", source->file, line), "this `assay: deliberate` "
			             "names no pattern of the catalogue (%s): see `assay explain`", name);
	}
	struct annotation annotation = {comment->line, comment->end_line, comment->alone, patterns, reason};
	if (any)
		list_push(&scanning->scratch, annotations, annotation);
}

static bool annotation_names(struct scanning *scanning, const struct annotation *annotation, const char *id)
{
	char *list = arena_strdup(&scanning->scratch, annotation->patterns), *save = NULL;
	for (char *name = strtok_r(list, ", \t\n", &save); name; name = strtok_r(NULL, ", \t\n", &save)) {
		const struct pattern_entry *entry = pattern_find(name);
		if (entry && strcmp(entry->pattern->id, id) == 0)
			return true;
	}
	return false;
}

/* Whether the comment lines that end directly above `line` hold the annotation. */
static bool stands_above(const struct source *source, const struct annotation *annotation, unsigned line)
{
	if (!annotation->alone || annotation->end_line >= line)
		return false;
	unsigned below = line;
	for (size_t i = source->comments.count; i-- > 0;) {
		const struct comment *comment = &source->comments.at[i];
		if (!comment->alone || comment->end_line >= line)
			continue;
		if (comment->end_line + 1 != below && comment->end_line != below)
			return false;
		if (comment->line == annotation->line && comment->end_line == annotation->end_line)
			return true;
		below = comment->line;
	}
	return false;
}

static bool annotation_applies(struct scanning *scanning, const struct source *source,
                               const struct annotation *annotation, const struct found *found)
{
	unsigned line = found->finding->line;
	if (!annotation_names(scanning, annotation, found->finding->pattern))
		return false;
	if ((annotation->line <= line && line <= annotation->end_line) || stands_above(source, annotation, line))
		return true;
	for (size_t i = 0; i < found->anchors.count; i++) {
		unsigned anchor = found->anchors.at[i];
		if ((annotation->line <= anchor && anchor <= annotation->end_line) || stands_above(source, annotation, anchor))
			return true;
	}
	return false;
}

static bool decision_matches(const char *wanted, const char *id)
{
	size_t size = strlen(wanted);
	if (!size || strncmp(id, wanted, size) != 0)
		return false;
	return id[size] == '\0' || id[size] == ':' || wanted[size - 1] == ':';
}

static void annotations_apply(struct scanning *scanning, struct source *source, struct found *found, size_t count)
{
	if (!memmem(source->text, source->size, "assay:", strlen("assay:")))
		return;
	comments_read(&scanning->scratch, source->text, source->size, &source->comments);
	struct annotation_list annotations = {0};
	for (size_t i = 0; i < source->comments.count; i++)
		annotation_read(scanning, source, &source->comments.at[i], &annotations);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < annotations.count && !found[i].finding->deliberate; k++)
			if (annotation_applies(scanning, source, &annotations.at[k], &found[i])) {
				found[i].finding->deliberate = annotations.at[k].reason;
				found[i].finding->deliberate_in = DELIBERATE_IN_SOURCE;
			}
}

static void decisions_apply(struct scanning *scanning, const struct found_list *found)
{
	struct session *session = scanning->session;
	bool whole = scanning->request->paths.count == 0 && scanning->request->patterns.count == 0;
	for (size_t i = 0; i < session->project.decisions.count; i++) {
		const struct decision *decision = &session->project.decisions.at[i];
		bool used = false;
		for (size_t k = 0; k < found->count; k++) {
			struct finding *finding = found->at[k].finding;
			if (!decision_matches(decision->finding, finding->id))
				continue;
			used = true;
			if (finding->deliberate)
				continue;
			finding->deliberate = decision->reason;
			finding->deliberate_in = DELIBERATE_IN_PROJECT;
		}
		if (!used && whole && !*session->interrupted)
			session_note(session, session->project.file ? session->project.file : "decisions",
			             "the decision on %s matches no finding: remove it or correct its id", decision->finding);
	}
}

/* Every file that was read for the request, once, sorted: the main files and those that have findings. */
static struct string_list files_looked_at(struct scanning *scanning, const struct found_list *found)
{
	struct string_list files = {0}, once = {0};
	for (size_t i = 0; i < scanning->units.count; i++)
		for (size_t k = 0; k < scanning->results[i].answer.files.count; k++)
			list_push(&scanning->scratch, &files, scanning->results[i].answer.files.at[k]);
	for (size_t i = 0; i < found->count; i++)
		list_push(&scanning->scratch, &files, found->at[i].finding->file);
	if (files.count)
		qsort(files.at, files.count, sizeof *files.at, string_compare);
	for (size_t i = 0; i < files.count; i++)
		if (!once.count || strcmp(once.at[once.count - 1], files.at[i]) != 0)
			if (in_roots(scanning, path_join(&scanning->scratch, scanning->tree, files.at[i])))
				list_push(&scanning->scratch, &once, files.at[i]);
	return once;
}

static int finding_rank_compare(const void *a, const void *b)
{
	const struct finding *left = *(struct finding *const *)a, *right = *(struct finding *const *)b;
	if (left->severity != right->severity)
		return left->severity > right->severity ? -1 : 1;
	int order = place_compare(left, right);
	return order ? order : strcmp(left->id, right->id);
}

static void findings_finish(struct scanning *scanning)
{
	struct session *session = scanning->session;
	struct found_list found = findings_merge(scanning);
	struct string_list files = files_looked_at(scanning, &found);
	size_t next = 0;
	for (size_t i = 0; i < files.count; i++) {
		size_t first = next;
		while (next < found.count && strcmp(found.at[next].finding->file, files.at[i]) == 0)
			next++;
		struct arena arena;
		arena_init(&arena);
		struct source source = source_read(scanning, &arena, files.at[i]);
		ids_make(scanning, &source, found.at + first, next - first);
		annotations_apply(scanning, &source, found.at + first, next - first);
		arena_release(&arena);
	}
	decisions_apply(scanning, &found);
	session->run.findings = (struct finding_list){0};
	for (size_t i = 0; i < found.count; i++)
		list_push(&session->arena, &session->run.findings, found.at[i].finding);
	struct finding_list *list = &session->run.findings;
	if (list->count)
		qsort(list->at, list->count, sizeof *list->at, finding_rank_compare);
}

/* Files and lines, each file once however many commands compile it. */
static void totals_take(struct scanning *scanning)
{
	struct run *run = &scanning->session->run;
	const struct compdb *commands = &scanning->session->commands;
	size_t count = scanning->units.count;
	size_t *order = arena_alloc(&scanning->scratch, count * sizeof *order);
	run->files_scanned = run->files_failed = 0;
	run->lines_scanned = 0;
	for (size_t i = 0; i < count; i++)
		order[i] = scanning->units.at[i];
	qsort_r(order, count, sizeof *order, index_compare, (void *)commands);
	size_t *result_of = arena_alloc(&scanning->scratch, (commands->count + 1) * sizeof *result_of);
	for (size_t i = 0; i < count; i++)
		result_of[scanning->units.at[i]] = i;
	for (size_t i = 0; i < count;) {
		const char *file = commands->at[order[i]].file;
		bool parsed = false, answered = false;
		unsigned long long lines = 0;
		for (; i < count && strcmp(commands->at[order[i]].file, file) == 0; i++) {
			const struct unit_result *result = &scanning->results[result_of[order[i]]];
			parsed = parsed || result->parsed;
			answered = answered || result->answered;
			if (result->answer.lines > lines)
				lines = result->answer.lines;
		}
		run->files_scanned += parsed;
		run->files_failed += answered && !parsed;
		run->lines_scanned += lines;
	}
}

static enum status patterns_choose(struct scanning *scanning, struct err *err)
{
	bool *on = arena_alloc(&scanning->scratch, pattern_registry_count * sizeof *on);
	const struct string_list *wanted = &scanning->request->patterns;
	for (size_t i = 0; i < pattern_registry_count; i++)
		on[i] = wanted->count == 0;
	for (size_t i = 0; i < wanted->count; i++) {
		const struct pattern_entry *entry = pattern_find(wanted->at[i]);
		if (!entry)
			return err_set(err, ST_USAGE, "no pattern is called %s: `assay explain` lists them", wanted->at[i]);
		on[entry - pattern_registry] = true;
	}
	scanning->pattern_on = on;
	return ST_OK;
}

enum status scan(struct session *session, const struct scan_request *request, struct err *err)
{
	double started = proc_now();
	struct scanning scanning = {.session = session, .request = request};
	arena_init(&scanning.scratch);
	scanning.tree = path_clean(&scanning.scratch, session->project.tree);
	scanning.unit_timeout_s = request->unit_timeout_s > 0 ? request->unit_timeout_s : UNIT_TIMEOUT_S;
	enum status status = patterns_choose(&scanning, err);
	if (status == ST_OK) {
		roots_choose(&scanning);
		scan_commands(session);
		units_choose(&scanning);
		scanning.results = arena_alloc(&scanning.scratch, scanning.units.count * sizeof *scanning.results);
		status = pool_run(&scanning, err);
		if (status == ST_OK)
			status = project_run(&scanning, err);
		totals_take(&scanning);
		note_errors(&scanning);
		findings_finish(&scanning);
	}
	session->run.scan_seconds = proc_now() - started;
	arena_release(&scanning.scratch);
	return status;
}
