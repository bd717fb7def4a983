/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the slots in front of the ring buffers: struct ms_cpu_slots, two for each CPU.
 */
#ifndef MEMSCOPE_CAPTURE_RECORDS_CPU_SLOTS_H
#define MEMSCOPE_CAPTURE_RECORDS_CPU_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "capture/records/merge.h"

struct cpu_slots_source {
	struct merge_source source;
	struct ms_cpu_slots *shared; /* with the kernel */
	uint32_t slots;              /* a power of two */
	uint64_t position;           /* of the next record to be read */
	uint64_t head;               /* as last seen */
};

/* Makes it a source. */
void cpu_slots_init_source(struct cpu_slots_source *source, enum ms_ring which,
			   struct ms_cpu_slots *shared, uint32_t slots);

struct cpu_slots {
	struct cpu_slots_source *sources; /* by MS_CPU_SLOTS() */
	size_t count;
	void *mapped; /* the map with all of them */
	size_t mapped_bytes;
};

/*
 * How many slots each of so many CPUs gets: all in front of a ring buffer take at most a
 * quarter of its size, if that leaves any worth having.
 */
uint32_t cpu_slots_choose(uint64_t ring_bytes, int cpus);

/* What a value of their map takes. */
size_t cpu_slots_value_bytes(uint32_t slots);

/* Maps them. Returns 0 or -errno. */
int cpu_slots_open(struct cpu_slots *cpu_slots, int map_fd, int cpus, uint32_t slots);
void cpu_slots_close(struct cpu_slots *cpu_slots);

#endif /* MEMSCOPE_CAPTURE_RECORDS_CPU_SLOTS_H */
