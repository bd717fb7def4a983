// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/call_times.h"
#include "ledger/graphs.h"
#include "ledger/objects.h"

struct saver {
	int (*put)(void *context, const void *record, size_t length);
	void *context;
	uint64_t ts_ns;
	const struct process *process;
	int err; /* the first; nothing is put after it */
};

static struct ms_event header_of(const struct saver *saver, enum ms_checkpoint_type type,
				 size_t size)
{
	const struct process *process = saver->process;

	return (struct ms_event){
		.ts_ns = saver->ts_ns,
		.start_ns = process ? process->start_ns : 0,
		.pid = process ? process->pid : 0,
		.tid = process ? process->pid : 0,
		.type = type,
		.size = size,
	};
}

static void put(struct saver *saver, void *record, enum ms_checkpoint_type type, size_t size)
{
	if (saver->err)
		return;
	*(struct ms_event *)record = header_of(saver, type, size);
	saver->err = saver->put(saver->context, record, size);
}

/* A record with text at its end. */
static void put_text(struct saver *saver, const void *record, enum ms_checkpoint_type type,
		     size_t size, const char *text)
{
	struct string whole = { 0 };

	string_append(&whole, record, size);
	if (text)
		string_append_text(&whole, text);
	if (!whole.failed)
		put(saver, whole.bytes, type, whole.length);
	else if (!saver->err)
		saver->err = -ENOMEM;
	string_fini(&whole);
}

/* What an exited process had is gone, but not this number. */
static uint64_t unknown_sizes_of_the_gone(const struct process *process)
{
	uint64_t count = process->counters[COUNTER_UNKNOWN_SIZES];
	size_t i, key;

	for (key = 0; key < LEDGERS_COUNT; key++)
		for (i = 0; i < process->ledgers[key].count; i++)
			count -= !process->ledgers[key].entries[i].size_known;
	return count;
}

static void save_process(struct saver *saver, bool more)
{
	const struct process *process = saver->process;
	struct ms_checkpoint_process record = {
		.flags = (process->was_running ? MS_CHECKPOINT_WAS_RUNNING : 0) |
			 (process->entries_only ? MS_CHECKPOINT_ENTRIES_ONLY : 0) |
			 (process->exited ? MS_CHECKPOINT_EXITED : 0) |
			 (process->has_globals ? MS_CHECKPOINT_HAS_GLOBALS : 0) |
			 (process->only_begun ? MS_CHECKPOINT_ONLY_BEGUN : 0) |
			 (process->was_running_earlier ? MS_CHECKPOINT_WAS_RUNNING_EARLIER : 0) |
			 (more ? MS_CHECKPOINT_MORE : 0),
		.exit_status = process->exit_status,
		.exit_number = process->exit_number,
		.exit_ts_ns = process->exit_ts_ns,
		.launches = process->launches,
		.graph_launches = process->graph_launches,
		.pre_attach_frees = process->counters[COUNTER_PRE_ATTACH_FREES],
		.unknown_frees = process->counters[COUNTER_UNKNOWN_FREES],
		.unwatched_frees = process->counters[COUNTER_UNWATCHED_FREES],
		.null_frees = process->counters[COUNTER_NULL_FREES],
		.missed_frees = process->counters[COUNTER_MISSED_FREES],
		.unknown_allocs = process->counters[COUNTER_UNKNOWN_ALLOCS],
		.unknown_sizes = unknown_sizes_of_the_gone(process),
		.dropped_nodes = process->counters[COUNTER_DROPPED_NODES],
		.unclear_ends = process->counters[COUNTER_UNCLEAR_ENDS],
		.part_ts_ns = process->part_ts_ns,
	};

	memcpy(record.comm, process->comm, sizeof(record.comm));
	put(saver, &record, MS_CHECKPOINT_PROCESS, sizeof(record));
}

static void save_counters(struct saver *saver)
{
	enum process_counter counter;

	for (counter = 0; counter < COUNTERS_COUNT; counter++) {
		struct ms_checkpoint_counter record = {
			.number = process_counters[counter].number,
			.value = saver->process->counters[counter],
		};

		if (record.value && record.number >= MS_CHECKPOINT_COUNTERS)
			put(saver, &record, MS_CHECKPOINT_COUNTER, sizeof(record));
	}
}

static void save_spaces(struct saver *saver)
{
	uint64_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++) {
		const struct space_total *space = &saver->process->spaces[i];
		struct ms_checkpoint_space record = {
			.space = i,
			.peak_bytes = space->peak_bytes,
			.peak_ts_ns = space->peak_ts_ns,
			.allocs = space->allocs,
			.alloc_bytes = space->alloc_bytes,
			.frees = space->frees,
			.free_bytes = space->free_bytes,
			.implicit_frees = space->implicit_frees,
			.implicit_bytes = space->implicit_bytes,
			.exit_count = space->exit_count,
			.exit_bytes = space->exit_bytes,
		};

		/* An allocation of no bytes leaves no other trace. */
		if (space->allocs || space->frees || space->implicit_frees || space->peak_bytes ||
		    space->exit_count)
			put(saver, &record, MS_CHECKPOINT_SPACE, sizeof(record));
	}
}

static void save_total(struct saver *saver, uint64_t of, const struct call_total *total)
{
	struct ms_checkpoint_total record = {
		.of = of,
		.count = total->count,
		.bytes = total->bytes,
		.unknown_bytes = total->unknown_bytes,
		.duration_ns = total->duration_ns,
	};

	if (total->count)
		put(saver, &record, MS_CHECKPOINT_TOTAL, sizeof(record));
}

static void save_calls(struct saver *saver)
{
	const struct process *process = saver->process;
	uint64_t i;

	for (i = 0; i < MS_OPS_COUNT; i++) {
		const struct call_split *split = &process->splits[i];
		struct ms_checkpoint_calls record = { .op = i,
						      .count = process->calls[i],
						      .split = split->calls,
						      .total_ns = split->total_ns,
						      .runnable_ns = split->runnable_ns,
						      .blocked_ns = split->blocked_ns };

		if (record.count)
			put(saver, &record, MS_CHECKPOINT_CALLS,
			    split->calls ? sizeof(record) : MS_CHECKPOINT_CALLS_BYTES);
	}
	for (i = 0; i < MS_DIRECTIONS_COUNT; i++)
		save_total(saver, i, &process->copies[i]);
	save_total(saver, MS_CHECKPOINT_OF_UNKNOWN, &process->copies[MS_DIRECTIONS_COUNT]);
	save_total(saver, MS_CHECKPOINT_OF_MEMSETS, &process->memsets);
	save_total(saver, MS_CHECKPOINT_OF_SYNCS, &process->syncs);
}

static void save_names(struct saver *saver)
{
	const struct process *process = saver->process;
	size_t i;

	for (i = 0; i < process->names.capacity; i++) {
		struct ms_checkpoint_name record = { .handle = map_key_at(&process->names, i) };

		if (map_is_used(&process->names, i))
			put_text(saver, &record, MS_CHECKPOINT_NAME, sizeof(record),
				 (const char *)(uintptr_t)process->names.slots[i].value);
	}
	for (i = 0; i < process->aliases.capacity; i++) {
		struct ms_checkpoint_name record = { .handle = map_key_at(&process->aliases, i),
						     .alias = process->aliases.slots[i].value };

		if (map_is_used(&process->aliases, i))
			put(saver, &record, MS_CHECKPOINT_NAME, sizeof(record));
	}
}

static void save_gpu_names(struct saver *saver)
{
	const struct map *names = saver->process->gpu ? &saver->process->gpu->names : NULL;
	size_t i;

	for (i = 0; names && i < names->capacity; i++) {
		struct ms_checkpoint_name record = { .handle = map_key_at(names, i) };

		if (map_is_used(names, i))
			put_text(saver, &record, MS_CHECKPOINT_GPU_NAME, sizeof(record),
				 (const char *)(uintptr_t)names->slots[i].value);
	}
}

static void save_kernels(struct saver *saver)
{
	size_t i;

	for (i = 0; i < saver->process->kernels_count; i++) {
		const struct kernel *kernel = &saver->process->kernels[i];
		struct ms_checkpoint_kernel record = { .handle = kernel->handle,
						       .launches = kernel->launches,
						       .is_named = kernel->name != NULL };

		put_text(saver, &record, MS_CHECKPOINT_KERNEL, sizeof(record), kernel->name);
	}
}

static void save_failures(struct saver *saver)
{
	size_t i;

	for (i = 0; i < saver->process->failures_count; i++) {
		const struct failure *failure = &saver->process->failures[i];
		struct ms_checkpoint_failure record = { .count = failure->count,
							.result = failure->result,
							.row = failure->row };

		put(saver, &record, MS_CHECKPOINT_FAILURE, sizeof(record));
	}
}

static void save_times(struct saver *saver)
{
	const size_t room = CALL_TIMES_BUCKETS * sizeof(struct ms_checkpoint_time);
	struct ms_checkpoint_times *record = malloc(sizeof(*record) + room);
	size_t i;

	if (!record && !saver->err)
		saver->err = -ENOMEM;
	if (saver->err) {
		free(record);
		return;
	}

	for (i = 0; i < saver->process->times_count; i++) {
		const struct call_times *times = &saver->process->times[i];
		uint32_t bucket, used = 0;

		*record = (struct ms_checkpoint_times){ .calls = times->calls,
							.failed = times->failed,
							.timed = times->timed,
							.total_ns = times->total_ns,
							.max_ns = times->max_ns,
							.row = times->row };
		for (bucket = 0; bucket < CALL_TIMES_BUCKETS; bucket++) {
			const uint64_t count = call_times_in(times, bucket);

			if (count)
				record->buckets[used++] = (struct ms_checkpoint_time){
					bucket, count < UINT32_MAX ? (uint32_t)count : UINT32_MAX
				};
		}
		record->buckets_count = (uint16_t)used;
		put(saver, record, MS_CHECKPOINT_TIMES,
		    sizeof(*record) + used * sizeof(*record->buckets));
	}
	free(record);
}

static void save_contexts(struct saver *saver)
{
	size_t i;

	for (i = 0; i < saver->process->contexts_count; i++) {
		const struct context *context = &saver->process->contexts[i];
		struct ms_checkpoint_context record = { .handle = context->handle,
							.device = context->device,
							.references = context->references,
							.primary = context->primary };

		put(saver, &record, MS_CHECKPOINT_CONTEXT, sizeof(record));
	}
	for (i = 0; i < saver->process->views_count; i++) {
		const struct view *view = &saver->process->views[i];
		struct ms_checkpoint_view record = { .handle = view->handle,
						     .is_pool = view->is_pool,
						     .total_bytes = view->total_bytes,
						     .free_bytes = view->free_bytes,
						     .ts_ns = view->ts_ns };

		put(saver, &record, MS_CHECKPOINT_VIEW, sizeof(record));
	}
}

static void save_devices(struct saver *saver)
{
	const struct process_devices *devices = &saver->process->devices;
	struct ms_checkpoint_visible visible = {
		.key = devices->visible,
		.flags = (devices->renumbered ? MS_VISIBLE_RENUMBERED : 0) |
			 (devices->single ? MS_VISIBLE_SINGLE : 0),
	};
	size_t i;

	if (devices->visible)
		put(saver, &visible, MS_CHECKPOINT_VISIBLE, sizeof(visible));
	for (i = 0; i < devices->count; i++) {
		const struct process_device *device = &devices->devices[i];
		const struct device_identity *identity = &device->identity;
		struct ms_checkpoint_device record = {
			.ordinal = device->ordinal,
			.flags = (identity->has_uuid ? MS_CHECKPOINT_HAS_UUID : 0) |
				 (identity->pci.known ? MS_CHECKPOINT_HAS_PCI : 0),
			.pci_domain = identity->pci.domain,
			.pci_bus = identity->pci.bus,
			.pci_device = identity->pci.device,
			.pci_function = identity->pci.function,
			.total_bytes = identity->total_bytes,
		};

		memcpy(record.uuid, identity->uuid, sizeof(record.uuid));
		memcpy(record.name, identity->name, DEVICE_NAME_BYTES);
		put(saver, &record, MS_CHECKPOINT_DEVICE, sizeof(record));
	}
}

/* Where it was before comes first. Item by item: what was forgotten is not in it any more. */
static void save_identity(struct saver *saver, const struct process_identity *identity)
{
	const bool is_earlier = identity != &saver->process->identity;
	struct ms_checkpoint_identity record;
	struct string texts = { 0 };
	enum identity_item item;

	if (identity->earlier)
		save_identity(saver, identity->earlier);
	for (item = 0; item < IDENTITY_ITEMS; item++) {
		const char *value = identity->known.items[item], *name = identity_rows[item].name;

		if (!value || (is_earlier && item == IDENTITY_TITLE))
			continue;
		if (!texts.length)
			string_append(&texts, (const char *)&record, sizeof(record));
		string_append(&texts, name, strlen(name) + 1);
		string_append(&texts, value, strlen(value) + 1);
	}
	if (texts.failed && !saver->err)
		saver->err = -ENOMEM;
	else if (texts.length)
		put(saver, texts.bytes, MS_CHECKPOINT_IDENTITY, texts.length);
	string_fini(&texts);
}

static void put_object(void *context, const struct object *object)
{
	struct ms_checkpoint_object record = { .handle = object->handle,
					       .context = object->context,
					       .made_ns = object->made_ns,
					       .device = object->device,
					       .row = object->row,
					       .kind = object->kind };

	put(context, &record, MS_CHECKPOINT_OBJECT, sizeof(record));
}

static void save_objects(struct saver *saver)
{
	size_t count, i;
	const struct object_total *totals = objects_totals(saver->process, &count);

	for (i = 0; i < count; i++) {
		struct ms_checkpoint_objects record = {
			.kind = totals[i].kind,
			.device = totals[i].device,
			.live = totals[i].live,
			.peak = totals[i].peak,
			.peak_ts_ns = totals[i].peak_ts_ns,
			.made = totals[i].made,
			.destroyed = totals[i].destroyed,
			.ended = totals[i].ended,
		};

		put(saver, &record, MS_CHECKPOINT_OBJECTS, sizeof(record));
	}
	objects_each(saver->process, put_object, saver);
}

static void put_graph(void *context, uint64_t handle, uint32_t kind, bool auto_free)
{
	struct ms_checkpoint_graph record = { .handle = handle,
					      .kind = kind,
					      .auto_free = auto_free };

	put(context, &record, MS_CHECKPOINT_GRAPH, sizeof(record));
}

static void put_node(void *context, uint64_t addr, uint64_t size_bytes)
{
	struct ms_checkpoint_node record = { .addr = addr, .size_bytes = size_bytes };

	put(context, &record, MS_CHECKPOINT_NODE, sizeof(record));
}

static void save_graphs(struct saver *saver)
{
	const struct process *process = saver->process;

	graphs_visit(&process->graphs, MS_CHECKPOINT_GRAPH_PLAIN, put_graph, put_node, saver);
	graphs_visit(&process->executables, MS_CHECKPOINT_GRAPH_EXECUTABLE, put_graph, put_node,
		     saver);
	graphs_visit(&process->captures, MS_CHECKPOINT_GRAPH_CAPTURE, put_graph, put_node, saver);
}

static void save_allocation(struct saver *saver, const struct allocation *allocation,
			    enum ms_checkpoint_role role, uint8_t key,
			    const struct pending_free *freed)
{
	struct ms_checkpoint_allocation record = {
		.addr = allocation->addr,
		.size_bytes = allocation->size_bytes,
		.ts_ns = allocation->ts_ns,
		.id = allocation->id,
		.context = allocation->context,
		.device = allocation->device,
		.tid = allocation->tid,
		.row = allocation->row,
		.driver_row = allocation->driver_row,
		.space = allocation->space,
		.size_known = allocation->size_known,
		.role = role,
		.key = key,
		.owner = allocation->owner,
		.freed_addr = freed ? freed->addr : 0,
		.freed_by = freed ? freed->tid : 0,
		.stack = allocation->stack,
	};

	put(saver, &record, MS_CHECKPOINT_ALLOCATION, sizeof(record));
}

static void save_pending(void *context, const struct pending_free *freed)
{
	save_allocation(context, &freed->allocation, MS_CHECKPOINT_PENDING, freed->key, freed);
}

static void save_allocations(struct saver *saver)
{
	const struct process *process = saver->process;
	size_t i, key;

	for (key = 0; key < LEDGERS_COUNT; key++) {
		const struct ledger *ledger = &process->ledgers[key];
		bool released = key == LEDGER_RELEASED;

		for (i = 0; i < ledger->count; i++)
			save_allocation(saver, &ledger->entries[i],
					released ? MS_CHECKPOINT_RELEASED : MS_CHECKPOINT_LIVE,
					released ? 0 : key, NULL);
	}
	pending_visit(&process->pending, save_pending, saver);
	if (process->part.tid)
		save_allocation(saver, &process->part.allocation, MS_CHECKPOINT_PART,
				process->part.key, &process->part);
	for (i = 0; i < process->exit_largest_count; i++)
		save_allocation(saver, &process->exit_largest[i], MS_CHECKPOINT_LARGEST, 0, NULL);
}

static void save_one(struct saver *saver, const struct process *process, bool more)
{
	saver->process = process;
	save_process(saver, more);
	save_identity(saver, &saver->process->identity);
	save_calls(saver);
	save_counters(saver);
	save_spaces(saver);
	save_names(saver);
	save_gpu_names(saver);
	save_kernels(saver);
	save_failures(saver);
	save_times(saver);
	save_contexts(saver);
	save_devices(saver);
	save_objects(saver);
	save_graphs(saver);
	save_allocations(saver);
	saver->process = NULL;
}

/* Those that would be forgotten first come first. */
static void save_exports(struct saver *saver, const struct map *exports)
{
	size_t i;

	for (i = 0; i < exports->capacity; i++) {
		struct ms_checkpoint_export record = { .handle = map_key_at(exports, i),
						       .size_bytes = exports->slots[i].value };

		if (map_is_used(exports, i))
			put(saver, &record, MS_CHECKPOINT_EXPORT, sizeof(record));
	}
}

static void put_whole(struct saver *saver, struct string *record, enum ms_checkpoint_type type)
{
	if (!record->failed)
		put(saver, record->bytes, type, record->length);
	else if (!saver->err)
		saver->err = -ENOMEM;
	string_clear(record);
}

static void save_frame(struct saver *saver, const struct frame *frame, struct string *whole)
{
	const char *const texts[] = { frame->function, frame->module, frame->build_id,
				      frame->source };
	struct ms_frame_record record = { .address = frame->address,
					  .id = frame->id,
					  .line = frame->line,
					  .offset = frame->offset,
					  .kind = frame->kind,
					  .flags = frame->flags };
	size_t i;

	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++)
		record.length += strlen(texts[i]) + 1;
	string_append(whole, (const char *)&record, sizeof(record));
	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++)
		string_append(whole, texts[i], strlen(texts[i]) + 1);
	put_whole(saver, whole, MS_CHECKPOINT_FRAME);
}

static void save_stack(struct saver *saver, const struct stacks *stacks, const struct stack *stack,
		       struct string *whole)
{
	const struct ms_stack record = { .hash = stack->hash,
					 .id = stack->id,
					 .count = stack->count,
					 .end = stack->end,
					 .form = MS_STACK_FRAMES };
	size_t i;

	string_append(whole, (const char *)&record, sizeof(record));
	for (i = 0; i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack, i);
		const uint32_t id = frame ? frame->id : 0;

		string_append(whole, (const char *)&id, sizeof(id));
	}
	put_whole(saver, whole, MS_CHECKPOINT_STACK);
}

static void save_stacks(struct saver *saver, const struct stacks *stacks)
{
	struct string whole = { 0 };
	size_t i;

	for (i = 0; !saver->err && i < stacks->frames_count; i++)
		save_frame(saver, &stacks->frames[i], &whole);
	for (i = 0; !saver->err && i < stacks->stacks_count; i++)
		save_stack(saver, stacks, &stacks->stacks[i], &whole);
	string_fini(&whole);
}

int checkpoint_save(const struct state *state, uint64_t ts_ns,
		    int (*put_record)(void *context, const void *record, size_t length),
		    void *context)
{
	struct saver saver = { .put = put_record, .context = context, .ts_ns = ts_ns };
	struct ms_checkpoint_state record = { .allocations = state->allocations,
					      .exits = state->exits,
					      .more_count = state->more_count };
	struct ms_event end;
	size_t i;

	put(&saver, &record, MS_CHECKPOINT_STATE, sizeof(record));
	for (i = 0; !saver.err && i < state->processes_count; i++)
		save_one(&saver, state->processes[i], false);
	if (state->more)
		save_one(&saver, state->more, true);
	save_exports(&saver, &state->exports.before);
	save_exports(&saver, &state->exports.now);
	save_stacks(&saver, &state->stacks);
	put(&saver, &end, MS_CHECKPOINT_END, sizeof(end));
	return saver.err;
}
