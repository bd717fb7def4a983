/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's numbers for the machine and for processes: the first and the newest sample of each,
 * and the differences. A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_HOST_ACCOUNT_H
#define MEMSCOPE_LEDGER_HOST_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

struct event;
struct process_devices;

#define HOST_NODES 64 /* more are not kept */
#define HOST_GPUS 64
#define HOST_XIDS 32 /* the first ones; the others are counted */

/* ---- a process ------------------------------------------------------------------------------- */

#define HOST_PLACED_NODES 8 /* more are as if it was not known where */

/* Where memory of one space lay at the last look; the pages are a sample of all bytes. */
struct host_placed {
	uint64_t ts_ns; /* 0: it was not looked at */
	uint64_t blocks, bytes;
	uint64_t asked, unknown; /* pages */
	struct {
		uint32_t node;
		uint64_t pages;
	} nodes[HOST_PLACED_NODES];
	size_t nodes_count;
};

enum host_placed_space { HOST_PINNED, HOST_REGISTERED, HOST_MANAGED, HOST_PLACED_SPACES };

struct host_loads {
	uint64_t count; /* of samples; 0: there are none */
	struct ms_load first, last;
	uint64_t queue_ns;   /* between them, without the last waits of threads that ended */
	uint64_t peak_bytes; /* of what was in memory, without shared files */
	struct host_placed placed[HOST_PLACED_SPACES];
};

void host_account_load(struct host_loads *loads, const struct ms_load *load);

void host_account_place(struct host_loads *loads, const struct ms_placement *record);

/* The enum ms_space, and how many of its bytes the pages stand for. */
uint8_t host_account_space(enum host_placed_space space);
uint64_t host_account_bytes(const struct host_placed *placed, uint64_t pages);

/* Sets differences and peaks to 0. */
void host_account_load_restart(struct host_loads *loads);

/* Of its own and of shared memory. */
uint64_t host_account_resident(const struct ms_load *load);

/* The differences between the first sample and the last. */
struct host_used {
	uint64_t ns; /* from the one to the other */
	bool has_cpu, has_queue, has_throttled, has_stall;
	uint64_t cpu_ns;
	uint64_t queue_ns;
	uint64_t major_faults;
	uint64_t throttled_ns, throttled;
	uint64_t stall_ns; /* of the cgroup, for memory */
};

/* Returns false if there are not two samples. */
bool host_account_used(const struct host_loads *loads, struct host_used *used);

/* ---- the machine ----------------------------------------------------------------------------- */

struct host_node {
	struct ms_node last;
	uint64_t least_free_bytes;
};

struct host_gpu {
	struct ms_gpu last;
	uint32_t most_speed, most_width; /* that its link had */
};

struct host_account {
	uint64_t count;
	struct ms_host first, last;
	uint64_t least_available_bytes;
	struct host_node nodes[HOST_NODES];
	size_t nodes_count;
	struct host_gpu gpus[HOST_GPUS];
	size_t gpus_count;
	struct ms_xid xids[HOST_XIDS];
	uint64_t xids_count; /* also of those that are not kept */
};

/* Takes a sample that belongs to no process. */
void host_account_apply(struct host_account *account, const struct event *event);
void host_account_restart(struct host_account *account);

/*
 * The node that the GPUs of a process are near to. It is known if all GPUs of the machine are near
 * one node, or if the process has learnt the address of exactly one GPU.
 */
bool host_account_gpu_node(const struct host_account *account,
			   const struct process_devices *devices, uint32_t *node);

/* How long tasks waited between the first sample and the last, in nanoseconds. */
struct host_pressure {
	uint64_t ns; /* from the one to the other */
	bool has_cpu, has_memory, has_io;
	uint64_t cpu_some_ns, memory_some_ns, memory_full_ns, io_some_ns, io_full_ns;
};

bool host_account_pressure(const struct host_account *account, struct host_pressure *pressure);

#endif /* MEMSCOPE_LEDGER_HOST_ACCOUNT_H */
