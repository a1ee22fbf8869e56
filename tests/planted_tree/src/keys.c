#include "meter.h"

#include <stdlib.h>

void keys_spread(uint32_t *buckets, const uint32_t *hashes, size_t count, uint32_t size)
{
	for (size_t i = 0; i < count; i++)
		buckets[i] = hashes[i] % size; /* plant: S01 */
}

/* The compiler multiplies by the reciprocal of 1021. */
void keys_spread_fixed(uint32_t *buckets, const uint32_t *hashes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buckets[i] = hashes[i] % 1021; /* twin: S01 */
}

static int by_bytes(const void *a, const void *b)
{
	const struct flow *left = a, *right = b;
	return (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

void keys_rank(struct flow *flows, size_t count)
{
	qsort(flows, count, sizeof *flows, by_bytes); /* plant: S02 */
}

/* The header of the C library brings the search along, and the compiler takes the comparison in. */
const struct flow *keys_find(const struct flow *flows, size_t count, const struct flow *wanted)
{
	return bsearch(wanted, flows, count, sizeof *flows, by_bytes); /* twin: S02 */
}

static uint32_t key_fold(uint32_t key) /* twin: S12: of this file alone */
{
	return key ^ key >> 16;
}

uint64_t keys_digest(const uint32_t *keys, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += key_fold(keys[i]);
	return sum;
}
