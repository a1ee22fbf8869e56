#include "port/cache.h"

#include "base/text.h"
#include "port/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { DIGEST_SIZE = sizeof(XXH128_canonical_t) };
/* A partial file that its writer has not finished for so long was left behind by a kill. */
enum { PARTIAL_AGE_S = 600 };
#define PARTIAL_PREFIX ".new-"

const char *cache_default_path(struct arena *arena, const char *name)
{
	const char *folder = user_folder(arena, "XDG_CACHE_HOME", ".cache");
	return folder ? arena_printf(arena, "%s/assay/%s", folder, name) : NULL;
}

static XXH128_canonical_t digest_of(const char *text, size_t size)
{
	XXH128_canonical_t digest;
	XXH128_canonicalFromHash(&digest, XXH3_128bits(text, size));
	return digest;
}

const char *cache_key(struct arena *arena, const char *text, size_t size)
{
	XXH128_canonical_t digest = digest_of(text, size);
	char *key = arena_alloc(arena, 2 * DIGEST_SIZE + 1);
	for (size_t i = 0; i < DIGEST_SIZE; i++)
		snprintf(key + 2 * i, 3, "%02x", digest.digest[i]);
	return key;
}

bool cache_get(const char *folder, const char *key, const char *to)
{
	struct arena scratch;
	struct err ignored = ERR_INIT;
	arena_init(&scratch);
	const char *path = path_join(&scratch, folder, key), *text = NULL;
	size_t size = 0;
	bool found = path_is_file(path) && file_read(&scratch, path, &text, &size, &ignored) == ST_OK;
	if (found) {
		XXH128_canonical_t digest;
		bool whole = size >= DIGEST_SIZE;
		if (whole) {
			digest = digest_of(text + DIGEST_SIZE, size - DIGEST_SIZE);
			whole = memcmp(&digest, text, DIGEST_SIZE) == 0;
		}
		if (!whole)
			unlink(path);
		found = whole && file_write(to, text + DIGEST_SIZE, size - DIGEST_SIZE, &ignored) == ST_OK;
	}
	/* Used now: it goes last. */
	if (found)
		utimensat(AT_FDCWD, path, NULL, 0);
	arena_release(&scratch);
	return found;
}

void cache_put(const char *folder, const char *key, const char *from)
{
	struct arena scratch;
	struct err ignored = ERR_INIT;
	arena_init(&scratch);
	const char *text = NULL;
	size_t size = 0;
	if (file_read(&scratch, from, &text, &size, &ignored) == ST_OK && folder_make(path_dir(&scratch, folder), &ignored) == ST_OK) {
		mkdir(folder, 0700);
		char *partial = arena_printf(&scratch, "%s/" PARTIAL_PREFIX "XXXXXX", folder);
		int fd = mkostemp(partial, O_CLOEXEC);
		if (fd >= 0) {
			XXH128_canonical_t digest = digest_of(text, size);
			FILE *file = fdopen(fd, "w");
			bool written = file && fwrite(&digest, 1, DIGEST_SIZE, file) == DIGEST_SIZE && fwrite(text, 1, size, file) == size;
			written = file ? fclose(file) == 0 && written : close(fd) != 0;
			if (!written || rename(partial, path_join(&scratch, folder, key)) != 0)
				unlink(partial);
		}
	}
	arena_release(&scratch);
}

struct kept {
	const char *path;
	struct timespec used;
	uint64_t size;
};
LIST_OF(struct kept, kept_list);

static int kept_order(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;
	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

void cache_trim(const char *folder, uint64_t limit_bytes)
{
	DIR *entries = opendir(folder);
	if (!entries)
		return;
	struct arena scratch;
	arena_init(&scratch);
	struct kept_list list = {0};
	uint64_t total = 0;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	for (struct dirent *entry; (entry = readdir(entries));) {
		struct kept kept = {.path = path_join(&scratch, folder, entry->d_name)};
		struct stat info;
		if (lstat(kept.path, &info) != 0 || !S_ISREG(info.st_mode))
			continue;
		if (text_starts(entry->d_name, PARTIAL_PREFIX)) {
			if (now.tv_sec - info.st_mtim.tv_sec > PARTIAL_AGE_S)
				unlink(kept.path);
			continue;
		}
		kept.used = info.st_mtim;
		kept.size = (uint64_t)info.st_size;
		total += kept.size;
		list_push(&scratch, &list, kept);
	}
	closedir(entries);
	if (list.count)
		qsort(list.at, list.count, sizeof *list.at, kept_order);
	for (size_t i = 0; i < list.count && total > limit_bytes; i++)
		if (unlink(list.at[i].path) == 0)
			total -= list.at[i].size;
	arena_release(&scratch);
}
