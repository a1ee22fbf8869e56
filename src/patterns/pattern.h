/* What a pattern is. A new pattern is one new file, src/patterns/pNN_slug.c, and nothing else. A removal, rNN_slug.c, is
 * a pattern whose candidate only takes a trick out that today's compilers do without.
 *
 * The file defines one `const struct pattern pattern_pNN` and, inside `#if 0` blocks that the build cuts out, its
 * examples as C source:
 *
 *     #if 0 / * assay example: costs * /         a whole driver (include/assay/bench.h) where the pattern costs; every
 *                                                line that must be reported ends in "// finds" (or holds a comment of
 *                                                that one word, where the line goes on)
 *     #if 0 / * assay example: costs fixed * /   the same after the candidate that the detector generates
 *     #if 0 / * assay example: harmless * /      the other half of the proving pair: looks the same, costs nothing
 *     #if 0 / * assay example: equal * /         of a removal: a whole driver where the trick changes nothing; and
 *     #if 0 / * assay example: equal fixed * /   the same without it: gcc makes the same machine code of both
 *     #if 0 / * assay example: also NAME * /     more source with lines that must be reported; "also NAME fixed", when it
 *                                                is there: after the candidates (two drivers: outputs equal)
 *     #if 0 / * assay example: lookalike NAME * /  must stay silent; any number of them
 *
 * (written without the blanks inside the comment marks). From the files the build derives the registry
 * (pattern_registry), `assay explain`, `assay scan`'s list, and the pattern's tests: it fires on the marked lines and
 * nowhere else, stays silent on look-alikes, its candidate equals the "costs fixed" text, both compile and give equal
 * outputs, edge inputs included. Every pattern has "costs" and "harmless"; a removal has "equal", or these two, or all
 * three. The first line of an example may be "// flags: -O3 …": how it is compiled in place of -O2. The first line of a
 * harmless one may be "// refuted by measuring": then the detector may report it (flags come on the second).
 */
#ifndef ASSAY_PATTERNS_PATTERN_H
#define ASSAY_PATTERNS_PATTERN_H

#include "model/compdb.h"
#include "model/fact.h"
#include "model/finding.h"
#include "port/ast.h"

/* Where a detector puts what it found. A detector sets pattern, kind, file, line, column, symbol, tier, severity,
 * message, claim and, where it has them, evidence, contract and edits (patterns/query.h, finding_new). Scan adds the
 * rest: id, built, deliberate; of doubles (a header read by several units) it keeps the most severe. */
struct pattern_sink {
	struct arena *arena;
	struct finding_list findings;
	struct fact_list facts; /* for the same pattern's detect_project (patterns/query.h, fact_add) */
};

/* The whole project, as far as it was scanned. */
struct project_unit {
	const struct compile_command *command;
	bool parsed;
	struct string_list files; /* that it reads, itself included, relative to the tree */
	struct fact_list facts;
};
struct project_view {
	const char *tree; /* absolute */
	bool database;    /* there is a database of compile commands; else all of them are guessed */
	bool whole;       /* the whole tree was scanned: what isn't here isn't anywhere */
	const struct project_unit *units; /* C files and, where only headers were asked for, headers */
	size_t unit_count;
	const struct compdb *commands;   /* all: those of the database, assembly's too, and guesses for the rest */
	struct string_list sources;      /* .c, .S, .s and .asm files under the tree, relative, sorted */
};

struct pattern {
	const char *id, *slug, *title;
	enum tier tier;
	/* For people, each one to three sentences in plain words. */
	const char *what;       /* the signal */
	const char *why;        /* what it costs the machine */
	const char *when_not;   /* the usual false positives: when to leave it */
	const char *expected;   /* the claimed size, with its source */
	const char *refuted_by; /* what settles it as no effect */
	const char *const *sources; /* NULL-terminated */
	/* Looks at one translation unit. Findings in headers are reported with the header's path; scan drops doubles. */
	void (*detect)(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);
	/* Optional: looks at the whole project once, after all units, by the facts that detect() left. No tree is there any
	 * more. It runs in a process of its own. */
	void (*detect_project)(const struct project_view *view, struct pattern_sink *sink);
};

struct pattern_example {
	const char *kind; /* "costs", "costs fixed", "harmless", "equal", "equal fixed", "also NAME", "also NAME fixed", "lookalike NAME" */
	const char *text;
	unsigned line; /* in the pattern's file, of the text's first line */
};

struct pattern_entry {
	const struct pattern *pattern;
	const char *file;
	const struct pattern_example *examples;
	size_t example_count;
};

/* Generated by the build from src/patterns/[prs]NN_*.c, in order of id. */
extern const struct pattern_entry pattern_registry[];
extern const size_t pattern_registry_count;

/* By id or slug, case-insensitive; NULL: none. */
const struct pattern_entry *pattern_find(const char *id_or_slug);

#endif
