#include "port/perf_events.h"

#include "base/text.h"
#include "port/tree.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct perf_event_set perf_events_core(void)
{
	return (struct perf_event_set){
	    .at = {{"cycles", {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES}},
	           {"instructions", {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS}},
	           {"branches", {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS}},
	           {"branch misses", {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_BRANCH_MISSES}},
	           {"cache misses", {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CACHE_MISSES}}},
	    .count = 5,
	};
}

struct perf_event_set perf_events_software(void)
{
	return (struct perf_event_set){
	    .at = {{"task clock", {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK}},
	           {"page faults", {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS}},
	           {"context switches", {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES}}},
	    .count = 3,
	};
}

bool perf_event_hardware(const struct perf_event *event)
{
	return event->code.type != PERF_TYPE_SOFTWARE && event->code.type != PERF_TYPE_TRACEPOINT;
}

const char *perf_event_way(const struct perf_event *event)
{
	return perf_event_hardware(event) ? "hardware counter, user space" : "counted by the kernel, user space";
}

/* ---- codes from /sys ------------------------------------------------------------------------------------------------ */

/* Puts `value` into the bits that "config:0-7,32-35" names, lowest first. */
static bool bits_put(const char *bits, uint64_t value, uint64_t *config)
{
	if (!text_starts(bits, "config:"))
		return false; /* config1 and others belong to sampling */
	for (const char *at = bits + strlen("config:"); *at;) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;
		if (end == at)
			return false;
		if (*end == '-') {
			at = end + 1;
			last = strtoul(at, &end, 10);
			if (end == at)
				return false;
		}
		if (first > last || last > 63 || (*end && *end != ','))
			return false;
		for (unsigned long bit = first; bit <= last; bit++, value >>= 1)
			*config |= (value & 1) << bit;
		at = *end ? end + 1 : end;
	}
	return value == 0;
}

bool perf_code_parse(const char *text, const struct perf_format *formats, size_t count, uint64_t *ret_config)
{
	*ret_config = 0;
	for (const char *at = text; *at;) {
		size_t size = strcspn(at, ","), name = strcspn(at, "=,");
		uint64_t value = 1; /* a term without a value is a switch */
		if (name < size) {
			char *end;
			errno = 0;
			value = strtoull(at + name + 1, &end, 0);
			if (errno || end != at + size || end == at + name + 1)
				return false;
		}
		bool known = false;
		for (size_t i = 0; i < count && !known; i++)
			if (strlen(formats[i].name) == name && memcmp(formats[i].name, at, name) == 0) {
				if (!bits_put(formats[i].bits, value, ret_config))
					return false;
				known = true;
			}
		if (!known)
			return false;
		at += size + (at[size] == ',');
	}
	return *text != '\0';
}

/* Without the line's end; NULL: no such file. */
static const char *file_line(struct arena *arena, const char *path)
{
	const char *text = NULL;
	size_t size = 0;
	struct err ignored = ERR_INIT;
	if (file_read(arena, path, &text, &size, &ignored) != ST_OK)
		return NULL;
	return arena_strndup(arena, text, strcspn(text, "\n"));
}

const char *perf_events_topdown(struct arena *arena, const char *root, struct perf_event_set *ret_set)
{
	static const struct {
		const char *file, *name;
	} events[] = {{"slots", "slots"},
	              {"topdown-retiring", "retiring"},
	              {"topdown-bad-spec", "bad speculation"},
	              {"topdown-fe-bound", "front end bound"},
	              {"topdown-be-bound", "back end bound"}};
	static const char *const devices[] = {"cpu", "cpu_core"}; /* the second where there are slow cores as well */
	const char *folder = NULL, *type = NULL;
	*ret_set = (struct perf_event_set){0};
	for (size_t i = 0; i < sizeof devices / sizeof *devices && !type; i++) {
		folder = arena_printf(arena, "%s/sys/bus/event_source/devices/%s", root, devices[i]);
		type = file_line(arena, path_join(arena, folder, "type"));
	}
	if (!type)
		return "this CPU shows no performance counters";
	const char *event_bits = file_line(arena, path_join(arena, folder, "format/event"));
	const char *umask_bits = file_line(arena, path_join(arena, folder, "format/umask"));
	struct perf_format formats[] = {{"event", event_bits ? event_bits : ""}, {"umask", umask_bits ? umask_bits : ""}};
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		const char *text = file_line(arena, arena_printf(arena, "%s/events/%s", folder, events[i].file));
		struct perf_event event = {.name = events[i].name, .code = {.type = (uint32_t)atoi(type), .by_kernel = 1}};
		if (!text)
			return "this CPU has no events for it (Intel's have them since Ice Lake; AMD's and older ones don't)";
		if (!perf_code_parse(text, formats, 2, &event.code.config))
			return arena_printf(arena, "the kernel's code of %s is not understood: %s", events[i].file, text);
		ret_set->at[ret_set->count++] = event;
	}
	return NULL;
}

const char *perf_topdown_of(const double values[5], struct perf_topdown *ret_topdown)
{
	static const double ADDED_LEAST = 0.95, ADDED_MOST = 1.05; /* each part is kept in 8 bits by the CPU */
	double sum = 0;
	*ret_topdown = (struct perf_topdown){0};
	if (!(values[0] > 0))
		return "no slots were counted";
	for (int i = 1; i < 5; i++) {
		if (!(values[i] >= -0.01 * values[0]))
			return "a part of the slots is below 0";
		sum += values[i];
	}
	if (!(sum >= ADDED_LEAST * values[0] && sum <= ADDED_MOST * values[0]))
		return "the four parts don't add up to all slots";
	*ret_topdown = (struct perf_topdown){fmax(values[1], 0) / sum, fmax(values[2], 0) / sum, fmax(values[3], 0) / sum,
	                                     fmax(values[4], 0) / sum};
	return NULL;
}

/* ---- may they be believed? ------------------------------------------------------------------------------------------ */

const char *perf_open_lack(struct arena *arena, int code, const char *event)
{
	switch (code) {
	case EACCES:
	case EPERM:
		return "perf_event_open is forbidden here: sysctl kernel.perf_event_paranoid=2 allows it, or start the container "
		       "with CAP_PERFMON";
	case ENOSYS:
		return "this kernel has no perf_event_open";
	case EMFILE:
		return "too many open files: raise ulimit -n";
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return event ? arena_printf(arena, "this machine does not count %s", event) : "this machine does not count it";
	case EINVAL:
		return event ? arena_printf(arena, "this machine does not count %s together with the others", event)
		             : "this machine does not count it so";
	default:
		return arena_printf(arena, "perf_event_open%s%s: %s", event ? " for " : "", event ? event : "", strerror(code));
	}
}

const char *perf_counts_lack(const struct bench_counts *counts)
{
	if (counts->count == 0)
		return "the counters can't be read";
	if (counts->running_ns < counts->enabled_ns)
		return "the counters were shared with somebody else for a part of the time: end other profilers (and the NMI "
		       "watchdog: sysctl kernel.nmi_watchdog=0)";
	bool any = false;
	for (unsigned i = 0; i < counts->count && i < BENCH_EVENTS_MAX; i++)
		any |= counts->value[i] != 0;
	if (!any)
		return "the counters open but stand still, as in some virtual machines";
	if (counts->value[0] == 0)
		return "the first counter stands still while others count, which can't be";
	return NULL;
}
