/* A run: one invocation's record. Reports are pure functions of it. */
#ifndef ASSAY_MODEL_RUN_H
#define ASSAY_MODEL_RUN_H

#include "model/hotmap.h"
#include "model/survey.h"

struct host {
	const char *name, *cpu, *kernel, *system;
	unsigned cpus;
	const char *clock_source;
	double load_average; /* one minute, when the run began */
	const char *counters; /* "hardware counters: not available: …" or "available" */
};

struct compiler {
	const char *command; /* "gcc-12" */
	const char *version; /* its own first line */
};
LIST_OF(struct compiler, compiler_list);

/* Something that went wrong while the rest went on: one sentence. */
struct note {
	const char *where; /* a file, a trial, "store", … */
	const char *text;
};
LIST_OF(struct note, note_list);

enum run_state { RUN_UNFINISHED, RUN_DONE, RUN_INTERRUPTED, RUN_FAILED };

struct run {
	const char *id; /* "20261201-101500-3f2a" */
	const char *command; /* as typed, quoted for a shell */
	const char *version; /* of assay */
	const char *started; /* ISO 8601, UTC */
	enum run_state state;
	uint64_t seed;
	double alpha, margin, budget_s;
	uint32_t layouts; /* 0 or 1: as built; else over so many layouts at least */
	struct host host;
	struct compiler_list compilers;
	const struct project *project; /* NULL in a run read back from the store */
	const char *tree; /* project.tree */
	/* of the scan */
	unsigned files_scanned, files_failed;
	unsigned long long lines_scanned;
	double scan_seconds;
	bool database; /* compile_commands.json was used; false: best effort */
	struct finding_list findings;
	const char *baseline;       /* the earlier report that the findings are compared with, or NULL */
	struct finding_list absent; /* findings of that report which are gone */
	const char *changed_since;  /* only findings in what changed since this revision are kept; NULL: all are */
	unsigned findings_left_out; /* by changed_since */
	struct hotmap_list maps;
	struct hypothesis_list hypotheses;
	unsigned untried; /* compilers and hypotheses that were asked for and left out, see the notes; not in the record */
	struct trial_list trials;
	struct family_list families;
	struct survey_list surveys;
	struct note_list notes;
	double seconds;
};

const char *run_state_name(enum run_state state);
bool run_state_parse(const char *name, enum run_state *ret_state);

#endif
