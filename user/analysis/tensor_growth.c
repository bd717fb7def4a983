// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/tensor_growth.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/leaks.h"
#include "base/memory.h"
#include "ledger/tensor_worth.h"

#define LINES_MAX 512 /* of a process; blocks of further ones count in the sum of all alone */

/* What blocks have in common: the device and, but for the first of a device, the lines. */
struct tensor_line {
	struct group group;
	uint64_t lines; /* 0: all blocks of the device */
	uint64_t code; /* what the innermost line of Python has in common; without any, the lines */
	uint32_t stack; /* id, of one of its calls */
	uint16_t framework;
	bool grows;
	bool is_estimate; /* the stacks of some of its blocks were left to chance */
};

struct tensor_growth {
	struct tensor_line *list;
	size_t count, capacity;
	struct map places; /* what they have in common -> position */
};

void tensor_growth_free(struct tensor_growth *tensors)
{
	size_t i;

	if (!tensors)
		return;
	for (i = 0; i < tensors->count; i++)
		free(tensors->list[i].group.freed);
	free(tensors->list);
	map_fini(&tensors->places);
	free(tensors);
}

size_t tensor_growth_bytes(const struct tensor_growth *tensors)
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

void tensor_growth_fold(struct tensor_growth *tensors)
{
	size_t i;

	for (i = 0; tensors && i < tensors->count; i++)
		group_fold(&tensors->list[i].group);
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
	struct tensor_growth *tensors = activity->tensors;
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

/* So many blocks of so many bytes each. */
static void line_apply(struct process_activity *activity, struct tensor_line *line,
		       const struct tensor_block *block, uint64_t blocks, uint64_t bytes,
		       bool given)
{
	struct group *group = &line->group;
	const unsigned int born = process_activity_born_at(activity, block->made_ns);
	uint64_t i;

	for (i = 0; i < blocks && !given; i++)
		group->frees += group_remove(group, activity->bucket, born, bytes,
					     activity->tensors_ending.number);
	for (i = 0; i < blocks && given; i++)
		group_add(group, activity->bucket, born, bytes);
	if (!given)
		return;
	group->allocs += blocks;
	if (!group->first_ts_ns)
		group->first_ts_ns = block->made_ns;
}

static uint64_t code_of(const struct stacks *stacks, const struct stack *stack)
{
	size_t i;

	for (i = 0; i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack, i);

		/* Texts are interned. */
		if (frame && frame->kind == MS_FRAME_PYTHON) {
			const struct {
				uintptr_t function, source;
				uint64_t line;
			} what = { (uintptr_t)frame->function, (uintptr_t)frame->source,
				   frame->line };

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
	if (!given)
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
		line->code = code_of(stacks, stack);
	line->is_estimate |= worth.variance != 0;
	line_apply(activity, line, block, blocks, worth.bytes / blocks, given);
	return 0;
}

int tensor_growth_event(struct process_activity *activity, const struct stacks *stacks,
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

void tensor_growth_end(struct process_activity *activity)
{
	struct tensor_growth *tensors = activity->tensors;
	size_t i;

	for (i = 0; tensors && i < tensors->count; i++) {
		group_clear(&tensors->list[i].group, activity->bucket, 0);
		group_settle(&tensors->list[i].group);
	}
}

/* ---- what grows ------------------------------------------------------------------------------ */

/* As it is; else as it was before what looks like a shutdown. */
static bool find_growth(struct process_activity *activity, const struct family *family,
			const struct analysis_options *options, struct growth *growth, bool *freed)
{
	const struct growth_view now = growth_view_last(activity),
				 before = growth_view_before(activity, &activity->tensors_ending);

	*freed = false;
	if (growth_of(&now, family, options, growth))
		return true;
	*freed = true;
	return process_activity_has_ended(activity, &activity->tensors_ending) &&
	       growth_of(&before, family, options, growth);
}

static int report(struct process_activity *activity, struct tensor_line *line,
		  const struct analysis_options *options, struct findings *findings)
{
	struct group *member = &line->group;
	const struct family family = { .members = &member, .count = 1 };
	struct growth growth;
	struct finding finding;
	bool freed;

	if (!find_growth(activity, &family, options, &growth, &freed))
		return 0;
	line->grows = true;
	finding = leaks_growth_finding(activity, &family, &growth);
	finding.is_of_tensors = true;
	finding.framework = line->framework;
	finding.stack = line->stack;
	finding.freed = freed;
	finding.says = "leaves %B behind in tensors: %0 blocks in %3";
	leaks_growth_confidence(&growth, options, &finding);
	if (freed) {
		finding.says = "keeps %B more in tensors until it ends: %0 blocks in %3";
		finding_lower(&finding, FINDING_MEDIUM,
			      "it was freed when the program ended, and may be meant to grow");
	}
	if (line->is_estimate && !freed)
		finding.says = "leaves about %B behind in tensors: some %0 blocks in %3";
	else if (line->is_estimate)
		finding.says = "keeps about %B more in tensors until it ends: some %0 blocks in %3";
	if (activity->process && !tensors_are_exact(&activity->process->tensors))
		finding_lower(&finding, FINDING_LOW,
			      "what the allocator said does not add up: records may be missing");
	return findings_add(findings, &finding);
}

/* Whether one of the lines grows that are a part of it. */
static bool has_line(const struct tensor_growth *tensors, const struct tensor_line *all)
{
	size_t i;

	for (i = 0; i < tensors->count; i++)
		if (tensors->list[i].grows && tensors->list[i].framework == all->framework &&
		    tensors->list[i].group.device == all->group.device)
			return true;
	return false;
}

/* All of a device, only if none of its lines tells where. */
int tensor_growth_report(struct process_activity *activity, const struct analysis_options *options,
			 struct findings *findings)
{
	struct tensor_growth *tensors = activity->tensors;
	size_t i;
	int err = 0;

	for (i = 0; tensors && i < tensors->count && !err; i++)
		if (tensors->list[i].lines)
			err = report(activity, &tensors->list[i], options, findings);
	for (i = 0; tensors && i < tensors->count && !err; i++)
		if (!tensors->list[i].lines && !has_line(tensors, &tensors->list[i]))
			err = report(activity, &tensors->list[i], options, findings);
	return err;
}

/* ---- what is there twice --------------------------------------------------------------------- */

#define BATCHES 1024    /* that are compared */
#define BATCH_BLOCKS 4u /* fewer of one size are made again for many reasons */
#define TIMES_MOST 3    /* what is made more often are layers, or steps */

/* Blocks that a line made in buckets side by side, and that live. */
struct batch {
	const struct tensor_line *line;
	struct amount amount;
	unsigned int first, last; /* buckets */
};

static int compare_batches(const void *one, const void *other)
{
	const struct batch *a = one, *b = other;
	const uint64_t left[] = { a->line->code, (uint64_t)a->line->group.device, a->amount.bytes,
				  a->amount.count, a->first };
	const uint64_t right[] = { b->line->code, (uint64_t)b->line->group.device, b->amount.bytes,
				   b->amount.count, b->first };
	size_t i;

	for (i = 0; i < sizeof(left) / sizeof(*left); i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static bool are_alike(const struct batch *a, const struct batch *b)
{
	return a->line->code == b->line->code && a->line->framework == b->line->framework &&
	       a->line->group.device == b->line->group.device &&
	       a->amount.bytes == b->amount.bytes && a->amount.count == b->amount.count;
}

static size_t batches_of(const struct growth_view *view, const struct tensor_line *line,
			 struct batch *batches, size_t room)
{
	size_t count = 0;
	unsigned int i;

	for (i = 0; i <= view->last; i++) {
		const struct amount born = growth_born(view, &line->group, i);
		struct batch *batch = count ? &batches[count - 1] : NULL;

		if (!born.count)
			continue;
		if (!batch || batch->last + 1 < i) {
			if (count == room)
				break;
			batch = &batches[count++];
			*batch = (struct batch){ .line = line, .first = i };
		}
		batch->amount.count += born.count;
		batch->amount.bytes += born.bytes;
		batch->last = i;
	}
	return count;
}

static struct batch *list_batches(const struct growth_view *view,
				  const struct tensor_growth *tensors, size_t *count)
{
	struct batch *batches = calloc(BATCHES, sizeof(*batches));
	size_t i;

	*count = 0;
	for (i = 0; batches && i < tensors->count; i++)
		if (tensors->list[i].lines && !tensors->list[i].is_estimate &&
		    !tensors->list[i].grows)
			*count += batches_of(view, &tensors->list[i], batches + *count,
					     BATCHES - *count);
	if (batches)
		qsort(batches, *count, sizeof(*batches), compare_batches);
	return batches;
}

/* All that is there twice on a device; `*largest` is the last batch of most bytes. */
struct twice {
	struct amount again;
	const struct batch *largest;
	unsigned int first, last; /* buckets: when that was made first, and again */
};

/* So many that are alike: whether they were made one after the other, with time in between. */
static bool are_apart(const struct batch *batches, size_t count)
{
	size_t i;

	for (i = 1; i < count; i++)
		if (batches[i].first <= batches[i - 1].last + 1)
			return false;
	return count > 1 && count <= TIMES_MOST;
}

static struct twice find_twice(const struct batch *batches, size_t count, int32_t device)
{
	struct twice twice = { 0 };
	size_t i, j;

	for (i = 0; i < count; i = j) {
		for (j = i + 1; j < count && are_alike(&batches[i], &batches[j]);)
			j++;
		if (batches[i].line->group.device != device ||
		    batches[i].amount.count < BATCH_BLOCKS || !are_apart(&batches[i], j - i))
			continue;
		twice.again.count += batches[i].amount.count * (j - i - 1);
		twice.again.bytes += batches[i].amount.bytes * (j - i - 1);
		if (twice.largest && twice.largest->amount.bytes >= batches[i].amount.bytes)
			continue;
		twice.largest = &batches[j - 1];
		twice.first = batches[i].first;
		twice.last = batches[j - 1].first;
	}
	return twice;
}

static int say_twice(struct process_activity *activity, const struct twice *twice,
		     struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_MADE_TWICE);
	const struct tensor_line *line = twice->largest->line;
	const uint64_t first_ns = process_activity_bucket_begin(activity, twice->first),
		       last_ns = process_activity_bucket_begin(activity, twice->last);

	finding.is_of_tensors = true;
	finding.framework = line->framework;
	finding.device = line->group.device;
	finding.stack = line->stack;
	finding.bytes = twice->again.bytes;
	finding.first_ts_ns = first_ns;
	finding.last_ts_ns = last_ns;
	finding_say(&finding, "blocks that were made again", FINDING_COUNT, twice->again.count);
	finding_say(&finding, "about how long after the first", FINDING_NS, last_ns - first_ns);
	/* The first ones may have come back, and nothing says so. */
	if (activity->process && !tensors_are_exact(&activity->process->tensors))
		finding_lower(&finding, FINDING_LOW,
			      "what the allocator said does not add up: records may be missing");
	finding_lower(&finding, FINDING_MEDIUM, "two of them may be meant to be there");
	return findings_add(findings, &finding);
}

/* Whether one before is of its device. */
static bool is_repeated(const struct batch *batches, size_t i)
{
	size_t j;

	for (j = 0; j < i; j++)
		if (batches[j].line->group.device == batches[i].line->group.device)
			return true;
	return false;
}

/* A finding for each device. */
static int say_all_twice(struct process_activity *activity, const struct batch *batches,
			 size_t count, const struct analysis_options *options,
			 struct findings *findings, bool *found)
{
	size_t i;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		struct twice twice;

		if (is_repeated(batches, i))
			continue;
		twice = find_twice(batches, count, batches[i].line->group.device);
		if (!twice.largest || twice.again.bytes < options->twice_bytes)
			continue;
		*found = true;
		err = say_twice(activity, &twice, findings);
	}
	return err;
}

int tensor_growth_report_twice(struct process_activity *activity,
			       const struct analysis_options *options, struct findings *findings)
{
	const struct growth_view views[] = {
		growth_view_last(activity), growth_view_before(activity, &activity->tensors_ending)
	};
	const bool has_ended = process_activity_has_ended(activity, &activity->tensors_ending);
	size_t view, count;
	bool found = false;
	int err = 0;

	for (view = 0; activity->tensors && !found && view < 1u + has_ended; view++) {
		struct batch *batches = list_batches(&views[view], activity->tensors, &count);

		if (!batches)
			return -ENOMEM;
		err = say_all_twice(activity, batches, count, options, findings, &found);
		free(batches);
	}
	return err;
}

/* ---- segments -------------------------------------------------------------------------------- */

bool tensor_growth_explains(const struct growth_view *view, const struct family *family,
			    const struct growth *growth)
{
	const struct process_activity *activity = view->activity;
	const struct group *first = family->members[0];
	struct tensor_source source;
	struct amount others = { 0 }, segments;
	size_t i;

	if (!activity->process || !activity->process->tensors.devices_count ||
	    !tensors_are_exact(&activity->process->tensors))
		return false;
	if (!tensor_sources_of(&activity->process->tensors.sources, first->space, first->row,
			       first->device, &source))
		return false;
	segments.count = view->before ? source.made : source.live;
	segments.bytes = view->before ? source.made_bytes : source.live_bytes;
	for (i = 0; i < family->count; i++) {
		const struct amount live = growth_live(view, family->members[i]);

		others.count += live.count;
		others.bytes += live.bytes;
	}
	others.count -= segments.count < others.count ? segments.count : others.count;
	others.bytes -= segments.bytes < others.bytes ? segments.bytes : others.bytes;
	/* What else the function made, and is live, is no leak of its own. */
	return others.count < activity->options->leak_count ||
	       others.bytes < activity->options->leak_bytes ||
	       others.bytes < growth->left.bytes / 4;
}
