/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call, or several that are too close to be shown apart: what one has of others that it takes in.
 * A part of the spans.
 */
#ifndef MEMSCOPE_TIMELINE_SPAN_H
#define MEMSCOPE_TIMELINE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPAN_VOTES 3

struct span {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t count;            /* of calls */
	/* That successful ones allocated, freed, copied or set; but what parts of others did. */
	uint64_t bytes;
	/* In which threads could run and waited for a CPU, and waited for something else. */
	uint64_t runnable_ns, blocked_ns;
	/*
	 * After spans_finish(): what takes most of the time in it, if that is more than half of it,
	 * or by a quarter of it more than anything else takes; else one of those that take much.
	 */
	uint16_t name;
	uint16_t lane;   /* its position */
	bool is_nested;  /* calls that other calls made */
	bool is_several; /* put together because they were closer than the resolution */

	/* While events come: what takes how much of the time, and the lane's next. */
	uint16_t names[SPAN_VOTES];
	float votes[SPAN_VOTES];
	uint32_t next;
};

/* At most all that 64 bits can hold. */
static inline uint64_t span_add_up(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Takes in another one of the lane. */
void span_absorb(struct span *into, const struct span *span);

/* Whether two in a lane are one at a resolution of 2^shift ns; 0: there is none. */
bool span_is_too_close(const struct span *a, const struct span *b, uint8_t shift);

/* For qsort(): by lane, nested ones apart, by begin; and by lane, by begin, the longer first. */
int span_by_place(const void *a, const void *b);
int span_by_begin(const void *a, const void *b);

/* Gives it the name with the most votes. */
void span_name(struct span *span);

#endif /* MEMSCOPE_TIMELINE_SPAN_H */
