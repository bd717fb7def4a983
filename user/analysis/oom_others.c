// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_others.h"

#include <string.h>

/* ---- the sample ------------------------------------------------------------------------------ */

/* NVML's device that the process calls by that number; NULL: none is proven to be. */
static const struct nvml_device_account *
device_of(const struct analysis_oom *oom, const struct state *state, const struct process *process)
{
	const struct nvml_devices *devices = &state->nvml_devices;
	const struct process_device *known = process_devices_find(&process->devices, oom->device);
	size_t i;

	for (i = 0; oom->device >= 0 && i < devices->count; i++)
		if (nvml_account_ordinal(process, devices->devices[i].last.uuid) == oom->device)
			return &devices->devices[i];
	return devices->count == 1 && !(known && known->identity.has_uuid) ? &devices->devices[0] :
									     NULL;
}

void oom_others_begin(struct analysis_oom *oom, const struct state *state,
		      const struct process *process, const struct analysis_options *options)
{
	const struct nvml_device_account *device = device_of(oom, state, process);
	struct oom_others *others = &oom->others;
	const struct ms_device *last;

	if (!device || !(device->last.known & MS_DEVICE_MEMORY))
		return;
	last = &device->last;
	others->sampled = true;
	others->sample_ns = last->event.ts_ns;
	others->fresh = oom->figures_ts_ns <= others->sample_ns + options->oom_view_ns;
	others->total_bytes = last->used_bytes + last->free_bytes;
	others->used_bytes = others->in_use_bytes = last->used_bytes;
	memcpy(others->uuid, last->uuid, sizeof(others->uuid));
	if (!(last->known & MS_DEVICE_PROCESSES) || last->processes <= device->traced_count ||
	    last->processes_bytes <= device->traced_bytes)
		return;
	others->untraced = last->processes - device->traced_count;
	others->untraced_bytes = last->processes_bytes - device->traced_bytes;
	others->bytes = others->untraced_bytes;
}

/* What the sample says of the process; false: it says nothing of it. */
static bool sample_of(const struct oom_others *others, const struct process *process,
		      struct nvml_on_device *out)
{
	size_t i;

	if (!others->sampled || process->nvml.last.ts_ns != others->sample_ns)
		return false;
	for (i = 0; i < nvml_account_devices(process); i++) {
		nvml_account_device(process, i, out);
		if (!memcmp(out->uuid, others->uuid, sizeof(others->uuid)))
			return true;
	}
	return false;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void list(struct oom_others *others, const struct process *process, uint64_t bytes)
{
	struct oom_holder holder = { .pid = process->pid,
				     .start_ns = process->start_ns,
				     .bytes = bytes };
	size_t place = others->count;

	memcpy(holder.comm, process->comm, sizeof(holder.comm));
	others->bytes += bytes;
	if (place == OOM_TOP) {
		others->more++;
		if (others->list[OOM_TOP - 1].bytes >= bytes)
			return;
		place--;
	} else {
		others->count++;
	}
	for (; place > 0 && others->list[place - 1].bytes < bytes; place--)
		others->list[place] = others->list[place - 1];
	others->list[place] = holder;
}

void oom_others_note(struct analysis_oom *oom, const struct process *process, uint64_t live_bytes)
{
	struct oom_others *others = &oom->others;
	struct nvml_on_device sample;
	uint64_t held = live_bytes, seen;

	if (sample_of(others, process, &sample)) {
		/* Beside allocations: contexts, code, and what it held before. */
		seen = sample.known ? sample.parts.allocated_bytes : live_bytes;
		if (sample.used_bytes > seen)
			held += sample.used_bytes - seen;
		if (process->exited)
			held = 0;
		others->in_use_bytes += held;
		others->in_use_bytes -= sample.used_bytes < others->in_use_bytes ?
						sample.used_bytes :
						others->in_use_bytes;
	} else {
		others->in_use_bytes += held;
	}
	if (process->pid == oom->pid && process->start_ns == oom->start_ns)
		others->own_bytes = held;
	else if (held)
		list(others, process, held);
}

void oom_others_end(struct analysis_oom *oom)
{
	struct oom_others *others = &oom->others;

	if (others->total_bytes && others->in_use_bytes > others->total_bytes)
		others->in_use_bytes = others->total_bytes;
	if (others->in_use_bytes < others->own_bytes + others->bytes)
		others->in_use_bytes = others->own_bytes + others->bytes;
}

/* ---- what it comes to ------------------------------------------------------------------------ */

bool analysis_oom_others_matter(const struct analysis_oom *oom)
{
	const struct oom_others *others = &oom->others;

	return others->bytes && others->bytes * 10 >= others->in_use_bytes;
}

bool analysis_oom_is_shared(const struct analysis_oom *oom)
{
	const struct oom_others *others = &oom->others;
	uint64_t total = oom->device_bytes;

	if (!total)
		total = oom->request.told ? oom->request.told_total_bytes :
			oom->view.known   ? oom->view.total_bytes :
					    others->total_bytes;
	return analysis_oom_others_matter(oom) &&
	       (!total || others->own_bytes + oom->requested_bytes <= total);
}
