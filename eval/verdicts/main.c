/* assay's rule beside those of its peers, on the same recorded work: see eval/verdicts/README.md. */
#include "base/text.h"
#include "judge.h"
#include "overhead.h"
#include "record.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char usage[] =
    "usage: eval_verdicts record DIR [--workload alu,l3,lz] [--effects 0,0.2,0.5,1,2,5 | --layouts 16] [--trials N]\n"
    "                                [--kind built|layouts|command|truth] [--load none|one|twice] [--seconds S] [--samples-every N]\n"
    "                                [--commands-every N] [--hyperfine N] [--cc gcc] [--seed N]\n"
    "       eval_verdicts overhead DIR [--seconds S] [--cc gcc] [--seed N]\n"
    "       eval_verdicts judge DIR [-o FILE]\n";

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static bool number_parse(const char *text, double least, double most, double *ret_number)
{
	char *end;
	errno = 0;
	*ret_number = strtod(text, &end);
	return end != text && !*end && !errno && *ret_number >= least && *ret_number <= most;
}

static enum status count_parse(const char *option, const char *text, unsigned *ret_count, struct err *err)
{
	double number;
	if (!number_parse(text, 0, 1e6, &number) || number != floor(number))
		return err_set(err, ST_USAGE, "--%s needs a whole number up to 1000000, not \"%s\"", option, text);
	*ret_count = (unsigned)number;
	return ST_OK;
}

static enum status effects_parse(struct arena *arena, const char *text, struct record_options *options, struct err *err)
{
	enum { EFFECTS_MAX = sizeof options->effects / sizeof *options->effects };
	char *rest = arena_strdup(arena, text), *word;
	options->effect_count = 0;
	while ((word = strsep(&rest, ","))) {
		if (options->effect_count == EFFECTS_MAX)
			return err_set(err, ST_USAGE, "--effects takes at most %d", (int)EFFECTS_MAX);
		if (!number_parse(word, 0, 900, &options->effects[options->effect_count++]))
			return err_set(err, ST_USAGE, "--effects: \"%s\" is no percentage from 0 to 900", word);
	}
	return ST_OK;
}

static enum status kind_parse(const char *text, enum recording_kind *ret_kind, struct err *err)
{
	static const char *const names[KINDS] = {
	    [KIND_BUILT] = "built", [KIND_LAYOUTS] = "layouts", [KIND_COMMAND] = "command", [KIND_TRUTH] = "truth"};
	for (int kind = 0; kind < KINDS; kind++)
		if (strcmp(text, names[kind]) == 0) {
			*ret_kind = (enum recording_kind)kind;
			return ST_OK;
		}
	return err_set(err, ST_USAGE, "--kind is built, layouts, command or truth, not \"%s\"", text);
}

static enum status workloads_parse(struct arena *arena, const char *text, struct record_options *options, struct err *err)
{
	char *rest = arena_strdup(arena, text), *word;
	options->workloads.count = 0;
	while ((word = strsep(&rest, ","))) {
		const char *path = arena_printf(arena, "%s/eval/verdicts/bench/%s.c", ASSAY_SOURCE_DIR, word);
		if (!*word || strlen(word) > 15 || access(path, R_OK) != 0)
			return err_set(err, ST_USAGE, "--workload: there is no eval/verdicts/bench/%s.c", word);
		list_push(arena, &options->workloads, (const char *)word);
	}
	return ST_OK;
}

enum { OPTION_WORKLOAD = 256, OPTION_KIND, OPTION_EFFECTS, OPTION_LAYOUTS, OPTION_TRIALS, OPTION_LOAD, OPTION_SECONDS, OPTION_SAMPLES,
       OPTION_COMMANDS, OPTION_HYPERFINE, OPTION_CC, OPTION_SEED };

static const struct option long_options[] = {
    {"workload", required_argument, NULL, OPTION_WORKLOAD}, {"effects", required_argument, NULL, OPTION_EFFECTS},
    {"kind", required_argument, NULL, OPTION_KIND},
    {"layouts", required_argument, NULL, OPTION_LAYOUTS},   {"trials", required_argument, NULL, OPTION_TRIALS},
    {"load", required_argument, NULL, OPTION_LOAD},         {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"samples-every", required_argument, NULL, OPTION_SAMPLES},
    {"commands-every", required_argument, NULL, OPTION_COMMANDS},
    {"hyperfine", required_argument, NULL, OPTION_HYPERFINE}, {"cc", required_argument, NULL, OPTION_CC},
    {"seed", required_argument, NULL, OPTION_SEED},         {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},                       {NULL, 0, NULL, 0},
};

static enum status option_take(struct arena *arena, int option, const char *value, struct record_options *options,
                               const char **ret_output, struct err *err)
{
	unsigned seed;
	enum status status = ST_OK;
	switch (option) {
	case OPTION_WORKLOAD:
		return workloads_parse(arena, value, options, err);
	case OPTION_KIND:
		return kind_parse(value, &options->kind, err);
	case OPTION_EFFECTS:
		return effects_parse(arena, value, options, err);
	case OPTION_LAYOUTS:
		status = count_parse("layouts", value, &options->layouts, err);
		if (status == ST_OK && (options->layouts < 2 || options->layouts > 99))
			status = err_set(err, ST_USAGE, "--layouts needs 2 to 99");
		return status;
	case OPTION_TRIALS:
		return count_parse("trials", value, &options->trials, err);
	case OPTION_LOAD:
		options->load = value;
		if (strcmp(value, "none") != 0 && strcmp(value, "one") != 0 && strcmp(value, "twice") != 0)
			return err_set(err, ST_USAGE, "--load is none, one or twice, not \"%s\"", value);
		return ST_OK;
	case OPTION_SECONDS:
		if (!number_parse(value, 0.05, 600, &options->seconds))
			return err_set(err, ST_USAGE, "--seconds needs 0.05 to 600, not \"%s\"", value);
		return ST_OK;
	case OPTION_SAMPLES:
		return count_parse("samples-every", value, &options->samples_every, err);
	case OPTION_COMMANDS:
		return count_parse("commands-every", value, &options->commands_every, err);
	case OPTION_HYPERFINE:
		return count_parse("hyperfine", value, &options->hyperfine, err);
	case OPTION_CC:
		options->cc = value;
		return ST_OK;
	case OPTION_SEED:
		status = count_parse("seed", value, &seed, err);
		options->seed = seed;
		return status;
	case 'o':
		*ret_output = value;
		return ST_OK;
	default:
		return err_set(err, ST_USAGE, "%s", "see the usage above");
	}
}

static enum status judge_to(const char *dir, const char *command, const char *output, struct err *err)
{
	if (!output)
		return judge_folder(dir, command, stdout, err);
	/* An old report stays until the new one is whole. */
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	enum status status = memory ? judge_folder(dir, command, memory, err) : err_set(err, ST_SYSTEM, "out of memory");
	if (memory)
		fclose(memory);
	FILE *file = status == ST_OK ? fopen(output, "we") : NULL;
	if (status == ST_OK) {
		bool good = file && fwrite(text, 1, size, file) == size;
		if (file && fclose(file) != 0)
			good = false;
		if (!good)
			status = err_errno(err, errno, "can't write %s", output);
	}
	free(text);
	return status;
}

static enum status command_run(struct session *session, int argc, char **argv, struct err *err)
{
	struct arena *arena = &session->arena;
	struct record_options options = {.cc = "gcc", .trials = 10, .load = "none", .seconds = 1, .samples_every = 1,
	                                 .commands_every = 1, .hyperfine = 2, .seed = 1, .terminal = isatty(STDERR_FILENO)};
	static const double effects[] = {0, 0.2, 0.5, 1, 2, 5};
	for (; options.effect_count < sizeof effects / sizeof *effects; options.effect_count++)
		options.effects[options.effect_count] = effects[options.effect_count];
	enum status status = workloads_parse(arena, "alu,l3,lz", &options, err);
	struct string_list words = {0};
	list_push(arena, &words, "eval_verdicts");
	for (int i = 1; i < argc; i++)
		list_push(arena, &words, (const char *)argv[i]);
	options.command = text_join(arena, &words, " ");
	const char *output = NULL;
	int option;
	while (status == ST_OK && (option = getopt_long(argc, argv, "o:h", long_options, NULL)) != -1)
		status = option_take(arena, option, optarg, &options, &output, err);
	if (status != ST_OK)
		return status;
	if (argc - optind != 2)
		return err_set(err, ST_USAGE, "%s", "a command and a folder are needed");
	const char *command = argv[optind];
	options.dir = argv[optind + 1];
	session->run.seed = options.seed;
	if (strcmp(command, "record") == 0)
		return record(session, &options, err);
	if (strcmp(command, "overhead") == 0)
		return overhead_record(session, options.dir, options.cc, options.seconds, options.command, err);
	if (strcmp(command, "judge") == 0)
		return judge_to(options.dir, options.command, output, err);
	return err_set(err, ST_USAGE, "there is no command \"%s\"", command);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	struct session session = {.interrupted = &interrupted, .jobs = 1};
	arena_init(&session.arena);
	struct err err = ERR_INIT;
	enum status status = command_run(&session, argc, argv, &err);
	if (status == ST_USAGE)
		fputs(usage, stderr);
	if (status != ST_OK)
		fprintf(stderr, "eval_verdicts: %s\n", err.text);
	arena_release(&session.arena);
	return status == ST_OK ? 0 : status == ST_USAGE ? 2 : status == ST_INTERRUPTED ? 130 : 1;
}
