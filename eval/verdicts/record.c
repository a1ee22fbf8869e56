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
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
	WARM_SAMPLES = 3,
	COMMANDS_MIN = 10, /* of each side, as hyperfine has it */
	COMMANDS_MAX = 1000,
	BUSY_MAX = 64,
	PAD_MAX = 8192,
};

static const double COMMAND_NS = 10e6, ANSWER_S = 20;

/* ---- programs ------------------------------------------------------------------------------------------------------- */

enum status programs_open(struct session *session, const char *cc, struct err *err)
{
	session->project.tree = ASSAY_SOURCE_DIR "/eval/engine";
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

/* Bytes in front of the driver's code and of the runtime's, by the layout's number. */
static enum status pads_write(struct session *session, int layout, const char *paths[2], struct err *err)
{
	struct rng rng;
	rng_seed(&rng, (uint64_t)layout);
	for (int i = 0; i < 2; i++) {
		paths[i] = arena_printf(&session->arena, "pad%d-%02d.s", i, layout);
		unsigned code = (unsigned)(rng_next(&rng) % PAD_MAX), data = (unsigned)(rng_next(&rng) % PAD_MAX);
		const char *text = arena_printf(&session->arena, "\t.text\n\t.skip %u, 0x90\n\t.data\n\t.skip %u\n"
		                                "\t.section .note.GNU-stack,\"\",@progbits\n", code, data);
		enum status status = file_write(path_join(&session->arena, session->workdir, paths[i]), text, strlen(text), err);
		if (status != ST_OK)
			return status;
	}
	return ST_OK;
}

enum status program_build(struct session *session, const char *cc, const char *workload, double effect_percent,
                          int layout, bool twin, const char **ret_path, struct err *err)
{
	struct arena *arena = &session->arena;
	const char *kind = layout > 0 ? arena_printf(arena, "L%06d", layout) : arena_printf(arena, "E%06.2f", effect_percent);
	/* Equally long for both sides: the length of a program's name moves its stack. */
	const char *name = arena_printf(arena, "%s-%s-%c", workload, kind, twin ? 'b' : 'a');
	*ret_path = path_join(arena, session->workdir, name);
	if (access(*ret_path, X_OK) == 0)
		return ST_OK;
	const char *pads[2] = {NULL, NULL};
	enum status status = layout > 0 ? pads_write(session, layout, pads, err) : ST_OK;
	if (status != ST_OK)
		return status;
	struct proc_request request = {.cpu = -1, .timeout_s = 60, .directory = session->workdir};
	struct proc_result result;
	const char *driver = arena_printf(arena, "%s/bench/%s.c", session->project.tree, workload);
	bool runtime_first = layout > 0 && layout % 2;
	const char *words[] = {cc, "-O2", "-std=gnu17", "-Iinclude", arena_printf(arena, "-DINJECT=%g", effect_percent),
	                       pads[0], runtime_first ? "runtime.o" : driver, pads[1], runtime_first ? driver : "runtime.o",
	                       "-o", name};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (words[i])
			list_push(arena, &request.argv, words[i]);
	status = proc_run(arena, &request, &result, err);
	if (status == ST_OK && !proc_ok(&result))
		status = err_set(err, ST_INPUT, "workload %s can't be built: %s: %s", workload,
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
};

static enum status pair_stamp(void *context, const struct pair *pair, struct err *err)
{
	(void)err;
	struct stamping *stamping = context;
	list_push(stamping->arena, &stamping->recording->pairs, *pair);
	list_push(stamping->arena, &stamping->recording->stamps, proc_now() - stamping->started);
	return ST_OK;
}

static enum status interleaved_record(struct session *session, const struct variant sides[2],
                                      struct recording *recording, struct err *err)
{
	/* An alpha at which nothing is ever decided: every recording has the same length, and judging comes later. */
	struct plan plan = {.seed = recording->seed, .alpha = 1e-300, .margin = 0.01, .budget_s = recording->seconds,
	                    .cpu = CPU_CHOOSE};
	struct stamping stamping = {&session->arena, recording, proc_now()};
	struct sample_sink sink = {pair_stamp, &stamping};
	struct measurement measurement;
	enum status status = measure(session, &sides[0], &sides[1], NULL, &plan, &sink, &measurement, err);
	recording->interleaved_s = proc_now() - stamping.started;
	if (status != ST_OK)
		return status;
	recording->iterations = measurement.iterations;
	recording->stop = (uint32_t)measurement.stop;
	/* Nothing is wrong with these programs: a failure is one of the engine's, and is counted as such. */
	if (measurement.stop == STOP_FAILED)
		fprintf(stderr, "%s: %s\n", recording_name(&session->arena, recording), measurement.failure);
	return measurement.stop == STOP_INTERRUPTED ? err_set(err, ST_INTERRUPTED, "interrupted") : ST_OK;
}

/* ---- the peers' ways -------------------------------------------------------------------------------------------------- */

/* One process, warmed up, then sample after sample: as benchmark libraries do. Not pinned: they don't. */
static enum status samples_record(struct session *session, const char *program, const struct recording *recording,
                                  struct timed_list *samples, struct err *err)
{
	struct proc_request request = workload_request(&session->arena, program, NULL, session->run.seed, "--serve", NULL);
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
static enum status commands_record(struct session *session, const char *program, const struct recording *recording,
                                   struct timed_list *commands, struct err *err)
{
	const char *number = arena_printf(&session->arena, "%llu", (unsigned long long)recording->command_iterations);
	struct proc_request request =
	    workload_request(&session->arena, program, NULL, session->run.seed, "--count", number);
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
		          arena_printf(arena, "%s --seed %llu --count %llu", sides[i].program,
		                       (unsigned long long)session->run.seed, (unsigned long long)recording->command_iterations));
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

static enum status trial_record(struct session *session, const struct record_options *options,
                                struct recording *recording, struct err *err)
{
	struct variant sides[2] = {{.name = "baseline"}, {.name = "candidate"}};
	bool layouts = recording->layout != NO_LAYOUT;
	bool equal = !layouts && recording->effect_percent == 0;
	enum status status = program_build(session, options->cc, recording->workload, 0, 0, false, &sides[0].program, err);
	if (status == ST_OK)
		status = program_build(session, options->cc, recording->workload, recording->effect_percent,
		                       layouts ? recording->layout : 0, equal, &sides[1].program, err);
	if (status == ST_OK)
		status = interleaved_record(session, sides, recording, err);
	/* Not one pair fitted the budget: assay has no verdict, and nobody knows how long the peers' samples should be. */
	if (status != ST_OK || recording->pairs.count == 0)
		return status;
	double ns[2];
	pairs_medians(&recording->pairs, &ns[0], &ns[1]);
	recording->command_iterations = ns[0] > 0 ? (uint64_t)fmax(1, COMMAND_NS / ns[0]) : 1;
	bool samples = options->samples_every && recording->index % options->samples_every == 0;
	for (int i = 0; i < 2 && status == ST_OK && samples; i++)
		status = samples_record(session, sides[i].program, recording, &recording->samples[i], err);
	bool commands = options->commands_every && recording->index % options->commands_every == 0;
	for (int i = 0; i < 2 && status == ST_OK && commands; i++)
		status = commands_record(session, sides[i].program, recording, &recording->commands[i], err);
	if (status == ST_OK && recording->index < options->hyperfine)
		status = hyperfine_record(session, options->dir, sides, recording, err);
	return status;
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
		struct recording recording = {.seconds = options->seconds, .layout = NO_LAYOUT,
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
	json_t *line = json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:f}", "date", date, "command", command, "compiler",
	                         compiler, "cpu", host.cpu, "cpus", (int)host.cpus, "kernel", host.kernel, "system",
	                         host.system, "clock", host.clock_source, "load_average", host.load_average);
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
