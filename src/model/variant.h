/* A variant: what is built and run. The baseline or a candidate, under one build configuration. */
#ifndef ASSAY_MODEL_VARIANT_H
#define ASSAY_MODEL_VARIANT_H

#include "base/arena.h"

#include <stdbool.h>

struct build_config {
	const char *cc;    /* "gcc-12" */
	const char *flags; /* "-O2": comes after the workload's own; "" for none */
};
LIST_OF(struct build_config, build_config_list);

/* One translation unit of a variant. Paths inside argv point into the variant's private copy; a -ffile-prefix-map
 * gives __FILE__ and debug information the same text in every copy. */
struct unit {
	const char *source;      /* name for people: relative to the tree (or to the project folder) */
	const char *directory;   /* absolute: where the compiler is started */
	struct string_list argv; /* compiler, flags and source, without -c, -o, -E and dependency flags */
	const char *preprocessed; /* absolute path of the `-E` output with line markers, or NULL: not made yet */
	const char *object;       /* absolute path, or NULL: not compiled yet */
	struct string_list depends; /* files of the tree that it reads, relative; known once preprocessed */
	bool from_database; /* of compile_commands.json, not of a workload */
};
LIST_OF(struct unit, unit_list);

/* How the program is linked, so that it can be linked again at other addresses (port/layout.h). */
struct link_recipe {
	const char *directory;      /* where the linker is started */
	struct string_list argv;    /* all but -o and its path; empty: there is no such command */
	struct string_list objects; /* those of argv that are the program's own, in the order of the units, the runtime last */
};

/* How a whole command is started. */
struct command_line {
	const char *text; /* as given */
	struct string_list argv;
	const char *directory;  /* absolute */
	const char *stdin_path; /* absolute; NULL: /dev/null */
};

struct workload;

struct variant {
	const char *name;  /* "baseline" or "candidate" */
	const char *tree;  /* absolute: the private copy's root */
	const char *place; /* absolute: the folder of its objects and program; equally long for all variants */
	struct build_config config;
	struct unit_list units;
	const struct workload *workload; /* whose driver and sources the units are; NULL: the database's */
	const char *program; /* absolute path of the linked workload, or NULL */
	struct link_recipe link; /* with `program` */
	const struct command_line *command; /* what is run in place of a program, or NULL */
	struct string_list env; /* "NAME=VALUE" that it runs with, besides assay's own environment */
	/* Set when this variant can't be made although the request was sound: the patch doesn't apply, it doesn't
	 * compile, it doesn't link. Holds the last lines of what the compiler said. A candidate's failure is a verdict. */
	const char *failure;
	/* Units of the database that may read the changed files and were not asked: which and why; NULL: all were. */
	const char *incomplete;
};

#endif
