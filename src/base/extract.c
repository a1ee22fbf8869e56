#include "base/extract.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>

enum { FLAGS = REG_EXTENDED | REG_NEWLINE };

const char *extract_problem(struct arena *arena, const char *pattern)
{
	regex_t regex;
	int code = regcomp(&regex, pattern, FLAGS);
	if (code != 0) {
		char text[256];
		regerror(code, &regex, text, sizeof text);
		return arena_printf(arena, "it is no regular expression (%s)", text);
	}
	size_t groups = regex.re_nsub;
	regfree(&regex);
	if (groups != 1)
		return arena_printf(arena, "it has %zu groups, and must have one around the number", groups);
	return NULL;
}

bool extract_number(const char *pattern, const char *text, double *ret_value, size_t *ret_start, size_t *ret_end)
{
	regex_t regex;
	regmatch_t match[2];
	if (regcomp(&regex, pattern, FLAGS) != 0)
		return false;
	bool found = regexec(&regex, text, 2, match, 0) == 0 && match[1].rm_so >= 0;
	regfree(&regex);
	if (!found)
		return false;
	char number[64];
	size_t size = (size_t)(match[1].rm_eo - match[1].rm_so);
	if (size == 0 || size >= sizeof number)
		return false;
	memcpy(number, text + match[1].rm_so, size);
	number[size] = '\0';
	/* strtod() would take "inf", "nan", blanks and hexadecimal too, and a decimal comma where the locale has one. */
	if (strspn(number, "+0123456789.eE-") != size)
		return false;
	char *end = NULL;
	double value = strtod(number, &end);
	if (*end != '\0' || !isfinite(value) || value <= 0)
		return false;
	*ret_value = value;
	if (ret_start)
		*ret_start = (size_t)match[1].rm_so;
	if (ret_end)
		*ret_end = (size_t)match[1].rm_eo;
	return true;
}
