/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a process's calls took, by function. A part of state_apply(), and what outputs show of
 * it.
 */
#ifndef MEMSCOPE_LEDGER_CALL_TIMES_H
#define MEMSCOPE_LEDGER_CALL_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event;
struct process;

/* From 64 ns to 36 minutes, eight to an octave; what is less or more is in the first or last. */
#define CALL_TIMES_BUCKETS 281

/* The calls of one function. */
struct call_times {
	uint16_t row;
	uint64_t calls;
	uint64_t failed;   /* of these, if their results are known */
	uint64_t timed;    /* of these: calls whose times are known */
	uint64_t total_ns; /* of the timed ones */
	uint64_t max_ns;   /* of those that were seen one by one, as are the following */
	uint64_t *buckets; /* calls by time: `room` buckets from `first` on */
	uint16_t first, room;
};

/* Which bucket a time is in, and the longest time that is in a bucket. */
unsigned int call_times_bucket(uint64_t ns);
uint64_t call_times_longest(unsigned int bucket);

/* Counts a call, or a sum of calls. Returns 0 or -ENOMEM. */
int call_times_apply(struct process *process, const struct event *event);

/* So many more; what is in the buckets stays the caller's. Returns 0 or -ENOMEM. */
int call_times_add(struct process *process, const struct call_times *times);

/* How many calls are in that bucket. */
uint64_t call_times_in(const struct call_times *times, unsigned int bucket);

/* So many more are in that bucket. Returns 0 or -ENOMEM. */
int call_times_count(struct call_times *times, unsigned int bucket, uint64_t count);

/*
 * The time that so many percent of the calls did not exceed: up to an eighth more than it was.
 * Returns false if no call was seen one by one, with its time.
 */
bool call_times_percentile(const struct call_times *times, unsigned int percent, uint64_t *ns);

/* Those that took most in all come first; the caller frees the array. NULL without memory. */
const struct call_times **call_times_sorted(const struct process *process);

/* Those of a process, which then has none. */
void call_times_forget(struct process *process);

/* One that is in no process. */
void call_times_fini(struct call_times *times);
size_t call_times_bytes(const struct process *process);

#endif /* MEMSCOPE_LEDGER_CALL_TIMES_H */
