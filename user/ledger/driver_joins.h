/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of the driver's objects stands behind which allocations of the program: both are at the
 * same addresses. What has none is named by what made the process ask for it (driver_objects.h).
 */
#ifndef MEMSCOPE_LEDGER_DRIVER_JOINS_H
#define MEMSCOPE_LEDGER_DRIVER_JOINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/driver_objects.h"

#define DRIVER_JOINS_LARGEST 32

/* An object of the driver: memory of the device, or another name of some. */
struct driver_join {
	uint32_t client, object;
	uint64_t bytes;
	enum driver_cause cause;
	bool is_alias;         /* of memory that counts elsewhere */
	uint64_t base;         /* the lowest address that it is at; 0: none is known */
	uint64_t mapped_bytes; /* at all of its addresses */
	uint64_t blocks;       /* live allocations there */
	uint64_t block_bytes;  /* of them, what lies there */
	/* The largest of them, and what allocated it. */
	uint64_t block_addr, block_largest;
	uint16_t block_row;
};

struct driver_joins {
	/* Memory of the device: with allocations, at addresses without any, at no known address. */
	uint64_t behind_objects, behind_bytes;
	uint64_t empty_objects, empty_bytes;
	uint64_t unmapped_objects, unmapped_bytes;
	uint64_t empty[DRIVER_CAUSES_COUNT], unmapped[DRIVER_CAUSES_COUNT]; /* bytes, by cause */
	/* Allocations of the device: behind which objects are, and behind which none is known. */
	uint64_t blocks, block_bytes;
	uint64_t outside_blocks, outside_bytes;
	/* Of managed memory, behind which the driver has no object: with a range, and without. */
	uint64_t managed_blocks, managed_bytes;
	uint64_t managed_outside_blocks, managed_outside_bytes;
	struct driver_join largest[DRIVER_JOINS_LARGEST];
	size_t largest_count;
};

/*
 * Of a process that has not ended: it is worked out; of one that has: as it was at its end.
 * Returns false if no range was seen, or without memory.
 */
bool driver_joins_of(const struct process *process, struct driver_joins *joins);

/* The process is about to end. Without memory, nothing is kept. */
void driver_joins_keep(struct process *process);

#endif /* MEMSCOPE_LEDGER_DRIVER_JOINS_H */
