/* What one invocation works with; handed to every stage. Nothing global. */
#ifndef ASSAY_MODEL_SESSION_H
#define ASSAY_MODEL_SESSION_H

#include "model/compdb.h"
#include "model/run.h"

#include <signal.h>

/* Progress of long work. `seconds_left` below 0: unknown. May be called often; the receiver thins it out. */
struct progress {
	void (*tick)(void *context, const char *what, double done, double total, double seconds_left);
	void *context;
};

/* Objects that earlier runs compiled; stage/build_cache.c. */
struct object_cache {
	const char *folder; /* NULL: everything is compiled anew */
	bool grown;         /* by this session */
	struct string_list compilers, identities; /* how they are installed, as far as it was asked */
};

struct session {
	struct arena arena; /* the session's lifetime */
	struct project project;
	struct compdb commands;
	bool commands_known; /* scan_commands() has filled them */
	struct run run;
	struct string_list events; /* to be counted besides, by libpfm4's names; they explain and never decide */
	struct progress progress;
	const volatile sig_atomic_t *interrupted; /* never NULL; non-zero: stop soon, keep what is done */
	unsigned jobs;       /* processes for scan and build, at least 1 */
	struct reach_cache *reach; /* what stage/reach.c has learnt of programs; NULL: nothing yet */
	struct object_cache objects;
	const char *workdir; /* absolute: private copies, objects, programs; removed at the end */
	int workdir_lock;    /* with workdir, when build made it: a descriptor, -1 for none */
};

void session_progress(const struct session *session, const char *what, double done, double total, double seconds_left);
/* Records one sentence about something that went wrong while the rest goes on. Copies the text. */
void session_note(struct session *session, const char *where, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
