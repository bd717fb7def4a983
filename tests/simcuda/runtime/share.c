/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory and events of other processes and APIs.
 */
#include "runtime.h"

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle) &&
		       sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle) &&
		       sizeof(struct cudaExternalMemoryHandleDesc) ==
			       sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC) &&
		       sizeof(struct cudaExternalMemoryBufferDesc) ==
			       sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC),
	       "the two APIs share these structures");

RT_DEFINE(CONTEXT, cudaIpcGetMemHandle, (cudaIpcMemHandle_t *handle, void *ptr), (handle, ptr),
	  HEX(addr, ptr))
{
	return runtime_error(cu->cuIpcGetMemHandle((CUipcMemHandle *)handle, runtime_ptr(ptr)));
}

RT_DEFINE(CONTEXT, cudaIpcOpenMemHandle,
	  (void **ptr, cudaIpcMemHandle_t handle, unsigned int flags), (ptr, handle, flags),
	  OUT_HEX(addr, ptr), DEC(flags, flags))
{
	CUdeviceptr addr;
	CUresult result;

	if (!ptr)
		return cudaErrorInvalidValue;
	result = cu->cuIpcOpenMemHandle(&addr, *(CUipcMemHandle *)&handle, flags);
	if (result == CUDA_SUCCESS)
		*ptr = (void *)(uintptr_t)addr;
	return runtime_error(result);
}

RT_DEFINE(CONTEXT, cudaIpcCloseMemHandle, (void *ptr), (ptr), HEX(addr, ptr))
{
	return runtime_error(cu->cuIpcCloseMemHandle(runtime_ptr(ptr)));
}

RT_DEFINE(CONTEXT, cudaIpcGetEventHandle, (cudaIpcEventHandle_t *handle, cudaEvent_t event),
	  (handle, event), HEX(event, event))
{
	return runtime_error(cu->cuIpcGetEventHandle((CUipcEventHandle *)handle, event));
}

RT_DEFINE(CONTEXT, cudaIpcOpenEventHandle, (cudaEvent_t *event, cudaIpcEventHandle_t handle),
	  (event, handle), OUT_HEX(event, event))
{
	return runtime_error(cu->cuIpcOpenEventHandle(event, *(CUipcEventHandle *)&handle));
}

RT_DEFINE(CONTEXT, cudaImportExternalMemory,
	  (cudaExternalMemory_t *memory, const struct cudaExternalMemoryHandleDesc *desc),
	  (memory, desc), OUT_HEX(handle, memory), desc ? DEC(size, desc->size) : (void)0,
	  desc ? DEC(flags, desc->flags) : (void)0)
{
	return runtime_error(cu->cuImportExternalMemory(
		(CUexternalMemory *)memory, (const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *)desc));
}

RT_DEFINE(CONTEXT, cudaExternalMemoryGetMappedBuffer,
	  (void **ptr, cudaExternalMemory_t memory,
	   const struct cudaExternalMemoryBufferDesc *desc),
	  (ptr, memory, desc), OUT_HEX(addr, ptr), desc ? DEC(size, desc->size) : (void)0,
	  desc ? DEC(offset, desc->offset) : (void)0, HEX(handle, memory))
{
	CUdeviceptr addr;
	CUresult result;

	if (!ptr)
		return cudaErrorInvalidValue;
	result = cu->cuExternalMemoryGetMappedBuffer(
		&addr, (CUexternalMemory)memory, (const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *)desc);
	if (result == CUDA_SUCCESS)
		*ptr = (void *)(uintptr_t)addr;
	return runtime_error(result);
}

RT_DEFINE(CONTEXT, cudaDestroyExternalMemory, (cudaExternalMemory_t memory), (memory),
	  HEX(handle, memory))
{
	return runtime_error(cu->cuDestroyExternalMemory((CUexternalMemory)memory));
}
