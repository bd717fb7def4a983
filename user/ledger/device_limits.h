/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much memory of devices the cgroup of a process uses and may use, as the kernel said last. A
 * part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_DEVICE_LIMITS_H
#define MEMSCOPE_LEDGER_DEVICE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

#define DEVICE_LIMITS_MOST 64 /* regions; more are not kept */

struct process;

/* The number that a process has for a device; -1: it is not known of which. */
struct device_held {
	int32_t device;
	uint64_t bytes;
};

/* All of them are of one moment. */
struct device_limits {
	struct ms_limit *list;
	size_t count, capacity;
	uint64_t ts_ns;           /* that moment; 0: nothing has been said */
	uint64_t interval_ns;     /* since the one before; 0: there was none */
	struct device_held *held; /* by the process then, as was seen */
	size_t held_count, held_capacity;
};

/* Returns 0 or -ENOMEM. */
int device_limits_apply(struct process *process, const struct ms_limit *record);
void device_limits_fini(struct device_limits *limits);

/*
 * How many of them still say something at a time: none if they are older than three looks, or so.
 */
size_t device_limits_count(const struct device_limits *limits, uint64_t now_ns);

size_t device_limits_bytes(const struct device_limits *limits);

/*
 * What the process held on a device then, at most: what is not known to be on another counts, and
 * of an unknown one (-1), all does.
 */
uint64_t device_limits_held(const struct device_limits *limits, int32_t device);

/* What the limit leaves; without one, all there can be. */
uint64_t device_limits_left(const struct ms_limit *limit);

/* Whether that is free in the region, too, or false if that is not known. */
bool device_limits_free(const struct ms_limit *limit, uint64_t *bytes);

/*
 * The limit that memory of the device comes under: by the device's PCI address, which names of
 * regions have ("0000:65:00.0"). "" is the device of an unknown address: it is known only if there
 * is one limited region. NULL: there is none, or it is not known which.
 */
const struct ms_limit *device_limits_of(const struct device_limits *limits, const char *pci);

#endif /* MEMSCOPE_LEDGER_DEVICE_LIMITS_H */
