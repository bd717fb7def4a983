/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lanes and address maps as JSON, for the page that draws them: long lists are flat arrays of
 * numbers.
 *
 *   begin_ns       CLOCK_MONOTONIC of time 0, to which all other times are relative; what was
 *                  before is negative
 *   names, spaces  texts, which others mean by their position
 *   lanes          kind "phase", "thread" (calls), "stream" (calls that were given to it) or "gpu"
 *                  (what ran); pid, comm; tid: null of a stream that threads share, of calls that
 *                  were only counted, and of ranges; stream (in hexadecimal; of calls "0x0" is the
 *                  legacy default stream, "0x2" a thread's own) and device, or null; of gpu also
 *                  context, or copies: their direction, instead of stream; counted: the op of calls
 *                  that were only counted, else null; resolution_ns, 0: every call is there; spans:
 *                  begin, duration, name, count, bytes of each, by their begin (nested ones lie in
 *                  others); waits, of threads: of the calls in which they did not run for a good
 *                  part of the time, the place in spans, for how long they waited for a CPU, and
 *                  for how long they were blocked
 *   dropped_lanes  and calls in them: dropped_calls
 *   maps           device, or null; pid, comm; exited, at: when it was so; blocks: address as text,
 *                  size (0: unknown), name, space and allocation time of each, by address;
 *                  more_blocks and more_bytes that are not listed
 *   oom_maps       the same when memory was first asked for in vain; oom_at: then, null: never
 */
#ifndef MEMSCOPE_RENDER_LANES_JSON_H
#define MEMSCOPE_RENDER_LANES_JSON_H

#include "report/lanes.h"
#include "render/json_writer.h"

/* An object. Not to be forgotten: json->escapes_html. */
void lanes_json(struct json *json, const struct lanes_recording *recording);

#endif /* MEMSCOPE_RENDER_LANES_JSON_H */
