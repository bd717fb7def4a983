// SPDX-License-Identifier: BSD-2-Clause
/*
 * Phases as spans, each time that one has occurred. A part of the spans.
 */
#include <string.h>

#include "timeline/spans.h"

int spans_phase(struct spans *spans, const struct phase *phase, uint32_t tid, uint64_t begin_ns,
		uint64_t end_ns)
{
	struct spans_lane lane = {
		.kind = SPANS_PHASE, .pid = phase->pid, .start_ns = phase->start_ns, .device = -1
	};
	struct span span = { .count = 1, .is_nested = phase->depth };
	const int name = span_names_text(spans_names(spans), phase->name ? phase->name : "phase");

	if (name < 0)
		return name;
	memcpy(lane.comm, phase->comm, sizeof(lane.comm));
	/* Ranges belong to no thread. */
	lane.tid = phase->kind == PHASE_RANGE ? 0 : tid;
	span.begin_ns = spans_until_end_of_time(begin_ns);
	span.end_ns = spans_until_end_of_time(end_ns > begin_ns ? end_ns : begin_ns);
	span.names[0] = (uint16_t)name;
	span.votes[0] = (float)(span.end_ns - span.begin_ns) + 1;
	return spans_add(spans, &lane, &span, span.end_ns - span.begin_ns);
}
