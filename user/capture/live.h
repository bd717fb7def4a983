/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live capture: finds the targets, attaches, and feeds what happens to a callback until the targets
 * are gone, the time is over or the user presses Ctrl-C. One thread, one epoll loop.
 */
#ifndef MEMSCOPE_CAPTURE_LIVE_H
#define MEMSCOPE_CAPTURE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "capture/attach/features.h"
#include "capture/targets/scope.h"
#include "ledger/summary.h"

struct live_options {
	struct features *features;
	const pid_t *pids;
	size_t pids_count;
	struct scope scope;     /* others */
	char *const *command;   /* NULL-terminated; NULL: none is started */
	bool output_is_taken;   /* standard output: the command gets standard error for its own */
	bool terminal_is_taken; /* the command gets nothing instead of it */
	bool follow;            /* children too */
	bool in_processes;  /* probes are put into the traced processes alone, never into files */
	const char *beside; /* advice for people if processes that are not traced have probes */
	bool command_lines; /* records of identities have them, too */
	struct name_sources *names; /* of containers and pods; outlives the capture */
	uint32_t ops;               /* bit set of enum ms_op: what is probed */
	uint32_t layers;            /* bit set of enum ms_layer */
	uint32_t spared;        /* ops (bit set) whose runtime functions are left to the driver, */
	const bool *named;      /* but for these, by row; NULL: all. Outlives the capture. */
	bool entries_only;      /* no call is followed to its end */
	bool count_launches;    /* of kernels, instead of recording each */
	bool tensors;           /* what the allocators of frameworks say of themselves, too */
	bool tensor_chance;     /* stacks of small blocks of these are taken by chance */
	uint32_t launch_one_in; /* stacks of one counted launch in so many are taken; 0: of none */
	const struct marker_rows *markers; /* NULL: none. Outlives the capture. */
	/* That are phases, if `stack_ops`; NULL: none. Outlives the capture. */
	const struct python_functions *python_functions;
	bool marks;            /* memscope-bpf mark is listened to */
	bool governed;         /* live_set_entries() and live_set_bulk() may be called */
	bool gpu_times;        /* of a command: CUPTI is asked when its kernels and copies ran, */
	uint64_t gpu_times_ns; /* for so long; 0: as long as it runs */
	uint64_t count_ns;     /* counted launches are fed so often; 0: only when they have to be */
	uint64_t duration_ns;  /* 0: until the targets are gone */
	uint64_t devices_ns;   /* NVML is asked so often; 0: not at all */
	const struct state *state; /* what is fed ends in; NULL: not known */
	uint64_t host_ns;          /* the host is looked at so often, at most; 0: not at all */
	uint32_t stack_ops;        /* bit set of enum ms_op: calls whose stacks are taken */
	uint32_t stack_depth;      /* frames of a stack, at most MS_STACK_MOST */
	uint32_t stack_kinds;      /* bit set of enum ms_frame_kind: of which kinds they are */
	uint64_t table_bytes;      /* that the tables for that may take in the kernel */
	const char *table_cache;   /* the directory where they are kept; NULL: nowhere */
	/* A file in which they are kept (capture/targets/known_libraries.h); NULL: they are not. */
	const char *known_libraries;
	uint64_t ring_bytes; /* of each of the two large rings; rounded up to a power of two */

	/* Records, and the end of a batch of them. Non-zero ends the capture. */
	int (*feed)(void *context, void *record, size_t length);
	int (*flush)(void *context);
	/* May be NULL; else a signal (0: none) that does not end the capture, but calls this. */
	void (*signalled)(void *context);
	int signal;
	void *context;
};

struct live;
struct loop;

/* Attaches to the targets; a command is started but still waits. Returns 0 or -errno, logged. */
int live_open(struct live **live, const struct live_options *options);

/*
 * Captures until the end. Returns 0, or -errno, logged unless it came from the callbacks: -ECHILD
 * if the command could not be executed (live_wait_command() gives the exit code for that).
 */
int live_run(struct live *live);

/* From a callback: ends the capture as if its time were over. A command goes on. */
void live_end(struct live *live);

/* What the capture waits with: others may add sources to it before live_run(). */
struct loop *live_loop(const struct live *live);

/*
 * Feeds what has happened so far, unless it is held up by a record that is still being written.
 * From the loop, and not from within `feed`, `flush`.
 */
void live_drain(struct live *live);

/* ---- costing less: from the loop ---- */

/*
 * Feeds what has happened so far, also launches that are counted. Not from within `feed`, `flush`.
 */
void live_look(struct live *live);

/* Asks NVML now, too, if it is asked at all: what it said is not so any more. */
void live_ask_devices(struct live *live);

/*
 * Of the bulk calls (MS_BULK_OPS) of a traced process only the entries are captured, or no longer.
 * Returns 0, -ENOENT: it is not traced (any more), -ENOTSUP: this kernel has no uprobe sessions, or
 * another -errno.
 */
int live_set_entries(struct live *live, pid_t pid, uint64_t start_ns, bool entries);
bool live_can_set_entries(const struct live *live);

/* No stacks are taken of the process' calls, or again, if they are wanted. Returns as above. */
int live_set_stackless(struct live *live, pid_t pid, uint64_t start_ns, bool stackless);

/*
 * Whether bulk calls have probes, of all processes. Removing takes a moment, in which they are
 * still captured. Allocations and frees keep theirs. Returns 0, or -errno, logged: not all have
 * them; -EAGAIN: they are still being removed, try again later.
 */
int live_set_bulk(struct live *live, bool wanted);
bool live_can_set_bulk(const struct live *live);

/*
 * Whether that process' bulk calls are to have probes, and do not: they could not be attached, or a
 * process that uses the same file has changed its functions. live_set_bulk() tries it again.
 */
bool live_misses_bulk(const struct live *live, pid_t pid, uint64_t start_ns);

enum live_reason {
	LIVE_TARGETS_GONE,
	LIVE_DURATION,
	LIVE_SIGNAL,
};

/*
 * What to type so that a library which a script makes the loader find is known in time, for the
 * end of a message. After the first time "": it is the same for all.
 */
const char *live_late_cure(struct live *live);

/* Why the capture ended, if it was for no error. */
enum live_reason live_reason(const struct live *live);

/* The first of the processes that were asked for by themselves; 0: none was. */
pid_t live_first_pid(const struct live *live);

/* Whether a target has mapped a file with functions to trace: without one, no call can be seen. */
bool live_saw_library(const struct live *live);

/* Whether one of the processes had the function or probe of that row of the markers. */
bool live_saw_marker(const struct live *live, size_t row);

/* Whether one of the processes called CUDA in the Python function at that place. */
bool live_saw_python(const struct live *live, size_t place);

/* At least so many had such a file, and ended or executed another program before it had probes. */
size_t live_missed(const struct live *live);

/* How many processes that live the policy denies, as far as it has been asked for them. */
size_t live_denied(const struct live *live);

/* How many processes were moved to where the policy denies them, or no longer does so. */
struct live_moved {
	uint64_t denied, admitted;
};
struct live_moved live_moved(const struct live *live);

/*
 * From now on, another policy holds (NULL: none), which outlives the capture: who it denies is
 * traced no more, and seen to end now; who was denied is traced, as one that was running.
 */
void live_set_policy(struct live *live, const struct policy *policy);

/* Forgets those of them that have ended without having been noticed; to be called now and then. */
void live_look_at_denied(struct live *live);

/* The ledger has forgotten stacks (ledger/stack_upkeep.h), and has these. */
void live_keep_stacks(struct live *live, const struct stacks *stacks);

/* At least so many descendants of targets used CUDA and were not traced. */
size_t live_untraced(const struct live *live);

/* Children so far that are not traced and have the driver from a target. */
const struct untraced_forks *live_untraced_forks(struct live *live);

/*
 * Targets so far that have left the cgroup, container, pod or namespace that was chosen; NULL: none
 * was.
 */
const struct cgroup_leavers *live_cgroup_leavers(const struct live *live);

/* How many targets had mapped a CUDA library that could not be opened. */
size_t live_unread(const struct live *live);

/* When the capture ended, CLOCK_MONOTONIC: detaching afterwards can take long. */
uint64_t live_end_ns(const struct live *live);

/*
 * Detaches, and feeds what is still in the rings. Returns 0 or -errno. Where detaching takes longer
 * it goes on; nothing is recorded any more.
 */
int live_stop(struct live *live);

/* After live_stop(): exact. Returns 0 or -errno. */
int live_counters(const struct live *live, struct ms_counters *counters);

/* Calls in those counters that are of processes that turned out not to be asked for. */
uint64_t live_dropped(const struct live *live);

/* What the capture took so far. */
void live_cost(const struct live *live, struct summary_cost *cost);

/*
 * Waits for the command to end. Returns its exit code, 128 + the number of the signal that killed
 * it, or -1 if none was started.
 */
int live_wait_command(struct live *live);

/*
 * Waits for what is not detached yet, half a minute and more on some kernels: a user may end this
 * program meanwhile, so the caller has nothing left to lose.
 */
void live_close(struct live *live);

#endif /* MEMSCOPE_CAPTURE_LIVE_H */
