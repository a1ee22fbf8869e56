/* What assay and a workload's program say to each other: fixed-size messages between processes of one machine.
 * The build puts this text in front of runtime.c, so that a workload needs bench.h and runtime.c only. */
#ifndef ASSAY_BENCH_PROTOCOL_H
#define ASSAY_BENCH_PROTOCOL_H

#include <stdint.h>

#define BENCH_MAGIC 0x61737379u

enum { BENCH_COMMAND_FD = 3, BENCH_REPLY_FD = 4 };
/* Exit status of a workload that called assay_fail() or assay_unavailable(), and of a wrong command line. */
enum { BENCH_EXIT_FAIL = 3, BENCH_EXIT_UNAVAILABLE = 4, BENCH_EXIT_USAGE = 2 };

enum bench_kind {
	BENCH_READY = 1, /* program: set-up is done; `bytes_per_iteration`, `threads` and `cpus` hold */
	BENCH_SAMPLE,    /* both: run `prime` iterations, then `iterations` between two time stamps */
	BENCH_QUIT,      /* assay */
	BENCH_RECORD,    /* program, --outputs: label_size bytes of label and size bytes of data follow */
	BENCH_END,       /* program, --outputs: `size` records were sent */
	BENCH_EVENTS,    /* assay: count these from now on, `iterations` of them follow; program: `ns` is 0, or errno of event `cpu` */
	BENCH_COUNT,     /* assay: as BENCH_SAMPLE, counting; program: as for a sample, and struct bench_counts follows */
	BENCH_TRANSFER   /* both, of several threads: what a cache-line transfer between their CPUs costs */
};

struct bench_command {
	uint32_t magic, kind;
	uint64_t prime, iterations;
};

enum { BENCH_MIGRATED = 1, BENCH_PREEMPTED = 2, BENCH_PAGE_FAULT = 4 }; /* as PAIR_… in model/sample.h */

struct bench_reply {
	uint32_t magic, kind;
	uint64_t ns;    /* between the stamps */
	uint32_t flags; /* BENCH_MIGRATED … */
	uint32_t cpu;   /* that it ran on */
	uint64_t bytes_per_iteration;
	uint32_t threads; /* that the workload declares: 1 unless it has several */
	uint32_t cpus;    /* that it has for them */
};

/* Of the two CPUs between which a transfer shows least. */
struct bench_transfer {
	uint32_t magic, kind;
	uint32_t cpus[2];
	uint64_t shared_ps;  /* for one turn of two threads that write one line by turns */
	uint64_t private_ps; /* for the same on lines of their own; 0: nothing was measured, there are too few CPUs */
	uint64_t bursts;     /* that this is the lower quartile of, for each pair of CPUs; in all */
};

enum { BENCH_EVENTS_MAX = 8 };

/* As perf_event_open(2) has it. */
struct bench_event {
	uint32_t type;
	uint32_t by_kernel; /* it has no counter of its own: only read() gives its value */
	uint64_t config, config1;
};

enum { BENCH_BY_KERNEL = 1, BENCH_BY_RDPMC };

struct bench_counts {
	uint32_t count; /* 0: the counters could not be read */
	uint32_t way;   /* BENCH_BY_KERNEL: by read() */
	uint64_t enabled_ns, running_ns;
	uint64_t value[BENCH_EVENTS_MAX];
};

struct bench_record {
	uint32_t magic, kind;
	uint64_t label_size, size;
	uint64_t element; /* size of each floating-point number in the data; 0: bytes, nothing is tolerated */
	double tolerance; /* with `element`: by so much of the larger may two numbers differ */
};

#endif
