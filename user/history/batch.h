/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happened in one interval of the history: who held how much of which memory, and did what.
 * The agent makes it, and hands it as bytes to the process that writes the database
 * (history/database.h).
 */
#ifndef MEMSCOPE_HISTORY_BATCH_H
#define MEMSCOPE_HISTORY_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

#define HISTORY_NONE UINT32_MAX /* no position */
#define HISTORY_KEY_BYTES 64

/* How much was held during `ms` milliseconds. Mean: `byte_ms` / `ms`. */
struct history_held {
	uint64_t ms;
	uint64_t min_bytes, max_bytes;
	uint64_t byte_ms;
};

struct history_device {
	char key[HISTORY_KEY_BYTES]; /* its UUID, PCI bus id or number, whichever is known first */
	char name[40];
	uint64_t total_bytes;     /* 0: not known */
	struct history_held held; /* in allocations that were seen, of all processes */
	uint64_t used_known;      /* 1: NVML has said what is in use */
	struct history_held used; /* by NVML, of the whole device */
};

struct history_process {
	uint64_t pid, start_ns; /* as in struct ms_event */
	char name[64];
	char user[64], container[80], pod[128], namespace[64], job[64]; /* "": not known */
	uint64_t launches, graph_launches;
	uint64_t untraced_ms; /* in which launches were not traced */
	uint64_t inexact;     /* bits of enum history_inexact (history/schema.h) */
};

/* One kind of memory that a process held on one device. */
struct history_memory {
	uint32_t process; /* position in the batch */
	uint32_t device;  /* the same; HISTORY_NONE: not known, or on none */
	char space[16];
	uint64_t on_device; /* 1: such memory takes memory of a device */
	struct history_held held;
	uint64_t idle_byte_ms;    /* of held.byte_ms: the process launched nothing */
	uint64_t unknown_byte_ms; /* of held.byte_ms: it is not known whether it did */
	uint64_t allocs, alloc_bytes, frees, free_bytes;
};

struct history_event {
	uint64_t ts_ms;   /* of the first, since 1970 */
	uint64_t count;   /* such events of one process in the interval */
	uint32_t process; /* position in the batch, or HISTORY_NONE */
	uint32_t device;
	char kind[16];               /* "oom", "killed", "lost" */
	char what[64];               /* the function, signal, or sort of calls, for people */
	uint64_t bytes_known, bytes; /* the most that was asked for, or was held */
};

struct history_batch {
	uint64_t start_ms; /* since 1970 */
	uint64_t ms;       /* how long the interval was */
	char boot[40];     /* the boot of the machine: start times are relative to it */
	const struct history_device *devices;
	const struct history_process *processes;
	const struct history_memory *memory;
	const struct history_event *events;
	uint32_t devices_count, processes_count, memory_count, events_count;
};

/* Appends the batch. Check out->failed. */
void history_batch_append(struct string *out, const struct history_batch *batch);

/*
 * The batch that these bytes are, which it points into: they are aligned as by malloc(). Returns 0,
 * or -EINVAL if they are not one.
 */
int history_batch_parse(struct history_batch *batch, const void *bytes, size_t length);

#endif /* MEMSCOPE_HISTORY_BATCH_H */
