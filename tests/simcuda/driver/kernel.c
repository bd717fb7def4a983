// SPDX-License-Identifier: BSD-2-Clause
/*
 * The memory below one object for each device: chunks of whole 2 MiB behind allocations, which are
 * mapped to their addresses, and go back when nothing is in them any more; what graphs use; and
 * what a context takes. The process of which the kernel driver would say so is the one that has
 * first asked.
 */
#define _GNU_SOURCE
#include "kernel.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/env.h"
#include "kernel_ioctl.h"
#include "tenants.h"

#define CHUNK (2ull << 20)
#define CHUNKS 131072 /* places of 2 MiB on a device, and chunks without addresses */
#define CONTEXTS 64
#define LOCKED 256 /* page-locked blocks of the host; more are as if there were no driver */
#define PIECES 3

struct chunk {
	uint32_t handle;
	uint64_t bytes;
	uint64_t addr;  /* 0: it has none */
	uint32_t slots; /* in which something is */
};

/* 2 MiB of the device's addresses. */
struct slot {
	uint64_t bytes; /* that are in use */
	uint32_t chunk; /* its place + 1; 0: none is there */
};

static struct held {
	uint32_t handle;      /* of the device; 0: not opened yet */
	struct slot *slots;   /* by address */
	struct chunk *chunks; /* by the first of their slots */
	struct chunk *held;   /* without addresses */
	size_t held_count;
	uint64_t held_bytes, memory_bytes;       /* the latter: all */
	uint32_t contexts[CONTEXTS][PIECES + 1]; /* handles of what each has */
	uint64_t places[CONTEXTS][PIECES];       /* and its addresses */
	unsigned int contexts_count;
} devices[TENANT_DEVICES];

static const uint64_t context_pieces[PIECES] = { 2ull << 20, 70ull << 20, 32ull << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_driver;
static uint64_t next_place = 0x200000000; /* of what contexts take: no arena is there */
static uint64_t *published;               /* what NVML says, by device; NULL: no one asks */
static uint64_t hidden;                   /* that no ioctl shows, of each device with a context */

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
	has_driver = kernel_ioctl_begin();
	if (!has_driver)
		return;
	if (getenv("SIMCUDA_HIDDEN"))
		hidden = env_size_bytes("SIMCUDA_HIDDEN", 1);
	publish_begin();
}

static void *room(size_t count, size_t bytes)
{
	void *memory = calloc(count, bytes);

	if (!memory)
		abort();
	return memory;
}

/* Returns the device with the lock held, or NULL: there is no driver to ask. */
static struct held *held_lock(unsigned int physical)
{
	struct held *held = &devices[physical];

	pthread_once(&once, begin);
	if (!has_driver)
		return NULL;
	pthread_mutex_lock(&lock);
	if (!held->handle) {
		held->slots = room(CHUNKS, sizeof(*held->slots));
		held->chunks = room(CHUNKS, sizeof(*held->chunks));
		held->held = room(CHUNKS, sizeof(*held->held));
		held->handle = kernel_ioctl_new(kernel_ioctl_client(), KERNEL_DEVICE, physical);
	}
	return held;
}

static void held_unlock(const struct held *held)
{
	if (published)
		__atomic_store_n(&published[held - devices],
				 held->memory_bytes + (held->contexts_count ? hidden : 0),
				 __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + CHUNK - 1) / CHUNK * CHUNK;
}

static uint32_t memory_new(struct held *held, uint64_t bytes)
{
	held->memory_bytes += bytes;
	return kernel_ioctl_new(held->handle, KERNEL_DEVICE_MEMORY, bytes);
}

static void memory_free(struct held *held, uint32_t handle, uint64_t bytes)
{
	held->memory_bytes -= bytes;
	kernel_ioctl_free(held->handle, handle);
}

/* ---- at addresses ---------------------------------------------------------------------------- */

static uint64_t overlap(uint64_t slot, uint64_t from, uint64_t end)
{
	const uint64_t begin = slot * CHUNK > from ? slot * CHUNK : from;

	return ((slot + 1) * CHUNK < end ? (slot + 1) * CHUNK : end) - begin;
}

/* From that slot on, as many as have no chunk. */
static void chunk_new(struct held *held, uint64_t first, uint64_t last, uint64_t space)
{
	struct chunk *chunk = &held->chunks[first];
	uint64_t slot = first;

	for (; slot <= last && !held->slots[slot].chunk; slot++)
		held->slots[slot].chunk = (uint32_t)first + 1;
	*chunk = (struct chunk){ .bytes = (slot - first) * CHUNK, .addr = space + first * CHUNK };
	chunk->handle = memory_new(held, chunk->bytes);
	kernel_ioctl_map(chunk->addr, chunk->bytes, chunk->handle, (unsigned int)(held - devices));
}

static void chunk_free(struct held *held, uint64_t first)
{
	struct chunk *chunk = &held->chunks[first];
	uint64_t i;

	for (i = 0; i < chunk->bytes / CHUNK; i++)
		held->slots[first + i].chunk = 0;
	kernel_ioctl_unmap(chunk->addr, chunk->bytes);
	memory_free(held, chunk->handle, chunk->bytes);
}

void kernel_take(unsigned int physical, uint64_t space, uint64_t addr, uint64_t bytes)
{
	struct held *held = held_lock(physical);
	const uint64_t from = addr - space, end = from + bytes;
	uint64_t slot;

	if (!held)
		return;
	for (slot = from / CHUNK; bytes && slot <= (end - 1) / CHUNK && slot < CHUNKS; slot++) {
		if (!held->slots[slot].chunk)
			chunk_new(held, slot, (end - 1) / CHUNK, space);
		if (!held->slots[slot].bytes)
			held->chunks[held->slots[slot].chunk - 1].slots++;
		held->slots[slot].bytes += overlap(slot, from, end);
	}
	held_unlock(held);
}

void kernel_give(unsigned int physical, uint64_t space, uint64_t addr, uint64_t bytes)
{
	struct held *held = held_lock(physical);
	const uint64_t from = addr - space, end = from + bytes;
	uint64_t slot;

	if (!held)
		return;
	for (slot = from / CHUNK; bytes && slot <= (end - 1) / CHUNK && slot < CHUNKS; slot++) {
		const uint32_t first = held->slots[slot].chunk - 1;

		held->slots[slot].bytes -= overlap(slot, from, end);
		if (!held->slots[slot].bytes && !--held->chunks[first].slots)
			chunk_free(held, first);
	}
	held_unlock(held);
}

/* ---- without addresses, or with others ------------------------------------------------------- */

void kernel_hold(unsigned int physical, uint64_t bytes)
{
	struct held *held = held_lock(physical);

	if (!held)
		return;
	if (bytes > held->held_bytes && held->held_count < CHUNKS) {
		struct chunk *chunk = &held->held[held->held_count++];

		chunk->bytes = rounded(bytes - held->held_bytes);
		chunk->handle = memory_new(held, chunk->bytes);
		held->held_bytes += chunk->bytes;
	}
	while (held->held_count &&
	       held->held_bytes - held->held[held->held_count - 1].bytes >= bytes) {
		const struct chunk *last = &held->held[--held->held_count];

		held->held_bytes -= last->bytes;
		memory_free(held, last->handle, last->bytes);
	}
	held_unlock(held);
}

uint32_t kernel_physical_new(unsigned int physical, uint64_t bytes)
{
	struct held *held = held_lock(physical);
	uint32_t handle;

	if (!held)
		return 0;
	handle = memory_new(held, rounded(bytes));
	held_unlock(held);
	return handle;
}

void kernel_physical_free(unsigned int physical, uint32_t handle, uint64_t bytes)
{
	struct held *held = handle ? held_lock(physical) : NULL;

	if (!held)
		return;
	memory_free(held, handle, rounded(bytes));
	held_unlock(held);
}

void kernel_physical_map(unsigned int physical, uint32_t handle, uint64_t addr, uint64_t bytes)
{
	struct held *held = handle ? held_lock(physical) : NULL;

	if (!held)
		return;
	kernel_ioctl_map(addr, bytes, handle, physical);
	held_unlock(held);
}

void kernel_physical_unmap(uint32_t handle, uint64_t addr, uint64_t bytes)
{
	if (!handle)
		return;
	pthread_mutex_lock(&lock);
	kernel_ioctl_unmap(addr, bytes);
	pthread_mutex_unlock(&lock);
}

void kernel_managed(uint64_t addr, uint64_t bytes)
{
	pthread_once(&once, begin);
	if (!has_driver)
		return;
	pthread_mutex_lock(&lock);
	kernel_ioctl_managed(addr, bytes);
	pthread_mutex_unlock(&lock);
}

/* ---- of the host ----------------------------------------------------------------------------- */

static struct locked {
	uint64_t addr, bytes; /* 0: none is here */
	uint32_t parent, handle;
} locked[LOCKED];

void kernel_lock(unsigned int physical, uint64_t addr, uint64_t bytes)
{
	const struct held *held = held_lock(physical);
	size_t i;

	for (i = 0; held && i < LOCKED; i++)
		if (!locked[i].addr) {
			locked[i] = (struct locked){ addr, bytes, held->handle, 0 };
			locked[i].handle = kernel_ioctl_lock(held->handle, addr, bytes);
			kernel_ioctl_map(addr, bytes, locked[i].handle, physical);
			break;
		}
	if (held)
		held_unlock(held);
}

void kernel_unlock(uint64_t addr)
{
	size_t i;

	if (!has_driver)
		return;
	pthread_mutex_lock(&lock);
	for (i = 0; i < LOCKED; i++)
		if (locked[i].addr == addr) {
			kernel_ioctl_unmap(addr, locked[i].bytes);
			kernel_ioctl_free(locked[i].parent, locked[i].handle);
			locked[i].addr = 0;
			break;
		}
	pthread_mutex_unlock(&lock);
}

/* ---- contexts -------------------------------------------------------------------------------- */

void kernel_context_made(unsigned int physical)
{
	struct held *held = held_lock(physical);

	if (held && held->contexts_count < CONTEXTS) {
		uint32_t *handles = held->contexts[held->contexts_count];
		uint64_t *places = held->places[held->contexts_count++];

		for (size_t i = 0; i < PIECES; i++) {
			handles[i] = memory_new(held, context_pieces[i]);
			places[i] = next_place;
			next_place += context_pieces[i];
			kernel_ioctl_map(places[i], context_pieces[i], handles[i], physical);
		}
		handles[PIECES] = kernel_ioctl_new(held->handle, KERNEL_HOST_MEMORY, 22 << 20);
	}
	if (held)
		held_unlock(held);
}

void kernel_context_ended(unsigned int physical)
{
	struct held *held = held_lock(physical);

	if (held && held->contexts_count) {
		const uint32_t *handles = held->contexts[--held->contexts_count];
		const uint64_t *places = held->places[held->contexts_count];

		for (size_t i = 0; i < PIECES; i++) {
			kernel_ioctl_unmap(places[i], context_pieces[i]);
			memory_free(held, handles[i], context_pieces[i]);
		}
		kernel_ioctl_free(held->handle, handles[PIECES]);
	}
	if (held)
		held_unlock(held);
}
