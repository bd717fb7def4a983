// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/refusals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/oom_relation.h"
#include "analysis/oom_watch.h"

#define KINDS 8 /* functions and devices: of more, refusals are not noted down */
#define PARTS 4

/* By one function, on one device. */
struct refusal_kind {
	uint16_t row;
	uint8_t space;
	int32_t device;
	uint64_t pending_bytes;  /* refused last, and not granted since; 0: nothing */
	unsigned int pending_in; /* in which bucket */
	uint64_t least_bytes[ACTIVITY_BUCKETS]; /* refused in each; 0: nothing was */
};

struct refusals {
	struct refusal_kind kinds[KINDS];
	size_t count;
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

static void lower(uint64_t *least_bytes, uint64_t bytes)
{
	if (bytes && (!*least_bytes || bytes < *least_bytes))
		*least_bytes = bytes;
}

static void fold_kind(struct refusal_kind *kind)
{
	size_t i;

	for (i = 0; i < ACTIVITY_BUCKETS; i += 2) {
		kind->least_bytes[i / 2] = kind->least_bytes[i];
		lower(&kind->least_bytes[i / 2], kind->least_bytes[i + 1]);
	}
	memset(&kind->least_bytes[ACTIVITY_BUCKETS / 2], 0, sizeof(kind->least_bytes) / 2);
	kind->pending_in /= 2;
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

static int refuse(struct process_activity *activity, const struct event *event,
		  const struct change *change, bool *began)
{
	const struct ms_call *call = event->call;
	struct refusal_kind *kind = find_kind(activity->refusals, call->row, change->device);

	if (!activity->refusals)
		activity->refusals = calloc(1, sizeof(*activity->refusals));
	if (!activity->refusals)
		return -ENOMEM;
	if (!kind && activity->refusals->count == KINDS)
		return 0;
	if (!kind) {
		kind = &activity->refusals->kinds[activity->refusals->count++];
		kind->row = call->row;
		kind->space = event->probe->spec.space;
		kind->device = change->device;
	}
	*began = !kind->least_bytes[activity->bucket];
	lower(&kind->least_bytes[activity->bucket], call->size);
	kind->pending_bytes = call->size;
	kind->pending_in = activity->bucket;
	return 0;
}

/* As much as was refused last: a program that made room has been refused nothing. */
static void grant(struct refusal_kind *kind, uint16_t row, int32_t device, uint64_t bytes)
{
	if (kind->row != row || (kind->device >= 0 && device >= 0 && kind->device != device) ||
	    !kind->pending_bytes || bytes < kind->pending_bytes)
		return;
	kind->least_bytes[kind->pending_in] = 0;
	kind->pending_bytes = 0;
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
		grant(&refusals->kinds[i], call->row, change->device,
		      change->allocation.size_bytes);
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

static bool is_refused_in(const struct refusals *refusals, const struct refusals_wanted *wanted,
			  unsigned int bucket)
{
	size_t i;

	for (i = 0; i < refusals->count; i++) {
		const uint64_t least_bytes = refusals->kinds[i].least_bytes[bucket];

		if (least_bytes && least_bytes <= wanted->most_bytes &&
		    is_wanted(&refusals->kinds[i], wanted))
			return true;
	}
	return false;
}

/* In which of so many parts of these buckets there were some, as a bit set. */
static unsigned int parts_refused(const struct process_activity *activity,
				  const struct refusals_wanted *wanted, unsigned int first,
				  unsigned int last, unsigned int count)
{
	unsigned int parts = 0, i;

	for (i = first; activity->refusals && i <= last && i < ACTIVITY_BUCKETS; i++)
		if (is_refused_in(activity->refusals, wanted, i))
			parts |= 1u << ((i - first) * count / (last + 1 - first));
	return parts;
}

bool refusals_occur(const struct process_activity *activity, const struct refusals_wanted *wanted,
		    unsigned int first, unsigned int last)
{
	return parts_refused(activity, wanted, first, last, 1);
}

bool refusals_go_on(const struct process_activity *activity, const struct refusals_wanted *wanted,
		    unsigned int first, unsigned int last)
{
	return parts_refused(activity, wanted, first, last, PARTS) == (1u << PARTS) - 1;
}
