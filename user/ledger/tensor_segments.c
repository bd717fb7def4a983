// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/tensor_segments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/state.h"
#include "ledger/tensor_places.h"
#include "ledger/views.h"

#define SIZES 16384 /* kinds of blocks that are told apart while they are counted */

/* Bytes from `addr` to before `end`: a block, or a segment. */
struct span {
	uint64_t addr, end;
	uint64_t used; /* of a segment: bytes in blocks */
	uint32_t stack;
	bool mapped;
};

struct sweep {
	struct tensor_segments *out;
	struct span *blocks, *segments;
	size_t blocks_count, segments_count;
	uint64_t inside_bytes; /* of blocks, in segments */
	struct span piece;     /* free bytes that may go on in the next segment */
	struct tensor_pin *sizes;
	uint64_t *seen; /* the segment in which each was met last, counted from 1 */
	size_t sizes_count, sizes_capacity, seen_capacity;
	struct map size_places; /* what a kind has in common -> position */
	uint64_t sizes_more;
	struct tensor_places sparse, empty; /* where segments come from */
};

/* ---- what it says ---------------------------------------------------------------------------- */

bool tensor_segments_are_complete(const struct tensor_segments *segments)
{
	return !segments->before_bytes && !segments->outside_bytes &&
	       segments->bytes == segments->reserved;
}

bool tensor_segments_are_alike(const struct tensor_segments *segments)
{
	size_t i;

	for (i = 1; i < segments->pins_count; i++)
		if (segments->pins[i].block_bytes != segments->pins->block_bytes)
			return false;
	return segments->pins_count && !segments->pins_more;
}

/* In segments with a block, known or not. */
static uint64_t stuck_in_all(const struct tensor_segments *segments)
{
	const uint64_t cached = segments->reserved - segments->allocated;

	return cached > segments->empty_bytes ? cached - segments->empty_bytes : 0;
}

uint64_t tensor_segments_stuck(const struct tensor_segments *segments)
{
	const uint64_t stuck = stuck_in_all(segments);

	return stuck < segments->free_bytes ? stuck : segments->free_bytes;
}

bool tensor_segments_are_broken(const struct tensor_segments *segments)
{
	const uint64_t stuck = tensor_segments_stuck(segments);
	const uint64_t device = segments->has_device_free ? segments->device_free_bytes : 0;

	/* In segments that are not known there may be a piece that is large enough. */
	if (stuck_in_all(segments) - stuck >= segments->wanted_bytes)
		return false;
	/* That the device lacks memory is because of these pieces if they are much of it. */
	return segments->wanted_bytes && segments->count &&
	       segments->largest_piece < segments->wanted_bytes &&
	       stuck >= segments->wanted_bytes / 2 && stuck + device >= segments->wanted_bytes;
}

bool tensor_segments_are_cached(const struct tensor_segments *segments)
{
	const uint64_t device = segments->has_device_free ? segments->device_free_bytes : 0;

	return segments->wanted_bytes && segments->empty_bytes >= segments->wanted_bytes / 2 &&
	       segments->empty_bytes + device >= segments->wanted_bytes;
}

static const char *const names[] = {
#define X(moment, name, words) name,
	TENSOR_MOMENTS(X)
#undef X
};

const char *tensor_moment_name(enum tensor_moment moment)
{
	return names[moment];
}

static const char *const words[] = {
#define X(moment, name, words) words,
	TENSOR_MOMENTS(X)
#undef X
};

const char *tensor_moment_words(enum tensor_moment moment)
{
	return words[moment];
}

/* ---- what there is --------------------------------------------------------------------------- */

static int compare_spans(const void *a, const void *b)
{
	const struct span *first = a, *second = b;

	return (first->addr > second->addr) - (first->addr < second->addr);
}

static uint64_t end_of(uint64_t addr, uint64_t bytes)
{
	uint64_t end;

	return __builtin_add_overflow(addr, bytes, &end) ? UINT64_MAX : end;
}

static bool is_segment(const struct allocation *allocation, const struct tensor_device *device)
{
	return allocation->framework == device->framework + 1 &&
	       (allocation->device < 0 || device->device < 0 ||
		allocation->device == device->device);
}

static const enum ms_key keys[] = { MS_KEY_POINTER, MS_KEY_MAPPING };

#define KEYS (sizeof(keys) / sizeof(*keys))

/* Returns how many there are; `spans` has room for them, or is NULL. */
static size_t list_segments(const struct process *process, const struct tensor_device *device,
			    struct span *spans)
{
	size_t count = 0, key, i;

	for (key = 0; key < KEYS; key++) {
		const struct ledger *ledger = &process->ledgers[keys[key]];

		for (i = 0; i < ledger->count; i++) {
			const struct allocation *allocation = &ledger->entries[i];

			if (!is_segment(allocation, device))
				continue;
			if (spans)
				spans[count] = (struct span){
					.addr = allocation->addr,
					.end = end_of(allocation->addr, allocation->size_bytes),
					.stack = allocation->stack,
					.mapped = keys[key] == MS_KEY_MAPPING,
				};
			count++;
		}
	}
	return count;
}

static size_t list_blocks(const struct process *process, const struct tensor_device *device,
			  struct span *spans)
{
	const struct tensors *tensors = &process->tensors;
	size_t count = 0, i;

	for (i = 0; i < tensors->count; i++) {
		const struct tensor_block *block = &tensors->blocks[i];

		if (block->device == device->device && block->framework == device->framework)
			spans[count++] = (struct span){ .addr = block->addr,
							.end = end_of(block->addr, block->bytes),
							.stack = block->place };
	}
	return count;
}

/* ---- free pieces ----------------------------------------------------------------------------- */

static void piece_end(struct sweep *sweep)
{
	struct tensor_segments *out = sweep->out;
	const uint64_t bytes = sweep->piece.end - sweep->piece.addr;
	size_t class;

	if (!bytes)
		return;
	class = 63 - (size_t)__builtin_clzll(bytes);
	if (class >= TENSOR_CLASSES)
		class = TENSOR_CLASSES - 1;
	out->pieces.count++;
	out->pieces.bytes += bytes;
	out->classes[class].count++;
	out->classes[class].bytes += bytes;
	if (bytes > out->largest_piece)
		out->largest_piece = bytes;
	sweep->piece = (struct span){ 0 };
}

/* What is mapped side by side is one range of addresses; other segments are apart. */
static void piece_add(struct sweep *sweep, uint64_t addr, uint64_t end, bool mapped)
{
	if (addr >= end)
		return;
	if (mapped && sweep->piece.mapped && sweep->piece.end == addr) {
		sweep->piece.end = end;
		return;
	}
	piece_end(sweep);
	sweep->piece = (struct span){ .addr = addr, .end = end, .mapped = mapped };
}

/* ---- sparse segments ------------------------------------------------------------------------- */

/* NULL: there are as many already, or there is no memory for one more. */
static struct tensor_pin *pin_get(struct sweep *sweep, uint64_t bytes, uint32_t stack)
{
	const uint64_t what[] = { bytes, stack },
		       key = string_hash(map_secret(), what, sizeof(what));
	const uint64_t *place = map_get(&sweep->size_places, key);
	const size_t count = sweep->sizes_count;

	if (place)
		return &sweep->sizes[*place];
	if (count == SIZES ||
	    memory_grow(&sweep->sizes, &sweep->sizes_capacity, count + 1, sizeof(*sweep->sizes)) ||
	    memory_grow(&sweep->seen, &sweep->seen_capacity, count + 1, sizeof(*sweep->seen)) ||
	    map_set(&sweep->size_places, key, count))
		return NULL;
	sweep->sizes[count] = (struct tensor_pin){ .block_bytes = bytes, .stack = stack };
	sweep->seen[count] = 0;
	sweep->sizes_count++;
	return &sweep->sizes[count];
}

static void pin_add(struct sweep *sweep, const struct span *block, uint64_t segment)
{
	struct tensor_pin *pin = pin_get(sweep, block->end - block->addr, block->stack);
	uint64_t *seen;

	if (!pin) {
		sweep->sizes_more++;
		return;
	}
	seen = &sweep->seen[pin - sweep->sizes];
	pin->blocks++;
	pin->segments += *seen != segment;
	*seen = segment;
}

/* `first` is its first block, and `used` are the bytes of all. */
static void sparse_add(struct sweep *sweep, const struct span *segment, uint64_t number,
		       size_t first, uint64_t used)
{
	struct tensor_segments *out = sweep->out;
	size_t i;

	out->sparse++;
	out->sparse_bytes += segment->end - segment->addr;
	out->sparse_free += segment->end - segment->addr - used;
	out->pins_bytes += used;
	for (i = first; i < sweep->blocks_count && sweep->blocks[i].addr < segment->end; i++) {
		out->pins_blocks++;
		pin_add(sweep, &sweep->blocks[i], number);
	}
	tensor_places_add(&sweep->sparse, segment->stack, segment->end - segment->addr);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void segment_count(struct sweep *sweep, const struct span *segment, uint64_t used)
{
	struct tensor_segments *out = sweep->out;
	const uint64_t bytes = segment->end - segment->addr;

	out->count++;
	out->bytes += bytes;
	out->mapped += segment->mapped;
	sweep->inside_bytes += used;
	if (!used) {
		out->empty++;
		out->empty_bytes += bytes;
		tensor_places_add(&sweep->empty, segment->stack, bytes);
		if (bytes > out->largest_empty)
			out->largest_empty = bytes;
		return;
	}
	out->full += used == bytes;
	out->free_bytes += bytes - used;
}

/* `*first`: the first block that may reach into it. */
static void segment_sweep(struct sweep *sweep, struct span *segment, uint64_t number, size_t *first)
{
	uint64_t at = segment->addr, used = 0;
	size_t i;

	while (*first < sweep->blocks_count && sweep->blocks[*first].end <= segment->addr)
		++*first;
	for (i = *first; i < sweep->blocks_count && sweep->blocks[i].addr < segment->end; i++) {
		const struct span *block = &sweep->blocks[i];
		const uint64_t end = block->end < segment->end ? block->end : segment->end;

		piece_add(sweep, at, block->addr, segment->mapped);
		if (end <= at)
			continue;
		used += end - (block->addr > at ? block->addr : at);
		at = end;
	}
	/* A segment that is free as a whole is no piece between blocks. */
	if (used || segment->mapped)
		piece_add(sweep, at, segment->end, segment->mapped);
	segment->used = used;
	segment_count(sweep, segment, used);
	if (used && used <= (segment->end - segment->addr) / 2)
		sparse_add(sweep, segment, number, *first, used);
}

static int compare_pins(const void *a, const void *b)
{
	const struct tensor_pin *first = a, *second = b;
	int order = (first->segments < second->segments) - (first->segments > second->segments);

	if (!order)
		order = (first->blocks < second->blocks) - (first->blocks > second->blocks);
	if (!order)
		order = (first->block_bytes > second->block_bytes) -
			(first->block_bytes < second->block_bytes);
	if (!order)
		order = (first->stack > second->stack) - (first->stack < second->stack);
	return order;
}

static void list_largest(struct sweep *sweep)
{
	struct tensor_segments *out = sweep->out;
	size_t i;

	if (sweep->sizes_count)
		qsort(sweep->sizes, sweep->sizes_count, sizeof(*sweep->sizes), compare_pins);
	out->pins_count = sweep->sizes_count < TENSOR_PINS ? sweep->sizes_count : TENSOR_PINS;
	for (i = 0; i < out->pins_count; i++)
		out->pins[i] = sweep->sizes[i];
	out->pins_more = sweep->sizes_count - out->pins_count + (sweep->sizes_more > 0);
	out->sites_count = tensor_places_list(&sweep->sparse, out->sites, &out->sites_more);
	out->empties_count = tensor_places_list(&sweep->empty, out->empties, &out->empties_more);
}

/* ---- what is drawn --------------------------------------------------------------------------- */

static uint64_t free_of(const struct span *segment)
{
	return segment->end - segment->addr - segment->used;
}

static int compare_free(const void *a, const void *b)
{
	const struct span *first = a, *second = b;
	const int order = (free_of(first) < free_of(second)) - (free_of(first) > free_of(second));

	return order ? order : compare_spans(a, b);
}

static uint64_t cell_end(const struct tensor_strip *strip, size_t cell)
{
	return strip->addr +
	       (uint64_t)((unsigned __int128)strip->bytes * (cell + 1) / TENSOR_CELLS);
}

/* A part of a segment while it is drawn. */
struct cell {
	uint64_t used;  /* bytes */
	uint64_t most;  /* of them, in one block */
	uint32_t stack; /* where that was made */
};

/* Places are known by the order in which they come. */
static uint8_t maker_of(struct tensor_segments *out, uint32_t stack)
{
	size_t i;

	if (!stack)
		return TENSOR_MAKERS;
	for (i = 0; i < out->makers_count; i++)
		if (out->makers[i] == stack)
			return (uint8_t)i;
	if (i < TENSOR_MAKERS)
		out->makers[out->makers_count++] = stack;
	return (uint8_t)i;
}

static void cell_add(struct cell *cell, uint64_t bytes, uint32_t stack)
{
	cell->used += bytes;
	if (bytes <= cell->most)
		return;
	cell->most = bytes;
	cell->stack = stack;
}

/* A block has to be seen, however small it is. */
static void strip_fill(struct tensor_segments *out, struct tensor_strip *strip,
		       const struct cell cells[TENSOR_CELLS])
{
	uint64_t begin = strip->addr;
	size_t cell;

	for (cell = 0; cell < TENSOR_CELLS; cell++) {
		const uint64_t end = cell_end(strip, cell);

		if (cells[cell].used) {
			strip->cells[cell] = (uint8_t)(1 + (unsigned __int128)cells[cell].used *
								   254 / (end - begin));
			strip->makers[cell] = maker_of(out, cells[cell].stack);
		}
		begin = end;
	}
}

/* The first block that ends beyond an address. */
static size_t block_from(const struct sweep *sweep, uint64_t addr)
{
	size_t low = 0, high = sweep->blocks_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (sweep->blocks[middle].end > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void strip_make(const struct sweep *sweep, const struct span *segment,
		       struct tensor_strip *strip)
{
	struct cell cells[TENSOR_CELLS] = { 0 };
	size_t cell = 0, i;

	*strip = (struct tensor_strip){ .addr = segment->addr,
					.bytes = segment->end - segment->addr,
					.used = segment->used };
	for (i = block_from(sweep, segment->addr);
	     i < sweep->blocks_count && sweep->blocks[i].addr < segment->end; i++) {
		const struct span *block = &sweep->blocks[i];
		uint64_t at = block->addr > segment->addr ? block->addr : segment->addr;
		const uint64_t end = block->end < segment->end ? block->end : segment->end;

		strip->blocks++;
		while (at < end && cell < TENSOR_CELLS) {
			const uint64_t stop = cell_end(strip, cell);
			const uint64_t until = end < stop ? end : stop;

			if (until > at)
				cell_add(&cells[cell], until - at, block->stack);
			at = until > at ? until : at;
			cell += at >= stop;
		}
	}
	strip_fill(sweep->out, strip, cells);
}

/* It brings the segments into another order. */
static void strips_make(struct sweep *sweep)
{
	struct tensor_segments *out = sweep->out;
	size_t i;

	qsort(sweep->segments, sweep->segments_count, sizeof(*sweep->segments), compare_free);
	out->strips_count =
		sweep->segments_count < TENSOR_STRIPS ? sweep->segments_count : TENSOR_STRIPS;
	qsort(sweep->segments, out->strips_count, sizeof(*sweep->segments), compare_spans);
	for (i = 0; i < out->strips_count; i++)
		strip_make(sweep, &sweep->segments[i], &out->strips[i]);
}

/* ---- one after the other --------------------------------------------------------------------- */

/*
 * In their order, and none reaches into the next, whatever a program says: so that each is looked
 * at once.
 */
static void spans_sort(struct span *spans, size_t count)
{
	size_t i;

	qsort(spans, count, sizeof(*spans), compare_spans);
	for (i = 1; i < count; i++)
		if (spans[i - 1].end > spans[i].addr)
			spans[i - 1].end = spans[i].addr;
}

static void sweep_all(struct sweep *sweep)
{
	uint64_t blocks_bytes = 0;
	size_t first = 0, i;

	spans_sort(sweep->blocks, sweep->blocks_count);
	spans_sort(sweep->segments, sweep->segments_count);
	for (i = 0; i < sweep->segments_count; i++)
		segment_sweep(sweep, &sweep->segments[i], i + 1, &first);
	piece_end(sweep);
	for (i = 0; i < sweep->blocks_count; i++)
		blocks_bytes += sweep->blocks[i].end - sweep->blocks[i].addr;
	if (blocks_bytes > sweep->inside_bytes)
		sweep->out->outside_bytes = blocks_bytes - sweep->inside_bytes;
	list_largest(sweep);
	strips_make(sweep);
}

/* What the program was told of the device after that time. */
static void note_device_free(const struct process *process, const struct tensor_device *device,
			     struct tensor_segments *out)
{
	const struct view *view = views_of_device(process, device->device);
	const uint64_t failed_ns = process->tensors.failed_ns;

	out->has_device_free = view && view->has_free && failed_ns && view->ts_ns >= failed_ns;
	if (out->has_device_free)
		out->device_free_bytes = view->free_bytes;
}

int tensor_segments_take(const struct process *process, const struct tensor_device *device,
			 struct tensor_segments *segments)
{
	struct sweep *sweep = calloc(1, sizeof(*sweep));
	int err = -ENOMEM;

	*segments = (struct tensor_segments){ .allocated = device->allocated,
					      .reserved = device->reserved,
					      .before_bytes = tensor_device_before(device),
					      .is_capturing = process->captures.count };
	if (!sweep)
		return err;
	sweep->out = segments;
	sweep->segments_count = list_segments(process, device, NULL);
	sweep->segments = malloc((sweep->segments_count + 1) * sizeof(*sweep->segments));
	sweep->blocks = malloc((process->tensors.count + 1) * sizeof(*sweep->blocks));
	if (sweep->segments && sweep->blocks) {
		list_segments(process, device, sweep->segments);
		sweep->blocks_count = list_blocks(process, device, sweep->blocks);
		sweep_all(sweep);
		note_device_free(process, device, segments);
		err = 0;
	}
	free(sweep->segments);
	free(sweep->blocks);
	free(sweep->sizes);
	free(sweep->seen);
	map_fini(&sweep->size_places);
	free(sweep);
	return err;
}
