#include "port/trap.h"

#include "port/perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

static const double WAIT_STEP_S = 0.0005;

struct watch {
	struct arena *arena;
	const struct proc_request *request;
	const struct program *program;
	const bool *watched;
	struct proc_child child;
	double deadline; /* 0: none */
	uint64_t *places; /* by program->functions, as loaded; 0: not watched */
	enum trap_end end;
	const char *text;
};

static void unknown(struct watch *watch, const char *text)
{
	watch->end = TRAP_UNKNOWN;
	watch->text = text;
}

/* The child's next stop or end. False, with a text or an error set: there is none. */
static bool state_wait(struct watch *watch, int *ret_state, struct err *err)
{
	struct timespec step = {.tv_nsec = (long)(1e9 * WAIT_STEP_S)};
	for (;;) {
		pid_t pid = waitpid(watch->child.pid, ret_state, WNOHANG | __WALL);
		if (pid == watch->child.pid) {
			watch->child.ended = WIFEXITED(*ret_state) || WIFSIGNALED(*ret_state);
			watch->child.wait_status = *ret_state;
			return true;
		}
		if (pid < 0 && errno != EINTR) {
			unknown(watch, "the system does not tell what becomes of it");
			return false;
		}
		if (watch->request->interrupted && *watch->request->interrupted) {
			err_set(err, ST_INTERRUPTED, "interrupted");
			return false;
		}
		if (watch->deadline > 0 && proc_now() > watch->deadline) {
			unknown(watch, arena_printf(watch->arena, "no end within %.3g s", watch->request->timeout_s));
			return false;
		}
		nanosleep(&step, NULL);
	}
}

#if defined(__x86_64__)

/* Where the function lies in the process; 0: it is not loaded. */
static uint64_t loaded_at(const struct program *program, const struct perf_mapping_list *mappings, const char *file,
                          uint64_t address)
{
	for (size_t i = 0; i < program->segments.count; i++) {
		const struct program_segment *segment = &program->segments.at[i];
		if (address < segment->address || address - segment->address >= segment->size)
			continue;
		uint64_t offset = segment->offset + (address - segment->address);
		for (size_t k = 0; k < mappings->count; k++) {
			const struct perf_mapping *mapping = &mappings->at[k];
			if (strcmp(mapping->path, file) == 0 && offset >= mapping->offset &&
			    offset - mapping->offset < mapping->end - mapping->start)
				return mapping->start + (offset - mapping->offset);
		}
	}
	return 0;
}

/* Every byte of it becomes int3: assembly enters functions elsewhere, too, and the run ends at the first hit. */
static bool breakpoints_fill(pid_t pid, uint64_t begin, uint64_t end)
{
	for (uint64_t place = begin & ~7ull; place < end; place += 8) {
		errno = 0;
		long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)place, NULL);
		if (errno)
			return false;
		for (unsigned i = 0; i < 8; i++)
			if (place + i >= begin && place + i < end)
				((unsigned char *)&word)[i] = 0xcc;
		if (ptrace(PTRACE_POKETEXT, pid, (void *)place, (void *)word) != 0)
			return false;
	}
	return true;
}

static bool breakpoints_set(struct watch *watch)
{
	struct perf_mapping_list mappings = {0};
	const struct program_function_list *functions = &watch->program->functions;
	char *file = realpath(watch->request->argv.at[0], NULL);
	bool set = file != NULL;
	perf_maps_read(watch->arena, watch->child.pid, &mappings);
	for (size_t i = 0; set && i < functions->count; i++) {
		if (!watch->watched[i])
			continue;
		watch->places[i] = loaded_at(watch->program, &mappings, file, functions->at[i].start);
		set = watch->places[i] && breakpoints_fill(watch->child.pid, watch->places[i],
		                                           watch->places[i] + (functions->at[i].end - functions->at[i].start));
		if (!set)
			unknown(watch, arena_printf(watch->arena, "no breakpoint can be set in %s", functions->at[i].name));
	}
	if (!file)
		unknown(watch, "its file is not there");
	free(file);
	return set;
}

/* The function that the process has just come to, NULL: it stands elsewhere. */
static const char *function_met(const struct watch *watch)
{
	struct user_regs_struct registers;
	if (ptrace(PTRACE_GETREGS, watch->child.pid, NULL, &registers) != 0)
		return NULL;
	for (size_t i = 0; i < watch->program->functions.count; i++) {
		const struct program_function *function = &watch->program->functions.at[i];
		if (watch->places[i] && registers.rip > watch->places[i] &&
		    registers.rip - watch->places[i] <= function->end - function->start)
			return function->name;
	}
	return NULL;
}

static void child_watch(struct watch *watch, struct err *err)
{
	static const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
	                            PTRACE_O_TRACEEXEC;
	pid_t pid = watch->child.pid;
	int state;
	if (!state_wait(watch, &state, err))
		return;
	if (!WIFSTOPPED(state) || ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)options) != 0) {
		unknown(watch, "the system does not let it be traced");
		return;
	}
	if (!breakpoints_set(watch))
		return;
	for (int signal = 0;;) {
		if (ptrace(PTRACE_CONT, pid, NULL, (void *)(long)signal) != 0) {
			unknown(watch, "the system does not let it go on");
			return;
		}
		if (!state_wait(watch, &state, err))
			return;
		if (watch->child.ended) {
			if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
				watch->end = TRAP_NEVER;
			else
				unknown(watch, "it did not end well");
			return;
		}
		if (state >> 16) {
			unknown(watch, "it starts threads or processes");
			return;
		}
		signal = WSTOPSIG(state);
		if (signal == SIGTRAP && (watch->text = function_met(watch))) {
			watch->end = TRAP_MET;
			return;
		}
	}
}

#else

static void child_watch(struct watch *watch, struct err *err)
{
	(void)err;
	unknown(watch, "breakpoints are written for x86-64");
}

#endif

/* Threads and processes that were attached to by themselves keep their leader from being waited for: all of them go. */
static void group_end(struct proc_child *child)
{
	pid_t got;
	int state;
	if (child->ended)
		return;
	kill(-child->pid, SIGKILL);
	kill(child->pid, SIGKILL);
	while ((got = waitpid(-child->pid, &state, __WALL)) > 0 || (got < 0 && errno == EINTR))
		if (got == child->pid && !WIFSTOPPED(state)) {
			child->ended = true;
			child->wait_status = state;
		}
}

enum status trap_watch(struct arena *arena, const struct proc_request *request, const struct program *program,
                       const bool *watched, enum trap_end *ret_end, const char **ret_text, struct err *err)
{
	struct proc_request traced = *request;
	struct err trouble = ERR_INIT;
	struct watch watch = {.arena = arena, .request = request, .program = program, .watched = watched, .end = TRAP_UNKNOWN,
	                      .child = PROC_CHILD_INIT, .places = arena_alloc(arena, (program->functions.count + 1) * sizeof(uint64_t))};
	traced.traced = true;
	watch.deadline = request->timeout_s > 0 ? proc_now() + request->timeout_s : 0;
	enum status status = proc_start(&traced, &watch.child, err);
	if (status != ST_OK)
		return status;
	child_watch(&watch, &trouble);
	group_end(&watch.child);
	proc_child_end(&watch.child);
	*ret_end = watch.end;
	*ret_text = watch.text;
	return trouble.code == ST_OK ? ST_OK : err_set(err, trouble.code, "%s", trouble.text);
}
