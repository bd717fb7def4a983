// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stands for NCCL: functions of its names and arguments, which allocate as it does, and move
 * nothing. NCCL_OLD: ncclCommInitAll() ends a group within itself, as until about 2.22.
 */
#include "nccl.h"

#include <pthread.h>
#include <stdlib.h>

#include "simcuda.h"

struct ncclComm {
	CUdeviceptr made, connected;
	void *host;
};

static int make(ncclComm_t *comm)
{
	*comm = calloc(1, sizeof(**comm));
	return *comm && !cuMemAlloc_v2(&(*comm)->made, NCCL_MADE_BYTES) &&
			       !cuMemHostAlloc(&(*comm)->host, NCCL_HOST_BYTES, 0) ?
		       NCCL_SUCCESS :
		       1;
}

struct connection {
	ncclComm_t comm;
	CUcontext context;
};

static void *connect_ranks(void *argument)
{
	struct connection *connection = argument;

	if (cuCtxSetCurrent(connection->context) ||
	    cuMemAlloc_v2(&connection->comm->connected, NCCL_CONNECTED_BYTES))
		abort();
	return NULL;
}

static int move(ncclComm_t comm, size_t count)
{
	struct connection connection = { .comm = comm };
	pthread_t thread;

	if (!comm || count > 1ul << 40)
		return NCCL_INVALID_ARGUMENT;
	if (comm->connected)
		return NCCL_SUCCESS;
	if (cuCtxGetCurrent(&connection.context) ||
	    pthread_create(&thread, NULL, connect_ranks, &connection) || pthread_join(thread, NULL))
		return 1;
	return NCCL_SUCCESS;
}

int ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
	if (rank >= ranks || id.internal[0])
		return NCCL_INVALID_ARGUMENT;
	return make(comm);
}

int ncclCommInitAll(ncclComm_t *comms, int devices, const int *list)
{
	int i, err = NCCL_SUCCESS;

	(void)list;
	for (i = 0; i < devices && !err; i++)
		err = make(&comms[i]);
	return err || !getenv("NCCL_OLD") ? err : ncclGroupEnd();
}

int ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *made, void *config)
{
	(void)color;
	(void)key;
	(void)config;
	return comm ? make(made) : NCCL_INVALID_ARGUMENT;
}

int ncclCommDestroy(ncclComm_t comm)
{
	cuMemFree_v2(comm->made);
	cuMemFreeHost(comm->host);
	if (comm->connected)
		cuMemFree_v2(comm->connected);
	free(comm);
	return NCCL_SUCCESS;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, ncclComm_t comm,
		  void *stream)
{
	(void)from, (void)to, (void)type, (void)op, (void)stream;
	return move(comm, count);
}

int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root,
	       ncclComm_t comm, void *stream)
{
	(void)from, (void)to, (void)type, (void)op, (void)root, (void)stream;
	return move(comm, count);
}

int ncclAllGather(const void *from, void *to, size_t count, int type, ncclComm_t comm, void *stream)
{
	(void)from, (void)to, (void)type, (void)stream;
	return move(comm, count);
}

int ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t comm, void *stream)
{
	(void)from, (void)type, (void)peer, (void)stream;
	return move(comm, count);
}

int ncclRecv(void *to, size_t count, int type, int peer, ncclComm_t comm, void *stream)
{
	(void)to, (void)type, (void)peer, (void)stream;
	return move(comm, count);
}

int ncclGroupEnd(void)
{
	return NCCL_SUCCESS;
}
