/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of other processes. A device's memory is a file; a handle says in whose /proc it is to be
 * found, and what part of it to map. It is checked that the file is still the same one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mapping.h"

#define MAGIC 0x6370692d6d6973ull /* "sim-ipc" */

/* What a handle really is. */
struct ticket {
	uint64_t magic;
	int pid;
	int fd;
	int ordinal;
	uint64_t offset;
	uint64_t size_bytes;
	uint64_t id; /* of the allocation */
	uint64_t inode;
};

_Static_assert(sizeof(struct ticket) <= sizeof(CUipcMemHandle), "no room in a handle");

static CUresult get(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	struct arena *memory = space_arena(ptr);
	struct ticket ticket = { .magic = MAGIC, .pid = getpid() };
	struct arena_block block;
	struct stat stat;

	if (!memory || !arena_find(memory, ptr, &block) || block.use != ARENA_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	ticket.fd = arena_file(memory, block.addr, &ticket.offset);
	ticket.ordinal = space_device(&block)->ordinal;
	ticket.size_bytes = block.size_bytes;
	ticket.id = block.id;
	if (fstat(ticket.fd, &stat))
		return CUDA_ERROR_MAP_FAILED;
	ticket.inode = stat.st_ino;
	*handle = (CUipcMemHandle){ { 0 } };
	memcpy(handle, &ticket, sizeof(ticket));
	return CUDA_SUCCESS;
}

/* For the whole allocation, wherever in it ptr points. */
CU_DEFINE(CONTEXT, cuIpcGetMemHandle, (CUipcMemHandle *handle, CUdeviceptr ptr), (handle, ptr),
	  HEX(addr, ptr))
{
	return handle ? get(handle, ptr) : CUDA_ERROR_INVALID_VALUE;
}

/* The file; -1: there is no such process any more, or not with this file. */
static int open_file(const struct ticket *ticket)
{
	char path[64];
	struct stat stat;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", ticket->pid, ticket->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &stat) || stat.st_ino != ticket->inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* What this context has open already. (locked) */
static struct mapping *find_open(const struct mapping *wanted)
{
	struct mapping *m = NULL;

	while ((m = mapping_next(m)))
		if (m->block.use == ARENA_IMPORTED && m->object.owner == wanted->object.owner &&
		    !memcmp(m->key, wanted->key, sizeof(m->key)))
			return m;
	return NULL;
}

/* (locked) */
static struct mapping *map(const struct mapping *initial, const struct ticket *ticket)
{
	int fd = open_file(ticket);
	struct mapping *m;

	if (fd < 0)
		return NULL;
	m = mapping_import(initial, fd, ticket->offset);
	close(fd);
	return m;
}

static CUresult open_ticket(CUdeviceptr *ptr, const struct ticket *ticket)
{
	CUcontext context = context_current();
	struct device *device = device_find(ticket->ordinal);
	struct mapping initial = {
		.object.owner = context,
		.block.size_bytes = ticket->size_bytes,
		.block.owner = context,
		.block.use = ARENA_IMPORTED,
		.device = device,
		.key = { ticket->inode, ticket->offset, ticket->id },
	};
	struct mapping *m;

	if (ticket->magic != MAGIC)
		return CUDA_ERROR_INVALID_HANDLE;
	if (ticket->pid == getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!device)
		return CUDA_ERROR_MAP_FAILED;
	initial.access[device->ordinal] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	mapping_lock();
	m = find_open(&initial);
	if (!m)
		m = map(&initial, ticket);
	if (m) {
		m->references++;
		*ptr = m->block.addr;
	}
	mapping_unlock();
	return m ? CUDA_SUCCESS : CUDA_ERROR_MAP_FAILED;
}

static uint64_t size_of(CUipcMemHandle handle)
{
	struct ticket ticket;

	memcpy(&ticket, &handle, sizeof(ticket));
	return ticket.size_bytes;
}

CU_DEFINE_V2(CONTEXT, cuIpcOpenMemHandle,
	     (CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags), (ptr, handle, flags),
	     OUT_HEX(addr, ptr), result ? (void)0 : DEC(size, size_of(handle)), DEC(flags, flags))
{
	struct ticket ticket;

	if (!ptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&ticket, &handle, sizeof(ticket));
	return open_ticket(ptr, &ticket);
}

CU_DEFINE(CONTEXT, cuIpcCloseMemHandle, (CUdeviceptr ptr), (ptr), HEX(addr, ptr))
{
	struct mapping *m;
	bool open;

	mapping_lock();
	m = mapping_at(ptr);
	open = m && m->block.use == ARENA_IMPORTED && m->block.addr == ptr;
	if (open && !--m->references)
		mapping_close(m);
	mapping_unlock();
	return open ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
