/* Is this machine fit to judge? Probes, then a short control on two workloads that assay brings along. */
#include "cmd/cmd.h"

#include "base/text.h"
#include "model/checkup.h"
#include "port/host.h"
#include "port/proc.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double CONTROL_S = 2;
static const double MARGIN = 0.01; /* the default one: what a machine should be able to see */
static const double NEVER_DECIDED = 1e-9; /* a margin that lets a control use all of its time */

/* A chain of multiplications; and steps through 64 MiB in an order that no prefetcher foresees. */
static const struct {
	const char *name, *file, *text;
} workloads[] = {
    {"arithmetic", "arithmetic.c",
     "#include <assay/bench.h>\n"
     "static uint64_t value;\n"
     "static void *setup(struct assay_bench *b) { value = assay_random(b); return &value; }\n"
     "static void run(void *state, uint64_t iterations)\n"
     "{\n"
     "\tuint64_t x = *(uint64_t *)state;\n"
     "\tfor (uint64_t i = 0; i < iterations * 1000; i++)\n"
     "\t\tx = (x ^ (x >> 29)) * 0x9e3779b97f4a7c15u;\n"
     "\t*(uint64_t *)state = x;\n"
     "}\n"
     "const struct assay_workload assay_workload = {.setup = setup, .run = run};\n"},
    {"memory", "memory.c",
     "#include <assay/bench.h>\n"
     "#include <stdlib.h>\n"
     "#include <sys/mman.h>\n"
     "enum { COUNT = 64 * 1024 * 1024 / 64 };\n"
     "struct line { struct line *next; char rest[64 - sizeof(void *)]; };\n"
     "static struct line *lines, *at;\n"
     "static void *setup(struct assay_bench *b)\n"
     "{\n"
     "\tuint32_t *order = malloc(COUNT * sizeof *order);\n"
     "\tlines = aligned_alloc(2 * 1024 * 1024, COUNT * sizeof *lines);\n"
     "\tif (!order || !lines)\n"
     "\t\tassay_fail(b, \"out of memory\");\n"
     "\tmadvise(lines, COUNT * sizeof *lines, MADV_HUGEPAGE);\n" /* one kind of pages for all processes */
     "\tfor (uint32_t i = 0; i < COUNT; i++)\n"
     "\t\torder[i] = i;\n"
     "\tfor (uint32_t i = COUNT - 1; i > 0; i--) {\n"
     "\t\tuint32_t k = (uint32_t)(assay_random(b) % (i + 1)), t = order[i];\n"
     "\t\torder[i] = order[k];\n"
     "\t\torder[k] = t;\n"
     "\t}\n"
     "\tfor (uint32_t i = 0; i < COUNT; i++)\n"
     "\t\tlines[order[i]].next = &lines[order[(i + 1) % COUNT]];\n"
     "\tfree(order);\n"
     "\tat = lines;\n"
     "\treturn &at;\n"
     "}\n"
     "static void run(void *state, uint64_t iterations)\n"
     "{\n"
     "\tstruct line *line = *(struct line **)state;\n"
     "\tfor (uint64_t i = 0; i < iterations * 100; i++)\n"
     "\t\tline = line->next;\n"
     "\t*(struct line **)state = line;\n"
     "}\n"
     "const struct assay_workload assay_workload = {.setup = setup, .run = run};\n"},
};

/* The first of $CC, gcc, cc, clang that answers; NULL: none. */
static const char *compiler_choose(struct session *session)
{
	const char *const names[] = {getenv("CC"), "gcc", "cc", "clang"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct proc_request request = {.cpu = -1, .timeout_s = 20, .interrupted = session->interrupted};
		struct proc_result result;
		struct err ignored = ERR_INIT;
		if (!names[i] || !names[i][0] || !shell_split(&session->arena, names[i], &request.argv) || !request.argv.count)
			continue;
		list_push(&session->arena, &request.argv, "--version");
		if (proc_run(&session->arena, &request, &result, &ignored) == ST_OK && proc_ok(&result))
			return names[i];
	}
	return NULL;
}

static enum status control_run(struct session *session, const struct workload *workload, const char *cc,
                               struct noise *noise, struct err *err)
{
	struct build_config config = {.cc = cc, .flags = "-O2"};
	struct variant program, copy;
	enum status status = build_prepare(session, NULL, workload, NULL, &config, &program, err);
	if (status == ST_OK && !program.failure)
		status = build_preprocess(session, &program, err);
	if (status == ST_OK && !program.failure)
		status = build_compile(session, &program, NULL, err);
	if (status == ST_OK && !program.failure)
		status = build_link(session, &program, err);
	if (status == ST_OK && program.failure) {
		noise->lack = program.failure;
		return ST_OK;
	}
	if (status == ST_OK)
		status = build_copy(session, &program, &copy, err);
	/* A quiet machine looks disturbed once in 1/alpha controls; a disturbed one does so again. */
	for (int attempt = 0; status == ST_OK && attempt < 2 && !noise->control.quiet; attempt++) {
		struct plan plan = {.seed = session->run.seed + (unsigned)attempt, .alpha = 0.01, .margin = NEVER_DECIDED,
		                    .budget_s = CONTROL_S, .cpu = CPU_CHOOSE};
		struct measurement measurement = {0};
		status = measure(session, &program, &copy, NULL, &plan, NULL, &measurement, err);
		if (status == ST_OK && measurement.stop == STOP_INTERRUPTED)
			return err_set(err, ST_INTERRUPTED, "interrupted");
		if (status == ST_OK && measurement.stop == STOP_FAILED) {
			noise->lack = measurement.failure;
			return ST_OK;
		}
		if (status == ST_OK)
			judge_control(session, &measurement, &noise->control);
	}
	return status;
}

/* The drivers lie in a tree of their own. */
static enum status tree_make(struct session *session, struct err *err)
{
	enum status status = ST_OK;
	for (size_t i = 0; i < sizeof workloads / sizeof *workloads && status == ST_OK; i++)
		status = file_write(path_join(&session->arena, session->project.tree, workloads[i].file), workloads[i].text,
		                    strlen(workloads[i].text), err);
	return status;
}

static enum status noises_measure(struct session *session, struct checkup *checkup, struct err *err)
{
	const char *cc = compiler_choose(session);
	enum status status = cc ? tree_make(session, err) : ST_OK;
	for (size_t i = 0; i < sizeof workloads / sizeof *workloads && status == ST_OK; i++) {
		struct noise noise = {.name = workloads[i].name, .lack = cc ? NULL : "there is no compiler"};
		struct workload workload = {.name = workloads[i].name, .bench = workloads[i].file};
		if (cc)
			status = control_run(session, &workload, cc, &noise, err);
		list_push(&session->arena, &checkup->noises, noise);
	}
	return status;
}

static int report(struct invocation *invocation, struct session *session, const struct checkup *checkup, struct err *err)
{
	struct output output;
	if (output_open(&output, &invocation->options, err) != ST_OK)
		return complain(err);
	if (invocation->options.format == FORMAT_JSON)
		fputs(json_checkup(&session->arena, checkup), output.file);
	else
		term_checkup(output.file, checkup, &output.term);
	if (output_close(&output, err) != ST_OK)
		return complain(err);
	return checkup->verdict == PROBE_UNFIT ? EXIT_JUDGE : EXIT_DONE;
}

int command_doctor(struct invocation *invocation)
{
	struct session session = {.interrupted = invocation->interrupted, .jobs = 1};
	struct checkup checkup = {.version = ASSAY_VERSION};
	struct progress_line progress;
	struct err err = ERR_INIT, no_folder = ERR_INIT;
	if (invocation->options.format != FORMAT_TEXT && invocation->options.format != FORMAT_JSON) {
		err_set(&err, ST_USAGE, "--format: a checkup is printed as text or json");
		return complain(&err);
	}
	arena_init(&session.arena);
	progress_begin(&progress);
	session.progress = (struct progress){.tick = progress_tick, .context = &progress};
	host_describe(&session.arena, &session.run.host);
	time_t now = time(NULL);
	struct tm utc;
	char date[32];
	gmtime_r(&now, &utc);
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
	checkup.date = arena_strdup(&session.arena, date);
	session.run.seed = (uint64_t)now;
	char tree[] = "/tmp/assay-doctor-XXXXXX";
	/* Without folders the probes say so; the controls are left out. */
	bool made = mkdtemp(tree) != NULL;
	session.project = (struct project){.dir = made ? tree : "/", .tree = made ? tree : "/"};
	enum status status = made ? build_open(&session, &no_folder) : ST_OK;
	bool open = made && status == ST_OK;
	checkup_probes(&session, &checkup);
	status = open ? noises_measure(&session, &checkup, &err) : ST_OK;
	if (*invocation->interrupted)
		status = err_set(&err, ST_INTERRUPTED, "interrupted");
	progress_clear(&progress);
	if (open)
		build_close(&session);
	struct err ignored = ERR_INIT;
	if (made && tree_remove(tree, &ignored) != ST_OK && status == ST_OK)
		status = err_set(&err, ST_SYSTEM, "%s", ignored.text);
	checkup_judge(&session.arena, MARGIN, &checkup);
	int code = status == ST_OK ? report(invocation, &session, &checkup, &err) : complain(&err);
	arena_release(&session.arena);
	return code;
}
