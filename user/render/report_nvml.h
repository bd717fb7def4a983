/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What NVML says, for people: taken apart into what was seen.
 */
#ifndef MEMSCOPE_RENDER_REPORT_NVML_H
#define MEMSCOPE_RENDER_REPORT_NVML_H

#include "render/document.h"

#define REPORT_NVML_PARTS_MAX (DRIVER_CAUSES_COUNT + 5)

struct report_nvml_part {
	const char *what;
	uint64_t bytes;
	bool is_sum; /* NVML's number itself; the others add up to it */
};

/* How many parts there are; 0: NVML said nothing of the process. */
size_t report_nvml_parts(const struct process *process,
			 struct report_nvml_part parts[REPORT_NVML_PARTS_MAX]);

/* The same of one of its devices, nvml_account_device(), if that is known. */
size_t report_nvml_parts_on(const struct process *process, const struct nvml_on_device *device,
			    struct report_nvml_part parts[REPORT_NVML_PARTS_MAX]);

/* What is in use on a device, and by whom, as far as it is known. */
struct report_nvml_share {
	bool known;
	uint64_t bytes;
};

/* Memory, in use, of traced processes, of others, of no process, reserved. */
#define REPORT_NVML_SHARES 6

void report_nvml_shares(const struct nvml_device_account *device,
			struct report_nvml_share shares[REPORT_NVML_SHARES]);

/* A table of the devices, if NVML said anything of them. */
void report_nvml_devices(struct document *document, const struct report_recording *recording);

#endif /* MEMSCOPE_RENDER_REPORT_NVML_H */
