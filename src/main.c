/* assay: settles performance claims about C code. A map of the program:
 *
 *   main.c          signals, dispatch, the last write error
 *   cmd/            commands.c the table of commands · options.c the table of options, help, manual page, completion
 *                   scan.c explain.c try.c audit.c show.c log.c · work.c a run from its beginning to its report
 *                   settle.c ladder*.c the ladder of proof · gate.c --require, --forbid
 *                   output.c the report's way out, progress
 *   stage/          stages.h shows the flow on one screen: scan → hypothesize → build → compare → outputs → measure → judge
 *   patterns/       one file a pattern; the registry is generated
 *   report/         pure functions of the finished run: json.c, term.c
 *   port/           doors to the outside: ast (libclang), object (ELF, disassembly), patch (git), proc (fork, exec), store
 *                   (SQL), project (YAML), host (clocks, CPUs), workload (the protocol that measured programs speak)
 *   bench/          the runtime that is compiled into every workload
 *   model/          the nouns · base/ memory, errors, text, statistics
 *
 * Calls run down only; tests/layering enforces it.
 */
#include "cmd/cmd.h"

#include "base/text.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

/* The first signal asks to stop and keeps what is done; a second one ends the program at once. */
static void on_signal(int number)
{
	if (interrupted) {
		signal(number, SIG_DFL);
		raise(number);
	}
	interrupted = 1;
}

static void signals_set(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	/* A reader that is gone is a write error. Children get the default back (port/proc.c). */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

static const char *line_of(struct arena *arena, int argc, char **argv)
{
	struct string_list words = {0};
	list_push(arena, &words, "assay");
	for (int i = 1; i < argc; i++)
		list_push(arena, &words, shell_quote(arena, argv[i]));
	return text_join(arena, &words, " ");
}

static int dispatch(struct arena *arena, int argc, char **argv)
{
	struct err err = ERR_INIT;
	if (argc < 2) {
		help_program(stderr);
		return EXIT_USAGE;
	}
	const char *name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		help_program(stdout);
		return EXIT_DONE;
	}
	if (strcmp(name, "--version") == 0) {
		printf("assay %s\n", ASSAY_VERSION);
		return EXIT_DONE;
	}
	if (strcmp(name, "--man") == 0) {
		manual_print(stdout);
		return EXIT_DONE;
	}
	if (strcmp(name, "--bash-completion") == 0) {
		completion_bash_print(stdout);
		return EXIT_DONE;
	}
	if (strcmp(name, "--pattern-docs") == 0 && argc == 3)
		return pattern_docs_write(arena, argv[2]); /* docs/patterns */
	struct invocation invocation = {.command = command_find(name), .arena = arena, .interrupted = &interrupted};
	if (!invocation.command) {
		err_set(&err, ST_USAGE, "no command '%s': see `assay help`", name);
		return complain(&err);
	}
	/* Before the options are read: getopt moves operands to the end. */
	invocation.line = line_of(arena, argc, argv);
	if (options_parse(arena, invocation.command, argc - 1, argv + 1, &invocation.options, &err) != ST_OK)
		return complain(&err);
	if (invocation.options.help) {
		help_command(stdout, invocation.command);
		return EXIT_DONE;
	}
	return invocation.command->run(&invocation);
}

int main(int argc, char **argv)
{
	/* Which characters the terminal shows; numbers stay as C writes them. */
	setlocale(LC_CTYPE, "");
	signals_set();
	struct arena arena;
	arena_init(&arena);
	int code = dispatch(&arena, argc, argv);
	arena_release(&arena);
	errno = 0;
	if ((fflush(stdout) != 0 || ferror(stdout)) && code != EXIT_FAILED) {
		if (errno != EPIPE)
			fprintf(stderr, "assay: can't write to stdout: %s\n", strerror(errno ? errno : EIO));
		code = EXIT_FAILED;
	}
	return code;
}
