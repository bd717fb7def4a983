/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What can be wrong with the history's file, and with what stands in its way: found out, bounded,
 * and said for people.
 */
#ifndef MEMSCOPE_HISTORY_FAULTS_H
#define MEMSCOPE_HISTORY_FAULTS_H

#include <stdint.h>

struct sqlite3;

/* Of the journal (-wal), beside the file. SQLite cuts it down to what pragmas say when it can. */
#define HISTORY_JOURNAL_MOST (32ull << 20)

/*
 * As long as a process reads what is old, SQLite does not use the journal anew, which grows with
 * each transaction. Returns SQLITE_OK, or SQLITE_BUSY if it has become too large because of that,
 * also after a wait: then nothing more may be written. `most_bytes` is HISTORY_JOURNAL_MOST, but
 * for tests.
 */
int history_faults_bound_journal(struct sqlite3 *handle, const char *path, uint64_t most_bytes);

/* A code of SQLite's that ends an attempt to write. */
const char *history_faults_words(int code);

/* Why a file is none that this version writes. */
const char *history_faults_of_file(const char *path);

#endif /* MEMSCOPE_HISTORY_FAULTS_H */
