// SPDX-License-Identifier: BSD-2-Clause
/*
 * What each device has in use. On a machine with many processes, most device numbers may be each
 * process's own: these devices share one table, as they cannot be told to be the same or not.
 */
#include "render/report_document.h"

#include <stdio.h>
#include <stdlib.h>

#include "render/identity_words.h"
#include "render/report_device_words.h"
#include "render/report_notes.h"
#include "render/report_words.h"

#define FEWEST_TOGETHER 3 /* fewer have room for a table each */

/* ---- one device ------------------------------------------------------------------------------ */

static void list_rung(void *context, const struct report_row *row)
{
	struct document *document = context;

	document_row(document);
	document_cell_words(document, row->what);
	document_cell_size(document, row->bytes_known, row->bytes);
	document_cell_words(document, row->why);
	document_row_end(document);
}

static void append_caption(struct string *out, const struct report_recording *recording,
			   const struct report_device *device)
{
	string_append_text(out, DOCUMENT_STRONG "Device ");
	if (device->device < 0)
		string_append_text(out,
				   "?" DOCUMENT_PLAIN " (the context of these calls was not seen)");
	else
		report_device_append_label(out, recording, device);
	if (device->device >= 0)
		string_append_text(out, DOCUMENT_PLAIN);
}

static void say_identity(struct document *document, const struct report_recording *recording,
			 const struct report_device *device)
{
	report_append_device_identity(&document->text, recording, device);
	if (document->text.length)
		document_paragraph(document);
}

static void say_device(struct document *document, const struct report_recording *recording,
		       size_t place)
{
	static const struct document_column columns[] = { { "What", DOCUMENT_OBVIOUS },
							  { "Bytes", DOCUMENT_NUMBER },
							  { "Note", DOCUMENT_OBVIOUS },
							  { 0 } };
	const struct report_device *device = &recording->devices[place];
	char name[STRING_NUMBER_BYTES + 16];
	struct string caption = { 0 };

	append_caption(&document->text, recording, device);
	document_title(document);
	if (!document->format->browsable)
		say_identity(document, recording, device);
	append_caption(&caption, recording, device);
	string_append_char(&caption, '\0');
	document->failed |= caption.failed;
	snprintf(name, sizeof(name), "device-%zu", place + 1);
	document_table(document, name, caption.failed ? "" : caption.bytes, columns);
	document->failed |= !report_device_rows(recording, device, list_rung, document);
	document_table_end(document);
	string_fini(&caption);
	/* There, what stands above the table is its caption. */
	if (document->format->browsable)
		say_identity(document, recording, device);
}

/* ---- devices that may be the same ------------------------------------------------------------ */

static int by_bytes(const void *one, const void *other)
{
	const struct report_device *a = *(const struct report_device *const *)one;
	const struct report_device *b = *(const struct report_device *const *)other;

	if (a->live_bytes != b->live_bytes)
		return a->live_bytes < b->live_bytes ? 1 : -1;
	if (a->peak_bytes != b->peak_bytes)
		return a->peak_bytes < b->peak_bytes ? 1 : -1;
	return (a->row > b->row) - (a->row < b->row);
}

/* The processes that call it so: one by name. */
static void append_callers(struct string *out, const struct report_recording *recording,
			   const struct report_device *device)
{
	size_t count = 0, i;

	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;

		if (report_device_ordinal(recording, device, process) < 0)
			continue;
		if (!count++)
			identity_words_process(out, process);
	}
	if (!count)
		string_append_format(out, "PID %u", report_device_row(recording, device)->pid);
	else if (count > 1)
		string_append_format(out, " and %zu more", count - 1);
}

static void list_own(struct document *document, const struct report_recording *recording,
		     const struct report_device *device)
{
	document_row(document);
	document_cell_device(document, device->device);
	append_callers(&document->text, recording, device);
	document_cell(document);
	document_cell_size(document, true, device->live_bytes);
	document_cell_size(document, true, device->peak_bytes);
	if (device->peak_bytes)
		document_cell_time(document, recording, device->peak_ts_ns);
	else
		document_cell_absent(document);
	document_cell_size(document, device->told,
			   device->told ? report_told_used(device->told) : 0);
	document_row_end(document);
}

static void list_rest(struct document *document, struct report_device **devices, size_t count)
{
	uint64_t live_bytes = 0, peak_bytes = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		live_bytes += devices[i]->live_bytes;
		if (devices[i]->peak_bytes > peak_bytes)
			peak_bytes = devices[i]->peak_bytes;
	}
	document_row(document);
	document_cell_absent(document);
	string_append_format(&document->text, "%zu more, which hold less (--top shows more)",
			     count);
	document_cell(document);
	document_cell_size(document, true, live_bytes);
	string_append_format(&document->text, "%s at most", REPORT_SIZE(peak_bytes));
	document_cell(document);
	document_cell_absent(document);
	document_cell_absent(document);
	document_row_end(document);
}

static void list_together(struct document *document, const struct report_recording *recording,
			  struct report_device **devices, size_t count)
{
	static const struct document_column columns[] = {
		{ "Device", DOCUMENT_NUMBER },
		{ "As called by", DOCUMENT_TEXT },
		{ "Explained at the end", DOCUMENT_NUMBER },
		{ "Peak", DOCUMENT_NUMBER },
		{ "At", DOCUMENT_VALUE },
		{ "Used, as last reported", DOCUMENT_NUMBER },
		{ 0 },
	};
	size_t i;

	string_append_format(&document->text,
			     DOCUMENT_STRONG
			     "%zu devices, some of which may be the same" DOCUMENT_PLAIN
			     " (each number is the process's own)",
			     count);
	document_title(document);
	document_table(document, "devices-of-processes", "Devices, some of which may be the same",
		       columns);
	for (i = 0; i < count && i < document->top; i++)
		list_own(document, recording, devices[i]);
	if (i < count)
		list_rest(document, devices + i, count - i);
	document_table_end(document);
}

/* ---- all of them ----------------------------------------------------------------------------- */

void report_document_devices(struct document *document, const struct report_recording *recording)
{
	struct report_device **own = calloc(recording->devices_count + 1, sizeof(*own));
	size_t count = 0, i;

	document->failed |= !own;
	for (i = 0; own && i < recording->devices_count; i++)
		if (report_device_is_own(recording, &recording->devices[i]))
			own[count++] = &recording->devices[i];
	for (i = 0; i < recording->devices_count; i++)
		if (count < FEWEST_TOGETHER ||
		    !report_device_is_own(recording, &recording->devices[i]))
			say_device(document, recording, i);
	if (count >= FEWEST_TOGETHER) {
		qsort(own, count, sizeof(*own), by_bytes);
		list_together(document, recording, own, count);
	}
	free(own);
}
