/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recording says of itself: its properties (store/properties.h) at the beginning of each
 * segment, and at its end. All are texts; numbers are decimal:
 *   tool, version
 *   host, kernel, machine     as uname(2) has them; machine is the hardware, "x86_64"
 *   boot_id                   tells this run of the kernel from all others
 *   monotonic_ns              CLOCK_MONOTONIC when the segment began; what to add to such a time
 *   realtime_offset_ns        for CLOCK_REALTIME, and
 *   boottime_offset_ns        for CLOCK_BOOTTIME, as of that moment
 *   start_ns                  CLOCK_MONOTONIC when the recording began
 *   ops                       what is captured: words as in trace --events, with commas
 *   layers                    driver, runtime
 *   launches, copies          all, summary or off; copies includes memsets
 *   ring_bytes                0: everything is kept
 *   follow                    1: children too
 *   targets                   "pid 1,2", "all", "cgroup /path" or "command PROGRAM ARGUMENT..."
 * docs/dump-format.md lists those of the end.
 */
#ifndef MEMSCOPE_COMMANDS_RECORDING_DESCRIPTION_H
#define MEMSCOPE_COMMANDS_RECORDING_DESCRIPTION_H

#include "capture/live.h"
#include "commands/record_run.h"
#include "event/losses.h"
#include "host/machine.h"
#include "store/properties.h"
#include "store/recorder.h"

/* `start_ns`: CLOCK_MONOTONIC when the recording began. */
void recording_description_put(struct properties *properties,
			       const struct record_run_settings *settings,
			       const struct machine *machine, uint64_t start_ns);

/* `reason`: why it ends; `end_ns`: CLOCK_MONOTONIC when the capture ended, 0: it goes on. */
void recording_description_put_end(struct properties *properties, const char *reason,
				   uint64_t end_ns, const struct losses *losses, struct live *live,
				   const struct recorder *recorder);

#endif /* MEMSCOPE_COMMANDS_RECORDING_DESCRIPTION_H */
