/* What the tree's files need of the rest of user space's OpenZFS, for the drivers that include one of its modules. What
 * stands in lib/libspl and lib/libzpool as code isn't in Debian's source package; here is what is really called, and the
 * link leaves the rest unresolved (-Wl,--unresolved-symbols=ignore-all): whoever calls it crashes, which no trial survives.
 *
 * Include it after <assay/bench.h> and the C library's headers, before the module's file. */
#ifndef STUDY_TREE_H
#define STUDY_TREE_H

#include <stdio.h>
#include <stdlib.h>

#include <sys/zfs_context.h>

void libspl_assertf(const char *file, const char *function, int line, const char *format, ...)
{
	fprintf(stderr, "%s:%d: %s(): %s\n", file, line, function, format);
	abort();
}

uint32_t atomic_swap_32(volatile uint32_t *target, uint32_t value)
{
	return __atomic_exchange_n(target, value, __ATOMIC_SEQ_CST);
}

void membar_producer(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* The number of the highest bit that is set, counting from 1; 0: none is. */
#define highbit64 study_highbit64 /* newer trees have an inline one of that name */
int highbit64(uint64_t value) __asm__("highbit64");
int highbit64(uint64_t value)
{
	return value ? 64 - __builtin_clzll(value) : 0;
}
#undef highbit64

/* As lib/libzpool/kernel.c has them. */
void mutex_init(kmutex_t *mutex, char *name, int type, void *cookie)
{
	(void)name, (void)type, (void)cookie;
	pthread_mutex_init(&mutex->m_lock, NULL);
	memset(&mutex->m_owner, 0, sizeof(mutex->m_owner));
}

void mutex_destroy(kmutex_t *mutex)
{
	pthread_mutex_destroy(&mutex->m_lock);
}

void mutex_enter(kmutex_t *mutex)
{
	if (pthread_mutex_lock(&mutex->m_lock) != 0)
		abort();
	mutex->m_owner = pthread_self();
}

void mutex_exit(kmutex_t *mutex)
{
	memset(&mutex->m_owner, 0, sizeof(mutex->m_owner));
	if (pthread_mutex_unlock(&mutex->m_lock) != 0)
		abort();
}

#endif
