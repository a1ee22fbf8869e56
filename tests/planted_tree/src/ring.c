#include "meter.h"

#include <stdatomic.h>

enum { RING_SLOTS = 1024 };

struct ring {
	_Atomic uint64_t head, tail;
	_Atomic int sleeps;
	uint32_t slots[RING_SLOTS];
};

void ring_put_all(struct ring *ring, const uint32_t *sizes, size_t count);
void ring_put_all(struct ring *ring, const uint32_t *sizes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ring->slots[i % RING_SLOTS] = sizes[i];
		atomic_store(&ring->head, i + 1); /* plant: S11 */
	}
}

/* The store has to be seen before the load: the reader goes to sleep the other way around. */
int ring_put_one(struct ring *ring, uint32_t size);
int ring_put_one(struct ring *ring, uint32_t size)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	ring->slots[head % RING_SLOTS] = size;
	atomic_store(&ring->head, head + 1); /* twin: S11 */
	return atomic_load(&ring->sleeps);
}

struct __attribute__((packed)) mark {
	uint8_t kind;
	uint32_t seen;
};

void mark_seen(struct mark *marks, size_t at);
void mark_seen(struct mark *marks, size_t at)
{
	__atomic_fetch_add(&marks[at].seen, 1, __ATOMIC_RELAXED); /* plant: S10 */
}

/* Packed, too, but all of it lies at multiples of its size. */
struct __attribute__((packed)) even_mark {
	uint32_t kind, seen;
};

void even_mark_seen(struct even_mark *marks, size_t at);
void even_mark_seen(struct even_mark *marks, size_t at)
{
	__atomic_fetch_add(&marks[at].seen, 1, __ATOMIC_RELAXED); /* twin: S10 */
}
