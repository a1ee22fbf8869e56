/* The checksums of P12: a CRC through one table of 256 entries, a byte at a time.
 *
 * Every step waits for the table's answer to the step before. A CRC is linear, so eight tables, each derived from the
 * first, answer for eight bytes at once ("slicing by 8"), bit for bit the same. The candidate is made where the first
 * table can be seen: it is initialised where it is declared, or one loop of the same file fills it. */
#include "patterns/kernels.h"

#include "base/text.h"

struct step {
	struct ast_node *site;  /* the assignment */
	struct ast_node *crc;   /* its left side */
	struct ast_node *table; /* a name or a member */
	struct ast_node *byte;  /* NULL: mixed in by another statement */
	bool reflected;         /* the lowest bits go first: `crc >> 8` */
};

/* How a loop goes through its bytes, where a candidate can be made. */
enum way { WAY_OTHER, WAY_DOWN, WAY_UP, WAY_TO_END };
struct walk {
	enum way way;
	bool moves;             /* the pointer itself moves; else it is indexed */
	struct ast_node *bytes; /* the pointer */
	struct ast_node *count; /* WAY_DOWN: counts down; WAY_UP: the index; */
	struct ast_node *limit; /* WAY_UP: the number; WAY_TO_END: the end */
};

/* ---- one step ------------------------------------------------------------------------------------------------- */

static bool is_table(const struct ast_node *node)
{
	const struct ast_type *type = node && (node->kind == AST_REF || node->kind == AST_MEMBER) ? node->type : NULL;
	const struct ast_type *element = type ? type->pointee : NULL;
	if (!element || element->kind != TYPE_INT || (element->size != 2 && element->size != 4 && element->size != 8))
		return false;
	return type->kind == TYPE_POINTER || (type->kind == TYPE_ARRAY && type->size == 256 * element->size);
}

/* What an index that is a variable of the loop was set to. */
static struct ast_node *resolved(const struct loop *loop, struct ast_node *index)
{
	if (index->kind != AST_REF || !index->decl || index->decl->kind != AST_VAR)
		return index;
	if (loop_declares(loop, index->decl) && index->decl->init)
		return ast_strip_casts(index->decl->init);
	for (size_t i = 0; i < loop->writes.count; i++)
		if (path_equal(loop->writes.at[i], index) && loop->write_sites.at[i]->kind == AST_ASSIGN)
			return ast_operand(loop->write_sites.at[i], 1);
	return index;
}

/* Whether a node is the byte of the checksum that goes first: `crc`, or `crc >> 24`. */
static bool is_first_byte(struct ast_node *node, const struct step *step)
{
	if (step->reflected)
		return path_equal(node, step->crc);
	return node->kind == AST_BINARY && node->op == OP_SHR && path_equal(ast_operand(node, 0), step->crc) && step->crc->type &&
	       kernel_is_constant(ast_operand(node, 1), step->crc->type->size * 8 - 8);
}

static struct ast_node *unmasked(struct ast_node *node)
{
	if (node && node->kind == AST_BINARY && node->op == OP_AND) {
		if (kernel_is_constant(ast_operand(node, 1), 0xff))
			return ast_operand(node, 0);
		if (kernel_is_constant(ast_operand(node, 0), 0xff))
			return ast_operand(node, 1);
	}
	return node;
}

static bool index_of(const struct loop *loop, struct ast_node *index, struct step *step)
{
	index = unmasked(resolved(loop, index));
	if (!index)
		return false;
	if (index->kind == AST_BINARY && index->op == OP_XOR) {
		struct ast_node *left = unmasked(ast_operand(index, 0)), *right = unmasked(ast_operand(index, 1));
		if (!left || !right)
			return false;
		step->byte = is_first_byte(left, step) ? right : is_first_byte(right, step) ? left : NULL;
		return step->byte && !step->byte->has_value;
	}
	/* `crc ^= *p++;` stands before it. */
	for (size_t i = 0; is_first_byte(index, step) && i < loop->writes.count; i++)
		if (path_equal(loop->writes.at[i], step->crc) && loop->write_sites.at[i]->kind == AST_COMPOUND_ASSIGN &&
		    loop->write_sites.at[i]->op == OP_XOR)
			return true;
	return false;
}

/* The part of the checksum that goes on: `crc >> 8`, also masked. */
static bool shift_of(struct ast_node *node, struct step *step)
{
	long long mask;
	if (node && node->kind == AST_BINARY && node->op == OP_AND && node_constant(ast_operand(node, 1), &mask))
		node = ast_operand(node, 0);
	if (!node || node->kind != AST_BINARY || (node->op != OP_SHR && node->op != OP_SHL) ||
	    !path_equal(ast_operand(node, 0), step->crc) || !kernel_is_constant(ast_operand(node, 1), 8))
		return false;
	step->reflected = node->op == OP_SHR;
	return true;
}

static bool step_of(const struct loop *loop, struct ast_node *site, struct step *step)
{
	struct ast_node *sum = site->kind == AST_ASSIGN ? ast_operand(site, 1) : NULL;
	*step = (struct step){.site = site, .crc = ast_operand(site, 0)};
	if (!sum || sum->kind != AST_BINARY || sum->op != OP_XOR || !step->crc)
		return false;
	for (size_t i = 0; i < 2; i++) {
		struct ast_node *looked_up = ast_operand(sum, i), *rest = ast_operand(sum, 1 - i);
		if (!looked_up || looked_up->kind != AST_SUBSCRIPT || !shift_of(rest, step))
			continue;
		step->table = ast_operand(looked_up, 0);
		struct ast_node *index = ast_operand(looked_up, 1);
		return index && is_table(step->table) && index_of(loop, index, step);
	}
	return false;
}

/* Whether the function has several tables in one already: the byte loop is then the rest of a sliced one. */
static bool sliced_visit(struct ast_node *node, void *context)
{
	struct ast_node *base = node->kind == AST_SUBSCRIPT ? ast_operand(node, 0) : NULL;
	if (base && base->kind == AST_SUBSCRIPT && base->type && base->type->kind == TYPE_ARRAY && base->type->pointee &&
	    base->type->size == 256 * base->type->pointee->size)
		*(bool *)context = true;
	return !*(bool *)context;
}

/* ---- the bytes ------------------------------------------------------------------------------------------------ */

/* `n--`, `n-- > 0`, `n`, `n > 0` with n counted down in the loop. */
static struct ast_node *counted_down(const struct loop *loop, const struct ast_node_list *steps)
{
	struct ast_node *node = kernel_nonzero(loop->node->condition);
	if (!node)
		return NULL;
	if (node->kind == AST_UNARY)
		return node->op == OP_POST_DEC ? kernel_local(ast_operand(node, 0)) : NULL;
	for (size_t i = 0; kernel_local(node) && i < steps->count; i++)
		if (kernel_stepped(steps->at[i], -1) == node->decl)
			return node;
	return NULL;
}

static bool is_bytes(const struct ast_node *pointer)
{
	const struct ast_type *type = pointer ? pointer->type : NULL;
	return type && (type->kind == TYPE_POINTER || type->kind == TYPE_ARRAY) && type->pointee && type->pointee->size == 1 &&
	       !type->pointee->is_volatile;
}

/* The pointer of `*p++`, `*p`, `p[i]`. */
static struct ast_node *byte_pointer(struct ast_node *byte, struct ast_node **ret_index, bool *ret_moves)
{
	*ret_index = NULL;
	*ret_moves = false;
	if (byte->kind == AST_SUBSCRIPT) {
		*ret_index = kernel_local(ast_operand(byte, 1));
		return kernel_local(ast_operand(byte, 0));
	}
	if (byte->kind != AST_UNARY || byte->op != OP_DEREF)
		return NULL;
	struct ast_node *pointer = ast_strip(byte->children.at[0]);
	if (pointer && pointer->kind == AST_UNARY && pointer->op == OP_POST_INC) {
		*ret_moves = true;
		pointer = ast_strip(pointer->children.at[0]);
	}
	return pointer && pointer->kind == AST_REF ? kernel_local(pointer) : NULL;
}

/* How often the loop itself, without its initialisation, writes a variable. */
static unsigned writes_to(const struct loop *loop, const struct ast_node *decl)
{
	unsigned count = 0;
	for (size_t i = 0; i < loop->writes.count; i++)
		if (!(loop->node->init && node_holds(loop->node->init, loop->write_sites.at[i])))
			count += kernel_is_local(loop->writes.at[i], decl);
	return count;
}

static unsigned writes_in_all(const struct loop *loop)
{
	unsigned count = 0;
	for (size_t i = 0; i < loop->writes.count; i++)
		count += !(loop->node->init && node_holds(loop->node->init, loop->write_sites.at[i]));
	return count;
}

static bool steps_by_one(const struct ast_node_list *steps, const struct ast_node *decl)
{
	for (size_t i = 0; i < steps->count; i++)
		if (kernel_stepped(steps->at[i], 1) == decl)
			return true;
	return false;
}

/* The loop does nothing but the step and its own bookkeeping. */
static struct walk walk_of(const struct loop *loop, const struct step *step, struct arena *arena)
{
	struct walk walk = {0};
	struct ast_node_list steps;
	struct ast_node *index, *value = NULL, *condition = ast_strip(loop->node->condition);
	if (!step->byte || !condition || loop->has_branch || loop->has_inner_loop || loop->has_barrier || loop->calls.count ||
	    loop->strlens.count || !kernel_steps(loop, arena, &steps))
		return walk;
	walk.bytes = byte_pointer(step->byte, &index, &walk.moves);
	if (!is_bytes(walk.bytes) || !kernel_local(step->crc))
		return walk;
	if (!index && !walk.moves)
		walk.moves = steps_by_one(&steps, walk.bytes->decl);
	unsigned expected = 1 + walk.moves;
	if (writes_to(loop, step->crc->decl) != 1 || writes_to(loop, walk.bytes->decl) != walk.moves || (!walk.moves && !index))
		return walk;
	enum ast_op op = condition->kind == AST_BINARY ? condition->op : OP_NONE;
	struct ast_node *left = op != OP_NONE ? kernel_local(ast_operand(condition, 0)) : NULL;
	struct ast_node *right = op != OP_NONE ? ast_operand(condition, 1) : NULL;
	enum way way = WAY_OTHER;
	if (walk.moves && left && left->decl == walk.bytes->decl && (op == OP_LT || op == OP_NE) && kernel_local(right) &&
	    loop_keeps(loop, right) && is_bytes(right)) {
		walk.limit = right;
		way = WAY_TO_END;
	} else if (walk.moves && (walk.count = counted_down(loop, &steps))) {
		way = WAY_DOWN;
	} else if (left && kernel_started(loop, left->decl, &value) == START_OWN && (op == OP_LT || op == OP_NE) &&
	           value->kind == AST_INT && node_is_zero(value) && loop_keeps(loop, right) && (kernel_local(right) || right->kind == AST_MEMBER) &&
	           (!index || index->decl == left->decl) && left->type->size >= 4 && steps_by_one(&steps, left->decl)) {
		walk.count = left;
		walk.limit = right;
		way = WAY_UP;
	}
	if (way == WAY_DOWN || way == WAY_UP)
		expected += writes_to(loop, walk.count->decl) == 1 ? 1 : 100;
	/* What is put before the loop comes before its initialisation, too. */
	if (way != WAY_UP && kernel_started(loop, walk.bytes->decl, &value) != START_NONE)
		way = WAY_OTHER;
	walk.way = writes_in_all(loop) == expected ? way : WAY_OTHER;
	return walk;
}

/* ---- the table ------------------------------------------------------------------------------------------------ */

/* Whether its values, as they stand there, are those of a CRC: the entry of a ^ b is that of a ^ that of b. */
static bool is_linear(const struct ast_node *table)
{
	struct ast_node *list = ast_strip_casts(table->init);
	long long values[256];
	if (!list || list->kind != AST_INIT_LIST || list->children.count != 256)
		return false;
	for (unsigned i = 0; i < 256; i++)
		if (!node_constant(list->children.at[i], &values[i]))
			return false;
	for (unsigned i = 0; i < 256; i++) {
		long long sum = 0;
		for (unsigned bit = 1; bit < 256; bit <<= 1)
			sum ^= i & bit ? values[bit] : 0;
		if (sum != values[i])
			return false;
	}
	return values[1] != 0 && values[128] != 0;
}

/* CRC-32C, bits reflected: the one that SSE4.2 and ARMv8 have an instruction for. */
#define CASTAGNOLI 0x82f63b78

static bool castagnoli_visit(struct ast_node *node, void *context)
{
	*(bool *)context |= node->kind == AST_INT && node->has_value && (node->value & 0xffffffff) == CASTAGNOLI;
	return !*(bool *)context;
}

/* Whether the table is that of CRC-32C: entry 128 is the polynomial, or the code that fills it names it. */
static bool is_castagnoli(const struct step *step, const struct ast_node *table, const struct loop *filled_by)
{
	struct ast_node *list = table->init ? ast_strip_casts(table->init) : NULL;
	long long entry;
	bool found = false;
	if (!step->reflected || step->table->type->pointee->size != 4)
		return false;
	if (list && list->kind == AST_INIT_LIST && list->children.count == 256)
		return node_constant(list->children.at[128], &entry) && (entry & 0xffffffff) == CASTAGNOLI;
	if (filled_by)
		ast_walk(filled_by->function, castagnoli_visit, &found);
	return found;
}

struct filling {
	const struct ast_node *table;
	struct loop *loop; /* the loop that fills it */
	unsigned others;   /* writes elsewhere */
};

static void filling_visit(struct loop *loop, void *context)
{
	struct filling *filling = context;
	for (size_t i = 0; i < loop->writes.count; i++) {
		struct ast_node *write = loop->writes.at[i];
		struct ast_node *base = write->kind == AST_SUBSCRIPT ? ast_operand(write, 0) : NULL;
		if (!base || base->kind != AST_REF || base->decl != filling->table || !kernel_innermost(loop, write))
			continue;
		if (filling->loop || loop->node->kind != AST_FOR || loop_bound(loop) != 256 ||
		    !path_equal(ast_operand(write, 1), ast_operand(ast_strip_casts(loop->node->condition), 0)) ||
		    !loop_always(loop, loop->write_sites.at[i]))
			filling->others++;
		else
			filling->loop = loop;
	}
}

static bool name_stands_in(const struct ast_unit *unit, const char *name)
{
	size_t size;
	const char *text = ast_file_text(unit, unit->main_file, &size);
	return !text || memmem(text, size, name, strlen(name)) != NULL;
}

/* ---- the candidate -------------------------------------------------------------------------------------------- */

struct slicing {
	const char *type, *table, *slices, *derive; /* names */
	unsigned bits;
};

static const char *tables_text(struct arena *arena, const struct slicing *names, bool reflected, bool at_start)
{
	const char *next = reflected ? arena_printf(arena, "(crc >> 8) ^ %s[crc & 0xff]", names->table)
	                             : arena_printf(arena, "(crc << 8) ^ %s[(crc >> %u) & 0xff]", names->table, names->bits - 8);
	return arena_printf(arena,
	                    "\n\n/* [k][i]: what byte i comes to when k more bytes have gone by. */\n"
	                    "static %s %s[8][256];\n\n"
	                    "static %svoid %s(void)\n{\n"
	                    "\tunsigned i, k;\n\n"
	                    "\tfor (i = 0; i < 256; i++) {\n"
	                    "\t\t%s crc = %s[i];\n\n"
	                    "\t\t%s[0][i] = crc;\n"
	                    "\t\tfor (k = 1; k < 8; k++) {\n"
	                    "\t\t\tcrc = %s;\n"
	                    "\t\t\t%s[k][i] = crc;\n"
	                    "\t\t}\n\t}\n}",
	                    names->type, names->slices, at_start ? "__attribute__((constructor)) " : "", names->derive, names->type,
	                    names->table, names->slices, next, names->slices);
}

/* One line for each byte. */
static void push_terms(const struct slicing *names, const struct step *step, const struct walk *walk, const char *at,
                       struct arena *arena, struct string_list *lines)
{
	const char *crc = step->crc->name;
	unsigned width = names->bits / 8;
	for (unsigned j = 0; j < 8; j++) {
		const char *byte = at ? arena_printf(arena, "%s[%s + %u]", walk->bytes->name, at, j)
		                      : arena_printf(arena, "%s[%u]", walk->bytes->name, j);
		unsigned shift = step->reflected ? 8 * j : names->bits - 8 - 8 * j;
		const char *index = j >= width ? byte
		                    : shift    ? arena_printf(arena, "(%s ^ (%s >> %u))", byte, crc, shift)
		                               : arena_printf(arena, "(%s ^ %s)", byte, crc);
		list_push(arena, lines,
		          arena_printf(arena, "\t%s%s[%u][%s & 0xff]%s", j ? "      " : arena_printf(arena, "%s = ", crc), names->slices,
		                       7 - j, index, j < 7 ? " ^" : ";"));
	}
}

static bool put_loop(struct kernel_look *look, const struct loop *loop, const struct step *step, const struct walk *walk,
                     const struct slicing *names, struct finding *finding)
{
	struct arena *arena = look->sink->arena;
	struct string_list lines = {0};
	const char *bytes = walk->bytes->name, *at = NULL;
	if (walk->way == WAY_UP) {
		struct ast_node *value = NULL;
		kernel_started(loop, walk->count->decl, &value);
		const char *type = kernel_type(walk->count->type), *limit = ast_text(look->unit, &walk->limit->range);
		at = free_name(loop, arena, "sliced");
		if (!at || !type || !limit || value->range.in_macro || walk->limit->range.in_macro)
			return false;
		list_push(arena, &lines, arena_printf(arena, "%s %s;", type, at));
		list_push(arena, &lines, arena_printf(arena, "for (%s = 0; %s - %s >= 8; %s += 8%s)", at, limit, at, at,
		                                      walk->moves ? arena_printf(arena, ", %s += 8", bytes) : ""));
		finding_edit(look->sink, finding, value->range.offset, value->range.end_offset - value->range.offset, at);
	} else if (walk->way == WAY_DOWN) {
		const char *count = walk->count->name;
		list_push(arena, &lines, arena_printf(arena, "for (; %s >= 8; %s -= 8, %s += 8)", count, count, bytes));
	} else {
		list_push(arena, &lines, arena_printf(arena, "for (; %s - %s >= 8; %s += 8)", walk->limit->name, bytes, bytes));
	}
	push_terms(names, step, walk, walk->moves ? NULL : at, arena, &lines);
	loop_declare(loop, look->sink, finding, &lines);
	return true;
}

/* Why there is no candidate, or NULL: there is one. */
static const char *put_candidate(struct kernel_look *look, const struct loop *loop, const struct step *step,
                                 struct finding *finding)
{
	struct arena *arena = look->sink->arena;
	struct walk walk = walk_of(loop, step, look->scratch);
	const struct ast_node *table = step->table->kind == AST_REF ? step->table->decl : NULL;
	const struct ast_type *crc = step->crc->type;
	if (walk.way == WAY_OTHER)
		return "the loop does more than this, or its length isn't counted";
	if (!table || table->kind != AST_VAR || !table->type || table->type->kind != TYPE_ARRAY || !table->range.file ||
	    !text_equal(table->range.file, loop->node->range.file))
		return "the table stands in another file, or is only pointed to";
	struct ast_node *list = table->init ? ast_strip_casts(table->init) : NULL;
	bool initialised = list && list->kind == AST_INIT_LIST && list->children.count == 256;
	struct filling filling = {.table = table};
	loops_visit(look->unit, look->scratch, filling_visit, &filling);
	if (ast_above(table, AST_FUNCTION) || !kernel_is_unsigned(crc) || crc->size < 2 || crc->size < table->type->pointee->size ||
	    (!step->reflected && crc->size != table->type->pointee->size))
		return "the checksum's type or the table's place does not allow it";
	if (is_castagnoli(step, table, filling.loop))
		finding->evidence =
		    command_has_isa(look->command, ISA_SSE4_2)
		        ? "this is CRC-32C, and the flags allow SSE4.2, which has an instruction for it: _mm_crc32_u64() takes eight bytes "
		          "in three cycles, faster than any tables"
		        : "this is CRC-32C, for which SSE4.2 has an instruction: where the processor has it (a function of target(\"sse4.2\") "
		          "behind __builtin_cpu_supports), _mm_crc32_u64() takes eight bytes in three cycles";
	if (initialised ? !is_linear(table) || filling.loop || filling.others
	                : !filling.loop || filling.others || !ref_is_sealed(look->unit, step->table))
		return initialised ? "the table is not plainly that of a CRC" : "the table is not filled by one loop of this file";
	for (size_t i = 0; i < look->sliced.count; i++)
		if (look->sliced.at[i] == table)
			return "the candidate of the loop before, which uses the same table, brings the tables";
	struct slicing names = {.type = kernel_type(crc), .table = table->name, .bits = (unsigned)crc->size * 8};
	names.slices = arena_printf(arena, "%s_slices", table->name);
	names.derive = arena_printf(arena, "%s_slice", table->name);
	size_t place = table->range.edge_in_macro ? 0 : statement_end(look->unit, table);
	if (!names.type || !place || !loop_takes_declaration(loop) || name_stands_in(look->unit, names.derive) ||
	    loop->node->range.in_macro || command_is_kernel(look->command))
		return "macros or the kernel's start-up are in its way";
	if (!initialised) {
		struct string_list calls = {0};
		list_push(arena, &calls, arena_printf(arena, "%s();", names.derive));
		if (!loop_takes_declaration(filling.loop) || !loop_append(filling.loop, look->sink, finding, &calls))
			return "macros are in its way";
	}
	if (!put_loop(look, loop, step, &walk, &names, finding)) {
		finding->edits.count = 0;
		return "macros are in its way";
	}
	finding_edit(look->sink, finding, place, 0, tables_text(arena, &names, step->reflected, initialised));
	finding->contract =
	    initialised ? "nothing takes this checksum before the program's constructors have run"
	                : arena_printf(arena, "what %s() fills in is the table of a CRC: its entry for a ^ b is that of a ^ that of b",
	                               filling.loop->function->name);
	list_push(arena, &look->sliced, (struct ast_node *)table);
	return NULL;
}

void kernel_crc_look(struct kernel_look *look, const struct loop *loop)
{
	struct arena *arena = look->sink->arena;
	struct step step;
	size_t found = 0;
	for (; found < loop->write_sites.count; found++)
		if (kernel_innermost(loop, loop->write_sites.at[found]) && step_of(loop, loop->write_sites.at[found], &step))
			break;
	bool sliced = false;
	if (found < loop->write_sites.count)
		ast_walk(loop->function, sliced_visit, &sliced);
	if (found == loop->write_sites.count || sliced)
		return;
	long long bound = loop_bound(loop);
	bool is_short = bound >= 0 && bound <= 16;
	bool string = loop->node->condition && kernel_nonzero(loop->node->condition) &&
	              kernel_nonzero(loop->node->condition)->kind == AST_UNARY && kernel_nonzero(loop->node->condition)->op == OP_DEREF;
	struct finding *finding = finding_new(
	    look->sink, look->unit, &pattern_p12, &step.site->range, loop->function->name,
	    string || is_short ? SEVERITY_LOW : SEVERITY_MEDIUM,
	    arena_printf(arena, "a CRC of %lld bits is taken a byte at a time: each step waits for the table's answer to the one before",
	                 step.table->type->pointee->size * 8));
	finding->claim = "2.1 to 0.5 ns for a byte (gcc -O2, 64 bits, 8 KiB in cache, catalogue's own measurement); nothing for keys of a "
	                 "few bytes";
	const char *why = put_candidate(look, loop, &step, finding);
	if (why)
		finding->evidence = arena_printf(arena, "%s%sadvice: slicing by 8 with tables derived from %s; no candidate, since %s",
		                                 finding->evidence ? finding->evidence : "", finding->evidence ? "; " : "",
		                                 node_quoted(look->unit, step.table, arena), why);
}
