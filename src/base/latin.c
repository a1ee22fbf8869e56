#include "base/latin.h"

/* Uniform in 0 … below - 1: draws that would favour small numbers are thrown away. */
static size_t draw_below(struct rng *rng, size_t below)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % below;
	uint64_t value;
	do {
		value = rng_next(rng);
	} while (value >= limit);
	return (size_t)(value % below);
}

/* Fisher and Yates, in Durstenfeld's form (1964). */
void latin_draw(struct rng *rng, size_t *ret_permutation, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ret_permutation[i] = i;
	for (size_t i = count; i > 1; i--) {
		size_t other = draw_below(rng, i);
		size_t kept = ret_permutation[i - 1];
		ret_permutation[i - 1] = ret_permutation[other];
		ret_permutation[other] = kept;
	}
}

size_t latin_at(const size_t *permutation, size_t count, size_t row, size_t place)
{
	return permutation[(place + row) % count];
}
