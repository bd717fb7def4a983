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

struct intake {
	struct ring rings[MS_RINGS_COUNT];
	struct fronts fronts;
	struct inlets inlets; /* all of those */
};

/* The maps: descriptors, and what they were made for. */
struct intake_maps {
	int rings[MS_RINGS_COUNT], fronts;
	size_t ring_bytes;
	int cpus;
	uint32_t slots;
};

/* Returns 0 or -errno; close it in any case. */
int intake_open(struct intake *intake, const struct intake_maps *maps);
void intake_close(struct intake *intake);

#endif /* MEMSCOPE_CAPTURE_RECORDS_SOURCES_H */
