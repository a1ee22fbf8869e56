/* Processes that must not hold up the machine: a start that never ends, a program that spins above everything else. */
#include "port/proc.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#define HAS(text, part) assert_non_null(strstr((text), (part)))

static const double LIMIT_S = 0.2;
static const rlim_t SPIN_US = 200000;

/* ---- a start that never ends ---------------------------------------------------------------------------------------- */

static bool stuck; /* whatever is forked never comes to its exec */
static volatile sig_atomic_t interrupted;

static void stick(void)
{
	while (stuck)
		pause();
}

static struct proc_request command(struct arena *arena, const char *script)
{
	struct proc_request request = {.cpu = -1, .timeout_s = LIMIT_S};
	list_push(arena, &request.argv, "sh");
	list_push(arena, &request.argv, "-c");
	list_push(arena, &request.argv, script);
	return request;
}

static void a_start_has_a_limit(void **state)
{
	struct arena arena;
	struct proc_child child;
	struct err err = ERR_INIT;
	(void)state;
	arena_init(&arena);
	struct proc_request request = command(&arena, "exit 0");
	stuck = true;
	enum status status = proc_start(&request, &child, &err);
	stuck = false;
	assert_int_equal(status, ST_TIMEOUT);
	HAS(err.text, "sh: its process was not started within 0.2 s");
	assert_int_equal(child.pid, -1);
	proc_child_end(&child); /* does no harm */
	arena_release(&arena);
}

static void an_interrupt_ends_a_start(void **state)
{
	struct arena arena;
	struct proc_child child;
	struct err err = ERR_INIT;
	(void)state;
	arena_init(&arena);
	struct proc_request request = command(&arena, "exit 0");
	request.timeout_s = 0;
	request.interrupted = &interrupted;
	stuck = true;
	interrupted = 1;
	enum status status = proc_start(&request, &child, &err);
	stuck = false;
	interrupted = 0;
	assert_int_equal(status, ST_INTERRUPTED);
	assert_int_equal(child.pid, -1);
	arena_release(&arena);
}

/* Among several, it is a result as any other. */
static void a_run_that_never_starts_is_timed_out(void **state)
{
	struct arena arena;
	struct proc_result result;
	struct err err = ERR_INIT;
	(void)state;
	arena_init(&arena);
	struct proc_request request = command(&arena, "exit 0");
	stuck = true;
	enum status status = proc_run(&arena, &request, &result, &err);
	stuck = false;
	assert_int_equal(status, ST_OK);
	assert_int_equal(result.end, PROC_TIMED_OUT);
	assert_string_equal(result.out, "");
	HAS(proc_describe(&arena, &request, &result), "no end within 0.2 s");
	arena_release(&arena);
}

/* ---- real-time priority ---------------------------------------------------------------------------------------------- */

static int policy_now(void)
{
	return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

/* Lower than what proc.c sets, which keeps a smaller limit: 5 s of a jammed CPU would be too much for a test. */
static void limit_low(struct rlimit *ret_before)
{
	assert_int_equal(getrlimit(RLIMIT_RTTIME, ret_before), 0);
	struct rlimit low = {SPIN_US, ret_before->rlim_max};
	assert_int_equal(setrlimit(RLIMIT_RTTIME, &low), 0);
}

static void skip_without_realtime(void)
{
	if (!proc_realtime_enter()) {
		printf("skip: real-time priority is not allowed here\n");
		skip();
	}
	proc_realtime_leave();
}

/* Without the limit it would run into timeout_s and be PROC_TIMED_OUT. */
static void who_spins_for_ever_is_ended(void **state)
{
	struct arena arena;
	struct proc_result result;
	struct rlimit before;
	struct err err = ERR_INIT;
	(void)state;
	skip_without_realtime();
	arena_init(&arena);
	struct proc_request request = command(&arena, "while :; do :; done");
	request.timeout_s = 60;
	request.realtime = true;
	limit_low(&before);
	enum status status = proc_run(&arena, &request, &result, &err);
	assert_int_equal(setrlimit(RLIMIT_RTTIME, &before), 0);
	assert_int_equal(status, ST_OK);
	assert_int_equal(result.end, PROC_SIGNALLED);
	assert_int_equal(result.code, SIGXCPU);
	arena_release(&arena);
}

/* Neither with a limit that it can move, nor through a process that it starts. */
static void the_limit_holds_for_all_of_a_child(void **state)
{
	struct arena arena;
	struct proc_result result;
	struct err err = ERR_INIT;
	(void)state;
	skip_without_realtime();
	arena_init(&arena);
	struct proc_request request = command(&arena, "chrt -p $$; sh -c 'chrt -p $$'; grep 'realtime timeout' /proc/self/limits");
	request.timeout_s = 60;
	request.realtime = true;
	assert_int_equal(proc_run(&arena, &request, &result, &err), ST_OK);
	if (result.end == PROC_EXITED && strstr(result.err, "chrt: not found"))
		skip();
	const char *at = strstr(result.out, "SCHED_RR");
	assert_non_null(at);
	HAS(at, "SCHED_OTHER"); /* what it starts */
	assert_non_null(strstr(result.out, "5000000"));
	HAS(strstr(result.out, "5000000"), "10000000");
	arena_release(&arena);
}

static void assay_itself_is_lowered(void **state)
{
	struct rlimit before, after;
	(void)state;
	skip_without_realtime();
	limit_low(&before);
	assert_true(proc_realtime_enter());
	assert_int_equal(policy_now(), SCHED_RR);
	double started = proc_now();
	while (policy_now() == SCHED_RR && proc_now() - started < 60)
		; /* enters the kernel, but never waits in it */
	int policy = policy_now();
	proc_realtime_leave();
	assert_int_equal(getrlimit(RLIMIT_RTTIME, &after), 0);
	assert_int_equal(setrlimit(RLIMIT_RTTIME, &before), 0);
	assert_int_equal(policy, SCHED_OTHER);
	assert_int_equal(after.rlim_cur, SPIN_US); /* as it was before */
}

int main(void)
{
	pthread_atfork(NULL, NULL, stick);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_start_has_a_limit),
	    cmocka_unit_test(an_interrupt_ends_a_start),
	    cmocka_unit_test(a_run_that_never_starts_is_timed_out),
	    cmocka_unit_test(who_spins_for_ever_is_ended),
	    cmocka_unit_test(the_limit_holds_for_all_of_a_child),
	    cmocka_unit_test(assay_itself_is_lowered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
