// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that keep memory to no purpose, or do something like it for a good reason (kept.bats).
 *
 * usage: kept pool|trimmed|twice|shared|closed|contexts|destroyed|idle
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "simcuda.h"

#define MIB 1048576ul
#define BLOCKS 8

static void need(CUresult result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "kept: %s: %d\n", what, result);
	exit(2);
}

#define NEED(call) need(call, #call)

static void pause_ms(long ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

static void begin(void)
{
	CUcontext context;
	CUdevice device;

	NEED(cuInit(0));
	NEED(cuDeviceGet(&device, 0));
	NEED(cuDevicePrimaryCtxRetain(&context, device));
	NEED(cuCtxSetCurrent(context));
}

/* Takes 160 MiB from a pool without limit and gives it back. */
static void pool(bool trims)
{
	uint64_t threshold = UINT64_MAX;
	CUdeviceptr blocks[BLOCKS];
	CUmemoryPool own;

	begin();
	NEED(cuDeviceGetDefaultMemPool(&own, 0));
	NEED(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	for (int i = 0; i < BLOCKS; i++)
		NEED(cuMemAllocAsync(&blocks[i], 20 * MIB, NULL));
	for (int i = 0; i < BLOCKS; i++)
		NEED(cuMemFreeAsync(blocks[i], NULL));
	NEED(cuStreamSynchronize(NULL));
	if (trims)
		NEED(cuMemPoolTrimTo(own, 0));
	pause_ms(1200);
}

/* Frees everything twice, and registers what is registered. */
static void twice(void)
{
	static unsigned char host[1 << 16] __attribute__((aligned(4096)));
	CUdeviceptr blocks[BLOCKS];

	begin();
	for (int i = 0; i < BLOCKS; i++)
		NEED(cuMemAlloc_v2(&blocks[i], MIB));
	for (int i = 0; i < 2 * BLOCKS; i++)
		cuMemFree_v2(blocks[i % BLOCKS]);
	for (int i = 0; i < 3; i++)
		cuMemHostRegister_v2(host, sizeof(host), 0);
}

/* In a program of its own, which is traced from its first call. */
static void user(bool closes)
{
	CUipcMemHandle handle;
	CUdeviceptr addr;

	pause_ms(1000); /* a tracer that follows needs time to attach */
	begin();
	if (read(STDIN_FILENO, &handle, sizeof(handle)) != sizeof(handle))
		exit(2);
	NEED(cuIpcOpenMemHandle_v2(&addr, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	if (closes)
		NEED(cuIpcCloseMemHandle(addr));
	if (write(STDOUT_FILENO, "x", 1) != 1)
		exit(2);
	if (!closes)
		pause_ms(1500);
}

static pid_t start_user(const char *self, bool closes, const int to[2], const int from[2])
{
	pid_t child = fork();

	if (child)
		return child;
	dup2(to[0], STDIN_FILENO);
	dup2(from[1], STDOUT_FILENO);
	close(to[1]);
	execl("/proc/self/exe", self, closes ? "closer" : "keeper", (char *)NULL);
	_exit(2);
}

/* Lends 48 MiB, and frees them when the other process has them, or has given them back. */
static void shared(const char *self, bool closes)
{
	CUipcMemHandle handle;
	CUdeviceptr addr;
	int to[2], from[2], status;
	pid_t child;
	char byte;

	if (pipe(to) || pipe(from))
		exit(2);
	child = start_user(self, closes, to, from);
	close(from[1]);
	begin();
	NEED(cuMemAlloc_v2(&addr, 48 * MIB));
	NEED(cuIpcGetMemHandle(&handle, addr));
	if (write(to[1], &handle, sizeof(handle)) != sizeof(handle) || read(from[0], &byte, 1) != 1)
		exit(2);
	NEED(cuMemFree_v2(addr));
	if (waitpid(child, &status, 0) != child || status)
		exit(2);
}

/* Makes 16 contexts, and with each some streams and events; other streams are made at first. */
static void contexts(bool destroys)
{
	CUcontext context;
	CUstream stream;
	CUevent event;

	begin();
	for (int i = 0; i < 32; i++)
		NEED(cuStreamCreate(&stream, 0));
	for (int i = 0; i < 16; i++) {
		NEED(cuCtxCreate_v2(&context, 0, 0));
		for (int k = 0; k < 4; k++) {
			NEED(cuStreamCreate(&stream, 0));
			NEED(cuEventCreate(&event, 0));
			NEED(cuEventDestroy_v2(event));
		}
		pause_ms(100);
		if (destroys)
			NEED(cuCtxDestroy_v2(context));
	}
}

/* Works on the first of two devices only. */
static void idle(void)
{
	CUcontext context;
	CUdeviceptr addr;

	begin();
	NEED(cuDevicePrimaryCtxRetain(&context, 1));
	NEED(cuMemAlloc_v2(&addr, MIB));
	pause_ms(1500);
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (!strcmp(what, "pool") || !strcmp(what, "trimmed"))
		pool(!strcmp(what, "trimmed"));
	else if (!strcmp(what, "twice"))
		twice();
	else if (!strcmp(what, "contexts") || !strcmp(what, "destroyed"))
		contexts(!strcmp(what, "destroyed"));
	else if (!strcmp(what, "idle"))
		idle();
	else if (!strcmp(what, "shared") || !strcmp(what, "closed"))
		shared(argv[0], !strcmp(what, "closed"));
	else if (!strcmp(what, "keeper") || !strcmp(what, "closer"))
		user(!strcmp(what, "closer"));
	else
		return 2;
	return 0;
}
