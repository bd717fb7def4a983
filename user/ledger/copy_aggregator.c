// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/copy_aggregator.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "ledger/graphs.h"

/* What a sum says of its calls; of stream, context and device it says nothing. */
#define COMMON (MS_KNOWN_ADDR | MS_KNOWN_SIZE | MS_KNOWN_SRC | MS_KNOWN_DIRECTION | MS_KNOWN_RESULT)

/* One end of the copies. */
struct end {
	uint64_t block; /* where the allocation begins that they have in common; 0: in none */
	uint64_t addr;  /* the block, or what the first of them had */
};

struct sum {
	struct ms_calls calls; /* without sums, this is what tells them apart ... */
	struct end to, from;   /* ... together with the blocks */
};

struct copy_aggregator {
	copy_aggregator_take take;
	void *context;
	size_t count;
	struct map places;  /* hash -> position */
	struct map blocks;  /* of a sum: begin -> of how many sums */
	uint64_t secret;    /* for map_hash() */
	uint64_t low, high; /* of ends in no block */
	struct sum sums[SUMS_MAX];
};

struct copy_aggregator *copy_aggregator_new(copy_aggregator_take take, void *context)
{
	struct copy_aggregator *aggregator = calloc(1, sizeof(*aggregator));

	if (!aggregator)
		return NULL;
	aggregator->take = take;
	aggregator->context = context;
	aggregator->low = UINT64_MAX;
	aggregator->secret = map_secret();
	return aggregator;
}

void copy_aggregator_free(struct copy_aggregator *aggregator)
{
	if (!aggregator)
		return;
	map_fini(&aggregator->places);
	map_fini(&aggregator->blocks);
	free(aggregator);
}

bool copy_aggregator_is_about(const struct event *event)
{
	return event->header->type == MS_TYPE_CALL &&
	       (event->probe->spec.op == MS_OP_COPY || event->probe->spec.op == MS_OP_MEMSET);
}

/* ---- which sum ------------------------------------------------------------------------------- */

static struct end end_of(const struct change *change, bool known, uint64_t addr)
{
	/* To look an address up changes nothing but how fast the next one is found. */
	struct process *process = (struct process *)change->process;
	const struct allocation *found = known ? state_containing(process, addr) : NULL;

	return (struct end){ found ? found->addr : 0, found ? found->addr : addr };
}

static struct sum sum_of(const struct event *event, const struct change *change)
{
	const struct ms_call *call = event->call;
	struct sum sum = {
		.to = end_of(change, call->known & MS_KNOWN_ADDR, call->addr),
		.from = end_of(change, call->known & MS_KNOWN_SRC, call->src),
	};

	sum.calls.call = (struct ms_call){
		.event = { .start_ns = event->header->start_ns,
			   .pid = event->header->pid,
			   .tid = event->header->pid,
			   .type = MS_TYPE_CALLS,
			   .size = sizeof(struct ms_calls),
			   .stack = event_stack_id(call) },
		.result = call->result,
		.row = call->row,
		.driver_row = call->driver_row,
		.known = call->known & COMMON,
		.direction = change->direction,
		.flags = call->flags,
	};
	return sum;
}

static uint64_t hash_of(const struct copy_aggregator *aggregator, const struct sum *sum)
{
	const uint64_t secret = aggregator->secret;
	const struct ms_call *call = &sum->calls.call;
	uint64_t kind = (uint64_t)call->row << 48 | (uint64_t)call->driver_row << 32 |
			(uint64_t)call->known << 16 | call->direction << 8 | call->flags;
	uint64_t hash = map_hash(secret, call->event.start_ns ^ (uint64_t)call->event.pid << 32);

	hash = map_hash(secret, hash ^ kind);
	hash = map_hash(secret,
			hash ^ ((uint64_t)call->event.stack << 32 | (uint32_t)call->result));
	hash = map_hash(secret, hash ^ sum->to.block);
	return map_hash(secret, hash ^ sum->from.block);
}

static bool is_same(const struct sum *a, const struct sum *b)
{
	const struct ms_call *x = &a->calls.call, *y = &b->calls.call;

	return x->event.start_ns == y->event.start_ns && x->event.pid == y->event.pid &&
	       x->event.stack == y->event.stack && x->result == y->result && x->row == y->row &&
	       x->driver_row == y->driver_row && x->known == y->known &&
	       x->direction == y->direction && x->flags == y->flags && a->to.block == b->to.block &&
	       a->from.block == b->from.block;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static int hand_over(struct copy_aggregator *aggregator, struct sum *sum, uint64_t now_ns)
{
	sum->calls.call.event.ts_ns = now_ns;
	sum->calls.call.addr = sum->to.addr;
	sum->calls.call.src = sum->from.addr;
	return aggregator->take(aggregator->context, &sum->calls);
}

static void forget_all(struct copy_aggregator *aggregator)
{
	map_fini(&aggregator->places);
	map_fini(&aggregator->blocks);
	aggregator->count = 0;
	aggregator->low = UINT64_MAX;
	aggregator->high = 0;
}

int copy_aggregator_flush(struct copy_aggregator *aggregator, uint64_t now_ns)
{
	int err = 0, next_err;
	size_t i;

	if (!aggregator->count)
		return 0;
	for (i = 0; i < aggregator->count; i++) {
		next_err = hand_over(aggregator, &aggregator->sums[i], now_ns);
		if (!err)
			err = next_err;
	}
	forget_all(aggregator);
	return err;
}

static void block_uncount(struct copy_aggregator *aggregator, uint64_t block)
{
	uint64_t *count = block ? map_get(&aggregator->blocks, block) : NULL;

	if (count && !--*count)
		map_remove(&aggregator->blocks, block);
}

static int take_one(struct copy_aggregator *aggregator, size_t place, uint64_t now_ns)
{
	struct sum *sum = &aggregator->sums[place],
		   *last = &aggregator->sums[aggregator->count - 1];
	int err = hand_over(aggregator, sum, now_ns);

	map_remove(&aggregator->places, hash_of(aggregator, sum));
	block_uncount(aggregator, sum->to.block);
	block_uncount(aggregator, sum->from.block);
	if (sum != last) {
		*sum = *last;
		*map_get(&aggregator->places, hash_of(aggregator, sum)) = place;
	}
	aggregator->count--;
	return err;
}

/* Those that have an end in this block. */
static int take_block(struct copy_aggregator *aggregator, uint64_t block, uint64_t now_ns)
{
	int err = 0, next_err;
	size_t i;

	if (!block || !map_get(&aggregator->blocks, block))
		return 0;
	for (i = aggregator->count; i-- > 0;) {
		if (aggregator->sums[i].to.block != block &&
		    aggregator->sums[i].from.block != block)
			continue;
		next_err = take_one(aggregator, i, now_ns);
		if (!err)
			err = next_err;
	}
	return err;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static int block_count(struct copy_aggregator *aggregator, uint64_t block)
{
	uint64_t *count = block ? map_get(&aggregator->blocks, block) : NULL;

	if (!block)
		return 0;
	return map_set(&aggregator->blocks, block, count ? *count + 1 : 1);
}

static void note_outside(struct copy_aggregator *aggregator, const struct end *end)
{
	if (end->block || !end->addr)
		return;
	if (end->addr < aggregator->low)
		aggregator->low = end->addr;
	if (end->addr > aggregator->high)
		aggregator->high = end->addr;
}

/* Returns NULL without memory: then there are no sums at all. */
static struct sum *sum_make(struct copy_aggregator *aggregator, const struct sum *like)
{
	if (map_set(&aggregator->places, hash_of(aggregator, like), aggregator->count) ||
	    block_count(aggregator, like->to.block) || block_count(aggregator, like->from.block))
		return NULL;
	note_outside(aggregator, &like->to);
	note_outside(aggregator, &like->from);
	aggregator->sums[aggregator->count] = *like;
	return &aggregator->sums[aggregator->count++];
}

static void amount_add(struct ms_calls *calls, const struct event *event)
{
	calls->count += event->count;
	calls->call.duration_ns += event->call->duration_ns;
	calls->call.size += event->call->size;
}

int copy_aggregator_add(struct copy_aggregator *aggregator, const struct event *event,
			const struct change *change, uint64_t now_ns)
{
	struct sum like = sum_of(event, change), *sum;
	const uint64_t *place;
	int err = 0;

	if (graphs_captures(change->process, event->probe, event->call->stream))
		return 1;
	place = map_get(&aggregator->places, hash_of(aggregator, &like));
	if (place && !is_same(&aggregator->sums[*place], &like)) {
		err = take_one(aggregator, *place, now_ns);
		place = NULL;
	}
	if (!place && !err && aggregator->count == SUMS_MAX)
		err = copy_aggregator_flush(aggregator, now_ns);
	if (err)
		return err;
	sum = place ? &aggregator->sums[*place] : sum_make(aggregator, &like);
	if (!sum) {
		err = copy_aggregator_flush(aggregator, now_ns);
		forget_all(aggregator); /* also what was only half made */
		return err ? err : 1;
	}
	amount_add(&sum->calls, event);
	return 0;
}

/* ---- before things change -------------------------------------------------------------------- */

/* What was outside may be inside of it now, and what was inside of an older one there is not. */
static int before_alloc(struct copy_aggregator *aggregator, const struct ms_call *call,
			uint64_t now_ns)
{
	if (call->known & MS_KNOWN_ADDR && call->known & MS_KNOWN_SIZE &&
	    call->addr <= aggregator->high && call->size > 0 &&
	    call->addr + (call->size - 1) >= aggregator->low)
		return copy_aggregator_flush(aggregator, now_ns);
	return take_block(aggregator, call->addr, now_ns);
}

int copy_aggregator_before(struct copy_aggregator *aggregator, const struct event *event,
			   uint64_t now_ns)
{
	if (!aggregator->count || event->header->type == MS_TYPE_NAME ||
	    event->header->type == MS_TYPE_FORK || event->header->type == MS_TYPE_ACCOUNT ||
	    event->header->type == MS_TYPE_CALLS)
		return 0;
	if (event->free && event->probe->spec.key == MS_KEY_POINTER)
		return take_block(aggregator, event->free->addr, now_ns);
	if (!event->call)
		return copy_aggregator_flush(aggregator, now_ns);
	switch (event->probe->spec.op) {
	case MS_OP_ALLOC:
		return before_alloc(aggregator, event->call, now_ns);
	case MS_OP_FREE:
		/* As a rule it has begun before, and there is nothing left to take. */
		return take_block(aggregator, event->call->addr, now_ns);
	case MS_OP_LAUNCH:
		return event->launch && event->probe->spec.action == MS_ACTION_GRAPH_LAUNCH ?
			       copy_aggregator_flush(aggregator, now_ns) :
			       0;
	case MS_OP_CONTEXT:
		return event->probe->spec.action == MS_ACTION_DESTROY ||
				       event->probe->spec.action == MS_ACTION_RELEASE ||
				       event->probe->spec.action == MS_ACTION_RESET ?
			       copy_aggregator_flush(aggregator, now_ns) :
			       0;
	}
	return 0;
}
