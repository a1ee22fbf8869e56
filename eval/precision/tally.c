/* Counts findings and what became of their candidates: precision_tally [--sample JUDGED.tsv] PROJECT TREE RUN.json RUN.json …
 *
 * For each project its name, its tree, and the documents of `assay audit --to-rung code` with gcc and with clang. Without
 * an option it prints RESULTS.md's tables. With --sample it prints up to 20 findings of each pattern, drawn with a fixed
 * seed, with the source around them and the judgement that JUDGED.tsv has for them: lines of project, finding's id, yes
 * or no, and why.
 */
#include "report/report.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROJECTS_MAX = 32, PATTERNS_MAX = 64, COMPILERS = 2, SAMPLE_MAX = 20, CONTEXT_LINES = 4 };
static const uint64_t SAMPLE_SEED = 20261201;

struct project_runs {
	const char *name, *tree;
	struct run runs[COMPILERS];
};

enum outcome { OUTCOME_NONE, OUTCOME_DIFFERS, OUTCOME_SAME, OUTCOME_BROKEN, OUTCOME_NOT_IN_BUILD, OUTCOME_OTHER };

/* What one pattern's findings of one project, or of all, came to. */
struct row {
	unsigned by_severity[SEVERITY_CRITICAL + 1];
	unsigned findings, candidates;
	unsigned differs, same, broken, not_in_build, other; /* of the candidates: by the better of the compilers */
};

static char *file_read(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "r");
	if (!file) {
		perror(path);
		exit(1);
	}
	size_t size = 0, cap = 1 << 20;
	char *text = malloc(cap);
	while (text) {
		size += fread(text + size, 1, cap - size - 1, file);
		if (size < cap - 1)
			break;
		text = realloc(text, cap *= 2);
	}
	fclose(file);
	if (!text) {
		fprintf(stderr, "%s: out of memory\n", path);
		exit(1);
	}
	text[size] = '\0';
	*ret_size = size;
	return text;
}

static const struct trial *trial_of(const struct run *run, const struct finding *finding)
{
	for (size_t i = 0; i < run->trials.count; i++) {
		const struct finding *of = run->trials.at[i]->hypothesis->finding;
		if (of && strcmp(of->id, finding->id) == 0)
			return run->trials.at[i];
	}
	return NULL;
}

static enum outcome trial_outcome(const struct trial *trial)
{
	if (!trial)
		return OUTCOME_NONE;
	if (trial->verdict == VERDICT_NOT_BUILT)
		return trial->hypothesis->finding->built ? OUTCOME_BROKEN : OUTCOME_NOT_IN_BUILD;
	if (trial->code.differ)
		return OUTCOME_DIFFERS;
	return trial->verdict == VERDICT_NO_EFFECT ? OUTCOME_SAME : OUTCOME_OTHER;
}

/* A candidate that one compiler refuses is broken, whatever the other makes of it; one that either compiles to other
 * code differs. */
static enum outcome finding_outcome(const struct project_runs *project, const struct finding *finding)
{
	bool seen[OUTCOME_OTHER + 1] = {false};
	for (int c = 0; c < COMPILERS; c++)
		seen[trial_outcome(trial_of(&project->runs[c], finding))] = true;
	static const enum outcome order[] = {OUTCOME_BROKEN, OUTCOME_DIFFERS, OUTCOME_NOT_IN_BUILD, OUTCOME_OTHER,
	                                     OUTCOME_SAME};
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (seen[order[i]])
			return order[i];
	return OUTCOME_NONE;
}

static void row_add(struct row *row, const struct project_runs *project, const struct finding *finding)
{
	row->findings++;
	row->by_severity[finding->severity]++;
	if (!finding->candidate)
		return;
	row->candidates++;
	switch (finding_outcome(project, finding)) {
	case OUTCOME_DIFFERS:
		row->differs++;
		break;
	case OUTCOME_SAME:
		row->same++;
		break;
	case OUTCOME_BROKEN:
		row->broken++;
		break;
	case OUTCOME_NOT_IN_BUILD:
		row->not_in_build++;
		break;
	default:
		row->other++;
		break;
	}
}

static void row_print(const char *project, const char *pattern, const struct row *row, unsigned long long lines)
{
	printf("| %s | %s | %u | %u | %u | %u | %u | %.2f | %u | %u | %u | %u | %u | %u |\n", project, pattern, row->findings,
	       row->by_severity[SEVERITY_CRITICAL], row->by_severity[SEVERITY_HIGH], row->by_severity[SEVERITY_MEDIUM],
	       row->by_severity[SEVERITY_LOW], lines ? 1e4 * row->findings / (double)lines : 0.0, row->candidates,
	       row->differs, row->same, row->broken, row->not_in_build, row->other);
}

static bool finding_counts(const struct finding *finding)
{
	return finding->kind == FINDING_ANTIPATTERN && !finding->deliberate;
}

/* Tier A or B and ranked critical or high: what the goals speak of. */
static bool finding_is_ranked(const struct finding *finding)
{
	return finding_counts(finding) && finding->tier != TIER_C && finding->severity >= SEVERITY_HIGH;
}

static size_t patterns_collect(const struct project_runs *projects, size_t count, const char **ret_patterns)
{
	size_t patterns = 0;
	for (size_t p = 0; p < count; p++)
		for (size_t f = 0; f < projects[p].runs[0].findings.count; f++) {
			const struct finding *finding = projects[p].runs[0].findings.at[f];
			size_t at = 0;
			while (at < patterns && strcmp(ret_patterns[at], finding->pattern) < 0)
				at++;
			if (!finding_counts(finding) || (at < patterns && strcmp(ret_patterns[at], finding->pattern) == 0) ||
			    patterns == PATTERNS_MAX)
				continue;
			memmove(ret_patterns + at + 1, ret_patterns + at, (patterns - at) * sizeof(*ret_patterns));
			ret_patterns[at] = finding->pattern;
			patterns++;
		}
	return patterns;
}

static const char *outcome_text(enum outcome outcome)
{
	static const char *const texts[] = {"no trial", "code differs", "same code", "does not compile", "not in the build",
	                                    "other"};
	return texts[outcome];
}

/* One line, with what Markdown's tables can't hold replaced. */
static void cell_print(const char *text)
{
	for (; text && *text; text++)
		if (*text == '\n')
			fputs("; ", stdout);
		else if (*text == '|')
			fputs("\\|", stdout);
		else
			putchar(*text);
}

static void results_print(const struct project_runs *projects, size_t count)
{
	const char *patterns[PATTERNS_MAX];
	size_t pattern_count = patterns_collect(projects, count, patterns);
	printf("| project | C files | not parsed | lines | scan seconds | findings | per 10,000 lines | guards | deliberate |\n");
	printf("|---|---|---|---|---|---|---|---|---|\n");
	unsigned long long all_lines = 0;
	struct row ranked = {0};
	for (size_t p = 0; p < count; p++) {
		const struct run *run = &projects[p].runs[0];
		unsigned guards = 0, deliberate = 0, findings = 0;
		for (size_t f = 0; f < run->findings.count; f++) {
			const struct finding *finding = run->findings.at[f];
			guards += finding->kind == FINDING_GUARD;
			deliberate += finding->kind != FINDING_GUARD && finding->deliberate;
			findings += finding_counts(finding);
			if (finding_is_ranked(finding))
				row_add(&ranked, &projects[p], finding);
		}
		all_lines += run->lines_scanned;
		printf("| %s | %u | %u | %llu | %.1f | %u | %.2f | %u | %u |\n", projects[p].name, run->files_scanned,
		       run->files_failed, run->lines_scanned, run->scan_seconds, findings,
		       run->lines_scanned ? 1e4 * findings / (double)run->lines_scanned : 0.0, guards, deliberate);
	}
	printf("\n## Goals\n\nOver all projects, %llu lines. Findings of tier A and B, ranked critical or high: %u, which is "
	       "%.2f per 10,000 lines (goal: at most 2). ",
	       all_lines, ranked.findings, all_lines ? 1e4 * ranked.findings / (double)all_lines : 0.0);
	if (ranked.findings)
		printf("Their candidate's machine code differs: %u of %u, %.0f %% (goal: at least 80 %%).\n", ranked.differs,
		       ranked.findings, 100.0 * ranked.differs / ranked.findings);
	else
		printf("There is none, so the share of those whose machine code differs says nothing here.\n");

	printf("\n## By project and pattern\n\n| project | pattern | findings | critical | high | medium | low | per 10,000 "
	       "lines | candidates | code differs | same code | does not compile | not in the build | other |\n"
	       "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (size_t p = 0; p <= count; p++) /* the last: all of them */
		for (size_t i = 0; i < pattern_count; i++) {
			struct row row = {0};
			for (size_t q = 0; q < count; q++)
				for (size_t f = 0; (p == count || p == q) && f < projects[q].runs[0].findings.count; f++) {
					const struct finding *finding = projects[q].runs[0].findings.at[f];
					if (finding_counts(finding) && strcmp(finding->pattern, patterns[i]) == 0)
						row_add(&row, &projects[q], finding);
				}
			if (row.findings)
				row_print(p == count ? "all" : projects[p].name, patterns[i], &row,
				          p == count ? all_lines : projects[p].runs[0].lines_scanned);
		}

	printf("\n## Candidates\n\nAll that are in a build, with what each compiler made of them.\n\n| project | finding | severity "
	       "| gcc | clang | evidence |\n|---|---|---|---|---|---|\n");
	for (size_t p = 0; p < count; p++)
		for (size_t f = 0; f < projects[p].runs[0].findings.count; f++) {
			const struct finding *finding = projects[p].runs[0].findings.at[f];
			if (!finding_counts(finding) || !finding->candidate || !finding->built)
				continue;
			const struct trial *gcc = trial_of(&projects[p].runs[0], finding);
			const struct trial *clang = trial_of(&projects[p].runs[1], finding);
			printf("| %s | %s %s:%u | %s | %s | %s | ", projects[p].name, finding->pattern, finding->file, finding->line,
			       severity_name(finding->severity), outcome_text(trial_outcome(gcc)),
			       outcome_text(trial_outcome(clang)));
			cell_print(trial_outcome(clang) == OUTCOME_BROKEN ? clang->evidence : gcc ? gcc->evidence : NULL);
			printf(" |\n");
		}
}

/* ---- the sample ----------------------------------------------------------------------------------------------------- */
static uint64_t random_next(uint64_t *state) /* splitmix64 */
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

struct drawn {
	const struct project_runs *project;
	const struct finding *finding;
};

static void source_print(const struct project_runs *project, const struct finding *finding)
{
	char *path = NULL;
	if (asprintf(&path, "%s/%s", project->tree, finding->file) < 0)
		exit(1);
	size_t size;
	char *text = file_read(path, &size), *at = text;
	free(path);
	printf("```c\n");
	for (unsigned line = 1; *at && line <= finding->line + CONTEXT_LINES; line++) {
		size_t length = strcspn(at, "\n");
		if (line + CONTEXT_LINES >= finding->line)
			printf("%5u%c %.*s\n", line, line == finding->line ? '>' : ' ', (int)length, at);
		at += length + (at[length] == '\n');
	}
	printf("```\n\n");
	free(text);
}

/* "yes<tab>why" of the judgement, up to the line's end, or NULL. */
static const char *judgement_find(const char *judged, const struct drawn *drawn)
{
	char *key = NULL;
	if (asprintf(&key, "%s\t%s\t", drawn->project->name, drawn->finding->id) < 0)
		exit(1);
	const char *found = NULL;
	size_t length = strlen(key);
	for (const char *line = judged; *line && !found; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, key, length) == 0)
			found = line + length;
	free(key);
	return found;
}

static void sample_print(const struct project_runs *projects, size_t count, const char *judged)
{
	const char *patterns[PATTERNS_MAX];
	size_t pattern_count = patterns_collect(projects, count, patterns);
	for (size_t i = 0; i < pattern_count; i++) {
		uint64_t state = SAMPLE_SEED;
		struct drawn drawn[SAMPLE_MAX];
		size_t seen = 0, kept, yes = 0, no = 0;
		for (size_t p = 0; p < count; p++)
			for (size_t f = 0; f < projects[p].runs[0].findings.count; f++) {
				const struct finding *finding = projects[p].runs[0].findings.at[f];
				if (!finding_counts(finding) || strcmp(finding->pattern, patterns[i]) != 0)
					continue;
				/* Reservoir sampling (Vitter 1985, algorithm R). */
				size_t at = seen < SAMPLE_MAX ? seen : random_next(&state) % (seen + 1);
				seen++;
				if (at < SAMPLE_MAX)
					drawn[at] = (struct drawn){&projects[p], finding};
			}
		kept = seen < SAMPLE_MAX ? seen : SAMPLE_MAX;
		for (size_t d = 0; d < kept; d++) {
			const char *judgement = judgement_find(judged, &drawn[d]);
			yes += judgement && strncmp(judgement, "yes", 3) == 0;
			no += judgement && strncmp(judgement, "no", 2) == 0;
		}
		printf("## %s: %zu of %zu findings; yes %zu, no %zu, not judged %zu\n\n", patterns[i], kept, seen, yes, no,
		       kept - yes - no);
		for (size_t d = 0; d < kept; d++) {
			const struct finding *finding = drawn[d].finding;
			const char *judgement = judgement_find(judged, &drawn[d]);
			printf("**%s %s:%u** (%s, %s%s) %s\n\n", drawn[d].project->name, finding->file, finding->line,
			       finding->symbol, severity_name(finding->severity), finding->built ? "" : ", not in the build",
			       finding->message);
			source_print(drawn[d].project, finding);
			size_t word = judgement ? strcspn(judgement, "\t\n") : 0;
			const char *why = judgement && judgement[word] == '\t' ? judgement + word + 1 : "";
			printf("Would a performance engineer look at it: **%.*s** %.*s\n\n", judgement ? (int)word : 10,
			       judgement ? judgement : "not judged", (int)strcspn(why, "\n"), why);
		}
	}
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "C");
	int first = 1;
	const char *judged = NULL;
	size_t size;
	if (argc > 2 && strcmp(argv[1], "--sample") == 0) {
		judged = file_read(argv[2], &size);
		first = 3;
	}
	if (argc - first < 4 || (argc - first) % 4 != 0 || (argc - first) / 4 > PROJECTS_MAX) {
		fprintf(stderr, "usage: precision_tally [--sample JUDGED.tsv] (PROJECT TREE GCC.json CLANG.json)...\n");
		return 2;
	}
	struct arena arena;
	arena_init(&arena);
	static struct project_runs projects[PROJECTS_MAX];
	size_t count = 0;
	for (int i = first; i < argc; i += 4, count++) {
		projects[count] = (struct project_runs){.name = argv[i], .tree = argv[i + 1]};
		for (int c = 0; c < COMPILERS; c++) {
			char *text = file_read(argv[i + 2 + c], &size);
			struct err err = ERR_INIT;
			if (json_run_read(&arena, text, size, &projects[count].runs[c], &err) != ST_OK) {
				fprintf(stderr, "%s: %s\n", argv[i + 2 + c], err.text);
				return 1;
			}
			free(text);
		}
	}
	if (judged)
		sample_print(projects, count, judged);
	else
		results_print(projects, count);
	return 0;
}
