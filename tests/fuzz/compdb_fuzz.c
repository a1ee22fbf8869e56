/* The reader of compile_commands.json: any bytes give commands, problems or one error, never a crash. */
#include "port/compdb.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	arena_init(&arena);
	struct compdb commands;
	struct string_list problems;
	struct err err = ERR_INIT;
	enum status status =
	    compdb_parse(&arena, (const char *)data, size, "/p/compile_commands.json", &commands, &problems, &err);
	if ((status == ST_OK) != (err.code == ST_OK) || (status != ST_OK && commands.count))
		BUG("status and error disagree");
	for (size_t i = 0; i < commands.count; i++) {
		const struct compile_command *command = &commands.at[i];
		if (command->file[0] != '/' || command->directory[0] != '/' || command->argv.count == 0 ||
		    command->argv.at[0][0] == '\0' || command->guessed)
			BUG("command %zu is not what the header promises", i);
	}
	arena_release(&arena);
	return 0;
}
