// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_watch.h"

#include "analysis/oom_ending.h"
#include "analysis/oom_sort.h"

/* Counts of launches are up to a second old: what they count may have been before. */
#define COUNTED_NS 1500000000ull

/* ---- what calls are about -------------------------------------------------------------------- */

static bool is_alike(const struct oom_request *request, const struct event *event)
{
	const enum oom_sort sort = oom_sort_of(&probe_at(request->row)->spec);

	if (sort != oom_sort_of(&event->probe->spec))
		return false;
	return sort != OOM_SORT_ROW || request->row == event->call->row;
}

static bool is_of_process(const struct oom_request *request, const struct ms_event *header)
{
	return request->pid == header->pid && request->start_ns == header->start_ns;
}

bool oom_watch_is_failure(const struct event *event)
{
	const struct ms_call *call = event->call;

	return call && !(call->flags & MS_CALL_PART) && call->known & MS_KNOWN_RESULT &&
	       call->result == MS_CUDA_OUT_OF_MEMORY;
}

/* ---- requests -------------------------------------------------------------------------------- */

static struct oom_request *find(struct oom_watch *watch, const struct ms_event *header)
{
	size_t i;

	for (i = 0; i < watch->count; i++)
		if (watch->requests[i].tid == header->tid &&
		    is_of_process(&watch->requests[i], header))
			return &watch->requests[i];
	return NULL;
}

static void end(struct oom_watch *watch, struct oom_request *request, enum oom_outcome outcome,
		uint64_t ts_ns)
{
	struct oom_request ended = *request;

	*request = watch->requests[--watch->count];
	ended.outcome = outcome;
	ended.end_ts_ns = outcome == OOM_OPEN ? 0 : ts_ns;
	if ((outcome == OOM_RECOVERED || outcome == OOM_BACKED_OFF) && ended.granted_elsewhere)
		ended.site = oom_sites_add(&watch->sites,
					   &(struct oom_refused_site){
						   .pid = ended.pid,
						   .start_ns = ended.start_ns,
						   .stack = ended.stack,
						   .bytes = ended.last_bytes,
						   .failures = ended.stack_failures,
						   .recovered = outcome == OOM_RECOVERED,
						   .backed_off = outcome == OOM_BACKED_OFF &&
								 !ended.granted_at_once,
					   });
	watch->step(watch->context, &ended, OOM_ENDED, NULL, NULL);
}

static struct oom_request *add(struct oom_watch *watch, const struct event *event)
{
	size_t oldest = 0, i;

	if (watch->count == OOM_WATCHED) {
		for (i = 1; i < watch->count; i++)
			if (watch->requests[i].last_ts_ns < watch->requests[oldest].last_ts_ns)
				oldest = i;
		end(watch, &watch->requests[oldest], OOM_OPEN, 0);
	}
	watch->requests[watch->count] = (struct oom_request){
		.pid = event->header->pid,
		.tid = event->header->tid,
		.start_ns = event->header->start_ns,
		.first_ts_ns = event->header->ts_ns,
		.place = SIZE_MAX,
	};
	return &watch->requests[watch->count++];
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static struct oom_run *find_run(struct oom_watch *watch, const struct ms_event *header)
{
	size_t i;

	for (i = 0; i < watch->runs_count; i++)
		if (watch->runs[i].tid == header->tid && watch->runs[i].pid == header->pid &&
		    watch->runs[i].start_ns == header->start_ns)
			return &watch->runs[i];
	return NULL;
}

static void settle(struct oom_watch *watch, struct oom_request *request, uint64_t granted_bytes,
		   uint64_t ts_ns)
{
	/* In pieces, no more of it was seen than had been granted before one failed. */
	const bool enough = granted_bytes >= request->most_bytes;

	if (!enough && granted_bytes < request->last_bytes / OOM_BACK_OFF_PART)
		return;
	request->granted_bytes = granted_bytes;
	if (enough && request->at_least) {
		request->last_bytes = request->most_bytes = granted_bytes;
		request->at_least = false;
	}
	end(watch, request, enough ? OOM_RECOVERED : OOM_BACKED_OFF, ts_ns);
}

/* What a thread has made in pieces is complete: it does something else, or ends. */
static void end_run(struct oom_watch *watch, struct oom_run *run)
{
	const struct ms_event header = { .pid = run->pid,
					 .tid = run->tid,
					 .start_ns = run->start_ns };
	struct oom_request *request = find(watch, &header);
	const struct oom_run ended = *run;

	*run = watch->runs[--watch->runs_count];
	if (request && request->size_known &&
	    oom_sort_of(&probe_at(request->row)->spec) == OOM_SORT_DEVICE) {
		request->granted_elsewhere = false;
		settle(watch, request, ended.piece_bytes * ended.count, ended.last_ts_ns);
	}
}

static void add_piece(struct oom_watch *watch, const struct event *event,
		      const struct allocation *allocation)
{
	struct oom_run *run = find_run(watch, event->header);
	size_t oldest = 0, i;

	if (run && run->piece_bytes != allocation->size_bytes) {
		end_run(watch, run);
		run = NULL;
	}
	if (!run && watch->runs_count == OOM_RUNS) {
		for (i = 1; i < watch->runs_count; i++)
			if (watch->runs[i].last_ts_ns < watch->runs[oldest].last_ts_ns)
				oldest = i;
		end_run(watch, &watch->runs[oldest]);
	}
	if (!run) {
		run = &watch->runs[watch->runs_count++];
		*run = (struct oom_run){ .pid = event->header->pid,
					 .tid = event->header->tid,
					 .start_ns = event->header->start_ns,
					 .piece_bytes = allocation->size_bytes,
					 .first_id = allocation->id };
	}
	run->count++;
	run->last_id = allocation->id;
	run->last_ts_ns = event_end_ns(event);
}

/* What a thread does between the pieces of one request: it maps them, and asks. */
static bool goes_on(const struct event *event)
{
	const struct ms_spec *spec = &event->probe->spec;

	if (spec->op == MS_OP_ALLOC)
		return spec->space == MS_SPACE_PHYSICAL || spec->space == MS_SPACE_MAPPED;
	return spec->op == MS_OP_MEMORY || spec->op == MS_OP_CONTEXT;
}

static void take_pieces(struct oom_watch *watch, struct oom_request *request,
			const struct event *event)
{
	struct oom_run *run = find_run(watch, event->header);

	request->pieces_left = 0;
	if (!run)
		return;
	if (event->probe->spec.space == MS_SPACE_PHYSICAL &&
	    run->piece_bytes == event->call->size) {
		request->piece_bytes = run->piece_bytes;
		request->pieces = run->count + 1;
		request->piece_first_id = run->first_id;
		request->piece_last_id = run->last_id;
		request->pieces_left = run->count;
	}
	*run = watch->runs[--watch->runs_count];
}

static void give_back_piece(struct oom_watch *watch, struct oom_request *request, uint64_t count,
			    const struct event *event, const struct change *change)
{
	request->pieces_left -= count < request->pieces_left ? count : request->pieces_left;
	if (request->pieces_left)
		return;
	request->at_least = true;
	if (request->told)
		request->told_held_bytes = request->piece_bytes * request->pieces_told;
	if (request->failures == 1)
		request->first_bytes = request->piece_bytes * request->pieces;
	request->last_bytes = request->piece_bytes * request->pieces;
	if (request->last_bytes > request->most_bytes)
		request->most_bytes = request->last_bytes;
	watch->step(watch->context, request, OOM_GAVE_BACK, event, change);
}

/* ---- calls that fail ------------------------------------------------------------------------- */

/* The call around one that failed: it began earlier. */
static bool is_around(const struct oom_request *request, const struct event *event)
{
	return request->nested && event->header->ts_ns <= request->last_ts_ns;
}

static void ask(struct oom_request *request, const struct event *event)
{
	const struct ms_call *call = event->call;
	const bool known = event->probe->spec.op == MS_OP_ALLOC && call->known & MS_KNOWN_SIZE;

	request->op = event->probe->spec.op;
	request->space = event->probe->spec.space;
	request->row = call->row;
	request->nested = call->flags & MS_CALL_NESTED;
	if (event_stack_id(call) && event_stack_id(call) != request->stack) {
		request->stack = event_stack_id(call);
		request->stack_failures = 0;
	}
	if (!known)
		return;
	if (!request->size_known)
		request->first_bytes = call->size;
	request->size_known = true;
	request->last_bytes = call->size;
	if (call->size > request->most_bytes)
		request->most_bytes = call->size;
}

/* The next one of a thread: of the same request, or the first of another. */
static struct oom_request *request_of(struct oom_watch *watch, const struct event *event)
{
	struct oom_request *request = find(watch, event->header);

	if (!request)
		return add(watch, event);
	if (!oom_ending_is_over(request, watch->retry_ns, event->header->ts_ns) &&
	    is_alike(request, event))
		return request;
	end(watch, request,
	    is_alike(request, event) ?
		    oom_ending_without_it(request, watch->retry_ns, event->header->ts_ns) :
		    OOM_OPEN,
	    event->header->ts_ns);
	return add(watch, event);
}

/* Whether calls from there were refused before, and not only this time. */
static void note_site(struct oom_watch *watch, struct oom_request *request, uint64_t failures)
{
	const struct oom_refused_site *site =
		oom_sites_find(&watch->sites, request->pid, request->start_ns, request->stack);

	request->site = site ? site->number : 0;
	request->refused_before = site ? site->failures : 0;
	request->refused_again = site ? failures : 0;
}

static void fail(struct oom_watch *watch, const struct event *event, const struct change *change)
{
	struct oom_request *request = find(watch, event->header);
	bool is_first;

	if (request && is_around(request, event)) {
		const bool counted = request->refused_again;

		request->inner_row = request->row;
		ask(request, event);
		request->stack_failures += request->stack_failures ? 0 : event->count;
		note_site(watch, request, counted ? 0 : event->count);
		watch->step(watch->context, request, OOM_FAILED_AGAIN, event, change);
		return;
	}
	request = request_of(watch, event);
	is_first = !request->failures;
	request->inner_row = MS_NO_ROW;
	request->device = change->device;
	request->last_ts_ns = event->header->ts_ns;
	request->failures += event->count;
	request->freed_since_bytes = 0;
	request->allocs_since = request->work_since = request->thread_work = 0;
	request->told = false;
	ask(request, event);
	take_pieces(watch, request, event);
	request->stack_failures += event->count;
	note_site(watch, request, event->count);
	watch->step(watch->context, request, is_first ? OOM_BEGAN : OOM_FAILED_AGAIN, event,
		    change);
}

/* ---- what happens meanwhile ------------------------------------------------------------------ */

static bool is_same_device(const struct oom_request *request, int32_t device)
{
	return request->device < 0 || device < 0 || request->device == device;
}

static void note_freed(struct oom_watch *watch, struct oom_request *request,
		       const struct event *event, const struct change *change)
{
	const struct allocation *freed = &change->allocation;
	const enum oom_sort sort = oom_sort_of(&probe_at(request->row)->spec);
	struct amount sum = { 0 };
	size_t space;

	for (space = 0; sort != OOM_SORT_HOST && space < MS_SPACES_COUNT; space++) {
		if (!change->has_amounts || !usage_is_on_device(space))
			continue;
		sum.count += change->implicit[space].count;
		sum.bytes += change->implicit[space].bytes;
	}
	if (request->pieces_left && change->has_amounts &&
	    change->implicit[MS_SPACE_PHYSICAL].count) {
		give_back_piece(watch, request, change->implicit[MS_SPACE_PHYSICAL].count, event,
				change);
		return;
	}
	if (change->free == FREE_KNOWN && request->pieces_left &&
	    freed->space == MS_SPACE_PHYSICAL && freed->id >= request->piece_first_id &&
	    freed->id <= request->piece_last_id) {
		give_back_piece(watch, request, 1, event, change);
		return;
	}
	/* What was allocated afterwards is no cache that makes room. */
	if (change->free == FREE_KNOWN && freed->ts_ns <= request->first_ts_ns &&
	    is_same_device(request, freed->device) &&
	    (sort == OOM_SORT_HOST ? oom_sort_of_space(freed->space) == OOM_SORT_HOST :
				     usage_is_on_device(freed->space))) {
		sum.count++;
		sum.bytes += freed->size_bytes;
	}
	request->freed_count += sum.count;
	request->freed_bytes += sum.bytes;
	request->freed_since_bytes += sum.bytes;
}

static void note_told(struct oom_request *request, const struct event *event,
		      const struct change *change)
{
	const struct ms_call *call = event->call;

	if (request->told || !(call->known & MS_KNOWN_SIZE) || !(call->known & MS_KNOWN_SRC) ||
	    !is_same_device(request, change->device))
		return;
	request->told = true;
	request->told_ts_ns = event_end_ns(event);
	request->told_free_bytes = call->src;
	request->told_total_bytes = call->size;
	request->told_freed_bytes = request->freed_since_bytes;
	request->told_held_bytes = 0;
	request->pieces_told = request->pieces_left;
}

/* Calls that were only counted are of any thread. */
static void note_counted(struct oom_watch *watch, const struct event *event)
{
	size_t i;

	for (i = watch->count; i > 0; i--) {
		struct oom_request *request = &watch->requests[i - 1];

		if (is_of_process(request, event->header) && is_alike(request, event) &&
		    event->header->ts_ns > request->last_ts_ns + COUNTED_NS)
			end(watch, request, OOM_RECOVERED, event->header->ts_ns);
	}
}

/* A retry comes from the same place, or asks for as much again. */
static bool is_elsewhere(const struct oom_request *request, const struct event *event,
			 const struct change *change)
{
	const uint32_t stack = event_stack_id(event->call);

	return change->has_allocation && request->size_known && request->stack && stack &&
	       stack != request->stack && change->allocation.size_bytes != request->last_bytes &&
	       change->allocation.size_bytes != request->most_bytes;
}

static void note_elsewhere(struct oom_request *request, const struct event *event,
			   const struct change *change)
{
	if (!is_alike(request, event) || !is_elsewhere(request, event, change))
		return;
	request->elsewhere++;
	if (change->allocation.size_bytes > request->elsewhere_bytes)
		request->elsewhere_bytes = change->allocation.size_bytes;
}

/*
 * What others get again and again, who is refused each time has not got. Unless it is less, and the
 * thread has done nothing with the device in between: then it does with that.
 */
static void take_grant(struct oom_watch *watch, struct oom_request *request,
		       const struct event *event, const struct change *change)
{
	const uint64_t bytes = change->allocation.size_bytes;

	request->granted_elsewhere = is_elsewhere(request, event, change);
	request->granted_at_once = bytes < request->most_bytes && !request->thread_work;
	if (request->granted_elsewhere && request->refused_before && !request->granted_at_once)
		return;
	settle(watch, request, bytes, event_end_ns(event));
}

static void succeed(struct oom_watch *watch, const struct event *event, const struct change *change)
{
	struct oom_request *request = find(watch, event->header);
	const struct ms_call *call = event->call;

	if (!request || !is_alike(request, event) || call->flags & MS_CALL_PART)
		return;
	if (oom_ending_is_over(request, watch->retry_ns, event->header->ts_ns)) {
		if (oom_ending_may_be_of_it(request, event->header->ts_ns))
			return;
		end(watch, request,
		    oom_ending_without_it(request, watch->retry_ns, event->header->ts_ns),
		    event->header->ts_ns);
		return;
	}
	if (event->probe->spec.op == MS_OP_ALLOC && request->size_known) {
		/* The run says how many pieces there are. */
		if (event->probe->spec.space != MS_SPACE_PHYSICAL && change->has_allocation)
			take_grant(watch, request, event, change);
		return;
	}
	end(watch, request, OOM_RECOVERED, event_end_ns(event));
}

static void note_call(struct oom_watch *watch, const struct event *event,
		      const struct change *change)
{
	const struct ms_spec *spec = &event->probe->spec;
	size_t i;

	for (i = watch->count; i > 0; i--) {
		struct oom_request *request = &watch->requests[i - 1];

		if (!is_of_process(request, event->header))
			continue;
		if (spec->action == MS_ACTION_DEVICE_INFO && spec->op == MS_OP_MEMORY)
			note_told(request, event, change);
		else if ((spec->op == MS_OP_FREE || spec->op == MS_OP_CONTEXT) &&
			 !oom_ending_is_over(request, watch->retry_ns, event->header->ts_ns))
			note_freed(watch, request, event, change);
		else if (spec->op == MS_OP_ALLOC && !(event->call->flags & MS_CALL_PART))
			note_elsewhere(request, event, change);
	}
	succeed(watch, event, change);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void end_runs(struct oom_watch *watch, const struct ms_event *header)
{
	size_t i;

	for (i = watch->runs_count; i > 0; i--)
		if (watch->runs[i - 1].pid == header->pid &&
		    watch->runs[i - 1].start_ns == header->start_ns)
			end_run(watch, &watch->runs[i - 1]);
}

static void end_process(struct oom_watch *watch, const struct event *event)
{
	size_t i;

	end_runs(watch, event->header);
	for (i = watch->count; i > 0; i--) {
		struct oom_request *request = &watch->requests[i - 1];

		if (!is_of_process(request, event->header))
			continue;
		request->exited = event->header->type == MS_TYPE_EXIT;
		request->exit_status = event->process->value;
		end(watch, request,
		    oom_ending_at_end(request, watch->retry_ns, event->header->ts_ns),
		    event->header->ts_ns);
	}
	oom_sites_end_process(&watch->sites, event->header->pid, event->header->start_ns);
}

/* A call that succeeded, of whatever kind and thread: the process goes on. */
static void note_work(struct oom_watch *watch, const struct event *event)
{
	const uint8_t op = event->probe->spec.op;
	const bool counted = event->header->type == MS_TYPE_CALLS;
	size_t i;

	if ((op != MS_OP_ALLOC && op != MS_OP_LAUNCH && op != MS_OP_COPY && op != MS_OP_MEMSET) ||
	    event->call->flags & MS_CALL_PART)
		return;
	for (i = 0; i < watch->count; i++) {
		struct oom_request *request = &watch->requests[i];

		if (!is_of_process(request, event->header) ||
		    (counted && event->header->ts_ns <= request->last_ts_ns + COUNTED_NS))
			continue;
		request->work_since += event->count;
		if (op != MS_OP_ALLOC && request->tid == event->header->tid)
			request->thread_work += event->count;
		request->allocs_since += op == MS_OP_ALLOC ? event->count : 0;
	}
}

void oom_watch_event(struct oom_watch *watch, const struct event *event,
		     const struct change *change)
{
	const bool failed = oom_watch_is_failure(event);
	struct oom_run *run;

	if (!event->call) {
		if (event->header->type == MS_TYPE_EXIT || event->header->type == MS_TYPE_EXEC)
			end_process(watch, event);
		return;
	}
	if (watch->runs_count && !goes_on(event)) {
		run = find_run(watch, event->header);
		if (run)
			end_run(watch, run);
	}
	if (failed) {
		fail(watch, event, change);
		return;
	}
	if (!event_succeeded(event->call))
		return;
	note_work(watch, event);
	if (watch->sites.count && change->has_allocation && event->probe->spec.op == MS_OP_ALLOC)
		oom_sites_grant(&watch->sites, event->header->pid, event->header->start_ns,
				event_stack_id(event->call), change->allocation.size_bytes);
	if (watch->count && event->header->type == MS_TYPE_CALLS)
		note_counted(watch, event);
	else if (watch->count)
		note_call(watch, event, change);
	if (event->probe->spec.op == MS_OP_ALLOC && change->has_allocation &&
	    event->probe->spec.space == MS_SPACE_PHYSICAL)
		add_piece(watch, event, &change->allocation);
}

void oom_watch_finish(struct oom_watch *watch, uint64_t now_ns)
{
	while (watch->runs_count)
		end_run(watch, &watch->runs[watch->runs_count - 1]);
	while (watch->count) {
		struct oom_request *request = &watch->requests[watch->count - 1];

		end(watch, request,
		    oom_ending_went_on(request, watch->retry_ns, now_ns) ? OOM_HANDLED :
		    oom_ending_is_over(request, watch->retry_ns, now_ns) ? OOM_GAVE_UP :
									   OOM_OPEN,
		    now_ns);
	}
}
