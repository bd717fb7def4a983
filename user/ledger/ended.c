// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/ended.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "ledger/call_splits.h"
#include "ledger/call_times.h"
#include "ledger/failures.h"
#include "ledger/kernels.h"
#include "ledger/nccl.h"
#include "ledger/objects.h"

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

/* ---- which ----------------------------------------------------------------------------------- */

/* The smallest is the first; of equal ones that which was seen first. */
static bool is_before(const struct ended_size *a, const struct ended_size *b)
{
	return a->bytes != b->bytes ? a->bytes < b->bytes : a->process->number < b->process->number;
}

static void sift_up(struct ended_size *sizes, size_t place)
{
	const struct ended_size moved = sizes[place];

	for (; place && is_before(&moved, &sizes[(place - 1) / 2]); place = (place - 1) / 2)
		sizes[place] = sizes[(place - 1) / 2];
	sizes[place] = moved;
}

static void sift_down(struct ended_size *sizes, size_t count)
{
	const struct ended_size moved = sizes[0];
	size_t place = 0, child;

	for (child = 1; child < count; child = 2 * place + 1) {
		child += child + 1 < count && is_before(&sizes[child + 1], &sizes[child]);
		if (!is_before(&sizes[child], &moved))
			break;
		sizes[place] = sizes[child];
		place = child;
	}
	sizes[place] = moved;
}

/* Without memory, it stays for ever. */
static int size_add(struct ended *ended, struct process *process)
{
	if (memory_grow(&ended->sizes, &ended->capacity, ended->count + 1, sizeof(*ended->sizes)))
		return -ENOMEM;
	ended->sizes[ended->count] =
		(struct ended_size){ .bytes = size_of(process), .process = process };
	sift_up(ended->sizes, ended->count++);
	return 0;
}

static int note(struct ended *ended, struct process *process)
{
	struct process **place = &ended->recent[ended->next++ % ENDED_RECENT];
	struct process *before = *place;

	*place = process;
	return before ? size_add(ended, before) : 0;
}

void ended_note(struct ended *ended, struct process *process)
{
	note(ended, process);
}

bool ended_are_many(const struct state *state)
{
	return state->exits - state->more_count > ENDED_RECENT + ENDED_LARGE && state->ended.count;
}

struct process *ended_choose(struct state *state)
{
	struct ended *ended = &state->ended;
	struct process *chosen = ended->sizes[0].process;

	ended->sizes[0] = ended->sizes[--ended->count];
	if (ended->count)
		sift_down(ended->sizes, ended->count);
	return chosen;
}

static int by_exit(const void *a, const void *b)
{
	const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;

	if (x->exit_number != y->exit_number)
		return x->exit_number < y->exit_number ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

int ended_renew(struct state *state)
{
	struct process **sorted = calloc(state->processes_count + 1, sizeof(*sorted));
	size_t count = 0, i;
	int err = sorted ? 0 : -ENOMEM;

	ended_fini(&state->ended);
	for (i = 0; !err && i < state->processes_count; i++)
		if (state->processes[i]->exited)
			sorted[count++] = state->processes[i];
	if (!err)
		qsort(sorted, count, sizeof(*sorted), by_exit);
	for (i = 0; !err && i < count; i++)
		err = note(&state->ended, sorted[i]);
	free(sorted);
	return err;
}

void ended_fini(struct ended *ended)
{
	free(ended->sizes);
	*ended = (struct ended){ 0 };
}

size_t ended_bytes(const struct ended *ended)
{
	return ended->capacity * sizeof(*ended->sizes);
}

/* ---- their sum ------------------------------------------------------------------------------- */

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
	for (i = 0; i < MS_OPS_COUNT; i++)
		call_splits_add(&sum->splits[i], &process->splits[i]);
	for (i = 0; i < COUNTERS_COUNT; i++)
		sum->counters[i] += process->counters[i];
}

/*
 * Kernels by name: a handle means nothing outside of its process. Without memory for a place, there
 * is none.
 */
static void add_tables(struct process *sum, const struct process *process)
{
	size_t i;

	for (i = 0; i < process->kernels_count; i++) {
		struct kernel kernel = process->kernels[i];

		kernel.handle = 0;
		if (kernels_add(sum, &kernel))
			sum->counters[COUNTER_OTHER_KERNELS] += kernel.launches;
	}
	/* Each function has a place, but for one without memory. */
	for (i = 0; i < process->times_count; i++)
		call_times_add(sum, &process->times[i]);
	for (i = 0; i < process->failures_count; i++)
		if (failures_add(sum, &process->failures[i]))
			sum->counters[COUNTER_OTHER_FAILURES] += process->failures[i].count;
}

void ended_add(struct process *sum, const struct process *process)
{
	size_t i;

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
	driver_objects_add(&sum->driver, &process->driver);
	tensors_add(&sum->tensors, &process->tensors);
	nccl_add(&sum->nccl, &process->nccl);
	if (gpu_times_add(sum, process))
		sum->counters[COUNTER_OTHER_KERNELS]++;
	add_counts(sum, process);
	add_tables(sum, process);
	objects_add_totals(sum, process);
}
