// SPDX-License-Identifier: BSD-2-Clause
#include "host/nvml_limits.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "host/nvml_library.h"

/* Whose limit it is, if that is not the cgroup's own, NVML does not say. */
static void add_region(struct dmem *dmem, const struct nvml_snapshot *snapshot,
		       const struct nvml_limit *limit)
{
	const struct nvml_device *device = &snapshot->devices[limit->device];
	struct dmem_region region = { .used_bytes = limit->used_bytes };
	size_t i;

	snprintf(region.name, sizeof(region.name), "nvml/%.*s", DMEM_PCI_BYTES, device->pci);
	for (i = 0; i < dmem->count; i++)
		if (!strcmp(dmem->regions[i].name, region.name))
			return;
	if (dmem->count == DMEM_REGIONS) {
		dmem->cut = true;
		return;
	}
	if (limit->soft_bytes) {
		region.known |= DMEM_GUARANTEED;
		region.guaranteed_bytes = limit->soft_bytes;
	}
	if (limit->hard_bytes != NVML_NO_LIMIT) {
		region.known |= DMEM_LIMIT;
		region.limit_bytes = limit->hard_bytes;
		region.limit_used_bytes = limit->used_bytes;
		region.limit_path_bytes = strlen(limit->path);
	}
	if (device->has_memory) {
		region.known |= DMEM_DEVICE;
		region.capacity_bytes = device->total_bytes;
		region.device_used_bytes = device->total_bytes - device->free_bytes;
	}
	dmem->regions[dmem->count++] = region;
}

/* DMEM_NONE: there is no memory. */
static size_t place_of(struct dmem_table *table, const char *path)
{
	struct dmem *dmem;
	size_t i;

	for (i = 0; i < table->count; i++)
		if (!strcmp(table->cgroups[i].path, path))
			return i;
	if (memory_grow(&table->cgroups, &table->capacity, table->count + 1,
			sizeof(*table->cgroups)))
		return DMEM_NONE;
	dmem = &table->cgroups[table->count];
	dmem->count = 0;
	dmem->cut = false;
	snprintf(dmem->path, sizeof(dmem->path), "%s", path);
	return table->count++;
}

size_t nvml_limits_add(struct dmem_table *table, const struct nvml_snapshot *snapshot, uint32_t pid)
{
	size_t place = DMEM_NONE;
	uint32_t i;

	for (i = 0; snapshot->limits_count && i < snapshot->processes_count; i++) {
		const struct nvml_process *process = &snapshot->processes[i];
		const struct nvml_limit *limit;

		if (process->pid != pid || process->limit >= snapshot->limits_count)
			continue;
		limit = &snapshot->limits[process->limit];
		if (!limit->known)
			continue;
		place = place_of(table, limit->path);
		if (place == DMEM_NONE)
			break;
		add_region(&table->cgroups[place], snapshot, limit);
	}
	return place;
}
