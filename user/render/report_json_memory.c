// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who holds memory, as JSON.
 */
#include "render/report_json.h"
#include "render/report_xids.h"

#include "ledger/objects.h"
#include "render/identity_words.h"
#include "render/json_gpu.h"
#include "render/json_nvml.h"
#include "render/report_groups.h"
#include "render/report_host.h"
#include "render/json_process.h"

/* ---- devices --------------------------------------------------------------------------------- */

static void put_live(struct json *json, const struct report_device *device)
{
	uint32_t space;

	json_name(json, "live_by_space");
	json_open(json, '[');
	for (space = 0; space < MS_SPACES_COUNT; space++) {
		if (!device->live[space])
			continue;
		json_open(json, '{');
		json_put_text(json, "space", probe_space_name(space));
		json_put_u64(json, "bytes", device->live[space]);
		json_put_bool(json, "in_explained", usage_is_on_device(space));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_told(struct json *json, const struct report_recording *recording,
		     const struct report_device *device)
{
	const struct report_told *told = device->told;
	uint64_t unexplained, pooled;
	bool known, at_most;

	json_name(json, "told");
	if (!told) {
		json_null(json);
		return;
	}
	known = report_told_unexplained(told, &unexplained);
	pooled = report_told_pooled(recording, told, &at_most);
	json_open(json, '{');
	json_put_u64(json, "ts_ns", told->ts_ns);
	json_put_u64(json, "pid", told->pid);
	json_put_u64(json, "total_bytes", told->total_bytes);
	json_put_u64(json, "used_bytes", report_told_used(told));
	json_put_u64(json, "explained_bytes", told->explained_bytes);
	json_put_u64(json, "pool_kept_bytes", pooled);
	json_put_if(json, "unexplained_bytes", known, unexplained - pooled);
	json_close(json, '}');
}

/* What is known of it, and who calls it what. */
static void put_identity(struct json *json, const struct report_recording *recording,
			 const struct report_device *device)
{
	const struct device_identity *known = &report_device_row(recording, device)->identity;
	struct string uuid = { 0 }, pci = { 0 };
	size_t i;

	device_append_uuid(&uuid, known);
	string_append_char(&uuid, '\0');
	device_append_pci(&pci, known);
	string_append_char(&pci, '\0');
	json->out->failed |= uuid.failed || pci.failed;
	json_put_text(json, "uuid", known->has_uuid ? uuid.bytes : NULL);
	json_put_text(json, "pci_bus_id", known->pci.known ? pci.bytes : NULL);
	string_fini(&uuid);
	string_fini(&pci);
	json_put_text(json, "name", *known->name ? known->name : NULL);
	json_put_if(json, "total_bytes", known->total_bytes, known->total_bytes);
	json_name(json, "called");
	json_open(json, '[');
	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;
		const int32_t ordinal = report_device_ordinal(recording, device, process);

		if (ordinal < 0)
			continue;
		json_open(json, '{');
		json_put_u64(json, "pid", process->pid);
		json_put_u64(json, "device", (uint64_t)ordinal);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_device(struct json *json, const struct report_recording *recording,
		       const struct report_device *device)
{
	json_open(json, '{');
	report_json_device(json, device->device);
	put_identity(json, recording, device);
	json_put_u64(json, "explained_bytes", device->live_bytes);
	put_live(json, device);
	json_put_u64(json, "peak_bytes", device->peak_bytes);
	json_put_if(json, "peak_ts_ns", device->peak_bytes, device->peak_ts_ns);
	json_put_bool(json, "peak_is_exact", !report_device_row(recording, device)->peak_unclear);
	/* What ran before attaching may hold what was not seen. */
	json_put_if(json, "baseline_bytes", !device->was_running, 0);
	put_told(json, recording, device);
	json_close(json, '}');
}

/* ---- processes ------------------------------------------------------------------------------- */

static void put_space(struct json *json, const struct process *process, uint8_t space)
{
	const struct space_total *total = &process->spaces[space];
	const struct amount held = report_held(process, space);
	const bool known = !process->entries_only;

	json_open(json, '{');
	json_put_text(json, "space", probe_space_name(space));
	json_put_if(json, "live_bytes", known, held.bytes);
	json_put_if(json, "live_allocations", known, held.count);
	json_put_if(json, "peak_bytes", known, total->peak_bytes);
	json_put_if(json, "peak_ts_ns", known && total->peak_bytes, total->peak_ts_ns);
	json_process_space_totals(json, total, known);
	json_close(json, '}');
}

static void put_spaces(struct json *json, const struct process *process)
{
	uint32_t space;

	json_name(json, "spaces");
	json_open(json, '[');
	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (report_has_space(process, space))
			put_space(json, process, space);
	json_close(json, ']');
}

size_t report_json_cells(struct json *json, const struct report_process *shown, size_t most)
{
	const size_t count = shown->cells_count < most ? shown->cells_count : most;
	size_t i;

	json_name(json, "by_api");
	if (shown->process->entries_only) {
		json_null(json);
		return 0;
	}
	json_open(json, '[');
	for (i = 0; i < count; i++) {
		const struct usage_cell *cell = &shown->cells[i];
		bool known = shown->process->usage->spaces[cell->space].known;

		json_open(json, '{');
		json_put_text(json, "api", probe_at(cell->row)->symbol);
		json_put_text(json, "space", probe_space_name(cell->space));
		report_json_device(json, cell->device);
		json_put_u64(json, "live_bytes", cell->live_bytes);
		json_put_u64(json, "live_allocations", cell->live_count);
		json_put_if(json, "bytes_in_peak", known, cell->peak_bytes);
		json_put_if(json, "allocations_in_peak", known, cell->peak_count);
		json_put_u64(json, "allocs", cell->allocs);
		json_put_u64(json, "alloc_bytes", cell->alloc_bytes);
		json_put_u64(json, "frees", cell->frees);
		json_put_u64(json, "free_bytes", cell->free_bytes);
		json_put_if(json, "mean_lifetime_ns", cell->frees,
			    cell->frees ? cell->lifetime_ns / cell->frees : 0);
		json_close(json, '}');
	}
	json_close(json, ']');
	return shown->cells_count - count;
}

static void put_largest(struct json *json, const struct report_recording *recording,
			const struct report_process *shown)
{
	const uint64_t now_ns = report_held_ns(recording, shown->process);
	size_t i;

	json_name(json, "largest");
	json_open(json, '[');
	for (i = 0; i < shown->largest_count; i++) {
		json_open(json, '{');
		report_json_allocation(json, &shown->largest[i], now_ns);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Contexts, modules, streams ... */
static void put_objects(struct json *json, const struct process *process)
{
	size_t count, i;
	const struct object_total *totals = objects_totals(process, &count);

	json_name(json, "objects");
	json_open(json, '[');
	for (i = 0; i < count; i++) {
		json_open(json, '{');
		json_put_text(json, "object", objects_name(totals[i].kind));
		report_json_device(json, totals[i].device);
		json_put_u64(json, "live", totals[i].live);
		json_put_u64(json, "peak", totals[i].peak);
		json_put_if(json, "peak_ts_ns", totals[i].peak, totals[i].peak_ts_ns);
		json_put_u64(json, "made", totals[i].made);
		json_put_u64(json, "destroyed", totals[i].destroyed);
		json_put_u64(json, "ended", totals[i].ended);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_pools(struct json *json, const struct process *process)
{
	size_t i;

	json_name(json, "pools");
	json_open(json, '[');
	for (i = 0; i < process->views_count; i++) {
		const struct view *view = &process->views[i];
		uint64_t slack;
		bool known = report_slack(view, &slack);

		if (!view->is_pool)
			continue;
		json_open(json, '{');
		json_name(json, "pool");
		json_hex(json, view->handle);
		json_put_u64(json, "ts_ns", view->ts_ns);
		json_put_if(json, "reserved_bytes", view->has_total, view->total_bytes);
		json_put_if(json, "used_bytes", view->has_free, view->free_bytes);
		json_put_if(json, "slack_bytes", known, slack);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_total(struct json *json, const char *direction, const struct call_total *total)
{
	json_open(json, '{');
	json_put_text(json, "direction", direction);
	json_put_u64(json, "count", total->count);
	json_put_u64(json, "bytes", total->bytes);
	json_put_u64(json, "unknown_sizes", total->unknown_bytes);
	json_put_u64(json, "duration_ns", total->duration_ns);
	json_close(json, '}');
}

static void put_calls(struct json *json, const struct report_recording *recording,
		      const struct process *process)
{
	const uint32_t captured = recording->coverage.captured_ops;
	uint32_t i;

	json_name(json, "copies");
	if (captured >> MS_OP_COPY & 1) {
		json_open(json, '[');
		for (i = 0; i <= MS_DIRECTIONS_COUNT; i++)
			if (process->copies[i].count)
				put_total(json,
					  i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : NULL,
					  &process->copies[i]);
		json_close(json, ']');
	} else {
		json_null(json);
	}
	json_put_if(json, "memsets", captured >> MS_OP_MEMSET & 1, process->memsets.count);
	json_put_if(json, "syncs", captured >> MS_OP_SYNC & 1, process->syncs.count);
	json_put_if(json, "sync_duration_ns", captured >> MS_OP_SYNC & 1 && !process->entries_only,
		    process->syncs.duration_ns);
	json_put_if(json, "launches", captured >> MS_OP_LAUNCH & 1, process->launches);
	json_put_if(json, "graph_launches", recording->coverage.graph_launches,
		    process->graph_launches);
}

static void put_unknown(struct json *json, const struct report_recording *recording,
			const struct process *process)
{
	json_name(json, "unknown");
	json_open(json, '{');
	json_put_bool(json, "was_running", process->was_running);
	json_put_bool(json, "was_running_earlier", process->was_running_earlier);
	json_put_bool(json, "entries_only", process->entries_only);
	json_put_u64(json, "peak_unsure_bytes", report_peak_unsure(recording, process));
	json_process_counters(json, process);
	json_close(json, '}');
}

static void put_totals(struct json *json, const struct report_recording *recording,
		       const struct process *process)
{
	put_spaces(json, process);
	json_process_driver(json, process);
	json_process_tensors(json, process);
	json_process_nccl(json, process);
	json_gpu_process(json, process);
	json_nvml_process(json, process);
	put_calls(json, recording, process);
	json_process_failures(json, process);
	json_process_functions(json, process);
	json_process_splits(json, process);
	put_unknown(json, recording, process);
}

static void put_process(struct json *json, const struct report_recording *recording,
			const struct report_process *shown)
{
	const struct process *process = shown->process;

	json_open(json, '{');
	json_put_u64(json, "pid", process->pid);
	json_put_u64(json, "start_ns", process->start_ns);
	report_json_comm(json, process->comm);
	report_json_name(json, process->name);
	json_name(json, "identity");
	identity_words_json(json, &process->identity.known);
	json_put_bool(json, "exited", process->exited);
	json_process_exit(json, process->exited ? process->exit_status : MS_EXIT_UNKNOWN);
	put_totals(json, recording, process);
	report_json_cells(json, shown, SIZE_MAX);
	put_objects(json, process);
	put_pools(json, process);
	report_host_json_process(json, process);
	report_host_json_placement(json, recording, process);
	put_largest(json, recording, shown);
	json_put_u64(json, "findings", shown->findings);
	json_close(json, '}');
}

void report_json_memory(struct json *json, const struct report_recording *recording)
{
	const struct state *state = recording->state;
	size_t i;

	json_name(json, "devices");
	json_open(json, '[');
	for (i = 0; i < recording->devices_count; i++)
		put_device(json, recording, &recording->devices[i]);
	json_close(json, ']');
	report_groups_json(json, recording);
	report_json_sites(json, recording);
	json_put_bool(json, "device_numbers_are_own", report_device_numbers_are_own(recording));
	json_nvml_devices(json, state);
	json_nvml_series(json, &recording->nvml_series);
	report_xids_json(json, recording);
	report_host_json(json, state);
	json_name(json, "processes");
	json_open(json, '[');
	for (i = 0; i < recording->processes_count; i++)
		put_process(json, recording, &recording->processes[i]);
	json_close(json, ']');
	json_name(json, "more_processes");
	if (!report_has_more(recording)) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "count", state->more_count);
	put_totals(json, recording, state->more);
	json_close(json, '}');
}
