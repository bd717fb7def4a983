// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_sites.h"

#include <stdbool.h>
#include <string.h>

#include "analysis/oom_ending.h"

static bool is_of(const struct oom_refused_site *site, uint32_t pid, uint64_t start_ns)
{
	return site->pid == pid && site->start_ns == start_ns;
}

static void drop(struct oom_sites *sites, size_t place)
{
	sites->count--;
	memmove(&sites->list[place], &sites->list[place + 1],
		(sites->count - place) * sizeof(*sites->list));
}

struct oom_refused_site *oom_sites_find(struct oom_sites *sites, uint32_t pid, uint64_t start_ns,
					uint32_t stack)
{
	size_t i;

	for (i = 0; i < sites->count; i++)
		if (is_of(&sites->list[i], pid, start_ns) && sites->list[i].stack == stack)
			return &sites->list[i];
	return NULL;
}

uint64_t oom_sites_add(struct oom_sites *sites, const struct oom_refused_site *site)
{
	struct oom_refused_site *known =
		oom_sites_find(sites, site->pid, site->start_ns, site->stack);

	if (known) {
		known->bytes = site->bytes;
		known->failures += site->failures;
		known->recovered += site->recovered;
		known->backed_off += site->backed_off;
		return known->number;
	}
	if (sites->count == OOM_SITES_MAX)
		drop(sites, 0);
	known = &sites->list[sites->count++];
	*known = *site;
	known->number = ++sites->added;
	return known->number;
}

/* Less, but from the same place: it has backed off. */
static bool is_granted(const struct oom_refused_site *site, uint32_t stack, uint64_t bytes)
{
	return bytes == site->bytes ||
	       (stack == site->stack && bytes >= site->bytes / OOM_BACK_OFF_PART);
}

void oom_sites_grant(struct oom_sites *sites, uint32_t pid, uint64_t start_ns, uint32_t stack,
		     uint64_t bytes)
{
	size_t i;

	for (i = sites->count; i > 0; i--)
		if (is_of(&sites->list[i - 1], pid, start_ns) &&
		    is_granted(&sites->list[i - 1], stack, bytes))
			drop(sites, i - 1);
}

void oom_sites_end_process(struct oom_sites *sites, uint32_t pid, uint64_t start_ns)
{
	size_t i;

	for (i = sites->count; i > 0; i--)
		if (is_of(&sites->list[i - 1], pid, start_ns))
			drop(sites, i - 1);
}
