// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who holds memory, by the library on whose behalf it was allocated and by call stack, as JSON; and
 * where time is spent in calls.
 */
#include <stdlib.h>

#include "event/probe.h"
#include "render/json.h"
#include "render/report_json.h"

#define SITES_MAX 1000 /* those with the highest peak, or in which most time was spent */

static void put_row(struct json *json, const struct stacks *stacks, const struct site_row *row)
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
	json_put_u64(json, "alloc_bytes", row->total.alloc_bytes);
	json_put_u64(json, "allocs", row->total.allocs);
	json_close(json, '}');
}

static void put_rows(struct json *json, const struct report_recording *recording, const char *name,
		     bool owners)
{
	const struct stacks *stacks = &recording->state->stacks;
	size_t count, i;
	struct site_row *rows = sites_rows(&recording->sites, recording->state, owners, &count);

	json->out->failed |= !rows;
	json_name(json, name);
	json_open(json, '[');
	for (i = 0; rows && i < count && i < SITES_MAX; i++)
		put_row(json, stacks, &rows[i]);
	json_close(json, ']');
	free(rows);
}

static void put_call_sites(struct json *json, const struct report_recording *recording)
{
	size_t count, i;
	struct call_site_row *rows =
		call_sites_rows(&recording->call_sites, recording->state, &count);

	json->out->failed |= !rows;
	json_name(json, "call_sites");
	json_open(json, '[');
	for (i = 0; rows && i < count && i < SITES_MAX; i++) {
		json_open(json, '{');
		json_stack(json, &recording->state->stacks, rows[i].stack);
		json_put_text(json, "api", probe_at(rows[i].row)->symbol);
		json_put_u64(json, "processes", rows[i].processes);
		json_put_u64(json, "calls", rows[i].total.calls);
		json_put_u64(json, "failed", rows[i].total.failed);
		json_put_u64(json, "duration_ns", rows[i].total.duration_ns);
		json_put_u64(json, "bytes", rows[i].total.bytes);
		json_close(json, '}');
	}
	json_close(json, ']');
	free(rows);
}

void report_json_sites(struct json *json, const struct report_recording *recording)
{
	put_rows(json, recording, "owners", true);
	put_rows(json, recording, "sites", false);
	put_call_sites(json, recording);
}
