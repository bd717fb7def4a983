/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that were refused memory while calls from elsewhere got some: from where, and whether the
 * refused ones have got it since. A part of analysis/oom_watch.h. Pure; its memory is fixed.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_SITES_H
#define MEMSCOPE_ANALYSIS_OOM_SITES_H

#include <stddef.h>
#include <stdint.h>

#define OOM_SITES_MAX 16 /* of more, the one that was noted down longest ago is forgotten */

struct oom_refused_site {
	uint64_t number; /* from 1: who was granted in between has another */
	uint32_t pid;
	uint64_t start_ns;
	uint32_t stack; /* id, of ledger/stacks.h */
	uint64_t bytes; /* asked for last */
	uint64_t failures;
	/* Requests that ended so by what others got: another refusal says that it is wrong. */
	uint64_t recovered, backed_off;
};

struct oom_sites {
	size_t count;
	uint64_t added;
	struct oom_refused_site
		list[OOM_SITES_MAX]; /* in the order in which they were noted down */
};

/* Adds to what is known of that place; `number` is not looked at. Returns the number. */
uint64_t oom_sites_add(struct oom_sites *sites, const struct oom_refused_site *site);

/* Calls from there were refused, and never granted since; NULL: that is not known. */
struct oom_refused_site *oom_sites_find(struct oom_sites *sites, uint32_t pid, uint64_t start_ns,
					uint32_t stack);

/* So much was granted to a call from there: or from elsewhere, which asked for the same again. */
void oom_sites_grant(struct oom_sites *sites, uint32_t pid, uint64_t start_ns, uint32_t stack,
		     uint64_t bytes);

void oom_sites_end_process(struct oom_sites *sites, uint32_t pid, uint64_t start_ns);

#endif /* MEMSCOPE_ANALYSIS_OOM_SITES_H */
