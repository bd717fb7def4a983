// SPDX-License-Identifier: BSD-2-Clause
#include "event/cgroup_leavers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

void cgroup_leavers_add(struct cgroup_leavers *leavers, uint32_t pid)
{
	leavers->count++;
	if (leavers->pids_count < CGROUP_LEAVERS_PIDS)
		leavers->pids[leavers->pids_count++] = pid;
}

void cgroup_leavers_append(struct string *out, const struct cgroup_leavers *leavers)
{
	size_t i;

	string_append_format(out, "%llu", (unsigned long long)leavers->count);
	for (i = 0; i < leavers->pids_count; i++)
		string_append_format(out, " %u", leavers->pids[i]);
}

static bool take_number(const char **text, uint64_t *number)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*number = strtoull(*text, &end, 10);
	*text = end;
	return !errno && *number && *number <= INT32_MAX;
}

void cgroup_leavers_parse(struct cgroup_leavers *leavers, const char *text)
{
	uint64_t number;

	*leavers = (struct cgroup_leavers){ 0 };
	if (!text || !take_number(&text, &number))
		return;
	leavers->count = number;
	while (*text++ == ' ' && leavers->pids_count < CGROUP_LEAVERS_PIDS &&
	       leavers->pids_count < leavers->count && take_number(&text, &number))
		leavers->pids[leavers->pids_count++] = (uint32_t)number;
}

void cgroup_leavers_append_pids(struct string *out, const struct cgroup_leavers *leavers)
{
	size_t i;

	string_append_text(out, leavers->count == 1 ? "pid" : "pids");
	for (i = 0; i < leavers->pids_count; i++)
		string_append_format(out, "%s %u", i ? "," : "", leavers->pids[i]);
	if (leavers->count > leavers->pids_count)
		string_append_text(out, ", ...");
}
