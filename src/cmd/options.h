/* The command line: one table of options drives the parser, `--help`, the manual page and the shell completion. */
#ifndef ASSAY_CMD_OPTIONS_H
#define ASSAY_CMD_OPTIONS_H

#include "base/err.h"
#include "model/project.h"
#include "model/trial.h"

#include <stdio.h>

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_SARIF, FORMAT_MARKDOWN };

/* What was asked for; everything that was not given has its default. Strings point into argv or the arena. */
struct options {
	struct string_list operands;
	bool help;
	enum format format;
	const char *output; /* NULL: stdout */
	unsigned jobs;      /* 0: one for each CPU */
	/* where */
	const char *project, *source, *database;
	/* scan */
	struct string_list patterns;
	const char *patches;
	const char *baseline, *changed_since; /* NULL: not narrowed */
	bool all; /* also what the baseline knows */
	bool confirm;
	const char *profile; /* NULL: none */
	/* the candidate of try */
	const char *patch, *define, *flags, *cc, *env, *vs, *rev;
	/* a survey in the candidate's place */
	const char *over, *against, *survey;
	struct string_list over_values; /* empty: all of the workload's */
	struct need_list needs;
	/* what it is run with */
	struct string_list workloads;
	const char *bench;
	struct string_list bench_sources;
	const char *bench_flags, *bench_libs;
	const char *run, *build;
	/* of commands */
	const char *metric, *better, *stdin_path, *cpus;
	bool shell, any_output;
	struct param_list params; /* narrows the workloads' */
	struct string_list matrix_cc, matrix_flags; /* empty: the default */
	/* how it is settled */
	double alpha, margin; /* fractions */
	double budget_s;
	bool budget_given;
	uint32_t layouts; /* 1: as built */
	struct string_list events;
	uint64_t seed;
	bool seed_given;
	enum rung to_rung;
	bool measure_anyway;
	bool no_cache;
	bool accept_contract;
	bool with_workload;
	/* the gate */
	bool require_given, forbid_given;
	enum verdict require, forbid;
	/* show, log */
	bool samples, recompute;
	const char *beside; /* another run, or NULL */
	unsigned limit;
};

enum {
	CMD_SCAN = 1,
	CMD_EXPLAIN = 2,
	CMD_TRY = 4,
	CMD_AUDIT = 8,
	CMD_SHOW = 16,
	CMD_LOG = 32,
	CMD_HELP = 64,
	CMD_DOCTOR = 1 << 7,
	CMD_REPORT = 1 << 8,
	CMD_PROVE = 1 << 9,
};

struct invocation;
struct command {
	unsigned bit; /* CMD_… */
	const char *name;
	const char *operands; /* "[PATH...]", for the usage line */
	unsigned operands_min, operands_max;
	const char *summary;     /* one line */
	const char *description; /* paragraphs, separated by empty lines */
	const char *const *examples; /* pairs: the command, what it does; NULL-terminated */
	int (*run)(struct invocation *invocation); /* returns the exit status */
};

extern const struct command command_table[];
extern const size_t command_count;
const struct command *command_find(const char *name);

/* Reads argv[1…] as options and operands of the command (argv[0] is its name). ST_USAGE: one sentence. */
MUST_CHECK enum status options_parse(struct arena *arena, const struct command *command, int argc, char **argv,
                                     struct options *ret_options, struct err *err);

/* "1%", "0.5%" -> 0.01, 0.005; false: not a percentage. */
bool percent_parse(const char *text, double *ret_fraction);
/* "cc=gcc-12,clang-19 opt=-O2,-O3 -march=native": the values of each, in order. */
MUST_CHECK enum status matrix_parse(struct arena *arena, const char *text, struct string_list *ret_cc,
                                    struct string_list *ret_flags, struct err *err);

void help_program(FILE *out);
void help_command(FILE *out, const struct command *command);
void manual_print(FILE *out);          /* roff, section 1 */
void completion_bash_print(FILE *out);

#endif
