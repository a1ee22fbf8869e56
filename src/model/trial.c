#include "model/trial.h"

const char *trial_unconfirmed_contract(const struct trial *trial)
{
	if (trial->hypothesis->contract_accepted)
		return NULL;
	return trial->hypothesis->contract ? trial->hypothesis->contract : trial->rounding;
}
