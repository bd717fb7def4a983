// SPDX-License-Identifier: BSD-2-Clause
/*
 * Recordings with any number of what is no call: objects of the driver, samples of NVML, stacks.
 */
#include "crafted.h"

static void make_driver_objects(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_object((uint32_t)i, 4096));
}

static union record freed(uint32_t client, uint32_t object)
{
	union record record = record_object(object, 0);

	record.object.action = MS_OBJECT_FREE;
	record.object.client = client;
	record.object.class_number = 0;
	return record;
}

static void begin_objects(struct maker *maker)
{
	uint32_t i;

	for (i = 0; i < 20000; i++)
		make_driver_objects(maker, 1 + i);
}

/* Of clients and devices that there are not, and of a device that has no memory any more. */
static void make_driver_frees(struct maker *maker, uint64_t i)
{
	const union record object = record_object(0, 0);
	const uint32_t client = object.object.client;

	crafted_put(maker, i & 1 ? freed(client + (uint32_t)i, client + (uint32_t)i) :
				   freed(client, (uint32_t)i << 16));
}

/* Each client has one object, and is freed. */
static void make_driver_clients(struct maker *maker, uint64_t i)
{
	const uint32_t client = 0xc1000000u + (uint32_t)(i / 2);
	union record record = record_object(1, 4096);

	record.object.client = client;
	crafted_put(maker, i & 1 ? freed(client, client) : record);
}

static void make_samples(struct maker *maker, uint64_t i)
{
	char uuid[24];

	snprintf(uuid, sizeof(uuid), "GPU-%llu", (unsigned long long)i);
	crafted_put(maker, i & 1 ? record_held(uuid, i) : record_device_memory(uuid, i));
}

static void make_frames(struct maker *maker, uint64_t i)
{
	char function[24];

	snprintf(function, sizeof(function), "f%llu", (unsigned long long)i);
	crafted_put(maker, record_frame((uint32_t)i + 1, function, function));
}

static void begin_frames(struct maker *maker)
{
	uint64_t i;

	for (i = 0; i < MANY; i++)
		make_frames(maker, i);
}

/* All frames are of CUDA or not known: whose memory it is has to be looked for to the end. */
static void make_stacks(struct maker *maker, uint64_t i)
{
	crafted_put(maker, record_stack((uint32_t)i + 1, 1 + (uint32_t)(i % MANY), 16));
}

const struct crafted_kind crafted_samples[] = {
	{ "driver-objects", make_driver_objects },
	{ "driver-frees", make_driver_frees, NULL, begin_objects },
	{ "driver-clients", make_driver_clients },
	{ "samples", make_samples },
	{ "frames", make_frames },
	{ "stacks", make_stacks, NULL, begin_frames },
	{ 0 },
};
