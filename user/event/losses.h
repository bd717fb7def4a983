/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was lost of what was seen: the kernel side's counters (of a capture, or what a recording
 * says of them), summed up.
 */
#ifndef MEMSCOPE_EVENT_LOSSES_H
#define MEMSCOPE_EVENT_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

struct losses {
	uint64_t seen;      /* calls */
	uint64_t calls;     /* that were lost */
	uint64_t others;    /* lost, too: kernel names, beginnings of frees, lives of processes */
	uint64_t untracked; /* of all those: as in struct ms_counters; the others found no room */
	uint64_t bulk;      /* of `calls`: those that came by the bulk ring */
};

struct losses losses_of(const struct ms_counters *counters);

/* Calls and others. */
uint64_t losses_count(const struct losses *losses);

/* Calls that were seen and not lost. */
uint64_t losses_kept(const struct losses *losses);

/* Calls that were seen, but of processes that nobody asked for. */
void losses_leave_out(struct losses *losses, uint64_t calls);

/* Whether what is live, the peaks and the totals depend on records of that kind (enum ms_kind). */
bool losses_matter(int kind);

/*
 * How many records were lost on which what is live, the peaks and the totals depend. (They depend
 * on launches, too, if these are of graphs that allocate, which is not known of a lost one.)
 */
uint64_t losses_of_memory(const struct ms_counters *counters);

/* Adds what was counted. Its op is known: event_decode() refuses the others. */
void losses_add_account(struct ms_counters *counters, const struct ms_account *account);

#endif /* MEMSCOPE_EVENT_LOSSES_H */
