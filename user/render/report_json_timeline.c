// SPDX-License-Identifier: BSD-2-Clause
/*
 * What happened when, as JSON: arrays of as many numbers as there are buckets.
 */
#include "render/report_json.h"

static void put_values(struct json *json, const char *name, const uint64_t *values, size_t length)
{
	size_t i;

	json_name(json, name);
	json_open(json, '[');
	for (i = 0; i < length; i++)
		json_u64(json, values[i]);
	json_close(json, ']');
}

/* null if nothing is known of them */
static void put_known(struct json *json, const char *name, bool known, const uint64_t *values,
		      size_t length)
{
	if (known) {
		put_values(json, name, values, length);
		return;
	}
	json_name(json, name);
	json_null(json);
}

static void put_levels(struct json *json, const struct timeline_series *series, size_t length)
{
	uint32_t space;

	json_name(json, "live");
	json_open(json, '[');
	for (space = 0; space < MS_SPACES_COUNT; space++) {
		if (!series->levels[space])
			continue;
		json_open(json, '{');
		json_put_text(json, "space", probe_space_name(space));
		put_values(json, "max_bytes", series->levels[space]->max, length);
		put_values(json, "end_bytes", series->levels[space]->end, length);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_copies(struct json *json, const struct timeline_series *series, bool known,
		       size_t length)
{
	size_t i;

	json_name(json, "copies");
	if (!known) {
		json_null(json);
		return;
	}
	json_open(json, '[');
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		const struct timeline_copies *copies = series->copies[i];

		if (!copies)
			continue;
		json_open(json, '{');
		json_put_text(json, "direction",
			      i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : NULL);
		put_values(json, "count", copies->count, length);
		put_values(json, "bytes", copies->bytes, length);
		put_values(json, "synchronous_bytes", copies->timed_bytes, length);
		put_values(json, "synchronous_ns", copies->timed_ns, length);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_series(struct json *json, const struct report_recording *recording,
		       const struct timeline_series *series, bool is_sum)
{
	const struct report_coverage *coverage = &recording->coverage;
	const size_t length = timeline_length(&recording->timeline);

	json_open(json, '{');
	json_put_if(json, "pid", !is_sum, series->pid);
	json_put_if(json, "start_ns", !is_sum, series->start_ns);
	put_levels(json, series, length);
	put_values(json, "allocs", series->allocs, length);
	put_values(json, "alloc_bytes", series->alloc_bytes, length);
	put_values(json, "frees", series->frees, length);
	put_known(json, "launches", !report_not_captured(coverage, MS_OP_LAUNCH), series->launches,
		  length);
	put_known(json, "blocked_ns", !report_not_captured(coverage, MS_OP_SYNC),
		  series->blocked_ns, length);
	put_copies(json, series, !report_not_captured(coverage, MS_OP_COPY), length);
	json_close(json, '}');
}

void report_json_timeline(struct json *json, const struct report_recording *recording)
{
	const struct timeline *timeline = &recording->timeline;
	const size_t length = timeline_length(timeline);
	size_t i;

	json_name(json, "timeline");
	json_open(json, '{');
	json_put_if(json, "begin_ts_ns", length, timeline->begin_ns);
	json_put_if(json, "bucket_ns", length, timeline->width_ns);
	json_put_u64(json, "buckets", length);
	put_values(json, "lost", timeline->lost, length);
	json_name(json, "processes");
	json_open(json, '[');
	for (i = 0; i < recording->processes_count; i++)
		if (recording->processes[i].series)
			put_series(json, recording, recording->processes[i].series, false);
	/* Those that are not listed one by one. */
	if (timeline->more && !report_selects(&recording->options))
		put_series(json, recording, timeline->more, true);
	json_close(json, ']');
	json_close(json, '}');
}
