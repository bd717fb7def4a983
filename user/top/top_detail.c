// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_detail.h"

#include <string.h>

#include "event/probe.h"
#include "ledger/usage.h"
#include "render/field.h"
#include "render/identity_words.h"
#include "render/report_nvml.h"
#include "render/stack_words.h"
#include "top/top_best.h"

#define SITES_OF_ALL 20 /* as many as an agent sends of one process */

const char *top_detail_tab_name(enum top_tab tab)
{
	static const char *const names[] = { "Spaces", "Call sites", "Largest blocks" };

	return names[tab];
}

void top_detail_who(struct document *document, const struct process *process)
{
	identity_words_process(&document->text, process);
	identity_words_append(&document->text, process, ": ");
	document_paragraph(document);
}

/* ---- spaces ---------------------------------------------------------------------------------- */

static void append_space(struct document *document, const struct process *process, uint32_t space)
{
	const struct space_total *total = &process->spaces[space];
	const bool known = !process->entries_only;

	document_row(document);
	document_cell_words(document, probe_space_name(space));
	document_cell_size(document, known, total->live_bytes);
	document_cell_count(document, known, total->live_count);
	document_cell_size(document, known, total->peak_bytes);
	document_cell_count(document, true, total->allocs);
	document_cell_size(document, true, total->alloc_bytes);
	document_cell_count(document, known, total->frees);
	document_cell_count(document, known, total->implicit_frees);
	document_row_end(document);
}

static void append_nvml(struct document *document, const struct process *process)
{
	static const struct document_column columns[] = {
		{ "Held, as NVML says", DOCUMENT_TEXT },
		{ "Memory", DOCUMENT_NUMBER },
		{ 0 },
	};
	struct report_nvml_part parts[REPORT_NVML_PARTS_MAX];
	const size_t count = report_nvml_parts(process, parts);
	size_t i;

	document_table(document, "nvml", "What it holds, as NVML says", columns);
	for (i = 0; i < count; i++) {
		document_row(document);
		document_cell_words(document, parts[i].what);
		document_cell_size(document, true, parts[i].bytes);
		document_row_end(document);
	}
	document_table_end(document);
}

static void cell_limit(struct document *document, bool limited, uint64_t bytes)
{
	if (limited)
		document_cell_size(document, true, bytes);
	else
		document_cell_absent(document);
}

/* What all programs of its cgroup use, and may use. */
static void append_limits(struct document *document, const struct process *process, uint64_t now_ns)
{
	static const struct document_column columns[] = {
		{ "Its cgroup", DOCUMENT_TEXT },
		{ "Region", DOCUMENT_TEXT },
		{ "Used", DOCUMENT_NUMBER },
		{ "Limit", DOCUMENT_NUMBER },
		{ "Left", DOCUMENT_NUMBER },
		{ "Limit of", DOCUMENT_TEXT },
		{ 0 },
	};
	const size_t count = device_limits_count(&process->limits, now_ns);
	size_t i;

	document_table(document, "limits", "What its cgroup uses and may use", columns);
	for (i = 0; i < count; i++) {
		const struct ms_limit *limit = &process->limits.list[i];
		const bool limited = limit->known & MS_LIMIT_MEMORY;

		document_row(document);
		document_cell_text(document, limit->path);
		document_cell_text(document, limit->region);
		document_cell_size(document, true, limit->used_bytes);
		cell_limit(document, limited, limit->limit_bytes);
		cell_limit(document, limited, device_limits_left(limit));
		if (limited)
			field_append_safe(&document->text, limit->path,
					  strnlen(limit->path, limit->limit_path_bytes));
		document_cell(document);
		document_row_end(document);
	}
	document_table_end(document);
}

static void append_spaces(struct document *document, const struct process *process, uint64_t now_ns)
{
	static const struct document_column columns[] = {
		{ "Space", DOCUMENT_TEXT },
		{ "Live", DOCUMENT_NUMBER },
		{ "Blocks", DOCUMENT_NUMBER },
		{ "Peak", DOCUMENT_NUMBER },
		{ "Allocs", DOCUMENT_NUMBER },
		{ "Allocated", DOCUMENT_NUMBER },
		{ "Frees", DOCUMENT_NUMBER },
		{ "Implicit", DOCUMENT_NUMBER },
		{ 0 },
	};
	uint32_t space;

	document_table(document, "spaces", "Memory by space", columns);
	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (process->spaces[space].allocs)
			append_space(document, process, space);
	document_table_end(document);
	if (!process->calls[MS_OP_ALLOC])
		document_say(document, "No allocation has been seen.");
	append_nvml(document, process);
	append_limits(document, process, now_ns);
}

/* ---- call sites ------------------------------------------------------------------------------ */

static void cell_chain(struct document *document, const struct stacks *stacks, uint32_t id)
{
	const struct stack *stack = stacks_find(stacks, id);
	struct string words = { 0 };

	if (stack)
		stack_words_append_chain(&words, stacks, stack);
	string_append_char(&words, '\0');
	document->failed |= words.failed;
	document_cell_text(document, stack && !words.failed ? words.bytes : NULL);
	string_fini(&words);
}

static void append_place(struct document *document, const struct usage_cell *cell)
{
	document_cell_words(document, probe_at(cell->row)->symbol);
	document_cell_words(document, probe_space_name(cell->space));
	document_cell_device(document, cell->device);
}

/* What it held when its space held most; a part that has not changed since holds that still. */
static void append_part_peak(struct document *document, const struct usage *usage,
			     const struct usage_cell *cell, const struct usage_part *part)
{
	const bool changed = part->peak == usage->spaces[cell->space].peak;

	document_cell_size(document, usage->spaces[cell->space].known,
			   changed ? part->peak_bytes : part->live_bytes);
}

static void say_unknown(struct document *document, bool unknown)
{
	if (unknown)
		document_say(document, "Device ?: the context of these calls was made before "
				       "memscope-bpf attached, or was not seen.");
}

/* `unsent`: so many more an agent has. */
static void append_left_out(struct document *document, const struct top_best *best, uint64_t unsent)
{
	if (!best->left_out && !unsent)
		return;
	string_append_format(&document->text, "%llu more are not shown.",
			     (unsigned long long)best->left_out + unsent);
	document_paragraph(document);
}

/* clang-format off */
#define SITE_COLUMNS \
	{ "Live", DOCUMENT_NUMBER }, { "Blocks", DOCUMENT_NUMBER }, { "Allocs", DOCUMENT_NUMBER }, \
	{ "Peak", DOCUMENT_NUMBER }, { "By", DOCUMENT_TEXT }, { "Space", DOCUMENT_TEXT }, \
	{ "Device", DOCUMENT_NUMBER }, { "Allocated in", DOCUMENT_TEXT }, { 0 }
/* clang-format on */

static void cells_site(struct document *document, const struct state *state,
		       const struct usage *usage, const struct usage_cell *cell,
		       const struct usage_part *part)
{
	document_cell_size(document, true, part->live_bytes);
	document_cell_count(document, true, part->live_count);
	document_cell_count(document, true, part->allocs);
	append_part_peak(document, usage, cell, part);
	append_place(document, cell);
	cell_chain(document, &state->stacks, part->stack);
}

static void append_stacks(struct document *document, const struct state *state,
			  const struct usage *usage, uint64_t unsent)
{
	static const struct document_column columns[] = { SITE_COLUMNS };
	struct top_best best = { 0 };
	bool unknown = false;
	size_t i;

	for (i = 0; i < usage->count; i++) {
		uint32_t at = usage->cells[i].parts;

		for (; at; at = usage->parts[at - 1].next)
			top_best_offer(&best, usage->parts[at - 1].live_bytes,
				       &usage->parts[at - 1], &usage->cells[i]);
	}
	top_best_sort(&best);
	document_table(document, "sites", "Memory by call stack", columns);
	for (i = 0; i < best.count; i++) {
		const struct usage_cell *cell = best.items[i].more;

		document_row(document);
		cells_site(document, state, usage, cell, best.items[i].thing);
		document_row_end(document);
		unknown |= cell->device < 0;
	}
	document_table_end(document);
	say_unknown(document, unknown);
	append_left_out(document, &best, unsent);
}

/* The one that has the part: few parts are asked about. */
static const struct usage_cell *cell_of(const struct usage *usage, const struct usage_part *part)
{
	size_t i;

	for (i = 0; i < usage->count; i++) {
		uint32_t at = usage->cells[i].parts;

		for (; at; at = usage->parts[at - 1].next)
			if (&usage->parts[at - 1] == part)
				return &usage->cells[i];
	}
	return NULL;
}

void top_detail_sites_of_all(struct document *document, const struct top *top)
{
	static const struct document_column columns[] = { { "Process", DOCUMENT_TEXT },
							  SITE_COLUMNS };
	struct top_best best = { 0 };
	bool unknown = false;
	size_t i, at;

	for (i = 0; i < top->rows_count; i++) {
		const struct process *process = top_process(top, &top->rows[i]);
		const struct usage *usage = process ? process->usage : NULL;

		for (at = 0; usage && at < usage->parts_count; at++)
			if (usage->parts[at].live_count)
				top_best_offer(&best, usage->parts[at].live_bytes,
					       &usage->parts[at], process);
	}
	top_best_sort(&best);
	if (!best.count) {
		document_say(document, "No memory whose call stack was seen is live.");
		return;
	}
	document_say(document, "The call stacks that hold most:");
	document_table(document, "sites", "The call stacks that hold most", columns);
	for (i = 0; i < best.count && i < SITES_OF_ALL; i++) {
		const struct process *process = best.items[i].more;
		const struct usage_cell *cell = cell_of(process->usage, best.items[i].thing);

		if (!cell)
			continue;
		document_row(document);
		document_cell_process(document, process);
		cells_site(document, top->sink.state, process->usage, cell, best.items[i].thing);
		document_row_end(document);
		unknown |= cell->device < 0;
	}
	document_table_end(document);
	say_unknown(document, unknown);
	best.left_out += best.count - i;
	append_left_out(document, &best, 0);
}

static void append_functions(struct document *document, const struct usage *usage, uint64_t unsent)
{
	static const struct document_column columns[] = {
		{ "Live", DOCUMENT_NUMBER },   { "Blocks", DOCUMENT_NUMBER },
		{ "Allocs", DOCUMENT_NUMBER }, { "Frees", DOCUMENT_NUMBER },
		{ "By", DOCUMENT_TEXT },       { "Space", DOCUMENT_TEXT },
		{ "Device", DOCUMENT_NUMBER }, { 0 },
	};
	struct top_best best = { 0 };
	bool unknown = false;
	size_t i;

	for (i = 0; i < usage->count; i++)
		top_best_offer(&best, usage->cells[i].live_bytes, &usage->cells[i], NULL);
	top_best_sort(&best);
	document_table(document, "functions", "Memory by function", columns);
	for (i = 0; i < best.count; i++) {
		const struct usage_cell *cell = best.items[i].thing;

		document_row(document);
		document_cell_size(document, true, cell->live_bytes);
		document_cell_count(document, true, cell->live_count);
		document_cell_count(document, true, cell->allocs);
		document_cell_count(document, true, cell->frees);
		append_place(document, cell);
		document_row_end(document);
		unknown |= cell->device < 0;
	}
	document_table_end(document);
	say_unknown(document, unknown);
	append_left_out(document, &best, unsent);
}

static void append_sites(struct document *document, const struct state *state,
			 const struct process *process, const struct top_status *status)
{
	if (status->sites_missing || (status->remote && process->entries_only)) {
		document_say(document, "The agent has not said where its memory is from.");
		return;
	}
	if (!process->usage || !process->usage->count) {
		document_say(document, "No allocation has been seen.");
		return;
	}
	if (process->usage->parts_count)
		append_stacks(document, state, process->usage, status->sites_left_out);
	else
		append_functions(document, process->usage, status->functions_left_out);
	if (status->remote && !process->usage->parts_count)
		document_say(document, "The agent has taken no call stack of its allocations.");
	else if (!status->remote && !status->stacks)
		document_say(document, "Call stacks are taken with --stacks=alloc.");
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void append_block(struct document *document, const struct state *state,
			 const struct allocation *block, const struct top_status *status)
{
	const uint64_t now_ns = status->now_ns;

	document_row(document);
	document_cell_size(document, block->size_known, block->size_bytes);
	document_cell_words(document, probe_space_name(block->space));
	document_cell_device(document, block->device);
	document_cell_duration(document, true, now_ns > block->ts_ns ? now_ns - block->ts_ns : 0);
	document_cell_address(document, block->addr);
	document_cell_words(document, probe_at(block->row)->symbol);
	if (status->stacks)
		cell_chain(document, &state->stacks, block->stack);
	document_row_end(document);
}

/* clang-format off */
#define BLOCK_COLUMNS \
	{ "Size", DOCUMENT_NUMBER }, { "Space", DOCUMENT_TEXT }, { "Device", DOCUMENT_NUMBER }, \
	{ "Age", DOCUMENT_NUMBER }, { "Address", DOCUMENT_ADDRESS }, { "By", DOCUMENT_TEXT }
/* clang-format on */

static void append_blocks(struct document *document, const struct state *state,
			  const struct process *process, const struct top_status *status)
{
	static const struct document_column columns[] = { BLOCK_COLUMNS, { 0 } };
	static const struct document_column with_stacks[] = {
		BLOCK_COLUMNS,
		{ "Allocated in", DOCUMENT_TEXT },
		{ 0 },
	};
	struct top_best best = { 0 };
	bool unknown = false;
	size_t key, i;

	for (key = 0; !process->exited && key < LEDGERS_COUNT; key++) {
		const struct ledger *ledger = &process->ledgers[key];

		for (i = 0; i < ledger->count; i++)
			if (state_is_memory(&ledger->entries[i]))
				top_best_offer(&best, ledger->entries[i].size_bytes,
					       &ledger->entries[i], NULL);
	}
	top_best_sort(&best);
	document_table(document, "blocks", "The largest blocks",
		       status->stacks ? with_stacks : columns);
	for (i = 0; i < best.count; i++) {
		const struct allocation *block = best.items[i].thing;

		append_block(document, state, block, status);
		unknown |= block->device < 0;
	}
	document_table_end(document);
	say_unknown(document, unknown);
	if (!best.count)
		document_say(document, "No block is live.");
	append_left_out(document, &best, 0);
}

void top_detail_append(struct document *document, enum top_tab tab, const struct state *state,
		       const struct process *process, const struct top_status *status)
{
	if (status->remote && tab == TOP_TAB_BLOCKS) {
		document_say(document, "An agent does not send blocks: see `memscope-bpf top -p`.");
		return;
	}
	switch (tab) {
	case TOP_TAB_SITES:
		append_sites(document, state, process, status);
		break;
	case TOP_TAB_BLOCKS:
		append_blocks(document, state, process, status);
		break;
	default:
		append_spaces(document, process, status->now_ns);
	}
}
