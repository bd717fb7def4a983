/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live allocations of one process that are known by the same kind of value (enum ms_key), by
 * that value. Entries lie densely in one array (walking them is walking an array); a hash table of
 * their positions finds them: 64 bytes and at most 22 more per allocation. With millions of them a
 * look-up costs as many cache misses as it touches places, so the table also holds what the search
 * goes by: an entry is looked at only if it is the one, as a rule.
 */
#ifndef MEMSCOPE_LEDGER_LEDGER_H
#define MEMSCOPE_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocation {
	uint64_t addr;
	uint64_t size_bytes;
	uint64_t ts_ns;   /* when the allocating call returned, CLOCK_MONOTONIC */
	uint64_t id;      /* counts from 1 over all processes of a run */
	uint64_t context; /* 0: unknown */
	int32_t device;   /* -1: unknown */
	uint32_t tid;
	uint16_t row;        /* of the probe table: the outermost call */
	uint16_t driver_row; /* or MS_NO_ROW */
	uint8_t space;       /* enum ms_space */
	bool size_known;
	uint8_t framework; /* whose allocator gives blocks of it: enum ms_framework + 1; 0: none */
	uint8_t communicator; /* of NCCL: position in struct nccl, + 1; 0: none */
	uint32_t stack;       /* id of where it was called from, of ledger/stacks.h; 0: not known */
	union {
		/* Mapping: id of the memory that is mapped; pool: its handle. 0: unknown, none. */
		uint64_t owner;
		struct {
			uint32_t references; /* physical, imported: to be given back as often */
			uint32_t mappings;   /* physical */
		};
	};
};

struct ledger_slot {
	uint32_t hash;     /* of the entry's address: its low bits say where the search begins */
	uint32_t position; /* in `entries`, + 1; 0: the slot is free */
};

struct ledger {
	struct allocation *entries;
	struct ledger_slot *slots;
	size_t count;
	size_t entries_capacity;
	size_t slots_capacity;      /* 0 or a power of two */
	uint64_t secret;            /* for map_hash() */
	struct ledger_index *index; /* ledger/ledger_index.h; NULL: not needed so far */
};

/* A zeroed struct ledger is empty and ready. */
void ledger_fini(struct ledger *ledger);

/* The bytes of memory that it takes. */
size_t ledger_bytes(const struct ledger *ledger);

/*
 * NULL if there is none at that address. Valid until the ledger changes; address and size must stay
 * what they are.
 */
struct allocation *ledger_find(const struct ledger *ledger, uint64_t addr);

/* The one that `addr` lies in, or NULL. */
const struct allocation *ledger_containing(struct ledger *ledger, uint64_t addr);

/* The one that begins first of those at `addr` and above, below `end`; or NULL. */
const struct allocation *ledger_first(struct ledger *ledger, uint64_t addr, uint64_t end);

/* One that ends with that context (0: one that is not known), or NULL. */
const struct allocation *ledger_in(struct ledger *ledger, uint64_t context);

/* There must be none at that address yet. Returns 0 or -ENOMEM (then nothing changed). */
int ledger_insert(struct ledger *ledger, const struct allocation *allocation);

/* Returns whether there was one; it is copied to `*removed`. */
bool ledger_remove(struct ledger *ledger, uint64_t addr, struct allocation *removed);

#endif /* MEMSCOPE_LEDGER_LEDGER_H */
