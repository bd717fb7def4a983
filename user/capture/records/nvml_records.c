// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/nvml_records.h"

#include <string.h>

static void put_uuid(char uuid[MS_UUID_BYTES], const struct nvml_device *device)
{
	const size_t length = strlen(device->uuid);

	memset(uuid, 0, MS_UUID_BYTES);
	memcpy(uuid, device->uuid, length < MS_UUID_BYTES ? length : MS_UUID_BYTES);
}

/* If a device is divided, those of its instances are the instances'. */
static void put_processes(const struct nvml_snapshot *snapshot, uint32_t place,
			  struct ms_device *record)
{
	const struct nvml_device *device = &snapshot->devices[place];
	uint32_t i;

	if (!device->whole || device->device_result || device->processes_result || snapshot->cut)
		return;
	record->known |= MS_DEVICE_PROCESSES;
	for (i = 0; i < snapshot->processes_count; i++) {
		const struct nvml_process *process = &snapshot->processes[i];

		if (process->device != place)
			continue;
		if (!process->has_used)
			record->known &= ~(uint32_t)MS_DEVICE_PROCESSES;
		record->processes++;
		record->processes_bytes += process->used_bytes;
	}
	if (!(record->known & MS_DEVICE_PROCESSES))
		record->processes = 0, record->processes_bytes = 0;
}

struct ms_device nvml_record_device(const struct nvml_snapshot *snapshot, uint32_t place,
				    uint64_t ts_ns)
{
	const struct nvml_device *device = &snapshot->devices[place];
	struct ms_device record = {
		.event = { .ts_ns = ts_ns, .type = MS_TYPE_DEVICE, .size = sizeof(record) }
	};

	if (device->has_memory) {
		record.known |= MS_DEVICE_MEMORY;
		record.total_bytes = device->total_bytes;
		record.used_bytes = device->used_bytes;
		record.free_bytes = device->free_bytes;
	}
	if (device->has_memory && device->has_reserved) {
		record.known |= MS_DEVICE_RESERVED;
		record.reserved_bytes = device->reserved_bytes;
	}
	if (device->has_utilisation) {
		record.known |= MS_DEVICE_RATES;
		record.gpu_percent = device->gpu_percent;
		record.memory_percent = device->memory_percent;
	}
	put_processes(snapshot, place, &record);
	put_uuid(record.uuid, device);
	return record;
}

struct ms_held nvml_record_held(const struct nvml_snapshot *snapshot,
				const struct nvml_process *process, uint64_t start_ns,
				uint64_t ts_ns)
{
	struct ms_held record = {
		.event = { .ts_ns = ts_ns,
			   .start_ns = start_ns,
			   .pid = process->pid,
			   .tid = process->pid,
			   .type = MS_TYPE_HELD,
			   .size = sizeof(record) },
		.used_bytes = process->used_bytes,
	};

	put_uuid(record.uuid, &snapshot->devices[process->device]);
	return record;
}
