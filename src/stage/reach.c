/* Does the workload run what changes, and for how much of its time?
 *
 * Two looks at a program, each with what the other can't see. callgrind emulates it and knows exactly which functions
 * were executed and who called whom, but not how long anything takes on a CPU. A clock that interrupts the native
 * program knows where time goes, but a function that it never met may still have run.
 *
 * *Not reached*: no changed function executed a single emulated instruction, set-up included (what the set-up builds,
 * run() works on), and no sample met one natively. The emulated CPU knows fewer instructions than most real ones, so
 * nothing is concluded from it when the program may choose code by the CPU: then, and where nothing can be emulated, the
 * native program runs more iterations with breakpoints in each changed function. *Cannot matter* rests on both, and
 * holds for one thread only: emulated threads take turns. Let S be the changed functions and everything that was ever called below them: an upper bound of what the change can act on directly. When S takes the share p of the time of
 * the baseline and q of the candidate's, and the rest takes as long in both, the times relate as (1 - p) / (1 - q). So p
 * bounds the gain and q the loss. That the rest is not acted upon indirectly (a hash function that is better, a buffer
 * that is placed elsewhere) is checked as far as it can be: each of its functions executes exactly as many instructions
 * in both programs. */
#include "base/stat.h"
#include "base/text.h"
#include "port/callgrind.h"
#include "port/host.h"
#include "port/object_program.h"
#include "port/perf.h"
#include "port/trap.h"
#include "port/tree.h"
#include "port/workload.h"
#include "stage/stages.h"

#include <dirent.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double EMULATED_S = 0.01;     /* of native time under callgrind, which is some 40 times slower */
static const double EMULATED_MOST_S = 0.5; /* an iteration that is longer natively would take too long */
static const double EMULATION_LIMIT_S = 30;
static const double SAMPLED_S = 0.5; /* of CPU time */
static const double SAMPLING_LIMIT_S = 5;
static const double SLICE_S = 0.02;
static const double ALPHA_PART = 0.01; /* of the trial's alpha that the shares' bounds may use up */

enum {
	PERIOD_NS = 100000,
	SLICE_SAMPLES_MAX = 3000, /* that fit the ring between two drainings */
	SAID_LINES = 3,
	WATCHED_TIMES = 10,
	SHOWN_NAMES = 3,
};

/* Where a sample fell. */
struct spot {
	bool in_program;
	uint64_t address;   /* with in_program: as in the file */
	const char *object; /* else; NULL: nobody knows */
};
LIST_OF(struct spot, spot_list);

/* What is known of one program with one set of parameters. */
struct reach_profile {
	const char *program, *params;
	struct program symbols;
	uint64_t iterations; /* that were emulated */
	struct callgrind calls;
	const char *calls_lack; /* NULL: `calls` holds */
	struct spot_list spots;
	bool kernel_seen;
	double unseen; /* share of the time that no sample tells of */
	const char *spots_lack;
	bool threads; /* it has several, or may */
};
LIST_OF(struct reach_profile *, reach_profile_list);

struct reach_cache {
	struct reach_profile_list profiles;
};

/* ---- emulation ----------------------------------------------------------------------------------------------------- */

/* The one file that callgrind left in `folder`; processes that the workload starts leave files of their own. */
static const char *dump_find(struct arena *arena, const char *folder, unsigned *ret_count)
{
	const char *found = NULL;
	DIR *entries = opendir(folder);
	*ret_count = 0;
	for (struct dirent *entry; entries && (entry = readdir(entries));)
		if (text_starts(entry->d_name, "calls.")) {
			found = path_join(arena, folder, entry->d_name);
			++*ret_count;
		}
	if (entries)
		closedir(entries);
	return found;
}

static enum status profile_emulate(struct session *session, const struct variant *variant,
                                   const struct binding_list *params, double timeout_s, struct reach_profile *profile,
                                   struct err *err)
{
	struct arena *arena = &session->arena;
	struct arena scratch;
	arena_init(&scratch);
	const char *folder = arena_printf(&scratch, "%s/reach", session->workdir);
	enum status status = tree_remove(folder, err);
	if (status == ST_OK)
		status = folder_make(folder, err);
	const char *const tool[] = {"--tool=callgrind", "--demangle=no", "--trace-children=yes", "--dump-line=no",
	                            "--combine-dumps=yes", "--dump-before=assay_bench_run", "--dump-after=assay_bench_run",
	                            arena_printf(&scratch, "--callgrind-out-file=%s/calls.%%p", folder), NULL};
	struct proc_request native =
	    workload_request(&scratch, variant->program, params, session->run.seed, "--count",
	                     arena_printf(&scratch, "%llu", (unsigned long long)profile->iterations));
	native.timeout_s = fmin(timeout_s, EMULATION_LIMIT_S);
	native.interrupted = session->interrupted;
	struct proc_request request = workload_request_emulated(&scratch, &native, tool);
	struct proc_result result = {0};
	if (status == ST_OK)
		status = proc_run(&scratch, &request, &result, err);
	if (status == ST_OK && result.end == PROC_INTERRUPTED)
		status = err_set(err, ST_INTERRUPTED, "interrupted");
	if (status == ST_OK && !(profile->calls_lack = workload_emulation_lack(arena, &request, &result, variant->name))) {
		unsigned count = 0;
		const char *path = dump_find(&scratch, folder, &count), *text = NULL;
		size_t size = 0;
		struct err trouble = ERR_INIT;
		if (count != 1)
			profile->calls_lack = count ? "the workload starts processes, and what they run is not counted"
			                            : "callgrind left no output";
		else if (file_read(&scratch, path, &text, &size, &trouble) != ST_OK ||
		         callgrind_parse(arena, text, &profile->calls, &trouble) != ST_OK)
			profile->calls_lack = arena_strdup(arena, trouble.text);
	}
	if (status == ST_OK)
		status = tree_remove(folder, err);
	arena_release(&scratch);
	return status;
}

/* ---- sampling ------------------------------------------------------------------------------------------------------- */

static struct spot spot_of(struct session *session, const struct reach_profile *profile, const char *resolved,
                           const struct perf_mapping_list *mappings, const struct perf_sample *sample)
{
	const struct perf_mapping *mapping = sample->ip ? perf_mapping_at(mappings, sample->ip) : NULL;
	struct spot spot = {0};
	if (!mapping)
		return spot;
	if (strcmp(mapping->path, resolved) == 0)
		spot.in_program = program_address(&profile->symbols, mapping->offset + (sample->ip - mapping->start), &spot.address);
	else
		spot.object = arena_strdup(&session->arena, mapping->path);
	return spot;
}

static enum status child_sample(struct session *session, struct proc_child *child, int cpu, double iteration_s,
                                double timeout_s, const char *program, struct reach_profile *profile, struct err *err)
{
	struct arena scratch;
	arena_init(&scratch);
	double slice_s = fmax(SLICE_S, iteration_s);
	uint64_t period = PERIOD_NS;
	if (1e9 * slice_s / PERIOD_NS > SLICE_SAMPLES_MAX)
		period = (uint64_t)(1e9 * slice_s / SLICE_SAMPLES_MAX);
	uint64_t iterations = iteration_s < SLICE_S ? (uint64_t)(SLICE_S / iteration_s) : 1, lost = 0;
	struct perf_sampler *sampler = perf_sampler_open(&scratch, child->pid, cpu, period, &profile->spots_lack);
	if (!sampler) {
		profile->spots_lack = arena_strdup(&session->arena, profile->spots_lack);
		arena_release(&scratch);
		return ST_OK;
	}
	struct perf_sample_list samples = {0};
	struct perf_mapping_list mappings = {0};
	struct rng rng;
	rng_seed(&rng, session->run.seed);
	double started = proc_now(), told_s = 0;
	enum status status = ST_OK;
	while (status == ST_OK && perf_sampler_seconds(sampler) < SAMPLED_S && proc_now() - started < SAMPLING_LIMIT_S) {
		struct bench_reply reply;
		/* A period of its own for each slice: a workload that repeats in step with the clock would be met at one place. */
		uint64_t jittered = period - period / 4 + rng_next(&rng) % (period / 2);
		size_t before = samples.count;
		perf_sampler_period(sampler, jittered);
		status = workload_sample(child, 0, iterations, timeout_s, session->interrupted, &reply, err);
		lost += perf_sampler_drain(sampler, &scratch, &samples);
		told_s += 1e-9 * (double)jittered * (double)(samples.count - before);
	}
	double cpu_s = perf_sampler_seconds(sampler);
	profile->kernel_seen = perf_sampler_kernel(sampler);
	profile->unseen = cpu_s > 0 ? fmin(fmax(1 - told_s / cpu_s, 0), 1) : 1;
	perf_maps_read(&scratch, child->pid, &mappings);
	char *resolved = realpath(program, NULL);
	for (size_t i = 0; i < samples.count; i++)
		list_push(&session->arena, &profile->spots,
		          spot_of(session, profile, resolved ? resolved : program, &mappings, &samples.at[i]));
	free(resolved);
	perf_sampler_close(sampler);
	arena_release(&scratch);
	if (status == ST_OK && profile->spots.count == 0)
		profile->spots_lack = "the software clock gave no samples";
	else if (status == ST_OK && lost)
		profile->spots_lack = "samples were lost: the machine is too busy";
	return status;
}

/* The native program on the CPUs on which it is measured, too; `number` follows the mode when it is not NULL. */
static struct proc_request native_request(const struct session *session, struct arena *arena, const struct variant *variant,
                                          const struct binding_list *params, const char *mode, const char *number)
{
	struct proc_request request = workload_request(arena, variant->program, params, session->run.seed, mode, number);
	struct cpu_list cpus = {0};
	request.cpu = host_cpu_choose();
	request.interrupted = session->interrupted;
	host_cpus_order(arena, request.cpu, &cpus);
	workload_request_cpus(arena, &request, cpu_list_text(arena, &cpus, cpus.count));
	return request;
}

/* Times an iteration and samples; also tells how many iterations to emulate. */
static enum status profile_sample(struct session *session, const struct variant *variant,
                                  const struct binding_list *params, double timeout_s, double *ret_iteration_s,
                                  struct reach_profile *profile, struct err *err)
{
	struct arena *arena = &session->arena;
	struct arena scratch;
	arena_init(&scratch);
	struct proc_request request = native_request(session, &scratch, variant, params, "--serve", NULL);
	int cpu = request.cpu;
	struct proc_child child;
	struct bench_reply ready;
	struct err trouble = ERR_INIT;
	enum status status = workload_start(&request, timeout_s, &child, &ready, &trouble);
	*ret_iteration_s = 0;
	if (status == ST_OK && ready.threads > 1) {
		profile->threads = true;
		cpu = -1; /* all of them are there by now, each on a CPU of its own */
	}
	if (status == ST_OK)
		status = workload_probe(&child, timeout_s, session->interrupted, ret_iteration_s, &trouble);
	if (status == ST_OK)
		status = child_sample(session, &child, cpu, *ret_iteration_s, timeout_s, variant->program, profile, &trouble);
	if (status == ST_INPUT)
		profile->spots_lack = arena_printf(arena, "the %s failed: %s", variant->name,
		                                   proc_child_said(&scratch, &child, SAID_LINES));
	else if (status == ST_TIMEOUT)
		profile->spots_lack = arena_printf(arena, "the %s gave no answer within %g s", variant->name, timeout_s);
	else if (status != ST_OK)
		err_set(err, status, "%s", trouble.text);
	if (child.pid >= 0)
		proc_child_end(&child);
	arena_release(&scratch);
	return status == ST_INPUT || status == ST_TIMEOUT ? ST_OK : status;
}

/* ---- a program's profile ---------------------------------------------------------------------------------------------- */

static const char *params_key(struct arena *arena, const struct binding_list *params)
{
	const char *key = "";
	for (size_t i = 0; params && i < params->count; i++)
		key = arena_printf(arena, "%s%s=%s\n", key, params->at[i].name, params->at[i].value);
	return key;
}

/* `iterations` 0: as many as suit. Kept for the session. */
static enum status profile_get(struct session *session, const struct variant *variant, const struct binding_list *params,
                               uint64_t iterations, double timeout_s, const struct reach_profile **ret_profile,
                               struct err *err)
{
	struct arena *arena = &session->arena;
	const char *key = params_key(arena, params);
	if (!session->reach)
		session->reach = arena_new(arena, struct reach_cache);
	struct reach_profile_list *known = &session->reach->profiles;
	for (size_t i = 0; i < known->count; i++)
		if (text_equal(known->at[i]->program, variant->program) && text_equal(known->at[i]->params, key) &&
		    (!iterations || known->at[i]->iterations == iterations)) {
			*ret_profile = known->at[i];
			return ST_OK;
		}
	struct reach_profile *profile = arena_new(arena, struct reach_profile);
	*profile = (struct reach_profile){.program = variant->program, .params = key, .iterations = iterations};
	enum status status = program_open(arena, variant->program, &profile->symbols, err);
	profile->threads = status == ST_OK && profile->symbols.threads;
	double iteration_s = 0;
	session_progress(session, "looking where time goes", 0, 2, -1);
	if (status == ST_OK)
		status = profile_sample(session, variant, params, timeout_s, &iteration_s, profile, err);
	session_progress(session, "looking what is executed", 1, 2, -1);
	if (iteration_s > EMULATED_MOST_S)
		profile->calls_lack =
		    arena_printf(arena, "an iteration takes %.1f s natively: emulating it takes too long", iteration_s);
	else if (iteration_s == 0)
		profile->calls_lack = profile->spots_lack ? profile->spots_lack : "the workload can't be run";
	if (!profile->iterations)
		profile->iterations = iteration_s > 0 && iteration_s < EMULATED_S ? (uint64_t)(EMULATED_S / iteration_s) : 1;
	if (status == ST_OK && !profile->calls_lack)
		status = profile_emulate(session, variant, params, timeout_s, profile, err);
	if (status != ST_OK)
		return status;
	list_push(arena, &session->reach->profiles, profile);
	*ret_profile = profile;
	return ST_OK;
}

/* ---- what changes, in a program ----------------------------------------------------------------------------------------- */

/* "decode.constprop.0", "decode.part#1" and "decode.cold" are all parts of "decode": more than changed may be taken,
 * never less. */
static bool same_root(const char *a, const char *b)
{
	size_t size = strcspn(a + 1, ".#") + 1;
	return a[0] && b[0] && strcspn(b + 1, ".#") + 1 == size && strncmp(a, b, size) == 0;
}

/* What the change can act on directly, in one program. */
struct scope {
	bool *symbol;    /* by profile->symbols.functions: changed */
	bool *function;  /* by profile->calls.functions: changed, or ever called below something that is */
	bool *changed;   /* by profile->calls.functions */
	struct string_list objects; /* other files whose code is called */
	const char *missing; /* a changed function that the program has no symbol for; NULL: none */
};

static bool object_is_program(const struct reach_profile *profile, const char *object)
{
	if (strcmp(object, profile->program) == 0)
		return true;
	char *resolved = realpath(profile->program, NULL);
	bool same = resolved && strcmp(object, resolved) == 0;
	free(resolved);
	return same;
}

static bool has_object(const struct string_list *objects, const char *object)
{
	for (size_t i = 0; i < objects->count; i++)
		if (strcmp(objects->at[i], object) == 0)
			return true;
	return false;
}

/* Symbols of changed functions, and all other names of the same places. */
static void scope_symbols(const struct reach_profile *profile, const struct code_difference *code, enum change absent,
                          struct scope *scope)
{
	const struct program_function_list *symbols = &profile->symbols.functions;
	for (size_t i = 0; i < code->changed.count; i++) {
		const struct function_change *change = &code->changed.at[i];
		bool found = false;
		for (size_t k = 0; k < symbols->count; k++)
			if (same_root(symbols->at[k].name, change->name))
				scope->symbol[k] = found = true;
		if (!found && change->change != absent && !scope->missing)
			scope->missing = change->name;
	}
	for (size_t i = 0; i < symbols->count; i++)
		for (size_t k = i + 1; k < symbols->count && symbols->at[k].start == symbols->at[i].start; k++)
			scope->symbol[i] = scope->symbol[k] = scope->symbol[i] || scope->symbol[k];
}

static bool symbol_changed(const struct reach_profile *profile, const struct scope *scope, const char *name)
{
	const struct program_function_list *symbols = &profile->symbols.functions;
	for (size_t i = 0; i < symbols->count; i++)
		if (scope->symbol[i] && strcmp(symbols->at[i].name, name) == 0)
			return true;
	return false;
}

/* `absent`: a kind of change that this program has no function for (CHANGE_ADDED for the baseline). */
static struct scope scope_find(struct arena *arena, const struct reach_profile *profile, const struct code_difference *code,
                               enum change absent)
{
	const struct callgrind *calls = &profile->calls;
	struct scope scope = {
	    .symbol = arena_alloc(arena, profile->symbols.functions.count * sizeof(bool)),
	    .function = arena_alloc(arena, calls->functions.count * sizeof(bool)),
	    .changed = arena_alloc(arena, calls->functions.count * sizeof(bool)),
	};
	scope_symbols(profile, code, absent, &scope);
	bool *in_program = arena_alloc(arena, calls->functions.count * sizeof(bool));
	for (size_t i = 0; i < calls->functions.count; i++) {
		const char *object = calls->functions.at[i].object;
		in_program[i] = i && strcmp(object, calls->functions.at[i - 1].object) == 0 ? in_program[i - 1]
		                                                                             : object_is_program(profile, object);
		if (in_program[i] && symbol_changed(profile, &scope, calls->functions.at[i].name))
			scope.function[i] = scope.changed[i] = true;
	}
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < calls->calls.count; i++) {
			const struct callgrind_call *call = &calls->calls.at[i];
			if (scope.function[call->from] && !scope.function[call->to])
				more = scope.function[call->to] = true;
		}
	}
	for (size_t i = 0; i < calls->functions.count; i++)
		if (scope.function[i] && !in_program[i] && !has_object(&scope.objects, calls->functions.at[i].object))
			list_push(arena, &scope.objects, calls->functions.at[i].object);
	return scope;
}

/* Samples that may belong to the scope: those in its functions, all in files that it calls into (a C library has other
 * code for memcpy on an emulated CPU), and those that nobody can place. */
static size_t scope_samples(struct arena *arena, const struct reach_profile *profile, const struct scope *scope)
{
	const struct program_function_list *symbols = &profile->symbols.functions;
	bool *below = arena_alloc(arena, symbols->count * sizeof(bool));
	for (size_t i = 0; i < symbols->count; i++)
		below[i] = scope->symbol[i];
	for (size_t i = 0; i < profile->calls.functions.count; i++)
		for (size_t k = 0; scope->function[i] && k < symbols->count; k++)
			below[k] |= strcmp(symbols->at[k].name, profile->calls.functions.at[i].name) == 0;
	size_t hits = 0;
	for (size_t i = 0; i < profile->spots.count; i++) {
		const struct spot *spot = &profile->spots.at[i];
		bool hit = !spot->in_program && (!spot->object || has_object(&scope->objects, spot->object));
		for (size_t k = 0; spot->in_program && !hit && k < symbols->count && symbols->at[k].start <= spot->address; k++)
			hit = below[k] && spot->address < symbols->at[k].end;
		hits += hit;
	}
	return hits;
}

/* Samples in the changed functions themselves. */
static size_t changed_samples(const struct reach_profile *profile, const struct scope *scope)
{
	const struct program_function_list *symbols = &profile->symbols.functions;
	size_t hits = 0;
	for (size_t i = 0; i < profile->spots.count; i++) {
		const struct spot *spot = &profile->spots.at[i];
		bool hit = false;
		for (size_t k = 0; spot->in_program && !hit && k < symbols->count && symbols->at[k].start <= spot->address; k++)
			hit = scope->symbol[k] && spot->address < symbols->at[k].end;
		hits += hit;
	}
	return hits;
}

static double scope_instruction_share(const struct reach_profile *profile, const struct scope *scope)
{
	uint64_t inside = 0, total = profile->calls.total[CALLGRIND_INSIDE];
	for (size_t i = 0; i < profile->calls.functions.count; i++)
		if (scope->function[i])
			inside += profile->calls.functions.at[i].self[CALLGRIND_INSIDE];
	return total ? (double)inside / (double)total : 0;
}

static uint64_t scope_executed(const struct reach_profile *profile, const struct scope *scope, bool inside, bool outside)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < profile->calls.functions.count; i++)
		for (int part = 0; scope->changed[i] && part < CALLGRIND_PARTS; part++)
			if (part == CALLGRIND_INSIDE ? inside : outside)
				sum += profile->calls.functions.at[i].self[part];
	return sum;
}

/* The share's upper confidence bound; time that no sample tells of is the scope's, when the kernel can't be seen. */
static double share_high(const struct reach_profile *profile, size_t hits, double alpha)
{
	double low, high;
	stat_binomial_interval(hits, profile->spots.count, alpha, &low, &high);
	return profile->kernel_seen ? high : fmin(high + profile->unseen, 1);
}

/* Does every function outside of both scopes execute the same number of instructions in run()? */
static bool rest_equal(const struct reach_profile *a, const struct scope *scope_a, const struct reach_profile *b,
                       const struct scope *scope_b)
{
	const struct reach_profile *profiles[2] = {a, b};
	const struct scope *scopes[2] = {scope_a, scope_b};
	for (int side = 0; side < 2; side++) {
		const struct callgrind_function_list *mine = &profiles[side]->calls.functions;
		const struct callgrind_function_list *theirs = &profiles[!side]->calls.functions;
		for (size_t i = 0; i < mine->count; i++) {
			const struct callgrind_function *function = &mine->at[i];
			bool own = object_is_program(profiles[side], function->object);
			if (scopes[side]->function[i] || function->self[CALLGRIND_INSIDE] == 0 ||
			    (!own && (has_object(&scope_a->objects, function->object) || has_object(&scope_b->objects, function->object))))
				continue;
			uint64_t other = 0;
			bool in_scope = false;
			for (size_t k = 0; k < theirs->count; k++)
				if (strcmp(theirs->at[k].name, function->name) == 0 &&
				    (own ? object_is_program(profiles[!side], theirs->at[k].object)
				         : strcmp(theirs->at[k].object, function->object) == 0)) {
					other += theirs->at[k].self[CALLGRIND_INSIDE];
					in_scope |= scopes[!side]->function[k];
				}
			if (!in_scope && other != function->self[CALLGRIND_INSIDE])
				return false;
		}
	}
	return true;
}

/* ---- words --------------------------------------------------------------------------------------------------------------- */

static const char *names_text(struct arena *arena, const struct code_difference *code)
{
	struct string_list names = {0};
	size_t more = 0;
	for (size_t i = 0; i < code->changed.count; i++) {
		if (code->changed.at[i].change == CHANGE_ADDED)
			continue;
		if (names.count < SHOWN_NAMES)
			list_push(arena, &names, code->changed.at[i].name);
		else
			more++;
	}
	const char *text = text_join(arena, &names, ", ");
	return more ? arena_printf(arena, "%s and %zu more", text, more) : text;
}

static const char *percent(struct arena *arena, double fraction)
{
	return arena_printf(arena, fraction > 0 && fraction < 0.001 ? "%.3f %%" : fraction < 0.1 ? "%.2f %%" : "%.1f %%",
	                    100 * fraction);
}

static const char *shares_text(struct arena *arena, const struct reach_profile *profile, const struct reach *reach)
{
	const char *text = "";
	if (reach->sampled)
		text = arena_printf(arena, "%s of the time (%u samples%s)", percent(arena, reach->time_share), reach->samples,
		                    profile->kernel_seen ? "" : ", time in the kernel not seen");
	if (reach->counted)
		text = arena_printf(arena, "%s%s%s of the instructions (emulated)", text, reach->sampled ? ", " : "",
		                    percent(arena, reach->instruction_share));
	return text;
}

/* ---- the question ------------------------------------------------------------------------------------------------------- */

struct question {
	struct session *session;
	const struct variant *baseline, *candidate;
	const struct binding_list *params;
	const struct code_difference *code;
	double alpha, margin, timeout_s;
	struct arena scratch;
	const struct reach_profile *profile;
	struct scope scope;
	struct reach_result *result;
};

/* The baseline's share is small: can the change matter all the same? Sets the verdict when it can't. */
static enum status candidate_look(struct question *question, struct err *err)
{
	struct arena *arena = &question->session->arena;
	struct reach *reach = &question->result->reach;
	const struct reach_profile *other = NULL;
	enum status status = profile_get(question->session, question->candidate, question->params, question->profile->iterations,
	                                 question->timeout_s, &other, err);
	if (status != ST_OK || other->calls_lack || other->spots_lack || !other->calls.split || other->symbols.cpu_choice ||
	    other->threads)
		return status;
	struct scope scope = scope_find(&question->scratch, other, question->code, CHANGE_REMOVED);
	if (scope.missing || scope_executed(other, &scope, false, true) ||
	    !rest_equal(question->profile, &question->scope, other, &scope))
		return ST_OK;
	size_t hits = scope_samples(&question->scratch, other, &scope);
	reach->bounded = true;
	reach->gain_most = reach_gain_most(reach->time_share_high);
	reach->loss_most = reach_gain_most(share_high(other, hits, question->alpha));
	if (reach->gain_most >= question->margin || reach->loss_most >= question->margin)
		return ST_OK;
	question->result->verdict = REACH_CANNOT_MATTER;
	question->result->text = arena_printf(
	    arena,
	    "can't matter: %s with all that it calls takes %s of the time (%zu of %zu samples in the candidate), so it can't be "
	    "faster by more than %s or slower by more than %s; everything else executes the same instructions in both",
	    names_text(&question->scratch, question->code), percent(&question->scratch, reach->time_share), hits,
	    other->spots.count, percent(&question->scratch, reach->gain_most), percent(&question->scratch, reach->loss_most));
	return ST_OK;
}

static enum status executed_judge(struct question *question, bool confined, struct err *err)
{
	struct arena *arena = &question->session->arena;
	const struct reach_profile *profile = question->profile;
	struct reach_result *result = question->result;
	struct reach *reach = &result->reach;
	if (reach->counted)
		reach->instruction_share = scope_instruction_share(profile, &question->scope);
	bool in_setup = reach->counted && (!profile->calls.split || scope_executed(profile, &question->scope, false, true));
	if (reach->sampled) {
		size_t hits = scope_samples(&question->scratch, profile, &question->scope);
		reach->samples = (unsigned)profile->spots.count;
		reach->time_share = (double)hits / (double)profile->spots.count;
		reach->time_share_high = share_high(profile, hits, question->alpha);
	}
	result->text = arena_printf(arena, "%s%s%s takes %s%s", names_text(&question->scratch, question->code),
	                            reach->counted ? ", with all that it calls," : "",
	                            reach->counted && scope_executed(profile, &question->scope, true, false) == 0
	                                ? " runs in the set-up only; it" : "",
	                            shares_text(&question->scratch, profile, reach),
	                            reach->counted ? "" : arena_printf(&question->scratch, "; what it calls is not known: %s",
	                                                               profile->calls_lack));
	if (!reach->counted || !reach->sampled || in_setup || !confined || profile->symbols.cpu_choice ||
	    profile->threads)
		return ST_OK;
	double gain = reach_gain_most(reach->time_share_high);
	if (gain < 1)
		result->text = arena_printf(arena, "%s: a bound of %s for any gain, if nothing else changes its pace", result->text,
		                            percent(&question->scratch, gain));
	return gain < question->margin ? candidate_look(question, err) : ST_OK;
}

/* Does the native program enter a changed function? Only asked where emulation can't tell. */
static enum status question_watch(struct question *question, enum trap_end *ret_end, const char **ret_text,
                                  unsigned long long *ret_iterations, struct err *err)
{
	struct session *session = question->session;
	const struct reach_profile *profile = question->profile;
	*ret_end = TRAP_UNKNOWN;
	/* More than were emulated, since nothing slows them down. */
	unsigned long long iterations = (profile->iterations > 1 ? WATCHED_TIMES : 2) * (unsigned long long)profile->iterations;
	struct proc_request request = native_request(session, &question->scratch, question->baseline, question->params, "--count",
	                                             arena_printf(&question->scratch, "%llu", iterations));
	request.timeout_s = fmin(question->timeout_s, EMULATION_LIMIT_S);
	*ret_iterations = iterations;
	session_progress(session, "looking what is executed", 1, 2, -1);
	struct err trouble = ERR_INIT;
	enum status status =
	    trap_watch(&question->scratch, &request, &profile->symbols, question->scope.symbol, ret_end, ret_text, &trouble);
	if (status == ST_INTERRUPTED)
		return err_set(err, status, "%s", trouble.text);
	if (status != ST_OK)
		*ret_text = arena_strdup(&question->scratch, trouble.text);
	return ST_OK;
}

static enum status question_answer(struct question *question, bool functions, struct err *err)
{
	struct session *session = question->session;
	struct arena *arena = &session->arena;
	const struct code_difference *code = question->code;
	struct reach_result *result = question->result;
	size_t present = 0;
	for (size_t i = 0; i < code->changed.count; i++)
		present += code->changed.at[i].change != CHANGE_ADDED;
	if (present == 0) {
		result->text = "no function of the baseline differs: reach can't tell who uses data or record layouts";
		return ST_OK;
	}
	enum status status = profile_get(session, question->baseline, question->params, 0, question->timeout_s,
	                                 &question->profile, err);
	if (status != ST_OK)
		return status;
	const struct reach_profile *profile = question->profile;
	result->reach.counted = !profile->calls_lack;
	result->reach.sampled = !profile->spots_lack;
	if (!result->reach.counted && !result->reach.sampled) {
		result->verdict = REACH_UNKNOWN;
		result->text = text_equal(profile->calls_lack, profile->spots_lack)
		                   ? profile->calls_lack
		                   : arena_printf(arena, "neither counted (%s) nor sampled (%s)", profile->calls_lack, profile->spots_lack);
		return ST_OK;
	}
	question->scope = scope_find(&question->scratch, profile, code, CHANGE_ADDED);
	if (question->scope.missing) {
		result->text = arena_printf(arena, "the linked program has no symbol %s, so reach can't tell whether it runs",
		                            question->scope.missing);
		return ST_OK;
	}
	bool confined = functions && code->data.count == 0 && code->records.count == 0;
	result->reach.executed = scope_executed(profile, &question->scope, true, true) > 0;
	if (result->reach.executed)
		return executed_judge(question, confined, err);
	const char *names = names_text(&question->scratch, code), *said = NULL;
	size_t hits = changed_samples(profile, &question->scope);
	enum trap_end end = TRAP_UNKNOWN;
	bool doubt = !result->reach.counted || profile->symbols.cpu_choice;
	unsigned long long ran = profile->iterations;
	if (doubt && !hits && (status = question_watch(question, &end, &said, &ran, err)) != ST_OK)
		return status;
	if (!result->reach.counted && end != TRAP_NEVER)
		return executed_judge(question, confined, err);
	if (hits || (doubt && end != TRAP_NEVER)) {
		if (hits)
			result->text = arena_printf(arena, "%s is not executed under emulation, but %zu of %zu native samples are in it: "
			                            "the program chooses code by the CPU", names, hits, profile->spots.count);
		else if (end == TRAP_MET)
			result->text = arena_printf(arena, "%s is not executed under emulation, but natively it is (%s is entered): the "
			                            "program chooses code by the CPU", names, said);
		else
			result->text = arena_printf(arena, "%s is not executed under emulation, but the program may choose code by the "
			                            "CPU (%s): emulation can't tell, and natively it can't be watched: %s", names,
			                            profile->symbols.cpu_choice, said);
		return ST_OK;
	}
	uint64_t all = profile->calls.total[0] + profile->calls.total[1] + profile->calls.total[2];
	const char *iterations = arena_printf(&question->scratch, "%llu %s", ran, ran == 1 ? "iteration" : "iterations");
	const char *never =
	    doubt ? arena_printf(arena, "the workload does not execute what changes: %s (natively no breakpoint in it is met in "
	                                "%s, set-up included)", names, iterations)
	          : arena_printf(arena, "the workload does not execute what changes: %s (none of the %.3g million instructions of %s, "
	                                "set-up included)", names, 1e-6 * (double)all, iterations);
	if (confined)
		result->verdict = REACH_NOT_REACHED;
	else
		never = arena_printf(arena, "%s; but %s, and reach can't tell what that touches", never,
		                     !functions ? "the change concerns the whole program" : "data or record layouts differ too");
	result->text = never;
	return ST_OK;
}

enum status reach_find(struct session *session, const struct variant *baseline, const struct variant *candidate,
                       const struct binding_list *params, const struct code_difference *code, bool functions, double alpha,
                       double margin, double timeout_s, struct reach_result *ret_result, struct err *err)
{
	*ret_result = (struct reach_result){.verdict = REACH_PASSED};
	struct question question = {.session = session, .baseline = baseline, .candidate = candidate, .params = params,
	                            .code = code, .alpha = ALPHA_PART * alpha, .margin = margin, .timeout_s = timeout_s,
	                            .result = ret_result};
	arena_init(&question.scratch);
	enum status status = question_answer(&question, functions, err);
	arena_release(&question.scratch);
	return status;
}

/* ---- the map -------------------------------------------------------------------------------------------------------------- */

static const double MAP_SHARE_LEAST = 0.005; /* of a function that is worth a line */
enum { MAP_FUNCTIONS_MOST = 24 };

static struct hot_share *share_of(struct arena *arena, struct hot_share_list *list, const char *name, const char *object)
{
	for (size_t i = 0; i < list->count; i++)
		if (text_equal(list->at[i].name, name) && text_equal(list->at[i].object, object))
			return &list->at[i];
	struct hot_share share = {.name = name, .object = object};
	list_push(arena, list, share);
	return &list->at[list->count - 1];
}

/* Aliases are functions of one range: the first name stands for all. */
static const char *symbol_at(const struct reach_profile *profile, uint64_t address)
{
	const struct program_function_list *symbols = &profile->symbols.functions;
	for (size_t k = 0; k < symbols->count && symbols->at[k].start <= address; k++)
		if (address < symbols->at[k].end)
			return symbols->at[k].name;
	return NULL;
}

static double share_rank(const struct hot_share *share)
{
	return share->sampled ? share->time_share : share->instruction_share;
}

static int share_order(const void *a, const void *b)
{
	double x = share_rank(a), y = share_rank(b);
	return x < y ? 1 : x > y ? -1 : strcmp(((const struct hot_share *)a)->name, ((const struct hot_share *)b)->name);
}

static void map_functions(struct arena *arena, const struct reach_profile *profile, struct hotmap *map)
{
	struct hot_share_list all = {0};
	bool counted = !profile->calls_lack, sampled = !profile->spots_lack;
	uint64_t total = profile->calls.total[CALLGRIND_INSIDE];
	for (size_t i = 0; counted && i < profile->calls.functions.count; i++) {
		const struct callgrind_function *function = &profile->calls.functions.at[i];
		if (!function->self[CALLGRIND_INSIDE])
			continue;
		const char *object = object_is_program(profile, function->object) ? NULL : path_base(function->object);
		share_of(arena, &all, function->name, object)->instruction_share += (double)function->self[CALLGRIND_INSIDE] / (double)total;
	}
	/* A sample in a shared library tells the file only. */
	for (size_t i = 0; sampled && i < profile->spots.count; i++) {
		const struct spot *spot = &profile->spots.at[i];
		const char *name = spot->in_program ? symbol_at(profile, spot->address) : NULL;
		struct hot_share *share = name ? share_of(arena, &all, name, NULL)
		                               : share_of(arena, &all, "(unnamed)",
		                                          spot->object ? path_base(spot->object) : "unknown code");
		share->time_share += 1 / (double)profile->spots.count;
	}
	for (size_t i = 0; i < all.count; i++) {
		all.at[i].counted = counted && all.at[i].instruction_share > 0;
		/* Of a function in a library it is not known how often it was met. */
		all.at[i].sampled = sampled && (!all.at[i].object || all.at[i].time_share > 0);
	}
	if (all.count)
		qsort(all.at, all.count, sizeof *all.at, share_order);
	for (size_t i = 0; i < all.count && map->functions.count < MAP_FUNCTIONS_MOST; i++)
		if (fmax(all.at[i].time_share, all.at[i].instruction_share) >= MAP_SHARE_LEAST)
			list_push(arena, &map->functions, all.at[i]);
}

/* A part is looked at as a change of all its functions is: with everything that was ever called below them. */
static void map_part(struct arena *arena, struct arena *scratch, const struct reach_profile *profile,
                     const struct asked_part *asked, double alpha, struct hotmap *map)
{
	struct code_difference code = {0};
	struct hot_share share = {.name = asked->name};
	for (size_t i = 0; i < profile->symbols.functions.count; i++)
		for (size_t k = 0; k < asked->functions.count; k++)
			if (fnmatch(asked->functions.at[k], profile->symbols.functions.at[i].name, 0) == 0) {
				struct function_change change = {.name = profile->symbols.functions.at[i].name, .change = CHANGE_CHANGED};
				list_push(scratch, &code.changed, change);
				break;
			}
	share.found = code.changed.count > 0;
	if (share.found) {
		struct scope scope = scope_find(scratch, profile, &code, CHANGE_ADDED);
		share.counted = !profile->calls_lack;
		share.instruction_share = share.counted ? scope_instruction_share(profile, &scope) : 0;
		/* Without the calls, what it calls is not known, and no bound holds. */
		share.sampled = !profile->spots_lack && share.counted;
		if (share.sampled) {
			size_t hits = scope_samples(scratch, profile, &scope);
			share.time_share = (double)hits / (double)profile->spots.count;
			share.time_share_high = share_high(profile, hits, alpha);
			/* Of threads that wait for each other no share of CPU time bounds anything. */
			share.gain_most = profile->threads ? INFINITY : reach_gain_most(share.time_share_high);
		}
	}
	list_push(arena, &map->parts, share);
}

enum status reach_map(struct session *session, const struct variant *baseline, const struct binding_list *params,
                      const struct asked_part_list *parts, double alpha, double timeout_s, struct hotmap *ret_map, struct err *err)
{
	struct arena *arena = &session->arena;
	const struct reach_profile *profile = NULL;
	enum status status = profile_get(session, baseline, params, 0, timeout_s, &profile, err);
	if (status != ST_OK)
		return status;
	struct arena scratch;
	arena_init(&scratch);
	bool counted = !profile->calls_lack, sampled = !profile->spots_lack;
	ret_map->samples = sampled ? (unsigned)profile->spots.count : 0;
	ret_map->iterations = counted ? profile->iterations : 0;
	if (!counted && !sampled && text_equal(profile->calls_lack, profile->spots_lack))
		ret_map->lack = profile->calls_lack;
	else if (!counted || !sampled)
		ret_map->lack = arena_printf(arena, "%s%s%s%s%s", counted ? "" : "not counted: ", counted ? "" : profile->calls_lack,
		                             counted || sampled ? "" : "; ", sampled ? "" : "not sampled: ",
		                             sampled ? "" : profile->spots_lack);
	else if (profile->threads)
		ret_map->lack = "the workload has threads: emulation lets them take turns, and shares of time are shares of CPU time";
	else if (profile->symbols.cpu_choice)
		ret_map->lack = arena_printf(arena, "the program may choose code by the CPU (%s): what a part calls is known of an "
		                             "emulated CPU only", profile->symbols.cpu_choice);
	if (counted || sampled)
		map_functions(arena, profile, ret_map);
	for (size_t i = 0; (counted || sampled) && i < parts->count; i++)
		map_part(arena, &scratch, profile, &parts->at[i], alpha, ret_map);
	arena_release(&scratch);
	return ST_OK;
}
