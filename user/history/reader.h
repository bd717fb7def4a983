/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the history's database, also while the agent writes it: who used how much, when.
 */
#ifndef MEMSCOPE_HISTORY_READER_H
#define MEMSCOPE_HISTORY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "history/usage.h"

struct history_reader;

/*
 * Returns 0, or -errno: -ENOENT if there is none, -EILSEQ if it is damaged or not a history,
 * -EPROTO if it is one of another version. Nothing is logged.
 */
int history_reader_open(struct history_reader **reader, const char *path);
void history_reader_close(struct history_reader *reader);

/* When it begins and ends, in seconds since 1970; both 0 if it is empty. Returns 0 or -errno. */
int history_reader_range(struct history_reader *reader, uint64_t *first_s, uint64_t *end_s);

enum history_by {
	HISTORY_BY_PROCESS,
	HISTORY_BY_POD,
	HISTORY_BY_CONTAINER,
	HISTORY_BY_USER,
	HISTORY_BY_JOB,
	HISTORY_BY_DEVICE,
};

struct history_query {
	uint64_t from_s, to_s; /* since 1970 */
	enum history_by by;
	bool points;         /* wants history_row.points */
	size_t rows_pointed; /* of so many rows at most */
};

/*
 * By the finest rollups that are kept for the whole range, if that is not too long. Returns 0 or
 * -errno, as above. Free it in any case.
 */
int history_reader_query(struct history_reader *reader, const struct history_query *query,
			 struct history_usage *usage);

#endif /* MEMSCOPE_HISTORY_READER_H */
