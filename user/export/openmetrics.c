// SPDX-License-Identifier: BSD-2-Clause
/*
 * The totals of the report as OpenMetrics 1.0 text, of the moment when each recording ended. Labels
 * that DCGM's exporter has too are called the same (hostname, gpu, pod). Processes with the same
 * labels share a series, unless their PIDs are asked for: else each run of a program would make its
 * own. Counters of several recordings are summed up, and gauges are those of the last one that has
 * them: what was held at different times was never held together.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "export/export.h"
#include "export/limit_metrics.h"
#include "export/nvml_metrics.h"
#include "export/openmetrics.h"
#include "event/losses.h"
#include "ledger/call_latency.h"
#include "render/report_words.h"

/* clang-format off */

/* Family, type, unit, what it is. Counters get their _total where they are written. */
#define FAMILIES(X) \
	X(RECORDING_INFO, "memscope_recording_info", "gauge", "", "What was recorded; always 1") \
	X(RECORDING_EVENTS, "memscope_recording_events", "counter", "", "Calls that were recorded") \
	X(EVENTS_LOST, "memscope_events_lost", "counter", "", "Events that the recording lacks, by where they were lost") \
	X(MISSED_PROCESSES, "memscope_missed_processes", "counter", "", "Processes with a CUDA library that ended, or executed another program, before they could be attached to, as far as known") \
	X(UNTRACED_DESCENDANTS, "memscope_untraced_descendants", "gauge", "", "Descendants of the recorded processes that used CUDA and were not recorded, as far as known") \
	X(GPU_TOTAL, "memscope_gpu_memory_total_bytes", "gauge", "bytes", "Memory of the device, as the driver last reported it") \
	X(GPU_USED, "memscope_gpu_memory_used_bytes", "gauge", "bytes", "Memory of the device that all programs together use, as the driver last reported it") \
	X(GPU_USED_TIME, "memscope_gpu_memory_used_timestamp_seconds", "gauge", "seconds", "When the driver last reported these two, since 1970") \
	NVML_METRICS_FAMILIES(X) \
	LIMIT_METRICS_FAMILIES(X) \
	X(XIDS, "memscope_gpu_xid_errors", "counter", "", "Errors of devices that NVIDIA's driver reported in the kernel's log (Xid)") \
	X(GPU_EXPLAINED, "memscope_gpu_memory_explained_bytes", "gauge", "bytes", "Memory of the device that the recorded processes hold") \
	X(GPU_PEAK, "memscope_gpu_memory_explained_peak_bytes", "gauge", "bytes", "The most of it at any time") \
	X(LIVE, "memscope_process_gpu_memory_live_bytes", "gauge", "bytes", "Held, by the function that allocated it; of a recording, at its end or when the process exited") \
	X(LIVE_COUNT, "memscope_process_outstanding_allocations", "gauge", "", "How many allocations those are") \
	X(INEXACT, "memscope_process_gpu_memory_inexact", "gauge", "", "1: it may have held memory before it was attached to, or not all that it did with memory is known; else 0") \
	X(PEAK, "memscope_process_gpu_memory_peak_bytes", "gauge", "bytes", "High-water mark; of several processes, the highest") \
	X(ALLOCS, "memscope_allocations", "counter", "", "Successful allocations") \
	X(ALLOC_BYTES, "memscope_allocated_bytes", "counter", "bytes", "Bytes of those") \
	X(FREES, "memscope_frees", "counter", "", "Frees of known allocations by calls") \
	X(FREE_BYTES, "memscope_freed_bytes", "counter", "bytes", "Bytes of those") \
	X(FAILURES, "memscope_failed_calls", "counter", "", "Calls that failed, by result") \
	X(COPIES, "memscope_copies", "counter", "", "Successful copies") \
	X(COPY_BYTES, "memscope_copied_bytes", "counter", "bytes", "Bytes of those") \
	X(LAUNCHES, "memscope_kernel_launches", "counter", "", "Successful launches of kernels") \
	X(GRAPH_LAUNCHES, "memscope_graph_launches", "counter", "", "Successful launches of graphs") \
	X(MEMSETS, "memscope_memsets", "counter", "", "Successful memsets") \
	X(SYNCS, "memscope_syncs", "counter", "", "Successful synchronisations") \
	X(SYNC_SECONDS, "memscope_sync_seconds", "counter", "seconds", "Time that threads spent in them") \
	X(CALL_SECONDS, "memscope_call_duration_seconds", "histogram", "seconds", "How long each call took, failed ones too, by what calls do (op)") \
	X(UNTIMED, "memscope_untimed_calls", "counter", "", "Recorded calls that are not in it, because it is not known how long each took") \
	X(LEAKS, "memscope_leak_suspect_bytes", "gauge", "bytes", "What findings about leaks are about") \
	X(FINDINGS, "memscope_findings", "gauge", "", "Findings, by rule and confidence")

enum family {
#define X(family, name, type, unit, help) FAMILY_##family,
	FAMILIES(X)
#undef X
	FAMILIES_COUNT,
};

static const struct metrics_family families[] = {
/* Only the times of calls are histograms. */
#define X(family, metric, kind, base, words) \
	{ .name = metric, .type = kind, .unit = base, .help = words, .bounds = call_latency_bounds, \
	  .bounds_count = FAMILY_##family == FAMILY_CALL_SECONDS ? CALL_LATENCY_BOUNDS : 0 },
	FAMILIES(X)
#undef X
};
/* clang-format on */

struct openmetrics {
	struct openmetrics_options options;
	struct metrics *metrics;
	const struct report_recording *recording; /* that is being added */
};

/* ---- devices --------------------------------------------------------------------------------- */

static void put_device(struct openmetrics *export, int32_t device)
{
	if (device >= 0)
		metrics_label_number(export->metrics, "gpu", (uint64_t)device);
}

static void put_text(struct openmetrics *export, const char *name, struct string *text)
{
	string_append_char(text, '\0');
	if (text->failed)
		metrics_lack(export->metrics);
	else
		metrics_label(export->metrics, name, text->bytes);
}

/* The UUID, or else what tells it from another device that is called by the same number. */
static void put_identity(struct openmetrics *export, int32_t ordinal, size_t row)
{
	const struct usage_totals *totals = export->recording->state->usage;
	const struct device_identity *known;
	struct string text = { 0 };

	put_device(export, ordinal);
	if (ordinal < 0 || row == SIZE_MAX)
		return;
	known = &totals->devices[row].identity;
	if (known->has_uuid) {
		device_append_uuid(&text, known);
		put_text(export, "UUID", &text);
	} else if (known->pci.known) {
		device_append_pci(&text, known);
		put_text(export, "pci_bus_id", &text);
	} else if (!usage_device_number_is_unique(totals, row)) {
		string_append_u64(&text, totals->devices[row].pid);
		put_text(export, "of_pid", &text);
	}
	string_fini(&text);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void add_spaces(struct openmetrics *export, const struct process *process)
{
	uint32_t space;

	for (space = MS_SPACE_NONE + 1; space < MS_SPACES_COUNT; space++) {
		const struct space_total *total = &process->spaces[space];
		const char *kind = probe_space_name(space);

		if (!total->allocs && !total->peak_bytes)
			continue;
		metrics_label(export->metrics, "kind", kind);
		metrics_add(export->metrics, FAMILY_ALLOCS, total->allocs);
		metrics_label(export->metrics, "kind", kind);
		metrics_add(export->metrics, FAMILY_ALLOC_BYTES, total->alloc_bytes);
		if (process->entries_only)
			continue; /* what was freed is not known, nor what is live */
		metrics_label(export->metrics, "kind", kind);
		metrics_add(export->metrics, FAMILY_FREES, total->frees);
		metrics_label(export->metrics, "kind", kind);
		metrics_add(export->metrics, FAMILY_FREE_BYTES, total->free_bytes);
	}
}

static void add_peaks(struct openmetrics *export, const struct process *process)
{
	uint32_t space;

	for (space = MS_SPACE_NONE + 1; space < MS_SPACES_COUNT; space++) {
		const struct space_total *total = &process->spaces[space];

		if (process->entries_only || (!total->allocs && !total->peak_bytes))
			continue;
		metrics_label(export->metrics, "kind", probe_space_name(space));
		metrics_highest(export->metrics, FAMILY_PEAK, total->peak_bytes);
	}
}

static void add_copies(struct openmetrics *export, const struct process *process)
{
	uint32_t i;

	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		const char *direction = i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : NULL;

		if (!process->copies[i].count)
			continue;
		metrics_label(export->metrics, "direction", direction);
		metrics_add(export->metrics, FAMILY_COPIES, process->copies[i].count);
		metrics_label(export->metrics, "direction", direction);
		metrics_add(export->metrics, FAMILY_COPY_BYTES, process->copies[i].bytes);
	}
}

static void add_times(struct openmetrics *export, const struct process *process)
{
	enum ms_op op;

	for (op = 0; op < MS_OPS_COUNT; op++) {
		struct call_latency latency;

		if (!(export->recording->coverage.captured_ops >> op & 1) || !call_latency_has(op))
			continue;
		latency = call_latency_of(process, op);
		if (!latency.count && !latency.untimed)
			continue;
		metrics_label(export->metrics, "op", probe_op_name(op));
		metrics_add_histogram(export->metrics, FAMILY_CALL_SECONDS, latency.counts,
				      latency.sum_ns);
		metrics_label(export->metrics, "op", probe_op_name(op));
		metrics_add(export->metrics, FAMILY_UNTIMED, latency.untimed);
	}
}

static void add_calls(struct openmetrics *export, const struct process *process)
{
	const uint32_t captured = export->recording->coverage.captured_ops;
	size_t i;

	if (captured >> MS_OP_COPY & 1)
		add_copies(export, process);
	if (captured >> MS_OP_MEMSET & 1)
		metrics_add(export->metrics, FAMILY_MEMSETS, process->memsets.count);
	if (captured >> MS_OP_LAUNCH & 1)
		metrics_add(export->metrics, FAMILY_LAUNCHES, process->launches);
	if (export->recording->coverage.graph_launches)
		metrics_add(export->metrics, FAMILY_GRAPH_LAUNCHES, process->graph_launches);
	if (captured >> MS_OP_SYNC & 1) {
		metrics_add(export->metrics, FAMILY_SYNCS, process->syncs.count);
		if (!process->entries_only)
			metrics_add(export->metrics, FAMILY_SYNC_SECONDS,
				    process->syncs.duration_ns);
	}
	add_times(export, process);
	for (i = 0; i < process->failures_count; i++) {
		const struct failure *failure = &process->failures[i];
		const struct probe *probe = probe_at(failure->row);

		metrics_label(export->metrics, "api", probe->symbol);
		metrics_label(export->metrics, "error",
			      probe_result_name(probe->layer, failure->result));
		metrics_add(export->metrics, FAMILY_FAILURES, failure->count);
	}
	if (process->counters[COUNTER_OTHER_FAILURES]) {
		metrics_label(export->metrics, "api", "(others)");
		metrics_add(export->metrics, FAMILY_FAILURES,
			    process->counters[COUNTER_OTHER_FAILURES]);
	}
}

/* What a series can be found by, and few processes differ in. */
static void put_process_identity(struct openmetrics *export, const struct identity *identity)
{
	static const struct {
		const char *label;
		enum identity_item item;
	} labels[] = {
		{ "user", IDENTITY_USER },   { "container", IDENTITY_CONTAINER },
		{ "pod", IDENTITY_POD },     { "namespace", IDENTITY_NAMESPACE },
		{ "hpc_job", IDENTITY_JOB },
	};
	const char *script = identity->items[IDENTITY_TITLE] ? NULL : identity_script(identity);
	const char *container = identity_container(identity);
	char name[IDENTITY_NAME_BYTES] = "";
	size_t i;

	/* Without its directory, which differs from run to run where jobs have their own. */
	if (script)
		memcpy(name, script, strnlen(script, sizeof(name) - 1));
	metrics_label(export->metrics, "script", name);
	for (i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		const char *value = labels[i].item == IDENTITY_CONTAINER ?
					    container :
					    identity->items[labels[i].item];

		if (value)
			metrics_label(export->metrics, labels[i].label, value);
	}
	if (container != identity->items[IDENTITY_CONTAINER])
		metrics_label(export->metrics, "container_id", identity->items[IDENTITY_CONTAINER]);
}

/* `comm` NULL: all processes; of one with a title (or NULL), that counts. */
static void begin_labels(struct openmetrics *export, const char *comm, const char *title,
			 uint32_t pid)
{
	char name[IDENTITY_NAME_BYTES] = "";

	metrics_begin(export->metrics);
	metrics_label(export->metrics, "hostname", export->recording->coverage.host);
	if (title)
		memcpy(name, title, strnlen(title, sizeof(name) - 1));
	else if (comm)
		memcpy(name, comm, strnlen(comm, MS_COMM_BYTES));
	metrics_label(export->metrics, "comm", name);
	if (pid && export->options.label_pid)
		metrics_label_number(export->metrics, "pid", pid);
	metrics_keep(export->metrics);
}

/* Whether any of several processes is. */
static void add_inexact(struct openmetrics *export, const struct process *process)
{
	metrics_highest(export->metrics, FAMILY_INEXACT,
			!export->recording->coverage.has_beginning ||
				report_process_is_inexact(export->recording, process));
}

static void begin_process(struct openmetrics *export, const struct process *process)
{
	begin_labels(export, process->comm, process->identity.known.items[IDENTITY_TITLE],
		     process->pid);
	put_process_identity(export, &process->identity.known);
	metrics_keep(export->metrics);
}

static void add_cell(struct openmetrics *export, const struct process *process,
		     const struct usage_cell *cell)
{
	const struct usage_totals *totals = export->recording->state->usage;
	size_t family;

	for (family = FAMILY_LIVE; family <= FAMILY_LIVE_COUNT; family++) {
		put_identity(export, cell->device,
			     usage_device_place(totals, &process->devices, cell->device));
		metrics_label(export->metrics, "kind", probe_space_name(cell->space));
		metrics_label(export->metrics, "api", probe_at(cell->row)->symbol);
		metrics_add(export->metrics, family,
			    family == FAMILY_LIVE ? cell->live_bytes : cell->live_count);
	}
}

static void add_process(struct openmetrics *export, const struct report_process *shown)
{
	const struct process *process = shown->process;
	size_t i;

	if (export->options.live && process->exited)
		return;
	begin_process(export, process);
	add_inexact(export, process);
	add_spaces(export, process);
	add_peaks(export, process);
	add_calls(export, process);
	for (i = 0; !process->entries_only && i < shown->cells_count; i++)
		add_cell(export, process, &shown->cells[i]);
}

/* ---- recordings ------------------------------------------------------------------------------ */

static void add_device(struct openmetrics *export, const struct report_device *device)
{
	const struct report_told *told = device->told;

	put_identity(export, device->device, device->row);
	metrics_add(export->metrics, FAMILY_GPU_EXPLAINED, device->live_bytes);
	put_identity(export, device->device, device->row);
	metrics_highest(export->metrics, FAMILY_GPU_PEAK, device->peak_bytes);
	if (!told)
		return;
	put_identity(export, device->device, device->row);
	metrics_highest(export->metrics, FAMILY_GPU_TOTAL, told->total_bytes);
	put_identity(export, device->device, device->row);
	metrics_highest(export->metrics, FAMILY_GPU_USED, report_told_used(told));
	if (!export->recording->coverage.wall_known)
		return;
	put_identity(export, device->device, device->row);
	metrics_highest(export->metrics, FAMILY_GPU_USED_TIME,
			told->ts_ns + export->recording->coverage.wall_offset_ns);
}

static void add_lost(struct openmetrics *export, const char *stage, uint64_t count)
{
	metrics_label(export->metrics, "stage", stage);
	metrics_add(export->metrics, FAMILY_EVENTS_LOST, count);
}

static void add_coverage(struct openmetrics *export, const struct report_coverage *coverage)
{
	const struct losses losses = losses_of(&coverage->counters);
	char number[STRING_NUMBER_BYTES + 2] = "";

	if (!export->options.live)
		snprintf(number, sizeof(number), "0x%llx",
			 (unsigned long long)coverage->account.recording);
	metrics_add(export->metrics, FAMILY_RECORDING_EVENTS, coverage->account.calls);
	add_lost(export, "ring", losses_count(&losses) - losses.untracked);
	add_lost(export, "untracked", losses.untracked);
	add_lost(export, "disk", coverage->unwritten_records);
	add_lost(export, "decode", coverage->account.refused + coverage->account.unknown_records);
	metrics_add(export->metrics, FAMILY_XIDS, export->recording->state->host.xids_count);
	if (coverage->missed_known)
		metrics_add(export->metrics, FAMILY_MISSED_PROCESSES, coverage->missed_processes);
	if (coverage->untraced_known)
		metrics_add(export->metrics, FAMILY_UNTRACED_DESCENDANTS, coverage->untraced);
	metrics_label(export->metrics, "recording", number);
	metrics_label(export->metrics, "kernel", coverage->kernel);
	metrics_label(export->metrics, "version", coverage->version);
	metrics_highest(export->metrics, FAMILY_RECORDING_INFO, 1);
}

static void add_finding(struct openmetrics *export, const struct finding *finding)
{
	const struct process *process =
		state_find(export->recording->state, finding->pid, finding->start_ns);

	begin_labels(export, finding->comm,
		     process ? process->identity.known.items[IDENTITY_TITLE] : NULL, finding->pid);
	if (process)
		put_process_identity(export, &process->identity.known);
	metrics_keep(export->metrics);
	metrics_label(export->metrics, "rule", finding_rule_name(finding->rule));
	metrics_label(export->metrics, "confidence", report_confidence_name(finding->confidence));
	metrics_add(export->metrics, FAMILY_FINDINGS, 1);
	if (finding_topic_of(finding->rule) != FINDING_TOPIC_LEAK)
		return;
	metrics_label(export->metrics, "rule", finding_rule_name(finding->rule));
	metrics_add(export->metrics, FAMILY_LEAKS, finding->bytes);
}

static void add_rest(struct openmetrics *export, const struct report_recording *recording)
{
	const struct state *state = recording->state;
	size_t i;

	if (state->more_count && !report_selects(&recording->options)) {
		begin_labels(export, "(others)", NULL, 0);
		add_inexact(export, state->more);
		add_spaces(export, state->more);
		add_peaks(export, state->more);
		add_calls(export, state->more);
	}
	for (i = 0; i < recording->findings_count; i++)
		add_finding(export, recording->findings[i].finding);
}

static void begin_recording(struct openmetrics *export, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	const bool timed = !export->options.live && coverage->wall_known;

	export->recording = recording;
	metrics_of(export->metrics, recording,
		   timed ? coverage->wall_offset_ns + report_end_ns(recording) : 0);
}

void openmetrics_add(struct openmetrics *export, const struct report_recording *recording)
{
	size_t i;

	begin_recording(export, recording);
	begin_labels(export, NULL, NULL, 0);
	add_coverage(export, &recording->coverage);
	for (i = 0; i < recording->devices_count; i++)
		add_device(export, &recording->devices[i]);
	nvml_metrics_add(export->metrics, FAMILY_NVML_TOTAL, recording);
	if (export->options.live)
		nvml_metrics_add_explained(export->metrics, FAMILY_GPU_EXPLAINED, recording);
	limit_metrics_add(export->metrics, FAMILY_CGROUP_USED, recording, export->options.live);
	for (i = 0; i < recording->processes_count; i++)
		add_process(export, &recording->processes[i]);
	if (!export->options.live)
		add_rest(export, recording);
}

void openmetrics_add_ended(struct openmetrics *export, const struct report_recording *recording,
			   const struct process *process)
{
	begin_recording(export, recording);
	begin_process(export, process);
	add_spaces(export, process);
	add_calls(export, process);
}

/* ---- series of a report ---------------------------------------------------------------------- */

struct openmetrics *openmetrics_new(const struct openmetrics_options *options)
{
	struct openmetrics *export = calloc(1, sizeof(*export));

	if (!export)
		return NULL;
	export->options = *options;
	export->metrics = metrics_new(families, FAMILIES_COUNT, options->most);
	if (export->metrics)
		return export;
	free(export);
	return NULL;
}

void openmetrics_free(struct openmetrics *export)
{
	if (!export)
		return;
	metrics_free(export->metrics);
	free(export);
}

struct metrics *openmetrics_metrics(struct openmetrics *export)
{
	return export->metrics;
}

/* ---- the exporter ---------------------------------------------------------------------------- */

struct text_export {
	struct sink sink;
	struct writer *writer;
	struct openmetrics *series;
};

static struct sink *begin_openmetrics(const struct export_options *options)
{
	const struct openmetrics_options chosen = { .label_pid = options->label_pid };
	struct text_export *export = calloc(1, sizeof(*export));

	if (export)
		export->series = openmetrics_new(&chosen);
	if (!export || !export->series) {
		log_error("not enough memory");
		free(export);
		return NULL;
	}
	export->writer = options->writer;
	return &export->sink;
}

static int finish_openmetrics(struct sink *sink, const struct report *report)
{
	struct text_export *export = (struct text_export *)sink;
	struct metrics *metrics = export->series->metrics;
	size_t i;
	int err;

	for (i = 0; i < report->count; i++)
		openmetrics_add(export->series, report->recordings[i]);
	err = metrics_error(metrics);
	if (err) {
		log_error("not enough memory");
		return err;
	}
	err = metrics_write(metrics, export->writer, METRICS_OPENMETRICS);
	return err ? err : metrics_write_end(export->writer, METRICS_OPENMETRICS);
}

static void free_openmetrics(struct sink *sink)
{
	struct text_export *export = (struct text_export *)sink;

	openmetrics_free(export->series);
	free(export);
}

const struct exporter export_openmetrics = {
	.name = "openmetrics",
	.endings = ".prom .om",
	.summary =
		"the report's totals as OpenMetrics text, to be loaded into Prometheus and compatible databases",
	.takes_label = true,
	.begin = begin_openmetrics,
	.finish = finish_openmetrics,
	.free = free_openmetrics,
};
