/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process asked NCCL to do, by communicator, and which of its allocations NCCL made for each
 * (struct ms_nccl). Those are memory of CUDA like any other; here it is said what they are for. A
 * part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_NCCL_H
#define MEMSCOPE_LEDGER_NCCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

struct allocation;
struct process;
struct stacks;

/* Calls of one function. */
struct nccl_calls {
	uint64_t count, failed;
	uint64_t bytes; /* of one rank, as it said: elements and their size; 0 if it moves none */
	uint64_t duration_ns;
};

/* What NCCL has of the process's allocations. */
struct nccl_memory {
	uint64_t blocks, bytes;
	uint64_t peak_bytes;
};

struct nccl_communicator {
	uint64_t handle;   /* 0: none, or calls and memory whose communicator is not known */
	uint64_t made_ns;  /* 0: it was not seen to be made */
	uint64_t ended_ns; /* 0: it is there */
	uint64_t ranks;    /* 0: not known */
	uint32_t rank;     /* UINT32_MAX: not known */
	struct nccl_calls calls[MS_NCCL_FUNCTIONS_COUNT];
	struct nccl_memory device, host;
};

struct nccl {
	struct nccl_communicator *list; /* in the order in which they were seen first */
	size_t count, capacity;
	uint64_t newest_ns; /* when the process's last allocation was made */
	uint64_t others;    /* calls of communicators that found no place */
	uint64_t unlooked;  /* calls whose allocations were too many to look through */
};

/* Returns 0 or -ENOMEM. */
int nccl_apply(struct process *process, const struct stacks *stacks, const struct ms_nccl *record);

/* An allocation leaves the ledger, or is in it after all. */
void nccl_memory_ends(struct nccl *nccl, const struct allocation *allocation);
void nccl_memory_stays(struct nccl *nccl, const struct allocation *allocation);

/* All calls of a communicator that move elements. */
struct nccl_calls nccl_moves(const struct nccl_communicator *communicator);

/* All of its calls. */
struct nccl_calls nccl_all_calls(const struct nccl_communicator *communicator);

/* The program is another one from now on. */
void nccl_exec(struct nccl *nccl, uint64_t ts_ns);

/* Counts and peaks begin anew. */
void nccl_restart(struct nccl *nccl);

/*
 * Adds what a process that is gone did to `sum`, where it is of no communicator that is known;
 * peaks are the highest of one communicator.
 */
void nccl_add(struct nccl *sum, const struct nccl *nccl);

size_t nccl_bytes(const struct nccl *nccl);
void nccl_fini(struct nccl *nccl);

#endif /* MEMSCOPE_LEDGER_NCCL_H */
