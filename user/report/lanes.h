/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the pictures of a report are made from and the report itself does not have: the calls,
 * phases and GPU activities of each recording as spans in lanes, and what lay where at its end. A
 * sink of the reading.
 */
#ifndef MEMSCOPE_REPORT_LANES_H
#define MEMSCOPE_REPORT_LANES_H

#include <stddef.h>

#include "report/address_map.h"
#include "report/report.h"
#include "sink.h"
#include "timeline/phases.h"
#include "timeline/spans.h"

struct lanes_recording {
	const struct report_recording *recording;
	struct spans *spans;
	struct phases phases;         /* while it is read: for the spans */
	int err;                      /* of these */
	struct address_maps maps;     /* at the end of the time that is reported */
	struct address_maps oom_maps; /* when memory was first asked for in vain */
	uint64_t oom_ns;              /* that was then; 0: never */
};

struct lanes {
	struct sink sink;                   /* first: for struct report_reader */
	struct lanes_recording *recordings; /* as the report has them */
	size_t count, capacity;
	struct lanes_recording current; /* the one that is read */
};

/*
 * A zeroed struct lanes becomes one that follows; as many recordings as there are have SPANS_MAX
 * spans together, but two for each of their lanes.
 */
void lanes_init(struct lanes *lanes);
void lanes_fini(struct lanes *lanes);

#endif /* MEMSCOPE_REPORT_LANES_H */
