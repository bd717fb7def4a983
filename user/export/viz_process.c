// SPDX-License-Identifier: BSD-2-Clause
#include "export/viz_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/framework.h"
#include "ledger/ledger.h"
#include "ledger/pending.h"
#include "ledger/usage.h"
#include "render/identity_words.h"

#define ADDRS_END (1ull << 52) /* of those that count up; the viewer's numbers are exact to 2^53 */
#define PROCESS_ADDRS (1ull << 47) /* CUDA's end below */
#define MAPPED_PROCESSES 32        /* whose mapped pieces do not overlap */

/* ---- processes ------------------------------------------------------------------------------- */

static char *name_of(const struct process *process)
{
	struct string name = { 0 };

	identity_words_process(&name, process);
	string_append_char(&name, '\0');
	if (!name.failed)
		return name.bytes;
	string_fini(&name);
	return NULL;
}

struct viz_process *viz_process_new(struct viz_output *output, const struct process *process)
{
	struct viz_process *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	made->name = name_of(process);
	made->mapped_base = ADDRS_END + output->processes++ % MAPPED_PROCESSES * PROCESS_ADDRS;
	if (made->name)
		return made;
	free(made);
	return NULL;
}

void viz_process_free(struct viz_process *process)
{
	ledger_fini(&process->live);
	ledger_fini(&process->ranges);
	ledger_fini(&process->blocks);
	map_fini(&process->frames);
	free(process->name);
	free(process);
}

/* ---- entries --------------------------------------------------------------------------------- */

#define KEY_OF_STACK (1ull << 40)

static uint64_t frames_key(const struct allocation *kept)
{
	return kept->stack ? KEY_OF_STACK | kept->stack : (uint64_t)kept->row << 8 | kept->space;
}

struct snapshot_frames viz_process_frames(const struct viz_output *output,
					  const struct viz_process *process,
					  const struct allocation *kept)
{
	const uint64_t *number = map_get(&process->frames, frames_key(kept));
	struct snapshot_frames frames = { .number = number ? (uint32_t)*number : 0,
					  .space = probe_space_name(kept->space),
					  .process = process->name,
					  .stacks = output->stacks };

	if (kept->stack)
		frames.stack = stacks_find(output->stacks, kept->stack);
	frames.api = kept->row == MS_NO_ROW ? framework_name(kept->framework) :
					      probe_at(kept->row)->symbol;
	return frames;
}

static void keep_frames(struct viz_output *output, struct viz_process *process,
			const struct allocation *kept, const struct snapshot_frames *frames)
{
	if (map_set(&process->frames, frames_key(kept), frames->number))
		output->err = -ENOMEM;
}

static uint32_t device_of(int32_t device)
{
	return device >= 0 && device < SNAPSHOT_DEVICES ? (uint32_t)device : SNAPSHOT_UNKNOWN;
}

struct snapshot_block viz_process_block(const struct allocation *kept, uint64_t cuda_addr)
{
	return (struct snapshot_block){ .device = device_of(kept->device),
					.addr = kept->id,
					.cuda_addr = cuda_addr,
					.size_bytes = kept->size_bytes };
}

static void put(struct viz_output *output, struct viz_process *process, enum snapshot_action action,
		const struct allocation *kept, const struct snapshot_block *block, uint64_t ts_ns)
{
	struct snapshot_frames frames = viz_process_frames(output, process, kept);
	const bool is_new = !frames.number;

	snapshot_entry(&output->snapshot, action, block, (ts_ns + output->wall_offset_ns) / 1000, 0,
		       &frames);
	if (is_new)
		keep_frames(output, process, kept, &frames);
}

/* Of an allocation. */
static void put_kept(struct viz_output *output, struct viz_process *process,
		     enum snapshot_action action, const struct allocation *kept, uint64_t ts_ns)
{
	struct snapshot_block block = viz_process_block(kept, kept->context);
	struct allocation called = *kept;

	block.stream = kept->owner;
	called.stack = 0; /* the function, whoever called it */
	put(output, process, action, &called, &block, ts_ns);
}

/* Of a range, or a block in one. */
static void put_at(struct viz_output *output, struct viz_process *process,
		   enum snapshot_action action, const struct allocation *kept, uint64_t ts_ns)
{
	const struct snapshot_block block = viz_process_block(kept, kept->addr);

	put(output, process, action, kept, &block, ts_ns);
}

void viz_process_fail(struct viz_output *output, struct viz_process *process,
		      const struct event *event, int32_t device, uint64_t free_bytes)
{
	const struct allocation wanted = { .row = event->call->row,
					   .space = event->probe->spec.space };
	const struct snapshot_block block = { .device = device_of(device),
					      .size_bytes = event->call->size,
					      .stream = event->call->stream };
	struct snapshot_frames frames = viz_process_frames(output, process, &wanted);
	const bool is_new = !frames.number;

	snapshot_entry(&output->snapshot, SNAPSHOT_OOM, &block,
		       (event_end_ns(event) + output->wall_offset_ns) / 1000, free_bytes, &frames);
	if (is_new)
		keep_frames(output, process, &wanted, &frames);
}

/* ---- allocations ----------------------------------------------------------------------------- */

/* Begins anew when all addresses have been used: after some thousand TiB. */
static uint64_t make_addr(struct viz_output *output, uint64_t size_bytes)
{
	const uint64_t blocks = size_bytes / VIZ_ALIGNMENT + 1;
	uint64_t addr;

	if (blocks > (ADDRS_END - output->next_addr) / VIZ_ALIGNMENT)
		output->next_addr = VIZ_ALIGNMENT;
	addr = output->next_addr;
	if (blocks <= (ADDRS_END - addr) / VIZ_ALIGNMENT)
		output->next_addr += blocks * VIZ_ALIGNMENT;
	return addr;
}

static void put_whole(struct viz_output *output, struct viz_process *process,
		      struct allocation *kept)
{
	put_kept(output, process, SNAPSHOT_SEGMENT_ALLOC, kept, kept->ts_ns);
	put_kept(output, process, SNAPSHOT_ALLOC, kept, kept->ts_ns);
	kept->framework = VIZ_WHOLE;
}

void viz_process_settle(struct viz_output *output, struct viz_process *process)
{
	size_t i;

	for (i = 0; i < process->waiting_count; i++) {
		struct allocation *kept = ledger_find(&process->live, process->waiting[i]);

		if (kept && kept->framework == VIZ_WAITS)
			put_whole(output, process, kept);
	}
	process->waiting_count = 0;
}

/* Mapping memory is a part of one request of an allocator. */
static bool is_part_of_request(const struct event *event)
{
	const struct ms_spec *spec = &event->probe->spec;

	return spec->op == MS_OP_MEMORY || spec->space == MS_SPACE_PHYSICAL ||
	       spec->space == MS_SPACE_MAPPED || spec->space == MS_SPACE_RESERVED;
}

/* The entries stay in the order of time. */
static bool changes_memory(const struct event *event)
{
	const uint8_t op = event->probe->spec.op;

	return op == MS_OP_ALLOC || op == MS_OP_FREE;
}

void viz_process_settle_before(struct viz_output *output, struct viz_process *process,
			       const struct event *event)
{
	/* Sums of calls come when they come. */
	if (!process->waiting_count || event->header->type == MS_TYPE_CALLS)
		return;
	if (!event->call ||
	    (event->header->tid == process->waiting_tid ? !is_part_of_request(event) :
							  changes_memory(event)))
		viz_process_settle(output, process);
}

static void wait_for_block(struct viz_output *output, struct viz_process *process,
			   const struct allocation *kept, uint32_t tid)
{
	if (process->waiting_count == VIZ_WAITING)
		viz_process_settle(output, process);
	process->waiting[process->waiting_count++] = kept->addr;
	process->waiting_tid = tid;
}

static void block_end(struct viz_output *output, struct viz_process *process, uint64_t addr,
		      uint64_t ts_ns)
{
	struct allocation block;

	if (!ledger_remove(&process->blocks, addr, &block))
		return;
	put_at(output, process, SNAPSHOT_FREE_REQUESTED, &block, ts_ns);
	put_at(output, process, SNAPSHOT_FREE_COMPLETED, &block, ts_ns);
}

/* The range is gone, and with it the blocks in it that were not seen to end. */
static void range_end(struct viz_output *output, struct viz_process *process,
		      const struct allocation *range, uint64_t ts_ns)
{
	const struct allocation *block;

	while ((block = ledger_first(&process->blocks, range->addr,
				     range->addr + range->size_bytes)))
		block_end(output, process, block->addr, ts_ns);
}

/* What lies there was not seen to end: it ends now, with its blocks. */
static void range_replace(struct viz_output *output, struct viz_process *process, uint64_t addr,
			  uint64_t ts_ns)
{
	const struct allocation *at = ledger_find(&process->ranges, addr);
	struct allocation old;

	if (!at)
		return;
	if (at->space == MS_SPACE_MAPPED)
		viz_process_unmap(output, process, addr, 1, ts_ns);
	else
		viz_process_end(output, process, at->context, ts_ns);
	if (ledger_remove(&process->ranges, addr, &old))
		range_end(output, process, &old, ts_ns);
}

static void range_add(struct viz_output *output, struct viz_process *process,
		      const struct allocation *range)
{
	range_replace(output, process, range->addr, range->ts_ns);
	if (range->size_bytes && ledger_insert(&process->ranges, range))
		output->err = -ENOMEM;
}

void viz_process_add(struct viz_output *output, struct viz_process *process,
		     const struct allocation *allocation, uint64_t stream, uint64_t ts_ns)
{
	struct allocation kept = *allocation, range = *allocation;

	kept.addr = range.context = allocation->id;
	kept.context = allocation->addr;
	kept.owner = stream;
	kept.ts_ns = range.ts_ns = ts_ns;
	kept.tid = process->round;
	kept.id = range.id = make_addr(output, allocation->size_bytes);
	range.stack = 0;
	range.framework = allocation->framework != 0;
	kept.framework = allocation->framework ? VIZ_SEGMENT : VIZ_WAITS;
	if (ledger_insert(&process->live, &kept)) {
		output->err = -ENOMEM;
		return;
	}
	if (allocation->space == MS_SPACE_DEVICE || allocation->space == MS_SPACE_POOL)
		range_add(output, process, &range);
	if (!kept.size_bytes)
		return; /* nothing to see, and the viewer finds no segment for it */
	if (kept.framework == VIZ_WAITS)
		wait_for_block(output, process, &kept, allocation->tid);
	else
		put_kept(output, process, SNAPSHOT_SEGMENT_ALLOC, &kept, ts_ns);
}

/* Without segment: the whole is to be replaced by what is in it. */
static void end_whole(struct viz_output *output, struct viz_process *process,
		      const struct allocation *kept, bool segment, uint64_t ts_ns)
{
	put_kept(output, process, SNAPSHOT_FREE_REQUESTED, kept, ts_ns);
	put_kept(output, process, SNAPSHOT_FREE_COMPLETED, kept, ts_ns);
	if (segment)
		put_kept(output, process, SNAPSHOT_SEGMENT_FREE, kept, ts_ns);
}

void viz_process_end(struct viz_output *output, struct viz_process *process, uint64_t id,
		     uint64_t ts_ns)
{
	struct allocation *found = ledger_find(&process->live, id), kept;
	const struct allocation *at;
	struct allocation range;

	if (found && found->framework == VIZ_WAITS)
		viz_process_settle(output, process);
	if (!ledger_remove(&process->live, id, &kept))
		return;
	at = ledger_find(&process->ranges, kept.context);
	if (at && at->context == id && ledger_remove(&process->ranges, kept.context, &range))
		range_end(output, process, &range, ts_ns);
	if (!kept.size_bytes || kept.framework == VIZ_HIDDEN)
		return;
	if (kept.framework == VIZ_SEGMENT)
		put_kept(output, process, SNAPSHOT_SEGMENT_FREE, &kept, ts_ns);
	else
		end_whole(output, process, &kept, true, ts_ns);
}

/* ---- mapped memory --------------------------------------------------------------------------- */

void viz_process_map(struct viz_output *output, struct viz_process *process,
		     const struct allocation *mapping)
{
	struct allocation range = *mapping;

	if (mapping->addr > PROCESS_ADDRS - 1 ||
	    mapping->size_bytes > PROCESS_ADDRS - mapping->addr)
		return;
	range.id = process->mapped_base + mapping->addr;
	range.context = mapping->owner;
	range.framework = 0;
	range.stack = 0;
	range_add(output, process, &range);
}

void viz_process_unmap(struct viz_output *output, struct viz_process *process, uint64_t addr,
		       uint64_t bytes, uint64_t ts_ns)
{
	const uint64_t end = addr + bytes < addr ? UINT64_MAX : addr + bytes;
	const struct allocation *at;
	struct allocation range;

	while ((at = ledger_first(&process->ranges, addr, end)) && at->space == MS_SPACE_MAPPED &&
	       ledger_remove(&process->ranges, at->addr, &range)) {
		if (!range.framework)
			continue;
		range_end(output, process, &range, ts_ns);
		put_at(output, process, SNAPSHOT_SEGMENT_UNMAP, &range, ts_ns);
	}
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* It is an allocator's segment, or a piece of one. */
static void range_begin(struct viz_output *output, struct viz_process *process,
			struct allocation *range, uint64_t ts_ns)
{
	struct allocation *kept = ledger_find(&process->live, range->context);

	range->framework = 1;
	if (range->space == MS_SPACE_MAPPED) {
		if (kept && kept->framework == VIZ_WHOLE && kept->size_bytes)
			end_whole(output, process, kept, true, ts_ns);
		if (kept)
			kept->framework = VIZ_HIDDEN;
		put_at(output, process, SNAPSHOT_SEGMENT_MAP, range, ts_ns);
		return;
	}
	if (!kept)
		return;
	if (kept->framework == VIZ_WHOLE)
		end_whole(output, process, kept, false, ts_ns);
	else if (kept->framework == VIZ_WAITS)
		put_kept(output, process, SNAPSHOT_SEGMENT_ALLOC, kept, kept->ts_ns);
	kept->framework = VIZ_SEGMENT;
}

#define PIECES_MOST 4096 /* that one block is looked for in */

/* Returns the range that it begins in; NULL: it is not known. */
static const struct allocation *ranges_begin(struct viz_output *output, struct viz_process *process,
					     const struct tensor_block *block, uint64_t ts_ns)
{
	const struct allocation *first = NULL;
	uint64_t addr = block->addr;
	size_t i;

	for (i = 0; i < PIECES_MOST && addr - block->addr < block->bytes; i++) {
		const struct allocation *at = ledger_containing(&process->ranges, addr);
		struct allocation *range = at ? ledger_find(&process->ranges, at->addr) : NULL;

		if (!range)
			return NULL;
		if (!range->framework)
			range_begin(output, process, range, ts_ns);
		first = first ? first : range;
		addr = range->addr + range->size_bytes;
	}
	return first;
}

static void block_begin(struct viz_output *output, struct viz_process *process,
			const struct tensor_block *block, uint64_t ts_ns)
{
	struct allocation kept = { .addr = block->addr,
				   .size_bytes = block->bytes,
				   .device = block->device,
				   .stack = block->stack,
				   .row = MS_NO_ROW,
				   .space = MS_SPACE_DEVICE,
				   .framework = (uint8_t)block->framework,
				   .tid = process->round };
	const struct allocation *range;

	block_end(output, process, block->addr, ts_ns);
	range = ranges_begin(output, process, block, ts_ns);
	if (!range)
		return; /* older than the recording: the viewer has no segment for it */
	kept.id = range->id + (block->addr - range->addr);
	kept.device = range->device;
	if (!stacks_find(output->stacks, kept.stack))
		kept.stack = 0;
	if (ledger_insert(&process->blocks, &kept)) {
		output->err = -ENOMEM;
		return;
	}
	put_at(output, process, SNAPSHOT_ALLOC, &kept, ts_ns);
}

void viz_process_tensor(struct viz_output *output, struct viz_process *process,
			const struct tensor_change *change, uint64_t ts_ns)
{
	if (change->ended.bytes)
		block_end(output, process, change->ended.addr, ts_ns);
	if (change->given.bytes)
		block_begin(output, process, &change->given, ts_ns);
}

/* ---- comparing with the state ---------------------------------------------------------------- */

static void look_at(struct viz_output *output, struct viz_process *process,
		    const struct allocation *allocation, uint64_t ts_ns)
{
	struct allocation *kept;

	if (allocation->space == MS_SPACE_MAPPED &&
	    !ledger_find(&process->ranges, allocation->addr))
		viz_process_map(output, process, allocation);
	if (!usage_is_on_device(allocation->space))
		return;
	kept = ledger_find(&process->live, allocation->id);
	if (kept)
		kept->tid = process->round;
	else
		viz_process_add(output, process, allocation, 0, ts_ns);
}

static uint64_t count_in(const struct process *process)
{
	/* A free that has begun but not ended: its entry comes with its end. */
	uint64_t count = process->pending.on_device;
	uint32_t space;

	if (process->exited)
		return 0;
	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (usage_is_on_device(space))
			count += process->spaces[space].live_count;
	return count;
}

bool viz_process_lacks(const struct viz_process *process, const struct process *state)
{
	return count_in(state) - process->live.count != process->surplus;
}

/* Handles may live on. */
static void look_at_pending(void *context, const struct pending_free *freed)
{
	struct viz_process *process = context;
	struct allocation *kept = ledger_find(&process->live, freed->allocation.id);

	if (kept && freed->key != MS_KEY_HANDLE && usage_is_on_device(freed->allocation.space))
		kept->tid = process->round;
}

/* Blocks come and go by themselves, but for gaps. */
static void look_at_blocks(struct viz_output *output, struct viz_process *process,
			   const struct process *state, uint64_t ts_ns)
{
	const struct tensors *tensors = &state->tensors;
	size_t i;

	for (i = 0; i < tensors->count; i++) {
		struct allocation *kept = ledger_find(&process->blocks, tensors->blocks[i].addr);

		if (kept && kept->size_bytes == tensors->blocks[i].bytes)
			kept->tid = process->round;
		else
			block_begin(output, process, &tensors->blocks[i], ts_ns);
	}
}

static void end_unseen(struct viz_output *output, struct viz_process *process,
		       const struct process *state, uint64_t ts_ns)
{
	size_t i;

	for (i = 0; i < process->blocks.count;)
		if (process->blocks.entries[i].tid == process->round)
			i++;
		else
			block_end(output, process, process->blocks.entries[i].addr, ts_ns);
	for (i = 0; i < process->ranges.count;) {
		const struct allocation *range = &process->ranges.entries[i];

		if (range->space != MS_SPACE_MAPPED ||
		    (state && ledger_find(&state->ledgers[MS_KEY_MAPPING], range->addr)))
			i++;
		else
			viz_process_unmap(output, process, range->addr, range->size_bytes, ts_ns);
	}
	/* The last one moves into the place of one that ends. */
	for (i = 0; i < process->live.count;)
		if (process->live.entries[i].tid == process->round)
			i++;
		else
			viz_process_end(output, process, process->live.entries[i].addr, ts_ns);
}

void viz_process_compare(struct viz_output *output, struct viz_process *process,
			 const struct process *state, uint64_t ts_ns)
{
	size_t key, i = 0;

	if (state && state->exited)
		state = NULL;
	process->round++;
	for (key = 0; state && key < LEDGERS_COUNT; key++)
		for (i = 0; i < state->ledgers[key].count; i++)
			look_at(output, process, &state->ledgers[key].entries[i], ts_ns);
	if (state) {
		pending_visit(&state->pending, look_at_pending, process);
		look_at_blocks(output, process, state, ts_ns);
	}
	viz_process_settle(output, process);
	end_unseen(output, process, state, ts_ns);
	process->surplus = (state ? count_in(state) : 0) - process->live.count;
}
