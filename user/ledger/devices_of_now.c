// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/devices_of_now.h"

static void meant_by(const struct process *process, struct usage_totals *totals)
{
	size_t i, row;

	for (i = 0; i < process->devices.count; i++) {
		row = usage_device_place(totals, &process->devices,
					 process->devices.devices[i].ordinal);
		if (row != SIZE_MAX)
			totals->devices[row].past = false;
	}
}

void devices_of_now_settle(struct state *state)
{
	struct usage_totals *totals = state->usage;
	size_t i;

	if (!totals)
		return;
	for (i = 0; i < totals->count; i++)
		totals->devices[i].past = !totals->devices[i].live_bytes &&
					  !device_identity_is_known(&totals->devices[i].identity);
	for (i = 0; i < state->processes_count; i++)
		if (!state->processes[i]->exited)
			meant_by(state->processes[i], totals);
}
