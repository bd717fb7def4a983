/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much memory of devices the cgroups of processes use and may use, as series: one of each
 * cgroup and region, however many processes are in it.
 */
#ifndef MEMSCOPE_EXPORT_LIMIT_METRICS_H
#define MEMSCOPE_EXPORT_LIMIT_METRICS_H

#include "export/metrics.h"
#include "report/report.h"

/* clang-format off */
#define LIMIT_METRICS_FAMILIES(X) \
	X(CGROUP_USED, "memscope_cgroup_device_memory_used_bytes", "gauge", "bytes", "Memory of the device that the cgroup of traced processes uses, as the kernel counts it (dmem)") \
	X(CGROUP_LIMIT, "memscope_cgroup_device_memory_limit_bytes", "gauge", "bytes", "Memory of the device that it may use: the limit of the cgroup, or of one that it is in, that leaves least") \
	X(CGROUP_LEFT, "memscope_cgroup_device_memory_left_bytes", "gauge", "bytes", "What that limit leaves")
/* clang-format on */

/* `first`: the number of the first of the families. `live`: without processes that have ended. */
void limit_metrics_add(struct metrics *metrics, size_t first,
		       const struct report_recording *recording, bool live);

#endif /* MEMSCOPE_EXPORT_LIMIT_METRICS_H */
