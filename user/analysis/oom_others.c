// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_others.h"

#include <string.h>

/* The recorder reads NVML every 10 s: an older sample says nothing of the device any more. */
#define SAMPLE_AGE_NS 60000000000

/* One part of so many: what a program is told is all, and NVML's number, differ by less. */
#define TOTALS_DIFFER 20

/* ---- the sample ------------------------------------------------------------------------------ */

/* Whether the process has used another device than that: then one of NVML's may be either. */
static bool uses_another(const struct process *process, int32_t device)
{
	size_t key, i;

	for (i = 0; i < process->contexts_count; i++)
		if (process->contexts[i].device >= 0 && process->contexts[i].device != device)
			return true;
	for (key = 0; key < LEDGERS_COUNT; key++)
		for (i = 0; i < process->ledgers[key].count; i++) {
			const struct allocation *entry = &process->ledgers[key].entries[i];

			if (usage_is_on_device(entry->space) && entry->device >= 0 &&
			    entry->device != device)
				return true;
		}
	return false;
}

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
	if (devices->count != 1 || (known && known->identity.has_uuid) ||
	    (oom->device >= 0 && uses_another(process, oom->device)))
		return NULL;
	return &devices->devices[0];
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
	if (oom->figures_ts_ns > last->event.ts_ns + SAMPLE_AGE_NS)
		return;
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

/* The largest first; `place` is the last one's, which may be overwritten. */
static void sink(struct oom_others *others, size_t place, struct oom_holder holder)
{
	for (; place > 0 && others->list[place - 1].bytes < holder.bytes; place--)
		others->list[place] = others->list[place - 1];
	others->list[place] = holder;
}

static void list(struct oom_others *others, const struct process *process, uint64_t bytes,
		 uint64_t live_bytes)
{
	struct oom_holder holder = { .pid = process->pid,
				     .start_ns = process->start_ns,
				     .bytes = bytes,
				     .live_bytes = live_bytes };

	memcpy(holder.comm, process->comm, sizeof(holder.comm));
	others->bytes += bytes;
	others->live_bytes += live_bytes;
	if (others->count < OOM_TOP) {
		others->count++;
	} else {
		others->more++;
		if (others->list[OOM_TOP - 1].bytes >= bytes)
			return;
	}
	sink(others, others->count - 1, holder);
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
		list(others, process, held, live_bytes < held ? live_bytes : held);
}

void oom_others_end(struct analysis_oom *oom)
{
	struct oom_others *others = &oom->others;

	if (others->total_bytes && others->in_use_bytes > others->total_bytes)
		others->in_use_bytes = others->total_bytes;
	if (others->in_use_bytes < others->own_bytes + others->bytes)
		others->in_use_bytes = others->own_bytes + others->bytes;
}

/* ---- what the driver said later -------------------------------------------------------------- */

/* What was in use by the driver's answer, if that is of the whole device and the newer one. */
static bool used_since(const struct analysis_oom *oom, uint64_t *bytes)
{
	const struct oom_others *others = &oom->others;
	const bool told = oom->request.told;
	const uint64_t total = told ? oom->request.told_total_bytes : oom->view.total_bytes;
	uint64_t free_bytes;

	if (!others->sampled || !analysis_oom_free(oom, &free_bytes) ||
	    (told ? oom->request.told_ts_ns : oom->view.ts_ns) <= others->sample_ns ||
	    total < others->total_bytes - others->total_bytes / TOTALS_DIFFER)
		return false;
	*bytes = total > free_bytes ? total - free_bytes : 0;
	return true;
}

/* Of what traced processes hold beside what they were seen to allocate, all have a like part. */
static void reduce_traced(struct oom_others *others, uint64_t left_bytes, uint64_t unseen_bytes)
{
	const double part = (double)left_bytes / (double)unseen_bytes;
	size_t i;

	for (i = 0; i < others->count; i++) {
		struct oom_holder holder = others->list[i];

		holder.bytes = holder.live_bytes +
			       (uint64_t)((double)(holder.bytes - holder.live_bytes) * part);
		sink(others, i, holder);
	}
}

void oom_others_bound(struct analysis_oom *oom)
{
	struct oom_others *others = &oom->others;
	uint64_t used, most, traced, unseen;

	if (!used_since(oom, &used))
		return;
	most = used > oom->own.bytes ? used - oom->own.bytes : 0;
	if (most < others->live_bytes)
		most = others->live_bytes;
	if (others->bytes <= most)
		return;
	traced = others->bytes - others->untraced_bytes;
	unseen = traced - others->live_bytes;
	others->untraced_bytes = most > traced ? most - traced : 0;
	if (!others->untraced_bytes)
		others->untraced = 0;
	if (traced > most)
		reduce_traced(others, most - others->live_bytes, unseen);
	others->bytes = most;
	others->in_use_bytes = oom->own.bytes + most;
	if (others->own_bytes > oom->own.bytes)
		others->own_bytes = oom->own.bytes;
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
