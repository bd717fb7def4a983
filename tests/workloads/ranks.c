// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that is one rank of several communicators of NCCL (nccl.c). It says on its standard
 * output what an observer has to have found:
 *
 *   call FUNCTION COMMUNICATOR RESULT BYTES   each call; bytes of one rank, "null" of those that
 *                                             move none
 *   has COMMUNICATOR RANK RANKS DEVICE HOST   at the end: bytes that NCCL has for it; of ranks that
 *                                             NCCL is not told: "null"
 *
 * usage: ranks ROUNDS, once it has a line of standard input
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "nccl.h"
#include "simcuda.h"

#define SIZE_OF_TYPE(type) \
	((type) == NCCL_INT8 ? 1ul : (type) == NCCL_FLOAT16 ? 2 : (type) == NCCL_FLOAT32 ? 4 : 8)

static void need(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "ranks: %s: %d\n", what, result);
	exit(2);
}

#define NEED(call) need(call, #call)

static void say(const char *function, ncclComm_t comm, int result, size_t count, int type)
{
	static const char *const results[] = {
		[NCCL_SUCCESS] = "success", [NCCL_INVALID_ARGUMENT] = "invalid argument"
	};
	char handle[32] = "null", bytes[32] = "null";

	if (comm)
		snprintf(handle, sizeof(handle), "0x%" PRIxPTR, (uintptr_t)comm);
	if (type >= 0 && count <= SIZE_MAX / SIZE_OF_TYPE(type))
		snprintf(bytes, sizeof(bytes), "%zu", count * SIZE_OF_TYPE(type));
	printf("call %s %s %s %s\n", function, handle, results[result], bytes);
}

static void has(ncclComm_t comm, const char *place, unsigned long device, unsigned long host)
{
	printf("has 0x%" PRIxPTR " %s %lu %lu\n", (uintptr_t)comm, place, device, host);
}

static void move(ncclComm_t comm, unsigned long rounds)
{
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		const size_t count = 1 + rand() % 1000000;

		say("ncclAllReduce", comm,
		    ncclAllReduce(NULL, NULL, count, NCCL_FLOAT16, 0, comm, NULL), count,
		    NCCL_FLOAT16);
		say("ncclReduce", comm,
		    ncclReduce(NULL, NULL, count, NCCL_FLOAT64, 0, 1, comm, NULL), count,
		    NCCL_FLOAT64);
		say("ncclAllGather", comm,
		    ncclAllGather(NULL, NULL, count, NCCL_FLOAT32, comm, NULL), count,
		    NCCL_FLOAT32);
		say("ncclSend", comm, ncclSend(NULL, count, NCCL_INT8, 1, comm, NULL), count,
		    NCCL_INT8);
		say("ncclRecv", comm, ncclRecv(NULL, count, NCCL_INT8, 1, comm, NULL), count,
		    NCCL_INT8);
		say("ncclGroupEnd", NULL, ncclGroupEnd(), 0, -1);
	}
}

static void work(unsigned long rounds)
{
	const ncclUniqueId id = { "" }, bad = { "x" };
	ncclComm_t world, half, passing, failed = NULL;
	CUdeviceptr own;
	size_t huge;

	NEED(ncclCommInitRank(&world, 8, id, 3));
	say("ncclCommInitRank", world, 0, 0, -1);
	NEED(cuMemAlloc_v2(&own, 1 << 20)); /* the program's own */
	NEED(ncclCommSplit(world, 0, 0, &half, NULL));
	say("ncclCommSplit", half, 0, 0, -1);
	move(world, rounds);
	huge = (size_t)1 << 41;
	say("ncclAllReduce", half, ncclAllReduce(NULL, NULL, huge, NCCL_INT8, 0, half, NULL), huge,
	    NCCL_INT8);
	NEED(ncclCommInitAll(&passing, 1, NULL));
	say("ncclCommInitAll", passing, 0, 0, -1);
	move(passing, 1);
	has(passing, "null 1", 0, 0);
	/* Its handle may be that of the next. */
	say("ncclCommDestroy", passing, 0, 0, -1);
	NEED(ncclCommDestroy(passing));
	say("ncclCommInitRank", NULL, ncclCommInitRank(&failed, 2, bad, 0), 0, -1);
	has(world, "3 8", NCCL_MADE_BYTES + NCCL_CONNECTED_BYTES, NCCL_HOST_BYTES);
	has(half, "null null", NCCL_MADE_BYTES, NCCL_HOST_BYTES);
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUdevice device;

	if (argc != 2)
		return 2;
	NEED(cuInit(0));
	NEED(cuDeviceGet(&device, 0));
	NEED(cuDevicePrimaryCtxRetain(&context, device));
	NEED(cuCtxSetCurrent(context));
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("waiting");
	if (getchar() == EOF)
		return 5;
	work(strtoul(argv[1], NULL, 10));
	return 0;
}
