/* Memory with a lifetime: everything allocated from an arena is freed by one arena_release().
 *
 * Three lifetimes exist: the session, one translation unit, one stage's product. Allocation never returns NULL:
 * running out of memory ends the program with a message, since no caller could do better.
 * LIST_OF declares a growable array that lives in an arena.
 */
#ifndef ASSAY_BASE_ARENA_H
#define ASSAY_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

struct arena_block;
struct arena {
	struct arena_block *head;
};

void arena_init(struct arena *arena);
void arena_release(struct arena *arena); /* NULL or released already: does nothing */

/* Zeroed memory, aligned to 16 bytes. A size of 0 gives a unique pointer. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((malloc, returns_nonnull));
char *arena_strdup(struct arena *arena, const char *text);                /* NULL gives NULL */
char *arena_strndup(struct arena *arena, const char *text, size_t size);
char *arena_printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *fmt, va_list ap);
/* A larger copy of `old` (`old_size` bytes are copied, the rest is zero). */
void *arena_grow(struct arena *arena, const void *old, size_t old_size, size_t new_size);

#define arena_new(arena, type) ((type *)arena_alloc((arena), sizeof(type)))

/* LIST_OF(struct finding *, finding_list) declares `struct finding_list { at, count, cap }`. */
#define LIST_OF(type, name)                                                                                            \
	struct name {                                                                                                      \
		type *at;                                                                                                      \
		size_t count, cap;                                                                                             \
	}

#define list_push(arena, list, value)                                                                                  \
	do {                                                                                                               \
		if ((list)->count == (list)->cap) {                                                                            \
			size_t list_cap_ = (list)->cap ? 2 * (list)->cap : 8;                                                      \
			(list)->at = arena_grow((arena), (list)->at, (list)->count * sizeof *(list)->at,                           \
			                        list_cap_ * sizeof *(list)->at);                                                   \
			(list)->cap = list_cap_;                                                                                   \
		}                                                                                                              \
		(list)->at[(list)->count++] = (value);                                                                         \
	} while (0)

LIST_OF(const char *, string_list);

#endif
