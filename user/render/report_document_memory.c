// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pools, and the largest blocks.
 */
#include "render/report_document.h"

#include <stdlib.h>

#include "report/alike.h"
#include "render/report_device_words.h"
#include "render/report_notes.h"
#include "render/report_nvml.h"
#include "render/report_xids.h"
#include "render/report_words.h"

/* ---- pools ----------------------------------------------------------------------------------- */

static void list_pool(struct document *document, const struct report_recording *recording,
		      const struct process *process, const struct view *view)
{
	uint64_t slack = 0;
	const bool known = report_slack(view, &slack);

	document_row(document);
	document_cell_address(document, view->handle);
	document_cell_process(document, process);
	document_cell_size(document, view->has_total, view->total_bytes);
	document_cell_size(document, view->has_free, view->free_bytes);
	document_cell_size(document, known, slack);
	document_cell_time(document, recording, view->ts_ns);
	document_row_end(document);
}

static void list_pools(struct document *document, const struct report_recording *recording)
{
	static const struct document_column columns[] = {
		{ "Pool", DOCUMENT_ADDRESS },
		{ "Process", DOCUMENT_TEXT },
		{ "Reserved", DOCUMENT_NUMBER },
		{ "In use", DOCUMENT_NUMBER },
		{ "Slack", DOCUMENT_NUMBER },
		{ "Reported at", DOCUMENT_VALUE },
		{ 0 },
	};
	size_t i, j;

	document_table(document, "pools", "Pools, as the driver reported them", columns);
	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;

		for (j = 0; j < process->views_count; j++)
			if (process->views[j].is_pool)
				list_pool(document, recording, process, &process->views[j]);
	}
	document_table_end(document);
}

void report_document_all_devices(struct document *document,
				 const struct report_recording *recording)
{
	if (report_device_numbers_are_own(recording))
		document_say(document, report_device_numbers);
	report_nvml_devices(document, recording);
	report_xids(document, recording);
	list_pools(document, recording);
}

/* ---- the largest blocks ---------------------------------------------------------------------- */

struct holding {
	const struct process *process;
	const struct allocation *allocation;
};

static int compare_holdings(const void *one, const void *other)
{
	const struct allocation *a = ((const struct holding *)one)->allocation;
	const struct allocation *b = ((const struct holding *)other)->allocation;

	if (a->size_bytes != b->size_bytes)
		return a->size_bytes < b->size_bytes ? 1 : -1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Those of all processes, the largest first; NULL without memory. */
static struct holding *holdings_of(const struct report_recording *recording, size_t *count)
{
	struct holding *holdings;
	size_t i, j;

	*count = 0;
	for (i = 0; i < recording->processes_count; i++)
		*count += recording->processes[i].largest_count;
	holdings = calloc(*count + 1, sizeof(*holdings));
	if (!holdings)
		return NULL;
	*count = 0;
	for (i = 0; i < recording->processes_count; i++)
		for (j = 0; j < recording->processes[i].largest_count; j++)
			holdings[(*count)++] =
				(struct holding){ recording->processes[i].process,
						  &recording->processes[i].largest[j] };
	qsort(holdings, *count, sizeof(*holdings), compare_holdings);
	return holdings;
}

static void list_holding(struct document *document, const struct report_recording *recording,
			 const struct holding *holding)
{
	const struct allocation *allocation = holding->allocation;
	const uint64_t now_ns = report_held_ns(recording, holding->process);

	document_row(document);
	document_cell_size(document, allocation->size_known, allocation->size_bytes);
	document_cell_process(document, holding->process);
	document_cell_words(document, probe_at(allocation->row)->symbol);
	document_cell_words(document, probe_space_name(allocation->space));
	document_cell_device(document, allocation->device);
	document_cell_address(document, allocation->addr);
	if (document->format->browsable)
		document_cell_time(document, recording, allocation->ts_ns);
	document_cell_duration(document, true, report_age_ns(allocation, now_ns));
	document_row_end(document);
}

static void list_alike(struct document *document, const struct report_recording *recording,
		       const struct alike *alike)
{
	const struct alike_group *group = &alike->group;
	const struct allocation *allocation = &group->one;
	const uint64_t now_ns = report_held_ns(recording, alike->process);
	char count[STRING_NUMBER_BYTES], size[STRING_NUMBER_BYTES];

	document_row(document);
	string_append_format(&document->text, "%s%s x %s", string_count(count, group->count),
			     group->at_least ? "+" : "",
			     allocation->size_known ? string_size(size, allocation->size_bytes) :
						      "?");
	document_cell(document);
	document_cell_size(document, allocation->size_known, group->bytes);
	document_cell_process(document, alike->process);
	document_cell_words(document, probe_at(allocation->row)->symbol);
	document_cell_words(document, probe_space_name(allocation->space));
	document_cell_device(document, allocation->device);
	document_cell_duration(document, true, now_ns - allocation->ts_ns);
	document_cell_duration(document, true, now_ns - group->newest_ts_ns);
	document_row_end(document);
}

static void put_alike(struct document *document, const struct report_recording *recording)
{
	static const struct document_column columns[] = {
		{ "Blocks", DOCUMENT_TEXT },
		{ "Bytes", DOCUMENT_NUMBER },
		{ "Process", DOCUMENT_TEXT },
		{ "Allocated by", DOCUMENT_TEXT },
		{ "Space", DOCUMENT_TEXT },
		{ "Device", DOCUMENT_NUMBER },
		{ "Oldest", DOCUMENT_NUMBER },
		{ "Newest", DOCUMENT_NUMBER },
		{ 0 },
	};
	size_t count = 0, i;
	struct alike *alike = alike_find(recording, &count);

	document->failed |= !alike;
	if (alike && count) {
		string_append_text(&document->text,
				   "Live allocations, those that are alike together, at the end or"
				   " at their process's exit (--blocks lists each):");
		document_title(document);
	}
	document_table(document, "alike", "Live allocations, those that are alike together",
		       columns);
	for (i = 0; alike && i < count && i < document->top; i++)
		list_alike(document, recording, &alike[i]);
	document_table_end(document);
	free(alike);
}

static void put_largest(struct document *document, const struct report_recording *recording)
{
	/* When it was allocated is for those who have room. */
	const bool has_time = document->format->browsable;
	const struct document_column columns[] = {
		{ "Size", DOCUMENT_NUMBER },
		{ "Process", DOCUMENT_TEXT },
		{ "Allocated by", DOCUMENT_TEXT },
		{ "Space", DOCUMENT_TEXT },
		{ "Device", DOCUMENT_NUMBER },
		{ "Address", DOCUMENT_NUMBER | DOCUMENT_ADDRESS },
		{ has_time ? "At" : "Age", DOCUMENT_NUMBER },
		{ has_time ? "Age" : NULL, DOCUMENT_NUMBER },
		{ 0 },
	};
	size_t count, i;
	struct holding *holdings = holdings_of(recording, &count);

	document->failed |= !holdings;
	if (holdings && count) {
		string_append_text(&document->text, "Largest live allocations, at the end or at"
						    " their process's exit:");
		document_title(document);
	}
	document_table(document, "largest",
		       "Largest live allocations of each process, at the end or at its exit",
		       columns);
	for (i = 0; holdings && i < count && i < document->top; i++)
		list_holding(document, recording, &holdings[i]);
	document_table_end(document);
	free(holdings);
}

/* A page has room for both. */
void report_document_largest(struct document *document, const struct report_recording *recording)
{
	const bool both = document->format->browsable;

	if (both || !recording->options.blocks)
		put_alike(document, recording);
	if (both || recording->options.blocks)
		put_largest(document, recording);
}
