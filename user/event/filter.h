/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which calls are shown. What is not shown is still in the ledger, and counted as filtered.
 */
#ifndef MEMSCOPE_EVENT_FILTER_H
#define MEMSCOPE_EVENT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"

struct filter {
	uint32_t ops;       /* bit set of enum ms_op */
	uint32_t failures;  /* also failed calls of these ops */
	uint64_t min_bytes; /* of allocations, frees, copies and memsets whose size is known */
	bool *rows;         /* by row of the probe table; NULL: all of them */
};

/*
 * What a call did to the ledger, besides what it is for: launches of graphs allocate and free, ends
 * of contexts free. And of a free: what it freed.
 */
struct filter_effect {
	uint64_t made_count, made_bytes;
	uint64_t ended_count, ended_bytes;
	bool freed_known;
	uint64_t freed_bytes;
};

/*
 * Keeps only calls one of whose functions matches the POSIX extended regular expression. Returns 0,
 * -ENOMEM, -ENOENT if none of all functions does, or -EINVAL with the reason in `reason`.
 */
int filter_set_api(struct filter *filter, const char *regex, char *reason, size_t reason_bytes);

bool filter_accepts(const struct filter *filter, const struct event *event,
		    const struct filter_effect *effect);

void filter_fini(struct filter *filter);

#endif /* MEMSCOPE_EVENT_FILTER_H */
