/* What was made before and may be taken again: a folder of files, one for each key, kept between runs and shared by processes.
 *
 * Nothing here may ever fail a run: a cache that can't be read or written is a cache that has nothing. Each file carries a hash
 * of its contents, so that one that a full disk cut short is not taken. The least recently used go when there are too many. */
#ifndef ASSAY_PORT_CACHE_H
#define ASSAY_PORT_CACHE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* $XDG_CACHE_HOME/assay/NAME, else ~/.cache/assay/NAME; NULL: no home folder is known. */
const char *cache_default_path(struct arena *arena, const char *name);

/* The key of some text: 128 bits of XXH3 in hexadecimal digits. */
const char *cache_key(struct arena *arena, const char *text, size_t size);

/* Writes what is kept under `key` to the file `to`. False: nothing is, or it is damaged (then it is removed). */
bool cache_get(const char *folder, const char *key, const char *to);
/* Keeps a copy of the file `from` under `key`. Makes the folder, which only its owner can read. */
void cache_put(const char *folder, const char *key, const char *from);
/* Removes the least recently used until no more than `limit_bytes` are kept. */
void cache_trim(const char *folder, uint64_t limit_bytes);

#endif
