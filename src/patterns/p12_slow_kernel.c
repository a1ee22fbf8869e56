/* P12 slow-kernel: a well-known slow way to do a small thing. So far its string family: lengths taken anew in every
 * iteration, which makes a linear loop quadratic.
 *
 * A compiler takes strlen() out of a loop that only reads (it knows the function is pure), so what counts is whether the
 * loop writes somewhere that might be the string, or moves along it.
 */
#include "patterns/query.h"

#include "base/text.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_p12 = {
    .id = "P12",
    .slug = "slow-kernel",
    .title = "a string's length taken anew in every iteration",
    .tier = TIER_B,
    .what = "strlen(s) in a loop's condition or body while the loop stores bytes that may be the string's, or moves s along; "
            "sscanf() on a string that advances; strcat() onto a string that the loop keeps appending to.",
    .why = "Each call walks the whole rest of the string, so n steps cost n squared reads. sscanf() hides such a walk: the C "
           "library takes the length of what it is given before it reads the first character.",
    .when_not = "The string is always short (some 16 bytes); the loop only reads, so that the compiler takes the call out by "
                "itself; the loop does change the length; it runs once at start-up.",
    .expected = "grows with the length: over 300x for lower-casing in place at 16 KiB (catalogue's own measurement), a few "
                "percent at 16 bytes",
    .refuted_by = "Equal machine code (the compiler took it out), or a workload whose strings are short.",
    .sources = (const char *const[]){"Jon Bentley, Programming Pearls, 2nd edition, 2000, column 9 (code tuning)",
                                     "Randal Bryant and David O'Hallaron, Computer Systems: A Programmer's Perspective, 3rd "
                                     "edition, 2016, section 5.4 (the lower-casing loop)",
                                     "Joel Spolsky, Back to Basics, 2001 (repeated strcat)",
                                     NULL},
    .detect = detect,
};

struct detection {
	const struct ast_unit *unit;
	struct pattern_sink *sink;
};

/* ---- what the loop does to a string -------------------------------------------------------------------------- */

/* Whether `write` stores bytes that may belong to the string at `path`. */
static bool may_write_string(struct ast_node *write, struct ast_node *path)
{
	struct access access = access_of(write);
	struct ast_node *root = pointer_root(path);
	struct ast_node *into = access.pointer ? pointer_root(access.pointer) : access.object;
	if (into && root && path_equal(into, root))
		return access.pointer || write->kind != AST_REF; /* s[i] and *s, not s itself */
	if (!access.pointer || access_is_private(&access))
		return false;
	if (root && root->kind == AST_REF && root->decl && root->decl->type && root->decl->type->is_restrict)
		return false;
	if (root && root->kind == AST_REF && !root->is_global && root->type && root->type->kind == TYPE_ARRAY)
		return false; /* an array of this function: another pointer leads there only if it was made from it */
	return access.pointee && access.pointee->kind == TYPE_CHAR;
}

enum change { CHANGES_NOTHING, CHANGES_BYTES, CHANGES_LENGTH };

/* The strongest that the loop's own stores do to it. */
static enum change stores_to(const struct loop *loop, struct ast_node *path, struct ast_node **ret_write)
{
	enum change change = CHANGES_NOTHING;
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct ast_node *write = loop->writes.at[i], *site = loop->write_sites.at[i];
		if (!may_write_string(write, path))
			continue;
		if (change == CHANGES_NOTHING)
			*ret_write = write;
		bool zero = site->kind == AST_ASSIGN && site->children.count > 1 && node_is_zero(site->children.at[1]);
		change = zero || change == CHANGES_LENGTH ? CHANGES_LENGTH : CHANGES_BYTES;
	}
	return change;
}

static bool is_reader(const struct ast_node *call)
{
	static const char *const names[] = {
	    "printf", "fprintf", "puts", "fputs", "fwrite", "write", "putchar", "putc", "fputc", "send", "syslog", "strtol",
	    "strtoul", "strtoll", "strtoull", "strtod", "atoi", "atol", "atof", "strdup", "strndup", "fopen", "open", "getenv",
	    NULL};
	return call_is(call, names);
}

/* Whether a call is given a way to write the string. */
static bool handed_out(const struct loop *loop, struct ast_node *path)
{
	struct ast_node *root = pointer_root(path);
	for (size_t i = 0; i < loop->calls.count; i++) {
		if (is_reader(loop->calls.at[i]))
			continue;
		for (size_t a = 0; call_argument(loop->calls.at[i], a); a++) {
			struct ast_node *argument = ast_strip_casts(call_argument(loop->calls.at[i], a));
			if (argument && argument->type && (argument->type->kind == TYPE_POINTER || argument->type->kind == TYPE_ARRAY) &&
			    path_equal(pointer_root(argument), root))
				return true;
		}
	}
	return false;
}

/* How a pointer moves in a loop. */
enum move { MOVES_NOT, MOVES_BY_STEPS, MOVES_ALONG, MOVES_ELSEWHERE };

static bool is_constant_step(struct ast_node *site, struct ast_node *path)
{
	struct ast_node *step = site->children.count > 1 ? ast_strip_casts(site->children.at[1]) : NULL;
	if (node_is_increment(site))
		return true;
	if (!step)
		return false;
	if (site->kind == AST_COMPOUND_ASSIGN)
		return step->kind == AST_INT;
	if (step->kind != AST_BINARY || step->children.count < 2)
		return false;
	struct ast_node *right = ast_strip_casts(step->children.at[1]);
	return path_equal(step->children.at[0], path) && right && right->kind == AST_INT;
}

static enum move moves(const struct loop *loop, struct ast_node *path)
{
	enum move move = MOVES_NOT;
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct ast_node *site = loop->write_sites.at[i];
		if (!path_equal(loop->writes.at[i], path))
			continue;
		if (loop->node->init && node_holds(loop->node->init, site))
			continue;
		if (is_constant_step(site, path)) {
			if (move == MOVES_NOT)
				move = MOVES_BY_STEPS;
		} else if (site->kind == AST_COMPOUND_ASSIGN ||
		           (site->children.count > 1 && node_mentions(site->children.at[1], path))) {
			if (move != MOVES_ELSEWHERE)
				move = MOVES_ALONG;
		} else {
			return MOVES_ELSEWHERE; /* set anew: a line, a token */
		}
	}
	for (size_t i = 0; i < loop->addressed.count; i++)
		if (path_equal(loop->addressed.at[i], path))
			return MOVES_ELSEWHERE;
	return move;
}

static const char *quoted(const struct detection *detection, const struct ast_node *node)
{
	return arena_printf(detection->sink->arena, "`%s`", node_text(detection->unit, node, detection->sink->arena));
}

/* ---- strlen ------------------------------------------------------------------------------------------------ */

/* The word for a local: "s" for strlen(s), "name" for strlen(e->name). */
static const char *path_word(struct ast_node *path)
{
	struct ast_node *root = path->kind == AST_MEMBER ? path : pointer_root(path);
	return root && root->name ? root->name : "text";
}

static void put_candidate(struct detection *detection, const struct loop *loop, struct ast_node *call,
                          struct ast_node *path, struct finding *finding)
{
	struct arena *arena = detection->sink->arena;
	if (!loop_takes_declaration(loop))
		return;
	for (size_t i = 0; i < loop->strlens.count; i++)
		if (loop->strlens.at[i]->range.in_macro && path_equal(call_argument(loop->strlens.at[i], 0), path))
			return;
	const char *name = free_name(loop, arena, arena_printf(arena, "%s_length", path_word(path)));
	const char *text = name ? ast_text(detection->unit, &call->range) : NULL;
	if (!text || !text_equal(call->range.file, loop->node->range.file))
		return;
	struct string_list declarations = {0};
	list_push(arena, &declarations, arena_printf(arena, "const size_t %s = %s;", name, text));
	loop_declare(loop, detection->sink, finding, &declarations);
	for (size_t i = 0; i < loop->strlens.count; i++) {
		struct ast_node *other = loop->strlens.at[i];
		if (path_equal(call_argument(other, 0), path))
			finding_edit(detection->sink, finding, other->range.offset, other->range.end_offset - other->range.offset, name);
	}
}

static bool innermost(const struct loop *loop, const struct ast_node *node)
{
	for (const struct ast_node *at = node->parent; at; at = at->parent) {
		if (at == loop->node)
			return true;
		if (node_is_loop(at) && (!at->init || !node_holds(at->init, node)))
			return false;
	}
	return false;
}

static void check_strlen(struct detection *detection, const struct loop *loop, struct ast_node *call)
{
	struct arena *arena = detection->sink->arena;
	struct ast_node *path = ast_strip_casts(call_argument(call, 0));
	if (!path || !loop_always(loop, call) || !innermost(loop, call) || path->kind == AST_STRING)
		return;
	bool in_condition = loop->node->condition && node_holds(loop->node->condition, call);
	if (moves(loop, path) == MOVES_BY_STEPS) {
		struct finding *finding = finding_new(
		    detection->sink, detection->unit, &pattern_p12, &call->range, loop->function->name, SEVERITY_MEDIUM,
		    arena_printf(arena, "%s walks the rest of the string in every iteration while %s moves along it: quadratic",
		                 quoted(detection, call), quoted(detection, path)));
		finding->evidence = "advice: take the length once and count it down, or compare with a pointer to the end";
		return;
	}
	if (!loop_keeps(loop, path))
		return;
	struct ast_node *write = NULL;
	enum change change = stores_to(loop, path, &write);
	bool out = handed_out(loop, path);
	if (change == CHANGES_NOTHING && !(in_condition && loop->calls.count))
		return; /* only reads: the compiler takes it out */
	if (loop->calls.count && !in_condition && (out || change == CHANGES_NOTHING))
		return; /* a length in the body that a call may just have changed */
	if (change == CHANGES_NOTHING && out)
		return; /* what it is handed to may change it on purpose */
	const char *reason =
	    change != CHANGES_NOTHING
	        ? arena_printf(arena, "the store to %s might change the length", quoted(detection, write))
	        : arena_printf(arena, "the call of %s() might change it",
	                       call_name(loop->calls.at[0]) ? call_name(loop->calls.at[0]) : "a function");
	struct finding *finding =
	    finding_new(detection->sink, detection->unit, &pattern_p12, &call->range, loop->function->name,
	                change == CHANGES_NOTHING ? SEVERITY_LOW
	                : in_condition            ? SEVERITY_HIGH
	                                          : SEVERITY_MEDIUM,
	                arena_printf(arena, "%s is counted again in every iteration, since %s: quadratic",
	                             quoted(detection, call), reason));
	if (change == CHANGES_LENGTH) {
		finding->severity = SEVERITY_MEDIUM;
		finding->evidence = "the loop stores a 0 that may end the string, so the length can't simply be kept: advice only";
		return;
	}
	if (out) {
		finding->severity = SEVERITY_MEDIUM;
		finding->evidence = "the loop hands the string to a call that may append to it: advice only";
		return;
	}
	finding->contract = arena_printf(
	    arena, "the loop does not change the length of the string at %s: no byte that it stores there is 0, and none "
	           "replaces the 0 at its end%s",
	    quoted(detection, path), loop->calls.count ? "; nor does any function that it calls" : "");
	put_candidate(detection, loop, call, path, finding);
}

/* ---- sscanf and strcat --------------------------------------------------------------------------------------- */

static void check_call(struct detection *detection, const struct loop *loop, struct ast_node *call)
{
	static const char *const scans[] = {"sscanf", "vsscanf", "__isoc99_sscanf", NULL};
	static const char *const appends[] = {"strcat", "strncat", NULL};
	static const char *const resets[] = {"strcpy", "strncpy", "sprintf", "snprintf", "memcpy", "memset", "strlcpy", "read",
	                                     "fgets", "bzero", "vsnprintf", "getcwd", "realpath", "readlink", NULL};
	struct arena *arena = detection->sink->arena;
	struct ast_node *path = ast_strip_casts(call_argument(call, 0));
	if (!path || !innermost(loop, call))
		return;
	if (call_is(call, scans)) {
		enum move move = moves(loop, path);
		if (move != MOVES_BY_STEPS && move != MOVES_ALONG)
			return;
		struct finding *finding = finding_new(
		    detection->sink, detection->unit, &pattern_p12, &call->range, loop->function->name, SEVERITY_MEDIUM,
		    arena_printf(arena, "%s takes the length of everything after %s each time, while %s moves along it: quadratic",
		                 call_name(call), quoted(detection, path), quoted(detection, path)));
		finding->evidence = "advice: strtol(), strtod() or a scanner of one's own read only what they need";
		return;
	}
	if (!call_is(call, appends) || !loop_always(loop, call) || !loop_keeps(loop, path))
		return;
	struct ast_node *root = pointer_root(path), *write = NULL;
	if (!root || (root->kind == AST_REF && loop_declares(loop, root->decl)) || stores_to(loop, path, &write) == CHANGES_LENGTH)
		return;
	unsigned others = 0;
	for (size_t i = 0; i < loop->calls.count; i++) {
		struct ast_node *other = loop->calls.at[i];
		struct ast_node *target = call_argument(other, 0) ? pointer_root(call_argument(other, 0)) : NULL;
		if (!target || !path_equal(target, root))
			continue;
		if (call_is(other, resets))
			return; /* it starts afresh in each iteration */
		if (call_is(other, appends) && other->range.offset < call->range.offset)
			others++; /* one finding for one string */
	}
	if (others)
		return;
	struct finding *finding = finding_new(
	    detection->sink, detection->unit, &pattern_p12, &call->range, loop->function->name, SEVERITY_LOW,
	    arena_printf(arena, "%s() walks all of %s to find its end in every iteration: quadratic in what is appended",
	                 call_name(call), quoted(detection, path)));
	finding->evidence = "advice: keep a pointer to the end and copy there";
}

static void detect_loop(struct loop *loop, void *context)
{
	long long bound = loop_bound(loop);
	if (bound >= 0 && bound <= 8)
		return;
	for (size_t i = 0; i < loop->strlens.count; i++) {
		struct ast_node *path = call_argument(loop->strlens.at[i], 0);
		bool repeated = false; /* one finding for one string of one loop */
		for (size_t k = 0; k < i; k++)
			repeated |= path_equal(call_argument(loop->strlens.at[k], 0), path) && loop_always(loop, loop->strlens.at[k]);
		if (!repeated)
			check_strlen(context, loop, loop->strlens.at[i]);
	}
	for (size_t i = 0; i < loop->calls.count; i++)
		check_call(context, loop, loop->calls.at[i]);
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	(void)command;
	struct arena arena;
	arena_init(&arena);
	struct detection detection = {.unit = unit, .sink = sink};
	loops_visit(unit, &arena, detect_loop, &detection);
	arena_release(&arena);
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct state {
	char *original, *text;
	size_t size;
};

static __attribute__((noinline)) void lower_case(char *s)
{
	for (size_t i = 0; i < strlen(s); i++) // finds
		s[i] = (char)tolower((unsigned char)s[i]);
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 2048);
	s->original = malloc(s->size + 1);
	s->text = malloc(s->size + 1);
	assay_fill_text(b, s->original, s->size);
	for (size_t i = 0; i < s->size; i++)
		s->original[i] = s->original[i] ? s->original[i] : ' ';
	s->original[s->size] = '\0';
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		memcpy(s->text, s->original, s->size + 1);
		lower_case(s->text);
		assay_keep(s->text);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "lower case", s->text, s->size + 1);
}

static void edges(void *state, struct assay_bench *b)
{
	static const char *const texts[] = {"", "A", "aZ[", "\xc4\xd6 ABC", "THE LAST one."};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char text[32] = {0};
		strcpy(text, texts[i]);
		lower_case(text);
		assay_output(b, "a short text", text, sizeof text);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct state {
	char *original, *text;
	size_t size;
};

static __attribute__((noinline)) void lower_case(char *s)
{
	const size_t s_length = strlen(s);
	for (size_t i = 0; i < s_length; i++) // finds
		s[i] = (char)tolower((unsigned char)s[i]);
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 2048);
	s->original = malloc(s->size + 1);
	s->text = malloc(s->size + 1);
	assay_fill_text(b, s->original, s->size);
	for (size_t i = 0; i < s->size; i++)
		s->original[i] = s->original[i] ? s->original[i] : ' ';
	s->original[s->size] = '\0';
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		memcpy(s->text, s->original, s->size + 1);
		lower_case(s->text);
		assay_keep(s->text);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "lower case", s->text, s->size + 1);
}

static void edges(void *state, struct assay_bench *b)
{
	static const char *const texts[] = {"", "A", "aZ[", "\xc4\xd6 ABC", "THE LAST one."};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char text[32] = {0};
		strcpy(text, texts[i]);
		lower_case(text);
		assay_output(b, "a short text", text, sizeof text);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
#include <assay/bench.h>
#include <stdlib.h>
#include <string.h>

struct state {
	char *text;
	size_t size, spaces;
};

/* Only reads: the compiler takes strlen() out of the loop by itself. */
static __attribute__((noinline)) size_t count_spaces(const char *s)
{
	size_t spaces = 0;
	for (size_t i = 0; i < strlen(s); i++)
		spaces += s[i] == ' ';
	return spaces;
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 2048);
	s->text = malloc(s->size + 1);
	assay_fill_text(b, s->text, s->size);
	for (size_t i = 0; i < s->size; i++)
		s->text[i] = s->text[i] ? s->text[i] : ' ';
	s->text[s->size] = '\0';
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		assay_keep(s->text);
		s->spaces = count_spaces(s->text);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "spaces", &s->spaces, sizeof s->spaces);
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also in a while loop, and twice */
#include <string.h>
struct entry {
	char *name;
};
void underline(struct entry *entry, char *below)
{
	size_t i = 0;
	while (i < strlen(entry->name)) { // finds
		below[i] = i + 1 == strlen(entry->name) ? '+' : '-';
		i++;
	}
}
#endif

#if 0 /* assay example: also in a while loop, and twice fixed */
#include <string.h>
struct entry {
	char *name;
};
void underline(struct entry *entry, char *below)
{
	size_t i = 0;
	const size_t name_length = strlen(entry->name);
	while (i < name_length) { // finds
		below[i] = i + 1 == name_length ? '+' : '-';
		i++;
	}
}
#endif

#if 0 /* assay example: also advice only */
#include <stdio.h>
#include <string.h>
unsigned sum_all(const char *at, char *copy)
{
	unsigned sum = 0, value;
	int used;
	while (sscanf(at, "%u%n", &value, &used) == 1) { // finds
		sum += value;
		at += used;
	}
	for (; strlen(at) >= 2; at += 2) // finds
		sum += (unsigned char)at[1];
	for (size_t i = 0; i < strlen(copy); i++) { // finds
		if (copy[i] == ';')
			copy[i] = '\0';
	}
	return sum;
}
void join(char *to, const char *const *words)
{
	while (*words) {
		strcat(to, *words++); // finds
		strcat(to, " ");
	}
}
#endif

#if 0 /* assay example: also a call that might write it */
#include <stdio.h>
#include <string.h>
void show(const char *s)
{
	for (size_t i = 0; i < strlen(s); i++) // finds
		putchar(s[i]);
}
#endif

#if 0 /* assay example: also a call that might write it fixed */
#include <stdio.h>
#include <string.h>
void show(const char *s)
{
	const size_t s_length = strlen(s);
	for (size_t i = 0; i < s_length; i++) // finds
		putchar(s[i]);
}
#endif

#if 0 /* assay example: lookalike taken once */
#include <string.h>
void blank(char *s)
{
	size_t n = strlen(s);
	for (size_t i = 0; i < n; i++)
		s[i] = ' ';
	for (size_t i = 0, end = strlen(s); i < end; i++)
		s[i] = '-';
}
#endif

#if 0 /* assay example: lookalike a list of strings */
#include <string.h>
size_t longest(char **names, const char *list)
{
	size_t most = 0;
	for (char **name = names; *name; name++) {
		if (strlen(*name) > most)
			most = strlen(*name);
	}
	while (*list) {
		size_t length = strlen(list);
		if (length > most)
			most = length;
		list += length + 1;
	}
	return most;
}
#endif

#if 0 /* assay example: lookalike another line each time */
#include <stdio.h>
#include <string.h>
unsigned total(FILE *in)
{
	char line[512], label[64];
	unsigned sum = 0, value;
	while (fgets(line, sizeof line, in)) {
		char *at = line;
		if (line[strlen(line) - 1] == '\n')
			line[strlen(line) - 1] = '\0';
		if (sscanf(at, "%u", &value) == 1)
			sum += value;
		strcpy(label, "total ");
		strcat(label, "so far");
	}
	return sum;
}
#endif

#if 0 /* assay example: lookalike a store that stays local */
#include <string.h>
unsigned histogram(const char *s)
{
	unsigned char seen[256] = {0};
	unsigned kinds = 0;
	for (size_t i = 0; i < strlen(s); i++)
		seen[(unsigned char)s[i]] = 1;
	for (size_t i = 0; i < sizeof seen; i++)
		kinds += seen[i];
	return kinds;
}
#endif
