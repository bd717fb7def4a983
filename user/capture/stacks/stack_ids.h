/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel side gives each process ids of its own for its stacks. A program that is started a
 * thousand times has the same stacks a thousand times: they all get the id of the first one, so
 * that a stack is fed, kept and recorded once.
 */
#ifndef MEMSCOPE_CAPTURE_STACKS_STACK_IDS_H
#define MEMSCOPE_CAPTURE_STACKS_STACK_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* Different ones: as many as the ledger keeps. What comes after these has its own id. */
#define STACK_IDS_MOST 65536

struct stack_ids {
	struct map firsts; /* hash of what a stack is -> id of the first */
	struct map others; /* id of another one -> that of the first */
};

/* Those of one process that are another's, too. A zeroed one is empty. */
struct stack_ids_shared {
	uint32_t *ids;
	size_t count, capacity;
};

void stack_ids_fini(struct stack_ids *ids);

/*
 * A stack has come, which is `what` (a hash of its frames): returns the id of the first such, which
 * is its own if there was none, or if this cannot be noted.
 */
uint32_t stack_ids_add(struct stack_ids *ids, struct stack_ids_shared *shared, uint32_t id,
		       uint64_t what);

/* The id by which a stack has been fed. */
uint32_t stack_ids_find(const struct stack_ids *ids, uint32_t id);

/* The process is gone: its ids do not come any more. */
void stack_ids_forget(struct stack_ids *ids, struct stack_ids_shared *shared);

/*
 * The kernel side has forgotten its ids, and the ledger all stacks but those whose ids are keys of
 * `wanted`: only these are known from now on.
 */
void stack_ids_keep(struct stack_ids *ids, const struct map *wanted);

#endif /* MEMSCOPE_CAPTURE_STACKS_STACK_IDS_H */
