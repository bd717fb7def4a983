// SPDX-License-Identifier: BSD-2-Clause
#include "render/summary_sites.h"

#include <stdlib.h>

#include "event/probe.h"
#include "ledger/usage.h"
#include "render/field.h"
#include "render/identity_words.h"
#include "render/stack_words.h"
#include "render/summary_table.h"
#include "report/call_sites.h"
#include "report/site_ends.h"

#define SHOWN 10
#define SHOWN_JSON 100
#define MANY_BLOCKS 16 /* fewer are seen at a glance in the table of the largest */

/* What was allocated in one place. */
struct live_place {
	const struct stack *stack;
	uint64_t likeness;
	uint64_t live_bytes, live_count; /* of a process that has ended: then */
	uint64_t alloc_bytes, allocs;    /* in all */
};

struct live_places {
	struct live_place *list;
	size_t count;
	bool failed;
};

/* ---- what is live ---------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_likeness(const void *one, const void *other)
{
	const struct live_place *a = one, *b = other;
	int order = compare_numbers(a->likeness, b->likeness);

	return order ? order : compare_numbers(a->stack->id, b->stack->id);
}

static int by_bytes(const void *one, const void *other)
{
	const struct live_place *a = one, *b = other;
	int order = compare_numbers(b->live_bytes, a->live_bytes);

	if (!order)
		order = compare_numbers(b->alloc_bytes, a->alloc_bytes);
	return order ? order : compare_numbers(a->stack->id, b->stack->id);
}

static void join_alike(struct live_places *places)
{
	size_t kept = 0, i;

	if (places->count)
		qsort(places->list, places->count, sizeof(*places->list), by_likeness);
	for (i = 0; i < places->count; i++) {
		const struct live_place *place = &places->list[i];
		struct live_place *to = kept ? &places->list[kept - 1] : NULL;

		if (!to || to->likeness != place->likeness) {
			places->list[kept++] = *place;
			continue;
		}
		to->live_bytes += place->live_bytes;
		to->live_count += place->live_count;
		to->alloc_bytes += place->alloc_bytes;
		to->allocs += place->allocs;
	}
	places->count = kept;
	if (kept)
		qsort(places->list, kept, sizeof(*places->list), by_bytes);
}

static void add_cell(struct live_places *places, const struct stacks *stacks,
		     const struct usage *usage, const struct usage_cell *cell, bool lines)
{
	uint32_t at = usage_is_held(cell->space) ? cell->parts : 0;

	for (; at; at = usage->parts[at - 1].next) {
		const struct usage_part *part = &usage->parts[at - 1];
		const struct stack *stack = stacks_find(stacks, part->stack);

		if (stack)
			places->list[places->count++] = (struct live_place){
				.stack = stack,
				.likeness = lines ? stacks_lines(stack) : stack->likeness,
				.live_bytes = part->live_bytes,
				.live_count = part->live_count,
				.alloc_bytes = part->alloc_bytes,
				.allocs = part->allocs,
			};
	}
}

/* Of the processes that are listed one by one. */
static struct live_places places_of(const struct state *state, bool lines)
{
	struct live_places places = { 0 };
	size_t most = 1, i, j;

	for (i = 0; i < state->processes_count; i++)
		most += state->processes[i]->usage ? state->processes[i]->usage->parts_count : 0;
	places.list = calloc(most, sizeof(*places.list));
	places.failed = !places.list;
	for (i = 0; !places.failed && i < state->processes_count; i++) {
		const struct usage *usage = state->processes[i]->usage;

		for (j = 0; usage && j < usage->count; j++)
			add_cell(&places, &state->stacks, usage, &usage->cells[j], lines);
	}
	join_alike(&places);
	return places;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void append_chain(struct string *out, const struct stacks *stacks, const struct stack *stack)
{
	struct string chain = { 0 };

	stack_words_append_chain(&chain, stacks, stack);
	field_append_safe(out, chain.bytes, chain.length);
	string_append_char(out, '\0');
	out->failed |= chain.failed;
	string_fini(&chain);
}

static void append_more(struct string *out, size_t count)
{
	if (count > SHOWN)
		string_append_format(out, "  and %zu places more\n", count - SHOWN);
}

static void count_ends(struct site_ends *ends, const struct state *state,
		       const struct process *process, const struct usage_cell *cell)
{
	uint64_t rest = cell->allocs;
	uint32_t at = cell->parts;

	for (; at; at = process->usage->parts[at - 1].next) {
		const struct usage_part *part = &process->usage->parts[at - 1];

		site_ends_add(ends, process, stacks_find(&state->stacks, part->stack),
			      part->allocs);
		rest -= part->allocs < rest ? part->allocs : rest;
	}
	site_ends_add(ends, process, NULL, rest);
}

static struct site_ends ends_of(const struct state *state)
{
	struct site_ends ends = { 0 };
	size_t i, j;

	for (i = 0; i < state->processes_count; i++) {
		const struct usage *usage = state->processes[i]->usage;

		for (j = 0; usage && j < usage->count; j++)
			if (usage_is_held(usage->cells[j].space))
				count_ends(&ends, state, state->processes[i], &usage->cells[j]);
	}
	return ends;
}

/* Of which allocations the table does not tell where they were made, and why. */
static void append_ends(struct string *out, const struct summary *summary)
{
	const struct site_ends ends = ends_of(summary->state);
	const bool early = ends.none || ends.early[MS_STACK_END_NO_MODULE] ||
			   ends.early[MS_STACK_END_NO_TABLE];

	if (!(summary->stack_ops >> MS_OP_ALLOC & 1) || (!ends.none && !site_ends_lack(&ends)))
		return;
	string_append_text(out, ends.none == ends.allocs ? "\n  " : "  ");
	stack_words_append_ends(out, &ends);
	string_append_text(out, early ? ". The first calls can come before a program's files are"
					" read.\n" :
					".\n");
}

static void append_live(struct string *out, const struct summary *summary, size_t width)
{
	static const struct summary_column columns[] = {
		{ "LIVE", 18, 0 },
		{ "BLOCKS", 9, 2 },
		{ "ALLOCATED", 12, 1 },
		{ "ALLOCS", 9, 3 },
		{ "", 0, 0 },
		{ "ALLOCATED IN", -14, 0 },
		{ 0 },
	};
	const struct stacks *stacks = &summary->state->stacks;
	struct live_places places = places_of(summary->state, true);
	struct string chain = { 0 };
	struct summary_table table;
	size_t i;

	out->failed |= places.failed;
	if (places.count) {
		string_append_char(out, '\n');
		summary_table_begin(&table, out, width, columns);
	}
	for (i = 0; i < places.count && i < SHOWN; i++) {
		const struct live_place *place = &places.list[i];
		char live[STRING_NUMBER_BYTES], blocks[STRING_NUMBER_BYTES];
		char bytes[STRING_NUMBER_BYTES], allocs[STRING_NUMBER_BYTES];

		string_clear(&chain);
		append_chain(&chain, stacks, place->stack);
		if (chain.failed)
			break;
		summary_table_row(&table, (const char *[]){ string_size(live, place->live_bytes),
							    string_count(blocks, place->live_count),
							    string_size(bytes, place->alloc_bytes),
							    string_count(allocs, place->allocs), "",
							    chain.bytes });
	}
	append_more(out, places.count);
	out->failed |= chain.failed;
	string_fini(&chain);
	free(places.list);
}

static void append_unplaced(struct string *out, const struct call_sites *sites)
{
	const struct call_site_total total = call_sites_unplaced(sites);
	char calls[STRING_NUMBER_BYTES], time[STRING_NUMBER_BYTES];

	if (total.calls)
		string_append_format(out,
				     "  %s call%s had no call stack, and %s in no row above: %s\n",
				     string_count(calls, total.calls), total.calls == 1 ? "" : "s",
				     total.calls == 1 ? "is" : "are",
				     string_duration(time, total.duration_ns));
}

static void append_calls(struct string *out, const struct summary *summary, size_t width)
{
	static const struct summary_column columns[] = {
		{ "TIME", 18, 0 },
		{ "CALLS", 9, 2 },
		{ "MEAN", 9, 1 },
		{ "", 0, 0 },
		{ "CALL", -22, 3 },
		{ "CALLED IN", -14, 0 },
		{ 0 },
	};
	size_t count, i;
	struct call_site_row *rows =
		call_sites_rows(summary->call_sites, summary->state, true, &count);
	struct string chain = { 0 };
	struct summary_table table;

	out->failed |= !rows;
	if (count) {
		string_append_char(out, '\n');
		summary_table_begin(&table, out, width, columns);
	}
	for (i = 0; rows && i < count && i < SHOWN; i++) {
		const struct call_site_total *total = &rows[i].total;
		char time[STRING_NUMBER_BYTES], calls[STRING_NUMBER_BYTES];
		char mean[STRING_NUMBER_BYTES];

		string_clear(&chain);
		append_chain(&chain, &summary->state->stacks, rows[i].stack);
		if (chain.failed)
			break;
		summary_table_row(
			&table, (const char *[]){ string_duration(time, total->duration_ns),
						  string_count(calls, total->calls),
						  string_duration(mean, call_sites_mean_ns(total)),
						  "", probe_at(rows[i].row)->symbol, chain.bytes });
	}
	append_more(out, count);
	if (count)
		append_unplaced(out, summary->call_sites);
	out->failed |= chain.failed;
	string_fini(&chain);
	free(rows);
}

/*
 * Whether it may leak: what it had in the end was about as much as ever, and in many blocks.
 */
static bool seems_to_grow(const struct process *process)
{
	uint64_t bytes = 0, count = 0, peak = 0;
	uint32_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++) {
		const struct space_total *space = &process->spaces[i];

		if (!usage_is_held(i))
			continue;
		bytes += process->exited ? space->exit_bytes : space->live_bytes;
		count += process->exited ? space->exit_count : space->live_count;
		peak += space->peak_bytes;
	}
	return !process->entries_only && count >= MANY_BLOCKS && bytes >= peak - peak / 8;
}

/* Without stacks: who may want to know where its memory was allocated. */
static void append_hint(struct string *out, const struct summary *summary)
{
	const struct state *state = summary->state;
	const struct process *process = NULL;
	size_t count = 0, i;

	for (i = 0; !summary->interim && i < state->processes_count; i++) {
		if (!seems_to_grow(state->processes[i]))
			continue;
		if (!count++)
			process = state->processes[i];
	}
	if (!count)
		return;
	string_append_text(out, "\n  ");
	identity_words_process(out, process);
	if (count > 1)
		string_append_format(out, " and %zu more", count - 1);
	string_append_text(out, " held most in the end: --stack shows where that was allocated.\n");
}

void summary_sites_append(struct string *out, const struct summary *summary,
			  const struct text_options *options)
{
	if (!summary->call_sites) {
		append_hint(out, summary);
		return;
	}
	append_live(out, summary, options->width);
	append_ends(out, summary);
	append_calls(out, summary, options->width);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_live(struct json *json, const struct summary *summary)
{
	struct live_places places = places_of(summary->state, false);
	size_t i;

	json->out->failed |= places.failed;
	json_open(json, '[');
	for (i = 0; i < places.count && i < SHOWN_JSON; i++) {
		json_open(json, '{');
		json_stack(json, &summary->state->stacks, places.list[i].stack);
		json_put_u64(json, "live_bytes", places.list[i].live_bytes);
		json_put_u64(json, "live_count", places.list[i].live_count);
		json_put_u64(json, "alloc_bytes", places.list[i].alloc_bytes);
		json_put_u64(json, "allocs", places.list[i].allocs);
		json_close(json, '}');
	}
	json_close(json, ']');
	free(places.list);
}

void summary_sites_json(struct json *json, const struct summary *summary)
{
	json_name(json, "sites");
	if (summary->call_sites)
		put_live(json, summary);
	else
		json_null(json);
	json_name(json, "call_sites");
	if (summary->call_sites)
		json_call_sites(json, summary->call_sites, summary->state, SHOWN_JSON);
	else
		json_null(json);
}
