/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From files to a report: replays one recording after the other.
 */
#ifndef MEMSCOPE_STORE_REPORT_READER_H
#define MEMSCOPE_STORE_REPORT_READER_H

#include <stdbool.h>

#include "sink.h"
#include "report/report.h"
#include "store/dump_set.h"
#include "store/replay.h"

/* A moment, as people say it. */
struct report_time {
	bool set;
	bool relative; /* nanoseconds since the recording began; else of CLOCK_REALTIME */
	uint64_t ns;
};

/*
 * "+10", "10s", "1.5m", "2h": since the beginning; "2026-11-21T15:04:05.5Z", "... +01:00": then
 * (without a zone, UTC, as in reports). Returns 0 or -EINVAL.
 */
int report_time_parse(struct report_time *time, const char *text);

struct report_reader {
	struct report_time from, until;
	struct report_time window[3]; /* struct analysis_options */
	struct analysis_options thresholds;
	struct sink *sink; /* NULL: there is none; the caller's */
	/*
	 * Told after each block how many bytes of all files have been read so far; NULL: nobody is.
	 * Returns 0 or -errno, which ends the reading.
	 */
	int (*progress)(void *context, uint64_t bytes);
	void *progress_context;
	struct report report;

	struct replay_limits limits;
	struct report_run **runs; /* what the recordings of the report rest on */
	size_t runs_count;
	size_t unusable; /* recordings of which nothing can be said */
	uint64_t bytes;  /* read so far */
};

/*
 * Reads all recordings of the set. Returns 0 or -errno, logged; what has nothing usable is left
 * out.
 */
int report_reader_read(struct report_reader *reader, struct dump_set *set);
void report_reader_fini(struct report_reader *reader);

#endif /* MEMSCOPE_STORE_REPORT_READER_H */
