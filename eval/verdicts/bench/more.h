/* The work that one side does more of: an argument of the run, not of the compiler. Both sides are byte copies of one
 * program, so nothing but the number of steps differs: no instruction, no address of one. A step costs the same whichever
 * side takes it, and there is no end that a run comes to sooner: it goes on where the one before stopped. So P % more
 * steps take P % more time, by construction, in every workload here. */
#ifndef ASSAY_EVAL_MORE_H
#define ASSAY_EVAL_MORE_H

#include <assay/bench.h>

#include <stdlib.h>

/* The same source in another layout: so many bytes in front of its code and of its data. */
#ifdef PAD_CODE
#define PAD_TEXT(n) #n
#define PAD(section, n) __asm__(section "\n\t.skip " PAD_TEXT(n) ", 0\n\t.text")
PAD(".text", PAD_CODE);
PAD(".data", PAD_DATA);
#endif

/* `steps`, and as many more as parameter `more` or the environment's EVAL_MORE says, in hundredths of a percent. */
static inline uint64_t more_steps(struct assay_bench *bench, uint64_t steps)
{
	const char *inherited = getenv("EVAL_MORE");
	const char *text = assay_param(bench, "more", inherited ? inherited : "0");
	char *end;
	uint64_t more = strtoull(text, &end, 10);
	if (end == text || *end || steps * more % 10000)
		assay_fail(bench, "more: %s hundredths of a percent of %llu steps is no whole number of steps", text,
		           (unsigned long long)steps);
	return steps + steps * more / 10000;
}

#endif
