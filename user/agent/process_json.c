// SPDX-License-Identifier: BSD-2-Clause
#include "agent/process_json.h"

#include <errno.h>
#include <string.h>

#include "agent/answers.h"
#include "agent/limits_json.h"
#include "event/probe.h"
#include "render/json.h"
#include "render/report_json.h"

/* ---- which call sites ------------------------------------------------------------------------ */

struct held_site {
	const struct usage_cell *cell;
	const struct usage_part *part;
};

struct chosen {
	struct held_site sites[PROCESS_JSON_SITES]; /* the largest first */
	size_t count;
	/* Of what is not among them: */
	uint64_t more, more_live_bytes, more_live_count;
	uint64_t stackless_live_bytes, stackless_live_count, stackless_allocs;
};

/* By what they hold; of those that hold as much, by what they held at the peak. */
static bool is_larger(const struct held_site *a, const struct held_site *b)
{
	if (a->part->live_bytes != b->part->live_bytes)
		return a->part->live_bytes > b->part->live_bytes;
	return a->part->peak_bytes > b->part->peak_bytes;
}

static void leave_out(struct chosen *chosen, const struct usage_part *part)
{
	chosen->more++;
	chosen->more_live_bytes += part->live_bytes;
	chosen->more_live_count += part->live_count;
}

static void offer(struct chosen *chosen, const struct held_site *site)
{
	size_t at = chosen->count;

	while (at && is_larger(site, &chosen->sites[at - 1]))
		at--;
	if (at == PROCESS_JSON_SITES) {
		leave_out(chosen, site->part);
		return;
	}
	if (chosen->count == PROCESS_JSON_SITES)
		leave_out(chosen, chosen->sites[--chosen->count].part);
	memmove(&chosen->sites[at + 1], &chosen->sites[at],
		(chosen->count - at) * sizeof(*chosen->sites));
	chosen->sites[at] = *site;
	chosen->count++;
}

static void choose(struct chosen *chosen, const struct usage *usage)
{
	size_t i;

	for (i = 0; usage && i < usage->count; i++) {
		const struct usage_cell *cell = &usage->cells[i];
		uint32_t at;

		chosen->stackless_live_bytes += cell->live_bytes;
		chosen->stackless_live_count += cell->live_count;
		chosen->stackless_allocs += cell->allocs;
		for (at = cell->parts; at; at = usage->parts[at - 1].next) {
			const struct held_site site = { cell, &usage->parts[at - 1] };

			chosen->stackless_live_bytes -= site.part->live_bytes;
			chosen->stackless_live_count -= site.part->live_count;
			chosen->stackless_allocs -= site.part->allocs;
			offer(chosen, &site);
		}
	}
}

/* ---- what is said of them -------------------------------------------------------------------- */

/* What is not known of a stack is null. */
static void put_stack(struct json *json, const struct stacks *stacks, uint32_t id)
{
	const struct stack *stack = stacks_find(stacks, id);

	if (stack) {
		json_stack_shortened(json, stacks, stack);
		return;
	}
	json_put_u64(json, "stack_id", id);
	json_put_text(json, "owner", NULL);
	json_put_text(json, "end", NULL);
	json_put_text(json, "frames", NULL);
	json_put_u64(json, "frames_left_out", 0);
	json_put_if(json, "frames_left_out_after", false, 0);
}

static void put_site(struct json *json, const struct state *state, const struct usage *usage,
		     const struct held_site *site)
{
	const bool known = usage->spaces[site->cell->space].known;

	json_open(json, '{');
	put_stack(json, &state->stacks, site->part->stack);
	json_put_text(json, "api", probe_at(site->cell->row)->symbol);
	json_put_text(json, "space", probe_space_name(site->cell->space));
	report_json_device(json, site->cell->device);
	json_put_u64(json, "live_bytes", site->part->live_bytes);
	json_put_u64(json, "live_allocations", site->part->live_count);
	json_put_if(json, "bytes_in_peak", known, site->part->peak_bytes);
	json_put_if(json, "allocations_in_peak", known, site->part->peak_count);
	json_put_u64(json, "allocs", site->part->allocs);
	json_put_u64(json, "alloc_bytes", site->part->alloc_bytes);
	json_close(json, '}');
}

static void put_sites(struct json *json, const struct state *state, const struct process *process)
{
	struct chosen chosen = { 0 };
	size_t i;

	json_name(json, "sites");
	if (process->entries_only) {
		json_null(json);
		return;
	}
	choose(&chosen, process->usage);
	json_open(json, '{');
	json_name(json, "largest");
	json_open(json, '[');
	for (i = 0; i < chosen.count; i++)
		put_site(json, state, process->usage, &chosen.sites[i]);
	json_close(json, ']');
	json_put_u64(json, "more", chosen.more);
	json_put_u64(json, "more_live_bytes", chosen.more_live_bytes);
	json_put_u64(json, "more_live_allocations", chosen.more_live_count);
	json_put_u64(json, "without_stack_live_bytes", chosen.stackless_live_bytes);
	json_put_u64(json, "without_stack_live_allocations", chosen.stackless_live_count);
	json_put_u64(json, "without_stack_allocs", chosen.stackless_allocs);
	json_close(json, '}');
}

/* ---------------------------------------------------------------------------------------------- */

static void put_process(struct json *json, const struct answers_source *source,
			const struct report_process *shown)
{
	const struct report_recording *recording = books_report(source->books);
	const struct process *process = shown->process;
	const struct summary summary = {
		.state = recording->state,
		.start_ns = source->start_ns,
		.end_ns = recording->coverage.account.last_ts_ns,
		.interim = true,
		.captured_ops = source->captured_ops,
	};
	uint64_t more;

	json_open(json, '{');
	json_put_text(json, "schema", ANSWERS_PROCESS_SCHEMA);
	json_put_text(json, "host", source->host);
	json_put_u64(json, "ts_ns", summary.end_ns);
	json_put_u64(json, "start_ns", process->start_ns);
	json_put_bool(json, "exact", !report_process_is_inexact(recording, process));
	limits_json_put(json, &process->limits, summary.end_ns);
	json_name(json, "process");
	json_summary_process(json, &summary, process);
	more = report_json_cells(json, shown, PROCESS_JSON_FUNCTIONS);
	json_put_u64(json, "more_by_api", more);
	put_sites(json, recording->state, process);
	json_close(json, '}');
}

int process_json_append(struct string *out, const struct answers_source *source, uint32_t pid)
{
	const struct report_recording *recording = books_report(source->books);
	struct json json = { .out = out };
	size_t i;

	for (i = 0; i < recording->processes_count; i++) {
		if (recording->processes[i].process->pid != pid)
			continue;
		put_process(&json, source, &recording->processes[i]);
		return 0;
	}
	return -ESRCH;
}
