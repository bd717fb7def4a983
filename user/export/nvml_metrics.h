/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What NVML says of devices, as series, and which of them no traced process holds memory of.
 */
#ifndef MEMSCOPE_EXPORT_NVML_METRICS_H
#define MEMSCOPE_EXPORT_NVML_METRICS_H

#include "export/metrics.h"
#include "report/report.h"

/* clang-format off */
#define NVML_METRICS_FAMILIES(X) \
	X(NVML_TOTAL, "memscope_gpu_nvml_total_bytes", "gauge", "bytes", "Memory of the device, as NVML says") \
	X(NVML_USED, "memscope_gpu_nvml_used_bytes", "gauge", "bytes", "Memory of the device that is in use, as NVML says") \
	X(NVML_RESERVED, "memscope_gpu_nvml_reserved_bytes", "gauge", "bytes", "Memory of the device that the driver and the firmware keep, as NVML says") \
	X(NVML_TIME, "memscope_gpu_nvml_timestamp_seconds", "gauge", "seconds", "When NVML last said what is in use of the device, since 1970")
/* clang-format on */

/*
 * `first`: the number of the first of the families. When a device's numbers were said stays, also
 * when they are not known any more.
 */
void nvml_metrics_add(struct metrics *metrics, size_t first,
		      const struct report_recording *recording);

/*
 * For each device that no traced process has used so far, the series of the family `explained`,
 * with the value 0: what is in use of it is explained by nothing. None, if a process holds memory
 * of a device that is not known to be one of NVML's (its UUID was not asked for, or is that of a
 * part): that one may be it.
 */
void nvml_metrics_add_explained(struct metrics *metrics, size_t explained,
				const struct report_recording *recording);

#endif /* MEMSCOPE_EXPORT_NVML_METRICS_H */
