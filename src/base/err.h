/* Errors: one channel. A fallible function returns a status and takes `struct err *` last.
 *
 * The first error wins: later err_set() calls on the same struct do not overwrite it, so clean-up code may fail
 * without hiding the cause. Callers add context with err_context(), outermost first. The text is one sentence:
 * what, where, what to do. Library code never prints it; cmd/ does.
 */
#ifndef ASSAY_BASE_ERR_H
#define ASSAY_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

enum status {
	ST_OK = 0,
	ST_USAGE,       /* the command line or the project file asks for something that can't be asked */
	ST_INPUT,       /* an input is unusable: a file, a patch, a compile command, a workload */
	ST_SYSTEM,      /* the operating system, the disk or a program said no */
	ST_TIMEOUT,     /* a limit that was set beforehand ran out */
	ST_INTERRUPTED, /* Ctrl-C or SIGTERM: what was done so far is kept */
};

struct err {
	enum status code;
	char text[2048];
};

#define ERR_INIT ((struct err){.code = ST_OK})
#define MUST_CHECK __attribute__((warn_unused_result))

/* Records an error unless one is recorded already; returns the recorded code. `err` may be NULL. */
enum status err_set(struct err *err, enum status code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* As err_set(), with ": strerror(errno_value)" appended. */
enum status err_errno(struct err *err, int errno_value, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Puts "context: " before a recorded text; returns the recorded code. Does nothing when none is recorded. */
enum status err_context(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A state that only a bug in assay can bring about. Prints to stderr and aborts: never for bad input. */
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void bug_at(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
