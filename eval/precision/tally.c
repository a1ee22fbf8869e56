/* Counts findings and what became of their candidates:
 *
 *     precision_tally --results JUDGED.tsv | --sample JUDGED.tsv | --truth TRUTH.tsv  (PROJECT TREE RUN.json)…
 *
 * For each project its name, its tree, and the document of `assay audit --to-rung code`; once more for a document of the
 * same tree with another build configuration, whose trials are added.
 * --results prints RESULTS.md's tables. --sample prints up to 20 findings of each pattern, drawn with a fixed seed, with
 * the source around them and the judgement that JUDGED.tsv has for them: lines of project, finding's id, yes or no, and
 * why. --truth looks whether what is known of the first project is found: lines of pattern, what is expected there (finding,
 * guard, silent, or "under" and a severity), file, symbol or -, and what stands there. Its exit status is 3 when something
 * is not as expected.
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
	struct run run;
};

/* The build configurations whose machine code is asked for. */
static const struct build_config configs[COMPILERS] = {{"gcc-12", "-O3"}, {"clang-19", "-O2"}};

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

static const struct trial *trial_of(const struct run *run, const struct finding *finding, const struct build_config *config)
{
	for (size_t i = 0; i < run->trials.count; i++) {
		const struct trial *trial = run->trials.at[i];
		const struct finding *of = trial->hypothesis->finding;
		if (of && strcmp(of->id, finding->id) == 0 && strcmp(trial->config.cc, config->cc) == 0 &&
		    strcmp(trial->config.flags, config->flags) == 0)
			return trial;
	}
	return NULL;
}

static enum outcome trial_outcome(const struct trial *trial)
{
	if (!trial)
		return OUTCOME_NONE;
	if (trial->verdict == VERDICT_NOT_BUILT && strncmp(trial->evidence, "no compile command", 18) == 0 &&
	    trial->hypothesis->finding->built)
		return OUTCOME_OTHER; /* no reader of it was found, so no compiler was asked */
	if (trial->verdict == VERDICT_FAILED && strstr(trial->evidence, "does not compile"))
		return OUTCOME_BROKEN;
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
		seen[trial_outcome(trial_of(&project->run, finding, &configs[c]))] = true;
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
		for (size_t f = 0; f < projects[p].run.findings.count; f++) {
			const struct finding *finding = projects[p].run.findings.at[f];
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

/* "yes<tab>why" of the judgement, up to the line's end, or NULL. */
static const char *judgement_find(const char *judged, const char *project, const struct finding *finding)
{
	char *key = NULL;
	if (asprintf(&key, "%s\t%s\t", project, finding->id) < 0)
		exit(1);
	const char *found = NULL;
	size_t length = strlen(key);
	for (const char *line = judged; *line && !found; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, key, length) == 0)
			found = line + length;
	free(key);
	return found;
}

/* Why, of a judgement, up to the line's end: *ret_size characters. */
static const char *judgement_why(const char *judgement, size_t *ret_size)
{
	size_t word = judgement ? strcspn(judgement, "\t\n") : 0;
	const char *why = judgement && judgement[word] == '\t' ? judgement + word + 1 : "";
	*ret_size = strcspn(why, "\n");
	return why;
}

/* Those that the goals speak of, and what the misses are about. */
static void ranked_print(const struct project_runs *projects, size_t count, const char *judged)
{
	printf("\n| project | finding | severity | candidate | judged |\n|---|---|---|---|---|\n");
	for (size_t p = 0; p < count; p++)
		for (size_t f = 0; f < projects[p].run.findings.count; f++) {
			const struct finding *finding = projects[p].run.findings.at[f];
			if (!finding_is_ranked(finding))
				continue;
			size_t size;
			const char *judgement = judgement_find(judged, projects[p].name, finding);
			const char *why = judgement_why(judgement, &size);
			printf("| %s | %s %s:%u | %s | %s | %.*s: %.*s |\n", projects[p].name, finding->pattern, finding->file, finding->line,
			       severity_name(finding->severity),
			       finding->candidate ? outcome_text(finding_outcome(&projects[p], finding)) : "none, advice only",
			       judgement ? (int)strcspn(judgement, "\t\n") : 10, judgement ? judgement : "not judged", (int)size, why);
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

struct sample {
	struct drawn at[SAMPLE_MAX];
	size_t seen, kept, yes, no;
};

/* Reservoir sampling (Vitter 1985, algorithm R) of a pattern's findings. */
static void sample_draw(const struct project_runs *projects, size_t count, const char *pattern, const char *judged,
                        struct sample *ret_sample)
{
	uint64_t state = SAMPLE_SEED;
	struct sample sample = {0};
	for (size_t p = 0; p < count; p++)
		for (size_t f = 0; f < projects[p].run.findings.count; f++) {
			const struct finding *finding = projects[p].run.findings.at[f];
			if (!finding_counts(finding) || strcmp(finding->pattern, pattern) != 0)
				continue;
			size_t at = sample.seen < SAMPLE_MAX ? sample.seen : random_next(&state) % (sample.seen + 1);
			sample.seen++;
			if (at < SAMPLE_MAX)
				sample.at[at] = (struct drawn){&projects[p], finding};
		}
	sample.kept = sample.seen < SAMPLE_MAX ? sample.seen : SAMPLE_MAX;
	for (size_t d = 0; d < sample.kept; d++) {
		const char *judgement = judgement_find(judged, sample.at[d].project->name, sample.at[d].finding);
		sample.yes += judgement && strncmp(judgement, "yes", 3) == 0;
		sample.no += judgement && strncmp(judgement, "no", 2) == 0;
	}
	*ret_sample = sample;
}

static void judged_print(const struct project_runs *projects, size_t count, const char *const *patterns, size_t pattern_count,
                         const char *judged)
{
	printf("\n## Judged by reading\n\nUp to 20 findings of each pattern, drawn at random ([sample.md](sample.md)): would a "
	       "performance engineer look at it?\n\n| pattern | findings | drawn | yes | no | not judged | yes, share |\n"
	       "|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < pattern_count; i++) {
		struct sample sample;
		sample_draw(projects, count, patterns[i], judged, &sample);
		printf("| %s | %zu | %zu | %zu | %zu | %zu | ", patterns[i], sample.seen, sample.kept, sample.yes, sample.no,
		       sample.kept - sample.yes - sample.no);
		if (sample.yes + sample.no)
			printf("%.0f %% |\n", 100.0 * (double)sample.yes / (double)(sample.yes + sample.no));
		else
			printf("not available |\n");
	}
}

static void results_print(const struct project_runs *projects, size_t count, const char *judged)
{
	const char *patterns[PATTERNS_MAX];
	size_t pattern_count = patterns_collect(projects, count, patterns);
	printf("| project | C files | not parsed | lines | scan seconds | findings | per 10,000 lines | guards | deliberate |\n");
	printf("|---|---|---|---|---|---|---|---|---|\n");
	unsigned long long all_lines = 0;
	struct row ranked = {0};
	for (size_t p = 0; p < count; p++) {
		const struct run *run = &projects[p].run;
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
	if (ranked.findings)
		ranked_print(projects, count, judged);

	printf("\n## By project and pattern\n\n| project | pattern | findings | critical | high | medium | low | per 10,000 "
	       "lines | candidates | code differs | same code | does not compile | not in the build | other |\n"
	       "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (size_t p = 0; p <= count; p++) /* the last: all of them */
		for (size_t i = 0; i < pattern_count; i++) {
			struct row row = {0};
			for (size_t q = 0; q < count; q++)
				for (size_t f = 0; (p == count || p == q) && f < projects[q].run.findings.count; f++) {
					const struct finding *finding = projects[q].run.findings.at[f];
					if (finding_counts(finding) && strcmp(finding->pattern, patterns[i]) == 0)
						row_add(&row, &projects[q], finding);
				}
			if (row.findings)
				row_print(p == count ? "all" : projects[p].name, patterns[i], &row,
				          p == count ? all_lines : projects[p].run.lines_scanned);
		}

	judged_print(projects, count, patterns, pattern_count, judged);
	printf("\n## Candidates\n\nAll that are in a build, with what each compiler made of them.\n\n| project | finding | severity "
	       "| gcc | clang | evidence |\n|---|---|---|---|---|---|\n");
	for (size_t p = 0; p < count; p++)
		for (size_t f = 0; f < projects[p].run.findings.count; f++) {
			const struct finding *finding = projects[p].run.findings.at[f];
			if (!finding_counts(finding) || !finding->candidate || !finding->built)
				continue;
			const struct trial *gcc = trial_of(&projects[p].run, finding, &configs[0]);
			const struct trial *clang = trial_of(&projects[p].run, finding, &configs[1]);
			printf("| %s | %s %s:%u | %s | %s | %s | ", projects[p].name, finding->pattern, finding->file, finding->line,
			       severity_name(finding->severity), outcome_text(trial_outcome(gcc)),
			       outcome_text(trial_outcome(clang)));
			cell_print(trial_outcome(clang) == OUTCOME_BROKEN ? clang->evidence : gcc ? gcc->evidence : NULL);
			printf(" |\n");
		}
}

/* ---- the sample, with its source -------------------------------------------------------------------------------------- */
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

static void sample_print(const struct project_runs *projects, size_t count, const char *judged)
{
	const char *patterns[PATTERNS_MAX];
	size_t pattern_count = patterns_collect(projects, count, patterns);
	for (size_t i = 0; i < pattern_count; i++) {
		struct sample sample;
		sample_draw(projects, count, patterns[i], judged, &sample);
		printf("## %s: %zu of %zu findings; yes %zu, no %zu, not judged %zu\n\n", patterns[i], sample.kept, sample.seen, sample.yes,
		       sample.no, sample.kept - sample.yes - sample.no);
		for (size_t d = 0; d < sample.kept; d++) {
			const struct drawn *drawn = &sample.at[d];
			const struct finding *finding = drawn->finding;
			const char *judgement = judgement_find(judged, drawn->project->name, finding);
			printf("**%s %s:%u** (%s, %s%s) %s\n\n", drawn->project->name, finding->file, finding->line,
			       finding->symbol, severity_name(finding->severity), finding->built ? "" : ", not in the build",
			       finding->message);
			source_print(drawn->project, finding);
			size_t size;
			const char *why = judgement_why(judgement, &size);
			printf("Would a performance engineer look at it: **%.*s** %.*s\n\n", judgement ? (int)strcspn(judgement, "\t\n") : 10,
			       judgement ? judgement : "not judged", (int)size, why);
		}
	}
}

/* ---- what is known of a project --------------------------------------------------------------------------------------- */
struct truth {
	char *pattern, *expected, *file, *symbol, *what;
};

/* Splits the line at `at` in place; false: it is a comment, or has fewer fields. *ret_next: the line after it. */
static bool truth_read(char *at, struct truth *ret_truth, char **ret_next)
{
	char *fields[5] = {at}, *end = at + strcspn(at, "\n");
	*ret_next = end + (*end == '\n');
	*end = '\0';
	for (int i = 1; i < 5; i++) {
		char *tab = strchr(fields[i - 1], '\t');
		if (!tab)
			return false;
		*tab = '\0';
		fields[i] = tab + 1;
	}
	*ret_truth = (struct truth){fields[0], fields[1], fields[2], fields[3], fields[4]};
	return at[0] != '#';
}

static bool truth_is_there(const struct project_runs *project, const struct truth *truth)
{
	char *path = NULL;
	if (asprintf(&path, "%s/%s", project->tree, truth->file) < 0)
		exit(1);
	FILE *file = fopen(path, "r");
	bool there = file != NULL;
	if (file) {
		fclose(file);
		size_t size;
		char *text = file_read(path, &size);
		there = strcmp(truth->symbol, "-") == 0 || strstr(text, truth->symbol);
		free(text);
	}
	free(path);
	return there;
}

/* Prints one row; false: it is not as expected. */
static bool truth_print(const struct project_runs *project, const struct truth *truth)
{
	const struct run *run = &project->run;
	bool under = strncmp(truth->expected, "under ", 6) == 0, silent = strcmp(truth->expected, "silent") == 0;
	bool guard = strcmp(truth->expected, "guard") == 0;
	enum severity limit = SEVERITY_LOW;
	if (under && !severity_parse(truth->expected + 6, &limit)) {
		fprintf(stderr, "%s: no severity\n", truth->expected);
		exit(2);
	}
	printf("| %s | %s | %s | %s%s%s | ", truth->what, truth->pattern, truth->expected, truth->file,
	       strcmp(truth->symbol, "-") == 0 ? "" : ", ", strcmp(truth->symbol, "-") == 0 ? "" : truth->symbol);
	if (!truth_is_there(project, truth)) {
		printf("not in this tree | |\n");
		return true;
	}
	const struct finding *wanted = NULL, *unwanted = NULL;
	for (size_t f = 0; f < run->findings.count; f++) {
		const struct finding *finding = run->findings.at[f];
		if ((strcmp(truth->pattern, "all") != 0 && strcmp(truth->pattern, finding->pattern) != 0) ||
		    strcmp(truth->file, finding->file) != 0 ||
		    (strcmp(truth->symbol, "-") != 0 && strcmp(truth->symbol, finding->symbol) != 0))
			continue;
		bool is_guard = finding->kind == FINDING_GUARD;
		if (is_guard == guard && !wanted)
			wanted = finding;
		if (!is_guard && (under ? finding->severity >= limit : true))
			unwanted = finding;
	}
	bool as_expected = silent || under ? !unwanted : wanted != NULL;
	const struct finding *shown = silent || under ? unwanted : wanted;
	const struct trial *trial = shown ? trial_of(run, shown, &configs[0]) : NULL;
	printf("%s", as_expected ? "as expected" : silent || under ? "**reported**" : "**missed**");
	if (shown)
		printf(": line %u, %s", shown->line, shown->kind == FINDING_GUARD ? "guard" : severity_name(shown->severity));
	printf(" | ");
	if (trial)
		printf("%s, settled by the rung %s", verdict_name(trial->verdict), rung_name(trial->rung));
	printf(" |\n");
	return as_expected;
}

static bool truths_print(const struct project_runs *project, char *truths)
{
	bool as_expected = true;
	printf("| place | pattern | expected | where | found | its candidate (gcc) |\n|---|---|---|---|---|---|\n");
	for (char *at = truths, *next; *at; at = next) {
		struct truth truth;
		if (truth_read(at, &truth, &next))
			as_expected = truth_print(project, &truth) && as_expected;
	}
	return as_expected;
}

static void trials_add(struct arena *arena, struct run *run, const struct run *more)
{
	for (size_t i = 0; i < more->trials.count; i++)
		list_push(arena, &run->trials, more->trials.at[i]);
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "C");
	const int first = 3;
	size_t size;
	bool results = argc > 1 && strcmp(argv[1], "--results") == 0, sample = argc > 1 && strcmp(argv[1], "--sample") == 0;
	bool truth = argc > 1 && strcmp(argv[1], "--truth") == 0;
	if ((!results && !sample && !truth) || argc - first < 3 || (argc - first) % 3 != 0 || (argc - first) / 3 > PROJECTS_MAX) {
		fprintf(stderr, "usage: precision_tally --results JUDGED.tsv | --sample JUDGED.tsv | --truth TRUTH.tsv "
		                "(PROJECT TREE RUN.json)...\n");
		return 2;
	}
	char *table = file_read(argv[2], &size);
	struct arena arena;
	arena_init(&arena);
	static struct project_runs projects[PROJECTS_MAX];
	size_t count = 0;
	for (int i = first; i < argc; i += 3) {
		struct project_runs read = {.name = argv[i], .tree = argv[i + 1]};
		char *text = file_read(argv[i + 2], &size);
		struct err err = ERR_INIT;
		if (json_run_read(&arena, text, size, &read.run, &err) != ST_OK) {
			fprintf(stderr, "%s: %s\n", argv[i + 2], err.text);
			return 1;
		}
		free(text);
		if (count > 0 && strcmp(projects[count - 1].name, read.name) == 0)
			trials_add(&arena, &projects[count - 1].run, &read.run);
		else
			projects[count++] = read;
	}
	if (truth)
		return truths_print(&projects[0], table) ? 0 : 3;
	if (sample)
		sample_print(projects, count, table);
	else
		results_print(projects, count, table);
	return 0;
}
