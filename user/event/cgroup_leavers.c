// SPDX-License-Identifier: BSD-2-Clause
#include "event/cgroup_leavers.h"

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

void cgroup_leavers_parse(struct cgroup_leavers *leavers, const char *text)
{
	uint64_t number;

	*leavers = (struct cgroup_leavers){ 0 };
	if (!text || !string_take_count(&text, INT32_MAX, &number))
		return;
	leavers->count = number;
	while (*text++ == ' ' && leavers->pids_count < CGROUP_LEAVERS_PIDS &&
	       leavers->pids_count < leavers->count && string_take_count(&text, INT32_MAX, &number))
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
