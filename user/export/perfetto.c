// SPDX-License-Identifier: BSD-2-Clause
/*
 * A trace for Perfetto (google/perfetto, protos/perfetto/trace): what export/traces.h tells, as
 * packets of one sequence, written as they come. Times are CLOCK_MONOTONIC, those of further
 * recordings CLOCK_REALTIME; readers convert by the clock snapshot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "export/export.h"
#include "export/owners.h"
#include "export/perfetto_fields.h"
#include "export/perfetto_packets.h"
#include "export/traces.h"
#include "export/protobuf.h"
#include "render/record_field.h"
#include "render/report_words.h"

#define WHOLE_TRACK 1 /* the recording itself */

/* ---- times ----------------------------------------------------------------------------------- */

static bool is_on_wall(const struct perfetto *export)
{
	return export->traces.recordings > 1 && export->traces.first_wall_known &&
	       export->traces.recording->coverage.wall_known;
}

static void put_time(struct perfetto *export, uint64_t ts_ns)
{
	const bool wall = is_on_wall(export);

	if (wall)
		ts_ns += export->traces.recording->coverage.wall_offset_ns;
	protobuf_put_u64(out_of(export), PACKET_TIMESTAMP, ts_ns > INT64_MAX ? INT64_MAX : ts_ns);
	protobuf_put_u64(out_of(export), PACKET_CLOCK_ID, wall ? CLOCK_REAL : CLOCK_MONO);
}

static uint64_t intern_name(struct perfetto *export, const char *name)
{
	return perfetto_packets_intern(export, &export->names, INTERNED_EVENT_NAMES, name,
				       strlen(name));
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static void put_clock(struct string *out, uint32_t id, uint64_t ts_ns)
{
	size_t clock = protobuf_begin(out, SNAPSHOT_CLOCKS);

	protobuf_put_u64(out, CLOCK_ID, id);
	protobuf_put_u64(out, CLOCK_TIMESTAMP, ts_ns);
	protobuf_end(out, clock);
}

static void put_snapshot(struct perfetto *export)
{
	const struct report_coverage *coverage = &export->traces.recording->coverage;
	struct string *out = out_of(export);
	size_t packet = perfetto_packets_begin(export);
	size_t snapshot = protobuf_begin(out, PACKET_CLOCK_SNAPSHOT);

	put_clock(out, CLOCK_MONO, coverage->account.first_ts_ns);
	if (coverage->wall_known)
		put_clock(out, CLOCK_REAL,
			  coverage->account.first_ts_ns + coverage->wall_offset_ns);
	if (coverage->boot_known)
		put_clock(out, CLOCK_BOOT,
			  coverage->account.first_ts_ns + coverage->boot_offset_ns);
	protobuf_put_u64(out, SNAPSHOT_PRIMARY, coverage->boot_known ? CLOCK_BOOT : CLOCK_MONO);
	protobuf_end(out, snapshot);
	protobuf_end(out, packet);
}

static void begin(struct traces *traces)
{
	struct perfetto *export = (struct perfetto *)traces;

	if (export->begun)
		return;
	export->begun = true;
	put_snapshot(export);
	perfetto_packets_clear(export, true);
}

static void lost(struct traces *traces)
{
	struct perfetto *export = (struct perfetto *)traces;
	size_t packet = perfetto_packets_begin(export);

	protobuf_put_u64(out_of(export), PACKET_PREVIOUS_DROPPED, 1);
	protobuf_end(out_of(export), packet);
	/* Readers take nothing for granted that was interned before. */
	perfetto_packets_clear(export, false);
}

/* ---- traces ---------------------------------------------------------------------------------- */

static size_t begin_track(struct perfetto *export, size_t *packet, uint64_t uuid)
{
	size_t track;

	*packet = perfetto_packets_begin(export);
	track = protobuf_begin(out_of(export), PACKET_TRACK_DESCRIPTOR);
	protobuf_put_u64(out_of(export), TRACK_UUID, uuid);
	return track;
}

/* When the process was started, on the trace's clock; 0: of another host, not known there. */
static uint64_t start_of(const struct perfetto *export, const struct traces_process *process)
{
	return export->traces.recordings == 1 ? process->start_ns : 0;
}

/* Processes of different hosts can have the same pid in several recordings. */
static uint64_t pid_of(const struct perfetto *export, const struct traces_process *process)
{
	return export->traces.recordings == 1 ? process->pid : process->viewer_pid;
}

static void put_process(struct traces *traces, const struct traces_process *process)
{
	struct perfetto *export = (struct perfetto *)traces;
	const char *host = traces->recording->coverage.host;
	struct string *out = out_of(export), *safe = &export->safe;
	size_t packet, track = begin_track(export, &packet, process->id);
	size_t descriptor = protobuf_begin(out, TRACK_PROCESS);

	protobuf_put_u64(out, PROCESS_PID, pid_of(export, process));
	string_restart(safe, &export->traces.err);
	field_append_safe(safe, process->name, strlen(process->name));
	if (!*process->name)
		string_append_text(safe, "process");
	if (pid_of(export, process) != process->pid)
		string_append_format(safe, " (%u)", process->pid);
	protobuf_put_bytes(out, PROCESS_NAME, safe->bytes, safe->length);
	if (start_of(export, process))
		protobuf_put_u64(out, PROCESS_START, start_of(export, process));
	if (host) {
		string_restart(safe, &export->traces.err);
		string_append_text(safe, "host ");
		field_append_safe(safe, host, strlen(host));
		protobuf_put_bytes(out, PROCESS_LABELS, safe->bytes, safe->length);
	}
	protobuf_end(out, descriptor);
	protobuf_end(out, track);
	protobuf_end(out, packet);
}

static void put_thread(struct traces *traces, const struct traces_thread *thread)
{
	struct perfetto *export = (struct perfetto *)traces;
	struct string *out = out_of(export);
	size_t packet, track = begin_track(export, &packet, thread->id);
	size_t descriptor;

	protobuf_put_u64(out, TRACK_PARENT, thread->process->id);
	if (thread->lane || *thread->name) {
		string_restart(&export->safe, &export->traces.err);
		if (*thread->name)
			string_append_text(&export->safe, thread->name);
		else
			string_append_format(&export->safe, "thread %u", thread->tid);
		if (thread->lane)
			string_append_text(&export->safe, ", overlapping");
		protobuf_put_bytes(out, TRACK_NAME, export->safe.bytes, export->safe.length);
		protobuf_end(out, track);
		protobuf_end(out, packet);
		return;
	}
	descriptor = protobuf_begin(out, TRACK_THREAD);
	protobuf_put_u64(out, THREAD_PID, pid_of(export, thread->process));
	protobuf_put_u64(out, THREAD_TID, thread->tid);
	protobuf_end(out, descriptor);
	protobuf_end(out, track);
	protobuf_end(out, packet);
}

static void put_counter_track(struct perfetto *export, const struct traces_counter *counter)
{
	const char *host = export->traces.recording->coverage.host;
	struct string *out = out_of(export), *safe = &export->safe;
	size_t packet, track = begin_track(export, &packet, counter->id), descriptor;

	string_restart(safe, &export->traces.err);
	if (!counter->process && export->traces.recordings > 1 && host) {
		field_append_safe(safe, host, strlen(host));
		string_append_text(safe, ": ");
	}
	string_append_text(safe, counter->name);
	protobuf_put_bytes(out, TRACK_NAME, safe->bytes, safe->length);
	if (counter->process)
		protobuf_put_u64(out, TRACK_PARENT, counter->process->id);
	descriptor = protobuf_begin(out, TRACK_COUNTER);
	protobuf_put_u64(out, COUNTER_UNIT, counter->is_bytes ? UNIT_BYTES : UNIT_COUNT);
	if (counter->share)
		protobuf_put_text(out, COUNTER_SHARE, counter->share);
	protobuf_end(out, descriptor);
	protobuf_end(out, track);
	protobuf_end(out, packet);
}

/* ---- events ---------------------------------------------------------------------------------- */

static size_t begin_event(struct perfetto *export, size_t *packet, uint64_t ts_ns, uint32_t type,
			  uint64_t track)
{
	struct string *out = out_of(export);
	size_t event;

	*packet = perfetto_packets_begin(export);
	put_time(export, ts_ns);
	protobuf_put_u64(out, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
	event = protobuf_begin(out, PACKET_TRACK_EVENT);
	protobuf_put_u64(out, EVENT_TYPE, type);
	protobuf_put_u64(out, EVENT_TRACK, track);
	return event;
}

static void end_event(struct perfetto *export, size_t packet, size_t event)
{
	protobuf_end(out_of(export), event);
	protobuf_end(out_of(export), packet);
}

static void put_counter(struct traces *traces, const struct traces_counter *counter, uint64_t ts_ns,
			uint64_t value)
{
	struct perfetto *export = (struct perfetto *)traces;
	size_t packet, event;

	if (counter->is_new)
		put_counter_track(export, counter);
	event = begin_event(export, &packet, ts_ns, TYPE_COUNTER, counter->id);
	protobuf_put_u64(out_of(export), EVENT_COUNTER_VALUE,
			 value > INT64_MAX ? INT64_MAX : value);
	end_event(export, packet, event);
}

static bool is_scratch(const struct perfetto *export, const char *text)
{
	const struct string *scratch = &export->traces.scratch;

	return scratch->bytes && text >= scratch->bytes && text < scratch->bytes + scratch->length;
}

static void put_text_value(struct perfetto *export, struct string *out, struct field_value value)
{
	if (is_scratch(export, value.text)) {
		string_restart(&export->safe, &export->traces.err);
		field_append_safe(&export->safe, value.text, value.length);
		protobuf_put_bytes(out, ANNOTATION_STRING, export->safe.bytes, export->safe.length);
		return;
	}
	protobuf_put_u64(out, ANNOTATION_STRING_IID,
			 perfetto_packets_intern(export, &export->texts, INTERNED_STRINGS,
						 value.text, value.length));
}

/* In words, as there is no type for it. */
static void put_words(struct perfetto *export, struct string *out, enum field_kind kind,
		      struct field_value value)
{
	struct string *safe = &export->safe;
	size_t i;

	string_restart(safe, &export->traces.err);
	for (i = 0; kind == FIELD_DIMS && i < 3; i++) {
		string_append(safe, " x ", i ? 3 : 0);
		string_append_u64(safe, value.dims[i]);
	}
	if (kind != FIELD_DIMS)
		field_append_amounts(safe, value.amounts, "", true);
	protobuf_put_bytes(out, ANNOTATION_STRING, safe->bytes, safe->length);
}

/* Into a string of their own: what they intern must be written before the packet is begun. */
static void put_annotation(struct perfetto *export, uint64_t number, enum field_kind kind,
			   struct field_value value)
{
	struct string *out = &export->annotations;
	size_t annotation = protobuf_begin(out, EVENT_ANNOTATIONS);

	protobuf_put_u64(out, ANNOTATION_NAME_IID, number);
	switch (kind) {
	case FIELD_TIME:
	case FIELD_COUNT:
	case FIELD_SIZE:
	case FIELD_DURATION:
		protobuf_put_u64(out, ANNOTATION_UINT, value.number);
		break;
	case FIELD_SIGNED:
		protobuf_put_i64(out, ANNOTATION_INT, value.signed_number);
		break;
	case FIELD_ADDRESS:
		protobuf_put_u64(out, ANNOTATION_POINTER, value.number);
		break;
	case FIELD_TEXT:
		put_text_value(export, out, value);
		break;
	case FIELD_FLAG:
		protobuf_put_u64(out, ANNOTATION_BOOL, value.number != 0);
		break;
	case FIELD_DIMS:
	case FIELD_AMOUNTS:
		put_words(export, out, kind, value);
		break;
	case FIELD_IDENTITY: /* no call has it */
		break;
	}
	protobuf_end(out, annotation);
}

static void put_field(void *context, size_t field, struct field_value value)
{
	put_annotation(context, FIELD_NUMBER(field), fields[field].kind, value);
}

static void put_activity_field(void *context, size_t field, struct field_value value)
{
	put_annotation(context, RECORD_FIELD_NUMBER(field), record_fields[field].kind, value);
}

static void put_stack(struct perfetto *export, const struct stack *stack)
{
	enum trace_stack_text text;

	for (text = 0; text < TRACE_STACK_TEXTS; text++) {
		const uint64_t number = perfetto_packets_intern_stack(export, stack, text);
		size_t annotation;

		if (!number)
			continue;
		annotation = protobuf_begin(&export->annotations, EVENT_ANNOTATIONS);
		protobuf_put_u64(&export->annotations, ANNOTATION_NAME_IID, STACK_NUMBER(text));
		protobuf_put_u64(&export->annotations, ANNOTATION_STRING_IID, number);
		protobuf_end(&export->annotations, annotation);
	}
}

static void make_annotations(struct perfetto *export, const struct traces_slice *slice)
{
	const struct stack *stack = trace_stacks_of(&export->traces, slice);

	string_restart(&export->annotations, &export->traces.err);
	traces_fields(&export->traces, slice, put_field, export);
	if (stack)
		put_stack(export, stack);
	if (export->annotations.failed)
		export->traces.err = -ENOMEM;
}

static void append_annotations(struct perfetto *export)
{
	string_append(out_of(export), export->annotations.bytes, export->annotations.length);
}

static void put_slice_begin(struct traces *traces, const struct traces_thread *thread,
			    const struct traces_slice *slice)
{
	struct perfetto *export = (struct perfetto *)traces;
	const uint64_t name = intern_name(export, slice->source.event->probe->symbol);
	size_t packet, event;

	make_annotations(export, slice);
	event = begin_event(export, &packet, slice->begin_ns, TYPE_BEGIN, thread->id);
	protobuf_put_u64(out_of(export), EVENT_NAME_IID, name);
	if (slice->flow)
		protobuf_put_fixed64(out_of(export),
				     slice->ends_flow ? EVENT_LAST_FLOW : EVENT_FLOW, slice->flow);
	if (slice->gpu_flow)
		protobuf_put_fixed64(out_of(export), EVENT_FLOW, slice->gpu_flow);
	append_annotations(export);
	end_event(export, packet, event);
}

static void put_slice_end(struct traces *traces, const struct traces_thread *thread,
			  uint64_t end_ns)
{
	struct perfetto *export = (struct perfetto *)traces;
	size_t packet, event = begin_event(export, &packet, end_ns, TYPE_END, thread->id);

	end_event(export, packet, event);
}

static void put_activity(struct traces *traces, const struct traces_thread *lane,
			 const struct traces_activity *activity)
{
	struct perfetto *export = (struct perfetto *)traces;
	const uint64_t name = intern_name(export, activity->name);
	size_t packet, event;

	string_restart(&export->annotations, &export->traces.err);
	traces_activity_fields(activity, put_activity_field, export);
	if (export->annotations.failed)
		export->traces.err = -ENOMEM;
	event = begin_event(export, &packet, activity->begin_ns, TYPE_BEGIN, lane->id);
	protobuf_put_u64(out_of(export), EVENT_NAME_IID, name);
	if (activity->flow)
		protobuf_put_fixed64(out_of(export), EVENT_FLOW, activity->flow);
	append_annotations(export);
	end_event(export, packet, event);
	put_slice_end(traces, lane, activity->end_ns);
}

static void put_mark_begin(struct traces *traces, const struct traces_thread *lane,
			   const char *name, uint64_t ts_ns)
{
	struct perfetto *export = (struct perfetto *)traces;
	const uint64_t number = intern_name(export, name);
	size_t packet, event = begin_event(export, &packet, ts_ns, TYPE_BEGIN, lane->id);

	protobuf_put_u64(out_of(export), EVENT_NAME_IID, number);
	end_event(export, packet, event);
}

static void put_whole_track(struct perfetto *export)
{
	size_t packet, track;

	if (export->has_whole)
		return;
	export->has_whole = true;
	track = begin_track(export, &packet, WHOLE_TRACK);
	protobuf_put_text(out_of(export), TRACK_NAME, "recording: losses and remarks");
	protobuf_end(out_of(export), track);
	protobuf_end(out_of(export), packet);
}

static uint64_t process_activity_of(struct perfetto *export, const struct traces_instant *instant)
{
	if (instant->thread)
		return instant->thread->id;
	if (instant->process)
		return instant->process->id;
	put_whole_track(export);
	return WHOLE_TRACK;
}

static void put_instant(struct traces *traces, const struct traces_instant *instant)
{
	struct perfetto *export = (struct perfetto *)traces;
	struct string *out = out_of(export);
	const uint64_t track = process_activity_of(export, instant);
	size_t packet, event, annotation;

	string_restart(&export->annotations, &export->traces.err);
	if (instant->slice)
		make_annotations(export, instant->slice);
	event = begin_event(export, &packet, instant->ts_ns, TYPE_INSTANT, track);
	protobuf_put_text(out, EVENT_NAME, instant->name);
	if (instant->key) {
		annotation = protobuf_begin(out, EVENT_ANNOTATIONS);
		protobuf_put_text(out, ANNOTATION_NAME, instant->key);
		protobuf_put_u64(out, ANNOTATION_UINT, instant->value);
		protobuf_end(out, annotation);
	}
	append_annotations(export);
	end_event(export, packet, event);
}

/* ---- the exporter ---------------------------------------------------------------------------- */

static const struct traces_format format = {
	.begin = begin,
	.process = put_process,
	.thread = put_thread,
	.counter = put_counter,
	.slice_begin = put_slice_begin,
	.slice_end = put_slice_end,
	.activity = put_activity,
	.mark_begin = put_mark_begin,
	.mark_end = put_slice_end,
	.instant = put_instant,
	.lost = lost,
};

static void free_perfetto(struct sink *sink)
{
	struct perfetto *export = (struct perfetto *)sink;

	traces_fini(&export->traces);
	map_fini(&export->names);
	map_fini(&export->texts);
	string_fini(&export->annotations);
	string_fini(&export->safe);
	free(export);
}

static struct sink *begin_perfetto(const struct export_options *options)
{
	struct perfetto *export = calloc(1, sizeof(*export));

	if (!export) {
		log_error("not enough memory");
		return NULL;
	}
	traces_init(&export->traces, &format, options->writer);
	return &export->traces.sink;
}

static int put_remark(void *context, const char *text)
{
	struct perfetto *export = context;
	const struct traces_instant instant = { .ts_ns = report_end_ns(export->traces.recording),
						.name = text };

	put_instant(&export->traces, &instant);
	return writer_flush_large(export->traces.writer);
}

static int finish_perfetto(struct sink *sink, const struct report *report)
{
	struct perfetto *export = (struct perfetto *)sink;
	int err = report->count ? owners_remarks(report, put_remark, export) : 0;

	string_restart(&export->safe, &export->traces.err);
	string_restart(&export->traces.scratch, &export->traces.err);
	err = err ? err : export->traces.err;
	if (err == -ENOMEM)
		log_error("not enough memory");
	return err;
}

const struct exporter export_perfetto = {
	.name = "perfetto",
	.endings = ".pftrace .perfetto-trace .perfetto",
	.summary = "a trace for the Perfetto UI: live bytes as counters, calls as slices of their"
		   " threads",
	.binary = true,
	.begin = begin_perfetto,
	.finish = finish_perfetto,
	.free = free_perfetto,
};
