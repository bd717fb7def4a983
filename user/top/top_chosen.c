// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_chosen.h"

#include <string.h>

#include "ledger/nvml_account.h"
#include "ledger/usage.h"

bool top_chosen_is_known(const struct top *top)
{
	return top->selection && process_selection_is_some(top->selection) && !top->told_peaks;
}

/* What it has allocated there so far, also if it has freed all of it. */
static void add_cells(struct top_device *device, const struct usage_totals *totals,
		      const struct process *process)
{
	const struct usage *usage = process->usage;
	size_t i;

	for (i = 0; usage && device->row != SIZE_MAX && i < usage->count; i++) {
		const struct usage_cell *cell = &usage->cells[i];

		if (!usage_is_on_device(cell->space) ||
		    (!device->is_only &&
		     usage_device_place(totals, &process->devices, cell->device) != device->row))
			continue;
		device->chosen = true;
		device->chosen_bytes += cell->live_bytes;
	}
}

/* Contexts take memory, too. */
static bool nvml_lists(const struct top_device *device, const struct process *process)
{
	const size_t count = *device->uuid ? nvml_account_devices(process) : 0;
	struct nvml_on_device on;
	size_t i;

	for (i = 0; i < count; i++) {
		nvml_account_device(process, i, &on);
		if (!strncmp(on.uuid, device->uuid, MS_UUID_BYTES))
			return true;
	}
	return false;
}

static void add(struct top_device *device, const struct top *top)
{
	const struct state *state = top->sink.state;
	size_t i;

	for (i = 0; i < state->processes_count; i++) {
		const struct process *process = state->processes[i];

		if (process->exited || !process_selection_has(top->selection, process))
			continue;
		add_cells(device, state->usage, process);
		device->chosen |= nvml_lists(device, process);
	}
}

size_t top_chosen_devices(const struct top *top, struct top_device *devices, size_t count,
			  size_t *others)
{
	size_t kept = 0, i;

	*others = 0;
	if (!top_chosen_is_known(top))
		return count;
	for (i = 0; i < count; i++) {
		add(&devices[i], top);
		if (devices[i].chosen)
			devices[kept++] = devices[i];
		else
			++*others;
	}
	return kept;
}
