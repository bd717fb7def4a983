// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who processes are, and the memory that they had.
 */
#include "render/process_rows.h"

#include <stdio.h>
#include <string.h>

#include "ledger/driver_devices.h"
#include "ledger/driver_joins.h"
#include "ledger/objects.h"
#include "render/field.h"
#include "render/identity_words.h"
#include "render/report_notes.h"
#include "render/report_nvml.h"
#include "render/report_words.h"

bool process_rows_begin(const struct process_rows *rows)
{
	struct document *document = rows->document;

	if (!document_row(document))
		return false;
	if (!document->format->browsable)
		return true;
	if (rows->name)
		document_cell_words(document, rows->name);
	else
		document_cell_process(document, rows->process);
	return true;
}
/* ---- who they are ---------------------------------------------------------------------------- */

static void put_identity_cell(struct document *document, const struct identity *identity,
			      void (*append)(struct string *out, const struct identity *identity))
{
	append(&document->text, identity);
	document_cell(document);
}

void process_rows_identity(const struct process_rows *rows)
{
	const struct identity *identity = &rows->process->identity.known;
	struct document *document = rows->document;
	uint32_t parent;

	if (!identity_is_known(identity) || !process_rows_begin(rows))
		return;
	put_identity_cell(document, identity, identity_words_program);
	put_identity_cell(document, identity, identity_words_user);
	if (identity_number(identity, IDENTITY_PARENT, &parent))
		document_cell_value(document, parent, FINDING_PID, parent);
	else
		document_cell_absent(document);
	put_identity_cell(document, identity, identity_words_container);
	put_identity_cell(document, identity, identity_words_pod);
	put_identity_cell(document, identity, identity_words_variables);
	document_row_end(document);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Opened memory whose size is not known counts as 0 bytes: with no other, the sum is not known. */
static void cell_size(const struct process_rows *rows, bool known, uint8_t space,
		      struct amount amount)
{
	const bool unsized = space == MS_SPACE_IMPORTED && amount.count && !amount.bytes;

	document_cell_size(rows->document, known && !unsized, amount.bytes);
}

static void list_space(const struct process_rows *rows, uint8_t space)
{
	const struct process *process = rows->process;
	const struct space_total *total = &process->spaces[space];
	const struct amount held = report_held(process, space);
	const bool known = !process->entries_only;
	struct document *document = rows->document;

	if (!process_rows_begin(rows))
		return;
	document_cell_words(document, probe_space_name(space));
	cell_size(rows, known, space, held);
	document_cell_count(document, known, held.count);
	cell_size(rows, known, space, (struct amount){ total->allocs, total->peak_bytes });
	if (known && total->peak_bytes && total->peak_ts_ns)
		document_cell_time(document, rows->recording, total->peak_ts_ns);
	else
		document_cell(document);
	document_cell_count(document, true, total->allocs);
	cell_size(rows, true, space, (struct amount){ total->allocs, total->alloc_bytes });
	document_cell_count(document, known, total->frees);
	document_cell_count(document, known, total->implicit_frees);
	document_row_end(document);
}

void process_rows_spaces(const struct process_rows *rows)
{
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (report_has_space(rows->process, space))
			list_space(rows, space);
}

static void list_driver_total(const struct process_rows *rows, const char *what,
			      const struct driver_total *total)
{
	const struct process *process = rows->process;
	struct document *document = rows->document;

	if (!total->peak_bytes || !process_rows_begin(rows))
		return;
	document_cell_words(document, what);
	document_cell_size(document, true, process->exited ? total->exit_bytes : total->live_bytes);
	document_cell_size(document, true, total->peak_bytes);
	document_row_end(document);
}

/* If it is on one device alone, that is no news. */
static void list_driver_devices(const struct process_rows *rows)
{
	const struct process *process = rows->process;
	uint64_t causes[DRIVER_CAUSES_COUNT];
	int32_t device = driver_devices_next(process, DRIVER_DEVICES_BEGIN);
	char what[48];

	if (driver_devices_next(process, device) == DRIVER_DEVICES_END)
		return;
	for (; device != DRIVER_DEVICES_END; device = driver_devices_next(process, device)) {
		if (!process_rows_begin(rows))
			return;
		snprintf(what, sizeof(what),
			 device < 0 ? "of it, on an unknown device" : "of it, on device %d",
			 device);
		document_cell_words(rows->document, what);
		document_cell_size(rows->document, true,
				   driver_devices_bytes(process, device, causes));
		document_cell_size(rows->document, false, 0);
		document_row_end(rows->document);
	}
}

static void list_join(const struct process_rows *rows, const char *what, uint64_t bytes)
{
	if (!bytes || !process_rows_begin(rows))
		return;
	document_cell_words(rows->document, what);
	document_cell_size(rows->document, true, bytes);
	document_cell_size(rows->document, false, 0);
	document_row_end(rows->document);
}

/* By addresses: what is left over has no allocation, which is what contexts and code are. */
static void list_joins(const struct process_rows *rows)
{
	struct driver_joins joins;

	if (!driver_joins_of(rows->process, &joins))
		return;
	list_join(rows, "of it, at addresses of live allocations", joins.behind_bytes);
	list_join(rows, "of it, at other addresses", joins.empty_bytes);
	list_join(rows, "of it, at no known address", joins.unmapped_bytes);
}

/* Of what was asked for before, nothing more can be known. */
static void list_driver_missed(const struct process_rows *rows)
{
	const struct driver_objects *driver = &rows->process->driver;
	struct document *document = rows->document;

	if (!driver->missed_ns || !process_rows_begin(rows))
		return;
	string_append_text(&document->text, "from before its ioctls were seen, at ");
	report_append_time(&document->text, rows->recording, driver->missed_ns);
	document_cell(document);
	document_cell_size(document, false, 0);
	document_cell_size(document, false, 0);
	document_row_end(document);
}

void process_rows_driver(const struct process_rows *rows)
{
	const struct driver_objects *driver = &rows->process->driver;
	size_t i;

	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		list_driver_total(rows, driver_cause_description(i), &driver->causes[i]);
	list_driver_total(rows, "in all, of the device", &driver->device);
	list_driver_devices(rows);
	list_joins(rows);
	list_driver_total(rows, "of other processes, counted there", &driver->shared);
	list_driver_total(rows, "of the host", &driver->host);
	list_driver_missed(rows);
}

static void list_nvml_parts(const struct process_rows *rows, const char *uuid,
			    const struct report_nvml_part *parts, size_t count)
{
	struct document *document = rows->document;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!process_rows_begin(rows))
			return;
		document_cell_words(document, parts[i].what);
		field_append_safe(&document->text, uuid, strnlen(uuid, MS_UUID_BYTES));
		document_cell(document);
		document_cell_size(document, true, parts[i].bytes);
		document_cell_time(document, rows->recording, rows->process->nvml.last.ts_ns);
		document_row_end(document);
	}
}

/* Device by device, and of several the sum. */
void process_rows_nvml(const struct process_rows *rows)
{
	struct report_nvml_part parts[REPORT_NVML_PARTS_MAX];
	const size_t devices = nvml_account_devices(rows->process);
	struct nvml_on_device device;
	size_t i, count;

	for (i = 0; i < devices; i++) {
		nvml_account_device(rows->process, i, &device);
		count = report_nvml_parts_on(rows->process, &device, parts);
		list_nvml_parts(rows, device.uuid, parts, count);
	}
	if (devices == 1)
		return;
	count = report_nvml_parts(rows->process, parts);
	list_nvml_parts(rows, "all", parts, count);
}

static void list_cell(const struct process_rows *rows, const struct usage_cell *cell)
{
	struct document *document = rows->document;

	if (!process_rows_begin(rows))
		return;
	document_cell_words(document, probe_at(cell->row)->symbol);
	document_cell_words(document, probe_space_name(cell->space));
	document_cell_device(document, cell->device);
	cell_size(rows, true, cell->space, (struct amount){ cell->live_count, cell->live_bytes });
	document_cell_count(document, true, cell->live_count);
	/* What a peak before the first anchor was made of is not known. */
	document_cell_size(document, rows->process->usage->spaces[cell->space].known,
			   cell->peak_bytes);
	document_cell_count(document, true, cell->allocs);
	cell_size(rows, true, cell->space, (struct amount){ cell->allocs, cell->alloc_bytes });
	document_cell_count(document, true, cell->frees);
	if (cell->frees)
		document_cell_duration(document, true, cell->lifetime_ns / cell->frees);
	else
		document_cell_words(document, "-");
	document_row_end(document);
}

void process_rows_cells(const struct process_rows *rows)
{
	size_t i;

	for (i = 0; !rows->process->entries_only && i < rows->shown->cells_count; i++)
		list_cell(rows, &rows->shown->cells[i]);
}

void process_rows_objects(const struct process_rows *rows)
{
	struct document *document = rows->document;
	size_t count, i;
	const struct object_total *totals = objects_totals(rows->process, &count);

	for (i = 0; i < count; i++) {
		if (!process_rows_begin(rows))
			continue;
		document_cell_words(document, objects_plural(totals[i].kind));
		document_cell_device(document, totals[i].device);
		document_cell_count(document, true, totals[i].live);
		document_cell_count(document, true, totals[i].peak);
		document_cell_count(document, true, totals[i].made);
		document_cell_count(document, true, totals[i].destroyed);
		document_cell_count(document, true, totals[i].ended);
		document_row_end(document);
	}
}

void process_rows_host(const struct process_rows *rows)
{
	const struct host_loads *loads = &rows->process->host;
	const struct ms_load *last = &loads->last;
	struct document *document = rows->document;
	struct host_used used;
	const bool known = host_account_used(loads, &used);

	if (!loads->count || !process_rows_begin(rows))
		return;
	document_cell_duration(document, known, used.ns);
	document_cell_duration(document, known && used.has_cpu, used.cpu_ns);
	document_cell_duration(document, known && used.has_queue, used.queue_ns);
	document_cell_duration(document, known && used.has_throttled, used.throttled_ns);
	document_cell_count(document, known && used.has_cpu, used.major_faults);
	document_cell_size(document, last->known & MS_LOAD_MEMORY, host_account_resident(last));
	document_cell_size(document, last->known & MS_LOAD_MEMORY, loads->peak_bytes);
	document_cell_size(document, last->known & MS_LOAD_MEMORY, last->swap_bytes);
	document_cell_size(document, last->known & MS_LOAD_CGROUP_MEMORY, last->cgroup_bytes);
	document_cell_size(document, last->known & MS_LOAD_CGROUP_LIMIT, last->cgroup_limit_bytes);
	document_row_end(document);
}
