/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the slots in front of the ring buffers: struct ms_front, two for each CPU.
 */
#ifndef MEMSCOPE_CAPTURE_RECORDS_CPU_SLOTS_H
#define MEMSCOPE_CAPTURE_RECORDS_CPU_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "capture/records/merge.h"

struct front {
	struct inlet inlet;
	struct ms_front *shared; /* with the kernel */
	uint32_t slots;          /* a power of two */
	uint64_t position;       /* of the next record to be read */
	uint64_t head;           /* as last seen */
};

/* Makes it an inlet. */
void front_init(struct front *front, enum ms_ring which, struct ms_front *shared, uint32_t slots);

struct fronts {
	struct front *fronts; /* by MS_FRONT() */
	size_t count;
	void *mapped; /* the map with all of them */
	size_t mapped_bytes;
};

/*
 * How many slots each front of so many CPUs gets: all in front of a ring buffer take at most a
 * quarter of its size, if that leaves any worth having.
 */
uint32_t fronts_choose_slots(uint64_t ring_bytes, int cpus);

/* What a value of their map takes. */
size_t fronts_value_bytes(uint32_t slots);

/* Maps them. Returns 0 or -errno. */
int fronts_open(struct fronts *fronts, int map_fd, int cpus, uint32_t slots);
void fronts_close(struct fronts *fronts);

#endif /* MEMSCOPE_CAPTURE_RECORDS_CPU_SLOTS_H */
