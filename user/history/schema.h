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

/*
 * Why what a process held may not be what was seen, as the database has it. In what was written
 * before there were two of them, the first stands for both.
 */
enum history_inexact {
	HISTORY_MORE_OR_LESS = 1, /* it may have held more or less: records of it were lost */
	HISTORY_HELD_BEFORE = 2,  /* it may have held more: what it had before it was attached to */
};

/* SQL that makes the tables. */
extern const char history_schema[];

/*
 * `start_ns` of the row of process ?2 of boot ?1, which began at ?3, in container ?8, pod ?9 and
 * namespace ?10. One that is moved has a row for each place, a nanosecond after the one before: no
 * other process has its pid that soon. All after the 16th are in one. Of a row about which nothing
 * is known it is not known that it is another place.
 */
#define HISTORY_PROCESS_START \
	"coalesce((SELECT start_ns FROM process WHERE " HISTORY_SAME_PROCESS \
	" AND ((container IS ?8 AND pod IS ?9 AND namespace IS ?10)" \
	" OR coalesce(user, container, pod, namespace, job) IS NULL) ORDER BY start_ns LIMIT 1)," \
	" (SELECT min(max(start_ns) + 1, ?3 + 15) FROM process WHERE " HISTORY_SAME_PROCESS \
	"), ?3)"
#define HISTORY_SAME_PROCESS "boot = ?1 AND pid = ?2 AND start_ns BETWEEN ?3 AND ?3 + 15"

#endif /* MEMSCOPE_HISTORY_SCHEMA_H */
