#include "meter.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

uint64_t bits_count(const uint64_t *words, size_t count)
{
	uint64_t total = 0;
	size_t i = 0;
#ifdef __AVX2__ /* plant: P05 */
	__m256i sums = _mm256_setzero_si256();
	for (; i + 4 <= count; i += 4)
		sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_loadu_si256((const __m256i *)(words + i)), _mm256_setzero_si256()));
	uint64_t parts[4];
	_mm256_storeu_si256((__m256i *)parts, sums);
	total = parts[0] + parts[1] + parts[2] + parts[3];
#endif
	for (; i < count; i++)
		for (uint64_t word = words[i]; word; word >>= 8)
			total += word & 255;
	return total;
}

/* The baseline has SSE2: this path is the one that is built. */
#ifdef __SSE2__ /* twin: P05 */
#include <emmintrin.h>
uint64_t bits_first(const void *bytes);
uint64_t bits_first(const void *bytes)
{
	return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_loadu_si128(bytes));
}
#endif

void wide_add(const float *from, float *to) /* plant: P06 */
{
	__asm__ volatile("vmovups (%0), %%ymm0\n\t"
	                 "vaddps (%1), %%ymm0, %%ymm0\n\t"
	                 "vmovups %%ymm0, (%1)"
	                 :
	                 : "r"(from), "r"(to)
	                 : "xmm0", "memory");
}

void wide_add_clean(const float *from, float *to) /* twin: P06 */
{
	__asm__ volatile("vmovups (%0), %%ymm0\n\t"
	                 "vaddps (%1), %%ymm0, %%ymm0\n\t"
	                 "vmovups %%ymm0, (%1)\n\t"
	                 "vzeroupper"
	                 :
	                 : "r"(from), "r"(to)
	                 : "xmm0", "memory");
}
