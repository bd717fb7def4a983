/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the traced processes: their live allocations, contexts, kernel names and totals.
 * state_apply() is the only way to change it, live and from a dump alike; it does no I/O and reads
 * no clock.
 */
#ifndef MEMSCOPE_LEDGER_STATE_H
#define MEMSCOPE_LEDGER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/string.h"
#include "event/event.h"
#include "ledger/driver_clients.h"
#include "ledger/devices.h"
#include "ledger/driver_objects.h"
#include "ledger/gpu_times.h"
#include "ledger/device_limits.h"
#include "ledger/host_account.h"
#include "ledger/nvml_account.h"
#include "ledger/ledger.h"
#include "ledger/limits.h"
#include "ledger/process_counters.h"
#include "ledger/process_identity.h"
#include "ledger/pending.h"
#include "ledger/stacks.h"
#include "ledger/nccl.h"
#include "ledger/tensors.h"
#include "ledger/usage.h"

struct space_total {
	uint64_t live_bytes;
	uint64_t live_count;
	uint64_t peak_bytes; /* high-water mark of live_bytes */
	uint64_t peak_ts_ns; /* when it was reached first */
	uint64_t allocs;     /* successful ones */
	uint64_t alloc_bytes;
	uint64_t frees; /* successful ones of known blocks */
	uint64_t free_bytes;
	uint64_t implicit_frees; /* by the end of a context or an exec */
	uint64_t implicit_bytes;
	uint64_t exit_count; /* still live when the process exited */
	uint64_t exit_bytes;
};

struct amount {
	uint64_t count;
	uint64_t bytes;
};

/* Successful calls; those that another call of the same kind was made of are not counted twice. */
struct call_total {
	uint64_t count;
	uint64_t bytes;
	uint64_t unknown_bytes; /* how many of `count` are not in `bytes` */
	uint64_t duration_ns;
};

/* What threads did in calls of which that is known: ledger/call_splits.h. */
struct call_split {
	uint64_t calls;
	uint64_t total_ns;
	uint64_t runnable_ns; /* in which they waited for a CPU */
	uint64_t blocked_ns;  /* in which they waited for something else; in the rest they ran */
};

struct kernel {
	const char *name; /* NULL: only the handle is known */
	uint64_t handle;
	uint64_t launches;
};

struct failure {
	uint16_t row;
	int32_t result;
	uint64_t count;
};

/* Calls that failed because memory had run out, and were no part of another. */
struct refused {
	uint64_t count;
	uint64_t first_ts_ns, last_ts_ns;
};

struct context {
	uint64_t handle;
	int32_t device;
	bool primary;
	uint32_t references; /* of a primary context */
};

/* What has a handle and is no memory: ledger/objects.h. */
struct object {
	uint64_t handle;
	uint64_t context; /* 0: unknown */
	uint64_t made_ns; /* when the call that made it ended */
	int32_t device;   /* -1: unknown */
	uint16_t row;     /* of the probe table: what made it */
	uint8_t kind;     /* enum ms_object_kind */
};

/* Objects of one kind on one device. */
struct object_total {
	uint8_t kind;
	int32_t device; /* -1: unknown, or one of too many */
	uint64_t live;  /* of a process that has exited: then */
	uint64_t peak, peak_ts_ns;
	uint64_t made, destroyed;
	uint64_t ended; /* otherwise: with a context, or another program */
};

struct objects;

/* Ledgers are one for each enum ms_key, and one more: of memory without a handle, by id. */
enum { LEDGER_RELEASED = MS_KEYS_COUNT, LEDGERS_COUNT };

/* What the driver last reported to the program about the memory of a device or pool. */
struct view {
	uint64_t handle; /* of the pool; of a device: its ordinal, all ones if unknown */
	bool is_pool;
	uint64_t total_bytes; /* device: of it; pool: that it has reserved */
	uint64_t free_bytes;  /* device: of it; pool: that it has in use */
	uint64_t ts_ns;
	bool has_total, has_free; /* else 0 stands for "was not asked for" */
};

#define PROCESS_LARGEST 10

struct alike_group;

struct process {
	uint64_t number; /* of two, that with the lower one was seen first */
	uint32_t pid;
	uint64_t start_ns;    /* CLOCK_BOOTTIME */
	uint64_t first_ts_ns; /* of its first record, or of the anchor that has it */
	char comm[MS_COMM_BYTES];
	char name[IDENTITY_NAME_BYTES]; /* what to call it: `comm`, and what it interprets */
	struct process_identity identity;
	bool was_running; /* when attached to: it may hold memory whose allocation was not seen */
	bool only_begun;  /* then: by its first call one can tell */
	bool was_running_earlier; /* the same of a program before: totals and peaks lack that */
	bool entries_only; /* calls' ends are not watched: what was allocated where is unknown */
	/* Since when so much of it is traced: MS_TYPE_BUDGET. */
	enum ms_budget_step budget_step;
	bool budget_stackless;
	uint64_t budget_ts_ns;
	bool exited;
	uint32_t exit_status; /* as wait(2) gives it; MS_EXIT_UNKNOWN */
	uint64_t exit_number; /* how many had exited then, with this one */

	struct ledger ledgers[LEDGERS_COUNT];
	struct space_total spaces[MS_SPACES_COUNT];
	struct call_total copies[MS_DIRECTIONS_COUNT + 1]; /* the last one: direction unknown */
	struct call_total memsets;
	struct call_total syncs;
	uint64_t launches; /* of kernels */
	uint64_t graph_launches;
	uint64_t calls[MS_OPS_COUNT]; /* all, whatever their result */
	struct call_split splits[MS_OPS_COUNT];

	uint64_t counters[COUNTERS_COUNT]; /* by enum process_counter */

	struct kernel *kernels;
	size_t kernels_count, kernels_capacity;
	struct call_times *times; /* ledger/call_times.h */
	size_t times_count, times_capacity;
	struct failure *failures;
	size_t failures_count, failures_capacity;
	struct refused refused; /* as far as it was seen: an anchor does not say it */
	struct context *contexts;
	size_t contexts_count, contexts_capacity;
	struct objects *objects; /* NULL: none was made */
	struct pending pending;
	struct pending_free part; /* the last free that was a part of another one, finished */
	uint64_t part_ts_ns;      /* when it began */

	struct view *views;
	size_t views_count, views_capacity;
	bool has_globals; /* the program knows addresses of variables of its modules */

	uint64_t effort;                    /* caused lately: ledger/effort.h */
	uint64_t effort_ts_ns;              /* since then */
	struct effort_limit *effort_of_all; /* the state's */

	struct map handles; /* id of physical or imported memory -> its handle */
	struct map graphs, executables, captures; /* handle or stream -> struct graph */
	size_t graph_nodes;                       /* in all of them */

	struct map names;         /* function handle -> interned name */
	struct map aliases;       /* function handle -> handle with the same name */
	struct map kernel_places; /* interned name or handle -> position in `kernels` */
	struct map launch_places; /* function handle -> the same, until a name is learnt */
	size_t name_bytes;        /* of names that no process had before */

	struct map times_places;               /* row -> position in `times` */
	struct map failure_places;             /* row and result -> position in `failures` */
	struct map context_places;             /* handle -> position in `contexts` */
	struct map primary_places;             /* device -> the same of its primary context */
	struct map pool_places, device_places; /* handle, or ordinal -> position in `views` */

	/* The largest allocations at the end of an exited process, whose ledger is gone. */
	struct allocation exit_largest[PROCESS_LARGEST];
	size_t exit_largest_count;
	struct alike_group
		*exit_alike; /* the same, those that are alike together; NULL: not known */
	size_t exit_alike_count;
	uint64_t exit_ts_ns;

	struct process_devices devices;
	struct driver_objects driver;
	struct tensors tensors;
	struct nccl nccl;
	struct nvml_account nvml;
	struct gpu_times *gpu; /* NULL: nothing is known of what GPUs did for it, and when */
	struct host_loads host;
	struct device_limits limits;
	struct usage *usage; /* NULL: not asked for */
};

enum free_kind {
	FREE_NONE,       /* not a successful free */
	FREE_KNOWN,      /* `allocation` is what it freed */
	FREE_PRE_ATTACH, /* of a block that existed before it was attached to */
	FREE_UNKNOWN,
	FREE_UNWATCHED, /* of a block that is not known because calls' ends are not watched */
	FREE_NULL,
	FREE_KEPT,     /* a reference to `allocation`, which lives on */
	FREE_CAPTURED, /* noted down as a node of a graph */
};

/* What an event meant. Valid until the next state_apply(). */
struct change {
	const struct process *process;
	bool repeated; /* says nothing new: the process had exited already */
	bool has_allocation;
	enum free_kind free;
	bool has_live;
	uint64_t live_bytes; /* of the process, in the space of `allocation`, after the event */
	int32_t device;      /* -1: unknown */
	const char *kernel;  /* of a launch; NULL: unknown */
	enum ms_direction direction; /* of a copy: if known at all, better than the call says */
	bool captured; /* an allocation that is only noted down as a node of a graph */
	/*
	 * Ids of allocations of the process that have ended and are not `allocation`, if the state
	 * follows usage: those of `implicit`, but for an exit's, and those whose end was only found
	 * out now.
	 */
	const uint64_t *ended;
	size_t ended_count;
	const struct gpu_link *activity_of; /* of an activity: whose it is; NULL: not known */
	const struct object *made_object;   /* NULL: none */
	const struct object *ended_objects; /* but for those that end with a program */
	size_t ended_objects_count;
	bool has_tensor;                     /* in `tensor` */
	struct allocation allocation;        /* made by an alloc, ended by a free */
	bool has_amounts;                    /* in what follows; else all of that is zero */
	struct amount made[MS_SPACES_COUNT]; /* by space: what a graph allocated */
	/* By space: what ended together with the process, its program, a context or a mapping. */
	struct amount implicit[MS_SPACES_COUNT];
	struct tensor_change tensor;
};

#define STATE_RECENT 32 /* processes: ledger/ended.h */

struct ended_size {
	uint64_t bytes; /* the most that it ever held */
	struct process *process;
};

/* Which of the processes have ended: ledger/ended.h. */
struct ended {
	struct process *recent[STATE_RECENT]; /* the last ones, a ring */
	uint64_t next;
	struct ended_size *sizes; /* of the others, a heap: the smallest is the first */
	size_t count, capacity;
};

#define STATE_RETIRED 64

/* Handles by which other processes can open memory: ledger/exports.h. */
struct exports {
	struct map now, before; /* hash of the handle -> bytes */
};

/* What all processes together may cause: of a recording, so much as goes with its length. */
struct effort_limit {
	uint64_t spent, most;
};

struct state {
	struct process **processes; /* in the order in which they were first seen */
	size_t processes_count, processes_capacity;
	uint64_t numbers; /* of processes */
	struct ended ended;
	struct process *more; /* the sum of those that are no longer there: ledger/ended.h */
	uint64_t more_count;
	uint64_t retired[STATE_RETIRED]; /* the last of those: event_process_key(), a ring */
	uint64_t exits;                  /* of processes, so far */
	struct exports exports;
	struct nvml_devices nvml_devices;
	struct driver_clients driver_clients;
	struct host_account host;
	struct map by_identity; /* event_process_key() -> process */
	struct process *last;
	struct string_table strings;
	struct stacks stacks;
	uint64_t allocations;        /* so far; the newest allocation's id */
	struct effort_limit *effort; /* the caller's; NULL: there is none */
	/* A function of a newer library, about memory if any is; "" if none was seen. */
	char new_function[MS_FUNCTION_BYTES];
	struct usage_totals *usage; /* NULL: not asked for */
	struct change change;       /* what the last event meant */
};

/* A zeroed struct state is empty and ready. */
void state_fini(struct state *state);

/*
 * Applies one event; `state->change` is what it meant. Returns 0, or -ENOMEM if the state could not
 * hold it all: then it is still consistent, but incomplete.
 */
int state_apply(struct state *state, const struct event *event);

/* From now on (of an empty state), also keeps what ledger/usage.h says. Returns 0 or -ENOMEM. */
int state_follow_usage(struct state *state);

/*
 * Forgets all that has been counted and keeps what is live: totals and peaks are then those of the
 * time from now on.
 */
void state_restart(struct state *state, uint64_t now_ns);

/* Whether a process, just attached to, may hold memory whose allocation was not seen. */
bool state_may_hold_more(const struct process *process);

/* The allocation that an address lies in, or the array whose handle it is; NULL: none is known. */
const struct allocation *state_containing(struct process *process, uint64_t addr);

/*
 * For anchors: a process as of its first event, and the sum of those that are no longer listed.
 * NULL without memory.
 */
struct process *state_add(struct state *state, const struct ms_event *event);
struct process *state_add_more(struct state *state);

/* A process that is listed, or NULL. */
const struct process *state_find(const struct state *state, uint32_t pid, uint64_t start_ns);

/* About how much memory it takes. Its cost grows with the number of processes. */
size_t state_bytes(const struct state *state);

/*
 * Whether it is memory: reserved addresses are none, and mapped ones are those of memory that has
 * its own entry.
 */
bool state_is_memory(const struct allocation *allocation);

/* The largest allocations of a process, largest first: how many of `max` were put into `out`. */
size_t state_largest(const struct process *process, struct allocation *out, size_t max);

#endif /* MEMSCOPE_LEDGER_STATE_H */
