/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Launches. No kernel runs; what would make the real driver refuse one does so here too.
 */
#include <string.h>

#include "graph.h"

struct box {
	unsigned int x, y, z;
};

static unsigned int limit(CUdevice_attribute attribute)
{
	return (unsigned int)device_attribute(context_current()->device, attribute);
}

/* Attributes of the three dimensions follow each other. */
static bool fits(struct box box, CUdevice_attribute first)
{
	return box.x && box.y && box.z && box.x <= limit(first) && box.y <= limit(first + 1) &&
	       box.z <= limit(first + 2);
}

static bool shape_valid(struct box grid, struct box block, unsigned int shared_bytes)
{
	return fits(grid, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) &&
	       fits(block, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) &&
	       block.x * block.y * block.z <= limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) &&
	       shared_bytes <= limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
}

CUresult launch_plan(const CUDA_KERNEL_NODE_PARAMS *p)
{
	if (!module_function_name(p->func))
		return CUDA_ERROR_INVALID_HANDLE;
	return shape_valid((struct box){ p->gridDimX, p->gridDimY, p->gridDimZ },
			   (struct box){ p->blockDimX, p->blockDimY, p->blockDimZ },
			   p->sharedMemBytes) ?
		       CUDA_SUCCESS :
		       CUDA_ERROR_INVALID_VALUE;
}

static CUresult launch_captured(const CUDA_KERNEL_NODE_PARAMS *params, CUstream stream)
{
	const struct graph_work work = { .type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = *params };

	return capture_add(stream, &work);
}

static CUresult launch(CUfunction function, struct box grid, struct box block,
		       unsigned int shared_bytes, CUstream stream)
{
	const CUDA_KERNEL_NODE_PARAMS params = {
		.func = function,
		.gridDimX = grid.x,
		.gridDimY = grid.y,
		.gridDimZ = grid.z,
		.blockDimX = block.x,
		.blockDimY = block.y,
		.blockDimZ = block.z,
		.sharedMemBytes = shared_bytes,
	};
	CUresult result;

	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	result = launch_plan(&params);
	if (result == CUDA_SUCCESS && capture_active(stream))
		result = launch_captured(&params, stream);
	else if (result == CUDA_SUCCESS)
		observer_kernel(&params, stream);
	return result;
}

#define NOTE_LAUNCH \
	HEX(handle, function), STR(kernel, module_function_name(function)), \
		XYZ(grid, grid_x, grid_y, grid_z), XYZ(block, block_x, block_y, block_z), \
		DEC(shared, shared_bytes), HEX(stream, stream), NOTE_CAPTURE(stream)

CU_DEFINE_PTSZ(CONTEXT, cuLaunchKernel,
	       (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		unsigned int block_x, unsigned int block_y, unsigned int block_z,
		unsigned int shared_bytes, CUstream stream, void **params, void **extra),
	       (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
		params, extra),
	       NOTE_LAUNCH)
{
	(void)params, (void)extra;
	return launch(function, (struct box){ grid_x, grid_y, grid_z },
		      (struct box){ block_x, block_y, block_z }, shared_bytes, stream);
}

CU_DEFINE_PTSZ(CONTEXT, cuLaunchCooperativeKernel,
	       (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		unsigned int block_x, unsigned int block_y, unsigned int block_z,
		unsigned int shared_bytes, CUstream stream, void **params),
	       (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
		params),
	       NOTE_LAUNCH)
{
	(void)params;
	return launch(function, (struct box){ grid_x, grid_y, grid_z },
		      (struct box){ block_x, block_y, block_z }, shared_bytes, stream);
}

static void note_config(struct oracle_line *line, const CUlaunchConfig *c)
{
	if (!c)
		return;
	XYZ(grid, c->gridDimX, c->gridDimY, c->gridDimZ);
	XYZ(block, c->blockDimX, c->blockDimY, c->blockDimZ);
	DEC(shared, c->sharedMemBytes);
	HEX(stream, c->hStream);
}

CU_DEFINE_PTSZ(CONTEXT, cuLaunchKernelEx,
	       (const CUlaunchConfig *config, CUfunction function, void **params, void **extra),
	       (config, function, params, extra), HEX(handle, function),
	       STR(kernel, module_function_name(function)), note_config(line, config),
	       config ? NOTE_CAPTURE(config->hStream) : (void)0)
{
	(void)params, (void)extra;
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	return launch(function,
		      (struct box){ config->gridDimX, config->gridDimY, config->gridDimZ },
		      (struct box){ config->blockDimX, config->blockDimY, config->blockDimZ },
		      config->sharedMemBytes, config->hStream);
}

static struct box grid_of(const CUDA_LAUNCH_PARAMS *p)
{
	return (struct box){ p->gridDimX, p->gridDimY, p->gridDimZ };
}

static struct box block_of(const CUDA_LAUNCH_PARAMS *p)
{
	return (struct box){ p->blockDimX, p->blockDimY, p->blockDimZ };
}

/* One launch for each device, all of the same shape, each in a stream made for its device. */
static bool same_but_for_device(const CUDA_LAUNCH_PARAMS *list, unsigned int count)
{
	unsigned int devices = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct box grid = grid_of(&list[i]), first_grid = grid_of(list);
		struct box block = block_of(&list[i]), first_block = block_of(list);
		CUcontext context = stream_context(list[i].hStream);

		if ((uintptr_t)list[i].hStream <= (uintptr_t)CU_STREAM_PER_THREAD || !context ||
		    devices & 1u << context->device->ordinal ||
		    memcmp(&grid, &first_grid, sizeof(grid)) ||
		    memcmp(&block, &first_block, sizeof(block)) ||
		    list[i].sharedMemBytes != list->sharedMemBytes)
			return false;
		devices |= 1u << context->device->ordinal;
	}
	return true;
}

static void note_list(struct oracle_line *line, const CUDA_LAUNCH_PARAMS *p, unsigned int count)
{
	DEC(value, count);
	if (!p || !count)
		return;
	HEX(handle, p->function);
	STR(kernel, module_function_name(p->function));
	XYZ(grid, p->gridDimX, p->gridDimY, p->gridDimZ);
	XYZ(block, p->blockDimX, p->blockDimY, p->blockDimZ);
	DEC(shared, p->sharedMemBytes);
}

CU_DEFINE(CONTEXT, cuLaunchCooperativeKernelMultiDevice,
	  (CUDA_LAUNCH_PARAMS *list, unsigned int count, unsigned int flags), (list, count, flags),
	  note_list(line, list, count), DEC(flags, flags))
{
	CUresult result = CUDA_SUCCESS;

	if (!list || !count || count > device_count() || flags & ~3u ||
	    !same_but_for_device(list, count))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < count && result == CUDA_SUCCESS; i++)
		result = launch(list[i].function, grid_of(&list[i]), block_of(&list[i]),
				list[i].sharedMemBytes, list[i].hStream);
	return result;
}

/* How many blocks of a kernel fit into a multiprocessor at a time, registers left aside. */
static CUresult occupancy(int *blocks, CUfunction function, int block_size, size_t shared_bytes)
{
	unsigned int warp, threads, fit, shared_fit;
	uint64_t shared_block_bytes;

	if (!blocks || block_size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!module_function_name(function))
		return CUDA_ERROR_INVALID_HANDLE;
	warp = limit(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
	threads = ((unsigned int)block_size + warp - 1) / warp * warp;
	fit = limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / threads;
	if (fit > limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR))
		fit = limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
	shared_block_bytes =
		shared_bytes + limit(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
	shared_fit =
		(unsigned int)(limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) /
			       shared_block_bytes);
	if (threads > limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK))
		fit = 0;
	*blocks = (int)(fit < shared_fit ? fit : shared_fit);
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuOccupancyMaxActiveBlocksPerMultiprocessor,
	  (int *blocks, CUfunction function, int block_size, size_t shared_bytes),
	  (blocks, function, block_size, shared_bytes), HEX(handle, function),
	  STR(kernel, module_function_name(function)), OUT_DEC(value, blocks))
{
	return occupancy(blocks, function, block_size, shared_bytes);
}

CU_DEFINE(CONTEXT, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
	  (int *blocks, CUfunction function, int block_size, size_t shared_bytes,
	   unsigned int flags),
	  (blocks, function, block_size, shared_bytes, flags), HEX(handle, function),
	  STR(kernel, module_function_name(function)), DEC(flags, flags), OUT_DEC(value, blocks))
{
	return flags & ~1u ? CUDA_ERROR_INVALID_VALUE :
			     occupancy(blocks, function, block_size, shared_bytes);
}
