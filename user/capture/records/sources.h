/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of records into this process: the two ring buffers, and each CPU's slots in front of
 * them.
 */
#ifndef MEMSCOPE_CAPTURE_RECORDS_SOURCES_H
#define MEMSCOPE_CAPTURE_RECORDS_SOURCES_H

#include <stddef.h>

#include "capture/records/cpu_slots.h"
#include "capture/records/merge.h"
#include "capture/records/ring.h"

struct sources {
	struct ring rings[MS_RINGS_COUNT];
	struct cpu_slots cpu_slots;
	struct merge merge; /* all of those */
};

/* The maps: descriptors, and what they were made for. */
struct sources_maps {
	int rings[MS_RINGS_COUNT], cpu_slots;
	size_t ring_bytes;
	int cpus;
	uint32_t slots;
};

/* Returns 0 or -errno; close it in any case. */
int sources_open(struct sources *sources, const struct sources_maps *maps);
void sources_close(struct sources *sources);

#endif /* MEMSCOPE_CAPTURE_RECORDS_SOURCES_H */
