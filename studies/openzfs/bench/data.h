/* The kinds of data that the drivers know, by name. */
#ifndef STUDY_DATA_H
#define STUDY_DATA_H

#include <assay/bench.h>

#include <string.h>

/* `kind`: "text" like prose and logs, "literals" skewed bytes without repeats, "random" incompressible, "zeros". */
static inline void data_fill(struct assay_bench *bench, const char *kind, void *data, size_t size)
{
	if (strcmp(kind, "text") == 0)
		assay_fill_text(bench, data, size);
	else if (strcmp(kind, "literals") == 0)
		assay_fill_literals(bench, data, size);
	else if (strcmp(kind, "random") == 0)
		assay_fill_random(bench, data, size);
	else if (strcmp(kind, "zeros") == 0)
		memset(data, 0, size);
	else
		assay_fail(bench, "data=%s is unknown: take text, literals, random or zeros", kind);
}

#endif
