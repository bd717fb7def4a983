// SPDX-License-Identifier: BSD-2-Clause
#include "history/statement.h"

#include <sqlite3.h>

struct statement_cell statement_text(const char *text)
{
	return (struct statement_cell){
		.kind = text && *text ? STATEMENT_TEXT : STATEMENT_NULL,
		.text = text,
	};
}

static int bind(struct sqlite3_stmt *statement, int place, const struct statement_cell *cell)
{
	switch (cell->kind) {
	case STATEMENT_NUMBER:
		return sqlite3_bind_int64(statement, place, cell->number);
	case STATEMENT_TEXT:
		return sqlite3_bind_text(statement, place, cell->text, -1, SQLITE_STATIC);
	default:
		return sqlite3_bind_null(statement, place);
	}
}

int statement_put(struct sqlite3_stmt *statement, int64_t *id, const struct statement_cell *cells,
		  size_t count)
{
	int code = SQLITE_OK, reset;
	size_t i;

	for (i = 0; !code && i < count; i++)
		code = bind(statement, (int)i + 1, &cells[i]);
	while (!code) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		if (id)
			*id = sqlite3_column_int64(statement, 0);
		code = SQLITE_OK;
	}
	reset = sqlite3_reset(statement);
	return code == SQLITE_DONE ? reset : code;
}
