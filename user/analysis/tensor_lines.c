// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/tensor_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/tensor_worth.h"

#define LINES_MAX 512 /* of a process; blocks of further ones count in the sum of all alone */

void tensor_lines_free(struct tensor_lines *tensors)
{
	size_t i;

	if (!tensors)
		return;
	for (i = 0; i < tensors->count; i++) {
		free(tensors->list[i].group.freed);
		free(tensors->list[i].group.held);
	}
	free(tensors->list);
	map_fini(&tensors->places);
	free(tensors);
}

size_t tensor_lines_bytes(const struct tensor_lines *tensors)
{
	size_t bytes, i;

	if (!tensors)
		return 0;
	bytes = sizeof(*tensors) + tensors->capacity * sizeof(*tensors->list) +
		map_bytes(&tensors->places);
	for (i = 0; i < tensors->count; i++)
		bytes += tensors->list[i].group.freed ? sizeof(struct group_freed) : 0;
	return bytes;
}

static void sizes_fold(uint64_t sizes[ACTIVITY_BUCKETS])
{
	unsigned int i;

	for (i = 0; i < ACTIVITY_BUCKETS; i += 2)
		sizes[i / 2] = sizes[i] + sizes[i + 1];
	memset(&sizes[ACTIVITY_BUCKETS / 2], 0, ACTIVITY_BUCKETS / 2 * sizeof(*sizes));
}

void tensor_lines_fold(struct tensor_lines *tensors)
{
	size_t i;

	for (i = 0; tensors && i < tensors->count; i++) {
		group_fold(&tensors->list[i].group);
		sizes_fold(tensors->list[i].sizes);
		sizes_fold(tensors->list[i].freed_sizes);
	}
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static uint64_t key_of(const struct tensor_block *block, uint64_t lines)
{
	const struct {
		uint64_t lines;
		int64_t device, framework;
	} what = { lines, block->device, block->framework };

	return string_hash(map_secret(), &what, sizeof(what));
}

/* NULL: there is no place, or no memory (`*err`). */
static struct tensor_line *line_get(struct process_activity *activity,
				    const struct tensor_block *block, uint64_t lines, int *err)
{
	struct tensor_lines *tensors = activity->tensors;
	const uint64_t key = key_of(block, lines), *place = map_get(&tensors->places, key);
	struct tensor_line *line;

	if (place)
		return &tensors->list[*place];
	if (tensors->count >= LINES_MAX)
		return NULL;
	*err = memory_grow(&tensors->list, &tensors->capacity, tensors->count + 1,
			   sizeof(*tensors->list));
	if (!*err && map_set(&tensors->places, key, tensors->count))
		*err = -ENOMEM;
	if (*err)
		return NULL;
	line = &tensors->list[tensors->count++];
	*line = (struct tensor_line){ .lines = lines, .framework = block->framework };
	line->group = (struct group){ .space = MS_SPACE_NONE,
				      .row = MS_NO_ROW,
				      .device = block->device,
				      .newest = activity->bucket };
	return line;
}

/* The sum of these is, for all practical purposes, the same only for the same sizes. */
static uint64_t size_mark(uint64_t bytes)
{
	return string_hash(map_secret(), &bytes, sizeof(bytes));
}

static void sizes_remove(struct tensor_line *line, unsigned int born, uint64_t bytes,
			 uint64_t ending)
{
	if (line->freed_ending != ending) {
		memset(line->freed_sizes, 0, sizeof(line->freed_sizes));
		line->freed_ending = ending;
	}
	line->sizes[born] -= size_mark(bytes);
	line->freed_sizes[born] += size_mark(bytes);
}

/* So many blocks of so many bytes each. */
static void line_apply(struct process_activity *activity, struct tensor_line *line,
		       const struct tensor_block *block, uint64_t blocks, uint64_t bytes,
		       bool given)
{
	struct group *group = &line->group;
	const unsigned int born = process_activity_born_at(activity, block->made_ns);
	uint64_t i;

	for (i = 0; i < blocks && !given; i++) {
		if (!group_remove(group, activity->bucket, born, bytes,
				  activity->tensors_ending.number))
			continue;
		group->frees++;
		sizes_remove(line, born, bytes, activity->tensors_ending.number);
	}
	for (i = 0; i < blocks && given; i++) {
		group_add(group, activity->bucket, born, bytes);
		line->sizes[born] += size_mark(bytes);
	}
	if (!given)
		return;
	group->allocs += blocks;
	if (!group->first_ts_ns)
		group->first_ts_ns = block->made_ns;
}

/* Also of the function that the line is in; 0: it is none of Python. */
static uint64_t code_of(const struct stacks *stacks, const struct stack *stack, uint64_t *function)
{
	size_t i;

	*function = 0;

	for (i = 0; i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack, i);

		/* Texts are interned. */
		if (frame && frame->kind == MS_FRAME_PYTHON) {
			const struct {
				uintptr_t function, source;
				uint64_t line;
			} what = { (uintptr_t)frame->function, (uintptr_t)frame->source,
				   frame->line };

			*function =
				string_hash(map_secret(), &what, sizeof(what) - sizeof(what.line));
			return string_hash(map_secret(), &what, sizeof(what));
		}
	}
	return stacks_lines(stack);
}

static int block_apply(struct process_activity *activity, const struct stacks *stacks,
		       const struct tensor_block *block, bool given)
{
	const struct stack *stack = stacks_find(stacks, block->stack);
	const struct tensor_worth worth = tensor_worth(block);
	const uint64_t blocks = tensor_worth_blocks(&worth);
	struct tensor_line *line;
	int err = 0;

	if (!block->bytes)
		return 0;
	if (given)
		process_activity_note_work(activity, 1, activity->now_ns);
	else
		process_activity_note_frees(activity, &activity->tensors_ending, 1);
	line = line_get(activity, block, 0, &err);
	if (line)
		line_apply(activity, line, block, 1, block->bytes, given);
	if (!stack || err)
		return err;
	line = line_get(activity, block, stacks_lines(stack), &err);
	if (!line)
		return err;
	if (!line->stack || stack->end == MS_STACK_END_COMPLETE)
		line->stack = stack->id;
	if (!line->code)
		line->code = code_of(stacks, stack, &line->function);
	line->is_estimate |= worth.variance != 0;
	line_apply(activity, line, block, blocks, worth.bytes / blocks, given);
	return 0;
}

int tensor_lines_event(struct process_activity *activity, const struct stacks *stacks,
		       const struct change *change)
{
	int err;

	if (!activity->tensors)
		activity->tensors = calloc(1, sizeof(*activity->tensors));
	if (!activity->tensors)
		return -ENOMEM;
	err = block_apply(activity, stacks, &change->tensor.ended, false);
	return err ? err : block_apply(activity, stacks, &change->tensor.given, true);
}

void tensor_lines_end(struct process_activity *activity)
{
	struct tensor_lines *tensors = activity->tensors;
	size_t i;

	for (i = 0; tensors && i < tensors->count; i++) {
		group_clear(&tensors->list[i].group, activity->bucket, 0);
		group_settle(&tensors->list[i].group);
		memset(tensors->list[i].sizes, 0, sizeof(tensors->list[i].sizes));
	}
}
