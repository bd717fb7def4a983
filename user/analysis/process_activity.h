/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the analysis notes down of a process that is running: its time, cut into at most
 * ACTIVITY_BUCKETS pieces of equal length that double when they no longer suffice, and what
 * happened in each. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_PROCESS_ACTIVITY_H
#define MEMSCOPE_ANALYSIS_PROCESS_ACTIVITY_H

#include "analysis/analysis.h"
#include "analysis/group.h"
#include "analysis/host_evidence.h"

#define ACTIVITY_THREADS 64 /* slots; two threads in one make rules see less, never more */
#define ACTIVITY_DEVICES 16 /* whose live bytes are followed */
#define ACTIVITY_UNEXPLAINED (ACTIVITY_DEVICES + 1)
#define ACTIVITY_FIRST_SHIFT 20 /* the first buckets are 2^20 ns long */

/* What a process did in a piece of its time. */
struct activity_slice {
	uint64_t sync_ns, copy_ns, alloc_ns, launch_ns, other_ns; /* in calls, of all threads */
	uint64_t idle_ns;  /* between calls, the device idle too */
	uint64_t pause_ns; /* longer than a program that has work */
	uint64_t syncs, copies, async_copies, allocs, launches;
	uint64_t short_syncs;
	uint64_t copy_bytes;
	uint64_t threads; /* a set of slots */
};

struct thread {
	uint32_t tid;
	uint64_t last_id; /* of the allocation it made last, if nothing was allocated since */
};

/* When calls of an op that were only counted were told: those of about now, and the ones before. */
struct activity_sums {
	uint64_t first_ns, last_ns, before_ns; /* CLOCK_MONOTONIC */
};

/*
 * Frees with no work after them, which may be how the process ends: then what it was before says
 * more of it than what it is now.
 */
struct activity_ending {
	uint64_t number;            /* counts them from 1 */
	uint64_t begin_ns, last_ns; /* the first and the last of the frees */
	uint64_t work_ns;           /* the last work before them */
	uint64_t frees;             /* 0: work came after them */
	uint64_t works;             /* calls, so few that they do not matter */
	bool unsure;                /* calls that were only counted may have come after the first */
};

struct copies;
struct ended_growth;
struct unexplained;
struct failed_calls;
struct refusals;
struct pools;
struct piles;
struct tensor_lines;

struct process_activity {
	const struct analysis_options *options;
	size_t place; /* in struct process_activities */
	uint32_t pid;
	uint64_t start_ns;
	char comm[MS_COMM_BYTES];

	uint64_t base_ns, now_ns; /* CLOCK_MONOTONIC */
	unsigned int shift;       /* buckets are 2^shift ns long */
	unsigned int bucket;      /* that `now_ns` is in */
	uint64_t generation;      /* of the state that the live sets were read from */
	bool scanned;             /* at least once */
	bool dirty;               /* something ended, and it is not known what */
	uint64_t missed_frees;
	uint64_t events; /* so far */
	uint64_t walked; /* allocations and groups that were looked at one by one */
	bool summed;     /* some calls were only counted */
	struct activity_sums sums[MS_OPS_COUNT];

	struct group *groups;
	size_t groups_count, groups_capacity;
	size_t freed_groups;             /* that have noted down what was freed */
	size_t held_groups;              /* what they had grown to when memory was refused */
	struct map group_places;         /* what they have in common -> position */
	uint64_t live_count, peak_count; /* allocations of all kinds */
	uint64_t first_alloc_ns;         /* 0: there was none */
	uint64_t last_work_ns;           /* 0: the device was given nothing to do */
	bool exited;
	uint64_t last_key;
	size_t last_place;
	struct activity_ending ending;
	struct activity_ending tensors_ending; /* the same of blocks of tensors */
	struct ended_growth *ended;            /* of what ended with contexts; NULL: none */
	size_t ended_count;
	uint64_t device_live[ACTIVITY_DEVICES];
	uint64_t allocs[ACTIVITY_BUCKETS]; /* made */
	uint64_t allocs_before;            /* made before the first bucket, and live then */
	uint64_t launches;

	/* By bucket; of a process that has called nothing yet, it is not its own. */
	struct activity_slice *slices;
	struct thread threads[ACTIVITY_THREADS];

	/* The last call that ended, and the gaps between calls. */
	uint64_t last_end_ns, last_gap_end_ns, pending_gap_ns;
	bool drained; /* it had waited for the device */

	/* Allocations and frees, window by window. */
	uint64_t storm_begin_ns, storm_calls, storm_frees, storm_ns;
	uint64_t storms, storms_calls, storms_ns, storms_peak; /* windows that were storms */
	uint64_t storms_first_ns, storms_last_ns;
	struct stack_tally storm_lines, storms_lines; /* allocations, by call stack */

	/* When least of a device was free. */
	bool pressed;
	int32_t pressed_device;
	uint64_t pressed_free, pressed_total, pressed_ts_ns, pressed_first_ns, pressed_times;
	uint64_t total_bytes[ACTIVITY_DEVICES]; /* 0: the driver did not report them */
	/* NULL: the same. The last one is of what NVML says of the process, on all devices. */
	struct unexplained *unexplained[ACTIVITY_UNEXPLAINED];

	uint64_t failures;    /* of allocations, out of memory */
	uint64_t retry_frees; /* between a failure and how it ended */
	struct copies *copies;
	struct failed_calls *failed_calls; /* NULL: there was none */
	struct refusals *refusals;         /* NULL: likewise */
	struct pools *pools;
	struct piles *piles;           /* NULL: nothing was made, or given to a device */
	struct tensor_lines *tensors;  /* NULL: there were none */
	struct host_evidence host;     /* taken when it is judged */
	const struct process *process; /* while it is judged; NULL: it is not listed any more */
	uint64_t piles_read;           /* `events` when they were read from the state */
};

/* One that begins at `ts_ns`. NULL without memory. */
struct process_activity *process_activity_new(const struct process *process, uint64_t ts_ns,
					      const struct analysis_options *options);
void process_activity_free(struct process_activity *activity);
size_t process_activity_bytes(const struct process_activity *activity);

/* Before the first call is noted down. Returns 0 or -ENOMEM. */
int process_activity_begin_activity(struct process_activity *activity);

/* Time goes on; it never goes back. */
void process_activity_advance(struct process_activity *activity, uint64_t ts_ns);

/* The bucket of a time, the nearest one if it has none. */
unsigned int process_activity_bucket_at(const struct process_activity *activity, uint64_t ts_ns);
/* Where a group counts what was made then: GROUP_BEFORE, if the account had not begun yet. */
unsigned int process_activity_born_at(const struct process_activity *activity, uint64_t ts_ns);
uint64_t process_activity_bucket_begin(const struct process_activity *activity,
				       unsigned int bucket);
/* Not longer than until now. */
uint64_t process_activity_bucket_length(const struct process_activity *activity,
					unsigned int bucket);

/* Whether it is memory that a leak can be made of. */
bool process_activity_counts(const struct allocation *allocation);

/* NULL: there was none like it. */
struct group *process_activity_find_group(struct process_activity *activity,
					  const struct allocation *allocation);

/* NULL without memory. */
struct group *process_activity_group(struct process_activity *activity,
				     const struct allocation *allocation);

void process_activity_live_add(struct process_activity *activity, struct group *group,
			       const struct allocation *allocation);
void process_activity_live_remove(struct process_activity *activity, struct group *group,
				  const struct allocation *allocation);

/* So many blocks are being freed, of what `ending` is about. */
void process_activity_note_frees(struct process_activity *activity, struct activity_ending *ending,
				 uint64_t count);

/*
 * So many calls gave the device something to do, or allocated. Those that were only counted, since
 * `since_ns`, may have been before the frees that began later: then they were, unless there are
 * more frees after a pause.
 */
void process_activity_note_work(struct process_activity *activity, uint64_t count,
				uint64_t since_ns);

/* Whether what is noted down of `ending` is how the process, or what was seen of it, ended. */
bool process_activity_has_ended(const struct process_activity *activity,
				const struct activity_ending *ending);

/*
 * Whether all that is live may be looked at once more. It is a lot, and so it must not happen more
 * often than goes with what the process has done: then what is asked for comes later.
 */
bool process_activity_may_walk(const struct process_activity *activity,
			       const struct process *process);

/*
 * Reads what is live anew. `ended`: what is no longer has just ended, as with a context. Returns 0
 * or -ENOMEM.
 */
int process_activity_scan(struct process_activity *activity, const struct process *process,
			  bool ended);

/* What every finding of the process begins with. */
struct finding process_activity_finding(const struct process_activity *activity,
					enum finding_rule rule);

struct thread *process_activity_thread(struct process_activity *activity, uint32_t tid);

#endif /* MEMSCOPE_ANALYSIS_PROCESS_ACTIVITY_H */
