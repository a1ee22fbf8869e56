#include "record.h"

#include "base/stat.h"
#include "base/text.h"
#include "port/host.h"
#include "port/proc.h"
#include "port/tree.h"
#include "port/workload.h"
#include "recording.h"
#include "stage/stages.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

enum {
	WARM_SAMPLES = 3,
	COMMANDS_MIN = 10, /* of each side, as hyperfine has it */
	COMMANDS_MAX = 1000,
	BUSY_MAX = 64,
	PAD_MAX = 4096,
};

static const double COMMAND_NS = 10e6, ANSWER_S = 20, BUDGET_S = 20; /* the last is the default of --budget */

/* ---- programs ------------------------------------------------------------------------------------------------------- */

enum status programs_open(struct session *session, const char *cc, struct err *err)
{
	session->project.tree = ASSAY_SOURCE_DIR "/eval/verdicts";
	enum status status = build_open(session, err);
	struct proc_request request = {.cpu = -1, .timeout_s = 60, .directory = session->workdir};
	struct proc_result result;
	const char *words[] = {cc, "-O2", "-std=gnu17", "-Iinclude", "-c", "runtime.c", "-o", "runtime.o"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		list_push(&session->arena, &request.argv, words[i]);
	if (status == ST_OK)
		status = proc_run(&session->arena, &request, &result, err);
	if (status == ST_OK && !proc_ok(&result))
		status = err_set(err, ST_INPUT, "%s can't compile the workload runtime: %s: %s", cc,
		                 proc_describe(&session->arena, &request, &result), text_tail(&session->arena, result.err, 5));
	return status;
}

static enum status object_build(struct session *session, const char *cc, const char *workload, int layout,
                                const char *object, struct err *err)
{
	struct arena *arena = &session->arena;
	struct proc_request request = {.cpu = -1, .timeout_s = 60, .directory = session->workdir};
	struct proc_result result;
	struct rng rng;
	rng_seed(&rng, (uint64_t)layout);
	unsigned code = 16 + (unsigned)(rng_next(&rng) % PAD_MAX), data = 16 + (unsigned)(rng_next(&rng) % PAD_MAX);
	const char *words[] = {cc, "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-Iinclude", "-c",
	                       arena_printf(arena, "%s/bench/%s.c", session->project.tree, workload), "-o", object,
	                       layout > 0 ? arena_printf(arena, "-DPAD_CODE=%u", code) : NULL,
	                       arena_printf(arena, "-DPAD_DATA=%u", data)};
	for (size_t i = 0; i < sizeof words / sizeof *words && words[i]; i++)
		list_push(arena, &request.argv, words[i]);
	enum status status = proc_run(arena, &request, &result, err);
	if (status == ST_OK && !proc_ok(&result))
		status = err_set(err, ST_INPUT, "workload %s can't be built: %s: %s", workload,
		                 proc_describe(arena, &request, &result), text_tail(arena, result.err, 5));
	return status;
}

enum status program_build(struct session *session, const char *cc, const char *workload, int layout, bool twin,
                          struct variant *ret_variant, struct err *err)
{
	struct arena *arena = &session->arena;
	/* Equally long for both sides: the length of a program's name moves its stack. */
	const char *name = arena_printf(arena, "%s-L%06d-%c", workload, layout > 0 ? layout : 0, twin ? 'b' : 'a');
	const char *object = path_join(arena, session->workdir, arena_printf(arena, "%s-L%06d.o", workload, layout > 0 ? layout : 0));
	struct link_recipe *link = &ret_variant->link;
	*link = (struct link_recipe){.directory = session->workdir};
	list_push(arena, &link->objects, object);
	list_push(arena, &link->objects, path_join(arena, session->workdir, "runtime.o"));
	list_push(arena, &link->argv, cc);
	for (size_t i = 0; i < link->objects.count; i++)
		list_push(arena, &link->argv, link->objects.at[i]);
	ret_variant->program = path_join(arena, session->workdir, name);
	if (access(ret_variant->program, X_OK) == 0)
		return ST_OK;
	enum status status = object_build(session, cc, workload, layout, object, err);
	if (status != ST_OK)
		return status;
	struct proc_request request = {.cpu = -1, .timeout_s = 60, .directory = session->workdir};
	struct proc_result result;
	for (size_t i = 0; i < link->argv.count; i++)
		list_push(arena, &request.argv, link->argv.at[i]);
	list_push(arena, &request.argv, "-o");
	list_push(arena, &request.argv, name);
	status = proc_run(arena, &request, &result, err);
	if (status == ST_OK && !proc_ok(&result))
		status = err_set(err, ST_INPUT, "workload %s can't be linked: %s: %s", workload,
		                 proc_describe(arena, &request, &result), text_tail(arena, result.err, 5));
	return status;
}

/* ---- load ----------------------------------------------------------------------------------------------------------- */

struct busy {
	struct proc_child children[BUSY_MAX];
	unsigned count;
};

/* Phases of arithmetic and of memory traffic, of 1 to 50 ms, until it is killed. */
static int busy_main(void *context, int in, int out)
{
	(void)in;
	(void)out;
	enum { WORDS = 16 * 1024 * 1024 / 8 };
	struct rng rng;
	rng_seed(&rng, *(const unsigned *)context);
	volatile uint64_t *words = calloc(WORDS, sizeof *words);
	uint64_t value = 1;
	if (!words)
		return 1;
	for (;;) {
		double until = proc_now() + 0.001 + 0.049 * rng_uniform(&rng);
		bool memory = rng_coin(&rng);
		while (proc_now() < until)
			for (unsigned i = 0; i < 20000; i++) {
				value = value * 0x9e3779b97f4a7c15u + 1;
				if (memory)
					words[value % WORDS] += value;
			}
	}
}

static enum status busy_start(struct busy *busy, const char *load, struct err *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned wanted = strcmp(load, "none") == 0 ? 0 : strcmp(load, "one") == 0 ? 1 : 2 * (unsigned)(cpus > 0 ? cpus : 1);
	enum status status = ST_OK;
	for (busy->count = 0; busy->count < wanted && busy->count < BUSY_MAX && status == ST_OK;) {
		status = proc_fork(busy_main, &busy->count, 0, &busy->children[busy->count], err);
		busy->count += status == ST_OK;
	}
	return status;
}

static void busy_end(struct busy *busy)
{
	for (unsigned i = 0; i < busy->count; i++)
		proc_child_end(&busy->children[i]);
	busy->count = 0;
}

/* ---- assay's way ----------------------------------------------------------------------------------------------------- */

struct stamping {
	struct arena *arena;
	struct recording *recording;
	double started;
	const volatile sig_atomic_t *interrupted; /* by a signal */
	volatile sig_atomic_t enough;
};

static enum status pair_stamp(void *context, const struct pair *pair, struct err *err)
{
	(void)err;
	struct stamping *stamping = context;
	list_push(stamping->arena, &stamping->recording->pairs, *pair);
	double elapsed = proc_now() - stamping->started;
	list_push(stamping->arena, &stamping->recording->stamps, elapsed);
	stamping->enough = *stamping->interrupted || elapsed >= stamping->recording->seconds;
	return ST_OK;
}

static enum status interleaved_record(struct session *session, const struct variant sides[2],
                                      struct recording *recording, struct err *err)
{
	/* An alpha at which nothing is ever decided: every recording has the same length, and judging comes later. The budget is
	 * that of assay's users, who set the number of pairs in a block by it; the recording ends sooner. */
	struct plan plan = {.seed = recording->seed, .alpha = 1e-300, .margin = 0.01, .budget_s = BUDGET_S,
	                    .layouts = recording->kind == KIND_LAYOUTS ? 2 : 0, .cpu = CPU_CHOOSE};
	const char *why;
	if (recording->kind == KIND_COMMAND) {
		enum status status = measure_metric(session, &sides[0], ANSWER_S, &plan.metric, &why, err);
		if (status != ST_OK)
			return status;
	}
	struct stamping stamping = {.arena = &session->arena, .recording = recording, .started = proc_now(),
	                            .interrupted = session->interrupted};
	struct sample_sink sink = {pair_stamp, &stamping};
	struct measurement measurement;
	const volatile sig_atomic_t *interrupted = session->interrupted;
	session->interrupted = &stamping.enough;
	enum status status = measure(session, &sides[0], &sides[1], NULL, &plan, &sink, &measurement, err);
	recording->interleaved_s = proc_now() - stamping.started;
	session->interrupted = interrupted;
	if (status != ST_OK)
		return status;
	recording->iterations = measurement.iterations;
	recording->stop = (uint32_t)(measurement.stop == STOP_INTERRUPTED ? STOP_BUDGET : measurement.stop);
	/* Nothing is wrong with these programs: a failure is one of the engine's, and is counted as such. */
	if (measurement.stop == STOP_FAILED)
		fprintf(stderr, "%s: %s\n", recording_name(&session->arena, recording), measurement.failure);
	return *interrupted ? err_set(err, ST_INTERRUPTED, "interrupted") : ST_OK;
}

/* ---- the peers' ways -------------------------------------------------------------------------------------------------- */

/* What the candidate has more of; of the same length on both sides. */
static const char *more_text(struct arena *arena, const struct recording *recording, int side)
{
	return arena_printf(arena, "%06ld", side ? lround(100 * recording->effect_percent) : 0);
}

static struct proc_request side_request(struct session *session, const char *program, const struct recording *recording,
                                        int side, const char *mode, const char *number)
{
	struct binding_list params = {0};
	list_push(&session->arena, &params, ((struct binding){"more", more_text(&session->arena, recording, side)}));
	return workload_request(&session->arena, program, &params, session->run.seed, mode, number);
}

/* One process, warmed up, then sample after sample: as benchmark libraries do. Not pinned: they don't. */
static enum status samples_record(struct session *session, const char *program, const struct recording *recording, int side,
                                  struct timed_list *samples, struct err *err)
{
	struct proc_request request = side_request(session, program, recording, side, "--serve", NULL);
	request.interrupted = session->interrupted;
	struct proc_child child = {.pid = -1, .to_child = -1, .from_child = -1, .stderr_file = -1};
	struct bench_reply reply;
	double started = proc_now();
	enum status status = workload_start(&request, ANSWER_S, &child, &reply, err);
	for (int i = 0; i < WARM_SAMPLES && status == ST_OK; i++)
		status = workload_sample(&child, 0, recording->iterations, ANSWER_S, session->interrupted, &reply, err);
	while (status == ST_OK && (samples->count < 2 || proc_now() - started < recording->seconds / 2)) {
		status = workload_sample(&child, 0, recording->iterations, ANSWER_S, session->interrupted, &reply, err);
		if (status == ST_OK)
			list_push(&session->arena, samples, ((struct timed){reply.ns, proc_now() - started}));
	}
	workload_quit(&child);
	proc_child_end(&child);
	if (status == ST_INPUT || status == ST_TIMEOUT)
		err_context(err, "%s", program);
	return status;
}

/* Whole processes of a fixed amount of work, one after the other. */
static enum status commands_record(struct session *session, const char *program, const struct recording *recording, int side,
                                   struct timed_list *commands, struct err *err)
{
	const char *number = arena_printf(&session->arena, "%llu", (unsigned long long)recording->command_iterations);
	struct proc_request request = side_request(session, program, recording, side, "--count", number);
	request.timeout_s = ANSWER_S;
	request.stdout_path = "/dev/null";
	request.interrupted = session->interrupted;
	double started = proc_now();
	while (commands->count < COMMANDS_MIN ||
	       (commands->count < COMMANDS_MAX && proc_now() - started < recording->seconds / 2)) {
		struct proc_result result;
		enum status status = proc_run(&session->arena, &request, &result, err);
		if (status != ST_OK)
			return status;
		if (result.end == PROC_INTERRUPTED)
			return err_set(err, ST_INTERRUPTED, "interrupted");
		if (!proc_ok(&result))
			return err_set(err, ST_INPUT, "%s: %s", program, proc_describe(&session->arena, &request, &result));
		list_push(&session->arena, commands, ((struct timed){(uint64_t)(result.wall_s * 1e9), proc_now() - started}));
	}
	return ST_OK;
}

/* The real hyperfine on the same commands; what it exports is kept for judging. That it isn't installed is no error. */
static enum status hyperfine_record(struct session *session, const char *dir, const struct variant sides[2],
                                    const struct recording *recording, struct err *err)
{
	struct arena *arena = &session->arena;
	const char *base = arena_printf(arena, "%s/%s.hyperfine", dir, recording_name(arena, recording));
	struct proc_request request = {.cpu = -1, .timeout_s = 60, .interrupted = session->interrupted};
	const char *words[] = {"hyperfine", "-N", "--style", "none", "--runs", "10", "--export-json",
	                       arena_printf(arena, "%s.json", base), "--export-markdown", arena_printf(arena, "%s.md", base)};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		list_push(arena, &request.argv, words[i]);
	for (int i = 0; i < 2; i++)
		list_push(arena, &request.argv,
		          arena_printf(arena, "%s --param more=%s --seed %llu --count %llu", sides[i].program,
		                       more_text(arena, recording, i), (unsigned long long)session->run.seed,
		                       (unsigned long long)recording->command_iterations));
	struct proc_result result;
	enum status status = proc_run(arena, &request, &result, err);
	if (status != ST_OK)
		return status;
	if (result.end == PROC_INTERRUPTED)
		return err_set(err, ST_INTERRUPTED, "interrupted");
	if (result.end != PROC_NOT_FOUND && !proc_ok(&result))
		return err_set(err, ST_INPUT, "hyperfine: %s: %s", proc_describe(arena, &request, &result),
		               text_tail(arena, result.err, 3));
	return ST_OK;
}

/* ---- a trial ------------------------------------------------------------------------------------------------------------ */

/* How many iterations take COMMAND_NS: by the shortest of some tries, since a busy machine makes them longer. */
static enum status command_size(struct session *session, const char *program, struct recording *recording, struct err *err)
{
	enum { TRIES = 3 };
	double least = INFINITY;
	for (int i = 0; i < TRIES; i++) {
		struct proc_request request = side_request(session, program, recording, 0, "--time", NULL);
		struct proc_result result;
		request.timeout_s = ANSWER_S;
		request.realtime = true;
		enum status status = proc_run(&session->arena, &request, &result, err);
		if (status != ST_OK)
			return status;
		double ns = proc_ok(&result) ? strtod(result.out, NULL) : 0;
		if (ns <= 0)
			return err_set(err, ST_INPUT, "%s does not tell its time", program);
		least = fmin(least, ns);
	}
	recording->command_iterations = (uint64_t)fmax(1, COMMAND_NS / least);
	return ST_OK;
}

/* Makes the two sides whole commands. */
static void sides_command(struct session *session, struct variant sides[2], struct workload *workload,
                          const struct recording *recording)
{
	struct arena *arena = &session->arena;
	const char *number = arena_printf(arena, "%llu", (unsigned long long)recording->command_iterations);
	*workload = (struct workload){.name = recording->workload, .cpu = CPU_CHOOSE};
	for (int i = 0; i < 2; i++) {
		struct command_line *command = arena_new(arena, struct command_line);
		command->argv = side_request(session, sides[i].program, recording, i, "--count", number).argv;
		command->text = text_join(arena, &command->argv, " ");
		command->directory = session->workdir;
		sides[i].command = command;
		sides[i].workload = workload;
	}
}

static enum status sides_make(struct session *session, const char *cc, struct variant sides[2], struct workload *workload,
                              struct recording *recording, struct err *err)
{
	enum status status = ST_OK;
	for (int i = 0; i < 2 && status == ST_OK; i++) {
		status = program_build(session, cc, recording->workload, i ? recording->layout : 0, i == 1, &sides[i], err);
		list_push(&session->arena, &sides[i].env,
		          arena_printf(&session->arena, "EVAL_MORE=%s", more_text(&session->arena, recording, i)));
	}
	if (status != ST_OK || recording->kind != KIND_COMMAND)
		return status;
	status = command_size(session, sides[0].program, recording, err);
	if (status == ST_OK)
		sides_command(session, sides, workload, recording);
	return status;
}

static enum status peers_record(struct session *session, const struct record_options *options,
                                const struct variant sides[2], struct recording *recording, struct err *err)
{
	enum status status = ST_OK;
	bool alone = recording->kind == KIND_TRUTH || recording->kind == KIND_LAYOUTS;
	bool samples = !alone && recording->kind != KIND_COMMAND && options->samples_every &&
	               recording->index % options->samples_every == 0;
	for (int i = 0; i < 2 && status == ST_OK && samples; i++)
		status = samples_record(session, sides[i].program, recording, i, &recording->samples[i], err);
	bool commands = !alone && options->commands_every && recording->index % options->commands_every == 0;
	for (int i = 0; i < 2 && status == ST_OK && commands; i++)
		status = commands_record(session, sides[i].program, recording, i, &recording->commands[i], err);
	if (status == ST_OK && !alone && recording->index < options->hyperfine)
		status = hyperfine_record(session, options->dir, sides, recording, err);
	return status;
}

static enum status trial_record(struct session *session, const struct record_options *options,
                                struct recording *recording, struct err *err)
{
	struct variant sides[2] = {{.name = "baseline"}, {.name = "candidate"}};
	struct workload workload;
	enum status status = sides_make(session, options->cc, sides, &workload, recording, err);
	if (status == ST_OK)
		status = interleaved_record(session, sides, recording, err);
	/* Not one pair fitted the budget: assay has no verdict, and nobody knows how long the peers' samples should be. */
	if (status != ST_OK || recording->pairs.count == 0)
		return status;
	double ns[2];
	pairs_medians(&recording->pairs, &ns[0], &ns[1]);
	if (recording->kind != KIND_COMMAND)
		recording->command_iterations = ns[0] > 0 ? (uint64_t)fmax(1, COMMAND_NS / ns[0]) : 1;
	return peers_record(session, options, sides, recording, err);
}

static void progress_print(const struct record_options *options, const char *name, unsigned done, unsigned total,
                           double elapsed_s, double *printed)
{
	double now = proc_now();
	bool last = done == total;
	if (!last && now - *printed < (options->terminal ? 0.2 : 15))
		return;
	*printed = now;
	double left = done ? elapsed_s / done * (total - done) : 0;
	fprintf(stderr, options->terminal ? "\r\033[K%u of %u trials, %.0f s left, %s%s" : "%u of %u trials, %.0f s left, %s%s\n",
	        done, total, left, name, options->terminal && last ? "\n" : "");
}

/* A copy with the arena's memory given back after each trial: thousands of them would not fit. */
static enum status trial_run(struct session *session, const struct record_options *options,
                             const struct recording *wanted, const char *path, struct err *err)
{
	struct recording recording = *wanted;
	struct session own = *session;
	arena_init(&own.arena);
	own.run.notes = (struct note_list){0};
	enum status status = trial_record(&own, options, &recording, err);
	if (status == ST_OK)
		status = recording_write(path, &recording, err);
	arena_release(&own.arena);
	return status;
}

static enum status record_all(struct session *session, const struct record_options *options, struct err *err)
{
	struct arena *arena = &session->arena;
	unsigned variants = options->layouts >= 2 ? options->layouts - 1 : (unsigned)options->effect_count;
	unsigned total = options->trials * (unsigned)options->workloads.count * variants, done = 0, made = 0, skipped = 0;
	double started = proc_now(), printed = started;
	enum status status = ST_OK;
	for (unsigned i = 0; i < total && status == ST_OK; i++, done++) {
		/* The trial's number is the outermost: drift of the machine reaches all workloads and effects alike. */
		unsigned cell = i % ((unsigned)options->workloads.count * variants), variant = cell % variants;
		struct recording recording = {.kind = options->kind, .seconds = options->seconds, .layout = NO_LAYOUT,
		                              .index = i / ((unsigned)options->workloads.count * variants)};
		const char *workload = options->workloads.at[cell / variants];
		snprintf(recording.workload, sizeof recording.workload, "%s", workload);
		snprintf(recording.load, sizeof recording.load, "%s", options->load);
		if (options->layouts >= 2)
			recording.layout = (int32_t)variant + 1;
		else
			recording.effect_percent = options->effects[variant];
		const char *name = recording_name(arena, &recording);
		recording.seed = text_hash(name, strlen(name), options->seed ^ TEXT_HASH_SEED);
		const char *path = arena_printf(arena, "%s/%s.rec", options->dir, name);
		if (access(path, R_OK) == 0) {
			skipped++;
			continue;
		}
		status = *session->interrupted ? err_set(err, ST_INTERRUPTED, "interrupted")
		                               : trial_run(session, options, &recording, path, err);
		made += status == ST_OK;
		/* What was there already took no time: it counts for none. */
		progress_print(options, name, done + 1 - skipped, total - skipped, proc_now() - started, &printed);
	}
	fprintf(stderr, "%s%u recorded, %u were there before, %.0f s\n", options->terminal ? "\r\033[K" : "", made, skipped,
	        proc_now() - started);
	return status;
}

/* Where the programs lie that each block copies. */
static const char *work_place(void)
{
	struct statfs info;
	const char *folder = getenv("TMPDIR");
	if (statfs(folder && *folder ? folder : "/tmp", &info) != 0)
		return "unknown";
	return info.f_type == TMPFS_MAGIC ? "memory" : "a disk";
}

enum status session_describe(struct session *session, const char *dir, const char *cc, const char *command,
                             struct err *err)
{
	struct host host;
	host_describe(&session->arena, &host);
	struct proc_request request = {.cpu = -1, .timeout_s = 10};
	struct proc_result result;
	list_push(&session->arena, &request.argv, cc);
	list_push(&session->arena, &request.argv, "--version");
	enum status status = proc_run(&session->arena, &request, &result, err);
	if (status != ST_OK)
		return status;
	if (!proc_ok(&result))
		return err_set(err, ST_INPUT, "%s: name a compiler with --cc", proc_describe(&session->arena, &request, &result));
	char date[32];
	time_t now = time(NULL);
	strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime(&now));
	const char *compiler = arena_strndup(&session->arena, result.out, strcspn(result.out, "\n"));
	json_t *line = json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:f}", "date", date, "command", command, "compiler",
	                         compiler, "cpu", host.cpu, "cpus", (int)host.cpus, "kernel", host.kernel, "system",
	                         host.system, "programs_in", work_place(), "clock", host.clock_source, "load_average", host.load_average);
	const char *path = arena_printf(&session->arena, "%s/sessions.jsonl", dir);
	FILE *file = line ? fopen(path, "ae") : NULL;
	bool good = file && json_dumpf(line, file, JSON_COMPACT) == 0 && fputc('\n', file) != EOF;
	if (file && fclose(file) != 0)
		good = false;
	json_decref(line);
	return good ? ST_OK : err_set(err, ST_SYSTEM, "can't write %s", path);
}

enum status record(struct session *session, const struct record_options *options, struct err *err)
{
	enum status status = folder_make(options->dir, err);
	if (status == ST_OK)
		status = session_describe(session, options->dir, options->cc, options->command, err);
	if (status == ST_OK)
		status = programs_open(session, options->cc, err);
	struct busy busy = {.count = 0};
	if (status == ST_OK)
		status = busy_start(&busy, options->load, err);
	if (status == ST_OK)
		status = record_all(session, options, err);
	busy_end(&busy);
	build_close(session);
	return status;
}
