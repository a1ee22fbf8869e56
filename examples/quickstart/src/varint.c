#include "logfold.h"

size_t lf_varint_put(uint8_t *out, uint64_t value)
{
	size_t used = 0;
	while (value >= 0x80) {
		out[used++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	out[used++] = (uint8_t)value;
	return used;
}

size_t lf_varint_get(const uint8_t *in, size_t size, uint64_t *value)
{
	uint64_t result = 0;
	for (size_t i = 0; i < size && i < LF_VARINT_MAX; i++) {
		result |= (uint64_t)(in[i] & 0x7f) << (7 * i);
		if (!(in[i] & 0x80)) {
			*value = result;
			return i + 1;
		}
	}
	return 0;
}
