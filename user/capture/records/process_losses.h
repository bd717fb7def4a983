/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose records were lost, and whose calls never returned: the kernel side counts that for each
 * process, and what has been added to the counts becomes records (struct ms_loss).
 */
#ifndef MEMSCOPE_CAPTURE_RECORDS_PROCESS_LOSSES_H
#define MEMSCOPE_CAPTURE_RECORDS_PROCESS_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "base/map.h"

/* What has been fed. A zeroed one is nothing. */
struct process_losses {
	struct fed_losses *fed;
	size_t count, capacity;
	struct map places; /* event_process_key() -> in `fed` */
	size_t asked;      /* so many entries, in the map's order, have been asked for */
};

void process_losses_fini(struct process_losses *losses);

/*
 * Reads the map of the kernel side and feeds what is new, as of `now_ns` (CLOCK_MONOTONIC). Entries
 * of processes that have ended make room for those of others, a few with each look. Returns 0,
 * -ENOMEM, or what `fn` returns.
 */
int process_losses_feed(struct process_losses *losses, int map_fd, uint64_t now_ns,
			int (*fn)(void *context, void *record, size_t length), void *context);

#endif /* MEMSCOPE_CAPTURE_RECORDS_PROCESS_LOSSES_H */
