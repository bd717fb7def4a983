// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the report says of each recording, as rows of the SQLite export.
 */
#include "export/sqlite.h"

#include <errno.h>

#include "render/report_words.h"

/* ---- processes ------------------------------------------------------------------------------- */

static int put_space(struct sqlite_export *export, uint64_t id, const struct process *process,
		     uint8_t space)
{
	const struct space_total *total = &process->spaces[space];
	const struct amount held = report_held(process, space);
	const bool known = !process->entries_only;

	if (!total->allocs && !total->peak_bytes && !total->live_count && !total->exit_count)
		return 0;
	return DATABASE_PUT(
		&export->database, SQLITE_SPACE, cell_number(id), sqlite_space(export, space),
		cell_if(known, held.bytes), cell_if(known, held.count),
		cell_if(known, total->peak_bytes),
		known && total->peak_bytes ? sqlite_time(export, total->peak_ts_ns) : cell_null(),
		cell_number(total->allocs), cell_number(total->alloc_bytes),
		cell_if(known, total->frees), cell_if(known, total->free_bytes),
		cell_if(known, total->implicit_frees), cell_if(known, total->implicit_bytes));
}

static int put_owner(struct sqlite_export *export, uint64_t id, const struct process *process,
		     const struct usage_cell *cell)
{
	const bool known = process->usage->spaces[cell->space].known;

	return DATABASE_PUT(&export->database, SQLITE_BY_API, cell_number(id),
			    sqlite_name(export, probe_at(cell->row)->symbol),
			    sqlite_space(export, cell->space),
			    cell_if(cell->device >= 0, (uint64_t)cell->device),
			    cell_number(cell->live_bytes), cell_number(cell->live_count),
			    cell_if(known, cell->peak_bytes), cell_if(known, cell->peak_count),
			    cell_number(cell->allocs), cell_number(cell->alloc_bytes),
			    cell_number(cell->frees), cell_number(cell->free_bytes));
}

static int put_names(struct sqlite_export *export, uint64_t id, const struct process *process)
{
	const uint64_t global = sqlite_global_pid(export, process->pid);
	const struct cell name = { .kind = CELL_TEXT,
				   .text = process->comm,
				   .length = strnlen(process->comm, MS_COMM_BYTES) };
	int err;

	err = DATABASE_PUT(&export->database, SQLITE_PROCESS_END, cell_number(id), name,
			   cell_number(process->exited),
			   cell_if(process->exited && process->exit_status != MS_EXIT_UNKNOWN,
				   process->exit_status),
			   cell_number(!report_process_is_inexact(export->recording, process)));
	if (!err)
		err = DATABASE_PUT(&export->database, SQLITE_NSYS_PROCESS, cell_number(global),
				   cell_number(process->pid), name);
	if (err)
		return err;
	return DATABASE_PUT(&export->database, SQLITE_NSYS_THREAD,
			    database_name(&export->database, name.text, name.length),
			    cell_number(global | process->pid));
}

/* A row for each item that is known. */
static int put_identity(struct sqlite_export *export, uint64_t id, const struct process *process)
{
	enum identity_item item;
	int err = 0;

	for (item = 0; !err && item < IDENTITY_ITEMS; item++) {
		const char *value = process->identity.known.items[item];

		if (value)
			err = DATABASE_PUT(&export->database, SQLITE_IDENTITY, cell_number(id),
					   cell_text(identity_rows[item].name), cell_text(value));
	}
	return err;
}

static int put_process(struct sqlite_export *export, const struct report_process *shown)
{
	const struct process *process = shown->process;
	const uint64_t id = sqlite_process_id(export, process);
	uint8_t space;
	size_t i;
	int err = id ? put_names(export, id, process) : export->database.err;

	if (!err)
		err = put_identity(export, id, process);
	for (space = 0; !err && space < MS_SPACES_COUNT; space++)
		err = put_space(export, id, process, space);
	for (i = 0; !err && !process->entries_only && i < shown->cells_count; i++)
		err = put_owner(export, id, process, &shown->cells[i]);
	return err;
}

static struct cell cell_of(const struct string *text)
{
	return text->length ? (struct cell){ .kind = CELL_TEXT,
					     .text = text->bytes,
					     .length = text->length } :
			      cell_null();
}

static int put_identified(struct sqlite_export *export, const struct report_device *device,
			  const struct cell *uuid, const struct cell *pci)
{
	const struct usage_device *row = report_device_row(export->recording, device);
	const struct report_told *told = device->told;
	const struct cell number = cell_if(device->device >= 0, (uint64_t)device->device);
	const struct cell name = *row->identity.name ? cell_text(row->identity.name) : cell_null();
	const uint64_t total_bytes = told ? told->total_bytes : row->identity.total_bytes;
	const struct cell total = cell_if(total_bytes, total_bytes);
	int err;

	err = DATABASE_PUT(&export->database, SQLITE_DEVICE, cell_number(export->recordings),
			   number, cell_number(device->live_bytes), cell_number(device->peak_bytes),
			   device->peak_bytes ? sqlite_time(export, device->peak_ts_ns) :
						cell_null(),
			   total, cell_if(told, told ? told->free_bytes : 0), *uuid, *pci, name,
			   cell_if(row->pid, row->pid));
	if (err || device->device < 0)
		return err;
	return DATABASE_PUT(&export->database, SQLITE_NSYS_GPU, cell_number(export->recordings),
			    number, total, name, *pci, *uuid);
}

static int put_device(struct sqlite_export *export, const struct report_device *device)
{
	const struct device_identity *known =
		&report_device_row(export->recording, device)->identity;
	struct string uuid = { 0 }, pci = { 0 };
	struct cell uuid_cell, pci_cell;
	int err;

	if (known->has_uuid)
		device_append_uuid(&uuid, known);
	if (known->pci.known)
		device_append_pci(&pci, known);
	uuid_cell = cell_of(&uuid);
	pci_cell = cell_of(&pci);
	err = uuid.failed || pci.failed ? -ENOMEM :
					  put_identified(export, device, &uuid_cell, &pci_cell);
	string_fini(&uuid);
	string_fini(&pci);
	return err;
}

int sqlite_report_recording(struct sqlite_export *export)
{
	const struct report_recording *recording = export->recording;
	const struct report_coverage *coverage = &recording->coverage;
	size_t i;
	int err;

	err = DATABASE_PUT(&export->database, SQLITE_RECORDING_END, cell_number(export->recordings),
			   sqlite_time(export, report_begin_ns(recording)),
			   sqlite_time(export, report_end_ns(recording)),
			   cell_number(report_lost(coverage)),
			   cell_number(!report_has_losses(recording)),
			   cell_number(!report_is_inexact(recording)),
			   cell_if(coverage->missed_known, coverage->missed_processes),
			   cell_if(coverage->untraced_known, coverage->untraced));
	if (!err && coverage->host)
		err = DATABASE_PUT(&export->database, SQLITE_SYSTEM,
				   cell_number(export->recordings << 48), cell_text("Hostname"),
				   cell_text(coverage->host));
	if (!err && coverage->kernel)
		err = DATABASE_PUT(&export->database, SQLITE_SYSTEM,
				   cell_number(export->recordings << 48), cell_text("OsVersion"),
				   cell_text(coverage->kernel));
	for (i = 0; !err && i < recording->processes_count; i++)
		err = put_process(export, &recording->processes[i]);
	for (i = 0; !err && i < recording->devices_count; i++)
		err = put_device(export, &recording->devices[i]);
	return err;
}

/* ---- findings: they have numbers once all recordings are read -------------------------------- */

static int put_finding(struct sqlite_export *export, uint64_t recording,
		       const struct report_finding *numbered)
{
	const struct finding *finding = numbered->finding;
	const struct cell name = { .kind = CELL_TEXT,
				   .text = finding->comm,
				   .length = strnlen(finding->comm, MS_COMM_BYTES) };
	const char *api = finding->row == MS_NO_ROW ? NULL : probe_at(finding->row)->symbol;
	const char *space =
		finding->space == MS_SPACE_NONE ? NULL : probe_space_name(finding->space);
	size_t i;
	int err;

	err = DATABASE_PUT(&export->database, SQLITE_FINDING, cell_number(numbered->number),
			   cell_number(recording), cell_text(finding_rule_name(finding->rule)),
			   cell_text(finding_topic_name(finding_topic_of(finding->rule))),
			   cell_text(report_confidence_name(finding->confidence)),
			   cell_text(finding->lowered_by), cell_number(finding->pid), name,
			   cell_if(finding->device >= 0, (uint64_t)finding->device),
			   cell_text(space), cell_text(api), cell_number(finding->bytes),
			   sqlite_time(export, finding->first_ts_ns),
			   sqlite_time(export, finding->last_ts_ns));
	for (i = 0; !err && i < finding->evidence_count; i++)
		err = DATABASE_PUT(&export->database, SQLITE_EVIDENCE,
				   cell_number(numbered->first_evidence + i),
				   cell_number(numbered->number),
				   cell_text(finding->evidence[i].what),
				   cell_text(finding->evidence[i].name),
				   cell_text(report_unit_name(finding->evidence[i].unit)),
				   cell_number(finding->evidence[i].value));
	return err;
}

int sqlite_report_finish(struct sqlite_export *export, const struct report *report)
{
	size_t i, j;
	int err;

	err = DATABASE_PUT(&export->database, SQLITE_META, cell_text("EXPORTER"),
			   cell_text("memscope-bpf"));
	if (!err)
		err = DATABASE_PUT(&export->database, SQLITE_META,
				   cell_text("EXPORT_SCHEMA_VERSION"),
				   cell_text("memscope-bpf/sqlite/1"));
	for (i = 0; !err && i < report->count; i++) {
		const struct report_recording *recording = report->recordings[i];
		const struct report_coverage *coverage = &recording->coverage;

		export->offset_ns =
			(coverage->wall_known ? coverage->wall_offset_ns : 0) - export->epoch_ns;
		for (j = 0; !err && j < recording->findings_count; j++)
			err = put_finding(export, i + 1, &recording->findings[j]);
	}
	return err;
}
