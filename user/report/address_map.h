/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lies where in the processes' addresses of each device, or, as far as that is kept
 * (PROCESS_LARGEST), what lay there when a process exited. Memory that has an address: not arrays
 * and physical memory, which have handles, not host memory, and not reserved addresses, which are
 * no memory; what is mapped into them is.
 */
#ifndef MEMSCOPE_REPORT_ADDRESS_MAP_H
#define MEMSCOPE_REPORT_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/report.h"
#include "ledger/state.h"
#include "timeline/spans.h"

#define ADDRESS_BLOCKS_DEVICE 20000 /* the largest of a device, of all processes */
#define ADDRESS_BLOCKS_MAX 100000   /* of all devices, which have equal parts in them */
#define ADDRESS_MAPS_MAX 512

struct address_block {
	uint64_t addr;
	uint64_t size_bytes; /* 0: unknown */
	uint64_t ts_ns;      /* when the allocating call returned */
	uint16_t name;       /* of the function that allocated it: of the spans */
	uint8_t space;
};

/* The blocks of a process on a device. */
struct address_map {
	uint32_t pid;
	uint64_t start_ns; /* with the pid, the process */
	char comm[MS_COMM_BYTES];
	bool exited;
	int32_t device;               /* as the process sees it; -1: unknown */
	uint64_t ts_ns;               /* when it was so */
	struct address_block *blocks; /* by address */
	size_t count;
	struct amount more; /* that are not listed */
};

struct address_maps {
	struct address_map *maps; /* in the order of the state's processes */
	size_t count;
	uint64_t left_out; /* blocks for which there was no map */
};

/*
 * Of the processes and the device that the options ask for, as they are; it is `now_ns`. `spans`
 * get the names. Returns 0 or -ENOMEM; fini in any case.
 */
int address_maps_make(struct address_maps *maps, const struct state *state,
		      const struct report_options *options, uint64_t now_ns, struct spans *spans);
void address_maps_fini(struct address_maps *maps);

#endif /* MEMSCOPE_REPORT_ADDRESS_MAP_H */
