/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of NCCL: what its functions are about, and what their arguments mean (bpf/nccl_abi.h).
 */
#ifndef MEMSCOPE_EVENT_NCCL_H
#define MEMSCOPE_EVENT_NCCL_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

enum nccl_about {
	NCCL_MOVES, /* elements, between ranks */
	NCCL_MAKES, /* a communicator */
	NCCL_ENDS,
	NCCL_OTHER,
};

/* "ncclAllReduce"; NULL: there is no such function. */
const char *nccl_function_name(uint32_t function);
enum nccl_about nccl_function_about(uint32_t function);

/* Of the elements that a call moves; NULL: it moves none, or their type is not known. */
const char *nccl_record_type(const struct ms_nccl *record);

/* Of one rank: elements and their size, or the memory. Returns whether that is known. */
bool nccl_record_bytes(const struct ms_nccl *record, uint64_t *bytes);

/* Whether a call that makes a communicator says of how many ranks, and which one it is. */
bool nccl_record_has_ranks(const struct ms_nccl *record);
bool nccl_record_has_rank(const struct ms_nccl *record);

/* "success"; NULL: not known. */
const char *nccl_result_name(int32_t result);

#endif /* MEMSCOPE_EVENT_NCCL_H */
