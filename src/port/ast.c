/* libclang's cursors become plain nodes here; the only file that includes <clang-c/…>.
 *
 * One walk over the translation unit builds the tree. The walk keeps a stack of open nodes instead of recursing itself;
 * a node is finished when the walk has left it: only then wrappers can be dropped and clauses named. What libclang
 * does not say is read from the source text: which clauses a `for` has, an atomic's name, a macro's body, #undef.
 */
#include "port/ast.h"

#include "base/text.h"
#include "port/flags.h"

#include <clang-c/Index.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define CLANG_RESOURCES "/usr/lib/llvm-19/lib/clang/19"

/* ---- maps -------------------------------------------------------------------------------------------------- */

struct map_slot {
	uint64_t hash;
	void *value; /* NULL: free */
};
struct map {
	struct map_slot *at;
	size_t count, cap; /* cap: a power of two */
};

typedef bool map_equal(const void *value, const void *key);

static void *map_get(const struct map *map, uint64_t hash, map_equal *equal, const void *key)
{
	if (!map->cap)
		return NULL;
	for (size_t i = hash & (map->cap - 1); map->at[i].value; i = (i + 1) & (map->cap - 1))
		if (map->at[i].hash == hash && equal(map->at[i].value, key))
			return map->at[i].value;
	return NULL;
}

static void map_place(struct map *map, uint64_t hash, void *value)
{
	size_t i = hash & (map->cap - 1);
	while (map->at[i].value)
		i = (i + 1) & (map->cap - 1);
	map->at[i] = (struct map_slot){hash, value};
}

/* The key must not be there yet. */
static void map_add(struct arena *arena, struct map *map, uint64_t hash, void *value)
{
	if (2 * (map->count + 1) > map->cap) {
		struct map old = *map;
		map->cap = old.cap ? 2 * old.cap : 64;
		map->at = arena_alloc(arena, map->cap * sizeof *map->at);
		for (size_t i = 0; i < old.cap; i++)
			if (old.at[i].value)
				map_place(map, old.at[i].hash, old.at[i].value);
	}
	map_place(map, hash, value);
	map->count++;
}

static uint64_t mix(uint64_t value)
{
	value = (value ^ (value >> 29)) * 0xbf58476d1ce4e5b9ull;
	return value ^ (value >> 32);
}

/* ---- the private side of a unit ------------------------------------------------------------------------------ */

struct span {
	size_t offset, end, end_max; /* end_max: of this one and all before it, once sorted */
};
LIST_OF(struct span, span_list);

struct file {
	CXFile handle;
	const char *path; /* absolute, clean */
	bool in_tree;
	const char *text; /* of the front end's buffer; NULL: not asked yet */
	size_t size;
	struct span_list expansions;
};

struct node {
	struct ast_node node; /* first: nodes are handed out by their public part */
	CXCursor cursor;      /* of declarations */
	CXSourceRange extent;
	enum CXCursorKind kind;
	bool filled; /* a declaration whose children are there (or never will be) */
};

struct type {
	struct ast_type type;
	CXType handle;
};

/* A macro definition anywhere in the unit. */
struct definition {
	const char *name;
	CXCursor cursor;
	size_t macro; /* index into unit.macros; SIZE_MAX: outside the tree */
	bool body_read;
	struct string_list mentions; /* identifiers of the body */
	unsigned long epoch;         /* `reaches` was computed when so many definitions were known */
	struct definitions *reaches;
};
LIST_OF(struct definition *, definitions);

struct open_node {
	CXCursor cursor;
	struct node *node; /* NULL: the translation unit */
};
LIST_OF(struct open_node, open_list);

struct unit {
	struct ast_unit unit; /* first */
	CXIndex index;
	CXTranslationUnit tu;
	const char *directory;
	struct map files, decls, types, definitions, names, macros;
	CXFile last_handle;
	struct file *last_file;
	struct open_list open;
	unsigned long epoch; /* definitions seen so far */
};

static char *take(struct unit *unit, CXString string)
{
	const char *text = clang_getCString(string);
	char *copy = arena_strdup(&unit->unit.arena, text ? text : "");
	clang_disposeString(string);
	return copy;
}

static bool file_equal(const void *value, const void *key)
{
	return ((const struct file *)value)->handle == *(const CXFile *)key;
}

static struct file *file_of(struct unit *unit, CXFile handle)
{
	if (!handle)
		return NULL;
	if (handle == unit->last_handle)
		return unit->last_file;
	uint64_t hash = mix((uintptr_t)handle);
	struct file *file = map_get(&unit->files, hash, file_equal, &handle);
	if (!file) {
		struct arena *arena = &unit->unit.arena;
		file = arena_new(arena, struct file);
		file->handle = handle;
		file->path = path_clean(arena, path_join(arena, unit->directory, take(unit, clang_getFileName(handle))));
		file->in_tree = path_under(file->path, unit->unit.tree) != NULL;
		map_add(arena, &unit->files, hash, file);
	}
	unit->last_handle = handle;
	unit->last_file = file;
	return file;
}

static struct file *file_at(struct unit *unit, const char *path)
{
	if (unit->last_file && path && unit->last_file->path == path)
		return unit->last_file;
	for (size_t i = 0; path && i < unit->files.cap; i++) {
		struct file *file = unit->files.at[i].value;
		if (file && (file->path == path || strcmp(file->path, path) == 0))
			return file;
	}
	return NULL;
}

static const char *file_text(struct unit *unit, struct file *file)
{
	if (!file->text) {
		size_t size = 0;
		const char *text = clang_getFileContents(unit->tu, file->handle, &size);
		file->text = text ? text : "";
		file->size = text ? size : 0;
	}
	return file->text;
}

/* ---- a small lexer for raw source text ------------------------------------------------------------------------ */

enum raw_kind { RAW_END, RAW_WORD, RAW_NUMBER, RAW_QUOTED, RAW_PUNCTUATION, RAW_NEWLINE };
struct raw {
	const char *at, *end; /* what is left */
	const char *token;    /* the current token */
	size_t size;
	enum raw_kind kind;
};

static size_t splice_size(const char *at, const char *end)
{
	if (at < end && *at == '\\') {
		if (at + 1 < end && at[1] == '\n')
			return 2;
		if (at + 2 < end && at[1] == '\r' && at[2] == '\n')
			return 3;
	}
	return 0;
}

static void raw_skip_comment(struct raw *raw)
{
	bool block = raw->at[1] == '*';
	raw->at += 2;
	while (raw->at < raw->end) {
		size_t splice = splice_size(raw->at, raw->end);
		if (splice) {
			raw->at += splice;
		} else if (!block && *raw->at == '\n') {
			return;
		} else if (block && *raw->at == '*' && raw->at + 1 < raw->end && raw->at[1] == '/') {
			raw->at += 2;
			return;
		} else {
			raw->at++;
		}
	}
}

static void raw_quoted(struct raw *raw)
{
	char quote = *raw->at++;
	while (raw->at < raw->end && *raw->at != quote && *raw->at != '\n')
		raw->at += *raw->at == '\\' && raw->at + 1 < raw->end ? 2 : 1;
	if (raw->at < raw->end && *raw->at == quote)
		raw->at++;
	if (raw->at > raw->end)
		raw->at = raw->end;
}

static size_t punctuation_size(const char *at, size_t left)
{
	static const char *const longer[] = {"...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&",
	                                     "||",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "##"};
	for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
		size_t size = strlen(longer[i]);
		if (size <= left && memcmp(at, longer[i], size) == 0)
			return size;
	}
	return 1;
}

/* The next token; newlines are tokens too, spliced lines and comments are skipped. False at the end. */
static bool raw_next(struct raw *raw)
{
	for (;;) {
		size_t splice = splice_size(raw->at, raw->end);
		if (splice)
			raw->at += splice;
		else if (raw->at + 1 < raw->end && raw->at[0] == '/' && (raw->at[1] == '/' || raw->at[1] == '*'))
			raw_skip_comment(raw);
		else if (raw->at < raw->end && *raw->at != '\n' && (isspace((unsigned char)*raw->at) || *raw->at == '\0'))
			raw->at++;
		else
			break;
	}
	raw->token = raw->at;
	if (raw->at >= raw->end) {
		raw->kind = RAW_END;
		raw->size = 0;
		return false;
	}
	unsigned char first = (unsigned char)*raw->at;
	if (first == '\n') {
		raw->at++;
		raw->kind = RAW_NEWLINE;
	} else if (isalpha(first) || first == '_' || first == '$' || first >= 0x80) {
		while (raw->at < raw->end && (isalnum((unsigned char)*raw->at) || *raw->at == '_' || *raw->at == '$' ||
		                              (unsigned char)*raw->at >= 0x80))
			raw->at++;
		raw->kind = RAW_WORD;
	} else if (isdigit(first) || (first == '.' && raw->at + 1 < raw->end && isdigit((unsigned char)raw->at[1]))) {
		while (raw->at < raw->end && (isalnum((unsigned char)*raw->at) || *raw->at == '.' || *raw->at == '_' ||
		                              ((*raw->at == '+' || *raw->at == '-') && strchr("eEpP", raw->at[-1]))))
			raw->at++;
		raw->kind = RAW_NUMBER;
	} else if (first == '"' || first == '\'') {
		raw_quoted(raw);
		raw->kind = RAW_QUOTED;
	} else {
		raw->at += punctuation_size(raw->at, (size_t)(raw->end - raw->at));
		raw->kind = RAW_PUNCTUATION;
	}
	raw->size = (size_t)(raw->at - raw->token);
	return true;
}

/* How many bytes from here are of no meaning to raw_skip_line(). */
static size_t plain_size(const char *at, const char *end)
{
	const char *from = at;
	while (at < end && *at != '\n' && *at != '\\' && *at != '/' && *at != '"' && *at != '\'')
		at++;
	return (size_t)(at - from);
}

/* To the line's end, or to the end of the block comment that runs over it. */
static void raw_skip_line(struct raw *raw)
{
	while (raw->at < raw->end && *raw->at != '\n') {
		raw->at += plain_size(raw->at, raw->end);
		if (raw->at >= raw->end || *raw->at == '\n')
			return;
		if (*raw->at == '\\')
			raw->at += splice_size(raw->at, raw->end) ? splice_size(raw->at, raw->end) : 1;
		else if (*raw->at == '/' && raw->at + 1 < raw->end && (raw->at[1] == '/' || raw->at[1] == '*'))
			raw_skip_comment(raw);
		else if (*raw->at == '"' || *raw->at == '\'')
			raw_quoted(raw);
		else
			raw->at++;
	}
}

static bool raw_is(const struct raw *raw, const char *text)
{
	return raw->size == strlen(text) && memcmp(raw->token, text, raw->size) == 0;
}

/* ---- places --------------------------------------------------------------------------------------------------- */

static int span_compare(const void *a, const void *b)
{
	const struct span *left = a, *right = b;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Whether an expansion overlaps [offset, end). */
static bool spans_touch(const struct span_list *spans, size_t offset, size_t end)
{
	size_t low = 0, high = spans->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (spans->at[middle].offset < end)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && spans->at[low - 1].end_max > offset;
}

/* The end of the expansion that covers `offset`, the outermost; 0: none does. */
static size_t span_end(const struct span_list *spans, size_t offset)
{
	size_t low = 0, high = spans->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (spans->at[middle].end_max <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < spans->count && spans->at[low].offset <= offset ? spans->at[low].end : 0;
}

/* A comma outside of all brackets: two arguments of a macro, not one expression. */
static bool has_bare_comma(const char *from, const char *to)
{
	struct raw raw = {.at = from, .end = to};
	int depth = 0;
	while (raw_next(&raw)) {
		if (raw.kind != RAW_PUNCTUATION)
			continue;
		if (strchr("([{", raw.token[0]))
			depth++;
		else if (strchr(")]}", raw.token[0]))
			depth--;
		if (depth < 0 || (depth == 0 && raw.token[0] == ','))
			return true;
	}
	return false;
}

/* What begins or ends in a macro's argument but isn't one argument or a part of it stands for the whole expansion. */
static void range_widen(struct unit *unit, struct file *file, CXSourceRange extent, struct ast_range *range)
{
	unsigned start = 0, line = 0, column = 0, end = 0;
	clang_getExpansionLocation(clang_getRangeStart(extent), NULL, &line, &column, &start);
	clang_getExpansionLocation(clang_getRangeEnd(extent), NULL, NULL, NULL, &end);
	bool starts_in_argument = start != range->offset, ends_in_argument = end != range->end_offset;
	if (!file_text(unit, file) || range->end_offset > file->size || (!starts_in_argument && !ends_in_argument))
		return;
	if (starts_in_argument && ends_in_argument && start == end &&
	    !has_bare_comma(file->text + range->offset, file->text + range->end_offset))
		return;
	if (starts_in_argument) {
		range->offset = start;
		range->line = line;
		range->column = column;
	}
	size_t last = ends_in_argument ? span_end(&file->expansions, end) : 0;
	if (last > range->end_offset && last <= file->size) {
		for (size_t i = range->end_offset; i < last; i++)
			range->end_line += file->text[i] == '\n';
		range->end_offset = last;
	}
}

static struct ast_range range_of(struct unit *unit, CXSourceRange extent)
{
	struct ast_range range = {0};
	CXFile first = NULL, last = NULL;
	unsigned line, column, offset, end_line, end_column, end_offset;
	clang_getFileLocation(clang_getRangeStart(extent), &first, &line, &column, &offset);
	clang_getFileLocation(clang_getRangeEnd(extent), &last, &end_line, &end_column, &end_offset);
	struct file *file = file_of(unit, first);
	if (!file)
		return range;
	if (last != first || end_offset < offset) {
		end_line = line;
		end_offset = offset;
	}
	range.file = file->path;
	range.in_tree = file->in_tree;
	range.line = line;
	range.column = column;
	range.end_line = end_line;
	range.offset = offset;
	range.end_offset = end_offset;
	range.in_macro = spans_touch(&file->expansions, offset, end_offset > offset ? end_offset : offset + 1);
	if (range.in_macro) {
		range_widen(unit, file, extent, &range);
		offset = (unsigned)range.offset;
		end_offset = (unsigned)range.end_offset;
	}
	range.edge_in_macro =
	    range.in_macro && (spans_touch(&file->expansions, offset, offset + 1) ||
	                       (end_offset > offset && spans_touch(&file->expansions, end_offset - 1, end_offset)));
	return range;
}

/* The identifier that stands where a token was spelled, in a macro's body or not; "" when it is none. */
static const char *word_spelled_at(struct unit *unit, CXSourceLocation location)
{
	CXFile handle = NULL;
	unsigned offset = 0;
	clang_getSpellingLocation(location, &handle, NULL, NULL, &offset);
	struct file *file = file_of(unit, handle);
	if (!file || !file_text(unit, file) || offset >= file->size)
		return "";
	struct raw raw = {.at = file->text + offset, .end = file->text + file->size};
	if (!raw_next(&raw) || raw.kind != RAW_WORD)
		return "";
	return arena_strndup(&unit->unit.arena, raw.token, raw.size);
}

/* ---- types ----------------------------------------------------------------------------------------------------- */

static bool type_equal(const void *value, const void *key)
{
	return clang_equalTypes(((const struct type *)value)->handle, *(const CXType *)key) != 0;
}

static enum ast_type_kind type_kind(enum CXTypeKind kind, bool *ret_signed)
{
	*ret_signed = false;
	switch (kind) {
	case CXType_Void:
		return TYPE_VOID;
	case CXType_Bool:
		return TYPE_BOOL;
	case CXType_Char_S:
	case CXType_SChar:
		*ret_signed = true;
		return TYPE_CHAR;
	case CXType_Char_U:
	case CXType_UChar:
		return TYPE_CHAR;
	case CXType_Short:
	case CXType_Int:
	case CXType_Long:
	case CXType_LongLong:
	case CXType_Int128:
	case CXType_WChar:
		*ret_signed = true;
		return TYPE_INT;
	case CXType_Char16:
	case CXType_Char32:
	case CXType_UShort:
	case CXType_UInt:
	case CXType_ULong:
	case CXType_ULongLong:
	case CXType_UInt128:
		return TYPE_INT;
	case CXType_Half:
	case CXType_Float16:
	case CXType_BFloat16:
	case CXType_Float:
	case CXType_Double:
	case CXType_LongDouble:
	case CXType_Float128:
		*ret_signed = true;
		return TYPE_FLOAT;
	case CXType_Pointer:
		return TYPE_POINTER;
	case CXType_ConstantArray:
	case CXType_IncompleteArray:
	case CXType_VariableArray:
		return TYPE_ARRAY;
	case CXType_Record:
		return TYPE_RECORD;
	case CXType_FunctionProto:
	case CXType_FunctionNoProto:
		return TYPE_FUNCTION;
	case CXType_Enum:
		return TYPE_ENUM;
	case CXType_Vector:
	case CXType_ExtVector:
		return TYPE_VECTOR;
	default: /* the rest of libclang's kinds is C++, Objective-C, OpenCL */
		return TYPE_OTHER;
	}
}

static const struct ast_type *type_of(struct unit *unit, CXType handle)
{
	if (handle.kind == CXType_Invalid)
		return NULL;
	uint64_t hash = mix((uintptr_t)handle.data[0] * 31 + (uintptr_t)handle.data[1] + handle.kind);
	struct type *known = map_get(&unit->types, hash, type_equal, &handle);
	if (known)
		return &known->type;
	struct type *type = arena_new(&unit->unit.arena, struct type);
	type->handle = handle;
	map_add(&unit->unit.arena, &unit->types, hash, type);
	struct ast_type *out = &type->type;
	CXType canonical = clang_getCanonicalType(handle);
	out->is_const = clang_isConstQualifiedType(canonical);
	out->is_volatile = clang_isVolatileQualifiedType(canonical);
	out->is_restrict = clang_isRestrictQualifiedType(canonical);
	if (canonical.kind == CXType_Atomic) {
		out->is_atomic = true;
		canonical = clang_getCanonicalType(clang_Type_getValueType(canonical));
	}
	out->kind = type_kind(canonical.kind, &out->is_signed);
	if (out->kind == TYPE_ENUM) {
		CXType integer = clang_getCanonicalType(clang_getEnumDeclIntegerType(clang_getTypeDeclaration(canonical)));
		type_kind(integer.kind, &out->is_signed);
	}
	out->spelling = take(unit, clang_getTypeSpelling(handle));
	out->canonical = take(unit, clang_getTypeSpelling(clang_getUnqualifiedType(canonical)));
	if (text_starts(out->canonical, "<")) { /* "<builtin fn type>": asking its size never returns */
		out->size = out->align = -1;
		return &type->type;
	}
	out->size = clang_Type_getSizeOf(canonical);
	out->align = clang_Type_getAlignOf(handle);
	if (out->size < 0)
		out->size = -1;
	if (out->align < 0)
		out->align = -1;
	/* As written where the writing shows it, so that the pointee keeps its typedef's name. */
	if (out->kind == TYPE_POINTER)
		out->pointee = type_of(unit, clang_getPointeeType(handle.kind == CXType_Pointer ? handle : canonical));
	else if (out->kind == TYPE_ARRAY)
		out->pointee =
		    type_of(unit, clang_getArrayElementType(handle.kind == CXType_ConstantArray ? handle : canonical));
	return out;
}

/* ---- nodes: from a cursor ---------------------------------------------------------------------------------------- */

static enum ast_kind kind_of(enum CXCursorKind kind)
{
	switch (kind) {
	case CXCursor_FunctionDecl:
		return AST_FUNCTION;
	case CXCursor_ParmDecl:
		return AST_PARAM;
	case CXCursor_VarDecl:
		return AST_VAR;
	case CXCursor_FieldDecl:
		return AST_FIELD;
	case CXCursor_StructDecl:
	case CXCursor_UnionDecl:
		return AST_RECORD;
	case CXCursor_TypedefDecl:
		return AST_TYPEDEF;
	case CXCursor_EnumDecl:
		return AST_ENUM;
	case CXCursor_CompoundStmt:
		return AST_COMPOUND;
	case CXCursor_DeclStmt:
		return AST_DECL_STMT;
	case CXCursor_IfStmt:
		return AST_IF;
	case CXCursor_ForStmt:
		return AST_FOR;
	case CXCursor_WhileStmt:
		return AST_WHILE;
	case CXCursor_DoStmt:
		return AST_DO;
	case CXCursor_SwitchStmt:
		return AST_SWITCH;
	case CXCursor_CaseStmt:
	case CXCursor_DefaultStmt:
		return AST_CASE;
	case CXCursor_ReturnStmt:
		return AST_RETURN;
	case CXCursor_GotoStmt:
	case CXCursor_IndirectGotoStmt:
		return AST_GOTO;
	case CXCursor_LabelStmt:
		return AST_LABEL;
	case CXCursor_BreakStmt:
		return AST_BREAK;
	case CXCursor_ContinueStmt:
		return AST_CONTINUE;
	case CXCursor_NullStmt:
		return AST_NULL_STMT;
	case CXCursor_DeclRefExpr:
		return AST_REF;
	case CXCursor_MemberRefExpr:
		return AST_MEMBER;
	case CXCursor_ArraySubscriptExpr:
		return AST_SUBSCRIPT;
	case CXCursor_CallExpr:
		return AST_CALL;
	case CXCursor_UnaryOperator:
		return AST_UNARY;
	case CXCursor_BinaryOperator:
		return AST_BINARY;
	case CXCursor_CompoundAssignOperator:
		return AST_COMPOUND_ASSIGN;
	case CXCursor_ConditionalOperator:
		return AST_CONDITIONAL;
	case CXCursor_CStyleCastExpr:
		return AST_CAST;
	case CXCursor_ParenExpr:
		return AST_PAREN;
	case CXCursor_UnaryExpr:
		return AST_SIZEOF;
	case CXCursor_InitListExpr:
		return AST_INIT_LIST;
	case CXCursor_IntegerLiteral:
		return AST_INT;
	case CXCursor_FloatingLiteral:
		return AST_FLOAT;
	case CXCursor_StringLiteral:
		return AST_STRING;
	case CXCursor_CharacterLiteral:
		return AST_CHAR;
	case CXCursor_GCCAsmStmt:
	case CXCursor_MSAsmStmt:
		return AST_ASM;
	case CXCursor_StmtExpr:
		return AST_STMT_EXPR;
	default:
		return AST_OTHER;
	}
}

static enum ast_op binary_op(enum CXBinaryOperatorKind kind)
{
	switch (kind) {
	case CXBinaryOperator_Mul:
	case CXBinaryOperator_MulAssign:
		return OP_MUL;
	case CXBinaryOperator_Div:
	case CXBinaryOperator_DivAssign:
		return OP_DIV;
	case CXBinaryOperator_Rem:
	case CXBinaryOperator_RemAssign:
		return OP_REM;
	case CXBinaryOperator_Add:
	case CXBinaryOperator_AddAssign:
		return OP_ADD;
	case CXBinaryOperator_Sub:
	case CXBinaryOperator_SubAssign:
		return OP_SUB;
	case CXBinaryOperator_Shl:
	case CXBinaryOperator_ShlAssign:
		return OP_SHL;
	case CXBinaryOperator_Shr:
	case CXBinaryOperator_ShrAssign:
		return OP_SHR;
	case CXBinaryOperator_And:
	case CXBinaryOperator_AndAssign:
		return OP_AND;
	case CXBinaryOperator_Xor:
	case CXBinaryOperator_XorAssign:
		return OP_XOR;
	case CXBinaryOperator_Or:
	case CXBinaryOperator_OrAssign:
		return OP_OR;
	case CXBinaryOperator_LAnd:
		return OP_LAND;
	case CXBinaryOperator_LOr:
		return OP_LOR;
	case CXBinaryOperator_LT:
		return OP_LT;
	case CXBinaryOperator_GT:
		return OP_GT;
	case CXBinaryOperator_LE:
		return OP_LE;
	case CXBinaryOperator_GE:
		return OP_GE;
	case CXBinaryOperator_EQ:
		return OP_EQ;
	case CXBinaryOperator_NE:
		return OP_NE;
	case CXBinaryOperator_Assign:
		return OP_ASSIGN;
	case CXBinaryOperator_Comma:
		return OP_COMMA;
	case CXBinaryOperator_Invalid:
	case CXBinaryOperator_PtrMemD:
	case CXBinaryOperator_PtrMemI:
	case CXBinaryOperator_Cmp:
		break;
	}
	return OP_NONE;
}

static enum ast_op unary_op(enum CXUnaryOperatorKind kind)
{
	switch (kind) {
	case CXUnaryOperator_PostInc:
		return OP_POST_INC;
	case CXUnaryOperator_PostDec:
		return OP_POST_DEC;
	case CXUnaryOperator_PreInc:
		return OP_PRE_INC;
	case CXUnaryOperator_PreDec:
		return OP_PRE_DEC;
	case CXUnaryOperator_AddrOf:
		return OP_ADDRESS;
	case CXUnaryOperator_Deref:
		return OP_DEREF;
	case CXUnaryOperator_Plus:
		return OP_PLUS;
	case CXUnaryOperator_Minus:
		return OP_MINUS;
	case CXUnaryOperator_Not:
		return OP_NOT;
	case CXUnaryOperator_LNot:
		return OP_LNOT;
	case CXUnaryOperator_Extension:
		return OP_EXTENSION;
	case CXUnaryOperator_Invalid:
	case CXUnaryOperator_Real:
	case CXUnaryOperator_Imag:
	case CXUnaryOperator_Coawait:
		break;
	}
	return OP_NONE;
}

static bool cursor_matches(const void *value, const void *key)
{
	return clang_equalCursors(((const struct node *)value)->cursor, *(const CXCursor *)key) != 0;
}

static struct node *node_new(struct unit *unit, CXCursor cursor)
{
	struct node *node = arena_new(&unit->unit.arena, struct node);
	node->cursor = cursor;
	node->kind = clang_getCursorKind(cursor);
	node->extent = clang_getCursorExtent(cursor);
	node->node.kind = kind_of(node->kind);
	node->node.range = range_of(unit, node->extent);
	return node;
}

/* libclang shows an array parameter as it was written; it is a pointer. */
static const struct ast_type *parameter_type(struct unit *unit, const struct ast_type *type)
{
	if (!type || type->kind != TYPE_ARRAY || !type->pointee)
		return type;
	struct ast_type *pointer = arena_new(&unit->unit.arena, struct ast_type);
	*pointer = (struct ast_type){.kind = TYPE_POINTER, .spelling = type->spelling, .pointee = type->pointee,
	                             .size = sizeof(void *), .align = sizeof(void *)};
	pointer->canonical = arena_printf(&unit->unit.arena, "%s%s *", type->pointee->is_const ? "const " : "",
	                                  type->pointee->canonical);
	return pointer;
}

/* The node of a declaration; made now when the walk has not come to it yet, or never will. */
static struct node *decl_node(struct unit *unit, CXCursor cursor)
{
	uint64_t hash = mix(clang_hashCursor(cursor));
	struct node *node = map_get(&unit->decls, hash, cursor_matches, &cursor);
	if (node)
		return node;
	node = node_new(unit, cursor);
	map_add(&unit->unit.arena, &unit->decls, hash, node);
	struct ast_node *out = &node->node;
	out->name = take(unit, clang_getCursorSpelling(cursor));
	if (!out->name[0])
		out->name = NULL;
	out->type = type_of(unit, clang_getCursorType(cursor));
	if (out->kind == AST_PARAM)
		out->type = parameter_type(unit, out->type);
	if (out->kind == AST_VAR)
		out->is_global = clang_Cursor_hasVarDeclGlobalStorage(cursor) == 1;
	if (out->kind == AST_FUNCTION) {
		out->is_definition = clang_isCursorDefinition(cursor);
		out->is_external = clang_getCursorLinkage(cursor) == CXLinkage_External;
		out->is_inline = clang_Cursor_isFunctionInlined(cursor);
		out->is_hidden = clang_getCursorVisibility(cursor) != CXVisibility_Default;
	}
	if (node->kind == CXCursor_EnumConstantDecl) {
		out->has_value = true;
		out->value = clang_getEnumConstantDeclValue(cursor);
	}
	bool local = out->kind == AST_PARAM || (out->kind == AST_VAR && !out->is_global);
	if (!local) {
		out->usr = take(unit, clang_getCursorUSR(cursor));
		if (!out->usr[0])
			out->usr = NULL;
	}
	return node;
}

static struct ast_node *referenced(struct unit *unit, CXCursor cursor)
{
	CXCursor decl = clang_getCursorReferenced(cursor);
	if (clang_Cursor_isNull(decl) || !clang_isDeclaration(clang_getCursorKind(decl)))
		return NULL;
	if (clang_getCursorKind(decl) == CXCursor_FunctionDecl || clang_getCursorKind(decl) == CXCursor_VarDecl) {
		CXCursor definition = clang_getCursorDefinition(decl);
		if (!clang_Cursor_isNull(definition))
			decl = definition;
	}
	return &decl_node(unit, decl)->node;
}

static const char *literal_text(struct unit *unit, const struct ast_range *range)
{
	struct file *file = range->in_macro ? NULL : file_at(unit, range->file);
	if (!file || !file_text(unit, file) || range->end_offset > file->size)
		return NULL;
	return arena_strndup(&unit->unit.arena, file->text + range->offset, range->end_offset - range->offset);
}

static void evaluate(struct unit *unit, CXCursor cursor, struct ast_node *node)
{
	(void)unit;
	CXEvalResult result = clang_Cursor_Evaluate(cursor);
	if (result && clang_EvalResult_getKind(result) == CXEval_Int) {
		node->has_value = true;
		node->value = clang_EvalResult_isUnsignedInt(result) ? (long long)clang_EvalResult_getAsUnsigned(result)
		                                                     : clang_EvalResult_getAsLongLong(result);
	}
	if (result)
		clang_EvalResult_dispose(result);
}

static void integer_value(struct unit *unit, CXCursor cursor, struct ast_node *node)
{
	if (node->literal && node->kind == AST_INT) {
		char *end = NULL;
		bool binary = node->literal[0] == '0' && (node->literal[1] == 'b' || node->literal[1] == 'B');
		errno = 0;
		unsigned long long value = strtoull(node->literal + (binary ? 2 : 0), &end, binary ? 2 : 0);
		if (errno == 0 && end != node->literal && strspn(end, "uUlL") == strlen(end)) {
			node->has_value = true;
			node->value = (long long)value;
			return;
		}
	}
	evaluate(unit, cursor, node);
}

static bool is_atomic_word(const char *word)
{
	return text_starts(word, "__atomic_") || text_starts(word, "__c11_atomic_") || text_starts(word, "__scoped_atomic_");
}

static struct node *expression_node(struct unit *unit, CXCursor cursor)
{
	struct node *node = node_new(unit, cursor);
	struct ast_node *out = &node->node;
	if (clang_isExpression(node->kind))
		out->type = type_of(unit, clang_getCursorType(cursor));
	switch (out->kind) {
	case AST_REF:
	case AST_MEMBER:
	case AST_CALL:
		out->decl = referenced(unit, cursor);
		if (out->decl && !(out->kind == AST_CALL && out->decl->kind != AST_FUNCTION)) {
			out->name = out->decl->name;
			out->is_global = out->decl->is_global;
			if (out->decl->kind == AST_PARAM)
				out->type = out->decl->type;
			out->has_value = out->decl->has_value;
			out->value = out->decl->value;
		} else if (out->kind == AST_CALL) {
			out->decl = NULL;
		}
		break;
	case AST_BINARY:
	case AST_COMPOUND_ASSIGN:
		out->op = binary_op(clang_getCursorBinaryOperatorKind(cursor));
		if (out->op == OP_ASSIGN)
			out->kind = AST_ASSIGN;
		break;
	case AST_UNARY:
		out->op = unary_op(clang_getCursorUnaryOperatorKind(cursor));
		break;
	case AST_INT:
	case AST_CHAR:
		out->literal = literal_text(unit, &out->range);
		integer_value(unit, cursor, out);
		break;
	case AST_FLOAT:
	case AST_STRING:
		out->literal = literal_text(unit, &out->range);
		break;
	case AST_SIZEOF:
		out->name = word_spelled_at(unit, clang_getRangeStart(node->extent));
		evaluate(unit, cursor, out);
		break;
	case AST_LABEL:
		out->name = take(unit, clang_getCursorSpelling(cursor));
		break;
	default:
		break;
	}
	return node;
}

/* ---- nodes: finished --------------------------------------------------------------------------------------------- */

static struct ast_node *last_child(const struct ast_node *node)
{
	return node->children.count ? node->children.at[node->children.count - 1] : NULL;
}

/* Offsets of the two semicolons of a `for` that is written out in the file; false: it comes from a macro. */
static bool for_semicolons(struct unit *unit, const struct ast_node *node, size_t ret_offsets[2])
{
	struct file *file = file_at(unit, node->range.file);
	if (!file || spans_touch(&file->expansions, node->range.offset, node->range.offset + 1) || !file_text(unit, file) ||
	    node->range.end_offset > file->size)
		return false;
	struct raw raw = {.at = file->text + node->range.offset, .end = file->text + node->range.end_offset};
	unsigned depth = 0, found = 0;
	while (found < 2 && raw_next(&raw)) {
		if (raw.kind != RAW_PUNCTUATION)
			continue;
		if (strchr("([{", raw.token[0]))
			depth++;
		else if (strchr(")]}", raw.token[0]) && --depth == 0)
			return false;
		else if (raw.token[0] == ';' && depth == 1)
			ret_offsets[found++] = (size_t)(raw.token - file->text);
	}
	return found == 2;
}

static bool has_effect(const struct ast_node *node)
{
	while ((node->kind == AST_PAREN || (node->kind == AST_BINARY && node->op == OP_COMMA)) && node->children.count)
		node = last_child(node);
	return node->kind == AST_ASSIGN || node->kind == AST_COMPOUND_ASSIGN || node->kind == AST_CALL ||
	       (node->kind == AST_UNARY && node->op >= OP_PRE_INC && node->op <= OP_POST_DEC);
}

/* libclang gives the clauses that are there, in order, without saying which; the body is the last. */
static void name_for_clauses(struct unit *unit, struct ast_node *node)
{
	size_t count = node->children.count;
	struct ast_node **at = node->children.at;
	if (count == 0)
		return;
	node->body = at[count - 1];
	size_t semicolons[2];
	if (count == 4) {
		node->init = at[0];
		node->condition = at[1];
		node->increment = at[2];
	} else if (for_semicolons(unit, node, semicolons)) {
		for (size_t i = 0; i + 1 < count; i++) {
			size_t offset = at[i]->range.offset;
			if (offset < semicolons[0])
				node->init = at[i];
			else if (offset < semicolons[1])
				node->condition = at[i];
			else
				node->increment = at[i];
		}
	} else {
		/* Out of a macro: by what the clauses do. */
		for (size_t i = 0; i + 1 < count; i++) {
			if (i == 0 && (at[i]->kind == AST_DECL_STMT || (has_effect(at[i]) && count == 3)))
				node->init = at[i];
			else if (!node->condition && !has_effect(at[i]))
				node->condition = at[i];
			else
				node->increment = at[i];
		}
	}
}

static void name_clauses(struct unit *unit, struct node *node)
{
	struct ast_node *out = &node->node;
	struct ast_node **at = out->children.at;
	size_t count = out->children.count;
	switch (out->kind) {
	case AST_FUNCTION:
		if (count && at[count - 1]->kind == AST_COMPOUND)
			out->body = at[count - 1];
		break;
	case AST_VAR: {
		CXCursor init = clang_Cursor_getVarDeclInitializer(node->cursor);
		if (!clang_Cursor_isNull(init) && count)
			out->init = at[count - 1];
		break;
	}
	case AST_IF:
		out->condition = count > 0 ? at[0] : NULL;
		out->body = count > 1 ? at[1] : NULL;
		out->otherwise = count > 2 ? at[2] : NULL;
		break;
	case AST_WHILE:
	case AST_SWITCH:
		out->condition = count > 0 ? at[0] : NULL;
		out->body = count > 1 ? at[count - 1] : NULL;
		break;
	case AST_DO:
		out->body = count > 0 ? at[0] : NULL;
		out->condition = count > 1 ? at[1] : NULL;
		break;
	case AST_CASE:
		out->condition = node->kind == CXCursor_CaseStmt && count > 1 ? at[0] : NULL;
		out->body = last_child(out);
		break;
	case AST_LABEL:
		out->body = last_child(out);
		break;
	case AST_FOR:
		name_for_clauses(unit, out);
		break;
	case AST_MEMBER:
		if (count && at[0]->type)
			out->arrow = at[0]->type->kind == TYPE_POINTER || at[0]->type->kind == TYPE_ARRAY;
		break;
	default:
		break;
	}
}

/* The walk has left a node: name its clauses; an implicit conversion gives way to what it converts. */
static void node_finish(struct unit *unit, struct node *node)
{
	struct ast_node *out = &node->node;
	bool unexposed = node->kind == CXCursor_UnexposedExpr;
	if (clang_isExpression(node->kind) && out->children.count == 1 && out->parent) {
		struct node *inner = (struct node *)out->children.at[0];
		/* A constant expression shows up as its literal inside an equal literal. */
		if ((unexposed || inner->kind == node->kind) && clang_equalRanges(node->extent, inner->extent)) {
			struct ast_node_list *siblings = &out->parent->children;
			inner->node.parent = out->parent;
			siblings->at[siblings->count - 1] = &inner->node;
			return;
		}
	}
	if (unexposed && out->children.count >= 1) {
		const char *word = word_spelled_at(unit, clang_getRangeStart(node->extent));
		if (is_atomic_word(word)) {
			out->kind = AST_ATOMIC;
			out->name = word;
			if (out->children.count > 1) {
				struct node *order = (struct node *)out->children.at[1];
				evaluate(unit, order->cursor, out);
			}
		}
	}
	name_clauses(unit, node);
}

static void layout_add(struct unit *unit, const struct node *record)
{
	const struct ast_node *node = &record->node;
	struct arena *arena = &unit->unit.arena;
	if (!clang_isCursorDefinition(record->cursor) || !node->type || node->type->size < 0)
		return;
	struct ast_layout layout = {.name = node->type->canonical, .file = node->range.file, .line = node->range.line,
	                            .size = node->type->size, .align = node->type->align};
	for (size_t i = 0; i < node->children.count; i++) {
		const struct node *field = (const struct node *)node->children.at[i];
		if (field->node.kind != AST_FIELD)
			continue;
		struct ast_layout_field out = {.name = field->node.name ? field->node.name : "",
		                               .offset_bits = clang_Cursor_getOffsetOfField(field->cursor)};
		if (clang_Cursor_isBitField(field->cursor))
			out.size_bits = clang_getFieldDeclBitWidth(field->cursor);
		else
			out.size_bits = field->node.type && field->node.type->size >= 0 ? 8 * field->node.type->size : -1;
		list_push(arena, &layout.fields, out);
	}
	list_push(arena, &unit->unit.layouts, layout);
}

static void close_node(struct unit *unit)
{
	struct node *node = unit->open.at[--unit->open.count].node;
	if (!node)
		return;
	node_finish(unit, node);
	if (node->node.kind == AST_RECORD)
		layout_add(unit, node);
}

static bool under_tree(struct unit *unit, CXCursor cursor)
{
	CXFile handle = NULL;
	clang_getFileLocation(clang_getCursorLocation(cursor), &handle, NULL, NULL, NULL);
	struct file *file = file_of(unit, handle);
	return file && file->in_tree;
}

static void attribute_add(struct unit *unit, struct ast_node *function, CXCursor cursor)
{
	const char *word = word_spelled_at(unit, clang_getRangeStart(clang_getCursorExtent(cursor)));
	size_t size = strlen(word);
	if (size > 4 && text_starts(word, "__") && text_ends(word, "__")) {
		word += 2;
		size -= 4;
	}
	if (size)
		function->attributes = arena_printf(&unit->unit.arena, "%s%.*s ", function->attributes ? function->attributes : " ",
		                                    (int)size, word);
}

static enum CXChildVisitResult visit_node(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct unit *unit = data;
	struct arena *arena = &unit->unit.arena;
	enum CXCursorKind kind = clang_getCursorKind(cursor);
	if (clang_isPreprocessing(kind))
		return CXChildVisit_Continue;
	while (unit->open.count > 1 && !clang_equalCursors(unit->open.at[unit->open.count - 1].cursor, parent))
		close_node(unit);
	struct node *above = unit->open.at[unit->open.count - 1].node;
	if (clang_isAttribute(kind)) {
		if (above && above->node.kind == AST_FUNCTION)
			attribute_add(unit, &above->node, cursor);
		return CXChildVisit_Continue;
	}
	if (clang_isReference(kind)) {
		/* Type names, designators; only a goto has no other way to say where it goes. */
		if (kind == CXCursor_LabelRef && above)
			above->node.name = take(unit, clang_getCursorSpelling(cursor));
		return CXChildVisit_Continue;
	}
	if (!above && !under_tree(unit, cursor))
		return CXChildVisit_Continue;
	struct node *node;
	if (clang_isDeclaration(kind)) {
		node = decl_node(unit, cursor);
		/* `typedef struct {…} x` and `struct s {…} v` show the same record twice. */
		if (node->filled)
			return CXChildVisit_Continue;
		node->filled = true;
	} else {
		node = expression_node(unit, cursor);
	}
	node->node.parent = above ? &above->node : NULL;
	if (above)
		list_push(arena, &above->node.children, &node->node);
	else
		list_push(arena, &unit->unit.top, &node->node);
	struct open_node open = {cursor, node};
	list_push(arena, &unit->open, open);
	return CXChildVisit_Recurse;
}

/* ---- macros ------------------------------------------------------------------------------------------------------ */

static bool definition_matches(const void *value, const void *key)
{
	return clang_equalCursors(((const struct definition *)value)->cursor, *(const CXCursor *)key) != 0;
}

static bool definition_named(const void *value, const void *key)
{
	return strcmp((*(struct definition *const *)value)->name, key) == 0;
}

static uint64_t name_hash(const char *name)
{
	return mix(text_hash(name, strlen(name), TEXT_HASH_SEED));
}

/* Places `raw` behind a definition's name and parameters. False: it can't be read. */
static bool definition_body(struct unit *unit, CXCursor cursor, struct raw *ret_raw)
{
	CXSourceRange extent = clang_getCursorExtent(cursor);
	CXFile handle = NULL;
	unsigned offset = 0, end = 0;
	clang_getFileLocation(clang_getRangeStart(extent), &handle, NULL, NULL, &offset);
	clang_getFileLocation(clang_getRangeEnd(extent), NULL, NULL, NULL, &end);
	struct file *file = file_of(unit, handle);
	if (!file || !file_text(unit, file) || end > file->size || offset > end)
		return false;
	*ret_raw = (struct raw){.at = file->text + offset, .end = file->text + end};
	raw_next(ret_raw);
	if (clang_Cursor_isMacroFunctionLike(cursor))
		while (raw_next(ret_raw) && !raw_is(ret_raw, ")"))
			;
	return true;
}

static const char *body_text(struct unit *unit, CXCursor cursor)
{
	struct raw raw;
	struct string_list words = {0};
	if (!definition_body(unit, cursor, &raw))
		return "";
	while (raw_next(&raw))
		if (raw.kind != RAW_NEWLINE)
			list_push(&unit->unit.arena, &words, arena_strndup(&unit->unit.arena, raw.token, raw.size));
	return text_join(&unit->unit.arena, &words, " ");
}

struct macro_place {
	const char *file;
	size_t offset, macro;
};

static bool macro_place_matches(const void *value, const void *key)
{
	const struct macro_place *a = value, *b = key;
	return a->file == b->file && a->offset == b->offset;
}

static size_t macro_of(struct unit *unit, CXCursor cursor, const char *name)
{
	struct arena *arena = &unit->unit.arena;
	struct ast_range range = range_of(unit, clang_getCursorExtent(cursor));
	if (!range.in_tree)
		return SIZE_MAX;
	struct macro_place key = {range.file, range.offset, 0};
	uint64_t hash = mix((uintptr_t)range.file + range.offset * 0x9e3779b97f4a7c15ull);
	const struct macro_place *known = map_get(&unit->macros, hash, macro_place_matches, &key);
	if (known)
		return known->macro;
	struct macro_place *place = arena_new(arena, struct macro_place);
	*place = key;
	place->macro = unit->unit.macros.count;
	map_add(arena, &unit->macros, hash, place);
	struct ast_macro macro = {.name = name, .range = range, .body = body_text(unit, cursor),
	                          .function_like = clang_Cursor_isMacroFunctionLike(cursor)};
	list_push(arena, &unit->unit.macros, macro);
	return place->macro;
}

static void definition_add(struct unit *unit, CXCursor cursor)
{
	struct arena *arena = &unit->unit.arena;
	struct definition *definition = arena_new(arena, struct definition);
	definition->name = take(unit, clang_getCursorSpelling(cursor));
	definition->cursor = cursor;
	definition->macro = macro_of(unit, cursor, definition->name);
	map_add(arena, &unit->definitions, mix(clang_hashCursor(cursor)), definition);
	uint64_t hash = name_hash(definition->name);
	struct definition **current = map_get(&unit->names, hash, definition_named, definition->name);
	if (!current) {
		current = arena_new(arena, struct definition *);
		*current = definition;
		map_add(arena, &unit->names, hash, current);
	}
	*current = definition;
	unit->epoch++;
}

static void definition_read(struct unit *unit, struct definition *definition)
{
	struct raw raw;
	definition->body_read = true;
	if (clang_Cursor_isMacroBuiltin(definition->cursor) || !definition_body(unit, definition->cursor, &raw))
		return;
	while (raw_next(&raw))
		if (raw.kind == RAW_WORD)
			list_push(&unit->unit.arena, &definition->mentions,
			          arena_strndup(&unit->unit.arena, raw.token, raw.size));
}

/* The definitions that an expansion of `root` expands in turn: libclang does not record those. Names are looked up as
 * they stand at this point of the unit; computed again only after new definitions. */
static const struct definitions *definition_reaches(struct unit *unit, struct definition *root)
{
	struct arena *arena = &unit->unit.arena;
	if (root->reaches && root->epoch == unit->epoch)
		return root->reaches;
	if (!root->reaches)
		root->reaches = arena_new(arena, struct definitions);
	root->epoch = unit->epoch;
	struct definitions *out = root->reaches;
	out->count = 0;
	struct definition *from = root;
	for (size_t next = 0;; from = out->at[next++]) {
		if (!from->body_read)
			definition_read(unit, from);
		for (size_t i = 0; i < from->mentions.count; i++) {
			const char *name = from->mentions.at[i];
			struct definition **found = map_get(&unit->names, name_hash(name), definition_named, name);
			bool known = !found || *found == root;
			for (size_t k = 0; !known && k < out->count; k++)
				known = out->at[k] == *found;
			if (!known)
				list_push(arena, out, *found);
		}
		if (next >= out->count)
			break;
	}
	return out;
}

static void macro_used(struct unit *unit, size_t macro, const struct ast_range *range)
{
	if (macro == SIZE_MAX)
		return;
	struct ast_macro *out = &unit->unit.macros.at[macro];
	if (out->expansions++ == 0)
		out->first_use = *range;
}

static void expansion_add(struct unit *unit, CXCursor cursor)
{
	struct arena *arena = &unit->unit.arena;
	CXSourceRange extent = clang_getCursorExtent(cursor);
	struct ast_range range = range_of(unit, extent);
	struct file *file = unit->last_file;
	if (!range.file || !file)
		return;
	range.in_macro = range.edge_in_macro = true;
	if (file->in_tree) {
		struct span span = {range.offset, range.end_offset, 0};
		list_push(arena, &file->expansions, span);
	}
	CXCursor referenced_cursor = clang_getCursorReferenced(cursor);
	struct definition *definition = NULL;
	if (!clang_Cursor_isNull(referenced_cursor))
		definition = map_get(&unit->definitions, mix(clang_hashCursor(referenced_cursor)), definition_matches,
		                     &referenced_cursor);
	if (definition) {
		macro_used(unit, definition->macro, &range);
		const struct definitions *reached = definition_reaches(unit, definition);
		for (size_t i = 0; i < reached->count; i++)
			macro_used(unit, reached->at[i]->macro, &range);
	}
	if (!file->in_tree)
		return;
	struct ast_expansion out = {.macro = definition ? definition->macro : SIZE_MAX, .range = range};
	out.name = definition ? definition->name : take(unit, clang_getCursorSpelling(cursor));
	list_push(arena, &unit->unit.expansions, out);
}

static enum CXChildVisitResult visit_macro(CXCursor cursor, CXCursor parent, CXClientData data)
{
	(void)parent;
	struct unit *unit = data;
	enum CXCursorKind kind = clang_getCursorKind(cursor);
	if (kind == CXCursor_MacroDefinition)
		definition_add(unit, cursor);
	else if (kind == CXCursor_MacroExpansion)
		expansion_add(unit, cursor);
	return CXChildVisit_Continue;
}

static void sort_expansions(struct unit *unit)
{
	for (size_t i = 0; i < unit->files.cap; i++) {
		struct file *file = unit->files.at[i].value;
		if (!file)
			continue;
		struct span_list *spans = &file->expansions;
		if (!spans->count)
			continue;
		qsort(spans->at, spans->count, sizeof *spans->at, span_compare);
		size_t end_max = 0;
		for (size_t k = 0; k < spans->count; k++) {
			if (spans->at[k].end > end_max)
				end_max = spans->at[k].end;
			spans->at[k].end_max = end_max;
		}
	}
}

struct skipped {
	struct span_list spans;
};

static bool is_skipped(const struct skipped *skipped, size_t offset)
{
	for (size_t i = 0; i < skipped->spans.count; i++)
		if (offset >= skipped->spans.at[i].offset && offset < skipped->spans.at[i].end)
			return true;
	return false;
}

static struct skipped skipped_of(struct unit *unit, struct file *file)
{
	struct skipped out = {0};
	CXSourceRangeList *list = clang_getSkippedRanges(unit->tu, file->handle);
	for (unsigned i = 0; list && i < list->count; i++) {
		unsigned from = 0, to = 0;
		clang_getFileLocation(clang_getRangeStart(list->ranges[i]), NULL, NULL, NULL, &from);
		clang_getFileLocation(clang_getRangeEnd(list->ranges[i]), NULL, NULL, NULL, &to);
		struct span span = {from, to, 0};
		list_push(&unit->unit.arena, &out.spans, span);
	}
	if (list)
		clang_disposeSourceRangeList(list);
	return out;
}

/* Whether anything of [offset, end) was compiled: a file that is read twice is skipped in part by one of the times. */
static bool has_content(const struct unit *unit, const struct file *file, size_t offset, size_t end)
{
	const struct ast_unit *public = &unit->unit;
	if (spans_touch(&file->expansions, offset, end))
		return true;
	for (size_t i = 0; i < public->macros.count; i++) {
		const struct ast_range *range = &public->macros.at[i].range;
		if (range->file == file->path && range->offset >= offset && range->offset < end)
			return true;
	}
	for (size_t i = 0; i < public->top.count; i++) {
		const struct ast_range *range = &public->top.at[i]->range;
		if (range->file == file->path && range->offset >= offset && range->offset < end)
			return true;
	}
	return false;
}

static const char *rest_of_directive(struct unit *unit, struct raw *raw)
{
	struct arena *arena = &unit->unit.arena;
	char *out = arena_strdup(arena, "");
	while (raw_next(raw) && raw->kind != RAW_NEWLINE)
		out = arena_printf(arena, "%s%s%.*s", out, *out ? " " : "", (int)raw->size, raw->token);
	return out;
}

static void undef_read(struct unit *unit, const struct file *file, struct raw *raw)
{
	size_t offset = (size_t)(raw->token - file->text);
	if (!raw_next(raw) || raw->kind != RAW_WORD)
		return;
	for (size_t i = 0; i < unit->unit.macros.count; i++) {
		struct ast_macro *macro = &unit->unit.macros.at[i];
		if (macro->range.file == file->path && macro->range.offset < offset && raw_is(raw, macro->name))
			macro->undefined_later = true;
	}
}

static void branch_close(struct unit *unit, struct file *file, const struct skipped *skipped, size_t index, size_t end,
                         unsigned end_line)
{
	struct ast_branch *branch = &unit->unit.branches.at[index];
	branch->range.end_offset = end;
	branch->range.end_line = end_line;
	branch->skipped = is_skipped(skipped, branch->body < end ? branch->body : end - 1) &&
	                  !has_content(unit, file, branch->body, end);
}

/* The directives of a file: every compiled `#undef NAME` marks the definitions of that name above it, and conditionals
 * become branches. */
static void directives_read(struct unit *unit, struct file *file)
{
	if (!file->in_tree || !file_text(unit, file))
		return;
	struct arena *arena = &unit->unit.arena;
	struct ast_branch_list *branches = &unit->unit.branches;
	struct skipped skipped = skipped_of(unit, file);
	struct raw raw = {.at = file->text, .end = file->text + file->size};
	size_t open = SIZE_MAX; /* the innermost branch */
	unsigned line = 1;
	const char *counted = file->text;
	while (raw_next(&raw)) {
		/* Only the first token of a line is looked at. */
		if (raw.kind == RAW_NEWLINE)
			continue;
		if (!raw_is(&raw, "#")) {
			if (raw.kind == RAW_QUOTED)
				raw.at = raw.token;
			raw_skip_line(&raw);
			continue;
		}
		const char *hash = raw.token;
		for (; counted < hash; counted++)
			line += *counted == '\n';
		size_t offset = (size_t)(hash - file->text);
		if (!raw_next(&raw) || raw.kind != RAW_WORD) {
			if (raw.kind != RAW_NEWLINE)
				raw_skip_line(&raw);
			continue;
		}
		if (raw_is(&raw, "undef")) {
			if (!is_skipped(&skipped, offset))
				undef_read(unit, file, &raw);
			if (raw.kind != RAW_NEWLINE)
				raw_skip_line(&raw);
			continue;
		}
		bool opens = raw_is(&raw, "if") || raw_is(&raw, "ifdef") || raw_is(&raw, "ifndef");
		bool ends = raw_is(&raw, "endif");
		bool turns = raw_is(&raw, "elif") || raw_is(&raw, "elifdef") || raw_is(&raw, "elifndef") || raw_is(&raw, "else");
		if (!opens && !ends && !turns) {
			raw_skip_line(&raw);
			continue;
		}
		struct ast_branch branch = {.directive = arena_strndup(arena, raw.token, raw.size), .next = SIZE_MAX,
		                            .parent = open};
		if (turns || ends) {
			if (open == SIZE_MAX) { /* unbalanced: the front end says so */
				raw_skip_line(&raw);
				continue;
			}
			branch_close(unit, file, &skipped, open, offset, line);
			branch.parent = branches->at[open].parent;
			if (ends) {
				open = branch.parent;
				raw_skip_line(&raw);
				continue;
			}
			branches->at[open].next = branches->count;
		}
		branch.range = (struct ast_range){.file = file->path, .line = line, .column = 1, .offset = offset, .in_tree = true};
		branch.condition = rest_of_directive(unit, &raw);
		branch.body = (size_t)(raw.at - file->text);
		open = branches->count;
		list_push(arena, branches, branch);
	}
	for (; counted < raw.end; counted++)
		line += *counted == '\n';
	for (; open != SIZE_MAX; open = branches->at[open].parent)
		branch_close(unit, file, &skipped, open, file->size, line);
}

static int file_path_compare(const void *a, const void *b)
{
	return strcmp((*(struct file *const *)a)->path, (*(struct file *const *)b)->path);
}

static void read_directives(struct unit *unit)
{
	struct file **sorted = arena_alloc(&unit->unit.arena, (unit->files.count + 1) * sizeof *sorted);
	size_t count = 0;
	for (size_t i = 0; i < unit->files.cap; i++) {
		struct file *file = unit->files.at[i].value;
		if (file && file->in_tree)
			sorted[count++] = file;
	}
	qsort(sorted, count, sizeof *sorted, file_path_compare);
	for (size_t i = 0; i < count; i++)
		directives_read(unit, sorted[i]);
}

static int node_place_compare(const void *a, const void *b)
{
	const struct ast_range *left = &(*(struct ast_node *const *)a)->range, *right = &(*(struct ast_node *const *)b)->range;
	/* Paths are interned: any fixed order of the pointers will do. */
	if (left->file != right->file)
		return (uintptr_t)left->file < (uintptr_t)right->file ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static bool range_holds(const struct ast_range *outer, const struct ast_range *inner)
{
	return outer->file == inner->file && outer->offset <= inner->offset && inner->offset < outer->end_offset;
}

/* Which top-level declaration an expansion stands in. */
static void place_expansions(struct unit *unit)
{
	size_t count = unit->unit.top.count;
	struct ast_node **sorted = arena_alloc(&unit->unit.arena, count * sizeof *sorted);
	if (count)
		memcpy(sorted, unit->unit.top.at, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, node_place_compare);
	for (size_t i = 0; i < unit->unit.expansions.count; i++) {
		struct ast_expansion *expansion = &unit->unit.expansions.at[i];
		struct ast_node probe = {.range = expansion->range};
		const struct ast_node *key = &probe;
		size_t low = 0, high = count;
		while (low < high) {
			size_t middle = (low + high) / 2;
			if (node_place_compare(&sorted[middle], &key) <= 0)
				low = middle + 1;
			else
				high = middle;
		}
		/* `typedef struct {…} x` overlap: the one that begins last need not be the one that holds it. */
		for (size_t back = 0; back < 4 && back < low && !expansion->enclosing; back++)
			if (range_holds(&sorted[low - 1 - back]->range, &expansion->range))
				expansion->enclosing = sorted[low - 1 - back];
	}
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* How many words, from this one on, say nothing about the source or are known to gcc only. */
static size_t words_dropped(const char *word)
{
	static const char *const alone[] = {"-pipe", "-pedantic-errors", "-fopenmp", "-fopenmp-simd", "-fopenacc",
	                                    "-fconserve-stack", "-fno-conserve-stack", "-rdynamic", "-s", NULL};
	static const char *const prefixes[] = {
	    "-Wa,", "-Wl,", "-Werror", "--param=", "-fopenmp=", "-fno-lto", "-ffat-lto", "-fno-fat-lto", "-fuse-ld=",
	    "-fno-ipa-", "-fipa-", "-fno-tree-", "-ftree-", "-fgcse", "-fno-gcse", "-fno-allow-store-data-races",
	    "-fallow-store-data-races", "-fno-var-tracking", "-fvar-tracking", "-fno-reorder-", "-freorder-", "-fno-partial-",
	    "-mpreferred-stack-boundary=", "-mindirect-branch", "-mfunction-return=", "-mrecord-mcount", "-fno-semantic-inter",
	    "-mno-fp-ret-in-387", "-mskip-rax-setup", "-fstack-check", "-fno-sched", "-fsched", "-femit-", "-fmin-function-align",
	    "-fanalyzer", NULL};
	if (strcmp(word, "--param") == 0)
		return 2;
	return text_is_one_of(word, alone) || text_starts_with_one_of(word, prefixes);
}

/* "aarch64-linux-gnu" of "aarch64-linux-gnu-gcc-12"; NULL: the host's compiler. */
static const char *target_of(struct arena *arena, const char *compiler)
{
	const char *base = path_base(compiler);
	static const char *const names[] = {"-gcc", "-cc", "-clang"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *at = strstr(base, names[i]);
		size_t size = strlen(names[i]);
		if (at && (at[size] == '\0' || at[size] == '-') && memchr(base, '-', (size_t)(at - base)))
			return arena_strndup(arena, base, (size_t)(at - base));
	}
	return NULL;
}

static void add_words(struct arena *arena, const struct compile_command *command, struct string_list *argv)
{
	struct string_list given = flags_given(arena, command), words = flags_kept(arena, &given);
	for (size_t i = 0; i < words.count; i++) {
		const char *word = words.at[i];
		size_t dropped = words_dropped(word);
		if (dropped) {
			i += dropped - 1;
			continue;
		}
		bool is_source = word[0] != '-' &&
		                 strcmp(path_clean(arena, path_join(arena, command->directory, word)), command->file) == 0;
		bool after_flag = i > 0 && (strcmp(words.at[i - 1], "-include") == 0 || strcmp(words.at[i - 1], "-imacros") == 0);
		if (!is_source || after_flag)
			list_push(arena, argv, word);
	}
}

static struct string_list clang_argv(struct arena *arena, const struct compile_command *command)
{
	struct string_list argv = {0};
	list_push(arena, &argv, "clang");
	/* First, so that a -x of the command has the last word. */
	if (text_ends(command->file, ".h")) {
		list_push(arena, &argv, "-x");
		list_push(arena, &argv, "c");
	}
	const char *target = target_of(arena, command->argv.count ? command->argv.at[0] : "cc");
	if (target)
		list_push(arena, &argv, arena_printf(arena, "--target=%s", target));
	add_words(arena, command, &argv);
	list_push(arena, &argv, "-fsyntax-only");
	list_push(arena, &argv, "-fno-openmp");
	list_push(arena, &argv, "-ferror-limit=0");
	list_push(arena, &argv, "-resource-dir=" CLANG_RESOURCES);
	list_push(arena, &argv, arena_printf(arena, "-working-directory=%s", command->directory));
	list_push(arena, &argv, "-Wno-everything");
	return argv;
}

/* ---- the unit ---------------------------------------------------------------------------------------------------- */

static void read_inclusion(CXFile handle, CXSourceLocation *stack, unsigned depth, CXClientData data)
{
	(void)stack;
	(void)depth;
	struct unit *unit = data;
	struct file *file = file_of(unit, handle);
	if (!file || !file->in_tree)
		return;
	struct string_list *files = &unit->unit.files;
	for (size_t i = 0; i < files->count; i++)
		if (strcmp(files->at[i], file->path) == 0)
			return;
	list_push(&unit->unit.arena, files, file->path);
}

static void read_diagnostics(struct unit *unit)
{
	struct arena *arena = &unit->unit.arena;
	unsigned count = clang_getNumDiagnostics(unit->tu);
	for (unsigned i = 0; i < count; i++) {
		CXDiagnostic diagnostic = clang_getDiagnostic(unit->tu, i);
		if (clang_getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error) {
			CXFile handle = NULL;
			unsigned line = 0;
			clang_getFileLocation(clang_getDiagnosticLocation(diagnostic), &handle, &line, NULL, NULL);
			struct file *file = file_of(unit, handle);
			const char *text = take(unit, clang_getDiagnosticSpelling(diagnostic));
			const char *path = file ? file->path : unit->unit.main_file;
			const char *relative = path_under(path, unit->unit.tree);
			path = relative ? relative : path;
			list_push(arena, &unit->unit.errors, file ? arena_printf(arena, "%s:%u: %s", path, line, text)
			                                          : arena_printf(arena, "%s: %s", path, text));
		}
		clang_disposeDiagnostic(diagnostic);
	}
}

enum status ast_parse(const struct compile_command *command, const char *tree, struct ast_unit **ret_unit,
                      struct err *err)
{
	*ret_unit = NULL;
	if (access(command->file, R_OK) != 0)
		return err_set(err, ST_INPUT, "%s: can't be read (%s): remove its compile command or bring the file back",
		               command->file, strerror(errno));
	struct arena arena;
	arena_init(&arena);
	struct unit *unit = arena_new(&arena, struct unit);
	unit->unit.arena = arena;
	struct arena *own = &unit->unit.arena;
	unit->unit.tree = path_clean(own, tree);
	unit->unit.main_file = arena_strdup(own, command->file);
	unit->directory = arena_strdup(own, command->directory);
	struct string_list argv = clang_argv(own, command);
	/* A crash must end the worker, where its cause can be told, instead of leaving half a front end alive. */
	clang_toggleCrashRecovery(0);
	unit->index = clang_createIndex(0, 0);
	unsigned flags = CXTranslationUnit_DetailedPreprocessingRecord | CXTranslationUnit_KeepGoing;
	enum CXErrorCode code = clang_parseTranslationUnit2FullArgv(unit->index, command->file, argv.at, (int)argv.count, NULL,
	                                                            0, flags, &unit->tu);
	if (code != CXError_Success || !unit->tu) {
		enum status status = err_set(err, ST_INPUT, "%s: the front end can't parse it with its compile command (%s): "
		                             "try the command by hand", command->file,
		                             code == CXError_ASTReadError ? "unreadable" : "it refuses the arguments");
		ast_unit_free(&unit->unit);
		return status;
	}
	CXCursor root = clang_getTranslationUnitCursor(unit->tu);
	clang_visitChildren(root, visit_macro, unit);
	sort_expansions(unit);
	struct open_node open = {root, NULL};
	list_push(own, &unit->open, open);
	clang_visitChildren(root, visit_node, unit);
	while (unit->open.count)
		close_node(unit);
	clang_getInclusions(unit->tu, read_inclusion, unit);
	read_directives(unit);
	place_expansions(unit);
	read_diagnostics(unit);
	size_t size = 0;
	const char *text = ast_file_text(&unit->unit, unit->unit.main_file, &size);
	for (const char *at = text; at && (at = memchr(at, '\n', size - (size_t)(at - text))) != NULL; at++)
		unit->unit.lines++;
	*ret_unit = &unit->unit;
	return ST_OK;
}

void ast_unit_free(struct ast_unit *handle)
{
	if (!handle)
		return;
	struct unit *unit = (struct unit *)handle;
	if (unit->tu)
		clang_disposeTranslationUnit(unit->tu);
	if (unit->index)
		clang_disposeIndex(unit->index);
	/* The unit itself lives in its arena. */
	struct arena arena = unit->unit.arena;
	arena_release(&arena);
}

const char *ast_file_text(const struct ast_unit *handle, const char *path, size_t *ret_size)
{
	/* Only caches change. */
	struct unit *unit = (struct unit *)handle;
	struct file *file = file_at(unit, path);
	const char *text = file ? file_text(unit, file) : NULL;
	if (ret_size)
		*ret_size = file ? file->size : 0;
	return text;
}

const char *ast_text(const struct ast_unit *handle, const struct ast_range *range)
{
	size_t size = 0;
	const char *text = range->file ? ast_file_text(handle, range->file, &size) : NULL;
	if (!text || range->end_offset > size)
		return NULL;
	return arena_strndup(&((struct unit *)handle)->unit.arena, text + range->offset, range->end_offset - range->offset);
}

/* ---- going about in the tree --------------------------------------------------------------------------------------- */

void ast_walk(struct ast_node *node, bool (*visit)(struct ast_node *node, void *context), void *context)
{
	if (!node || !visit(node, context))
		return;
	for (size_t i = 0; i < node->children.count; i++)
		ast_walk(node->children.at[i], visit, context);
}

struct ast_node *ast_strip(struct ast_node *node)
{
	while (node && node->children.count &&
	       (node->kind == AST_PAREN || (node->kind == AST_UNARY && node->op == OP_EXTENSION)))
		node = node->children.at[0];
	return node;
}

struct ast_node *ast_strip_casts(struct ast_node *node)
{
	for (;;) {
		node = ast_strip(node);
		if (!node || node->kind != AST_CAST || !node->children.count)
			return node;
		node = last_child(node);
	}
}

struct ast_node *ast_child(const struct ast_node *node, size_t index)
{
	return node && index < node->children.count ? node->children.at[index] : NULL;
}

struct ast_node *ast_operand(const struct ast_node *node, size_t index)
{
	return ast_strip_casts(ast_child(node, index));
}

struct ast_node *ast_above(const struct ast_node *node, enum ast_kind kind)
{
	struct ast_node *above = node->parent;
	while (above && above->kind != kind)
		above = above->parent;
	return above;
}

bool ast_is_loop(const struct ast_node *node)
{
	return node->kind == AST_FOR || node->kind == AST_WHILE || node->kind == AST_DO;
}
