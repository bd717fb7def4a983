/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records as CUPTI lays them out, of the size that they have in the version that is simulated.
 */
#include <string.h>

#include "simcupti.h"

/* By kind: CUpti_ActivityKind, and sizes from versions on (cuptiGetVersion()), oldest first. */
static const struct {
	uint32_t number;
	struct {
		uint32_t version, bytes;
	} sizes[4];
} layouts[] = {
	[KIND_KERNEL] = { 10, { { 0, 200 }, { 19, 208 }, { 130000, 216 }, { 130500, 248 } } },
	[KIND_COPY] = { 1, { { 0, 88 }, { 26, 96 }, { 130500, 112 } } },
	[KIND_PEER] = { 22, { { 0, 96 } } },
	[KIND_MEMSET] = { 2, { { 0, 88 }, { 130500, 104 } } },
	[KIND_CALL] = { 4, { { 0, 40 } } },
	[KIND_OVERHEAD] = { 17, { { 0, 40 }, { 26, 48 }, { 130000, 56 } } },
};

static uint32_t size_of(int kind)
{
	uint32_t bytes = 0;
	size_t i;

	for (i = 0; i < 4 && layouts[kind].sizes[i].bytes; i++)
		if (settings()->version >= layouts[kind].sizes[i].version)
			bytes = layouts[kind].sizes[i].bytes;
	return bytes;
}

size_t record_size(const uint8_t *at)
{
	uint32_t number;
	size_t i;

	memcpy(&number, at, sizeof(number));
	for (i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].number == number)
			return size_of((int)i);
	return 0;
}

static void put8(uint8_t *at, size_t place, uint8_t value)
{
	at[place] = value;
}

static void put32(uint8_t *at, size_t place, uint32_t value)
{
	memcpy(at + place, &value, sizeof(value));
}

static void put64(uint8_t *at, size_t place, uint64_t value)
{
	memcpy(at + place, &value, sizeof(value));
}

static void put_kernel(uint8_t *at, const struct activity *a)
{
	const struct observer_work *work = &a->work;
	int i;

	put8(at, 6, 32); /* registers of a thread */
	put64(at, 16, a->begin);
	put64(at, 24, a->end);
	put32(at, 40, (uint32_t)work->device);
	put32(at, 44, work->context);
	put32(at, 48, (uint32_t)(work->stream ? work->stream >> 4 & 0xffff : 7));
	for (i = 0; i < 3; i++) {
		put32(at, 52 + 4 * i, work->grid[i]);
		put32(at, 64 + 4 * i, work->block[i]);
	}
	put32(at, 80, work->shared_bytes);
	put32(at, 92, a->correlation);
	put64(at, 104, (uintptr_t)a->name);
	put32(at, 156, work->graph);
	put32(at, 168, 3); /* channel */
}

static uint8_t memory_kind(char letter)
{
	return letter == 'H' ? 1 : letter == 'M' ? 5 : letter == 'A' ? 4 : 3;
}

static uint8_t copy_kind(const struct observer_work *work)
{
	const bool from = work->from == 'H', to = work->to == 'H';

	return from && to ? 9 : from ? 1 : to ? 2 : 8;
}

/* Copies of both kinds and memsets have these in the same places. */
static void put_place(uint8_t *at, const struct activity *a)
{
	put64(at, 8, a->work.bytes);
	put64(at, 16, a->begin);
	put64(at, 24, a->end);
	put32(at, 32, (uint32_t)a->work.device);
	put32(at, 36, a->work.context);
	put32(at, 40, (uint32_t)(a->work.stream ? a->work.stream >> 4 & 0xffff : 7));
}

static void put_copy(uint8_t *at, const struct activity *a)
{
	put_place(at, a);
	put8(at, 4, a->kind == KIND_PEER ? 10 : copy_kind(&a->work));
	put8(at, 5, memory_kind(a->work.from));
	put8(at, 6, memory_kind(a->work.to));
	put8(at, 7, !a->work.waited_for);
	put32(at, a->kind == KIND_PEER ? 60 : 44, a->correlation);
	put32(at, a->kind == KIND_PEER ? 80 : 72, a->work.graph);
}

static void put_memset(uint8_t *at, const struct activity *a)
{
	put_place(at, a);
	put32(at, 44, a->correlation);
	put8(at, 48, 1);
	put8(at, 50, memory_kind(a->work.to));
	put32(at, 72, a->work.graph);
}

size_t record_put(uint8_t *at, size_t room, const struct activity *a)
{
	const uint32_t bytes = size_of(a->kind);

	if (bytes > room)
		return 0;
	memset(at, 0, bytes);
	put32(at, 0, layouts[a->kind].number);
	switch (a->kind) {
	case KIND_KERNEL:
		put_kernel(at, a);
		break;
	case KIND_COPY:
	case KIND_PEER:
		put_copy(at, a);
		break;
	case KIND_MEMSET:
		put_memset(at, a);
		break;
	case KIND_CALL:
		put32(at, 4, a->cbid);
		put64(at, 8, a->begin);
		put64(at, 16, a->end);
		put32(at, 28, a->thread);
		put32(at, 32, a->correlation);
		break;
	case KIND_OVERHEAD:
		put32(at, 4, 5u << 16);
		put64(at, 24, a->begin);
		put64(at, 32, a->end);
		break;
	}
	return bytes;
}
