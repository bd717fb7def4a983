// SPDX-License-Identifier: BSD-2-Clause
#include "render/summary_tensors.h"

#include <stdio.h>

#include "event/framework.h"
#include "render/summary_table.h"

#define UNKNOWN "?"

static const char *size_text(const struct summary_sizes *sizes, char out[STRING_NUMBER_BYTES],
			     uint64_t bytes)
{
	if (!sizes->exact)
		return string_size(out, bytes);
	snprintf(out, STRING_NUMBER_BYTES, "%llu", (unsigned long long)bytes);
	return out;
}

static const char *device_text(char out[STRING_NUMBER_BYTES], const struct tensor_device *device)
{
	return device->device < 0 ? UNKNOWN : string_count(out, (uint64_t)device->device);
}

/* The most that a request could get without more from the driver; "?" if not all is known. */
static const char *piece_text(const struct process *process, const struct tensor_device *device,
			      char out[STRING_NUMBER_BYTES], const struct summary_sizes *sizes)
{
	const struct tensor_segments *at;
	struct tensor_segments now;

	at = sizes->sum ? NULL : tensors_moment(process, device, TENSOR_AT_END, &now);
	if (!at || !tensor_segments_are_complete(at))
		return UNKNOWN;
	return size_text(sizes, out,
			 at->largest_piece > at->largest_empty ? at->largest_piece :
								 at->largest_empty);
}

static void append_device(const struct summary_table *table, const struct process *process,
			  const struct tensor_device *device, const struct summary_sizes *sizes)
{
	char number[STRING_NUMBER_BYTES], allocated[STRING_NUMBER_BYTES];
	char cached[STRING_NUMBER_BYTES], reserved[STRING_NUMBER_BYTES];
	char piece[STRING_NUMBER_BYTES], retries[STRING_NUMBER_BYTES];
	char failures[STRING_NUMBER_BYTES];

	summary_table_row(
		table,
		(const char *[]){ framework_name(device->framework), device_text(number, device),
				  size_text(sizes, allocated, device->allocated),
				  size_text(sizes, cached, device->reserved - device->allocated),
				  size_text(sizes, reserved, device->reserved),
				  piece_text(process, device, piece, sizes),
				  string_count(retries, device->retries),
				  string_count(failures, device->out_of_memory) });
}

void summary_tensors_append(struct string *out, const struct process *process, size_t width,
			    const struct summary_sizes *sizes)
{
	static const struct summary_column columns[] = {
		{ "TENSORS OF", -10, 0 }, { "DEVICE", 6, 0 },         { "ALLOCATED", 13, 0 },
		{ "CACHED", 13, 0 },      { "RESERVED", 13, 2 },      { "LARGEST FREE", 13, 3 },
		{ "RETRIES", 8, 1 },      { "OUT OF MEMORY", 13, 0 }, { 0 },
	};
	struct summary_table table;
	size_t i;

	if (!process->tensors.devices_count)
		return;
	string_append_char(out, '\n');
	summary_table_begin(&table, out, width, columns);
	for (i = 0; i < process->tensors.devices_count; i++)
		append_device(&table, process, &process->tensors.devices[i], sizes);
	if (!tensors_are_exact(&process->tensors))
		string_append_text(out, "  not exact: records of blocks were lost, or cannot be"
					" true\n");
}
