// SPDX-License-Identifier: BSD-2-Clause
#include "report/lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "analysis/oom.h"

static void record_run_fini(struct lanes_recording *recording)
{
	spans_free(recording->spans);
	phases_fini(&recording->phases);
	address_maps_fini(&recording->maps);
	address_maps_fini(&recording->oom_maps);
	*recording = (struct lanes_recording){ 0 };
}

void lanes_fini(struct lanes *lanes)
{
	record_run_fini(&lanes->current);
	while (lanes->count)
		record_run_fini(&lanes->recordings[--lanes->count]);
	free(lanes->recordings);
	*lanes = (struct lanes){ 0 };
}

static void phase_ended(void *context, const struct phase *phase, uint32_t tid, uint64_t begin_ns,
			uint64_t end_ns)
{
	struct lanes_recording *recording = context;

	if (!recording->err)
		recording->err = spans_phase(recording->spans, phase, tid, begin_ns, end_ns);
}

static int begin(struct sink *sink)
{
	const struct report_recording *recording = sink->recording;
	struct lanes *lanes = (struct lanes *)sink;

	record_run_fini(&lanes->current);
	lanes->current.recording = recording;
	lanes->current.spans = spans_new(report_begin_ns(recording));
	lanes->current.phases.ended = phase_ended;
	lanes->current.phases.context = &lanes->current;
	return lanes->current.spans ? 0 : -ENOMEM;
}

static int make_maps(const struct lanes *lanes, struct address_maps *maps, uint64_t now_ns)
{
	const struct report_recording *recording = lanes->current.recording;

	return address_maps_make(maps, recording->state, &recording->options, now_ns,
				 lanes->current.spans);
}

static bool is_out_of_memory(const struct event *event)
{
	return event->call && event->probe->spec.op == MS_OP_ALLOC &&
	       event->call->known & MS_KNOWN_RESULT && event->call->result == OOM_RESULT;
}

static int take_event(struct sink *sink, const struct event *event, const struct change *change)
{
	struct lanes *lanes = (struct lanes *)sink;
	struct lanes_recording *current = &lanes->current;
	int err = spans_event(current->spans, event, change);

	phases_event(&current->phases, event, change);
	if (!err)
		err = current->err;
	if (err || current->oom_maps.maps || !is_out_of_memory(event))
		return err;
	current->oom_ns = event_end_ns(event);
	return make_maps(lanes, &current->oom_maps, current->oom_ns);
}

static int take_sample(struct sink *sink, const struct event *event, const struct change *change)
{
	struct lanes_recording *current = &((struct lanes *)sink)->current;

	if (event->header->type == MS_TYPE_ACTIVITY)
		return spans_activity(current->spans, event, change);
	if (event->header->type == MS_TYPE_MARKER)
		phases_event(&current->phases, event, change);
	return current->err;
}

static int take_gap(struct sink *sink, uint64_t ts_ns, bool first)
{
	(void)ts_ns;
	(void)first;
	spans_gap(((struct lanes *)sink)->current.spans);
	phases_gap(&((struct lanes *)sink)->current.phases);
	return 0;
}

/* Their parts become smaller whenever there are twice as many: each is made smaller a few times. */
static int share(struct lanes *lanes)
{
	size_t shares = 1, i;
	int err = 0;

	while (shares < lanes->count)
		shares *= 2;
	i = lanes->count - 1 == shares / 2 ? 0 : lanes->count - 1;
	for (; !err && i < lanes->count; i++)
		err = spans_finish(lanes->recordings[i].spans, SPANS_MAX / shares);
	return err;
}

static int end(struct sink *sink, const struct summary *summary)
{
	struct lanes *lanes = (struct lanes *)sink;
	const uint64_t end_ns = report_end_ns(lanes->current.recording);
	int err = make_maps(lanes, &lanes->current.maps, end_ns);

	(void)summary;
	phases_finish(&lanes->current.phases, end_ns);
	if (!err)
		err = lanes->current.phases.incomplete ? -ENOMEM : lanes->current.err;
	phases_fini(&lanes->current.phases);
	if (!err)
		err = memory_grow(&lanes->recordings, &lanes->capacity, lanes->count + 1,
				  sizeof(*lanes->recordings));
	if (err)
		return err;
	lanes->recordings[lanes->count++] = lanes->current;
	lanes->current = (struct lanes_recording){ 0 };
	return share(lanes);
}

void lanes_init(struct lanes *lanes)
{
	lanes->sink = (struct sink){ .begin = begin,
				     .call = take_event,
				     .process = take_event,
				     .sample = take_sample,
				     .gap = take_gap,
				     .end = end };
}
