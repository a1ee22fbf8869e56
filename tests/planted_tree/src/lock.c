#include "meter.h"

void lock_take(unsigned *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) /* plant: P11 */
		;
}

/* It waits by reading. */
void lock_take_politely(unsigned *lock) /* twin: P11 */
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(lock, __ATOMIC_RELAXED))
			__builtin_ia32_pause();
}

void lock_release(unsigned *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/* The system expects the call's number in this register. */
long lock_thread(void)
{
	register long number __asm__("rax") = 186; /* twin: R01 */
	__asm__ volatile("syscall" : "+r"(number) : : "rcx", "r11", "memory");
	return number;
}
