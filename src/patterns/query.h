/* What detectors ask again and again: questions to a unit's tree, and how a finding is put down. */
#ifndef ASSAY_PATTERNS_QUERY_H
#define ASSAY_PATTERNS_QUERY_H

#include "patterns/pattern.h"

/* ---- findings ---------------------------------------------------------------------------------------------- */
/* A finding of `pattern` at `range`, put into the sink. The detector fills in evidence, contract and edits. */
struct finding *finding_new(struct pattern_sink *sink, const struct ast_unit *unit, const struct pattern *pattern,
                            const struct ast_range *range, const char *symbol, enum severity severity,
                            const char *message);
/* Adds an edit of `finding->file`. */
void finding_edit(struct pattern_sink *sink, struct finding *finding, size_t offset, size_t length, const char *text);
/* The same without a unit, for detect_project: `file` is relative to the tree. */
struct finding *finding_new_at(struct pattern_sink *sink, const struct pattern *pattern, const char *file, unsigned line,
                               unsigned column, const char *symbol, enum severity severity, const char *message);
/* A fact for the pattern's detect_project; the caller may add offset and length. `range` may be NULL. */
struct fact *fact_add(struct pattern_sink *sink, const struct ast_unit *unit, const struct pattern *pattern,
                      const char *name, const char *value, const struct ast_range *range, const char *symbol);
/* Relative to the tree; the path as it is when it lies elsewhere. */
const char *unit_relative(const struct ast_unit *unit, const char *file);

/* ---- compile commands -------------------------------------------------------------------------------------- */
/* Whether a flag is on: the last of `on` and `off` wins. `off` may be NULL. */
bool command_flag(const struct compile_command *command, const char *on, const char *off, bool fallback);
/* What follows the last "-std=" ("gnu17"), "c90" for -ansi, or NULL: the compiler's own default. */
const char *command_standard(const struct compile_command *command);
/* Whether it lets the compiler turn a loop of unknown length into vector code: gcc (12) from -O3 on, clang from -O2 on. */
bool command_vectorises(const struct compile_command *command);
/* Whether it compiles for a kernel, which brings its own library and saves vector registers itself. */
bool command_is_kernel(const struct compile_command *command);
/* Whether its code may use an extension of x86: by -march=, -m…; -march=native counts as having all. */
enum isa { ISA_POPCNT, ISA_LZCNT, ISA_SSE4_2, ISA_AVX2 };
bool command_has_isa(const struct compile_command *command, enum isa isa);

/* ---- expressions ------------------------------------------------------------------------------------------- */
bool node_is_increment(const struct ast_node *node); /* ++ and --, before and after */
bool node_is_zero(struct ast_node *node);
bool node_has_effect(struct ast_node *node); /* it, or a part: assigns, calls, or reads what is volatile */
/* The text of a small expression for a message, "…" when it is long or has line breaks. */
const char *node_text(const struct ast_unit *unit, const struct ast_node *node, struct arena *arena);
const char *node_quoted(const struct ast_unit *unit, const struct ast_node *node, struct arena *arena); /* the same in `` */
/* Whether two expressions name the same place in the same words: same variables, fields, constants. */
bool path_equal(struct ast_node *a, struct ast_node *b);
/* The expression that a pointer value is made of: p in `p + i`, `*p++`, `(char *)p`, `&p[i]`; a->b in `a->b + 1`. */
struct ast_node *pointer_root(struct ast_node *expression);
bool node_holds(struct ast_node *node, const struct ast_node *other); /* itself or somewhere below */
bool node_mentions(struct ast_node *node, struct ast_node *path);     /* some part equals the path */

/* Where an lvalue lies: in a named object, or behind a pointer. */
struct access {
	struct ast_node *object;        /* the AST_REF, or NULL */
	struct ast_node *pointer;       /* the pointer's value, or NULL */
	const struct ast_type *pointee; /* with `pointer`: what it points to; may be NULL */
};
struct access access_of(struct ast_node *lvalue);
/* Whether the compiler can see that no pointer from elsewhere leads there: a local variable or array, a pointer into
 * one, a restrict-qualified pointer. */
bool access_is_private(const struct access *access);
/* A reference to a file's own (static) variable whose address is never taken: no pointer leads to it. */
bool ref_is_sealed(const struct ast_unit *unit, const struct ast_node *ref);
/* Whether the text of an expression may be replaced: it is written out, or it is an operation of <stdatomic.h>,
 * which are macros. */
bool node_is_replaceable(const struct ast_unit *unit, const struct ast_node *node);

/* ---- calls ------------------------------------------------------------------------------------------------- */
/* The called function's name, or NULL. */
const char *call_name(const struct ast_node *call);
bool call_is(const struct ast_node *call, const char *const *names); /* NULL-terminated */
struct ast_node *call_argument(const struct ast_node *call, size_t index); /* from 0; NULL: there is none */
/* Whether it can't write memory that the caller sees: ctype, arithmetic built-ins, a function of this unit that only
 * writes its own variables. */
bool call_is_pure(const struct ast_node *call);

/* ---- atomics ----------------------------------------------------------------------------------------------- */
enum atomic_kind { ATOMIC_NONE, ATOMIC_ADD, ATOMIC_SUB, ATOMIC_EXCHANGE, ATOMIC_COMPARE, ATOMIC_TRY, ATOMIC_OTHER };
enum atomic_style { ATOMIC_BUILTIN, ATOMIC_C11, ATOMIC_LIBRARY, ATOMIC_OPERATOR };
struct atomic {
	enum atomic_kind kind; /* ATOMIC_TRY: a trylock or a test-and-set that only says whether it got there */
	enum atomic_style style;
	struct ast_node *pointer;  /* the address; with ATOMIC_OPERATOR (`++` on an _Atomic) the lvalue */
	struct ast_node *value;    /* added, stored or wanted; NULL: one, or not told */
	struct ast_node *expected; /* of ATOMIC_COMPARE: the value (__sync_*), or a pointer to it */
	bool expected_by_value;
};
/* ATOMIC_NONE when the node is no atomic operation. Functions of libraries are known by their names. */
struct atomic atomic_of(struct ast_node *node);
/* The lvalue that the address is taken of (x for `&x`), or else the pointer itself; stripped. */
struct ast_node *atomic_object(const struct atomic *atomic);

/* ---- locks ------------------------------------------------------------------------------------------------- */
/* A mutex, spin lock or reader-writer lock, by its type's name; not a pointer to one. */
bool type_is_lock(const struct ast_type *type);
/* What a call takes: pthread_mutex_lock(&x->m), spin_lock(&l), mutex_enter(l): the lvalue x->m or l, stripped; or the
 * pointer's value. Not when it only tries. NULL: it is no such call. */
struct ast_node *call_locks(const struct ast_node *call);
/* The value of an integer expression of constants; false: it isn't constant. */
bool node_constant(struct ast_node *node, long long *ret_value);
/* Whether `word` is one of the words of a name: "find" in hash_find_all, hashFind. Case doesn't matter. */
bool name_has_word(const char *name, const char *word);
bool name_has_any_word(const char *name, const char *const *words); /* NULL-terminated; false for no name */
/* Whether a name says that it is for an instruction set extension: fletcher_4_avx2_ops, crc_sse42.c, neon; not "assert". */
bool name_has_extension(const char *name);

/* ---- records ----------------------------------------------------------------------------------------------- */
/* NULL: it is not complete. */
const struct ast_layout *record_layout(const struct ast_unit *unit, const struct ast_node *record);
/* "struct slot" or "slot_t": how its type is written; NULL: it has no name. */
const char *record_type_name(const struct ast_unit *unit, const struct ast_node *record, struct arena *arena);
/* Whether nothing but the code of this file can rely on where its fields lie, and none of that does: it is written out in
 * the unit's own file, its name tells of no file or message, no assertion and no offsetof() names it, no bytes and no
 * other record are taken for one, and its size is told to nobody but allocations, memset() and sorting. */
bool record_is_own(const struct ast_unit *unit, const struct ast_node *record);

/* ---- loops ------------------------------------------------------------------------------------------------- */
struct loop {
	const struct ast_unit *unit;
	struct ast_node *node, *function;
	struct ast_node_list writes;      /* stripped lvalues that anything in it assigns, initialisation included */
	struct ast_node_list write_sites; /* the assigning expression of each */
	struct ast_node_list calls;       /* that are not pure */
	struct ast_node_list strlens;     /* calls of strlen */
	struct ast_node_list addressed;   /* stripped operands of & */
	bool has_barrier;                 /* asm, volatile, atomic */
	bool has_inner_loop;
	bool has_branch; /* if, ?:, &&, switch, goto, break, continue or return in the body */
};
/* for, while, do; not the `do … while (0)` of a macro. */
bool node_is_loop(const struct ast_node *node);
bool node_in_loop(const struct ast_node *node); /* there is one around it */
/* Calls `visit` for every loop of every function of the unit that is defined in a file under the tree. `loop` lives in
 * `arena`. */
void loops_visit(const struct ast_unit *unit, struct arena *arena, void (*visit)(struct loop *loop, void *context),
                 void *context);
bool loop_declares(const struct loop *loop, const struct ast_node *decl);
/* Whether a value read at `path` is the same in every iteration as far as the loop's own assignments tell. */
bool loop_keeps(const struct loop *loop, struct ast_node *path);
/* Whether an lvalue is the same place in every iteration (what stands there may change): the loop assigns none of the
 * variables that lead to it. */
bool loop_same_place(const struct loop *loop, struct ast_node *lvalue);
/* The constant that a loop counts to (`i < 16`), or -1: unknown. */
long long loop_bound(const struct loop *loop);
/* Whether a return or a goto in it may pass by what stands behind it. */
bool loop_may_leave(const struct loop *loop);
/* Whether `node` is evaluated in every iteration: not in a branch of its own, not in the initialisation. */
bool loop_always(const struct loop *loop, const struct ast_node *node);

/* Operations of the body, operators, subscripts and calls: how much there is beside what is looked at. */
unsigned loop_work(const struct loop *loop);

/* ---- how often ----------------------------------------------------------------------------------------------- */
/* By what the source shows. Both walk the whole unit: to be asked last. */
enum heat { HEAT_COLD, HEAT_ONCE, HEAT_UNKNOWN, HEAT_HOT };
/* COLD: start-up, configuration, diagnostics by its name, by a parameter of configuration, or by all its callers. HOT: called
 * from a loop of this unit. ONCE: called here, and by nothing here that repeats it. */
enum heat function_heat(const struct ast_unit *unit, const struct ast_node *function);
/* The same of a loop: HOT inside of another loop, too; COLD, too, when it makes a few turns (a constant, arguments,
 * dimensions) and nothing repeats it. */
enum heat loop_heat(const struct loop *loop);
/* Whether a turn of the loop around it, or a call of its function where there is none, makes other calls, apart from errors:
 * then it is hardly all that these cost. */
bool loop_is_aside(const struct loop *loop);
/* The call of an allocator (by its name) whose result the function put into `path` before this loop, inside of the same
 * loops; NULL: none. */
struct ast_node *loop_allocated(const struct loop *loop, struct ast_node *path);

/* ---- candidates -------------------------------------------------------------------------------------------- */
/* Whether a declaration may be put right before the loop: it stands in a block and is written out in the file. */
bool loop_takes_declaration(const struct loop *loop);
/* Puts the declarations, one a line, before the loop, with its indentation. */
void loop_declare(const struct loop *loop, struct pattern_sink *sink, struct finding *finding,
                  const struct string_list *declarations);
/* Puts statements, one a line, right behind the loop. False: its end can't be told. */
bool loop_append(const struct loop *loop, struct pattern_sink *sink, struct finding *finding,
                 const struct string_list *statements);
/* The blanks that the line of `offset` begins with. */
const char *line_indent(struct arena *arena, const char *text, size_t offset);
char *text_squeezed(struct arena *arena, const char *text, size_t size); /* without blanks and line breaks */
/* The offset behind a statement, its semicolon included; 0: can't be told. */
size_t statement_end(const struct ast_unit *unit, const struct ast_node *statement);
/* "const uint8_t mask", "struct x *const next": NULL when the type can't be written in front of a name. */
const char *constant_declarator(struct arena *arena, const struct ast_type *type, const char *name);
/* `wanted`, or a variation, that nothing in the function is called; NULL: none is left. */
const char *free_name(const struct loop *loop, struct arena *arena, const char *wanted);
/* A free name for the value that stands in `place`: the field's, "p_value" of *p. NULL: none. */
const char *free_name_for(const struct loop *loop, struct arena *arena, struct ast_node *place);

#endif
