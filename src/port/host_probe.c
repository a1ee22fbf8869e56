#include "port/host_probe.h"

#include "base/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct look {
	struct arena *arena;
	const char *root;
	unsigned cpus;
	struct probe_list *probes;
};

static const char MEASURING[] = "measuring";

static void add(struct look *look, const char *name, enum probe_result result, const char *found, const char *costs,
                const char *mend)
{
	struct probe probe = {.group = MEASURING, .name = name, .result = result, .found = found, .costs = costs, .mend = mend};
	list_push(look->arena, look->probes, probe);
}

/* ---- files ----------------------------------------------------------------------------------------------------------- */

/* Up to 64 KiB of a file; NULL: it can't be read. */
static char *content(struct look *look, const char *path)
{
	enum { MOST = 65536 };
	FILE *file = fopen(arena_printf(look->arena, "%s%s", look->root, path), "re");
	if (!file)
		return NULL;
	char *text = arena_alloc(look->arena, MOST + 1);
	size_t size = fread(text, 1, MOST, file);
	fclose(file);
	text[size] = '\0';
	return text;
}

/* The first line; NULL: no such file, or empty. */
static const char *line(struct look *look, const char *path)
{
	char *text = content(look, path);
	if (!text)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return text[0] ? text : NULL;
}

/* The line that begins with `key`, behind it; NULL: none. */
static const char *line_of(struct look *look, const char *path, const char *key)
{
	char *text = content(look, path);
	size_t size = strlen(key);
	while (text && *text) {
		char *end = strchrnul(text, '\n');
		bool last = !*end;
		*end = '\0';
		if (strncmp(text, key, size) == 0)
			return text + size + strspn(text + size, " \t:");
		text = last ? end : end + 1;
	}
	return NULL;
}

static bool there(struct look *look, const char *path)
{
	return access(arena_printf(look->arena, "%s%s", look->root, path), F_OK) == 0;
}

/* Names of the entries of a folder that begin with `prefix` followed by a digit or nothing more. */
static struct string_list entries(struct look *look, const char *path, const char *prefix)
{
	struct string_list names = {0};
	DIR *folder = opendir(arena_printf(look->arena, "%s%s", look->root, path));
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		if (entry->d_name[0] != '.' && text_starts(entry->d_name, prefix))
			list_push(look->arena, &names, arena_strdup(look->arena, entry->d_name));
	if (folder)
		closedir(folder);
	return names;
}

static const char CPU_FOLDER[] = "/sys/devices/system/cpu";

static bool is_cpu(const char *name)
{
	return text_starts(name, "cpu") && name[3] && strspn(name + 3, "0123456789") == strlen(name + 3);
}

/* What the CPUs' files of this name say, each once; none: not shown. */
static struct string_list cpu_values(struct look *look, const char *file)
{
	struct string_list cpus = entries(look, CPU_FOLDER, "cpu"), seen = {0};
	for (size_t i = 0; i < cpus.count; i++) {
		const char *value = is_cpu(cpus.at[i])
		                        ? line(look, arena_printf(look->arena, "%s/%s/%s", CPU_FOLDER, cpus.at[i], file)) : NULL;
		bool known = !value;
		for (size_t k = 0; k < seen.count && !known; k++)
			known = strcmp(seen.at[k], value) == 0;
		if (!known)
			list_push(look->arena, &seen, value);
	}
	return seen;
}

/* ---- cores ------------------------------------------------------------------------------------------------------------- */

static void look_kinds(struct look *look)
{
	bool mixed = (there(look, "/sys/devices/cpu_core") && there(look, "/sys/devices/cpu_atom")) ||
	             cpu_values(look, "cpu_capacity").count > 1;
	if (mixed)
		add(look, "kinds of cores", PROBE_LIMIT, "fast and slow cores in one processor",
		    "two runs may be judged on different kinds of cores", "taskset -c with cores of one kind");
	else
		add(look, "kinds of cores", PROBE_FINE, "all alike", NULL, NULL);
}

static void look_smt(struct look *look)
{
	const char *active = line(look, "/sys/devices/system/cpu/smt/active");
	size_t cores = cpu_values(look, "topology/thread_siblings_list").count;
	if (!active)
		add(look, "SMT", PROBE_NOTE, "not shown", "whether another thread shares the core can't be told", NULL);
	else if (strcmp(active, "1") == 0 && cores == 1)
		add(look, "SMT", PROBE_LIMIT, "on: all CPUs are threads of one core",
		    "whatever else runs, assay itself too, takes from the core that is measured on", "a machine with two cores");
	else if (strcmp(active, "1") == 0)
		add(look, "SMT", PROBE_LIMIT,
		    cores ? arena_printf(look->arena, "on: threads share a core, of which there are %zu", cores)
		          : "on: two threads share a core",
		    "a neighbour on the same core slows some blocks", "echo off > /sys/devices/system/cpu/smt/control");
	else
		add(look, "SMT", PROBE_FINE, "off", NULL, NULL);
}

static void look_governor(struct look *look)
{
	struct string_list seen = cpu_values(look, "cpufreq/scaling_governor");
	const char *found = text_join(look->arena, &seen, ", ");
	if (seen.count == 0)
		add(look, "governor", PROBE_NOTE, "not shown, as in virtual machines",
		    "changes of frequency go unseen; the coin keeps pairs fair", NULL);
	else if (seen.count == 1 && strcmp(found, "performance") == 0)
		add(look, "governor", PROBE_FINE, found, NULL, NULL);
	else
		add(look, "governor", PROBE_LIMIT, found, "the frequency follows the load, which widens the spread",
		    "cpupower frequency-set -g performance");
}

static void look_turbo(struct look *look)
{
	const char *none = line(look, "/sys/devices/system/cpu/intel_pstate/no_turbo");
	const char *boost = line(look, "/sys/devices/system/cpu/cpufreq/boost");
	if (!none && !boost) {
		add(look, "turbo", PROBE_NOTE, "not shown, as in virtual machines",
		    "changes of frequency go unseen; the coin keeps pairs fair", NULL);
		return;
	}
	bool on = none ? strcmp(none, "0") == 0 : strcmp(boost, "1") == 0;
	if (on)
		add(look, "turbo", PROBE_LIMIT, "on", "the frequency follows heat and neighbours, which widens the spread",
		    none ? "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"
		         : "echo 0 > /sys/devices/system/cpu/cpufreq/boost");
	else
		add(look, "turbo", PROBE_FINE, "off", NULL, NULL);
}

static void look_battery(struct look *look)
{
	struct string_list supplies = entries(look, "/sys/class/power_supply", "");
	bool battery = false, discharging = false;
	for (size_t i = 0; i < supplies.count; i++) {
		const char *folder = arena_printf(look->arena, "/sys/class/power_supply/%s", supplies.at[i]);
		const char *type = line(look, path_join(look->arena, folder, "type"));
		const char *scope = line(look, path_join(look->arena, folder, "scope"));
		const char *status = line(look, path_join(look->arena, folder, "status"));
		/* A mouse has a battery too. */
		if (!type || strcmp(type, "Battery") != 0 || (scope && strcmp(scope, "Device") == 0))
			continue;
		battery = true;
		discharging |= status && strcmp(status, "Discharging") == 0;
	}
	if (discharging)
		add(look, "power", PROBE_LIMIT, "on battery", "the system saves power at the processor's cost", "plug it in");
	else
		add(look, "power", PROBE_FINE, battery ? "plugged in" : "no battery", NULL, NULL);
}

/* ---- what others take ---------------------------------------------------------------------------------------------------- */

/* How often a limit has been used up: "stopped in 12 of 340 periods so far", from the text of a cpu.stat. NULL: not shown. */
static const char *throttled_text(struct look *look, const char *path)
{
	const char *periods = line_of(look, path, "nr_periods"), *throttled = line_of(look, path, "nr_throttled");
	if (!periods || !throttled)
		return NULL;
	return arena_printf(look->arena, "stopped in %ld of %ld periods so far", atol(throttled), atol(periods));
}

/* CPUs' worth of time that this process may use; 0: no limit. Limits of all groups above count. */
static double cpu_limit(struct look *look, const char **ret_throttled)
{
	double least = 0;
	*ret_throttled = NULL;
	const char *own = line_of(look, "/proc/self/cgroup", "0::");
	const char *bases[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	for (size_t i = 0; own && i < sizeof bases / sizeof *bases; i++)
		for (char *path = arena_strdup(look->arena, own);; *strrchr(path, '/') = '\0') {
			const char *max = line(look, arena_printf(look->arena, "%s%s/cpu.max", bases[i], path));
			double quota, period;
			if (max && sscanf(max, "%lf %lf", &quota, &period) == 2 && period > 0 && (least == 0 || quota / period < least)) {
				least = quota / period;
				*ret_throttled = throttled_text(look, arena_printf(look->arena, "%s%s/cpu.stat", bases[i], path));
			}
			if (!strrchr(path, '/') || strcmp(path, "/") == 0)
				break;
		}
	/* The first version of control groups: "4:cpu,cpuacct:/a/b". */
	char *groups = content(look, "/proc/self/cgroup");
	for (char *at = groups; at && *at;) {
		char *end = strchrnul(at, '\n');
		bool last = !*end;
		*end = '\0';
		char *controllers = strchr(at, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (path) {
			*path++ = '\0';
			const char *list = arena_printf(look->arena, ",%s,", controllers + 1);
			for (int inside = 0; strstr(list, ",cpu,") && inside < 2; inside++) {
				/* In a container the path is often that of the host, and the group lies at the root. */
				const char *folder = arena_printf(look->arena, "/sys/fs/cgroup/cpu%s", inside || !path[1] ? "" : path);
				const char *quota = line(look, path_join(look->arena, folder, "cpu.cfs_quota_us"));
				const char *period = line(look, path_join(look->arena, folder, "cpu.cfs_period_us"));
				double share = quota && period && atof(quota) > 0 && atof(period) > 0 ? atof(quota) / atof(period) : 0;
				if (share > 0 && (least == 0 || share < least)) {
					least = share;
					*ret_throttled = throttled_text(look, path_join(look->arena, folder, "cpu.stat"));
				}
			}
		}
		at = last ? end : end + 1;
	}
	return least;
}

static void look_limit(struct look *look)
{
	const char *throttled;
	double limit = cpu_limit(look, &throttled);
	const char *found = arena_printf(look->arena, "%.2f CPUs%s%s", limit, throttled ? "; " : "", throttled ? throttled : "");
	if (limit == 0)
		add(look, "CPU limit", PROBE_FINE, "none", NULL, NULL);
	else if (limit < 1)
		add(look, "CPU limit", PROBE_UNFIT, found,
		    "the kernel stops the workload in the middle of samples", "raise the container's CPU limit to 2");
	else
		add(look, "CPU limit", PROBE_LIMIT, found,
		    "when it is used up the workload is stopped in the middle of samples",
		    "raise the container's CPU limit, or bind it to CPUs of its own");
}

static void look_steal(struct look *look)
{
	const char *times = line_of(look, "/proc/stat", "cpu ");
	double user, nice, kernel, idle, wait, irq, softirq, steal;
	if (!times || sscanf(times, "%lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &kernel, &idle, &wait, &irq, &softirq,
	                     &steal) != 8) {
		add(look, "steal", PROBE_NOTE, "not shown", "what other guests take can't be told", NULL);
		return;
	}
	double busy = user + nice + kernel + irq + softirq + steal, share = busy > 0 ? steal / busy : 0;
	const char *found = arena_printf(look->arena, "%.1f %% of the busy time since the start", 100 * share);
	if (share > 0.01)
		add(look, "steal", PROBE_LIMIT, found, "other guests of the host interrupt samples, which nobody here can see",
		    "a machine with CPUs of its own");
	else
		add(look, "steal", PROBE_FINE, found, NULL, NULL);
}

static void look_neighbours(struct look *look)
{
	const char *load = line(look, "/proc/loadavg"), *pressure = line_of(look, "/proc/pressure/cpu", "some avg10=");
	double running = load ? atof(load) : -1, waiting = pressure ? atof(pressure) : -1;
	if (running < 0) {
		add(look, "neighbours", PROBE_NOTE, "not shown", "what else runs can't be told", NULL);
		return;
	}
	const char *found = arena_printf(look->arena, "load %.1f for %u CPU%s%s", running, look->cpus, look->cpus == 1 ? "" : "s",
	                                 waiting < 0 ? "" : arena_printf(look->arena, ", %.0f %% of the time something waits",
	                                                                 waiting));
	bool busy = running > 0.75 * look->cpus || waiting > 20;
	add(look, "neighbours", busy ? PROBE_LIMIT : PROBE_FINE, found,
	    busy ? "samples are interrupted and caches shared: verdicts take longer and small effects drown" : NULL,
	    busy ? "end other work, or wait until it ends" : NULL);
}

/* ---- clocks and memory ------------------------------------------------------------------------------------------------------ */

static void look_clock(struct look *look)
{
	static const char *const good[] = {"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase", "stp"};
	const char *source = line(look, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	bool fast = false;
	for (size_t i = 0; source && i < sizeof good / sizeof *good; i++)
		fast |= strcmp(source, good[i]) == 0;
	if (!source)
		add(look, "clock source", PROBE_NOTE, "not shown", "how the time is read can't be told", NULL);
	else if (fast)
		add(look, "clock source", PROBE_FINE, source, NULL, NULL);
	else
		add(look, "clock source", PROBE_LIMIT, source, "reading the time enters the kernel, inside of every sample",
		    "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if it is offered there");
}

static void look_addresses(struct look *look)
{
	const char *random = line(look, "/proc/sys/kernel/randomize_va_space");
	if (random && strcmp(random, "2") != 0)
		add(look, "addresses", PROBE_LIMIT, "not all drawn at random",
		    "fresh processes lie where the last ones lay: an accident of placement looks like an effect",
		    "sysctl kernel.randomize_va_space=2");
	else
		add(look, "addresses", random ? PROBE_FINE : PROBE_NOTE, random ? "drawn at random" : "not shown",
		    random ? NULL : "whether fresh processes lie elsewhere can't be told", NULL);
}

static void look_memory(struct look *look)
{
	const char *available = line_of(look, "/proc/meminfo", "MemAvailable"), *total = line_of(look, "/proc/meminfo", "MemTotal");
	double left = available ? atof(available) / 1048576 : -1;
	if (left < 0) {
		add(look, "memory", PROBE_NOTE, "not shown", "how much is free can't be told", NULL);
		return;
	}
	const char *found = arena_printf(look->arena, "%.1f of %.1f GiB available", left, total ? atof(total) / 1048576 : left);
	if (left < 0.5)
		add(look, "memory", PROBE_LIMIT, found, "workloads may be swapped out or killed, and front ends as well",
		    "end other work, or -j 1");
	else
		add(look, "memory", PROBE_FINE, found, NULL, NULL);
}

void host_probe_files(struct arena *arena, const char *root, unsigned cpus, struct probe_list *probes)
{
	static void (*const looks[])(struct look *) = {look_kinds,  look_smt,        look_governor, look_turbo,     look_battery, look_limit,
	                                               look_steal,  look_neighbours, look_clock,    look_addresses, look_memory};
	struct look look = {arena, root, cpus, probes};
	for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
		looks[i](&look);
}
