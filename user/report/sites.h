/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the memory on devices that processes hold was allocated: by call stack, and by the library
 * on whose behalf (ledger/stacks.h). Kept while a recording is replayed. Memory whose stack is not
 * known has no site.
 */
#ifndef MEMSCOPE_REPORT_SITES_H
#define MEMSCOPE_REPORT_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "event/event.h"
#include "ledger/state.h"
#include "report/site_ends.h"
#include "report/site_total.h"

enum sites_by {
	SITES_BY_STACK, /* all of its frames */
	SITES_BY_OWNER,
	SITES_BY_LINES, /* Python's, or by stack where there are none */
	SITES_BY_MEMORY_COUNT,
	/* Of blocks that a framework's allocator gave, which lie in that memory. */
	SITES_BY_TENSOR_STACK = SITES_BY_MEMORY_COUNT,
	SITES_BY_TENSOR_LINES,
	SITES_BY_TENSORS, /* all whose stack is known, of a process */
};

/* Of one process. */
struct site {
	uint64_t process; /* event_process_key() */
	uint64_t key;     /* what its calls have in common: a stack's id, or struct stack, lines */
	uint32_t stack;   /* id, of one of them; 0: the owner's */
	uint8_t by;       /* enum sites_by; Python's lines have sites of their own */
	uint16_t row;     /* of the probe table: what allocates there */
	const char *owner;
	uint32_t next; /* of the same process, + 1; 0: none */
	bool ended;    /* the process is: what is live stays as it was then */
	/* Of all tensors: how often they came to more; of a part of them: when it was looked at. */
	uint64_t peaks;
	struct site_total total;
};

struct sites {
	struct site *list;
	size_t count, capacity;
	struct map places;    /* of process and what its calls have in common -> position */
	struct map processes; /* event_process_key() -> position of its newest site */
	struct string_table owners;
	struct site_ends ends;    /* of all allocations */
	uint64_t unknown_tensors; /* whose stack should be known, and is not */
	uint64_t lost_tensors; /* of them, those that chance chose: the error does not have them */
	uint64_t events, effort; /* blocks that were looked at again */
	bool inexact;            /* what is live: that would have taken too long */
	uint64_t others;         /* sites that found no place */
};

void sites_fini(struct sites *sites);
size_t sites_bytes(const struct sites *sites);

/* What a sink of the pipeline gets. Returns 0 or -ENOMEM: then something is not known. */
int sites_event(struct sites *sites, const struct state *state, const struct event *event,
		const struct change *change);

/* What the process has live is looked up in the state, which is another one now, or the end's. */
int sites_look(struct sites *sites, const struct state *state, const struct process *process);

/* Sites of all processes that are alike, as one. */
struct site_row {
	const struct stack *stack; /* NULL: the owner's */
	const char *owner;         /* NULL: not known */
	uint64_t processes;
	struct site_total total;
};

/* Those with the highest peak first, in an array to be freed. NULL without memory. */
struct site_row *sites_rows(const struct sites *sites, const struct state *state, enum sites_by by,
			    size_t *count);

/* Each of a process that has a stack: by Python's lines, or by stack where there are none. */
void sites_each(const struct sites *sites, const struct state *state, const struct process *process,
		void (*call)(void *context, const struct stack *stack,
			     const struct site_total *total),
		void *context);

/*
 * The stack whose allocations, by that function (MS_NO_ROW: any), are most of what the process has
 * live, and how much that is. If `wanted_bytes` is not 0, the one at which it is most likely that
 * so much was allocated: what a leak keeps is not at a place that holds far more, or hardly any.
 * NULL: none is known.
 */
const struct stack *sites_fitting(const struct sites *sites, const struct state *state,
				  uint64_t process, uint16_t row, uint64_t wanted_bytes,
				  uint64_t *bytes);

/*
 * The frame that tells most of a stack: the innermost Python one or, without any, the innermost one
 * that is not CUDA's own. NULL: none is known.
 */
const struct frame *sites_frame(const struct stacks *stacks, const struct stack *stack);

#endif /* MEMSCOPE_REPORT_SITES_H */
