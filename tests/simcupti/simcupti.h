/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the simulated CUPTI share.
 */
#ifndef SIMCUPTI_H
#define SIMCUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observer.h"

/* settings.c: SIMCUPTI, "key=value,key=value"; README.md says which. Read once. */
struct settings {
	uint32_t version;   /* as cuptiGetVersion() says it */
	uint64_t kernel_ns; /* that each kernel runs */
	char slow[64];      /* of another kernel: its name, and how long it runs */
	uint64_t slow_ns;
	uint64_t copy_ns;  /* that each copy takes; 0: by its bytes */
	uint64_t delay_ns; /* from a call's end until the GPU begins, if nothing is before it */
	uint64_t drop, untimed, inverted, outside; /* each n-th kernel, copy or memset; 0: none */
	uint64_t keep; /* activities that are kept until a flush; 0: a few thousand */
	bool shuffle;  /* records are handed over in another order than they were made */
	bool refuses_clock, ignores_clock;
	bool realtime; /* its own clock is CLOCK_REALTIME, else CLOCK_MONOTONIC */
	int64_t offset_ns, drift_ppm, noise_ns; /* what its own clock adds to that */
	int64_t seed;                           /* of the noise */
	char other[64]; /* another subscriber: its name; "": there is none */
	bool has_other;
	char fails[64]; /* a function without "cupti", and what it returns */
	int result;
	bool crashes;    /* ... instead of returning it */
	bool timed;      /* what is taken for each buffer is logged */
	bool hangs;      /* a forced flush never returns */
	const char *log; /* SIMCUPTI_LOG: a line for each activity; NULL: none */
};
const struct settings *settings(void);

/* clock.c */
typedef uint64_t clock_fn(void);
uint64_t clock_ours(void); /* CLOCK_MONOTONIC, ns */
bool clock_register(clock_fn *clock);
uint64_t clock_now(void);                 /* CUPTI's time */
uint64_t clock_at(uint64_t monotonic_ns); /* what it was, or will be, then */

/* activity.c */
enum { KIND_KERNEL, KIND_COPY, KIND_PEER, KIND_MEMSET, KIND_CALL, KIND_OVERHEAD };
struct activity {
	int kind;
	uint64_t begin, end; /* CUPTI's times */
	uint64_t ready_ns;   /* CLOCK_MONOTONIC: the GPU has done it */
	struct observer_work work;
	const char *name;
	uint32_t correlation, thread, cbid;
};

extern bool enabled[64];       /* by CUpti_ActivityKind */
extern bool enabled_api[2048]; /* by CUpti_driver_api_trace_cbid */
const struct observer *activity_observer(void);
void activity_flush(bool all);
uint64_t activity_dropped(void);
void activity_buffers(void (*request)(uint8_t **, size_t *, size_t *),
		      void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t));

/* record.c: returns how many bytes it takes; 0: it has no room. */
size_t record_put(uint8_t *at, size_t room, const struct activity *activity);
size_t record_size(const uint8_t *at);

#endif
