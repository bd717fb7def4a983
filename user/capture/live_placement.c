// SPDX-License-Identifier: BSD-2-Clause
/*
 * On which NUMA nodes the memory of a process lies that a GPU reads and writes by itself, or that
 * wanders between both: page-locked, registered and managed blocks, as far as they are known.
 */
#include "capture/live_internal.h"
#include "host/page_nodes.h"
#include "ledger/state.h"

#define BLOCKS_MAX 64          /* of a process, that are asked for each time */
#define ENTRIES_MAX (64 << 10) /* that are looked through for them */

static const uint8_t spaces[] = { MS_SPACE_PINNED, MS_SPACE_REGISTERED, MS_SPACE_MANAGED };

/*
 * What is known of all blocks of a space that were asked for. Of a large block no more pages are
 * asked for than of a smaller one, so each of them stands for more bytes.
 */
struct placed {
	uint64_t asked; /* pages */
	uint64_t bytes, blocks;
	uint64_t on_bytes[PAGE_NODES_MAX];
};

static uint64_t share_of(uint64_t whole, uint64_t part, uint64_t parts)
{
	return (uint64_t)(((unsigned __int128)whole * part + parts / 2) / parts);
}

static bool ask_for(pid_t pid, const struct allocation *allocation, struct placed *placed)
{
	struct page_nodes nodes = { .asked = 0 };
	size_t i;

	if (!allocation->size_known || !allocation->size_bytes ||
	    page_nodes_ask(pid, allocation->addr, allocation->size_bytes, &nodes))
		return false;
	for (i = 0; i < PAGE_NODES_MAX; i++)
		placed->on_bytes[i] += share_of(allocation->size_bytes, nodes.on[i], nodes.asked);
	placed->asked += nodes.asked;
	placed->bytes += allocation->size_bytes;
	placed->blocks++;
	return true;
}

static void ask_for_all(pid_t pid, const struct ledger *ledger, uint8_t space,
			struct placed *placed)
{
	size_t i;

	/* The newest come last. */
	for (i = 0; i < ledger->count && i < ENTRIES_MAX && placed->blocks < BLOCKS_MAX; i++) {
		const struct allocation *allocation = &ledger->entries[ledger->count - 1 - i];

		if (allocation->space == space && !ask_for(pid, allocation, placed) &&
		    !placed->blocks)
			return; /* it cannot be asked, and the next would be no other */
	}
}

static int feed_node(struct live *live, const struct target *target, uint8_t space,
		     const struct placed *placed, int32_t node, uint64_t pages, uint64_t ts_ns)
{
	struct ms_placement record = { .event = { .ts_ns = ts_ns,
						  .start_ns = target->start_ns,
						  .pid = target->pid,
						  .tid = target->pid,
						  .type = MS_TYPE_PLACEMENT,
						  .size = sizeof(record) },
				       .space = space,
				       .node = node,
				       .pages = pages,
				       .asked = placed->asked,
				       .bytes = placed->bytes,
				       .blocks = placed->blocks };

	return pages ? live_feed(live, &record, sizeof(record)) : 0;
}

/* Of the pages that were asked for, each node has as many as it has of the bytes. */
static int feed_space(struct live *live, const struct target *target, uint8_t space,
		      const struct placed *placed, uint64_t ts_ns)
{
	uint64_t bytes = 0, pages = 0;
	int32_t node;
	int err = 0;

	for (node = 0; !err && placed->bytes && node < PAGE_NODES_MAX; node++) {
		const uint64_t before = pages;

		bytes += placed->on_bytes[node];
		pages = share_of(placed->asked, bytes, placed->bytes);
		err = feed_node(live, target, space, placed, node, pages - before, ts_ns);
	}
	return err ? err : feed_node(live, target, space, placed, -1, placed->asked - pages, ts_ns);
}

int live_placement_feed(struct live *live, const struct target *target, uint64_t ts_ns)
{
	const struct state *state = live->options.state;
	const struct process *process =
		state ? state_find(state, (uint32_t)target->pid, target->start_ns) : NULL;
	size_t i;
	int err = 0;

	for (i = 0; process && !err && i < sizeof(spaces); i++) {
		struct placed placed = { .bytes = 0 };

		if (process->spaces[spaces[i]].live_count)
			ask_for_all(target->pid, &process->ledgers[MS_KEY_POINTER], spaces[i],
				    &placed);
		err = feed_space(live, target, spaces[i], &placed, ts_ns);
	}
	return err;
}
