// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/alike.h"
#include "ledger/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/allocations.h"
#include "ledger/call_splits.h"
#include "ledger/call_times.h"
#include "ledger/contexts.h"
#include "ledger/ended.h"
#include "ledger/exports.h"
#include "ledger/failures.h"
#include "ledger/graphs.h"
#include "ledger/kernels.h"
#include "ledger/objects.h"
#include "ledger/physical.h"
#include "ledger/process.h"
#include "ledger/transfers.h"
#include "ledger/views.h"

void state_fini(struct state *state)
{
	size_t i;

	for (i = 0; i < state->processes_count; i++)
		process_free(state->processes[i]);
	if (state->more)
		process_free(state->more);
	free(state->processes);
	ended_fini(&state->ended);
	exports_fini(&state->exports);
	nvml_devices_fini(&state->nvml_devices);
	driver_clients_fini(&state->driver_clients);
	map_fini(&state->by_identity);
	stacks_fini(&state->stacks);
	string_table_fini(&state->strings);
	usage_totals_free(state->usage);
	*state = (struct state){ 0 };
}

const struct process *state_find(const struct state *state, uint32_t pid, uint64_t start_ns)
{
	const uint64_t *place = map_get(&state->by_identity, event_process_key(pid, start_ns));

	return place ? (const struct process *)(uintptr_t)*place : NULL;
}

struct process *state_add_more(struct state *state)
{
	if (!state->more)
		state->more = calloc(1, sizeof(*state->more));
	return state->more;
}

/* Where it is in the list, which is sorted by their numbers. */
static size_t place_of(const struct state *state, const struct process *process)
{
	size_t low = 0, high = state->processes_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (state->processes[middle]->number < process->number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* One that has ended becomes a part of the sum, if there are too many. */
static void process_retire(struct state *state)
{
	struct process *process;
	uint64_t key;
	size_t place;

	if (!ended_are_many(state) || !state_add_more(state))
		return; /* later, perhaps */
	process = ended_choose(state);
	ended_add(state->more, process);
	key = event_process_key(process->pid, process->start_ns);
	state->retired[state->more_count++ % STATE_RETIRED] = key;
	map_remove(&state->by_identity, key);
	if (state->last == process)
		state->last = NULL;
	place = place_of(state, process);
	process_free(process);
	state->processes_count--;
	memmove(&state->processes[place], &state->processes[place + 1],
		(state->processes_count - place) * sizeof(*state->processes));
}

struct process *state_add(struct state *state, const struct ms_event *event)
{
	struct process *process;

	if (memory_grow(&state->processes, &state->processes_capacity, state->processes_count + 1,
			sizeof(*state->processes)))
		return NULL;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = event->pid;
	process->start_ns = event->start_ns;
	process->first_ts_ns = process->effort_ts_ns = event->ts_ns;
	process->effort_of_all = state->effort;
	process->devices.pid = event->pid;
	if (state->usage)
		process->usage = usage_new(state->usage, &process->devices);
	if ((state->usage && !process->usage) ||
	    map_set(&state->by_identity, event_process_key(event->pid, event->start_ns),
		    (uintptr_t)process)) {
		usage_free(process->usage);
		free(process);
		return NULL;
	}
	process->number = ++state->numbers;
	state->processes[state->processes_count++] = process;
	return process;
}

static struct process *process_of(struct state *state, const struct ms_event *event)
{
	struct process *process = state->last;

	if (process && process->pid == event->pid && process->start_ns == event->start_ns)
		return process;
	process = (struct process *)state_find(state, event->pid, event->start_ns);
	if (!process) {
		process_retire(state);
		process = state_add(state, event);
	}
	state->last = process;
	return process;
}

const struct allocation *state_containing(struct process *process, uint64_t addr)
{
	const struct allocation *found = ledger_find(&process->ledgers[MS_KEY_ARRAY], addr);

	if (!found)
		found = ledger_containing(&process->ledgers[MS_KEY_POINTER], addr);
	return found ? found : ledger_containing(&process->ledgers[MS_KEY_MAPPING], addr);
}

/* ---- beginning anew -------------------------------------------------------------------------- */

int state_follow_usage(struct state *state)
{
	if (!state->usage)
		state->usage = calloc(1, sizeof(*state->usage));
	return state->usage ? 0 : -ENOMEM;
}

void state_restart(struct state *state, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < state->processes_count; i++)
		process_restart(state->processes[i], now_ns);
	if (state->more)
		process_restart(state->more, now_ns);
	ended_renew(state); /* without memory, they all stay */
	nvml_devices_restart(&state->nvml_devices);
	host_account_restart(&state->host);
	for (i = 0; state->usage && i < state->usage->count; i++) {
		state->usage->devices[i].peak_bytes = state->usage->devices[i].live_bytes;
		state->usage->devices[i].peak_ts_ns = now_ns;
	}
}

/* ---- memory ---------------------------------------------------------------------------------- */

size_t state_bytes(const struct state *state)
{
	size_t bytes = state->strings.bytes + map_bytes(&state->by_identity) +
		       stacks_bytes(&state->stacks) + ended_bytes(&state->ended) +
		       exports_bytes(&state->exports) +
		       state->processes_capacity * sizeof(struct process *),
	       i;

	for (i = 0; i < state->processes_count; i++)
		bytes += process_bytes(state->processes[i]);
	return bytes + (state->more ? process_bytes(state->more) : 0);
}

/* ---- calls about memory ---------------------------------------------------------------------- */

/* It says what a device is. */
static int apply_device(struct process *process, const struct event *event)
{
	const struct ms_call *call = event->call;
	struct device_identity identity;
	struct process_device *device;

	if (!(call->known & MS_KNOWN_DEVICE) || call->device < 0)
		return 0;
	device = process_devices_of(&process->devices, call->device);
	if (!device && process->devices.count < LIMIT_DEVICES)
		return -ENOMEM;
	if (!device) {
		process->counters[COUNTER_OTHER_DEVICES]++;
		return 0;
	}
	device_identity_of_call(event, &identity);
	device_identity_add(&device->identity, &identity);
	usage_device_learnt(process->usage, device);
	return 0;
}

static int apply_memory(struct state *state, struct process *process, const struct event *event,
			struct change *change)
{
	int err = event->probe->spec.object ? objects_apply(process, event, change) : 0;

	if (err)
		return err;
	if (device_is_identified_by(event->probe->spec.action))
		return apply_device(process, event);
	switch (event->probe->spec.action) {
	case MS_ACTION_REFER:
		return physical_refer(process, event->call);
	case MS_ACTION_EXPORT:
		return exports_apply(state, process, event->call);
	case MS_ACTION_GLOBAL:
		process->has_globals = true;
		return 0;
	case MS_ACTION_DEVICE_INFO:
		return views_device_info(process, event);
	case MS_ACTION_POOL_INFO:
		return views_pool_info(process, event);
	}
	return graphs_apply(process, event);
}

/* ---- life and death -------------------------------------------------------------------------- */

/* Sinks into the sorted list; equal sizes stay in order of age. Returns the list's new length. */
static size_t largest_add(struct allocation *out, size_t count, size_t max,
			  const struct allocation *allocation)
{
	size_t place = count < max ? count : max, length = count < max ? count + 1 : max;

	for (; place > 0; place--) {
		const struct allocation *above = &out[place - 1];

		if (above->size_bytes > allocation->size_bytes ||
		    (above->size_bytes == allocation->size_bytes && above->id < allocation->id))
			break;
		if (place < max)
			out[place] = *above;
	}
	if (place < max)
		out[place] = *allocation;
	return length;
}

bool state_is_memory(const struct allocation *allocation)
{
	return allocation->space != MS_SPACE_RESERVED && allocation->space != MS_SPACE_MAPPED;
}

size_t state_largest(const struct process *process, struct allocation *out, size_t max)
{
	size_t count = 0, key, i;

	for (i = 0; process->exited && i < process->exit_largest_count; i++)
		count = largest_add(out, count, max, &process->exit_largest[i]);
	for (key = 0; !process->exited && key < LEDGERS_COUNT; key++) {
		const struct ledger *ledger = &process->ledgers[key];

		for (i = 0; i < ledger->count; i++)
			if (state_is_memory(&ledger->entries[i]))
				count = largest_add(out, count, max, &ledger->entries[i]);
	}
	return count;
}

static int apply_exit(struct state *state, struct process *process, const struct event *event,
		      struct change *change)
{
	size_t space;
	int err;

	if (process->exited) {
		change->repeated = true;
		return 0;
	}
	err = allocations_settle(process, event->header->ts_ns, change);
	alike_note_exit(process);
	process->exited = true;
	process->exit_number = ++state->exits;
	ended_note(&state->ended, process);
	process_note_exit(process, event);
	usage_exit(process->usage);
	for (space = 0; space < MS_SPACES_COUNT; space++) {
		struct space_total *total = &process->spaces[space];

		total->exit_count = total->live_count;
		total->exit_bytes = total->live_bytes;
		allocations_note_implicit(change, space, total->live_count, total->live_bytes);
		total->live_count = total->live_bytes = 0;
	}
	driver_clients_exit(state, process);
	err = tensors_exit(process, event->header->ts_ns) || err ? -ENOMEM : 0;
	process_forget(process);
	return err;
}

static int apply_exec(struct state *state, struct process *process, const struct event *event,
		      struct change *change)
{
	int err = allocations_settle(process, event->header->ts_ns, change);

	memcpy(process->comm, event->process->comm, sizeof(process->comm));
	process_identity_rename(process);
	allocations_end(process, 0, change);
	driver_clients_exec(state, process);
	tensors_exec(&process->tensors);
	nccl_exec(&process->nccl, event->header->ts_ns);
	nvml_account_forget(&process->nvml);
	objects_end_all(process);
	process_forget(process);
	process_devices_forget(&process->devices);
	process->was_running_earlier |= process->was_running;
	/* The new program is traced from its beginning. */
	process->was_running = process->only_begun = process->has_globals = false;
	return err;
}

static void apply_attach(struct process *process, const struct event *event)
{
	memcpy(process->comm, event->process->comm, sizeof(process->comm));
	process_identity_rename(process);
	process->was_running = event->process->value & MS_ATTACH_RUNNING;
	process->only_begun = event->process->value & MS_ATTACH_BEGUN;
}

bool state_may_hold_more(const struct process *process)
{
	return process->was_running || process->only_begun;
}

/*
 * A process that was attached to milliseconds after it had begun holds nothing from before if the
 * first thing it does is to make a context, without which there is no memory. (Choosing a device
 * comes before that.) Of one that had been running for longer that says nothing: a library may make
 * its own context at any time.
 */
static void first_call(struct process *process, const struct event *event)
{
	const enum ms_action action = event->probe->spec.action;

	if (!event_succeeded(event->call) || action == MS_ACTION_SET_DEVICE)
		return;
	process->only_begun = false;
	process->was_running = action != MS_ACTION_CREATE && action != MS_ACTION_RETAIN;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static int apply_launch(struct state *state, struct process *process, const struct event *event,
			struct change *change)
{
	if (event->probe->spec.action != MS_ACTION_GRAPH_LAUNCH)
		return kernels_launch(process, event, change);
	if (!event_succeeded(event->call) || event->call->flags & MS_CALL_PART)
		return 0;
	process->graph_launches++;
	return graphs_launch(state, process, event, change);
}

/* What destructors are answered after the driver has gone, which has freed everything itself. */
static bool is_of_shutdown(const struct event *event)
{
	const uint8_t op = event->probe->spec.op;

	return event->call->result == MS_CUDA_DEINITIALIZED &&
	       (op == MS_OP_MEMORY || op == MS_OP_CONTEXT);
}

static int apply_op(struct state *state, struct process *process, const struct event *event,
		    struct change *change)
{
	const struct ms_call *call = event->call;
	int err = 0;

	if (process->only_begun)
		first_call(process, event);
	change->device = contexts_device(process, call);
	process->calls[event->probe->spec.op] += event->count;
	call_splits_apply(process, event);
	err = call_times_apply(process, event);
	if (!err && !event_succeeded(call) && !is_of_shutdown(event))
		err = failures_note(process, event, change->device);
	if (err)
		return err;
	switch (event->probe->spec.op) {
	case MS_OP_ALLOC:
		return allocations_alloc(state, process, event, change);
	case MS_OP_FREE:
		return allocations_free(process, event, change);
	case MS_OP_LAUNCH:
		return apply_launch(state, process, event, change);
	case MS_OP_MEMORY:
		if (event_succeeded(call))
			return apply_memory(state, process, event, change);
		graphs_failed(process, event);
		return 0;
	case MS_OP_CONTEXT:
		return contexts_apply(process, event, change);
	}
	transfers_apply(process, event, change);
	return 0;
}

static int apply_call(struct state *state, struct process *process, const struct event *event,
		      struct change *change)
{
	int err = apply_op(state, process, event, change);

	driver_objects_call(&process->driver, event, change->device);
	/* A sum is the call of no thread. */
	if (process->pending.count && event->header->type != MS_TYPE_CALLS &&
	    !(event->call->flags & MS_CALL_NESTED))
		allocations_returned(process, event->header->tid);
	return err ? err : gpu_times_call(process, event);
}

static void apply_newer(struct state *state, struct process *process, const struct ms_newer *newer)
{
	process->counters[COUNTER_NEW_FUNCTIONS] += newer->functions;
	process->counters[COUNTER_NEW_MEMORY_FUNCTIONS] += newer->memory;
	if (newer->memory || !state->new_function[0])
		memcpy(state->new_function, newer->function, sizeof(state->new_function));
}

/* What else is known of the process than its calls and its life. */
static int apply_sample(struct state *state, struct process *process, const struct event *event,
			struct change *change)
{
	const void *sample = event->sample;

	switch ((int)event->header->type) {
	case MS_TYPE_OBJECT:
		return driver_clients_apply(state, process, sample);
	case MS_TYPE_RANGE:
		return driver_ranges_apply(process, sample);
	case MS_TYPE_TENSOR:
		change->has_tensor = true;
		return tensors_apply(process, &state->stacks, sample, &change->tensor);
	case MS_TYPE_NCCL:
		return nccl_apply(process, &state->stacks, sample);
	case MS_TYPE_ACTIVITY:
		return gpu_times_activity(process, &((const struct ms_activity *)sample)->is,
					  &change->activity_of);
	case MS_TYPE_GPU_STATUS:
		return gpu_times_status(process, sample);
	case MS_TYPE_HELD:
		nvml_devices_held(&state->nvml_devices, sample);
		return nvml_account_apply(process, sample);
	case MS_TYPE_LOAD:
		host_account_load(&process->host, sample);
		return 0;
	case MS_TYPE_PLACEMENT:
		host_account_place(&process->host, sample);
		return 0;
	case MS_TYPE_LIMIT:
		return device_limits_apply(process, sample);
	case MS_TYPE_BUDGET:
		return process_note_budget(process, sample);
	}
	return 0;
}

static int apply_event(struct state *state, struct process *process, const struct event *event,
		       struct change *change)
{
	switch (event_type(event)) {
	case MS_TYPE_CALL:
	case MS_TYPE_LAUNCH:
	case MS_TYPE_CALLS:
		return apply_call(state, process, event, change);
	case MS_TYPE_FREE_BEGIN:
		return allocations_free_begin(process, event);
	case MS_TYPE_NAME:
		return kernels_name(state, process, event->name);
	case MS_TYPE_EXIT:
		return apply_exit(state, process, event, change);
	case MS_TYPE_EXEC:
		return apply_exec(state, process, event, change);
	case MS_TYPE_ATTACH:
		apply_attach(process, event);
		return 0;
	case MS_TYPE_LOSS:
		process_note_loss(process, event->loss);
		return 0;
	case MS_TYPE_VISIBLE:
		process_devices_see(&process->devices, event->visible);
		return 0;
	case MS_TYPE_NEWER:
		apply_newer(state, process, event->newer);
		return 0;
	case MS_TYPE_IDENTITY:
		return process_identity_set(process, event->identity->texts,
					    event->identity->length);
	case MS_TYPE_UNREAD:
		process->counters[COUNTER_UNREAD_LIBRARIES]++;
		return 0;
	case MS_TYPE_GPU_NAME:
		return gpu_times_name(state, process, event->gpu_name);
	case MS_TYPE_OBJECT:
	case MS_TYPE_RANGE:
	case MS_TYPE_TENSOR:
	case MS_TYPE_NCCL:
	case MS_TYPE_ACTIVITY:
	case MS_TYPE_GPU_STATUS:
	case MS_TYPE_HELD:
	case MS_TYPE_LOAD:
	case MS_TYPE_LIMIT:
	case MS_TYPE_PLACEMENT:
	case MS_TYPE_BUDGET:
		return apply_sample(state, process, event, change);
	case MS_TYPE_MARKER:        /* of what it marks: timeline/phases.h */
	case MS_TYPE_LAUNCH_SAMPLE: /* of where launches come from: report/call_sites.h */
	case MS_TYPE_FORK:
	case MS_TYPE_DEVICE: /* of no process, as ... */
	case MS_TYPE_XID:
	case MS_TYPE_HOST:
	case MS_TYPE_NODE:
	case MS_TYPE_GPU:
	case MS_TYPE_ACCOUNT:
	case MS_TYPE_STACK:
	case MS_TYPE_FRAME:
	case MS_TYPES_COUNT:
		return 0;
	}
	return 0;
}

/* Beginnings of frees and names are not reported: what they ended comes with the next event. */
static void tell_ended(struct process *process, const struct event *event, struct change *change)
{
	struct usage *usage = process->usage;

	if (!usage)
		return;
	change->ended = usage->ended;
	change->ended_count = usage->ended_count;
	usage->ended_told = event->call || event->process;
}

/* Few events have amounts: to clear these each time took a quarter of the time for an event. */
static void clear(struct change *change)
{
	if (change->has_amounts)
		memset(change, 0, sizeof(*change));
	memset(change, 0, offsetof(struct change, allocation));
	change->allocation = (struct allocation){ 0 };
	change->device = -1;
}

int state_apply(struct state *state, const struct event *event)
{
	struct change *change = &state->change;
	struct process *process;
	int err;

	clear(change);
	if (event->frame)
		return stacks_add_frame(&state->stacks, event->frame);
	if (event->stack)
		return stacks_add(&state->stacks, event->stack);
	if (event->header->type == MS_TYPE_DEVICE)
		return nvml_devices_apply(&state->nvml_devices, (const void *)event->sample);
	if (event->subject != EVENT_OF_PROCESS) {
		host_account_apply(&state->host, event);
		return 0;
	}
	process = process_of(state, event->header);
	if (!process)
		return -ENOMEM;
	change->process = process;
	if (state->usage)
		state->usage->now_ns = event->header->ts_ns;
	if (process->usage && process->usage->ended_told)
		process->usage->ended_count = 0;
	err = apply_event(state, process, event, change);
	tell_ended(process, event, change);
	return err;
}
