/* The store keeps what was put, survives a killed writer, and says in one sentence what stands in its way. */
#include "port/store.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
	struct arena arena;
	char dir[64];
	const char *path;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	arena_init(&f->arena);
	strcpy(f->dir, "/tmp/assay-store-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	f->path = arena_printf(&f->arena, "%s/state/assay/assay.db", f->dir);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];
	snprintf(command, sizeof command, "rm -rf %s", f->dir);
	int code = system(command);
	arena_release(&f->arena);
	free(f);
	return code;
}

static struct store *opened(const char *path)
{
	struct err err = ERR_INIT;
	struct store *store = NULL;
	if (store_open(path, &store, &err) != ST_OK)
		fail_msg("%s", err.text);
	return store;
}

static void run_put(struct store *store, const char *id, const char *state)
{
	struct err err = ERR_INIT;
	struct store_run run = {.id = id, .started = "2026-12-01T10:15:00Z", .command = "assay audit", .tree = "/src",
	                        .state = state, .seconds = 1.5, .head = "{}"};
	if (store_run_put(store, &run, &err) != ST_OK)
		fail_msg("%s", err.text);
}

static struct pair pair_at(uint32_t index)
{
	return (struct pair){.block = index / 10, .index = index % 10, .candidate_first = index % 3 == 0, .iterations = 1000,
	                     .baseline_ns = 100000 + index, .candidate_ns = UINT64_C(5000000000) + index,
	                     .baseline_flags = PAIR_MIGRATED, .candidate_flags = index & 1 ? PAIR_PAGE_FAULT : 0,
	                     .metric = index & 1 ? METRIC_HIGHER : METRIC_TIME, .baseline_cpu_ns = 7 * index,
	                     .candidate_cpu_ns = UINT64_C(6000000000) + index, .baseline_value = 0.1 * index,
	                     .candidate_value = 1e300,
	                     .layout = index / 10 ? UINT64_C(0x7123456789abcdef) + index : 0};
}

static void test_keeps_what_was_put(void **state)
{
	struct fixture *f = *state;
	struct err err = ERR_INIT;
	struct store *store = opened(f->path);
	run_put(store, "20261201-101500-aaaa", "unfinished");

	struct store_document_list findings = {0};
	for (int i = 0; i < 3; i++) {
		struct store_document document = {.id = arena_printf(&f->arena, "P02:%d", 9 - i),
		                                  .json = arena_printf(&f->arena, "{\"n\": %d}", i)};
		list_push(&f->arena, &findings, document);
	}
	assert_int_equal(store_documents_put(store, "20261201-101500-aaaa", STORE_FINDING, &findings, &err), ST_OK);
	struct store_document again = {.id = "P02:8", .json = "{\"n\": 77}"};
	struct store_document_list one = {.at = &again, .count = 1, .cap = 1};
	assert_int_equal(store_documents_put(store, "20261201-101500-aaaa", STORE_FINDING, &one, &err), ST_OK);
	for (uint32_t i = 0; i < 25; i++) {
		struct pair pair = pair_at(i);
		assert_int_equal(store_pair_put(store, "20261201-101500-aaaa", "t1", i >= 20, &pair, &err), ST_OK);
	}
	run_put(store, "20261201-101500-aaaa", "done");
	store_close(store);

	store = opened(f->path);
	struct store_document_list got;
	assert_int_equal(store_documents_get(store, &f->arena, "20261201-101500-aaaa", STORE_FINDING, &got, &err), ST_OK);
	assert_int_equal(got.count, 3);
	assert_string_equal(got.at[0].id, "P02:9");
	assert_string_equal(got.at[1].json, "{\"n\": 77}");
	struct pair_list pairs;
	assert_int_equal(store_pairs_get(store, &f->arena, "20261201-101500-aaaa", "t1", false, &pairs, &err), ST_OK);
	assert_int_equal(pairs.count, 20);
	for (uint32_t i = 0; i < 20; i++) {
		struct pair want = pair_at(i);
		assert_int_equal(pairs.at[i].block, want.block);
		assert_int_equal(pairs.at[i].index, want.index);
		assert_int_equal(pairs.at[i].candidate_first, want.candidate_first);
		assert_int_equal(pairs.at[i].iterations, want.iterations);
		assert_int_equal(pairs.at[i].baseline_ns, want.baseline_ns);
		assert_int_equal(pairs.at[i].candidate_ns, want.candidate_ns);
		assert_int_equal(pairs.at[i].baseline_flags, want.baseline_flags);
		assert_int_equal(pairs.at[i].candidate_flags, want.candidate_flags);
		assert_true(pairs.at[i].layout == want.layout);
		assert_int_equal(pairs.at[i].metric, want.metric);
		assert_true(pairs.at[i].baseline_cpu_ns == want.baseline_cpu_ns);
		assert_true(pairs.at[i].candidate_cpu_ns == want.candidate_cpu_ns);
		assert_true(pairs.at[i].baseline_value == want.baseline_value);
		assert_true(pairs.at[i].candidate_value == want.candidate_value);
	}
	assert_int_equal(store_pairs_get(store, &f->arena, "20261201-101500-aaaa", "t1", true, &pairs, &err), ST_OK);
	assert_int_equal(pairs.count, 5);
	store_close(store);
}

static void test_finds_runs(void **state)
{
	struct fixture *f = *state;
	struct err err = ERR_INIT;
	struct store *store = opened(f->path);
	struct store_run run;
	assert_int_equal(store_run_find(store, &f->arena, "last", &run, &err), ST_USAGE);
	assert_non_null(strstr(err.text, "holds no run yet"));
	run_put(store, "20261201-101500-aaaa", "done");
	run_put(store, "20261201-101500-aabb", "done");
	run_put(store, "20261202-101500-cccc", "interrupted");
	err = ERR_INIT;
	assert_int_equal(store_run_find(store, &f->arena, "last", &run, &err), ST_OK);
	assert_string_equal(run.id, "20261202-101500-cccc");
	assert_string_equal(run.state, "interrupted");
	assert_int_equal(store_run_find(store, &f->arena, "20261202", &run, &err), ST_OK);
	assert_int_equal(store_run_find(store, &f->arena, "20261201-101500-aaaa", &run, &err), ST_OK);
	assert_string_equal(run.id, "20261201-101500-aaaa");
	assert_int_equal(store_run_find(store, &f->arena, "20261201", &run, &err), ST_USAGE);
	assert_non_null(strstr(err.text, "20261201-101500-aabb or 20261201-101500-aaaa"));
	err = ERR_INIT;
	assert_int_equal(store_run_find(store, &f->arena, "2027", &run, &err), ST_USAGE);
	assert_non_null(strstr(err.text, "no run '2027'"));
	err = ERR_INIT;
	assert_int_equal(store_run_find(store, &f->arena, "%", &run, &err), ST_USAGE);
	struct store_run_list runs;
	err = ERR_INIT;
	assert_int_equal(store_run_list(store, &f->arena, 2, &runs, &err), ST_OK);
	assert_int_equal(runs.count, 2);
	assert_string_equal(runs.at[0].id, "20261202-101500-cccc");
	store_close(store);
}

static void test_finds_the_newest_finding(void **state)
{
	struct fixture *f = *state;
	struct err err = ERR_INIT;
	struct store *store = opened(f->path);
	const char *run = NULL, *json = NULL;
	for (int i = 0; i < 2; i++) {
		const char *id = i ? "20261201-101501-bbbb" : "20261201-101500-aaaa";
		run_put(store, id, "done");
		struct store_document document = {.id = "P02:a.c:f:0001", .json = i ? "{\"new\": true}" : "{}"};
		struct store_document_list one = {.at = &document, .count = 1, .cap = 1};
		assert_int_equal(store_documents_put(store, id, STORE_FINDING, &one, &err), ST_OK);
	}
	assert_int_equal(store_finding_last(store, &f->arena, "P02:a.c:f:0001", &run, &json, &err), ST_OK);
	assert_string_equal(run, "20261201-101501-bbbb");
	assert_string_equal(json, "{\"new\": true}");
	assert_int_equal(store_finding_last(store, &f->arena, "P09:a.c:f:0001", &run, &json, &err), ST_OK);
	assert_null(json);
	store_close(store);
}

/* The writer tells the number of each pair that it has put through a pipe, and dies in the middle of its work. */
static void test_killed_writer_loses_no_committed_pair(void **state)
{
	struct fixture *f = *state;
	store_close(opened(f->path));
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		struct err err = ERR_INIT;
		struct store *store = NULL;
		if (store_open(f->path, &store, &err) != ST_OK)
			_exit(1);
		struct store_run run = {.id = "20261201-101500-dead", .started = "2026", .command = "assay try", .tree = "/src",
		                        .state = "unfinished", .head = "{}"};
		if (store_run_put(store, &run, &err) != ST_OK)
			_exit(1);
		for (uint32_t i = 0;; i++) {
			struct pair pair = pair_at(i);
			if (store_pair_put(store, run.id, "t1", false, &pair, &err) != ST_OK || write(ends[1], &i, sizeof i) < 0)
				_exit(1);
		}
	}
	close(ends[1]);
	uint32_t seen = 0, last = 0;
	while (last < 500 && read(ends[0], &seen, sizeof seen) == (ssize_t)sizeof seen)
		last = seen;
	assert_true(last >= 500);
	kill(child, SIGKILL);
	int wait_status = 0;
	waitpid(child, &wait_status, 0);
	assert_true(WIFSIGNALED(wait_status));
	while (read(ends[0], &seen, sizeof seen) == (ssize_t)sizeof seen)
		last = seen;
	close(ends[0]);

	struct err err = ERR_INIT;
	struct store *store = opened(f->path);
	struct pair_list pairs;
	assert_int_equal(store_pairs_get(store, &f->arena, "20261201-101500-dead", "t1", false, &pairs, &err), ST_OK);
	/* All that were acknowledged, and at most one more that was committed but not yet told. */
	assert_true(pairs.count == last + 1u || pairs.count == last + 2u);
	for (uint32_t i = 0; i < pairs.count; i++)
		assert_int_equal(pairs.at[i].candidate_ns, pair_at(i).candidate_ns);
	struct store_run run;
	assert_int_equal(store_run_find(store, &f->arena, "last", &run, &err), ST_OK);
	assert_string_equal(run.state, "unfinished");
	store_close(store);
}

static enum status fill(struct store *store, struct err *err)
{
	run_put(store, "20261201-101500-aaaa", "unfinished");
	for (uint32_t i = 0; i < 200000; i++) {
		struct pair pair = pair_at(i);
		if (store_pair_put(store, "20261201-101500-aaaa", "t1", false, &pair, err) != ST_OK)
			return err->code;
	}
	return ST_OK;
}

static void test_full_file_is_one_sentence(void **state)
{
	struct fixture *f = *state;
	struct err err = ERR_INIT;
	struct store *store = opened(f->path);
	store_limit_pages(store, 40);
	assert_int_equal(fill(store, &err), ST_SYSTEM);
	assert_non_null(strstr(err.text, "the disk is full: make room there"));
	assert_non_null(strstr(err.text, f->path));
	/* What was kept before stays readable. */
	struct pair_list pairs;
	struct err read_err = ERR_INIT;
	assert_int_equal(store_pairs_get(store, &f->arena, "20261201-101500-aaaa", "t1", false, &pairs, &read_err), ST_OK);
	assert_true(pairs.count > 100);
	store_close(store);
}

static void test_full_disk_is_one_sentence(void **state)
{
	struct fixture *f = *state;
	const char *folder = arena_printf(&f->arena, "%s/small", f->dir);
	assert_int_equal(mkdir(folder, 0700), 0);
	if (mount("tmpfs", folder, "tmpfs", 0, "size=256k") != 0) {
		print_message("skipped: mounting a small tmpfs is not permitted here\n");
		skip();
	}
	struct err err = ERR_INIT;
	struct store *store = NULL;
	enum status status = store_open(arena_printf(&f->arena, "%s/assay.db", folder), &store, &err);
	if (status == ST_OK)
		status = fill(store, &err);
	store_close(store);
	umount(folder);
	assert_int_equal(status, ST_SYSTEM);
	assert_non_null(strstr(err.text, "the disk is full"));
}

static void test_file_size_limit_is_one_sentence(void **state)
{
	struct fixture *f = *state;
	pid_t child = fork();
	if (child == 0) {
		signal(SIGXFSZ, SIG_IGN);
		struct rlimit limit = {200 * 1024, 200 * 1024};
		setrlimit(RLIMIT_FSIZE, &limit);
		struct err err = ERR_INIT;
		struct store *store = NULL;
		if (store_open(f->path, &store, &err) == ST_OK)
			for (uint32_t i = 0; i < 200000 && err.code == ST_OK; i++) {
				struct pair pair = pair_at(i);
				struct store_run run = {.id = "r", .started = "2026", .command = "assay", .state = "done", .head = "{}"};
				if (i == 0 && store_run_put(store, &run, &err) != ST_OK)
					break;
				if (store_pair_put(store, "r", "t1", false, &pair, &err) != ST_OK)
					break;
			}
		_exit(err.code == ST_SYSTEM && strstr(err.text, f->path) ? 0 : 1);
	}
	int wait_status = 0;
	waitpid(child, &wait_status, 0);
	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), 0);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_damaged_file_is_one_sentence(void **state)
{
	struct fixture *f = *state;
	store_close(opened(f->path));
	char text[8192];
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	write_file(f->path, text);
	struct store *store = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(store_open(f->path, &store, &err), ST_INPUT);
	assert_null(store);
	assert_non_null(strstr(err.text, "is damaged"));
	assert_non_null(strstr(err.text, "mv "));
}

static void test_damage_inside_is_one_sentence(void **state)
{
	struct fixture *f = *state;
	struct store *store = opened(f->path);
	run_put(store, "20261201-101500-aaaa", "done");
	store_close(store);
	/* All pages but the first become noise. */
	int fd = open(f->path, O_RDWR);
	assert_true(fd >= 0);
	struct stat info;
	assert_int_equal(fstat(fd, &info), 0);
	for (off_t at = 4096; at < info.st_size; at += 16)
		assert_int_equal(pwrite(fd, "\377\376\375\374noisenoise!", 15, at), 15);
	close(fd);
	struct err err = ERR_INIT;
	struct store_run_list runs;
	enum status status = store_open(f->path, &store, &err);
	if (status == ST_OK)
		status = store_run_list(store, &f->arena, 0, &runs, &err);
	store_close(store);
	assert_int_equal(status, ST_INPUT);
	assert_non_null(strstr(err.text, "is damaged"));
}

static void sql(const char *path, const char *text)
{
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void test_false_schema_is_one_sentence(void **state)
{
	struct fixture *f = *state;
	store_close(opened(f->path));
	sql(f->path, "PRAGMA user_version = 2");
	struct store *store = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(store_open(f->path, &store, &err), ST_INPUT);
	assert_null(store);
	assert_non_null(strstr(err.text, "says that it has schema 2"));
	assert_non_null(strstr(err.text, "move it away (mv "));
}

static void test_newer_file_is_refused(void **state)
{
	struct fixture *f = *state;
	store_close(opened(f->path));
	sql(f->path, "PRAGMA user_version = 999");
	struct store *store = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(store_open(f->path, &store, &err), ST_INPUT);
	assert_non_null(strstr(err.text, "newer assay (schema 999"));
}

static int version_callback(void *context, int count, char **values, char **names)
{
	(void)names;
	if (count == 1 && values[0])
		*(int *)context = atoi(values[0]);
	return 0;
}

/* An empty file is schema 0: every step runs, the last one leaves its number, all tables are strict. */
static void test_migrates_from_the_start(void **state)
{
	struct fixture *f = *state;
	const char *path = arena_printf(&f->arena, "%s/plain.db", f->dir);
	sql(path, "PRAGMA user_version = 0; CREATE TABLE of_others (x)");
	store_close(opened(path));
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	int version = -1, strict = -1, others = -1;
	sqlite3_exec(db, "PRAGMA user_version", version_callback, &version, NULL);
	sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%STRICT'", version_callback,
	             &strict, NULL);
	sqlite3_exec(db, "SELECT count(*) FROM of_others", version_callback, &others, NULL);
	sqlite3_close(db);
	assert_int_equal(version, store_schema_version());
	assert_int_equal(strict, 11);
	assert_int_equal(others, 0);
}

/* A file of schema 2, before plans were kept: its samples stay, as built, and no measurement is known of them. */
static void test_migrates_from_schema_2(void **state)
{
	struct fixture *f = *state;
	struct err err = ERR_INIT;
	store_close(opened(f->path));
	sql(f->path, "DROP TABLE measurement; ALTER TABLE sample DROP COLUMN layout;"
	    "ALTER TABLE sample DROP COLUMN metric; ALTER TABLE sample DROP COLUMN baseline_cpu_ns;"
	    "ALTER TABLE sample DROP COLUMN candidate_cpu_ns; ALTER TABLE sample DROP COLUMN baseline_value;"
	    "ALTER TABLE sample DROP COLUMN candidate_value; DROP TABLE survey; DROP TABLE survey_measurement; DROP TABLE survey_value; DROP TABLE survey_sample; PRAGMA user_version = 2;"
	             "INSERT INTO run (key, id, started, command, state, seconds, head)"
	             " VALUES (7, 'old', '2026-12-01T10:15:00Z', 'assay audit', 'done', 1.5, '{}');"
	             "INSERT INTO sample VALUES (7, 't1', 0, 3, 4, 1, 1000, 111, 222, 0, 4), (7, 't1', 1, 0, 0, 0, 1, 2, 3, 0, 0)");
	struct store *store = opened(f->path);
	struct pair_list pairs;
	assert_int_equal(store_pairs_get(store, &f->arena, "old", "t1", 0, &pairs, &err), ST_OK);
	assert_int_equal(pairs.count, 1);
	assert_int_equal(pairs.at[0].block, 3);
	assert_int_equal(pairs.at[0].candidate_ns, 222);
	assert_int_equal(pairs.at[0].layout, 0);
	assert_int_equal(pairs.at[0].metric, METRIC_TIME);
	struct measurement measurement;
	bool ended = true;
	assert_int_equal(store_measurement_get(store, &f->arena, "old", "t1", 0, &measurement, &ended, &err), ST_OK);
	assert_false(ended);
	store_close(store);
}

/* A file of schema 4, before workloads had several threads: its measurements are of one. */
static void test_migrates_from_schema_4(void **state)
{
	struct fixture *f = *state;
	struct err err = ERR_INIT;
	store_close(opened(f->path));
	sql(f->path, "ALTER TABLE measurement DROP COLUMN threads; ALTER TABLE measurement DROP COLUMN cpus;"
	    "ALTER TABLE measurement DROP COLUMN from_cpu; ALTER TABLE measurement DROP COLUMN to_cpu;"
	    "ALTER TABLE measurement DROP COLUMN transfer_ns; ALTER TABLE measurement DROP COLUMN private_ns;"
	    "ALTER TABLE measurement DROP COLUMN bursts; DROP TABLE survey; DROP TABLE survey_measurement; DROP TABLE survey_value; DROP TABLE survey_sample; PRAGMA user_version = 4;"
	             "INSERT INTO run (key, id, started, command, state, seconds, head)"
	             " VALUES (7, 'old', '2026-12-01T10:15:00Z', 'assay audit', 'done', 1.5, '{}');"
	             "INSERT INTO measurement VALUES (7, 't1', 0, 5, 0.01, 0.01, 60, 200000, 3, 1, 0, 'budget', NULL, 0, 99, 0, 1, 2)");
	struct store *store = opened(f->path);
	struct measurement measurement;
	bool ended = false;
	assert_int_equal(store_measurement_get(store, &f->arena, "old", "t1", 0, &measurement, &ended, &err), ST_OK);
	assert_true(ended);
	assert_int_equal(measurement.iterations, 99);
	assert_int_equal(measurement.transfer.threads, 0);
	assert_null(measurement.transfer.cpus);
	store_close(store);
}

/* A file of schema 5, before there were surveys: what it holds stays, and surveys can be kept, bit for bit. */
static void test_surveys_migrate_and_are_kept(void **state)
{
	struct fixture *f = *state;
	struct err err = ERR_INIT;
	store_close(opened(f->path));
	sql(f->path, "DROP TABLE survey; DROP TABLE survey_measurement; DROP TABLE survey_value; DROP TABLE survey_sample;"
	             "PRAGMA user_version = 5;"
	             "INSERT INTO run (key, id, started, command, state, seconds, head)"
	             " VALUES (7, 'r', '2026-12-01T10:15:00Z', 'assay audit', 'done', 1.5, '{}');"
	             "INSERT INTO trial VALUES (7, 't1', 0, '{}')");
	struct store *store = opened(f->path);
	struct store_document_list documents;
	assert_int_equal(store_documents_get(store, &f->arena, "r", STORE_TRIAL, &documents, &err), ST_OK);
	assert_int_equal(documents.count, 1);
	const char *failures[3] = {NULL, "killed by SIGSEGV", NULL};
	uint64_t bytes[3] = {4096, 0, UINT64_C(1) << 40};
	struct survey_measurement got, put = {
		.plan = {.seed = UINT64_C(0xfedcba9876543210), .alpha = 0.01 / 3, .margin = 0.1 / 7, .budget_s = 1e-2 / 3,
		         .pairs_per_block = 5, .cpu = CPU_ANY},
		.values = 3, .baseline = 2, .candidates = 2, .stop = STOP_FAILED, .failure = "the baseline failed",
		.failures = failures, .bytes_per_iteration = bytes, .measured_s = 1.0 / 3, .elapsed_s = 2.0 / 3};
	bool ended = true;
	assert_int_equal(store_survey_measurement_put(store, "r", "s1", &put, false, &err), ST_OK);
	for (uint32_t i = 0; i < 12; i++) {
		struct round_sample samples[4] = {{.iterations = 10 + i, .ns = UINT64_C(1) << 41, .flags = i % 3, .place = i % 2},
		                                  {.iterations = 0, .ns = 99},
		                                  {.iterations = 7, .ns = i, .place = 1 - i % 2},
		                                  {.iterations = 8, .ns = 1000 * i, .flags = 4, .place = 2}};
		struct round round = {.block = i / 4, .index = i % 4, .samples = samples};
		assert_int_equal(store_round_put(store, "r", "s1", &round, 4, &err), ST_OK);
	}
	assert_int_equal(store_survey_measurement_get(store, &f->arena, "r", "s1", &got, &ended, &err), ST_OK);
	assert_false(ended);
	assert_int_equal(got.rounds.count, 12);
	assert_int_equal(store_survey_measurement_put(store, "r", "s1", &put, true, &err), ST_OK);
	store_close(store);
	store = opened(f->path);
	assert_int_equal(store_survey_measurement_get(store, &f->arena, "r", "s1", &got, &ended, &err), ST_OK);
	assert_true(ended);
	assert_true(got.plan.seed == put.plan.seed && got.plan.alpha == put.plan.alpha && got.plan.margin == put.plan.margin);
	assert_true(got.values == 3 && got.baseline == 2 && got.candidates == 2 && got.stop == STOP_FAILED && got.blocks == 3);
	assert_string_equal(got.failures[1], "killed by SIGSEGV");
	assert_true(!got.failures[0] && got.bytes_per_iteration[2] == UINT64_C(1) << 40);
	const struct round *round = &got.rounds.at[5];
	assert_true(round->block == 1 && round->index == 1 && round->samples[0].iterations == 15);
	assert_true(round->samples[0].ns == UINT64_C(1) << 41 && round->samples[0].flags == 2 && round->samples[0].place == 1);
	assert_true(round->samples[1].iterations == 0 && round->samples[2].ns == 5 && round->samples[3].ns == 5000);
	store_close(store);
	/* Numbers that would lead beyond arrays of so many values are as good as none. */
	static const char *const damage[] = {"candidates = 3", "candidates = 4000000000", "candidates = -1", "baseline = 3",
	                                     "value_count = 1000", "value_count = 0"};
	for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
		sql(f->path, arena_printf(&f->arena, "UPDATE survey_measurement SET candidates = 2, baseline = 2, value_count = 3;"
		                               "UPDATE survey_measurement SET %s", damage[i]));
		store = opened(f->path);
		assert_int_equal(store_survey_measurement_get(store, &f->arena, "r", "s1", &got, &ended, &err), ST_OK);
		assert_true(got.values == 0 && got.rounds.count == 0 && !ended);
		store_close(store);
	}
}

/* Bit for bit: a verdict is computed from it again. */
static void test_keeps_plan_and_outcome(void **state)
{
	struct fixture *f = *state;
	struct err err = ERR_INIT;
	struct store *store = opened(f->path);
	run_put(store, "r", "unfinished");
	struct measurement put = {
		.plan = {.seed = UINT64_C(0xfedcba9876543210), .alpha = 0.01 / 3, .margin = 0.1 / 7, .budget_s = 1e-2 / 3,
		         .sample_target_ns = 200000, .pairs_per_block = 5, .cpu = CPU_ANY, .layouts = 16},
		.stop = STOP_FAILED, .failure = "the candidate failed", .candidate_failed = true, .iterations = 77,
		.bytes_per_iteration = 4096, .measured_s = 1.0 / 3, .elapsed_s = 2.0 / 3,
		.transfer = {.threads = 2, .cpus = "3,1", .between = {3, 1}, .shared_ns = 170.0 / 3, .private_ns = 25.0 / 3, .bursts = 400}};
	bool ended = true;
	struct measurement got;
	assert_int_equal(store_measurement_put(store, "r", "t1", 2, &put, false, &err), ST_OK);
	assert_int_equal(store_measurement_get(store, &f->arena, "r", "t1", 2, &got, &ended, &err), ST_OK);
	assert_false(ended);
	for (uint32_t i = 0; i < 25; i++) {
		struct pair pair = pair_at(i);
		assert_int_equal(store_pair_put(store, "r", "t1", 2, &pair, &err), ST_OK);
	}
	assert_int_equal(store_measurement_put(store, "r", "t1", 2, &put, true, &err), ST_OK);
	store_close(store);
	store = opened(f->path);
	assert_int_equal(store_measurement_get(store, &f->arena, "r", "t1", 2, &got, &ended, &err), ST_OK);
	assert_true(ended);
	assert_true(got.plan.seed == put.plan.seed);
	assert_true(got.plan.alpha == put.plan.alpha && got.plan.margin == put.plan.margin);
	assert_true(got.plan.budget_s == put.plan.budget_s);
	assert_int_equal(got.plan.sample_target_ns, 200000);
	assert_int_equal(got.plan.pairs_per_block, 5);
	assert_int_equal(got.plan.cpu, CPU_ANY);
	assert_int_equal(got.plan.layouts, 16);
	assert_int_equal(got.stop, STOP_FAILED);
	assert_string_equal(got.failure, "the candidate failed");
	assert_true(got.candidate_failed);
	assert_int_equal(got.iterations, 77);
	assert_int_equal(got.bytes_per_iteration, 4096);
	assert_true(got.measured_s == put.measured_s && got.elapsed_s == put.elapsed_s);
	assert_int_equal(got.transfer.threads, 2);
	assert_string_equal(got.transfer.cpus, "3,1");
	assert_int_equal(got.transfer.between[0], 3);
	assert_int_equal(got.transfer.between[1], 1);
	assert_true(got.transfer.shared_ns == put.transfer.shared_ns && got.transfer.private_ns == put.transfer.private_ns);
	assert_int_equal(got.transfer.bursts, 400);
	assert_int_equal(got.pairs.count, 25);
	assert_int_equal(got.blocks, 3);
	assert_int_equal(store_measurement_get(store, &f->arena, "r", "t1", 1, &got, &ended, &err), ST_OK);
	assert_false(ended);
	store_close(store);
}

/* Many rounds: whether two openers meet within the change of the journal's mode is chance. */
static void test_programs_make_it_at_once(void **state)
{
	struct fixture *f = *state;
	for (int round = 0; round < 40; round++) {
		const char *path = arena_printf(&f->arena, "%s/%d/assay.db", f->dir, round);
		pid_t children[6];
		int gate[2];
		assert_int_equal(pipe(gate), 0);
		for (int i = 0; i < 6; i++) {
			children[i] = fork();
			if (children[i] == 0) {
				char end = 0;
				close(gate[1]);
				/* All start when the parent closes its end. */
				if (read(gate[0], &end, 1) != 0)
					_exit(2);
				struct err err = ERR_INIT;
				struct store *store = NULL;
				enum status status = store_open(path, &store, &err);
				if (status != ST_OK)
					fprintf(stderr, "%s\n", err.text);
				store_close(store);
				_exit(status == ST_OK ? 0 : 1);
			}
		}
		close(gate[0]);
		close(gate[1]);
		bool all = true;
		for (int i = 0; i < 6; i++) {
			int wait_status = 0;
			waitpid(children[i], &wait_status, 0);
			all = all && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
		}
		assert_true(all);
	}
}

static void test_unwritable_folder_is_one_sentence(void **state)
{
	struct fixture *f = *state;
	/* A file where a folder is needed: holds for root as well. */
	const char *blocker = arena_printf(&f->arena, "%s/blocker", f->dir);
	write_file(blocker, "");
	struct store *store = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(store_open(arena_printf(&f->arena, "%s/assay/assay.db", blocker), &store, &err), ST_SYSTEM);
	assert_non_null(strstr(err.text, "can't be made"));
	assert_non_null(strstr(err.text, "XDG_STATE_HOME"));
}

static void test_default_path(void **state)
{
	struct fixture *f = *state;
	struct err err = ERR_INIT;
	const char *path = NULL;
	setenv("XDG_STATE_HOME", "/state", 1);
	setenv("HOME", "/home/x", 1);
	assert_int_equal(store_default_path(&f->arena, &path, &err), ST_OK);
	assert_string_equal(path, "/state/assay/assay.db");
	setenv("XDG_STATE_HOME", "relative", 1);
	assert_int_equal(store_default_path(&f->arena, &path, &err), ST_OK);
	assert_string_equal(path, "/home/x/.local/state/assay/assay.db");
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	assert_int_equal(store_default_path(&f->arena, &path, &err), ST_SYSTEM);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_keeps_what_was_put),
		TEST(test_finds_runs),
		TEST(test_finds_the_newest_finding),
		TEST(test_killed_writer_loses_no_committed_pair),
		TEST(test_full_file_is_one_sentence),
		TEST(test_full_disk_is_one_sentence),
		TEST(test_file_size_limit_is_one_sentence),
		TEST(test_damaged_file_is_one_sentence),
		TEST(test_damage_inside_is_one_sentence),
		TEST(test_false_schema_is_one_sentence),
		TEST(test_newer_file_is_refused),
		TEST(test_migrates_from_the_start),
		TEST(test_migrates_from_schema_2),
		TEST(test_migrates_from_schema_4),
		TEST(test_surveys_migrate_and_are_kept),
		TEST(test_keeps_plan_and_outcome),
		TEST(test_programs_make_it_at_once),
		TEST(test_unwritable_folder_is_one_sentence),
		TEST(test_default_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
