/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of the history's database, and its rollups: sums of intervals, the coarser the longer
 * they are kept.
 */
#ifndef MEMSCOPE_HISTORY_SCHEMA_H
#define MEMSCOPE_HISTORY_SCHEMA_H

#include <stdint.h>

#define HISTORY_FILE "history.db" /* in the directory `history` of the agent's state directory */
#define HISTORY_DAMAGED HISTORY_FILE ".damaged"

#define HISTORY_APPLICATION 0x4d534849 /* "MSHI": PRAGMA application_id */
#define HISTORY_VERSION 1              /* PRAGMA user_version */

enum history_level {
	HISTORY_10S,
	HISTORY_5MIN,
	HISTORY_1H,
	HISTORY_LEVELS,
};

extern const struct history_step {
	uint32_t seconds;       /* of one interval; each is a multiple of the one before */
	uint32_t kept_seconds;  /* 0: as long as the whole history */
	uint32_t least_seconds; /* so much is kept even if the database is too large */
} history_steps[HISTORY_LEVELS];

/* SQL that makes the tables. */
extern const char history_schema[];

#endif /* MEMSCOPE_HISTORY_SCHEMA_H */
