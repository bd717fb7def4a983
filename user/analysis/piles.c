// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/piles.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/findings.h"
#include "analysis/growth.h"
#include "analysis/leaks.h"
#include "analysis/unexplained.h"
#include "base/memory.h"
#include "ledger/objects.h"

/* Objects of one kind on one device, counted as allocations of one byte are. */
struct pile {
	uint8_t kind; /* enum ms_object_kind */
	struct group group;
};

struct piles {
	struct pile *list;
	size_t count, capacity, last;
	uint32_t used; /* bit set of devices to which the process gave work, or has memory there */
	uint64_t unknown; /* calls that did, where is not known */
	bool ran_before;  /* it was traced */
};

void piles_free(struct piles *piles)
{
	size_t i;

	for (i = 0; piles && i < piles->count; i++)
		free(piles->list[i].group.freed);
	if (piles)
		free(piles->list);
	free(piles);
}

size_t piles_bytes(const struct piles *piles)
{
	size_t bytes, i;

	if (!piles)
		return 0;
	bytes = sizeof(*piles) + piles->capacity * sizeof(*piles->list);
	for (i = 0; i < piles->count; i++)
		bytes += piles->list[i].group.freed ? sizeof(*piles->list[i].group.freed) : 0;
	return bytes;
}

void piles_fold(struct piles *piles)
{
	size_t i;

	for (i = 0; piles && i < piles->count; i++)
		group_fold(&piles->list[i].group);
}

static struct piles *piles_of(struct process_activity *activity)
{
	if (!activity->piles)
		activity->piles = calloc(1, sizeof(*activity->piles));
	return activity->piles;
}

/* ---- what is made, what ends ----------------------------------------------------------------- */

/* One number is as good as another for those that no machine has. */
static int32_t device_of(const struct object *object)
{
	return (uint32_t)object->device < ACTIVITY_DEVICES ? object->device : -1;
}

static bool is_pile_of(const struct pile *pile, const struct object *object)
{
	return pile->kind == object->kind && pile->group.device == device_of(object);
}

/* NULL: there is none. */
static struct pile *find_pile(struct piles *piles, const struct object *object)
{
	size_t i;

	if (piles->last < piles->count && is_pile_of(&piles->list[piles->last], object))
		return &piles->list[piles->last];
	for (i = 0; i < piles->count; i++)
		if (is_pile_of(&piles->list[i], object)) {
			piles->last = i;
			return &piles->list[i];
		}
	return NULL;
}

/* NULL without memory. */
static struct pile *pile_of(struct process_activity *activity, const struct object *object)
{
	struct piles *piles = piles_of(activity);
	struct pile *pile = piles ? find_pile(piles, object) : NULL;

	if (pile || !piles ||
	    memory_grow(&piles->list, &piles->capacity, piles->count + 1, sizeof(*piles->list)))
		return pile;
	pile = &piles->list[piles->count++];
	*pile = (struct pile){ .kind = object->kind,
			       .group = { .row = object->row,
					  .device = device_of(object),
					  .newest = activity->bucket } };
	return pile;
}

static int add(struct process_activity *activity, const struct object *object)
{
	struct pile *pile = pile_of(activity, object);

	if (!pile)
		return -ENOMEM;
	pile->group.row = object->row; /* the first ones may be set up by another function */
	group_add(&pile->group, activity->bucket,
		  process_activity_born_at(activity, object->made_ns), 1);
	if (!pile->group.first_ts_ns || object->made_ns < pile->group.first_ts_ns)
		pile->group.first_ts_ns = object->made_ns;
	return 0;
}

/*
 * What has been there for a while is cleared away, as when a program ends; what comes and goes is
 * how it works.
 */
static bool is_old(const struct process_activity *activity, const struct object *object)
{
	return activity->now_ns > object->made_ns &&
	       activity->now_ns - object->made_ns >= activity->options->leak_time_ns;
}

static void end(struct process_activity *activity, const struct object *object)
{
	struct pile *pile = activity->piles ? find_pile(activity->piles, object) : NULL;

	if (!pile)
		return;
	pile->group.frees++;
	group_remove(&pile->group, activity->bucket,
		     process_activity_born_at(activity, object->made_ns), 1,
		     activity->ending.number);
}

/* What ends together, as with a context, ends as if it were as old as the oldest of it. */
static void end_all(struct process_activity *activity, const struct change *change)
{
	const size_t count = change->ended_objects_count;
	bool old = false;
	size_t i;

	for (i = 0; i < count; i++)
		old |= is_old(activity, &change->ended_objects[i]);
	if (old)
		process_activity_note_frees(activity, &activity->ending, count);
	for (i = 0; i < count; i++)
		end(activity, &change->ended_objects[i]);
}

/* Whether the call gives a device work, or memory of it to the process. */
static bool uses_device(const struct event *event, const struct change *change)
{
	switch (event->probe->spec.op) {
	case MS_OP_ALLOC:
		return change->has_allocation && usage_is_on_device(change->allocation.space);
	case MS_OP_COPY:
	case MS_OP_MEMSET:
	case MS_OP_LAUNCH:
		return true;
	}
	return false;
}

static int note_use(struct process_activity *activity, const struct event *event,
		    const struct change *change)
{
	struct piles *piles;

	if (!event_succeeded(event->call) || !uses_device(event, change))
		return 0;
	piles = piles_of(activity);
	if (!piles)
		return -ENOMEM;
	piles->ran_before |= change->process->was_running;
	if ((uint32_t)change->device < ACTIVITY_DEVICES)
		piles->used |= 1u << change->device;
	else
		piles->unknown += event->count;
	return 0;
}

int piles_event(struct process_activity *activity, const struct event *event,
		const struct change *change)
{
	const bool read = activity->piles_read == activity->events;
	struct pile *pile;

	if (!read)
		end_all(activity, change);
	if (!change->made_object)
		return note_use(activity, event, change);
	if (!read && add(activity, change->made_object))
		return -ENOMEM;
	pile = pile_of(activity, change->made_object);
	if (!pile)
		return -ENOMEM;
	pile->group.allocs++;
	activity->piles->ran_before |= change->process->was_running;
	return 0;
}

void piles_end_program(struct process_activity *activity)
{
	struct piles *piles = activity->piles;
	size_t i;

	for (i = 0; piles && i < piles->count; i++) {
		group_clear(&piles->list[i].group, activity->bucket, 0);
		group_settle(&piles->list[i].group);
	}
	if (piles)
		piles->used = 0;
}

struct scan {
	struct process_activity *activity;
	int err;
};

static void scan_object(void *context, const struct object *object)
{
	struct scan *scan = context;

	if (!scan->err)
		scan->err = add(scan->activity, object);
}

int piles_scan(struct process_activity *activity, const struct process *process)
{
	struct scan scan = { .activity = activity };
	struct piles *piles = activity->piles;
	size_t i;

	for (i = 0; piles && i < piles->count; i++)
		group_clear(&piles->list[i].group, activity->bucket, 0);
	objects_each(process, scan_object, &scan);
	activity->piles_read = activity->events;
	piles = activity->piles;
	for (i = 0; piles && i < piles->count; i++)
		group_settle(&piles->list[i].group);
	return scan.err;
}

/* ---- piles ----------------------------------------------------------------------------------- */

/* Fewer contexts are many: each takes hundreds of megabytes. */
static struct analysis_options options_of(const struct analysis_options *options, uint8_t kind)
{
	struct analysis_options own = *options;

	own.leak_count = kind == MS_OBJECT_CONTEXT ? options->pile_contexts : options->pile_count;
	own.leak_bytes = 0;
	return own;
}

/* What of the device's memory no allocation explains has grown by, for each that was made. */
static void say_cost(const struct process_activity *activity, const struct group *group,
		     const struct growth *growth, struct finding *finding)
{
	unsigned int first, last, i;
	uint64_t count = 0, rise;

	if (!unexplained_rise(activity, group->device, growth->first_ns, growth->last_ns, &rise,
			      &first, &last))
		return;
	for (i = first + 1; i <= last; i++)
		count += group->born[i].count;
	if (!count)
		return;
	finding_say(finding, "more in use meanwhile that no allocation explains", FINDING_BYTES,
		    rise);
	finding_say(finding, "for each that was made, at most", FINDING_BYTES, rise / count);
	finding->bytes = rise;
}

static int report_pile(const struct process_activity *activity, uint8_t kind,
		       const struct group *group, const struct growth *growth, bool freed,
		       const struct analysis_options *options, struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_PILE);
	const uint64_t length_ns = growth->last_ns - growth->first_ns;

	finding.device = group->device;
	finding.row = group->row;
	finding.object = kind;
	finding.count = growth->live.count;
	finding.first_ts_ns = growth->first_ns;
	finding.last_ts_ns = growth->last_ns;
	finding.freed = freed;
	finding_say(&finding, freed ? "live before the end" : "live at the end", FINDING_COUNT,
		    growth->live.count);
	finding_say(&finding, "left behind while they became more", FINDING_COUNT,
		    growth->left.count);
	finding_say(&finding, "seen growing for", FINDING_NS, length_ns);
	finding_say(&finding, "windows, out of 7, that left something behind", FINDING_COUNT,
		    growth->windows);
	finding_say(&finding, "made", FINDING_COUNT, growth->allocs);
	finding_say(&finding, "destroyed, or ended with a context", FINDING_COUNT, growth->freed);
	finding_say(&finding, "launches meanwhile", FINDING_COUNT, growth->launches);
	say_cost(activity, group, growth, &finding);
	leaks_growth_confidence(growth, options, &finding);
	if (freed)
		finding_lower(&finding, FINDING_MEDIUM,
			      "they were destroyed when the program ended");
	return findings_add(findings, &finding);
}

static int judge_pile(struct process_activity *activity, uint8_t kind, const struct family *family,
		      const struct analysis_options *options, struct findings *findings)
{
	const struct growth_view last = growth_view_last(activity),
				 before = growth_view_before(activity, &activity->ending);
	const struct analysis_options own = options_of(options, kind);
	struct growth growth;

	if (growth_of(&last, family, &own, &growth))
		return report_pile(activity, kind, family->members[0], &growth, false, options,
				   findings);
	if (process_activity_has_ended(activity, &activity->ending) &&
	    growth_of(&before, family, &own, &growth))
		return report_pile(activity, kind, family->members[0], &growth, true, options,
				   findings);
	return 0;
}

/* A group whose blocks have one byte each. */
struct counted {
	struct group group;
	struct group_freed freed;
};

static void count_amounts(struct amount *amounts, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		amounts[i].bytes = amounts[i].count;
}

static void count_group(struct counted *counted, const struct group *group)
{
	counted->group = *group;
	count_amounts(counted->group.born, GROUP_TIMES);
	count_amounts(counted->group.lowest, ACTIVITY_BUCKETS);
	count_amounts(&counted->group.live, 1);
	if (!group->freed)
		return;
	counted->freed = *group->freed;
	count_amounts(counted->freed.born, GROUP_TIMES);
	count_amounts(&counted->freed.lowest, 1);
	count_amounts(&counted->freed.live, 1);
	counted->group.freed = &counted->freed;
}

static int judge_opened(struct process_activity *activity, const struct family *family,
			const struct analysis_options *options, struct findings *findings)
{
	struct counted *counted = calloc(family->count, sizeof(*counted));
	struct group *members[USAGE_CLASSES]; /* a family has one of each at most */
	const struct family counts = { .members = members, .count = family->count };
	size_t i;
	int err;

	if (!counted)
		return -ENOMEM;
	for (i = 0; i < family->count; i++) {
		count_group(&counted[i], family->members[i]);
		members[i] = &counted[i].group;
	}
	err = judge_pile(activity, MS_OBJECT_OPENED, &counts, options, findings);
	free(counted);
	return err;
}

/* Memory of other processes is followed as memory is, but its size may not be known. */
static int report_opened(struct process_activity *activity, const struct analysis_options *options,
			 struct findings *findings)
{
	struct families families;
	struct family family = { 0 };
	int err = families_init(&families, activity);

	while (!err && families_next(&families, &family))
		if (family.members[0]->space == MS_SPACE_IMPORTED && !family_is_reported(&family))
			err = judge_opened(activity, &family, options, findings);
	families_fini(&families);
	return err;
}

int piles_report(struct process_activity *activity, const struct analysis_options *options,
		 struct findings *findings)
{
	struct piles *piles = activity->piles;
	size_t i;
	int err = 0;

	for (i = 0; piles && !err && i < piles->count; i++) {
		struct group *group = &piles->list[i].group;
		const struct family family = { .members = &group, .count = 1 };

		err = judge_pile(activity, piles->list[i].kind, &family, options, findings);
	}
	return err ? err : report_opened(activity, options, findings);
}

/* ---- contexts with which nothing is done ----------------------------------------------------- */

static int report_idle(const struct process_activity *activity, const struct group *group,
		       struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_IDLE_CONTEXT);

	finding.device = group->device;
	finding.row = group->row;
	finding.object = MS_OBJECT_CONTEXT;
	finding.count = group->live.count;
	finding.first_ts_ns = group->first_ts_ns;
	finding_say(&finding, "contexts", FINDING_COUNT, group->live.count);
	finding_say(&finding, "without work or memory there for", FINDING_NS,
		    activity->now_ns - group->first_ts_ns);
	if (activity->piles->unknown)
		finding_lower(&finding, FINDING_MEDIUM,
			      "on which device it launched is not known, but it had no memory"
			      " there");
	if (activity->piles->ran_before)
		finding_lower(&finding, FINDING_LOW,
			      "it ran before it was traced: what it holds there is not known");
	if (!activity->exited)
		finding_lower(&finding, FINDING_MEDIUM, "it may give the device work later");
	return findings_add(findings, &finding);
}

/* Work on a device that is not known is on this one, if there is no other that has any. */
static bool is_idle(const struct piles *piles, const struct group *group)
{
	return group->device >= 0 && !(piles->used >> group->device & 1) &&
	       (!piles->unknown || piles->used);
}

int piles_report_idle(struct process_activity *activity, const struct analysis_options *options,
		      struct findings *findings)
{
	struct piles *piles = activity->piles;
	size_t i;
	int err = 0;

	for (i = 0; piles && !err && i < piles->count; i++) {
		const struct group *group = &piles->list[i].group;

		if (piles->list[i].kind != MS_OBJECT_CONTEXT || !group->live.count ||
		    !is_idle(piles, group) ||
		    activity->now_ns - group->first_ts_ns < options->context_time_ns)
			continue;
		err = report_idle(activity, group, findings);
	}
	return err;
}
