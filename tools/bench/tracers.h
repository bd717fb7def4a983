/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways to trace that the table of costs compares, one file each kind.
 */
#ifndef MEMSCOPE_BENCH_TRACERS_H
#define MEMSCOPE_BENCH_TRACERS_H

#include "bench.h"

struct row;

struct tracer {
	/* Returns NULL, or why this cannot be measured here. May be NULL. */
	const char *(*missing)(struct bench *bench, const struct row *row);
	/* When it returns, the first target is being traced, or no more. May be NULL. */
	void (*start)(struct bench *bench, const struct row *row);
	void (*stop)(struct bench *bench, const struct row *row);
};

/* A line of the table. */
struct row {
	const char *name;
	enum bench_call call;
	const struct tracer *tracer;
	bool preloaded; /* what is measured is the target with the interposer */
	/* Of memscope-bpf: */
	struct programs_options options;
	bool in_file; /* the probes */
	/* Of memscope-bpf as a command, from its name on; ends with NULL: */
	const char *const *mode;
	/* Of a peer: what it is told to do, %s is the library's path. */
	const char *script;
};

extern const struct tracer tracer_memscope;
extern const struct tracer tracer_command;
extern const struct tracer tracer_interposer;
extern const struct tracer tracer_bpftrace;
extern const struct tracer tracer_perf;

struct added {
	double unit_ns; /* nanoseconds that the reference adds to a call */
	double ratio;   /* what the row's tracer adds, by that */
};

/* Medians of batches. */
struct added row_measure(struct bench *bench, const struct row *row);

#endif /* MEMSCOPE_BENCH_TRACERS_H */
