#include "port/flags.h"

#include "base/text.h"
#include "port/tree.h"

#include <stdio.h>
#include <stdlib.h>

/* A compile command is text that somebody else wrote. It may write beside its object, into the user's tree or the caller's
 * folder; it may make an object that holds no machine code; and it may have the compiler load a plugin, or start another
 * program in the place of its assembler or linker. None of these reaches a compiler that we start, nor the front end.
 *
 * Each word that is left is harmless as an option and as another option's value, so it doesn't matter which of the two a
 * compiler takes it for. Words that go past the driver are known to be harmless, or are left out. Read out of the
 * manuals and option tables of gcc 12 and clang 19. */
enum strip { STRIP_EXACT, STRIP_WITH_VALUE, STRIP_PREFIX };
static const struct {
	const char *text;
	enum strip how;
	const char *why;
} stripped_flags[] = {
    {"-c", STRIP_EXACT, "what to make is ours to say"},
    {"-S", STRIP_EXACT, "the same"},
    {"-E", STRIP_EXACT, "the same"},
    {"-fsyntax-only", STRIP_EXACT, "the same"},
    {"-emit-", STRIP_PREFIX, "the same"},
    {"-rewrite-", STRIP_PREFIX, "the same"},
    {"--analyze", STRIP_PREFIX, "the same"},
    {"--driver-mode", STRIP_PREFIX, "words would mean something else"},
    {"--", STRIP_EXACT, "what follows is no option"},
    {"@", STRIP_PREFIX, "words that were not looked at"},
    {"--config", STRIP_WITH_VALUE, "the same"},
    {"--config", STRIP_PREFIX, "the same"},
    {"-specs", STRIP_WITH_VALUE, "names programs to run"},
    {"--specs", STRIP_WITH_VALUE, "the same"},
    {"-specs", STRIP_PREFIX, "the same"},
    {"--specs", STRIP_PREFIX, "the same"},
    {"-B", STRIP_WITH_VALUE, "where the compiler looks for the programs that it runs"},
    {"-B", STRIP_PREFIX, "the same"},
    {"--prefix", STRIP_WITH_VALUE, "the same"},
    {"--prefix", STRIP_PREFIX, "the same"},
    {"-ccc-install-dir", STRIP_WITH_VALUE, "the same"},
    {"-ccc-gcc-name", STRIP_WITH_VALUE, "the same"},
    {"-ccc-", STRIP_PREFIX, "the same"},
    {"--gcc-toolchain", STRIP_PREFIX, "the same"},
    {"--gcc-install-dir", STRIP_PREFIX, "the same"},
    {"-fno-integrated-as", STRIP_EXACT, "an assembler out of --sysroot"},
    {"-no-integrated-as", STRIP_EXACT, "the same"},
    {"-wrapper", STRIP_WITH_VALUE, "a program to run"},
    {"--offload", STRIP_PREFIX, "programs of another toolchain"},
    {"--cuda", STRIP_PREFIX, "the same"},
    {"--hip", STRIP_PREFIX, "the same"},
    {"--ptxas", STRIP_PREFIX, "the same"},
    {"-foffload", STRIP_PREFIX, "the same"},
    {"-fopenmp-targets", STRIP_PREFIX, "the same"},
    {"-fplugin", STRIP_PREFIX, "code to load"},
    {"-fpass-plugin", STRIP_PREFIX, "the same"},
    {"-load", STRIP_PREFIX, "the same, past the driver"},
    {"-iplugindir", STRIP_PREFIX, "where it lies"},
    {"-fmodule", STRIP_PREFIX, "a program to ask, or a cache to write"},
    {"-o", STRIP_WITH_VALUE, "where the object goes"},
    {"-o", STRIP_PREFIX, "the same, joined"},
    {"--output", STRIP_WITH_VALUE, "the same"},
    {"--output=", STRIP_PREFIX, "the same"},
    {"-MF", STRIP_WITH_VALUE, "writes a dependency file"},
    {"-MJ", STRIP_WITH_VALUE, "writes a compile command"},
    {"-MT", STRIP_WITH_VALUE, "belongs to -MF"},
    {"-MQ", STRIP_WITH_VALUE, "the same"},
    {"-M", STRIP_PREFIX, "-M -MM -MD -MMD -MP -MG and joined values"},
    {"-gen-cdb-fragment-path", STRIP_WITH_VALUE, "writes a compile command"},
    {"--gen-cdb-fragment-path", STRIP_WITH_VALUE, "the same"},
    {"-save-temps", STRIP_PREFIX, "writes intermediate files"},
    {"--save-temps", STRIP_PREFIX, "the same"},
    {"-save-stats", STRIP_PREFIX, "writes statistics"},
    {"--save-stats", STRIP_PREFIX, "the same"},
    {"-time", STRIP_PREFIX, "may write a file"},
    {"-dumpdir", STRIP_WITH_VALUE, "where those go"},
    {"-dumpbase", STRIP_WITH_VALUE, "the same"},
    {"-dumpbase-ext", STRIP_WITH_VALUE, "the same"},
    {"-dependency-dot", STRIP_WITH_VALUE, "writes a graph"},
    {"-dependency-file", STRIP_WITH_VALUE, "writes a dependency file"},
    {"-d", STRIP_PREFIX, "dumps: -dD, -da, …"},
    {"-fdump", STRIP_PREFIX, "writes dumps"},
    {"-fdeps", STRIP_PREFIX, "writes dependencies"},
    {"-aux-info", STRIP_WITH_VALUE, "writes prototypes"},
    {"-aux-info=", STRIP_PREFIX, "the same"},
    {"-fstack-usage", STRIP_EXACT, "writes .su files"},
    {"-fcallgraph-info", STRIP_PREFIX, "writes .ci files"},
    {"-fopt-info", STRIP_PREFIX, "may write a file"},
    {"-fsave-optimization-record", STRIP_PREFIX, "writes remarks"},
    {"-foptimization-record", STRIP_PREFIX, "the same"},
    {"-fdiagnostics", STRIP_PREFIX, "may write a file; the messages are read here"},
    {"--serialize-diagnostics", STRIP_WITH_VALUE, "writes a file"},
    {"-serialize-diagnostics", STRIP_WITH_VALUE, "the same"},
    {"-ftime-trace", STRIP_PREFIX, "writes a trace"},
    {"-fproc-stat-report", STRIP_PREFIX, "writes a report"},
    {"-fcrash-diagnostics", STRIP_PREFIX, "may write a file"},
    {"-index-store-path", STRIP_WITH_VALUE, "writes an index"},
    {"-gsplit-dwarf", STRIP_PREFIX, "writes .dwo files"},
    {"-fprofile", STRIP_PREFIX, "counters in the code, .gcda files beside it"},
    {"-fcs-profile", STRIP_PREFIX, "the same"},
    {"-fauto-profile", STRIP_PREFIX, "the same"},
    {"-fbranch-probabilities", STRIP_EXACT, "reads .gcda files, which are not copied"},
    {"--coverage", STRIP_EXACT, "counters in the code, .gcno files"},
    {"-coverage", STRIP_EXACT, "the same"},
    {"-ftest-coverage", STRIP_EXACT, "writes .gcno files"},
    {"-fcoverage", STRIP_PREFIX, "the same"},
    {"-fcompare-debug", STRIP_PREFIX, "compiles twice"},
    {"-flto", STRIP_PREFIX, "objects would hold no machine code to compare"},
    {"-fwpa", STRIP_PREFIX, "the same"},
    {"-fltrans", STRIP_PREFIX, "the same"},
    {"-fresolution", STRIP_PREFIX, "the same"},
    {"-fembed-bitcode", STRIP_PREFIX, "the same"},
    {"-fthin-link-bitcode", STRIP_PREFIX, "the same"},
    {"-fuse-linker-plugin", STRIP_EXACT, "belongs to it"},
    {"-ffile-prefix-map", STRIP_PREFIX, "ours gives every copy the same text"},
    {"-fdebug-prefix-map", STRIP_PREFIX, "the same"},
    {"-fmacro-prefix-map", STRIP_PREFIX, "the same"},
};

/* What follows "-Wa,", "-Wp," or "-Wl,": each part must be known, or at least not be one of those that write or load. */
static bool parts_are_harmless(const char *parts, const char *const *known, const char *const *harmful)
{
	char part[256];
	bool symbol = false; /* --defsym has its value in a part of its own */
	while (*parts) {
		size_t size = strcspn(parts, ",");
		if (size >= sizeof part)
			return false;
		memcpy(part, parts, size);
		part[size] = '\0';
		parts += size + (parts[size] == ',');
		bool value = symbol && part[0] != '-' && part[0] != '@' && strchr(part, '=');
		if (known && !value && !text_starts_with_one_of(part, known))
			return false;
		if (harmful && text_starts_with_one_of(part, harmful))
			return false;
		symbol = strcmp(part, "--defsym") == 0;
	}
	return true;
}

/* For the preprocessor (which is the compiler, and loads plugins), the assembler, the linker. */
static bool passes_harm(const char *word)
{
	static const char *const to_preprocessor[] = {"-D", "-U", "-W", "-I", NULL};
	static const char *const to_assembler[] = {"-m", "-g", "-W", "-I", "--noexecstack", "--execstack", "--fatal-warnings",
	                                           "--no-warn", "--warn", "--defsym", "--compress-debug", "--nocompress-debug", NULL};
	static const char *const from_linker[] = {"-plugin", "--plugin", "-Map", "--Map", "-o", "--o", "@", "-dependency-file",
	                                          "--dependency-file", "-reproduce", "--reproduce", "--time-trace", "-lto", "--lto",
	                                          NULL};
	if (text_starts(word, "-Wp,"))
		return !parts_are_harmless(word + 4, to_preprocessor, NULL);
	if (text_starts(word, "-Wa,"))
		return !parts_are_harmless(word + 4, to_assembler, NULL);
	return text_starts(word, "-Wl,") && !parts_are_harmless(word + 4, NULL, from_linker);
}

/* -mllvm VALUE: a switch, or a number. What it names could be a file. */
static bool is_plain_switch(const char *value)
{
	static const char *const not[] = {"load", "file", "view", "dot", "dump", "plugin", "output"};
	const char *equals = strchr(value, '=');
	for (size_t i = 0; i < sizeof not / sizeof *not; i++)
		if (strstr(value, not[i]))
			return false;
	if (value[0] != '-' || !equals || strcmp(equals + 1, "true") == 0 || strcmp(equals + 1, "false") == 0)
		return value[0] == '-';
	char *end;
	(void)strtol(equals + 1, &end, 10);
	return end != equals + 1 && *end == '\0';
}

static size_t listed_strip(const char *const *words, size_t count)
{
	for (size_t i = 0; i < sizeof stripped_flags / sizeof *stripped_flags; i++) {
		const char *text = stripped_flags[i].text;
		if (stripped_flags[i].how == STRIP_PREFIX ? text_starts(words[0], text) : strcmp(words[0], text) == 0)
			return stripped_flags[i].how == STRIP_WITH_VALUE && count > 1 ? 2 : 1;
	}
	return 0;
}

/* -Xclang VALUE and its like: past the driver, where each option has values of its own. */
static size_t passed_strip(const char *const *words, size_t count)
{
	static const char *const harmless[] = {"-fno-", "+", NULL};
	bool clang = strcmp(words[0], "-Xclang") == 0 && count > 1, llvm = strcmp(words[0], "-mllvm") == 0 && count > 1;
	if (clang && strcmp(words[1], "-target-feature") == 0) {
		/* "+avx2" is harmless alone as well; "-avx2" only behind it. */
		bool whole = count > 3 && strcmp(words[2], words[0]) == 0;
		return whole && words[3][0] == '+' ? 0 : whole ? 4 : 2;
	}
	bool known = (clang && text_starts_with_one_of(words[1], harmless)) || (llvm && is_plain_switch(words[1]));
	if (known && !listed_strip(words + 1, 1))
		return 0;
	return count > 1 ? 2 : 1;
}

/* Which linker, where it is one that everybody has; else it is a program to run. */
static bool is_known_linker(const char *name)
{
	static const char *const known[] = {"bfd", "gold", "lld", "mold", NULL};
	return text_is_one_of(name, known);
}

static bool is_known_language(const char *name)
{
	static const char *const known[] = {"c", "c-header", "cpp-output", "c++", "c++-header", "assembler", "assembler-with-cpp",
	                                    "none", NULL};
	return text_is_one_of(name, known);
}

size_t flag_strip(const char *const *words, size_t count)
{
	const char *word = words[0];
	size_t listed = listed_strip(words, count);
	if (listed)
		return listed;
	if (text_starts(word, "-X") || strcmp(word, "-mllvm") == 0 || strcmp(word, "-mmlir") == 0)
		return passed_strip(words, count);
	if (text_starts(word, "-mllvm") || text_starts(word, "-mmlir") || passes_harm(word))
		return 1;
	if (text_starts(word, "-fuse-ld") || text_starts(word, "--ld-path"))
		return !text_starts(word, "-fuse-ld=") || !is_known_linker(word + 9);
	if (strcmp(word, "-x") == 0 || strcmp(word, "--language") == 0)
		return count > 1 && !is_known_language(words[1]) ? 2 : 0;
	if (text_starts(word, "-x") || text_starts(word, "--language="))
		return !is_known_language(word + (word[1] == 'x' ? 2 : 11));
	/* gcc reads "--plugin=x" as "-fplugin=x". */
	if (text_starts(word, "--")) {
		char spelled[256];
		int size = snprintf(spelled, sizeof spelled, "-f%s", word + 2);
		return size >= (int)sizeof spelled ? 1 : flag_strip((const char *const[]){spelled}, 1);
	}
	return 0;
}

struct string_list flags_kept(struct arena *arena, const struct string_list *words)
{
	struct string_list kept = {0};
	for (size_t i = 0; i < words->count;) {
		size_t left_out = flag_strip(words->at + i, words->count - i);
		if (!left_out)
			list_push(arena, &kept, words->at[i]);
		i += left_out ? left_out : 1;
	}
	return kept;
}

enum { RESPONSE_FILES = 64 };

struct expansion {
	struct arena *arena;
	const struct compile_command *command;
	struct string_list words;
	unsigned files; /* that were read: one may name itself */
};

static void expand(struct expansion *expansion, const char *word)
{
	const char *text = NULL;
	struct string_list more = {0};
	struct err ignored = ERR_INIT;
	if (word[0] != '@') {
		list_push(expansion->arena, &expansion->words, word);
		return;
	}
	const char *path = path_join(expansion->arena, expansion->command->directory, word + 1);
	if (expansion->files++ >= RESPONSE_FILES || file_read(expansion->arena, path, &text, NULL, &ignored) != ST_OK ||
	    !shell_split(expansion->arena, text, &more))
		return;
	for (size_t i = 0; i < more.count; i++)
		expand(expansion, more.at[i]);
}

struct string_list flags_given(struct arena *arena, const struct compile_command *command)
{
	struct expansion expansion = {.arena = arena, .command = command};
	for (size_t i = 1; i < command->argv.count; i++)
		expand(&expansion, command->argv.at[i]);
	return expansion.words;
}
