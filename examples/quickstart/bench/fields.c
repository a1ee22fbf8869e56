/* Fields of a record: lower-case them, count them. */
#include <assay/bench.h>

#include "logfold.h"

#include <stdlib.h>
#include <string.h>

struct state {
	char *original, *text;
	size_t size, fields;
};

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->size = assay_param_u64(b, "size", 1024);
	s->original = malloc(s->size + 1);
	s->text = malloc(s->size + 1);
	assay_fill_text(b, s->original, s->size);
	for (size_t i = 0; i < s->size; i++)
		if (!s->original[i])
			s->original[i] = ' ';
	for (size_t i = 0; i < s->size; i += 3) /* logs shout */
		if (s->original[i] >= 'a' && s->original[i] <= 'z')
			s->original[i] -= 'a' - 'A';
	s->original[s->size] = '\0';
	assay_bytes_per_iteration(b, s->size);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		memcpy(s->text, s->original, s->size + 1);
		lf_lower(s->text);
		s->fields = lf_field_count(s->text, ' ');
		assay_keep(s->text);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "text", s->text, s->size);
	assay_output(b, "fields", &s->fields, sizeof s->fields);
}

static void edges(void *state, struct assay_bench *b)
{
	(void)state;
	char texts[][16] = {"", "A", "a b  c", "\xc4\xd6 X", "ALREADY", "@[`{", "123456789012345"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		lf_lower(texts[i]);
		size_t fields = lf_field_count(texts[i], ' ');
		assay_output(b, "edge text", texts[i], sizeof texts[i]);
		assay_output(b, "edge fields", &fields, sizeof fields);
	}
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
