// SPDX-License-Identifier: BSD-2-Clause
#include "history/database.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "history/faults.h"
#include "history/retention.h"
#include "history/schema.h"
#include "history/statement.h"

#define MS_OF_SECOND 1000
#define DAY_S 86400

/* The database in use, and as text what makes each of its statements. */
enum statement {
	PUT_BOOT,
	PUT_DEVICE,
	PUT_SPACE,
	FIND_PROCESS,
	PUT_PROCESS,
	PUT_SPAN,
	PUT_MEMORY,
	PUT_ACTIVITY,
	PUT_DEVICE_MEMORY,
	PUT_EVENT,
	STATEMENTS,
};

static const char *const statements[STATEMENTS] = {
	[PUT_BOOT] = "INSERT INTO boot(name) VALUES(?1)"
		     " ON CONFLICT DO UPDATE SET name = name RETURNING id",
	[PUT_DEVICE] = "INSERT INTO device(key, name, total_bytes) VALUES(?1, ?2, ?3)"
		       " ON CONFLICT DO UPDATE SET name = coalesce(excluded.name, name),"
		       " total_bytes = coalesce(excluded.total_bytes, total_bytes) RETURNING id",
	[PUT_SPACE] = "INSERT INTO space(name, on_device) VALUES(?1, ?2)"
		      " ON CONFLICT DO UPDATE SET on_device = excluded.on_device RETURNING id",
	/* Most have not changed since the interval before: their rows are not written again. */
	[FIND_PROCESS] = "SELECT id FROM process WHERE " HISTORY_SAME_PROCESS
			 " AND last = ?4 AND inexact = ?5 AND name IS ?6 AND user IS ?7"
			 " AND container IS ?8 AND pod IS ?9 AND namespace IS ?10 AND job IS ?11",
	[PUT_PROCESS] =
		"INSERT INTO process(boot, pid, start_ns, last, inexact, name, user,"
		" container, pod, namespace, job)"
		" VALUES(?1, ?2, " HISTORY_PROCESS_START ", ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
		" ON CONFLICT DO UPDATE SET last = max(last, excluded.last),"
		" inexact = inexact | excluded.inexact, name = excluded.name,"
		" user = excluded.user, container = excluded.container,"
		" pod = excluded.pod, namespace = excluded.namespace,"
		" job = excluded.job RETURNING id",
	[PUT_SPAN] = "INSERT INTO span VALUES(?1, ?2, ?3)"
		     " ON CONFLICT DO UPDATE SET ms = ms + excluded.ms",
	[PUT_MEMORY] = "INSERT INTO memory VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
		       " ?12, ?13, ?14, ?15)"
		       " ON CONFLICT DO UPDATE SET ms = ms + excluded.ms,"
		       " min_bytes = min(min_bytes, excluded.min_bytes),"
		       " max_bytes = max(max_bytes, excluded.max_bytes),"
		       " byte_ms = byte_ms + excluded.byte_ms,"
		       " idle_byte_ms = idle_byte_ms + excluded.idle_byte_ms,"
		       " unknown_byte_ms = unknown_byte_ms + excluded.unknown_byte_ms,"
		       " allocs = allocs + excluded.allocs,"
		       " alloc_bytes = alloc_bytes + excluded.alloc_bytes,"
		       " frees = frees + excluded.frees,"
		       " free_bytes = free_bytes + excluded.free_bytes",
	[PUT_ACTIVITY] = "INSERT INTO activity VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
			 " ON CONFLICT DO UPDATE SET launches = launches + excluded.launches,"
			 " graph_launches = graph_launches + excluded.graph_launches,"
			 " untraced_ms = untraced_ms + excluded.untraced_ms",
	[PUT_DEVICE_MEMORY] =
		"INSERT INTO device_memory VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
		" ON CONFLICT DO UPDATE SET ms = ms + excluded.ms,"
		" min_bytes = min(min_bytes, excluded.min_bytes),"
		" max_bytes = max(max_bytes, excluded.max_bytes),"
		" byte_ms = byte_ms + excluded.byte_ms, used_ms = used_ms + excluded.used_ms,"
		" used_min_bytes = coalesce(min(used_min_bytes, excluded.used_min_bytes),"
		" used_min_bytes, excluded.used_min_bytes),"
		" used_max_bytes = coalesce(max(used_max_bytes, excluded.used_max_bytes),"
		" used_max_bytes, excluded.used_max_bytes),"
		" used_byte_ms = used_byte_ms + excluded.used_byte_ms",
	[PUT_EVENT] = "INSERT INTO event(ts_ms, count, process, device, kind, what, bytes)"
		      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
};

struct history_database {
	struct history_options options;
	struct sqlite3 *handle; /* NULL: it could not be opened */
	struct sqlite3_stmt *statements[STATEMENTS];
	char path[4096];
	struct history_counts counts;
	dev_t file_device; /* of what was opened */
	ino_t file_number;
	int said; /* the result code of SQLite's that has been logged; 0: all is well */
	uint64_t pruned_s;
	uint64_t trusted_s;  /* the newest row of a clock that is believed; 0: there is none */
	uint64_t doubted_s;  /* the newest one of a clock that is not, yet */
	uint64_t doubted_ms; /* so long it has gone on like that */
	/* Of the batch: ids by position. */
	int64_t *processes, *devices;
};

/* ---- opening --------------------------------------------------------------------------------- */

/* A reader can be in the way for a moment. */
#define BUSY_MS 5000

static const char pragmas[] = "PRAGMA auto_vacuum = INCREMENTAL;"
			      "PRAGMA journal_mode = WAL;"
			      "PRAGMA synchronous = NORMAL;"
			      "PRAGMA journal_size_limit = 4194304;"
			      "PRAGMA temp_store = MEMORY;"
			      "PRAGMA cache_size = -4096;"; /* KiB */

static void close_handle(struct history_database *database)
{
	size_t i;

	for (i = 0; i < STATEMENTS; i++) {
		sqlite3_finalize(database->statements[i]);
		database->statements[i] = NULL;
	}
	sqlite3_close(database->handle);
	database->handle = NULL;
}

static bool is_damage(int code)
{
	return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
}

/* Logs a failure, unless it is the same as that of the last time. Returns -errno. */
static int fail(struct history_database *database, int code)
{
	if (database->said != (code & 0xff))
		log_error("%s: cannot write the history: %s; it goes on with the next interval",
			  database->path, history_faults_words(code));
	database->said = code & 0xff;
	return database->said == SQLITE_FULL  ? -ENOSPC :
	       database->said == SQLITE_NOMEM ? -ENOMEM :
						-EIO;
}

/* What was written before may help with a search for the reason: the newest such file is kept. */
static void set_aside(struct history_database *database, const char *why)
{
	static const char *const suffixes[] = { "", "-wal" };
	char from[sizeof(database->path) + 8], to[sizeof(database->path) + 16];
	size_t i;

	close_handle(database);
	for (i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(from, sizeof(from), "%s%s", database->path, suffixes[i]);
		snprintf(to, sizeof(to), "%s/" HISTORY_DAMAGED "%s", database->options.directory,
			 suffixes[i]);
		unlink(to);
		rename(from, to);
	}
	snprintf(from, sizeof(from), "%s-shm", database->path);
	unlink(from);
	database->counts.set_aside++;
	log_warning("%s: %s: it is %s/" HISTORY_DAMAGED " now, and the history begins anew",
		    database->path, why, database->options.directory);
}

static int64_t read_number(struct history_database *database, const char *sql, int *code)
{
	struct sqlite3_stmt *statement = NULL;
	int64_t number = 0;

	*code = sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL);
	if (!*code) {
		*code = sqlite3_step(statement);
		if (*code == SQLITE_ROW) {
			number = sqlite3_column_int64(statement, 0);
			*code = SQLITE_OK;
		}
	}
	sqlite3_finalize(statement);
	return number;
}

/* Whether each page is as it should be. */
static int check_pages(struct history_database *database)
{
	struct sqlite3_stmt *statement = NULL;
	int code =
		sqlite3_prepare_v2(database->handle, "PRAGMA quick_check(1)", -1, &statement, NULL);

	if (!code)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(statement, 0);

		code = !text ? SQLITE_NOMEM : strcmp(text, "ok") != 0 ? SQLITE_CORRUPT : SQLITE_OK;
	}
	sqlite3_finalize(statement);
	return code;
}

/* Makes the tables of a new one. SQLITE_NOTADB: it is a database, but of something else. */
static int check_tables(struct history_database *database)
{
	int code;
	const int64_t application = read_number(database, "PRAGMA application_id", &code);
	const int64_t version = code ? 0 : read_number(database, "PRAGMA user_version", &code);
	const int64_t tables =
		code ? 0 : read_number(database, "SELECT count(*) FROM sqlite_master", &code);
	char sql[128];

	if (code)
		return code;
	if (tables)
		return application == HISTORY_APPLICATION && version == HISTORY_VERSION ?
			       SQLITE_OK :
			       SQLITE_NOTADB;
	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
		 HISTORY_APPLICATION, HISTORY_VERSION);
	code = sqlite3_exec(database->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (!code)
		code = sqlite3_exec(database->handle, history_schema, NULL, NULL, NULL);
	return code ? code : sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
}

static int prepare(struct history_database *database)
{
	int code = SQLITE_OK;
	size_t i;

	for (i = 0; !code && i < STATEMENTS; i++)
		code = sqlite3_prepare_v3(database->handle, statements[i], -1,
					  SQLITE_PREPARE_PERSISTENT, &database->statements[i],
					  NULL);
	return code;
}

static int open_handle(struct history_database *database)
{
	struct stat status;
	int code = sqlite3_open_v2(database->path, &database->handle,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
					   SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
				   NULL);

	if (!code)
		code = sqlite3_busy_timeout(database->handle, BUSY_MS);
	if (!code)
		code = sqlite3_exec(database->handle, pragmas, NULL, NULL, NULL);
	if (!code)
		code = check_pages(database);
	if (!code)
		code = check_tables(database);
	if (!code)
		code = prepare(database);
	if (!code)
		code = history_retention_bound(database->handle, database->options.most_bytes);
	if (!code && stat(database->path, &status))
		code = SQLITE_CANTOPEN;
	database->file_device = code ? 0 : status.st_dev;
	database->file_number = code ? 0 : status.st_ino;
	if (!code)
		database->trusted_s = (uint64_t)read_number(
			database, "SELECT max(start) FROM span WHERE level = 0", &code);
	if (code)
		close_handle(database);
	return code;
}

static int open_any(struct history_database *database)
{
	int code = open_handle(database);

	if (is_damage(code)) {
		set_aside(database, (code & 0xff) == SQLITE_NOTADB ?
					    history_faults_of_file(database->path) :
					    "damaged");
		code = open_handle(database);
	}
	return code;
}

struct history_database *history_database_open(const struct history_options *options)
{
	struct history_database *database = calloc(1, sizeof(*database));
	int code;

	if (!database)
		return NULL;
	database->options = *options;
	snprintf(database->path, sizeof(database->path), "%s/" HISTORY_FILE, options->directory);
	code = open_any(database);
	if (code)
		fail(database, code);
	return database;
}

void history_database_close(struct history_database *database)
{
	if (!database)
		return;
	close_handle(database);
	free(database);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int put_names(struct history_database *database, const struct history_batch *batch,
		     uint64_t last)
{
	int64_t boot = 0;
	uint32_t i;
	int code =
		STATEMENT_PUT(database->statements[PUT_BOOT], &boot, statement_text(batch->boot));

	for (i = 0; !code && i < batch->devices_count; i++) {
		const struct history_device *device = &batch->devices[i];

		code = STATEMENT_PUT(database->statements[PUT_DEVICE], &database->devices[i],
				     statement_text(device->key), statement_text(device->name),
				     statement_if(device->total_bytes, device->total_bytes));
	}
	for (i = 0; !code && i < batch->processes_count; i++) {
		const struct history_process *process = &batch->processes[i];
		int64_t *id = &database->processes[i];
		const struct statement_cell cells[] = {
			statement_number((uint64_t)boot),    statement_number(process->pid),
			statement_number(process->start_ns), statement_number(last),
			statement_number(process->inexact),  statement_text(process->name),
			statement_text(process->user),       statement_text(process->container),
			statement_text(process->pod),        statement_text(process->namespace),
			statement_text(process->job),
		};
		const size_t count = sizeof(cells) / sizeof(*cells);

		*id = 0;
		code = statement_put(database->statements[FIND_PROCESS], id, cells, count);
		if (!code && !*id)
			code = statement_put(database->statements[PUT_PROCESS], id, cells, count);
	}
	return code;
}

static int put_memory(struct history_database *database, const struct history_batch *batch,
		      uint64_t level, uint64_t start)
{
	uint32_t i;
	int code = SQLITE_OK;

	for (i = 0; !code && i < batch->memory_count; i++) {
		const struct history_memory *memory = &batch->memory[i];
		int64_t space = 0;

		code = STATEMENT_PUT(database->statements[PUT_SPACE], &space,
				     statement_text(memory->space),
				     statement_number(memory->on_device));
		if (code)
			break;
		code = STATEMENT_PUT(
			database->statements[PUT_MEMORY], NULL, statement_number(level),
			statement_number(start),
			statement_number((uint64_t)database->processes[memory->process]),
			statement_number(memory->device == HISTORY_NONE ?
						 0 :
						 (uint64_t)database->devices[memory->device]),
			statement_number((uint64_t)space), statement_number(memory->held.ms),
			statement_number(memory->held.min_bytes),
			statement_number(memory->held.max_bytes),
			statement_number(memory->held.byte_ms),
			statement_number(memory->idle_byte_ms),
			statement_number(memory->unknown_byte_ms), statement_number(memory->allocs),
			statement_number(memory->alloc_bytes), statement_number(memory->frees),
			statement_number(memory->free_bytes));
	}
	return code;
}

static int put_activity(struct history_database *database, const struct history_batch *batch,
			uint64_t level, uint64_t start)
{
	uint32_t i;
	int code = SQLITE_OK;

	for (i = 0; !code && i < batch->processes_count; i++) {
		const struct history_process *process = &batch->processes[i];

		if (process->launches || process->graph_launches || process->untraced_ms)
			code = STATEMENT_PUT(database->statements[PUT_ACTIVITY], NULL,
					     statement_number(level), statement_number(start),
					     statement_number((uint64_t)database->processes[i]),
					     statement_number(process->launches),
					     statement_number(process->graph_launches),
					     statement_number(process->untraced_ms));
	}
	return code;
}

static int put_device_memory(struct history_database *database, const struct history_batch *batch,
			     uint64_t level, uint64_t start)
{
	uint32_t i;
	int code = SQLITE_OK;

	for (i = 0; !code && i < batch->devices_count; i++) {
		const struct history_device *device = &batch->devices[i];
		const struct history_held *held = &device->held, *used = &device->used;

		code = STATEMENT_PUT(database->statements[PUT_DEVICE_MEMORY], NULL,
				     statement_number(level), statement_number(start),
				     statement_number((uint64_t)database->devices[i]),
				     statement_number(held->ms), statement_number(held->min_bytes),
				     statement_number(held->max_bytes),
				     statement_number(held->byte_ms), statement_number(used->ms),
				     statement_if(device->used_known, used->min_bytes),
				     statement_if(device->used_known, used->max_bytes),
				     statement_number(used->byte_ms));
	}
	return code;
}

static int put_events(struct history_database *database, const struct history_batch *batch)
{
	uint32_t i;
	int code = SQLITE_OK;

	for (i = 0; !code && i < batch->events_count; i++) {
		const struct history_event *event = &batch->events[i];

		code = STATEMENT_PUT(
			database->statements[PUT_EVENT], NULL, statement_number(event->ts_ms),
			statement_number(event->count),
			statement_number(event->process == HISTORY_NONE ?
						 0 :
						 (uint64_t)database->processes[event->process]),
			statement_number(event->device == HISTORY_NONE ?
						 0 :
						 (uint64_t)database->devices[event->device]),
			statement_text(event->kind), statement_text(event->what),
			statement_if(event->bytes_known, event->bytes));
	}
	return code;
}

static int put_all(struct history_database *database, const struct history_batch *batch)
{
	const uint64_t now_s = batch->start_ms / MS_OF_SECOND;
	const uint32_t hour = history_steps[HISTORY_1H].seconds;
	int code = put_names(database, batch, now_s - now_s % hour);
	uint32_t level;

	for (level = 0; !code && level < HISTORY_LEVELS; level++) {
		const uint64_t start = now_s - now_s % history_steps[level].seconds;

		code = STATEMENT_PUT(database->statements[PUT_SPAN], NULL, statement_number(level),
				     statement_number(start), statement_number(batch->ms));
		if (!code)
			code = put_memory(database, batch, level, start);
		if (!code)
			code = put_activity(database, batch, level, start);
		if (!code)
			code = put_device_memory(database, batch, level, start);
	}
	return code ? code : put_events(database, batch);
}

static int put_transaction(struct history_database *database, const struct history_batch *batch)
{
	int code = sqlite3_exec(database->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (!code)
		code = put_all(database, batch);
	if (!code)
		code = sqlite3_exec(database->handle, "COMMIT", NULL, NULL, NULL);
	/* Some failures have rolled it back already. */
	if (code && database->handle && !sqlite3_get_autocommit(database->handle))
		sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
	return code;
}

/* What is written to a file that was deleted or replaced, no reader finds. */
static void check_file(struct history_database *database)
{
	struct stat status;

	if (!database->handle ||
	    (!stat(database->path, &status) && status.st_dev == database->file_device &&
	     status.st_ino == database->file_number))
		return;
	log_warning("%s: deleted or replaced: it is opened anew", database->path);
	close_handle(database);
}

static int put(struct history_database *database, const struct history_batch *batch)
{
	int code;

	check_file(database);
	code = database->handle ? SQLITE_OK : open_any(database);
	if (!code)
		code = history_faults_bound_journal(database->handle, database->path,
						    HISTORY_JOURNAL_MOST);
	if (!code)
		code = put_transaction(database, batch);
	if (is_damage(code)) {
		set_aside(database, "damaged");
		code = open_any(database);
		if (!code)
			code = put_transaction(database, batch);
	}
	return code;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * The clock can be wrong for a while. One that is more than a day away from the rows before is
 * believed after a day in which it went on from there.
 */
static bool is_believed(struct history_database *database, const struct history_batch *batch)
{
	const uint64_t now_s = batch->start_ms / MS_OF_SECOND;
	bool believed = !database->trusted_s || distance(now_s, database->trusted_s) <= DAY_S;

	if (!believed) {
		if (distance(now_s, database->doubted_s) > DAY_S)
			database->doubted_ms = 0;
		database->doubted_s = now_s;
		database->doubted_ms += batch->ms;
		believed = database->doubted_ms >= DAY_S * (uint64_t)MS_OF_SECOND;
	}
	if (believed) {
		database->trusted_s = now_s;
		database->doubted_ms = 0;
	}
	return believed;
}

static void prune(struct history_database *database, const struct history_batch *batch)
{
	const uint64_t wall_s = batch->start_ms / MS_OF_SECOND;
	const bool believed = is_believed(database, batch);
	const struct history_retention retention = {
		.now_s = database->trusted_s,
		.kept_s = database->options.kept_seconds,
		.most_bytes = database->options.most_bytes,
		.only_room = !believed,
	};
	int code;

	if (wall_s < database->pruned_s + 60 && wall_s >= database->pruned_s)
		return;
	database->pruned_s = wall_s;
	code = history_retention_apply(database->handle, &retention);
	if (code)
		fail(database, code);
}

int history_database_put(struct history_database *database, const struct history_batch *batch)
{
	const size_t size = sizeof(*database->processes);
	int code, err = 0;

	database->processes = calloc(batch->processes_count + 1, size);
	database->devices = calloc(batch->devices_count + 1, size);
	code = database->processes && database->devices ? put(database, batch) : SQLITE_NOMEM;
	free(database->processes);
	free(database->devices);
	database->processes = database->devices = NULL;
	if (code) {
		database->counts.failed++;
		err = fail(database, code);
	} else {
		if (database->said)
			log_info("%s: the history is written again", database->path);
		database->said = 0;
		database->counts.written++;
	}
	/* Also when there is no room: this makes some. */
	if (database->handle) {
		prune(database, batch);
		database->counts.bytes = history_retention_bytes(database->handle);
	}
	return err;
}

void history_database_count_failed(struct history_database *database)
{
	database->counts.failed++;
}

struct history_counts history_database_counts(const struct history_database *database)
{
	return database->counts;
}
