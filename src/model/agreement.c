#include "model/agreement.h"

#include "base/text.h"

#include <string.h>

static bool params_equal(const struct binding_list *a, const struct binding_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->at[i].name, b->at[i].name) != 0 || strcmp(a->at[i].value, b->at[i].value) != 0)
			return false;
	return true;
}

static bool config_equal(const struct build_config *a, const struct build_config *b)
{
	return text_equal(a->cc, b->cc) && text_equal(a->flags, b->flags);
}

static bool same_trial(const struct trial *a, const struct trial *b)
{
	return strcmp(a->hypothesis->id, b->hypothesis->id) == 0 &&
	       text_equal(a->workload ? a->workload->name : NULL, b->workload ? b->workload->name : NULL) &&
	       params_equal(&a->params, &b->params) && config_equal(&a->config, &b->config);
}

static bool same_survey(const struct survey *a, const struct survey *b)
{
	return text_equal(a->name, b->name) && text_equal(a->workload, b->workload) && text_equal(a->over, b->over) &&
	       params_equal(&a->params, &b->params) && config_equal(&a->config, &b->config);
}

static const struct survey_value *value_named(const struct survey *survey, const char *name)
{
	for (size_t i = 0; i < survey->values.count; i++)
		if (strcmp(survey->values.at[i].value, name) == 0)
			return &survey->values.at[i];
	return NULL;
}

/* Would a value of a survey be timed here? */
static bool can_run(enum value_verdict verdict)
{
	return verdict != VALUE_UNAVAILABLE && verdict != VALUE_MISSING;
}

static enum agreement trials_agreement(const struct trial *a, const struct trial *b)
{
	if (a->verdict == VERDICT_NONE || a->verdict == VERDICT_INCONCLUSIVE || b->verdict == VERDICT_NONE ||
	    b->verdict == VERDICT_INCONCLUSIVE)
		return AGREEMENT_UNDECIDED;
	return a->verdict == b->verdict ? AGREEMENT_SAME : AGREEMENT_DIFFERS;
}

static enum agreement values_agreement(const struct survey_value *a, const struct survey_value *b)
{
	if (can_run(a->verdict) != can_run(b->verdict))
		return AGREEMENT_ONE_HAS;
	if (a->verdict == VALUE_OPEN || a->verdict == VALUE_INCONCLUSIVE || b->verdict == VALUE_OPEN ||
	    b->verdict == VALUE_INCONCLUSIVE)
		return AGREEMENT_UNDECIDED;
	return a->verdict == b->verdict ? AGREEMENT_SAME : AGREEMENT_DIFFERS;
}

const char *agreement_verdict(const struct agreement_row *row, int side)
{
	if (row->values[side])
		return value_verdict_name(row->values[side]->verdict);
	return row->trials[side]->verdict == VERDICT_NONE ? "not settled" : verdict_name(row->trials[side]->verdict);
}

const struct effect *agreement_effect(const struct agreement_row *row, int side)
{
	return row->values[side] ? &row->values[side]->effect : &row->trials[side]->effect;
}

static void row_add(struct arena *arena, struct agreement_of_runs *agreement, struct agreement_row row)
{
	const struct effect *a = agreement_effect(&row, 0), *b = agreement_effect(&row, 1);
	row.apart = a->known && b->known && (a->low > b->high || b->low > a->high);
	agreement->counts[row.kind]++;
	agreement->apart[row.kind] += row.apart;
	list_push(arena, &agreement->rows, row);
}

static size_t answers(const struct run *run)
{
	size_t count = run->trials.count;
	for (size_t i = 0; i < run->surveys.count; i++)
		for (size_t k = 0; k < run->surveys.at[i]->values.count; k++)
			count += k != run->surveys.at[i]->baseline;
	return count;
}

static void survey_add(struct arena *arena, struct agreement_of_runs *agreement, const struct survey *a, const struct survey *b)
{
	for (size_t i = 0; i < a->values.count; i++) {
		const struct survey_value *value = &a->values.at[i], *other = value_named(b, value->value);
		if (i == a->baseline || !other || other == &b->values.at[b->baseline])
			continue;
		row_add(arena, agreement, (struct agreement_row){.kind = values_agreement(value, other), .surveys = {a, b},
		                                                 .values = {value, other}});
	}
}

struct agreement_of_runs runs_agreement(struct arena *arena, const struct run *first, const struct run *second)
{
	struct agreement_of_runs agreement = {.runs = {first, second}};
	for (size_t i = 0; i < first->trials.count; i++)
		for (size_t k = 0; k < second->trials.count; k++) {
			const struct trial *a = first->trials.at[i], *b = second->trials.at[k];
			if (!same_trial(a, b))
				continue;
			row_add(arena, &agreement, (struct agreement_row){.kind = trials_agreement(a, b), .trials = {a, b}});
			break;
		}
	for (size_t i = 0; i < first->surveys.count; i++)
		for (size_t k = 0; k < second->surveys.count; k++)
			if (same_survey(first->surveys.at[i], second->surveys.at[k])) {
				survey_add(arena, &agreement, first->surveys.at[i], second->surveys.at[k]);
				break;
			}
	agreement.alone[0] = (unsigned)(answers(first) - agreement.rows.count);
	agreement.alone[1] = (unsigned)(answers(second) - agreement.rows.count);
	return agreement;
}
