/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that were refused memory while calls from elsewhere got some: from where, and whether the
 * refused ones have got it since. A part of analysis/oom_watch.h. Pure; its memory is fixed.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_SITES_H
#define MEMSCOPE_ANALYSIS_OOM_SITES_H

#include <stddef.h>
#include <stdint.h>

#define OOM_SITES_MAX 16 /* of more, the oldest is forgotten */

struct oom_refused_site {
	uint32_t pid;
	uint64_t start_ns;
	uint32_t stack; /* id, of ledger/stacks.h */
	uint64_t bytes; /* asked for last */
	uint64_t failures;
};

struct oom_sites {
	size_t count, next;
	struct oom_refused_site list[OOM_SITES_MAX];
};

void oom_sites_add(struct oom_sites *sites, const struct oom_refused_site *site);

/* How often calls from there were refused, and never granted since; 0: that is not known. */
uint64_t oom_sites_failures(const struct oom_sites *sites, uint32_t pid, uint64_t start_ns,
			    uint32_t stack);

/* So much was granted to a call from there: or from elsewhere, which asked for the same again. */
void oom_sites_grant(struct oom_sites *sites, uint32_t pid, uint64_t start_ns, uint32_t stack,
		     uint64_t bytes);

#endif /* MEMSCOPE_ANALYSIS_OOM_SITES_H */
