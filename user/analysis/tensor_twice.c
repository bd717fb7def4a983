// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/tensor_twice.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/tensor_lines.h"

#define BATCHES 1024    /* that are compared */
#define BATCH_BLOCKS 4u /* fewer of one size are made again for many reasons */
#define TIMES_MOST 3    /* what is made more often are layers, or steps */

/* Blocks that a line made in buckets side by side, and that live. */
struct batch {
	const struct tensor_line *line;
	struct amount amount;
	uint64_t sizes;           /* the sum of their marks */
	unsigned int first, last; /* buckets */
};

static int compare_batches(const void *one, const void *other)
{
	const struct batch *a = one, *b = other;
	const uint64_t left[] = { a->line->code,   (uint64_t)a->line->group.device,
				  a->amount.bytes, a->amount.count,
				  a->sizes,        a->first };
	const uint64_t right[] = { b->line->code,   (uint64_t)b->line->group.device,
				   b->amount.bytes, b->amount.count,
				   b->sizes,        b->first };
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
	       a->amount.bytes == b->amount.bytes && a->amount.count == b->amount.count &&
	       a->sizes == b->sizes;
}

static uint64_t sizes_born(const struct growth_view *view, const struct tensor_line *line,
			   unsigned int bucket)
{
	const bool with_freed = view->before && line->freed_ending == view->before->number &&
				group_freed_since(&line->group, view->before->number);

	return line->sizes[bucket] + (with_freed ? line->freed_sizes[bucket] : 0);
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
		batch->sizes += sizes_born(view, line, i);
		batch->last = i;
	}
	return count;
}

static struct batch *list_batches(const struct growth_view *view,
				  const struct tensor_lines *tensors, size_t *count)
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

int tensor_twice_report(struct process_activity *activity, const struct analysis_options *options,
			struct findings *findings)
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
