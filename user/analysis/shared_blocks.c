// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/shared_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define BLOCKS_MAX 4096 /* that are remembered: the newest */
#define OPENS_MAX 4096  /* at a time; the others are not looked at */
#define PAIRS_MAX 64    /* of processes, likewise */
#define SCAN 4096       /* blocks that are looked at to find the one that an address is in */

struct who {
	uint32_t pid;
	uint64_t start_ns;
	char comm[MS_COMM_BYTES];
};

struct shared_block {
	struct who owner;
	uint64_t handle; /* a hash of it */
	uint64_t id, addr, size_bytes;
	uint64_t freed_ns; /* 0: it is not */
	int32_t device;
	uint16_t row;
	uint8_t space;
};

struct shared_open {
	struct who user;
	uint64_t addr; /* in that process */
	uint64_t ts_ns;
	struct shared_block block; /* as it was then, but `freed_ns` */
};

struct shared_pair {
	struct who owner, user;
	int32_t device;
	uint16_t row;
	uint8_t space;
	uint64_t blocks, bytes;           /* kept for long enough */
	uint64_t open_blocks, open_bytes; /* of these, at the end */
	uint64_t largest_bytes;
	uint64_t first_ns, last_ns, longest_ns, opened_ns;
};

void shared_blocks_fini(struct shared_blocks *shared)
{
	free(shared->blocks);
	free(shared->opens);
	free(shared->pairs);
	map_fini(&shared->by_handle);
	map_fini(&shared->by_id);
	*shared = (struct shared_blocks){ 0 };
}

size_t shared_blocks_bytes(const struct shared_blocks *shared)
{
	return shared->blocks_capacity * sizeof(*shared->blocks) +
	       shared->opens_capacity * sizeof(*shared->opens) +
	       shared->pairs_capacity * sizeof(*shared->pairs) + map_bytes(&shared->by_handle) +
	       map_bytes(&shared->by_id);
}

void shared_blocks_forget(struct shared_blocks *shared)
{
	shared->blocks_count = shared->opens_count = shared->oldest = 0;
	map_fini(&shared->by_handle);
	map_fini(&shared->by_id);
}

static struct who who_is(const struct process *process)
{
	struct who who = { .pid = process->pid, .start_ns = process->start_ns };

	memcpy(who.comm, process->comm, sizeof(who.comm));
	return who;
}

static bool is_same(const struct who *a, const struct who *b)
{
	return a->pid == b->pid && a->start_ns == b->start_ns;
}

/* ---- exports --------------------------------------------------------------------------------- */

/* The block at an address or around it, if there are not too many to look at. */
static const struct allocation *block_of(const struct process *process, uint64_t addr)
{
	const struct ledger *ledger = &process->ledgers[MS_KEY_POINTER];
	const struct allocation *found = ledger_find(ledger, addr);
	size_t i;

	for (i = 0; !found && ledger->count <= SCAN && i < ledger->count; i++)
		if (addr - ledger->entries[i].addr < ledger->entries[i].size_bytes)
			found = &ledger->entries[i];
	return found;
}

/* NULL without memory. */
static struct shared_block *place_for_block(struct shared_blocks *shared)
{
	struct shared_block *block;

	if (shared->blocks_count == BLOCKS_MAX) {
		block = &shared->blocks[shared->oldest++ % BLOCKS_MAX];
		map_remove(&shared->by_handle, block->handle);
		map_remove(&shared->by_id, block->id);
		return block;
	}
	if (memory_grow(&shared->blocks, &shared->blocks_capacity, shared->blocks_count + 1,
			sizeof(*shared->blocks)))
		return NULL;
	return &shared->blocks[shared->blocks_count++];
}

static int apply_export(struct shared_blocks *shared, const struct ms_call *call,
			const struct process *process)
{
	const struct allocation *allocation =
		call->known & MS_KNOWN_SRC && call->src ? block_of(process, call->addr) : NULL;
	struct shared_block *block;
	size_t place;

	if (!allocation || !allocation->size_known || map_get(&shared->by_handle, call->src))
		return 0;
	block = place_for_block(shared);
	if (!block)
		return -ENOMEM;
	place = block - shared->blocks;
	*block = (struct shared_block){ .owner = who_is(process),
					.handle = call->src,
					.id = allocation->id,
					.addr = allocation->addr,
					.size_bytes = allocation->size_bytes,
					.device = allocation->device,
					.row = allocation->row,
					.space = allocation->space };
	return map_set(&shared->by_handle, block->handle, place) ||
			       map_set(&shared->by_id, block->id, place) ?
		       -ENOMEM :
		       0;
}

/* ---- who has it open ------------------------------------------------------------------------- */

static int apply_open(struct shared_blocks *shared, const struct event *event,
		      const struct change *change)
{
	const uint64_t *place = map_get(&shared->by_handle, event->call->src);
	const struct shared_block *block = place ? &shared->blocks[*place] : NULL;
	const struct who user = who_is(change->process);

	/* Opened once more, it is open already. */
	if (!block || is_same(&block->owner, &user) || shared->opens_count == OPENS_MAX ||
	    change->allocation.ts_ns < event->header->ts_ns)
		return 0;
	if (memory_grow(&shared->opens, &shared->opens_capacity, shared->opens_count + 1,
			sizeof(*shared->opens)))
		return -ENOMEM;
	shared->opens[shared->opens_count++] =
		(struct shared_open){ .user = user,
				      .addr = change->allocation.addr,
				      .ts_ns = change->allocation.ts_ns,
				      .block = *block };
	return 0;
}

static void apply_owner_free(struct shared_blocks *shared, const struct allocation *allocation,
			     uint64_t ts_ns)
{
	const uint64_t *place = map_get(&shared->by_id, allocation->id);
	size_t i;

	if (!place)
		return;
	shared->blocks[*place].freed_ns = ts_ns;
	for (i = 0; i < shared->opens_count; i++)
		if (shared->opens[i].block.id == allocation->id)
			shared->opens[i].block.freed_ns = ts_ns;
}

/* NULL: there are too many, or no memory, which `*err` says. */
static struct shared_pair *pair_of(struct shared_blocks *shared, const struct shared_open *open,
				   int *err)
{
	struct shared_pair *pair;
	size_t i;

	for (i = 0; i < shared->pairs_count; i++) {
		pair = &shared->pairs[i];
		if (is_same(&pair->owner, &open->block.owner) && is_same(&pair->user, &open->user))
			return pair;
	}
	if (shared->pairs_count == PAIRS_MAX)
		return NULL;
	*err = memory_grow(&shared->pairs, &shared->pairs_capacity, shared->pairs_count + 1,
			   sizeof(*shared->pairs));
	if (*err)
		return NULL;
	pair = &shared->pairs[shared->pairs_count++];
	*pair = (struct shared_pair){ .owner = open->block.owner,
				      .user = open->user,
				      .device = open->block.device,
				      .row = open->block.row,
				      .space = open->block.space,
				      .opened_ns = open->ts_ns,
				      .first_ns = UINT64_MAX };
	return pair;
}

/* What it kept from being given back until now, if that is long enough to speak of. */
static int settle(struct shared_blocks *shared, const struct shared_open *open, uint64_t now_ns,
		  bool is_open, const struct analysis_options *options)
{
	const struct shared_block *block = &open->block;
	struct shared_pair *pair;
	int err = 0;

	if (!block->freed_ns || now_ns < block->freed_ns + options->export_time_ns)
		return 0;
	pair = pair_of(shared, open, &err);
	if (!pair)
		return err;
	pair->blocks++;
	pair->bytes += block->size_bytes;
	pair->open_blocks += is_open;
	pair->open_bytes += is_open ? block->size_bytes : 0;
	if (block->size_bytes > pair->largest_bytes)
		pair->largest_bytes = block->size_bytes;
	if (block->freed_ns < pair->first_ns)
		pair->first_ns = block->freed_ns;
	if (now_ns > pair->last_ns)
		pair->last_ns = now_ns;
	if (now_ns - block->freed_ns > pair->longest_ns)
		pair->longest_ns = now_ns - block->freed_ns;
	return 0;
}

/* Those of the process: of that address, or (0) all that it has no more. */
static int close_all(struct shared_blocks *shared, const struct process *process, uint64_t addr,
		     uint64_t now_ns, const struct analysis_options *options)
{
	const struct ledger *ledger = &process->ledgers[MS_KEY_POINTER];
	const struct who user = who_is(process);
	size_t i = 0;
	int err = 0;

	while (!err && i < shared->opens_count) {
		struct shared_open *open = &shared->opens[i];
		const struct allocation *now;

		now = is_same(&open->user, &user) ? ledger_find(ledger, open->addr) : NULL;
		if (!is_same(&open->user, &user) || (addr && open->addr != addr) ||
		    (now && now->ts_ns == open->ts_ns)) {
			i++;
			continue;
		}
		err = settle(shared, open, now_ns, false, options);
		*open = shared->opens[--shared->opens_count];
	}
	return err;
}

static int apply_call(struct shared_blocks *shared, const struct event *event,
		      const struct change *change, const struct analysis_options *options)
{
	const struct ms_call *call = event->call;
	const struct ms_spec *spec = &event->probe->spec;
	const struct allocation *allocation = &change->allocation;

	if (!event_succeeded(call) || call->flags & MS_CALL_PART)
		return 0;
	if (spec->op == MS_OP_MEMORY && spec->action == MS_ACTION_EXPORT)
		return apply_export(shared, call, change->process);
	if (!shared->blocks_count)
		return 0;
	if (spec->op == MS_OP_ALLOC && spec->space == MS_SPACE_IMPORTED && change->has_allocation)
		return apply_open(shared, event, change);
	if (spec->op == MS_OP_CONTEXT && change->has_amounts &&
	    change->implicit[MS_SPACE_IMPORTED].count)
		return close_all(shared, change->process, 0, event_end_ns(event), options);
	if (spec->op != MS_OP_FREE || change->free != FREE_KNOWN)
		return 0;
	if (allocation->space == MS_SPACE_IMPORTED)
		return close_all(shared, change->process, allocation->addr, event_end_ns(event),
				 options);
	apply_owner_free(shared, allocation, event_end_ns(event));
	return 0;
}

int shared_blocks_event(struct shared_blocks *shared, const struct event *event,
			const struct change *change, const struct analysis_options *options)
{
	if (event->call)
		return apply_call(shared, event, change, options);
	if (!shared->opens_count ||
	    (event->header->type != MS_TYPE_EXIT && event->header->type != MS_TYPE_EXEC))
		return 0;
	return close_all(shared, change->process, 0, event->header->ts_ns, options);
}

/* ---- the findings ---------------------------------------------------------------------------- */

static int report_pair(const struct shared_pair *pair, struct findings *findings)
{
	struct finding finding = {
		.rule = FINDING_EXPORTED_KEPT,
		.confidence = FINDING_HIGH,
		.pid = pair->owner.pid,
		.start_ns = pair->owner.start_ns,
		.device = pair->device,
		.space = pair->space,
		.row = pair->row,
		.first_ts_ns = pair->first_ns,
		.last_ts_ns = pair->last_ns,
		.bytes = pair->bytes,
	};

	memcpy(finding.comm, pair->owner.comm, sizeof(finding.comm));
	finding_say(&finding, "blocks freed that were open in another process", FINDING_COUNT,
		    pair->blocks);
	finding_say(&finding, "bytes that freeing them did not give back", FINDING_BYTES,
		    pair->bytes);
	finding_say(&finding, "process that had them open", FINDING_PID, pair->user.pid);
	finding_say(&finding, "opened there first at", FINDING_TIME, pair->opened_ns);
	finding_say(&finding, "freed first at", FINDING_TIME, pair->first_ns);
	finding_say(&finding, "longest that one stayed open after that", FINDING_NS,
		    pair->longest_ns);
	finding_say(&finding, "largest of them", FINDING_BYTES, pair->largest_bytes);
	finding_say(&finding, "of them, open when the recording ended", FINDING_COUNT,
		    pair->open_blocks);
	return findings_add(findings, &finding);
}

int shared_blocks_report(struct shared_blocks *shared, uint64_t end_ns,
			 const struct analysis_options *options, struct findings *findings)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < shared->opens_count; i++)
		err = settle(shared, &shared->opens[i], end_ns, true, options);
	for (i = 0; !err && i < shared->pairs_count; i++)
		err = report_pair(&shared->pairs[i], findings);
	return err;
}
