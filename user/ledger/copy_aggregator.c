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

struct sums {
	sums_take take;
	void *context;
	size_t count;
	struct map places;  /* hash -> position */
	struct map blocks;  /* of a sum: begin -> of how many sums */
	uint64_t low, high; /* of ends in no block */
	struct sum sums[SUMS_MAX];
};

struct sums *sums_new(sums_take take, void *context)
{
	struct sums *sums = calloc(1, sizeof(*sums));

	if (!sums)
		return NULL;
	sums->take = take;
	sums->context = context;
	sums->low = UINT64_MAX;
	return sums;
}

void sums_free(struct sums *sums)
{
	if (!sums)
		return;
	map_fini(&sums->places);
	map_fini(&sums->blocks);
	free(sums);
}

bool sums_is_about(const struct event *event)
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
			   .size = sizeof(struct ms_calls) },
		.result = call->result,
		.row = call->row,
		.driver_row = call->driver_row,
		.known = call->known & COMMON,
		.direction = change->direction,
		.flags = call->flags,
	};
	return sum;
}

static uint64_t hash_of(const struct sum *sum)
{
	const struct ms_call *call = &sum->calls.call;
	uint64_t kind = (uint64_t)call->row << 48 | (uint64_t)call->driver_row << 32 |
			(uint64_t)call->known << 16 | call->direction << 8 | call->flags;
	uint64_t hash = map_hash(call->event.start_ns ^ (uint64_t)call->event.pid << 32);

	hash = map_hash(hash ^ kind);
	hash = map_hash(hash ^ (uint32_t)call->result ^ sum->to.block);
	return map_hash(hash ^ sum->from.block);
}

static bool is_same(const struct sum *a, const struct sum *b)
{
	const struct ms_call *x = &a->calls.call, *y = &b->calls.call;

	return x->event.start_ns == y->event.start_ns && x->event.pid == y->event.pid &&
	       x->result == y->result && x->row == y->row && x->driver_row == y->driver_row &&
	       x->known == y->known && x->direction == y->direction && x->flags == y->flags &&
	       a->to.block == b->to.block && a->from.block == b->from.block;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static int hand_over(struct sums *sums, struct sum *sum, uint64_t now_ns)
{
	sum->calls.call.event.ts_ns = now_ns;
	sum->calls.call.addr = sum->to.addr;
	sum->calls.call.src = sum->from.addr;
	return sums->take(sums->context, &sum->calls);
}

static void forget_all(struct sums *sums)
{
	map_fini(&sums->places);
	map_fini(&sums->blocks);
	sums->count = 0;
	sums->low = UINT64_MAX;
	sums->high = 0;
}

int sums_flush(struct sums *sums, uint64_t now_ns)
{
	int err = 0, next_err;
	size_t i;

	if (!sums->count)
		return 0;
	for (i = 0; i < sums->count; i++) {
		next_err = hand_over(sums, &sums->sums[i], now_ns);
		if (!err)
			err = next_err;
	}
	forget_all(sums);
	return err;
}

static void block_uncount(struct sums *sums, uint64_t block)
{
	uint64_t *count = block ? map_get(&sums->blocks, block) : NULL;

	if (count && !--*count)
		map_remove(&sums->blocks, block);
}

static int take_one(struct sums *sums, size_t place, uint64_t now_ns)
{
	struct sum *sum = &sums->sums[place], *last = &sums->sums[sums->count - 1];
	int err = hand_over(sums, sum, now_ns);

	map_remove(&sums->places, hash_of(sum));
	block_uncount(sums, sum->to.block);
	block_uncount(sums, sum->from.block);
	if (sum != last) {
		*sum = *last;
		*map_get(&sums->places, hash_of(sum)) = place;
	}
	sums->count--;
	return err;
}

/* Those that have an end in this block. */
static int take_block(struct sums *sums, uint64_t block, uint64_t now_ns)
{
	int err = 0, next_err;
	size_t i;

	if (!block || !map_get(&sums->blocks, block))
		return 0;
	for (i = sums->count; i-- > 0;) {
		if (sums->sums[i].to.block != block && sums->sums[i].from.block != block)
			continue;
		next_err = take_one(sums, i, now_ns);
		if (!err)
			err = next_err;
	}
	return err;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static int block_count(struct sums *sums, uint64_t block)
{
	uint64_t *count = block ? map_get(&sums->blocks, block) : NULL;

	if (!block)
		return 0;
	return map_set(&sums->blocks, block, count ? *count + 1 : 1);
}

static void note_outside(struct sums *sums, const struct end *end)
{
	if (end->block || !end->addr)
		return;
	if (end->addr < sums->low)
		sums->low = end->addr;
	if (end->addr > sums->high)
		sums->high = end->addr;
}

/* Returns NULL without memory: then there are no sums at all. */
static struct sum *sum_make(struct sums *sums, const struct sum *like)
{
	if (map_set(&sums->places, hash_of(like), sums->count) ||
	    block_count(sums, like->to.block) || block_count(sums, like->from.block))
		return NULL;
	note_outside(sums, &like->to);
	note_outside(sums, &like->from);
	sums->sums[sums->count] = *like;
	return &sums->sums[sums->count++];
}

static void amount_add(struct ms_calls *calls, const struct event *event)
{
	calls->count += event->count;
	calls->call.duration_ns += event->call->duration_ns;
	calls->call.size += event->call->size;
}

int sums_add(struct sums *sums, const struct event *event, const struct change *change,
	     uint64_t now_ns)
{
	struct sum like = sum_of(event, change), *sum;
	const uint64_t *place;
	int err = 0;

	if (graphs_captures(change->process, event->probe, event->call->stream))
		return 1;
	place = map_get(&sums->places, hash_of(&like));
	if (place && !is_same(&sums->sums[*place], &like)) {
		err = take_one(sums, *place, now_ns);
		place = NULL;
	}
	if (!place && !err && sums->count == SUMS_MAX)
		err = sums_flush(sums, now_ns);
	if (err)
		return err;
	sum = place ? &sums->sums[*place] : sum_make(sums, &like);
	if (!sum) {
		err = sums_flush(sums, now_ns);
		forget_all(sums); /* also what was only half made */
		return err ? err : 1;
	}
	amount_add(&sum->calls, event);
	return 0;
}

/* ---- before things change -------------------------------------------------------------------- */

/* What was outside may be inside of it now, and what was inside of an older one there is not. */
static int before_alloc(struct sums *sums, const struct ms_call *call, uint64_t now_ns)
{
	if (call->known & MS_KNOWN_ADDR && call->known & MS_KNOWN_SIZE &&
	    call->addr <= sums->high && call->size > 0 &&
	    call->addr + (call->size - 1) >= sums->low)
		return sums_flush(sums, now_ns);
	return take_block(sums, call->addr, now_ns);
}

int sums_before(struct sums *sums, const struct event *event, uint64_t now_ns)
{
	if (!sums->count || event->header->type == MS_TYPE_NAME ||
	    event->header->type == MS_TYPE_FORK || event->header->type == MS_TYPE_ACCOUNT ||
	    event->header->type == MS_TYPE_CALLS)
		return 0;
	if (event->free && event->probe->spec.key == MS_KEY_POINTER)
		return take_block(sums, event->free->addr, now_ns);
	if (!event->call)
		return sums_flush(sums, now_ns);
	switch (event->probe->spec.op) {
	case MS_OP_ALLOC:
		return before_alloc(sums, event->call, now_ns);
	case MS_OP_FREE:
		/* As a rule it has begun before, and there is nothing left to take. */
		return take_block(sums, event->call->addr, now_ns);
	case MS_OP_LAUNCH:
		return event->launch && event->probe->spec.action == MS_ACTION_GRAPH_LAUNCH ?
			       sums_flush(sums, now_ns) :
			       0;
	case MS_OP_CONTEXT:
		return event->probe->spec.action == MS_ACTION_DESTROY ||
				       event->probe->spec.action == MS_ACTION_RELEASE ||
				       event->probe->spec.action == MS_ACTION_RESET ?
			       sums_flush(sums, now_ns) :
			       0;
	}
	return 0;
}
