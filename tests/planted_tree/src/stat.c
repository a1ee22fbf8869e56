#include "meter.h"

struct slot {
	uint64_t packets, bytes;
};
static struct slot slots[METER_WORKERS]; /* plant: P08 */

/* Configuration: read by all, written when the program starts. */
struct limit {
	uint32_t size, rate;
};
static struct limit limits[16]; /* twin: P08 */

static uint64_t bytes_total;

void stat_packet(unsigned worker, uint32_t size) /* pic: S12 */
{
	slots[worker].packets++;
	slots[worker].bytes += size < limits[size & 15].size ? size : 0;
}

void stat_batch(unsigned worker, const uint32_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		stat_packet(worker, sizes[i]);
		__atomic_fetch_add(&bytes_total, sizes[i], __ATOMIC_RELAXED); /* plant: P09 */
	}
}

/* Added up locally, and handed on once for all. */
void stat_batch_once(unsigned worker, const uint32_t *sizes, size_t count);
void stat_batch_once(unsigned worker, const uint32_t *sizes, size_t count) /* twin: P09 */
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		stat_packet(worker, sizes[i]);
		sum += sizes[i];
	}
	__atomic_fetch_add(&bytes_total, sum, __ATOMIC_RELAXED);
}

uint64_t stat_total(void)
{
	return __atomic_load_n(&bytes_total, __ATOMIC_RELAXED);
}
