/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps, the settings, the probe table, and what is remembered of a thread between two probes.
 */
#ifndef MS_MAPS_BPF_H
#define MS_MAPS_BPF_H

const volatile struct ms_settings settings = {};

/*
 * An enum ms_stop, set when a capture ends, before the probes are removed one after the other: in
 * between, frees would be missed whose allocations were seen.
 */
__u32 stopped = MS_STOP_NOT;

/*
 * By the number of a file: whether all of its probes are in place, and record what they see. As
 * long as they are not, an allocation could be seen whose free is not.
 */
__u8 open_files[MS_FILES] = {};

/* How many targets have MS_TARGET_SHUT. */
__u32 shut_targets = 0;

/* Whether any target has, or has had, MS_TARGET_ENTRIES. */
__u32 entry_targets = 0;

/* The same of MS_TARGET_STACKLESS. */
__u32 stackless_targets = 0;

/* See struct ms_launch_key. */
__u32 epoch = 0;

/* Whether anything was lost: user space looks at it before it looks at the map. */
__u32 has_losses = 0;

/* How many MS_TYPE_MOVED found no room in the ring. */
__u32 lost_moves = 0;

/* Whether it is also wanted of processes that are not known here. */
__u32 moves_of_all = 0;

/* How often a launch was counted that was not like any before. */
__u64 launch_keys = 0;

/* clang-format off */
enum ms_row {
#define MS_ROW(layer, function, ...) MS_ROW_##function,
#include "probes.def"
#undef MS_ROW
	MS_ROWS_COUNT,
};

#define MS_SPECS 512 /* a power of two: indices are masked with it */
_Static_assert(MS_ROWS_COUNT <= MS_SPECS, "probe table outgrew its index mask");

const struct ms_spec ms_specs[MS_SPECS] = {
#define MS_ROW(of_layer, function, operation, ...) \
	[MS_ROW_##function] = { .op = MS_OP_##operation, .kind = MS_ROW_KIND_##operation, \
				.layer = MS_LAYER_##of_layer, ##__VA_ARGS__ },
#include "probes.def"
#undef MS_ROW
};
/* clang-format on */

/* barrier_var() keeps clang from dropping the bounds check that the verifier looks for. */
static __always_inline const struct ms_spec *spec_of(__u32 row)
{
	barrier_var(row);
	return &ms_specs[row & (MS_SPECS - 1)];
}

/* Sizes are set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ms_critical SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ms_bulk SEC(".maps");

/* In front of those: MS_CPU_SLOTS() -> struct ms_cpu_slots. User space maps it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct ms_cpu_slots));
} ms_cpu_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ms_counters);
} ms_counts SEC(".maps");

/* What was lost, by process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_LOSING_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ms_process_key);
	__type(value, struct ms_process_losses);
} ms_losses SEC(".maps");

const struct ms_process_losses no_losses = {};

/* Traced processes: pid -> enum ms_target; 0: as one that is not there. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} ms_targets SEC(".maps");

static __always_inline __u32 target_flags(__u32 pid)
{
	__u32 *flags = bpf_map_lookup_elem(&ms_targets, &pid);

	return flags ? *flags : 0;
}

/* The one that MS_ADMITS_CGROUP means. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} ms_cgroup SEC(".maps");

/* These two have no room at all unless launches are counted. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ms_launch_key);
	__type(value, __u64);
} ms_launch_counts SEC(".maps");

struct ms_handle {
	__u64 start_ns;
	__u64 handle;
	__u64 pid;
};

/*
 * What handles of functions mean: a hash of the name, or the handle that they are another one of;
 * 0: they have been launched, but not named.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct ms_handle);
	__type(value, __u64);
} ms_named SEC(".maps");

struct ms_context_key {
	__u64 start_ns;
	__u64 context;
	__u32 pid;
	__u32 program; /* how many the process has executed: handles mean nothing to the next */
};

/* On which device contexts are, as far as a call has said it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct ms_context_key);
	__type(value, __s32);
} ms_context_devices SEC(".maps");

/* ---- per thread ------------------------------------------------------------------------------ */

/* What a call's values are read from. */
struct ms_input {
	__u64 args[MS_ARGS];
	__s64 result; /* -1 until it is known: the call may have yet to write what it writes */
};

/* What the kernel has counted of a thread; all but the last in nanoseconds. */
struct ms_on_cpu {
	__u64 looked_ns; /* when it last counted the next one, by its scheduler's clock */
	__u64 running_ns;
	__u64 runnable_ns;
	__u64 migrations;
};

/* A call that has been entered. */
struct ms_frame {
	__u64 sp; /* identifies the call: see regs_entry_sp() */
	struct ms_input input;
	struct ms_launch record;
	struct ms_on_cpu entered; /* as it was then; of no launch */
	struct ms_launch inner;   /* of a finished inner call of the same kind, not yet reported */
	__u8 op;
	__u8 holds;   /* `inner` is there */
	__u8 is_over; /* it is not followed to its return */
	__u8 begun;   /* free: its MS_TYPE_FREE_BEGIN is out, or an outer call's */
};

#define MS_TRAMPOLINE_BYTES 4096 /* the page that the return trampoline is in */
#define MS_CONTEXTS 4            /* current contexts on one thread's stack */

struct ms_current {
	__u64 context; /* 0: unknown */
	__s32 device;  /* -1: unknown */
};

/* A question that is being answered: see ask.bpf.h. */
struct ms_question {
	__u64 sp;      /* identifies the call; 0: there is none */
	__u64 answer;  /* where it will be */
	__u64 context; /* that is asked about, if the function takes one */
};

#define MS_QUESTIONS 4 /* by row of asks.def; a power of two: a mask */
_Static_assert((int)MS_ASK_ROWS <= MS_QUESTIONS, "each row has its question");

struct ms_thread {
	__u64 start_ns;
	__u32 depth;
	__u32 contexts;
	struct ms_current current[MS_CONTEXTS];
	struct ms_question questions[MS_QUESTIONS];
	struct ms_frame frames[MS_DEPTH];
	__u64 ioctl_argument;
	__u32 ioctl_file; /* file_number() */
	__u32 ioctl_row;  /* of ms_ioctls, plus 1; 0: the thread is in none of them */
	__u64 name[(sizeof(struct ms_name) + MS_NAME_BYTES) / 8]; /* scratch: a struct ms_name */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ms_thread);
} ms_threads SEC(".maps");

static __always_inline struct ms_frame *frame_at(struct ms_thread *thread, __u32 depth)
{
	barrier_var(depth);
	return &thread->frames[depth & (MS_DEPTH - 1)];
}

#endif /* MS_MAPS_BPF_H */
