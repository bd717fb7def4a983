/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recording says of itself at the beginning of each segment. Texts (store/properties.h);
 * numbers are decimal:
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
 */
#ifndef MEMSCOPE_COMMANDS_RECORDING_DESCRIPTION_H
#define MEMSCOPE_COMMANDS_RECORDING_DESCRIPTION_H

#include "commands/record_run.h"
#include "host/machine.h"
#include "store/properties.h"

/* `start_ns`: CLOCK_MONOTONIC when the recording began. */
void recording_description_put(struct properties *properties,
			       const struct record_run_settings *settings,
			       const struct machine *machine, uint64_t start_ns);

#endif /* MEMSCOPE_COMMANDS_RECORDING_DESCRIPTION_H */
