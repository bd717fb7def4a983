// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/copies.h"

#include <errno.h>
#include <stdlib.h>

#define SLOTS 256 /* device addresses that are remembered; others displace them */

/* The last copy from or to a device address. */
struct slot {
	uint64_t device_addr, host_addr, size;
	uint64_t device_changes; /* as many as there had been */
	uint64_t host_changes;   /* of what is page-locked */
	uint8_t direction;
	bool pageable; /* as of `host_changes` */
	bool used;
};

/* Copies that are told together. */
struct tally {
	struct amount amount;
	uint64_t duration_ns, first_ns, last_ns;
	struct stack_tally lines; /* of that duration */
};

struct copies {
	struct ledger pinned; /* host memory that is page-locked, or managed */
	uint64_t host_changes, device_changes;
	struct slot slots[SLOTS];
	struct tally back;  /* read back what had just been written */
	struct tally again; /* the same in the same direction */

	bool unclear;          /* host memory may be page-locked although that was not seen */
	struct tally pageable; /* the synchronous ones; `first_ns` and `last_ns` are of all */
	struct amount pageable_async;
	struct amount pageable_small; /* such as would be no faster from page-locked memory */
};

void copies_free(struct copies *copies)
{
	if (!copies)
		return;
	ledger_fini(&copies->pinned);
	free(copies);
}

size_t copies_bytes(const struct copies *copies)
{
	return copies ? sizeof(*copies) + ledger_bytes(&copies->pinned) : 0;
}

static struct copies *copies_of(struct process_activity *activity)
{
	if (!activity->copies)
		activity->copies = calloc(1, sizeof(*activity->copies));
	return activity->copies;
}

/* ---- what is page-locked --------------------------------------------------------------------- */

static bool is_pinned(const struct allocation *allocation)
{
	return allocation->space == MS_SPACE_PINNED || allocation->space == MS_SPACE_REGISTERED ||
	       allocation->space == MS_SPACE_MANAGED;
}

int copies_alloc(struct process_activity *activity, const struct allocation *allocation)
{
	struct copies *copies;
	struct allocation stale;

	if (!is_pinned(allocation))
		return 0;
	copies = copies_of(activity);
	if (!copies)
		return -ENOMEM;
	copies->host_changes++;
	ledger_remove(&copies->pinned, allocation->addr, &stale);
	return ledger_insert(&copies->pinned, allocation);
}

void copies_end(struct process_activity *activity, const struct allocation *allocation)
{
	struct allocation ended;

	if (!activity->copies || !is_pinned(allocation))
		return;
	activity->copies->host_changes++;
	ledger_remove(&activity->copies->pinned, allocation->addr, &ended);
}

void copies_forget_pinned(struct process_activity *activity)
{
	if (!activity->copies)
		return;
	activity->copies->host_changes++;
	ledger_fini(&activity->copies->pinned);
}

void copies_device_changed(struct process_activity *activity)
{
	if (activity->copies)
		activity->copies->device_changes++;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void amount_add(struct amount *amount, const struct event *event)
{
	amount->count += event->count;
	amount->bytes += event->call->size;
}

static void tally_extend(struct tally *tally, const struct event *event)
{
	if (!tally->first_ns)
		tally->first_ns = event_begin_ns(event);
	tally->last_ns = event_end_ns(event);
}

static void tally_add(struct tally *tally, const struct event *event)
{
	tally_extend(tally, event);
	amount_add(&tally->amount, event);
	tally->duration_ns += event->call->duration_ns;
	stack_tally_add(&tally->lines, event_stack_id(event->call), event->call->duration_ns);
}

/* The same in every run: what is found depends on which addresses share a slot. */
static size_t slot_of(uint64_t device_addr)
{
	device_addr ^= device_addr >> 32;
	device_addr *= 0x9e3779b97f4a7c15ull;
	return (device_addr ^ device_addr >> 29) % SLOTS;
}

/* Again or back, if the slot holds the same block, place and size, and the device is unchanged. */
static void compare(struct copies *copies, const struct slot *before, const struct slot *now,
		    const struct event *event)
{
	if (!before->used || before->device_addr != now->device_addr ||
	    before->host_addr != now->host_addr || before->size != now->size ||
	    before->device_changes != now->device_changes)
		return;
	if (before->direction == now->direction)
		tally_add(&copies->again, event);
	else if (before->direction == MS_DIRECTION_HTOD)
		tally_add(&copies->back, event);
	/* The other way round, the host may have changed in between what it writes back. */
}

static bool is_pageable(struct copies *copies, const struct slot *before, const struct slot *now)
{
	if (before->used && before->host_addr == now->host_addr &&
	    before->host_changes == now->host_changes)
		return before->pageable;
	return !ledger_containing(&copies->pinned, now->host_addr);
}

static void pageable_add(struct copies *copies, const struct event *event, uint64_t least)
{
	/* The driver takes small ones along with the command; summed up, they are so on average. */
	if (event->call->size / (event->count ? event->count : 1) < least) {
		amount_add(&copies->pageable_small, event);
		return;
	}
	if (event_is_synchronous(event)) {
		tally_add(&copies->pageable, event);
		return;
	}
	tally_extend(&copies->pageable, event);
	amount_add(&copies->pageable_async, event);
}

/* Whether page-locked memory may be unknown: as side_of() of the state has it. */
static bool is_unclear(const struct process *process)
{
	return process->was_running || process->entries_only ||
	       process->counters[COUNTER_UNKNOWN_ALLOCS] ||
	       process->counters[COUNTER_UNKNOWN_SIZES] ||
	       process->counters[COUNTER_OTHER_ALLOCATIONS];
}

/*
 * Copies that were summed up have their blocks in common, and are told before one of these ends: so
 * whether their host memory is page-locked can still be found out. In which order they were cannot.
 */
static void sum_event(struct copies *copies, const struct event *event, uint64_t host_addr,
		      uint64_t least)
{
	copies->device_changes++;
	if (!ledger_containing(&copies->pinned, host_addr))
		pageable_add(copies, event, least);
}

int copies_event(struct process_activity *activity, const struct event *event,
		 const struct change *change)
{
	const struct ms_call *call = event->call;
	const uint16_t needed = MS_KNOWN_ADDR | MS_KNOWN_SRC | MS_KNOWN_SIZE;
	const bool down = change->direction == MS_DIRECTION_HTOD;
	struct copies *copies = copies_of(activity);
	struct slot now, *slot;

	if (!copies)
		return -ENOMEM;
	if ((!down && change->direction != MS_DIRECTION_DTOH) || (call->known & needed) != needed) {
		copies->device_changes++;
		return 0;
	}
	copies->unclear |= is_unclear(change->process);
	if (event->header->type == MS_TYPE_CALLS) {
		sum_event(copies, event, down ? call->src : call->addr,
			  activity->options->pageable_least);
		return 0;
	}
	now = (struct slot){
		.device_addr = down ? call->addr : call->src,
		.host_addr = down ? call->src : call->addr,
		.size = call->size,
		.device_changes = copies->device_changes,
		.host_changes = copies->host_changes,
		.direction = change->direction,
		.used = true,
	};
	slot = &copies->slots[slot_of(now.device_addr)];
	compare(copies, slot, &now, event);
	now.pageable = is_pageable(copies, slot, &now);
	if (now.pageable)
		pageable_add(copies, event, activity->options->pageable_least);
	*slot = now;
	return 0;
}

/* ---- findings -------------------------------------------------------------------------------- */

static struct finding finding_of(const struct process_activity *activity, enum finding_rule rule,
				 const struct tally *tally, const char *what)
{
	struct finding finding = process_activity_finding(activity, rule);

	finding.first_ts_ns = tally->first_ns;
	finding.last_ts_ns = tally->last_ns;
	finding.bytes = tally->amount.bytes;
	finding.duration_ns = tally->duration_ns;
	finding.lines = tally->lines;
	finding_say(&finding, what, FINDING_COUNT, tally->amount.count);
	finding_say(&finding, "bytes copied by them", FINDING_BYTES, tally->amount.bytes);
	finding_say(&finding, "time in these calls", FINDING_NS, tally->duration_ns);
	return finding;
}

static int report_back(const struct process_activity *activity, const struct tally *tally,
		       struct findings *findings)
{
	struct finding finding =
		finding_of(activity, FINDING_REDUNDANT_COPIES, tally,
			   "copies back of what had just been copied to the device");

	return findings_add(findings, &finding);
}

static int report_again(const struct process_activity *activity, const struct tally *tally,
			struct findings *findings)
{
	struct finding finding =
		finding_of(activity, FINDING_REDUNDANT_COPIES, tally,
			   "copies of the same block, place and direction as before");

	finding_lower(&finding, FINDING_LOW,
		      "what the host, or a kernel still running, writes is not seen");
	return findings_add(findings, &finding);
}

static bool is_worth(const struct tally *redundant, const struct analysis_options *options)
{
	return redundant->amount.count >= options->redundant_count &&
	       redundant->amount.bytes >= options->redundant_bytes;
}

static int report_pageable(const struct process_activity *activity, const struct copies *copies,
			   struct findings *findings)
{
	struct finding finding = finding_of(activity, FINDING_PAGEABLE_COPIES, &copies->pageable,
					    "synchronous copies from or to pageable memory");

	finding_say(&finding, "asynchronous copies from or to it", FINDING_COUNT,
		    copies->pageable_async.count);
	finding_say(&finding, "bytes of the asynchronous copies", FINDING_BYTES,
		    copies->pageable_async.bytes);
	finding_say(&finding, "small copies that are not counted", FINDING_COUNT,
		    copies->pageable_small.count);
	if (activity->launches)
		finding_lower(&finding, FINDING_MEDIUM,
			      "a synchronous copy also waits for kernels launched before it");
	return findings_add(findings, &finding);
}

int copies_report_redundant(struct process_activity *activity,
			    const struct analysis_options *options, struct findings *findings)
{
	const struct copies *copies = activity->copies;
	int err = 0;

	/* Launches that were only counted may have come between two copies. */
	if (!copies || activity->summed)
		return 0;
	if (is_worth(&copies->back, options))
		err = report_back(activity, &copies->back, findings);
	if (!err && is_worth(&copies->again, options))
		err = report_again(activity, &copies->again, findings);
	return err;
}

int copies_report_pageable(struct process_activity *activity,
			   const struct analysis_options *options, struct findings *findings)
{
	const struct copies *copies = activity->copies;
	uint64_t length = activity->now_ns - activity->base_ns;

	if (!copies || copies->unclear || copies->pageable.amount.bytes < options->pageable_bytes ||
	    (double)copies->pageable.duration_ns * 100 <
		    (double)length * (double)options->pageable_share)
		return 0;
	return report_pageable(activity, copies, findings);
}
