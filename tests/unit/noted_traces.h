/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A format of timelines that notes down what it is told, and in which order, of recordings of one
 * process with one thread.
 */
#ifndef MEMSCOPE_TESTS_NOTED_TRACES_H
#define MEMSCOPE_TESTS_NOTED_TRACES_H

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "export/traces.h"
#include "render/record_field.h"
#include "report_dump.h"

#define BASE 1000000000ull
#define PID 77
#define TID 78

/* ---- the format ------------------------------------------------------------------------------ */

struct noted {
	struct traces traces;
	struct writer writer;
	struct string log;
	size_t depth;
	uint64_t begun, ended, lanes, activities, gpu_flow, marks, marks_ended;
	char kernel[64];
	struct map devices;  /* a counter's id -> what was said of it last */
	uint64_t of_devices; /* how often something was */
};

static unsigned long long after(uint64_t ts_ns)
{
	return ts_ns - BASE;
}

static void note_begin(struct traces *traces)
{
	(void)traces;
}

static void note_process(struct traces *traces, const struct traces_process *process)
{
	struct noted *noted = (struct noted *)traces;

	string_append_format(&noted->log, "process %u %s%s\n", process->pid, process->name,
			     process->viewer_pid == process->pid ? "" : " again");
}

static void note_thread(struct traces *traces, const struct traces_thread *thread)
{
	struct noted *noted = (struct noted *)traces;

	if (noted->lanes < thread->lane)
		noted->lanes = thread->lane;
	if (*thread->name)
		string_append_format(&noted->log, "%s lane %u\n", thread->name, thread->lane);
	else
		string_append_format(&noted->log, "thread %u lane %u\n", thread->tid, thread->lane);
}

static void note_counter(struct traces *traces, const struct traces_counter *counter,
			 uint64_t ts_ns, uint64_t value)
{
	struct noted *noted = (struct noted *)traces;

	if (counter->process)
		string_append_format(&noted->log, "%s %llu: %llu\n", counter->name, after(ts_ns),
				     (unsigned long long)value);
	else
		assert_int_equal(map_set(&noted->devices, counter->id, value), 0);
	noted->of_devices += !counter->process;
}

static void note_slice(struct traces *traces, const struct traces_thread *thread,
		       const struct traces_slice *slice)
{
	struct noted *noted = (struct noted *)traces;
	const char *kernel = slice->source.change->kernel;

	string_append_format(&noted->log, "%.*s%u> %s %llu-%llu%s%s\n", (int)(noted->depth * 2),
			     "                                                  ", thread->lane,
			     slice->source.event->probe->symbol, after(slice->begin_ns),
			     after(slice->end_ns),
			     !slice->flow     ? "" :
			     slice->ends_flow ? " ends" :
						" begins",
			     slice->gpu_flow ? " to GPU" : "");
	if (slice->gpu_flow)
		noted->gpu_flow = slice->gpu_flow;
	if (kernel)
		snprintf(noted->kernel, sizeof(noted->kernel), "%s", kernel);
	noted->depth++;
	noted->begun++;
}

static void note_slice_end(struct traces *traces, const struct traces_thread *thread,
			   uint64_t end_ns)
{
	struct noted *noted = (struct noted *)traces;

	(void)thread;
	(void)end_ns;
	assert_true(noted->depth > 0);
	noted->depth--;
	noted->ended++;
}

static void note_activity_field(void *context, size_t field, struct field_value value)
{
	struct noted *noted = context;

	string_append_format(&noted->log, " %s", record_fields[field].name);
	if (record_fields[field].kind != FIELD_TEXT)
		string_append_format(&noted->log, "=%llu", (unsigned long long)value.number);
}

static void note_activity(struct traces *traces, const struct traces_thread *lane,
			  const struct traces_activity *activity)
{
	struct noted *noted = (struct noted *)traces;

	noted->activities++;
	if (lane->lane > noted->lanes)
		noted->lanes = lane->lane;
	string_append_format(&noted->log, "%s %u> %s %llu-%llu%s", lane->name, lane->lane,
			     activity->name, after(activity->begin_ns), after(activity->end_ns),
			     !activity->flow                   ? "" :
			     activity->flow == noted->gpu_flow ? " from the call" :
								 " from another");
	traces_activity_fields(activity, note_activity_field, noted);
	string_append_char(&noted->log, '\n');
}

static void note_mark_begin(struct traces *traces, const struct traces_thread *lane,
			    const char *name, uint64_t ts_ns)
{
	struct noted *noted = (struct noted *)traces;

	noted->marks++;
	string_append_format(&noted->log, "%s %u> %s %llu\n", lane->name, lane->lane, name,
			     after(ts_ns));
}

static void note_mark_end(struct traces *traces, const struct traces_thread *lane, uint64_t ts_ns)
{
	struct noted *noted = (struct noted *)traces;

	assert_true(noted->marks > noted->marks_ended);
	noted->marks_ended++;
	string_append_format(&noted->log, "%s %u< %llu\n", lane->name, lane->lane, after(ts_ns));
}

static void note_instant(struct traces *traces, const struct traces_instant *instant)
{
	struct noted *noted = (struct noted *)traces;

	string_append_format(&noted->log, "! %s %llu\n", instant->name, after(instant->ts_ns));
}

static void note_lost(struct traces *traces)
{
	string_append_text(&((struct noted *)traces)->log, "lost\n");
}

static const struct traces_format format = {
	.begin = note_begin,
	.process = note_process,
	.thread = note_thread,
	.counter = note_counter,
	.slice_begin = note_slice,
	.slice_end = note_slice_end,
	.activity = note_activity,
	.mark_begin = note_mark_begin,
	.mark_end = note_mark_end,
	.instant = note_instant,
	.lost = note_lost,
};

/* ---- recordings ------------------------------------------------------------------------------ */

static inline union record at(uint64_t begin, uint64_t end, union record record)
{
	return record_at(BASE + begin,
			 record_by(TID, record_of(PID, 5 * MS_START_NS,
						  record_taking(end - begin, record))));
}

static inline void begin(struct report_dump *dump)
{
	report_dump_init(dump, 1, "host");
	report_dump_segment(dump, BASE);
	report_dump_add(dump,
			record_at(BASE + 1, record_of(PID, 5 * MS_START_NS,
						      record_process(MS_TYPE_ATTACH, "a", 0))));
}

static inline void read_dump(struct report_dump *dump, struct noted *noted)
{
	struct report_reader reader = report_dump_reader();

	report_dump_end(dump, BASE + 1000000);
	memset(noted, 0, sizeof(*noted));
	noted->writer.fd = -1;
	traces_init(&noted->traces, &format, &noted->writer);
	reader.sink = &noted->traces.sink;
	report_dump_read(dump, &reader);
	assert_int_equal(noted->depth, 0);
	assert_int_equal(noted->begun, noted->ended);
	assert_int_equal(noted->marks, noted->marks_ended);
	traces_fini(&noted->traces);
	report_reader_fini(&reader);
	report_dump_fini(dump);
}

static inline void noted_fini(struct noted *noted)
{
	string_fini(&noted->log);
	map_fini(&noted->devices);
}

/* All that was told, but for how it begins. */
static inline void assert_told(struct report_dump *dump, const char *expected)
{
	static const char head[] = "process 77 a\n! tracing begins 1\n";
	struct noted noted;

	read_dump(dump, &noted);
	string_append_char(&noted.log, '\0');
	assert_memory_equal(noted.log.bytes, head, strlen(head));
	assert_string_equal(noted.log.bytes + strlen(head), expected);
	noted_fini(&noted);
}

#endif /* MEMSCOPE_TESTS_NOTED_TRACES_H */
