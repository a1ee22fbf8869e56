#include "port/command.h"

#include "base/text.h"

enum { SAID_LINES = 5 };

bool command_words(struct arena *arena, const char *text, bool shell, struct string_list *ret_argv)
{
	if (!shell)
		return shell_split(arena, text, ret_argv) && ret_argv->count > 0;
	list_push(arena, ret_argv, "/bin/sh");
	list_push(arena, ret_argv, "-c");
	list_push(arena, ret_argv, text);
	return text[strspn(text, " \t\n")] != '\0';
}

struct proc_request command_request(const struct variant *variant, int cpu, double timeout_s,
                                    const volatile sig_atomic_t *interrupted)
{
	return (struct proc_request){
	    .argv = variant->command->argv,
	    .env = variant->env,
	    .directory = variant->command->directory,
	    .stdin_path = variant->command->stdin_path,
	    .timeout_s = timeout_s,
	    .cpu = cpu >= 0 ? cpu : -1,
	    .interrupted = interrupted,
	};
}

const char *command_failure(struct arena *arena, const struct proc_request *request, const struct proc_result *result)
{
	if (proc_ok(result))
		return NULL;
	const char *how = proc_describe(arena, request, result);
	const char *said = text_tail(arena, result->err, SAID_LINES);
	return said[0] ? arena_printf(arena, "%s: %s", how, said) : how;
}
