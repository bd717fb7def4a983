// SPDX-License-Identifier: BSD-2-Clause
#include "timeline/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "timeline/span_names.h"

#define NONE UINT32_MAX
#define LANES_LIMIT (2ul * SPANS_LANES_MAX) /* while events come: a new one can still become busy */
#define LANE_NONE UINT16_MAX                /* of a span that is free */
#define FIRST_SHIFT 10                      /* of the lane's resolution */
#define LAST_SHIFT 63

/* A recorder counts at least as often, and is not later than that by as much again (ns). */
#define COUNTED_NS 1000000000ull
#define COUNTED_LATE_NS 250000000ull

struct slot {
	struct spans_lane lane;
	uint32_t head;    /* of its spans, chained */
	uint32_t last[2]; /* added to last: of its own calls, of nested ones */
	uint8_t shift;    /* logarithm of the resolution; 0: there is none yet */
	bool used;
};

struct spans {
	uint64_t begin_ns;
	uint64_t secret; /* for map_hash() */
	struct span *list;
	size_t count, capacity; /* with those that are free */
	uint32_t free;          /* chained */

	struct slot *slots;
	size_t slots_count; /* LANES_LIMIT, until it is finished: then those that are used */
	size_t lanes_count, first_free; /* before `first_free` all slots are used */
	struct map by_identity;         /* hash -> slot */
	struct slot *last[2];           /* found last: a thread's, a stream's */

	struct spans_lane *finished; /* as many as lanes */
	struct span_names names;
	struct spans_dropped dropped;
};

struct spans *spans_new(uint64_t begin_ns)
{
	struct spans *spans = calloc(1, sizeof(*spans));

	if (!spans)
		return NULL;
	spans->slots = calloc(LANES_LIMIT, sizeof(*spans->slots));
	if (!spans->slots) {
		free(spans);
		return NULL;
	}
	spans->slots_count = LANES_LIMIT;
	spans->begin_ns = begin_ns;
	spans->secret = map_secret();
	spans->free = NONE;
	return spans;
}

void spans_free(struct spans *spans)
{
	if (!spans)
		return;
	free(spans->list);
	free(spans->slots);
	free(spans->finished);
	map_fini(&spans->by_identity);
	span_names_fini(&spans->names);
	free(spans);
}

void spans_gap(struct spans *spans)
{
	span_names_gap(&spans->names);
}

size_t spans_bytes(const struct spans *spans)
{
	return sizeof(*spans) + spans->capacity * sizeof(*spans->list) +
	       spans->slots_count * sizeof(*spans->slots) + map_bytes(&spans->by_identity) +
	       span_names_bytes(&spans->names);
}

/* ---- resolution ------------------------------------------------------------------------------ */

/* The list is sorted, and stays so. */
static void put_together(struct spans *spans)
{
	size_t kept = 0, i;

	for (i = 0; i < spans->count; i++) {
		struct span *span = &spans->list[i], *last = &spans->list[kept ? kept - 1 : 0];

		if (kept && last->lane == span->lane &&
		    span_is_too_close(last, span, spans->slots[span->lane].shift)) {
			span_absorb(last, span);
			last->is_several = true;
		} else {
			spans->list[kept++] = *span;
		}
	}
	spans->count = kept;
}

static void count_spans(struct spans *spans)
{
	size_t i;

	for (i = 0; i < spans->slots_count; i++)
		spans->slots[i].lane.count = 0;
	for (i = 0; i < spans->count; i++)
		spans->slots[spans->list[i].lane].lane.count++;
}

/* In the lanes that have more spans than others. Returns false: there is nothing to be gained. */
static bool double_resolution(struct spans *spans)
{
	const size_t average = spans->lanes_count ? spans->count / spans->lanes_count : 0;
	bool any = false;
	size_t i;

	for (i = 0; i < spans->slots_count; i++) {
		struct slot *slot = &spans->slots[i];

		if (!slot->used || slot->lane.count < average || slot->shift == LAST_SHIFT)
			continue;
		slot->shift = slot->shift ? slot->shift + 1 : FIRST_SHIFT;
		any = true;
	}
	return any;
}

static void chain(struct spans *spans)
{
	size_t i;

	for (i = 0; i < spans->slots_count; i++)
		spans->slots[i].head = spans->slots[i].last[0] = spans->slots[i].last[1] = NONE;
	for (i = 0; i < spans->count; i++) {
		struct slot *slot = &spans->slots[spans->list[i].lane];

		spans->list[i].next = slot->head;
		slot->head = slot->last[spans->list[i].is_nested] = (uint32_t)i;
	}
	spans->free = NONE;
}

/* Until at most so many are left: within the resolution that all times fit into, two of a lane. */
static void coarsen(struct spans *spans, size_t max)
{
	if (spans->count)
		qsort(spans->list, spans->count, sizeof(*spans->list), span_by_place);
	while (spans->count && spans->list[spans->count - 1].lane == LANE_NONE)
		spans->count--;
	count_spans(spans);
	while (spans->count > max && double_resolution(spans)) {
		put_together(spans);
		count_spans(spans);
	}
	chain(spans);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static bool is_same(const struct spans_lane *a, const struct spans_lane *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->handle == b->handle &&
	       a->start_ns == b->start_ns && a->kind == b->kind && a->context == b->context &&
	       a->gpu == b->gpu;
}

static uint64_t hash_of(uint64_t secret, const struct spans_lane *lane)
{
	uint64_t hash = map_hash(secret, event_process_key(lane->pid, lane->start_ns));

	hash = map_hash(secret, hash ^ (uint64_t)lane->tid << 2 ^ lane->kind);
	hash ^= map_hash(secret, lane->context) ^ (uint64_t)(uint32_t)lane->gpu << 32;
	return map_hash(secret, hash ^ lane->handle);
}

/* NULL: it is not there, and would get the key `*key`. */
static struct slot *lane_find(struct spans *spans, const struct spans_lane *lane, uint64_t *key)
{
	const uint64_t *place;

	for (*key = hash_of(spans->secret, lane); (place = map_get(&spans->by_identity, *key));
	     ++*key)
		if (is_same(&spans->slots[*place].lane, lane))
			return &spans->slots[*place];
	return NULL;
}

static void lane_drop(struct spans *spans, struct slot *slot)
{
	uint32_t place = slot->head, next;

	for (; place != NONE; place = next) {
		next = spans->list[place].next;
		spans->list[place].lane = LANE_NONE;
		spans->list[place].next = spans->free;
		spans->free = place;
	}
	spans->dropped.lanes++;
	spans->dropped.calls = span_add_up(spans->dropped.calls, slot->lane.calls);
	spans->lanes_count--;
	slot->used = false;
	if ((size_t)(slot - spans->slots) < spans->first_free)
		spans->first_free = (size_t)(slot - spans->slots);
}

static int by_business(const void *a, const void *b)
{
	const struct slot *x = *(struct slot *const *)a, *y = *(struct slot *const *)b;
	uint64_t busy_x = span_add_up(x->lane.busy_ns, x->lane.calls);
	uint64_t busy_y = span_add_up(y->lane.busy_ns, y->lane.calls);

	if (busy_x != busy_y)
		return busy_x < busy_y ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* Leaves SPANS_LANES_MAX. Returns 0 or -ENOMEM. */
static int drop_lanes(struct spans *spans)
{
	struct slot *order[LANES_LIMIT];
	size_t count = 0, i;
	uint64_t key;

	for (i = 0; i < spans->slots_count; i++)
		if (spans->slots[i].used)
			order[count++] = &spans->slots[i];
	qsort(order, count, sizeof(*order), by_business);
	for (i = SPANS_LANES_MAX; i < count; i++)
		lane_drop(spans, order[i]);
	map_fini(&spans->by_identity);
	for (i = 0; i < count && i < SPANS_LANES_MAX; i++) {
		lane_find(spans, &order[i]->lane, &key);
		if (map_set(&spans->by_identity, key, order[i] - spans->slots))
			return -ENOMEM;
	}
	spans->last[0] = spans->last[1] = NULL;
	return 0;
}

/* NULL without memory. */
static struct slot *lane_new(struct spans *spans, const struct spans_lane *lane)
{
	struct slot *slot;
	uint64_t key;

	if (spans->lanes_count == LANES_LIMIT && drop_lanes(spans))
		return NULL;
	while (spans->slots[spans->first_free].used)
		spans->first_free++;
	slot = &spans->slots[spans->first_free];
	lane_find(spans, lane, &key);
	if (map_set(&spans->by_identity, key, slot - spans->slots))
		return NULL;
	*slot = (struct slot){ .lane = *lane, .head = NONE, .last = { NONE, NONE }, .used = true };
	spans->lanes_count++;
	return slot;
}

static struct slot *lane_of(struct spans *spans, const struct spans_lane *lane)
{
	struct slot **last = &spans->last[lane->kind == SPANS_STREAM];
	uint64_t key;

	if (*last && is_same(&(*last)->lane, lane))
		return *last;
	*last = lane_find(spans, lane, &key);
	if (!*last)
		*last = lane_new(spans, lane);
	return *last;
}

/* ---- spans ----------------------------------------------------------------------------------- */

/* NULL without memory. */
static struct span *span_new(struct spans *spans, struct slot *slot)
{
	uint32_t place = spans->free;

	if (place == NONE && spans->count == SPANS_MAX) {
		coarsen(spans, SPANS_MAX / 2);
		place = spans->free;
	}
	if (place != NONE) {
		spans->free = spans->list[place].next;
	} else {
		if (memory_grow(&spans->list, &spans->capacity, spans->count + 1,
				sizeof(*spans->list)))
			return NULL;
		place = (uint32_t)spans->count++;
	}
	spans->list[place].next = slot->head;
	slot->head = place;
	return &spans->list[place];
}

static int lane_add(struct spans *spans, struct slot *slot, const struct span *call)
{
	uint32_t *last = &slot->last[call->is_nested], next;
	struct span *span;

	if (*last != NONE && span_is_too_close(&spans->list[*last], call, slot->shift)) {
		span_absorb(&spans->list[*last], call);
		spans->list[*last].is_several = true;
		return 0;
	}
	span = span_new(spans, slot);
	if (!span)
		return -ENOMEM;
	next = span->next;
	*span = *call;
	span->next = next;
	span->lane = (uint16_t)(slot - spans->slots);
	*last = (uint32_t)(span - spans->list);
	return 0;
}

/* In the lane's last span, if it began little before. */
static bool is_counted_with(const struct span *last, const struct span *call)
{
	return call->end_ns >= last->begin_ns &&
	       call->end_ns - last->begin_ns <= COUNTED_NS + COUNTED_LATE_NS;
}

/* Else in one of its own, after that one. */
static int counted_add(struct spans *spans, struct slot *slot, struct span *call)
{
	const uint32_t last = slot->last[0];
	uint64_t after_ns = spans->begin_ns;

	if (last != NONE && is_counted_with(&spans->list[last], call)) {
		call->begin_ns = spans->list[last].begin_ns;
		span_absorb(&spans->list[last], call);
		return 0;
	}
	if (last != NONE && spans->list[last].end_ns > after_ns)
		after_ns = spans->list[last].end_ns;
	call->begin_ns = call->end_ns > COUNTED_NS ? call->end_ns - COUNTED_NS : 0;
	if (call->begin_ns < after_ns && after_ns <= call->end_ns)
		call->begin_ns = after_ns;
	return lane_add(spans, slot, call);
}

int spans_add(struct spans *spans, const struct spans_lane *lane, const struct span *span,
	      uint64_t busy_ns)
{
	struct slot *slot = lane_of(spans, lane);
	struct span copy = *span;

	if (!slot)
		return -ENOMEM;
	slot->lane.calls = span_add_up(slot->lane.calls, span->count);
	slot->lane.busy_ns = span_add_up(slot->lane.busy_ns, busy_ns);
	if (slot->lane.device < 0)
		slot->lane.device = lane->device;
	return lane->kind == SPANS_COUNTED ? counted_add(spans, slot, &copy) :
					     lane_add(spans, slot, &copy);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Free slots last. */
static int by_process(const void *a, const void *b)
{
	const struct slot *left = a, *right = b;
	const struct spans_lane *x = &left->lane, *y = &right->lane;

	if (left->used != right->used)
		return left->used ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->handle != y->handle)
		return x->handle < y->handle ? -1 : 1;
	return x->context < y->context ? -1 : x->context > y->context;
}

/* Into the order in which lanes are shown. */
static void sort_lanes(struct spans *spans)
{
	uint32_t place;
	size_t i;

	qsort(spans->slots, spans->slots_count, sizeof(*spans->slots), by_process);
	for (i = 0; i < spans->lanes_count; i++)
		for (place = spans->slots[i].head; place != NONE; place = spans->list[place].next)
			spans->list[place].lane = (uint16_t)i;
}

/* What is not needed any more is given back: there may be very many recordings. */
static int finish_lanes(struct spans *spans)
{
	const size_t count = spans->lanes_count ? spans->lanes_count : 1;
	size_t first = 0, i;
	void *fewer;

	fewer = realloc(spans->slots, count * sizeof(*spans->slots));
	if (fewer)
		spans->slots = fewer;
	spans->slots_count = count;
	fewer = spans->count ? realloc(spans->list, spans->count * sizeof(*spans->list)) : NULL;
	if (fewer) {
		spans->list = fewer;
		spans->capacity = spans->count;
	}
	fewer = realloc(spans->finished, count * sizeof(*spans->finished));
	if (!fewer)
		return -ENOMEM;
	spans->finished = fewer;
	for (i = 0; i < spans->lanes_count; i++) {
		const struct slot *slot = &spans->slots[i];
		struct spans_lane *lane = &spans->finished[i];

		*lane = slot->lane;
		lane->resolution_ns = slot->shift ? 1ull << slot->shift : 0;
		if (lane->kind == SPANS_COUNTED && lane->resolution_ns < COUNTED_NS)
			lane->resolution_ns = COUNTED_NS;
		lane->first = first;
		first += lane->count;
	}
	return 0;
}

int spans_finish(struct spans *spans, size_t max)
{
	size_t i;

	if (spans->lanes_count > SPANS_LANES_MAX && drop_lanes(spans))
		return -ENOMEM;
	sort_lanes(spans);
	coarsen(spans, max);
	if (spans->count)
		qsort(spans->list, spans->count, sizeof(*spans->list), span_by_begin);
	chain(spans);
	for (i = 0; i < spans->count; i++)
		span_name(&spans->list[i]);
	return finish_lanes(spans);
}

const struct spans_lane *spans_lanes(const struct spans *spans, size_t *count)
{
	*count = spans->lanes_count;
	return spans->finished;
}

const struct span *spans_of(const struct spans *spans, const struct spans_lane *lane)
{
	return lane->count ? &spans->list[lane->first] : NULL;
}

struct spans_dropped spans_dropped(const struct spans *spans)
{
	return spans->dropped;
}

size_t spans_names_count(const struct spans *spans)
{
	return spans->names.count;
}

const char *spans_name(const struct spans *spans, size_t number)
{
	return spans->names.texts[number];
}

int spans_row_name(struct spans *spans, uint16_t row)
{
	return span_names_row(&spans->names, row, false);
}

struct span_names *spans_names(struct spans *spans)
{
	return &spans->names;
}
