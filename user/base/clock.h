/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clocks. Events carry CLOCK_MONOTONIC (what bpf_ktime_get_ns() reads); people want the wall clock.
 */
#ifndef MEMSCOPE_BASE_CLOCK_H
#define MEMSCOPE_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_monotonic_ns(void);

/*
 * What to add to a CLOCK_MONOTONIC time to get CLOCK_REALTIME, nanoseconds, as of now. A step of
 * the wall clock during a run does not change times already converted.
 */
uint64_t clock_realtime_offset_ns(void);

/* The same to get CLOCK_BOOTTIME, which also counts the time that the machine was suspended. */
uint64_t clock_boottime_offset_ns(void);

#define CLOCK_TEXT_BYTES 40

/*
 * "2026-11-21T15:04:05.123Z", of nanoseconds since 1970; "" if no calendar has that. Returns `out`.
 */
const char *clock_utc_text(char out[CLOCK_TEXT_BYTES], uint64_t realtime_ns);

/* CPU time that this process has used so far, user and system. */
uint64_t clock_cpu_ns(void);

#endif /* MEMSCOPE_BASE_CLOCK_H */
