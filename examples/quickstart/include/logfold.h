/* logfold: takes log records in, brings them into one form and packs them for storage. */
#ifndef LOGFOLD_H
#define LOGFOLD_H

#include <stddef.h>
#include <stdint.h>

/* ---- fields: text of one record, 0-terminated ---- */
/* Lower-cases ASCII letters in place. */
void lf_lower(char *text);
/* How many fields `separator` makes of the text: one more than there are separators. */
size_t lf_field_count(const char *text, char separator);

/* ---- keys: what is stored is XORed, so that no log text stands in the clear on a stolen disk ---- */
struct lf_key {
	uint32_t epoch;
	uint8_t mask;
};

/* ---- pages: the unit of storage ---- */
enum { LF_PAGE = 4096 };
struct lf_store {
	const struct lf_key *key; /* of the current epoch */
	uint64_t pages;
};
/* Applies the store's key to a page in place; twice gives the page back. */
void lf_page_mask(uint8_t *page, const struct lf_store *store);

/* ---- varints: 7 bits a byte, the lowest first, the high bit set on all but the last ---- */
enum { LF_VARINT_MAX = 10 };
/* Returns how many bytes were written, at most LF_VARINT_MAX. */
size_t lf_varint_put(uint8_t *out, uint64_t value);
/* Returns how many bytes were read; 0: `size` bytes hold no whole number. */
size_t lf_varint_get(const uint8_t *in, size_t size, uint64_t *value);

/* ---- checksum: Adler-32 ---- */
uint32_t lf_checksum(const uint8_t *data, size_t size);

/* ---- frames: length, masked header, payload, checksum ---- */
enum { LF_HEADER = 12, LF_FRAME_EXTRA = LF_VARINT_MAX + LF_HEADER + 4 };
/* `out` must hold size + LF_FRAME_EXTRA bytes. Returns the frame's size. */
size_t lf_frame_pack(uint8_t *out, const uint8_t *header, const uint8_t *payload, size_t size, const struct lf_key *key);
/* Returns the payload's size and where it begins in `*payload`; -1: damaged. `header` gets LF_HEADER bytes. */
long lf_frame_unpack(const uint8_t *frame, size_t frame_size, const struct lf_key *key, uint8_t *header,
                     const uint8_t **payload);

#endif
