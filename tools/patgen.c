/* Generates the registry of patterns from their files: patgen OUT.c FILE.c …
 *
 * A pattern's examples live in its own file as `#if 0` blocks (src/patterns/pattern.h says how). Here they are cut out
 * and written down as strings beside a table of all patterns, in order of id. The table is generated since a
 * registration by constructor would be dropped by the linker when libassay is linked statically.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPENING "#if 0 /* assay example: "

struct source {
	const char *path, *base;
	char symbol[16]; /* "p02" */
	unsigned examples;
	bool costs, costs_fixed, equal, equal_fixed;
};

static void fail(const char *path, unsigned line, const char *what)
{
	if (line)
		fprintf(stderr, "%s:%u: %s\n", path, line, what);
	else
		fprintf(stderr, "%s: %s\n", path, what);
	exit(1);
}

/* "src/patterns/p02_nullified_qualifier.c" names pattern_p02. */
static void source_init(struct source *source, const char *path)
{
	const char *slash = strrchr(path, '/');
	memset(source, 0, sizeof *source);
	source->path = path;
	source->base = slash ? slash + 1 : path;
	const char *b = source->base;
	if (!strchr("prs", b[0]) || !isdigit((unsigned char)b[1]) || !isdigit((unsigned char)b[2]) || b[3] != '_')
		fail(path, 0, "a pattern's file is named pNN_slug.c, sNN_slug.c or, of a removal, rNN_slug.c");
	memcpy(source->symbol, b, 3);
}

static int source_order(const void *a, const void *b)
{
	return strcmp(((const struct source *)a)->base, ((const struct source *)b)->base);
}

static void put_string(FILE *out, const char *text, size_t size)
{
	fputc('"', out);
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", out);
		else if (c == '\t')
			fputs("\\t", out);
		else if (c < ' ' || c > '~' || c == '?') /* '?': no trigraphs */
			fprintf(out, "\\%03o", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static const char *directive(const char *line)
{
	while (*line == ' ' || *line == '\t')
		line++;
	if (*line != '#')
		return NULL;
	line++;
	while (*line == ' ' || *line == '\t')
		line++;
	return line;
}

static void put_kind(struct source *source, FILE *out, char *kind, unsigned line)
{
	char *end = strstr(kind, " */");
	if (!end || strcmp(end + 3, "\n") != 0)
		fail(source->path, line, "an example's line ends with its kind and \" */\"");
	*end = '\0';
	bool costs = strcmp(kind, "costs") == 0, fixed = strcmp(kind, "costs fixed") == 0;
	bool equal = strcmp(kind, "equal") == 0, equal_fixed = strcmp(kind, "equal fixed") == 0;
	bool lookalike = strncmp(kind, "lookalike ", 10) == 0 && kind[10];
	bool also = strncmp(kind, "also ", 5) == 0 && kind[5];
	if (!costs && !fixed && !equal && !equal_fixed && !lookalike && !also && strcmp(kind, "harmless") != 0)
		fail(source->path, line,
		     "the kinds of example are: costs, costs fixed, harmless, equal, equal fixed, also NAME, also NAME fixed, "
		     "lookalike NAME");
	if ((equal || equal_fixed) && source->symbol[0] != 'r')
		fail(source->path, line, "only a removal (rNN_slug.c) has examples of equal machine code");
	if ((costs && source->costs) || (fixed && source->costs_fixed) || (equal && source->equal) ||
	    (equal_fixed && source->equal_fixed))
		fail(source->path, line, "a second example of this kind");
	source->costs |= costs;
	source->costs_fixed |= fixed;
	source->equal |= equal;
	source->equal_fixed |= equal_fixed;
	fputs("\t{", out);
	put_string(out, kind, strlen(kind));
	fputs(",\n\t ", out);
}

static void put_examples(struct source *source, FILE *out)
{
	FILE *in = fopen(source->path, "r");
	if (!in)
		fail(source->path, 0, strerror(errno));
	fprintf(out, "static const struct pattern_example examples_%s[] = {\n", source->symbol);
	char *text = NULL;
	size_t cap = 0;
	unsigned line = 0, begin = 0, depth = 0;
	bool empty = true;
	for (ssize_t size; (size = getline(&text, &cap, in)) > 0;) {
		line++;
		if (depth == 0) {
			if (strncmp(text, OPENING, sizeof OPENING - 1) != 0)
				continue;
			put_kind(source, out, text + sizeof OPENING - 1, line);
			source->examples++;
			begin = line;
			depth = 1;
			empty = true;
			continue;
		}
		const char *word = directive(text);
		if (word && strncmp(word, "if", 2) == 0)
			depth++; /* #if, #ifdef, #ifndef */
		else if (word && strncmp(word, "endif", 5) == 0)
			depth--;
		if (depth == 0) {
			if (empty)
				fail(source->path, begin, "an example without text");
			fprintf(out, ",\n\t %u},\n", begin + 1);
			continue;
		}
		if (!empty)
			fputs("\n\t ", out);
		put_string(out, text, (size_t)size);
		empty = false;
	}
	if (ferror(in))
		fail(source->path, 0, strerror(errno));
	if (depth)
		fail(source->path, begin, "this example's #if has no #endif");
	if (source->equal != source->equal_fixed)
		fail(source->path, 0, "\"equal\" and \"equal fixed\" are the two sides of one comparison: one of them lacks");
	if (!source->costs && source->symbol[0] != 'r')
		fail(source->path, 0, "no example of kind \"costs\": a pattern proves that it costs");
	if (!source->costs && !source->equal)
		fail(source->path, 0, "no example of kind \"equal\" or \"costs\": a removal proves that it changes nothing, or what it costs");
	fputs("};\n\n", out);
	free(text);
	fclose(in);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: patgen OUT.c [src/patterns/pNN_slug.c …]\n");
		return 2;
	}
	size_t count = (size_t)argc - 2;
	struct source *sources = calloc(count + 1, sizeof *sources);
	FILE *out = fopen(argv[1], "w");
	if (!out || !sources)
		fail(argv[1], 0, strerror(errno));
	for (size_t i = 0; i < count; i++)
		source_init(&sources[i], argv[2 + i]);
	qsort(sources, count, sizeof *sources, source_order);
	fputs("/* Generated by tools/patgen.c from src/patterns. */\n#include \"patterns/pattern.h\"\n\n", out);
	for (size_t i = 0; i < count; i++) {
		if (i && strcmp(sources[i].symbol, sources[i - 1].symbol) == 0)
			fail(sources[i].path, 0, "another pattern has this id already");
		put_examples(&sources[i], out);
	}
	for (size_t i = 0; i < count; i++)
		fprintf(out, "extern const struct pattern pattern_%s;\n", sources[i].symbol);
	fputs("\nconst struct pattern_entry pattern_registry[] = {\n", out);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "\t{&pattern_%s, \"src/patterns/%s\", examples_%s, %u},\n", sources[i].symbol, sources[i].base,
		        sources[i].symbol, sources[i].examples);
	if (count == 0)
		fputs("\t{0},\n", out);
	fprintf(out, "};\nconst size_t pattern_registry_count = %zu;\n", count);
	if (fclose(out) != 0)
		fail(argv[1], 0, strerror(errno));
	free(sources);
	return 0;
}
