// SPDX-License-Identifier: BSD-2-Clause
#include "agent/nvml_watch.h"

#include "ledger/usage.h"

static struct nvml_watch watch_of(const struct state *state, uint64_t now_ns)
{
	struct nvml_watch now = { .due_ns = now_ns };
	size_t i;

	for (i = 0; state->usage && i < state->usage->count; i++)
		now.live_bytes += state->usage->devices[i].live_bytes;
	for (i = 0; i < state->processes_count; i++)
		now.holders +=
			!state->processes[i]->exited && state->processes[i]->calls[MS_OP_ALLOC];
	return now;
}

bool nvml_watch_is_due(struct nvml_watch *watch, const struct state *state, uint64_t now_ns)
{
	const struct nvml_watch now = watch_of(state, now_ns);
	const uint64_t more = now.live_bytes > watch->live_bytes ?
				      now.live_bytes - watch->live_bytes :
				      watch->live_bytes - now.live_bytes;

	if (now_ns - watch->due_ns < NVML_WATCH_NS ||
	    (more < NVML_WATCH_BYTES && now.holders == watch->holders))
		return false;
	*watch = now;
	return true;
}
