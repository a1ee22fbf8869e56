/* Processes: the only fork and exec of the program.
 *
 * Every child runs in a process group of its own, dies with its parent, and has a limit in time. A child that fails is
 * a result, not an error; an error is only that it could not be started for a reason of the system.
 */
#ifndef ASSAY_PORT_PROC_H
#define ASSAY_PORT_PROC_H

#include "base/arena.h"
#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct proc_request {
	struct string_list argv;  /* argv[0] is looked up in PATH */
	struct string_list env;   /* "NAME=value", besides the parent's environment */
	const char *directory;    /* NULL: the parent's */
	const char *stdin_path;   /* NULL: /dev/null */
	const char *stdout_path;  /* a file that is written; NULL: kept in memory */
	double timeout_s;         /* 0: none, once it has been started */
	uint64_t memory_bytes;    /* address space; 0: unlimited */
	size_t stdout_kept_bytes; /* of its beginning; 0: 64 MiB */
	int cpu;                  /* pinned to it; -1: not */
	bool realtime;            /* SCHED_RR where that is allowed, so that neighbours don't run in between; else as always.
	                           * It ends with SIGXCPU after 5 s of CPU time without a pause, SIGKILL after 10 */
	bool traced;              /* stops once it has become its program, for its parent to go on from there: ptrace(2) */
	const volatile sig_atomic_t *interrupted; /* or NULL; non-zero: killed */
};

enum proc_end { PROC_EXITED, PROC_SIGNALLED, PROC_TIMED_OUT, PROC_INTERRUPTED, PROC_NOT_FOUND };

struct proc_result {
	enum proc_end end;
	int code;         /* exit status, or the signal's number */
	const char *out;  /* what it wrote to stdout (the first part), 0-terminated; "" with stdout_path */
	size_t out_size;
	uint64_t out_bytes, out_hash; /* of all of it: how much, and its text_hash() */
	const char *err;  /* the last 64 KiB of what it wrote to stderr */
	double wall_s, cpu_s; /* from exec on, with descendants that were waited for */
	uint64_t involuntary_switches; /* of the same */
	double run_delay_s; /* how long the process itself could have run and had no CPU; 0 where the kernel doesn't say */
};

/* The file that argv[0] = `name` would start, absolute; NULL: there is none in PATH. */
const char *program_find(struct arena *arena, const char *name);

bool proc_ok(const struct proc_result *result); /* exited with 0 */
/* "exit status 1", "killed by SIGSEGV", "no answer within 10 s", "no such program: gcc-99". */
const char *proc_describe(struct arena *arena, const struct proc_request *request, const struct proc_result *result);

MUST_CHECK enum status proc_run(struct arena *arena, const struct proc_request *request, struct proc_result *ret_result,
                                struct err *err);
/* Runs `count` requests, at most `jobs` at a time; results keep their order. `done`, when given, is called after each. */
MUST_CHECK enum status proc_run_many(struct arena *arena, const struct proc_request *requests, size_t count,
                                     unsigned jobs, struct proc_result *ret_results,
                                     void (*done)(void *context, size_t finished, size_t count), void *context,
                                     struct err *err);

/* ---- a child that is talked to ----------------------------------------------------------------------------- */
/* A persistent child: reads messages on descriptor 3 and answers on descriptor 4; its stdout goes to /dev/null and the
 * last 64 KiB of its stderr are kept. */
struct proc_child {
	int pid;
	int to_child, from_child, stderr_file; /* -1: closed */
	bool ended;
	int wait_status; /* with `ended` */
};
/* Not started yet; may be ended. */
#define PROC_CHILD_INIT ((struct proc_child){.pid = -1, .to_child = -1, .from_child = -1, .stderr_file = -1})

/* ST_TIMEOUT: not started within timeout_s, or a minute where that is 0. */
MUST_CHECK enum status proc_start(const struct proc_request *request, struct proc_child *ret_child, struct err *err);
/* As proc_start(), but the child is a fork that calls `main_fn(context, 3, 4)` and exits with what it returns. */
MUST_CHECK enum status proc_fork(int (*main_fn)(void *context, int in, int out), void *context, uint64_t memory_bytes,
                                 struct proc_child *ret_child, struct err *err);
/* Exactly `size` bytes. ST_INPUT: the child has ended (see proc_child_said). ST_TIMEOUT, ST_INTERRUPTED as named. */
MUST_CHECK enum status proc_send(struct proc_child *child, const void *data, size_t size, struct err *err);
MUST_CHECK enum status proc_receive(struct proc_child *child, void *data, size_t size, double timeout_s,
                                    const volatile sig_atomic_t *interrupted, struct err *err);
/* Waits until one of `count` children has something to read or has ended; *ret_index is `count` after the timeout. */
MUST_CHECK enum status proc_wait_any(struct proc_child *const *children, size_t count, double timeout_s, size_t *ret_index,
                                     struct err *err);
/* "killed by SIGSEGV: last lines of its stderr", for a child that ended or was ended. */
const char *proc_child_said(struct arena *arena, struct proc_child *child, size_t lines);
/* Kills it when it still runs, reaps it, closes everything. Twice does no harm. */
void proc_child_end(struct proc_child *child);

/* Raises this process above the children that are started with `realtime`, so that it can always stop them; false: not
 * allowed. Undone by proc_realtime_leave(), and by the kernel's limit for who takes 5 s of CPU time without a pause. Only
 * where a CPU is left for it beside theirs: what waits above them on the same one can wait for ever. */
bool proc_realtime_enter(void);
void proc_realtime_leave(void);

/* Wall clock for time limits and elapsed times, in seconds since some fixed point. */
double proc_now(void);

#endif
