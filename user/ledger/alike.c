// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/alike.h"

#include <stdlib.h>
#include <string.h>

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
	const struct allocation *a = *(const struct allocation *const *)one;
	const struct allocation *b = *(const struct allocation *const *)other;
	int order = compare_kinds(a, b);

	return order ? order : compare_numbers(a->id, b->id);
}

static int by_bytes(const void *one, const void *other)
{
	const struct alike_group *a = one, *b = other;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return compare_numbers(a->one.id, b->one.id);
}

static void add_block(struct alike_group *group, const struct allocation *block)
{
	if (!group->count++)
		group->one = *block;
	group->bytes += block->size_bytes;
	if (block->ts_ns < group->one.ts_ns)
		group->one = *block;
	if (block->ts_ns > group->newest_ts_ns)
		group->newest_ts_ns = block->ts_ns;
}

/* Sorts the blocks. */
static struct alike_group *group(const struct allocation **blocks, size_t blocks_count,
				 size_t *count)
{
	struct alike_group *groups = calloc(blocks_count + 1, sizeof(*groups));
	struct alike_group *last = NULL, *smaller;
	size_t i;

	*count = 0;
	if (!groups)
		return NULL;
	if (blocks_count)
		qsort(blocks, blocks_count, sizeof(*blocks), by_kind);
	for (i = 0; i < blocks_count; i++) {
		if (!last || compare_kinds(&last->one, blocks[i]) != 0)
			last = &groups[(*count)++];
		add_block(last, blocks[i]);
	}
	if (*count)
		qsort(groups, *count, sizeof(*groups), by_bytes);
	smaller = realloc(groups, (*count + 1) * sizeof(*groups));
	return smaller ? smaller : groups;
}

static struct alike_group *group_live(const struct process *process, size_t blocks_count,
				      size_t *count)
{
	const struct allocation **blocks = calloc(blocks_count + 1, sizeof(*blocks));
	struct alike_group *groups = NULL;
	size_t memory = 0, key, i;

	for (key = 0; blocks && key < LEDGERS_COUNT; key++)
		for (i = 0; i < process->ledgers[key].count; i++)
			if (state_is_memory(&process->ledgers[key].entries[i]))
				blocks[memory++] = &process->ledgers[key].entries[i];
	if (blocks)
		groups = group(blocks, memory, count);
	free(blocks);
	return groups;
}

/* Those of the smallest size may not be all. */
static struct alike_group *group_largest(const struct process *process, size_t *count)
{
	struct allocation largest[PROCESS_LARGEST];
	const struct allocation *blocks[PROCESS_LARGEST];
	const size_t held = state_largest(process, largest, PROCESS_LARGEST);
	const uint64_t least = held ? largest[held - 1].size_bytes : 0;
	struct alike_group *groups;
	size_t i;

	for (i = 0; i < held; i++)
		blocks[i] = &largest[i];
	groups = group(blocks, held, count);
	for (i = 0; groups && held == PROCESS_LARGEST && i < *count; i++)
		groups[i].at_least = groups[i].one.size_bytes == least;
	return groups;
}

static struct alike_group *copy(const struct alike_group *groups, size_t count)
{
	struct alike_group *copied = calloc(count + 1, sizeof(*copied));

	if (copied)
		memcpy(copied, groups, count * sizeof(*copied));
	return copied;
}

struct alike_group *alike_of(const struct process *process, size_t max_blocks, size_t *count)
{
	size_t held = 0, key;

	if (process->exit_alike) {
		*count = process->exit_alike_count;
		return copy(process->exit_alike, process->exit_alike_count);
	}
	for (key = 0; key < LEDGERS_COUNT; key++)
		held += process->ledgers[key].count;
	return process->exited || held > max_blocks ? group_largest(process, count) :
						      group_live(process, held, count);
}

void alike_note_exit(struct process *process)
{
	size_t count;
	struct alike_group *groups = alike_of(process, ALIKE_BLOCKS, &count), *smaller;

	process->exit_largest_count =
		state_largest(process, process->exit_largest, PROCESS_LARGEST);
	if (!groups || !count) {
		free(groups);
		return;
	}
	process->exit_alike_count = count < ALIKE_KEPT ? count : ALIKE_KEPT;
	smaller = realloc(groups, process->exit_alike_count * sizeof(*groups));
	process->exit_alike = smaller ? smaller : groups;
}
