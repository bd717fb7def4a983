// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/driver_joins.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/state.h"

struct join_range {
	uint64_t base, end;
	struct driver_join *join; /* NULL: its object is not known */
};

struct work {
	const struct process *process;
	struct driver_join *all; /* by the objects' places */
	struct join_range *ranges;
	size_t ranges_count;
	uint64_t steps; /* over ranges, that are still allowed */
	struct driver_joins *joins;
};

/* Blocks and ranges each lie beside each other, but for those of a file that means harm. */
#define STEPS_OF_EACH 8

static int by_base(const void *one, const void *other)
{
	const struct join_range *a = one, *b = other;

	return a->base < b->base ? -1 : a->base > b->base;
}

/* What is mapped under another name of an object of the process is that object. */
static struct driver_join *join_for(const struct work *work, uint64_t key)
{
	const struct driver_objects *driver = &work->process->driver;
	const uint64_t *place = map_get(&driver->places, key), *source;

	if (!place)
		return NULL;
	source = driver->objects[*place].source ?
			 map_get(&driver->places, driver->objects[*place].source) :
			 NULL;
	return &work->all[source ? *source : *place];
}

static void take_objects(struct work *work)
{
	const struct driver_objects *driver = &work->process->driver;
	size_t i;

	for (i = 0; i < driver->count; i++) {
		const struct driver_object *object = &driver->objects[i];

		work->all[i] = (struct driver_join){
			.client = object->client,
			.object = object->object,
			.bytes = object->bytes,
			.cause = object->cause,
			.is_alias = object->class_number == DRIVER_ALIAS,
			.block_row = MS_NO_ROW,
		};
	}
}

static void take_ranges(struct work *work)
{
	const struct ledger *mapped = &work->process->driver.ranges.mapped;
	size_t i;

	for (i = 0; i < mapped->count; i++) {
		const struct allocation *one = &mapped->entries[i];
		struct driver_join *join = join_for(work, one->id);

		work->ranges[work->ranges_count++] =
			(struct join_range){ one->addr, one->addr + one->size_bytes, join };
		if (!join)
			continue;
		if (!join->mapped_bytes || one->addr < join->base)
			join->base = one->addr;
		join->mapped_bytes += one->size_bytes;
	}
	qsort(work->ranges, work->ranges_count, sizeof(*work->ranges), by_base);
}

/* The last range that begins at the address or below; NULL: none does. */
static const struct join_range *range_below(const struct work *work, uint64_t addr)
{
	size_t low = 0, high = work->ranges_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (work->ranges[middle].base <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &work->ranges[low - 1] : NULL;
}

/* One that goes on from the range before is the same block. */
static void note_block(struct driver_join *join, const struct allocation *block, uint64_t bytes,
		       bool goes_on)
{
	join->blocks += !goes_on;
	join->block_bytes += bytes;
	if (join->block_addr && block->size_bytes <= join->block_largest)
		return;
	join->block_addr = block->addr;
	join->block_largest = block->size_bytes;
	join->block_row = block->row;
}

/* A block may lie in several objects, one behind the other. */
static void place_block(struct work *work, const struct allocation *block)
{
	const uint64_t end = block->addr + block->size_bytes;
	const struct join_range *range = range_below(work, block->addr);
	const struct join_range *last = work->ranges + work->ranges_count;
	const struct driver_join *before = NULL;
	uint64_t found = 0, addr = block->addr;

	for (; range && range < last && range->base <= addr && addr < range->end && work->steps;
	     range++, work->steps--) {
		const uint64_t bytes = (end < range->end ? end : range->end) - addr;

		if (range->join)
			note_block(range->join, block, bytes, range->join == before);
		before = range->join;
		found += range->join ? bytes : 0;
		addr += bytes;
		if (addr >= end)
			break;
	}
	if (found) {
		work->joins->blocks++;
		work->joins->block_bytes += found;
	} else {
		work->joins->outside_blocks++;
	}
	work->joins->outside_bytes += block->size_bytes - found;
}

static void place_managed(struct work *work, const struct allocation *block)
{
	const struct ledger *created = &work->process->driver.ranges.created;
	const struct allocation *range = ledger_find(created, block->addr);

	if (range && range->space == MS_SPACE_MANAGED) {
		work->joins->managed_blocks++;
		work->joins->managed_bytes += block->size_bytes;
	} else {
		work->joins->managed_outside_blocks++;
		work->joins->managed_outside_bytes += block->size_bytes;
	}
}

static void place_blocks(struct work *work, enum ms_key key)
{
	const struct ledger *ledger = &work->process->ledgers[key];
	size_t i;

	work->steps = STEPS_OF_EACH * (work->ranges_count + ledger->count);
	for (i = 0; i < ledger->count; i++) {
		const struct allocation *block = &ledger->entries[i];

		if (!block->size_known || block->size_bytes > UINT64_MAX - block->addr)
			continue;
		if (block->space == MS_SPACE_MANAGED)
			place_managed(work, block);
		else if (block->space == MS_SPACE_DEVICE || block->space == MS_SPACE_POOL ||
			 block->space == MS_SPACE_GRAPH || block->space == MS_SPACE_MAPPED ||
			 block->space == MS_SPACE_IMPORTED)
			place_block(work, block);
	}
}

/* ---- sums ------------------------------------------------------------------------------------ */

static bool is_larger(const struct driver_join *one, const struct driver_join *other)
{
	if (one->bytes != other->bytes)
		return one->bytes > other->bytes;
	return driver_ranges_key(one->client, one->object) <
	       driver_ranges_key(other->client, other->object);
}

static void keep_if_large(struct driver_joins *joins, const struct driver_join *join)
{
	size_t place = joins->largest_count;

	if (place == DRIVER_JOINS_LARGEST) {
		if (!is_larger(join, &joins->largest[place - 1]))
			return;
		place--;
	} else {
		joins->largest_count++;
	}
	for (; place && is_larger(join, &joins->largest[place - 1]); place--)
		joins->largest[place] = joins->largest[place - 1];
	joins->largest[place] = *join;
}

static void sum_up(struct work *work)
{
	const struct driver_objects *driver = &work->process->driver;
	struct driver_joins *joins = work->joins;
	size_t i;

	for (i = 0; i < driver->count; i++) {
		const struct driver_join *join = &work->all[i];
		const bool is_own = driver->objects[i].class_number == MS_NV_MEMORY_LOCAL;

		if (!is_own && !(join->is_alias && join->bytes))
			continue;
		keep_if_large(joins, join);
		if (!is_own)
			continue;
		if (join->blocks) {
			joins->behind_objects++;
			joins->behind_bytes += join->bytes;
		} else if (join->mapped_bytes) {
			joins->empty_objects++;
			joins->empty_bytes += join->bytes;
			joins->empty[join->cause] += join->bytes;
		} else {
			joins->unmapped_objects++;
			joins->unmapped_bytes += join->bytes;
			joins->unmapped[join->cause] += join->bytes;
		}
	}
}

static bool work_out(const struct process *process, struct driver_joins *joins)
{
	const struct driver_objects *driver = &process->driver;
	struct work work = { .process = process, .joins = joins };

	memset(joins, 0, sizeof(*joins));
	if (!driver->ranges.seen)
		return false;
	work.all = calloc(driver->count + 1, sizeof(*work.all));
	work.ranges = calloc(driver->ranges.mapped.count + 1, sizeof(*work.ranges));
	if (work.all && work.ranges) {
		take_objects(&work);
		take_ranges(&work);
		place_blocks(&work, MS_KEY_POINTER);
		place_blocks(&work, MS_KEY_MAPPING);
		sum_up(&work);
	}
	free(work.ranges);
	free(work.all);
	return work.all && work.ranges;
}

bool driver_joins_of(const struct process *process, struct driver_joins *joins)
{
	if (!process->exited)
		return work_out(process, joins);
	if (!process->driver.joins_at_exit)
		return false;
	*joins = *process->driver.joins_at_exit;
	return true;
}

void driver_joins_keep(struct process *process)
{
	struct driver_joins *joins;

	free(process->driver.joins_at_exit);
	process->driver.joins_at_exit = NULL;
	if (!process->driver.ranges.seen)
		return;
	joins = malloc(sizeof(*joins));
	if (joins && work_out(process, joins))
		process->driver.joins_at_exit = joins;
	else
		free(joins);
}
