/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See physical.h. What can be exported is a file of its own; everything else lies in one common
 * file, because a process may have more of it than it may have files open. The name of a file says
 * which device the memory is on.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel.h"
#include "mapping.h"
#include "physical.h"
#include "reserve.h"

#define FILE_NAME "simcuda-physical-on-%d"
#define ON_HOST (-1)

static struct slab physicals = SLAB(struct physical, 1 << 20);
static int common_fd = -1;
static uint64_t common_bytes;

static bool place_in_common(struct physical *p)
{
	if (common_fd < 0)
		common_fd = reserve_file("simcuda-common", 0);
	if (common_fd < 0 || ftruncate(common_fd, (off_t)(common_bytes + p->size_bytes)))
		return false;
	p->fd = common_fd;
	p->offset = common_bytes;
	common_bytes += p->size_bytes;
	return true;
}

static bool place(struct physical *p)
{
	char name[64];

	if (!p->shareable)
		return place_in_common(p);
	snprintf(name, sizeof(name), FILE_NAME, p->device ? p->device->ordinal : ON_HOST);
	p->fd = reserve_file(name, p->size_bytes);
	return p->fd >= 0;
}

static void give_back(struct physical *p)
{
	if (p->charged) {
		arena_uncharge(p->device->memory, p->size_bytes);
		kernel_physical_free(p->device->physical, p->memory, p->size_bytes);
	}
	if (p->shareable)
		close(p->fd);
	else
		fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)p->offset,
			  (off_t)p->size_bytes);
}

static void delete_if_done(struct physical *p)
{
	if (p->references || p->mappings)
		return;
	give_back(p);
	slab_delete(&physicals, p);
}

static CUmemGenericAllocationHandle handle_of(const struct physical *p)
{
	return (uintptr_t)p;
}

struct physical *physical_find(CUmemGenericAllocationHandle handle)
{
	struct physical *p = (struct physical *)(uintptr_t)handle;

	return slab_has(&physicals, p) && p->references ? p : NULL;
}

void physical_mapped(struct physical *p)
{
	p->mappings++;
}

void physical_unmapped(struct physical *p)
{
	p->mappings--;
	delete_if_done(p);
}

/* (locked) */
static CUresult check(const CUmemAllocationProp *prop)
{
	if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	switch (prop->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		if (!device_find(prop->location.id))
			return CUDA_ERROR_INVALID_DEVICE;
		break;
	case CU_MEM_LOCATION_TYPE_HOST:
		if (prop->requestedHandleTypes)
			return CUDA_ERROR_INVALID_VALUE;
		break;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		if (prop->location.id)
			return CUDA_ERROR_INVALID_VALUE;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (prop->requestedHandleTypes & ~(unsigned int)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuMemGetAllocationGranularity,
	  (size_t *granularity, const CUmemAllocationProp *prop,
	   CUmemAllocationGranularity_flags option),
	  (granularity, prop, option), DEC(flags, option), OUT_DEC(value, granularity))
{
	if (!granularity || (unsigned int)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = MAPPING_GRANULE;
	return check(prop);
}

static CUresult create(CUmemGenericAllocationHandle *handle, struct physical *wanted)
{
	struct physical *p;

	wanted->charged =
		wanted->device && arena_charge(wanted->device->memory, wanted->size_bytes);
	if (wanted->device && !wanted->charged)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p = slab_new(&physicals, wanted);
	if (p && place(p)) {
		if (p->charged)
			p->memory = kernel_physical_new(p->device->physical, p->size_bytes);
		*handle = handle_of(p);
		return CUDA_SUCCESS;
	}
	if (p)
		slab_delete(&physicals, p);
	if (wanted->charged)
		arena_uncharge(wanted->device->memory, wanted->size_bytes);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Where the memory is; the host is no device. */
static int ordinal_of(const CUmemAllocationProp *prop)
{
	return prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? prop->location.id : ON_HOST;
}

CU_DEFINE(INIT, cuMemCreate,
	  (CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
	   unsigned long long flags),
	  (handle, size, prop, flags), OUT_HEX(handle, handle), DEC(size, size),
	  prop ? DEC(ordinal, ordinal_of(prop)) : (void)0, DEC(flags, flags))
{
	CUresult result = check(prop);
	struct physical new;

	if (result != CUDA_SUCCESS)
		return result;
	if (!handle || !size || size % MAPPING_GRANULE || flags)
		return CUDA_ERROR_INVALID_VALUE;
	new = (struct physical){
		.size_bytes = size,
		.prop = *prop,
		.device = device_find(ordinal_of(prop)),
		.shareable = prop->requestedHandleTypes,
		.references = 1,
	};
	mapping_lock();
	result = create(handle, &new);
	mapping_unlock();
	return result;
}

CU_DEFINE(INIT, cuMemRelease, (CUmemGenericAllocationHandle handle), (handle), HEX(handle, handle))
{
	struct physical *p;

	mapping_lock();
	p = physical_find(handle);
	if (p) {
		p->references--;
		delete_if_done(p);
	}
	mapping_unlock();
	return p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CU_DEFINE(INIT, cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle *handle, void *addr),
	  (handle, addr), OUT_HEX(handle, handle), HEX(addr, addr))
{
	struct physical *p = NULL;
	struct mapping *m;

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	mapping_lock();
	m = mapping_at((uintptr_t)addr);
	if (m)
		p = m->physical;
	if (p) {
		p->references++;
		*handle = handle_of(p);
	}
	mapping_unlock();
	return p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CU_DEFINE(INIT, cuMemGetAllocationPropertiesFromHandle,
	  (CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle), (prop, handle),
	  HEX(handle, handle))
{
	struct physical *p;

	if (!prop)
		return CUDA_ERROR_INVALID_VALUE;
	mapping_lock();
	p = physical_find(handle);
	if (p)
		*prop = p->prop;
	mapping_unlock();
	return p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult export(int *fd, CUmemGenericAllocationHandle handle)
{
	struct physical *p = physical_find(handle);

	if (!p || !p->shareable)
		return CUDA_ERROR_INVALID_VALUE;
	*fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
	return *fd < 0 ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuMemExportToShareableHandle,
	  (void *shareable, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
	   unsigned long long flags),
	  (shareable, handle, type, flags), HEX(handle, handle), DEC(flags, flags),
	  result ? (void)0 : DEC(fd, *(int *)shareable))
{
	CUresult result;

	if (!shareable || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	mapping_lock();
	result = export(shareable, handle);
	mapping_unlock();
	return result;
}

/* What file it is, in *new; false: none that an export made. */
static bool examine(int fd, struct physical *new)
{
	char path[64], target[128] = "";
	struct stat stat;
	int ordinal;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, target, sizeof(target) - 1) < 0 || fstat(fd, &stat) ||
	    sscanf(target, "/memfd:" FILE_NAME, &ordinal) != 1)
		return false;
	new->size_bytes = (uint64_t)stat.st_size;
	new->device = device_find(ordinal);
	new->prop.location.type =
		ordinal == ON_HOST ? CU_MEM_LOCATION_TYPE_HOST_NUMA : CU_MEM_LOCATION_TYPE_DEVICE;
	new->prop.location.id = ordinal == ON_HOST ? 0 : ordinal;
	return new->device || ordinal == ON_HOST;
}

/* What is imported counts where it was made. The program keeps the file descriptor it gave. */
static CUresult import(CUmemGenericAllocationHandle *handle, int fd)
{
	struct physical new = {
		.prop.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.shareable = true,
		.references = 1,
	};
	struct physical *p;

	if (!examine(fd, &new))
		return CUDA_ERROR_INVALID_VALUE;
	new.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (new.fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	p = slab_new(&physicals, &new);
	if (!p) {
		close(new.fd);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*handle = handle_of(p);
	return CUDA_SUCCESS;
}

static void note_import(struct oracle_line *line, CUmemGenericAllocationHandle handle)
{
	const struct physical *p = (const struct physical *)(uintptr_t)handle;

	HEX(handle, handle);
	DEC(size, p->size_bytes);
	DEC(ordinal, ordinal_of(&p->prop));
}

CU_DEFINE(INIT, cuMemImportFromShareableHandle,
	  (CUmemGenericAllocationHandle *handle, void *shareable, CUmemAllocationHandleType type),
	  (handle, shareable, type), result ? (void)0 : note_import(line, *handle),
	  DEC(fd, (int)(intptr_t)shareable))
{
	CUresult result;

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	mapping_lock();
	result = import(handle, (int)(intptr_t)shareable);
	mapping_unlock();
	return result;
}
