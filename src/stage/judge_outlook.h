/* What an inconclusive trial shows all the same: what is excluded, what could have been seen, how long a measurement that
 * settles it would take. Pure; judge.c's own. */
#ifndef ASSAY_STAGE_JUDGE_OUTLOOK_H
#define ASSAY_STAGE_JUDGE_OUTLOOK_H

#include "model/trial.h"

/* "12.3 s", "5 min" */
const char *seconds_text(struct arena *arena, double seconds);

/* The budget was spent, or Ctrl-C came, before the interval decided. `margin`: a natural logarithm. */
struct outlook outlook_open(struct arena *arena, const struct measurement *measurement, const struct effect *effect,
                            double margin);
/* The interval decides, but the measurement did not come to its planned end: the interruption, or too few layouts. */
struct outlook outlook_cut_short(struct arena *arena, const struct measurement *measurement, const struct effect *effect);
/* No pair was taken. */
struct outlook outlook_no_pair(struct arena *arena, const struct measurement *measurement);
/* The control forbids a verdict. `control` may be one that was not made. */
struct outlook outlook_control(struct arena *arena, const struct control *control, double alpha);
/* The interval differs from 0, but not clearly enough among `count` trials. */
struct outlook outlook_crowd(struct arena *arena, const struct trial *trial, double alpha, size_t count, double budget_s);
/* Nothing was measured: Ctrl-C came before (`interrupted`), or for a reason that no time mends. */
struct outlook outlook_unmeasured(struct arena *arena, bool interrupted, double budget_s);

#endif
