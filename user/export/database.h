/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A new SQLite file: rows go in by prepared statements, names once. Its memory does not grow with
 * the rows. Whatever fails is logged once; after that, everything fails.
 */
#ifndef MEMSCOPE_EXPORT_DATABASE_H
#define MEMSCOPE_EXPORT_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/string.h"

struct sqlite3;
struct sqlite3_stmt;

#define DATABASE_STATEMENTS 40
#define DATABASE_COLUMNS 6

struct cell {
	enum { CELL_NULL, CELL_INTEGER, CELL_TEXT } kind;
	int64_t number; /* of 64 bits without sign, those above 2^63 come out negative */
	const char *text;
	size_t length;
};

struct database_statement {
	struct sqlite3_stmt *prepared;
	struct cell *bound; /* what each parameter has: many keep their value from row to row */
};

struct database {
	struct sqlite3 *handle;
	struct database_statement statements[DATABASE_STATEMENTS];
	struct database_statement insert_string;
	struct string_table strings;
	struct map string_ids; /* interned text -> its id */
	uint64_t rows;         /* in the transaction */
	const char *name;      /* for messages */
	int err;
};

static inline struct cell cell_null(void)
{
	return (struct cell){ .kind = CELL_NULL };
}

static inline struct cell cell_number(uint64_t number)
{
	return (struct cell){ .kind = CELL_INTEGER, .number = (int64_t)number };
}

/* NULL unless it is known. */
static inline struct cell cell_if(bool known, uint64_t number)
{
	return known ? cell_number(number) : cell_null();
}

/* May hold anything. NULL: NULL. */
struct cell cell_text(const char *text);

/*
 * The file `fd` is empty, and stays the caller's; messages call it `name`, which has to stay.
 * Returns 0 or -errno.
 */
int database_open(struct database *database, int fd, const char *name);
/* Returns 0, or -errno if the file is not whole. */
int database_close(struct database *database);

/* Statements without values, separated by semicolons. */
int database_run(struct database *database, const char *sql);

int database_prepare(struct database *database, size_t statement, const char *sql);

/* Runs a prepared statement with its parameters, in order. */
int database_put(struct database *database, size_t statement, const struct cell *cells,
		 size_t count);

#define DATABASE_PUT(database, statement, ...) \
	database_put(database, statement, (const struct cell[]){ __VA_ARGS__ }, \
		     sizeof((const struct cell[]){ __VA_ARGS__ }) / sizeof(struct cell))

/* Rows that the last statement has inserted or changed. */
int database_changed(const struct database *database);

/* The cell of a name in StringIds: its id, or NULL if it has none. */
struct cell database_name(struct database *database, const char *text, size_t length);

/*
 * Runs a prepared statement, and gives the first columns, as numbers, of each row to `take`, which
 * must not touch the table. Returns 0, or what `take` returned, or -errno.
 */
int database_each(struct database *database, size_t statement, const struct cell *cells,
		  size_t count, int (*take)(void *context, const int64_t columns[DATABASE_COLUMNS]),
		  void *context);

#endif /* MEMSCOPE_EXPORT_DATABASE_H */
