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

struct nvml_account {
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

void nvml_account_apply(struct process *process, const struct ms_held *record);

/* The process executes another program. */
void nvml_account_forget(struct nvml_account *account);

/* The peak begins anew. */
void nvml_account_restart(struct nvml_account *account);

/* Returns false if NVML said nothing of the process. */
bool nvml_account_parts(const struct process *process, struct nvml_parts *parts);

/* ---- devices --------------------------------------------------------------------------------- */

struct nvml_device_account {
	struct ms_device last; /* the newest sample */
	uint64_t traced_bytes; /* in it, of the processes that are traced */
	uint32_t traced_count;
	uint64_t count;
	uint64_t peak_bytes, peak_ts_ns; /* of what is in use */
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
