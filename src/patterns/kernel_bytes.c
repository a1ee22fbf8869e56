/* The bytes of P12: a number put together from them in a loop, and areas copied one by one.
 *
 * Compilers merge `p[0] | p[1] << 8 | …` into one load when it is written out; gcc 12 does not see it in a loop, nor does
 * clang for eight bytes. A copy between areas that the compiler knows to be apart becomes memcpy() by itself at -O2. */
#include "patterns/kernels.h"

#include "base/text.h"

/* ---- numbers -------------------------------------------------------------------------------------------------- */

struct assembly {
	struct ast_node *number, *bytes;
	const struct ast_node *index;
	bool shifts_in;  /* v = v << 8 | p[i]; else v |= p[i] << 8 * i */
	bool descending; /* the index goes down */
	unsigned count;
};

/* The i and the number of steps of `for (i = 0; i < 8; i++)` and `for (i = 7; i >= 0; i--)`. */
static bool counts(const struct loop *loop, struct assembly *assembly)
{
	struct ast_node *condition = ast_strip_casts(loop->node->condition), *start = NULL;
	long long first, last;
	struct ast_node *index = condition && condition->kind == AST_BINARY ? kernel_local(ast_operand(condition, 0)) : NULL;
	if (!index || !loop->node->increment || kernel_started(loop, index->decl, &start) != START_OWN ||
	    !node_constant(start, &first) || !node_constant(ast_operand(condition, 1), &last))
		return false;
	assembly->index = index->decl;
	if (kernel_stepped(loop->node->increment, 1) == assembly->index && first == 0 && condition->op == OP_LT) {
		assembly->count = (unsigned)last;
		return last == 2 || last == 4 || last == 8;
	}
	if (kernel_stepped(loop->node->increment, -1) != assembly->index)
		return false;
	bool to_zero = (condition->op == OP_GE && last == 0) || (condition->op == OP_GT && last == -1);
	assembly->descending = true;
	assembly->count = (unsigned)first + 1;
	return to_zero && (first == 1 || first == 3 || first == 7);
}

static bool is_byte_at(struct ast_node *node, struct assembly *assembly)
{
	const struct ast_type *type = node && node->kind == AST_SUBSCRIPT ? node->type : NULL;
	if (!type || type->size != 1 || type->is_signed || type->kind != TYPE_CHAR || type->is_volatile ||
	    !kernel_is_local(ast_operand(node, 1), assembly->index))
		return false;
	assembly->bytes = kernel_local(ast_operand(node, 0));
	return assembly->bytes != NULL;
}

/* Eight times the index: `8 * i`, `i * 8`, `i << 3`. */
static bool is_eightfold(struct ast_node *node, const struct ast_node *index)
{
	if (!node || node->kind != AST_BINARY)
		return false;
	struct ast_node *left = ast_operand(node, 0), *right = ast_operand(node, 1);
	if (node->op == OP_SHL)
		return kernel_is_local(left, index) && kernel_is_constant(right, 3);
	return node->op == OP_MUL && ((kernel_is_local(left, index) && kernel_is_constant(right, 8)) ||
	                              (kernel_is_local(right, index) && kernel_is_constant(left, 8)));
}

static bool is_sum(const struct ast_node *node)
{
	return node && node->kind == AST_BINARY && (node->op == OP_OR || node->op == OP_ADD || node->op == OP_XOR);
}

static bool is_shift_of(struct ast_node *node, struct ast_node *number)
{
	return node && node->kind == AST_BINARY &&
	       ((node->op == OP_SHL && kernel_is_constant(ast_operand(node, 1), 8)) ||
	        (node->op == OP_MUL && kernel_is_constant(ast_operand(node, 1), 256))) &&
	       path_equal(ast_operand(node, 0), number);
}

static bool assembles(struct ast_node *step, struct assembly *assembly)
{
	struct ast_node *number = kernel_local(ast_operand(step, 0)), *value = ast_operand(step, 1);
	if (!number || !value)
		return false;
	assembly->number = number;
	if (step->kind == AST_ASSIGN && is_sum(value)) {
		struct ast_node *left = ast_operand(value, 0), *right = ast_operand(value, 1);
		if (is_shift_of(left, number) && is_byte_at(right, assembly)) {
			assembly->shifts_in = true;
			return true;
		}
		value = path_equal(left, number) && value->op == OP_OR ? right : NULL;
	} else if (step->kind != AST_COMPOUND_ASSIGN || step->op != OP_OR) {
		return false;
	}
	return value && value->kind == AST_BINARY && value->op == OP_SHL && is_byte_at(ast_operand(value, 0), assembly) &&
	       is_eightfold(ast_operand(value, 1), assembly->index) &&
	       ast_operand(value, 0)->parent && ast_operand(value, 0)->parent->kind == AST_CAST;
}

/* `v = (uint64_t)p[0] << 56 | …;`, the bytes in the order in which they stand in memory. */
static const char *assembled(struct kernel_look *look, const struct assembly *assembly, const char *type)
{
	struct arena *arena = look->sink->arena;
	const char *name = assembly->number->name, *bytes = assembly->bytes->name;
	unsigned width = (unsigned)assembly->number->type->size, count = assembly->count;
	bool big = assembly->shifts_in && !assembly->descending;
	const char *text = arena_printf(arena, "%s %s ", name, assembly->shifts_in ? "=" : "|=");
	if (assembly->shifts_in && count < width)
		text = arena_printf(arena, "%s%s << %u | ", text, name, 8 * count);
	for (unsigned i = 0; i < count; i++) {
		unsigned shift = big ? 8 * (count - 1 - i) : 8 * i;
		text = arena_printf(arena, shift ? "%s%s(%s)%s[%u] << %u" : "%s%s(%s)%s[%u]", text, i ? " | " : "", type, bytes, i, shift);
	}
	return arena_printf(arena, "%s;", text);
}

static bool numbers_look(struct kernel_look *look, const struct loop *loop)
{
	struct arena *arena = look->sink->arena;
	struct assembly assembly = {0};
	struct ast_node_list steps;
	if (!loop->node->condition || !counts(loop, &assembly) || !kernel_steps(loop, look->scratch, &steps) || steps.count != 2 ||
	    !assembles(steps.at[0], &assembly))
		return false;
	const struct ast_type *type = assembly.number->type;
	if (!kernel_is_unsigned(type) || type->size < 4 || type->size < assembly.count || assembly.number->decl == assembly.index)
		return false;
	struct finding *finding = finding_new(
	    look->sink, look->unit, &pattern_p12, &loop->node->range, loop->function->name,
	    assembly.count == 8 && node_in_loop(loop->node) ? SEVERITY_MEDIUM : SEVERITY_LOW,
	    arena_printf(arena, "%s is put together from %u bytes by a loop: written out, compilers make one load of it",
	                 node_quoted(look->unit, assembly.number, arena), assembly.count));
	finding->claim = "2.1 to 0.3 ns for 8 bytes (gcc -O2, catalogue's own measurement); clang unrolls the loop by itself, and "
	                 "merges up to 4 bytes";
	const char *name = kernel_type(type);
	if (!name || !kernel_replaceable(look, loop))
		return true;
	const char *text = assembled(look, &assembly, name);
	if (kernel_lives_on(loop, assembly.index) && loop->node->init->kind != AST_DECL_STMT)
		text = arena_printf(arena, "{ %s %s = %d; }", text, assembly.index->name, assembly.descending ? -1 : (int)assembly.count);
	kernel_replace(look, loop, finding, text);
	return true;
}

/* ---- copies --------------------------------------------------------------------------------------------------- */

/* Whether the compiler puts memcpy() in the place of a loop that it knows to be one. */
static bool compiler_recognises(const struct compile_command *command)
{
	const char *level = "0";
	for (size_t i = 0; i < command->argv.count; i++)
		if (text_starts(command->argv.at[i], "-O"))
			level = command->argv.at[i] + 2;
	bool clang = command->argv.count && strstr(path_base(command->argv.at[0]), "clang");
	bool optimises = text_equal(level, "2") || text_equal(level, "3") || text_equal(level, "fast") || (clang && text_equal(level, "s"));
	return optimises && command_flag(command, "-fbuiltin", "-fno-builtin", true) &&
	       command_flag(command, "-fhosted", "-ffreestanding", true) &&
	       command_flag(command, "-ftree-loop-distribute-patterns", "-fno-tree-loop-distribute-patterns", true);
}

struct copy {
	struct ast_node *to, *from, *count; /* names */
};

static struct ast_node *walked(struct ast_node *node)
{
	if (!node || node->kind != AST_UNARY || node->op != OP_DEREF)
		return NULL;
	struct ast_node *pointer = ast_strip(node->children.at[0]);
	return pointer && pointer->kind == AST_UNARY && pointer->op == OP_POST_INC ? kernel_local(ast_operand(pointer, 0)) : NULL;
}

static bool is_plain_byte(const struct ast_node *node)
{
	return node && node->type && node->type->kind == TYPE_CHAR && node->type->size == 1 && !node->type->is_volatile;
}

/* `while (n--) *to++ = *from++;` and `for (i = 0; i < n; i++) to[i] = from[i];`. */
static bool copy_of(const struct loop *loop, const struct ast_node_list *steps, struct copy *copy)
{
	struct ast_node *step = steps->at[0], *to = ast_operand(step, 0), *from = ast_operand(step, 1);
	struct ast_node *condition = kernel_nonzero(loop->node->condition);
	if (step->kind != AST_ASSIGN || !is_plain_byte(to) || !is_plain_byte(from) || !condition)
		return false;
	struct ast_node *start = NULL;
	if (to->kind == AST_UNARY && from->kind == AST_UNARY && steps->count == 1) {
		copy->to = walked(to);
		copy->from = walked(from);
		copy->count = condition->kind == AST_UNARY && condition->op == OP_POST_DEC ? kernel_local(ast_operand(condition, 0)) : NULL;
		return copy->to && copy->from && copy->count && kernel_started(loop, copy->count->decl, &start) == START_NONE;
	}
	struct ast_node *index = kernel_local(ast_operand(condition, 0));
	if (to->kind != AST_SUBSCRIPT || from->kind != AST_SUBSCRIPT || steps->count != 2 || condition->kind != AST_BINARY ||
	    condition->op != OP_LT || !index || kernel_stepped(steps->at[1], 1) != index->decl ||
	    !kernel_is_local(ast_operand(to, 1), index->decl) || !kernel_is_local(ast_operand(from, 1), index->decl))
		return false;
	copy->to = ast_operand(to, 0);
	copy->from = ast_operand(from, 0);
	copy->count = ast_operand(condition, 1);
	return kernel_started(loop, index->decl, &start) == START_OWN && node_is_zero(start) && copy->to->kind == AST_REF &&
	       copy->from->kind == AST_REF && loop_keeps(loop, copy->count) && copy->count->kind == AST_REF &&
	       !copy->count->has_value && loop_keeps(loop, copy->to) && loop_keeps(loop, copy->from);
}

static bool is_apart(struct ast_node *step)
{
	struct access to = access_of(step->children.at[0]), from = access_of(step->children.at[1]);
	struct ast_node *to_root = to.pointer ? pointer_root(to.pointer) : to.object;
	struct ast_node *from_root = from.pointer ? pointer_root(from.pointer) : from.object;
	return to_root && from_root && !path_equal(to_root, from_root) && (access_is_private(&to) || access_is_private(&from));
}

/* Names of functions that copy on purpose where areas may overlap, or that are the copy itself. */
static bool copies_by_trade(const char *name)
{
	static const char *const words[] = {"memcpy", "memmove", "bcopy", "match", "overlap", "lz", "lz4", "inflate", "strcpy",
	                                    "wildcopy", "decompress", "expand", "move", NULL};
	return name_has_any_word(name, words);
}

static void copies_look(struct kernel_look *look, const struct loop *loop)
{
	struct arena *arena = look->sink->arena;
	struct ast_node_list steps;
	struct copy copy = {0};
	if (!loop->node->condition || loop->has_branch || loop->calls.count || loop->has_barrier || loop->has_inner_loop ||
	    !kernel_steps(loop, look->scratch, &steps) || steps.count == 0 || !copy_of(loop, &steps, &copy) ||
	    copies_by_trade(loop->function->name))
		return;
	bool apart = is_apart(steps.at[0]), recognised = compiler_recognises(look->command);
	bool unsigned_count = copy.count->type && copy.count->type->kind == TYPE_INT && !copy.count->type->is_signed;
	/* Both parameters: what a caller passes is a promise that someone can read. Others are seldom apart for sure. */
	bool parameters = copy.to->decl && copy.from->decl && copy.to->decl->kind == AST_PARAM && copy.from->decl->kind == AST_PARAM &&
	                  copy.to->decl != copy.from->decl;
	if (apart ? recognised : !parameters)
		return;
	struct finding *finding = finding_new(
	    look->sink, look->unit, &pattern_p12, &loop->node->range, loop->function->name, SEVERITY_LOW,
	    arena_printf(arena, "%s is copied to %s byte by byte%s", node_quoted(look->unit, copy.from, arena),
	                 node_quoted(look->unit, copy.to, arena),
	                 apart ? ", and the flags keep the compiler from calling memcpy()" : ""));
	finding->claim = "some 10 times for a kilobyte in cache (gcc -O2: one byte a cycle); nothing for a few bytes, nor with clang "
	                 "or gcc -O3, which make vector code of the loop";
	if (!apart || !unsigned_count || !kernel_replaceable(look, loop)) {
		finding->evidence = apart ? "advice: memcpy()"
		                          : "advice: memcpy() where the two areas never overlap, which can't be seen here; restrict says the same";
		return;
	}
	const char *to = copy.to->name, *from = copy.from->name, *count = copy.count->name;
	const char *text = arena_printf(arena, "__builtin_memcpy(%s, %s, %s);", to, from, count);
	bool walks = steps.count == 1;
	if (walks && (kernel_lives_on(loop, copy.to->decl) || kernel_lives_on(loop, copy.from->decl) || kernel_lives_on(loop, copy.count->decl)))
		text = arena_printf(arena, "{ %s %s += %s; %s += %s; %s = -1; }", text, to, count, from, count, count);
	else if (!walks && loop->node->init->kind != AST_DECL_STMT)
		text = arena_printf(arena, "{ %s %s = %s; }", text, ast_operand(ast_strip_casts(loop->node->condition), 0)->name, count);
	kernel_replace(look, loop, finding, text);
}

void kernel_bytes_look(struct kernel_look *look, const struct loop *loop)
{
	if (!numbers_look(look, loop))
		copies_look(look, loop);
}
