/* meter: counts, sums up and looks up what a network card hands over. Every anti-pattern of the catalogue stands here once
 * ("plant: P01" on the line that must be reported), and beside it its harmless twin ("twin: P01"), which must not.
 * "no-strict-aliasing: P01" is harmless by the rules of the language and must be reported where the compile command
 * gives them up; "O3: R04" must be reported where the compiler would vectorise without it; "pic: S12" costs something in a
 * shared library only. */
#ifndef METER_H
#define METER_H

#include <stddef.h>
#include <stdint.h>

struct key {
	uint32_t epoch;
	uint8_t mask;
};

struct wide_key {
	double epoch;
	uint16_t mask;
};

/* rows.c */
void rows_scale(double *out, double *sum, const double *in, size_t count);
void rows_add(double *out, const double *a, const double *b, size_t count);
double rows_dot(const double *a, const double *b, size_t count);
void rows_scale_short(float *out, uint64_t *sum, const float *in, size_t count);
uint64_t rows_dot_whole(const uint32_t *a, const uint32_t *b, size_t count);
uint64_t rows_total(const uint32_t *row, size_t count);
void rows_halve(uint32_t *row, size_t count);
uint32_t rows_sum_odd_even(const uint32_t *row, size_t count);
uint64_t rows_picked(const uint32_t *row, const uint32_t *order, size_t count);

/* cipher.c */
void bytes_mask(uint8_t *out, size_t size, const struct key *key);
void words_mask(uint32_t *out, size_t size, const uint8_t *key);
void words_key(uint32_t *out, size_t size, const struct wide_key *key);
void halves_exchange(uint64_t *one, uint64_t *other, uint64_t bit);

/* text.c */
void name_lower(char *name);
size_t name_dots(const char *name);
size_t name_blanks(const char *name, size_t size);
void name_clear(char *name, size_t size);
int name_parse(unsigned *state, const char *at, const char *end);

/* bits.c, wide.c */
uint64_t bits_sum(const uint8_t *bytes, size_t count);
uint64_t bits_count(const uint64_t *words, size_t count);
int bits_between(uint64_t low, uint64_t high, uint64_t bits);
void wide_add(const float *from, float *to);
void wide_add_clean(const float *from, float *to);

/* stat.c */
enum { METER_WORKERS = 8 };
void stat_packet(unsigned worker, uint32_t size);
void stat_batch(unsigned worker, const uint32_t *sizes, size_t count);
uint64_t stat_total(void);

/* flows.c */
struct flow {
	struct flow *next;
	uint64_t key, bytes;
};
void flow_insert(struct flow *flow);
uint64_t flow_get(uint64_t key);
int flow_limit_set(uint64_t limit);
uint64_t flow_limit_get(void);

/* keys.c */
void keys_spread(uint32_t *buckets, const uint32_t *hashes, size_t count, uint32_t size);
void keys_spread_fixed(uint32_t *buckets, const uint32_t *hashes, size_t count);
void keys_rank(struct flow *flows, size_t count);
const struct flow *keys_find(const struct flow *flows, size_t count, const struct flow *wanted);
uint64_t keys_digest(const uint32_t *keys, size_t count);

/* lock.c */
void lock_take(unsigned *lock);
void lock_take_politely(unsigned *lock);
void lock_release(unsigned *lock);
long lock_thread(void);

#endif
