#include "port/callgrind.h"

#include "base/text.h"

#include <stdlib.h>

enum { ID_MAX = 10000000 };

/* Names by their numbers: "(7) name" the first time, "(7)" from then on, over all parts of the file. */
LIST_OF(const char *, name_list);
enum { SPELLED_BUCKETS = 1024 };
/* Names that are written out each time (--compress-strings=no) get numbers of ours. */
struct spelled {
	const char *text;
	size_t id;
	struct spelled *next;
};
struct names {
	struct name_list by_id;
	struct spelled *spelled[SPELLED_BUCKETS];
};
/* The functions of one name's number: a name can have code in several files. */
struct node {
	size_t function, object;
	struct node *next;
};
LIST_OF(struct node *, node_list);

struct callgrind_reader {
	struct arena *arena;
	struct arena scratch;
	struct callgrind *profile;
	struct names objects, names;
	struct node_list nodes; /* by the name's number */
	enum callgrind_part part;
	size_t object, called_object; /* numbers */
	size_t function, called;      /* in profile->functions; NONE */
	bool call_pending;            /* the next line is the cost of a call, not of the function */
	bool jump_pending;            /* the next line is where a jump stands */
	unsigned positions;           /* so many columns before the costs */
};

static const size_t NONE = (size_t)-1;

static bool spelled_read(struct callgrind_reader *reader, struct names *names, const char *text, const char *end,
                         size_t *ret_id)
{
	size_t size = (size_t)(end - text);
	struct spelled **bucket = &names->spelled[text_hash(text, size, TEXT_HASH_SEED) % SPELLED_BUCKETS];
	struct spelled *at = *bucket;
	while (at && (strncmp(at->text, text, size) != 0 || at->text[size]))
		at = at->next;
	if (!at) {
		at = arena_new(&reader->scratch, struct spelled);
		*at = (struct spelled){.text = arena_strndup(reader->arena, text, size), .id = names->by_id.count, .next = *bucket};
		*bucket = at;
		list_push(&reader->scratch, &names->by_id, at->text);
	}
	*ret_id = at->id;
	return true;
}

/* Reads "(7) name" or "name" at `text`, up to `end`. */
static bool name_read(struct callgrind_reader *reader, struct names *known, const char *text, const char *end,
                      size_t *ret_id)
{
	struct name_list *names = &known->by_id;
	char *after = NULL;
	if (text == end)
		return false;
	unsigned long id = *text == '(' ? strtoul(text + 1, &after, 10) : 0;
	if (*text != '(' || (after == text + 1 && *after != ')')) /* "(below main)" is a name */
		return spelled_read(reader, known, text, end, ret_id);
	if (after == text + 1 || *after != ')' || id > ID_MAX)
		return false;
	while (names->count <= id)
		list_push(&reader->scratch, names, (const char *)NULL);
	after++;
	while (after < end && *after == ' ')
		after++;
	if (after < end)
		names->at[id] = arena_strndup(reader->arena, after, (size_t)(end - after));
	*ret_id = id;
	return names->at[id] != NULL;
}

static size_t function_of(struct callgrind_reader *reader, size_t name, size_t object)
{
	while (reader->nodes.count <= name)
		list_push(&reader->scratch, &reader->nodes, (struct node *)NULL);
	for (const struct node *node = reader->nodes.at[name]; node; node = node->next)
		if (node->object == object)
			return node->function;
	struct node *node = arena_new(&reader->scratch, struct node);
	*node = (struct node){.function = reader->profile->functions.count, .object = object, .next = reader->nodes.at[name]};
	reader->nodes.at[name] = node;
	const char *file = object < reader->objects.by_id.count ? reader->objects.by_id.at[object] : NULL;
	struct callgrind_function function = {.object = file ? file : "", .name = reader->names.by_id.at[name]};
	list_push(reader->arena, &reader->profile->functions, function);
	return node->function;
}

static bool starts(const char *line, const char *end, const char *prefix)
{
	size_t size = strlen(prefix);
	return (size_t)(end - line) >= size && memcmp(line, prefix, size) == 0;
}

static void part_is(struct callgrind_reader *reader, enum callgrind_part part)
{
	reader->part = part;
	reader->profile->split = true;
}

/* "+3 120", "* 7", "0 12", "0x4838000 12 7": positions and instructions. */
static bool cost_read(struct callgrind_reader *reader, const char *line, const char *end)
{
	if (reader->jump_pending) {
		reader->jump_pending = false;
		return true;
	}
	const char *space = line;
	for (unsigned i = 0; i < reader->positions && space; i++) {
		space = memchr(space, ' ', (size_t)(end - space));
		while (space && space + 1 < end && space[1] == ' ')
			space++;
		space = space && i + 1 < reader->positions ? space + 1 : space;
	}
	if (!space || reader->function == NONE)
		return false;
	uint64_t cost = strtoull(space, NULL, 10);
	if (reader->call_pending) {
		struct callgrind_call call = {reader->function, reader->called};
		if (reader->part == CALLGRIND_INSIDE)
			list_push(reader->arena, &reader->profile->calls, call);
		reader->call_pending = false;
		return true;
	}
	reader->profile->functions.at[reader->function].self[reader->part] += cost;
	reader->profile->total[reader->part] += cost;
	return true;
}

static bool line_read(struct callgrind_reader *reader, const char *line, const char *end)
{
	size_t id = 0;
	if (line == end)
		return true;
	if (starts(line, end, "part: ")) {
		/* Who comes after the last trigger is what remains. */
		reader->part = reader->profile->split ? CALLGRIND_AFTER : CALLGRIND_INSIDE;
		reader->function = NONE;
		reader->call_pending = false;
		return true;
	}
	if (starts(line, end, "positions: "))
		reader->positions = memmem(line, (size_t)(end - line), "instr line", strlen("instr line")) ? 2 : 1;
	else if (starts(line, end, "jump=") || starts(line, end, "jcnd="))
		reader->jump_pending = true;
	else if (starts(line, end, "desc: Trigger: --dump-before="))
		part_is(reader, CALLGRIND_BEFORE);
	else if (starts(line, end, "desc: Trigger: --dump-after="))
		part_is(reader, CALLGRIND_INSIDE);
	else if (starts(line, end, "ob=")) {
		if (!name_read(reader, &reader->objects, line + 3, end, &id))
			return false;
		reader->object = reader->called_object = id;
	} else if (starts(line, end, "fn=")) {
		if (!name_read(reader, &reader->names, line + 3, end, &id))
			return false;
		reader->function = function_of(reader, id, reader->object);
		reader->called_object = reader->object;
	} else if (starts(line, end, "cob=")) {
		if (!name_read(reader, &reader->objects, line + 4, end, &id))
			return false;
		reader->called_object = id;
	} else if (starts(line, end, "cfn=")) {
		if (!name_read(reader, &reader->names, line + 4, end, &id))
			return false;
		reader->called = function_of(reader, id, reader->called_object);
		reader->called_object = reader->object;
	} else if (starts(line, end, "calls=")) {
		reader->call_pending = reader->called != NONE;
		return reader->call_pending;
	} else if ((*line >= '0' && *line <= '9') || *line == '+' || *line == '-' || *line == '*') {
		return cost_read(reader, line, end);
	}
	return true; /* files, headers, sums */
}

enum status callgrind_parse(struct arena *arena, const char *text, struct callgrind *ret_profile, struct err *err)
{
	*ret_profile = (struct callgrind){0};
	struct callgrind_reader reader = {.arena = arena, .positions = 1, .profile = ret_profile, .part = CALLGRIND_INSIDE, .function = NONE,
	                                  .called = NONE, .object = NONE, .called_object = NONE};
	arena_init(&reader.scratch);
	enum status status = ST_OK;
	unsigned line_number = 0;
	bool counts = false;
	for (const char *line = text; *line && status == ST_OK;) {
		const char *end = strchrnul(line, '\n');
		line_number++;
		counts |= starts(line, end, "events: Ir");
		if (!line_read(&reader, line, end))
			status = err_set(err, ST_INPUT, "callgrind's output, line %u, is not understood: %.*s", line_number,
			                 (int)(end - line < 80 ? end - line : 80), line);
		line = *end ? end + 1 : end;
	}
	if (status == ST_OK && !counts)
		status = err_set(err, ST_INPUT, "callgrind's output holds no counts of instructions");
	arena_release(&reader.scratch);
	return status;
}
