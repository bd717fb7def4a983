// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/ended.h"

#include <errno.h>

#include "base/memory.h"

/* The most that it ever held in one kind of memory. */
static uint64_t size_of(const struct process *process)
{
	uint64_t largest = 0;
	size_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++)
		if (process->spaces[i].peak_bytes > largest)
			largest = process->spaces[i].peak_bytes;
	return largest;
}

long ended_choose(const struct state *state)
{
	uint64_t smallest = UINT64_MAX;
	long chosen = -1;
	size_t i;

	if (state->exits - state->more_count <= ENDED_RECENT + ENDED_LARGE)
		return -1;
	for (i = 0; i < state->processes_count; i++) {
		const struct process *process = state->processes[i];

		if (!process->exited || process->exit_number + ENDED_RECENT > state->exits ||
		    size_of(process) >= smallest)
			continue;
		smallest = size_of(process);
		chosen = (long)i;
	}
	return chosen;
}

static void add_space(struct space_total *sum, const struct space_total *space)
{
	/* Not at the same time, so they do not add up. */
	if (space->peak_bytes > sum->peak_bytes) {
		sum->peak_bytes = space->peak_bytes;
		sum->peak_ts_ns = space->peak_ts_ns;
	}
	sum->allocs += space->allocs;
	sum->alloc_bytes += space->alloc_bytes;
	sum->frees += space->frees;
	sum->free_bytes += space->free_bytes;
	sum->implicit_frees += space->implicit_frees;
	sum->implicit_bytes += space->implicit_bytes;
	sum->exit_count += space->exit_count;
	sum->exit_bytes += space->exit_bytes;
}

static void add_calls(struct call_total *sum, const struct call_total *total)
{
	sum->count += total->count;
	sum->bytes += total->bytes;
	sum->unknown_bytes += total->unknown_bytes;
	sum->duration_ns += total->duration_ns;
}

static void add_counts(struct process *sum, const struct process *process)
{
	size_t i;

	sum->launches += process->launches;
	sum->graph_launches += process->graph_launches;
	for (i = 0; i < MS_OPS_COUNT; i++)
		sum->calls[i] += process->calls[i];
	sum->pre_attach_frees += process->pre_attach_frees;
	sum->unknown_frees += process->unknown_frees;
	sum->unwatched_frees += process->unwatched_frees;
	sum->null_frees += process->null_frees;
	sum->missed_frees += process->missed_frees;
	sum->unknown_allocs += process->unknown_allocs;
	sum->unknown_sizes += process->unknown_sizes;
	sum->dropped_nodes += process->dropped_nodes;
	sum->unclear_ends += process->unclear_ends;
}

/* By name; a handle means nothing outside of its process. */
static void add_kernel(struct process *sum, const struct kernel *kernel)
{
	uint64_t key = (uintptr_t)kernel->name, *place = map_get(&sum->kernel_places, key);

	if (place) {
		sum->kernels[*place].launches += kernel->launches;
		return;
	}
	/* Without memory for its place, the same name has several entries. */
	map_set(&sum->kernel_places, key, sum->kernels_count);
	sum->kernels[sum->kernels_count++] =
		(struct kernel){ .name = kernel->name, .launches = kernel->launches };
}

static void add_failure(struct process *sum, const struct failure *failure)
{
	size_t i;

	for (i = 0; i < sum->failures_count; i++) {
		struct failure *same = &sum->failures[i];

		if (same->row == failure->row && same->result == failure->result) {
			same->count += failure->count;
			return;
		}
	}
	sum->failures[sum->failures_count++] = *failure;
}

int ended_add(struct process *sum, const struct process *process)
{
	size_t i;

	if (memory_grow(&sum->kernels, &sum->kernels_capacity,
			sum->kernels_count + process->kernels_count, sizeof(*sum->kernels)) ||
	    memory_grow(&sum->failures, &sum->failures_capacity,
			sum->failures_count + process->failures_count, sizeof(*sum->failures)))
		return -ENOMEM;
	sum->exited = true;
	sum->was_running |= process->was_running;
	sum->was_running_earlier |= process->was_running_earlier;
	sum->entries_only |= process->entries_only;
	for (i = 0; i < MS_SPACES_COUNT; i++)
		add_space(&sum->spaces[i], &process->spaces[i]);
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++)
		add_calls(&sum->copies[i], &process->copies[i]);
	add_calls(&sum->memsets, &process->memsets);
	add_calls(&sum->syncs, &process->syncs);
	add_counts(sum, process);
	for (i = 0; i < process->kernels_count; i++)
		add_kernel(sum, &process->kernels[i]);
	for (i = 0; i < process->failures_count; i++)
		add_failure(sum, &process->failures[i]);
	return 0;
}
