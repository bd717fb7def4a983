// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/failed_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/oom.h"

#define KINDS 32  /* of failures that are told apart; the others are not looked at */
#define FREED 128 /* addresses freed last that are remembered: a power of two */
#define SCAN 4096 /* blocks that are looked at to find the one that is in the way */

/* Failures with the same result of the same function; of an error that stays, of any. */
struct kind {
	uint16_t row;
	int32_t result;
	bool stays;
	uint64_t count, again, kept_bytes;
	uint64_t first_ns, last_ns, last_addr;
	struct stack_tally lines; /* of `count` */
	bool blocked;
	struct allocation block; /* what is in the way of a registration or mapping */
};

struct freed {
	uint64_t addr;
	uint8_t key;
	bool known;
};

struct failed_calls {
	struct kind kinds[KINDS];
	size_t count;
	struct freed freed[FREED];
	size_t next;
};

void failed_calls_free(struct failed_calls *calls)
{
	free(calls);
}

size_t failed_calls_bytes(const struct failed_calls *calls)
{
	return calls ? sizeof(*calls) : 0;
}

static struct failed_calls *calls_of(struct process_activity *activity)
{
	if (!activity->failed_calls)
		activity->failed_calls = calloc(1, sizeof(*activity->failed_calls));
	return activity->failed_calls;
}

/* ---- which ----------------------------------------------------------------------------------- */

/*
 * Not initialized yet, or already shut down: what a program does in its destructors. The numbers
 * are the same in both APIs (cuda.h, driver_types.h: CUresult and cudaError_t).
 */
static bool is_of_shutdown(int32_t result)
{
	return result == 3 || result == 4;
}

/*
 * "This leaves the process in an inconsistent state and any further CUDA work will return the same
 * error" (cuda.h, of these).
 */
bool failed_calls_stays(int32_t result)
{
	switch (result) {
	case 214: /* uncorrectable ECC error */
	case 220: /* uncorrectable NVLink error */
	case 700: /* illegal address */
	case 702: /* launch timeout */
	case 710: /* assertion */
	case 714: /* hardware stack */
	case 715: /* illegal instruction */
	case 716: /* misaligned address */
	case 717: /* invalid address space */
	case 718: /* invalid program counter */
	case 719: /* launch failed */
		return true;
	}
	return false;
}

/* What gives memory back, or needs a place that is free. */
static bool is_about_memory(const struct event *event)
{
	const struct ms_spec *spec = &event->probe->spec;

	return spec->op == MS_OP_FREE ||
	       (spec->op == MS_OP_ALLOC &&
		(spec->space == MS_SPACE_REGISTERED || spec->space == MS_SPACE_MAPPED));
}

#define NOT_SUPPORTED 801 /* in both APIs: who tries has another way */

/* A program that does not look at their results goes on without the data. */
static bool is_work(const struct event *event)
{
	const uint8_t op = event->probe->spec.op;

	return (op == MS_OP_COPY || op == MS_OP_MEMSET || op == MS_OP_LAUNCH) &&
	       event->call->result != NOT_SUPPORTED;
}

static struct kind *kind_of(struct failed_calls *calls, const struct event *event)
{
	const struct ms_call *call = event->call;
	const bool any = failed_calls_stays(call->result);
	struct kind *kind;
	size_t i;

	for (i = 0; i < calls->count; i++) {
		kind = &calls->kinds[i];
		if (kind->result == call->result && (any || kind->row == call->row))
			return kind;
	}
	if (calls->count == KINDS)
		return NULL;
	kind = &calls->kinds[calls->count++];
	*kind = (struct kind){ .row = call->row,
			       .result = call->result,
			       .stays = any,
			       .first_ns = event_end_ns(event) };
	return kind;
}

/* ---- what it was about ----------------------------------------------------------------------- */

static void note_freed(struct failed_calls *calls, const struct event *event)
{
	calls->freed[calls->next++ % FREED] = (struct freed){ .addr = event->call->addr,
							      .key = event->probe->spec.key,
							      .known = true };
}

static bool was_freed(const struct failed_calls *calls, const struct event *event)
{
	size_t i;

	for (i = 0; i < FREED; i++)
		if (calls->freed[i].known && calls->freed[i].addr == event->call->addr &&
		    calls->freed[i].key == event->probe->spec.key)
			return true;
	return false;
}

static void note_failed_free(const struct failed_calls *calls, struct kind *kind,
			     const struct event *event, const struct change *change)
{
	const struct ledger *ledger = &change->process->ledgers[event->probe->spec.key];
	const struct allocation *live = ledger_find(ledger, event->call->addr);

	if (live)
		kind->kept_bytes += live->size_bytes;
	else if (was_freed(calls, event))
		kind->again += event->count;
}

static bool overlaps(const struct allocation *block, const struct ms_call *call)
{
	return block->addr < call->addr + (call->size ? call->size : 1) &&
	       call->addr < block->addr + block->size_bytes;
}

/* The block that a registration or mapping runs into, if there are not too many to look at. */
static void note_blocked(struct kind *kind, const struct event *event, const struct change *change)
{
	const struct ledger *ledger = &change->process->ledgers[event->probe->spec.key];
	size_t i;

	if (kind->blocked || ledger->count > SCAN)
		return;
	for (i = 0; i < ledger->count && !kind->blocked; i++) {
		kind->blocked = overlaps(&ledger->entries[i], event->call);
		kind->block = ledger->entries[i];
	}
}

static void note_failure(struct failed_calls *calls, const struct event *event,
			 const struct change *change)
{
	struct kind *kind = kind_of(calls, event);

	if (!kind)
		return;
	kind->count += event->count;
	stack_tally_add(&kind->lines, event_stack_id(event->call), event->count);
	kind->last_ns = event_end_ns(event);
	if (kind->stays || !is_about_memory(event) || !(event->call->known & MS_KNOWN_ADDR))
		return;
	kind->last_addr = event->call->addr;
	if (event->probe->spec.op == MS_OP_FREE)
		note_failed_free(calls, kind, event, change);
	else
		note_blocked(kind, event, change);
}

int failed_calls_event(struct process_activity *activity, const struct event *event,
		       const struct change *change)
{
	const struct ms_call *call = event->call;
	const bool freed = event->probe->spec.op == MS_OP_FREE && event_succeeded(call);
	const bool failed =
		!event_succeeded(call) && !is_of_shutdown(call->result) &&
		(failed_calls_stays(call->result) ||
		 ((is_about_memory(event) || is_work(event)) && call->result != OOM_RESULT));
	struct failed_calls *calls;

	/* The same will be said by the outer call. */
	if (call->flags & MS_CALL_PART || (!freed && !failed))
		return 0;
	calls = calls_of(activity);
	if (!calls)
		return -ENOMEM;
	if (failed)
		note_failure(calls, event, change);
	else if (call->known & MS_KNOWN_ADDR && call->addr && change->free != FREE_KEPT)
		note_freed(calls, event);
	return 0;
}

/* ---- the finding ----------------------------------------------------------------------------- */

static int report_kind(const struct process_activity *activity, const struct kind *kind,
		       struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_FAILED_CALLS);

	finding.row = kind->row;
	finding.first_ts_ns = kind->first_ns;
	finding.last_ts_ns = kind->last_ns;
	finding.bytes = kind->kept_bytes;
	finding.lines = kind->lines;
	if (kind->stays)
		finding.says = "had %1, after which no call works any more";
	finding_say(&finding,
		    kind->stays ? "calls, this one and others, that failed with this result" :
				  "calls that failed",
		    FINDING_COUNT, kind->count);
	finding_say(&finding, "result",
		    probe_at(kind->row)->layer == MS_LAYER_DRIVER ? FINDING_CURESULT :
								    FINDING_CUDAERROR,
		    (uint32_t)kind->result);
	finding_say(&finding, "first failure at", FINDING_TIME, kind->first_ns);
	finding_say(&finding, "last failure at", FINDING_TIME, kind->last_ns);
	if (kind->stays)
		finding_say(&finding, "errors that stay: later calls in this context fail, too",
			    FINDING_COUNT, 1);
	if (kind->again)
		finding_say(&finding, "of them, of what had been given back already", FINDING_COUNT,
			    kind->again);
	if (kind->kept_bytes)
		finding_say(&finding, "bytes that are live though they were to be freed",
			    FINDING_BYTES, kind->kept_bytes);
	if (kind->last_addr)
		finding_say(&finding, "last called for", FINDING_ADDRESS, kind->last_addr);
	if (kind->blocked) {
		finding_say(&finding, "in its way, block at", FINDING_ADDRESS, kind->block.addr);
		finding_say(&finding, "of bytes", FINDING_BYTES, kind->block.size_bytes);
		finding_say(&finding, "which has been there since", FINDING_TIME,
			    kind->block.ts_ns);
	}
	return findings_add(findings, &finding);
}

int failed_calls_report(struct process_activity *activity, const struct analysis_options *options,
			struct findings *findings)
{
	const struct failed_calls *calls = activity->failed_calls;
	size_t i;
	int err = 0;

	for (i = 0; !err && calls && i < calls->count; i++)
		if (calls->kinds[i].stays || calls->kinds[i].count >= options->failed_count)
			err = report_kind(activity, &calls->kinds[i], findings);
	return err;
}
