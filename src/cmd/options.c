#include "cmd/options.h"

#include "base/text.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum option_id {
	OPT_HELP = 256, OPT_FORMAT, OPT_OUTPUT, OPT_JOBS, OPT_PROJECT, OPT_SOURCE, OPT_DATABASE, OPT_PATTERN, OPT_PATCHES,
	OPT_PATCH, OPT_DEFINE, OPT_FLAGS, OPT_CC, OPT_ENV, OPT_VS, OPT_REV, OPT_WORKLOAD, OPT_BENCH, OPT_BENCH_SOURCE, OPT_BENCH_FLAGS,
	OPT_BENCH_LIBS, OPT_RUN, OPT_BUILD, OPT_METRIC, OPT_BETTER, OPT_STDIN, OPT_SHELL, OPT_ANY_OUTPUT, OPT_CPUS, OPT_PARAM,
	OPT_MATRIX, OPT_ALPHA, OPT_MARGIN, OPT_BUDGET, OPT_LAYOUTS, OPT_EVENTS, OPT_SEED, OPT_TO_RUNG, OPT_MEASURE_ANYWAY, OPT_ACCEPT_CONTRACT, OPT_WITH_WORKLOAD, OPT_REQUIRE,
	OPT_FORBID, OPT_BASELINE, OPT_CHANGED_SINCE, OPT_ALL, OPT_SAMPLES, OPT_RECOMPUTE, OPT_BESIDE, OPT_NO_CACHE, OPT_LIMIT,
	OPT_OVER, OPT_AGAINST, OPT_NEEDS, OPT_SURVEY,
	OPT_CONFIRM, OPT_PROFILE,
};

enum {
	SETTLING = CMD_TRY | CMD_AUDIT,
	SCANNING = CMD_SCAN | CMD_EXPLAIN | SETTLING,
	EVERY = CMD_SCAN | CMD_EXPLAIN | CMD_TRY | CMD_AUDIT | CMD_SHOW | CMD_LOG | CMD_REPORT | CMD_DOCTOR | CMD_PROVE | CMD_HELP,
	MEASURING = SETTLING | CMD_PROVE,
	REPORTING = CMD_SCAN | MEASURING | CMD_SHOW | CMD_REPORT,
};

#define VERDICTS "faster slower no-effect mixed inconclusive wrong-results"
#define RUNGS "built tokens code intent reach outputs time"

struct option_spec {
	enum option_id id;
	char letter; /* 0: none */
	const char *name, *argument; /* argument NULL: takes none */
	unsigned commands;
	const char *help;
	const char *values; /* for the completion: words; "*": files; NULL: unknown */
};

static const struct option_spec specs[] = {
	{OPT_PATCH, 0, "patch", "FILE", CMD_TRY, "the candidate is this unified diff against the tree", "*"},
	{OPT_DEFINE, 0, "define", "X=Y", CMD_TRY, "the candidate is -DX=Y in every compile command of the workload", NULL},
	{OPT_FLAGS, 0, "flags", "FLAGS", CMD_TRY, "the candidate is these flags, after those of the workload", NULL},
	{OPT_CC, 0, "cc", "CC", CMD_TRY, "the candidate is this compiler", NULL},
	{OPT_REV, 0, "rev", "A..B", CMD_TRY, "the candidate is what git has in B and not in A; the baseline is A. The working tree is "
	 "not looked at", NULL},
	{OPT_ENV, 0, "env", "NAME=VALUE", CMD_TRY, "the candidate is this variable in the environment of the workload", NULL},
	{OPT_VS, 0, "vs", "COMMAND", CMD_TRY, "the candidate is this command; the baseline is the command behind `--`", NULL},
	{OPT_OVER, 0, "over", "NAME[=V,V]", CMD_TRY, "a survey in place of a candidate: how do the values of this parameter of the "
	 "workload compare? All of its values, or these", NULL},
	{OPT_AGAINST, 0, "against", "VALUE", CMD_TRY, "of --over: the value that the others are compared with (default: the first)", NULL},
	{OPT_NEEDS, 0, "needs", "V=FEATURE", CMD_TRY, "of --over: the CPU feature, as /proc/cpuinfo spells it, that a value needs; "
	 "V=FEATURE,V=FEATURE for several. A value that needs nothing that the CPU lacks and can't run is missing from the build", NULL},
	{OPT_SURVEY, 0, "survey", "NAME", CMD_TRY, "this survey of the project file", NULL},
	{OPT_WORKLOAD, 0, "workload", "NAME", SETTLING, "only this workload of the project file; may be repeated "
	 "(default: all that compile what changes)", NULL},
	{OPT_BENCH, 0, "bench", "FILE.c", CMD_TRY, "the workload is this driver (assay/bench.h); no project file is needed", "*"},
	{OPT_BENCH_SOURCE, 0, "bench-source", "FILE.c", CMD_TRY, "a source that is compiled with --bench; may be repeated", "*"},
	{OPT_BENCH_FLAGS, 0, "bench-flags", "FLAGS", CMD_TRY, "flags for the sources of --bench; relative paths count from the tree",
	 NULL},
	{OPT_BENCH_LIBS, 0, "bench-libs", "LIBS", CMD_TRY, "libraries for --bench: '-lm'", NULL},
	{OPT_RUN, 0, "run", "COMMAND", CMD_TRY, "the workload is this command; with --build it is run in a copy of the tree", NULL},
	{OPT_BUILD, 0, "build", "LINE", CMD_TRY, "what builds the tree, for /bin/sh; in place of the project's own", NULL},
	{OPT_METRIC, 0, "metric", "METRIC", SETTLING, "of commands: wall, cpu, or regex:PATTERN with one group around a number "
	 "that the command prints (default: cpu where others contend for the CPUs, else wall)", "wall cpu regex:"},
	{OPT_BETTER, 0, "better", "WHICH", SETTLING, "of a number that a command prints: higher or lower", "higher lower"},
	{OPT_STDIN, 0, "stdin", "FILE", SETTLING, "of commands: what they read (default: /dev/null)", "*"},
	{OPT_SHELL, 0, "shell", NULL, SETTLING, "commands are lines for /bin/sh; its start is in the time", NULL},
	{OPT_ANY_OUTPUT, 0, "any-output", NULL, SETTLING, "what commands print may differ", NULL},
	{OPT_CPUS, 0, "cpus", "CPU", SETTLING, "of commands: the CPU that they are pinned to, or none, as for several threads "
	 "(default: the idlest)", "none"},
	{OPT_PARAM, 0, "param", "NAME=V[,V]", SETTLING, "these values of a workload's parameter in place of its own; may be "
	 "repeated", NULL},
	{OPT_MATRIX, 0, "matrix", "MATRIX", MEASURING, "build configurations: 'cc=gcc-12,clang-19 opt=-O2,-O3' (default: $CC, the "
	 "database's compiler or gcc, with the -O level of workloads and database, or -O2; of `prove`: every gcc-N and clang-N, -O2 and -O3)", NULL},
	{OPT_MARGIN, 0, "margin", "PERCENT", MEASURING, "the smallest effect worth having (default: 1%)", NULL},
	{OPT_ALPHA, 0, "alpha", "PERCENT", MEASURING, "the accepted chance of a wrong verdict in all trials of a hypothesis together (default: 1%)", NULL},
	{OPT_BUDGET, 0, "budget", "TIME", MEASURING, "time for measuring one trial: 500ms, 60s, 2m (default: the project file's, else 20s; of `prove`: 1s)", NULL},
	{OPT_LAYOUTS, 0, "layouts", "N", MEASURING, "over at least N layouts of the programs (order and offsets of their code and data are "
	 "drawn anew for every block) instead of as built; 8 to 16 are advised; at 1% a verdict takes 12 (default: 1, as built)", NULL},
	{OPT_EVENTS, 0, "events", "NAME[,NAME]", MEASURING, "to be counted besides, by libpfm4's names, as in L2_RQSTS:MISS or PAGE-FAULTS; "
	 "they explain and never decide", NULL},
	{OPT_SEED, 0, "seed", "N", MEASURING, "repeats the coin flips of a run (default: fresh, and printed)", NULL},
	{OPT_TO_RUNG, 0, "to-rung", "RUNG", MEASURING, "no further than this rung of the ladder, by name or number: built, tokens, "
	 "code, intent, reach, outputs, time (0 to 6)", RUNGS},
	{OPT_MEASURE_ANYWAY, 0, "measure-anyway", NULL, MEASURING, "measures even what an earlier rung settled", NULL},
	{OPT_NO_CACHE, 0, "no-cache", NULL, MEASURING, "compiles everything anew; else an object is taken from an earlier run when compiler, "
	 "options and preprocessed text are the same (~/.cache/assay)", NULL},
	{OPT_ACCEPT_CONTRACT, 0, "accept-contract", NULL, SETTLING, "you confirm what the candidates promise and no proof shows ('only "
	 "if: …'); without this, or `contracts` in the project file, none is called faster", NULL},
	{OPT_WITH_WORKLOAD, 0, "with-workload", NULL, CMD_AUDIT, "of the scan's findings, tries only those that a workload compiles; the "
	 "others are listed as not tried, and no time is spent on their code", NULL},
	{OPT_REQUIRE, 0, "require", "VERDICT", SETTLING, "the gate: exit status 0 only if this is the verdict of every hypothesis",
	 VERDICTS},
	{OPT_FORBID, 0, "forbid", "VERDICT", SETTLING, "the gate: exit status 1 if this is the verdict of any trial; slower: by "
	 "more than the margin", VERDICTS},
	{OPT_PATTERN, 0, "pattern", "ID", CMD_SCAN | CMD_AUDIT, "only this pattern, by id or name; may be repeated", NULL},
	{OPT_BASELINE, 0, "baseline", "FILE", CMD_SCAN, "an earlier report (--format json or sarif): findings that it has are counted, "
	 "not listed, and those that are gone are counted too", "*"},
	{OPT_CHANGED_SINCE, 0, "changed-since", "REV", CMD_SCAN, "only findings on lines, or in functions, that changed since this git "
	 "revision, the working tree included", NULL},
	{OPT_ALL, 0, "all", NULL, CMD_SCAN, "lists what --baseline knows, too", NULL},
	{OPT_CONFIRM, 0, "confirm", NULL, CMD_SCAN | CMD_AUDIT, "compiles the files of P01, P03 and P07 and asks the compiler what it made "
	 "of those loops: what it denies ranks one step lower", NULL},
	{OPT_PROFILE, 0, "profile", "FILE", CMD_SCAN | CMD_AUDIT, "callgrind's output, or the text of `perf report --stdio` or `perf script`: "
	 "what is in a function with 5% or more of the time ranks one step higher, in one that it never saw one step lower", "*"},
	{OPT_PATCHES, 0, "patches", "DIR", CMD_SCAN, "writes each candidate to DIR as a patch and prints its name", "*"},
	{OPT_PROJECT, 0, "project", "DIR", SCANNING, "the folder of assay.yaml, or the tree itself (default: the folder "
	 "given or the current one)", "*"},
	{OPT_SOURCE, 0, "source", "DIR", SCANNING, "the source tree, in place of the project's own", "*"},
	{OPT_DATABASE, 'p', "database", "DIR", SCANNING, "the folder of compile_commands.json, or the file", "*"},
	{OPT_JOBS, 'j', "jobs", "N", SCANNING | CMD_PROVE, "processes for scanning and building (default: one for each CPU)", NULL},
	{OPT_SAMPLES, 0, "samples", NULL, CMD_SHOW, "prints the raw pairs, tab-separated", NULL},
	{OPT_RECOMPUTE, 0, "recompute", NULL, CMD_SHOW, "judges the run again from its stored samples and plan: exit status 0 if "
	 "every verdict on time is the same to the last digit, 1 if not, 3 if the store lacks what it needs", NULL},
	{OPT_BESIDE, 0, "beside", "RUN", CMD_SHOW, "compares the verdicts with those of this run, hypothesis by hypothesis: exit status 0 if "
	 "all that both have decided are the same, 1 if not; text or markdown", "*"},
	{OPT_LIMIT, 'n', "limit", "N", CMD_LOG, "so many runs at most (default: 20; 0: all)", NULL},
	{OPT_FORMAT, 0, "format", "FORMAT", REPORTING | CMD_DOCTOR, "text, json, sarif or markdown (default: text)", "text json sarif markdown"},
	{OPT_OUTPUT, 'o', "output", "FILE", REPORTING | CMD_DOCTOR, "writes the report to FILE", "*"},
	{OPT_HELP, 'h', "help", NULL, EVERY, "prints this text", NULL},
};

/* ---- values ----------------------------------------------------------------------------------------------------- */

bool percent_parse(const char *text, double *ret_fraction)
{
	double value;
	const char *rest;
	if (!decimal_parse(text, &value, &rest) || strcmp(rest, "%") != 0)
		return false;
	*ret_fraction = value / 100;
	return true;
}

static bool whole_parse(const char *text, unsigned long long max, unsigned long long *ret_value)
{
	if (!text[0] || strspn(text, "0123456789") != strlen(text))
		return false;
	errno = 0;
	*ret_value = strtoull(text, NULL, 10);
	return errno == 0 && *ret_value <= max;
}

static void comma_split(struct arena *arena, const char *text, struct string_list *list)
{
	for (;;) {
		size_t size = strcspn(text, ",");
		list_push(arena, list, arena_strndup(arena, text, size));
		if (!text[size])
			return;
		text += size + 1;
	}
}

static bool verdict_from(struct arena *arena, const char *text, enum verdict *ret_verdict)
{
	char *name = arena_strdup(arena, text);
	for (char *at = name; *at; at++)
		if (*at == '-' || *at == '_')
			*at = ' ';
	return verdict_parse(name, ret_verdict) && *ret_verdict != VERDICT_NONE && *ret_verdict != VERDICT_FAILED;
}

static bool rung_from(const char *text, enum rung *ret_rung)
{
	unsigned long long number;
	if (whole_parse(text, RUNG_TIME - RUNG_BUILT, &number)) {
		*ret_rung = (enum rung)(RUNG_BUILT + number);
		return true;
	}
	return rung_parse(text, ret_rung) && *ret_rung != RUNG_NONE;
}

enum status matrix_parse(struct arena *arena, const char *text, struct string_list *ret_cc,
                         struct string_list *ret_flags, struct err *err)
{
	struct string_list words = {0};
	if (!shell_split(arena, text, &words))
		return err_set(err, ST_USAGE, "--matrix: a quote is left open in: %s", text);
	const char *cc = NULL, *flags = NULL;
	const char **last = NULL;
	for (size_t i = 0; i < words.count; i++) {
		const char *word = words.at[i];
		if (text_starts(word, "cc=") && !cc) {
			cc = word + 3;
			last = &cc;
		} else if ((text_starts(word, "opt=") || text_starts(word, "flags=")) && !flags) {
			flags = strchr(word, '=') + 1;
			last = &flags;
		} else if (word[0] == '-' && last == &flags) {
			/* "opt=-O2 -march=native": one configuration with two flags. */
			flags = arena_printf(arena, "%s %s", flags, word);
		} else {
			return err_set(err, ST_USAGE, "--matrix: '%s' is not understood: give each of cc= and opt= once, as in "
			               "'cc=gcc-12,clang-19 opt=-O2,-O3'", word);
		}
	}
	if (!cc && !flags)
		return err_set(err, ST_USAGE, "--matrix is empty: give cc= or opt=, as in 'cc=gcc-12,clang-19 opt=-O2,-O3'");
	if (cc)
		comma_split(arena, cc, ret_cc);
	if (flags)
		comma_split(arena, flags, ret_flags);
	for (size_t i = 0; i < ret_cc->count; i++)
		if (!ret_cc->at[i][0])
			return err_set(err, ST_USAGE, "--matrix: a compiler's name is missing in cc=%s", cc);
	return ST_OK;
}

static enum status param_add(struct arena *arena, const char *text, struct param_list *params, struct err *err)
{
	const char *equals = strchr(text, '=');
	if (!equals || equals == text || !equals[1])
		return err_set(err, ST_USAGE, "--param wants NAME=VALUE, as in block=4096, not '%s'", text);
	struct param param = {.name = arena_strndup(arena, text, (size_t)(equals - text))};
	comma_split(arena, equals + 1, &param.values);
	for (size_t i = 0; i < param.values.count; i++)
		if (!param.values.at[i][0])
			return err_set(err, ST_USAGE, "--param %s: a value is empty", text);
	list_push(arena, params, param);
	return ST_OK;
}

static enum status over_set(struct arena *arena, const char *text, struct options *options, struct err *err)
{
	size_t size = strcspn(text, "=");
	options->over = arena_strndup(arena, text, size);
	options->over_values = (struct string_list){0};
	if (text[size])
		comma_split(arena, text + size + 1, &options->over_values);
	for (size_t i = 0; i < options->over_values.count; i++)
		if (!options->over_values.at[i][0] || !size)
			return err_set(err, ST_USAGE, "--over wants a parameter, as in impl, or with its values, as in impl=generic,sse2, not "
			               "'%s'", text);
	return ST_OK;
}

static enum status needs_add(struct arena *arena, const char *text, struct need_list *needs, struct err *err)
{
	struct string_list words = {0};
	comma_split(arena, text, &words);
	for (size_t i = 0; i < words.count; i++) {
		const char *word = words.at[i], *equals = strrchr(word, '=');
		if (!equals || equals == word || !equals[1])
			return err_set(err, ST_USAGE, "--needs wants VALUE=FEATURE, as in avx2=avx2, not '%s'", word);
		struct need need = {.value = arena_strndup(arena, word, (size_t)(equals - word)), .feature = equals + 1};
		list_push(arena, needs, need);
	}
	return ST_OK;
}

/* ---- parsing ---------------------------------------------------------------------------------------------------- */

static enum status bad_value(struct err *err, const struct option_spec *spec, const char *value, const char *wants)
{
	return err_set(err, ST_USAGE, "--%s wants %s, not '%s'", spec->name, wants, value);
}

static bool format_parse(const char *value, enum format *ret_format)
{
	static const char *const names[] = {[FORMAT_TEXT] = "text", [FORMAT_JSON] = "json", [FORMAT_SARIF] = "sarif",
	                                    [FORMAT_MARKDOWN] = "markdown"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(value, names[i]) == 0) {
			*ret_format = (enum format)i;
			return true;
		}
	return false;
}

static enum status events_add(struct arena *arena, const struct option_spec *spec, const char *value,
                              struct string_list *events, struct err *err)
{
	comma_split(arena, value, events);
	for (size_t i = 0; i < events->count; i++)
		if (!events->at[i][0])
			return bad_value(err, spec, value, "names of events with commas between them");
	return ST_OK;
}

static enum status option_apply(struct arena *arena, const struct option_spec *spec, const char *value,
                                struct options *options, struct err *err)
{
	unsigned long long number = 0;
	if (spec->argument && !value[0] && spec->id != OPT_FLAGS && spec->id != OPT_BENCH_FLAGS && spec->id != OPT_BENCH_LIBS)
		return err_set(err, ST_USAGE, "--%s wants %s, not an empty text", spec->name, spec->argument);
	switch (spec->id) {
	case OPT_HELP:
		options->help = true;
		break;
	case OPT_FORMAT:
		if (!format_parse(value, &options->format))
			return bad_value(err, spec, value, "text, json, sarif or markdown");
		break;
	case OPT_OUTPUT:
		options->output = value;
		break;
	case OPT_JOBS:
		if (!whole_parse(value, 1024, &number) || number == 0)
			return bad_value(err, spec, value, "a number from 1 to 1024");
		options->jobs = (unsigned)number;
		break;
	case OPT_PROJECT:
		options->project = value;
		break;
	case OPT_SOURCE:
		options->source = value;
		break;
	case OPT_DATABASE:
		options->database = value;
		break;
	case OPT_PATTERN:
		comma_split(arena, value, &options->patterns);
		break;
	case OPT_PATCHES:
		options->patches = value;
		break;
	case OPT_PATCH:
		options->patch = value;
		break;
	case OPT_DEFINE:
		options->define = value;
		break;
	case OPT_FLAGS:
		if (!value[0])
			return bad_value(err, spec, value, "flags, as in '-O3 -march=native'");
		options->flags = value;
		break;
	case OPT_CC:
		options->cc = value;
		break;
	case OPT_REV:
		options->rev = value;
		break;
	case OPT_ENV:
		options->env = value;
		break;
	case OPT_VS:
		options->vs = value;
		break;
	case OPT_RUN:
		options->run = value;
		break;
	case OPT_BUILD:
		options->build = value;
		break;
	case OPT_METRIC:
		options->metric = value;
		break;
	case OPT_BETTER:
		options->better = value;
		break;
	case OPT_STDIN:
		options->stdin_path = value;
		break;
	case OPT_SHELL:
		options->shell = true;
		break;
	case OPT_ANY_OUTPUT:
		options->any_output = true;
		break;
	case OPT_CPUS:
		options->cpus = value;
		break;
	case OPT_OVER:
		return over_set(arena, value, options, err);
	case OPT_AGAINST:
		options->against = value;
		break;
	case OPT_NEEDS:
		return needs_add(arena, value, &options->needs, err);
	case OPT_SURVEY:
		options->survey = value;
		break;
	case OPT_WORKLOAD:
		list_push(arena, &options->workloads, value);
		break;
	case OPT_BENCH:
		options->bench = value;
		break;
	case OPT_BENCH_SOURCE:
		list_push(arena, &options->bench_sources, value);
		break;
	case OPT_BENCH_FLAGS:
		options->bench_flags = value;
		break;
	case OPT_BENCH_LIBS:
		options->bench_libs = value;
		break;
	case OPT_PARAM:
		return param_add(arena, value, &options->params, err);
	case OPT_MATRIX:
		options->matrix_cc = options->matrix_flags = (struct string_list){0};
		return matrix_parse(arena, value, &options->matrix_cc, &options->matrix_flags, err);
	case OPT_ALPHA:
		if (!percent_parse(value, &options->alpha) || options->alpha <= 0 || options->alpha > 0.5)
			return bad_value(err, spec, value, "a percentage above 0% and up to 50%, as in 1%");
		break;
	case OPT_MARGIN:
		if (!percent_parse(value, &options->margin) || options->margin <= 0 || options->margin > 1)
			return bad_value(err, spec, value, "a percentage above 0% and up to 100%, as in 1%");
		break;
	case OPT_BUDGET:
		if (!duration_parse(value, &options->budget_s) || options->budget_s < BUDGET_LEAST_S || options->budget_s > BUDGET_MOST_S)
			return bad_value(err, spec, value, "a time from 10ms to 24h with its unit, as in 60s, 2m or 500ms");
		options->budget_given = true;
		break;
	case OPT_LAYOUTS:
		if (!whole_parse(value, 1000, &number) || number == 0)
			return bad_value(err, spec, value, "a number from 1 (as built) to 1000");
		options->layouts = (uint32_t)number;
		break;
	case OPT_EVENTS:
		return events_add(arena, spec, value, &options->events, err);
	case OPT_SEED:
		if (!whole_parse(value, INT64_MAX, &number))
			return bad_value(err, spec, value, "a whole number from 0 to 9223372036854775807");
		options->seed = number;
		options->seed_given = true;
		break;
	case OPT_TO_RUNG:
		if (!rung_from(value, &options->to_rung))
			return bad_value(err, spec, value, "built, tokens, code, intent, reach, outputs, time, or 0 to 6");
		break;
	case OPT_ACCEPT_CONTRACT:
		options->accept_contract = true;
		break;
	case OPT_WITH_WORKLOAD:
		options->with_workload = true;
		break;
	case OPT_MEASURE_ANYWAY:
		options->measure_anyway = true;
		break;
	case OPT_REQUIRE:
		if (!verdict_from(arena, value, &options->require))
			return bad_value(err, spec, value, "a verdict: faster, slower, no-effect, mixed, …");
		options->require_given = true;
		break;
	case OPT_FORBID:
		if (!verdict_from(arena, value, &options->forbid))
			return bad_value(err, spec, value, "a verdict: slower, wrong-results, …");
		options->forbid_given = true;
		break;
	case OPT_BASELINE:
		options->baseline = value;
		break;
	case OPT_CHANGED_SINCE:
		options->changed_since = value;
		break;
	case OPT_CONFIRM:
		options->confirm = true;
		break;
	case OPT_PROFILE:
		options->profile = value;
		break;
	case OPT_ALL:
		options->all = true;
		break;
	case OPT_SAMPLES:
		options->samples = true;
		break;
	case OPT_RECOMPUTE:
		options->recompute = true;
		break;
	case OPT_NO_CACHE:
		options->no_cache = true;
		break;
	case OPT_BESIDE:
		options->beside = value;
		break;
	case OPT_LIMIT:
		if (!whole_parse(value, 1000000, &number))
			return bad_value(err, spec, value, "a number");
		options->limit = (unsigned)number;
		break;
	}
	return ST_OK;
}

/* What the table says about an option that this command does not take. */
static const struct option_spec *spec_named(const char *word)
{
	size_t size = strcspn(word, "=");
	for (size_t i = 0; size > 2 && i < COUNT(specs); i++)
		if (strncmp(specs[i].name, word + 2, size - 2) == 0 && strlen(specs[i].name) == size - 2)
			return &specs[i];
	return NULL;
}

static enum status unknown_option(struct arena *arena, const struct command *command, const char *word, struct err *err)
{
	const struct option_spec *spec = text_starts(word, "--") ? spec_named(word) : NULL;
	if (!spec || (spec->commands & command->bit))
		return err_set(err, ST_USAGE, "unknown option '%s' of `assay %s`: see `assay help %s`", word, command->name,
		               command->name);
	struct string_list takers = {0};
	for (size_t i = 0; i < command_count; i++)
		if (command_table[i].bit & spec->commands)
			list_push(arena, &takers, arena_printf(arena, "`%s`", command_table[i].name));
	return err_set(err, ST_USAGE, "`assay %s` does not take --%s, only %s do%s: see `assay help %s`", command->name, spec->name,
	               text_join(arena, &takers, ", "), takers.count == 1 ? "es" : "", command->name);
}

enum status options_parse(struct arena *arena, const struct command *command, int argc, char **argv,
                          struct options *ret_options, struct err *err)
{
	*ret_options = (struct options){.alpha = 0.01, .margin = 0.01, .budget_s = command->bit == CMD_PROVE ? 1 : 20, .layouts = 1, .to_rung = RUNG_TIME, .limit = 20};
	struct option longs[COUNT(specs) + 1] = {0};
	const struct option_spec *by_index[COUNT(specs)];
	char shorts[2 * COUNT(specs) + 2] = ":"; /* tell a missing argument from an unknown option */
	size_t count = 0;
	for (size_t i = 0; i < COUNT(specs); i++) {
		const struct option_spec *spec = &specs[i];
		if (!(spec->commands & command->bit))
			continue;
		by_index[count] = spec;
		longs[count++] = (struct option){.name = spec->name, .has_arg = spec->argument ? required_argument : no_argument,
		                                 .val = (int)spec->id};
		if (spec->letter)
			sprintf(shorts + strlen(shorts), "%c%s", spec->letter, spec->argument ? ":" : "");
	}
	optind = 0; /* glibc: start anew */
	opterr = 0;
	for (;;) {
		int start = optind ? optind : 1;
		int got = getopt_long(argc, argv, shorts, longs, NULL);
		if (got == -1)
			break;
		const struct option_spec *spec = NULL;
		for (size_t i = 0; i < count && !spec; i++)
			if ((int)by_index[i]->id == got || (got < 256 && by_index[i]->letter == (char)got))
				spec = by_index[i];
		if (got == ':')
			return err_set(err, ST_USAGE, "%s wants a value: see `assay help %s`", argv[optind - 1], command->name);
		if (got == '?' || !spec) {
			/* A short option in the middle of a word leaves optind where it was. */
			const char *word = optind > start || optopt == 0 ? argv[optind - 1] : argv[optind];
			for (size_t i = 0; i < count; i++)
				if (optopt == (int)by_index[i]->id)
					return err_set(err, ST_USAGE, "--%s takes no value: see `assay help %s`", by_index[i]->name, command->name);
			return unknown_option(arena, command, word ? word : "?", err);
		}
		enum status status = option_apply(arena, spec, optarg ? optarg : "", ret_options, err);
		if (status != ST_OK)
			return status;
	}
	for (int i = optind; i < argc; i++)
		list_push(arena, &ret_options->operands, argv[i]);
	if (ret_options->help)
		return ST_OK;
	if (ret_options->operands.count < command->operands_min)
		return err_set(err, ST_USAGE, "`assay %s` wants %s: see `assay help %s`", command->name, command->operands,
		               command->name);
	if (ret_options->vs && ret_options->operands.count == 0)
		return err_set(err, ST_USAGE, "--vs wants the baseline's command behind `--`: assay try --vs 'COMMAND B' -- COMMAND A");
	if (ret_options->operands.count > command->operands_max && !ret_options->vs)
		return err_set(err, ST_USAGE, "`assay %s` does not know what to do with '%s': see `assay help %s`", command->name,
		               ret_options->operands.at[command->operands_max], command->name);
	return ST_OK;
}

/* ---- help ------------------------------------------------------------------------------------------------------- */

enum { HELP_WIDTH = 80, HELP_COLUMN = 24 };

static void wrapped(FILE *out, const char *text, size_t indent)
{
	while (*text) {
		size_t room = HELP_WIDTH - indent, line = strcspn(text, "\n"), end = line;
		if (line > room) {
			end = room;
			while (end > 0 && text[end] != ' ')
				end--;
			if (end == 0)
				end = strcspn(text, " \n");
		}
		fprintf(out, "%.*s\n", (int)end, text);
		text += end;
		if (*text == '\n')
			text++;
		else
			text += strspn(text, " ");
		if (*text && *text != '\n')
			fprintf(out, "%*s", (int)indent, "");
	}
}

static void option_print(FILE *out, const struct option_spec *spec)
{
	char left[64];
	char letter[8] = "";
	if (spec->letter)
		snprintf(letter, sizeof letter, "-%c, ", spec->letter);
	snprintf(left, sizeof left, "  %s--%s%s%s", letter, spec->name, spec->argument ? " " : "",
	         spec->argument ? spec->argument : "");
	if (strlen(left) + 2 > HELP_COLUMN)
		fprintf(out, "%s\n%*s", left, HELP_COLUMN, "");
	else
		fprintf(out, "%-*s", HELP_COLUMN, left);
	wrapped(out, spec->help, HELP_COLUMN);
}

void help_command(FILE *out, const struct command *command)
{
	fprintf(out, "usage: assay %s [OPTION...]%s%s\n\n", command->name, command->operands[0] ? " " : "", command->operands);
	wrapped(out, command->description, 0);
	fputs("\noptions:\n", out);
	for (size_t i = 0; i < COUNT(specs); i++)
		if (specs[i].commands & command->bit)
			option_print(out, &specs[i]);
	if (command->examples && command->examples[0]) {
		fputs("\nexamples:\n", out);
		for (const char *const *at = command->examples; at[0]; at += 2) {
			fprintf(out, "  %s\n      ", at[0]);
			wrapped(out, at[1], 6);
		}
	}
}

static const char exit_text[] =
	"exit status: 0 done; 1 the gate failed; 2 usage; 3 can't judge: the gate was asked and the evidence is\n"
	"insufficient, or the machine is too disturbed; 4 failed or interrupted. A gate never passes for lack of evidence.\n";

void help_program(FILE *out)
{
	fputs("usage: assay COMMAND [OPTION...]\n\n"
	      "assay settles performance claims about C code: by unchanged tokens, equal machine\n"
	      "code, wrong results, or a measured comparison with a controlled error rate.\n\ncommands:\n", out);
	for (size_t i = 0; i < command_count; i++)
		fprintf(out, "  %-10s%s\n", command_table[i].name, command_table[i].summary);
	fputs("\n`assay help COMMAND` says more. `assay --version` prints the version.\n\n", out);
	wrapped(out, exit_text, 0);
}

/* ---- the manual page --------------------------------------------------------------------------------------------- */

static void roff_text(FILE *out, const char *text)
{
	bool line_start = true;
	for (const char *at = text; *at; at++) {
		if (line_start && (*at == '.' || *at == '\''))
			fputs("\\&", out);
		if (*at == '\\')
			fputs("\\e", out);
		else if (*at == '-')
			fputs("\\-", out);
		else if (*at == '\n' && at[1] == '\n')
			fputs("\n.PP", out);
		else
			fputc(*at, out);
		line_start = *at == '\n';
	}
	fputc('\n', out);
}

void manual_print(FILE *out)
{
	fprintf(out, ".TH ASSAY 1 \"\" \"assay %s\" \"User Commands\"\n", ASSAY_VERSION);
	fputs(".SH NAME\nassay \\- settles performance claims about C code\n.SH SYNOPSIS\n", out);
	for (size_t i = 0; i < command_count; i++) {
		fprintf(out, "%s.B assay %s\n", i ? ".br\n" : "", command_table[i].name);
		if (command_table[i].operands[0])
			roff_text(out, command_table[i].operands);
	}
	fputs(".SH DESCRIPTION\n", out);
	roff_text(out, "Scans C source for CPU performance anti-patterns, turns each finding into a hypothesis with a candidate change, and "
	          "settles it by the cheapest proof that suffices: unchanged tokens, equal machine code, wrong results, and only "
	          "then a measured comparison with a controlled error rate. It settles claims that no scan made just the same.");
	fputs(".SH COMMANDS\n", out);
	for (size_t i = 0; i < command_count; i++) {
		fprintf(out, ".SS assay %s\n", command_table[i].name);
		roff_text(out, command_table[i].description);
		for (size_t k = 0; k < COUNT(specs); k++) {
			const struct option_spec *spec = &specs[k];
			if (!(spec->commands & command_table[i].bit))
				continue;
			fputs(".TP\n.B ", out);
			if (spec->letter)
				fprintf(out, "\\-%c, ", spec->letter);
			fputs("\\-\\-", out);
			for (const char *at = spec->name; *at; at++)
				fprintf(out, "%s%c", *at == '-' ? "\\" : "", *at);
			if (spec->argument)
				fprintf(out, " \\fI%s\\fR", spec->argument);
			fputc('\n', out);
			roff_text(out, spec->help);
		}
		for (const char *const *at = command_table[i].examples; at && at[0]; at += 2) {
			fputs(".PP\nExample: ", out);
			roff_text(out, at[1]);
			fputs(".RS\n.nf\n", out);
			roff_text(out, at[0]);
			fputs(".fi\n.RE\n", out);
		}
	}
	fputs(".SH EXIT STATUS\n", out);
	roff_text(out, exit_text);
	fputs(".SH FILES\n.TP\n.I assay.yaml\nThe project file: workloads, hypotheses, decisions and contracts.\n"
	      ".TP\n.I $XDG_STATE_HOME/assay/assay.db\nThe store of all runs; by default below ~/.local/state.\n"
	      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nWhen set and not empty, no colour is used.\n"
	      ".TP\n.B TMPDIR\nWhere private copies are built; by default /tmp.\n"
	      ".TP\n.B CC\nThe compiler, unless \\-\\-matrix names one.\n", out);
}

/* ---- completion --------------------------------------------------------------------------------------------------- */

void completion_bash_print(FILE *out)
{
	fputs("# bash completion for assay, generated by `assay --bash-completion`\n_assay()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
	      "\tCOMPREPLY=()\n\tif ((COMP_CWORD == 1)); then\n\t\tmapfile -t COMPREPLY < <(compgen -W '", out);
	for (size_t i = 0; i < command_count; i++)
		fprintf(out, "%s ", command_table[i].name);
	fputs("--help --version' -- \"$cur\")\n\t\treturn\n\tfi\n\tcase $prev in\n", out);
	for (size_t i = 0; i < COUNT(specs); i++) {
		if (!specs[i].argument)
			continue;
		char letter[8] = "";
		if (specs[i].letter)
			snprintf(letter, sizeof letter, "-%c|", specs[i].letter);
		fprintf(out, "\t%s--%s) ", letter, specs[i].name);
		if (!specs[i].values)
			fputs("return ;;\n", out);
		else if (strcmp(specs[i].values, "*") == 0)
			fputs("mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n", out);
		else
			fprintf(out, "mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\"); return ;;\n", specs[i].values);
	}
	fputs("\tesac\n\tlocal options=\n\tcase $command in\n", out);
	for (size_t i = 0; i < command_count; i++) {
		fprintf(out, "\t%s) options='", command_table[i].name);
		if (command_table[i].bit == CMD_HELP)
			for (size_t k = 0; k < command_count; k++)
				fprintf(out, "%s ", command_table[k].name);
		for (size_t k = 0; k < COUNT(specs); k++)
			if (specs[k].commands & command_table[i].bit)
				fprintf(out, "--%s ", specs[k].name);
		fputs("' ;;\n", out);
	}
	fputs("\tesac\n\tif [[ $cur == -* || $command == help ]]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n\telse\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n\tfi\n}\n"
	      "complete -o filenames -F _assay assay\n", out);
}
