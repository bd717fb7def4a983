// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_sites.h"

#include <stdbool.h>

static bool is_of(const struct oom_refused_site *site, uint32_t pid, uint64_t start_ns)
{
	return site->pid == pid && site->start_ns == start_ns;
}

/* SIZE_MAX: it is not there. */
static size_t find(const struct oom_sites *sites, uint32_t pid, uint64_t start_ns, uint32_t stack)
{
	size_t i;

	for (i = 0; i < sites->count; i++)
		if (is_of(&sites->list[i], pid, start_ns) && sites->list[i].stack == stack)
			return i;
	return SIZE_MAX;
}

void oom_sites_add(struct oom_sites *sites, const struct oom_refused_site *site)
{
	size_t place = find(sites, site->pid, site->start_ns, site->stack);

	if (place != SIZE_MAX) {
		sites->list[place].bytes = site->bytes;
		sites->list[place].failures += site->failures;
		return;
	}
	place = sites->count < OOM_SITES_MAX ? sites->count++ : sites->next++ % OOM_SITES_MAX;
	sites->list[place] = *site;
}

uint64_t oom_sites_failures(const struct oom_sites *sites, uint32_t pid, uint64_t start_ns,
			    uint32_t stack)
{
	const size_t place = find(sites, pid, start_ns, stack);

	return place == SIZE_MAX ? 0 : sites->list[place].failures;
}

void oom_sites_grant(struct oom_sites *sites, uint32_t pid, uint64_t start_ns, uint32_t stack,
		     uint64_t bytes)
{
	size_t i;

	for (i = sites->count; i > 0; i--) {
		const struct oom_refused_site *site = &sites->list[i - 1];

		if (is_of(site, pid, start_ns) &&
		    (bytes == site->bytes || (stack == site->stack && bytes > site->bytes)))
			sites->list[i - 1] = sites->list[--sites->count];
	}
}
