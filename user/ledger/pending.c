// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/pending.h"

#include <errno.h>
#include <stdlib.h>

#include "abi.h"
#include "base/memory.h"
#include "ledger/usage.h"

/* So few calls are walked sooner than they are found by their thread. */
#define FEW 16

static void call_fini(struct pending *pending, struct pending_call *call)
{
	pending->bytes -= call->capacity * sizeof(*call->list);
	free(call->list);
}

void pending_fini(struct pending *pending)
{
	while (pending->calls_count)
		call_fini(pending, &pending->calls[--pending->calls_count]);
	free(pending->calls);
	map_fini(&pending->inner);
	map_fini(&pending->ids);
	*pending = (struct pending){ 0 };
}

size_t pending_bytes(const struct pending *pending)
{
	return pending->calls_capacity * sizeof(*pending->calls) + pending->bytes +
	       map_bytes(&pending->inner) + map_bytes(&pending->ids);
}

/* ---- the calls of a thread ------------------------------------------------------------------- */

static struct pending_call *call_at(const struct pending *pending, uint64_t number)
{
	return number ? &pending->calls[number - 1] : NULL;
}

static uint64_t number_of(const struct pending *pending, const struct pending_call *call)
{
	return call ? (uint64_t)(call - pending->calls) + 1 : 0;
}

static struct pending_call *walk_to_inner(const struct pending *pending, uint32_t tid)
{
	struct pending_call *found = NULL;
	size_t i;

	for (i = 0; i < pending->calls_count; i++) {
		struct pending_call *call = &pending->calls[i];

		if (call->tid == tid && (!found || found->number < call->number))
			found = call;
	}
	return found;
}

static struct pending_call *inner_of(const struct pending *pending, uint32_t tid)
{
	const uint64_t *number;

	if (!pending->is_indexed)
		return walk_to_inner(pending, tid);
	number = map_get(&pending->inner, tid);
	return call_at(pending, number ? *number : 0);
}

static int index_make(struct pending *pending)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < pending->calls_count; i++) {
		const uint32_t tid = pending->calls[i].tid;

		if (!map_get(&pending->inner, tid))
			err = map_set(&pending->inner, tid,
				      number_of(pending, walk_to_inner(pending, tid)));
	}
	pending->is_indexed = !err;
	if (err)
		map_fini(&pending->inner);
	return err;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* NULL: the thread is in none like that. */
static struct pending_call *find(const struct pending *pending, uint32_t tid, uint8_t key,
				 uint64_t addr)
{
	struct pending_call *call = inner_of(pending, tid);

	while (call && (call->key != key || call->addr != addr))
		call = call_at(pending, call->outer);
	return call;
}

/* NULL without memory. */
static struct pending_call *call_new(struct pending *pending, const struct pending_free *freed)
{
	const uint64_t outer = number_of(pending, inner_of(pending, freed->tid));
	struct pending_call *call;

	if (memory_grow(&pending->calls, &pending->calls_capacity, pending->calls_count + 1,
			sizeof(*pending->calls)) ||
	    (pending->calls_count == FEW && !pending->is_indexed && index_make(pending)) ||
	    (pending->is_indexed && map_set(&pending->inner, freed->tid, pending->calls_count + 1)))
		return NULL;
	call = &pending->calls[pending->calls_count++];
	*call = (struct pending_call){ .number = pending->numbers++,
				       .tid = freed->tid,
				       .outer = (uint32_t)outer,
				       .addr = freed->addr,
				       .key = freed->key };
	return call;
}

static int list_add(struct pending *pending, struct pending_call *call,
		    const struct allocation *allocation)
{
	size_t before = call->capacity;

	if (memory_grow(&call->list, &call->capacity, call->count + 1, sizeof(*call->list)))
		return -ENOMEM;
	pending->bytes += (call->capacity - before) * sizeof(*call->list);
	if (call->count == 1)
		call->list[0] = call->first;
	call->list[call->count++] = *allocation;
	return 0;
}

/* Handles may live on. */
static bool is_on_device(uint8_t key, const struct allocation *allocation)
{
	return key != MS_KEY_HANDLE && usage_is_on_device(allocation->space);
}

/* Without memory for it, there is no index. */
static void id_add(struct pending *pending, uint64_t id)
{
	uint64_t *count = map_get(&pending->ids, id);

	if (count)
		++*count;
	else if (map_set(&pending->ids, id, 1))
		pending->has_ids = false;
}

static void id_remove(struct pending *pending, uint64_t id)
{
	uint64_t *count = map_get(&pending->ids, id);

	if (count && !--*count)
		map_remove(&pending->ids, id);
}

int pending_add(struct pending *pending, const struct pending_free *freed)
{
	struct pending_call *call = find(pending, freed->tid, freed->key, freed->addr);
	int err = 0;

	if (!call)
		call = call_new(pending, freed);
	if (!call)
		return -ENOMEM;
	if (call->count)
		err = list_add(pending, call, &freed->allocation);
	else
		call->first = freed->allocation;
	call->count += !call->count;
	if (err)
		return err;
	pending->count++;
	pending->on_device += is_on_device(freed->key, &freed->allocation);
	if (pending->has_ids)
		id_add(pending, freed->allocation.id);
	return 0;
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* What points to the call in one place now points to the other one. */
static void refer(struct pending *pending, const struct pending_call *call, uint64_t number,
		  uint64_t instead)
{
	struct pending_call *at = inner_of(pending, call->tid), *outer;
	uint64_t *inner = pending->is_indexed ? map_get(&pending->inner, call->tid) : NULL;

	if (inner && *inner == number)
		*inner = instead;
	for (; at; at = outer) {
		outer = call_at(pending, at->outer);
		if (at->outer == number)
			at->outer = (uint32_t)instead;
	}
}

/* The last one moves into the place of one that is over. */
static void call_remove(struct pending *pending, struct pending_call *call)
{
	struct pending_call *last = &pending->calls[pending->calls_count - 1];
	uint64_t *inner;

	refer(pending, call, number_of(pending, call), call->outer);
	inner = pending->is_indexed ? map_get(&pending->inner, call->tid) : NULL;
	if (inner && !*inner)
		map_remove(&pending->inner, call->tid);
	if (call != last)
		refer(pending, last, number_of(pending, last), number_of(pending, call));
	call_fini(pending, call);
	if (call != last)
		*call = *last;
	if (--pending->calls_count)
		return;
	map_fini(&pending->inner);
	pending->is_indexed = false;
}

static void take_next(struct pending *pending, struct pending_call *call,
		      struct pending_free *freed)
{
	const struct allocation *next = call->list ? &call->list[call->taken] : &call->first;

	*freed = (struct pending_free){
		.tid = call->tid, .key = call->key, .addr = call->addr, .allocation = *next
	};
	pending->count--;
	pending->on_device -= is_on_device(call->key, next);
	if (pending->has_ids)
		id_remove(pending, next->id);
	if (++call->taken == call->count)
		call_remove(pending, call);
}

static bool take_of(struct pending *pending, struct pending_call *call, struct pending_free *freed)
{
	if (call)
		take_next(pending, call, freed);
	return call;
}

bool pending_take(struct pending *pending, uint32_t tid, uint8_t key, uint64_t addr,
		  struct allocation *allocation)
{
	struct pending_call *call = pending->count ? find(pending, tid, key, addr) : NULL;
	struct pending_free freed;

	if (!take_of(pending, call, &freed))
		return false;
	*allocation = freed.allocation;
	return true;
}

bool pending_take_any(struct pending *pending, uint32_t tid, struct pending_free *freed)
{
	return take_of(pending, pending->count ? inner_of(pending, tid) : NULL, freed);
}

bool pending_take_outermost(struct pending *pending, uint32_t tid, struct pending_free *freed)
{
	struct pending_call *call = pending->count ? inner_of(pending, tid) : NULL;
	unsigned int depth = call ? 1 : 0;

	while (call && call->outer) {
		call = call_at(pending, call->outer);
		depth++;
	}
	return depth >= PENDING_NESTED && take_of(pending, call, freed);
}

bool pending_take_first(struct pending *pending, struct pending_free *freed)
{
	return pending->calls_count && take_of(pending, pending->calls, freed);
}

bool pending_take_last(struct pending *pending, struct pending_free *freed)
{
	return pending->calls_count &&
	       take_of(pending, &pending->calls[pending->calls_count - 1], freed);
}

void pending_visit(const struct pending *pending,
		   void (*visit)(void *context, const struct pending_free *freed), void *context)
{
	size_t i, j;

	for (i = 0; i < pending->calls_count; i++) {
		const struct pending_call *call = &pending->calls[i];

		for (j = call->taken; j < call->count; j++) {
			const struct pending_free freed = {
				.tid = call->tid,
				.key = call->key,
				.addr = call->addr,
				.allocation = call->list ? call->list[j] : call->first,
			};

			visit(context, &freed);
		}
	}
}

static void note_id(void *context, const struct pending_free *freed)
{
	id_add(context, freed->allocation.id);
}

struct search {
	uint64_t id;
	bool found;
};

static void compare_id(void *context, const struct pending_free *freed)
{
	struct search *search = context;

	search->found |= freed->allocation.id == search->id;
}

bool pending_has(struct pending *pending, uint64_t id)
{
	struct search search = { .id = id };

	if (!pending->has_ids && pending->count > FEW) {
		map_fini(&pending->ids);
		pending->has_ids = true;
		pending_visit(pending, note_id, pending);
	}
	if (pending->has_ids)
		return map_get(&pending->ids, id);
	pending_visit(pending, compare_id, &search);
	return search.found;
}
