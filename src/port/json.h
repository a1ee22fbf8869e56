/* What a scan worker answers, as one JSON document: the form in which a stage's product crosses a process or a machine. */
#ifndef ASSAY_PORT_JSON_H
#define ASSAY_PORT_JSON_H

#include "base/arena.h"
#include "model/fact.h"
#include "model/finding.h"

#include <stdbool.h>
#include <stddef.h>

LIST_OF(unsigned, line_list);

/* A finding on its way from the detector to the merge: no id yet. */
struct found {
	struct finding *finding;
	struct line_list anchors; /* first lines of the statement and the loops around it */
};
LIST_OF(struct found, found_list);

struct unit_answer {
	const char *failure; /* why the unit could not be parsed, then the rest is empty; or NULL */
	struct found_list found;
	struct fact_list facts;
	struct string_list files;  /* read, relative to the tree */
	struct string_list errors; /* of the front end, the first few */
	size_t error_count;
	unsigned long long lines;
};

/* 0-terminated, to be freed with free(); NULL: out of memory. Edits and paths keep every byte; in text for people what
 * isn't UTF-8 becomes question marks. */
char *json_from_answer(const struct unit_answer *answer);
/* False: the text isn't such a document. Everything lives in the arena. */
bool json_to_answer(struct arena *arena, const char *text, size_t size, struct unit_answer *ret_answer);

#endif
