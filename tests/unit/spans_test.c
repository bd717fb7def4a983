// SPDX-License-Identifier: BSD-2-Clause
/*
 * Spans in lanes, held against a list of all calls: whatever is put together, no call and no byte
 * is lost, and each call lies in a span.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "spans_fed.h"

/* ---- what is where --------------------------------------------------------------------------- */

static void test_calls_of_threads_and_streams(void **state)
{
	struct fed fed;
	const struct span *spans;

	(void)state;
	begin(&fed);
	feed(&fed, BEGIN + 10, record_taking(5, record_alloc("cudaMalloc", 0x7000, 4096)));
	feed(&fed, BEGIN + 20,
	     record_by(7, record_stream(0x55, record_taking(3, record_copy("cudaMemcpyAsync", 100,
									   MS_DIRECTION_HTOD)))));
	feed(&fed, BEGIN + 30,
	     record_failed(2, record_taking(4, record_alloc("cudaMalloc", 0, 1 << 30))));
	fed.change.kernel = "gemm";
	fed.change.device = 3;
	feed(&fed, BEGIN + 40, record_stream(0x55, record_launch("cuLaunchKernel", 0xf00)));
	assert_int_equal(spans_finish(fed.spans, SPANS_MAX), 0);

	assert_int_equal(lanes_count(&fed), 3);
	assert_int_equal(lane_at(&fed, 0)->kind, SPANS_THREAD);
	assert_int_equal(lane_at(&fed, 0)->tid, 7);
	assert_string_equal(lane_at(&fed, 0)->comm, "program");
	assert_int_equal(lane_at(&fed, 1)->tid, RECORD_PID);
	assert_int_equal(lane_at(&fed, 1)->count, 3);
	assert_int_equal(lane_at(&fed, 1)->resolution_ns, 0);
	spans = spans_of(fed.spans, lane_at(&fed, 1));
	assert_span(&fed, &spans[0], BEGIN + 10, 5, "cudaMalloc", 1);
	assert_int_equal(spans[0].bytes, 4096);
	assert_span(&fed, &spans[1], BEGIN + 30, 4, "cudaMalloc (failed)", 1);
	assert_int_equal(spans[1].bytes, 0);
	assert_span(&fed, &spans[2], BEGIN + 40, 0, "gemm", 1);

	assert_int_equal(lane_at(&fed, 2)->kind, SPANS_STREAM);
	assert_int_equal(lane_at(&fed, 2)->handle, 0x55);
	assert_int_equal(lane_at(&fed, 2)->tid, 0);
	assert_int_equal(lane_at(&fed, 2)->device, 3);
	spans = spans_of(fed.spans, lane_at(&fed, 2));
	assert_span(&fed, &spans[0], BEGIN + 20, 3, "cudaMemcpyAsync", 1);
	assert_int_equal(spans[0].bytes, 100);
	spans_free(fed.spans);
}

/* The legacy one is a context's, and the per-thread one a thread's; both have two handles. */
static void test_default_streams(void **state)
{
	static const struct {
		const char *symbol;
		uint64_t stream;
		uint32_t tid;
	} calls[] = {
		{ "cuMemcpyAsync", 0, 1 },      { "cuMemcpyAsync", 1, 2 },
		{ "cuMemcpyAsync_ptsz", 0, 1 }, { "cuMemcpyAsync", 2, 1 },
		{ "cuMemcpyAsync_ptsz", 0, 2 }, { "cuMemcpyAsync_ptsz", 1, 2 },
	};
	struct fed fed;
	size_t i;

	(void)state;
	begin(&fed);
	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		feed(&fed, BEGIN + i,
		     record_in(0xc0, record_by(calls[i].tid,
					       record_stream(calls[i].stream,
							     record_copy(calls[i].symbol, 1,
									 MS_DIRECTION_DEFAULT)))));
	feed(&fed, BEGIN + i,
	     record_in(0xc1, record_by(1, record_stream(0, record_copy("cuMemcpyAsync", 1,
								       MS_DIRECTION_DEFAULT)))));
	assert_int_equal(spans_finish(fed.spans, SPANS_MAX), 0);
	assert_int_equal(lanes_count(&fed), 6); /* two of them threads' */
	assert_int_equal(lane_at(&fed, 2)->handle, 0);
	assert_int_equal(lane_at(&fed, 2)->context, 0xc0);
	assert_int_equal(lane_at(&fed, 2)->calls, 3);
	assert_int_equal(lane_at(&fed, 3)->handle, 0);
	assert_int_equal(lane_at(&fed, 3)->context, 0xc1);
	assert_int_equal(lane_at(&fed, 4)->handle, 2);
	assert_int_equal(lane_at(&fed, 4)->tid, 1);
	assert_int_equal(lane_at(&fed, 4)->calls, 2);
	assert_int_equal(lane_at(&fed, 5)->tid, 2);
	spans_free(fed.spans);
}

/* The driver's call is reported first, and lies in the runtime's. */
static void test_calls_in_calls(void **state)
{
	struct fed fed;
	const struct span *spans;

	(void)state;
	begin(&fed);
	feed(&fed, BEGIN + 20,
	     record_flagged(MS_CALL_NESTED, record_taking(30, record_call("cuCtxSynchronize"))));
	feed(&fed, BEGIN + 60,
	     record_flagged(MS_CALL_NESTED | MS_CALL_PART,
			    record_taking(5, record_alloc("cuMemAlloc_v2", 0x7000, 64))));
	feed(&fed, BEGIN + 20, record_taking(80, record_alloc("cudaMalloc", 0x7000, 64)));
	assert_int_equal(spans_finish(fed.spans, SPANS_MAX), 0);
	assert_int_equal(lanes_count(&fed), 1);
	spans = spans_of(fed.spans, lane_at(&fed, 0));
	assert_span(&fed, &spans[0], BEGIN + 20, 80, "cudaMalloc", 1);
	assert_int_equal(spans[0].bytes, 64);
	assert_false(spans[0].is_nested);
	assert_span(&fed, &spans[1], BEGIN + 20, 30, "cuCtxSynchronize", 1);
	assert_true(spans[1].is_nested);
	assert_span(&fed, &spans[2], BEGIN + 60, 5, "cuMemAlloc_v2", 1);
	assert_int_equal(spans[2].bytes, 0);
	spans_free(fed.spans);
}

/* ---- what was only counted ------------------------------------------------------------------- */

static union record counted(const char *kernel_row, uint64_t count)
{
	return record_launches(kernel_row, 0xf00, count);
}

static void test_counted_calls(void **state)
{
	struct fed fed;
	const struct span *spans;

	(void)state;
	begin(&fed);
	fed.change.kernel = "gemm";
	feed(&fed, BEGIN + 300 * MS, counted("cuLaunchKernel", 10));
	fed.change.kernel = "softmax";
	feed(&fed, BEGIN + 300 * MS, counted("cuLaunchKernel", 30));
	/* A block was freed, and with it went a sum; then it is time to look again. */
	feed(&fed, BEGIN + 1500 * MS, counted("cuLaunchKernel", 5));
	feed(&fed, BEGIN + 1600 * MS, counted("cuLaunchKernel", 6));
	feed(&fed, BEGIN + 9000 * MS, counted("cuLaunchKernel", 7));
	/* Nothing is counted twice: spans do not overlap. */
	feed(&fed, BEGIN + 9900 * MS, counted("cuLaunchKernel", 8));
	assert_int_equal(spans_finish(fed.spans, SPANS_MAX), 0);

	assert_int_equal(lanes_count(&fed), 1);
	assert_int_equal(lane_at(&fed, 0)->kind, SPANS_COUNTED);
	assert_int_equal(lane_at(&fed, 0)->tid, 0);
	assert_int_equal(lane_at(&fed, 0)->handle, MS_OP_LAUNCH);
	assert_int_equal(lane_at(&fed, 0)->calls, 66);
	assert_true(lane_at(&fed, 0)->resolution_ns >= SECOND);
	assert_int_equal(lane_at(&fed, 0)->count, 4);
	spans = spans_of(fed.spans, lane_at(&fed, 0));
	assert_span(&fed, &spans[0], BEGIN, 300 * MS, "softmax", 40);
	assert_span(&fed, &spans[1], BEGIN + 500 * MS, 1100 * MS, "softmax", 11);
	assert_span(&fed, &spans[2], BEGIN + 8000 * MS, 1000 * MS, "softmax", 7);
	assert_span(&fed, &spans[3], BEGIN + 9000 * MS, 900 * MS, "softmax", 8);
	spans_free(fed.spans);
}

/* ---- any calls, and a list of them ----------------------------------------------------------- */

#define CALLS 400000
#define PIDS 3
#define TIDS 6
#define STREAMS 5

struct call {
	uint64_t begin_ns, end_ns, bytes;
	uint32_t pid, tid;
	uint64_t stream; /* 0: none */
	bool nested;
};

static uint64_t random_state = 88172645463325252;

static uint64_t below(uint64_t bound)
{
	random_state = unit_random(random_state);
	return (random_state >> 20) % bound;
}

/* Of very different lengths. */
static uint64_t any_length(void)
{
	return below(1ull << (4 + below(20)));
}

static struct call any_call(uint64_t *now_ns)
{
	struct call call = { .pid = RECORD_PID + (uint32_t)below(PIDS),
			     .tid = 1 + (uint32_t)below(TIDS),
			     .stream = below(3) ? 0 : 0x100 + below(STREAMS),
			     .bytes = below(1 << 20),
			     .nested = !below(4) };

	/* In the order in which they return. */
	*now_ns += any_length() / 8;
	call.end_ns = *now_ns;
	call.begin_ns = call.end_ns - any_length();
	/* Of some files not even that holds. */
	if (!below(1000)) {
		call.begin_ns = BEGIN + below(*now_ns - BEGIN + 1);
		call.end_ns = call.begin_ns + any_length();
	}
	return call;
}

static void feed_call(struct fed *fed, const struct call *call)
{
	union record record = record_copy("cuMemcpyAsync", call->bytes, MS_DIRECTION_DEFAULT);

	record = record_of(call->pid, RECORD_START_NS, record);
	record = record_by(call->tid, record_taking(call->end_ns - call->begin_ns, record));
	if (call->stream)
		record = record_stream(call->stream, record);
	if (call->nested)
		record = record_flagged(MS_CALL_NESTED, record);
	feed(fed, call->begin_ns, record);
}

static bool is_of(const struct call *call, const struct spans_lane *lane)
{
	return call->pid == lane->pid &&
	       (lane->kind == SPANS_THREAD ? call->tid == lane->tid : call->stream == lane->handle);
}

static bool is_in(const struct call *call, const struct span *spans, size_t count)
{
	size_t low = 0, high = count, middle;

	/* Only what begins by then. */
	while (low < high) {
		middle = (low + high) / 2;
		if (spans[middle].begin_ns <= call->begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0)
		if (spans[low].end_ns >= call->end_ns && spans[low].is_nested == call->nested)
			return true;
	return false;
}

static void check_lane(const struct fed *fed, const struct spans_lane *lane,
		       const struct call *calls, size_t calls_count)
{
	const struct span *spans = spans_of(fed->spans, lane);
	uint64_t count = 0, bytes = 0, expected_count = 0, expected_bytes = 0;
	size_t i;

	for (i = 0; i < lane->count; i++) {
		const struct span *span = &spans[i];

		assert_true(span->begin_ns <= span->end_ns);
		assert_true(!i || spans[i - 1].begin_ns < span->begin_ns ||
			    (spans[i - 1].begin_ns == span->begin_ns &&
			     spans[i - 1].end_ns >= span->end_ns));
		assert_true(span->is_several || span->count == 1);
		assert_true(!span->is_several ||
			    (span->end_ns - span->begin_ns) / 2 < lane->resolution_ns);
		assert_true(span->name < spans_names_count(fed->spans));
		count += span->count;
		bytes += span->bytes;
	}
	for (i = 0; i < calls_count; i++) {
		if (!is_of(&calls[i], lane))
			continue;
		expected_count++;
		expected_bytes += calls[i].bytes;
		if (!is_in(&calls[i], spans, lane->count))
			fail_msg("call %zu lies in no span", i);
	}
	assert_int_equal(count, expected_count);
	assert_int_equal(bytes, expected_bytes);
	assert_int_equal(lane->calls, expected_count);
}

static void check_lanes(const struct fed *fed, const struct call *calls, size_t count, size_t max)
{
	size_t spans = 0, i;

	assert_int_equal(lanes_count(fed), PIDS * (TIDS + STREAMS));
	assert_int_equal(spans_dropped(fed->spans).lanes, 0);
	for (i = 0; i < lanes_count(fed); i++) {
		check_lane(fed, lane_at(fed, i), calls, count);
		spans += lane_at(fed, i)->count;
	}
	assert_true(spans <= max);
	/* It is not simply less. */
	assert_true(spans >= max / 8);
}

static void test_any_calls(void **state)
{
	struct call *calls = calloc(CALLS, sizeof(*calls));
	uint64_t now_ns = BEGIN + SECOND;
	struct fed fed;
	size_t i;

	(void)state;
	begin(&fed);
	assert_non_null(calls);
	for (i = 0; i < CALLS; i++) {
		calls[i] = any_call(&now_ns);
		feed_call(&fed, &calls[i]);
	}
	assert_int_equal(spans_finish(fed.spans, SPANS_MAX), 0);
	check_lanes(&fed, calls, CALLS, SPANS_MAX);
	/* There turn out to be more recordings. */
	assert_int_equal(spans_finish(fed.spans, SPANS_MAX / 16), 0);
	check_lanes(&fed, calls, CALLS, SPANS_MAX / 16);
	assert_int_equal(spans_finish(fed.spans, 1), 0);
	check_lanes(&fed, calls, CALLS, 2 * lanes_count(&fed));
	spans_free(fed.spans);
	free(calls);
}

/* One lane needs a lower resolution; in the other every call stays. */
static void test_a_quiet_lane_stays_exact(void **state)
{
	struct fed fed;
	size_t i;

	(void)state;
	begin(&fed);
	for (i = 0; i < 2 * SPANS_MAX; i++) {
		feed(&fed, BEGIN + i * 10 * US,
		     record_by(1, record_taking(5 * US, record_call("cuCtxSynchronize"))));
		if (i % 1000 == 0)
			feed(&fed, BEGIN + i * 10 * US,
			     record_by(2, record_taking(US, record_call("cuCtxSynchronize"))));
	}
	assert_int_equal(spans_finish(fed.spans, SPANS_MAX), 0);
	assert_true(lane_at(&fed, 0)->resolution_ns > 0);
	assert_int_equal(lane_at(&fed, 1)->resolution_ns, 0);
	assert_int_equal(lane_at(&fed, 1)->count, 2 * SPANS_MAX / 1000);
	spans_free(fed.spans);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Of hostile files: times at random, of all lengths. */
static union record hostile(uint64_t *ts_ns)
{
	union record record = record_call("cuStreamSynchronize");

	*ts_ns = below(2) ? below(1ull << (1 + below(43))) << 20 : UINT64_MAX - below(1 << 20);
	record.call.duration_ns = below(2) ? UINT64_MAX : below(1ull << 40);
	record.call.size = UINT64_MAX;
	record = record_by((uint32_t)below(1 << 20), record_stream(below(1 << 10), record));
	return below(2) ? record : record_flagged(MS_CALL_NESTED, record);
}

static void test_anything(void **state)
{
	uint64_t calls = 0, ts_ns;
	struct fed fed;
	size_t i, spans = 0;

	(void)state;
	begin(&fed);
	for (i = 0; i < 300000; i++) {
		union record record = hostile(&ts_ns);

		feed(&fed, ts_ns, record);
	}
	assert_true(spans_bytes(fed.spans) <= 16 << 20);
	assert_int_equal(spans_finish(fed.spans, 1), 0);
	assert_int_equal(lanes_count(&fed), SPANS_LANES_MAX);
	for (i = 0; i < lanes_count(&fed); i++) {
		spans += lane_at(&fed, i)->count;
		calls += lane_at(&fed, i)->calls;
	}
	assert_true(spans <= 2 * SPANS_LANES_MAX);
	assert_int_equal(calls + spans_dropped(fed.spans).calls, 2 * 300000);
	spans_free(fed.spans);
}

static void test_millions_of_calls(void **state)
{
	struct fed fed;
	union record record = record_taking(US, record_call("cuCtxSynchronize"));
	const uint64_t most = 10000000 / unit_stride(5);
	size_t bytes = 0, i;
	struct event event;
	uint64_t count = 0;

	(void)state;
	begin(&fed);
	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	for (i = 0; i < most; i++) {
		record.event.ts_ns = BEGIN + i * 2 * US;
		record.event.tid = 1 + i % 8;
		assert_int_equal(spans_event(fed.spans, &event, &fed.change), 0);
		if (i == 1000000)
			bytes = spans_bytes(fed.spans);
	}
	assert_int_equal(spans_bytes(fed.spans), bytes);
	assert_true(bytes <= 16 << 20);
	assert_int_equal(spans_finish(fed.spans, SPANS_MAX), 0);
	for (i = 0; i < lanes_count(&fed); i++)
		count += lane_at(&fed, i)->calls;
	assert_int_equal(count, most);
	spans_free(fed.spans);
}

/* The busiest stay, and the others are counted. */
static void test_more_lanes_than_there_is_room_for(void **state)
{
	const uint32_t threads = 3 * SPANS_LANES_MAX;
	uint64_t calls = 0;
	struct fed fed;
	uint32_t i, round;

	(void)state;
	begin(&fed);
	for (round = 0; round < 3; round++)
		for (i = 1; i <= threads; i++)
			feed(&fed, BEGIN + ((uint64_t)round * threads + i) * MS,
			     record_by(i, record_taking(i % 100 ? i : MS,
							record_call("cuCtxSynchronize"))));
	assert_int_equal(spans_finish(fed.spans, SPANS_MAX), 0);
	assert_int_equal(lanes_count(&fed), SPANS_LANES_MAX);
	for (i = 0; i < SPANS_LANES_MAX; i++)
		calls += lane_at(&fed, i)->count;
	assert_int_equal(calls + spans_dropped(fed.spans).calls, 3 * threads);
	assert_true(spans_dropped(fed.spans).lanes >= threads - SPANS_LANES_MAX);
	for (i = 100; i <= threads; i += 100) {
		size_t place = 0;

		while (place < SPANS_LANES_MAX && lane_at(&fed, place)->tid != i)
			place++;
		assert_true(place < SPANS_LANES_MAX);
		assert_int_equal(lane_at(&fed, place)->calls, 3);
	}
	spans_free(fed.spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_of_threads_and_streams),
		cmocka_unit_test(test_default_streams),
		cmocka_unit_test(test_calls_in_calls),
		cmocka_unit_test(test_counted_calls),
		cmocka_unit_test(test_any_calls),
		cmocka_unit_test(test_a_quiet_lane_stays_exact),
		cmocka_unit_test(test_anything),
		cmocka_unit_test(test_millions_of_calls),
		cmocka_unit_test(test_more_lanes_than_there_is_room_for),
	};

	return unit_run("spans", tests);
}
