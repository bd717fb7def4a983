// SPDX-License-Identifier: BSD-2-Clause
#include "agent/who_json.h"

#include <string.h>

#include "agent/answers.h"
#include "agent/limits_json.h"
#include "render/identity_words.h"
#include "render/json_nvml.h"
#include "render/json_writer.h"

/* ---- devices --------------------------------------------------------------------------------- */

static void put_identity(struct json *json, const struct device_identity *known)
{
	struct string uuid = { 0 }, pci = { 0 };

	device_append_uuid(&uuid, known);
	string_append_char(&uuid, '\0');
	device_append_pci(&pci, known);
	string_append_char(&pci, '\0');
	json->out->failed |= uuid.failed || pci.failed;
	json_put_text(json, "uuid", known->has_uuid && !uuid.failed ? uuid.bytes : NULL);
	json_put_text(json, "pci_bus_id", known->pci.known && !pci.failed ? pci.bytes : NULL);
	string_fini(&uuid);
	string_fini(&pci);
}

static void put_told(struct json *json, const struct report_told *told)
{
	uint64_t unexplained = 0;
	const bool known = told && report_told_unexplained(told, &unexplained);

	json_put_if(json, "told_ts_ns", told, told ? told->ts_ns : 0);
	json_put_if(json, "told_total_bytes", told, told ? told->total_bytes : 0);
	json_put_if(json, "told_used_bytes", told, told ? report_told_used(told) : 0);
	json_put_if(json, "unexplained_bytes", known, unexplained);
}

static void put_device(struct json *json, const struct report_recording *recording,
		       const struct report_device *device)
{
	const struct device_identity *known = &report_device_row(recording, device)->identity;

	json_open(json, '{');
	json_put_if(json, "device", device->device >= 0, (uint64_t)device->device);
	put_identity(json, known);
	json_put_text(json, "name", *known->name ? known->name : NULL);
	json_put_if(json, "total_bytes", known->total_bytes, known->total_bytes);
	json_put_u64(json, "explained_bytes", device->live_bytes);
	json_put_u64(json, "peak_bytes", device->peak_bytes);
	put_told(json, device->told);
	json_close(json, '}');
}

/* ---- processes ------------------------------------------------------------------------------- */

static void put_space(struct json *json, const struct process *process, uint32_t space)
{
	const struct space_total *total = &process->spaces[space];
	const bool known = !process->entries_only;

	json_open(json, '{');
	json_put_text(json, "space", probe_space_name(space));
	json_put_if(json, "live_bytes", known, total->live_bytes);
	json_put_if(json, "live_allocations", known, total->live_count);
	json_put_if(json, "peak_bytes", known, total->peak_bytes);
	json_put_u64(json, "allocs", total->allocs);
	json_put_u64(json, "alloc_bytes", total->alloc_bytes);
	json_put_if(json, "frees", known, total->frees);
	json_put_if(json, "free_bytes", known, total->free_bytes);
	json_close(json, '}');
}

static void put_spaces(struct json *json, const struct process *process)
{
	uint32_t space;

	json_name(json, "spaces");
	json_open(json, '[');
	for (space = MS_SPACE_NONE + 1; space < MS_SPACES_COUNT; space++)
		if (process->spaces[space].allocs || process->spaces[space].peak_bytes)
			put_space(json, process, space);
	json_close(json, ']');
}

/* What it holds on one device, of the spaces that are memory of a device. */
static uint64_t held_on(const struct report_process *shown, int32_t device)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < shown->cells_count; i++)
		if (shown->cells[i].device == device && usage_is_on_device(shown->cells[i].space))
			bytes += shown->cells[i].live_bytes;
	return bytes;
}

static bool is_first(const struct report_process *shown, size_t cell)
{
	size_t i;

	for (i = 0; i < cell; i++)
		if (shown->cells[i].device == shown->cells[cell].device &&
		    usage_is_on_device(shown->cells[i].space))
			return false;
	return usage_is_on_device(shown->cells[cell].space);
}

static void put_devices(struct json *json, const struct report_recording *recording,
			const struct report_process *shown)
{
	const struct usage_totals *totals = recording->state->usage;
	const struct process *process = shown->process;
	size_t i;

	json_name(json, "devices");
	json_open(json, '[');
	for (i = 0; i < shown->cells_count; i++) {
		const int32_t device = shown->cells[i].device;
		static const struct device_identity unknown;
		size_t row;

		if (!is_first(shown, i))
			continue;
		row = usage_device_place(totals, &process->devices, device);
		json_open(json, '{');
		json_put_if(json, "device", device >= 0, (uint64_t)device);
		put_identity(json, row == SIZE_MAX ? &unknown : &totals->devices[row].identity);
		json_put_if(json, "live_bytes", !process->entries_only, held_on(shown, device));
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* What tracing costs it. */
static void put_cost(struct json *json, const struct own_numbers *own,
		     const struct process *process)
{
	const struct costs *costs = own->costs;
	const struct cost *cost = costs ? costs_find(costs, process->pid, process->start_ns) : NULL;

	json_name(json, "cost");
	json_open(json, '{');
	json_put_if(json, "spent_ns", costs, cost ? cost->spent.all_ns : 0);
	json_put_if(json, "recent_ppm", costs, cost ? cost->recent_ppm : 0);
	json_put_text(json, "traced",
		      cost && own->budget ? event_budget_step_name(budget_step(own->budget, cost)) :
					    NULL);
	if (costs && costs->stacks)
		json_put_bool(json, "stacks", !cost || !cost->budget.governed.is_stackless);
	else
		json_put_text(json, "stacks", NULL);
	json_close(json, '}');
}

static void put_process(struct json *json, const struct answers_source *source,
			const struct report_process *shown)
{
	const struct report_recording *recording = books_report(source->books);
	const struct process *process = shown->process;

	json_open(json, '{');
	json_put_u64(json, "pid", process->pid);
	json_put_u64(json, "start_ns", process->start_ns);
	json_put_text(json, "comm", process->comm);
	json_put_text(json, "name", process->name);
	json_name(json, "identity");
	identity_words_json(json, &process->identity.known);
	json_put_bool(json, "exact", !report_process_is_inexact(recording, process));
	json_put_bool(json, "was_running", process->was_running);
	json_put_if(json, "device_bytes", !process->entries_only, report_held_on_devices(process));
	json_put_if(json, "peak_live_bytes", !process->entries_only,
		    books_peak_live(source->books, process));
	put_spaces(json, process);
	put_devices(json, recording, shown);
	limits_json_put(json, &process->limits, report_end_ns(recording));
	json_put_u64(json, "launches", process->launches);
	json_put_u64(json, "graph_launches", process->graph_launches);
	put_cost(json, &source->own, process);
	json_close(json, '}');
}

/* What it costs the traced programs, and what the agent itself takes. */
static void put_costs(struct json *json, const struct own_numbers *own)
{
	const struct costs *costs = own->costs;
	const uint64_t budget_ppm = own->budget ? own->budget->governor.options.budget_ppm : 0;

	json_name(json, "cost");
	json_open(json, '{');
	json_put_if(json, "trap_ns", costs, costs ? costs->trap_ns : 0);
	json_put_bool(json, "trap_measured", costs && costs->measured);
	json_put_if(json, "spent_ns", costs, costs ? costs->spent_ns : 0);
	json_put_if(json, "highest_ppm", costs, costs ? costs->highest_ppm : 0);
	json_put_if(json, "budget_ppm", budget_ppm, budget_ppm);
	json_put_u64(json, "agent_cpu_ns",
		     own->cost.cpu_ns + own->answers.cpu_ns + own->server.cpu_ns);
	json_close(json, '}');
}

/* Whether /api/v1/history has anything to say. */
static bool has_history(const struct history_feed *history)
{
	return history && history_writer_counts(&history->writer).written;
}

/* ---------------------------------------------------------------------------------------------- */

/* Where "ring" has replaced bytes that are no text, it names another directory. */
static void put_ring_word(struct json *json, const char *ring)
{
	struct string word = { 0 };

	if (ring)
		string_append_shell_word(&word, ring);
	string_append_char(&word, '\0');
	json->out->failed |= word.failed;
	json_put_text(json, "ring_word", ring && !word.failed ? word.bytes : NULL);
	string_fini(&word);
}

void who_json_append(struct string *out, const struct answers_source *source)
{
	const struct report_recording *recording = books_report(source->books);
	const struct report_coverage *coverage = &recording->coverage;
	const struct losses losses = losses_of(&coverage->counters);
	struct json json = { .out = out };
	size_t i;

	json_open(&json, '{');
	json_put_text(&json, "schema", ANSWERS_WHO_SCHEMA);
	json_put_text(&json, "version", MEMSCOPE_VERSION);
	json_put_text(&json, "host", source->host);
	json_put_text(&json, "ring", source->ring);
	put_ring_word(&json, source->ring);
	json_put_u64(&json, "ts_ns", coverage->account.last_ts_ns);
	json_put_u64(&json, "wall_ns", coverage->account.last_ts_ns + coverage->wall_offset_ns);
	json_put_bool(&json, "exact", !source->own.inexact);
	json_put_u64(&json, "seen", losses.seen);
	json_put_u64(&json, "lost", losses_count(&losses));
	json_put_u64(&json, "hidden_processes", books_hidden(source->books));
	json_put_bool(&json, "history", has_history(source->own.history));
	put_costs(&json, &source->own);
	json_name(&json, "devices");
	json_open(&json, '[');
	for (i = 0; i < recording->devices_count; i++)
		put_device(&json, recording, &recording->devices[i]);
	json_close(&json, ']');
	json_nvml_devices(&json, recording->state);
	json_name(&json, "processes");
	json_open(&json, '[');
	for (i = 0; i < recording->processes_count; i++)
		put_process(&json, source, &recording->processes[i]);
	json_close(&json, ']');
	json_close(&json, '}');
}
