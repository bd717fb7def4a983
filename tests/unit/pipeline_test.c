// SPDX-License-Identifier: BSD-2-Clause
#include "records.h"

#include <errno.h>

#include "pipeline.h"

#define A 0x7f0000001000
#define EVERY_OP ((1u << MS_OPS_COUNT) - 1)

/* Remembers what it is given, and fails when it is told to. */
struct recorder {
	struct sink sink;
	uint64_t events, flushes, finishes;
	uint16_t types[32];
	uint64_t live_bytes[32];
	const struct summary *summary;
	int event_err, flush_err, finish_err;
};

static int recorder_event(struct sink *sink, const struct event *event, const struct change *change)
{
	struct recorder *recorder = (struct recorder *)sink;

	recorder->types[recorder->events % 32] = event->header->type;
	recorder->live_bytes[recorder->events % 32] = change->live_bytes;
	recorder->events++;
	return recorder->event_err;
}

static int recorder_flush(struct sink *sink)
{
	struct recorder *recorder = (struct recorder *)sink;

	recorder->flushes++;
	return recorder->flush_err;
}

static int recorder_finish(struct sink *sink, const struct summary *summary)
{
	struct recorder *recorder = (struct recorder *)sink;

	recorder->finishes++;
	recorder->summary = summary;
	return recorder->finish_err;
}

#define RECORDER \
	{ \
		.sink = { \
			.call = recorder_event, \
			.process = recorder_event, \
			.flush = recorder_flush, \
			.end = recorder_finish \
		} \
	}

/* ---- a pipeline with two of them ------------------------------------------------------------- */

struct fixture {
	struct recorder first, second;
	struct pipeline pipeline;
};

static int setup(void **state)
{
	static struct fixture fixture;

	fixture = (struct fixture){ .first = RECORDER, .second = RECORDER };
	fixture.pipeline = (struct pipeline){ .filter = { .ops = EVERY_OP } };
	pipeline_add_sink(&fixture.pipeline, &fixture.first.sink);
	pipeline_add_sink(&fixture.pipeline, &fixture.second.sink);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	state_fini(&fixture->pipeline.state);
	filter_fini(&fixture->pipeline.filter);
	return 0;
}

static int feed(struct fixture *fixture, union record record)
{
	return pipeline_feed(&fixture->pipeline, &record, record.event.size);
}

static uint64_t filtered(const struct fixture *fixture)
{
	uint64_t sum = 0;
	int op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		sum += fixture->pipeline.filtered[op];
	return sum;
}

/* ---- records --------------------------------------------------------------------------------- */

static void test_every_sink_gets_calls_and_processes(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(feed(fixture, record_attach_running()), 0);
	assert_int_equal(feed(fixture, record_alloc("cudaMalloc", A, 100)), 0);
	assert_int_equal(feed(fixture, record_launch("cuLaunchKernel", 0x1234)), 0);
	assert_int_equal(feed(fixture, record_process(MS_TYPE_FORK, "program", 0)), 0);
	assert_int_equal(feed(fixture, record_process(MS_TYPE_EXEC, "program", 0)), 0);
	assert_int_equal(feed(fixture, record_exit(0)), 0);
	assert_int_equal(fixture->first.events, 6);
	assert_int_equal(fixture->second.events, 6);
	assert_int_equal(fixture->first.types[0], MS_TYPE_ATTACH);
	assert_int_equal(fixture->first.types[1], MS_TYPE_CALL);
	assert_int_equal(fixture->first.types[2], MS_TYPE_LAUNCH);
	assert_int_equal(fixture->first.types[5], MS_TYPE_EXIT);
	assert_int_equal(fixture->pipeline.shown, 2); /* calls only */
}

static void test_counted_launches_are_accounted_for_and_not_shown(void **state)
{
	struct fixture *fixture = *state;

	feed(fixture, record_launches("cuLaunchKernel", 0x1234, 1000));
	assert_int_equal(fixture->first.events, 0);
	assert_int_equal(fixture->pipeline.shown, 1000);
	fixture->pipeline.filter.ops &= ~(1u << MS_OP_LAUNCH);
	feed(fixture, record_launches("cuLaunchKernel", 0x1234, 10));
	assert_int_equal(fixture->pipeline.shown, 1000);
	assert_int_equal(filtered(fixture), 10);
	assert_int_equal(fixture->first.events, 0);
}

static void test_a_process_exits_once(void **state)
{
	struct fixture *fixture = *state;

	feed(fixture, record_exit(3));
	feed(fixture, record_exit(3));
	assert_int_equal(fixture->first.events, 1);
}

static void test_names_and_beginnings_of_frees_stay_inside(void **state)
{
	struct fixture *fixture = *state;

	feed(fixture, record_alloc("cudaMalloc", A, 100));
	feed(fixture, record_name(0x1234, "kernel"));
	feed(fixture, record_free_begin(A));
	assert_int_equal(fixture->first.events, 1);
	assert_int_equal(fixture->pipeline.shown, 1);
	assert_int_equal(filtered(fixture), 0);
	assert_int_equal(fixture->pipeline.refused, 0);
}

static void test_sinks_see_the_state_after_the_event(void **state)
{
	struct fixture *fixture = *state;

	feed(fixture, record_alloc("cudaMalloc", A, 100));
	feed(fixture, record_alloc("cudaMalloc", A + 4096, 10));
	feed(fixture, record_free_begin(A));
	feed(fixture, record_free("cudaFree", A));
	assert_int_equal(fixture->first.live_bytes[0], 100);
	assert_int_equal(fixture->first.live_bytes[1], 110);
	assert_int_equal(fixture->first.live_bytes[2], 10);
}

static void test_what_is_filtered_is_counted_and_in_the_ledger(void **state)
{
	struct fixture *fixture = *state;

	fixture->pipeline.filter.min_bytes = 50;
	feed(fixture, record_alloc("cudaMalloc", A, 100));
	feed(fixture, record_alloc("cudaMalloc", A + 4096, 10));
	assert_int_equal(fixture->first.events, 1);
	assert_int_equal(fixture->pipeline.shown, 1);
	assert_int_equal(filtered(fixture), 1);
	assert_int_equal(fixture->pipeline.state.processes[0]->spaces[MS_SPACE_DEVICE].live_bytes,
			 110);
}

static void test_processes_are_not_filtered(void **state)
{
	struct fixture *fixture = *state;

	fixture->pipeline.filter.ops = 0;
	feed(fixture, record_attach_running());
	feed(fixture, record_alloc("cudaMalloc", A, 100));
	assert_int_equal(fixture->first.events, 1);
	assert_int_equal(filtered(fixture), 1);
}

static void test_what_cannot_be_decoded_is_refused_and_counted(void **state)
{
	struct fixture *fixture = *state;
	union record record = record_alloc("cudaMalloc", A, 100);

	assert_int_equal(pipeline_feed(&fixture->pipeline, &record, 10), 0);
	record.call.row = MS_NO_ROW;
	assert_int_equal(feed(fixture, record), 0);
	assert_int_equal(fixture->pipeline.refused, 2);
	assert_int_equal(fixture->pipeline.shown, 0);
	assert_int_equal(fixture->first.events, 0);
	assert_int_equal(fixture->pipeline.state.processes_count, 0);
}

static size_t records_seen, ticks_seen;

static int note_record(struct sink *sink, const struct event *event)
{
	assert_non_null(sink->state);
	/* It has not been applied yet. */
	assert_int_equal(sink->state->allocations, records_seen);
	assert_non_null(event->header);
	records_seen++;
	return 0;
}

static int note_tick(struct sink *sink, uint64_t now_ns)
{
	(void)sink;
	(void)now_ns;
	ticks_seen++;
	return 0;
}

static void test_raw_records_and_time(void **state)
{
	struct fixture *fixture = *state;
	union record refused = record_alloc("cudaMalloc", A, 100);

	records_seen = ticks_seen = 0;
	fixture->second.sink.record = note_record;
	fixture->second.sink.tick = note_tick;
	fixture->pipeline.filter.ops = 0;
	assert_int_equal(feed(fixture, record_alloc("cudaMalloc", A, 100)), 0);
	assert_int_equal(feed(fixture, record_alloc("cudaMalloc", A + 4096, 100)), 0);
	refused.event.type = MS_TYPES_COUNT;
	assert_int_equal(feed(fixture, refused), 0);
	assert_int_equal(records_seen, 2);
	assert_int_equal(fixture->second.events, 0);
	assert_int_equal(pipeline_tick(&fixture->pipeline, 5000000000), 0);
	assert_int_equal(pipeline_tick(&fixture->pipeline, 5900000000), 0);
	assert_int_equal(pipeline_tick(&fixture->pipeline, 6000000000), 0);
	assert_int_equal(ticks_seen, 2);
}

static void test_no_sinks_and_sinks_without_functions(void **state)
{
	struct fixture *fixture = *state;
	struct summary summary = { 0 };

	fixture->first.sink = (struct sink){ 0 };
	fixture->pipeline.sinks_count = 1;
	assert_int_equal(feed(fixture, record_alloc("cudaMalloc", A, 100)), 0);
	assert_int_equal(pipeline_flush(&fixture->pipeline), 0);
	fixture->pipeline.sinks_count = 0;
	assert_int_equal(feed(fixture, record_alloc("cudaMalloc", A + 4096, 100)), 0);
	assert_int_equal(pipeline_finish(&fixture->pipeline, &summary), 0);
	assert_int_equal(summary.shown, 2);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void test_the_first_error_of_a_sink_sticks(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(feed(fixture, record_call("cudaDeviceSynchronize")), 0);
	fixture->second.event_err = -ENOSPC;
	assert_int_equal(feed(fixture, record_call("cudaDeviceSynchronize")), -ENOSPC);
	fixture->second.event_err = 0;
	assert_int_equal(feed(fixture, record_call("cudaDeviceSynchronize")), -ENOSPC);
	fixture->first.event_err = -EIO;
	assert_int_equal(feed(fixture, record_call("cudaDeviceSynchronize")), -ENOSPC);
	assert_int_equal(pipeline_flush(&fixture->pipeline), -ENOSPC);
}

/* One that fails does not keep the others from their events. */
static void test_other_sinks_go_on(void **state)
{
	struct fixture *fixture = *state;

	fixture->first.event_err = -EPIPE;
	fixture->first.flush_err = -EPIPE;
	feed(fixture, record_call("cudaDeviceSynchronize"));
	feed(fixture, record_call("cudaDeviceSynchronize"));
	pipeline_flush(&fixture->pipeline);
	assert_int_equal(fixture->second.events, 2);
	assert_int_equal(fixture->second.flushes, 1);
}

static void test_errors_of_flush_and_finish(void **state)
{
	struct fixture *fixture = *state;
	struct summary summary = { 0 };

	assert_int_equal(pipeline_flush(&fixture->pipeline), 0);
	assert_int_equal(fixture->first.flushes, 1);
	fixture->second.finish_err = -ENOSPC;
	assert_int_equal(pipeline_finish(&fixture->pipeline, &summary), -ENOSPC);
	assert_int_equal(fixture->first.finishes, 1);
	assert_int_equal(fixture->second.finishes, 1);
	fixture->first.flush_err = -EIO;
	assert_int_equal(pipeline_flush(&fixture->pipeline), -ENOSPC);
}

static void test_an_error_of_flush_is_returned(void **state)
{
	struct fixture *fixture = *state;

	fixture->first.flush_err = -EIO;
	assert_int_equal(pipeline_flush(&fixture->pipeline), -EIO);
	fixture->first.flush_err = 0;
	assert_int_equal(feed(fixture, record_exit(0)), -EIO);
}

/* ---- the summary ----------------------------------------------------------------------------- */

static void test_the_summary_adds_up(void **state)
{
	struct fixture *fixture = *state;
	struct summary summary = { .start_ns = 1000,
				   .end_ns = 2000,
				   /* whatever was there before */
				   .losses = { 999, 999, 999, 999, 999 } };
	union record bad = record_exit(0);
	__u64 *seen = summary.counters.seen, *lost = summary.counters.lost;
	int kind;

	for (kind = 0; kind < MS_KINDS_COUNT; kind++) {
		seen[kind] = 1000ull << 3 * kind;
		lost[kind] = 1ull << 3 * kind;
	}
	fixture->pipeline.filter.min_bytes = 50;
	feed(fixture, record_alloc("cudaMalloc", A, 100));
	feed(fixture, record_alloc("cudaMalloc", A + 4096, 10));
	feed(fixture, record_alloc("cudaMalloc", A + 8192, 20));
	pipeline_feed(&fixture->pipeline, &bad, 1);
	assert_int_equal(pipeline_finish(&fixture->pipeline, &summary), 0);
	assert_ptr_equal(fixture->first.summary, &summary);
	assert_ptr_equal(summary.state, &fixture->pipeline.state);
	assert_int_equal(summary.shown, 1);
	assert_int_equal(summary.filtered, 2);
	assert_int_equal(summary.refused, 1);
	/* Calls are the operations but names; the rest are other records. */
	assert_int_equal(summary.losses.calls, 011111111);
	assert_int_equal(summary.losses.seen, 1000ull * 011111111);
	assert_int_equal(summary.losses.others, 01111111111100000000);
	assert_int_equal(summary.start_ns, 1000);
	assert_int_equal(summary.end_ns, 2000);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		test(test_every_sink_gets_calls_and_processes),
		test(test_counted_launches_are_accounted_for_and_not_shown),
		test(test_a_process_exits_once),
		test(test_names_and_beginnings_of_frees_stay_inside),
		test(test_sinks_see_the_state_after_the_event),
		test(test_what_is_filtered_is_counted_and_in_the_ledger),
		test(test_processes_are_not_filtered),
		test(test_what_cannot_be_decoded_is_refused_and_counted),
		test(test_raw_records_and_time),
		test(test_no_sinks_and_sinks_without_functions),
		test(test_the_first_error_of_a_sink_sticks),
		test(test_other_sinks_go_on),
		test(test_errors_of_flush_and_finish),
		test(test_an_error_of_flush_is_returned),
		test(test_the_summary_adds_up),
	};
#undef test

	return unit_run("pipeline", tests);
}
