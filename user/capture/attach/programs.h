/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loaded BPF programs: loading them for an attach strategy, and reading their counters.
 * capture/attach/attachment.h attaches them.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_PROGRAMS_H
#define MEMSCOPE_CAPTURE_ATTACH_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "capture/attach/detacher.h"
#include "capture/attach/features.h"
#include "capture/attach/link.h"
#include "capture/attach/marker_rows.h"
#include "capture/attach/placement.h"
#include "capture/attach/strategy.h"
#include "capture/records/merge.h"

struct programs_options {
	enum strategy strategy;
	uint32_t ops;          /* bit set of enum ms_op: functions that get probes */
	uint32_t return_ops;   /* those whose results and durations are wanted: a trap more */
	uint32_t layers;       /* bit set of enum ms_layer: functions that get probes */
	uint32_t spared;       /* bit set of enum ms_row_kind: see struct placement_wants */
	const bool *named;     /* as there; lives as long as the programs */
	bool count_launches;   /* of kernels, instead of recording each */
	bool gpu_times;        /* what our library in a command says is wanted */
	uint64_t ring_bytes;   /* of each of the two ring buffers: a power of two, in pages */
	enum ms_admits admits; /* through probes in a file */
	bool moves;            /* MS_TYPE_MOVED is wanted, of what the kernel side knows */
	int cgroup_fd;         /* of MS_ADMITS_CGROUP: its directory, of version 2 */
	uint32_t stack_ops;    /* bit set of enum ms_op: calls whose stacks are taken */
	uint32_t stack_depth;  /* frames of a stack, at most MS_STACK_MOST */
	uint32_t stack_kinds;  /* bit set of enum ms_frame_kind: of which kinds they are */
	const struct marker_rows *markers; /* NULL: none */
	bool marks;                        /* what `memscope-bpf mark` says is wanted */
	bool tensors;                      /* what allocators of frameworks say of themselves */
	bool tensor_chance;     /* stacks of small blocks are taken by chance (MS_TENSOR_CHANCE) */
	uint32_t launch_one_in; /* of counted launches, stacks of one in so many; 0: of none */
	enum ms_who_wanted who; /* which processes the kernel side says who they are */
	bool governed; /* probes of bulk calls can be removed, and their ends not be watched */
};

/* Whether this kernel can walk call stacks, and we may ask it. */
bool programs_can_walk_stacks(void);

/*
 * Whether the kernel's verifier takes the programs, which differs between kernels. Returns 0 or
 * -errno; the kernel's answer is logged for debugging.
 */
int programs_try(enum strategy strategy);

struct programs;

/* Returns 0 or -errno, logged; -ENOTSUP if this kernel cannot take the programs. */
int programs_open(struct programs **programs, const struct programs_options *options);
void programs_close(struct programs *programs);

/* ---- for attaching them: capture/attach/attachment.h ----------------------------------------- */

/* Those that are attached to functions. */
enum program {
	PROGRAM_ENTRY,
	PROGRAM_RETURN,
	PROGRAM_SESSION, /* both, with STRATEGY_SESSION */
	/* The same for ioctl() of a C library. */
	PROGRAM_IOCTL_ENTRY,
	PROGRAM_IOCTL_RETURN,
	PROGRAM_IOCTL_SESSION,
	/* And for functions by which a thread asks where it is (asks.def). */
	PROGRAM_ASK_ENTRY,
	PROGRAM_ASK_RETURN,
	PROGRAM_ASK_SESSION,
	/* Entries alone, or returns, whatever the strategy: */
	PROGRAM_TENSOR,
	PROGRAM_TENSOR_RETURN,
	PROGRAM_HAND, /* if `gpu_times` */
	PROGRAM_MARKER,
	PROGRAM_IOCTL_TAIL, /* behind its system call */
};

enum strategy programs_strategy(const struct programs *programs);

/* Which functions get probes. */
const struct placement_wants *programs_wants(const struct programs *programs);

/* Attaches one. Returns a descriptor, whose closing detaches it, or -errno. */
int programs_link(const struct programs *programs, enum program program,
		  const struct link_site *site, bool on_return);

/*
 * Whether programs could not be loaded or attached because resources or a permission are missing.
 * All else is what a verifier, or libbpf in its place, answers if a kernel cannot take them:
 * EACCES, EINVAL, E2BIG, ESRCH, ...
 */
bool programs_is_for_want(int err);

/* How what is attached is to be closed. */
enum detacher_way programs_detacher_way(const struct programs *programs);

/* ---- what they have seen, and whom they look at ---------------------------------------------- */

/* All that records come from; they live as long as the programs. */
struct merge *programs_merge(struct programs *programs);

/*
 * The map with struct ms_launch_key and counts, one for each possible CPU; and where it is counted
 * how often a key was new.
 */
int programs_launch_counts_fd(const struct programs *programs);
const __u64 *programs_launch_keys(const struct programs *programs);

/*
 * Maps by which the kernel side walks stacks (capture/stacks/stack_taker.h): ms_stack_ranges and
 * ms_unwind_tables; and where the generation of stacks is: whenever it becomes another one, the
 * kernel side reports each stack anew, with another id.
 */
__u32 *programs_stacks(const struct programs *programs, int *ranges_fd, int *tables_fd);

/*
 * What they were loaded with; and where they have the major number of /dev/nvidia-uvm: 0 if it is
 * not known, or what a traced process has said, which may be wrong.
 */
const struct ms_settings *programs_settings(const struct programs *programs, uint32_t **uvm_major);

/* The map of processes that are listened to: pid -> struct ms_asking. */
int programs_asking_fd(const struct programs *programs);

/* Becomes readable, edge-triggered, when there is a process record. */
int programs_wakeup_fd(const struct programs *programs);

/* The sums over all CPUs. Returns 0 or -errno. */
int programs_counters(const struct programs *programs, struct ms_counters *counters);

/* The map of what was lost by process, or -1 as long as nothing was. */
int programs_losses_fd(const struct programs *programs);

/* How often the programs ran and for how long; 0 unless the kernel counts that. */
void programs_run_time(const struct programs *programs, uint64_t *runs, uint64_t *ns);

/*
 * Records of the process's life are wanted (enum ms_target), or not any more (0). Returns 0 or
 * -errno; -ENOENT: they were not.
 */
int programs_set_target(struct programs *programs, pid_t pid, uint32_t flags);

/*
 * Whether a target has MS_TARGET_ENTRIES or MS_TARGET_STACKLESS, until it ends. Returns 0, -ENOTSUP
 * (only a session can choose at each call whether to watch its end), or -errno: -ENOENT: it is no
 * target.
 */
int programs_set_flag(struct programs *programs, pid_t pid, enum ms_target flag, bool wanted);

/* Whether the process, which is no target, has called functions that have probes in a file. */
bool programs_knows_stranger(const struct programs *programs, pid_t pid);

/* Whether MS_TYPE_MOVED is wanted of processes that the kernel side does not know, too. */
void programs_want_all_moves(struct programs *programs, bool wanted);

/* How often MS_TYPE_MOVED was lost. */
uint32_t programs_lost_moves(const struct programs *programs);

/* Which calls have probes apart from the others: a bit set of enum ms_row_kind, or 0. */
uint32_t programs_apart(const struct programs *programs);

/* Whether these are to be attached; if not, what is attached from now on goes without. */
void programs_set_bulk(struct programs *programs, bool wanted);
bool programs_wants_bulk(const struct programs *programs);

/*
 * Where the process keeps its Python frames, until it ends or executes another program; forked
 * children inherit it. Returns 0 or -errno.
 */
int programs_set_python(struct programs *programs, pid_t pid, const struct ms_python *python);

/*
 * The probes of the process alone, as long as they are being attached, record nothing. `flags` are
 * what programs_set_target() is to set. Returns as that does.
 */
int programs_shut_target(struct programs *programs, pid_t pid, uint32_t flags);
/* They do from now on. To be called once for each call of the other that has returned 0. */
void programs_open_target(struct programs *programs, pid_t pid, uint32_t flags);

/*
 * From when on the kernel side says who processes are (bpf/who_abi.h). It takes about 5 ms, once.
 * Without it, what ends before it is looked at has no identity.
 */
void programs_learn_layout(struct programs *programs);

/*
 * The number of a file whose functions are to get probes in every process, or 0: there are too many
 * already. The probes record nothing until the file is opened, and once it is shut.
 */
uint32_t programs_new_file(struct programs *programs);
void programs_open_file(struct programs *programs, uint32_t file);
void programs_shut_file(struct programs *programs, uint32_t file);

/*
 * From now on no call that is entered is recorded; those in progress still are at their return.
 * There must be no attaching after it.
 */
void programs_stop(struct programs *programs);

/* From now on nothing is recorded. Returns when no program is doing so any more. */
void programs_silence(struct programs *programs);

/* What attaching has used so far, elsewhere than in this process. */
uint64_t programs_cpu_ns(const struct programs *programs);

#endif /* MEMSCOPE_CAPTURE_ATTACH_PROGRAMS_H */
