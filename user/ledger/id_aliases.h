/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Further ids of what is known by another id already: an agent that has forgotten a stack gives it
 * a new id when it comes again, and a recording of days has all of these. Those that nothing has
 * asked for while many others came make way.
 */
#ifndef MEMSCOPE_LEDGER_ID_ALIASES_H
#define MEMSCOPE_LEDGER_ID_ALIASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* A zeroed one is empty. */
struct id_aliases {
	struct map recent, before; /* id -> place of what it is */
	bool dropped;              /* some have made way */
};

void id_aliases_fini(struct id_aliases *aliases);
size_t id_aliases_bytes(const struct id_aliases *aliases);

/* Once there are `most` new ones, those from before make way. Returns 0 or -ENOMEM. */
int id_aliases_add(struct id_aliases *aliases, uint32_t id, uint32_t place, size_t most);

/* Its place; NULL: there is no such id, or not any more. */
const uint64_t *id_aliases_find(const struct id_aliases *aliases, uint32_t id);

/* It has been asked for: it is as good as new. Without memory, it stays what it is. */
void id_aliases_use(struct id_aliases *aliases, uint32_t id, size_t most);

#endif /* MEMSCOPE_LEDGER_ID_ALIASES_H */
