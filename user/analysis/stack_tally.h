/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which call stacks most of something comes from, in a few words of memory: the frequent items of
 * Misra and Gries (1982). What a stack has here is never more than what it has in truth, and less
 * by no more than `missing`; it is exact while there are at most eight stacks.
 */
#ifndef MEMSCOPE_ANALYSIS_STACK_TALLY_H
#define MEMSCOPE_ANALYSIS_STACK_TALLY_H

#include <stddef.h>
#include <stdint.h>

#define STACK_TALLY_SLOTS 8

/* A zeroed one is empty. Its unit is its user's: calls, nanoseconds. */
struct stack_tally {
	uint32_t stacks[STACK_TALLY_SLOTS]; /* ids; 0: a free slot */
	uint64_t parts[STACK_TALLY_SLOTS];
	uint64_t whole;   /* with what came from no known stack */
	uint64_t missing; /* so much at most lacks in each part; 0: they are exact */
};

/* `stack` 0: not known. */
void stack_tally_add(struct stack_tally *tally, uint32_t stack, uint64_t amount);

/*
 * Takes back what was added; what a stack has here stays no more than what it has in truth. What
 * is gone lacks nowhere: stacks that come and go leave no `missing` behind.
 */
void stack_tally_remove(struct stack_tally *tally, uint32_t stack, uint64_t amount);

/* Adds all of another. */
void stack_tally_merge(struct stack_tally *tally, const struct stack_tally *other);

#endif /* MEMSCOPE_ANALYSIS_STACK_TALLY_H */
