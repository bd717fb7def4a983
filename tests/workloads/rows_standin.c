// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rows of bpf/probes.def that need more than the simulated CUDA can do: this program has the
 * functions itself, as one that is linked with a static runtime does, calls them and prints the
 * events to expect. Here the allocations with 32-bit sizes and addresses succeed, and the runtime
 * allocates and looks up kernels without asking the driver: nothing but its own arguments tells
 * sizes, and nothing but __cudaGetKernel what a handle is.
 */
#include "rows_standin.h"
#include "simcudart.h"

int cuMemAlloc(uint32_t *ptr, uint32_t size);
int cuMemAllocPitch(uint32_t *ptr, uint32_t *pitch, uint32_t width, uint32_t height,
		    uint32_t element_size);
int cuMemAllocPitch_v2(uint64_t *ptr, uint64_t *pitch, uint64_t width, uint64_t height,
		       uint32_t element_size);
int cuMemAllocHost(void **ptr, uint32_t size);
int cuMemFree(uint32_t ptr);

#define DEVICE_ADDR 0x81230000u
#define PITCHED_ADDR 0x91240000u
#define PITCH 1536u

static unsigned char host[4096];
static uint32_t freed;

int cuMemAlloc(uint32_t *ptr, uint32_t size)
{
	*ptr = DEVICE_ADDR;
	return !size;
}

int cuMemAllocPitch(uint32_t *ptr, uint32_t *pitch, uint32_t width, uint32_t height,
		    uint32_t element_size)
{
	*ptr = PITCHED_ADDR;
	*pitch = PITCH;
	return width * height % element_size;
}

/* Not narrow: more memory than anybody has. */
#define WIDE_PITCH (3ull << 32)
#define WIDE_ADDR 0x7a0000000000ull

int cuMemAllocPitch_v2(uint64_t *ptr, uint64_t *pitch, uint64_t width, uint64_t height,
		       uint32_t element_size)
{
	*ptr = 3 * WIDE_ADDR;
	*pitch = 3 * WIDE_PITCH;
	return width * height * element_size == 0;
}

int cuMemAllocHost(void **ptr, uint32_t size)
{
	*ptr = host;
	return size > sizeof(host);
}

int cuMemFree(uint32_t ptr)
{
	freed = ptr;
	return 0;
}

/* ---- a runtime with its own idea of handles -------------------------------------------------- */

static const char *registered_stub;
static char kernel_object;

cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
	*ptr = (void *)WIDE_ADDR;
	*pitch = WIDE_PITCH;
	return width && height ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *ptr, struct cudaExtent extent)
{
	*ptr = (struct cudaPitchedPtr){ (void *)(2 * WIDE_ADDR), 2 * WIDE_PITCH, extent.width,
					extent.height };
	return extent.depth ? cudaSuccess : cudaErrorInvalidValue;
}

void __cudaRegisterFunction(void **handle, const char *stub, char *device_function,
			    const char *name, int thread_limit, uint3 *thread_id, uint3 *block_id,
			    dim3 *block_dim, dim3 *grid_dim, int *warp_size)
{
	(void)handle, (void)device_function, (void)name, (void)thread_limit, (void)thread_id;
	(void)block_id, (void)block_dim, (void)grid_dim, (void)warp_size;
	registered_stub = stub;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *stub)
{
	*kernel = (cudaKernel_t)&kernel_object;
	return stub == registered_stub ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
			       size_t shared_bytes, cudaStream_t stream)
{
	(void)grid, (void)block, (void)args, (void)shared_bytes, (void)stream;
	return (void *)kernel == &kernel_object ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* What is written to is narrower than the place: the rest is garbage. */
#define GARBAGE 0x5a5a5a5a5a5a5a5aull

static void narrow(void)
{
	uint64_t ptr = GARBAGE, pitch = GARBAGE;

	CALL(cuMemAlloc, P(&ptr), DIRTY(4001));
	EXPECT(.op = "alloc", .api = "cuMemAlloc", .addr = HEX(DEVICE_ADDR), .size = "4001",
	       .space = "device");
	ptr = GARBAGE;
	CALL(cuMemAllocPitch, P(&ptr), P(&pitch), DIRTY(1004), DIRTY(9), DIRTY(4));
	EXPECT(.op = "alloc", .api = "cuMemAllocPitch", .addr = HEX(PITCHED_ADDR),
	       .size = DEC(PITCH * 9), .space = "device");
	CALL(cuMemAllocHost, P(&ptr), DIRTY(4003));
	EXPECT(.op = "alloc", .api = "cuMemAllocHost", .addr = HEX(host), .size = "4003",
	       .space = "pinned");
	CALL(cuMemFree, DIRTY(PITCHED_ADDR));
	EXPECT(.op = "free", .api = "cuMemFree", .addr = HEX(PITCHED_ADDR), .size = DEC(PITCH * 9),
	       .space = "device");
	CALL(cuMemFree, DIRTY(DEVICE_ADDR));
	EXPECT(.op = "free", .api = "cuMemFree", .addr = HEX(DEVICE_ADDR), .size = "4001",
	       .space = "device");
}

static void wide(void)
{
	__typeof__(&cudaMalloc3D) volatile malloc_3d = cudaMalloc3D;
	struct cudaPitchedPtr box;
	uint64_t ptr, pitch;

	CALL(cuMemAllocPitch_v2, P(&ptr), P(&pitch), 1006, 5, DIRTY(4));
	EXPECT(.op = "alloc", .api = "cuMemAllocPitch_v2", .addr = HEX(3 * WIDE_ADDR),
	       .size = DEC(3 * WIDE_PITCH * 5), .space = "device");
	CALL(cudaMallocPitch, P(&ptr), P(&pitch), 1005, 7);
	EXPECT(.op = "alloc", .api = "cudaMallocPitch", .addr = HEX(WIDE_ADDR),
	       .size = DEC(WIDE_PITCH * 7), .space = "device");
	/* An extent by value: every architecture passes it in another way. */
	rows_check("cudaMalloc3D", 0, malloc_3d(&box, (struct cudaExtent){ 1007, 11, 13 }));
	EXPECT(.op = "alloc", .api = "cudaMalloc3D", .addr = HEX(2 * WIDE_ADDR),
	       .size = DEC(2 * WIDE_PITCH * 11 * 13), .space = "device");
}

/* A kernel called by_X has its name from function X alone. */
static void launches(void)
{
	__typeof__(&__cudaRegisterFunction) volatile register_function = __cudaRegisterFunction;
	static const char stub[1];
	char device_function[] = "not this one";
	cudaKernel_t kernel;

	register_function(NULL, stub, device_function, "by___cudaGetKernel", -1, NULL, NULL, NULL,
			  NULL, NULL);
	CALL(__cudaGetKernel, P(&kernel), P(stub));
	rows_call("__cudaGetKernel", (void *)__cudaGetKernel, cudaErrorInvalidDeviceFunction,
		  (const uint64_t[ROWS_ARGS]){ P(&kernel), P(device_function) });
	CALL(__cudaLaunchKernel, P(kernel), 2ull << 32 | 3, DIRTY(4), 5ull << 32 | 6, DIRTY(7), 0,
	     8, 9);
	EXPECT(.op = "launch", .api = "__cudaLaunchKernel", .addr = HEX(kernel), .stream = "0x9",
	       .kernel = "by___cudaGetKernel", .grid = "3,2,4", .block = "6,5,7", .shared = "8");
}

int main(void)
{
	rows_standin_runtime();
	narrow();
	wide();
	launches();
	rows_standin_driver();
	return freed != DEVICE_ADDR;
}
