/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of programs that set no markers, found by launches that recur: if the launches of a
 * thread from one of a kernel to the next of the same kernel are nearly always the same, each such
 * sequence is a step. Memory is bounded, whatever programs launch.
 */
#ifndef MEMSCOPE_TIMELINE_STEPS_H
#define MEMSCOPE_TIMELINE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "event/event.h"
#include "ledger/state.h"
#include "timeline/phases.h"

#define STEPS_THREADS 32  /* of all processes, that launch: more are not looked at */
#define STEPS_KERNELS 256 /* of each thread: with others no step begins */
#define STEPS_LEAST 8     /* fewer steps are no loop */
#define STEPS_SHARE \
	80 /* percent of a loop's launches, and of its time, that must lie in equal sequences */
#define STEPS_NEAR 2  /* percent by which a shorter loop may have fewer of them than a longer one */
#define STEPS_PART 50 /* percent of the thread's launches that must lie in its loop */
#define STEPS_LENGTH 2 /* launches of a step, on average: one kernel again and again is none */

/* What lies between launches of one kernel. */
struct step_series {
	char *kernel;    /* NULL: its name is not known */
	uint64_t handle; /* of the function, or of an executable graph */
	uint64_t count;  /* sequences, since the usual one is the usual one */
	uint64_t equal;  /* of these, as the usual one */
	uint64_t equal_launches;
	uint64_t first_launch; /* by number in the thread */
	uint64_t first_ns;     /* CLOCK_MONOTONIC */
	uint64_t last_launch, last_ns, last_hash;
	int64_t last_held;
	uint64_t previous, usual; /* sequences, as hashes */
	uint64_t run_launches;    /* in a row, of another sequence that recurs */
	struct phase_values time; /* of the equal ones: ns */
	struct phase_values held; /* bytes: by how much more the process held at the end */
};

struct steps_thread {
	uint32_t pid, tid;
	uint64_t start_ns; /* with the pid, the process */
	char comm[MS_COMM_BYTES];
	uint64_t launches;
	uint64_t hash; /* of all launches so far */
	struct map places;
	struct step_series *series;
	size_t count, capacity;
	const struct step_series
		*step; /* after steps_finish(); NULL: none was found, or is needed */
};

struct steps {
	struct steps_thread *threads;
	size_t count, capacity;
	bool incomplete; /* there was no memory for something */
};

/* Takes launches; `change` is the result of state_apply(). Sums of launches have no order. */
void steps_event(struct steps *steps, const struct event *event, const struct change *change);

/* Call it when the state is replaced: what lies in the gap is no step. */
void steps_gap(struct steps *steps);

/*
 * Call it after the last event, and after phases_finish(). Of each process that has set no markers,
 * one thread at most has steps: that with the most launches in them. Afterwards, `steps` is only
 * read.
 */
void steps_finish(struct steps *steps, const struct phases *phases);

void steps_fini(struct steps *steps);
size_t steps_bytes(const struct steps *steps);

#endif /* MEMSCOPE_TIMELINE_STEPS_H */
