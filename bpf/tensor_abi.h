/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that is about tensors, which includes it: what the allocators of frameworks say
 * of themselves (frameworks.def).
 */
#ifndef MS_TENSOR_ABI_H
#define MS_TENSOR_ABI_H

/* clang-format off */
#define MS_FRAMEWORKS(X) \
	X(PYTORCH, "PyTorch")

/* What a function of the table is called for. */
#define MS_TENSOR_ACTIONS(X) \
	X(CHANGE,        "change")        /* a block was given to the program, or came back */ \
	X(OUT_OF_MEMORY, "out_of_memory") /* the program is told that there is none left */
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
};

/* A row of frameworks.def. */
struct ms_framework_row {
	__u8 framework; /* enum ms_framework */
	__u8 action;    /* enum ms_tensor_action */
	/* Which argument says what, or MS_PLACE_NONE: */
	__u8 addr, size, allocated, reserved, device;
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
