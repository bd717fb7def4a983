/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a ledger is searched by besides the address of an allocation: any address inside of one, the
 * next address, the context. Most programs never ask for these. So each index is made when it is
 * asked for first, and kept up to date from then on; until then it costs nothing. Without memory
 * for it, the entries are walked. A part of the ledger.
 */
#ifndef MEMSCOPE_LEDGER_LEDGER_INDEX_H
#define MEMSCOPE_LEDGER_LEDGER_INDEX_H

#include "base/map.h"
#include "base/sorted.h"
#include "ledger/ledger.h"

/* Entries of one context are chained, by their positions + 1; 0: there is none. */
struct ledger_link {
	uint32_t next, before;
};

struct ledger_index {
	/* For ledger_containing(). */
	struct map starts;
	uint32_t levels[64]; /* allocations by the logarithm of their size */
	bool has_starts;

	/* For ledger_first(): addresses. */
	struct sorted order;
	bool has_order;

	/* For ledger_in(): chains, and where each begins. */
	struct ledger_link *links;
	size_t links_capacity;
	struct map contexts;
	bool has_contexts;
};

void ledger_index_free(struct ledger_index *index);
size_t ledger_index_bytes(const struct ledger_index *index);

/* An entry is there; will be gone; the last one is in another place now. There is an index. */
void ledger_index_add(struct ledger *ledger, size_t position);
void ledger_index_remove(struct ledger *ledger, size_t position);
void ledger_index_move(struct ledger *ledger, size_t from, size_t to);

#endif /* MEMSCOPE_LEDGER_LEDGER_INDEX_H */
