// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/tensor_totals.h"

#include "ledger/state.h"

/* The device of an allocator that has given a block before; NULL: it has not. */
static struct tensor_device *device_of(const struct tensors *tensors, uint16_t framework,
				       uint64_t allocator)
{
	size_t i;

	for (i = 0; i < tensors->devices_count; i++)
		if (tensors->devices[i].framework == framework && allocator &&
		    tensors->devices[i].allocator == allocator)
			return &tensors->devices[i];
	return NULL;
}

/* As they were before the record. */
static void set_totals(struct process *process, struct ms_tensor *record)
{
	const struct tensor_device *device =
		tensors_device(&process->tensors, record->framework, record->device);
	const uint64_t reserved =
		tensor_sources_bytes(&process->tensors.sources, record->framework, record->device);

	record->allocated = device ? device->allocated : 0;
	record->reserved = reserved;
}

/* What lies in no known memory may be older than tracing; then the device is the allocator's. */
static bool tell_given(struct process *process, struct ms_tensor *record)
{
	const struct allocation *segment = tensor_sources_containing(process, record->addr);
	const struct tensor_device *device =
		device_of(&process->tensors, record->framework, record->reserved);

	if (segment && !usage_is_on_device(segment->space) && segment->space != MS_SPACE_MAPPED)
		return false;
	if (!segment && !process->was_running) {
		process->tensors.others++;
		return false;
	}
	process->tensors.is_partial |= process->was_running;
	record->device = -1;
	if (segment)
		record->device = segment->device;
	else if (device)
		record->device = device->device;
	tensor_sources_mark(process, (uint8_t)record->framework, record->addr,
			    (uint64_t)record->size);
	set_totals(process, record);
	if (__builtin_add_overflow(record->allocated, (uint64_t)record->size, &record->allocated))
		record->allocated = UINT64_MAX;
	return true;
}

static bool tell_back(struct process *process, struct ms_tensor *record)
{
	const struct tensor_block *block = tensors_find(&process->tensors, record->addr);
	struct tensor_device *device =
		device_of(&process->tensors, record->framework, record->reserved);

	if (!block) {
		if (device)
			device->unknown_frees++;
		return false;
	}
	record->device = block->device;
	record->size = -(int64_t)block->bytes;
	record->action = MS_TENSOR_CHANGE;
	set_totals(process, record);
	record->allocated -= block->bytes < record->allocated ? block->bytes : record->allocated;
	return true;
}

static bool tell_none_left(const struct process *process, struct ms_tensor *record)
{
	const struct tensor_device *device =
		device_of(&process->tensors, record->framework, record->reserved);

	if (!device)
		return false;
	record->device = device->device;
	record->allocated = device->allocated;
	record->reserved = device->reserved;
	return true;
}

bool tensor_totals_tell(struct process *process, struct ms_tensor *record)
{
	bool told = false;

	if (record->action == MS_TENSOR_BACK)
		told = tell_back(process, record);
	else if (record->action == MS_TENSOR_OUT_OF_MEMORY)
		told = tell_none_left(process, record);
	else if (record->action == MS_TENSOR_CHANGE && record->size > 0)
		told = tell_given(process, record);
	/* What lies in memory that is not known is reserved, too. */
	if (told && record->reserved < record->allocated)
		record->reserved = record->allocated;
	return told;
}
