#include "report/sarif.h"

#include "base/text.h"
#include "report/report.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#define FINGERPRINT "assayFinding/v1"
#define CLAIM "claim"

static const struct sarif_rule claim_rule = {
	.id = CLAIM, .slug = "claimed-change", .title = "Somebody claims that a change makes it faster",
	.what = "A patch, a macro, flags or a compiler that is said to be faster, and was tried.",
	.refuted_by = "Equal tokens or machine code, other results, or a measured comparison."};

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) != 0)
		BUG("sarif: can't set %s", key);
}

static void push(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) != 0)
		BUG("sarif: can't append");
}

static json_t *text_json(struct arena *arena, const char *text)
{
	return json_string(utf8_clean(arena, text ? text : ""));
}

static void put_text(struct arena *arena, json_t *object, const char *key, const char *text)
{
	if (text)
		put(object, key, text_json(arena, text));
}

/* { "text": … } */
static json_t *message(struct arena *arena, const char *text)
{
	json_t *object = json_object();
	put(object, "text", text_json(arena, text));
	return object;
}

/* A path as the path of a URI (RFC 3986): bytes other than the unreserved ones are percent-encoded. */
static char *uri_path(struct arena *arena, const char *path)
{
	char *uri = arena_alloc(arena, 3 * strlen(path) + 1), *out = uri;
	for (const char *at = path; *at; at++) {
		unsigned char c = (unsigned char)*at;
		if (c < 0x80 && (isalnum(c) || strchr("-._~/", c)))
			*out++ = *at;
		else
			out += sprintf(out, "%%%02X", c);
	}
	return uri;
}

/* "nullified-qualifier" -> "NullifiedQualifier": names of rules are identifiers. */
static char *rule_name(struct arena *arena, const char *slug)
{
	char *name = arena_alloc(arena, strlen(slug) + 1), *out = name;
	bool up = true;
	for (; *slug; slug++) {
		bool letter = isalnum((unsigned char)*slug) != 0;
		if (letter)
			*out++ = (char)(up ? toupper((unsigned char)*slug) : *slug);
		up = !letter;
	}
	return name;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static json_t *rule_json(struct arena *arena, const struct sarif_rule *rule)
{
	json_t *object = json_object();
	put(object, "id", text_json(arena, rule->id));
	put(object, "name", text_json(arena, rule_name(arena, rule->slug)));
	put(object, "shortDescription", message(arena, arena_printf(arena, "%s.", rule->title)));
	if (rule->what || rule->why)
		put(object, "fullDescription",
		    message(arena, arena_printf(arena, "%s%s%s", rule->what ? rule->what : "", rule->what && rule->why ? " " : "",
		                                rule->why ? rule->why : "")));
	const struct {
		const char *name, *text;
	} parts[] = {{"What", rule->what},         {"Why", rule->why},          {"Leave it if", rule->when_not},
	             {"Expected", rule->expected}, {"Refuted by", rule->refuted_by}};
	char *plain = arena_printf(arena, "%s %s: %s\n", rule->id, rule->slug, rule->title);
	char *markdown = arena_printf(arena, "**%s %s**: %s\n", rule->id, rule->slug, rule->title);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!parts[i].text)
			continue;
		plain = arena_printf(arena, "%s\n%s: %s\n", plain, parts[i].name, parts[i].text);
		markdown = arena_printf(arena, "%s\n**%s.** %s\n", markdown, parts[i].name, parts[i].text);
	}
	for (size_t i = 0; rule->sources && rule->sources[i]; i++) {
		plain = arena_printf(arena, "%s%s- %s\n", plain, i ? "" : "\nSources:\n", rule->sources[i]);
		markdown = arena_printf(arena, "%s%s- %s\n", markdown, i ? "" : "\n**Sources.**\n\n", rule->sources[i]);
	}
	json_t *help = message(arena, plain);
	put(help, "markdown", text_json(arena, markdown));
	put(object, "help", help);
	json_t *properties = json_object();
	json_t *tags = json_array();
	push(tags, json_string("performance"));
	put(properties, "tags", tags);
	if (rule != &claim_rule)
		put(properties, "tier", json_string(tier_name(rule->tier)));
	put(object, "properties", properties);
	return object;
}

static long rule_index(const struct sarif_rule_list *rules, const char *id)
{
	for (size_t i = 0; i < rules->count; i++)
		if (strcmp(rules->at[i].id, id) == 0)
			return (long)i;
	return -1;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static json_t *artifact_json(struct arena *arena, const char *file)
{
	json_t *object = json_object();
	bool absolute = file[0] == '/';
	put(object, "uri", json_string(arena_printf(arena, "%s%s", absolute ? "file://" : "", uri_path(arena, file))));
	if (!absolute)
		put(object, "uriBaseId", json_string("SRCROOT"));
	return object;
}

static json_t *locations_json(struct arena *arena, const char *file, unsigned line, unsigned column, const char *symbol)
{
	json_t *place = json_object();
	put(place, "artifactLocation", artifact_json(arena, file));
	if (line) {
		json_t *region = json_object();
		put(region, "startLine", json_integer(line));
		if (column)
			put(region, "startColumn", json_integer(column));
		put(place, "region", region);
	}
	json_t *location = json_object();
	put(location, "physicalLocation", place);
	if (symbol && symbol[0]) {
		json_t *logical = json_object(), *list = json_array();
		put(logical, "name", text_json(arena, symbol));
		put(logical, "fullyQualifiedName", text_json(arena, symbol));
		push(list, logical);
		put(location, "logicalLocations", list);
	}
	json_t *locations = json_array();
	push(locations, location);
	return locations;
}

/* ---- fixes: a unified diff as replacements of whole lines --------------------------------------------------------- */

struct replacement {
	unsigned line, lines; /* of the old file: where, and how many go */
	size_t last_size;     /* of the last of them, without its end */
	bool old_unended;     /* it has no newline: the file ends there */
	char *text;
};

static json_t *replacement_json(struct arena *arena, const struct replacement *replacement)
{
	json_t *region = json_object();
	put(region, "startLine", json_integer(replacement->line));
	put(region, "startColumn", json_integer(1));
	/* The end is exclusive: the beginning of the line after, or the end of the file. */
	bool at_end = replacement->old_unended && replacement->lines;
	put(region, "endLine", json_integer(replacement->line + replacement->lines - (at_end ? 1 : 0)));
	put(region, "endColumn", json_integer(at_end ? (json_int_t)replacement->last_size + 1 : 1));
	json_t *object = json_object();
	put(object, "deletedRegion", region);
	if (replacement->text[0]) {
		json_t *content = json_object();
		put(content, "text", text_json(arena, replacement->text));
		put(object, "insertedContent", content);
	}
	return object;
}

static size_t line_size(const char *at)
{
	return strcspn(at, "\n");
}

struct hunk {
	unsigned old_line, old_lines, new_lines;
};

/* "@@ -12,3 +12,2 @@": a missing count is 1. */
static struct hunk hunk_head(const char *at)
{
	struct hunk hunk = {.old_lines = 1, .new_lines = 1};
	char *end;
	hunk.old_line = (unsigned)strtoul(at + strlen("@@ -"), &end, 10);
	if (*end == ',')
		hunk.old_lines = (unsigned)strtoul(end + 1, &end, 10);
	if (strncmp(end, " +", 2) == 0) {
		strtoul(end + 2, &end, 10);
		if (*end == ',')
			hunk.new_lines = (unsigned)strtoul(end + 1, &end, 10);
	}
	/* Without old lines git names the one before. */
	if (hunk.old_lines == 0)
		hunk.old_line++;
	return hunk;
}

/* Reads the lines of a hunk from *at on, and leaves *at behind them. */
static void hunk_read(struct arena *arena, const char **at, struct hunk hunk, json_t *replacements)
{
	struct replacement now = {.text = NULL};
	char last = ' ';
	for (; **at; *at += line_size(*at) + ((*at)[line_size(*at)] == '\n')) {
		char mark = **at;
		if (mark == '\\') { /* "\ No newline at end of file": of the line above */
			if (now.text && last == '-')
				now.old_unended = true;
			if (now.text && last == '+' && text_ends(now.text, "\n"))
				now.text[strlen(now.text) - 1] = '\0';
			continue;
		}
		if (hunk.old_lines == 0 && hunk.new_lines == 0)
			break;
		last = mark;
		if ((mark == '-' || mark == '+') && !now.text)
			now = (struct replacement){.line = hunk.old_line, .text = arena_strdup(arena, "")};
		if (mark == '-') {
			now.lines++;
			now.last_size = line_size(*at) - 1;
		} else if (mark == '+') {
			now.text = arena_printf(arena, "%s%.*s\n", now.text, (int)line_size(*at) - 1, *at + 1);
		} else if (now.text) {
			push(replacements, replacement_json(arena, &now));
			now.text = NULL;
		}
		if (mark != '+') {
			hunk.old_line++;
			hunk.old_lines -= hunk.old_lines > 0;
		}
		if (mark != '-')
			hunk.new_lines -= hunk.new_lines > 0;
	}
	if (now.text)
		push(replacements, replacement_json(arena, &now));
}

/* What a candidate changes, file by file. An empty list: the diff creates or deletes files, which no fix can say. */
static json_t *changes_json(struct arena *arena, const char *diff, const char **ret_file, unsigned *ret_line)
{
	json_t *changes = json_array(), *replacements = NULL;
	*ret_file = NULL;
	for (const char *at = diff; *at;) {
		if (text_starts(at, "--- ")) {
			char *name = arena_strndup(arena, at + 4, strcspn(at + 4, "\t\r\n"));
			bool usable = text_starts(name, "a/") && name[2];
			replacements = NULL;
			if (usable) {
				replacements = json_array();
				json_t *change = json_object();
				put(change, "artifactLocation", artifact_json(arena, name + 2));
				put(change, "replacements", replacements);
				push(changes, change);
				if (!*ret_file)
					*ret_file = name + 2;
			}
		} else if (text_starts(at, "+++ /dev/null")) {
			replacements = NULL;
		} else if (text_starts(at, "@@ -") && replacements) {
			struct hunk hunk = hunk_head(at);
			at += line_size(at) + (at[line_size(at)] == '\n');
			hunk_read(arena, &at, hunk, replacements);
			if (json_array_size(changes) == 1 && ret_line && !*ret_line) {
				json_t *first = json_object_get(json_array_get(replacements, 0), "deletedRegion");
				*ret_line = (unsigned)json_integer_value(json_object_get(first, "startLine"));
			}
			continue;
		}
		at += line_size(at) + (at[line_size(at)] == '\n');
	}
	/* A file that only appears or goes away leaves a change without replacements, which the schema forbids. */
	for (size_t i = json_array_size(changes); i-- > 0;)
		if (json_array_size(json_object_get(json_array_get(changes, i), "replacements")) == 0)
			json_array_remove(changes, i);
	return changes;
}

static void put_fixes(struct arena *arena, json_t *result, const char *diff, const char *contract)
{
	const char *file = NULL;
	json_t *changes = changes_json(arena, diff, &file, NULL);
	if (json_array_size(changes) == 0) {
		json_decref(changes);
		return;
	}
	json_t *fix = json_object(), *fixes = json_array();
	put(fix, "description",
	    message(arena, contract ? arena_printf(arena, "The candidate. A person must confirm: %s.", contract) : "The candidate."));
	put(fix, "artifactChanges", changes);
	push(fixes, fix);
	put(result, "fixes", fixes);
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

/* Of several build configurations the one that asks most of a person. */
static int verdict_weight(enum verdict verdict)
{
	static const int weights[] = {
		[VERDICT_FASTER] = 9, [VERDICT_WRONG_RESULTS] = 8, [VERDICT_FAILED] = 7, [VERDICT_MIXED] = 6, [VERDICT_INCONCLUSIVE] = 5,
		[VERDICT_DELIBERATE] = 4, [VERDICT_SLOWER] = 3, [VERDICT_NO_EFFECT] = 2, [VERDICT_NOT_REACHED] = 1, [VERDICT_NOT_BUILT] = 1};
	return weights[verdict];
}

static const struct family *family_of(const struct run *run, const struct finding *finding, const struct hypothesis *hypothesis)
{
	const struct family *family = NULL;
	for (size_t i = 0; i < run->families.count; i++) {
		const struct family *other = &run->families.at[i];
		bool same = hypothesis ? other->hypothesis == hypothesis : other->hypothesis && other->hypothesis->finding == finding;
		if (same && (!family || verdict_weight(other->verdict) > verdict_weight(family->verdict)))
			family = other;
	}
	return family;
}

/* What the trials say about a finding. */
static const char *finding_kind_of(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_NO_EFFECT:
	case VERDICT_SLOWER:
		return "pass";
	case VERDICT_MIXED:
		return "review";
	case VERDICT_INCONCLUSIVE:
		return "open";
	case VERDICT_NOT_BUILT:
	case VERDICT_NOT_REACHED:
		return "notApplicable";
	case VERDICT_NONE:
	case VERDICT_FASTER:
	case VERDICT_WRONG_RESULTS: /* the candidate's fault: the finding stands */
	case VERDICT_DELIBERATE:
	case VERDICT_FAILED:
		return "fail";
	}
	BUG("verdict %d", (int)verdict);
}

/* And about a claim that a change is faster. */
static const char *claim_kind_of(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_FASTER:
		return "pass";
	case VERDICT_MIXED:
		return "review";
	case VERDICT_NONE:
	case VERDICT_INCONCLUSIVE:
		return "open";
	case VERDICT_NOT_BUILT:
	case VERDICT_NOT_REACHED:
		return "notApplicable";
	case VERDICT_NO_EFFECT:
	case VERDICT_SLOWER:
	case VERDICT_WRONG_RESULTS:
	case VERDICT_DELIBERATE:
	case VERDICT_FAILED:
		return "fail";
	}
	BUG("verdict %d", (int)verdict);
}

static const char *level_of(const struct finding *finding)
{
	switch (finding->severity) {
	case SEVERITY_CRITICAL:
		return "error";
	case SEVERITY_HIGH:
	case SEVERITY_MEDIUM:
		return "warning";
	case SEVERITY_LOW:
		return "note";
	}
	BUG("severity %d", (int)finding->severity);
}

/* Only what fails has a level (2.1.0, 3.27.10). */
static void put_kind(json_t *result, const char *kind, const char *level)
{
	put(result, "kind", json_string(kind));
	put(result, "level", json_string(strcmp(kind, "fail") == 0 ? level : "none"));
}

/* The trials of a finding or a hypothesis, in short: the whole of them is in the JSON report. */
static json_t *trials_json(struct arena *arena, const struct run *run, const struct finding *finding,
                           const struct hypothesis *hypothesis)
{
	static const char *const keys[] = {"id",     "workload", "params", "build", "verdict", "rung",
	                                   "effect", "pairs",    "evidence", "repeat"};
	json_t *list = json_array();
	for (size_t i = 0; i < run->trials.count; i++) {
		const struct trial *trial = run->trials.at[i];
		if (hypothesis ? trial->hypothesis != hypothesis : trial->hypothesis->finding != finding)
			continue;
		json_t *whole = json_loads(json_trial(arena, trial), 0, NULL), *part = json_object();
		for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
			json_object_set(part, keys[k], json_object_get(whole, keys[k]));
		json_decref(whole);
		push(list, part);
	}
	return list;
}

static void put_suppressions(struct arena *arena, json_t *result, const char *reason, bool external)
{
	json_t *list = json_array();
	if (reason) {
		json_t *suppression = json_object();
		put(suppression, "kind", json_string(external ? "external" : "inSource"));
		put(suppression, "status", json_string("accepted"));
		put(suppression, "justification", text_json(arena, reason));
		push(list, suppression);
	}
	put(result, "suppressions", list);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static char *settled_text(struct arena *arena, const char *text, const struct family *family)
{
	return arena_printf(arena, "%s%sSettled: %s%s%s.", text, text[0] && text[strlen(text) - 1] != '.' ? ". " : " ",
	                    verdict_name(family->verdict), family->evidence ? "; " : "", family->evidence ? family->evidence : "");
}

static json_t *finding_result(struct arena *arena, const struct run *run, const struct sarif_rule_list *rules,
                              const struct finding *finding)
{
	const struct family *family = family_of(run, finding, NULL);
	json_t *result = json_object();
	put(result, "ruleId", text_json(arena, finding->pattern));
	long index = rule_index(rules, finding->pattern);
	if (index >= 0)
		put(result, "ruleIndex", json_integer(index));
	put_kind(result, finding->kind == FINDING_GUARD ? "pass" : family ? finding_kind_of(family->verdict) : "fail",
	         level_of(finding));
	const char *text = finding->message ? finding->message : finding->pattern;
	if (!text[0] || !ispunct((unsigned char)text[strlen(text) - 1]) || text[strlen(text) - 1] == '`')
		text = arena_printf(arena, "%s.", text);
	put(result, "message", message(arena, family ? settled_text(arena, text, family) : text));
	put(result, "locations", locations_json(arena, finding->file, finding->line, finding->column, finding->symbol));
	json_t *fingerprints = json_object();
	put(fingerprints, FINGERPRINT, text_json(arena, finding->id));
	put(result, "partialFingerprints", fingerprints);
	if (finding->baseline)
		put(result, "baselineState", json_string(baseline_state_name(finding->baseline)));
	/* A remark beside the code that a trial found counts like a comment for assay. */
	bool remark = !finding->deliberate && family && family->verdict == VERDICT_DELIBERATE;
	put_suppressions(arena, result, remark ? family->evidence : finding->deliberate,
	                 !remark && finding->deliberate_in == DELIBERATE_IN_PROJECT);
	if (finding->candidate)
		put_fixes(arena, result, finding->candidate, finding->contract);
	json_t *properties = json_object();
	put(properties, "severity", json_string(severity_name(finding->severity)));
	put(properties, "tier", json_string(tier_name(finding->tier)));
	put(properties, "built", json_boolean(finding->built));
	put_text(arena, properties, "claim", finding->claim);
	put_text(arena, properties, "evidence", finding->evidence);
	if (finding->compiler)
		put(properties, "compiler", json_string(compiler_word_name(finding->compiler)));
	put_text(arena, properties, "remark", finding->remark);
	if (finding->profiled)
		put(properties, "profileShare", json_real(finding->profile_share));
	put_text(arena, properties, "contract", finding->contract);
	put_text(arena, properties, "candidate", finding->candidate);
	if (family) {
		put(properties, "verdict", json_string(verdict_name(family->verdict)));
		put(properties, "trials", trials_json(arena, run, finding, NULL));
	}
	put(result, "properties", properties);
	return result;
}

static json_t *claim_result(struct arena *arena, const struct run *run, const struct sarif_rule_list *rules,
                            const struct hypothesis *hypothesis)
{
	const struct family *family = family_of(run, NULL, hypothesis);
	json_t *result = json_object();
	put(result, "ruleId", json_string(CLAIM));
	put(result, "ruleIndex", json_integer((json_int_t)rules->count));
	enum verdict verdict = family ? family->verdict : VERDICT_NONE;
	bool harm = verdict == VERDICT_SLOWER || verdict == VERDICT_WRONG_RESULTS || verdict == VERDICT_FAILED;
	put_kind(result, claim_kind_of(verdict), harm ? "error" : "note");
	const char *text = hypothesis_title(hypothesis);
	if (hypothesis->claim)
		text = arena_printf(arena, "%s (claimed: %s)", text, hypothesis->claim);
	put(result, "message", message(arena, family ? settled_text(arena, text, family) : arena_printf(arena, "%s.", text)));
	if (hypothesis->kind == CANDIDATE_PATCH && hypothesis->text) {
		const char *file = NULL;
		unsigned line = 0;
		json_decref(changes_json(arena, hypothesis->text, &file, &line));
		if (file)
			put(result, "locations", locations_json(arena, file, line ? line : 1, 0, NULL));
	}
	json_t *fingerprints = json_object();
	put(fingerprints, "assayClaim/v1", text_json(arena, hypothesis->id));
	put(result, "partialFingerprints", fingerprints);
	put_suppressions(arena, result,
	                 hypothesis->deliberate ? hypothesis->deliberate : verdict == VERDICT_DELIBERATE ? family->evidence : NULL,
	                 hypothesis->deliberate != NULL);
	json_t *properties = json_object();
	put_text(arena, properties, "claim", hypothesis->claim);
	put(properties, "kind", json_string(candidate_kind_name(hypothesis->kind)));
	put_text(arena, properties, "candidate", hypothesis->text);
	put(properties, "verdict", json_string(verdict_name(verdict)));
	put(properties, "trials", trials_json(arena, run, NULL, hypothesis));
	put(result, "properties", properties);
	return result;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

static json_t *invocation_json(struct arena *arena, const struct run *run)
{
	json_t *object = json_object();
	put_text(arena, object, "commandLine", run->command);
	put_text(arena, object, "startTimeUtc", run->started);
	put_text(arena, object, "machine", run->host.name);
	put(object, "executionSuccessful", json_boolean(run->state == RUN_DONE));
	if (run->notes.count) {
		json_t *notes = json_array();
		for (size_t i = 0; i < run->notes.count; i++) {
			const struct note *note = &run->notes.at[i];
			json_t *notification = json_object();
			put(notification, "level", json_string("warning"));
			put(notification, "message",
			    message(arena, note->where && note->where[0] ? arena_printf(arena, "%s: %s", note->where, note->text)
			                                                 : note->text));
			push(notes, notification);
		}
		put(object, "toolExecutionNotifications", notes);
	}
	return object;
}

static bool is_claim(const struct hypothesis *hypothesis)
{
	return !hypothesis->finding && hypothesis->kind != CANDIDATE_NONE;
}

char *sarif_run(struct arena *arena, const struct run *run, const struct sarif_rule_list *rules)
{
	bool claims = false;
	for (size_t i = 0; i < run->hypotheses.count; i++)
		claims = claims || is_claim(run->hypotheses.at[i]);
	json_t *list = json_array();
	for (size_t i = 0; i < rules->count; i++)
		push(list, rule_json(arena, &rules->at[i]));
	if (claims)
		push(list, rule_json(arena, &claim_rule));
	json_t *driver = json_object();
	put(driver, "name", json_string("assay"));
	put_text(arena, driver, "version", run->version);
	put_text(arena, driver, "semanticVersion", run->version);
	put(driver, "shortDescription", message(arena, "Settles performance claims about C code."));
	put(driver, "rules", list);
	json_t *tool = json_object();
	put(tool, "driver", driver);

	json_t *results = json_array();
	struct finding_list ranked = {0};
	for (size_t i = 0; i < run->findings.count; i++)
		list_push(arena, &ranked, run->findings.at[i]);
	findings_rank(&ranked);
	for (size_t i = 0; i < ranked.count; i++)
		push(results, finding_result(arena, run, rules, ranked.at[i]));
	for (size_t i = 0; i < run->absent.count; i++)
		push(results, finding_result(arena, run, rules, run->absent.at[i]));
	for (size_t i = 0; i < run->hypotheses.count; i++)
		if (is_claim(run->hypotheses.at[i]))
			push(results, claim_result(arena, run, rules, run->hypotheses.at[i]));

	json_t *one = json_object();
	put(one, "tool", tool);
	json_t *invocations = json_array();
	push(invocations, invocation_json(arena, run));
	put(one, "invocations", invocations);
	if (run->tree && run->tree[0] == '/') {
		json_t *root = json_object(), *bases = json_object();
		const char *tree = uri_path(arena, run->tree);
		put(root, "uri", json_string(arena_printf(arena, "file://%s%s", tree, text_ends(tree, "/") ? "" : "/")));
		put(root, "description", message(arena, "The source tree that was examined."));
		put(bases, "SRCROOT", root);
		put(one, "originalUriBaseIds", bases);
	}
	json_t *details = json_object();
	put(details, "id", text_json(arena, arena_printf(arena, "assay/%s", run->id)));
	put(one, "automationDetails", details);
	put(one, "columnKind", json_string("utf16CodeUnits"));
	put(one, "results", results);

	json_t *document = json_object(), *runs = json_array();
	put(document, "$schema", json_string(SCHEMA));
	put(document, "version", json_string("2.1.0"));
	push(runs, one);
	put(document, "runs", runs);
	char *text = json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	if (!text)
		BUG("sarif: a value can't be written");
	char *copy = arena_printf(arena, "%s\n", text);
	free(text);
	json_decref(document);
	return copy;
}
