/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Somebody who is told what a report is made from while it is read, so that what is written of
 * single events and what the report says of all of them are from one reading.
 */
#ifndef MEMSCOPE_REPORT_FOLLOWER_H
#define MEMSCOPE_REPORT_FOLLOWER_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "report/report.h"

/*
 * Members may be NULL. All return 0 or -errno, which ends the reading. Pointers are valid during
 * the call, but for `recording`, which lives until the next begin() and, after its end(), as long
 * as the report.
 */
struct follower {
	/*
	 * A recording: recording->coverage holds what it says of itself, recording->state is still
	 * empty. If the one before had no end(), nothing can be said of it: it was refused.
	 */
	int (*begin)(struct follower *follower, const struct report_recording *recording);
	/* A call or process record in the time that is reported, of a process that is. */
	int (*event)(struct follower *follower, const struct event *event,
		     const struct change *change);
	/*
	 * The state is now that of an anchor, and not what the events led to: at the beginning
	 * (`first`), after a gap, and where the time that is reported begins.
	 */
	int (*gap)(struct follower *follower, uint64_t ts_ns, bool first);
	/* So many events have been lost since the last time. */
	int (*lost)(struct follower *follower, uint64_t ts_ns, uint64_t count);
	/* The recording is finished, and so is its report. */
	int (*end)(struct follower *follower);
};

#endif /* MEMSCOPE_REPORT_FOLLOWER_H */
