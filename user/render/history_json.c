// SPDX-License-Identifier: BSD-2-Clause
#include "render/history.h"

#include "base/clock.h"
#include "render/json_writer.h"

#define SECOND_NS 1000000000ull
#define GB_HOURS (1e9 * 3600 * 1000) /* in byte milliseconds */

const char *history_by_name(size_t by)
{
	static const char *const names[] = {
		[HISTORY_BY_PROCESS] = "process",
		[HISTORY_BY_POD] = "pod",
		[HISTORY_BY_CONTAINER] = "container",
		[HISTORY_BY_USER] = "user",
		[HISTORY_BY_JOB] = "job",
		[HISTORY_BY_DEVICE] = "device",
	};

	return by < sizeof(names) / sizeof(*names) ? names[by] : NULL;
}

static void put_time(struct json *json, const char *name, uint64_t ns)
{
	char text[CLOCK_TEXT_BYTES];

	json_put_text(json, name, clock_utc_text(text, ns));
}

/* Exact, as whole byte seconds, and as a number of the usual unit. */
static void put_amount(struct json *json, const char *seconds, const char *hours,
		       unsigned __int128 byte_ms)
{
	const unsigned __int128 byte_s = byte_ms / 1000;

	json_put_u64(json, seconds, byte_s > INT64_MAX ? INT64_MAX : (uint64_t)byte_s);
	json_name(json, hours);
	string_append_format(json->out, "%.6f", (double)byte_ms / GB_HOURS);
	json->comma = true;
}

static void put_points(struct json *json, const struct history_row *row)
{
	size_t i;

	json_name(json, "points");
	json_open(json, '[');
	for (i = 0; i < row->points_count; i++) {
		json_open(json, '[');
		json_u64(json, row->points[i].start_s);
		json_u64(json, row->points[i].mean_bytes);
		json_u64(json, row->points[i].max_bytes);
		json_close(json, ']');
	}
	json_close(json, ']');
}

static uint64_t mean(unsigned __int128 byte_ms, uint64_t ms)
{
	return ms ? (uint64_t)(byte_ms / ms) : 0;
}

/* Why it is not exact, as far as the history knows. */
static void put_exact(struct json *json, uint64_t inexact)
{
	json_put_bool(json, "exact", !inexact);
	json_put_bool(json, "held_before", inexact & HISTORY_HELD_BEFORE);
}

/* An event whose process is not known is about no amount of one. */
static void put_exact_of(struct json *json, const struct history_happening *event)
{
	if (event->process || event->pid) {
		put_exact(json, event->inexact);
		return;
	}
	json_name(json, "exact");
	json_null(json);
	json_name(json, "held_before");
	json_null(json);
}

static void put_device(struct json *json, const struct history_row *row)
{
	json_put_text(json, "device_name", row->device_name);
	json_put_if(json, "used_peak_bytes", row->used_known, row->used_peak_bytes);
	json_put_if(json, "used_mean_bytes", row->used_known,
		    mean(row->used_byte_ms, row->used_ms));
}

static void put_processes(struct json *json, const struct history_row *row, enum history_by by)
{
	if (by == HISTORY_BY_PROCESS) {
		json_put_u64(json, "pid", row->pid);
		json_put_text(json, "user", row->user);
		json_put_text(json, "place", row->place);
	} else {
		json_put_u64(json, "processes", row->processes);
	}
	put_exact(json, row->inexact);
	json_put_u64(json, "launches", row->launches);
	json_put_u64(json, "graph_launches", row->graph_launches);
}

static void put_row(struct json *json, const struct history_view *view,
		    const struct history_row *row)
{
	const enum history_by by = view->query->by;

	json_open(json, '{');
	json_put_text(json, history_by_name(by), *row->name ? row->name : NULL);
	if (by == HISTORY_BY_DEVICE)
		put_device(json, row);
	else
		put_processes(json, row, by);
	put_time(json, "from", row->first_s * SECOND_NS);
	put_time(json, "to", row->end_s * SECOND_NS);
	json_put_u64(json, "peak_bytes", row->peak_bytes);
	json_put_bool(json, "peak_is_sum", row->peak_is_sum);
	json_put_u64(json, "mean_bytes", mean(row->byte_ms, view->usage->observed_ms));
	put_amount(json, "byte_seconds", "gb_hours", row->byte_ms);
	put_amount(json, "idle_byte_seconds", "idle_gb_hours", row->idle_byte_ms);
	put_amount(json, "unknown_byte_seconds", "unknown_gb_hours", row->unknown_byte_ms);
	json_put_u64(json, "allocs", row->allocs);
	json_put_u64(json, "alloc_bytes", row->alloc_bytes);
	json_put_u64(json, "frees", row->frees);
	json_put_u64(json, "free_bytes", row->free_bytes);
	if (view->query->points)
		put_points(json, row);
	json_close(json, '}');
}

static void put_event(struct json *json, const struct history_happening *event)
{
	json_open(json, '{');
	put_time(json, "time", event->ts_ms * 1000000);
	json_put_text(json, "event", event->kind);
	json_put_u64(json, "count", event->count);
	json_put_text(json, "what", event->what);
	json_put_if(json, "bytes", event->bytes_known, event->bytes);
	json_put_text(json, "process", event->process);
	put_exact_of(json, event);
	json_put_if(json, "pid", event->pid, event->pid);
	json_put_text(json, "user", event->user);
	json_put_text(json, "place", event->place);
	json_put_text(json, "device", event->device);
	json_close(json, '}');
}

static void put_rise(struct json *json, const struct history_row *row,
		     const struct rise_found *found)
{
	json_open(json, '{');
	json_put_text(json, "finding", "growth");
	json_put_text(json, "process", *row->name ? row->name : NULL);
	json_put_u64(json, "pid", row->pid);
	json_put_text(json, "user", row->user);
	json_put_text(json, "place", row->place);
	put_exact(json, row->inexact);
	put_time(json, "from", found->from_s * SECOND_NS);
	put_time(json, "to", found->to_s * SECOND_NS);
	json_put_u64(json, "first_bytes", found->first_bytes);
	json_put_u64(json, "last_bytes", found->last_bytes);
	json_put_u64(json, "bytes_per_hour", rise_hourly(found));
	json_close(json, '}');
}

static void put_findings(struct json *json, const struct history_view *view)
{
	struct rise_found found;
	size_t i, count = 0;

	json_name(json, "findings");
	json_open(json, '[');
	for (i = 0; i < view->usage->rows_count; i++)
		if (rise_find(&view->usage->rows[i].rise, &found) && count++ < view->top)
			put_rise(json, &view->usage->rows[i], &found);
	json_close(json, ']');
	json_put_u64(json, "findings_left_out", count > view->top ? count - view->top : 0);
}

void history_append_json(struct string *out, const struct history_view *view)
{
	const struct history_usage *usage = view->usage;
	struct json json = { .out = out };
	size_t i;

	json_open(&json, '{');
	json_put_text(&json, "schema", HISTORY_SCHEMA);
	put_time(&json, "from", usage->from_s * SECOND_NS);
	put_time(&json, "to", usage->to_s * SECOND_NS);
	json_put_u64(&json, "step_seconds", usage->step_s);
	json_put_u64(&json, "observed_ms", usage->observed_ms);
	json_put_text(&json, "by", history_by_name(view->query->by));
	json_name(&json, "rows");
	json_open(&json, '[');
	for (i = 0; !view->only_events && i < usage->rows_count && i < view->top; i++)
		put_row(&json, view, &usage->rows[i]);
	json_close(&json, ']');
	json_put_u64(&json, "rows_left_out",
		     view->only_events || usage->rows_count <= view->top ?
			     0 :
			     usage->rows_count - view->top);
	put_findings(&json, view);
	json_name(&json, "events");
	json_open(&json, '[');
	for (i = 0; i < usage->events_count; i++)
		put_event(&json, &usage->events[i]);
	json_close(&json, ']');
	json_put_u64(&json, "events_left_out", usage->events_left_out);
	json_close(&json, '}');
	string_append_char(out, '\n');
}
