#include "meter.h"

#include <pthread.h>

enum { BUCKETS = 1024 };
static pthread_mutex_t flows_lock = PTHREAD_MUTEX_INITIALIZER; /* plant: P10 */
static struct flow *buckets[BUCKETS];

static size_t hash_of(uint64_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15u) >> 54) % BUCKETS;
}

void flow_insert(struct flow *flow)
{
	size_t at = hash_of(flow->key);
	pthread_mutex_lock(&flows_lock);
	flow->next = buckets[at];
	buckets[at] = flow;
	pthread_mutex_unlock(&flows_lock);
}

uint64_t flow_get(uint64_t key)
{
	size_t at = hash_of(key);
	uint64_t bytes = 0;
	pthread_mutex_lock(&flows_lock);
	for (struct flow *flow = buckets[at]; flow; flow = flow->next)
		if (flow->key == key)
			bytes = flow->bytes;
	pthread_mutex_unlock(&flows_lock);
	return bytes;
}

/* One lock for one number that is set now and then: there is nothing to split. */
static pthread_mutex_t limit_lock = PTHREAD_MUTEX_INITIALIZER; /* twin: P10 */
static uint64_t limit;

int flow_limit_set(uint64_t value)
{
	pthread_mutex_lock(&limit_lock);
	limit = value;
	pthread_mutex_unlock(&limit_lock);
	return value != 0;
}

uint64_t flow_limit_get(void)
{
	pthread_mutex_lock(&limit_lock);
	uint64_t value = limit;
	pthread_mutex_unlock(&limit_lock);
	return value;
}
