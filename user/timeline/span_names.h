/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What spans are called: a function of the probe table, or the kernel that was launched. Small
 * numbers, so that a span can hold several; a bounded number of names, in bounded memory. Kernels
 * that find no room are "other kernels".
 */
#ifndef MEMSCOPE_TIMELINE_SPAN_NAMES_H
#define MEMSCOPE_TIMELINE_SPAN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "event/event.h"
#include "ledger/state.h"

#define SPAN_NAMES_KERNELS 5000     /* and phases */
#define SPAN_NAMES_BYTES (4u << 20) /* of their names */

struct span_names {
	char **texts;
	size_t count, capacity;
	size_t kernels, kernel_bytes;
	struct map rows;    /* row and whether the call failed -> number */
	struct map by_text; /* hash -> number */
	struct map places;  /* the state's copy of a kernel's name -> number */
};

/* A zeroed struct span_names is empty and ready. */
void span_names_fini(struct span_names *names);

/*
 * The number of a call's name, from 0: of a successful launch the kernel's, if known, else the
 * function's, "cudaMalloc" or "cudaMalloc (failed)". Returns -ENOMEM without memory.
 */
int span_names_of(struct span_names *names, const struct event *event, const struct change *change);

/*
 * The number of a kernel by the state's copy of its name, as people write it; and of any text.
 * Those that find no room have one together. Return -ENOMEM without memory.
 */
int span_names_kernel(struct span_names *names, const char *kernel);
int span_names_text(struct span_names *names, const char *text);

/* The number of a function, which it gets if it has none. Returns -ENOMEM without memory. */
int span_names_row(struct span_names *names, uint16_t row, bool failed);

/* The state's strings are not the same any more. */
void span_names_gap(struct span_names *names);

/* About how much memory they take. */
size_t span_names_bytes(const struct span_names *names);

#endif /* MEMSCOPE_TIMELINE_SPAN_NAMES_H */
