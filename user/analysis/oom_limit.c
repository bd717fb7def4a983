// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_limit.h"

#define SOON_NS 2000000000 /* what is said so long after a failure is still about it */
#define LITTLE 20          /* of unknown size: one part of so many of the limit */

bool oom_limit_is_of(const struct analysis_oom *oom, uint64_t ts_ns)
{
	const bool after = oom->limit_ts_ns >= oom->last_ts_ns;

	/* The first time after it; its records come one by one. */
	return ts_ns >= oom->last_ts_ns && ts_ns - oom->last_ts_ns <= SOON_NS &&
	       (!after || ts_ns == oom->limit_ts_ns);
}

/* Whether all that it has allocated so far is known to be on that device. */
static bool uses_only(const struct process *process, int32_t device)
{
	const struct usage *usage = process->usage;
	size_t i;

	for (i = 0; usage && i < usage->count; i++)
		if (usage_is_held(usage->cells[i].space) && usage->cells[i].device != device)
			return false;
	return usage && device >= 0;
}

/*
 * Without the device's address. What is neither used nor limited is not said, so one limit may be
 * of a device that others use; not if the process held memory on its only device then.
 */
static bool is_of_only_device(const struct analysis_oom *oom, const struct process *process)
{
	return process->limits.count == 1 && device_limits_held(&process->limits, oom->device) &&
	       (process->devices.single || uses_only(process, oom->device));
}

void oom_limit_take(struct analysis_oom *oom, const struct process *process)
{
	const struct process_device *device = process_devices_find(&process->devices, oom->device);
	const struct ms_limit *limit;
	struct string pci = { 0 };

	if (device && device->identity.pci.known)
		device_append_pci(&pci, &device->identity);
	string_append_char(&pci, '\0');
	limit = pci.failed || !device_limits_count(&process->limits, oom->last_ts_ns) ?
			NULL :
			device_limits_of(&process->limits, pci.bytes);
	oom->limit_ts_ns = process->limits.ts_ns;
	oom->limit_known = limit;
	oom->limit_is_sure = !pci.failed && (*pci.bytes || is_of_only_device(oom, process));
	string_fini(&pci);
	if (!limit)
		return;
	oom->limit = *limit;
	oom->limit_held_bytes = device_limits_held(&process->limits, oom->device);
}

/* What it was at the failure, by what the process held on the device then and when it was said. */
static uint64_t then(const struct analysis_oom *oom, uint64_t used_bytes)
{
	const uint64_t total = used_bytes + oom->own.bytes;

	return total > oom->limit_held_bytes ? total - oom->limit_held_bytes : 0;
}

uint64_t oom_limit_used(const struct analysis_oom *oom)
{
	return then(oom, oom->limit.limit_used_bytes);
}

bool oom_limit_free(const struct analysis_oom *oom, uint64_t *bytes)
{
	const uint64_t used = then(oom, oom->limit.device_used_bytes);

	*bytes = oom->limit.capacity_bytes > used ? oom->limit.capacity_bytes - used : 0;
	return oom->limit.known & MS_LIMIT_DEVICE;
}

uint64_t oom_limit_short(const struct analysis_oom *oom)
{
	const uint64_t limit = oom->limit.limit_bytes, used = oom_limit_used(oom);
	const uint64_t left = limit > used ? limit - used : 0;
	const uint64_t needed = oom->requested_known ? oom->requested_bytes : limit / LITTLE + 1;
	uint64_t bytes;

	if (!oom->limit_known || needed <= left)
		return 0;
	/* There, the limit may be all that a program is told of the device's size. */
	if (oom_limit_free(oom, &bytes))
		return bytes < needed ? 0 : needed - left;
	return oom->device_bytes && oom->device_bytes < needed ? 0 : needed - left;
}

uint64_t oom_limit_device_bytes(const struct analysis_oom *oom, uint64_t told_bytes)
{
	const struct ms_limit *limit = &oom->limit;
	uint64_t bytes = oom->device_bytes;

	if (told_bytes > bytes && (!oom->limit_known || told_bytes > limit->limit_bytes))
		bytes = told_bytes;
	if (oom->limit_known && limit->known & MS_LIMIT_DEVICE && limit->capacity_bytes > bytes)
		bytes = limit->capacity_bytes;
	return bytes;
}
