/* The C front end: one translation unit as a plain tree. ast.c is the only file that includes <clang-c/…>.
 *
 * libclang's cursors are converted into nodes of our own, so that a detector neither knows nor needs clang, and so that
 * what clang leaves unsaid (operator kinds, the clauses of a `for`, atomics) is sorted out once, here. Only functions
 * and declarations of files under the tree are converted. All memory belongs to the unit's arena.
 */
#ifndef ASSAY_PORT_AST_H
#define ASSAY_PORT_AST_H

#include "base/arena.h"
#include "base/err.h"
#include "model/compdb.h"

#include <stdbool.h>
#include <stdint.h>

/* Address space of a process that parses: libclang may ask for any amount. A sanitizer's shadow memory needs terabytes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define AST_WORKER_MEMORY_BYTES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define AST_WORKER_MEMORY_BYTES 0
#endif
#endif
#ifndef AST_WORKER_MEMORY_BYTES
#define AST_WORKER_MEMORY_BYTES (4ull << 30)
#endif

enum ast_kind {
	AST_OTHER, /* anything without a kind of its own; its children are there */
	AST_FUNCTION, AST_PARAM, AST_VAR, AST_FIELD, AST_RECORD, AST_TYPEDEF, AST_ENUM,
	AST_COMPOUND, AST_DECL_STMT, AST_IF, AST_FOR, AST_WHILE, AST_DO, AST_SWITCH, AST_CASE, AST_RETURN, AST_GOTO,
	AST_LABEL, AST_BREAK, AST_CONTINUE, AST_NULL_STMT,
	AST_REF,       /* a name: `decl` */
	AST_MEMBER,    /* a.f and a->f: `decl` is the field; child 0 the object; `arrow` */
	AST_SUBSCRIPT, /* child 0 [child 1] */
	AST_CALL,      /* child 0 the callee, then the arguments; `decl` and `name` when it is a direct call */
	AST_UNARY, AST_BINARY, AST_ASSIGN, AST_COMPOUND_ASSIGN, /* `op` */
	AST_CONDITIONAL,
	AST_CAST, /* written ones only: implicit conversions are left out, an operand has its own type */
	AST_PAREN, /* see ast_strip() */
	AST_SIZEOF, /* and _Alignof: `name` says which */
	AST_INIT_LIST,
	AST_INT, AST_FLOAT, AST_STRING, AST_CHAR,
	AST_ASM,
	AST_ATOMIC, /* a compiler's atomic: `name` "__atomic_load_n", `value` the order (5: seq_cst); children: pointer, order,
	             * then values. __sync_* and functions of libraries are plain calls. */
	AST_STMT_EXPR,
};

enum ast_op {
	OP_NONE, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_REM, OP_SHL, OP_SHR, OP_AND, OP_OR, OP_XOR, OP_LAND, OP_LOR, OP_LT, OP_GT,
	OP_LE, OP_GE, OP_EQ, OP_NE, OP_ASSIGN, OP_COMMA,
	OP_PRE_INC, OP_PRE_DEC, OP_POST_INC, OP_POST_DEC, OP_DEREF, OP_ADDRESS, OP_PLUS, OP_MINUS, OP_NOT, OP_LNOT,
	OP_EXTENSION,
};

enum ast_type_kind { TYPE_OTHER, TYPE_VOID, TYPE_BOOL, TYPE_CHAR, TYPE_INT, TYPE_FLOAT, TYPE_POINTER, TYPE_ARRAY, TYPE_RECORD,
	TYPE_FUNCTION, TYPE_ENUM, TYPE_VECTOR };

struct ast_type {
	enum ast_type_kind kind; /* canonical: typedefs seen through. TYPE_CHAR: char, signed and unsigned (aliases all) */
	const char *spelling;    /* as written */
	const char *canonical;   /* without qualifiers: equal types have equal text */
	long long size, align;   /* bytes; -1: unknown or incomplete */
	bool is_const, is_volatile, is_restrict, is_signed, is_atomic;
	const struct ast_type *pointee; /* of pointers and arrays */
};

struct ast_node;
LIST_OF(struct ast_node *, ast_node_list);

/* A range of bytes in one file; lines and columns count from 1. */
struct ast_range {
	const char *file; /* absolute, clean; NULL: nowhere */
	unsigned line, column, end_line;
	size_t offset, end_offset;
	bool in_macro; /* some part comes out of a macro's expansion or is an argument of one: never replace its text */
	bool edge_in_macro; /* it begins or ends inside an expansion: never insert before or after it */
	bool in_tree;  /* the file lies under the tree */
};

struct ast_node {
	enum ast_kind kind;
	enum ast_op op;
	bool arrow;      /* AST_MEMBER */
	bool is_global;  /* AST_VAR, and AST_REF to one: static storage */
	bool is_definition; /* AST_FUNCTION with a body */
	bool is_external;   /* AST_FUNCTION: other units may call it by its name */
	bool is_inline;     /* AST_FUNCTION: declared inline, here or before */
	bool is_hidden;     /* AST_FUNCTION: not of default visibility, by attribute, pragma or flag */
	const char *name;   /* of declarations and references; NULL: none */
	const char *usr;    /* of functions, globals, fields, records, typedefs: equal for redeclarations; NULL: none */
	const char *attributes; /* AST_FUNCTION: " noinline cold ", as written here and at earlier declarations, also in a
	                         * macro's body, underscores around a name left out; NULL: none. What clang ignores is missing. */
	const char *literal; /* AST_INT … as spelled, when it comes from the file */
	bool has_value;
	long long value; /* of AST_INT, AST_CHAR, AST_SIZEOF, names of enumerators; the memory order of AST_ATOMIC */
	const struct ast_type *type; /* NULL: none */
	struct ast_node *decl;   /* what a reference, member or call names: the definition when this unit has one; of files
	                          * outside the tree it has no children; NULL: unknown. Compare decls by address. */
	struct ast_node *parent; /* NULL: top level */
	/* Of if, switch, case, labels, loops and functions (body), variables (init); also among the children. */
	struct ast_node *init, *condition, *increment, *body, *otherwise;
	struct ast_node_list children;
	struct ast_range range;
};

struct ast_macro {
	const char *name;
	const char *body; /* tokens joined by one blank; "" for an empty one */
	bool function_like;
	bool undefined_later;   /* a compiled #undef of the name follows in the same file */
	struct ast_range range; /* of the whole directive's tokens after `#define ` */
	/* Of this definition, in this whole unit, system headers too. Uses inside another macro's body count once for each
	 * expansion of that macro, so 0 means: never. A file that is included twice has one entry with the sum. */
	unsigned expansions;
	struct ast_range first_use;
};
LIST_OF(struct ast_macro, ast_macro_list);

struct ast_expansion {
	const char *name;
	size_t macro; /* index into macros; SIZE_MAX: predefined or unknown */
	struct ast_range range;
	const struct ast_node *enclosing; /* top-level declaration or function around it; NULL: none */
};
LIST_OF(struct ast_expansion, ast_expansion_list);

/* One branch of a preprocessor conditional in a file under the tree, and whether this unit took it. The branches of one
 * #if … #endif follow each other by `next`. */
struct ast_branch {
	const char *directive; /* "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else" */
	const char *condition; /* its tokens joined by one blank; "" of else */
	struct ast_range range; /* from the directive's '#' to the '#' of the next directive of the same #if */
	size_t body;            /* offset of what follows the directive's line */
	size_t next;            /* index of the next branch of the same #if; SIZE_MAX: none */
	size_t parent;          /* index of the branch around it; SIZE_MAX: none */
	bool skipped; /* nothing of the body is part of this unit */
};
LIST_OF(struct ast_branch, ast_branch_list);

/* Record layouts, for compare: sizes and offsets in bits where they are named so, else bytes. */
struct ast_layout_field {
	const char *name;
	long long offset_bits, size_bits;
};
LIST_OF(struct ast_layout_field, ast_layout_field_list);
struct ast_layout {
	const char *name, *file;
	unsigned line;
	long long size, align;
	struct ast_layout_field_list fields;
};
LIST_OF(struct ast_layout, ast_layout_list);

struct ast_unit {
	struct arena arena;
	const char *tree; /* absolute: files under it are the project's */
	const char *main_file; /* absolute */
	struct ast_node_list top; /* functions, global variables, types of files under the tree, in order */
	struct ast_macro_list macros; /* of files under the tree */
	struct ast_expansion_list expansions; /* of files under the tree */
	struct ast_branch_list branches;      /* of files under the tree, by file and place */
	struct ast_layout_list layouts;       /* complete records of files under the tree */
	struct string_list files;  /* every file read that lies under the tree, absolute */
	struct string_list errors; /* what the front end could not understand: "file:line: text"; the tree has the rest */
	unsigned long long lines;  /* of the main file */
};

/* Parses the unit of a compile command in this process. A deep expression can kill or hang the front end: call it only
 * in a worker (port/proc.h, proc_fork). ST_INPUT: the file can't be read or parsed at all. */
MUST_CHECK enum status ast_parse(const struct compile_command *command, const char *tree, struct ast_unit **ret_unit,
                                 struct err *err);
void ast_unit_free(struct ast_unit *unit);

/* The bytes of a file as the front end saw them (0-terminated, in the unit's arena); NULL: can't be read. */
const char *ast_file_text(const struct ast_unit *unit, const char *file, size_t *ret_size);

/* Calls `visit` for the node and everything below it, parents first; false from `visit` skips the children. */
void ast_walk(struct ast_node *node, bool (*visit)(struct ast_node *node, void *context), void *context);
/* The node itself, or what stands inside its parentheses and __extension__; NULL gives NULL. */
struct ast_node *ast_strip(struct ast_node *node);
/* The same, also through written casts. */
struct ast_node *ast_strip_casts(struct ast_node *node);
/* Child `index`, from 0; NULL: there is no node, or no such child. */
struct ast_node *ast_child(const struct ast_node *node, size_t index);
/* The same, inside of its parentheses and casts. */
struct ast_node *ast_operand(const struct ast_node *node, size_t index);
/* The nearest node of this kind above; NULL: none. */
struct ast_node *ast_above(const struct ast_node *node, enum ast_kind kind);
bool ast_is_loop(const struct ast_node *node); /* for, while, do */

/* The source text of a range: as written, before macros. NULL: can't be read. */
const char *ast_text(const struct ast_unit *unit, const struct ast_range *range);

#endif
