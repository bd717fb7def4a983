// SPDX-License-Identifier: BSD-2-Clause
/*
 * A memory snapshot for PyTorch's viewer (pytorch.org/memory_viz) with all device memory, whoever
 * allocated it: viz_process.h says what of each process is in it.
 *
 * What is live is kept, and compared with the state whenever the two do not hold as many: so it
 * follows what ends without a call of its own (with a context, in a graph, in a gap of the
 * recording).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "export/export.h"
#include "export/owners.h"
#include "export/viz_segments.h"
#include "ledger/graphs.h"
#include "analysis/oom.h"
#include "ledger/views.h"
#include "render/report_words.h"

struct viz {
	struct sink sink;
	struct viz_output output;
	const struct report_recording *recording;
	struct map processes; /* of this recording: event_process_key() -> struct viz_process */
	struct viz_process *first, *last;
	bool has_remarks;
};

/* ---- processes ------------------------------------------------------------------------------- */

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
	viz_process_free(process);
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
	made = viz_process_new(&export->output, process);
	if (!made || map_set(&export->processes, key, (uintptr_t)made)) {
		if (made)
			viz_process_free(made);
		export->output.err = -ENOMEM;
		return NULL;
	}
	made->key = key;
	made->after = export->first;
	if (export->first)
		export->first->before = made;
	return export->first = export->last = made;
}

/* ---- the sink -------------------------------------------------------------------------------- */

static int finish_step(struct viz *export)
{
	return export->output.err ? export->output.err :
				    writer_flush_large(export->output.snapshot.writer);
}

/* Those of the one before stay as they were at its end. */
static int take_begin(struct sink *sink)
{
	const struct report_recording *recording = sink->recording;
	struct viz *export = (struct viz *)sink;
	struct viz_process *process;

	for (process = export->first; process; process = process->after)
		viz_process_settle(&export->output, process);
	map_fini(&export->processes);
	export->last = NULL;
	export->recording = recording;
	export->output.wall_offset_ns = recording->coverage.wall_offset_ns;
	export->output.stacks = &recording->state->stacks;
	return 0;
}

/* Processes that have ended in between. */
static void look_at_gone(struct viz *export, uint64_t ts_ns)
{
	const struct state *state = export->recording->state;
	struct map_pair *sorted = map_sorted(&export->processes);
	size_t i;

	if (export->processes.count && !sorted)
		export->output.err = -ENOMEM;
	for (i = 0; sorted && i < export->processes.count; i++) {
		struct viz_process *shown = (struct viz_process *)(uintptr_t)sorted[i].value;
		const struct process *process =
			state_find(state, (uint32_t)(shown->key & ((1u << MS_PID_BITS) - 1)),
				   (shown->key >> MS_PID_BITS) * MS_START_NS);

		if (shown->live.count && (!process || process->exited))
			viz_process_compare(&export->output, shown, NULL, ts_ns);
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
			return export->output.err;
		viz_process_compare(&export->output, shown, process, ts_ns);
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
	if (event->call->known & MS_KNOWN_RESULT && event->call->result == OOM_RESULT &&
	    usage_is_on_device(event->probe->spec.space))
		viz_process_fail(&export->output, process, event, change->device,
				 free_bytes(change->process, change->device));
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
		viz_process_add(&launch->export->output, launch->process, made, 0, launch->ts_ns);
	return launch->export->output.err;
}

static void take_call(struct viz *export, struct viz_process *process, const struct event *event,
		      const struct change *change)
{
	const struct allocation *allocation = &change->allocation;
	const bool is_alloc = event->probe->spec.op == MS_OP_ALLOC;
	const uint64_t ts_ns = event_end_ns(event);
	const uint64_t bytes = event->call->size ? event->call->size : allocation->size_bytes;
	struct launch launch = { export, process, ts_ns };

	if (is_alloc)
		take_failure(export, process, event, change);
	if (change->made[MS_SPACE_GRAPH].count)
		graphs_each_made(change->process, event, take_made, &launch);
	if (!change->has_allocation || change->captured || change->process->exited)
		return;
	if (allocation->space == MS_SPACE_MAPPED) {
		if (change->free == FREE_KNOWN)
			viz_process_unmap(&export->output, process, allocation->addr, bytes, ts_ns);
		else if (is_alloc && event_succeeded(event->call))
			viz_process_map(&export->output, process, allocation);
	}
	if (!usage_is_on_device(allocation->space))
		return;
	if (change->free == FREE_KNOWN)
		viz_process_end(&export->output, process, allocation->id, ts_ns);
	else if (is_alloc && event_succeeded(event->call) &&
		 !ledger_find(&process->live, allocation->id))
		viz_process_add(&export->output, process, allocation, event->call->stream, ts_ns);
}

static int take_event(struct sink *sink, const struct event *event, const struct change *change)
{
	struct viz *export = (struct viz *)sink;
	struct viz_process *process = process_of(export, change->process);
	const uint64_t ts_ns = event_end_ns(event);
	size_t i;

	if (!process)
		return export->output.err;
	viz_process_settle_before(&export->output, process, event);
	for (i = 0; i < change->ended_count; i++)
		viz_process_end(&export->output, process, change->ended[i], ts_ns);
	if (event->call)
		take_call(export, process, event, change);
	if (viz_process_lacks(process, change->process))
		viz_process_compare(&export->output, process, change->process, ts_ns);
	if (event->header->type == MS_TYPE_EXIT)
		remove_process(export, process);
	return finish_step(export);
}

/* A block that a framework's allocator gave, or has back. */
static int take_sample(struct sink *sink, const struct event *event, const struct change *change)
{
	struct viz *export = (struct viz *)sink;
	struct viz_process *process;

	if (!change->has_tensor)
		return 0;
	process = process_of(export, change->process);
	if (!process)
		return export->output.err;
	viz_process_tensor(&export->output, process, &change->tensor, event->header->ts_ns);
	return finish_step(export);
}

/* ---- the exporter ---------------------------------------------------------------------------- */

static int put_remark(void *context, const char *text)
{
	struct viz *export = context;

	snapshot_remark(&export->output.snapshot, text, !export->has_remarks);
	export->has_remarks = true;
	return finish_step(export);
}

static int put_segments(struct viz *export)
{
	struct viz_process *process;
	int err = 0;

	/* What is put of each must be known before the first segment. */
	for (process = export->first; process; process = process->after)
		viz_process_settle(&export->output, process);
	for (process = export->first; process && !err; process = process->after) {
		viz_segments_put(&export->output, process);
		err = finish_step(export);
	}
	return err;
}

static int finish_viz(struct sink *sink, const struct report *report)
{
	struct viz *export = (struct viz *)sink;
	int err = put_segments(export);

	if (!err)
		err = owners_remarks(report, put_remark, export);
	snapshot_end(&export->output.snapshot, export->has_remarks);
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
		viz_process_free(process);
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
	export->sink = (struct sink){ .begin = take_begin,
				      .call = take_event,
				      .process = take_event,
				      .gap = take_gap,
				      .sample = take_sample };
	export->output.next_addr = VIZ_ALIGNMENT;
	snapshot_begin(&export->output.snapshot, options->writer);
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
