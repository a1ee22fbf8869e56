/* From a tree on disk to objects and programs, by the compilers that are installed. */
#include "base/text.h"
#include "port/cache.h"
#include "port/proc.h"
#include "port/project.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static volatile sig_atomic_t never;

struct fixture {
	struct session session;
	struct err err;
	char dir[64];
};

static struct arena *arena_of(struct fixture *f)
{
	return &f->session.arena;
}

static const char *at(struct fixture *f, const char *name)
{
	return path_join(arena_of(f), f->dir, name);
}

static void put(struct fixture *f, const char *name, const char *text)
{
	const char *path = at(f, name);
	assert_int_equal(folder_make(path_dir(arena_of(f), path), &f->err), ST_OK);
	assert_int_equal(file_write(path, text, strlen(text), &f->err), ST_OK);
}

static void expect_ok(struct fixture *f, enum status status)
{
	if (status != ST_OK)
		fail_msg("%s", f->err.text);
}

static const char driver[] = "#include <assay/bench.h>\n"
                             "#include \"calc.h\"\n"
                             "static void *setup(struct assay_bench *b) { (void)b; return 0; }\n"
                             "static void run(void *s, uint64_t n) { (void)s; while (n--) assay_keep(calc_name(calc(1))); }\n"
                             "const struct assay_workload assay_workload = {.setup = setup, .run = run};\n";
static const char calc_c[] = "#include \"../include/calc.h\"\n"
                             "#include \"../include/limit.h\"\n"
                             "int calc(int x)\n"
                             "{\n"
                             "\treturn x + LIMIT;\n"
                             "}\n"
                             "const char *calc_name(int x)\n"
                             "{\n"
                             "\treturn x ? __FILE__ : \"zero\";\n"
                             "}\n";
static const char other_c[] = "int other(int x) { return x * 3; }\n";

static const char project_text[] = "workloads:\n"
                                   "  - name: calc\n"
                                   "    bench: bench/calc.c\n"
                                   "    sources: [lib/calc.c, lib/other.c]\n"
                                   "    flags: [-Iinclude]\n"
                                   "    libs: [-lm]\n";

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	arena_init(arena_of(f));
	strcpy(f->dir, "/tmp/assay-build-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	f->session.interrupted = &never;
	f->session.jobs = 2;
	put(f, "assay.yaml", project_text);
	put(f, "bench/calc.c", driver);
	put(f, "lib/calc.c", calc_c);
	put(f, "lib/other.c", other_c);
	put(f, "include/calc.h", "int calc(int x);\nconst char *calc_name(int x);\n");
	put(f, "include/limit.h", "#define LIMIT 10\n#define UNUSED 1\n");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[160];
	snprintf(command, sizeof command, "chmod -R u+w %s && rm -rf %s", f->dir, f->dir);
	int code = system(command);
	build_close(&f->session);
	arena_release(arena_of(f));
	free(f);
	return code;
}

static void load(struct fixture *f)
{
	expect_ok(f, project_load(arena_of(f), f->dir, NULL, &f->session.project, &f->session.run.notes, &f->err));
}

/* Every path under the fixture with its size and time: the user's tree as it stands. */
static const char *listing(struct fixture *f)
{
	char *const roots[] = {f->dir, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	unsigned long long sum = 0; /* order does not count */
	for (FTSENT *entry; (entry = fts_read(walk));) {
		const char *line = arena_printf(arena_of(f), "%s %lld %lld.%ld", entry->fts_path, (long long)entry->fts_statp->st_size,
		                                (long long)entry->fts_statp->st_mtim.tv_sec, entry->fts_statp->st_mtim.tv_nsec);
		if (entry->fts_info != FTS_DP)
			sum += text_hash(line, strlen(line), TEXT_HASH_SEED);
	}
	fts_close(walk);
	return arena_printf(arena_of(f), "%llx", sum);
}

static struct hypothesis patch_of(struct fixture *f, const char *text)
{
	put(f, "one.patch", text);
	struct hypothesis *hypothesis = NULL;
	expect_ok(f, hypothesize_one(&f->session, CANDIDATE_PATCH, at(f, "one.patch"), NULL, NULL, &hypothesis, &f->err));
	unlink(at(f, "one.patch"));
	return *hypothesis;
}

static struct variant prepared(struct fixture *f, const struct hypothesis *hypothesis, const struct build_config *config)
{
	struct variant variant;
	expect_ok(f, build_prepare(&f->session, hypothesis, f->session.project.workloads.at[0], NULL, config, &variant, &f->err));
	expect_ok(f, build_preprocess(&f->session, &variant, &f->err));
	return variant;
}

static struct variant built(struct fixture *f, const struct hypothesis *hypothesis, const struct build_config *config,
                            const struct variant *same_as)
{
	struct variant variant = prepared(f, hypothesis, config);
	expect_ok(f, build_compile(&f->session, &variant, same_as, &f->err));
	expect_ok(f, build_link(&f->session, &variant, &f->err));
	if (variant.failure)
		fail_msg("%s", variant.failure);
	return variant;
}

static bool has(const struct string_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->at[i], text) == 0)
			return true;
	return false;
}

static bool equal_files(struct fixture *f, const char *a, const char *b)
{
	const char *one, *two;
	size_t one_size, two_size;
	expect_ok(f, file_read(arena_of(f), a, &one, &one_size, &f->err));
	expect_ok(f, file_read(arena_of(f), b, &two, &two_size, &f->err));
	return one_size == two_size && memcmp(one, two, one_size) == 0;
}

static bool installed(struct fixture *f, const char *cc)
{
	struct proc_request request = {.cpu = -1, .timeout_s = 10};
	struct proc_result result;
	list_push(arena_of(f), &request.argv, cc);
	list_push(arena_of(f), &request.argv, "--version");
	return proc_run(arena_of(f), &request, &result, &f->err) == ST_OK && proc_ok(&result);
}

static void a_workload_is_built_and_equal_source_gives_equal_objects(void **state)
{
	struct fixture *f = *state;
	load(f);
	struct hypothesis nothing =
	    patch_of(f, "--- a/include/limit.h\n+++ b/include/limit.h\n@@ -1,2 +1,2 @@\n #define LIMIT 10\n-#define UNUSED 1\n"
	                "+#define UNUSED 2\n");
	struct hypothesis change = patch_of(
	    f, "--- a/include/limit.h\n+++ b/include/limit.h\n@@ -1,2 +1,2 @@\n-#define LIMIT 10\n+#define LIMIT 11\n #define "
	       "UNUSED 1\n");
	const char *before = listing(f);
	static const char *const compilers[] = {"gcc", "gcc-12", "clang", "clang-19"};
	unsigned tried = 0;
	for (size_t c = 0; c < sizeof compilers / sizeof *compilers; c++) {
		if (!installed(f, compilers[c]))
			continue;
		tried++;
		struct build_config config = {compilers[c], "-O2 -g"};
		struct variant baseline = built(f, NULL, &config, NULL);
		assert_int_equal(baseline.units.count, 3);
		assert_string_equal(baseline.units.at[1].source, "lib/calc.c");
		assert_true(has(&baseline.units.at[0].depends, "bench/calc.c"));
		assert_true(has(&baseline.units.at[0].depends, "include/calc.h"));
		assert_true(has(&baseline.units.at[1].depends, "include/limit.h"));
		assert_false(has(&baseline.units.at[2].depends, "include/limit.h"));
		struct variant same = built(f, &nothing, &config, &baseline);
		struct variant other = built(f, &change, &config, &baseline);
		assert_int_equal(strlen(same.tree), strlen(baseline.tree));
		assert_int_equal(strlen(same.place), strlen(baseline.place));
		assert_string_not_equal(same.program, baseline.program);
		/* The unit that reads the changed header is compiled again and comes out equal, __FILE__ and -g included. */
		assert_string_not_equal(same.units.at[1].object, baseline.units.at[1].object);
		assert_true(equal_files(f, same.units.at[1].object, baseline.units.at[1].object));
		assert_true(equal_files(f, same.program, baseline.program));
		/* What doesn't read it is taken over. */
		assert_string_equal(same.units.at[2].object, baseline.units.at[2].object);
		/* "../include/limit.h" is the candidate's own. */
		assert_false(equal_files(f, other.units.at[1].object, baseline.units.at[1].object));
		struct variant copy;
		expect_ok(f, build_copy(&f->session, &baseline, &copy, &f->err));
		assert_int_equal(strlen(copy.program), strlen(baseline.program));
		assert_string_not_equal(copy.program, baseline.program);
		assert_true(equal_files(f, copy.program, baseline.program));
		assert_int_equal(access(copy.program, X_OK), 0);
	}
	assert_true(tried > 0);
	assert_string_equal(listing(f), before);
	const char *workdir = arena_strdup(arena_of(f), f->session.workdir);
	build_close(&f->session);
	assert_int_equal(access(workdir, F_OK), -1);
}

static struct variant compiled_anew(struct fixture *f, const struct build_config *config)
{
	build_close(&f->session);
	struct variant variant = prepared(f, NULL, config);
	expect_ok(f, build_compile(&f->session, &variant, NULL, &f->err));
	return variant;
}

static void objects_are_taken_from_an_earlier_run(void **state)
{
	struct fixture *f = *state;
	load(f);
	const char *folder = at(f, "objects");
	struct build_config config = {"gcc", "-O2 -g"};
	struct variant fresh = compiled_anew(f, &config);
	assert_int_equal(fresh.units.count, 3);
	for (size_t i = 0; i < 3; i++) {
		const char *text;
		size_t size;
		expect_ok(f, file_read(arena_of(f), fresh.units.at[i].object, &text, &size, &f->err));
		expect_ok(f, file_write(at(f, arena_printf(arena_of(f), "fresh%zu", i)), text, size, &f->err));
	}
	/* What is kept and what is taken equals what is compiled, to the byte, in another working folder. */
	f->session.objects.folder = folder;
	for (int round = 0; round < 2; round++) {
		struct variant kept = compiled_anew(f, &config);
		for (size_t i = 0; i < 3; i++)
			assert_true(equal_files(f, kept.units.at[i].object, at(f, arena_printf(arena_of(f), "fresh%zu", i))));
	}
	/* And it is taken: put other things in its place. */
	char *const roots[] = {(char *)folder, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL, NULL);
	unsigned entries = 0;
	for (FTSENT *entry; (entry = fts_read(walk));)
		if (entry->fts_info == FTS_F) {
			cache_put(folder, entry->fts_name, at(f, "assay.yaml"));
			entries++;
		}
	fts_close(walk);
	assert_int_equal(entries, 3);
	put(f, "lib/other.c", "int other(int x) { return x * 4; }\n");
	struct variant mixed = compiled_anew(f, &config);
	assert_true(equal_files(f, mixed.units.at[0].object, at(f, "assay.yaml")));
	assert_true(equal_files(f, mixed.units.at[1].object, at(f, "assay.yaml")));
	assert_false(equal_files(f, mixed.units.at[2].object, at(f, "assay.yaml"))); /* its text has changed */
	struct build_config level = {"gcc", "-O1 -g"};
	struct variant other = compiled_anew(f, &level);
	assert_false(equal_files(f, other.units.at[1].object, at(f, "assay.yaml")));
	f->session.objects.folder = NULL;
	struct variant again = compiled_anew(f, &config);
	assert_true(equal_files(f, again.units.at[1].object, at(f, "fresh1")));
}

static void defines_flags_and_compilers_share_the_copy(void **state)
{
	struct fixture *f = *state;
	load(f);
	struct build_config config = {"gcc", "-O2"};
	struct variant baseline = built(f, NULL, &config, NULL);
	static const struct {
		enum candidate_kind kind;
		const char *text, *word;
	} table[] = {
	    {CANDIDATE_DEFINE, "WIDE=1", "-DWIDE=1"}, {CANDIDATE_FLAGS, "-O3 -funroll-loops", "-funroll-loops"}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct hypothesis *hypothesis = NULL;
		expect_ok(f, hypothesize_one(&f->session, table[i].kind, table[i].text, NULL, NULL, &hypothesis, &f->err));
		struct variant candidate = built(f, hypothesis, &config, &baseline);
		assert_string_equal(candidate.tree, baseline.tree);
		assert_string_not_equal(candidate.place, baseline.place);
		assert_true(has(&candidate.units.at[1].argv, table[i].word));
		struct string_list changed;
		expect_ok(f, build_changed_files(&f->session, hypothesis, &changed, &f->err));
		assert_int_equal(changed.count, 0);
	}
	struct hypothesis *lto = NULL;
	expect_ok(f, hypothesize_one(&f->session, CANDIDATE_FLAGS, "-flto", NULL, NULL, &lto, &f->err));
	struct variant refused;
	expect_ok(f, build_prepare(&f->session, lto, f->session.project.workloads.at[0], NULL, &config, &refused, &f->err));
	assert_non_null(strstr(refused.failure, "-flto can't be tried"));
}

static void failures_are_sentences_of_the_variant(void **state)
{
	struct fixture *f = *state;
	load(f);
	struct build_config config = {"gcc", "-O2"}, none = {"gcc-99", ""};
	struct variant variant;
	variant = prepared(f, NULL, &none);
	assert_non_null(strstr(variant.failure,
	                       "can't start gcc-99: No such file or directory: install it or name another with --cc"));
	struct hypothesis broken =
	    patch_of(f, "--- a/lib/other.c\n+++ b/lib/other.c\n@@ -1 +1 @@\n-int other(int x) { return x * 3; }\n+int other(int x) "
	                "{ return y; }\n");
	variant = prepared(f, &broken, &config);
	assert_null(variant.failure);
	expect_ok(f, build_compile(&f->session, &variant, NULL, &f->err));
	assert_non_null(strstr(variant.failure, "lib/other.c:1:"));
	assert_non_null(strstr(variant.failure, "undeclared"));
	assert_null(strstr(variant.failure, f->session.workdir));
	expect_ok(f, build_link(&f->session, &variant, &f->err));
	assert_null(variant.program);
	struct hypothesis removed = patch_of(f, "--- a/lib/other.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-int other(int x) { return x * "
	                                        "3; }\n");
	expect_ok(f, build_prepare(&f->session, &removed, f->session.project.workloads.at[0], NULL, &config, &variant, &f->err));
	assert_non_null(strstr(variant.failure, "compiles lib/other.c, which is neither in"));
	struct hypothesis unfit = patch_of(f, "--- a/lib/other.c\n+++ b/lib/other.c\n@@ -1 +1 @@\n-nothing of the kind\n+x\n");
	expect_ok(f, build_prepare(&f->session, &unfit, f->session.project.workloads.at[0], NULL, &config, &variant, &f->err));
	assert_non_null(strstr(variant.failure, "does not apply to lib/other.c: hunk 1 (line 1"));
	put(f, "lib/calc.c", "int calc(int x);\n");
	build_close(&f->session);
	variant = prepared(f, NULL, &config);
	expect_ok(f, build_compile(&f->session, &variant, NULL, &f->err));
	assert_null(variant.failure);
	expect_ok(f, build_link(&f->session, &variant, &f->err));
	assert_non_null(strstr(variant.failure, "undefined reference to `calc"));
}

static void command(struct fixture *f, const char *file, const char *words, bool guessed)
{
	struct compile_command one = {
	    .file = at(f, file), .directory = at(f, "out"), .guessed = guessed};
	assert_true(shell_split(arena_of(f), words, &one.argv));
	list_push(arena_of(f), &one.argv, at(f, file));
	list_push(arena_of(f), &f->session.commands, one);
}

static void database_units_write_nothing_beside_their_objects(void **state)
{
	struct fixture *f = *state;
	load(f);
	put(f, "out/config.h", "#define CONFIGURED 1\n");
	put(f, "lib/flags", "-MD -MF fromfile.d -DFROM_FILE");
	command(f, "lib/calc.c",
	        "cc -Wall -Wno-such-warning-as-this -Werror -include config.h -I../include -O0 -g -c -o calc.o -MD -MF calc.d -MT x "
	        "-save-temps=obj -fstack-usage --coverage -fprofile-arcs -fdump-tree-all -Wp,-MMD,z.d -gsplit-dwarf "
	        "-fcallgraph-info -flto @../lib/flags",
	        false);
	command(f, "lib/other.c", "cc -c -o other.o", false);
	struct hypothesis change = patch_of(
	    f, "--- a/include/limit.h\n+++ b/include/limit.h\n@@ -1,2 +1,2 @@\n-#define LIMIT 10\n+#define LIMIT 11\n #define "
	       "UNUSED 1\n");
	struct string_list changed;
	expect_ok(f, build_changed_files(&f->session, &change, &changed, &f->err));
	assert_int_equal(changed.count, 1);
	assert_string_equal(changed.at[0], "include/limit.h");
	struct build_config config = {"gcc", "-O2"};
	const char *before = listing(f);
	struct variant baseline, candidate;
	expect_ok(f, build_prepare(&f->session, NULL, NULL, &changed, &config, &baseline, &f->err));
	expect_ok(f, build_prepare(&f->session, &change, NULL, &changed, &config, &candidate, &f->err));
	assert_int_equal(baseline.units.count, 1); /* other.c doesn't read the header */
	assert_string_equal(baseline.units.at[0].source, "lib/calc.c");
	assert_true(baseline.units.at[0].from_database);
	assert_false(has(&baseline.units.at[0].argv, "-O0"));
	assert_true(has(&baseline.units.at[0].argv, "-O2"));
	assert_true(has(&baseline.units.at[0].argv, "-DFROM_FILE"));
	expect_ok(f, build_preprocess(&f->session, &baseline, &f->err));
	expect_ok(f, build_preprocess(&f->session, &candidate, &f->err));
	assert_true(has(&baseline.units.at[0].depends, "out/config.h"));
	expect_ok(f, build_compile(&f->session, &baseline, NULL, &f->err));
	expect_ok(f, build_compile(&f->session, &candidate, &baseline, &f->err));
	if (baseline.failure || candidate.failure)
		fail_msg("%s", baseline.failure ? baseline.failure : candidate.failure);
	assert_false(equal_files(f, baseline.units.at[0].object, candidate.units.at[0].object));
	assert_string_equal(listing(f), before);
	/* Nor in the copy: only the preprocessed text and the object, in the place. */
	const char *stray = path_join(arena_of(f), baseline.tree, "out/calc.d");
	assert_int_equal(access(stray, F_OK), -1);
	assert_int_equal(access(path_join(arena_of(f), baseline.tree, "out/fromfile.d"), F_OK), -1);
	/* A source is its own unit; a file that nothing reads has none. */
	struct string_list own = {0}, unread = {0};
	list_push(arena_of(f), &own, "lib/other.c");
	list_push(arena_of(f), &unread, "include/unread.h");
	expect_ok(f, build_prepare(&f->session, NULL, NULL, &own, &config, &baseline, &f->err));
	assert_int_equal(baseline.units.count, 1);
	expect_ok(f, build_prepare(&f->session, NULL, NULL, &unread, &config, &baseline, &f->err));
	assert_int_equal(baseline.units.count, 0);
}

/* regcomp.c of Henry Spencer's library and its like: the parts have no command of their own. */
static void a_source_is_built_by_the_source_that_includes_it(void **state)
{
	struct fixture *f = *state;
	load(f);
	put(f, "lib/part.c", "static int part(int x) { return x * 3; }\n");
	put(f, "lib/whole.c", "#include \"part.c\"\nint whole(int x) { return part(x) + 1; }\n");
	put(f, "lib/alone.c", "int alone(int x) { return x; }\n");
	put(f, "out/made", "");
	command(f, "lib/whole.c", "cc -c -o whole.o", false);
	command(f, "lib/other.c", "cc -c -o other.o", false);
	command(f, "lib/alone.c", "cc -c -o alone.o", true);
	struct build_config config = {"gcc", "-O2"};
	struct string_list part = {0}, alone = {0};
	list_push(arena_of(f), &part, "lib/part.c");
	list_push(arena_of(f), &alone, "lib/alone.c");
	struct variant variant;
	expect_ok(f, build_prepare(&f->session, NULL, NULL, &part, &config, &variant, &f->err));
	assert_int_equal(variant.units.count, 1);
	assert_string_equal(variant.units.at[0].source, "lib/whole.c");
	assert_null(variant.incomplete);
	expect_ok(f, build_prepare(&f->session, NULL, NULL, &alone, &config, &variant, &f->err));
	assert_int_equal(variant.units.count, 0);
	assert_null(variant.incomplete);
}

static void a_workload_takes_flags_from_the_database(void **state)
{
	struct fixture *f = *state;
	load(f);
	put(f, "out/x", "");
	command(f, "lib/other.c", "cc -DKNOWN -I../include -O1 -c", false);
	struct build_config config = {"gcc", ""};
	struct variant baseline = built(f, NULL, &config, NULL);
	assert_true(has(&baseline.units.at[2].argv, "-DKNOWN"));
	assert_true(has(&baseline.units.at[2].argv, "-O1"));
	assert_false(has(&baseline.units.at[1].argv, "-DKNOWN"));
	assert_true(has(&baseline.units.at[2].argv, arena_printf(arena_of(f), "-I%s/include", baseline.tree)));
}

static void a_driver_outside_the_tree_is_compiled_where_it_is(void **state)
{
	struct fixture *f = *state;
	put(f, "study/assay.yaml", "tree: ../tree\nworkloads:\n  - name: calc\n    bench: calc.c\n    sources: [lib/calc.c, "
	                           "shim.c]\n    flags: [-Iinclude]\n");
	put(f, "study/calc.c", driver);
	put(f, "study/shim.c", "int shim;\n");
	put(f, "tree/lib/calc.c", calc_c);
	put(f, "tree/include/calc.h", "int calc(int x);\nconst char *calc_name(int x);\n");
	put(f, "tree/include/limit.h", "#define LIMIT 10\n");
	expect_ok(f, project_load(arena_of(f), at(f, "study"), NULL, &f->session.project, NULL, &f->err));
	struct build_config config = {"gcc", "-O2"};
	struct variant baseline = built(f, NULL, &config, NULL);
	assert_true(has(&baseline.units.at[0].argv, at(f, "study/calc.c")));
	assert_true(has(&baseline.units.at[1].argv, "lib/calc.c"));
	assert_true(has(&baseline.units.at[2].argv, at(f, "study/shim.c")));
	assert_true(has(&baseline.units.at[0].depends, "include/calc.h"));
}

static void a_read_only_project_is_built(void **state)
{
	struct fixture *f = *state;
	load(f);
	static const char *const names[] = {"bench", "lib", "include", ""};
	for (size_t i = 0; i < 4; i++)
		chmod(at(f, names[i]), 0555);
	struct build_config config = {"gcc", "-O2"};
	struct variant baseline = built(f, NULL, &config, NULL);
	assert_non_null(baseline.program);
}

static void interruption_is_not_a_failure(void **state)
{
	struct fixture *f = *state;
	load(f);
	static volatile sig_atomic_t pressed = 1;
	struct build_config config = {"gcc", "-O2"};
	struct variant variant;
	expect_ok(f, build_prepare(&f->session, NULL, f->session.project.workloads.at[0], NULL, &config, &variant, &f->err));
	f->session.interrupted = &pressed;
	assert_int_equal(build_preprocess(&f->session, &variant, &f->err), ST_INTERRUPTED);
	assert_null(variant.failure);
}

/* ---- hypotheses ---- */

static void edits_become_a_patch_that_builds(void **state)
{
	struct fixture *f = *state;
	load(f);
	struct finding *finding = arena_new(arena_of(f), struct finding);
	*finding = (struct finding){.id = "P99:lib/calc.c:calc:1", .pattern = "P99", .file = "lib/calc.c", .line = 5,
	                            .symbol = "calc", .claim = "c"};
	size_t offset = (size_t)(strstr(calc_c, "x + LIMIT") - calc_c);
	/* Out of order on purpose. */
	struct edit second = {"lib/calc.c", offset + 4, 5, "(LIMIT)"}, first = {"lib/calc.c", offset, 1, "1 + x"};
	list_push(arena_of(f), &finding->edits, second);
	list_push(arena_of(f), &finding->edits, first);
	struct finding *stale = arena_new(arena_of(f), struct finding);
	*stale = *finding;
	stale->id = "P99:lib/calc.c:stale:1";
	stale->edits = (struct edit_list){0};
	struct edit beyond = {"lib/calc.c", 100000, 1, "x"};
	list_push(arena_of(f), &stale->edits, beyond);
	list_push(arena_of(f), &f->session.run.findings, finding);
	list_push(arena_of(f), &f->session.run.findings, stale);
	struct decision decision = {"P99:lib/calc.c:stale", "why not"};
	list_push(arena_of(f), &f->session.project.decisions, decision);
	expect_ok(f, hypothesize_findings(&f->session, &f->err));
	assert_non_null(strstr(finding->candidate, "\n-\treturn x + LIMIT;\n+\treturn 1 + x + (LIMIT);\n"));
	assert_null(finding->deliberate);
	assert_null(stale->candidate);
	assert_string_equal(stale->deliberate, "why not");
	assert_int_equal(f->session.run.notes.count, 1);
	assert_int_equal(f->session.run.hypotheses.count, 2);
	assert_int_equal(f->session.run.hypotheses.at[0]->kind, CANDIDATE_PATCH);
	assert_int_equal(f->session.run.hypotheses.at[1]->kind, CANDIDATE_NONE);
	struct build_config config = {"gcc", "-O2"};
	built(f, f->session.run.hypotheses.at[0], &config, NULL);
}

static void claims_that_cannot_be_read_become_notes(void **state)
{
	struct fixture *f = *state;
	put(f, "good.patch", "--- lib/other.c\n+++ lib/other.c\n@@ -1 +1 @@\n-a\n+b\n");
	put(f, "fit.patch", "--- lib/other.c\n+++ lib/other.c\n@@ -1 +1 @@\n-int other(int x) { return x * 3; }\n"
	                    "+int other(int x) { return x * 5; }\n");
	put(f, "bad.patch", "no patch\n");
	put(f, "assay.yaml", "hypotheses:\n  - {name: good, patch: good.patch, claim: 3 %}\n  - {name: bad, patch: bad.patch}\n"
	                     "  - {name: missing, patch: none.patch}\n  - {name: o3, flags: -O3}\n"
	                     "  - {name: either, patch: [none.patch, good.patch, fit.patch]}\n");
	load(f);
	expect_ok(f, hypothesize_project(&f->session, &f->err));
	assert_int_equal(f->session.run.hypotheses.count, 3);
	assert_int_equal(f->session.run.notes.count, 2);
	assert_int_equal(f->session.run.untried, 2);
	assert_non_null(strstr(f->session.run.notes.at[0].text, "changes no file"));
	assert_non_null(strstr(f->session.run.notes.at[1].text, "none.patch"));
	const struct hypothesis *good = f->session.run.hypotheses.at[0];
	assert_string_equal(good->id, "patch:good");
	assert_string_equal(good->title, "good");
	assert_string_equal(good->claim, "3 %");
	assert_true(text_starts(good->text, "diff --git a/lib/other.c b/lib/other.c\n"));
	assert_true(text_starts(good->argument, "--patch /"));
	assert_string_equal(f->session.run.hypotheses.at[1]->argument, "--flags -O3");
	/* Of several the one that applies. */
	assert_string_equal(f->session.run.hypotheses.at[2]->id, "patch:either");
	assert_non_null(strstr(f->session.run.hypotheses.at[2]->argument, "/fit.patch"));
}

static void the_quickstart_is_built(void **state)
{
	struct fixture *f = *state;
	expect_ok(f, project_load(arena_of(f), ASSAY_SOURCE_DIR "/examples/quickstart", NULL, &f->session.project,
	                          &f->session.run.notes, &f->err));
	assert_int_equal(f->session.run.notes.count, 0);
	expect_ok(f, hypothesize_project(&f->session, &f->err));
	assert_int_equal(f->session.run.hypotheses.count, f->session.project.hypotheses.count);
	struct build_config config = {"gcc", "-O2"};
	for (size_t i = 0; i < f->session.project.workloads.count; i++) {
		struct variant variant;
		expect_ok(f, build_prepare(&f->session, NULL, f->session.project.workloads.at[i], NULL, &config, &variant, &f->err));
		expect_ok(f, build_preprocess(&f->session, &variant, &f->err));
		expect_ok(f, build_compile(&f->session, &variant, NULL, &f->err));
		expect_ok(f, build_link(&f->session, &variant, &f->err));
		if (variant.failure)
			fail_msg("%s", variant.failure);
	}
	for (size_t i = 0; i < f->session.run.hypotheses.count; i++) {
		struct variant variant;
		expect_ok(f, build_prepare(&f->session, f->session.run.hypotheses.at[i], f->session.project.workloads.at[0], NULL,
		                           &config, &variant, &f->err));
		if (variant.failure)
			fail_msg("%s", variant.failure);
	}
}

/* What a killed run left is removed by the next one; what a living run holds, or one that just began, is not. */
static void abandoned_folders_are_removed(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"assay-work-dead", "assay-work-held", "assay-work-young", "assay-other"};
	const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	char path[4][128];
	for (int i = 0; i < 4; i++) {
		snprintf(path[i], sizeof path[i], "%s/%s", f->dir, names[i]);
		assert_int_equal(mkdir(path[i], 0700), 0);
		if (i != 2)
			assert_int_equal(utimensat(AT_FDCWD, path[i], old, 0), 0);
	}
	int held = open(path[1], O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(held, LOCK_EX), 0);
	const char *before = getenv("TMPDIR");
	char *saved = before ? strdup(before) : NULL;
	setenv("TMPDIR", f->dir, 1);
	struct err err = ERR_INIT;
	assert_int_equal(build_open(&f->session, &err), ST_OK);
	if (saved)
		setenv("TMPDIR", saved, 1);
	else
		unsetenv("TMPDIR");
	free(saved);
	assert_int_not_equal(access(path[0], F_OK), 0);
	for (int i = 1; i < 4; i++)
		assert_int_equal(access(path[i], F_OK), 0);
	close(held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_workload_is_built_and_equal_source_gives_equal_objects, setup, teardown),
	    cmocka_unit_test_setup_teardown(objects_are_taken_from_an_earlier_run, setup, teardown),
	    cmocka_unit_test_setup_teardown(defines_flags_and_compilers_share_the_copy, setup, teardown),
	    cmocka_unit_test_setup_teardown(failures_are_sentences_of_the_variant, setup, teardown),
	    cmocka_unit_test_setup_teardown(database_units_write_nothing_beside_their_objects, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_source_is_built_by_the_source_that_includes_it, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_workload_takes_flags_from_the_database, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_driver_outside_the_tree_is_compiled_where_it_is, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_read_only_project_is_built, setup, teardown),
	    cmocka_unit_test_setup_teardown(interruption_is_not_a_failure, setup, teardown),
	    cmocka_unit_test_setup_teardown(edits_become_a_patch_that_builds, setup, teardown),
	    cmocka_unit_test_setup_teardown(claims_that_cannot_be_read_become_notes, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_quickstart_is_built, setup, teardown),
	    cmocka_unit_test_setup_teardown(abandoned_folders_are_removed, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
