// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/group.h"

#include <stdlib.h>
#include <string.h>

static void amount_add(struct amount *sum, const struct amount *amount)
{
	sum->count += amount->count;
	sum->bytes += amount->bytes;
}

static void amount_lower(struct amount *lowest, const struct amount *amount)
{
	if (amount->count < lowest->count)
		lowest->count = amount->count;
	if (amount->bytes < lowest->bytes)
		lowest->bytes = amount->bytes;
}

static void take(struct amount *from, uint64_t size)
{
	from->count--;
	from->bytes -= size;
}

static void put(struct amount *to, uint64_t size)
{
	to->count++;
	to->bytes += size;
}

/* ---- time ------------------------------------------------------------------------------------ */

static void fold_amounts(struct amount amounts[ACTIVITY_BUCKETS])
{
	unsigned int i;

	for (i = 0; i < ACTIVITY_BUCKETS; i += 2) {
		struct amount sum = amounts[i];

		amount_add(&sum, &amounts[i + 1]);
		amounts[i / 2] = sum;
	}
	memset(&amounts[ACTIVITY_BUCKETS / 2], 0, ACTIVITY_BUCKETS / 2 * sizeof(*amounts));
}

static void fold_freed(struct group *group)
{
	struct group_freed *freed = group->freed;

	if (!freed)
		return;
	if (freed->from % 2)
		amount_lower(&freed->lowest, &group->lowest[freed->from - 1]);
	freed->from /= 2;
	fold_amounts(freed->born);
}

void group_fold(struct group *group)
{
	unsigned int i;

	fold_freed(group);
	fold_amounts(group->born);
	for (i = 0; i < ACTIVITY_BUCKETS; i += 2) {
		struct amount lowest = group->lowest[i];

		if (i + 1 <= group->newest)
			amount_lower(&lowest, &group->lowest[i + 1]);
		group->lowest[i / 2] = lowest;
	}
	memset(&group->lowest[ACTIVITY_BUCKETS / 2], 0, sizeof(group->lowest) / 2);
	group->newest /= 2;
}

void group_advance(struct group *group, unsigned int bucket)
{
	while (group->newest < bucket)
		group->lowest[++group->newest] = group->live;
}

/* ---- what was freed -------------------------------------------------------------------------- */

const struct group_freed *group_freed_since(const struct group *group, uint64_t ending)
{
	return group->freed && group->freed->ending == ending ? group->freed : NULL;
}

/* NULL: there is no memory for it. The group is as it is before the free. */
static struct group_freed *freed_of(struct group *group, uint64_t ending)
{
	struct group_freed *freed = group->freed;

	if (!freed)
		freed = group->freed = calloc(1, sizeof(*freed));
	if (!freed || freed->ending == ending)
		return freed;
	if (freed->live.count)
		memset(freed->born, 0, sizeof(freed->born));
	freed->live = (struct amount){ 0 };
	freed->lines = (struct stack_tally){ 0 };
	freed->frees = 0;
	freed->ending = ending;
	freed->from = group->newest;
	freed->lowest = group->lowest[group->newest];
	return freed;
}

void group_take_back(struct group *group, unsigned int born, uint64_t size, uint32_t stack,
		     uint64_t ending)
{
	struct group_freed *freed = group->freed;

	if (!freed || freed->ending != ending || !freed->born[born].count ||
	    freed->born[born].bytes < size)
		return;
	take(&freed->born[born], size);
	take(&freed->live, size);
	stack_tally_remove(&freed->lines, stack, size);
}

/* ---- what lives ------------------------------------------------------------------------------ */

void group_add(struct group *group, unsigned int bucket, unsigned int born, uint64_t size)
{
	group_advance(group, bucket);
	put(&group->born[born], size);
	put(&group->live, size);
	if (!group->largest || size < group->smallest)
		group->smallest = size;
	if (size > group->largest)
		group->largest = size;
	if (group->live.count > group->peak_count)
		group->peak_count = group->live.count;
}

bool group_remove(struct group *group, unsigned int bucket, unsigned int born, uint64_t size,
		  uint64_t ending)
{
	struct group_freed *freed;

	group_advance(group, bucket);
	if (!group->born[born].count || group->born[born].bytes < size || !group->live.count)
		return false;
	freed = freed_of(group, ending);
	if (freed) {
		put(&freed->born[born], size);
		put(&freed->live, size);
		freed->frees++;
	}
	take(&group->born[born], size);
	take(&group->live, size);
	amount_lower(&group->lowest[group->newest], &group->live);
	return true;
}

void group_add_line(struct group *group, uint32_t stack, uint64_t size)
{
	stack_tally_add(&group->lines, stack, size);
}

void group_remove_line(struct group *group, uint32_t stack, uint64_t size, uint64_t ending)
{
	stack_tally_remove(&group->lines, stack, size);
	if (group->freed && group->freed->ending == ending)
		stack_tally_add(&group->freed->lines, stack, size);
}

void group_clear(struct group *group, unsigned int bucket, uint64_t ending)
{
	struct group_freed *freed;
	unsigned int i;

	group_advance(group, bucket);
	freed = ending && group->live.count ? freed_of(group, ending) : NULL;
	if (freed) {
		for (i = 0; i < GROUP_TIMES; i++)
			amount_add(&freed->born[i], &group->born[i]);
		amount_add(&freed->live, &group->live);
		stack_tally_merge(&freed->lines, &group->lines);
	}
	group->live = (struct amount){ 0 };
	group->lines = (struct stack_tally){ 0 };
	group->window = (struct amount){ 0 };
	memset(group->born, 0, sizeof(group->born));
}

void group_settle(struct group *group)
{
	amount_lower(&group->lowest[group->newest], &group->live);
}
