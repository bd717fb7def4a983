/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a prepared statement of SQLite with a row of cells.
 */
#ifndef MEMSCOPE_HISTORY_STATEMENT_H
#define MEMSCOPE_HISTORY_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3_stmt;

struct statement_cell {
	enum { STATEMENT_NULL, STATEMENT_NUMBER, STATEMENT_TEXT } kind;
	int64_t number;
	const char *text;
};

/* What is too much for SQLite's integers is the most that they can be. */
static inline struct statement_cell statement_number(uint64_t number)
{
	return (struct statement_cell){
		.kind = STATEMENT_NUMBER,
		.number = number > INT64_MAX ? INT64_MAX : (int64_t)number,
	};
}

/* NULL unless it is known. */
static inline struct statement_cell statement_if(bool known, uint64_t number)
{
	return known ? statement_number(number) :
		       (struct statement_cell){ STATEMENT_NULL, 0, NULL };
}

/* "" is NULL. */
struct statement_cell statement_text(const char *text);

/*
 * Runs it. If it gives a row and `id` is not NULL, *id becomes that row's first column. Returns
 * SQLITE_OK or a code of SQLite's.
 */
int statement_put(struct sqlite3_stmt *statement, int64_t *id, const struct statement_cell *cells,
		  size_t count);

#define STATEMENT_PUT(statement, id, ...) \
	statement_put(statement, id, (const struct statement_cell[]){ __VA_ARGS__ }, \
		      sizeof((const struct statement_cell[]){ __VA_ARGS__ }) / \
			      sizeof(struct statement_cell))

#endif /* MEMSCOPE_HISTORY_STATEMENT_H */
