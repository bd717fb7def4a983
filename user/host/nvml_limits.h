/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What NVML says that cgroups use and may use of devices (its "memory limits", from driver 615 on),
 * in the form of what the kernel says where it counts that (host/dmem.h).
 */
#ifndef MEMSCOPE_HOST_NVML_LIMITS_H
#define MEMSCOPE_HOST_NVML_LIMITS_H

#include "host/dmem.h"
#include "host/nvml.h"

/*
 * Adds the cgroup of a process to the table, if NVML says something of it: a region of each device,
 * "nvml/" and its PCI address. Returns its place; DMEM_NONE: there is none, or no memory.
 */
size_t nvml_limits_add(struct dmem_table *table, const struct nvml_snapshot *snapshot,
		       uint32_t pid);

#endif /* MEMSCOPE_HOST_NVML_LIMITS_H */
