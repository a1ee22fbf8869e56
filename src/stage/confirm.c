/* confirm: what the compilers say of the loops that were found.
 *
 * Each file is compiled once by each compiler that is asked, with the words of its compile command but for those that
 * write elsewhere or run code of the project (port/flags.h). Objects and records go to the working folder, cN.o and cN.r.
 */
#include "stage/stages.h"

#include "base/text.h"
#include "port/flags.h"
#include "port/proc.h"
#include "port/remarks.h"
#include "port/tree.h"

#include <string.h>

#define SECOND "clang-19"
enum { COMPILE_S = 120 };

enum vendor { VENDOR_GCC, VENDOR_CLANG, VENDOR_OTHER };

struct asking {
	const char *file; /* relative */
	const struct compile_command *command;
	const char *cc;
	bool own; /* the command's compiler */
	enum vendor vendor;
	const char *record;
};
LIST_OF(struct asking, asking_list);

struct known_compiler {
	const char *cc;
	enum vendor vendor;
};
LIST_OF(struct known_compiler, known_compiler_list);

struct confirming {
	struct session *session;
	struct arena scratch;
	struct asking_list askings;
	struct known_compiler_list known;
};

static bool is_askable(const struct finding *finding)
{
	static const char *const patterns[] = {"P01", "P03", "P07"};
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		if (finding->kind == FINDING_ANTIPATTERN && finding->loop_end && strcmp(finding->pattern, patterns[i]) == 0)
			return true;
	return false;
}

/* ---- judging --------------------------------------------------------------------------------------------------------- */

static const char *quoted_remark(struct arena *arena, const char *who, const struct remark *remark)
{
	const char *pass = strcmp(remark->pass, "gcc") == 0 ? "" : arena_printf(arena, "%s: ", remark->pass);
	return arena_printf(arena, "%s: %s:%u:%u: %s%s", who, remark->file, remark->line, remark->column, pass,
	                    remark->text[0] ? remark->text : remark->name);
}

/* The remark that this function's copy of the loop was vectorised; inlined, a loop has several. What gcc says names no
 * function. The versioning tells more than the width. */
static const struct remark *vectorised_in(const struct remark_list *remarks, const struct finding *finding,
                                          const char *function)
{
	const struct remark *found = NULL;
	for (size_t i = 0; i < remarks->count; i++) {
		const struct remark *remark = &remarks->at[i];
		if (!remark_is_vectorised(remark) || !remark_is_at(remark, finding->file, finding->line, finding->line) ||
		    (function && strcmp(remark->function, function) != 0))
			continue;
		if (!found || strstr(remark->text, "versioned"))
			found = remark;
	}
	return found;
}

static const struct remark *overcome(const struct remark_list *remarks, const struct remark *missed)
{
	for (size_t i = 0; i < remarks->count; i++)
		if (remark_overcomes(&remarks->at[i], missed))
			return &remarks->at[i];
	return NULL;
}

bool confirm_by(struct arena *arena, struct finding *finding, const struct remark_list *remarks, bool own, const char *who)
{
	bool order = strcmp(finding->pattern, "P07") == 0;
	const struct remark *got_over = NULL, *holds = NULL;
	for (size_t i = 0; i < remarks->count && !holds; i++) {
		const struct remark *remark = &remarks->at[i];
		if (remark_cause(remark) != (order ? CAUSE_ORDER : CAUSE_ALIAS) ||
		    !remark_is_at(remark, finding->file, finding->line, finding->loop_end))
			continue;
		const struct remark *how = vectorised_in(remarks, finding, remark->function);
		if (!how)
			how = overcome(remarks, remark);
		if (how)
			got_over = how;
		else
			holds = remark;
	}
	/* A sum can be vectorised and still be added up in its order, so that this denies nothing of P07. */
	if (!holds && !got_over && !order)
		got_over = vectorised_in(remarks, finding, NULL);
	if (holds) {
		finding->compiler = COMPILER_CONFIRMED;
		finding->remark = quoted_remark(arena, who, holds);
		return true;
	}
	if (!got_over || order || !own)
		return false;
	finding->compiler = COMPILER_DENIED;
	finding->remark = quoted_remark(arena, who, got_over);
	if (finding->severity > SEVERITY_LOW) {
		finding->severity--;
		finding->remark = arena_printf(arena, "%s; ranked one step lower", finding->remark);
	}
	return true;
}

/* ---- compiling ------------------------------------------------------------------------------------------------------- */

/* A wrapper that lies in the tree is code of the project: it is not started. */
static bool is_of_project(struct confirming *confirming, const struct compile_command *command, const char *cc)
{
	if (!strchr(cc, '/'))
		return false;
	const char *path = path_clean(&confirming->scratch, path_join(&confirming->scratch, command->directory, cc));
	return path_under(path, confirming->session->project.tree) != NULL;
}

/* "cc" and the like are asked who they are, once. */
static enum vendor vendor_of(struct confirming *confirming, const struct compile_command *command)
{
	const char *cc = command->argv.at[0];
	if (is_of_project(confirming, command, cc))
		return VENDOR_OTHER;
	if (strstr(path_base(cc), "clang"))
		return VENDOR_CLANG;
	for (size_t i = 0; i < confirming->known.count; i++)
		if (strcmp(confirming->known.at[i].cc, cc) == 0)
			return confirming->known.at[i].vendor;
	struct known_compiler known = {.cc = cc, .vendor = VENDOR_OTHER};
	struct proc_request request = {.directory = command->directory, .timeout_s = 10, .cpu = -1,
	                               .interrupted = confirming->session->interrupted};
	struct proc_result result;
	struct err ignored = ERR_INIT;
	list_push(&confirming->scratch, &request.argv, cc);
	list_push(&confirming->scratch, &request.argv, "--version");
	if (proc_run(&confirming->scratch, &request, &result, &ignored) == ST_OK && proc_ok(&result))
		known.vendor = strstr(result.out, "clang")                      ? VENDOR_CLANG
		               : strstr(result.out, "Free Software Foundation") ? VENDOR_GCC
		                                                                : VENDOR_OTHER;
	list_push(&confirming->scratch, &confirming->known, known);
	return known.vendor;
}

static bool is_optimised(const struct compile_command *command)
{
	bool optimised = false;
	for (size_t i = 0; i < command->argv.count; i++)
		if (text_starts(command->argv.at[i], "-O"))
			optimised = strcmp(command->argv.at[i], "-O0") != 0;
	return optimised;
}

static const struct compile_command *command_of(struct confirming *confirming, const char *file)
{
	struct session *session = confirming->session;
	const char *path = path_clean(&confirming->scratch, path_join(&confirming->scratch, session->project.tree, file));
	for (size_t i = 0; i < session->commands.count; i++) {
		const struct compile_command *command = &session->commands.at[i];
		if (!command->guessed && command->argv.count && strcmp(command->file, path) == 0)
			return command;
	}
	return NULL;
}

static void ask(struct confirming *confirming, const char *file, const struct compile_command *command, const char *cc,
                enum vendor vendor, bool own)
{
	struct asking asking = {.file = file, .command = command, .cc = cc, .own = own, .vendor = vendor};
	asking.record = arena_printf(&confirming->scratch, "%s/c%zu.r", confirming->session->workdir, confirming->askings.count);
	list_push(&confirming->scratch, &confirming->askings, asking);
}

static struct proc_request request_of(struct confirming *confirming, const struct asking *asking)
{
	struct arena *arena = &confirming->scratch;
	struct proc_request request = {.directory = asking->command->directory, .timeout_s = COMPILE_S, .cpu = -1,
	                               .interrupted = confirming->session->interrupted};
	struct string_list given = flags_given(arena, asking->command), kept = flags_kept(arena, &given);
	list_push(arena, &request.argv, asking->cc);
	for (size_t i = 0; i < kept.count; i++)
		list_push(arena, &request.argv, kept.at[i]);
	const char *object = arena_printf(arena, "%.*so", (int)strlen(asking->record) - 1, asking->record);
	const char *const ours[] = {"-w", "-fno-lto", "-c", "-o", object};
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		list_push(arena, &request.argv, ours[i]);
	if (asking->vendor == VENDOR_GCC) {
		list_push(arena, &request.argv, arena_printf(arena, "-fopt-info-vec-optimized-missed=%s", asking->record));
	} else {
		list_push(arena, &request.argv, "-fsave-optimization-record");
		list_push(arena, &request.argv, arena_printf(arena, "-foptimization-record-file=%s", asking->record));
	}
	return request;
}

/* ---- the flow -------------------------------------------------------------------------------------------------------- */

static void silent(struct finding *finding, const char *why)
{
	finding->compiler = COMPILER_SILENT;
	finding->remark = why;
}

/* Notes what can't be asked; adds who is to be asked, once for each file. */
static void askings_choose(struct confirming *confirming)
{
	struct session *session = confirming->session;
	struct string_list seen = {0};
	size_t without = 0;
	for (size_t i = 0; i < session->run.findings.count; i++) {
		struct finding *finding = session->run.findings.at[i];
		if (!is_askable(finding))
			continue;
		const struct compile_command *command = command_of(confirming, finding->file);
		if (!command) {
			without++;
			continue;
		}
		if (!is_optimised(command)) {
			silent(finding, "the compile command does not optimise");
			continue;
		}
		silent(finding, NULL);
		bool known = false;
		for (size_t k = 0; k < seen.count; k++)
			known |= strcmp(seen.at[k], finding->file) == 0;
		if (known)
			continue;
		list_push(&confirming->scratch, &seen, finding->file);
		enum vendor vendor = vendor_of(confirming, command);
		if (vendor != VENDOR_OTHER)
			ask(confirming, finding->file, command, command->argv.at[0], vendor, true);
		if (vendor != VENDOR_CLANG)
			ask(confirming, finding->file, command, SECOND, VENDOR_CLANG, false);
	}
	if (without)
		session_note(session, "--confirm", "%zu findings are in files that no compile command compiles by themselves (headers, "
		             "or no compile_commands.json): no compiler was asked about them", without);
}

/* Who was asked about a file in vain, and how it went. */
static void still_silent(struct session *session, const struct asking *asking, const char *how)
{
	struct arena *arena = &session->arena;
	const char *who = path_base(asking->cc);
	for (size_t i = 0; i < session->run.findings.count; i++) {
		struct finding *finding = session->run.findings.at[i];
		if (finding->compiler == COMPILER_SILENT && strcmp(finding->file, asking->file) == 0 && is_askable(finding))
			finding->remark = finding->remark ? arena_printf(arena, "%s, %s %s", finding->remark, who, how)
			                                  : arena_printf(arena, "%s %s", who, how);
	}
}

static enum status record_read(struct confirming *confirming, const struct asking *asking, struct remark_list *ret_remarks,
                               struct err *err)
{
	if (asking->vendor == VENDOR_CLANG)
		return remarks_read(&confirming->scratch, asking->record, ret_remarks, err);
	const char *text = NULL;
	enum status status = file_read(&confirming->scratch, asking->record, &text, NULL, err);
	if (status == ST_OK)
		remarks_parse_gcc(&confirming->scratch, text, ret_remarks);
	return status;
}

static void asking_apply(struct confirming *confirming, const struct asking *asking, const struct proc_request *request,
                         const struct proc_result *result)
{
	struct session *session = confirming->session;
	struct arena *arena = &session->arena;
	struct remark_list remarks = {0};
	struct err err = ERR_INIT;
	if (!proc_ok(result)) {
		/* A second opinion that isn't to be had is said as well: then silence means less. */
		session_note(session, asking->file, "--confirm: %s could not be asked (%s%s%s)", asking->cc,
		             proc_describe(arena, request, result), result->err[0] ? ": " : "", text_tail(arena, result->err, 1));
		still_silent(session, asking, "could not be asked");
		return;
	}
	if (record_read(confirming, asking, &remarks, &err) != ST_OK) {
		session_note(session, asking->file, "--confirm: %s", err.text);
		still_silent(session, asking, "could not be understood");
		return;
	}
	const char *who = path_base(asking->cc);
	if (!asking->own)
		who = arena_printf(arena, "%s (the command's compiler is %s)", who, path_base(asking->command->argv.at[0]));
	for (size_t i = 0; i < session->run.findings.count; i++) {
		struct finding *finding = session->run.findings.at[i];
		if (finding->compiler == COMPILER_SILENT && strcmp(finding->file, asking->file) == 0 && is_askable(finding))
			confirm_by(arena, finding, &remarks, asking->own, who);
	}
	still_silent(session, asking, "names nothing that holds this loop up");
}

static void progress_done(void *context, size_t finished, size_t count)
{
	session_progress(context, "asking compilers", (double)finished, (double)count, -1);
}

enum status confirm(struct session *session, struct err *err)
{
	if (!session->workdir)
		BUG("confirm() needs the working folder");
	struct confirming confirming = {.session = session};
	arena_init(&confirming.scratch);
	askings_choose(&confirming);
	size_t count = confirming.askings.count;
	struct proc_request *requests = arena_alloc(&confirming.scratch, (count + 1) * sizeof *requests);
	struct proc_result *results = arena_alloc(&confirming.scratch, (count + 1) * sizeof *results);
	for (size_t i = 0; i < count; i++)
		requests[i] = request_of(&confirming, &confirming.askings.at[i]);
	enum status status = proc_run_many(&confirming.scratch, requests, count, session->jobs ? session->jobs : 1, results,
	                                   progress_done, session, err);
	if (status == ST_OK && *session->interrupted)
		status = err_set(err, ST_INTERRUPTED, "interrupted");
	for (size_t i = 0; status == ST_OK && i < count; i++)
		asking_apply(&confirming, &confirming.askings.at[i], &requests[i], &results[i]);
	arena_release(&confirming.scratch);
	return status;
}
