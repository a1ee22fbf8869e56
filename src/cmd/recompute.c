/* Judges an old run again from its stored samples and plans, and compares with what was recorded. */
#include "cmd/cmd.h"

#include "base/text.h"
#include "stage/stages.h"

#include <string.h>

enum outcome { SAME, DIFFERS, IMPOSSIBLE, NOT_ASKED };

struct recomputing {
	struct store *store;
	struct session *session; /* its run's trials are judged again, one by one */
	FILE *out;
	unsigned count[NOT_ASKED + 1];
};

/* The control that the trial was judged with. *ret_known false: its samples or its plan are not in the store. */
static enum status control_again(struct recomputing *again, struct trial *trial, bool *ret_known, struct err *err)
{
	struct session *session = again->session;
	const char *samples_of = trial->control.trial ? trial->control.trial : trial->id;
	double seconds = trial->control.seconds;
	*ret_known = false;
	/* The second control is the one that counts, when there was one. */
	for (unsigned attempt = 2; attempt >= 1 && !*ret_known; attempt--) {
		struct measurement measurement;
		enum status status = store_measurement_get(again->store, &session->arena, session->run.id, samples_of, attempt,
		                                           &measurement, ret_known, err);
		if (status != ST_OK)
			return status;
		if (!*ret_known)
			continue;
		control_judge(session, &measurement, attempt, samples_of, &trial->control);
		trial->control.seconds = seconds;
	}
	return ST_OK;
}

/* Judges the trial again in place. *ret_outcome: NOT_ASKED when its verdict does not come from samples. */
static enum status trial_again(struct recomputing *again, struct trial *trial, enum outcome *ret_outcome, struct err *err)
{
	struct session *session = again->session;
	struct measurement measurement;
	bool ended = false, control_known = false;
	*ret_outcome = NOT_ASKED;
	/* A failure before the first sample (no control, say) is none that samples could confirm. */
	if (trial->rung != RUNG_TIME || trial->verdict == VERDICT_NONE || (!trial->effect.known && !trial->control.done))
		return ST_OK;
	enum status status = store_measurement_get(again->store, &session->arena, session->run.id, trial->id, 0, &measurement,
	                                           &ended, err);
	if (status == ST_OK)
		status = control_again(again, trial, &control_known, err);
	if (status != ST_OK)
		return status;
	*ret_outcome = IMPOSSIBLE;
	if (!control_known || (!ended && trial->control.quiet))
		return ST_OK;
	if (!ended)
		measurement = (struct measurement){.stop = STOP_BUDGET}; /* refused: its control was not quiet */
	judge_trial(session, &measurement, &trial->control, trial);
	*ret_outcome = SAME;
	return ST_OK;
}

static const char *effect_line(struct arena *arena, const struct trial *trial)
{
	if (!trial->effect.known)
		return verdict_name(trial->verdict);
	return arena_printf(arena, "%s, log-ratio %.9g [%.9g, %.9g], p %.9g, %u pairs", verdict_name(trial->verdict),
	                    trial->effect.theta, trial->effect.low, trial->effect.high, trial->p_adjusted, trial->pairs);
}

static enum status trials_again(struct recomputing *again, enum outcome *outcomes, struct err *err)
{
	struct trial_list *trials = &again->session->run.trials;
	for (size_t i = 0; i < trials->count; i++) {
		struct trial *copy = arena_new(&again->session->arena, struct trial);
		*copy = *trials->at[i];
		trials->at[i] = copy;
		enum status status = trial_again(again, copy, &outcomes[i], err);
		if (status != ST_OK)
			return status;
	}
	return ST_OK;
}

static void trial_compare(struct recomputing *again, const struct trial *recorded, const struct trial *now,
                          enum outcome outcome)
{
	struct arena *arena = &again->session->arena;
	if (outcome == SAME && strcmp(json_trial(arena, recorded), json_trial(arena, now)) != 0)
		outcome = DIFFERS;
	again->count[outcome]++;
	switch (outcome) {
	case SAME:
		fprintf(again->out, "%s  same: %s\n", now->id, effect_line(arena, now));
		break;
	case DIFFERS:
		fprintf(again->out, "%s  DIFFERS\n  recorded:   %s\n  recomputed: %s\n", now->id, effect_line(arena, recorded),
		        effect_line(arena, now));
		if (!text_equal(recorded->evidence, now->evidence))
			fprintf(again->out, "  recorded:   %s\n  recomputed: %s\n", recorded->evidence ? recorded->evidence : "",
			        now->evidence ? now->evidence : "");
		break;
	case IMPOSSIBLE:
		fprintf(again->out, "%s  can't be recomputed: the store has no plan or no samples of it (older assay, or the store "
		                    "was lost in the middle)\n", now->id);
		break;
	case NOT_ASKED:
		break;
	}
}

static void families_compare(struct recomputing *again, const struct run *recorded)
{
	const struct family_list *now = &again->session->run.families;
	for (size_t i = 0; i < recorded->families.count; i++) {
		const struct family *family = &recorded->families.at[i];
		bool same = i < now->count && now->at[i].verdict == family->verdict &&
		            text_equal(now->at[i].evidence, family->evidence);
		if (same)
			continue;
		again->count[DIFFERS]++;
		fprintf(again->out, "%s  DIFFERS\n  recorded:   %s, %s\n  recomputed: %s, %s\n", family->hypothesis->id,
		        verdict_name(family->verdict), family->evidence ? family->evidence : "",
		        i < now->count ? verdict_name(now->at[i].verdict) : "nothing",
		        i < now->count && now->at[i].evidence ? now->at[i].evidence : "");
	}
}

/* Judges a survey again, and compares. */
static enum status survey_again(struct recomputing *again, const struct survey *recorded, struct err *err)
{
	struct session *session = again->session;
	struct arena *arena = &session->arena;
	struct survey_measurement measurement;
	struct survey now = *recorded;
	bool ended = false;
	if (recorded->rounds == 0 || !recorded->finished)
		return ST_OK; /* its verdicts don't come from time */
	enum status status = store_survey_measurement_get(again->store, arena, session->run.id, recorded->id, &measurement, &ended,
	                                                  err);
	if (status != ST_OK)
		return status;
	if (!ended || measurement.values != recorded->values.count) {
		again->count[IMPOSSIBLE]++;
		fprintf(again->out, "%s  can't be recomputed: the store has no plan or no rounds of it\n", recorded->id);
		return ST_OK;
	}
	now.values = (struct survey_value_list){0};
	for (size_t i = 0; i < recorded->values.count; i++)
		list_push(arena, &now.values, recorded->values.at[i]);
	judge_survey(session, &measurement, &now);
	bool same = strcmp(json_survey(arena, recorded), json_survey(arena, &now)) == 0;
	again->count[same ? SAME : DIFFERS]++;
	if (same)
		fprintf(again->out, "%s  same: %s, %u rounds\n", now.id, now.evidence, now.rounds);
	else
		fprintf(again->out, "%s  DIFFERS\n  recorded:   %s\n  recomputed: %s\n", now.id, json_survey(arena, recorded),
		        json_survey(arena, &now));
	return ST_OK;
}

enum status run_recompute(struct store *store, const struct run *run, FILE *out, int *ret_exit, struct err *err)
{
	struct session session = {.run = *run};
	struct recomputing again = {.store = store, .session = &session, .out = out};
	arena_init(&session.arena);
	session.run.trials = (struct trial_list){0};
	for (size_t i = 0; i < run->trials.count; i++)
		list_push(&session.arena, &session.run.trials, run->trials.at[i]);
	enum outcome *outcomes = arena_alloc(&session.arena, (run->trials.count + 1) * sizeof *outcomes);
	enum status status = trials_again(&again, outcomes, err);
	if (status == ST_OK) {
		judge_families(&session);
		for (size_t i = 0; i < run->trials.count; i++)
			trial_compare(&again, run->trials.at[i], session.run.trials.at[i], outcomes[i]);
		families_compare(&again, run);
		for (size_t i = 0; i < run->surveys.count && status == ST_OK; i++)
			status = survey_again(&again, run->surveys.at[i], err);
	}
	if (status == ST_OK) {
		const unsigned *count = again.count;
		if (count[SAME] + count[DIFFERS] + count[IMPOSSIBLE] == 0)
			fputs("nothing to recompute: no verdict of this run comes from time\n", out);
		else
			fprintf(out, "%u same to the last digit, %u differ, %u can't be recomputed\n", count[SAME], count[DIFFERS],
			        count[IMPOSSIBLE]);
		*ret_exit = count[DIFFERS] ? EXIT_GATE : count[IMPOSSIBLE] ? EXIT_JUDGE : EXIT_DONE;
	}
	arena_release(&session.arena);
	return status;
}
