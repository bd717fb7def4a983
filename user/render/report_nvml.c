// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_nvml.h"

#include <string.h>

#include "render/field.h"

struct list {
	struct report_nvml_part *parts;
	size_t count;
};

static void add(struct list *list, const char *what, uint64_t bytes)
{
	if (bytes)
		list->parts[list->count++] = (struct report_nvml_part){ what, bytes, false };
}

/* If the pieces that the driver was seen to take are smaller, the rest lies in older ones. */
static void add_allocated(struct list *list, const struct nvml_parts *parts)
{
	uint64_t bytes = parts->allocated_bytes;

	if (parts->slack_bytes < 0)
		bytes -= (uint64_t)-parts->slack_bytes;
	add(list, "allocated with CUDA", bytes);
	if (parts->slack_bytes > 0)
		add(list, "unused rest of the chunks behind that", (uint64_t)parts->slack_bytes);
}

static size_t list_parts(const struct nvml_parts *parts, bool objects,
			 struct report_nvml_part rows[REPORT_NVML_PARTS_MAX])
{
	struct list list = { .parts = rows };
	size_t i;

	add_allocated(&list, parts);
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		add(&list, driver_cause_description(i), parts->causes[i]);
	add(&list, "from before it was attached to", parts->before_bytes);
	if (parts->unexplained_bytes > 0)
		add(&list,
		    objects ? "unexplained" :
			      "contexts, code and all else that CUDA was not asked for by name",
		    (uint64_t)parts->unexplained_bytes);
	else
		add(&list, "less: seen here, but not counted by NVML",
		    (uint64_t)-parts->unexplained_bytes);
	rows[list.count++] =
		(struct report_nvml_part){ "in all, as NVML says", parts->used_bytes, true };
	return list.count;
}

size_t report_nvml_parts(const struct process *process,
			 struct report_nvml_part rows[REPORT_NVML_PARTS_MAX])
{
	struct nvml_parts parts;

	if (!nvml_account_parts(process, &parts))
		return 0;
	return list_parts(&parts, process->nvml.last.objects_seen, rows);
}

size_t report_nvml_parts_on(const struct process *process, const struct nvml_on_device *device,
			    struct report_nvml_part rows[REPORT_NVML_PARTS_MAX])
{
	if (device->known)
		return list_parts(&device->parts, process->nvml.last.objects_seen, rows);
	rows[0] = (struct report_nvml_part){ "as NVML says; what of it was seen is not known",
					     device->used_bytes, true };
	return 1;
}

/* ---- devices --------------------------------------------------------------------------------- */

static uint64_t difference(uint64_t one, uint64_t other)
{
	return one > other ? one - other : 0;
}

void report_nvml_shares(const struct nvml_device_account *device,
			struct report_nvml_share shares[REPORT_NVML_SHARES])
{
	const struct ms_device *last = &device->last;
	const bool memory = last->known & MS_DEVICE_MEMORY;
	const bool processes = last->known & MS_DEVICE_PROCESSES;
	const struct report_nvml_share all[REPORT_NVML_SHARES] = {
		{ memory, last->total_bytes },
		{ memory, last->used_bytes },
		{ true, device->traced_bytes },
		{ processes, difference(last->processes_bytes, device->traced_bytes) },
		{ memory && processes, difference(last->used_bytes, last->processes_bytes) },
		{ last->known & MS_DEVICE_RESERVED, last->reserved_bytes },
	};

	memcpy(shares, all, sizeof(all));
}

static void list_device(struct document *document, const struct report_recording *recording,
			const struct nvml_device_account *device)
{
	const struct ms_device *last = &device->last;
	struct report_nvml_share shares[REPORT_NVML_SHARES];
	size_t i;

	if (!document_row(document))
		return;
	report_nvml_shares(device, shares);
	field_append_safe(&document->text, last->uuid, strnlen(last->uuid, sizeof(last->uuid)));
	document_cell(document);
	for (i = 0; i < REPORT_NVML_SHARES; i++)
		document_cell_size(document, shares[i].known, shares[i].bytes);
	document_cell_size(document, last->known & MS_DEVICE_MEMORY, device->peak_bytes);
	/* Of a device on which nothing was in use all along, no moment is the one. */
	if (device->peak_bytes)
		document_cell_time(document, recording, device->peak_ts_ns);
	else
		document_cell_absent(document);
	document_row_end(document);
}

void report_nvml_devices(struct document *document, const struct report_recording *recording)
{
	static const struct document_column columns[] = {
		{ "Device", DOCUMENT_TEXT },      { "Memory", DOCUMENT_NUMBER },
		{ "In use", DOCUMENT_NUMBER },    { "Of traced processes", DOCUMENT_NUMBER },
		{ "Of others", DOCUMENT_NUMBER }, { "Of no process", DOCUMENT_NUMBER },
		{ "Reserved", DOCUMENT_NUMBER },  { "Most in use", DOCUMENT_NUMBER },
		{ "At", DOCUMENT_VALUE },         { 0 },
	};
	const struct nvml_devices *devices = &recording->state->nvml_devices;
	size_t i;

	document_table_top(document, "nvml-devices", "Devices, by NVML's last answer", columns);
	for (i = 0; i < devices->count; i++)
		list_device(document, recording, &devices->devices[i]);
	document_table_end(document);
}
