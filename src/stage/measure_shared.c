#include "stage/measure.h"

#include "port/object_program.h"
#include "port/workload.h"

#include <math.h>

enum {
	BLOCKS_SPARE = 10,  /* that the rest of a budget is divided among when more than enough have been taken */
	BLOCKS_WANTED = 30, /* that fit the budget, if samples per block can make it so: 12 are the least that decide at 1 % */
};

static const double LIMIT_S = 10; /* for one answer, besides 20 times what is expected */

/* ---- the course of a measurement ---------------------------------------------------------------------------------- */

void course_open(struct course *course, struct session *session, const struct plan *plan, enum stop_reason *stop)
{
	*course = (struct course){.session = session, .plan = plan, .stop = stop, .started = proc_now(),
	                          .margin = log1p(plan->margin), .err = ERR_INIT};
	course->deadline = course->started + plan->budget_s;
}

enum status course_close(const struct course *course, struct err *err)
{
	return course->err.code == ST_OK ? ST_OK : err_set(err, course->err.code, "%s", course->err.text);
}

void course_stop(struct course *course, enum stop_reason reason)
{
	if (course->done)
		return;
	course->done = true;
	*course->stop = reason;
}

void course_error(struct course *course, enum status status, const char *text)
{
	course->done = true;
	err_set(&course->err, status, "%s", text);
}

void course_look(struct course *course)
{
	if (*course->session->interrupted)
		course_stop(course, STOP_INTERRUPTED);
	else if (course_left(course) <= 0)
		course_stop(course, STOP_BUDGET);
}

double course_left(const struct course *course)
{
	return course->deadline - proc_now();
}

double course_limit(const struct course *course, double expected_s)
{
	return fmax(fmin(course_left(course), LIMIT_S + 20 * expected_s), 0.001);
}

double course_limit_start(const struct course *course, double expected_s)
{
	return expected_s > 0 ? course_limit(course, expected_s) : fmax(course_left(course), 0.001);
}

void course_tick(struct course *course)
{
	double now = proc_now();
	if (now - course->ticked < 0.05)
		return;
	course->ticked = now;
	double elapsed = now - course->started, budget = course->plan->budget_s;
	session_progress(course->session, "measuring", elapsed, budget, fmax(budget - elapsed, 0));
}

void course_unstored(struct course *course, const char *what, const struct err *trouble)
{
	course->sink_failed = true;
	session_note(course->session, "samples", "the samples of this %s are not stored: %s", what, trouble->text);
}

void course_keep(struct course *course, const struct sample_sink *sink, struct pair_list *pairs, const struct pair *pair)
{
	struct err trouble = ERR_INIT;
	list_push(&course->session->arena, pairs, *pair);
	if (!sink || !sink->put || course->sink_failed)
		return;
	if (sink->put(sink->context, pair, &trouble) != ST_OK)
		course_unstored(course, "measurement", &trouble);
}

bool course_add(struct course *course, struct cseq *cseq, double value)
{
	if (cseq_add(cseq, value))
		return true;
	course_error(course, ST_SYSTEM, "out of memory while measuring: close other programs");
	return false;
}

/* ---- CPUs and processes --------------------------------------------------------------------------------------------- */

/* The function that one of the programs itself starts threads with, NULL if none; the runtime's threads have CPUs. */
static const char *threads_started(struct session *session, const struct variant *const *variants, size_t count)
{
	const char *threads = NULL;
	struct arena scratch;
	arena_init(&scratch);
	for (size_t i = 0; i < count && !threads; i++) {
		struct program program;
		struct err ignored = ERR_INIT; /* a damaged program fails where it is started */
		if (program_open(&scratch, variants[i]->program, &program, &ignored) == ST_OK)
			threads = program.threads;
	}
	threads = arena_strdup(&session->arena, threads);
	arena_release(&scratch);
	return threads;
}

/* On one CPU threads would take turns: nothing that they do to each other, such as sharing a cache line, would take any
 * time. */
enum status cpu_choose(struct session *session, const struct variant *const *variants, size_t count, struct plan *plan,
                       struct err *err)
{
	if (plan->cpu != CPU_CHOOSE)
		return ST_OK;
	const char *threads = threads_started(session, variants, count);
	plan->cpu = threads ? CPU_ANY : host_cpu_choose();
	if (threads && host_cpus_usable() < 2)
		return err_set(err, ST_INPUT, "threads: the program uses %s, but on the one CPU here threads never run at once: "
		               "measure with two CPUs or more", threads);
	return ST_OK;
}

void course_cpu_leave(struct course *course, bool raise)
{
	host_cpu_leave(course->plan->cpu, &course->affinity);
	/* Only above a CPU that is left for everything else, this process included. */
	course->realtime = raise && course->affinity.moved && proc_realtime_enter();
}

void course_cpu_return(struct course *course)
{
	if (course->realtime)
		proc_realtime_leave();
	host_cpu_return(&course->affinity);
}

void children_end(struct proc_child *const *children, size_t count, bool graceful)
{
	for (size_t i = 0; i < count; i++)
		workload_quit(children[i]);
	for (size_t i = 0; i < count; i++) {
		char byte;
		struct err ignored = ERR_INIT;
		if (graceful && children[i]->pid >= 0 && !children[i]->ended) {
			enum status status = proc_receive(children[i], &byte, 1, 0.5, NULL, &ignored);
			(void)status;
		}
		proc_child_end(children[i]);
	}
}

/* ---- how long a block is -------------------------------------------------------------------------------------------- */

void block_cost_start(struct block_cost *cost, double start_s)
{
	if (cost->start_s == 0 || start_s < cost->start_s)
		cost->start_s = start_s;
}

/* Goes by what blocks really took, waiting for a busy CPU included. */
double block_affordable(const struct course *course, const struct block_cost *cost, uint32_t blocks, size_t taken,
                        double one_s)
{
	double share_s = fmax(course_left(course), 0) / fmax(BLOCKS_WANTED - (double)blocks, BLOCKS_SPARE);
	double start_wall_s = fmax(cost->start_s, blocks ? cost->starts_wall_s / blocks : 0);
	double one_wall_s = fmax(one_s, taken ? cost->samples_wall_s / (double)taken : 0);
	return floor((share_s - start_wall_s) / one_wall_s);
}

double block_least(double sample_s)
{
	return sample_s < 0.005 ? 3 : 1;
}

uint64_t at_least_one(double value)
{
	return value > 1 ? (uint64_t)value : 1;
}
