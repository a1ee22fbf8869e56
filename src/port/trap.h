/* Whether a native program ever enters some of its functions: breakpoints in all of their bytes, set by
 * ptrace(2). Exact where an emulated CPU, which offers other instructions, can't tell. For programs of one thread that
 * start no other process, on x86-64.
 */
#ifndef ASSAY_PORT_TRAP_H
#define ASSAY_PORT_TRAP_H

#include "port/object_program.h"
#include "port/proc.h"

enum trap_end {
	TRAP_NEVER,   /* it ran to its end and entered none of them */
	TRAP_MET,     /* it entered one, and was ended there */
	TRAP_UNKNOWN, /* it can't be watched, or did not end well */
};

/* Runs the request's program, which is `program`, and watches the functions with `watched[i]` (by program->functions).
 * *ret_text: with TRAP_MET the function's name, with TRAP_UNKNOWN why. */
MUST_CHECK enum status trap_watch(struct arena *arena, const struct proc_request *request, const struct program *program,
                                  const bool *watched, enum trap_end *ret_end, const char **ret_text, struct err *err);

#endif
