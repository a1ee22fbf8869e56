#include "stage/build_cache.h"

#include "base/text.h"
#include "port/cache.h"
#include "port/flags.h"
#include "port/proc.h"
#include "port/tree.h"

#include <stdlib.h>
#include <sys/stat.h>

/* Options by which an object depends on more than the text, as beginnings of words; besides those that no command of ours
 * has (port/flags.h), but that may be a word of the compiler's name. */
static const char *const open_ended[] = {
	"-fprofile-", "-fbranch-probabilities", "-fauto-profile", "-fcs-profile", "-fthinlto", "-frandom-seed", "-ivfsoverlay",
	"-fsanitize-ignorelist", "-fsanitize-blacklist", "-fsave-optimization-record", "-Xclang", "-Xassembler", "-Wa,", "-mllvm", NULL};

/* Environment variables by which a compiler finds its parts. */
static const char *const environment[] = {"COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH", "CCC_OVERRIDE_OPTIONS", "PATH"};

static bool depends_on_more(const struct unit *unit)
{
	for (size_t i = 0; i < unit->argv.count; i++) {
		const char *word = unit->argv.at[i];
		bool ours = text_starts(word, "-ffile-prefix-map=");
		if (!ours && flag_strip(unit->argv.at + i, unit->argv.count - i))
			return true;
		/* On another host, "native" has another meaning. */
		if (text_starts_with_one_of(word, open_ended) || text_ends(word, "=native"))
			return true;
	}
	/* Assembly may read files by .incbin and .include that no preprocessor shows. */
	return !text_ends(unit->source, ".c");
}

/* Does the word only tell the preprocessor something, so that the text has it all? `ret_two`: and so does the next word. Debug
 * information may hold macros, and a switch may record the whole command. */
static bool preprocessor_only(const struct unit *unit, size_t index, bool *ret_two)
{
	static const char *const recording[] = {"-g3", "-ggdb3", "-fdebug-macro", "-frecord-", "-grecord-", NULL};
	const char *word = unit->argv.at[index];
	*ret_two = strcmp(word, "-D") == 0 || strcmp(word, "-U") == 0;
	if (!text_starts(word, "-D") && !text_starts(word, "-U"))
		return false;
	for (size_t i = 0; i < unit->argv.count; i++)
		if (text_starts_with_one_of(unit->argv.at[i], recording))
			return false;
	return true;
}

/* "PATH SIZE TIME" of the program as it is installed; NULL: it is not found. */
static const char *program_identity(struct arena *arena, const char *name)
{
	const char *path = program_find(arena, name);
	char *real = path ? realpath(path, NULL) : NULL;
	struct stat info;
	const char *identity = NULL;
	if (real && stat(real, &info) == 0)
		identity = arena_printf(arena, "%s %lld %lld.%09ld", real, (long long)info.st_size, (long long)info.st_mtim.tv_sec,
		                        info.st_mtim.tv_nsec);
	free(real);
	return identity;
}

/* The driver, the compiler proper that it starts (of gcc), and the assembler. "": not known; a wrapper such as ccache, or a
 * script, starts what nobody sees. */
static const char *compiler_identity(struct session *session, const char *name)
{
	struct object_cache *cache = &session->objects;
	for (size_t i = 0; i < cache->compilers.count; i++)
		if (strcmp(cache->compilers.at[i], name) == 0)
			return cache->identities.at[i];
	struct arena *arena = &session->arena;
	const char *driver = program_identity(arena, name), *assembler = program_identity(arena, "as"), *identity = "";
	bool is_gcc = driver && strstr(path_base(driver), "gcc"), is_clang = driver && strstr(path_base(driver), "clang");
	struct proc_request request = {.timeout_s = 10, .cpu = -1};
	struct proc_result result;
	struct err ignored = ERR_INIT;
	list_push(arena, &request.argv, name);
	list_push(arena, &request.argv, "-print-prog-name=cc1");
	if (assembler && is_clang) {
		identity = arena_printf(arena, "%s\n%s", driver, assembler);
	} else if (assembler && is_gcc && proc_run(arena, &request, &result, &ignored) == ST_OK && proc_ok(&result)) {
		const char *proper = program_identity(arena, arena_strndup(arena, result.out, strcspn(result.out, "\n")));
		if (proper)
			identity = arena_printf(arena, "%s\n%s\n%s", driver, proper, assembler);
	}
	list_push(arena, &cache->compilers, arena_strdup(arena, name));
	list_push(arena, &cache->identities, identity);
	return identity;
}

/* Appends `text` without the names of the copies: a tree is ".", the working folder "W". */
static char *append_neutral(char *end, const char *text, size_t size, const struct session *session, const struct variant *variant)
{
	size_t tree = strlen(variant->tree), work = strlen(session->workdir);
	const char *stop = text + size;
	for (const char *at = text; at < stop;) {
		const char *name = memmem(at, (size_t)(stop - at), session->workdir, work);
		size_t plain = name ? (size_t)(name - at) : (size_t)(stop - at);
		memcpy(end, at, plain);
		end += plain;
		at += plain;
		if (!name)
			break;
		bool is_tree = (size_t)(stop - at) >= tree && memcmp(at, variant->tree, tree) == 0;
		*end++ = is_tree ? '.' : 'W';
		at += is_tree ? tree : work;
	}
	return end;
}

const char *unit_key(struct session *session, const struct variant *variant, const struct unit *unit)
{
	if (!session->objects.folder || !unit->preprocessed || unit->argv.count == 0 || depends_on_more(unit))
		return NULL;
	const char *identity = compiler_identity(session, unit->argv.at[0]);
	if (!identity[0])
		return NULL;
	struct arena scratch;
	struct err ignored = ERR_INIT;
	arena_init(&scratch);
	const char *key = NULL, *text = NULL;
	size_t size = 0;
	if (file_read(&scratch, unit->preprocessed, &text, &size, &ignored) == ST_OK &&
	    !memmem(text, size, ".incbin", strlen(".incbin")) && !memmem(text, size, ".include", strlen(".include"))) {
		struct string_list words = {0};
		list_push(&scratch, &words, identity);
		for (size_t i = 0; i < sizeof environment / sizeof *environment; i++)
			list_push(&scratch, &words, getenv(environment[i]) ? getenv(environment[i]) : "-");
		list_push(&scratch, &words, unit->directory);
		for (size_t i = 0; i < unit->argv.count; i++) {
			bool two;
			if (preprocessor_only(unit, i, &two))
				i += two;
			else
				list_push(&scratch, &words, unit->argv.at[i]);
		}
		const char *head = text_join(&scratch, &words, "\n");
		char *whole = arena_alloc(&scratch, strlen(head) + size + 2), *end = whole;
		end = append_neutral(end, head, strlen(head), session, variant);
		*end++ = '\n';
		end = append_neutral(end, text, size, session, variant);
		key = cache_key(&session->arena, whole, (size_t)(end - whole));
	}
	arena_release(&scratch);
	return key;
}
