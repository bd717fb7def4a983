// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/process.h"

#include <stdlib.h>
#include <string.h>

#include "event/losses.h"
#include "ledger/alike.h"
#include "ledger/call_times.h"
#include "ledger/contexts.h"
#include "ledger/failures.h"
#include "ledger/graphs.h"
#include "ledger/objects.h"
#include "ledger/usage.h"

void process_forget(struct process *process)
{
	size_t i;

	for (i = 0; i < LEDGERS_COUNT; i++)
		ledger_fini(&process->ledgers[i]);
	graphs_fini(process);
	objects_forget(process);
	map_fini(&process->handles);
	map_fini(&process->names);
	map_fini(&process->aliases);
	map_fini(&process->launch_places);
	contexts_fini(process);
	pending_fini(&process->pending);
}

void process_free(struct process *process)
{
	process_forget(process);
	map_fini(&process->kernel_places);
	map_fini(&process->failure_places);
	map_fini(&process->pool_places);
	map_fini(&process->device_places);
	free(process->kernels);
	free(process->failures);
	call_times_forget(process);
	free(process->times);
	free(process->views);
	free(process->exit_alike);
	process_devices_fini(&process->devices);
	process_identity_fini(process);
	driver_objects_fini(&process->driver);
	nvml_account_fini(&process->nvml);
	device_limits_fini(&process->limits);
	tensors_fini(&process->tensors);
	nccl_fini(&process->nccl);
	gpu_times_free(process->gpu);
	objects_free(process);
	usage_free(process->usage);
	free(process);
}

static void space_restart(struct space_total *space, uint64_t now_ns)
{
	*space = (struct space_total){ .live_bytes = space->live_bytes,
				       .live_count = space->live_count,
				       .peak_bytes = space->live_bytes,
				       .peak_ts_ns = now_ns,
				       .exit_count = space->exit_count,
				       .exit_bytes = space->exit_bytes };
}

void process_restart(struct process *process, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++)
		space_restart(&process->spaces[i], now_ns);
	memset(process->copies, 0, sizeof(process->copies));
	process->memsets = process->syncs = (struct call_total){ 0 };
	memset(process->calls, 0, sizeof(process->calls));
	memset(process->splits, 0, sizeof(process->splits));
	process->launches = process->graph_launches = 0;
	for (i = 0; i < process->kernels_count; i++)
		process->kernels[i].launches = 0;
	failures_forget(process);
	call_times_forget(process);
	objects_restart(process, now_ns);
	for (i = 0; i < COUNTERS_COUNT; i++)
		if (process_counters[i].is_passing)
			process->counters[i] = 0;
	process->was_running_earlier = false;
	driver_objects_restart(&process->driver);
	tensors_restart(&process->tensors, now_ns);
	nccl_restart(&process->nccl);
	gpu_times_restart(process->gpu);
	nvml_account_restart(&process->nvml);
	host_account_load_restart(&process->host);
	usage_restart(process->usage);
}

size_t process_bytes(const struct process *process)
{
	size_t bytes = sizeof(*process), i;

	for (i = 0; i < LEDGERS_COUNT; i++)
		bytes += ledger_bytes(&process->ledgers[i]);
	return bytes + usage_bytes(process->usage) + graphs_bytes(process) +
	       objects_bytes(process) + map_bytes(&process->handles) + map_bytes(&process->names) +
	       map_bytes(&process->aliases) + map_bytes(&process->kernel_places) +
	       map_bytes(&process->launch_places) + map_bytes(&process->failure_places) +
	       map_bytes(&process->context_places) + map_bytes(&process->primary_places) +
	       map_bytes(&process->pool_places) + map_bytes(&process->device_places) +
	       process->kernels_capacity * sizeof(*process->kernels) +
	       process->failures_capacity * sizeof(*process->failures) + call_times_bytes(process) +
	       process->contexts_capacity * sizeof(*process->contexts) +
	       pending_bytes(&process->pending) +
	       process->nvml.places_capacity * sizeof(*process->nvml.places) +
	       process->nvml.seen_capacity * sizeof(*process->nvml.seen) +
	       driver_objects_bytes(&process->driver) + process_devices_bytes(&process->devices) +
	       gpu_times_bytes(process->gpu) + process_identity_bytes(&process->identity) +
	       process->exit_alike_count * sizeof(struct alike_group) +
	       process->views_capacity * sizeof(*process->views) +
	       tensors_bytes(&process->tensors) + nccl_bytes(&process->nccl) +
	       device_limits_bytes(&process->limits);
}

/* In the spaces that count: now, or when it exited. */
static uint64_t bytes_in(const struct process *process, bool (*counts)(uint8_t space), bool at_exit)
{
	uint64_t bytes = 0;
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (counts((uint8_t)space))
			bytes += at_exit ? process->spaces[space].exit_bytes :
					   process->spaces[space].live_bytes;
	return bytes;
}

uint64_t process_held_bytes(const struct process *process)
{
	return bytes_in(process, usage_is_held, false);
}

uint64_t process_left_held_bytes(const struct process *process)
{
	return bytes_in(process, usage_is_held, true);
}

uint64_t process_on_devices_bytes(const struct process *process)
{
	return bytes_in(process, usage_is_on_device, false);
}

uint64_t process_left_bytes(const struct process *process)
{
	return bytes_in(process, usage_is_on_device, true);
}

#define MS_NS 1000000ull

/* For so long, less was traced of it than usual, to keep within the agent's budget. */
static void count_budget(struct process *process, enum ms_budget_step step, bool stackless,
			 uint64_t ns)
{
	const uint64_t ms = (ns + MS_NS - 1) / MS_NS;

	if (step == MS_BUDGET_ENTRIES)
		process->counters[COUNTER_ENTRIES_MS] += ms;
	if (step == MS_BUDGET_OFF)
		process->counters[COUNTER_UNTRACED_MS] += ms;
	if (stackless)
		process->counters[COUNTER_STACKLESS_MS] += ms;
}

bool process_was_budgeted(const struct process *process)
{
	return process->counters[COUNTER_ENTRIES_MS] || process->counters[COUNTER_UNTRACED_MS];
}

int process_note_budget(struct process *process, const struct ms_budget *budget)
{
	count_budget(process, budget->before, budget->stackless & MS_BUDGET_WAS_STACKLESS,
		     budget->lasted_ns);
	process->budget_step = budget->step;
	process->budget_stackless = budget->stackless & MS_BUDGET_IS_STACKLESS;
	process->budget_ts_ns = budget->event.ts_ns;
	return 0;
}

void process_note_loss(struct process *process, const struct ms_loss *loss)
{
	const int kind = event_account_kind(loss->op);

	if (loss->op == MS_ACCOUNT_ABANDONED) {
		process->counters[COUNTER_ABANDONED_CALLS] += loss->lost;
		return;
	}
	if (kind < MS_OPS_COUNT && kind != MS_OP_NAME)
		process->counters[COUNTER_LOST_CALLS] += loss->lost;
	else
		process->counters[COUNTER_LOST_RECORDS] += loss->lost;
	if (losses_matter(kind))
		process->counters[COUNTER_LOST_MEMORY] += loss->lost;
}

void process_note_exit(struct process *process, const struct event *exit)
{
	process->exit_status = exit->process->value;
	process->exit_ts_ns = exit->header->ts_ns;
	if (process->exit_ts_ns > process->budget_ts_ns)
		count_budget(process, process->budget_step, process->budget_stackless,
			     process->exit_ts_ns - process->budget_ts_ns);
}
