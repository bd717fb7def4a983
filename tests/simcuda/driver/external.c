/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * External memory: a file that some other API made (Vulkan; in tests, memfd_create), parts of which
 * become buffers with device addresses. The memory counts as nobody's.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mapping.h"

struct CUextMemory_st {
	struct object object;
	int fd;
	uint64_t size_bytes;
};

static struct slab externals = SLAB(struct CUextMemory_st, 65536);

static void fini(void *object)
{
	close(((CUexternalMemory)object)->fd);
}

/* Buffers go with the other mappings of the context. */
void external_free_owned(CUcontext owner)
{
	slab_delete_owned(&externals, owner, fini);
}

static CUresult check_file(int fd, uint64_t size_bytes)
{
	struct stat stat;

	if (fstat(fd, &stat) || !S_ISREG(stat.st_mode) ||
	    (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
		return CUDA_ERROR_OPERATING_SYSTEM;
	return size_bytes <= (uint64_t)stat.st_size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Takes the file descriptor over, if it succeeds. */
CU_DEFINE(CONTEXT, cuImportExternalMemory,
	  (CUexternalMemory *memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc), (memory, desc),
	  OUT_HEX(handle, memory), desc ? DEC(size, desc->size) : (void)0,
	  desc ? DEC(flags, desc->flags) : (void)0)
{
	struct CUextMemory_st new = { .object.owner = context_current() };
	CUresult result;

	if (!memory || !desc || !desc->size ||
	    desc->flags & ~(unsigned int)CUDA_EXTERNAL_MEMORY_DEDICATED)
		return CUDA_ERROR_INVALID_VALUE;
	if (desc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
		return CUDA_ERROR_NOT_SUPPORTED;
	result = check_file(desc->handle.fd, desc->size);
	if (result != CUDA_SUCCESS)
		return result;
	new.fd = desc->handle.fd;
	new.size_bytes = desc->size;
	*memory = slab_new(&externals, &new);
	return *memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(CONTEXT, cuDestroyExternalMemory, (CUexternalMemory memory), (memory),
	  HEX(handle, memory))
{
	if (!slab_has(&externals, memory))
		return CUDA_ERROR_INVALID_HANDLE;
	fini(memory);
	slab_delete(&externals, memory);
	return CUDA_SUCCESS;
}

static CUresult map(CUdeviceptr *ptr, CUexternalMemory memory, uint64_t offset, uint64_t size_bytes)
{
	CUcontext context = context_current();
	struct mapping initial = {
		.object.owner = context,
		.block.size_bytes = size_bytes,
		.block.owner = context,
		.block.use = ARENA_EXTERNAL,
		.device = context->device,
	};
	struct mapping *m;

	initial.access[context->device->ordinal] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	mapping_lock();
	m = mapping_import(&initial, memory->fd, offset);
	if (m)
		*ptr = m->block.addr;
	mapping_unlock();
	return m ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(CONTEXT, cuExternalMemoryGetMappedBuffer,
	  (CUdeviceptr *ptr, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc),
	  (ptr, memory, desc), OUT_HEX(addr, ptr), desc ? DEC(size, desc->size) : (void)0,
	  desc ? DEC(offset, desc->offset) : (void)0, HEX(handle, memory))
{
	if (!slab_has(&externals, memory))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ptr || !desc || desc->flags || !desc->size || desc->offset > memory->size_bytes ||
	    desc->size > memory->size_bytes - desc->offset)
		return CUDA_ERROR_INVALID_VALUE;
	return map(ptr, memory, desc->offset, desc->size);
}

bool external_free(CUdeviceptr addr)
{
	struct mapping *m;
	bool found;

	mapping_lock();
	m = mapping_at(addr);
	found = m && m->block.use == ARENA_EXTERNAL && m->block.addr == addr;
	if (found)
		mapping_close(m);
	mapping_unlock();
	return found;
}
