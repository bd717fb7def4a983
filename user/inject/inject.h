/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of libmemscope-cupti.so share: the library that a command loads with --gpu-time.
 * It uses nothing of the rest of memscope-bpf except the layouts in bpf/activity_abi.h. It runs in
 * a program of someone else, so it writes no output, never exits, takes no lock that the program
 * could hold, and does nothing that the program can notice, except that it takes time.
 */
#ifndef MEMSCOPE_INJECT_INJECT_H
#define MEMSCOPE_INJECT_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "inject/cupti.h"

#define INJECT_EXPORT __attribute__((visibility("default")))

/* guard.c: returns false if `what` crashed in this thread. Call it once. */
bool guard_run(void (*what)(void));

/* hand.c: passes these to the probe. Safe from any thread. */
void hand_activities(const struct ms_activity_body *activities, uint32_t count);
void hand_name(uint64_t id, const char *name);
void hand_status(const struct ms_gpu_status_body *status);

/*
 * find.c: loads the libcupti that belongs to the program. Returns MS_GPU_REASON_NONE, or the reason
 * why it cannot; `who` then names the file or function, which returned `*result`.
 */
enum ms_gpu_reason find_cupti(struct cupti *cupti, char who[MS_GPU_WHO_BYTES], __s32 *result);

/* clock.c: CLOCK_MONOTONIC in ns, and the conversion of CUPTI's times to it. */
uint64_t clock_now(void);
/*
 * Finds out which clock CUPTI reads; `registered`: CUPTI has accepted clock_now(). Returns
 * MS_GPU_REASON_NONE, or the reason why CUPTI's times are of no use.
 */
enum ms_gpu_reason clock_open(const struct cupti *cupti, bool registered);
/* Compares the two clocks once more. Call it from one thread at a time. */
void clock_compare(const struct cupti *cupti);
uint64_t clock_convert(uint64_t ns);
bool clock_converts(void);
uint64_t clock_error_ns(void); /* the largest error of a converted time */

/* records.c: converts a record of CUPTI. Returns false if it is of no interest. */
bool record_convert(const uint8_t *record, uint32_t version, struct ms_activity_body *activity,
		    const char **name);

/* buffers.c: the buffers that CUPTI writes into. */
struct buffers_counts {
	uint64_t handed, untimed, no_buffer, no_name;
};
void buffers_init(const struct cupti *cupti);
cupti_request buffers_request;
cupti_complete buffers_complete;
struct buffers_counts buffers_counts(void);

#endif /* MEMSCOPE_INJECT_INJECT_H */
