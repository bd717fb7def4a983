// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include "ledger/host_account.h"
#include "scenario.h"

#define SECOND 1000000000ull
#define GIB (1ull << 30)

static void test_a_process_is_held_against_its_first_sample(void **state)
{
	struct scenario s = { 0 };
	struct host_used used;

	(void)state;
	apply(&s, record_at(SECOND, record_load(5 * SECOND, 7 * SECOND, 2 * GIB)));
	assert_false(host_account_used(&first_process(&s)->host, &used));
	apply(&s, record_at(3 * SECOND, record_load(6 * SECOND, 8 * SECOND, 4 * GIB)));
	/* Threads have ended, and their waits are gone with them. */
	apply(&s, record_at(4 * SECOND, record_load(6 * SECOND, 2 * SECOND, GIB)));
	apply(&s, record_at(5 * SECOND, record_load(7 * SECOND, 3 * SECOND, GIB)));
	assert_true(host_account_used(&first_process(&s)->host, &used));
	assert_int_equal(used.ns, 4 * SECOND);
	assert_int_equal(used.cpu_ns, 2 * SECOND);
	assert_int_equal(used.queue_ns, 2 * SECOND);
	assert_int_equal(used.major_faults, 20);
	assert_int_equal(first_process(&s)->host.peak_bytes, 4 * GIB);
	state_restart(&s.state, 5 * SECOND);
	assert_false(host_account_used(&first_process(&s)->host, &used));
	assert_int_equal(first_process(&s)->host.peak_bytes, GIB);
	apply(&s, record_at(6 * SECOND, record_load(8 * SECOND, 3 * SECOND, GIB)));
	assert_true(host_account_used(&first_process(&s)->host, &used));
	assert_int_equal(used.cpu_ns, SECOND);
	state_fini(&s.state);
}

static void test_what_is_not_known_is_not_said(void **state)
{
	union record first = record_at(SECOND, record_load(SECOND, SECOND, GIB));
	union record second = record_at(2 * SECOND, record_load(2 * SECOND, 2 * SECOND, GIB));
	struct scenario s = { 0 };
	struct host_used used;

	(void)state;
	first.load.known &= ~(uint32_t)MS_LOAD_QUEUE;
	second.load.known &= ~(uint32_t)MS_LOAD_THROTTLED;
	apply(&s, first);
	apply(&s, second);
	assert_true(host_account_used(&first_process(&s)->host, &used));
	assert_true(used.has_cpu);
	assert_false(used.has_queue);
	assert_int_equal(used.queue_ns, 0);
	assert_false(used.has_throttled);
	state_fini(&s.state);
}

static void test_the_machine(void **state)
{
	struct scenario s = { 0 };
	struct host_pressure pressure;

	(void)state;
	apply(&s, record_at(SECOND, record_host(8 * GIB, 16000)));
	assert_false(host_account_pressure(&s.state.host, &pressure));
	apply(&s, record_at(2 * SECOND, record_host(2 * GIB, 32000)));
	apply(&s, record_at(3 * SECOND, record_host(4 * GIB, 48000)));
	assert_true(host_account_pressure(&s.state.host, &pressure));
	assert_int_equal(pressure.ns, 2 * SECOND);
	assert_int_equal(pressure.cpu_some_ns, 32000000);
	assert_int_equal(pressure.memory_full_ns, 8000000);
	assert_int_equal(s.state.host.least_available_bytes, 2 * GIB);
	apply(&s, record_numa_node(1, 4 * GIB));
	apply(&s, record_numa_node(0, GIB));
	apply(&s, record_numa_node(1, 5 * GIB));
	assert_int_equal(s.state.host.nodes_count, 2);
	assert_int_equal(s.state.host.nodes[0].least_free_bytes, 4 * GIB);
	/* It slows down when it is idle. */
	apply(&s, record_gpu_link("0000:81:00.0", 160, 8));
	apply(&s, record_gpu_link("0000:81:00.0", 25, 16));
	assert_int_equal(s.state.host.gpus_count, 1);
	assert_int_equal(s.state.host.gpus[0].most_speed, 160);
	assert_int_equal(s.state.host.gpus[0].most_width, 16);
	assert_int_equal(s.state.processes_count, 0);
	state_fini(&s.state);
}

static void test_there_are_only_so_many(void **state)
{
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < HOST_NODES + 3; i++)
		apply(&s, record_numa_node(i, GIB));
	for (i = 0; i < HOST_GPUS + 3; i++) {
		char bdf[] = "0000:81:00.0";

		bdf[5] = (char)('A' + i / 16);
		bdf[6] = (char)('a' + i % 16);
		apply(&s, record_gpu_link(bdf, 25, 1));
	}
	assert_int_equal(s.state.host.nodes_count, HOST_NODES);
	assert_int_equal(s.state.host.gpus_count, HOST_GPUS);
	state_fini(&s.state);
}

static void test_where_memory_lies(void **state)
{
	const struct host_placed *placed;
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_at(SECOND, record_placement(MS_SPACE_MANAGED, 0, 8)));
	apply(&s, record_at(SECOND, record_placement(MS_SPACE_PINNED, 0, 8)));
	/* Later, it lies elsewhere. */
	apply(&s, record_at(2 * SECOND, record_placement(MS_SPACE_PINNED, 0, 2)));
	apply(&s, record_at(2 * SECOND, record_placement(MS_SPACE_PINNED, 1, 5)));
	apply(&s, record_at(2 * SECOND, record_placement(MS_SPACE_PINNED, -1, 1)));
	placed = &first_process(&s)->host.placed[HOST_PINNED];
	assert_int_equal(placed->bytes, 2 * GIB);
	assert_int_equal(placed->nodes_count, 2);
	assert_int_equal(placed->nodes[1].node, 1);
	assert_int_equal(host_account_bytes(placed, placed->nodes[1].pages), 2 * GIB / 8 * 5);
	assert_int_equal(placed->unknown, 1);
	assert_int_equal(first_process(&s)->host.placed[HOST_MANAGED].nodes_count, 1);
	assert_int_equal(first_process(&s)->host.placed[HOST_REGISTERED].asked, 0);
	state_fini(&s.state);
}

static bool gpu_node(const struct scenario *s, uint32_t *node)
{
	return host_account_gpu_node(&s->state.host, &first_process(s)->devices, node);
}

static void test_which_node_is_near_to_a_process_gpus(void **state)
{
	union record other = record_gpu_link("0000:01:00.0", 25, 8);
	struct scenario s = { 0 };
	uint32_t node;

	(void)state;
	apply(&s, record_call("cuCtxSynchronize"));
	assert_false(gpu_node(&s, &node));
	apply(&s, record_gpu_link("0000:81:00.0", 25, 8));
	assert_true(gpu_node(&s, &node));
	assert_int_equal(node, 1);
	/* Another one, elsewhere: now it matters which one the process uses. */
	other.gpu.node = 0;
	apply(&s, other);
	assert_false(gpu_node(&s, &node));
	apply(&s, record_device("cuDeviceGetPCIBusId", 0, "0000:81:00.0\0\0\0"));
	assert_true(gpu_node(&s, &node));
	assert_int_equal(node, 1);
	apply(&s, record_device("cuDeviceGetPCIBusId", 1, "0000:01:00.0\0\0\0"));
	assert_false(gpu_node(&s, &node));
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_process_is_held_against_its_first_sample),
		cmocka_unit_test(test_what_is_not_known_is_not_said),
		cmocka_unit_test(test_the_machine),
		cmocka_unit_test(test_there_are_only_so_many),
		cmocka_unit_test(test_where_memory_lies),
		cmocka_unit_test(test_which_node_is_near_to_a_process_gpus),
	};

	return cmocka_run_group_tests_name("host_account", tests, NULL, NULL);
}
