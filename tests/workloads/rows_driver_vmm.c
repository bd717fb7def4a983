// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_driver: physical memory and addresses apart.
 */
#include "rows_driver.h"

#include <unistd.h>

#define GRANULE (2ull << 20)

typedef CUmemGenericAllocationHandle handle_t;

/* What the process holds. */
static uint64_t physical, reserved, mapped;

static const CUresult invalid = CUDA_ERROR_INVALID_VALUE;

/* ---- physical memory ------------------------------------------------------------------------- */

/* device -1: on the host. */
static handle_t create(uint64_t size, int device, CUmemAllocationHandleType type, CUresult wanted)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = type,
		.location = { device < 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
			      device },
	};
	handle_t handle = 0;

	CALL(wanted, "cuMemCreate", P(&handle), size, P(&prop), 0);
	physical += wanted == CUDA_SUCCESS ? size : 0;
	EXPECT(.op = "alloc", .api = "cuMemCreate", .result = wanted, .size = DEC(size),
	       .addr = wanted == CUDA_SUCCESS ? HEX(handle) : UNKNOWN, .space = "physical",
	       .device = device < 0 ? UNKNOWN : DEC(device), .live = DEC(physical));
	return handle;
}

/* With the last reference goes the memory, unless it is mapped. */
static void release(handle_t handle, uint64_t size, int device, const char *freed)
{
	CALL(CUDA_SUCCESS, "cuMemRelease", handle);
	if (!freed)
		physical -= size;
	EXPECT(.op = "free", .api = "cuMemRelease", .addr = HEX(handle), .size = DEC(size),
	       .device = device < 0 ? UNKNOWN : DEC(device), .space = "physical", .freed = freed,
	       .live = DEC(physical));
}

static void release_in_vain(handle_t handle)
{
	CALL(invalid, "cuMemRelease", handle);
	EXPECT(.op = "free", .api = "cuMemRelease", .result = invalid, .addr = HEX(handle));
}

static void retain(CUdeviceptr addr, handle_t wanted_handle)
{
	CUresult wanted = wanted_handle ? CUDA_SUCCESS : invalid;
	handle_t handle = 0;

	CALL(wanted, "cuMemRetainAllocationHandle", P(&handle), addr);
	if (handle != wanted_handle)
		rows_die("cuMemRetainAllocationHandle", "another handle");
	EXPECT(.op = "memory", .api = "cuMemRetainAllocationHandle", .result = wanted,
	       .addr = handle ? HEX(handle) : UNKNOWN);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static CUdeviceptr reserve(uint64_t size, uint64_t alignment, CUresult wanted)
{
	CUdeviceptr addr = 0;

	CALL(wanted, "cuMemAddressReserve", P(&addr), size, alignment, 0, 0);
	reserved += wanted == CUDA_SUCCESS ? size : 0;
	EXPECT(.op = "alloc", .api = "cuMemAddressReserve", .result = wanted, .size = DEC(size),
	       .addr = wanted == CUDA_SUCCESS ? HEX(addr) : UNKNOWN, .space = "reserved",
	       .live = DEC(reserved));
	return addr;
}

static void unreserve(CUdeviceptr addr, uint64_t size, CUresult wanted)
{
	bool done = wanted == CUDA_SUCCESS;

	CALL(wanted, "cuMemAddressFree", addr, size);
	reserved -= done ? size : 0;
	EXPECT(.op = "free", .api = "cuMemAddressFree", .result = wanted, .addr = HEX(addr),
	       .size = done ? DEC(size) : UNKNOWN, .space = done ? "reserved" : UNKNOWN,
	       .live = done ? DEC(reserved) : UNKNOWN);
}

static void map(CUdeviceptr addr, uint64_t size, uint64_t offset, handle_t handle, int device)
{
	CALL(CUDA_SUCCESS, "cuMemMap", addr, size, offset, handle, 0);
	mapped += size;
	EXPECT(.op = "alloc", .api = "cuMemMap", .addr = HEX(addr), .size = DEC(size),
	       .space = "mapped", .device = device < 0 ? UNKNOWN : DEC(device),
	       .backing = HEX(handle), .live = DEC(mapped));
}

static void map_in_vain(CUdeviceptr addr, uint64_t size, uint64_t offset, handle_t handle)
{
	CALL(invalid, "cuMemMap", addr, size, offset, handle, 0);
	EXPECT(.op = "alloc", .api = "cuMemMap", .result = invalid, .addr = HEX(addr),
	       .size = DEC(size), .space = "mapped", .backing = HEX(handle), .live = DEC(mapped));
}

/* `ended`: memory that nothing refers to any more. */
static void unmap(CUdeviceptr addr, uint64_t size, const char *ended)
{
	CALL(CUDA_SUCCESS, "cuMemUnmap", addr, size);
	mapped -= size;
	EXPECT(.op = "free", .api = "cuMemUnmap", .addr = HEX(addr), .size = DEC(size),
	       .space = "mapped", .live = DEC(mapped), .ended = ended);
}

static void unmap_in_vain(CUdeviceptr addr, uint64_t size)
{
	CALL(invalid, "cuMemUnmap", addr, size);
	EXPECT(.op = "free", .api = "cuMemUnmap", .result = invalid, .addr = HEX(addr));
}

static void allow(CUdeviceptr addr, uint64_t size, CUresult wanted)
{
	const CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
				       CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

	CALL(wanted, "cuMemSetAccess", addr, size, P(&desc), 1);
	EXPECT(.op = "memory", .api = "cuMemSetAccess", .result = wanted, .addr = HEX(addr),
	       .size = DEC(size));
}

static void read_default(CUdeviceptr addr, uint64_t size, const char *direction)
{
	static char host[64];

	CALL(CUDA_SUCCESS, "cuMemcpy", P(host), addr, size);
	EXPECT(.op = "copy", .api = "cuMemcpy", .addr = HEX(host), .src = HEX(addr),
	       .size = DEC(size), .direction = direction);
}

/* ---- file descriptors ------------------------------------------------------------------------ */

static int export(handle_t handle, CUresult wanted)
{
	int fd = -1;

	CALL(wanted, "cuMemExportToShareableHandle", P(&fd), handle,
	     DIRTY(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), 0);
	EXPECT(.op = "memory", .api = "cuMemExportToShareableHandle", .result = wanted,
	       .addr = HEX(handle));
	return fd;
}

/* How much it is nobody says. */
static handle_t import(int fd, CUmemAllocationHandleType type, CUresult wanted)
{
	handle_t handle = 0;

	CALL(wanted, "cuMemImportFromShareableHandle", P(&handle), DIRTY(fd), DIRTY(type));
	EXPECT(.op = "alloc", .api = "cuMemImportFromShareableHandle", .result = wanted,
	       .addr = handle ? HEX(handle) : UNKNOWN, .space = "imported", .live = "0");
	return handle;
}

static void release_imported(handle_t handle, const char *freed)
{
	CALL(CUDA_SUCCESS, "cuMemRelease", handle);
	EXPECT(.op = "free", .api = "cuMemRelease", .addr = HEX(handle), .space = "imported",
	       .freed = freed, .live = "0");
}

static void sharing(handle_t shareable, handle_t private)
{
	CUdeviceptr addr = reserve(4 * GRANULE, 0, CUDA_SUCCESS);
	int fd = export(shareable, CUDA_SUCCESS);
	handle_t early, late;

	export(private, invalid);
	import(fd, CU_MEM_HANDLE_TYPE_WIN32, CUDA_ERROR_NOT_SUPPORTED);
	early = import(fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_SUCCESS);
	late = import(fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_SUCCESS);
	map(addr, 2 * GRANULE, 0, early, 0);
	map(addr + 2 * GRANULE, 2 * GRANULE, 0, late, 0);
	allow(addr, 4 * GRANULE, CUDA_SUCCESS);
	read_default(addr + 5, 21, "Default"); /* who knows how large the imports are */
	release_imported(early, "kept");
	unmap(addr, 2 * GRANULE, AMOUNT("imported", 1, 0));
	unmap(addr + 2 * GRANULE, 2 * GRANULE, NULL);
	release_imported(late, NULL);
	unreserve(addr, 4 * GRANULE, CUDA_SUCCESS);
	close(fd);
}

/* ---- everything ------------------------------------------------------------------------------ */

/* Memory that is given back while it is mapped, twice, and memory that is given back after. */
static void mappings(handle_t twice, handle_t there, handle_t host)
{
	CUdeviceptr addr = reserve(8 * GRANULE, 4 * GRANULE, CUDA_SUCCESS);

	map(addr, 2 * GRANULE, 0, twice, 0);
	map_in_vain(addr + GRANULE, GRANULE, 0, there);
	map(addr + 2 * GRANULE, GRANULE, 0, there, 1);
	map(addr + 3 * GRANULE, 2 * GRANULE, 0, twice, 0);
	map_in_vain(addr + 6 * GRANULE, GRANULE, GRANULE, twice);
	map_in_vain(addr + 6 * GRANULE, GRANULE, 0, twice + 8);
	map(addr + 5 * GRANULE, GRANULE, 0, host, -1);
	allow(addr, 5 * GRANULE, CUDA_SUCCESS);
	allow(addr, GRANULE / 2, invalid);
	read_default(addr + 2 * GRANULE - 1, 17, "DtoH");
	read_default(addr + 3 * GRANULE + 5, 19, "DtoH");

	retain(addr + GRANULE + 1, twice);
	retain(addr + 7 * GRANULE, 0);
	release(twice, 2 * GRANULE, 0, "kept");
	release(twice, 2 * GRANULE, 0, "kept");
	release_in_vain(twice);
	retain(addr + 3 * GRANULE, twice); /* it has a handle again */
	release(twice, 2 * GRANULE, 0, "kept");
	unmap_in_vain(addr, GRANULE);
	unmap(addr, 3 * GRANULE, NULL);
	unmap_in_vain(addr, 3 * GRANULE);
	physical -= 2 * GRANULE;
	unmap(addr + 3 * GRANULE, 2 * GRANULE, AMOUNT("physical", 1, 2 * GRANULE));
	release(there, GRANULE, 1, NULL);
	release(host, GRANULE, -1, "kept");
	unreserve(addr, 8 * GRANULE, invalid);
	physical -= GRANULE;
	CALL(CUDA_SUCCESS, "cuMemUnmap", addr + 5 * GRANULE, GRANULE);
	mapped -= GRANULE;
	EXPECT(.op = "free", .api = "cuMemUnmap", .addr = HEX(addr + 5 * GRANULE),
	       .size = DEC(GRANULE), .space = "mapped", .device = UNKNOWN, .live = DEC(mapped),
	       .ended = AMOUNT("physical", 1, GRANULE));
	unreserve(addr, 8 * GRANULE, CUDA_SUCCESS);
	unreserve(addr, 8 * GRANULE, invalid);
}

/* ---- what several devices write to together -------------------------------------------------- */

static void about_multicast(const char *api, int device)
{
	const CUresult unsupported = CUDA_ERROR_NOT_SUPPORTED;

	CALL(unsupported, api, 0x1234567, DIRTY(device), 1, 2, 3, 4);
	EXPECT(.op = "memory", .api = api, .result = unsupported, .addr = HEX(0x1234567),
	       .device = device < 0 ? NULL : DEC(device));
}

static void multicast(void)
{
	const CUresult unsupported = CUDA_ERROR_NOT_SUPPORTED;
	handle_t handle = 0;

	CALL(unsupported, "cuMulticastCreate", P(&handle), P(&handle));
	EXPECT(.op = "alloc", .api = "cuMulticastCreate", .result = unsupported,
	       .space = "imported", .live = "0");
	about_multicast("cuMulticastAddDevice", 1);
	about_multicast("cuMulticastBindMem", -1);
	about_multicast("cuMulticastBindMem_v2", 1);
	about_multicast("cuMulticastBindAddr", -1);
	about_multicast("cuMulticastBindAddr_v2", 1);
}

void rows_driver_vmm(void)
{
	handle_t twice = create(2 * GRANULE, 0, CU_MEM_HANDLE_TYPE_NONE, CUDA_SUCCESS);
	handle_t there = create(GRANULE, 1, CU_MEM_HANDLE_TYPE_NONE, CUDA_SUCCESS);
	handle_t host = create(GRANULE, -1, CU_MEM_HANDLE_TYPE_NONE, CUDA_SUCCESS);
	handle_t shareable =
		create(2 * GRANULE, 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_SUCCESS);

	create(GRANULE + 4096, 1, CU_MEM_HANDLE_TYPE_NONE, invalid);
	create(GRANULE << 32, 0, CU_MEM_HANDLE_TYPE_NONE, CUDA_ERROR_OUT_OF_MEMORY);
	reserve(GRANULE + 1, 0, invalid);
	sharing(shareable, there);
	release(shareable, 2 * GRANULE, 0, NULL);
	mappings(twice, there, host);
	multicast();
}
