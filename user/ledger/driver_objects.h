/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What NVIDIA's kernel driver holds for a process: the memory objects that its ioctls made, by what
 * made the process ask for them. On a driver 580 the device memory of these is, to the byte, what
 * NVML says of the process (docs/real-hardware.md). A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_DRIVER_OBJECTS_H
#define MEMSCOPE_LEDGER_DRIVER_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "base/map.h"
#include "ledger/driver_ranges.h"

struct event;
struct process;

/* clang-format off */

/* What the thread was doing: the traced call that it was in. */
#define DRIVER_CAUSES(X) \
	X(ALLOCATIONS, "allocations",     "behind cudaMalloc and similar calls: chunks of 2 MiB") \
	X(PHYSICAL,    "physical",        "behind cuMemCreate") \
	X(POOLS,       "pools",           "behind stream-ordered allocations and graphs") \
	X(CONTEXTS,    "contexts",        "to set up contexts") \
	X(CODE,        "code",            "to load modules and libraries") \
	X(LAUNCHES,    "launches",        "when kernels were launched: code, local memory") \
	X(OTHER_CALLS, "other_calls",     "in other traced calls") \
	X(NO_CALL,     "no_traced_call",  "in no traced call")
/* clang-format on */

enum driver_cause {
#define X(cause, name, description) DRIVER_CAUSE_##cause,
	DRIVER_CAUSES(X)
#undef X
		DRIVER_CAUSES_COUNT,
};

const char *driver_cause_name(enum driver_cause cause);
const char *driver_cause_description(enum driver_cause cause);

struct driver_total {
	uint64_t live_bytes, live_count;
	uint64_t peak_bytes;
	uint64_t exit_bytes; /* of an exited process: what it had then */
};

/* What goes with an object when that is freed: with its client, and with its parent. */
enum driver_chain {
	DRIVER_CHAIN_CLIENT,
	DRIVER_CHAIN_PARENT,
	DRIVER_CHAINS_COUNT,
};

/* The class of another name of an object that counts elsewhere; the driver has no such class. */
#define DRIVER_ALIAS UINT32_MAX

struct driver_object {
	uint32_t client, object, parent;
	uint32_t class_number;
	uint64_t bytes;
	uint64_t source; /* of an alias: driver_ranges_key() of an object of the process; 0: none */
	enum driver_cause cause;
	uint32_t group; /* position of it, of memory of the device */
	struct {
		uint32_t next, previous; /* positions + 1; 0: none */
	} links[DRIVER_CHAINS_COUNT];
};

/* How it is known on which device objects are: ledger/driver_devices.h. */
enum driver_evidence {
	DRIVER_EVIDENCE_NONE,
	DRIVER_EVIDENCE_CONTEXT,    /* a context was made */
	DRIVER_EVIDENCE_ALLOCATION, /* memory was allocated, or a kernel launched */
	DRIVER_EVIDENCE_UNCLEAR,    /* two calls say two devices */
};

/* Memory of the device that has one parent, the driver's object for the device. */
struct driver_group {
	uint32_t client, parent; /* both 0: of all those that are too many */
	int32_t device;          /* as the process calls it; -1: not known */
	enum driver_evidence evidence;
	uint32_t next_free; /* position + 1 of the next one that is not in use; 0: none */
	uint64_t live_count;
	uint64_t causes[DRIVER_CAUSES_COUNT]; /* bytes: live, or when the process ended */
};

/* A call that has made a thread ask the driver for memory, and that is not over. */
struct driver_asking {
	uint64_t ts_ns; /* of the object */
	uint32_t tid;
	uint32_t client, parent; /* of its group */
	uint16_t row;
	uint8_t evidence; /* that the call's device would be; NONE: there is no such call */
};

#define DRIVER_ASKING 16 /* threads at once */

struct driver_objects {
	struct driver_object *objects;
	size_t count, capacity;
	struct map places; /* client and object -> position in `objects` */
	struct map
		chains[DRIVER_CHAINS_COUNT]; /* client (and parent) -> position + 1 of the first */

	struct driver_group *groups;
	size_t groups_count, groups_capacity;
	struct map group_places; /* client and parent -> position */
	uint32_t groups_free;    /* position + 1 of the first one that is not in use; 0: none */
	bool groups_ended;       /* they are those of a program that has ended */
	struct driver_asking asking[DRIVER_ASKING];
	uint32_t asking_next; /* where the next one goes */
	uint32_t asking_count;

	bool has_clients;           /* in state's driver_clients */
	bool seen;                  /* any at all */
	uint64_t missed_ns;         /* until then they were not seen; 0: they were all the time */
	struct driver_total device; /* of the device, all causes */
	struct driver_total host;   /* of the host: the driver's own, and page-locked */
	struct driver_total shared; /* other processes' memory, which counts there */
	struct driver_total causes[DRIVER_CAUSES_COUNT]; /* of the device */
	uint64_t failures;                               /* the driver had no memory left */

	struct driver_ranges ranges;
	struct driver_joins *joins_at_exit; /* driver_joins.h; NULL: not known */
};

/* The object of that name; NULL: it is not known. */
const struct driver_object *driver_objects_find(const struct driver_objects *objects,
						uint32_t client, uint32_t object);

/*
 * Another name, by a record of DUP or IMPORT: of an object of the process (`source`, else 0), or of
 * another's, which has so many bytes. Returns 0 or -ENOMEM.
 */
int driver_objects_alias(struct process *process, const struct ms_object *record, uint64_t source,
			 uint64_t bytes);

/* Returns 0 or -ENOMEM. What is beyond LIMIT_DRIVER_OBJECTS is counted in the process. */
int driver_objects_apply(struct process *process, const struct ms_object *record);

/* A call is over: objects that were made in it are on its device. -1: that is not known. */
void driver_objects_call(struct driver_objects *objects, const struct event *event, int32_t device);

/* The process is gone. */
void driver_objects_end(struct driver_objects *objects);

/* It executes another program. */
void driver_objects_exec(struct driver_objects *objects);

/* Peaks begin anew, with what is live. */
void driver_objects_restart(struct driver_objects *objects);

/* Adds the totals of one process to those of several; peaks: the highest. */
void driver_objects_add(struct driver_objects *sum, const struct driver_objects *objects);

/* The bytes of memory that they take, themselves apart. */
size_t driver_objects_bytes(const struct driver_objects *objects);

void driver_objects_fini(struct driver_objects *objects);

#endif /* MEMSCOPE_LEDGER_DRIVER_OBJECTS_H */
