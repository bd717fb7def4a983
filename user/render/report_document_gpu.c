// SPDX-License-Identifier: BSD-2-Clause
/*
 * What GPUs did for the processes, and how long that took: as CUPTI said it, where it was asked.
 */
#include "render/report_document.h"

#include <stdlib.h>

#include "render/gpu_words.h"
#include "render/identity_words.h"
#include "render/report_words.h"

static void end_row(struct document *document, const struct gpu_total *total)
{
	const uint64_t timed = total->count - total->untimed;

	document_cell_count(document, true, total->count);
	document_cell_duration(document, timed, total->total_ns);
	document_cell_duration(document, timed, timed ? total->total_ns / timed : 0);
	document_cell_duration(document, timed, total->least_ns);
	document_cell_duration(document, timed, total->most_ns);
	document_row_end(document);
}

static void list_kernels(struct document *document, const struct gpu_times *times)
{
	static const struct document_column columns[] = {
		{ "Kernel", DOCUMENT_TEXT },
		{ "Count", DOCUMENT_NUMBER },
		{ "Total", DOCUMENT_NUMBER },
		{ "Mean", DOCUMENT_NUMBER },
		{ "Fastest", DOCUMENT_NUMBER },
		{ "Slowest", DOCUMENT_NUMBER },
		{ 0 },
	};
	const struct gpu_kernel **sorted = gpu_times_sorted(times);
	size_t i;

	document->failed |= !sorted;
	document_table_top(document, "gpu_kernels", "Kernels by the time that they ran", columns);
	for (i = 0; sorted && i < times->kernels_count; i++) {
		if (!document_row(document))
			continue;
		gpu_words_kernel(&document->text, sorted[i]->name);
		document_cell(document);
		end_row(document, &sorted[i]->total);
	}
	if (times->others.count && document_row(document)) {
		document_cell_words(document, limit_other_kernels);
		end_row(document, &times->others);
	}
	document_table_end(document);
	free(sorted);
}

static void list_copy(struct document *document, const char *what, const struct gpu_total *total)
{
	const uint64_t timed_ns = total->total_ns;

	if (!total->count || !document_row(document))
		return;
	document_cell_words(document, what);
	document_cell_size(document, true, total->bytes);
	if (timed_ns && !total->untimed)
		string_append_format(
			&document->text, "%s/s",
			REPORT_SIZE((uint64_t)((double)total->bytes * 1e9 / (double)timed_ns)));
	else
		string_append_char(&document->text, '?');
	document_cell(document);
	end_row(document, total);
}

static void list_copies(struct document *document, const struct gpu_times *times)
{
	static const struct document_column columns[] = {
		{ "Copies", DOCUMENT_TEXT },
		{ "Bytes", DOCUMENT_NUMBER },
		{ "Rate", DOCUMENT_NUMBER },
		{ "Count", DOCUMENT_NUMBER },
		{ "Total", DOCUMENT_NUMBER },
		{ "Mean", DOCUMENT_NUMBER },
		{ "Fastest", DOCUMENT_NUMBER },
		{ "Slowest", DOCUMENT_NUMBER },
		{ 0 },
	};
	size_t i;

	document_table(document, "gpu_copies", "Copies and memsets by the time that they ran",
		       columns);
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++)
		list_copy(document, i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : "other",
			  &times->copies[i]);
	list_copy(document, "of these, of pageable memory", &times->pageable);
	list_copy(document, "memset", &times->memsets);
	document_table_end(document);
}

static void list_devices(struct document *document, const struct gpu_times *times)
{
	static const struct document_column columns[] = {
		{ "Device", DOCUMENT_NUMBER },     { "Active for", DOCUMENT_NUMBER },
		{ "Busy", DOCUMENT_NUMBER },       { "Busy of that", DOCUMENT_NUMBER },
		{ "In kernels", DOCUMENT_NUMBER }, { "In copies", DOCUMENT_NUMBER },
		{ "In memsets", DOCUMENT_NUMBER }, { 0 },
	};
	size_t i;

	document_table(
		document, "gpu_devices",
		"How long devices were busy for the process: from its first kernel or copy to"
		" its last; what runs side by side counts once in the busy time alone",
		columns);
	for (i = 0; i < times->devices_count; i++) {
		const struct gpu_device *device = &times->devices[i];
		const uint64_t busy_ns = gpu_busy_ns(&device->busy);
		const uint64_t span_ns = device->last_ns - device->first_ns;

		if (!document_row(document))
			continue;
		document_cell_device(document, device->device);
		document_cell_duration(document, true, span_ns);
		document_cell_duration(document, true, busy_ns);
		string_append_format(&document->text, "%.1f %%",
				     span_ns ? 100.0 * (double)busy_ns / (double)span_ns : 0.0);
		document_cell(document);
		document_cell_duration(document, true, device->kernels_ns);
		document_cell_duration(document, true, device->copies_ns);
		document_cell_duration(document, true, device->memsets_ns);
		document_row_end(document);
	}
	document_table_end(document);
}

static void say_process(struct document *document, const struct process *process)
{
	const struct gpu_times *times = process->gpu;

	string_append_text(&document->text, DOCUMENT_STRONG);
	identity_words_process(&document->text, process);
	string_append_text(&document->text, DOCUMENT_PLAIN ": ");
	gpu_words_state(&document->text, times);
	document_paragraph(document);
	if (!times->total)
		return;
	gpu_words_joins(&document->text, times);
	document_paragraph(document);
	string_append_text(&document->text, "Missing: ");
	if (!gpu_words_losses(&document->text, times))
		string_append_text(&document->text,
				   "nothing, as far as CUPTI and this program know");
	string_append_char(&document->text, '.');
	document_paragraph(document);
	list_devices(document, times);
	list_kernels(document, times);
	list_copies(document, times);
}

bool report_document_has_gpu(const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (recording->processes[i].process->gpu)
			return true;
	return false;
}

void report_document_gpu(struct document *document, const struct report_recording *recording)
{
	size_t shown = 0, i;

	for (i = 0; i < recording->processes_count; i++)
		if (recording->processes[i].process->gpu && shown++ < document->top)
			say_process(document, recording->processes[i].process);
}
