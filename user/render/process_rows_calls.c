// SPDX-License-Identifier: BSD-2-Clause
/*
 * What processes called.
 */
#include "render/process_rows.h"

#include <stdlib.h>

#include "ledger/call_splits.h"
#include "ledger/call_times.h"
#include "render/report_words.h"

static void cell_percentile(struct document *document, const struct call_times *times,
			    unsigned int percent)
{
	uint64_t ns = 0;
	const bool known = call_times_percentile(times, percent, &ns);

	document_cell_duration(document, known, ns);
}

static void list_function(const struct process_rows *rows, const struct call_times *times)
{
	struct document *document = rows->document;

	if (!process_rows_begin(rows))
		return;
	document_cell_words(document, probe_at(times->row)->symbol);
	document_cell_count(document, true, times->calls);
	document_cell_count(document, !rows->process->entries_only, times->failed);
	document_cell_duration(document, times->timed, times->total_ns);
	cell_percentile(document, times, 50);
	cell_percentile(document, times, 99);
	cell_percentile(document, times, 100);
	document_row_end(document);
}

void process_rows_functions(const struct process_rows *rows)
{
	const struct call_times **sorted = call_times_sorted(rows->process);
	size_t i;

	rows->document->text.failed |= !sorted;
	for (i = 0; sorted && i < rows->process->times_count; i++)
		list_function(rows, sorted[i]);
	free(sorted);
}

void process_rows_splits(const struct process_rows *rows)
{
	struct document *document = rows->document;
	uint32_t op;

	for (op = 0; op < MS_OPS_COUNT; op++) {
		const struct call_split *split = &rows->process->splits[op];

		if (!split->calls || !process_rows_begin(rows))
			continue;
		document_cell_words(document, probe_op_name(op));
		document_cell_count(document, true, split->calls);
		document_cell_duration(document, true, split->total_ns);
		document_cell_duration(document, true, call_splits_running_ns(split));
		document_cell_duration(document, true, split->blocked_ns);
		document_cell_duration(document, true, split->runnable_ns);
		document_row_end(document);
	}
}

void process_rows_failures(const struct process_rows *rows)
{
	struct document *document = rows->document;
	size_t i;

	for (i = 0; i < rows->process->failures_count; i++) {
		const struct failure *failure = &rows->process->failures[i];
		const struct probe *probe = probe_at(failure->row);
		const char *name = probe_result_name(probe->layer, failure->result);

		if (!process_rows_begin(rows))
			continue;
		document_cell_count(document, true, failure->count);
		document_cell_words(document, probe->symbol);
		string_append_format(&document->text, "%s (%d)", name ? name : "unknown",
				     failure->result);
		document_cell(document);
		document_row_end(document);
	}
}

static int compare_kernels(const void *one, const void *other)
{
	const struct kernel *a = *(const struct kernel *const *)one;
	const struct kernel *b = *(const struct kernel *const *)other;

	return (a->launches < b->launches) - (a->launches > b->launches);
}

static void list_kernel(const struct process_rows *rows, const struct kernel *kernel)
{
	struct document *document = rows->document;

	if (!process_rows_begin(rows))
		return;
	if (kernel->name)
		document_cell_text(document, kernel->name);
	else
		document_cell_address(document, kernel->handle);
	document_cell_count(document, true, kernel->launches);
	document_row_end(document);
}

void process_rows_kernels(const struct process_rows *rows)
{
	const struct process *process = rows->process;
	const struct kernel **kernels = calloc(process->kernels_count + 1, sizeof(*kernels));
	size_t i;

	rows->document->failed |= !kernels;
	if (!kernels)
		return;
	for (i = 0; i < process->kernels_count; i++)
		kernels[i] = &process->kernels[i];
	qsort(kernels, process->kernels_count, sizeof(*kernels), compare_kernels);
	for (i = 0; i < process->kernels_count; i++)
		list_kernel(rows, kernels[i]);
	free(kernels);
}

void process_rows_copies(const struct process_rows *rows)
{
	struct document *document = rows->document;
	size_t i;

	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		const struct call_total *total = &rows->process->copies[i];

		if (!total->count || !process_rows_begin(rows))
			continue;
		document_cell_text(document,
				   i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : NULL);
		document_cell_count(document, true, total->count);
		document_cell_size(document, true, total->bytes);
		document_cell_count(document, true, total->unknown_bytes);
		document_cell_duration(document, !rows->process->entries_only, total->duration_ns);
		document_row_end(document);
	}
}

void process_rows_waits(const struct process_rows *rows)
{
	const struct report_coverage *coverage = &rows->recording->coverage;
	const bool launches = coverage->captured_ops >> MS_OP_LAUNCH & 1;
	const bool memsets = coverage->captured_ops >> MS_OP_MEMSET & 1;
	const bool syncs = coverage->captured_ops >> MS_OP_SYNC & 1;
	const struct process *process = rows->process;
	struct document *document = rows->document;

	if (!process->calls[MS_OP_LAUNCH] && !process->calls[MS_OP_SYNC] &&
	    !process->calls[MS_OP_MEMSET])
		return;
	if (!process_rows_begin(rows))
		return;
	document_cell_count(document, launches, process->launches);
	document_cell_count(document, coverage->graph_launches, process->graph_launches);
	document_cell_count(document, memsets, process->memsets.count);
	document_cell_count(document, syncs, process->syncs.count);
	document_cell_duration(document, syncs && !process->entries_only,
			       process->syncs.duration_ns);
	document_row_end(document);
}
