/* What the harness itself costs, and the smallest effect that it can tell apart when there is no work. */
#ifndef ASSAY_EVAL_OVERHEAD_H
#define ASSAY_EVAL_OVERHEAD_H

#include "base/err.h"
#include "model/session.h"

#include <stdio.h>

/* Measures and writes DIR/overhead.json. */
MUST_CHECK enum status overhead_record(struct session *session, const char *dir, const char *cc, double seconds,
                                       const char *command, struct err *err);
/* The section of the report; says that there is none when it was not measured. */
void overhead_section(const char *dir, FILE *out);

#endif
