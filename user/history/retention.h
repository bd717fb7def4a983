/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the history's database forgets: what is too old, and if it is too large, the oldest of the
 * finest rollups first.
 */
#ifndef MEMSCOPE_HISTORY_RETENTION_H
#define MEMSCOPE_HISTORY_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

struct history_retention {
	uint64_t now_s;      /* since 1970 */
	uint64_t kept_s;     /* what is older is deleted */
	uint64_t most_bytes; /* of the file */
	bool only_room;      /* the time is not certain: nothing is too old */
};

/* All return SQLITE_OK or a code of SQLite's. */

/* From now on, the file cannot become larger than that, whatever comes. */
int history_retention_bound(struct sqlite3 *handle, uint64_t most_bytes);

int history_retention_apply(struct sqlite3 *handle, const struct history_retention *retention);

/* Of the file, without its journal; 0 if that is not known. */
uint64_t history_retention_bytes(struct sqlite3 *handle);

#endif /* MEMSCOPE_HISTORY_RETENTION_H */
