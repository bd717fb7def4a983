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
#include "store/report_time.h"

struct report_reader {
	struct report_time from, until;
	struct report_time window[3]; /* struct analysis_options */
	struct analysis_options thresholds;
	const struct replay_namer *namer; /* NULL: frames are as they were recorded */
	struct sink *sink;                /* NULL: there is none; the caller's */
	/*
	 * Told after each block how many bytes of all files have been read so far; NULL: none.
	 * Returns 0 or -errno, which ends the reading.
	 */
	int (*progress)(void *context, uint64_t bytes);
	void *progress_context;
	struct report report;

	struct replay_limits limits;
	struct report_run **runs; /* what the recordings of the report rest on */
	size_t runs_count;
	size_t unusable; /* recordings of which nothing can be said */
	size_t without;  /* those of them that lack the mark or the moment that is asked for */
	uint64_t bytes;  /* read so far */
};

/*
 * Reads all recordings of the set. Returns 0 or -errno, logged; what has nothing usable is left
 * out.
 */
int report_reader_read(struct report_reader *reader, struct dump_set *set);
void report_reader_fini(struct report_reader *reader);

#endif /* MEMSCOPE_STORE_REPORT_READER_H */
