/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A consumer of what happens: one slot for each kind of thing. A slot that is NULL is of no
 * interest to the sink, so that what is new is missing from an output and never mistaken.
 */
#ifndef MEMSCOPE_SINK_H
#define MEMSCOPE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "ledger/state.h"
#include "ledger/summary.h"

struct report_recording;

/*
 * All slots that return an int return 0 or -errno, which ends what they are a part of. Pointers
 * are valid during the call, but for `recording`, which lives until the next begin() and, after its
 * end(), as long as the report.
 */
struct sink {
	/*
	 * What is to come begins. Live: the time that is asked for (from_ns), and the state is what
	 * there is by then. Of a report: a recording, whose coverage says what it says of itself
	 * and whose state is still empty; if the one before had no end(), it was refused.
	 */
	int (*begin)(struct sink *sink);
	/* Every record that can be decoded, before it is applied to the state and filtered. */
	int (*record)(struct sink *sink, const struct event *event);
	/* A call that the filter accepts; sums of calls, if the pipeline shows them. */
	int (*call)(struct sink *sink, const struct event *event, const struct change *change);
	/* A process begins to be traced, forks, executes a program or ends. */
	int (*process)(struct sink *sink, const struct event *event, const struct change *change);
	/* Who a process is: it has been learnt, or the process is somebody else's from now on. */
	int (*identity)(struct sink *sink, const struct event *event, const struct change *change);
	/* A sample: of a process or, if the change has none, of the machine. */
	int (*sample)(struct sink *sink, const struct event *event, const struct change *change);
	/*
	 * The state is now that of an anchor, and not what the events led to: at the beginning
	 * (`first`), after a gap, and where the time that is reported begins.
	 */
	int (*gap)(struct sink *sink, uint64_t ts_ns, bool first);
	/* So many events have been lost since the last time. */
	int (*lost)(struct sink *sink, uint64_t ts_ns, uint64_t count);
	/* A live capture goes on: called about once per second, if anything happens or not. */
	int (*tick)(struct sink *sink, uint64_t now_ns);
	/* After a batch of events: what is buffered should become visible. */
	int (*flush)(struct sink *sink);
	/* Once, after the last event. A report: the recording is finished, `summary` is NULL. */
	int (*end)(struct sink *sink, const struct summary *summary);
	/* About how much memory it takes because of the events; NULL: none worth counting. */
	size_t (*bytes)(const struct sink *sink);

	/* Set by whom the sink is added to. */
	const struct state *state;
	const struct report_recording *recording; /* NULL: there is no report */
};

#endif /* MEMSCOPE_SINK_H */
