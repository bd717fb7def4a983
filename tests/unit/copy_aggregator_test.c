// SPDX-License-Identifier: BSD-2-Clause
/*
 * Copies that are summed up: what becomes one sum, and when sums must be taken.
 */
#include "records.h"

#include "ledger/copy_aggregator.h"
#include "pipeline.h"

#define BLOCK 0x700000000000
#define OTHER 0x700000100000
#define HOST 0x555500000000

static struct {
	struct ms_calls sums[2 * SUMS_MAX + 2];
	size_t count;
} taken;

static int take(void *context, const struct ms_calls *sum)
{
	assert_ptr_equal(context, &taken);
	assert_true(taken.count < sizeof(taken.sums) / sizeof(*taken.sums));
	taken.sums[taken.count++] = *sum;
	return 0;
}

/* What a recorder does with it. */
static int feed(struct state *state, struct copy_aggregator *sums, union record record)
{
	struct event event;
	int left = 0;

	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	if (!copy_aggregator_is_about(&event))
		assert_int_equal(copy_aggregator_before(sums, &event, 77), 0);
	assert_int_equal(state_apply(state, &event), 0);
	if (copy_aggregator_is_about(&event))
		left = copy_aggregator_add(sums, &event, &state->change, 77);
	return left;
}

static union record copy(uint64_t to, uint64_t from, uint64_t size)
{
	union record record = record_from(
		from, record_to(to, record_copy("cuMemcpyAsync", size, MS_DIRECTION_DEFAULT)));

	record.call.duration_ns = 10;
	return record;
}

static void begin(struct state *state, struct copy_aggregator **sums)
{
	*state = (struct state){ 0 };
	taken.count = 0;
	*sums = copy_aggregator_new(take, &taken);
	assert_non_null(*sums);
	feed(state, *sums, record_alloc("cuMemAlloc_v2", BLOCK, 0x10000));
	feed(state, *sums, record_alloc("cuMemAlloc_v2", OTHER, 0x10000));
}

static void end(struct state *state, struct copy_aggregator *sums)
{
	copy_aggregator_free(sums);
	state_fini(state);
}

static void test_places_in_a_block_are_one(void **unused)
{
	const struct ms_calls *sum = taken.sums;
	struct state state;
	struct copy_aggregator *sums;

	(void)unused;
	begin(&state, &sums);
	assert_int_equal(feed(&state, sums, copy(BLOCK + 0x100, HOST, 5)), 0);
	assert_int_equal(feed(&state, sums, copy(BLOCK, HOST + 0x5000, 7)), 0);
	assert_int_equal(feed(&state, sums, copy(BLOCK + 0xffff, HOST + 1, 1)), 0);
	assert_int_equal(taken.count, 0);
	assert_int_equal(copy_aggregator_flush(sums, 99), 0);
	assert_int_equal(taken.count, 1);
	assert_int_equal(sum->count, 3);
	assert_int_equal(sum->call.size, 13);
	assert_int_equal(sum->call.duration_ns, 30);
	assert_int_equal(sum->call.addr, BLOCK);
	assert_int_equal(sum->call.src, HOST);
	assert_int_equal(sum->call.direction, MS_DIRECTION_HTOD);
	assert_int_equal(sum->call.event.ts_ns, 99);
	assert_int_equal(sum->call.event.type, MS_TYPE_CALLS);
	/* Nothing is taken twice. */
	assert_int_equal(copy_aggregator_flush(sums, 100), 0);
	assert_int_equal(taken.count, 1);
	end(&state, sums);
}

static void test_what_differs_is_told_apart(void **unused)
{
	struct state state;
	struct copy_aggregator *sums;

	(void)unused;
	begin(&state, &sums);
	feed(&state, sums, copy(BLOCK, HOST, 1));
	feed(&state, sums, copy(OTHER, HOST, 1));
	feed(&state, sums, copy(HOST, BLOCK, 1));
	feed(&state, sums, copy(OTHER, BLOCK, 1));
	feed(&state, sums, record_failed(1, copy(BLOCK, HOST, 1)));
	feed(&state, sums, record_without(MS_KNOWN_SIZE, copy(BLOCK, HOST, 0)));
	feed(&state, sums, record_of(7, MS_START_NS, copy(BLOCK, HOST, 1)));
	feed(&state, sums, record_to(BLOCK, record_copy("cuMemcpyHtoD_v2", 1, MS_DIRECTION_HTOD)));
	feed(&state, sums, record_called_from(3, copy(BLOCK, HOST, 1)));
	feed(&state, sums, record_called_from(4, copy(BLOCK, HOST, 1)));
	feed(&state, sums, record_called_from(4, copy(BLOCK, HOST, 1)));
	copy_aggregator_flush(sums, 99);
	assert_int_equal(taken.count, 10);
	assert_int_equal(event_stack_id(&taken.sums[8].call), 3);
	assert_int_equal(event_stack_id(&taken.sums[9].call), 4);
	assert_int_equal(taken.sums[9].count, 2);
	end(&state, sums);
}

static void test_a_block_that_is_freed_has_its_sums_taken(void **unused)
{
	struct state state;
	struct copy_aggregator *sums;

	(void)unused;
	begin(&state, &sums);
	feed(&state, sums, copy(BLOCK, HOST, 1));
	feed(&state, sums, copy(OTHER, HOST, 2));
	feed(&state, sums, copy(HOST, BLOCK, 4));
	feed(&state, sums, record_free_begin(BLOCK));
	assert_int_equal(taken.count, 2);
	assert_int_equal(taken.sums[0].call.size + taken.sums[1].call.size, 5);
	/* The other one's goes on. */
	feed(&state, sums, copy(OTHER, HOST, 8));
	copy_aggregator_flush(sums, 99);
	assert_int_equal(taken.count, 3);
	assert_int_equal(taken.sums[2].call.size, 10);
	end(&state, sums);
}

static void test_what_changes_meanings_has_all_taken(void **unused)
{
	const union record changes[] = {
		record_exit(0),
		record_attach_running(),
		record_context("cuCtxDestroy_v2", 0xc0, 0),
		record_to(0xe0, record_call("cuGraphLaunch")),
		record_begin_of("cuMemUnmap", BLOCK, 0x10000),
		/* The host's memory becomes known to CUDA. */
		record_alloc("cuMemHostRegister_v2", HOST - 0x1000, 0x2000),
	};
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct state state;
		struct copy_aggregator *sums;

		begin(&state, &sums);
		feed(&state, sums, copy(BLOCK, HOST, 1));
		feed(&state, sums, copy(OTHER, BLOCK, 1));
		feed(&state, sums, changes[i]);
		assert_int_equal(taken.count, 2);
		end(&state, sums);
	}
}

static void test_what_changes_nothing_takes_nothing(void **unused)
{
	struct state state;
	struct copy_aggregator *sums;

	(void)unused;
	begin(&state, &sums);
	feed(&state, sums, copy(BLOCK, HOST, 1));
	feed(&state, sums, record_call("cuCtxSynchronize"));
	feed(&state, sums, record_launches("cuLaunchKernel", 0xf00, 5));
	feed(&state, sums, record_name(0xf00, "k"));
	feed(&state, sums, record_alloc("cuMemAlloc_v2", OTHER + 0x100000, 0x10000));
	feed(&state, sums, record_free_begin(OTHER));
	assert_int_equal(taken.count, 0);
	end(&state, sums);
}

static void test_a_capture_is_not_summed_up(void **unused)
{
	struct state state;
	struct copy_aggregator *sums;

	(void)unused;
	begin(&state, &sums);
	feed(&state, sums, record_stream(7, record_call("cuStreamBeginCapture_v2")));
	assert_int_equal(feed(&state, sums, record_stream(7, copy(BLOCK, HOST, 1))), 1);
	assert_int_equal(feed(&state, sums, record_stream(8, copy(BLOCK, HOST, 1))), 0);
	end(&state, sums);
}

static void test_too_many_are_taken(void **unused)
{
	uint64_t bytes = 0, i;
	struct state state;
	struct copy_aggregator *sums;
	size_t sum;

	(void)unused;
	begin(&state, &sums);
	for (i = 0; i < 2 * SUMS_MAX; i++) {
		uint64_t block = BLOCK + (i + 16) * 0x100000;

		feed(&state, sums, record_alloc("cuMemAlloc_v2", block, 0x1000));
		feed(&state, sums, copy(block, HOST, i));
		bytes += i;
		assert_true(i < SUMS_MAX || taken.count >= SUMS_MAX);
	}
	copy_aggregator_flush(sums, 99);
	assert_int_equal(taken.count, 2 * SUMS_MAX);
	for (sum = 0; sum < taken.count; sum++)
		bytes -= taken.sums[sum].call.size;
	assert_int_equal(bytes, 0);
	end(&state, sums);
}

/* Totals and failures of a state that is fed sums, in place of what they are sums of. */
static void test_the_totals_stay_the_same(void **unused)
{
	struct state live, again = { 0 };
	struct copy_aggregator *sums;
	struct event event;
	uint64_t i;
	size_t sum;

	(void)unused;
	begin(&live, &sums);
	for (i = 0; i < 5000; i++) {
		uint64_t to = i % 3 ? BLOCK + i : HOST + i, from = i % 5 ? OTHER + i : HOST + i;
		union record record = copy(to, from, i);

		feed(&live, sums, i % 7 ? record : record_failed(1, record));
	}
	copy_aggregator_flush(sums, 99);
	assert_true(taken.count < 20);
	for (sum = 0; sum < taken.count; sum++) {
		assert_int_equal(event_decode(&taken.sums[sum], sizeof(struct ms_calls), &event),
				 0);
		assert_int_equal(state_apply(&again, &event), 0);
	}
	assert_memory_equal(live.processes[0]->copies, again.processes[0]->copies,
			    sizeof(again.processes[0]->copies));
	assert_int_equal(live.processes[0]->calls[MS_OP_COPY],
			 again.processes[0]->calls[MS_OP_COPY]);
	assert_int_equal(live.processes[0]->failures[0].count,
			 again.processes[0]->failures[0].count);
	state_fini(&again);
	end(&live, sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_in_a_block_are_one),
		cmocka_unit_test(test_what_differs_is_told_apart),
		cmocka_unit_test(test_a_block_that_is_freed_has_its_sums_taken),
		cmocka_unit_test(test_what_changes_meanings_has_all_taken),
		cmocka_unit_test(test_what_changes_nothing_takes_nothing),
		cmocka_unit_test(test_a_capture_is_not_summed_up),
		cmocka_unit_test(test_too_many_are_taken),
		cmocka_unit_test(test_the_totals_stay_the_same),
	};

	return unit_run("sums", tests);
}
