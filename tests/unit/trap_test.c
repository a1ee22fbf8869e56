/* Breakpoints in native programs: what is entered, what is not, and what can't be watched. */
#include "base/text.h"
#include "port/trap.h"
#include "port/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

struct fixture {
	struct arena arena;
	char dir[64];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	arena_init(&f->arena);
	strcpy(f->dir, "/tmp/assay-trap-XXXXXX");
	*state = f;
	return mkdtemp(f->dir) ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	struct err err = ERR_INIT;
	enum status status = tree_remove(f->dir, &err);
	arena_release(&f->arena);
	free(f);
	return status == ST_OK ? 0 : -1;
}

/* `once` is called for its arguments "once"; `never` is kept and never called; the rest does what its name says. */
static const char source[] =
    "#include <pthread.h>\n#include <signal.h>\n#include <string.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"
    "volatile int sink;\n"
    "__attribute__((noinline, used)) int never(int x) { return x * 3 + sink; }\n"
    "__attribute__((noinline, used)) int once(int x) { return x * 5 + sink; }\n"
    "extern void inner(void);\n" /* as assembly does it: another entry, in the middle */
    "__asm__(\".text\\n.globl outer, inner\\n.type outer, @function\\nouter:\\nnop\\nnop\\ninner:\\nret\\n.size outer, .-outer\\n\");\n"
    "static void *idle(void *x) { return x; }\n"
    "static void caught(int s) { sink = s; }\n"
    "int main(int argc, char **argv) {\n"
    "  const char *what = argc > 1 ? argv[1] : \"\";\n"
    "  for (int i = 0; i < 1000; i++) sink += i;\n"
    "  if (!strcmp(what, \"once\")) sink = once(2);\n"
    "  if (!strcmp(what, \"inner\")) inner();\n"
    "  if (!strcmp(what, \"fail\")) return 3;\n"
    "  if (!strcmp(what, \"hang\")) for (;;) pause();\n"
    "  if (!strcmp(what, \"fork\")) { if (fork() == 0) _exit(0); wait(0); }\n"
    "  if (!strcmp(what, \"thread\")) { pthread_t t; pthread_create(&t, 0, idle, 0); pthread_join(t, 0); }\n"
    "  if (!strcmp(what, \"signal\")) { signal(SIGUSR1, caught); raise(SIGUSR1); return sink == SIGUSR1 ? 0 : 4; }\n"
    "  if (!strcmp(what, \"abort\")) raise(SIGABRT);\n"
    "  return 0;\n}\n";

static const char *program_make(struct fixture *f, const char *flags)
{
	struct arena *arena = &f->arena;
	const char *path = path_join(arena, f->dir, "x.c"), *program = arena_printf(arena, "%s/program%s", f->dir, flags);
	struct err err = ERR_INIT;
	struct proc_request request = {.cpu = -1, .timeout_s = 60};
	struct proc_result result;
	assert_int_equal(file_write(path, source, strlen(source), &err), ST_OK);
	assert_true(shell_split(arena, arena_printf(arena, "gcc -O2 %s %s -lpthread -o %s", flags, path, program), &request.argv));
	assert_int_equal(proc_run(arena, &request, &result, &err), ST_OK);
	if (!proc_ok(&result))
		fail_msg("%s", result.err);
	return program;
}

static enum trap_end watch(struct fixture *f, const char *path, const char *what, const char *name, double timeout_s,
                           const char **ret_text)
{
	struct program program;
	struct err err = ERR_INIT;
	assert_int_equal(program_open(&f->arena, path, &program, &err), ST_OK);
	bool *watched = arena_alloc(&f->arena, program.functions.count * sizeof *watched);
	bool found = false;
	for (size_t i = 0; i < program.functions.count; i++)
		found |= watched[i] = text_equal(program.functions.at[i].name, name);
	assert_true(found);
	struct proc_request request = {.cpu = -1, .timeout_s = timeout_s};
	list_push(&f->arena, &request.argv, path);
	list_push(&f->arena, &request.argv, what);
	enum trap_end end;
	*ret_text = NULL;
	assert_int_equal(trap_watch(&f->arena, &request, &program, watched, &end, ret_text, &err), ST_OK);
	assert_true(end == TRAP_NEVER || *ret_text);
	return end;
}

static void what_is_entered_is_met(void **state)
{
	struct fixture *f = *state;
	static const char *const flags[] = {"-pie", "-no-pie", "-static", "-static-pie"};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		const char *program = program_make(f, flags[i]), *text;
		enum trap_end end = watch(f, program, "once", "once", 30, &text);
		if (end == TRAP_UNKNOWN && (strstr(text, "let it be traced") || strstr(text, "x86-64"))) {
			print_message("skip: trap_test: %s\n", text);
			skip();
		}
		assert_int_equal(end, TRAP_MET);
		assert_string_equal(text, "once");
		assert_int_equal(watch(f, program, "once", "never", 30, &text), TRAP_NEVER);
		assert_int_equal(watch(f, program, "inner", "outer", 30, &text), TRAP_MET);
		assert_int_equal(watch(f, program, "none", "outer", 30, &text), TRAP_NEVER);
		assert_int_equal(watch(f, program, "none", "once", 30, &text), TRAP_NEVER);
		assert_int_equal(watch(f, program, "signal", "never", 30, &text), TRAP_NEVER); /* its signals reach it */
	}
}

static void what_does_not_end_well_tells_nothing(void **state)
{
	struct fixture *f = *state;
	const char *program = program_make(f, "-pie"), *text;
	static const struct {
		const char *what, *said;
	} table[] = {{"fail", "did not end well"}, {"abort", "did not end well"}, {"fork", "threads or processes"},
	             {"thread", "threads or processes"}, {"hang", "no end within 0.3 s"}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		double started = proc_now();
		assert_int_equal(watch(f, program, table[i].what, "never", text_equal(table[i].what, "hang") ? 0.3 : 30, &text), TRAP_UNKNOWN);
		if (!strstr(text, table[i].said) && !strstr(text, "let it be traced") && !strstr(text, "x86-64"))
			fail_msg("%s: %s", table[i].what, text);
		assert_true(proc_now() - started < 20);
		assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1); /* nothing of it is left */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(what_is_entered_is_met, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_does_not_end_well_tells_nothing, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
