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
