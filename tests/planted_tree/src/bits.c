#include "meter.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BITS_NO_SIMD 1 /* plant: P04 */
#ifdef __SANITIZE_ADDRESS__
#define BITS_NO_ASM 1 /* twin: P04: of a build with a sanitizer only */
#endif

uint64_t bits_sum(const uint8_t *bytes, size_t count)
{
	uint64_t sum = 0;
	size_t i = 0;
#if defined(__SSE2__) && !defined(BITS_NO_SIMD) && !defined(BITS_NO_ASM)
	__m128i sums = _mm_setzero_si128();
	for (; i + 16 <= count; i += 16)
		sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_loadu_si128((const __m128i *)(bytes + i)), _mm_setzero_si128()));
	uint64_t halves[2];
	_mm_storeu_si128((__m128i *)halves, sums);
	sum = halves[0] + halves[1];
#endif
	for (; i < count; i++)
		sum += bytes[i];
	return sum;
}

int bits_between(uint64_t low, uint64_t high, uint64_t bits)
{
	if (low > high) {
		low ^= high; /* plant: R02 */
		high ^= low;
		low ^= high;
	}
	return bits >= low && bits <= high;
}
