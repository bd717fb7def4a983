/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the stand-in runtime: arrays, memory of other processes and APIs, batches.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "selftest-runtime.h"

static const struct cudaChannelFormatDesc two_bytes = { 8, 8, 0, 0, cudaChannelFormatKindUnsigned };

/* Rows of 8 bytes, 4 of them. */
static void test_mipmaps(const char in[32])
{
	cudaMipmappedArray_t mipmap;
	cudaArray_t level;

	OK(cudaMallocMipmappedArray(&mipmap, &two_bytes, (struct cudaExtent){ 4, 4, 0 }, 3, 0));
	OK(cudaGetMipmappedArrayLevel(&level, mipmap, 1));
	OK(cudaMemcpyToArray(level, 0, 0, in, 8, cudaMemcpyHostToDevice));
	FAILS(InvalidValue, cudaMemcpyToArray(level, 0, 0, in, 9, cudaMemcpyHostToDevice));
	FAILS(InvalidValue, cudaGetMipmappedArrayLevel(&level, mipmap, 3));
	OK(cudaFreeMipmappedArray(mipmap));
	FAILS(InvalidResourceHandle, cudaFreeMipmappedArray(mipmap));
}

void test_arrays(void)
{
	struct cudaChannelFormatDesc odd = { 8, 16, 0, 0, cudaChannelFormatKindUnsigned };
	char in[32], out[32] = { 0 };
	struct cudaMemcpy3DParms box = {
		.srcPos = { 1, 1, 0 },
		.dstPtr = { out, 4, 4, 2 },
		.extent = { 2, 2, 1 },
		.kind = cudaMemcpyDefault,
	};
	cudaArray_t array, other;
	void *ptr;

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (char)i;
	FAILS(InvalidChannelDescriptor, cudaMallocArray(&array, &odd, 4, 4, 0));
	OK(cudaMallocArray(&array, &two_bytes, 4, 4, cudaArrayDefault));
	OK(cudaMalloc3DArray(&other, &two_bytes, (struct cudaExtent){ 4, 4, 0 }, 0));
	OK(cudaMemcpy2DToArray(array, 0, 0, in, 8, 8, 4, cudaMemcpyHostToDevice));
	OK(cudaMemcpy2DFromArrayAsync(out, 4, array, 2, 1, 4, 2, cudaMemcpyDeviceToHost, NULL));
	CHECK(!memcmp(out, in + 10, 4) && !memcmp(out + 4, in + 18, 4) && !out[8]);
	OK(cudaMemcpy2DArrayToArray(other, 2, 0, array, 0, 1, 4, 1, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpy2DFromArray(out, 4, other, 2, 0, 4, 1, cudaMemcpyDefault));
	CHECK(!memcmp(out, in + 8, 4));
	OK(cudaMemcpyFromArray(out, array, 5, 0, 25, cudaMemcpyDeviceToHost));
	CHECK(!memcmp(out, in + 5, 25));
	OK(cudaMalloc(&ptr, 20));
	OK(cudaMemset(ptr, 77, 20));
	OK(cudaMemcpyToArrayAsync(array, 6, 1, ptr, 11, cudaMemcpyDeviceToDevice, NULL));
	OK(cudaMemcpyArrayToArray(other, 0, 1, array, 6, 1, 12, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpyFromArrayAsync(out, other, 0, 1, 12, cudaMemcpyDeviceToHost, NULL));
	CHECK(out[0] == 77 && out[10] == 77 && out[11] == in[25]);
	OK(cudaMemcpyToArray(array, 0, 3, in, 8, cudaMemcpyHostToDevice));
	box.srcArray = array;
	OK(cudaMemcpy2DToArrayAsync(array, 0, 0, in, 8, 8, 4, cudaMemcpyDefault, NULL));
	OK(cudaMemcpy3D(&box));
	CHECK(!memcmp(out, in + 10, 4) && !memcmp(out + 4, in + 18, 4));
	box.srcPos.x = 3;
	FAILS(InvalidValue, cudaMemcpy3D(&box));
	FAILS(InvalidMemcpyDirection,
	      cudaMemcpyToArray(array, 0, 0, in, 8, cudaMemcpyDeviceToHost));
	FAILS(InvalidMemcpyDirection,
	      cudaMemcpyArrayToArray(other, 0, 0, array, 0, 0, 1, cudaMemcpyHostToDevice));
	FAILS(InvalidValue, cudaMemcpyToArray(array, 8, 0, in, 8, cudaMemcpyHostToDevice));
	FAILS(InvalidValue, cudaMemcpyToArray(array, 0, 3, in, 9, cudaMemcpyHostToDevice));
	FAILS(InvalidValue, cudaMemcpy2DToArray(array, 1, 0, in, 8, 8, 4, cudaMemcpyDefault));
	OK(cudaFreeArray(NULL));
	OK(cudaFreeArray(array));
	FAILS(InvalidResourceHandle, cudaFreeArray(array));
	OK(cudaFreeArray(other));
	OK(cudaFree(ptr));
	test_mipmaps(in);
	CHECK(used() == 0);
}

void log_arrays(const char *lines)
{
	CHECK(selftest_count(lines, " cudaMallocArray result=0 handle=0x[0-9a-f]+ width=4 height=4 "
				    "depth=0 flags=0 ") == 1);
	CHECK(selftest_count(lines, " cuArray3DCreate_v2 result=0 via=cudaMallocArray handle=.* "
				    "size=32 ") == 1);
	CHECK(selftest_count(lines, " cudaMemcpy2DToArray" PTDS " result=0 dst=0x[0-9a-f]+ "
				    "src=0x[0-9a-f]+ size=32 width=8 height=4 kind=1 ") == 1);
	CHECK(selftest_count(lines, " cuMemcpy2DUnaligned_v2" PTDS
				    " result=0 via=cudaMemcpyFromArray" PTDS " ") == 3);
	CHECK(selftest_count(lines, " cudaMemcpyFromArray" PTDS " result=0 dst=.* size=25 ") == 1);
	CHECK(selftest_count(lines,
			     " cuMemcpyAtoA_v2" PTDS " result=0 .* size=12 direction=AtoA ") == 1);
}

void test_shared(void)
{
	struct cudaExternalMemoryHandleDesc desc = {
		.type = cudaExternalMemoryHandleTypeOpaqueFd,
		.size = 100,
	};
	struct cudaExternalMemoryBufferDesc buffer = { .size = 100 };
	cudaExternalMemory_t memory;
	cudaIpcEventHandle_t event_handle;
	cudaIpcMemHandle_t handle;
	void *ptr, *opened;
	cudaEvent_t event;

	OK(cudaMalloc(&ptr, 100));
	OK(cudaIpcGetMemHandle(&handle, ptr));
	FAILS(DeviceUninitialized,
	      cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess));
	memset(&handle, 0, sizeof(handle));
	FAILS(InvalidResourceHandle,
	      cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess));
	FAILS(InvalidValue, cudaIpcCloseMemHandle(ptr));
	OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
	OK(cudaIpcGetEventHandle(&event_handle, event));
	FAILS(DeviceUninitialized, cudaIpcOpenEventHandle(&event, event_handle));
	memset(&event_handle, 0, sizeof(event_handle));
	FAILS(InvalidResourceHandle, cudaIpcOpenEventHandle(&event, event_handle));
	desc.handle.fd = memfd_create("external", 0);
	CHECK(!ftruncate(desc.handle.fd, 100));
	OK(cudaImportExternalMemory(&memory, &desc));
	OK(cudaExternalMemoryGetMappedBuffer(&ptr, memory, &buffer));
	OK(cudaMemset(ptr, 1, 100));
	OK(cudaDestroyExternalMemory(memory));
	FAILS(InvalidResourceHandle, cudaDestroyExternalMemory(memory));
	OK(cudaFree(ptr));
	FAILS(InvalidValue, cudaFree(ptr));
}

void test_batches(void)
{
	struct cudaMemLocation device = { cudaMemLocationTypeDevice, 0 };
	struct cudaMemcpyAttributes attributes = { .srcAccessOrder = 1 };
	struct cudaMemcpy3DBatchOp op = {
		.src = { .type = cudaMemcpyOperandTypePointer },
		.dst = { .type = cudaMemcpyOperandTypePointer },
		.extent = { 4, 1, 1 },
		.srcAccessOrder = cudaMemcpySrcAccessOrderStream,
	};
	size_t size = 8, start = 0;
	char in[8] = "1234567", out[8];
	void *managed, *dst = out;
	const void *src;

	OK(cudaMallocManaged(&managed, 8, cudaMemAttachGlobal));
	OK(cudaMemAdvise(managed, 8, cudaMemAdviseSetReadMostly, device));
	OK(cudaMemPrefetchAsync(managed, 8, device, 0, NULL));
	FAILS(InvalidValue, cudaMemPrefetchAsync(managed, 8, device, 1, NULL));
	OK(cudaMemPrefetchBatchAsync(&managed, &size, 1, &device, &start, 1, 0,
				     cudaStreamPerThread));
	OK(cudaMemDiscardAndPrefetchBatchAsync(&managed, &size, 1, &device, &start, 1, 0,
					       cudaStreamPerThread));
	OK(cudaMemDiscardBatchAsync(&managed, &size, 1, 0, cudaStreamPerThread));
	OK(cudaMemcpy(managed, in, 8, cudaMemcpyDefault));
	src = managed;
	OK(cudaMemcpyBatchAsync(&dst, &src, &size, 1, &attributes, &start, 1, cudaStreamPerThread));
	CHECK(!memcmp(in, out, 8));
	op.src.op.ptr.ptr = out + 4;
	op.dst.op.ptr.ptr = out;
	OK(cudaMemcpy3DBatchAsync(1, &op, 0, cudaStreamPerThread));
	CHECK(!memcmp(in + 4, out, 4));
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
	OK(cudaMemcpy3DBatchAsync(1, &op, 0, NULL));
#else
	FAILS(InvalidValue, cudaMemcpy3DBatchAsync(1, &op, 0, NULL));
#endif
	FAILS(InvalidValue, cudaMemcpy3DBatchAsync(1, &op, 0, cudaStreamLegacy));
}

void log_batches(const char *lines)
{
	CHECK(selftest_count(lines, " cuMemPrefetchAsync_v2" PTSZ
				    " result=0 via=cudaMemPrefetchAsync" PTSZ " ") == 1);
	CHECK(selftest_count(lines, " cuMemAdvise_v2 result=0 via=cudaMemAdvise ") == 1);
	CHECK(selftest_count(lines, " cudaMemcpyBatchAsync" PTSZ " result=0 count=1 size=8 "
				    "dst=0x[0-9a-f]+ src=0x[0-9a-f]+ stream=0x2 ") == 1);
	CHECK(selftest_count(lines, " cuMemcpyBatchAsync_v2" PTSZ " result=0 ") == 1);
	CHECK(selftest_count(lines, " cuMemcpy3DBatchAsync_v2" PTSZ " result=0 .* size=4 ") >= 1);
}
