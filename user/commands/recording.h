/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording: a live capture into a recorder, and what it says of itself in the dump.
 *
 * A segment's description has these texts (store/texts.h); numbers are decimal:
 *   tool, version
 *   host, kernel, machine     as uname(2) has them; machine is the hardware, "x86_64"
 *   boot_id                   tells this run of the kernel from all others
 *   monotonic_ns              CLOCK_MONOTONIC when the segment began; what to add to such a time for
 *   realtime_offset_ns        CLOCK_REALTIME, and
 *   boottime_offset_ns        CLOCK_BOOTTIME, as of that moment
 *   start_ns                  CLOCK_MONOTONIC when the recording began
 *   ops                       what is captured: words as in trace --events, with commas
 *   layers                    driver, runtime
 *   launches, copies          all, summary or off; copies includes memsets
 *   ring_bytes                0: everything is kept
 *   follow                    1: children too
 *   targets                   "pid 1,2", "all", "cgroup /path" or "command PROGRAM ARGUMENT..."
 *
 * And its end:
 *   reason                    targets-gone, duration, signal or error; of a bundle, after which the
 *                             recording goes on: oom, or asked-for (by a signal)
 *   end_ns                    CLOCK_MONOTONIC
 *   seen, lost                calls
 *   lost_records              others: names, lives of processes, beginnings of frees
 *   abandoned                 calls that never returned
 *   unwritten_blocks, unwritten_records
 *   cpu_ns                    that the tool took
 */
#ifndef MEMSCOPE_COMMANDS_RECORDING_H
#define MEMSCOPE_COMMANDS_RECORDING_H

#include "commands/capturing.h"

enum recording_detail {
	RECORDING_SUMMARY,
	RECORDING_ALL,
	RECORDING_OFF,
};

struct recording_settings {
	struct capturing capturing;
	const char *output; /* a template, store/dump_name.h; NULL: standard output */
	uint64_t segment_bytes;
	uint64_t ring_bytes; /* 0: none */
	uint32_t triggers;   /* bit set of enum trigger_kind */
	int signal;          /* that pulls TRIGGER_SIGNAL; 0: none */
	enum recording_detail launches, copies;
};

/* Records until the end. Returns the exit code; all has been told. */
int recording_run(struct recording_settings *settings);

#endif /* MEMSCOPE_COMMANDS_RECORDING_H */
