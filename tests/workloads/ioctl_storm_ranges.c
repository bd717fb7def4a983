// SPDX-License-Identifier: BSD-2-Clause
/*
 * Of ioctl_storm.c, what is asked of /dev/nvidia-uvm: ranges of addresses, objects that are mapped
 * there on one device or both, and managed ranges. The driver refuses some of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "ioctl_storm.h"

#define UVM_MAP 33
#define UVM_FREE 34
#define UVM_UNMAP 66
#define UVM_VALIDATE 72
#define UVM_CREATE 73
#define RANGES_AT 0x7e0000000000ull
#define MANAGED_AT 0x7e8000000000ull
#define RANGE_STEP (1ull << 24)
#define MANAGED_OBJECTS \
	30 /* of a thread: those beyond a thousand are forgotten without allocations */
#define GPU_BYTES 0x24

/* `status_at`: where the driver's answer is. Returns whether it has done it. */
static bool ask_uvm(struct worker *worker, uint32_t number, void *argument, size_t status_at)
{
	const uint32_t refused = random_of(worker, 12) ? 0 : 0x1f;

	memcpy((char *)argument + status_at, &refused, sizeof(refused));
	worker->ioctls++;
	worker->records++;
	if (ioctl(uvm, number, argument)) {
		perror("ioctl_storm: nvidia-uvm");
		exit(1);
	}
	return !refused;
}

static void put_addresses(void *argument, uint64_t base, uint64_t bytes)
{
	memcpy(argument, &base, sizeof(base));
	memcpy((char *)argument + 8, &bytes, sizeof(bytes));
}

/* On one device, or on both at once. */
static void map_range(struct worker *worker, uint32_t object, uint64_t base)
{
	const bool is_old = layout <= 550;
	const size_t count_at = is_old ? 0x498 : 0x2418, client_at = is_old ? 0x4a4 : 0x2424;
	const uint32_t device = random_of(worker, DEVICES);
	const uint64_t count = 1 + random_of(worker, DEVICES);
	const uint32_t handle = MEMORY_HANDLE + object;
	unsigned char argument[0x2430] = { 0 };
	uint64_t i;

	put_addresses(argument, base, worker->ranges[object]);
	for (i = 0; i < count; i++)
		argument[0x18 + i * GPU_BYTES] = (unsigned char)(1 + (device + i) % DEVICES);
	memcpy(argument + count_at, &count, sizeof(count));
	memcpy(argument + client_at, &worker->client, 4);
	memcpy(argument + client_at + 4, &handle, 4);
	if (!ask_uvm(worker, UVM_MAP, argument, client_at + 8))
		return;
	worker->records += count - 1;
	for (i = 0; i < count; i++)
		worker->mapped[object] |= 1u << (device + i) % DEVICES;
}

static void unmap_range(struct worker *worker, uint32_t object, uint64_t base)
{
	const uint32_t device = random_of(worker, DEVICES);
	unsigned char argument[0x28] = { 0 };

	put_addresses(argument, base, worker->ranges[object]);
	argument[0x10] = (unsigned char)(1 + device);
	if (ask_uvm(worker, UVM_UNMAP, argument, 0x20))
		worker->mapped[object] &= ~(1u << device);
}

static bool free_range(struct worker *worker, uint64_t base, uint64_t bytes)
{
	unsigned char argument[0x18] = { 0 };

	put_addresses(argument, base, bytes);
	return ask_uvm(worker, UVM_FREE, argument, 0x10);
}

/* A range that there is, or that there is not. */
static void make_range(struct worker *worker, uint32_t number, uint64_t base, uint64_t *bytes)
{
	const uint64_t wanted = (1 + random_of(worker, 1000)) * 4096ull;
	unsigned char argument[0x18] = { 0 };

	put_addresses(argument, base, wanted);
	if (ask_uvm(worker, number, argument, 0x10))
		*bytes = wanted;
}

void step_of_ranges(struct worker *worker, uint32_t number, uint32_t object)
{
	const uint64_t place = ((uint64_t)number * OBJECTS + object) * RANGE_STEP;
	const uint32_t what = random_of(worker, 8);

	if (what == 0 && worker->managed[object]) {
		if (free_range(worker, MANAGED_AT + place, worker->managed[object]))
			worker->managed[object] = 0;
	} else if (what < 2 && object < MANAGED_OBJECTS && !worker->managed[object]) {
		make_range(worker, UVM_VALIDATE, MANAGED_AT + place, &worker->managed[object]);
	} else if (!worker->ranges[object]) {
		make_range(worker, UVM_CREATE, RANGES_AT + place, &worker->ranges[object]);
	} else if (what < 5) {
		map_range(worker, object, RANGES_AT + place);
	} else if (what < 7) {
		unmap_range(worker, object, RANGES_AT + place);
	} else if (free_range(worker, RANGES_AT + place, worker->ranges[object])) {
		worker->ranges[object] = worker->mapped[object] = 0;
	}
}
