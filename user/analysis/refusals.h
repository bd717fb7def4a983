/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a process was refused memory, bucket by bucket, and whether that has gone on ever since:
 * what it holds cannot become more then, and that it stays as it is says nothing. A part of the
 * analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_REFUSALS_H
#define MEMSCOPE_ANALYSIS_REFUSALS_H

#include "analysis/process_activity.h"

struct refusals;

/* Which refusals are meant. */
struct refusals_wanted {
	uint8_t space;  /* memory of the host: only such memory; else memory of a device */
	int32_t device; /* -1: any */
	uint64_t bytes; /* of the blocks that grew */
	/*
	 * Of one function: blocks of so many bytes or less, of which it was not granted as much.
	 * MS_NO_ROW, of any: blocks of a size that it used to get; and since then, no function was
	 * granted so many bytes, nor a sixteenth of what was refused.
	 */
	uint16_t row;
	bool nothing_less; /* of one function: nor was it granted a sixteenth of what was refused */
};

void refusals_free(struct refusals *refusals);
size_t refusals_bytes(const struct refusals *refusals);
void refusals_fold(struct refusals *refusals);

/*
 * A call that allocates failed, or did not. `*began`: nothing like it had been refused in the
 * bucket before. Returns 0 or -ENOMEM.
 */
int refusals_event(struct process_activity *activity, const struct event *event,
		   const struct change *change, bool *began);

/* Whether there were any of such memory in these buckets, whatever was granted. */
bool refusals_occur(const struct process_activity *activity, const struct refusals_wanted *wanted,
		    unsigned int first, unsigned int last);

/* Whether there were some of those that are meant in each quarter of these buckets. */
bool refusals_go_on(const struct process_activity *activity, const struct refusals_wanted *wanted,
		    unsigned int first, unsigned int last);

#endif /* MEMSCOPE_ANALYSIS_REFUSALS_H */
