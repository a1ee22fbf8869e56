#include "meter.h"

void rows_scale(double *out, double *sum, const double *in, size_t count)
{
	for (size_t i = 0; i < count; i++) { /* plant: P01 */
		out[i] = in[i] * 0.125;
		*sum += in[i];
	}
}

/* A store to a float changes no uint64_t. */
void rows_scale_short(float *out, uint64_t *sum, const float *in, size_t count)
{
	for (size_t i = 0; i < count; i++) { /* no-strict-aliasing: P01 */
		out[i] = in[i] * 0.125f;
		*sum += (uint64_t)in[i];
	}
}

/* Compilers compare the addresses once and keep a vector version. */
void rows_add(double *out, const double *a, const double *b, size_t count) /* twin: P01 */
{
	for (size_t i = 0; i < count; i++)
		out[i] = a[i] + b[i];
}

double rows_dot(const double *a, const double *b, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++) /* plant: P07 */
		sum += a[i] * b[i];
	return sum;
}

/* Whole numbers may be added in any order. */
uint64_t rows_dot_whole(const uint32_t *a, const uint32_t *b, size_t count) /* twin: P07 */
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += (uint64_t)a[i] * b[i];
	return sum;
}

uint64_t rows_total(const uint32_t *row, size_t count)
{
	uint64_t total = 0;
	for (size_t i = 0; i < count; i++) {
		__builtin_prefetch(&row[i + 32]); /* plant: R05 */
		total += row[i];
	}
	return total;
}

/* The next place can't be guessed. */
uint64_t rows_picked(const uint32_t *row, const uint32_t *order, size_t count)
{
	uint64_t total = 0;
	for (size_t i = 0; i + 8 < count; i++) {
		__builtin_prefetch(&row[order[i + 8]]); /* twin: R05 */
		total += row[order[i]];
	}
	return total;
}

void rows_halve(uint32_t *row, size_t count)
{
	size_t i = 0;
	for (; i + 2 <= count; i += 2) { /* O3: R04 */
		row[i] /= 2;
		row[i + 1] /= 2;
	}
	for (; i < count; i++)
		row[i] /= 2;
}

/* Two sums, each of its own. */
uint32_t rows_sum_odd_even(const uint32_t *row, size_t count)
{
	uint32_t even = 0, odd = 0;
	size_t i = 0;
	for (; i + 2 <= count; i += 2) { /* twin: R04 */
		even += row[i];
		odd ^= row[i + 1];
	}
	for (; i < count; i++)
		even += row[i];
	return even ^ odd;
}
