#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARENA_ALIGN = 16, ARENA_BLOCK_BYTES = 64 * 1024 };

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(ARENA_ALIGN) unsigned char bytes[];
};

void arena_init(struct arena *arena)
{
	arena->head = NULL;
}

void arena_release(struct arena *arena)
{
	if (!arena)
		return;
	for (struct arena_block *block = arena->head; block;) {
		struct arena_block *next = block->next;
		free(block);
		block = next;
	}
	arena->head = NULL;
}

static _Noreturn void out_of_memory(size_t size)
{
	fprintf(stderr, "assay: out of memory (%zu more bytes were asked for): close other programs or scan fewer files\n",
	        size);
	abort();
}

void *arena_alloc(struct arena *arena, size_t size)
{
	if (size > SIZE_MAX / 2)
		out_of_memory(size);
	size = (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
	if (size == 0)
		size = ARENA_ALIGN;
	struct arena_block *block = arena->head;
	if (!block || block->size - block->used < size) {
		size_t block_size = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
		block = malloc(sizeof *block + block_size);
		if (!block)
			out_of_memory(size);
		block->used = 0;
		block->size = block_size;
		block->next = arena->head;
		arena->head = block;
	}
	void *memory = block->bytes + block->used;
	block->used += size;
	memset(memory, 0, size);
	return memory;
}

char *arena_strndup(struct arena *arena, const char *text, size_t size)
{
	char *copy = arena_alloc(arena, size + 1);
	memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

char *arena_vprintf(struct arena *arena, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int size = vsnprintf(NULL, 0, fmt, ap);
	if (size < 0)
		size = 0;
	char *text = arena_alloc(arena, (size_t)size + 1);
	vsnprintf(text, (size_t)size + 1, fmt, again);
	va_end(again);
	return text;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *text = arena_vprintf(arena, fmt, ap);
	va_end(ap);
	return text;
}

void *arena_grow(struct arena *arena, const void *old, size_t old_size, size_t new_size)
{
	void *memory = arena_alloc(arena, new_size);
	if (old_size)
		memcpy(memory, old, old_size);
	return memory;
}
