/* What the project file says (assay.yaml), or what the command line says in its place. */
#ifndef ASSAY_MODEL_PROJECT_H
#define ASSAY_MODEL_PROJECT_H

#include "base/arena.h"
#include "model/sample.h"

#include <stdbool.h>

struct param {
	const char *name;
	struct string_list values;
};
LIST_OF(struct param, param_list);
/* The one of this name; NULL: there is none. */
const struct param *param_find(const struct param_list *list, const char *name);

struct workload {
	const char *name;
	const char *bench;          /* C driver (include/assay/bench.h), relative to project.dir; NULL: a command */
	struct string_list sources; /* compiled together with it, relative to project.tree */
	struct string_list flags;   /* for bench and sources, relative paths count from project.tree */
	struct string_list libs;    /* for the link, after the objects: "-lm" */
	struct param_list params;
	/* A command in place of a driver: its words, split as a shell splits them, or a text for /bin/sh. NULL: a driver. */
	const char *run;
	bool shell;
	const char *stdin_path; /* NULL: /dev/null; relative to where the command is started */
	bool any_output;        /* what it prints may differ */
	bool metric_asked;      /* false: wall clock or CPU time, by rule */
	enum metric metric;
	const char *metric_pattern; /* METRIC_LOWER, METRIC_HIGHER: base/extract.h */
	int cpu;                /* as plan.cpu */
	const char *argument;   /* the words that name it to `assay try`; NULL: --workload NAME */
	unsigned line; /* in the project file, 0: from the command line */
};
LIST_OF(struct workload *, workload_list);
/* The one of this name; NULL: there is none. */
struct workload *workload_find(const struct workload_list *list, const char *name);

/* One value for each parameter of a workload. */
struct binding {
	const char *name, *value;
};
LIST_OF(struct binding, binding_list);

/* What a budget may be. */
#define BUDGET_LEAST_S 0.01
#define BUDGET_MOST_S 86400

/* A claim to settle besides those of the scan. Exactly one of patches, define, flags, cc, env is set. */
struct claimed {
	double budget_s; /* 0: the project's */
	const char *name, *define, *flags, *cc, *env, *claim;
	struct string_list patches; /* the same change for different trees: the first that applies is meant */
	struct string_list workloads; /* names; empty: every workload that the change touches */
};
LIST_OF(struct claimed, claimed_list);

/* What a value of a survey's parameter needs of the CPU, as /proc/cpuinfo spells it. */
struct need {
	const char *value, *feature;
};
LIST_OF(struct need, need_list);

/* Each block of a survey starts one process a value: more would spend any budget on starting them. */
enum { SURVEY_VALUES_MAX = 24 };

/* A question to settle: how do the values of one parameter compare? */
struct asked_survey {
	const char *name;
	const char *workload;       /* its name: one with a driver */
	const char *over;           /* a parameter of that workload */
	struct string_list values;  /* of `over`, at least two; the command line's own; empty: all that the workload has */
	const char *baseline;       /* one of the values; NULL: the first */
	struct need_list needs;     /* of some of the values */
	struct param_list params;   /* in place of the values of the workload's other parameters */
	double budget_s;            /* for each value; 0: the project's */
	const char *argument;       /* the words that name it to `assay try`; NULL: --survey NAME */
	unsigned line;              /* in the project file, 0: from the command line */
};
LIST_OF(struct asked_survey, asked_survey_list);

/* Functions of a workload that belong together: "Huffman decoding". */
struct asked_part {
	const char *name;
	struct string_list functions; /* symbols, as shell patterns: HUF_* */
};
LIST_OF(struct asked_part, asked_part_list);

/* Where does this workload's time go? */
struct asked_map {
	const char *workload; /* its name: one with a driver */
	struct asked_part_list parts;
	unsigned line;
};
LIST_OF(struct asked_map, asked_map_list);

/* What a person says of a finding, a hypothesis or a survey: of `decisions`, that it is deliberate; of `contracts`, that
 * what its candidate promises holds. */
struct decision {
	const char *finding; /* an id, or a prefix of one that ends at a ':'; of a survey "survey:NAME" */
	const char *reason;
};
LIST_OF(struct decision, decision_list);
/* The reason of the first of them that is about `id`; NULL: none is, or `id` is NULL. */
const char *decision_reason(const struct decision_list *list, const char *id);

struct project {
	const char *dir;  /* absolute: the folder of assay.yaml, or the one that was named */
	const char *tree; /* absolute: the source tree that is scanned, copied and patched; often dir itself */
	const char *origin; /* absolute: where `tree` was taken from, of another revision; NULL: it is the user's own */
	const char *file; /* assay.yaml, or NULL when there is none */
	const char *compile_commands; /* absolute, or NULL */
	const char *build; /* what builds the whole tree, for /bin/sh in a copy; NULL: nothing needs to */
	double budget_s;              /* for each trial, and for each value of a survey; 0: not said */
	struct string_list scan;      /* files and folders that are scanned, relative to tree; empty: all */
	struct workload_list workloads;
	struct claimed_list hypotheses;
	struct asked_survey_list surveys;
	struct asked_map_list maps;
	struct decision_list decisions, contracts;
};

#endif
