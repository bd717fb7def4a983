// SPDX-License-Identifier: BSD-2-Clause
#include "report/address_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* ---- which blocks ---------------------------------------------------------------------------- */

static bool has_address(uint8_t space, uint16_t row)
{
	const uint8_t key = probe_at(row)->spec.key;

	return (key == MS_KEY_POINTER || key == MS_KEY_MAPPING) && space != MS_SPACE_PINNED &&
	       space != MS_SPACE_REGISTERED;
}

struct pick {
	const struct allocation *allocation;
	size_t map;
};

/* A heap: the smallest is the first. */
struct picks {
	struct pick *picks;
	size_t count, max;
};

struct making {
	const struct state *state;
	const struct report_options *options;
	uint64_t now_ns;
	struct address_maps *maps;
	struct spans *spans;
	struct map places; /* process and device -> position in `maps` */
	struct picks *devices;
	size_t devices_count;
	struct map device_places; /* device -> position in `devices` */
	int err;
};

static bool is_asked_for(const struct making *making, const struct allocation *allocation)
{
	const int32_t device = making->options->device;

	return has_address(allocation->space, allocation->row) &&
	       (device < 0 || device == allocation->device);
}

typedef void (*visit_block)(struct making *making, size_t process,
			    const struct allocation *allocation);

static void visit_process(struct making *making, size_t place, visit_block visit)
{
	const struct process *process = making->state->processes[place];
	size_t i, key;

	for (i = 0; process->exited && i < process->exit_largest_count; i++)
		if (is_asked_for(making, &process->exit_largest[i]))
			visit(making, place, &process->exit_largest[i]);
	for (key = 0; !process->exited && key < LEDGERS_COUNT; key++)
		for (i = 0; i < process->ledgers[key].count; i++)
			if (is_asked_for(making, &process->ledgers[key].entries[i]))
				visit(making, place, &process->ledgers[key].entries[i]);
}

static void visit_blocks(struct making *making, visit_block visit)
{
	size_t i;

	for (i = 0; i < making->state->processes_count; i++)
		if (report_wants(making->options, making->state->processes[i]))
			visit_process(making, i, visit);
}

/* ---- the largest ----------------------------------------------------------------------------- */

/* The younger of two that are equal is the smaller. */
static bool is_smaller(const struct pick *a, const struct pick *b)
{
	if (a->allocation->size_bytes != b->allocation->size_bytes)
		return a->allocation->size_bytes < b->allocation->size_bytes;
	return a->allocation->id > b->allocation->id;
}

static void sift_up(struct pick *picks, size_t place)
{
	struct pick moved = picks[place];

	for (; place && is_smaller(&moved, &picks[(place - 1) / 2]); place = (place - 1) / 2)
		picks[place] = picks[(place - 1) / 2];
	picks[place] = moved;
}

static void sift_down(struct pick *picks, size_t count)
{
	struct pick moved = picks[0];
	size_t place = 0, child;

	for (child = 1; child < count; child = 2 * place + 1) {
		child += child + 1 < count && is_smaller(&picks[child + 1], &picks[child]);
		if (!is_smaller(&picks[child], &moved))
			break;
		picks[place] = picks[child];
		place = child;
	}
	picks[place] = moved;
}

static void more_add(struct address_map *map, const struct pick *pick)
{
	map->more.count++;
	map->more.bytes += pick->allocation->size_bytes;
}

static struct picks *picks_of(const struct making *making, int32_t device)
{
	const uint64_t *place = map_get(&making->device_places, (uint32_t)device);

	return place ? &making->devices[*place] : NULL;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static uint64_t key_of(size_t process, int32_t device)
{
	return (uint64_t)process << 32 | (uint32_t)device;
}

static int map_add(struct making *making, size_t process, int32_t device)
{
	const struct process *of = making->state->processes[process];
	struct address_maps *maps = making->maps;
	struct address_map *map = &maps->maps[maps->count];

	if (map_set(&making->places, key_of(process, device), maps->count))
		return -ENOMEM;
	*map = (struct address_map){
		.pid = of->pid,
		.start_ns = of->start_ns,
		.exited = of->exited,
		.device = device,
		.ts_ns = of->exited ? of->exit_ts_ns : making->now_ns,
	};
	memcpy(map->comm, of->comm, sizeof(map->comm));
	maps->count++;
	if (picks_of(making, device))
		return 0;
	if (map_set(&making->device_places, (uint32_t)device, making->devices_count))
		return -ENOMEM;
	making->devices_count++;
	return 0;
}

/* First all are counted: how many there are of a device says how many of them are listed. */
static void count_block(struct making *making, size_t process, const struct allocation *allocation)
{
	const int32_t device = allocation->device;

	if (making->err)
		return;
	if (!map_get(&making->places, key_of(process, device))) {
		if (making->maps->count == ADDRESS_MAPS_MAX) {
			making->maps->left_out++;
			return;
		}
		making->err = map_add(making, process, device);
	}
	if (!making->err)
		picks_of(making, device)->max++;
}

static int picks_make(struct making *making)
{
	size_t i, most;

	if (!making->devices_count)
		return 0;
	most = ADDRESS_BLOCKS_MAX / making->devices_count;
	most = most < ADDRESS_BLOCKS_DEVICE ? most : ADDRESS_BLOCKS_DEVICE;
	for (i = 0; i < making->devices_count; i++) {
		struct picks *picks = &making->devices[i];

		picks->max = picks->max < most ? picks->max : most;
		picks->picks = calloc(picks->max + 1, sizeof(*picks->picks));
		if (!picks->picks)
			return -ENOMEM;
	}
	return 0;
}

static void pick_block(struct making *making, size_t process, const struct allocation *allocation)
{
	const uint64_t *place = map_get(&making->places, key_of(process, allocation->device));
	struct pick pick = { .allocation = allocation };
	struct picks *picks;

	if (!place)
		return;
	pick.map = *place;
	picks = picks_of(making, allocation->device);
	if (picks->count < picks->max) {
		picks->picks[picks->count] = pick;
		sift_up(picks->picks, picks->count++);
		return;
	}
	if (!picks->max || is_smaller(&pick, &picks->picks[0])) {
		more_add(&making->maps->maps[pick.map], &pick);
		return;
	}
	more_add(&making->maps->maps[picks->picks[0].map], &picks->picks[0]);
	picks->picks[0] = pick;
	sift_down(picks->picks, picks->count);
}

static int by_addr(const void *a, const void *b)
{
	const struct address_block *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->ts_ns < y->ts_ns ? -1 : x->ts_ns > y->ts_ns;
}

static int block_add(struct making *making, const struct pick *pick)
{
	const struct allocation *allocation = pick->allocation;
	struct address_map *map = &making->maps->maps[pick->map];
	int name = spans_row_name(making->spans, allocation->row);

	if (name < 0)
		return name;
	map->blocks[map->count++] = (struct address_block){
		.addr = allocation->addr,
		.size_bytes = allocation->size_bytes,
		.ts_ns = allocation->ts_ns,
		.name = (uint16_t)name,
		.space = allocation->space,
	};
	return 0;
}

static int fill_maps(struct making *making)
{
	struct address_maps *maps = making->maps;
	size_t i, j;
	int err = 0;

	for (i = 0; i < making->devices_count; i++)
		for (j = 0; j < making->devices[i].count; j++)
			maps->maps[making->devices[i].picks[j].map].count++;
	for (i = 0; i < maps->count; i++) {
		struct address_map *map = &maps->maps[i];

		map->blocks = calloc(map->count + 1, sizeof(*map->blocks));
		if (!map->blocks)
			return -ENOMEM;
		map->count = 0;
	}
	for (i = 0; i < making->devices_count; i++)
		for (j = 0; !err && j < making->devices[i].count; j++)
			err = block_add(making, &making->devices[i].picks[j]);
	for (i = 0; i < maps->count; i++)
		qsort(maps->maps[i].blocks, maps->maps[i].count, sizeof(*maps->maps[i].blocks),
		      by_addr);
	return err;
}

/* ---- processes that have exited -------------------------------------------------------------- */

static struct amount listed_in(const struct address_map *map)
{
	struct amount listed = { .count = map->count };
	size_t i;

	for (i = 0; i < map->count; i++)
		listed.bytes += map->blocks[i].size_bytes;
	return listed;
}

/* What else it held: the sums by function are kept. */
static void count_the_rest(const struct process *process, struct address_map *map)
{
	struct amount listed = listed_in(map), held = { 0 };
	size_t i;

	for (i = 0; process->usage && i < process->usage->count; i++) {
		const struct usage_cell *cell = &process->usage->cells[i];

		if (cell->device != map->device || !has_address(cell->space, cell->row))
			continue;
		held.count += cell->live_count;
		held.bytes += cell->live_bytes;
	}
	map->more.count = held.count > listed.count ? held.count - listed.count : 0;
	map->more.bytes = held.bytes > listed.bytes ? held.bytes - listed.bytes : 0;
}

static void count_exited(const struct making *making)
{
	size_t i;

	for (i = 0; i < making->maps->count; i++) {
		struct address_map *map = &making->maps->maps[i];

		if (map->exited)
			count_the_rest(state_find(making->state, map->pid, map->start_ns), map);
	}
}

/* ---- the whole ------------------------------------------------------------------------------- */

int address_maps_make(struct address_maps *maps, const struct state *state,
		      const struct report_options *options, uint64_t now_ns, struct spans *spans)
{
	struct making making = {
		.state = state, .options = options, .now_ns = now_ns, .maps = maps, .spans = spans
	};
	size_t i;

	*maps = (struct address_maps){ 0 };
	maps->maps = calloc(ADDRESS_MAPS_MAX, sizeof(*maps->maps));
	making.devices = calloc(ADDRESS_MAPS_MAX, sizeof(*making.devices));
	making.err = maps->maps && making.devices ? 0 : -ENOMEM;
	if (!making.err)
		visit_blocks(&making, count_block);
	if (!making.err)
		making.err = picks_make(&making);
	if (!making.err)
		visit_blocks(&making, pick_block);
	if (!making.err)
		making.err = fill_maps(&making);
	if (!making.err)
		count_exited(&making);
	for (i = 0; i < making.devices_count; i++)
		free(making.devices[i].picks);
	free(making.devices);
	map_fini(&making.places);
	map_fini(&making.device_places);
	return making.err;
}

void address_maps_fini(struct address_maps *maps)
{
	while (maps->count)
		free(maps->maps[--maps->count].blocks);
	free(maps->maps);
	*maps = (struct address_maps){ 0 };
}
