/* Recordings to a report: every figure comes from the files of one folder. */
#ifndef ASSAY_EVAL_JUDGE_H
#define ASSAY_EVAL_JUDGE_H

#include "base/err.h"

#include <stdio.h>

/* Writes Markdown. A recording that can't be read is named on stderr and left out. ST_INPUT: there are none. */
MUST_CHECK enum status judge_folder(const char *dir, const char *command, FILE *out, struct err *err);

#endif
