/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Launches: cudaLaunchKernel, which names a kernel by its host stub, and __cudaLaunchKernel, which
 * code compiled by CUDA 13 calls with a handle that it asked for once.
 */
#include "runtime.h"

#define CONFIGURATIONS 16 /* calls of <<<>>> whose arguments launch something themselves */

struct configuration {
	dim3 grid;
	dim3 block;
	size_t shared_bytes;
	cudaStream_t stream;
};

static __thread struct configuration stack[CONFIGURATIONS];
static __thread unsigned int depth;

/* The driver only knows that a value is invalid; the runtime's callers are told which. */
static cudaError_t launch_error(CUresult result)
{
	return result == CUDA_ERROR_INVALID_VALUE ? cudaErrorInvalidConfiguration :
						    runtime_error(result);
}

static cudaError_t launch(const struct driver *cu, CUkernel kernel, dim3 grid, dim3 block,
			  void **args, size_t shared_bytes, cudaStream_t stream)
{
	return launch_error(cu->cuLaunchKernel((CUfunction)kernel, grid.x, grid.y, grid.z, block.x,
					       block.y, block.z, (unsigned int)shared_bytes, stream,
					       args, NULL));
}

#define NOTE_SHAPE \
	XYZ(grid, grid.x, grid.y, grid.z), XYZ(block, block.x, block.y, block.z), \
		DEC(shared, shared_bytes), HEX(stream, stream)

RT_DEFINE_PTSZ(CONTEXT, cudaLaunchKernel,
	       (const void *stub, dim3 grid, dim3 block, void **args, size_t shared_bytes,
		cudaStream_t stream),
	       (stub, grid, block, args, shared_bytes, stream),
	       STR(kernel, runtime_kernel_name(stub)), HEX(stub, stub), NOTE_SHAPE)
{
	CUkernel kernel;
	cudaError_t error = runtime_kernel(cu, stub, &kernel);

	if (error != cudaSuccess)
		return error;
	return launch(cu, kernel, grid, block, args, shared_bytes, stream);
}

RT_DEFINE_PTSZ(CONTEXT, cudaLaunchCooperativeKernel,
	       (const void *stub, dim3 grid, dim3 block, void **args, size_t shared_bytes,
		cudaStream_t stream),
	       (stub, grid, block, args, shared_bytes, stream),
	       STR(kernel, runtime_kernel_name(stub)), HEX(stub, stub), NOTE_SHAPE)
{
	CUkernel kernel;
	cudaError_t error = runtime_kernel(cu, stub, &kernel);

	if (error != cudaSuccess)
		return error;
	return launch_error(cu->cuLaunchCooperativeKernel(
		(CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
		(unsigned int)shared_bytes, stream, args));
}

static void note_config(struct oracle_line *line, const cudaLaunchConfig_t *c)
{
	if (!c)
		return;
	XYZ(grid, c->gridDim.x, c->gridDim.y, c->gridDim.z);
	XYZ(block, c->blockDim.x, c->blockDim.y, c->blockDim.z);
	DEC(shared, c->dynamicSmemBytes);
	HEX(stream, c->stream);
}

RT_DEFINE_PTSZ(CONTEXT, cudaLaunchKernelExC,
	       (const cudaLaunchConfig_t *config, const void *stub, void **args),
	       (config, stub, args), STR(kernel, runtime_kernel_name(stub)), HEX(stub, stub),
	       note_config(line, config))
{
	CUlaunchConfig driver_config;
	cudaError_t error;
	CUkernel kernel;

	if (!config)
		return cudaErrorInvalidValue;
	error = runtime_kernel(cu, stub, &kernel);
	if (error != cudaSuccess)
		return error;
	driver_config = (CUlaunchConfig){
		.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned int)config->dynamicSmemBytes,
		.hStream = config->stream,
		.attrs = (CUlaunchAttribute *)config->attrs,
		.numAttrs = config->numAttrs,
	};
	return launch_error(cu->cuLaunchKernelEx(&driver_config, (CUfunction)kernel, args, NULL));
}

RT_DEFINE_PTSZ(CONTEXT, __cudaLaunchKernel,
	       (cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
		cudaStream_t stream),
	       (kernel, grid, block, args, shared_bytes, stream),
	       STR(kernel, runtime_kernel_handle_name(kernel)), HEX(handle, kernel), NOTE_SHAPE)
{
	return launch(cu, kernel, grid, block, args, shared_bytes, stream);
}

static cudaError_t get_kernel(const struct driver *cu, cudaKernel_t *kernel, const void *stub)
{
	return kernel ? runtime_kernel(cu, stub, kernel) : cudaErrorInvalidValue;
}

RT_DEFINE(CONTEXT, __cudaGetKernel, (cudaKernel_t *kernel, const void *stub), (kernel, stub),
	  OUT_HEX(handle, kernel), HEX(stub, stub), STR(kernel, runtime_kernel_name(stub)))
{
	return get_kernel(cu, kernel, stub);
}

RT_DEFINE(CONTEXT, cudaGetKernel, (cudaKernel_t *kernel, const void *stub), (kernel, stub),
	  OUT_HEX(handle, kernel), HEX(stub, stub), STR(kernel, runtime_kernel_name(stub)))
{
	return get_kernel(cu, kernel, stub);
}

API_EXPORT unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
						    cudaStream_t stream)
{
	bool full = depth == CONFIGURATIONS;

	RT_BEGIN(__cudaPushCallConfiguration);
	if (!full)
		stack[depth++] = (struct configuration){ grid, block, shared_bytes, stream };
	RT_LOG(NOTE_SHAPE);
	return full ? cudaErrorInvalidConfiguration : cudaSuccess;
}

RT_DEFINE(NOTHING, __cudaPopCallConfiguration,
	  (dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream),
	  (grid, block, shared_bytes, stream), NO_NOTES)
{
	struct configuration *top;

	if (!depth)
		return cudaErrorMissingConfiguration;
	top = &stack[--depth];
	*grid = top->grid;
	*block = top->block;
	*shared_bytes = top->shared_bytes;
	*(cudaStream_t *)stream = top->stream;
	return cudaSuccess;
}

RT_DEFINE(CONTEXT, cudaOccupancyMaxActiveBlocksPerMultiprocessor,
	  (int *blocks, const void *stub, int block_size, size_t shared_bytes),
	  (blocks, stub, block_size, shared_bytes), HEX(stub, stub),
	  STR(kernel, runtime_kernel_name(stub)), OUT_DEC(value, blocks))
{
	CUkernel kernel;
	cudaError_t error = runtime_kernel(cu, stub, &kernel);

	if (error != cudaSuccess)
		return error;
	return runtime_error(cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(
		blocks, (CUfunction)kernel, block_size, shared_bytes));
}

RT_DEFINE(CONTEXT, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
	  (int *blocks, const void *stub, int block_size, size_t shared_bytes, unsigned int flags),
	  (blocks, stub, block_size, shared_bytes, flags), HEX(stub, stub),
	  STR(kernel, runtime_kernel_name(stub)), DEC(flags, flags), OUT_DEC(value, blocks))
{
	CUkernel kernel;
	cudaError_t error = runtime_kernel(cu, stub, &kernel);

	if (error != cudaSuccess)
		return error;
	return runtime_error(cu->cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		blocks, (CUfunction)kernel, block_size, shared_bytes, flags));
}

RT_DEFINE(CONTEXT, cudaFuncGetAttributes, (struct cudaFuncAttributes *a, const void *stub),
	  (a, stub), HEX(stub, stub), STR(kernel, runtime_kernel_name(stub)))
{
	static const struct {
		CUfunction_attribute attribute;
		size_t offset;
	} fields[] = {
		{ CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
		  offsetof(struct cudaFuncAttributes, maxThreadsPerBlock) },
		{ CU_FUNC_ATTRIBUTE_NUM_REGS, offsetof(struct cudaFuncAttributes, numRegs) },
		{ CU_FUNC_ATTRIBUTE_PTX_VERSION, offsetof(struct cudaFuncAttributes, ptxVersion) },
		{ CU_FUNC_ATTRIBUTE_BINARY_VERSION,
		  offsetof(struct cudaFuncAttributes, binaryVersion) },
		{ CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
		  offsetof(struct cudaFuncAttributes, maxDynamicSharedSizeBytes) },
	};
	CUresult result = CUDA_SUCCESS;
	cudaError_t error;
	CUkernel kernel;

	if (!a)
		return cudaErrorInvalidValue;
	error = runtime_kernel(cu, stub, &kernel);
	if (error != cudaSuccess)
		return error;
	*a = (struct cudaFuncAttributes){ 0 };
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields) && result == CUDA_SUCCESS; i++)
		result = cu->cuKernelGetAttribute((int *)((char *)a + fields[i].offset),
						  fields[i].attribute, kernel,
						  runtime_thread()->device);
	return runtime_error(result);
}

RT_DEFINE(CONTEXT, cudaFuncSetAttribute,
	  (const void *stub, enum cudaFuncAttribute attribute, int value),
	  (stub, attribute, value), HEX(stub, stub), STR(kernel, runtime_kernel_name(stub)),
	  DEC(attribute, attribute), DEC(value, value))
{
	CUkernel kernel;
	cudaError_t error = runtime_kernel(cu, stub, &kernel);

	if (error != cudaSuccess)
		return error;
	return runtime_error(cu->cuKernelSetAttribute((CUfunction_attribute)attribute, value,
						      kernel, runtime_thread()->device));
}
