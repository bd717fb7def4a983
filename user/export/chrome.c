// SPDX-License-Identifier: BSD-2-Clause
/*
 * The trace event format of Chrome's about:tracing (JSON), which many viewers read: what
 * export/traces.h tells, event by event. Times are microseconds with three decimals.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "export/export.h"
#include "export/owners.h"
#include "export/trace_stacks.h"
#include "export/traces.h"
#include "render/json.h"
#include "render/record_field.h"
#include "render/stack_words.h"

struct chrome {
	struct traces traces;
	struct json json;
	struct string safe;
	struct map frames;       /* of one recording: a frame below another -> its number, below */
	size_t frames_recording; /* which one */
	uint64_t frames_count;   /* of all recordings */
	struct string frames_texts; /* what `stackFrames` is to hold */
};

/* ---- events ---------------------------------------------------------------------------------- */

static void put_us(struct json *json, const char *name, int64_t ns)
{
	const uint64_t size_ns = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	const unsigned int rest = size_ns % 1000;
	const char decimals[] = { '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
				  (char)('0' + rest % 10) };

	json_name(json, name);
	if (ns < 0)
		string_append_char(json->out, '-');
	string_append_u64(json->out, size_ns / 1000);
	string_append(json->out, decimals, sizeof(decimals));
	json->comma = true;
}

/* Most of what is written begins like this: piece by piece it would take a tenth of the time. */
static struct json *begin_event(struct chrome *export, char phase,
				const struct traces_process *process, uint64_t tid)
{
	const char head[] = { '{', '"', 'p', 'h', '"', ':', '"', phase, '"' };
	struct json *json = &export->json;

	if (json->comma)
		string_append_char(json->out, ',');
	string_append(json->out, head, sizeof(head));
	string_append(json->out, ",\"pid\":", 7);
	string_append_u64(json->out, process ? process->viewer_pid : 0);
	string_append(json->out, ",\"tid\":", 7);
	string_append_u64(json->out, tid);
	json->comma = true;
	return json;
}

static void put_time(struct chrome *export, uint64_t ts_ns)
{
	put_us(&export->json, "ts",
	       (int64_t)(ts_ns > INT64_MAX ? INT64_MAX : ts_ns) + traces_shift_ns(&export->traces));
}

static void end_event(struct chrome *export)
{
	json_close(&export->json, '}');
	string_append_char(export->json.out, '\n');
}

/* What has been made in `safe`, which may be nothing. */
static void put_made(struct chrome *export)
{
	json_text(&export->json, export->safe.length ? export->safe.bytes : "",
		  export->safe.length);
}

static void put_safe(struct chrome *export, const char *name, const char *text, size_t length)
{
	string_restart(&export->safe, &export->traces.err);
	field_append_safe(&export->safe, text, length);
	json_name(&export->json, name);
	put_made(export);
}

/* ---- traces ---------------------------------------------------------------------------------- */

static void put_whole(struct chrome *export)
{
	struct json *json = begin_event(export, 'M', NULL, 0);

	json_put_text(json, "name", "process_name");
	json_name(json, "args");
	json_open(json, '{');
	json_put_text(json, "name", "devices, and the recording itself");
	json_close(json, '}');
	end_event(export);
}

static void begin(struct traces *traces)
{
	struct chrome *export = (struct chrome *)traces;

	if (traces->recordings == 1)
		put_whole(export);
}

static void put_process(struct traces *traces, const struct traces_process *process)
{
	struct chrome *export = (struct chrome *)traces;
	const char *host = traces->recording->coverage.host;
	struct json *json = begin_event(export, 'M', process, process->pid);

	json_put_text(json, "name", "process_name");
	json_name(json, "args");
	json_open(json, '{');
	string_restart(&export->safe, &export->traces.err);
	field_append_safe(&export->safe, process->name, strlen(process->name));
	if (!*process->name)
		string_append_text(&export->safe, "process");
	if (process->viewer_pid != process->pid)
		string_append_format(&export->safe, " (%u)", process->pid);
	json_name(json, "name");
	put_made(export);
	json_close(json, '}');
	end_event(export);
	if (!host)
		return;
	json = begin_event(export, 'M', process, process->pid);
	json_put_text(json, "name", "process_labels");
	json_name(json, "args");
	json_open(json, '{');
	put_safe(export, "labels", host, strlen(host));
	json_close(json, '}');
	end_event(export);
}

#define TIDS_OF_STREAMS (1ull << 40)

/* Lanes of a thread, and streams, are threads to the viewer: beyond all that there are. */
static uint64_t tid_of(const struct traces_thread *thread)
{
	const uint64_t tid = (uint64_t)thread->lane << 32 | thread->tid;

	return *thread->name ? tid + TIDS_OF_STREAMS : tid;
}

static void put_thread(struct traces *traces, const struct traces_thread *thread)
{
	struct chrome *export = (struct chrome *)traces;
	struct json *json = begin_event(export, 'M', thread->process, tid_of(thread));

	json_put_text(json, "name", "thread_name");
	json_name(json, "args");
	json_open(json, '{');
	string_restart(&export->safe, &export->traces.err);
	if (*thread->name)
		string_append_text(&export->safe, thread->name);
	else
		string_append_format(&export->safe, "thread %u", thread->tid);
	if (thread->lane)
		string_append_text(&export->safe, ", overlapping");
	json_name(json, "name");
	put_made(export);
	json_close(json, '}');
	end_event(export);
}

static void put_counter(struct traces *traces, const struct traces_counter *counter, uint64_t ts_ns,
			uint64_t value)
{
	struct chrome *export = (struct chrome *)traces;
	const char *host = traces->recording->coverage.host;
	struct json *json = begin_event(export, 'C', counter->process, 0);

	string_restart(&export->safe, &export->traces.err);
	if (!counter->process && traces->recordings > 1 && host) {
		field_append_safe(&export->safe, host, strlen(host));
		string_append_text(&export->safe, ": ");
	}
	string_append_text(&export->safe, counter->name);
	json_name(json, "name");
	put_made(export);
	put_time(export, ts_ns);
	json_name(json, "args");
	json_open(json, '{');
	json_put_u64(json, counter->is_bytes ? "bytes" : "count", value);
	json_close(json, '}');
	end_event(export);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void put_field(void *context, size_t field, struct field_value value)
{
	json_put_field(context, fields[field].name, fields[field].kind, value);
}

/* The lines that tell the call stack apart, for viewers that do not know of stackFrames. */
static void put_stack_texts(struct chrome *export, const struct stack *stack)
{
	enum trace_stack_text text;

	for (text = 0; text < TRACE_STACK_FRAMES; text++) {
		string_restart(&export->safe, &export->traces.err);
		trace_stacks_append(&export->safe, &export->traces, stack, text);
		if (!export->safe.length)
			continue;
		json_name(&export->json, trace_stack_names[text]);
		put_made(export);
	}
}

static void put_fields(struct chrome *export, const struct traces_slice *slice)
{
	const struct stack *stack = trace_stacks_of(&export->traces, slice);

	traces_fields(&export->traces, slice, put_field, &export->json);
	if (stack)
		put_stack_texts(export, stack);
}

/* ---- call stacks ----------------------------------------------------------------------------- */

/*
 * A tree of frames, whose root is where threads begin, is written behind the events. Each place in
 * the tree has the name of its frame.
 */
#define FRAMES_MAX 65536
#define FRAMES_BYTES_MAX (16u << 20)

static void tell_frame(struct chrome *export, uint64_t number, uint64_t parent,
		       const struct frame *frame)
{
	struct json json = { .out = &export->frames_texts, .comma = number > 1 };
	char name[24];

	snprintf(name, sizeof(name), "%llu", (unsigned long long)number);
	json_name(&json, name);
	json_open(&json, '{');
	string_restart(&export->safe, &export->traces.err);
	stack_words_append(&export->safe, frame);
	json_name(&json, "name");
	json_text(&json, export->safe.bytes, export->safe.length);
	if (parent) {
		snprintf(name, sizeof(name), "%llu", (unsigned long long)parent);
		json_put_text(&json, "parent", name);
	}
	json_close(&json, '}');
}

/* The number of a frame that was called by the other; 0: there are too many. */
static uint64_t frame_number(struct chrome *export, uint64_t parent, const struct frame *frame)
{
	const uint64_t key = parent << 32 | (frame ? frame->id : 0);
	const uint64_t *found = map_get(&export->frames, key);

	if (found)
		return *found;
	if (export->frames_count == FRAMES_MAX || export->frames_texts.failed ||
	    export->frames_texts.length > FRAMES_BYTES_MAX)
		return 0;
	export->frames_count++;
	if (map_set(&export->frames, key, export->frames_count))
		export->traces.err = -ENOMEM;
	tell_frame(export, export->frames_count, parent, frame);
	return export->frames_count;
}

/* The number of the call's innermost frame; 0: it has no call stack, or there are too many. */
static uint64_t stack_number(struct chrome *export, const struct traces_slice *slice)
{
	const struct stacks *stacks = &export->traces.recording->state->stacks;
	const struct stack *stack = trace_stacks_of(&export->traces, slice);
	uint64_t number = 0;
	size_t i;

	if (export->frames_recording != export->traces.recordings)
		map_fini(&export->frames);
	export->frames_recording = export->traces.recordings;
	for (i = stack ? stack->count : 0; i; i--) {
		number = frame_number(export, number, stacks_frame(stacks, stack, i - 1));
		if (!number)
			return 0;
	}
	return number;
}

static void put_stack(struct chrome *export, const struct traces_slice *slice)
{
	const uint64_t number = stack_number(export, slice);

	if (number)
		json_put_u64(&export->json, "sf", number);
}

/* The same; `phase`: s begins, t goes on. */
static void put_gpu_flow(struct chrome *export, const struct traces_thread *thread, char phase,
			 uint64_t flow, uint64_t ts_ns)
{
	struct json *json = begin_event(export, phase, thread->process, tid_of(thread));

	json_put_text(json, "name", "to GPU");
	json_put_text(json, "cat", "gpu");
	json_name(json, "id");
	json_hex(json, flow);
	put_time(export, ts_ns);
	end_event(export);
}

/* Joined to the slice that is around its time. */
static void put_flow(struct chrome *export, const struct traces_thread *thread,
		     const struct traces_slice *slice)
{
	struct json *json =
		begin_event(export, slice->ends_flow ? 'f' : 's', thread->process, tid_of(thread));

	json_put_text(json, "name", "allocation");
	json_put_text(json, "cat", "allocation");
	json_name(json, "id");
	json_hex(json, slice->flow);
	if (slice->ends_flow)
		json_put_text(json, "bp", "e");
	put_time(export, slice->begin_ns);
	end_event(export);
}

static void put_slice(struct traces *traces, const struct traces_thread *thread,
		      const struct traces_slice *slice)
{
	struct chrome *export = (struct chrome *)traces;
	const struct probe *probe = slice->source.event->probe;
	struct json *json = begin_event(export, 'X', thread->process, tid_of(thread));
	const uint64_t dur_ns = slice->end_ns - slice->begin_ns;

	json_put_text(json, "name", probe->symbol);
	json_put_text(json, "cat", probe_op_name(probe->spec.op));
	put_time(export, slice->begin_ns);
	put_us(json, "dur", dur_ns > INT64_MAX ? INT64_MAX : (int64_t)dur_ns);
	put_stack(export, slice);
	json_name(json, "args");
	json_open(json, '{');
	put_fields(export, slice);
	json_close(json, '}');
	end_event(export);
	if (slice->flow)
		put_flow(export, thread, slice);
	if (slice->gpu_flow)
		put_gpu_flow(export, thread, 's', slice->gpu_flow, slice->begin_ns);
}

static void put_activity_field(void *context, size_t field, struct field_value value)
{
	json_put_field(context, record_fields[field].name, record_fields[field].kind, value);
}

static void put_activity(struct traces *traces, const struct traces_thread *lane,
			 const struct traces_activity *activity)
{
	struct chrome *export = (struct chrome *)traces;
	struct json *json = begin_event(export, 'X', lane->process, tid_of(lane));
	const uint64_t dur_ns = activity->end_ns - activity->begin_ns;

	put_safe(export, "name", activity->name, strlen(activity->name));
	json_put_text(json, "cat", "gpu");
	put_time(export, activity->begin_ns);
	put_us(json, "dur", dur_ns > INT64_MAX ? INT64_MAX : (int64_t)dur_ns);
	json_name(json, "args");
	json_open(json, '{');
	traces_activity_fields(activity, put_activity_field, json);
	json_close(json, '}');
	end_event(export);
	if (activity->flow)
		put_gpu_flow(export, lane, 't', activity->flow, activity->begin_ns);
}

/* A slice has its end with it. */
static void end_slice(struct traces *traces, const struct traces_thread *thread, uint64_t end_ns)
{
	(void)traces;
	(void)thread;
	(void)end_ns;
}

static void put_mark_begin(struct traces *traces, const struct traces_thread *lane,
			   const char *name, uint64_t ts_ns)
{
	struct chrome *export = (struct chrome *)traces;
	struct json *json = begin_event(export, 'B', lane->process, tid_of(lane));

	put_safe(export, "name", name, strlen(name));
	json_put_text(json, "cat", "marker");
	put_time(export, ts_ns);
	end_event(export);
}

static void put_mark_end(struct traces *traces, const struct traces_thread *lane, uint64_t ts_ns)
{
	struct chrome *export = (struct chrome *)traces;

	begin_event(export, 'E', lane->process, tid_of(lane));
	put_time(export, ts_ns);
	end_event(export);
}

static void put_instant(struct traces *traces, const struct traces_instant *instant)
{
	struct chrome *export = (struct chrome *)traces;
	struct json *json = begin_event(export, 'i', instant->process,
					instant->thread ? tid_of(instant->thread) : 0);

	json_put_text(json, "s", instant->thread ? "t" : instant->process ? "p" : "g");
	json_put_text(json, "name", instant->name);
	put_time(export, instant->ts_ns);
	if (instant->slice)
		put_stack(export, instant->slice);
	json_name(json, "args");
	json_open(json, '{');
	if (instant->key)
		json_put_u64(json, instant->key, instant->value);
	if (instant->slice)
		put_fields(export, instant->slice);
	json_close(json, '}');
	end_event(export);
}

/* ---- the exporter ---------------------------------------------------------------------------- */

static const struct traces_format format = {
	.begin = begin,
	.process = put_process,
	.thread = put_thread,
	.counter = put_counter,
	.slice_begin = put_slice,
	.slice_end = end_slice,
	.activity = put_activity,
	.mark_begin = put_mark_begin,
	.mark_end = put_mark_end,
	.instant = put_instant,
};

static void free_chrome(struct sink *sink)
{
	struct chrome *export = (struct chrome *)sink;

	traces_fini(&export->traces);
	string_fini(&export->safe);
	string_fini(&export->frames_texts);
	map_fini(&export->frames);
	free(export);
}

static struct sink *begin_chrome(const struct export_options *options)
{
	struct chrome *export = calloc(1, sizeof(*export));

	if (!export) {
		log_error("not enough memory");
		return NULL;
	}
	traces_init(&export->traces, &format, options->writer);
	export->json.out = &options->writer->text;
	json_open(&export->json, '{');
	json_put_text(&export->json, "displayTimeUnit", "ns");
	json_name(&export->json, "traceEvents");
	json_open(&export->json, '[');
	return &export->traces.sink;
}

static int put_remark(void *context, const char *text)
{
	struct chrome *export = context;

	json_text(&export->json, text, strlen(text));
	return writer_flush_large(export->traces.writer);
}

static int finish_chrome(struct sink *sink, const struct report *report)
{
	struct chrome *export = (struct chrome *)sink;
	struct json *json = &export->json;
	int err;

	json_close(json, ']');
	if (export->frames_count) {
		json_name(json, "stackFrames");
		json_open(json, '{');
		string_append(json->out, export->frames_texts.bytes, export->frames_texts.length);
		json_close(json, '}');
	}
	json_name(json, "otherData");
	json_open(json, '{');
	json_put_text(json, "recorded_by", "memscope-bpf " MEMSCOPE_VERSION);
	json_put_text(json, "clock", "CLOCK_MONOTONIC of the first recording's host");
	json_name(json, "remarks");
	json_open(json, '[');
	err = owners_remarks(report, put_remark, export);
	json_close(json, ']');
	json_close(json, '}');
	json_close(json, '}');
	string_append_char(json->out, '\n');
	string_restart(&export->safe, &export->traces.err);
	string_restart(&export->traces.scratch, &export->traces.err);
	string_restart(&export->frames_texts, &export->traces.err);
	err = err ? err : export->traces.err;
	if (err == -ENOMEM)
		log_error("not enough memory");
	return err;
}

const struct exporter export_chrome = {
	.name = "chrome",
	.endings = ".json",
	.summary = "the same as JSON, for about:tracing and other readers of its trace events",
	.begin = begin_chrome,
	.finish = finish_chrome,
	.free = free_chrome,
};
