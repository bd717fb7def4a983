// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/checkpoint.h"

#include <errno.h>
#include <string.h>

#include "ledger/allocations.h"
#include "ledger/call_times.h"
#include "ledger/checkpoint_load.h"
#include "ledger/contexts.h"
#include "ledger/ended.h"
#include "ledger/exports.h"
#include "ledger/failures.h"
#include "ledger/graphs.h"
#include "ledger/kernels.h"
#include "ledger/objects.h"
#include "ledger/views.h"

void checkpoint_init(struct checkpoint *anchor, struct state *state)
{
	*anchor = (struct checkpoint){ .state = state };
}

static int load_state(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_state *saved = record;
	struct state *state = anchor->state;

	/* Numbers that go on counting must not come round. */
	if (state->processes_count || state->more || anchor->begun ||
	    saved->allocations > UINT64_MAX / 2 || saved->exits > UINT64_MAX / 2 ||
	    saved->more_count > saved->exits)
		return -EINVAL;
	anchor->begun = true;
	state->allocations = saved->allocations;
	state->exits = saved->exits;
	state->more_count = saved->more_count;
	return 0;
}

/* Memory is needed by its mappings, which are counted, and by a free that is not over. */
static int add_need(struct map *needs, uint64_t id, uint64_t mappings)
{
	uint64_t *count = map_get(needs, id);

	if (!count)
		return map_set(needs, id, mappings);
	*count += mappings;
	return 0;
}

struct needs {
	struct map map;
	int err;
};

static void count_pending(void *context, const struct pending_free *freed)
{
	struct needs *needs = context;

	if (needs->err)
		return;
	if (freed->key == MS_KEY_MAPPING)
		needs->err = add_need(&needs->map, freed->allocation.owner, 1);
	else if (freed->key == MS_KEY_HANDLE)
		needs->err = add_need(&needs->map, freed->allocation.id, 0);
}

static void count_needs(const struct process *process, struct needs *needs)
{
	const struct ledger *ledger = &process->ledgers[MS_KEY_MAPPING];
	size_t i;

	for (i = 0; !needs->err && i < ledger->count; i++)
		needs->err = add_need(&needs->map, ledger->entries[i].owner, 1);
	pending_visit(&process->pending, count_pending, needs);
}

/* Takes away what nothing needs, if it has no handle. */
static void settle(struct process *process, struct ledger *ledger, const struct map *needs)
{
	size_t i = 0;

	while (i < ledger->count) {
		struct allocation *entry = &ledger->entries[i], unused;
		const uint64_t *mappings = map_get(needs, entry->id);

		entry->mappings = mappings ? *mappings : 0;
		if (mappings || entry->references) {
			i++;
			continue;
		}
		/* The last entry moves into this place: look at it again. */
		ledger_remove(ledger, entry->addr, &unused);
		allocations_uncount(process, &unused);
	}
}

/*
 * All of a process has been loaded. What memory is mapped how often must be right, or it would
 * never end; mappings that are of unknown functions were skipped.
 */
static int end_process(struct checkpoint *anchor)
{
	struct process *process = anchor->process;
	struct needs needs = { 0 };

	if (!process ||
	    (!process->ledgers[MS_KEY_HANDLE].count && !process->ledgers[LEDGER_RELEASED].count))
		return 0;
	count_needs(process, &needs);
	if (!needs.err) {
		settle(process, &process->ledgers[MS_KEY_HANDLE], &needs.map);
		settle(process, &process->ledgers[LEDGER_RELEASED], &needs.map);
	}
	map_fini(&needs.map);
	return needs.err;
}

static int load_process(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_process *saved = record;
	bool more = saved->flags & MS_CHECKPOINT_MORE;
	struct process *process;
	int err;

	if (saved->comm[MS_COMM_BYTES - 1] || !event_is_process(&saved->event) ||
	    (more ? anchor->state->more != NULL :
		    state_find(anchor->state, saved->event.pid, saved->event.start_ns) != NULL) ||
	    saved->exit_number > anchor->state->exits)
		return -EINVAL;
	err = end_process(anchor);
	if (err)
		return err;
	process = more ? state_add_more(anchor->state) : state_add(anchor->state, &saved->event);
	if (!process)
		return -ENOMEM;
	anchor->process = process;
	anchor->graphs = NULL;
	memcpy(process->comm, saved->comm, sizeof(process->comm));
	process_identity_rename(process);
	process->was_running = saved->flags & MS_CHECKPOINT_WAS_RUNNING;
	process->only_begun = saved->flags & MS_CHECKPOINT_ONLY_BEGUN;
	process->was_running_earlier = saved->flags & MS_CHECKPOINT_WAS_RUNNING_EARLIER;
	process->entries_only = saved->flags & MS_CHECKPOINT_ENTRIES_ONLY;
	process->exited = saved->flags & MS_CHECKPOINT_EXITED;
	process->has_globals = saved->flags & MS_CHECKPOINT_HAS_GLOBALS;
	process->exit_status = saved->exit_status;
	process->exit_number = saved->exit_number;
	process->exit_ts_ns = saved->exit_ts_ns;
	process->launches = saved->launches;
	process->graph_launches = saved->graph_launches;
	process->counters[COUNTER_PRE_ATTACH_FREES] = saved->pre_attach_frees;
	process->counters[COUNTER_UNKNOWN_FREES] = saved->unknown_frees;
	process->counters[COUNTER_UNWATCHED_FREES] = saved->unwatched_frees;
	process->counters[COUNTER_NULL_FREES] = saved->null_frees;
	process->counters[COUNTER_MISSED_FREES] = saved->missed_frees;
	process->counters[COUNTER_UNKNOWN_ALLOCS] = saved->unknown_allocs;
	/* If it lives, all are those of its allocations. */
	process->counters[COUNTER_UNKNOWN_SIZES] = process->exited ? saved->unknown_sizes : 0;
	process->counters[COUNTER_DROPPED_NODES] = saved->dropped_nodes;
	process->counters[COUNTER_UNCLEAR_ENDS] = saved->unclear_ends;
	process->part_ts_ns = saved->part_ts_ns;
	return 0;
}

static int load_calls(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_calls *saved = record;

	if (saved->op >= MS_OPS_COUNT)
		return 1;
	anchor->process->calls[saved->op] = saved->count;
	if (saved->event.size < sizeof(*saved))
		return 0;
	if (saved->runnable_ns > saved->total_ns ||
	    saved->blocked_ns > saved->total_ns - saved->runnable_ns)
		return -EINVAL;
	anchor->process->splits[saved->op] = (struct call_split){ .calls = saved->split,
								  .total_ns = saved->total_ns,
								  .runnable_ns = saved->runnable_ns,
								  .blocked_ns = saved->blocked_ns };
	return 0;
}

static int load_counter(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_counter *saved = record;
	int counter = process_counter_find(saved->number);

	if (saved->number < MS_CHECKPOINT_COUNTERS)
		return -EINVAL;
	if (counter < 0)
		return 1;
	anchor->process->counters[counter] = saved->value;
	return 0;
}

static int load_space(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_space *saved = record;
	struct space_total *space;

	if (saved->space >= MS_SPACES_COUNT)
		return 1;
	space = &anchor->process->spaces[saved->space];
	space->peak_bytes = saved->peak_bytes;
	space->peak_ts_ns = saved->peak_ts_ns;
	space->allocs = saved->allocs;
	space->alloc_bytes = saved->alloc_bytes;
	space->frees = saved->frees;
	space->free_bytes = saved->free_bytes;
	space->implicit_frees = saved->implicit_frees;
	space->implicit_bytes = saved->implicit_bytes;
	space->exit_count = saved->exit_count;
	space->exit_bytes = saved->exit_bytes;
	return 0;
}

static struct call_total *total_of(struct process *process, uint64_t of)
{
	switch (of) {
	case MS_CHECKPOINT_OF_UNKNOWN:
		return &process->copies[MS_DIRECTIONS_COUNT];
	case MS_CHECKPOINT_OF_MEMSETS:
		return &process->memsets;
	case MS_CHECKPOINT_OF_SYNCS:
		return &process->syncs;
	}
	return of < MS_DIRECTIONS_COUNT ? &process->copies[of] : NULL;
}

static int load_total(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_total *saved = record;
	struct call_total *total = total_of(anchor->process, saved->of);

	if (!total)
		return 1;
	*total = (struct call_total){
		.count = saved->count,
		.bytes = saved->bytes,
		.unknown_bytes = saved->unknown_bytes,
		.duration_ns = saved->duration_ns,
	};
	return 0;
}

/* Returns 0, -ENOMEM, or -EINVAL if it is no name. */
static int intern(struct checkpoint *anchor, const char *text, size_t length, const char **name)
{
	if (length > MS_NAME_MAX || memchr(text, '\0', length))
		return -EINVAL;
	*name = kernels_intern(anchor->state, anchor->process, text, length);
	return *name ? 0 : -ENOMEM;
}

static int load_name(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_name *saved = record;
	const char *name;
	int err;

	if (saved->alias)
		return kernels_set_alias(anchor->process, saved->handle, saved->alias);
	err = intern(anchor, saved->name, saved->event.size - sizeof(*saved), &name);
	return err ? err : kernels_set_name(anchor->process, saved->handle, name);
}

static int load_gpu_name(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_name *saved = record;
	const char *name;
	int err = intern(anchor, saved->name, saved->event.size - sizeof(*saved), &name);

	return err ? err : gpu_times_set_name(anchor->process, saved->handle, name);
}

static int load_kernel(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_kernel *saved = record;
	struct kernel kernel = { .handle = saved->handle, .launches = saved->launches };
	int err = 0;

	if (saved->is_named)
		err = intern(anchor, saved->name, saved->event.size - sizeof(*saved), &kernel.name);
	return err ? err : kernels_add(anchor->process, &kernel);
}

static int load_failure(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_failure *saved = record;

	if (saved->row >= probe_count())
		return -EINVAL;
	return failures_add(anchor->process, &(struct failure){ .row = saved->row,
								.result = saved->result,
								.count = saved->count });
}

static int load_times(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_times *saved = record;
	const size_t room = (saved->event.size - sizeof(*saved)) / sizeof(*saved->buckets);
	struct call_times times = { .row = saved->row,
				    .calls = saved->calls,
				    .failed = saved->failed,
				    .timed = saved->timed,
				    .total_ns = saved->total_ns,
				    .max_ns = saved->max_ns };
	int err = 0;
	size_t i;

	if (saved->row >= probe_count() || saved->failed > saved->calls ||
	    saved->timed > saved->calls || saved->buckets_count > room)
		return -EINVAL;
	for (i = 0; !err && i < saved->buckets_count; i++)
		err = saved->buckets[i].bucket >= CALL_TIMES_BUCKETS ?
			      -EINVAL :
			      call_times_count(&times, saved->buckets[i].bucket,
					       saved->buckets[i].count);
	if (!err)
		err = call_times_add(anchor->process, &times);
	call_times_fini(&times);
	return err;
}

static int load_context(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_context *saved = record;

	return contexts_load(anchor->process, &(struct context){ .handle = saved->handle,
								 .device = saved->device,
								 .primary = saved->primary,
								 .references = saved->references });
}

static int load_view(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_view *saved = record;

	return views_load(anchor->process,
			  &(struct view){ .handle = saved->handle,
					  .is_pool = saved->is_pool,
					  .total_bytes = saved->total_bytes,
					  .free_bytes = saved->free_bytes,
					  .ts_ns = saved->ts_ns,
					  /* A pool's 0 more likely was not asked for. */
					  .has_total = !saved->is_pool || saved->total_bytes,
					  .has_free = !saved->is_pool || saved->free_bytes });
}

static int load_visible(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_visible *saved = record;

	process_devices_see(&anchor->process->devices,
			    &(struct ms_visible){ .key = saved->key,
						  .flags = (uint32_t)saved->flags });
	return 0;
}

static int load_device(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_device *saved = record;
	struct process_device *device;

	if (saved->ordinal < 0 || saved->name[sizeof(saved->name) - 1])
		return -EINVAL;
	device = process_devices_of(&anchor->process->devices, saved->ordinal);
	if (!device && anchor->process->devices.count < LIMIT_DEVICES)
		return -ENOMEM;
	if (!device) {
		anchor->process->counters[COUNTER_OTHER_DEVICES]++;
		return 0;
	}
	device->identity = (struct device_identity){
		.has_uuid = saved->flags & MS_CHECKPOINT_HAS_UUID,
		.pci = { .known = saved->flags & MS_CHECKPOINT_HAS_PCI,
			 .domain = saved->pci_domain,
			 .bus = saved->pci_bus,
			 .device = saved->pci_device,
			 .function = saved->pci_function },
		.total_bytes = saved->total_bytes,
	};
	memcpy(device->identity.uuid, saved->uuid, sizeof(device->identity.uuid));
	memcpy(device->identity.name, saved->name, DEVICE_NAME_BYTES - 1);
	usage_device_learnt(anchor->process->usage, device);
	return 0;
}

static int load_identity(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_identity *saved = record;

	return process_identity_set(anchor->process, saved->texts,
				    saved->event.size - sizeof(*saved));
}

static int load_export(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_export *saved = record;

	return exports_add(&anchor->state->exports, saved->handle, saved->size_bytes);
}

static int load_frame(struct checkpoint *anchor, const void *record)
{
	const struct ms_frame_record *saved = record;

	return event_check_frame(saved) ? -EINVAL : stacks_add_frame(&anchor->state->stacks, saved);
}

static int load_stack(struct checkpoint *anchor, const void *record)
{
	const struct ms_stack *saved = record;

	return event_check_stack(saved) ? -EINVAL : stacks_add(&anchor->state->stacks, saved);
}

/* Whether records of that type belong to the process before them. */
static bool is_of_process(uint16_t type)
{
	return type > MS_CHECKPOINT_PROCESS && type != MS_CHECKPOINT_FRAME &&
	       type != MS_CHECKPOINT_STACK;
}

static int load_object(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_object *saved = record;

	if (!saved->kind || saved->kind >= MS_OBJECTS_COUNT)
		return 1;
	if (saved->row >= probe_count())
		return -EINVAL;
	return objects_load(anchor->process, &(struct object){ .handle = saved->handle,
							       .context = saved->context,
							       .made_ns = saved->made_ns,
							       .device = saved->device,
							       .row = saved->row,
							       .kind = saved->kind });
}

static int load_objects(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_objects *saved = record;

	if (!saved->kind || saved->kind >= MS_OBJECTS_COUNT)
		return 1;
	return objects_load_total(anchor->process,
				  &(struct object_total){ .kind = (uint8_t)saved->kind,
							  .device = saved->device,
							  .live = saved->live,
							  .peak = saved->peak,
							  .peak_ts_ns = saved->peak_ts_ns,
							  .made = saved->made,
							  .destroyed = saved->destroyed,
							  .ended = saved->ended });
}

static int load_graph(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_graph *saved = record;
	struct process *process = anchor->process;
	struct map *const kinds[] = {
		[MS_CHECKPOINT_GRAPH_PLAIN] = &process->graphs,
		[MS_CHECKPOINT_GRAPH_EXECUTABLE] = &process->executables,
		[MS_CHECKPOINT_GRAPH_CAPTURE] = &process->captures,
	};

	anchor->graphs = NULL;
	if (saved->kind >= MS_CHECKPOINT_GRAPH_KINDS)
		return 1;
	if (map_get(kinds[saved->kind], saved->handle))
		return -EINVAL;
	anchor->graphs = kinds[saved->kind];
	anchor->graph = saved->handle;
	return graphs_load(process, anchor->graphs, saved->handle, saved->auto_free);
}

static int load_node(struct checkpoint *anchor, const void *record)
{
	const struct ms_checkpoint_node *saved = record;

	if (!anchor->graphs)
		return 1; /* of a graph that was skipped */
	return graphs_load_node(anchor->process, anchor->graphs, anchor->graph, saved->addr,
				saved->size_bytes);
}

static int load_end(struct checkpoint *anchor)
{
	int err = anchor->begun ? end_process(anchor) : -EINVAL;

	anchor->complete = anchor->begun;
	return err ? err : ended_renew(anchor->state);
}

int checkpoint_load(struct checkpoint *anchor, const void *record, size_t length)
{
	static const struct {
		int (*load)(struct checkpoint *anchor, const void *record);
		size_t size; /* the least; newer formats may have more */
	} types[] = {
#define TYPE(type, function, structure) \
	[MS_CHECKPOINT_##type - MS_CHECKPOINT_STATE] = { function, sizeof(struct structure) }
		TYPE(STATE, load_state, ms_checkpoint_state),
		TYPE(PROCESS, load_process, ms_checkpoint_process),
		[MS_CHECKPOINT_CALLS -
			MS_CHECKPOINT_STATE] = { load_calls, MS_CHECKPOINT_CALLS_BYTES },
		TYPE(SPACE, load_space, ms_checkpoint_space),
		TYPE(TOTAL, load_total, ms_checkpoint_total),
		TYPE(NAME, load_name, ms_checkpoint_name),
		TYPE(KERNEL, load_kernel, ms_checkpoint_kernel),
		TYPE(FAILURE, load_failure, ms_checkpoint_failure),
		TYPE(CONTEXT, load_context, ms_checkpoint_context),
		TYPE(VIEW, load_view, ms_checkpoint_view),
		TYPE(GRAPH, load_graph, ms_checkpoint_graph),
		TYPE(NODE, load_node, ms_checkpoint_node),
		TYPE(ALLOCATION, checkpoint_load_allocation, ms_checkpoint_allocation),
		TYPE(COUNTER, load_counter, ms_checkpoint_counter),
		TYPE(VISIBLE, load_visible, ms_checkpoint_visible),
		TYPE(DEVICE, load_device, ms_checkpoint_device),
		TYPE(EXPORT, load_export, ms_checkpoint_export),
		TYPE(IDENTITY, load_identity, ms_checkpoint_identity),
		TYPE(TIMES, load_times, ms_checkpoint_times),
		TYPE(OBJECT, load_object, ms_checkpoint_object),
		TYPE(OBJECTS, load_objects, ms_checkpoint_objects),
		TYPE(FRAME, load_frame, ms_frame_record),
		TYPE(STACK, load_stack, ms_stack),
		TYPE(GPU_NAME, load_gpu_name, ms_checkpoint_name),
#undef TYPE
	};
	const struct ms_event *event = record;
	size_t type;

	if (length < sizeof(*event) || event->size != length || event->type < MS_CHECKPOINT_STATE ||
	    anchor->complete)
		return -EINVAL;
	type = event->type - MS_CHECKPOINT_STATE;
	if (event->type == MS_CHECKPOINT_END)
		return load_end(anchor);
	if (type >= sizeof(types) / sizeof(*types))
		return 1;
	if (length < types[type].size || (!anchor->begun && event->type != MS_CHECKPOINT_STATE) ||
	    (!anchor->process && is_of_process(event->type)))
		return -EINVAL;
	return types[type].load(anchor, record);
}
