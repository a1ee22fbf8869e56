/* Any bytes as a record of optimizations: an error of one line, or remarks that keep their promises; both may be. And as gcc's notes. */
#include "port/remarks.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	arena_init(&arena);
	struct remark_list remarks;
	struct err err = ERR_INIT;
	enum status status = remarks_parse(&arena, (const char *)data, size, "x.yaml", &remarks, &err);
	if (status != err.code || (status && !err.text[0]))
		abort();
	for (size_t i = 0; i < remarks.count; i++) {
		const struct remark *remark = &remarks.at[i];
		if (!remark->pass || !remark->name || !remark->function || !remark->text || (remark->file && !remark->file[0]))
			abort();
		(void)remark_cause(remark);
		if (remark->file && !remark_is_at(remark, remark->file, remark->line, remark->line))
			abort();
	}
	char *text = arena_strndup(&arena, (const char *)data, size);
	remarks_parse_gcc(&arena, text, &remarks);
	for (size_t i = 0; i < remarks.count; i++)
		if (!remarks.at[i].file || !remarks.at[i].file[0] || !remarks.at[i].text)
			abort();
	arena_release(&arena);
	return 0;
}
