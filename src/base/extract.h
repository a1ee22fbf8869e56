/* A number that a program prints, found by a POSIX extended regular expression with one group: "([0-9.]+) MB/s". */
#ifndef ASSAY_BASE_EXTRACT_H
#define ASSAY_BASE_EXTRACT_H

#include "base/arena.h"

#include <stdbool.h>

/* NULL: it can be used; else what is wrong with it. */
const char *extract_problem(struct arena *arena, const char *pattern);

/* The number that the group matches in the first match; `^` and `$` are the ends of a line. It must be written as a
 * decimal number and be above zero, since what is compared are ratios. False: no match, or no such number. *ret_start and
 * *ret_end, where given, are the group's place. */
bool extract_number(const char *pattern, const char *text, double *ret_value, size_t *ret_start, size_t *ret_end);

#endif
