/* Same results? The baseline is run against itself first: a workload whose results differ from run to run can't tell
 * a wrong candidate from a right one. A difference is looked at again, since a workload that differs now and then equals
 * itself by luck: before a candidate is called wrong, the baseline equals itself twice more and the candidate differs
 * again.
 *
 * Records are compared to the byte, but for floating-point numbers for which the driver names a tolerance: those that
 * differ within it are no difference, and are told as rounding, unless the baseline rounds otherwise from run to run itself.
 *
 * Both programs run at once and their records are compared while they arrive, so memory stays constant however much
 * they hand over. */
#include "port/workload.h"
#include "stage/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { CHUNK_BYTES = 64 * 1024, LABEL_MAX_BYTES = 4096, SAID_LINES = 5, ITSELF_AGAIN = 2 };

struct outputs_side {
	struct proc_child child;
	struct bench_record record;
	char label[LABEL_MAX_BYTES + 1];
	unsigned char chunk[CHUNK_BYTES];
	const char *failure; /* NULL: none so far */
};

struct outputs_pair {
	struct session *session;
	struct outputs_side *side[2]; /* reference, compared */
	double deadline, timeout_s;
	unsigned records;
	unsigned long long bytes;
	const char *difference; /* NULL: none so far */
	double rounding;          /* the largest tolerated difference, of the larger number's size; 0: none so far */
	const char *rounding_where;
};

/* True when `status` lets the comparison go on; else the side's failure is known, or `err` is set. */
static bool side_check(struct outputs_pair *pair, struct outputs_side *side, enum status status, struct err *trouble,
                       struct err *err)
{
	struct arena *arena = &pair->session->arena;
	if (status == ST_OK)
		return true;
	if (status == ST_TIMEOUT)
		side->failure = arena_printf(arena, "no end within %g s", pair->timeout_s);
	else if (status == ST_INPUT)
		side->failure = proc_child_said(arena, &side->child, SAID_LINES);
	else
		err_set(err, status, "%s", trouble->text);
	return false;
}

static bool side_receive(struct outputs_pair *pair, struct outputs_side *side, void *data, size_t size, struct err *err)
{
	double left = pair->deadline - proc_now();
	struct err trouble = ERR_INIT;
	enum status status = proc_receive(&side->child, data, size, left > 0.001 ? left : 0.001, pair->session->interrupted,
	                                  &trouble);
	return side_check(pair, side, status, &trouble, err);
}

static bool side_header(struct outputs_pair *pair, struct outputs_side *side, struct err *err)
{
	struct bench_record *record = &side->record;
	if (!side_receive(pair, side, record, sizeof *record, err))
		return false;
	bool known = record->magic == BENCH_MAGIC && (record->kind == BENCH_RECORD || record->kind == BENCH_END) &&
	             (record->element == 0 || record->element == sizeof(float) || record->element == sizeof(double)) &&
	             (record->element == 0 || record->size % record->element == 0);
	if (!known || record->label_size > LABEL_MAX_BYTES) {
		side->failure = known ? "a label of assay_output() is longer than 4096 bytes"
		                      : "it writes to descriptor 4, which assay needs for its results";
		return false;
	}
	side->label[record->label_size] = '\0';
	return record->label_size == 0 || side_receive(pair, side, side->label, record->label_size, err);
}

/* The end of a program that has handed over everything: a crash in its last steps is a failure too. */
static bool side_ended_well(struct outputs_pair *pair, struct outputs_side *side, struct err *err)
{
	char byte;
	struct err trouble = ERR_INIT;
	double left = pair->deadline - proc_now();
	enum status status = proc_receive(&side->child, &byte, 1, left > 0.001 ? left : 0.001, pair->session->interrupted,
	                                  &trouble);
	if (status != ST_INPUT)
		return status == ST_OK || side_check(pair, side, status, &trouble, err);
	const char *said = proc_child_said(&pair->session->arena, &side->child, SAID_LINES);
	if (side->child.ended && side->child.wait_status != 0)
		side->failure = said;
	return side->failure == NULL;
}

/* Number `index` of a chunk, as it was handed over. */
static double number_at(const unsigned char *chunk, size_t element, size_t index)
{
	float single;
	double number;
	if (element == sizeof single) {
		memcpy(&single, chunk + index * element, element);
		return single;
	}
	memcpy(&number, chunk + index * element, element);
	return number;
}

/* By how much of the larger one they differ; INFINITY: by more than rounding could. */
static double numbers_differ(double a, double b)
{
	if ((isnan(a) && isnan(b)) || a == b)
		return 0;
	if (!isfinite(a) || !isfinite(b))
		return INFINITY;
	return fabs(a - b) / fmax(fabs(a), fabs(b));
}

/* Two chunks that differ in some byte; `at` of the record's data lies before them. Chunks hold whole numbers: their size is
 * a multiple of a number's. */
static void pair_numbers(struct outputs_pair *pair, uint64_t at, size_t size)
{
	struct outputs_side *a = pair->side[0], *b = pair->side[1];
	struct arena *arena = &pair->session->arena;
	size_t element = a->record.element;
	for (size_t i = 0; i < size / element; i++) {
		double one = number_at(a->chunk, element, i), other = number_at(b->chunk, element, i);
		double differ = numbers_differ(one, other);
		if (differ > a->record.tolerance) {
			pair->difference = arena_printf(arena, "record %u \"%s\" differs at number %llu: %.17g, the baseline has %.17g, more "
			                                "than the driver tolerates (%g of it)", pair->records + 1, a->label,
			                                (unsigned long long)(at / element + i), other, one, a->record.tolerance);
			return;
		}
		if (differ > pair->rounding) {
			pair->rounding = differ;
			pair->rounding_where = arena_printf(arena, "record %u \"%s\" is rounded otherwise, by up to %.2g of its numbers, "
			                                    "within the %g that the driver tolerates", pair->records + 1, a->label,
			                                    differ, a->record.tolerance);
		}
	}
}

static bool pair_data(struct outputs_pair *pair, struct err *err)
{
	struct outputs_side *a = pair->side[0], *b = pair->side[1];
	for (uint64_t at = 0; at < a->record.size;) {
		uint64_t left = a->record.size - at;
		size_t size = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
		if (!side_receive(pair, a, a->chunk, size, err) || !side_receive(pair, b, b->chunk, size, err))
			return false;
		bool differ = memcmp(a->chunk, b->chunk, size) != 0;
		if (differ && a->record.element) {
			pair_numbers(pair, at, size);
			if (pair->difference)
				return false;
		} else if (differ) {
			size_t i = 0;
			while (a->chunk[i] == b->chunk[i])
				i++;
			pair->difference = arena_printf(&pair->session->arena,
			                                "record %u \"%s\" differs at byte %llu of %llu: 0x%02x, the baseline has 0x%02x",
			                                pair->records + 1, a->label, (unsigned long long)(at + i),
			                                (unsigned long long)a->record.size, b->chunk[i], a->chunk[i]);
			return false;
		}
		at += size;
		pair->bytes += size;
	}
	return true;
}

/* One record of both. False: the comparison is over. */
static bool pair_record(struct outputs_pair *pair, struct err *err)
{
	struct arena *arena = &pair->session->arena;
	struct outputs_side *a = pair->side[0], *b = pair->side[1];
	if (!side_header(pair, a, err) || !side_header(pair, b, err))
		return false;
	unsigned number = pair->records + 1;
	if (a->record.kind != b->record.kind) {
		bool fewer = b->record.kind == BENCH_END;
		pair->difference = arena_printf(arena, "record %u \"%s\" is %s", number, fewer ? a->label : b->label,
		                                fewer ? "missing" : "one more than the baseline has");
		return false;
	}
	if (a->record.kind == BENCH_END) {
		if (side_ended_well(pair, a, err))
			side_ended_well(pair, b, err);
		return false;
	}
	if (strcmp(a->label, b->label) != 0)
		pair->difference = arena_printf(arena, "record %u is \"%s\", the baseline has \"%s\"", number, b->label, a->label);
	else if (a->record.size != b->record.size)
		pair->difference = arena_printf(arena, "record %u \"%s\" has %llu bytes, the baseline has %llu", number, a->label,
		                                (unsigned long long)b->record.size, (unsigned long long)a->record.size);
	else if (a->record.element != b->record.element || a->record.tolerance != b->record.tolerance)
		pair->difference = arena_printf(arena, "record %u \"%s\" tolerates another difference than the baseline's", number,
		                                a->label);
	if (pair->difference || !pair_data(pair, err))
		return false;
	pair->records++;
	return true;
}

/* What is run on a side. */
struct outputs_of {
	const struct variant *variant;
	const struct binding_list *params;
};

/* Runs both programs. Afterwards a side has failed, or there is a difference, or they are equal, or `err` is set. */
static enum status pair_run(struct outputs_pair *pair, const struct outputs_of *const sides[2], struct err *err)
{
	struct arena *arena = &pair->session->arena;
	enum status status = ST_OK;
	pair->deadline = proc_now() + pair->timeout_s;
	for (int i = 0; i < 2; i++)
		pair->side[i]->child = PROC_CHILD_INIT;
	for (int i = 0; i < 2 && status == ST_OK; i++) {
		struct proc_request request =
		    workload_request(arena, sides[i]->variant->program, sides[i]->params, pair->session->run.seed, "--outputs", NULL);
		request.env = sides[i]->variant->env;
		status = proc_start(&request, &pair->side[i]->child, err);
	}
	if (status == ST_OK) {
		struct err trouble = ERR_INIT;
		while (pair_record(pair, &trouble))
			;
		if (trouble.code != ST_OK)
			status = err_set(err, trouble.code, "%s", trouble.text);
	}
	for (int i = 0; i < 2; i++)
		proc_child_end(&pair->side[i]->child);
	return status;
}

struct outputs_run {
	struct session *session;
	struct outputs_side *sides; /* two */
	double timeout_s;
	struct outputs_result *result;
};

/* Both programs once. The verdict is OUTPUTS_EQUAL, or what came of it when `reference` is the baseline. */
static enum status outputs_once(const struct outputs_run *run, const struct outputs_of *reference,
                                const struct outputs_of *compared, struct err *err)
{
	struct outputs_result *result = run->result;
	struct outputs_side *sides = run->sides;
	struct outputs_pair pair = {
	    .session = run->session, .side = {&sides[0], &sides[1]}, .timeout_s = run->timeout_s};
	sides[0].failure = sides[1].failure = NULL;
	enum status status = pair_run(&pair, (const struct outputs_of *const[2]){reference, compared}, err);
	if (status != ST_OK)
		return status;
	*result = (struct outputs_result){.verdict = OUTPUTS_EQUAL, .text = "", .records = pair.records, .bytes = pair.bytes};
	if (sides[0].failure) {
		result->verdict = OUTPUTS_BASELINE_FAILED;
		result->text = sides[0].failure;
	} else if (sides[1].failure) {
		result->verdict = OUTPUTS_CANDIDATE_FAILED;
		result->text = sides[1].failure;
	} else if (pair.difference) {
		result->verdict = OUTPUTS_DIFFER;
		result->text = pair.difference;
	}
	result->rounding = pair.rounding_where;
	return ST_OK;
}

/* The baseline against itself. */
static enum status outputs_itself(const struct outputs_run *run, const struct outputs_of *baseline, struct err *err)
{
	struct outputs_result *result = run->result;
	enum status status = outputs_once(run, baseline, baseline, err);
	if (status != ST_OK)
		return status;
	if (result->verdict == OUTPUTS_CANDIDATE_FAILED) {
		result->verdict = OUTPUTS_BASELINE_FAILED;
	} else if (result->verdict == OUTPUTS_DIFFER) {
		result->verdict = OUTPUTS_NOT_REPEATABLE;
		result->text = arena_printf(&run->session->arena, "the baseline against itself: %s", result->text);
	}
	return ST_OK;
}

static enum status outputs_run(const struct outputs_run *run, const struct outputs_of *baseline,
                               const struct outputs_of *candidate, struct err *err)
{
	struct outputs_result *result = run->result;
	session_progress(run->session, "comparing results", 0, 2, -1);
	enum status status = outputs_itself(run, baseline, err);
	if (status != ST_OK || result->verdict != OUTPUTS_EQUAL)
		return status;
	bool rounds_itself = result->rounding != NULL;
	session_progress(run->session, "comparing results", 1, 2, -1);
	status = outputs_once(run, baseline, candidate, err);
	if (status != ST_OK)
		return status;
	if (rounds_itself)
		result->rounding = NULL;
	if (result->verdict == OUTPUTS_EQUAL && result->records == 0) {
		result->verdict = OUTPUTS_NONE;
		result->text = "the workload hands over no results";
	}
	if (result->verdict != OUTPUTS_DIFFER)
		return ST_OK;
	session_progress(run->session, "comparing results", 1, 2, -1);
	struct outputs_result first = *result;
	for (int i = 0; i < ITSELF_AGAIN; i++) {
		status = outputs_itself(run, baseline, err);
		if (status != ST_OK || result->verdict != OUTPUTS_EQUAL)
			return status;
	}
	status = outputs_once(run, baseline, candidate, err);
	if (status != ST_OK || result->verdict != OUTPUTS_EQUAL)
		return status;
	*result = first;
	result->verdict = OUTPUTS_NOT_REPEATABLE;
	result->text = arena_printf(&run->session->arena, "the candidate differed once, but not again: %s", first.text);
	return ST_OK;
}

static enum status outputs_sides(struct session *session, const struct outputs_of *baseline,
                                 const struct outputs_of *candidate, double timeout_s, struct outputs_result *ret_result,
                                 struct err *err)
{
	*ret_result = (struct outputs_result){0};
	struct arena scratch;
	arena_init(&scratch);
	struct outputs_side *sides = arena_alloc(&scratch, 2 * sizeof *sides);
	struct outputs_run run = {session, sides, timeout_s, ret_result};
	enum status status = outputs_run(&run, baseline, candidate, err);
	arena_release(&scratch);
	return status;
}

enum status outputs_compare(struct session *session, const struct variant *baseline, const struct variant *candidate,
                            const struct binding_list *params, double timeout_s, struct outputs_result *ret_result,
                            struct err *err)
{
	if (baseline->command)
		return outputs_command(session, baseline, candidate, timeout_s, ret_result, err);
	return outputs_sides(session, &(struct outputs_of){baseline, params}, &(struct outputs_of){candidate, params}, timeout_s,
	                     ret_result, err);
}

enum status outputs_values(struct session *session, const struct variant *variant, const struct binding_list *baseline,
                           const struct binding_list *params, double timeout_s, struct outputs_result *ret_result,
                           struct err *err)
{
	return outputs_sides(session, &(struct outputs_of){variant, baseline}, &(struct outputs_of){variant, params}, timeout_s,
	                     ret_result, err);
}
