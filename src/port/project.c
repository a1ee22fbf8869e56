/* Read through libyaml's document interface rather than libcyaml: a workload's `params` is a mapping with names of the
 * user's own, which libcyaml's schemas can't hold, and every node of a document knows its line, so that each message
 * can name it. Aliases may make a document cyclic; nothing here recurses, so that does no harm. */
#include "port/project.h"

#include "base/extract.h"
#include "base/text.h"
#include "port/tree.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <yaml.h>

enum { PROJECT_FILE_MAX_BYTES = 1024 * 1024 };

struct reader {
	struct arena *arena;
	yaml_document_t *document;
	const char *file; /* as it is named in messages */
	struct project *project;
	struct note_list *notes;
	struct err *err;
};

static unsigned node_line(const yaml_node_t *node)
{
	return (unsigned)node->start_mark.line + 1;
}

__attribute__((format(printf, 3, 4))) static enum status fail(struct reader *reader, const yaml_node_t *node,
                                                              const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	const char *text = arena_vprintf(reader->arena, fmt, ap);
	va_end(ap);
	return err_set(reader->err, ST_USAGE, "%s:%u: %s", reader->file, node ? node_line(node) : 1, text);
}

__attribute__((format(printf, 4, 5))) static void note(struct arena *arena, struct note_list *notes, const char *where,
                                                       const char *fmt, ...)
{
	if (!notes)
		return;
	va_list ap;
	va_start(ap, fmt);
	struct note one = {.where = where, .text = arena_vprintf(arena, fmt, ap)};
	va_end(ap);
	list_push(arena, notes, one);
}

static yaml_node_t *node_at(struct reader *reader, int index)
{
	return yaml_document_get_node(reader->document, index);
}

/* "a, b, c" */
static const char *names_joined(struct arena *arena, const char *const *names)
{
	struct string_list list = {0};
	for (; *names; names++)
		list_push(arena, &list, *names);
	return text_join(arena, &list, ", ");
}

/* A scalar's text; `what` names it in messages. Empty text is refused: nobody means it. */
static enum status read_text(struct reader *reader, const yaml_node_t *node, const char *what, const char **ret_text)
{
	if (node->type != YAML_SCALAR_NODE)
		return fail(reader, node, "`%s` must be a single value, not a %s", what,
		            node->type == YAML_SEQUENCE_NODE ? "list" : "mapping");
	const char *bytes = (const char *)node->data.scalar.value;
	if (node->data.scalar.length == 0)
		return fail(reader, node, "`%s` has no value: give it one or leave the key out", what);
	if (strlen(bytes) != node->data.scalar.length)
		return fail(reader, node, "`%s` holds a zero byte", what);
	*ret_text = arena_strdup(reader->arena, bytes);
	return ST_OK;
}

enum words { WORDS_WHOLE, WORDS_SHELL };

/* A list of scalars, or one scalar: taken whole, or split into shell words. */
static enum status read_texts(struct reader *reader, const yaml_node_t *node, const char *what, enum words words,
                              struct string_list *ret_texts)
{
	const char *text = NULL;
	if (node->type == YAML_MAPPING_NODE)
		return fail(reader, node, "`%s` must be a list: [a, b]", what);
	if (node->type == YAML_SCALAR_NODE) {
		if (read_text(reader, node, what, &text))
			return reader->err->code;
		if (words == WORDS_WHOLE)
			list_push(reader->arena, ret_texts, text);
		else if (!shell_split(reader->arena, text, ret_texts))
			return fail(reader, node, "`%s`: a quote is left open", what);
		return ST_OK;
	}
	for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
		if (read_text(reader, node_at(reader, *item), what, &text))
			return reader->err->code;
		list_push(reader->arena, ret_texts, text);
	}
	return ST_OK;
}

/* Calls `field` for each key of a mapping after it was found in `names`; refuses unknown and repeated keys. */
static enum status read_mapping(struct reader *reader, const yaml_node_t *node, const char *what,
                                const char *const *names, void *into,
                                enum status (*field)(struct reader *, size_t name, const yaml_node_t *value, void *into))
{
	if (node->type != YAML_MAPPING_NODE)
		return fail(reader, node, "%s must be a mapping of %s", what, names_joined(reader->arena, names));
	unsigned long long seen = 0;
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = node_at(reader, pair->key), *value = node_at(reader, pair->value);
		const char *name = NULL;
		if (read_text(reader, key, "a key", &name))
			return reader->err->code;
		size_t i = 0;
		while (names[i] && strcmp(names[i], name) != 0)
			i++;
		if (!names[i])
			return fail(reader, key, "unknown key `%s` in %s: it may have %s", name, what,
			            names_joined(reader->arena, names));
		if (seen & 1ull << i)
			return fail(reader, key, "`%s` is given twice in %s: keep one", name, what);
		seen |= 1ull << i;
		if (field(reader, i, value, into))
			return reader->err->code;
	}
	return ST_OK;
}

/* Calls `item` for each element of a list. */
static enum status read_list(struct reader *reader, const yaml_node_t *node, const char *what,
                             enum status (*item_fn)(struct reader *, const yaml_node_t *item))
{
	if (node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0)
		return ST_OK; /* "workloads:" with everything below it commented out */
	if (node->type != YAML_SEQUENCE_NODE)
		return fail(reader, node, "`%s` must be a list: each entry begins with \"- \"", what);
	for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++)
		if (item_fn(reader, node_at(reader, *item)))
			return reader->err->code;
	return ST_OK;
}

/* ---- commands ----------------------------------------------------------------------------------------------- */

const char *workload_metric_set(struct arena *arena, struct workload *workload, const char *metric, const char *pattern,
                                const char *better)
{
	if (metric && text_starts(metric, "regex:")) {
		pattern = metric + strlen("regex:");
		metric = NULL;
	}
	if (metric && strcmp(metric, "wall") != 0 && strcmp(metric, "cpu") != 0)
		return arena_printf(arena, "the metric is wall, cpu or regex:PATTERN, not '%s'", metric);
	if (metric && pattern)
		return "the metric is either a clock or a regular expression, not both";
	if (better && strcmp(better, "higher") != 0 && strcmp(better, "lower") != 0)
		return arena_printf(arena, "better is higher or lower, not '%s'", better);
	if (pattern && !better)
		return "a metric that the command prints needs to be told which is better: higher or lower";
	if (better && !pattern)
		return "of times the lower is better: `better` is for a metric that the command prints";
	const char *problem = pattern ? extract_problem(arena, pattern) : NULL;
	if (problem)
		return arena_printf(arena, "the metric's regex %s: %s", pattern, problem);
	if (!metric && !pattern)
		return NULL;
	workload->metric_asked = true;
	workload->metric_pattern = pattern;
	workload->metric = pattern  ? strcmp(better, "higher") == 0 ? METRIC_HIGHER : METRIC_LOWER
	                   : strcmp(metric, "cpu") == 0 ? METRIC_CPU
	                                                : METRIC_WALL;
	return NULL;
}

const char *workload_cpus_set(struct arena *arena, struct workload *workload, const char *cpus)
{
	workload->cpu = CPU_CHOOSE;
	if (!cpus)
		return NULL;
	if (strcmp(cpus, "none") == 0) {
		workload->cpu = CPU_ANY;
		return NULL;
	}
	if (strspn(cpus, "0123456789") != strlen(cpus) || strlen(cpus) > 4 || !cpus[0])
		return arena_printf(arena, "cpus is none (not pinned) or the number of a CPU, not '%s'", cpus);
	cpu_set_t allowed;
	workload->cpu = atoi(cpus);
	if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
	    (workload->cpu >= CPU_SETSIZE || !CPU_ISSET(workload->cpu, &allowed)))
		return arena_printf(arena, "there is no CPU %s that may be used here", cpus);
	return NULL;
}

/* ---- workloads ---------------------------------------------------------------------------------------------- */

static enum status read_params(struct reader *reader, const yaml_node_t *node, struct param_list *ret_params)
{
	if (node->type != YAML_MAPPING_NODE)
		return fail(reader, node, "`params` must be a mapping of names to lists: { block: [4096, 131072] }");
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = node_at(reader, pair->key);
		struct param param = {0};
		if (read_text(reader, key, "a parameter's name", &param.name))
			return reader->err->code;
		if (strpbrk(param.name, "= \t\n"))
			return fail(reader, key, "the parameter's name `%s` may hold neither '=' nor blanks", param.name);
		if (param_find(ret_params, param.name))
			return fail(reader, key, "the parameter `%s` is given twice: keep one", param.name);
		if (read_texts(reader, node_at(reader, pair->value), param.name, WORDS_WHOLE, &param.values))
			return reader->err->code;
		if (param.values.count == 0)
			return fail(reader, key, "the parameter `%s` has no values: give it some or leave it out", param.name);
		list_push(reader->arena, ret_params, param);
	}
	return ST_OK;
}

enum workload_key {
	W_NAME, W_BENCH, W_SOURCES, W_FLAGS, W_LIBS, W_PARAMS,
	W_RUN, W_METRIC, W_BETTER, W_STDIN, W_SHELL, W_ANY_OUTPUT, W_CPUS,
};
static const char *const workload_keys[] = {"name", "bench",  "sources", "flags", "libs",  "params",     "run",
                                            "metric", "better", "stdin",   "shell", "any_output", "cpus", NULL};

struct workload_fields {
	struct workload *workload;
	const char *metric, *pattern, *better, *cpus, *shell, *any_output;
};

enum metric_key { M_REGEX, M_BETTER };
static const char *const metric_keys[] = {"regex", "better", NULL};

static enum status metric_field(struct reader *reader, size_t name, const yaml_node_t *value, void *into)
{
	struct workload_fields *fields = into;
	switch ((enum metric_key)name) {
	case M_REGEX:
		return read_text(reader, value, "regex", &fields->pattern);
	case M_BETTER:
		return read_text(reader, value, "better", &fields->better);
	}
	BUG("metric key %zu", name);
}

static enum status workload_field(struct reader *reader, size_t name, const yaml_node_t *value, void *into)
{
	struct workload_fields *fields = into;
	struct workload *workload = fields->workload;
	switch ((enum workload_key)name) {
	case W_NAME:
		return read_text(reader, value, "name", &workload->name);
	case W_BENCH:
		return read_text(reader, value, "bench", &workload->bench);
	case W_SOURCES:
		return read_texts(reader, value, "sources", WORDS_WHOLE, &workload->sources);
	case W_FLAGS:
		return read_texts(reader, value, "flags", WORDS_SHELL, &workload->flags);
	case W_LIBS:
		return read_texts(reader, value, "libs", WORDS_SHELL, &workload->libs);
	case W_PARAMS:
		return read_params(reader, value, &workload->params);
	case W_RUN:
		return read_text(reader, value, "run", &workload->run);
	case W_METRIC:
		if (value->type == YAML_MAPPING_NODE)
			return read_mapping(reader, value, "`metric`", metric_keys, fields, metric_field);
		return read_text(reader, value, "metric", &fields->metric);
	case W_BETTER:
		return read_text(reader, value, "better", &fields->better);
	case W_STDIN:
		return read_text(reader, value, "stdin", &workload->stdin_path);
	case W_SHELL:
		return read_text(reader, value, "shell", &fields->shell);
	case W_ANY_OUTPUT:
		return read_text(reader, value, "any_output", &fields->any_output);
	case W_CPUS:
		return read_text(reader, value, "cpus", &fields->cpus);
	}
	BUG("workload key %zu", name);
}

static enum status yes_or_no(struct reader *reader, const yaml_node_t *item, const char *name, const char *text,
                             bool *ret_value)
{
	if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return fail(reader, item, "`%s` must be true or false, not %s", name, text);
	*ret_value = text && strcmp(text, "true") == 0;
	return ST_OK;
}

static enum status command_item(struct reader *reader, const yaml_node_t *item, const struct workload_fields *fields)
{
	struct workload *workload = fields->workload;
	struct string_list words = {0};
	if (workload->sources.count || workload->flags.count || workload->libs.count || workload->params.count)
		return fail(reader, item, "the workload `%s` is a command: sources, flags, libs and params are for drivers",
		            workload->name);
	if (yes_or_no(reader, item, "shell", fields->shell, &workload->shell) ||
	    yes_or_no(reader, item, "any_output", fields->any_output, &workload->any_output))
		return reader->err->code;
	if (!workload->shell && (!shell_split(reader->arena, workload->run, &words) || !words.count))
		return fail(reader, item, "the workload `%s`: in `run` a quote is left open, or there is no word", workload->name);
	const char *problem = workload_metric_set(reader->arena, workload, fields->metric, fields->pattern, fields->better);
	if (!problem)
		problem = workload_cpus_set(reader->arena, workload, fields->cpus);
	if (problem)
		return fail(reader, item, "the workload `%s`: %s", workload->name, problem);
	list_push(reader->arena, &reader->project->workloads, workload);
	return ST_OK;
}

static enum status workload_item(struct reader *reader, const yaml_node_t *item)
{
	struct workload *workload = arena_new(reader->arena, struct workload);
	workload->line = node_line(item);
	struct workload_fields fields = {.workload = workload};
	if (read_mapping(reader, item, "a workload", workload_keys, &fields, workload_field))
		return reader->err->code;
	if (!workload->name)
		return fail(reader, item, "a workload has no `name`: reports name it by that");
	if (!workload->bench == !workload->run)
		return fail(reader, item, "the workload `%s` must have %s", workload->name,
		            workload->bench ? "either `bench` (a C driver) or `run` (a command), not both"
		                            : "a `bench` (a C driver, see assay/bench.h) or a `run` (a command)");
	if (workload_find(&reader->project->workloads, workload->name))
		return fail(reader, item, "two workloads are named `%s`: rename one", workload->name);
	if (workload->run)
		return command_item(reader, item, &fields);
	if (fields.metric || fields.pattern || fields.better || fields.cpus || fields.shell || fields.any_output ||
	    workload->stdin_path)
		return fail(reader, item, "the workload `%s` has a `bench`: metric, better, stdin, shell, any_output and cpus are for "
		            "commands only", workload->name);
	workload->bench = path_clean(reader->arena, workload->bench);
	for (size_t i = 0; i < workload->sources.count; i++)
		workload->sources.at[i] = path_clean(reader->arena, workload->sources.at[i]);
	list_push(reader->arena, &reader->project->workloads, workload);
	return ST_OK;
}

/* ---- maps ---------------------------------------------------------------------------------------------------- */

enum part_key { PART_NAME, PART_FUNCTIONS };
static const char *const part_keys[] = {"name", "functions", NULL};

static enum status part_field(struct reader *reader, size_t name, const yaml_node_t *value, void *into)
{
	struct asked_part *part = into;
	switch ((enum part_key)name) {
	case PART_NAME:
		return read_text(reader, value, "name", &part->name);
	case PART_FUNCTIONS:
		return read_texts(reader, value, "functions", WORDS_WHOLE, &part->functions);
	}
	BUG("part key %zu", name);
}

static enum status parts_read(struct reader *reader, const yaml_node_t *node, struct asked_part_list *ret_parts)
{
	if (node->type != YAML_SEQUENCE_NODE)
		return fail(reader, node, "`parts` must be a list, each with a `name` and `functions`");
	for (yaml_node_item_t *at = node->data.sequence.items.start; at < node->data.sequence.items.top; at++) {
		const yaml_node_t *item = node_at(reader, *at);
		struct asked_part part = {0};
		if (read_mapping(reader, item, "a part", part_keys, &part, part_field))
			return reader->err->code;
		if (!part.name || part.functions.count == 0)
			return fail(reader, item, "a part must have a `name` and `functions` (symbols, as shell patterns: HUF_*)");
		list_push(reader->arena, ret_parts, part);
	}
	return ST_OK;
}

enum map_key { MAP_WORKLOAD, MAP_PARTS };
static const char *const map_keys[] = {"workload", "parts", NULL};

static enum status map_field(struct reader *reader, size_t name, const yaml_node_t *value, void *into)
{
	struct asked_map *map = into;
	switch ((enum map_key)name) {
	case MAP_WORKLOAD:
		return read_text(reader, value, "workload", &map->workload);
	case MAP_PARTS:
		return parts_read(reader, value, &map->parts);
	}
	BUG("map key %zu", name);
}

static enum status map_item(struct reader *reader, const yaml_node_t *item)
{
	struct asked_map map = {.line = node_line(item)};
	if (read_mapping(reader, item, "a map", map_keys, &map, map_field))
		return reader->err->code;
	if (!map.workload)
		return fail(reader, item, "a map has no `workload`: it shows where the time of one goes");
	/* Workloads may stand below the maps: their names are checked at the end. */
	list_push(reader->arena, &reader->project->maps, map);
	return ST_OK;
}

static enum status read_budget(struct reader *reader, const yaml_node_t *node, double *ret_seconds)
{
	const char *text = NULL;
	if (read_text(reader, node, "budget", &text))
		return reader->err->code;
	if (!duration_parse(text, ret_seconds) || *ret_seconds < BUDGET_LEAST_S || *ret_seconds > BUDGET_MOST_S)
		return fail(reader, node, "`budget` is %s: give a time from 10ms to 24h with its unit, as in 60s, 2m or 500ms", text);
	return ST_OK;
}

/* ---- hypotheses and decisions -------------------------------------------------------------------------------- */

enum claimed_key { H_NAME, H_PATCH, H_DEFINE, H_FLAGS, H_CC, H_ENV, H_CLAIM, H_WORKLOADS, H_BUDGET };
static const char *const claimed_keys[] = {"name", "patch", "define", "flags", "cc", "env", "claim", "workloads", "budget", NULL};

static enum status claimed_field(struct reader *reader, size_t name, const yaml_node_t *value, void *into)
{
	struct claimed *claimed = into;
	struct string_list words = {0};
	switch ((enum claimed_key)name) {
	case H_NAME:
		return read_text(reader, value, "name", &claimed->name);
	case H_PATCH:
		return read_texts(reader, value, "patch", WORDS_WHOLE, &claimed->patches);
	case H_DEFINE:
		return read_text(reader, value, "define", &claimed->define);
	case H_FLAGS:
		if (read_texts(reader, value, "flags", WORDS_SHELL, &words))
			return reader->err->code;
		for (size_t i = 0; i < words.count; i++)
			words.at[i] = shell_quote(reader->arena, words.at[i]);
		claimed->flags = text_join(reader->arena, &words, " ");
		return ST_OK;
	case H_CC:
		return read_text(reader, value, "cc", &claimed->cc);
	case H_ENV:
		return read_text(reader, value, "env", &claimed->env);
	case H_CLAIM:
		return read_text(reader, value, "claim", &claimed->claim);
	case H_WORKLOADS:
		return read_texts(reader, value, "workloads", WORDS_WHOLE, &claimed->workloads);
	case H_BUDGET:
		return read_budget(reader, value, &claimed->budget_s);
	}
	BUG("hypothesis key %zu", name);
}

static enum status claimed_item(struct reader *reader, const yaml_node_t *item)
{
	struct claimed claimed = {0};
	if (read_mapping(reader, item, "a hypothesis", claimed_keys, &claimed, claimed_field))
		return reader->err->code;
	if (!claimed.name)
		return fail(reader, item, "a hypothesis has no `name`: reports name it by that");
	int changes = !!claimed.patches.count + !!claimed.define + !!claimed.flags + !!claimed.cc + !!claimed.env;
	if (changes != 1)
		return fail(reader, item, "the hypothesis `%s` must have %s of patch, define, flags, cc, env", claimed.name,
		            changes ? "only one" : "one");
	for (size_t i = 0; i < reader->project->hypotheses.count; i++)
		if (text_equal(reader->project->hypotheses.at[i].name, claimed.name))
			return fail(reader, item, "two hypotheses are named `%s`: rename one", claimed.name);
	for (size_t i = 0; i < claimed.patches.count; i++)
		claimed.patches.at[i] = path_clean(reader->arena, path_join(reader->arena, reader->project->dir, claimed.patches.at[i]));
	/* Workloads may stand below the hypotheses: their names are checked at the end. */
	list_push(reader->arena, &reader->project->hypotheses, claimed);
	return ST_OK;
}

/* ---- surveys ------------------------------------------------------------------------------------------------- */

static enum status read_needs(struct reader *reader, const yaml_node_t *node, struct need_list *ret_needs)
{
	if (node->type != YAML_MAPPING_NODE)
		return fail(reader, node, "`needs` must be a mapping of values to what they need of the CPU: { avx2: avx2 }");
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = node_at(reader, pair->key);
		struct need need = {0};
		if (read_text(reader, key, "a value", &need.value) ||
		    read_text(reader, node_at(reader, pair->value), need.value, &need.feature))
			return reader->err->code;
		for (size_t i = 0; i < ret_needs->count; i++)
			if (text_equal(ret_needs->at[i].value, need.value))
				return fail(reader, key, "the value `%s` is given twice in `needs`: keep one", need.value);
		list_push(reader->arena, ret_needs, need);
	}
	return ST_OK;
}

enum survey_key { S_NAME, S_WORKLOAD, S_OVER, S_BASELINE, S_NEEDS, S_PARAMS, S_BUDGET };
static const char *const survey_keys[] = {"name", "workload", "over", "baseline", "needs", "params", "budget", NULL};

static enum status survey_field(struct reader *reader, size_t name, const yaml_node_t *value, void *into)
{
	struct asked_survey *survey = into;
	switch ((enum survey_key)name) {
	case S_NAME:
		return read_text(reader, value, "name", &survey->name);
	case S_WORKLOAD:
		return read_text(reader, value, "workload", &survey->workload);
	case S_OVER:
		return read_text(reader, value, "over", &survey->over);
	case S_BASELINE:
		return read_text(reader, value, "baseline", &survey->baseline);
	case S_NEEDS:
		return read_needs(reader, value, &survey->needs);
	case S_PARAMS:
		return read_params(reader, value, &survey->params);
	case S_BUDGET:
		return read_budget(reader, value, &survey->budget_s);
	}
	BUG("survey key %zu", name);
}

static enum status survey_item(struct reader *reader, const yaml_node_t *item)
{
	struct asked_survey survey = {.line = node_line(item)};
	if (read_mapping(reader, item, "a survey", survey_keys, &survey, survey_field))
		return reader->err->code;
	if (!survey.name)
		return fail(reader, item, "a survey has no `name`: reports name it by that");
	if (!survey.workload)
		return fail(reader, item, "the survey `%s` has no `workload`: name the one whose parameter it is over", survey.name);
	if (!survey.over)
		return fail(reader, item, "the survey `%s` has no `over`: name the parameter of `%s` whose values it compares",
		            survey.name, survey.workload);
	for (size_t i = 0; i < reader->project->surveys.count; i++)
		if (text_equal(reader->project->surveys.at[i].name, survey.name))
			return fail(reader, item, "two surveys are named `%s`: rename one", survey.name);
	/* Workloads may stand below the surveys: what is said of them is checked at the end. */
	list_push(reader->arena, &reader->project->surveys, survey);
	return ST_OK;
}

/* `contracts` have the same form: both are a person's word on what an id names. */
enum decision_key { D_FINDING, D_REASON };
static const char *const decision_keys[] = {"finding", "reason", NULL};

static enum status decision_field(struct reader *reader, size_t name, const yaml_node_t *value, void *into)
{
	struct decision *decision = into;
	switch ((enum decision_key)name) {
	case D_FINDING:
		return read_text(reader, value, "finding", &decision->finding);
	case D_REASON:
		return read_text(reader, value, "reason", &decision->reason);
	}
	BUG("decision key %zu", name);
}

static enum status decision_item(struct reader *reader, const yaml_node_t *item)
{
	struct decision decision = {0};
	if (read_mapping(reader, item, "a decision", decision_keys, &decision, decision_field))
		return reader->err->code;
	if (!decision.finding)
		return fail(reader, item, "a decision has no `finding`: the id that assay scan prints, or its beginning");
	if (!decision.reason)
		return fail(reader, item, "the decision on `%s` has no `reason`: say why it is deliberate", decision.finding);
	list_push(reader->arena, &reader->project->decisions, decision);
	return ST_OK;
}

static enum status contract_item(struct reader *reader, const yaml_node_t *item)
{
	struct decision contract = {0};
	if (read_mapping(reader, item, "a contract", decision_keys, &contract, decision_field))
		return reader->err->code;
	if (!contract.finding)
		return fail(reader, item, "a contract has no `finding`: the id that assay scan prints, or its beginning");
	if (!contract.reason)
		return fail(reader, item, "the contract of `%s` has no `reason`: say who confirms it, and why it holds",
		            contract.finding);
	list_push(reader->arena, &reader->project->contracts, contract);
	return ST_OK;
}

/* ---- the whole file ----------------------------------------------------------------------------------------- */

enum project_key { P_TREE, P_SCAN, P_COMPILE_COMMANDS, P_BUILD, P_WORKLOADS, P_HYPOTHESES, P_SURVEYS, P_MAPS, P_DECISIONS, P_CONTRACTS, P_BUDGET };
static const char *const project_keys[] = {"tree",       "scan",    "compile_commands", "build", "workloads",
                                           "hypotheses", "surveys", "maps",             "decisions", "contracts",
                                           "budget",     NULL};

static enum status project_field(struct reader *reader, size_t name, const yaml_node_t *value, void *into)
{
	struct project *project = into;
	switch ((enum project_key)name) {
	case P_TREE:
		return read_text(reader, value, "tree", &project->tree);
	case P_SCAN:
		if (read_texts(reader, value, "scan", WORDS_WHOLE, &project->scan))
			return reader->err->code;
		for (size_t i = 0; i < project->scan.count; i++) {
			const char *clean = path_clean(reader->arena, project->scan.at[i]);
			if (clean[0] == '/' || text_equal(clean, "..") || text_starts(clean, "../"))
				return fail(reader, value, "`scan` names %s, which is not inside the tree: paths are relative to it",
				            project->scan.at[i]);
			project->scan.at[i] = clean;
		}
		return ST_OK;
	case P_COMPILE_COMMANDS:
		return read_text(reader, value, "compile_commands", &project->compile_commands);
	case P_BUILD:
		return read_text(reader, value, "build", &project->build);
	case P_WORKLOADS:
		return read_list(reader, value, "workloads", workload_item);
	case P_HYPOTHESES:
		return read_list(reader, value, "hypotheses", claimed_item);
	case P_SURVEYS:
		return read_list(reader, value, "surveys", survey_item);
	case P_MAPS:
		return read_list(reader, value, "maps", map_item);
	case P_DECISIONS:
		return read_list(reader, value, "decisions", decision_item);
	case P_CONTRACTS:
		return read_list(reader, value, "contracts", contract_item);
	case P_BUDGET:
		return read_budget(reader, value, &project->budget_s);
	}
	BUG("project key %zu", name);
}

static enum status claimed_workloads_check(struct reader *reader)
{
	for (size_t i = 0; i < reader->project->hypotheses.count; i++) {
		const struct claimed *claimed = &reader->project->hypotheses.at[i];
		for (size_t j = 0; j < claimed->workloads.count; j++)
			if (!workload_find(&reader->project->workloads, claimed->workloads.at[j]))
				return err_set(reader->err, ST_USAGE,
				               "%s: the hypothesis `%s` names the workload `%s`, which is not defined: define it "
				               "under `workloads` or correct the name",
				               reader->file, claimed->name, claimed->workloads.at[j]);
	}
	return ST_OK;
}

static bool list_has(const struct string_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (text_equal(list->at[i], text))
			return true;
	return false;
}

const char *survey_problem(struct arena *arena, const struct workload *workload, const struct asked_survey *survey)
{
	const struct param *over = param_find(&workload->params, survey->over);
	struct string_list names = {0};
	for (size_t i = 0; i < workload->params.count; i++)
		list_push(arena, &names, workload->params.at[i].name);
	const char *known = names.count ? text_join(arena, &names, ", ") : "none";
	if (workload->run)
		return arena_printf(arena, "the workload `%s` is a command, which has no parameters: a survey needs a driver",
		                    workload->name);
	if (!over && !survey->values.count)
		return arena_printf(arena, "the workload `%s` has no parameter `%s` in its `params` (it has: %s)", workload->name,
		                    survey->over, known);
	const struct string_list *values = survey->values.count ? &survey->values : &over->values;
	const char *listed = text_join(arena, values, ", ");
	if (values->count < 2)
		return arena_printf(arena, "the parameter `%s` has one value only, %s: a survey compares two or more", survey->over,
		                    listed);
	if (values->count > SURVEY_VALUES_MAX)
		return arena_printf(arena, "the parameter `%s` has %zu values: a survey compares %d at most", survey->over,
		                    values->count, SURVEY_VALUES_MAX);
	for (size_t i = 0; i < values->count; i++)
		for (size_t k = 0; k < i; k++)
			if (text_equal(values->at[i], values->at[k]))
				return arena_printf(arena, "the value %s of `%s` is given twice: keep one", values->at[i], survey->over);
	if (survey->baseline && !list_has(values, survey->baseline))
		return arena_printf(arena, "the baseline %s is no value of `%s` (it has: %s)", survey->baseline, survey->over, listed);
	for (size_t i = 0; i < survey->needs.count; i++)
		if (!list_has(values, survey->needs.at[i].value))
			return arena_printf(arena, "`needs` names %s, which is no value of `%s` (it has: %s)", survey->needs.at[i].value,
			                    survey->over, listed);
	for (size_t i = 0; i < survey->params.count; i++) {
		const char *name = survey->params.at[i].name;
		if (text_equal(name, survey->over))
			return arena_printf(arena, "`params` is for the other parameters: the survey is over all values of `%s`", name);
		if (!list_has(&names, name))
			return arena_printf(arena, "`params` names `%s`, which is no parameter of `%s` (it has: %s)", name,
			                    workload->name, known);
	}
	return NULL;
}

static enum status surveys_check(struct reader *reader)
{
	const struct project *project = reader->project;
	for (size_t i = 0; i < project->surveys.count; i++) {
		const struct asked_survey *survey = &project->surveys.at[i];
		const struct workload *workload = workload_find(&project->workloads, survey->workload);
		const char *problem =
		    workload ? survey_problem(reader->arena, workload, survey)
		             : arena_printf(reader->arena, "the workload `%s` is not defined: define it under `workloads` or correct the name",
		                            survey->workload);
		if (problem)
			return err_set(reader->err, ST_USAGE, "%s:%u: the survey `%s`: %s", reader->file, survey->line, survey->name, problem);
	}
	return ST_OK;
}

static enum status maps_check(struct reader *reader)
{
	for (size_t i = 0; i < reader->project->maps.count; i++) {
		const struct asked_map *map = &reader->project->maps.at[i];
		const struct workload *workload = workload_find(&reader->project->workloads, map->workload);
		if (!workload || workload->run)
			return err_set(reader->err, ST_USAGE, "%s:%u: a map names the workload `%s`, which is %s", reader->file, map->line,
			               map->workload, workload ? "a command: only a driver can be looked into"
			                                       : "not defined: define it under `workloads` or correct the name");
	}
	return ST_OK;
}

static enum status document_read(struct reader *reader, const char *text, size_t size)
{
	yaml_parser_t parser;
	if (!yaml_parser_initialize(&parser))
		return err_set(reader->err, ST_SYSTEM, "%s: out of memory", reader->file);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	yaml_document_t document;
	enum status status = ST_OK;
	if (!yaml_parser_load(&parser, &document)) {
		status = err_set(reader->err, ST_USAGE, "%s:%zu: not YAML: %s%s%s", reader->file, parser.problem_mark.line + 1,
		                 parser.problem ? parser.problem : "unreadable", parser.context ? ", " : "",
		                 parser.context ? parser.context : "");
		yaml_parser_delete(&parser);
		return status;
	}
	reader->document = &document;
	const yaml_node_t *root = yaml_document_get_root_node(&document);
	bool empty = !root || (root->type == YAML_SCALAR_NODE && root->data.scalar.length == 0);
	if (!empty)
		status = read_mapping(reader, root, "the project file", project_keys, reader->project, project_field);
	yaml_document_delete(&document);
	yaml_parser_delete(&parser);
	if (status == ST_OK)
		status = claimed_workloads_check(reader);
	if (status == ST_OK)
		status = surveys_check(reader);
	return status ? status : maps_check(reader);
}

/* ---- where things are ---------------------------------------------------------------------------------------- */

static const char *path_absolute(struct arena *arena, const char *path)
{
	if (path[0] == '/')
		return path_clean(arena, path);
	char *here = getcwd(NULL, 0);
	const char *result = path_clean(arena, path_join(arena, here ? here : "/", path));
	free(here);
	return result;
}

static int name_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* compile_commands.json of the folder, of build/ or of one of build's folders (the first by name). */
static const char *database_find(struct arena *arena, const char *folder)
{
	static const char name[] = "compile_commands.json";
	const char *here = path_join(arena, folder, name);
	if (path_is_file(here))
		return here;
	const char *build = path_join(arena, folder, "build");
	const char *in_build = path_join(arena, build, name);
	if (path_is_file(in_build))
		return in_build;
	DIR *dir = opendir(build);
	if (!dir)
		return NULL;
	struct string_list found = {0};
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		const char *file = path_join(arena, path_join(arena, build, entry->d_name), name);
		if (path_is_file(file))
			list_push(arena, &found, file);
	}
	closedir(dir);
	if (!found.count)
		return NULL;
	qsort(found.at, found.count, sizeof *found.at, name_order);
	return found.at[0];
}

/* A folder's name may hold what means something in a pattern. */
static const char *glob_quote(struct arena *arena, const char *path)
{
	char *quoted = arena_alloc(arena, 2 * strlen(path) + 1), *end = quoted;
	for (; *path; path++) {
		if (strchr("*?[\\", *path))
			*end++ = '\\';
		*end++ = *path;
	}
	*end = '\0';
	return quoted;
}

/* What a pattern among the sources matches in the tree, in order; one that matches nothing stays, and the build says so.
 * The names of a library's files differ between its releases: one project file then serves them all. */
static void sources_match(struct arena *arena, const char *tree, struct string_list *sources)
{
	struct string_list matched = {0};
	for (size_t i = 0; i < sources->count; i++) {
		const char *source = sources->at[i];
		size_t before = matched.count;
		glob_t found = {0};
		if (strpbrk(source, "*?[") && !path_is_file(path_join(arena, tree, source)))
			glob(path_join(arena, glob_quote(arena, tree), source), 0, NULL, &found);
		for (size_t k = 0; k < found.gl_pathc; k++) {
			const char *path = path_clean(arena, found.gl_pathv[k]);
			if (path_under(path, tree) && path_is_file(path))
				list_push(arena, &matched, path_under(path, tree));
		}
		globfree(&found);
		if (matched.count == before)
			list_push(arena, &matched, source);
	}
	*sources = matched;
}

static enum status places_settle(struct reader *reader, const char *source_override)
{
	struct arena *arena = reader->arena;
	struct project *project = reader->project;
	const char *said = project->tree;
	if (source_override)
		project->tree = path_absolute(arena, source_override);
	else
		project->tree = path_clean(arena, path_join(arena, project->dir, said ? said : "."));
	if (!path_is_folder(project->tree))
		return err_set(reader->err, ST_USAGE, "%s: the source tree %s is not a folder: %s", reader->file, project->tree,
		               source_override ? "name another with --source"
		                               : "correct `tree:` or name one with --source");
	for (size_t i = 0; i < project->workloads.count; i++)
		sources_match(arena, project->tree, &project->workloads.at[i]->sources);
	if (project->compile_commands) {
		const char *path = path_clean(arena, path_join(arena, project->dir, project->compile_commands));
		if (path_is_folder(path))
			path = path_join(arena, path, "compile_commands.json");
		project->compile_commands = path_is_file(path) ? path : NULL;
		if (!project->compile_commands)
			note(arena, reader->notes, reader->file,
			     "%s does not exist: build the project so that it is written; until then compile commands are guessed",
			     path);
		return ST_OK;
	}
	project->compile_commands = database_find(arena, project->tree);
	if (!project->compile_commands && !text_equal(project->dir, project->tree))
		project->compile_commands = database_find(arena, project->dir);
	return ST_OK;
}

enum status project_parse(struct arena *arena, const char *text, size_t size, const char *file,
                          const char *source_override, struct project *ret_project, struct note_list *notes,
                          struct err *err)
{
	struct err own = ERR_INIT;
	*ret_project = (struct project){0};
	ret_project->file = path_absolute(arena, file);
	ret_project->dir = path_dir(arena, ret_project->file);
	struct reader reader = {
	    .arena = arena, .file = file, .project = ret_project, .notes = notes, .err = err ? err : &own};
	enum status status = document_read(&reader, text, size);
	return status ? status : places_settle(&reader, source_override);
}

static enum status project_file_read(struct arena *arena, const char *path, char **ret_text, size_t *ret_size,
                                     struct err *err)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return err_errno(err, errno, "can't read the project file %s", path);
	char *text = arena_alloc(arena, PROJECT_FILE_MAX_BYTES + 1);
	size_t size = fread(text, 1, PROJECT_FILE_MAX_BYTES + 1, file);
	bool failed = ferror(file);
	fclose(file);
	if (failed)
		return err_set(err, ST_SYSTEM, "can't read the project file %s", path);
	if (size > PROJECT_FILE_MAX_BYTES)
		return err_set(err, ST_USAGE, "%s is larger than 1 MiB: that is no project file", path);
	*ret_text = text;
	*ret_size = size;
	return ST_OK;
}

enum status project_load(struct arena *arena, const char *path, const char *source_override,
                         struct project *ret_project, struct note_list *notes, struct err *err)
{
	*ret_project = (struct project){0};
	const char *named = path && path[0] ? path : ".";
	const char *absolute = path_absolute(arena, named);
	const char *file = NULL;
	const char *dir = absolute;
	if (path_is_folder(absolute)) {
		const char *candidate = text_equal(named, ".") ? "assay.yaml" : path_join(arena, named, "assay.yaml");
		if (path_is_file(candidate))
			file = candidate;
	} else if (path_is_file(absolute)) {
		dir = path_dir(arena, absolute);
		if (text_ends(named, ".yaml") || text_ends(named, ".yml"))
			file = named;
		else if (path_is_file(path_join(arena, dir, "assay.yaml")))
			file = path_join(arena, dir, "assay.yaml");
	} else {
		return err_set(err, ST_USAGE, "%s does not exist: name a folder, a source file or an assay.yaml", named);
	}
	if (file) {
		char *text = NULL;
		size_t size = 0;
		enum status status = project_file_read(arena, file, &text, &size, err);
		return status ? status
		              : project_parse(arena, text, size, file, source_override, ret_project, notes, err);
	}
	struct err own = ERR_INIT;
	struct reader reader = {
	    .arena = arena, .file = dir, .project = ret_project, .notes = notes, .err = err ? err : &own};
	ret_project->dir = dir;
	return places_settle(&reader, source_override);
}
