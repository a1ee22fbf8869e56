/* A plain LZ4 block encoder and decoder, written from the format's description alone, for the drivers: each of them
 * compiles one half of OpenZFS's LZ4 and needs the other half to make its input or to check its result. Being
 * independent of the code under test, they also say whether the baseline is right at all.
 *
 * The block format (lz4_Block_format.md, Collet 2011): sequences of a token (high 4 bits: number of literals, low 4
 * bits: match length - 4; 15 means that bytes follow which are added, 255 going on), the literals, and a 16-bit little
 * endian offset back from the current position. The last sequence has literals only. The last 5 bytes are always
 * literals and no match starts within the last 12 bytes.
 */
#ifndef STUDY_LZ4_REFERENCE_H
#define STUDY_LZ4_REFERENCE_H

#include <stdint.h>
#include <string.h>

enum {
	REFERENCE_MIN_MATCH = 4,
	REFERENCE_LAST_LITERALS = 5,
	REFERENCE_NO_MATCH_STARTS = 12, /* bytes from the end */
	REFERENCE_MAX_OFFSET = 65535,
	REFERENCE_HASH_LOG = 12,
};

/* The most that `size` bytes can be encoded to. */
static inline size_t reference_bound(size_t size)
{
	return size + size / 255 + 16;
}

static inline uint8_t *reference_put_length(uint8_t *out, size_t length)
{
	for (; length >= 255; length -= 255)
		*out++ = 255;
	*out++ = (uint8_t)length;
	return out;
}

/* match 0: the last sequence. */
static inline uint8_t *reference_put_sequence(uint8_t *out, const uint8_t *literals, size_t count, size_t offset,
                                              size_t match)
{
	size_t extra = match ? match - REFERENCE_MIN_MATCH : 0;
	*out++ = (uint8_t)((count < 15 ? count : 15) << 4 | (extra < 15 ? extra : 15));
	if (count >= 15)
		out = reference_put_length(out, count - 15);
	memcpy(out, literals, count);
	out += count;
	if (match) {
		*out++ = (uint8_t)offset;
		*out++ = (uint8_t)(offset >> 8);
		if (extra >= 15)
			out = reference_put_length(out, extra - 15);
	}
	return out;
}

/* Greedy, with one candidate a hash, as fast LZ4 encoders are: the frames have their mix of literals and matches.
 * `out` has room for reference_bound(size). Returns the size of the frame. */
static inline size_t reference_encode(const uint8_t *in, size_t size, uint8_t *out)
{
	static uint32_t position[1 << REFERENCE_HASH_LOG]; /* plus one; 0: none */
	const uint8_t *start = out;
	size_t anchor = 0, at = 0;

	memset(position, 0, sizeof(position));
	while (size > REFERENCE_NO_MATCH_STARTS && at < size - REFERENCE_NO_MATCH_STARTS) {
		uint32_t word;
		memcpy(&word, in + at, sizeof(word));
		uint32_t *slot = &position[word * 2654435761u >> (32 - REFERENCE_HASH_LOG)]; /* Knuth: 2^32 / golden ratio */
		size_t before = *slot;
		*slot = (uint32_t)at + 1;
		if (before == 0 || at - (before - 1) > REFERENCE_MAX_OFFSET ||
		    memcmp(in + before - 1, in + at, REFERENCE_MIN_MATCH) != 0) {
			at++;
			continue;
		}
		before--;
		while (at > anchor && before > 0 && in[at - 1] == in[before - 1]) {
			at--;
			before--;
		}
		size_t length = REFERENCE_MIN_MATCH;
		while (at + length < size - REFERENCE_LAST_LITERALS && in[at + length] == in[before + length])
			length++;
		out = reference_put_sequence(out, in + anchor, at - anchor, at - before, length);
		at += length;
		anchor = at;
	}
	out = reference_put_sequence(out, in + anchor, size - anchor, 0, 0);
	return (size_t)(out - start);
}

/* Adds up a length that goes on; -1: the input ends within it. */
static inline int64_t reference_get_length(const uint8_t **in, const uint8_t *end, int64_t length)
{
	uint8_t byte;
	if (length < 15)
		return length;
	do {
		if (*in == end)
			return -1;
		byte = *(*in)++;
		length += byte;
	} while (byte == 255);
	return length;
}

/* Returns how many bytes were written, or -1 for a malformed frame or one that needs more than `capacity`. */
static inline int64_t reference_decode(const uint8_t *in, size_t size, uint8_t *out, size_t capacity)
{
	const uint8_t *end = in + size;
	size_t at = 0;

	while (in < end) {
		uint8_t token = *in++;
		int64_t count = reference_get_length(&in, end, token >> 4);
		if (count < 0 || count > end - in || (uint64_t)count > capacity - at)
			return -1;
		memcpy(out + at, in, (size_t)count);
		at += (size_t)count;
		in += count;
		if (in == end)
			return (int64_t)at;
		if (end - in < 2)
			return -1;
		size_t offset = in[0] | (size_t)in[1] << 8;
		in += 2;
		int64_t match = reference_get_length(&in, end, token & 15);
		if (match < 0)
			return -1;
		match += REFERENCE_MIN_MATCH;
		if (offset == 0 || offset > at || (uint64_t)match > capacity - at)
			return -1;
		for (; match > 0; match--, at++) /* a byte at a time: the match may reach into what it writes */
			out[at] = out[at - offset];
	}
	return -1; /* a frame ends with literals */
}

#endif
