// SPDX-License-Identifier: BSD-2-Clause
/*
 * What tracing costs: by the records of calls, for each process that lives.
 */
#include "agent/costs.h"
#include "pipeline.h"
#include "records.h"

#define TRAP_NS 1000

struct fixture {
	struct pipeline pipeline;
	struct costs costs;
};

static void begin(struct fixture *fixture, uint64_t trap_ns)
{
	memset(fixture, 0, sizeof(*fixture));
	fixture->pipeline.filter.ops = UINT32_MAX;
	costs_init(&fixture->costs, &fixture->pipeline.state.stacks, trap_ns, 0);
	pipeline_add_sink(&fixture->pipeline, &fixture->costs.sink);
}

static void end(struct fixture *fixture)
{
	costs_fini(&fixture->costs);
	state_fini(&fixture->pipeline.state);
}

static void feed(struct fixture *fixture, union record record)
{
	assert_int_equal(pipeline_feed(&fixture->pipeline, &record, record.event.size), 0);
	assert_int_equal(fixture->pipeline.refused, 0);
}

static const struct cost *cost_of(const struct fixture *fixture)
{
	return costs_find(&fixture->costs, RECORD_PID, RECORD_START_NS);
}

static void calls_cost_what_their_probes_do(void **unused)
{
	union record entry = record_call("cuMemAlloc_v2");
	union record both = record_call("cudaMalloc");
	struct fixture fixture;

	(void)unused;
	begin(&fixture, TRAP_NS);
	assert_null(cost_of(&fixture));
	feed(&fixture, record_alloc("cuMemAlloc_v2", 0x1000, 64));
	assert_int_equal(cost_of(&fixture)->spent.all_ns, 2800);
	entry.call.known = 0;
	feed(&fixture, entry);
	assert_int_equal(cost_of(&fixture)->spent.all_ns, 2800 + 1900);
	both.call.driver_row = record_row("cuMemAlloc_v2");
	feed(&fixture, both);
	assert_int_equal(cost_of(&fixture)->spent.all_ns, 2800 + 1900 + 2 * 2800);
	assert_int_equal(cost_of(&fixture)->spent.bulk_ns, 0);
	feed(&fixture, record_call("cuLaunchKernel"));
	assert_int_equal(cost_of(&fixture)->spent.bulk_ns, 2800);
	assert_int_equal(fixture.costs.spent_ns, cost_of(&fixture)->spent.all_ns);
	/* The free's beginning is the same call's. */
	feed(&fixture, record_free_begin(0x1000));
	assert_int_equal(fixture.costs.spent_ns, 2800 + 1900 + 2 * 2800 + 2800);
	end(&fixture);
}

/* By its frames: 12 of them take 1.5 us and 0.35 us each, where a trap takes 1 us. */
static void stacks_cost_what_their_frames_do(void **unused)
{
	struct fixture fixture;

	(void)unused;
	begin(&fixture, TRAP_NS);
	feed(&fixture, record_frame(1, "main", "/bin/program"));
	feed(&fixture, record_stack(7, 1, 12));
	feed(&fixture, record_called_from(7, record_alloc("cuMemAlloc_v2", 0x1000, 64)));
	assert_int_equal(cost_of(&fixture)->spent.stacks_ns, 1500 + 12 * 350);
	assert_int_equal(cost_of(&fixture)->spent.all_ns, 2800 + 1500 + 12 * 350);
	assert_int_equal(fixture.costs.spent_ns, cost_of(&fixture)->spent.all_ns);
	assert_int_equal(cost_of(&fixture)->spent.bulk_ns, 0);
	/* Of one whose record was lost, it is taken to have been a deep one. */
	feed(&fixture, record_called_from(8, record_alloc("cuMemAlloc_v2", 0x2000, 64)));
	assert_int_equal(cost_of(&fixture)->spent.stacks_ns, 2 * 1500 + (12 + 32) * 350);
	feed(&fixture, record_called_from(7, record_alloc("cuMemAlloc_v2", 0x3000, 64)));
	assert_int_equal(cost_of(&fixture)->spent.spared_ns, 0);
	/* What is not taken would have cost what the last one did. */
	((struct cost *)cost_of(&fixture))->budget.governed.is_stackless = true;
	feed(&fixture, record_alloc("cuMemAlloc_v2", 0x4000, 64));
	feed(&fixture, record_call("cuMemFree_v2"));
	assert_int_equal(cost_of(&fixture)->spent.spared_ns, 1500 + 12 * 350);
	end(&fixture);
}

static void counted_calls_cost_as_often(void **unused)
{
	union record counted = record_event(MS_TYPE_CALLS, sizeof(struct ms_calls));
	struct fixture fixture;

	(void)unused;
	begin(&fixture, TRAP_NS);
	counted.call.row = record_row("cuLaunchKernel");
	counted.call.driver_row = MS_NO_ROW;
	counted.call.known = MS_KNOWN_RESULT;
	counted.launches.count = 1000;
	feed(&fixture, counted);
	assert_int_equal(cost_of(&fixture)->spent.bulk_ns, 2800000);
	counted.call.known = 0;
	feed(&fixture, counted);
	assert_int_equal(cost_of(&fixture)->spent.bulk_ns, 2800000 + 1900000);
	end(&fixture);
}

static void switches_cost_bulk_calls(void **unused)
{
	struct fixture fixture;

	(void)unused;
	begin(&fixture, TRAP_NS);
	feed(&fixture, record_alloc("cuMemAlloc_v2", 0x1000, 64));
	fixture.costs.processes[0]->budget.governed.probed_ppm = 400000;
	costs_note_switch(&fixture.costs, fixture.costs.processes[0]);
	assert_int_equal(cost_of(&fixture)->spent.bulk_ns, COSTS_SWITCH_NS * 2 / 5);
	assert_int_equal(cost_of(&fixture)->spent.all_ns, 2800 + COSTS_SWITCH_NS * 2 / 5);
	assert_int_equal(fixture.costs.spent_ns, cost_of(&fixture)->spent.all_ns);
	/* Many threads do not wait for longer than it takes. */
	fixture.costs.processes[0]->budget.governed.probed_ppm = 3000000;
	costs_note_switch(&fixture.costs, fixture.costs.processes[0]);
	assert_int_equal(cost_of(&fixture)->spent.bulk_ns, COSTS_SWITCH_NS * 7 / 5);
	end(&fixture);
}

static void what_is_lost_has_cost_as_much(void **unused)
{
	union record loss = record_event(MS_TYPE_LOSS, sizeof(struct ms_loss));
	struct fixture fixture;

	(void)unused;
	begin(&fixture, TRAP_NS);
	loss.loss.op = MS_OP_COPY;
	loss.loss.lost = 10;
	/* Of a process that has ended, it costs no living one. */
	feed(&fixture, loss);
	assert_null(cost_of(&fixture));
	assert_int_equal(fixture.costs.spent_ns, 28000);
	feed(&fixture, record_call("cuMemAlloc_v2"));
	feed(&fixture, loss);
	assert_int_equal(cost_of(&fixture)->spent.bulk_ns, 28000);
	end(&fixture);
}

static void shares_are_of_the_time_since_the_last_look(void **unused)
{
	union record other = record_call("cuMemAlloc_v2");
	struct fixture fixture;
	int i;

	(void)unused;
	begin(&fixture, TRAP_NS);
	for (i = 0; i < 100; i++)
		feed(&fixture, record_call("cuMemAlloc_v2"));
	other.event.pid = 200;
	feed(&fixture, other);
	costs_look(&fixture.costs, 1000000000);
	assert_int_equal(cost_of(&fixture)->recent_ppm, 280);
	assert_int_equal(fixture.costs.highest_ppm, 280);
	costs_look(&fixture.costs, 2000000000);
	assert_int_equal(cost_of(&fixture)->recent_ppm, 0);
	assert_int_equal(fixture.costs.highest_ppm, 0);
	costs_look(&fixture.costs, 2000000000);
	end(&fixture);
}

static void processes_that_end_are_forgotten(void **unused)
{
	struct fixture fixture;
	uint32_t pid;

	(void)unused;
	begin(&fixture, 0);
	assert_int_equal(fixture.costs.trap_ns, COSTS_TRAP_NS);
	assert_false(fixture.costs.measured);
	for (pid = 1; pid < 1000; pid++) {
		union record call = record_call("cuMemAlloc_v2");
		union record exit = record_event(MS_TYPE_EXIT, sizeof(struct ms_process));

		call.event.pid = exit.event.pid = pid;
		feed(&fixture, call);
		if (pid % 3)
			feed(&fixture, exit);
	}
	assert_int_equal(fixture.costs.count, 333);
	assert_non_null(costs_find(&fixture.costs, 999, RECORD_START_NS));
	assert_null(costs_find(&fixture.costs, 998, RECORD_START_NS));
	assert_int_equal(fixture.costs.spent_ns, 999ull * COSTS_TRAP_NS * 280 / 100);
	end(&fixture);
}

static void calls_after_the_end_do_not_bring_it_back(void **unused)
{
	struct fixture fixture;

	(void)unused;
	begin(&fixture, 0);
	feed(&fixture, record_call("cuLaunchKernel"));
	feed(&fixture, record_event(MS_TYPE_EXIT, sizeof(struct ms_process)));
	feed(&fixture, record_call("cuLaunchKernel"));
	assert_null(cost_of(&fixture));
	assert_int_equal(fixture.costs.count, 0);
	assert_int_equal(fixture.costs.spent_ns, 2 * (COSTS_TRAP_NS * 280 / 100));
	end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_cost_what_their_probes_do),
		cmocka_unit_test(stacks_cost_what_their_frames_do),
		cmocka_unit_test(counted_calls_cost_as_often),
		cmocka_unit_test(switches_cost_bulk_calls),
		cmocka_unit_test(what_is_lost_has_cost_as_much),
		cmocka_unit_test(shares_are_of_the_time_since_the_last_look),
		cmocka_unit_test(processes_that_end_are_forgotten),
		cmocka_unit_test(calls_after_the_end_do_not_bring_it_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
