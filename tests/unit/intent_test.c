#include "base/text.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <git2.h>

static const volatile sig_atomic_t not_interrupted = 0;

struct fixture {
	struct session session;
	char dir[64];
	const char *history; /* as intent_find() said it last */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	arena_init(&fixture->session.arena);
	snprintf(fixture->dir, sizeof fixture->dir, "/tmp/assay-intent-XXXXXX");
	if (!mkdtemp(fixture->dir))
		return -1;
	fixture->session.project.tree = fixture->dir;
	fixture->session.interrupted = &not_interrupted;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	struct err err = ERR_INIT;
	assert_int_equal(tree_remove(fixture->dir, &err), ST_OK);
	arena_release(&fixture->session.arena);
	free(fixture);
	return 0;
}

/* The reason found when line `changed` of `text` is replaced. */
static const char *reason_for(struct fixture *fixture, const char *text, unsigned changed, const char *pattern)
{
	struct arena *arena = &fixture->session.arena;
	FILE *file = fopen(path_join(arena, fixture->dir, "x.c"), "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	struct finding finding = {.pattern = pattern};
	struct hypothesis hypothesis = {
	    .kind = CANDIDATE_PATCH,
	    .finding = pattern ? &finding : NULL,
	    .text = arena_printf(arena, "--- a/x.c\n+++ b/x.c\n@@ -%u,1 +%u,1 @@\n-old\n+new\n", changed, changed),
	};
	const char *reason = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(intent_find(&fixture->session, &hypothesis, &reason, &fixture->history, &err), ST_OK);
	return reason;
}

static void phrases_that_decide(void **state)
{
	static const char *const comments[] = {
	    "/* Deliberately not hoisted: the callback may change it. */",
	    "/* This is on purpose. */",
	    "// intentionally kept volatile, see the errata",
	    "/* Do not use restrict here, the buffers overlap. */",
	    "/* don't inline: objtool complains */",
	    "/* must not be inlined */",
	    "/* Workaround for gcc bug 12345 */",
	    "/* Keep the two loops as is: measured. */",
	    "/* left\n * on\n * purpose */",
	    "/* Never add a prefetch here. */",
	};
	for (size_t i = 0; i < sizeof comments / sizeof *comments; i++) {
		char text[512];
		unsigned lines = 1;
		for (const char *at = comments[i]; *at; at++)
			lines += *at == '\n';
		snprintf(text, sizeof text, "int a;\n%s\nint b;\nint changed;\n", comments[i]);
		const char *reason = reason_for(*state, text, 3 + lines, NULL);
		if (!reason)
			fail_msg("not found: %s", comments[i]);
		assert_true(text_starts(reason, "x.c:"));
	}
	assert_string_equal(reason_for(*state, "int a;\n/* Deliberately slow. */\nint c;\n", 3, NULL),
	                    "x.c:2: \"Deliberately slow.\"");
	assert_string_equal(reason_for(*state, "int c; /* on purpose */\n", 1, NULL), "x.c:1: \"on purpose\"");
}

static void phrases_that_do_not(void **state)
{
	static const char *const comments[] = {
	    "/* The intention of this function is to decode. */",
	    "/* The purpose of this is speed. */",
	    "/* buf must not be NULL. */",
	    "/* The caller must not free it. Inline data follows. */",
	    "/* Do not add entries while iterating. */",
	    "/* This was unintentional. */",
	    "/* not intentional, fix me */",
	    "/* intentional fall through */",
	    "/* Intentionally left blank. */",
	    "/* assay: deliberate */",
	    "/* keep it simple, as is usual here */",
	};
	for (size_t i = 0; i < sizeof comments / sizeof *comments; i++) {
		char text[512];
		snprintf(text, sizeof text, "int a;\n%s\nint changed;\n", comments[i]);
		const char *reason = reason_for(*state, text, 3, NULL);
		if (reason)
			fail_msg("found in %s: %s", comments[i], reason);
	}
	assert_null(reason_for(*state, "/* assay: deliberate P02: */\nint changed;\n", 2, "P02"));
	assert_null(reason_for(*state, "char *s = \"/* on purpose */\";\nint changed;\n", 2, NULL));
}

static void far_comments_do_not_count(void **state)
{
	assert_null(reason_for(*state, "/* on purpose */\n\n\n\n\n\n\nint changed;\n", 8, NULL));
	assert_non_null(reason_for(*state, "/* on purpose */\n\n\n\n\n\nint changed;\n", 7, NULL));
	/* another function's comment */
	assert_null(reason_for(*state, "int f(void)\n{\n\treturn 1; /* on purpose */\n}\nint changed;\n", 5, NULL));
	assert_null(reason_for(*state, "int changed;\n\n\n/* on purpose */\nint b;\n", 1, NULL));
}

static void annotations_name_their_pattern(void **state)
{
	static const char text[] = "/* assay: deliberate P08: one line with its lock */\nint changed;\n";
	assert_string_equal(reason_for(*state, text, 2, "P08"), "x.c:1: \"assay: deliberate P08: one line with its lock\"");
	assert_null(reason_for(*state, text, 2, "P02"));
	assert_non_null(reason_for(*state, text, 2, NULL));
}

/* x.c as it stands, committed on top of what there is. */
static void commit(struct fixture *fixture, const char *text, const char *message)
{
	git_repository *repository;
	git_index *index;
	git_oid tree_id, id, head;
	git_tree *tree;
	git_signature *signature;
	git_commit *parent = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(file_write(path_join(&fixture->session.arena, fixture->dir, "x.c"), text, strlen(text), &err), ST_OK);
	assert_int_equal(git_repository_init(&repository, fixture->dir, 0), 0);
	assert_int_equal(git_repository_index(&index, repository), 0);
	assert_int_equal(git_index_add_bypath(index, "x.c"), 0);
	assert_int_equal(git_index_write(index), 0);
	assert_int_equal(git_index_write_tree(&tree_id, index), 0);
	assert_int_equal(git_tree_lookup(&tree, repository, &tree_id), 0);
	assert_int_equal(git_signature_new(&signature, "test", "test@example.org", 1600000000, 0), 0);
	if (git_reference_name_to_id(&head, repository, "HEAD") == 0)
		assert_int_equal(git_commit_lookup(&parent, repository, &head), 0);
	const git_commit *parents[] = {parent};
	assert_int_equal(git_commit_create(&id, repository, "HEAD", signature, signature, NULL, message, tree, parent != NULL, parents), 0);
	git_commit_free(parent);
	git_signature_free(signature);
	git_tree_free(tree);
	git_index_free(index);
	git_repository_free(repository);
}

static void a_commit_may_say_it(void **state)
{
	struct fixture *fixture = *state;
	git_libgit2_init();
	assert_null(reason_for(fixture, "int a;\nint b;\nint c;\n", 2, NULL));
	assert_string_equal(fixture->history, "no history: the tree is in no git repository");

	commit(fixture, "int a;\nint b;\nint c;\n", "start, on purpose\n");
	/* The first commit brings everything: it speaks of no line. */
	assert_null(reason_for(fixture, "int a;\nint b;\nint c;\n", 2, NULL));
	assert_non_null(strstr(fixture->history, " of 2020-09-13, \"start, on purpose\""));

	commit(fixture, "int a;\nint B;\nint c;\n", "x: padding off\n\nDo not add alignment here: it costs cache.\n");
	const char *reason = reason_for(fixture, "int a;\nint B;\nint c;\n", 2, NULL);
	assert_non_null(reason);
	assert_non_null(strstr(reason, " of 2020-09-13, \"x: padding off\""));
	/* Its neighbours are of the first commit. */
	assert_null(reason_for(fixture, "int a;\nint B;\nint c;\n", 3, NULL));
	/* Lines move; a line that no commit has yet says nothing. */
	assert_non_null(reason_for(fixture, "int new;\nint a;\nint B;\nint c;\n", 3, NULL));
	assert_null(reason_for(fixture, "int new;\nint a;\nint B;\nint c;\n", 1, NULL));
	assert_string_equal(fixture->history, "no history: these lines of x.c are in no commit yet");

	commit(fixture, "int a;\nint D;\nint c;\n", "x: rename\n");
	assert_null(reason_for(fixture, "int a;\nint D;\nint c;\n", 2, NULL));
	assert_non_null(strstr(fixture->history, "\"x: rename\""));
	git_libgit2_shutdown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(phrases_that_decide, setup, teardown),
	    cmocka_unit_test_setup_teardown(phrases_that_do_not, setup, teardown),
	    cmocka_unit_test_setup_teardown(far_comments_do_not_count, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_commit_may_say_it, setup, teardown),
	    cmocka_unit_test_setup_teardown(annotations_name_their_pattern, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
