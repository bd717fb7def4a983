// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/refusals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/oom_relation.h"
#include "analysis/oom_sort.h"
#include "analysis/oom_watch.h"

#define KINDS 16 /* functions and devices: of more, those that were refused something last */
#define PARTS 4
#define CLASSES 64   /* of sizes, as groups have them */
#define RECENT 16    /* refusals that may be one attempt, which ends when something is granted */
#define LESS_STEPS 4 /* classes: a sixteenth is what oom_watch.h takes for a smaller try */
#define USUAL 8      /* so often a size was granted that a program normally gets */

/*
 * By one function, on one device. Size classes are bit sets; the largest one granted is its number
 * and one, and 0 if nothing was.
 */
struct refusal_kind {
	uint16_t row;
	uint8_t space;
	int32_t device;
	uint64_t number;                    /* of the last refusal, of all kinds */
	uint64_t count;                     /* of refusals */
	uint8_t recent[RECENT];             /* the buckets of the last ones */
	uint64_t least_bytes[CLASSES];      /* refused in each class; 0: nothing was */
	uint64_t refused[ACTIVITY_BUCKETS]; /* classes, in each bucket, */
	uint64_t held[ACTIVITY_BUCKETS];    /* and those that the function was not granted then */
	uint8_t own[ACTIVITY_BUCKETS];      /* the largest that the function got after a refusal, */
	uint8_t any[ACTIVITY_BUCKETS];      /* and that any function did */
};

struct refusals {
	struct refusal_kind kinds[KINDS];
	size_t count;
	uint64_t refused;
};

void refusals_free(struct refusals *refusals)
{
	free(refusals);
}

size_t refusals_bytes(const struct refusals *refusals)
{
	return refusals ? sizeof(*refusals) : 0;
}

/* ---- what is noted down ---------------------------------------------------------------------- */

static uint8_t larger(uint8_t one, uint8_t other)
{
	return one > other ? one : other;
}

static void fold_kind(struct refusal_kind *kind)
{
	const size_t half = ACTIVITY_BUCKETS / 2;
	size_t i;

	for (i = 0; i < half; i++) {
		kind->refused[i] = kind->refused[2 * i] | kind->refused[2 * i + 1];
		kind->held[i] = kind->held[2 * i] | kind->held[2 * i + 1];
		kind->own[i] = larger(kind->own[2 * i], kind->own[2 * i + 1]);
		kind->any[i] = larger(kind->any[2 * i], kind->any[2 * i + 1]);
	}
	memset(&kind->refused[half], 0, half * sizeof(*kind->refused));
	memset(&kind->held[half], 0, half * sizeof(*kind->held));
	memset(&kind->own[half], 0, half);
	memset(&kind->any[half], 0, half);
	for (i = 0; i < RECENT; i++)
		kind->recent[i] /= 2;
}

void refusals_fold(struct refusals *refusals)
{
	size_t i;

	for (i = 0; refusals && i < refusals->count; i++)
		fold_kind(&refusals->kinds[i]);
}

static struct refusal_kind *find_kind(struct refusals *refusals, uint16_t row, int32_t device)
{
	size_t i;

	for (i = 0; refusals && i < refusals->count; i++)
		if (refusals->kinds[i].row == row && refusals->kinds[i].device == device)
			return &refusals->kinds[i];
	return NULL;
}

/* A new one, which may take the place of the one that was refused something longest ago. */
static struct refusal_kind *add_kind(struct refusals *refusals, const struct event *event,
				     int32_t device)
{
	struct refusal_kind *kind = &refusals->kinds[0];
	size_t i;

	if (refusals->count < KINDS)
		kind = &refusals->kinds[refusals->count++];
	else
		for (i = 1; i < refusals->count; i++)
			if (refusals->kinds[i].number < kind->number)
				kind = &refusals->kinds[i];
	*kind = (struct refusal_kind){ .row = event->call->row,
				       .space = event->probe->spec.space,
				       .device = device };
	return kind;
}

static int refuse(struct process_activity *activity, const struct event *event,
		  const struct change *change, bool *began)
{
	const uint64_t bytes = event->call->size;
	const uint8_t size_class = usage_size_class(bytes);
	struct refusal_kind *kind = find_kind(activity->refusals, event->call->row, change->device);

	if (!activity->refusals)
		activity->refusals = calloc(1, sizeof(*activity->refusals));
	if (!activity->refusals)
		return -ENOMEM;
	if (!kind)
		kind = add_kind(activity->refusals, event, change->device);
	*began = !kind->refused[activity->bucket];
	kind->number = ++activity->refusals->refused;
	kind->recent[kind->count++ % RECENT] = activity->bucket;
	if (!kind->least_bytes[size_class] || bytes < kind->least_bytes[size_class])
		kind->least_bytes[size_class] = bytes;
	kind->refused[activity->bucket] |= 1ull << size_class;
	kind->held[activity->bucket] |= 1ull << size_class;
	return 0;
}

/*
 * What is granted has not been refused for good: a program that made room, or does with less. Of
 * the same function, it is what was refused last, if it is as much.
 */
static void grant(struct refusal_kind *kind, const struct event *event, const struct change *change,
		  unsigned int now)
{
	const uint64_t count = kind->count < RECENT ? kind->count : RECENT;
	const unsigned int last = kind->recent[(kind->count - 1) % RECENT],
			   first = kind->recent[(kind->count - count) % RECENT];
	const uint8_t size_class = usage_size_class(change->allocation.size_bytes);
	const bool is_own = kind->row == event->call->row;
	unsigned int i;

	if (oom_sort_of_space(kind->space) != oom_sort_of_space(change->allocation.space) ||
	    (kind->device >= 0 && change->device >= 0 && kind->device != change->device))
		return;
	if (is_own)
		kind->held[last] &= ~(((1ull << size_class) - 1) | 1ull << size_class);
	for (i = first; i <= now; i++) {
		kind->any[i] = larger(kind->any[i], size_class + 1);
		kind->own[i] = larger(kind->own[i], is_own ? size_class + 1 : 0);
	}
}

int refusals_event(struct process_activity *activity, const struct event *event,
		   const struct change *change, bool *began)
{
	struct refusals *refusals = activity->refusals;
	const struct ms_call *call = event->call;
	size_t i;

	*began = false;
	if (event->probe->spec.op != MS_OP_ALLOC || call->flags & MS_CALL_PART ||
	    !(call->known & MS_KNOWN_SIZE) || !call->size)
		return 0;
	if (oom_watch_is_failure(event))
		return refuse(activity, event, change, began);
	if (!event_succeeded(call) || !change->has_allocation)
		return 0;
	for (i = 0; refusals && i < refusals->count; i++)
		grant(&refusals->kinds[i], event, change, activity->bucket);
	return 0;
}

/* ---- what has gone on ------------------------------------------------------------------------ */

static bool is_wanted(const struct refusal_kind *kind, const struct refusals_wanted *wanted)
{
	if (oom_relation_is_host(kind->space) != oom_relation_is_host(wanted->space))
		return false;
	if (wanted->row != MS_NO_ROW && kind->row != wanted->row)
		return false;
	return wanted->device < 0 || kind->device < 0 || wanted->device == kind->device;
}

/* Of these classes, those that are much larger than all that was granted. */
static uint64_t without_less(uint64_t classes, uint8_t granted)
{
	const unsigned int least = granted ? granted + LESS_STEPS : 0;

	return least < CLASSES ? classes >> least << least : 0;
}

/* Blocks like those, or smaller ones. */
static bool is_held_in(const struct refusal_kind *kind, const struct refusals_wanted *wanted,
		       unsigned int bucket)
{
	uint64_t classes = kind->held[bucket];
	unsigned int i;

	if (wanted->nothing_less)
		classes = without_less(classes, kind->own[bucket]);
	for (i = 0; i < CLASSES; i++)
		if (classes >> i & 1 && kind->least_bytes[i] <= wanted->bytes)
			return true;
	return false;
}

/* What the function has been granted again and again: classes up to the largest of them. */
static uint64_t usual_classes(const struct process_activity *activity,
			      const struct refusal_kind *kind)
{
	uint64_t allocs[CLASSES] = { 0 }, sum = 0;
	size_t i;

	for (i = 0; i < activity->groups_count; i++) {
		const struct group *group = &activity->groups[i];

		if (group->row == kind->row &&
		    (kind->device < 0 || group->device < 0 || group->device == kind->device))
			allocs[group->size_class] += group->allocs;
	}
	for (i = CLASSES; i > 0; i--) {
		sum += allocs[i - 1];
		if (sum >= USUAL)
			return (1ull << (i - 1)) | ((1ull << (i - 1)) - 1);
	}
	return 0;
}

/* What was usual is refused, and nothing like the blocks was granted since, nor less of it. */
static bool is_starved_in(const struct process_activity *activity, const struct refusal_kind *kind,
			  const struct refusals_wanted *wanted, unsigned int bucket)
{
	return kind->refused[bucket] && kind->any[bucket] <= usage_size_class(wanted->bytes) &&
	       without_less(kind->refused[bucket] & usual_classes(activity, kind),
			    kind->any[bucket]);
}

static bool is_refused_in(const struct process_activity *activity,
			  const struct refusals_wanted *wanted, unsigned int bucket)
{
	const struct refusals *refusals = activity->refusals;
	size_t i;

	for (i = 0; refusals && i < refusals->count; i++) {
		const struct refusal_kind *kind = &refusals->kinds[i];

		if (is_wanted(kind, wanted) &&
		    (wanted->row != MS_NO_ROW ? is_held_in(kind, wanted, bucket) :
						is_starved_in(activity, kind, wanted, bucket)))
			return true;
	}
	return false;
}

bool refusals_occur(const struct process_activity *activity, const struct refusals_wanted *wanted,
		    unsigned int first, unsigned int last)
{
	const struct refusals *refusals = activity->refusals;
	unsigned int bucket;
	size_t i;

	for (i = 0; refusals && i < refusals->count; i++)
		for (bucket = first; bucket <= last && bucket < ACTIVITY_BUCKETS; bucket++)
			if (is_wanted(&refusals->kinds[i], wanted) &&
			    refusals->kinds[i].refused[bucket])
				return true;
	return false;
}

bool refusals_go_on(const struct process_activity *activity, const struct refusals_wanted *wanted,
		    unsigned int first, unsigned int last)
{
	unsigned int parts = 0, i;

	for (i = first; i <= last && i < ACTIVITY_BUCKETS; i++)
		if (is_refused_in(activity, wanted, i))
			parts |= 1u << ((i - first) * PARTS / (last + 1 - first));
	return parts == (1u << PARTS) - 1;
}
