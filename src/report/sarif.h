/* SARIF 2.1.0 (OASIS, 2020, errata 01 of 2023): the report that code hosts and editors read. */
#ifndef ASSAY_REPORT_SARIF_H
#define ASSAY_REPORT_SARIF_H

#include "base/err.h"
#include "model/run.h"

/* What is said of a rule. The catalogue lies above the reports, so the command hands its texts over. */
struct sarif_rule {
	const char *id, *slug, *title; /* "P02", "nullified-qualifier", one line */
	enum tier tier;
	const char *what, *why, *when_not, *expected, *refuted_by; /* any of them may be NULL */
	const char *const *sources;                                /* NULL-terminated, or NULL */
};
LIST_OF(struct sarif_rule, sarif_rule_list);

/* The run as one document that ends in a newline:
 *
 * - every finding is a result: kind `fail` while nothing speaks against it, with a level by its severity; a guard is
 *   `pass`; what trials settled has the kind that follows from the verdict (no effect, slower: `pass`; mixed: `review`;
 *   inconclusive: `open`; not built, not reached: `notApplicable`);
 * - what is deliberate is suppressed, with its reason, in the source or (project file) externally;
 * - with a baseline, `baselineState` says new, unchanged or absent;
 * - a candidate is a fix, taken from its diff, and the diff itself a property; so are the trials;
 * - a claim that no scan made (a patch, a flag) is a result of the rule "claim": `pass` when it is faster, else `fail`;
 * - notes are notifications of the invocation.
 *
 * Paths count from SRCROOT, the tree. Columns are the front end's, in bytes; fixes begin and end at lines. The same run
 * gives the same text, whatever the locale. */
char *sarif_run(struct arena *arena, const struct run *run, const struct sarif_rule_list *rules);

/* The findings of an earlier SARIF report of assay's: id, pattern, kind, file, line, column, symbol, message, severity
 * and tier are set; what was absent then is left out. `*ret_is_sarif` false: the text is JSON but no SARIF, nothing is
 * read and ST_OK returned. ST_INPUT: no JSON, or not a report of assay. */
MUST_CHECK enum status sarif_findings_read(struct arena *arena, const char *text, size_t size, bool *ret_is_sarif,
                                           struct finding_list *ret_findings, struct err *err);

#endif
