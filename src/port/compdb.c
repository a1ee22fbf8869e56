#include "port/compdb.h"

#include "base/text.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PROBLEMS_KEPT = 20 };

struct reading {
	struct arena *arena;
	const char *path, *folder;
	struct compdb *commands;
	struct string_list *problems;
	size_t problem_count;
};

static __attribute__((format(printf, 3, 4))) void problem(struct reading *reading, size_t entry, const char *fmt, ...)
{
	if (++reading->problem_count > PROBLEMS_KEPT)
		return;
	va_list ap;
	va_start(ap, fmt);
	const char *what = arena_vprintf(reading->arena, fmt, ap);
	va_end(ap);
	list_push(reading->arena, reading->problems,
	          arena_printf(reading->arena, "%s: entry %zu is skipped: %s", reading->path, entry + 1, what));
}

static bool is_launcher(const char *word)
{
	static const char *const names[] = {"ccache", "sccache", "distcc", "icecc", "gomacc", "buildcache"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(path_base(word), names[i]) == 0)
			return true;
	return false;
}

/* The words of an entry; false: a problem was recorded. */
static bool entry_words(struct reading *reading, size_t index, const json_t *entry, struct string_list *ret_words)
{
	struct arena *arena = reading->arena;
	struct string_list words = {0};
	const json_t *arguments = json_object_get(entry, "arguments");
	const json_t *command = json_object_get(entry, "command");
	if (json_is_array(arguments)) {
		for (size_t i = 0; i < json_array_size(arguments); i++) {
			const char *word = json_string_value(json_array_get(arguments, i));
			if (!word) {
				problem(reading, index, "word %zu of \"arguments\" is not a string: write it as one", i + 1);
				return false;
			}
			list_push(arena, &words, arena_strdup(arena, word));
		}
	} else if (json_is_string(command)) {
		if (!shell_split(arena, json_string_value(command), &words)) {
			problem(reading, index, "a quote is left open in \"command\": close it or use \"arguments\"");
			return false;
		}
	} else {
		problem(reading, index, "it has neither \"arguments\" (an array) nor \"command\" (a string): generate the file again");
		return false;
	}
	size_t skip = 0;
	while (skip + 1 < words.count && is_launcher(words.at[skip]) && words.at[skip + 1][0] != '-')
		skip++;
	for (size_t i = skip; i < words.count; i++)
		list_push(arena, ret_words, words.at[i]);
	if (ret_words->count == 0 || !ret_words->at[0][0]) {
		problem(reading, index, "its command is empty: generate the file again");
		return false;
	}
	return true;
}

static void entry_read(struct reading *reading, size_t index, const json_t *entry)
{
	struct arena *arena = reading->arena;
	const char *file = json_string_value(json_object_get(entry, "file"));
	const char *directory = json_string_value(json_object_get(entry, "directory"));
	if (!json_is_object(entry)) {
		problem(reading, index, "it is not an object: generate the file again");
		return;
	}
	if (!file || !file[0] || !directory || !directory[0]) {
		problem(reading, index, "it has no \"%s\" (a string): generate the file again", file && file[0] ? "directory" : "file");
		return;
	}
	struct compile_command command = {0};
	command.directory = path_clean(arena, path_join(arena, reading->folder, directory));
	command.file = path_clean(arena, path_join(arena, command.directory, file));
	if (entry_words(reading, index, entry, &command.argv))
		list_push(arena, reading->commands, command);
}

enum status compdb_parse(struct arena *arena, const char *text, size_t size, const char *path,
                         struct compdb *ret_commands, struct string_list *ret_problems, struct err *err)
{
	*ret_commands = (struct compdb){0};
	*ret_problems = (struct string_list){0};
	json_error_t json_error;
	json_t *root = json_loadb(text, size, 0, &json_error);
	if (!root)
		return err_set(err, ST_INPUT, "%s:%d: not valid JSON (%s): generate the file again, for instance with cmake "
		               "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON or bear", path, json_error.line, json_error.text);
	if (!json_is_array(root)) {
		json_decref(root);
		return err_set(err, ST_INPUT, "%s: not a list of compile commands (the file must begin with '['): name a "
		               "compile_commands.json", path);
	}
	struct reading reading = {.arena = arena, .path = path, .folder = path_dir(arena, path), .commands = ret_commands,
	                          .problems = ret_problems};
	for (size_t i = 0; i < json_array_size(root); i++)
		entry_read(&reading, i, json_array_get(root, i));
	json_decref(root);
	if (reading.problem_count > PROBLEMS_KEPT)
		list_push(arena, ret_problems, arena_printf(arena, "%s: %zu more entries are skipped for such reasons", path,
		                                            reading.problem_count - PROBLEMS_KEPT));
	return ST_OK;
}

enum status compdb_read(struct arena *arena, const char *path, struct compdb *ret_commands,
                        struct string_list *ret_problems, struct err *err)
{
	*ret_commands = (struct compdb){0};
	*ret_problems = (struct string_list){0};
	FILE *file = fopen(path, "re");
	if (!file)
		return err_set(err, ST_INPUT, "%s: can't be read (%s): name the folder of compile_commands.json with -p", path,
		               strerror(errno));
	char *text = NULL;
	size_t size = 0, cap = 0;
	enum status status = ST_OK;
	for (;;) {
		if (size == cap) {
			cap = cap ? 2 * cap : 1 << 16;
			char *larger = realloc(text, cap);
			if (!larger) {
				status = err_set(err, ST_SYSTEM, "%s: out of memory after %zu bytes", path, size);
				break;
			}
			text = larger;
		}
		size_t got = fread(text + size, 1, cap - size, file);
		size += got;
		if (got == 0)
			break;
	}
	if (status == ST_OK && ferror(file))
		status = err_set(err, ST_INPUT, "%s: can't be read (%s): name a compile_commands.json", path, strerror(errno));
	fclose(file);
	if (status == ST_OK)
		status = compdb_parse(arena, text, size, path, ret_commands, ret_problems, err);
	free(text);
	return status;
}

static void include_when_there(struct arena *arena, struct string_list *argv, const char *folder)
{
	struct stat info;
	if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
		return;
	const char *flag = arena_printf(arena, "-I%s", folder);
	for (size_t i = 0; i < argv->count; i++)
		if (strcmp(argv->at[i], flag) == 0)
			return;
	list_push(arena, argv, flag);
}

struct compile_command compdb_guess(struct arena *arena, const char *file, const char *tree)
{
	struct compile_command command = {.file = arena_strdup(arena, file), .directory = arena_strdup(arena, tree),
	                                  .guessed = true};
	static const char *const usual[] = {"include", "src", "lib", "inc"};
	struct string_list argv = {0};
	list_push(arena, &argv, "cc");
	list_push(arena, &argv, "-std=gnu17");
	/* The file's folder and those above it, nearest first, each with its include folder: how most trees are laid out. */
	for (const char *at = path_dir(arena, file); path_under(at, tree); at = path_dir(arena, at)) {
		include_when_there(arena, &argv, at);
		include_when_there(arena, &argv, path_join(arena, at, "include"));
		if (strcmp(at, tree) == 0 || strcmp(at, "/") == 0)
			break;
	}
	include_when_there(arena, &argv, tree);
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		include_when_there(arena, &argv, path_join(arena, tree, usual[i]));
	list_push(arena, &argv, "-c");
	list_push(arena, &argv, command.file);
	command.argv = argv;
	return command;
}
