/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the database says of who a process is.
 */
#ifndef MEMSCOPE_HISTORY_PROCESS_WORDS_H
#define MEMSCOPE_HISTORY_PROCESS_WORDS_H

#include "base/string.h"
#include "history/reader.h"

struct sqlite3_stmt;

/* Columns of a statement: SQL that finds a process by its id. */
enum process_column {
	PROCESS_PID,
	PROCESS_NAME,
	PROCESS_USER,
	PROCESS_CONTAINER,
	PROCESS_POD,
	PROCESS_NAMESPACE,
	PROCESS_JOB,
	PROCESS_INEXACT,
};
extern const char process_words_find[];

/* These read the row that the statement has given. A text is "" if it is not known. */
const char *process_words_column(struct sqlite3_stmt *statement, int column);

/* "pod default/train, job 17", as far as it is known, to be freed; NULL: it is not. */
char *process_words_place(struct sqlite3_stmt *statement);

/* What rows `by` something call it; with a byte 0. */
void process_words_group(struct string *out, struct sqlite3_stmt *statement, enum history_by by);

#endif /* MEMSCOPE_HISTORY_PROCESS_WORDS_H */
