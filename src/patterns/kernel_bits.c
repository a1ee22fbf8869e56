/* The bits of P12: counting them, or finding the highest, one at a time.
 *
 * Both compilers turn a loop over `x &= x - 1` into the processor's instruction when the flags allow it, and neither does
 * for the baseline; a loop that shifts is recognised by clang 19 when it runs to 0, and by neither gcc 12 nor clang 14. So
 * what a candidate is worth depends on the compile command, and the finding says so. */
#include "patterns/kernels.h"

#include "base/text.h"

enum task { TASK_NONE, TASK_CLEAR_LOWEST, TASK_COUNT_SHIFTING, TASK_LENGTH, TASK_LOGARITHM, TASK_POWER };

struct bits {
	enum task task;
	struct ast_node *word;  /* what is taken apart; of TASK_POWER what the power grows up to */
	struct ast_node *count; /* of TASK_POWER the power */
	bool starts_at_zero;    /* the loop's own initialisation sets the count to 0 */
	bool ends_at_one;       /* of TASK_LOGARITHM: 1 is left of the word, not 0 */
};

static bool is_word(const struct ast_type *type)
{
	return type && type->kind == TYPE_INT && (type->size == 4 || type->size == 8);
}

/* x in `x &= x - 1` and `x = x & (x - 1)`. */
static struct ast_node *cleared(struct ast_node *step)
{
	struct ast_node *word = kernel_local(ast_operand(step, 0)), *less = ast_operand(step, 1);
	if (!word || !less)
		return NULL;
	if (step->kind == AST_ASSIGN && less->kind == AST_BINARY && less->op == OP_AND) {
		struct ast_node *left = ast_operand(less, 0), *right = ast_operand(less, 1);
		less = path_equal(left, word) ? right : path_equal(right, word) ? left : NULL;
	} else if (step->kind != AST_COMPOUND_ASSIGN || step->op != OP_AND) {
		return NULL;
	}
	bool right = less && less->kind == AST_BINARY && less->op == OP_SUB && path_equal(ast_operand(less, 0), word) &&
	             kernel_is_constant(ast_operand(less, 1), 1);
	return right ? word : NULL;
}

/* x in `x >>= 1`, `x = x >> 1`, `x /= 2` (shift OP_SHR); in `x <<= 1`, `x *= 2`, `x += x` (OP_SHL). */
static struct ast_node *shifted(struct ast_node *step, enum ast_op shift)
{
	step = ast_strip(step);
	struct ast_node *word = step ? kernel_local(ast_operand(step, 0)) : NULL, *by = step ? ast_operand(step, 1) : NULL;
	if (!word || !by)
		return NULL;
	enum ast_op op = step->op;
	if (step->kind == AST_ASSIGN && by->kind == AST_BINARY) {
		op = by->op;
		if (!path_equal(ast_operand(by, 0), word))
			return NULL;
		by = ast_operand(by, 1);
	} else if (step->kind != AST_COMPOUND_ASSIGN) {
		return NULL;
	}
	bool by_one = op == shift && kernel_is_constant(by, 1);
	bool by_two = op == (shift == OP_SHR ? OP_DIV : OP_MUL) && kernel_is_constant(by, 2);
	bool doubled = shift == OP_SHL && op == OP_ADD && path_equal(by, word);
	return by_one || by_two || doubled ? word : NULL;
}

static bool is_lowest_bit(struct ast_node *node, struct ast_node *word)
{
	node = ast_strip_casts(node);
	return node && node->kind == AST_BINARY && node->op == OP_AND && path_equal(ast_operand(node, 0), word) &&
	       kernel_is_constant(ast_operand(node, 1), 1);
}

/* n in `n += x & 1` and `if (x & 1) n++;`. */
static struct ast_node *counts_lowest(struct ast_node *step, struct ast_node *word)
{
	if (step->kind == AST_COMPOUND_ASSIGN && step->op == OP_ADD && is_lowest_bit(ast_operand(step, 1), word))
		return kernel_local(ast_operand(step, 0));
	if (step->kind != AST_IF || step->otherwise || !is_lowest_bit(kernel_nonzero(step->condition), word) || !step->body)
		return NULL;
	struct ast_node *then = step->body;
	if (then->kind == AST_COMPOUND && then->children.count == 1)
		then = then->children.at[0];
	return kernel_stepped(then, 1) ? kernel_local(ast_operand(ast_strip(then), 0)) : NULL;
}

/* The count's start, where the loop has one. False: it does something else. */
static bool start_of(const struct loop *loop, struct bits *bits)
{
	struct ast_node *value = NULL;
	enum kernel_start start = kernel_started(loop, bits->count->decl, &value);
	bits->starts_at_zero = start == START_OWN && kernel_is_constant(value, 0) && !loop_declares(loop, bits->count->decl);
	return start == START_NONE || bits->starts_at_zero;
}

/* `while (p < n) p *= 2`. */
static bool power_of(const struct loop *loop, const struct ast_node_list *steps, struct bits *bits)
{
	struct ast_node *condition = ast_strip_casts(loop->node->condition);
	if (steps->count != 1 || condition->kind != AST_BINARY || condition->op != OP_LT)
		return false;
	bits->task = TASK_POWER;
	bits->count = kernel_local(ast_operand(condition, 0));
	bits->word = ast_operand(condition, 1);
	struct ast_node *value = NULL;
	return bits->count && bits->word && path_equal(shifted(steps->at[0], OP_SHL), bits->count) &&
	       !path_equal(bits->word, bits->count) && loop_keeps(loop, bits->word) &&
	       kernel_started(loop, bits->count->decl, &value) == START_NONE;
}

static bool bits_of(const struct loop *loop, struct arena *arena, struct bits *bits)
{
	struct ast_node_list steps;
	*bits = (struct bits){0};
	if (!loop->node->condition || !kernel_steps(loop, arena, &steps) || steps.count == 0 || steps.count > 2)
		return false;
	struct ast_node *condition = ast_strip_casts(loop->node->condition), *first = steps.at[0];
	if (power_of(loop, &steps, bits))
		return true;
	*bits = (struct bits){0};
	struct ast_node *second = steps.count > 1 ? steps.at[1] : NULL;
	/* `while (x >>= 1) n++;` */
	bits->word = shifted(condition, OP_SHR);
	if (bits->word && !second && kernel_stepped(first, 1)) {
		bits->task = TASK_LOGARITHM;
		bits->count = kernel_local(ast_operand(ast_strip(first), 0));
		return bits->count && start_of(loop, bits);
	}
	if (!second)
		return false;
	bool above_one = condition->kind == AST_BINARY && condition->op == OP_GT && kernel_is_constant(ast_operand(condition, 1), 1);
	bits->word = kernel_local(above_one ? ast_operand(condition, 0) : kernel_nonzero(condition));
	if (!bits->word)
		return false;
	for (unsigned order = 0; order < 2; order++) {
		struct ast_node *change = order ? first : second, *counting = order ? second : first;
		bool shifts = path_equal(shifted(change, OP_SHR), bits->word);
		if (kernel_stepped(counting, 1))
			bits->count = kernel_local(ast_operand(ast_strip(counting), 0));
		else if (!order && !above_one && shifts) /* the bit is looked at before it is shifted out */
			bits->count = counts_lowest(counting, bits->word);
		else
			continue;
		if (!bits->count)
			continue;
		if (!kernel_stepped(counting, 1))
			bits->task = TASK_COUNT_SHIFTING;
		else if (!above_one && path_equal(cleared(change), bits->word))
			bits->task = TASK_CLEAR_LOWEST;
		else if (shifts)
			bits->task = above_one ? TASK_LOGARITHM : TASK_LENGTH;
		else
			continue;
		bits->ends_at_one = above_one;
		return start_of(loop, bits);
	}
	return false;
}

/* The suffix of the built-in for a word of this type. */
static const char *suffix_of(const struct ast_type *type)
{
	return type->size < 8 ? "" : strstr(type->canonical, "long long") ? "ll" : "l";
}

/* The number that is added to the count. */
static const char *number_of(const struct bits *bits, struct arena *arena)
{
	const char *name = bits->word->name, *suffix = suffix_of(bits->word->type);
	unsigned width = bits->word->type->size < 8 ? 32 : 64;
	switch (bits->task) {
	case TASK_LENGTH:
		return arena_printf(arena, "%s ? %u - __builtin_clz%s(%s) : 0", name, width, suffix, name);
	case TASK_LOGARITHM:
		return arena_printf(arena, "%s ? %u - __builtin_clz%s(%s) : 0", name, width - 1, suffix, name);
	default:
		return arena_printf(arena, "__builtin_popcount%s(%s)", suffix, name);
	}
}

static void put_count(struct kernel_look *look, const struct loop *loop, const struct bits *bits, struct finding *finding)
{
	struct arena *arena = look->sink->arena;
	const char *text = arena_printf(arena, "%s %s %s;", bits->count->name, bits->starts_at_zero ? "=" : "+=",
	                                number_of(bits, arena));
	if (kernel_lives_on(loop, bits->word->decl))
		text = arena_printf(arena, bits->ends_at_one ? "{ %s %s = %s != 0; }" : "{ %s %s = 0; }", text, bits->word->name,
		                    bits->word->name);
	kernel_replace(look, loop, finding, text);
}

static bool is_power_of_two(unsigned long long value)
{
	return value && !(value & (value - 1));
}

/* Only where the power starts as one that stands there, in its declaration or right before the loop. */
static bool starts_as_power(const struct loop *loop, const struct bits *bits)
{
	const struct ast_node *block = loop->node->parent;
	const struct ast_node *decl = bits->count->decl;
	long long value = 0;
	for (size_t i = 1; block && block->kind == AST_COMPOUND && i < block->children.count; i++) {
		if (block->children.at[i] != loop->node)
			continue;
		struct ast_node *before = ast_strip(block->children.at[i - 1]);
		if (before->kind == AST_ASSIGN && kernel_is_local(ast_operand(before, 0), decl))
			return node_constant(ast_operand(before, 1), &value) && is_power_of_two((unsigned long long)value);
		return before->kind == AST_DECL_STMT && node_holds(before, decl) && decl->init && node_constant(decl->init, &value) &&
		       is_power_of_two((unsigned long long)value);
	}
	return false;
}

static bool growth_visit(struct ast_node *node, void *context)
{
	static const char *const words[] = {"grow", "enlarge", "resize", "reserve", "extend", "expand", NULL};
	bool *found = context;
	const char *name = node->kind == AST_CALL ? call_name(node) : NULL;
	*found |= name && (strcasestr(name, "alloc") || name_has_any_word(name, words));
	return !*found;
}

/* The next size of something that is about to be allocated: some turns beside that. */
static bool is_for_growth(const struct loop *loop)
{
	bool found = false;
	ast_walk(loop->function, growth_visit, &found);
	return found;
}

static void power_report(struct kernel_look *look, const struct loop *loop, const struct bits *bits)
{
	struct arena *arena = look->sink->arena;
	const struct ast_type *power = bits->count->type, *limit = bits->word->type;
	long long value;
	if (!is_word(power) || !is_word(limit) || node_constant(bits->word, &value) || is_for_growth(loop) ||
	    loop_heat(loop) != HEAT_HOT)
		return; /* a few turns, of which nothing shows that they are repeated */
	struct finding *finding = finding_new(
	    look->sink, look->unit, &pattern_p12, &loop->node->range, loop->function->name, SEVERITY_LOW,
	    arena_printf(arena, "%s is doubled until it reaches %s: the position of the highest bit gives the power at once",
	                 node_quoted(look->unit, bits->count, arena), node_quoted(look->unit, bits->word, arena)));
	finding->claim = "26 to 0.6 ns for a 64-bit word (gcc -O2, catalogue's own measurement); nothing where it is rare";
	const char *type = kernel_type(power);
	if (power->is_signed || limit->is_signed || power->size != limit->size || !type || !kernel_replaceable(look, loop) ||
	    !starts_as_power(loop, bits) || bits->word->kind != AST_REF) {
		finding->evidence = "advice: __builtin_clz() of the number less one";
		return;
	}
	finding->contract = arena_printf(arena, "%s is at most half of its type's range and one: for more the loop never ends",
	                                 node_quoted(look->unit, bits->word, arena));
	kernel_replace(look, loop, finding,
	               arena_printf(arena, "if (%s < %s) %s = (%s)1 << (%lld - __builtin_clz%s(%s - 1));", bits->count->name,
	                            bits->word->name, bits->count->name, type, power->size * 8, suffix_of(power),
	                            bits->word->name));
}

/* Code without the C library's helper functions: a kernel module, firmware. */
static bool is_freestanding(const struct compile_command *command)
{
	return command_flag(command, "-ffreestanding", "-fhosted", false) || command_flag(command, "-nostdlib", NULL, false) ||
	       command_is_kernel(command);
}

static void count_report(struct kernel_look *look, const struct loop *loop, const struct bits *bits)
{
	struct arena *arena = look->sink->arena;
	bool popcnt = command_has_isa(look->command, ISA_POPCNT), lowest = bits->task == TASK_CLEAR_LOWEST;
	bool narrow = bits->word->type->size == 1;
	struct finding *finding = finding_new(
	    look->sink, look->unit, &pattern_p12, &loop->node->range, loop->function->name,
	    narrow || (popcnt && lowest) ? SEVERITY_LOW : SEVERITY_MEDIUM,
	    arena_printf(arena, lowest ? "the bits of %s are counted one by one: as many steps as bits are set"
	                               : "the bits of %s are counted one by one: as many steps as the word is long",
	                 node_quoted(look->unit, bits->word, arena)));
	if (popcnt && lowest)
		finding->claim = "nothing with gcc 12 and clang 14 or newer, which put the processor's instruction into the loop's "
		                 "place by themselves when the flags allow it, as here; an older compiler: 16 to 0.3 ns for a 64-bit "
		                 "word with half of its bits set";
	else if (popcnt)
		finding->claim = "34 to 0.3 ns for a 64-bit word (gcc -O2 -mpopcnt, catalogue's own measurement): one instruction, "
		                 "and no compiler recognises this form";
	else
		finding->claim = arena_printf(arena, "%s to 1.3 ns for a 64-bit word with half of its bits set (gcc -O2, baseline, "
		                              "catalogue's own measurement); nothing where only one or two bits are set",
		                              lowest ? "16" : "34");
	finding->evidence = popcnt ? "the flags allow popcnt: the built-in is that instruction"
	                           : "the flags give the baseline without popcnt: gcc makes the built-in a call of __popcountdi2 "
	                             "in libgcc, clang some twelve instructions; both still need no loop. -mpopcnt or "
	                             "-march=x86-64-v2 would make it one instruction";
	if (!popcnt && is_freestanding(look->command))
		finding->contract = "libgcc or the kernel has __popcountdi2";
	if (kernel_replaceable(look, loop))
		put_count(look, loop, bits, finding);
}

static void length_report(struct kernel_look *look, const struct loop *loop, const struct bits *bits)
{
	struct arena *arena = look->sink->arena;
	struct finding *finding = finding_new(
	    look->sink, look->unit, &pattern_p12, &loop->node->range, loop->function->name,
	    node_in_loop(loop->node) && bits->word->type->size > 2 && !loop_is_aside(loop) ? SEVERITY_MEDIUM : SEVERITY_LOW,
	    arena_printf(arena, "the highest bit of %s is sought one shift at a time", node_quoted(look->unit, bits->word, arena)));
	finding->claim = bits->ends_at_one
	                     ? "26 to 0.6 ns for a 64-bit word with gcc -O2 (catalogue's own measurement)"
	                     : "26 to 0.6 ns for a 64-bit word with gcc -O2 (catalogue's own measurement); nothing with clang 19, "
	                       "which recognises the loop";
	finding->evidence = command_has_isa(look->command, ISA_LZCNT)
	                        ? "the flags allow lzcnt: the built-in is that instruction"
	                        : "the flags give the baseline without lzcnt: the built-in is bsr, which some processors are slow at; it "
	                          "still needs no loop";
	if (kernel_replaceable(look, loop))
		put_count(look, loop, bits, finding);
}

void kernel_bits_look(struct kernel_look *look, const struct loop *loop)
{
	struct bits bits;
	if (loop->calls.count || loop->has_barrier || loop->has_inner_loop || loop->addressed.count || loop->strlens.count ||
	    !bits_of(loop, look->scratch, &bits))
		return;
	if (bits.task == TASK_POWER) {
		power_report(look, loop, &bits);
		return;
	}
	const struct ast_type *word = bits.word->type, *count = bits.count->type;
	bool whole = kernel_is_unsigned(word) || (bits.task == TASK_CLEAR_LOWEST && is_word(word));
	if (!whole || bits.word->decl == bits.count->decl || (count->kind != TYPE_INT && count->kind != TYPE_CHAR))
		return;
	/* At most as many steps as a word has bits: nothing where it is done once, beside calls that do more. */
	enum heat heat = loop_heat(loop);
	if (heat == HEAT_COLD || heat == HEAT_ONCE || (heat != HEAT_HOT && loop_is_aside(loop)))
		return;
	if (bits.task == TASK_CLEAR_LOWEST || bits.task == TASK_COUNT_SHIFTING)
		count_report(look, loop, &bits);
	else
		length_report(look, loop, &bits);
}
