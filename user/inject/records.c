// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is taken of CUPTI's records, which differ between its versions, and how it becomes a record
 * that does not.
 */
#include <string.h>

#include "inject/inject.h"

/* By CUpti_ActivityMemcpyKind. */
static const uint8_t directions[] = {
	MS_DIRECTIONS_COUNT, MS_DIRECTION_HTOD, MS_DIRECTION_DTOH, MS_DIRECTION_HTOA,
	MS_DIRECTION_ATOH,   MS_DIRECTION_ATOA, MS_DIRECTION_ATOD, MS_DIRECTION_DTOA,
	MS_DIRECTION_DTOD,   MS_DIRECTION_HTOH, MS_DIRECTION_PTOP,
};

static uint16_t u16(const uint8_t *record, size_t at)
{
	uint16_t value;

	memcpy(&value, record + at, sizeof(value));
	return value;
}

static uint32_t u32(const uint8_t *record, size_t at)
{
	uint32_t value;

	memcpy(&value, record + at, sizeof(value));
	return value;
}

static uint64_t u64(const uint8_t *record, size_t at)
{
	uint64_t value;

	memcpy(&value, record + at, sizeof(value));
	return value;
}

static void set_times(struct ms_activity_body *activity, uint64_t start, uint64_t end)
{
	if (!start || end < start) {
		activity->flags |= MS_ACTIVITY_UNTIMED;
		return;
	}
	activity->begin_ns = clock_convert(start);
	activity->end_ns = clock_convert(end);
}

static uint8_t memory_of(uint32_t kind)
{
	return kind < MS_GPU_MEMORIES_COUNT ? (uint8_t)kind : MS_GPU_MEMORY_UNKNOWN;
}

static void convert_kernel(const uint8_t *record, uint32_t version,
			   struct ms_activity_body *activity, const char **name)
{
	uint64_t address = u64(record, KERNEL_NAME);

	activity->kind = MS_ACTIVITY_KERNEL;
	activity->correlation = u32(record, KERNEL_CORRELATION);
	activity->device = (int32_t)u32(record, KERNEL_DEVICE);
	activity->context = u32(record, KERNEL_CONTEXT);
	activity->stream = u32(record, KERNEL_STREAM);
	activity->graph = u32(record, KERNEL_GRAPH);
	activity->channel = u32(record, KERNEL_CHANNEL);
	activity->registers = u16(record, KERNEL_REGISTERS);
	activity->shared_bytes =
		u32(record, KERNEL_STATIC_SHARED) + u32(record, KERNEL_DYNAMIC_SHARED);
	memcpy(activity->grid, record + KERNEL_GRID, sizeof(activity->grid));
	memcpy(activity->block, record + KERNEL_BLOCK, sizeof(activity->block));
	if (version >= CUPTI_DEVICE_LAUNCHED && record[KERNEL_DEVICE_LAUNCHED])
		activity->flags |= MS_ACTIVITY_DEVICE_LAUNCHED;
	set_times(activity, u64(record, KERNEL_START), u64(record, KERNEL_END));
	*name = (const char *)(uintptr_t)address;
}

static void convert_copy(const uint8_t *record, bool peer, struct ms_activity_body *activity)
{
	const uint8_t kind = record[MEMCPY_KIND];

	activity->kind = MS_ACTIVITY_COPY;
	activity->what = kind < sizeof(directions) ? directions[kind] : MS_DIRECTIONS_COUNT;
	activity->from = memory_of(record[MEMCPY_SOURCE]);
	activity->to = memory_of(record[MEMCPY_DESTINATION]);
	if (record[MEMCPY_FLAGS] & MEMCPY_ASYNC)
		activity->flags |= MS_ACTIVITY_ASYNC;
	activity->size = u64(record, MEMCPY_BYTES);
	activity->device = (int32_t)u32(record, MEMCPY_DEVICE);
	activity->context = u32(record, MEMCPY_CONTEXT);
	activity->stream = u32(record, MEMCPY_STREAM);
	activity->correlation = u32(record, peer ? PEER_CORRELATION : MEMCPY_CORRELATION);
	activity->graph = u32(record, peer ? PEER_GRAPH : MEMCPY_GRAPH);
	activity->channel = u32(record, peer ? PEER_CHANNEL : MEMCPY_CHANNEL);
	set_times(activity, u64(record, MEMCPY_START), u64(record, MEMCPY_END));
}

static void convert_memset(const uint8_t *record, struct ms_activity_body *activity)
{
	activity->kind = MS_ACTIVITY_MEMSET;
	activity->to = memory_of(u16(record, MEMSET_MEMORY));
	if (u16(record, MEMSET_FLAGS) & MEMCPY_ASYNC)
		activity->flags |= MS_ACTIVITY_ASYNC;
	activity->size = u64(record, MEMSET_BYTES);
	activity->device = (int32_t)u32(record, MEMSET_DEVICE);
	activity->context = u32(record, MEMSET_CONTEXT);
	activity->stream = u32(record, MEMSET_STREAM);
	activity->correlation = u32(record, MEMSET_CORRELATION);
	activity->graph = u32(record, MEMSET_GRAPH);
	activity->channel = u32(record, MEMSET_CHANNEL);
	set_times(activity, u64(record, MEMSET_START), u64(record, MEMSET_END));
}

static void convert_call(const uint8_t *record, struct ms_activity_body *activity)
{
	activity->kind = MS_ACTIVITY_CALL;
	activity->device = -1;
	activity->what = (uint16_t)u32(record, API_CBID);
	activity->thread = u32(record, API_THREAD);
	activity->correlation = u32(record, API_CORRELATION);
	set_times(activity, u64(record, API_START), u64(record, API_END));
}

static void convert_overhead(const uint8_t *record, struct ms_activity_body *activity)
{
	const uint32_t kind = u32(record, OVERHEAD_KIND);

	activity->kind = MS_ACTIVITY_OVERHEAD;
	activity->device = -1;
	/* CUpti_ActivityOverheadKind: 1, or a number in the upper half. */
	activity->what = (uint16_t)(kind >> 16 ? kind >> 16 | 0x100 : kind);
	set_times(activity, u64(record, OVERHEAD_START), u64(record, OVERHEAD_END));
}

bool record_convert(const uint8_t *record, uint32_t version, struct ms_activity_body *activity,
		    const char **name)
{
	memset(activity, 0, sizeof(*activity));
	*name = NULL;
	switch (u32(record, 0)) {
	case CUPTI_KERNEL:
	case CUPTI_CONCURRENT_KERNEL:
		convert_kernel(record, version, activity, name);
		return true;
	case CUPTI_MEMCPY:
		convert_copy(record, false, activity);
		return true;
	case CUPTI_PEER_MEMCPY:
		convert_copy(record, true, activity);
		return true;
	case CUPTI_MEMSET:
		convert_memset(record, activity);
		return true;
	case CUPTI_DRIVER:
		convert_call(record, activity);
		return true;
	case CUPTI_OVERHEAD:
		convert_overhead(record, activity);
		return true;
	}
	return false;
}
