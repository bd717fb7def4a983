/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses with nothing behind them until something is mapped there: the reservations of
 * cuMemAddressReserve, and the places of memory that came from elsewhere as a file. All of them
 * come from one arena of addresses; what is mapped never shares a granule with anything else.
 */
#ifndef SIMCUDA_MAPPING_H
#define SIMCUDA_MAPPING_H

#include "driver.h"

#define MAPPING_GRANULE (2ull << 20)
#define MAPPING_LOCATIONS (DEVICE_MAX + 1) /* the devices, and the host as the last one */

struct physical;

struct mapping {
	struct object object; /* its owner is the context that imported it; NULL: of ARENA_MAPPED */
	struct arena_block block;
	struct device *device;     /* where the memory is; NULL: on the host */
	struct physical *physical; /* of ARENA_MAPPED */
	unsigned char access[MAPPING_LOCATIONS];
	unsigned int references; /* of ARENA_IMPORTED: how often it is open */
	uint64_t key[3];         /* of ARENA_IMPORTED: what is open */
};

/* Of everything here and in physical.h. Functions marked (locked) want it held. */
void mapping_lock(void);
void mapping_unlock(void);

/* 0: no addresses are left. flags are kept in the block for the caller. */
CUdeviceptr mapping_reserve(uint64_t size_bytes, unsigned int flags);
void mapping_unreserve(CUdeviceptr addr);
bool mapping_reserved(CUdeviceptr addr, struct arena_block *block); /* what addr lies in */

/* The mapping that addr lies in, or NULL. (locked) */
struct mapping *mapping_at(CUdeviceptr addr);

/* Whatever is mapped to the granule of addr, or NULL. (locked) */
struct mapping *mapping_in_granule(CUdeviceptr addr);

/*
 * A copy of *initial, with the file's bytes from offset at initial->block.addr, which must be as
 * far from the start of a page as offset; NULL: impossible. (locked)
 */
struct mapping *mapping_new(const struct mapping *initial, int fd, uint64_t offset);
void mapping_delete(struct mapping *mapping); /* (locked) */

/* The same with a place of its own, which goes with it. (locked) */
struct mapping *mapping_import(const struct mapping *initial, int fd, uint64_t offset);
void mapping_close(struct mapping *mapping); /* (locked) */

/* One after another; NULL begins and ends. (locked) */
struct mapping *mapping_next(struct mapping *mapping);

#endif
