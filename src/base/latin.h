/* Random cyclic Latin squares: in which order the variants of a survey take their turns.
 *
 * A square of n rows gives every variant every place once. Its rows are one random permutation, shifted by one place for
 * each row (R. A. Fisher, The Design of Experiments, 1935, on Latin squares; the cyclic ones are the cheapest to draw). Seen
 * alone, each row is a random permutation: exchanging two variants that are alike changes nothing but their names.
 */
#ifndef ASSAY_BASE_LATIN_H
#define ASSAY_BASE_LATIN_H

#include "base/stat.h"

/* A permutation of 0 … count - 1, each with the same chance. */
void latin_draw(struct rng *rng, size_t *ret_permutation, size_t count);
/* Who is at `place` in row `row` of the square that the permutation spans. */
size_t latin_at(const size_t *permutation, size_t count, size_t row, size_t place);

#endif
