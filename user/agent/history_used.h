/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What NVML says that devices have in use, over an interval: of all its samples, as there are
 * several in one when memory runs out.
 */
#ifndef MEMSCOPE_AGENT_HISTORY_USED_H
#define MEMSCOPE_AGENT_HISTORY_USED_H

#include <stddef.h>
#include <stdint.h>

#include "agent/held_sum.h"
#include "event/event.h"

struct history_used_device {
	char uuid[MS_UUID_BYTES];
	uint64_t total_bytes;
	uint64_t sampled_ns; /* when NVML said something last */
	struct held_sum sum;
};

/* A zeroed one knows of no device. */
struct history_used {
	struct history_used_device *devices; /* in the order in which they were first seen */
	size_t count, capacity;
};

/*
 * Notes a sample: from `ts_ns` on, which is not before the interval, so much is in use. Other
 * records say nothing. Returns 0 or -ENOMEM.
 */
int history_used_note(struct history_used *used, const struct event *event, uint64_t ts_ns);

/*
 * What was in use on one of them in the interval that ends at `end_ns`, which is then closed.
 * Returns 0, or -ENODATA if NVML has not said so for too long.
 */
int history_used_take(struct history_used_device *device, uint64_t end_ns,
		      struct history_device *out);

void history_used_fini(struct history_used *used);

#endif /* MEMSCOPE_AGENT_HISTORY_USED_H */
