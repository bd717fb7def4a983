// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/tensors.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "ledger/limits.h"
#include "ledger/state.h"

/* No device and no process has as much: a number above it is none of bytes. */
#define BYTES_MOST (1ull << 48)

bool tensors_are_exact(const struct tensors *tensors)
{
	size_t i;

	for (i = 0; i < tensors->devices_count; i++)
		if (tensors->devices[i].differences)
			return false;
	return !tensors->absurd && !tensors->others;
}

uint64_t tensor_device_before(const struct tensor_device *device)
{
	return device->allocated > device->live_bytes ? device->allocated - device->live_bytes : 0;
}

bool tensors_rest(const struct process *process, uint64_t *bytes)
{
	const struct space_total *device = &process->spaces[MS_SPACE_DEVICE];
	const struct space_total *physical = &process->spaces[MS_SPACE_PHYSICAL];
	const uint64_t held = process->exited ? device->exit_bytes + physical->exit_bytes :
						device->live_bytes + physical->live_bytes;

	if (process->tensors.devices_count != 1 || process->entries_only || process->was_running ||
	    held < process->tensors.devices->reserved)
		return false;
	*bytes = held - process->tensors.devices->reserved;
	return true;
}

const struct tensor_block *tensors_find(const struct tensors *tensors, uint64_t addr)
{
	const uint64_t *place = map_get(&tensors->places, addr);

	return place ? &tensors->blocks[*place] : NULL;
}

/* ---- devices --------------------------------------------------------------------------------- */

static struct tensor_device *device_find(const struct tensors *tensors, uint16_t framework,
					 int32_t number)
{
	size_t i;

	for (i = 0; i < tensors->devices_count; i++)
		if (tensors->devices[i].device == number &&
		    tensors->devices[i].framework == framework)
			return &tensors->devices[i];
	return NULL;
}

/* NULL: there is no room, which is counted, or no memory (`*err`). */
static struct tensor_device *device_get(struct tensors *tensors, uint16_t framework, int32_t number,
					bool *is_new, int *err)
{
	struct tensor_device *device = device_find(tensors, framework, number);

	*is_new = !device;
	if (device)
		return device;
	if (tensors->devices_count >= LIMIT_TENSOR_DEVICES) {
		tensors->others++;
		return NULL;
	}
	*err = memory_grow(&tensors->devices, &tensors->devices_capacity,
			   tensors->devices_count + 1, sizeof(*tensors->devices));
	if (*err)
		return NULL;
	device = &tensors->devices[tensors->devices_count++];
	*device = (struct tensor_device){ .device = number, .framework = framework };
	return device;
}

static void peak_note(struct tensor_peak *peak, uint64_t bytes, uint64_t ts_ns)
{
	if (bytes <= peak->bytes)
		return;
	peak->bytes = bytes;
	peak->ts_ns = ts_ns;
}

static void device_told(struct tensor_device *device, const struct ms_tensor *record)
{
	device->allocated = record->allocated;
	device->reserved = record->reserved;
	peak_note(&device->peak_allocated, device->allocated, record->event.ts_ns);
	peak_note(&device->peak_reserved, device->reserved, record->event.ts_ns);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void block_remove(struct tensors *tensors, size_t place)
{
	struct tensor_block *block = &tensors->blocks[place];
	struct tensor_device *device;
	size_t i;

	for (i = 0; i < tensors->devices_count; i++) {
		device = &tensors->devices[i];
		if (device->device != block->device)
			continue;
		device->live_bytes -= block->bytes;
		device->live_count--;
		break;
	}
	map_remove(&tensors->places, block->addr);
	if (place == --tensors->count)
		return;
	*block = tensors->blocks[tensors->count];
	/* There is room: what it had there is overwritten. */
	*map_get(&tensors->places, block->addr) = place;
}

static int block_add(struct tensors *tensors, struct tensor_device *device,
		     const struct ms_tensor *record)
{
	const struct tensor_block block = { .addr = record->addr,
					    .bytes = record->size,
					    .made_ns = record->event.ts_ns,
					    .device = record->device };
	const uint64_t *known = map_get(&tensors->places, block.addr);

	device->allocs++;
	/* An address that is given again: it came back, which was not seen. */
	if (known) {
		device->differences++;
		block_remove(tensors, *known);
	}
	if (tensors->count >= LIMIT_TENSORS) {
		tensors->others++;
		return 0;
	}
	if (memory_grow(&tensors->blocks, &tensors->capacity, tensors->count + 1,
			sizeof(*tensors->blocks)) ||
	    map_set(&tensors->places, block.addr, tensors->count))
		return -ENOMEM;
	tensors->blocks[tensors->count++] = block;
	device->live_bytes += block.bytes;
	device->live_count++;
	return 0;
}

static void block_free(struct tensors *tensors, struct tensor_device *device,
		       const struct ms_tensor *record)
{
	const uint64_t *known = map_get(&tensors->places, record->addr);

	device->frees++;
	if (!known) {
		device->unknown_frees++;
		return;
	}
	if (tensors->blocks[*known].bytes != (uint64_t)-record->size ||
	    tensors->blocks[*known].device != record->device)
		device->differences++;
	block_remove(tensors, *known);
}

/* ---- records --------------------------------------------------------------------------------- */

static bool is_absurd(const struct ms_tensor *record)
{
	const uint64_t bytes = record->size < 0 ? -(uint64_t)record->size : (uint64_t)record->size;

	if (record->allocated > BYTES_MOST || record->reserved > BYTES_MOST ||
	    record->allocated > record->reserved)
		return true;
	if (record->action == MS_TENSOR_OUT_OF_MEMORY)
		return false;
	if (bytes > BYTES_MOST || !bytes || !record->addr)
		return true;
	return record->size > 0 && bytes > record->allocated;
}

static void note_out_of_memory(struct tensor_device *device, const struct ms_tensor *record)
{
	device->out_of_memory++;
	device->wanted_bytes = record->size;
	device->wanted_ts_ns = record->event.ts_ns;
}

int tensors_apply(struct tensors *tensors, const struct ms_tensor *record)
{
	struct tensor_device *device;
	uint64_t expected;
	bool is_new;
	int err = 0;

	if (is_absurd(record)) {
		tensors->absurd++;
		return 0;
	}
	device = device_get(tensors, record->framework, record->device, &is_new, &err);
	if (!device)
		return err;
	expected = device->allocated;
	if (record->action == MS_TENSOR_OUT_OF_MEMORY) {
		note_out_of_memory(device, record);
	} else {
		expected += record->size;
		if (record->size > 0)
			err = block_add(tensors, device, record);
		else
			block_free(tensors, device, record);
	}
	/* A program that begins has nothing yet, but the first record may come late. */
	device->differences += !is_new && expected != record->allocated;
	device_told(device, record);
	return err;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void blocks_forget(struct tensors *tensors)
{
	free(tensors->blocks);
	tensors->blocks = NULL;
	tensors->count = tensors->capacity = 0;
	map_fini(&tensors->places);
}

void tensors_exit(struct tensors *tensors)
{
	blocks_forget(tensors);
}

void tensors_exec(struct tensors *tensors)
{
	size_t i;

	blocks_forget(tensors);
	for (i = 0; i < tensors->devices_count; i++) {
		struct tensor_device *device = &tensors->devices[i];

		device->allocated = device->reserved = 0;
		device->live_bytes = device->live_count = 0;
	}
}

void tensors_restart(struct tensors *tensors, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < tensors->devices_count; i++) {
		struct tensor_device *device = &tensors->devices[i];

		device->peak_allocated = (struct tensor_peak){ device->allocated, now_ns };
		device->peak_reserved = (struct tensor_peak){ device->reserved, now_ns };
		device->allocs = device->frees = device->unknown_frees = 0;
		device->out_of_memory = device->differences = 0;
		device->wanted_bytes = device->wanted_ts_ns = 0;
	}
	tensors->absurd = 0;
}

static void peak_add(struct tensor_peak *sum, const struct tensor_peak *peak)
{
	peak_note(sum, peak->bytes, peak->ts_ns);
}

void tensors_add(struct tensors *sum, const struct tensors *tensors)
{
	size_t i;

	sum->absurd += tensors->absurd;
	sum->others += tensors->others;
	for (i = 0; i < tensors->devices_count; i++) {
		const struct tensor_device *from = &tensors->devices[i];
		bool is_new;
		int err = 0;
		struct tensor_device *to =
			device_get(sum, from->framework, from->device, &is_new, &err);

		sum->others += err != 0;
		if (!to)
			continue;
		to->allocated += from->allocated;
		to->reserved += from->reserved;
		to->live_bytes += from->live_bytes;
		to->live_count += from->live_count;
		peak_add(&to->peak_allocated, &from->peak_allocated);
		peak_add(&to->peak_reserved, &from->peak_reserved);
		to->allocs += from->allocs;
		to->frees += from->frees;
		to->unknown_frees += from->unknown_frees;
		to->out_of_memory += from->out_of_memory;
		to->differences += from->differences;
	}
}

void tensors_fini(struct tensors *tensors)
{
	blocks_forget(tensors);
	free(tensors->devices);
	tensors->devices = NULL;
	tensors->devices_count = tensors->devices_capacity = 0;
}
