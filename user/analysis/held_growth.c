// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/held_growth.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/refusals.h"
#include "analysis/tensor_lines.h"

#define CHANGED_PART 8 /* of what was left behind: a smaller part may have come or gone since */

/* As of when memory was refused. */
struct group_held {
	struct growth growth;
	uint64_t classes; /* sizes that grew, as a bit set */
};

/* ---- whether it is as it was ----------------------------------------------------------------- */

static const struct group_held *held_of(const struct family *family)
{
	size_t i;

	for (i = 0; i < family->count; i++)
		if (family->members[i]->held)
			return family->members[i]->held;
	return NULL;
}

static bool is_picked(const struct group_held *held, const struct group *group)
{
	return held->classes >> group->size_class & 1;
}

/* Bytes that are live: made until the refusal, or later. */
static void count_made(const struct growth_view *view, const struct family *family,
		       const struct group_held *held, uint64_t *before, uint64_t *later)
{
	const unsigned int then = process_activity_bucket_at(view->activity, held->growth.last_ns);
	unsigned int i;
	size_t j;

	*before = *later = 0;
	for (j = 0; j < family->count; j++) {
		const struct group *group = family->members[j];

		if (!is_picked(held, group))
			continue;
		*before += growth_born(view, group, GROUP_BEFORE).bytes;
		for (i = 0; i < ACTIVITY_BUCKETS; i++)
			*(i <= then ? before : later) += growth_born(view, group, i).bytes;
	}
}

/* What has been freed since, or has made way for other blocks, was no leak. */
static bool has_stayed(const struct growth_view *view, const struct family *family,
		       const struct group_held *held)
{
	const uint64_t little = held->growth.left.bytes / CHANGED_PART;
	uint64_t before, later;

	count_made(view, family, held, &before, &later);
	return before + little >= held->growth.live.bytes && later <= little;
}

/* ---- what is noted down ---------------------------------------------------------------------- */

size_t held_growth_bytes(const struct process_activity *activity)
{
	return activity->held_groups * sizeof(struct group_held);
}

static int note(struct process_activity *activity, const struct family *family,
		const struct analysis_options *options)
{
	const struct growth_view view = growth_view_now(activity);
	const struct group_held *known = held_of(family);
	struct group_held held = { 0 };
	struct group *place = family->members[0];
	size_t i;

	if ((known && has_stayed(&view, family, known)) ||
	    !growth_of(&view, family, options, &held.growth))
		return 0;
	for (i = 0; i < family->count; i++) {
		held.classes |= (uint64_t)family->members[i]->picked
				<< family->members[i]->size_class;
		if (family->members[i]->held)
			place = family->members[i];
	}
	if (!place->held) {
		place->held = malloc(sizeof(*place->held));
		if (!place->held)
			return -ENOMEM;
		activity->held_groups++;
	}
	*place->held = held;
	return 0;
}

static int note_tensors(struct process_activity *activity, const struct analysis_options *options)
{
	struct tensor_lines *tensors = activity->tensors;
	size_t i;
	int err = 0;

	for (i = 0; !err && tensors && i < tensors->count; i++) {
		struct group *member = &tensors->list[i].group;

		err = note(activity, &(struct family){ .members = &member, .count = 1 }, options);
	}
	return err;
}

static int note_all(struct process_activity *activity, const struct analysis_options *options)
{
	struct families families;
	struct family family = { 0 };
	int err = families_init(&families, activity);

	while (!err && families_next(&families, &family))
		err = note(activity, &family, options);
	families_fini(&families);
	return err ? err : note_tensors(activity, options);
}

int held_growth_event(struct process_activity *activity, const struct event *event,
		      const struct change *change)
{
	bool began;
	int err = refusals_event(activity, event, change, &began);

	return err || !began ? err : note_all(activity, activity->options);
}

/* ---- what is found --------------------------------------------------------------------------- */

/* The largest block of the size class that most of what grew is of. */
static uint64_t typical_bytes(const struct growth_view *view, const struct family *family,
			      const struct group_held *held)
{
	uint64_t most = 0, largest = 0;
	size_t i;

	for (i = 0; i < family->count; i++) {
		const uint64_t bytes = growth_live(view, family->members[i]).bytes;

		if (!is_picked(held, family->members[i]) || bytes < most)
			continue;
		most = bytes;
		largest = family->members[i]->largest;
	}
	return largest;
}

/*
 * Blocks like those that grew have been refused ever since; or others that it used to get, as those
 * that a request needs which would leave something behind if it got so far. If the process only
 * loaded until then, grew although they were refused, or has gone on for long without them, they
 * are too large for it, and no more than that. `*less`: it was granted smaller ones, and may do
 * with these.
 */
static bool is_refused(const struct growth_view *view, const struct family *family,
		       const struct analysis_options *options, const struct group_held *held,
		       bool *less)
{
	const struct process_activity *activity = view->activity;
	const struct growth *growth = &held->growth;
	struct refusals_wanted wanted = { .space = family->members[0]->space,
					  .device = family->members[0]->device,
					  .row = family->members[0]->row,
					  .bytes = typical_bytes(view, family, held) };
	const unsigned int first = process_activity_bucket_at(activity, growth->first_ns),
			   then = process_activity_bucket_at(activity, growth->last_ns);

	*less = false;
	if (refusals_go_on(activity, &wanted, then, view->last)) {
		wanted.nothing_less = true;
		*less = !refusals_go_on(activity, &wanted, then, view->last);
		return true;
	}
	wanted.row = MS_NO_ROW;
	return growth->launches &&
	       (then + 1ull - first) * 100 >= (view->last + 1ull) * options->leak_share &&
	       (first == then || !refusals_occur(activity, &wanted, first, then - 1)) &&
	       refusals_go_on(activity, &wanted, then, view->last);
}

bool held_growth_of(const struct growth_view *view, const struct family *family,
		    const struct analysis_options *options, struct growth *growth)
{
	const struct group_held *held = held_of(family);
	bool less;
	size_t i;

	if (growth_of(view, family, options, growth))
		return true;
	if (!held || view->end_ns <= held->growth.last_ns || !has_stayed(view, family, held) ||
	    !is_refused(view, family, options, held, &less))
		return false;
	*growth = held->growth;
	growth->until_end = view->before;
	growth->less_granted = less;
	growth->refused_ns = view->end_ns - growth->last_ns;
	for (i = 0; i < family->count; i++)
		family->members[i]->picked = is_picked(held, family->members[i]);
	return true;
}
