#include "meter.h"

#include <string.h>

void name_lower(char *name)
{
	for (size_t i = 0; i < strlen(name); i++) /* plant: P12 */
		if (name[i] >= 'A' && name[i] <= 'Z')
			name[i] = (char)(name[i] + 32);
}

/* It only reads: compilers take the length out of the loop. */
size_t name_dots(const char *name) /* twin: P12 */
{
	size_t dots = 0;
	for (size_t i = 0; i < strlen(name); i++)
		dots += name[i] == '.';
	return dots;
}

size_t name_blanks(const char *name, size_t size)
{
	register size_t blanks = 0; /* plant: R01 */
	register const char *end = name + size;
	while (name < end)
		blanks += *name++ == ' ';
	return blanks;
}

void name_clear(char *name, size_t size)
{
	size_t turns = (size + 3) / 4;
	switch (size % 4) { /* plant: R03 */
	case 0:
		do {
			*name++ = ' ';
	case 3:
			*name++ = ' ';
	case 2:
			*name++ = ' ';
	case 1:
			*name++ = ' ';
		} while (--turns > 0);
	}
}

/* It goes on where it stopped, and each case does something else. */
int name_parse(unsigned *state, const char *at, const char *end)
{
	switch (*state % 2) { /* twin: R03 */
	case 0:
		while (at < end) {
			if (*at++ == '.')
				return 1;
			*state = 1;
	case 1:
			if (at < end && *at++ == ' ')
				return 0;
		}
	}
	return -1;
}
