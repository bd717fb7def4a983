// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <errno.h>

#include "ledger/call_splits.h"
#include "ledger/checkpoint.h"
#include "scenario.h"

static union record nested(union record record, uint8_t flags)
{
	record.call.flags |= flags;
	return record;
}

static void assert_split(const struct process *process, enum ms_op op, struct call_split expected)
{
	assert_memory_equal(&process->splits[op], &expected, sizeof(expected));
}

static void apply_some(struct scenario *s)
{
	apply(s, record_split(record_call("cuCtxSynchronize"), 1000, 100, 700));
	apply(s, record_split(record_failed(2, record_call("cuCtxSynchronize")), 50, 0, 50));
	apply(s, record_split(record_alloc("cuMemAlloc_v2", 0x1000, 4096), 300, 0, 0));
}

static void test_kinds_of_calls_are_added_up(void **state)
{
	struct scenario s = { 0 };
	struct call_split sum;

	(void)state;
	apply_some(&s);
	assert_split(first_process(&s), MS_OP_SYNC,
		     (struct call_split){
			     .calls = 2, .total_ns = 1050, .runnable_ns = 100, .blocked_ns = 750 });
	assert_split(first_process(&s), MS_OP_ALLOC,
		     (struct call_split){ .calls = 1, .total_ns = 300 });
	sum = call_splits_sum(first_process(&s));
	assert_int_equal(sum.calls, 3);
	assert_int_equal(call_splits_running_ns(&sum), 1350 - 100 - 750);
	state_restart(&s.state, 1);
	assert_split(first_process(&s), MS_OP_SYNC, (struct call_split){ 0 });
	state_fini(&s.state);
}

static void test_time_is_not_counted_twice(void **state)
{
	union record record = record_split(record_call("cuCtxSynchronize"), 1000, 100, 700);
	struct scenario s = { 0 };

	(void)state;
	apply(&s, nested(record, MS_CALL_NESTED));
	apply(&s, nested(record, MS_CALL_PART));
	/* Nothing is known of this one. */
	apply(&s, record_taking(1000, record_call("cuCtxSynchronize")));
	assert_split(first_process(&s), MS_OP_SYNC, (struct call_split){ 0 });
	state_fini(&s.state);
}

static int load(void *context, const void *record, size_t length)
{
	return checkpoint_load(context, record, length);
}

static void test_an_anchor_has_them(void **state)
{
	struct scenario s = { 0 };
	struct state loaded = { 0 };
	struct checkpoint anchor;

	(void)state;
	apply_some(&s);
	apply(&s, record_call("cuCtxCreate_v2"));
	checkpoint_init(&anchor, &loaded);
	assert_int_equal(checkpoint_save(&s.state, 1, load, &anchor), 0);
	assert_memory_equal(loaded.processes[0]->splits, first_process(&s)->splits,
			    sizeof(loaded.processes[0]->splits));
	assert_memory_equal(loaded.processes[0]->calls, first_process(&s)->calls,
			    sizeof(loaded.processes[0]->calls));
	state_fini(&loaded);
	state_fini(&s.state);
}

static int spoil(void *context, const void *record, size_t length)
{
	struct ms_checkpoint_calls calls;
	int err;

	if (((const struct ms_event *)record)->type != MS_CHECKPOINT_CALLS)
		return checkpoint_load(context, record, length);
	memcpy(&calls, record, sizeof(calls));
	calls.blocked_ns = calls.total_ns - calls.runnable_ns + 1;
	err = checkpoint_load(context, &calls, length);
	assert_int_equal(err, -EINVAL);
	return err;
}

static void test_an_anchor_cannot_have_more_than_there_was(void **state)
{
	struct scenario s = { 0 };
	struct state loaded = { 0 };
	struct checkpoint anchor;

	(void)state;
	apply(&s, record_split(record_call("cuCtxSynchronize"), 1000, 100, 700));
	checkpoint_init(&anchor, &loaded);
	assert_int_equal(checkpoint_save(&s.state, 1, spoil, &anchor), -EINVAL);
	state_fini(&loaded);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_of_calls_are_added_up),
		cmocka_unit_test(test_time_is_not_counted_twice),
		cmocka_unit_test(test_an_anchor_has_them),
		cmocka_unit_test(test_an_anchor_cannot_have_more_than_there_was),
	};

	return cmocka_run_group_tests_name("call_splits", tests, NULL, NULL);
}
