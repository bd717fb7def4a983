// SPDX-License-Identifier: BSD-2-Clause
#include "timeline/phase_sums.h"

#include "ledger/usage.h"

/* What was made or ended besides what the call is for: by graphs, contexts, the end of mappings. */
static void add_amounts(struct phase_sums *sums, const struct change *change)
{
	uint32_t space;

	for (space = 0; change->has_amounts && space < MS_SPACES_COUNT; space++) {
		if (!usage_is_held(space))
			continue;
		sums->allocs += change->made[space].count;
		sums->alloc_bytes += change->made[space].bytes;
		sums->frees += change->implicit[space].count;
		sums->free_bytes += change->implicit[space].bytes;
	}
}

static void add_block(struct phase_sums *sums, const struct event *event,
		      const struct change *change)
{
	const struct allocation *allocation = &change->allocation;

	if (!change->has_allocation || !usage_is_held(allocation->space) || change->captured)
		return;
	if (event->probe->spec.op == MS_OP_ALLOC) {
		sums->allocs++;
		sums->alloc_bytes += allocation->size_bytes;
	} else if (event->probe->spec.op == MS_OP_FREE && change->free == FREE_KNOWN) {
		sums->frees++;
		sums->free_bytes += allocation->size_bytes;
	}
}

void phase_sums_call(struct phase_sums *sums, const struct event *event,
		     const struct change *change)
{
	const struct ms_call *call = event->call;

	add_amounts(sums, change);
	add_block(sums, event, change);
	if (!event_succeeded(call) || call->flags & MS_CALL_PART)
		return;
	switch (event->probe->spec.op) {
	case MS_OP_COPY:
		sums->copies += event->count;
		sums->copy_bytes += call->size;
		break;
	case MS_OP_LAUNCH:
		sums->launches += event->count;
		break;
	case MS_OP_SYNC:
		sums->waits += event->count;
		sums->wait_ns += call->duration_ns;
		break;
	}
}

#define ADD(member) sum->member += now->member - before->member

void phase_sums_add_since(struct phase_sums *sum, const struct phase_sums *now,
			  const struct phase_sums *before)
{
	ADD(allocs);
	ADD(alloc_bytes);
	ADD(frees);
	ADD(free_bytes);
	ADD(copies);
	ADD(copy_bytes);
	ADD(launches);
	ADD(waits);
	ADD(wait_ns);
}
