// SPDX-License-Identifier: BSD-2-Clause
/*
 * The memory below one object for each device: chunks of whole 2 MiB behind allocations, of which
 * the newest goes back when the rest suffices; and what a context takes. The process of which the
 * kernel driver would say so is the one that has first asked.
 */
#define _GNU_SOURCE
#include "kernel.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/env.h"
#include "tenants.h"

#define CHUNK (2ull << 20)
#define CHUNKS 65536
#define ALLOC 0xc030462bu /* NVOS64_PARAMETERS, from driver 535 on */
#define FREE 0xc0104629u
#define ROOT 0x41
#define DEVICE 0x80
#define DEVICE_MEMORY 0x40
#define HOST_MEMORY 0x3e

struct chunk {
	uint32_t handle;
	uint64_t bytes;
};

static struct held {
	uint32_t handle; /* of the device; 0: not opened yet */
	struct chunk *chunks;
	size_t count;
	uint64_t chunks_bytes, contexts_bytes;
	uint32_t contexts[64][4]; /* handles of what each has */
	unsigned int contexts_count;
} devices[TENANT_DEVICES];

static const uint64_t context_pieces[] = { 2ull << 20, 70ull << 20, 32ull << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int control = -1;
static uint32_t client, last_handle = 0x5c000000;
static uint64_t *published; /* what NVML says, by device; NULL: no one asks */
static uint64_t hidden;     /* that no ioctl shows, of each device with a context */

static void request(uint32_t number, void *argument)
{
	if (ioctl(control, number, argument))
		env_fatal("SIMCUDA_DRIVER", getenv("SIMCUDA_DRIVER"), "refuses an ioctl");
}

/* Returns the handle. `value`: bytes, or the number of the device. */
static uint32_t object_new(uint32_t parent, uint32_t class, uint64_t value)
{
	unsigned char argument[0x30] = { 0 }, params[0x80] = { 0 };
	const uint32_t handle = class == ROOT ? client : ++last_handle;
	const void *place = params;

	memcpy(argument, &client, sizeof(client));
	memcpy(argument + 4, &parent, sizeof(parent));
	memcpy(argument + 8, &handle, sizeof(handle));
	memcpy(argument + 12, &class, sizeof(class));
	memcpy(argument + 16, &place, sizeof(place));
	memcpy(params + (class == DEVICE ? 0 : 0x40), &value, sizeof(value));
	request(ALLOC, argument);
	return handle;
}

static void object_free(uint32_t parent, uint32_t handle)
{
	uint32_t argument[4] = { client, parent, handle, 0 };

	request(FREE, argument);
}

/* The file has the process's name, so that NVML's stand-in knows whose it is. */
static void publish_begin(void)
{
	const char *directory = getenv("SIMCUDA_HELD");
	const size_t bytes = TENANT_DEVICES * sizeof(*published);
	char path[512];
	int file;

	if (!directory || !*directory)
		return;
	snprintf(path, sizeof(path), "%s/%d", directory, (int)getpid());
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0 || ftruncate(file, (off_t)bytes))
		env_fatal("SIMCUDA_HELD", path, "cannot be opened");
	published = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (published == MAP_FAILED)
		env_fatal("SIMCUDA_HELD", path, "cannot be mapped");
}

static void begin(void)
{
	const char *directory = getenv("SIMCUDA_DRIVER");
	char path[512];

	if (!directory || !*directory)
		return;
	snprintf(path, sizeof(path), "%s/nvidiactl", directory);
	control = open(path, O_RDWR | O_CLOEXEC);
	if (control < 0)
		env_fatal("SIMCUDA_DRIVER", path, "cannot be opened");
	if (getenv("SIMCUDA_HIDDEN"))
		hidden = env_size_bytes("SIMCUDA_HIDDEN", 1);
	publish_begin();
	client = 0xc1000000u | ((uint32_t)getpid() & 0xffffff);
	object_new(0, ROOT, 0);
}

/* NULL: there is no driver to ask. */
static struct held *held_of(unsigned int physical)
{
	struct held *held = &devices[physical];

	pthread_once(&once, begin);
	if (control < 0)
		return NULL;
	if (held->handle)
		return held;
	held->chunks = calloc(CHUNKS, sizeof(*held->chunks));
	if (!held->chunks)
		abort();
	held->handle = object_new(client, DEVICE, physical);
	return held;
}

static void publish(const struct held *held)
{
	if (published)
		__atomic_store_n(&published[held - devices],
				 held->chunks_bytes + held->contexts_bytes +
					 (held->contexts_count ? hidden : 0),
				 __ATOMIC_RELAXED);
}

static void chunk_new(struct held *held, uint64_t bytes)
{
	struct chunk *chunk = &held->chunks[held->count++];

	chunk->bytes = (bytes + CHUNK - 1) / CHUNK * CHUNK;
	chunk->handle = object_new(held->handle, DEVICE_MEMORY, chunk->bytes);
	held->chunks_bytes += chunk->bytes;
}

void kernel_hold(int physical, uint64_t bytes)
{
	struct held *held;

	pthread_mutex_lock(&lock);
	held = held_of((unsigned int)physical);
	if (held && bytes > held->chunks_bytes && held->count < CHUNKS)
		chunk_new(held, bytes - held->chunks_bytes);
	while (held && held->count &&
	       held->chunks_bytes - held->chunks[held->count - 1].bytes >= bytes) {
		const struct chunk *last = &held->chunks[--held->count];

		held->chunks_bytes -= last->bytes;
		object_free(held->handle, last->handle);
	}
	if (held)
		publish(held);
	pthread_mutex_unlock(&lock);
}

void kernel_context_made(unsigned int physical)
{
	const size_t pieces = sizeof(context_pieces) / sizeof(*context_pieces);
	struct held *held;

	pthread_mutex_lock(&lock);
	held = held_of(physical);
	if (held && held->contexts_count < 64) {
		uint32_t *handles = held->contexts[held->contexts_count++];

		for (size_t i = 0; i < pieces; i++) {
			handles[i] = object_new(held->handle, DEVICE_MEMORY, context_pieces[i]);
			held->contexts_bytes += context_pieces[i];
		}
		handles[pieces] = object_new(held->handle, HOST_MEMORY, 22 << 20);
		publish(held);
	}
	pthread_mutex_unlock(&lock);
}

void kernel_context_ended(unsigned int physical)
{
	const size_t pieces = sizeof(context_pieces) / sizeof(*context_pieces);
	struct held *held;

	pthread_mutex_lock(&lock);
	held = held_of(physical);
	if (held && held->contexts_count) {
		const uint32_t *handles = held->contexts[--held->contexts_count];

		for (size_t i = 0; i <= pieces; i++)
			object_free(held->handle, handles[i]);
		for (size_t i = 0; i < pieces; i++)
			held->contexts_bytes -= context_pieces[i];
		publish(held);
	}
	pthread_mutex_unlock(&lock);
}
