// SPDX-License-Identifier: BSD-2-Clause
/*
 * When the agent asks NVML before its time: when much has changed, and only then.
 */
#include "agent/nvml_watch.h"
#include "ledger/usage.h"
#include "unit.h"

static struct process processes[2];
static struct process *list[] = { &processes[0], &processes[1] };
static struct usage_device devices[2];
static struct usage_totals totals = { .devices = devices, .count = 2 };
static uint64_t now_ns = 1;
static const struct state state = { .processes = list, .processes_count = 2, .usage = &totals };

/* When NVML can be asked again. */
static bool is_due(struct nvml_watch *watch)
{
	now_ns += NVML_WATCH_NS;
	return nvml_watch_is_due(watch, &state, now_ns);
}

static void test_memory(void **unused)
{
	struct nvml_watch watch = { 0 };

	(void)unused;
	assert_false(is_due(&watch));
	devices[0].live_bytes = NVML_WATCH_BYTES - 1;
	assert_false(is_due(&watch));
	/* Changes add up until NVML has been asked. */
	devices[1].live_bytes = 1;
	assert_true(is_due(&watch));
	assert_false(is_due(&watch));
	devices[0].live_bytes = devices[1].live_bytes = 0;
	assert_true(is_due(&watch));
	assert_false(is_due(&watch));
}

static void test_processes(void **unused)
{
	struct nvml_watch watch = { 0 };

	(void)unused;
	processes[0].calls[MS_OP_ALLOC] = 1;
	assert_true(is_due(&watch));
	processes[0].calls[MS_OP_ALLOC] = 2;
	assert_false(is_due(&watch));
	processes[0].exited = true;
	assert_true(is_due(&watch));
	assert_false(is_due(&watch));
}

static void test_not_too_often(void **unused)
{
	struct nvml_watch watch = { 0 };

	(void)unused;
	devices[0].live_bytes = NVML_WATCH_BYTES;
	assert_true(is_due(&watch));
	devices[0].live_bytes = 0;
	assert_false(nvml_watch_is_due(&watch, &state, now_ns + NVML_WATCH_NS - 1));
	assert_true(nvml_watch_is_due(&watch, &state, now_ns + NVML_WATCH_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_not_too_often),
	};

	return unit_run("agent_nvml_watch", tests);
}
