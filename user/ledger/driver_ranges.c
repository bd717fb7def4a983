// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/driver_ranges.h"

#include <string.h>

#include "ledger/effort.h"
#include "ledger/limits.h"
#include "ledger/state.h"

#define FIRST_MOST_MANAGED 1024
#define IN_PROGRESS_NS 1000000000ull /* a call that allocates may take so long */

static void remove_mapped(struct driver_ranges *ranges, uint64_t base)
{
	struct allocation removed;

	ledger_remove(&ranges->mapped, base, &removed);
}

static void remove_created(struct driver_ranges *ranges, uint64_t base)
{
	struct allocation removed;

	if (ledger_remove(&ranges->created, base, &removed))
		ranges->managed_count -= removed.space == MS_SPACE_MANAGED;
}

static uint64_t end_of(uint64_t base, uint64_t bytes)
{
	return bytes > UINT64_MAX - base ? UINT64_MAX : base + bytes;
}

/* What is mapped anywhere in there, on whatever GPU. */
static void unmap_all(struct driver_ranges *ranges, uint64_t base, uint64_t bytes)
{
	const struct allocation *one;

	while ((one = ledger_first(&ranges->mapped, base, end_of(base, bytes))))
		remove_mapped(ranges, one->addr);
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

/* The bit of the GPU; 0: it is not said which one, or there are too many. */
static uint64_t gpu_of(struct driver_ranges *ranges, const struct ms_range *record)
{
	uint64_t halves[2], name;
	size_t i;

	_Static_assert(sizeof(halves) == sizeof(record->uuid), "a UUID has two halves");
	memcpy(halves, record->uuid, sizeof(halves));
	name = halves[0] ^ halves[1];
	if (!name)
		return 0;
	for (i = 0; i < ranges->gpus_count; i++)
		if (ranges->gpus[i] == name)
			return 1ull << i;
	if (i == DRIVER_RANGES_GPUS)
		return 0;
	ranges->gpus[ranges->gpus_count++] = name;
	return 1ull << i;
}

/* Returns whether the same is there already, for another GPU. */
static bool map_on_one_more(struct driver_ranges *ranges, const struct ms_range *record)
{
	struct allocation *known = ledger_find(&ranges->mapped, record->base);
	const uint64_t gpu = gpu_of(ranges, record);

	if (!known || known->id != driver_ranges_key(record->client, record->object) ||
	    known->size_bytes != record->bytes || known->context != record->offset)
		return false;
	known->owner = known->owner && gpu ? known->owner | gpu : 0;
	return true;
}

/* What is mapped stays while another GPU has it. */
static void unmap(struct process *process, const struct ms_range *record)
{
	struct driver_ranges *ranges = &process->driver.ranges;
	const uint64_t gpu = gpu_of(ranges, record), end = end_of(record->base, record->bytes);
	const struct allocation *one;
	uint64_t next = record->base;

	effort_advance(process, record->event.ts_ns);
	while (next < end && (one = ledger_first(&ranges->mapped, next, end))) {
		const uint64_t others = one->owner & ~gpu;

		if (!gpu || !others) {
			remove_mapped(ranges, one->addr);
			continue;
		}
		/* Those that stay can be walked again and again. */
		if (!effort_pay(process, 1)) {
			process->counters[COUNTER_OTHER_DRIVER_OBJECTS]++;
			break;
		}
		next = one->addr + 1;
		ledger_find(&ranges->mapped, one->addr)->owner = others;
	}
}

/* ---- managed memory -------------------------------------------------------------------------- */

/*
 * The driver is not told when managed memory is freed. So once there are many ranges, those that
 * have no allocation go; what is being allocated may have none yet.
 */
static void end_managed(struct process *process, uint64_t ts_ns)
{
	struct driver_ranges *ranges = &process->driver.ranges;
	const struct ledger *blocks = &process->ledgers[MS_KEY_POINTER];
	size_t i;

	effort_advance(process, ts_ns);
	if (!effort_pay(process, ranges->created.count))
		return;
	for (i = ranges->created.count; i-- > 0;) {
		const struct allocation *range = &ranges->created.entries[i], *block;

		if (range->space != MS_SPACE_MANAGED || ts_ns < range->ts_ns + IN_PROGRESS_NS)
			continue;
		block = ledger_find(blocks, range->addr);
		if (!block || block->space != MS_SPACE_MANAGED)
			remove_created(ranges, range->addr); /* the last one fills its place */
	}
	ranges->managed_most = 2 * ranges->managed_count;
	if (ranges->managed_most < FIRST_MOST_MANAGED)
		ranges->managed_most = FIRST_MOST_MANAGED;
}

static bool has_place(struct process *process, const struct ms_range *record)
{
	struct driver_ranges *ranges = &process->driver.ranges;

	if (record->action != MS_RANGE_MANAGED)
		return ranges->created.count - ranges->managed_count + ranges->mapped.count <
		       LIMIT_DRIVER_OBJECTS;
	if (ranges->managed_count >= FIRST_MOST_MANAGED &&
	    (ranges->managed_count >= ranges->managed_most ||
	     ranges->managed_count >= LIMIT_MANAGED_RANGES))
		end_managed(process, record->event.ts_ns);
	return ranges->managed_count < LIMIT_MANAGED_RANGES;
}

/* ---- all ranges ------------------------------------------------------------------------------ */

/* Returns 0 or -ENOMEM. */
static int put(struct process *process, struct ledger *ledger, const struct ms_range *record)
{
	struct driver_ranges *ranges = &process->driver.ranges;
	const bool is_map = record->action == MS_RANGE_MAP;
	const bool is_managed = record->action == MS_RANGE_MANAGED;
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
		.space = is_managed ? MS_SPACE_MANAGED : MS_SPACE_NONE,
		.size_known = true,
		.owner = is_map ? gpu_of(ranges, record) : 0,
		.stack = record->file,
	};
	int err;

	/* No process has such addresses. */
	if (!record->bytes || record->bytes > UINT64_MAX - record->base)
		return 0;
	if (is_map && map_on_one_more(ranges, record))
		return 0;
	if (is_map)
		remove_mapped(ranges, record->base);
	if (!has_place(process, record)) {
		process->counters[COUNTER_OTHER_DRIVER_OBJECTS]++;
		return 0;
	}
	err = ledger_insert(ledger, &range);
	ranges->managed_count += !err && is_managed;
	return err;
}

/* Newer drivers do not say how long it is. */
static void free_range(struct driver_ranges *ranges, const struct ms_range *record)
{
	const struct allocation *range = ledger_find(&ranges->created, record->base);

	unmap_all(ranges, record->base, range ? range->size_bytes : record->bytes);
	remove_mapped(ranges, record->base);
	remove_created(ranges, record->base);
}

/* UVM_VALIDATE_VA_RANGE succeeds for other ranges, too, and makes none. */
static bool is_external(const struct driver_ranges *ranges, const struct ms_range *record)
{
	const struct allocation *range = ledger_find(&ranges->created, record->base);

	return range && range->space != MS_SPACE_MANAGED && range->size_bytes == record->bytes;
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
		if (record->action == MS_RANGE_MANAGED && is_external(ranges, record))
			return 0;
		/* If there was one, its end was not seen. */
		free_range(ranges, record);
		return put(process, &ranges->created, record);
	case MS_RANGE_MAP:
		ranges->seen = true;
		return put(process, &ranges->mapped, record);
	case MS_RANGE_UNMAP:
		unmap(process, record);
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

void driver_ranges_close(struct driver_ranges *ranges, uint32_t file)
{
	size_t i;

	/* The last one fills the place of one that goes. */
	for (i = ranges->created.count; i-- > 0;)
		if (ranges->created.entries[i].stack == file)
			remove_created(ranges, ranges->created.entries[i].addr);
	for (i = ranges->mapped.count; i-- > 0;)
		if (ranges->mapped.entries[i].stack == file)
			remove_mapped(ranges, ranges->mapped.entries[i].addr);
}

void driver_ranges_sum(const struct driver_ranges *ranges, struct driver_ranges_totals *totals)
{
	size_t i;

	*totals = (struct driver_ranges_totals){ 0 };
	for (i = 0; i < ranges->created.count; i++) {
		const struct allocation *range = &ranges->created.entries[i];
		const bool is_managed = range->space == MS_SPACE_MANAGED;

		totals->managed_count += is_managed;
		totals->managed_bytes += is_managed ? range->size_bytes : 0;
		totals->external_bytes += is_managed ? 0 : range->size_bytes;
	}
	totals->external_count = ranges->created.count - totals->managed_count;
	totals->mapped_count = ranges->mapped.count;
	for (i = 0; i < ranges->mapped.count; i++)
		totals->mapped_bytes += ranges->mapped.entries[i].size_bytes;
}

size_t driver_ranges_bytes(const struct driver_ranges *ranges)
{
	return ledger_bytes(&ranges->created) + ledger_bytes(&ranges->mapped);
}

void driver_ranges_fini(struct driver_ranges *ranges)
{
	ledger_fini(&ranges->created);
	ledger_fini(&ranges->mapped);
	ranges->managed_count = ranges->managed_most = ranges->gpus_count = 0;
}
