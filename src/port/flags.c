#include "port/flags.h"

#include "base/text.h"

/* A compile command may write beside its object, into the user's tree or the caller's folder; or make an object that
 * holds no machine code. None of these reaches a compiler that we start. */
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
    {"-o", STRIP_WITH_VALUE, "where the object goes"},
    {"-o", STRIP_PREFIX, "the same, joined"},
    {"--output", STRIP_WITH_VALUE, "the same"},
    {"--output=", STRIP_PREFIX, "the same"},
    {"-MF", STRIP_WITH_VALUE, "writes a dependency file"},
    {"-MT", STRIP_WITH_VALUE, "belongs to it"},
    {"-MQ", STRIP_WITH_VALUE, "belongs to it"},
    {"-M", STRIP_PREFIX, "-M -MM -MD -MMD -MP -MG and joined values"},
    {"-Wp,-M", STRIP_PREFIX, "the same, as the kernel's build writes it"},
    {"-Wa,-a", STRIP_PREFIX, "writes a listing"},
    {"-save-temps", STRIP_PREFIX, "writes intermediate files"},
    {"--save-temps", STRIP_PREFIX, "the same"},
    {"-dumpdir", STRIP_WITH_VALUE, "where those go"},
    {"-dumpbase", STRIP_WITH_VALUE, "the same"},
    {"-dumpbase-ext", STRIP_WITH_VALUE, "the same"},
    {"-d", STRIP_PREFIX, "dumps: -dD, -da, …"},
    {"-fdump", STRIP_PREFIX, "writes dumps"},
    {"-aux-info", STRIP_WITH_VALUE, "writes prototypes"},
    {"-fstack-usage", STRIP_EXACT, "writes .su files"},
    {"-fcallgraph-info", STRIP_PREFIX, "writes .ci files"},
    {"-fopt-info", STRIP_PREFIX, "may write a file"},
    {"-fsave-optimization-record", STRIP_PREFIX, "writes remarks"},
    {"-foptimization-record", STRIP_PREFIX, "the same"},
    {"-fdiagnostics", STRIP_PREFIX, "may write a file; the messages are read here"},
    {"--serialize-diagnostics", STRIP_WITH_VALUE, "writes a file"},
    {"-serialize-diagnostics", STRIP_WITH_VALUE, "the same"},
    {"-ftime-trace", STRIP_PREFIX, "writes a trace"},
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
    {"-fmodule", STRIP_PREFIX, "writes a module cache"},
    {"-fplugin", STRIP_PREFIX, "runs code of the project"},
    {"-wrapper", STRIP_WITH_VALUE, "the same"},
    {"-specs", STRIP_PREFIX, "may name any file"},
    {"--specs", STRIP_PREFIX, "the same"},
    {"-fcompare-debug", STRIP_PREFIX, "compiles twice"},
    {"-flto", STRIP_PREFIX, "objects would hold no machine code to compare"},
    {"-fuse-linker-plugin", STRIP_EXACT, "belongs to it"},
    {"-ffile-prefix-map", STRIP_PREFIX, "ours gives every copy the same text"},
    {"-fdebug-prefix-map", STRIP_PREFIX, "the same"},
    {"-fmacro-prefix-map", STRIP_PREFIX, "the same"},
};

size_t flag_strip(const char *const *words, size_t count)
{
	for (size_t i = 0; i < sizeof stripped_flags / sizeof *stripped_flags; i++) {
		const char *text = stripped_flags[i].text;
		if (stripped_flags[i].how == STRIP_PREFIX ? text_starts(words[0], text) : strcmp(words[0], text) == 0)
			return stripped_flags[i].how == STRIP_WITH_VALUE && count > 1 ? 2 : 1;
	}
	/* What goes past the driver is known by its word: -Xclang -dependency-file -Xclang x.d */
	bool passes = strcmp(words[0], "-Xclang") == 0 || strcmp(words[0], "-Xpreprocessor") == 0;
	if (passes && count > 1 && (strstr(words[1], "file") || strstr(words[1], "-M") || strcmp(words[1], "-o") == 0))
		return count > 3 && strcmp(words[2], words[0]) == 0 ? 4 : 2;
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
