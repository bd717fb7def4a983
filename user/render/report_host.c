// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_host.h"

#include <string.h>

#include "render/field.h"
#include "render/report_words.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static void cell_share(struct document *document, uint64_t part_ns, uint64_t whole_ns)
{
	string_append_format(&document->text, "%.1f %%",
			     whole_ns ? 100.0 * (double)part_ns / (double)whole_ns : 0.0);
	document_cell(document);
}

static void list_pressure(struct document *document, const char *what, bool has_full,
			  uint64_t some_ns, uint64_t full_ns, uint64_t ns)
{
	if (!document_row(document))
		return;
	document_cell_words(document, what);
	document_cell_duration(document, true, some_ns);
	cell_share(document, some_ns, ns);
	document_cell_duration(document, has_full, full_ns);
	document_row_end(document);
}

static void list_pressures(struct document *document, const struct host_account *host)
{
	static const struct document_column columns[] = { { "Tasks waited for", DOCUMENT_TEXT },
							  { "Some", DOCUMENT_NUMBER },
							  { "Of the time", DOCUMENT_NUMBER },
							  { "All", DOCUMENT_NUMBER },
							  { 0 } };
	struct host_pressure pressure;

	if (!host_account_pressure(host, &pressure))
		return;
	document_table(document, "host-pressure",
		       "What tasks of the machine waited for (PSI), traced or not", columns);
	if (pressure.has_cpu)
		list_pressure(document, "a CPU", false, pressure.cpu_some_ns, 0, pressure.ns);
	if (pressure.has_memory)
		list_pressure(document, "memory", true, pressure.memory_some_ns,
			      pressure.memory_full_ns, pressure.ns);
	if (pressure.has_io)
		list_pressure(document, "disks", true, pressure.io_some_ns, pressure.io_full_ns,
			      pressure.ns);
	document_table_end(document);
}

static void list_nodes(struct document *document, const struct host_account *host)
{
	static const struct document_column columns[] = { { "NUMA node", DOCUMENT_NUMBER },
							  { "Memory", DOCUMENT_NUMBER },
							  { "Free", DOCUMENT_NUMBER },
							  { "Least free", DOCUMENT_NUMBER },
							  { 0 } };
	size_t i;

	document_table_top(document, "host-nodes", "NUMA nodes", columns);
	for (i = 0; i < host->nodes_count; i++) {
		const struct host_node *node = &host->nodes[i];

		if (!document_row(document))
			continue;
		document_cell_count(document, true, node->last.node);
		document_cell_size(document, true, node->last.total_bytes);
		document_cell_size(document, true, node->last.free_bytes);
		document_cell_size(document, true, node->least_free_bytes);
		document_row_end(document);
	}
	document_table_end(document);
}

static void cell_link(struct document *document, bool known, uint32_t speed, uint32_t width)
{
	if (known)
		string_append_format(&document->text, "%u.%u GT/s x%u", speed / 10, speed % 10,
				     width);
	else
		string_append_char(&document->text, '?');
	document_cell(document);
}

static void list_gpus(struct document *document, const struct host_account *host)
{
	static const struct document_column columns[] = { { "GPU", DOCUMENT_TEXT },
							  { "NUMA node", DOCUMENT_NUMBER },
							  { "Link, the fastest seen",
							    DOCUMENT_VALUE },
							  { "It can do", DOCUMENT_VALUE },
							  { 0 } };
	size_t i;

	document_table_top(document, "host-gpus", "Where GPUs are plugged in", columns);
	for (i = 0; i < host->gpus_count; i++) {
		const struct host_gpu *gpu = &host->gpus[i];
		const bool link = gpu->last.known & MS_GPU_LINK;

		if (!document_row(document))
			continue;
		field_append_safe(&document->text, gpu->last.bdf,
				  strnlen(gpu->last.bdf, MS_BDF_BYTES));
		document_cell(document);
		document_cell_count(document, gpu->last.known & MS_GPU_NODE, gpu->last.node);
		cell_link(document, link, gpu->most_speed, gpu->most_width);
		cell_link(document, link, gpu->last.max_speed, gpu->last.max_width);
		document_row_end(document);
	}
	document_table_end(document);
}

/* ---- where memory of the host lies that GPUs use --------------------------------------------- */

static void cell_gpu_node(struct document *document, const struct report_recording *recording,
			  const struct process *process)
{
	uint32_t node;
	const bool known = host_account_gpu_node(&recording->state->host, &process->devices, &node);

	if (!known && recording->state->host.nodes_count == 1)
		document_cell_words(document, "single node");
	else
		document_cell_count(document, known, node);
}

static void list_placed_on(struct document *document, const struct report_recording *recording,
			   const struct process *process, enum host_placed_space space, bool known,
			   uint32_t node, uint64_t pages)
{
	const struct host_placed *placed = &process->host.placed[space];

	if (!pages || !document_row(document))
		return;
	document_cell_process(document, process);
	document_cell_words(document, probe_space_name(host_account_space(space)));
	document_cell_count(document, true, placed->blocks);
	document_cell_size(document, true, placed->bytes);
	document_cell_count(document, known, node);
	document_cell_size(document, true, host_account_bytes(placed, pages));
	cell_gpu_node(document, recording, process);
	document_row_end(document);
}

static void list_placed(struct document *document, const struct report_recording *recording,
			const struct process *process)
{
	enum host_placed_space space;
	size_t i;

	for (space = 0; space < HOST_PLACED_SPACES; space++) {
		const struct host_placed *placed = &process->host.placed[space];

		for (i = 0; i < placed->nodes_count; i++)
			list_placed_on(document, recording, process, space, true,
				       placed->nodes[i].node, placed->nodes[i].pages);
		list_placed_on(document, recording, process, space, false, 0, placed->unknown);
	}
}

static void list_placement(struct document *document, const struct report_recording *recording)
{
	static const struct document_column columns[] = {
		{ "Process", DOCUMENT_TEXT },          { "Memory", DOCUMENT_TEXT },
		{ "Blocks", DOCUMENT_NUMBER },         { "Bytes", DOCUMENT_NUMBER },
		{ "On node", DOCUMENT_NUMBER },        { "There", DOCUMENT_NUMBER },
		{ "Its GPU's node", DOCUMENT_NUMBER }, { 0 }
	};
	size_t i;

	document_table_top(
		document, "host-placement",
		"Where memory of the host lies that GPUs use, by pages that were asked for",
		columns);
	for (i = 0; i < recording->processes_count; i++)
		list_placed(document, recording, recording->processes[i].process);
	document_table_end(document);
}

void report_host_tables(struct document *document, const struct report_recording *recording)
{
	const struct host_account *host = &recording->state->host;

	list_pressures(document, host);
	list_nodes(document, host);
	list_gpus(document, host);
	list_placement(document, recording);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_pressure(struct json *json, const struct host_account *host)
{
	struct host_pressure pressure;
	const bool known = host_account_pressure(host, &pressure);

	json_put_if(json, "observed_ns", known, pressure.ns);
	json_put_if(json, "cpu_some_ns", known && pressure.has_cpu, pressure.cpu_some_ns);
	json_put_if(json, "memory_some_ns", known && pressure.has_memory, pressure.memory_some_ns);
	json_put_if(json, "memory_full_ns", known && pressure.has_memory, pressure.memory_full_ns);
	json_put_if(json, "io_some_ns", known && pressure.has_io, pressure.io_some_ns);
	json_put_if(json, "io_full_ns", known && pressure.has_io, pressure.io_full_ns);
}

static void put_host(struct json *json, const struct host_account *host)
{
	const bool memory = host->last.known & MS_HOST_MEMORY;

	json_name(json, "host_samples");
	if (!host->count) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "samples", host->count);
	json_put_if(json, "total_bytes", memory, host->last.total_bytes);
	json_put_if(json, "available_bytes", memory, host->last.available_bytes);
	json_put_if(json, "least_available_bytes", memory, host->least_available_bytes);
	put_pressure(json, host);
	json_close(json, '}');
}

static void put_node(struct json *json, const struct host_node *node)
{
	json_open(json, '{');
	json_put_u64(json, "node", node->last.node);
	json_put_u64(json, "total_bytes", node->last.total_bytes);
	json_put_u64(json, "free_bytes", node->last.free_bytes);
	json_put_u64(json, "least_free_bytes", node->least_free_bytes);
	json_close(json, '}');
}

static void put_gpu(struct json *json, const struct host_gpu *gpu)
{
	const bool link = gpu->last.known & MS_GPU_LINK;

	json_open(json, '{');
	json_name(json, "bdf");
	json_text(json, gpu->last.bdf, strnlen(gpu->last.bdf, MS_BDF_BYTES));
	json_put_if(json, "node", gpu->last.known & MS_GPU_NODE, gpu->last.node);
	json_put_if(json, "most_speed", link, gpu->most_speed);
	json_put_if(json, "max_speed", link, gpu->last.max_speed);
	json_put_if(json, "most_width", link, gpu->most_width);
	json_put_if(json, "max_width", link, gpu->last.max_width);
	json_close(json, '}');
}

void report_host_json(struct json *json, const struct state *state)
{
	const struct host_account *host = &state->host;
	size_t i;

	put_host(json, host);
	json_name(json, "numa_nodes");
	json_open(json, '[');
	for (i = 0; i < host->nodes_count; i++)
		put_node(json, &host->nodes[i]);
	json_close(json, ']');
	json_name(json, "gpu_links");
	json_open(json, '[');
	for (i = 0; i < host->gpus_count; i++)
		put_gpu(json, &host->gpus[i]);
	json_close(json, ']');
}

static void put_placed_on(struct json *json, const struct host_placed *placed, bool known,
			  uint32_t node, uint64_t pages)
{
	if (!pages)
		return;
	json_open(json, '{');
	json_put_if(json, "node", known, node);
	json_put_u64(json, "bytes", host_account_bytes(placed, pages));
	json_put_u64(json, "pages", pages);
	json_close(json, '}');
}

static void put_placed(struct json *json, enum host_placed_space space,
		       const struct host_placed *placed)
{
	size_t i;

	if (!placed->asked)
		return;
	json_open(json, '{');
	json_put_text(json, "space", probe_space_name(host_account_space(space)));
	json_put_u64(json, "blocks", placed->blocks);
	json_put_u64(json, "bytes", placed->bytes);
	json_put_u64(json, "asked_pages", placed->asked);
	json_name(json, "nodes");
	json_open(json, '[');
	for (i = 0; i < placed->nodes_count; i++)
		put_placed_on(json, placed, true, placed->nodes[i].node, placed->nodes[i].pages);
	put_placed_on(json, placed, false, 0, placed->unknown);
	json_close(json, ']');
	json_close(json, '}');
}

void report_host_json_placement(struct json *json, const struct report_recording *recording,
				const struct process *process)
{
	enum host_placed_space space;
	uint32_t node;
	const bool known = host_account_gpu_node(&recording->state->host, &process->devices, &node);

	json_put_if(json, "gpu_node", known, node);
	json_name(json, "placement");
	json_open(json, '[');
	for (space = 0; space < HOST_PLACED_SPACES; space++)
		put_placed(json, space, &process->host.placed[space]);
	json_close(json, ']');
}

void report_host_json_process(struct json *json, const struct process *process)
{
	const struct ms_load *last = &process->host.last;
	const bool memory = last->known & MS_LOAD_MEMORY;
	struct host_used used;
	const bool known = host_account_used(&process->host, &used);

	json_name(json, "host");
	if (!process->host.count) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "samples", process->host.count);
	json_put_if(json, "observed_ns", known, used.ns);
	json_put_if(json, "cpu_ns", known && used.has_cpu, used.cpu_ns);
	json_put_if(json, "queue_ns", known && used.has_queue, used.queue_ns);
	json_put_if(json, "major_faults", known && used.has_cpu, used.major_faults);
	json_put_if(json, "throttled_ns", known && used.has_throttled, used.throttled_ns);
	json_put_if(json, "throttled", known && used.has_throttled, used.throttled);
	json_put_if(json, "cgroup_stall_ns", known && used.has_stall, used.stall_ns);
	json_put_if(json, "threads", last->known & MS_LOAD_CPU, last->threads);
	json_put_if(json, "anon_bytes", memory, last->anon_bytes);
	json_put_if(json, "file_bytes", memory, last->file_bytes);
	json_put_if(json, "shmem_bytes", memory, last->shmem_bytes);
	json_put_if(json, "swap_bytes", memory, last->swap_bytes);
	json_put_if(json, "locked_bytes", memory, last->locked_bytes);
	json_put_if(json, "peak_bytes", memory, process->host.peak_bytes);
	json_put_if(json, "cgroup_bytes", last->known & MS_LOAD_CGROUP_MEMORY, last->cgroup_bytes);
	json_put_if(json, "cgroup_limit_bytes", last->known & MS_LOAD_CGROUP_LIMIT,
		    last->cgroup_limit_bytes);
	json_close(json, '}');
}
