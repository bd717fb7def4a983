// SPDX-License-Identifier: BSD-2-Clause
#include "render/lanes_json.h"

#include <string.h>

#include "render/report_json.h"

#define WAITS_LEAST 16 /* a smaller part of a span is not said */

static void put_relative(struct json *json, uint64_t ts_ns, uint64_t begin_ns)
{
	json_i64(json, (int64_t)(ts_ns - begin_ns));
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static void put_spans(struct json *json, const struct lanes_recording *recording,
		      const struct spans_lane *lane, uint64_t begin_ns)
{
	const struct span *spans = spans_of(recording->spans, lane);
	size_t i;

	json_name(json, "spans");
	json_open(json, '[');
	for (i = 0; i < lane->count; i++) {
		put_relative(json, spans[i].begin_ns, begin_ns);
		json_u64(json, spans[i].end_ns - spans[i].begin_ns);
		json_u64(json, spans[i].name);
		json_u64(json, spans[i].count);
		json_u64(json, spans[i].bytes);
	}
	json_close(json, ']');
}

static const char *direction_of(const struct spans_lane *lane)
{
	const uint64_t direction = lane->handle & ~SPANS_COPIES;

	return direction < MS_DIRECTIONS_COUNT ? probe_direction_name((uint32_t)direction) :
						 "other";
}

static void put_stream(struct json *json, const struct spans_lane *lane)
{
	const bool copies = lane->kind == SPANS_GPU && lane->handle & SPANS_COPIES;

	json_name(json, "stream");
	if (lane->kind == SPANS_STREAM || (lane->kind == SPANS_GPU && !copies))
		json_hex(json, lane->handle);
	else
		json_null(json);
	if (lane->kind != SPANS_GPU)
		return;
	json_put_if(json, "context", !copies, lane->context);
	json_put_text(json, "copies", copies ? direction_of(lane) : NULL);
}

/* The thread did not run for a good part of it. */
static bool is_wait(const struct span *span)
{
	const uint64_t waits_ns = span_add_up(span->runnable_ns, span->blocked_ns);

	return waits_ns && waits_ns >= (span->end_ns - span->begin_ns) / WAITS_LEAST;
}

static void put_waits(struct json *json, const struct lanes_recording *recording,
		      const struct spans_lane *lane)
{
	const struct span *spans = spans_of(recording->spans, lane);
	size_t i;

	if (lane->kind != SPANS_THREAD)
		return;
	json_name(json, "waits");
	json_open(json, '[');
	for (i = 0; i < lane->count; i++) {
		if (!is_wait(&spans[i]))
			continue;
		json_u64(json, i);
		json_u64(json, spans[i].runnable_ns);
		json_u64(json, spans[i].blocked_ns);
	}
	json_close(json, ']');
}

static void put_lane(struct json *json, const struct lanes_recording *recording,
		     const struct spans_lane *lane, uint64_t begin_ns)
{
	static const char *const kinds[] = {
		[SPANS_PHASE] = "phase", [SPANS_THREAD] = "thread",  [SPANS_STREAM] = "stream",
		[SPANS_GPU] = "gpu",     [SPANS_COUNTED] = "thread",
	};

	json_open(json, '{');
	json_put_text(json, "kind", kinds[lane->kind]);
	json_put_u64(json, "pid", lane->pid);
	report_json_comm(json, lane->comm);
	json_put_if(json, "tid", lane->tid, lane->tid);
	put_stream(json, lane);
	report_json_device(json, lane->device);
	json_put_text(json, "counted",
		      lane->kind == SPANS_COUNTED ? probe_op_name(lane->handle) : NULL);
	json_put_u64(json, "resolution_ns", lane->resolution_ns);
	put_spans(json, recording, lane, begin_ns);
	put_waits(json, recording, lane);
	json_close(json, '}');
}

static void put_lanes(struct json *json, const struct lanes_recording *recording, uint64_t begin_ns)
{
	const struct spans_dropped dropped = spans_dropped(recording->spans);
	const struct spans_lane *lanes;
	size_t count, i;

	lanes = spans_lanes(recording->spans, &count);
	json_name(json, "lanes");
	json_open(json, '[');
	for (i = 0; i < count; i++)
		put_lane(json, recording, &lanes[i], begin_ns);
	json_close(json, ']');
	json_put_u64(json, "dropped_lanes", dropped.lanes);
	json_put_u64(json, "dropped_calls", dropped.calls);
}

/* ---- address maps ---------------------------------------------------------------------------- */

static void put_blocks(struct json *json, const struct address_map *map, uint64_t begin_ns)
{
	size_t i;

	json_name(json, "blocks");
	json_open(json, '[');
	for (i = 0; i < map->count; i++) {
		json_hex(json, map->blocks[i].addr);
		json_u64(json, map->blocks[i].size_bytes);
		json_u64(json, map->blocks[i].name);
		json_u64(json, map->blocks[i].space);
		put_relative(json, map->blocks[i].ts_ns, begin_ns);
	}
	json_close(json, ']');
}

static void put_maps(struct json *json, const char *name, const struct address_maps *maps,
		     uint64_t begin_ns)
{
	size_t i;

	json_name(json, name);
	json_open(json, '[');
	for (i = 0; i < maps->count; i++) {
		const struct address_map *map = &maps->maps[i];

		json_open(json, '{');
		report_json_device(json, map->device);
		json_put_u64(json, "pid", map->pid);
		report_json_comm(json, map->comm);
		json_put_bool(json, "exited", map->exited);
		json_name(json, "at");
		put_relative(json, map->ts_ns, begin_ns);
		put_blocks(json, map, begin_ns);
		json_put_u64(json, "more_blocks", map->more.count);
		json_put_u64(json, "more_bytes", map->more.bytes);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void put_names(struct json *json, const struct spans *spans)
{
	size_t i;

	json_name(json, "names");
	json_open(json, '[');
	for (i = 0; i < spans_names_count(spans); i++)
		json_text(json, spans_name(spans, i), strlen(spans_name(spans, i)));
	json_close(json, ']');
}

static void put_spaces(struct json *json)
{
	uint32_t space;

	json_name(json, "spaces");
	json_open(json, '[');
	for (space = 0; space < MS_SPACES_COUNT; space++)
		json_text(json, probe_space_name(space), strlen(probe_space_name(space)));
	json_close(json, ']');
}

void lanes_json(struct json *json, const struct lanes_recording *recording)
{
	const uint64_t begin_ns = report_begin_ns(recording->recording);

	json_open(json, '{');
	json_put_u64(json, "begin_ns", begin_ns);
	put_names(json, recording->spans);
	put_lanes(json, recording, begin_ns);
	put_maps(json, "maps", &recording->maps, begin_ns);
	put_maps(json, "oom_maps", &recording->oom_maps, begin_ns);
	json_name(json, "oom_at");
	if (recording->oom_ns)
		put_relative(json, recording->oom_ns, begin_ns);
	else
		json_null(json);
	put_spaces(json);
	json_close(json, '}');
}
