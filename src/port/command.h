/* A whole command: how it is started, and what its end means. */
#ifndef ASSAY_PORT_COMMAND_H
#define ASSAY_PORT_COMMAND_H

#include "model/project.h"
#include "model/variant.h"
#include "port/proc.h"

/* Words of a command, or `/bin/sh -c TEXT`. False: a quote is left open, or there is no word. */
bool command_words(struct arena *arena, const char *text, bool shell, struct string_list *ret_argv);

/* `variant` has a command. `cpu` as plan.cpu once it is chosen. */
struct proc_request command_request(const struct variant *variant, int cpu, double timeout_s,
                                    const volatile sig_atomic_t *interrupted);

/* NULL: it exited with 0. Else what happened, with the last lines that it wrote to stderr. */
const char *command_failure(struct arena *arena, const struct proc_request *request, const struct proc_result *result);

#endif
