// SPDX-License-Identifier: BSD-2-Clause
/*
 * Children without blocks: what they have, and that all others have everything.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/without_blocks.h"
#include "scenario.h"

#define MANY 20000
#define PAGE 4096ul

/* Whether this process has the middle of an array. */
static bool has(const void *memory, size_t bytes)
{
	unsigned char in_memory;
	const uintptr_t middle = (uintptr_t)memory + bytes / 2;

	return !mincore((void *)(middle & -PAGE), PAGE, &in_memory) || errno != ENOMEM;
}

/* What a child has: 1: the blocks, 2: the slots by which they are found, 4: the totals. */
static int of_a_child(const struct process *process)
{
	const struct ledger *ledger = &process->ledgers[MS_KEY_POINTER];
	const pid_t child = fork();
	int status, had;

	if (!child) {
		had = has(ledger->entries, ledger->entries_capacity * sizeof(*ledger->entries));
		had |= has(ledger->slots, ledger->slots_capacity * sizeof(*ledger->slots)) ? 2 : 0;
		_exit(had | (process->spaces[MS_SPACE_DEVICE].live_count == ledger->count ? 4 : 0));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void hold(struct scenario *scenario, uint64_t count)
{
	static uint64_t addr = 0x7000000;

	for (; count; count--, addr += 512)
		apply(scenario, record_alloc("cuMemAlloc_v2", addr, 512));
}

static void a_child_has_sums_and_no_blocks(void **unused)
{
	struct scenario scenario = { 0 };
	const struct process *process;

	(void)unused;
	hold(&scenario, MANY);
	process = first_process(&scenario);
	assert_int_equal(of_a_child(process), 7);
	without_blocks_begin(&scenario.state);
	assert_int_equal(of_a_child(process), 4);
	without_blocks_end(&scenario.state);
	assert_int_equal(of_a_child(process), 7);
	/* This process has lost nothing, and goes on. */
	hold(&scenario, MANY);
	assert_int_equal(process->ledgers[MS_KEY_POINTER].count, 2 * MANY);
	assert_non_null(ledger_find(&process->ledgers[MS_KEY_POINTER], 0x7000000));
	without_blocks_begin(&scenario.state);
	assert_int_equal(of_a_child(process), 4);
	without_blocks_end(&scenario.state);
	state_fini(&scenario.state);
}

static void small_ledgers_are_left_alone(void **unused)
{
	struct scenario scenario = { 0 };

	(void)unused;
	hold(&scenario, 10);
	without_blocks_begin(&scenario.state);
	assert_int_equal(of_a_child(first_process(&scenario)), 7);
	without_blocks_end(&scenario.state);
	state_fini(&scenario.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_has_sums_and_no_blocks),
		cmocka_unit_test(small_ledgers_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
