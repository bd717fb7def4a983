/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What NVML says, as records: of each device, and of each traced process that it lists.
 */
#ifndef MEMSCOPE_CAPTURE_RECORDS_NVML_RECORDS_H
#define MEMSCOPE_CAPTURE_RECORDS_NVML_RECORDS_H

#include "abi.h"
#include "host/nvml.h"

/* At that time, CLOCK_MONOTONIC. `place`: index of a device of the snapshot. */
struct ms_device nvml_record_device(const struct nvml_snapshot *snapshot, uint32_t place,
				    uint64_t ts_ns);

/* For a process that began at `start_ns`, CLOCK_BOOTTIME. NVML must know what it holds. */
struct ms_held nvml_record_held(const struct nvml_snapshot *snapshot,
				const struct nvml_process *process, uint64_t start_ns,
				uint64_t ts_ns);

#endif /* MEMSCOPE_CAPTURE_RECORDS_NVML_RECORDS_H */
