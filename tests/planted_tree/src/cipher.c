#include "meter.h"

#include "compat.h"

void bytes_mask(uint8_t *out, size_t size, const struct key *key)
{
	for (size_t i = 0; i < size; i++) /* plant: P03 */
		out[i] ^= key->mask;
}

/* A word's store can't change a byte of another type's object, and the key is read before the loop. */
void words_mask(uint32_t *out, size_t size, const uint8_t *key) /* twin: P03 */
{
	const uint32_t word = key[0] * 0x01010101u;
	for (size_t i = 0; i < size; i++)
		out[i] ^= word;
}

/* Nor can it change a uint16_t. */
void words_key(uint32_t *out, size_t size, const struct wide_key *key)
{
	for (size_t i = 0; i < size; i++) /* no-strict-aliasing: P03 */
		out[i] ^= key->mask;
}

/* What stands in the header's `restrict` is gone here. */
static void copy_masked(uint8_t *restrict out, const uint8_t *restrict in, size_t size)
{
	for (size_t i = 0; i < size; i++)
		out[i] = in[i] ^ 0x5a;
}

void bytes_mask_copy(uint8_t *out, const uint8_t *in, size_t size);
void bytes_mask_copy(uint8_t *out, const uint8_t *in, size_t size)
{
	copy_masked(out, in, size);
}

/* It takes the same time, whether they are exchanged or not. */
void halves_exchange(uint64_t *one, uint64_t *other, uint64_t bit)
{
	uint64_t both = (0 - bit) & (*one ^ *other);
	*one ^= both; /* twin: R02 */
	*other ^= both;
}
