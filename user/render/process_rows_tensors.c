// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the allocators of frameworks have given to processes, and how that lies in their segments;
 * and what NCCL was asked to do.
 */
#include <inttypes.h>
#include <stdio.h>

#include "event/framework.h"
#include "event/nccl.h"
#include "render/process_rows.h"
#include "render/report_document.h"

static void list_tensors(const struct process_rows *rows, const struct tensor_device *device)
{
	struct document *document = rows->document;
	uint64_t rest = 0;
	const bool has_rest = tensors_rest(rows->process, &rest);

	document_cell_words(document, framework_name(device->framework));
	document_cell_device(document, device->device);
	document_cell_size(document, true, device->allocated);
	document_cell_size(document, true, device->reserved - device->allocated);
	document_cell_size(document, has_rest, rest);
	document_cell_size(document, true, device->peak_allocated.bytes);
	document_cell_size(document, true, device->peak_reserved.bytes);
	document_cell_count(document, true, device->allocs);
	document_cell_count(document, true, device->retries);
	document_cell_count(document, true, device->out_of_memory);
	document_cell_words(document, tensors_are_exact(&rows->process->tensors) ? "yes" : "no");
	document_row_end(document);
}

void process_rows_tensors(const struct process_rows *rows)
{
	const struct tensors *tensors = &rows->process->tensors;
	size_t i;

	for (i = 0; i < tensors->devices_count; i++)
		if (process_rows_begin(rows))
			list_tensors(rows, &tensors->devices[i]);
}

/* ---- segments -------------------------------------------------------------------------------- */

typedef void moment_fn(const struct process_rows *rows, const struct tensor_device *device,
		       enum tensor_moment moment, const struct tensor_segments *at);

/* Calls it for each moment that there was. */
static void for_moments(const struct process_rows *rows, moment_fn *show)
{
	const struct tensors *tensors = &rows->process->tensors;
	const struct tensor_segments *at;
	struct tensor_segments now;
	enum tensor_moment moment;
	size_t i;

	for (i = 0; i < tensors->devices_count; i++)
		for (moment = 0; moment < TENSOR_MOMENTS_COUNT; moment++) {
			at = tensors_moment(rows->process, &tensors->devices[i], moment, &now);
			if (at)
				show(rows, &tensors->devices[i], moment, at);
		}
}

/* The same for the one that says most of what went wrong: they come in that order. */
static void for_first_moment(const struct process_rows *rows, moment_fn *show)
{
	const struct tensors *tensors = &rows->process->tensors;
	const struct tensor_segments *at;
	struct tensor_segments now;
	enum tensor_moment moment;
	size_t i;

	for (i = 0; i < tensors->devices_count; i++)
		for (moment = 0; moment < TENSOR_MOMENTS_COUNT; moment++) {
			at = tensors_moment(rows->process, &tensors->devices[i], moment, &now);
			if (!at)
				continue;
			show(rows, &tensors->devices[i], moment, at);
			break;
		}
}

static void begin_row(const struct process_rows *rows, const struct tensor_device *device,
		      enum tensor_moment moment)
{
	document_cell_words(rows->document, tensor_moment_words(moment));
	document_cell_device(rows->document, device->device);
}

static void list_segments(const struct process_rows *rows, const struct tensor_device *device,
			  enum tensor_moment moment, const struct tensor_segments *at)
{
	struct document *document = rows->document;

	if (!process_rows_begin(rows))
		return;
	begin_row(rows, device, moment);
	if (at->ts_ns)
		document_cell_time(document, rows->recording, at->ts_ns);
	else
		document_cell_absent(document);
	if (at->wanted_bytes)
		document_cell_size(document, true, at->wanted_bytes);
	else
		document_cell_absent(document);
	document_cell_size(document, true, at->reserved);
	document_cell_size(document, true, at->allocated);
	document_cell_size(document, true, tensor_segments_stuck(at));
	document_cell_size(document, at->count > 0, at->largest_piece);
	document_cell_size(document, true, at->empty_bytes);
	document_cell_count(document, true, at->count);
	document_cell_count(document, true, at->sparse);
	document_cell_size(document, true, at->sparse_bytes);
	document_cell_count(document, true, at->pins_blocks);
	document_cell_words(document, tensor_segments_are_complete(at) ? "yes" : "no");
	document_row_end(document);
}

void process_rows_segments(const struct process_rows *rows)
{
	for_moments(rows, list_segments);
}

static void cell_stack(const struct process_rows *rows, uint32_t id)
{
	const struct stacks *stacks = &rows->recording->state->stacks;
	const struct stack *stack = stacks_find(stacks, id);

	if (stack)
		report_document_cell_stack(rows->document, stacks, stack);
	else
		document_cell_absent(rows->document);
}

static void list_pins(const struct process_rows *rows, const struct tensor_device *device,
		      enum tensor_moment moment, const struct tensor_segments *at)
{
	struct document *document = rows->document;
	size_t i;

	for (i = 0; i < at->pins_count; i++) {
		if (!process_rows_begin(rows))
			continue;
		begin_row(rows, device, moment);
		document_cell_size(document, true, at->pins[i].block_bytes);
		document_cell_count(document, true, at->pins[i].blocks);
		document_cell_count(document, true, at->pins[i].segments);
		cell_stack(rows, at->pins[i].stack);
		document_row_end(document);
	}
}

void process_rows_pins(const struct process_rows *rows)
{
	for_first_moment(rows, list_pins);
}

static void list_pieces(const struct process_rows *rows, const struct tensor_device *device,
			enum tensor_moment moment, const struct tensor_segments *at)
{
	struct document *document = rows->document;
	size_t i;

	for (i = TENSOR_CLASSES; i-- > 0;) {
		if (!at->classes[i].count || !process_rows_begin(rows))
			continue;
		begin_row(rows, device, moment);
		document_cell_size(document, true, 1ull << i);
		document_cell_count(document, true, at->classes[i].count);
		document_cell_size(document, true, at->classes[i].bytes);
		document_row_end(document);
	}
}

void process_rows_pieces(const struct process_rows *rows)
{
	for_first_moment(rows, list_pieces);
}

static void list_sites(const struct process_rows *rows, const struct tensor_device *device,
		       enum tensor_moment moment, const struct tensor_segments *at)
{
	const struct stacks *stacks = &rows->recording->state->stacks;
	struct document *document = rows->document;
	size_t i;

	for (i = 0; i < at->sites_count; i++) {
		const struct stack *stack = stacks_find(stacks, at->sites[i].stack);

		if (!stack || !process_rows_begin(rows))
			continue;
		begin_row(rows, device, moment);
		document_cell_count(document, true, at->sites[i].segments);
		document_cell_size(document, true, at->sites[i].bytes);
		report_document_cell_stack(document, stacks, stack);
		document_row_end(document);
	}
}

void process_rows_segment_sites(const struct process_rows *rows)
{
	for_first_moment(rows, list_sites);
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

static void list_communicator(const struct process_rows *rows,
			      const struct nccl_communicator *communicator)
{
	const struct nccl_calls moves = nccl_moves(communicator);
	const struct nccl_calls all = nccl_all_calls(communicator);
	struct document *document = rows->document;
	char rank[48] = "";

	if (communicator->handle)
		document_cell_address(document, communicator->handle);
	else
		document_cell_words(document, "not known");
	if (communicator->rank != UINT32_MAX)
		snprintf(rank, sizeof(rank), "%" PRIu32 " of %" PRIu64, communicator->rank,
			 communicator->ranks);
	else if (communicator->ranks)
		snprintf(rank, sizeof(rank), "of %" PRIu64, communicator->ranks);
	if (*rank)
		document_cell_text(document, rank);
	else
		document_cell_absent(document);
	document_cell_count(document, true, moves.count);
	document_cell_size(document, true, moves.bytes);
	document_cell_duration(document, true, all.duration_ns);
	document_cell_count(document, true, all.failed);
	document_cell_size(document, true, communicator->device.bytes);
	document_cell_size(document, true, communicator->device.peak_bytes);
	document_cell_size(document, true, communicator->host.bytes);
	if (communicator->ended_ns)
		document_cell_time(document, rows->recording, communicator->ended_ns);
	else
		document_cell_absent(document);
	document_row_end(document);
}

/* Those that found no place: their calls, of any kind, and nothing else. */
static void list_others(const struct process_rows *rows, uint64_t calls)
{
	struct document *document = rows->document;
	int i;

	document_cell_words(document, "(others)");
	document_cell_absent(document);
	document_cell_count(document, true, calls);
	for (i = 0; i < 7; i++)
		document_cell_absent(document);
	document_row_end(document);
}

void process_rows_communicators(const struct process_rows *rows)
{
	const struct nccl *nccl = &rows->process->nccl;
	size_t i;

	/* First: of many rows, only the first ones may be shown. */
	if (nccl->others && process_rows_begin(rows))
		list_others(rows, nccl->others);
	for (i = 0; i < nccl->count; i++)
		if (process_rows_begin(rows))
			list_communicator(rows, &nccl->list[i]);
}

void process_rows_nccl_calls(const struct process_rows *rows)
{
	const struct nccl *nccl = &rows->process->nccl;
	struct document *document = rows->document;
	size_t i, j;

	for (i = 0; i < nccl->count; i++)
		for (j = 0; j < MS_NCCL_FUNCTIONS_COUNT; j++) {
			const struct nccl_calls *calls = &nccl->list[i].calls[j];

			if (!calls->count || !process_rows_begin(rows))
				continue;
			document_cell_words(document, nccl_function_name((uint32_t)j));
			if (nccl->list[i].handle)
				document_cell_address(document, nccl->list[i].handle);
			else
				document_cell_absent(document);
			document_cell_count(document, true, calls->count);
			document_cell_count(document, true, calls->failed);
			document_cell_size(document, nccl_function_about((uint32_t)j) == NCCL_MOVES,
					   calls->bytes);
			document_cell_duration(document, true, calls->duration_ns);
			document_row_end(document);
		}
}
