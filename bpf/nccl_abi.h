/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that is about NCCL, which includes it: what a program asked it to do
 * (frameworks.def). Numbers are those of recordings.
 */
#ifndef MS_NCCL_ABI_H
#define MS_NCCL_ABI_H

/* clang-format off */

/* What a call is about: MOVES elements between ranks, MAKES or ENDS a communicator, or OTHER. */
#define MS_NCCL_FUNCTIONS(X) \
	X(ncclAllReduce,            MOVES) \
	X(ncclBroadcast,            MOVES) \
	X(ncclBcast,                MOVES) \
	X(ncclReduce,               MOVES) \
	X(ncclAllGather,            MOVES) \
	X(ncclReduceScatter,        MOVES) \
	X(ncclAlltoAll,             MOVES) \
	X(ncclGather,               MOVES) \
	X(ncclScatter,              MOVES) \
	X(ncclSend,                 MOVES) \
	X(ncclRecv,                 MOVES) \
	X(ncclCommInitRank,         MAKES) \
	X(ncclCommInitRankConfig,   MAKES) \
	X(ncclCommInitRankScalable, MAKES) \
	X(ncclCommInitAll,          MAKES) /* several: the first one is known */ \
	X(ncclCommSplit,            MAKES) /* of how many ranks is not said, as of the next */ \
	X(ncclCommShrink,           MAKES) \
	X(ncclCommGrow,             MAKES) \
	X(ncclCommFinalize,         OTHER) \
	X(ncclCommDestroy,          ENDS) \
	X(ncclCommAbort,            ENDS) \
	X(ncclCommRegister,         OTHER) \
	X(ncclMemAlloc,             OTHER) \
	X(ncclMemFree,              OTHER) \
	X(ncclGroupEnd,             OTHER) /* calls of before are carried out now */

/* ncclDataType_t (nccl.h): number, name, bytes of an element. */
#define MS_NCCL_TYPES(X) \
	X(0,  "int8",       1) \
	X(1,  "uint8",      1) \
	X(2,  "int32",      4) \
	X(3,  "uint32",     4) \
	X(4,  "int64",      8) \
	X(5,  "uint64",     8) \
	X(6,  "float16",    2) \
	X(7,  "float32",    4) \
	X(8,  "float64",    8) \
	X(9,  "bfloat16",   2) \
	X(10, "float8e4m3", 1) \
	X(11, "float8e5m2", 1)
/* clang-format on */

enum ms_nccl_function {
#define X(function, about) MS_NCCL_##function,
	MS_NCCL_FUNCTIONS(X)
#undef X
		MS_NCCL_FUNCTIONS_COUNT,
};

#define MS_NCCL_SUCCESS 0
#define MS_NCCL_IN_PROGRESS 7 /* of communicators that do not block */

/* A call that is over. Nothing of it has been checked. */
struct ms_nccl {
	struct ms_event event; /* when it returned: what it allocated comes before it */
	__u64 duration_ns;     /* until then */
	__u64 comm;   /* handle of the communicator; 0: it is about none, or is not known */
	__u64 count;  /* elements; of a call that makes communicators: ranks, 0: not said; bytes */
	__s32 result; /* ncclResult_t */
	__u32 detail; /* ncclDataType_t, or the rank */
	__u16 function;    /* enum ms_nccl_function */
	__u16 reserved[3]; /* 0 */
};

_Static_assert(sizeof(struct ms_nccl) == 72, "wire layout");

#endif /* MS_NCCL_ABI_H */
