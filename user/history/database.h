/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writer of the history's database. Every batch is one transaction, so that a crash at any
 * moment leaves a database with all batches before. Nothing that happens to the disk or the file is
 * fatal: it is said once, counted, and tried again with the next batch.
 */
#ifndef MEMSCOPE_HISTORY_DATABASE_H
#define MEMSCOPE_HISTORY_DATABASE_H

#include <stdint.h>

#include "history/batch.h"

struct history_database;

struct history_options {
	const char *directory; /* it exists */
	uint64_t most_bytes;   /* of the database */
	uint64_t kept_seconds; /* what is older is deleted */
};

struct history_counts {
	uint64_t written;   /* batches */
	uint64_t failed;    /* batches that are missing in the database */
	uint64_t set_aside; /* databases that were damaged */
	uint64_t bytes;     /* of the file */
};

/*
 * Opens the database, or makes one; one that is damaged is set aside. What fails is logged, and
 * tried again with the next batch. Returns NULL without memory.
 */
struct history_database *history_database_open(const struct history_options *options);
void history_database_close(struct history_database *database);

/* Returns 0 or -errno, counted; logged unless it was so before. */
int history_database_put(struct history_database *database, const struct history_batch *batch);

/* A batch came that could not be read. */
void history_database_count_failed(struct history_database *database);

struct history_counts history_database_counts(const struct history_database *database);

#endif /* MEMSCOPE_HISTORY_DATABASE_H */
