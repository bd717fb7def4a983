// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/driver_ranges.h"

#include "ledger/limits.h"
#include "ledger/state.h"

static void remove_from(struct ledger *ledger, uint64_t base)
{
	struct allocation removed;

	ledger_remove(ledger, base, &removed);
}

/* What is mapped anywhere in there. */
static void unmap(struct driver_ranges *ranges, uint64_t base, uint64_t bytes)
{
	const uint64_t end = bytes > UINT64_MAX - base ? UINT64_MAX : base + bytes;
	const struct allocation *one;

	while ((one = ledger_first(&ranges->mapped, base, end)))
		remove_from(&ranges->mapped, one->addr);
}

/* Returns 0 or -ENOMEM. */
static int put(struct process *process, struct ledger *ledger, const struct ms_range *record)
{
	const struct driver_ranges *ranges = &process->driver.ranges;
	const struct allocation range = {
		.addr = record->base,
		.size_bytes = record->bytes,
		.ts_ns = record->event.ts_ns,
		.id = driver_ranges_key(record->client, record->object),
		.context = record->offset,
		.device = -1,
		.tid = record->event.tid,
		.row = record->row,
		.driver_row = MS_NO_ROW,
		.space = record->action == MS_RANGE_MANAGED ? MS_SPACE_MANAGED : MS_SPACE_NONE,
		.size_known = true,
	};

	/* No process has such addresses. */
	if (!record->bytes || record->bytes > UINT64_MAX - record->base)
		return 0;
	remove_from(ledger, record->base);
	if (ranges->created.count + ranges->mapped.count >= LIMIT_DRIVER_OBJECTS) {
		process->counters[COUNTER_OTHER_DRIVER_OBJECTS]++;
		return 0;
	}
	return ledger_insert(ledger, &range);
}

/* Newer drivers do not say how long it is. */
static void free_range(struct driver_ranges *ranges, const struct ms_range *record)
{
	const struct allocation *range = ledger_find(&ranges->created, record->base);

	unmap(ranges, record->base, range ? range->size_bytes : record->bytes);
	remove_from(&ranges->mapped, record->base);
	remove_from(&ranges->created, record->base);
}

int driver_ranges_apply(struct process *process, const struct ms_range *record)
{
	struct driver_ranges *ranges = &process->driver.ranges;

	if (record->status)
		return 0;
	switch ((enum ms_range_action)record->action) {
	case MS_RANGE_CREATE:
	case MS_RANGE_MANAGED:
		ranges->seen = true;
		/* If there was one, its end was not seen. */
		free_range(ranges, record);
		return put(process, &ranges->created, record);
	case MS_RANGE_MAP:
		ranges->seen = true;
		return put(process, &ranges->mapped, record);
	case MS_RANGE_UNMAP:
		unmap(ranges, record->base, record->bytes);
		return 0;
	case MS_RANGE_FREE:
		free_range(ranges, record);
		return 0;
	case MS_RANGE_GPU:
	case MS_RANGE_READY:
	case MS_RANGE_ACTIONS_COUNT:
		break;
	}
	return 0;
}

size_t driver_ranges_bytes(const struct driver_ranges *ranges)
{
	return ledger_bytes(&ranges->created) + ledger_bytes(&ranges->mapped);
}

void driver_ranges_fini(struct driver_ranges *ranges)
{
	ledger_fini(&ranges->created);
	ledger_fini(&ranges->mapped);
}
