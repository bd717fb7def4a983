/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors, versions, and the way from the runtime to driver functions.
 */
#include "../common/errors.h"
#include "runtime.h"

RT_DEFINE_VOID(NOTHING, cudaGetLastError)
{
	cudaError_t error = runtime_thread()->last_error;

	runtime_thread()->last_error = cudaSuccess;
	return error;
}

RT_DEFINE_VOID(NOTHING, cudaPeekAtLastError)
{
	return runtime_thread()->last_error;
}

API_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
	const char *name = errors_runtime_name((int)error);

	RT_BEGIN(cudaGetErrorName);
	RT_LOG(DEC(value, error));
	return name ? name : "unrecognized error code";
}

API_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
	const char *text = errors_runtime_text((int)error);

	RT_BEGIN(cudaGetErrorString);
	RT_LOG(DEC(value, error));
	return text ? text : "unrecognized error code";
}

/* Works, with 0, where there is no driver. */
RT_DEFINE(NOTHING, cudaDriverGetVersion, (int *version), (version), OUT_DEC(value, version))
{
	if (!version)
		return cudaErrorInvalidValue;
	*version = 0;
	if (runtime_need_DRIVER() == cudaErrorInsufficientDriver)
		return cudaSuccess;
	return runtime_error(runtime_legacy.cuDriverGetVersion(version));
}

RT_DEFINE(NOTHING, cudaRuntimeGetVersion, (int *version), (version), OUT_DEC(value, version))
{
	if (!version)
		return cudaErrorInvalidValue;
	*version = CUDART_VERSION;
	return cudaSuccess;
}

static cudaError_t entry_point(const struct driver *cu, const char *symbol, void **function,
			       unsigned int cuda_version, unsigned long long flags,
			       enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult found;
	CUresult result;

	/* The default is what the caller was compiled for. */
	if (flags == CU_GET_PROC_ADDRESS_DEFAULT && cu == &runtime_per_thread)
		flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	result = cu->cuGetProcAddress(symbol, function, (int)cuda_version, flags, &found);
	if (result == CUDA_SUCCESS && status)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	return runtime_error(result);
}

RT_DEFINE_PTSZ(DRIVER, cudaGetDriverEntryPoint,
	       (const char *symbol, void **function, unsigned long long flags,
		enum cudaDriverEntryPointQueryResult *status),
	       (symbol, function, flags, status), STR(name, symbol), DEC(flags, flags),
	       OUT_HEX(addr, function))
{
	return entry_point(cu, symbol, function, CUDART_VERSION, flags, status);
}

RT_DEFINE_PTSZ(DRIVER, cudaGetDriverEntryPointByVersion,
	       (const char *symbol, void **function, unsigned int cuda_version,
		unsigned long long flags, enum cudaDriverEntryPointQueryResult *status),
	       (symbol, function, cuda_version, flags, status), STR(name, symbol),
	       DEC(version, cuda_version), DEC(flags, flags), OUT_HEX(addr, function))
{
	return entry_point(cu, symbol, function, cuda_version, flags, status);
}
