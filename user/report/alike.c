// SPDX-License-Identifier: BSD-2-Clause
#include "report/alike.h"

#include <stdlib.h>

#include "base/memory.h"
#include "report/report_devices.h"

/* The blocks of a process, those that are alike beside each other. */
struct blocks {
	const struct allocation **list;
	size_t count, capacity;
	bool failed;
};

static void add_block(struct blocks *blocks, const struct report_recording *recording,
		      const struct allocation *allocation)
{
	if (!state_is_memory(allocation) || !report_devices_asked(recording, allocation->device))
		return;
	if (memory_grow(&blocks->list, &blocks->capacity, blocks->count + 1, sizeof(*blocks->list)))
		blocks->failed = true;
	else
		blocks->list[blocks->count++] = allocation;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_kinds(const struct allocation *a, const struct allocation *b)
{
	int order = compare_numbers(b->size_bytes, a->size_bytes);

	if (!order)
		order = compare_numbers(a->size_known, b->size_known);
	if (!order)
		order = compare_numbers(a->row, b->row);
	if (!order)
		order = compare_numbers(a->space, b->space);
	return order ? order : compare_numbers((uint32_t)a->device, (uint32_t)b->device);
}

static int by_kind(const void *one, const void *other)
{
	return compare_kinds(*(const struct allocation *const *)one,
			     *(const struct allocation *const *)other);
}

static void collect(struct blocks *blocks, const struct report_recording *recording,
		    const struct process *process)
{
	size_t key, i;

	blocks->count = 0;
	for (i = 0; process->exited && i < process->exit_largest_count; i++)
		add_block(blocks, recording, &process->exit_largest[i]);
	for (key = 0; !process->exited && key < LEDGERS_COUNT; key++)
		for (i = 0; i < process->ledgers[key].count; i++)
			add_block(blocks, recording, &process->ledgers[key].entries[i]);
	if (blocks->count)
		qsort(blocks->list, blocks->count, sizeof(*blocks->list), by_kind);
}

struct groups {
	struct alike *list;
	size_t count, capacity;
	bool failed;
};

static struct alike *add_group(struct groups *groups, const struct process *process,
			       const struct allocation *allocation)
{
	if (memory_grow(&groups->list, &groups->capacity, groups->count + 1,
			sizeof(*groups->list))) {
		groups->failed = true;
		return NULL;
	}
	groups->list[groups->count] = (struct alike){ .process = process,
						      .allocation = allocation,
						      .oldest_ts_ns = allocation->ts_ns };
	return &groups->list[groups->count++];
}

static void count_block(struct alike *group, const struct allocation *allocation)
{
	group->count++;
	group->bytes += allocation->size_bytes;
	if (allocation->ts_ns < group->oldest_ts_ns)
		group->oldest_ts_ns = allocation->ts_ns;
	if (allocation->ts_ns > group->newest_ts_ns)
		group->newest_ts_ns = allocation->ts_ns;
}

/* Those of the smallest size that is known of an exited process may not be all. */
static void mark_unsure(struct groups *groups, size_t first, const struct process *process)
{
	const bool all = !process->exited || process->exit_largest_count < PROCESS_LARGEST;
	const uint64_t smallest = all ? 0 : process->exit_largest[PROCESS_LARGEST - 1].size_bytes;

	for (; !all && first < groups->count; first++)
		if (groups->list[first].allocation->size_bytes == smallest)
			groups->list[first].at_least = true;
}

static void group(struct groups *groups, const struct blocks *blocks, const struct process *process)
{
	const size_t first = groups->count;
	struct alike *last = NULL;
	size_t i;

	for (i = 0; i < blocks->count && !groups->failed; i++) {
		if (!last || compare_kinds(last->allocation, blocks->list[i]) != 0)
			last = add_group(groups, process, blocks->list[i]);
		if (last)
			count_block(last, blocks->list[i]);
	}
	mark_unsure(groups, first, process);
}

static int by_bytes(const void *one, const void *other)
{
	const struct alike *a = one, *b = other;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return compare_numbers(a->allocation->id, b->allocation->id);
}

struct alike *alike_find(const struct report_recording *recording, size_t *count)
{
	struct blocks blocks = { 0 };
	struct groups groups = { 0 };
	size_t i;

	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;

		collect(&blocks, recording, process);
		group(&groups, &blocks, process);
	}
	free(blocks.list);
	if (blocks.failed || groups.failed) {
		free(groups.list);
		return NULL;
	}
	if (!groups.list)
		groups.list = calloc(1, sizeof(*groups.list));
	if (groups.count)
		qsort(groups.list, groups.count, sizeof(*groups.list), by_bytes);
	*count = groups.count;
	return groups.list;
}
