/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory without an address, as cuMemCreate makes it: bytes of a file, to be mapped any number of
 * times. It exists for as long as somebody has its handle or it is mapped, whatever becomes of the
 * context it was made in; only the reset of its device's primary context ends it earlier.
 */
#ifndef SIMCUDA_PHYSICAL_H
#define SIMCUDA_PHYSICAL_H

#include "driver.h"

struct physical {
	struct object object;
	uint64_t size_bytes;
	CUmemAllocationProp prop;
	struct device *device; /* NULL: on the host */
	int fd;
	uint64_t offset;         /* in the file */
	bool shareable;          /* the file is its own, and closed with it */
	bool charged;            /* counts against the capacity of its device */
	uint32_t memory;         /* of kernel.h */
	unsigned int references; /* to the handle */
	unsigned int mappings;
};

/* All under mapping_lock. */
struct physical *physical_find(CUmemGenericAllocationHandle handle); /* NULL: not a handle */
void physical_mapped(struct physical *physical);
void physical_unmapped(struct physical *physical);

#endif
