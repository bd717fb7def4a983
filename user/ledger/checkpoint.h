/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state as records, and back: what lets a recording be read from its middle. The records are
 * part of the dump format (docs/dump-format.md); members are only ever added at their ends.
 */
#ifndef MEMSCOPE_LEDGER_CHECKPOINT_H
#define MEMSCOPE_LEDGER_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/state.h"

/* ms_event.type of these records; each begins with a struct ms_event that says which process. */
enum ms_checkpoint_type {
	MS_CHECKPOINT_STATE = 256, /* begins an anchor */
	MS_CHECKPOINT_PROCESS,     /* begins a process; those that follow are about it */
	MS_CHECKPOINT_CALLS,
	MS_CHECKPOINT_SPACE,
	MS_CHECKPOINT_TOTAL,
	MS_CHECKPOINT_NAME,
	MS_CHECKPOINT_KERNEL,
	MS_CHECKPOINT_FAILURE,
	MS_CHECKPOINT_CONTEXT,
	MS_CHECKPOINT_VIEW,
	MS_CHECKPOINT_GRAPH, /* its nodes follow */
	MS_CHECKPOINT_NODE,
	MS_CHECKPOINT_ALLOCATION,
	MS_CHECKPOINT_END, /* of the anchor: only with it is it whole */
	MS_CHECKPOINT_COUNTER,
	MS_CHECKPOINT_VISIBLE,
	MS_CHECKPOINT_DEVICE,
	MS_CHECKPOINT_EXPORT, /* of any process */
	MS_CHECKPOINT_IDENTITY,
	MS_CHECKPOINT_TIMES,
	MS_CHECKPOINT_OBJECT,
	MS_CHECKPOINT_OBJECTS,  /* of one kind and device, in all */
	MS_CHECKPOINT_FRAME,    /* of no process, as is ... */
	MS_CHECKPOINT_STACK,    /* records MS_TYPE_FRAME and _STACK, with another type */
	MS_CHECKPOINT_GPU_NAME, /* a struct ms_checkpoint_name, of CUPTI; `handle`: id */
	MS_CHECKPOINT_TYPES_END,
};

struct ms_checkpoint_state {
	struct ms_event event;
	uint64_t allocations;
	uint64_t exits;
	uint64_t more_count;
};

enum ms_checkpoint_process_flags {
	MS_CHECKPOINT_WAS_RUNNING = 1 << 0,
	MS_CHECKPOINT_ENTRIES_ONLY = 1 << 1,
	MS_CHECKPOINT_EXITED = 1 << 2,
	MS_CHECKPOINT_HAS_GLOBALS = 1 << 3,
	MS_CHECKPOINT_MORE = 1 << 4, /* the sum of those that have ended and are not listed */
	MS_CHECKPOINT_ONLY_BEGUN = 1 << 5,
	MS_CHECKPOINT_WAS_RUNNING_EARLIER = 1 << 6,
};

struct ms_checkpoint_process {
	struct ms_event event;
	char comm[MS_COMM_BYTES];
	uint32_t flags; /* enum ms_checkpoint_process_flags */
	uint32_t exit_status;
	uint64_t exit_number;
	uint64_t exit_ts_ns;
	uint64_t launches;
	uint64_t graph_launches;
	uint64_t pre_attach_frees; /* and so on: as in struct process */
	uint64_t unknown_frees;
	uint64_t unwatched_frees;
	uint64_t null_frees;
	uint64_t missed_frees;
	uint64_t unknown_allocs;
	uint64_t unknown_sizes; /* but for those of allocations that are live */
	uint64_t dropped_nodes;
	uint64_t unclear_ends;
	uint64_t part_ts_ns;
};

struct ms_checkpoint_calls {
	struct ms_event event;
	uint64_t op; /* enum ms_op */
	uint64_t count;
	/* Where it ends that has no more: */
	uint64_t split; /* and so on: as in struct call_split */
	uint64_t total_ns;
	uint64_t runnable_ns;
	uint64_t blocked_ns;
};

#define MS_CHECKPOINT_CALLS_BYTES offsetof(struct ms_checkpoint_calls, split)

/* Lower numbers have members of struct ms_checkpoint_process, as older readers know them. */
#define MS_CHECKPOINT_COUNTERS 16

struct ms_checkpoint_counter {
	struct ms_event event;
	uint64_t number; /* of process_counters.def */
	uint64_t value;
};

/* What is live now follows from the allocations. */
struct ms_checkpoint_space {
	struct ms_event event;
	uint64_t space; /* enum ms_space */
	uint64_t peak_bytes;
	uint64_t peak_ts_ns;
	uint64_t allocs;
	uint64_t alloc_bytes;
	uint64_t frees;
	uint64_t free_bytes;
	uint64_t implicit_frees;
	uint64_t implicit_bytes;
	uint64_t exit_count;
	uint64_t exit_bytes;
};

enum ms_checkpoint_total_of { /* else a direction: copies */
			      MS_CHECKPOINT_OF_UNKNOWN = 64,
			      MS_CHECKPOINT_OF_MEMSETS,
			      MS_CHECKPOINT_OF_SYNCS,
};

struct ms_checkpoint_total {
	struct ms_event event;
	uint64_t of; /* enum ms_direction or enum ms_checkpoint_total_of */
	uint64_t count;
	uint64_t bytes;
	uint64_t unknown_bytes;
	uint64_t duration_ns;
};

struct ms_checkpoint_name {
	struct ms_event event;
	uint64_t handle;
	uint64_t alias; /* whose name is meant, if there is none here */
	char name[];    /* to the end of the record, not terminated */
};

struct ms_checkpoint_kernel {
	struct ms_event event;
	uint64_t handle;
	uint64_t launches;
	uint64_t is_named;
	char name[];
};

struct ms_checkpoint_failure {
	struct ms_event event;
	uint64_t count;
	int32_t result;
	uint16_t row;
	uint16_t reserved;
};

/* As struct call_times has them. */
struct ms_checkpoint_time {
	uint32_t bucket;
	uint32_t count;
};

struct ms_checkpoint_times {
	struct ms_event event;
	uint64_t calls;
	uint64_t failed;
	uint64_t timed;
	uint64_t total_ns;
	uint64_t max_ns;
	uint16_t row;
	uint16_t buckets_count;
	uint32_t reserved;
	struct ms_checkpoint_time buckets[]; /* those that are not empty */
};

struct ms_checkpoint_context {
	struct ms_event event;
	uint64_t handle;
	int32_t device;
	uint32_t references;
	uint64_t primary;
};

struct ms_checkpoint_view {
	struct ms_event event;
	uint64_t handle;
	uint64_t is_pool;
	uint64_t total_bytes;
	uint64_t free_bytes;
	uint64_t ts_ns;
};

/* As struct ms_visible has it. */
struct ms_checkpoint_visible {
	struct ms_event event;
	uint64_t key;
	uint64_t flags;
};

enum ms_checkpoint_device_flags {
	MS_CHECKPOINT_HAS_UUID = 1 << 0,
	MS_CHECKPOINT_HAS_PCI = 1 << 1,
};

struct ms_checkpoint_device {
	struct ms_event event;
	int32_t ordinal;
	uint32_t flags; /* enum ms_checkpoint_device_flags */
	uint8_t uuid[16];
	uint32_t pci_domain;
	uint8_t pci_bus, pci_device, pci_function;
	uint8_t reserved;
	uint64_t total_bytes; /* 0: not known */
	char name[40];        /* terminated; "": not known */
};

struct ms_checkpoint_export {
	struct ms_event event; /* of no process */
	uint64_t handle;       /* a hash of it */
	uint64_t size_bytes;
};

/* As struct ms_identity has it. */
struct ms_checkpoint_identity {
	struct ms_event event;
	char texts[];
};

/* A live object; members as in struct object. */
struct ms_checkpoint_object {
	struct ms_event event;
	uint64_t handle;
	uint64_t context;
	uint64_t made_ns;
	int32_t device;
	uint16_t row;
	uint8_t kind; /* enum ms_object_kind */
	uint8_t reserved;
};

/* As in struct object_total. */
struct ms_checkpoint_objects {
	struct ms_event event;
	uint64_t kind; /* enum ms_object_kind */
	int32_t device;
	uint32_t reserved;
	uint64_t live;
	uint64_t peak;
	uint64_t peak_ts_ns;
	uint64_t made;
	uint64_t destroyed;
	uint64_t ended;
};

enum ms_checkpoint_graph_kind {
	MS_CHECKPOINT_GRAPH_PLAIN,
	MS_CHECKPOINT_GRAPH_EXECUTABLE,
	MS_CHECKPOINT_GRAPH_CAPTURE, /* the handle is the stream */
	MS_CHECKPOINT_GRAPH_KINDS,
};

struct ms_checkpoint_graph {
	struct ms_event event;
	uint64_t handle;
	uint32_t kind; /* enum ms_checkpoint_graph_kind */
	uint32_t auto_free;
};

struct ms_checkpoint_node {
	struct ms_event event;
	uint64_t addr;
	uint64_t size_bytes;
};

enum ms_checkpoint_role {
	MS_CHECKPOINT_LIVE,     /* `key`: the ledger; MS_KEYS_COUNT is MS_CHECKPOINT_RELEASED */
	MS_CHECKPOINT_PENDING,  /* being freed: by `freed_by`, which was given `freed_addr` */
	MS_CHECKPOINT_PART,     /* the last part of a free; likewise */
	MS_CHECKPOINT_LARGEST,  /* of an exited process, at its end */
	MS_CHECKPOINT_RELEASED, /* live, without a handle; its address is its id */
	MS_CHECKPOINT_ROLES,
};

struct ms_checkpoint_allocation {
	struct ms_event event;
	uint64_t addr;
	uint64_t size_bytes;
	uint64_t ts_ns;
	uint64_t id;
	uint64_t context;
	int32_t device;
	uint32_t tid;
	uint16_t row;
	uint16_t driver_row;
	uint8_t space;
	uint8_t size_known;
	uint8_t role;   /* enum ms_checkpoint_role */
	uint8_t key;    /* enum ms_key */
	uint64_t owner; /* and references; as in struct allocation */
	uint64_t freed_addr;
	uint32_t freed_by; /* thread */
	uint32_t stack;    /* id of where it was called from; 0: not known */
};

_Static_assert(sizeof(struct ms_checkpoint_state) == 56, "wire layout");
_Static_assert(sizeof(struct ms_checkpoint_process) == 168, "wire layout");
_Static_assert(sizeof(struct ms_checkpoint_space) == 120, "wire layout");
_Static_assert(sizeof(struct ms_checkpoint_total) == 72, "wire layout");
_Static_assert(sizeof(struct ms_checkpoint_times) == 80, "wire layout");
_Static_assert(sizeof(struct ms_checkpoint_allocation) == 112, "wire layout");
_Static_assert(sizeof(struct ms_checkpoint_device) == 112, "wire layout");
_Static_assert(sizeof(struct ms_checkpoint_object) == 64, "wire layout");
_Static_assert(sizeof(struct ms_checkpoint_objects) == 96, "wire layout");

/*
 * Gives the state to `put`, record by record, all with time `ts_ns`. Returns 0, -ENOMEM, or what
 * `put` returned that was not 0.
 */
int checkpoint_save(const struct state *state, uint64_t ts_ns,
		    int (*put)(void *context, const void *record, size_t length), void *context);

/* What is being put together from records. */
struct checkpoint {
	struct state *state;
	struct process *process; /* the one that the records are about */
	struct map *graphs;
	uint64_t graph;
	bool begun, complete;
};

/* Begins with an empty state, which stays the caller's. */
void checkpoint_init(struct checkpoint *anchor, struct state *state);

/*
 * Returns 0, 1 if the record was skipped because this version does not know its type or what it is
 * about, -ENOMEM, or -EINVAL for one that checkpoint_save() could not have written. After an error
 * the state is only good for state_fini().
 */
int checkpoint_load(struct checkpoint *anchor, const void *record, size_t length);

#endif /* MEMSCOPE_LEDGER_CHECKPOINT_H */
