/* The strings of P12: lengths taken anew in every iteration, which makes a linear loop quadratic.
 *
 * A compiler takes strlen() out of a loop that only reads (it knows the function is pure), so what counts is whether the
 * loop writes somewhere that might be the string, or moves along it. */
#include "patterns/kernels.h"

#include "base/text.h"

#include <limits.h>

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
	struct ast_node *step = ast_operand(site, 1);
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
	struct ast_node *root = pointer_root(path);
	if (root && root->kind == AST_REF && loop_declares(loop, root->decl))
		return MOVES_ELSEWHERE; /* a string of its own in each iteration */
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

enum { SHORT_BYTES = 64 };

/* How much an allocator's call asks for, where only constants say so; -1: not known. */
static long long allocated_bytes(const struct ast_node *call)
{
	long long most = -1, product = 1, value;
	for (size_t i = 0; call_argument(call, i); i++) {
		struct ast_node *argument = ast_strip_casts(call_argument(call, i));
		if (argument->type && (argument->type->kind == TYPE_POINTER || argument->type->kind == TYPE_ARRAY))
			continue;
		if (!node_constant(argument, &value) || value < 0 || value > INT_MAX)
			return -1;
		most = value > most ? value : most;
		product = product > INT_MAX ? product : product * value;
	}
	return strcasestr(call_name(call), "calloc") ? product : most;
}

/* Whether what holds the string has room for a few bytes only: an array, or memory of a constant size. */
static bool is_short(const struct loop *loop, struct ast_node *path)
{
	const struct ast_node *root = pointer_root(path), *places[] = {path, root};
	for (size_t i = 0; i < 2; i++)
		if (places[i] && places[i]->type && places[i]->type->kind == TYPE_ARRAY && places[i]->type->size > 0)
			return places[i]->type->size <= SHORT_BYTES;
	const struct ast_node *call = loop_allocated(loop, path);
	long long bytes = call ? allocated_bytes(call) : -1;
	return bytes > 0 && bytes <= SHORT_BYTES;
}

/* ---- strlen ------------------------------------------------------------------------------------------------ */

/* The word for a local: "s" for strlen(s), "name" for strlen(e->name). */
static const char *path_word(struct ast_node *path)
{
	struct ast_node *root = path->kind == AST_MEMBER ? path : pointer_root(path);
	return root && root->name ? root->name : "text";
}

static void put_candidate(struct kernel_look *look, const struct loop *loop, struct ast_node *call,
                          struct ast_node *path, struct finding *finding)
{
	struct arena *arena = look->sink->arena;
	if (!loop_takes_declaration(loop))
		return;
	for (size_t i = 0; i < loop->strlens.count; i++)
		if (loop->strlens.at[i]->range.in_macro && path_equal(call_argument(loop->strlens.at[i], 0), path))
			return;
	const char *name = free_name(loop, arena, arena_printf(arena, "%s_length", path_word(path)));
	const char *text = name ? ast_text(look->unit, &call->range) : NULL;
	if (!text || !text_equal(call->range.file, loop->node->range.file))
		return;
	struct string_list declarations = {0};
	list_push(arena, &declarations, arena_printf(arena, "const size_t %s = %s;", name, text));
	loop_declare(loop, look->sink, finding, &declarations);
	for (size_t i = 0; i < loop->strlens.count; i++) {
		struct ast_node *other = loop->strlens.at[i];
		if (path_equal(call_argument(other, 0), path))
			finding_edit(look->sink, finding, other->range.offset, other->range.end_offset - other->range.offset, name);
	}
}

static void check_strlen(struct kernel_look *look, const struct loop *loop, struct ast_node *call)
{
	struct arena *arena = look->sink->arena;
	struct ast_node *path = ast_strip_casts(call_argument(call, 0));
	if (!path || !loop_always(loop, call) || !kernel_innermost(loop, call) || path->kind == AST_STRING || is_short(loop, path))
		return;
	bool in_condition = loop->node->condition && node_holds(loop->node->condition, call);
	if (moves(loop, path) == MOVES_BY_STEPS) {
		struct finding *finding = finding_new(
		    look->sink, look->unit, &pattern_p12, &call->range, loop->function->name, SEVERITY_MEDIUM,
		    arena_printf(arena, "%s walks the rest of the string in every iteration while %s moves along it: quadratic",
		                 node_quoted(look->unit, call, arena), node_quoted(look->unit, path, arena)));
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
	        ? arena_printf(arena, "the store to %s might change the length", node_quoted(look->unit, write, arena))
	        : arena_printf(arena, "the call of %s() might change it",
	                       call_name(loop->calls.at[0]) ? call_name(loop->calls.at[0]) : "a function");
	struct finding *finding =
	    finding_new(look->sink, look->unit, &pattern_p12, &call->range, loop->function->name,
	                change == CHANGES_NOTHING ? SEVERITY_LOW
	                : in_condition            ? SEVERITY_HIGH
	                                          : SEVERITY_MEDIUM,
	                arena_printf(arena, "%s is counted again in every iteration, since %s: quadratic",
	                             node_quoted(look->unit, call, arena), reason));
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
	    node_quoted(look->unit, path, arena), loop->calls.count ? "; nor does any function that it calls" : "");
	put_candidate(look, loop, call, path, finding);
}

/* ---- sscanf and strcat --------------------------------------------------------------------------------------- */

static void check_call(struct kernel_look *look, const struct loop *loop, struct ast_node *call)
{
	static const char *const scans[] = {"sscanf", "vsscanf", "__isoc99_sscanf", NULL};
	static const char *const appends[] = {"strcat", "strncat", NULL};
	static const char *const resets[] = {"strcpy", "strncpy", "sprintf", "snprintf", "memcpy", "memset", "strlcpy", "read",
	                                     "fgets", "bzero", "vsnprintf", "getcwd", "realpath", "readlink", NULL};
	struct arena *arena = look->sink->arena;
	struct ast_node *path = ast_strip_casts(call_argument(call, 0));
	bool scan = call_is(call, scans);
	if (!path || (!scan && !call_is(call, appends)) || !kernel_innermost(loop, call) || is_short(loop, path))
		return;
	if (scan) {
		enum move move = moves(loop, path);
		if (move != MOVES_BY_STEPS && move != MOVES_ALONG)
			return;
		struct finding *finding = finding_new(
		    look->sink, look->unit, &pattern_p12, &call->range, loop->function->name, SEVERITY_MEDIUM,
		    arena_printf(arena, "%s takes the length of everything after %s each time, while %s moves along it: quadratic",
		                 call_name(call), node_quoted(look->unit, path, arena), node_quoted(look->unit, path, arena)));
		finding->evidence = "advice: strtol(), strtod() or a scanner of one's own read only what they need";
		return;
	}
	if (!loop_always(loop, call) || !loop_keeps(loop, path))
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
	    look->sink, look->unit, &pattern_p12, &call->range, loop->function->name, SEVERITY_LOW,
	    arena_printf(arena, "%s() walks all of %s to find its end in every iteration: quadratic in what is appended",
	                 call_name(call), node_quoted(look->unit, path, arena)));
	finding->evidence = "advice: keep a pointer to the end and copy there";
}

void kernel_strings_look(struct kernel_look *look, const struct loop *loop)
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
			check_strlen(look, loop, loop->strlens.at[i]);
	}
	for (size_t i = 0; i < loop->calls.count; i++)
		check_call(look, loop, loop->calls.at[i]);
}
