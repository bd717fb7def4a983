/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who holds memory: live bytes of a process by what allocated it and where, what they were when a
 * space was at its high-water mark, and what is held on each device by all processes together. Kept
 * only if the caller asks for it (state_follow_usage()), since it costs a look-up per allocation.
 */
#ifndef MEMSCOPE_LEDGER_USAGE_H
#define MEMSCOPE_LEDGER_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "base/map.h"
#include "ledger/devices.h"
#include "ledger/ledger.h"

#define USAGE_CLASSES 64
#define USAGE_CHANGED 8 /* rows that are remembered: few calls change more */

/* A cell's allocations whose sizes have the same power of two. */
struct usage_size {
	uint8_t size_class; /* sizes from 2^size_class, to below twice that; 0: unknown ones too */
	uint64_t live_bytes, live_count;
	uint64_t allocs, alloc_bytes;
	uint64_t frees, free_bytes; /* by calls */
	uint64_t most_bytes;        /* that were live at a time */
};

/* A cell's allocations that were called from the same stack; those without one have no part. */
struct usage_part {
	uint32_t stack; /* id, of ledger/stacks.h: it need not be known there */
	uint32_t next;  /* position of the cell's next one, + 1; 0: none */
	uint64_t live_bytes, live_count;
	uint64_t allocs, alloc_bytes;
	uint64_t peak_bytes, peak_count, peak; /* as in the cell */
};

/* Allocations by the same function in the same space on the same device. */
struct usage_cell {
	uint16_t row;
	uint8_t space;
	int32_t device; /* -1: unknown, or none */
	uint64_t live_bytes, live_count;
	uint64_t allocs, alloc_bytes;
	uint64_t frees, free_bytes;      /* by calls */
	uint64_t lifetime_ns;            /* of those, in all */
	uint64_t peak_bytes, peak_count; /* when the space was at its high-water mark */
	uint64_t peak;                   /* which one that was */

	struct usage_size *sizes; /* in the order in which they were first seen; the usage's */
	size_t sizes_count, sizes_capacity;
	uint8_t size_places[USAGE_CLASSES]; /* class -> position in `sizes`, + 1; 0: none */
	uint32_t parts; /* position of its newest one in the usage's, + 1; 0: none */
};

/*
 * A device, as far as it is known which processes mean the same one: those for which calls gave the
 * same UUID or PCI bus id, or those that see the same devices and call it by the same number; and
 * the memory on it that allocations account for, of all of them.
 */
/* What the driver told a process of it last (cuMemGetInfo): all 0, if nothing. */
struct usage_told {
	uint64_t ts_ns, total_bytes, free_bytes;
};

struct usage_device {
	int32_t ordinal;  /* by which the first process called it; -1: unknown */
	uint32_t pid;     /* of that process */
	uint64_t visible; /* which devices that saw: struct ms_visible, key */
	struct device_identity identity;
	size_t same; /* position of the row that has taken this one's place; its own: none has */
	uint64_t live_bytes;
	uint64_t peak_bytes;
	uint64_t peak_ts_ns;
	struct usage_told told;
	bool used;         /* by a process that has allocated on it, or asked for its memory */
	bool past;         /* only of what is now: ledger/devices_of_now.h */
	bool peak_unclear; /* memory was on it before it was known to be on this one */
};

struct usage_totals {
	struct usage_device *devices;
	size_t count, capacity;
	struct map by_uuid, by_pci;      /* hash -> position */
	struct map by_number;            /* hash of what a process sees, and an ordinal */
	uint64_t now_ns;                 /* of the event that is applied */
	uint64_t changes;                /* how often `live_bytes` of a row became another, */
	uint32_t changed[USAGE_CHANGED]; /* and of which rows the last times, in turn */
	bool incomplete;                 /* there was no memory to count something */
};

struct usage {
	struct usage_totals *totals;     /* of all processes; the state's */
	struct process_devices *devices; /* the process's */
	struct usage_cell *cells;
	size_t count, capacity;
	struct map places;  /* row, space and device -> position in `cells` */
	size_t sizes_bytes; /* of memory, of all cells' sizes */
	struct usage_part *parts;
	size_t parts_count, parts_capacity;
	struct map part_places; /* a cell's position and a stack -> position in `parts` */

	/* By space: */
	struct {
		uint64_t live_bytes, peak_bytes;
		uint64_t peak; /* counts them: a cell of an earlier one has not changed since */
		bool known;    /* the peak was seen, so that what it was made of is known */
	} spaces[MS_SPACES_COUNT];

	/*
	 * Ids of allocations that ended though no call named them; some may have begun just then.
	 */
	uint64_t *ended;
	size_t ended_count, ended_capacity;
	bool ended_told; /* a change has had them */
};

/* Whether an allocation there takes memory of a device for certain, and of no other allocation. */
bool usage_is_on_device(uint8_t space);

/* Whether it counts as held: it is on a device, or managed. */
bool usage_is_held(uint8_t space);

/* The power of two of a size. */
uint8_t usage_size_class(uint64_t size_bytes);

/* NULL without memory. */
struct usage *usage_new(struct usage_totals *totals, struct process_devices *devices);
void usage_free(struct usage *usage);
void usage_totals_free(struct usage_totals *totals);

/* All of them do nothing if `usage` is NULL. The block is live from now on, or not any more. */
void usage_add(struct usage *usage, const struct allocation *allocation, uint64_t ts_ns);
void usage_remove(struct usage *usage, const struct allocation *allocation);

/* It was live before: it does not make a new peak. */
void usage_load(struct usage *usage, const struct allocation *allocation);

/* Counts an allocation: `by` is 1, or -1 to take that back. */
void usage_count_alloc(struct usage *usage, const struct allocation *allocation, int by);
void usage_count_free(struct usage *usage, const struct allocation *allocation);

/* No call named it, but it has ended. */
void usage_end(struct usage *usage, const struct allocation *allocation);

/* The process has ended: what the cells say is live was so then. */
void usage_exit(struct usage *usage);

/* Forgets what has been counted, but for what is live: peaks begin with that. */
void usage_restart(struct usage *usage);

/*
 * Forgets stacks from which nothing is live: their allocations count as those without a stack.
 * Returns how many.
 */
size_t usage_drop_parts(struct usage *usage);

/* Before peaks are looked at. */
void usage_settle(struct usage *usage);

/*
 * After all that was live has been loaded: `before` (NULL: nothing) is what was known until then.
 * Peaks that were seen stay; of others, nothing is known but that they were not lower than this.
 */
void usage_totals_begin(struct usage_totals *totals, const struct usage_totals *before,
			uint64_t ts_ns);

/* The bytes of memory that it takes. */
size_t usage_bytes(const struct usage *usage);

/* A call has said more of what the device is. */
void usage_device_learnt(struct usage *usage, struct process_device *device);

/* The row that a process means by its number; makes one. NULL without memory. */
struct usage_device *usage_device_of(struct usage *usage, int32_t ordinal);

/*
 * The driver has told it so, of the device with that ordinal (of an unknown one, it says nothing).
 * `usage` may be NULL.
 */
void usage_device_told(struct usage *usage, int32_t ordinal, const struct usage_told *told);

/* The same, if there is one: the position, or SIZE_MAX. */
size_t usage_device_place(const struct usage_totals *totals, const struct process_devices *devices,
			  int32_t ordinal);

/*
 * Whether two processes mean the same device, as far as that is known. Without totals (NULL), all
 * mean the same by one number.
 */
bool usage_device_is_same(const struct usage_totals *totals, const struct process_devices *a,
			  int32_t a_ordinal, const struct process_devices *b, int32_t b_ordinal);

/* The row that stands for the same device as this one: as a rule, itself. */
size_t usage_device_root(const struct usage_totals *totals, size_t place);

/* Whether it is one to speak of: used, by whoever is looked at. */
bool usage_device_is_listed(const struct usage_totals *totals, size_t place);

/* Whether no other device is called by the same number, by the first process of each. */
bool usage_device_number_is_unique(const struct usage_totals *totals, size_t place);

/*
 * What people call it: its number, and if processes mean several devices by that, its UUID, PCI bus
 * id, or the first process that does.
 */
void usage_device_append_label(struct string *out, const struct usage_totals *totals, size_t place);

#endif /* MEMSCOPE_LEDGER_USAGE_H */
