// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program as nvcc 13 makes them: each kernel has a host function of its name, and a stub that
 * keeps the kernel's handle in a static variable from its first launch on. One kernel has the stub
 * of nvcc 12, which launches by the host function. The names of all of these are nvcc's.
 *
 * usage: stubs
 *
 * Launches all kernels but two, says "ready", and launches all of them for each line that it reads.
 */
#include <stdio.h>
#include <stdlib.h>

#include "simcudart.h"

/* Not PTX: the simulated driver takes any name to be in it. */
static const char code[] __attribute__((section(".nv_fatbin"), used)) = "\177ELF";
static struct simcudart_fatbin fatbin = { 0x466243b1, 1, code, NULL };

/* KERNEL(name here, its host function, the variable of its stub, its name on the device) */
#define KERNELS(KERNEL) \
	KERNEL(add, "_Z3addPfi", "_ZZ23__device_stub__Z3addPfiPfiE8__handle", "_Z3addPfi") \
	KERNEL(nested, "_ZN2ns4workIfEEvPT_", \
	       "_ZZL33__device_stub__ZN2ns4workIfEEvPT_PfE8__handle", "_ZN2ns4workIfEEvPT_") \
	KERNEL(plain, "plain", "_ZZ24__device_stub__Z5plainPfPfE8__handle", "plain") \
	KERNEL(hidden, "_ZL6hiddenPf", "_ZZL25__device_stub__Z6hiddenPfPfE8__handle", \
	       "_Z6hiddenPf") \
	KERNEL(later, "_Z5laterPf", "_ZZ24__device_stub__Z5laterPfPfE8__handle", "_Z5laterPf")

#define DECLARE(name, host, variable, device) \
	__attribute__((noinline)) void name(void) __asm__(host); \
	void name(void) \
	{ \
		__asm__ volatile(""); \
	} \
	static cudaKernel_t name##_handle __asm__(variable);
KERNELS(DECLARE)
/* Its stub has the handle later than the program, and without a call. */
DECLARE(copied, "_Z6copiedPf", "_ZZ25__device_stub__Z6copiedPfPfE8__handle", "_Z6copiedPf")
static cudaKernel_t kept;

/* Launched by its address. */
__attribute__((noinline)) void older(void) __asm__("_Z5olderPf");
void older(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void stub_of_older(void) __asm__("_Z24__device_stub__Z5olderPfPf");
void stub_of_older(void)
{
	cudaLaunchKernel((const void *)older, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL);
}

/* Nothing is launched by them. */
static cudaKernel_t absurd[2] __asm__("_ZZ25__device_stub__Z6absurdPfPfE8__handle")
	__attribute__((used)) = { (cudaKernel_t)~0ul, (cudaKernel_t)1 };

static void launch(cudaKernel_t *handle, void (*host)(void))
{
	if (!*handle && __cudaGetKernel(handle, (const void *)host) != cudaSuccess)
		exit(1);
	if (__cudaLaunchKernel(*handle, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL) !=
	    cudaSuccess)
		exit(1);
}

static void launch_all(int also_later)
{
#define LAUNCH(name, host, variable, device) \
	if (name != later || also_later) \
		launch(&name##_handle, name);
	KERNELS(LAUNCH)
	stub_of_older();
	if (also_later) {
		copied_handle = kept;
		launch(&copied_handle, copied);
	}
}

int main(void)
{
	void **module = __cudaRegisterFatBinary(&fatbin);
	char line[16];

#define REGISTER(name, host, variable, device) \
	__cudaRegisterFunction(module, (const char *)name, (char *)device, device, -1, NULL, NULL, \
			       NULL, NULL, NULL);
	KERNELS(REGISTER)
	REGISTER(older, , , "_Z5olderPf")
	REGISTER(copied, , , "_Z6copiedPf")
	__cudaRegisterFatBinaryEnd(module);
	if (cudaGetKernel(&kept, (const void *)copied) != cudaSuccess)
		return 1;
	launch_all(0);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		launch_all(1);
	cudaDeviceSynchronize();
	return 0;
}
