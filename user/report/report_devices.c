// SPDX-License-Identifier: BSD-2-Clause
#include "report/report_devices.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"

/* A process and device each; more would only be there to take up memory. */
#define TOLD_MAX 1024

/* ---- what programs were told ----------------------------------------------------------------- */

/* NULL: it is not there, and would get the key `*key`. */
static struct report_told *told_find(const struct report_recording *recording,
				     const struct process *process, int32_t device, uint64_t *key)
{
	const uint64_t secret = map_secret(), *place;
	const uint64_t identity = event_process_key(process->pid, process->start_ns);

	*key = map_hash(secret, map_hash(secret, identity) ^ (uint32_t)device);
	for (; (place = map_get(&recording->told_places, *key)); ++*key) {
		struct report_told *told = &recording->told[*place];

		if (told->pid == process->pid && told->start_ns == process->start_ns &&
		    told->device == device)
			return told;
	}
	return NULL;
}

static struct report_told *told_of(struct report_recording *recording,
				   const struct process *process, int32_t device)
{
	const size_t count = recording->told_count;
	uint64_t key;
	struct report_told *told = told_find(recording, process, device, &key);

	if (told)
		return told;
	if (count == TOLD_MAX ||
	    memory_grow(&recording->told, &recording->told_capacity, count + 1, sizeof(*told)) ||
	    map_set(&recording->told_places, key, count))
		return NULL;
	told = &recording->told[recording->told_count++];
	*told = (struct report_told){ .pid = process->pid,
				      .start_ns = process->start_ns,
				      .device = device };
	return told;
}

/* What is used and not accounted for can only be told for the same moment. */
void report_devices_told(struct report_recording *recording, const struct event *event,
			 const struct change *change)
{
	const struct ms_call *call = event->call;
	const struct usage_device *device;
	struct report_told *told;
	struct usage *usage = change->process->usage;

	if (!event_succeeded(call) || !(call->known & MS_KNOWN_SIZE) ||
	    !(call->known & MS_KNOWN_SRC))
		return;
	told = told_of(recording, change->process, change->device);
	recording->incomplete |= !told;
	if (!told)
		return;
	told->total_bytes = call->size;
	told->free_bytes = call->src;
	told->ts_ns = event->header->ts_ns + call->duration_ns;
	device = usage ? usage_device_of(usage, change->device) : NULL;
	told->row = device ? (size_t)(device - recording->state->usage->devices) : SIZE_MAX;
	told->explained_bytes = device ? device->live_bytes : 0;
}

uint64_t report_told_used(const struct report_told *told)
{
	return told->total_bytes > told->free_bytes ? told->total_bytes - told->free_bytes : 0;
}

bool report_told_unexplained(const struct report_told *told, uint64_t *bytes)
{
	const uint64_t used = report_told_used(told);

	*bytes = used - told->explained_bytes;
	return used >= told->explained_bytes;
}

uint64_t report_told_pooled(const struct report_recording *recording,
			    const struct report_told *told, bool *at_most)
{
	uint64_t unexplained, sum = 0;
	size_t count, i;
	const struct finding *findings = analysis_findings(recording->analysis, &count);

	*at_most = false;
	if (!report_told_unexplained(told, &unexplained))
		return 0;
	for (i = 0; i < count; i++) {
		const struct finding *finding = &findings[i];

		if (finding->rule != FINDING_POOL_KEPT || finding->pid != told->pid ||
		    finding->start_ns != told->start_ns || finding->device != told->device ||
		    finding->first_ts_ns > told->ts_ns || finding->last_ts_ns < told->ts_ns)
			continue;
		sum += finding->bytes;
		*at_most |= finding->confidence != FINDING_HIGH;
	}
	return sum < unexplained ? sum : unexplained;
}

/* ---- what is accounted for ------------------------------------------------------------------- */

bool report_devices_asked(const struct report_recording *recording, int32_t device)
{
	return recording->options.device < 0 || recording->options.device == device;
}

/*
 * Which rows the processes that the report is about have used, or asked about. NULL without
 * memory.
 */
static bool *rows_of_selected(const struct report_recording *recording)
{
	const struct usage_totals *totals = recording->state->usage;
	bool *wanted = calloc(totals->count + 1, sizeof(*wanted));
	size_t i, j;

	for (i = 0; wanted && i < recording->state->processes_count; i++) {
		const struct process *process = recording->state->processes[i];

		if (!process->usage || !report_wants(&recording->options, process) ||
		    report_had_ended(&recording->coverage, process))
			continue;
		for (j = 0; j < process->usage->count; j++) {
			const size_t row = usage_device_place(totals, &process->devices,
							      process->usage->cells[j].device);

			if (row != SIZE_MAX)
				wanted[row] = true;
		}
	}
	for (i = 0; wanted && i < recording->told_count; i++) {
		const struct report_told *told = &recording->told[i];
		const struct process *process =
			state_find(recording->state, told->pid, told->start_ns);

		if (process && told->row != SIZE_MAX && report_wants(&recording->options, process))
			wanted[usage_device_root(totals, told->row)] = true;
	}
	return wanted;
}

/* `places`: row -> position. */
static struct report_device *device_at(struct report_recording *recording, const struct map *places,
				       size_t row)
{
	const uint64_t *place = row == SIZE_MAX ? NULL : map_get(places, row);

	return place ? &recording->devices[*place] : NULL;
}

static int by_device(const void *a, const void *b)
{
	const struct report_device *x = a, *y = b;

	if (x->device != y->device)
		return (uint32_t)x->device < (uint32_t)y->device ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int device_add(struct report_recording *recording, struct map *places, size_t row)
{
	const struct usage_device *usage = &recording->state->usage->devices[row];
	struct report_device *device;

	if (!usage_device_is_listed(recording->state->usage, row) ||
	    !report_devices_asked(recording, usage->ordinal))
		return 0;
	if (map_set(places, row, recording->devices_count))
		return -ENOMEM;
	device = &recording->devices[recording->devices_count++];
	device->device = usage->ordinal;
	device->row = row;
	device->live_bytes = usage->live_bytes;
	device->peak_bytes = usage->peak_bytes;
	device->peak_ts_ns = usage->peak_ts_ns;
	return 0;
}

/* Host memory has no device; address ranges are no memory. */
static bool is_near_device(uint8_t space)
{
	return usage_is_on_device(space) || space == MS_SPACE_MANAGED || space == MS_SPACE_IMPORTED;
}

static void device_live(struct report_recording *recording, const struct map *places,
			const struct process *process)
{
	const struct usage_totals *totals = recording->state->usage;
	size_t i;

	for (i = 0; process->usage && i < process->usage->count; i++) {
		const struct usage_cell *cell = &process->usage->cells[i];
		const size_t row = usage_device_place(totals, &process->devices, cell->device);
		struct report_device *device = device_at(recording, places, row);

		if (!device || !is_near_device(cell->space))
			continue;
		if (!process->exited)
			device->live[cell->space] += cell->live_bytes;
		device->was_running |= process->was_running || process->was_running_earlier;
	}
}

static void fill_devices(struct report_recording *recording, const struct map *places)
{
	const struct usage_totals *totals = recording->state->usage;
	size_t i;

	for (i = 0; i < recording->state->processes_count; i++)
		device_live(recording, places, recording->state->processes[i]);
	for (i = 0; i < recording->told_count; i++) {
		struct report_told *told = &recording->told[i];
		struct report_device *device;

		if (told->row != SIZE_MAX)
			told->row = usage_device_root(totals, told->row);
		device = device_at(recording, places, told->row);
		if (device && (!device->told || device->told->ts_ns < told->ts_ns))
			device->told = told;
	}
	qsort(recording->devices, recording->devices_count, sizeof(*recording->devices), by_device);
}

int report_devices_finish(struct report_recording *recording)
{
	const struct usage_totals *usage = recording->state->usage;
	const bool all = !report_selects(&recording->options);
	bool *wanted = all ? NULL : rows_of_selected(recording);
	struct map places = { 0 };
	size_t i;
	int err = 0;

	recording->devices = calloc(usage->count + 1, sizeof(*recording->devices));
	if (!recording->devices || (!all && !wanted))
		err = -ENOMEM;
	for (i = 0; !err && i < usage->count; i++)
		if (all || wanted[i])
			err = device_add(recording, &places, i);
	if (!err)
		fill_devices(recording, &places);
	map_fini(&places);
	free(wanted);
	return err;
}

/* ---- what is known of them ------------------------------------------------------------------- */

const struct usage_device *report_device_row(const struct report_recording *recording,
					     const struct report_device *device)
{
	return &recording->state->usage->devices[device->row];
}

void report_device_append_label(struct string *out, const struct report_recording *recording,
				const struct report_device *device)
{
	usage_device_append_label(out, recording->state->usage, device->row);
}

bool report_device_numbers_are_own(const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->devices_count; i++) {
		const struct report_device *device = &recording->devices[i];

		if (device->device >= 0 &&
		    !device_identity_is_known(&report_device_row(recording, device)->identity))
			return true;
	}
	return false;
}

bool report_device_is_own(const struct report_recording *recording,
			  const struct report_device *device)
{
	return device->device >= 0 &&
	       !device_identity_is_known(&report_device_row(recording, device)->identity) &&
	       !usage_device_number_is_unique(recording->state->usage, device->row);
}

int32_t report_device_ordinal(const struct report_recording *recording,
			      const struct report_device *device, const struct process *process)
{
	const struct usage_totals *totals = recording->state->usage;
	size_t i;

	for (i = 0; i < process->devices.count; i++) {
		const struct process_device *called = &process->devices.devices[i];

		if (called->row >= 0 &&
		    usage_device_root(totals, (size_t)called->row) == device->row)
			return called->ordinal;
	}
	return -1;
}
