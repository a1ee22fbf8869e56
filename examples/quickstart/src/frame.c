#include "logfold.h"

#include <string.h>

/* Compilers of the nineties did not know it. */
#define restrict

/* Applies the key to a header; twice gives the header back. */
static void mask_bytes(uint8_t *out, const uint8_t *in, size_t size, const struct lf_key *key)
{
	/* assay: deliberate P03: headers only, 12 bytes at a time; a local for the mask was tried and gave nothing */
	for (size_t i = 0; i < size; i++)
		out[i] = in[i] ^ key->mask;
}

static void put_u32(uint8_t *out, uint32_t value)
{
	out[0] = (uint8_t)value;
	out[1] = (uint8_t)(value >> 8);
	out[2] = (uint8_t)(value >> 16);
	out[3] = (uint8_t)(value >> 24);
}

static uint32_t get_u32(const uint8_t *in)
{
	return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

size_t lf_frame_pack(uint8_t *out, const uint8_t *header, const uint8_t *payload, size_t size, const struct lf_key *key)
{
	size_t used = lf_varint_put(out, size);
	mask_bytes(out + used, header, LF_HEADER, key);
	used += LF_HEADER;
	memcpy(out + used, payload, size);
	used += size;
	put_u32(out + used, lf_checksum(payload, size));
	return used + 4;
}

long lf_frame_unpack(const uint8_t *frame, size_t frame_size, const struct lf_key *key, uint8_t *header,
                     const uint8_t **payload)
{
	uint64_t size = 0;
	size_t used = lf_varint_get(frame, frame_size, &size);
	if (!used || frame_size - used < LF_HEADER + 4 || size > frame_size - used - LF_HEADER - 4)
		return -1;
	mask_bytes(header, frame + used, LF_HEADER, key);
	*payload = frame + used + LF_HEADER;
	if (get_u32(*payload + size) != lf_checksum(*payload, size))
		return -1;
	return (long)size;
}
