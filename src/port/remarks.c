/* clang's by libyaml, document by document: a record of a large unit has tens of thousands of them, and only one is held at a time. */
#include "port/remarks.h"

#include "base/text.h"
#include "port/tree.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <yaml.h>

struct reader {
	struct arena *arena;
	yaml_document_t *document;
};

static const yaml_node_t *node_at(const struct reader *reader, int index)
{
	return yaml_document_get_node(reader->document, index);
}

/* A scalar's text up to its first zero byte; NULL: no scalar. */
static const char *scalar(const yaml_node_t *node)
{
	return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

/* The value of a key; NULL: there is none. */
static const yaml_node_t *value_of(const struct reader *reader, const yaml_node_t *mapping, const char *key)
{
	if (!mapping || mapping->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top; pair++)
		if (text_equal(scalar(node_at(reader, pair->key)), key))
			return node_at(reader, pair->value);
	return NULL;
}

static unsigned number(const yaml_node_t *node)
{
	const char *text = scalar(node);
	char *end = NULL;
	errno = 0;
	unsigned long value = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
	return end && !*end && !errno && value <= UINT32_MAX ? (unsigned)value : 0;
}

/* Args: - String: 'load of type ' - Type: double …: the first value of each, one after the other. */
static const char *arguments_text(const struct reader *reader, const yaml_node_t *arguments)
{
	struct string_list parts = {0};
	if (!arguments || arguments->type != YAML_SEQUENCE_NODE)
		return "";
	for (yaml_node_item_t *item = arguments->data.sequence.items.start; item < arguments->data.sequence.items.top; item++) {
		const yaml_node_t *argument = node_at(reader, *item);
		if (!argument || argument->type != YAML_MAPPING_NODE ||
		    argument->data.mapping.pairs.start == argument->data.mapping.pairs.top)
			continue;
		const char *text = scalar(node_at(reader, argument->data.mapping.pairs.start->value));
		if (text)
			list_push(reader->arena, &parts, text);
	}
	return text_join(reader->arena, &parts, "");
}

static enum remark_kind kind_of(const char *tag)
{
	if (!tag)
		return REMARK_OTHER;
	if (text_equal(tag, "!Passed"))
		return REMARK_PASSED;
	if (text_equal(tag, "!Missed"))
		return REMARK_MISSED;
	if (text_starts(tag, "!Analysis")) /* AnalysisFPCommute and AnalysisAliasing, too */
		return REMARK_ANALYSIS;
	return text_equal(tag, "!Failure") ? REMARK_FAILURE : REMARK_OTHER;
}

/* False: a document that is no remark. */
static bool remark_read(const struct reader *reader, const yaml_node_t *root, struct remark *ret_remark)
{
	struct arena *arena = reader->arena;
	const char *pass = scalar(value_of(reader, root, "Pass")), *name = scalar(value_of(reader, root, "Name"));
	const char *function = scalar(value_of(reader, root, "Function"));
	const yaml_node_t *place = value_of(reader, root, "DebugLoc");
	const char *file = scalar(value_of(reader, place, "File"));
	if (!pass || !name)
		return false;
	*ret_remark = (struct remark){
	    .kind = kind_of((const char *)root->tag),
	    .pass = arena_strdup(arena, pass),
	    .name = arena_strdup(arena, name),
	    .file = file && *file ? arena_strdup(arena, file) : NULL,
	    .line = number(value_of(reader, place, "Line")),
	    .column = number(value_of(reader, place, "Column")),
	    .function = arena_strdup(arena, function ? function : ""),
	    .text = arguments_text(reader, value_of(reader, root, "Args")),
	};
	return true;
}

enum status remarks_parse(struct arena *arena, const char *data, size_t size, const char *name,
                          struct remark_list *ret_remarks, struct err *err)
{
	*ret_remarks = (struct remark_list){0};
	yaml_parser_t parser;
	if (!yaml_parser_initialize(&parser))
		return err_set(err, ST_SYSTEM, "%s: no memory for the YAML reader", name);
	yaml_parser_set_input_string(&parser, (const unsigned char *)data, size);
	enum status status = ST_OK;
	for (bool more = true; more && status == ST_OK;) {
		yaml_document_t document;
		if (!yaml_parser_load(&parser, &document)) {
			status = err_set(err, ST_INPUT, "%s:%zu: not a record of optimizations (%s): compile with -fsave-optimization-record "
			                 "anew", name, parser.problem_mark.line + 1, parser.problem ? parser.problem : "unreadable");
			break;
		}
		struct reader reader = {.arena = arena, .document = &document};
		struct remark remark;
		const yaml_node_t *root = yaml_document_get_root_node(&document);
		more = root != NULL;
		if (more && remark_read(&reader, root, &remark))
			list_push(arena, ret_remarks, remark);
		yaml_document_delete(&document);
	}
	yaml_parser_delete(&parser);
	return status;
}

enum status remarks_read(struct arena *arena, const char *path, struct remark_list *ret_remarks, struct err *err)
{
	*ret_remarks = (struct remark_list){0};
	struct arena scratch; /* the text is many times as large as what is kept of it */
	const char *text = NULL;
	size_t size = 0;
	arena_init(&scratch);
	enum status status = file_read(&scratch, path, &text, &size, err);
	status = status ? err_context(err, "the record of optimizations") : remarks_parse(arena, text, size, path, ret_remarks, err);
	arena_release(&scratch);
	return status;
}

/* "FILE:LINE:COLUMN: KIND: text"; false: another line. */
static bool note_read(struct arena *arena, const char *line, const char *end, struct remark *ret_remark)
{
	static const struct {
		const char *word;
		enum remark_kind kind;
	} kinds[] = {{"optimized: ", REMARK_PASSED}, {"missed: ", REMARK_MISSED}, {"note: ", REMARK_ANALYSIS}};
	for (const char *at = line; (at = memchr(at, ':', (size_t)(end - at))); at++) {
		unsigned long place[2] = {0};
		const char *text = at;
		size_t read = 0;
		for (; read < 2 && text[0] == ':' && text[1] >= '0' && text[1] <= '9'; read++) {
			char *after = NULL;
			errno = 0;
			place[read] = strtoul(text + 1, &after, 10);
			if (errno || place[read] > UINT32_MAX)
				return false;
			text = after;
		}
		if (read < 2 || at == line || text >= end || text[0] != ':' || text[1] != ' ')
			continue;
		text += 2;
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
			size_t size = strlen(kinds[i].word);
			if ((size_t)(end - text) < size || memcmp(text, kinds[i].word, size) != 0)
				continue;
			text += size;
			while (text < end && *text == ' ')
				text++;
			*ret_remark = (struct remark){.kind = kinds[i].kind, .pass = "gcc", .function = "",
			                              .name = arena_strndup(arena, kinds[i].word, size - 2),
			                              .file = arena_strndup(arena, line, (size_t)(at - line)),
			                              .line = (unsigned)place[0], .column = (unsigned)place[1],
			                              .text = arena_strndup(arena, text, (size_t)(end - text))};
			return true;
		}
	}
	return false;
}

void remarks_parse_gcc(struct arena *arena, const char *text, struct remark_list *ret_remarks)
{
	*ret_remarks = (struct remark_list){0};
	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');
		struct remark remark;
		if (note_read(arena, line, end, &remark))
			list_push(arena, ret_remarks, remark);
		line = *end ? end + 1 : end;
	}
}

static bool is_gcc(const struct remark *remark)
{
	return strcmp(remark->pass, "gcc") == 0;
}

bool remark_is_vectorised(const struct remark *remark)
{
	if (remark->kind != REMARK_PASSED)
		return false;
	if (is_gcc(remark))
		return text_starts(remark->text, "loop vectorized") || text_starts(remark->text, "loop versioned for vectorization");
	return strcmp(remark->pass, "loop-vectorize") == 0 && strcmp(remark->name, "Vectorized") == 0;
}

bool remark_overcomes(const struct remark *remark, const struct remark *missed)
{
	if (remark->kind != REMARK_PASSED || strcmp(remark->pass, "licm") != 0 || remark->line != missed->line ||
	    remark->column != missed->column || !text_equal(remark->file, missed->file) ||
	    strcmp(remark->function, missed->function) != 0)
		return false;
	/* An address is hoisted from the same place as the load behind it. */
	return strcmp(remark->name, "PromoteLoopAccessesToScalar") == 0 ||
	       (strcmp(remark->name, "Hoisted") == 0 && strstr(remark->text, "load"));
}

enum remark_cause remark_cause(const struct remark *remark)
{
	static const struct {
		const char *pass, *name;
		enum remark_cause cause;
	} known[] = {
	    {"licm", "LoadWithLoopInvariantAddressInvalidated", CAUSE_ALIAS},
	    {"gvn", "LoadClobbered", CAUSE_ALIAS},
	    {"loop-vectorize", "UnsafeDep", CAUSE_ALIAS},
	    {"loop-vectorize", "CantReorderMemOps", CAUSE_ALIAS},
	    {"loop-vectorize", "CantReorderFPOps", CAUSE_ORDER},
	};
	if (is_gcc(remark) && remark->kind == REMARK_MISSED)
		return strstr(remark->text, "alias") || strstr(remark->text, "dependence between data-refs") ? CAUSE_ALIAS : CAUSE_NONE;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(remark->pass, known[i].pass) == 0 && strcmp(remark->name, known[i].name) == 0)
			return known[i].cause;
	return CAUSE_NONE;
}

static bool is_same_file(const char *a, const char *b)
{
	size_t a_size = strlen(a), b_size = strlen(b);
	const char *longer = a_size > b_size ? a : b, *shorter = a_size > b_size ? b : a;
	size_t more = a_size > b_size ? a_size - b_size : b_size - a_size;
	return strcmp(longer + more, shorter) == 0 && (more == 0 || longer[more - 1] == '/');
}

bool remark_is_at(const struct remark *remark, const char *file, unsigned first_line, unsigned last_line)
{
	return remark->file && remark->line >= first_line && remark->line <= last_line && is_same_file(remark->file, file);
}
