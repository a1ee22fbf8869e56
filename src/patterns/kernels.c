#include "patterns/kernels.h"

#include "base/text.h"

bool kernel_innermost(const struct loop *loop, const struct ast_node *node)
{
	for (const struct ast_node *at = node->parent; at; at = at->parent) {
		if (at == loop->node)
			return true;
		if (node_is_loop(at) && (!at->init || !node_holds(at->init, node)))
			return false;
	}
	return false;
}

struct ast_node *kernel_local(struct ast_node *node)
{
	node = ast_strip_casts(node);
	if (!node || node->kind != AST_REF || node->is_global || !node->decl || !node->type || node->type->is_volatile)
		return NULL;
	return node->decl->kind == AST_VAR || node->decl->kind == AST_PARAM ? node : NULL;
}

bool kernel_is_local(struct ast_node *node, const struct ast_node *decl)
{
	node = kernel_local(node);
	return node && node->decl == decl;
}

bool kernel_is_unsigned(const struct ast_type *type)
{
	return type && (type->kind == TYPE_INT || type->kind == TYPE_CHAR) && !type->is_signed &&
	       (type->size == 1 || type->size == 2 || type->size == 4 || type->size == 8);
}

bool kernel_is_constant(struct ast_node *node, long long value)
{
	long long found;
	return node && node_constant(node, &found) && found == value;
}

struct ast_node *kernel_nonzero(struct ast_node *condition)
{
	struct ast_node *node = ast_strip_casts(condition);
	if (node && node->kind == AST_BINARY && (node->op == OP_NE || node->op == OP_GT) &&
	    kernel_is_constant(ast_operand(node, 1), 0))
		node = ast_operand(node, 0);
	return node;
}

/* The parts of `a, b`. */
static void take_parts(struct ast_node *node, struct arena *arena, struct ast_node_list *steps)
{
	node = ast_strip(node);
	if (node && node->kind == AST_BINARY && node->op == OP_COMMA) {
		take_parts(node->children.at[0], arena, steps);
		take_parts(node->children.at[1], arena, steps);
	} else if (node) {
		list_push(arena, steps, node);
	}
}

static bool take_statement(struct ast_node *statement, struct arena *arena, struct ast_node_list *steps)
{
	switch (statement->kind) {
	case AST_COMPOUND:
		for (size_t i = 0; i < statement->children.count; i++)
			if (!take_statement(statement->children.at[i], arena, steps))
				return false;
		return true;
	case AST_NULL_STMT:
		return true;
	case AST_IF:
		list_push(arena, steps, statement);
		return true;
	case AST_ASSIGN:
	case AST_COMPOUND_ASSIGN:
	case AST_UNARY:
	case AST_PAREN:
	case AST_BINARY:
		take_parts(statement, arena, steps);
		return true;
	default:
		return false;
	}
}

bool kernel_steps(const struct loop *loop, struct arena *arena, struct ast_node_list *ret_steps)
{
	*ret_steps = (struct ast_node_list){0};
	if (loop->node->kind == AST_DO || !loop->node->body || !take_statement(loop->node->body, arena, ret_steps))
		return false;
	if (loop->node->increment)
		take_parts(loop->node->increment, arena, ret_steps);
	return true;
}

enum kernel_start kernel_started(const struct loop *loop, const struct ast_node *decl, struct ast_node **ret_value)
{
	struct ast_node *init = loop->node->kind == AST_FOR && loop->node->init ? ast_strip(loop->node->init) : NULL;
	if (!init || init->kind == AST_NULL_STMT)
		return START_NONE;
	if (init->kind == AST_ASSIGN && kernel_is_local(ast_operand(init, 0), decl))
		*ret_value = ast_strip(init->children.at[1]);
	else if (init->kind == AST_DECL_STMT && init->children.count == 1 && init->children.at[0] == decl && decl->kind == AST_VAR &&
	         decl->init)
		*ret_value = ast_strip(decl->init);
	else
		return START_OTHER;
	/* `i = (j = 0)`, `i = next()`: the value does something by itself. */
	return node_has_effect(*ret_value) ? START_OTHER : START_OWN;
}

const struct ast_node *kernel_stepped(struct ast_node *step, int direction)
{
	step = ast_strip(step);
	struct ast_node *target = step ? kernel_local(ast_operand(step, 0)) : NULL;
	if (!target)
		return NULL;
	bool right = false;
	enum ast_op op = direction > 0 ? OP_ADD : OP_SUB;
	if (step->kind == AST_UNARY)
		right = direction > 0 ? step->op == OP_PRE_INC || step->op == OP_POST_INC
		                      : step->op == OP_PRE_DEC || step->op == OP_POST_DEC;
	else if (step->kind == AST_COMPOUND_ASSIGN)
		right = step->op == op && kernel_is_constant(ast_operand(step, 1), 1);
	else if (step->kind == AST_ASSIGN) {
		struct ast_node *sum = ast_operand(step, 1);
		right = sum && sum->kind == AST_BINARY && sum->op == op && path_equal(ast_operand(sum, 0), target) &&
		        kernel_is_constant(ast_operand(sum, 1), 1);
	}
	return right ? target->decl : NULL;
}

struct later {
	const struct ast_node *decl;
	const struct ast_range *loop;
	bool used;
};

static bool later_visit(struct ast_node *node, void *context)
{
	struct later *later = context;
	if (node->kind == AST_LABEL)
		later->used = true;
	if (node->kind == AST_REF && node->decl == later->decl && node->range.offset >= later->loop->end_offset)
		later->used = true;
	return !later->used;
}

bool kernel_lives_on(const struct loop *loop, const struct ast_node *decl)
{
	bool declared_inside = false;
	for (const struct ast_node *at = loop->node->parent; at; at = at->parent) {
		for (const struct ast_node *up = decl; up; up = up->parent)
			declared_inside |= up == at;
		if (node_is_loop(at) && !declared_inside)
			return true;
	}
	struct later later = {.decl = decl, .loop = &loop->node->range};
	if (decl->is_global)
		return true;
	ast_walk(loop->function, later_visit, &later);
	return later.used;
}

bool kernel_replaceable(const struct kernel_look *look, const struct loop *loop)
{
	const struct ast_range *range = &loop->node->range;
	return range->file && range->in_tree && !range->in_macro && loop->function->range.file &&
	       text_equal(range->file, loop->function->range.file) && statement_end(look->unit, loop->node) != 0;
}

void kernel_replace(const struct kernel_look *look, const struct loop *loop, struct finding *finding, const char *text)
{
	size_t begin = loop->node->range.offset;
	finding_edit(look->sink, finding, begin, statement_end(look->unit, loop->node) - begin, text);
}

const char *kernel_type(const struct ast_type *type)
{
	const char *spelling = type ? type->spelling : NULL;
	if (spelling && text_starts(spelling, "const "))
		spelling += 6;
	if (!spelling || !*spelling || strpbrk(spelling, "*([{<") || strstr(spelling, "typeof") || strstr(spelling, "volatile") ||
	    strstr(spelling, "_Atomic"))
		return NULL;
	return spelling;
}
