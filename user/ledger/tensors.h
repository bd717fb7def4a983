/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the allocator of a framework (PyTorch) has given to the program of what it has from the
 * driver, as it says itself after each block that it gives or takes back (struct ms_tensor). These
 * blocks lie in the driver's allocations and are never added to them. A part of state_apply().
 *
 * The allocator says its totals each time, too: these are what is shown, exact from the first
 * record on, however late. Which blocks make them up is known of those that were given since; and
 * each total has to follow from the one before, or something was missed.
 */
#ifndef MEMSCOPE_LEDGER_TENSORS_H
#define MEMSCOPE_LEDGER_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "base/map.h"
#include "event/event.h"
#include "ledger/tensor_segments.h"
#include "ledger/tensor_sources.h"

struct process;
struct stacks;

/* A block that the program has. */
struct tensor_block {
	uint64_t addr, bytes;
	uint64_t made_ns; /* CLOCK_MONOTONIC */
	int32_t device;
	uint16_t framework; /* enum ms_framework */
	bool by_chance;     /* whether its stack was taken: ledger/tensor_worth.h */
	uint32_t stack;     /* id of where it was asked for, of ledger/stacks.h; 0: not known */
	uint32_t place;     /* the first stack that had the same lines */
};

struct tensor_change {
	struct tensor_block given, ended; /* blocks that are known; 0 bytes: none */
	bool is_told;                     /* what follows: the totals afterwards, */
	int32_t device;                   /* and of what device; -1: not known */
	uint64_t allocated, reserved;
	uint64_t allocator; /* its address; 0: not said */
	uint32_t place;     /* of the block that was given */
};

struct tensor_peak {
	uint64_t bytes;
	uint64_t ts_ns; /* when it was reached first; 0: never */
};

struct tensor_device {
	int32_t device;     /* ordinal as the process sees it; -1: not said */
	uint16_t framework; /* enum ms_framework */
	uint64_t allocator; /* its address, of one that does not tell totals; else 0 */
	uint64_t allocated; /* as told last; of a process that exited: then */
	uint64_t reserved;
	struct tensor_peak peak_allocated, peak_reserved;
	uint64_t live_bytes, live_count; /* of the blocks that are known */
	uint64_t allocs, frees;
	uint64_t unknown_frees; /* of blocks that were given before the first record, or missed */
	uint64_t out_of_memory; /* how often the program was told that there is none left */
	uint64_t wanted_bytes;  /* the last time */
	uint64_t wanted_ts_ns;
	uint64_t differences; /* totals that do not follow from those before */
	/* Requests of the allocator that the driver had no memory for at first, and then had. */
	uint64_t retries;
	/* By enum tensor_moment; NULL: there was no such moment, or it is END, and that is now. */
	struct tensor_segments *moments[TENSOR_MOMENTS_COUNT];
};

/* One that does not tell totals, nor of what memory it gives blocks: it can be the host's. */
struct tensor_allocator {
	uint64_t address;
	uint16_t framework; /* enum ms_framework */
	bool is_of_device;  /* a block lay in memory of a device */
	bool is_of_host;    /* or in known memory of the host */
	uint64_t outside;   /* blocks that lay in no known memory, until it is of a device */
};

struct tensors {
	struct tensor_block *blocks;
	size_t count, capacity;
	struct map places; /* address -> position in `blocks` */
	struct tensor_device *devices;
	size_t devices_count, devices_capacity;
	struct tensor_allocator *allocators;
	size_t allocators_count, allocators_capacity;
	struct tensor_sources sources;
	uint64_t absurd; /* records that cannot be true, which nothing was made of */
	uint64_t others; /* blocks and devices that found no place, or whose memory is not known */
	bool is_partial; /* an allocator that does not tell totals had blocks that were not seen */
	/* The last request of the driver that failed for want of memory; 0: none did. */
	uint64_t failed_ns;
	uint64_t failed_since_ns; /* the first of those that belong together */
	uint32_t failed_tid;      /* 0: what became of it is known */
	/* A look at all blocks and segments is paid for by records: so much was earned, spent. */
	uint64_t earned, spent;
};

/* Whether what is known of the blocks and totals is all there is to know. */
bool tensors_are_exact(const struct tensors *tensors);

/* The part of what is allocated that no record gave: older than the first, or lost. */
uint64_t tensor_device_before(const struct tensor_device *device);

/*
 * What the process has from the driver besides what the allocator has: device memory and physical
 * memory, of all of its devices. Returns false if that is not known: there is more than one
 * allocator's device, or memory from before tracing.
 */
bool tensors_rest(const struct process *process, uint64_t *bytes);

/* NULL: it has none. */
struct tensor_device *tensors_device(const struct tensors *tensors, uint16_t framework,
				     int32_t number);

/* The block that an address lies at the beginning of; NULL: none is known. */
const struct tensor_block *tensors_find(const struct tensors *tensors, uint64_t addr);

/* Whether every block is known that the process has, on all devices. */
bool tensors_are_all_known(const struct tensors *tensors);

/* Returns 0 or -ENOMEM; `*change` is what it did, also then. */
int tensors_apply(struct process *process, const struct stacks *stacks,
		  const struct ms_tensor *record, struct tensor_change *change);

/* An allocation has failed for want of memory. Returns 0 or -ENOMEM. */
int tensors_call_failed(struct process *process, const struct event *event, int32_t device);

/*
 * How blocks lay in segments at that moment; at the end, if that has not come yet, as they are now:
 * `*now` is where that goes to. NULL: there was no such moment.
 */
const struct tensor_segments *tensors_moment(const struct process *process,
					     const struct tensor_device *device,
					     enum tensor_moment moment,
					     struct tensor_segments *now);

/* The process has exited: totals stay as they were. Returns 0 or -ENOMEM. */
int tensors_exit(struct process *process, uint64_t ts_ns);

/* It executes another program, which has none yet. */
void tensors_exec(struct tensors *tensors);

/* Peaks and counts begin anew, with what is live. */
void tensors_restart(struct tensors *tensors, uint64_t now_ns);

/*
 * Adds totals, peaks (the highest) and counts of one process to those of several. A device without
 * memory for it is counted in `others`.
 */
void tensors_add(struct tensors *sum, const struct tensors *tensors);

/* The bytes of memory that it takes. */
size_t tensors_bytes(const struct tensors *tensors);

void tensors_fini(struct tensors *tensors);

#endif /* MEMSCOPE_LEDGER_TENSORS_H */
