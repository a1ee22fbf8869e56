/* What detectors ask again and again: questions to a unit's tree, and how a finding is put down. */
#ifndef ASSAY_PATTERNS_QUERY_H
#define ASSAY_PATTERNS_QUERY_H

#include "patterns/pattern.h"

/* ---- findings ---------------------------------------------------------------------------------------------- */
/* A finding of `pattern` at `range`, put into the sink. The detector fills in evidence, contract and edits. */
struct finding *finding_new(struct pattern_sink *sink, const struct ast_unit *unit, const struct pattern *pattern,
                            const struct ast_range *range, const char *symbol, enum severity severity,
                            const char *message);
/* Adds an edit of `finding->file`. */
void finding_edit(struct pattern_sink *sink, struct finding *finding, size_t offset, size_t length, const char *text);
/* Relative to the tree; the path as it is when it lies elsewhere. */
const char *unit_relative(const struct ast_unit *unit, const char *file);

/* ---- compile commands -------------------------------------------------------------------------------------- */
/* Whether a flag is on: the last of `on` and `off` wins. `off` may be NULL. */
bool command_flag(const struct compile_command *command, const char *on, const char *off, bool fallback);
/* What follows the last "-std=" ("gnu17"), "c90" for -ansi, or NULL: the compiler's own default. */
const char *command_standard(const struct compile_command *command);

#endif
