/* Small units in a temporary folder, parsed in this process. */
#include "port/ast.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct arena arena;
static char tree[64];
static struct ast_unit *unit;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena);
	strcpy(tree, "/tmp/assay-ast-XXXXXX");
	return mkdtemp(tree) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	ast_unit_free(unit);
	unit = NULL;
	arena_release(&arena);
	char command[128];
	snprintf(command, sizeof command, "rm -rf '%s'", tree);
	return system(command) != 0;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(path_join(&arena, tree, name), "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	fclose(file);
}

static void parse_with(const char *text, const char *command_line)
{
	put("a.c", text);
	struct compile_command command = {.file = path_join(&arena, tree, "a.c"), .directory = tree};
	assert_true(shell_split(&arena, command_line, &command.argv));
	struct err err = ERR_INIT;
	ast_unit_free(unit);
	assert_int_equal(ast_parse(&command, tree, &unit, &err), ST_OK);
}

static void parse(const char *text)
{
	parse_with(text, "cc -O2 -Werror -c a.c -o a.o -MD -MF a.d");
	for (size_t i = 0; i < unit->errors.count; i++)
		print_message("%s\n", unit->errors.at[i]);
	assert_int_equal(unit->errors.count, 0);
}

static struct ast_node *top(const char *name)
{
	for (size_t i = unit->top.count; i-- > 0;)
		if (text_equal(unit->top.at[i]->name, name))
			return unit->top.at[i];
	fail_msg("no %s at the top", name);
	return NULL;
}

struct seeking {
	enum ast_kind kind;
	unsigned skip;
	struct ast_node *found;
};

static bool seek(struct ast_node *node, void *context)
{
	struct seeking *seeking = context;
	if (!seeking->found && node->kind == seeking->kind && seeking->skip-- == 0)
		seeking->found = node;
	return !seeking->found;
}

/* The n-th node of a kind, parents first, from 0. */
static struct ast_node *nth(struct ast_node *root, enum ast_kind kind, unsigned n)
{
	struct seeking seeking = {kind, n, NULL};
	ast_walk(root, seek, &seeking);
	assert_non_null(seeking.found);
	return seeking.found;
}

static const char *text_of(const struct ast_node *node)
{
	return node ? ast_text(unit, &node->range) : "nothing";
}

static const struct ast_macro *macro(const char *name, unsigned n)
{
	for (size_t i = 0; i < unit->macros.count; i++)
		if (text_equal(unit->macros.at[i].name, name) && n-- == 0)
			return &unit->macros.at[i];
	fail_msg("no macro %s", name);
	return NULL;
}

static void operators_have_their_kinds(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum ast_kind kind;
		enum ast_op op;
	} table[] = {
	    {"a + b", AST_BINARY, OP_ADD},    {"a - b", AST_BINARY, OP_SUB},   {"a * b", AST_BINARY, OP_MUL},
	    {"a / b", AST_BINARY, OP_DIV},    {"a % b", AST_BINARY, OP_REM},   {"a << b", AST_BINARY, OP_SHL},
	    {"a >> b", AST_BINARY, OP_SHR},   {"a & b", AST_BINARY, OP_AND},   {"a | b", AST_BINARY, OP_OR},
	    {"a ^ b", AST_BINARY, OP_XOR},    {"a && b", AST_BINARY, OP_LAND}, {"a || b", AST_BINARY, OP_LOR},
	    {"a < b", AST_BINARY, OP_LT},     {"a > b", AST_BINARY, OP_GT},    {"a <= b", AST_BINARY, OP_LE},
	    {"a >= b", AST_BINARY, OP_GE},    {"a == b", AST_BINARY, OP_EQ},   {"a != b", AST_BINARY, OP_NE},
	    {"a , b", AST_BINARY, OP_COMMA},  {"a = b", AST_ASSIGN, OP_ASSIGN},
	    {"a += b", AST_COMPOUND_ASSIGN, OP_ADD},  {"a -= b", AST_COMPOUND_ASSIGN, OP_SUB},
	    {"a *= b", AST_COMPOUND_ASSIGN, OP_MUL},  {"a /= b", AST_COMPOUND_ASSIGN, OP_DIV},
	    {"a %= b", AST_COMPOUND_ASSIGN, OP_REM},  {"a <<= b", AST_COMPOUND_ASSIGN, OP_SHL},
	    {"a >>= b", AST_COMPOUND_ASSIGN, OP_SHR}, {"a &= b", AST_COMPOUND_ASSIGN, OP_AND},
	    {"a |= b", AST_COMPOUND_ASSIGN, OP_OR},   {"a ^= b", AST_COMPOUND_ASSIGN, OP_XOR},
	    {"a++", AST_UNARY, OP_POST_INC},  {"a--", AST_UNARY, OP_POST_DEC}, {"++a", AST_UNARY, OP_PRE_INC},
	    {"--a", AST_UNARY, OP_PRE_DEC},   {"-a", AST_UNARY, OP_MINUS},     {"+a", AST_UNARY, OP_PLUS},
	    {"~a", AST_UNARY, OP_NOT},        {"!a", AST_UNARY, OP_LNOT},      {"&a", AST_UNARY, OP_ADDRESS},
	    {"*p", AST_UNARY, OP_DEREF},      {"__extension__ a", AST_UNARY, OP_EXTENSION},
	};
	char text[4096] = "void f(int a, int b, int *p)\n{\n";
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		strcat(strcat(strcat(text, "\t"), table[i].text), ";\n");
	parse(strcat(text, "}\n"));
	struct ast_node *body = top("f")->body;
	assert_int_equal(body->children.count, sizeof table / sizeof *table);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		assert_int_equal(body->children.at[i]->kind, table[i].kind);
		assert_int_equal(body->children.at[i]->op, table[i].op);
		assert_string_equal(text_of(body->children.at[i]), table[i].text);
	}
}

static void for_clauses_are_told_apart(void **state)
{
	(void)state;
	static const struct {
		const char *text, *init, *condition, *increment, *body;
	} table[] = {
	    {"for (i = 0; i < 9; i++) g(i);", "i = 0", "i < 9", "i++", "g(i)"},
	    {"for (int k = 0; k < 9;) k++;", "int k = 0;", "k < 9", "nothing", "k++"},
	    {"for (; i < 9; i++) {}", "nothing", "i < 9", "i++", "{}"},
	    {"for (i = 0; ; i++) {}", "i = 0", "nothing", "i++", "{}"},
	    {"for (i = 0; ; ) {}", "i = 0", "nothing", "nothing", "{}"},
	    {"for (;i;) {}", "nothing", "i", "nothing", "{}"},
	    {"for (;;i--) ;", "nothing", "nothing", "i--", ";"},
	    {"for (;;) { break; }", "nothing", "nothing", "nothing", "{ break; }"},
	    {"for (/* ; */ i = ';'; /* ; */ ;) {}", "i = ';'", "nothing", "nothing", "{}"},
	    {"for (g(\";\"[0]); ({ g(1); i; }); ) {}", "g(\";\"[0])", "({ g(1); i; })", "nothing", "{}"},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		parse(arena_printf(&arena, "void g(int);\nvoid f(int i)\n{\n\t%s\n}\n", table[i].text));
		struct ast_node *loop = nth(top("f"), AST_FOR, 0);
		assert_string_equal(text_of(loop->init), table[i].init);
		assert_string_equal(text_of(loop->condition), table[i].condition);
		assert_string_equal(text_of(loop->increment), table[i].increment);
		assert_string_equal(text_of(loop->body), table[i].body);
	}
	parse("#define EACH(i, n) for (int i = 0; i < (n); i++)\nvoid g(int);\nvoid f(int n)\n{\n\tEACH(k, n)\n\t\tg(k);\n}\n");
	struct ast_node *loop = nth(top("f"), AST_FOR, 0);
	assert_int_equal(loop->init->kind, AST_DECL_STMT);
	assert_int_equal(loop->condition->op, OP_LT);
	assert_int_equal(loop->increment->op, OP_POST_INC);
	assert_string_equal(text_of(loop->body), "g(k)");
	assert_false(loop->body->range.in_macro);
	assert_true(loop->range.in_macro && loop->range.edge_in_macro);
}

static void other_clauses_have_their_names(void **state)
{
	(void)state;
	parse("int f(int a)\n{\n\tif (a) a = 1; else a = 2;\n\twhile (a > 1) a--;\n\tdo a++; while (a < 3);\n"
	      "\tswitch (a) { case 4: return 5; default: break; }\nout:\n\tif (a) goto out;\n\treturn 0;\n}\n");
	struct ast_node *f = top("f");
	struct ast_node *branch = nth(f, AST_IF, 0);
	assert_string_equal(text_of(branch->condition), "a");
	assert_string_equal(text_of(branch->body), "a = 1");
	assert_string_equal(text_of(branch->otherwise), "a = 2");
	assert_string_equal(text_of(nth(f, AST_WHILE, 0)->condition), "a > 1");
	assert_string_equal(text_of(nth(f, AST_WHILE, 0)->body), "a--");
	assert_string_equal(text_of(nth(f, AST_DO, 0)->condition), "a < 3");
	assert_string_equal(text_of(nth(f, AST_DO, 0)->body), "a++");
	assert_string_equal(text_of(nth(f, AST_SWITCH, 0)->condition), "a");
	assert_int_equal(nth(f, AST_CASE, 0)->condition->value, 4);
	assert_int_equal(nth(f, AST_CASE, 0)->body->kind, AST_RETURN);
	assert_null(nth(f, AST_CASE, 1)->condition);
	assert_string_equal(nth(f, AST_LABEL, 0)->name, "out");
	assert_string_equal(nth(f, AST_GOTO, 0)->name, "out");
}

static void names_lead_to_their_declarations(void **state)
{
	(void)state;
	parse("struct s { int f; struct s *next; };\nenum { SEVEN = 7 };\nint g;\nint later(struct s *);\n"
	      "int f(struct s *p, struct s v, int (*cb)(int))\n{\n\tint local = SEVEN;\n"
	      "\treturn p->next->f + v.f + g + local + later(p) + cb(1);\n}\nint later(struct s *q) { return q->f; }\n");
	struct ast_node *f = top("f");
	struct ast_node *member = nth(f, AST_MEMBER, 0);
	assert_string_equal(member->name, "f");
	assert_true(member->arrow);
	assert_ptr_equal(member->decl->parent, top("s"));
	assert_string_equal(text_of(member->children.at[0]), "p->next");
	struct ast_node *dot = nth(f, AST_MEMBER, 2);
	assert_string_equal(text_of(dot), "v.f");
	assert_false(dot->arrow);
	assert_ptr_equal(dot->decl, member->decl);
	assert_ptr_equal(dot->children.at[0]->decl, f->children.at[1]);
	struct ast_node *call = nth(f, AST_CALL, 0);
	assert_string_equal(call->name, "later");
	assert_true(call->decl->is_definition);
	assert_ptr_equal(call->decl, top("later"));
	struct ast_node *indirect = nth(f, AST_CALL, 1);
	assert_null(indirect->decl);
	assert_null(indirect->name);
	struct ast_node *local = nth(f, AST_VAR, 0);
	assert_false(local->is_global);
	assert_int_equal(local->init->kind, AST_REF);
	assert_int_equal(local->init->value, 7);
	assert_true(top("g")->is_global);
}

static void functions_say_who_may_call_them(void **state)
{
	(void)state;
	parse("#define SLOW __attribute__((__noinline__, cold))\n#define LOCAL __attribute__((visibility(\"hidden\")))\n"
	      "int plain(void) { return 0; }\nstatic int own(void) { return plain(); }\nSLOW int slow(void);\n"
	      "int slow(void) { return own(); }\nLOCAL int hidden(void);\nint hidden(void) { return 1; }\n"
	      "inline int inlined(void);\nint inlined(void) { return 2; }\n"
	      "#pragma GCC visibility push(hidden)\nint within(void) { return 3; }\n#pragma GCC visibility pop\n");
	assert_true(top("plain")->is_external && !top("plain")->is_hidden && !top("plain")->is_inline);
	assert_null(top("plain")->attributes);
	assert_false(top("own")->is_external);
	assert_string_equal(top("slow")->attributes, " noinline cold ");
	assert_true(top("hidden")->is_hidden && top("hidden")->is_external);
	assert_true(top("inlined")->is_inline);
	assert_true(top("within")->is_hidden);
	parse_with("int plain(void) { return 0; }\n", "gcc -O2 -fPIC -fvisibility=hidden -c a.c");
	assert_true(top("plain")->is_hidden);
}

static void sizes_have_their_values(void **state)
{
	(void)state;
	parse("struct s { int at[5]; };\nunsigned long f(struct s *p, int n)\n{\n\tchar vla[n];\n"
	      "\treturn sizeof *p + sizeof(short) + sizeof vla;\n}\n");
	assert_int_equal(nth(top("f"), AST_SIZEOF, 0)->value, 20);
	assert_int_equal(nth(top("f"), AST_SIZEOF, 1)->value, 2);
	assert_false(nth(top("f"), AST_SIZEOF, 2)->has_value);
	parse_with("unsigned long f(struct unknown *p) { return sizeof *p + sizeof(none); }\n", "cc -c a.c");
	assert_true(unit->errors.count > 0);
}

static void types_are_canonical(void **state)
{
	(void)state;
	parse("typedef unsigned char u8;\ntypedef const u8 *cu8;\nstruct s;\n_Atomic(int) at;\n"
	      "void f(cu8 a, float *restrict b, volatile int *c, struct s *d, int e[4], unsigned long long h);\nint arr[3];\n");
	struct ast_node *f = top("f");
	const struct ast_type *a = f->children.at[0]->type;
	assert_int_equal(a->kind, TYPE_POINTER);
	assert_string_equal(a->spelling, "cu8");
	assert_int_equal(a->pointee->kind, TYPE_CHAR);
	assert_true(a->pointee->is_const);
	assert_false(a->pointee->is_signed);
	assert_string_equal(a->pointee->canonical, "unsigned char");
	const struct ast_type *b = f->children.at[1]->type;
	assert_true(b->is_restrict);
	assert_int_equal(b->pointee->kind, TYPE_FLOAT);
	assert_int_equal(b->pointee->size, 4);
	assert_true(f->children.at[2]->type->pointee->is_volatile);
	assert_int_equal(f->children.at[3]->type->pointee->kind, TYPE_RECORD);
	assert_int_equal(f->children.at[3]->type->pointee->size, -1);
	assert_int_equal(f->children.at[4]->type->kind, TYPE_POINTER);
	assert_int_equal(f->children.at[5]->type->size, 8);
	assert_true(top("at")->type->is_atomic);
	assert_int_equal(top("at")->type->kind, TYPE_INT);
	assert_int_equal(top("arr")->type->kind, TYPE_ARRAY);
	assert_int_equal(top("arr")->type->size, 12);
}

static void atomics_have_name_and_order(void **state)
{
	(void)state;
	parse("#include <stdatomic.h>\natomic_int a; int b;\nvoid f(void)\n{\n\tatomic_fetch_add(&a, 2);\n"
	      "\t__atomic_store_n(&b, 3, __ATOMIC_RELEASE);\n\tatomic_load_explicit(&a, memory_order_relaxed);\n"
	      "\t__sync_fetch_and_add(&b, 1);\n}\n");
	struct ast_node *f = top("f");
	struct ast_node *add = nth(f, AST_ATOMIC, 0);
	assert_string_equal(add->name, "__c11_atomic_fetch_add");
	assert_int_equal(add->value, 5);
	assert_string_equal(text_of(add), "atomic_fetch_add(&a, 2)");
	assert_true(add->range.in_macro);
	struct ast_node *store = nth(f, AST_ATOMIC, 1);
	assert_string_equal(store->name, "__atomic_store_n");
	assert_int_equal(store->value, 3);
	assert_string_equal(text_of(store->children.at[0]), "&b");
	assert_int_equal(nth(f, AST_ATOMIC, 2)->value, 0);
	assert_int_equal(nth(f, AST_CALL, 0)->children.count, 3);
}

static void implicit_conversions_are_not_in_the_tree(void **state)
{
	(void)state;
	parse("double f(short s, char *p) { return (s) + (double)*p; }\n");
	struct ast_node *sum = nth(top("f"), AST_BINARY, 0);
	assert_int_equal(sum->children.at[0]->kind, AST_PAREN);
	assert_int_equal(ast_strip(sum->children.at[0])->kind, AST_REF);
	assert_int_equal(sum->children.at[1]->kind, AST_CAST);
	assert_int_equal(ast_strip_casts(sum->children.at[1])->op, OP_DEREF);
	assert_ptr_equal(ast_above(sum, AST_FUNCTION), top("f"));
}

static void expansions_belong_to_the_definition_in_force(void **state)
{
	(void)state;
	put("h.h", "#define FROM_HEADER\n");
	parse("#include \"h.h\"\n#define A 1\nint x = A;\n#undef A\n#define A 2\nint y = A + A;\n"
	      "#define NEVER\n#define HIDDEN\n#define SHOWN HIDDEN int\n SHOWN z;\n#define TAKES(p) p\n"
	      "int TAKES(FROM_HEADER) w;\n#if 0\n#undef NEVER\n#endif\n#define JOIN(a, b) ((a) -> b) /* why */ \\\n\t+ 1\n");
	assert_int_equal(macro("A", 0)->expansions, 1);
	assert_true(macro("A", 0)->undefined_later);
	assert_int_equal(macro("A", 0)->first_use.line, 3);
	assert_int_equal(macro("A", 1)->expansions, 2);
	assert_false(macro("A", 1)->undefined_later);
	assert_int_equal(macro("NEVER", 0)->expansions, 0);
	assert_false(macro("NEVER", 0)->undefined_later);
	assert_int_equal(macro("HIDDEN", 0)->expansions, 1);
	assert_int_equal(macro("FROM_HEADER", 0)->expansions, 1);
	assert_true(text_ends(macro("FROM_HEADER", 0)->range.file, "/h.h"));
	assert_string_equal(macro("NEVER", 0)->body, "");
	assert_string_equal(macro("JOIN", 0)->body, "( ( a ) -> b ) + 1");
	assert_true(macro("JOIN", 0)->function_like);
	assert_string_equal(ast_text(unit, &macro("A", 1)->range), "A 2");
	for (size_t i = 0; i < unit->expansions.count; i++)
		if (unit->expansions.at[i].range.line == 6)
			assert_ptr_equal(unit->expansions.at[i].enclosing, top("y"));
	assert_int_equal(unit->files.count, 2);
	assert_int_equal(unit->lines, 17);
}

static void ranges_say_what_may_be_edited(void **state)
{
	(void)state;
	parse("#define TWO 2\n#define ID(x) x\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\n#define SUM(a, b) a + b\n"
	      "int f(int p, int q)\n{\n\tp = q + TWO;\n\tp = ID(q) + 1;\n\tp = MAX(p, q);\n\tp = 1 * SUM(p, q);\n\treturn p;\n}\n");
	struct ast_node *f = top("f");
	struct ast_node *first = nth(f, AST_ASSIGN, 0), *second = nth(f, AST_ASSIGN, 1), *third = nth(f, AST_ASSIGN, 2);
	assert_string_equal(text_of(first), "p = q + TWO");
	assert_true(first->range.in_macro);
	assert_true(first->range.edge_in_macro);
	assert_false(first->children.at[0]->range.in_macro);
	assert_string_equal(text_of(second->children.at[1]), "ID(q) + 1");
	assert_true(second->range.in_macro);
	assert_false(second->range.edge_in_macro);
	assert_string_equal(text_of(second->children.at[1]->children.at[0]), "q");
	assert_true(second->children.at[1]->children.at[0]->range.edge_in_macro);
	assert_string_equal(text_of(third->children.at[1]), "MAX(p, q)");
	assert_string_equal(text_of(nth(f, AST_ASSIGN, 3)->children.at[1]), "1 * SUM(p, q)");
	assert_false(nth(f, AST_RETURN, 0)->range.in_macro);
}

static const struct ast_branch *branch(const char *directive, const char *condition)
{
	for (size_t i = 0; i < unit->branches.count; i++)
		if (text_equal(unit->branches.at[i].directive, directive) && text_equal(unit->branches.at[i].condition, condition))
			return &unit->branches.at[i];
	fail_msg("no #%s %s", directive, condition);
	return NULL;
}

static void branches_say_what_is_skipped(void **state)
{
	(void)state;
	put("h.h", "#ifndef H\n#define H\nint h;\n#endif\n");
	put("twice.h", "#ifdef FIRST\nint first;\n#else\nint second;\n#endif\n");
	parse("#include \"h.h\"\n#include \"h.h\"\n#define FIRST\n#include \"twice.h\"\n#undef FIRST\n#include \"twice.h\"\n"
	      "#if defined(__AVX2__) && \\\n\t1 /* wide */\nint wide;\n# if X\nint x;\n# endif\n#elif 1\nint narrow;\n#else\n"
	      "int none;\n#endif\n#if 0\n#endif\nint last;\n");
	const struct ast_branch *wide = branch("if", "defined ( __AVX2__ ) && 1");
	assert_true(wide->skipped);
	assert_int_equal(wide->range.line, 7);
	assert_int_equal(wide->range.end_line, 13);
	assert_string_equal(text_of(&(struct ast_node){.range = wide->range}),
	                    "#if defined(__AVX2__) && \\\n\t1 /* wide */\nint wide;\n# if X\nint x;\n# endif\n");
	assert_true(wide->parent == SIZE_MAX);
	const struct ast_branch *narrow = &unit->branches.at[wide->next];
	assert_string_equal(narrow->directive, "elif");
	assert_false(narrow->skipped);
	assert_string_equal(unit->branches.at[narrow->next].directive, "else");
	assert_true(unit->branches.at[narrow->next].skipped);
	assert_true(unit->branches.at[narrow->next].next == SIZE_MAX);
	const struct ast_branch *inner = branch("if", "X");
	assert_ptr_equal(&unit->branches.at[inner->parent], wide);
	assert_true(inner->skipped);
	assert_true(branch("if", "0")->skipped);
	/* What one reading skips and another takes is part of the unit. */
	assert_false(branch("ifndef", "H")->skipped);
	const struct ast_branch *first = branch("ifdef", "FIRST");
	assert_false(first->skipped);
	assert_false(unit->branches.at[first->next].skipped);
}

static void layouts_are_in_bits(void **state)
{
	(void)state;
	parse("struct s { char c; unsigned b : 3, : 2, d : 4; double e; };\nunion u { int i; char c[8]; };\nstruct open;\n");
	assert_int_equal(unit->layouts.count, 2);
	const struct ast_layout *s = &unit->layouts.at[0];
	assert_string_equal(s->name, "struct s");
	assert_int_equal(s->size, 16);
	assert_int_equal(s->align, 8);
	const struct ast_layout_field *d = &s->fields.at[3];
	assert_string_equal(d->name, "d");
	assert_int_equal(d->offset_bits, 13);
	assert_int_equal(d->size_bits, 4);
	assert_int_equal(s->fields.at[4].offset_bits, 64);
	assert_int_equal(unit->layouts.at[1].size, 8);
}

static void errors_leave_the_rest(void **state)
{
	(void)state;
	parse_with("#include \"missing.h\"\nint f(int a) { return a + unknown; }\nint g(int b) { return b; }\n",
	           "arm-none-such-gcc-12 -fno-tree-vectorize --param x=1 -fopenmp -frobnicate -DX a.c");
	bool missing = false, flag = false;
	for (size_t i = 0; i < unit->errors.count; i++) {
		missing = missing || text_equal(unit->errors.at[i], "a.c:1: 'missing.h' file not found");
		flag = flag || strstr(unit->errors.at[i], "unknown argument: '-frobnicate'");
		assert_null(strstr(unit->errors.at[i], "tree-vectorize"));
	}
	assert_true(missing);
	assert_true(flag);
	assert_non_null(top("g")->body);
	struct err err = ERR_INIT;
	struct compile_command none = {.file = "/nowhere/a.c", .directory = "/"};
	struct ast_unit *nothing = NULL;
	assert_int_equal(ast_parse(&none, "/", &nothing, &err), ST_INPUT);
	assert_null(nothing);
	assert_true(text_starts(err.text, "/nowhere/a.c: can't be read"));
}

static void openmp_loops_are_plain_loops(void **state)
{
	(void)state;
	parse_with("void f(int *a) {\n#pragma omp parallel for\n\tfor (int i = 0; i < 9; i++) a[i] = i;\n}\n",
	           "cc -fopenmp -c a.c");
	assert_non_null(nth(top("f"), AST_FOR, 0)->condition);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(operators_have_their_kinds),
	    TEST(for_clauses_are_told_apart),
	    TEST(other_clauses_have_their_names),
	    TEST(names_lead_to_their_declarations),
	    TEST(functions_say_who_may_call_them),
	    TEST(sizes_have_their_values),
	    TEST(types_are_canonical),
	    TEST(atomics_have_name_and_order),
	    TEST(implicit_conversions_are_not_in_the_tree),
	    TEST(expansions_belong_to_the_definition_in_force),
	    TEST(ranges_say_what_may_be_edited),
	    TEST(branches_say_what_is_skipped),
	    TEST(layouts_are_in_bits),
	    TEST(errors_leave_the_rest),
	    TEST(openmp_loops_are_plain_loops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
