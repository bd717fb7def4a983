// SPDX-License-Identifier: BSD-2-Clause
#include "history/retention.h"

#include <sqlite3.h>
#include <stdio.h>

#include "history/schema.h"

#define ROUNDS 32
#define MOST_EVENTS "100000"
#define JOURNAL_BYTES (6ull << 20) /* of the write-ahead log, beside the file */

static const char *const rollups[] = { "memory", "activity", "device_memory", "span" };

#define ROLLUPS (sizeof(rollups) / sizeof(*rollups))

static uint64_t ask(struct sqlite3 *handle, const char *sql)
{
	struct sqlite3_stmt *statement = NULL;
	uint64_t number = 0;

	if (!sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) &&
	    sqlite3_step(statement) == SQLITE_ROW)
		number = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return number;
}

uint64_t history_retention_bytes(struct sqlite3 *handle)
{
	return ask(handle, "PRAGMA page_count") * ask(handle, "PRAGMA page_size");
}

static uint64_t used_bytes(struct sqlite3 *handle)
{
	const uint64_t pages = ask(handle, "PRAGMA page_count");
	const uint64_t free_pages = ask(handle, "PRAGMA freelist_count");

	return (pages - free_pages) * ask(handle, "PRAGMA page_size");
}

static uint64_t file_bytes(uint64_t most_bytes)
{
	return most_bytes > 2 * JOURNAL_BYTES ? most_bytes - JOURNAL_BYTES : most_bytes / 2;
}

int history_retention_bound(struct sqlite3 *handle, uint64_t most_bytes)
{
	const uint64_t page_bytes = ask(handle, "PRAGMA page_size");
	char sql[64];

	if (!page_bytes)
		return sqlite3_errcode(handle);
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %llu",
		 (unsigned long long)(file_bytes(most_bytes) / page_bytes));
	return sqlite3_exec(handle, sql, NULL, NULL, NULL);
}

/* Deletes the intervals of a level that began before. */
static int forget(struct sqlite3 *handle, uint32_t level, uint64_t before_s)
{
	char sql[128];
	int code = SQLITE_OK;
	size_t i;

	for (i = 0; !code && i < ROLLUPS; i++) {
		snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE level = %u AND start < %llu",
			 rollups[i], level, (unsigned long long)before_s);
		code = sqlite3_exec(handle, sql, NULL, NULL, NULL);
	}
	return code;
}

/* Names, too: a process' row says in which hour it was seen last. */
static int forget_rest(struct sqlite3 *handle, uint64_t before_s)
{
	char sql[192];
	const unsigned long long before = before_s;

	snprintf(sql, sizeof(sql),
		 "DELETE FROM event WHERE ts_ms < %llu;"
		 "DELETE FROM process WHERE last + %u <= %llu",
		 before * 1000, history_steps[HISTORY_1H].seconds, before);
	return sqlite3_exec(handle, sql, NULL, NULL, NULL);
}

static int forget_old(struct sqlite3 *handle, const struct history_retention *retention)
{
	uint32_t level;
	int code = SQLITE_OK;

	for (level = 0; !code && level < HISTORY_LEVELS; level++) {
		const struct history_step *step = &history_steps[level];
		uint64_t kept_s = retention->kept_s;

		if (step->kept_seconds && step->kept_seconds < kept_s)
			kept_s = step->kept_seconds;
		if (kept_s < retention->now_s)
			code = forget(handle, level, retention->now_s - kept_s);
	}
	if (!code)
		code = sqlite3_exec(
			handle,
			"DELETE FROM event WHERE id <= (SELECT max(id) FROM event) - " MOST_EVENTS,
			NULL, NULL, NULL);
	if (!code && retention->kept_s < retention->now_s)
		code = forget_rest(handle, retention->now_s - retention->kept_s);
	return code;
}

/* What a clock has written that was wrong for a while. The processes may be there still. */
static int forget_future(struct sqlite3 *handle, uint64_t now_s)
{
	const unsigned long long after_s = now_s + 86400;
	char sql[192];
	int code = SQLITE_OK;
	size_t i;

	for (i = 0; !code && i < ROLLUPS; i++) {
		snprintf(sql, sizeof(sql),
			 "DELETE FROM %s WHERE level IN (0, 1, 2) AND start > %llu", rollups[i],
			 after_s);
		code = sqlite3_exec(handle, sql, NULL, NULL, NULL);
	}
	snprintf(sql, sizeof(sql),
		 "DELETE FROM event WHERE ts_ms > %llu;"
		 "UPDATE process SET last = %llu WHERE last > %llu",
		 after_s * 1000, (unsigned long long)(now_s - now_s % 3600), after_s);
	return code ? code : sqlite3_exec(handle, sql, NULL, NULL, NULL);
}

/* A quarter of a level's time. Returns whether there was anything that may go. */
static bool forget_quarter(struct sqlite3 *handle, uint32_t level, uint64_t now_s, bool must,
			   int *code)
{
	const uint64_t least_s =
		must ? history_steps[level].seconds : history_steps[level].least_seconds;
	uint64_t oldest_s, before_s;
	char sql[96];

	snprintf(sql, sizeof(sql), "SELECT min(start) FROM span WHERE level = %u", level);
	oldest_s = ask(handle, sql);
	if (!oldest_s || oldest_s + least_s >= now_s)
		return false;
	before_s = oldest_s + (now_s - oldest_s) / 4 + history_steps[level].seconds;
	if (before_s + least_s > now_s)
		before_s = now_s - least_s;
	*code = forget(handle, level, before_s);
	if (!*code && level == HISTORY_1H)
		*code = forget_rest(handle, before_s);
	return !*code;
}

/* A tenth stays free, for what comes until the next time. */
static int make_room(struct sqlite3 *handle, const struct history_retention *retention)
{
	const uint64_t most = file_bytes(retention->most_bytes) / 10 * 9;
	uint32_t level, rounds = 0;
	int code = SQLITE_OK, must;

	for (must = 0; must < 2; must++)
		for (level = 0; level < HISTORY_LEVELS; level++)
			while (!code && used_bytes(handle) > most && rounds++ < ROUNDS)
				if (!forget_quarter(handle, level, retention->now_s, must, &code))
					break;
	/* If there may be less than there was. Otherwise, what comes next takes the free pages. */
	if (!code && history_retention_bytes(handle) > file_bytes(retention->most_bytes))
		code = sqlite3_exec(handle, "PRAGMA incremental_vacuum", NULL, NULL, NULL);
	return code;
}

int history_retention_apply(struct sqlite3 *handle, const struct history_retention *retention)
{
	int code = retention->only_room ? SQLITE_OK : forget_old(handle, retention);

	if (!code && !retention->only_room)
		code = forget_future(handle, retention->now_s);
	return code ? code : make_room(handle, retention);
}
