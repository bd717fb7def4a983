// SPDX-License-Identifier: BSD-2-Clause
/*
 * Physical memory and its mappings: which of them end when, and what is made of calls that fail or
 * go missing.
 */
#include "physical.h"

/* ---- physical memory ------------------------------------------------------------------------- */

static void test_unmap_before_release(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_alloc("cuMemAddressReserve", VA, 4 * MIB));
	apply(&s, record_on(3, record_alloc("cuMemCreate", H, 2 * MIB)));
	assert_changed(&s, 2, 2 * MIB);
	assert_int_equal(s.change.allocation.device, 3);
	apply(&s, record_map(VA, 2 * MIB, H));
	assert_changed(&s, 3, 2 * MIB);
	assert_int_equal(s.change.allocation.device, 3); /* where the memory is */
	assert_int_equal(s.change.allocation.owner, 2);
	assert_live(&s, MS_SPACE_RESERVED, 1, 4 * MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, 2 * MIB);
	assert_live(&s, MS_SPACE_MAPPED, 1, 2 * MIB);

	unmap(&s, VA, 2 * MIB);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_changed(&s, 3, 2 * MIB);
	assert_live(&s, MS_SPACE_MAPPED, 0, 0);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, 2 * MIB);
	release(&s, H);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_changed(&s, 2, 2 * MIB);
	assert_int_equal(s.change.allocation.addr, H);
	assert_int_equal(s.change.live_bytes, 0);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	apply_end_of(&s, "cuMemAddressFree", VA, 4 * MIB);
	assert_live(&s, MS_SPACE_RESERVED, 0, 0);
	assert_freed(&s, MS_SPACE_PHYSICAL, 1, 2 * MIB);
	assert_freed(&s, MS_SPACE_MAPPED, 1, 2 * MIB);
	assert_freed(&s, MS_SPACE_RESERVED, 1, 4 * MIB);
	assert_clean(&s);
	state_fini(&s.state);
}

static void test_release_before_unmap(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, 2 * MIB);
	apply(&s, record_map(VA, 2 * MIB, H));
	release(&s, H);
	assert_int_equal(s.change.free, FREE_KEPT);
	assert_changed(&s, 1, 2 * MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, 2 * MIB);
	assert_freed(&s, MS_SPACE_PHYSICAL, 0, 0);

	unmap(&s, VA, 2 * MIB);
	assert_changed(&s, 2, 2 * MIB);
	assert_int_equal(s.change.implicit[MS_SPACE_PHYSICAL].count, 1);
	assert_int_equal(s.change.implicit[MS_SPACE_PHYSICAL].bytes, 2 * MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	assert_live(&s, MS_SPACE_MAPPED, 0, 0);
	assert_freed(&s, MS_SPACE_PHYSICAL, 1, 2 * MIB);
	assert_int_equal(space_of(&s, MS_SPACE_PHYSICAL)->implicit_frees, 0);
	assert_clean(&s);
	state_fini(&s.state);
}

static void test_mapped_at_two_addresses(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	apply(&s, record_map(VA, MIB, H));
	apply(&s, record_map(VA + 8 * MIB, MIB, H));
	release(&s, H);
	unmap(&s, VA, MIB);
	assert_int_equal(s.change.implicit[MS_SPACE_PHYSICAL].count, 0);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, MIB);
	unmap(&s, VA + 8 * MIB, MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	assert_freed(&s, MS_SPACE_PHYSICAL, 1, MIB);
	assert_clean(&s);
	state_fini(&s.state);
}

static void test_every_retained_reference_is_given_back(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	apply(&s, record_map(VA, MIB, H));
	retain(&s, H, VA + 4096);
	apply(&s, record_failed(1, record_memory("cuMemRetainAllocationHandle", H, VA)));
	release(&s, H);
	assert_int_equal(s.change.free, FREE_KEPT);
	unmap(&s, VA, MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, MIB); /* its handle is good still */
	apply(&s, record_map(VA, MIB, H));
	assert_int_equal(s.change.allocation.owner, 1);
	unmap(&s, VA, MIB);
	release(&s, H);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	assert_freed(&s, MS_SPACE_PHYSICAL, 1, MIB);
	assert_clean(&s);
	state_fini(&s.state);
}

static void test_retained_after_the_last_release(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	apply(&s, record_map(VA, MIB, H));
	release(&s, H);
	retain(&s, H2, VA + MIB - 1); /* mapped still: it has a handle again */
	unmap(&s, VA, MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, MIB);
	apply(&s, record_map(VA, MIB, H2));
	assert_int_equal(s.change.allocation.owner, 1);
	unmap(&s, VA, MIB);
	release(&s, H2);
	assert_changed(&s, 1, MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	assert_clean(&s);

	retain(&s, H, VA); /* of what is not known: nothing to be counted */
	release(&s, H);
	assert_int_equal(s.change.free, FREE_UNKNOWN);
	state_fini(&s.state);
}

static void test_a_handle_reused_while_the_old_memory_is_mapped(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	apply(&s, record_map(VA, MIB, H));
	release(&s, H);
	create(&s, H, 2 * MIB);
	assert_changed(&s, 3, 2 * MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 2, 3 * MIB);
	apply(&s, record_map(VA + 8 * MIB, 2 * MIB, H));
	assert_int_equal(s.change.allocation.owner, 3);
	unmap(&s, VA, MIB);
	assert_int_equal(s.change.implicit[MS_SPACE_PHYSICAL].bytes, MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, 2 * MIB);
	release(&s, H);
	assert_int_equal(s.change.free, FREE_KEPT);
	unmap(&s, VA + 8 * MIB, 2 * MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	assert_clean(&s);
	state_fini(&s.state);
}

/* Another thread is given the handle before the release has returned. */
static void test_a_handle_reused_before_its_release_is_over(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	apply(&s, record_at(1000, record_begin_of("cuMemRelease", H, 0)));
	apply(&s, record_at(1500, record_by(OTHER_THREAD, record_alloc("cuMemCreate", H, 5))));
	apply(&s, record_at(1000, record_free("cuMemRelease", H)));
	assert_changed(&s, 1, MIB);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, 5);
	release(&s, H);
	assert_changed(&s, 2, 5);
	assert_clean(&s);
	state_fini(&s.state);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void test_several_mappings_are_taken_away_at_once(void **state)
{
	struct scenario s = { 0 };
	uint64_t i;

	(void)state;
	for (i = 0; i < 20; i++) {
		create(&s, H + i, MIB + i);
		apply(&s, record_map(VA + (20 - i) * 2 * MIB, MIB + i, H + i));
		release(&s, H + i);
	}
	assert_live(&s, MS_SPACE_MAPPED, 20, 20 * MIB + 190);
	/* Not those at both ends. */
	unmap(&s, VA + 4 * MIB, 36 * MIB);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_int_equal(s.change.allocation.size_bytes, 18 * MIB + 171);
	assert_int_equal(s.change.implicit[MS_SPACE_PHYSICAL].count, 18);
	assert_int_equal(s.change.implicit[MS_SPACE_PHYSICAL].bytes, 18 * MIB + 171);
	assert_live(&s, MS_SPACE_MAPPED, 2, 2 * MIB + 19);
	assert_live(&s, MS_SPACE_PHYSICAL, 2, 2 * MIB + 19);
	assert_freed(&s, MS_SPACE_MAPPED, 18, 18 * MIB + 171);
	assert_clean(&s);
	state_fini(&s.state);
}

static void test_a_failed_unmap_restores_every_mapping(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	apply(&s, record_map(VA, MIB, H));
	apply(&s, record_map(VA + MIB, MIB, H));
	apply(&s, record_begin_of("cuMemUnmap", VA, 2 * MIB));
	assert_live(&s, MS_SPACE_MAPPED, 0, 0);
	apply(&s, record_failed(1, record_unmap(VA, 2 * MIB)));
	assert_live(&s, MS_SPACE_MAPPED, 2, 2 * MIB);
	release(&s, H);
	assert_int_equal(s.change.free, FREE_KEPT);
	unmap(&s, VA, 2 * MIB);
	assert_live(&s, MS_SPACE_MAPPED, 0, 0);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	assert_freed(&s, MS_SPACE_MAPPED, 2, 2 * MIB);
	assert_clean(&s);
	state_fini(&s.state);
}

static void test_a_failed_unmap_does_not_replace_the_successor(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	create(&s, H2, 7);
	apply(&s, record_map(VA, MIB, H));
	apply(&s, record_begin_of("cuMemUnmap", VA, MIB));
	apply(&s, record_by(OTHER_THREAD, record_map(VA, 7, H2)));
	apply(&s, record_failed(1, record_unmap(VA, MIB)));
	assert_live(&s, MS_SPACE_MAPPED, 1, 7);
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 1);
	release(&s, H); /* what was mapped there is mapped no more */
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, 7);
	state_fini(&s.state);
}

/* ---- calls that fail ------------------------------------------------------------------------- */

static void test_a_failed_release_keeps_the_handle(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	apply(&s, record_map(VA, MIB, H));
	apply(&s, record_begin_of("cuMemRelease", H, 0));
	apply(&s, record_failed(1, record_free("cuMemRelease", H)));
	assert_int_equal(s.change.free, FREE_NONE);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, MIB);
	apply(&s, record_map(VA + MIB, MIB, H));
	assert_int_equal(s.change.allocation.owner, 1);
	unmap(&s, VA, 2 * MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, MIB);
	release(&s, H);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	assert_freed(&s, MS_SPACE_PHYSICAL, 1, MIB);
	assert_clean(&s);
	state_fini(&s.state);
}

/* One of two references, and the last one when somebody else has the handle by then. */
static void test_failed_releases_of_references(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	apply(&s, record_map(VA, MIB, H));
	retain(&s, H, VA);
	apply(&s, record_begin_of("cuMemRelease", H, 0));
	apply(&s, record_failed(1, record_free("cuMemRelease", H)));
	release(&s, H);
	unmap(&s, VA, MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, MIB);

	apply(&s, record_begin_of("cuMemRelease", H, 0));
	apply(&s, record_by(OTHER_THREAD, record_alloc("cuMemCreate", H, 5)));
	apply(&s, record_failed(1, record_free("cuMemRelease", H)));
	assert_live(&s, MS_SPACE_PHYSICAL, 2, MIB + 5);
	release(&s, H);
	assert_changed(&s, 3, 5);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, MIB);
	state_fini(&s.state);
}

/* ... or when the memory is gone and the handle is another one's. */
static void test_a_failed_release_of_displaced_memory(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	apply(&s, record_map(VA, MIB, H));
	retain(&s, H, VA);
	unmap(&s, VA, MIB);
	apply(&s, record_begin_of("cuMemRelease", H, 0));
	apply(&s, record_by(OTHER_THREAD, record_alloc("cuMemCreate", H, 5)));
	assert_live(&s, MS_SPACE_PHYSICAL, 1, 5);
	apply(&s, record_failed(1, record_free("cuMemRelease", H)));
	release(&s, H);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	state_fini(&s.state);
}

static void test_failed_creations_and_mappings(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_failed(2, record_alloc("cuMemCreate", H, MIB)));
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	create(&s, H, MIB);
	apply(&s, record_failed(1, record_map(VA, MIB, H)));
	assert_live(&s, MS_SPACE_MAPPED, 0, 0);
	release(&s, H);
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	state_fini(&s.state);
}

/* ---- records that are missing ---------------------------------------------------------------- */

static void test_lost_beginnings(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	apply(&s, record_map(VA, MIB, H));
	apply(&s, record_free("cuMemRelease", H));
	assert_int_equal(s.change.free, FREE_KEPT);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, MIB);
	apply(&s, record_unmap(VA, MIB));
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_live(&s, MS_SPACE_MAPPED, 0, 0);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	assert_clean(&s);
	state_fini(&s.state);
}

static void test_lost_beginning_of_an_unmap_of_several(void **state)
{
	struct scenario s = { 0 };
	uint64_t i;

	(void)state;
	create(&s, H, MIB);
	for (i = 0; i < 4; i++)
		apply(&s, record_map(VA + i * MIB, MIB, H));
	release(&s, H);
	/* One of them was mapped after the call had begun: it cannot be meant. */
	apply(&s, record_at(50000, record_begin_of("cuMemRelease", 1, 0)));
	apply(&s, record_at(60000, record_map(VA + 4 * MIB, MIB, 0)));
	apply(&s, record_at(50000, record_unmap(VA, 8 * MIB)));
	assert_int_equal(s.change.free, FREE_KNOWN);
	assert_int_equal(s.change.allocation.size_bytes, 4 * MIB);
	assert_live(&s, MS_SPACE_MAPPED, 1, MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	assert_freed(&s, MS_SPACE_MAPPED, 4, 4 * MIB);
	state_fini(&s.state);
}

static void test_lost_ends(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	apply(&s, record_map(VA, MIB, H));
	apply(&s, record_begin_of("cuMemUnmap", VA, MIB));
	apply(&s, record_begin_of("cuMemRelease", H, 0));
	assert_live(&s, MS_SPACE_MAPPED, 0, 0);
	apply(&s, record_map(VA, MIB, H)); /* neither the address nor the handle is in use */
	create(&s, H, 7);
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 0);
	/* The thread does both again: the earlier calls must have returned. */
	apply(&s, record_begin_of("cuMemUnmap", VA, MIB));
	apply(&s, record_begin_of("cuMemRelease", H, 0));
	assert_freed(&s, MS_SPACE_PHYSICAL, 1, MIB);
	assert_freed(&s, MS_SPACE_MAPPED, 1, MIB);
	apply(&s, record_free("cuMemRelease", H));
	assert_changed(&s, 4, 7);
	assert_live(&s, MS_SPACE_PHYSICAL, 0, 0);
	state_fini(&s.state);
}

/* An unmap that nobody saw, and the address is mapped again. */
static void test_a_displaced_mapping_lets_go_of_its_memory(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	create(&s, H2, MIB);
	apply(&s, record_map(VA, MIB, H));
	release(&s, H);
	apply(&s, record_map(VA, MIB, H2));
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 1);
	assert_int_equal(s.change.implicit[MS_SPACE_PHYSICAL].bytes, MIB);
	assert_live(&s, MS_SPACE_MAPPED, 1, MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, MIB);
	assert_freed(&s, MS_SPACE_PHYSICAL, 1, MIB);
	state_fini(&s.state);
}

/* A release that nobody saw, and the handle is handed out again: what is mapped lives on. */
static void test_a_displaced_handle_leaves_mapped_memory_alive(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	create(&s, H, MIB);
	retain(&s, H, VA);
	apply(&s, record_map(VA, MIB, H));
	create(&s, H, 7);
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 1);
	assert_live(&s, MS_SPACE_PHYSICAL, 2, MIB + 7);
	unmap(&s, VA, MIB);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, 7);
	create(&s, H, 9); /* not mapped: gone */
	assert_int_equal(first_process(&s)->counters[COUNTER_MISSED_FREES], 2);
	assert_live(&s, MS_SPACE_PHYSICAL, 1, 9);
	release(&s, H);
	assert_changed(&s, 4, 9);
	state_fini(&s.state);
}

static void test_memory_that_nobody_saw_created(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, record_attach_running());
	apply(&s, record_map(VA, MIB, H));
	assert_int_equal(s.change.allocation.owner, 0);
	assert_int_equal(s.change.allocation.device, -1);
	assert_live(&s, MS_SPACE_MAPPED, 1, MIB);
	retain(&s, H, VA);
	release(&s, H);
	assert_int_equal(s.change.free, FREE_PRE_ATTACH);
	unmap(&s, VA, MIB);
	assert_int_equal(s.change.free, FREE_KNOWN);
	unmap(&s, VA, MIB);
	assert_int_equal(s.change.free, FREE_PRE_ATTACH);
	assert_int_equal(space_of(&s, MS_SPACE_PHYSICAL)->allocs, 0);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unmap_before_release),
		cmocka_unit_test(test_release_before_unmap),
		cmocka_unit_test(test_mapped_at_two_addresses),
		cmocka_unit_test(test_every_retained_reference_is_given_back),
		cmocka_unit_test(test_retained_after_the_last_release),
		cmocka_unit_test(test_a_handle_reused_while_the_old_memory_is_mapped),
		cmocka_unit_test(test_a_handle_reused_before_its_release_is_over),
		cmocka_unit_test(test_several_mappings_are_taken_away_at_once),
		cmocka_unit_test(test_a_failed_unmap_restores_every_mapping),
		cmocka_unit_test(test_a_failed_unmap_does_not_replace_the_successor),
		cmocka_unit_test(test_a_failed_release_keeps_the_handle),
		cmocka_unit_test(test_failed_releases_of_references),
		cmocka_unit_test(test_a_failed_release_of_displaced_memory),
		cmocka_unit_test(test_failed_creations_and_mappings),
		cmocka_unit_test(test_lost_beginnings),
		cmocka_unit_test(test_lost_beginning_of_an_unmap_of_several),
		cmocka_unit_test(test_lost_ends),
		cmocka_unit_test(test_a_displaced_mapping_lets_go_of_its_memory),
		cmocka_unit_test(test_a_displaced_handle_leaves_mapped_memory_alive),
		cmocka_unit_test(test_memory_that_nobody_saw_created),
	};

	return unit_run("state: physical memory", tests);
}
