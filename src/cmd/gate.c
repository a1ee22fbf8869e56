/* The gate: --require and --forbid, for scripts. It never passes for lack of evidence. */
#include "cmd/cmd.h"

#include <math.h>

static const char *trial_name(struct arena *arena, const struct trial *trial)
{
	char *text = arena_strdup(arena, trial->hypothesis->title ? trial->hypothesis->title : trial->hypothesis->id);
	if (trial->workload && trial->hypothesis->kind != CANDIDATE_COMMAND)
		text = arena_printf(arena, "%s on %s", text, trial->workload->name);
	for (size_t i = 0; i < trial->params.count; i++)
		text = arena_printf(arena, "%s %s=%s", text, trial->params.at[i].name, trial->params.at[i].value);
	return text;
}

/* A decision of the project: nothing is changed there, so nothing is asked of it. */
static bool left_out(enum verdict verdict)
{
	return verdict == VERDICT_DELIBERATE;
}

/* "Not built" and "not reached" say that these workloads and commands don't run it, not what it would do in others. */
static bool lacks_evidence(enum verdict verdict)
{
	return verdict == VERDICT_NONE || verdict == VERDICT_INCONCLUSIVE || verdict == VERDICT_FAILED ||
	       verdict == VERDICT_NOT_BUILT || verdict == VERDICT_NOT_REACHED;
}

/* "Slower" fails a gate when it is by more than the margin for certain. Between "certainly negligible" and that, the
 * evidence does not suffice (MEASURING: "real but negligible", "regression"). */
static enum gate_result slower_judge(const struct trial *trial)
{
	double margin = log1p(trial->margin);
	if (!trial->effect.known)
		return GATE_FAILED;
	if (trial->effect.low > margin)
		return GATE_FAILED;
	return trial->effect.high < margin ? GATE_PASSED : GATE_UNDECIDED;
}

static enum gate_result forbid_judge(const struct trial *trial, enum verdict forbidden)
{
	if (left_out(trial->verdict))
		return GATE_PASSED;
	if (trial->verdict == forbidden)
		return forbidden == VERDICT_SLOWER ? slower_judge(trial) : GATE_FAILED;
	if (lacks_evidence(trial->verdict))
		return GATE_UNDECIDED;
	/* Nobody knows how fast it is: it was never measured. */
	return trial->verdict == VERDICT_WRONG_RESULTS && forbidden == VERDICT_SLOWER ? GATE_FAILED : GATE_PASSED;
}

static enum gate_result require_judge(enum verdict verdict, enum verdict required)
{
	if (verdict == required)
		return GATE_PASSED;
	return lacks_evidence(verdict) ? GATE_UNDECIDED : GATE_FAILED;
}

enum gate_result gate_judge(struct arena *arena, const struct run *run, const struct options *options,
                            const char **ret_text)
{
	enum gate_result result = GATE_PASSED;
	unsigned asked = 0;
	*ret_text = NULL;
	for (size_t i = 0; options->require_given && i < run->families.count; i++) {
		const struct family *family = &run->families.at[i];
		if (left_out(family->verdict))
			continue;
		asked++;
		enum gate_result one = require_judge(family->verdict, options->require);
		if (one > GATE_PASSED && (result == GATE_PASSED || (one == GATE_FAILED && result == GATE_UNDECIDED))) {
			result = one;
			*ret_text = arena_printf(arena, "--require %s: %s is %s", verdict_name(options->require),
			                         family->hypothesis->title ? family->hypothesis->title : family->hypothesis->id,
			                         verdict_name(family->verdict));
		}
	}
	for (size_t i = 0; options->forbid_given && i < run->trials.count; i++) {
		const struct trial *trial = run->trials.at[i];
		if (left_out(trial->verdict))
			continue;
		asked++;
		enum gate_result one = forbid_judge(trial, options->forbid);
		if (one > GATE_PASSED && (result == GATE_PASSED || (one == GATE_FAILED && result == GATE_UNDECIDED))) {
			result = one;
			*ret_text = arena_printf(arena, "--forbid %s: %s is %s%s", verdict_name(options->forbid),
			                         trial_name(arena, trial), verdict_name(trial->verdict),
			                         one == GATE_UNDECIDED && trial->verdict == VERDICT_SLOWER
			                             ? ", and whether by more than the margin is not known" : "");
		}
	}
	if (run->state != RUN_DONE && result == GATE_PASSED) {
		*ret_text = "not everything was settled";
		return GATE_UNDECIDED;
	}
	if (asked == 0) {
		*ret_text = "nothing was settled that it could be asked of";
		return GATE_UNDECIDED;
	}
	return result;
}
