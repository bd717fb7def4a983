/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of `make bench` share: the targets that they measure in and what they measure
 * with. Whatever goes wrong ends the benchmark.
 */
#ifndef MEMSCOPE_BENCH_BENCH_H
#define MEMSCOPE_BENCH_BENCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/stacks/stack_taker.h"
#include "capture/attach/attachment.h"
#include "capture/attach/features.h"
#include "capture/attach/library.h"
#include "target.h"

#define MAX_ROUNDS 200

struct target {
	pid_t pid;
	struct bench_order *order;
};

/* Of two targets, only the first is traced, unless it is said that both are. */
enum { TARGET_FIRST, TARGET_SECOND, TARGET_PRELOADED, TARGETS_COUNT };

struct bench {
	const char *directory; /* of the target, its library and the interposer */
	const char *memscope_path, *libcuda_path;
	char *target_path, *library_path, *interposer_path, *errors_path;
	struct target targets[TARGETS_COUNT];
	struct library_cache cache;
	struct features features;
	int rounds;
};

__attribute__((noreturn)) void bench_die(const char *what, int err);

/* ---- targets.c: processes that call what they are told to ------------------------------------ */

void targets_start(struct bench *bench);
void targets_end(struct bench *bench);

/* Median nanoseconds per call of some batches of `calls`, after a warm-up. */
double target_measure(struct target *target, enum bench_call call, uint64_t calls);

/* Nanoseconds per call of each batch, and of the calls of BENCH_REF that followed it. */
struct costs {
	double ns[BENCH_BATCHES], unit_ns[BENCH_BATCHES];
};

/* After a warm-up, `calls` of each in turn. */
void target_measure_both(struct target *target, enum bench_call call, uint64_t calls,
			 struct costs *costs);

/* One call every `pace_ns` for `duration_ns`; target_wait() returns when it is over. */
void target_pace(struct target *target, enum bench_call call, uint64_t pace_ns,
		 uint64_t duration_ns);
void target_wait(struct target *target);

/* Whether there is a breakpoint where the function begins. */
bool target_has_probe(const struct target *target, enum bench_call call);

/* Returns when nobody traces the function: someone else may be tracing all that there is. */
void target_await_peace(const struct target *target, enum bench_call call);

/* ---- tool.c: memscope-bpf in this process, and as a command ---------------------------------- */

struct tool {
	struct programs *programs;
	struct attachment attachment;
	struct stack_taker *stacks; /* NULL: none are taken */
	pthread_t reader;           /* of the rings */
	_Atomic bool ending;
};

const struct library *tool_library(struct bench *bench, const char *path);

/*
 * Attaches to a library's functions in the first target, or, `in_file`, in all processes, of which
 * that one alone is traced; the rings' sizes are set here. What is in
 * them is thrown away every millisecond, about as many records as the command finds every ten at a
 * tenth of the speed.
 */
void tool_attach(struct bench *bench, struct tool *tool, const char *path,
		 const struct programs_options *options, bool in_file);
void tool_detach(struct tool *tool);

/*
 * Starts `memscope-bpf MODE[0] -q MODE[1]... -p PIDS`, and returns when it is attached. What it
 * complains about is in trace.err.
 */
pid_t tool_start(struct bench *bench, const char *const *mode, size_t targets);

/* Ends it; returns its exit status, as wait(2) gives it. */
int tool_end(pid_t tool);

uint64_t tool_cpu_ns(pid_t tool);

/* ---- what is printed, one table each --------------------------------------------------------- */

void bench_calls(struct bench *bench);
void bench_bystander(struct bench *bench);
void bench_attach(struct bench *bench);
void bench_first(struct bench *bench);
void bench_consumer(struct bench *bench);
void bench_rates(struct bench *bench);
void bench_record(struct bench *bench);

#endif /* MEMSCOPE_BENCH_BENCH_H */
