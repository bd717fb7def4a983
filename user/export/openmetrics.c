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
#include "base/map.h"
#include "base/memory.h"
#include "export/export.h"
#include "event/losses.h"
#include "render/report_words.h"

/* clang-format off */

/* Family, type, unit, what it is. Counters get their _total where they are written. */
#define FAMILIES(X) \
	X(RECORDING_INFO, "memscope_recording_info", "gauge", "", "What was recorded; always 1") \
	X(RECORDING_EVENTS, "memscope_recording_events", "counter", "", "Calls in the recording") \
	X(EVENTS_LOST, "memscope_events_lost", "counter", "", "Events that the recording lacks, by where they were lost") \
	X(MISSED_PROCESSES, "memscope_missed_processes", "counter", "", "Processes with a CUDA library that ended, or executed another program, before they could be attached to, as far as known") \
	X(GPU_TOTAL, "memscope_gpu_memory_total_bytes", "gauge", "bytes", "Memory of the device, as the driver last reported it") \
	X(GPU_USED, "memscope_gpu_memory_used_bytes", "gauge", "bytes", "Memory of the device that all programs together use, as the driver last reported it") \
	X(GPU_EXPLAINED, "memscope_gpu_memory_explained_bytes", "gauge", "bytes", "Memory of the device that the recorded processes hold") \
	X(GPU_PEAK, "memscope_gpu_memory_explained_peak_bytes", "gauge", "bytes", "The most of it at any time") \
	X(LIVE, "memscope_process_gpu_memory_live_bytes", "gauge", "bytes", "Held at the end, or when the process exited, by the function that allocated it") \
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
	X(LEAKS, "memscope_leak_suspect_bytes", "gauge", "bytes", "What findings about leaks are about") \
	X(FINDINGS, "memscope_findings", "gauge", "", "Findings, by rule and confidence")

enum family {
#define X(family, name, type, unit, help) FAMILY_##family,
	FAMILIES(X)
#undef X
	FAMILIES_COUNT,
};

static const struct {
	const char *name, *type, *unit, *help;
} families[] = {
#define X(family, name, type, unit, help) { name, type, unit, help },
	FAMILIES(X)
#undef X
};
/* clang-format on */

struct series {
	const char *labels; /* as they are written; interned */
	uint64_t value, ts_ns;
	const struct report_recording *recording; /* the last one that it is of */
};

struct openmetrics {
	struct sink sink;
	struct writer *writer;
	bool label_pid;
	struct {
		struct series *series;
		size_t count, capacity;
		struct map places; /* labels -> position */
	} families[FAMILIES_COUNT];
	struct string_table strings;

	/* What all series of a recording have in common. */
	const struct report_recording *recording;
	uint64_t ts_ns;       /* since 1970; 0: unknown */
	struct string labels; /* of the series that is made */
	size_t own_labels;    /* of them, bytes that are the process's */
	int err;
};

/* ---- series ---------------------------------------------------------------------------------- */

static void put_escaped(struct string *out, const char *text, size_t length)
{
	const char *const end = text + length;

	while (text < end) {
		size_t step = string_utf8_length(text, end - text);
		const unsigned char byte = (unsigned char)*text;

		if (!step)
			string_append_text(out, "\xef\xbf\xbd");
		else if (byte == '\\' || byte == '"')
			string_append_format(out, "\\%c", byte);
		else if (byte == '\n')
			string_append_text(out, "\\n");
		else if (byte < 0x20 || byte == 0x7f)
			string_append_format(out, "\\\\x%02x", byte);
		else
			string_append(out, text, step);
		text += step ? step : 1;
	}
}

/* An empty label is none. */
static void put_label(struct openmetrics *export, const char *name, const char *text)
{
	struct string *out = &export->labels;

	if (!text || !*text)
		return;
	string_append_format(out, "%s%s=\"", out->length ? "," : "", name);
	put_escaped(out, text, strlen(text));
	string_append_char(out, '"');
}

static void put_device(struct openmetrics *export, int32_t device)
{
	if (device >= 0)
		string_append_format(&export->labels, "%sgpu=\"%d\"",
				     export->labels.length ? "," : "", device);
}

/* Ends what put_label() began: the next series has the process's labels again. */
static struct series *find_series(struct openmetrics *export, enum family family)
{
	const char *labels =
		string_intern(&export->strings, export->labels.bytes ?: "", export->labels.length);
	uint64_t *place =
		labels ? map_get(&export->families[family].places, (uintptr_t)labels) : NULL;
	size_t count = export->families[family].count;

	if (!labels || export->labels.failed)
		export->err = -ENOMEM;
	export->labels.length = export->own_labels;
	if (export->err || place)
		return export->err ? NULL : &export->families[family].series[*place];
	if (memory_grow(&export->families[family].series, &export->families[family].capacity,
			count + 1, sizeof(struct series)) ||
	    map_set(&export->families[family].places, (uintptr_t)labels, count)) {
		export->err = -ENOMEM;
		return NULL;
	}
	export->families[family].count++;
	export->families[family].series[count] = (struct series){ .labels = labels };
	return &export->families[family].series[count];
}

/* NULL: none, or a gauge of which a later recording has said something. */
static struct series *begin_value(struct openmetrics *export, enum family family)
{
	struct series *series = find_series(export, family);
	const bool is_gauge = !strcmp(families[family].type, "gauge");

	if (!series || (is_gauge && export->ts_ns < series->ts_ns))
		return NULL;
	if (is_gauge && series->recording != export->recording)
		series->value = 0;
	series->recording = export->recording;
	if (export->ts_ns > series->ts_ns)
		series->ts_ns = export->ts_ns;
	return series;
}

static void add(struct openmetrics *export, enum family family, uint64_t value)
{
	struct series *series = begin_value(export, family);

	if (series)
		series->value += value;
}

static void highest(struct openmetrics *export, enum family family, uint64_t value)
{
	struct series *series = begin_value(export, family);

	if (series && value > series->value)
		series->value = value;
}

/* ---- devices --------------------------------------------------------------------------------- */

static void put_text(struct openmetrics *export, const char *name, struct string *text)
{
	string_append_char(text, '\0');
	if (text->failed)
		export->err = -ENOMEM;
	else
		put_label(export, name, text->bytes);
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
		put_text(export, "uuid", &text);
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
		put_label(export, "kind", kind);
		add(export, FAMILY_ALLOCS, total->allocs);
		put_label(export, "kind", kind);
		add(export, FAMILY_ALLOC_BYTES, total->alloc_bytes);
		if (process->entries_only)
			continue; /* what was freed is not known, nor what is live */
		put_label(export, "kind", kind);
		add(export, FAMILY_FREES, total->frees);
		put_label(export, "kind", kind);
		add(export, FAMILY_FREE_BYTES, total->free_bytes);
		put_label(export, "kind", kind);
		highest(export, FAMILY_PEAK, total->peak_bytes);
	}
}

static void add_copies(struct openmetrics *export, const struct process *process)
{
	uint32_t i;

	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		const char *direction = i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : NULL;

		if (!process->copies[i].count)
			continue;
		put_label(export, "direction", direction);
		add(export, FAMILY_COPIES, process->copies[i].count);
		put_label(export, "direction", direction);
		add(export, FAMILY_COPY_BYTES, process->copies[i].bytes);
	}
}

static void add_calls(struct openmetrics *export, const struct process *process)
{
	const uint32_t captured = export->recording->coverage.captured_ops;
	size_t i;

	if (captured >> MS_OP_COPY & 1)
		add_copies(export, process);
	if (captured >> MS_OP_MEMSET & 1)
		add(export, FAMILY_MEMSETS, process->memsets.count);
	if (captured >> MS_OP_LAUNCH & 1)
		add(export, FAMILY_LAUNCHES, process->launches);
	if (export->recording->coverage.graph_launches)
		add(export, FAMILY_GRAPH_LAUNCHES, process->graph_launches);
	if (captured >> MS_OP_SYNC & 1) {
		add(export, FAMILY_SYNCS, process->syncs.count);
		if (!process->entries_only)
			add(export, FAMILY_SYNC_SECONDS, process->syncs.duration_ns);
	}
	for (i = 0; i < process->failures_count; i++) {
		const struct failure *failure = &process->failures[i];
		const struct probe *probe = probe_at(failure->row);

		put_label(export, "api", probe->symbol);
		put_label(export, "error", probe_result_name(probe->layer, failure->result));
		add(export, FAMILY_FAILURES, failure->count);
	}
	if (process->counters[COUNTER_OTHER_FAILURES]) {
		put_label(export, "api", "(others)");
		add(export, FAMILY_FAILURES, process->counters[COUNTER_OTHER_FAILURES]);
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
	size_t i;

	for (i = 0; i < sizeof(labels) / sizeof(*labels); i++)
		if (identity->items[labels[i].item])
			put_label(export, labels[i].label, identity->items[labels[i].item]);
}

/* `comm` NULL: all processes. */
static void begin_labels(struct openmetrics *export, const char *comm, uint32_t pid)
{
	char name[MS_COMM_BYTES + 1] = "";

	string_clear(&export->labels);
	put_label(export, "hostname", export->recording->coverage.host);
	if (comm)
		memcpy(name, comm, strnlen(comm, MS_COMM_BYTES));
	put_label(export, "comm", name);
	if (pid && export->label_pid)
		string_append_format(&export->labels, "%spid=\"%u\"",
				     export->labels.length ? "," : "", pid);
	export->own_labels = export->labels.length;
}

/* Whether any of several processes is. */
static void add_inexact(struct openmetrics *export, const struct process *process)
{
	highest(export, FAMILY_INEXACT,
		!export->recording->coverage.has_beginning ||
			report_process_is_inexact(export->recording, process));
}

static void add_process(struct openmetrics *export, const struct report_process *shown)
{
	const struct usage_totals *totals = export->recording->state->usage;
	const struct process *process = shown->process;
	size_t i;

	begin_labels(export, process->comm, process->pid);
	put_process_identity(export, &process->identity.known);
	export->own_labels = export->labels.length;
	add_inexact(export, process);
	add_spaces(export, process);
	add_calls(export, process);
	for (i = 0; !process->entries_only && i < shown->cells_count; i++) {
		const struct usage_cell *cell = &shown->cells[i];
		size_t family;

		for (family = FAMILY_LIVE; family <= FAMILY_LIVE_COUNT; family++) {
			put_identity(export, cell->device,
				     usage_device_place(totals, &process->devices, cell->device));
			put_label(export, "kind", probe_space_name(cell->space));
			put_label(export, "api", probe_at(cell->row)->symbol);
			add(export, (enum family)family,
			    family == FAMILY_LIVE ? cell->live_bytes : cell->live_count);
		}
	}
}

/* ---- recordings ------------------------------------------------------------------------------ */

static void add_device(struct openmetrics *export, const struct report_device *device)
{
	const struct report_told *told = device->told;

	put_identity(export, device->device, device->row);
	add(export, FAMILY_GPU_EXPLAINED, device->live_bytes);
	put_identity(export, device->device, device->row);
	highest(export, FAMILY_GPU_PEAK, device->peak_bytes);
	if (!told)
		return;
	put_identity(export, device->device, device->row);
	highest(export, FAMILY_GPU_TOTAL, told->total_bytes);
	put_identity(export, device->device, device->row);
	highest(export, FAMILY_GPU_USED, report_told_used(told));
}

static void add_lost(struct openmetrics *export, const char *stage, uint64_t count)
{
	put_label(export, "stage", stage);
	add(export, FAMILY_EVENTS_LOST, count);
}

static void add_coverage(struct openmetrics *export, const struct report_coverage *coverage)
{
	const struct losses losses = losses_of(&coverage->counters);
	char number[STRING_NUMBER_BYTES + 2];

	snprintf(number, sizeof(number), "0x%llx", (unsigned long long)coverage->account.recording);
	add(export, FAMILY_RECORDING_EVENTS, coverage->account.calls);
	add_lost(export, "ring", losses_count(&losses) - losses.untracked);
	add_lost(export, "untracked", losses.untracked);
	add_lost(export, "disk", coverage->unwritten_records);
	add_lost(export, "decode", coverage->account.refused + coverage->account.unknown_records);
	if (coverage->missed_known)
		add(export, FAMILY_MISSED_PROCESSES, coverage->missed_processes);
	put_label(export, "recording", number);
	put_label(export, "kernel", coverage->kernel);
	put_label(export, "version", coverage->version);
	highest(export, FAMILY_RECORDING_INFO, 1);
}

static void add_finding(struct openmetrics *export, const struct finding *finding)
{
	begin_labels(export, finding->comm, finding->pid);
	put_label(export, "rule", finding_rule_name(finding->rule));
	put_label(export, "confidence", report_confidence_name(finding->confidence));
	add(export, FAMILY_FINDINGS, 1);
	if (finding_topic_of(finding->rule) != FINDING_TOPIC_LEAK)
		return;
	put_label(export, "rule", finding_rule_name(finding->rule));
	add(export, FAMILY_LEAKS, finding->bytes);
}

static void add_recording(struct openmetrics *export, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	const struct state *state = recording->state;
	size_t i;

	export->recording = recording;
	export->ts_ns =
		coverage->wall_known ? coverage->wall_offset_ns + report_end_ns(recording) : 0;
	begin_labels(export, NULL, 0);
	add_coverage(export, coverage);
	for (i = 0; i < recording->devices_count; i++)
		add_device(export, &recording->devices[i]);
	for (i = 0; i < recording->processes_count; i++)
		add_process(export, &recording->processes[i]);
	if (state->more_count && !report_selects(&recording->options)) {
		begin_labels(export, "(others)", 0);
		add_inexact(export, state->more);
		add_spaces(export, state->more);
		add_calls(export, state->more);
	}
	for (i = 0; i < recording->findings_count; i++)
		add_finding(export, recording->findings[i].finding);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_series(struct string *out, enum family family, const struct series *series)
{
	const char *suffix = strcmp(families[family].type, "counter") ? "" : "_total";

	string_append_format(out, "%s%s", families[family].name, suffix);
	if (*series->labels)
		string_append_format(out, "{%s}", series->labels);
	if (!strcmp(families[family].unit, "seconds"))
		string_append_format(out, " %llu.%09llu",
				     (unsigned long long)series->value / 1000000000,
				     (unsigned long long)series->value % 1000000000);
	else
		string_append_format(out, " %llu", (unsigned long long)series->value);
	/* Whole seconds, rounded up: nothing is said of a time before it was true. */
	if (series->ts_ns)
		string_append_format(out, " %llu",
				     (unsigned long long)(series->ts_ns + 999999999) / 1000000000);
}

static int write_family(struct openmetrics *export, enum family family)
{
	struct string *out = &export->writer->text;
	size_t i;
	int err = 0;

	if (!export->families[family].count)
		return 0;
	string_append_format(out, "# TYPE %s %s\n", families[family].name, families[family].type);
	if (*families[family].unit)
		string_append_format(out, "# UNIT %s %s\n", families[family].name,
				     families[family].unit);
	string_append_format(out, "# HELP %s %s.\n", families[family].name, families[family].help);
	for (i = 0; !err && i < export->families[family].count; i++) {
		put_series(out, family, &export->families[family].series[i]);
		err = writer_end_line(export->writer);
	}
	return err;
}

/* ---------------------------------------------------------------------------------------------- */

static struct sink *begin_openmetrics(const struct export_options *options)
{
	struct openmetrics *export = calloc(1, sizeof(*export));

	if (!export) {
		log_error("not enough memory");
		return NULL;
	}
	export->writer = options->writer;
	export->label_pid = options->label_pid;
	return &export->sink;
}

static int finish_openmetrics(struct sink *sink, const struct report *report)
{
	struct openmetrics *export = (struct openmetrics *)sink;
	size_t i;
	int err;

	for (i = 0; i < report->count; i++)
		add_recording(export, report->recordings[i]);
	err = export->err;
	if (err)
		log_error("not enough memory");
	for (i = 0; !err && i < FAMILIES_COUNT; i++)
		err = write_family(export, (enum family)i);
	if (err)
		return err;
	string_append_text(&export->writer->text, "# EOF");
	return writer_end_line(export->writer);
}

static void free_openmetrics(struct sink *sink)
{
	struct openmetrics *export = (struct openmetrics *)sink;
	size_t i;

	for (i = 0; i < FAMILIES_COUNT; i++) {
		free(export->families[i].series);
		map_fini(&export->families[i].places);
	}
	string_table_fini(&export->strings);
	string_fini(&export->labels);
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
