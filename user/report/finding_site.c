// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which line of code a finding is about, as far as call stacks were recorded.
 */
#include "report/report.h"

/* Of other rules, what is found is about some of the calls of a kind alone. */
uint32_t report_finding_call_ops(enum finding_rule rule)
{
	switch (rule) {
	case FINDING_SYNC_BOUND:
		return 1u << MS_OP_SYNC;
	case FINDING_COPY_BOUND:
		return 1u << MS_OP_COPY;
	case FINDING_LAUNCH_BOUND:
		return 1u << MS_OP_LAUNCH;
	case FINDING_ALLOC_BOUND:
	case FINDING_TEMPORARY: /* by its function */
		return 1u << MS_OP_ALLOC;
	default:
		return 0;
	}
}

const struct tensor_segments *report_finding_segments(const struct report_recording *recording,
						      const struct finding *finding)
{
	const struct process *process =
		state_find(recording->state, finding->pid, finding->start_ns);
	enum tensor_moment moment;
	size_t i;

	for (i = 0; process && i < process->tensors.devices_count; i++)
		for (moment = 0; moment < TENSOR_MOMENTS_COUNT; moment++) {
			const struct tensor_device *device = &process->tensors.devices[i];

			if (device->device == finding->device && device->moments[moment] &&
			    device->moments[moment]->ts_ns == finding->last_ts_ns)
				return device->moments[moment];
		}
	return NULL;
}

/* The blocks that keep most segments; if no stacks of these were taken, others of that size. */
static void find_pins(const struct report_recording *recording, struct report_finding *numbered)
{
	const struct tensor_segments *at = report_finding_segments(recording, numbered->finding);
	size_t i;

	if (!at)
		return;
	/* Where no block is alone in its segment, those with most free memory beside them. */
	if (!at->pins_count && at->makers_count)
		numbered->stack = stacks_find(&recording->state->stacks, at->makers[0]);
	for (i = 0; i < at->pins_count && !numbered->stack; i++) {
		if (at->pins[i].block_bytes != at->pins->block_bytes)
			continue;
		numbered->stack = stacks_find(&recording->state->stacks, at->pins[i].stack);
		numbered->stack_bytes = at->pins[i].block_bytes * at->pins[i].blocks;
		numbered->whole = at->pins_bytes;
	}
}

/* Where most of the segments without a block were taken from the driver. */
static void find_empties(const struct report_recording *recording, struct report_finding *numbered)
{
	const struct tensor_segments *at = report_finding_segments(recording, numbered->finding);
	size_t i;

	for (i = 0; at && i < at->empties_count && !numbered->stack; i++) {
		numbered->stack = stacks_find(&recording->state->stacks, at->empties[i].stack);
		numbered->stack_bytes = numbered->stack ? at->empties[i].bytes : 0;
	}
}

/* Where most of the time of its calls was spent. */
static void find_calls(const struct report_recording *recording, uint64_t process,
		       struct report_finding *numbered)
{
	const struct finding *finding = numbered->finding;
	const uint32_t ops = report_finding_call_ops(finding->rule);
	const uint16_t row = finding->rule == FINDING_TEMPORARY ? finding->row : MS_NO_ROW;

	numbered->stack = call_sites_longest(&recording->call_sites, recording->state, process, ops,
					     row, &numbered->stack_ns);
	numbered->whole = call_sites_ns(&recording->call_sites, process, ops, row);
}

/* Stacks with the same lines count as one. */
static uint64_t part_of(const struct stacks *stacks, const struct stack_tally *lines, uint32_t id)
{
	const uint32_t first = stacks_first_alike(stacks, id);
	uint64_t part = 0;
	size_t i;

	for (i = 0; i < STACK_TALLY_SLOTS; i++)
		if (lines->stacks[i] && stacks_first_alike(stacks, lines->stacks[i]) == first)
			part += lines->parts[i];
	return part;
}

/*
 * Where most of those calls were made that it is about. A part that is smaller than what it may
 * lack says nothing: another could have more.
 */
static void find_lines(const struct report_recording *recording, struct report_finding *numbered)
{
	const struct stacks *stacks = &recording->state->stacks;
	const struct stack_tally *lines = &numbered->finding->lines;
	const enum finding_topic topic = finding_topic_of(numbered->finding->rule);
	uint64_t *found = topic == FINDING_TOPIC_COPIES ? &numbered->stack_ns :
			  topic == FINDING_TOPIC_LEAK || topic == FINDING_TOPIC_NOTE ?
							  &numbered->stack_bytes :
							  &numbered->stack_calls;
	size_t i;

	for (i = 0; i < STACK_TALLY_SLOTS; i++) {
		const struct stack *stack = stacks_find(stacks, lines->stacks[i]);
		const uint64_t part = stack ? part_of(stacks, lines, stack->id) : 0;

		if (part <= *found || part <= lines->missing)
			continue;
		*found = part;
		numbered->stack = stack;
	}
	numbered->whole = lines->whole;
	numbered->at_least = lines->missing;
}

/* Where the call was made that failed, the last one of several. */
static void find_failure(const struct report_recording *recording, struct report_finding *numbered)
{
	size_t count;
	const struct analysis_oom *ooms = analysis_ooms(recording->analysis, &count);

	if (numbered->finding->oom >= count)
		return;
	numbered->stack =
		stacks_find(&recording->state->stacks, ooms[numbered->finding->oom].request.stack);
	numbered->stack_calls = numbered->stack != NULL;
	numbered->whole = numbered->stack_calls;
}

void report_finding_find_site(const struct report_recording *recording,
			      struct report_finding *numbered)
{
	const struct finding *finding = numbered->finding;
	const uint64_t process = event_process_key(finding->pid, finding->start_ns);

	numbered->whole = finding->bytes;
	if (finding->is_of_tensors) {
		numbered->stack = stacks_find(&recording->state->stacks, finding->stack);
		numbered->stack_bytes = finding->bytes;
	} else if (finding->rule == FINDING_OOM)
		find_failure(recording, numbered);
	else if (finding->rule == FINDING_FRAGMENTATION)
		find_pins(recording, numbered);
	else if (finding->rule == FINDING_PRIVATE_POOL)
		find_empties(recording, numbered);
	else if (finding->lines.whole)
		find_lines(recording, numbered);
	else if (finding_topic_of(finding->rule) == FINDING_TOPIC_LEAK && finding->freed)
		return; /* what is live at the end is something else */
	else if (finding_topic_of(finding->rule) == FINDING_TOPIC_LEAK)
		numbered->stack =
			sites_fitting(&recording->sites, recording->state, process, finding->row,
				      finding->bytes, &numbered->stack_bytes);
	else
		find_calls(recording, process, numbered);
}

const char *report_finding_lacks_stacks(const struct report_recording *where,
					const struct finding *finding)
{
	const uint32_t ops = report_finding_call_ops(finding->rule);

	if (ops & ~(1u << MS_OP_ALLOC))
		return where->call_sites.waits ? NULL : "waits";
	if (where->state->stacks.stacks_count)
		return NULL;
	return ops || (finding_topic_of(finding->rule) == FINDING_TOPIC_LEAK && finding->bytes) ?
		       "alloc" :
		       NULL;
}
