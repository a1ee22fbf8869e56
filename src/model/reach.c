#include "model/reach.h"

#include <math.h>

double reach_gain_most(double share)
{
	return share < 1 ? share / (1 - share) : INFINITY;
}
