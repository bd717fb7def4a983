// SPDX-License-Identifier: BSD-2-Clause
#include "render/who.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "render/field.h"
#include "render/identity_words.h"
#include "render/process_cells.h"
#include "render/who_cgroups.h"
#include "render/who_groups.h"
#include "render/who_notes.h"

/* ---- a device -------------------------------------------------------------------------------- */

static void append_text(struct document *document, const char *before, const char *text,
			const char *otherwise)
{
	string_append_text(&document->text, before);
	document_append(document, text[0] ? text : NULL, otherwise);
}

/* "Device 0, NVIDIA H200 (0000:65:00.0, GPU-...)" */
static void append_title(struct document *document, const struct holders *holders,
			 const struct holders_device *device)
{
	const struct nvml_device *nvml = holders_nvml(holders, device);
	struct string *out = &document->text;

	string_append_text(out, DOCUMENT_STRONG);
	if (device->parent >= 0)
		string_append_format(out, "Instance %u of it", nvml->index);
	else if (nvml)
		string_append_format(out, "Device %u", nvml->index);
	else if (device->has_minor)
		string_append_format(out, "/dev/nvidia%u", device->minor);
	else
		string_append_text(out, "A device");
	append_text(document, ", ", device->name, "of unknown name");
	string_append_text(out, DOCUMENT_PLAIN);
	if (device->parent < 0)
		append_text(document, " (", device->pci, "PCI address unknown");
	append_text(document, device->parent < 0 ? ", " : " (", device->uuid, "UUID unknown");
	string_append_char(out, ')');
}

static void append_memory(struct document *document, const struct nvml_device *nvml)
{
	struct string *out = &document->text;
	char size[STRING_NUMBER_BYTES];

	if (!nvml || !nvml->has_memory) {
		string_append_text(out, ": how much of its memory is used is not known");
	} else {
		string_append_format(out, ": %s", string_size(size, nvml->used_bytes));
		string_append_format(out, " of %s used", string_size(size, nvml->total_bytes));
		string_append_format(out, ", %s free", string_size(size, nvml->free_bytes));
		if (nvml->has_reserved)
			string_append_format(out, ", %s reserved by the driver",
					     string_size(size, nvml->reserved_bytes));
		else
			string_append_text(out, ", what the driver reserves counted as used");
	}
	if (nvml && nvml->has_utilisation)
		string_append_format(out, "; busy %u %% of the time", nvml->gpu_percent);
}

/* ---- a process ------------------------------------------------------------------------------- */

static const struct document_column columns[] = {
	PROCESS_CELLS_PID,
	PROCESS_CELLS_USER,
	PROCESS_CELLS_MEMORY,
	{ "Runs for", DOCUMENT_NUMBER },
	{ "Files", DOCUMENT_NUMBER },
	PROCESS_CELLS_COMMAND,
	PROCESS_CELLS_REMARKS,
	{ NULL, 0 },
};

static uint64_t age_ns(const struct holders *holders, const struct holder *holder)
{
	const uint64_t begun_ns = holders->booted_ns + holder->info.start_ns;

	return holders->now_ns > begun_ns ? holders->now_ns - begun_ns : 0;
}

static uint32_t files_count(const struct nvidia_files *files)
{
	return files->devices + files->control + files->uvm + files->tools + files->caps;
}

static void cell_remarks(struct document *document, const struct who *who,
			 const struct holder *holder, const struct holding *holding)
{
	const bool knows_files = holder->present && !holder->files_err;
	struct string *out = &document->text;

	process_cells_remark(out, holding && holding->kinds & NVML_GRAPHICS, "graphics");
	process_cells_remark(out, holding && holding->kinds & NVML_MPS, "MPS client");
	process_cells_remark(out, !holder->present, "not in /proc");
	process_cells_remark(out, holder->present && holder->info.zombie, "zombie");
	process_cells_remark(out, holding && !holding->listed, "not listed by NVML");
	process_cells_remark(out, holding && holding->listed && knows_files && !holding->open,
			     "has not the device open");
	process_cells_identity(out, holder->pid,
			       &who->processes[holder - who->holders->holders].identity);
	document_cell(document);
}

static void row_process(struct document *document, const struct who *who,
			const struct holder *holder, const struct holding *holding)
{
	const struct who_process *process = &who->processes[holder - who->holders->holders];

	document_row(document);
	string_append_u64(&document->text, holder->pid);
	document_cell(document);
	identity_words_user(&document->text, &process->identity);
	document_cell(document);
	document_cell_size(document, holding && holding->has_used,
			   holding ? holding->used_bytes : 0);
	document_cell_duration(document, holder->present, age_ns(who->holders, holder));
	document_cell_count(document, !holder->files_err, files_count(&holder->files));
	document_cell_text(document, process->name[0] ? process->name : NULL);
	cell_remarks(document, who, holder, holding);
	document_row_end(document);
}

/* What is no row of a process has one of its own, so that the column adds up. */
static void row_of_words(struct document *document, bool known, uint64_t bytes, const char *words)
{
	document_row(document);
	document_cell_absent(document);
	document_cell_words(document, "");
	document_cell_size(document, known, bytes);
	document_cell_absent(document);
	document_cell_absent(document);
	document_cell_words(document, words);
	document_cell_words(document, "");
	document_row_end(document);
}

static void row_left_out(struct document *document, const struct who *who,
			 const struct holders_device *device)
{
	char words[sizeof("( processes left out)") + STRING_NUMBER_BYTES];
	uint64_t bytes = 0;
	uint32_t i, count = 0;
	bool known = true;

	for (i = device->first; i < device->first + device->count; i++) {
		const struct holding *holding = &who->holders->holdings[i];

		if (!who->processes[holding->holder].left_out || holding->elsewhere)
			continue;
		count++;
		known &= holding->has_used;
		bytes += holding->has_used ? holding->used_bytes : 0;
	}
	snprintf(words, sizeof(words), "(%u process%s left out)", count, count == 1 ? "" : "es");
	if (count)
		row_of_words(document, known, bytes, words);
}

static void append_notes(struct document *document, const struct who *who, int64_t device)
{
	struct who_notes notes = { 0 };
	size_t i, j;

	who_notes_make(&notes, who, device);
	for (i = 0; i < notes.count; i++) {
		const struct who_note *note = &notes.notes[i];
		struct string *out = &document->text;

		string_append(out, note->what.bytes, note->what.length);
		for (j = 0; j < WHO_REASONS && note->reasons[j]; j++)
			string_append_format(out, "%s%s", j ? "; or " : ". Perhaps ",
					     note->reasons[j]);
		string_append_text(out, ".");
		if (note->command)
			string_append_format(out, " Next: " DOCUMENT_COMMAND "%s" DOCUMENT_COMMAND,
					     note->command);
		document_block(document, DOCUMENT_ITEM);
	}
	document->failed |= notes.failed;
	who_notes_fini(&notes);
}

/* CUDA opens every device that a process can see: who is listed elsewhere is no news here. */
static void append_elsewhere(struct document *document, const struct who *who,
			     const struct holders_device *device)
{
	const struct holders *holders = who->holders;
	const char *before = "Open, too, in processes whose memory is on other devices: ";
	uint32_t i, count = 0;

	for (i = device->first; i < device->first + device->count; i++) {
		const struct holding *holding = &holders->holdings[i];

		if (!holding->elsewhere || who->processes[holding->holder].left_out)
			continue;
		string_append_format(&document->text, "%s%u", count++ ? ", " : before,
				     holders->holders[holding->holder].pid);
	}
	if (count)
		document_paragraph(document);
}

static void append_device(struct document *document, const struct who *who, size_t place)
{
	const struct holders *holders = who->holders;
	const struct holders_device *device = &holders->devices[place];
	uint32_t i;

	append_title(document, holders, device);
	append_memory(document, holders_nvml(holders, device));
	document_paragraph(document);
	document_table(document, "device", "Who holds its memory", columns);
	for (i = device->first; i < device->first + device->count; i++) {
		const struct holding *holding = &holders->holdings[i];

		if (!holding->elsewhere && !who->processes[holding->holder].left_out)
			row_process(document, who, &holders->holders[holding->holder], holding);
	}
	row_left_out(document, who, device);
	if (device->has_rest && device->count)
		row_of_words(document, true, device->rest_bytes, "(in no process)");
	document_table_end(document);
	append_elsewhere(document, who, device);
	append_notes(document, who, (int64_t)place);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool is_other(const struct who *who, size_t holder)
{
	const struct holders *holders = who->holders;
	size_t i;

	if (who->processes[holder].left_out)
		return false;

	for (i = 0; i < holders->holdings_count; i++)
		if (holders->holdings[i].holder == holder)
			return false;
	return true;
}

/* Monitors, and what has the driver open but no device. */
static void append_others(struct document *document, const struct who *who)
{
	const struct holders *holders = who->holders;
	size_t i;
	bool any = false;

	for (i = 0; i < holders->holders_count && !any; i++)
		any = is_other(who, i);
	if (!any)
		return;
	document_say(document, "The driver, but no device, is open in");
	document_table(document, "others", "Who has the driver open, but no device", columns);
	for (i = 0; i < holders->holders_count; i++)
		if (is_other(who, i))
			row_process(document, who, &holders->holders[i], NULL);
	document_table_end(document);
}

static void append_driver(struct document *document, const struct holders *holders)
{
	const char *driver = holders->driver[0] ? holders->driver : holders->nvml->driver;
	char text[CLOCK_TEXT_BYTES];

	string_append_format(&document->text, "%s: ", clock_utc_text(text, holders->now_ns));
	if (driver[0])
		append_text(document, "NVIDIA driver ", driver, "");
	else
		string_append_text(&document->text, holders->devices_count ?
							    "NVIDIA driver of unknown version" :
							    "no NVIDIA driver is loaded");
	if (holders->open_flavour)
		string_append_text(&document->text, " (open kernel modules)");
	string_append_format(&document->text, ", %zu device%s", holders->devices_count,
			     holders->devices_count == 1 ? "" : "s");
	document_heading(document, 1, "who");
}

void who_append_text(struct document *document, const struct who *who)
{
	size_t i;

	append_driver(document, who->holders);
	for (i = 0; i < who->holders->devices_count; i++)
		append_device(document, who, i);
	append_others(document, who);
	who_cgroups_text(document, who);
	who_groups_text(document, who);
	append_notes(document, who, WHO_NO_DEVICE);
}
