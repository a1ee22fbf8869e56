/* libyaml, document by document: a record of a large unit has tens of thousands of them, and only one is held at a time. */
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

const struct remark *remarks_find(const struct remark_list *remarks, enum remark_cause cause, const char *file,
                                  unsigned first_line, unsigned last_line)
{
	for (size_t i = 0; i < remarks->count; i++) {
		const struct remark *remark = &remarks->at[i];
		if (remark->file && remark->line >= first_line && remark->line <= last_line && remark_cause(remark) == cause &&
		    is_same_file(remark->file, file))
			return remark;
	}
	return NULL;
}
