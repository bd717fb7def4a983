// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/tensors.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "ledger/effort.h"
#include "ledger/ledger.h"
#include "ledger/limits.h"
#include "ledger/state.h"
#include "ledger/tensor_totals.h"

/* No device and no process has as much: a number above it is none of bytes. */
#define BYTES_MOST (1ull << 48)

bool tensors_are_exact(const struct tensors *tensors)
{
	size_t i;

	for (i = 0; i < tensors->devices_count; i++)
		if (tensors->devices[i].differences)
			return false;
	return !tensors->absurd && !tensors->others && !tensors->is_partial;
}

bool tensors_are_all_known(const struct tensors *tensors)
{
	size_t i;

	for (i = 0; i < tensors->devices_count; i++)
		if (tensors->devices[i].allocated != tensors->devices[i].live_bytes)
			return false;
	return tensors->devices_count && tensors_are_exact(tensors);
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

struct tensor_device *tensors_device(const struct tensors *tensors, uint16_t framework,
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
	struct tensor_device *device = tensors_device(tensors, framework, number);

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

/* ---- moments --------------------------------------------------------------------------------- */

/* What a record earns, in blocks and segments that are looked at; and what all begin with. */
#define EARNED 8
#define EARNED_FIRST 65536

/* Peaks may come often. They leave half for failures, which matter more. */
static bool may_look(struct process *process, enum tensor_moment moment)
{
	const unsigned int part = moment == TENSOR_AT_PEAK ? 2 : 1;
	struct tensors *tensors = &process->tensors;
	const uint64_t cost = tensors->count + process->ledgers[MS_KEY_POINTER].count +
			      process->ledgers[MS_KEY_MAPPING].count;

	if ((tensors->spent + cost) * part > tensors->earned + EARNED_FIRST)
		return false;
	tensors->spent += cost;
	return true;
}

static void moment_forget(struct tensor_device *device, enum tensor_moment moment)
{
	free(device->moments[moment]);
	device->moments[moment] = NULL;
}

/* Of several failures, the last is kept, unless an earlier one says more. */
static bool says_more(const struct tensor_segments *kept, const struct tensor_segments *now,
		      enum tensor_moment moment)
{
	switch (moment) {
	case TENSOR_AT_OUT_OF_MEMORY:
		return tensor_segments_are_broken(kept) && !tensor_segments_are_broken(now);
	case TENSOR_AT_FAILED_CALL:
		return tensor_segments_are_cached(kept) && !tensor_segments_are_cached(now);
	default:
		return false;
	}
}

static int moment_take(struct process *process, struct tensor_device *device,
		       enum tensor_moment moment, uint64_t wanted_bytes, uint64_t ts_ns)
{
	struct tensor_segments *segments;
	int err;

	if (!may_look(process, moment))
		return 0;
	segments = malloc(sizeof(*segments));
	if (!segments)
		return -ENOMEM;
	err = tensor_segments_take(process, device, segments);
	segments->ts_ns = ts_ns;
	segments->wanted_bytes = wanted_bytes;
	if (err ||
	    (device->moments[moment] && says_more(device->moments[moment], segments, moment))) {
		free(segments);
		return err;
	}
	moment_forget(device, moment);
	device->moments[moment] = segments;
	return 0;
}

const struct tensor_segments *tensors_moment(const struct process *process,
					     const struct tensor_device *device,
					     enum tensor_moment moment, struct tensor_segments *now)
{
	if (moment != TENSOR_AT_END || process->exited || device->moments[moment])
		return device->moments[moment];
	return device->reserved && !tensor_segments_take(process, device, now) ? now : NULL;
}

/* Whether the last record of the thread was of a request that failed, whose end is not known. */
static bool is_pending(const struct tensors *tensors, uint32_t tid)
{
	return tensors->failed_tid && tensors->failed_tid == tid;
}

/* What was seen when the request failed, and when it was repeated. */
static void pending_forget(struct tensors *tensors)
{
	size_t i;

	for (i = 0; i < tensors->devices_count; i++) {
		const struct tensor_segments *at =
			tensors->devices[i].moments[TENSOR_AT_FAILED_CALL];

		if (at && at->ts_ns >= tensors->failed_since_ns)
			moment_forget(&tensors->devices[i], TENSOR_AT_FAILED_CALL);
	}
}

int tensors_call_failed(struct process *process, const struct event *event, int32_t device)
{
	const struct ms_call *call = event->call;
	struct tensors *tensors = &process->tensors;
	const uint64_t wanted = call->known & MS_KNOWN_SIZE ? call->size : 0;
	size_t i;
	int err = 0;

	if (!tensors->devices_count || call->flags & MS_CALL_PART ||
	    (tensors->failed_tid && !is_pending(tensors, event->header->tid)))
		return 0;
	tensors->failed_ns = event->header->ts_ns;
	if (tensors->failed_tid)
		pending_forget(tensors);
	else
		tensors->failed_since_ns = tensors->failed_ns;
	tensors->failed_tid = event->header->tid;
	for (i = 0; i < tensors->devices_count && !err; i++)
		if (device < 0 || tensors->devices[i].device == device)
			err = moment_take(process, &tensors->devices[i], TENSOR_AT_FAILED_CALL,
					  wanted, event->header->ts_ns);
	return err;
}

/* It was the allocator's own: what became of it is known from what the program got. */
static void failure_was_own(struct tensors *tensors)
{
	tensors->failed_tid = 0;
	pending_forget(tensors);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* A block has been given to the thread. */
static void segments_note(struct process *process, struct tensor_device *device,
			  const struct ms_tensor *record)
{
	struct tensors *tensors = &process->tensors;
	const uint64_t newest_ns = tensor_sources_mark(process, (uint8_t)record->framework,
						       record->addr, (uint64_t)record->size);

	if (!is_pending(tensors, record->event.tid))
		return;
	/* If the memory for it came after the failure, the allocator tried again. */
	if (newest_ns > tensors->failed_ns) {
		device->retries++;
		failure_was_own(tensors);
	}
	tensors->failed_tid = 0;
}

static void block_remove(struct tensors *tensors, size_t place, struct tensor_change *change)
{
	struct tensor_block *block = &tensors->blocks[place];
	struct tensor_device *device;

	change->ended = *block;
	device = tensors_device(tensors, block->framework, block->device);
	if (device) {
		device->live_bytes -= block->bytes;
		device->live_count--;
	}
	map_remove(&tensors->places, block->addr);
	if (place == --tensors->count)
		return;
	*block = tensors->blocks[tensors->count];
	/* There is room: what it had there is overwritten. */
	*map_get(&tensors->places, block->addr) = place;
}

static int block_add(struct process *process, struct tensor_device *device,
		     const struct ms_tensor *record, struct tensor_change *change)
{
	struct tensors *tensors = &process->tensors;
	const struct tensor_block block = { .addr = record->addr,
					    .bytes = record->size,
					    .made_ns = record->event.ts_ns,
					    .device = record->device,
					    .framework = record->framework,
					    .by_chance = record->flags & MS_TENSOR_CHANCE,
					    .stack = record->flags & MS_TENSOR_STACK ?
							     record->event.stack :
							     0,
					    .place = change->place };
	const uint64_t *known = map_get(&tensors->places, block.addr);

	device->allocs++;
	segments_note(process, device, record);
	/* An address that is given again: it came back, which was not seen. */
	if (known) {
		device->differences++;
		block_remove(tensors, *known, change);
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
	change->given = block;
	device->live_bytes += block.bytes;
	device->live_count++;
	return 0;
}

static void block_free(struct tensors *tensors, struct tensor_device *device,
		       const struct ms_tensor *record, struct tensor_change *change)
{
	const uint64_t *known = map_get(&tensors->places, record->addr);

	device->frees++;
	if (!known) {
		device->unknown_frees++;
		return;
	}
	if (tensors->blocks[*known].bytes != (uint64_t)-record->size ||
	    tensors->blocks[*known].device != record->device ||
	    tensors->blocks[*known].framework != record->framework)
		device->differences++;
	block_remove(tensors, *known, change);
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

/* What is to be seen of the segments before the record changes them. */
static int moments_note(struct process *process, struct tensor_device *device,
			const struct ms_tensor *record)
{
	struct tensors *tensors = &process->tensors;
	int err = 0;

	tensors->earned += EARNED;
	if (record->action != MS_TENSOR_OUT_OF_MEMORY) {
		if (record->size > 0 && device->reserved &&
		    record->reserved > device->peak_reserved.bytes)
			err = moment_take(process, device, TENSOR_AT_PEAK, (uint64_t)record->size,
					  record->event.ts_ns);
		return err;
	}
	err = moment_take(process, device, TENSOR_AT_OUT_OF_MEMORY,
			  record->size > 0 ? (uint64_t)record->size : 0, record->event.ts_ns);
	if (is_pending(tensors, record->event.tid))
		failure_was_own(tensors);
	return err;
}

static int apply(struct process *process, const struct ms_tensor *record,
		 struct tensor_change *change)
{
	struct tensors *tensors = &process->tensors;
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
	/* Its totals are of after it gave back what it could, which is what is looked at. */
	if (record->action == MS_TENSOR_OUT_OF_MEMORY) {
		device->differences += !is_new && expected != record->allocated;
		expected = record->allocated;
		device_told(device, record);
	}
	err = moments_note(process, device, record);
	if (record->action == MS_TENSOR_OUT_OF_MEMORY) {
		note_out_of_memory(device, record);
	} else {
		expected += record->size;
		if (record->size > 0)
			err = err ? err : block_add(process, device, record, change);
		else
			block_free(tensors, device, record, change);
	}
	/* A program that begins has nothing yet, but the first record may come late. */
	device->differences += !is_new && expected != record->allocated;
	device_told(device, record);
	device->allocator = record->flags & MS_TENSOR_UNTOLD ? change->allocator : 0;
	return err;
}

int tensors_apply(struct process *process, const struct stacks *stacks,
		  const struct ms_tensor *record, struct tensor_change *change)
{
	struct ms_tensor told = *record;

	*change = (struct tensor_change){ 0 };
	if (record->flags & MS_TENSOR_STACK)
		change->place = stacks_first_alike(stacks, record->event.stack);
	if (record->flags & MS_TENSOR_UNTOLD) {
		change->allocator = record->reserved;
		if (!tensor_totals_tell(process, &told))
			return 0;
	} else if (record->action != MS_TENSOR_CHANGE &&
		   record->action != MS_TENSOR_OUT_OF_MEMORY) {
		process->tensors.absurd++;
		return 0;
	}
	change->device = told.device;
	change->allocated = told.allocated;
	change->reserved = told.reserved;
	change->is_told = true;
	return apply(process, &told, change);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void blocks_forget(struct tensors *tensors)
{
	free(tensors->blocks);
	tensors->blocks = NULL;
	tensors->count = tensors->capacity = 0;
	map_fini(&tensors->places);
}

int tensors_exit(struct process *process, uint64_t ts_ns)
{
	struct tensors *tensors = &process->tensors;
	size_t i;
	int err = 0;

	tensors->earned += UINT32_MAX; /* there is no other end */
	for (i = 0; i < tensors->devices_count && !err; i++)
		if (tensors->devices[i].reserved)
			err = moment_take(process, &tensors->devices[i], TENSOR_AT_END, 0, ts_ns);
	blocks_forget(tensors);
	return err;
}

static void moments_forget(struct tensors *tensors)
{
	enum tensor_moment moment;
	size_t i;

	for (i = 0; i < tensors->devices_count; i++)
		for (moment = 0; moment < TENSOR_MOMENTS_COUNT; moment++)
			moment_forget(&tensors->devices[i], moment);
}

void tensors_exec(struct tensors *tensors)
{
	size_t i;

	blocks_forget(tensors);
	tensors->failed_tid = 0;
	tensors->allocators_count = 0;
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
		device->wanted_bytes = device->wanted_ts_ns = device->retries = 0;
	}
	moments_forget(tensors);
	tensors->absurd = tensors->failed_ns = tensors->failed_tid = 0;
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
		to->retries += from->retries;
		to->differences += from->differences;
	}
}

size_t tensors_bytes(const struct tensors *tensors)
{
	size_t bytes = tensors->capacity * sizeof(*tensors->blocks) + map_bytes(&tensors->places) +
		       tensors->devices_capacity * sizeof(*tensors->devices) +
		       tensors->allocators_capacity * sizeof(*tensors->allocators);
	size_t i, moment;

	for (i = 0; i < tensors->devices_count; i++)
		for (moment = 0; moment < TENSOR_MOMENTS_COUNT; moment++)
			if (tensors->devices[i].moments[moment])
				bytes += sizeof(*tensors->devices[i].moments[moment]);
	return bytes;
}

void tensors_fini(struct tensors *tensors)
{
	blocks_forget(tensors);
	moments_forget(tensors);
	free(tensors->devices);
	tensors->devices = NULL;
	tensors->devices_count = tensors->devices_capacity = 0;
	free(tensors->allocators);
	tensors->allocators = NULL;
	tensors->allocators_count = tensors->allocators_capacity = 0;
}
