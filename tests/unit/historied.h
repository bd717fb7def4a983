/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A history's database in a folder of its own, and what is in it.
 */
#ifndef MEMSCOPE_TESTS_HISTORIED_H
#define MEMSCOPE_TESTS_HISTORIED_H

#include <sqlite3.h>

#include "folder.h"
#include "history/database.h"
#include "history/schema.h"

#define WALL_S 1700006400ull /* a whole hour */
#define PATH "./" HISTORY_FILE
#define MOST (64ull << 20)

static const struct history_options options = { ".", MOST, 400 * 86400 };

/* The number that a query gives. */
static inline uint64_t ask(const char *sql)
{
	struct sqlite3_stmt *statement = NULL;
	struct sqlite3 *handle;
	uint64_t number;

	assert_int_equal(sqlite3_open_v2(PATH, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	number = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(handle);
	return number;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, folder_enter, folder_leave)

#endif /* MEMSCOPE_TESTS_HISTORIED_H */
