/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The devices in `memscope-bpf top`: NVML's numbers for each, and the sum of the traced
 * allocations. Pure.
 */
#ifndef MEMSCOPE_TOP_TOP_DEVICES_H
#define MEMSCOPE_TOP_TOP_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "ledger/devices.h"
#include "ledger/state.h"

/* What the memory of a device is used for; together they are all of it. */
enum top_part {
	TOP_ALLOCATED, /* by processes that are traced: what is live */
	TOP_OF_TRACED, /* more that they hold: contexts, code, what is from before, unexplained */
	TOP_OF_OTHERS, /* processes that are not traced */
	TOP_OF_NONE,   /* of no process that NVML lists */
	TOP_RESERVED,  /* by the driver */
	TOP_FREE,
	TOP_PARTS,
};

struct top_device {
	char uuid[MS_UUID_BYTES + 1]; /* as nvidia-smi has it; "": not known */
	char name[DEVICE_NAME_BYTES]; /* "": not known */
	int32_t ordinal;              /* by which the first process calls it; -1: not known */
	uint32_t pid;        /* of that process, if another one means another device by it; or 0 */
	uint64_t live_bytes; /* on it */
	uint64_t inferred_bytes; /* of that, in contexts not seen: it is the only device */
	size_t row;            /* of state->usage; SIZE_MAX: no process has said that it uses it */
	bool is_only;          /* all other rows of that are the same device */
	bool chosen;           /* top_chosen.h: something of the chosen processes is on it */
	uint64_t chosen_bytes; /* of what is live, theirs */
	bool total_known;
	uint64_t total_bytes;
	bool nvml_known; /* what follows is what NVML said at `nvml_ns` (CLOCK_MONOTONIC) */
	uint64_t nvml_ns;
	/* Without NVML: when the driver told a program what follows (CLOCK_MONOTONIC); else 0. */
	uint64_t told_ns;
	uint64_t used_bytes;
	bool processes_known; /* else memory of processes is in TOP_OF_NONE */
	uint64_t parts[TOP_PARTS];
};

/* Of several, it is not known which one: its contexts were not seen. */
static inline bool top_device_is_unknown(const struct top_device *device)
{
	return device->ordinal < 0 && !*device->name && !*device->uuid;
}

static inline bool top_device_is_divided(const struct top_device *device)
{
	return device->nvml_known || device->told_ns;
}

/*
 * Puts the devices that NVML knows into `devices`, and then others that are in use, at most `max`.
 * Returns how many. `*left_out`: how many found no room.
 */
size_t top_devices_list(const struct state *state, struct top_device *devices, size_t max,
			size_t *left_out);

/* When the oldest of the driver's answers was given that stand for NVML's numbers; 0: none does. */
uint64_t top_devices_told_ns(const struct state *state);

#endif /* MEMSCOPE_TOP_TOP_DEVICES_H */
