// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_text.h"

#include "base/clock.h"
#include "render/identity_words.h"
#include "render/process_cells.h"
#include "render/report_words.h"
#include "top/top_chosen.h"
#include "top/top_detail.h"
#include "top/top_devices.h"

#define DEVICES_MOST 256

static void append_title(struct document *document, const struct top *top,
			 const struct top_status *status)
{
	char time[CLOCK_TEXT_BYTES];

	string_append_format(&document->text, "%s: ", clock_utc_text(time, status->realtime_ns));
	top_words_status(&document->text, top, status);
	top_words_interval(&document->text, top, status);
	document_heading(document, 1, "top");
}

/* ---- devices --------------------------------------------------------------------------------- */

static void append_device(struct document *document, const struct top_device *device, bool chosen)
{
	const uint64_t *parts = device->parts;
	const bool known = device->nvml_known, divided = top_device_is_divided(device);

	if (!document_row(document))
		return;
	top_words_device(&document->text, device);
	document_cell(document);
	document_cell_size(document, device->total_known, device->total_bytes);
	document_cell_size(document, divided, device->used_bytes);
	document_cell_size(document, true, device->live_bytes);
	if (chosen)
		document_cell_size(document, true, device->chosen_bytes);
	document_cell_size(document, known, parts[TOP_OF_TRACED]);
	document_cell_size(document, known && device->processes_known, parts[TOP_OF_OTHERS]);
	document_cell_size(document, known && device->processes_known, parts[TOP_OF_NONE]);
	document_cell_size(document, divided, parts[TOP_FREE]);
	document_row_end(document);
}

/* What is on a device that is not known, and what is so only because there is no other one. */
static void say_unknown(struct document *document, const struct top_device *device)
{
	if (device->inferred_bytes) {
		string_append_format(
			&document->text,
			"%s of what is live is in contexts that were not seen (from before "
			"memscope-bpf attached). They are taken to be on this device, as "
			"NVML has no other one.",
			REPORT_SIZE(device->inferred_bytes));
		document_paragraph(document);
	} else if (top_device_is_unknown(device)) {
		document_say(
			document,
			"unknown: the contexts of these allocations were not seen, as they were "
			"made before memscope-bpf attached. It is known as soon as the thread "
			"creates a context, or chooses or asks for a device.");
	}
}

/* clang-format off */
#define BEFORE_CHOSEN \
	{ "Device", DOCUMENT_TEXT }, { "Memory", DOCUMENT_NUMBER }, { "In use", DOCUMENT_NUMBER }, \
	{ "Live", DOCUMENT_NUMBER }
#define BEHIND_CHOSEN \
	{ "More of traced processes", DOCUMENT_NUMBER }, { "Of others", DOCUMENT_NUMBER }, \
	{ "Of no process", DOCUMENT_NUMBER }, { "Free", DOCUMENT_NUMBER }, { 0 }
/* clang-format on */

static void append_table(struct document *document, const struct top_device *devices, size_t count,
			 bool chosen)
{
	static const struct document_column columns[] = { BEFORE_CHOSEN, BEHIND_CHOSEN };
	static const struct document_column with_chosen[] = {
		BEFORE_CHOSEN,
		{ "Of these", DOCUMENT_NUMBER },
		BEHIND_CHOSEN,
	};
	size_t i;

	document_table(document, "devices", "Devices", chosen ? with_chosen : columns);
	for (i = 0; i < count; i++)
		append_device(document, &devices[i], chosen);
	document_table_end(document);
	for (i = 0; i < count; i++)
		say_unknown(document, &devices[i]);
}

static void append_devices(struct document *document, const struct top *top)
{
	struct top_device devices[DEVICES_MOST];
	size_t left_out, others,
		count = top_devices_list(top->sink.state, devices, DEVICES_MOST, &left_out);

	count = top_chosen_devices(top, devices, count, &others);
	append_table(document, devices, count, top_chosen_is_known(top));
	if (others) {
		top_words_others(&document->text, others);
		string_append_char(&document->text, '.');
		document_paragraph(document);
	}
	if (left_out) {
		string_append_format(&document->text, "%zu more devices are not shown.", left_out);
		document_paragraph(document);
	}
}

/* ---- processes ------------------------------------------------------------------------------- */

static void cell_growth(struct document *document, const struct top_row *row, int64_t bytes)
{
	if (row->entries_only)
		string_append_char(&document->text, '?');
	else
		top_words_growth(&document->text, bytes);
	document_cell(document);
}

static void cells_nvml(struct document *document, const struct top_row *row)
{
	document_cell_size(document, row->nvml_known, row->nvml_bytes);
	if (row->nvml_known)
		top_words_growth(&document->text, row->unexplained_bytes);
	else
		string_append_char(&document->text, '?');
	document_cell(document);
}

static void append_row(struct document *document, const struct top *top,
		       const struct top_status *status, const struct top_row *row)
{
	const struct process *process = top_process(top, row);

	if (!document_row(document))
		return;
	string_append_u64(&document->text, row->pid);
	document_cell(document);
	if (process)
		identity_words_user(&document->text, &process->identity.known);
	document_cell(document);
	top_words_live(&document->text, row);
	document_cell(document);
	top_words_peak(&document->text, row);
	document_cell(document);
	cell_growth(document, row, row->growth_bytes);
	cell_growth(document, row, row->minute_bytes);
	top_words_rate(&document->text, top, row->allocs);
	document_cell(document);
	if (status->launches)
		top_words_rate(&document->text, top, row->launches);
	else
		string_append_char(&document->text, '?');
	document_cell(document);
	if (top->nvml_known)
		cells_nvml(document, row);
	if (process)
		identity_words_name(&document->text, process);
	document_cell(document);
	top_words_remarks(&document->text, row, process);
	document_cell(document);
	document_row_end(document);
}

/* clang-format off */
#define BEFORE_NVML \
	PROCESS_CELLS_PID, PROCESS_CELLS_USER, { "Live", DOCUMENT_NUMBER }, \
	{ "Peak", DOCUMENT_NUMBER }, { "Growth", DOCUMENT_NUMBER }, \
	{ "In 60 s", DOCUMENT_NUMBER }, { "Allocs/s", DOCUMENT_NUMBER }, \
	{ "Launches/s", DOCUMENT_NUMBER }
#define BEHIND_NVML PROCESS_CELLS_COMMAND, PROCESS_CELLS_REMARKS, { 0 }
/* clang-format on */

static void append_rows(struct document *document, const struct top *top,
			const struct top_status *status)
{
	static const struct document_column columns[] = { BEFORE_NVML, BEHIND_NVML };
	static const struct document_column with_nvml[] = {
		BEFORE_NVML,
		PROCESS_CELLS_MEMORY,
		{ "Unexplained", DOCUMENT_NUMBER },
		BEHIND_NVML,
	};
	size_t i;

	document_table_top(document, "processes", "Processes",
			   top->nvml_known ? with_nvml : columns);
	for (i = 0; i < top->rows_count; i++)
		append_row(document, top, status, &top->rows[i]);
	document_table_end(document);
}

void top_text_append(struct document *document, const struct top *top,
		     const struct top_status *status)
{
	append_title(document, top, status);
	append_devices(document, top);
	append_rows(document, top, status);
	if (!top->rows_count) {
		top_words_empty(&document->text, top, status);
		document_paragraph(document);
	} else if (status->stacks) {
		top_detail_sites_of_all(document, top);
	}
}
