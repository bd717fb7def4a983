/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contract between the BPF programs and user space: the records in the ring buffers, the probe
 * table's row layout, the settings and the counters. It is the only header that both sides
 * include. The records are also what a dump stores, so they are laid out without holes, in host
 * byte order, with every size asserted below.
 */
#ifndef MS_ABI_H
#define MS_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#include "cuda_abi.h"
#include "probe_abi.h"

/* ---- records --------------------------------------------------------------------------------- */

/* bpf/records.def has a row for each. */
enum ms_type {
#define MS_RECORD(type, number, ...) MS_TYPE_##type = (number),
#include "records.def"
#undef MS_RECORD
	MS_TYPES_COUNT,
};

/* clang-format off */

/*
 * What the kernel side counts apart, besides calls (by op): the kind, its number in recordings, the
 * ring, and whether what is live depends on its records. 66 and 67 are other counts, as below.
 */
#define MS_OTHER_KINDS(X) \
	X(FREE_BEGIN, 64, CRITICAL, true) \
	X(PROCESS,    65, CRITICAL, true) \
	X(OBJECT,     68, CRITICAL, true) \
	X(STACK,      69, CRITICAL, false) \
	X(TENSOR,     70, BULK,     false) \
	X(ACTIVITY,   71, BULK,     false) \
	X(GPU,        72, CRITICAL, false) /* what is said besides of what GPUs did */ \
	X(MARKER,     73, BULK,     false) \
	X(WHO,        74, CRITICAL, false) /* struct ms_who; `seen` has only those that are lost */ \
	X(LAUNCH_SAMPLE, 75, BULK,  false)
/* clang-format on */

enum ms_kind {
	MS_KIND_LAST_OP = MS_OPS_COUNT - 1,
#define X(kind, number, ring, matters) MS_KIND_##kind,
	MS_OTHER_KINDS(X)
#undef X
		MS_KINDS_COUNT,
};

/* The kinds whose records are in the bulk ring: a bit set. */
#define X(kind, number, ring, matters) | (MS_RING_##ring << MS_KIND_##kind)
enum { MS_BULK_KINDS = MS_BULK_OPS MS_OTHER_KINDS(X) };
#undef X

#define MS_BY_OP -1
#define MS_BY_NONE -2

/* What each is counted as: enum ms_kind. */
enum ms_counted {
#define MS_RECORD(type, number, layout, size, subject, shape, kind, name) \
	MS_COUNTED_##type = (kind),
#include "records.def"
#undef MS_RECORD
};

/*
 * User space can only learn a process's start from /proc/PID/stat, which counts ticks of 1/100 s
 * (USER_HZ). The kernel side rounds to the same.
 */
#define MS_START_NS 10000000ull
#define MS_PID_BITS 22 /* of any process (linux/threads.h, PID_MAX_LIMIT) */

/* Begins every record. A process is (pid, start_ns), never a pid alone. */
struct ms_event {
	__u64 ts_ns; /* CLOCK_MONOTONIC; of a call: when it began, of a name: when it was given */
	__u64 start_ns; /* of the process: CLOCK_BOOTTIME, a multiple of MS_START_NS */
	__u32 pid;      /* of the process (thread group) */
	__u32 tid;
	__u16 type; /* enum ms_type */
	__u16 size; /* of the whole record, bytes */
	union {
		__u32 epoch; /* see struct ms_launch_key; 0 if launches are recorded */
		__u32 stack; /* of a call with MS_CALL_STACK, a block with MS_TENSOR_STACK, or a
			      * struct ms_launch_sample: the id of its struct ms_stack */
	};
};

#define MS_NO_ROW 0xffff

enum ms_call_flags {
	MS_CALL_NESTED = 1 << 0, /* made by another call of the table, and not merged into it */
	MS_CALL_PART = 1 << 1,   /* that one does the same and has an event of its own */
	MS_CALL_STACK = 1 << 2,  /* event.stack is where it was called from */
};

/* Which members of struct ms_call hold a value; the others are 0 and mean "unknown". */
enum ms_known {
	MS_KNOWN_ADDR = 1 << 0,
	MS_KNOWN_SIZE = 1 << 1,
	MS_KNOWN_SRC = 1 << 2,
	MS_KNOWN_STREAM = 1 << 3,
	MS_KNOWN_CONTEXT = 1 << 4,
	MS_KNOWN_DEVICE = 1 << 5,
	MS_KNOWN_DIRECTION = 1 << 6,
	MS_KNOWN_DIMS = 1 << 7,
	MS_KNOWN_SHARED = 1 << 8,
	MS_KNOWN_RESULT = 1 << 9, /* and the duration */
};

struct ms_call {
	struct ms_event event;
	__u64 duration_ns; /* from entry to return */
	__u64 addr;        /* alloc, free: the block; copy, memset: destination; launch: function;
			    * sync: the event waited for; context: the context acted on */
	__u64 size;        /* bytes */
	__u64 src;         /* copy: source; launch: host-side handle if the runtime launched; alloc:
			    * the pool, the handle that is mapped, or a hash of the one that is
			    * opened (0: unknown); memory: see enum ms_action */
	__u64 stream;
	__u64 context;    /* current in the thread when the call ended */
	__s32 device;     /* ordinal as the process sees it */
	__s32 result;     /* CUresult or cudaError_t */
	__u16 row;        /* of probes.def: the outermost call */
	__u16 driver_row; /* the driver call merged into it, or MS_NO_ROW */
	__u16 known;      /* enum ms_known */
	__u8 direction;   /* enum ms_direction */
	__u8 flags;       /* enum ms_call_flags */
};

/*
 * What the thread did in a call that was followed to its end: for `runnable_ns` it could have run
 * and waited for a CPU, for `blocked_ns` it waited for something else, and the rest of the duration
 * it ran. A record of type CALL has this at its end unless the kernel cannot tell.
 */
struct ms_split_call {
	struct ms_call call;
	__u64 runnable_ns;
	__u64 blocked_ns;
};

struct ms_launch {
	struct ms_call call;
	__u32 grid[3];
	__u32 block[3];
	__u32 shared_bytes; /* dynamic shared memory */
	__u32 reserved;     /* 0 */
};

/*
 * Calls (of kernels, copies, memsets, synchronisations) that were counted instead of recorded,
 * because no one looks at each. Sizes and durations are sums. What else differs between them
 * (thread, stream, context, dimensions) is 0 and not marked as known; the time is that of the last
 * look at the count.
 */
struct ms_calls {
	struct ms_call call;
	__u64 count;
};

/*
 * What equal launches have in common. A handle can come to mean another function: then a new epoch
 * begins, for all processes, which separates launches of before and after; likewise when a
 * process executes another program.
 */
struct ms_launch_key {
	__u64 start_ns;
	__u64 addr; /* and so on: as in struct ms_call */
	__u64 src;
	__u32 pid;
	__u32 epoch;
	__u32 program; /* as in struct ms_process */
	__s32 result;
	__u16 row;
	__u16 driver_row;
	__u16 known;
	__u8 flags;
	__u8 reserved; /* 0 */
};

/*
 * Where a launch came from that was counted, and that chance has chosen: it stands for `one_in`
 * launches. `event.stack` is its stack's id, or 0: it has none.
 */
struct ms_launch_sample {
	struct ms_event event;
	__u32 one_in;   /* each launch is chosen with a chance of 1 in so many */
	__u16 row;      /* of probes.def: the outermost call */
	__u16 reserved; /* 0 */
};

/*
 * A free takes effect when it is entered: before it returns, another thread can be given the
 * address.
 */
struct ms_free {
	struct ms_event event;
	__u64 addr;
	__u64 size;        /* 0: unknown, or it needs none */
	__u64 stream;      /* 0: none */
	__u16 row;         /* of probes.def */
	__u16 reserved[3]; /* 0 */
};

#define MS_NAME_BYTES 512 /* that BPF reads */
#define MS_NAME_MAX 8192  /* that user space may add to, if the name is longer */

/* A handle's name, or another handle that names the same function. */
struct ms_name {
	struct ms_event event;
	__u64 handle;
	__u64 alias;  /* 0: none, `name` holds the name */
	__u64 string; /* its address in the process, should `name` be cut short or unread */
	__u32 length; /* bytes of `name` that follow, NUL included; 0: could not be read */
	__u32 found;  /* by user space, in memory: no call has said it, and it was so before */
	char name[];  /* at most MS_NAME_MAX */
};

#define MS_COMM_BYTES 16

enum ms_attach_flags {
	MS_ATTACH_RUNNING =
		1,           /* with the driver: it may hold memory whose allocation was not seen */
	MS_ATTACH_BEGUN = 2, /* only just: by its first call one can tell */
};

/* The status of a process whose end was not seen: no status of wait(2) has so many bits. */
#define MS_EXIT_UNKNOWN 0xffffffffu

struct ms_process {
	struct ms_event event;
	__u64 child_start_ns; /* fork: of the child */
	union {
		__u32 child_pid; /* fork */
		__u32 program;   /* exec: counts up with each that the process executes */
	};
	__u32 value; /* exit: the status as wait(2) gives it, or MS_EXIT_UNKNOWN;
			       * attach: the flags; exec: 1
			       * if another thread than the first one did it */
	char comm[MS_COMM_BYTES];
};

/* Numbers that leave room for more ops. */
enum ms_account_other {
	MS_ACCOUNT_UNTRACKED = 66, /* `lost`: of what the others say was lost */
	MS_ACCOUNT_ABANDONED = 67, /* `seen` */
#define X(kind, number, ring, matters) MS_ACCOUNT_##kind = (number), /* MS_KIND_... */
	MS_OTHER_KINDS(X)
#undef X
};

/*
 * What struct ms_counters says more than it did when it was looked at last: a recording has no
 * other way to know what it lacks, and since when.
 */
struct ms_account {
	struct ms_event event; /* the time of this look; no process */
	__u16 op;              /* enum ms_op, or enum ms_account_other */
	__u16 reserved[3];     /* 0 */
	__u64 seen;
	__u64 lost;
};

enum ms_visible_flags {
	MS_VISIBLE_RENUMBERED = 1, /* by CUDA_VISIBLE_DEVICES */
	MS_VISIBLE_SINGLE = 2,     /* there is one device file: its number can only be 0 */
};

/* Which devices a program sees: host/device_view.h. */
struct ms_visible {
	struct ms_event event;
	__u64 key;   /* equal for those that see the same in the same order; 0: not known */
	__u32 flags; /* enum ms_visible_flags */
	__u32 reserved;
};

/*
 * Records of a process that were lost since the last such record of it. An account says the same of
 * all processes, and of those that found no place among MS_LOSING_PROCESSES, too.
 */
struct ms_loss {
	struct ms_event event;
	__u16 op; /* enum ms_op, or MS_ACCOUNT_... of a row of MS_OTHER_KINDS, or _ABANDONED */
	__u16 reserved[3]; /* 0 */
	__u64 lost;        /* MS_ACCOUNT_ABANDONED: so many calls never returned */
};

#define MS_FUNCTION_BYTES 64

/*
 * A library that the process maps, or is going to, is newer than this program:
 * user/event/cuda_names.h.
 */
struct ms_newer {
	struct ms_event event;
	__u64 functions;                  /* that it exports and that are not known */
	__u64 memory;                     /* those of them that are about memory, by their names */
	char function[MS_FUNCTION_BYTES]; /* one of them, about memory if any is; NUL-terminated */
};

#define MS_PATH_BYTES 128

/* A CUDA library, by its name, that the process has mapped and that could not be opened. */
struct ms_unread {
	struct ms_event event;
	__u32 error; /* errno */
	__u32 reserved;
	char path[MS_PATH_BYTES]; /* its end, as the process sees it; filled up with 0 */
};

#define MS_IDENTITY_MAX 32768 /* bytes of its texts */

/*
 * Who a process is: pairs of texts, a name and a value, both NUL-terminated, up to the record's end
 * (user/event/identity.def). It replaces what an earlier one said.
 */
struct ms_identity {
	struct ms_event event;
	__u32 length; /* bytes of texts */
	__u32 reserved;
	char texts[];
};

#include "activity_abi.h"
#include "agent_abi.h"
#include "ask_abi.h"
#include "driver_abi.h"
#include "host_abi.h"
#include "marker_abi.h"
#include "nvml_abi.h"
#include "python_abi.h"
#include "stack_abi.h"
#include "nccl_abi.h"
#include "tensor_abi.h"
#include "who_abi.h"

/* They are moved about in words of 64 bits. */
#define MS_RECORD(type, number, layout, ...) \
	_Static_assert(sizeof(struct layout) % 8 == 0, "records are whole words");
#include "records.def"
#undef MS_RECORD
_Static_assert(sizeof(struct ms_source) == 4, "wire layout");
_Static_assert(sizeof(struct ms_object) == 72, "wire layout");
_Static_assert(sizeof(struct ms_range) == 96, "wire layout");
_Static_assert(sizeof(struct ms_spec) == 64, "wire layout");
_Static_assert(sizeof(struct ms_event) == 32, "wire layout");
_Static_assert(sizeof(struct ms_call) == 96, "wire layout");
_Static_assert(sizeof(struct ms_split_call) == 112, "wire layout");
_Static_assert(sizeof(struct ms_launch) == 128, "wire layout");
_Static_assert(sizeof(struct ms_calls) == 104, "wire layout");
_Static_assert(sizeof(struct ms_account) == 56, "wire layout");
_Static_assert(sizeof(struct ms_launch_sample) == 40, "wire layout");
_Static_assert(sizeof(struct ms_launch_key) == 48, "a key has no holes");
_Static_assert(sizeof(struct ms_free) == 64, "wire layout");
_Static_assert(sizeof(struct ms_name) == 64, "wire layout");
_Static_assert(sizeof(struct ms_process) == 64, "wire layout");
_Static_assert(sizeof(struct ms_device) == 152, "wire layout");
_Static_assert(sizeof(struct ms_held) == 104, "wire layout");
_Static_assert(sizeof(struct ms_xid) == 152, "wire layout");
_Static_assert(sizeof(struct ms_host) == 104, "wire layout");
_Static_assert(sizeof(struct ms_load) == 152, "wire layout");
_Static_assert(sizeof(struct ms_node) == 56, "wire layout");
_Static_assert(sizeof(struct ms_gpu) == 72, "wire layout");
_Static_assert(sizeof(struct ms_placement) == 72, "wire layout");
_Static_assert(sizeof(struct ms_limit) == 408, "wire layout");
_Static_assert(sizeof(struct ms_budget) == 64, "wire layout");
_Static_assert(sizeof(struct ms_who) == 88, "texts follow without a hole");

/* ---- settings and counters ------------------------------------------------------------------- */

/* Chosen before load; frozen while the programs run. */
struct ms_settings {
	__u32 return_ops;     /* bit set of enum ms_op: calls followed to their return */
	__u32 count_launches; /* of kernels, instead of recording each */
	__u32 cpu_slots;      /* of each struct ms_cpu_slots: a power of two */
	__u32 admits;         /* enum ms_admits */
	__u32 driver_version; /* MS_DRIVER(); 0: unknown, and taken to be 580 */
	__u32 stack_ops;      /* bit set of enum ms_op: calls whose stacks are taken */
	__u32 stack_depth;    /* how many frames of one, at most MS_STACK_MOST */
	__u32 stack_kinds;    /* bit set of enum ms_frame_kind: frames that they have */
	__u32 governed;       /* a target may have MS_TARGET_ENTRIES */
	__u32 tensor_chance;  /* stacks of small blocks are taken by chance (MS_TENSOR_CHANCE) */
	__u32 who;            /* enum ms_who_wanted */
	__u32 test_device;    /* a file system whose files are taken for NVIDIA's; 0: none */
	__u32 launch_one_in;  /* of counted launches, stacks of one in so many are taken; 0: none */
	__u32 reserved;       /* 0 */
	__u64 secret; /* so that addresses of the kernel cannot be told from what stands for them */
	__u64 pid_space_device, pid_space; /* /proc/self/ns/pid of the capture, as stat(2) has it */
};

/*
 * Which processes are traced from their first call of a probed file on, without being asked for one
 * by one; with each comes an ATTACH record from the kernel, which is not counted: `value` is the
 * number of the file, `child_start_ns` when the process began (CLOCK_MONOTONIC), `child_pid` 1 if
 * it had MS_TARGET_STRANGER.
 */
enum ms_admits {
	MS_ADMITS_NONE,
	MS_ADMITS_ALL,
	MS_ADMITS_CGROUP, /* those in it and below */
};

/*
 * A struct ms_event: a process, or a thread of it, has been moved to another cgroup. No row of
 * records.def, and not counted: no recording has it.
 */
#define MS_TYPE_MOVED 0x8002

/*
 * In front of each ring buffer every CPU has a ring of its own, with a slot for each record: no
 * lock that all CPUs share, and memory that stays in the CPU's cache. Position p, counted from the
 * beginning, is slot p modulo their number.
 */
struct ms_slot {
	__u64 turn; /* p + 1: the record of position p is complete */
	__u64 record[sizeof(struct ms_launch) / 8];
};

struct ms_cpu_slots {
	__u64 head; /* the next position to be written: the thread that raises it writes the slot */
	__u64 seen; /* a value that `tail` had, maybe not its latest */
	__u64 start_ns; /* of the process that used it last: saves a division */
	__u64 apart[5];
	__u64 tail; /* the next position to be read; in a cache line that only user space writes */
	__u64 apart_too[7];
	struct ms_slot slots[];
};

#define MS_CPU_SLOTS(cpu, ring) ((cpu)*MS_RINGS_COUNT + (ring)) /* its index in the map */

/* What the end of a capture has come to. */
enum ms_stop {
	MS_STOP_NOT,
	MS_STOP_ENTRIES, /* no call is entered any more; those in progress are still recorded */
	MS_STOP_ALL,     /* nothing is recorded any more */
};

/* Traced calls in progress in a thread; further ones are not tracked. A power of two: a mask. */
#define MS_DEPTH 8

/* Different launches that can be counted; what finds no room is recorded. */
#define MS_LAUNCH_KEYS 16384

/* Counted on every CPU. seen = what user space received + lost, for every kind and exactly. */
struct ms_counters {
	__u64 seen[MS_KINDS_COUNT];
	__u64 lost[MS_KINDS_COUNT]; /* there was no room in the ring, or the call was untracked */
	__u64 untracked;  /* of all those lost: no memory for the thread, or MS_DEPTH calls in it */
	__u64 abandoned;  /* calls that never returned (longjmp, exceptions, ends of threads) */
	__u64 bystanders; /* calls, of probed files, by processes that are not traced */
};

/* Processes whose losses are counted apart. */
#define MS_LOSING_PROCESSES 1024

struct ms_process_key {
	__u64 start_ns; /* as in struct ms_event */
	__u32 pid;
	__u32 reserved; /* 0 */
};

struct ms_process_losses {
	__u64 lost[MS_KINDS_COUNT];
	__u64 abandoned; /* as in struct ms_counters */
};

/* What the targets map says of a process. */
enum ms_target {
	MS_TARGET_TRACED = 1 << 0,
	MS_TARGET_FOLLOW = 1 << 1,  /* and its children */
	MS_TARGET_SHUT = 1 << 2,    /* its own probes are being attached: they record nothing yet */
	MS_TARGET_ENTRIES = 1 << 3, /* its bulk calls are not followed to their ends */
	MS_TARGET_DENIED = 1 << 4,  /* alone: it is none, and not let in by its calls either */
	MS_TARGET_UNSAID = 1 << 5,  /* at its first call, user space is told who it is */
	MS_TARGET_STACKLESS = 1 << 6, /* no stacks are taken of its calls */
	/* Alone: it is none, but called while it was not in the cgroup of MS_ADMITS_CGROUP. */
	MS_TARGET_STRANGER = 1 << 7,
};

#endif /* MS_ABI_H */
