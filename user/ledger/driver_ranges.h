/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * At which addresses of a process the driver's objects are, as the process asks /dev/nvidia-uvm
 * for: external ranges, which have objects, and managed ones, which have none. A part of
 * driver_objects.h.
 */
#ifndef MEMSCOPE_LEDGER_DRIVER_RANGES_H
#define MEMSCOPE_LEDGER_DRIVER_RANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"
#include "ledger/ledger.h"

struct process;

#define DRIVER_RANGES_GPUS 64 /* of one process, that are told apart: bits of a number */

struct driver_ranges {
	/*
	 * By address. Of what is mapped, `id` is driver_ranges_key() of the object, `context` the
	 * offset in it, and `owner` has a bit for each GPU that it is mapped on (0: not known).
	 * `stack` is the open file of /dev/nvidia-uvm that it was asked of.
	 */
	struct ledger created, mapped;
	size_t managed_count; /* of those that were created */
	size_t managed_most;  /* with so many, those that are over are looked for; 0: not yet set */
	uint64_t gpus[DRIVER_RANGES_GPUS]; /* what stands for their UUIDs, by their bits */
	size_t gpus_count;
	bool seen; /* any at all */
};

static inline uint64_t driver_ranges_key(uint32_t client, uint32_t object)
{
	return (uint64_t)client << 32 | object;
}

/*
 * Returns 0 or -ENOMEM. What is beyond LIMIT_DRIVER_OBJECTS or LIMIT_MANAGED_RANGES is counted in
 * the process.
 */
int driver_ranges_apply(struct process *process, const struct ms_range *record);

/* The last process that had the file has closed it: what was asked for by it is gone. */
void driver_ranges_close(struct driver_ranges *ranges, uint32_t file);

struct driver_ranges_totals {
	uint64_t external_count, external_bytes;
	uint64_t mapped_count, mapped_bytes; /* what is there, once each, on whatever GPUs */
	uint64_t managed_count, managed_bytes;
};

void driver_ranges_sum(const struct driver_ranges *ranges, struct driver_ranges_totals *totals);

/* The bytes of memory that they take, themselves apart. */
size_t driver_ranges_bytes(const struct driver_ranges *ranges);

void driver_ranges_fini(struct driver_ranges *ranges);

#endif /* MEMSCOPE_LEDGER_DRIVER_RANGES_H */
