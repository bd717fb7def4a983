// SPDX-License-Identifier: BSD-2-Clause
#include "pipeline.h"

#include <assert.h>
#include <string.h>

#include "event/losses.h"

#define TICK_NS 1000000000ull

static void remember_error(struct pipeline *pipeline, int err)
{
	if (err && !pipeline->err)
		pipeline->err = err;
}

void pipeline_add_sink(struct pipeline *pipeline, struct sink *sink)
{
	assert(pipeline->sinks_count < PIPELINE_SINKS);
	sink->state = &pipeline->state;
	pipeline->sinks[pipeline->sinks_count++] = sink;
}

static void show_call(struct pipeline *pipeline, const struct event *event)
{
	size_t i;

	for (i = 0; i < pipeline->sinks_count; i++) {
		struct sink *sink = pipeline->sinks[i];

		if (sink->call)
			remember_error(pipeline, sink->call(sink, event, &pipeline->state.change));
	}
}

static void show_process(struct pipeline *pipeline, const struct event *event)
{
	size_t i;

	for (i = 0; i < pipeline->sinks_count; i++) {
		struct sink *sink = pipeline->sinks[i];

		if (sink->process)
			remember_error(pipeline,
				       sink->process(sink, event, &pipeline->state.change));
	}
}

static void show_identity(struct pipeline *pipeline, const struct event *event)
{
	size_t i;

	for (i = 0; i < pipeline->sinks_count; i++) {
		struct sink *sink = pipeline->sinks[i];

		if (sink->identity)
			remember_error(pipeline,
				       sink->identity(sink, event, &pipeline->state.change));
	}
}

static void show_sample(struct pipeline *pipeline, const struct event *event)
{
	size_t i;

	for (i = 0; i < pipeline->sinks_count; i++) {
		struct sink *sink = pipeline->sinks[i];

		if (sink->sample)
			remember_error(pipeline,
				       sink->sample(sink, event, &pipeline->state.change));
	}
}

static void show_record(struct pipeline *pipeline, const struct event *event)
{
	size_t i;

	for (i = 0; i < pipeline->sinks_count; i++) {
		struct sink *sink = pipeline->sinks[i];

		if (sink->record)
			remember_error(pipeline, sink->record(sink, event));
	}
}

static void begin_time(struct pipeline *pipeline)
{
	size_t i;

	pipeline->begun = true;
	state_restart(&pipeline->state, pipeline->from_ns);
	memset(&pipeline->recorded, 0, sizeof(pipeline->recorded));
	for (i = 0; i < pipeline->sinks_count; i++)
		if (pipeline->sinks[i]->begin)
			remember_error(pipeline, pipeline->sinks[i]->begin(pipeline->sinks[i]));
}

/* Whether the record is of the time that is asked for, or at least has a part in how it began. */
static bool is_in_time(struct pipeline *pipeline, const struct ms_event *header)
{
	if (pipeline->until_ns && header->ts_ns > pipeline->until_ns)
		return false;
	if (pipeline->from_ns && !pipeline->begun && header->ts_ns >= pipeline->from_ns)
		begin_time(pipeline);
	return true;
}

struct filter_effect pipeline_effect(const struct change *change)
{
	struct filter_effect effect = {
		.freed_known = change->has_allocation && change->allocation.size_known,
		.freed_bytes = change->allocation.size_bytes,
	};
	uint32_t space;

	for (space = 0; change->has_amounts && space < MS_SPACES_COUNT; space++) {
		effect.made_count += change->made[space].count;
		effect.made_bytes += change->made[space].bytes;
		effect.ended_count += change->implicit[space].count;
		effect.ended_bytes += change->implicit[space].bytes;
	}
	return effect;
}

static bool is_shown(const struct pipeline *pipeline, const struct event *event)
{
	const struct filter_effect effect = pipeline_effect(&pipeline->state.change);

	return filter_accepts(&pipeline->filter, event, &effect);
}

static int apply(struct pipeline *pipeline, const struct event *event)
{
	const struct change *change = &pipeline->state.change;

	if (!is_in_time(pipeline, event->header))
		return pipeline->err;
	if (event->account) {
		losses_add_account(&pipeline->recorded, event->account);
		return pipeline->err;
	}
	remember_error(pipeline, state_apply(&pipeline->state, event));
	if (!change->process && event->subject == EVENT_OF_PROCESS)
		return pipeline->err; /* no memory for it: nothing is known about the event */
	if (pipeline->from_ns && !pipeline->begun)
		return pipeline->err;
	if (event->call && !is_shown(pipeline, event)) {
		pipeline->filtered[event->probe->spec.op] += event->count;
	} else if (event->header->type == MS_TYPE_CALLS) {
		pipeline->shown += event->count;
		if (pipeline->shows_sums)
			show_call(pipeline, event);
	} else if (event->call) {
		pipeline->shown++;
		show_call(pipeline, event);
	} else if (event->process && !change->repeated) {
		show_process(pipeline, event);
	} else if (event->identity) {
		show_identity(pipeline, event);
	} else if (event->sample) {
		show_sample(pipeline, event);
	}
	return pipeline->err;
}

int pipeline_feed(void *context, void *record, size_t length)
{
	struct pipeline *pipeline = context;
	struct event event;

	if (event_decode(record, length, &event)) {
		pipeline->refused++;
		return 0;
	}
	show_record(pipeline, &event);
	return apply(pipeline, &event);
}

size_t pipeline_bytes(const struct pipeline *pipeline)
{
	size_t bytes = state_bytes(&pipeline->state), i;

	for (i = 0; i < pipeline->sinks_count; i++)
		if (pipeline->sinks[i]->bytes)
			bytes += pipeline->sinks[i]->bytes(pipeline->sinks[i]);
	return bytes;
}

int pipeline_flush(struct pipeline *pipeline)
{
	size_t i;

	for (i = 0; i < pipeline->sinks_count; i++)
		if (pipeline->sinks[i]->flush)
			remember_error(pipeline, pipeline->sinks[i]->flush(pipeline->sinks[i]));
	return pipeline->err;
}

int pipeline_tick(struct pipeline *pipeline, uint64_t now_ns)
{
	size_t i;

	if (now_ns - pipeline->ticked_ns < TICK_NS)
		return pipeline->err;
	pipeline->ticked_ns = now_ns;
	for (i = 0; i < pipeline->sinks_count; i++) {
		struct sink *sink = pipeline->sinks[i];

		if (sink->tick)
			remember_error(pipeline, sink->tick(sink, now_ns));
	}
	return pipeline->err;
}

static void count_up(struct summary *summary)
{
	uint32_t op;

	summary->losses = losses_of(&summary->counters);
	losses_leave_out(&summary->losses, summary->left_out);
	summary->filtered = 0;
	for (op = 0; op < MS_OPS_COUNT; op++)
		summary->filtered += summary->filtered_by_op[op];
}

void pipeline_summarise(const struct pipeline *pipeline, struct summary *summary)
{
	summary->state = &pipeline->state;
	summary->shown = pipeline->shown;
	memcpy(summary->filtered_by_op, pipeline->filtered, sizeof(summary->filtered_by_op));
	summary->refused = pipeline->refused;
	count_up(summary);
}

int pipeline_finish(struct pipeline *pipeline, struct summary *summary)
{
	size_t i;

	pipeline_summarise(pipeline, summary);
	for (i = 0; i < pipeline->sinks_count; i++)
		if (pipeline->sinks[i]->end)
			remember_error(pipeline,
				       pipeline->sinks[i]->end(pipeline->sinks[i], summary));
	return pipeline->err;
}
