#include "logfold.h"

#include <ctype.h>
#include <string.h>

void lf_lower(char *text)
{
	for (size_t i = 0; i < strlen(text); i++)
		text[i] = (char)tolower((unsigned char)text[i]);
}

size_t lf_field_count(const char *text, char separator)
{
	size_t count = 1;
	for (size_t i = 0; i < strlen(text); i++)
		count += text[i] == separator;
	return count;
}
