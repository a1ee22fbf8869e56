/* R01 register-hint: `register`, which compilers stopped listening to.
 *
 * The keyword suggests that a variable be kept in a register. gcc heeds it without optimisation only, clang never: both
 * colour the interference graph of all values, and know better which of them are needed next. What is left of it is that
 * the address of such a variable can't be taken.
 *
 * One finding a file, with all its places in one candidate: they stand and fall together, and an old file has hundreds.
 *
 * What must stay silent: a variable that is bound to a register by name (`register long a asm("r10")`), by a macro too; what
 * a macro writes; units that are compiled without optimisation; an implicit int, whose declaration would lose its only
 * specifier.
 */
#include "patterns/query.h"

#include "base/text.h"

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);

const struct pattern pattern_r01 = {
    .id = "R01",
    .slug = "register-hint",
    .title = "`register` on variables",
    .tier = TIER_A,
    .what = "The storage class `register` on variables and parameters in a file that is compiled with optimisation. Reported "
            "once for a file, with all its places in one candidate.",
    .why = "It costs nothing and gives nothing: an optimising compiler decides by itself what lives in a register, from when "
           "each value is used, which no keyword tells it. To readers it claims a knowledge that nobody has.",
    .when_not = "The build without optimisation has to be fast: there gcc still follows it. Or it is there so that taking the "
                "variable's address is an error.",
    .expected = "nothing: the same machine code (GCC manual, Hints: `register` affects code generation at -O0 only, but for "
                "explicit register variables)",
    .refuted_by = "Machine code that differs: then it is no removal, and a measurement decides.",
    .sources = (const char *const[]){"ISO/IEC 9899:2018, 6.7.1 Storage-class specifiers, paragraph 6",
                                     "Using the GNU Compiler Collection, C Implementation-Defined Behavior, Hints "
                                     "(https://gcc.gnu.org/onlinedocs/gcc/Hints-implementation.html)",
                                     "Gregory Chaitin, Register allocation and spilling via graph coloring, SIGPLAN Symposium on "
                                     "Compiler Construction 1982",
                                     NULL},
    .detect = detect,
};

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

/* A place in the text of a file. What is read are tokens: words, numbers, quoted strings whole, other bytes one by one.
 * Comments and directives are passed over. */
struct scanner {
	const char *text;
	size_t size, at;
	bool line_start;
};

struct token {
	size_t at, size; /* size 0: the end */
	bool word;
};

static bool scanner_sees(const struct scanner *scanner, const char *mark)
{
	size_t size = strlen(mark);
	return scanner->size - scanner->at >= size && memcmp(scanner->text + scanner->at, mark, size) == 0;
}

static void skip_comment(struct scanner *scanner)
{
	bool block = scanner_sees(scanner, "/*");
	for (scanner->at += 2; scanner->at < scanner->size; scanner->at++) {
		if (block && scanner_sees(scanner, "*/")) {
			scanner->at += 2;
			return;
		}
		if (!block && scanner->text[scanner->at] == '\n' && scanner->text[scanner->at - 1] != '\\')
			return;
	}
}

static void skip_directive(struct scanner *scanner)
{
	while (scanner->at < scanner->size) {
		if (scanner_sees(scanner, "/*")) {
			skip_comment(scanner);
			continue;
		}
		if (scanner->text[scanner->at] == '\n' && scanner->text[scanner->at - 1] != '\\')
			return;
		scanner->at++;
	}
}

static struct token token_next(struct scanner *scanner)
{
	while (scanner->at < scanner->size) {
		char c = scanner->text[scanner->at];
		if (c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
			scanner->line_start |= c == '\n';
			scanner->at++;
		} else if (scanner_sees(scanner, "/*") || scanner_sees(scanner, "//")) {
			skip_comment(scanner);
		} else if (c == '#' && scanner->line_start) {
			skip_directive(scanner);
		} else {
			break;
		}
	}
	struct token token = {.at = scanner->at};
	if (scanner->at >= scanner->size)
		return token;
	scanner->line_start = false;
	char c = scanner->text[scanner->at++];
	token.word = text_is_word(c);
	while (token.word && scanner->at < scanner->size && text_is_word(scanner->text[scanner->at]))
		scanner->at++;
	if (c == '"' || c == '\'') {
		while (scanner->at < scanner->size && scanner->text[scanner->at] != c && scanner->text[scanner->at] != '\n')
			scanner->at += scanner->text[scanner->at] == '\\' && scanner->at + 1 < scanner->size ? 2 : 1;
		scanner->at += scanner->at < scanner->size;
	}
	token.size = scanner->at - token.at;
	return token;
}

static bool token_is(const struct scanner *scanner, struct token token, const char *word)
{
	return token.size == strlen(word) && memcmp(scanner->text + token.at, word, token.size) == 0;
}

/* ---- what the unit says of a place ------------------------------------------------------------------------------- */

static bool is_skipped(const struct ast_unit *unit, const char *file, size_t offset)
{
	for (size_t i = 0; i < unit->branches.count; i++) {
		const struct ast_branch *branch = &unit->branches.at[i];
		if (branch->skipped && branch->body <= offset && offset < branch->range.end_offset &&
		    text_equal(branch->range.file, file))
			return true;
	}
	return false;
}

/* Whether a macro that is expanded in [begin, end) holds the place, or may bind a variable to a register by its name. */
static bool is_of_macro(const struct ast_unit *unit, const char *file, size_t place, size_t begin, size_t end)
{
	for (size_t i = 0; i < unit->expansions.count; i++) {
		const struct ast_expansion *expansion = &unit->expansions.at[i];
		const struct ast_range *range = &expansion->range;
		if (range->end_offset <= begin || range->offset >= end || !text_equal(range->file, file))
			continue;
		const char *body = expansion->macro == SIZE_MAX ? "" : unit->macros.at[expansion->macro].body;
		if ((range->offset <= place && place < range->end_offset) || strcasestr(body, "asm") ||
		    strcasestr(expansion->name, "asm"))
			return true;
	}
	return false;
}

/* The function around a place, or "". */
static const char *function_at(const struct ast_unit *unit, const char *file, size_t offset)
{
	for (size_t i = 0; i < unit->top.count; i++) {
		const struct ast_node *node = unit->top.at[i];
		if (node->kind == AST_FUNCTION && node->is_definition && node->range.offset <= offset &&
		    offset < node->range.end_offset && text_equal(node->range.file, file))
			return node->name ? node->name : "";
	}
	return "";
}

/* ---- the places -------------------------------------------------------------------------------------------------- */

static bool is_specifier(const struct scanner *scanner, struct token token)
{
	static const char *const words[] = {"int", "char", "short", "long", "unsigned", "signed", "float", "double", "void", "_Bool",
	                                    "const", "volatile", "struct", "union", "enum", "restrict", "static", NULL};
	for (size_t i = 0; words[i]; i++)
		if (token_is(scanner, token, words[i]))
			return true;
	return false;
}

/* Whether the declaration stays one without the `register` that was just read, and nothing binds its variables to
 * registers by name. `before` is the token before it. */
static bool is_removable(const struct ast_unit *unit, const char *file, const struct scanner *behind, struct token before,
                         struct token keyword)
{
	struct scanner ahead = *behind;
	struct token first = token_next(&ahead), second = token_next(&ahead);
	if (!first.word)
		return false;
	bool typed = (before.word && !token_is(behind, before, "else") && !token_is(behind, before, "do")) ||
	             is_specifier(behind, first);
	if (!typed && !second.word && behind->text[second.at] != '*' && behind->text[second.at] != '(')
		return false;
	size_t end = keyword.at;
	ahead = *behind;
	for (int depth = 0; depth >= 0;) {
		struct token token = token_next(&ahead);
		char c = token.size ? behind->text[token.at] : '\0';
		if (token_is(behind, token, "asm") || token_is(behind, token, "__asm__") || token_is(behind, token, "__asm"))
			return false;
		depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
		if (!token.size || (c == ';' && depth == 0))
			break;
		end = ahead.at;
	}
	return !is_of_macro(unit, file, keyword.at, keyword.at, end) && !is_skipped(unit, file, keyword.at);
}

/* ---- the finding ------------------------------------------------------------------------------------------------- */

static struct ast_range range_at(const char *file, const char *text, size_t offset)
{
	struct ast_range range = {.file = file, .line = 1, .column = 1, .offset = offset};
	for (size_t i = 0; i < offset; i++) {
		range.column = text[i] == '\n' ? 1 : range.column + 1;
		range.line += text[i] == '\n';
	}
	return range;
}

static void detect_file(const struct ast_unit *unit, const char *file, struct pattern_sink *sink)
{
	size_t size = 0, places = 0;
	const char *text = ast_file_text(unit, file, &size);
	if (!text || !memmem(text, size, "register", 8))
		return;
	struct scanner scanner = {.text = text, .size = size, .line_start = true};
	struct finding *finding = NULL;
	struct token before = {0};
	for (struct token token; (token = token_next(&scanner)).size; before = token) {
		if (!token_is(&scanner, token, "register") || !is_removable(unit, file, &scanner, before, token))
			continue;
		if (!finding) {
			struct ast_range range = range_at(file, text, token.at);
			finding = finding_new(sink, unit, &pattern_r01, &range, function_at(unit, file, token.at), SEVERITY_LOW,
			                      "`register`, which an optimising compiler doesn't listen to");
		}
		size_t length = token.size;
		while (token.at + length < size && (text[token.at + length] == ' ' || text[token.at + length] == '\t'))
			length++;
		finding_edit(sink, finding, token.at, length, "");
		places++;
	}
	if (places > 1)
		finding->message = arena_printf(sink->arena, "%s: here and in %zu more places of the file", finding->message, places - 1);
	if (finding)
		finding->evidence = "compiled with optimisation; the candidate takes it out everywhere in the file";
}

/* Without optimisation gcc does follow it. */
static bool is_optimised(const struct compile_command *command)
{
	bool optimised = command->guessed;
	for (size_t i = 0; i < command->argv.count; i++)
		if (text_starts(command->argv.at[i], "-O"))
			optimised = command->argv.at[i][2] != '0';
	return optimised;
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	for (size_t i = 0; is_optimised(command) && i < unit->files.count; i++)
		detect_file(unit, unit->files.at[i], sink);
}

#if 0 /* assay example: equal */
#include <assay/bench.h>
#include <stdlib.h>

struct text {
	char bytes[4096];
	size_t lines;
};

static __attribute__((noinline)) size_t count_lines(register const char *at, register size_t size) // finds
{
	register const char *end = at + size;
	register size_t lines = 0;
	while (at < end)
		lines += *at++ == '\n';
	return lines;
}

static void *setup(struct assay_bench *b)
{
	struct text *text = calloc(1, sizeof *text);
	(void)b;
	for (size_t i = 0; i < sizeof text->bytes; i++)
		text->bytes[i] = i % 37 ? 'a' : '\n';
	return text;
}

static void run(void *state, uint64_t iterations)
{
	struct text *text = state;
	for (uint64_t i = 0; i < iterations; i++) {
		text->lines = count_lines(text->bytes, sizeof text->bytes);
		assay_keep(text);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct text *text = state;
	size_t sizes[] = {0, 1, 36, sizeof text->bytes};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t lines = count_lines(text->bytes, sizes[i]);
		assay_output(b, "lines", &lines, sizeof lines);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: equal fixed */
#include <assay/bench.h>
#include <stdlib.h>

struct text {
	char bytes[4096];
	size_t lines;
};

static __attribute__((noinline)) size_t count_lines(const char *at, size_t size) // finds
{
	const char *end = at + size;
	size_t lines = 0;
	while (at < end)
		lines += *at++ == '\n';
	return lines;
}

static void *setup(struct assay_bench *b)
{
	struct text *text = calloc(1, sizeof *text);
	(void)b;
	for (size_t i = 0; i < sizeof text->bytes; i++)
		text->bytes[i] = i % 37 ? 'a' : '\n';
	return text;
}

static void run(void *state, uint64_t iterations)
{
	struct text *text = state;
	for (uint64_t i = 0; i < iterations; i++) {
		text->lines = count_lines(text->bytes, sizeof text->bytes);
		assay_keep(text);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct text *text = state;
	size_t sizes[] = {0, 1, 36, sizeof text->bytes};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t lines = count_lines(text->bytes, sizes[i]);
		assay_output(b, "lines", &lines, sizeof lines);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
#endif

#if 0 /* assay example: also declarations of every kind */
#include <stddef.h>

struct list {
	struct list *next;
};

size_t list_length(const struct list *list)
{
	register size_t length = 0; // finds
	register const struct list *at;
	const register struct list *end = NULL;
	for (at = list; at != end; at = at->next)
		length++;
	for (register size_t i = 0; i < length; i++)
		if (i > 1000)
			return i;
	return length;
}

int (*chosen(register int which, int (*const table[])(int)))(int)
{
	register int (*function)(int) = table[which];
	return function;
}

/* The style of before 1989. */
int largest(a, b)
	register int a;
	register unsigned char b;
{
	return a > b ? a : b;
}
#endif

#if 0 /* assay example: also declarations of every kind fixed */
#include <stddef.h>

struct list {
	struct list *next;
};

size_t list_length(const struct list *list)
{
	size_t length = 0; // finds
	const struct list *at;
	const struct list *end = NULL;
	for (at = list; at != end; at = at->next)
		length++;
	for (size_t i = 0; i < length; i++)
		if (i > 1000)
			return i;
	return length;
}

int (*chosen(int which, int (*const table[])(int)))(int)
{
	int (*function)(int) = table[which];
	return function;
}

/* The style of before 1989. */
int largest(a, b)
	int a;
	unsigned char b;
{
	return a > b ? a : b;
}
#endif

#if 0 /* assay example: lookalike bound by name */
long call(long number, long argument)
{
	register long result __asm__("rax") = number;
	register long first __asm__("rdi") = argument;
	__asm__ volatile("" : "+r"(result) : "r"(first) : "memory");
	return result;
}

#define IN(name) __asm__(name)
long call_by_macro(long number)
{
	register long result IN("rax") = number;
	__asm__ volatile("" : "+r"(result));
	return result;
}
#endif

#if 0 /* assay example: lookalike without optimisation */
// flags: -O0
int sum(const int *values, int count)
{
	register int total = 0;
	for (register int i = 0; i < count; i++)
		total += values[i];
	return total;
}
#endif

#if 0 /* assay example: lookalike not in the code */
/* A register of the chip. */
#define FAST register
#define DECLARE(name) register int name = 1
struct device {
	int register_count;
};
const char *name_of(const struct device *device)
{
	FAST int count = device->register_count;
	DECLARE(one);
#ifdef SLOW_COMPILER
	register int other = 1;
	count += other;
#endif
	return count > one ? "register" : "none";
}
#endif

#if 0 /* assay example: lookalike implicit int */
// flags: -O2 -std=gnu89 -Wno-implicit-int
int sum(const int *values)
{
	register i = 0, total = 0;
	for (; i < 4; i++)
		total += values[i];
	return total;
}
#endif
