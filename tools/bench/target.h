/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the benchmark tells its target, in memory that both have mapped.
 */
#ifndef MEMSCOPE_BENCH_TARGET_H
#define MEMSCOPE_BENCH_TARGET_H

#include <stdatomic.h>
#include <stdint.h>

enum bench_call {
	BENCH_REF,
	BENCH_LAUNCH,
	BENCH_LAUNCH_ENDBR, /* the function begins with endbr64 */
	BENCH_LAUNCH_SUB,
	BENCH_LAUNCH_MOV,
	BENCH_ALLOC,
	BENCH_ALLOC_FREE,
	BENCH_RUNTIME_ALLOC,
	BENCH_RUNTIME_LAUNCH,
	BENCH_STEP, /* BENCH_STEP_CALLS calls, in the proportions of a training step */
	BENCH_IDLE,
	BENCH_EXIT,
	BENCH_CALLS,
};

#define BENCH_BATCHES 31

#define BENCH_STEP_LAUNCHES 44
#define BENCH_STEP_COPIES 4
#define BENCH_STEP_CALLS (BENCH_STEP_LAUNCHES + BENCH_STEP_COPIES + 2) /* and one block */

struct bench_order {
	_Atomic uint32_t sequence; /* raised by the benchmark: a new order */
	_Atomic uint32_t done;     /* = sequence: carried out */
	enum bench_call call;
	uint64_t calls;                /* per batch */
	uint64_t pace_ns;              /* one call every so many; 0: as fast as possible */
	uint64_t duration_ns;          /* if paced: for how long */
	uint64_t unit_calls;           /* of BENCH_REF, after each batch */
	double ns[BENCH_BATCHES];      /* result: CPU time per call ... */
	double unit_ns[BENCH_BATCHES]; /* ... and per call of BENCH_REF */
	uint64_t made;                 /* result: calls, if paced ... */
	uint64_t elapsed_ns;           /* ... and how long they took */
	uint64_t places[BENCH_CALLS];  /* result: where in the target the functions begin */
};

#endif /* MEMSCOPE_BENCH_TARGET_H */
