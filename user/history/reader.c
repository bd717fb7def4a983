// SPDX-License-Identifier: BSD-2-Clause
#include "history/reader.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/string.h"
#include "history/process_words.h"
#include "history/statement.h"

#define BUSY_MS 5000
#define INTERVALS_MOST 1000 /* of a query; 2 h 46 min of ten seconds each */
#define ROWS_MOST 50000     /* a year can have had millions of processes */

struct history_reader {
	struct sqlite3 *handle;
};

/* ---- opening --------------------------------------------------------------------------------- */

static int error_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EILSEQ;
	case SQLITE_PERM:
	case SQLITE_AUTH:
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
		return -EACCES;
	case SQLITE_BUSY:
		return -EBUSY;
	}
	return -EIO;
}

/* Runs a statement without values. */
static int ask(struct history_reader *reader, const char *sql, uint64_t *number)
{
	struct sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(reader->handle, sql, -1, &statement, NULL);

	*number = 0;
	if (!code) {
		code = sqlite3_step(statement);
		if (code == SQLITE_ROW)
			*number = (uint64_t)sqlite3_column_int64(statement, 0);
		code = code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
	}
	sqlite3_finalize(statement);
	return error_of(code);
}

static int check(struct history_reader *reader)
{
	uint64_t application, version = 0;
	int err = ask(reader, "PRAGMA application_id", &application);

	if (!err && application != HISTORY_APPLICATION)
		err = -EILSEQ;
	if (!err)
		err = ask(reader, "PRAGMA user_version", &version);
	return !err && version != HISTORY_VERSION ? -EPROTO : err;
}

int history_reader_open(struct history_reader **out, const char *path)
{
	struct history_reader *reader;
	int err;

	*out = NULL;
	if (access(path, F_OK))
		return -errno;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	err = error_of(sqlite3_open_v2(path, &reader->handle,
				       SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL));
	if (!err)
		err = error_of(sqlite3_busy_timeout(reader->handle, BUSY_MS));
	/* It may be of anybody's making. */
	if (!err)
		err = error_of(sqlite3_exec(
			reader->handle, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON",
			NULL, NULL, NULL));
	if (!err)
		err = check(reader);
	if (err) {
		history_reader_close(reader);
		return err;
	}
	*out = reader;
	return 0;
}

void history_reader_close(struct history_reader *reader)
{
	if (!reader)
		return;
	sqlite3_close(reader->handle);
	free(reader);
}

/* When the level begins; 0: it is empty. */
static int begin_of(struct history_reader *reader, int level, uint64_t *begin_s)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "SELECT min(start) FROM span WHERE level = %d", level);
	return ask(reader, sql, begin_s);
}

/* Whether a level goes back as far as the coarsest one does. */
static bool is_whole(uint64_t begin_s, uint64_t first_s)
{
	return begin_s && begin_s < first_s + history_steps[HISTORY_1H].seconds;
}

int history_reader_range(struct history_reader *reader, uint64_t *first_s, uint64_t *end_s)
{
	uint64_t begin_s;
	int level, err = begin_of(reader, HISTORY_1H, first_s);

	for (level = HISTORY_5MIN; !err && level >= HISTORY_10S; level--) {
		err = begin_of(reader, level, &begin_s);
		if (!err && is_whole(begin_s, *first_s))
			*first_s = begin_s;
	}
	if (!err)
		err = ask(reader, "SELECT max(start) + 10 FROM span WHERE level = 0", end_s);
	return err;
}

/* ---- what is known of processes and devices -------------------------------------------------- */

static char *text_of(struct sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);

	return text ? strdup(text) : NULL;
}

struct look_up {
	struct history_reader *reader;
	const struct history_query *query;
	struct history_usage *usage;
	struct sqlite3_stmt *process, *device;
	struct map by_process; /* id -> position of its row */
	struct map by_device;
	struct string_table names; /* of rows */
	struct map by_name;        /* interned name -> position of its row */
	uint32_t step_s;           /* of the level */
	bool pointing;             /* the second time over the range: for points only */
};

static const char find_device[] = "SELECT key, name FROM device WHERE id = ?1";

/* The row of that name, which may be a new one, or that of all for which there is no place. */
static struct history_row *find_row(struct look_up *look_up, const char *name)
{
	const char *known = string_intern(&look_up->names, name, strlen(name));
	const uint64_t *place = known ? map_get(&look_up->by_name, (uintptr_t)known) : NULL;
	struct history_usage *usage = look_up->usage;

	if (known && !place && usage->rows_count >= ROWS_MOST) {
		known = string_intern(&look_up->names, HISTORY_OTHERS, strlen(HISTORY_OTHERS));
		place = known ? map_get(&look_up->by_name, (uintptr_t)known) : NULL;
	}
	if (place)
		return &usage->rows[*place];
	if (!known || map_set(&look_up->by_name, (uintptr_t)known, usage->rows_count))
		return NULL;
	return history_usage_add_row(usage, known);
}

static int find(struct sqlite3_stmt *statement, int64_t id)
{
	sqlite3_reset(statement);
	sqlite3_bind_int64(statement, 1, id);
	return sqlite3_step(statement);
}

/* Returns NULL without memory. */
static struct history_row *row_of_process(struct look_up *look_up, int64_t id)
{
	const uint64_t *place = map_get(&look_up->by_process, (uint64_t)id);
	struct sqlite3_stmt *statement = look_up->process;
	struct history_usage *usage = look_up->usage;
	const bool alone =
		look_up->query->by == HISTORY_BY_PROCESS && usage->rows_count < ROWS_MOST;
	struct string name = { 0 };
	struct history_row *row;
	bool found;

	if (place)
		return &usage->rows[*place];
	found = find(statement, id) == SQLITE_ROW;
	if (found)
		process_words_group(&name, statement, look_up->query->by);
	else
		string_append_char(&name, '\0');
	if (name.failed) {
		string_fini(&name);
		return NULL;
	}
	row = alone ? history_usage_add_row(usage, name.bytes) : find_row(look_up, name.bytes);
	string_fini(&name);
	if (!row || map_set(&look_up->by_process, (uint64_t)id, (uint64_t)(row - usage->rows)))
		return NULL;
	if (found && alone) {
		row->pid = (uint64_t)sqlite3_column_int64(statement, PROCESS_PID);
		row->user = text_of(statement, PROCESS_USER);
		row->place = process_words_place(statement);
	}
	row->processes++;
	if (found)
		row->inexact |= (uint64_t)sqlite3_column_int(statement, PROCESS_INEXACT);
	return row;
}

static struct history_row *row_of_device(struct look_up *look_up, int64_t id)
{
	const uint64_t *place = map_get(&look_up->by_device, (uint64_t)id);
	struct history_usage *usage = look_up->usage;
	struct history_row *row;
	bool found;

	if (place)
		return &usage->rows[*place];
	found = find(look_up->device, id) == SQLITE_ROW;
	row = find_row(look_up, found ? process_words_column(look_up->device, 0) : "");
	if (!row || map_set(&look_up->by_device, (uint64_t)id, (uint64_t)(row - usage->rows)))
		return NULL;
	if (found && !row->device_name)
		row->device_name = text_of(look_up->device, 1);
	return row;
}

/* ---- adding up ------------------------------------------------------------------------------- */

static int close_interval(const struct look_up *look_up, struct history_row *row)
{
	const struct history_usage *usage = look_up->usage;
	struct history_point *last = row->points_count ? &row->points[row->points_count - 1] : NULL;
	const uint64_t mean_bytes = row->open.byte_ms / (usage->step_s * 1000ull);
	uint64_t start_s;

	if (row->open.max_bytes > row->peak_bytes) {
		row->peak_bytes = row->open.max_bytes;
		row->peak_is_sum = row->open.parts > 1;
	}
	if (!look_up->pointing || !row->open.start_s)
		return 0;
	start_s = row->open.start_s - (row->open.start_s - usage->from_s) % usage->step_s;
	if (last && last->start_s == start_s) {
		last->mean_bytes += mean_bytes;
		if (row->open.max_bytes > last->max_bytes)
			last->max_bytes = row->open.max_bytes;
		return 0;
	}
	if (memory_grow(&row->points, &row->points_capacity, row->points_count + 1,
			sizeof(*row->points)))
		return -ENOMEM;
	row->points[row->points_count++] =
		(struct history_point){ start_s, mean_bytes, row->open.max_bytes };
	return 0;
}

/* Whether it is one process's: not that of a group, nor of all for which there is no place. */
static bool is_one_process(const struct look_up *look_up, const struct history_row *row)
{
	return look_up->query->by == HISTORY_BY_PROCESS &&
	       (size_t)(row - look_up->usage->rows) < ROWS_MOST;
}

/* Something in that interval is added to the row. */
static int open_interval(const struct look_up *look_up, struct history_row *row, uint64_t start_s)
{
	int err = 0;

	if (row->open.start_s != start_s || !row->end_s) {
		err = close_interval(look_up, row);
		/* In its first and last interval, a process begins and ends, with nothing. */
		if (row->end_s && row->open.start_s != row->first_s && !look_up->pointing &&
		    is_one_process(look_up, row))
			rise_note(&row->rise, row->open.start_s, row->end_s, row->open.min_bytes);
		row->open.start_s = start_s;
		row->open.min_bytes = row->open.max_bytes = row->open.byte_ms = 0;
		row->open.parts = 0;
	}
	if (!row->end_s)
		row->first_s = start_s;
	row->end_s = start_s + look_up->step_s;
	return err;
}

static int add_held(struct history_row *row, uint64_t min_bytes, uint64_t max_bytes,
		    uint64_t byte_ms)
{
	row->open.min_bytes += min_bytes;
	row->open.max_bytes += max_bytes;
	row->open.parts += max_bytes > 0;
	row->open.byte_ms += byte_ms;
	return 0;
}

static uint64_t number(struct sqlite3_stmt *statement, int column)
{
	const sqlite3_int64 value = sqlite3_column_int64(statement, column);

	return value < 0 ? 0 : (uint64_t)value;
}

static const char sum_memory[] =
	"SELECT m.start, m.process, m.device, m.max_bytes, m.byte_ms, m.idle_byte_ms,"
	" m.unknown_byte_ms, m.allocs, m.alloc_bytes, m.frees, m.free_bytes, m.min_bytes"
	" FROM memory m WHERE m.level = ?1 AND m.start >= ?2 AND m.start < ?3"
	" AND m.space IN (SELECT id FROM space WHERE on_device) ORDER BY m.start";

static int add_memory(struct look_up *look_up, struct sqlite3_stmt *statement)
{
	const bool by_device = look_up->query->by == HISTORY_BY_DEVICE;
	struct history_row *row =
		by_device ? row_of_device(look_up, sqlite3_column_int64(statement, 2)) :
			    row_of_process(look_up, sqlite3_column_int64(statement, 1));
	int err;

	/* What is held on a device, and where that is not known, comes from a table of its own. */
	if (row && look_up->pointing && (!row->pointed || (by_device && *row->name)))
		return 0;
	err = row ? open_interval(look_up, row, number(statement, 0)) : -ENOMEM;
	if (err || look_up->pointing)
		return err ? err : add_held(row, 0, number(statement, 3), number(statement, 4));
	row->idle_byte_ms += number(statement, 5);
	row->unknown_byte_ms += number(statement, 6);
	row->allocs += number(statement, 7);
	row->alloc_bytes += number(statement, 8);
	row->frees += number(statement, 9);
	row->free_bytes += number(statement, 10);
	if (by_device && *row->name)
		return 0;
	row->byte_ms += number(statement, 4);
	return add_held(row, number(statement, 11), number(statement, 3), number(statement, 4));
}

static const char sum_activity[] =
	"SELECT process, sum(launches), sum(graph_launches) FROM activity"
	" WHERE level = ?1 AND start >= ?2 AND start < ?3 GROUP BY process";

static int add_activity(struct look_up *look_up, struct sqlite3_stmt *statement)
{
	struct history_row *row;

	if (look_up->query->by == HISTORY_BY_DEVICE)
		return 0;
	row = row_of_process(look_up, sqlite3_column_int64(statement, 0));
	if (!row)
		return -ENOMEM;
	row->launches += number(statement, 1);
	row->graph_launches += number(statement, 2);
	return 0;
}

static const char sum_devices[] =
	"SELECT start, device, max_bytes, byte_ms, used_ms, used_max_bytes, used_byte_ms"
	" FROM device_memory WHERE level = ?1 AND start >= ?2 AND start < ?3 ORDER BY start";

static int add_device(struct look_up *look_up, struct sqlite3_stmt *statement)
{
	struct history_row *row;
	int err;

	if (look_up->query->by != HISTORY_BY_DEVICE)
		return 0;
	row = row_of_device(look_up, sqlite3_column_int64(statement, 1));
	if (row && look_up->pointing && !row->pointed)
		return 0;
	err = row ? open_interval(look_up, row, number(statement, 0)) : -ENOMEM;
	if (!err)
		add_held(row, 0, number(statement, 2), number(statement, 3));
	if (err || look_up->pointing)
		return err;
	row->byte_ms += number(statement, 3);
	if (!number(statement, 4))
		return 0;
	row->used_known = true;
	row->used_ms += number(statement, 4);
	row->used_byte_ms += number(statement, 6);
	if (number(statement, 5) > row->used_peak_bytes)
		row->used_peak_bytes = number(statement, 5);
	return 0;
}

static const char list_events[] =
	"SELECT ts_ms, count, kind, what, bytes, process, device FROM event"
	" WHERE ts_ms >= ?2 * 1000 AND ts_ms < ?3 * 1000 AND ?1 >= 0 ORDER BY ts_ms DESC, id DESC";

static int add_event(struct look_up *look_up, struct sqlite3_stmt *statement)
{
	struct history_usage *usage = look_up->usage;
	struct history_happening *event;

	if (usage->events_count == HISTORY_EVENTS_MOST) {
		usage->events_left_out++;
		return 0;
	}
	if (memory_grow(&usage->events, &usage->events_capacity, usage->events_count + 1,
			sizeof(*usage->events)))
		return -ENOMEM;
	event = &usage->events[usage->events_count++];
	*event = (struct history_happening){
		.ts_ms = number(statement, 0),
		.count = number(statement, 1),
		.kind = text_of(statement, 2),
		.what = text_of(statement, 3),
		.bytes_known = sqlite3_column_type(statement, 4) != SQLITE_NULL,
		.bytes = number(statement, 4),
	};
	if (find(look_up->process, sqlite3_column_int64(statement, 5)) == SQLITE_ROW) {
		event->pid = (uint64_t)sqlite3_column_int64(look_up->process, PROCESS_PID);
		event->process = text_of(look_up->process, PROCESS_NAME);
		event->user = text_of(look_up->process, PROCESS_USER);
		event->place = process_words_place(look_up->process);
		event->inexact = (uint64_t)sqlite3_column_int(look_up->process, PROCESS_INEXACT);
	}
	if (find(look_up->device, sqlite3_column_int64(statement, 6)) == SQLITE_ROW)
		event->device = text_of(look_up->device, 0);
	return 0;
}

/* Calls `add` for each row that the statement gives for the range. */
static int each(struct look_up *look_up, const char *sql,
		int (*add)(struct look_up *look_up, struct sqlite3_stmt *statement))
{
	const struct history_usage *usage = look_up->usage;
	struct sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(look_up->reader->handle, sql, -1, &statement, NULL), err = 0;

	if (!code) {
		sqlite3_bind_int64(statement, 1, usage->level);
		sqlite3_bind_int64(statement, 2, (sqlite3_int64)usage->from_s);
		sqlite3_bind_int64(statement, 3, (sqlite3_int64)usage->to_s);
	}
	while (!code && !err) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		code = SQLITE_OK;
		err = add(look_up, statement);
	}
	sqlite3_finalize(statement);
	return err ? err : error_of(code == SQLITE_DONE ? SQLITE_OK : code);
}

/* ---- queries --------------------------------------------------------------------------------- */

/* The finest level that reaches back to the beginning of the range, and is not too fine for it. */
static int choose_level(struct history_reader *reader, const struct history_query *query,
			struct history_usage *usage)
{
	uint64_t first_s, begin_s;
	int level, err = begin_of(reader, HISTORY_1H, &first_s);

	for (level = HISTORY_10S; !err && level < HISTORY_1H; level++) {
		err = begin_of(reader, level, &begin_s);
		if (((begin_s && begin_s <= query->from_s) || is_whole(begin_s, first_s)) &&
		    (query->to_s - query->from_s) / history_steps[level].seconds + 2 <=
			    INTERVALS_MOST)
			break;
	}
	usage->level = level;
	return err;
}

/* Only those that are shown: the points of all could be more than there is memory for. */
static int add_points(struct look_up *look_up)
{
	struct history_usage *usage = look_up->usage;
	int err = history_usage_choose(usage, look_up->query->rows_pointed);
	size_t i;

	if (err)
		return err;
	look_up->pointing = true;
	err = each(look_up, sum_memory, add_memory);
	if (!err)
		err = each(look_up, sum_devices, add_device);
	for (i = 0; !err && i < usage->rows_count; i++)
		if (usage->rows[i].pointed)
			err = close_interval(look_up, &usage->rows[i]);
	return err;
}

static int add_observed(struct look_up *look_up, struct sqlite3_stmt *statement)
{
	look_up->usage->observed_ms = number(statement, 0);
	return 0;
}

static const char sum_span[] =
	"SELECT sum(ms) FROM span WHERE level = ?1 AND start >= ?2 AND start < ?3";

static int add_all(struct look_up *look_up)
{
	struct history_usage *usage = look_up->usage;
	struct history_happening swap;
	int err = each(look_up, sum_span, add_observed);
	size_t i;

	if (!err)
		err = each(look_up, sum_memory, add_memory);
	for (i = 0; look_up->query->by == HISTORY_BY_DEVICE && i < usage->rows_count; i++)
		if (*usage->rows[i].name) /* the intervals come again, from the other table */
			usage->rows[i].open.start_s = 0, usage->rows[i].end_s = 0;
	if (!err)
		err = each(look_up, sum_devices, add_device);
	if (!err)
		err = each(look_up, sum_activity, add_activity);
	if (!err)
		err = each(look_up, list_events, add_event);
	for (i = 0; !err && i < usage->rows_count; i++)
		err = close_interval(look_up, &usage->rows[i]);
	if (!err && look_up->query->points)
		err = add_points(look_up);
	for (i = 0; i < usage->events_count / 2; i++) {
		swap = usage->events[i];
		usage->events[i] = usage->events[usage->events_count - 1 - i];
		usage->events[usage->events_count - 1 - i] = swap;
	}
	return err;
}

int history_reader_query(struct history_reader *reader, const struct history_query *query,
			 struct history_usage *usage)
{
	struct look_up look_up = { .reader = reader, .query = query, .usage = usage };
	int err, code;

	*usage = (struct history_usage){ 0 };
	err = choose_level(reader, query, usage);
	if (err)
		return err;
	look_up.step_s = history_steps[usage->level].seconds;
	usage->from_s = query->from_s - query->from_s % look_up.step_s;
	usage->step_s = look_up.step_s;
	while (query->points && (query->to_s - usage->from_s) / usage->step_s >= INTERVALS_MOST)
		usage->step_s += look_up.step_s;
	usage->to_s = query->to_s + usage->step_s - 1;
	usage->to_s -= (usage->to_s - usage->from_s) % usage->step_s;
	code = sqlite3_exec(reader->handle, "BEGIN", NULL, NULL, NULL);
	if (!code)
		code = sqlite3_prepare_v2(reader->handle, process_words_find, -1, &look_up.process,
					  NULL);
	if (!code)
		code = sqlite3_prepare_v2(reader->handle, find_device, -1, &look_up.device, NULL);
	err = error_of(code);
	if (!err)
		err = add_all(&look_up);
	sqlite3_finalize(look_up.process);
	sqlite3_finalize(look_up.device);
	sqlite3_exec(reader->handle, "COMMIT", NULL, NULL, NULL);
	map_fini(&look_up.by_process);
	map_fini(&look_up.by_device);
	map_fini(&look_up.by_name);
	string_table_fini(&look_up.names);
	if (!err)
		history_usage_sort(usage);
	return err;
}
