/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop: one place that waits, for descriptors, timers and signals. Each is registered by
 * the part of the program that has it, with what to call. One thread; callbacks run one at a time,
 * may add and remove sources, also their own, and must not run the loop.
 */
#ifndef MEMSCOPE_BASE_LOOP_H
#define MEMSCOPE_BASE_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>

struct loop;
struct loop_source;

/* What a source calls. `data` is what it was added with. Non-zero, an -errno, ends loop_run(). */
typedef int loop_fn(void *context, uint64_t data);
typedef int loop_signal_fn(void *context, const struct signalfd_siginfo *info);

/* Called after each round of callbacks. Returns whether it has more to do at once. */
typedef bool loop_check_fn(void *context);

/* Returns 0 or -errno; nothing is logged. */
int loop_open(struct loop **loop);

/* Ends all sources; descriptors that others have opened stay open. NULL does nothing. */
void loop_close(struct loop *loop);

/*
 * Calls `fn` when `events` (EPOLLIN, EPOLLOUT, EPOLLET) come of the descriptor, until the source is
 * removed, which must be before the descriptor is closed. `source` may be NULL. Returns 0 or
 * -errno.
 */
int loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_fn *fn, void *context,
		uint64_t data, struct loop_source **source);

/*
 * Calls `fn` after `first_ns` (0: not until it is set) and then every `period_ns` (0: no more), by
 * CLOCK_MONOTONIC. A period that was missed is not made up for. `source` may be NULL. Returns 0
 * or -errno.
 */
int loop_add_timer(struct loop *loop, uint64_t first_ns, uint64_t period_ns, loop_fn *fn,
		   void *context, uint64_t data, struct loop_source **source);
int loop_set_timer(struct loop_source *timer, uint64_t first_ns, uint64_t period_ns);

/* Calls `fn` for each of the signals, which the caller has blocked. Returns 0 or -errno. */
int loop_add_signals(struct loop *loop, const sigset_t *signals, loop_signal_fn *fn, void *context,
		     struct loop_source **source);

/* Returns 0 or -ENOMEM. */
int loop_add_check(struct loop *loop, loop_check_fn *fn, void *context);

/* It is not called any more, not even for what has come already. NULL does nothing. */
void loop_remove(struct loop *loop, struct loop_source *source);

/* Waits and calls until loop_stop(). Returns 0, or the -errno of a callback or of waiting. */
int loop_run(struct loop *loop);

/* loop_run() returns when the callbacks of this round have been called. */
void loop_stop(struct loop *loop);

/*
 * The longest that the loop took for one round of callbacks, from when something came until it
 * waited again, of the last 10 to 20 seconds; without the round that is under way.
 */
uint64_t loop_longest_ns(struct loop *loop);

#endif /* MEMSCOPE_BASE_LOOP_H */
