/* The gate: --require and --forbid, for scripts. It never passes for lack of evidence. */
#include "cmd/cmd.h"

#include <math.h>

static const char *trial_name(struct arena *arena, const struct trial *trial)
{
	char *text = arena_strdup(arena, hypothesis_title(trial->hypothesis));
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

/* A regression is slower by more than the margin for certain. Between "certainly negligible" and that, the evidence does
 * not suffice. The margin is the one that was asked for, not the control's floor, which the verdict may have been read
 * off with: a machine too noisy to see a regression is no proof that there is none. */
static enum gate_result slower_judge(const struct trial *trial)
{
	double margin = log1p(trial->margin);
	if (!trial->effect.known)
		return trial->verdict == VERDICT_SLOWER ? GATE_FAILED : GATE_PASSED;
	if (trial->effect.low > margin)
		return GATE_FAILED;
	return trial->effect.high < margin ? GATE_PASSED : GATE_UNDECIDED;
}

static enum gate_result forbid_judge(const struct trial *trial, enum verdict forbidden)
{
	if (left_out(trial->verdict))
		return GATE_PASSED;
	if (trial->verdict == forbidden && forbidden != VERDICT_SLOWER)
		return GATE_FAILED;
	if (lacks_evidence(trial->verdict))
		return GATE_UNDECIDED;
	if (forbidden != VERDICT_SLOWER)
		return GATE_PASSED;
	/* Nobody knows how fast it is: it was never measured. */
	return trial->verdict == VERDICT_WRONG_RESULTS ? GATE_FAILED : slower_judge(trial);
}

/* "No effect" is required within the margin that was asked for, as "slower" is forbidden beyond it. */
static enum gate_result negligible_judge(const struct trial *trial)
{
	double margin = log1p(trial->margin);
	if (!trial->effect.known)
		return GATE_PASSED;
	if (trial->effect.low > margin || trial->effect.high < -margin)
		return GATE_FAILED;
	return -margin < trial->effect.low && trial->effect.high < margin ? GATE_PASSED : GATE_UNDECIDED;
}

/* A family is faster when one trial is and none is slower; the gate asks it of all that were measured. */
static enum gate_result faster_judge(const struct trial *trial)
{
	if (trial->verdict == VERDICT_FASTER || left_out(trial->verdict))
		return GATE_PASSED;
	if (trial->rung != RUNG_TIME && !trial->effect.known)
		return GATE_PASSED;
	return lacks_evidence(trial->verdict) ? GATE_UNDECIDED : GATE_FAILED;
}

static enum gate_result member_judge(const struct trial *trial, enum verdict required)
{
	return required == VERDICT_FASTER      ? faster_judge(trial)
	       : required == VERDICT_NO_EFFECT ? negligible_judge(trial)
	                                       : GATE_PASSED;
}

/* *ret_trial: the one that decides against it, if one does although the family's verdict is the required one. */
static enum gate_result require_judge(const struct family *family, enum verdict required, const struct trial **ret_trial)
{
	enum gate_result result = GATE_PASSED;
	*ret_trial = NULL;
	if (family->verdict != required)
		return lacks_evidence(family->verdict) ? GATE_UNDECIDED : GATE_FAILED;
	for (size_t i = 0; i < family->trials.count; i++) {
		enum gate_result one = member_judge(family->trials.at[i], required);
		if (one != GATE_PASSED && result != GATE_FAILED && one != result) {
			result = one;
			*ret_trial = family->trials.at[i];
		}
	}
	return result;
}

/* ", and that is [+1.50, +2.40] % against a margin of 1 %", where the verdict alone does not say why. */
static const char *beyond_text(struct arena *arena, const struct trial *trial)
{
	if (!trial->effect.known)
		return "";
	return arena_printf(arena, ", and that is [%+.2f, %+.2f] %% against a margin of %.2g %%",
	                    effect_percent(trial->effect.low), effect_percent(trial->effect.high), 100 * trial->margin);
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
		const struct trial *against = NULL;
		enum gate_result one = require_judge(family, options->require, &against);
		if (one > GATE_PASSED && (result == GATE_PASSED || (one == GATE_FAILED && result == GATE_UNDECIDED))) {
			result = one;
			const char *title = hypothesis_title(family->hypothesis);
			*ret_text = arena_printf(arena, "--require %s: %s is %s%s", verdict_name(options->require),
			                         against ? trial_name(arena, against) : title,
			                         verdict_name(against ? against->verdict : family->verdict),
			                         against ? beyond_text(arena, against) : "");
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
			                         options->forbid == VERDICT_SLOWER ? beyond_text(arena, trial) : "");
		}
	}
	if (run->state != RUN_DONE && result == GATE_PASSED) {
		*ret_text = "not everything was settled";
		return GATE_UNDECIDED;
	}
	if (run->untried && result == GATE_PASSED) {
		*ret_text = arena_printf(arena, "%u of what was asked for could not be tried: see the notes", run->untried);
		return GATE_UNDECIDED;
	}
	if (asked == 0) {
		*ret_text = "nothing was settled that it could be asked of";
		return GATE_UNDECIDED;
	}
	return result;
}
