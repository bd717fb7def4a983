// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bottlenecks.h"
#include "analysis/churn.h"
#include "analysis/copies.h"
#include "analysis/failed_calls.h"
#include "analysis/held_growth.h"
#include "analysis/host_time.h"
#include "analysis/leaks.h"
#include "analysis/oom.h"
#include "analysis/piles.h"
#include "analysis/pools.h"
#include "analysis/pressure.h"
#include "analysis/process_activities.h"
#include "analysis/shared_blocks.h"
#include "analysis/tensor_growth.h"
#include "analysis/tensor_lines.h"
#include "analysis/tensor_twice.h"
#include "analysis/unexplained.h"

struct analysis {
	const struct state *state;
	struct analysis_options options;
	struct analysis_account account;
	struct findings findings;
	struct ooms ooms;
	struct shared_blocks shared;
	uint64_t generation; /* counts gaps */
	uint64_t last_ns;    /* when the last event ended */
	uint64_t gaps;
	uint32_t lost; /* bit set of topics: of what they rest on */

	struct process_activities activities;
};

/* ---- life --------------------------------------------------------------------------------- */

struct analysis *analysis_new(const struct state *state, const struct analysis_options *options)
{
	struct analysis *analysis = calloc(1, sizeof(*analysis));

	if (!analysis)
		return NULL;
	analysis->state = state;
	analysis->options = *options;
	return analysis;
}

void analysis_free(struct analysis *analysis)
{
	if (!analysis)
		return;
	process_activities_fini(&analysis->activities);
	findings_fini(&analysis->findings);
	ooms_fini(&analysis->ooms);
	shared_blocks_fini(&analysis->shared);
	free(analysis);
}

size_t analysis_bytes(const struct analysis *analysis)
{
	return process_activities_bytes(&analysis->activities) +
	       shared_blocks_bytes(&analysis->shared);
}

/* ---- what is live ---------------------------------------------------------------------------- */

static uint64_t count_ended(const struct change *change)
{
	uint64_t count = 0;
	size_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		count += change->implicit[space].count;
	return count;
}

static bool made_by_graph(const struct change *change)
{
	size_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (change->made[space].count)
			return true;
	return false;
}

/*
 * Most changes of the live set are told block by block. Of others the whole set is read again: at
 * once if the state is another one, or if much ended with a context; else when a bucket is over, so
 * that it does not happen often.
 */
static int sync_live(const struct analysis *analysis, struct process_activity *activity,
		     const struct process *process, bool at_once, bool *scanned)
{
	/* What is live when a process is first heard of is read before anything else. */
	const bool anew = !activity->scanned || activity->generation != analysis->generation;
	int err = anew ? piles_scan(activity, process) : 0;

	*scanned = at_once || anew;
	if (err || !*scanned)
		return err;
	activity->generation = analysis->generation;
	return process_activity_scan(activity, process, false);
}

static void note_unsaid(struct process_activity *activity, const struct event *event,
			const struct change *change)
{
	const struct ms_spec *spec = &event->probe->spec;

	/* Lost frees come to light when an address is handed out again. */
	activity->dirty |=
		activity->missed_frees != change->process->counters[COUNTER_MISSED_FREES];
	/* With its last mapping, memory may end. */
	if (spec->key == MS_KEY_MAPPING)
		activity->dirty |= count_ended(change) > 0;
	else if (spec->action == MS_ACTION_GRAPH_LAUNCH)
		activity->dirty |= count_ended(change) || made_by_graph(change);
}

static int apply_alloc(struct process_activity *activity, const struct event *event,
		       const struct change *change, bool scanned)
{
	const struct allocation *allocation = &change->allocation;
	struct group *group = NULL;
	int err = 0;

	if (process_activity_counts(allocation)) {
		group = process_activity_group(activity, allocation);
		if (!group)
			return -ENOMEM;
	}
	/* One that was opened again is no further allocation. */
	if (group && !scanned && allocation->ts_ns >= event->header->ts_ns) {
		process_activity_live_add(activity, group, allocation);
		err = copies_alloc(activity, allocation);
	}
	if (group) {
		activity->allocs[activity->bucket]++;
		process_activity_note_work(activity, 1, activity->now_ns);
	}
	churn_alloc(activity, event, allocation, group);
	return err;
}

static void apply_free(struct process_activity *activity, const struct event *event,
		       const struct change *change, bool scanned)
{
	const struct allocation *allocation = &change->allocation;
	struct group *group = process_activity_counts(allocation) ?
				      process_activity_find_group(activity, allocation) :
				      NULL;

	if (group) {
		process_activity_note_frees(activity, &activity->ending, 1);
		if (!scanned)
			process_activity_live_remove(activity, group, allocation);
	}
	copies_end(activity, allocation);
	copies_device_changed(activity);
	churn_free(activity, event, allocation, group);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int apply_memory_call(struct process_activity *activity, const struct event *event,
			     const struct change *change, bool scanned)
{
	int err = 0;

	/* The outer call will say the same of a part. */
	if (event->call->flags & MS_CALL_PART || !change->has_allocation)
		return 0;
	if (event->probe->spec.op == MS_OP_ALLOC)
		err = apply_alloc(activity, event, change, scanned);
	else if (change->free == FREE_KNOWN)
		apply_free(activity, event, change, scanned);
	pressure_event(activity, event, change);
	return err;
}

/* What ends with a context is judged as it was before. */
static int apply_context(struct analysis *analysis, struct process_activity *activity,
			 const struct change *change)
{
	int err;

	if (!count_ended(change))
		return 0;
	if (!process_activity_may_walk(activity, change->process)) {
		activity->dirty = true;
		return 0;
	}
	err = leaks_before_end(activity, &analysis->options);
	if (err)
		return err;
	process_activity_note_frees(activity, &activity->ending, count_ended(change));
	activity->generation = analysis->generation;
	return process_activity_scan(activity, change->process, true);
}

/* What the device is given to do. Results may be read back, and waited for, at the end as well. */
static void note_work(struct process_activity *activity, const struct event *event)
{
	const uint8_t op = event->probe->spec.op;

	if (op != MS_OP_LAUNCH && op != MS_OP_MEMSET && op != MS_OP_COPY)
		return;
	if (op == MS_OP_COPY && event->call->direction == MS_DIRECTION_DTOH)
		return;
	process_activity_note_work(activity, event->count,
				   event->header->type == MS_TYPE_CALLS ?
					   activity->sums[op].before_ns :
					   activity->now_ns);
}

static int apply_call(struct analysis *analysis, struct process_activity *activity,
		      const struct event *event, const struct change *change, bool scanned)
{
	const struct ms_call *call = event->call;
	int err = failed_calls_event(activity, event, change);

	if (!err)
		err = held_growth_event(activity, event, change);
	if (!err)
		err = pools_event(activity, event, change);
	if (!err)
		err = piles_event(activity, event, change);
	if (err)
		return err;
	host_time_event(activity, event);
	note_work(activity, event);
	switch (event->probe->spec.op) {
	case MS_OP_ALLOC:
	case MS_OP_FREE:
		return apply_memory_call(activity, event, change, scanned);
	case MS_OP_CONTEXT:
		return apply_context(analysis, activity, change);
	case MS_OP_MEMORY:
		if (!event_succeeded(call))
			return 0;
		pressure_event(activity, event, change);
		return unexplained_event(activity, event, change, analysis->state);
	case MS_OP_LAUNCH:
	case MS_OP_MEMSET:
		copies_device_changed(activity);
		return 0;
	case MS_OP_COPY:
		if (event_succeeded(call) && !(call->flags & MS_CALL_PART))
			return copies_event(activity, event, change);
		return 0;
	}
	return 0;
}

/* ---- the end of a process -------------------------------------------------------------------- */

static rule_fn *const rules[FINDING_RULES_COUNT] = {
#define RULE(id, name, topic, needs, blind, function, ...) [FINDING_##id] = (function),
#include "analysis/rules.def"
#undef RULE
};

/* `process`: NULL, if it is not listed any more. */
static int report_activity(struct analysis *analysis, struct process_activity *activity,
			   const struct process *process)
{
	const struct analysis_options *options = &analysis->options;
	enum finding_rule rule;
	int err = 0;

	host_evidence_take(&activity->host, analysis->state, process);
	activity->process = process;
	churn_finish(activity, options);
	for (rule = 0; rule < FINDING_RULES_COUNT && !err; rule++)
		if (!(finding_rule_needs(rule) & ~options->captured_ops))
			err = rules[rule](activity, options, &analysis->findings);
	activity->process = NULL;
	return err;
}

static int apply_exit(struct analysis *analysis, struct process_activity *activity,
		      const struct event *event, const struct change *change)
{
	int err;

	activity->exited = true;
	err = report_activity(analysis, activity, change->process);
	if (!err)
		err = leaks_at_exit(activity, &analysis->options, change, event->process->value,
				    &analysis->findings);
	process_activities_remove(&analysis->activities, activity);
	return err;
}

/* ---- memory that has run out ----------------------------------------------------------------- */

static int take_ooms(struct analysis *analysis, struct process_activity *activity,
		     const struct event *event, const struct change *change)
{
	const struct oom_around around = { .state = analysis->state,
					   .activities = analysis->activities.list,
					   .tracks_count = analysis->activities.count,
					   .now_ns = activity->now_ns };

	activity->failures += oom_watch_is_failure(event);
	return ooms_event(&analysis->ooms, &around, event, change, &analysis->options);
}

/* Nearly no event says anything of it. */
static inline int apply_ooms(struct analysis *analysis, struct process_activity *activity,
			     const struct event *event, const struct change *change)
{
	return oom_watch_may_matter(&analysis->ooms.watch, event) ?
		       take_ooms(analysis, activity, event, change) :
		       0;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Before what the event changed is taken into account. */
static int reach_window(struct analysis *analysis, uint64_t ts_ns)
{
	size_t i;
	int err = 0;

	if (!analysis->options.window_c_ns || analysis->account.window_reached ||
	    ts_ns <= analysis->options.window_c_ns)
		return 0;
	analysis->account.window_reached = true;
	for (i = 0; !err && i < analysis->activities.count; i++)
		err = leaks_window(analysis->activities.list[i], &analysis->options,
				   &analysis->findings);
	return err;
}

static int apply_process(struct analysis *analysis, struct process_activity *activity,
			 const struct event *event, const struct change *change)
{
	switch (event->header->type) {
	case MS_TYPE_EXIT:
		return apply_exit(analysis, activity, event, change);
	case MS_TYPE_EXEC:
		piles_end_program(activity);
		tensor_lines_end(activity);
		return apply_context(analysis, activity, change);
	case MS_TYPE_HELD:
		return unexplained_held(activity, change->process);
	case MS_TYPE_LIMIT:
		return ooms_limit(&analysis->ooms, change->process, &analysis->options);
	}
	return 0;
}

int analysis_event(struct analysis *analysis, const struct event *event,
		   const struct change *change)
{
	const uint64_t ts_ns = event->header->ts_ns;
	struct process_activity *activity;
	unsigned int bucket;
	bool scanned = false;
	int err = reach_window(analysis, ts_ns);

	/* Late records of one that has ended say nothing new. */
	if (err || (change->process->exited && event->header->type != MS_TYPE_EXIT))
		return err;
	if (event_end_ns(event) > analysis->last_ns)
		analysis->last_ns = event_end_ns(event);
	err = shared_blocks_event(&analysis->shared, event, change, &analysis->options);
	if (err)
		return err;
	activity = process_activities_of(&analysis->activities, change->process, ts_ns,
					 &analysis->options);
	if (!activity)
		return -ENOMEM;
	bucket = activity->bucket;
	activity->events++;
	process_activity_advance(activity, event_end_ns(event));
	if (event->call) {
		note_unsaid(activity, event, change);
		err = process_activity_begin_activity(activity);
		if (err)
			return err;
		err = sync_live(analysis, activity, change->process,
				activity->dirty && bucket != activity->bucket &&
					process_activity_may_walk(activity, change->process),
				&scanned);
		if (!err)
			err = apply_call(analysis, activity, event, change, scanned);
		return err ? err : apply_ooms(analysis, activity, event, change);
	}
	memcpy(activity->comm, change->process->comm, sizeof(activity->comm));
	if (change->has_tensor)
		return tensor_lines_event(activity, &analysis->state->stacks, change);
	err = apply_ooms(analysis, activity, event, change);
	return err ? err : apply_process(analysis, activity, event, change);
}

void analysis_gap(struct analysis *analysis)
{
	size_t i;

	/* The first anchor is where a recording begins. */
	analysis->gaps += analysis->activities.count > 0;
	analysis->generation++;
	shared_blocks_forget(&analysis->shared);
	/* Anchors have no tensors: what comes back of those that were there is not told. */
	for (i = 0; i < analysis->activities.count; i++)
		tensor_lines_end(analysis->activities.list[i]);
}

/* ---- the end --------------------------------------------------------------------------------- */

static int finish_activity(struct analysis *analysis, struct process_activity *activity,
			   uint64_t end_ns)
{
	const struct process *process =
		state_find(analysis->state, activity->pid, activity->start_ns);
	bool scanned;
	int err = 0;

	process_activity_advance(activity, end_ns);
	/* One whose end was not seen is judged by what was seen of it. */
	if (process && !process->exited)
		err = sync_live(analysis, activity, process, activity->dirty, &scanned);
	return err ? err : report_activity(analysis, activity, process);
}

/*
 * Of each topic, what else must not be missing, and what it means if it is. Launches of graphs,
 * which allocate and free, are lost as MS_OP_MEMORY.
 */
static const struct {
	enum finding_topic topic;
	uint32_t kinds; /* bit set of enum ms_kind */
	enum finding_confidence confidence;
	const char *why;
} losses[] = {
	{ FINDING_TOPIC_LEAK,
	  1u << MS_OP_FREE | 1u << MS_KIND_FREE_BEGIN | 1u << MS_OP_CONTEXT | 1u << MS_OP_MEMORY,
	  FINDING_LOW, "frees were lost: some of it may have been freed" },
	{ FINDING_TOPIC_KEPT,
	  1u << MS_OP_ALLOC | 1u << MS_OP_FREE | 1u << MS_KIND_FREE_BEGIN | 1u << MS_OP_CONTEXT |
		  1u << MS_OP_MEMORY,
	  FINDING_MEDIUM, "calls were lost: some of it may have been given back" },
	{ FINDING_TOPIC_OOM,
	  1u << MS_OP_ALLOC | 1u << MS_OP_FREE | 1u << MS_KIND_FREE_BEGIN | 1u << MS_OP_MEMORY,
	  FINDING_LOW, "allocations or frees were lost: the live set may be wrong" },
	{ FINDING_TOPIC_CHURN, 1u << MS_OP_ALLOC | 1u << MS_OP_FREE | 1u << MS_OP_MEMORY,
	  FINDING_MEDIUM, "allocations or frees were lost" },
	{ FINDING_TOPIC_COPIES,
	  1u << MS_OP_ALLOC | 1u << MS_OP_LAUNCH | 1u << MS_OP_MEMSET | 1u << MS_OP_MEMORY,
	  FINDING_LOW, "allocations or launches were lost" },
	{ FINDING_TOPIC_BOTTLENECK,
	  1u << MS_OP_SYNC | 1u << MS_OP_COPY | 1u << MS_OP_LAUNCH | 1u << MS_OP_ALLOC |
		  1u << MS_OP_FREE | 1u << MS_OP_MEMORY,
	  FINDING_MEDIUM, "calls were lost: their time is missing" },
};

/* What unexplained-growth goes by, besides. */
static const uint32_t accounts = 1u << MS_OP_ALLOC;

static const char part_is_missing[] = "a part of the recording is missing";

static bool is_lost(const struct ms_counters *counters, uint32_t kinds)
{
	uint32_t kind;

	for (kind = 0; counters && kind < MS_KINDS_COUNT; kind++)
		if (kinds >> kind & 1 && counters->lost[kind])
			return true;
	return false;
}

static void lower(struct analysis *analysis, const struct ms_counters *counters)
{
	size_t i, j;

	for (i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		bool lost = is_lost(counters, losses[i].kinds);

		analysis->lost |= (uint32_t)lost << losses[i].topic;
		for (j = 0; j < analysis->findings.count; j++) {
			struct finding *finding = &analysis->findings.list[j];

			if (finding_topic_of(finding->rule) != losses[i].topic)
				continue;
			if (lost)
				finding_lower(finding, losses[i].confidence, losses[i].why);
			if (finding->rule == FINDING_UNEXPLAINED_GROWTH &&
			    is_lost(counters, accounts))
				finding_lower(finding, FINDING_LOW,
					      "allocations were lost, and may explain it");
			if (analysis->gaps)
				finding_lower(finding, FINDING_MEDIUM, part_is_missing);
		}
	}
}

const char *analysis_lowered(const struct analysis *analysis, enum finding_topic topic,
			     enum finding_confidence *confidence)
{
	size_t i;

	for (i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		if (losses[i].topic == topic && analysis->lost >> topic & 1) {
			*confidence = losses[i].confidence;
			return losses[i].why;
		}
	*confidence = analysis->gaps ? FINDING_MEDIUM : FINDING_HIGH;
	return analysis->gaps ? part_is_missing : NULL;
}

/* No more is known of one that is only a part of a sum by now than what it was called then. */
static void set_name(char name[IDENTITY_NAME_BYTES], const struct analysis *analysis, uint32_t pid,
		     uint64_t start_ns, const char comm[MS_COMM_BYTES])
{
	const struct process *process = state_find(analysis->state, pid, start_ns);

	memset(name, 0, IDENTITY_NAME_BYTES);
	if (process && process->name[0])
		memcpy(name, process->name, IDENTITY_NAME_BYTES);
	else
		memcpy(name, comm, MS_COMM_BYTES);
}

static void set_names(struct analysis *analysis)
{
	size_t i, j;

	for (i = 0; i < analysis->findings.count; i++) {
		struct finding *finding = &analysis->findings.list[i];

		set_name(finding->name, analysis, finding->pid, finding->start_ns, finding->comm);
	}
	for (i = 0; i < analysis->ooms.count; i++) {
		struct analysis_oom *oom = &analysis->ooms.list[i];

		set_name(oom->name, analysis, oom->pid, oom->start_ns, oom->comm);
		for (j = 0; j < oom->processes_count; j++)
			set_name(oom->processes[j].name, analysis, oom->processes[j].pid,
				 oom->processes[j].start_ns, oom->processes[j].comm);
	}
}

int analysis_finish(struct analysis *analysis, uint64_t end_ns, const struct ms_counters *counters)
{
	size_t i;
	int err = reach_window(analysis, end_ns);

	for (i = 0; !err && i < analysis->activities.count; i++)
		err = finish_activity(analysis, analysis->activities.list[i], end_ns);
	if (!err)
		err = shared_blocks_report(&analysis->shared, end_ns ? end_ns : analysis->last_ns,
					   &analysis->options, &analysis->findings);
	if (!err)
		err = ooms_finish(&analysis->ooms, &analysis->options, end_ns);
	if (!err)
		err = ooms_report(&analysis->ooms, &analysis->findings);
	lower(analysis, counters);
	findings_sort(&analysis->findings);
	set_names(analysis);
	analysis->account.oom_failures = analysis->ooms.failures;
	analysis->account.oom_not_listed = analysis->ooms.not_listed;
	memcpy(analysis->account.oom_outcomes, analysis->ooms.outcomes,
	       sizeof(analysis->account.oom_outcomes));
	analysis->account.findings_dropped = analysis->findings.dropped;
	return err;
}

int analysis_add(struct analysis *analysis, const struct finding *finding)
{
	return findings_add(&analysis->findings, finding);
}

const struct finding *analysis_findings(const struct analysis *analysis, size_t *count)
{
	*count = analysis->findings.count;
	return analysis->findings.list;
}

const struct analysis_oom *analysis_ooms(const struct analysis *analysis, size_t *count)
{
	*count = analysis->ooms.count;
	return analysis->ooms.list;
}

const struct analysis_account *analysis_account(const struct analysis *analysis)
{
	return &analysis->account;
}
