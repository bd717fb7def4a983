/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every exported function goes through, in both libraries: an injected failure
 * (SIMCUDA_FAIL), a delay (SIMCUDA_DELAY), the implementation, a line in the oracle (SIMCUDA_LOG).
 * driver.h and runtime.h build their DEFINE macros on API_SITE, api_enter and api_leave.
 */
#ifndef SIMCUDA_API_H
#define SIMCUDA_API_H

#include <stdbool.h>
#include <stdint.h>

#include "oracle.h"

#define API_EXPORT __attribute__((visibility("default")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct api_rule;

/* One exported function. 32 bytes, so that the linker section is an array of them. */
struct api {
	const char *name;
	const struct api_rule *rules;
	uint64_t delay_ns : 63;
	uint64_t spins : 1; /* it is CPU time that the call takes so much of */
	uint64_t calls;     /* counted only where there are rules */
} __attribute__((aligned(32)));

/* Declares `api`, the calling function's own, and `start_ns`. */
#define API_SITE(symbol) \
	static struct api api __attribute__((section("simcuda_api"), used)) = { .name = #symbol }; \
	uint64_t start_ns = 0

/* Whether the environment asks for anything at all; if not, a call costs this one test. */
extern bool api_active;

/*
 * The driver's state of one thread, which it shares with our runtime (and nobody else) through
 * cuGetProcAddress("simcuda_thread"): the runtime says in which of its functions the driver is
 * being called, the driver says which context is current.
 */
struct api_thread {
	const char *via;
	uint64_t context;
	int device; /* meaningful while context is not 0 */
};
typedef struct api_thread *(*api_thread_fn)(void);

int api_enter_active(struct api *api, uint64_t *start_ns);

/* 0, or the result to return without doing anything. */
static inline int api_enter(struct api *api, uint64_t *start_ns)
{
	return unlikely(api_active) ? api_enter_active(api, start_ns) : 0;
}

/* thread may be NULL: not known. */
void api_leave(struct oracle_line *line, const struct api_thread *thread);

/* Each library says which names are its own: the other's are no typing errors in SIMCUDA_FAIL. */
bool api_owns(const char *name);

#endif
