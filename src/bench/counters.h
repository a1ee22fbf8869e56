/* Counts of what the CPU did, read in the process that they are about, so that nothing but run() lies between two
 * readings. Where the kernel allows it a counter is read by `rdpmc`, without entering the kernel (perf_event_open(2), "The
 * mmap layout"); else by read(). Never between the two time stamps of a sample: counting has a command of its own.
 *
 * It goes into every workload's program behind protocol.h. Not tried on real counters yet: its arithmetic is tested with
 * pages written by hand, its messages and read() with events of the kernel, which take the same way. */
#ifndef ASSAY_BENCH_COUNTERS_H
#define ASSAY_BENCH_COUNTERS_H

#include "protocol.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/perf_event.h>)
#define BENCH_HAS_PERF 1
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#endif
#endif

#ifdef BENCH_HAS_PERF

/* ---- one page --------------------------------------------------------------------------------------------------- */

/* How a counter and the ticks that the kernel's times are made of are read; tests have their own. */
struct bench_cpu {
	uint64_t (*counter)(void *context, uint32_t index);
	uint64_t (*ticks)(void *context);
	void *context;
};

struct bench_reading {
	uint64_t count, enabled_ns, running_ns;
};

/* A counter has `width` bits and may stand below 0; what the kernel adds to it undoes a wrap. */
static uint64_t bench_counter_extend(uint64_t offset, uint64_t raw, unsigned width)
{
	uint64_t sign;
	if (width == 0 || width >= 64)
		return offset + raw;
	sign = (uint64_t)1 << (width - 1);
	raw &= (sign << 1) - 1;
	return offset + ((raw ^ sign) - sign);
}

/* In two parts, since ticks * mult does not fit into 64 bits. */
static uint64_t bench_ticks_ns(uint64_t ticks, unsigned shift, uint32_t mult)
{
	uint64_t whole = ticks >> shift, rest = ticks & (((uint64_t)1 << shift) - 1);
	return whole * mult + ((rest * mult) >> shift);
}

enum { BENCH_PAGE_TRIES = 100 };

/* 0: it can't be read here now (not allowed, not on a counter, or rewritten all the time): ask the kernel. */
static int bench_page_read(const volatile struct perf_event_mmap_page *page, const struct bench_cpu *cpu,
                           struct bench_reading *ret_reading)
{
	int tries;
	/* The kernel makes `lock` another number before and after it writes: equal numbers mean one state. */
	for (tries = 0; tries < BENCH_PAGE_TRIES; tries++) {
		struct bench_reading reading;
		uint64_t ticks = 0, time_offset = 0;
		uint32_t lock = page->lock, index, mult = 0;
		unsigned shift = 0;
		int timed;
		__asm__ volatile("" : : : "memory");
		reading.enabled_ns = page->time_enabled;
		reading.running_ns = page->time_running;
		timed = page->cap_user_time && reading.enabled_ns != reading.running_ns;
		if (timed) {
			ticks = cpu->ticks(cpu->context);
			time_offset = page->time_offset;
			mult = page->time_mult;
			shift = page->time_shift;
		}
		index = page->index;
		if (!page->cap_user_rdpmc || index == 0)
			return 0;
		reading.count = bench_counter_extend((uint64_t)page->offset, cpu->counter(cpu->context, index - 1), page->pmc_width);
		__asm__ volatile("" : : : "memory");
		if (page->lock != lock)
			continue;
		if (timed && shift < 64) {
			/* Since the kernel last wrote; the event is on a counter, so that both times went on. */
			uint64_t since = time_offset + bench_ticks_ns(ticks, shift, mult);
			reading.enabled_ns += since;
			reading.running_ns += since;
		}
		*ret_reading = reading;
		return 1;
	}
	return 0;
}

#if defined(__x86_64__) || defined(__i386__)
static uint64_t bench_rdpmc(void *context, uint32_t index)
{
	uint32_t low, high;
	(void)context;
	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	return (uint64_t)high << 32 | low;
}

static uint64_t bench_rdtsc(void *context)
{
	uint32_t low, high;
	(void)context;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static const struct bench_cpu bench_this_cpu = {bench_rdpmc, bench_rdtsc, NULL};
#define BENCH_THIS_CPU (&bench_this_cpu)
#else
#define BENCH_THIS_CPU ((const struct bench_cpu *)NULL)
#endif

/* ---- a group of events ---------------------------------------------------------------------------------------------- */

/* Events of this thread that are on the CPU's counters all at the same times, or not at all. */
struct bench_group {
	unsigned count;
	int fds[BENCH_EVENTS_MAX];
	void *pages[BENCH_EVENTS_MAX]; /* NULL: none */
	int by_kernel;                 /* some of them have no counter of their own to read */
};

static void bench_group_close(struct bench_group *group)
{
	long page = sysconf(_SC_PAGESIZE);
	while (group->count) {
		unsigned i = --group->count;
		if (group->pages[i])
			munmap(group->pages[i], (size_t)page);
		close(group->fds[i]);
	}
}

/* 0, or errno and in *ret_which the event that can't be counted. */
static int bench_group_open(struct bench_group *group, const struct bench_event *events, unsigned count, unsigned *ret_which)
{
	long page = sysconf(_SC_PAGESIZE);
	unsigned i;
	memset(group, 0, sizeof *group);
	for (i = 0; i < count && i < BENCH_EVENTS_MAX; i++) {
		struct perf_event_attr attributes;
		void *memory;
		memset(&attributes, 0, sizeof attributes);
		attributes.type = events[i].type;
		attributes.size = sizeof attributes;
		attributes.config = events[i].config;
		attributes.config1 = events[i].config1;
		attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
		attributes.exclude_kernel = 1;
		attributes.exclude_hv = 1;
		attributes.disabled = i == 0; /* with it the whole group: else a late one may not count until this thread sleeps */
		group->fds[i] = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, i ? group->fds[0] : -1, PERF_FLAG_FD_CLOEXEC);
		if (group->fds[i] < 0) {
			int code = errno;
			bench_group_close(group);
			*ret_which = i;
			return code;
		}
		memory = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, group->fds[i], 0);
		group->pages[i] = memory == MAP_FAILED ? NULL : memory;
		group->by_kernel |= events[i].by_kernel != 0;
		group->count++;
	}
	if (group->count)
		ioctl(group->fds[0], PERF_EVENT_IOC_ENABLE, 0);
	return 0;
}

/* What read() gives for a group: number, time enabled, time running, values. 0: cut short. */
static int bench_group_parse(const uint64_t *words, size_t size, struct bench_counts *ret_counts)
{
	memset(ret_counts, 0, sizeof *ret_counts);
	if (size < 3 * sizeof *words || words[0] > BENCH_EVENTS_MAX || size != (3 + words[0]) * sizeof *words)
		return 0;
	ret_counts->count = (uint32_t)words[0];
	ret_counts->way = BENCH_BY_KERNEL;
	ret_counts->enabled_ns = words[1];
	ret_counts->running_ns = words[2];
	memcpy(ret_counts->value, words + 3, words[0] * sizeof *words);
	return 1;
}

/* Since the group was opened. `cpu` NULL: nothing but the kernel can be asked. 0: the counters can't be read. */
static int bench_group_read(const struct bench_group *group, const struct bench_cpu *cpu, struct bench_counts *ret_counts)
{
	uint64_t words[3 + BENCH_EVENTS_MAX];
	ssize_t size;
	unsigned i, read_here = 0;
	memset(ret_counts, 0, sizeof *ret_counts);
	for (i = 0; cpu && !group->by_kernel && i < group->count; i++) {
		struct bench_reading reading;
		if (!group->pages[i] ||
		    !bench_page_read((const volatile struct perf_event_mmap_page *)group->pages[i], cpu, &reading))
			break;
		if (i == 0) {
			ret_counts->enabled_ns = reading.enabled_ns;
			ret_counts->running_ns = reading.running_ns;
		}
		ret_counts->value[i] = reading.count;
		read_here++;
	}
	ret_counts->count = group->count;
	ret_counts->way = BENCH_BY_RDPMC;
	if (group->count && read_here == group->count)
		return 1;
	size = group->count ? read(group->fds[0], words, sizeof words) : -1;
	return size > 0 && bench_group_parse(words, (size_t)size, ret_counts) && ret_counts->count == group->count;
}

#else /* no perf_event_open on this system */

struct bench_cpu;
struct bench_group {
	unsigned count;
};
#define BENCH_THIS_CPU ((const struct bench_cpu *)NULL)

static void bench_group_close(struct bench_group *group)
{
	group->count = 0;
}

static int bench_group_open(struct bench_group *group, const struct bench_event *events, unsigned count, unsigned *ret_which)
{
	(void)events;
	(void)count;
	group->count = 0;
	*ret_which = 0;
	return ENOSYS;
}

static int bench_group_read(const struct bench_group *group, const struct bench_cpu *cpu, struct bench_counts *ret_counts)
{
	(void)group;
	(void)cpu;
	memset(ret_counts, 0, sizeof *ret_counts);
	return 0;
}

#endif

/* What happened between two readings; counted `by_kernel` if one of them was. */
static struct bench_counts bench_counts_between(const struct bench_counts *before, const struct bench_counts *after)
{
	struct bench_counts between;
	unsigned i;
	memset(&between, 0, sizeof between);
	if (before->count != after->count || !after->count)
		return between;
	between.count = after->count;
	between.way = before->way == after->way ? after->way : (uint32_t)BENCH_BY_KERNEL;
	between.enabled_ns = after->enabled_ns - before->enabled_ns;
	between.running_ns = after->running_ns - before->running_ns;
	for (i = 0; i < after->count; i++)
		between.value[i] = after->value[i] - before->value[i];
	return between;
}

#endif
