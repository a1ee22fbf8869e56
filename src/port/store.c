#include "port/store.h"

#include "base/text.h"
#include "port/tree.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { BUSY_TIMEOUT_MS = 30000, BUSY_PAUSE_MS = 5 };

/* Step n brings a file from user_version n to n + 1. Steps are never changed once released, only added. */
static const char *const migrations[] = {
	"CREATE TABLE run (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, started TEXT NOT NULL,"
	"  command TEXT NOT NULL, tree TEXT, state TEXT NOT NULL, seconds REAL NOT NULL, head TEXT NOT NULL) STRICT;"
	"CREATE TABLE finding (run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, id TEXT NOT NULL,"
	"  seq INTEGER NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (run, id)) STRICT;"
	"CREATE INDEX finding_id ON finding (id);"
	"CREATE TABLE hypothesis (run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, id TEXT NOT NULL,"
	"  seq INTEGER NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (run, id)) STRICT;"
	"CREATE TABLE trial (run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, id TEXT NOT NULL,"
	"  seq INTEGER NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (run, id)) STRICT;"
	"CREATE TABLE note (run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, id TEXT NOT NULL,"
	"  seq INTEGER NOT NULL, doc TEXT NOT NULL) STRICT;"
	"CREATE INDEX note_run ON note (run);",
	/* No key but the rowid: a control that is taken again is kept beside the first. */
	"CREATE TABLE sample (run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, trial TEXT NOT NULL,"
	"  control INTEGER NOT NULL, block INTEGER NOT NULL, idx INTEGER NOT NULL, candidate_first INTEGER NOT NULL,"
	"  iterations INTEGER NOT NULL, baseline_ns INTEGER NOT NULL, candidate_ns INTEGER NOT NULL,"
	"  baseline_flags INTEGER NOT NULL, candidate_flags INTEGER NOT NULL) STRICT;"
	"CREATE INDEX sample_trial ON sample (run, trial, control);",
	/* What a verdict was computed from besides its samples: the plan, and how the measurement ended (stop NULL: it was
	 * cut off). From here on `control` counts: 0 the trial's own samples, 1 its first control, 2 its second. */
	"ALTER TABLE sample ADD COLUMN layout INTEGER NOT NULL DEFAULT 0;"
	"CREATE TABLE measurement (run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, trial TEXT NOT NULL,"
	"  control INTEGER NOT NULL, seed INTEGER NOT NULL, alpha REAL NOT NULL, margin REAL NOT NULL,"
	"  budget_s REAL NOT NULL, sample_target_ns INTEGER NOT NULL, pairs_per_block INTEGER NOT NULL, cpu INTEGER NOT NULL,"
	"  layouts INTEGER NOT NULL, stop TEXT, failure TEXT, candidate_failed INTEGER NOT NULL, iterations INTEGER NOT NULL,"
	"  bytes_per_iteration INTEGER NOT NULL, measured_s REAL NOT NULL, elapsed_s REAL NOT NULL,"
	"  PRIMARY KEY (run, trial, control)) STRICT;",
	/* Whole commands: which metric (metric_name()), CPU time beside the wall clock's, the number that is printed. */
	"ALTER TABLE sample ADD COLUMN metric TEXT NOT NULL DEFAULT 'time';"
	"ALTER TABLE sample ADD COLUMN baseline_cpu_ns INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sample ADD COLUMN candidate_cpu_ns INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sample ADD COLUMN baseline_value REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE sample ADD COLUMN candidate_value REAL NOT NULL DEFAULT 0;",
	/* Of several threads: where they ran, and what a cache-line transfer costs there. */
	"ALTER TABLE measurement ADD COLUMN threads INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE measurement ADD COLUMN cpus TEXT;"
	"ALTER TABLE measurement ADD COLUMN from_cpu INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE measurement ADD COLUMN to_cpu INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE measurement ADD COLUMN transfer_ns REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE measurement ADD COLUMN private_ns REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE measurement ADD COLUMN bursts INTEGER NOT NULL DEFAULT 0;",
	/* Surveys: the document; the plan and how the measurement ended (stop NULL: it was cut off); what each value said; and one
	 * row for each sample, `value` being the values' count for the control. */
	"CREATE TABLE survey (run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, id TEXT NOT NULL,"
	"  seq INTEGER NOT NULL, doc TEXT NOT NULL, PRIMARY KEY (run, id)) STRICT;"
	"CREATE TABLE survey_measurement (run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, survey TEXT NOT NULL,"
	"  seed INTEGER NOT NULL, alpha REAL NOT NULL, margin REAL NOT NULL, budget_s REAL NOT NULL,"
	"  sample_target_ns INTEGER NOT NULL, rounds_per_block INTEGER NOT NULL, cpu INTEGER NOT NULL,"
	"  value_count INTEGER NOT NULL, baseline INTEGER NOT NULL, candidates INTEGER NOT NULL, stop TEXT, failure TEXT,"
	"  measured_s REAL NOT NULL, elapsed_s REAL NOT NULL, PRIMARY KEY (run, survey)) STRICT;"
	"CREATE TABLE survey_value (run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, survey TEXT NOT NULL,"
	"  value INTEGER NOT NULL, bytes_per_iteration INTEGER NOT NULL, failure TEXT, PRIMARY KEY (run, survey, value)) STRICT;"
	"CREATE TABLE survey_sample (run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, survey TEXT NOT NULL,"
	"  block INTEGER NOT NULL, idx INTEGER NOT NULL, value INTEGER NOT NULL, place INTEGER NOT NULL,"
	"  iterations INTEGER NOT NULL, ns INTEGER NOT NULL, flags INTEGER NOT NULL) STRICT;"
	"CREATE INDEX survey_sample_survey ON survey_sample (run, survey);",
};

static const char *const kind_tables[] = {"finding", "hypothesis", "trial", "note", "survey"};

struct store {
	sqlite3 *db;
	char *path;
	sqlite3_stmt *pair_put; /* prepared once: it runs between two samples */
	char *run_id; /* the run that was asked for last, and its key: samples of one run come by the thousand */
	sqlite3_int64 run_key;
};

unsigned store_schema_version(void)
{
	return COUNT(migrations);
}

/* ---- errors -------------------------------------------------------------------------------------------------- */

static enum status store_error(struct err *err, struct store *store, int code)
{
	const char *path = store->path;
	int system_error = store->db ? sqlite3_system_errno(store->db) : 0;
	switch (code & 0xff) {
	case SQLITE_FULL:
		return err_set(err, ST_SYSTEM, "store %s: the disk is full: make room there, or set XDG_STATE_HOME to a folder "
		               "on another disk", path);
	case SQLITE_IOERR:
		if (system_error == ENOSPC || system_error == EDQUOT)
			return err_set(err, ST_SYSTEM, "store %s: the disk is full: make room there, or set XDG_STATE_HOME to a "
			               "folder on another disk", path);
		if (system_error == EFBIG)
			return err_set(err, ST_SYSTEM, "store %s: the file may not grow any more (ulimit -f): raise the limit, or set "
			               "XDG_STATE_HOME to another folder", path);
		return err_set(err, ST_SYSTEM, "store %s: reading or writing failed (%s%s%s): check the disk, or set XDG_STATE_HOME "
		               "to another folder", path, sqlite3_errmsg(store->db), system_error ? ", " : "",
		               system_error ? strerror(system_error) : "");
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return err_set(err, ST_INPUT, "store %s is damaged (%s): move it away (mv %s %s.damaged) and a new one is made",
		               path, sqlite3_errstr(code), path, path);
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return err_set(err, ST_SYSTEM, "store %s can't be written (%s): change its permissions, or set XDG_STATE_HOME to a "
		               "folder that can be written", path,
		               system_error ? strerror(system_error) : sqlite3_errstr(code));
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(err, ST_SYSTEM, "store %s is held by another program for more than %d s: end that one, or set "
		               "XDG_STATE_HOME to another folder", path, BUSY_TIMEOUT_MS / 1000);
	default:
		return err_set(err, ST_SYSTEM, "store %s: %s", path, store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(code));
	}
}

static int store_exec(struct store *store, const char *sql)
{
	return sqlite3_exec(store->db, sql, NULL, NULL, NULL);
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

enum status store_default_path(struct arena *arena, const char **ret_path, struct err *err)
{
	const char *folder = user_folder(arena, "XDG_STATE_HOME", ".local/state");
	if (!folder)
		return err_set(err, ST_SYSTEM, "no folder for the store is known: set XDG_STATE_HOME or HOME to an absolute path");
	*ret_path = arena_printf(arena, "%s/assay/assay.db", folder);
	return ST_OK;
}

static enum status folders_make(const char *path, struct err *err)
{
	struct arena scratch;
	arena_init(&scratch);
	char *folder = path_dir(&scratch, path);
	enum status status = ST_OK;
	for (char *at = folder + 1; status == ST_OK; at++) {
		if (*at != '/' && *at != '\0')
			continue;
		char was = *at;
		*at = '\0';
		if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
			int code = errno;
			struct stat info;
			if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
				status = err_set(err, ST_SYSTEM, "the store's folder %s can't be made (%s): set XDG_STATE_HOME to a folder "
				                 "that can be written", folder, strerror(code));
		}
		*at = was;
		if (was == '\0')
			break;
	}
	arena_release(&scratch);
	return status;
}

static int version_get(struct store *store, int *ret_version)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(store->db, "PRAGMA user_version", -1, &statement, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		*ret_version = sqlite3_column_int(statement, 0);
		code = SQLITE_OK;
	}
	sqlite3_finalize(statement);
	return code;
}

/* Each step in a transaction of its own, together with its number: killed in between, the file is at a whole step. Two
 * programs may open a fresh file at once, so the version is read again under the lock. */
static enum status migrate(struct store *store, struct err *err)
{
	for (;;) {
		int version = 0;
		int code = version_get(store, &version);
		if (code != SQLITE_OK)
			return store_error(err, store, code);
		if (version > (int)COUNT(migrations))
			return err_set(err, ST_INPUT, "store %s was written by a newer assay (schema %d, this one knows %d): use that "
			               "one, or set XDG_STATE_HOME to another folder", store->path, version, (int)COUNT(migrations));
		if (version == (int)COUNT(migrations))
			return ST_OK;
		code = store_exec(store, "BEGIN IMMEDIATE");
		if (code != SQLITE_OK)
			return store_error(err, store, code);
		int locked_version = 0;
		code = version_get(store, &locked_version);
		if (code == SQLITE_OK && locked_version == version) {
			char set_version[64];
			snprintf(set_version, sizeof set_version, "PRAGMA user_version = %d", version + 1);
			code = store_exec(store, migrations[version]);
			if (code == SQLITE_OK)
				code = store_exec(store, set_version);
		}
		if (code == SQLITE_OK)
			code = store_exec(store, "COMMIT");
		if (code != SQLITE_OK) {
			/* Its number says one thing and its tables another: no step leads from there to here. */
			enum status status = (code & 0xff) != SQLITE_ERROR
			                         ? store_error(err, store, code)
			                         : err_set(err, ST_INPUT, "store %s says that it has schema %d and doesn't (%s): move it away "
			                                   "(mv %s %s.damaged) and a new one is made", store->path, version,
			                                   sqlite3_errmsg(store->db), store->path, store->path);
			store_exec(store, "ROLLBACK");
			return status;
		}
	}
}

/* Puts the file into WAL mode. SQLite doesn't ask the busy handler while it changes the mode (two programs that both wait
 * for the other's shared lock would wait for ever), so a second program that opens a fresh file gets SQLITE_BUSY at once
 * and has to try again itself. */
static int wal_set(struct store *store)
{
	const struct timespec pause = {.tv_nsec = BUSY_PAUSE_MS * 1000000L};
	int code = SQLITE_BUSY;
	for (int waited_ms = 0; (code & 0xff) == SQLITE_BUSY && waited_ms < BUSY_TIMEOUT_MS; waited_ms += BUSY_PAUSE_MS) {
		if (waited_ms > 0)
			nanosleep(&pause, NULL);
		code = store_exec(store, "PRAGMA journal_mode = WAL");
	}
	return code;
}

enum status store_open(const char *path, struct store **ret_store, struct err *err)
{
	*ret_store = NULL;
	enum status status = folders_make(path, err);
	if (status != ST_OK)
		return status;
	struct store *store = calloc(1, sizeof *store);
	if (!store || !(store->path = strdup(path))) {
		free(store);
		return err_errno(err, ENOMEM, "store %s", path);
	}
	int code = sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
	if (code == SQLITE_OK) {
		sqlite3_extended_result_codes(store->db, 1);
		sqlite3_busy_timeout(store->db, BUSY_TIMEOUT_MS);
		/* WAL with NORMAL: a commit is one write without a flush, which a killed process survives; only a power cut may
		 * cost the last commits, never the file. */
		code = wal_set(store);
		if (code == SQLITE_OK)
			code = store_exec(store, "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON");
	}
	status = code == SQLITE_OK ? migrate(store, err) : store_error(err, store, code);
	if (status != ST_OK) {
		store_close(store);
		return status;
	}
	*ret_store = store;
	return ST_OK;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	sqlite3_finalize(store->pair_put);
	sqlite3_close(store->db);
	free(store->run_id);
	free(store->path);
	free(store);
}

void store_limit_pages(struct store *store, unsigned pages)
{
	char sql[64];
	snprintf(sql, sizeof sql, "PRAGMA max_page_count = %u", pages);
	store_exec(store, sql);
}

/* ---- statements ---------------------------------------------------------------------------------------------- */

/* Prepares and binds: 's' const char * (NULL: null), 'i' long long, 'd' double. */
static int statement_make(struct store *store, sqlite3_stmt **ret_statement, const char *sql, const char *types, ...)
{
	*ret_statement = NULL;
	int code = sqlite3_prepare_v2(store->db, sql, -1, ret_statement, NULL);
	va_list ap;
	va_start(ap, types);
	for (int i = 0; types[i] && code == SQLITE_OK; i++) {
		if (types[i] == 's')
			code = sqlite3_bind_text(*ret_statement, i + 1, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
		else if (types[i] == 'd')
			code = sqlite3_bind_double(*ret_statement, i + 1, va_arg(ap, double));
		else
			code = sqlite3_bind_int64(*ret_statement, i + 1, va_arg(ap, long long));
	}
	va_end(ap);
	return code;
}

/* Runs a statement that gives no rows. */
static int statement_run(sqlite3_stmt *statement, int code)
{
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	sqlite3_finalize(statement);
	return code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_OK : code;
}

static const char *column_text(struct arena *arena, sqlite3_stmt *statement, int column)
{
	return arena_strdup(arena, (const char *)sqlite3_column_text(statement, column));
}

static enum status run_key(struct store *store, const char *run, sqlite3_int64 *ret_key, struct err *err)
{
	if (text_equal(store->run_id, run)) {
		*ret_key = store->run_key;
		return ST_OK;
	}
	sqlite3_stmt *statement;
	int code = statement_make(store, &statement, "SELECT key FROM run WHERE id = ?1", "s", run);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		*ret_key = store->run_key = sqlite3_column_int64(statement, 0);
		free(store->run_id);
		store->run_id = strdup(run);
	}
	sqlite3_finalize(statement);
	if (code == SQLITE_DONE)
		return err_set(err, ST_USAGE, "no run %s in the store %s: see `assay log`", run, store->path);
	return code == SQLITE_ROW ? ST_OK : store_error(err, store, code);
}

/* Ends what BEGIN began. */
static enum status transaction_end(struct store *store, int code, struct err *err)
{
	if (code == SQLITE_OK)
		code = store_exec(store, "COMMIT");
	if (code == SQLITE_OK)
		return ST_OK;
	enum status status = store_error(err, store, code);
	store_exec(store, "ROLLBACK");
	return status;
}

/* ---- putting ------------------------------------------------------------------------------------------------- */

enum status store_run_put(struct store *store, const struct store_run *run, struct err *err)
{
	sqlite3_stmt *statement;
	int code = statement_make(store, &statement,
	                          "INSERT INTO run (id, started, command, tree, state, seconds, head)"
	                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
	                          " ON CONFLICT (id) DO UPDATE SET state = ?5, seconds = ?6, head = ?7, tree = ?4",
	                          "sssssds", run->id, run->started, run->command, run->tree, run->state, run->seconds,
	                          run->head);
	code = statement_run(statement, code);
	return code == SQLITE_OK ? ST_OK : store_error(err, store, code);
}

enum status store_run_delete(struct store *store, const char *run, struct err *err)
{
	sqlite3_stmt *statement;
	free(store->run_id);
	store->run_id = NULL;
	int code = statement_make(store, &statement, "DELETE FROM run WHERE id = ?1", "s", run);
	code = statement_run(statement, code);
	return code == SQLITE_OK ? ST_OK : store_error(err, store, code);
}

static int documents_put(struct store *store, sqlite3_int64 run, enum store_kind kind,
                         const struct store_document_list *documents)
{
	sqlite3_stmt *statement = NULL;
	struct arena scratch;
	arena_init(&scratch);
	const char *table = kind_tables[kind];
	int code = SQLITE_OK;
	if (kind == STORE_NOTE) {
		code = statement_make(store, &statement, "DELETE FROM note WHERE run = ?1", "i", (long long)run);
		code = statement_run(statement, code);
		statement = NULL;
	}
	const char *conflict = kind == STORE_NOTE ? "" : " ON CONFLICT (run, id) DO UPDATE SET doc = ?3";
	const char *sql = arena_printf(&scratch,
	                               "INSERT INTO %s (run, id, seq, doc) VALUES (?1, ?2, (SELECT count(*) FROM %s "
	                               "WHERE run = ?1), ?3)%s", table, table, conflict);
	/* Findings come in thousands: the counting sub-query only for single documents. */
	if (documents->count > 1)
		sql = arena_printf(&scratch, "INSERT INTO %s (run, id, seq, doc) VALUES (?1, ?2, ?4, ?3)%s", table, conflict);
	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
	for (size_t i = 0; i < documents->count && code == SQLITE_OK; i++) {
		sqlite3_reset(statement);
		sqlite3_bind_int64(statement, 1, run);
		sqlite3_bind_text(statement, 2, documents->at[i].id ? documents->at[i].id : "", -1, SQLITE_TRANSIENT);
		sqlite3_bind_text(statement, 3, documents->at[i].json, -1, SQLITE_TRANSIENT);
		if (documents->count > 1)
			sqlite3_bind_int64(statement, 4, (sqlite3_int64)i);
		code = sqlite3_step(statement);
		if (code == SQLITE_DONE)
			code = SQLITE_OK;
	}
	sqlite3_finalize(statement);
	arena_release(&scratch);
	return code;
}

enum status store_documents_put(struct store *store, const char *run, enum store_kind kind,
                                const struct store_document_list *documents, struct err *err)
{
	sqlite3_int64 key = 0;
	enum status status = run_key(store, run, &key, err);
	if (status != ST_OK)
		return status;
	int code = store_exec(store, "BEGIN IMMEDIATE");
	if (code != SQLITE_OK)
		return store_error(err, store, code);
	return transaction_end(store, documents_put(store, key, kind, documents), err);
}

enum status store_pair_put(struct store *store, const char *run, const char *trial, unsigned control,
                           const struct pair *pair, struct err *err)
{
	sqlite3_int64 key = 0;
	enum status known = run_key(store, run, &key, err);
	if (known != ST_OK)
		return known;
	int code = SQLITE_OK;
	if (!store->pair_put)
		code = sqlite3_prepare_v3(store->db,
		                          "INSERT INTO sample (run, trial, control, block, idx, candidate_first, iterations,"
		                          " baseline_ns, candidate_ns, baseline_flags, candidate_flags, layout, metric,"
		                          " baseline_cpu_ns, candidate_cpu_ns, baseline_value, candidate_value)"
		                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
		                          -1, SQLITE_PREPARE_PERSISTENT, &store->pair_put, NULL);
	if (code == SQLITE_OK) {
		sqlite3_stmt *put = store->pair_put;
		sqlite3_bind_int64(put, 1, key);
		sqlite3_bind_text(put, 2, trial, -1, SQLITE_TRANSIENT);
		sqlite3_bind_int64(put, 3, control);
		sqlite3_bind_int64(put, 4, pair->block);
		sqlite3_bind_int64(put, 5, pair->index);
		sqlite3_bind_int(put, 6, pair->candidate_first);
		sqlite3_bind_int64(put, 7, (sqlite3_int64)pair->iterations);
		sqlite3_bind_int64(put, 8, (sqlite3_int64)pair->baseline_ns);
		sqlite3_bind_int64(put, 9, (sqlite3_int64)pair->candidate_ns);
		sqlite3_bind_int64(put, 10, pair->baseline_flags);
		sqlite3_bind_int64(put, 11, pair->candidate_flags);
		sqlite3_bind_int64(put, 12, (sqlite3_int64)pair->layout);
		sqlite3_bind_text(put, 13, metric_name(pair->metric), -1, SQLITE_STATIC);
		sqlite3_bind_int64(put, 14, (sqlite3_int64)pair->baseline_cpu_ns);
		sqlite3_bind_int64(put, 15, (sqlite3_int64)pair->candidate_cpu_ns);
		sqlite3_bind_double(put, 16, pair->baseline_value);
		sqlite3_bind_double(put, 17, pair->candidate_value);
		code = sqlite3_step(put);
		/* The error is looked up before the reset, which would say it a second time. */
		enum status status = code == SQLITE_DONE ? ST_OK : store_error(err, store, code);
		sqlite3_reset(put);
		return status;
	}
	return store_error(err, store, code);
}

enum status store_measurement_put(struct store *store, const char *run, const char *trial, unsigned control,
                                  const struct measurement *measurement, bool ended, struct err *err)
{
	sqlite3_int64 key = 0;
	enum status status = run_key(store, run, &key, err);
	if (status != ST_OK)
		return status;
	const struct plan *plan = &measurement->plan;
	const struct transfer *transfer = &measurement->transfer;
	sqlite3_stmt *statement;
	int code = statement_make(
	    store, &statement,
	    "INSERT OR REPLACE INTO measurement (run, trial, control, seed, alpha, margin, budget_s, sample_target_ns,"
	    " pairs_per_block, cpu, layouts, stop, failure, candidate_failed, iterations, bytes_per_iteration, measured_s,"
	    " elapsed_s, threads, cpus, from_cpu, to_cpu, transfer_ns, private_ns, bursts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
	    " ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)",
	    "isiidddiiiissiiiddisiiddi", (long long)key, trial, (long long)control, (long long)plan->seed, plan->alpha, plan->margin,
	    plan->budget_s, (long long)plan->sample_target_ns, (long long)plan->pairs_per_block, (long long)plan->cpu,
	    (long long)plan->layouts, ended ? stop_reason_name(measurement->stop) : NULL, measurement->failure,
	    (long long)measurement->candidate_failed, (long long)measurement->iterations,
	    (long long)measurement->bytes_per_iteration, measurement->measured_s, measurement->elapsed_s,
	    (long long)transfer->threads, transfer->cpus, (long long)transfer->between[0], (long long)transfer->between[1],
	    transfer->shared_ns, transfer->private_ns, (long long)transfer->bursts);
	code = statement_run(statement, code);
	return code == SQLITE_OK ? ST_OK : store_error(err, store, code);
}

static int round_insert(struct store *store, sqlite3_int64 run, const char *survey, const struct round *round, size_t samples)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(store->db,
	                              "INSERT INTO survey_sample (run, survey, block, idx, value, place, iterations, ns, flags)"
	                              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", -1, &statement, NULL);
	for (size_t i = 0; i < samples && code == SQLITE_OK; i++) {
		const struct round_sample *sample = &round->samples[i];
		if (sample->iterations == 0)
			continue;
		sqlite3_reset(statement);
		sqlite3_bind_int64(statement, 1, run);
		sqlite3_bind_text(statement, 2, survey, -1, SQLITE_STATIC);
		sqlite3_bind_int64(statement, 3, round->block);
		sqlite3_bind_int64(statement, 4, round->index);
		sqlite3_bind_int64(statement, 5, (sqlite3_int64)i);
		sqlite3_bind_int64(statement, 6, sample->place);
		sqlite3_bind_int64(statement, 7, (sqlite3_int64)sample->iterations);
		sqlite3_bind_int64(statement, 8, (sqlite3_int64)sample->ns);
		sqlite3_bind_int64(statement, 9, sample->flags);
		code = sqlite3_step(statement);
		code = code == SQLITE_DONE ? SQLITE_OK : code;
	}
	sqlite3_finalize(statement);
	return code;
}

enum status store_round_put(struct store *store, const char *run, const char *survey, const struct round *round, size_t samples,
                            struct err *err)
{
	sqlite3_int64 key = 0;
	enum status status = run_key(store, run, &key, err);
	if (status != ST_OK)
		return status;
	int code = store_exec(store, "BEGIN IMMEDIATE");
	if (code != SQLITE_OK)
		return store_error(err, store, code);
	return transaction_end(store, round_insert(store, key, survey, round, samples), err);
}

static int survey_values_insert(struct store *store, sqlite3_int64 run, const char *survey,
                                const struct survey_measurement *measurement)
{
	int code = SQLITE_OK;
	for (size_t i = 0; i < measurement->values && measurement->failures && code == SQLITE_OK; i++) {
		sqlite3_stmt *statement;
		code = statement_make(store, &statement,
		                      "INSERT OR REPLACE INTO survey_value (run, survey, value, bytes_per_iteration, failure)"
		                      " VALUES (?1, ?2, ?3, ?4, ?5)", "isiis", (long long)run, survey, (long long)i,
		                      (long long)measurement->bytes_per_iteration[i], measurement->failures[i]);
		code = statement_run(statement, code);
	}
	return code;
}

enum status store_survey_measurement_put(struct store *store, const char *run, const char *survey,
                                         const struct survey_measurement *measurement, bool ended, struct err *err)
{
	sqlite3_int64 key = 0;
	enum status status = run_key(store, run, &key, err);
	if (status != ST_OK)
		return status;
	int code = store_exec(store, "BEGIN IMMEDIATE");
	if (code != SQLITE_OK)
		return store_error(err, store, code);
	const struct plan *plan = &measurement->plan;
	sqlite3_stmt *statement;
	code = statement_make(
	    store, &statement,
	    "INSERT OR REPLACE INTO survey_measurement (run, survey, seed, alpha, margin, budget_s, sample_target_ns,"
	    " rounds_per_block, cpu, value_count, baseline, candidates, stop, failure, measured_s, elapsed_s)"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
	    "isidddiiiiiissdd", (long long)key, survey, (long long)plan->seed, plan->alpha, plan->margin, plan->budget_s,
	    (long long)plan->sample_target_ns, (long long)plan->pairs_per_block, (long long)plan->cpu,
	    (long long)measurement->values, (long long)measurement->baseline, (long long)measurement->candidates,
	    ended ? stop_reason_name(measurement->stop) : NULL, measurement->failure, measurement->measured_s,
	    measurement->elapsed_s);
	code = statement_run(statement, code);
	if (code == SQLITE_OK)
		code = survey_values_insert(store, key, survey, measurement);
	return transaction_end(store, code, err);
}

/* ---- getting ------------------------------------------------------------------------------------------------- */

#define RUN_COLUMNS "id, started, command, tree, state, seconds, head, (SELECT count(*) FROM trial WHERE trial.run = run.key)"

static struct store_run run_row(struct arena *arena, sqlite3_stmt *statement)
{
	return (struct store_run){
		.id = column_text(arena, statement, 0),
		.started = column_text(arena, statement, 1),
		.command = column_text(arena, statement, 2),
		.tree = column_text(arena, statement, 3),
		.state = column_text(arena, statement, 4),
		.seconds = sqlite3_column_double(statement, 5),
		.head = column_text(arena, statement, 6),
		.trials = (unsigned)sqlite3_column_int(statement, 7),
	};
}

static enum status runs_get(struct store *store, struct arena *arena, sqlite3_stmt *statement, int code,
                            struct store_run_list *ret_runs, struct err *err)
{
	if (code == SQLITE_OK)
		while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
			struct store_run run = run_row(arena, statement);
			list_push(arena, ret_runs, run);
		}
	enum status status = code == SQLITE_DONE ? ST_OK : store_error(err, store, code);
	sqlite3_finalize(statement);
	return status;
}

enum status store_run_list(struct store *store, struct arena *arena, unsigned limit, struct store_run_list *ret_runs,
                           struct err *err)
{
	*ret_runs = (struct store_run_list){0};
	sqlite3_stmt *statement;
	int code = statement_make(store, &statement, "SELECT " RUN_COLUMNS " FROM run ORDER BY key DESC LIMIT ?1", "i",
	                          limit ? (long long)limit : -1ll);
	return runs_get(store, arena, statement, code, ret_runs, err);
}

enum status store_run_find(struct store *store, struct arena *arena, const char *name, struct store_run *ret_run,
                           struct err *err)
{
	struct store_run_list runs = {0};
	sqlite3_stmt *statement;
	bool last = strcmp(name, "last") == 0;
	int code = last ? statement_make(store, &statement, "SELECT " RUN_COLUMNS " FROM run ORDER BY key DESC LIMIT 1", "")
	                : statement_make(store, &statement,
	                                 "SELECT " RUN_COLUMNS " FROM run WHERE id = ?1 OR substr(id, 1, length(?1)) = ?1"
	                                 " ORDER BY id <> ?1, key DESC LIMIT 2", "s", name);
	enum status status = runs_get(store, arena, statement, code, &runs, err);
	if (status != ST_OK)
		return status;
	if (runs.count == 0 && last)
		return err_set(err, ST_USAGE, "the store %s holds no run yet: `assay audit` makes one", store->path);
	if (runs.count == 0 || name[0] == '\0')
		return err_set(err, ST_USAGE, "no run '%s' in the store %s: see `assay log`", name, store->path);
	if (runs.count > 1 && strcmp(runs.at[0].id, name) != 0)
		return err_set(err, ST_USAGE, "'%s' may be %s or %s: give more of it, see `assay log`", name, runs.at[0].id,
		               runs.at[1].id);
	*ret_run = runs.at[0];
	return ST_OK;
}

enum status store_documents_get(struct store *store, struct arena *arena, const char *run, enum store_kind kind,
                                struct store_document_list *ret_documents, struct err *err)
{
	*ret_documents = (struct store_document_list){0};
	sqlite3_int64 key = 0;
	enum status status = run_key(store, run, &key, err);
	if (status != ST_OK)
		return status;
	char sql[128];
	snprintf(sql, sizeof sql, "SELECT id, doc FROM %s WHERE run = ?1 ORDER BY seq, rowid", kind_tables[kind]);
	sqlite3_stmt *statement;
	int code = statement_make(store, &statement, sql, "i", (long long)key);
	if (code == SQLITE_OK)
		while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
			struct store_document document = {.id = column_text(arena, statement, 0),
			                                  .json = column_text(arena, statement, 1)};
			list_push(arena, ret_documents, document);
		}
	if (code != SQLITE_DONE)
		status = store_error(err, store, code);
	sqlite3_finalize(statement);
	return status;
}

enum status store_pairs_get(struct store *store, struct arena *arena, const char *run, const char *trial, unsigned control,
                            struct pair_list *ret_pairs, struct err *err)
{
	*ret_pairs = (struct pair_list){0};
	sqlite3_int64 key = 0;
	enum status status = run_key(store, run, &key, err);
	if (status != ST_OK)
		return status;
	sqlite3_stmt *statement;
	int code = statement_make(store, &statement,
	                          "SELECT block, idx, candidate_first, iterations, baseline_ns, candidate_ns, baseline_flags,"
	                          " candidate_flags, metric, baseline_cpu_ns, candidate_cpu_ns, baseline_value, candidate_value,"
	                          " layout FROM sample WHERE run = ?1 AND trial = ?2 AND control = ?3 ORDER BY rowid",
	                          "isi", (long long)key, trial, (long long)control);
	if (code == SQLITE_OK)
		while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
			struct pair pair = {
				.block = (uint32_t)sqlite3_column_int64(statement, 0),
				.index = (uint32_t)sqlite3_column_int64(statement, 1),
				.candidate_first = sqlite3_column_int(statement, 2) != 0,
				.iterations = (uint64_t)sqlite3_column_int64(statement, 3),
				.baseline_ns = (uint64_t)sqlite3_column_int64(statement, 4),
				.candidate_ns = (uint64_t)sqlite3_column_int64(statement, 5),
				.baseline_flags = (uint32_t)sqlite3_column_int64(statement, 6),
				.candidate_flags = (uint32_t)sqlite3_column_int64(statement, 7),
				.baseline_cpu_ns = (uint64_t)sqlite3_column_int64(statement, 9),
				.candidate_cpu_ns = (uint64_t)sqlite3_column_int64(statement, 10),
				.baseline_value = sqlite3_column_double(statement, 11),
				.candidate_value = sqlite3_column_double(statement, 12),
				.layout = (uint64_t)sqlite3_column_int64(statement, 13),
			};
			/* A name that this program does not know: the wall clock's times stand for themselves. */
			if (!metric_parse((const char *)sqlite3_column_text(statement, 8), &pair.metric))
				pair.metric = METRIC_TIME;
			list_push(arena, ret_pairs, pair);
		}
	if (code != SQLITE_DONE)
		status = store_error(err, store, code);
	sqlite3_finalize(statement);
	return status;
}

enum status store_measurement_get(struct store *store, struct arena *arena, const char *run, const char *trial,
                                  unsigned control, struct measurement *ret_measurement, bool *ret_ended,
                                  struct err *err)
{
	*ret_measurement = (struct measurement){.stop = STOP_BUDGET};
	*ret_ended = false;
	sqlite3_int64 key = 0;
	enum status status = run_key(store, run, &key, err);
	if (status != ST_OK)
		return status;
	sqlite3_stmt *statement;
	int code = statement_make(store, &statement,
	                          "SELECT seed, alpha, margin, budget_s, sample_target_ns, pairs_per_block, cpu, layouts, stop,"
	                          " failure, candidate_failed, iterations, bytes_per_iteration, measured_s, elapsed_s, threads,"
	                          " cpus, from_cpu, to_cpu, transfer_ns, private_ns, bursts"
	                          " FROM measurement WHERE run = ?1 AND trial = ?2 AND control = ?3",
	                          "isi", (long long)key, trial, (long long)control);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		bool has_failure = sqlite3_column_type(statement, 9) != SQLITE_NULL;
		bool has_cpus = sqlite3_column_type(statement, 16) != SQLITE_NULL;
		*ret_measurement = (struct measurement){
			.plan = {.seed = (uint64_t)sqlite3_column_int64(statement, 0),
			         .alpha = sqlite3_column_double(statement, 1),
			         .margin = sqlite3_column_double(statement, 2),
			         .budget_s = sqlite3_column_double(statement, 3),
			         .sample_target_ns = (uint64_t)sqlite3_column_int64(statement, 4),
			         .pairs_per_block = (uint32_t)sqlite3_column_int64(statement, 5),
			         .cpu = sqlite3_column_int(statement, 6),
			         .layouts = (uint32_t)sqlite3_column_int64(statement, 7)},
			.stop = STOP_BUDGET,
			.failure = has_failure ? column_text(arena, statement, 9) : NULL,
			.candidate_failed = sqlite3_column_int(statement, 10) != 0,
			.iterations = (uint64_t)sqlite3_column_int64(statement, 11),
			.bytes_per_iteration = (uint64_t)sqlite3_column_int64(statement, 12),
			.measured_s = sqlite3_column_double(statement, 13),
			.elapsed_s = sqlite3_column_double(statement, 14),
			.transfer = {.threads = (uint32_t)sqlite3_column_int(statement, 15),
			             .cpus = has_cpus ? column_text(arena, statement, 16) : NULL,
			             .between = {(uint32_t)sqlite3_column_int(statement, 17), (uint32_t)sqlite3_column_int(statement, 18)},
			             .shared_ns = sqlite3_column_double(statement, 19),
			             .private_ns = sqlite3_column_double(statement, 20),
			             .bursts = (uint32_t)sqlite3_column_int(statement, 21)},
		};
		const char *stop = (const char *)sqlite3_column_text(statement, 8);
		*ret_ended = stop && stop_reason_parse(stop, &ret_measurement->stop);
	}
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		status = store_error(err, store, code);
	sqlite3_finalize(statement);
	if (status == ST_OK && *ret_ended)
		status = store_pairs_get(store, arena, run, trial, control, &ret_measurement->pairs, err);
	const struct pair_list *pairs = &ret_measurement->pairs;
	ret_measurement->blocks = pairs->count ? pairs->at[pairs->count - 1].block + 1 : 0;
	ret_measurement->plan.metric = pairs->count ? pairs->at[0].metric : METRIC_TIME;
	ret_measurement->stationary = pairs_stationary(pairs, ret_measurement->plan.alpha);
	return status;
}

/* The rows of one round follow each other. */
static enum status rounds_get(struct store *store, struct arena *arena, sqlite3_int64 run, const char *survey,
                              struct survey_measurement *measurement, struct err *err)
{
	sqlite3_stmt *statement;
	struct round *round = NULL;
	int code = statement_make(store, &statement,
	                          "SELECT block, idx, value, place, iterations, ns, flags FROM survey_sample"
	                          " WHERE run = ?1 AND survey = ?2 ORDER BY rowid", "is", (long long)run, survey);
	if (code == SQLITE_OK)
		while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
			uint32_t block = (uint32_t)sqlite3_column_int64(statement, 0), index = (uint32_t)sqlite3_column_int64(statement, 1);
			size_t value = (size_t)sqlite3_column_int64(statement, 2);
			if (value > measurement->values)
				continue; /* damaged: it belongs to no value */
			if (!round || round->block != block || round->index != index) {
				struct round fresh = {.block = block, .index = index};
				fresh.samples = arena_alloc(arena, (measurement->values + 1) * sizeof *fresh.samples);
				list_push(arena, &measurement->rounds, fresh);
				round = &measurement->rounds.at[measurement->rounds.count - 1];
			}
			round->samples[value] = (struct round_sample){
				.place = (uint32_t)sqlite3_column_int64(statement, 3),
				.iterations = (uint64_t)sqlite3_column_int64(statement, 4),
				.ns = (uint64_t)sqlite3_column_int64(statement, 5),
				.flags = (uint32_t)sqlite3_column_int64(statement, 6),
			};
		}
	enum status status = code == SQLITE_DONE ? ST_OK : store_error(err, store, code);
	sqlite3_finalize(statement);
	measurement->blocks = round ? round->block + 1 : 0;
	return status;
}

static enum status survey_values_get(struct store *store, struct arena *arena, sqlite3_int64 run, const char *survey,
                                     struct survey_measurement *measurement, struct err *err)
{
	sqlite3_stmt *statement;
	measurement->failures = arena_alloc(arena, measurement->values * sizeof *measurement->failures);
	measurement->bytes_per_iteration = arena_alloc(arena, measurement->values * sizeof(uint64_t));
	int code = statement_make(store, &statement,
	                          "SELECT value, bytes_per_iteration, failure FROM survey_value WHERE run = ?1 AND survey = ?2",
	                          "is", (long long)run, survey);
	if (code == SQLITE_OK)
		while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
			size_t value = (size_t)sqlite3_column_int64(statement, 0);
			if (value >= measurement->values)
				continue;
			measurement->bytes_per_iteration[value] = (uint64_t)sqlite3_column_int64(statement, 1);
			measurement->failures[value] = column_text(arena, statement, 2);
		}
	enum status status = code == SQLITE_DONE ? ST_OK : store_error(err, store, code);
	sqlite3_finalize(statement);
	return status;
}

enum status store_survey_measurement_get(struct store *store, struct arena *arena, const char *run, const char *survey,
                                         struct survey_measurement *ret_measurement, bool *ret_ended, struct err *err)
{
	*ret_measurement = (struct survey_measurement){.stop = STOP_BUDGET};
	*ret_ended = false;
	sqlite3_int64 key = 0;
	enum status status = run_key(store, run, &key, err);
	if (status != ST_OK)
		return status;
	sqlite3_stmt *statement;
	int code = statement_make(store, &statement,
	                          "SELECT seed, alpha, margin, budget_s, sample_target_ns, rounds_per_block, cpu, value_count,"
	                          " baseline, candidates, stop, failure, measured_s, elapsed_s"
	                          " FROM survey_measurement WHERE run = ?1 AND survey = ?2", "is", (long long)key, survey);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	bool known = code == SQLITE_ROW && sqlite3_column_int64(statement, 7) > 0 &&
	             sqlite3_column_int64(statement, 7) <= SURVEY_VALUES_MAX && sqlite3_column_int64(statement, 8) >= 0 &&
	             sqlite3_column_int64(statement, 8) < sqlite3_column_int64(statement, 7) &&
	             sqlite3_column_int64(statement, 9) >= 0 &&
	             sqlite3_column_int64(statement, 9) < sqlite3_column_int64(statement, 7);
	if (known) {
		*ret_measurement = (struct survey_measurement){
			.plan = {.seed = (uint64_t)sqlite3_column_int64(statement, 0),
			         .alpha = sqlite3_column_double(statement, 1),
			         .margin = sqlite3_column_double(statement, 2),
			         .budget_s = sqlite3_column_double(statement, 3),
			         .sample_target_ns = (uint64_t)sqlite3_column_int64(statement, 4),
			         .pairs_per_block = (uint32_t)sqlite3_column_int64(statement, 5),
			         .cpu = sqlite3_column_int(statement, 6)},
			.values = (size_t)sqlite3_column_int64(statement, 7),
			.baseline = (size_t)sqlite3_column_int64(statement, 8),
			.candidates = (uint32_t)sqlite3_column_int64(statement, 9),
			.stop = STOP_BUDGET,
			.failure = column_text(arena, statement, 11),
			.measured_s = sqlite3_column_double(statement, 12),
			.elapsed_s = sqlite3_column_double(statement, 13),
		};
		const char *stop = (const char *)sqlite3_column_text(statement, 10);
		*ret_ended = stop && stop_reason_parse(stop, &ret_measurement->stop);
	}
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		status = store_error(err, store, code);
	sqlite3_finalize(statement);
	if (status == ST_OK && known)
		status = survey_values_get(store, arena, key, survey, ret_measurement, err);
	if (status == ST_OK && known)
		status = rounds_get(store, arena, key, survey, ret_measurement, err);
	return status;
}

enum status store_finding_last(struct store *store, struct arena *arena, const char *finding, const char **ret_run,
                               const char **ret_json, struct err *err)
{
	*ret_run = *ret_json = NULL;
	sqlite3_stmt *statement;
	int code = statement_make(store, &statement,
	                          "SELECT run.id, finding.doc FROM finding JOIN run ON run.key = finding.run"
	                          " WHERE finding.id = ?1 ORDER BY run.key DESC LIMIT 1", "s", finding);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		*ret_run = column_text(arena, statement, 0);
		*ret_json = column_text(arena, statement, 1);
	}
	enum status status = code == SQLITE_ROW || code == SQLITE_DONE ? ST_OK : store_error(err, store, code);
	sqlite3_finalize(statement);
	return status;
}
