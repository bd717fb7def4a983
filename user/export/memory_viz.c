// SPDX-License-Identifier: BSD-2-Clause
/*
 * A memory snapshot for PyTorch's viewer (pytorch.org/memory_viz) with all device memory, whoever
 * allocated it: each allocation is a segment with one block. Addresses are made up, since the
 * viewer tells blocks apart by them, and processes on one device use the same ones; CUDA's are in
 * `cuda_addr`.
 *
 * What is live is kept by the number of the allocation, and compared with the state whenever the
 * two do not hold as many: so it follows what ends without a call of its own (with a context, in a
 * graph, in a gap of the recording).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "export/export.h"
#include "export/owners.h"
#include "export/snapshot.h"
#include "ledger/graphs.h"
#include "analysis/oom.h"
#include "ledger/views.h"
#include "render/field.h"
#include "render/identity_words.h"
#include "render/report_words.h"

#define BLOCK_ALIGNMENT 512
#define ADDRS_END (1ull << 53) /* the viewer's numbers are exact up to there */

struct viz_process {
	uint64_t key;
	struct viz_process *before, *after;
	/*
	 * `addr` is the number of the allocation, so that it is found by that; `id` the made-up
	 * address, `context` CUDA's address, `owner` the stream, `tid` the round of the last look.
	 */
	struct ledger live;
	uint64_t surplus; /* by how many the state has more after a look: 0, but in hostile files */
	uint32_t round;
	struct map frames; /* row and space -> number of the frames */
	char *name;        /* "train (4242)" */
};

struct viz {
	struct sink sink;
	struct snapshot snapshot;
	const struct report_recording *recording;
	struct map processes; /* of this recording: event_process_key() -> struct viz_process */
	struct viz_process *first, *last;
	uint64_t next_addr;
	bool has_remarks;
	int err;
};

/* ---- processes ------------------------------------------------------------------------------- */

static void free_process(struct viz_process *process)
{
	ledger_fini(&process->live);
	map_fini(&process->frames);
	free(process->name);
	free(process);
}

static void remove_process(struct viz *export, struct viz_process *process)
{
	map_remove(&export->processes, process->key);
	if (process->before)
		process->before->after = process->after;
	else
		export->first = process->after;
	if (process->after)
		process->after->before = process->before;
	if (export->last == process)
		export->last = NULL;
	free_process(process);
}

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

/* NULL without memory. */
static struct viz_process *process_of(struct viz *export, const struct process *process)
{
	const uint64_t key = event_process_key(process->pid, process->start_ns);
	const uint64_t *found;
	struct viz_process *made;

	if (export->last && export->last->key == key)
		return export->last;
	found = map_get(&export->processes, key);
	if (found)
		return export->last = (struct viz_process *)(uintptr_t)*found;
	made = calloc(1, sizeof(*made));
	if (made)
		made->name = name_of(process);
	if (!made || !made->name || map_set(&export->processes, key, (uintptr_t)made)) {
		if (made)
			free(made->name);
		free(made);
		export->err = -ENOMEM;
		return NULL;
	}
	made->key = key;
	made->after = export->first;
	if (export->first)
		export->first->before = made;
	return export->first = export->last = made;
}

/* ---- entries --------------------------------------------------------------------------------- */

static struct snapshot_frames frames_of(struct viz_process *process, uint16_t row, uint8_t space)
{
	const uint64_t *number = map_get(&process->frames, (uint64_t)row << 8 | space);

	return (struct snapshot_frames){ .number = number ? *number : 0,
					 .api = probe_at(row)->symbol,
					 .space = probe_space_name(space),
					 .process = process->name };
}

static void keep_frames(struct viz *export, struct viz_process *process, uint16_t row,
			uint8_t space, const struct snapshot_frames *frames)
{
	if (map_set(&process->frames, (uint64_t)row << 8 | space, frames->number))
		export->err = -ENOMEM;
}

static uint32_t device_of(int32_t device)
{
	return device >= 0 && device < SNAPSHOT_DEVICES ? (uint32_t)device : SNAPSHOT_UNKNOWN;
}

static struct snapshot_block block_of(const struct allocation *kept)
{
	return (struct snapshot_block){ .device = device_of(kept->device),
					.addr = kept->id,
					.cuda_addr = kept->context,
					.size_bytes = kept->size_bytes,
					.stream = kept->owner };
}

static void put_entry(struct viz *export, struct viz_process *process, enum snapshot_action action,
		      const struct allocation *kept, uint64_t ts_ns)
{
	const struct report_coverage *coverage = &export->recording->coverage;
	const struct snapshot_block block = block_of(kept);
	struct snapshot_frames frames = frames_of(process, kept->row, kept->space);
	const bool is_new = !frames.number;

	snapshot_entry(&export->snapshot, action, &block, (ts_ns + coverage->wall_offset_ns) / 1000,
		       0, &frames);
	if (is_new)
		keep_frames(export, process, kept->row, kept->space, &frames);
}

/* ---- what is live ---------------------------------------------------------------------------- */

/* Begins anew when all addresses have been used: after some thousand TiB. */
static uint64_t make_addr(struct viz *export, uint64_t size_bytes)
{
	const uint64_t blocks = size_bytes / BLOCK_ALIGNMENT + 1;
	uint64_t addr;

	if (blocks > (ADDRS_END - export->next_addr) / BLOCK_ALIGNMENT)
		export->next_addr = BLOCK_ALIGNMENT;
	addr = export->next_addr;
	if (blocks <= (ADDRS_END - addr) / BLOCK_ALIGNMENT)
		export->next_addr += blocks * BLOCK_ALIGNMENT;
	return addr;
}

static void add(struct viz *export, struct viz_process *process,
		const struct allocation *allocation, uint64_t stream, uint64_t ts_ns)
{
	struct allocation kept = *allocation;

	kept.addr = allocation->id;
	kept.context = allocation->addr;
	kept.owner = stream;
	kept.tid = process->round;
	kept.id = make_addr(export, allocation->size_bytes);
	if (ledger_insert(&process->live, &kept)) {
		export->err = -ENOMEM;
		return;
	}
	if (!kept.size_bytes)
		return; /* nothing to see, and the viewer finds no segment for it */
	put_entry(export, process, SNAPSHOT_SEGMENT_ALLOC, &kept, ts_ns);
	put_entry(export, process, SNAPSHOT_ALLOC, &kept, ts_ns);
}

static void end(struct viz *export, struct viz_process *process, uint64_t id, uint64_t ts_ns)
{
	struct allocation kept;

	if (!ledger_remove(&process->live, id, &kept) || !kept.size_bytes)
		return;
	put_entry(export, process, SNAPSHOT_FREE_REQUESTED, &kept, ts_ns);
	put_entry(export, process, SNAPSHOT_FREE_COMPLETED, &kept, ts_ns);
	put_entry(export, process, SNAPSHOT_SEGMENT_FREE, &kept, ts_ns);
}

/* ---- comparing with the state ---------------------------------------------------------------- */

static void look_at(struct viz *export, struct viz_process *process,
		    const struct allocation *allocation, uint64_t ts_ns)
{
	struct allocation *kept;

	if (!usage_is_on_device(allocation->space))
		return;
	kept = ledger_find(&process->live, allocation->id);
	if (kept)
		kept->tid = process->round;
	else
		add(export, process, allocation, 0, ts_ns);
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

/* Handles may live on. */
static void look_at_pending(void *context, const struct pending_free *freed)
{
	struct viz_process *process = context;
	struct allocation *kept = ledger_find(&process->live, freed->allocation.id);

	if (kept && freed->key != MS_KEY_HANDLE && usage_is_on_device(freed->allocation.space))
		kept->tid = process->round;
}

/* `state`: NULL if nothing of the process is live any more. */
static void compare(struct viz *export, struct viz_process *process, const struct process *state,
		    uint64_t ts_ns)
{
	size_t key, i = 0;

	process->round++;
	for (key = 0; state && !state->exited && key < LEDGERS_COUNT; key++)
		for (i = 0; i < state->ledgers[key].count; i++)
			look_at(export, process, &state->ledgers[key].entries[i], ts_ns);
	if (state && !state->exited)
		pending_visit(&state->pending, look_at_pending, process);
	/* The last one moves into the place of one that ends. */
	for (i = 0; i < process->live.count;)
		if (process->live.entries[i].tid == process->round)
			i++;
		else
			end(export, process, process->live.entries[i].addr, ts_ns);
	process->surplus = (state ? count_in(state) : 0) - process->live.count;
}

/* ---- the sink -------------------------------------------------------------------------------- */

static int finish_step(struct viz *export)
{
	return export->err ? export->err : writer_flush_large(export->snapshot.writer);
}

/* Those of the one before stay as they were at its end. */
static int take_begin(struct sink *sink)
{
	const struct report_recording *recording = sink->recording;
	struct viz *export = (struct viz *)sink;

	map_fini(&export->processes);
	export->last = NULL;
	export->recording = recording;
	return 0;
}

/* Processes that have ended in between. */
static void look_at_gone(struct viz *export, uint64_t ts_ns)
{
	const struct state *state = export->recording->state;
	struct map_pair *sorted = map_sorted(&export->processes);
	size_t i;

	if (export->processes.count && !sorted)
		export->err = -ENOMEM;
	for (i = 0; sorted && i < export->processes.count; i++) {
		struct viz_process *shown = (struct viz_process *)(uintptr_t)sorted[i].value;
		const struct process *process =
			state_find(state, (uint32_t)(shown->key & ((1u << MS_PID_BITS) - 1)),
				   (shown->key >> MS_PID_BITS) * MS_START_NS);

		if (shown->live.count && (!process || process->exited))
			compare(export, shown, NULL, ts_ns);
	}
	free(sorted);
}

static int take_gap(struct sink *sink, uint64_t ts_ns, bool first)
{
	struct viz *export = (struct viz *)sink;
	const struct state *state = export->recording->state;
	const struct report_options *options = &export->recording->options;
	size_t i;

	(void)first;
	for (i = 0; i < state->processes_count; i++) {
		const struct process *process = state->processes[i];
		struct viz_process *shown;

		if (process->exited || !report_wants(options, process))
			continue;
		shown = process_of(export, process);
		if (!shown)
			return export->err;
		compare(export, shown, process, ts_ns);
	}
	look_at_gone(export, ts_ns);
	return finish_step(export);
}

/* As the program was told last; 0 if it never asked. */
static uint64_t free_bytes(const struct process *process, int32_t device)
{
	const struct view *view = device >= 0 ? views_of_device(process, device) : NULL;

	return view && view->has_free ? view->free_bytes : 0;
}

static void take_failure(struct viz *export, struct viz_process *process, const struct event *event,
			 const struct change *change)
{
	const uint8_t space = event->probe->spec.space;
	const struct report_coverage *coverage = &export->recording->coverage;
	const struct snapshot_block block = { .device = device_of(change->device),
					      .size_bytes = event->call->size,
					      .stream = event->call->stream };
	struct snapshot_frames frames = frames_of(process, event->call->row, space);
	const bool is_new = !frames.number;

	if (!(event->call->known & MS_KNOWN_RESULT) || event->call->result != OOM_RESULT ||
	    !usage_is_on_device(space))
		return;
	snapshot_entry(&export->snapshot, SNAPSHOT_OOM, &block,
		       (event_end_ns(event) + coverage->wall_offset_ns) / 1000,
		       free_bytes(change->process, change->device), &frames);
	if (is_new)
		keep_frames(export, process, event->call->row, space, &frames);
}

struct launch {
	struct viz *export;
	struct viz_process *process;
	uint64_t ts_ns;
};

static int take_made(void *context, const struct allocation *made)
{
	const struct launch *launch = context;

	if (!ledger_find(&launch->process->live, made->id))
		add(launch->export, launch->process, made, 0, launch->ts_ns);
	return launch->export->err;
}

static void take_call(struct viz *export, struct viz_process *process, const struct event *event,
		      const struct change *change)
{
	const struct allocation *allocation = &change->allocation;
	const uint64_t ts_ns = event_end_ns(event);
	struct launch launch = { export, process, ts_ns };

	if (event->probe->spec.op == MS_OP_ALLOC)
		take_failure(export, process, event, change);
	if (change->made[MS_SPACE_GRAPH].count)
		graphs_each_made(change->process, event, take_made, &launch);
	if (!change->has_allocation || !usage_is_on_device(allocation->space) || change->captured ||
	    change->process->exited)
		return;
	if (change->free == FREE_KNOWN)
		end(export, process, allocation->id, ts_ns);
	else if (event->probe->spec.op == MS_OP_ALLOC && event_succeeded(event->call) &&
		 !ledger_find(&process->live, allocation->id))
		add(export, process, allocation, event->call->stream, ts_ns);
}

static int take_event(struct sink *sink, const struct event *event, const struct change *change)
{
	struct viz *export = (struct viz *)sink;
	struct viz_process *process = process_of(export, change->process);
	const uint64_t ts_ns = event_end_ns(event);
	size_t i;

	if (!process)
		return export->err;
	for (i = 0; i < change->ended_count; i++)
		end(export, process, change->ended[i], ts_ns);
	if (event->call)
		take_call(export, process, event, change);
	if (count_in(change->process) - process->live.count != process->surplus)
		compare(export, process, change->process, ts_ns);
	if (event->header->type == MS_TYPE_EXIT)
		remove_process(export, process);
	return finish_step(export);
}

/* ---- the exporter ---------------------------------------------------------------------------- */

static int put_remark(void *context, const char *text)
{
	struct viz *export = context;

	snapshot_remark(&export->snapshot, text, !export->has_remarks);
	export->has_remarks = true;
	return finish_step(export);
}

static int put_segments(struct viz *export)
{
	struct viz_process *process;
	size_t i;
	int err = 0;

	for (process = export->first; process; process = process->after) {
		for (i = 0; !err && i < process->live.count; i++) {
			const struct allocation *kept = &process->live.entries[i];
			const struct snapshot_block block = block_of(kept);
			struct snapshot_frames frames = frames_of(process, kept->row, kept->space);

			if (!kept->size_bytes)
				continue;
			snapshot_segment(&export->snapshot, &block, &frames);
			err = finish_step(export);
		}
	}
	return err;
}

static int finish_viz(struct sink *sink, const struct report *report)
{
	struct viz *export = (struct viz *)sink;
	int err = put_segments(export);

	if (!err)
		err = owners_remarks(report, put_remark, export);
	snapshot_end(&export->snapshot, export->has_remarks);
	if (err == -ENOMEM)
		log_error("not enough memory");
	return err;
}

static void free_viz(struct sink *sink)
{
	struct viz *export = (struct viz *)sink;
	struct viz_process *process, *after;

	for (process = export->first; process; process = after) {
		after = process->after;
		free_process(process);
	}
	map_fini(&export->processes);
	free(export);
}

static struct sink *begin_viz(const struct export_options *options)
{
	struct viz *export = calloc(1, sizeof(*export));

	if (!export) {
		log_error("not enough memory");
		return NULL;
	}
	export->sink = (struct sink){
		.begin = take_begin, .call = take_event, .process = take_event, .gap = take_gap
	};
	export->next_addr = BLOCK_ALIGNMENT;
	snapshot_begin(&export->snapshot, options->writer);
	return &export->sink;
}

const struct exporter export_memory_viz = {
	.name = "memory_viz",
	.endings = ".pickle .pkl",
	.summary = "a memory snapshot for PyTorch's viewer, with all device memory, not only"
		   " PyTorch's",
	.binary = true,
	.begin = begin_viz,
	.finish = finish_viz,
	.free = free_viz,
};
