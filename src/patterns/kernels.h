/* The families of P12 slow-kernel, a file each. p12_slow_kernel.c holds the pattern's texts and examples and shows every
 * loop of a unit to each of them. kernels.c has what they share. */
#ifndef ASSAY_PATTERNS_KERNELS_H
#define ASSAY_PATTERNS_KERNELS_H

#include "patterns/query.h"

extern const struct pattern pattern_p12;

struct kernel_look {
	const struct ast_unit *unit;
	const struct compile_command *command;
	struct pattern_sink *sink;
	struct arena *scratch;       /* lives as long as the look at this unit */
	struct ast_node_list sliced; /* tables that a candidate of this unit already derives others from */
};

void kernel_strings_look(struct kernel_look *look, const struct loop *loop);
void kernel_crc_look(struct kernel_look *look, const struct loop *loop);
void kernel_bits_look(struct kernel_look *look, const struct loop *loop);
void kernel_bytes_look(struct kernel_look *look, const struct loop *loop);

/* ---- what they share -------------------------------------------------------------------------------------------- */
/* Whether no other loop stands between a node and the loop. */
bool kernel_innermost(const struct loop *loop, const struct ast_node *node);
/* A local variable's or parameter's name, stripped; NULL: another expression. */
struct ast_node *kernel_local(struct ast_node *node);
bool kernel_is_local(struct ast_node *node, const struct ast_node *decl);
bool kernel_is_unsigned(const struct ast_type *type); /* an integer of 1, 2, 4 or 8 bytes */
bool kernel_is_constant(struct ast_node *node, long long value);
/* x where the node is `x`, `x != 0` or `x > 0`; NULL: something else. */
struct ast_node *kernel_nonzero(struct ast_node *condition);
/* What the loop does in each iteration, in order: the body's statements without its braces, then the increment's.
 * False: there is a statement of another kind than an expression or an `if`. */
bool kernel_steps(const struct loop *loop, struct arena *arena, struct ast_node_list *ret_steps);
/* How the loop starts as far as a variable goes. A candidate that takes the loop's place, or that stands before it, must
 * not lose or repeat what the initialisation does besides: only START_NONE and START_OWN leave nothing. */
enum kernel_start { START_NONE, START_OWN, START_OTHER };
/* START_OWN: the initialisation sets this local and does nothing else; `ret_value` is what to. */
enum kernel_start kernel_started(const struct loop *loop, const struct ast_node *decl, struct ast_node **ret_value);
/* `x++`, `x += 1`, `x = x + 1` (direction 1) or their opposites (-1), of a local: its declaration; NULL: another. */
const struct ast_node *kernel_stepped(struct ast_node *step, int direction);
/* Whether the variable's value at the end of the loop may be read later. */
bool kernel_lives_on(const struct loop *loop, const struct ast_node *decl);
/* Whether the whole loop may be replaced by other text: no macro in it, written in the unit's tree. */
bool kernel_replaceable(const struct kernel_look *look, const struct loop *loop);
void kernel_replace(const struct kernel_look *look, const struct loop *loop, struct finding *finding, const char *text);
/* "unsigned long" where it can stand in a cast or before a name; NULL: it can't. */
const char *kernel_type(const struct ast_type *type);

#endif
