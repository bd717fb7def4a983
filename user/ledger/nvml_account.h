/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What NVML says that processes hold and that devices have in use, held against what was seen of
 * them at that moment. The two are never added to one another: NVML's number of a process is taken
 * apart into what the driver was seen to take for it (ledger/driver_objects.h) or, where that was
 * not seen, what it allocated; what it held before; and a rest that nothing explains. A part of
 * state_apply().
 */
#ifndef MEMSCOPE_LEDGER_NVML_ACCOUNT_H
#define MEMSCOPE_LEDGER_NVML_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "ledger/driver_objects.h"

struct process;

/* All samples of one moment, of all devices that the process has memory of. */
struct nvml_sample {
	uint64_t ts_ns;
	uint64_t used_bytes;      /* NVML's */
	uint64_t allocated_bytes; /* by calls of CUDA, on devices, without managed memory */
	uint64_t causes[DRIVER_CAUSES_COUNT]; /* objects of the driver, as in driver_objects */
	bool objects_seen;
};

/* What was seen on one of the devices of the process at the moment of a sample. */
struct nvml_seen {
	int32_t device; /* as the process calls it; -1: it is not known which one */
	uint64_t allocated_bytes;
	uint64_t causes[DRIVER_CAUSES_COUNT];
};

/* A device on which NVML said that the process holds memory. */
struct nvml_place {
	char uuid[MS_UUID_BYTES];
	int32_t device; /* as the process calls it; -1: calls have not said that */
	uint64_t ts_ns; /* of the newest sample */
	uint64_t used_bytes;
	uint64_t count, least_bytes; /* as below */
};

struct nvml_account {
	struct nvml_place *places; /* in the order in which they were first seen */
	size_t places_count, places_capacity;
	struct nvml_seen *seen; /* of the last sample */
	size_t seen_count, seen_capacity;
	bool allocations_placed; /* `seen` has all that was allocated */

	uint64_t count;          /* of moments; 0: NVML never said anything of the process */
	struct nvml_sample last; /* the newest */
	uint64_t least_bytes;    /* of what the earlier ones leave unseen; from the second on */
	uint64_t peak_bytes;     /* the highest of NVML's numbers */
	uint64_t peak_ts_ns;
};

/* The last sample, taken apart: `used_bytes` is the sum of the rest. */
struct nvml_parts {
	uint64_t used_bytes;
	uint64_t allocated_bytes;
	int64_t slack_bytes;                  /* of pieces behind allocations, beyond the former */
	uint64_t causes[DRIVER_CAUSES_COUNT]; /* without those three */
	uint64_t before_bytes; /* what it held when it was attached to, and does still */
	int64_t unexplained_bytes;
};

/* The causes whose pieces lie behind what CUDA was asked for. */
bool nvml_is_behind_allocations(enum driver_cause cause);

/* Returns 0 or -ENOMEM. */
int nvml_account_apply(struct process *process, const struct ms_held *record);

/* The process executes another program. */
void nvml_account_forget(struct nvml_account *account);

/* The peak begins anew. */
void nvml_account_restart(struct nvml_account *account);

void nvml_account_fini(struct nvml_account *account);

/* Returns false if NVML said nothing of the process. */
bool nvml_account_parts(const struct process *process, struct nvml_parts *parts);

/* The last sample of one device. */
struct nvml_on_device {
	const char *uuid; /* MS_UUID_BYTES, filled up with 0 */
	int32_t device;   /* as the process calls it; -1: not known */
	uint64_t used_bytes;
	bool known; /* which of what was seen is on this device; else there are no parts */
	struct nvml_parts parts;
};

/* On how many devices it held memory at the last sample. */
size_t nvml_account_devices(const struct process *process);

/* One of those. */
void nvml_account_device(const struct process *process, size_t which, struct nvml_on_device *out);

/* What the process calls the device that NVML knows by that UUID; -1: calls have not said that. */
int32_t nvml_account_ordinal(const struct process *process, const char uuid[MS_UUID_BYTES]);

/* ---- devices --------------------------------------------------------------------------------- */

struct nvml_device_account {
	struct ms_device last; /* the newest sample */
	uint64_t traced_bytes; /* in it, of the processes that are traced */
	uint32_t traced_count;
	uint64_t count;
	uint64_t peak_bytes, peak_ts_ns; /* of what is in use */
	uint64_t memory_ts_ns;           /* when it last said what is in use; 0: it never has */
};

struct nvml_devices {
	struct nvml_device_account *devices; /* in the order in which they were first seen */
	size_t count, capacity;
};

/* Returns 0 or -ENOMEM. There are at most LIMIT_NVML_DEVICES. */
int nvml_devices_apply(struct nvml_devices *devices, const struct ms_device *record);

/* A process on one of them: the devices of the moment come before their processes. */
void nvml_devices_held(struct nvml_devices *devices, const struct ms_held *record);

/* Peaks begin anew. */
void nvml_devices_restart(struct nvml_devices *devices);

void nvml_devices_fini(struct nvml_devices *devices);

#endif /* MEMSCOPE_LEDGER_NVML_ACCOUNT_H */
