#include "logfold.h"

enum {
	MODULUS = 65521, /* the largest prime below 2^16 */
	/* The most bytes for which `high` can't exceed 32 bits: 255 n (n + 1) / 2 + (n + 1) (MODULUS - 1) < 2^32. */
	BLOCK = 5552,
};

uint32_t lf_checksum(const uint8_t *data, size_t size)
{
	uint32_t low = 1, high = 0;
	while (size) {
		size_t block = size < BLOCK ? size : BLOCK;
		for (size_t i = 0; i < block; i++) {
			low += data[i];
			high += low;
		}
		low %= MODULUS;
		high %= MODULUS;
		data += block;
		size -= block;
	}
	return high << 16 | low;
}
