/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The launches that the BPF programs counted instead of recording them: turns what has been added
 * to the counts into records, at the moments when it matters which came first.
 */
#ifndef MEMSCOPE_CAPTURE_RECORDS_LAUNCH_COUNTS_H
#define MEMSCOPE_CAPTURE_RECORDS_LAUNCH_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"

struct launch_counts;

/*
 * The map stays the caller's, and must outlive the counts, as must `keys`: how often a key of it
 * was new. Returns 0 or -errno.
 */
int launch_counts_open(struct launch_counts **counts, int map_fd, const __u64 *keys);
void launch_counts_close(struct launch_counts *counts);

typedef int (*launch_counts_feed)(void *context, void *record, size_t length);

/*
 * Feeds the launches that came before `event`, which changes what handles mean: a name, an exec, or
 * an exit. Of a program that is over nothing is kept. Returns 0, the feed's first other result, or
 * -errno.
 */
int launch_counts_before(struct launch_counts *counts, const struct ms_event *event,
			 launch_counts_feed feed, void *context);

/*
 * In two steps, what has come so far: looks at the counts; and, when all records from before the
 * look have been fed (they say what the handles mean), feeds what was seen. That may be nothing, if
 * those records made it look again. Each returns as above.
 */
int launch_counts_look(struct launch_counts *counts, launch_counts_feed feed, void *context);
int launch_counts_seen(struct launch_counts *counts, launch_counts_feed feed, void *context);

/* Feeds all that have not been fed yet. */
int launch_counts_rest(struct launch_counts *counts, launch_counts_feed feed, void *context);

#endif /* MEMSCOPE_CAPTURE_RECORDS_LAUNCH_COUNTS_H */
