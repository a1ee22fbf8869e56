/* Any bytes as an earlier report: refused with a sentence, or read. And a run document that can be read, whatever its
 * diffs hold, becomes SARIF that is read again, finding by finding. */
#include "report/sarif.h"

#include "report/report.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	arena_init(&arena);
	struct run run;
	struct finding_list findings;
	struct sarif_rule_list rules = {0};
	bool is_sarif;
	struct err err = ERR_INIT, other = ERR_INIT;
	if (sarif_findings_read(&arena, (const char *)data, size, &is_sarif, &findings, &err) != ST_OK && !err.text[0])
		abort();
	if (json_run_read(&arena, (const char *)data, size, &run, &other) == ST_OK) {
		const char *text = sarif_run(&arena, &run, &rules);
		err = ERR_INIT;
		if (sarif_findings_read(&arena, text, strlen(text), &is_sarif, &findings, &err) != ST_OK || !is_sarif ||
		    findings.count > run.findings.count + run.absent.count)
			abort();
	}
	arena_release(&arena);
	return 0;
}
