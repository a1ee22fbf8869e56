/* assay/bench.h: how a workload is written in C.
 *
 * A driver is one C file that defines `assay_workload`. assay compiles it together with the sources that it
 * exercises, once for the baseline and once for each candidate, and drives the programs in turn.
 *
 *     #include <assay/bench.h>
 *     #include "decode.h"
 *
 *     struct state { unsigned char *in, *out; size_t size; };
 *
 *     static void *setup(struct assay_bench *b)
 *     {
 *         struct state *s = calloc(1, sizeof *s);
 *         s->size = assay_param_u64(b, "block", 4096);
 *         s->in = malloc(s->size);
 *         s->out = malloc(s->size);
 *         assay_fill_text(b, s->in, s->size);
 *         assay_bytes_per_iteration(b, s->size);       // optional: throughput
 *         return s;
 *     }
 *     static void run(void *state, uint64_t iterations) // the only part that is timed
 *     {
 *         struct state *s = state;
 *         for (uint64_t i = 0; i < iterations; i++) {
 *             decode(s->out, s->in, s->size);
 *             assay_keep(s->out);
 *         }
 *     }
 *     static void output(void *state, struct assay_bench *b) // called after run(): what must stay equal
 *     {
 *         struct state *s = state;
 *         assay_output(b, "decoded", s->out, s->size);
 *     }
 *     const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output};
 *
 * A workload of several threads has run_thread() in place of run(), and says in setup() how many there are:
 *
 *     struct state { struct { _Alignas(64) uint64_t sum; } own[64]; unsigned threads; };
 *
 *     static void *setup(struct assay_bench *b)
 *     {
 *         struct state *s = aligned_alloc(64, sizeof *s);
 *         memset(s, 0, sizeof *s);
 *         s->threads = assay_threads(b, 2);             // the parameter `threads`, or 2
 *         return s;
 *     }
 *     static void run_thread(void *state, const struct assay_thread *thread, uint64_t iterations)
 *     {
 *         struct state *s = state;
 *         for (uint64_t i = 0; i < iterations; i++) {
 *             s->own[thread->index].sum += i;
 *             assay_keep(s);
 *         }
 *     }
 *
 * Each thread has a CPU of its own. They wait at a barrier, do `iterations` each, and the time of a sample is that from
 * the barrier to the end of the last one. setup(), output(), edges() and teardown() are called on one thread while the
 * others sleep; output() hands over what the threads produced, in the order of their index, and only what does not depend
 * on who came first.
 *
 * run() should neither allocate nor print nor enter the kernel: what it does beside the work is timed as work.
 * Everything random must come from assay_random() or the fill functions: they give each variant the same data.
 */
#ifndef ASSAY_BENCH_H
#define ASSAY_BENCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_bench;

/* Which of the threads it is: from 0 to count - 1. */
struct assay_thread {
	unsigned index, count;
};

struct assay_workload {
	/* Makes the inputs. Called once in each process. May call assay_fail() and assay_unavailable(). */
	void *(*setup)(struct assay_bench *bench);
	/* Does the work `iterations` times. */
	void (*run)(void *state, uint64_t iterations);
	/* In place of run(), when setup() calls assay_threads(): is called on all threads at once. */
	void (*run_thread)(void *state, const struct assay_thread *thread, uint64_t iterations);
	/* Hands over, by assay_output(), everything that the work produced. Called after the first iteration and once more
	 * some iterations later: what is wrong only then is wrong too. */
	void (*output)(void *state, struct assay_bench *bench);
	/* Optional: runs the code on edge inputs (empty, one element, unaligned, longest, malformed) and hands over what it
	 * produced by assay_output(). Never timed. */
	void (*edges)(void *state, struct assay_bench *bench);
	void (*teardown)(void *state); /* optional */
};

/* Defined by the driver. */
extern const struct assay_workload assay_workload;

/* A parameter's value: from the project file, or `fallback` when it gives none. */
const char *assay_param(struct assay_bench *bench, const char *name, const char *fallback);
uint64_t assay_param_u64(struct assay_bench *bench, const char *name, uint64_t fallback);

/* Only in setup(), of a workload with run_thread(): it has as many threads as the parameter `threads` says, or `fallback`.
 * Returns the number: from 1 to 64, and no more than there are CPUs (but on a single CPU any number, so that results can
 * be compared there; times can't). */
unsigned assay_threads(struct assay_bench *bench, unsigned fallback);

/* Hands over a result. `label` names it in messages: "frame", "digest of edge 3". */
void assay_output(struct assay_bench *bench, const char *label, const void *data, size_t size);

/* Hands over floating-point results that a change may round otherwise: two that differ by at most `tolerance` times the
 * larger of them (1e-12; 0: none) are not wrong. Such a change counts as equal once a person confirms it, by
 * --accept-contract or `contracts` in the project file; until then it can be measured, but is never called faster. */
void assay_output_doubles(struct assay_bench *bench, const char *label, const double *values, size_t count,
                          double tolerance);
void assay_output_floats(struct assay_bench *bench, const char *label, const float *values, size_t count,
                         double tolerance);

/* Ends the process: the workload can't run. One sentence. */
void assay_fail(struct assay_bench *bench, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Ends the process in setup(): nothing is wrong, but what a parameter names can't run here, such as an implementation for
 * instructions that this CPU lacks or that was not compiled in. `reason` is one sentence, without a newline; the value is
 * reported as unavailable, and the others go on. */
void assay_unavailable(const char *reason) __attribute__((noreturn));

/* How many bytes one iteration processes, of all threads together, for throughput in the report. */
void assay_bytes_per_iteration(struct assay_bench *bench, uint64_t size_bytes);

/* Data by seed: the same in every variant of a run. */
uint64_t assay_random(struct assay_bench *bench);
void assay_fill_random(struct assay_bench *bench, void *data, size_t size);   /* incompressible */
void assay_fill_text(struct assay_bench *bench, void *data, size_t size);     /* words, like prose and logs: compresses about 2:1 to 4:1 */
void assay_fill_literals(struct assay_bench *bench, void *data, size_t size); /* skewed bytes without repeats: entropy coding only */

/* Makes the compiler believe that the memory behind `pointer` is read and written here. */
static inline void assay_keep(const void *pointer)
{
	__asm__ volatile("" : : "g"(pointer) : "memory");
}

#ifdef __cplusplus
}
#endif

#endif
