#include "model/trial.h"

#include "base/stat.h"

#include <float.h>
#include <math.h>

const char *hypothesis_title(const struct hypothesis *hypothesis)
{
	return hypothesis->title ? hypothesis->title : hypothesis->id;
}

const char *trial_unconfirmed_contract(const struct trial *trial)
{
	if (trial->hypothesis->contract_accepted)
		return NULL;
	return trial->hypothesis->contract ? trial->hypothesis->contract : trial->rounding;
}

const char *unconfirmed_text(struct arena *arena, const char *contract, const char *measured)
{
	return arena_printf(arena, "rests on a contract that nobody has confirmed: %s; measured: %s", contract, measured);
}

struct effect effect_of_values(const double *values, size_t count, double alpha, const char *population, double *ret_p)
{
	struct effect effect = {.population = population, .low = -INFINITY, .high = INFINITY};
	struct cseq cseq;
	cseq_init(&cseq, alpha);
	for (size_t i = 0; i < count; i++)
		if (!cseq_add(&cseq, values[i]))
			break;
	if (cseq.count) {
		effect.known = true;
		effect.theta = cseq_median(&cseq);
		cseq_interval(&cseq, &effect.low, &effect.high);
		/* Evidence for the other direction than the effect's is none for the effect. Above 0: 0 means "not measured". */
		if (ret_p)
			*ret_p = effect.theta * cseq.lean > 0 ? fmax(cseq_p(&cseq), DBL_MIN) : 1;
	}
	cseq_release(&cseq);
	return effect;
}

bool effect_bounded(const struct effect *effect)
{
	return isfinite(effect->low) && isfinite(effect->high);
}

const char *bound_words(struct arena *arena, double bound)
{
	if (isinf(bound))
		return bound < 0 ? "-inf" : "+inf";
	return arena_printf(arena, "%+.2f", effect_percent(bound));
}

const char *effect_words(struct arena *arena, const struct effect *effect)
{
	return arena_printf(arena, "%+.2f %% [%s, %s]", effect_percent(effect->theta), bound_words(arena, effect->low),
	                    bound_words(arena, effect->high));
}
