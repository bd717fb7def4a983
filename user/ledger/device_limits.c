// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/device_limits.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "ledger/process.h"
#include "ledger/state.h"
#include "ledger/usage.h"

/* Where nothing else was asked for, the kernel is asked so often; limits of so many are kept. */
#define INTERVAL_NS 10000000000
#define INTERVALS 3

static int add_held(struct device_limits *limits, int32_t device, uint64_t bytes)
{
	size_t i;
	int err;

	for (i = 0; i < limits->held_count && limits->held[i].device != device; i++)
		;
	if (i == limits->held_count) {
		err = memory_grow(&limits->held, &limits->held_capacity, i + 1,
				  sizeof(*limits->held));
		if (err)
			return err;
		limits->held[limits->held_count++] = (struct device_held){ .device = device };
	}
	limits->held[i].bytes += bytes;
	return 0;
}

/* Where it is not followed what is on which device, it is not known of all. */
static int note_held(struct process *process)
{
	struct device_limits *limits = &process->limits;
	const struct usage *usage = process->usage;
	int err = 0;
	size_t i;

	limits->held_count = 0;
	if (!usage)
		return add_held(limits, -1, process_on_devices_bytes(process));
	for (i = 0; !err && i < usage->count; i++)
		if (usage->cells[i].live_bytes && usage_is_on_device(usage->cells[i].space))
			err = add_held(limits, usage->cells[i].device, usage->cells[i].live_bytes);
	return err;
}

int device_limits_apply(struct process *process, const struct ms_limit *record)
{
	struct device_limits *limits = &process->limits;
	const uint64_t ts_ns = record->event.ts_ns;
	int err;

	if (limits->ts_ns != ts_ns) {
		limits->interval_ns =
			limits->ts_ns && ts_ns > limits->ts_ns ? ts_ns - limits->ts_ns : 0;
		limits->ts_ns = ts_ns;
		limits->count = 0;
	}
	/* Without a region, it says that nothing is limited or used any more. */
	if (!*record->region || limits->count == DEVICE_LIMITS_MOST)
		return 0;
	err = memory_grow(&limits->list, &limits->capacity, limits->count + 1,
			  sizeof(*limits->list));
	if (!err && !limits->count)
		err = note_held(process);
	if (!err)
		limits->list[limits->count++] = *record;
	return err;
}

size_t device_limits_bytes(const struct device_limits *limits)
{
	return limits->capacity * sizeof(*limits->list) +
	       limits->held_capacity * sizeof(*limits->held);
}

uint64_t device_limits_held(const struct device_limits *limits, int32_t device)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < limits->held_count; i++)
		if (device < 0 || limits->held[i].device < 0 || limits->held[i].device == device)
			bytes += limits->held[i].bytes;
	return bytes;
}

size_t device_limits_count(const struct device_limits *limits, uint64_t now_ns)
{
	const uint64_t interval_ns =
		limits->interval_ns > INTERVAL_NS ? limits->interval_ns : INTERVAL_NS;
	const bool is_old =
		now_ns > limits->ts_ns && (now_ns - limits->ts_ns) / INTERVALS >= interval_ns;

	return is_old ? 0 : limits->count;
}

void device_limits_fini(struct device_limits *limits)
{
	free(limits->list);
	free(limits->held);
	*limits = (struct device_limits){ 0 };
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

uint64_t device_limits_left(const struct ms_limit *limit)
{
	if (!(limit->known & MS_LIMIT_MEMORY))
		return UINT64_MAX;
	return less(limit->limit_bytes, limit->limit_used_bytes);
}

bool device_limits_free(const struct ms_limit *limit, uint64_t *bytes)
{
	*bytes = less(limit->capacity_bytes, limit->device_used_bytes);
	return limit->known & MS_LIMIT_DEVICE;
}

/* Whether one of the names between slashes is that address. */
static bool is_of(const char *region, const char *pci)
{
	const size_t length = strlen(pci);

	while (region) {
		if (!strncasecmp(region, pci, length) && (!region[length] || region[length] == '/'))
			return true;
		region = strchr(region, '/');
		region = region ? region + 1 : NULL;
	}
	return false;
}

const struct ms_limit *device_limits_of(const struct device_limits *limits, const char *pci)
{
	const struct ms_limit *found = NULL;
	size_t i;

	for (i = 0; i < limits->count; i++) {
		const struct ms_limit *limit = &limits->list[i];

		if (!(limit->known & MS_LIMIT_MEMORY) || (*pci && !is_of(limit->region, pci)))
			continue;
		if (found && !*pci)
			return NULL;
		/* Beside a device's memory, its driver may have small regions of another use. */
		if (!found || limit->limit_bytes > found->limit_bytes)
			found = limit;
	}
	return found;
}
