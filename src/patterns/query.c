#include "patterns/query.h"

#include "base/text.h"

const char *unit_relative(const struct ast_unit *unit, const char *file)
{
	const char *relative = path_under(file, unit->tree);
	return relative ? relative : file;
}

struct finding *finding_new_at(struct pattern_sink *sink, const struct pattern *pattern, const char *file, unsigned line,
                               unsigned column, const char *symbol, enum severity severity, const char *message)
{
	struct finding *finding = arena_new(sink->arena, struct finding);
	finding->pattern = pattern->id;
	finding->kind = FINDING_ANTIPATTERN;
	finding->file = arena_strdup(sink->arena, file);
	finding->line = line;
	finding->column = column;
	finding->symbol = arena_strdup(sink->arena, symbol ? symbol : "");
	finding->tier = pattern->tier;
	finding->severity = severity;
	finding->message = arena_strdup(sink->arena, message);
	finding->claim = pattern->expected;
	list_push(sink->arena, &sink->findings, finding);
	return finding;
}

struct finding *finding_new(struct pattern_sink *sink, const struct ast_unit *unit, const struct pattern *pattern,
                            const struct ast_range *range, const char *symbol, enum severity severity,
                            const char *message)
{
	return finding_new_at(sink, pattern, unit_relative(unit, range->file), range->line, range->column, symbol, severity,
	                      message);
}

struct fact *fact_add(struct pattern_sink *sink, const struct ast_unit *unit, const struct pattern *pattern,
                      const char *name, const char *value, const struct ast_range *range, const char *symbol)
{
	struct fact fact = {.pattern = pattern->id, .name = arena_strdup(sink->arena, name),
	                    .value = arena_strdup(sink->arena, value), .symbol = arena_strdup(sink->arena, symbol)};
	if (range && range->file) {
		fact.file = arena_strdup(sink->arena, unit_relative(unit, range->file));
		fact.line = range->line;
		fact.column = range->column;
	}
	list_push(sink->arena, &sink->facts, fact);
	return &sink->facts.at[sink->facts.count - 1];
}

void finding_edit(struct pattern_sink *sink, struct finding *finding, size_t offset, size_t length, const char *text)
{
	struct edit edit = {.file = finding->file, .offset = offset, .length = length,
	                    .text = arena_strdup(sink->arena, text)};
	list_push(sink->arena, &finding->edits, edit);
}

bool command_flag(const struct compile_command *command, const char *on, const char *off, bool fallback)
{
	bool value = fallback;
	for (size_t i = 0; i < command->argv.count; i++) {
		if (text_equal(command->argv.at[i], on))
			value = true;
		else if (off && text_equal(command->argv.at[i], off))
			value = false;
	}
	return value;
}

const char *command_standard(const struct compile_command *command)
{
	const char *standard = NULL;
	for (size_t i = 0; i < command->argv.count; i++) {
		const char *word = command->argv.at[i];
		if (text_equal(word, "-ansi"))
			standard = "c90";
		else if (text_starts(word, "-std="))
			standard = word + 5;
	}
	return standard;
}

bool command_vectorises(const struct compile_command *command)
{
	bool clang = command->argv.count && strstr(path_base(command->argv.at[0]), "clang");
	const char *level = "";
	for (size_t i = 0; i < command->argv.count; i++)
		if (text_starts(command->argv.at[i], "-O"))
			level = command->argv.at[i] + 2;
	return text_equal(level, "3") || text_equal(level, "fast") || (clang && (text_equal(level, "2") || text_equal(level, "s")));
}

/* Whether the last word on a macro defines it: -DX, -DX=1, -D X; -UX takes it back. */
static bool command_defines(const struct compile_command *command, const char *macro)
{
	bool defined = false;
	for (size_t i = 1; i < command->argv.count; i++) {
		const char *word = command->argv.at[i];
		if (!text_starts(word, "-D") && !text_starts(word, "-U"))
			continue;
		const char *name = word[2] || i + 1 == command->argv.count ? word + 2 : command->argv.at[i + 1];
		if (strlen(macro) == strcspn(name, "=") && text_starts(name, macro))
			defined = word[1] == 'D';
	}
	return defined;
}

bool command_is_kernel(const struct compile_command *command)
{
	return command_defines(command, "__KERNEL__") || command_defines(command, "_KERNEL") ||
	       command_flag(command, "-mcmodel=kernel", NULL, false) || command_flag(command, "-mno-red-zone", "-mred-zone", false);
}

/* The level of x86-64 (1 to 4) that a processor's name after -march= stands for; 0: another architecture's. */
static int processor_level(const char *name)
{
	static const char *const others[] = {"arm", "rv", "mips", "power", "loongarch", "z1", NULL};
	static const struct {
		int level;
		const char *names[20];
	} levels[] = {
	    {1, {"x86-64", "k8", "opteron", "athlon64", "athlon-fx", "k8-sse3", "nocona", "core2", "atom", "bonnell", "i686",
	         "pentium4", "prescott", NULL}},
	    {2, {"x86-64-v2", "nehalem", "corei7", "westmere", "sandybridge", "corei7-avx", "ivybridge", "core-avx-i", "silvermont",
	         "goldmont", "goldmont-plus", "tremont", "barcelona", "amdfam10", "btver1", "btver2", "bdver1", "bdver2", "bdver3",
	         NULL}},
	    {3, {"x86-64-v3", "haswell", "core-avx2", "broadwell", "skylake", "alderlake", "raptorlake", "bdver4", "znver1",
	         "znver2", "znver3", NULL}},
	};
	if (text_starts_with_one_of(name, others))
		return 0;
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		if (text_is_one_of(name, levels[i].names))
			return levels[i].level;
	return 4; /* native, and what is newer than this list */
}

bool command_has_isa(const struct compile_command *command, enum isa isa)
{
	static const struct {
		int level;            /* of x86-64, that has it */
		const char *on[6];    /* beginnings */
		const char *off[3];
	} extensions[] = {
	    [ISA_POPCNT] = {2, {"-mpopcnt", "-mabm", "-msse4.2", "-msse4", "-mavx", NULL}, {"-mno-popcnt", NULL}},
	    [ISA_LZCNT] = {3, {"-mlzcnt", "-mabm", NULL}, {"-mno-lzcnt", "-mno-abm", NULL}},
	    [ISA_SSE4_2] = {2, {"-msse4.2", "-msse4", "-mavx", NULL}, {"-mno-sse4", "-mno-sse4.2", NULL}},
	    [ISA_AVX2] = {3, {"-mavx2", "-mavx512", NULL}, {"-mno-avx2", "-mno-avx", NULL}},
	};
	bool has = false;
	for (size_t i = 0; i < command->argv.count; i++) {
		const char *word = command->argv.at[i];
		if (text_starts(word, "-march="))
			has = processor_level(word + 7) >= extensions[isa].level;
		else if (text_is_one_of(word, extensions[isa].off))
			has = false;
		else if (!text_equal(word, "-msse4.1") && text_starts_with_one_of(word, extensions[isa].on))
			has = true;
	}
	return has;
}

/* ---- expressions ------------------------------------------------------------------------------------------- */

bool node_is_increment(const struct ast_node *node)
{
	return node->kind == AST_UNARY && (node->op == OP_PRE_INC || node->op == OP_PRE_DEC || node->op == OP_POST_INC ||
	                                   node->op == OP_POST_DEC);
}

static bool effect_visit(struct ast_node *node, void *context)
{
	*(bool *)context |= node->kind == AST_ASSIGN || node->kind == AST_COMPOUND_ASSIGN || node->kind == AST_CALL ||
	                    node->kind == AST_STMT_EXPR || node->kind == AST_ATOMIC || node_is_increment(node) ||
	                    (node->type && node->type->is_volatile);
	return !*(bool *)context;
}

bool node_has_effect(struct ast_node *node)
{
	bool found = false;
	ast_walk(node, effect_visit, &found);
	return found;
}

bool node_is_zero(struct ast_node *node)
{
	node = ast_strip_casts(node);
	return node && (node->kind == AST_CHAR || node->kind == AST_INT) && node->has_value && node->value == 0;
}

const char *node_text(const struct ast_unit *unit, const struct ast_node *node, struct arena *arena)
{
	/* Inside a macro the range is cut anywhere: only a text whose parentheses close is an expression. */
	const char *text = node->range.file ? ast_text(unit, &node->range) : NULL;
	int depth = 0, lowest = 0;
	for (const char *c = text; c && *c; c++) {
		depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
		lowest = depth < lowest ? depth : lowest;
	}
	if (text && *text && strlen(text) <= 60 && !strchr(text, '\n') && depth == 0 && lowest == 0 &&
	    !(node->kind == AST_MEMBER && text_equal(text, node->name)))
		return arena_strdup(arena, text);
	if (node->kind == AST_MEMBER && node->name)
		return arena_printf(arena, "…%s%s", node->arrow ? "->" : ".", node->name);
	return node->name ? arena_strdup(arena, node->name) : "…";
}

const char *node_quoted(const struct ast_unit *unit, const struct ast_node *node, struct arena *arena)
{
	return arena_printf(arena, "`%s`", node_text(unit, node, arena));
}

bool path_equal(struct ast_node *a, struct ast_node *b)
{
	a = ast_strip_casts(a);
	b = ast_strip_casts(b);
	if (!a || !b || a->kind != b->kind)
		return false;
	switch (a->kind) {
	case AST_REF:
		return a->decl ? a->decl == b->decl : !b->decl && a->name && text_equal(a->name, b->name);
	case AST_MEMBER:
		return a->arrow == b->arrow && a->decl == b->decl && text_equal(a->name, b->name) &&
		       path_equal(ast_child(a, 0), ast_child(b, 0));
	case AST_SUBSCRIPT:
		return path_equal(ast_child(a, 0), ast_child(b, 0)) && path_equal(ast_child(a, 1), ast_child(b, 1));
	case AST_UNARY:
		return a->op == b->op && !node_is_increment(a) && path_equal(ast_child(a, 0), ast_child(b, 0));
	case AST_BINARY:
		return a->op == b->op && path_equal(ast_child(a, 0), ast_child(b, 0)) && path_equal(ast_child(a, 1), ast_child(b, 1));
	case AST_INT:
	case AST_CHAR:
		return a->has_value && b->has_value && a->value == b->value;
	default:
		return false;
	}
}

static bool is_address_type(const struct ast_type *type)
{
	return type && (type->kind == TYPE_POINTER || type->kind == TYPE_ARRAY);
}

struct ast_node *pointer_root(struct ast_node *expression)
{
	for (struct ast_node *node = ast_strip_casts(expression); node;) {
		if (node->kind == AST_UNARY && (node_is_increment(node) || node->op == OP_PLUS)) {
			node = ast_operand(node, 0);
		} else if (node->kind == AST_UNARY && node->op == OP_ADDRESS) {
			struct access access = access_of(ast_child(node, 0));
			if (!access.pointer)
				return access.object;
			node = ast_strip_casts(access.pointer);
		} else if (node->kind == AST_BINARY && (node->op == OP_ADD || node->op == OP_SUB)) {
			struct ast_node *left = ast_operand(node, 0), *right = ast_operand(node, 1);
			node = left && !is_address_type(left->type) && right && is_address_type(right->type) ? right : left;
		} else if (node->kind == AST_BINARY && node->op == OP_COMMA) {
			node = ast_operand(node, 1);
		} else {
			return node;
		}
	}
	return NULL;
}

struct access access_of(struct ast_node *lvalue)
{
	struct access access = {0};
	for (struct ast_node *node = ast_strip_casts(lvalue); node;) {
		struct ast_node *base = ast_operand(node, 0);
		if (node->kind == AST_REF) {
			access.object = node;
			return access;
		}
		if (!base)
			return access;
		if (node->kind == AST_MEMBER && !node->arrow) {
			node = base;
		} else if (node->kind == AST_MEMBER || (node->kind == AST_UNARY && node->op == OP_DEREF) ||
		           (node->kind == AST_SUBSCRIPT && (!base->type || base->type->kind != TYPE_ARRAY))) {
			if (node->kind == AST_SUBSCRIPT && base->type && base->type->kind != TYPE_POINTER) {
				struct ast_node *other = ast_operand(node, 1); /* 2[p] */
				if (other && is_address_type(other->type))
					base = other;
			}
			if (node->kind == AST_UNARY && base->type && base->type->kind == TYPE_ARRAY) {
				node = base; /* *array */
				continue;
			}
			/* A cast says with which type it is accessed: ((uint8_t *)p)[i]. */
			struct ast_node *cast = ast_strip(ast_child(node, 0));
			const struct ast_type *type = cast->type && cast->type->pointee ? cast->type : base->type;
			access.pointer = base;
			access.pointee = type && type->pointee ? type->pointee : node->kind == AST_MEMBER ? NULL : node->type;
			return access;
		} else if (node->kind == AST_SUBSCRIPT) {
			node = base;
		} else {
			return access;
		}
	}
	return access;
}

/* A variable of automatic storage. */
static bool is_local(const struct ast_node *ref)
{
	return ref && ref->kind == AST_REF && !ref->is_global && ref->decl &&
	       (ref->decl->kind == AST_VAR || ref->decl->kind == AST_PARAM) && !ref->decl->is_global;
}

bool access_is_private(const struct access *access)
{
	static const char *const fresh[] = {"malloc", "calloc", "alloca", "__builtin_alloca", NULL};
	if (access->object)
		return is_local(access->object);
	struct ast_node *root = access->pointer ? pointer_root(access->pointer) : NULL;
	if (!root || root->kind != AST_REF || !root->decl)
		return false;
	const struct ast_type *type = root->decl->type;
	if (type && type->is_restrict)
		return true;
	if (!is_local(root))
		return false;
	if (root->decl->kind == AST_VAR && type && type->kind == TYPE_ARRAY)
		return true;
	struct ast_node *init = root->decl->kind == AST_VAR ? ast_strip_casts(root->decl->init) : NULL;
	if (!init)
		return false;
	if (init->kind == AST_CALL && call_is(init, fresh))
		return true;
	struct ast_node *from = pointer_root(init);
	return is_local(from) && from->decl->kind == AST_VAR && from->decl->type &&
	       (from->decl->type->kind == TYPE_ARRAY ||
	        (init->kind == AST_UNARY && init->op == OP_ADDRESS && from->decl->type->kind != TYPE_POINTER));
}

struct address_search {
	const struct ast_node *decl;
	bool taken;
};

static bool address_visit(struct ast_node *node, void *context)
{
	struct address_search *search = context;
	if (node->kind == AST_UNARY && node->op == OP_ADDRESS && node->children.count) {
		struct access access = access_of(node->children.at[0]);
		if (access.object && access.object->decl == search->decl)
			search->taken = true;
	}
	return !search->taken;
}

bool ref_is_sealed(const struct ast_unit *unit, const struct ast_node *ref)
{
	const struct ast_node *decl = ref->decl;
	const char *text = decl && decl->range.file ? ast_text(unit, &decl->range) : NULL;
	if (!text || !text_starts(text, "static "))
		return false;
	struct address_search search = {.decl = decl};
	for (size_t i = 0; i < unit->top.count && !search.taken; i++)
		ast_walk(unit->top.at[i], address_visit, &search);
	return !search.taken;
}

bool node_is_replaceable(const struct ast_unit *unit, const struct ast_node *node)
{
	const struct ast_range *range = &node->range;
	if (!range->file || !range->in_tree)
		return false;
	if (!range->edge_in_macro)
		return true;
	bool atomic = false;
	for (size_t i = 0; i < unit->expansions.count; i++) {
		const struct ast_expansion *expansion = &unit->expansions.at[i];
		const struct ast_range *other = &expansion->range;
		if (!text_equal(other->file, range->file) || other->end_offset <= range->offset || range->end_offset <= other->offset)
			continue;
		if (other->offset < range->offset || range->end_offset < other->end_offset)
			return false; /* inside of another macro's arguments */
		if (other->offset == range->offset && text_starts(expansion->name, "atomic_"))
			atomic = true; /* with its arguments, or the name alone */
		else if (other->offset == range->offset || other->end_offset == range->end_offset)
			return false;
	}
	return atomic;
}

struct search {
	const struct ast_node *node;
	struct ast_node *path;
	bool found;
};

static bool search_visit(struct ast_node *node, void *context)
{
	struct search *search = context;
	if (search->node ? node == search->node : path_equal(node, search->path))
		search->found = true;
	return !search->found;
}

bool node_holds(struct ast_node *node, const struct ast_node *other)
{
	struct search search = {.node = other};
	if (node && other)
		ast_walk(node, search_visit, &search);
	return search.found;
}

bool node_mentions(struct ast_node *node, struct ast_node *path)
{
	struct search search = {.path = path};
	if (node && path)
		ast_walk(node, search_visit, &search);
	return search.found;
}

/* ---- calls ------------------------------------------------------------------------------------------------- */

const char *call_name(const struct ast_node *call)
{
	if (call->decl)
		return call->decl->name;
	struct ast_node *callee = ast_operand(call, 0);
	return callee && callee->kind == AST_REF ? callee->name : call->name;
}

bool call_is(const struct ast_node *call, const char *const *names)
{
	const char *name = call_name(call);
	for (; name && *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

struct ast_node *call_argument(const struct ast_node *call, size_t index)
{
	return ast_child(call, index + 1);
}

struct purity {
	unsigned depth;
	bool pure;
};

static bool call_pure_at(const struct ast_node *call, unsigned depth);

static bool purity_visit(struct ast_node *node, void *context)
{
	struct purity *purity = context;
	struct ast_node *written = NULL;
	if (node->kind == AST_ASM || node->kind == AST_ATOMIC || (node->type && (node->type->is_volatile || node->type->is_atomic)))
		purity->pure = false;
	else if (node->kind == AST_CALL)
		purity->pure &= call_pure_at(node, purity->depth + 1);
	else if (node->kind == AST_ASSIGN || node->kind == AST_COMPOUND_ASSIGN || node_is_increment(node))
		written = ast_child(node, 0);
	if (written) {
		struct access access = access_of(written);
		purity->pure &= access.object && is_local(access.object);
	}
	return purity->pure;
}

static bool call_pure_at(const struct ast_node *call, unsigned depth)
{
	static const char *const pure[] = {
	    "isalnum", "isalpha", "isascii", "isblank", "iscntrl", "isdigit", "isgraph", "islower", "isprint", "ispunct",
	    "isspace", "isupper", "isxdigit", "tolower", "toupper", "toascii", "__ctype_b_loc", "__ctype_tolower_loc",
	    "__ctype_toupper_loc", "__tolower", "__toupper", "__isctype", "abs", "labs", "llabs", "strlen", "strchr",
	    "strrchr", "strcmp", "strncmp", "strcasecmp", "strncasecmp", "memcmp", "memchr", "strstr", "strspn", "strcspn",
	    "strnlen", "sqrt", "fabs", "sqrtf", "fabsf", "ntohl", "ntohs", "htonl", "htons",
	    NULL};
	static const char *const builtins[] = {
	    "bswap", "expect", "popcount", "clz", "ctz", "ffs", "parity", "constant_p", "prefetch", "object_size", "abs",
	    "labs", "llabs", "unreachable", "assume", "strlen", "memcmp", "strcmp", "isnan", "isinf", "fabs", "sqrt", NULL};
	const char *name = call_name(call);
	if (!name)
		return false;
	if (call_is(call, pure))
		return true;
	if (text_starts(name, "__builtin_")) {
		for (size_t i = 0; builtins[i]; i++)
			if (text_starts(name + 10, builtins[i]))
				return true;
		return false;
	}
	struct ast_node *definition = depth < 3 ? call->decl : NULL;
	if (!definition || !definition->body)
		return false;
	struct purity purity = {.depth = depth, .pure = true};
	ast_walk(definition->body, purity_visit, &purity);
	return purity.pure;
}

bool call_is_pure(const struct ast_node *call)
{
	return call_pure_at(call, 0);
}

/* ---- atomics ----------------------------------------------------------------------------------------------- */

static struct atomic atomic_builtin(struct ast_node *node)
{
	struct atomic atomic = {.kind = ATOMIC_OTHER, .style = ATOMIC_BUILTIN, .pointer = ast_child(node, 0)};
	const char *name = node->name;
	if (text_starts(name, "__c11_"))
		atomic.style = ATOMIC_C11;
	const char *operation = strstr(name, "atomic_") + strlen("atomic_");
	if (text_starts(operation, "fetch_add") || text_starts(operation, "add_fetch"))
		atomic.kind = ATOMIC_ADD;
	else if (text_starts(operation, "fetch_sub") || text_starts(operation, "sub_fetch"))
		atomic.kind = ATOMIC_SUB;
	else if (text_starts(operation, "compare_exchange"))
		atomic.kind = ATOMIC_COMPARE;
	else if (text_starts(operation, "exchange"))
		atomic.kind = ATOMIC_EXCHANGE;
	/* The front end's order: pointer, order, first value, order of a failure, second value. */
	if (atomic.kind == ATOMIC_COMPARE) {
		atomic.expected = ast_child(node, 2);
		atomic.value = ast_child(node, 4);
	} else if (atomic.kind != ATOMIC_OTHER && !text_equal(operation, "exchange")) {
		atomic.value = ast_child(node, 2);
	} else if (atomic.style == ATOMIC_C11) {
		atomic.value = ast_child(node, 2);
	}
	return atomic;
}

static bool name_holds(const char *name, const char *const *parts)
{
	for (; *parts; parts++)
		if (strstr(name, *parts))
			return true;
	return false;
}

static struct atomic atomic_call(struct ast_node *call)
{
	static const char *const tries[] = {"trylock", "try_lock", "TryLock", "tryenter", NULL};
	static const char *const compares[] = {"cmpxchg", "atomic_cas", "compare_and_swap", "compare_exchange", "CompareExchange", NULL};
	static const char *const exchanges[] = {"test_and_set", "testandset", "atomic_xchg", "atomic_swap", "atomic_exchange",
	                                        "InterlockedExchange", NULL};
	static const char *const answers[] = {"return", "_nv", "unless", "not_zero", "_test", "_and_", "negative", NULL};
	struct atomic atomic = {.kind = ATOMIC_NONE, .style = ATOMIC_BUILTIN, .pointer = call_argument(call, 0)};
	const char *name = call_name(call);
	if (!name || !atomic.pointer)
		return atomic;
	if (text_starts(name, "__sync_fetch_and_add") || text_starts(name, "__sync_add_and_fetch")) {
		atomic.kind = ATOMIC_ADD;
		atomic.value = call_argument(call, 1);
	} else if (text_starts(name, "__sync_fetch_and_sub") || text_starts(name, "__sync_sub_and_fetch")) {
		atomic.kind = ATOMIC_SUB;
		atomic.value = call_argument(call, 1);
	} else if (text_starts(name, "__sync_lock_test_and_set")) {
		atomic.kind = ATOMIC_EXCHANGE;
		atomic.value = call_argument(call, 1);
	} else if (text_starts(name, "__sync_bool_compare_and_swap") || text_starts(name, "__sync_val_compare_and_swap")) {
		atomic.kind = ATOMIC_COMPARE;
		atomic.expected = call_argument(call, 1);
		atomic.expected_by_value = true;
		atomic.value = call_argument(call, 2);
	} else if (text_equal(name, "__atomic_test_and_set")) {
		atomic.kind = ATOMIC_EXCHANGE;
	} else {
		atomic.style = ATOMIC_LIBRARY;
		bool adds = text_starts(name, "atomic_inc") || text_starts(name, "atomic_add");
		bool subtracts = text_starts(name, "atomic_dec") || text_starts(name, "atomic_sub");
		if (name_holds(name, tries))
			atomic.kind = ATOMIC_TRY;
		else if (name_holds(name, compares))
			atomic.kind = ATOMIC_COMPARE;
		else if (name_holds(name, exchanges))
			atomic.kind = ATOMIC_TRY;
		else if ((adds || subtracts) && !name_holds(name, answers))
			atomic.kind = adds ? ATOMIC_ADD : ATOMIC_SUB;
		/* Linux has the amount first. */
		struct ast_node *first = ast_strip_casts(atomic.pointer), *second = ast_strip_casts(call_argument(call, 1));
		bool swapped = (adds || subtracts) && second && is_address_type(second->type) && first && !is_address_type(first->type);
		atomic.value = swapped ? first : second;
		atomic.pointer = swapped ? second : atomic.pointer;
		if (atomic.kind == ATOMIC_COMPARE) {
			atomic.expected = second;
			atomic.expected_by_value = second && !is_address_type(second->type);
			atomic.value = call_argument(call, 2);
		}
	}
	return atomic;
}

struct atomic atomic_of(struct ast_node *node)
{
	struct ast_node *operand = ast_child(node, 0);
	bool step = node_is_increment(node) || (node->kind == AST_COMPOUND_ASSIGN && (node->op == OP_ADD || node->op == OP_SUB));
	if (node->kind == AST_ATOMIC && node->name)
		return atomic_builtin(node);
	if (node->kind == AST_CALL)
		return atomic_call(node);
	if (step && operand && operand->type && operand->type->is_atomic) {
		bool up = node->op == OP_ADD || node->op == OP_PRE_INC || node->op == OP_POST_INC;
		return (struct atomic){.kind = up ? ATOMIC_ADD : ATOMIC_SUB, .style = ATOMIC_OPERATOR, .pointer = operand,
		                       .value = ast_child(node, 1)};
	}
	return (struct atomic){.kind = ATOMIC_NONE};
}

struct ast_node *atomic_object(const struct atomic *atomic)
{
	struct ast_node *pointer = ast_strip_casts(atomic->pointer);
	if (pointer && pointer->kind == AST_UNARY && pointer->op == OP_ADDRESS && atomic->style != ATOMIC_OPERATOR)
		return ast_operand(pointer, 0);
	return pointer;
}

/* ---- locks ------------------------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool holds_name(const char *text, const char *const *names)
{
	for (; text && *names; names++)
		if (strcasestr(text, *names))
			return true;
	return false;
}

bool type_is_lock(const struct ast_type *type)
{
	static const char *const locks[] = {"mutex", "spinlock", "rwlock", "spin_lock", "rw_lock", "LWLock", "slock_t", "lock_t", NULL};
	static const char *const others[] = {"clock_t", "block_t", "flock_t", "attr_t", "attr", "type", "ops", "stat", "mode", NULL};
	if (!type || type->kind == TYPE_POINTER || type->kind == TYPE_ARRAY || type->kind == TYPE_FUNCTION ||
	    type->kind == TYPE_ENUM || type->size == 0)
		return false;
	return (holds_name(type->spelling, locks) || holds_name(type->canonical, locks)) && !holds_name(type->spelling, others);
}

struct ast_node *call_locks(const struct ast_node *call)
{
	static const char *const takes[] = {"lock", "enter", "acquire", NULL};
	static const char *const not_takes[] = {"unlock", "try", "init", "destroy", "exit", "release", "held", "owned", "assert",
	                                        "owner", "free", "timed", "downgrade", "is_locked", NULL};
	const char *name = call_name(call);
	if (!name || !holds_name(name, takes) || holds_name(name, not_takes))
		return NULL;
	struct ast_node *argument = ast_strip_casts(call_argument(call, 0));
	if (!argument)
		return NULL;
	if (argument->kind == AST_UNARY && argument->op == OP_ADDRESS) {
		struct ast_node *lock = ast_operand(argument, 0);
		return lock && type_is_lock(lock->type) ? lock : NULL;
	}
	return argument->type && argument->type->kind == TYPE_POINTER && type_is_lock(argument->type->pointee) ? argument : NULL;
}

bool node_constant(struct ast_node *node, long long *ret_value)
{
	node = ast_strip_casts(node);
	if (!node)
		return false;
	if (node->has_value && (node->kind == AST_INT || node->kind == AST_CHAR || node->kind == AST_REF)) {
		*ret_value = node->value;
		return true;
	}
	long long left, right;
	if (node->kind == AST_UNARY && node->op == OP_MINUS && node_constant(ast_child(node, 0), &left)) {
		*ret_value = (long long)(0 - (unsigned long long)left);
		return true;
	}
	if (node->kind != AST_BINARY || !node_constant(ast_child(node, 0), &left) || !node_constant(ast_child(node, 1), &right))
		return false;
	unsigned long long a = (unsigned long long)left, b = (unsigned long long)right;
	switch (node->op) {
	case OP_ADD:
		*ret_value = (long long)(a + b);
		return true;
	case OP_SUB:
		*ret_value = (long long)(a - b);
		return true;
	case OP_MUL:
		*ret_value = (long long)(a * b);
		return true;
	case OP_DIV:
		*ret_value = right > 0 ? left / right : 0;
		return right > 0;
	case OP_SHL:
		*ret_value = b < 63 ? (long long)(a << b) : 0;
		return b < 63;
	default:
		return false;
	}
}

bool name_has_word(const char *name, const char *word)
{
	size_t size = strlen(word);
	for (const char *at = name; at && (at = strcasestr(at, word)) != NULL; at++) {
		bool lower = at[0] >= 'a' && at[0] <= 'z';
		bool begins = at == name || !is_letter(at[-1]) || (!lower && at[-1] >= 'a' && at[-1] <= 'z');
		char after = at[size];
		bool ends = !is_letter(after) || (after >= 'A' && after <= 'Z' && at[size - 1] >= 'a' && at[size - 1] <= 'z');
		if (begins && ends)
			return true;
	}
	return false;
}

bool name_has_any_word(const char *name, const char *const *words)
{
	for (; name && *words; words++)
		if (name_has_word(name, *words))
			return true;
	return false;
}

bool name_has_extension(const char *name)
{
	static const char *const words[] = {"avx", "sse2", "sse3", "sse4", "ssse3", "neon", "aesni", "pclmul", "shani", "bmi2",
	                                    "popcnt", "altivec", "armv8", "armv7", "sve", "avx2", NULL};
	for (size_t i = 0; name && words[i]; i++) {
		for (const char *at = name; (at = strcasestr(at, words[i])) != NULL; at++) {
			char before = at > name ? at[-1] : '_', after = at[strlen(words[i])];
			bool camel = before >= 'a' && before <= 'z' && *at >= 'A' && *at <= 'Z';
			if ((!is_letter(before) || camel) && !(after >= 'a' && after <= 'z'))
				return true;
		}
	}
	return false;
}

/* ---- records ----------------------------------------------------------------------------------------------- */

const struct ast_layout *record_layout(const struct ast_unit *unit, const struct ast_node *record)
{
	for (size_t i = 0; record && record->type && i < unit->layouts.count; i++) {
		const struct ast_layout *layout = &unit->layouts.at[i];
		if (layout->line == record->range.line && text_equal(layout->file, record->range.file) &&
		    text_equal(layout->name, record->type->canonical))
			return layout;
	}
	return NULL;
}

const char *record_type_name(const struct ast_unit *unit, const struct ast_node *record, struct arena *arena)
{
	const char *text = ast_text(unit, &record->range);
	const char *word = text && text_starts(text, "union") ? "union" : "struct";
	const char *tag = text && text_starts(text, word) ? text + strlen(word) + strspn(text + strlen(word), " \t\n") : "";
	if (record->name && *record->name && text_starts(tag, record->name))
		return arena_printf(arena, "%s %s", word, record->name);
	for (size_t i = 0; i < unit->top.count; i++) {
		const struct ast_node *node = unit->top.at[i];
		if (node->kind == AST_TYPEDEF && node->type && record->type && node->name &&
		    text_equal(node->type->canonical, record->type->canonical))
			return node->name;
	}
	return NULL;
}

struct reliance {
	const struct ast_unit *unit;
	const struct ast_node *record;
	bool found;
};

/* Whether a text names the record's type, by its tag or by a typedef. */
static bool names_record(const struct reliance *reliance, const char *text)
{
	const struct ast_node *record = reliance->record;
	if (record->name && *record->name && strstr(text, record->name))
		return true;
	for (size_t i = 0; i < reliance->unit->top.count; i++) {
		const struct ast_node *node = reliance->unit->top.at[i];
		if (node->kind == AST_TYPEDEF && node->type && node->name && text_equal(node->type->canonical, record->type->canonical) &&
		    strstr(text, node->name))
			return true;
	}
	return false;
}

static bool points_to_record(const struct ast_type *type, const struct ast_node *record)
{
	return type && type->kind == TYPE_POINTER && type->pointee && text_equal(type->pointee->canonical, record->type->canonical);
}

static bool reliance_visit(struct ast_node *node, void *context)
{
	static const char *const sizes[] = {"alloc", "memset", "bzero", "sort", "bsearch", "new", "free", NULL};
	struct reliance *reliance = context;
	const struct ast_node *record = reliance->record;
	if (node->kind == AST_CAST) {
		/* Bytes or another record that become one, and the reverse. */
		struct ast_node *from = ast_operand(node, 0);
		const struct ast_type *was = from ? from->type : NULL, *is = node->type;
		bool into = points_to_record(is, record), out = points_to_record(was, record);
		const struct ast_type *other = into ? was : is;
		bool plain = other && other->pointee && other->pointee->kind == TYPE_VOID;
		reliance->found |= into != out && is_address_type(other) && !plain && !(from && from->kind == AST_CALL);
	}
	if (node->kind == AST_SIZEOF) {
		const struct ast_node *operand = ast_strip(ast_child(node, 0)), *up = node->parent;
		const char *text = ast_text(reliance->unit, &node->range);
		const struct ast_type *type = operand ? operand->type : NULL;
		while (type && type->kind == TYPE_ARRAY && type->pointee)
			type = type->pointee;
		bool names = type ? text_equal(type->canonical, record->type->canonical) : !text || names_record(reliance, text);
		while (up && up->kind == AST_PAREN)
			up = up->parent;
		names = names && !(up && up->kind == AST_BINARY && up->op == OP_DIV); /* how many there are */
		while (up && (up->kind == AST_PAREN || up->kind == AST_BINARY || up->kind == AST_CAST))
			up = up->parent;
		const char *name = up && up->kind == AST_CALL ? call_name(up) : NULL;
		bool known = false;
		for (size_t i = 0; name && sizes[i]; i++)
			known |= strcasestr(name, sizes[i]) != NULL;
		reliance->found |= names && !known;
	}
	return !reliance->found;
}

bool record_is_own(const struct ast_unit *unit, const struct ast_node *record)
{
	static const char *const outside[] = {
	    "phys", "disk", "ondisk", "wire", "packet", "pkt", "hdr", "header", "frame", "msg", "message", "proto", "req", "request",
	    "reply", "resp", "response", "desc", "descriptor", "shm", "shared", "mmap", "file", "abi", "ioctl", NULL};
	static const char *const told[] = {"offsetof", "tatic_assert", "BUILD_BUG_ON", "ASSERT_SIZE", NULL};
	struct reliance reliance = {.unit = unit, .record = record};
	size_t size = 0;
	const char *text = record->range.file ? ast_file_text(unit, record->range.file, &size) : NULL;
	if (!text || !record->type || !record->range.in_tree || !text_equal(record->range.file, unit->main_file) ||
	    text_ends(record->range.file, ".h") || record->range.edge_in_macro)
		return false;
	for (size_t i = 0; record->name && outside[i]; i++)
		if (name_has_word(record->name, outside[i]))
			return false;
	for (size_t i = 0; told[i]; i++)
		for (const char *at = text; (at = strstr(at, told[i])) != NULL; at++)
			if (names_record(&reliance, strndupa(at, strcspn(at, ";{"))))
				return false;
	for (size_t i = 0; i < unit->top.count && !reliance.found; i++)
		ast_walk(unit->top.at[i], reliance_visit, &reliance);
	return !reliance.found;
}

/* ---- loops ------------------------------------------------------------------------------------------------- */

bool node_is_loop(const struct ast_node *node)
{
	return ast_is_loop(node) && !(node->kind == AST_DO && node_is_zero(node->condition));
}

/* The innermost loop around a node, or NULL. */
static const struct ast_node *loop_around(const struct ast_node *node)
{
	const struct ast_node *at = node->parent;
	while (at && !node_is_loop(at))
		at = at->parent;
	return at;
}

bool node_in_loop(const struct ast_node *node)
{
	return loop_around(node) != NULL;
}

struct loop_walk {
	struct loop *loop;
	struct arena *arena;
};

static bool loop_collect(struct ast_node *node, void *context)
{
	struct loop_walk *walk = context;
	struct loop *loop = walk->loop;
	struct ast_node *written = NULL;
	if (node->type && (node->type->is_volatile || node->type->is_atomic))
		loop->has_barrier = true;
	switch (node->kind) {
	case AST_SIZEOF:
		return false;
	case AST_ASM:
	case AST_ATOMIC:
		loop->has_barrier = true;
		break;
	case AST_FOR:
	case AST_WHILE:
	case AST_DO:
		if (node != loop->node && node_is_loop(node))
			loop->has_inner_loop = true;
		break;
	case AST_IF:
	case AST_CONDITIONAL:
	case AST_SWITCH:
	case AST_GOTO:
	case AST_BREAK:
	case AST_CONTINUE:
	case AST_RETURN:
		loop->has_branch = true;
		break;
	case AST_BINARY:
		if (node->op == OP_LAND || node->op == OP_LOR)
			loop->has_branch = true;
		break;
	case AST_CALL: {
		static const char *const length[] = {"strlen", "__builtin_strlen", NULL};
		if (call_is(node, length))
			list_push(walk->arena, &loop->strlens, node);
		else if (!call_is_pure(node))
			list_push(walk->arena, &loop->calls, node);
		break;
	}
	case AST_ASSIGN:
	case AST_COMPOUND_ASSIGN:
		written = ast_child(node, 0);
		break;
	case AST_UNARY:
		if (node_is_increment(node))
			written = ast_child(node, 0);
		else if (node->op == OP_ADDRESS && ast_operand(node, 0))
			list_push(walk->arena, &loop->addressed, ast_operand(node, 0));
		break;
	default:
		break;
	}
	if (written && ast_strip_casts(written)) {
		list_push(walk->arena, &loop->writes, ast_strip_casts(written));
		list_push(walk->arena, &loop->write_sites, node);
	}
	return true;
}

struct loops_walk {
	const struct ast_unit *unit;
	struct arena *arena;
	struct ast_node *function;
	void (*visit)(struct loop *loop, void *context);
	void *context;
};

static bool loops_find(struct ast_node *node, void *context)
{
	struct loops_walk *walk = context;
	if (!node_is_loop(node))
		return true;
	struct loop *loop = arena_new(walk->arena, struct loop);
	loop->unit = walk->unit;
	loop->node = node;
	loop->function = walk->function;
	ast_walk(node, loop_collect, &(struct loop_walk){.loop = loop, .arena = walk->arena});
	walk->visit(loop, walk->context);
	return true;
}

void loops_visit(const struct ast_unit *unit, struct arena *arena, void (*visit)(struct loop *loop, void *context),
                 void *context)
{
	struct loops_walk walk = {.unit = unit, .arena = arena, .visit = visit, .context = context};
	for (size_t i = 0; i < unit->top.count; i++) {
		struct ast_node *function = unit->top.at[i];
		if (function->kind != AST_FUNCTION || !function->is_definition || !function->range.in_tree)
			continue;
		walk.function = function;
		ast_walk(function, loops_find, &walk);
	}
}

bool loop_declares(const struct loop *loop, const struct ast_node *decl)
{
	for (; decl; decl = decl->parent)
		if (decl == loop->node)
			return true;
	return false;
}

bool loop_keeps(const struct loop *loop, struct ast_node *path)
{
	struct ast_node *node = ast_strip_casts(path);
	if (!node)
		return false;
	switch (node->kind) {
	case AST_INT:
	case AST_CHAR:
		return true;
	case AST_REF:
		if (!node->decl || loop_declares(loop, node->decl))
			return false;
		for (size_t i = 0; i < loop->addressed.count; i++)
			if (path_equal(loop->addressed.at[i], node))
				return false;
		for (size_t i = 0; i < loop->writes.count; i++)
			if (path_equal(loop->writes.at[i], node))
				return false;
		return true;
	case AST_MEMBER:
		for (size_t i = 0; i < loop->writes.count; i++) {
			struct ast_node *write = loop->writes.at[i];
			if (write->kind == AST_MEMBER && (!write->decl || write->decl == node->decl))
				return false; /* the same field, perhaps of another record: it may be this one */
			if (write->type && write->type->kind == TYPE_RECORD)
				return false; /* a whole record at once */
		}
		return loop_keeps(loop, ast_child(node, 0));
	case AST_SUBSCRIPT:
	case AST_UNARY: {
		if (node->kind == AST_UNARY && node->op != OP_DEREF)
			return false;
		struct access access = access_of(node);
		struct ast_node *root = access.pointer ? pointer_root(access.pointer) : access.object;
		for (size_t i = 0; root && i < loop->writes.count; i++) {
			struct access written = access_of(loop->writes.at[i]);
			struct ast_node *other = written.pointer ? pointer_root(written.pointer) : written.object;
			if (other && path_equal(root, other))
				return false;
		}
		return root && loop_keeps(loop, ast_child(node, 0)) &&
		       (node->kind == AST_UNARY || loop_keeps(loop, ast_child(node, 1)));
	}
	case AST_BINARY:
		return loop_keeps(loop, ast_child(node, 0)) && loop_keeps(loop, ast_child(node, 1));
	default:
		return false;
	}
}

static bool path_is_assigned(const struct loop *loop, struct ast_node *path)
{
	for (size_t i = 0; i < loop->writes.count; i++)
		if (path_equal(loop->writes.at[i], path))
			return true;
	return false;
}

bool loop_same_place(const struct loop *loop, struct ast_node *lvalue)
{
	struct ast_node *node = ast_strip_casts(lvalue);
	size_t operands = 0;
	if (!node)
		return false;
	switch (node->kind) {
	case AST_INT:
	case AST_CHAR:
		return true;
	case AST_REF:
		return node->decl && !loop_declares(loop, node->decl) && !path_is_assigned(loop, node);
	case AST_MEMBER:
		operands = 1;
		break;
	case AST_SUBSCRIPT:
	case AST_BINARY:
		operands = 2;
		break;
	case AST_UNARY:
		operands = node->op == OP_DEREF || node->op == OP_ADDRESS;
		break;
	default:
		break;
	}
	/* What leads to the place; the place itself may be assigned. */
	for (size_t i = 0; i < operands; i++)
		if (path_is_assigned(loop, ast_child(node, i)) || !loop_same_place(loop, ast_child(node, i)))
			return false;
	return operands > 0;
}

long long loop_bound(const struct loop *loop)
{
	struct ast_node *condition = ast_strip_casts(loop->node->condition);
	if (!condition || condition->kind != AST_BINARY || loop->node->kind != AST_FOR)
		return -1;
	if (condition->op != OP_LT && condition->op != OP_LE && condition->op != OP_NE)
		return -1;
	struct ast_node *limit = ast_operand(condition, 1);
	return limit && limit->has_value ? limit->value : -1;
}

static bool leave_visit(struct ast_node *node, void *context)
{
	*(bool *)context |= node->kind == AST_RETURN || node->kind == AST_GOTO;
	return !*(bool *)context;
}

bool loop_may_leave(const struct loop *loop)
{
	bool leaves = false;
	ast_walk(loop->node, leave_visit, &leaves);
	return leaves;
}

bool loop_always(const struct loop *loop, const struct ast_node *node)
{
	for (const struct ast_node *at = node; at && at != loop->node; at = at->parent) {
		const struct ast_node *up = at->parent;
		if (!up)
			return false;
		if ((up->kind == AST_IF || up->kind == AST_CONDITIONAL || up->kind == AST_SWITCH) && at != up->condition &&
		    at != up->children.at[0])
			return false;
		if (up->kind == AST_BINARY && (up->op == OP_LAND || up->op == OP_LOR) && at != up->children.at[0])
			return false;
		if (up == loop->node && up->kind == AST_FOR && at == up->init)
			return false;
		if (up != loop->node && node_is_loop(up) && at != up->condition)
			return false;
	}
	return true;
}

static bool work_visit(struct ast_node *node, void *context)
{
	*(unsigned *)context += node->kind == AST_BINARY || node->kind == AST_COMPOUND_ASSIGN || node->kind == AST_SUBSCRIPT ||
	                        node->kind == AST_CALL || node_is_increment(node);
	return true;
}

unsigned loop_work(const struct loop *loop)
{
	unsigned operations = 0;
	if (loop->node->body)
		ast_walk(loop->node->body, work_visit, &operations);
	return operations;
}

struct beside {
	const struct loop *loop;
	bool calls;
};

static bool beside_visit(struct ast_node *node, void *context)
{
	static const char *const errors[] = {"assert", "abort", "exit", "panic", "die", "fail", "error", "err", "fatal", "warn",
	                                     "log", "elog", "ereport", "errfinish", "errstart", "errmsg", "unreachable", "trap", NULL};
	struct beside *beside = context;
	if (node == beside->loop->node)
		return false;
	if (node->kind == AST_CALL && !call_is_pure(node) && !name_has_any_word(call_name(node), errors))
		beside->calls = true;
	return !beside->calls;
}

bool loop_is_aside(const struct loop *loop)
{
	struct beside beside = {.loop = loop};
	const struct ast_node *around = loop_around(loop->node);
	ast_walk(around ? (struct ast_node *)around : loop->function, beside_visit, &beside);
	return beside.calls;
}

struct allocation {
	const struct loop *loop;
	struct ast_node *path, *call;
};

static struct ast_node *allocator_call(struct ast_node *value)
{
	struct ast_node *call = ast_strip_casts(value);
	return call && call->kind == AST_CALL && call_name(call) && strcasestr(call_name(call), "alloc") ? call : NULL;
}

static bool allocation_visit(struct ast_node *node, void *context)
{
	struct allocation *allocation = context;
	struct ast_node *call = NULL;
	if (node->range.offset >= allocation->loop->node->range.offset)
		return false;
	if (node->kind == AST_ASSIGN && path_equal(ast_child(node, 0), allocation->path))
		call = allocator_call(ast_child(node, 1));
	else if (node->kind == AST_VAR && node == allocation->path->decl && node->init)
		call = allocator_call(node->init);
	if (call && loop_around(node) == loop_around(allocation->loop->node))
		allocation->call = call;
	return true;
}

struct ast_node *loop_allocated(const struct loop *loop, struct ast_node *path)
{
	struct allocation allocation = {.loop = loop, .path = ast_strip_casts(path)};
	if (allocation.path && loop->function->body)
		ast_walk(loop->function->body, allocation_visit, &allocation);
	return allocation.call;
}

/* ---- how often ----------------------------------------------------------------------------------------------- */

enum { CALLERS_DEEP = 3, FEW_CONSTANT_TURNS = 64 };

static bool name_is_cold(const char *name)
{
	static const char *const words[] = {
	    "init", "initialize", "initialise", "fini", "setup", "teardown", "destroy", "open", "startup", "shutdown", "exit", "cleanup", "main", "register", "unregister", "conf", "config", "configure",
	    "cfg", "option", "options", "usage", "help", "args", "print", "dump", "show", "debug", "err", "error", "fail",
	    "panic", "abort", "warn", "fatal", "version", "test", "tests", "selftest", "verify", "resize", "grow", "rehash",
	    "upgrade", "migrate", "mount", "unmount", "bootstrap", NULL};
	return name_has_any_word(name, words);
}

/* A handler of a configuration's directive: a parameter's type says so (ngx_conf_t *). */
static bool takes_configuration(const struct ast_node *function)
{
	for (size_t i = 0; i < function->children.count; i++) {
		const struct ast_node *parameter = function->children.at[i];
		const char *type = parameter->kind == AST_PARAM && parameter->type ? parameter->type->spelling : NULL;
		if (type && (name_has_word(type, "conf") || name_has_word(type, "getopt")))
			return true;
	}
	return false;
}

struct callers {
	const struct ast_unit *unit;
	const struct ast_node *function, *caller;
	unsigned depth;
	bool any, hot, warm, escapes; /* warm: some caller is not cold; escapes: its address is taken */
};

static enum heat heat_at(const struct ast_unit *unit, const struct ast_node *function, unsigned depth);

static bool callers_visit(struct ast_node *node, void *context)
{
	struct callers *callers = context;
	if (node->kind == AST_REF && node->decl == callers->function) {
		const struct ast_node *up = node->parent;
		while (up && (up->kind == AST_PAREN || up->kind == AST_CAST))
			up = up->parent;
		callers->escapes |= !(up && up->kind == AST_CALL && up->decl == callers->function);
	}
	if (node->kind != AST_CALL || node->decl != callers->function || callers->caller == callers->function)
		return true;
	enum heat heat = heat_at(callers->unit, callers->caller, callers->depth + 1);
	callers->any = true;
	callers->warm |= heat != HEAT_COLD;
	callers->hot |= heat == HEAT_HOT || (heat != HEAT_COLD && node_in_loop(node));
	return true;
}

static enum heat heat_at(const struct ast_unit *unit, const struct ast_node *function, unsigned depth)
{
	if (!function || depth > CALLERS_DEEP)
		return HEAT_UNKNOWN;
	if (name_is_cold(function->name) || takes_configuration(function))
		return HEAT_COLD;
	struct callers callers = {.unit = unit, .function = function, .depth = depth};
	for (size_t i = 0; i < unit->top.count && !callers.hot; i++) {
		callers.caller = unit->top.at[i];
		bool body = callers.caller->kind == AST_FUNCTION && callers.caller->is_definition;
		if (body || callers.caller->kind == AST_VAR)
			ast_walk(unit->top.at[i], callers_visit, &callers);
	}
	if (callers.hot)
		return HEAT_HOT;
	bool visible = function->usr && text_starts(function->usr, "c:@F@"); /* its callers may be in other units */
	if (callers.any && !callers.warm && !callers.escapes && !visible)
		return HEAT_COLD;
	return callers.any && !callers.escapes ? HEAT_ONCE : HEAT_UNKNOWN;
}

enum heat function_heat(const struct ast_unit *unit, const struct ast_node *function)
{
	return heat_at(unit, function, 0);
}

/* `i < argc`, `i < rel->natts`: what programs have a handful of. */
static bool bound_is_few(const struct loop *loop)
{
	static const char *const few[] = {"argc", "nargs", "natts", "ndim", "ndims", "nkeys", "nopts", NULL};
	struct ast_node *condition = ast_strip_casts(loop->node->condition);
	struct ast_node *limit = condition && condition->kind == AST_BINARY ? ast_operand(condition, 1) : NULL;
	return limit && (limit->kind == AST_REF || limit->kind == AST_MEMBER) && limit->name && text_is_one_of(limit->name, few);
}

enum heat loop_heat(const struct loop *loop)
{
	enum heat heat = function_heat(loop->unit, loop->function);
	if (heat == HEAT_COLD || heat == HEAT_HOT)
		return heat;
	if (node_in_loop(loop->node))
		return HEAT_HOT;
	long long bound = loop_bound(loop);
	return (bound >= 0 && bound <= FEW_CONSTANT_TURNS) || bound_is_few(loop) ? HEAT_COLD : heat;
}

/* ---- candidates -------------------------------------------------------------------------------------------- */

/* Whether a place is the name or an argument of a macro that is expanded there. */
static bool in_expansion(const struct ast_unit *unit, const char *file, size_t offset)
{
	for (size_t i = 0; i < unit->expansions.count; i++) {
		const struct ast_range *range = &unit->expansions.at[i].range;
		if (range->offset <= offset && offset < range->end_offset && text_equal(range->file, file))
			return true;
	}
	return false;
}

bool loop_takes_declaration(const struct loop *loop)
{
	const struct ast_range *range = &loop->node->range;
	return loop->node->parent && loop->node->parent->kind == AST_COMPOUND && range->file && range->in_tree &&
	       loop->function->range.file && text_equal(range->file, loop->function->range.file) &&
	       !(range->in_macro && in_expansion(loop->unit, range->file, range->offset));
}

void loop_declare(const struct loop *loop, struct pattern_sink *sink, struct finding *finding,
                  const struct string_list *declarations)
{
	size_t size, begin = loop->node->range.offset;
	const char *text = ast_file_text(loop->unit, loop->node->range.file, &size);
	if (!text || begin > size)
		return;
	size_t line = begin;
	while (line > 0 && (text[line - 1] == ' ' || text[line - 1] == '\t'))
		line--;
	bool alone = line == 0 || text[line - 1] == '\n'; /* only blanks before it on its line */
	char *out = "";
	for (size_t i = 0; i < declarations->count; i++)
		out = alone ? arena_printf(sink->arena, "%s%s\n%.*s", out, declarations->at[i], (int)(begin - line), text + line)
		            : arena_printf(sink->arena, "%s%s ", out, declarations->at[i]);
	finding_edit(sink, finding, begin, 0, out);
}

size_t statement_end(const struct ast_unit *unit, const struct ast_node *statement)
{
	const struct ast_node *last = statement;
	for (;;) {
		const struct ast_node *inner = last->kind == AST_IF && last->otherwise ? last->otherwise : last->body;
		bool ends_in_it = last->kind == AST_FOR || last->kind == AST_WHILE || last->kind == AST_IF || last->kind == AST_SWITCH ||
		                  last->kind == AST_LABEL || last->kind == AST_CASE;
		if (!ends_in_it || !inner)
			break;
		last = inner;
	}
	size_t size, at = statement->range.end_offset;
	const char *text = statement->range.file ? ast_file_text(unit, statement->range.file, &size) : NULL;
	if (!text || at > size)
		return 0;
	if (last->kind == AST_COMPOUND || last->kind == AST_NULL_STMT)
		return at;
	while (at < size && strchr(" \t\r\n", text[at]))
		at++;
	return at < size && text[at] == ';' ? at + 1 : 0;
}

const char *line_indent(struct arena *arena, const char *text, size_t offset)
{
	while (offset > 0 && text[offset - 1] != '\n')
		offset--;
	return arena_strndup(arena, text + offset, strspn(text + offset, " \t"));
}

char *text_squeezed(struct arena *arena, const char *text, size_t size)
{
	char *out = arena_alloc(arena, size + 1);
	size_t used = 0;
	for (size_t i = 0; i < size; i++)
		if (!strchr(" \t\r\n", text[i]))
			out[used++] = text[i];
	out[used] = '\0';
	return out;
}

bool loop_append(const struct loop *loop, struct pattern_sink *sink, struct finding *finding,
                 const struct string_list *statements)
{
	size_t size, end = statement_end(loop->unit, loop->node), begin = loop->node->range.offset;
	const char *text = ast_file_text(loop->unit, loop->node->range.file, &size);
	if (!text || !end || in_expansion(loop->unit, loop->node->range.file, end - 1))
		return false;
	const char *indent = line_indent(sink->arena, text, begin);
	char *out = "";
	for (size_t i = 0; i < statements->count; i++)
		out = arena_printf(sink->arena, "%s\n%s%s", out, indent, statements->at[i]);
	finding_edit(sink, finding, end, 0, out);
	return true;
}

const char *constant_declarator(struct arena *arena, const struct ast_type *type, const char *name)
{
	if (!type || !type->spelling || strpbrk(type->spelling, "([{<"))
		return NULL;
	const char *spelling = type->spelling;
	size_t length = strlen(spelling);
	if (length == 0 || strstr(spelling, "volatile") || strstr(spelling, "_Atomic") || strstr(spelling, "typeof"))
		return NULL;
	if (spelling[length - 1] == '*')
		return arena_printf(arena, "%sconst %s", spelling, name);
	if (type->kind == TYPE_POINTER) /* a qualifier after the star, or a typedef of a pointer */
		return strchr(spelling, '*') ? arena_printf(arena, "%s %s", spelling, name)
		                             : arena_printf(arena, "const %s %s", spelling, name);
	return text_starts(spelling, "const ") ? arena_printf(arena, "%s %s", spelling, name)
	                                       : arena_printf(arena, "const %s %s", spelling, name);
}

/* Whether the text uses `name` other than as a field's. */
static bool name_is_used(const char *text, size_t size, const char *name)
{
	size_t length = strlen(name);
	const char *end = text + size;
	for (const char *at = text; (at = memmem(at, (size_t)(end - at), name, length)); at += length) {
		if ((at + length < end && text_is_word(at[length])) || (at > text && text_is_word(at[-1])))
			continue;
		if (at > text && (at[-1] == '.' || (at > text + 1 && at[-1] == '>' && at[-2] == '-')))
			continue;
		return true;
	}
	return false;
}

const char *free_name(const struct loop *loop, struct arena *arena, const char *wanted)
{
	const struct ast_range *range = &loop->function->range;
	size_t size = 0;
	const char *text = range->file ? ast_file_text(loop->unit, range->file, &size) : NULL;
	if (!text || range->end_offset > size || range->offset > range->end_offset)
		return NULL;
	const char *names[] = {wanted, arena_printf(arena, "%s_value", wanted), arena_printf(arena, "%s_kept", wanted)};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		bool used = name_is_used(text + range->offset, range->end_offset - range->offset, names[i]);
		for (size_t g = 0; !used && g < loop->unit->top.count; g++)
			used = text_equal(loop->unit->top.at[g]->name, names[i]);
		for (size_t m = 0; !used && m < loop->unit->macros.count; m++)
			used = text_equal(loop->unit->macros.at[m].name, names[i]);
		if (!used)
			return names[i];
	}
	return NULL;
}

const char *free_name_for(const struct loop *loop, struct arena *arena, struct ast_node *place)
{
	if (place->kind == AST_MEMBER && place->name)
		return free_name(loop, arena, place->name);
	struct access access = access_of(place);
	struct ast_node *root = access.pointer ? pointer_root(access.pointer) : access.object;
	return root && root->name ? free_name(loop, arena, arena_printf(arena, "%s_value", root->name)) : NULL;
}
