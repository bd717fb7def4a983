/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands for NCCL (nccl.c): what a program needs of it. Types and arguments are those of nccl.h of
 * NCCL 2.32.
 */
#ifndef MEMSCOPE_TESTS_NCCL_H
#define MEMSCOPE_TESTS_NCCL_H

#include <stddef.h>

typedef struct ncclComm *ncclComm_t;
typedef struct {
	char internal[128];
} ncclUniqueId;

enum { NCCL_SUCCESS, NCCL_INVALID_ARGUMENT = 4 };
enum { NCCL_INT8 = 0, NCCL_FLOAT16 = 6, NCCL_FLOAT32 = 7, NCCL_FLOAT64 = 8 };

/* What it allocates: for each communicator when it is made, and when it moves something first. */
#define NCCL_MADE_BYTES (4ul << 20)
#define NCCL_HOST_BYTES (64ul << 10)
#define NCCL_CONNECTED_BYTES (8ul << 20) /* in a thread of its own */

int ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank);
int ncclCommInitAll(ncclComm_t *comms, int devices, const int *list);
int ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *made, void *config);
int ncclCommDestroy(ncclComm_t comm);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, ncclComm_t comm,
		  void *stream);
int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root,
	       ncclComm_t comm, void *stream);
int ncclAllGather(const void *from, void *to, size_t count, int type, ncclComm_t comm,
		  void *stream);
int ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t comm, void *stream);
int ncclRecv(void *to, size_t count, int type, int peer, ncclComm_t comm, void *stream);
int ncclGroupEnd(void);

#endif /* MEMSCOPE_TESTS_NCCL_H */
