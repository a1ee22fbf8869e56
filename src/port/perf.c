#include "port/perf.h"

#include "port/perf_events.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	RING_PAGES = 64, /* with the page of its head below what any user may lock (perf_event_mlock_kb) */
	THREADS_MAX = 64,
	STACK_MAX = 2, /* of user space: one frame is wanted */
};

struct perf_ring {
	int fd;
	void *memory; /* NULL: none */
};

struct perf_sampler {
	struct perf_ring rings[THREADS_MAX];
	unsigned count;
	size_t page;
	bool kernel;
};

static int event_open(struct perf_event_attr *attributes, int pid, int cpu, int group)
{
	attributes->size = sizeof *attributes;
	return (int)syscall(SYS_perf_event_open, attributes, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

static int clock_open(int pid, int cpu, uint64_t period_ns, bool kernel)
{
	struct perf_event_attr attributes = {
	    .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_CPU_CLOCK,
	    .sample_period = period_ns,
	    .sample_type = PERF_SAMPLE_IP | (kernel ? PERF_SAMPLE_CALLCHAIN : 0),
	    .exclude_kernel = !kernel,
	    .exclude_hv = 1,
	    .exclude_callchain_kernel = 1,
	    .sample_max_stack = kernel ? STACK_MAX : 0,
	    .inherit = cpu >= 0, /* the kernel allows no ring for inherited events of any CPU */
	};
	return event_open(&attributes, pid, cpu, -1);
}

static bool ring_open(struct perf_sampler *sampler, int pid, int cpu, uint64_t period_ns)
{
	struct perf_ring *ring = &sampler->rings[sampler->count];
	*ring = (struct perf_ring){.fd = clock_open(pid, cpu, period_ns, sampler->kernel)};
	if (ring->fd < 0 && sampler->count == 0 && sampler->kernel && (errno == EACCES || errno == EPERM)) {
		sampler->kernel = false;
		ring->fd = clock_open(pid, cpu, period_ns, false);
	}
	if (ring->fd < 0)
		return false;
	void *memory = mmap(NULL, (RING_PAGES + 1) * sampler->page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (memory == MAP_FAILED) {
		int code = errno;
		close(ring->fd);
		errno = code;
		return false;
	}
	ring->memory = memory;
	sampler->count++;
	return true;
}

struct perf_sampler *perf_sampler_open(struct arena *arena, int pid, int cpu, uint64_t period_ns, const char **ret_lack)
{
	struct perf_sampler *sampler = arena_new(arena, struct perf_sampler);
	sampler->page = (size_t)sysconf(_SC_PAGESIZE);
	sampler->kernel = true;
	DIR *tasks = opendir(arena_printf(arena, "/proc/%d/task", pid));
	*ret_lack = NULL;
	if (!tasks)
		*ret_lack = arena_printf(arena, "the threads of process %d can't be read: %s", pid, strerror(errno));
	for (struct dirent *entry; !*ret_lack && (entry = readdir(tasks));) {
		int tid = atoi(entry->d_name);
		if (tid <= 0)
			continue;
		if (sampler->count == THREADS_MAX)
			*ret_lack = "the workload has more than 64 threads before it runs";
		else if (!ring_open(sampler, tid, cpu, period_ns))
			*ret_lack = perf_open_lack(arena, errno, NULL);
	}
	if (tasks)
		closedir(tasks);
	if (!*ret_lack)
		return sampler;
	perf_sampler_close(sampler);
	return NULL;
}

bool perf_sampler_kernel(const struct perf_sampler *sampler)
{
	return sampler->kernel;
}

void perf_sampler_period(struct perf_sampler *sampler, uint64_t period_ns)
{
	for (unsigned i = 0; i < sampler->count; i++)
		ioctl(sampler->rings[i].fd, PERF_EVENT_IOC_PERIOD, &period_ns);
}

double perf_sampler_seconds(const struct perf_sampler *sampler)
{
	uint64_t sum = 0, value;
	for (unsigned i = 0; i < sampler->count; i++)
		if (read(sampler->rings[i].fd, &value, sizeof value) == (ssize_t)sizeof value)
			sum += value;
	return 1e-9 * (double)sum;
}

void perf_sampler_close(struct perf_sampler *sampler)
{
	for (unsigned i = 0; i < sampler->count; i++) {
		munmap(sampler->rings[i].memory, (RING_PAGES + 1) * sampler->page);
		close(sampler->rings[i].fd);
	}
	sampler->count = 0;
}

/* ---- records --------------------------------------------------------------------------------------------------------- */

uint64_t perf_records_parse(struct arena *arena, const void *bytes, size_t size, bool callchains,
                            struct perf_sample_list *samples)
{
	const unsigned char *at = bytes;
	uint64_t lost = 0;
	for (size_t left = size; left >= sizeof(struct perf_event_header);) {
		struct perf_event_header header;
		memcpy(&header, at, sizeof header);
		if (header.size < sizeof header || header.size > left)
			break;
		uint64_t words[2 + 64] = {0}; /* of a sample: ip, and with call chains their length and entries */
		size_t body = header.size - sizeof header, take = body < sizeof words ? body : sizeof words;
		memcpy(words, at + sizeof header, take);
		if (header.type == PERF_RECORD_LOST)
			lost += words[1];
		if (header.type == PERF_RECORD_SAMPLE) {
			struct perf_sample sample = {.ip = words[0]};
			unsigned mode = header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
			sample.kernel = mode != PERF_RECORD_MISC_USER;
			if (sample.kernel)
				sample.ip = 0;
			size_t entries = callchains && take >= 16 ? words[1] : 0;
			for (size_t i = 0; sample.kernel && i < entries && 16 + 8 * i < take; i++)
				/* Between the entries stand marks: the last page of the address space. */
				if (words[2 + i] < (uint64_t)PERF_CONTEXT_MAX) {
					sample.ip = words[2 + i];
					break;
				}
			list_push(arena, samples, sample);
		}
		at += header.size;
		left -= header.size;
	}
	return lost;
}

uint64_t perf_sampler_drain(struct perf_sampler *sampler, struct arena *arena, struct perf_sample_list *samples)
{
	uint64_t lost = 0, size = RING_PAGES * sampler->page;
	for (unsigned i = 0; i < sampler->count; i++) {
		struct perf_event_mmap_page *head = sampler->rings[i].memory;
		const unsigned char *data = (const unsigned char *)sampler->rings[i].memory + sampler->page;
		uint64_t end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE), start = head->data_tail;
		size_t count = (size_t)(end - start);
		unsigned char *copy = arena_alloc(arena, count);
		for (size_t done = 0; done < count;) {
			uint64_t from = (start + done) % size;
			size_t step = count - done < size - from ? count - done : (size_t)(size - from);
			memcpy(copy + done, data + from, step);
			done += step;
		}
		__atomic_store_n(&head->data_tail, end, __ATOMIC_RELEASE);
		lost += perf_records_parse(arena, copy, count, sampler->kernel, samples);
	}
	return lost;
}

/* ---- mappings -------------------------------------------------------------------------------------------------------- */

void perf_maps_parse(struct arena *arena, const char *text, struct perf_mapping_list *ret_mappings)
{
	*ret_mappings = (struct perf_mapping_list){0};
	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');
		unsigned long long start, stop, offset;
		char rights[8] = "";
		int path = 0;
		char *copy = arena_strndup(arena, line, (size_t)(end - line));
		if (sscanf(copy, "%llx-%llx %7s %llx %*s %*s %n", &start, &stop, rights, &offset, &path) == 4 && rights[2] == 'x') {
			struct perf_mapping mapping = {start, stop, offset, path > 0 ? copy + path : ""};
			list_push(arena, ret_mappings, mapping);
		}
		line = *end ? end + 1 : end;
	}
}

void perf_maps_read(struct arena *arena, int pid, struct perf_mapping_list *ret_mappings)
{
	*ret_mappings = (struct perf_mapping_list){0};
	FILE *file = fopen(arena_printf(arena, "/proc/%d/maps", pid), "re");
	char *text = NULL;
	size_t size = 0;
	if (!file)
		return;
	if (getdelim(&text, &size, '\0', file) > 0)
		perf_maps_parse(arena, text, ret_mappings);
	free(text);
	fclose(file);
}

const struct perf_mapping *perf_mapping_at(const struct perf_mapping_list *mappings, uint64_t ip)
{
	for (size_t i = 0; i < mappings->count; i++)
		if (ip >= mappings->at[i].start && ip < mappings->at[i].end)
			return &mappings->at[i];
	return NULL;
}
