#include "port/profile.h"

#include "base/text.h"
#include "port/callgrind.h"
#include "port/tree.h"

#include <stdlib.h>

enum { ENTRY_INDENT_MAX = 7, BUCKETS = 4096 };

struct weighed {
	const char *name;
	double weight;
	struct weighed *next;
};

struct profile_reader {
	struct arena *arena;
	struct arena scratch;
	struct weighed *buckets[BUCKETS];
	double total;
};

static void weigh(struct profile_reader *reader, const char *name, size_t size, double weight)
{
	/* f.constprop.0, f.part.1.isra.0, and callgrind's f'2 for a recursion's second level. */
	size_t stem = 0;
	while (stem < size && name[stem] != '\'' && (name[stem] != '.' || stem == 0))
		stem++;
	if (stem == 0)
		return;
	struct weighed **bucket = &reader->buckets[text_hash(name, stem, TEXT_HASH_SEED) % BUCKETS];
	for (struct weighed *at = *bucket; at; at = at->next)
		if (strncmp(at->name, name, stem) == 0 && !at->name[stem]) {
			at->weight += weight;
			return;
		}
	struct weighed *made = arena_new(&reader->scratch, struct weighed);
	*made = (struct weighed){.name = arena_strndup(reader->arena, name, stem), .weight = weight, .next = *bucket};
	*bucket = made;
}

static const char *blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

static const char *word_end(const char *at, const char *end)
{
	while (at < end && *at != ' ' && *at != '\t')
		at++;
	return at;
}

/* ---- perf report ---------------------------------------------------------------------------------------------------- */

/* "84.62%"; false: no percentage. */
static bool share_read(const char *at, const char *end, double *ret_share)
{
	char number[16];
	size_t size = (size_t)(end - at);
	if (size < 2 || size > sizeof number || end[-1] != '%' || *at < '0' || *at > '9')
		return false;
	memcpy(number, at, size - 1);
	number[size - 1] = '\0';
	char *after = NULL;
	double percent = strtod(number, &after);
	*ret_share = percent / 100;
	return !*after && percent >= 0 && percent <= 100;
}

/* "    81.48%    81.48%  prog  prog  [.] warm": of two percentages the second is the function's own. Lines of call graphs
 * are indented further. */
static bool entry_read(const char *line, const char *end, double *ret_share, const char **ret_name, size_t *ret_size)
{
	const char *at = blanks(line, end);
	if (at - line > ENTRY_INDENT_MAX || !share_read(at, word_end(at, end), ret_share))
		return false;
	at = blanks(word_end(at, end), end);
	double own = 0;
	if (share_read(at, word_end(at, end), &own)) {
		*ret_share = own;
		at = word_end(at, end);
	}
	for (; end - at > 4; at++) {
		if (at[0] != '[' || at[2] != ']' || at[3] != ' ')
			continue;
		const char *name = blanks(at + 4, end);
		*ret_name = name;
		*ret_size = (size_t)(word_end(name, end) - name);
		return *ret_size > 0;
	}
	return false;
}

static bool report_read(struct profile_reader *reader, const char *text)
{
	bool any = false;
	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n'), *name = NULL;
		double share = 0;
		size_t size = 0;
		if (entry_read(line, end, &share, &name, &size)) {
			weigh(reader, name, size, share);
			any = true;
		}
		line = *end ? end + 1 : end;
	}
	reader->total = any ? 1 : 0; /* they are shares already, also where a limit cut the list */
	return any;
}

/* ---- perf script ---------------------------------------------------------------------------------------------------- */

/* "5126.949063:" */
static bool is_time(const char *at, const char *end)
{
	bool point = false;
	if (end - at < 4 || end[-1] != ':')
		return false;
	for (; at < end - 1; at++) {
		if (*at != '.' && (*at < '0' || *at > '9'))
			return false;
		point |= *at == '.';
	}
	return point;
}

/* "PROG PID [CPU] TIME: [PERIOD] EVENT: [FRAME]": what stands behind the event, or NULL. */
static const char *sample_read(const char *line, const char *end, double *ret_weight)
{
	const char *at = blanks(line, end), *stop = word_end(at, end);
	while (at < end && !is_time(at, stop)) {
		at = blanks(stop, end);
		stop = word_end(at, end);
	}
	if (at >= end)
		return NULL;
	at = blanks(stop, end);
	stop = word_end(at, end);
	*ret_weight = 1;
	if (strspn(at, "0123456789") == (size_t)(stop - at) && stop > at) {
		*ret_weight = strtod(at, NULL);
		at = blanks(stop, end);
		stop = word_end(at, end);
	}
	return stop > at && stop[-1] == ':' ? blanks(stop, end) : NULL;
}

/* "7eff347baf02 warm+0x1a (/lib/x.so)": its symbol counts. *ret_inlined: its code is in the next frame's function. */
static bool frame_read(struct profile_reader *reader, const char *at, const char *end, double weight, bool *ret_inlined)
{
	size_t digits = strspn(at, "0123456789abcdef");
	const char *name = blanks(at + digits, end);
	if (digits == 0 || at + digits >= end || name == at + digits)
		return false;
	const char *stop = word_end(name, end);
	const char *plus = memmem(name, (size_t)(stop - name), "+0x", 3);
	weigh(reader, name, (size_t)((plus ? plus : stop) - name), weight);
	*ret_inlined = end - stop >= 9 && memcmp(end - 9, "(inlined)", 9) == 0;
	return true;
}

static bool script_read(struct profile_reader *reader, const char *text)
{
	double weight = 0;
	bool open = false; /* the next frame counts */
	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');
		const char *frame = NULL;
		if (*line == '\t') {
			frame = open ? blanks(line, end) : NULL;
		} else {
			frame = sample_read(line, end, &weight);
			open = frame != NULL;
			reader->total += open ? weight : 0;
		}
		bool inlined = false;
		if (frame && frame < end && frame_read(reader, frame, end, weight, &inlined))
			open = inlined;
		line = *end ? end + 1 : end;
	}
	return reader->total > 0;
}

/* ---- callgrind ------------------------------------------------------------------------------------------------------ */

static enum status instructions_read(struct profile_reader *reader, const char *text, const char *name, struct err *err)
{
	struct callgrind counted;
	enum status status = callgrind_parse(&reader->scratch, text, &counted, err);
	if (status != ST_OK)
		return err_context(err, "%s", name);
	for (size_t i = 0; i < counted.functions.count; i++) {
		const struct callgrind_function *function = &counted.functions.at[i];
		double all = 0;
		for (size_t part = 0; part < CALLGRIND_PARTS; part++)
			all += (double)function->self[part];
		weigh(reader, function->name, strlen(function->name), all);
		reader->total += all;
	}
	return ST_OK;
}

/* ---- all ------------------------------------------------------------------------------------------------------------- */

static int share_compare(const void *a, const void *b)
{
	const struct profile_function *left = a, *right = b;
	if (left->share != right->share)
		return left->share > right->share ? -1 : 1;
	return strcmp(left->name, right->name);
}

static void shares_take(struct profile_reader *reader, struct profile *profile)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct weighed *at = reader->buckets[i]; at; at = at->next) {
			double share = at->weight / reader->total;
			struct profile_function function = {at->name, share < 1 ? share : 1};
			list_push(reader->arena, &profile->functions, function);
		}
	if (profile->functions.count)
		qsort(profile->functions.at, profile->functions.count, sizeof *profile->functions.at, share_compare);
}

static bool is_callgrind(const char *text)
{
	return text_starts(text, "# callgrind format") || text_starts(text, "events:") || strstr(text, "\nevents:");
}

enum status profile_parse(struct arena *arena, const char *text, const char *name, struct profile *ret_profile,
                          struct err *err)
{
	*ret_profile = (struct profile){0};
	if (text_starts(text, "PERFILE2"))
		return err_set(err, ST_INPUT, "%s is perf's own record: give the text that `perf report --stdio -i %s` prints", name, name);
	struct profile_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		return err_set(err, ST_SYSTEM, "%s: no memory to read it", name);
	reader->arena = arena;
	arena_init(&reader->scratch);
	enum status status = ST_OK;
	if (is_callgrind(text)) {
		ret_profile->kind = "callgrind";
		status = instructions_read(reader, text, name, err);
	} else if (report_read(reader, text)) {
		ret_profile->kind = "perf report";
	} else if (script_read(reader, text)) {
		ret_profile->kind = "perf script";
	} else {
		status = err_set(err, ST_INPUT, "%s is no profile: give callgrind's output, or the text of `perf report --stdio` or `perf "
		                 "script` with symbols", name);
	}
	if (status == ST_OK && reader->total > 0)
		shares_take(reader, ret_profile);
	if (status == ST_OK && !ret_profile->functions.count)
		status = err_set(err, ST_INPUT, "%s holds no function that took time: profile a run that takes longer", name);
	arena_release(&reader->scratch);
	free(reader);
	return status;
}

enum status profile_read(struct arena *arena, const char *path, struct profile *ret_profile, struct err *err)
{
	struct arena scratch;
	const char *text = NULL;
	arena_init(&scratch);
	enum status status = file_read(&scratch, path, &text, NULL, err);
	if (status == ST_OK)
		status = profile_parse(arena, text, path, ret_profile, err);
	arena_release(&scratch);
	return status;
}

bool profile_share(const struct profile *profile, const char *function, double *ret_share)
{
	for (size_t i = 0; i < profile->functions.count; i++)
		if (strcmp(profile->functions.at[i].name, function) == 0) {
			*ret_share = profile->functions.at[i].share;
			return true;
		}
	*ret_share = 0;
	return false;
}
