// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/usage.h"

#include <stdlib.h>

#include "base/memory.h"
#include "ledger/usage_devices.h"

/* A hostile file could name billions of devices: what comes after these is of unknown ones. */
#define CELLS_MAX 4096

/* As many as there are stacks (ledger/limits.h); what comes after these is of the cell alone. */
#define PARTS_MAX 65536

bool usage_is_on_device(uint8_t space)
{
	switch (space) {
	case MS_SPACE_DEVICE:
	case MS_SPACE_POOL:
	case MS_SPACE_ARRAY:
	case MS_SPACE_GRAPH:
	case MS_SPACE_PHYSICAL:
		return true;
	}
	return false;
}

bool usage_is_held(uint8_t space)
{
	return usage_is_on_device(space) || space == MS_SPACE_MANAGED;
}

uint8_t usage_size_class(uint64_t size_bytes)
{
	return size_bytes ? 63 - __builtin_clzll(size_bytes) : 0;
}

struct usage *usage_new(struct usage_totals *totals, struct process_devices *devices)
{
	struct usage *usage = calloc(1, sizeof(*usage));

	if (!usage)
		return NULL;
	usage->totals = totals;
	usage->devices = devices;
	return usage;
}

void usage_free(struct usage *usage)
{
	if (!usage)
		return;
	while (usage->count)
		free(usage->cells[--usage->count].sizes);
	free(usage->cells);
	map_fini(&usage->places);
	free(usage->parts);
	map_fini(&usage->part_places);
	free(usage->ended);
	free(usage);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static struct usage_cell *cell_new(struct usage *usage, const struct allocation *allocation,
				   uint64_t key)
{
	const struct usage_cell cell = { .row = allocation->row,
					 .space = allocation->space,
					 .device = allocation->device };

	if (memory_grow(&usage->cells, &usage->capacity, usage->count + 1, sizeof(*usage->cells)) ||
	    map_set(&usage->places, key, usage->count)) {
		usage->totals->incomplete = true;
		return NULL;
	}
	usage->cells[usage->count] = cell;
	return &usage->cells[usage->count++];
}

static struct usage_cell *cell_of(struct usage *usage, const struct allocation *allocation)
{
	uint64_t kind = (uint64_t)allocation->row << 40 | (uint64_t)allocation->space << 32;
	uint64_t key = kind | (uint32_t)allocation->device;
	const uint64_t *place = map_get(&usage->places, key);
	struct allocation unknown;

	if (place)
		return &usage->cells[*place];
	if (usage->count < CELLS_MAX)
		return cell_new(usage, allocation, key);
	unknown = *allocation;
	unknown.device = -1;
	key = kind | UINT32_MAX;
	place = map_get(&usage->places, key);
	return place ? &usage->cells[*place] : cell_new(usage, &unknown, key);
}

/* NULL without memory. */
static struct usage_size *size_of(struct usage *usage, struct usage_cell *cell, uint64_t size_bytes)
{
	const uint8_t size_class = usage_size_class(size_bytes);
	size_t before = cell->sizes_capacity;

	if (cell->size_places[size_class])
		return &cell->sizes[cell->size_places[size_class] - 1];
	if (memory_grow(&cell->sizes, &cell->sizes_capacity, cell->sizes_count + 1,
			sizeof(*cell->sizes))) {
		usage->totals->incomplete = true;
		return NULL;
	}
	usage->sizes_bytes += (cell->sizes_capacity - before) * sizeof(*cell->sizes);
	cell->sizes[cell->sizes_count] = (struct usage_size){ .size_class = size_class };
	cell->size_places[size_class] = ++cell->sizes_count;
	return &cell->sizes[cell->sizes_count - 1];
}

/* NULL if it has no stack, there is no memory, or no place. */
static struct usage_part *part_of(struct usage *usage, struct usage_cell *cell,
				  const struct allocation *allocation)
{
	const uint64_t key = (uint64_t)(cell - usage->cells) << 32 | allocation->stack;
	const uint64_t *place = allocation->stack ? map_get(&usage->part_places, key) : NULL;

	if (place)
		return &usage->parts[*place];
	if (!allocation->stack || usage->parts_count >= PARTS_MAX)
		return NULL;
	if (memory_grow(&usage->parts, &usage->parts_capacity, usage->parts_count + 1,
			sizeof(*usage->parts)) ||
	    map_set(&usage->part_places, key, usage->parts_count)) {
		usage->totals->incomplete = true;
		return NULL;
	}
	usage->parts[usage->parts_count] =
		(struct usage_part){ .stack = allocation->stack, .next = cell->parts };
	cell->parts = ++usage->parts_count;
	return &usage->parts[usage->parts_count - 1];
}

/*
 * Before the cell changes: what it holds is its part of the space's last peak, if it had not
 * changed by then. So a peak costs nothing but for the cells that change after it.
 */
static void copy_peak(const struct usage *usage, struct usage_cell *cell)
{
	const uint64_t peak = usage->spaces[cell->space].peak;

	if (cell->peak == peak)
		return;
	cell->peak = peak;
	cell->peak_bytes = cell->live_bytes;
	cell->peak_count = cell->live_count;
}

static void copy_part_peak(const struct usage *usage, const struct usage_cell *cell,
			   struct usage_part *part)
{
	const uint64_t peak = usage->spaces[cell->space].peak;

	if (part->peak == peak)
		return;
	part->peak = peak;
	part->peak_bytes = part->live_bytes;
	part->peak_count = part->live_count;
}

static void live_add(struct usage *usage, const struct allocation *allocation)
{
	struct usage_cell *cell = cell_of(usage, allocation);
	struct usage_size *size = cell ? size_of(usage, cell, allocation->size_bytes) : NULL;
	struct usage_part *part = cell ? part_of(usage, cell, allocation) : NULL;

	if (cell) {
		copy_peak(usage, cell);
		cell->live_bytes += allocation->size_bytes;
		cell->live_count++;
	}
	if (part) {
		copy_part_peak(usage, cell, part);
		part->live_bytes += allocation->size_bytes;
		part->live_count++;
	}
	if (size) {
		size->live_bytes += allocation->size_bytes;
		size->live_count++;
		if (size->live_bytes > size->most_bytes)
			size->most_bytes = size->live_bytes;
	}
	usage->spaces[allocation->space].live_bytes += allocation->size_bytes;
}

void usage_add(struct usage *usage, const struct allocation *allocation, uint64_t ts_ns)
{
	const uint8_t space = allocation->space;

	if (!usage)
		return;
	live_add(usage, allocation);
	usage_device_add(usage, allocation, ts_ns);
	if (usage->spaces[space].live_bytes <= usage->spaces[space].peak_bytes)
		return;
	usage->spaces[space].peak_bytes = usage->spaces[space].live_bytes;
	usage->spaces[space].peak++;
	usage->spaces[space].known = true;
}

void usage_load(struct usage *usage, const struct allocation *allocation)
{
	if (!usage)
		return;
	live_add(usage, allocation);
	usage_device_add(usage, allocation, 0);
}

void usage_remove(struct usage *usage, const struct allocation *allocation)
{
	struct usage_cell *cell;
	struct usage_size *size;
	struct usage_part *part;

	if (!usage)
		return;
	cell = cell_of(usage, allocation);
	if (cell) {
		copy_peak(usage, cell);
		cell->live_bytes -= allocation->size_bytes;
		cell->live_count--;
	}
	part = cell ? part_of(usage, cell, allocation) : NULL;
	if (part) {
		copy_part_peak(usage, cell, part);
		part->live_bytes -= allocation->size_bytes;
		part->live_count--;
	}
	size = cell ? size_of(usage, cell, allocation->size_bytes) : NULL;
	if (size) {
		size->live_bytes -= allocation->size_bytes;
		size->live_count--;
	}
	usage->spaces[allocation->space].live_bytes -= allocation->size_bytes;
	usage_device_remove(usage, allocation->space, allocation->device, allocation->size_bytes);
}

void usage_count_alloc(struct usage *usage, const struct allocation *allocation, int by)
{
	struct usage_cell *cell = usage ? cell_of(usage, allocation) : NULL;
	uint64_t bytes = by < 0 ? -allocation->size_bytes : allocation->size_bytes;
	struct usage_size *size;
	struct usage_part *part;

	if (!cell)
		return;
	cell->allocs += by;
	cell->alloc_bytes += bytes;
	part = part_of(usage, cell, allocation);
	if (part) {
		part->allocs += by;
		part->alloc_bytes += bytes;
	}
	size = size_of(usage, cell, allocation->size_bytes);
	if (!size)
		return;
	size->allocs += by;
	size->alloc_bytes += bytes;
}

void usage_count_free(struct usage *usage, const struct allocation *allocation)
{
	struct usage_cell *cell = usage ? cell_of(usage, allocation) : NULL;
	struct usage_size *size;

	if (!cell)
		return;
	cell->frees++;
	cell->free_bytes += allocation->size_bytes;
	size = size_of(usage, cell, allocation->size_bytes);
	if (size) {
		size->frees++;
		size->free_bytes += allocation->size_bytes;
	}
	if (usage->totals->now_ns > allocation->ts_ns)
		cell->lifetime_ns += usage->totals->now_ns - allocation->ts_ns;
}

/* ---- the whole ------------------------------------------------------------------------------- */

void usage_end(struct usage *usage, const struct allocation *allocation)
{
	if (!usage)
		return;
	if (memory_grow(&usage->ended, &usage->ended_capacity, usage->ended_count + 1,
			sizeof(*usage->ended)))
		usage->totals->incomplete = true;
	else
		usage->ended[usage->ended_count++] = allocation->id;
}

void usage_exit(struct usage *usage)
{
	size_t i;

	if (!usage)
		return;
	usage_settle(usage);
	for (i = 0; i < usage->count; i++)
		usage_device_remove(usage, usage->cells[i].space, usage->cells[i].device,
				    usage->cells[i].live_bytes);
}

void usage_settle(struct usage *usage)
{
	uint32_t part;
	size_t i;

	for (i = 0; usage && i < usage->count; i++) {
		const struct usage_cell *cell = &usage->cells[i];

		copy_peak(usage, &usage->cells[i]);
		for (part = cell->parts; part; part = usage->parts[part - 1].next)
			copy_part_peak(usage, cell, &usage->parts[part - 1]);
	}
}

/* Gives those parts their new positions, in the order of keep_parts(). Returns 0 or -ENOMEM. */
static int place_parts(const struct usage *usage, struct map *places, size_t *count)
{
	uint32_t at;
	size_t i;
	int err = 0;

	for (i = 0; i < usage->count; i++)
		for (at = usage->cells[i].parts; !err && at; at = usage->parts[at - 1].next)
			if (usage->parts[at - 1].live_count)
				err = map_set(places,
					      (uint64_t)i << 32 | usage->parts[at - 1].stack,
					      (*count)++);
	return err;
}

static void keep_parts(struct usage *usage, struct usage_part *kept)
{
	uint32_t at, count = 0, *link;
	size_t i;

	for (i = 0; i < usage->count; i++) {
		at = usage->cells[i].parts;
		link = &usage->cells[i].parts;
		for (; at; at = usage->parts[at - 1].next) {
			if (!usage->parts[at - 1].live_count)
				continue;
			kept[count] = usage->parts[at - 1];
			*link = count + 1;
			link = &kept[count++].next;
		}
		*link = 0;
	}
}

size_t usage_drop_parts(struct usage *usage)
{
	const size_t before = usage ? usage->parts_count : 0;
	struct map places = { 0 };
	struct usage_part *kept;
	size_t count = 0;

	if (!before)
		return 0;
	if (place_parts(usage, &places, &count) ||
	    !(kept = calloc(count ? count : 1, sizeof(*kept)))) {
		map_fini(&places);
		return 0;
	}
	keep_parts(usage, kept);
	free(usage->parts);
	map_fini(&usage->part_places);
	usage->part_places = places;
	usage->parts = kept;
	usage->parts_count = count;
	usage->parts_capacity = count ? count : 1;
	return before - count;
}

void usage_restart(struct usage *usage)
{
	uint32_t space;
	size_t i, j;

	for (i = 0; usage && i < usage->parts_count; i++)
		usage->parts[i].allocs = usage->parts[i].alloc_bytes = 0;

	for (i = 0; usage && i < usage->count; i++) {
		struct usage_cell *cell = &usage->cells[i];

		cell->allocs = cell->alloc_bytes = cell->frees = cell->free_bytes = 0;
		cell->lifetime_ns = 0;
		for (j = 0; j < cell->sizes_count; j++) {
			struct usage_size *size = &cell->sizes[j];

			size->allocs = size->alloc_bytes = size->frees = size->free_bytes = 0;
			size->most_bytes = size->live_bytes;
		}
	}
	for (space = 0; usage && space < MS_SPACES_COUNT; space++) {
		usage->spaces[space].peak_bytes = usage->spaces[space].live_bytes;
		usage->spaces[space].peak++;
		usage->spaces[space].known = true;
	}
}

size_t usage_bytes(const struct usage *usage)
{
	return usage ? sizeof(*usage) + usage->capacity * sizeof(*usage->cells) +
			       map_bytes(&usage->places) + usage->sizes_bytes +
			       usage->parts_capacity * sizeof(*usage->parts) +
			       map_bytes(&usage->part_places) +
			       usage->ended_capacity * sizeof(*usage->ended) :
		       0;
}
