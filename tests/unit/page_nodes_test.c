// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/page_nodes.h"

#define STEP PAGE_NODES_STEP_BYTES

static char *memory(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(madvise(at, bytes, MADV_NOHUGEPAGE), 0);
	return at;
}

static uint64_t present(const struct page_nodes *nodes)
{
	uint64_t pages = 0;
	size_t i;

	for (i = 0; i < PAGE_NODES_MAX; i++)
		pages += nodes->on[i];
	return pages;
}

/* No page is brought into memory by being asked for. */
static void test_a_half_that_was_written_to(void **state)
{
	struct page_nodes nodes = { .asked = 0 };
	char *at = memory(64 * STEP);

	(void)state;
	memset(at, 1, 32 * STEP);
	assert_int_equal(page_nodes_ask(getpid(), (uintptr_t)at, 64 * STEP, &nodes), 0);
	assert_int_equal(page_nodes_ask(getpid(), (uintptr_t)at, 64 * STEP, &nodes), 0);
	assert_int_equal(nodes.asked, 128);
	assert_int_equal(present(&nodes), 64);
	assert_int_equal(nodes.absent, 64);
	munmap(at, 64 * STEP);
}

static void test_large_blocks_are_asked_for_in_part(void **state)
{
	struct page_nodes nodes = { .asked = 0 };
	char *at = memory(1024 * STEP);

	(void)state;
	at[0] = 1;
	assert_int_equal(page_nodes_ask(getpid(), (uintptr_t)at + 7, 1024 * STEP, &nodes), 0);
	assert_int_equal(nodes.asked, PAGE_NODES_PAGES);
	assert_int_equal(present(&nodes), 1);
	munmap(at, 1024 * STEP);
}

static void test_what_cannot_be_asked(void **state)
{
	struct page_nodes nodes = { .asked = 0 };

	(void)state;
	assert_int_equal(page_nodes_ask(getpid(), 0x1000, 0, &nodes), 0);
	assert_int_equal(page_nodes_ask(1 << 30, 0x1000, 4096, &nodes), -ESRCH);
	assert_int_equal(nodes.asked, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_half_that_was_written_to),
		cmocka_unit_test(test_large_blocks_are_asked_for_in_part),
		cmocka_unit_test(test_what_cannot_be_asked),
	};

	return cmocka_run_group_tests_name("page_nodes", tests, NULL, NULL);
}
