/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that is about what GPUs did and when, which includes it: what CUPTI says of the
 * kernels and copies of a program. It is said by a library of ours in the program (user/inject),
 * which calls one function of its own for that; a probe at its entry reads what is handed over.
 */
#ifndef MS_ACTIVITY_ABI_H
#define MS_ACTIVITY_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* The function, and what its first argument says of the other two: a pointer and a number. */
#define MS_HAND_FUNCTION memscope_gpu_hand
#define MS_HAND_SYMBOL "memscope_gpu_hand"
enum ms_hand {
	MS_HAND_ACTIVITIES = 1, /* so many struct ms_activity_body, at most MS_HAND_MOST */
	MS_HAND_NAME,           /* one struct ms_gpu_name_body */
	MS_HAND_STATUS,         /* one struct ms_gpu_status_body */
};
#define MS_HAND_MOST 512

/* So many struct ms_activity may be one record of the ring buffer, one behind the other. */
#define MS_ACTIVITIES_TOGETHER 8

/* clang-format off */
#define MS_ACTIVITIES(X) \
	X(NONE,     "none") \
	X(KERNEL,   "kernel") \
	X(COPY,     "copy") \
	X(MEMSET,   "memset") \
	X(CALL,     "call")     /* of the driver, by the program: what the others belong to */ \
	X(OVERHEAD, "overhead") /* what CUPTI or the driver did besides */

/* What CUPTI calls the kinds of memory that copies and memsets are about, by its numbers. */
#define MS_GPU_MEMORIES(X) \
	X(UNKNOWN,        "unknown") \
	X(PAGEABLE,       "pageable") \
	X(PINNED,         "pinned") \
	X(DEVICE,         "device") \
	X(ARRAY,          "array") \
	X(MANAGED,        "managed") \
	X(DEVICE_STATIC,  "device_static") \
	X(MANAGED_STATIC, "managed_static")

/* Whether the library measures, and if not, why. */
#define MS_GPU_STATES(X) \
	X(OFF,     "off")     /* nothing is measured, because of `reason` */ \
	X(ON,      "on") \
	X(STOPPED, "stopped") /* the time that was asked for is over, or the reader is gone */ \
	X(ENDED,   "ended")   /* the program ends: this is the last that it says */

#define MS_GPU_REASONS(X) \
	X(NONE,        "none") \
	X(NO_LIBRARY,  "no_library")  /* no libcupti was found */ \
	X(OLD_LIBRARY, "old_library") /* one from before CUDA 11.8 */ \
	X(NO_FUNCTION, "no_function") /* it lacks a function that is needed */ \
	X(SUBSCRIBER,  "subscriber")  /* another tool uses CUPTI in the program */ \
	X(REFUSED,     "refused")     /* a function of it failed */ \
	X(NO_MEMORY,   "no_memory")   /* or no thread */ \
	X(CLOCK,       "clock")       /* its clock is neither of the two that are known */ \
	X(TIME,        "time")        /* the time that was asked for is over */ \
	X(READER,      "reader")      /* the program that reads is gone */ \
	X(CRASHED,     "crashed")     /* CUPTI crashed while it was set up */
/* clang-format on */

enum ms_activity_kind {
#define X(kind, name) MS_ACTIVITY_##kind,
	MS_ACTIVITIES(X)
#undef X
		MS_ACTIVITIES_COUNT,
};

enum ms_gpu_memory {
#define X(kind, name) MS_GPU_MEMORY_##kind,
	MS_GPU_MEMORIES(X)
#undef X
		MS_GPU_MEMORIES_COUNT,
};

enum ms_gpu_state {
#define X(kind, name) MS_GPU_##kind,
	MS_GPU_STATES(X)
#undef X
		MS_GPU_STATES_COUNT,
};

enum ms_gpu_reason {
#define X(kind, name) MS_GPU_REASON_##kind,
	MS_GPU_REASONS(X)
#undef X
		MS_GPU_REASONS_COUNT,
};

enum ms_activity_flags {
	MS_ACTIVITY_ASYNC = 1 << 0,           /* a copy: the call did not wait for it */
	MS_ACTIVITY_DEVICE_LAUNCHED = 1 << 1, /* by a kernel, not by a call */
	MS_ACTIVITY_UNTIMED = 1 << 2,         /* CUPTI has no times for it: both are 0 */
};

/* Times are CLOCK_MONOTONIC; what is not known, or means nothing for the kind, is 0. */
struct ms_activity_body {
	__u64 begin_ns;
	__u64 end_ns;
	__u64 size;        /* copy, memset: bytes */
	__u64 name;        /* kernel: the id of a struct ms_gpu_name */
	__u32 correlation; /* equal for a call and what it made the GPU do; CUPTI's, 32 bits */
	__u32 stream;      /* CUPTI's number of it in its context */
	__u32 context;     /* CUPTI's number */
	__s32 device;      /* ordinal as the process sees it; -1: unknown */
	__u32 thread;      /* call: as the process sees it */
	__u32 graph;       /* executable graph that it is a part of; CUPTI's number; 0: none */
	__u32 grid[3];     /* kernel */
	__u32 block[3];
	__u32 shared_bytes;
	__u16 registers; /* of each thread */
	__u16 what;      /* copy: enum ms_direction, or MS_DIRECTIONS_COUNT; call, overhead: CUPTI's
			  * number of it */
	__u8 kind;       /* enum ms_activity_kind */
	__u8 flags;      /* enum ms_activity_flags */
	__u8 from;       /* enum ms_gpu_memory; of a copy */
	__u8 to;         /* of a copy or memset */
	__u32 channel;   /* of the device's queues */
};

/* What a kernel is called. The id is a hash of the name: equal names have equal ids. */
#define MS_GPU_NAME_MAX 2048
struct ms_gpu_name_body {
	__u64 id;
	__u32 length; /* of the name, without NUL; it may have been cut off there */
	__u32 room;   /* bytes that follow, filled up with NUL: 128, 512 or MS_GPU_NAME_MAX */
};

#define MS_GPU_WHO_BYTES 96

/* All numbers are since the library began; times are in nanoseconds. */
struct ms_gpu_status_body {
	__u32 state;       /* enum ms_gpu_state */
	__u32 reason;      /* enum ms_gpu_reason */
	__s32 result;      /* what the function of CUPTI returned; 0: that is not the reason */
	__u32 version;     /* CUPTI's; 0: unknown */
	__u64 handed;      /* activities that were handed over */
	__u64 dropped;     /* records that CUPTI had no room for */
	__u64 untimed;     /* kernels, copies and memsets without times, or with impossible ones */
	__u64 no_buffer;   /* buffers that CUPTI asked for in vain */
	__u64 no_name;     /* kernels whose names found no place */
	__u64 clock_error; /* by how much times may be wrong because clocks were converted */
	__u64 took;        /* that setting up took the program */
	__u32 converted;   /* 1: CUPTI's clock was not CLOCK_MONOTONIC, and is converted */
	__u32 reserved;    /* 0 */
	char who[MS_GPU_WHO_BYTES]; /* the library's path, a function, a tool: NUL-terminated */
};

struct ms_activity {
	struct ms_event event; /* the time and the thread of handing over */
	struct ms_activity_body is;
};

struct ms_gpu_name {
	struct ms_event event;
	struct ms_gpu_name_body is;
	char name[];
};

struct ms_gpu_status {
	struct ms_event event;
	struct ms_gpu_status_body is;
};

_Static_assert(sizeof(struct ms_activity_body) == 96, "wire layout");
_Static_assert(sizeof(struct ms_gpu_name_body) == 16, "wire layout");
_Static_assert(sizeof(struct ms_gpu_status_body) == 176, "wire layout");

#endif /* MS_ACTIVITY_ABI_H */
