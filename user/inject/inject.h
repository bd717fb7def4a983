/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library that is loaded into a command which is started with --gpu-time: what its files share.
 * It has no part of the rest of the program but the layouts in bpf/activity_abi.h. In a process
 * that is not ours, the rules are: no output, no exit, no lock that the program could hold, nothing
 * that it can notice but the time it takes.
 */
#ifndef MEMSCOPE_INJECT_INJECT_H
#define MEMSCOPE_INJECT_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "inject/cupti.h"

#define INJECT_EXPORT __attribute__((visibility("default")))

/* hand.c: what is read by the probe. Safe from any thread. */
void hand_activities(const struct ms_activity_body *activities, uint32_t count);
void hand_name(uint64_t id, const char *name);
void hand_status(const struct ms_gpu_status_body *status);

/*
 * find.c: loads the libcupti that belongs to the program. Returns 0, or the reason, with what it is
 * about in `who`.
 */
enum ms_gpu_reason find_cupti(struct cupti *cupti, char who[MS_GPU_WHO_BYTES]);

/* clock.c: CLOCK_MONOTONIC, ns; and how CUPTI's times become those. */
uint64_t clock_now(void);
/*
 * Looks which clock CUPTI reads; `registered`: it was given clock_now(). Returns 0, or the reason
 * why its times are of no use.
 */
enum ms_gpu_reason clock_open(const struct cupti *cupti, bool registered);
/* Holds the two clocks against one another once more. From one thread at a time. */
void clock_compare(const struct cupti *cupti);
uint64_t clock_convert(uint64_t ns);
bool clock_converts(void);
uint64_t clock_error_ns(void); /* the most that a converted time can be off */

/* records.c: a record of CUPTI's. Returns false for one that is of no interest. */
bool record_convert(const uint8_t *record, uint32_t version, struct ms_activity_body *activity,
		    const char **name);

/* buffers.c: what CUPTI writes into. */
struct buffers_counts {
	uint64_t handed, untimed, no_buffer, no_name;
};
void buffers_init(const struct cupti *cupti);
cupti_request buffers_request;
cupti_complete buffers_complete;
struct buffers_counts buffers_counts(void);

#endif /* MEMSCOPE_INJECT_INJECT_H */
