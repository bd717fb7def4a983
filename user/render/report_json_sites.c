// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who holds memory, by the library on whose behalf it was allocated and by call stack, as JSON; and
 * where time is spent in calls.
 */
#include <stdlib.h>

#include "event/probe.h"
#include "render/json.h"
#include "render/report_json.h"
#include "render/stack_words.h"

#define SITES_MAX 1000 /* those with the highest peak, or in which most time was spent */

static void put_row(struct json *json, const struct stacks *stacks, const struct site_row *row,
		    enum sites_by by)
{
	json_open(json, '{');
	if (row->stack)
		json_stack(json, stacks, row->stack);
	else
		json_put_text(json, "owner", row->owner);
	json_put_u64(json, "processes", row->processes);
	json_put_u64(json, "live_bytes", row->total.live_bytes);
	json_put_u64(json, "live_count", row->total.live_count);
	json_put_u64(json, "peak_bytes", row->total.peak_bytes);
	if (by == SITES_BY_TENSOR_STACK) {
		json_put_u64(json, "at_peak_bytes", row->total.at_peak_bytes);
		json_put_u64(json, "live_error_bytes", site_total_live_error(&row->total));
		json_put_u64(json, "peak_error_bytes", site_total_peak_error(&row->total));
		json_put_u64(json, "at_peak_error_bytes", site_total_at_peak_error(&row->total));
		json_put_u64(json, "alloc_error_bytes", site_total_alloc_error(&row->total));
	}
	json_put_u64(json, "alloc_bytes", row->total.alloc_bytes);
	json_put_u64(json, "allocs", row->total.allocs);
	json_close(json, '}');
}

static void put_rows(struct json *json, const struct report_recording *recording, const char *name,
		     enum sites_by by)
{
	const struct stacks *stacks = &recording->state->stacks;
	size_t count, i;
	struct site_row *rows = sites_rows(&recording->sites, recording->state, by, &count);

	json->out->failed |= !rows;
	json_name(json, name);
	json_open(json, '[');
	for (i = 0; rows && i < count && i < SITES_MAX; i++)
		put_row(json, stacks, &rows[i], by);
	json_close(json, ']');
	free(rows);
}

/* What the lists do not tell: of how many allocations it is not known, or in part, where. */
static void put_ends(struct json *json, const struct site_ends *ends)
{
	enum ms_stack_end end;

	json_name(json, "site_ends");
	json_open(json, '{');
	json_put_u64(json, "allocs", ends->allocs);
	json_put_u64(json, "without_stack", ends->none);
	json_put_u64(json, "without_python", site_ends_lineless(ends));
	json_name(json, "early");
	json_open(json, '[');
	for (end = 0; end < MS_STACK_ENDS_COUNT; end++) {
		if (!ends->early[end])
			continue;
		json_open(json, '{');
		json_put_text(json, "end", stack_words_end_name((uint8_t)end));
		json_put_u64(json, "allocs", ends->early[end]);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

/* Estimates: exact counts, by kernel, are with each process. */
static void put_launch_sites(struct json *json, const struct report_recording *recording)
{
	size_t count, i;
	struct call_site_row *rows =
		call_sites_rows(&recording->launch_sites, recording->state, false, &count);

	json->out->failed |= !rows;
	json_name(json, "sites");
	json_open(json, '[');
	for (i = 0; rows && i < count && i < SITES_MAX; i++) {
		json_open(json, '{');
		json_stack(json, &recording->state->stacks, rows[i].stack);
		json_put_text(json, "api", probe_at(rows[i].row)->symbol);
		json_put_u64(json, "processes", rows[i].processes);
		json_put_u64(json, "estimated_launches", rows[i].total.calls);
		json_put_u64(json, "error_launches", call_sites_error(&rows[i].total));
		json_put_u64(json, "taken", rows[i].total.chosen);
		json_close(json, '}');
	}
	json_close(json, ']');
	free(rows);
}

static void put_launches(struct json *json, const struct report_recording *recording)
{
	const struct call_sites *launches = &recording->launch_sites;
	const struct call_site_total *placed = &launches->placed[MS_OP_LAUNCH];
	const struct call_site_total *unplaced = &launches->unplaced[MS_OP_LAUNCH];

	json_name(json, "launch_samples");
	if (!placed->chosen && !unplaced->chosen) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "one_in",
		     placed->one_in > unplaced->one_in ? placed->one_in : unplaced->one_in);
	json_put_u64(json, "taken", placed->chosen + unplaced->chosen);
	json_put_u64(json, "without_stack", unplaced->chosen);
	json_put_u64(json, "lost", recording->coverage.counters.lost[MS_KIND_LAUNCH_SAMPLE]);
	put_launch_sites(json, recording);
	json_close(json, '}');
}

void report_json_sites(struct json *json, const struct report_recording *recording)
{
	put_rows(json, recording, "owners", SITES_BY_OWNER);
	put_rows(json, recording, "sites", SITES_BY_STACK);
	put_rows(json, recording, "tensor_sites", SITES_BY_TENSOR_STACK);
	put_ends(json, &recording->sites.ends);
	json_name(json, "call_sites");
	json_call_sites(json, &recording->call_sites, recording->state, SITES_MAX);
	put_launches(json, recording);
}
