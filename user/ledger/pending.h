/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frees of a process that have been entered and have not returned: which allocations each has
 * taken out of the ledger (that of a range of addresses may be several). A thread can be in a few
 * such calls, one inside the other. A part of the state.
 */
#ifndef MEMSCOPE_LEDGER_PENDING_H
#define MEMSCOPE_LEDGER_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "ledger/ledger.h"

/* Calls of one thread inside one another; the BPF side follows no more. */
#define PENDING_NESTED 8

/* A free that has been entered and not yet returned, and one of what it frees. */
struct pending_free {
	uint32_t tid;
	uint8_t key;   /* enum ms_key */
	uint64_t addr; /* that the call was given: a range may have several allocations */
	struct allocation allocation;
};

/* A call: the allocations that it has taken and that are still with it. */
struct pending_call {
	uint64_t number; /* of two, that with the lower one was entered first */
	uint32_t tid;
	uint32_t outer; /* position + 1 of the thread's call around it; 0: there is none */
	uint64_t addr;
	uint8_t key;
	struct allocation first; /* if there is only one, as a rule; else they are in `list` */
	struct allocation *list; /* in the order in which they were taken */
	size_t count, taken, capacity;
};

struct pending {
	struct pending_call *calls;
	size_t calls_count, calls_capacity;
	uint64_t numbers;
	size_t count;     /* of allocations, in all calls */
	size_t on_device; /* of these: those that end with the call, and are memory of a device */
	size_t bytes;     /* of lists */
	struct map
		inner;   /* thread -> position + 1 of its innermost call, if there are many calls */
	bool is_indexed; /* `inner` is in use */
	/* Allocations -> how often, a handle being given back several times: for pending_has(),
	 * made when it is called first. */
	struct map ids;
	bool has_ids;
};

/* A zeroed struct pending is empty and ready. */
void pending_fini(struct pending *pending);
size_t pending_bytes(const struct pending *pending);

/*
 * One more allocation of a call; of one that is not there yet, which is the thread's innermost,
 * the first. Returns 0 or -ENOMEM.
 */
int pending_add(struct pending *pending, const struct pending_free *freed);

/* The next one of that call of the thread. Returns whether there is one. */
bool pending_take(struct pending *pending, uint32_t tid, uint8_t key, uint64_t addr,
		  struct allocation *allocation);

/* The next one of any call of the thread. */
bool pending_take_any(struct pending *pending, uint32_t tid, struct pending_free *freed);

/* The next one of the thread's outermost call, if it is in as many as it can be in. */
bool pending_take_outermost(struct pending *pending, uint32_t tid, struct pending_free *freed);

/* The next one of the call that has been there for longer than most, or for less. */
bool pending_take_first(struct pending *pending, struct pending_free *freed);
bool pending_take_last(struct pending *pending, struct pending_free *freed);

/* Whether it is one of them: by the number of the allocation. */
bool pending_has(struct pending *pending, uint64_t id);

/* Calls `visit` for each of them, in an order of no meaning; it must not change them. */
void pending_visit(const struct pending *pending,
		   void (*visit)(void *context, const struct pending_free *freed), void *context);

#endif /* MEMSCOPE_LEDGER_PENDING_H */
