#include "port/workload.h"

#include "model/sample.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert((int)BENCH_MIGRATED == (int)PAIR_MIGRATED && (int)BENCH_PREEMPTED == (int)PAIR_PREEMPTED &&
                   (int)BENCH_PAGE_FAULT == (int)PAIR_PAGE_FAULT,
               "flags pass through unchanged");

struct proc_request workload_request(struct arena *arena, const char *program, const struct binding_list *params,
                                     uint64_t seed, const char *mode, const char *number)
{
	struct proc_request request = {.cpu = -1};
	list_push(arena, &request.argv, program);
	for (size_t i = 0; params && i < params->count; i++) {
		list_push(arena, &request.argv, "--param");
		list_push(arena, &request.argv, arena_printf(arena, "%s=%s", params->at[i].name, params->at[i].value));
	}
	list_push(arena, &request.argv, "--seed");
	list_push(arena, &request.argv, arena_printf(arena, "%llu", (unsigned long long)seed));
	list_push(arena, &request.argv, mode);
	if (number)
		list_push(arena, &request.argv, number);
	return request;
}

void workload_request_cpus(struct arena *arena, struct proc_request *request, const char *cpus)
{
	if (!cpus[0])
		return;
	list_push(arena, &request->argv, "--cpus");
	list_push(arena, &request->argv, cpus);
}

static enum status reply_receive(struct proc_child *child, uint32_t kind, double timeout_s,
                                 const volatile sig_atomic_t *interrupted, struct bench_reply *ret_reply, struct err *err)
{
	enum status status = proc_receive(child, ret_reply, sizeof *ret_reply, timeout_s, interrupted, err);
	if (status == ST_OK && (ret_reply->magic != BENCH_MAGIC || ret_reply->kind != kind))
		status = err_set(err, ST_INPUT, "it writes to descriptor %d, which assay needs for its messages", BENCH_REPLY_FD);
	return status;
}

enum status workload_start(const struct proc_request *request, double timeout_s, struct proc_child *ret_child,
                           struct bench_reply *ret_ready, struct err *err)
{
	struct proc_request limited = *request;
	double started = proc_now();
	limited.timeout_s = timeout_s;
	enum status status = proc_start(&limited, ret_child, err);
	if (status != ST_OK)
		return status;
	double left = timeout_s > 0 ? fmax(timeout_s - (proc_now() - started), 0.001) : 0;
	return reply_receive(ret_child, BENCH_READY, left, request->interrupted, ret_ready, err);
}

enum status workload_sample(struct proc_child *child, uint64_t prime, uint64_t iterations, double timeout_s,
                            const volatile sig_atomic_t *interrupted, struct bench_reply *ret_reply, struct err *err)
{
	struct bench_command command = {.magic = BENCH_MAGIC, .kind = BENCH_SAMPLE, .prime = prime, .iterations = iterations};
	enum status status = proc_send(child, &command, sizeof command, err);
	if (status != ST_OK)
		return status;
	return reply_receive(child, BENCH_SAMPLE, timeout_s, interrupted, ret_reply, err);
}

enum status workload_events(struct proc_child *child, const struct bench_event *events, unsigned count, double timeout_s,
                            const volatile sig_atomic_t *interrupted, int *ret_code, unsigned *ret_which, struct err *err)
{
	struct bench_command command = {.magic = BENCH_MAGIC, .kind = BENCH_EVENTS, .iterations = count};
	struct bench_reply reply = {0};
	enum status status = proc_send(child, &command, sizeof command, err);
	if (status == ST_OK)
		status = proc_send(child, events, count * sizeof *events, err);
	if (status == ST_OK)
		status = reply_receive(child, BENCH_EVENTS, timeout_s, interrupted, &reply, err);
	*ret_code = (int)reply.ns;
	*ret_which = reply.cpu < count ? reply.cpu : 0;
	return status;
}

enum status workload_count(struct proc_child *child, uint64_t prime, uint64_t iterations, double timeout_s,
                           const volatile sig_atomic_t *interrupted, struct bench_counts *ret_counts, struct err *err)
{
	struct bench_command command = {.magic = BENCH_MAGIC, .kind = BENCH_COUNT, .prime = prime, .iterations = iterations};
	struct bench_reply reply;
	enum status status = proc_send(child, &command, sizeof command, err);
	if (status == ST_OK)
		status = reply_receive(child, BENCH_COUNT, timeout_s, interrupted, &reply, err);
	if (status == ST_OK)
		status = proc_receive(child, ret_counts, sizeof *ret_counts, timeout_s, interrupted, err);
	return status;
}

enum status workload_transfer(struct proc_child *child, double timeout_s, const volatile sig_atomic_t *interrupted,
                              struct bench_transfer *ret_transfer, struct err *err)
{
	struct bench_command command = {.magic = BENCH_MAGIC, .kind = BENCH_TRANSFER};
	enum status status = proc_send(child, &command, sizeof command, err);
	if (status == ST_OK)
		status = proc_receive(child, ret_transfer, sizeof *ret_transfer, timeout_s, interrupted, err);
	if (status == ST_OK && (ret_transfer->magic != BENCH_MAGIC || ret_transfer->kind != BENCH_TRANSFER))
		status = err_set(err, ST_INPUT, "it writes to descriptor %d, which assay needs for its messages", BENCH_REPLY_FD);
	return status;
}

void workload_quit(struct proc_child *child)
{
	struct bench_command command = {.magic = BENCH_MAGIC, .kind = BENCH_QUIT};
	struct err ignored = ERR_INIT;
	if (child->pid >= 0 && !child->ended && child->to_child >= 0) {
		/* It may be gone already. */
		enum status status = proc_send(child, &command, sizeof command, &ignored);
		(void)status;
	}
}

bool workload_copy(const char *program, const char *path, uint64_t max_bytes)
{
	unsigned char chunk[65536];
	struct stat info;
	int from = open(program, O_RDONLY | O_CLOEXEC), to = -1;
	bool copied = false;
	if (from >= 0 && fstat(from, &info) == 0 && (uint64_t)info.st_size <= max_bytes) {
		unlink(path);
		to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
		copied = to >= 0;
	}
	while (copied) {
		ssize_t size = read(from, chunk, sizeof chunk);
		if (size == 0)
			break;
		copied = size > 0 && write(to, chunk, (size_t)size) == size;
	}
	if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
	return copied;
}

enum status workload_probe(struct proc_child *child, double timeout_s, const volatile sig_atomic_t *interrupted,
                           double *ret_seconds, struct err *err)
{
	static const double LONG_ENOUGH_S = 0.001;
	struct bench_reply reply = {0};
	for (uint64_t n = 1;; n *= 4) {
		enum status status = workload_sample(child, 0, n, timeout_s, interrupted, &reply, err);
		*ret_seconds = fmax(1e-9 * (double)reply.ns / (double)n, 1e-10);
		if (status != ST_OK || 1e-9 * (double)reply.ns >= LONG_ENOUGH_S || n > UINT64_C(1) << 40)
			return status;
	}
}

/* ---- emulated ------------------------------------------------------------------------------------------------------ */

struct proc_request workload_request_emulated(struct arena *arena, const struct proc_request *native,
                                              const char *const *options)
{
	struct proc_request request = *native;
	request.argv = (struct string_list){0};
	list_push(arena, &request.argv, "valgrind");
	list_push(arena, &request.argv, "--vgdb=no"); /* else it leaves pipes in TMPDIR when the time limit ends it */
	for (; *options; options++)
		list_push(arena, &request.argv, *options);
	for (size_t i = 0; i < native->argv.count; i++)
		list_push(arena, &request.argv, native->argv.at[i]);
	return request;
}

const char *workload_emulation_lack(struct arena *arena, const struct proc_request *request,
                                    const struct proc_result *result, const char *name)
{
	if (result->end == PROC_NOT_FOUND)
		return "valgrind is not installed: apt-get install valgrind";
	if (result->end == PROC_TIMED_OUT)
		return arena_printf(arena, "emulating the %s took more than %g s", name, request->timeout_s);
	if (strstr(result->err, "unhandled instruction") || strstr(result->err, "Unrecognised instruction") ||
	    (result->end == PROC_SIGNALLED && result->code == SIGILL))
		return arena_printf(arena, "valgrind does not know an instruction of the %s (AVX-512?): build with -mno-avx512f",
		                    name);
	if (!proc_ok(result))
		return arena_printf(arena, "the %s failed under valgrind: %s", name, proc_describe(arena, request, result));
	return NULL;
}
