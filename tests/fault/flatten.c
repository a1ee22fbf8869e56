/* Prints a JSON document of stdin as one line for each value, `trials[0].verdict=no effect`, for scripts to search. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void flatten(const char *path, json_t *value)
{
	char longer[4096];
	const char *key;
	json_t *child;
	size_t i;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		json_object_foreach(value, key, child) {
			snprintf(longer, sizeof(longer), "%s%s%s", path, *path ? "." : "", key);
			flatten(longer, child);
		}
		break;
	case JSON_ARRAY:
		json_array_foreach(value, i, child) {
			snprintf(longer, sizeof(longer), "%s[%zu]", path, i);
			flatten(longer, child);
		}
		break;
	case JSON_STRING: {
		printf("%s=", path);
		for (const char *c = json_string_value(value); *c; c++)
			putchar(*c == '\n' ? ' ' : *c);
		putchar('\n');
		break;
	}
	case JSON_INTEGER:
		printf("%s=%lld\n", path, (long long)json_integer_value(value));
		break;
	case JSON_REAL:
		printf("%s=%.17g\n", path, json_real_value(value));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		printf("%s=%s\n", path, json_is_true(value) ? "true" : "false");
		break;
	case JSON_NULL:
		printf("%s=null\n", path);
		break;
	}
}

int main(void)
{
	json_error_t error;
	json_t *root = json_loadf(stdin, JSON_ALLOW_NUL, &error);
	if (!root) {
		fprintf(stderr, "flatten: line %d: %s\n", error.line, error.text);
		return EXIT_FAILURE;
	}
	flatten("", root);
	json_decref(root);
	return EXIT_SUCCESS;
}
