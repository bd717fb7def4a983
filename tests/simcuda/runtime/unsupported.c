/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names without behaviour: programs such as PyTorch are linked with them, so they have to be there,
 * and what such programs do without them is enough.
 */
#include "runtime.h"

/* Their arguments do not matter. */
#define RT_NOT_SUPPORTED(name) \
	cudaError_t name(void); \
	RT_ENTRY(DRIVER, name, runtime_legacy, (void), cudaErrorNotSupported, NO_NOTES)

/* clang-format off */
RT_NOT_SUPPORTED(cudaGraphConditionalHandleCreate)
RT_NOT_SUPPORTED(cudaGraphNodeGetDependencies)
RT_NOT_SUPPORTED(cudaGraphRetainUserObject)
RT_NOT_SUPPORTED(cudaKernelSetAttributeForDevice)
RT_NOT_SUPPORTED(cudaLibraryGetGlobal)
RT_NOT_SUPPORTED(cudaLibraryGetKernel)
RT_NOT_SUPPORTED(cudaLibraryGetKernelCount)
RT_NOT_SUPPORTED(cudaLibraryGetManaged)
RT_NOT_SUPPORTED(cudaLibraryGetUnifiedFunction)
RT_NOT_SUPPORTED(cudaMemPoolSetAccess)
RT_NOT_SUPPORTED(cudaProfilerStart)
RT_NOT_SUPPORTED(cudaProfilerStop)
RT_NOT_SUPPORTED(cudaStreamBeginCaptureToGraph)
RT_NOT_SUPPORTED(cudaStreamUpdateCaptureDependencies)
RT_NOT_SUPPORTED(cudaUserObjectCreate)
RT_NOT_SUPPORTED(cudaUserObjectRelease)
/* clang-format on */
