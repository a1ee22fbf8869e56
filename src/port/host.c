#include "port/host.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(cpu_set_t) <= sizeof((struct host_affinity *)0)->set, "struct host_affinity holds a cpu_set_t");

enum { WATCH_MS = 20 };

/* The value of the first line of `path` that starts with `key`, without blanks, colons and quotes around it; with a
 * NULL key the first line itself. NULL: no such line. */
static char *file_value(struct arena *arena, const char *path, const char *key)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return NULL;
	char line[1024];
	char *found = NULL;
	size_t key_size = key ? strlen(key) : 0;
	while (!found && fgets(line, sizeof line, file)) {
		if (key && strncmp(line, key, key_size) != 0)
			continue;
		char *start = line + key_size;
		start += strspn(start, " \t:=\"");
		size_t size = strlen(start);
		while (size && strchr(" \t\n\"", start[size - 1]))
			size--;
		found = arena_strndup(arena, start, size);
	}
	fclose(file);
	return found;
}

static const char *or_unknown(const char *text)
{
	return text && text[0] ? text : "unknown";
}

void host_describe(struct arena *arena, struct host *ret_host)
{
	struct utsname names = {0};
	uname(&names);
	*ret_host = (struct host){0};
	ret_host->name = arena_strdup(arena, or_unknown(names.nodename));
	ret_host->kernel = arena_printf(arena, "%s %s %s", names.sysname, names.release, names.machine);
	const char *cpu = file_value(arena, "/proc/cpuinfo", "model name");
	if (!cpu)
		cpu = file_value(arena, "/proc/device-tree/model", NULL);
	ret_host->cpu = or_unknown(cpu);
	ret_host->system = or_unknown(file_value(arena, "/etc/os-release", "PRETTY_NAME="));
	ret_host->clock_source =
	    or_unknown(file_value(arena, "/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	ret_host->cpus = cpus > 0 ? (unsigned)cpus : 1;
	double load = 0;
	if (getloadavg(&load, 1) == 1)
		ret_host->load_average = load;
	const char *lack = host_counters_lack(arena);
	ret_host->counters = lack ? arena_printf(arena, "not available: %s", lack) : "available";
}

static bool line_has_word(const char *line, size_t size, const char *word)
{
	size_t length = strlen(word);
	for (size_t at = 0; at < size;) {
		size_t end = at;
		while (end < size && line[end] != ' ' && line[end] != '\t')
			end++;
		if (end - at == length && length && strncmp(line + at, word, length) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

/* One line for each CPU: "flags" on x86, "Features" on Arm. */
bool cpuinfo_has(const char *text, const char *feature)
{
	static const char *const keys[] = {"flags", "Features", "features"};
	bool listed = false;
	for (const char *line = text; *line;) {
		size_t size = strcspn(line, "\n"), key = strcspn(line, " \t:");
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
			if (key != strlen(keys[i]) || key >= size || strncmp(line, keys[i], key) != 0)
				continue;
			if (!line_has_word(line + key, size - key, feature))
				return false;
			listed = true;
		}
		line += size + (line[size] == '\n');
	}
	return listed;
}

bool host_cpu_has(const char *feature)
{
	char *text = NULL;
	size_t size = 0;
	FILE *from = fopen("/proc/cpuinfo", "re");
	FILE *to = open_memstream(&text, &size);
	char chunk[4096];
	for (size_t got; from && to && (got = fread(chunk, 1, sizeof chunk, from)) > 0;)
		fwrite(chunk, 1, got, to);
	if (from)
		fclose(from);
	bool has = to && fclose(to) == 0 && cpuinfo_has(text, feature);
	free(text);
	return has;
}

/* ---- counters -------------------------------------------------------------------------------------------------------- */

const char *host_counters_lack(struct arena *arena)
{
	struct perf_event_attr attributes = {
	    .type = PERF_TYPE_HARDWARE,
	    .size = sizeof attributes,
	    .config = PERF_COUNT_HW_CPU_CYCLES,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int code = errno;
	if (fd >= 0) {
		/* Some virtual machines open the counter and never advance it. */
		for (volatile int i = 0; i < 100000; i++)
			;
		uint64_t cycles = 0;
		ssize_t got = read(fd, &cycles, sizeof cycles);
		close(fd);
		return got == (ssize_t)sizeof cycles && cycles > 0 ? NULL : "the cycle counter opens but stays at 0";
	}
	switch (code) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return "this CPU shows no performance counters (no PMU in this virtual machine): use bare metal, or a machine "
		       "type that passes the PMU through";
	case EACCES:
	case EPERM: {
		const char *paranoid = file_value(arena, "/proc/sys/kernel/perf_event_paranoid", NULL);
		if (paranoid && atoi(paranoid) > 2)
			return arena_printf(arena, "kernel.perf_event_paranoid is %s: sysctl kernel.perf_event_paranoid=2 allows them",
			                    paranoid);
		return "perf_event_open is forbidden here (seccomp or a missing capability): start the container with "
		       "CAP_PERFMON";
	}
	case ENOSYS:
		return "this kernel has no perf_event_open";
	default:
		return arena_printf(arena, "perf_event_open: %s", strerror(code));
	}
}

/* ---- where to run ----------------------------------------------------------------------------------------------------- */

/* Fills ret_busy[cpu] with ticks that are not idle. */
static bool busy_read(unsigned long long *ret_busy, int cpus)
{
	FILE *file = fopen("/proc/stat", "re");
	if (!file)
		return false;
	char line[1024];
	while (fgets(line, sizeof line, file)) {
		int cpu;
		unsigned long long user, nice, kernel, idle, iowait, irq, softirq, steal;
		if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user, &nice, &kernel, &idle, &iowait,
		           &irq, &softirq, &steal) == 9 &&
		    cpu >= 0 && cpu < cpus)
			ret_busy[cpu] = user + nice + kernel + irq + softirq + steal;
	}
	fclose(file);
	return true;
}

int host_cpu_choose(void)
{
	cpu_set_t allowed;
	if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
		return -1;
	unsigned long long before[CPU_SETSIZE] = {0}, after[CPU_SETSIZE] = {0};
	bool known = CPU_COUNT(&allowed) > 1 && busy_read(before, CPU_SETSIZE);
	if (known) {
		nanosleep(&(struct timespec){.tv_nsec = WATCH_MS * 1000000L}, NULL);
		known = busy_read(after, CPU_SETSIZE);
	}
	int best = -1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		/* The first CPU serves most interrupts, so that of equals the last one wins. */
		if (best < 0 || !known || after[cpu] - before[cpu] <= after[best] - before[best])
			best = cpu;
	}
	return best;
}

void host_cpu_leave(int cpu, struct host_affinity *ret_before)
{
	cpu_set_t set;
	ret_before->moved = false;
	if (cpu < 0 || sched_getaffinity(0, sizeof set, &set) != 0)
		return;
	memcpy(ret_before->set, &set, sizeof set);
	CPU_CLR(cpu, &set);
	ret_before->moved = CPU_COUNT(&set) > 0 && sched_setaffinity(0, sizeof set, &set) == 0;
}

unsigned host_cpus_usable(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
	return count > 0 ? (unsigned)count : 1;
}

void host_cpus_order(struct arena *arena, int first, struct cpu_list *ret_order)
{
	cpu_set_t set;
	struct cpu_list cpus = {0};
	if (sched_getaffinity(0, sizeof set, &set) != 0)
		CPU_ZERO(&set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			list_push(arena, &cpus, cpu);
	topology_order(arena, "", &cpus, first, ret_order);
}

bool host_cpu_join(int cpu, struct host_affinity *ret_before)
{
	cpu_set_t set;
	ret_before->moved = false;
	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof set, &set) != 0)
		return false;
	memcpy(ret_before->set, &set, sizeof set);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	ret_before->moved = sched_setaffinity(0, sizeof set, &set) == 0;
	return ret_before->moved;
}

void host_cpu_return(const struct host_affinity *before)
{
	cpu_set_t set;
	memcpy(&set, before->set, sizeof set);
	if (before->moved)
		sched_setaffinity(0, sizeof set, &set);
}

/* ---- disturbances ------------------------------------------------------------------------------------------------------ */

struct host_disturbance host_disturbance_read(void)
{
	struct host_disturbance disturbance = {0};
	struct arena scratch;
	arena_init(&scratch);
	const char *total = file_value(&scratch, "/proc/stat", "cpu ");
	unsigned long long steal = 0;
	if (total && sscanf(total, "%*u %*u %*u %*u %*u %*u %*u %llu", &steal) == 1)
		disturbance.steal_s = (double)steal / (double)sysconf(_SC_CLK_TCK);
	const char *own = file_value(&scratch, "/proc/self/cgroup", "0::");
	if (own) {
		const char *path = arena_printf(&scratch, "/sys/fs/cgroup%s/cpu.stat", own);
		const char *throttled = file_value(&scratch, path, "throttled_usec");
		if (throttled)
			disturbance.throttled_s = 1e-6 * strtod(throttled, NULL);
	}
	arena_release(&scratch);
	return disturbance;
}

struct host_contention host_contention_read(void)
{
	struct host_contention contention = {.pressure = -1, .load = -1};
	struct arena scratch;
	arena_init(&scratch);
	const char *some = file_value(&scratch, "/proc/pressure/cpu", "some");
	double percent;
	if (some && sscanf(some, "avg10=%lf", &percent) == 1)
		contention.pressure = percent / 100;
	double load = 0;
	if (getloadavg(&load, 1) == 1)
		contention.load = load;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	contention.cpus = cpus > 0 ? (unsigned)cpus : 1;
	arena_release(&scratch);
	return contention;
}

/* ---- compilers --------------------------------------------------------------------------------------------------------- */

/* "gcc-12" -> 12; 0: another name. */
static unsigned compiler_number(const char *name, const char *family)
{
	size_t size = strlen(family);
	if (strncmp(name, family, size) != 0 || name[size] != '-' || !name[size + 1] ||
	    strspn(name + size + 1, "0123456789") != strlen(name + size + 1) || strlen(name + size + 1) > 4)
		return 0;
	return (unsigned)strtoul(name + size + 1, NULL, 10);
}

static int number_order(const void *a, const void *b)
{
	unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;
	return left < right ? -1 : left > right;
}

void host_compilers(struct arena *arena, struct string_list *compilers)
{
	static const char *const families[] = {"gcc", "clang"}, *const plain[] = {"gcc", "clang", "cc"};
	const char *path = getenv("PATH");
	struct arena scratch;
	arena_init(&scratch);
	LIST_OF(unsigned, number_list) numbers[2] = {0};
	struct string_list others = {0};
	for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
		size_t size = strcspn(at, ":");
		const char *folder = arena_strndup(&scratch, at, size);
		at += size + (at[size] == ':');
		DIR *entries = opendir(folder);
		for (struct dirent *entry; entries && (entry = readdir(entries));)
			for (size_t family = 0; family < 2; family++) {
				unsigned number = compiler_number(entry->d_name, families[family]);
				if (number && faccessat(dirfd(entries), entry->d_name, X_OK, 0) == 0)
					list_push(&scratch, &numbers[family], number);
			}
		for (size_t i = 0; entries && i < sizeof plain / sizeof *plain; i++)
			if (faccessat(dirfd(entries), plain[i], X_OK, 0) == 0)
				list_push(&scratch, &others, plain[i]);
		if (entries)
			closedir(entries);
	}
	for (size_t family = 0; family < 2; family++) {
		if (numbers[family].count)
			qsort(numbers[family].at, numbers[family].count, sizeof(unsigned), number_order);
		/* A folder may be in PATH twice. */
		for (size_t i = 0; i < numbers[family].count; i++)
			if (i == 0 || numbers[family].at[i] != numbers[family].at[i - 1])
				list_push(arena, compilers, arena_printf(arena, "%s-%u", families[family], numbers[family].at[i]));
	}
	/* Under one name each: `cc` is one of the others. */
	if (compilers->count == 0)
		for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
			for (size_t k = 0; k < others.count; k++)
				if (strcmp(others.at[k], plain[i]) == 0 && (i < 2 || compilers->count == 0)) {
					list_push(arena, compilers, plain[i]);
					break;
				}
	arena_release(&scratch);
}
