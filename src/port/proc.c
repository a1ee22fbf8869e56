#include "port/proc.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	POLL_STEP_MS = 100, /* how late an interrupt may be noticed */
	STDERR_KEPT_BYTES = 64 * 1024,
	STDOUT_KEPT_BYTES = 64 * 1024 * 1024,
	START_LIMIT_S = 60, /* from fork to exec, where the request has no limit of its own */
	CHILD_IN = 3,
	CHILD_OUT = 4,
};

extern char **environ;

double proc_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

const char *program_find(struct arena *arena, const char *name)
{
	if (strchr(name, '/'))
		return access(name, X_OK) == 0 ? name : NULL;
	const char *path = getenv("PATH");
	for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
		size_t size = strcspn(at, ":");
		const char *file = arena_printf(arena, "%.*s/%s", (int)size, at, name);
		if (size && access(file, X_OK) == 0)
			return file;
		at += size + (at[size] == ':');
	}
	return NULL;
}

bool proc_ok(const struct proc_result *result)
{
	return result->end == PROC_EXITED && result->code == 0;
}

static const char *signal_text(struct arena *arena, int number)
{
	const char *name = sigabbrev_np(number);
	return name ? arena_printf(arena, "killed by SIG%s", name) : arena_printf(arena, "killed by signal %d", number);
}

const char *proc_describe(struct arena *arena, const struct proc_request *request, const struct proc_result *result)
{
	switch (result->end) {
	case PROC_EXITED:
		return arena_printf(arena, "exit status %d", result->code);
	case PROC_SIGNALLED:
		return signal_text(arena, result->code);
	case PROC_TIMED_OUT:
		return arena_printf(arena, "no end within %g s", request->timeout_s);
	case PROC_INTERRUPTED:
		return "interrupted";
	case PROC_NOT_FOUND:
		return arena_printf(arena, "can't start %s: %s", request->argv.at[0], strerror(result->code));
	}
	BUG("proc_end %d", (int)result->end);
}

/* ---- real-time priority: docs/adr/0004 --------------------------------------------------------------------------- */

enum { REALTIME_CHILD = 1, REALTIME_PARENT = 2 };

/* CPU time without a pause, after which the kernel takes real-time priority to be a mistake. At the first limit it sends
 * SIGXCPU, at the second SIGKILL. A sample takes 20 ms, or one iteration; a longer one goes on at normal priority. */
static const rlim_t REALTIME_US = 5000000, REALTIME_KILL_US = 10000000;

static rlim_t limit_least(rlim_t a, rlim_t b)
{
	return a < b ? a : b; /* RLIM_INFINITY is the largest */
}

/* A smaller limit that somebody has set stays. `kill_us`: of the hard limit, which only who is privileged may raise again. */
static bool realtime_limit(rlim_t kill_us)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_RTTIME, &limit) != 0)
		return false;
	limit.rlim_max = limit_least(limit.rlim_max, kill_us);
	limit.rlim_cur = limit_least(limit_least(limit.rlim_cur, REALTIME_US), limit.rlim_max);
	return setrlimit(RLIMIT_RTTIME, &limit) == 0;
}

/* The flag keeps the priority from whatever the process starts; only who is privileged may clear it, so it stays. */
static bool realtime_policy(int policy, int priority)
{
	struct sched_param param = {.sched_priority = priority};
	return sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &param) == 0;
}

static struct {
	struct rlimit limit;
	struct sigaction action;
} before_realtime;

/* SIGXCPU also comes from a limit of all CPU time (`ulimit -t`), which is not ours to ignore. */
static void realtime_overrun(int number)
{
	int saved_errno = errno;
	if ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_RR) {
		realtime_policy(SCHED_OTHER, 0);
	} else {
		signal(number, SIG_DFL);
		raise(number);
	}
	errno = saved_errno;
}

bool proc_realtime_enter(void)
{
	struct sigaction overrun = {.sa_handler = realtime_overrun, .sa_flags = SA_RESTART};
	if (getrlimit(RLIMIT_RTTIME, &before_realtime.limit) != 0 || sigaction(SIGXCPU, &overrun, &before_realtime.action) != 0)
		return false;
	if (realtime_limit(RLIM_INFINITY) && realtime_policy(SCHED_RR, REALTIME_PARENT))
		return true;
	proc_realtime_leave();
	return false;
}

void proc_realtime_leave(void)
{
	realtime_policy(SCHED_OTHER, 0);
	setrlimit(RLIMIT_RTTIME, &before_realtime.limit);
	sigaction(SIGXCPU, &before_realtime.action, NULL);
}

/* ---- in the child: only async-signal-safe calls from here to exec -------------------------------------------- */

static void child_settle(int cpu, bool realtime, uint64_t memory_bytes, pid_t parent)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXCPU, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Never without its limit. Before it moves, or another that has the priority could keep it from its CPU. Not allowed:
	 * it runs as everything else does. */
	if (realtime && realtime_limit(REALTIME_KILL_US))
		realtime_policy(SCHED_RR, REALTIME_CHILD);
	if (cpu >= 0) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof set, &set);
	}
	if (memory_bytes) {
		struct rlimit limit = {memory_bytes, memory_bytes};
		setrlimit(RLIMIT_AS, &limit);
	}
	struct rlimit no_core = {0, 0};
	setrlimit(RLIMIT_CORE, &no_core);
}

/* Moves `from` to descriptor `to`, open across exec. */
static void child_place(int from, int to)
{
	if (from == to)
		fcntl(to, F_SETFD, 0);
	else
		dup2(from, to);
}

/* Written by the child right before exec, in memory that it shares: fork and set-up are no part of the command. */
struct exec_stamp {
	double wall_s, cpu_s;
};

struct child_fds {
	int in, out, err; /* become 0, 1, 2 */
	int command, reply; /* become 3 and 4; -1: none */
	int trouble; /* write end: errno of a failed exec */
};

static _Noreturn void child_exec(const struct proc_request *request, char *const *argv, char *const *envp,
                                 struct child_fds fds, struct exec_stamp *stamp, pid_t parent)
{
	child_settle(request->cpu, request->realtime, request->memory_bytes, parent);
	if (request->traced)
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	/* Above the range that dup2() overwrites. */
	int trouble = fcntl(fds.trouble, F_DUPFD_CLOEXEC, 16);
	int command = fds.command >= 0 ? fcntl(fds.command, F_DUPFD_CLOEXEC, 16) : -1;
	int reply = fds.reply >= 0 ? fcntl(fds.reply, F_DUPFD_CLOEXEC, 16) : -1;
	child_place(fds.in, 0);
	child_place(fds.out, 1);
	child_place(fds.err, 2);
	if (command >= 0) {
		dup2(command, CHILD_IN);
		dup2(reply, CHILD_OUT);
	}
	if (request->directory && chdir(request->directory) != 0)
		goto failed;
	environ = (char **)envp;
	if (stamp) {
		struct timespec cpu;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
		stamp->cpu_s = (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec;
		stamp->wall_s = proc_now();
	}
	execvp(argv[0], argv);
failed:;
	int code = errno;
	ssize_t written = write(trouble, &code, sizeof code);
	(void)written;
	_exit(127);
}

/* ---- starting ------------------------------------------------------------------------------------------------ */

static char **request_argv(struct arena *arena, const struct string_list *words)
{
	char **argv = arena_alloc(arena, (words->count + 1) * sizeof *argv);
	for (size_t i = 0; i < words->count; i++)
		argv[i] = (char *)words->at[i];
	return argv;
}

static char **request_env(struct arena *arena, const struct string_list *extra)
{
	size_t count = 0;
	while (environ[count])
		count++;
	char **env = arena_alloc(arena, (count + extra->count + 1) * sizeof *env);
	size_t used = 0;
	for (size_t i = 0; i < count; i++) {
		size_t name_size = strcspn(environ[i], "=");
		bool replaced = false;
		for (size_t j = 0; j < extra->count; j++)
			if (strncmp(extra->at[j], environ[i], name_size + 1) == 0)
				replaced = true;
		if (!replaced)
			env[used++] = environ[i];
	}
	for (size_t j = 0; j < extra->count; j++)
		env[used++] = (char *)extra->at[j];
	return env;
}

/* Waits until the child has become its program (0) or says why it can't (the errno). */
static enum status spawn_wait(const struct proc_request *request, int trouble, int *ret_exec_errno, struct err *err)
{
	double limit = request->timeout_s > 0 ? request->timeout_s : START_LIMIT_S, deadline = proc_now() + limit;
	*ret_exec_errno = 0;
	for (;;) {
		double left = deadline - proc_now();
		if (request->interrupted && *request->interrupted)
			return err_set(err, ST_INTERRUPTED, "interrupted");
		if (left <= 0)
			return err_set(err, ST_TIMEOUT, "%s: its process was not started within %.3g s", request->argv.at[0], limit);
		struct pollfd polled = {.fd = trouble, .events = POLLIN};
		if (poll(&polled, 1, left * 1000 < POLL_STEP_MS ? (int)(left * 1000) + 1 : POLL_STEP_MS) <= 0)
			continue;
		int code = 0;
		ssize_t size = read(trouble, &code, sizeof code);
		if (size < 0 && errno == EINTR)
			continue;
		*ret_exec_errno = size == (ssize_t)sizeof code ? code : 0;
		return ST_OK;
	}
}

static void child_kill(pid_t pid)
{
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Forks and execs. ST_OK with *ret_exec_errno != 0: the program could not be started. `ret_stamp` may be NULL. ST_TIMEOUT,
 * ST_INTERRUPTED: before it was; nothing is left of it. */
static enum status spawn(const struct proc_request *request, struct child_fds fds, pid_t *ret_pid, int *ret_exec_errno,
                         struct exec_stamp *ret_stamp, struct err *err)
{
	struct arena scratch;
	arena_init(&scratch);
	char **argv = request_argv(&scratch, &request->argv);
	char **envp = request_env(&scratch, &request->env);
	int trouble[2];
	if (pipe2(trouble, O_CLOEXEC) != 0) {
		arena_release(&scratch);
		return err_errno(err, errno, "can't make a pipe for %s", request->argv.at[0]);
	}
	fds.trouble = trouble[1];
	struct exec_stamp *stamp = NULL;
	if (ret_stamp) {
		stamp = mmap(NULL, sizeof *stamp, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		stamp = stamp == MAP_FAILED ? NULL : stamp;
		*ret_stamp = (struct exec_stamp){.wall_s = proc_now()};
	}
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid == 0)
		child_exec(request, argv, envp, fds, stamp, parent);
	int fork_errno = errno;
	close(trouble[1]);
	arena_release(&scratch);
	if (pid < 0) {
		close(trouble[0]);
		if (stamp)
			munmap(stamp, sizeof *stamp);
		return err_errno(err, fork_errno, "can't start a process for %s", request->argv.at[0]);
	}
	setpgid(pid, pid);
	enum status status = spawn_wait(request, trouble[0], ret_exec_errno, err);
	close(trouble[0]);
	if (stamp) {
		*ret_stamp = *stamp;
		munmap(stamp, sizeof *stamp);
	}
	if (status == ST_OK)
		*ret_pid = pid;
	else
		child_kill(pid);
	return status;
}

/* ---- runs to the end ------------------------------------------------------------------------------------------ */

struct stream {
	int fd; /* -1: at its end */
	char *data;
	size_t used, cap, keep;
	bool keep_tail; /* else the head */
	uint64_t bytes, hash; /* of the whole */
};

/* Reads what is there; at the end of the stream or on an error closes it. */
static void stream_read(struct stream *stream)
{
	char chunk[65536];
	for (;;) {
		ssize_t size = read(stream->fd, chunk, sizeof chunk);
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (size <= 0) {
			fd_close(&stream->fd);
			return;
		}
		size_t count = (size_t)size;
		stream->bytes += count;
		if (!stream->keep_tail)
			stream->hash = text_hash(chunk, count, stream->hash);
		if (!stream->keep_tail && stream->used + count > stream->keep)
			count = stream->keep - stream->used;
		if (stream->used + count > stream->cap) {
			size_t cap = stream->cap ? 2 * stream->cap : 4096;
			while (cap < stream->used + count)
				cap *= 2;
			char *data = realloc(stream->data, cap);
			if (!data)
				return;
			stream->data = data;
			stream->cap = cap;
		}
		memcpy(stream->data + stream->used, chunk, count);
		stream->used += count;
		if (stream->keep_tail && stream->used > 2 * stream->keep) {
			memmove(stream->data, stream->data + stream->used - stream->keep, stream->keep);
			stream->used = stream->keep;
		}
	}
}

static const char *stream_take(struct arena *arena, struct stream *stream, size_t *ret_size)
{
	size_t skip = stream->keep_tail && stream->used > stream->keep ? stream->used - stream->keep : 0;
	char *text = arena_strndup(arena, stream->data ? stream->data + skip : "", stream->used - skip);
	if (ret_size)
		*ret_size = stream->used - skip;
	free(stream->data);
	fd_close(&stream->fd);
	return text;
}

struct job {
	const struct proc_request *request;
	struct proc_result *result;
	pid_t pid;
	int pidfd;
	struct stream out, err;
	double started;
	struct exec_stamp stamp;
	bool running, killed;
	enum proc_end kill_reason;
};

static int open_or_null(const char *path, int flags)
{
	return open(path ? path : "/dev/null", flags | O_CLOEXEC, 0666);
}

static enum status job_start(struct arena *arena, struct job *job, struct err *err)
{
	const struct proc_request *request = job->request;
	enum status status = ST_OK;
	int out_pipe[2] = {-1, -1}, err_pipe[2] = {-1, -1};
	int in = open_or_null(request->stdin_path, O_RDONLY);
	int out = -1;
	if (in < 0) {
		status = err_errno(err, errno, "can't read %s", request->stdin_path ? request->stdin_path : "/dev/null");
		goto done;
	}
	if (request->stdout_path) {
		out = open(request->stdout_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (out < 0) {
			status = err_errno(err, errno, "can't write %s", request->stdout_path);
			goto done;
		}
	} else if (pipe2(out_pipe, O_CLOEXEC) != 0) {
		status = err_errno(err, errno, "can't make a pipe");
		goto done;
	}
	if (pipe2(err_pipe, O_CLOEXEC) != 0) {
		status = err_errno(err, errno, "can't make a pipe");
		goto done;
	}
	struct child_fds fds = {in, out >= 0 ? out : out_pipe[1], err_pipe[1], -1, -1, -1};
	int exec_errno = 0;
	job->started = proc_now();
	struct err trouble = ERR_INIT;
	status = spawn(request, fds, &job->pid, &exec_errno, &job->stamp, &trouble);
	if (status == ST_TIMEOUT || status == ST_INTERRUPTED) {
		*job->result = (struct proc_result){.end = status == ST_TIMEOUT ? PROC_TIMED_OUT : PROC_INTERRUPTED, .code = SIGKILL,
		                                    .out = "", .err = ""};
		status = ST_OK;
		goto done;
	}
	if (status != ST_OK) {
		status = err_set(err, status, "%s", trouble.text);
		goto done;
	}
	if (exec_errno) {
		waitpid(job->pid, NULL, 0);
		*job->result = (struct proc_result){.end = PROC_NOT_FOUND, .code = exec_errno, .out = "", .err = ""};
		goto done;
	}
	job->pidfd = (int)syscall(SYS_pidfd_open, job->pid, 0);
	job->out = (struct stream){.fd = out_pipe[0],
	                           .keep = request->stdout_kept_bytes ? request->stdout_kept_bytes : STDOUT_KEPT_BYTES,
	                           .hash = TEXT_HASH_SEED};
	job->err = (struct stream){.fd = err_pipe[0], .keep = STDERR_KEPT_BYTES, .keep_tail = true};
	if (out_pipe[0] >= 0)
		fcntl(out_pipe[0], F_SETFL, O_NONBLOCK);
	fcntl(err_pipe[0], F_SETFL, O_NONBLOCK);
	out_pipe[0] = err_pipe[0] = -1;
	job->running = true;
	(void)arena;
done:
	fd_close(&in);
	fd_close(&out);
	fd_close(&out_pipe[0]);
	fd_close(&out_pipe[1]);
	fd_close(&err_pipe[0]);
	fd_close(&err_pipe[1]);
	return status;
}

static void job_kill(struct job *job, enum proc_end reason)
{
	if (job->killed)
		return;
	job->killed = true;
	job->kill_reason = reason;
	kill(-job->pid, SIGKILL);
	kill(job->pid, SIGKILL);
}

/* Of a child that has ended and is not yet collected. */
static double run_delay(pid_t pid)
{
	char path[64], text[128];
	snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
	unsigned long long delay_ns = 0;
	fd_close(&fd);
	text[size > 0 ? size : 0] = '\0';
	return sscanf(text, "%*u %llu", &delay_ns) == 1 ? 1e-9 * (double)delay_ns : 0;
}

/* Collects the child when it has ended. */
static void job_reap(struct arena *arena, struct job *job)
{
	int wait_status = 0;
	struct rusage usage;
	siginfo_t ended = {0};
	if (waitid(P_PID, (id_t)job->pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != job->pid)
		return;
	double now = proc_now(), delay_s = run_delay(job->pid);
	if (wait4(job->pid, &wait_status, 0, &usage) != job->pid)
		return;
	job->running = false;
	fd_close(&job->pidfd);
	if (job->out.fd >= 0)
		stream_read(&job->out);
	if (job->err.fd >= 0)
		stream_read(&job->err);
	struct proc_result *result = job->result;
	*result = (struct proc_result){.wall_s = now - job->stamp.wall_s};
	result->cpu_s = (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec +
	                (double)usage.ru_stime.tv_sec + 1e-6 * (double)usage.ru_stime.tv_usec - job->stamp.cpu_s;
	if (result->cpu_s < 0)
		result->cpu_s = 0;
	result->run_delay_s = delay_s;
	result->involuntary_switches = (uint64_t)usage.ru_nivcsw;
	if (job->killed) {
		result->end = job->kill_reason;
		result->code = SIGKILL;
	} else if (WIFSIGNALED(wait_status)) {
		result->end = PROC_SIGNALLED;
		result->code = WTERMSIG(wait_status);
	} else {
		result->end = PROC_EXITED;
		result->code = WEXITSTATUS(wait_status);
	}
	/* What a child leaves running in its group must not go on in the background of a measurement. */
	kill(-job->pid, SIGKILL);
	result->out_bytes = job->out.bytes;
	result->out_hash = job->out.hash;
	result->out = stream_take(arena, &job->out, &result->out_size);
	result->err = stream_take(arena, &job->err, NULL);
}

static void jobs_poll(struct job *jobs, size_t count, struct pollfd *polled)
{
	nfds_t used = 0;
	for (size_t i = 0; i < count; i++) {
		if (!jobs[i].running)
			continue;
		int fds[3] = {jobs[i].pidfd, jobs[i].out.fd, jobs[i].err.fd};
		for (int k = 0; k < 3; k++)
			if (fds[k] >= 0)
				polled[used++] = (struct pollfd){.fd = fds[k], .events = POLLIN};
	}
	poll(polled, used, POLL_STEP_MS);
}

enum status proc_run_many(struct arena *arena, const struct proc_request *requests, size_t count, unsigned jobs_max,
                          struct proc_result *ret_results, void (*done)(void *context, size_t finished, size_t count),
                          void *context, struct err *err)
{
	struct arena scratch;
	arena_init(&scratch);
	struct job *jobs = arena_alloc(&scratch, count * sizeof *jobs);
	struct pollfd *polled = arena_alloc(&scratch, 3 * count * sizeof *polled);
	size_t next = 0, running = 0, finished = 0;
	enum status status = ST_OK;
	if (jobs_max == 0)
		jobs_max = 1;
	for (size_t i = 0; i < count; i++)
		jobs[i] = (struct job){.request = &requests[i], .result = &ret_results[i], .pidfd = -1,
		                       .out.fd = -1, .err.fd = -1};
	while (finished < count) {
		while (status == ST_OK && next < count && running < jobs_max) {
			struct job *job = &jobs[next++];
			status = job_start(arena, job, err);
			if (job->running)
				running++;
			else if (status == ST_OK && done)
				done(context, ++finished, count);
			else
				finished++;
		}
		if (status != ST_OK && running == 0)
			break;
		if (running == 0)
			continue;
		jobs_poll(jobs, next, polled);
		for (size_t i = 0; i < next; i++) {
			struct job *job = &jobs[i];
			if (!job->running)
				continue;
			/* First, so that the time of its end is not that of reading what it wrote. */
			job_reap(arena, job);
			if (!job->running) {
				running--;
				finished++;
				if (done)
					done(context, finished, count);
				continue;
			}
			if (job->out.fd >= 0)
				stream_read(&job->out);
			if (job->err.fd >= 0)
				stream_read(&job->err);
			if (status != ST_OK)
				job_kill(job, PROC_INTERRUPTED);
			if (job->request->interrupted && *job->request->interrupted)
				job_kill(job, PROC_INTERRUPTED);
			if (job->request->timeout_s > 0 && proc_now() - job->started > job->request->timeout_s)
				job_kill(job, PROC_TIMED_OUT);
		}
	}
	arena_release(&scratch);
	return status;
}

enum status proc_run(struct arena *arena, const struct proc_request *request, struct proc_result *ret_result,
                     struct err *err)
{
	return proc_run_many(arena, request, 1, 1, ret_result, NULL, NULL, err);
}

/* ---- a child that is talked to --------------------------------------------------------------------------------- */

/* The common part of proc_start() and proc_fork(): two pipes and an unnamed file for stderr. */
static enum status child_channels(struct child_fds *fds, struct proc_child *child, struct err *err)
{
	int to[2] = {-1, -1}, from[2] = {-1, -1};
	*child = PROC_CHILD_INIT;
	*fds = (struct child_fds){-1, -1, -1, -1, -1, -1};
	child->stderr_file = memfd_create("assay-stderr", MFD_CLOEXEC);
	if (child->stderr_file < 0 || pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
		int code = errno;
		fd_close(&to[0]);
		fd_close(&to[1]);
		fd_close(&child->stderr_file);
		return err_errno(err, code, "can't make the channels of a child process");
	}
	/* Appending, so that the child's own offset never overwrites what a grandchild wrote. */
	fcntl(child->stderr_file, F_SETFL, O_APPEND);
	fds->in = open_or_null(NULL, O_RDONLY);
	fds->out = open_or_null(NULL, O_WRONLY);
	fds->err = child->stderr_file;
	fds->command = to[0];
	fds->reply = from[1];
	child->to_child = to[1];
	child->from_child = from[0];
	return ST_OK;
}

static void child_channels_close(struct child_fds *fds)
{
	fd_close(&fds->in);
	fd_close(&fds->out);
	fd_close(&fds->command);
	fd_close(&fds->reply);
}

enum status proc_start(const struct proc_request *request, struct proc_child *ret_child, struct err *err)
{
	struct child_fds fds;
	enum status status = child_channels(&fds, ret_child, err);
	if (status != ST_OK)
		return status;
	int exec_errno = 0;
	pid_t pid = -1;
	status = spawn(request, fds, &pid, &exec_errno, NULL, err);
	child_channels_close(&fds);
	if (status == ST_OK && exec_errno) {
		waitpid(pid, NULL, 0);
		pid = -1;
		status = err_errno(err, exec_errno, "can't start %s", request->argv.at[0]);
	}
	ret_child->pid = pid;
	if (status != ST_OK)
		proc_child_end(ret_child);
	return status;
}

enum status proc_fork(int (*main_fn)(void *context, int in, int out), void *context, uint64_t memory_bytes,
                      struct proc_child *ret_child, struct err *err)
{
	struct child_fds fds;
	enum status status = child_channels(&fds, ret_child, err);
	if (status != ST_OK)
		return status;
	pid_t parent = getpid();
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		child_settle(-1, false, memory_bytes, parent);
		int command = fcntl(fds.command, F_DUPFD_CLOEXEC, 16);
		int reply = fcntl(fds.reply, F_DUPFD_CLOEXEC, 16);
		child_place(fds.in, 0);
		child_place(fds.out, 1);
		child_place(fds.err, 2);
		dup2(command, CHILD_IN);
		dup2(reply, CHILD_OUT);
		/* Siblings' pipes must not stay open here: their ends would never be seen. */
		close_range(CHILD_OUT + 1, ~0u, 0);
		_exit(main_fn(context, CHILD_IN, CHILD_OUT));
	}
	int code = errno;
	child_channels_close(&fds);
	if (pid < 0) {
		status = err_errno(err, code, "can't start a worker process");
		proc_child_end(ret_child);
		return status;
	}
	setpgid(pid, pid);
	ret_child->pid = pid;
	return ST_OK;
}

enum status proc_send(struct proc_child *child, const void *data, size_t size, struct err *err)
{
	const char *at = data;
	/* A child that is gone must be an answer, not a SIGPIPE. */
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
	sigaction(SIGPIPE, &ignore, &old);
	enum status status = ST_OK;
	while (size && status == ST_OK) {
		ssize_t written = write(child->to_child, at, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			status = err_set(err, ST_INPUT, "the process has ended");
		else {
			at += written;
			size -= (size_t)written;
		}
	}
	sigaction(SIGPIPE, &old, NULL);
	return status;
}

enum status proc_receive(struct proc_child *child, void *data, size_t size, double timeout_s,
                         const volatile sig_atomic_t *interrupted, struct err *err)
{
	char *at = data;
	double deadline = timeout_s > 0 ? proc_now() + timeout_s : 0;
	while (size) {
		if (interrupted && *interrupted)
			return err_set(err, ST_INTERRUPTED, "interrupted");
		int wait_ms = POLL_STEP_MS;
		if (deadline > 0) {
			double left = deadline - proc_now();
			if (left <= 0)
				return err_set(err, ST_TIMEOUT, "no answer within %g s", timeout_s);
			if (left * 1000 < wait_ms)
				wait_ms = (int)(left * 1000) + 1;
		}
		struct pollfd polled = {.fd = child->from_child, .events = POLLIN};
		int ready = poll(&polled, 1, wait_ms);
		if (ready <= 0)
			continue;
		ssize_t got = read(child->from_child, at, size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return err_set(err, ST_INPUT, "the process has ended");
		at += got;
		size -= (size_t)got;
	}
	return ST_OK;
}

enum status proc_wait_any(struct proc_child *const *children, size_t count, double timeout_s, size_t *ret_index,
                          struct err *err)
{
	struct arena scratch;
	arena_init(&scratch);
	struct pollfd *polled = arena_alloc(&scratch, count * sizeof *polled);
	for (size_t i = 0; i < count; i++)
		polled[i] = (struct pollfd){.fd = children[i]->from_child, .events = POLLIN};
	int ready = poll(polled, count, (int)(timeout_s * 1000));
	enum status status = ST_OK;
	if (ready < 0 && errno != EINTR)
		status = err_errno(err, errno, "can't wait for worker processes");
	*ret_index = count;
	for (size_t i = 0; ready > 0 && i < count; i++)
		if (polled[i].revents) {
			*ret_index = i;
			break;
		}
	arena_release(&scratch);
	return status;
}

static void child_reap(struct proc_child *child)
{
	if (child->pid < 0 || child->ended)
		return;
	/* A child that closed its channel is about to end; one that hangs is killed. */
	for (int i = 0; i < 20; i++) {
		if (waitpid(child->pid, &child->wait_status, WNOHANG) == child->pid) {
			child->ended = true;
			return;
		}
		usleep(5000);
	}
	kill(-child->pid, SIGKILL);
	kill(child->pid, SIGKILL);
	if (waitpid(child->pid, &child->wait_status, 0) == child->pid)
		child->ended = true;
}

const char *proc_child_said(struct arena *arena, struct proc_child *child, size_t lines)
{
	child_reap(child);
	char *tail = "";
	if (child->stderr_file >= 0) {
		struct stat info;
		if (fstat(child->stderr_file, &info) == 0 && info.st_size > 0) {
			off_t start = info.st_size > STDERR_KEPT_BYTES ? info.st_size - STDERR_KEPT_BYTES : 0;
			size_t size = (size_t)(info.st_size - start);
			char *text = arena_alloc(arena, size + 1);
			ssize_t got = pread(child->stderr_file, text, size, start);
			text[got > 0 ? got : 0] = '\0';
			char *end = text + strlen(text);
			while (end > text && end[-1] == '\n')
				*--end = '\0';
			tail = text;
			for (char *at = end; at > text; at--)
				if (at[-1] == '\n' && --lines == 0) {
					tail = at;
					break;
				}
		}
	}
	const char *how = "ended";
	if (child->ended && WIFSIGNALED(child->wait_status))
		how = signal_text(arena, WTERMSIG(child->wait_status));
	else if (child->ended)
		how = arena_printf(arena, "exit status %d", WEXITSTATUS(child->wait_status));
	return tail[0] ? arena_printf(arena, "%s: %s", how, tail) : how;
}

void proc_child_end(struct proc_child *child)
{
	if (!child)
		return;
	if (child->pid >= 0 && !child->ended) {
		kill(-child->pid, SIGKILL);
		kill(child->pid, SIGKILL);
		while (waitpid(child->pid, &child->wait_status, 0) < 0 && errno == EINTR)
			;
		child->ended = true;
	}
	fd_close(&child->to_child);
	fd_close(&child->from_child);
	fd_close(&child->stderr_file);
}
