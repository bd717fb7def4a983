/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moments of a recording as people say them, and when that was.
 */
#ifndef MEMSCOPE_STORE_REPORT_TIME_H
#define MEMSCOPE_STORE_REPORT_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum report_time_kind {
	REPORT_TIME_NONE,
	REPORT_TIME_SINCE_BEGIN, /* nanoseconds after the recording's beginning */
	REPORT_TIME_BEFORE_END,  /* ... before its end */
	REPORT_TIME_OF_DAY,      /* ... after midnight, UTC */
	REPORT_TIME_WALL,        /* ... of CLOCK_REALTIME */
	/* Once they were looked for, of CLOCK_MONOTONIC: */
	REPORT_TIME_MARK,
	REPORT_TIME_OOM,  /* when memory ran out */
	REPORT_TIME_PEAK, /* when the device on which most was allocated at a time had most */
};

struct report_time {
	enum report_time_kind kind;
	uint64_t ns;
	/* Of REPORT_TIME_MARK: its name, the caller's; whether the last one of it is meant. */
	const char *mark;
	bool takes_last;
	size_t number; /* of REPORT_TIME_OOM: which failure, from 1 on; 0: the gravest */
};

/*
 * "+10", "10s", "1m30s", "2h": since the beginning; "-10s": before the end; "15:04", "15:04:05":
 * on the recording's day; "2026-11-21T15:04", "2026-11-21 15:04:05.5", "...Z", "...+01:00",
 * "@1764000000": then (without a zone, UTC, as in reports); "2026-11-21", "today", "yesterday":
 * when that day begins, UTC. Returns 0 or -EINVAL.
 */
int report_time_parse(struct report_time *time, const char *text);

/* What is known of a recording's times, in nanoseconds of CLOCK_MONOTONIC. */
struct report_time_frame {
	uint64_t first_ns, last_ns; /* the latter 0: not known yet */
	uint64_t wall_offset_ns;    /* CLOCK_REALTIME - CLOCK_MONOTONIC */
};

/*
 * When that was, CLOCK_MONOTONIC; 0: not asked for. A time of day is the first one in the
 * recording, or else the one nearest to it.
 */
uint64_t report_time_moment(const struct report_time *time, const struct report_time_frame *frame);

/* Whether that takes frame->last_ns. */
bool report_time_needs_end(const struct report_time *time);

#endif /* MEMSCOPE_STORE_REPORT_TIME_H */
