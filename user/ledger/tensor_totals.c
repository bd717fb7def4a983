// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/tensor_totals.h"

#include "base/memory.h"
#include "ledger/limits.h"
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

/* What has given a block, or is to be known as such from now on; NULL: it cannot be told apart. */
static struct tensor_allocator *allocator_of(struct tensors *tensors, uint16_t framework,
					     uint64_t address)
{
	size_t i;

	for (i = 0; i < tensors->allocators_count; i++)
		if (tensors->allocators[i].framework == framework &&
		    tensors->allocators[i].address == address)
			return &tensors->allocators[i];
	if (!address || i == LIMIT_TENSOR_ALLOCATORS ||
	    memory_grow(&tensors->allocators, &tensors->allocators_capacity, i + 1,
			sizeof(*tensors->allocators)))
		return NULL;
	tensors->allocators[tensors->allocators_count++] =
		(struct tensor_allocator){ .address = address, .framework = framework };
	return &tensors->allocators[i];
}

/* Blocks of it that lay in no known memory were of a device, too, whose allocation was missed. */
static void is_of_device(struct tensors *tensors, struct tensor_allocator *allocator)
{
	if (!allocator)
		return;
	allocator->is_of_device = true;
	tensors->others += allocator->outside;
	allocator->outside = 0;
}

static bool any_is_of_device(const struct tensors *tensors, uint16_t framework)
{
	size_t i;

	for (i = 0; i < tensors->allocators_count; i++)
		if (tensors->allocators[i].framework == framework &&
		    tensors->allocators[i].is_of_device)
			return true;
	return false;
}

/*
 * A block lies in no known memory. Returns whether it is a device's all the same, from before
 * tracing. Memory that was seen from the beginning is known, unless it is of no device: there are
 * allocators of the host's memory that have nothing else. Where a program was running before, an
 * allocator may be one of those if another one has memory of a device.
 */
static bool tell_outside(struct process *process, struct tensor_allocator *allocator,
			 uint16_t framework)
{
	struct tensors *tensors = &process->tensors;
	const bool is_of_device = !allocator || allocator->is_of_device;

	if (process->was_running)
		return is_of_device ||
		       (!allocator->is_of_host && !any_is_of_device(tensors, framework));
	if (is_of_device)
		tensors->others++;
	else
		allocator->outside++;
	return false;
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
	struct tensor_allocator *allocator =
		allocator_of(&process->tensors, record->framework, record->reserved);
	const struct tensor_device *device =
		device_of(&process->tensors, record->framework, record->reserved);

	if (segment && !usage_is_on_device(segment->space) && segment->space != MS_SPACE_MAPPED) {
		if (allocator)
			allocator->is_of_host = true;
		return false;
	}
	if (segment)
		is_of_device(&process->tensors, allocator);
	else if (!tell_outside(process, allocator, record->framework))
		return false;
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
		/* Its allocation was missed: there is no total that would say so. */
		if (device) {
			device->unknown_frees++;
			process->tensors.is_partial = true;
		}
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
