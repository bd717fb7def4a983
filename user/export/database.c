// SPDX-License-Identifier: BSD-2-Clause
#include "export/database.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "export/database_file.h"

#define ROWS_PER_TRANSACTION 100000

/* The file is not visible before it is whole, and one that is not is thrown away. */
static const char pragmas[] = "PRAGMA journal_mode = OFF;"
			      "PRAGMA synchronous = OFF;"
			      "PRAGMA locking_mode = EXCLUSIVE;"
			      "PRAGMA page_size = 16384;"
			      "PRAGMA cache_size = -8192;" /* KiB */
			      "BEGIN";

static int fail(struct database *database)
{
	int code = database->handle ? sqlite3_errcode(database->handle) : SQLITE_NOMEM;

	if (database->err)
		return database->err;
	log_error("%s: cannot write: %s; nothing was written", database->name,
		  database->handle ? sqlite3_errmsg(database->handle) : sqlite3_errstr(code));
	database->err = code == SQLITE_FULL ? -ENOSPC : code == SQLITE_NOMEM ? -ENOMEM : -EIO;
	return database->err;
}

static int fail_memory(struct database *database)
{
	if (!database->err)
		log_error("not enough memory");
	database->err = -ENOMEM;
	return database->err;
}

/* ---- opening and closing --------------------------------------------------------------------- */

int database_run(struct database *database, const char *sql)
{
	if (database->err)
		return database->err;
	return sqlite3_exec(database->handle, sql, NULL, NULL, NULL) ? fail(database) : 0;
}

static int prepare(struct database *database, struct database_statement *statement, const char *sql)
{
	int count;

	if (database->err)
		return database->err;
	if (sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
			       &statement->prepared, NULL))
		return fail(database);
	count = sqlite3_bind_parameter_count(statement->prepared);
	statement->bound = calloc((size_t)count + 1, sizeof(*statement->bound));
	return statement->bound ? 0 : fail_memory(database);
}

static void finish(struct database_statement *statement)
{
	sqlite3_finalize(statement->prepared);
	free(statement->bound);
	*statement = (struct database_statement){ 0 };
}

int database_prepare(struct database *database, size_t statement, const char *sql)
{
	return prepare(database, &database->statements[statement], sql);
}

int database_open(struct database *database, int fd, const char *name)
{
	char file[DATABASE_FILE_NAME_BYTES];
	const char *vfs = database_file_name(file, fd);
	int err;

	*database = (struct database){ .name = name };
	if (!vfs)
		return fail_memory(database);
	if (sqlite3_open_v2(file, &database->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
			    vfs))
		return fail(database);
	err = database_run(database, pragmas);
	if (!err)
		err = database_run(database, "CREATE TABLE StringIds"
					     " (id INTEGER PRIMARY KEY, value TEXT NOT NULL)");
	return err ? err :
		     prepare(database, &database->insert_string,
			     "INSERT INTO StringIds VALUES (?, ?)");
}

int database_close(struct database *database)
{
	size_t i;
	int err = database->handle ? database_run(database, "COMMIT") : 0;

	for (i = 0; i < DATABASE_STATEMENTS; i++)
		finish(&database->statements[i]);
	finish(&database->insert_string);
	if (database->handle && sqlite3_close(database->handle) && !err)
		err = fail(database);
	database->handle = NULL;
	string_table_fini(&database->strings);
	map_fini(&database->string_ids);
	return err;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct cell cell_text(const char *text)
{
	if (!text)
		return cell_null();
	return (struct cell){ .kind = CELL_TEXT, .text = text, .length = strlen(text) };
}

/* SQLite believes that text is UTF-8, and functions of it stop at a NUL. */
static void append_clean(struct string *out, const char *text, size_t length)
{
	const char *const end = text + length;

	while (text < end) {
		size_t step = *text ? string_utf8_length(text, end - text) : 0;

		if (step)
			string_append(out, text, step);
		else
			string_append_text(out, "\xef\xbf\xbd");
		text += step ? step : 1;
	}
}

static int bind_text(struct database *database, struct sqlite3_stmt *statement, int place,
		     const struct cell *cell)
{
	struct string clean = { 0 };
	int code;

	append_clean(&clean, cell->text, cell->length);
	if (clean.failed) {
		string_fini(&clean);
		return fail_memory(database);
	}
	code = sqlite3_bind_text(statement, place, clean.bytes ? clean.bytes : "",
				 (int)clean.length, SQLITE_TRANSIENT);
	string_fini(&clean);
	return code ? fail(database) : 0;
}

static bool is_bound(const struct cell *bound, const struct cell *cell)
{
	return cell->kind == bound->kind && cell->kind != CELL_TEXT &&
	       (cell->kind == CELL_NULL || cell->number == bound->number);
}

static int bind_cell(struct database *database, struct sqlite3_stmt *prepared, int place,
		     const struct cell *cell)
{
	int code;

	if (cell->kind == CELL_TEXT)
		return bind_text(database, prepared, place, cell);
	code = cell->kind == CELL_NULL ? sqlite3_bind_null(prepared, place) :
					 sqlite3_bind_int64(prepared, place, cell->number);
	return code ? fail(database) : 0;
}

/* A statement that is reset keeps its parameters. */
static int bind(struct database *database, const struct database_statement *statement,
		const struct cell *cells, size_t count)
{
	size_t i;
	int err = database->err;

	for (i = 0; !err && i < count; i++) {
		if (is_bound(&statement->bound[i], &cells[i]))
			continue;
		err = bind_cell(database, statement->prepared, (int)i + 1, &cells[i]);
		statement->bound[i] =
			(struct cell){ .kind = cells[i].kind, .number = cells[i].number };
	}
	return err;
}

static int step(struct database *database, struct sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement), err = 0;

	if (code != SQLITE_DONE)
		err = fail(database);
	sqlite3_reset(statement);
	if (err || ++database->rows < ROWS_PER_TRANSACTION)
		return err;
	database->rows = 0;
	return database_run(database, "COMMIT; BEGIN");
}

int database_put(struct database *database, size_t statement, const struct cell *cells,
		 size_t count)
{
	const struct database_statement *chosen = &database->statements[statement];
	int err = bind(database, chosen, cells, count);

	return err ? err : step(database, chosen->prepared);
}

int database_changed(const struct database *database)
{
	return sqlite3_changes(database->handle);
}

int database_each(struct database *database, size_t statement, const struct cell *cells,
		  size_t count, int (*take)(void *context, const int64_t columns[DATABASE_COLUMNS]),
		  void *context)
{
	const struct database_statement *chosen = &database->statements[statement];
	struct sqlite3_stmt *prepared = chosen->prepared;
	int err = bind(database, chosen, cells, count), code = SQLITE_DONE, i;

	while (!err && (code = sqlite3_step(prepared)) == SQLITE_ROW) {
		int64_t columns[DATABASE_COLUMNS] = { 0 };

		for (i = 0; i < DATABASE_COLUMNS && i < sqlite3_column_count(prepared); i++)
			columns[i] = sqlite3_column_int64(prepared, i);
		err = take(context, columns);
	}
	if (!err && code != SQLITE_DONE)
		err = fail(database);
	sqlite3_reset(prepared);
	return err;
}

/* ---- names ----------------------------------------------------------------------------------- */

struct cell database_name(struct database *database, const char *text, size_t length)
{
	const char *name = text ? string_intern(&database->strings, text, length) : NULL;
	const uint64_t *known;
	struct cell cells[2];

	if (!text || database->err)
		return cell_null();
	known = name ? map_get(&database->string_ids, (uintptr_t)name) : NULL;
	if (known)
		return cell_number(*known);
	cells[0] = cell_number(database->strings.count);
	cells[1] = (struct cell){ .kind = CELL_TEXT, .text = text, .length = length };
	if (!name || map_set(&database->string_ids, (uintptr_t)name, (uint64_t)cells[0].number)) {
		fail_memory(database);
		return cell_null();
	}
	if (bind(database, &database->insert_string, cells, 2) ||
	    step(database, database->insert_string.prepared))
		return cell_null();
	return cells[0];
}
