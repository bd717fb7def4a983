// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frees in progress, against the simplest model there is: a list that is walked.
 */
#include "unit.h"

#include <string.h>

#include "abi.h"
#include "ledger/pending.h"

#define STEPS 100000
#define MOST 4096

static struct pending_free list[MOST]; /* in the order in which they were added */
static size_t count;

static struct pending_free freed_by(uint32_t tid, uint8_t key, uint64_t addr, uint64_t id)
{
	return (struct pending_free){
		.tid = tid,
		.key = key,
		.addr = addr,
		.allocation = { .addr = addr + id, .id = id, .space = MS_SPACE_DEVICE }
	};
}

static void list_remove(size_t place)
{
	memmove(&list[place], &list[place + 1], (--count - place) * sizeof(*list));
}

/* The first one of that call. */
static void take_like_the_list(struct pending *pending, uint32_t tid, uint8_t key, uint64_t addr)
{
	struct allocation allocation = { 0 };
	bool found = pending_take(pending, tid, key, addr, &allocation);
	size_t i = 0;

	while (i < count && (list[i].tid != tid || list[i].key != key || list[i].addr != addr))
		i++;
	assert_int_equal(found, i < count);
	if (!found)
		return;
	assert_int_equal(allocation.id, list[i].allocation.id);
	list_remove(i);
}

static void take_all_of(struct pending *pending, uint32_t tid)
{
	struct pending_free freed;
	size_t i;

	while (pending_take_any(pending, tid, &freed)) {
		assert_int_equal(freed.tid, tid);
		for (i = 0; list[i].allocation.id != freed.allocation.id; i++)
			assert_true(i < count);
		list_remove(i);
	}
	for (i = 0; i < count; i++)
		assert_int_not_equal(list[i].tid, tid);
}

static size_t on_device(void)
{
	size_t found = 0, i;

	for (i = 0; i < count; i++)
		found += list[i].key != MS_KEY_HANDLE;
	return found;
}

static bool has(uint64_t id)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (list[i].allocation.id == id)
			return true;
	return false;
}

static void count_one(void *context, const struct pending_free *freed)
{
	assert_true(has(freed->allocation.id));
	++*(size_t *)context;
}

/* Few threads, so that there is no index, or many; in calls inside one another. */
static void run(uint32_t threads, uint64_t random)
{
	struct pending pending = { 0 };
	size_t step, visited;

	count = 0;
	for (step = 1; step <= STEPS; step++) {
		uint32_t tid = (uint32_t)((random = unit_random(random)) % threads);
		uint8_t key = random >> 20 & 1 ? MS_KEY_POINTER : MS_KEY_HANDLE;
		uint64_t addr = random >> 24 & 3;
		struct pending_free freed = freed_by(tid, key, addr, step);

		if (count < MOST && random >> 32 & 1) {
			assert_int_equal(pending_add(&pending, &freed), 0);
			list[count++] = freed;
		} else if (random >> 33 & 7) {
			take_like_the_list(&pending, tid, key, addr);
		} else {
			take_all_of(&pending, tid);
		}
		assert_int_equal(pending.count, count);
		assert_int_equal(pending.on_device, on_device());
		random = unit_random(random);
		assert_int_equal(pending_has(&pending, random % (step + 1)),
				 has(random % (step + 1)));
	}
	visited = 0;
	pending_visit(&pending, count_one, &visited);
	assert_int_equal(visited, count);
	pending_fini(&pending);
	pending_fini(&pending);
}

static void test_few_threads(void **state)
{
	(void)state;
	run(3, 1);
}

static void test_many_threads(void **state)
{
	(void)state;
	run(100, 2);
}

static void test_the_outermost_of_many(void **state)
{
	struct pending pending = { 0 };
	struct pending_free freed;
	uint64_t i;

	(void)state;
	for (i = 1; i < PENDING_NESTED; i++) {
		freed = freed_by(7, MS_KEY_POINTER, i, i);
		assert_int_equal(pending_add(&pending, &freed), 0);
		assert_false(pending_take_outermost(&pending, 7, &freed));
	}
	freed = freed_by(7, MS_KEY_POINTER, i, i);
	assert_int_equal(pending_add(&pending, &freed), 0);
	assert_false(pending_take_outermost(&pending, 8, &freed));
	assert_true(pending_take_outermost(&pending, 7, &freed));
	assert_int_equal(freed.addr, 1);
	assert_false(pending_take_outermost(&pending, 7, &freed));
	assert_true(pending_take_first(&pending, &freed));
	while (pending_take_last(&pending, &freed))
		;
	assert_int_equal(pending.count, 0);
	pending_fini(&pending);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_threads),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_the_outermost_of_many),
	};

	return unit_run("pending", tests);
}
