/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that is about tensors, which includes it: what the allocators of frameworks say
 * of themselves (frameworks.def).
 */
#ifndef MS_TENSOR_ABI_H
#define MS_TENSOR_ABI_H

/* clang-format off */
#define MS_FRAMEWORKS(X) \
	X(PYTORCH, "PyTorch") \
	X(BFC,     "TensorFlow/JAX") /* tsl::BFCAllocator */ \
	X(NCCL,    "NCCL") /* of rows: it has no tensors, see nccl_abi.h */

/* What a function of the table is called for. */
#define MS_TENSOR_ACTIONS(X) \
	X(CHANGE,        "change")        /* a block was given to the program, or came back */ \
	X(OUT_OF_MEMORY, "out_of_memory") /* the program is told that there is none left */ \
	X(BACK,          "back")          /* a block comes back, whose size is not said */ \
	X(GIVE,          "give")          /* of rows: the result is a block, or there is none left */ \
	X(COMM,          "comm")          /* of rows: NCCL is called, */ \
	X(COMM_MADE,     "comm_made")     /* and makes a communicator */
/* clang-format on */

enum ms_framework {
#define X(framework, name) MS_FRAMEWORK_##framework,
	MS_FRAMEWORKS(X)
#undef X
		MS_FRAMEWORKS_COUNT,
};

enum ms_tensor_action {
#define X(action, name) MS_TENSOR_##action,
	MS_TENSOR_ACTIONS(X)
#undef X
		MS_TENSOR_ACTIONS_COUNT,
};

enum ms_tensor_flags {
	MS_TENSOR_STACK = 1 << 0, /* event.stack is where the block was asked for */
	/* Totals and device are not told; `reserved` is which of the process's allocators it is. */
	MS_TENSOR_UNTOLD = 1 << 1,
	/*
	 * Whether a stack was taken was left to chance, as the block has less than
	 * MS_TENSOR_ALWAYS_BYTES: the probability is its part of those, or that of
	 * MS_TENSOR_LEAST_BYTES if it has less.
	 */
	MS_TENSOR_CHANCE = 1 << 2,
};

/* Powers of two; recordings are read by them. */
#define MS_TENSOR_ALWAYS_BYTES (1u << 20)
#define MS_TENSOR_LEAST_BYTES (1u << 16)

/* A row of frameworks.def. */
struct ms_framework_row {
	__u8 framework; /* enum ms_framework */
	__u8 action;    /* enum ms_tensor_action */
	/* Which argument says what, or MS_PLACE_NONE: */
	__u8 addr, size, allocated, reserved, device; /* of NCCL, `device`: enum ms_nccl_function */
	__u8 is_untold; /* MS_TENSOR_UNTOLD: `reserved` is the allocator itself */
};

/* A request of a thread for a block, or a call of NCCL, until it is over. */
struct ms_tensor_request {
	__u64 sp; /* 0: there is none */
	__u64 size, start_ns;
	__u64 allocator; /* of NCCL: the communicator, or where it will be */
	__u64 began_ns;  /* of NCCL, as what follows */
	__u32 stack, row;
	__u32 detail, reserved;
};

/* As the framework says it: nothing of it has been checked. */
struct ms_tensor {
	struct ms_event event;
	__u64 addr;      /* of the block; 0: none */
	__s64 size;      /* bytes; of a block that came back: negative */
	__u64 allocated; /* bytes in all blocks of the device that the program has, afterwards */
	__u64 reserved;  /* bytes that the allocator has from the driver for them */
	__s32 device;    /* ordinal as the process sees it; -1: not said */
	__u16 framework; /* enum ms_framework */
	__u8 action;     /* enum ms_tensor_action */
	__u8 flags;      /* enum ms_tensor_flags */
};

_Static_assert(sizeof(struct ms_tensor) == 72, "wire layout");

#endif /* MS_TENSOR_ABI_H */
